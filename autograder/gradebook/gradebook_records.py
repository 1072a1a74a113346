"""Record files that tell which results are already written into nbgrader's gradebook.

There is one file for each submission: results/<student>/<lab>.recorded.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from autograder.core.files import read_json, write_file
from autograder.core.rounding import format_points
from autograder.core.text_format import format_count, join_words
from autograder.gradebook.classroom import Classroom


class ReplacedAnswerMark(NamedTuple):
    """Manual mark of an answer that another one has replaced since; it does not count.

    Parameters
    ----------
    score, extra_credit : float or None
        None if no points, or no extra credit, were given.
    """

    score: float | None = None
    comment: str = ""
    extra_credit: float | None = None


@dataclass
class GradebookRecord:
    """Record of what nbgrader's gradebook has about one submission: its result and manual marks.

    Parameters
    ----------
    stamp : str
        Hash of the verdicts, the submission time and the gradebook's address. It is "" from the
        moment a run begins to write the result into the gradebook until it has finished.
    answers : mapping of str to str
        Hash of each answer as it was when the result was recorded. Manual marks in the gradebook
        were given for these answers.
    earlier : mapping of str to ReplacedAnswerMark
        Manual marks, comments and extra credit for answers that the student has replaced since.
        They no longer count.
    withdrawn : mapping of str to mapping of str to ReplacedAnswerMark
        The same marks by exercise and by the hash of the answer that they were given for. If the
        answer comes back, such as by the choice of another attempt, its mark comes back.
    shared : mapping of str to float
        Manual marks that were copied from a partner in the student's group, by grade_id; the extra
        credit has the key "<grade_id> extra".
    """

    stamp: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    earlier: "dict[str, ReplacedAnswerMark]" = field(default_factory=dict)
    shared: dict[str, float] = field(default_factory=dict)
    withdrawn: "dict[str, dict[str, ReplacedAnswerMark]]" = field(default_factory=dict)


def read_gradebook_record(path: Path) -> GradebookRecord:
    """Read a submission's record from a file; return an empty record if this is impossible."""
    try:
        record = GradebookRecord(**read_json(path))
        record.earlier = {name: ReplacedAnswerMark(*mark) for name, mark in record.earlier.items()}
        for marks in record.withdrawn.values():
            for answer, mark in marks.items():
                marks[answer] = ReplacedAnswerMark(*mark)
    except (TypeError, AttributeError):
        return GradebookRecord()
    return record


def write_gradebook_record(path: Path, record: GradebookRecord, stamp: str | None = None) -> None:
    """Write a submission's record into a file, with another stamp if one is given."""
    if stamp is not None:
        record = replace(record, stamp=stamp)
    write_file(path, json.dumps(vars(record)))


def read_manual_marks_of_earlier_answers(
    classroom: Classroom, student: str, lab: str
) -> dict[str, ReplacedAnswerMark]:
    """Return the manual marks given for a student's earlier answers, by exercise or question."""
    return read_gradebook_record(classroom.result_path(student, lab, "recorded")).earlier


def describe_earlier_mark(mark: ReplacedAnswerMark, max_score: float) -> str:
    """Return a sentence about a manual mark that was given for a student's earlier answer.

    >>> describe_earlier_mark(ReplacedAnswerMark(2.0, "Almost."), 3)
    'For another answer a person gave 2 of 3 points: “Almost.”.'
    >>> describe_earlier_mark(ReplacedAnswerMark(extra_credit=1.0), 3)
    'For another answer a person gave 1 point of extra credit.'
    """
    gifts = []
    if mark.score is not None:
        gifts.append(f"{format_points(mark.score)} of {format_points(max_score)} points")
    if mark.extra_credit:
        gifts.append(f"{format_count(mark.extra_credit, 'point')} of extra credit")
    quotation = f": “{mark.comment}”" if mark.comment else ""
    return f"For another answer a person gave {join_words(gifts) or 'a comment'}{quotation}."


def was_interrupted(classroom: Classroom, student: str, lab: str) -> bool:
    """Return True if a run ended before it had written all of a submission's result."""
    result = classroom.result_path(student, lab)
    record = classroom.result_path(student, lab, "recorded")
    return result.is_file() and record.is_file() and not read_gradebook_record(record).stamp
