"""A foreign source notebook: its cells, each with its part in it, and what their code defines and uses."""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.errors import Usage

BIGGEST = 20 << 20  # bytes of a source notebook
_BEGIN, _END = "### BEGIN SOLUTION", "### END SOLUTION"
HIDDEN = re.compile(r"^[ \t]*#+ *BEGIN HIDDEN TESTS.*?(?:^[ \t]*#+ *END HIDDEN TESTS[^\n]*|\Z)", re.M | re.S)
# Methods that change what they are called on, and give nothing back that is used.
_CHANGING = frozenset(
    "append extend insert remove clear sort reverse add update discard setdefault fill pop popitem".split()
)


class NoSource(Usage):
    """A file is no source notebook of nbgrader or otter."""


@dataclass(frozen=True)
class Cell:
    """A cell of the source notebook.

    Parameters
    ----------
    number : int
        From 1.
    role : {"text", "given", "solution", "test", "by hand", "task"}
    source : str
    name : str
        Its grade_id, or what the other grader calls it.
    points : float
    code : bool
    """

    number: int
    role: str
    source: str
    name: str = ""
    points: float = 0.0
    code: bool = True

    @property
    def plain(self) -> str:
        """The source as Python reads it: without magics and shell commands."""
        return "\n".join("pass" if re.match(r"\s*[%!]", line) else line for line in self.source.split("\n"))


def read_source(path: Path) -> NotebookNode:
    """The notebook in a file; raises NoSource for anything else."""
    try:
        if path.stat().st_size > BIGGEST:
            raise NoSource(f"{path} has more than {BIGGEST >> 20} MB; clear its outputs first.")
        notebook = nbformat.reads(path.read_text("utf-8"), as_version=4)
        nbformat.validate(notebook)
    except (OSError, ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        if isinstance(error, FileNotFoundError):
            raise NoSource(f"There is no file {path}.") from None
        if isinstance(error, IsADirectoryError):
            raise NoSource(f"{path} is a folder; name the notebook in it.") from None
        raise NoSource(f"{path} is no notebook that can be read ({type(error).__name__}).") from None
    language = notebook.metadata.get("kernelspec", {}).get("language") or notebook.metadata.get(
        "language_info", {}
    ).get("name", "python")
    if str(language).lower() not in ("python", "python3", "ipython"):
        raise NoSource(f"{path} is written in {language}; only notebooks in Python can be imported.")
    return notebook


def cells_of(notebook: NotebookNode) -> list[Cell]:
    """The cells of an nbgrader source notebook, each with its part in it."""
    found = []
    for number, cell in enumerate(notebook.cells, start=1):
        about = cell.metadata.get("nbgrader") or {}
        grade, solution = about.get("grade"), about.get("solution")
        role = "given" if cell.cell_type == "code" else "text"
        if about.get("task"):
            role = "task"
        elif grade and solution:
            role = "by hand"
        elif grade and cell.cell_type == "code":
            role = "test"
        elif solution:
            role = "solution" if cell.cell_type == "code" else "by hand"
        points = about.get("points")
        counts = isinstance(points, (int, float)) and (grade or about.get("task"))
        worth = float(points) if counts and isinstance(points, (int, float)) else 0.0
        found.append(
            Cell(number, role, cell.source, str(about.get("grade_id", "")), worth, cell.cell_type == "code")
        )
    return found


def parsed(cell: Cell) -> Any:
    return parsed_source(cell.plain)


def parsed_source(source: str) -> Any:
    try:
        return None if source.lstrip().startswith("%%") else ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def defined(tree: Any) -> tuple[list[str], list[str]]:
    """The functions and the variables that a cell makes, in its own scope."""
    functions: list[str] = []
    variables: list[str] = []
    todo = list(tree.body) if tree is not None else []
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.FunctionDef):
            functions.append(node.name)
        elif not isinstance(node, (ast.ClassDef, ast.AsyncFunctionDef, ast.Lambda)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                variables.append(node.id)
            elif changed := _changed(node):
                variables.append(changed)
            if not isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                todo[:0] = ast.iter_child_nodes(node)
    return list(dict.fromkeys(functions)), [
        n for n in dict.fromkeys(variables) if n not in functions and n != "_"
    ]


def _changed(node: ast.AST) -> str:
    """The variable that `x[...] = ...` or `x.append(...)` changes in place, or ""."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        if not isinstance(called, ast.Attribute) or called.attr not in _CHANGING:
            return ""
        node = called.value
    elif not (isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store)):
        return ""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def bound(tree: ast.AST) -> set[str]:
    """The names that imports and classes bind."""
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return found


def free_names(tree: ast.AST) -> set[str]:
    """The names that a piece of code uses and does not make itself."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    made = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | bound(tree)
    made |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    made |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return {node.id for node in names} - made


def hidden_lines(source: str) -> set[int]:
    """The numbers of the lines between the marks of hidden tests, from 1."""
    found: set[int] = set()
    for part in HIDDEN.finditer(source):
        first = source.count("\n", 0, part.start()) + 1
        found |= set(range(first, first + part[0].count("\n") + 1))
    return found


def cut_up(source: str, tree: ast.Module, after: Iterable[int]) -> list[str]:
    """A cell's source, cut after these statements; a solution region that a cut goes through is closed and opened.

    >>> text = "### BEGIN SOLUTION\\na = 1\\nb = 2\\n### END SOLUTION"
    >>> cut_up(text, ast.parse(text), [0])[1]
    '### BEGIN SOLUTION\\nb = 2\\n### END SOLUTION'
    """
    lines = source.split("\n")
    pieces, begin, inside = [], 0, False
    starts = []
    for index in after:
        following = tree.body[index + 1]
        start = min([following.lineno, *(d.lineno for d in getattr(following, "decorator_list", []))]) - 1
        floor = tree.body[index].end_lineno or 0
        while start > floor and re.match(r"#(?!.*(BEGIN|END) SOLUTION)|$", lines[start - 1]):
            start -= 1
        starts.append(start)
    for end in [*starts, len(lines)]:
        piece = lines[begin:end]
        opened = inside
        for text in piece:
            inside = "BEGIN SOLUTION" in text or (inside and "END SOLUTION" not in text)
        text = "\n".join([*([_BEGIN] if opened else []), *piece, *([_END] if inside else [])])
        pieces.append(text.strip("\n"))
        begin = end
    return pieces


def without_magics(cell: Cell) -> str:
    """A cell's source without the lines that are no Python, and with nbgrader's marks as they are due."""
    lines = [line for line in cell.source.split("\n") if not re.match(r"\s*[%!]", line)]
    return "\n".join(lines).strip("\n")
