"""The marks of a class, marks by hand and late penalties included."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from autograder.authoring.lab import read_labs
from autograder.cells import grade_id, id_of_test
from autograder.grading.intake import Origin, Person
from autograder.grading.nbgrader.gradebook import (
    GradebookError,
    exists,
    first_line,
    opened,
    seconds_late,
    shown,
)
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import Policy
from autograder.grading.register.roll import Roll, alphabetical, read_roll
from autograder.results import Result


@dataclass(frozen=True)
class Student:
    """A student as the roster and the gradebook know them; all but `id` may be ""."""

    id: str
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    lms_id: str = ""
    name: str = ""  # where first and last are not told apart
    login: str = ""
    sid: str = ""
    section: str = ""

    def full_name(self, form: str = "{first} {last}") -> str:
        """The name in one piece; the folder's name where no other is known."""
        if self.last_name and self.first_name:
            return form.format(last=self.last_name, first=self.first_name)
        return self.name or self.last_name or self.first_name or self.id

    @property
    def order(self) -> tuple[str, str, str]:
        """By last name, first name, and folder."""
        last, first = self.last_name, self.first_name
        if not last:
            *firsts, last = (self.name or self.id).split() or [""]
            first = first or " ".join(firsts)
        return alphabetical(last), alphabetical(first), self.id

    def known_as(self, person: Person) -> "Student":
        """The same with what the roster says of this person."""
        said = {
            "last_name": person.last,
            "first_name": person.first,
            "email": person.email,
            "lms_id": person.lms_id,
            "name": person.name,
            "login": person.login,
            "sid": person.sid,
            "section": person.section,
        }
        return replace(self, **{key: value for key, value in said.items() if value})


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
        Seconds after the due date, extensions counted; 0 if in time, or if there is no due date.
    extension : timedelta or None
        By how much the due date was moved for this student.
    by_hand : frozenset of str
        What a person has given a mark for.
    comments : mapping of str to str
        What a person has said, by exercise or question.
    """

    student: str
    lab: str
    scores: Mapping[str, float | None]
    points: Mapping[str, float]
    awaits: int = 0
    penalty: float = 0.0
    timestamp: datetime | None = None
    late: float = 0.0
    extension: timedelta | None = None
    by_hand: frozenset[str] = frozenset()
    comments: Mapping[str, str] = field(default_factory=dict)

    @property
    def final(self) -> float | None:
        """The mark; None as long as somebody has yet to judge a part of it."""
        open_parts = [name for name, score in self.scores.items() if score is None and self.points[name]]
        return self.score if self.scores and not open_parts and not self.awaits else None

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

    Parameters
    ----------
    students : dict of str to Student
        Everybody of the roster, and everybody who handed something in, alphabetically.
    labs : dict of str to Lab
        In the course's order.
    marks : dict of (student, lab) to Mark
    from_gradebook : bool
        False where there was no gradebook to read.
    origins : mapping of (student, lab) to Origin
        Where each hand-in came from.
    partners : mapping of (student, lab) to tuple of str
        All who handed it in together.
    """

    students: dict[str, Student] = field(default_factory=dict)
    labs: dict[str, Lab] = field(default_factory=dict)
    marks: dict[tuple[str, str], Mark] = field(default_factory=dict)
    from_gradebook: bool = False
    origins: Mapping[tuple[str, str], Origin] = field(default_factory=dict)
    partners: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """How many grades wait for a mark by hand."""
        return sum(mark.awaits > 0 for mark in self.marks.values())

    def sort(self, labs: Sequence[str]) -> None:
        """Put students into the order of their names, and labs into that of the course."""
        self.students = dict(sorted(self.students.items(), key=lambda item: item[1].order))
        place = {lab: i for i, lab in enumerate(labs)}
        self.labs = dict(sorted(self.labs.items(), key=lambda item: place.get(item[0], len(place))))

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
            partners={
                (names[s], lab): tuple(sorted(names[one] for one in together if one in names))
                for (s, lab), together in self.partners.items()
                if s in names
            },
        )


