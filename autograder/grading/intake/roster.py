"""Who is in the class: classroom/roster.csv, as a learning platform exports it.

Columns are known by their headers, in any order, whatever else the file holds. Hand-ins are matched to people
by an id, else a login, else an e-mail address, else a name that only one of them has.
"""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.errors import Complaint, counted
from autograder.grading.intake.names import letters, nfc, safe_student, same_case, shown

MAX_ROSTER = 20_000_000  # bytes

# What a column holds, by its header's letters. Platforms: c Canvas, m Moodle, b Blackboard, d Brightspace,
# g Gradescope, h GitHub Classroom, n nbgrader; no letter: ours.
COLUMNS: Mapping[str, str] = {
    "folder": "student",
    "student": "name",  # c
    "name": "name",  # g h
    "fullname": "name",  # m g
    "displayname": "name",
    "studentname": "name",
    "first": "first",
    "firstname": "first",  # m b d g n
    "givenname": "first",
    "last": "last",
    "lastname": "last",  # m b d g n
    "surname": "last",  # m
    "familyname": "last",
    "login": "login",
    "loginid": "login",
    "sisloginid": "login",  # c
    "username": "login",  # m b d
    "netid": "login",
    "githubusername": "github",  # h
    "github": "github",
    "id": "lms_id",  # c; n's is the student's folder
    "lmsid": "lms_id",
    "lmsuserid": "lms_id",  # n
    "userid": "lms_id",
    "sisuserid": "sid",  # c
    "idnumber": "sid",  # m
    "studentid": "sid",  # b
    "orgdefinedid": "sid",  # d
    "sid": "sid",  # g
    "identifier": "participant",  # m; h's is a name of the instructor's choice
    "email": "email",  # d g n
    "emailaddress": "email",  # m
    "mail": "email",
    "section": "section",  # c g
    "sections": "section",  # g
    "group": "group",  # m
    "groups": "group",  # m
    "groupname": "group",
    "team": "group",
    "role": "role",  # g
}
_NBGRADER = {"id", "firstname", "lastname", "email", "lmsuserid"}
_STAFF = {"instructor", "ta", "teacher", "reader", "observer", "designer", "grader"}


class RosterError(Complaint):
    """The roster cannot be used; the text says where and what to do."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """One student of the class.

    Parameters
    ----------
    student : str
        The name of the student's folder, and their key everywhere.
    name, first, last : str
    login : str
    github : str
        The user name there, if that is another.
    lms_id : str
        The platform's own number of this person: Canvas's ID, nbgrader's lms_user_id.
    sid : str
        The school's number: SIS User ID, ID number, OrgDefinedId, SID.
    participant : str
        Moodle's number of this person in one assignment, from a grading worksheet.
    email, section : str
    group : tuple of str
        The groups that this person is in.
    extension : mapping of str to str
        What was granted, as it is written ("2 days", "48h"): by lab; under "" for all labs.
    """

    student: str
    name: str = ""
    first: str = ""
    last: str = ""
    login: str = ""
    github: str = ""
    lms_id: str = ""
    sid: str = ""
    participant: str = ""
    email: str = ""
    section: str = ""
    group: tuple[str, ...] = ()
    extension: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What is known of who handed something in; any part may be ""."""

    student: str = ""
    name: str = ""
    login: str = ""
    email: str = ""
    lms_id: str = ""
    sid: str = ""
    participant: str = ""
    github: str = ""
    said: str = ""  # a word that may be any of these: a folder's name


