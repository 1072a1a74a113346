"""The class as one list: who is in it by the roster and by what was handed in, with names, groups, extensions."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from autograder.errors import Complaint, listed
from autograder.grading.intake import Identity, Origin, Person, Roster, read_origins
from autograder.grading.intake import roster as rosters
from autograder.grading.intake.names import letters, shown
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import Policy, granted, moment_of, naive

STRANGERS = 3  # fewer say nothing of a class
_Value = TypeVar("_Value")


class RollError(Complaint):
    """The roster says of an extension what cannot be understood."""


@dataclass(frozen=True)
class Roll:
    """Who is in the class.

    Parameters
    ----------
    roster : Roster
    origins : mapping of (student, lab) to Origin
        Where each hand-in came from, if `collect` filed it.
    people : mapping of str to Person
        Who of the roster each student (a folder's name) is; everybody of the roster is in it.
    """

    roster: Roster = field(default_factory=Roster)
    origins: Mapping[tuple[str, str], Origin] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)

    def partners(self, lab: str) -> list[tuple[str, ...]]:
        """The groups that have one hand-in together for a lab: all of them have the same bytes now."""
        together: dict[tuple[tuple[str, ...], str], set[str]] = defaultdict(set)
        for (student, name), origin in self.origins.items():
            if name == lab and student in origin.members:
                together[origin.members, origin.sha256].add(student)
        return [tuple(sorted(students)) for students in together.values() if len(students) > 1]

    def extensions(self, policy: Policy) -> dict[tuple[str, str], timedelta]:
        """What the roster grants, by student and lab.

        Raises
        ------
        RollError
            If a lab or a length of time cannot be understood.
        """

        def read(text: str, lab: str) -> timedelta | None:
            return granted(text, policy.due[lab], policy.zone)

        return self._said("Extension", lambda person: person.extension, read, policy, for_all=True)

    def times(self, policy: Policy) -> dict[tuple[str, str], datetime]:
        """When labs were handed in by the roster's word, by student and lab; in UTC, without saying so.

        Raises
        ------
        RollError
            If a lab or a time cannot be understood.
        """

        def read(text: str, lab: str) -> datetime:
            try:
                return naive(moment_of(text, policy.zone))
            except ValueError:
                raise ValueError(
                    f"{text[:40]!r} is no time when {lab} was handed in, such as 2026-11-25 18:00."
                ) from None

        return self._said("Handed in", lambda person: person.handed_in, read, policy)

    def _said(
        self,
        column: str,
        cells: Callable[[Person], Mapping[str, str]],
        read: Callable[[str, str], _Value | None],
        policy: Policy,
        for_all: bool = False,
    ) -> dict[tuple[str, str], _Value]:
        """What the roster's columns of one kind say, by student and lab, as far as they say anything.

        Parameters
        ----------
        cells : callable
            Given a person, their cells by the lab that the heading names.
        read : callable
            Given a cell and a lab; raises ValueError with a sentence.
        for_all : bool
            A heading that names no lab is for all; what is said for one counts before it.
        """
        labs = {letters(lab): [lab] for lab in policy.due} | ({"": [*policy.due]} if for_all else {})
        found = {}
        for student, person in self.people.items():
            for heading, text in sorted(cells(person).items()):  # "" comes first
                if letters(heading) not in labs:
                    raise RollError(
                        f"roster.csv has a column '{column} {heading}', but the labs are {listed(policy.due)}."
                    )
                for lab in labs[letters(heading)]:
                    try:
                        value = read(text, lab)
                    except ValueError as why:
                        raise RollError(f"roster.csv, {person.name or student}: {why}") from None
                    if value is not None:
                        found[student, lab] = value
        return found


def read_roll(classroom: Classroom) -> Roll:
    """The class, from classroom/roster.csv and from where each hand-in came.

    Raises
    ------
    Complaint
        If there is a roster and it cannot be used.
    """
    roster = rosters.read(classroom.root / "roster.csv")
    origins = read_origins(classroom.root)
    people: dict[str, Person] = {}
    if roster.people:
        found = {person.student: person for person in roster.people}
        # Who was collected before there was a roster keeps their folder.
        for (student, _), origin in origins.items():
            if student in found or student in people or len(origin.members) > 1:
                continue
            known = roster.find(replace(origin.identity, student=student))
            if len(known) == 1:
                people[student] = known[0]
                found.pop(known[0].student, None)
        people |= found
        _must_be_this_class(roster, classroom, set(people))
    return Roll(roster, origins, people)


def _must_be_this_class(roster: Roster, classroom: Classroom, known: set[str]) -> None:
    """Raise `RollError` if hardly anybody who handed in is in the roster: it is another class's, then."""
    handed_in = sorted({student for student, _ in classroom.handed_in(classroom.course.labs)})
    strangers = [s for s in handed_in if s not in known and not roster.find(Identity(said=s))]
    if len(strangers) >= STRANGERS and len(strangers) > 0.8 * len(handed_in):
        raise RollError(
            f"roster.csv seems to be another class's: {len(strangers)} of the {len(handed_in)} who handed in are not "
            f"in it ({listed(map(shown, strangers[:5]))}{' …' if strangers[5:] else ''}), and it lists "
            f"{listed(shown(person.name or person.student) for person in roster.people[:5])}"
            f"{' …' if roster.people[5:] else ''}. Put this class's roster in its place, or take it away."
        )


# A stroke through a letter is part of it for Unicode, which takes only accents off.
_STROKED = re.compile(r"LATIN (?:CAPITAL|SMALL) LETTER (\w) WITH ")


def alphabetical(name: str) -> str:
    """What a name is sorted by: É beside E, Ł beside L, and capitals beside small letters.

    >>> sorted(["Zoe", "Łucja", "Émile", "Mia", "ada"], key=alphabetical)
    ['ada', 'Émile', 'Łucja', 'Mia', 'Zoe']
    """
    plain = (c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    stroked = ((c, _STROKED.match(unicodedata.name(c, ""))) for c in plain)
    return "".join(found[1] if found else c for c, found in stroked).casefold()
