"""Which student each owner is: whom the roster knows, or else a folder called as the platform says.

Two accounts that could be one person are nobody's, on every platform and with every roster: then none of them is
filed, and a sentence names both.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.errors import listed
from autograder.grading.intake.layout import ROSTER_REMEDY, Owner, Settings
from autograder.grading.intake.names import account_of, nfc, safe_student, same_case, shown
from autograder.grading.intake.roster import Identity, Person, contradiction

_BLIND = set("participant teilnehmer teilnehmer-in participante deelnemer partecipante deltaker".split())

# What tells two people of one name apart on each platform, and is to be had there.
_KNOWN_BY = {
    "Canvas": "a column ID, with Canvas's numbers",
    "Moodle": "a column Identifier, with the numbers in the names (the assignment's grading worksheet has them)",
    "Brightspace": "a column 'Brightspace ID', with the numbers that the names begin with",
    "Blackboard": "a column Login",
    "Gradescope": "a column SID or Email",
    "GitHub": "a column GitHub",
}
_LOGIN = "a column Login, and folders called after the logins"


class Unmatched(Exception):
    """A notebook that is nobody's or for no lab; the text is the sentence for its row."""


@dataclass(frozen=True, kw_only=True)
class Student:
    """One of those who handed something in."""

    folder: str
    who: Identity
    person: Person | None = None


