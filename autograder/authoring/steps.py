"""Our own steps in making the students' notebooks; nbgrader_config.py names them among nbgrader's."""

import ast
import re
from contextlib import suppress

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution

from autograder.authoring.names import left_behind, used

# A picture as the courses' libraries show it, with its alt text.
_PICTURE = re.compile(r'<img alt="[^"]*"[^>]* src="data:image/png;base64,([A-Za-z0-9+/=]+)">')


class RunOn(NbGraderPreprocessor):
    """Let "Run All" go on after a check that fails, so that every exercise says how it stands.

    Without the tag a kernel throws away all cells that wait when one raises.
    """

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        if cell.cell_type == "code" and is_grade(cell):
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "raises-exception"]
        return cell, resources


class KeepOutputs(NbGraderPreprocessor):
    """Clear the outputs that an answer is needed for, and keep the others: they can be read before anything runs.

    A statement needs an answer if it names what an answer cell defines, or something of the engine (`check`, `ready`,
    `progress`), or something that such a statement has defined. One such statement clears its whole cell. A picture
    is kept as a plain PNG, which every page that shows notebooks shows.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        needing: set[str] = set()
        for cell in nb.cells:
            if cell.cell_type == "code" and is_solution(cell):
                with suppress(SyntaxError):  # without its answer a cell may be no Python
                    needing |= {*left_behind(_statements(cell.source))}
        for cell in nb.cells:
            if cell.cell_type != "code":
                continue
            try:
                clear = is_solution(cell) or is_grade(cell)
                for statement in _statements(cell.source).body:
                    needs = bool(needing & used(statement))
                    clear = clear or needs
                    if needs or _of_the_engine(statement):
                        needing |= {*left_behind(statement)}
            except SyntaxError:
                clear = True  # a magic: what it does is not known
            cell.execution_count = None
            cell.outputs = [] if clear else [_plain(output) for output in cell.outputs]
        return nb, resources


def _statements(source: str) -> ast.Module:
    return compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _of_the_engine(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == "autograder"


def _plain(output: NotebookNode) -> NotebookNode:
    html = _PICTURE.fullmatch(output.get("data", {}).get("text/html", ""))
    if not html:
        return output
    alt = output.data["text/plain"]
    about = {"image/png": {"alt": alt}}
    return nbformat.v4.new_output("display_data", {"image/png": html[1], "text/plain": alt}, metadata=about)
