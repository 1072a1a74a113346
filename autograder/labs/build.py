"""From each solution notebook to the student's notebook and the answer key.

The solution is the one source. Building it means: put its saved form in order, run it and keep its
outputs, cut the answers out with nbgrader's own preprocessors, and write the key of its visible cases.
"""

import io
import json
import os
import re
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import numpy as np
from nbformat import NotebookNode

from autograder import keys
from autograder.cells import grade_id, id_of_test
from autograder.files import write
from autograder.labs import LABS, exercises, unavailable
from autograder.labs.reference import SOLUTIONS

ROOT = SOLUTIONS.parent
RELEASE = ROOT / "notebooks"
CELL_SECONDS = 120

_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_LOCKED = {"grade": False, "locked": True, "schema_version": 3, "solution": False, "task": False}
_PNG = re.compile(r"base64,[A-Za-z0-9+/=]+")


class BuildError(Exception):
    """A solution notebook that cannot be built; the text says which cell and what to do."""


def available() -> list[str]:
    """The labs that have a solution notebook here, and what they need installed."""
    return [lab for lab in LABS if (SOLUTIONS / lab / f"{lab}.ipynb").is_file() and not unavailable(lab)]


def build(labs: Sequence[str], *, check: bool = False, execute: bool = True) -> list[str]:
    """Make the notebooks and keys of these labs, or with `check` only look for drift.

    Returns
    -------
    list of str
        One sentence for each file that is (or was, before this build) not what it should be.
    """
    drift = []
    for lab in labs:
        drift += _build_lab(lab, check, execute)
    return drift


def _build_lab(lab: str, check: bool, execute: bool) -> list[str]:
    source = SOLUTIONS / lab / f"{lab}.ipynb"
    before = source.read_text("utf-8")
    notebook = tidy(nbformat.reads(before, as_version=4), lab)
    drift = []

    about = {"order": list(LABS).index(lab) + 1, **LABS[lab]}
    meta, arrays = keys.contents(about, list(exercises(lab).values()))
    drift += _write_key(lab, meta, arrays, check)

    text = _dump(notebook)
    if execute:
        ran = run(notebook)
        if _without_pictures(_dump(ran)) != _without_pictures(text):
            text = _dump(ran)  # a saved output is stale
    if text != before:
        drift.append(f"{_relative(source)} is not as a build leaves it (order, points or saved outputs)")
        _write(source, text, check)

    released = RELEASE / lab / f"{lab}.ipynb"
    text = _dump(release(notebook))
    if not released.is_file() or released.read_text("utf-8") != text:
        drift.append(f"{_relative(released)} is not the solution with its answers cut out")
        _write(released, text, check)
    return drift


def tidy(notebook: NotebookNode, lab: str) -> NotebookNode:
    """A copy of a solution notebook in its saved form: points from the definitions, nothing volatile.

    Raises
    ------
    BuildError
        If an exercise's cells are missing, doubled, or not what the definitions call for.
    """
    notebook = deepcopy(notebook)
    wanted = exercises(lab)
    notebook.metadata = nbformat.from_dict(_METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen = set()
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {k: v for k, v in cell.metadata.items() if k in {"nbgrader", "tags", "slideshow"}}
        )
        grader = cell.metadata.get("nbgrader")
        if "setup" in cell.metadata.get("tags", []):  # locked, so that a lost import can be put back
            grader = cell.metadata.nbgrader = nbformat.from_dict({**_LOCKED, "grade_id": cell.id})
        if grader:
            grader.pop("checksum", None)
            grader.pop("cell_type", None)
            name = grader["grade_id"]
            if name in seen:
                raise BuildError(f"{lab}: two cells have the grade_id {name!r}; rename one of them.")
            seen.add(name)
            exercise = next((e for e in wanted.values() if name == id_of_test(e.name)), None)
            if exercise:
                if cell.source.strip() != f"check({exercise.name})":
                    raise BuildError(f"{lab}: the cell {name!r} must read check({exercise.name}).")
                grader["points"] = exercise.points
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [_tidy_output(output) for output in cell.outputs]
    for exercise in wanted.values():
        for name in (grade_id(exercise.name), id_of_test(exercise.name)):
            if name not in seen:
                raise BuildError(f"{lab}: no cell has the grade_id {name!r}; {exercise.name} needs it.")
    return notebook


def _tidy_output(output: NotebookNode) -> NotebookNode:
    output = nbformat.from_dict(dict(output))
    if "execution_count" in output:
        output.execution_count = None
    if "data" in output:
        output.data.pop("application/vnd.jupyter.widget-view+json", None)
        output.metadata.pop("application/vnd.jupyter.widget-view+json", None)
    return output


