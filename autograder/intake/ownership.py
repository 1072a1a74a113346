"""Decide which account of a platform each file of a download belongs to.

The owner is identified by the name that the platform gave to the file, by a list that the platform
wrote, by the folder directly above the file, or by the option --pattern. The content of a student's
file is never used. If the owner is not certain, a sentence tells the instructor what to do.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta, timezone, tzinfo

from autograder.core.text_format import join_words
from autograder.intake.filename_patterns import FilenamePattern, PatternGroups, match_patterns
from autograder.intake.names import (
    escape_unprintable,
    find_lab_by_name,
    get_stem,
    is_generic_name,
    is_named_like_class_folder,
    is_zip,
    make_safe_folder_name,
    normalise_name,
)
from autograder.intake.platform_metadata import (
    BLACKBOARD_TIME_FORMAT,
    GRADESCOPE_METADATA,
    PlatformSubmission,
    parse_timestamp,
)
from autograder.intake.roster import Person, PlatformIdentity, Roster

ROSTER_REMEDY = "put a roster that tells them apart into the classroom as roster.csv"
MAX_FOLDER_LEVELS = 5  # levels of folders that may lie around the folders of the students
NO_OWNER_MESSAGE = (
    "Neither its name nor a folder says whose it is. Put it into a folder called after the "
    "student, or say with --pattern where the student's name stands."
)
_IDENTITY_FIELDS = {field.name for field in fields(PlatformIdentity)}
_GITHUB_USER = r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}"
_GRADESCOPE_EXPORT = re.compile(r"assignment_\d+_export(?: ?\(\d+\))?")
_NBGRADER_FOLDERS = {"source", "release", "autograded", "feedback"}  # beside submitted/
# Time zone that no place uses, for finding out whether a text such as "10:00 CET" names its own
# time zone. The text is read in this zone and in another one. If the two results are equal, it
# names its zone.
_PROBE_ZONE = timezone(timedelta(hours=13, minutes=37))


@dataclass(frozen=True, kw_only=True)
class SubmissionAccount:
    """Account that submitted a file, and what the file's name tells about the submission.

    Two owners are equal if they are the same account. The fields about the submission, such as
    its time, are not compared.

    Parameters
    ----------
    platform : str
        Name of the platform; "folder", "file" or "pattern" if no platform gave the name.
    identities : tuple of PlatformIdentity
        The student, or all students who submitted the file together.
    default_folder : str
        Name of the student's folder in submitted/, if no roster names the folder.
    account : str
        Identifier that tells two students of the same name apart in one run.
    identified_by : str
        What identifies the student, for reports, such as "the folder's name".
    student_chosen : bool
        True if the student chose the name. Such a submission replaces an earlier one only with the
        option --replace.
    platform_path : str
        Part of the path that the platform wrote. The feedback for the platform gets a name that
        begins with it.
    upload_number : int
        Number of the upload, 0 if there is none.
    time : datetime or None
        Time of the submission; None if unknown.
    in_default_zone : bool
        True if the time was read in the default time zone, since nothing names its zone.
    zone : str
        Time zone in which the time was read; "" if the platform names one, or there is no time.
    is_late : bool
        True if the platform marks the submission as late.
    lab : str
        Lab that the name tells; "" if it tells none.
    note : str
        Remark for the report on the file.
    """

    platform: str
    identities: tuple[PlatformIdentity, ...]
    default_folder: str
    account: str = ""
    identified_by: str = ""
    student_chosen: bool = False
    platform_path: str = field(default="", compare=False)
    upload_number: int = field(default=0, compare=False)
    time: datetime | None = field(default=None, compare=False)
    in_default_zone: bool = field(default=False, compare=False)
    zone: str = field(default="", compare=False)
    is_late: bool = field(default=False, compare=False)
    lab: str = field(default="", compare=False)
    note: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True)
class IntakeContext:
    """Options of a run of `collect`, and the state of the classroom before the run.

    Parameters
    ----------
    labs : tuple of str
        Labs of the course.
    grade_ids : mapping of str to str
        Lab of each nbgrader grade_id that belongs to one lab only.
    folders : tuple of str
        Names of the folders in submitted/.
    folder_by_account : mapping of (platform, id) to str
        Folder in submitted/ of each student to whom a platform gives the same number in all labs.
    folder_by_student : mapping of str to str
        Folder in submitted/ of each person of the roster, by the name that the roster gives to the
        folder.
    person_by_folder : mapping of str to Person
        Person of the roster to whom each folder in submitted/ belongs.
    zone : tzinfo or None
        Time zone that the instructor named for times without a zone.
    default_zone : tzinfo
        The course's time zone, for times whose zone neither the instructor nor the platform names.
    use_file_times : bool
        Take the time at which a file was last changed as the time of its submission, if nothing
        else tells that time.
    pattern : FilenamePattern or None
        Pattern of the option --pattern.
    """

    labs: tuple[str, ...]
    grade_ids: Mapping[str, str]
    roster: Roster
    folders: tuple[str, ...]
    folder_by_account: Mapping[tuple[str, str], str]
    folder_by_student: Mapping[str, str]
    person_by_folder: Mapping[str, Person]
    zone: tzinfo | None
    default_zone: tzinfo
    use_file_times: bool
    pattern: FilenamePattern | None

    @property
    def assumed_zone(self) -> tzinfo:
        """Time zone for times given without one: the one that the instructor named, or the course's."""
        return self.zone or self.default_zone


