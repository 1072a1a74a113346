"""Collect submissions from folders and zips into the classroom, for `autograder collect`."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from autograder.core.errors import UsageError
from autograder.core.text_format import format_count
from autograder.intake.archives import ZipReader
from autograder.intake.filename_patterns import make_pattern_from_option
from autograder.intake.finder import FileOutcome, FileReport, SubmissionFinder
from autograder.intake.names import escape_unprintable, normalise_name
from autograder.intake.ownership import IntakeContext
from autograder.intake.platform_metadata import find_timezone
from autograder.intake.roster import Person, Roster, is_submitted_by_few, read_roster
from autograder.intake.store import Origin, read_origins, store_submissions
from autograder.intake.student_folders import (
    describe_duplicate_folders,
    find_single_existing_folders,
    match_folders,
)
from autograder.intake.upload_limits import PerStudentReadingBudget

if TYPE_CHECKING:
    from rich.table import Table

_CLASSROOM_FOLDERS = (
    "submitted",
    "submitted-earlier",
    "collected",
    "results",
    "autograded",
    "feedback",
    "report",
    "returned",
    "answers",
)
MAX_LISTED_NAMES = 20
MAX_TABLE_ROWS = 20  # most rows of the table for one student and one outcome
_ROUTINE_OUTCOMES = (FileOutcome.FILED, FileOutcome.UNCHANGED, FileOutcome.OLDER)
_OUTCOME_COLOURS = {
    FileOutcome.REFUSED: "red",
    FileOutcome.UNMATCHED: "yellow",
    FileOutcome.WITHOUT_NOTEBOOK: "yellow",
}
_FAILED_OUTCOMES = (FileOutcome.REFUSED, FileOutcome.UNMATCHED, FileOutcome.WITHOUT_NOTEBOOK)


class SubmittersAndAbsentees(NamedTuple):
    """Students of the roster who have submitted a lab, and those who have not, by their folders."""

    submitters: tuple[str, ...]
    absent: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CollectionReport:
    """Report on a run of `collect`.

    Parameters
    ----------
    files : tuple of FileReport
        Reports on all files, in the order of their names.
    notes : tuple of str
        Remarks that concern no single file.
    missing : mapping of str to SubmittersAndAbsentees
        Students of the roster who have submitted a lab and who have not, by lab. Only the labs are listed for
        which this run filed a submission, and of which some are missing.
    untimed_count : int
        Number of this run's submissions whose time is unknown.
    junk_count : int
        Number of files that operating systems and editors made.
    other_file_count : int
        Number of other files that are no notebooks and were submitted together with a notebook.
    """

    files: tuple[FileReport, ...]
    notes: tuple[str, ...] = ()
    missing: Mapping[str, SubmittersAndAbsentees]
    untimed_count: int = 0
    junk_count: int = 0
    other_file_count: int = 0

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 1 if somebody's submission could not be filed, else 0."""
        return int(any(file.outcome in _FAILED_OUTCOMES for file in self.files))

    @property
    def summary(self) -> str:
        """Summary of the run, in one or more lines."""
        lines = [self._format_outcome_counts()]
        replacements = [f"{file.student} ({file.lab})" for file in self.files if file.replaced_path]
        if replacements:
            lines.append(
                "Replaced, the earlier ones being in submitted-earlier/: "
                f"{_join_first_names_and_count_others(replacements)}."
            )
        student_chosen = [
            file.student
            for file in self.files
            if file.outcome is FileOutcome.FILED and file.student_chosen
        ]
        if student_chosen:
            names = _join_first_names_and_count_others(student_chosen)
            lines.append(
                f"Filed under names that students chose themselves, so look at them: {names}.",
            )
        if self.untimed_count:
            lines.append(
                f"{format_count(self.untimed_count, 'submission')} without a time stamp, and so "
                "without a late penalty: nothing says when they came. roster.csv may, in a "
                "column 'Submitted <lab>'."
            )
        time_changes = [f"{file.student} ({file.lab})" for file in self.files if file.time_changed]
        if time_changes:
            names = _join_first_names_and_count_others(time_changes)
            lines.append(f"The time was read anew, in the zone that you named: {names}.")
        kept_times = [f"{file.student} ({file.lab})" for file in self.files if file.time_kept]
        if kept_times:
            lines.append(
                "The times that an earlier run read in another zone stay; say --timezone to change "
                f"them: {_join_first_names_and_count_others(kept_times)}."
            )
        lines += self.notes
        lines += [_describe_missing(lab, people) for lab, people in self.missing.items()]
        return "\n".join(lines)

    def _format_outcome_counts(self) -> str:
        """Return a line with the number of files of each outcome, such as "3 filed, 1 refused."."""
        counts = Counter(file.outcome for file in self.files)
        parts = [f"{counts[outcome]:,} {outcome}" for outcome in FileOutcome if counts[outcome]]
        if not parts:
            parts.append("nothing found")
        if self.other_file_count:
            verb = "is no notebook" if self.other_file_count == 1 else "are no notebooks"
            parts.append(f"{format_count(self.other_file_count, 'file')} beside them that {verb}")
        if self.junk_count:
            parts.append(f"{format_count(self.junk_count, 'system file')} ignored")
        return f"{', '.join(parts)}."

    def make_review_table(self) -> "Table | None":
        """Return a table, for the library rich, of the files that the instructor should look at."""
        from rich.table import Table
        from rich.text import Text

        unusual = [file for file in self.files if file.outcome not in _ROUTINE_OUTCOMES]
        routine = [file for file in self.files if file.outcome in _ROUTINE_OUTCOMES]
        unusual += [file for file in routine if file.needs_review]
        if not unusual:
            return None
        # Two columns, so that nothing is cut into pieces on a terminal of 80 columns.
        table = Table(title="What needs a look", title_justify="left", show_lines=True)
        table.add_column("outcome")
        table.add_column("file, whose it is, and why", overflow="fold")
        order = list(FileOutcome)
        for file in sorted(
            _limit_rows_per_student(unusual), key=lambda file: order.index(file.outcome)
        ):
            colour = _OUTCOME_COLOURS.get(file.outcome, "")
            table.add_row(Text(file.outcome, colour), Text("\n".join(_describe_file(file))))
        return table


