"""Store students' notebooks in the classroom, as DIR/submitted/<student>/<lab>/<lab>.ipynb.

Of each submission, one notebook counts, which is chosen before any notebook is read. Of a student's
submissions for a lab, the newest is filed, with a timestamp.txt beside it if its time is known. The
earlier ones are kept in DIR/submitted-earlier/.

Where a submission came from, its origin, is written to DIR/collected/<student>/<lab>.json. By it, a
later run tells newer from older attempts, and feedback gets the file names that the platform
expects. DIR/collected/<student>/<lab>.uploads says from which upload each earlier attempt came. The
origin does not lie beside the submission, because a student who submits through
nbgrader's exchange could put a file of that name there.

If one submission cannot be filed, the reason is reported and the others are filed.
"""

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograder.core.errors import AutograderError
from autograder.core.files import explain_unusable_name, is_disk_error, read_json, write_file
from autograder.core.text_format import format_count
from autograder.intake.archives import describe_error, open_submitted_file, read_file
from autograder.intake.finder import MAX_TIMESTAMP_BYTES, Attempt, FileOutcome, FileReport
from autograder.intake.names import (
    copy_number,
    describe_account,
    escape_unprintable,
    get_stem,
    to_nfc,
)
from autograder.intake.platform_metadata import find_timezone, parse_timestamp
from autograder.intake.roster import PlatformIdentity
from autograder.intake.upload_limits import LIMITS, FileRefused, PerStudentReadingBudget

