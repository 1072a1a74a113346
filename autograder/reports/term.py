"""Compute students' results of a term: weighted means of the labs, by [term] in course.toml.

[term]
weights = { training = 2, positions = 0 }    # of the labs; by default 1; 0 does not count
best = 8                                     # number of labs that count; by default all
decimals = 1                                 # of the result, in per cent; halves are rounded up
grades = { A = 90, B = 80, C = 65, F = 0 }   # lowest result of each grade; by default none

The best labs are those that give the student the highest result. Results are computed in
fractions, from marks that are exact to a millionth of a point, and rounded once, at the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from urllib.parse import quote

from autograder.authoring.lab import read_labs
from autograder.core.course import COURSE_FILE, Course, CourseError, check_toml_entries
from autograder.core.files import write_file
from autograder.core.rounding import round_half_up, to_fraction
from autograder.core.text_format import join_words
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.policy import to_utc
from autograder.intake import Person
from autograder.reports.marks import (
    Assignment,
    ClassMarks,
    Mark,
    MarkState,
    format_full_name,
    refresh_and_read_marks,
)
from autograder.reports.platform_csv import (
    CSV_FORMATS,
    PlatformTable,
    build_platform_table,
    format_csv,
)
from autograder.reports.safe_html import render_page

TERM_NAME = "term"  # of the folder, and of the assignment in platforms' tables
MAX_WEIGHT = 1_000
MAX_DECIMALS = 4
_FIELDS = {"weights": dict, "best": int, "decimals": int, "grades": dict}


@dataclass(frozen=True)
class TermRules:
    """Rules for computing a student's result of the term from the labs' marks, such as weights.

    Parameters
    ----------
    weights : mapping of str to Fraction
        Weight of every lab, in the course's order.
    best : int or None
        Number of labs that count; None for all.
    grades : tuple of (Fraction, str)
        Lowest result of each grade, the best grade first; empty if there are no grades.
    """

    weights: Mapping[str, Fraction]
    best: int | None = None
    decimals: int = 1
    grades: tuple[tuple[Fraction, str], ...] = ()

    @property
    def weighted_count(self) -> int:
        """Number of labs with a weight above 0, which can count for the result of the term."""
        return sum(weight > 0 for weight in self.weights.values())

    @property
    def sentences(self) -> list[str]:
        """Sentences that tell students how the term's result is computed from the labs' marks."""
        different_weights = {weight for weight in self.weights.values() if weight}
        weighting = "each with its weight"
        if len(different_weights) == 1:
            weighting = "all with the same weight"
        mean = f"The result is the mean of the labs in per cent, {weighting}."
        counting = self.weighted_count
        best = self.best or counting
        if best == 1 and counting > 1:
            mean += f" Of the {counting} labs the one that gives most counts."
        elif best < counting:
            mean += f" Of the {counting} labs the {best} count that give most."
        special_digits = {0: "a whole number", 1: "one decimal"}
        digits = special_digits.get(self.decimals, f"{self.decimals} decimals")
        rounding = f"The result is rounded to {digits}, halves up"
        if self.grades:
            rounding += ", and the grade is that of the rounded result"
        return [
            mean,
            "A lab that was not submitted counts as 0 once it is due, and not at all before. One that awaits "
            "grading does not count yet.",
            f"{rounding}.",
        ]

    def round(self, exact: Fraction) -> Decimal:
        """Round a result of the term to the course's number of decimals; a half is rounded up.

        >>> TermRules({}, decimals=1).round(Fraction(8345, 100))
        Decimal('83.5')
        >>> TermRules({}, decimals=0).round(Fraction(179, 2))
        Decimal('90')
        """
        return round_half_up(exact, self.decimals)

    def grade(self, result: Decimal) -> str:
        """Return the grade for a rounded result of the term; "" if the course gives no grades."""
        for lowest, name in self.grades:
            if Fraction(result) >= lowest:
                return name
        return ""


class LabStatus(StrEnum):
    """Status of a lab in a student's result of the term: whether it counts, and why not."""

    COUNTS = "counts"
    NOT_SUBMITTED = "not submitted, so 0"
    NOT_AMONG_BEST = "not among the best"
    AWAITING_GRADING = "awaiting grading"
    NOT_DUE = "not due yet"
    NO_WEIGHT = "does not count"


