"""Find the submissions in folders and zips, without writing anything.

Each notebook becomes an `Attempt` with its student, its lab and its time. The student and the time
are known from the name or the list that the platform wrote, from the roster or from an option. Only
the lab may be known from the student's file. A notebook whose student or lab is uncertain is
refused with a reason and a remedy.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath

from autograder.core.files import decode_text
from autograder.intake.archives import (
    FileListing,
    IncomingFile,
    ZipReader,
    describe_error,
    file_from_disk,
    list_folder,
    read_content,
)
from autograder.intake.filename_patterns import ONLINE_TEXT
from autograder.intake.names import (
    escape_unprintable,
    find_lab_by_cells,
    find_lab_by_name,
    get_stem,
    is_notebook,
    is_zip,
)
from autograder.intake.ownership import (
    DownloadOwnership,
    IntakeContext,
    SubmissionAccount,
    holds_several_students,
)
from autograder.intake.platform_metadata import (
    BLACKBOARD_RECEIPT,
    GRADESCOPE_METADATA,
    PlatformSubmission,
    parse_timestamp,
    read_blackboard_receipt,
    read_gradescope_metadata,
)
from autograder.intake.roster import Person, PlatformIdentity
from autograder.intake.student_matching import StudentMatcher, UnmatchedFile
from autograder.intake.upload_limits import LIMITS, FileRefused, PerStudentReadingBudget

MAX_TIMESTAMP_BYTES = 200
MAX_CALENDAR_SECONDS = 253_402_300_800  # end of the year 9999, in seconds since 1970


class FileOutcome(StrEnum):
    FILED = "filed"
    UNCHANGED = "unchanged"
    OLDER = "older"
    IGNORED = "ignored"
    REFUSED = "refused"
    UNMATCHED = "unmatched"  # nothing says whose it is, or for which lab
    WITHOUT_NOTEBOOK = "without a notebook"  # a student submitted other files only


@dataclass(frozen=True, kw_only=True)
class FileReport:
    """Report on what `autograder collect` did with one of the downloaded files.

    Parameters
    ----------
    source : str
        Path of the file, with the zips around it, such as "class.zip/ada/random-walks.ipynb".
    student, lab : str
        Student's folder and lab of the file; "" if unknown.
    reason : str
        Reason for the outcome in one or more sentences, or "".
    path : str
        Path of the filed submission within the classroom, or "".
    identified_by : str
        What identifies the student, such as "the folder's name"; "" if nothing does.
    replaced_path : str
        New path of the earlier attempt that this file replaces, or "".
    student_chosen : bool
        True if the student chose the name that the submission is filed under.
    needs_review : bool
        True if the instructor should look at the file, though nothing is wrong with it.
    time_changed : bool
        True if the submission was filed by an earlier run, and only its time has changed.
    time_kept : bool
        True if the submission keeps the time of an earlier run, though this run, which was told no
        zone, reads another time.
    in_default_zone : bool
        True if the time that was filed names no zone and was read in the course's.
    """

    source: str
    outcome: FileOutcome
    student: str = ""
    lab: str = ""
    reason: str = ""
    path: str = ""
    identified_by: str = ""
    replaced_path: str = ""
    student_chosen: bool = False
    needs_review: bool = False
    time_changed: bool = False
    time_kept: bool = False
    in_default_zone: bool = False


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Notebook that was submitted (an attempt), with its student, its lab and its time.

    Parameters
    ----------
    source : str
        Path of the notebook, with the zips around it.
    owner : SubmissionAccount
        Account of the platform that the notebook belongs to.
    submission_key : str
        Text that is equal for all files of one submission. Only one of these files is filed.
    submitted_at : datetime or None
        Time of the submission; None if unknown.
    time : float
        Time of the submission in seconds since 1970. If it is unknown, the time of the file. It is
        used only for ordering attempts.
    zone : str
        Time zone in which the time was read, if neither the platform nor the disk names one.
    time_in_zip : float
        Time that the student's zip gives to the notebook; 0 for a notebook in no such zip.
    notes : tuple of str
        Remarks for the report on the file.
    student : str
        Name of the student's folder; "" until the owners are matched to students.
    identity : PlatformIdentity
        The platform's data about the student or the group.
    person : Person or None
        The student in the roster; None if the roster does not have the student.
    members : tuple of str
        Folders of all students who submitted the notebook together; () for a student alone.
    """

    source: str
    lab: str
    owner: SubmissionAccount
    file: IncomingFile
    submission_key: str
    submitted_at: datetime | None = None
    zone: str = ""
    time: float = 0.0
    time_in_zip: float = 0.0
    notes: tuple[str, ...] = ()
    student: str = ""
    identity: PlatformIdentity = field(default_factory=PlatformIdentity)
    person: Person | None = None
    members: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Path of the notebook within its folder or zip."""
        return self.file.path


@dataclass(frozen=True, kw_only=True)
class _SearchLocation:
    """Place where files were found, which is a download or a student's zip in a download.

    Parameters
    ----------
    prefix : str
        Path of the place in reports, with the zips around it; "" for a notebook that the instructor
        named.
    download : str
        Name of the download, with a number that makes it unique in the run.
    depth : int
        Number of zips around the files.
    student_zip : IncomingFile or None
        Outermost zip of a student in which the files lie; None outside such zips.
    """

    prefix: str
    download: str
    depth: int
    student_zip: IncomingFile | None = None

    def source_of(self, file: IncomingFile) -> str:
        """Return a file's path after its zips' names, such as `class.zip/jane.zip/lab.ipynb`."""
        return f"{self.prefix}/{file.path}" if self.prefix else file.path


class SubmissionFinder:
    """Searcher of folders, zips and notebooks for submissions.

    Call `search_path` for each path and then `match_students` once.

    Parameters
    ----------
    zips : ZipReader
        Must stay open as long as the attempts are read.

    Attributes
    ----------
    reports : list of FileReport
        Reports on the files that become no attempt.
    junk_count : int
        Number of files that operating systems and editors made.
    other_file_count : int
        Number of other files that are no notebooks and were submitted together with a notebook.
    """

    def __init__(self, context: IntakeContext, zips: ZipReader, budget: PerStudentReadingBudget):
        self.context, self.zips, self.budget = context, zips, budget
        self.reports: list[FileReport] = []
        self.junk_count = self.other_file_count = 0
        self._download_count = 0
        self._attempts: list[Attempt] = []
        # The students who submitted a notebook, and each student's other files. The key of a
        # student is a pair: the name of the download that holds the files, and the name of the
        # student's folder, for which the roster may later name another.
        self._submitters: set[tuple[str, str]] = set()
        self._other_files: dict[tuple[str, str], list[str]] = defaultdict(list)

    def search_path(self, path: Path, skip: set[tuple[int, int]]) -> None:
        """Search a folder, zip or notebook that the instructor named.

        Parameters
        ----------
        skip : set of (device, inode)
            Folders to leave out.
        """
        path_name, path = path.name, path.resolve()
        name = path.name if path_name in ("", "..") else path_name
        # After an error in one download, search the others.
        with self._turn_errors_into_reports(name):
            if path.is_dir():
                self._search_download(path.name, name, list_folder(path, skip), depth=0)
            elif is_zip(name):
                zip_file = replace(file_from_disk(path), is_class_download=True)
                self._search_download(
                    get_stem(name), name, self.zips.list_members(zip_file), depth=1
                )
            elif is_notebook(name) and path.is_file():
                self._search_download("", "", FileListing([file_from_disk(path)]), depth=0)
            else:
                raise UnmatchedFile("It is neither a folder nor a zip nor a notebook.")

    def match_students(self) -> list[Attempt]:
        """Return all notebooks found, with their students. Call this once, after all searches."""
        lab_owners = [(attempt.lab, attempt.owner) for attempt in self._attempts]
        matcher = StudentMatcher(self.context, lab_owners)
        attempts = []
        for attempt in self._attempts:
            with self._turn_errors_into_reports(attempt.source, attempt.owner):
                students = matcher.match(attempt.lab, attempt.owner)
                members: tuple[str, ...] = ()
                if len(students) > 1:
                    members = tuple(student.folder for student in students)
                for student in students:
                    of_student = replace(
                        attempt,
                        student=student.folder,
                        identity=student.identity,
                        person=student.person,
                        members=members,
                    )
                    attempts.append(of_student)
        self._report_owners_without_notebook()
        return attempts

    def _report_owners_without_notebook(self) -> None:
        """Report each student who submitted files but no notebook.

        For the other owners, count the files that they submitted together with a notebook.
        """
        for (download, folder), files in self._other_files.items():
            if (download, folder) in self._submitters:
                self.other_file_count += len(files)
            else:
                reason = f"No notebook was submitted, only {_join_first_file_names(files)}."
                self._add_report(
                    download.partition(" ")[2], FileOutcome.WITHOUT_NOTEBOOK, reason, folder
                )

    def _add_report(
        self,
        source: str,
        outcome: FileOutcome,
        reason: str,
        student: str = "",
        identified_by: str = "",
    ) -> None:
        report = FileReport(
            source=source,
            outcome=outcome,
            reason=reason,
            student=student,
            identified_by=identified_by,
        )
        self.reports.append(report)

    @contextmanager
    def _turn_errors_into_reports(
        self, source: str, owner: SubmissionAccount | None = None
    ) -> Iterator[None]:
        """Turn an exception in the `with` block into a report on the file, so that the run goes on.

        Parameters
        ----------
        source : str
            Path of the file in reports.
        """
        outcome = FileOutcome.REFUSED
        try:
            yield
            return
        except UnmatchedFile as error:
            reason, outcome = str(error), FileOutcome.UNMATCHED
        except FileRefused as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - such as a zip too large for the disk
            reason = f"It could not be read: {describe_error(error)}."
        if owner:
            self._add_report(source, outcome, reason, owner.default_folder, owner.identified_by)
        else:
            self._add_report(source, outcome, reason)

    # Methods that search downloads and the files in them

    def _search_download(self, name: str, label: str, listing: FileListing, depth: int) -> None:
        """Search a download, a folder or zip whose path the instructor gave, for submissions.

        Parameters
        ----------
        name : str
            Name of the download. A folder in the download may have the same name.
        label : str
            Name of the download in reports.
        depth : int
            Number of zips around the files: 1 for a zip, else 0.
        """
        self._download_count += 1
        self.junk_count += listing.junk_count
        if not listing.files:
            junk = " but files of the system" if listing.junk_count else ""
            self._add_report(label, FileOutcome.UNMATCHED, f"There is nothing in it{junk}.")
        by_path = {file.path: file for file in listing.files if not file.problem}
        ownership = DownloadOwnership(
            [path for path in by_path if _is_submission(path) and not ONLINE_TEXT.match(path)],
            name,
            self.context,
            repositories=listing.repositories,
            receipts=_read_blackboard_receipts(by_path),
            metadata=lambda folder: self._read_gradescope_list(
                by_path.get(f"{folder}{GRADESCOPE_METADATA}"),
                label,
            ),
        )

        def find_owner(file: IncomingFile) -> SubmissionAccount | str:
            return self._add_time_from_timestamp_file(
                ownership.find_owner(file.path), file, by_path
            )

        # Put a number before the name of the download, since two downloads may have the same name.
        location = _SearchLocation(
            prefix=label, download=f"{self._download_count} {label}", depth=depth
        )
        self._search_files(listing.files, find_owner, location)

    def _search_files(
        self,
        files: list[IncomingFile],
        find_owner: Callable[[IncomingFile], SubmissionAccount | str],
        location: _SearchLocation,
    ) -> None:
        """Search all files of a download or of a student's zip.

        Parameters
        ----------
        find_owner : callable
            Returns the owner of a file, or a sentence if the owner is uncertain.
        """
        notebook_counts: Counter[str] = Counter()
        for file in files:
            if is_notebook(file.path) and not file.problem:
                notebook_counts[_parent_folder(file.path)] += 1
        unowned_files = []
        for file in files:
            owner = find_owner(file)
            source = location.source_of(file)
            if file.problem:
                student = owner.default_folder if isinstance(owner, SubmissionAccount) else ""
                self._add_report(source, FileOutcome.REFUSED, file.problem, student)
            elif not location.student_zip and ONLINE_TEXT.match(file.path):
                reason = "It is text typed into a page; only a notebook can be marked."
                self._add_report(source, FileOutcome.IGNORED, reason)
            elif file.path.endswith(GRADESCOPE_METADATA) or BLACKBOARD_RECEIPT.search(file.path):
                self.other_file_count += 1
            elif isinstance(owner, str):
                if _is_submission(file.path):
                    self._add_report(source, FileOutcome.UNMATCHED, owner)
                else:
                    unowned_files.append(file.path)
            elif not _is_submission(file.path):
                self._other_files[location.download, owner.default_folder].append(file.path)
            else:
                is_alone = notebook_counts[_parent_folder(file.path)] == 1
                self._add_attempts_of_submission(file, owner, location, is_alone)
        if unowned_files:
            reason = f"No notebooks, and in no student's folder: {_join_first_file_names(unowned_files)}."
            self._add_report(location.prefix, FileOutcome.IGNORED, reason)

    def _add_attempts_of_submission(
        self,
        file: IncomingFile,
        owner: SubmissionAccount,
        location: _SearchLocation,
        is_alone: bool,
    ) -> None:
        """Record a submitted notebook, or each notebook in a zip that a student submitted.

        Parameters
        ----------
        is_alone : bool
            True if no other notebook lies in the file's folder.
        """
        self._submitters.add((location.download, owner.default_folder))
        with self._turn_errors_into_reports(location.source_of(file), owner):
            if is_zip(file.path):
                self._search_student_zip(file, owner, location)
            else:
                lab = self._find_lab_of_notebook(file, owner, is_alone)
                self._attempts.append(self._make_attempt(file, owner, location, lab))

    def _read_gradescope_list(
        self,
        file: IncomingFile | None,
        label: str,
    ) -> dict[str, PlatformSubmission]:
        """Return the submissions in Gradescope's list, by folder; {} if the list cannot be used.

        Parameters
        ----------
        file : IncomingFile or None
            The list, submission_metadata.yml.
        label : str
            Name of the download in reports.
        """
        if file is None:
            return {}
        try:
            data = read_content(file, LIMITS.max_index_bytes)
            return read_gradescope_metadata(data, self.context.assumed_zone)
        except (FileRefused, ValueError) as error:
            reason = f"It cannot be used: {str(error).rstrip('.')}."
            self._add_report(f"{label}/{GRADESCOPE_METADATA}", FileOutcome.REFUSED, reason)
            return {}

    def _add_time_from_timestamp_file(
        self,
        owner: SubmissionAccount | str,
        file: IncomingFile,
        by_path: Mapping[str, IncomingFile],
    ) -> SubmissionAccount | str:
        """Return the account that submitted a file, with the time from nbgrader's timestamp.txt.

        Only a timestamp.txt in a folder of nbgrader counts. In any other folder, the student may
        have written it.

        Parameters
        ----------
        by_path : mapping of str to IncomingFile
            Files of the download.
        """
        timestamp_file = by_path.get(f"{_parent_folder(file.path)}/timestamp.txt")
        if isinstance(owner, str) or owner.time or not timestamp_file or not is_notebook(file.path):
            return owner
        if owner.platform == "folder":
            note = "Its timestamp.txt was not used: in a plain folder it is the student's own word."
            return replace(owner, note=note)
        if owner.platform != "nbgrader":
            return owner
        with suppress(FileRefused, UnicodeDecodeError):
            text = read_content(timestamp_file, MAX_TIMESTAMP_BYTES).decode("utf-8").strip()
            time = parse_timestamp(text, UTC)
            if time:
                return replace(owner, time=time)
        return replace(owner, note="The timestamp.txt beside it cannot be read.")

    def _search_student_zip(
        self, file: IncomingFile, owner: SubmissionAccount, location: _SearchLocation
    ) -> None:
        """Search a zip that one student submitted. All files in it belong to that student."""
        depth = location.depth + 1
        if depth > LIMITS.max_zip_depth:
            raise FileRefused(
                "It is a zip in a zip in a zip, and is not opened. Unpack the outer one.",
            )
        student = owner.default_folder
        if self.budget.listed_files[student] > LIMITS.max_student_zip_files:
            raise FileRefused(
                f"The zips before it hold more than {LIMITS.max_student_zip_files:,} files; it "
                "was not opened."
            )

        def read_chunks(limit: int) -> Iterator[bytes]:
            return self.budget.count_bytes(student, file.read_chunks(limit), is_zip=True)

        listing = self.zips.list_members(replace(file, read_chunks=read_chunks))
        self.junk_count += listing.junk_count
        self.budget.listed_files[student] += len(listing.files) + listing.junk_count
        paths = [member.path for member in listing.files if _is_submission(member.path)]
        if len(paths) > LIMITS.max_zip_notebooks:
            raise FileRefused(
                f"It holds {len(paths):,} notebooks and zips; {LIMITS.max_zip_notebooks} are the "
                "most in one submission."
            )
        is_one_students = location.student_zip or owner.platform not in ("folder", "file")
        parts = [path.split("/") for path in paths]
        if not is_one_students and holds_several_students(parts, self.context.labs):
            raise FileRefused(
                "It seems to hold submissions of several people. If it is a class's download, "
                "collect it by itself."
            )
        if not paths and not any(member.problem for member in listing.files):
            names = [member.path for member in listing.files]
            other_files = f", only {_join_first_file_names(names)}" if names else ""
            raise UnmatchedFile(f"No notebook is in this zip{other_files}.")
        inside = _SearchLocation(
            prefix=location.source_of(file),
            download=location.download,
            depth=depth,
            student_zip=location.student_zip or file,
        )
        self._search_files(listing.files, lambda _: owner, inside)

    def _make_attempt(
        self,
        file: IncomingFile,
        owner: SubmissionAccount,
        location: _SearchLocation,
        lab: str,
    ) -> Attempt:
        """Return a record of a submitted notebook, with the time of its submission."""
        # A notebook in a student's zip was submitted when the zip was. The times in the zip are by
        # the clock of the student's computer.
        file_time, time_in_zip = file.time, 0.0
        if location.student_zip:
            file_time, time_in_zip = location.student_zip.time, _valid_time(file.time)
        submitted_at = owner.time
        if submitted_at is None and self.context.use_file_times and file_time is not None:
            with suppress(ValueError, OverflowError, OSError):
                submitted_at = datetime.fromtimestamp(int(file_time), UTC)
        notes = [note for note in (file.note, owner.note) if note]
        if submitted_at is None and owner.is_late:
            notes.append(f"{owner.platform} marks it as late but does not say when it came.")
        # A platform writes the time of submission into the name of a file. If the names of two
        # files of a student have different times, they are different submissions. Without such
        # times, all files of a student in one download are one submission.
        name_time = owner.time.isoformat() if owner.time else ""
        zone = owner.zone
        is_in_zip = (location.student_zip or file).disk_path is None
        if submitted_at is None and is_in_zip:  # a zip names no zone either
            zone = str(self.context.assumed_zone)
        return Attempt(
            source=location.source_of(file),
            lab=lab,
            owner=owner,
            file=file,
            submission_key=f"{location.download}\n{name_time}",
            submitted_at=submitted_at,
            time=submitted_at.timestamp() if submitted_at else _valid_time(file_time),
            time_in_zip=time_in_zip,
            zone=zone,
            notes=tuple(notes),
        )

    def _find_lab_of_notebook(
        self,
        file: IncomingFile,
        owner: SubmissionAccount,
        is_alone: bool,
    ) -> str:
        """Return the lab to which a notebook belongs, found by its file name, cells or folders.

        Parameters
        ----------
        is_alone : bool
            True if no other notebook lies in the folder. Only then may the folder's name tell the
            lab.

        Raises
        ------
        Unmatched
            If nothing tells the lab, or the lab is not collected.
        """
        labs = self.context.labs
        if owner.lab:
            lab = find_lab_by_name(owner.lab, labs, exact=True)
        else:
            lab = find_lab_by_name(file.path, labs)
            lab = lab or find_lab_by_cells(
                self._read_up_to_failure(file, owner), self.context.grade_ids
            )
            if not lab and is_alone:
                folders = PurePosixPath(file.path).parts[:-1]
                for folder in reversed(folders):
                    lab = lab or find_lab_by_name(folder, labs, exact=True)
        if lab in labs:
            return lab
        if owner.lab or lab:
            raise UnmatchedFile(
                f"It is for {escape_unprintable(owner.lab or lab)}, which is not collected here.",
            )
        raise UnmatchedFile(
            "Neither its name nor its cells say which lab it is for. Rename it, such as "
            f"{labs[0]}.ipynb, and collect it again."
        )

    def _read_up_to_failure(self, file: IncomingFile, owner: SubmissionAccount) -> bytes:
        """Return a notebook's bytes, or those before the place where reading failed.

        Raises `FileRefused` if no byte can be read.
        """
        chunks = []
        try:
            content = file.read_chunks(LIMITS.max_notebook_bytes)
            for chunk in self.budget.count_bytes(owner.default_folder, content):
                chunks.append(chunk)
        except FileRefused:
            if not chunks:
                raise
        return b"".join(chunks)


def _parent_folder(path: str) -> str:
    return path.rpartition("/")[0]


def _is_submission(path: str) -> bool:
    return is_notebook(path) or is_zip(path)


def _read_blackboard_receipts(
    by_path: Mapping[str, IncomingFile],
) -> dict[str, PlatformSubmission | None]:
    """Return the submissions in Blackboard's receipts; None for a receipt that cannot be read.

    The keys are the parts of the paths that Blackboard wrote, such as
    "Lab 2_ada1_attempt_2026-11-20-14-03-22".
    """
    receipts = {}
    for path, file in by_path.items():
        if BLACKBOARD_RECEIPT.search(path):
            receipt = None
            with suppress(FileRefused):
                text, _ = decode_text(read_content(file, LIMITS.max_receipt_bytes))
                receipt = read_blackboard_receipt(text)
            receipts[path.removesuffix(".txt")] = receipt
    return receipts


def _valid_time(time: float | None) -> float:
    """Return a file's time if it is between the years 1970 and 9999, else 0."""
    if time is None or not 0 <= time < MAX_CALENDAR_SECONDS:
        return 0.0
    return time


def _join_first_file_names(paths: list[str]) -> str:
    """Return a text with the names of the first three files and the number of the others."""
    names = ", ".join(escape_unprintable(PurePosixPath(path).name) for path in paths[:3])
    return f"{names} and {len(paths) - 3} more" if len(paths) > 3 else names
