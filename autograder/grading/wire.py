"""The frames between the grader and the sandbox: bounded, free of pickle, strict.

A frame is a fixed prefix, a JSON object, and the raw bytes of the arrays that the object lists::

    b"ALW1" | length of the JSON, 4 bytes | length of the arrays, 8 bytes | JSON | arrays

Every length is checked before anything is allocated, and anything odd raises `WireError`: whoever
writes may be hostile. Both sides use this file; inside the sandbox it is a top-level module.
"""

import json
import os
import re
import select
import struct
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import numpy as np

from autograder.answer import DTYPES, MAX_VALUES, Answer
from autograder.exercise import Inputs

PREFIX = struct.Struct("!4sIQ")
MAGIC = b"ALW1"
MAX_HEADER = 64 << 20  # bytes of JSON; a hand-in's sources and outputs are far smaller
MAX_PAYLOAD = 128 << 20  # bytes of arrays in one frame
MAX_DEPTH = 32
MAX_NODES = 2_000_000  # values in one JSON object
MAX_ARRAYS = 4096
MAX_AXES = 32
MAX_LINES = 1_000  # of one traceback
MAX_MIMES = 50  # in one output
MAX_TEXT = 2_000  # characters in an answer's type or error
CHUNK = 1 << 20

_FLOATS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


class WireError(ValueError):
    """What came over the wire is not a frame of ours."""


Frame = tuple[dict, list[np.ndarray]]


def encode(header: dict, arrays: Sequence[np.ndarray] = ()) -> bytes:
    """One frame as bytes.

    Parameters
    ----------
    header : dict
        Plain JSON values, without the key "arrays".
    arrays : sequence of numpy.ndarray
        Of the dtypes in `autograder.answer.DTYPES`.

    Examples
    --------
    >>> decode(encode({"op": "answer"}, [np.zeros((2, 3), "float16")]))[1][0].shape
    (2, 3)
    """
    plain = [_native(array) for array in arrays]
    listed = [[array.dtype.name, list(array.shape)] for array in plain]
    try:
        text = json.dumps({**header, "arrays": listed}, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(f"not plain JSON: {error}") from None
    data = text.encode("utf-8", "replace")  # a lone surrogate becomes "?"
    blobs = [array.tobytes() for array in plain]
    return b"".join([PREFIX.pack(MAGIC, len(data), sum(map(len, blobs))), data, *blobs])


def _native(array: np.ndarray) -> np.ndarray:
    if array.dtype.name not in DTYPES:
        raise WireError(f"no array of {array.dtype.name} may travel")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def read_frame(
    read: Callable[[int], bytes], max_header: int = MAX_HEADER, max_payload: int = MAX_PAYLOAD
) -> Frame:
    """Read one frame.

    Parameters
    ----------
    read : callable
        ``read(n)`` returns exactly `n` bytes or raises.
    max_header, max_payload : int
        The largest lengths accepted, in bytes.

    Raises
    ------
    WireError
        For anything that `encode` would not have written, or that is too large.
    """
    magic, header_size, payload_size = PREFIX.unpack(read(PREFIX.size))
    if magic != MAGIC:
        raise WireError("no frame begins here")
    if header_size > max_header or payload_size > max_payload:
        raise WireError(f"a frame of {header_size} + {payload_size} bytes is too large")
    header = _header(read(header_size))
    layout = [_layout(item) for item in _list(header.pop("arrays", None), MAX_ARRAYS)]
    if sum(size for *_, size in layout) != payload_size:
        raise WireError("the arrays have another length than their shapes say")
    return header, [_array(read(size), dtype, shape) for dtype, shape, size in layout]


def decode(data: bytes, **limits: int) -> Frame:
    """The one frame that `data` is, to the last byte."""
    source = Bytes(data)
    frame = read_frame(source.read, **limits)
    if source.left:
        raise WireError("bytes after the frame")
    return frame


class Bytes:
    """A `read` for bytes at hand; raises WireError past their end."""

    def __init__(self, data: bytes):
        self._data, self._at = memoryview(data), 0

    @property
    def left(self) -> int:
        """How many bytes have not been read."""
        return len(self._data) - self._at

    def read(self, n: int) -> bytes:
        """The next `n` bytes."""
        if n > self.left:
            raise WireError("the bytes end in the middle of a frame")
        self._at += n
        return bytes(self._data[self._at - n : self._at])


def _header(data: bytes) -> dict:
    try:
        header = json.loads(data.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_unique)
    except WireError:
        raise
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {type(error).__name__}") from None
    if not isinstance(header, dict):
        raise WireError("a frame's JSON must be an object")
    _check_plain(header)
    return header


def _refuse(name: str):
    raise WireError(f"{name} is not JSON")


def _unique(pairs: list) -> dict:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise WireError("a key appears twice")
    return found


def _check_plain(value: Any) -> None:
    """Refuse depth, mass, huge integers, and text that cannot be written as UTF-8."""
    todo, seen = [(value, 0)], 0
    while todo:
        item, depth = todo.pop()
        seen += 1
        if seen > MAX_NODES or depth > MAX_DEPTH:
            raise WireError("too deep or too much JSON")
        if isinstance(item, dict):
            todo += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, list):
            todo += [(part, depth + 1) for part in item]
        elif isinstance(item, str):
            try:
                item.encode()
            except UnicodeEncodeError:
                raise WireError("text that is not Unicode") from None
        elif type(item) is int and not -(2**63) <= item < 2**63:
            raise WireError("an integer too large")
        elif type(item) is float and not abs(item) < float("inf"):
            raise WireError("a number too large")  # 1e999 reads as infinity


