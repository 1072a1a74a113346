"""Read a class's marks from nbgrader's gradebook, the roster and the folders of submissions."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any

from autograder.authoring.lab import Lab, read_labs
from autograder.core.notebook_cells import make_grade_id, make_test_grade_id
from autograder.core.results import Result, ResultReason, Verdict
from autograder.core.rounding import round_half_up
from autograder.gradebook.class_list import ClassList, make_name_sort_key, read_class_list
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.deadlines import Deadlines, read_deadlines, read_timings
from autograder.gradebook.gradebook_records import was_interrupted
from autograder.gradebook.gradebook_writer import refresh_gradebook
from autograder.gradebook.graded_submission import GradedSubmission, rescore_results
from autograder.gradebook.nbgrader_db import (
    GradebookError,
    format_error,
    gradebook_exists,
    open_gradebook,
    remove_password,
)
from autograder.gradebook.policy import Policy, read_policy
from autograder.gradebook.regrade_requests import RegradeRequests, read_regrade_requests
from autograder.intake import Origin, Person, is_submitted_by_few
from autograder.values.common_mistakes import NOT_WRITTEN_MESSAGE


def format_full_name(person: Person, pattern: str = "{first} {last}") -> str:
    """Return a student's full name, or the name of the student's folder if none is known."""
    if person.last and person.first:
        return pattern.format(last=person.last, first=person.first)
    return person.name or person.last or person.first or person.student


def display_name(person: Person) -> str:
    """Return a student's name and folder for instructors, with "withdrawn" if the student left.

    >>> display_name(Person(student="al123", last="Lovelace", first="Ada"))
    'Ada Lovelace (al123)'
    """
    name = format_full_name(person)
    if name != person.student:
        name += f" ({person.student})"
    if person.withdrawn:
        name += ", withdrawn"
    return name


def _name_sort_key(person: Person) -> tuple[str, str, str]:
    """Return a key that sorts students by last name, first name and folder.

    If only a full name is known, its last word is taken as the last name.
    """
    last, first = person.last, person.first
    if not last:
        *first_names, last = (person.name or person.student).split() or [""]
        first = first or " ".join(first_names)
    return make_name_sort_key(last), make_name_sort_key(first), person.student


class MarkState(StrEnum):
    """State of a student's mark for one lab."""

    COMPLETE = "complete"
    AWAITING_MANUAL_GRADING = "awaiting manual grading"
    AWAITING_GRADING = "awaiting grading"  # not graded yet, or the grader failed on it
    INTERRUPTED = "interrupted"  # a run ended before its marks reached the gradebook
    NOTHING = "nothing submitted"