def _describe_missing(lab: str, submissions: SubmittersAndAbsentees) -> str:
    """Return a line that names the students without a submission, or the few who have one."""
    submitters, absent = submissions.submitters, submissions.absent
    size = len(submitters) + len(absent)
    if submitters and is_submitted_by_few(len(submitters), size):
        names = _join_first_names_and_count_others(submitters)
        return f"{lab}: only {len(submitters)} of {size} students submitted it ({names}). Is it a mistake?"
    return f"{lab}: {format_count(len(absent), 'submission')} missing ({_join_first_names_and_count_others(absent)})."


def _describe_file(file: FileReport) -> list[str]:
    """Return the lines of the table about one file: its path, its student and lab, and the reason."""
    owner = ", ".join([name for name in (file.student, file.lab) if name])
    if file.identified_by:
        owner += f" (known by {file.identified_by})"
    lines = []
    for text in (file.source, owner, file.reason):
        if text:
            lines.append(escape_unprintable(text, 1000))
    return lines


def _join_first_names_and_count_others(names: Sequence[str]) -> str:
    """Return a text with the first names and the number of the others."""
    text = ", ".join(escape_unprintable(name, 60) for name in names[:MAX_LISTED_NAMES])
    if len(names) > MAX_LISTED_NAMES:
        text += f" and {len(names) - MAX_LISTED_NAMES} more"
    return text


def _limit_rows_per_student(files: Sequence[FileReport]) -> list[FileReport]:
    """Return the first files of each student and outcome, and a remark on how many were left out.

    A student's zip may hold thousands of files that are refused.
    """
    groups: dict[tuple[str, str], list[FileReport]] = defaultdict(list)
    for file in files:
        groups[file.student or file.source.partition("/")[0], file.outcome].append(file)
    rows = []
    for group in groups.values():
        rows += group[:MAX_TABLE_ROWS]
        further_files = group[MAX_TABLE_ROWS:]
        if further_files:
            reason = f"And {format_count(len(further_files), 'more', 'more')} like these."
            rows.append(replace(further_files[0], source="…", reason=reason))
    return rows


