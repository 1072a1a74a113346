"""Open and lock nbgrader's gradebook database, and turn its errors into readable sentences."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from nbgrader import api
from nbgrader.api import Gradebook
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SAWarning

from autograder.core.files import write_file
from autograder.gradebook.classroom import Classroom, GradingError, read_small_text
from autograder.gradebook.policy import to_naive_utc

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class GradebookError(GradingError):
    """Error for a gradebook that cannot be opened, read or written."""


class SubmissionRefused(Exception):
    """Error for one submission that the gradebook does not accept, although it accepts others."""


def remove_password(url: str) -> str:
    """Return a database address without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except Exception:  # noqa: BLE001 - any error means that the text is no address
        return "(not a database address)"


def gradebook_exists(url: str) -> bool:
    """Return True if there is a gradebook at this database address.

    Only SQLite files are checked; a database on a server is assumed to exist.
    """
    try:
        address = make_url(url)
    except Exception:  # noqa: BLE001
        return True
    return address.get_backend_name() != "sqlite" or Path(address.database or "").is_file()


def _newest_schema_version() -> str:
    """Return the newest version of nbgrader's database layout, which a new gradebook gets.

    `nbgrader db upgrade` reads the stored version.
    """
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(Path(api.__file__).with_name("alembic"))).get_current_head() or ""


# This function replaces nbgrader's own function, which starts the program `alembic` to find the
# version. That takes seconds.
api.get_alembic_version = _newest_schema_version


def open_gradebook(classroom: Classroom) -> Gradebook:
    """Open the class's gradebook, creating it if it does not exist.

    Raises
    ------
    GradebookError
        If the database cannot be opened. The error's text says what to check.
    """
    try:
        with lock_gradebook_setup(classroom):
            return Gradebook(classroom.db, classroom.course.id)
    except Exception as error:  # noqa: BLE001 - drivers raise many types
        raise GradebookError(
            f"The gradebook {remove_password(classroom.db)} cannot be opened: "
            f"{format_error(error)} Check the address given with --db and that the server is "
            "running."
        ) from None


@contextmanager
def lock_gradebook_setup(classroom: Classroom) -> Iterator[None]:
    """Lock the classroom while a process creates the gradebook, or enters a lab into it.

    nbgrader's code that creates them fails if two processes run it at the same time. On Windows,
    and for a folder that does not exist, nothing is locked.
    """
    if not classroom.root.is_dir() or fcntl is None:
        yield
        return
    with (classroom.root / ".gradebook-lock").open("a") as file:
        with suppress(OSError):  # a network file system may have no locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def format_error(error: Exception) -> str:
    """Return the first line of a database error as a sentence."""
    line = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
    return line if line.endswith((".", "!", "?")) else f"{line}."


@contextmanager
def translate_read_errors(url: str) -> Iterator[None]:
    """Raise `GradebookError` if the `with` block fails on an invalid entry in the gradebook."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise GradebookError(
            f"The gradebook {remove_password(url)} has an entry that cannot be read: "
            f"{format_error(error)} Restore an earlier copy, or put it away: `autograder grade` "
            "makes a new one from results/."
        ) from None


@contextmanager
def silence_nbgrader() -> Iterator[None]:
    """Suppress nbgrader's log messages and warnings, which would break the progress bar."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)
            yield
    finally:
        logging.disable(logging.NOTSET)


def set_due_date(
    gradebook: Gradebook,
    classroom: Classroom,
    lab: str,
    due: datetime | None,
) -> None:
    """Set a lab's due date in the gradebook, creating the lab's assignment if necessary.

    If course.toml has no due date for the lab (`due` is None), a date that the instructor entered
    in nbgrader is kept, and a date that was copied from course.toml before is removed. The file
    `.<lab>.due` remembers which date was copied.
    """
    path = classroom.root / f".{lab}.due"
    earlier_due = read_small_text(path)
    if due:
        gradebook.update_or_create_assignment(lab, duedate=to_naive_utc(due))
        if earlier_due != str(to_naive_utc(due)):
            write_file(path, str(to_naive_utc(due)))
    elif earlier_due and str(gradebook.update_or_create_assignment(lab).duedate) == earlier_due:
        gradebook.update_or_create_assignment(lab, duedate=None)
        path.unlink()
    else:
        gradebook.update_or_create_assignment(lab)
