"""Preprocessors (steps of nbgrader) that help to turn a solution notebook into the released one."""

import ast
import re
from contextlib import suppress

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution

from autograder.authoring.python_names import find_bound_names, find_read_or_assigned_names

# HTML of a picture and its alt text, in the form in which a course's library displays pictures.
_PICTURE = re.compile(r'<img alt="[^"]*"[^>]* src="data:image/png;base64,([A-Za-z0-9+/=]+)">')


class AllowTestErrors(NbGraderPreprocessor):
    """Let "Run All" continue after a failed check, so that every exercise reports its state.

    The test cells get the tag "raises-exception". If a cell without this tag raises, the kernel
    does not run the cells after it.
    """

    def preprocess_cell(
        self,
        cell: NotebookNode,
        resources: dict,
        index: int,
    ) -> tuple[NotebookNode, dict]:
        if cell.cell_type == "code" and is_grade(cell):
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "raises-exception"]
        return cell, resources


class ClearOutputsOfAnswers(NbGraderPreprocessor):
    """Clear the outputs of cells that need a student's answer, and keep those of the other cells.

    A statement depends on an answer if it uses a name that an answer cell defines, or a name that
    another such statement defines. The same holds for names imported from the package `autograder`,
    such as `check`. One such statement clears the output of its whole cell. A picture is kept as a
    PNG, which every viewer of notebooks shows.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        dependent_names: set[str] = set()
        code_cells = [cell for cell in nb.cells if cell.cell_type == "code"]
        for cell in code_cells:
            if is_solution(cell):
                with suppress(SyntaxError):  # an answer cell need not be valid Python
                    dependent_names |= set(find_bound_names(_parse_cell(cell.source)))
        for cell in code_cells:
            try:
                needs_answer = _track_answer_dependence(cell.source, dependent_names)
            except SyntaxError:
                needs_answer = True  # the cell may have a magic command, which can do anything
            cell.execution_count = None
            if needs_answer or is_solution(cell) or is_grade(cell):
                cell.outputs = []
            else:
                cell.outputs = [_convert_html_picture_to_png(output) for output in cell.outputs]
        return nb, resources


def _track_answer_dependence(source: str, dependent_names: set[str]) -> bool:
    """Return True if a notebook cell cannot run until the student has answered an exercise.

    Parameters
    ----------
    dependent_names : set of str
        Names that depend on an answer. Those that the cell defines are added.
    """
    needs_answer = False
    for statement in _parse_cell(source).body:
        is_dependent = bool(dependent_names & find_read_or_assigned_names(statement))
        needs_answer = needs_answer or is_dependent
        if is_dependent or _imports_engine(statement):
            dependent_names |= set(find_bound_names(statement))
    return needs_answer


def _parse_cell(source: str) -> ast.Module:
    return compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _imports_engine(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.ImportFrom):
        return False
    return (statement.module or "").split(".")[0] == "autograder"


def _convert_html_picture_to_png(output: NotebookNode) -> NotebookNode:
    """Replace an HTML output that contains a picture by a PNG; return other outputs unchanged."""
    html = _PICTURE.fullmatch(output.get("data", {}).get("text/html", ""))
    if not html:
        return output
    alt = output.data["text/plain"]
    data = {"image/png": html[1], "text/plain": alt}
    return nbformat.v4.new_output("display_data", data, metadata={"image/png": {"alt": alt}})