def collect(
    paths: Iterable[Path | str],
    root: Path,
    labs: Sequence[str],
    *,
    grade_ids: Mapping[str, str] | None = None,
    timezone: str | None = None,
    course_timezone: str | None = None,
    file_times: bool = False,
    pattern: str | None = None,
    replaces: bool = False,
) -> CollectionReport:
    """Copy the submissions that are in folders and zips into the classroom's folder.

    Parameters
    ----------
    paths : iterable of path
        Folders, zips or notebooks.
    root : Path
        Folder of the classroom. Its roster.csv lists the class, if there is such a file.
    labs : sequence of str
        Labs of the course. Submissions for other labs are reported as unmatched.
    grade_ids : mapping of str to str, optional
        Lab of each nbgrader grade_id that belongs to one lab only. With it, the cells of a notebook
        tell its lab, whatever the name of the file.
    timezone : str, optional
        Time zone of times that name no zone, such as "Europe/Berlin". By default the zone in
        Blackboard's text file, or else the course's. With this option, the times of submissions
        that are filed already are read again.
    course_timezone : str, optional
        The course's time zone; by default UTC.
    file_times : bool
        Take the time at which a file was last changed as the time of its submission, if nothing
        else tells that time. By default it is not used, since Canvas and Moodle give every file the
        time of the download, and Git the time of the clone. All submissions would then be late.
    pattern : str, optional
        Regular expression with named groups, for paths of no known platform.
    replaces : bool
        Let a newer submission replace a submission of another platform or account. Also let it do
        so if students chose the name by which the submission is filed.

    Raises
    ------
    UsageError
        If a path does not exist, or the time zone or the pattern cannot be used.
    AutograderError
        If the roster is wrong, or the classroom cannot be written.
    """
    inputs = [Path(path) for path in paths]
    zone, default_zone = _parse_time_zone_options(timezone, course_timezone)
    filename_pattern = make_pattern_from_option(pattern) if pattern is not None else None
    skip = _check_paths_and_list_folders_to_skip(inputs, root)
    context = _load_intake_context(
        root,
        tuple(labs),
        grade_ids=grade_ids or {},
        zone=zone,
        default_zone=default_zone,
        use_file_times=file_times,
        pattern=filename_pattern,
    )
    budget = PerStudentReadingBudget()
    with ZipReader(zone or default_zone, root if root.is_dir() else None) as zips:
        finder = SubmissionFinder(context, zips, budget)
        for path in inputs:
            finder.search_path(path, skip)
        attempts = finder.match_students()
        filed_reports = store_submissions(
            attempts,
            root,
            budget,
            replaces,
            update_times=zone is not None,
        )
    notes = list(_make_roster_and_zone_notes(context.roster, filed_reports, course_timezone))
    return _make_collection_report(root, context, finder, filed_reports, notes)


def _make_collection_report(
    root: Path,
    context: IntakeContext,
    finder: SubmissionFinder,
    filed_reports: list[FileReport],
    notes: list[str],
) -> CollectionReport:
    """Return the report on a run, which also lists the people whose submissions are missing."""
    origins = read_origins(root)
    people = _match_current_folders(root, context.roster, origins)
    files = []
    for file in [*finder.reports, *filed_reports]:
        source, student = escape_unprintable(file.source), escape_unprintable(file.student)
        files.append(replace(file, source=source, student=student))
    submissions = {
        (file.student, file.lab)
        for file in filed_reports
        if file.outcome in (FileOutcome.FILED, FileOutcome.UNCHANGED)
    }
    labs = sorted({lab for _, lab in submissions}, key=context.labs.index)
    return CollectionReport(
        files=tuple(sorted(files, key=lambda file: (file.source, file.student))),
        notes=(*notes, *describe_duplicate_folders(people)),
        missing=find_submitters_and_absentees(root, context.roster, labs, origins),
        untimed_count=_count_without_timestamp(root, submissions, people),
        junk_count=finder.junk_count,
        other_file_count=finder.other_file_count,
    )


def _parse_time_zone_options(
    timezone: str | None,
    course_timezone: str | None,
) -> tuple[tzinfo | None, tzinfo]:
    """Return two time zones: the one that the instructor named or None, and the course's."""
    zone = None
    if timezone is not None:
        zone = find_timezone(timezone)
        if zone is None:
            raise UsageError(f"There is no time zone {timezone!r}; name one such as Europe/Berlin.")
    default_zone = find_timezone(course_timezone or "UTC")
    if default_zone is None:
        raise UsageError(
            f"course.toml, [policy]: there is no time zone {course_timezone!r}; one is Europe/Berlin."
        )
    return zone, default_zone


