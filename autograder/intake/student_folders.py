"""Find the person of the roster to whom each existing folder in submitted/ belongs.

The roster gives each person's folder a name. A folder that is older than the roster, or that was
put there by hand, may have another name, such as the person's e-mail address. It is still used as
the person's folder.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from autograder.core.text_format import join_words
from autograder.intake.names import escape_unprintable
from autograder.intake.roster import Person, PlatformIdentity, Roster
from autograder.intake.store import Origin


def match_folders(
    roster: Roster, folders: Iterable[str], origins: Mapping[tuple[str, str], Origin]
) -> dict[str, Person]:
    """Return the person to whom each student's folder belongs; leave out uncertain folders.

    A folder with the name that the roster gives to a person's folder is that person's, unless the
    accounts that submitted its files are another person's. Any other folder belongs to a person if
    its name and the origins of all its submissions match that person only. A folder of submissions
    that several people made together belongs to nobody.

    Parameters
    ----------
    folders : iterable of str
        Names of the folders in submitted/.
    origins : mapping of (student, lab) to Origin
        Where each submission came from; the student is the name of the folder.
    """
    origins_by_folder = defaultdict(list)
    for (folder, lab), origin in origins.items():
        origins_by_folder[folder].append((lab, origin))
    people = {}
    for folder in folders:
        if folder in roster.by_student:
            owner = _single_person(
                roster.find_by_account(origin.identity) for _, origin in origins_by_folder[folder]
            )
            people[folder] = owner or roster.by_student[folder]
            continue
        identities = []
        for lab, origin in origins_by_folder[folder]:
            if len(origin.members) < 2:
                identity = replace(origin.identity, student=folder, any_identifier=folder)
                identities.append((lab, identity))
        if not origins_by_folder[folder]:  # the submissions were put there by hand
            identities.append(("", PlatformIdentity(any_identifier=folder)))
        person = _single_person(roster.find(identity, lab) for lab, identity in identities)
        if person:
            people[folder] = person
    return people


def _single_person(matches: Iterable[list[Person]]) -> Person | None:
    """Return the person if every list holds this person and nobody else; otherwise None."""
    lists = list(matches)
    students = {people[0].student if len(people) == 1 else "" for people in lists}
    return lists[0][0] if len(students) == 1 and "" not in students else None


def find_single_existing_folders(people: Mapping[str, Person]) -> dict[str, str]:
    """Return the folder of each person who has exactly one folder in submitted/.

    Parameters
    ----------
    people : mapping of str to Person
        Person to whom each folder belongs, from `match_folders`.

    Returns
    -------
    dict of str to str
        Existing folder, by the name that the roster gives to the person's folder.
    """
    folders = _folders_by_student(people)
    return {student: names[0] for student, names in folders.items() if len(names) == 1}


def describe_duplicate_folders(people: Mapping[str, Person]) -> list[str]:
    """Return a sentence for each person to whom several folders of submitted/ seem to belong."""
    sentences = []
    for student, names in sorted(_folders_by_student(people).items()):
        if len(names) > 1:
            folders = join_words(sorted(escape_unprintable(repr(name)) for name in names))
            sentences.append(
                f"The folders {folders} in submitted/ seem to be one student's, "
                f"{escape_unprintable(student)} in roster.csv, and are counted as several. If "
                "they are, `autograder merge` makes one of them; if not, correct roster.csv."
            )
    return sentences


def _folders_by_student(people: Mapping[str, Person]) -> dict[str, list[str]]:
    """Return all folders of each person, by the name that the roster gives to the folder."""
    folders = defaultdict(list)
    for folder, person in people.items():
        folders[person.student].append(folder)
    return folders
