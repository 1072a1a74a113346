"""Find faults in a lab's solution notebook that would mislead students or refuse right answers."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path
from urllib.parse import unquote

from nbformat import NotebookNode

from autograder.authoring.exercise import POINTS_TOLERANCE
from autograder.authoring.lab import MARK_SCHEME, Lab
from autograder.authoring.python_names import find_external_names
from autograder.core.import_guard import allowed_packages, find_imports
from autograder.core.notebook_cells import (
    SOLUTION_BEGIN,
    SOLUTION_END,
    get_grade_id,
    get_nbgrader_metadata,
    make_test_grade_id,
)
from autograder.core.text_format import format_count, join_words

# Target of a link or a picture in Markdown, such as [text](target "title"), or in HTML.
_LINK = re.compile(r"""\]\(<?([^)\s>]+)[^)]*\)|<(?:img|a)\b[^>]*?\b(?:src|href)=["']([^"']+)["']""")
_CODE_IN_MARKDOWN = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_ATTACHMENT = "attachment:"
COPIED_LINES = 3  # of an answer, one below the other, that no other cell should hold
# Tags of cells that the build, the grader or the kernel's client act on.
_TAGS = ("setup", "illustration", "nbval-ignore-output", "raises-exception")
# Heading with the points of a question, such as "## In your own words (2 points, manually graded)".
_POINTS_HEADING = re.compile(r"^#+ .*\([\d.]+ points?[,)].*", re.M)
_SCHEME_POINTS = re.compile(r"[-*] \**([\d.]+) points?\b(?! for each)")


def find_notebook_weaknesses(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each fault in the solution notebook that must not reach students."""
    yield from _find_missing_solution_delimiters(lab)
    yield from _find_tests_above_answers(lab)
    yield from _find_forbidden_imports(lab)
    yield from _find_missing_attachments(lab)
    yield from _find_questions_without_answer_cell(lab)
    yield from _find_schemes_that_do_not_add_up(lab)