def _load_intake_context(root: Path, labs: tuple[str, ...], **options: Any) -> IntakeContext:
    """Return the options of a run, with the roster, the student folders and the stored origins."""
    roster = read_roster(root / "roster.csv")
    folders: tuple[str, ...] = ()
    submitted = root / "submitted"
    if submitted.is_dir():
        folders = tuple(sorted(name for name in os.listdir(submitted) if not name.startswith(".")))
    origins = read_origins(root)
    folder_by_account = {}
    for (student, _), origin in origins.items():
        if origin.lms_id:
            folder_by_account[origin.platform, origin.lms_id] = student
    people = match_folders(roster, folders, origins)
    return IntakeContext(
        labs=labs,
        roster=roster,
        folders=folders,
        folder_by_account=folder_by_account,
        folder_by_student=find_single_existing_folders(people),
        person_by_folder=people,
        **options,
    )


def _match_current_folders(
    root: Path, roster: Roster, origins: Mapping[tuple[str, str], Origin]
) -> dict[str, Person]:
    """Return each person of the roster by the name of the person's folder in submitted/."""
    folder = root / "submitted"
    if not roster.people or not folder.is_dir():
        return {}
    return match_folders(roster, sorted(os.listdir(folder)), origins)


def _count_without_timestamp(
    root: Path, submissions: Iterable[tuple[str, str]], people: Mapping[str, Person]
) -> int:
    """Return the number of submissions of which neither timestamp.txt nor the roster says the time.

    The origin of a submission has the time, too, but a run that was killed may have written only
    the timestamp.txt.
    """
    count = 0
    for student, lab in submissions:
        stated_labs = set()
        if student in people:
            stated_labs = {normalise_name(heading) for heading in people[student].submission_times}
        has_file = (root / "submitted" / student / lab / "timestamp.txt").is_file()
        count += not has_file and normalise_name(lab) not in stated_labs
    return count


def _make_roster_and_zone_notes(
    roster: Roster,
    filed_reports: Iterable[FileReport],
    course_timezone: str | None,
) -> Iterator[str]:
    """Yield remarks about the roster and about times without a zone."""
    for note in roster.notes:
        yield f"roster.csv: {note}"
    if any(report.in_default_zone for report in filed_reports):
        zone = "UTC, as course.toml names no zone"
        if course_timezone:
            zone = f"{course_timezone}, the zone in course.toml"
        yield (
            f"Times without a zone were read in {zone}. If that is wrong, say --timezone and collect again."
        )


def find_submitters_and_absentees(
    root: Path,
    roster: Roster,
    labs: Sequence[str],
    origins: Mapping[tuple[str, str], Origin],
) -> dict[str, SubmittersAndAbsentees]:
    """Return the students of the roster who have submitted each lab, and those who have not.

    Labs that everybody has submitted are left out, and so are people who have left the class.

    Parameters
    ----------
    origins : mapping of (str, str) to Origin
        Origins of all submissions by (student, lab), as they are after the run.
    """
    missing = {}
    for lab in labs:
        folders = (root / "submitted").glob(f"*/{lab}")
        students = {folder.parent.name for folder in folders if folder.is_dir()}
        students |= {person.student for person in match_folders(roster, students, origins).values()}
        enrolled = [person.student for person in roster.people if not person.withdrawn]
        submitters = tuple(student for student in enrolled if student in students)
        absent = tuple(student for student in enrolled if student not in students)
        if absent:
            missing[lab] = SubmittersAndAbsentees(submitters, absent)
    return missing


def _check_paths_and_list_folders_to_skip(
    paths: Sequence[Path],
    root: Path,
) -> set[tuple[int, int]]:
    """Refuse paths that cannot be collected; return the folders that must not be searched.

    Returns
    -------
    set of (device, inode)
        Folders of the classroom, such as submitted/, which must not be searched for submissions.
    """
    if not paths:
        raise UsageError("Nothing to collect: name a folder, a zip or a notebook.")
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is not a folder.")
    folders = [(root / name).resolve() for name in _CLASSROOM_FOLDERS]
    for path in paths:
        if not path.exists():
            raise UsageError(f"There is no {escape_unprintable(str(path))}.")
        place = path.resolve()
        if any(place.is_relative_to(folder) for folder in folders):
            raise UsageError(
                f"{escape_unprintable(str(path))} is the classroom's own; collect from where "
                "submissions arrive."
            )
    statuses = [folder.stat() for folder in folders if folder.is_dir()]
    return {(status.st_dev, status.st_ino) for status in statuses}
