"""The marks of a class, marks by hand and late penalties included."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from autograder.authoring.lab import Lab, read_labs
from autograder.cells import grade_id, id_of_test
from autograder.grading.intake import Origin, Person
from autograder.grading.marking import Marked
from autograder.grading.nbgrader.gradebook import (
    GradebookError,
    exists,
    first_line,
    interrupted,
    opened,
    refresh,
    shown,
    timings,
)
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import Policy, read_policy
from autograder.grading.register.requests import Requests, read_requests
from autograder.grading.register.roll import Roll, alphabetical, read_roll
from autograder.grading.run.grade import priced
from autograder.judging.mistakes import NOT_WRITTEN
from autograder.results import Kind, Result


def full_name(person: Person, form: str = "{first} {last}") -> str:
    """The name in one piece; the folder's name where no other is known."""
    if person.last and person.first:
        return form.format(last=person.last, first=person.first)
    return person.name or person.last or person.first or person.student


def shown_name(person: Person) -> str:
    """A student for a person to read.

    >>> shown_name(Person(student="al123", last="Lovelace", first="Ada"))
    'Ada Lovelace (al123)'
    """
    name = full_name(person)
    left = ", withdrawn" if person.withdrawn else ""
    return f"{name}{left}" if name == person.student else f"{name} ({person.student}){left}"


def _order(person: Person) -> tuple[str, str, str]:
    """By last name (of a name in one piece, its last word), first name, and folder."""
    last, first = person.last, person.first
    if not last:
        *firsts, last = (person.name or person.student).split() or [""]
        first = first or " ".join(firsts)
    return alphabetical(last), alphabetical(first), person.student


class State(StrEnum):
    """How far a hand-in's mark is: what it waits for, if for anything."""

    COMPLETE = "complete"
    PERSON = "waits for a person"  # to mark a question by hand
    GRADER = "waits for the grader"  # not marked yet, or the grader failed on it
    INTERRUPTED = "interrupted"  # a run ended before its marks reached the gradebook
    NOTHING = "nothing handed in"


@dataclass(frozen=True)
class Assignment:
    """An assignment of the gradebook."""

    name: str
    due: datetime | None
    max_score: float