def run(notebook: NotebookNode) -> NotebookNode:
    """A copy of the notebook with the outputs of a fresh run, in an empty folder.

    Raises
    ------
    BuildError
        If a cell raises; the text names the cell and the error.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = deepcopy(notebook)
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=CELL_SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        try:
            # Saved outputs show the shipped vectors, whatever set the author has fetched.
            client.execute(env={**os.environ, "ATTENTION_LABS_VECTORS": "shipped"})
        except CellExecutionError as error:
            cell = next(c for c in notebook.cells if any(o.get("ename") for o in c.get("outputs", ())))
            raise BuildError(
                f"The cell {cell.id!r} of a solution raises {error.ename}: {error.evalue}"
            ) from None
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [_tidy_output(output) for output in _merged(cell.outputs)]
    notebook.metadata = nbformat.from_dict(_METADATA)
    return notebook


def _merged(outputs: Sequence[NotebookNode]) -> list[NotebookNode]:
    """Outputs with neighbouring pieces of one stream joined: where they break is chance."""
    merged: list[NotebookNode] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def release(notebook: NotebookNode, *, keep_mark_schemes: bool = False) -> NotebookNode:
    """What students get of a solution notebook: the answers cut out by nbgrader's preprocessors.

    With `keep_mark_schemes` the marking schemes stay, for the copy that people mark.

    Raises
    ------
    BuildError
        If a preprocessor refuses a cell, such as one whose solution has no end.
    """
    from traitlets.config import PyFileConfigLoader
    from traitlets.utils.importstring import import_item

    config = PyFileConfigLoader("nbgrader_config.py", str(ROOT)).load_config()
    notebook = deepcopy(notebook)
    resources: dict = {}
    for name in config.GenerateAssignment.preprocessors:
        if name.endswith("SaveCells") or (keep_mark_schemes and name.endswith("ClearMarkScheme")):
            continue  # SaveCells writes to the gradebook, and building needs none
        step = import_item(name)(config=config)
        try:
            notebook, resources = step(notebook, resources)
        except Exception as error:  # noqa: BLE001 - nbgrader's steps raise kinds of their own
            where = next((f"the cell {c.id!r}" for c in notebook.cells if _refuses(step, c)), "the notebook")
            why = str(error).strip().split("\n")[0].rstrip(".")
            raise BuildError(f"nbgrader's {type(step).__name__} refuses {where}: {why}.") from None
    return notebook


def _refuses(step, cell: NotebookNode) -> bool:
    try:
        step(nbformat.v4.new_notebook(cells=[deepcopy(cell)]), {})
    except Exception:  # noqa: BLE001
        return True
    return False


def _write_key(lab: str, meta: dict, arrays: dict[str, dict[str, np.ndarray]], check: bool) -> list[str]:
    drift = []
    text = json.dumps(meta, ensure_ascii=False, indent=1) + "\n"
    path = keys.KEYS / f"{lab}.json"
    if not path.is_file() or path.read_text("utf-8") != text:
        drift.append(f"{_relative(path)} is not what the lab's exercises say")
        _write(path, text, check)
    for name, held in arrays.items():
        path = keys.arrays_of(lab, name, keys.KEYS)
        if not _same_arrays(path, held):
            drift.append(f"{_relative(path)} does not hold what the solution gives")
            buffer = io.BytesIO()
            np.savez_compressed(buffer, allow_pickle=False, **held)
            _write(path, buffer.getvalue(), check)
    for path in sorted((keys.KEYS / lab).glob("*.npz")):
        if path.stem not in arrays:
            drift.append(f"{_relative(path)} belongs to no exercise")
            if not check:
                path.unlink()
    keys.labs.cache_clear()
    keys.index.cache_clear()
    keys.load.cache_clear()
    return drift


def _same_arrays(path: Path, arrays: dict[str, np.ndarray]) -> bool:
    """Whether the stored arrays are these, to rounding: exp differs in its last digit between machines."""
    if not path.is_file():
        return False
    with np.load(path, allow_pickle=False) as stored:
        return sorted(stored.files) == sorted(arrays) and all(
            stored[name].dtype == array.dtype
            and stored[name].shape == array.shape
            and np.allclose(
                *(x.astype(np.float64) for x in (stored[name], array)),
                rtol=1e-2 if array.dtype == np.float16 else 1e-5,
                atol=1e-6,
                equal_nan=True,
            )
            for name, array in arrays.items()
        )


def _dump(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def _without_pictures(text: str) -> str:
    return _PNG.sub("base64,", text)


def _relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _write(path: Path, content: str | bytes, check: bool) -> None:
    if not check:
        write(path, content)
