"""Result of grading one submission: verdicts, executed notebook, remarks and grading options."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nbformat import NotebookNode

from autograder.core.results import Result, Verdict

# Some cells of a lab, such as pure illustrations, have no effect on any graded answer. Grading does
# not run them, and puts this output into them.
NOT_RUN_OUTPUT = {
    "output_type": "stream",
    "name": "stdout",
    "text": "(This cell is part of the lab, and is not run again when it is marked.)\n",
}


@dataclass(frozen=True)
class GradingOptions:
    """Settings for grading any submission, chosen by the instructor and the classroom.

    Parameters
    ----------
    follow_through : bool
        If an exercise fails and uses another exercise's wrong answer, judge the exercise again with
        the reference solution in place of that wrong answer.
    sandbox : str
        Name of a sandbox, or "auto": one of `autograder.sandbox.choice.CHOICES`.
    salt : str
        The classroom's secret, from which the seeds of the hidden cases are derived.
    """

    follow_through: bool = True
    sandbox: str = "auto"
    salt: str = ""


@dataclass(frozen=True)
class GradedSubmission:
    """Result of grading one submission.

    Parameters
    ----------
    results : tuple of Result
        One result for each exercise and each manually graded question, in the notebook's order. The
        field `student` is "", and the points are those in the lab's files, not in course.toml.
    notebook : NotebookNode
        The student's executed notebook, with safe outputs and, at each test cell, the message
        about the exercise.
    notes : tuple of str
        Remarks for the student about the submitted file, such as a changed test cell.
    seed : int
        Seed of the hidden cases.
    answers : mapping of str to str
        Hash of each answer, by exercise or question. If it changes, the student has submitted
        another answer, and a manual mark for the former answer no longer counts.
    untouched : tuple of str
        Exercises and questions in which the student changed nothing.
    log : tuple of str
        Remarks for the instructor only.
    sandbox : str
        Name of the sandbox that ran the notebook; "" if it did not run.
    file_hash : str
        SHA-256 hash of the submitted file; "" if there was no file.
    """

    results: tuple[Result, ...]
    notebook: NotebookNode
    notes: tuple[str, ...] = ()
    seed: int = 0
    answers: Mapping[str, str] = field(default_factory=dict)
    untouched: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    sandbox: str = ""
    file_hash: str = ""

    @property
    def faults(self) -> list[str]:
        """The autograder's own failures on this submission, as messages; [] if there were none."""
        return [result.message for result in self.results if result.verdict is Verdict.FAULT]

    def to_json(self) -> str:
        """Return all fields of the graded submission, including the notebook, as JSON text."""
        return json.dumps({**self.to_fields(), "notebook": self.notebook}, ensure_ascii=False)

    def to_fields(self) -> dict[str, Any]:
        """Return all fields of the graded submission except the notebook, as a dict for JSON."""
        return {
            "seed": self.seed,
            "notes": list(self.notes),
            "rows": [result.to_fields() for result in self.results],
            "answers": dict(self.answers),
            "untouched": list(self.untouched),
            "log": list(self.log),
            "sandbox": self.sandbox,
            "file_hash": self.file_hash,
        }

    @classmethod
    def from_fields(
        cls, fields: Mapping[str, Any], notebook: NotebookNode | None = None
    ) -> "GradedSubmission":
        """Build a graded submission from the fields that `to_fields` or `to_json` wrote.

        Without the argument `notebook`, the notebook among the fields is used, whose cells stay
        plain dicts.

        Raises
        ------
        KeyError, TypeError, ValueError
            If a field is missing or has a wrong type.
        """
        if notebook is None:
            notebook = NotebookNode(fields.get("notebook") or {})
        return cls(
            results=tuple(Result.from_fields(row) for row in fields["rows"]),
            notebook=notebook,
            notes=tuple(fields["notes"]),
            seed=fields["seed"],
            answers=dict(fields["answers"]),
            untouched=tuple(fields["untouched"]),
            log=tuple(fields.get("log", ())),
            sandbox=str(fields.get("sandbox", "")),
            file_hash=str(fields.get("file_hash", "")),
        )

    def with_student(self, student: str) -> "GradedSubmission":
        """Return a copy of the graded submission with this student's name in its results."""
        return replace(
            self,
            results=tuple(replace(result, student=student) for result in self.results),
        )


def hash_submitted_file(data: bytes) -> str:
    """Return the hash of a submitted file, by which a result says which file was graded."""
    return hashlib.sha256(data).hexdigest()


def rescore_results(
    graded_submission: GradedSubmission,
    points: Mapping[str, float],
) -> list[Result]:
    """Return the results with scores by the current points of the exercises in course.toml.

    Points may have changed in course.toml since the submission was graded.

    Parameters
    ----------
    points : mapping of str to float
        Current points, by exercise or question.
    """
    results = graded_submission.results
    return [result.rescore(points.get(result.exercise, result.max_score)) for result in results]
