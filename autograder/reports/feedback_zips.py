"""Pack feedback into files for upload to Moodle, Canvas and others (formats: docs/grades.md).

returned/<lab>-moodle.zip     for "Upload multiple feedback files in a zip" in Moodle
returned/<lab>-canvas.zip     for "Upload submissions" in Canvas's gradebook
returned/<lab>/               files <student>-<lab>.html, for other platforms
returned/term/                files <student>-term.html, if course.toml has rules for the term
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from autograder.authoring.distribution import make_zip
from autograder.authoring.lab import Lab, read_lab_in
from autograder.core.files import is_disk_error, write_file
from autograder.core.notebook_cells import get_grade_id, make_grade_id, make_test_grade_id
from autograder.core.text_format import format_count
from autograder.gradebook import result_store
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.graded_submission import GradedSubmission
from autograder.gradebook.policy import read_policy
from autograder.grading.pool import count_cores
from autograder.grading.run import describe_error
from autograder.grading.sanitise import clean_output, make_output
from autograder.grading.worker import WorkerFailed, run_calls_in_workers
from autograder.intake import Origin
from autograder.reports.feedback_pages import MAX_FAILURE_CHARACTERS, MAX_PAGE_SECONDS
from autograder.reports.feedback_summary import build_summary
from autograder.reports.marks import ClassMarks, read_marks
from autograder.reports.student_page import FeedbackSummary, SummaryLine
from autograder.reports.term import TERM_NAME

MAX_FILE_NAME_BYTES = 200
MAX_STUDENT_BYTES = 120  # of the student's name in a file name that is too long


@dataclass
class _FeedbackByPlatform:
    """Feedback on one lab, grouped by the platform that will deliver it to the students.

    Parameters
    ----------
    moodle : dict of str to Path
        Paths of feedback pages, by their name in the zip archive for Moodle.
    canvas : dict of str to FeedbackSummary
        Summaries to be rendered as notebooks, by their name in the zip archive for Canvas.
    page_count : int
        Number of pages that were written to the folder for other platforms.
    """

    moodle: dict[str, Path] = field(default_factory=dict)
    canvas: dict[str, FeedbackSummary] = field(default_factory=dict)
    page_count: int = 0


def write_feedback_archives(
    classroom: Classroom,
    labs: Sequence[Lab],
    failures: list[str],
) -> Iterator[str]:
    """Pack the existing feedback pages for the platforms from which the submissions came.

    Parameters
    ----------
    failures : list of str
        List to which a sentence is added for each page that cannot be packed.

    Yields
    ------
    str
        Path of each zip archive or folder that was written, with the number of pages in it.
    """
    marks = read_marks(classroom, read_policy(classroom.course, {lab.name: lab for lab in labs}))
    yield from _copy_term_pages_to_return(classroom, marks)
    stored_results = result_store.load_all_results(classroom)
    for lab in labs:
        folder = classroom.root / "returned" / lab.name
        shutil.rmtree(folder, ignore_errors=True)
        feedback = _group_or_copy_pages(classroom, lab, marks, stored_results, failures)
        yield from _write_moodle_and_canvas_zips(classroom, lab, feedback, failures)
        if feedback.page_count:
            yield f"{folder}: {format_count(feedback.page_count, 'page')}."


def _write_moodle_and_canvas_zips(
    classroom: Classroom, lab: Lab, feedback: _FeedbackByPlatform, failures: list[str]
) -> Iterator[str]:
    """Write the feedback on a lab as zips for Moodle and Canvas; yield a sentence about each."""
    notebooks: dict[str, bytes] = {}
    for name, outcome in _make_notebooks_with_feedback(classroom, feedback.canvas):
        if isinstance(outcome, WorkerFailed):
            message = f"{feedback.canvas[name].student}, {lab.name}: {outcome}"
            failures.append(message[:MAX_FAILURE_CHARACTERS])
        else:
            notebooks[name] = outcome.encode("utf-8", "replace")
    pages = ((name, feedback.moodle[name].read_bytes()) for name in sorted(feedback.moodle))
    yield from _replace_zip_archive(
        classroom, f"{lab.name}-moodle.zip", len(feedback.moodle), pages
    )
    files = ((name, notebooks[name]) for name in sorted(notebooks))
    yield from _replace_zip_archive(classroom, f"{lab.name}-canvas.zip", len(notebooks), files)


def _replace_zip_archive(
    classroom: Classroom, name: str, file_count: int, files: Iterator[tuple[str, bytes]]
) -> Iterator[str]:
    """Write a zip archive in place of the old one; yield a sentence, if it has any files.

    An older archive is deleted. If there are no files, no new archive is written.
    """
    path = classroom.root / "returned" / name
    path.unlink(missing_ok=True)
    if file_count:
        write_file(path, make_zip(files))
        yield f"{path}: {format_count(file_count, 'page')}."


def _group_or_copy_pages(
    classroom: Classroom,
    lab: Lab,
    marks: ClassMarks,
    stored_results: Mapping[tuple[str, str], GradedSubmission | None],
    failures: list[str],
) -> _FeedbackByPlatform:
    """Group a lab's feedback pages by platform; copy those that need no zip archive to a folder.

    Pages for platforms other than Moodle and Canvas are written to returned/<lab>/ at once.
    """
    feedback = _FeedbackByPlatform()
    for page in classroom.list_files(classroom.feedback, f"*/{lab.name}/{lab.name}.html"):
        student = page.parent.parent.name
        if student in marks.students and marks.students[student].withdrawn:
            continue
        origin = marks.origins.get((student, lab.name), Origin())
        try:
            moodle_name = _moodle_file_name(origin, student, lab.name)
            canvas_name = _canvas_file_name(origin)
            if moodle_name:
                feedback.moodle[moodle_name] = page
            elif canvas_name:
                submission = stored_results.get((student, lab.name))
                summary = build_summary(classroom, lab, student, marks, submission)
                feedback.canvas[canvas_name] = summary
            else:
                path = classroom.root / "returned" / lab.name / _page_file_name(student, lab.name)
                write_file(path, page.read_bytes())
                feedback.page_count += 1
        except Exception as error:
            if is_disk_error(error):
                raise
            message = f"{student}, {lab.name}: {describe_error(error)}"
            failures.append(message[:MAX_FAILURE_CHARACTERS])
    return feedback


def _copy_term_pages_to_return(classroom: Classroom, marks: ClassMarks) -> Iterator[str]:
    """Copy the students' pages about the term into returned/term/; yield a sentence about it."""
    if classroom.course.term is None:
        return
    pages = []
    for person in marks.enrolled:
        path = classroom.term_path(person.student)
        if path.is_file():
            pages.append(path)
    if pages:
        folder = classroom.root / "returned" / TERM_NAME
        shutil.rmtree(folder, ignore_errors=True)
        for page in pages:
            write_file(folder / _page_file_name(page.parent.name, TERM_NAME), page.read_bytes())
        yield f"{folder}: {format_count(len(pages), 'page')}."


