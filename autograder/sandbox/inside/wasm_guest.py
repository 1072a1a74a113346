"""Run a submission in WebAssembly, where Python has no processes, threads or signals.

The grader starts Python in WebAssembly (called a guest) and calls `prepare_guest` in it. Then it
copies the guest's memory, and each submission starts from that copy. To let the guest run a cell or
answer questions, the grader calls `execute_next` in it. Between two calls the guest does nothing,
so that its memory can be saved and restored.
"""

import _thread
import asyncio
import builtins
import os
import queue
import threading
from collections.abc import Sequence
from functools import partial, wraps
from time import sleep
from typing import Any, NoReturn

import numpy as np
from IPython.utils.text import SList

from autograder.core import import_guard
from autograder.sandbox.inside import SANDBOX_HOME, protocol
from autograder.sandbox.inside.executor import SubmissionExecutor, preload_modules
from autograder.sandbox.inside.ipython_shell import Shell, prepare_shell
from autograder.values import encoding

# Name of the executor, which runs submissions, among Python's builtins: the grader calls it by this
# name. The constant in `sandbox.webassembly` must be the same.
EXECUTOR_NAME = "__autograder_submission__"
FOREVER_SECONDS = 1e9


def _send_frame(header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
    remaining = memoryview(encoding.encode(header, arrays))
    while remaining:
        remaining = remaining[os.write(1, remaining) :]


def _read_order_bytes(n: int) -> bytes:
    data = b""
    while len(data) < n:
        part = os.read(0, n - len(data))
        if not part:
            raise protocol.ChannelClosed("no order")
        data += part
    return data


class _StatementReportingShell(Shell):
    """IPython's shell, changed to report each statement of a cell as soon as it is completed.

    If the cell has to be stopped, it can be run again up to the last completed statement.
    """

    async def run_code(self, code_obj: Any, result: Any = None, *, async_: bool = False) -> bool:
        has_failed = await super().run_code(code_obj, result, async_=async_)
        self.emitter.emit_step()
        return has_failed

    def system(self, cmd: str) -> None:
        """Print that no shell command can run here. The cell goes on, as when a command fails.

        A line such as `!pip install numpy` is often left over in front of an answer.
        """
        print(f"{_NO_PROGRAMS}, so this line does nothing: !{cmd}")
        self.user_ns["_exit_code"] = 127

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Print that no shell command can run here, and return an empty output."""
        self.system(cmd)
        return SList() if split else ""


_NO_PROGRAMS = "There are no other programs where this notebook is marked"
_PROGRAM_MAGICS = ("bash", "sh", "script", "system", "sx")  # IPython's magics that run programs


def _refuse_magic(*_: Any) -> NoReturn:
    raise OSError(f"{_NO_PROGRAMS}.")


# NumPy functions that are changed to make 64-bit integers of Python's integers, as they do on a
# student's machine. WebAssembly is a 32-bit system, on which NumPy makes 32-bit integers. Some
# results of exercises, such as a number of bytes, do not fit into 32 bits.
_DTYPE_POSITION = {"array": 1, "asarray": 1, "arange": 3, "full": 2}  # among the arguments
_DTYPE_FUNCTIONS = (
    "zeros ones empty eye identity tri fromiter linspace zeros_like ones_like full_like".split()
)
_ARITHMETIC_FUNCTIONS = "prod sum cumprod cumsum dot multiply power".split()
_PYTHON_TYPES = (int, list, tuple, range)


def _make_numpy_default_to_int64() -> None:
    """Let NumPy make 64-bit integers by default, as it does on the student's machine."""
    for name in _DTYPE_POSITION:
        setattr(np, name, _read_dtype_int_as_int64(_make_int_result_int64(name, getattr(np, name))))
    for name in _DTYPE_FUNCTIONS:
        setattr(np, name, _read_dtype_int_as_int64(getattr(np, name)))
    for name in _ARITHMETIC_FUNCTIONS:
        setattr(np, name, _make_int_arguments_int64(getattr(np, name)))
    np.int_ = np.int64


def _read_dtype_int_as_int64(function: Any) -> Any:
    """Wrap a NumPy function so that the dtype `int` means int64."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dtype") is int:
            kwargs["dtype"] = np.int64
        return function(*(np.int64 if arg is int else arg for arg in args), **kwargs)

    return wrapper


def _make_int_result_int64(name: str, function: Any) -> Any:
    """Wrap `np.array` or a similar function so that Python's integers become an int64 array."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        array = function(*args, **kwargs)
        has_dtype = kwargs.get("dtype") is not None or len(args) > _DTYPE_POSITION[name]
        if array.dtype != np.int32 or has_dtype or any(hasattr(arg, "dtype") for arg in args):
            return array
        return function(*args, **{**kwargs, "dtype": np.int64})

    return wrapper


def _make_int_arguments_int64(function: Any) -> Any:
    """Wrap a NumPy function to compute in int64 if its arguments are Python's integers.

    The methods `reduce` and `accumulate` of a ufunc are wrapped as well.
    """

    @wraps(function)
    def wrapper(first: Any, *args: Any, **kwargs: Any) -> Any:
        is_all_python = isinstance(first, _PYTHON_TYPES)
        is_all_python = is_all_python and all(type(arg) in _PYTHON_TYPES for arg in args)
        if is_all_python or isinstance(first, _PYTHON_TYPES[1:]):
            first = np.array(first)
        return function(first, *args, **kwargs)

    for name in filter(str.isalpha, dir(function)):  # methods of a ufunc
        method = getattr(function, name)
        if name in ("reduce", "accumulate"):
            method = _make_int_arguments_int64(method)
        setattr(wrapper, name, method)
    return wrapper


class _SleepOnlyEventLoop(asyncio.BaseEventLoop):
    """Event loop for cells that use `await`; it can only run tasks and sleep.

    asyncio's standard event loop would open a socket, which is impossible in WebAssembly.
    """

    def __init__(self) -> None:
        super().__init__()
        self._selector = self

    def select(self, seconds: float | None) -> list[object]:
        """Sleep for so many seconds; for ever if that is None, because there is no task."""
        sleep(FOREVER_SECONDS if seconds is None else max(0, seconds))
        return []

    def _process_events(self, events: list[object]) -> None:
        """Do nothing: `select` returns no events."""

    def _write_to_self(self) -> None:
        """Do nothing: no other thread could wake this loop."""


_NATIVE_LOCK = threading.Lock


class _SleepingLock:
    """Lock for a Python without threads: waiting for it only sleeps, until the time limit.

    No other thread can ever release a lock, and in WebAssembly waiting for Python's own lock
    would end the program. So waiting for this lock only sleeps, until the time limit.
    """

    def __init__(self) -> None:
        self._lock = _NATIVE_LOCK()
        self.release, self.locked = self._lock.release, self._lock.locked

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._lock.acquire(False):
            return True
        if blocking:
            sleep(FOREVER_SECONDS if timeout == -1 else timeout)
        return False

    __enter__ = acquire

    def __exit__(self, *_: object) -> None:
        self.release()


def _replace_locks_by_sleeping_ones() -> None:
    """Replace the locks of Python's threading modules by `_SleepingLock`."""
    for module, name in (
        (threading, "Lock"),
        (threading, "_allocate_lock"),
        (_thread, "allocate_lock"),
    ):
        setattr(module, name, _SleepingLock)
    queue.SimpleQueue = queue._PySimpleQueue  # type: ignore[attr-defined, misc]


def prepare_guest(modules: Sequence[str], output_bytes: int) -> None:
    """Import modules for all submissions, and create the executor, which will run their cells.

    The executor reads its orders from standard input, and writes its replies to standard output.
    """
    for folder in (f"{SANDBOX_HOME}/notebook", "/tmp/matplotlib", "/tmp/ipython"):
        os.makedirs(folder)
    os.chdir(f"{SANDBOX_HOME}/notebook")
    _replace_locks_by_sleeping_ones()
    preload_modules(modules)
    _make_numpy_default_to_int64()
    asyncio.new_event_loop = asyncio.events.new_event_loop = _SleepOnlyEventLoop
    shell = prepare_shell(_StatementReportingShell)
    for name in _PROGRAM_MAGICS:
        shell.magics_manager.register_function(_refuse_magic, "line_cell", name)
    import_guard.guard_imports()
    receive = partial(encoding.read_frame, _read_order_bytes)
    executor = SubmissionExecutor(shell, receive, _send_frame, output_bytes)
    executor.redirect_streams_and_seed()
    setattr(builtins, EXECUTOR_NAME, executor)
