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
from autograder.core.errors import AutograderError
from autograder.core.files import NotRegularFile, decode_text, read_regular_file
from autograder.core.text_format import join_words, make_printable
from autograder.gradebook.classroom import Classroom
from autograder.intake import PlatformIdentity, Roster
from autograder.intake.names import escape_unprintable, normalise_name
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
    """Error for a file requests.csv that cannot be read. The text says what to do."""


@dataclass(frozen=True)
class RegradeRequest:
    """A student's regrade request about one exercise or question.

    Parameters
    ----------
    text : str
        Text of the student's request.
    answer : str
        The instructor's reply; "" while the request is open.
    """

    text: str
    answer: str = ""


# Regrade requests by (student, lab), and then by exercise or question.
RegradeRequests = Mapping[tuple[str, str], Mapping[str, tuple[RegradeRequest, ...]]]


def read_regrade_requests(
    classroom: Classroom,
    roster: Roster,
    students: Iterable[str],
) -> tuple[RegradeRequests, list[str]]:
    """Read all requests in requests.csv. A row that cannot be used is left out, with a sentence.

    Parameters
    ----------
    students : iterable of str
        Students who may be named in the file although the roster does not list them.

    Returns
    -------
    requests : mapping of (student, lab) to mapping
        Requests by exercise or question; empty if there is no such file.
    notes : list of str
        A sentence about each row that names an unknown student, lab or exercise.

    Raises
    ------
    RegradeRequestError
        If the whole file cannot be read.
    """
    rows = _read_request_rows(classroom.root / REQUESTS_FILE)
    if not rows:
        return {}, []
    labs, folders = read_labs(classroom.course), set(students)
    requests: dict[tuple[str, str], dict[str, tuple[RegradeRequest, ...]]] = defaultdict(dict)
    notes = []
    for row in rows:
        try:
            student = _find_student(row["student"], roster, folders)
            lab = _find_lab_with_exercise(labs, row["lab"], row["exercise"])
        except ValueError as error:
            notes.append(f"{REQUESTS_FILE}, {escape_unprintable(row['request'], 60)!r}: {error}")
            continue
        request = RegradeRequest(make_printable(row["request"]), make_printable(row["answer"]))
        by_exercise = requests[student, lab.name]
        by_exercise[row["exercise"]] = (*by_exercise.get(row["exercise"], ()), request)
    return requests, notes


def _read_request_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of the file as dicts with all columns; [] if there is no file."""
    try:
        data = read_regular_file(path, MAX_REQUESTS_BYTES + 1)
        if len(data) > MAX_REQUESTS_BYTES:
            raise RegradeRequestError(
                f"{path} has more than {MAX_REQUESTS_BYTES / 1_000_000:g} MB. Take out old "
                "requests."
            )
        text, _ = decode_text(data)
        header, *rows = parse_csv_rows(text, lambda heading: _find_column(heading) != "") or [[]]
    except FileNotFoundError:
        return []
    except (NotRegularFile, OSError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise RegradeRequestError(f"{path} cannot be read: {reason}.") from None
    columns = [_find_column(heading) for heading in header]
    for name in _REQUIRED_COLUMNS:
        if name not in columns:
            raise RegradeRequestError(
                f"{path} has no column {name!r}; its first line is Student,Lab,Exercise,Request,Answer."
            )
    empty = dict.fromkeys(_COLUMN_OF_HEADING.values(), "")
    return [empty | dict(zip(columns, row)) for row in rows]  # a row may lack its last columns


def _find_student(text: str, roster: Roster, folders: set[str]) -> str:
    """Return the folder of the student whom a table cell names.

    Raises ValueError, with a sentence for the instructor, if no student fits, or several do.
    """
    if text in folders:
        return text
    name = escape_unprintable(text, 60)
    people = roster.find(PlatformIdentity(any_identifier=text))
    if not people:
        raise ValueError(f"nobody in the class is called {name!r}. Write the name of the folder.")
    if len(people) > 1:
        choices = join_words([repr(person.student) for person in people], "or")
        raise ValueError(
            f"{len(people)} students are called {name!r}. Write the name of the folder: {choices}."
        )
    return people[0].student


def _find_lab_with_exercise(labs: Mapping[str, Lab], lab_name: str, exercise: str) -> Lab:
    """Return the lab of this name, which has this exercise or question.

    Raises ValueError, with a sentence for the instructor, if there is no such lab or exercise.
    """
    if lab_name not in labs:
        name = escape_unprintable(lab_name, 60)
        raise ValueError(f"there is no lab {name!r}. The labs are {join_words(labs)}.")
    lab = labs[lab_name]
    names = [*lab.exercises, *lab.manual_questions]
    if exercise not in names:
        raise ValueError(
            f"{lab.name} has no exercise {escape_unprintable(exercise, 60)!r}. It has {join_words(names)}."
        )
    return lab


def _find_column(heading: str) -> str:
    """Return the program's name for a column with this heading; "" for an unknown heading.

    >>> _find_column("Question"), _find_column("Remarks")
    ('exercise', '')
    """
    return _COLUMN_OF_HEADING.get(normalise_name(heading), "")
