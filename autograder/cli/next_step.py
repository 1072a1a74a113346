"""Say what to do next in this folder: the answer to `autograder` without a command.

Nothing is run and nothing is written.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from autograder.authoring.lab import read_labs
from autograder.core.course import CLASSROOM_VARIABLE, Course
from autograder.core.errors import format_count
from autograder.gradebook import result_store
from autograder.gradebook.classroom import Classroom
from autograder.reports.marks import ClassMarks, read_marks

QUESTIONS_SHOWN = 6  # questions that await manual grading, with the command for each


def describe_next_steps(course: Course) -> Iterator[str]:
    """Yield lines on the state of the class in this folder, with the commands to run next."""
    classroom = Classroom(Path(os.environ.get(CLASSROOM_VARIABLE, "classroom")), course)
    submissions = classroom.list_submissions(course.labs)
    if not submissions:
        yield f"No submissions in {classroom.root} yet."
        yield from _format_step("File a download from your learning platform", "collect DOWNLOAD")
        yield from _format_step("Or see the grader at work on a sample class", "make demo")
        yield from _format_step("Or do the labs yourself", "lab")
        return
    students = {student for student, _ in submissions}
    yield (
        f"The class in {classroom.root}: {format_count(len(submissions), 'submission')} "
        f"by {format_count(len(students), 'student')}."
    )
    steps = list(_find_steps(classroom, submissions))
    if not steps:
        yield "Everything is graded, and feedback and report are up to date."
    for sentence, command in steps:
        yield from _format_step(sentence, command)


def _format_step(sentence: str, command: str) -> list[str]:
    if not command.startswith("make "):
        command = f"autograder {command}"
    return [f"{sentence}:", f"    {command}"]


def _find_steps(classroom: Classroom, submissions: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield what is to be done, as sentences with commands, in the order in which to do it."""
    ungraded_count = _count_ungraded(classroom, submissions)
    if ungraded_count:
        verb = "is" if ungraded_count == 1 else "are"
        yield f"{format_count(ungraded_count, 'submission')} {verb} not graded yet", "grade"
    marks = read_marks(classroom)
    for (lab, question), count in _count_awaiting_answers(classroom.course, marks).most_common(
        QUESTIONS_SHOWN
    ):
        verb = "awaits" if count == 1 else "await"
        sentence = f"{format_count(count, 'answer')} to {question} {verb} manual grading"
        yield sentence, f"answers {lab} {question}"
    outdated_count = 0
    newest_mark = _modification_time(classroom.root / "gradebook.db")
    for student, lab in marks.marks:
        result_time = _modification_time(classroom.result_path(student, lab))
        newest_mark = max(newest_mark, result_time)
        outdated_count += _modification_time(classroom.page_path(student, lab)) < result_time
    if outdated_count:
        verb = "is" if outdated_count == 1 else "are"
        pages = format_count(outdated_count, "feedback page")
        yield f"{pages} {verb} missing or older than the results", "feedback"
    report_time = _modification_time(classroom.report / "index.html")
    if marks.marks and report_time < newest_mark:
        state = "is older than the marks" if report_time else "is not written yet"
        yield f"The report on the class {state}", "report"


def _count_ungraded(classroom: Classroom, submissions: list[tuple[str, str]]) -> int:
    """Return the number of submissions without a result of their present content."""
    results = result_store.load_all_results(classroom)
    count = 0
    for student, lab in submissions:
        result, data = results.get((student, lab)), classroom.read_submission(student, lab).data
        if result is None or (data is not None and result.file_hash != hashlib.sha256(data).hexdigest()):
            count += 1
    return count


def _count_awaiting_answers(course: Course, marks: ClassMarks) -> Counter[tuple[str, str]]:
    """Return the number of answers that await manual grading, by lab and question."""
    counts: Counter[tuple[str, str]] = Counter()
    questions = {}
    for name, lab in read_labs(course).items():
        questions[name] = set(lab.manual_questions)
    for (_, lab_name), mark in marks.marks.items():
        for name, score in mark.scores.items():
            if score is None and mark.points[name] and name in questions.get(lab_name, ()):
                counts[lab_name, name] += 1
    return counts


def _modification_time(path: Path) -> float:
    """Return when a file was last changed, in seconds since 1970; 0 if there is no such file."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
