"""The command `autograder import`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from autograder.cli.options import COURSE_OPTION, PATH_TYPE
from autograder.core.course import find_course
from autograder.core.errors import UsageError
from autograder.core.text_format import make_printable


@click.command("import")
@COURSE_OPTION
@click.option(
    "--without-sandbox",
    is_flag=True,
    help="Run the notebooks as you, with your files and the network.",
)
@click.argument("files", nargs=-1, required=True, type=PATH_TYPE, metavar="FILE...")
def import_notebooks(files: Sequence[Path], without_sandbox: bool) -> None:
    """Make labs of another grader's source notebooks: nbgrader's, or otter's.

    Runs each with its own solutions to see what its tests ask, and says cell by cell what came
    over. The run has a sandbox (bubblewrap): no network, and no file but those beside the notebook.
    Where no sandbox starts, you are asked first. Exit code 0 if everything came over, 1 if
    something is left to do by hand.

    \b
    Example:  autograder import source/ps1/problem1.ipynb --course mine
    """
    from course_import.importer import import_notebook

    if not without_sandbox:
        without_sandbox = _ask_to_run_without_sandbox()
    all_complete = True
    for path in files:
        report = import_notebook(path, find_course(), in_sandbox=not without_sandbox)
        all_complete = all_complete and report.is_complete
        click.echo(make_printable(report.text()))
        click.echo(
            f"solutions/{report.lab} holds the lab. Read it, and run `autograder build {report.lab}`.",
        )
    sys.exit(0 if all_complete else 1)


def _ask_to_run_without_sandbox() -> bool:
    """Return False if the sandbox starts, and True if it does not and the person agrees.

    Raises
    ------
    UsageError
        If the sandbox does not start and the person does not agree, or cannot be asked.
    """
    from autograder.sandbox.bubblewrap import explain_why_no_command_runs

    reason = explain_why_no_command_runs()
    if not reason:
        return False
    click.echo(reason, err=True)
    danger = "Without a sandbox, the code in the notebooks can read and change all your files."
    if not is_interactive():
        raise UsageError(
            f"{danger} If you trust the notebooks, run the command again with --without-sandbox."
        )
    click.echo(danger, err=True)
    if not click.confirm("Do you trust them, and shall they run all the same?", err=True):
        raise UsageError("Nothing was imported.")
    return True


def is_interactive() -> bool:
    """Return True if a person can answer a question in the terminal."""
    return sys.stdin.isatty()