@dataclass(frozen=True, kw_only=True)
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
        Seconds after the due date, extensions counted; 0 if in time or within the grace, or without a due date.
    free_days : int
        How many of the student's late days it takes.
    extension : timedelta or None
        By how much the due date was moved for this student.
    by_hand : frozenset of str
        What a person has given a mark for.
    comments : mapping of str to str
        What a person has said, by exercise or question.
    interrupted : bool
        A run ended before all that it found had reached the gradebook.
    rows : tuple of Result
        What marking found, at today's points; () where nothing is kept of it, or nobody has asked (`Marks.complete`).
    notes : tuple of str
        What was odd about the file.
    attempts : int
        How many of this student's hand-ins for the lab are known.
    """

    student: str
    lab: str
    scores: Mapping[str, float | None]
    points: Mapping[str, float]
    awaits: int = 0
    penalty: float = 0.0
    timestamp: datetime | None = None
    late: float = 0.0
    free_days: int = 0
    extension: timedelta | None = None
    by_hand: frozenset[str] = frozenset()
    comments: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False
    rows: tuple[Result, ...] = ()
    notes: tuple[str, ...] = ()
    attempts: int = 1

    @property
    def seconds(self) -> float:
        """The time that its answers took."""
        return sum(row.seconds for row in self.rows)

    @property
    def state(self) -> State:
        """What the mark waits for."""
        if self.interrupted:
            return State.INTERRUPTED
        if self.awaits:
            return State.PERSON
        return State.COMPLETE if self.final is not None else State.GRADER

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
    students : dict of str to Person
        Everybody of the roster, and everybody who handed something in, alphabetically.
    labs : dict of str to Assignment
        In the course's order.
    marks : dict of (student, lab) to Mark
    from_gradebook : bool
        False where there was no gradebook to read.
    partners : mapping of (student, lab) to tuple of str
        All who handed it in together.
    handed_in : frozenset of (student, lab)
        What lies in the classroom, marked or not.
    requests : mapping of (student, lab) to mapping
        What they asked, by exercise or question.
    policy : Policy
        What they are worked out by.
    roll : Roll
        Who is in the class; empty under other names.
    """

    students: dict[str, Person] = field(default_factory=dict)
    labs: dict[str, Assignment] = field(default_factory=dict)
    marks: dict[tuple[str, str], Mark] = field(default_factory=dict)
    from_gradebook: bool = False
    partners: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    handed_in: frozenset[tuple[str, str]] = frozenset()
    requests: Requests = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    roll: Roll = field(default_factory=Roll)

    @property
    def origins(self) -> Mapping[tuple[str, str], Origin]:
        """Where each hand-in came from."""
        return self.roll.origins

    @property
    def missing(self) -> dict[str, list[str]]:
        """By lab, who of the class handed in nothing; of labs that nobody handed in, nobody."""
        people = self.roll.people
        everybody = [p.student for p in self.present if not people or p.student in people]
        labs = [lab for lab in self.policy.due if any(name == lab for _, name in self.handed_in)]
        return {lab: [s for s in everybody if (s, lab) not in self.handed_in] for lab in labs}

    def state(self, student: str, lab: str) -> State:
        """How far the mark of a student in a lab is."""
        if mark := self.marks.get((student, lab)):
            return mark.state
        return State.GRADER if (student, lab) in self.handed_in else State.NOTHING

    @property
    def present(self) -> list[Person]:
        """Whom a platform is told of: everybody but those who have left."""
        return [person for person in self.students.values() if not person.withdrawn]

    @property
    def waiting(self) -> int:
        """How many grades wait for a mark by hand."""
        return sum(mark.awaits > 0 for mark in self.marks.values())

    def sort(self, labs: Sequence[str]) -> None:
        """Put students into the order of their names, and labs into that of the course."""
        self.students = dict(sorted(self.students.items(), key=lambda item: _order(item[1])))
        place = {lab: i for i, lab in enumerate(labs)}
        self.labs = dict(sorted(self.labs.items(), key=lambda item: place.get(item[0], len(place))))

    def complete(self, classroom: Classroom, found: Mapping[tuple[str, str], Marked]) -> None:
        """Add what marking found, and from it what the gradebook does not have."""
        for (student, lab), marked in found.items():
            rows = tuple(priced(marked, self.policy.points[lab]))
            self.students.setdefault(student, Person(student=student))
            self.labs.setdefault(lab, Assignment(lab, None, sum(row.max_score for row in rows)))
            mark = self.marks.get((student, lab)) or Mark(
                student=student,
                lab=lab,
                scores={row.exercise: row.score for row in rows},
                points={row.exercise: row.max_score for row in rows},
                awaits=sum(row.score is None for row in rows),
                interrupted=self.from_gradebook,
            )
            attempts = 1 + classroom.earlier_attempts(student, lab)
            self.marks[student, lab] = replace(mark, rows=rows, notes=marked.notes, attempts=attempts)

    def renamed(self, names: Mapping[str, str]) -> "Marks":
        """The same marks under other names, and with nothing else that tells who is who."""
        return Marks(
            # Sorted anew: the old order follows the real names.
            {name: Person(student=name) for name in sorted(names[s] for s in self.students)},
            self.labs,
            {
                (names[s], lab): _nameless(mark, names[s], self.students[s])
                for (s, lab), mark in self.marks.items()
            },
            self.from_gradebook,
            partners={
                (names[s], lab): tuple(sorted(names[one] for one in together if one in names))
                for (s, lab), together in self.partners.items()
                if s in names
            },
            handed_in=frozenset((names[s], lab) for s, lab in self.handed_in),
            policy=self.policy,
        )


def _nameless(mark: Mark, name: str, student: Person) -> Mark:
    """A mark under a pseudonym, without any text that its student may have written."""
    rows = tuple(
        replace(row, student=name, message=NOT_WRITTEN if row.kind is Kind.STUB else "") for row in mark.rows
    )
    return replace(
        mark, student=name, rows=rows, notes=tuple(_nameless_note(note, student) for note in mark.notes)
    )


