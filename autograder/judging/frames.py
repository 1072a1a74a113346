"""Frames and the values in them: how an answer key is kept, and what the grader and its sandbox say to each other.

A frame is a fixed prefix, a JSON object, and the raw bytes of the arrays that the object lists::

    b"ALW1" | length of the JSON, 4 bytes | length of the arrays, 8 bytes | JSON | arrays

Every length is checked before anything is allocated, nothing is unpickled, and anything odd raises
`FrameError`: whoever writes may be hostile.
"""

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from autograder.judging import kinds
from autograder.judging.kinds import MAX_CHARACTERS, MAX_PARTS, MAX_VALUES, Arrays, FrameError
from autograder.judging.question import DTYPES, Answer, Inputs, dtype_name

PREFIX = struct.Struct("!4sIQ")
MAGIC = b"ALW1"
MAX_HEADER = 64 << 20  # bytes of JSON; a hand-in's sources and outputs are far smaller
MAX_PAYLOAD = 128 << 20  # bytes of arrays in one frame
MAX_NESTED = 32  # levels of JSON
_INFINITY = float("inf")
MAX_NODES = 2_000_000  # values in one JSON object
MAX_ARRAYS = MAX_PARTS  # in one frame: an answer may be a list of nothing else
MAX_AXES = 32
MAX_TEXT = 2_000  # characters in an answer's type or error

_DTYPES = {name: np.dtype(name) for name in DTYPES}


Frame = tuple[dict, list[np.ndarray]]


def encode(header: dict, arrays: Sequence[np.ndarray] = ()) -> bytes:
    """One frame as bytes.

    Parameters
    ----------
    header : dict
        Plain JSON values, without the key "arrays".
    arrays : sequence of numpy.ndarray
        Of the dtypes in `autograder.judging.question.DTYPES`.

    Examples
    --------
    >>> decode(encode({"op": "answer"}, [np.zeros((2, 3), "float16")]))[1][0].shape
    (2, 3)
    """
    plain = [_native(array) for array in arrays]
    listed = [[dtype_name(array.dtype), list(array.shape)] for array in plain]
    try:
        text = _to_json({**header, "arrays": listed})
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"not plain JSON: {error}") from None
    data = text.encode("utf-8", "replace")  # a lone surrogate becomes "?"
    blobs = [array.data if array.flags.c_contiguous else array.tobytes() for array in plain]
    return b"".join([PREFIX.pack(MAGIC, len(data), sum(array.nbytes for array in plain)), data, *blobs])


