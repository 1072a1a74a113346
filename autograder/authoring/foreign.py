"""A foreign source notebook: its cells, each with its part in it."""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.names import parsed
from autograder.errors import Usage

BIGGEST = 20 << 20  # bytes of a source notebook
_BEGIN, _END = "### BEGIN SOLUTION", "### END SOLUTION"
HIDDEN = re.compile(r"^[ \t]*#+ *BEGIN HIDDEN TESTS.*?(?:^[ \t]*#+ *END HIDDEN TESTS[^\n]*|\Z)", re.M | re.S)


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
    except FileNotFoundError:
        raise NoSource(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise NoSource(f"{path} is a folder; name the notebook in it.") from None
    except (OSError, ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        raise NoSource(f"{path} is no notebook that can be read ({type(error).__name__}).") from None
    about = notebook.metadata
    usual = about.get("language_info", {}).get("name", "python")
    language = about.get("kernelspec", {}).get("language") or usual
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


def shares(points: float, count: int) -> list[float]:
    """Points in so many parts; what is left over by rounding is the last one's.

    >>> shares(2, 3)
    [0.67, 0.67, 0.66]
    """
    share = round(points / max(count, 1), 2)
    return [*[share] * (count - 1), round(points - share * (count - 1), 10)]


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