def _make_notebooks_with_feedback(
    classroom: Classroom, summaries: Mapping[str, FeedbackSummary]
) -> Iterator[tuple[str, str | WorkerFailed]]:
    """Render notebooks with feedback in worker processes, and yield each with its file name.

    Yields
    ------
    str
        Name of the notebook, which is a key of `summaries`.
    str or WorkerFailed
        The notebook as JSON, or the error.
    """
    names, course = list(summaries), str(classroom.course.root)
    calls = []
    for summary in summaries.values():
        notebook = classroom.notebook_path(summary.student, summary.lab)
        calls.append((course, summary, str(notebook)))
    outcomes = run_calls_in_workers(
        make_feedback_notebook_json,
        calls,
        workers=count_cores(),
        seconds=MAX_PAGE_SECONDS,
        retry_with_simpler_result=True,
    )
    for i, outcome in outcomes:
        yield names[i], outcome


def make_feedback_notebook_json(
    course_path: str, summary: FeedbackSummary, notebook_path: str, without_answers: bool
) -> str:
    """Return the feedback on one submission as a notebook in JSON; called in a worker process.

    This runs in a worker process, since it processes a student's file.

    Parameters
    ----------
    course_path, notebook_path : str
        Paths of the course's folder and of the graded notebook.
    without_answers : bool
        Leave out the answers.
    """
    notebook = {"cells": []} if without_answers else json.loads(Path(notebook_path).read_bytes())
    return make_canvas_feedback_notebook(summary, read_lab_in(course_path, summary.lab), notebook)


