"""Read nbgrader's source notebooks: cells with a role, such as solution, test or text."""

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.python_names import parse_code
from autograder.core.errors import UsageError
from autograder.core.notebook_cells import SOLUTION_BEGIN, SOLUTION_END

MAX_POINTS = 1_000_000  # of a cell
MAX_NOTEBOOK_BYTES = 20 << 20
SOURCE_NUMBER = "number in the source"  # entry of a cell's metadata in a converted notebook
SOLUTION_REGION = re.compile(r"(?ms)^([ \t]*)#+ *BEGIN SOLUTION.*?(?:#+ *END SOLUTION[^\n]*|\Z)")
HIDDEN_TESTS = re.compile(
    r"^[ \t]*#+ *BEGIN HIDDEN TESTS.*?(?:^[ \t]*#+ *END HIDDEN TESTS[^\n]*|\Z)",
    re.M | re.S,
)
_MAGIC_LINE = re.compile(r"\s*(?:%%?[A-Za-z_]|!(?!=))")  # and no operator, `% m` or `!= 3`


class NotASourceNotebook(UsageError):
    """Error for a file that is no source notebook of nbgrader or otter."""


@dataclass(frozen=True)
class SourceCell:
    """A cell of the source notebook, with its role and points.

    Parameters
    ----------
    number : int
        Position in the notebook, from 1.
    role : {"text", "given", "solution", "test", "by hand", "task"}
    name : str
        The cell's grade_id, or its name in the other grader's format.
    code : bool
        True for a code cell.
    attachments : dict
        Files inside of a Markdown cell, such as pictures.
    """

    number: int
    role: str
    source: str
    name: str = ""
    points: float = 0.0
    is_code: bool = True
    attachments: dict = field(default_factory=dict, compare=False)

    @cached_property
    def source_with_pass_for_magics(self) -> str:
        """Source with `pass` for IPython's own commands (`%…`, `!…`); lines keep their numbers."""
        lines = self.source.split("\n")
        return "\n".join("pass" if _MAGIC_LINE.match(line) else line for line in lines)

    @property
    def without_magics(self) -> str:
        """Source without the lines with IPython's own commands (`%…`, `!…`)."""
        lines = [line for line in self.source.split("\n") if not _MAGIC_LINE.match(line)]
        return "\n".join(lines).strip("\n")

    @cached_property
    def tree(self) -> Any:
        """Syntax tree of the cell's code; None if it is not valid Python."""
        return parse_code(self.source_with_pass_for_magics) if self.is_code else None

    @cached_property
    def visible_tree(self) -> Any:
        """Syntax tree of the part of the code that students receive; None if there is none."""
        if self.role != "solution":
            return self.tree
        if SOLUTION_BEGIN not in self.source:
            return None
        # Replace each solution by the statement `pass`, which is valid at any place where a
        # solution may stand.
        return parse_code(
            re.sub(
                rf"(?m)^([ \t]*){SOLUTION_BEGIN}(?s:.*?){SOLUTION_END}",
                r"\1pass",
                self.source_with_pass_for_magics,
            )
        )

    @cached_property
    def hidden_lines(self) -> set[int]:
        """Numbers of the lines with hidden tests, counted from 1."""
        lines: set[int] = set()
        for part in HIDDEN_TESTS.finditer(self.source):
            first = self.source.count("\n", 0, part.start()) + 1
            lines |= set(range(first, first + part[0].count("\n") + 1))
        return lines


@dataclass
class CellImportReport:
    """Report on the import of one cell.

    Parameters
    ----------
    outcome : str
        Part that the cell plays in the imported lab.
    additions : list of str
        Sentences on the modules, packages and files that were imported with the cell.
    problems : list of str
        Sentences on the parts of the cell that could not be imported.
    lost_points : float
        Points of the parts that could not be imported.
    dropped_exercises : int
        Number of the problems that concern a whole exercise, whose points are lost.
    """

    cell: SourceCell
    outcome: str = ""
    additions: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    lost_points: float = 0.0
    dropped_exercises: int = 0

    @property
    def partly_imported_points(self) -> float:
        """Imported points of a cell of which some assertions could not be imported; else 0."""
        has_lost_assertion = len(self.problems) > self.dropped_exercises
        return self.cell.points - self.lost_points if has_lost_assertion else 0.0


