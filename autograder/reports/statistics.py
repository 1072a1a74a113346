"""Compute the statistics of a class report: exercises, labs, misconceptions, students in need."""

import statistics
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograder.authoring.lab import Lab
from autograder.core.results import Result, Verdict
from autograder.core.text_format import join_words
from autograder.reports.marks import ClassMarks, Mark
from autograder.reports.submission_patterns import (
    OUTCOMES,
    ArrivalSpan,
    FailingCase,
    OutcomePattern,
    count_arrivals,
    count_attempts,
    find_most_failed_cases,
    find_outcome_patterns,
    is_blank,
)
from autograder.values.common_mistakes import MISTAKES

# The discrimination of an exercise says how well it separates strong from weak students. It is a
# correlation, which means little for fewer students than this.
MIN_STUDENTS_FOR_DISCRIMINATION = 10
LOW_PERCENT = 50  # a student with a lower percentage of the points may need help
MANY_ATTEMPTS = 4  # a student with so many attempts at a lab may need help
FULL_MARK_PERCENT = 99.995  # rounding may leave a full mark a little below 100
MAX_MESSAGE_CHARACTERS = 320

# For each verdict that the instructor should look at, the heading and advice in the report. The
# most urgent verdict comes first.
VERDICT_ADVICE = {
    Verdict.FAULT: ("The grader failed", "No mark was given. Run autograder grade again."),
    Verdict.MISSING: (
        "Could not be graded",
        "The function is not there, or the file could not be read. Ask for a file again that could not.",
    ),
    Verdict.CRASH: (
        "The process died",
        "The code ended its own process, or went over the memory limit.",
    ),
    Verdict.TIMEOUT: ("Took too long", "Often a loop that never ends."),
    Verdict.ERROR: ("Raised an error", "The function ran into an error of Python or NumPy."),
}


@dataclass(frozen=True, kw_only=True)
class ExerciseStatistics:
    """Statistics of one exercise or question.

    Parameters
    ----------
    manually_graded : bool
        True if a person grades the answers, so that there are points, but no pass or fail.
    counts : Counter of str
        Numbers of submissions. Each submission is counted as "passed", "wrong", "stopped" (by an
        error, a timeout or a crash, or with nothing to grade) or "blank" (the stub is unchanged).
        In addition, "unexplained" counts wrong answers without a known misconception, and "waiting"
        counts answers that await manual grading.
    mean : float or None
        Mean score in per cent of the exercise's points.
    discrimination : float or None
        Correlation with the score in the other exercises (see `compute_discrimination`).
    """

    name: str
    points: float
    manually_graded: bool
    counts: Counter[str]
    mean: float | None
    discrimination: float | None

    @property
    def judged_submission_count(self) -> int:
        """Number of graded submissions, without those on which the autograder failed."""
        return sum(self.counts[outcome] for outcome in ("passed", "wrong", "stopped", "blank"))

    @property
    def pass_rate(self) -> float | None:
        """Percentage of submissions that passed; None for manually graded questions."""
        if self.manually_graded or not self.judged_submission_count:
            return None
        return 100 * self.counts["passed"] / self.judged_submission_count


@dataclass(frozen=True)
class Distribution:
    """Distribution of marks in per cent.

    Parameters
    ----------
    tenths : tuple of int
        Ten counts: of the marks from 0 to 9 %, from 10 to 19 %, and so on to 90 to 100 %.
    """

    count: int
    tenths: tuple[int, ...]
    median: float | None
    mean: float | None
    full_mark_count: int


