"""Build the summary at the top of a feedback page: points, mistakes, comments and dates."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from autograder.authoring.lab import Lab
from autograder.authoring.released_notebook import release_notebook
from autograder.core.notebook_cells import get_grade_id, make_grade_id
from autograder.core.results import Result, ResultReason, Verdict
from autograder.core.rounding import format_points
from autograder.core.text_format import format_count, join_words
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.gradebook_records import (
    ReplacedAnswerMark,
    describe_earlier_mark,
    read_manual_marks_of_earlier_answers,
)
from autograder.gradebook.graded_submission import GradedSubmission
from autograder.grading.grade_submission import release_for_grading
from autograder.grading.sanitise import truncate_with_remark
from autograder.judging.judge import describe_broken_dependency
from autograder.reports.marks import ClassMarks, Mark, format_full_name
from autograder.reports.safe_html import format_duration, format_time
from autograder.reports.student_page import (
    AWAITING_MANUAL_GRADING,
    FeedbackSummary,
    ReleasedNotebook,
    SummaryLine,
)
from autograder.values.common_mistakes import MISTAKES, NOT_WRITTEN_MESSAGE

MAX_MESSAGE_CHARACTERS = 600


@cache
def make_released_notebook(lab: Lab) -> ReleasedNotebook:
    """Return the notebook of a lab as students got it, for rendering feedback pages."""
    notebook = release_notebook(lab.read_solution(), lab)
    cells = (*release_for_grading(lab).cells, *notebook.cells)
    return ReleasedNotebook(
        exercises=frozenset(lab.exercises),
        cells=tuple(notebook.cells),
        sources=frozenset(cell.source for cell in cells),
    )


def build_summary(
    classroom: Classroom,
    lab: Lab,
    student: str,
    marks: ClassMarks,
    submission: GradedSubmission | None,
) -> FeedbackSummary:
    """Return the summary at the top of the feedback page on a student's submission for a lab.

    Parameters
    ----------
    submission : GradedSubmission or None
        The cached results; None if `nbgrader autograde` graded the submission, which stores none.

    Raises
    ------
    KeyError
        If the gradebook does not contain the submission.
    """
    mark = marks.marks[student, lab.name]
    results = {}
    if submission:
        results = {result.exercise: result for result in submission.results}
    earlier_marks = read_manual_marks_of_earlier_answers(classroom, student, lab.name)
    requests = marks.regrade_requests.get((student, lab.name), {})
    lines = []
    for name in _names_in_notebook_order(lab, mark):
        line = _build_summary_line(lab, name, mark, results, earlier_marks.get(name))
        lines.append(replace(line, requests=requests.get(name, ())))
    facts = [
        *_describe_partners(lab, student, marks),
        *_describe_dates_and_lateness(lab, mark, marks),
    ]
    if classroom.find_counted_attempt(student, lab.name):
        facts.append(
            "An earlier attempt of yours counts, since it has more automatic points after its late "
            "penalty than the newest one.",
        )
    person = marks.students.get(student)
    return replace(
        _build_nameless_summary(lab, mark, tuple(lines), submission),
        student=student,
        name=format_full_name(person) if person else student,
        facts=tuple(facts),
    )


def build_standalone_summary(
    lab: Lab, submission: GradedSubmission, points: Mapping[str, float]
) -> FeedbackSummary:
    """Return the summary of a submission outside any class, so without a name and without dates.

    Parameters
    ----------
    points : mapping of str to float
        Maximum points of each exercise and question.
    """
    results: dict[str, Result] = {}
    scores: dict[str, float | None] = {}
    max_scores: dict[str, float] = {}
    for result in submission.results:
        name = result.exercise
        results[name] = result.rescore(points[name])
        scores[name], max_scores[name] = results[name].score, results[name].max_score
    for name in submission.untouched:
        if name in lab.manual_questions:
            scores[name] = 0.0
    mark = Mark(student="", lab=lab.name, scores=scores, points=max_scores)
    lines = [
        _build_summary_line(lab, name, mark, results, None)
        for name in _names_in_notebook_order(lab, mark)
    ]
    return _build_nameless_summary(lab, mark, tuple(lines), submission)


def _build_nameless_summary(
    lab: Lab, mark: Mark, lines: tuple[SummaryLine, ...], submission: GradedSubmission | None
) -> FeedbackSummary:
    """Return a feedback page's summary without the student's name and without dates."""
    unreadable, notes = "", tuple[str, ...]()
    if submission:
        unreadable = _find_unreadable_reason(submission)
        notes = tuple(submission.notes)
    return FeedbackSummary(
        course=lab.course.title,
        student="",
        name="",
        title=lab.title,
        lab=lab.name,
        total=_describe_total(mark),
        facts=(),
        lines=lines,
        awaiting=tuple(line.name for line in lines if line.state == AWAITING_MANUAL_GRADING),
        notes=() if unreadable else notes,
        unreadable=unreadable,
    )


def _find_unreadable_reason(submission: GradedSubmission) -> str:
    """Return the reason why a submitted notebook could not be read at all; "" if it could be read.

    A submission is taken as unreadable if all of its results are "missing" with the same message,
    and this message is its only note (see `grade_unreadable_submission`).
    """
    messages = {result.message for result in submission.results}
    all_missing = all(result.verdict is Verdict.MISSING for result in submission.results)
    if all_missing and messages and messages == set(submission.notes):
        return messages.pop()
    return ""


def _names_in_notebook_order(lab: Lab, mark: Mark) -> list[str]:
    """Return the names of the marked exercises and questions, in the notebook's order."""
    ids = [get_grade_id(cell) for cell in release_for_grading(lab).cells]
    position = {}
    for name in mark.scores:
        for cell_id in (make_grade_id(name), name):
            if cell_id in ids:
                position[name] = ids.index(cell_id)
    return sorted(mark.scores, key=lambda name: position.get(name, len(ids)))


