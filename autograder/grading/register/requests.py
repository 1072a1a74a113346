"""Who asked for another look at a mark, and what they were told: classroom/requests.csv, a line a request.

    Student,Lab,Exercise,Request,Answer
    ada,my-lab,my_exercise,It is right for axis 1 too.,

An instructor writes it, since a student's file says nothing but answers. A request without an answer is open. What is
changed is a mark by hand, given where all are given.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autograder.authoring.lab import read_labs
from autograder.errors import Complaint, listed, printable
from autograder.files import NotOrdinary, decoded, read_ordinary
from autograder.grading.intake import Identity, Roster
from autograder.grading.intake.names import letters, shown
from autograder.grading.intake.roster import rows_of
from autograder.grading.register.classroom import Classroom

FILE = "requests.csv"
MAX_BYTES = 10_000_000
_COLUMNS = {name: name for name in ("student", "lab", "exercise", "request", "answer")} | {
    "question": "exercise"
}


class RequestError(Complaint):
    """The list of requests cannot be used; the text says which row, and what to do."""


@dataclass(frozen=True)
class Request:
    """What a student asked about one exercise or question, and the answer; "" as long as there is none."""

    request: str
    answer: str = ""


Requests = Mapping[tuple[str, str], Mapping[str, tuple[Request, ...]]]  # by student and lab, by exercise


def read_requests(classroom: Classroom, roster: Roster, students: Iterable[str]) -> Requests:
    """All requests; none where there is no list.

    Parameters
    ----------
    students : iterable of str
        Who is known besides those of the roster.

    Raises
    ------
    RequestError
    """
    path = classroom.root / FILE
    try:
        text, _ = decoded(read_ordinary(path, MAX_BYTES))
        head, *rows = rows_of(text, lambda header: _kind(header) != "") or [[]]
    except FileNotFoundError:
        return {}
    except (NotOrdinary, OSError, csv.Error) as error:
        raise RequestError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    columns = [_kind(header) for header in head]
    if missing := [name for name in ("student", "lab", "exercise", "request") if name not in columns]:
        raise RequestError(
            f"{path} has no column {missing[0]!r}; its first line is Student,Lab,Exercise,Request,Answer."
        )
    labs, known = read_labs(classroom.course), set(students)
    found: dict[tuple[str, str], dict[str, tuple[Request, ...]]] = defaultdict(dict)
    for row in rows:
        said = dict.fromkeys(_COLUMNS, "") | dict(zip(columns, row))  # a line may end early
        where = f"{FILE}, {shown(said['request'], 60)!r}"
        person = roster.find(Identity(said=said["student"]))
        student = (
            said["student"] if said["student"] in known else person[0].student if len(person) == 1 else ""
        )
        if not student:
            raise RequestError(
                f"{where}: nobody of the class is {shown(said['student'], 60)!r}; write the folder's name."
            )
        if said["lab"] not in labs:
            raise RequestError(
                f"{where}: there is no lab {shown(said['lab'], 60)!r}; the labs are {listed(labs)}."
            )
        lab, name = labs[said["lab"]], said["exercise"]
        if name not in lab.exercises and name not in lab.by_hand:
            names = listed([*lab.exercises, *lab.by_hand])
            raise RequestError(f"{where}: {lab.name} has no exercise {shown(name, 60)!r}; it has {names}.")
        of_lab = found[student, lab.name]
        request = Request(printable(said["request"]), printable(said["answer"]))
        of_lab[name] = (*of_lab.get(name, ()), request)
    return found


def _kind(said: str) -> str:
    """What a column holds, by its heading; "" for one that is not ours."""
    return _COLUMNS.get(letters(said), "")