@dataclass(frozen=True, kw_only=True)
class LabStatistics:
    """Statistics of one lab.

    Parameters
    ----------
    patterns : tuple of OutcomePattern
        Students with the same outcomes; `omitted_pattern_count` is the number of submissions with
        other, rarer patterns.
    failing_cases : tuple of FailingCase
        Test cases in which most submissions failed.
    arrivals : tuple of ArrivalSpan
        Numbers of submissions by the time before or after the due date; empty without a due date.
    attempts : mapping of int to int
        Numbers of students by how often they submitted the lab.
    """

    name: str
    points: float
    distribution: Distribution
    exercises: tuple[ExerciseStatistics, ...]
    awaiting_manual_count: int
    late_count: int
    total_seconds: float
    slowest_seconds: float
    median_seconds: float
    patterns: tuple[OutcomePattern, ...]
    omitted_pattern_count: int
    failing_cases: tuple[FailingCase, ...]
    arrivals: tuple[ArrivalSpan, ...]
    attempts: Mapping[int, int]


@dataclass
class MisconceptionOccurrences:
    """A misconception, with the students who have it and the exercises in which it occurred.

    Parameters
    ----------
    submitter_count : int
        Number of students who submitted at least one of these exercises.
    """

    name: str
    means: str
    by_exercise: Counter = field(default_factory=Counter)
    students: set[str] = field(default_factory=set)
    submitter_count: int = 0
    labs: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class SubmissionExercises:
    """Exercises of one submission with the same verdict, and the message on the first of them."""

    student: str
    lab: str
    exercises: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class StudentInNeed:
    """Student who may need help, with the reasons as sentences for the instructor."""

    student: str
    percent: float | None
    reasons: tuple[str, ...]