def _list(value: Any, longest: int) -> list:
    if not isinstance(value, list) or len(value) > longest:
        raise WireError("a list was due, and not too long a one")
    return value


def _layout(item: Any) -> tuple[np.dtype, tuple[int, ...], int]:
    if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
        raise WireError("an array needs a dtype and a shape")
    name, shape = item
    if name not in DTYPES:
        raise WireError("no such dtype")
    values = 1
    for axis in _list(shape, MAX_AXES):
        if type(axis) is not int or not 0 <= axis <= MAX_VALUES:
            raise WireError("no such shape")
        values *= max(axis, 1)  # so that a zero cannot hide a product that NumPy refuses
    if values > MAX_VALUES:
        raise WireError("too large an array")
    dtype = np.dtype(name)
    return dtype, tuple(shape), dtype.itemsize * (0 if 0 in shape else values)


def _array(data: bytes, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if dtype.kind == "b" and data.translate(None, b"\x00\x01"):
        raise WireError("a boolean is 0 or 1")
    return np.frombuffer(bytearray(data), dtype).reshape(shape)


# Values: what a question's inputs and an answer look like in a frame.


def pack_inputs(given: Inputs, arrays: list[np.ndarray]) -> dict:
    """A question's arguments as JSON; its arrays are appended to `arrays`."""
    return {
        "args": [_pack(value, arrays) for value in given.args],
        "kwargs": {name: _pack(value, arrays) for name, value in given.kwargs.items()},
    }


def unpack_inputs(packed: Any, arrays: list[np.ndarray]) -> Inputs:
    """The inverse of `pack_inputs`."""
    fields = check_fields(packed, {"args": list, "kwargs": dict})
    return Inputs(
        tuple(_unpack(value, arrays) for value in fields["args"]),
        {name: _unpack(value, arrays) for name, value in fields["kwargs"].items()},
    )


def _pack(value: Any, arrays: list[np.ndarray]) -> dict:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, type) and issubclass(value, np.generic) and np.dtype(value).name in DTYPES:
        return {"dtype": np.dtype(value).name}
    if isinstance(value, np.generic):
        return {"scalar": _pack(np.asarray(value), arrays)["array"]}
    if type(value) is float and not abs(value) < float("inf"):
        return {"float": str(value)}
    if value is None or type(value) in (bool, int, float, str):
        return {"value": value}
    if type(value) in (tuple, list):
        return {type(value).__name__: [_pack(part, arrays) for part in value]}
    raise WireError(f"a {type(value).__name__} cannot be an argument")


def _unpack(packed: Any, arrays: list[np.ndarray]) -> Any:
    if not isinstance(packed, dict) or len(packed) != 1:
        raise WireError("an argument needs one kind")
    ((kind, value),) = packed.items()
    if kind == "array":
        return _item(arrays, value)
    if kind == "scalar":
        array = _item(arrays, value)
        if array.ndim:
            raise WireError("a scalar has no axes")
        return array[()]
    if kind == "dtype" and isinstance(value, str) and value in DTYPES:
        return np.dtype(value).type
    if kind == "float" and isinstance(value, str) and value in _FLOATS:
        return _FLOATS[value]
    if kind == "value" and (value is None or type(value) in (bool, int, float, str)):
        return value
    if kind in ("tuple", "list") and isinstance(value, list):
        parts = [_unpack(part, arrays) for part in value]
        return tuple(parts) if kind == "tuple" else parts
    raise WireError("no such kind of argument")


