"""Who is in the class: classroom/roster.csv, as a learning platform exports it.

Columns are known by their headers, in any order, whatever else the file holds. Hand-ins are matched to people
by an id, else a login, else an e-mail address, else a name that only one of them has.
"""

import csv
import io
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.errors import Complaint, counted
from autograder.files import decoded
from autograder.grading.intake.budget import LIMITS, Refused
from autograder.grading.intake.names import letters, nfc, safe_student, same_case, shown
from autograder.grading.intake.unpack import read_file

# What a column holds, and the letters of the headers that say so; docs/collect.md tells whose export has which.
_HEADERS = {
    "student": "folder",
    "name": "name student fullname displayname studentname",
    "first": "first firstname givenname",
    "last": "last lastname surname familyname",
    "login": "login loginid sisloginid username netid",
    "github": "github githubusername",
    "lms_id": "id canvasid lmsid lmsuserid userid",
    "sid": "sid sisuserid idnumber studentid orgdefinedid",
    "brightspace": "brightspaceid",
    "email": "email emailaddress mail",
    "section": "section sections",
    "group": "group groups groupname team",
    "role": "role",
    "status": "status",
}
_COLUMNS = {header: kind for kind, headers in _HEADERS.items() for header in headers.split()}
# One column for all labs or assignments, or one each, whose headers end with what it is for.
_FOR_EACH = {
    "extension": re.compile(r"[\W_]*extensions?[\W_]*(?:for\s+)?", re.IGNORECASE),
    "handed_in": re.compile(r"[\W_]*handed[\W_]*in[\W_]*", re.IGNORECASE),
    "participant": re.compile(r"[\W_]*identifier", re.IGNORECASE),
}
_NBGRADER = {"id", "firstname", "lastname", "email", "lmsuserid"}
_LEFT = re.compile(
    r"withdr|dropped|left\b|inactive|deleted|unenrol|deregister|removed|suspended", re.IGNORECASE
)
_APART = {"student": "folder", "login": "login", "lms_id": "ID"}  # what no two may have in common
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
    brightspace : str
        Brightspace's number, which begins the names in its downloads; none of its exports holds it.
    participant : tuple of str
        Moodle's numbers of this person, one an assignment, from grading worksheets.
    email, section : str
    withdrawn : bool
        Whether this person has left the class: kept, and in no table that goes back.
    group : tuple of str
        The groups that this person is in.
    extension : mapping of str to str
        What was granted, as it is written ("2 days", "48h"): by lab; under "" for all labs.
    handed_in : mapping of str to str
        When a lab was handed in, by an instructor's word, as it is written.
    """

    student: str
    name: str = ""
    first: str = ""
    last: str = ""
    login: str = ""
    github: str = ""
    lms_id: str = ""
    sid: str = ""
    brightspace: str = ""
    participant: tuple[str, ...] = ()
    email: str = ""
    section: str = ""
    withdrawn: bool = False
    group: tuple[str, ...] = ()
    extension: Mapping[str, str] = field(default_factory=dict, hash=False)
    handed_in: Mapping[str, str] = field(default_factory=dict, hash=False)


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
    brightspace: str = ""
    github: str = ""
    said: str = ""  # a word that may be any of these: a folder's name

    @property
    def account(self) -> str:
        """What tells this account from another of the same name on the same platform."""
        known = (self.participant, self.lms_id, self.brightspace, self.login, self.email, self.sid)
        return next((one for one in (*known, self.github, self.said, self.student, self.name) if one), "")

    @property
    def label(self) -> str:
        """What their folder is called where no roster says it."""
        known = self.student or self.login or self.email or self.sid or self.name
        return safe_student(known or self.lms_id or self.said)


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
            for key in _KEYS:
                value = getattr(person, key)
                for one in value if isinstance(value, tuple) else (value,):
                    if one:
                        index[key][same_case(one)].append(person)
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
        """The people that this may be: one if it is known, none, or several."""
        # What a platform says of an account counts before a word that may be anything, and that before a name.
        for known in (
            {key: getattr(who, key) for key in _KEYS},
            dict.fromkeys(_KEYS, who.said),
        ):
            found = [p for key, value in known.items() if value for p in self._index[key][same_case(value)]]
            # A GitHub user can take anybody's login for a name; who has another one there is somebody else.
            found = [p for p in found if not (who.github and p.github) or _same(p.github, who.github)]
            if found:
                return list({id(person): person for person in found}.values())
        for name in (who.name, who.said):
            if found := [person for person in self.named(name) if not contradiction(person, who)]:
                return found
        return []

    def named(self, name: str) -> list[Person]:
        """Who is called so, by whatever number."""
        return list(self._index["name"][letters(name)]) if letters(name) else []

    def members(self, group: str) -> list[Person]:
        """Who is in a group."""
        return self._index["group"].get(letters(group), []) if letters(group) else []


_KEYS = ("student", "lms_id", "sid", "participant", "brightspace", "login", "github", "email")


def _same(one: str, other: str) -> bool:
    return same_case(one) == same_case(other)


def contradiction(person: Person, who: Identity) -> str:
    """What the roster knows this person by that is not what the platform says; "" if nothing.

    Each is compared with its own kind only: Brightspace's number says nothing against Canvas's.
    """
    for key in ("lms_id", "sid", "brightspace", "login", "github"):
        one, other = getattr(person, key), getattr(who, key)
        if one and other and not _same(one, other):
            return f"{shown(one, 60)!r}, not {shown(other, 60)!r}"
    return ""


def read(path: Path) -> Roster:
    """Read a roster; an empty one if there is no such file.

    Raises
    ------
    RosterError
        If it cannot be read, or two lines are one person or share a folder.
    """
    if not os.path.lexists(path):
        return Roster()
    try:
        text, encoding = decoded(read_file(path, LIMITS.index))
        odd = "It is not UTF-8; it was read as Windows' Western one."
        return _people(rows_of(text, _kind), [odd] if encoding == "cp1252" else [])
    except Refused as refused:
        raise RosterError(f"{path} is no roster that can be used. {refused}") from None
    except (csv.Error, ValueError) as error:
        raise RosterError(f"{path} is no roster: {error}.") from None


def rows_of(text: str, known: Callable[[str], object]) -> list[list[str]]:
    """A table's lines in cells, empty ones left out, by the separator that gives the most columns that are known."""

    def split(mark: str) -> list[list[str]]:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        return [[nfc(cell).strip() for cell in line] for line in lines]

    text = text.replace("\r\n", "\n").replace("\r", "\n")  # old Macs end lines with the latter
    text = re.sub(r"\A(?:[\r\n]|sep=[^\n]*(?:\n|\Z))*", "", text)  # Excel's own hint comes before the table
    first = text[:10_000].split("\n")[0]
    best = max(",;\t", key=lambda m: sum(bool(known(c)) for c in next(csv.reader([first], delimiter=m), [])))
    return [row for row in split(best) if any(row)]


