"""The marks as each platform's import takes them; docs/grades.md says where each form was taken from.

A grade that waits for a mark by hand is empty, not zero. Students are named by what the platform knows them
by: the number or login of their own hand-in's name, else what the roster says. Nothing is invented; whoever
cannot be named is left out, and counted.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from autograder.errors import encodable
from autograder.grading.intake import Person
from autograder.grading.reports.marks import Assignment, Mark, Marks, full_name

_ALL = (
    "assignment duedate timestamp student_id last_name first_name email raw_score late_submission_penalty "
    "score max_score waiting state hours_late extension group section"
).split()

# What a spreadsheet begins a formula with, wide forms included; `|` begins none but ends "=cmd|…".
_FORMULA = re.compile(
    "[=+\\-@|%\u2212\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u207c\u208c\u207a\u208a]"
)
# A program that takes another character than the comma for the end of a cell begins a new one there.
_GAP = "[\\s\"'\u200b-\u200f\u2060]*"  # what a program may pass over before it
_INSIDE = re.compile("[;\t|,]" + _GAP + _FORMULA.pattern)
_UNSEEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+")

_PASSED_OVER = " \"'\u00a0\u200b\u200c\u200d\u200e\u200f\u2060\u3000"


@dataclass(frozen=True)
class Table:
    """A file that a platform takes.

    Parameters
    ----------
    name : str
    platform : str
    text : str
        The file as CSV.
    left_out : int
        Students with a mark whom the platform could not be told of.
    why_not : str
        Why those are left out, and what to do.
    """

    name: str
    platform: str
    text: str
    left_out: int = 0
    why_not: str = ""


def grades_csv(marks: Marks) -> str:
    """Everything: a line for each student and lab, alphabetically, in nbgrader's columns and some more.

    `score` is empty where nothing was handed in and where a mark by hand is still to come; `state` says which.
    """

    def rows() -> Iterable[list]:
        for person in marks.students.values():
            for lab in marks.labs.values():
                mark = marks.marks.get((person.student, lab.name))
                yield [
                    lab.name,
                    lab.due or "",
                    (mark and mark.timestamp) or "",
                    person.student,
                    person.last or (person.name and full_name(person)),
                    person.first,
                    person.email,
                    *((_number(mark.raw), _number(mark.penalty), _cell(mark)) if mark else ("", "", "")),
                    lab.max_score,
                    mark.awaits if mark else "",
                    marks.state(person.student, lab.name),
                    f"{mark.late / 3600:.1f}" if mark and mark.late else "",
                    _hours(mark),
                    "; ".join(marks.partners.get((person.student, lab.name), ())),
                    person.section,
                ]

    return as_csv([_ALL, *rows()])


def _hours(mark: Mark | None) -> str:
    return f"{mark.extension.total_seconds() / 3600:g} h" if mark and mark.extension else ""


@dataclass(frozen=True, kw_only=True)
class Form:
    """How one platform takes marks.

    Parameters
    ----------
    file : str
    columns : mapping of str to callable
        What is said of a student, by the heading it stands under: given the marks and the person.
    keys : tuple of str
        The headings of which one must hold something: what the platform knows people by.
    heads : callable
        The headings of a lab's columns.
    cells : callable
        What stands in them, given the mark as a cell and the lab.
    optional : tuple of tuple of str
        Headings that are left out together where nobody has anything under any of them.
    end : mapping of str to str
        A last column, the same for all.
    second : callable, optional
        A second line of headings, given the number of columns before the labs and the labs.
    why_not : str
        Why somebody is left out, and what to do; a sentence without its end.
    """

    file: str
    columns: Mapping[str, Callable[[Marks, Person], str]]
    keys: tuple[str, ...]
    heads: Callable[[Assignment], list[str]] = lambda lab: [lab.name]
    cells: Callable[[str | float, Assignment], list[str | float]] = lambda cell, lab: [cell]
    optional: tuple[tuple[str, ...], ...] = ()
    end: Mapping[str, str] = field(default_factory=dict)
    second: Callable[[Sequence[str], Sequence[Assignment]], list] | None = None
    why_not: str = ""


def _of(name: str) -> Callable[[Marks, Person], str]:
    return lambda marks, person: str(getattr(person, name))


def _last(marks: Marks, person: Person) -> str:
    return person.last or person.name


def _login_or(platform: str, what: str, name: str, own_first: bool = False) -> Callable[[Marks, Person], str]:
    """What the hand-in's own name says, or else the roster; or the other way round."""

    def said(marks: Marks, person: Person) -> str:
        theirs, known = _from(marks, person, platform, what), str(getattr(person, name))
        return (known or theirs) if own_first else (theirs or known)

    return said


