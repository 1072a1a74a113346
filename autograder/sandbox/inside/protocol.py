"""Protocol between the grader and a submission: messages over pipes and sockets, with deadlines.

A message is called a frame: JSON and NumPy arrays, as `autograder.values.encoding` defines. The
student's code may send anything, so all that is received is checked.
"""

import os
import re
import select
import signal
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import numpy as np

from autograder.values.encoding import (
    MAX_HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    Frame,
    check_fields,
    encode,
    read_frame,
)
from autograder.values.value_types import MAX_ANSWER_NUMBERS
from autograder.values.value_types import EncodingError as ProtocolError

MAX_TRACEBACK_LINES = 1_000
MAX_MIME_TYPES = 50  # in one output
CHUNK_BYTES = 1 << 20
READ_AHEAD_BYTES = 1 << 16
MAX_PART_BYTES = MAX_ANSWER_NUMBERS  # a part is an array of bytes

FORGED_MESSAGE = "It wrote into the grader's own pipe."
TOO_LARGE_MESSAGE = "It sent more than answers can be."


def describe_exit(code: int | None) -> str:
    """Return a sentence on how a process ended, from its exit code (negative for a signal).

    >>> describe_exit(-9), describe_exit(3)
    ('Its process was killed by SIGKILL.', 'Its process ended with exit code 3.')
    >>> describe_exit(None)
    'Its process ended.'
    """
    if code is None:
        return "Its process ended."
    if code < 0:
        try:
            return f"Its process was killed by {signal.Signals(-code).name}."
        except ValueError:
            return f"Its process was killed by signal {-code}."
    return f"Its process ended with exit code {code}."


# A message holds only JSON and arrays, so bytes are sent as arrays of the type uint8.


def split_into_message_parts(data: bytes | bytearray) -> list[np.ndarray]:
    """Return bytes as arrays of uint8, each small enough for one message.

    >>> join_parts(split_into_message_parts(b"abc"))
    b'abc'
    """
    view = memoryview(data)
    starts = range(0, len(view), MAX_PART_BYTES)
    return [np.frombuffer(view[start : start + MAX_PART_BYTES], np.uint8) for start in starts]


def join_parts(parts: Sequence[np.ndarray]) -> bytes:
    """Join the arrays that `split_into_message_parts` has made, and return the original bytes."""
    return b"".join(np.ascontiguousarray(part).data for part in parts)


# The functions below check the outputs of cells, which are in the format of nbformat 4.

MIME = re.compile(r"[a-z]+/[a-zA-Z0-9][a-zA-Z0-9.+-]{0,100}")


_DISPLAY_FIELDS: dict[str, Any] = {"output_type": str, "data": dict, "metadata": dict}
_OUTPUT_FIELDS: dict[Any, dict[str, Any]] = {
    "stream": {"output_type": str, "name": str, "text": str},
    "display_data": _DISPLAY_FIELDS,
    "execute_result": {**_DISPLAY_FIELDS, "execution_count": (int, type(None))},
    "error": {"output_type": str, "ename": str, "evalue": str, "traceback": list},
}


def validate_and_strip_output(output: Any) -> dict:
    """Check the form of a cell's output, and return it without metadata and JSON data.

    Raise ProtocolError if it is no valid output of nbformat 4. The text in it is whatever the
    student's code wrote, and must be sanitised before it is shown.
    """
    kind = output.get("output_type") if isinstance(output, dict) else None
    if not isinstance(kind, str) or kind not in _OUTPUT_FIELDS:
        raise ProtocolError("no such output")
    check_fields(output, _OUTPUT_FIELDS[kind])
    if kind == "stream" and output["name"] not in ("stdout", "stderr"):
        raise ProtocolError("no such stream")
    lines = output.get("traceback", ())
    if len(lines) > MAX_TRACEBACK_LINES or not all(isinstance(line, str) for line in lines):
        raise ProtocolError("a traceback is some lines of text")
    if "data" in output:
        output |= {"data": _keep_string_contents(output["data"]), "metadata": {}}
    return output