@dataclass(frozen=True)
class Roster:
    """The class.

    Parameters
    ----------
    people : tuple of Person
        In the file's order.
    notes : tuple of str
        What was odd about the file.
    """

    people: tuple[Person, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def by_student(self) -> dict[str, Person]:
        return {person.student: person for person in self.people}

    @cached_property
    def _index(self) -> dict[str, dict[str, list[Person]]]:
        index: dict[str, dict[str, list[Person]]] = defaultdict(lambda: defaultdict(list))
        for person in self.people:
            for key in ("student", "lms_id", "sid", "participant", "login", "github", "email"):
                if value := getattr(person, key):
                    index[key][same_case(value)].append(person)
            words = (person.name or f"{person.first} {person.last}").split()[:8]
            # "Ada Lovelace" is "lovelaceada" to Canvas, and "Lovelace, Ada" to others.
            names = {letters("".join(words[n:] + words[:n])) for n in range(len(words))}
            names.add(letters(person.last + person.first))
            for name in names - {""}:
                index["name"][name].append(person)
            for group in person.group:
                index["group"][letters(group)].append(person)
        return index

    def find(self, who: Identity) -> list[Person]:
        """The people that this may be: one if it is known, none, or several of one name."""
        said = who.said
        tried = (
            [("student", who.student or said), ("lms_id", who.lms_id), ("sid", who.sid)]
            + [("participant", who.participant), ("sid", said), ("lms_id", said)]
            + [("login", who.login or said), ("github", who.github or said), ("email", who.email or said)]
        )
        for key, value in tried:
            found = self._index[key].get(same_case(value), []) if value else []
            if len(found) != 1:
                continue
            # A GitHub user can take anybody's login for a name; who has another one there is somebody else.
            known = key == "github" or not (who.github and found[0].github)
            if known or same_case(found[0].github) == same_case(who.github):
                return found
        for name in (who.name, said):
            named = self._index["name"].get(letters(name), []) if letters(name) else []
            # Of one name, but known by another number or login: somebody else.
            found = [person for person in named if not _contradict(person, who)]
            if found:
                return found
        return []

    def members(self, group: str) -> list[Person]:
        """Who is in a group."""
        return self._index["group"].get(letters(group), []) if letters(group) else []


def _contradict(person: Person, who: Identity) -> bool:
    both = ((getattr(person, key), getattr(who, key)) for key in ("lms_id", "sid", "login", "github"))
    return any(one and other and same_case(one) != same_case(other) for one, other in both)


def read(path: Path) -> Roster:
    """Read a roster; an empty one if there is no such file.

    Raises
    ------
    RosterError
        If it cannot be read, or two lines are one person or share a folder.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_ROSTER + 1)
    except FileNotFoundError:
        return Roster()
    except OSError as error:
        raise RosterError(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(data) > MAX_ROSTER:
        raise RosterError(f"{path} has more than {MAX_ROSTER / 1e6:.0f} MB: that is no list of a class.")
    try:
        text, notes = _decoded(data)
        return _people(_rows(text), notes)
    except (csv.Error, ValueError) as error:
        raise RosterError(f"{path} is no roster: {error}.") from None


def _decoded(data: bytes) -> tuple[str, list[str]]:
    for mark, code in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(code), []
    if b"\0" in data[:1000]:  # UTF-16 without its mark
        return data.decode("utf-16-le" if data[1:2] == b"\0" else "utf-16-be"), []
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), ["It is not UTF-8; it was read as Windows' Western one."]


def _rows(text: str) -> list[list[str]]:
    """The lines in cells, by the separator that gives the most columns that are known."""

    def split(mark: str) -> list[list[str]]:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        return [[nfc(cell).strip() for cell in line] for line in lines]

    text = re.sub(r"\A(?:[\r\n]|sep=[^\n]*(?:\n|\Z))*", "", text)  # Excel's own hint comes before the table
    first = text[:10_000].split("\n")[0]
    best = max(",;\t", key=lambda m: sum(bool(_kind(c)) for c in next(csv.reader([first], delimiter=m), [])))
    return [row for row in split(best) if any(row)]


def _kind(header: str) -> str:
    said = letters(header)
    if said.startswith("extension"):
        return "extension"
    return COLUMNS.get(said, "")


def _people(rows: list[list[str]], notes: list[str]) -> Roster:
    if not rows:
        raise ValueError("it is empty")
    headers = rows[0]
    kinds = [_kind(header) for header in headers]
    known = {letters(header) for header in headers}
    if "id" in known and known <= _NBGRADER:
        kinds[[letters(h) for h in headers].index("id")] = "student"
    if "githubusername" in known:  # the instructor's own word for each student
        kinds = ["student" if letters(h) == "identifier" else kind for h, kind in zip(headers, kinds)]
    if not {"student", "name", "last", "login", "email", "lms_id", "sid"} & set(kinds):
        raise ValueError(
            "its first line has no column that says who, such as Name, Login, Email or ID "
            f"({shown(', '.join(headers), 100)})"
        )
    for kind in sorted(set(kinds) - {"", "extension"}):
        same = [header for header, k in zip(headers, kinds) if k == kind]
        if len(same) > 1:
            notes.append(f"The columns {' and '.join(map(repr, same))} say the same; the first one counts.")
    ignored = [header for header, kind in zip(headers, kinds) if not kind and header]
    if ignored:
        notes.append(f"{counted(len(ignored), 'column')} not used: {shown(', '.join(ignored), 100)}.")
    people = []
    for row in rows[1:]:
        cells: dict[str, str] = {}
        extension = {}
        for header, kind, cell in zip(headers, kinds, row):
            # Brightspace marks its ids with a #, and a spreadsheet's texts may begin with a quote.
            cell = cell.lstrip("#'") if kind in ("login", "sid") else cell
            if kind == "extension" and cell:
                extension[re.sub(r"(?i)^extensions?[\s:_-]*(for\s+)?", "", header).strip()] = cell
            elif kind and cell:
                cells.setdefault(kind, cell)
        if person := _person(cells, extension):
            people.append(person)
    _check(people)
    return Roster(tuple(people), tuple(notes))


def _person(cells: dict[str, str], extension: dict[str, str]) -> Person | None:
    """One line's person; None for lines that are not students'."""
    name = cells.pop("name", "")
    if cells.pop("role", "").casefold() in _STAFF or letters(name) in ("pointspossible", "studenttest"):
        return None  # Canvas's second line and its test student, Gradescope's staff
    if (
        not {"student", "login", "email", "lms_id", "sid", "participant", "first", "last"} & cells.keys()
        and not name
    ):
        return None
    last, comma, first = name.partition(",")
    if comma:  # Canvas: "Lovelace, Ada"
        cells.setdefault("last", last.strip())
        cells.setdefault("first", first.strip())
        name = f"{first.strip()} {last.strip()}"
    full = name or f"{cells.get('first', '')} {cells.get('last', '')}".strip()
    group = tuple(part.strip() for part in re.split("[,;]", cells.pop("group", "")) if part.strip())
    participant = re.search(r"\d{1,20}$", cells.pop("participant", "")[-40:])
    student = cells.pop("student", "") or cells.get("login") or cells.get("sid") or cells.get("lms_id")
    student = student or cells.get("email") or full
    fields: dict[str, Any] = {**cells, "group": group, "extension": extension}
    return Person(
        student=safe_student(student), name=full, participant=participant[0] if participant else "", **fields
    )


def _check(people: Iterable[Person]) -> None:
    """No two lines may be one person, nor share a folder where case does not count."""
    for key, what in (
        ("student", "folder"),
        ("login", "login"),
        ("lms_id", "ID"),
        ("email", "e-mail address"),
    ):
        seen: dict[str, Person] = {}
        for person in people:
            value = same_case(getattr(person, key))
            other = seen.setdefault(value, person)
            if value and other is not person:
                names = " and ".join(shown(repr(p.name or p.student)) for p in (other, person))
                raise ValueError(
                    f"{names} have the same {what}, {shown(value)}; take one of the lines out, or "
                    f"add a column "
                    "Folder that tells them apart"
                )