@dataclass(frozen=True)
class Assignment:
    """A lab in the gradebook (nbgrader calls it an assignment), with its due date and points."""

    name: str
    due: datetime | None
    max_score: float


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Mark of one student's submission for one lab.

    Parameters
    ----------
    scores : mapping of str to float or None
        Points earned, with extra credit, by exercise or question; None for an answer that is not
        graded yet.
    points : mapping of str to float
        Points possible, by exercise or question.
    awaiting_manual_count : int
        Number of answers that await manual grading.
    penalty : float
        Points taken off for lateness.
    timestamp : datetime or None
        Time of submission, in UTC but without a time zone; None if it is unknown.
    seconds_late : float
        Seconds after the due date and its extension; 0 within the grace period.
    late_days_used : int
        Number of the student's free late days that this submission uses.
    extension : timedelta or None
        Extension of the due date that this student was granted.
    manually_graded : frozenset of str
        Exercises and questions that a person graded.
    extra_credit : mapping of str to float
        Extra credit that a person gave, which is part of the scores, by exercise or question.
    comments : mapping of str to str
        Instructors' comments, by exercise or question.
    interrupted : bool
        True if a grading run ended before it had written this mark into the gradebook.
    results : tuple of Result
        Cached results with scores for the current points; empty until `ClassMarks.add_results` is
        called.
    notes : tuple of str
        Sentences about irregularities in the submitted file.
    attempts : int
        Number of times that the student has submitted the lab.
    """

    student: str
    lab: str
    scores: Mapping[str, float | None]
    points: Mapping[str, float]
    awaiting_manual_count: int = 0
    penalty: float = 0.0
    timestamp: datetime | None = None
    seconds_late: float = 0.0
    late_days_used: int = 0
    extension: timedelta | None = None
    manually_graded: frozenset[str] = frozenset()
    extra_credit: Mapping[str, float] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False
    results: tuple[Result, ...] = ()
    notes: tuple[str, ...] = ()
    attempts: int = 1

    @property
    def changed_by_person(self) -> list[str]:
        """Exercises whose automatic points or comment a person changed, or with extra credit."""
        names = []
        for row in self.results:
            name = row.exercise
            is_changed = name in self.manually_graded or name in self.comments
            if (row.verdict is not Verdict.MANUAL and is_changed) or name in self.extra_credit:
                names.append(name)
        return names

    @property
    def seconds(self) -> float:
        """Seconds for which the student's code ran when it was graded."""
        return sum(row.seconds for row in self.results)

    @property
    def state(self) -> MarkState:
        """State of the mark, such as "awaiting manual grading"."""
        if self.interrupted:
            return MarkState.INTERRUPTED
        if self.awaiting_manual_count:
            return MarkState.AWAITING_MANUAL_GRADING
        if self.final_score is None:
            return MarkState.AWAITING_GRADING
        return MarkState.COMPLETE

    @property
    def final_score(self) -> float | None:
        """Points after the late penalty; None until all answers that count are graded."""
        if not self.scores or self.awaiting_manual_count:
            return None
        for name, score in self.scores.items():
            if score is None and self.points[name]:
                return None
        return self.score

    @property
    def raw_score(self) -> float:
        """Points so far, before the late penalty."""
        return sum(score for score in self.scores.values() if score is not None)

    @property
    def score(self) -> float:
        """Points so far, after the late penalty."""
        return max(0.0, self.raw_score - self.penalty)

    @property
    def rounded_raw_score(self) -> Decimal:
        """Points so far, before the late penalty, rounded as tables and pages show them."""
        return round_half_up(self.raw_score)

    @property
    def rounded_score(self) -> Decimal:
        """Points so far, after the late penalty, rounded as tables and pages show them."""
        return round_half_up(self.score)

    @property
    def rounded_penalty(self) -> Decimal:
        """Points taken off for lateness: the rounded score before minus that after the penalty."""
        return self.rounded_raw_score - self.rounded_score

    @property
    def max_score(self) -> float:
        """Maximum points of the lab."""
        return sum(self.points.values())

    @property
    def graded_max_score(self) -> float:
        """Maximum points of the exercises and questions that are already graded."""
        return sum(self.points[name] for name, score in self.scores.items() if score is not None)

    @property
    def percent(self) -> float | None:
        """Score in per cent of the points graded so far; None if nothing is graded yet."""
        return 100 * self.score / self.graded_max_score if self.graded_max_score else None


