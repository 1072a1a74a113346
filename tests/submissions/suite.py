"""Reads the attacks beside this file and makes hand-ins and classes of them.

A file `<verdict>/<name>.py` is one hand-in; the folder is the verdict that the attacked exercise must get.
It begins with a docstring (what is tried, and what must not come of it) and settings::

    # lab: attention-masks        where it is handed in (this lab by default)
    # exercise: padding_mask      what is attacked (this one by default)
    # expect: to_additive=error   what other exercises get; "pass" where nothing is said
    # copies: 3                   how many students hand it in
    # hole: why                   an attack that is known to work still; it is left out of the class

and goes on with cells in the percent format. All answer cells that a file does not speak of hold the
solution, so that an attack on one question is seen to cost that question only::

    # %% padding-mask             the source of the graded cell with this grade_id
    # %% before padding-mask      another cell; also "after …", "first" and "last"
    # %% metadata padding-mask    JSON that is merged into the cell's metadata

"(commented)" after any of these takes the "# " off each line, for what is not Python.
"""

import ast
import json
import re
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VERDICTS = ("pass", "wrong", "error", "timeout", "crash", "missing")
LAB, EXERCISE = "attention-masks", "padding_mask"


@dataclass(frozen=True)
class Attack:
    """One hand-in that is up to something, and what must come of it.

    Parameters
    ----------
    name : str
        "<verdict>-<name>"; also the student's.
    about : str
        What is tried.
    lab : str
    expected : dict
        The verdict of every exercise of the lab.
    put : callable
        Given the student's folder for the lab, puts the hand-in there.
    copies : int
    hole : str
        Why it works still, if it does.
    """

    name: str
    about: str
    lab: str
    expected: dict
    put: Callable[[Path], None] = field(repr=False)
    copies: int = 1
    hole: str = ""

    @property
    def students(self) -> list[str]:
        """Who hands it in."""
        if self.copies == 1:
            return [self.name]
        return [f"{self.name}-{number}" for number in range(1, self.copies + 1)]


@cache
def exercises(lab: str) -> dict[str, float]:
    """The lab's exercises and their points, as the published notebook has them."""
    found = {}
    for cell in _published(lab).cells:
        nbgrader = cell.metadata.get("nbgrader", {})
        if nbgrader.get("grade") and cell.cell_type == "code":
            found[nbgrader["grade_id"].removeprefix("test-").replace("-", "_")] = nbgrader["points"]
    return found


def honest(lab: str = LAB, whole: bool = True) -> NotebookNode:
    """A student's notebook with every answer right; without the pictures unless it is `whole`."""
    notebook = deepcopy(_published(lab))
    solution = nbformat.read(ROOT / "solutions" / lab / f"{lab}.ipynb", as_version=4)
    right = {grade_id(cell): cell.source for cell in solution.cells if _is_answer(cell)}
    for cell in notebook.cells:
        if _is_answer(cell):
            cell.source = right[grade_id(cell)].replace("    ### BEGIN SOLUTION\n", "")
            cell.source = cell.source.replace("\n    ### END SOLUTION", "")
    if not whole:
        notebook.cells = [cell for cell in notebook.cells if grade_id(cell)]
    return notebook


def grade_id(cell) -> str:
    """A cell's grade_id; "" if it has none."""
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def cell_of(notebook: NotebookNode, name: str) -> NotebookNode:
    """The cell with this grade_id."""
    return next(cell for cell in notebook.cells if grade_id(cell) == name)


def _is_answer(cell) -> bool:
    return cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution", False)


@cache
def _published(lab: str) -> NotebookNode:
    return nbformat.read(ROOT / "notebooks" / lab / f"{lab}.ipynb", as_version=4)


@cache
def attacks() -> list[Attack]:
    """All of them, those of broken.py as well."""
    from submissions.broken import ATTACKS

    files = [path for verdict in VERDICTS for path in sorted((HERE / verdict).glob("*.py"))]
    return [*map(from_file, files), *ATTACKS]


_SETTING = re.compile(r"# (lab|exercise|expect|copies|hole|from 3\.14): (.+)")
_SECTION = re.compile(r"^# %% (.+)\n", re.M)


def from_file(path: Path) -> Attack:
    """Read one attack."""
    head, _, cells = path.read_text("utf-8").partition("\n# %% ")
    settings = dict(m.groups() for line in head.splitlines() if (m := _SETTING.fullmatch(line)))
    about = ast.get_docstring(ast.parse(head))
    if not about or not cells:
        raise ValueError(f"{path} needs a docstring and a cell")
    lab = settings.get("lab", LAB)
    expected = dict.fromkeys(exercises(lab), "pass")
    expected[settings.get("exercise", EXERCISE)] = path.parent.name
    expected |= dict(pair.split("=") for pair in settings.get("expect", "").split())
    if sys.version_info >= (3, 14):
        expected |= dict(pair.split("=") for pair in settings.get("from 3.14", "").split())
    if set(expected) != set(exercises(lab)):
        raise ValueError(f"{path} speaks of an exercise that is not in {lab}")
    name = f"{path.parent.name}-{path.stem.replace('_', '-')}"

    def put(folder: Path) -> None:
        notebook = honest(lab, whole=False)
        apply(notebook, path)
        (folder / f"{lab}.ipynb").write_text(nbformat.writes(notebook), "utf-8")

    copies = int(settings.get("copies", 1))
    return Attack(name, " ".join(about.split()), lab, expected, put, copies, settings.get("hole", ""))


def apply(notebook: NotebookNode, path: Path) -> None:
    """Put a file's cells into a notebook."""
    _, *rest = _SECTION.split(path.read_text("utf-8"))
    for where, source in zip(rest[::2], rest[1::2], strict=True):
        _apply(notebook, where.strip(), source.strip("\n"))


def _apply(notebook: NotebookNode, where: str, source: str) -> None:
    if where.endswith(" (commented)"):
        where = where.removesuffix(" (commented)")
        source = re.sub(r"^# ?", "", source, flags=re.M)
    how, _, name = where.rpartition(" ")
    if name in ("first", "last"):
        notebook.cells.insert(0 if name == "first" else len(notebook.cells), _extra(notebook, source))
        return
    at = next(i for i, cell in enumerate(notebook.cells) if grade_id(cell) == name)
    if how == "":
        notebook.cells[at].source = source
    elif how == "metadata":
        _merge(notebook.cells[at].metadata, json.loads(source))
    else:
        notebook.cells.insert(at + {"before": 0, "after": 1}[how], _extra(notebook, source))


def _extra(notebook: NotebookNode, source: str) -> NotebookNode:
    return new_code_cell(source, id=f"extra-{len(notebook.cells)}")


def _merge(into: dict, new: dict) -> None:
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


HONEST = ("a-honest", "n-honest", "z-honest")  # before, between and after the attackers


def make_class(root: Path, chosen: list[Attack], labs=(LAB,)) -> None:
    """Put these attacks and three honest students into `root`/submitted."""
    for student in HONEST:
        for lab in labs:
            folder = root / "submitted" / student / lab
            folder.mkdir(parents=True)
            (folder / f"{lab}.ipynb").write_text(nbformat.writes(honest(lab)), "utf-8")
    for attack in chosen:
        for student in attack.students:
            folder = root / "submitted" / student / attack.lab
            folder.mkdir(parents=True)
            attack.put(folder)
