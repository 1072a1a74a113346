"""The processes that run a student's code: the hand-in's cells, and its answers to questions.

Whatever they say may be forged, so nothing outside believes more of it than that these outputs and these
answers are what this student's code made.
"""

import builtins
import io
import json
import os
import random
import select
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from autograder import imports
from autograder.grading.sandbox.inside import confine, wire
from autograder.grading.sandbox.inside.limits import Limits
from autograder.judging import frames
from autograder.judging.answer import ask
from autograder.judging.question import Inputs, Value

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.grading.sandbox.inside.shell import Shell

GATHERED_BYTES, GATHERED_SECONDS = 1 << 18, 0.05  # of answers, before they are passed on: each time wakes two
PART = 128  # bytes that any value is taken to have
LINGER = 0.5  # seconds that an answer whose memory is limited waits to be looked at; the keeper ends it then


class HandIn:
    """Runs cells and forks questions, as the keeper orders over the channel."""

    def __init__(self, shell: "Shell | None", channel: wire.Channel, limits: Limits, sandboxed: bool) -> None:
        self._shell = shell
        self._channel, self._limits, self._sandboxed = channel, limits, sandboxed
        self._pid = os.getpid()
        self._emitter = Emitter(channel, limits.output_bytes)

    def serve(self) -> NoReturn:
        """Until the keeper closes the channel, which it never does before the end."""
        if self._shell is not None:
            self._shell.attach(self._emitter)
        sys.stdin = open(os.devnull)  # noqa: SIM115 - for as long as there is this process
        sys.stdout, sys.stderr = Stream("stdout", self._emitter), Stream("stderr", self._emitter)
        random.seed(0)  # each fork begins with another state, and a mark must be reproducible
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        builtins.input = _no_input
        imports.guard()
        self._channel.send({"op": "ready"})
        while True:
            order, arrays = self._channel.receive()
            if order["op"] == "run":
                self._run(order["source"], order["count"])
            else:
                asked, values = frames.decode(wire.together(arrays))
                questions = [frames.unpack_inputs(question, values) for question in asked["questions"]]
                self._ask(order["exercise"], order["call"], questions)

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
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                good = shell.run_cell(source, store_history=True).success
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except BaseException as error:  # noqa: BLE001 - also what a patched IPython lets through
            with suppress(BaseException):
                shell.show_error(type(error), error, [])
        if os.getpid() != self._pid:
            os._exit(0)  # a fork that the student's code made, and let run on
        with suppress(BaseException):
            self._emitter.flush()
        if not good and not self._emitter.failed:
            self._emitter.error("Error", "the cell did not run to its end", [])
        self._emitter.send({"op": "done", "status": "ok" if good else "error"})

    def _ask(self, exercise: str, call: str, questions: list[Inputs]) -> None:
        """Have a fork of this process answer; the keeper ends it when its time is up."""
        missing = object()
        function = self._the_shell().user_ns.get(exercise, missing)
        if function is missing:
            self._emitter.send({"op": "asked", "missing": True, "exit": 0})
            return
        if self._sandboxed:
            self._kill_all()  # what cells have left running is in the way of the answer
        if "jax" in sys.modules:  # it hangs in a fork once it has been used
            for frame in _frames(function, call, questions):
                self._emitter.send({"op": "answers"}, [np.frombuffer(frame, np.uint8)])
            self._emitter.send({"op": "asked", "missing": False, "exit": 0})
            return
        status = 1
        with suppress(OSError), confine.spare_limits():
            answers, reports = os.pipe()
            confine.enlarge(reports)
            pid = os.fork()
            if pid == 0:
                _answer(function, call, questions, reports)
            os.close(reports)
            status = self._forward(answers, pid)
            os.close(answers)
        self._emitter.send({"op": "asked", "missing": False, "exit": status})

    def _forward(self, answers: int, pid: int) -> int:
        """Pass on what the question's process writes until it ends; its exit code."""
        status: int | None = None
        waiting = select.poll()
        waiting.register(answers, select.POLLIN)
        while True:
            if waiting.poll(0 if status is not None else 20):
                data = os.read(answers, 1 << 18)
                if not data:
                    break
                self._emitter.send({"op": "answers"}, [np.frombuffer(data, np.uint8)])
            elif status is not None:
                break  # it has ended; whoever still holds its pipe has nothing to say
            else:
                status = _exit_of(pid, os.WNOHANG)
        if status is None:
            status = _exit_of(pid, 0)  # it has closed its pipe, and should end
        self._end(pid)
        return -1 if status is None else status

    def _end(self, pid: int) -> None:
        """Kill the question's process with all that it started."""
        if self._sandboxed:
            self._kill_all()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    def _kill_all(self) -> None:
        """Kill all of this PID namespace, but for its first process, which is this one."""
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)


def _exit_of(pid: int, how: int) -> int | None:
    """The exit code of a child; None while it runs, if `how` is not to wait for it."""
    try:
        done, status = os.waitpid(pid, how)
    except ChildProcessError:
        return -1
    return os.waitstatus_to_exitcode(status) if done else None


def _answer(function: Any, call: str, questions: Sequence[Inputs], fd: int) -> NoReturn:
    """In the question's process: the answers, and the end."""
    code = 1
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        os.closerange(3, 5)
        for frame in _frames(function, call, questions):
            left = memoryview(frame)
            while left:
                left = left[os.write(fd, left) :]
        if any(given.memory is not None for given in questions):
            sleep(LINGER)
        code = 0
    finally:
        os._exit(code)


def _frames(function: Any, call: str, questions: Sequence[Inputs]) -> Iterator[bytes]:
    """The answers to the questions, as bytes; small ones share a frame, but none waits for long."""
    first, size, due = 0, 0, monotonic() + GATHERED_SECONDS
    packed: list[dict[str, Any]] = []
    arrays: list[np.ndarray] = []
    for given in questions:
        answer = ask(function, given, call)
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
    if isinstance(value, (tuple, list)):
        return PART + sum(map(_size, value))
    if isinstance(value, Mapping):
        return PART + sum(len(key) + _size(part) for key, part in value.items())
    return PART + (len(value) if isinstance(value, str) else 0)


def _no_input(prompt: object = "", /) -> NoReturn:
    from IPython.core.error import StdinNotImplementedError

    raise StdinNotImplementedError("input() was called, but nobody is there to answer while this is marked.")


class Emitter:
    """Sends what a cell shows; text is gathered for up to 50 ms."""

    def __init__(self, channel: wire.Channel, output_bytes: int) -> None:
        self._channel = channel
        self._left = 2 * output_bytes  # the keeper cuts exactly; this only stops a flood at its source
        self._lock = threading.RLock()
        self._stream, self._size, self._flushed = "", 0, 0.0
        self._text: list[str] = []
        self.failed = False

    def send(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        """One frame, whole: an interrupt waits for its end."""
        with self._lock:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self._channel.send(header, arrays)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

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