@dataclass
class ClassMarks:
    """Marks of a class.

    Parameters
    ----------
    students : dict of str to Person
        All students in the roster, and all who submitted anything, in alphabetical order.
    labs : dict of str to Assignment
        Labs that are in the gradebook, in the course's order.
    marks : dict of (student, lab) to Mark
        Marks of all graded submissions.
    from_gradebook : bool
        False if the classroom has no gradebook.
    partners : mapping of (student, lab) to tuple of str
        All members of the student's group, if the student submitted the lab in a group.
    submissions : frozenset of (student, lab)
        All submissions in the classroom, graded or not.
    requests : mapping of (student, lab) to mapping
        Regrade requests, by exercise or question.
    request_notes : list of str
        Sentences about rows of requests.csv that cannot be used.
    policy : Policy
        Grading policy by which the marks were computed.
    class_list : ClassList
        Class list of the classroom; empty if the marks are under pseudonyms.
    deadlines : Deadlines
        Due dates and extensions by which the marks were computed.
    """

    students: dict[str, Person] = field(default_factory=dict)
    labs: dict[str, Assignment] = field(default_factory=dict)
    marks: dict[tuple[str, str], Mark] = field(default_factory=dict)
    from_gradebook: bool = False
    partners: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    submissions: frozenset[tuple[str, str]] = frozenset()
    regrade_requests: RegradeRequests = field(default_factory=dict)
    request_notes: list[str] = field(default_factory=list)
    policy: Policy = field(default_factory=Policy)
    class_list: ClassList = field(default_factory=ClassList)
    deadlines: Deadlines = field(default_factory=Deadlines)

    @property
    def origins(self) -> Mapping[tuple[str, str], Origin]:
        """Platform and account from which each submission came, by student and lab."""
        return self.class_list.origins

    @property
    def missing_students(self) -> dict[str, list[str]]:
        """Students who have not submitted a lab that the class has to submit, by lab."""
        students = self._expected_students
        missing = {}
        for lab in self.policy.due_dates:
            submitters = [s for s in students if (s, lab) in self.submissions]
            if submitters and lab not in self.mistaken_lab_submitters:
                missing[lab] = [s for s in students if (s, lab) not in self.submissions]
        return missing

    @cached_property
    def mistaken_lab_submitters(self) -> dict[str, list[str]]:
        """Students who submitted a lab that they may have taken for another one, by lab.

        Such a lab has no due date, and only a few of the class submitted it.
        """
        class_size = len(self._expected_students)
        mistaken = {}
        for lab in self.policy.due_dates:
            if self.policy.due_dates[lab] or lab in self.deadlines.due_dates:
                continue
            submitters = [s for s in self.students if (s, lab) in self.submissions]
            if submitters and is_submitted_by_few(len(submitters), class_size):
                mistaken[lab] = submitters
        return mistaken

    @property
    def tabulated_labs(self) -> list[Assignment]:
        """Labs that are columns of the tables: all but those that were submitted by mistake."""
        return [lab for name, lab in self.labs.items() if name not in self.mistaken_lab_submitters]

    @property
    def _expected_students(self) -> list[str]:
        """Students from whom submissions are expected; those of the roster if there is one."""
        people = self.class_list.people
        return [p.student for p in self.enrolled if not people or p.student in people]

    def find_deadline(self, student: str, lab: str) -> datetime | None:
        """Return a lab's due date for a student, in the course's time zone; None without one."""
        deadline = self.deadlines.find_deadline(student, lab)
        return deadline and self.policy.to_local_time(deadline)

    def state(self, student: str, lab: str) -> MarkState:
        """Return the state of a student's mark in a lab."""
        mark = self.marks.get((student, lab))
        if mark:
            return mark.state
        if (student, lab) in self.submissions:
            return MarkState.AWAITING_GRADING
        return MarkState.NOTHING

    def distinct_name(self, student: str) -> str:
        """Return a student's full name, with the folder if another student has the same name.

        >>> twins = ("js1", "js2")
        >>> marks = ClassMarks({s: Person(student=s, last="Smith", first="John") for s in twins})
        >>> marks.distinct_name("js2")
        'John Smith (js2)'
        """
        name = format_full_name(self.students[student])
        if self._name_counts[make_name_sort_key(name)] > 1 and name != student:
            name += f" ({student})"
        return name

    @cached_property
    def _name_counts(self) -> Counter[str]:
        """Number of students of each name, by the name in the form that is compared."""
        return Counter(
            make_name_sort_key(format_full_name(person)) for person in self.students.values()
        )

    @property
    def enrolled(self) -> list[Person]:
        """Students who have not withdrawn."""
        return [person for person in self.students.values() if not person.withdrawn]

    @property
    def awaiting_manual_count(self) -> int:
        """Number of submissions with answers that await manual grading."""
        return sum(mark.awaiting_manual_count > 0 for mark in self.marks.values())

    def sort(self, labs: Sequence[str]) -> None:
        """Sort the students by name, and the labs in the given order."""
        self.students = dict(
            sorted(self.students.items(), key=lambda item: _name_sort_key(item[1]))
        )
        position = {lab: i for i, lab in enumerate(labs)}
        names = sorted(self.labs, key=lambda lab: position.get(lab, len(position)))
        self.labs = {name: self.labs[name] for name in names}

    def add_results(
        self, classroom: Classroom, stored_results: Mapping[tuple[str, str], GradedSubmission]
    ) -> None:
        """Add verdicts and messages to the marks, from the cached results of grading.

        A submission with a cached result that the gradebook lacks gets a new mark.
        """
        for (student, lab), submission in stored_results.items():
            rows = tuple(rescore_results(submission, self.policy.points[lab]))
            self.students.setdefault(student, Person(student=student))
            self.labs.setdefault(lab, Assignment(lab, None, sum(row.max_score for row in rows)))
            mark = self.marks.get((student, lab)) or Mark(
                student=student,
                lab=lab,
                scores={row.exercise: row.score for row in rows},
                points={row.exercise: row.max_score for row in rows},
                awaiting_manual_count=sum(row.score is None for row in rows),
                interrupted=self.from_gradebook,
            )
            attempts = 1 + classroom.count_earlier_attempts(student, lab)
            notes = submission.notes
            self.marks[student, lab] = replace(mark, results=rows, notes=notes, attempts=attempts)

    def with_pseudonyms(self, pseudonyms: Mapping[str, str]) -> "ClassMarks":
        """Return a copy of the marks with pseudonyms, without texts that identify a student."""
        marks = {}
        for (student, lab), mark in self.marks.items():
            pseudonym = pseudonyms[student]
            marks[pseudonym, lab] = _anonymise_mark(mark, pseudonym, self.students[student])
        partners = {}
        for (student, lab), group in self.partners.items():
            if student in pseudonyms:
                members = sorted(pseudonyms[member] for member in group if member in pseudonyms)
                partners[pseudonyms[student], lab] = tuple(members)
        students = {}
        for student, person in self.students.items():
            name = pseudonyms[student]
            students[name] = Person(student=name, withdrawn=person.withdrawn)
        return ClassMarks(
            # Sort by pseudonym: the order of the real names could reveal who is who.
            students=dict(sorted(students.items())),
            labs=self.labs,
            marks=marks,
            from_gradebook=self.from_gradebook,
            partners=partners,
            submissions=frozenset((pseudonyms[student], lab) for student, lab in self.submissions),
            policy=self.policy,
            deadlines=self.deadlines.with_pseudonyms(pseudonyms),
        )


