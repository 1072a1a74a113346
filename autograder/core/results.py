"""Define the record of a result: the verdict on one exercise of one submission."""

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """Verdict on an exercise of a submission."""

    PASS = "pass"
    WRONG = "wrong"
    ERROR = "error"  # the student's code raised an exception
    TIMEOUT = "timeout"
    CRASH = "crash"  # the process died, for instance at the memory limit
    MISSING = "missing"  # there is no such function, or no readable notebook
    MANUAL = "manual"  # graded manually; the score is None until then
    FAULT = "fault"  # the grader itself failed; gives no score


class CellOutcome(StrEnum):
    """Outcome of running a notebook cell in a sandbox."""

    OK = "ok"
    ERROR = "error"  # the cell raised an exception
    TIMEOUT = "timeout"
    CRASH = "crash"  # the process died, for instance at the memory limit
    SKIPPED = "skipped"  # not run: earlier cells had used up the time or the reruns


class ResultReason(StrEnum):
    """Reason for a verdict, as a fixed word, so that programs need not analyse the message."""

    JUDGED = "judged"
    STUB = "stub"  # the student has not changed the exercise's cell
    # The student's answer is correct if the other exercises' functions that it calls are replaced
    # by correct ones (follow-through).
    FOLLOWED = "followed"
    SKIPPED = "skipped"  # not tested, because the time for the notebook was used up


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Verdict on one exercise of one submission; docs/results-format.md describes its JSON form.

    Parameters
    ----------
    score : float or None
        Points earned; None if the answer is not judged yet (verdicts "manual" and "fault").
    max_score : float
        Points for a correct answer.
    misconception : str or None
        Name of the known mistake that gives the same results as the student's function.
    message : str
        Feedback for the student, in one or more sentences.
    seconds : float
        Wall-clock time in the sandbox, for the cell with the answer and for its test.
    kind : ResultReason
        Detail of the verdict.
    cause : str or None
        Name of another exercise whose function this answer calls and which is wrong.
    partial_share : float
        Share of the points, 0 to 1, that a wrong answer gets for the parts of the exercise that are
        right.
    failed_cases : tuple of str
        Descriptions of the test cases in which the answer is wrong: of the visible cases, or of
        the hidden ones if all visible cases are right.
    """

    student: str = ""
    lab: str
    exercise: str
    score: float | None = 0.0
    max_score: float
    verdict: Verdict
    misconception: str | None = None
    message: str = ""
    seconds: float = 0.0
    kind: ResultReason = ResultReason.JUDGED
    cause: str | None = None
    partial_share: float = 0.0
    failed_cases: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return one line of JSON, with the fields in the order of this class.

        >>> Result(lab="walks", exercise="mean", max_score=2, verdict=Verdict.WRONG).to_json()[:29]
        '{"student": "", "lab": "walks'
        """
        return json.dumps(self.to_fields(), ensure_ascii=False)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields as a dict of values that JSON can represent."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Result":
        """Make a result from the dict of `to_fields`.

        Raise KeyError, ValueError or TypeError if the dict is malformed.
        """
        converted = {
            "verdict": Verdict(fields["verdict"]),
            "kind": ResultReason(fields["kind"]),
            "partial_share": float(fields.get("partial_share", 0.0)),
            "failed_cases": tuple(map(str, fields.get("failed_cases", ()))),
        }
        return cls(**{**fields, **converted})

    @property
    def earned_share(self) -> float:
        """Share of the points, 0 to 1, that the answer gets: 1 if it is right."""
        return 1.0 if self.verdict is Verdict.PASS else self.partial_share

    def rescore(self, points: float) -> "Result":
        """Return this result with the score for an exercise that is worth `points`."""
        score = None if self.score is None else points * self.earned_share
        return replace(self, score=score, max_score=points)
