"""Record the calls that a source notebook's tests make; the notebook runs in its own process.

Each cell is run with its own solution. While a test cell runs, the calls of students' functions are
recorded, with their arguments, results and errors, and so are the variables that the cell reads.
"""

import builtins
import functools
import json
import linecache
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import process_time
from typing import Any, BinaryIO

import numpy as np
import psutil

import autograder
from autograder.core.errors import AutograderError
from autograder.core.files import NotRegularFile, read_regular_file
from autograder.core.text_format import truncate
from autograder.judging.function_tests import (
    CALL_EVENTS,
    SIDE_EFFECT_EVENTS,
    compare_by_test_function,
    has_recorded_value,
    inputs_for_test,
    is_empty_answer,
    record_test_calls,
    zero_recorded_values,
)
from autograder.judging.student_calls import call_student_function, pack_result
from autograder.sandbox.bubblewrap import build_python_command
from autograder.sandbox.inside import SANDBOX_HOME
from autograder.values.case_records import DTYPES, ComparisonRules, DeferredCall, Inputs, Value
from autograder.values.dataframes import DataTable
from autograder.values.encoding import decode, encode
from autograder.values.value_types import (
    EncodingError,
    blank_like,
    copy_inputs,
    copy_value,
    pack_value,
    unpack_value,
    values_agree,
)
from course_import.write_exercise import explain_unwritable

MAX_CPU_SECONDS = 300  # for all cells of a notebook
MAX_WALL_SECONDS = 6 * MAX_CPU_SECONDS
MAX_MEMORY_BYTES = 4 << 30  # of address space
MAX_FILE_BYTES = 200 << 20  # of files beside the notebook that are copied for its run
MAX_RECORDING_BYTES = 1 << 30  # of the file with the calls and variables
MAX_ERROR_BYTES = 1 << 16  # of the end of what the notebook writes to standard error
MAX_CALLS = 40  # of one function that are recorded in a test cell
WORK_FOLDER = "work"  # in the folder that is shared with the notebook's process
ZEROS_PASS = "zeros in place of all values pass it, too: assert more"
_VALUE_FIELDS = ("args", "kwargs", "result")  # fields of a call that need packing


class RecordingError(AutograderError):
    """Error for a source notebook that cannot be run; the text says why."""


@dataclass(frozen=True)
class RecordedCall:
    """One call of a student's function in a test cell: its arguments and its outcome.

    Parameters
    ----------
    cell, line : int
        Number of the cell, and the line in it.
    args, kwargs
        Values of the arguments; empty if `problem` is not.
    error : str
        Type of the exception that was raised, else "".
    has_printed : bool
        True if the function printed and returned nothing.
    problem : str
        Reason why the call cannot become a case, such as an argument that cannot be encoded; "" if
        it can.
    error_text : str
        Text that the test expects in the error's message.
    """

    cell: int
    line: int
    function: str
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    result: Value = None
    error: str = ""
    has_printed: bool = False
    problem: str = ""
    error_text: str = ""


@dataclass(frozen=True)
class Recording:
    """Observations of a notebook's run: calls in tests, variables, errors and trials of tests.

    Parameters
    ----------
    calls : list of RecordedCall
    variables : dict of (int, str) to (value, str)
        Value of each variable at the start of a test cell, and a description of one that cannot be
        encoded, else "".
    errors : dict of int to str
        Exceptions that cells raised.
    trials : dict of str to TestTrial
        Results of the separate test functions, by their names.
    files : dict of int to list of str
        Files beside the notebook that each cell reads, by their relative paths.
    """

    calls: list[RecordedCall]
    variables: dict[tuple[int, str], tuple[Value, str]]
    errors: dict[int, str]
    trials: dict[str, "TestTrial"]
    files: dict[int, list[str]]


@dataclass(frozen=True)
class TestTrial:
    """Outcome of trying a test function, made from a test cell, on the notebook's own solution.

    Parameters
    ----------
    values : dict of str to value
        Variables of the notebook that the test needs.
    problem : str
        Reason why the test cannot be used separately, or "".
    is_weak : bool
        True if very different results of the same form pass the test.
    expects_zeros : bool
        True if zeros in place of all values pass the test, since the solution gives them.
    """

    values: dict[str, Value]
    problem: str = ""
    is_weak: bool = False
    expects_zeros: bool = False