def _native(array: np.ndarray) -> np.ndarray:
    if dtype_name(array.dtype) not in DTYPES:
        raise FrameError(f"no array of {array.dtype.name} may travel")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def read_frame(
    read: Callable[[int], bytes | bytearray | memoryview],
    max_header: int = MAX_HEADER,
    max_payload: int = MAX_PAYLOAD,
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
    FrameError
        For anything that `encode` would not have written, or that is too large.
    """
    magic, header_size, payload_size = PREFIX.unpack(read(PREFIX.size))
    if magic != MAGIC:
        raise FrameError("no frame begins here")
    if header_size > max_header or payload_size > max_payload:
        raise FrameError(f"a frame of {header_size} + {payload_size} bytes is too large")
    header = _header(bytes(read(header_size)))
    layout = [_layout(item) for item in _list(header.pop("arrays", None), MAX_ARRAYS)]
    if sum(size for *_, size in layout) != payload_size:
        raise FrameError("the arrays have another length than their shapes say")
    return header, [_array(read(size), dtype, shape) for dtype, shape, size in layout]


def decode(data: bytes, **limits: int) -> Frame:
    """The one frame that `data` is, to the last byte."""
    source = Bytes(data)
    frame = read_frame(source.read, **limits)
    if source.left:
        raise FrameError("bytes after the frame")
    return frame


class Bytes:
    """A `read` for bytes at hand; raises FrameError past their end."""

    def __init__(self, data: bytes):
        self._data, self._at = memoryview(data), 0
        self.ended = False  # more was asked for than there was

    @property
    def left(self) -> int:
        """How many bytes have not been read."""
        return len(self._data) - self._at

    def read(self, n: int) -> memoryview:
        """The next `n` bytes."""
        if n > self.left:
            self.ended = True
            raise FrameError("the bytes end in the middle of a frame")
        self._at += n
        return self._data[self._at - n : self._at]


def _header(data: bytes) -> dict:
    try:
        header = _from_json(data.decode("utf-8"))
    except FrameError:
        raise
    except (ValueError, RecursionError) as error:
        raise FrameError(f"not JSON: {type(error).__name__}") from None
    if not isinstance(header, dict):
        raise FrameError("a frame's JSON must be an object")
    _check_plain(header, escaped=b"\\u" in data)
    return header


def _refuse(name: str) -> NoReturn:
    raise FrameError(f"{name} is not JSON")


def _unique(pairs: list) -> dict:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise FrameError("a key appears twice")
    return found


# Made once: a frame is often so small that to make them would take longer than to use them.
_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_from_json = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique).decode


def _check_plain(header: dict, escaped: bool) -> None:
    """Refuse depth, mass, huge integers, and (where any is `escaped`) text that cannot be written as UTF-8."""
    level: list[Any] = [header]
    seen = depth = 0
    while level:
        seen += len(level)
        if seen > MAX_NODES or depth > MAX_NESTED:
            raise FrameError("too deep or too much JSON")
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:
                if escaped and any("\ud800" <= character <= "\udfff" for character in item):
                    raise FrameError("text that is not Unicode")
            elif kind is list:
                below += item
            elif kind is dict:
                below += item
                below += item.values()
            elif kind is int:
                if not -(2**63) <= item < 2**63:
                    raise FrameError("an integer too large")
            elif kind is float and not abs(item) < _INFINITY:
                raise FrameError("a number too large")  # 1e999 reads as infinity
        level, depth = below, depth + 1


def _list(value: Any, longest: int) -> list:
    if not isinstance(value, list) or len(value) > longest:
        raise FrameError("a list was due, and not too long a one")
    return value


def _layout(item: Any) -> tuple[np.dtype, tuple[int, ...], int]:
    if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
        raise FrameError("an array needs a dtype and a shape")
    name, shape = item
    if name not in _DTYPES:
        raise FrameError("no such dtype")
    values = 1
    for axis in _list(shape, MAX_AXES):
        if type(axis) is not int or not 0 <= axis <= MAX_VALUES:
            raise FrameError("no such shape")
        values *= max(axis, 1)  # so that a zero cannot hide a product that NumPy refuses
    if values > MAX_VALUES:
        raise FrameError("too large an array")
    dtype = _DTYPES[name]
    return dtype, tuple(shape), dtype.itemsize * (0 if 0 in shape else values)


def _array(data: bytes | bytearray | memoryview, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if dtype.kind == "b" and bytes(data).translate(None, b"\x00\x01"):
        raise FrameError("a boolean is 0 or 1")
    return np.ndarray(shape, dtype, data if isinstance(data, bytearray) else bytearray(data))


# Values: what a question's inputs and an answer look like in a frame.


def pack_inputs(given: Inputs, arrays: list[np.ndarray]) -> dict:
    """A question's arguments as JSON; their arrays are appended to `arrays`."""
    packed = {
        "args": [kinds.pack_value(value, arrays) for value in given.args],
        "kwargs": {name: kinds.pack_value(value, arrays) for name, value in given.kwargs.items()},
        "memory": given.memory,
    }
    return packed | ({"asked": [kinds.pack_value(one, arrays) for one in given.asked]} if given.asked else {})


def unpack_inputs(packed: Any, arrays: Sequence[np.ndarray]) -> Inputs:
    """The inverse of `pack_inputs`."""
    types = {"args": list, "kwargs": dict, "memory": (int, type(None)), "asked": list}
    fields = check_fields({"asked": [], **packed} if isinstance(packed, dict) else packed, types)
    return Inputs(
        tuple(kinds.unpack_value(value, arrays) for value in fields["args"]),
        {name: kinds.unpack_value(value, arrays) for name, value in fields["kwargs"].items()},
        fields["memory"],
        tuple(kinds.unpack_value(value, arrays) for value in fields["asked"]),
    )


_TEXTS = ("type", "error", "line", "within")
# What the fields of an answer are that most have nothing to say in, and leave out.
LEFT_OUT: dict[str, Any] = {**dict.fromkeys((*_TEXTS[1:], "printed"), ""), "modified": []}
_KINDS: dict[str, Any] = {**dict.fromkeys((*_TEXTS, "printed"), str), "modified": list}
_KINDS["value"] = (dict, type(None))


def pack_answer(answer: Answer, arrays: list[np.ndarray]) -> dict:
    """An answer as JSON; its arrays are appended to `arrays`. How much it held is no matter of its own word.

    >>> list(pack_answer(Answer(np.ones(2)), [])), pack_answer(Answer(), [])["type"]
    (['type', 'value'], 'ndarray')
    """
    packed: dict[str, Any] = {"type": str(answer.type)[:MAX_TEXT]}
    packed["value"] = None if answer.value is None else kinds.pack_value(answer.value, arrays)
    packed |= {name: str(said)[:MAX_TEXT] for name in _TEXTS[1:] if (said := getattr(answer, name))}
    if answer.printed:
        packed["printed"] = answer.printed[:MAX_CHARACTERS]
    if answer.modified:
        packed["modified"] = [str(name)[:MAX_TEXT] for name in answer.modified][:100]
    return packed


def unpack_answer(packed: Any, arrays: Arrays) -> Answer:
    """The inverse of `pack_answer`; what it returns is plain whoever wrote it."""
    if not isinstance(packed, dict):
        raise FrameError("an answer was due")
    kind, value = packed.get("type"), packed.get("value")
    if len(packed) == 2 and type(kind) is str and len(kind) <= MAX_TEXT and type(value) is dict:
        return Answer(kinds.unpack_value(value, arrays), kind)  # as nearly all are
    fields = check_fields({**LEFT_OUT, **packed}, _KINDS)
    texts = [*(fields[name] for name in _TEXTS), *fields["modified"]]
    if len(texts) > 110 or not all(isinstance(text, str) and len(text) <= MAX_TEXT for text in texts):
        raise FrameError("an answer's words are too long, or no words")
    if len(fields["printed"]) > MAX_CHARACTERS:
        raise FrameError("an answer prints too much")
    value = None if fields["value"] is None else kinds.unpack_value(fields["value"], arrays)
    return Answer(**{**fields, "value": value, "modified": tuple(fields["modified"])})


def check_fields(packed: Any, types: dict[str, Any]) -> dict:
    """`packed`, if it is an object with exactly these keys, each of its type; else FrameError."""
    if not isinstance(packed, dict) or packed.keys() != types.keys():
        raise FrameError(f"the fields {', '.join(types)} were due")
    for name, due in types.items():
        if not isinstance(packed[name], due) or (due is int and isinstance(packed[name], bool)):
            raise FrameError(f"{name} is of another type")
    return packed
