"""Encode and decode answer keys (expected results), and messages from and to the sandbox.

Each is one frame of bytes: a fixed prefix, a JSON object, and the raw bytes of the arrays that the object lists::

    b"ALW1" | length of the JSON, 4 bytes | length of the arrays, 8 bytes | JSON | arrays

The sender may be hostile, because it runs students' code. So every length is checked before
anything is allocated, nothing is unpickled, and anything unexpected raises `EncodingError`.
"""

import json
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from autograder.values import value_types
from autograder.values.case_records import DTYPES, CallOutcome, Inputs, name_dtype
from autograder.values.value_types import (
    MAX_ANSWER_CHARACTERS,
    MAX_ANSWER_NUMBERS,
    MAX_ANSWER_PARTS,
    MAX_AXES,
    Arrays,
    EncodingError,
    SingleUseArrays,
)

PREFIX = struct.Struct("!4sIQ")
MAGIC = b"ALW1"
MAX_HEADER_BYTES = 64 << 20  # of JSON; the code and outputs of a submission take far less
MAX_PAYLOAD_BYTES = 128 << 20  # of arrays in one frame
MAX_JSON_DEPTH = 32
MAX_JSON_NODES = 2_000_000  # values in one JSON object
MAX_ARRAYS = MAX_ANSWER_PARTS  # in one frame: each part of an answer may be an array
MAX_TEXT_CHARACTERS = 2_000  # in the type or the error of an answer
_MAX_MODIFIED = 100  # names of changed arguments in one answer
_MAX_TEXTS = 110  # texts in one answer, the names of changed arguments included
_INFINITY = float("inf")

_DTYPES = {name: np.dtype(name) for name in DTYPES}


Frame = tuple[dict, list[np.ndarray]]


def encode(header: dict, arrays: Sequence[np.ndarray] = ()) -> bytes:
    """Encode a JSON object and arrays as one message of bytes (a frame).

    Parameters
    ----------
    header : dict
        Plain JSON values, without the key "arrays".
    arrays : sequence of numpy.ndarray
        Arrays with the dtypes in `autograder.values.case_records.DTYPES`.

    Examples
    --------
    >>> decode(encode({"op": "answer"}, [np.zeros((2, 3), "float16")]))[1][0].shape
    (2, 3)
    """
    native = [_to_encodable_array(array) for array in arrays]
    layouts = [[name_dtype(array.dtype), list(array.shape)] for array in native]
    try:
        text = _to_json({**header, "arrays": layouts})
    except (TypeError, ValueError, RecursionError) as error:
        raise EncodingError(f"not plain JSON: {error}") from None
    data = text.encode("utf-8", "replace")  # a lone surrogate becomes "?"
    blobs = [array.data if array.flags.c_contiguous else array.tobytes() for array in native]
    prefix = PREFIX.pack(MAGIC, len(data), sum(array.nbytes for array in native))
    return b"".join([prefix, data, *blobs])


def _to_encodable_array(array: np.ndarray) -> np.ndarray:
    if name_dtype(array.dtype) not in DTYPES:
        raise EncodingError(f"an array of {array.dtype.name} cannot be encoded")
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    return array


def read_frame(
    read: Callable[[int], bytes | bytearray | memoryview],
    max_header: int = MAX_HEADER_BYTES,
    max_payload: int = MAX_PAYLOAD_BYTES,
    max_nodes: int = MAX_JSON_NODES,
) -> Frame:
    """Read one message (frame) and check it; return its JSON object and its arrays.

    Parameters
    ----------
    read : callable
        ``read(n)`` returns exactly `n` bytes or raises.
    max_header, max_payload : int
        The largest lengths accepted, in bytes.
    max_nodes : int
        Largest number of values in the JSON. Each takes up to 600 bytes of memory when decoded.

    Raises
    ------
    EncodingError
        For anything that `encode` would not have written, or that is too large.
    """
    magic, header_size, payload_size = PREFIX.unpack(read(PREFIX.size))
    if magic != MAGIC:
        raise EncodingError("no frame begins here")
    if header_size > max_header or payload_size > max_payload:
        raise EncodingError(f"a frame of {header_size} + {payload_size} bytes is too large")
    header = _decode_json_header(bytes(read(header_size)), max_nodes)
    layouts = [
        _parse_array_header(item) for item in _check_list(header.pop("arrays", None), MAX_ARRAYS)
    ]
    if sum(size for *_, size in layouts) != payload_size:
        raise EncodingError("the arrays have another length than their shapes say")
    return header, [_array_from_bytes(read(size), dtype, shape) for dtype, shape, size in layouts]


def decode(data: bytes, **limits: int) -> Frame:
    """Decode the bytes of one message (frame); raise EncodingError if they are not exactly one.

    `limits` are the arguments `max_header` and `max_payload` of `read_frame`.
    """
    reader = ByteReader(data)
    frame = read_frame(reader.read, **limits)
    if reader.remaining:
        raise EncodingError("bytes after the frame")
    return frame


