"""Results into nbgrader's gradebook and its `autograded/` folder. There is one writer at a time.

Plain `nbgrader autograde` reaches the same scores with the `Judge` step (see `nbgrader_config.py`);
here they are written through nbgrader's API in one transaction a hand-in.
"""

import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook, InvalidEntry, MissingEntry
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import compute_checksum, parse_utc
from sqlalchemy.exc import DBAPIError, OperationalError, SAWarning
from traitlets.config import Config, PyFileConfigLoader
from traitlets.utils.importstring import import_item

from autograder.cells import grade_id, id_of_test
from autograder.files import write
from autograder.grading.classroom import Classroom, GradingError, Submission
from autograder.grading.marking import Marked
from autograder.grading.sanitise import clean_markdown
from autograder.labs.build import ROOT
from autograder.labs.reference import SOLUTIONS
from autograder.results import Verdict


class GradebookError(GradingError):
    """The gradebook cannot be opened or written."""


def course_config() -> Config:
    """What nbgrader_config.py says."""
    return PyFileConfigLoader("nbgrader_config.py", str(ROOT)).load_config()


class Book:
    """A class's gradebook, open for writing.

    Parameters
    ----------
    classroom : Classroom
    db_url : str, optional
        SQLAlchemy's address of the database; the classroom's own SQLite file by default.
    """

    def __init__(self, classroom: Classroom, db_url: str | None = None):
        self.classroom = classroom
        self.url = db_url or classroom.default_db
        self.config = course_config()
        classroom.root.mkdir(parents=True, exist_ok=True)
        self._gradebook = self._open()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._gradebook.close()

    def _open(self) -> Gradebook:
        try:
            # nbgrader asks the `alembic` command of its own environment for the version of a new database.
            with _on_path(Path(sys.prefix) / "bin"):
                return Gradebook(self.url, self.config.CourseDirectory.course_id)
        except Exception as error:  # noqa: BLE001 - drivers raise many kinds
            raise GradebookError(
                f"The gradebook {shown(self.url)} cannot be opened: {_first_line(error)} "
                "Check the address given with --db and that the server is running."
            ) from None

    def prepare(self, lab: str, due: datetime | None = None) -> None:
        """Make the lab an assignment of the gradebook, its cells as the solution has them now.

        Parameters
        ----------
        due : datetime, optional
            When it is due, in UTC; a due date that is there already stays.
        """
        with _quiet_nbgrader():
            self._gradebook.update_or_create_assignment(lab, **({"duedate": due} if due else {}))
            notebook = nbformat.read(SOLUTIONS / lab / f"{lab}.ipynb", as_version=4)
            resources = {"nbgrader": {"notebook": lab, "assignment": lab, "db_url": self.url}}
            for name in self.config.GenerateAssignment.preprocessors:
                try:
                    notebook, resources = import_item(name)(config=self.config)(notebook, resources)
                except RuntimeError as error:
                    raise GradebookError(
                        f"The gradebook holds hand-ins of another version of {lab} ({_first_line(error)}); "
                        "give the new version a new classroom with --classroom."
                    ) from None

    def record(self, submission: Submission, marked: Marked) -> None:
        """Write one hand-in's marks, comments and executed notebook; a lost connection is tried again."""
        self._write_notebook(submission, marked)
        with _quiet_nbgrader():
            self._try_again(lambda: self._record(submission, marked))

    def _record(self, submission: Submission, marked: Marked) -> None:
        book, student, lab = self._gradebook, submission.student, submission.lab
        book.update_or_create_student(student)
        given = {}
        if submission.timestamp:
            given["timestamp"] = _utc(submission.timestamp)
        late = book.update_or_create_submission(lab, student, **given).total_seconds_late > 0
        notebook = book.find_submission_notebook(lab, lab, student)
        rows = {row.exercise: row for row in marked.rows}
        cells = {
            cell.metadata["nbgrader"]["grade_id"]: cell
            for cell in marked.notebook.cells
            if "nbgrader" in cell.metadata
        }
        named = {id_of_test(name): row for name, row in rows.items()}
        for grade in notebook.grades:
            row = named.get(grade.name) or rows.get(grade.name)
            if row is None:
                raise GradebookError(f"{student}, {lab}: no result for the cell {grade.name!r}.")
            grade.auto_score = row.score
            unanswered = row.verdict is Verdict.MANUAL and _untouched(cells[grade.name])
            if unanswered:
                grade.auto_score = 0.0
            # As nbgrader does: a person looks again where there is no score, or where they gave one before.
            grade.needs_manual_grade = grade.auto_score is None or grade.manual_score is not None
        by_solution = {grade_id(name): row for name, row in rows.items()}
        for comment in notebook.comments:
            row = by_solution.get(comment.name)
            if row is None or row.verdict is Verdict.MANUAL:
                comment.auto_comment = "No response." if _untouched(cells[comment.name]) else None
            else:
                comment.auto_comment = clean_markdown(row.message)  # nbgrader shows comments as HTML
        notebook.late_submission_penalty = None
        book.db.commit()
        if late:
            resources = {
                "nbgrader": {"notebook": lab, "assignment": lab, "student": student, "db_url": self.url}
            }
            AssignLatePenalties(config=self.config)(marked.notebook, resources)
            book.db.expire_all()

    def _write_notebook(self, submission: Submission, marked: Marked) -> None:
        folder = self.classroom.autograded / submission.student / submission.lab
        write(folder / f"{submission.lab}.ipynb", json.dumps(marked.notebook, ensure_ascii=False))
        if submission.timestamp:
            write(folder / "timestamp.txt", submission.timestamp + "\n")
        if secret := self.classroom.secret(submission.student, submission.lab):
            write(folder / "submission_secret.txt", secret)

    def _try_again(self, action: Callable[[], None], attempts: int = 4) -> None:
        for attempt in range(1, attempts + 1):
            try:
                return action()
            except (OperationalError, DBAPIError, InvalidEntry, MissingEntry) as error:
                if attempt == attempts:
                    raise GradebookError(
                        f"The gradebook {shown(self.url)} could not be written: {_first_line(error)} "
                        "No result is lost: they are kept in results/; run the same command again."
                    ) from None
                time.sleep(0.2 * 4 ** (attempt - 1))
                with suppress(Exception):  # the connection is lost already
                    self._gradebook.close()
                try:
                    self._gradebook = self._open()
                except GradebookError:
                    continue


def shown(url: str) -> str:
    """A database address without its password."""
    from sqlalchemy.engine import make_url

    try:
        return make_url(url).render_as_string(hide_password=True)
    except Exception:  # noqa: BLE001 - whatever it is, it is no address
        return "(not a database address)"


def _utc(timestamp: str):
    try:
        return parse_utc(timestamp)
    except (ValueError, OverflowError):
        return None


def _untouched(cell) -> bool:
    return cell.metadata["nbgrader"].get("checksum") == compute_checksum(cell)


def _first_line(error: Exception) -> str:
    line = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
    return line if line.endswith((".", "!", "?")) else f"{line}."


@contextmanager
def _quiet_nbgrader():
    """nbgrader logs and warns on stderr about its own workings; a run has a progress bar instead."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)
            yield
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def _on_path(folder: Path):
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = f"{folder}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before
