"""The marks of a class, marks by hand and late penalties included, and the tables that other systems read."""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path

from autograder.cells import id_of_test
from autograder.grading.classroom import Classroom
from autograder.grading.gradebook import GradebookError, course_config, shown
from autograder.labs import exercises
from autograder.labs.build import available
from autograder.results import Result


@dataclass(frozen=True)
class Student:
    """A student as the gradebook knows them; all but `id` may be ""."""

    id: str
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    lms_id: str = ""


@dataclass(frozen=True)
class Lab:
    """An assignment of the gradebook."""

    name: str
    due: datetime | None
    max_score: float


@dataclass(frozen=True)
class Mark:
    """The mark of one hand-in.

    Parameters
    ----------
    scores : mapping of str to float or None
        The points of each exercise or question by its name; None where nobody has judged yet.
    points : mapping of str to float
        The points to be had in each.
    awaits : int
        How many of them a person has yet to look at.
    penalty : float
        Points taken off for lateness.
    timestamp : datetime or None
        When it was handed in (UTC).
    late : float
        Seconds after the due date; 0 if in time, or if there is no due date.
    """

    student: str
    lab: str
    scores: Mapping[str, float | None]
    points: Mapping[str, float]
    awaits: int = 0
    penalty: float = 0.0
    timestamp: datetime | None = None
    late: float = 0.0

    @property
    def raw(self) -> float:
        """The points so far, before the penalty."""
        return sum(s for s in self.scores.values() if s is not None)

    @property
    def score(self) -> float:
        """The points so far."""
        return max(0.0, self.raw - self.penalty)

    @property
    def judged(self) -> float:
        """The points to be had in what is judged so far."""
        return sum(self.points[name] for name, s in self.scores.items() if s is not None)

    @property
    def percent(self) -> float | None:
        """The points so far, of those to be had in what is judged so far."""
        return 100 * self.score / self.judged if self.judged else None


@dataclass
class Marks:
    """The marks of a class.

    `from_gradebook` is False where there was no gradebook to read.
    """

    students: dict[str, Student] = field(default_factory=dict)
    labs: dict[str, Lab] = field(default_factory=dict)
    marks: dict[tuple[str, str], Mark] = field(default_factory=dict)
    from_gradebook: bool = False

    def complete(self, rows: Mapping[tuple[str, str], Sequence[Result]]) -> None:
        """Add from the results what the gradebook does not have."""
        for (student, lab), of_handin in rows.items():
            self.students.setdefault(student, Student(student))
            total = sum(row.max_score for row in of_handin)
            if lab not in self.labs:
                self.labs[lab] = Lab(lab, None, total)
            if (student, lab) not in self.marks:
                self.marks[student, lab] = Mark(
                    student,
                    lab,
                    {row.exercise: row.score for row in of_handin},
                    {row.exercise: row.max_score for row in of_handin},
                    sum(row.score is None for row in of_handin),
                )

    def renamed(self, names: Mapping[str, str]) -> "Marks":
        """The same marks under other names, and with nothing else that tells who is who."""
        return Marks(
            # Sorted anew: the old order follows the real names.
            {name: Student(name) for name in sorted(names[s] for s in self.students)},
            self.labs,
            {(names[s], lab): replace(m, student=names[s]) for (s, lab), m in self.marks.items()},
            self.from_gradebook,
        )


def read_marks(classroom: Classroom, db_url: str | None = None) -> Marks:
    """What the gradebook says; empty if the classroom has none yet.

    Raises
    ------
    GradebookError
        If `db_url` is given, or the classroom's gradebook is there, and it cannot be read.
    """
    from sqlalchemy.engine import make_url

    url = db_url or classroom.default_db
    try:
        address = make_url(url)
        if address.get_backend_name() == "sqlite" and not Path(address.database or "").is_file():
            if db_url:
                raise FileNotFoundError("there is no such file.")
            return Marks()
        return _read(url)
    except Exception as error:  # noqa: BLE001 - drivers raise many kinds
        reason = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
        raise GradebookError(f"The gradebook {shown(url)} cannot be read: {reason}") from None