@dataclass(frozen=True)
class _FileNamesByPlatform:
    """Names in one folder, grouped by the platform (such as Canvas) whose pattern they match.

    Parameters
    ----------
    readings : mapping of str to mapping
        Paths that match a platform's pattern, as `readings[path][platform] = (pattern, groups)`.
        The paths are relative to the folder.
    folders : mapping of str to list
        Folders of no platform's pattern, with the parts of the paths below them.
    files : list of str
        Files of no platform's pattern.
    votes : mapping of str to set of str
        Names that match the pattern of each platform. The key "" has the names that seem to be
        students' but match no pattern.
    """

    readings: dict[str, dict[str, tuple[FilenamePattern, PatternGroups]]]
    folders: dict[str, list[list[str]]]
    files: list[str]
    votes: dict[str, set[str]]


class DownloadOwnership:
    """Finder of the account that submitted each file of one download.

    Each folder around submissions is decided by itself. If most names in it match the pattern of
    one platform, all are taken to be that platform's. Otherwise each subfolder is a student's. But
    if all subfolders have names of containers, such as "Lab 2", each of them is searched as a
    folder around submissions.

    Parameters
    ----------
    paths : sequence of str
        Paths of the notebooks and zips.
    name : str
        Name of the download.
    repositories : collection of str
        Paths of the folders that hold a Git repository.
    receipts : mapping of str to PlatformSubmission or None
        Submissions in Blackboard's receipts, by the part of the path that Blackboard wrote. None
        stands for a receipt that cannot be read.
    metadata : callable
        Function of a folder's path, which returns the submissions in the folder's Gradescope list.
    """

    def __init__(
        self,
        paths: Sequence[str],
        name: str,
        context: IntakeContext,
        *,
        repositories: Collection[str],
        receipts: Mapping[str, PlatformSubmission | None],
        metadata: Callable[[str], Mapping[str, PlatformSubmission]],
    ):
        self._context, self._labs, self._roster = context, context.labs, context.roster
        self._repositories, self._receipts, self._metadata = repositories, receipts, metadata
        self._owners: dict[
            str,
            SubmissionAccount | str,
        ] = {}  # by path; the owner of a folder, such as "ada/", is the owner of all files in it
        self._student_levels: list[str] = []  # paths of folders that hold the students' folders
        if context.pattern:
            for path in paths:
                groups = context.pattern.match(path)
                self._owners[path] = "It does not match --pattern."
                if groups:
                    self._owners[path] = self._find_owner_by_pattern(
                        context.pattern,
                        groups,
                        path,
                        "",
                    )
        else:
            self._assign_owners_in_folder("", [path.split("/") for path in sorted(paths)], name)

    def find_owner(self, path: str) -> SubmissionAccount | str:
        """Return the account that submitted a file; a message to the instructor if uncertain."""
        if path in self._owners:
            return self._owners[path]
        for i in range(len(path) - 1, -1, -1):
            if path[i] == "/" and path[: i + 1] in self._owners:
                return self._owners[path[: i + 1]]
        if not self._context.pattern:
            matches = match_patterns(path, self._labs)
            if matches:
                return self._find_owner_by_pattern(*matches[0], path, "")
        for folder_path in self._student_levels:
            folder, slash, _ = path[len(folder_path) :].partition("/")
            if path.startswith(folder_path) and slash and not is_generic_name(folder):
                return _make_owner_from_folder(folder)
        return NO_OWNER_MESSAGE

    # Methods that find the account that submitted each file in a folder of submissions

    def _assign_owners_in_folder(self, folder_path: str, paths: list[list[str]], name: str) -> None:
        """Find the account that submitted each file in a folder of submissions.

        Parameters
        ----------
        folder_path : str
            Path of the folder, which ends with "/"; "" for the download itself.
        paths : list of list of str
            Parts of the paths below the folder.
        name : str
            Name of the folder or of the download.
        """
        if folder_path.count("/") > MAX_FOLDER_LEVELS:
            self._owners[folder_path] = (
                f"It lies more than {MAX_FOLDER_LEVELS} folders deep; collect the folder that "
                "holds the students'."
            )
            return
        names = self._group_names_by_platform(paths, self._make_github_patterns(folder_path, name))
        platform = _majority_platform(names.votes) if names.readings else ""
        for path, readings in names.readings.items():
            owner = self._find_owner_by_majority_pattern(readings, platform, path, folder_path)
            self._owners[folder_path + path] = owner
            if isinstance(owner, SubmissionAccount) and owner.platform_path.endswith("/"):
                self._owners[folder_path + owner.platform_path] = owner  # the whole folder
        self._refuse_ambiguous_blackboard_logins(folder_path, names.readings)
        if platform == "":
            self._assign_files_named_after_students(folder_path, names.files)
            self._assign_owners_of_subfolders(folder_path, names.folders, name)
            return
        majority = "as many names of a platform's form"
        if platform:
            majority = f"names of {platform}'s form"
        message = (
            f"It lies beside {majority}, and its name is not of that form. Collect it by itself, or "
            "use --pattern."
        )
        for folder in names.folders:
            self._owners[f"{folder_path}{folder}/"] = message
        for file in names.files:
            self._owners[folder_path + file] = NO_OWNER_MESSAGE

    def _refuse_ambiguous_blackboard_logins(self, folder_path: str, paths: Iterable[str]) -> None:
        """Refuse a Blackboard name if its assignment begins with another name's assignment.

        Beside "Lab 2_ada1", the login in "Lab 2_x_ada1" may be "x_ada1", although the roster has
        only "ada1".
        """
        assignments = set()
        uncertain_names = []  # path, Blackboard's text and the assignment's name in it
        for path in paths:
            owner = self._owners[folder_path + path]
            if isinstance(owner, str) or owner.platform != "Blackboard":
                continue
            text = owner.platform_path.rpartition("_attempt_")[0]
            assignment = text.removesuffix(f"_{owner.identities[0].login}")
            assignments.add(assignment)
            if owner.identified_by != _BLACKBOARD_RECEIPT:
                uncertain_names.append((path, text, assignment))
        for path, text, assignment in uncertain_names:
            if any(assignment.startswith(f"{other}_") for other in assignments):
                self._owners[folder_path + path] = _describe_uncertain_login(text)

    def _group_names_by_platform(
        self,
        paths: list[list[str]],
        repositories: list[FilenamePattern],
    ) -> _FileNamesByPlatform:
        """Group the names in a folder by the platform whose pattern they match; the rest by type.

        Parameters
        ----------
        paths : list of list of str
            Parts of the paths below the folder.
        repositories : list of FilenamePattern
            Patterns of the Git repositories in the folder.
        """
        names = _FileNamesByPlatform({}, defaultdict(list), [], defaultdict(set))
        for top, *subparts in paths:
            path = "/".join([top, *subparts])
            matches = match_patterns(path, self._labs, repositories)
            if matches:
                # If two patterns of the same platform match, keep the first, which is likelier.
                readings = names.readings.setdefault(path, {})
                for pattern, groups in matches:
                    readings.setdefault(pattern.platform, (pattern, groups))
                    student = top if subparts else path.removesuffix(groups["file"])
                    names.votes[pattern.platform].add(student)
            elif subparts:
                names.folders[top].append(subparts)
            else:
                names.files.append(top)
        names.votes[""] = {*names.folders, *self._files_named_after_students(names.files)}
        if "nbgrader" in names.votes:
            names.votes[""] -= _NBGRADER_FOLDERS
        return names

    def _files_named_after_students(self, files: list[str]) -> list[str]:
        """Return the files that have neither a lab's name nor a generic one such as "final"."""
        return [
            file
            for file in files
            if not find_lab_by_name(file, self._labs) and not is_generic_name(get_stem(file))
        ]

    def _assign_files_named_after_students(self, folder_path: str, files: list[str]) -> None:
        """Find the students after whom files are named, in a folder that no platform has made."""
        student_files = self._files_named_after_students(files)
        for file in files:
            is_name_trusted = file in student_files
            if student_files == [file] and not is_zip(file):
                # A single notebook may have any name. Take its name for a student's only if the
                # roster has this name.
                is_name_trusted = self._is_in_roster(get_stem(file))
            self._owners[folder_path + file] = (
                _make_owner_from_file(folder_path + file) if is_name_trusted else NO_OWNER_MESSAGE
            )

    def _find_owner_by_majority_pattern(
        self,
        readings: Mapping[str, tuple[FilenamePattern, PatternGroups]],
        platform: str | None,
        path: str,
        folder_path: str,
    ) -> SubmissionAccount | str:
        """Return a file's account; a message if most names in the folder have another pattern.

        A student who chooses the name of a file could imitate the pattern of another platform.

        Parameters
        ----------
        readings : mapping of str to (FilenamePattern, PatternGroups)
            Patterns that the name matches, by platform.
        platform : str or None
            Platform of most names in the folder; "" for no platform, None without a majority.
        path : str
            The name, which is a path relative to the folder.
        folder_path : str
            Path of the folder.
        """
        if platform is not None and platform in readings:
            return self._find_owner_by_pattern(*readings[platform], folder_path + path, folder_path)
        platforms = join_words(sorted(readings))
        if platform is None:
            reason = (
                "Of the names in this folder no more than half are of one form, and this one is "
                f"{platforms}'s"
            )
        elif platform:
            reason = f"Its name is of {platforms}'s form, and most beside it are of {platform}'s"
        else:
            reason = f"Its name is of {platforms}'s form, and most beside it are of no platform's"
        return (
            f"{reason}: a student could have chosen it. Collect each platform's download by itself."
        )

    # Methods for folders whose names match no platform's pattern

    def _assign_owners_of_subfolders(
        self,
        folder_path: str,
        folders: Mapping[str, list[list[str]]],
        name: str,
    ) -> None:
        """Find the students after whom folders are named, if no platform has named the folders.

        If all have names of containers, such as "Lab 2", their contents are searched instead.
        """
        containers = set()
        for folder, subpaths in folders.items():
            if self._has_container_name(folder, subpaths, name):
                containers.add(folder)
        if containers == set(folders):
            for folder, subpaths in folders.items():
                self._assign_owners_in_folder(f"{folder_path}{folder}/", subpaths, folder)
            return
        self._student_levels.append(folder_path)
        is_student_level = any(
            self._is_in_roster(folder) or self._holds_submission(subpaths)
            for folder, subpaths in folders.items()
            if folder not in containers
        )
        for folder, subpaths in folders.items():
            if folder in containers:
                owner: SubmissionAccount | str = _several_students_message(folder)
            else:
                owner = self._find_owner_of_student_folder(folder, subpaths, is_student_level)
            self._owners[f"{folder_path}{folder}/"] = owner

    def _has_container_name(
        self,
        folder: str,
        subpaths: list[list[str]],
        download_name: str,
    ) -> bool:
        """Return True if a folder is named after a collection, such as "Lab 2", not a student."""
        if self._is_in_roster(folder):
            return False
        if is_named_like_class_folder(folder, self._labs) or _GRADESCOPE_EXPORT.fullmatch(folder):
            return True
        normalised_download = normalise_name(re.sub(r" ?\(\d+\)$", "", download_name))
        if not normalised_download or normalised_download != normalise_name(folder):
            return False
        return not self._holds_submission(subpaths)

    def _find_owner_of_student_folder(
        self,
        folder: str,
        subpaths: list[list[str]],
        is_student_level: bool,
    ) -> SubmissionAccount | str:
        """Return the student named by a folder; a message if it may hold a class's submissions.

        Parameters
        ----------
        is_student_level : bool
            True if this folder or one beside it seems to be a student's, since its name is in the
            roster or it holds a submission directly.
        """
        if self._is_in_roster(folder):
            return _make_owner_from_folder(folder)
        if is_generic_name(folder):
            return NO_OWNER_MESSAGE
        if not is_student_level:
            return (
                f"It cannot be told whether {escape_unprintable(folder)!r} or "
                f"{escape_unprintable(get_stem(subpaths[0][0]))!r} is the student's name. Collect "
                f"{escape_unprintable(folder)!r} by itself if it holds the class, say with "
                f"--pattern where the name stands, or {ROSTER_REMEDY}."
            )
        if holds_several_students(subpaths, self._labs):
            return _several_students_message(folder)
        return _make_owner_from_folder(folder)

    def _holds_submission(self, subpaths: list[list[str]]) -> bool:
        """Return True if a folder holds a submission, or a subfolder named after a lab.

        Parameters
        ----------
        subpaths : list of list of str
            Parts of the paths below the folder.
        """
        for parts in subpaths:
            is_file = len(parts) == 1
            if find_lab_by_name(parts[0], self._labs, exact=not is_file) or is_generic_name(
                get_stem(parts[0]),
            ):
                return True
        return False

    def _is_in_roster(self, name: str) -> bool:
        return len(self._roster.find(PlatformIdentity(any_identifier=name))) == 1

    # Methods for names that match a platform's pattern

    def _make_github_patterns(self, folder_path: str, name: str) -> list[FilenamePattern]:
        """Return the patterns of GitHub Classroom's repositories: <assignment>-<username>.

        The assignment may be a lab. It may also be known from a folder <assignment>-submissions
        around the repositories, or from the beginning that their names have in common.
        """
        assignments = {*self._labs}
        if name.endswith("-submissions"):
            assignments.add(name.removesuffix("-submissions"))
        siblings = []
        for path in self._repositories:
            parent, _, repository = path.rpartition("/")
            if repository and parent == folder_path.rstrip("/"):
                siblings.append(repository)
        if len(siblings) > 1:
            assignments.add(_common_prefix(siblings).rpartition("-")[0])
        patterns = []
        # The longest assignment comes first, so that "lab-2-b-ada" is not read as "b-ada" for
        # "lab-2".
        for assignment in sorted(assignments - {""}, key=lambda slug: (-len(slug), slug)):
            note = ""
            if assignment not in self._labs:
                note = f"The assignment was taken to be {assignment!r}."
            user = rf"(?P<github>{_GITHUB_USER})(?<!-submissions)"
            pattern = FilenamePattern(
                platform="GitHub",
                identified_by="GitHub's name of the repository",
                pattern=rf"(?i:{re.escape(assignment)})-{user} / (?P<file>.+)",
                note=note,
            )
            patterns.append(pattern)
        return patterns

    def _find_owner_by_pattern(
        self, pattern: FilenamePattern, groups: PatternGroups, path: str, folder_path: str
    ) -> SubmissionAccount | str:
        """Return the account that a platform wrote into a file's path; a message if uncertain.

        Parameters
        ----------
        groups : dict of str to str
            Texts of the pattern's groups in the path.
        folder_path : str
            Folder around the submissions, with "/" at its end. The pattern matches the rest of the
            path.
        """
        file = groups.get("file", "")
        platform_path = path[len(folder_path) : len(path) - len(file)]
        is_flat = not platform_path.endswith("/")
        ambiguous_file = pattern.ambiguous_file
        if ambiguous_file and is_flat and re.fullmatch(ambiguous_file, file, re.VERBOSE):
            return (
                f"It cannot be told where {pattern.platform}'s part of the name ends: a person's "
                "own name may look like it. Download the submissions in folders, or say with "
                "--pattern where the name stands."
            )
        owner = _make_owner_from_pattern_groups(pattern, groups, path, platform_path)
        identity = owner.identities[0]
        if pattern.platform == "Gradescope":
            return self._add_gradescope_students(owner, identity.participant, folder_path)
        time, zone = groups.get("time", ""), self._context.zone
        if pattern.platform == "Blackboard":
            beginning = path.removesuffix(file)
            receipt = self._receipts.get(beginning)
            if receipt is None and beginning in self._receipts:
                return (
                    "Blackboard's text file beside it cannot be read, so it is uncertain whose it is. "
                    "Look it up in Blackboard, and put it into a folder called after the student."
                )
            blackboard_owner = self._add_blackboard_login_to_owner(owner, receipt)
            if isinstance(blackboard_owner, str):
                return blackboard_owner
            owner = blackboard_owner
            # The file's name gives the same time as Blackboard's receipt, but without the zone.
            if receipt and receipt.time and _are_close(receipt.time, time):
                zone = receipt.time.tzinfo or zone
        elif pattern.platform == "GitHub":
            user = identity.github.lower()  # GitHub ignores the case of user names
            identity = PlatformIdentity(github=user, any_identifier=user)
            owner = _replace_identity(owner, identity, user)
        elif pattern.platform == "Canvas" and identity.lms_id:
            folder = make_safe_folder_name(f"{identity.name}-{identity.lms_id}")
            owner = replace(owner, default_folder=folder)
        elif pattern.platform == "Moodle" and not identity.participant:
            return (
                "Moodle gives no number in its name: it comes from those who are in no group. "
                "Look up in Moodle who that is, and put it into a folder called after the "
                "student."
            )
        return self._add_time_to_owner(owner, time, zone) if time else owner

    def _add_time_to_owner(
        self, owner: SubmissionAccount, time_text: str, zone: tzinfo | None
    ) -> SubmissionAccount:
        """Add to an account the time of submission, which the platform wrote into a file name.

        Parameters
        ----------
        time_text : str
            Time as the platform wrote it.
        zone : tzinfo or None
            Time zone of the text; None if neither the instructor nor the platform names one.
        """
        time = parse_timestamp(time_text, zone or self._context.default_zone)
        if time is None:
            return replace(
                owner,
                time=None,
                note=f"{escape_unprintable(time_text)} in its name is no time.",
            )
        names_no_zone = time != parse_timestamp(time_text, _PROBE_ZONE)
        zone_of_time = str(zone or self._context.default_zone) if names_no_zone else ""
        in_default_zone = zone is None and names_no_zone
        return replace(
            owner, time=time, in_default_zone=in_default_zone, zone=zone_of_time, note=""
        )

    def _add_gradescope_students(
        self, owner: SubmissionAccount, submission_folder: str, export_folder: str
    ) -> SubmissionAccount | str:
        """Return the account with the students and the time from Gradescope's list of submissions.

        Return a sentence if the list cannot be used or has no submitter.

        Parameters
        ----------
        submission_folder : str
            Folder of the submission, such as "submission_123".
        export_folder : str
            Folder around the submissions, with the list.
        """
        if export_folder and not _GRADESCOPE_EXPORT.fullmatch(export_folder.rstrip("/")):
            return (
                f"{GRADESCOPE_METADATA} counts only at the top of Gradescope's export: anywhere "
                "else a student could have put it there. Collect the export by itself."
            )
        entry = self._metadata(export_folder).get(submission_folder)
        if not entry or not entry.submitters:
            return (
                f"{GRADESCOPE_METADATA} beside it does not say who submitted "
                f"{escape_unprintable(submission_folder)!r}. Collect Gradescope's export as it was downloaded."
            )
        if not all(identity.distinguishing_identifier for identity in entry.submitters):
            return f"{GRADESCOPE_METADATA} beside it names no one for {escape_unprintable(submission_folder)!r}."
        return replace(
            owner,
            identities=entry.submitters,
            default_folder=entry.submitters[0].default_folder,
            time=entry.time,
        )

    def _add_blackboard_login_to_owner(
        self, owner: SubmissionAccount, receipt: PlatformSubmission | None
    ) -> SubmissionAccount | str:
        """Return the account with the login from Blackboard's file name; a message if uncertain.

        If there is a receipt for the login, the owner gets the student's name from it.
        """
        text = owner.identities[0].login
        submitter = receipt.submitters[0] if receipt else PlatformIdentity()
        login = self._find_blackboard_login(text, submitter.login)
        if not login:
            return _describe_uncertain_login(text)
        if submitter.login != login:
            submitter = PlatformIdentity(login=login)
        owner = _replace_identity(owner, submitter, login)
        if submitter.name:
            owner = replace(owner, identified_by=_BLACKBOARD_RECEIPT)
        return owner

    def _find_blackboard_login(self, text: str, receipt_login: str) -> str:
        """Return the login in a text "<assignment>_<login>"; "" if it is uncertain.

        Both parts may contain "_". The receipt or the roster tells then where the login begins.
        """
        if receipt_login and text.endswith(f"_{receipt_login}"):
            return receipt_login
        if text.count("_") == 1:
            return text.partition("_")[2]
        endings = [text[i + 1 :] for i, character in enumerate(text) if character == "_"]
        logins = [ending for ending in endings if self._roster.find(PlatformIdentity(login=ending))]
        return logins[0] if len(logins) == 1 else ""


