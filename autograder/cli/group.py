"""Define the command `autograder`: list its subcommands, and show their errors as sentences."""

import re
import sys
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, NoReturn

import click

from autograder.core.errors import INSTALL_ADVICE, AutograderError
from autograder.core.files import is_disk_error
from autograder.core.text_format import make_printable

# Name of the entry points by which other Python packages can add commands to `autograder`.
ENTRY_POINT_GROUP = "autograder.commands"

_INSTRUCTOR_PACKAGES = (
    "autograder.authoring",
    "autograder.sandbox",
    "autograder.intake",
    "autograder.gradebook",
    "autograder.grading",
    "autograder.reports",
    "autograder.platforms",
)

_STUDENT_COMMANDS = ("start", "lab", "update", "reset", "check")

# Sentence for a user who stops a command with Ctrl+C, by command. It says which part of the work is
# kept.
_INTERRUPTION_NOTES = {
    "collect": "What is filed is kept; the same command goes on from there.",
    "grade": "What is marked is kept; the same command goes on from there.",
    "feedback": "The pages made so far are kept; the same command goes on from there.",
    "report": (
        "No mark is changed. A report that was there may be in part the new one: run the command again."
    ),
}


class CommandGroup(click.Group):
    """Group of all commands. The help lists them in the order in which a course needs them.

    An error that the user can fix is shown as one sentence, without a traceback.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        if not _has_instructor_packages():
            return list(_STUDENT_COMMANDS)
        return [*self.commands, *sorted(_find_entry_points())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in _find_entry_points():
            command = _find_entry_points()[cmd_name].load()
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except AutograderError as error:
            _exit_with_error(str(error), error.exit_code)
        except KeyboardInterrupt:
            note = _INTERRUPTION_NOTES.get(ctx.invoked_subcommand or "", "")
            click.echo(f"Stopped. {note}".strip(), err=True)
            sys.exit(130)
        except OSError as error:
            path = f"{error.filename}: " if error.filename else ""
            remedy = ""
            if is_disk_error(error):
                remedy = " Give it room; the same command goes on from there."
            _exit_with_error(f"{path}{error.strerror or error}.{remedy}")
        except ModuleNotFoundError as error:
            module = error.name or ""
            if module.startswith(_INSTRUCTOR_PACKAGES):
                raise click.UsageError(
                    "This command is for instructors: it needs the course's whole repository, "
                    "and this is the students' part of it."
                ) from None
            package = module.split(".")[0]
            if package in _list_optional_packages():
                _exit_with_error(f"This needs {package}, which is not installed: {INSTALL_ADVICE}")
            raise


def _exit_with_error(text: str, exit_code: int = 1) -> NoReturn:
    click.echo(make_printable(f"Error: {text}"), err=True)
    sys.exit(exit_code)


def _list_optional_packages() -> set[str]:
    """Return the names of the Python packages that only extras (optional parts) install."""
    from importlib.metadata import packages_distributions, requires

    packages = set()
    for distribution in packages_distributions().get("autograder", ()):
        for requirement in requires(distribution) or ():
            match = re.match(r"[\w-]+", requirement)
            if match and "extra ==" in requirement:
                packages.add(match[0].replace("-", "_").lower())
    return packages


def _has_instructor_packages() -> bool:
    """Return True if the whole autograder is installed, False if only the part for students."""
    return (Path(__file__).parents[1] / "grading").is_dir()


@cache
def _find_entry_points() -> dict[str, EntryPoint]:
    """Return the entry points of commands that other installed packages add, by command name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(package_name="attention-labs", prog_name="autograder")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Check your own notebook, or mark a class's.

    Without a command, it says what to do next in this folder.
    """
    if ctx.invoked_subcommand is not None:
        return
    from autograder.core.course import find_course, find_course_folder

    if not _has_instructor_packages() or find_course_folder() is None:
        click.echo(ctx.get_help())
        return
    from autograder.cli.next_step import describe_next_steps

    for line in describe_next_steps(find_course()):
        click.echo(line)
    click.echo("All commands:\n    autograder --help")