def summarise_distribution(percents: Sequence[float]) -> Distribution:
    """Return the distribution of percentages.

    >>> summarise_distribution([0, 55, 100]).tenths
    (1, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    """
    counts = Counter(min(int(percent // 10), 9) for percent in percents)
    return Distribution(
        count=len(percents),
        tenths=tuple(counts[i] for i in range(10)),
        median=_median(percents),
        mean=_mean(percents),
        full_mark_count=sum(percent >= FULL_MARK_PERCENT for percent in percents),
    )


def _median(numbers: Sequence[float]) -> float | None:
    return statistics.median(numbers) if numbers else None


def _mean(numbers: Sequence[float]) -> float | None:
    return statistics.fmean(numbers) if numbers else None


def compute_discrimination(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the discrimination of an exercise: how well it separates strong from weak students.

    For an exercise that can only be passed or failed, this is the corrected point-biserial
    correlation. It is called corrected because the exercise itself is left out of the score.

    Parameters
    ----------
    pairs : sequence of (float, float)
        For each student, the points in the exercise, and the share (0 to 1) of the points of all
        other exercises of the lab that the student earned.

    Returns
    -------
    float or None
        Correlation from -1 to 1. None if there are too few pairs, or if all students have the same
        points or the same share.
    """
    if len(pairs) < MIN_STUDENTS_FOR_DISCRIMINATION:
        return None
    try:
        return statistics.correlation(*zip(*pairs, strict=True))
    except statistics.StatisticsError:
        return None


def summarise_exercise(name: str, submissions: Sequence[Mark]) -> ExerciseStatistics:
    """Return the statistics of one exercise, computed from all submissions of its lab."""
    results = _results_of_exercise(name, submissions)
    manually_graded = any(row.verdict is Verdict.MANUAL for _, row in results)
    counts = _count_outcomes(results)
    # An answer left blank gets 0 points automatically. While other students' answers still await
    # manual grading, these zeros would make the mean too low. So leave them out until then.
    skip_zeros = manually_graded and counts["waiting"] > 0
    points, percents, pairs = 0.0, [], []
    for mark, row in results:
        points, score = row.max_score, mark.scores.get(name, row.score)
        # A submitted file that cannot be read gets 0 points automatically. This is not a grader's
        # judgement, so leave it out of the statistics of manually graded questions.
        is_unreadable = manually_graded and row.verdict is not Verdict.MANUAL
        if score is None or is_unreadable or not row.max_score:
            continue
        if score > 0 or name in mark.manually_graded or not skip_zeros:
            percents.append(100 * score / row.max_score)
        share = _share_of_other_points(mark, name)
        if share is not None:
            pairs.append((score, share))
    return ExerciseStatistics(
        name=name,
        points=points,
        manually_graded=manually_graded,
        counts=counts,
        mean=_mean(percents),
        discrimination=compute_discrimination(pairs),
    )


def _results_of_exercise(name: str, submissions: Sequence[Mark]) -> list[tuple[Mark, Result]]:
    """Return each submission's mark together with its result in one exercise."""
    results = []
    for mark in submissions:
        row = next((row for row in mark.results if row.exercise == name), None)
        if row is not None:
            results.append((mark, row))
    return results


def _count_outcomes(results: Sequence[tuple[Mark, Result]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for mark, row in results:
        if is_blank(row):
            counts["blank"] += 1
        elif row.verdict in OUTCOMES:
            counts[OUTCOMES[row.verdict]] += 1
            counts["unexplained"] += row.verdict is Verdict.WRONG and row.misconception is None
        if row.verdict is Verdict.MANUAL and mark.scores.get(row.exercise, row.score) is None:
            counts["waiting"] += 1
    return counts


def _share_of_other_points(mark: Mark, name: str) -> float | None:
    """Return the share (0 to 1) of the points that a student has in all exercises but this one.

    None if no other exercise is graded.
    """
    scores = {key: score for key, score in mark.scores.items() if key != name and score is not None}
    possible = sum(mark.points[key] for key in scores)
    return sum(scores.values()) / possible if possible else None


def summarise_lab(lab: str, submissions: Sequence[Mark], marks: ClassMarks) -> LabStatistics:
    """Return the statistics of one lab, computed from its submissions."""
    names = list(dict.fromkeys(row.exercise for mark in submissions for row in mark.results))
    patterns, omitted_pattern_count = find_outcome_patterns(names, submissions)
    seconds = [mark.seconds for mark in submissions]
    # Who has left is in no median of the class.
    withdrawn = {student for student, person in marks.students.items() if person.withdrawn}
    percents = []
    for mark in submissions:
        if mark.percent is not None and mark.student not in withdrawn:
            percents.append(mark.percent)
    return LabStatistics(
        name=lab,
        points=max((mark.max_score for mark in submissions), default=0.0),
        distribution=summarise_distribution(percents),
        exercises=tuple(summarise_exercise(name, submissions) for name in names),
        awaiting_manual_count=sum(mark.awaiting_manual_count > 0 for mark in submissions),
        late_count=sum(mark.seconds_late > 0 for mark in submissions),
        total_seconds=sum(seconds),
        slowest_seconds=max(seconds, default=0.0),
        median_seconds=_median(seconds) or 0.0,
        patterns=tuple(patterns),
        omitted_pattern_count=omitted_pattern_count,
        failing_cases=tuple(find_most_failed_cases(submissions)),
        arrivals=tuple(count_arrivals(submissions, marks)),
        attempts=count_attempts(submissions),
    )


def count_misconceptions(
    submissions: Sequence[Mark],
    labs: Mapping[str, Lab],
) -> list[MisconceptionOccurrences]:
    """Count the students with each misconception; the most frequent misconception comes first.

    Misconceptions of the same name in several exercises and labs are counted as one.
    """
    entries: dict[str, MisconceptionOccurrences] = {}
    descriptions: dict[str, Counter] = defaultdict(Counter)
    students_by_exercise: dict[str, set[str]] = defaultdict(set)
    for mark in submissions:
        for row in mark.results:
            students_by_exercise[row.exercise].add(mark.student)
            if row.misconception is None or row.verdict is Verdict.PASS:
                continue
            descriptions[row.misconception][_describe_misconception(row, labs)] += 1
            entry = entries.setdefault(
                row.misconception, MisconceptionOccurrences(row.misconception, "")
            )
            entry.by_exercise[row.exercise] += 1
            entry.students.add(mark.student)
            entry.labs.add(row.lab)
    for name, entry in entries.items():
        entry.means = descriptions[name].most_common(1)[0][0]
        students = set().union(*(students_by_exercise[exercise] for exercise in entry.by_exercise))
        entry.submitter_count = len(students)
    return sorted(
        entries.values(),
        key=lambda entry: (-len(entry.students), -entry.by_exercise.total(), entry.name),
    )


def _describe_misconception(row: Result, labs: Mapping[str, Lab]) -> str:
    """Return the sentence that explains to the instructor which misconception was found.

    Two misconceptions in one answer have one sentence each. If the lab no longer defines the
    misconception, its name is returned, with spaces for hyphens.
    """
    name = row.misconception or ""
    lab = labs.get(row.lab)
    if lab and row.exercise in lab.exercises:
        misconception = lab.exercises[row.exercise].find_misconception(name)
        if misconception and misconception.means:
            return misconception.means
    parts = name.split(" + ")
    if len(parts) > 1:
        single_rows = [replace(row, misconception=part) for part in parts]
        return " ".join(_describe_misconception(single_row, labs) for single_row in single_rows)
    return MISTAKES.get(name, (name.replace("-", " "), ""))[0]


def find_exercises_by_submission(
    submissions: Sequence[Mark],
    predicate: Callable[[Result], bool],
) -> list[SubmissionExercises]:
    """List the exercises of each submission whose result fulfils a condition (`predicate`).

    Submissions without such an exercise are left out. The largest groups come first.
    """
    groups = []
    for mark in submissions:
        rows = [row for row in mark.results if predicate(row)]
        if rows:
            message = textwrap.shorten(rows[0].message, MAX_MESSAGE_CHARACTERS, placeholder=" …")
            exercises = tuple(row.exercise for row in rows)
            groups.append(SubmissionExercises(mark.student, mark.lab, exercises, message))
    return sorted(groups, key=lambda group: (-len(group.exercises), group.student, group.lab))


def find_students_in_need(
    submissions: Sequence[Mark],
    marks: ClassMarks,
    missing: Mapping[str, Sequence[str]],
    labs: Sequence[str],
) -> list[StudentInNeed]:
    """Return the students who may need help, beginning with those without any mark.

    Reasons are missing submissions, a low percentage, many attempts and unreadable files.

    Parameters
    ----------
    missing : mapping of str to sequence of str
        Students without a submission, by lab.
    labs : sequence of str
        Labs that at least one student submitted.
    """
    percentages = compute_student_percentages(submissions)
    by_student: dict[str, list[Mark]] = defaultdict(list)
    for mark in submissions:
        by_student[mark.student].append(mark)
    students = []
    for person in marks.enrolled:
        student = person.student
        percent = percentages.get(student)
        reasons = []
        missing_labs = [lab for lab in labs if student in missing.get(lab, ())]
        if missing_labs and student not in by_student:
            reasons.append("Has submitted nothing at all.")
        elif missing_labs:
            reasons.append(f"Has not submitted {join_words(missing_labs)}.")
        if percent is not None and percent < LOW_PERCENT:
            reasons.append(f"Has {percent:.0f} % of the points graded so far.")
        for mark in by_student.get(student, []):
            if mark.results and all(row.verdict is Verdict.MISSING for row in mark.results):
                reasons.append(f"The file for {mark.lab} could not be read.")
            if mark.attempts >= MANY_ATTEMPTS:
                reasons.append(f"Has submitted {mark.lab} {mark.attempts} times.")
        if reasons:
            students.append(StudentInNeed(student, percent, tuple(reasons)))
    return sorted(
        students,
        key=lambda need: (need.percent is not None, need.percent or 0.0, -len(need.reasons)),
    )


def compute_student_percentages(submissions: Sequence[Mark]) -> dict[str, float]:
    """Return each student's points in per cent of all points graded in the student's labs.

    Labs that the student did not submit are not counted.
    """
    earned_points: dict[str, float] = defaultdict(float)
    possible_points: dict[str, float] = defaultdict(float)
    for mark in submissions:
        earned_points[mark.student] += mark.score
        possible_points[mark.student] += mark.graded_max_score
    percentages = {}
    for student, points in possible_points.items():
        if points:
            percentages[student] = 100 * earned_points[student] / points
    return percentages
