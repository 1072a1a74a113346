"""Write marks as CSV files that learning platforms can import (formats: docs/grades.md).

A grade that awaits manual grading is left empty. Students are identified by the number or login in
the file name of their submission, or else by their entry in the roster. Students who cannot be
identified for a platform are left out, and counted.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from autograder.core.text_format import make_encodable
from autograder.intake import Person
from autograder.intake.names import normalise_name
from autograder.reports.marks import Assignment, ClassMarks, Mark, format_full_name

_GRADES_COLUMNS = (
    "assignment duedate timestamp student_id last_name first_name email raw_score "
    "late_submission_penalty score max_score waiting state hours_late extension group section "
    "changed_by_person"
).split()

# Characters with which a formula may begin in a spreadsheet, also as wide characters. The character
# `|` is not among them, since it occurs only inside of a formula, as in "=cmd|…".
_FORMULA = re.compile(
    "[=+\\-@|%\u2212\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u207c\u208c\u207a\u208a]"
)
# Invisible characters, spaces and quotes that a spreadsheet program may skip before a formula.
_IGNORED_SPACE = "[\\s\"'\u200b-\u200f\u2060]*"
# Separator and the beginning of a formula. A program that separates columns at ";", for example,
# starts a new cell there, and would take the rest for a formula.
_FORMULA_IN_CELL = re.compile("[;\t|,]" + _IGNORED_SPACE + _FORMULA.pattern)
_INVISIBLE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+")
_LEADING_SPACE = " \"'\u00a0\u200b\u200c\u200d\u200e\u200f\u2060\u3000"


@dataclass(frozen=True)
class PlatformTable:
    """CSV file with marks that a learning platform can import.

    Parameters
    ----------
    name : str
        Name of the file.
    platform : str
        Platform that imports it, such as "Moodle".
    text : str
        Content of the file.
    omitted_count : int
        Number of students who have a mark but are left out of the file.
    omission_reason : str
        Reason why they are left out, and what to do; a sentence without its full stop.
    """

    name: str
    platform: str
    text: str
    omitted_count: int = 0
    omission_reason: str = ""


def format_grades_csv(marks: ClassMarks) -> str:
    """Return all marks as CSV, with a row for each student and lab.

    A lab that a few students submitted by mistake has a row for these students only.

    The columns are those of `nbgrader export`, and some more. The column `score` is empty if there
    is no submission, or manual grading is not finished. The column `state` says which is the case.
    """
    rows = [_GRADES_COLUMNS]
    for person in marks.students.values():
        for lab in marks.labs.values():
            if (
                lab.name in marks.mistaken_lab_submitters
                and (person.student, lab.name) not in marks.submissions
            ):
                continue
            rows.append(_grades_csv_row(marks, person, lab))
    return format_csv(rows)


def _grades_csv_row(marks: ClassMarks, person: Person, lab: Assignment) -> list:
    key = (person.student, lab.name)
    mark = marks.marks.get(key)
    scores: list[str | float] = ["", "", ""]
    timestamp: datetime | str = ""
    awaiting_count: int | str = ""
    hours_late = extension = ""
    if mark:
        timestamp = mark.timestamp or ""
        scores = [float(mark.rounded_raw_score), float(mark.rounded_penalty), _grade_cell(mark)]
        awaiting_count = mark.awaiting_manual_count
        if mark.seconds_late:
            hours_late = f"{mark.seconds_late / 3600:.1f}"
        if mark.extension:
            extension = f"{mark.extension.total_seconds() / 3600:g} h"
    return [
        lab.name,
        lab.due or "",
        timestamp,
        person.student,
        person.last or (person.name and format_full_name(person)),
        person.first,
        person.email,
        *scores,
        lab.max_score,
        awaiting_count,
        marks.state(*key),
        hours_late,
        extension,
        "; ".join(marks.partners.get(key, ())),
        person.section,
        "; ".join(mark.changed_by_person) if mark else "",
    ]


PersonColumn = Callable[[ClassMarks, Person], str]


@dataclass(frozen=True, kw_only=True)
class CsvFormat:
    """Description of the CSV file that a platform can import: columns, headings and file name.

    Parameters
    ----------
    file : str
        Name of the file.
    columns : mapping of str to callable
        Functions that return a student's cells, by heading.
    identifying_columns : tuple of str
        Headings by which the platform identifies students; one of them must have a value.
    lab_headings : callable
        Returns the headings of a lab's columns.
    lab_cells : callable
        Returns the cells of a lab's columns, given the grade and the lab.
    optional_columns : tuple of tuple of str
        Groups of headings that are left out together if they have no values.
    final_columns : mapping of str to str
        Last columns, with the same value in each row.
    second_row : callable, optional
        Returns a second row of headings, given the headings before the labs, and the labs.
    omission_reason : str
        See `PlatformTable`.
    """

    file: str
    columns: Mapping[str, PersonColumn]
    identifying_columns: tuple[str, ...]
    lab_headings: Callable[[Assignment], list[str]] = lambda lab: [lab.name]
    lab_cells: Callable[[str | float, Assignment], list[str | float]] = lambda grade, lab: [grade]
    optional_columns: tuple[tuple[str, ...], ...] = ()
    final_columns: Mapping[str, str] = field(default_factory=dict)
    second_row: Callable[[Sequence[str], Sequence[Assignment]], list] | None = None
    omission_reason: str = ""


def _roster_column(field_name: str) -> PersonColumn:
    """Return a function that finds the content of a column in a student's entry in the roster."""
    return lambda marks, person: str(getattr(person, field_name))


