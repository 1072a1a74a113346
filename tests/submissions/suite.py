"""Reader of the attacks beside this file, which makes submissions and classes of them.

A file `<verdict>/<name>.py` is one submission; the folder is the verdict that the attacked exercise
must get. It begins with a docstring (the attack, and the result that it must not have) and
settings::

    # lab: attention-masks        the lab (this one by default)
    # exercise: padding_mask      the attacked exercise (this one by default)
    # expect: to_additive=error   verdicts of other exercises; "pass" by default; "wrong|error"
                                  where Python's version decides which of the two it is
    # copies: 3                   number of students who submit it
    # hole: reason                an attack that is known to succeed; it is left out of the class
    # stalls: yes                 a cell or an answer that ends at its time limit only

and goes on with cells in the percent format. All answer cells that a file does not speak of hold
the solution, so that an attack on one question is seen to cost that question only::

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
    """One hostile or unusual submission, and its expected verdicts.

    Parameters
    ----------
    name : str
        "<verdict>-<name>"; also the student's.
    about : str
        Description of the attack.
    lab : str
    expected : dict
        The verdict of every exercise of the lab.
    put : callable
        Writes the submission into the student's folder for the lab.
    copies : int
    hole : str
        Reason why the attack still succeeds, if it does.
    stalls : bool
        True if a time limit has to end it. These attacks are a class of their own with short
        limits. All others have limits that no machine is too slow for, so that the speed of the
        machine changes no verdict.
    """

    name: str
    about: str
    lab: str
    expected: dict
    put: Callable[[Path], None] = field(repr=False)
    copies: int = 1
    hole: str = ""
    stalls: bool = False

    @property
    def students(self) -> list[str]:
        """Names of the students who submit it."""
        if self.copies == 1:
            return [self.name]
        return [f"{self.name}-{number}" for number in range(1, self.copies + 1)]


@cache
def exercises(lab: str) -> dict[str, float]:
    """Return the points of the exercises in a lab's published notebook."""
    points = {}
    for cell in _read_published(lab).cells:
        nbgrader = cell.metadata.get("nbgrader", {})
        if nbgrader.get("grade") and cell.cell_type == "code":
            points[nbgrader["grade_id"].removeprefix("test-").replace("-", "_")] = nbgrader[
                "points"
            ]
    return points


def honest(lab: str = LAB, with_pictures: bool = True) -> NotebookNode:
    """Return a student's notebook with every answer right; without ungraded cells unless `with_pictures`."""
    notebook = deepcopy(_read_published(lab))
    solution = nbformat.read(ROOT / "solutions" / lab / f"{lab}.ipynb", as_version=4)
    right = {make_grade_id(cell): cell.source for cell in solution.cells if _is_answer(cell)}
    for cell in notebook.cells:
        if _is_answer(cell):
            cell.source = right[make_grade_id(cell)].replace("    ### BEGIN SOLUTION\n", "")
            cell.source = cell.source.replace("\n    ### END SOLUTION", "")
    if not with_pictures:
        notebook.cells = [cell for cell in notebook.cells if make_grade_id(cell)]
    return notebook


def make_grade_id(cell) -> str:
    """Return a cell's grade_id; "" if it has none."""
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def cell_of(notebook: NotebookNode, name: str) -> NotebookNode:
    """Return the cell with this grade_id."""
    return next(cell for cell in notebook.cells if make_grade_id(cell) == name)


def _is_answer(cell) -> bool:
    return cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution", False)


@cache
def _read_published(lab: str) -> NotebookNode:
    return nbformat.read(ROOT / "notebooks" / lab / f"{lab}.ipynb", as_version=4)


@cache
def attacks() -> list[Attack]:
    """Return all attacks, those of broken.py as well."""
    from submissions.broken import ATTACKS

    files = [path for verdict in VERDICTS for path in sorted((HERE / verdict).glob("*.py"))]
    return [*map(from_file, files), *ATTACKS]


_SETTING = re.compile(r"# (lab|exercise|expect|copies|hole|stalls|from 3\.14): (.+)")
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
        notebook = honest(lab, with_pictures=False)
        apply(notebook, path)
        (folder / f"{lab}.ipynb").write_text(nbformat.writes(notebook), "utf-8")

    copies = int(settings.get("copies", 1))
    return Attack(
        name,
        " ".join(about.split()),
        lab,
        expected,
        put,
        copies,
        settings.get("hole", ""),
        path.parent.name == "timeout" or "stalls" in settings,
    )


def apply(notebook: NotebookNode, path: Path) -> None:
    """Put a file's cells into a notebook."""
    _, *sections = _SECTION.split(path.read_text("utf-8"))
    for place, source in zip(sections[::2], sections[1::2], strict=True):
        _apply(notebook, place.strip(), source.strip("\n"))


def _apply(notebook: NotebookNode, place: str, source: str) -> None:
    if place.endswith(" (commented)"):
        place = place.removesuffix(" (commented)")
        source = re.sub(r"^# ?", "", source, flags=re.M)
    position, _, name = place.rpartition(" ")
    if name in ("first", "last"):
        notebook.cells.insert(
            0 if name == "first" else len(notebook.cells),
            _extra(notebook, source),
        )
        return
    index = next(i for i, cell in enumerate(notebook.cells) if make_grade_id(cell) == name)
    if position == "":
        notebook.cells[index].source = source
    elif position == "metadata":
        _merge(notebook.cells[index].metadata, json.loads(source))
    else:
        notebook.cells.insert(index + {"before": 0, "after": 1}[position], _extra(notebook, source))


def _extra(notebook: NotebookNode, source: str) -> NotebookNode:
    return new_code_cell(source, id=f"extra-{len(notebook.cells)}")


def _merge(target: dict, new: dict) -> None:
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


HONEST = ("a-honest", "n-honest", "z-honest")  # before, between and after the attackers


def make_class(root: Path, attacks_of_class: list[Attack], labs=(LAB,)) -> None:
    """Put these attacks and three honest students into `root`/submitted."""
    for student in HONEST:
        for lab in labs:
            folder = root / "submitted" / student / lab
            folder.mkdir(parents=True)
            (folder / f"{lab}.ipynb").write_text(nbformat.writes(honest(lab)), "utf-8")
    for attack in attacks_of_class:
        for student in attack.students:
            folder = root / "submitted" / student / attack.lab
            folder.mkdir(parents=True)
            attack.put(folder)
