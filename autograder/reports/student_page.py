"""Render a student's feedback page as HTML: summary, answers with messages, and the lab.

The page needs no network and no script, and contains nothing of a student that a browser would
execute. `feedback_summary` makes the data that is rendered here, and `feedback_pages` writes the
files.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from nbformat import NotebookNode

from autograder.core.notebook_cells import (
    get_grade_id,
    get_nbgrader_metadata,
    make_grade_id,
    make_test_grade_id,
)
from autograder.gradebook.graded_submission import NOT_RUN_OUTPUT
from autograder.reports import safe_html

if TYPE_CHECKING:
    from autograder.gradebook.regrade_requests import RegradeRequest

MAX_EXTRA_CELLS = 60  # notebook cells on a page that the student added or changed
MAX_CELL_OUTPUTS = 20  # outputs of such a cell
# A right answer may begin or end with lines that the lab had given. If they are at least this many,
# the page hides them until the student clicks on them.
MIN_FOLDED_LINES = 4
AWAITING_MANUAL_GRADING = "awaiting manual grading"
_MARK_SCHEME = re.compile(r"#+\s*BEGIN MARK SCHEME.*?(?:#+\s*END MARK SCHEME[^\n]*|\Z)", re.DOTALL)


@dataclass(frozen=True)
class SummaryLine:
    """Line of a feedback page's summary, about one exercise or question.

    Parameters
    ----------
    sign, state : str
        Outcome as a sign and in a few words, such as "✗" and "not right yet".
    points : str
        Points as text, such as "2 of 3", or "– of 3" for an answer that awaits manual grading.
    wrong, nudge : str
        Description of the mistake, and a hint; "" if there is none.
    comment : str
        The instructor's comment.
    requests : tuple of RegradeRequest
        The student's regrade requests with their answers.
    """

    name: str
    sign: str
    state: str
    points: str
    wrong: str = ""
    nudge: str = ""
    comment: str = ""
    requests: "tuple[RegradeRequest, ...]" = ()


@dataclass(frozen=True)
class FeedbackSummary:
    """Summary at the top of a feedback page: points, dates, notes, and a line for each exercise.

    Parameters
    ----------
    course, title : str
        Titles of the course and of the lab.
    student, lab : str
        Names of the student's folder and of the lab.
    name : str
        The student's full name.
    total : str
        Total points as text, such as "8 of 10 points so far".
    facts : tuple of str
        Sentences about partners, dates and lateness.
    lines : tuple of SummaryLine
        One line for each exercise and question.
    awaiting : tuple of str
        Names of the answers that await manual grading.
    notes : tuple of str
        Sentences about irregularities in the submitted file.
    unreadable : str
        Reason if nothing in the submitted file could be graded, else "".
    """

    course: str
    student: str
    name: str
    title: str
    lab: str
    total: str
    facts: tuple[str, ...]
    lines: tuple[SummaryLine, ...]
    awaiting: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unreadable: str = ""


@dataclass(frozen=True, eq=False)
class ReleasedNotebook:
    """A lab's notebook as students received it, without solutions.

    Parameters
    ----------
    exercises : frozenset of str
        Names of the exercises, which are graded automatically.
    cells : tuple of NotebookNode
        Cells of the notebook.
    sources : frozenset of str
        Sources of all cells; those of questions both with and without the marking scheme.
    """

    exercises: frozenset[str]
    cells: tuple[NotebookNode, ...]
    sources: frozenset[str]


@dataclass(frozen=True)
class RenderedAnswer:
    """A student's answer as HTML, with its question and the autograder's messages.

    Parameters
    ----------
    parts : tuple of (str, Markup)
        Parts of the answer. A part that is folded on the page has a heading, another part has "".
    findings : tuple of Markup
        Messages that say what is wrong with the answer, or that it is right.
    """

    line: SummaryLine
    question: Markup
    parts: tuple[tuple[str, Markup], ...]
    is_code: bool
    outputs: tuple[Markup, ...] = ()
    findings: tuple[Markup, ...] = ()


@dataclass(frozen=True)
class RenderedCell:
    """Notebook cell that the student added or changed, and that holds no answer, as HTML."""

    source: Markup
    is_code: bool
    outputs: tuple[Markup, ...]


def render_student_page(
    summary: FeedbackSummary,
    released_notebook: ReleasedNotebook,
    notebook: Mapping[str, Any],
    text_only: bool = False,
) -> str:
    """Return a student's feedback page as HTML.

    Parameters
    ----------
    notebook : mapping
        The graded notebook, as parsed from JSON.
    text_only : bool
        Show code without colours and Markdown as plain text, which takes less time.
    """
    answers: list[RenderedAnswer] = []
    extra_cells: list[RenderedCell] = []
    omitted_count = 0
    if not summary.unreadable:
        cells = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
        renderer = safe_html.StudentTextRenderer(text_only)
        answers += _render_answers(summary, released_notebook, cells, renderer)
        extra = _find_cells_besides_answers(released_notebook, cells)
        omitted_count = max(0, len(extra) - MAX_EXTRA_CELLS)
        extra_cells += [_render_extra_cell(cell, renderer) for cell in extra[:MAX_EXTRA_CELLS]]
    return safe_html.render_page(
        "feedback.html",
        summary=summary,
        answers=answers,
        extra_cells=extra_cells,
        omitted_count=omitted_count,
        lab_html=_render_released_notebook(released_notebook),
    )


def _render_answers(
    summary: FeedbackSummary,
    released_notebook: ReleasedNotebook,
    cells: Sequence[dict],
    renderer: safe_html.StudentTextRenderer,
) -> Iterator[RenderedAnswer]:
    cell_by_id = {get_grade_id(cell): cell for cell in cells if get_grade_id(cell)}
    for line in summary.lines:
        is_exercise = line.name in released_notebook.exercises
        cell = cell_by_id.get(make_grade_id(line.name) if is_exercise else line.name)
        if cell is None:
            continue
        source, is_code = str(cell.get("source", "")), cell.get("cell_type") == "code"
        question: Markup = Markup("")
        findings: tuple[Markup, ...] = ()
        if is_exercise:
            findings = _render_findings(cell_by_id, line.name)
        else:
            question = render_question_text(released_notebook, line.name)
        if is_code:
            sections = split_code(
                _get_released_answer_lines(released_notebook, line.name), line, source
            )
            parts = tuple((heading, renderer.render_code(code)) for heading, code in sections)
        else:
            parts = (("", renderer.render_prose(cell, _remove_mark_scheme(source))),)
        outputs = _render_outputs(_outputs(cell))
        yield RenderedAnswer(line, question, parts, is_code, outputs, findings)


def _render_findings(cell_by_id: Mapping[str, dict], exercise: str) -> tuple[Markup, ...]:
    test_cell = cell_by_id.get(make_test_grade_id(exercise), {})
    messages = [output for output in _outputs(test_cell) if output.get("output_type") != "error"]
    return tuple(filter(None, map(safe_html.render_check_message, messages)))


def _render_outputs(outputs: Sequence[dict]) -> tuple[Markup, ...]:
    return tuple(filter(None, map(safe_html.render_output, outputs)))


def split_code(
    released_lines: Sequence[str],
    summary_line: SummaryLine,
    source: str,
) -> Iterator[tuple[str, str]]:
    """Split an answer's code into lines that the lab had given and lines that the student wrote.

    In a right answer, lines at the start and at the end that were handed out in this form become
    parts with a heading, which the page folds. The part that the student wrote has the heading "".

    Parameters
    ----------
    released_lines : sequence of str
        Lines of the answer cell as they were handed out.
    """
    lines = source.split("\n")
    head = tail = 0
    if summary_line.sign == "✓":
        head = _count_equal_leading_lines(lines, released_lines)
        tail = _count_equal_leading_lines(lines[:head:-1], released_lines[:head:-1])
    if head < MIN_FOLDED_LINES:
        head = 0
    if tail < MIN_FOLDED_LINES:
        tail = 0
    if head + tail >= len(lines):
        head = tail = 0
    end = len(lines) - tail
    if head:
        yield f"The first {head} lines, as they were handed out", "\n".join(lines[:head])
    yield "", "\n".join(lines[head:end])
    if tail:
        yield f"The last {tail} lines, as they were handed out", "\n".join(lines[end:])


def _count_equal_leading_lines(lines: Sequence[str], released_lines: Sequence[str]) -> int:
    """Return the number of equal lines at the start of two texts."""
    count = 0
    for line, released_line in zip(lines, released_lines, strict=False):
        if line != released_line:
            break
        count += 1
    return count


def _get_released_answer_lines(released_notebook: ReleasedNotebook, exercise: str) -> list[str]:
    """Return the lines of an exercise's answer cell as it was given to students.

    Return [] if the lab has no such cell.
    """
    return _get_released_code_lines(released_notebook).get(make_grade_id(exercise), [])


@cache
def _get_released_code_lines(released_notebook: ReleasedNotebook) -> Mapping[str, list[str]]:
    """Return the lines of each code cell in the lab's released notebook, by the cell's grade_id."""
    lines_by_id = {}
    for cell in released_notebook.cells:
        if cell.cell_type == "code":
            lines_by_id[get_grade_id(cell)] = cell.source.split("\n")
    return lines_by_id


@cache
def render_question_text(released_notebook: ReleasedNotebook, name: str) -> Markup:
    """Return a question's text as HTML, without its marking scheme.

    The text is that of the Markdown cell just before the answer cell `name`; "" if there is none.
    """
    previous = None
    for cell in released_notebook.cells:
        if get_grade_id(cell) == name:
            break
        previous = cell
    else:
        return Markup("")
    if previous is None or previous.cell_type != "markdown":
        return Markup("")
    return _render_lab_prose(previous)


def _find_cells_besides_answers(
    released_notebook: ReleasedNotebook, cells: Sequence[dict]
) -> list[dict]:
    """Return the cells that the student added, and changed cells that hold no graded answer."""
    extra = []
    for cell in cells:
        source = str(cell.get("source", ""))
        from_grader = bool(get_nbgrader_metadata(cell)) or cell.get("id") == "grader-notes"
        from_lab = source in released_notebook.sources or NOT_RUN_OUTPUT in _outputs(cell)
        if source.strip() and not from_grader and not from_lab:
            extra.append(cell)
    return extra


def _render_extra_cell(cell: dict, renderer: safe_html.StudentTextRenderer) -> RenderedCell:
    source = str(cell.get("source", ""))
    outputs = _render_outputs(_outputs(cell)[:MAX_CELL_OUTPUTS])
    if cell.get("cell_type") == "code":
        return RenderedCell(renderer.render_code(source), True, outputs)
    html = renderer.render_prose(cell, _remove_mark_scheme(source))
    return RenderedCell(html, False, outputs)


@cache
def _render_released_notebook(released_notebook: ReleasedNotebook) -> Markup:
    """Return the lab as students received it, as HTML without the test cells.

    It is rendered once for all pages of the lab.
    """
    parts = []
    for cell in released_notebook.cells:
        is_code = cell.cell_type == "code"
        if is_code and get_nbgrader_metadata(cell).get("grade"):
            continue
        if cell.cell_type == "markdown":
            prose = _render_lab_prose(cell)
            parts.append(Markup("<div class='prose'>{}</div>").format(prose))
        else:
            parts.append(Markup("<pre>{}</pre>").format(safe_html.highlight_python(cell.source)))
    return Markup("\n").join(parts)


def _render_lab_prose(cell: Mapping[str, Any]) -> Markup:
    source = _remove_mark_scheme(cell["source"])
    return safe_html.render_lab_markdown(source, cell.get("attachments", {}))


def _remove_mark_scheme(source: str) -> str:
    """Remove the marking scheme, which some older labs have, from a cell's text."""
    return _MARK_SCHEME.sub("", source)


def _outputs(cell: Mapping[str, Any]) -> list[dict]:
    """Return a notebook cell's outputs, except malformed ones that a student's file may have."""
    outputs = cell.get("outputs")
    if not isinstance(outputs, list):
        return []
    return [output for output in outputs if isinstance(output, dict)]
