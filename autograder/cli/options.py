"""Options and arguments that several commands of the command line share."""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autograder.core.course import CLASSROOM_VARIABLE, COURSE_VARIABLE, find_course
from autograder.core.errors import AutograderError
from autograder.core.text_format import make_printable

if TYPE_CHECKING:
    from autograder.authoring.lab import Lab
    from autograder.gradebook.classroom import Classroom

# Copy of autograder.sandbox.choice.CHOICES.
SANDBOXES = (
    "auto",
    "bubblewrap",
    "webassembly",
    "none",
)
# These names must be those in autograder.platforms.responses.RESPONSE_FORMATS. That module is not
# imported here because the import would be slow.
FORMAT_NAMES = ("json", "gradescope", "prairielearn", "github")
PATH_TYPE = click.Path(path_type=Path)
FILE_TYPE = click.Path(path_type=Path, dir_okay=False)
FOLDER_TYPE = click.Path(path_type=Path, file_okay=False)


class _NotebookPath(click.Path):
    """Path of a notebook; the folder of a lab stands for the notebook of the same name in it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(value)
        notebook = path / f"{path.resolve().name}.ipynb"
        return super().convert(notebook if notebook.is_file() else path, param, ctx)


NOTEBOOK_TYPE = _NotebookPath(path_type=Path, dir_okay=False)


def _set_course(ctx: click.Context, param: click.Parameter, folder: Path | None) -> None:
    """Store the option --course in an environment variable, where child processes find it."""
    if folder is not None:
        os.environ[COURSE_VARIABLE] = str(folder.resolve())


COURSE_OPTION = click.option(
    "--course",
    type=FOLDER_TYPE,
    callback=_set_course,
    expose_value=False,
    help="The course's folder; by default the nearest course.toml at or above this one.",
)
LABS_ARGUMENT = click.argument("labs", nargs=-1, metavar="[LAB]...")


def classroom_options(command: Callable) -> Callable:
    """Add the options --course, --classroom and --db to a command.

    The command function gets the `Classroom` that they name as its first argument.
    """

    @COURSE_OPTION
    @click.option(
        "--classroom",
        type=FOLDER_TYPE,
        default=Path("classroom"),
        show_default=True,
        envvar=CLASSROOM_VARIABLE,
        show_envvar=True,
        help="The class's folder.",
    )
    @click.option(
        "--db",
        metavar="URL",
        help="The gradebook; by default gradebook.db in the class's folder.",
    )
    @wraps(command)
    def call_with_classroom(classroom: Path, db: str | None, **arguments: Any) -> None:
        from autograder.gradebook.classroom import Classroom

        command(Classroom(classroom, find_course(), db), **arguments)

    return call_with_classroom


SANDBOX_OPTION = click.option(
    "--sandbox",
    type=click.Choice(SANDBOXES),
    default="auto",
    show_default=True,
    help="What submissions run in; none is NO protection, only for ones you trust.",
)
WORKERS_OPTION = click.option(
    "--workers", type=click.IntRange(1), help="How many work side by side; by default one a core."
)


def print_lines(label: str, sentences: Iterable[str]) -> None:
    """Print sentences to stderr, each in a line that begins with a label such as "Note"."""
    for sentence in sentences:
        click.echo(make_printable(f"{label}: {sentence}"), err=True)


def choose_labs(names: Sequence[str], classroom: "Classroom | None" = None) -> "list[Lab]":
    """Read the named labs, or, without names, all labs for which this machine has the packages.

    Parameters
    ----------
    classroom : Classroom, optional
        If given without names, read only the labs with submissions in this class.

    Raises
    ------
    AutograderError
        If there is no lab of a name, or a named lab cannot run here.
    """
    from autograder.authoring.lab import read_labs

    course = find_course()
    for name in names:
        course.require_lab(name)
    if classroom:
        classroom.require_submissions()
        submitted_labs = {lab for _, lab in classroom.list_submissions(list(course.labs))}
        labs = read_labs(course, names or [lab for lab in course.labs if lab in submitted_labs])
    else:
        labs = read_labs(course)
    chosen_labs = []
    for name in names or labs:
        reason = labs[name].unavailable_reason()
        if reason and names:
            raise AutograderError(f"{name} cannot be done here. {reason}")
        if reason:
            click.echo(f"Left out: {name}. {reason}", err=True)
        else:
            chosen_labs.append(labs[name])
    return chosen_labs
