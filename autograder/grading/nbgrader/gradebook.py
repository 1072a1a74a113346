"""Verdicts into nbgrader's gradebook and its `autograded/` folder, and marks out of it. One writer at a time.

Plain `nbgrader autograde` reaches the same scores with the `Judge` step (see `nbgrader_settings`); here they
are written through nbgrader's own tables, in one transaction a hand-in, and priced for all at once.
"""

import html
import json
import logging
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from glob import escape
from itertools import count
from pathlib import Path
from typing import Any

from nbgrader import api
from nbgrader.api import Gradebook, InvalidEntry, MissingEntry
from nbgrader.utils import parse_utc
from sqlalchemy import text as sql
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError, SAWarning, SQLAlchemyError
from traitlets.utils.importstring import import_item

from autograder.authoring.lab import Lab
from autograder.authoring.nbgrader_settings import settings
from autograder.cells import grade_id, id_of_test, nbgrader_of
from autograder.errors import printable
from autograder.files import hash_of, read_json, write
from autograder.grading.marking import Marked
from autograder.grading.register import evidence
from autograder.grading.register.classroom import (
    Classroom,
    GradingError,
    Submission,
    leads_elsewhere,
    small_text,
)
from autograder.grading.register.policy import YEARS, Policy, Timing, naive, read_policy, rescaled
from autograder.grading.register.roll import Roll, read_roll
from autograder.results import Result, Verdict

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


# nbgrader's schema has none here, and the formgrader's list of a lab's 300 hand-ins takes seconds without.
_INDEX = "CREATE INDEX IF NOT EXISTS notebooks_of_hand_ins ON submitted_notebook (assignment_id)"
ATTEMPTS = 4  # to do something with the gradebook whose connection is lost


class GradebookError(GradingError):
    """The gradebook cannot be opened, read or written."""


class NotRecorded(Exception):
    """The gradebook is well, and does not take this one hand-in."""


def shown(url: str) -> str:
    """A database address without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except Exception:  # noqa: BLE001 - whatever it is, it is no address
        return "(not a database address)"


def exists(url: str) -> bool:
    """Whether there is a gradebook at this address; of a server, only opening it tells."""
    try:
        address = make_url(url)
    except Exception:  # noqa: BLE001
        return True
    return address.get_backend_name() != "sqlite" or Path(address.database or "").is_file()


def _newest_schema() -> str:
    """The version that a new gradebook is marked with, for nbgrader's own upgrades."""
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(Path(api.__file__).with_name("alembic"))).get_current_head() or ""


api.get_alembic_version = _newest_schema  # nbgrader's own starts the `alembic` command, which takes seconds


def opened(classroom: Classroom) -> Gradebook:
    """The class's gradebook; raises `GradebookError` with what to check."""
    try:
        with _one_at_a_time(classroom):
            return Gradebook(classroom.db, classroom.course.id)
    except Exception as error:  # noqa: BLE001 - drivers raise many kinds
        raise GradebookError(
            f"The gradebook {shown(classroom.db)} cannot be opened: {first_line(error)} "
            "Check the address given with --db and that the server is running."
        ) from None


@contextmanager
def _one_at_a_time(classroom: Classroom) -> Iterator[None]:
    """Of the runs in one classroom, one makes the gradebook or its labs: nbgrader's own code for it is not made for two."""
    if not classroom.root.is_dir() or fcntl is None:
        yield
        return
    with (classroom.root / ".gradebook-lock").open("a") as file:
        with suppress(OSError):  # a network's folder may have no locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def first_line(error: Exception) -> str:
    """What a database's error says, as a sentence."""
    line = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
    return line if line.endswith((".", "!", "?")) else f"{line}."


@dataclass
class _Receipt:
    """What of a hand-in has reached the gradebook.

    Parameters
    ----------
    stamp : str
        Names the verdicts, the time and the gradebook.
    answers : mapping of str to str
        A hash of each answer: the one that marks by hand, if there are any, belong to.
    earlier : mapping of str to (float, str)
        Marks by hand, with their comments, that were given for answers that are not there any more.
    shared : mapping of str to float
        Marks by hand that were given to a partner, and hold for the whole group.
    """

    stamp: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    earlier: dict[str, list] = field(default_factory=dict)
    shared: dict[str, float] = field(default_factory=dict)