def _last_name(marks: ClassMarks, person: Person) -> str:
    return person.last or person.name


def _full_name_reversed(marks: ClassMarks, person: Person) -> str:
    return format_full_name(person, "{last}, {first}")


def _gradescope_last_name(marks: ClassMarks, person: Person) -> str:
    return _last_name(marks, person) or _find_field_from_platform(
        marks, person, "Gradescope", "name"
    )


def _make_identifier_column(
    platform: str, origin_field: str, roster_field: str, prefer_roster: bool = False
) -> PersonColumn:
    """Return a function that finds a student's identifier on a platform, for a column.

    Parameters
    ----------
    prefer_roster : bool
        Take the roster's identifier first.
    """

    def identifier(marks: ClassMarks, person: Person) -> str:
        from_origin = _find_field_from_platform(marks, person, platform, origin_field)
        from_roster = str(getattr(person, roster_field))
        if prefer_roster:
            return from_roster or from_origin
        return from_origin or from_roster

    return identifier


def _canvas_second_row(headings: Sequence[str], labs: Sequence[Assignment]) -> list:
    return ["    Points Possible", *[""] * (len(headings) - 1), *(lab.max_score for lab in labs)]


CSV_FORMATS = {
    # Canvas identifies students by the column ID, whose number is also in the names of downloaded
    # files, or by the SIS columns.
    "Canvas": CsvFormat(
        file="canvas.csv",
        columns={
            "Student": _full_name_reversed,
            "ID": _make_identifier_column("Canvas", "lms_id", "lms_id"),
            "SIS User ID": _roster_column("sid"),
            "SIS Login ID": _roster_column("login"),
            "Section": _roster_column("section"),
        },
        identifying_columns=("ID", "SIS User ID", "SIS Login ID"),
        optional_columns=(("SIS User ID", "SIS Login ID"),),  # a roster without an SIS has neither
        second_row=_canvas_second_row,
    ),
    "Moodle": CsvFormat(  # Grades, Import: all labs
        file="moodle.csv",
        columns={
            "Username": _roster_column("login"),
            "ID number": _roster_column("sid"),
            "First name": _roster_column("first"),
            "Last name": _roster_column("last"),
            "Email address": _roster_column("email"),
        },
        identifying_columns=("Username", "ID number", "Email address"),
    ),
    "Blackboard": CsvFormat(  # Grade Center, Work Offline, Upload
        file="blackboard.csv",
        columns={
            "Last Name": _last_name,
            "First Name": _roster_column("first"),
            "Username": _make_identifier_column("Blackboard", "login", "login"),
            "Student ID": _roster_column("sid"),
        },
        identifying_columns=("Username",),
    ),
    "Brightspace": CsvFormat(  # Grades, Enter Grades, Import
        file="brightspace.csv",
        columns={"OrgDefinedId": _roster_column("sid"), "Username": _roster_column("login")},
        identifying_columns=("OrgDefinedId", "Username"),
        lab_headings=lambda lab: [f"{lab.name} Points Grade"],
        optional_columns=(("OrgDefinedId",), ("Username",)),
        final_columns={"End-of-Line Indicator": "#"},
    ),
    # Gradescope cannot import marks. So this table has the columns of the table that one gets from
    # Gradescope with "Download Grades".
    "Gradescope": CsvFormat(
        file="gradescope.csv",
        columns={
            "First Name": _roster_column("first"),
            "Last Name": _gradescope_last_name,
            "SID": _make_identifier_column("Gradescope", "sid", "sid", prefer_roster=True),
            "Email": _make_identifier_column("Gradescope", "email", "email", prefer_roster=True),
        },
        identifying_columns=("SID", "Email"),
        lab_headings=lambda lab: [lab.name, f"{lab.name} - Max Points"],
        lab_cells=lambda grade, lab: [grade, lab.max_score],
    ),
}
PLATFORMS = tuple(CSV_FORMATS)