@dataclass(frozen=True)
class LabContribution:
    """One lab's contribution to a student's result of the term.

    Parameters
    ----------
    share : Fraction or None
        Share of the lab's points that the student has; None if the lab does not count yet.
    due_date : datetime or None
        Due date for this student, including any extension.
    """

    lab: str
    weight: Fraction
    share: Fraction | None
    status: LabStatus
    mark: Mark | None = None
    due_date: datetime | None = None


@dataclass(frozen=True)
class StudentTermResult:
    """Result of the term for one student, with the labs from which it is computed.

    Parameters
    ----------
    labs : tuple of LabContribution
        In the course's order.
    exact : Fraction or None
        Result so far in per cent, not rounded; None until a lab counts.
    result : Decimal or None
        Rounded result.
    grade : str
        "" if there is none.
    """

    labs: tuple[LabContribution, ...]
    exact: Fraction | None = None
    result: Decimal | None = None
    grade: str = ""

    @property
    def awaits_grading(self) -> bool:
        """True if the student has submitted a lab that counts and is not completely graded."""
        return any(lab.status is LabStatus.AWAITING_GRADING for lab in self.labs)

    def labs_with_status(self, status: LabStatus) -> list[str]:
        """Return the names of the labs that have this status in the student's term."""
        return [lab.lab for lab in self.labs if lab.status == status]


@dataclass
class ClassTerm:
    """Results of the term for all students of a class."""

    rules: TermRules
    by_student: dict[str, StudentTermResult] = field(default_factory=dict)

    def with_pseudonyms(self, pseudonyms: Mapping[str, str]) -> "ClassTerm":
        """Return a copy of the results with pseudonyms instead of the students' names."""
        by_student = {pseudonyms[student]: term for student, term in self.by_student.items()}
        return ClassTerm(self.rules, by_student)


def read_term_rules(course: Course) -> TermRules | None:
    """Read the rules of the term from course.toml; None if it has no table [term].

    Raises
    ------
    CourseError
        If an entry has a wrong type or value, or a lab's name is that of the term's folder.
    """
    if course.term is None:
        return None
    check_toml_entries(course.term, _FIELDS, f"{COURSE_FILE}, [term]")
    if TERM_NAME in course.labs:
        raise _term_error(
            f"a lab of the course is called {TERM_NAME!r}, as the term's own folder; rename it."
        )
    weights = _read_lab_weights(course)
    counting = TermRules(weights).weighted_count
    if not counting:
        raise _term_error("no lab has a weight, so there is nothing to count.")
    best = course.term.get("best")
    if best is not None and not 1 <= best <= counting:
        raise _term_error(f"best is {best}; a number of labs is expected, 1 to {counting}.")
    decimals = course.term.get("decimals", 1)
    if not 0 <= decimals <= MAX_DECIMALS:
        raise _term_error(f"decimals is {decimals}; 0 to {MAX_DECIMALS} is expected.")
    return TermRules(weights, best, decimals, _read_grade_thresholds(course))


def _read_lab_weights(course: Course) -> dict[str, Fraction]:
    entries = (course.term or {}).get("weights", {})
    for lab in entries:
        if lab not in course.labs:
            raise _term_error(f"weights names {lab!r}, but the labs are {join_words(course.labs)}.")
    weights = {}
    for lab in course.labs:
        weight = entries.get(lab, 1)
        weights[lab] = _read_fraction(weight, MAX_WEIGHT, f"the weight of {lab}", "0 or more")
    return weights


def _read_grade_thresholds(course: Course) -> tuple[tuple[Fraction, str], ...]:
    grades = []
    for name, value in (course.term or {}).get("grades", {}).items():
        lowest = _read_fraction(value, 100, f"the grade {name}", "a result in per cent, 0 to 100,")
        grades.append((lowest, name))
    if len({lowest for lowest, _ in grades}) < len(grades):
        raise _term_error("two grades begin at the same result.")
    if grades and min(grades)[0] > 0:
        raise _term_error(
            f"no grade begins at 0, so a result below {float(min(grades)[0]):g} would have none."
        )
    return tuple(sorted(grades, reverse=True))


