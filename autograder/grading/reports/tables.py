"""The marks as each platform's import takes them; docs/grades.md says where each form was taken from.

A grade that waits for a mark by hand is empty, not zero. Students are named by what the platform knows them
by: the number or login of their own hand-in's name, else what the roster says. Nothing is invented; whoever
cannot be named is left out, and counted.
"""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from autograder.errors import counted
from autograder.grading.marking.sanitise import harmless
from autograder.grading.reports.marks import Lab, Mark, Marks, Student

_ALL = (
    "assignment duedate timestamp student_id last_name first_name email raw_score late_submission_penalty "
    "score max_score waiting state hours_late extension group section"
).split()


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
    """

    name: str
    platform: str
    text: str
    left_out: int = 0


def grades_csv(marks: Marks) -> str:
    """Everything: a line for each student and lab, alphabetically, in nbgrader's columns and some more.

    `score` is empty where nothing was handed in and where a mark by hand is still to come; `state` says which.
    """

    def rows() -> Iterable[list]:
        for student in marks.students.values():
            for lab in marks.labs.values():
                mark = marks.marks.get((student.id, lab.name))
                yield [
                    lab.name,
                    lab.due or "",
                    (mark and mark.timestamp) or "",
                    student.id,
                    student.last_name or (student.name and student.full_name()),
                    student.first_name,
                    student.email,
                    *((_number(mark.raw), _number(mark.penalty), _cell(mark)) if mark else ("", "", "")),
                    lab.max_score,
                    mark.awaits if mark else "",
                    _state(mark),
                    f"{mark.late / 3600:.1f}" if mark and mark.late else "",
                    _hours(mark),
                    "; ".join(marks.partners.get((student.id, lab.name), ())),
                    student.section,
                ]

    return _csv([_ALL, *rows()])


def _state(mark: Mark | None) -> str:
    if mark is None:
        return "nothing handed in"
    if mark.awaits:
        return f"waits for {counted(mark.awaits, 'mark')} by hand"
    return "complete" if mark.final is not None else "not marked"


def _hours(mark: Mark | None) -> str:
    return f"{mark.extension.total_seconds() / 3600:g} h" if mark and mark.extension else ""


def canvas_csv(marks: Marks) -> tuple[str, int]:
    """For Canvas's gradebook: found by ID, the number in the names of a download, else by what the SIS knows."""
    labs = list(marks.labs.values())
    known = any(s.sid or s.login for s in marks.students.values())
    names = ["SIS User ID", "SIS Login ID"] if known else []
    head = ["Student", "ID", *names, "Section", *(lab.name for lab in labs)]
    points = ["    Points Possible", "", *("" for _ in names), "", *(lab.max_score for lab in labs)]
    rows, left = [], 0
    for student in marks.students.values():
        number = _from(marks, student, "Canvas", "lms_id") or student.lms_id
        if not (number or student.sid or student.login):
            left += _has_mark(marks, student, labs)
            continue
        sis = [student.sid, student.login] if known else []
        rows.append(
            [
                student.full_name("{last}, {first}"),
                number,
                *sis,
                student.section,
                *_cells(marks, student, labs),
            ]
        )
    return _csv([head, points, *rows]), left


def moodle_csv(marks: Marks) -> tuple[str, int]:
    """For Moodle's gradebook (Grades, Import): all labs, by the roster's user name, number or address."""
    labs = list(marks.labs.values())
    head = ["Username", "ID number", "First name", "Last name", "Email address", *(lab.name for lab in labs)]
    rows, left = [], 0
    for student in marks.students.values():
        if not (student.login or student.sid or student.email):
            left += _has_mark(marks, student, labs)
            continue
        said = [student.login, student.sid, student.first_name, student.last_name, student.email]
        rows.append([*said, *_cells(marks, student, labs)])
    return _csv([head, *rows]), left


def moodle_worksheet(marks: Marks, lab: Lab, now: datetime | None = None) -> tuple[str, int]:
    """For one assignment of Moodle (Upload grading worksheet): by the participant's number in that assignment.

    Moodle leaves a grade alone where the worksheet's is empty, and where its own was changed later than the
    worksheet's "Last modified (grade)", which is when this was made.
    """
    head = ["Identifier", "Full name", "Email address", "Grade", "Maximum Grade", "Last modified (grade)"]
    numbers = {
        student: origin.participant
        for (student, name), origin in marks.origins.items()
        if name == lab.name and origin.platform == "Moodle" and origin.participant
    }
    moment = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    rows, left = [], 0
    for student in marks.students.values():
        number = numbers.get(student.id, "")
        if not number or list(numbers.values()).count(number) > 1:  # a group's: whose it is cannot be said
            left += _has_mark(marks, student, [lab])
            continue
        cells = _cells(marks, student, [lab])
        said = [f"Participant {number}", student.full_name(), student.email]
        rows.append([*said, *cells, lab.max_score, moment])
    return _csv([head, *rows]) if rows else "", left