@dataclass
class _Cells:
    """A lab's graded cells as the gradebook has them: which are marked, for how many points, and which commented.

    The ids are the gradebook's own; what is marked and commented is listed by them.
    """

    assignment: str
    notebook: str
    marked: Mapping[str, tuple[str, float]]
    commented: Mapping[str, str]


class Book:
    """A class's gradebook, open for writing."""

    def __init__(self, classroom: Classroom):
        self.classroom = classroom
        self.config = settings(classroom.course)
        self.config.CourseDirectory.db_url = classroom.db
        self._gradebook = opened(classroom)
        self._forget()

    def _forget(self) -> None:
        """Ask the gradebook anew for what it has: another may have written to it."""
        self._cells: dict[str, _Cells] = {}
        self._known: set[tuple[str, str]] | None = None

    def __enter__(self) -> "Book":
        return self

    def __exit__(self, *_: object) -> None:
        self._gradebook.close()

    @property
    def assignments(self) -> list[Any]:
        """nbgrader's records of the labs that are in the gradebook."""
        return list(self._gradebook.assignments)

    def prepare(self, labs: Sequence[Lab], policy: Policy) -> None:
        """Make the labs assignments of the gradebook, their cells as the solutions have them now.

        A due date of the gradebook's own stays where the course names none.
        """
        for lab in labs:
            points = policy.points[lab.name]
            with _one_at_a_time(self.classroom):
                self._try_again(partial(self._prepare, lab, policy.due[lab.name], points))

    def _prepare(self, lab: Lab, due: datetime | None, points: Mapping[str, float]) -> None:
        set_due(self._gradebook, self.classroom, lab.name, due)
        self._gradebook.db.execute(sql(_INDEX))
        self._gradebook.db.commit()
        there = self._gradebook.find_assignment(lab.name).notebooks
        made_of = hash_of(lab.solution.read_bytes(), str(dict(points)))
        prepared = {"gradebook": shown(self.classroom.db), "made_of": made_of}
        path = self.classroom.root / f".{lab.name}.prepared"
        if not there or read_json(path) != prepared:
            self._rescale(lab, points)
            self._save_cells(lab, points)
            write(path, json.dumps(prepared))

    def _rescale(self, lab: Lab, points: Mapping[str, float]) -> None:
        """Marks given by hand stay the same part of the points, when a question is worth others than it was."""
        db, cell = self._gradebook.db, api.GradeCell
        path = self.classroom.root / f".{lab.name}.dropped"  # what a question was worth before it was dropped
        dropped = read_json(path)
        of_lab = db.query(cell).join(api.Notebook, cell.notebook_id == api.Notebook.id)
        for one in of_lab.join(api.Assignment).filter(api.Assignment.name == lab.name):
            name = lab.name_of(one.name)
            was, now = one.max_score or dropped.get(one.name, 0.0), points.get(name, 0.0)
            if not now and was:
                write(path, json.dumps(dropped := {**dropped, one.name: was}))
            if not now or was == now:
                continue
            for grade in db.query(api.Grade).filter(api.Grade.cell_id == one.id):
                if grade.manual_score is not None:
                    grade.manual_score = rescaled(grade.manual_score, was, now)
            one.max_score = now
            for receipt in self.classroom.files_in(self.classroom.results, f"*/{escape(lab.name)}.recorded"):
                kept = _read_receipt(receipt)
                if name in kept.earlier or one.name in kept.shared:
                    if name in kept.earlier:
                        kept.earlier[name][0] = rescaled(kept.earlier[name][0], was, now)
                    if one.name in kept.shared:
                        kept.shared[one.name] = rescaled(kept.shared[one.name], was, now)
                    write(receipt, json.dumps(vars(kept)))
        db.commit()

    def _save_cells(self, lab: Lab, points: Mapping[str, float]) -> None:
        notebook = lab.read_solution()
        self._cells.pop(lab.name, None)
        for cell in notebook.cells:
            nbgrader = nbgrader_of(cell)
            if nbgrader.get("grade"):
                nbgrader["points"] = points[lab.name_of(nbgrader["grade_id"])]
        resources = {"nbgrader": {"notebook": lab.name, "assignment": lab.name, "db_url": self.classroom.db}}
        for name in self.config.GenerateAssignment.preprocessors:
            try:
                notebook, resources = import_item(name)(config=self.config)(notebook, resources)
            except RuntimeError as error:
                raise GradebookError(
                    f"The gradebook holds hand-ins of another version of {lab.name} ({first_line(error)}); "
                    "give the new version a new classroom with --classroom."
                ) from None

    # One hand-in

    def has(self, submission: Submission, marked: Marked) -> bool:
        """Whether what was found has reached this gradebook."""
        # The gradebook may have been put away since the receipt was written.
        who = submission.student, submission.lab
        known = who in self._handed_in()
        return known and _read_receipt(self._receipt_of(*who)).stamp == self._stamp(submission, marked)

    def _handed_in(self) -> set[tuple[str, str]]:
        """The hand-ins that the gradebook had when it was first asked, and what was written since; by student and lab."""
        if self._known is None:
            db, sub, lab = self._gradebook.db, api.SubmittedAssignment, api.Assignment
            found = db.query(sub.student_id, lab.name).join(lab, sub.assignment_id == lab.id)
            self._known = {(student, name) for student, name in found}
        return self._known

    def record(self, submission: Submission, marked: Marked) -> None:
        """Write one hand-in's verdicts and comments; a lost connection is tried again."""
        path = self._receipt_of(submission.student, submission.lab)
        before = _read_receipt(path)
        write(path, json.dumps({**vars(before), "stamp": ""}))  # until all is written
        self._write_files(submission)
        after = self._try_again(lambda: self._record(submission, marked, before), of_one=True)
        if not marked.faults:
            write(path, json.dumps({**vars(after), "stamp": self._stamp(submission, marked)}))

    def _record(self, submission: Submission, marked: Marked, before: _Receipt) -> _Receipt:
        db = self._gradebook.db
        rows = {row.exercise: row for row in marked.rows}
        tests = {id_of_test(name): row for name, row in rows.items()}
        answers = {grade_id(name): row for name, row in rows.items()}
        earlier = dict(before.earlier)
        grades, comments, new = self._entries(submission)
        for cell, (grade, points) in grades.items():
            row = tests.get(cell) or rows.get(cell)
            if row is None:
                raise NotRecorded(f"there is no result for the cell {cell!r}.")
            if row.verdict is Verdict.FAULT:
                # What a person has given stays: nobody knows yet if the answer has changed.
                grade.auto_score, grade.needs_manual_grade = None, False
                continue
            changed = before.answers.get(row.exercise, "") != marked.answers.get(row.exercise, "")
            if grade.manual_score is not None and changed and before.answers:
                comment = comments.get(grade_id(row.exercise))
                earlier[row.exercise] = [grade.manual_score, (comment and comment.manual_comment) or ""]
                grade.manual_score = None
                if comment:
                    comment.manual_comment = None
                grade.needs_manual_grade = True
            _price(grade, points, row, marked)
            if row.exercise not in earlier:  # what waits, waits until a person has given a mark anew
                grade.needs_manual_grade = grade.auto_score is None and grade.manual_score is None
            elif grade.manual_score is not None:
                del earlier[row.exercise]
                grade.needs_manual_grade = False
        for name, comment in comments.items():
            row = answers.get(name)
            said = "" if row is None or row.verdict is Verdict.MANUAL else row.message
            if row is not None and row.verdict is Verdict.FAULT:
                said = f"Waits for the grader. {said}"
            if row is not None and row.exercise in marked.untouched and row.verdict is Verdict.MANUAL:
                said = "No response."
            if row is not None and row.exercise in earlier:
                said += f" ({said_of_earlier(earlier[row.exercise], row.max_score)})"
            # nbgrader shows comments as HTML.
            comment.auto_comment = html.escape(said.strip(), quote=False) or None
        db.bulk_save_objects(new)  # many at once, and none of them is asked for again
        db.commit()
        self._handed_in().add((submission.student, submission.lab))
        shared = {name: score for name, score in before.shared.items() if name not in earlier}
        return _Receipt("", dict(marked.answers), earlier, shared)

    def _entries(
        self, submission: Submission
    ) -> tuple[dict[str, tuple[api.Grade, float]], dict[str, api.Comment], list[Any]]:
        """A hand-in's grades with their points, and its comments, by the names of their cells; and what is new.

        New entries are as `Gradebook.add_submission` makes them, which makes and asks for them one by one. They
        are to be saved in the order of the list.
        """
        db, cells = self._gradebook.db, self._cells_of(submission.lab)
        sub, note = api.SubmittedAssignment, api.SubmittedNotebook
        new: list[Any] = []
        handed_in = None
        if (submission.student, submission.lab) in self._handed_in():
            of_student = (sub.assignment_id == cells.assignment) & (sub.student_id == submission.student)
            handed_in = db.query(sub).filter(of_student).one_or_none()
        if handed_in is None:
            if db.get(api.Student, submission.student) is None:
                new.append(api.Student(id=submission.student))
            of = {"assignment_id": cells.assignment, "student_id": submission.student}
            handed_in = sub(id=api.new_uuid(), **of)
            notebook = note(id=api.new_uuid(), assignment_id=handed_in.id, notebook_id=cells.notebook)
            grades = [api.Grade(notebook_id=notebook.id, cell_id=cell) for cell in cells.marked]
            comments = [api.Comment(notebook_id=notebook.id, cell_id=cell) for cell in cells.commented]
            new += [handed_in, notebook, *grades, *comments]
        else:
            of_lab = (note.assignment_id == handed_in.id) & (note.notebook_id == cells.notebook)
            (there,) = db.query(note.id).filter(of_lab).one()
            grades = db.query(api.Grade).filter(api.Grade.notebook_id == there).all()
            comments = db.query(api.Comment).filter(api.Comment.notebook_id == there).all()
        handed_in.timestamp = utc_of(submission.timestamp)
        by_name = {cells.marked[g.cell_id][0]: (g, cells.marked[g.cell_id][1]) for g in grades}
        return by_name, {cells.commented[c.cell_id]: c for c in comments}, new

    def _cells_of(self, lab: str) -> _Cells:
        if lab not in self._cells:
            notebook = self._gradebook.find_notebook(lab, lab)
            marked = [*notebook.grade_cells, *notebook.task_cells]
            self._cells[lab] = _Cells(
                notebook.assignment.id,
                notebook.id,
                {cell.id: (cell.name, cell.max_score) for cell in marked},
                {cell.id: cell.name for cell in [*notebook.solution_cells, *notebook.task_cells]},
            )
        return self._cells[lab]

    def _receipt_of(self, student: str, lab: str) -> Path:
        return self.classroom.result_path(student, lab, "recorded")

    def _stamp(self, submission: Submission, marked: Marked) -> str:
        """Names what was found, when it was handed in, and the gradebook, without showing a password."""
        return hash_of(
            json.dumps(marked.facts(), sort_keys=True), str(submission.timestamp), self.classroom.db
        )

    def _write_files(self, submission: Submission) -> None:
        """What nbgrader wants beside the executed notebook."""
        texts = {
            "timestamp.txt": submission.timestamp and submission.timestamp + "\n",
            "submission_secret.txt": self.classroom.secret(submission.student, submission.lab),
        }
        for name, text in texts.items():
            path = self.classroom.notebook_path(submission.student, submission.lab, name)
            if text:
                write(path, text)
            else:
                path.unlink(missing_ok=True)

    def give(self, lab: Lab, name: str, given: Mapping[str, tuple[str, str]]) -> None:
        """Write what a person gives for one question or exercise, all of it or nothing.

        Parameters
        ----------
        given : mapping of str to (str, str)
            By student, the points ("" leaves what is there) and the comment.
        """
        self._try_again(lambda: self._give(lab, name, given))

    def _give(self, lab: Lab, name: str, given: Mapping[str, tuple[str, str]]) -> None:
        marked, commented = (id_of_test(name), grade_id(name)) if name in lab.exercises else (name, name)
        for student, (points, words) in given.items():
            notebook = self._gradebook.find_submission_notebook(lab.name, lab.name, student)
            for grade in notebook.grades:
                if grade.name == marked and points:
                    grade.manual_score, grade.needs_manual_grade = float(points), False
            for comment in notebook.comments:
                if comment.name == commented:
                    comment.manual_comment = words or None
        self._gradebook.db.commit()

    # The whole class

    def settle(self, labs: Sequence[str], policy: Policy, roll: Roll | None = None) -> None:
        """Price all marks of these labs anew: today's points, today's penalties, what a group shares.

        Raises
        ------
        Complaint
            If the roster cannot be used.
        """
        roll = roll or read_roll(self.classroom)
        with _readable(self.classroom.db):
            self._try_again(lambda: self._name(roll))
            for lab in labs:
                for partners in roll.partners(lab):
                    self._try_again(partial(self._share, lab, partners))
            self._try_again(lambda: self._settle(labs, policy, roll))

    def _name(self, roll: Roll) -> None:
        """Give the gradebook's students the roster's names, which the formgrader then shows."""
        for student in self._gradebook.students:
            if (person := roll.people.get(student.id)) is None:
                continue
            first, last = person.first, person.last
            if not (first or last):  # the formgrader shows "last, first"
                first, _, last = person.name.rpartition(" ")
            for column, text in (("first_name", first), ("last_name", last), ("email", person.email)):
                # A student chooses it: PostgreSQL has no zero byte, and refuses what is longer than nbgrader's column.
                said = printable(text)[: getattr(api.Student, column).type.length]
                if said and getattr(student, column) != said:
                    setattr(student, column, said)
        self._gradebook.db.commit()

    def _share(self, lab: str, partners: Sequence[str]) -> None:
        """A mark given by hand to one of a group holds for all, unless they were given different ones."""
        receipts = {who: _read_receipt(self._receipt_of(who, lab)) for who in partners}
        notebooks = {}
        for who in partners:
            with suppress(MissingEntry):
                notebooks[who] = self._gradebook.find_submission_notebook(lab, lab, who)
        by_cell: dict[str, dict[str, Any]] = {}
        for who, notebook in notebooks.items():
            for one in notebook.grades:
                by_cell.setdefault(one.name, {})[who] = one
        changed = set()
        for name, grades in by_cell.items():
            copies = {w for w, g in grades.items() if receipts[w].shared.get(name) == g.manual_score}
            given = {w: g for w, g in grades.items() if g.manual_score is not None and w not in copies}
            scores = {g.manual_score for g in given.values()}
            if len(scores) > 1:
                continue  # each has their own: so the instructor wants it
            for who, one in grades.items():
                if who in given:
                    continue
                if given and one.manual_score != (score := min(scores)):
                    one.manual_score, one.needs_manual_grade = score, False
                    receipts[who].shared[name] = score
                    changed.add(who)
                    _copy_comment(next(iter(given)), who, notebooks, name)
                elif not given and one.manual_score is not None:
                    one.manual_score, one.needs_manual_grade = None, one.auto_score is None
                    del receipts[who].shared[name]
                    changed.add(who)
        self._gradebook.db.commit()
        for who in changed:
            write(self._receipt_of(who, lab), json.dumps(vars(receipts[who])))

    def _settle(self, labs: Sequence[str], policy: Policy, roll: Roll) -> None:
        db = self._gradebook.db
        cell, grade, note, sub = api.GradeCell, api.Grade, api.SubmittedNotebook, api.SubmittedAssignment
        passed = {
            (student, lab, row.exercise)
            for (student, lab), marked in evidence.stored(self.classroom).items()
            if marked is not None and lab in labs
            for row in marked.rows
            if row.verdict is Verdict.PASS
        }
        tests = {id_of_test(name): name for lab in labs for name in policy.points[lab]}
        marks = (
            db.query(grade, cell.max_score, cell.name, sub.student_id, api.Assignment.name)
            .join(cell, grade.cell_id == cell.id)
            .join(note, grade.notebook_id == note.id)
            .join(sub, note.assignment_id == sub.id)
            .join(api.Assignment, sub.assignment_id == api.Assignment.id)
            .filter(api.Assignment.name.in_(labs))
        )
        totals: dict[str, float] = {}
        for one, most, name, student, lab in marks:
            # All or nothing; by the verdict, for what was dropped once may count again.
            won = one.auto_score or (student, lab, tests.get(name, name)) in passed
            if one.auto_score is not None and won and one.auto_score != most:
                one.auto_score = most
            score = one.auto_score if one.manual_score is None else one.manual_score
            totals[one.notebook_id] = totals.get(one.notebook_id, 0.0) + ((score or 0.0) if most else 0.0)
        timing = timings(db.query, policy, roll)
        handed_in = (
            db.query(note, sub.student_id, api.Assignment.name)
            .join(sub, note.assignment_id == sub.id)
            .join(api.Assignment, sub.assignment_id == api.Assignment.id)
            .filter(api.Assignment.name.in_(labs))
        )
        for one, student, lab in handed_in:
            penalty = policy.penalty(totals.get(one.id, 0.0), timing[student, lab]) or None
            if one.late_submission_penalty != penalty:
                one.late_submission_penalty = penalty
        db.commit()

    def _try_again(self, action: Callable[[], Any], of_one: bool = False) -> Any:
        """Do something with the gradebook, however often the connection is lost meanwhile.

        Where it is for one hand-in and fails twice, and not for the connection or what the gradebook should have,
        it is that hand-in's fault: the first time, another run may have written the same.
        """
        for attempt in count(1):
            try:
                with _quiet_nbgrader():
                    return action()
            except (SQLAlchemyError, InvalidEntry, MissingEntry) as error:
                self._roll_back()  # it asks for a new connection where the old one is lost
                self._forget()  # who knows what is there by now
                lost = isinstance(error, (OperationalError, MissingEntry)) or getattr(
                    error, "connection_invalidated", False
                )
                if of_one and attempt > 1 and not lost:
                    raise NotRecorded(first_line(error)) from None
                if attempt == ATTEMPTS:
                    raise GradebookError(
                        f"The gradebook {shown(self.classroom.db)} could not be written: {first_line(error)} "
                        "No result is lost: they are kept in results/; run the same command again."
                    ) from None
                time.sleep(0.2 * 4 ** (attempt - 1))
            except BaseException:
                self._roll_back()  # or the next hand-in would write what is left of this one
                raise

    def _roll_back(self) -> None:
        with suppress(Exception):
            self._gradebook.db.rollback()