class ByteReader:
    """Reader of bytes in memory; it raises EncodingError if more are asked for than there are."""

    def __init__(self, data: bytes):
        self._data, self._position = memoryview(data), 0
        self.hit_end = False  # True after a read past the end

    @property
    def remaining(self) -> int:
        """Number of unread bytes."""
        return len(self._data) - self._position

    def read(self, n: int) -> memoryview:
        """Return the next `n` bytes."""
        if n > self.remaining:
            self.hit_end = True
            raise EncodingError("the bytes end in the middle of a frame")
        self._position += n
        return self._data[self._position - n : self._position]


def _decode_json_header(data: bytes, max_nodes: int = MAX_JSON_NODES) -> dict:
    # A list or object parsed from JSON takes twenty times the memory of its text. So count the
    # values before parsing.
    if _exceeds_node_limit(data, max_nodes):
        raise EncodingError("too much JSON")
    try:
        header = _from_json(data.decode("utf-8"))
    except EncodingError:
        raise
    except (ValueError, RecursionError) as error:
        raise EncodingError(f"not JSON: {type(error).__name__}") from None
    if not isinstance(header, dict):
        raise EncodingError("a frame's JSON must be an object")
    _refuse_unsafe_json(header, has_escapes=b"\\u" in data)
    return header


# A string in a JSON text. One that is not closed reaches to the end: if it did not match, a search
# would start again at each quotation mark inside it, and take quadratic time.
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)


def _exceeds_node_limit(data: bytes, max_nodes: int) -> bool:
    """Return True if a JSON text may have more values than `max_nodes`, without parsing it.

    The quick count includes commas inside strings; these are subtracted only if it is too high.
    Takes time in proportion to the text's length, and hardly any memory.
    """
    count = _bound_node_count(data)
    if count <= max_nodes:
        return False
    for string_count, match in enumerate(_JSON_STRING.finditer(data), 1):
        # Each value is a string at most, and has a key at most.
        if string_count > 2 * max_nodes + 2:
            return True
        count -= _bound_node_count(match[0])
        if count <= max_nodes:
            return False
    return True


def _bound_node_count(data: bytes) -> int:
    """Return an upper bound of the number of values in a JSON text, without parsing it.

    It is the count of `[`, `{` and `,`, including those inside strings.
    """
    return sum(map(data.count, (b"[", b"{", b",")))


def _refuse_constant(name: str) -> NoReturn:
    raise EncodingError(f"{name} is not JSON")


def _unique_keys(pairs: list) -> dict:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise EncodingError("a key appears twice")
    return mapping


# Create the JSON encoder and decoder only once: for a small message, creating them takes longer
# than using them.
_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_from_json = json.JSONDecoder(
    parse_constant=_refuse_constant,
    object_pairs_hook=_unique_keys,
).decode


def _refuse_unsafe_json(header: dict, has_escapes: bool) -> None:
    """Raise EncodingError if JSON is nested too deep, is too long or has too large numbers.

    If `has_escapes`, refuse texts with lone surrogates as well: they cannot be written as UTF-8.
    """
    level: list[Any] = [header]
    count = depth = 0
    while level:
        count += len(level)
        if count > MAX_JSON_NODES or depth > MAX_JSON_DEPTH:
            raise EncodingError("too deep or too much JSON")
        children: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:
                if has_escapes and any("\ud800" <= character <= "\udfff" for character in item):
                    raise EncodingError("text that is not Unicode")
            elif kind is list:
                children += item
            elif kind is dict:
                children += item
                children += item.values()
            elif kind is int:
                if not -(2**63) <= item < 2**63:
                    raise EncodingError("an integer too large")
            elif kind is float and not abs(item) < _INFINITY:
                raise EncodingError("a number too large")  # 1e999 is parsed as infinity
        level, depth = children, depth + 1


def _check_list(value: Any, max_items: int) -> list:
    if not isinstance(value, list) or len(value) > max_items:
        raise EncodingError(f"expected a list of at most {max_items} items")
    return value


def _parse_array_header(item: Any) -> tuple[np.dtype, tuple[int, ...], int]:
    """Check the description of an array in a message; return its dtype, shape and size in bytes."""
    if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
        raise EncodingError("an array needs a dtype and a shape")
    name, shape = item
    if name not in _DTYPES:
        raise EncodingError("no such dtype")
    numbers = 1
    for axis in _check_list(shape, MAX_AXES):
        if type(axis) is not int or not 0 <= axis <= MAX_ANSWER_NUMBERS:
            raise EncodingError("no such shape")
        numbers *= max(axis, 1)  # also for a size of 0, NumPy refuses other sizes that are huge
    if numbers > MAX_ANSWER_NUMBERS:
        raise EncodingError("too large an array")
    if 0 in shape:
        numbers = 0
    dtype = _DTYPES[name]
    return dtype, tuple(shape), dtype.itemsize * numbers


def _array_from_bytes(
    data: bytes | bytearray | memoryview,
    dtype: np.dtype,
    shape: tuple[int, ...],
) -> np.ndarray:
    if dtype.kind == "b" and bytes(data).translate(None, b"\x00\x01"):
        raise EncodingError("a boolean is 0 or 1")
    if not isinstance(data, bytearray):
        data = bytearray(data)  # so that the array can be written to
    return np.ndarray(shape, dtype, data)


