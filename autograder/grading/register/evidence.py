"""What a hand-in did, found once and kept: until its bytes change, or something that decides its lab's verdicts.

    results/<student>/<lab>.json         the verdicts, what was odd, a hash of each answer
    autograded/<student>/<lab>/          the executed notebook (nbgrader's own folder)

What decides a lab's verdicts is found out by `fingerprint`.
"""

import json
from glob import escape
from typing import TYPE_CHECKING

from autograder.authoring.lab import Lab
from autograder.files import hash_of, write
from autograder.grading.marking import Marked
from autograder.grading.register.classroom import Classroom, Submission
from autograder.grading.register.fingerprint import lab_fingerprint
from autograder.results import Verdict

if TYPE_CHECKING:
    from autograder.grading.run.pool import Options

VERSION = 5

_BY_A_LIMIT = (Verdict.TIMEOUT, Verdict.CRASH)


def kept(classroom: Classroom, submission: Submission, lab: Lab, options: "Options") -> Marked | None:
    """What an earlier run found, if neither the hand-in nor what decides its verdicts has changed since.

    In which sandbox it was found does not matter. Without one some limits are not kept, so a verdict that a limit
    decided is found again.

    Its notebook is empty: see `Classroom.autograded`.
    """
    path = classroom.result_path(submission.student, submission.lab)
    try:
        record = json.loads(path.read_text("utf-8"))
        if record["version"] != VERSION or record["hash"] != fingerprint(submission, lab, options):
            return None
        marked = Marked.from_facts(record).of(submission.student)
        trusted = (record["sandbox"] == "none") != (options.sandbox == "none")
        return None if trusted and any(row.verdict in _BY_A_LIMIT for row in marked.rows) else marked
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def keep(classroom: Classroom, submission: Submission, marked: Marked, lab: Lab, options: "Options") -> None:
    """Store what marking found: first the executed notebook, since nothing is kept without it."""
    keep_notebook(classroom, submission, marked)
    record = {
        "version": VERSION,
        "hash": fingerprint(submission, lab, options),
        **marked.facts(),
    }
    write(classroom.result_path(submission.student, submission.lab), json.dumps(record, ensure_ascii=False))


def keep_notebook(classroom: Classroom, submission: Submission, marked: Marked) -> None:
    """Store the executed notebook where nbgrader looks for it."""
    path = classroom.notebook_path(submission.student, submission.lab)
    write(path, json.dumps(marked.notebook, ensure_ascii=False))


def stored(classroom: Classroom, student: str | None = None) -> dict[tuple[str, str], Marked | None]:
    """What was found, by student and lab, of every kept result whose hand-in is still there; None if unreadable.

    Of one student only, if one is named.
    """
    folder = "*" if student is None else escape(student)
    found: dict[tuple[str, str], Marked | None] = {}
    for path in classroom.files_in(classroom.results, f"{folder}/*.json"):
        who = student, lab = path.parent.name, path.stem
        if not (classroom.submitted / student / lab).exists():
            continue
        try:
            found[who] = Marked.from_facts(json.loads(path.read_text("utf-8"))).of(student)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found[who] = None
    return found


def fingerprint(submission: Submission, lab: Lab, options: "Options") -> str:
    """What verdicts depend on, hashed: the hand-in's bytes, the lab, and how it is marked."""
    data = submission.data if submission.data is not None else b""
    return hash_of(data, submission.why, lab_fingerprint(lab), str(options.follow_through))