_BLACKBOARD_RECEIPT = "Blackboard's text file"


def _describe_uncertain_login(text: str) -> str:
    return (
        "It cannot be told where the assignment's name ends and the student's begins in "
        f"{escape_unprintable(text)!r}. Keep Blackboard's text files beside the submissions, "
        f"or {ROSTER_REMEDY}."
    )


def _majority_platform(votes: Mapping[str, set[str]]) -> str | None:
    """Return the platform whose pattern more than half of the names match.

    Return "" if more than half of the names are of no platform, and None without such a majority.

    Parameters
    ----------
    votes : mapping of str to set of str
        Names by platform, as in `_FileNamesByPlatform`.
    """
    all_names = set().union(*votes.values())
    first, *lower_platforms = sorted(votes, key=lambda platform: -len(votes[platform]))
    is_alone = all(len(votes[platform]) < len(votes[first]) for platform in lower_platforms)
    return first if is_alone and 2 * len(votes[first]) > len(all_names) else None


def _make_owner_from_pattern_groups(
    pattern: FilenamePattern,
    groups: PatternGroups,
    path: str,
    platform_path: str,
) -> SubmissionAccount:
    """Return the account that a file's name describes, from the parts that a pattern matched."""
    identity = PlatformIdentity(**{key: groups[key] for key in groups.keys() & _IDENTITY_FIELDS})
    number = groups.get("number", "")
    return SubmissionAccount(
        platform=pattern.platform,
        identities=(identity,),
        default_folder=identity.default_folder,
        account=path if pattern.student_chosen else identity.distinguishing_identifier,
        identified_by=pattern.identified_by or f"{pattern.platform}'s name of the file",
        student_chosen=pattern.student_chosen,
        platform_path=platform_path,
        upload_number=int(number[:18]) if number.isdecimal() else 0,
        is_late=bool(groups.get("late")),
        lab=groups.get("lab", ""),
        note=pattern.note,
    )


