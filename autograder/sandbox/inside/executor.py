"""Run the cells and call the functions of a submission, inside the submission's own process.

This code is the same in all sandboxes. It executes orders from `SubmissionDriver`, and sends back
outputs and the results of the calls. The student's code runs in the same process and may have
replaced any of these functions, so the grader must not trust what is sent.
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

from autograder.judging.student_calls import call_student_function
from autograder.sandbox.inside import protocol
from autograder.values import encoding as frames
from autograder.values.case_records import Inputs, Value

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.sandbox.inside.ipython_shell import Shell

# Results of several calls are sent in one message, since each message wakes two processes. These
# are the bytes and the seconds after which a message is sent.
BATCH_BYTES, BATCH_SECONDS = 1 << 18, 0.05
MIN_VALUE_BYTES = 128  # size that is assumed for a small value, such as a number
FLUSH_CHARACTERS, FLUSH_SECONDS = 8192, 0.05  # printed text is sent after so much text or time
MIN_ERROR_BYTES = 50_000  # always available for an error, even if too much was printed before


class SubmissionExecutor:
    """Executor of orders in a submission's process: run this cell, or call the student's function.

    Parameters
    ----------
    shell : Shell or None
        IPython's shell; None if no cells are to be run.
    receive : callable
        Waits for the driver's next frame and returns it.
    send : callable
        Sends a frame to the driver, and returns when all of it is sent.
    output_bytes : int
        Number of bytes of output that the grader keeps.
    """

    def __init__(
        self,
        shell: "Shell | None",
        receive: Callable[[], frames.Frame],
        send: Callable[..., None],
        output_bytes: int,
    ) -> None:
        self._shell, self._receive, self._emitter = shell, receive, OutputSender(send, output_bytes)

    def redirect_streams_and_seed(self) -> None:
        """Send what this process prints to the grader from now on, and seed the random numbers."""
        if self._shell is not None:
            self._shell.attach_emitter(self._emitter)
        sys.stdin = open(os.devnull)  # noqa: SIM115 - open as long as this process lives
        sys.stdout = OutputStream("stdout", self._emitter)
        sys.stderr = OutputStream("stderr", self._emitter)
        # Without a seed, a submission would get other random numbers in each run. Marks must be
        # reproducible.
        random.seed(0)
        builtins.input = _refuse_input

    def execute_next(self) -> None:
        """Wait for an order from outside (run this cell, call this function), and execute it."""
        self.receive_order()
        self.execute_order()

    def receive_order(self) -> None:
        """Wait for an order from outside (run a cell, call a function); decode its arguments."""
        order, arrays = self._receive()
        call_inputs = []
        if order["op"] == "ask":
            message, values = frames.decode(protocol.join_parts(arrays))
            call_inputs = [frames.unpack_inputs(inputs, values) for inputs in message["questions"]]
        self._order = order, call_inputs

    def execute_order(self) -> None:
        """Execute the order (run a cell, call a function) that `receive_order` has received."""
        order, call_inputs = self._order
        if order["op"] == "run":
            self._execute_cell(order["source"], order["count"])
            return
        missing = object()
        function = self._require_shell().user_ns.get(order["exercise"], missing)
        exit_code = 0
        if function is not missing:
            exit_code = self._call_and_send_results(
                function, order["call"], call_inputs, order["last"]
            )
        self._emitter.send({"op": "asked", "missing": function is missing, "exit": exit_code})

    def _require_shell(self) -> "Shell":
        if self._shell is None:
            raise RuntimeError("a sandbox that preloads nothing runs no cells")
        return self._shell

    def _execute_cell(self, source: str, execution_count: int) -> None:
        success = False
        shell = self._require_shell()
        self._emitter.has_failed = False
        shell.execution_count = execution_count
        try:
            success = self._run_cell(shell, source)
        except BaseException as error:  # noqa: BLE001 - a patched IPython may let errors through
            with suppress(BaseException):
                shell.show_error(type(error), error, [])
        self._after_cell()
        with suppress(BaseException):
            self._emitter.flush()
        if not success and not self._emitter.has_failed:
            self._emitter.emit_error("Error", "the cell did not run to its end", [])
        self._emitter.send({"op": "done", "status": "ok" if success else "error"})

    def _run_cell(self, shell: "Shell", source: str) -> bool:
        return bool(shell.run_cell(source, store_history=True).success)

    def _after_cell(self) -> None:
        """Clean up after each cell, successful or not; subclasses define how."""

    def _call_and_send_results(
        self,
        function: Any,
        call: str,
        call_inputs: list[Inputs],
        last: bool,
    ) -> int:
        """Call a student's function on the inputs of each test case, and send the results.

        Return 0, the exit code for success; a subclass may answer in another process.
        """
        for frame in call_and_encode_results(function, call, call_inputs):
            for part in protocol.split_into_message_parts(frame):
                self._emitter.send({"op": "answers"}, [part])
        return 0


def call_and_encode_results(
    function: Any, call: str, call_inputs: Sequence[Inputs]
) -> Iterator[bytes]:
    """Call a student's function on the inputs of each test case; yield messages with the results.

    Small results are gathered in one frame for up to 50 ms.
    """
    first, size, deadline = 0, 0, monotonic() + BATCH_SECONDS
    records: list[dict[str, Any]] = []
    arrays: list[np.ndarray] = []
    for inputs in call_inputs:
        # Do not measure the memory in this process: the student's code could forge the measurement.
        # It is measured from outside.
        if inputs.memory is not None:
            inputs = replace(inputs, memory=None)
        outcome = call_student_function(function, inputs, call)
        answer_size = _estimate_size(outcome.value) + len(outcome.printed) + len(outcome.error)
        if records and (size + answer_size > BATCH_BYTES or monotonic() > deadline):
            yield frames.encode({"first": first, "answers": records}, arrays)
            first, size, deadline = first + len(records), 0, monotonic() + BATCH_SECONDS
            records, arrays = [], []
        records.append(frames.pack_outcome(outcome, arrays))
        size += answer_size
    if records:
        yield frames.encode({"first": first, "answers": records}, arrays)


def _estimate_size(value: Value) -> int:
    """Estimate the size in bytes of an encoded value.

    Each part counts at least MIN_VALUE_BYTES, which limits the number of parts in a frame.
    """
    if isinstance(value, np.ndarray):
        return MIN_VALUE_BYTES + value.nbytes
    if isinstance(value, (tuple, list, set, frozenset)):
        return MIN_VALUE_BYTES + sum(map(_estimate_size, value))
    if isinstance(value, Mapping):
        keys, parts = map(_estimate_size, value), map(_estimate_size, value.values())
        return MIN_VALUE_BYTES + sum(keys) + sum(parts)
    if isinstance(value, str):
        return MIN_VALUE_BYTES + len(value)
    return MIN_VALUE_BYTES


def _refuse_input(prompt: object = "", /) -> NoReturn:
    from IPython.core.error import StdinNotImplementedError

    message = "input() was called, but nobody is there to answer while this is marked."
    raise StdinNotImplementedError(message)


class OutputSender:
    """Sender of what cells print and show; it gathers printed text for up to 50 ms."""

    def __init__(self, send: Callable[..., None], output_bytes: int) -> None:
        self._send = send
        # The exact limit of the output is enforced outside of this process. This higher limit only
        # keeps a submission from sending far too much.
        self._remaining_bytes = 2 * output_bytes
        self._lock = threading.RLock()
        self._stream, self._size, self._last_flush = "", 0, 0.0
        self._texts: list[str] = []
        self.has_failed = False

    def send(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        """Send one message to the driver outside; no other thread can send at the same time."""
        with self._lock:
            self._send(header, arrays)

    def emit_text(self, stream: str, text: str) -> None:
        """Gather text that was written to "stdout" or "stderr", to be sent soon."""
        with self._lock:
            if self._remaining_bytes <= 0 or not text:
                return
            if stream != self._stream:
                self.flush()
            self._stream = stream
            self._texts.append(text[: self._remaining_bytes])
            self._remaining_bytes -= len(text)
            self._size += len(text)
            if self._size > FLUSH_CHARACTERS or monotonic() - self._last_flush > FLUSH_SECONDS:
                self.flush()

    def flush(self) -> None:
        """Send the printed text that was gathered so far."""
        with self._lock:
            self._last_flush = monotonic()
            if self._texts:
                text, self._texts, self._size = "".join(self._texts), [], 0
                self._send_output({"output_type": "stream", "name": self._stream, "text": text})

    def emit_output(
        self, output: dict[str, Any], display_id: str | None = None, update: bool = False
    ) -> None:
        """Send an output other than printed text, such as a figure or an error."""
        with self._lock:
            self.flush()
            if self._remaining_bytes <= 0:
                return
            self._send_output(output, display_id, update)

    def _send_output(
        self, output: dict[str, Any], display_id: str | None = None, update: bool = False
    ) -> None:
        if output["output_type"] != "stream":
            self._remaining_bytes -= len(json.dumps(output, ensure_ascii=False))
        self.send({"op": "output", "output": output, "id": display_id, "update": update})

    def emit_error(self, name: str, value: str, lines: list[str]) -> None:
        """Send an exception that the cell raised."""
        self.has_failed = True
        self._remaining_bytes = max(self._remaining_bytes, MIN_ERROR_BYTES)
        error = {"output_type": "error", "ename": name, "evalue": value, "traceback": lines}
        self.emit_output(error)

    def emit_clear(self, wait: bool) -> None:
        """Tell the grader that a cell has called IPython's `clear_output`."""
        with self._lock:
            self.flush()
            self.send({"op": "clear", "wait": wait})

    def emit_step(self) -> None:
        """Report that a cell has finished one of its statements."""
        with self._lock:
            self.flush()
            self.send({"op": "step"})


class OutputStream(io.TextIOBase):
    """Stream that replaces sys.stdout or sys.stderr in a submission and sends the text on."""

    encoding = "utf-8"

    def __init__(self, name: str, emitter: OutputSender) -> None:
        self.name, self._emitter = f"<{name}>", emitter
        self._stream = name

    def write(self, text: str) -> int:
        """Add text to the cell's output."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._emitter.emit_text(self._stream, text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: the text is sent within 50 ms anyway."""

    def writable(self) -> bool:
        """Return True: some libraries ask before they print."""
        return True

    def fileno(self) -> int:
        """Return the descriptor 1 or 2, for libraries that need one; both lead to /dev/null."""
        return 1 if self._stream == "stdout" else 2


def preload_modules(names: Sequence[str]) -> None:
    """Import modules before submissions are forked, so that all submissions share them.

    A name may also be "module:function", to call that function as well, or an import statement.

    >>> preload_modules(["numpy", "from math import sqrt", "math:sqrt"])
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
