"""Match the accounts that submitted files on a platform to people of the roster.

Without a roster, each owner gets a folder with the platform's name of the student. Two accounts
that would get the same folder might be two people, so their files are refused with a sentence that
names both accounts.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.core.text_format import join_words
from autograder.intake.names import (
    describe_account,
    escape_unprintable,
    fold_case,
    make_safe_folder_name,
    to_nfc,
)
from autograder.intake.ownership import ROSTER_REMEDY, IntakeContext, SubmissionAccount
from autograder.intake.roster import (
    Person,
    PlatformIdentity,
    describe_taken_folder,
    find_contradiction,
)

# In blind marking, Moodle replaces every student's name by the word "participant" in the language
# of the site. These are that word's translations.
_BLIND_MARKING_NAMES = set(
    "participant teilnehmer teilnehmer-in participante deelnemer partecipante deltaker".split(),
)

# Columns of the roster that tell two people of the same name apart, by platform.
_DISTINGUISHING_COLUMNS = {
    "Canvas": "a column ID, with Canvas's numbers",
    "Moodle": (
        "a column Identifier, with the numbers in the names (the assignment's grading worksheet has them)"
    ),
    "Brightspace": "a column 'Brightspace ID', with the numbers that the names begin with",
    "Blackboard": "a column Login",
    "Gradescope": "a column SID or Email",
    "GitHub": "a column GitHub",
}
_LOGIN_COLUMN = "a column Login, and folders called after the logins"

LabOwner = tuple[str, SubmissionAccount]  # a lab, and the owner of a submission for it


class UnmatchedFile(Exception):
    """Error for a notebook whose student or lab is uncertain.

    The message is the reason that the report on the file gives.
    """


@dataclass(frozen=True, kw_only=True)
class MatchedStudent:
    """Student who submitted a file.

    Parameters
    ----------
    folder : str
        Name of the student's folder in submitted/.
    identity : PlatformIdentity
        The platform's data about the student, or about the group that the student is in.
    person : Person or None
        The student in the roster; None if the roster does not have the student.
    """

    folder: str
    identity: PlatformIdentity
    person: Person | None = None


class StudentMatcher:
    """Matcher of the accounts that submitted files on a platform to the students who use them.

    Parameters
    ----------
    lab_owners : iterable of (lab, SubmissionAccount)
        All owners of the run. They are compared, since two of them may get the same folder.
    """

    def __init__(self, context: IntakeContext, lab_owners: Iterable[LabOwner]):
        self._roster, self._context = context.roster, context
        self._folders = {to_nfc(name): name for name in context.folders}
        unique_owners = list(dict.fromkeys(lab_owners))
        self._blind_names = _find_blind_marking_names(unique_owners)
        self._matches: dict[LabOwner, tuple[MatchedStudent, ...] | str] = {}
        for lab, owner in unique_owners:
            self._matches[lab, owner] = self._match_one_owner(owner, lab)
        self._give_canvas_groups_to_members()
        self._refuse_ambiguous_accounts()
        self._refuse_folders_differing_in_case()
        self._refuse_numbered_copies()

    def match(self, lab: str, owner: SubmissionAccount) -> tuple[MatchedStudent, ...]:
        """Return all students who submitted a file; raises `UnmatchedFile` if they are uncertain."""
        match = self._matches[lab, owner]
        if isinstance(match, str):
            raise UnmatchedFile(match)
        return match

    def _match_one_owner(
        self,
        owner: SubmissionAccount,
        lab: str,
    ) -> tuple[MatchedStudent, ...] | str:
        """Return the students who use one account of a platform, or a message if none are found.

        Other accounts are not compared here.
        """
        identity = owner.identities[0]
        if owner.platform == "Moodle" and identity.name in self._blind_names:
            people = self._roster.find(PlatformIdentity(participant=identity.participant), lab)
            person = people[0] if len(people) == 1 else None
            folder = make_safe_folder_name(f"{identity.name}_{identity.participant}")
            if person:
                folder = self._choose_folder_of_person(person, owner, identity, is_group=False)
            return (MatchedStudent(folder=folder, identity=identity, person=person),)
        if self._roster.people:
            return self._match_by_roster(owner, lab)
        identities = {owner.default_folder: identity}
        if len(owner.identities) > 1:
            identities = {identity.default_folder: identity for identity in owner.identities}
        students = []
        for name, member in identities.items():
            folder = self._find_folder_by_account(owner, member) or self._folders.get(name, name)
            students.append(MatchedStudent(folder=folder, identity=member))
        return tuple(students)

    def _find_folder_by_account(self, owner: SubmissionAccount, identity: PlatformIdentity) -> str:
        """Return a person's folder in submitted/, found by the person's number on a platform.

        The folder is found by the number, since people change their names.
        """
        if not identity.lms_id:
            return ""
        return self._context.folder_by_account.get((owner.platform, identity.lms_id), "")

    def _match_by_roster(
        self,
        owner: SubmissionAccount,
        lab: str,
    ) -> tuple[MatchedStudent, ...] | str:
        """Return the people of the roster to whom an account belongs; a message if uncertain.

        The name of an owner may be that of a group. Then all members of the group are returned.
        """
        students: dict[str, MatchedStudent] = {}
        for identity in owner.identities:
            people = self._roster.find(identity, lab)
            name = identity.name or identity.any_identifier
            is_group = not people and bool(self._roster.find_group_members(name))
            people = people or self._find_group_members(name)
            if len(people) > 1 and not is_group:
                column = _DISTINGUISHING_COLUMNS.get(owner.platform, _LOGIN_COLUMN)
                return (
                    f"{len(people)} people in the roster could be "
                    f"{_describe_identity(identity)}. Add {column}."
                )
            if not people:
                return self._unmatched_message(identity)
            for person in people:
                folder = self._choose_folder_of_person(person, owner, identity, is_group)
                if folder == person.student:
                    problem = describe_taken_folder(self._context.person_by_folder, person)
                    if problem:
                        return problem
                student = MatchedStudent(folder=folder, identity=identity, person=person)
                students[person.student] = student
        return tuple(students.values())

    def _choose_folder_of_person(
        self,
        person: Person,
        owner: SubmissionAccount,
        identity: PlatformIdentity,
        is_group: bool,
    ) -> str:
        """Return the name of the folder for a person of the roster; prefer an existing folder.

        Parameters
        ----------
        is_group : bool
            True if the identity is that of a group which the person is in.
        """
        if person.student in self._folders:
            return person.student
        folder = self._context.folder_by_student.get(person.student, "")
        if not folder and not is_group:  # the number of a group identifies no single member
            folder = self._find_folder_by_account(owner, identity)
        return folder or person.student

    def _unmatched_message(self, identity: PlatformIdentity) -> str:
        """Return the message about an account that belongs to nobody in the roster."""
        namesakes = self._roster.find_people_by_name(identity.name or identity.any_identifier)
        if namesakes:
            person = namesakes[0]
            return (
                f"The roster has {escape_unprintable(person.name)!r}, but as "
                f"{find_contradiction(person, identity)}. If they are one person, correct "
                "roster.csv; if not, add a line to it, and collect it again."
            )
        return (
            f"Nobody in the roster is {_describe_identity(identity)}. Add a line to roster.csv "
            "and collect it again."
        )

    def _find_group_members(self, name: str) -> list[Person]:
        """Return the members of a group, or the one member whom Moodle calls "<group>-<name>"."""
        for i, character in enumerate(name):
            if character == "-" and self._roster.find_group_members(name[:i]):
                people = self._roster.find(PlatformIdentity(name=name[i + 1 :]))
                if len(people) == 1:
                    return people
        return self._roster.find_group_members(name)

    def _give_canvas_groups_to_members(self) -> None:
        """File a group's submission on Canvas for each member, if no other member has submitted.

        Canvas gives the file the group's name and the number of one member. A member may also have
        chosen the group's name as display name; then the others have submissions of their own.
        """
        submitters: dict[str, list[str]] = defaultdict(list)
        for (lab, _), match in self._matches.items():
            if isinstance(match, tuple):
                submitters[lab] += [student.person.student for student in match if student.person]
        for (lab, owner), match in self._matches.items():
            if owner.platform != "Canvas" or isinstance(match, str) or len(match) != 1:
                continue
            identity, person = match[0].identity, match[0].person
            group = self._roster.find_group_members(identity.name)
            if person not in group or person in self._roster.find_people_by_name(identity.name):
                continue
            students = {member.student for member in group}
            if sum(student in students for student in submitters[lab]) > 1:
                continue
            members = []
            for member in group:
                is_named = member is person
                folder = self._choose_folder_of_person(
                    member, owner, identity, is_group=not is_named
                )
                members.append(MatchedStudent(folder=folder, identity=identity, person=member))
            self._matches[lab, owner] = tuple(members)

    # Checks for accounts that could be one person

    def _refuse_ambiguous_accounts(self) -> None:
        """Refuse accounts that have several names, or would share the folder of one student."""
        messages = self._find_accounts_with_several_names()
        for (lab, folder), owners in sorted(
            self._group_owners_by_folder().items(),
            key=lambda item: item[0],
        ):
            if len(owners) < 2:
                continue
            groups = [owner for owner in owners if self._is_group_only(owner)]
            # Several accounts would get the same student's folder. If the roster has one of them as
            # a person, and all others only as groups, refuse only the submissions of the groups.
            is_one_alone = groups and len(groups) == len(owners) - 1
            for owner in groups if is_one_alone else owners:
                messages.setdefault((lab, owner), self._ambiguity_message(folder, owner, owners))
        self._matches |= messages

    def _find_accounts_with_several_names(self) -> dict[LabOwner, str]:
        """Return a message for each account that appears with several names in the same lab."""
        names: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for lab, owner in self._matches:
            name = owner.identities[0].name
            # Leave out Brightspace, whose file names have a number that is not always the
            # student's. The other platforms' numbers belong to one student.
            if owner.platform != "Brightspace" and name:
                names[lab, owner.platform, owner.account].add(name)
        messages = {}
        for lab, owner in self._matches:
            account_names = names[lab, owner.platform, owner.account]
            if len(account_names) > 1 and owner.identities[0].name:
                names_text = [escape_unprintable(repr(name), 60) for name in sorted(account_names)]
                messages[lab, owner] = (
                    f"{owner.platform}'s {escape_unprintable(owner.account, 60)!r} is one "
                    f"account's, and here it stands beside the names {join_words(names_text)}. "
                    "Look up there whose it is, and collect that one by itself."
                )
        return messages

    def _group_owners_by_folder(self) -> dict[tuple[str, str], list[SubmissionAccount]]:
        """Group the accounts by the student's folder in which their submissions would be stored."""
        by_folder: dict[tuple[str, str], dict[tuple[str, str], SubmissionAccount]] = defaultdict(
            dict
        )
        for (lab, owner), match in self._matches.items():
            if isinstance(match, tuple):
                for student in match:
                    by_folder[lab, student.folder][owner.platform, owner.account] = owner
        return {key: list(accounts.values()) for key, accounts in by_folder.items()}

    def _is_group_only(self, owner: SubmissionAccount) -> bool:
        """Return True if an account's name is in the roster as a group's, but not as a person's."""
        if not self._roster.people:
            return False
        return not any(self._roster.find(identity) for identity in owner.identities)

    def _ambiguity_message(
        self, folder: str, owner: SubmissionAccount, owners: list[SubmissionAccount]
    ) -> str:
        """Return the message for an account that would get the same folder as other accounts.

        Parameters
        ----------
        owners : list of SubmissionAccount
            All accounts that would get the folder, with this owner.
        """
        accounts = []
        for candidate in owners:
            name = "" if candidate.student_chosen else candidate.identities[0].name
            accounts.append(describe_account(candidate.platform, name, candidate.account))
        if len({candidate.platform for candidate in owners}) > 1:
            remedy = (
                "Collect each by itself; the later one with --replace, if they are one person's"
            )
        elif owner.student_chosen:
            remedy = "Put each into a folder called after its student"
        elif self._roster.people:
            column = _DISTINGUISHING_COLUMNS.get(owner.platform, _LOGIN_COLUMN)
            remedy = f"Say in roster.csv which is whose: {column}"
        else:
            remedy = f"A name alone does not tell them apart: {ROSTER_REMEDY}"
        person = self._roster.by_student.get(folder)
        name = escape_unprintable(person.name if person and person.name else folder)
        return f"{join_words(accounts)} would all be {name!r}, and may be several people. {remedy}."

    def _refuse_folders_differing_in_case(self) -> None:
        """Refuse students who are not in the roster, if another folder differs only in case.

        For example "Ada", if there is "ada": the two may be one person.
        """
        students = [
            (key, student)
            for key, match in self._matches.items()
            if isinstance(match, tuple)
            for student in match
        ]
        spellings: dict[str, set[str]] = defaultdict(set)
        for name in [*(student.folder for _, student in students), *self._context.folders]:
            spellings[fold_case(name)].add(name)
        for key, student in students:
            folder = student.folder
            variants = sorted(spellings[fold_case(folder)] - {folder})
            if student.person is None and variants and folder not in self._context.folders:
                self._matches[key] = (
                    f"{escape_unprintable(folder)!r} and {escape_unprintable(variants[0])!r} "
                    "differ only in case, and may be one person or two: rename one, or "
                    f"{ROSTER_REMEDY}."
                )

    def _refuse_numbered_copies(self) -> None:
        """Refuse a folder or file "ada (1)" beside "ada" if the roster does not have it.

        A browser writes the number if something of this name has been downloaded before.
        """
        texts = {to_nfc(name) for name in self._context.folders}
        for _, owner in self._matches:
            texts.add(_get_name_given_by_person(owner))
        for key, match in self._matches.items():
            text = _get_name_given_by_person(key[1])
            copy = _NUMBERED_COPY.fullmatch(text)
            if copy and copy[1] in texts and isinstance(match, tuple) and match[0].person is None:
                self._matches[key] = (
                    f"{escape_unprintable(repr(text))} may be a second download of "
                    f"{escape_unprintable(repr(copy[1]))}, or another person's: rename it, or "
                    f"{ROSTER_REMEDY}."
                )


