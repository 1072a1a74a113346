"""`autograder check`: run a student's notebook afresh and say how each exercise stands."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import psutil
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder import course, keys
from autograder.cells import grade_id, id_of, id_of_test
from autograder.errors import Usage
from autograder.own import as_marked
from autograder.stopwatch import PATIENCE, Stopwatch
from autograder.student import CheckFailed, NotWrittenYet

_OURS = {CheckFailed.__name__, NotWrittenYet.__name__}
CELL_SECONDS = 300  # of CPU time: a lab that learns takes its minute
LOOK = 0.5  # seconds between two looks at what the kernel has used


class NotebookError(Usage):
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
    tests = {id_of_test(name): name for name in keys.exercises()}
    found = [tests[id_of(cell)] for cell in notebook.cells if id_of(cell) in tests]
    lab = keys.lab_of(found[0]) if found else keys.labs().get(path.stem)
    exercises = list(lab.points) if lab else []
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
    there = {id_of(cell) for cell in notebook.cells}
    return [_line(name, cells[name], _first_error(notebook), grade_id(name) in there) for name in exercises]


def _read(path: Path) -> NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError:
        raise NotebookError(f"There is no file {path}.") from None
    except (OSError, ValueError, KeyError, AttributeError, nbformat.reader.NotJSONError) as error:
        raise NotebookError(f"{path} cannot be read as a notebook ({type(error).__name__}).") from None


def _run(notebook: NotebookNode, folder: Path) -> None:
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    cells: list[Stopwatch] = []
    pid = 0

    def begin(**_: Any) -> None:
        nonlocal pid
        provisioner: Any = client.km and client.km.provisioner
        pid = provisioner.pid
        cells.append(Stopwatch(lambda: _cpu_seconds(pid)))

    client = NotebookClient(
        notebook,
        timeout=PATIENCE * CELL_SECONDS,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
        on_cell_execute=begin,
    )
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOOK):
            if cells and cells[-1].seconds() > CELL_SECONDS:
                psutil.Process(pid).kill()
                return

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        client.execute(env=as_marked(course.nearest(folder)))
    except (CellTimeoutError, DeadKernelError) as error:
        if isinstance(error, CellTimeoutError) or not watching.is_alive():
            raise NotebookError(
                f"A cell needed more than {CELL_SECONDS:g} s; look for an endless loop."
            ) from None
        raise NotebookError("The notebook's Python process died while it ran.") from None
    finally:
        over.set()


def _cpu_seconds(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:  # it has ended
        return 0.0
    return float(times.user + times.system)


def _line(name: str, cell: NotebookNode, first_error: str, is_there: bool) -> Line:
    error = next((o for o in cell.get("outputs", ()) if o.output_type == "error"), None)
    if error is None:
        said = bool(cell.get("outputs"))
        return Line(name, said, "right" if said else "its check did not run")
    if error.ename == "NameError":
        if not is_there:
            return Line(
                name,
                False,
                f"its cell is missing; `autograder reset` with the notebook and {name} puts it back",
            )
        why = f"; an earlier cell failed: {first_error}" if first_error else ""
        return Line(name, False, f"there is no function {name}{why}")
    if error.ename == NotWrittenYet.__name__:
        return Line(name, False, "not written yet")
    return Line(name, False, error.evalue.removeprefix(f"{name}: "))


def _first_error(notebook: NotebookNode) -> str:
    """What the first ordinary cell that raised says, in one line."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.get("output_type") == "error" and output.ename not in _OURS:
                return f"{output.ename}: {output.evalue}".split("\n")[0][:300]
    return ""