FORMS = {
    "Canvas": Form(  # found by ID, the number in the names of a download, else by what the SIS knows
        file="canvas.csv",
        columns={
            "Student": lambda marks, person: full_name(person, "{last}, {first}"),
            "ID": _login_or("Canvas", "lms_id", "lms_id"),
            "SIS User ID": _of("sid"),
            "SIS Login ID": _of("login"),
            "Section": _of("section"),
        },
        keys=("ID", "SIS User ID", "SIS Login ID"),
        optional=(("SIS User ID", "SIS Login ID"),),  # the SIS has both or neither
        second=lambda heads, labs: [
            "    Points Possible",
            *("" for _ in heads[1:]),
            *(lab.max_score for lab in labs),
        ],
    ),
    "Moodle": Form(  # Grades, Import: all labs
        file="moodle.csv",
        columns={
            "Username": _of("login"),
            "ID number": _of("sid"),
            "First name": _of("first"),
            "Last name": _of("last"),
            "Email address": _of("email"),
        },
        keys=("Username", "ID number", "Email address"),
    ),
    "Blackboard": Form(  # Grade Center, Work Offline, Upload
        file="blackboard.csv",
        columns={
            "Last Name": _last,
            "First Name": _of("first"),
            "Username": _login_or("Blackboard", "login", "login"),
            "Student ID": _of("sid"),
        },
        keys=("Username",),
    ),
    "Brightspace": Form(  # Grades, Enter Grades, Import
        file="brightspace.csv",
        columns={"OrgDefinedId": _of("sid"), "Username": _of("login")},
        keys=("OrgDefinedId", "Username"),
        heads=lambda lab: [f"{lab.name} Points Grade"],
        optional=(("OrgDefinedId",), ("Username",)),
        end={"End-of-Line Indicator": "#"},
    ),
    "Gradescope": Form(  # in the columns of its own "Download Grades": it takes no marks back, others take these
        file="gradescope.csv",
        columns={
            "First Name": _of("first"),
            "Last Name": lambda marks, person: (
                _last(marks, person) or _from(marks, person, "Gradescope", "name")
            ),
            "SID": _login_or("Gradescope", "sid", "sid", own_first=True),
            "Email": _login_or("Gradescope", "email", "email", own_first=True),
        },
        keys=("SID", "Email"),
        heads=lambda lab: [lab.name, f"{lab.name} - Max Points"],
        cells=lambda cell, lab: [cell, lab.max_score],
    ),
}
PLATFORMS = tuple(FORMS)


def platform_csv(marks: Marks, form: Form, labs: Sequence[Assignment] | None = None) -> tuple[str, int]:
    """The marks as a platform's import takes them ("" where it could not be told of anybody); who is left out.

    Of all labs, unless they are named.
    """
    labs = list(marks.labs.values()) if labs is None else labs
    said = {
        person.student: {head: read(marks, person) for head, read in form.columns.items()}
        for person in marks.present
    }
    empty = {
        head
        for together in form.optional
        if not any(one[head] for one in said.values() for head in together)
        for head in together
    }
    heads = [head for head in form.columns if head not in empty]
    rows, left = [], 0
    for student, one in said.items():
        if not any(one[key] for key in form.keys):
            left += any((student, lab.name) in marks.marks for lab in labs)
            continue
        cells = [
            cell for lab in labs for cell in form.cells(_cell(marks.marks.get((student, lab.name))), lab)
        ]
        rows.append([*(one[head] for head in heads), *cells, *form.end.values()])
    first = [*heads, *(head for lab in labs for head in form.heads(lab)), *form.end]
    second = [form.second(heads, labs)] if form.second else []
    return (as_csv([first, *second, *rows]) if rows else ""), left


