"""Choice of the attempt that counts, of several that a student has submitted for a lab.

With `attempts = "best"` under [policy] in course.toml, the best attempt is the one with the most
automatic points, after the late penalty for that attempt; among equal attempts, it is the newest.
Otherwise the newest attempt counts. An attempt counts as a whole: the lab's mark comes from its
answers, submission time and manual marks only.

    results/<student>/<lab>.attempts         share of the points that each attempt earned
    results/<student>/<lab>.attempt-<hash>   graded result of one attempt, with its executed notebook
    results/<student>/<lab>.counts           file name of the earlier attempt that counts

`autograder grade` writes the first two (see `autograder.grading.best_attempt`). Since they are
kept, the choice can follow a change of course.toml or of the roster without grading anything again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from autograder.authoring.lab import Lab
from autograder.core.files import read_json, write_file
from autograder.core.text_format import format_count
from autograder.gradebook import result_store
from autograder.gradebook.classroom import Classroom, Submission
from autograder.gradebook.deadlines import Deadlines, parse_timestamp
from autograder.gradebook.graded_submission import GradedSubmission, GradingOptions
from autograder.gradebook.policy import Policy

_INVALID_RECORD_ERRORS = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
_HASH_CHARACTERS = 20  # of an attempt's fingerprint, in the name of its file


@dataclass(frozen=True)
class GradedAttempt:
    """Entry of an index of attempts: what one graded attempt earned.

    Parameters
    ----------
    fingerprint : str
        Hash of everything that decides the attempt's result (see `fingerprint_submission`).
    shares : mapping of str to float
        Share of the points, 0 to 1, of each exercise that earned any.
    """

    fingerprint: str
    shares: Mapping[str, float] = field(default_factory=dict)


def read_attempt_index(classroom: Classroom, student: str, lab: str) -> list[GradedAttempt]:
    """Return the attempts that `autograder grade` has graded and whose results are still there."""
    try:
        entries = read_json(classroom.result_path(student, lab, "attempts"))["attempts"]
        attempts = [GradedAttempt(**entry) for entry in entries]
        paths = [_result_path(classroom, student, lab, attempt.fingerprint) for attempt in attempts]
    except _INVALID_RECORD_ERRORS:
        return []
    return [attempt for attempt, path in zip(attempts, paths, strict=True) if path.is_file()]


def write_attempt_index(
    classroom: Classroom, student: str, lab: str, attempts: Sequence[GradedAttempt]
) -> None:
    """Write the index of a student's graded attempts, and delete the results of all others."""
    index = {"attempts": [vars(attempt) for attempt in attempts]}
    write_file(classroom.result_path(student, lab, "attempts"), json.dumps(index))
    kept = {_result_path(classroom, student, lab, attempt.fingerprint).name for attempt in attempts}
    folder = classroom.result_path(student, lab).parent
    for path in folder.glob("*.attempt-*"):
        if path.name.startswith(f"{lab}.attempt-") and path.name not in kept:
            path.unlink(missing_ok=True)


def store_attempt(
    classroom: Classroom, student: str, lab: str, fingerprint: str, graded: GradedSubmission
) -> None:
    """Store the graded result of one attempt, with its executed notebook."""
    write_file(_result_path(classroom, student, lab, fingerprint), graded.to_json())


def load_attempt(
    classroom: Classroom,
    student: str,
    lab: str,
    fingerprint: str,
) -> GradedSubmission | None:
    """Return the graded result of one attempt; None if it is missing or cannot be read."""
    try:
        text = _result_path(classroom, student, lab, fingerprint).read_text("utf-8")
        fields: dict[str, Any] = json.loads(text)
        notebook = NotebookNode(fields["notebook"])
        return GradedSubmission.from_fields(fields, notebook).with_student(student)
    except _INVALID_RECORD_ERRORS:
        return None


def _result_path(classroom: Classroom, student: str, lab: str, fingerprint: str) -> Path:
    return classroom.result_path(student, lab, f"attempt-{fingerprint[:_HASH_CHARACTERS]}")


def store_counted_attempt(classroom: Classroom, student: str, lab: str, name: str) -> None:
    """Store the file name of the attempt that counts; "" stands for the newest attempt."""
    path = classroom.result_path(student, lab, "counts")
    if name:
        write_file(path, name)
    else:
        path.unlink(missing_ok=True)


