"""The record that every judgement ends as: one exercise of one hand-in."""

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """How a judgement ended. The set is closed; a mark follows from it alone."""

    PASS = "pass"
    WRONG = "wrong"
    ERROR = "error"  # the student's code raised
    TIMEOUT = "timeout"
    CRASH = "crash"  # its process died, at the memory limit too
    MISSING = "missing"  # no such function, or no notebook that can be read
    MANUAL = "manual"  # a person marks it; the score is None until then
    FAULT = "fault"  # the grader's own failure: never a mark


class Outcome(StrEnum):
    """What became of a cell that was run, as every sandbox says it. The set is closed."""

    OK = "ok"
    ERROR = "error"  # it raised
    TIMEOUT = "timeout"
    CRASH = "crash"  # its process died, at the memory limit too
    SKIPPED = "skipped"  # what stood before it had used up the time, or the reruns


class Kind(StrEnum):
    """What a machine may want to know of a verdict beside it; no sentence need be read for it."""

    JUDGED = "judged"
    STUB = "stub"  # the exercise stands as it was handed out
    FOLLOWED = "followed"  # right with the right code in place of what it builds on, and marked so
    SKIPPED = "skipped"  # never tried: the notebook's time was used up


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One exercise of one hand-in, judged.

    Parameters
    ----------
    student, lab, exercise : str
    score : float or None
        Points earned; None where nobody has judged yet (manual, fault).
    max_score : float
        Points to be had.
    verdict : Verdict
    misconception : str or None
        The name of the known mistake that explains the answer.
    message : str
        What the student is told.
    seconds : float
        Wall-clock time in the sandbox of the answer's cell and of its calls.
    kind : Kind
    cause : str or None
        The exercise that this one calls and that is not right itself.
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
    kind: Kind = Kind.JUDGED
    cause: str | None = None

    def to_json(self) -> str:
        """One line of JSON, the fields in the order of this class.

        >>> Result(lab="random-walks", exercise="softmax", max_score=2, verdict=Verdict.WRONG).to_json()[:36]
        '{"student": "", "lab": "random-walks'
        """
        return json.dumps(self.to_fields(), ensure_ascii=False)

    def to_fields(self) -> dict[str, Any]:
        """The fields by name; they are all plain values."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Result":
        """The inverse of `to_fields`; raises KeyError, ValueError or TypeError on anything else."""
        return cls(**{**fields, "verdict": Verdict(fields["verdict"]), "kind": Kind(fields["kind"])})

    def worth(self, points: float) -> "Result":
        """The same verdict where the exercise is worth so many points."""
        score = None if self.score is None else points if self.verdict is Verdict.PASS else 0.0
        return replace(self, score=score, max_score=points)
