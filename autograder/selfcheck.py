"""`autograder check`: run a student's notebook afresh and say how each exercise stands."""

from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from autograder import keys
from autograder.cells import id_of, id_of_test

CELL_SECONDS = 120


class NotebookError(Exception):
    """A notebook that cannot be checked; the text says why and what to do."""


@dataclass(frozen=True)
class Line:
    """How one exercise stands."""

    exercise: str
    passed: bool
    message: str


def check_notebook(path: Path) -> list[Line]:
    """Run a notebook in a fresh kernel, beside its own files, and check every exercise of its lab.

    The file itself is not changed.

    Raises
    ------
    NotebookError
    """
    notebook = _read(path)
    tests = {id_of_test(name): name for name in keys.index()}
    found = {tests.get(id_of(cell)) for cell in notebook.cells} - {None}
    lab = next((keys.index()[name]["lab"] for name in found), path.stem)
    exercises = [name for name, entry in keys.index().items() if entry["lab"] == lab]
    if not exercises:
        raise NotebookError(f"{path} holds no exercise of these labs; is it one of the lab notebooks?")
    cells = {}
    for cell in notebook.cells:
        name = tests.get(id_of(cell))
        if name and cell.cell_type == "code":
            cell.source = f"check({name})"
            cells[name] = cell
    for name in exercises:
        if name not in cells:
            cells[name] = new_code_cell(f"from autograder import check\ncheck({name})")
            notebook.cells.append(cells[name])
    _run(notebook, path.parent)
    return [_line(name, cells[name]) for name in exercises]


def _read(path: Path):
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError:
        raise NotebookError(f"There is no file {path}.") from None
    except (OSError, ValueError, KeyError, AttributeError, nbformat.reader.NotJSONError) as error:
        raise NotebookError(f"{path} cannot be read as a notebook ({type(error).__name__}).") from None


def _run(notebook, folder: Path) -> None:
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        client.execute()
    except CellTimeoutError:
        raise NotebookError(f"A cell ran for more than {CELL_SECONDS} s; look for an endless loop.") from None
    except DeadKernelError:
        raise NotebookError("The notebook's Python process died while it ran.") from None


def _line(name: str, cell) -> Line:
    error = next((o for o in cell.get("outputs", ()) if o.output_type == "error"), None)
    if error is None:
        said = bool(cell.get("outputs"))
        return Line(name, said, "right" if said else "its check did not run")
    if error.ename == "NameError":
        return Line(name, False, f"there is no function {name}")
    return Line(name, False, error.evalue.removeprefix(f"{name}: "))