def _read(url: str) -> Marks:
    from nbgrader import api

    found = Marks(from_gradebook=True)
    with api.Gradebook(url, course_config().CourseDirectory.course_id) as book:
        ask = book.db.query
        for s in book.students:
            given = (s.last_name, s.first_name, s.email, s.lms_user_id)
            found.students[s.id] = Student(s.id, *(text or "" for text in given))
        for a in book.assignments:
            found.labs[a.name] = Lab(a.name, a.duedate, a.max_score)
        # Plain rows, a query for each table: through its objects, nbgrader asks several times a hand-in.
        sub, note, grade, cell = api.SubmittedAssignment, api.SubmittedNotebook, api.Grade, api.GradeCell
        penalties: dict[str, float] = {}
        for key, penalty in ask(note.assignment_id, note.late_submission_penalty):
            penalties[key] = penalties.get(key, 0.0) + (penalty or 0.0)
        scores: dict[str, dict[str, float | None]] = {}
        points: dict[str, dict[str, float]] = {}
        awaits: dict[str, int] = {}
        of_cells = (
            ask(note.assignment_id, cell.name, grade, cell.max_score)
            .join(grade, grade.notebook_id == note.id)
            .join(cell, grade.cell_id == cell.id)
        )
        for key, name, given, most in of_cells:
            judged = given.manual_score is not None or given.auto_score is not None
            scores.setdefault(key, {})[exercise_of(name)] = given.score if judged else None
            points.setdefault(key, {})[exercise_of(name)] = most
            awaits[key] = awaits.get(key, 0) + bool(given.needs_manual_grade)
        for s in ask(sub.id, sub.student_id, api.Assignment.name, sub.timestamp, sub.extension).join(
            api.Assignment
        ):
            lab = found.labs[s.name]
            late = 0.0
            if lab.due and s.timestamp:
                due = lab.due + s.extension if s.extension else lab.due
                late = max(0.0, (s.timestamp - due).total_seconds())
            found.marks[s.student_id, s.name] = Mark(
                s.student_id,
                s.name,
                scores.get(s.id, {}),
                points.get(s.id, {}),
                awaits.get(s.id, 0),
                penalties.get(s.id, 0.0),
                s.timestamp,
                late,
            )
    return found


def exercise_of(name: str) -> str:
    """The exercise (or question) that a graded cell belongs to, by the cell's grade_id.

    >>> exercise_of("test-stable-softmax"), exercise_of("explain-softmax")
    ('stable_softmax', 'explain-softmax')
    """
    return _exercise_of().get(name, name)


@cache
def _exercise_of() -> dict[str, str]:
    return {id_of_test(name): name for lab in available() for name in exercises(lab)}


_NBGRADER = (
    "assignment duedate timestamp student_id last_name first_name email raw_score late_submission_penalty "
    "score max_score"
).split()


def nbgrader_csv(marks: Marks) -> str:
    """What `nbgrader export` writes: a row for each student and lab, 0 where nothing was handed in.

    nbgrader's own exporter quotes nothing, so that a name with a comma moves the columns; this differs
    from it in that only.
    """

    def rows():
        for lab in marks.labs.values():
            for student in marks.students.values():
                mark = marks.marks.get((student.id, lab.name))
                yield [
                    lab.name,
                    lab.due or "",
                    (mark and mark.timestamp) or "",
                    student.id,
                    student.last_name,
                    student.first_name,
                    student.email,
                    *((mark.raw, mark.penalty, mark.score) if mark else (0.0, 0.0, 0.0)),
                    lab.max_score,
                ]

    return _table([_NBGRADER, *rows()])


def canvas_csv(marks: Marks) -> str:
    """What Canvas's gradebook imports; it finds a student by ID, else by SIS Login ID, else by name."""
    labs = list(marks.labs.values())
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(lab.name for lab in labs)]
    points = ["    Points Possible", "", "", "", "", *(lab.max_score for lab in labs)]
    rows = [
        [_full_name(s, "{last}, {first}"), s.lms_id, "", s.id, "", *_cells(marks, s)]
        for s in marks.students.values()
    ]
    return _table([head, points, *rows])


def moodle_csv(marks: Marks) -> str:
    """What Moodle's grade import reads; the instructor maps one of the first columns and each lab."""
    head = ["Username", "ID number", "First name", "Last name", "Email address", *marks.labs]
    rows = [
        [s.id, s.id, s.first_name, s.last_name, s.email, *_cells(marks, s)] for s in marks.students.values()
    ]
    return _table([head, *rows])


def _full_name(student: Student, form: str) -> str:
    if student.last_name and student.first_name:
        return form.format(last=student.last_name, first=student.first_name)
    return student.last_name or student.first_name or student.id


def shown_name(student: Student) -> str:
    """A student for a person to read: "Ada Lovelace (al123)".

    >>> shown_name(Student("al123", "Lovelace", "Ada"))
    'Ada Lovelace (al123)'
    """
    name = _full_name(student, "{first} {last}")
    return name if name == student.id else f"{name} ({student.id})"


def _cells(marks: Marks, student: Student) -> list[str | float]:
    of_labs = (marks.marks.get((student.id, lab)) for lab in marks.labs)
    return [round(mark.score, 2) if mark else "" for mark in of_labs]


_FORMULA = re.compile(r"[=+\-@\t\r\n]")


def harmless(cell):
    """Text that a spreadsheet shows instead of working it out as a formula.

    >>> harmless("=1+1"), harmless("ada"), harmless(-2.5)
    ("'=1+1", 'ada', -2.5)
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell.lstrip()) else cell


def _table(rows: Sequence[Sequence]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([harmless(cell) for cell in row] for row in rows)
    # A folder's name may hold bytes that are no UTF-8.
    return text.getvalue().encode("utf-8", "replace").decode("utf-8")


TABLES: dict[str, Callable[[Marks], str]] = {
    "grades.csv": nbgrader_csv,
    "canvas.csv": canvas_csv,
    "moodle.csv": moodle_csv,
}