def read_marks(classroom: Classroom, policy: Policy | None = None, roll: Roll | None = None) -> Marks:
    """What the gradebook says, with the names of the roster; without marks if the classroom has none yet.

    Parameters
    ----------
    classroom : Classroom
    policy : Policy, optional
        What extensions are counted by.
    roll : Roll, optional
        The class; by default it is read.

    Raises
    ------
    GradebookError
        If a gradebook was named, or the classroom's own is there, and it cannot be read.
    """
    roll = roll or read_roll(classroom)
    if exists(classroom.db):
        try:
            found = _read(classroom, roll.extensions(policy) if policy else {})
        except GradebookError:
            raise
        except Exception as error:  # noqa: BLE001 - drivers raise many kinds
            raise GradebookError(
                f"The gradebook {shown(classroom.db)} cannot be read: {first_line(error)}"
            ) from None
    elif classroom.own_db:
        found = Marks()
    else:
        raise GradebookError(f"The gradebook {shown(classroom.db)} cannot be read: there is no such file.")
    found.origins = roll.origins
    found.partners = {
        (student, lab): together
        for lab in classroom.course.labs
        for together in roll.partners(lab)
        for student in together
    }
    for student, person in roll.people.items():
        found.students[student] = found.students.get(student, Student(student)).known_as(person)
    for (student, _), origin in roll.origins.items():
        here = found.students.get(student)
        if here and " " in origin.name and len(origin.members) < 2 and here.full_name() == student:
            found.students[student] = replace(here, name=origin.name)  # Canvas's "lovelaceada" is no name
    found.sort(classroom.course.labs)
    return found


def _read(classroom: Classroom, extensions: Mapping[tuple[str, str], timedelta]) -> Marks:
    from nbgrader import api

    names = [e for lab in read_labs(classroom.course).values() for e in lab.exercises]
    exercise_of = {id_of_test(name): name for name in names}
    answer_of = {grade_id(name): name for name in names}
    found = Marks(from_gradebook=True)
    with opened(classroom) as book:
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
        by_hand: dict[str, set[str]] = {}
        comments: dict[str, dict[str, str]] = {}
        said = ask(note.assignment_id, api.BaseCell.name, api.Comment.manual_comment)
        said = said.join(api.Comment, api.Comment.notebook_id == note.id).join(
            api.BaseCell, api.Comment.cell_id == api.BaseCell.id
        )
        for key, name, words in said.filter(api.Comment.manual_comment.isnot(None)):
            comments.setdefault(key, {})[answer_of.get(name, name)] = words
        of_cells = (
            ask(note.assignment_id, cell.name, grade, cell.max_score)
            .join(grade, grade.notebook_id == note.id)
            .join(cell, grade.cell_id == cell.id)
        )
        for key, name, given, most in of_cells:
            judged = given.manual_score is not None or given.auto_score is not None
            exercise = exercise_of.get(name, name)
            # What is dropped is worth nothing, whoever has given a mark for it.
            score = given.score if most else 0.0
            scores.setdefault(key, {})[exercise] = score if judged else None
            points.setdefault(key, {})[exercise] = most
            if given.manual_score is not None:
                by_hand.setdefault(key, set()).add(exercise)
            awaits[key] = awaits.get(key, 0) + bool(given.needs_manual_grade and most)
        for s in ask(sub.id, sub.student_id, api.Assignment.name, sub.timestamp, sub.extension).join(
            api.Assignment
        ):
            lab = found.labs[s.name]
            extension = extensions.get((s.student_id, s.name), s.extension)
            late = seconds_late(s.timestamp, lab.due, extension)
            found.marks[s.student_id, s.name] = Mark(
                s.student_id,
                s.name,
                scores.get(s.id, {}),
                points.get(s.id, {}),
                awaits.get(s.id, 0),
                penalties.get(s.id, 0.0),
                s.timestamp,
                late,
                extension,
                frozenset(by_hand.get(s.id, ())),
                comments.get(s.id, {}),
            )
    return found


def shown_name(student: Student) -> str:
    """A student for a person to read: "Ada Lovelace (al123)".

    >>> shown_name(Student("al123", "Lovelace", "Ada"))
    'Ada Lovelace (al123)'
    """
    name = student.full_name()
    return name if name == student.id else f"{name} ({student.id})"
