"""A foreign source notebook: its cells, each with its part in it, and what their code defines and uses."""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
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

    @cached_property
    def plain(self) -> str:
        """The source as Python reads it: without magics and shell commands, and with as many lines."""
        return "\n".join("pass" if re.match(r"\s*[%!]", line) else line for line in self.source.split("\n"))

    @property
    def without_magics(self) -> str:
        """The source without the lines that are no Python."""
        lines = [line for line in self.source.split("\n") if not re.match(r"\s*[%!]", line)]
        return "\n".join(lines).strip("\n")

    @cached_property
    def tree(self) -> Any:
        """Its code; None where it is no Python."""
        return parsed(self.plain) if self.code else None

    @cached_property
    def hidden(self) -> set[int]:
        """The numbers of the lines between the marks of hidden tests, from 1."""
        found: set[int] = set()
        for part in HIDDEN.finditer(self.source):
            first = self.source.count("\n", 0, part.start()) + 1
            found |= set(range(first, first + part[0].count("\n") + 1))
        return found


@dataclass
class Line:
    """What the report says of a cell: as what it came over, what came with it, what did not, and the points of that."""

    cell: Cell
    came: str = ""
    along: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    lost: float = 0.0


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
        code = cell.cell_type == "code"
        solution = bool(about.get("solution"))
        role = "by hand" if solution else "text"
        if code:
            role = _OF_CODE[bool(about.get("grade")), solution]
        points = about.get("points") if about.get("grade") or about.get("task") else None
        worth = float(points) if isinstance(points, (int, float)) else 0.0
        name = str(about.get("grade_id", ""))
        found.append(Cell(number, "task" if about.get("task") else role, cell.source, name, worth, code))
    return found


_OF_CODE = {  # by whether a cell is graded, and answered
    (False, False): "given",
    (False, True): "solution",
    (True, False): "test",
    (True, True): "by hand",
}


def parsed(source: str | bytes) -> Any:
    """A piece of code as Python's own tree; None where it is no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def defined(tree: ast.AST | None) -> tuple[list[str], list[str]]:
    """The functions and the variables that a piece of code makes, in its own scope."""
    functions: list[str] = []
    variables: list[str] = []
    todo = [tree] if tree else []
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


def made_by(tree: ast.AST | None) -> set[str]:
    """All names that a piece of code makes, in its own scope."""
    functions, variables = defined(tree)
    return {*functions, *variables, *(bound(tree) if tree else ())}


def used(tree: ast.AST | None) -> set[str]:
    """The names that a piece of code uses, or makes by assigning to them."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree else set()


def free_names(tree: ast.AST) -> set[str]:
    """The names that a piece of code uses and does not make itself."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    made = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | bound(tree)
    made |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    made |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return {node.id for node in names} - made


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