def set_due(gradebook: Gradebook, classroom: Classroom, lab: str, due: datetime | None) -> None:
    """Make the lab an assignment with the course's due date; where the course names none, with nbgrader's own.

    A due date that an earlier course.toml has put there goes with it.
    """
    path = classroom.root / f".{lab}.due"
    ours = small_text(path)
    if due:
        gradebook.update_or_create_assignment(lab, duedate=naive(due))
        if ours != str(naive(due)):
            write(path, str(naive(due)))
    elif ours and str(gradebook.update_or_create_assignment(lab).duedate) == ours:
        gradebook.update_or_create_assignment(lab, duedate=None)
        path.unlink()
    else:
        gradebook.update_or_create_assignment(lab)


def refresh(classroom: Classroom, labs: Mapping[str, Lab], roll: Roll | None = None) -> Policy:
    """Bring the gradebook's marks up to what course.toml and the roster say now; gives the policy.

    Nothing is judged. A classroom without a gradebook stays without one.

    Raises
    ------
    Complaint
        If course.toml, the roster or the gradebook cannot be used.
    """
    policy = read_policy(classroom.course, labs)
    if exists(classroom.db):
        with Book(classroom) as book:
            known = [lab for lab in labs if lab in {a.name for a in book.assignments}]
            book.prepare([labs[lab] for lab in known], policy)
            book.settle(known, policy, roll)
    return policy