TIMESTAMP_FORMAT = "%Y-%m-%d %H:%M:%S UTC"  # date, time and zone, for nbgrader's parse_utc
FORMAT_VERSION = 1
MAX_ORIGIN_BYTES = 100_000
STALE_SECONDS = 3600  # age of temporary files to delete; a running `collect` may need younger ones
_EARLIER_TIME_FORMAT = "%Y%m%dT%H%M%SZ"  # in the names of earlier attempts
_MAX_ZONE_DIFFERENCE_SECONDS = 26 * 3600
_ZONE_STEP_SECONDS = 900  # time zones differ by quarters of an hour


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Origin of a stored submission: its platform, account, time, and hash of the file.

    Parameters
    ----------
    platform : str
        "Canvas", "Moodle", … or "folder"; "" for a submission that the instructor put into
        submitted/ by hand.
    name, login, email, lms_id, sid : str
        Identifiers of the person or group, as the platform has them. `lms_id` is the number that
        the platform, such as Canvas or Brightspace, gave to the person.
    participant : str
        Moodle's number of the person, which holds for this assignment only.
    account : str
        Identifier that tells two accounts of the same name on the platform apart.
    original : str
        Part of the path that the platform wrote, such as "lovelaceada_12345_678_", or a folder with
        "/" at its end.
    file : str
        The student's own name of the file.
    submission_time : str or None
        Time of the submission, such as "2026-11-20 14:03:22 UTC"; None if unknown.
    late : bool
        True if the platform marks the submission as late.
    number : int
        Number of the upload. If the platform gives none, the number of the copy in the file's name,
        such as 2 in "lab (2).ipynb".
    members : tuple of str
        All students who submitted it together; () for a student alone.
    time : float
        Time of the submission if it is known, else of the file, in seconds since 1970.
    inside : float
        Time that the student's zip gives to the file; 0 for a file in no such zip.
    zone : str
        Time zone in which the time was read, such as "Europe/Paris", if the platform names none.
    sha256 : str
        Hash of the notebook's bytes.
    """

    platform: str = ""
    name: str = ""
    login: str = ""
    email: str = ""
    lms_id: str = ""
    sid: str = ""
    participant: str = ""
    account: str = ""
    original: str = ""
    file: str = ""
    submission_time: str | None = None
    late: bool = False
    number: int = 0
    members: tuple[str, ...] = ()
    time: float = 0.0
    inside: float = 0.0
    zone: str = ""
    sha256: str = ""

    @property
    def identity(self) -> PlatformIdentity:
        """Identifiers with which the person can be found in the roster."""
        number = "brightspace" if self.platform == "Brightspace" else "lms_id"
        identifiers = {key: getattr(self, key) for key in ("name", "login", "email", "sid")}
        github = self.account if self.platform == "GitHub" else ""
        return PlatformIdentity(
            **identifiers, **{number: self.lms_id}, github=github, participant=self.participant
        )

    def is_from_another_account(self, other: "Origin") -> bool:
        """Return True if the two submissions certainly came from different accounts.

        Return False if one of the two submissions was put into submitted/ by hand.
        """
        if not self.platform or not other.platform:  # put there by hand
            return False
        if self.platform != other.platform:
            return True
        account = to_nfc(self.account or self.participant or self.lms_id)
        other_account = to_nfc(other.account)
        return bool(account and other_account) and account != other_account

    def __str__(self) -> str:
        return describe_account(self.platform, self.name, self.account)

    def is_newer_than(self, other: "Origin") -> bool:
        if self.platform == other.platform == "Canvas" and self.lms_id == other.lms_id:
            # To find the newer upload, compare the upload IDs that Canvas assigned. The files'
            # times are all the time of the download.
            return (self.number, self.inside) > (other.number, other.inside)
        times = self.time, other.time
        if self.zone and other.zone and self.zone != other.zone:
            # The two runs read the platform's times in different zones. So compare the times as
            # the platform wrote them.
            times = self._wall_clock_time(), other._wall_clock_time()
        return (times[0], self.inside, self.number) > (times[1], other.inside, other.number)

    def _wall_clock_time(self) -> float:
        """Return the time that the platform wrote, in seconds, as if it were in UTC."""
        zone = find_timezone(self.zone) or UTC
        return datetime.fromtimestamp(self.time, zone).replace(tzinfo=UTC).timestamp()


_FIELD_TYPES: Mapping[str, tuple[type, ...]] = {
    **{field.name: (str,) for field in fields(Origin)},
    "submission_time": (str, type(None)),
    "late": (bool,),
    "number": (int,),
    "members": (tuple,),
    "time": (int, float),
    "inside": (int, float),
}


def make_origin(attempt: Attempt) -> Origin:
    """Return the origin (platform, account, time) of a submitted notebook, without its hash."""
    identity, owner = attempt.identity, attempt.owner
    name = identity.name
    if not name and attempt.person:
        name = attempt.person.name
    return Origin(
        platform=owner.platform,
        name=name,
        login=identity.login,
        email=identity.email,
        lms_id=identity.lms_id or identity.brightspace,
        sid=identity.sid,
        participant=identity.participant,
        account=identity.distinguishing_identifier,
        original=owner.platform_path,
        file=attempt.name.rpartition("/")[2].removeprefix(owner.platform_path),
        submission_time=attempt.submitted_at.strftime(TIMESTAMP_FORMAT)
        if attempt.submitted_at
        else None,
        late=owner.is_late,
        number=owner.upload_number or copy_number(attempt.name),
        members=attempt.members,
        time=attempt.time,
        inside=attempt.time_in_zip,
        zone=attempt.zone,
    )


def read_origin(root: Path, student: str, lab: str) -> Origin | None:
    """Return the record of a submission's origin; None if `collect` has not stored it.

    Parameters
    ----------
    root : Path
        Folder of the classroom.
    """
    try:
        path = _LinkFreeFolders(root).path_without_links("collected", student) / f"{lab}.json"
        record: Any = json.loads(read_file(path, MAX_ORIGIN_BYTES))
        if record.pop("version") != FORMAT_VERSION:
            return None
        origin = Origin(**{**record, "members": tuple(record["members"])})
    except (FileRefused, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    for name, types in _FIELD_TYPES.items():
        if not isinstance(getattr(origin, name), types):
            return None
    return origin


def read_origins(root: Path) -> dict[tuple[str, str], Origin]:
    """Return the origins of all submissions that `collect` has stored, by (student, lab)."""
    origins = {}
    for path in sorted((root / "collected").glob("*/*.json")):
        origin = read_origin(root, path.parent.name, path.stem)
        if origin:
            origins[path.parent.name, path.stem] = origin
    return origins


def store_submissions(
    attempts: Sequence[Attempt],
    root: Path,
    budget: PerStudentReadingBudget,
    replaces: bool = False,
    update_times: bool = False,
) -> list[FileReport]:
    """Store submitted notebooks (attempts) in the classroom.

    Parameters
    ----------
    root : Path
        Folder of the classroom.
    replaces : bool
        Let a newer submission replace a submission of another platform or account. Also let it do
        so if students chose the name by which the submission is filed.
    update_times : bool
        Let the times of the attempts replace those that an earlier run wrote. Set this if the times
        were read in a time zone that the instructor named.

    Returns
    -------
    list of FileReport
        One report for each attempt.

    Raises
    ------
    AutograderError
        If the disk is full or cannot be written to.
    """
    _delete_stale_files(root)
    groups: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        groups[attempt.student, attempt.lab].append(attempt)
    options = _StoringOptions(_LinkFreeFolders(root), budget, replaces, update_times)
    reports = []
    for key in sorted(groups):
        reports += _store_attempts_of_student_and_lab(groups[key], options)
    return reports


def _delete_stale_files(root: Path) -> None:
    """Delete the temporary files that killed runs of `collect` left behind."""
    for path in root.glob("submitted*/*/*/.collect-*.part"):
        with suppress(OSError):
            if time.time() - path.lstat().st_ctime > STALE_SECONDS:
                path.unlink()


def _store_attempts_of_student_and_lab(
    attempts: list[Attempt], options: "_StoringOptions"
) -> list[FileReport]:
    """Store the notebooks that one student submitted for one lab; the newest one counts.

    The only errors raised are those of the disk. Any other error becomes a report.
    """
    by_submission: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        by_submission[attempt.submission_key].append(attempt)
    submissions = [sorted(files, key=_precedence_key) for files in by_submission.values()]
    # Store the newest submission first. The older ones, which follow, then go straight to
    # submitted-earlier/, and none is replaced.
    submissions.sort(key=lambda files: _chronological_key(files[-1]), reverse=True)
    reports: list[FileReport] = []
    for *superseded_files, attempt in submissions:
        try:
            report = _store_one_submission(attempt, options)
        except FileRefused as error:  # then refuse the other files of the submission, too
            for file in (*superseded_files, attempt):
                reports.append(_make_file_report(file, FileOutcome.REFUSED, str(error)))
            continue
        if superseded_files:
            reason = (
                f"Of {format_count(1 + len(superseded_files), 'notebook')} in this submission, "
                f"{escape_unprintable(attempt.name.rpartition('/')[2], 60)} counts: "
                f"{_deciding_rule(attempt, superseded_files[-1])}."
            )
            for file in superseded_files:
                reports.append(
                    _make_file_report(file, FileOutcome.OLDER, reason, needs_review=True)
                )
        reports.append(report)
    return reports


def _store_one_submission(attempt: Attempt, options: "_StoringOptions") -> FileReport:
    """Store one submitted notebook in the student's folder; return a report on what was done.

    Raises
    ------
    FileRefused
        If the attempt must not be filed.
    AutograderError
        If the disk is full or cannot be written to.
    """
    try:
        return _SubmissionWriter(attempt, options).store_unless_older()
    except FileRefused:
        raise
    except Exception as error:  # noqa: BLE001 - an error with one submission must not stop the run
        if isinstance(error, OSError) and is_disk_error(error):
            path = escape_unprintable(str(error.filename or options.folders.root))
            raise AutograderError(
                f"{path}: {error.strerror}. What was filed so far stays, and the same command "
                "goes on from there."
            ) from None
        reason = f"It could not be filed: {describe_error(error)}."
        return _make_file_report(attempt, FileOutcome.REFUSED, reason)


def _chronological_key(attempt: Attempt) -> tuple[float, float, int]:
    number = attempt.owner.upload_number or copy_number(attempt.name)
    return attempt.time, attempt.time_in_zip, number


# Rules for choosing which notebook counts if a submission has several. The first rule whose values
# differ decides, and the notebook with the largest value counts.
_COUNTING_RULES: Mapping[str, Callable[[Attempt], Any]] = {
    "the upload's number is the largest": lambda attempt: attempt.owner.upload_number,
    # Compare times in steps of two seconds, because zips store them so.
    "it is the newest": lambda attempt: int((attempt.time_in_zip or attempt.time) // 2),
    "it has the largest copy number": lambda attempt: copy_number(attempt.name),
    "it is called after the lab": lambda attempt: get_stem(attempt.name) == attempt.lab,
    "it comes last in the alphabet": lambda attempt: attempt.name,
}


def _precedence_key(attempt: Attempt) -> list[Any]:
    return [value_of(attempt) for value_of in _COUNTING_RULES.values()]


def _deciding_rule(first: Attempt, second: Attempt) -> str:
    """Return the name of the rule by which one of two files of the same submission is chosen."""
    for rule, value_of in _COUNTING_RULES.items():
        if value_of(first) != value_of(second):
            return rule
    return list(_COUNTING_RULES)[-1]


def _make_file_report(
    attempt: Attempt, outcome: FileOutcome, reason: str = "", path: str = "", **options: Any
) -> FileReport:
    identified_by = attempt.owner.identified_by
    if attempt.person:
        identified_by += " and roster.csv"
    return FileReport(
        source=escape_unprintable(attempt.source),
        student=attempt.student,
        lab=attempt.lab,
        outcome=outcome,
        reason=" ".join([part for part in (reason, *attempt.notes) if part]),
        path=path,
        identified_by=identified_by,
        student_chosen=attempt.owner.student_chosen,
        in_default_zone=attempt.owner.in_default_zone and not options.get("time_kept", False),
        **options,
    )


class _LinkFreeFolders:
    """Access to the folders in the classroom that never follows a symbolic link."""

    def __init__(self, root: Path):
        self.root = root

    def path_without_links(self, *parts: str) -> Path:
        """Return the path of a folder in the classroom, which need not exist.

        Raises `FileRefused` if a link or a file is in its place, or its name is unusable.
        """
        path = self.root
        for part in parts:
            problem = explain_unusable_name(path, part)
            if problem:
                raise FileRefused(f"{self.relative(path / part)} {problem}.")
            path = path / part
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                raise FileRefused(
                    f"{self.relative(path)} is a link or a file where a folder should be.",
                )
        return path

    def relative(self, path: Path) -> str:
        """Return a path relative to the classroom, as reports show it."""
        return path.relative_to(self.root).as_posix()


@dataclass(frozen=True)
class _StoringOptions:
    """Settings for storing submissions: the classroom, and the options of `store_submissions`."""

    folders: _LinkFreeFolders
    budget: PerStudentReadingBudget
    replaces: bool
    update_times: bool


class _SubmissionWriter:
    """Writer of one submitted notebook, which never overwrites a newer submission."""

    def __init__(self, attempt: Attempt, options: _StoringOptions):
        self.attempt = attempt
        self._options, self._folders = options, options.folders
        self._student, self._lab = attempt.student, attempt.lab
        self._folder = self._folders.path_without_links("submitted", self._student, self._lab)
        self._path = self._folder / f"{self._lab}.ipynb"

    def store_unless_older(self) -> FileReport:
        """Store the notebook unless a newer submission is in submitted/; return a report."""
        current_path, current = read_stored_submission(self._folders.root, self._student, self._lab)
        content = self.attempt.file.read_chunks(LIMITS.max_notebook_bytes)
        self._data = b"".join(self._options.budget.count_bytes(self._student, content))
        new = replace(make_origin(self.attempt), sha256=hashlib.sha256(self._data).hexdigest())
        if current is None or current_path is None:
            return self._replace_current(new, None, None)
        same_bytes = current.sha256 == new.sha256
        if same_bytes and new.submission_time in (None, current.submission_time):
            return self._report_unchanged(current_path)
        if same_bytes and self._is_same_upload(current, new):
            if self._options.update_times:
                return self._update_time(current_path, new)
            # The notebook is stored already, with another time. The new time was read in the
            # default time zone. Keep the stored time: an earlier run may have read it in a time
            # zone that the instructor named.
            if self.attempt.owner.in_default_zone:
                return self._report_unchanged(current_path, time_kept=True)
        # The stored submission may be the same file without a known time. Then replace it, and do
        # not keep it as an earlier attempt.
        gains_time = same_bytes and current.submission_time is None
        is_newer = new.is_newer_than(current)
        if not self._options.replaces and (
            is_newer or not self._find_earlier_attempts_with_same_hash(new)
        ):
            self._refuse_if_of_another_person(current, new, same_bytes)
        if is_newer or gains_time:
            return self._replace_current(new, current_path, None if gains_time else current)
        reason = "A newer attempt is there."
        if not current.is_newer_than(new):
            reason = "An attempt of the same time is there already."
        return _make_file_report(
            self.attempt, FileOutcome.OLDER, reason, self._store_as_earlier_attempt(new)
        )

    def _replace_current(
        self,
        new: Origin,
        current_path: Path | None,
        replaced_origin: Origin | None,
    ) -> FileReport:
        """Store the notebook, and move the submission that it replaces to submitted-earlier/.

        Parameters
        ----------
        new : Origin
            Origin of the attempt.
        current_path : Path or None
            Path of the submission that is there; None if there is none.
        replaced_origin : Origin or None
            Origin of the submission that is there; None if it is not to be kept.
        """
        earlier_path = None
        with self._write_temporary_notebook(self._path, new) as temporary_path:
            timestamp_path = self._folder / "timestamp.txt"
            if new.submission_time:  # written before any file is moved, since the disk may be full
                write_file(timestamp_path, f"{new.submission_time}\n")
            else:
                timestamp_path.unlink(missing_ok=True)  # it has the time of another attempt
            if current_path and replaced_origin:
                earlier_path = self._earlier_folder / make_earlier_attempt_file_name(
                    replaced_origin
                )
                earlier_path.parent.mkdir(parents=True, exist_ok=True)
                current_path.replace(earlier_path)
                write_time_of_earlier_attempt(earlier_path, replaced_origin)
                self._record_upload(earlier_path, replaced_origin)
            temporary_path.replace(self._path)
        if current_path and current_path != self._path:
            current_path.unlink(missing_ok=True)
        self._write_origin(new)
        reason = replaced_path = ""
        if earlier_path:
            replaced_path = self._folders.relative(earlier_path)
            reason = f"It replaces an earlier attempt, which is kept as {replaced_path}."
        path = self._folders.relative(self._path)
        return _make_file_report(
            self.attempt,
            FileOutcome.FILED,
            reason,
            path,
            replaced_path=replaced_path,
        )

    def _report_unchanged(self, path: Path, time_kept: bool = False) -> FileReport:
        relative_path = self._folders.relative(path)
        return _make_file_report(
            self.attempt, FileOutcome.UNCHANGED, path=relative_path, time_kept=time_kept
        )

    def _is_same_upload(self, current: Origin, new: Origin) -> bool:
        """Return True if two records of submissions show that both are the same upload.

        That part of the path has the time or the number of the upload, if the platform gives one.
        """
        if not new.original or current.is_from_another_account(new):
            return False
        return (current.platform, current.original) == (new.platform, new.original)

    def _update_time(self, current_path: Path, new: Origin) -> FileReport:
        """Change the submission time of a stored submission, and leave its notebook as it is."""
        write_file(self._folder / "timestamp.txt", f"{new.submission_time}\n")
        os.utime(current_path, (new.time, new.time))
        self._write_origin(new)
        reason, path = (
            f"Its time is now {new.submission_time}.",
            self._folders.relative(current_path),
        )
        return _make_file_report(
            self.attempt, FileOutcome.UNCHANGED, reason, path, time_changed=True
        )

    def _write_origin(self, origin: Origin) -> None:
        """Save the origin (platform, account, time) of the submission that is now in submitted/."""
        path = self._folders.path_without_links("collected", self._student) / f"{self._lab}.json"
        record = {"version": FORMAT_VERSION, **asdict(origin)}
        write_file(path, json.dumps(record, ensure_ascii=True, indent=1) + "\n")

    def _refuse_if_of_another_person(self, current: Origin, new: Origin, same_bytes: bool) -> None:
        """Raise `FileRefused` if the submission to be replaced may be another person's.

        Parameters
        ----------
        current : Origin
            Origin of the submission that is there.
        new : Origin
            Origin of the attempt.
        same_bytes : bool
            True if both are the same file.
        """
        remedy = (
            "If both are this student's, collect it with --replace; if not, put a roster that "
            "tells them apart into the classroom, and move the wrong one away."
        )
        # The members of a group may change if Moodle's number identifies the group. Otherwise a
        # change is refused, since on Gradescope a student could add anybody as a partner.
        other_members = current.members != new.members and not current.participant
        if current.is_from_another_account(new) or other_members:
            raise FileRefused(
                f"The submission that is there came from {current}, this one from {new}. {remedy}"
            )
        if self.attempt.owner.student_chosen and not same_bytes:
            raise FileRefused(
                f"There is a submission of this name, and students choose such names themselves. {remedy}"
            )

    @property
    def _earlier_folder(self) -> Path:
        return self._folders.path_without_links("submitted-earlier", self._student, self._lab)

    def _find_earlier_attempts_with_same_hash(self, origin: Origin) -> list[Path]:
        """Return the paths of the files in submitted-earlier/ with the same bytes as a notebook."""
        return sorted(self._earlier_folder.glob(f"*-{origin.sha256[:12]}.ipynb"))

    def _store_as_earlier_attempt(self, origin: Origin) -> str:
        """Store in submitted-earlier/ a notebook that is not the student's newest; return its path.

        If the same attempt is there already, return the path of that file.
        """
        path = self._earlier_folder / make_earlier_attempt_file_name(origin)
        copies = self._find_earlier_attempts_with_same_hash(origin)
        if path in copies:
            return self._folders.relative(path)
        if copies and origin.submission_time is None:  # the file's time may be the download's
            return self._folders.relative(copies[0])
        with self._write_temporary_notebook(path, origin) as temporary_path:
            temporary_path.replace(path)
        write_time_of_earlier_attempt(path, origin)
        if self._options.update_times:
            uploads = read_json(self._uploads_path)
            for copy in copies:
                # The same bytes may have been submitted twice. Then both attempts stay.
                is_same_upload = uploads.get(copy.name, origin.original) == origin.original
                if is_same_upload and _differs_only_by_time_zone(copy, origin):
                    copy.unlink()
                    copy.with_suffix(".txt").unlink(missing_ok=True)
        self._record_upload(path, origin)
        return self._folders.relative(path)

    @property
    def _uploads_path(self) -> Path:
        """File that says from which upload each earlier attempt came, as the platform named it."""
        return self._folders.path_without_links("collected", self._student) / f"{self._lab}.uploads"

    def _record_upload(self, earlier_path: Path, origin: Origin) -> None:
        """Write down from which upload an earlier attempt came."""
        uploads = read_json(self._uploads_path) | {earlier_path.name: origin.original}
        uploads = {
            name: text for name, text in uploads.items() if (self._earlier_folder / name).is_file()
        }
        write_file(self._uploads_path, json.dumps(uploads, indent=1) + "\n")

    @contextmanager
    def _write_temporary_notebook(self, path: Path, origin: Origin) -> Iterator[Path]:
        """Write the notebook to a temporary file beside `path`, for the caller to rename.

        After an error the file is deleted. A folder that was made for the file is deleted, too,
        since an empty folder would count as a submission.
        """
        folder, folder_existed = path.parent, path.parent.exists()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle, name = tempfile.mkstemp(prefix=".collect-", suffix=".part", dir=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(self._data)
                os.chmod(name, 0o644)
                os.utime(name, (origin.time, origin.time))
                yield Path(name)
            finally:
                Path(name).unlink(missing_ok=True)
        except BaseException:
            if not folder_existed:
                shutil.rmtree(folder, ignore_errors=True)
                with suppress(OSError):  # raised if the student has submitted other labs
                    folder.parent.rmdir()
            raise


def read_stored_submission(root: Path, student: str, lab: str) -> tuple[Path | None, Origin | None]:
    """Return path and origin of the submission in submitted/; (None, None) if there is none.

    If `collect` has not filed it, or it was changed since, the origin has only its time and hash.

    Raises
    ------
    FileRefused
        If something else is in the place of the notebook.
    """
    folders = _LinkFreeFolders(root)
    folder = folders.path_without_links("submitted", student, lab)
    path = folder / f"{lab}.ipynb"
    if not os.path.lexists(path):
        # Grading accepts a notebook of any name if it is the only one in the folder. So accept it
        # here, too.
        notebooks = [path for path in folder.glob("*.ipynb") if not path.name.startswith(".")]
        if len(notebooks) != 1:
            return None, None
        path = notebooks[0]
    try:
        with open_submitted_file(path) as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            file_time = os.fstat(file.fileno()).st_mtime
    except FileRefused as error:
        raise FileRefused(f"{folders.relative(path)} is in the way: {error}") from None
    origin = read_origin(root, student, lab)
    if origin and origin.sha256 == sha256:
        return path, origin
    # The instructor put this submission here by hand, or changed it after `collect` had stored it.
    timestamp = _read_timestamp(folder / "timestamp.txt")
    if timestamp is None:
        return path, Origin(time=file_time, sha256=sha256)
    text = timestamp.strftime(TIMESTAMP_FORMAT)
    return path, Origin(submission_time=text, time=timestamp.timestamp(), sha256=sha256)


def write_time_of_earlier_attempt(path: Path, origin: Origin) -> None:
    """Write the time of an earlier submission, if known, to a text file beside the notebook.

    The time in the name of an earlier attempt may be only that of the download.
    """
    if origin.submission_time:
        write_file(path.with_suffix(".txt"), f"{origin.submission_time}\n")


def make_earlier_attempt_file_name(origin: Origin) -> str:
    time_text = datetime.fromtimestamp(origin.time, UTC).strftime(_EARLIER_TIME_FORMAT)
    return f"{time_text}-{origin.sha256[:12]}.ipynb"


def _differs_only_by_time_zone(earlier_path: Path, origin: Origin) -> bool:
    """Return True if two times may be the same time read in two time zones.

    Parameters
    ----------
    earlier_path : Path
        Earlier attempt, whose name begins with its time.
    origin : Origin
        Origin with the other time.
    """
    earlier_time = datetime.strptime(
        earlier_path.name.partition("-")[0], _EARLIER_TIME_FORMAT
    ).replace(
        tzinfo=UTC,
    )
    seconds = abs(earlier_time.timestamp() - int(origin.time))
    return seconds % _ZONE_STEP_SECONDS == 0 and seconds <= _MAX_ZONE_DIFFERENCE_SECONDS


def _read_timestamp(path: Path) -> datetime | None:
    """Return the time in a timestamp.txt, which nbgrader or a person wrote; None without one."""
    with suppress(FileRefused, UnicodeDecodeError):
        text = read_file(path, MAX_TIMESTAMP_BYTES).decode("utf-8").strip()
        return parse_timestamp(text, UTC)
    return None