def _term_error(reason: str) -> CourseError:
    return CourseError(f"{COURSE_FILE}, [term]: {reason}")


def _read_fraction(value: object, maximum: int, entry: str, expected: str) -> Fraction:
    """Return a number in course.toml as an exact fraction; raise CourseError for other values."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= maximum:
        return Fraction(repr(value))
    raise _term_error(f"{entry} is {value!r}; {expected} is expected.")


# Functions that compute the results


def compute_terms(rules: TermRules, marks: ClassMarks, now: datetime | None = None) -> ClassTerm:
    """Return each student's result of the term so far.

    Parameters
    ----------
    marks : ClassMarks
        Marks whose policy has the points of all labs of the course.
    now : datetime, optional
        Time that decides which labs are due; by default the present time.
    """
    now = now or datetime.now(UTC)
    terms = ClassTerm(rules)
    for student in marks.students:
        labs = []
        for lab, weight in rules.weights.items():
            labs.append(_compute_term_lab(weight, marks, student, lab, now))
        terms.by_student[student] = _compute_student_term(rules, labs)
    return terms


def _compute_term_lab(
    weight: Fraction,
    marks: ClassMarks,
    student: str,
    lab: str,
    now: datetime,
) -> LabContribution:
    mark, policy = marks.marks.get((student, lab)), marks.policy
    due_date = marks.find_deadline(student, lab)
    term_lab = LabContribution(lab, weight, None, LabStatus.NO_WEIGHT, mark, due_date)
    max_score = sum(policy.points[lab].values())
    if mark:
        max_score = mark.max_score
    if not weight or not max_score:
        return term_lab
    state = marks.state(student, lab)
    if state is MarkState.NOTHING:
        if due_date is None or now <= to_utc(due_date) + policy.grace:
            return replace(term_lab, status=LabStatus.NOT_DUE)
        return replace(term_lab, share=Fraction(0), status=LabStatus.NOT_SUBMITTED)
    if state is not MarkState.COMPLETE or mark is None:
        return replace(term_lab, status=LabStatus.AWAITING_GRADING)
    share = to_fraction(mark.score) / to_fraction(max_score)
    return replace(term_lab, share=share, status=LabStatus.COUNTS)


def _compute_student_term(rules: TermRules, labs: Sequence[LabContribution]) -> StudentTermResult:
    counting = [lab for lab in labs if lab.share is not None]
    if not counting:
        return StudentTermResult(tuple(labs))
    best_labs = choose_best_labs(counting, rules.best or len(counting))
    best_names = {lab.lab for lab in best_labs}
    labs_with_status = []
    for lab in labs:
        status = lab.status
        if lab.share is not None and lab.lab not in best_names:
            status = LabStatus.NOT_AMONG_BEST
        labs_with_status.append(replace(lab, status=status))
    exact = 100 * _weighted_mean(best_labs)
    result = rules.round(exact)
    return StudentTermResult(tuple(labs_with_status), exact, result, rules.grade(result))


def choose_best_labs(labs: Sequence[LabContribution], count: int) -> list[LabContribution]:
    """Choose the `count` labs that together have the largest weighted mean.

    If two labs are equally good, the earlier one is chosen. With different weights, the labs with
    the highest marks are not always the best choice: a heavy lab of 60 % can cost more than a light
    one of 59 %. Each round chooses the labs that exceed the mean of the round before by most, and
    the last round is exact (Dinkelbach, 1967).
    """
    best_labs = sorted(labs, key=_share, reverse=True)[:count]
    while True:
        mean = _weighted_mean(best_labs)
        by_gain = sorted(labs, key=lambda lab: lab.weight * (_share(lab) - mean), reverse=True)
        candidate = by_gain[:count]
        if _weighted_mean(candidate) <= mean:
            return best_labs
        best_labs = candidate


def _share(lab: LabContribution) -> Fraction:
    return lab.share or Fraction(0)


def _weighted_mean(labs: Sequence[LabContribution]) -> Fraction:
    total = sum((lab.weight * _share(lab) for lab in labs), Fraction(0))
    return total / sum(lab.weight for lab in labs)


# Functions that write tables of the results


def format_term_csv(terms: ClassTerm, marks: ClassMarks) -> str:
    """Return CSV with each student's percentages, and the result and grade of the term."""
    labs = [lab for lab, weight in terms.rules.weights.items() if weight]
    person_columns = ("student_id", "last_name", "first_name", "email", "section")
    last_columns = ("not_among_the_best", "not_submitted", "waits", "result", "grade")
    rows: list[Sequence] = [(*person_columns, *labs, *last_columns)]
    for person in marks.enrolled:
        rows.append(_term_csv_row(terms.by_student[person.student], person, labs))
    return format_csv(rows)