def earlier_marks(classroom: Classroom, student: str, lab: str) -> dict[str, list]:
    """Marks by hand that do not count any more, as the answer they were given for is not there any more.

    By the name of the exercise or question: the points, and the words given with them.
    """
    return _read_receipt(classroom.result_path(student, lab, "recorded")).earlier


def said_of_earlier(mark: Sequence, of: float) -> str:
    """One of these marks, as it is told."""
    score, words = mark
    quoted = f": “{words}”" if words else ""
    return f"For an earlier answer a person gave {score:g} of {of:g} points{quoted}."


def _read_receipt(path: Path) -> _Receipt:
    try:
        return _Receipt(**read_json(path))
    except TypeError:
        return _Receipt()


def interrupted(classroom: Classroom, student: str, lab: str) -> bool:
    """Whether a run ended between keeping what it found in a hand-in and the gradebook's knowing it."""
    result = classroom.result_path(student, lab)
    receipt = classroom.result_path(student, lab, "recorded")
    return result.is_file() and receipt.is_file() and not _read_receipt(receipt).stamp


def _copy_comment(giver: str, taker: str, notebooks: Mapping[str, Any], cell: str) -> None:
    """The words that a person gave with a mark, to a partner who has none."""
    said = {c.name: c.manual_comment for c in notebooks[giver].comments}
    for comment in notebooks[taker].comments:
        if comment.name == cell and not comment.manual_comment:
            comment.manual_comment = said.get(comment.name)