def _find_missing_solution_delimiters(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each answer that is not between BEGIN SOLUTION and END SOLUTION."""
    for cell in lab.cells:
        exercise = lab.exercises_by_answer_cell.get(get_grade_id(cell))
        if exercise is None:
            continue
        lines = [line.strip() for line in cell.source.splitlines()]
        for mark in (SOLUTION_BEGIN, SOLUTION_END):
            if mark not in lines:
                yield (
                    f"{lab.name}: the cell {cell.id!r} has no line `{mark}`, so students would not "
                    f"get the first lines of `{exercise.name}`. Write the answer between the lines "
                    f"`{SOLUTION_BEGIN}` and `{SOLUTION_END}`."
                )
                break


def _find_tests_above_answers(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each exercise whose test cell is above its answer cell."""
    cell_names = [get_grade_id(cell) for cell in lab.cells]
    for answer, exercise in lab.exercises_by_answer_cell.items():
        test = make_test_grade_id(exercise.name)
        if answer in cell_names and cell_names.index(test) < cell_names.index(answer):
            yield (
                f"{lab.name}: the cell {test!r} is above the cell {answer!r}, so it runs before "
                f"`{exercise.name}` is defined. Move it below."
            )


def _find_forbidden_imports(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each set-up or answer cell that imports what answers may not import."""
    allowed = allowed_packages(lab.allowed_packages) or frozenset()
    for name, source in lab.reference_cells.items():
        forbidden = sorted(find_imports(source) - allowed)
        if forbidden:
            yield (
                f"{lab.name}: the cell {name!r} imports {join_words(forbidden)}, which not every "
                f'student has. Add "{forbidden[0]}" to `imports` in course.toml, or, if it is a '
                "package of the course, to `library`."
            )


def _find_missing_attachments(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each picture that a text shows and its cell does not hold."""
    for cell, target in _list_links(lab):
        name = target.removeprefix(_ATTACHMENT)
        if target.startswith(_ATTACHMENT) and name not in cell.get("attachments", {}):
            yield (
                f"{lab.name}: the cell {cell.id!r} shows the picture {name!r}, and has no "
                "attachment of this name. Drag the picture into the cell in JupyterLab."
            )


def _find_questions_without_answer_cell(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each manually graded question without an answer cell right below it.

    nbgrader cuts out only what a solution cell holds: in any other cell, students would get the
    author's answer.
    """
    for question, answer in zip_longest(lab.cells, lab.cells[1:]):
        if not _asks_for_manual_answer(question, lab):
            continue
        metadata = get_nbgrader_metadata(answer or {})
        if metadata.get("grade") and metadata.get("solution"):
            continue
        place = "no cell is below"
        if answer:
            place = f"the cell {answer.id!r} is below"
        yield (
            f"{lab.name}: {place} the manually graded question {question.id!r}, where its answer "
            "is to be a manually graded solution cell; of any other cell, students get what you "
            "wrote in it. In JupyterLab's panel nbgrader → Create assignment, set the answer's "
            "cell to “Manually graded answer”. Its metadata `nbgrader` then has `grade` and "
            "`solution`, both true."
        )


def _asks_for_manual_answer(cell: NotebookNode, lab: Lab) -> bool:
    """Return True if a cell is the question of an answer in another cell, which a person marks.

    It holds a marking scheme, or is locked and has a heading with points that names no exercise.
    """
    metadata = get_nbgrader_metadata(cell)
    if metadata.get("solution") or metadata.get("task"):
        return False  # the answer itself, or a task, whose answer may be anywhere
    if MARK_SCHEME.search(cell.source):
        return True
    if cell.cell_type != "markdown" or not metadata.get("locked"):
        return False
    headings = _POINTS_HEADING.findall(cell.source)
    return any(lab.exercises.keys().isdisjoint(re.findall(r"`(\w+)`", text)) for text in headings)


def _find_schemes_that_do_not_add_up(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each marking scheme whose points are not those of its question."""
    for name, scheme in lab.mark_schemes().items():
        # A line that begins with spaces goes on with the item before it.
        items = [line for line in scheme.splitlines() if line.strip() and not line.startswith(" ")]
        matches = [_SCHEME_POINTS.match(item) for item in items]
        points = sum(float(match[1]) for match in matches if match)
        if all(matches) and abs(points - lab.manual_questions[name]) > POINTS_TOLERANCE:
            yield (
                f"{lab.name}: the marking scheme of {name!r} gives {format_count(points, 'point')} "
                f"together, and the cell's `nbgrader` metadata says "
                f"{format_count(lab.manual_questions[name], 'point')}. Correct one of them."
            )


def find_notebook_warnings(lab: Lab) -> Iterator[str]:
    """Yield a sentence on each cell of the solution notebook that its author should check again."""
    yield from _find_unguarded_cells(lab)
    yield from _find_broken_links(lab)
    yield from _find_undeclared_prerequisites(lab)
    yield from _find_misspelt_tags(lab)
    yield from _find_copied_answers(lab)


def _find_unguarded_cells(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each notebook cell that uses an answer without `if ready(…):`."""
    for cell in lab.cells:
        if cell.cell_type != "code" or get_grade_id(cell):
            continue
        names = find_external_names(cell.source)
        used_exercises = [name for name in lab.exercises if name in names]
        if used_exercises and "ready" not in names:
            yield (
                f"{lab.name}: the cell {cell.id!r} uses {join_words(used_exercises)}. Where the "
                "student's answer is missing or wrong, it ends in an error; let it begin with `if "
                f"ready({', '.join(used_exercises)}):`."
            )


def _find_undeclared_prerequisites(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each answer that uses another exercise and does not say `builds_on`."""
    for cell in lab.cells:
        exercise = lab.exercises_by_answer_cell.get(get_grade_id(cell))
        if exercise is None:
            continue
        names = find_external_names(cell.source) & lab.exercises.keys()
        if not names:
            continue
        declared = {ancestor.name for ancestor in lab.prerequisites(exercise)}
        used_exercises = [name for name in lab.exercises if name in names - declared]
        if used_exercises:
            yield (
                f"{lab.name}: the answer {exercise.name} uses {join_words(used_exercises)}, and its "
                f"exercise does not say so. Where only {join_words(used_exercises, 'or')} is wrong, "
                f"{exercise.name} would get no points; write "
                f"`builds_on=[{', '.join(used_exercises)}]`."
            )


def _find_misspelt_tags(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each tag of a cell that is nearly the name of one with a meaning."""
    for cell in lab.cells:
        for tag in cell.metadata.get("tags", []):
            similar = get_close_matches(tag, _TAGS, n=1)
            if tag not in _TAGS and similar:
                yield (
                    f"{lab.name}: the cell {cell.id!r} has the tag {tag!r}, which has no meaning; "
                    f"did you mean {similar[0]!r}?"
                )


def _find_copied_answers(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each code cell of the students' that repeats lines of an answer."""
    answers = {}
    for cell in lab.cells:
        exercise = lab.exercises_by_answer_cell.get(get_grade_id(cell))
        if exercise is not None:
            text = cell.source.partition(SOLUTION_BEGIN)[2].partition(SOLUTION_END)[0]
            answers[exercise.name] = _list_consecutive_lines(text)
    for cell in lab.cells:
        if cell.cell_type != "code" or get_grade_id(cell) in lab.exercises_by_answer_cell:
            continue
        cell_lines = _list_consecutive_lines(cell.source)
        for exercise_name, answer_lines in answers.items():
            if cell_lines & answer_lines:
                yield (
                    f"{lab.name}: the cell {cell.id!r}, which students get, repeats "
                    f"{COPIED_LINES} lines of the answer {exercise_name}. Take them out, or call "
                    f"`{exercise_name}`."
                )


def _list_consecutive_lines(source: str) -> set[tuple[str, ...]]:
    """Return all runs of lines that are as long as a copied part of an answer, without indents."""
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    count = len(lines) - COPIED_LINES + 1
    return {tuple(lines[start : start + COPIED_LINES]) for start in range(count)}


def _find_broken_links(lab: Lab) -> Iterator[str]:
    """Yield a sentence for each link to a file that does not lie beside the students' notebook."""
    for cell, target in _list_links(lab):
        path = unquote(target.partition("#")[0].partition("?")[0])
        is_elsewhere = re.match(r"[a-zA-Z][\w+.-]*:|//", target) is not None
        if path and not is_elsewhere and not Path(lab.release_path.parent, path).exists():
            yield (
                f"{lab.name}: the cell {cell.id!r} links to {target!r}, and there is no such file "
                "from the folder of the students' notebook. Correct the link, or attach the "
                "picture to the cell."
            )


def _list_links(lab: Lab) -> Iterator[tuple[NotebookNode, str]]:
    """Yield the targets of links and pictures in the notebook's texts, each with its cell."""
    for cell in lab.cells:
        if cell.cell_type == "markdown":
            for markdown_target, html_target in _LINK.findall(
                _CODE_IN_MARKDOWN.sub("", cell.source)
            ):
                yield cell, markdown_target or html_target