def _replace_identity(
    owner: SubmissionAccount,
    identity: PlatformIdentity,
    account: str,
) -> SubmissionAccount:
    """Return a copy of an account's record with another student's names and numbers in it."""
    folder = identity.default_folder
    return replace(owner, identities=(identity,), default_folder=folder, account=account)


def _make_owner_from_folder(folder: str) -> SubmissionAccount:
    """Return an account record for the student after whom a folder is named."""
    identity = PlatformIdentity(any_identifier=folder)
    return SubmissionAccount(
        platform="folder",
        identities=(identity,),
        default_folder=identity.default_folder,
        account=folder,
        identified_by="the folder's name",
    )


def _make_owner_from_file(path: str) -> SubmissionAccount:
    """Return an account record for the student after whom a file is named."""
    return replace(
        _make_owner_from_folder(get_stem(path)),
        platform="file",
        account=path,
        identified_by="the file's name, which its student may have chosen",
        student_chosen=True,
    )


def _several_students_message(folder: str) -> str:
    return (
        f"{escape_unprintable(folder)!r} seems to hold several people's submissions. If it is a "
        "download and no student's folder, collect it by itself."
    )


def holds_several_students(paths: list[list[str]], labs: Sequence[str]) -> bool:
    """Return True if the files in a folder seem to be submissions of several people.

    That is so if a path matches a platform's pattern, if notebooks of the same lab lie in two
    folders, or if a folder holds several notebooks or zips whose names are neither labs nor generic
    names such as "final".

    Parameters
    ----------
    paths : list of list of str
        Parts of the paths of the notebooks and zips.
    """
    folders_by_lab: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    named_files: Counter[tuple[str, ...]] = Counter()
    for *folders, file in paths:
        for i in range(min(len(folders), 2) + 1):
            if match_patterns("/".join([*folders[i:], file]), labs):
                return True
        lab = find_lab_by_name(file, labs)
        if lab:
            named_folders = [
                folder
                for folder in folders
                if not find_lab_by_name(folder, labs, exact=True) and not is_generic_name(folder)
            ]
            folders_by_lab[lab].add(tuple(named_folders))
        elif not is_generic_name(get_stem(file)):
            named_files[tuple(folders)] += 1
    if max(named_files.values(), default=0) > 1:
        return True
    return any(len(folders - {()}) > 1 for folders in folders_by_lab.values())


def _are_close(receipt_time: datetime, name_time: str) -> bool:
    """Return True if a receipt's time and the time in a file's name differ by a minute at most."""
    try:
        time = datetime.strptime(name_time, BLACKBOARD_TIME_FORMAT)
    except ValueError:
        return False
    return abs(receipt_time.replace(tzinfo=None) - time) <= timedelta(minutes=1)


def _common_prefix(names: list[str]) -> str:
    """Return the longest text with which all of the names begin."""
    first, last = min(names), max(names)
    for i, character in enumerate(first):
        if not last.startswith(character, i):
            return first[:i]
    return first
