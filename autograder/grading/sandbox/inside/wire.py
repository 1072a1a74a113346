"""What the two sides of the sandbox say to each other: frames over file descriptors, with deadlines.

`autograder.judging.frames` has the frames themselves. Whoever writes may be hostile.
"""

import os
import re
import select
import signal
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import numpy as np

from autograder.judging.frames import MAX_HEADER, MAX_PAYLOAD, Frame, check_fields, encode, read_frame
from autograder.judging.kinds import MAX_VALUES
from autograder.judging.kinds import FrameError as WireError

MAX_LINES = 1_000  # of one traceback
MAX_MIMES = 50  # in one output
CHUNK = 1 << 20
SPARE = 1 << 16
PART = MAX_VALUES  # bytes in an array of them

FORGED = "It wrote into the grader's own pipe."
TOO_MUCH = "It sent more than answers can be."


def death(code: int | None) -> str:
    """How a process ended, from its exit code as `os.waitstatus_to_exitcode` gives it.

    >>> death(-9), death(3), death(None)
    ('Its process was killed by SIGKILL.', 'Its process ended with exit code 3.', 'Its process ended.')
    """
    if code is None:
        return "Its process ended."
    if code < 0:
        try:
            return f"Its process was killed by {signal.Signals(-code).name}."
        except ValueError:
            return f"Its process was killed by signal {-code}."
    return f"Its process ended with exit code {code}."


# Bytes that another reads: they travel as arrays, since a frame has nothing else.


def in_parts(data: bytes | bytearray) -> list[np.ndarray]:
    """Bytes as arrays that may travel.

    >>> together(in_parts(b"abc"))
    b'abc'
    """
    view = memoryview(data)
    return [np.frombuffer(view[i : i + PART], np.uint8) for i in range(0, len(view), PART)]


def together(parts: Sequence[np.ndarray]) -> bytes:
    """The inverse of `in_parts`."""
    return b"".join(np.ascontiguousarray(part).data for part in parts)


# Outputs: what a cell shows, as nbformat 4 has it.

MIME = re.compile(r"[a-z]+/[a-zA-Z0-9][a-zA-Z0-9.+-]{0,100}")


_SHOWN: dict[str, Any] = {"output_type": str, "data": dict, "metadata": dict}
_OUTPUTS: dict[Any, dict[str, Any]] = {
    "stream": {"output_type": str, "name": str, "text": str},
    "display_data": _SHOWN,
    "execute_result": {**_SHOWN, "execution_count": (int, type(None))},
    "error": {"output_type": str, "ename": str, "evalue": str, "traceback": list},
}


def check_output(output: Any) -> dict:
    """An nbformat output rebuilt from its known fields; raises WireError for anything else.

    The text in it is as the student's code wrote it: sanitise before showing it to people.
    """
    kind = output.get("output_type") if isinstance(output, dict) else None
    if not isinstance(kind, str) or kind not in _OUTPUTS:
        raise WireError("no such output")
    check_fields(output, _OUTPUTS[kind])
    if kind == "stream" and output["name"] not in ("stdout", "stderr"):
        raise WireError("no such stream")
    lines = output.get("traceback", ())
    if len(lines) > MAX_LINES or not all(isinstance(line, str) for line in lines):
        raise WireError("a traceback is some lines of text")
    if "data" in output:
        output |= {"data": _texts(output["data"]), "metadata": {}}
    return output


def is_json(mime: str) -> bool:
    """Whether this MIME type holds JSON and not text."""
    return mime == "application/json" or mime.endswith("+json")


def _texts(data: dict) -> dict:
    """A MIME bundle's texts. Its JSON is left out: nothing shows it, and it could be of any depth."""
    if len(data) > MAX_MIMES:
        raise WireError("too many MIME types")
    for mime, content in data.items():
        if not MIME.fullmatch(mime):
            raise WireError("no such MIME type")
        if not isinstance(content, str) and not is_json(mime):
            raise WireError(f"{mime} is text")
    return {mime: content for mime, content in data.items() if isinstance(content, str)}


# Channels: file descriptors with deadlines.


class Closed(WireError):
    """The other end has closed."""


class Channel:
    """Frames over two file descriptors (or one socket), with something done while waiting.

    Parameters
    ----------
    reader, writer : int
        File descriptors; made non-blocking.
    tick : callable
        Called about every `every` seconds while bytes are awaited; raises to give up.
    every : float
        Seconds; may be changed at any time.
    """

    def __init__(self, reader: int, writer: int, tick: Callable[[], None] | None = None, every: float = 0.05):
        self._reader, self._writer, self.every = reader, writer, every
        self._tick = tick or (lambda: None)
        self._due = 0.0
        self._held = bytearray()
        self._ahead, self._spare = bytearray(), bytearray(SPARE)  # what was read beyond a frame, and where to
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(reader, select.POLLIN)
        self._writable.register(writer, select.POLLOUT)
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)

    def send(self, header: dict, arrays: Sequence[np.ndarray] = (), *, more: bool = False) -> None:
        """Write one frame; where there is `more` to come, it may wait for that, and goes with it."""
        frame: bytes | bytearray = encode(header, arrays)
        if more or self._held:
            self._held += frame
            if more and len(self._held) < CHUNK:
                return
            frame, self._held = self._held, bytearray()
        left = memoryview(frame)
        while left:
            try:
                left = left[os.write(self._writer, left[:CHUNK]) :]
            except BlockingIOError:
                self._writable.poll(self.every * 1000)
            except (BrokenPipeError, ConnectionError):
                raise Closed("the other end has closed") from None
            self._tick_if_due()

    def receive(self, max_header: int = MAX_HEADER, max_payload: int = MAX_PAYLOAD) -> Frame:
        """Read one frame."""
        return read_frame(self._read, max_header, max_payload)

    def _read(self, n: int) -> bytearray:
        # Large arrays are read to where they stay: questions and answers are most of what goes through here.
        taken = bytearray(n)
        have = min(n, len(self._ahead))
        taken[:have] = self._ahead[:have]
        del self._ahead[:have]
        while have < n:
            try:
                got = os.readv(self._reader, [memoryview(taken)[have:], self._spare])
            except BlockingIOError:
                self._readable.poll(self.every * 1000)
                self._tick_if_due()
                continue
            except ConnectionError:
                got = 0
            if not got:
                raise Closed("the other end has closed")
            beyond = max(0, have + got - n)
            self._ahead += memoryview(self._spare)[:beyond]
            have += got - beyond
            self._tick_if_due()
        return taken

    def _tick_if_due(self) -> None:
        now = monotonic()
        if now >= self._due:
            self._due = now + self.every
            self._tick()