def is_json(mime: str) -> bool:
    """Return True if data of this MIME type is JSON, such as `application/json`."""
    return mime == "application/json" or mime.endswith("+json")


def _keep_string_contents(data: dict) -> dict:
    """Return the texts in an output's data, which has one entry for each MIME type; leave out JSON.

    JSON is never shown, and deeply nested JSON could crash a program that reads it.
    """
    if len(data) > MAX_MIME_TYPES:
        raise ProtocolError("too many MIME types")
    texts = {}
    for mime, content in data.items():
        if not MIME.fullmatch(mime):
            raise ProtocolError("no such MIME type")
        if isinstance(content, str):
            texts[mime] = content
        elif not is_json(mime):
            raise ProtocolError(f"{mime} is text")
    return texts


# The classes below are the channels over which messages are sent.


class ChannelClosed(ProtocolError):
    """The process at the other end of the channel has closed it or ended."""


class Channel:
    """Connection over which messages (frames) are sent and received: two pipes, or one socket.

    Parameters
    ----------
    reader, writer : int
        File descriptors to read from and to write to; they are made non-blocking.
    on_tick : callable
        Called regularly while the channel waits. It may raise an exception to stop waiting.
    tick_seconds : float
        Seconds between two calls of `on_tick`; this attribute may be changed at any time.
    """

    def __init__(
        self,
        reader: int,
        writer: int,
        on_tick: Callable[[], None] | None = None,
        tick_seconds: float = 0.05,
    ) -> None:
        self._reader, self._writer, self.tick_seconds = reader, writer, tick_seconds
        self._tick = on_tick or (lambda: None)
        self._next_tick = 0.0
        self._pending = bytearray()  # frames that are still to be written
        self._read_ahead = bytearray()  # bytes that were read beyond the end of the last frame
        self._read_buffer = bytearray(READ_AHEAD_BYTES)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(reader, select.POLLIN)
        self._writable.register(writer, select.POLLOUT)
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)

    def send(
        self,
        header: dict,
        arrays: Sequence[np.ndarray] = (),
        *,
        buffer: bool = False,
    ) -> None:
        """Send one message; if `buffer` is True, it may wait and be sent with a later one."""
        frame: bytes | bytearray = encode(header, arrays)
        if buffer or self._pending:
            self._pending += frame
            if buffer and len(self._pending) < CHUNK_BYTES:
                return
            frame, self._pending = self._pending, bytearray()
        remaining = memoryview(frame)
        while remaining:
            try:
                remaining = remaining[os.write(self._writer, remaining[:CHUNK_BYTES]) :]
            except BlockingIOError:
                self._writable.poll(self.tick_seconds * 1000)
            except (BrokenPipeError, ConnectionError):
                raise ChannelClosed("the other end has closed") from None
            self._tick_if_due()

    def receive(
        self,
        max_header: int = MAX_HEADER_BYTES,
        max_payload: int = MAX_PAYLOAD_BYTES,
    ) -> Frame:
        """Wait for the next message, and return it."""
        return read_frame(self._read, max_header, max_payload)

    def _read(self, n: int) -> bytearray:
        # Read directly into the result, without a copy: arrays of arguments and results are large.
        data = bytearray(n)
        byte_count = min(n, len(self._read_ahead))
        data[:byte_count] = self._read_ahead[:byte_count]
        del self._read_ahead[:byte_count]
        while byte_count < n:
            try:
                count = os.readv(self._reader, [memoryview(data)[byte_count:], self._read_buffer])
            except BlockingIOError:
                self._readable.poll(self.tick_seconds * 1000)
                self._tick_if_due()
                continue
            except ConnectionError:
                count = 0
            if not count:
                raise ChannelClosed("the other end has closed")
            excess = max(0, byte_count + count - n)
            self._read_ahead += memoryview(self._read_buffer)[:excess]
            byte_count += count - excess
            self._tick_if_due()
        return data

    def _tick_if_due(self) -> None:
        current_time = monotonic()
        if current_time >= self._next_tick:
            self._next_tick = current_time + self.tick_seconds
            self._tick()
