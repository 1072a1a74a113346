"""Read the class list, classroom/roster.csv, as learning platforms export it.

Columns are recognised by their headers, in any order, whatever else the file holds. A submission is
matched to a person by an ID, else a login, else an e-mail address, else a name that only one person
has.
"""

import csv
import io
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.core.errors import AutograderError
from autograder.core.files import decode_text
from autograder.core.text_format import format_count
from autograder.intake.archives import read_file
from autograder.intake.names import (
    escape_unprintable,
    fold_case,
    make_safe_folder_name,
    normalise_name,
    normalise_words,
    to_nfc,
)
from autograder.intake.upload_limits import LIMITS, FileRefused

# Headers of the columns that hold each field, as `normalise_name` returns them. docs/collect.md
# tells which platform's export has which header.
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
_FIELD_BY_HEADER = {
    header: name for name, headers in _HEADERS.items() for header in headers.split()
}
# Columns that may occur once for all labs, or once for each lab with the lab's name at the end of
# the header: "Extension", or "Extension random-walks".
_LAB_HEADERS = {
    "extension": re.compile(r"[\W_]*extensions?[\W_]*(?:for\s+)?", re.IGNORECASE),
    "submission_times": re.compile(r"[\W_]*submitted[\W_]*", re.IGNORECASE),
    "participant": re.compile(r"[\W_]*identifier", re.IGNORECASE),
}
# Share of a class: if no more students have submitted a lab, they may have done so by mistake.
FEW_SUBMITTERS_SHARE = 0.1
_NBGRADER_HEADERS = {"id", "firstname", "lastname", "email", "lmsuserid"}
_WITHDRAWN_STATUS = re.compile(
    r"withdr|dropped|left\b|inactive|deleted|unenrol|deregister|removed|suspended", re.IGNORECASE
)
# Fields in which no two people may have the same value, with the name of each field in messages.
_UNIQUE_FIELDS = {"student": "folder", "login": "login", "lms_id": "ID"}
_ID_FIELDS = ("student", "lms_id", "sid", "brightspace", "login", "github", "email")
# Fields to compare with a GitHub user name. Students choose it, so ID numbers are not among them.
_FIELDS_OF_GITHUB_NAMES = ("student", "login", "github")
_STAFF_ROLES = {"instructor", "ta", "teacher", "reader", "observer", "designer", "grader"}


class RosterError(AutograderError):
    """Error for a roster that cannot be used. The message tells the place and the remedy."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """One student of the class.

    Parameters
    ----------
    student : str
        Name of the student's folder; identifies the student everywhere.
    github : str
        GitHub user name, if it differs from the login.
    lms_id : str
        The platform's own number of the person, such as Canvas's ID or nbgrader's lms_user_id.
    sid : str
        The school's number of the person, such as SIS User ID, ID number, OrgDefinedId or SID.
    brightspace : str
        Brightspace's number of the person. The names in a download of Brightspace begin with it,
        but no class list that Brightspace exports has it.
    participant : mapping of str to str
        Moodle's numbers of the person, from grading worksheets, by lab. Moodle gives a person a
        different number in each assignment. The key "" stands for a column that names no lab.
    withdrawn : bool
        True for a person who has left the class, and is left out of exports to a platform.
    group : tuple of str
        Names of the groups that the person is in.
    extension : mapping of str to str
        Extensions as the instructor wrote them ("2 days", "48h"), by lab. The key "" stands for
        all labs.
    submission_times : mapping of str to str
        Times of the person's submissions that the instructor has written down, by lab.
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
    participant: Mapping[str, str] = field(default_factory=dict, hash=False)
    email: str = ""
    section: str = ""
    withdrawn: bool = False
    group: tuple[str, ...] = ()
    extension: Mapping[str, str] = field(default_factory=dict, hash=False)
    submission_times: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, kw_only=True)
