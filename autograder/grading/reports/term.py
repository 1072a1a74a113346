"""The term: what all labs of a student come to, by what course.toml says under [term].

[term]
weights = { training = 2, positions = 0 }    # of the labs; 1 where nothing is said, 0 for one that does not count
best = 8                                     # so many labs count, those that give the student most; all by default
decimals = 1                                 # of the result, in per cent; halves are rounded up
grades = { A = 90, B = 80, C = 65, F = 0 }   # from which result on each grade is given; none by default

Worked out in fractions, from marks that are exact to a millionth of a point, and rounded once, at the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from math import floor
from urllib.parse import quote

from autograder.authoring.lab import read_labs
from autograder.course import FILE, Course, CourseError, check_entries
from autograder.errors import listed
from autograder.files import write
from autograder.grading.register.classroom import Classroom
from autograder.grading.reports.marks import Assignment, Mark, Marks, State, class_today, full_name
from autograder.grading.reports.shown import page
from autograder.grading.reports.tables import FORMS, Table, as_csv, table_of

NAME = "term"  # of the folder, and of what platforms have it under
MOST_WEIGHT = 1_000
MOST_DECIMALS = 4
_FIELDS = {"weights": dict, "best": int, "decimals": int, "grades": dict}


@dataclass(frozen=True)
class Rules:
    """What a term's result is made by.

    Parameters
    ----------
    weights : mapping of str to Fraction
        Of every lab of the course, in its order.
    best : int or None
        How many labs count; None for all.
    decimals : int
    grades : tuple of (Fraction, str)
        From which result on, the highest first; () for none.
    """

    weights: Mapping[str, Fraction]
    best: int | None = None
    decimals: int = 1
    grades: tuple[tuple[Fraction, str], ...] = ()

    @property
    def sentences(self) -> list[str]:
        """The rules, as a page tells them."""
        weighed = {weight for weight in self.weights.values() if weight}
        each = "all with the same weight" if len(weighed) == 1 else "each with its weight"
        counting = sum(weight > 0 for weight in self.weights.values())
        best = self.best or counting
        most = f" Of the {counting} labs the {best} count that give most." if best < counting else ""
        digits = {0: "a whole number", 1: "one decimal"}.get(self.decimals, f"{self.decimals} decimals")
        return [
            f"The result is the mean of the labs in per cent, {each}.{most}",
            "A lab that was not handed in counts as 0 once it is due, and not at all before. One that waits to be marked "
            "does not count yet.",
            f"The result is rounded to {digits}, halves up"
            + (", and the grade is that of the rounded result." if self.grades else "."),
        ]

    def rounded(self, exact: Fraction) -> Decimal:
        """Rounded to the term's decimals, halves up.

        >>> Rules({}, decimals=1).rounded(Fraction(8345, 100)), Rules({}, decimals=0).rounded(Fraction(179, 2))
        (Decimal('83.5'), Decimal('90'))
        """
        return _rounded(exact, self.decimals)

    def grade(self, result: Decimal) -> str:
        """The grade of a rounded result; "" where the course gives none."""
        return next((name for least, name in self.grades if Fraction(result) >= least), "")


class Counts(StrEnum):
    """How a lab counts for a student."""

    YES = "counts"
    ZERO = "not handed in, so 0"
    LEFT_OUT = "not among the best"
    WAITS = "waits to be marked"
    NOT_DUE = "not due yet"
    NEVER = "does not count"


@dataclass(frozen=True)
class Part:
    """One lab in a student's term.

    Parameters
    ----------
    lab : str
    weight : Fraction
    share : Fraction or None
        The part of the lab's points; None where there is none to count yet.
    counts : Counts
    mark : Mark or None
    due : datetime or None
        For this student: extensions included.
    """

    lab: str
    weight: Fraction
    share: Fraction | None
    counts: Counts
    mark: Mark | None = None
    due: datetime | None = None


@dataclass(frozen=True)
class Term:
    """What a student's labs come to.

    Parameters
    ----------
    parts : tuple of Part
        A lab each, in the course's order.
    exact : Fraction or None
        The result in per cent so far, unrounded; None as long as nothing counts.
    result : Decimal or None
        The same, rounded.
    grade : str
        The grade of the result; "" where there is none.
    """

    parts: tuple[Part, ...]
    exact: Fraction | None = None
    result: Decimal | None = None
    grade: str = ""

    @property
    def waits(self) -> bool:
        """Whether a lab that counts is handed in and not marked to its end."""
        return any(part.counts is Counts.WAITS for part in self.parts)

    def labs(self, *how: Counts) -> list[str]:
        """The labs that count in one of these ways."""
        return [part.lab for part in self.parts if part.counts in how]


@dataclass
class Terms:
    """The term of a class.

    Parameters
    ----------
    rules : Rules
    of : dict of str to Term
        By student.
    """

    rules: Rules
    of: dict[str, Term] = field(default_factory=dict)

    def renamed(self, names: Mapping[str, str]) -> "Terms":
        """The same terms under other names."""
        return Terms(self.rules, {names[student]: term for student, term in self.of.items()})


def read_rules(course: Course) -> Rules | None:
    """What course.toml says of the term; None where it says nothing.

    Raises
    ------
    CourseError
    """
    if course.term is None:
        return None
    check_entries(course.term, _FIELDS, f"{FILE}, [term]")
    if NAME in course.labs:
        raise _wrong(f"a lab of the course is called {NAME!r}, as the term's own folder; rename it.")
    said = course.term.get("weights", {})
    for lab in said:
        if lab not in course.labs:
            raise _wrong(f"weights names {lab!r}, but the labs are {listed(course.labs)}.")
    weights = {
        lab: _exact(said.get(lab, 1), MOST_WEIGHT, f"the weight of {lab}", "0 or more") for lab in course.labs
    }
    counting = sum(weight > 0 for weight in weights.values())
    if not counting:
        raise _wrong("no lab has a weight, so there is nothing to count.")
    best = course.term.get("best")
    if best is not None and not 1 <= best <= counting:
        raise _wrong(f"best is {best}; a number of labs is due, 1 to {counting}.")
    decimals = course.term.get("decimals", 1)
    if not 0 <= decimals <= MOST_DECIMALS:
        raise _wrong(f"decimals is {decimals}; 0 to {MOST_DECIMALS} is due.")
    grades = [
        (_exact(least, 100, f"the grade {name}", "a result in per cent, 0 to 100,"), name)
        for name, least in course.term.get("grades", {}).items()
    ]
    if len({least for least, _ in grades}) < len(grades):
        raise _wrong("two grades begin at the same result.")
    if grades and min(grades)[0] > 0:
        raise _wrong(f"no grade begins at 0, so a result below {float(min(grades)[0]):g} would have none.")
    return Rules(weights, best, decimals, tuple(sorted(grades, reverse=True)))


def _wrong(why: str) -> CourseError:
    return CourseError(f"{FILE}, [term]: {why}")


def _exact(value: object, most: int, what: str, due: str) -> Fraction:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= most:
        raise _wrong(f"{what} is {value!r}; {due} is due.")
    return Fraction(repr(value))


# Working it out


def terms_of(rules: Rules, marks: Marks, now: datetime | None = None) -> Terms:
    """Everybody's term, as it stands now.

    Parameters
    ----------
    marks : Marks
        By a policy of all labs of the course.
    """
    now, extensions = now or datetime.now(UTC), marks.roll.extensions(marks.policy)

    def part(student: str, lab: str) -> Part:
        return _part(rules.weights[lab], marks, student, lab, extensions.get((student, lab)), now)

    return Terms(
        rules, {s: _together(rules, [part(s, lab) for lab in rules.weights]) for s in marks.students}
    )


def _part(
    weight: Fraction, marks: Marks, student: str, lab: str, extension: timedelta | None, now: datetime
) -> Part:
    mark, policy = marks.marks.get((student, lab)), marks.policy
    due = policy.due[lab] or (marks.labs[lab].due if lab in marks.labs else None)
    if due:
        granted = mark.extension if mark else extension
        due = policy.local(due) + (granted or timedelta())
    part = Part(lab, weight, None, Counts.NEVER, mark, due)
    most = sum(mark.points.values()) if mark else sum(policy.points[lab].values())
    if not weight or not most:
        return part
    state = marks.state(student, lab)
    if state is State.NOTHING:
        if due is None or now <= due + policy.grace:
            return replace(part, counts=Counts.NOT_DUE)
        return replace(part, share=Fraction(0), counts=Counts.ZERO)
    if state is not State.COMPLETE or mark is None:
        return replace(part, counts=Counts.WAITS)
    return replace(part, share=_fraction(mark.score) / _fraction(most), counts=Counts.YES)


def _fraction(points: float) -> Fraction:
    """What a float stands for: 0.1 + 0.2 is 3/10, and a mark of a third is a third.

    >>> _fraction(0.1 + 0.2), _fraction(2 / 3)
    (Fraction(3, 10), Fraction(2, 3))
    """
    return Fraction(points).limit_denominator(1_000_000)


def _together(rules: Rules, parts: Sequence[Part]) -> Term:
    counting = [part for part in parts if part.share is not None]
    if not counting:
        return Term(tuple(parts))
    chosen = best_of(counting, rules.best or len(counting))
    left = {part.lab for part in counting} - {part.lab for part in chosen}
    exact = 100 * _mean(chosen)
    result = rules.rounded(exact)
    return Term(
        tuple(replace(part, counts=Counts.LEFT_OUT) if part.lab in left else part for part in parts),
        exact,
        result,
        rules.grade(result),
    )


def best_of(parts: Sequence[Part], count: int) -> list[Part]:
    """So many of the labs, those whose weighted mean is the largest; of equal ones the earlier.

    The highest marks are not always the best choice where weights differ: a heavy lab of 60 % can cost more than a
    light one of 59 %. Each round takes those that most exceed the mean of the round before, which is exact, and ends
    where there is no better one (Dinkelbach, 1967).
    """
    chosen = sorted(parts, key=_share, reverse=True)[:count]
    while True:
        mean = _mean(chosen)
        better = sorted(parts, key=lambda part: part.weight * (_share(part) - mean), reverse=True)[:count]
        if _mean(better) <= mean:
            return chosen
        chosen = better


def _share(part: Part) -> Fraction:
    return part.share or Fraction(0)


def _mean(parts: Sequence[Part]) -> Fraction:
    return sum((p.weight * _share(p) for p in parts), Fraction(0)) / sum(p.weight for p in parts)


# Tables


def term_csv(terms: Terms, marks: Marks) -> str:
    """A line for each student of the class: each lab in per cent, which do not count, the result and the grade."""
    labs = [lab for lab, weight in terms.rules.weights.items() if weight]
    head = "student_id last_name first_name email section".split()
    rows: list[Sequence] = [(*head, *labs, "not_among_the_best", "not_handed_in", "waits", "result", "grade")]
    for person in marks.present:
        term = terms.of[person.student]
        shares = {part.lab: part.share for part in term.parts}
        last = person.last or (person.name and full_name(person))
        rows.append(
            (
                *(person.student, last, person.first, person.email, person.section),
                *("" if (share := shares[lab]) is None else hundredths(100 * share) for lab in labs),
                *("; ".join(term.labs(how)) for how in (Counts.LEFT_OUT, Counts.ZERO, Counts.WAITS)),
                *("" if term.result is None else str(term.result), term.grade),
            )
        )
    return as_csv(rows)


def hundredths(percent: Fraction) -> str:
    """Per cent with two decimals, halves up."""
    return str(_rounded(percent, 2))


def _rounded(exact: Fraction, decimals: int) -> Decimal:
    """Halves up."""
    return Decimal(floor(exact * 10**decimals + Fraction(1, 2))).scaleb(-decimals)


def term_tables(terms: Terms, marks: Marks, platforms: Sequence[str]) -> list[Table]:
    """The term's results as these platforms take marks, out of 100; empty as long as a lab waits."""
    whole = Assignment(NAME.capitalize(), None, 100.0)
    results = {
        (student, whole.name): Mark(
            student=student,
            lab=whole.name,
            scores={NAME: None if term.waits or term.result is None else float(term.result)},
            points={NAME: 100.0},
        )
        for student, term in terms.of.items()
    }
    both = replace(marks, marks={**marks.marks, **results})
    forms = {name: replace(FORMS[name], file=f"{NAME}-{FORMS[name].file}") for name in platforms}
    return [table for name, form in forms.items() for table in table_of(name, form, both, [whole])]


# The students' pages


def write_pages(classroom: Classroom, now: datetime | None = None) -> int:
    """Write `feedback/<student>/term.html` for everybody in the class; gives how many, 0 where there are no rules.

    Raises
    ------
    Complaint
        If course.toml, the roster or the gradebook cannot be used.
    """
    rules = read_rules(classroom.course)
    if rules is None:
        return 0
    marks = class_today(classroom, read_labs(classroom.course))
    terms = terms_of(rules, marks, now)
    written = 0
    for person in marks.present:
        folder = classroom.feedback / person.student
        text = page(
            "term.html",
            course=classroom.course.title,
            name=full_name(person),
            student=person.student,
            term=terms.of[person.student],
            rules=rules,
            percent=hundredths,
            pages={
                lab: f"{quote(lab)}/{quote(lab)}.html"
                for lab in rules.weights
                if (folder / lab / f"{lab}.html").is_file()
            },
            now=marks.policy.local(now or datetime.now(UTC)),
        )
        write(classroom.term_path(person.student), text)
        written += 1
    return written