# The functions below encode and decode the inputs of a test case, and the outcome of a call.


def pack_inputs(inputs: Inputs, arrays: list[np.ndarray]) -> dict:
    """Encode the inputs of a test case as a JSON object, and append their arrays to `arrays`."""
    pack_value = value_types.pack_value
    data = {
        "args": [pack_value(value, arrays) for value in inputs.args],
        "kwargs": {name: pack_value(value, arrays) for name, value in inputs.kwargs.items()},
        "memory": inputs.memory,
    }
    if inputs.result_queries:
        data["asked"] = [pack_value(query, arrays) for query in inputs.result_queries]
    return data


def unpack_inputs(data: Any, arrays: Sequence[np.ndarray]) -> Inputs:
    """Decode the inputs of a test case from what `pack_inputs` returned."""
    types = {"args": list, "kwargs": dict, "memory": (int, type(None)), "asked": list}
    if isinstance(data, dict):
        data = {"asked": [], **data}
    fields = check_fields(data, types)
    return Inputs(
        tuple(value_types.unpack_value(value, arrays) for value in fields["args"]),
        {name: value_types.unpack_value(value, arrays) for name, value in fields["kwargs"].items()},
        fields["memory"],
        tuple(value_types.unpack_value(query, arrays) for query in fields["asked"]),
    )


_OPTIONAL_TEXTS = ("error", "line", "within")
_TEXTS = ("type", *_OPTIONAL_TEXTS)
# Default values for the outcome of a call. A field with its default value is not sent.
OUTCOME_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys((*_OPTIONAL_TEXTS, "printed"), ""),
    "modified": [],
}
_OUTCOME_TYPES: dict[str, Any] = {
    **dict.fromkeys((*_TEXTS, "printed"), str),
    "modified": list,
    "value": (dict, type(None)),
}


def pack_outcome(outcome: CallOutcome, arrays: list[np.ndarray]) -> dict:
    """Encode the outcome of a call as a JSON object, and append its arrays to `arrays`.

    The answer's peak memory is left out, because the process that ran the student's code is not
    trusted to measure it.

    >>> list(pack_outcome(CallOutcome(np.ones(2)), [])), pack_outcome(CallOutcome(), [])["type"]
    (['type', 'value'], 'ndarray')
    """
    data: dict[str, Any] = {"type": str(outcome.type)[:MAX_TEXT_CHARACTERS], "value": None}
    if outcome.value is not None:
        data["value"] = value_types.pack_value(outcome.value, arrays)
    for name in _OPTIONAL_TEXTS:
        text = getattr(outcome, name)
        if text:
            data[name] = str(text)[:MAX_TEXT_CHARACTERS]
    if outcome.printed:
        data["printed"] = outcome.printed[:MAX_ANSWER_CHARACTERS]
    if outcome.modified:
        names = outcome.modified[:_MAX_MODIFIED]
        data["modified"] = [str(name)[:MAX_TEXT_CHARACTERS] for name in names]
    return data


def unpack_outcome(data: Any, arrays: Arrays) -> CallOutcome:
    """Decode a call's outcome that `pack_outcome` encoded; raise EncodingError for other data."""
    if not isinstance(data, dict):
        raise EncodingError("expected an answer")
    if isinstance(arrays, SingleUseArrays):
        arrays.begin_answer()
    type_name, value = data.get("type"), data.get("value")
    has_only_value = len(data) == 2 and type(value) is dict  # true of nearly all answers
    if has_only_value and type(type_name) is str and len(type_name) <= MAX_TEXT_CHARACTERS:
        return CallOutcome(value_types.unpack_value(value, arrays), type_name)
    fields = check_fields({**OUTCOME_DEFAULTS, **data}, _OUTCOME_TYPES)
    texts = [*(fields[name] for name in _TEXTS), *fields["modified"]]
    if len(texts) > _MAX_TEXTS:
        raise EncodingError("an answer has too many texts")
    if not all(isinstance(text, str) and len(text) <= MAX_TEXT_CHARACTERS for text in texts):
        raise EncodingError("an answer's texts are too long, or not texts")
    if len(fields["printed"]) > MAX_ANSWER_CHARACTERS:
        raise EncodingError("an answer prints too much")
    if fields["value"] is not None:
        fields["value"] = value_types.unpack_value(fields["value"], arrays)
    return CallOutcome(**{**fields, "modified": tuple(fields["modified"])})


def check_fields(data: Any, types: dict[str, Any]) -> dict:
    """Return `data` if it is a dict with exactly these keys and types; else raise EncodingError."""
    if not isinstance(data, dict) or data.keys() != types.keys():
        raise EncodingError(f"expected the fields {', '.join(types)}")
    for name, expected_type in types.items():
        is_bool_for_int = expected_type is int and isinstance(data[name], bool)
        if not isinstance(data[name], expected_type) or is_bool_for_int:
            raise EncodingError(f"{name} is of another type")
    return data
