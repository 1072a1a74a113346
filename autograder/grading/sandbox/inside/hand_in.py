"""A hand-in as its driver orders it: cells run in IPython, questions put to one function, all that is shown sent back.

What is the same wherever a hand-in runs. Whatever it says may be forged, so nothing outside believes more of it
than that these outputs and these answers are what this student's code made.
"""

import builtins
import importlib
import io
import json
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from autograder.grading.sandbox.inside import wire
from autograder.judging import frames
from autograder.judging.answer import ask
from autograder.judging.question import Inputs, Value

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.grading.sandbox.inside.shell import Shell

GATHERED_BYTES, GATHERED_SECONDS = 1 << 18, 0.05  # of answers, before they are passed on: each time wakes two
PART = 128  # bytes that any value is taken to have


class HandIn:
    """Runs cells and asks questions, as its orders say. Asked here, an answer is given in this process.

    Parameters
    ----------
    shell : Shell or None
    receive, send : callable
        Wait for the next frame from the driver; send one, whole.
    output_bytes : int
        Of outputs that are kept.
    """

    def __init__(
        self,
        shell: "Shell | None",
        receive: Callable[[], frames.Frame],
        send: Callable[..., None],
        output_bytes: int,
    ) -> None:
        self._shell, self._receive, self._emitter = shell, receive, Emitter(send, output_bytes)

    def begin(self) -> None:
        """Show what cells show over the channel from now on."""
        if self._shell is not None:
            self._shell.attach(self._emitter)
        sys.stdin = open(os.devnull)  # noqa: SIM115 - for as long as there is this process
        sys.stdout, sys.stderr = Stream("stdout", self._emitter), Stream("stderr", self._emitter)
        random.seed(0)  # each hand-in begins with another state, and a mark must be reproducible
        builtins.input = _no_input

    def obey(self) -> None:
        """Take the next order, and do as it says."""
        self.hear()
        self.act()

    def hear(self) -> None:
        """Take the next order."""
        order, arrays = self._receive()
        questions = []
        if order["op"] == "ask":
            asked, values = frames.decode(wire.together(arrays))
            questions = [frames.unpack_inputs(question, values) for question in asked["questions"]]
        self._order = order, questions

    def act(self) -> None:
        """Do as it says."""
        order, questions = self._order
        if order["op"] == "run":
            self._run(order["source"], order["count"])
            return
        missing = object()
        function = self._the_shell().user_ns.get(order["exercise"], missing)
        code = 0
        if function is not missing:
            code = self._answer(function, order["call"], questions, order["last"])
        self._emitter.send({"op": "asked", "missing": function is missing, "exit": code})

    def _the_shell(self) -> "Shell":
        if self._shell is None:
            raise RuntimeError("a sandbox that preloads nothing runs no cells")
        return self._shell

    def _run(self, source: str, count: int) -> None:
        good = False
        shell = self._the_shell()
        self._emitter.failed = False
        shell.execution_count = count
        try:
            good = self._run_cell(shell, source)
        except BaseException as error:  # noqa: BLE001 - also what a patched IPython lets through
            with suppress(BaseException):
                shell.show_error(type(error), error, [])
        self._after_cell()
        with suppress(BaseException):
            self._emitter.flush()
        if not good and not self._emitter.failed:
            self._emitter.error("Error", "the cell did not run to its end", [])
        self._emitter.send({"op": "done", "status": "ok" if good else "error"})

    def _run_cell(self, shell: "Shell", source: str) -> bool:
        return bool(shell.run_cell(source, store_history=True).success)

    def _after_cell(self) -> None:
        """What must be so after a cell, however it ended."""

    def _answer(self, function: Any, call: str, questions: list[Inputs], last: bool) -> int:
        """Send what the function answers; the exit code of the process that was asked."""
        for frame in frames_of_answers(function, call, questions):
            for part in wire.in_parts(frame):
                self._emitter.send({"op": "answers"}, [part])
        return 0


def frames_of_answers(function: Any, call: str, questions: Sequence[Inputs]) -> Iterator[bytes]:
    """The answers to the questions, as bytes; small ones share a frame, but none waits for long."""
    first, size, due = 0, 0, monotonic() + GATHERED_SECONDS
    packed: list[dict[str, Any]] = []
    arrays: list[np.ndarray] = []
    for given in questions:
        # Memory is not measured here, where their code is: whoever drives this does.
        answer = ask(function, given if given.memory is None else replace(given, memory=None), call)
        more = _size(answer.value) + len(answer.printed) + len(answer.error)
        if packed and (size + more > GATHERED_BYTES or monotonic() > due):
            yield frames.encode({"first": first, "answers": packed}, arrays)
            first, size, due = first + len(packed), 0, monotonic() + GATHERED_SECONDS
            packed, arrays = [], []
        packed.append(frames.pack_answer(answer, arrays))
        size += more
    if packed:
        yield frames.encode({"first": first, "answers": packed}, arrays)


