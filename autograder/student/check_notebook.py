"""`autograder check`: run a student's notebook in a fresh kernel and report on each exercise."""

import threading
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import nbformat
import psutil
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.core import course
from autograder.core.cpu_time import WALL_SECONDS_PER_CPU_SECOND, Stopwatch
from autograder.core.errors import UsageError
from autograder.core.kernel_log import ignore_closed_sockets, read_end_of_log
from autograder.core.notebook_cells import get_grade_id, make_grade_id, make_test_grade_id
from autograder.student import answer_key
from autograder.student.check import CheckFailed, NotWrittenYet
from autograder.student.reuse import make_grading_like_environment

_CHECK_ERRORS = {CheckFailed.__name__, NotWrittenYet.__name__}
MAX_CELL_CPU_SECONDS = 300  # a lab that trains a model takes about a minute
POLL_SECONDS = 0.5  # interval at which the kernel's CPU time is read


class NotebookError(UsageError):
    """A student's notebook cannot be checked; the text says why and what to do."""


@dataclass(frozen=True)
class ExerciseStatus:
    """Result of `check` for one exercise of a notebook."""

    exercise: str
    passed: bool
    message: str


def check_notebook(path: Path) -> list[ExerciseStatus]:
    """Run a notebook in a fresh kernel, in its own folder, and check every exercise of its lab.

    The file itself is not changed.

    Raises
    ------
    NotebookError
        If the notebook cannot be read, holds no exercise, or runs for too long.
    """
    notebook = _read_notebook(path)
    exercises = _list_lab_exercises(notebook, path)
    checks = _make_test_cells_call_check(notebook, exercises)
    _run_notebook(notebook, path.parent)
    cell_names = {get_grade_id(cell) for cell in notebook.cells}
    first_error = _find_first_error(notebook)
    statuses = []
    for exercise in exercises:
        has_answer_cell = make_grade_id(exercise) in cell_names
        cell = checks[exercise]
        statuses.append(_read_exercise_status(exercise, cell, first_error, has_answer_cell))
    return statuses


def _read_notebook(path: Path) -> NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError:
        raise NotebookError(f"There is no file {path}.") from None
    except (OSError, ValueError, KeyError, AttributeError, nbformat.reader.NotJSONError) as error:
        reason = type(error).__name__
        raise NotebookError(f"{path} cannot be read as a notebook ({reason}).") from None


def _list_lab_exercises(notebook: NotebookNode, path: Path) -> list[str]:
    """Return the exercises of the notebook's lab.

    The lab is found by the notebook's first test cell, else by the name of the file.
    """
    exercises_by_test = {make_test_grade_id(name): name for name in answer_key.list_exercises()}
    lab = answer_key.load_lab_descriptions().get(path.stem)
    for cell in notebook.cells:
        exercise = exercises_by_test.get(get_grade_id(cell))
        if exercise:
            lab = answer_key.find_lab(exercise)
            break
    if not lab or not lab.points:
        question = "is it one of the lab notebooks?"
        raise NotebookError(f"{path} holds no exercise of these labs; {question}")
    return list(lab.points)


def _make_test_cells_call_check(
    notebook: NotebookNode, exercises: list[str]
) -> dict[str, NotebookNode]:
    """Make every test cell call `check` on its exercise, and append test cells that are missing.

    Return the test cells by exercise.
    """
    exercises_by_test = {make_test_grade_id(name): name for name in answer_key.list_exercises()}
    checks = {}
    for cell in notebook.cells:
        exercise = exercises_by_test.get(get_grade_id(cell))
        if exercise and cell.cell_type == "code":
            cell.source = f"check({exercise})"
            checks[exercise] = cell
    for exercise in exercises:
        if exercise not in checks:
            source = f"from autograder import check\ncheck({exercise})"
            checks[exercise] = new_code_cell(source)
            notebook.cells.append(checks[exercise])
    return checks


def _run_notebook(notebook: NotebookNode, folder: Path) -> None:
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    ignore_closed_sockets()
    stopwatches: list[Stopwatch] = []
    pid = 0

    def start_stopwatch(**_: Any) -> None:
        nonlocal pid
        provisioner: Any = client.km and client.km.provisioner
        pid = provisioner.pid
        stopwatches.append(Stopwatch(lambda: _read_cpu_seconds(pid)))

    client = NotebookClient(
        notebook,
        timeout=WALL_SECONDS_PER_CPU_SECOND * MAX_CELL_CPU_SECONDS,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
        on_cell_execute=start_stopwatch,
    )
    end_event = threading.Event()

    def watch_cpu_time() -> None:
        while not end_event.wait(POLL_SECONDS):
            if stopwatches and stopwatches[-1].cpu_seconds() > MAX_CELL_CPU_SECONDS:
                psutil.Process(pid).kill()
                return

    watcher = threading.Thread(target=watch_cpu_time, daemon=True)
    watcher.start()
    environment = make_grading_like_environment(course.find_course_folder(folder))
    with TemporaryFile() as kernel_log:
        try:
            client.execute(env=environment, stderr=kernel_log)
        except (CellTimeoutError, DeadKernelError) as error:
            if isinstance(error, CellTimeoutError) or not watcher.is_alive():
                raise NotebookError(
                    f"A cell needed more than {MAX_CELL_CPU_SECONDS:g} s; look for an endless loop."
                ) from None
            raise NotebookError(
                "The notebook's Python process died while it ran. "
                f"It logged: {read_end_of_log(kernel_log)}"
            ) from None
        finally:
            end_event.set()


def _read_cpu_seconds(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:  # the process has ended
        return 0.0
    return float(times.user + times.system)


def _read_exercise_status(
    name: str,
    test_cell: NotebookNode,
    first_error: str,
    has_answer_cell: bool,
) -> ExerciseStatus:
    """Read the result of checking an exercise from the outputs of its test cell.

    Parameters
    ----------
    first_error : str
        Result of `_find_first_error`.
    has_answer_cell : bool
        True if the notebook has the cell in which the exercise's function is written.
    """
    error = None
    for output in test_cell.get("outputs", ()):
        if output.output_type == "error":
            error = output
            break
    if error is None:
        has_run = bool(test_cell.get("outputs"))
        return ExerciseStatus(name, has_run, "right" if has_run else "its check did not run")
    if error.ename == "NameError" and not has_answer_cell:
        command = f"`autograder reset` with the notebook and {name}"
        message = f"its cell is missing; {command} puts it back"
    elif error.ename == "NameError":
        message = f"there is no function {name}"
        if first_error:
            message += f"; an earlier cell failed: {first_error}"
    elif error.ename == NotWrittenYet.__name__:
        message = "not written yet"
    else:
        message = error.evalue.removeprefix(f"{name}: ")
    return ExerciseStatus(name, False, message)


def _find_first_error(notebook: NotebookNode) -> str:
    """Return the first error in the notebook's outputs as one line of text, or "".

    Errors of failed checks are not counted.
    """
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.get("output_type") == "error" and output.ename not in _CHECK_ERRORS:
                return f"{output.ename}: {output.evalue}".split("\n")[0][:300]
    return ""