def read_source(path: Path) -> NotebookNode:
    """Read a Python notebook; raise NotASourceNotebook if the file is anything else."""
    try:
        if path.stat().st_size > MAX_NOTEBOOK_BYTES:
            raise NotASourceNotebook(
                f"{path} has more than {MAX_NOTEBOOK_BYTES >> 20} MB; clear its outputs first.",
            )
        notebook = nbformat.reads(path.read_text("utf-8"), as_version=4)
        nbformat.validate(notebook)
        json.dumps(notebook, ensure_ascii=False).encode()
    except FileNotFoundError:
        raise NotASourceNotebook(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise NotASourceNotebook(f"{path} is a folder; name the notebook in it.") from None
    except UnicodeEncodeError:
        raise NotASourceNotebook(
            f"{path} has an escape such as \\ud800, which is no character: take it out.",
        ) from None
    except (
        OSError,
        RecursionError,
        ValueError,
        AttributeError,
        KeyError,
        TypeError,
        nbformat.ValidationError,
    ) as error:
        raise NotASourceNotebook(
            f"{path} is no notebook that can be read ({type(error).__name__}).",
        ) from None
    metadata = notebook.metadata
    default = metadata.get("language_info", {}).get("name", "python")
    language = metadata.get("kernelspec", {}).get("language") or default
    if str(language).lower() not in ("python", "python3", "ipython"):
        raise NotASourceNotebook(
            f"{path} is written in {language}; only notebooks in Python can be imported.",
        )
    return notebook


def read_cells(notebook: NotebookNode) -> list[SourceCell]:
    """Return the cells of nbgrader's source notebook, each with its role, such as "solution"."""
    cells = []
    for position, cell in enumerate(notebook.cells, start=1):
        cells.append(_read_cell(cell.metadata.get(SOURCE_NUMBER, position), cell))
    return cells


def _read_cell(number: int, cell: NotebookNode) -> SourceCell:
    metadata = cell.metadata.get("nbgrader")
    if not isinstance(metadata, dict):
        metadata = {}
    is_code = cell.cell_type == "code"
    is_solution = bool(metadata.get("solution"))
    if metadata.get("task"):
        role = "task"
    elif is_code:
        role = _CODE_ROLES[bool(metadata.get("grade")), is_solution]
    elif is_solution:
        role = "by hand"
    else:
        role = "text"
    points = 0.0
    if metadata.get("grade") or metadata.get("task"):
        points = _read_points(metadata.get("points"), number)
    name = str(metadata.get("grade_id", ""))
    attachments = dict(cell.get("attachments", {}))
    return SourceCell(number, role, cell.source, name, points, is_code, attachments)


def _read_points(entry: Any, number: int) -> float:
    """Return a cell's points; raise NotASourceNotebook for a number that cannot be points."""
    if isinstance(entry, bool) or not isinstance(entry, (int, float)):
        return 0.0
    if not 0 <= entry <= MAX_POINTS:
        raise NotASourceNotebook(
            f"Cell {number} is worth {entry} points; a number from 0 to {MAX_POINTS:,} is expected.",
        )
    return float(entry)


_CODE_ROLES = {  # by nbgrader's flags `grade` and `solution`
    (False, False): "given",
    (False, True): "solution",
    (True, False): "test",
    (True, True): "by hand",
}


def split_points(points: float, count: int) -> list[float]:
    """Divide points into `count` parts of two decimals; the last part takes the rounding error.

    >>> split_points(2, 3)
    [0.67, 0.67, 0.66]
    """
    share = round(points / max(count, 1), 2)
    return [*[share] * (count - 1), round(points - share * (count - 1), 10)]


def split_source(source: str, tree: ast.Module, statements: Iterable[int]) -> list[str]:
    """Split a cell's source after these statements; a solution that is cut gets new marks.

    >>> text = "### BEGIN SOLUTION\\na = 1\\nb = 2\\n### END SOLUTION"
    >>> split_source(text, ast.parse(text), [0])[1]
    '### BEGIN SOLUTION\\nb = 2\\n### END SOLUTION'
    """
    lines = source.split("\n")
    cuts = [_find_cut(lines, tree, index) for index in statements]
    pieces = []
    begin = 0
    in_solution = False
    for end in [*cuts, len(lines)]:
        piece = lines[begin:end]
        if in_solution:
            piece.insert(0, SOLUTION_BEGIN)
        for line in lines[begin:end]:
            in_solution = "BEGIN SOLUTION" in line or (in_solution and "END SOLUTION" not in line)
        if in_solution:
            piece.append(SOLUTION_END)
        pieces.append("\n".join(piece).strip("\n"))
        begin = end
    return pieces


def _find_cut(lines: list[str], tree: ast.Module, index: int) -> int:
    """Return the line (from 0) at which to split after a statement; comments go below."""
    following = tree.body[index + 1]
    decorators = getattr(following, "decorator_list", [])
    start = min([following.lineno, *(decorator.lineno for decorator in decorators)]) - 1
    end_of_statement = tree.body[index].end_lineno or 0
    comment_or_blank = re.compile(r"#(?!.*(BEGIN|END) SOLUTION)|$")
    while start > end_of_statement and comment_or_blank.match(lines[start - 1]):
        start -= 1
    return start