def _describe_total(mark: Mark) -> str:
    ungraded_points = sum(mark.points[name] for name, score in mark.scores.items() if score is None)
    if mark.awaiting_manual_count or ungraded_points:
        return f"{format_points(mark.rounded_score)} of {format_points(mark.graded_max_score)} points so far"
    return f"{format_points(mark.rounded_score)} of {format_points(mark.max_score)} points"


def _describe_partners(lab: Lab, student: str, marks: ClassMarks) -> Iterator[str]:
    """Yield a sentence with the names of the students who submitted with this one, if any."""
    partners = []
    for partner in marks.partners.get((student, lab.name), ()):
        if partner != student:
            partners.append(format_full_name(marks.students[partner]))
    if partners:
        yield f"Submitted together with {join_words(partners)}."


def _describe_dates_and_lateness(lab: Lab, mark: Mark, marks: ClassMarks) -> Iterator[str]:
    """Yield sentences about the due date, the time of submission and lateness."""
    policy = marks.policy
    due_date = marks.find_deadline(mark.student, lab.name)
    extension = " (with your extension)" if mark.extension else ""
    due_text = due_clause = ""
    if due_date:
        due_text = f"{format_time(due_date)}{extension}"
        due_clause = f"; it was due on {due_text}"
    if mark.timestamp:
        submission_time = format_time(policy.to_local_time(mark.timestamp))
        yield f"Submitted on {submission_time}{due_clause}."
    elif due_date:
        yield f"Due on {due_text}."
    if mark.seconds_late:
        yield _describe_lateness(mark, policy.late_days)


def _describe_lateness(mark: Mark, late_days: int) -> str:
    cost = "nothing is taken off"
    if mark.penalty:
        penalty, raw_score = (
            format_points(mark.rounded_penalty),
            format_points(mark.rounded_raw_score),
        )
        cost = f"{penalty} of {raw_score} points are taken off"
    if mark.late_days_used:
        cost = f"{mark.late_days_used} of your {format_count(late_days, 'late day')} used, {cost}"
    return f"{format_duration(mark.seconds_late)} late: {cost}."


def _build_summary_line(
    lab: Lab,
    name: str,
    mark: Mark,
    results: Mapping[str, Result],
    earlier_mark: ReplacedAnswerMark | None,
) -> SummaryLine:
    """Return the feedback summary's line on one exercise, such as "✗ softmax: 0 of 2 points".

    Parameters
    ----------
    earlier_mark : ReplacedAnswerMark, optional
        Points and comment that a person gave for an earlier answer, if there was one.
    """
    max_score, score, result = mark.points[name], mark.scores[name], results.get(name)
    comment = mark.comments.get(name, "")
    if earlier_mark:
        comment += f"\n{describe_earlier_mark(earlier_mark, max_score)}"
    comment = comment.strip()
    points = f"{format_points(score)} of {format_points(max_score)}"
    extra_credit = mark.extra_credit.get(name, 0.0)

    def line(sign: str, state: str, wrong: str = "", nudge: str = "") -> SummaryLine:
        if extra_credit:
            state += f", with {format_count(extra_credit, 'point')} of extra credit"
        return SummaryLine(name, sign, state, points, wrong, nudge, comment)

    if not max_score:
        return replace(line("·", "does not count"), points="–")
    if score is None:
        return line("…", AWAITING_MANUAL_GRADING, "A person will read this answer.")
    if name not in lab.exercises:
        if name in mark.manually_graded:
            return line("✎", "read by a person")
        return line("✗", "no answer", "No answer was written here.")
    wrong = nudge = ""
    if result:
        wrong, nudge = _describe_mistake_and_hint(lab, result, results)
    if name in mark.manually_graded:
        return line("✎", "points given by a person", wrong, nudge)
    if score - extra_credit >= max_score:
        if result and result.kind is ResultReason.FOLLOWED:
            return line("✓", "right", result.message)
        return line("✓", "right")
    return line("✗", "not right yet", wrong, nudge)


def _describe_mistake_and_hint(
    lab: Lab, result: Result, results: Mapping[str, Result]
) -> tuple[str, str]:
    """Return a description of the mistake in an answer, and a hint for the student.

    If the mistake is a known misconception, both are the course author's; else the description is
    the message of the check, and the hint is "".
    """
    if result.verdict is Verdict.PASS:
        return "", ""
    if result.kind is ResultReason.STUB:
        return NOT_WRITTEN_MESSAGE, ""
    misconception = lab.exercises[result.exercise].find_misconception(result.misconception)
    if misconception:
        means, nudge = misconception.means, misconception.nudge
    elif result.misconception in MISTAKES:
        means, nudge = MISTAKES[result.misconception]
    else:
        return truncate_with_remark(result.message, MAX_MESSAGE_CHARACTERS), ""
    if not means:
        return truncate_with_remark(result.message, MAX_MESSAGE_CHARACTERS), nudge
    cause = results.get(result.cause or "")
    if cause is not None:
        is_written = cause.kind is not ResultReason.STUB
        means = f"{describe_broken_dependency(cause.exercise, is_written)} {means}"
    return means, nudge