def format_platform_csv(
    marks: ClassMarks, csv_format: CsvFormat, labs: Sequence[Assignment] | None = None
) -> tuple[str, int]:
    """Return the marks as CSV for a platform, and the number of students whom it cannot identify.

    Parameters
    ----------
    labs : sequence of Assignment, optional
        By default all labs that are expected of the class.

    Returns
    -------
    str
        The CSV file; "" if no student could be identified.
    int
    """
    if labs is None:
        labs = marks.tabulated_labs
    person_cells: dict[str, dict[str, str]] = {}
    for person in marks.enrolled:
        person_cells[person.student] = {
            heading: column(marks, person) for heading, column in csv_format.columns.items()
        }
    empty_columns = _find_empty_columns(csv_format, list(person_cells.values()))
    headings = [heading for heading in csv_format.columns if heading not in empty_columns]
    rows: list[list] = []
    omitted_count = 0
    for student, cells in person_cells.items():
        if not any(cells[heading] for heading in csv_format.identifying_columns):
            has_mark = any((student, lab.name) in marks.marks for lab in labs)
            omitted_count += has_mark
            continue
        row: list = [cells[heading] for heading in headings]
        for lab in labs:
            row += csv_format.lab_cells(_grade_cell(marks.marks.get((student, lab.name))), lab)
        rows.append([*row, *csv_format.final_columns.values()])
    if not rows:
        return "", omitted_count
    first_row = list(headings)
    for lab in labs:
        first_row += csv_format.lab_headings(lab)
    heading_rows = [[*first_row, *csv_format.final_columns]]
    if csv_format.second_row:
        heading_rows.append(csv_format.second_row(headings, labs))
    return format_csv([*heading_rows, *rows]), omitted_count


def _find_empty_columns(csv_format: CsvFormat, cells: Sequence[Mapping[str, str]]) -> set[str]:
    """Return the headings of the optional columns that are empty for all students."""
    empty: set[str] = set()
    for headings in csv_format.optional_columns:
        if not any(row[heading] for row in cells for heading in headings):
            empty.update(headings)
    return empty


def make_moodle_worksheet_format(
    marks: ClassMarks,
    lab: Assignment,
    now: datetime | None = None,
) -> CsvFormat:
    """Return the columns of Moodle's "grading worksheet", by which Moodle imports one lab's marks.

    "Upload grading worksheet" identifies students by their participant number in the assignment.
    Moodle leaves a grade alone if the worksheet's is empty, or if its own was changed later than
    the worksheet's "Last modified (grade)", which is set to the present time.
    """
    numbers: dict[str, str] = {}
    for (student, name), origin in marks.origins.items():
        if name == lab.name and origin.platform == "Moodle" and origin.participant:
            numbers[student] = origin.participant
    counts = Counter(numbers.values())
    # The members of a group share one participant number. Then it identifies none of them.
    numbers = {student: number for student, number in numbers.items() if counts[number] == 1}
    for student, number in _read_roster_participants(marks, lab, numbers).items():
        numbers.setdefault(student, number)
    modification_time = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

    def identifier(marks: ClassMarks, person: Person) -> str:
        number = numbers.get(person.student, "")
        return f"Participant {number}" if number else ""

    return CsvFormat(
        file=f"moodle-{lab.name}.csv",
        columns={
            "Identifier": identifier,
            "Full name": lambda marks, person: format_full_name(person),
            "Email address": _roster_column("email"),
        },
        identifying_columns=("Identifier",),
        lab_headings=lambda lab: ["Grade", "Maximum Grade", "Last modified (grade)"],
        lab_cells=lambda grade, lab: [grade, lab.max_score, modification_time],
        omission_reason="they have no Identifier of their own in this assignment (a team's is "
        "nobody's); enter their marks by hand, or import moodle.csv",
    )