class People:
    """Which student each owner is.

    Parameters
    ----------
    settings : Settings
    owners : iterable of (lab, Owner)
        All of a run.
    """

    def __init__(self, settings: Settings, owners: Iterable[tuple[str, Owner]]):
        self._roster, self._settings = settings.roster, settings
        self._folders = {nfc(name): name for name in settings.folders}
        accounts = dict.fromkeys(owners)
        numbers: dict[str, set[str]] = defaultdict(set)
        for _, owner in accounts:
            if owner.platform == "Moodle":
                numbers[owner.who[0].name].add(owner.key)
        # In blind marking all have one word for a name, in the platform's language.
        alone = len(numbers) == 1
        self._blind = {
            n
            for n, keys in numbers.items()
            if n.casefold() in _BLIND or (alone and len(keys) > 1 and " " not in n)
        }
        self._students = {(lab, owner): self._resolve(owner) for lab, owner in accounts}
        self._refuse_doubles()

    def students(self, lab: str, owner: Owner) -> tuple[Student, ...]:
        """All who handed it in; raises `Unmatched` if that cannot be said."""
        found = self._students[lab, owner]
        if isinstance(found, str):
            raise Unmatched(found)
        return found

    def _resolve(self, owner: Owner) -> tuple[Student, ...] | str:
        who = owner.who[0]
        if owner.platform == "Moodle" and who.name in self._blind:
            found = self._roster.find(Identity(participant=who.participant))
            person = found[0] if len(found) == 1 else None
            folder = person.student if person else safe_student(f"{who.name}_{who.participant}")
            return (Student(folder=folder, who=who, person=person),)
        if self._roster.people:
            return self._by_roster(owner)
        labels = {w.label: w for w in owner.who} if len(owner.who) > 1 else {owner.label: who}
        return tuple(
            Student(folder=self._stays(owner, w) or self._folders.get(name, name), who=w)
            for name, w in labels.items()
        )

    def _stays(self, owner: Owner, who: Identity) -> str:
        """The folder of one whom the platform knows by a number: people change their names."""
        return self._settings.students.get((owner.platform, who.lms_id), "") if who.lms_id else ""

    def _by_roster(self, owner: Owner) -> tuple[Student, ...] | str:
        people: dict[str, Student] = {}
        for who in owner.who:
            found, name = self._roster.find(who), who.name or who.said
            together = not found and bool(self._roster.members(name))
            found = found or self._group(name)
            if len(found) > 1 and not together:
                return (
                    f"{len(found)} people in the roster could be {_called(who)}. Add "
                    f"{_KNOWN_BY.get(owner.platform, _LOGIN)}."
                )
            if not found:
                return self._nobody(who)
            for person in found:
                # Whoever was collected before there was a roster keeps their folder.
                before = "" if person.student in self._folders or together else self._stays(owner, who)
                people[person.student] = Student(folder=before or person.student, who=who, person=person)
        return tuple(people.values())

    def _nobody(self, who: Identity) -> str:
        for person in self._roster.named(who.name or who.said):
            return (
                f"The roster has {shown(person.name)!r}, but as {contradiction(person, who)}. If they are one "
                "person, mend roster.csv; if not, add a line to it, and collect it again."
            )
        return f"Nobody in the roster is {_called(who)}. Add a line to roster.csv and collect it again."

    def _group(self, name: str) -> list[Person]:
        """A group's members, or the one whom Moodle calls "<group>-<name>"."""
        for i in (i for i, c in enumerate(name) if c == "-"):
            one = self._roster.find(Identity(name=name[i + 1 :])) if self._roster.members(name[:i]) else []
            if len(one) == 1:
                return one
        return self._roster.members(name)

    def _refuse_doubles(self) -> None:
        """Take out whoever could be two people, whole groups of whom one handed in alone, and like spellings."""
        names: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        by_folder: dict[tuple[str, str], dict[tuple[str, str], Owner]] = defaultdict(dict)
        for (lab, owner), found in self._students.items():
            # It is not known whose Brightspace's first number is; any other platform gives it to one person only.
            if owner.platform != "Brightspace" and owner.who[0].name:
                names[lab, owner.platform, owner.key].add(owner.who[0].name)
            for student in found if isinstance(found, tuple) else ():
                by_folder[lab, student.folder][owner.platform, owner.key] = owner
        refused: dict[tuple[str, Owner], str] = {}
        for lab, owner in self._students:
            said = names[lab, owner.platform, owner.key]
            if len(said) > 1 and owner.who[0].name:
                refused[lab, owner] = (
                    f"{owner.platform}'s {shown(owner.key, 60)!r} is one account's, and here it stands beside the "
                    f"names {listed(shown(repr(name), 60) for name in sorted(said))}. Look up there whose it is, "
                    "and collect that one by itself."
                )
        for (lab, folder), accounts in sorted(by_folder.items(), key=lambda item: item[0]):
            if len(owners := list(accounts.values())) > 1:
                together = [owner for owner in owners if self._is_group(owner)]
                # Who handed in alone is known by a name of their own; who is called as a group may be anybody.
                one_alone = together and len(together) == len(owners) - 1
                for owner in together if one_alone else owners:
                    refused.setdefault((lab, owner), self._could_be(folder, owner, owners))
        self._students |= refused
        self._refuse_cases()

    def _is_group(self, owner: Owner) -> bool:
        """Whether the roster knows the name as a group's only, whoever its members are."""
        return bool(self._roster.people) and not any(self._roster.find(who) for who in owner.who)

    def _could_be(self, folder: str, owner: Owner, owners: list[Owner]) -> str:
        person = self._roster.by_student.get(folder)
        platforms = sorted({one.platform for one in owners})
        both = listed(
            account_of(one.platform, "" if one.chosen else one.who[0].name, one.key) for one in owners
        )
        if len(platforms) > 1:
            remedy = "Collect each by itself; the later one with --replace, if they are one person's"
        elif owner.chosen:
            remedy = "Put each into a folder called after its student"
        elif self._roster.people:
            remedy = f"Say in roster.csv which is whose: {_KNOWN_BY.get(owner.platform, _LOGIN)}"
        else:
            remedy = f"A name alone does not tell them apart: {ROSTER_REMEDY}"
        whose = shown(person.name if person and person.name else folder)
        return f"{both} would all be {whose!r}, and may be several people. {remedy}."

    def _refuse_cases(self) -> None:
        cases: dict[str, set[str]] = defaultdict(set)
        filed = [
            (key, one) for key, found in self._students.items() if isinstance(found, tuple) for one in found
        ]
        for name in [*(student.folder for _, student in filed), *self._settings.folders]:
            cases[same_case(name)].add(name)
        for key, folder in [(key, student.folder) for key, student in filed if student.person is None]:
            twins = sorted(cases[same_case(folder)] - {folder})
            if twins and folder not in self._settings.folders:
                self._students[key] = (
                    f"{shown(folder)!r} and {shown(twins[0])!r} differ only in case, and may be one person or "
                    f"two: rename one, or {ROSTER_REMEDY}."
                )


def _called(who: Identity) -> str:
    said = [who.name, who.said, who.login, who.email, who.student, who.lms_id, who.sid, who.github]
    return " or ".join(dict.fromkeys(shown(repr(part), 80) for part in said if part)) or "this one"
