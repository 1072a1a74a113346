"""The hand-in in a WebAssembly guest: IPython as elsewhere, and no process, thread or signal besides.

The grader makes one guest, has it `prepare`, and takes a copy of its memory: each hand-in begins as that copy. An
order is one call of `obey`, or one of `hear` and one of `act`, so between two of them the guest is at rest and can be
copied again.
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

from autograder import imports
from autograder.grading.sandbox.inside import HOME, wire
from autograder.grading.sandbox.inside.hand_in import HandIn, preload
from autograder.grading.sandbox.inside.shell import Shell, prepare_shell
from autograder.judging import frames

HAND_IN = "__autograder_hand_in__"  # by which the grader finds it, among the builtins


def _send(header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
    left = memoryview(frames.encode(header, arrays))
    while left:
        left = left[os.write(1, left) :]


def _read(n: int) -> bytes:
    data = b""
    while len(data) < n:
        more = os.read(0, n - len(data))
        if not more:
            raise wire.Closed("no order")
        data += more
    return data


class _Shell(Shell):
    """Tells how far a cell has come, for the grader to run it so far again if it has to be stopped."""

    async def run_code(self, code_obj: Any, result: Any = None, *, async_: bool = False) -> bool:
        failed = await super().run_code(code_obj, result, async_=async_)
        self.emitter.step()
        return failed

    def system(self, cmd: str) -> NoReturn:
        raise OSError(f"{_NO_PROGRAMS}, so no line may begin with `!`.")

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> NoReturn:
        self.system(cmd)


_NO_PROGRAMS = "There are no other programs where this notebook is marked"
_PROGRAMS = ("bash", "sh", "script", "system", "sx")  # magics that start one


def _no_magic(*_: Any) -> NoReturn:
    raise OSError(f"{_NO_PROGRAMS}.")


# What makes arrays of Python's own numbers. Whole ones get 32 bits in a guest, as on any system of 32 bits, and what
# counts the bytes of a cache goes over that; elsewhere they get 64.
_DTYPE_AT = {"array": 1, "asarray": 1, "arange": 3, "full": 2}  # its place among the arguments
_TYPED = "zeros ones empty eye identity tri fromiter linspace zeros_like ones_like full_like".split()
_TAKES = "prod sum cumprod cumsum dot multiply power".split()
_PLAIN = (int, list, tuple, range)


def _widen() -> None:
    """Have NumPy give whole numbers 64 bits where nothing says otherwise, as it does on the student's machine."""

    def typed(function: Any) -> Any:
        @wraps(function)
        def make(*given: Any, **named: Any) -> Any:
            if named.get("dtype") is int:
                named["dtype"] = np.int64
            return function(*(np.int64 if part is int else part for part in given), **named)

        return make

    def making(name: str, function: Any) -> Any:
        @wraps(function)
        def make(*given: Any, **named: Any) -> Any:
            made = function(*given, **named)
            said = named.get("dtype") is not None or len(given) > _DTYPE_AT[name]
            if made.dtype != np.int32 or said or any(hasattr(part, "dtype") for part in given):
                return made
            return function(*given, **{**named, "dtype": np.int64})

        return make

    def taking(function: Any) -> Any:
        @wraps(function)
        def take(first: Any, *given: Any, **named: Any) -> Any:
            plain = isinstance(first, _PLAIN) and all(type(part) in _PLAIN for part in given)
            return function(
                np.array(first) if plain or isinstance(first, _PLAIN[1:]) else first, *given, **named
            )

        for name in filter(str.isalpha, dir(function)):  # of a ufunc
            part = getattr(function, name)
            setattr(take, name, taking(part) if name in ("reduce", "accumulate") else part)
        return take

    for name in _DTYPE_AT:
        setattr(np, name, typed(making(name, getattr(np, name))))
    for name in _TYPED:
        setattr(np, name, typed(getattr(np, name)))
    for name in _TAKES:
        setattr(np, name, taking(getattr(np, name)))
    np.int_ = np.int64


class _Loop(asyncio.BaseEventLoop):
    """Tasks and sleep: there is nothing else to wait for, and asyncio's own loop would begin with a socket."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self

    def select(self, seconds: float | None) -> list[object]:
        """Wait until the next task is due; for ever, if none is."""
        sleep(1e9 if seconds is None else max(0, seconds))
        return []

    def _process_events(self, events: list[object]) -> None:
        """None ever come."""

    def _write_to_self(self) -> None:
        """Nobody else could wake it."""


_LOCK = threading.Lock


class _Lock:
    """A lock. To wait for one ends a guest, and there is no other thread that would release it: time passes."""

    def __init__(self) -> None:
        self._lock = _LOCK()
        self.release, self.locked = self._lock.release, self._lock.locked

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._lock.acquire(False):
            return True
        if blocking:
            sleep(1e9 if timeout == -1 else timeout)
        return False

    __enter__ = acquire

    def __exit__(self, *_: object) -> None:
        self.release()


def _without_threads() -> None:
    """Have whatever waits for another thread wait as long as it would."""
    for module, name in ((threading, "Lock"), (threading, "_allocate_lock"), (_thread, "allocate_lock")):
        setattr(module, name, _Lock)
    queue.SimpleQueue = queue._PySimpleQueue  # type: ignore[attr-defined, misc]


def prepare(modules: Sequence[str], output_bytes: int) -> None:
    """Import what hand-ins need, and begin one: standard input and output are the grader's."""
    for folder in (f"{HOME}/notebook", "/tmp/matplotlib", "/tmp/ipython"):
        os.makedirs(folder)
    os.chdir(f"{HOME}/notebook")
    _without_threads()
    preload(modules)
    _widen()
    asyncio.new_event_loop = asyncio.events.new_event_loop = _Loop
    shell = prepare_shell(_Shell)
    for name in _PROGRAMS:
        shell.magics_manager.register_function(_no_magic, "line_cell", name)
    imports.guard()
    hand_in = HandIn(shell, partial(frames.read_frame, _read), _send, output_bytes)
    hand_in.begin()
    setattr(builtins, HAND_IN, hand_in)