def _price(grade: Any, points: float, row: Result, marked: Marked) -> None:
    """The automatic score of one graded cell: all of its points, none, or not yet known."""
    if row.verdict is Verdict.MANUAL:
        grade.auto_score = 0.0 if row.exercise in marked.untouched else None
    elif row.score is None:
        grade.auto_score = None
    else:
        grade.auto_score = points if row.verdict is Verdict.PASS else 0.0


def timings(ask: Callable, policy: Policy, roll: Roll) -> dict[tuple[str, str], Timing]:
    """When each hand-in of the gradebook came and was due, by student and lab.

    What course.toml and the roster say counts before the gradebook's own.

    Parameters
    ----------
    ask : callable
        The gradebook's `db.query`.
    """
    extensions, times = roll.extensions(policy), roll.times(policy)
    sub, lab = api.SubmittedAssignment, api.Assignment
    found: dict[str, dict[str, Timing]] = {}
    for student, name, at, extension, due in ask(
        sub.student_id, lab.name, sub.timestamp, sub.extension, lab.duedate
    ).join(lab, sub.assignment_id == lab.id):
        ours, who = policy.due.get(name), (student, name)
        found.setdefault(student, {})[name] = Timing(
            times.get(who, at), naive(ours) if ours else due, extensions.get(who, extension)
        )
    return {
        (student, name): timing
        for student, of in found.items()
        for name, timing in policy.with_free_days(of).items()
    }