def _anonymise_mark(mark: Mark, pseudonym: str, student: Person) -> Mark:
    """Return a mark under a pseudonym, without texts that may come from the student."""
    rows = []
    for row in mark.results:
        message = ""
        if row.kind is ResultReason.STUB:
            message = NOT_WRITTEN_MESSAGE
        rows.append(replace(row, student=pseudonym, message=message))
    notes = tuple(_anonymise_note(note, student) for note in mark.notes)
    return replace(mark, student=pseudonym, results=tuple(rows), notes=notes)


def _anonymise_note(note: str, student: Person) -> str:
    """Return a note on a submission without quoted names of files and cells: students choose them.

    A note that still contains the student's name is replaced by a general sentence.
    """
    note = re.sub(r"'.*'|\".*\"|“.*”", "“…”", note, flags=re.DOTALL)
    note = re.sub(r"^.*\.ipynb (?=is )", "The file ", note, flags=re.DOTALL)
    names = (student.student, student.first, student.last, student.name)
    for name in (*names, student.email, student.login):
        if name and name.lower() in note.lower():
            return "The file was odd in a way that would tell whose it is."
    return note


def read_marks(
    classroom: Classroom, policy: Policy | None = None, class_list: ClassList | None = None
) -> ClassMarks:
    """Read the marks from the gradebook, and the students' names from the roster.

    If the classroom has no gradebook yet, there are no marks.

    Parameters
    ----------
    policy : Policy, optional
        Grading policy; by default it is read from course.toml.
    class_list : ClassList, optional
        Class list; by default it is read from the classroom.

    Raises
    ------
    GradebookError
        If the gradebook cannot be read, or the user named a gradebook that does not exist.
    """
    class_list = class_list or read_class_list(classroom)
    policy = policy or read_policy(classroom.course, {})
    marks = _read_gradebook_if_any(classroom, policy, class_list)
    marks.policy, marks.class_list = policy, class_list
    partners = {}
    for lab in classroom.course.labs:
        for group in class_list.find_groups(lab):
            for student in group:
                partners[student, lab] = group
    marks.partners = partners
    marks.submissions = frozenset(classroom.list_submissions(classroom.course.labs))
    _add_roster_students_and_names(marks)
    students = {*marks.students, *(student for student, _ in marks.submissions)}
    marks.regrade_requests, marks.request_notes = read_regrade_requests(
        classroom, class_list.roster, students
    )
    marks.sort(classroom.course.labs)
    return marks


