"""Class list: the students of the roster matched with the folders of their submissions.

It gives the students' names, the groups, and the extensions and submission times in the roster.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from autograder.core.errors import AutograderError
from autograder.core.text_format import join_words
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.policy import Policy, parse_extension, parse_time, to_naive_utc
from autograder.intake import Origin, Person, PlatformIdentity, Roster, read_origins
from autograder.intake import roster as rosters
from autograder.intake.names import escape_unprintable, normalise_name
from autograder.intake.student_folders import describe_duplicate_folders, match_folders

# If many students who submitted something are missing from the roster, it is taken for the roster
# of another class. It must lack at least this many of them.
MIN_UNKNOWN_STUDENTS = 3
MAX_NAMES_SHOWN = 5  # in an error message
_Value = TypeVar("_Value")


class ClassListError(AutograderError):
    """Error for a roster of another class, or for a table cell that is no valid date or time."""


@dataclass(frozen=True)
class ClassList:
    """Students of a class: their entries in the roster, and the accounts that they submitted from.

    Parameters
    ----------
    roster : Roster
    origins : mapping of (student, lab) to Origin
        Platform, account and group that each submission came from, as `autograder collect`
        recorded them. Submissions that the instructor put into the folder by hand have none.
    people : mapping of str to Person
        All persons in the roster, by the name of the student's folder.
    notes : tuple of str
        Sentences about several folders that seem to belong to the same student.
    """

    roster: Roster = field(default_factory=Roster)
    origins: Mapping[tuple[str, str], Origin] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def find_groups(self, lab: str) -> list[tuple[str, ...]]:
        """Return the groups of students who submitted a lab together.

        The members' files must be equal: a member who later submitted another file is left out.
        """
        groups: dict[tuple[tuple[str, ...], str], set[str]] = defaultdict(set)
        for (student, name), origin in self.origins.items():
            if name == lab and student in origin.members:
                groups[origin.members, origin.sha256].add(student)
        return [tuple(sorted(students)) for students in groups.values() if len(students) > 1]

    def read_extensions(
        self, policy: Policy, gradebook_due: Mapping[str, datetime | None] | None = None
    ) -> dict[tuple[str, str], timedelta]:
        """Return the extensions of due dates that the roster grants, by student and lab.

        An extension may be a new due date. Its length is counted from the due date in course.toml,
        or else from the one in nbgrader's gradebook.

        Parameters
        ----------
        gradebook_due : mapping of str to datetime, optional
            The gradebook's due date of each lab that has one there, in UTC.

        Raises
        ------
        ClassListError
            If a lab or a length of time cannot be understood.
        """

        def parse(text: str, lab: str) -> timedelta | None:
            due = policy.due_dates[lab] or (gradebook_due or {}).get(lab)
            return parse_extension(text, due, policy.zone)

        return self._read_roster_columns(
            "Extension",
            lambda person: person.extension,
            parse,
            policy,
            for_all=True,
        )

    def read_roster_submission_times(self, policy: Policy) -> dict[tuple[str, str], datetime]:
        """Return the submission times given in the roster, by student and lab.

        The times are in UTC, but have no time zone.

        Raises
        ------
        ClassListError
            If a lab or a time cannot be understood.
        """

        def parse(text: str, lab: str) -> datetime:
            try:
                return to_naive_utc(parse_time(text, policy.zone))
            except ValueError:
                raise ValueError(
                    f"{text[:40]!r} is no time when {lab} was submitted, such as 2026-11-25 18:00."
                ) from None

        return self._read_roster_columns(
            "Submitted", lambda person: person.submission_times, parse, policy
        )

    def _read_roster_columns(
        self,
        column: str,
        get_cells: Callable[[Person], Mapping[str, str]],
        parse: Callable[[str, str], _Value | None],
        policy: Policy,
        for_all: bool = False,
    ) -> dict[tuple[str, str], _Value]:
        """Return each student's values in the roster's columns for single labs, by lab.

        The heading of such a column is a word and the name of a lab, such as "extension lab1".

        Parameters
        ----------
        get_cells : callable
            Takes a person, and returns the person's table cells by the lab in the column's heading.
        parse : callable
            Takes the text of a table cell and the name of a lab, and returns the value; None for no
            value. Raises ValueError with a sentence for a text that it cannot parse.
        for_all : bool
            Allow a heading without a lab, whose values hold for all labs. A heading with a lab
            overrides these values for its lab.
        """
        labs = {normalise_name(lab): [lab] for lab in policy.due_dates}
        if for_all:
            labs[""] = list(policy.due_dates)
        values = {}
        for student, person in self.people.items():
            # The columns are sorted by the lab's name at the end of their headings. A column that
            # holds for all labs has no such name, so it comes first. The columns of single labs
            # then override its values.
            for heading, text in sorted(get_cells(person).items()):
                if normalise_name(heading) not in labs:
                    raise ClassListError(
                        f"roster.csv has a column '{column} {heading}', "
                        f"but the labs are {join_words(policy.due_dates)}."
                    )
                for lab in labs[normalise_name(heading)]:
                    try:
                        value = parse(text, lab)
                    except ValueError as error:
                        name = person.name or student
                        raise ClassListError(f"roster.csv, {name}: {error}") from None
                    if value is not None:
                        values[student, lab] = value
        return values


def read_class_list(classroom: Classroom) -> ClassList:
    """Read the class list from roster.csv and from the recorded origins of the submissions.

    Raises
    ------
    AutograderError
        If there is a roster and it cannot be used.
    """
    roster = rosters.read_roster(classroom.root / "roster.csv")
    origins = read_origins(classroom.root)
    people: dict[str, Person] = {}
    notes: list[str] = []
    if roster.people:
        submitters = {student for student, _ in classroom.list_submissions(classroom.course.labs)}
        folders = submitters | {student for student, _ in origins}
        people = match_folders(roster, sorted(folders), origins)
        notes = describe_duplicate_folders(people)
        # So far, `people` has only the students with a folder in submitted/, by the folder's name.
        # Add the other students, by the folder name that their row in the roster gives.
        matches = {person.student for person in people.values()}
        for person in roster.people:
            if person.student not in matches:
                problem = rosters.describe_taken_folder(people, person)
                if problem:
                    raise ClassListError(problem)
                people[person.student] = person
        _reject_roster_of_other_class(roster, submitters, set(people))
    return ClassList(roster, origins, people, tuple(notes))


def _reject_roster_of_other_class(roster: Roster, submitters: set[str], students: set[str]) -> None:
    """Raise `ClassListError` if hardly any of the students who submitted are in the roster.

    The roster is then assumed to be another class's.
    """
    strangers = [
        student
        for student in sorted(submitters)
        if student not in students and not roster.find(PlatformIdentity(any_identifier=student))
    ]
    if len(strangers) >= MIN_UNKNOWN_STUDENTS and len(strangers) > 0.8 * len(submitters):
        names = [person.name or person.student for person in roster.people]
        raise ClassListError(
            f"roster.csv seems to be another class's: {len(strangers)} of the {len(submitters)} "
            f"who submitted are not in it ({_join_names_with_ellipsis(strangers)}), and it lists "
            f"{_join_names_with_ellipsis(names)}. Put this class's roster in its place, or take it away."
        )


def _join_names_with_ellipsis(names: list[str]) -> str:
    """Return the first few names as one text, with an ellipsis if there are more."""
    text = join_words(map(escape_unprintable, names[:MAX_NAMES_SHOWN]))
    return f"{text} …" if len(names) > MAX_NAMES_SHOWN else text


# To sort Ł beside L, the plain letter is needed. Unicode normalisation separates the accent of É,
# but not the stroke of Ł. So the letter is taken from the character's Unicode name, "LATIN CAPITAL
# LETTER L WITH STROKE".
_STROKED_LETTER = re.compile(r"LATIN (?:CAPITAL|SMALL) LETTER (\w) WITH ")


def make_name_sort_key(name: str) -> str:
    """Return a key for sorting names alphabetically: É beside E, Ł beside L, and a beside A.

    >>> sorted(["Zoe", "Łucja", "Émile", "Mia", "ada"], key=make_name_sort_key)
    ['ada', 'Émile', 'Łucja', 'Mia', 'Zoe']
    """
    letters = []
    for letter in unicodedata.normalize("NFKD", name):
        if unicodedata.combining(letter):
            continue
        match = _STROKED_LETTER.match(unicodedata.name(letter, ""))
        letters.append(match[1] if match else letter)
    return "".join(letters).casefold()