def _page_file_name(student: str, lab: str) -> str:
    """Return the file name `<student>-<lab>.html`.

    If it is too long, the student's name is cut, and a hash is added that keeps the name unique.
    """
    name = f"{student}-{lab}.html"
    if len(name.encode()) <= MAX_FILE_NAME_BYTES:
        return name
    digest = hashlib.sha256(student.encode()).hexdigest()[:8]
    return f"{student.encode()[:MAX_STUDENT_BYTES].decode('utf-8', 'ignore')}-{digest}-{lab}.html"


def _moodle_file_name(origin: Origin, student: str, lab: str) -> str:
    """Return the path in the zip archive by which Moodle finds the student; "" for other platforms.

    It is `<full name>_<participant number>_assignsubmission_file/<file>`, by which Moodle finds
    whose feedback it is; or "" if the submission did not come from Moodle.
    """
    if origin.platform != "Moodle" or not origin.participant.isdecimal():
        return ""
    # Moodle takes the parts of the folder's name between underscores. So replace the underscores in
    # a student's name.
    name = origin.name.replace("_", " ").replace("/", " ").strip(" .") or "Participant"
    # The members of a group have one participant number, and get one feedback file together. So put
    # the group's name into the name of this file.
    author = name if len(origin.members) > 1 else student
    file_name = _page_file_name(author.replace("/", " "), lab)
    return f"{name}_{origin.participant}_assignsubmission_file/{file_name}"


def _canvas_file_name(origin: Origin) -> str:
    """Return the file name by which Canvas finds the student; "" for other platforms."""
    if origin.platform != "Canvas" or not origin.original or not origin.file:
        return ""
    return f"{origin.original}{origin.file}".replace("/", "_")


def make_canvas_feedback_notebook(
    summary: FeedbackSummary,
    lab: Lab,
    notebook: Mapping[str, Any],
) -> str:
    """Return feedback for Canvas as a notebook in JSON: Canvas gives it the name of a notebook.

    Canvas gives a returned file the name of the submitted file, so an HTML page would get a name
    that ends with .ipynb, and could not be opened.
    """
    cells = [_markdown_cell(_render_summary_as_markdown(summary))]
    if not summary.unreadable:
        cell_by_id = {get_grade_id(cell): cell for cell in notebook["cells"]}
        for line in summary.lines:
            cells += _make_feedback_cells(line, line.name in lab.exercises, cell_by_id)
    for number, cell in enumerate(cells):
        cell["id"] = f"feedback-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return str(nbformat.writes(nbformat.from_dict(content)))


def _render_summary_as_markdown(summary: FeedbackSummary) -> str:
    """Return the summary at the top of a feedback notebook as Markdown."""
    name = f"**{summary.name}**"
    if summary.name != summary.student:
        name += f" ({summary.student})"
    paragraphs = [f"# {summary.title}", name, *summary.facts]
    if summary.unreadable:
        paragraphs += [f"**This file could not be marked.** {summary.unreadable}", summary.total]
    else:
        paragraphs += [
            f"## {summary.total}",
            *summary.notes,
            *map(_render_line_as_markdown, summary.lines),
        ]
    return "\n\n".join(paragraphs)


def _render_line_as_markdown(line: SummaryLine) -> str:
    text = f"{line.sign} `{line.name}`: {line.state}, {line.points}. {line.wrong}"
    if line.nudge:
        text += f" *To think about:* {line.nudge}"
    if line.comment:
        text += f"\n\n> {line.comment}"
    for request in line.requests:
        text += f"\n\n> You asked: {request.text}\n>\n> Answer: {request.answer or 'not yet.'}"
    return text


def _make_feedback_cells(
    line: SummaryLine, is_exercise: bool, cell_by_id: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the notebook cells about one answer: heading, answer, and messages of the autograder.

    Below the answer to an exercise, the messages of the check are shown as outputs.
    """
    answer = cell_by_id.get(make_grade_id(line.name) if is_exercise else line.name)
    if answer is None:
        return []
    heading, source = _markdown_cell(f"## {line.name}"), str(answer.get("source", ""))
    if not is_exercise:
        return [heading, _markdown_cell(source)]
    outputs = []
    for output in cell_by_id.get(make_test_grade_id(line.name), {}).get("outputs", ()):
        if output.get("output_type") != "error":
            outputs.append(clean_output(output, keep_styles=True))
    if not outputs:
        outputs = [make_output("stream", name="stdout", text=f"{line.state}\n")]
    code_cell: dict[str, Any] = {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "source": source,
        "outputs": outputs,
    }
    return [heading, code_cell]


def _markdown_cell(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.replace("<", "&lt;")}
