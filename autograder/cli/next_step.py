"""Say what to do next in this folder: the answer to `autograder` without a command.

Nothing is run and nothing is written.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from autograder.authoring.lab import read_labs
from autograder.core.course import CLASSROOM_VARIABLE, Course
from autograder.core.text_format import format_count
from autograder.gradebook import result_store
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.graded_submission import hash_submitted_file
from autograder.reports.marks import ClassMarks, read_marks

_Step = tuple[str, str]  # a sentence, and the command to run
QUESTIONS_SHOWN = 6  # questions that await manual grading, with the command for each


def describe_next_steps(course: Course) -> Iterator[str]:
    """Yield lines on the state of the class in this folder, with the commands to run next."""
    classroom = Classroom(Path(os.environ.get(CLASSROOM_VARIABLE) or "classroom"), course)
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


def _find_steps(classroom: Classroom, submissions: list[tuple[str, str]]) -> Iterator[_Step]:
    """Yield what is to be done, in the order in which to do it."""
    yield from _find_grading_step(classroom, submissions)
    marks = read_marks(classroom)
    yield from _find_manual_grading_steps(classroom, marks)
    yield from _find_feedback_step(classroom, marks)
    yield from _find_report_step(classroom, marks)


def _find_grading_step(classroom: Classroom, submissions: list[tuple[str, str]]) -> Iterator[_Step]:
    count = _count_ungraded(classroom, submissions)
    if count:
        verb = "is" if count == 1 else "are"
        yield f"{format_count(count, 'submission')} {verb} not graded yet", "grade"


def _find_manual_grading_steps(classroom: Classroom, marks: ClassMarks) -> Iterator[_Step]:
    awaiting = _count_ungraded_answers(classroom.course, marks)
    for (lab, question), count in awaiting.most_common(QUESTIONS_SHOWN):
        verb = "awaits" if count == 1 else "await"
        sentence = f"{format_count(count, 'answer')} to {question} {verb} manual grading"
        yield sentence, f"answers {lab} {question}"


def _find_feedback_step(classroom: Classroom, marks: ClassMarks) -> Iterator[_Step]:
    count = 0
    for student, lab in marks.marks:
        result_time = _modification_time(classroom.result_path(student, lab))
        count += _modification_time(classroom.page_path(student, lab)) < result_time
    if count:
        verb = "is" if count == 1 else "are"
        pages = format_count(count, "feedback page")
        yield f"{pages} {verb} missing or older than the results", "feedback"


def _find_report_step(classroom: Classroom, marks: ClassMarks) -> Iterator[_Step]:
    newest_mark = _modification_time(classroom.root / "gradebook.db")
    for student, lab in marks.marks:
        newest_mark = max(newest_mark, _modification_time(classroom.result_path(student, lab)))
    report_time = _modification_time(classroom.report / "index.html")
    if marks.marks and report_time < newest_mark:
        state = "is older than the marks" if report_time else "is not written yet"
        yield f"The report on the class {state}", "report"


def _count_ungraded(classroom: Classroom, submissions: list[tuple[str, str]]) -> int:
    """Return the number of submissions without a result of their present content."""
    results = result_store.load_all_results(classroom)
    count = 0
    for student, lab in submissions:
        result, data = results.get((student, lab)), classroom.read_submission(student, lab).content
        if result is None or (data is not None and result.file_hash != hash_submitted_file(data)):
            count += 1
    return count


def _count_ungraded_answers(course: Course, marks: ClassMarks) -> Counter[tuple[str, str]]:
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
