"""Commands for students: copy the labs, open them, and check, update or reset a notebook."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.group import main
from autograder.cli.options import COURSE_OPTION, FOLDER_TYPE, NOTEBOOK_TYPE
from autograder.core.course import find_course
from autograder.core.text_format import format_count, join_words, make_printable

if TYPE_CHECKING:
    from autograder.core.course import Course


@main.command()
@COURSE_OPTION
@click.argument("folder", type=FOLDER_TYPE, default=Path("work"))
def start(folder: Path) -> None:
    """Copy the labs into a folder of your own; what is there already stays as it is.

    \b
    Example:  autograder start work
    """
    from autograder.student.workspace import copy_labs

    course = find_course()
    new_labs = copy_labs(folder, course)
    if new_labs:
        click.echo(f"{format_count(len(new_labs), 'lab')} copied to {folder}.")
    else:
        click.echo(f"{folder} has all the labs already.")
    _print_outdated_labs(folder, course)


def _print_outdated_labs(folder: Path, course: "Course") -> None:
    from autograder.student.workspace import find_outdated_labs

    for lab, headings in find_outdated_labs(folder, course).items():
        command = f"autograder update {folder / lab / lab}.ipynb"
        sections = _join_first_headings(headings)
        click.echo(
            f"{lab}: your copy is older than the course's text, which has changed in {sections}. "
            f"`{command}` takes it over; your answers stay."
        )


def _join_first_headings(headings: list[str]) -> str:
    """Return a text that lists the first three headings, and the number of further headings."""
    names = [f"“{heading}”" for heading in headings[:3]]
    if len(headings) > 3:
        names.append(format_count(len(headings) - 3, "other place"))
    return join_words(names)


@main.command(context_settings={"ignore_unknown_options": True})
@COURSE_OPTION
@click.argument("folder", type=FOLDER_TYPE, default=Path("work"))
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[JUPYTERLAB'S OPTIONS]...")
def lab(folder: Path, options: Sequence[str]) -> None:
    """Copy labs that are new into FOLDER, and open JupyterLab on it.

    \b
    Example:  autograder lab work --no-browser
    """
    from autograder.student.workspace import copy_labs

    course = find_course()
    copy_labs(folder, course)
    _print_outdated_labs(folder, course)
    try:
        from autograder.student.jupyterlab import serve_jupyterlab
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("autograder"):
            raise
        raise click.UsageError("JupyterLab is not installed here: `make lab` brings it.") from None
    serve_jupyterlab(folder, course.labs, options)


@main.command()
@COURSE_OPTION
@click.argument("notebook", type=NOTEBOOK_TYPE)
@click.argument("exercise", required=False)
def reset(notebook: Path, exercise: str | None) -> None:
    """Bring a lab, or one EXERCISE of it, back to its first state; your version is kept beside it.

    Without EXERCISE the whole lab is reset. In a terminal, the command asks before it does that.

    \b
    Example:  autograder reset work/my-lab/my-lab.ipynb my_exercise
    """
    from autograder.student.workspace import reset_copy

    if exercise is None and _is_terminal():
        click.confirm(
            f"Reset all exercises of {notebook.name}? (To reset one, give its name.)", abort=True
        )
    backup = reset_copy(notebook, exercise)
    name = exercise or notebook.stem
    if backup is None:
        click.echo(f"{name} is still as it was at the start. Nothing was changed.")
    else:
        click.echo(f"{name} is as it was at the start. Your version is kept in {backup}.")


def _is_terminal() -> bool:
    """Return True if the command can ask a person a question; False in a script."""
    return sys.stdin.isatty()


@main.command()
@COURSE_OPTION
@click.argument("notebook", type=NOTEBOOK_TYPE)
def update(notebook: Path) -> None:
    """Update your copy of a lab to the course's newer text; your answers and your own cells stay.

    Where you and the course have changed the same cell, yours is below it. Your version is kept
    beside the notebook.

    \b
    Example:  autograder update work/my-lab/my-lab.ipynb
    """
    from autograder.student.workspace import update_student_notebook

    headings, backup = update_student_notebook(notebook)
    if headings:
        sections = _join_first_headings(headings)
        click.echo(f"{notebook.stem}: changed in {sections}. Your version is kept in {backup}.")
    else:
        click.echo(f"{notebook.stem}: your copy is up to date.")


@main.command()
@COURSE_OPTION
@click.argument("notebook", type=NOTEBOOK_TYPE)
def check(notebook: Path) -> None:
    """Run YOUR OWN lab notebook afresh and print one line per exercise.

    It runs with all your rights: use `show` or `grade` for the submissions of others.
    Exit code 0 if every exercise is right, 1 if not.

    \b
    Example:  autograder check work/my-lab/my-lab.ipynb
    """
    from autograder.student.check_notebook import check_notebook

    statuses = check_notebook(notebook)
    for status in statuses:
        mark = "✓" if status.passed else "✗"
        click.echo(make_printable(f"{mark} {status.exercise}: {status.message}"))
    sys.exit(0 if all(status.passed for status in statuses) else 1)