# A number of a hundred digits, or one like 1e999999, is a day's work for a library that reads dates.
_NO_TIME = re.compile(r"\d{10}|\d[eE]|.{101}", re.DOTALL)


def utc_of(timestamp: str | None) -> datetime | None:
    """What a hand-in's timestamp.txt says, as the gradebook keeps times; None where it says no time."""
    try:
        moment = parse_utc(timestamp) if timestamp and not _NO_TIME.search(timestamp) else None
    except Exception:  # noqa: BLE001 - a time that a library cannot parse may raise anything
        return None
    return moment if moment and moment.year in YEARS else None


def put_aside_time(folder: Path) -> bool:
    """Rename a hand-in's timestamp.txt if it says no time; whether it did.

    nbgrader reads it anew at every list of hand-ins, and shows none of them where it cannot.
    """
    path = folder / "timestamp.txt"
    if leads_elsewhere(folder):
        return False
    if not os.path.lexists(path) or utc_of(small_text(path)) is not None:
        return False
    with suppress(OSError):  # where nothing can be renamed, it stays
        path.replace(path.with_name("timestamp.txt.unreadable"))
        return True
    return False


@contextmanager
def _readable(url: str) -> Iterator[None]:
    """Turn what a gradebook's entries of no meaning lead to into a sentence."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise GradebookError(
            f"The gradebook {shown(url)} has an entry that cannot be read: {first_line(error)} "
            "Restore an earlier copy, or put it away: `autograder grade` makes a new one from results/."
        ) from None


@contextmanager
def _quiet_nbgrader() -> Iterator[None]:
    """nbgrader logs and warns on stderr about its own workings; a run has a progress bar instead."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)
            yield
    finally:
        logging.disable(logging.NOTSET)
