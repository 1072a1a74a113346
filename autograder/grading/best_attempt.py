"""Choice of the submission that counts, if course.toml has `attempts = "best"` under [policy].

Each attempt at a lab is graded. The best attempt is the one with the most automatic points, after
the late penalty for that attempt; among equal attempts, it is the newest. The attempt counts as a
whole: the lab's mark comes from this attempt's answers, submission time and manual marks only.

    results/<student>/<lab>.attempts     share of the points that each attempt earned, by exercise
    results/<student>/<lab>.counts       file name of the earlier attempt that counts
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from autograder.authoring.lab import Lab
from autograder.core.files import read_json, write_file
from autograder.gradebook import result_store
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
_Shares = Mapping[str, float]  # share of the points that a submission earned, 0 to 1, by exercise
# The shares of each submission. The keys are student and lab, and then the fingerprint of the
# submission.
_StoredShares = dict[_Key, dict[str, _Shares]]


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
    stated_times = class_list.read_submission_times(policy)
    attempts = _list_repeated_submissions(classroom, labs, submissions, stated_times, options)
    shares: _StoredShares = {}
    for key in attempts:
        shares[key] = {} if force else read_json(classroom.result_path(*key, "attempts"))
    for submission, outcome in pool.grade_all(_read_attempts_without_result(classroom, attempts, shares)):
        student, lab = submission.student, submission.lab
        if isinstance(outcome, GradedSubmission) and not outcome.faults:
            fingerprint = result_store.submission_fingerprint(submission, labs[lab], options)
            shares[student, lab][fingerprint] = {
                result.exercise: result.earned_share for result in outcome.results if result.earned_share
            }
        else:
            problem = "one of several attempts could not be judged, and is no choice yet"
            yield f"{student}, {lab}: {problem}."
    for key, by_name in attempts.items():
        _store_shares_and_best_attempt(classroom, key, by_name, shares[key], policy, deadlines)


def _list_repeated_submissions(
    classroom: Classroom,
    labs: Mapping[str, Lab],
    submissions: Iterable[_Key],
    stated_times: Mapping[_Key, datetime],
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
            fingerprint = result_store.submission_fingerprint(attempt, labs[key[1]], options)
            submitted_at = stated_times.get(key) or parse_timestamp(attempt.timestamp)
            attempts[key][name] = _Attempt(fingerprint, submitted_at)
    return attempts


def _read_attempts_without_result(
    classroom: Classroom,
    attempts: _Attempts,
    shares: _StoredShares,
) -> Iterator[Submission]:
    """Return an iterator over the submissions that have not been graded yet.

    It reads each attempt's notebook only when the next attempt is asked for.
    """
    ungraded_names = []
    for key, by_name in attempts.items():
        for name, attempt in by_name.items():
            if attempt.fingerprint not in shares[key]:
                ungraded_names.append((key, name))
    return _read_each(classroom, ungraded_names)


def _read_each(classroom: Classroom, names: Iterable[tuple[_Key, str]]) -> Iterator[Submission]:
    for key, name in names:
        attempt = classroom.read_attempt(*key, name)
        if attempt:
            yield attempt


def _store_shares_and_best_attempt(
    classroom: Classroom,
    key: _Key,
    attempts: Mapping[str, _Attempt],
    shares: Mapping[str, _Shares],
    policy: Policy,
    deadlines: Deadlines,
) -> None:
    """Store what each submission earned, and the file name of the best submission."""
    student, lab = key
    current_shares, graded_attempts = {}, {}
    for name, attempt in attempts.items():
        if attempt.fingerprint in shares:
            by_exercise = current_shares[attempt.fingerprint] = shares[attempt.fingerprint]
            graded_attempts[name] = (attempt.submitted_at, by_exercise)
    best = find_best_attempt(key, graded_attempts, policy, deadlines)
    write_file(classroom.result_path(student, lab, "attempts"), json.dumps(current_shares))
    path = classroom.result_path(student, lab, "counts")
    if best:
        write_file(path, best)
    else:
        path.unlink(missing_ok=True)


def find_best_attempt(
    key: tuple[str, str],
    attempts: Mapping[str, tuple[datetime | None, _Shares]],
    policy: Policy,
    deadlines: Deadlines,
) -> str:
    """Return the file name of the submission with the most points after its own late penalty.

    Parameters
    ----------
    key : (str, str)
        Student and lab.
    attempts : mapping of str to (datetime or None, mapping of str to float)
        Submission time of each graded attempt, and its share of the points (0 to 1) by exercise, the
        newest attempt first. The newest of equally good attempts is taken.
    """
    student, lab = key
    points = policy.points[lab]
    scores = {}
    for name, (submitted_at, shares) in attempts.items():
        score = sum(points.get(exercise, 0.0) * share for exercise, share in shares.items())
        timing = deadlines.make_timing(student, lab, submitted_at)
        # Round the score: adding equal points in another order may change its last digit, and two
        # equal submissions would then differ.
        scores[name] = round(score - policy.compute_penalty(score, timing), 6)
    return max(scores, key=scores.__getitem__, default="")
