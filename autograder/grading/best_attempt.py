"""Grading of all attempts, if course.toml has `attempts = "best"` under [policy].

Each attempt at a lab is graded once; the module `attempt_choice` then chooses the one that counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from autograder.authoring.lab import Lab
from autograder.gradebook import result_store
from autograder.gradebook.attempt_choice import (
    GradedAttempt,
    find_best_attempt,
    read_attempt_index,
    store_attempt,
    store_counted_attempt,
    write_attempt_index,
)
from autograder.gradebook.class_list import read_class_list
from autograder.gradebook.classroom import Classroom, Submission
from autograder.gradebook.deadlines import Deadlines, parse_timestamp, read_class_deadlines
from autograder.gradebook.graded_submission import GradedSubmission, GradingOptions
from autograder.gradebook.policy import Policy
from autograder.grading.pool import GradingPool


@dataclass(frozen=True)
class _Attempt:
    """One of several notebooks that a student submitted for a lab: its fingerprint and its time."""

    fingerprint: str
    submitted_at: datetime | None


_Key = tuple[str, str]  # student and lab
# The submissions of each student for each lab, by file name. The key of a student's newest
# submission is "".
_Attempts = Mapping[_Key, Mapping[str, _Attempt]]
# The graded attempts of each student for each lab, by their fingerprints.
_GradedAttempts = dict[_Key, dict[str, GradedAttempt]]


def choose_best_attempts(
    classroom: Classroom,
    labs: Mapping[str, Lab],
    submissions: Iterable[tuple[str, str]],
    policy: Policy,
    pool: GradingPool,
    options: GradingOptions,
    force: bool = False,
) -> Iterator[str]:
    """Choose and store which submission counts if a student has submitted a lab several times.

    Attempts that have no stored result yet are graded first.

    Parameters
    ----------
    submissions : iterable of (str, str)
        Student and lab of each submission.
    force : bool
        Grade all attempts again, even those with a stored result.

    Yields
    ------
    str
        A sentence about each attempt that could not be graded.
    """
    class_list = read_class_list(classroom)
    deadlines = read_class_deadlines(classroom, policy, class_list)
    roster_times = class_list.read_roster_submission_times(policy)
    attempts = _list_repeated_submissions(classroom, labs, submissions, roster_times, options)
    graded: _GradedAttempts = {key: {} for key in attempts}
    if not force:
        for key in attempts:
            for entry in read_attempt_index(classroom, *key):
                graded[key][entry.fingerprint] = entry
    for submission, outcome in pool.grade_all(
        _read_attempts_without_result(classroom, attempts, graded)
    ):
        student, lab = submission.student, submission.lab
        if isinstance(outcome, GradedSubmission) and not outcome.faults:
            fingerprint = result_store.fingerprint_submission(submission, labs[lab], options)
            store_attempt(classroom, student, lab, fingerprint, outcome)
            shares = {}
            for result in outcome.results:
                if result.earned_share:
                    shares[result.exercise] = result.earned_share
            graded[student, lab][fingerprint] = GradedAttempt(fingerprint, shares)
        else:
            problem = "one of several attempts could not be judged, and is no choice yet"
            yield f"{student}, {lab}: {problem}."
    for key, by_name in attempts.items():
        _store_index_and_best_attempt(classroom, key, by_name, graded[key], policy, deadlines)


def _list_repeated_submissions(
    classroom: Classroom,
    labs: Mapping[str, Lab],
    submissions: Iterable[_Key],
    roster_times: Mapping[_Key, datetime],
    options: GradingOptions,
) -> _Attempts:
    """Return the submissions of each student who has submitted a lab repeatedly.

    The notebooks are read one submission at a time and not kept, since those of a whole class may
    not fit into memory.
    """
    attempts: dict[_Key, dict[str, _Attempt]] = {}
    for key in submissions:
        by_name = classroom.read_attempts(*key)
        if len(by_name) < 2:
            continue
        attempts[key] = {}
        for name, attempt in by_name.items():
            fingerprint = result_store.fingerprint_submission(attempt, labs[key[1]], options)
            submitted_at = roster_times.get(key) or parse_timestamp(attempt.timestamp)
            attempts[key][name] = _Attempt(fingerprint, submitted_at)
    return attempts


def _read_attempts_without_result(
    classroom: Classroom,
    attempts: _Attempts,
    graded: _GradedAttempts,
) -> Iterator[Submission]:
    """Return an iterator over the submissions that have not been graded yet.

    It reads each attempt's notebook only when the next attempt is asked for.
    """
    ungraded_names = []
    for key, by_name in attempts.items():
        for name, attempt in by_name.items():
            if attempt.fingerprint not in graded[key]:
                ungraded_names.append((key, name))
    return _read_each(classroom, ungraded_names)


def _read_each(classroom: Classroom, names: Iterable[tuple[_Key, str]]) -> Iterator[Submission]:
    for key, name in names:
        attempt = classroom.read_attempt(*key, name)
        if attempt:
            yield attempt


def _store_index_and_best_attempt(
    classroom: Classroom,
    key: _Key,
    attempts: Mapping[str, _Attempt],
    graded: Mapping[str, GradedAttempt],
    policy: Policy,
    deadlines: Deadlines,
) -> None:
    """Store what each submission earned, and the file name of the best submission."""
    current: dict[str, GradedAttempt] = {}
    shares_by_name = {}
    for name, attempt in attempts.items():
        entry = graded.get(attempt.fingerprint)
        if entry:
            current[attempt.fingerprint] = entry
            shares_by_name[name] = (attempt.submitted_at, entry.shares)
    write_attempt_index(classroom, *key, list(current.values()))
    store_counted_attempt(
        classroom, *key, find_best_attempt(key, shares_by_name, policy, deadlines)
    )