class PlatformIdentity:
    """Names and numbers by which a platform identifies a submission's student; any may be "".

    Parameters
    ----------
    any_identifier : str
        Text that may be a name, a login or any other of the identifiers, such as a folder's name.
    """

    student: str = ""
    name: str = ""
    login: str = ""
    email: str = ""
    lms_id: str = ""
    sid: str = ""
    participant: str = ""
    brightspace: str = ""
    github: str = ""
    any_identifier: str = ""

    @property
    def distinguishing_identifier(self) -> str:
        """Identifier that best tells two people apart: the first one that is not "".

        It tells two accounts on one platform apart that have the same name.
        """
        identifiers = (
            self.participant,
            self.lms_id,
            self.brightspace,
            self.login,
            self.email,
            self.sid,
            self.github,
            self.any_identifier,
            self.student,
            self.name,
        )
        return next((identifier for identifier in identifiers if identifier), "")

    @property
    def default_folder(self) -> str:
        """Name of the person's folder in submitted/, if no roster names the folder."""
        readable = self.student or self.login or self.email or self.sid or self.name
        return make_safe_folder_name(readable or self.lms_id or self.any_identifier)


@dataclass(frozen=True)
class Roster:
    """Roster of a class.

    Parameters
    ----------
    people : tuple of Person
        Students, in the order of roster.csv.
    notes : tuple of str
        Remarks about roster.csv, for the instructor.
    """

    people: tuple[Person, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def by_student(self) -> dict[str, Person]:
        return {person.student: person for person in self.people}

    @cached_property
    def _people_by_field_and_value(self) -> dict[str, dict[str, list[Person]]]:
        """People of the roster by field and value, such as ["login"]["ada"]."""
        index: dict[str, dict[str, list[Person]]] = defaultdict(lambda: defaultdict(list))
        for person in self.people:
            for key in _ID_FIELDS:
                if getattr(person, key):
                    index[key][fold_case(getattr(person, key))].append(person)
            for lab, number in person.participant.items():
                index["participant"][f"{normalise_name(lab)} {number}"].append(person)
            for name in _name_spellings(person):
                index["name"][name].append(person)
                index["letters of a name"][name.replace(" ", "")].append(person)
            for group in person.group:
                index["group"][normalise_name(group)].append(person)
        return index

    def find(self, identity: PlatformIdentity, lab: str = "") -> list[Person]:
        """Return the people of the roster who match what a platform tells about a student.

        The list has one person if the match is certain, and more if it is ambiguous.

        Parameters
        ----------
        lab : str
            Lab that the student has submitted, since Moodle's numbers hold for one assignment.
        """
        people = self._people_with_participant_number(identity.participant, lab)
        if people:
            # Each assignment has its own numbers. If the name contradicts the number, return both.
            namesakes = self.find_people_by_name(identity.name)
            is_contradicted = namesakes and not any(person in namesakes for person in people)
            return [*people, *namesakes] if is_contradicted else people
        # Compare the identifiers of the platform's account first, then the text that may be any
        # identifier (such as a folder's name), and names last.
        account = {key: getattr(identity, key) for key in _ID_FIELDS}
        fields_of_text = _FIELDS_OF_GITHUB_NAMES if identity.github else _ID_FIELDS
        any_identifier = dict.fromkeys(fields_of_text, identity.any_identifier)
        # nbgrader's folders are called after logins, whatever folder the roster names.
        login = {"login": identity.student}
        for values in (account, any_identifier, login):
            people = self._find_people_by_identifiers(values, identity.github)
            if people:
                return people
        for name in (identity.name, identity.any_identifier):
            namesakes = self.find_people_by_name(name)
            people = [person for person in namesakes if not find_contradiction(person, identity)]
            if people:
                return people
        return []

    def find_by_account(self, identity: PlatformIdentity) -> list[Person]:
        """Return the people that a platform's account belongs to by an identifier, not by its name."""
        account = {key: getattr(identity, key) for key in _ID_FIELDS}
        return self._find_people_by_identifiers(account, identity.github)

    def _find_people_by_identifiers(self, values: Mapping[str, str], github: str) -> list[Person]:
        """Return the people who have any of the identifiers, each person once.

        Parameters
        ----------
        values : mapping of str to str
            Identifiers by field.
        github : str
            GitHub user name of the account, or "".
        """
        people: dict[str, Person] = {}
        for key, value in values.items():
            for person in self._people_by_field_and_value[key][fold_case(value)] if value else ():
                # A GitHub user can choose somebody else's login as user name. So do not match a
                # person for whom the roster has another GitHub user name.
                if not github or not person.github or _are_same_identifier(person.github, github):
                    people[person.student] = person
        return list(people.values())

    def _people_with_participant_number(self, number: str, lab: str) -> list[Person]:
        """Return the people with this Moodle number in the lab's column, or else in the general one."""
        index = self._people_by_field_and_value["participant"]
        if not number:
            return []
        return index.get(f"{normalise_name(lab)} {number}", []) or index.get(f" {number}", [])

    def find_people_by_name(self, name: str) -> list[Person]:
        """Return the people of this name, whatever their other identifiers.

        Words count, unless it is one word only: Canvas leaves out the blanks.
        """
        words = normalise_words(name)
        key = "name" if " " in words else "letters of a name"
        return list(dict.fromkeys(self._people_by_field_and_value[key][words])) if words else []

    def find_group_members(self, group: str) -> list[Person]:
        """Return the people of the roster who are in a group."""
        key = normalise_name(group)
        return self._people_by_field_and_value["group"].get(key, []) if key else []


def _name_spellings(person: Person) -> set[str]:
    """Return the normalised spellings of a person's name, with the words in any rotation.

    For Ada Lovelace: "ada lovelace" and "lovelace ada", which Canvas writes without the blank.
    """
    words = normalise_words(person.name or f"{person.first} {person.last}").split()[:8]
    spellings = {" ".join(words[i:] + words[:i]) for i in range(len(words))}
    spellings.add(normalise_words(f"{person.last} {person.first}"))
    return spellings - {""}


def _are_same_identifier(first: str, second: str) -> bool:
    return fold_case(first) == fold_case(second)


def find_contradiction(person: Person, identity: PlatformIdentity) -> str:
    """Return the two values of an identifier that roster and platform state differently, or "".

    An identifier is compared with the identifier of the same kind only. For example, Brightspace's
    number is not compared with Canvas's.
    """
    for key in ("lms_id", "sid", "brightspace", "login", "github"):
        in_roster, on_platform = getattr(person, key), getattr(identity, key)
        if in_roster and on_platform and not _are_same_identifier(in_roster, on_platform):
            return f"{escape_unprintable(in_roster, 60)!r}, not {escape_unprintable(on_platform, 60)!r}"
    return ""


def describe_taken_folder(people: Mapping[str, Person], person: Person) -> str:
    """Say that the folder which the roster names for a person holds another one's work; else "".

    Parameters
    ----------
    people : mapping of str to Person
        Person to whom each folder in submitted/ belongs.
    """
    owner = people.get(person.student)
    if owner is None or owner.student == person.student:
        return ""
    name, other = (escape_unprintable(repr(p.name or p.student), 60) for p in (person, owner))
    return (
        f"The folder {escape_unprintable(repr(person.student))} in submitted/ holds what {other} "
        f"submitted before, and roster.csv gives this name to {name}. Give {name} another one: add a "
        "column Folder to roster.csv."
    )


def is_submitted_by_few(submitter_count: int, class_size: int) -> bool:
    """Return True if so few of a class submitted a lab that it may have been by mistake.

    >>> is_submitted_by_few(1, 15), is_submitted_by_few(2, 15), is_submitted_by_few(1, 3)
    (True, False, False)
    """
    return submitter_count <= FEW_SUBMITTERS_SHARE * class_size


def read_roster(path: Path) -> Roster:
    """Read a roster, or return an empty roster if there is no such file.

    Raises
    ------
    RosterError
        If the file cannot be read, or two rows have the same ID, login or folder.
    """
    if not os.path.lexists(path):
        return Roster()
    try:
        text, encoding = decode_text(read_file(path, LIMITS.max_index_bytes))
        notes = []
        if encoding == "cp1252":
            notes.append("It is not UTF-8; it was read as Windows' Western one.")
        return _make_roster_from_rows(parse_csv_rows(text, _field_of_header), notes)
    except FileRefused as error:
        raise RosterError(f"{path} is no roster that can be used. {error}") from None
    except (csv.Error, ValueError) as error:
        raise RosterError(f"{path} is no roster: {error}.") from None


def parse_csv_rows(text: str, is_known_header: Callable[[str], object]) -> list[list[str]]:
    """Return the non-empty rows of a table with columns separated by commas, semicolons or tabs.

    Parameters
    ----------
    is_known_header : callable
        Returns something true for a known header of a column. The separator that gives the most
        known headers is used.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # old Macs end lines with "\r"
    # Remove the line, such as "sep=;", that Excel writes before the table.
    text = re.sub(r"\A(?:[\r\n]|sep=[^\n]*(?:\n|\Z))*", "", text)
    header_line = text[:10_000].split("\n")[0]

    def count_known_headers(separator: str) -> int:
        headers = next(csv.reader([header_line], delimiter=separator), [])
        return sum(bool(is_known_header(header)) for header in headers)

    separator = max(",;\t", key=count_known_headers)
    rows = []
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
        cells = [to_nfc(cell).strip() for cell in row]
        if any(cells):
            rows.append(cells)
    return rows


def _field_of_header(header: str) -> str:
    """Return the field that a column with this header holds, "" for an unknown header."""
    for name, pattern in _LAB_HEADERS.items():
        if pattern.match(header):
            return name
    return _FIELD_BY_HEADER.get(normalise_name(header), "")


def _make_roster_from_rows(rows: list[list[str]], notes: list[str]) -> Roster:
    """Make a roster from the rows of a table, whose first row holds the column headers."""
    if not rows:
        raise ValueError("it is empty")
    headers = rows[0]
    column_fields = _find_field_of_each_column(headers)
    notes = [*notes, *_note_duplicate_and_unused_columns(headers, column_fields)]
    people = []
    for row in rows[1:]:
        person = _read_person_from_row(headers, column_fields, row)
        if person and person not in people:  # a file may have the same row twice
            people.append(person)
    return Roster(tuple(people), (*notes, *_refuse_or_note_duplicates(people)))


def _find_field_of_each_column(headers: list[str]) -> list[str]:
    """Return the field of each column; raises ValueError if no column identifies students."""
    header_names = [normalise_name(header) for header in headers]
    folder_header = None
    if "id" in header_names and _NBGRADER_HEADERS.issuperset(header_names):
        folder_header = "id"
    # In a GitHub Classroom roster, the column "identifier" holds the name that the instructor gave
    # each student.
    if "githubusername" in header_names:
        folder_header = "identifier"
    names = [_field_of_header(header) for header in headers]
    for i, header in enumerate(header_names):
        if header == folder_header:
            names[i] = "student"
    if not {"student", "name", "last", "login", "email", "lms_id", "sid"}.intersection(names):
        raise ValueError(
            "its first line has no column that says who, such as Name, Login, Email or ID "
            f"({escape_unprintable(', '.join(headers), 100)})"
        )
    return names


def _note_duplicate_and_unused_columns(headers: list[str], column_fields: list[str]) -> list[str]:
    """Return remarks about fields that several columns hold, and about columns that are not used.

    Parameters
    ----------
    column_fields : list of str
        Field of each column; "" for an unknown column.
    """
    notes = []
    columns: dict[str, list[str]] = defaultdict(list)
    for header, name in zip(headers, column_fields, strict=True):
        columns[name].append(header)
    for name in sorted(columns.keys() - {"", *_LAB_HEADERS}):
        if len(columns[name]) > 1:
            titles = " and ".join(map(repr, columns[name]))
            notes.append(f"The columns {titles} say the same; the first one counts.")
    unknown = [header for header in columns[""] if header]
    if unknown:
        notes.append(
            f"{format_count(len(unknown), 'column')} not used: {escape_unprintable(', '.join(unknown), 100)}."
        )
    return notes


def _read_person_from_row(
    headers: list[str],
    column_fields: list[str],
    row: list[str],
) -> Person | None:
    """Make a person from the texts of a row, by field; None if the row is no student's.

    Parameters
    ----------
    column_fields : list of str
        Field of each column; "" for an unknown column.
    """
    cells: dict[str, str] = {}
    cells_by_lab: dict[str, dict[str, str]] = {name: {} for name in _LAB_HEADERS}
    for header, name, text in zip(headers, column_fields, row, strict=False):
        if name in ("login", "sid"):
            # Remove the "#" that Brightspace writes before its IDs, and the quote that a
            # spreadsheet writes before text.
            text = text.lstrip("#'")
        if name == "participant":  # Moodle writes "Participant 123"
            text = "".join(re.findall(r"\d{1,20}$", text[-40:]))
        if name in cells_by_lab and text:
            lab = _LAB_HEADERS[name].sub("", header, count=1).strip()
            cells_by_lab[name][lab] = text
        elif name and text:
            cells.setdefault(name, text)
    return _make_person_from_cells(cells, **cells_by_lab)


def _make_person_from_cells(cells: dict[str, str], **cells_by_lab: dict[str, str]) -> Person | None:
    """Make a person from the texts of a row, by field; None if the row is no student's.

    Parameters
    ----------
    cells : dict of str to str
        Texts of the row, by field.
    **cells_by_lab
        Texts of the fields that have a column for each lab, by lab.
    """
    name = cells.pop("name", "")
    if cells.pop("role", "").casefold() in _STAFF_ROLES:  # Gradescope lists the staff, too
        return None
    # Skip the rows of a Canvas export that are no student: "Points Possible" and the test student.
    if normalise_name(name) in ("pointspossible", "studenttest"):
        return None
    status = cells.pop("status", "")
    identifying = {"student", "login", "email", "lms_id", "sid", "first", "last"}
    if not name and not identifying & cells.keys():
        return None
    last, comma, first = name.partition(",")
    if comma:  # Canvas writes "Lovelace, Ada"
        cells.setdefault("last", last.strip())
        cells.setdefault("first", first.strip())
        name = f"{first.strip()} {last.strip()}"
    name = name or f"{cells.get('first', '')} {cells.get('last', '')}".strip()
    groups = [part.strip() for part in re.split("[,;]", cells.pop("group", ""))]
    student = cells.pop("student", "") or cells.get("login") or cells.get("sid")
    student = student or cells.get("lms_id") or cells.get("email") or name
    fields: dict[str, Any] = {**cells, **cells_by_lab}
    return Person(
        student=make_safe_folder_name(student),
        name=name,
        withdrawn=bool(_WITHDRAWN_STATUS.match(status)),
        group=tuple(group for group in groups if group),
        **fields,
    )


def _refuse_or_note_duplicates(people: Sequence[Person]) -> list[str]:
    """Raise ValueError for a shared ID, login or folder; return remarks about shared e-mails.

    Raises
    ------
    ValueError
        If two people have the same ID, login or folder, also if it differs in case only.
    """
    notes = []
    for key, title in {**_UNIQUE_FIELDS, "email": "e-mail address"}.items():
        for value, first, second in _find_values_of_two_people(people, key):
            names = " and ".join(
                escape_unprintable(repr(person.name or person.student))
                for person in (first, second)
            )
            message = f"{names} have the same {title}, {escape_unprintable(value)}"
            if key in _UNIQUE_FIELDS:
                raise ValueError(
                    f"{message}; take one of the lines out, or add a column Folder that tells them apart"
                )
            notes.append(f"{message}: it identifies nobody.")
    return notes


def _find_values_of_two_people(
    people: Iterable[Person],
    field_name: str,
) -> list[tuple[str, Person, Person]]:
    """Return each value of a field that two people have, with the earlier and the later person.

    Parameters
    ----------
    field_name : str
        Name of the field, such as "login".
    """
    first_people: dict[str, Person] = {}
    duplicates = []
    for person in people:
        value = fold_case(getattr(person, field_name))
        first = first_people.setdefault(value, person)
        if value and first is not person:
            duplicates.append((value, first, person))
    return duplicates