def record_notebook(cells: Sequence[dict], folder: Path, in_sandbox: bool = True) -> Recording:
    """Run a notebook's cells in a process with limits, and record the calls in its tests.

    Parameters
    ----------
    cells : sequence of dict
        `number`, `source`, `functions` (that the cell defines and that are to be recorded),
        `is_test` (bool), `variables` (that the cell reads), `tests` (test functions to try, see
        `course_import.extracted_tests.ExtractedTest`).
    folder : Path
        Folder of the notebook. The cells run beside a copy of its files.
    in_sandbox : bool
        Run the process in bubblewrap: without network, with no other file of this machine.

    Raises
    ------
    RecordingError
        If the process takes too long, or ends before the last cell.
    SandboxError
        If there is no bubblewrap for the sandbox.
    """
    with tempfile.TemporaryDirectory() as temporary_folder:
        exchange = Path(temporary_folder)
        _copy_folder(folder, exchange / WORK_FOLDER)
        (exchange / "cells.json").write_text(json.dumps(list(cells)), "utf-8")
        # A file takes the errors, not a pipe: a process that a cell leaves behind would keep the
        # pipe open, and the import would wait for it.
        with tempfile.TemporaryFile() as errors:
            try:
                process = _run_recorder(exchange, errors, in_sandbox)
            except subprocess.TimeoutExpired:
                raise RecordingError(
                    f"The notebook did not come to its end in {MAX_WALL_SECONDS} seconds; make its "
                    "cells quicker.",
                ) from None
            finally:
                _end_processes_in_folder(exchange / WORK_FOLDER)
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - MAX_ERROR_BYTES))
            error_text = errors.read().decode("utf-8", "replace")
        try:
            data = read_regular_file(exchange / "recording", MAX_RECORDING_BYTES)
            return _unpack_recording(data)
        except (OSError, NotRegularFile, EncodingError, KeyError, TypeError, ValueError):
            last_line = error_text.strip().split("\n")[-1][:200]
            reason = last_line or f"exit code {process.returncode}"
            raise RecordingError(
                f"Running the notebook ended its process ({reason}): it may take "
                f"{MAX_CPU_SECONDS} s of CPU time and {MAX_MEMORY_BYTES >> 30} GB of memory.",
            ) from None