def _size(value: Value) -> int:
    """Roughly the bytes that a value takes in a frame, and so much at least that its parts are few."""
    if isinstance(value, np.ndarray):
        return PART + value.nbytes
    if isinstance(value, (tuple, list, set, frozenset)):
        return PART + sum(map(_size, value))
    if isinstance(value, Mapping):
        return PART + sum(_size(key) + _size(part) for key, part in value.items())
    return PART + (len(value) if isinstance(value, str) else 0)


def _no_input(prompt: object = "", /) -> NoReturn:
    from IPython.core.error import StdinNotImplementedError

    raise StdinNotImplementedError("input() was called, but nobody is there to answer while this is marked.")


class Emitter:
    """Sends what a cell shows; text is gathered for up to 50 ms."""

    def __init__(self, send: Callable[..., None], output_bytes: int) -> None:
        self._send = send
        self._left = 2 * output_bytes  # the keeper cuts exactly; this only stops a flood at its source
        self._lock = threading.RLock()
        self._stream, self._size, self._flushed = "", 0, 0.0
        self._text: list[str] = []
        self.failed = False

    def send(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        """One frame, whole."""
        with self._lock:
            self._send(header, arrays)

    def text(self, stream: str, text: str) -> None:
        """Something was written to stdout or stderr."""
        with self._lock:
            if self._left <= 0 or not text:
                return
            if stream != self._stream:
                self.flush()
            self._stream = stream
            self._text.append(text[: self._left])
            self._left -= len(text)
            self._size += len(text)
            if self._size > 8192 or monotonic() - self._flushed > 0.05:
                self.flush()

    def flush(self) -> None:
        """Send the text gathered so far."""
        with self._lock:
            self._flushed = monotonic()
            if self._text:
                text, self._text, self._size = "".join(self._text), [], 0
                self._send_output({"output_type": "stream", "name": self._stream, "text": text})

    def output(self, output: dict[str, Any], name: str | None = None, update: bool = False) -> None:
        """An output that is not text."""
        with self._lock:
            self.flush()
            if self._left <= 0:
                return
            self._send_output(output, name, update)

    def _send_output(self, output: dict[str, Any], name: str | None = None, update: bool = False) -> None:
        if output["output_type"] != "stream":
            self._left -= len(json.dumps(output, ensure_ascii=False))
        self.send({"op": "output", "output": output, "id": name, "update": update})

    def error(self, name: str, value: str, lines: list[str]) -> None:
        """The cell raised."""
        self.failed = True
        self._left = max(self._left, 50_000)
        self.output({"output_type": "error", "ename": name, "evalue": value, "traceback": lines})

    def clear(self, wait: bool) -> None:
        """IPython.display.clear_output."""
        with self._lock:
            self.flush()
            self.send({"op": "clear", "wait": wait})

    def step(self) -> None:
        """A statement of the cell is done."""
        with self._lock:
            self.flush()
            self.send({"op": "step"})


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of a hand-in."""

    encoding = "utf-8"

    def __init__(self, name: str, emitter: Emitter) -> None:
        self.name, self._emitter = f"<{name}>", emitter
        self._stream = name

    def write(self, text: str) -> int:
        """Into the cell's outputs."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._emitter.text(self._stream, text)
        return len(text)

    def flush(self) -> None:
        """Nothing: text that no one waits for can wait."""

    def writable(self) -> bool:
        """True, as some libraries ask before they print."""
        return True

    def fileno(self) -> int:
        """That of /dev/null, for the programs that want one."""
        return 1 if self._stream == "stdout" else 2


def preload(names: Sequence[str]) -> None:
    """Import these modules; after a colon stands a function that reads something for all forks to share.

    A name may be a whole import statement, as it stands in a notebook: then a fork does not read a module again.

    >>> preload(["numpy", "from math import sqrt", "math:sqrt"])
    Traceback (most recent call last):
        ...
    TypeError: math.sqrt() takes exactly one argument (0 given)
    """
    for name in names:
        if " " in name:
            exec(name, {})
            continue
        module_name, _, function = name.partition(":")
        module = importlib.import_module(module_name)
        if function:
            getattr(module, function)()