def find_best_attempt(
    key: tuple[str, str],
    attempts: Mapping[str, tuple[datetime | None, Mapping[str, float]]],
    policy: Policy,
    deadlines: Deadlines,
) -> str:
    """Return the file name of the submission with the most points after its own late penalty.

    Parameters
    ----------
    key : (str, str)
        Student and lab.
    attempts : mapping of str to (datetime or None, mapping of str to float)
        Submission time of each graded attempt, and its share of the points (0 to 1) by exercise,
        the newest attempt first. The newest of equally good attempts is taken.
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


@dataclass(frozen=True)
class NewlyCountedAttempt:
    """Attempt that counts now, in place of the one that counted in the last run of grading.

    Parameters
    ----------
    name : str
        File name of the attempt; "" for the newest one.
    attempt : Submission
    graded : GradedSubmission
        Result of the attempt, with its executed notebook.
    fingerprint : str
        Hash of everything that decides the result.
    """

    name: str
    attempt: Submission
    graded: GradedSubmission
    fingerprint: str


def find_changed_choices(
    classroom: Classroom,
    labs: Mapping[str, Lab],
    policy: Policy,
    deadlines: Deadlines,
    roster_times: Mapping[tuple[str, str], datetime],
) -> Iterator[NewlyCountedAttempt]:
    """Find the submissions for which another attempt counts now than in the last run of grading.

    A change of course.toml, of the roster or of an extension can make another attempt the best.
    Students with an attempt that is not graded yet are left out: grading chooses for them.

    Parameters
    ----------
    roster_times : mapping of (str, str) to datetime
        Submission times that the roster states, by student and lab.
    """
    for key in classroom.list_submissions(list(labs)):
        entries = _read_graded_attempts(classroom, labs, *key)
        if not entries or None in entries.values():
            continue
        name = ""
        if policy.best_attempt:
            shares_by_name = {}
            for file_name, entry in entries.items():
                submitted_at = roster_times.get(key)
                attempt = classroom.read_attempt(*key, file_name)
                if attempt and not submitted_at:
                    submitted_at = parse_timestamp(attempt.timestamp)
                shares_by_name[file_name] = (submitted_at, entry.shares if entry else {})
            name = find_best_attempt(key, shares_by_name, policy, deadlines)
        chosen, attempt = entries[name], classroom.read_attempt(*key, name)
        if not chosen or not attempt:
            continue
        stored_name = classroom.read_counted_name(*key)
        stored_hash = read_json(classroom.result_path(*key)).get("hash")
        if (name, chosen.fingerprint) != (stored_name, stored_hash):
            graded = load_attempt(classroom, *key, chosen.fingerprint)
            if graded:
                yield NewlyCountedAttempt(name, attempt, graded, chosen.fingerprint)


def describe_ungraded_attempts(
    classroom: Classroom,
    labs: Mapping[str, Lab],
    policy: Policy,
) -> list[str]:
    """Return a sentence if some attempts are not graded, so that the best one is unknown."""
    if not policy.best_attempt:
        return []
    count = 0
    for key in classroom.list_submissions(list(labs)):
        if None in _read_graded_attempts(classroom, labs, *key).values():
            count += 1
    if not count:
        return []
    students = format_count(count, "submission")
    return [
        "Not every attempt is graded yet, so it is not known which one is the best for "
        f"{students}: run `autograder grade`."
    ]


def _read_graded_attempts(
    classroom: Classroom, labs: Mapping[str, Lab], student: str, lab: str
) -> dict[str, GradedAttempt | None]:
    """Return the index entry of each attempt by file name; None if the attempt is not graded.

    The dict is empty if there is only one attempt. An attempt that was graded with another version
    of the lab counts as not graded.
    """
    if not classroom.count_earlier_attempts(student, lab):
        return {}
    has_index = classroom.result_path(student, lab, "attempts").is_file()
    if not has_index and classroom.course.policy.get("attempts") != "best":
        return {}
    attempts = classroom.read_attempts(student, lab)
    if len(attempts) < 2:
        return {}
    index = {}
    for entry in read_attempt_index(classroom, student, lab):
        index[entry.fingerprint] = entry
    entries: dict[str, GradedAttempt | None] = {}
    for name, attempt in attempts.items():
        entries[name] = None
        for follow_through in (True, False):
            options = GradingOptions(follow_through=follow_through)
            fingerprint = result_store.fingerprint_submission(attempt, labs[lab], options)
            entries[name] = entries[name] or index.get(fingerprint)
    return entries