def _term_csv_row(term: StudentTermResult, person: Person, labs: Sequence[str]) -> list[str]:
    last_name = person.last or (person.name and format_full_name(person))
    row = [person.student, last_name, person.first, person.email, person.section]
    shares = {lab.lab: lab.share for lab in term.labs}
    for name in labs:
        share = shares[name]
        row.append(str(round_half_up(100 * share)) if share is not None else "")
    for status in (LabStatus.NOT_AMONG_BEST, LabStatus.NOT_SUBMITTED, LabStatus.AWAITING_GRADING):
        row.append("; ".join(term.labs_with_status(status)))
    return [*row, "" if term.result is None else str(term.result), term.grade]


def build_term_tables(
    terms: ClassTerm,
    marks: ClassMarks,
    platforms: Sequence[str],
) -> list[PlatformTable]:
    """Return tables for platforms with one column of marks: the term's result out of 100.

    A student's result is left empty while a lab awaits grading.
    """
    assignment = Assignment(TERM_NAME.capitalize(), None, 100.0)
    all_marks = dict(marks.marks)
    for student, term in terms.by_student.items():
        score = None
        if term.result is not None and not term.awaits_grading:
            score = float(term.result)
        all_marks[student, assignment.name] = Mark(
            student=student,
            lab=assignment.name,
            scores={TERM_NAME: score},
            points={TERM_NAME: 100.0},
        )
    marks_with_term = replace(marks, marks=all_marks)
    tables = []
    for platform in platforms:
        csv_format = CSV_FORMATS[platform]
        term_format = replace(csv_format, file=f"{TERM_NAME}-{csv_format.file}")
        tables += build_platform_table(platform, term_format, marks_with_term, [assignment])
    return tables


# Functions that write the students' pages


def write_student_term_pages(classroom: Classroom, now: datetime | None = None) -> int:
    """Write a page about the term for each student, and return the number of pages.

    There are no pages if the course has no rules for a term.

    Raises
    ------
    AutograderError
        If course.toml, the roster or the gradebook cannot be used.
    """
    rules = read_term_rules(classroom.course)
    if rules is None:
        return 0
    marks = refresh_and_read_marks(classroom, read_labs(classroom.course))
    terms = compute_terms(rules, marks, now)
    for person in marks.enrolled:
        html = render_page(
            "term.html",
            course=classroom.course.title,
            name=format_full_name(person),
            student=person.student,
            term=terms.by_student[person.student],
            rules=rules,
            round_half_up=round_half_up,
            pages=_find_feedback_page_addresses_of(classroom, person.student, rules),
            now=marks.policy.to_local_time(now or datetime.now(UTC)),
        )
        write_file(classroom.term_path(person.student), html)
    return len(marks.enrolled)


def _find_feedback_page_addresses_of(
    classroom: Classroom, student: str, rules: TermRules
) -> dict[str, str]:
    """Return the addresses of a student's feedback pages by lab, relative to the term's page."""
    folder = classroom.feedback / student
    addresses = {}
    for lab in rules.weights:
        if (folder / lab / f"{lab}.html").is_file():
            addresses[lab] = f"{quote(lab)}/{quote(lab)}.html"
    return addresses
