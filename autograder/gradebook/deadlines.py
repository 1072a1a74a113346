"""Due dates, extensions and submission times of a class.

Dates in course.toml and the roster override those in nbgrader's gradebook.
"""

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nbgrader import api
from nbgrader.utils import parse_utc

from autograder.gradebook.class_list import ClassList
from autograder.gradebook.classroom import Classroom, is_behind_link, read_small_text
from autograder.gradebook.nbgrader_db import gradebook_exists, open_gradebook, translate_read_errors
from autograder.gradebook.policy import VALID_YEARS, Policy, SubmissionTiming, to_naive_utc

SubmissionKey = tuple[str, str]  # student and lab
# Do not parse numbers with ten digits or exponents, such as 1e999999: date parsers may take hours
# for them.
_IMPLAUSIBLE_TIME = re.compile(r"\d{10}|\d[eE]|.{101}", re.DOTALL)


@dataclass(frozen=True)
class Deadlines:
    """Due dates and extensions of a class.

    Parameters
    ----------
    due_dates : mapping of str to datetime
        Due date of each lab that has a due date, in UTC but without a time zone.
    extensions : mapping of (student, lab) to timedelta
        Time by which the due date is moved for a student.
    """

    due_dates: Mapping[str, datetime] = field(default_factory=dict)
    extensions: Mapping[tuple[str, str], timedelta] = field(default_factory=dict)

    def make_timing(
        self,
        student: str,
        lab: str,
        submitted_at: datetime | None,
    ) -> SubmissionTiming:
        """Return a submission's time, due date and extension as one record."""
        return SubmissionTiming(
            submitted_at, self.due_dates.get(lab), self.extensions.get((student, lab))
        )

    def find_deadline(self, student: str, lab: str) -> datetime | None:
        """Return a lab's due date for a student, with the extension, in UTC; None if there is none.

        Marks, pages, tables and the term all take the deadline from here.
        """
        deadline = self.make_timing(student, lab, None).deadline
        return deadline and deadline.replace(tzinfo=UTC)

    def with_pseudonyms(self, pseudonyms: Mapping[str, str]) -> "Deadlines":
        """Return a copy of the deadlines with pseudonyms instead of the students' names."""
        extensions = {}
        for (student, lab), extension in self.extensions.items():
            if student in pseudonyms:
                extensions[pseudonyms[student], lab] = extension
        return Deadlines(self.due_dates, extensions)


def read_deadlines(query: Callable | None, policy: Policy, class_list: ClassList) -> Deadlines:
    """Read the due dates and extensions of a class.

    Those in course.toml and the roster override those in the gradebook.

    Parameters
    ----------
    query : callable or None
        The gradebook's `db.query`; None if there is no gradebook yet.
    """
    submission, lab = api.SubmittedAssignment, api.Assignment
    due: dict[str, datetime] = {}
    extensions: dict[SubmissionKey, timedelta] = {}
    if query is not None:
        due = {name: date for name, date in query(lab.name, lab.duedate) if date}
        rows = query(submission.student_id, lab.name, submission.extension)
        for student, name, length in rows.join(lab, submission.assignment_id == lab.id):
            if length:
                extensions[student, name] = length
    return merge_deadlines(policy, class_list, due, extensions)


def merge_deadlines(
    policy: Policy,
    class_list: ClassList,
    gradebook_due: Mapping[str, datetime],
    gradebook_extensions: Mapping[SubmissionKey, timedelta],
) -> Deadlines:
    """Combine the deadlines in course.toml and the roster with those in nbgrader's gradebook.

    Parameters
    ----------
    gradebook_due : mapping of str to datetime
        The gradebook's due date of each lab that has one there, in UTC without a time zone.
    """
    due = dict(gradebook_due)
    due |= {name: to_naive_utc(date) for name, date in policy.due_dates.items() if date}
    roster_extensions = class_list.read_extensions(policy, due)
    return Deadlines(due, {**gradebook_extensions, **roster_extensions})


def read_class_deadlines(classroom: Classroom, policy: Policy, class_list: ClassList) -> Deadlines:
    """Read the due dates and extensions of a class, also those that are only in its gradebook."""
    if not gradebook_exists(classroom.db):
        return read_deadlines(None, policy, class_list)
    with translate_read_errors(classroom.db), open_gradebook(classroom) as gradebook:
        return read_deadlines(gradebook.db.query, policy, class_list)


def read_timings(
    query: Callable,
    policy: Policy,
    class_list: ClassList,
    deadlines: Deadlines | None = None,
) -> dict[SubmissionKey, SubmissionTiming]:
    """Read when each submission in the gradebook was submitted and due, by student and lab.

    Parameters
    ----------
    query : callable
        The gradebook's `db.query`.
    deadlines : Deadlines, optional
        Deadlines of the class; by default they are read with `query`.
    """
    deadlines = deadlines or read_deadlines(query, policy, class_list)
    submission, lab = api.SubmittedAssignment, api.Assignment
    rows = query(submission.student_id, lab.name, submission.timestamp)
    submission_times = {}
    for student, name, timestamp in rows.join(lab, submission.assignment_id == lab.id):
        submission_times[student, name] = timestamp
    return compute_timings(policy, class_list, deadlines, submission_times)


def compute_timings(
    policy: Policy,
    class_list: ClassList,
    deadlines: Deadlines,
    submission_times: Mapping[SubmissionKey, datetime | None],
) -> dict[SubmissionKey, SubmissionTiming]:
    """Return when each submission came and was due, after extending due dates by free late days.

    Parameters
    ----------
    submission_times : mapping of (student, lab) to datetime or None
        Recorded time of each submission, in UTC without a time zone. A time in the roster overrides
        it.
    """
    roster_times = class_list.read_roster_submission_times(policy)
    by_student: dict[str, dict[str, SubmissionTiming]] = {}
    for (student, name), recorded_time in submission_times.items():
        submitted_at = roster_times.get((student, name), recorded_time)
        timing = deadlines.make_timing(student, name, submitted_at)
        by_student.setdefault(student, {})[name] = timing
    timings = {}
    for student, by_lab in by_student.items():
        for name, timing in policy.assign_late_days(by_lab).items():
            timings[student, name] = timing
    return timings


def parse_timestamp(timestamp: str | None) -> datetime | None:
    """Parse the text of a timestamp.txt; None if the text is no time.

    The result is in UTC and has no time zone, as nbgrader's gradebook stores times.
    """
    if not timestamp or _IMPLAUSIBLE_TIME.search(timestamp):
        return None
    try:
        moment = parse_utc(timestamp)
    except Exception:  # noqa: BLE001 - the parser may raise anything for a text that is no time
        return None
    return moment if moment and moment.year in VALID_YEARS else None


def set_aside_invalid_timestamp(folder: Path) -> bool:
    """Rename a submission's timestamp.txt if it holds no time; return whether it was renamed.

    nbgrader reads these files whenever it lists submissions. If one of them is invalid, nbgrader
    fails and shows no list at all.
    """
    path = folder / "timestamp.txt"
    if is_behind_link(folder) or not os.path.lexists(path):
        return False
    if parse_timestamp(read_small_text(path)) is not None:
        return False
    with suppress(OSError):  # leave the file alone if the folder is not writable
        path.replace(path.with_name("timestamp.txt.unreadable"))
        return True
    return False
