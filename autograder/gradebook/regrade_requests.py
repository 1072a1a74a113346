"""Read the students' regrade requests from the file requests.csv in the class's folder.

    Student,Lab,Exercise,Request,Answer
    ada,my-lab,my_exercise,It is right for axis 1 too.,

The instructor writes the file, with the students' requests and the instructor's replies (column
Answer). A request without a reply is open. The file itself changes no mark: the instructor enters
a new mark like any other manual mark.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.lab import Lab, read_labs
from autograder.core.errors import AutograderError, join_words, make_printable
from autograder.core.files import NotRegularFile, decode_text, read_regular_file
from autograder.gradebook.classroom import Classroom
from autograder.intake import Identity, Roster
from autograder.intake.filenames import escape_unprintable, normalise_name
from autograder.intake.roster import parse_csv_rows

REQUESTS_FILE = "requests.csv"
MAX_REQUESTS_BYTES = 10_000_000
_REQUIRED_COLUMNS = ("student", "lab", "exercise", "request")
_COLUMN_OF_HEADING = {
    "student": "student",
    "lab": "lab",
    "exercise": "exercise",
    "question": "exercise",
    "request": "request",
    "answer": "answer",
}


class RegradeRequestError(AutograderError):
    """Error in requests.csv. The text names the row and says what to do."""


@dataclass(frozen=True)
class RegradeRequest:
    """A student's regrade request about one exercise or question.

    Parameters
    ----------
    question : str
        Text of the student's request.
    answer : str
        The instructor's reply; "" while the request is open.
    """

    question: str
    answer: str = ""


# Regrade requests by (student, lab), and then by exercise or question.
RegradeRequests = Mapping[tuple[str, str], Mapping[str, tuple[RegradeRequest, ...]]]


def read_regrade_requests(
    classroom: Classroom,
    roster: Roster,
    students: Iterable[str],
) -> RegradeRequests:
    """Read all requests in requests.csv; an empty dict if there is no such file.

    Parameters
    ----------
    students : iterable of str
        Students who may be named in the file although the roster does not list them.

    Raises
    ------
    RegradeRequestError
        If the file cannot be read, or a row names an unknown student, lab or exercise.
    """
    rows = _read_request_rows(classroom.root / REQUESTS_FILE)
    if not rows:
        return {}
    labs, folders = read_labs(classroom.course), set(students)
    requests: dict[tuple[str, str], dict[str, tuple[RegradeRequest, ...]]] = defaultdict(dict)
    for row in rows:
        place = f"{REQUESTS_FILE}, {escape_unprintable(row['request'], 60)!r}"
        student = _find_student(row["student"], roster, folders)
        if not student:
            raise RegradeRequestError(
                f"{place}: nobody of the class is {escape_unprintable(row['student'], 60)!r}; "
                "write the folder's name."
            )
        if row["lab"] not in labs:
            raise RegradeRequestError(
                f"{place}: there is no lab {escape_unprintable(row['lab'], 60)!r}; "
                f"the labs are {join_words(labs)}."
            )
        lab, name = labs[row["lab"]], row["exercise"]
        _check_exercise(lab, name, place)
        request = RegradeRequest(make_printable(row["request"]), make_printable(row["answer"]))
        by_exercise = requests[student, lab.name]
        by_exercise[name] = (*by_exercise.get(name, ()), request)
    return requests


def _read_request_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of the file as dicts with all columns; [] if there is no file."""
    try:
        text, _ = decode_text(read_regular_file(path, MAX_REQUESTS_BYTES))
        header, *rows = parse_csv_rows(text, lambda heading: _column_of(heading) != "") or [[]]
    except FileNotFoundError:
        return []
    except (NotRegularFile, OSError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise RegradeRequestError(f"{path} cannot be read: {reason}.") from None
    columns = [_column_of(heading) for heading in header]
    for name in _REQUIRED_COLUMNS:
        if name not in columns:
            raise RegradeRequestError(
                f"{path} has no column {name!r}; its first line is Student,Lab,Exercise,Request,Answer."
            )
    empty = dict.fromkeys(_COLUMN_OF_HEADING.values(), "")
    return [empty | dict(zip(columns, row)) for row in rows]  # a row may lack its last columns


def _find_student(text: str, roster: Roster, folders: set[str]) -> str:
    """Return the folder of the student whom a table cell names; "" if none or several fit.

    "" if no student fits, or more than one.
    """
    if text in folders:
        return text
    people = roster.find(Identity(any_identifier=text))
    return people[0].student if len(people) == 1 else ""


def _check_exercise(lab: Lab, name: str, place: str) -> None:
    if name not in lab.exercises and name not in lab.manual_questions:
        names = join_words([*lab.exercises, *lab.manual_questions])
        raise RegradeRequestError(
            f"{place}: {lab.name} has no exercise {escape_unprintable(name, 60)!r}; it has {names}."
        )


def _column_of(heading: str) -> str:
    """Return the program's name for a column with this heading; "" for an unknown heading.

    >>> _column_of("Question"), _column_of("Remarks")
    ('exercise', '')
    """
    return _COLUMN_OF_HEADING.get(normalise_name(heading), "")