def blackboard_csv(marks: Marks) -> tuple[str, int]:
    """For Blackboard's Grade Center (Work Offline, Upload): by user name."""
    labs = list(marks.labs.values())
    head = ["Last Name", "First Name", "Username", "Student ID", *(lab.name for lab in labs)]
    rows, left = [], 0
    for student in marks.students.values():
        login = _from(marks, student, "Blackboard", "login") or student.login
        if not login:
            left += _has_mark(marks, student, labs)
            continue
        said = [student.last_name or student.name, student.first_name, login, student.sid]
        rows.append([*said, *_cells(marks, student, labs)])
    return _csv([head, *rows]), left


def brightspace_csv(marks: Marks) -> tuple[str, int]:
    """For Brightspace (Grades, Enter Grades, Import): by OrgDefinedId or user name, which the roster says."""
    labs = list(marks.labs.values())
    people = list(marks.students.values())
    keys: list[tuple[str, Callable[[Student], str]]] = []
    if any(s.sid for s in people):
        keys.append(("OrgDefinedId", lambda s: s.sid))
    if any(s.login for s in people):
        keys.append(("Username", lambda s: s.login))
    head = [
        *(name for name, _ in keys),
        *(f"{lab.name} Points Grade" for lab in labs),
        "End-of-Line Indicator",
    ]
    rows, left = [], 0
    for student in people:
        if not any(key(student) for _, key in keys):
            left += _has_mark(marks, student, labs)
            continue
        rows.append([*(key(student) for _, key in keys), *_cells(marks, student, labs), "#"])
    return (_csv([head, *rows]) if rows else ""), left


def gradescope_csv(marks: Marks) -> tuple[str, int]:
    """In the columns of Gradescope's own "Download Grades": it takes no marks back, other systems take these."""
    labs = list(marks.labs.values())
    head = ["First Name", "Last Name", "SID", "Email"]
    for lab in labs:
        head += [lab.name, f"{lab.name} - Max Points"]
    rows, left = [], 0
    for student in marks.students.values():
        address = student.email or _from(marks, student, "Gradescope", "email")
        number = student.sid or _from(marks, student, "Gradescope", "sid")
        if not (address or number):
            left += _has_mark(marks, student, labs)
            continue
        name = student.last_name or student.name or _from(marks, student, "Gradescope", "name")
        row: list = [student.first_name, name, number, address]
        for lab, cell in zip(labs, _cells(marks, student, labs)):
            row += [cell, lab.max_score]
        rows.append(row)
    return _csv([head, *rows]), left


_BY_PLATFORM: dict[str, tuple[str, Callable[[Marks], tuple[str, int]]]] = {
    "Canvas": ("canvas.csv", canvas_csv),
    "Moodle": ("moodle.csv", moodle_csv),
    "Blackboard": ("blackboard.csv", blackboard_csv),
    "Brightspace": ("brightspace.csv", brightspace_csv),
    "Gradescope": ("gradescope.csv", gradescope_csv),
}
PLATFORMS = tuple(_BY_PLATFORM)


def tables(marks: Marks, platforms: Iterable[str] = ()) -> list[Table]:
    """A table for each platform that hand-ins came from, or that is asked for; none that has nobody in it.

    Parameters
    ----------
    marks : Marks
    platforms : iterable of str
        Of `PLATFORMS`: besides those that hand-ins came from.
    """
    occur = {origin.platform for origin in marks.origins.values()} | set(platforms)
    found = []
    for platform, (name, make) in _BY_PLATFORM.items():
        if platform not in occur:
            continue
        if platform == "Moodle":
            for lab in marks.labs.values():
                text, left = moodle_worksheet(marks, lab)
                if text:
                    found.append(Table(f"moodle-{lab.name}.csv", platform, text, left))
        text, left = make(marks)
        heads = 2 if platform == "Canvas" else 1
        if len(text.splitlines()) > heads:
            found.append(Table(name, platform, text, left))
    return found


def _from(marks: Marks, student: Student, platform: str, what: str) -> str:
    """What one of the student's own hand-ins on a platform says of them; "" for a group's."""
    for lab in marks.labs:
        origin = marks.origins.get((student.id, lab))
        # A group's hand-in bears the name of the group or of one of it; Gradescope names each.
        alone = platform == "Gradescope" or (origin is not None and len(origin.members) < 2)
        if origin and origin.platform == platform and alone and (said := str(getattr(origin, what))):
            return said
    return ""


def _has_mark(marks: Marks, student: Student, labs: Sequence[Lab]) -> bool:
    return any((student.id, lab.name) in marks.marks for lab in labs)


def _cells(marks: Marks, student: Student, labs: Sequence[Lab]) -> list[str | float]:
    return [_cell(marks.marks.get((student.id, lab.name))) for lab in labs]


def _cell(mark: Mark | None) -> str | float:
    """A grade, or nothing where there is none yet."""
    return "" if mark is None or mark.final is None else _number(mark.final)


def _number(points: float) -> float:
    return round(points, 2) + 0.0


def _csv(rows: Iterable[Sequence]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([harmless(cell) for cell in row] for row in rows)
    # A folder's name may hold bytes that are no UTF-8.
    return text.getvalue().encode("utf-8", "replace").decode("utf-8")
