"""The command `autograder import`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from autograder.cli.options import COURSE_OPTION, PATH_TYPE
from autograder.core.course import find_course
from autograder.core.text_format import make_printable


@click.command("import")
@COURSE_OPTION
@click.argument("files", nargs=-1, required=True, type=PATH_TYPE, metavar="FILE...")
def import_notebooks(files: Sequence[Path]) -> None:
    """Make labs of another grader's source notebooks: nbgrader's, or otter's.

    Runs each with its own solutions to see what its tests ask, and says cell by cell what came
    over. This run has no sandbox: import only notebooks that you would run yourself. Exit code 0 if
    everything came over, 1 if something is left to do by hand.

    \b
    Example:  autograder import source/ps1/problem1.ipynb --course mine
    """
    from course_import.importer import import_notebook

    all_complete = True
    for path in files:
        report = import_notebook(path, find_course())
        all_complete = all_complete and report.is_complete
        click.echo(make_printable(report.text()))
        click.echo(
            f"solutions/{report.lab} holds the lab. Read it, and run `autograder build {report.lab}`.",
        )
    sys.exit(0 if all_complete else 1)
