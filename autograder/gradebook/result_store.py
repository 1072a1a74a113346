"""Cache of grading results: a submission is graded again only if it or its lab has changed.

    results/<student>/<lab>.json         the verdicts, the notes, and a hash of each answer
    autograded/<student>/<lab>/          the executed notebook (nbgrader's own folder)

A result is valid as long as the hash stored with it equals `fingerprint_submission`.
"""

import json
from glob import escape
from pathlib import Path

from autograder.authoring.lab import Lab
from autograder.core.files import hash_parts, write_file
from autograder.core.results import Verdict
from autograder.gradebook.classroom import Classroom, Submission
from autograder.gradebook.fingerprint import fingerprint_lab
from autograder.gradebook.graded_submission import GradedSubmission, GradingOptions

FORMAT_VERSION = 5

_LIMIT_VERDICTS = (Verdict.TIMEOUT, Verdict.CRASH)
_INVALID_RECORD_ERRORS = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def load_result(
    classroom: Classroom, submission: Submission, lab: Lab, options: GradingOptions
) -> GradedSubmission | None:
    """Return a submission's cached result; None if the submission or its lab has changed since.

    A result from one sandbox is valid in any other. The exception is the choice "none", which does
    not enforce all limits: a timeout or crash without a sandbox is not reused in a run with a
    sandbox, nor the other way round.

    The returned result has an empty notebook. The executed notebook is in autograded/.
    """
    path = classroom.result_path(submission.student, submission.lab)
    try:
        record = json.loads(path.read_text("utf-8"))
        if record["version"] != FORMAT_VERSION or record["hash"] != fingerprint_submission(
            submission,
            lab,
            options,
        ):
            return None
        graded_submission = GradedSubmission.from_fields(record).with_student(submission.student)
        other_limits = (record["sandbox"] == "none") != (options.sandbox == "none")
        verdicts = {result.verdict for result in graded_submission.results}
        if other_limits and verdicts.intersection(_LIMIT_VERDICTS):
            return None
        return graded_submission
    except _INVALID_RECORD_ERRORS:
        return None


def store_result(
    classroom: Classroom,
    submission: Submission,
    graded_submission: GradedSubmission,
    fingerprint: str,
) -> None:
    """Store a submission's result in results/, and its executed notebook in autograded/.

    The notebook is written first, so that no result is left without its notebook if the run is
    interrupted.

    Parameters
    ----------
    fingerprint : str
        Hash of everything that decides the result, from `fingerprint_submission`.
    """
    store_executed_notebook(classroom, submission, graded_submission)
    record = {
        "version": FORMAT_VERSION,
        "hash": fingerprint,
        **graded_submission.to_fields(),
    }
    path = classroom.result_path(submission.student, submission.lab)
    write_file(path, json.dumps(record, ensure_ascii=False))


def store_executed_notebook(
    classroom: Classroom,
    submission: Submission,
    graded_submission: GradedSubmission,
) -> None:
    """Store the executed notebook in autograded/, where nbgrader expects it."""
    path = classroom.notebook_path(submission.student, submission.lab)
    write_file(path, json.dumps(graded_submission.notebook, ensure_ascii=False))


def load_all_results(
    classroom: Classroom, student: str | None = None
) -> dict[tuple[str, str], GradedSubmission | None]:
    """Return all cached results by student and lab, including those that are out of date.

    Results whose submission is gone are left out. A result that cannot be read is None.

    Parameters
    ----------
    student : str, optional
        Return the results of this student only.
    """
    folder = "*" if student is None else escape(student)
    results: dict[tuple[str, str], GradedSubmission | None] = {}
    for path in classroom.list_files(classroom.results, f"{folder}/*.json"):
        name, lab = path.parent.name, path.stem
        if (classroom.submitted / name / lab).exists():
            results[name, lab] = _load_file(path)
    return results


def _load_file(path: Path) -> GradedSubmission | None:
    try:
        graded_submission = GradedSubmission.from_fields(json.loads(path.read_text("utf-8")))
    except _INVALID_RECORD_ERRORS:
        return None
    return graded_submission.with_student(path.parent.name)


def fingerprint_submission(submission: Submission, lab: Lab, options: GradingOptions) -> str:
    """Return a hash of everything that decides a result: submission, lab and options."""
    data = submission.content if submission.content is not None else b""
    return hash_parts(data, submission.note, fingerprint_lab(lab), str(options.follow_through))