def moodle_worksheet(marks: Marks, lab: Assignment, now: datetime | None = None) -> Form:
    """How Moodle takes the marks of one assignment (Upload grading worksheet): by the participant's number in it.

    Moodle leaves a grade alone where the worksheet's is empty, and where its own was changed later than the
    worksheet's "Last modified (grade)", which is when this was made.
    """
    numbers = {
        student: origin.participant
        for (student, name), origin in marks.origins.items()
        if name == lab.name and origin.platform == "Moodle" and origin.participant
    }
    alone = {number for number, count in Counter(numbers.values()).items() if count == 1}
    moment = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

    def identifier(marks: Marks, person: Person) -> str:
        number = numbers.get(person.student)
        # Of a group's number it cannot be said whose it is.
        return f"Participant {number}" if number in alone else ""

    return Form(
        file=f"moodle-{lab.name}.csv",
        columns={
            "Identifier": identifier,
            "Full name": lambda marks, person: full_name(person),
            "Email address": _of("email"),
        },
        keys=("Identifier",),
        heads=lambda lab: ["Grade", "Maximum Grade", "Last modified (grade)"],
        cells=lambda cell, lab: [cell, lab.max_score, moment],
        why_not="they have no Identifier of their own in this assignment (a team's is nobody's); enter their marks by "
        "hand, or import moodle.csv",
    )


def wanted(marks: Marks, platforms: Iterable[str] = ()) -> list[str]:
    """The platforms that hand-ins came from, and those that are asked for."""
    occur = {origin.platform for origin in marks.origins.values()} | set(platforms)
    return [platform for platform in FORMS if platform in occur]


def tables(marks: Marks, platforms: Iterable[str] = ()) -> list[Table]:
    """A table for each platform that hand-ins came from, or that is asked for; none that has nobody in it.

    Parameters
    ----------
    marks : Marks
    platforms : iterable of str
        Of `PLATFORMS`: besides those that hand-ins came from.
    """
    found = []
    for platform in wanted(marks, platforms):
        if platform == "Moodle":
            for lab in marks.labs.values():
                found += table_of(platform, moodle_worksheet(marks, lab), marks, [lab])
        found += table_of(platform, FORMS[platform], marks)
    return found


def table_of(
    platform: str, form: Form, marks: Marks, labs: Sequence[Assignment] | None = None
) -> list[Table]:
    """A platform's table, if it has anybody in it."""
    text, left = platform_csv(marks, form, labs)
    why_not = form.why_not or (
        f"nothing says what {platform} knows them by, as for a group's hand-in; a column of roster.csv would "
        "(docs/collect.md)"
    )
    return [Table(form.file, platform, text, left, why_not)] if text else []


def _from(marks: Marks, person: Person, platform: str, what: str) -> str:
    """What one of the student's own hand-ins on a platform says of them; "" for a group's."""
    for lab in marks.labs:
        origin = marks.origins.get((person.student, lab))
        # A group's hand-in bears the name of the group or of one of it; Gradescope names each.
        alone = platform == "Gradescope" or (origin is not None and len(origin.members) < 2)
        if origin and origin.platform == platform and alone and (said := str(getattr(origin, what))):
            return said
    return ""


def _cell(mark: Mark | None) -> str | float:
    """A grade, or nothing where there is none yet."""
    return "" if mark is None or mark.final is None else _number(mark.final)


def _number(points: float) -> float:
    return round(points, 2) + 0.0


def as_csv(rows: Iterable[Sequence]) -> str:
    """Rows as a spreadsheet opens them, in which no cell is a formula."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([harmless(cell) for cell in row] for row in rows)
    return encodable(text.getvalue())


def harmless(cell: Any) -> Any:
    """Text that a spreadsheet shows instead of working it out as a formula, in whatever language it is set.

    >>> harmless("=1+1"), harmless("ada"), harmless(-2.5), harmless("a;=1+1"), harmless("\uff1d1")
    ("'=1+1", 'ada', -2.5, "'a;'=1+1", "'\uff1d1")
    """
    if not isinstance(cell, str):
        return cell
    text = _UNSEEN.sub(" ", cell)
    if _INSIDE.search(text):
        # For the program that splits at the semicolon: there the new cell begins with a quote too.
        return "'" + re.sub("(?<=[;|,])(?=" + _GAP + _FORMULA.pattern + ")", "'", text)
    return f"'{text}" if _FORMULA.match(text.lstrip(_PASSED_OVER)) else text