def _run_recorder(
    exchange: Path, errors: BinaryIO, in_sandbox: bool
) -> subprocess.CompletedProcess[bytes]:
    """Run `main` in a process of its own, in the folder with the copies of the notebook's files."""
    variables = {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    module = ["-m", "course_import.record_calls"]
    if in_sandbox:
        packages = [Path(autograder.__file__).parent, Path(__file__).parent]
        command = build_python_command([*module, SANDBOX_HOME], variables, packages, exchange)
    else:
        # "-P": no file beside the notebook, such as a json.py, is imported in place of a module that
        # the recorder itself needs.
        command = [sys.executable, "-P", *module, str(exchange)]
    return subprocess.run(
        command,
        cwd=exchange / WORK_FOLDER,
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=errors,
        stdin=subprocess.DEVNULL,
        timeout=MAX_WALL_SECONDS,
    )


def _end_processes_in_folder(work: Path) -> None:
    """Kill the processes that the notebook has left behind: those that work in its folder."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if Path(process.cwd()).is_relative_to(work.resolve()):
                process.kill()


def _copy_folder(folder: Path, work: Path) -> None:
    """Copy the files in a notebook's folder, up to a limit; leave out links and hidden folders."""
    remaining_bytes = MAX_FILE_BYTES
    work.mkdir()
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        for name in sorted(files):
            path = Path(parent) / name
            if path.is_symlink() or not path.is_file() or path.suffix == ".ipynb":
                continue
            remaining_bytes -= path.stat().st_size
            if remaining_bytes < 0:
                return
            target = work / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def _unpack_recording(data: bytes) -> Recording:
    header, arrays = decode(data)
    calls = []
    for entry in header["calls"]:
        values = {name: unpack_value(entry[name], arrays) for name in _VALUE_FIELDS}
        calls.append(RecordedCall(**{**entry, **values}))
    variables = {}
    for cell, name, value, problem in header["variables"]:
        variables[cell, name] = (unpack_value(value, arrays), problem)
    trials = {}
    for name, values, *outcome in header["trials"]:
        trials[name] = TestTrial(unpack_value(values, arrays), *outcome)
    errors = {int(number): text for number, text in header["errors"].items()}
    files = {int(number): names for number, names in header["files"].items()}
    return Recording(calls, variables, errors, trials, files)


# Code that runs in the notebook's process


class _NotebookCallRecorder:
    """Recorder of the calls that test cells make; calls inside other calls are not recorded."""

    def __init__(self) -> None:
        self.cell: int | None = None
        self.depth = 0
        self.calls: list[tuple[RecordedCall, Callable]] = []
        self.counts: dict[tuple[int, str], int] = {}

    def wrap(self, name: str, function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if self.cell is None or self.depth or self._count_call_and_check_limit(name):
                return function(*args, **kwargs)
            line = self._find_line()
            # Store the arguments before the call, since the call may change them.
            arguments = [_to_argument(argument) for argument in (*args, *kwargs.values())]
            self.depth += 1
            error = ""
            result = None
            try:
                result = function(*args, **kwargs)
                return result
            except Exception as exception:
                error = type(exception).__name__
                raise
            finally:
                self.depth -= 1
                call = _make_call(name, arguments, list(kwargs), result)
                call = replace(call, cell=self.cell, line=line, error=error)
                self.calls.append((call, function))

        return wrapper

    def _count_call_and_check_limit(self, name: str) -> bool:
        key = (self.cell or 0, name)
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key] > MAX_CALLS

    def _find_line(self) -> int:
        frame, file_name = sys._getframe(2), f"<cell {self.cell}>"
        while frame is not None and frame.f_code.co_filename != file_name:
            frame = frame.f_back  # type: ignore[assignment]
        return frame.f_lineno if frame is not None else 0

    def repeat_calls(self) -> list[RecordedCall]:
        """Repeat each recorded call, to find those that give another result the second time."""
        calls = []
        for call, function in self.calls:
            calls.append(call if call.problem else _mark_unrepeatable_call(call, function))
        return calls


def _make_call(
    name: str, arguments: list[tuple[Value, str]], keywords: list[str], result: Any
) -> RecordedCall:
    """Return the record of a call, still without its cell and line."""
    value, result_problem = _to_value(result)
    problems = [f"an argument is {problem}" for _, problem in arguments if problem]
    if result_problem:
        problems.append(f"it returns {result_problem}")
    if problems:
        return RecordedCall(0, 0, name, result=value, problem=problems[0])
    values = [argument for argument, _ in arguments]
    count = len(values) - len(keywords)
    kwargs = dict(zip(keywords, values[count:], strict=True))
    return RecordedCall(0, 0, name, tuple(values[:count]), kwargs, value)


def _to_value(value: Any) -> tuple[Value, str]:
    """Convert an object to plain data, or describe it if that is impossible: "a generator"."""
    type_name, encodable = pack_result(value)
    is_lost = encodable is None and value is not None
    return encodable, f"a {type_name}" if is_lost else ""


def _to_argument(value: Any) -> tuple[Value, str]:
    """Convert an argument to plain data as `_to_value` does, but keep NumPy's and pandas' scalars.

    A date of NumPy's or pandas' becomes a call that makes it.
    """
    if isinstance(value, (np.datetime64, np.timedelta64)) and not np.isnat(value):
        unit, count = np.datetime_data(value)
        if count == 1 and unit != "generic":
            is_date = isinstance(value, np.datetime64)
            text: Value = str(value) if is_date else int(value.astype("int64"))
            return DeferredCall(f"numpy:{type(value).__name__}", (text, unit)), ""
    name = type(value).__name__
    is_pandas_date = type(value).__module__.partition(".")[0] == "pandas" and name in (
        "Timestamp",
        "Timedelta",
    )
    if is_pandas_date:
        return DeferredCall(f"pandas:{name}", (str(value),)), ""
    if isinstance(value, np.generic) and value.dtype.name in DTYPES and value.dtype != bool:
        return value, ""
    return _to_value(value)


def _mark_unrepeatable_call(call: RecordedCall, function: Callable) -> RecordedCall:
    """Call the function again, and return the call with a problem if it gives something else.

    A call with a problem loses its arguments and its result. Otherwise the call is returned with
    `has_printed`, which says whether the function printed instead of returning.
    """
    repetition = call_student_function(function, Inputs(call.args, call.kwargs))
    problem = ""
    if repetition.modified and not call.error:
        problem = f"it changes its argument {repetition.modified[0]}"
    same_value = values_agree(repetition.value, call.result, ComparisonRules())
    if repetition.raised != call.error or not same_value:
        problem = "it gives something else when it is called again"
    if problem:
        return replace(call, args=(), kwargs={}, result=None, problem=problem)
    has_printed = call.result is None and not call.error and bool(repetition.printed.strip())
    return replace(call, has_printed=has_printed)


def _try_test(
    test: dict,
    namespace: dict[str, Any],
    variables: dict[str, tuple[Value, str]],
) -> TestTrial:
    """Try if a test function accepts the notebook's own solution and refuses wrong values."""
    values: dict[str, Value] = {}
    # Of given cells, such as a model or much data: the test asks those of the submission's notebook.
    objects = []
    for name in test["values"]:
        value, problem = variables.get(name, (None, "not there"))
        if not problem and not (test["subject"] and explain_unwritable((), {name: value})):
            values[name] = value
        elif test["subject"] and name in variables:
            objects.append(name)
        else:
            return TestTrial({}, f"it uses `{name}`, which is {problem}")
    answers = {}
    for name in test["variables"]:
        value, problem = variables.get(name, (None, "not there"))
        answers[name] = namespace.get(name) if problem else value
    names = [name for name in (test["subject"], *test["helper_functions"]) if name]
    functions = {}
    for name in names:
        function = namespace.get(name, repr)
        functions[name] = getattr(function, "__wrapped__", function)
    for name in objects:
        functions[name] = namespace[name]
    answer = functions.get(test["subject"], lambda *_: _copy_answers(answers))
    inputs = inputs_for_test(test["source"], **values)
    try:
        events, error = record_test_calls(answer, functions, **copy_inputs(inputs).kwargs)
    except Exception as exception:  # noqa: BLE001 - anybody's code
        events, error = [], exception
    _, expected = pack_result(events)
    if error:
        text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        if isinstance(error, AssertionError):
            text = "it passes in the notebook, and not when its part of the cell runs alone"
        else:
            text = f"run alone, its part of the cell raises {text}"
        return TestTrial({}, truncate(text, 160))
    if expected is None:
        return TestTrial({}, "it gives more than can be compared")
    if pack_result([values, events])[1] is None:  # large values are a part of the answer
        return TestTrial({}, "it needs more data than an answer may hold: test with a part of them")
    message = compare_by_test_function(expected, copy_value(expected), 0.0, copy_inputs(inputs))
    if message:
        return TestTrial(
            {},
            f"it needs more than the results of calls, which alone leave a submission. {message}",
        )
    zeros = zero_recorded_values(expected)
    has_value = has_recorded_value(expected)
    message = compare_by_test_function(expected, copy_value(zeros), 0.0, copy_inputs(inputs))
    expects_zeros = has_value and message is None and not is_empty_answer(expected)
    alternatives = []
    for magnitude in (-1e6, 1e6):
        alternatives.append(copy_value([_replace_values(event, magnitude) for event in expected]))
    messages = [
        compare_by_test_function(expected, alternative, 0.0, copy_inputs(inputs))
        for alternative in alternatives
    ]
    # Zeros pass where the solution gives zeros. Then the test must refuse all other numbers.
    if expects_zeros and None in messages:
        return TestTrial({}, ZEROS_PASS)
    return TestTrial(values, "", messages == [None, None], expects_zeros)


def _copy_answers(answers: dict[str, Any]) -> dict[str, Any]:
    """Return the variables as fresh copies; objects that are no plain data stay themselves."""
    copies = {}
    for name, value in answers.items():
        _, encodable = pack_result(value)
        copies[name] = value if encodable is None else copy_value(encodable)
    return copies


def _replace_values(value: Value, magnitude: float) -> Value:
    """Return a value of the same type and shape with very different numbers."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        divisors = 1 + np.arange(value.size).reshape(value.shape)
        return (magnitude / divisors).astype(value.dtype)
    if isinstance(value, (list, tuple)):
        parts = [_replace_values(part, magnitude / (2 + i)) for i, part in enumerate(value)]
        return type(value)(parts)
    if isinstance(value, dict):
        return {key: _replace_values(part, magnitude) for key, part in value.items()}
    if isinstance(value, str):
        return value if value in (*CALL_EVENTS, *SIDE_EFFECT_EVENTS) else f"{value}?"
    if isinstance(value, DataTable):
        return blank_like(value)
    if type(value) is bool:
        return not value
    if type(value) in (int, float):
        return type(value)(magnitude)
    return value


def main(exchange: Path) -> None:
    """Run the cells in the file `cells.json`, and write the record to the file `recording`."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    from IPython.display import display

    builtins.display = display  # type: ignore[attr-defined]
    os.chdir(exchange / WORK_FOLDER)
    sys.path.insert(0, "")
    cells = json.loads((exchange / "cells.json").read_text("utf-8"))
    run = _NotebookRun()
    for cell in cells:
        run.run_cell(cell)
    (exchange / "recording").write_bytes(run.encode_recording())


class _NotebookRun:
    """Run of a notebook: its variables, and everything that is recorded meanwhile."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.recorder = _NotebookCallRecorder()
        self.variables: list[tuple[int, str, Value, str]] = []
        self.errors: dict[int, str] = {}
        self.trials: list[tuple[str, TestTrial]] = []
        self.arrays: list = []
        self.files: dict[int, set[str]] = {}
        self.folder = Path.cwd().resolve()
        self.running_cell = 0
        self.own_files: set[str] = set()  # that the notebook has written itself
        sys.addaudithook(self._note_opened_file)

    def _note_opened_file(self, event: str, arguments: tuple) -> None:
        """Note a file in the notebook's folder that a cell opens, as an audit hook of Python's."""
        if event != "open" or not self.running_cell:
            return
        if not isinstance(arguments[0], (str, os.PathLike)):
            return
        with suppress(Exception):  # never stop the notebook
            path = Path(os.path.abspath(arguments[0]))
            name = path.relative_to(self.folder).as_posix()
            mode, flags = str(arguments[1] or ""), arguments[2] or 0
            if set(mode) & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.own_files.add(name)
            elif name not in self.own_files and path.suffix not in (".py", ".pyc"):
                self.files.setdefault(self.running_cell, set()).add(name)

    def run_cell(self, cell: dict) -> None:
        """Run a cell; record its variables, try its tests, and wrap its functions for recording."""
        number = cell["number"]
        before_cell = {}
        for name in cell["variables"]:
            if name in self.namespace:
                value, problem = _to_value(self.namespace[name])
                packed_value = pack_value(value, self.arrays)
                self.variables.append((number, name, packed_value, problem))
                before_cell[name] = (unpack_value(packed_value, self.arrays), problem)
                argument, problem = _to_argument(self.namespace[name])
                if isinstance(argument, (DeferredCall, np.generic)):
                    before_cell[name] = (argument, problem)
        self.recorder.cell = number if cell["is_test"] else None
        start = process_time()
        self.running_cell = number
        source, file_name = cell["source"], f"<cell {number}>"
        # `inspect.getsource` finds the source of a cell's functions here.
        linecache.cache[file_name] = len(source), None, source.splitlines(True), file_name
        try:
            exec(compile(source, file_name, "exec"), self.namespace)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.errors[number] = f"{type(error).__name__}: {error}"[:300]
        self.recorder.cell = None
        self.running_cell = 0
        is_quick = process_time() - start < MAX_CPU_SECONDS / 20
        if number not in self.errors and is_quick:
            self._try_tests(cell["tests"], before_cell)
        for name in cell["functions"]:
            function = self.namespace.get(name)
            if callable(function) and not hasattr(function, "__wrapped__"):
                self.namespace[name] = self.recorder.wrap(name, function)

    def _try_tests(self, tests: list[dict], variables: dict[str, tuple[Value, str]]) -> None:
        # Trying tests may draw random numbers. Restore the generators, so that later cells draw
        # the same numbers as without the trials.
        random_states = random.getstate(), np.random.get_state()
        for test in tests:
            self.trials.append((test["name"], _try_test(test, self.namespace, variables)))
        random.setstate(random_states[0])
        np.random.set_state(random_states[1])

    def encode_recording(self) -> bytes:
        calls = []
        for call in self.recorder.repeat_calls():
            values = {name: pack_value(getattr(call, name), self.arrays) for name in _VALUE_FIELDS}
            calls.append({**vars(call), **values})
        trials = []
        for name, trial in self.trials:
            values = pack_value(trial.values, self.arrays)
            trials.append((name, values, trial.problem, trial.is_weak, trial.expects_zeros))
        header = {
            "calls": calls,
            "variables": self.variables,
            "errors": self.errors,
            "trials": trials,
            "files": {number: sorted(names) for number, names in self.files.items()},
        }
        return encode(header, self.arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
