"""Compute what the report shows as pictures of a lab: who failed what, and when submissions came."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.core.results import Result, ResultReason, Verdict
from autograder.gradebook.policy import to_utc
from autograder.reports.marks import ClassMarks, Mark

PATTERNS_SHOWN = 60  # rows of the picture of outcomes; further patterns are counted only
FAILING_CASES_SHOWN = 2  # of each exercise
# Ends of the time spans before and after the due date in which submissions are counted, in hours
# after the due date, with the label of the span that ends there.
_ARRIVAL_SPANS = (
    (-168, "> 7 d"),
    (-72, "7–3 d"),
    (-24, "3–1 d"),
    (-6, "24–6 h"),
    (-1, "6–1 h"),
    (0, "< 1 h"),
    (1, "< 1 h"),
    (24, "1–24 h"),
    (float("inf"), "> 1 d"),
)
SPANS_BEFORE_DUE_DATE = 6  # of these spans
# Outcome of an exercise by its verdict. The verdicts "manual" and "fault" are no outcome yet.
OUTCOMES = {
    Verdict.PASS: "passed",
    Verdict.WRONG: "wrong",
    Verdict.ERROR: "stopped",
    Verdict.TIMEOUT: "stopped",
    Verdict.CRASH: "stopped",
    Verdict.MISSING: "stopped",
}


@dataclass(frozen=True)
class OutcomePattern:
    """Students with the same outcomes in all exercises of a lab.

    Parameters
    ----------
    outcomes : tuple of str
        Outcome of each exercise: "passed", "part" (some points), "wrong", "stopped", "blank" or
        "waiting".
    students : tuple of str
    score : float
        Points, before a late penalty, of the first of the students.
    """

    outcomes: tuple[str, ...]
    students: tuple[str, ...]
    score: float


@dataclass(frozen=True)
class FailingCase:
    """A test case, with the number of submissions that failed in it."""

    exercise: str
    label: str
    count: int


@dataclass(frozen=True)
class ArrivalSpan:
    """A span of time before or after the due date, with the number of submissions in it."""

    label: str
    count: int


def is_blank(row: Result) -> bool:
    """Return True if the student has left the exercise as it was in the released notebook."""
    return row.kind is ResultReason.STUB


def classify_outcome(mark: Mark, row: Result) -> str:
    """Return the outcome of one exercise or question in a submission, as `OutcomePattern` names it."""
    if is_blank(row) and row.exercise not in mark.manually_graded:
        return "blank"
    outcome = OUTCOMES.get(row.verdict, "waiting")
    score, points = mark.scores.get(row.exercise, row.score), mark.points.get(row.exercise)
    is_persons = row.verdict is Verdict.MANUAL or row.exercise in mark.manually_graded
    if not is_persons or score is None or not points:
        return outcome
    if score >= points:
        return "passed"
    return "part" if score > 0 else "wrong"


def find_outcome_patterns(
    exercises: Sequence[str], submissions: Sequence[Mark]
) -> tuple[list[OutcomePattern], int]:
    """Group the submissions of a lab by their outcomes, those with most points first.

    Returns
    -------
    patterns : list of OutcomePattern
        The most frequent patterns, at most `PATTERNS_SHOWN`.
    omitted_count : int
        Number of submissions with other patterns.
    """
    groups: dict[tuple[str, ...], list[Mark]] = defaultdict(list)
    for mark in submissions:
        rows = {row.exercise: row for row in mark.results}
        outcomes = []
        for name in exercises:
            outcomes.append(classify_outcome(mark, rows[name]) if name in rows else "blank")
        groups[tuple(outcomes)].append(mark)
    frequent = sorted(groups.items(), key=lambda item: -len(item[1]))[:PATTERNS_SHOWN]
    patterns = []
    for pattern_outcomes, marks in frequent:
        students = tuple(mark.student for mark in marks)
        patterns.append(OutcomePattern(pattern_outcomes, students, marks[0].raw_score))
    patterns.sort(key=lambda pattern: (-pattern.score, -len(pattern.students), pattern.outcomes))
    return patterns, len(submissions) - sum(len(pattern.students) for pattern in patterns)


def find_most_failed_cases(submissions: Sequence[Mark]) -> list[FailingCase]:
    """Return the test cases of each exercise in which most submissions of a lab failed.

    There are at most `FAILING_CASES_SHOWN` of each exercise: a wrong formula fails in all cases.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for mark in submissions:
        for row in mark.results:
            counts.update({(row.exercise, label) for label in row.failed_cases})
    cases = [FailingCase(exercise, label, count) for (exercise, label), count in counts.items()]
    cases.sort(key=lambda case: (-case.count, case.exercise, case.label))
    shown: Counter[str] = Counter()
    frequent_cases = []
    for case in cases:
        shown[case.exercise] += 1
        if shown[case.exercise] <= FAILING_CASES_SHOWN:
            frequent_cases.append(case)
    return frequent_cases


def count_arrivals(submissions: Sequence[Mark], marks: ClassMarks) -> list[ArrivalSpan]:
    """Count a lab's submissions by the time before or after each student's own due date.

    Submissions without a known time are left out. The list is empty if the lab has no due date.
    """
    counts = [0] * len(_ARRIVAL_SPANS)
    for mark in submissions:
        deadline = marks.find_deadline(mark.student, mark.lab)
        if deadline is None or mark.timestamp is None:
            continue
        hours = (to_utc(mark.timestamp) - to_utc(deadline)).total_seconds() / 3600
        index = next(i for i, (end, _) in enumerate(_ARRIVAL_SPANS) if hours <= end)
        counts[index] += 1
    if not any(counts):
        return []
    return [
        ArrivalSpan(label, count) for (_, label), count in zip(_ARRIVAL_SPANS, counts, strict=True)
    ]


def count_attempts(submissions: Sequence[Mark]) -> Mapping[int, int]:
    """Return the number of students by how often they submitted a lab; 4 means 4 times or more."""
    counts = Counter(min(mark.attempts, 4) for mark in submissions)
    return dict(sorted(counts.items()))
