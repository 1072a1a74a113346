"""The command `autograder similar`: write a page of a class's similar submissions."""

from typing import TYPE_CHECKING

import click

from autograder.cli.options import classroom_options
from autograder.core.text_format import format_count

if TYPE_CHECKING:
    from autograder.gradebook.classroom import Classroom


@click.command("similar")
@classroom_options
def find_similar(classroom: "Classroom") -> None:
    """Write report/similar.html: pairs of submissions that share more than the lab and chance explain.

    \b
    Example:  autograder similar --classroom classroom
    """
    # Imported here, since the help of `autograder` imports this module.
    from similarity.similar_page import write_page

    classroom.require_submissions()
    path = classroom.report / "similar.html"
    click.echo(f"{path}: {format_count(write_page(classroom, path), 'pair')} worth a look.")