_NUMBERED_COPY = re.compile(r"(.+?) ?\(\d{1,3}\)")


def _get_name_given_by_person(owner: SubmissionAccount) -> str:
    """Return the name of a student's folder or file that no platform named; "" for any other."""
    return (
        to_nfc(owner.identities[0].any_identifier) if owner.platform in ("folder", "file") else ""
    )


def _find_blind_marking_names(lab_owners: Iterable[LabOwner]) -> set[str]:
    """Return the words, such as "Participant", that Moodle writes for names in blind marking."""
    accounts: dict[str, set[LabOwner]] = defaultdict(set)
    for lab, owner in lab_owners:
        if owner.platform == "Moodle":
            accounts[owner.identities[0].name].add((lab, owner))
    blind_names = {name for name in accounts if name.casefold() in _BLIND_MARKING_NAMES}
    if len(accounts) == 1:
        # If several students have the same name in one lab and it is a single word, Moodle must
        # have written the word for "participant" in another language.
        ((name, owners_of_name),) = accounts.items()
        labs = [lab for lab, _ in owners_of_name]
        if len(labs) > len(set(labs)) and " " not in name:
            blind_names.add(name)
    return blind_names


def _describe_identity(identity: PlatformIdentity) -> str:
    """Return the names and identifiers of a submitter, joined with "or", for use in a sentence."""
    texts = [
        identity.name,
        identity.any_identifier,
        identity.login,
        identity.email,
        identity.student,
        identity.lms_id,
        identity.sid,
        identity.github,
    ]
    return (
        " or ".join(dict.fromkeys(escape_unprintable(repr(text), 80) for text in texts if text))
        or "this one"
    )
