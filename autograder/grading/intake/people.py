"""Which student each owner is: whom the roster knows, or else a folder called as the platform says.

Without a roster a name may be two people's. Then none of them is filed, and a sentence says what to do.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from autograder.errors import counted
from autograder.grading.intake.layout import ROSTER_REMEDY, Owner
from autograder.grading.intake.names import nfc, safe_student, same_case, shown
from autograder.grading.intake.roster import Identity, Person, Roster

_BLIND = {
    "participant",
    "teilnehmer",
    "teilnehmer-in",
    "participante",
    "deelnemer",
    "partecipante",
    "deltaker",
}


# Platforms on which a person has one account, and chooses its name: two accounts of one person may be two people.
_ACCOUNTS = {
    "GitHub": "a column GitHub",
    "Canvas": "a column ID",
    "Brightspace": "a column OrgDefinedId, and an ID",
}


class Unmatched(Exception):
    """A notebook that is nobody's or for no lab; the text is the sentence for its row."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the classroom holds already.

    Parameters
    ----------
    folders : tuple of str
        Of submitted/.
    students : mapping of (platform, id) to str
        The folders of people whom a platform knows by a number that stays.
    """

    folders: tuple[str, ...] = ()
    students: Mapping[tuple[str, str], str] = field(default_factory=dict)


def known_in(submitted: Path, students: Mapping[tuple[str, str], str]) -> Known:
    """What the classroom holds already."""
    names = sorted(os.listdir(submitted)) if submitted.is_dir() else []
    return Known(folders=tuple(n for n in names if not n.startswith(".")), students=students)


@dataclass(frozen=True, kw_only=True)
class Student:
    """One of those who handed something in."""

    folder: str
    who: Identity
    person: Person | None = None


class People:
    """Which student each owner is.

    With a roster, the person that it knows. Without one, a folder called as the platform says, unless that
    could be two people: then none of them is filed.
    """

    def __init__(self, roster: Roster, known: Known, owners: Iterable[tuple[str, Owner]]):
        self._roster, self._known = roster, known
        owners = list(owners)
        self._folders = {nfc(name): name for name in known.folders}
        numbers: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for download, owner in owners:
            numbers[download, owner.platform][owner.who[0].name].add(owner.key)
        self._blind = {
            (download, name)
            for (download, platform), names in numbers.items()
            for name, keys in names.items()
            if platform == "Moodle"
            and (name.casefold() in _BLIND or (len(names) == 1 and len(keys) > 1 and " " not in name))
        }
        self._students: dict[tuple[str, Owner], tuple[Student, ...] | str] = {}
        for download, owner in dict.fromkeys((download, _bare(owner)) for download, owner in owners):
            self._students[download, owner] = self._resolve(download, owner)
        self._refuse_doubles()

    def students(self, download: str, owner: Owner) -> tuple[Student, ...]:
        """All who handed it in; raises `Unmatched` if that cannot be said."""
        found = self._students[download, _bare(owner)]
        if isinstance(found, str):
            raise Unmatched(found)
        return found

    def _resolve(self, download: str, owner: Owner) -> tuple[Student, ...] | str:
        who = owner.who[0]
        if owner.platform == "Moodle" and (download, who.name) in self._blind:
            found = self._roster.find(Identity(participant=who.participant))
            folder = safe_student(f"{who.name}_{who.participant}")
            person = found[0] if len(found) == 1 else None
            return (Student(folder=person.student if person else folder, who=who, person=person),)
        if self._roster.people:
            return self._by_roster(owner)
        if len(owner.who) > 1:
            labels = {safe_student(who.email or who.sid or who.name): who for who in owner.who}
            return tuple(
                Student(folder=self._folders.get(name, name), who=who) for name, who in labels.items()
            )
        folder = self._stays(owner, who) or self._folders.get(owner.label, owner.label)
        return (Student(folder=folder, who=who),)

    def _stays(self, owner: Owner, who: Identity) -> str:
        """The folder of one whom the platform knows by a number: people change their names."""
        return self._known.students.get((owner.platform, who.lms_id), "") if who.lms_id else ""

    def _by_roster(self, owner: Owner) -> tuple[Student, ...] | str:
        people: dict[str, Student] = {}
        for who in owner.who:
            found = self._roster.find(who) or self._group(who.name or who.said)
            together = len(found) > 1 and bool(self._roster.members(who.name or who.said))
            if len(found) > 1 and not together:
                return (
                    f"{counted(len(found), 'person', 'people')} in the roster could be "
                    f"{_called(who)}. Add a column "
                    "with what the platform knows them by: a login, an ID or an e-mail address."
                )
            if not found:
                return (
                    f"Nobody in the roster is {_called(who)}. Add a line to roster.csv and collect it again."
                )
            for person in found:
                # Whoever was collected before there was a roster keeps their folder.
                before = "" if person.student in self._folders or together else self._stays(owner, who)
                people[person.student] = Student(folder=before or person.student, who=who, person=person)
        return tuple(people.values())

    def _group(self, name: str) -> list[Person]:
        """A group's members, or the one whom Moodle calls "<group>-<name>"."""
        for i in (i for i, c in enumerate(name) if c == "-"):
            if (
                self._roster.members(name[:i])
                and len(one := self._roster.find(Identity(name=name[i + 1 :]))) == 1
            ):
                return one
        return self._roster.members(name)

    def _refuse_doubles(self) -> None:
        """Take out whoever could be two people."""
        accounts: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        single = [
            (download, owner, found[0])
            for (download, owner), found in self._students.items()
            if isinstance(found, tuple) and len(found) == 1
        ]
        for download, owner, student in single:
            if owner.platform in _ACCOUNTS and len(owner.who) == 1:
                accounts[download, owner.platform, student.folder].add(owner.key)
        for download, owner, student in single:
            keys = accounts[download, owner.platform, student.folder]
            if len(keys) > 1 and student.person:
                self._students[download, owner] = (
                    f"{counted(len(keys), 'account')} of {owner.platform} seem to be "
                    f"{shown(student.person.name or student.folder)!r}: "
                    f"{shown(' and '.join(sorted(keys)))}. Say in roster.csv by which of them "
                    f"{owner.platform} knows whom ({_ACCOUNTS[owner.platform]})."
                )
        folders: dict[tuple[str, str], set[str]] = defaultdict(set)
        cases: dict[str, set[str]] = defaultdict(set)
        guessed = [
            (download, owner, student.folder)
            for (download, owner), found in self._students.items()
            for student in (found if isinstance(found, tuple) else ())
            if student.person is None
        ]
        for download, owner, folder in guessed:
            cases[same_case(folder)].add(folder)
            folders[f"{download} {owner.platform}", folder].add(owner.key if len(owner.who) == 1 else folder)
        for name in self._known.folders:
            cases[same_case(name)].add(name)
        for download, owner, folder in guessed:
            twins = sorted(cases[same_case(folder)] - {folder})
            if len(folders[f"{download} {owner.platform}", folder]) > 1:
                self._students[download, owner] = (
                    f"Several people are called {shown(owner.who[0].name or folder)!r} here, and a name "
                    f"alone does not tell them apart: {ROSTER_REMEDY}, or rename their files after another "
                    "name."
                )
            elif twins and folder not in self._known.folders:
                self._students[download, owner] = (
                    f"{shown(folder)!r} and {shown(twins[0])!r} differ only in case, and may be one person "
                    f"or two: rename one, or {ROSTER_REMEDY}."
                )


def _bare(owner: Owner) -> Owner:
    """The owner without what differs from file to file."""
    return replace(owner, original="", number=0, time=None, late=False, lab="", note="")


def _called(who: Identity) -> str:
    said = [who.name, who.said, who.login, who.email, who.student, who.lms_id, who.sid, who.github]
    return " or ".join(dict.fromkeys(shown(repr(part), 80) for part in said if part)) or "this one"