def _kind(header: str) -> str:
    for kind, begins in _FOR_EACH.items():
        if begins.match(header):
            return kind
    return _COLUMNS.get(letters(header), "")


def _people(rows: list[list[str]], notes: list[str]) -> Roster:
    if not rows:
        raise ValueError("it is empty")
    headers = rows[0]
    known = [letters(header) for header in headers]
    folder = "id" if {"id"} <= set(known) <= _NBGRADER else None
    if "githubusername" in known:  # the instructor's own word for each student
        folder = "identifier"
    kinds = ["student" if said == folder else _kind(header) for header, said in zip(headers, known)]
    if not {"student", "name", "last", "login", "email", "lms_id", "sid"} & set(kinds):
        raise ValueError(
            "its first line has no column that says who, such as Name, Login, Email or ID "
            f"({shown(', '.join(headers), 100)})"
        )
    for kind in sorted(set(kinds) - {"", *_FOR_EACH}):
        same = [header for header, k in zip(headers, kinds) if k == kind]
        if len(same) > 1:
            notes.append(f"The columns {' and '.join(map(repr, same))} say the same; the first one counts.")
    ignored = [header for header, kind in zip(headers, kinds) if not kind and header]
    if ignored:
        notes.append(f"{counted(len(ignored), 'column')} not used: {shown(', '.join(ignored), 100)}.")
    people = []
    for row in rows[1:]:
        cells: dict[str, str] = {}
        by_lab: dict[str, dict[str, str]] = {"extension": {}, "handed_in": {}}
        numbers: list[str] = []
        for header, kind, cell in zip(headers, kinds, row):
            # Brightspace marks its ids with a #, and a spreadsheet's texts may begin with a quote.
            cell = cell.lstrip("#'") if kind in ("login", "sid") else cell
            if kind in by_lab and cell:
                by_lab[kind][_FOR_EACH[kind].sub("", header, count=1).strip()] = cell
            elif kind == "participant":  # "Participant 123"
                numbers += re.findall(r"\d{1,20}$", cell[-40:])
            elif kind and cell:
                cells.setdefault(kind, cell)
        person = _person(cells, tuple(numbers), **by_lab)
        if person and person not in people:  # a line that stands there twice is one person's
            people.append(person)
    return Roster(tuple(people), (*notes, *_check(people)))


def _person(cells: dict[str, str], participant: tuple[str, ...], **by_lab: dict[str, str]) -> Person | None:
    """One line's person; None for lines that are not students'."""
    name = cells.pop("name", "")
    if cells.pop("role", "").casefold() in _STAFF or letters(name) in ("pointspossible", "studenttest"):
        return None  # Canvas's second line and its test student, Gradescope's staff
    status = cells.pop("status", "")
    if not {"student", "login", "email", "lms_id", "sid", "first", "last"} & cells.keys() and not name:
        return None
    last, comma, first = name.partition(",")
    if comma:  # Canvas: "Lovelace, Ada"
        cells.setdefault("last", last.strip())
        cells.setdefault("first", first.strip())
        name = f"{first.strip()} {last.strip()}"
    full = name or f"{cells.get('first', '')} {cells.get('last', '')}".strip()
    group = tuple(part.strip() for part in re.split("[,;]", cells.pop("group", "")) if part.strip())
    student = cells.pop("student", "") or cells.get("login") or cells.get("sid") or cells.get("lms_id")
    student = student or cells.get("email") or full
    fields: dict[str, Any] = {**cells, "group": group, "participant": participant, **by_lab}
    return Person(student=safe_student(student), name=full, withdrawn=bool(_LEFT.match(status)), **fields)


def _check(people: Iterable[Person]) -> list[str]:
    """No two lines may be one person, nor share a folder where case does not count; gives what is only odd."""
    odd = []
    for key, what in {**_APART, "email": "e-mail address"}.items():
        seen: dict[str, Person] = {}
        for person in people:
            value = same_case(getattr(person, key))
            other = seen.setdefault(value, person)
            if not value or other is person:
                continue
            names = " and ".join(shown(repr(p.name or p.student)) for p in (other, person))
            said = f"{names} have the same {what}, {shown(value)}"
            if key in _APART:
                raise ValueError(
                    f"{said}; take one of the lines out, or add a column Folder that tells them apart"
                )
            odd.append(f"{said}: nobody is known by it.")
    return odd