def _nameless_note(note: str, student: Person) -> str:
    """A note without the file names and cell names that it quotes, which are the student's own."""
    note = re.sub(r"'.*'|\".*\"|“.*”", "“…”", note, flags=re.DOTALL)
    note = re.sub(r"^.*\.ipynb (?=is )", "The file ", note, flags=re.DOTALL)
    known = (student.student, student.first, student.last, student.email, student.login, student.name)
    if any(part and part.lower() in note.lower() for part in known):
        return "The file was odd in a way that would tell whose it is."
    return note


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
    roll, policy = roll or read_roll(classroom), policy or read_policy(classroom.course, {})
    if exists(classroom.db):
        try:
            found = _read(classroom, policy, roll)
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
    found.policy, found.roll = policy, roll
    found.partners = {
        (student, lab): together
        for lab in classroom.course.labs
        for together in roll.partners(lab)
        for student in together
    }
    found.handed_in = frozenset(classroom.handed_in(classroom.course.labs))
    for student, person in roll.people.items():
        found.students[student] = _known_as(found.students.get(student), replace(person, student=student))
    for (student, _), origin in roll.origins.items():
        here = found.students.get(student)
        if here and " " in origin.name and len(origin.members) < 2 and full_name(here) == student:
            found.students[student] = replace(here, name=origin.name)  # Canvas's "lovelaceada" is no name
    found.requests = read_requests(
        classroom, roll.roster, {*found.students, *(s for s, _ in found.handed_in)}
    )
    found.sort(classroom.course.labs)
    return found


def class_today(classroom: Classroom, labs: Mapping[str, Lab]) -> Marks:
    """The marks, brought up to what course.toml and the roster say.

    Parameters
    ----------
    labs : mapping of str to Lab
        Whose points are worked out anew.

    Raises
    ------
    Complaint
        If course.toml, the roster or the gradebook cannot be used.
    """
    roll = read_roll(classroom)
    return read_marks(classroom, refresh(classroom, labs, roll), roll)


def _known_as(known: Person | None, person: Person) -> Person:
    """Whom the roster knows, with what the gradebook says besides."""
    if known is None:
        return person
    fields = ("email", "lms_id") if person.name else ("last", "first", "email", "lms_id")
    return replace(person, **{f: getattr(person, f) or getattr(known, f) for f in fields})


def _read(classroom: Classroom, policy: Policy, roll: Roll) -> Marks:
    from nbgrader import api

    names = [e for lab in read_labs(classroom.course).values() for e in lab.exercises]
    exercise_of = {id_of_test(name): name for name in names}
    answer_of = {grade_id(name): name for name in names}
    found = Marks(from_gradebook=True)
    with opened(classroom) as book:
        ask = book.db.query
        for s in book.students:
            found.students[s.id] = Person(
                student=s.id,
                last=s.last_name or "",
                first=s.first_name or "",
                email=s.email or "",
                lms_id=s.lms_user_id or "",
            )
        for a in book.assignments:
            found.labs[a.name] = Assignment(a.name, a.duedate, a.max_score)
        # Plain rows, a query for each table: through its objects, nbgrader asks several times a hand-in.
        sub, note, grade, cell = api.SubmittedAssignment, api.SubmittedNotebook, api.Grade, api.GradeCell
        known: dict[str, dict[str, Any]] = defaultdict(_nothing_known)  # of each hand-in, by its id there
        said = ask(note.assignment_id, api.BaseCell.name, api.Comment.manual_comment)
        said = said.join(api.Comment, api.Comment.notebook_id == note.id).join(
            api.BaseCell, api.Comment.cell_id == api.BaseCell.id
        )
        for key, name, words in said.filter(api.Comment.manual_comment.isnot(None)):
            known[key]["comments"][answer_of.get(name, name)] = words
        of_cells = (
            ask(note.assignment_id, cell.name, grade, cell.max_score)
            .join(grade, grade.notebook_id == note.id)
            .join(cell, grade.cell_id == cell.id)
        )
        for key, name, given, most in of_cells:
            of, exercise = known[key], exercise_of.get(name, name)
            judged = given.manual_score is not None or given.auto_score is not None
            # What is dropped is worth nothing, whoever has given a mark for it.
            of["scores"][exercise] = (given.score if most else 0.0) if judged else None
            of["points"][exercise] = most
            of["by_hand"] |= {exercise} if given.manual_score is not None else set()
            of["awaits"] += bool(given.needs_manual_grade and most)
        timing = timings(ask, policy, roll)
        handed_in = ask(sub.id, sub.student_id, api.Assignment.name, note.late_submission_penalty)
        for key, student, lab, penalty in handed_in.join(api.Assignment).join(
            note, note.assignment_id == sub.id
        ):
            when = timing[student, lab]
            found.marks[student, lab] = Mark(
                student=student,
                lab=lab,
                timestamp=when.at,
                late=when.late if policy.days(when.late) else 0.0,
                free_days=when.free_days,
                extension=when.extension,
                interrupted=interrupted(classroom, student, lab),
                penalty=penalty or 0.0,
                **known[key],
            )
    return found


def _nothing_known() -> dict[str, Any]:
    return {"scores": {}, "points": {}, "comments": {}, "by_hand": frozenset(), "awaits": 0}