def pack_answer(answer: Answer, arrays: list[np.ndarray]) -> dict:
    """An answer as JSON; its array is appended to `arrays`."""
    packed = {
        "type": str(answer.type)[:MAX_TEXT],
        "error": str(answer.error)[:MAX_TEXT],
        "modified": [str(name)[:MAX_TEXT] for name in answer.modified],
        "array": None,
    }
    if answer.value is not None:
        arrays.append(answer.value)
        packed["array"] = len(arrays) - 1
    return packed


def unpack_answer(packed: Any, arrays: list[np.ndarray]) -> Answer:
    """The inverse of `pack_answer`; what it returns is plain whoever wrote it."""
    fields = check_fields(packed, {"type": str, "error": str, "modified": list, "array": (int, type(None))})
    texts = [fields["type"], fields["error"], *fields["modified"]]
    if len(texts) > 100 or not all(isinstance(text, str) and len(text) <= MAX_TEXT for text in texts):
        raise WireError("an answer's words are too long, or no words")
    value = None if fields["array"] is None else _item(arrays, fields["array"])
    return Answer(value, fields["type"], fields["error"], tuple(fields["modified"]))


def check_fields(packed: Any, kinds: dict[str, Any]) -> dict:
    """`packed`, if it is an object with exactly these keys, each of its kind; else WireError."""
    if not isinstance(packed, dict) or set(packed) != set(kinds):
        raise WireError(f"the fields {', '.join(kinds)} were due")
    for name, kind in kinds.items():
        if not isinstance(packed[name], kind) or (kind is int and isinstance(packed[name], bool)):
            raise WireError(f"{name} is of another type")
    return packed


def _item(items: list, index: Any) -> Any:
    if type(index) is not int or not 0 <= index < len(items):
        raise WireError("no such item")
    return items[index]


# Outputs: what a cell shows, as nbformat 4 has it.

MIME = re.compile(r"[a-z]+/[a-zA-Z0-9][a-zA-Z0-9.+-]{0,100}")


def check_output(output: Any) -> dict:
    """An nbformat output rebuilt from its known fields; raises WireError for anything else.

    The text in it is as the student's code wrote it: sanitise before showing it to people.
    """
    kind = output.get("output_type") if isinstance(output, dict) else None
    if kind == "stream":
        check_fields(output, {"output_type": str, "name": str, "text": str})
        if output["name"] not in ("stdout", "stderr"):
            raise WireError("no such stream")
    elif kind == "display_data":
        check_fields(output, {"output_type": str, "data": dict, "metadata": dict})
        output |= {"data": _texts(output["data"]), "metadata": {}}
    elif kind == "execute_result":
        count = (int, type(None))
        check_fields(output, {"output_type": str, "data": dict, "metadata": dict, "execution_count": count})
        output |= {"data": _texts(output["data"]), "metadata": {}}
    elif kind == "error":
        check_fields(output, {"output_type": str, "ename": str, "evalue": str, "traceback": list})
        if len(output["traceback"]) > MAX_LINES or not all(isinstance(t, str) for t in output["traceback"]):
            raise WireError("a traceback is some lines of text")
    else:
        raise WireError("no such output")
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
    """

    def __init__(self, reader: int, writer: int, tick: Callable[[], None] | None = None, every: float = 0.05):
        self._reader, self._writer, self._every = reader, writer, every
        self._tick = tick or (lambda: None)
        self._due = 0.0
        self._buffer = bytearray()
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(reader, select.POLLIN)
        self._writable.register(writer, select.POLLOUT)
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)

    def send(self, header: dict, arrays: Sequence[np.ndarray] = ()) -> None:
        """Write one frame."""
        left = memoryview(encode(header, arrays))
        while left:
            try:
                left = left[os.write(self._writer, left[:CHUNK]) :]
            except BlockingIOError:
                self._writable.poll(self._every * 1000)
            except (BrokenPipeError, ConnectionError):
                raise Closed("the other end has closed") from None
            self._tick_if_due()

    def receive(self, max_header: int = MAX_HEADER, max_payload: int = MAX_PAYLOAD) -> Frame:
        """Read one frame."""
        return read_frame(self._read, max_header, max_payload)

    def _read(self, n: int) -> bytes:
        while len(self._buffer) < n:
            try:
                more = os.read(self._reader, CHUNK)
            except BlockingIOError:
                self._readable.poll(self._every * 1000)
                self._tick_if_due()
                continue
            except ConnectionError:
                more = b""
            if not more:
                raise Closed("the other end has closed")
            self._buffer += more
            self._tick_if_due()
        taken = bytes(self._buffer[:n])
        del self._buffer[:n]
        return taken

    def _tick_if_due(self) -> None:
        now = monotonic()
        if now >= self._due:
            self._due = now + self._every
            self._tick()