def refresh_and_read_marks(classroom: Classroom, labs: Mapping[str, Lab]) -> ClassMarks:
    """Update the gradebook from course.toml and the roster, then read the marks.

    Parameters
    ----------
    labs : mapping of str to Lab
        Labs whose marks are updated.

    Raises
    ------
    AutograderError
        If course.toml, the roster or the gradebook cannot be used.
    """
    class_list = read_class_list(classroom)
    return read_marks(classroom, refresh_gradebook(classroom, labs, class_list), class_list)


def _read_gradebook_if_any(
    classroom: Classroom,
    policy: Policy,
    class_list: ClassList,
) -> ClassMarks:
    if not gradebook_exists(classroom.db):
        if classroom.uses_default_db:
            return ClassMarks(deadlines=read_deadlines(None, policy, class_list))
        raise GradebookError(
            f"The gradebook {remove_password(classroom.db)} cannot be read: there is no such file."
        )
    try:
        return _GradebookReader(classroom, policy, class_list).read()
    except GradebookError:
        raise
    except Exception as error:  # noqa: BLE001 - database drivers raise many types
        url = remove_password(classroom.db)
        raise GradebookError(
            f"The gradebook {url} cannot be read: {format_error(error)}",
        ) from None


def _add_roster_students_and_names(marks: ClassMarks) -> None:
    """Add the roster's students; take missing names from the gradebook or the platform."""
    for student, person in marks.class_list.people.items():
        gradebook_entry = marks.students.get(student)
        marks.students[student] = _fill_person_from_gradebook(
            gradebook_entry, replace(person, student=student)
        )
    for (student, _), origin in marks.origins.items():
        person_now = marks.students.get(student)
        is_own_name = " " in origin.name and len(origin.members) < 2
        if person_now and is_own_name and format_full_name(person_now) == student:
            # Take a name from a platform only if it has a space. Canvas's file names have names
            # without spaces, such as "lovelaceada".
            marks.students[student] = replace(person_now, name=origin.name)


def _fill_person_from_gradebook(gradebook_entry: Person | None, person: Person) -> Person:
    """Return a student's entry in the roster, with missing fields taken from the gradebook."""
    if gradebook_entry is None:
        return person
    person = replace(
        person,
        email=person.email or gradebook_entry.email,
        lms_id=person.lms_id or gradebook_entry.lms_id,
    )
    if person.name:
        return person
    return replace(
        person,
        last=person.last or gradebook_entry.last,
        first=person.first or gradebook_entry.first,
    )