def _read_roster_participants(
    marks: ClassMarks, lab: Assignment, numbers: Mapping[str, str]
) -> dict[str, str]:
    """Return the roster's participant number of each student for one lab.

    Moodle's numbers hold for one assignment only. A column that names no lab is taken to be this
    lab's if it agrees with the number of every submission.

    Parameters
    ----------
    numbers : mapping of str to str
        Number of each student whose submission has one of its own.
    """
    of_lab, of_any_lab = {}, {}
    for student, person in marks.students.items():
        for name, number in person.participant.items():
            if not name:
                of_any_lab[student] = number
            elif normalise_name(name) == normalise_name(lab.name):
                of_lab[student] = number
    agreements = []
    for student, number in of_any_lab.items():
        if student in numbers:
            agreements.append(number == numbers[student])
    if agreements and all(agreements):
        return of_any_lab | of_lab
    return of_lab


def select_platforms(marks: ClassMarks, platforms: Iterable[str] = ()) -> list[str]:
    """Return the platforms to write tables for: the given ones, and those of submissions."""
    platform_names = {origin.platform for origin in marks.origins.values()} | set(platforms)
    return [platform for platform in PLATFORMS if platform in platform_names]


def build_platform_tables(marks: ClassMarks, platforms: Iterable[str] = ()) -> list[PlatformTable]:
    """Return a table of marks for each platform that submissions came from; leave out empty tables.

    Parameters
    ----------
    platforms : iterable of str
        Further platforms, of `PLATFORMS`.
    """
    tables = []
    for platform in select_platforms(marks, platforms):
        if platform == "Moodle":
            for lab in marks.tabulated_labs:
                worksheet = make_moodle_worksheet_format(marks, lab)
                tables += build_platform_table(platform, worksheet, marks, [lab])
        tables += build_platform_table(platform, CSV_FORMATS[platform], marks)
    return tables


def build_platform_table(
    platform: str,
    csv_format: CsvFormat,
    marks: ClassMarks,
    labs: Sequence[Assignment] | None = None,
) -> list[PlatformTable]:
    """Return a list with the table of marks for a platform; [] if no student would be in it."""
    text, omitted_count = format_platform_csv(marks, csv_format, labs)
    reason = csv_format.omission_reason or (
        f"nothing says what {platform} knows them by, as for a group's submission; "
        "a column of roster.csv would (docs/collect.md)"
    )
    if not text:
        return []
    return [PlatformTable(csv_format.file, platform, text, omitted_count, reason)]


def _find_field_from_platform(
    marks: ClassMarks, person: Person, platform: str, origin_field: str
) -> str:
    """Return one value, such as a login, that a platform stored with a student's submission.

    The result is "" if the field is unknown.

    A group's submission is not used, unless the platform names each of its members.
    """
    for lab in marks.labs:
        origin = marks.origins.get((person.student, lab))
        if origin is None or origin.platform != platform:
            continue
        # A group's submission has the name of the group or of one member, so it says nothing about
        # the others. Only Gradescope names each member.
        is_own = platform == "Gradescope" or len(origin.members) < 2
        value = str(getattr(origin, origin_field))
        if is_own and value:
            return value
    return ""


def _grade_cell(mark: Mark | None) -> str | float:
    """Return a student's final score for a lab; "" if it is not final yet."""
    if mark is None or mark.final_score is None:
        return ""
    return float(mark.rounded_score)


def format_csv(rows: Iterable[Sequence]) -> str:
    """Return rows as CSV text in which no spreadsheet program finds a formula to run."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([escape_formula(cell) for cell in row])
    return make_encodable(text.getvalue())


def escape_formula(cell: Any) -> Any:
    """Return a table cell's value. Put a quote before a text that a program could run as a formula.

    >>> escape_formula("=1+1"), escape_formula("ada"), escape_formula(-2.5)
    ("'=1+1", 'ada', -2.5)
    >>> escape_formula("a;=1+1"), escape_formula("\uff1d1")
    ("'a;'=1+1", "'\uff1d1")
    """
    if not isinstance(cell, str):
        return cell
    text = _INVISIBLE.sub(" ", cell)
    if _FORMULA_IN_CELL.search(text):
        # Put a quote before each part of the text that could become a cell with a formula, if a
        # program separates columns at the semicolon.
        return "'" + re.sub("(?<=[;|,])(?=" + _IGNORED_SPACE + _FORMULA.pattern + ")", "'", text)
    return f"'{text}" if _FORMULA.match(text.lstrip(_LEADING_SPACE)) else text