class _GradebookReader:
    """Reader of all marks in nbgrader's database.

    It reads each table with a single query. nbgrader's own objects would make several queries for
    each submission, which is slow for a class.
    """

    def __init__(self, classroom: Classroom, policy: Policy, class_list: ClassList):
        self.classroom = classroom
        self.policy = policy
        self.class_list = class_list
        self.exercise_of_test: dict[str, str] = {}
        self.exercise_of_answer: dict[str, str] = {}
        for lab in read_labs(classroom.course).values():
            for name in lab.exercises:
                self.exercise_of_test[make_test_grade_id(name)] = name
                self.exercise_of_answer[make_grade_id(name)] = name

    def read(self) -> ClassMarks:
        """Return the students, assignments and marks in the gradebook."""
        marks = ClassMarks(from_gradebook=True)
        with open_gradebook(self.classroom) as gradebook:
            for student in gradebook.students:
                marks.students[student.id] = Person(
                    student=student.id,
                    last=student.last_name or "",
                    first=student.first_name or "",
                    email=student.email or "",
                    lms_id=student.lms_user_id or "",
                )
            for assignment in gradebook.assignments:
                marks.labs[assignment.name] = Assignment(
                    assignment.name, assignment.duedate, assignment.max_score
                )
            query = gradebook.db.query
            marks.deadlines = read_deadlines(query, self.policy, self.class_list)
            fields: dict[str, dict[str, Any]] = defaultdict(_initial_mark_fields)
            self._add_comments_to_fields(query, fields)
            self._add_points_to_fields(query, fields)
            for mark in self._read_submissions(query, fields, marks.deadlines):
                marks.marks[mark.student, mark.lab] = mark
        return marks

    def _add_comments_to_fields(
        self, query: Callable, fields: Mapping[str, dict[str, Any]]
    ) -> None:
        """Add the graders' comments to `fields`, which holds what is read of each submission by its id."""
        from nbgrader.api import BaseCell, Comment, SubmittedNotebook

        rows = (
            query(SubmittedNotebook.assignment_id, BaseCell.name, Comment.manual_comment)
            .join(Comment, Comment.notebook_id == SubmittedNotebook.id)
            .join(BaseCell, Comment.cell_id == BaseCell.id)
            .filter(Comment.manual_comment.isnot(None))
        )
        for submission_id, cell_name, comment in rows:
            name = self.exercise_of_answer.get(cell_name, cell_name)
            fields[submission_id]["comments"][name] = comment

    def _add_points_to_fields(self, query: Callable, fields: Mapping[str, dict[str, Any]]) -> None:
        """Store each submission's points in `fields`, a mapping from the submission's id."""
        from nbgrader.api import Grade, GradeCell, SubmittedNotebook

        rows = (
            query(SubmittedNotebook.assignment_id, GradeCell.name, Grade, GradeCell.max_score)
            .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
            .join(GradeCell, Grade.cell_id == GradeCell.id)
        )
        for submission_id, cell_name, grade, max_score in rows:
            submission = fields[submission_id]
            name = self.exercise_of_test.get(cell_name, cell_name)
            is_manual = grade.manual_score is not None
            score = None
            if is_manual or grade.auto_score is not None:
                score = grade.score
                if not max_score:  # a dropped exercise is worth nothing, even if graded manually
                    score = 0.0
            submission["scores"][name] = score
            submission["points"][name] = max_score
            if is_manual:
                submission["manually_graded"] |= {name}
            if grade.extra_credit and score:
                submission["extra_credit"][name] = grade.extra_credit
            submission["awaiting_manual_count"] += bool(grade.needs_manual_grade and max_score)

    def _read_submissions(
        self,
        query: Callable,
        fields: Mapping[str, dict[str, Any]],
        deadlines: Deadlines,
    ) -> list[Mark]:
        from nbgrader.api import Assignment as NbgraderAssignment
        from nbgrader.api import SubmittedAssignment, SubmittedNotebook

        timings = read_timings(query, self.policy, self.class_list, deadlines)
        rows = (
            query(
                SubmittedAssignment.id,
                SubmittedAssignment.student_id,
                NbgraderAssignment.name,
                SubmittedNotebook.late_submission_penalty,
            )
            .join(NbgraderAssignment)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        )
        marks = []
        for submission_id, student, lab, penalty in rows:
            timing = timings[student, lab]
            seconds_late = timing.seconds_late
            if not self.policy.count_days_late(seconds_late):
                seconds_late = 0.0
            mark = Mark(
                student=student,
                lab=lab,
                timestamp=timing.submitted_at,
                seconds_late=seconds_late,
                late_days_used=timing.late_days_used,
                extension=timing.extension,
                interrupted=was_interrupted(self.classroom, student, lab),
                penalty=penalty or 0.0,
                **fields[submission_id],
            )
            marks.append(mark)
        return marks


def _initial_mark_fields() -> dict[str, Any]:
    """Return empty values for those fields of a `Mark` that are filled step by step."""
    return {
        "scores": {},
        "points": {},
        "comments": {},
        "manually_graded": frozenset(),
        "extra_credit": {},
        "awaiting_manual_count": 0,
    }
