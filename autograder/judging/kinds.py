"""The kinds of values: whatever is asked of one stands in its class, and a new kind is one class more, in `KINDS`.

A value goes into a call or comes out of it (`autograder.judging.question`). What a call gave is taken as a value once;
then it travels, is copied, compared and described, by its kind alone.
"""

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from autograder.errors import Complaint, counted, cut
from autograder.imports import allowed
from autograder.judging.agreement import close, close_numbers, everywhere, number, same_values
from autograder.judging.asking import Recorder, as_code
from autograder.judging.figures import Drawing, NoDrawing
from autograder.judging.mistakes import STRUCTURAL, Difference, are_due, placed
from autograder.judging.question import (
    DTYPES,
    LAYOUTS,
    Inputs,
    Made,
    Raised,
    Rules,
    Value,
    arranged,
    dtype_name,
    layout_of,
)
from autograder.judging.tables import NoTable, Table, is_pandas, of_pandas

MAX_VALUES = 1_000_000  # numbers in one answer; no case asks for more than a few thousand
MAX_GIVEN = 20_000_000  # cells of a table among the arguments
MAX_PARTS = 20_000  # values in one answer, an array counting as one: some 40 bytes of a frame's JSON each
MAX_REPEATED = 100_000_000  # times that one row stands in an argument
MAX_DEPTH = 8
MAX_CHARACTERS = 20_000  # of text in one answer, and of what it prints
MAX_INTEGER = 2**63  # beyond it a whole number travels as text
MAX_BITS = 1000  # of a whole number, so that each is near some float

_DATES = "datetime64[us]"  # of whatever unit they come
_ITEM = {"str": re.compile(r"(?s).*"), _DATES: re.compile(r"NaT|-?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")}
_UNIT = re.compile(r"datetime64\[(Y|M|W|D|h|m|s|ms|us|ns)\]")
_DATE_WORDS: dict[type, str] = {
    dt.date: "a date",
    dt.datetime: "a date with a time (datetime)",
    dt.timedelta: "a duration (timedelta)",
}
_FLOATS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


_WORDS = {
    bool: "True or False",
    int: "a whole number (int)",
    float: "a number (float)",
    complex: "a complex number",
    str: "a text (str)",
}


class FrameError(ValueError):
    """These bytes are not a frame of ours."""


class NotPlain(Exception):
    """What a result is, where it is no value."""


class Once:
    """The arrays of a frame of answers: each may be taken once, so that nothing small unpacks to something large."""

    def __init__(self, arrays: Sequence[np.ndarray]):
        self._arrays: list[np.ndarray | None] = list(arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, index: int) -> np.ndarray:
        array, self._arrays[index] = self._arrays[index], None
        if array is None:
            raise FrameError("an array is used twice")
        return array


Arrays = Sequence[np.ndarray] | Once
Call = TypeVar("Call", Inputs, Made)


@dataclass(frozen=True)
class Speaking:
    """How a sentence names a result: the whole of it, a part in some place, or what was asked of it."""

    place: str = ""
    returned: str = "Your function returned"
    result: str = "Your result"
    names: bool = False  # whether `returned` says the place, too

    def says(self, sentence: str) -> str:
        """The sentence, with the place before it."""
        told = self.names and sentence.startswith(self.returned)
        return placed("" if told else self.place, sentence)

    def of_shape(self, shape: tuple[int, ...], due: tuple[int, ...]) -> str:
        """That it has one shape where another is due."""
        return self.says(f"{self.result} has shape {shape}; {due} is due.")

    def inside(self, place: str) -> "Speaking":
        """Of a part at this place."""
        return Speaking(self.says(place), "there is", "the result")


@cache
def resolve(name: str) -> Callable[..., Any]:
    """The function that "module:function" names; a course's library holds its comparers."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def name_of(function: Any) -> str:
    """ "module:function", by which every process finds it; FrameError for one that students do not have.

    >>> name_of(np.sin), name_of(len)
    ('numpy:sin', 'builtins:len')
    """
    home = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", "") or getattr(function, "__name__", "")
    known = allowed()
    try:
        if (known is None or home.partition(".")[0] in known) and resolve(f"{home}:{name}") is function:
            return f"{home}:{name}"
    except (ImportError, AttributeError, ValueError):
        pass
    raise FrameError(
        f"{name or article(type(function).__name__)} is not found by its name in the course's library, nor in what "
        "else students have: define it at the top of a module of the library"
    )


def viewed(value: np.ndarray, rules: Rules) -> np.ndarray:
    """What is compared in place of an array; the array itself where the rules say nothing."""
    return resolve(rules.view)(value) if rules.view else value


def article(noun: str) -> str:
    """A noun with the article that it needs.

    >>> article("int"), article("float64"), article("ndarray of object"), article("uint8")
    ('an int', 'a float64', 'an ndarray of object', 'a uint8')
    """
    spoken = noun.lower()
    vowel = spoken[:1] in "aeio" or (spoken.startswith(("nd", "un")) and not spoken.startswith("uni"))
    return f"{'an' if vowel else 'a'} {noun}"


def ordinal(n: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
    return words[n - 1] if n <= len(words) else f"{n}th"


def along_axis(axis: int) -> str:
    """An axis counted from the end, in words: "the last axis but one"."""
    but = ("", " but one", " but two", " but three")
    return f"the last axis{but[-1 - axis]}" if axis >= -4 else f"axis {axis}"


class Kind:
    """One kind of value. What most kinds have in common stands here.

    `names` are those by which it travels in a frame's JSON.
    """

    names: tuple[str, ...] = ()

    def takes(self, result: Any) -> bool:
        """Whether what a call gave is of this kind."""
        return self.holds(result)

    def take(self, result: Any, left: list[int], depth: int) -> Value:
        """It as a value; `left` counts down the parts, numbers and characters that it may still have."""
        return result

    def holds(self, value: Value) -> bool:
        """Whether a value is of this kind."""
        raise NotImplementedError

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        """A value as JSON under one of the names; its arrays are appended to `arrays`."""
        raise NotImplementedError

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Value:
        """The inverse of `pack`; raises FrameError for anything else."""
        raise NotImplementedError

    def mapped(self, value: Value, change: Callable[[Value], Value]) -> Value:
        """The same with each part of it changed; itself, where it has none."""
        return value

    def copied(self, value: Value) -> Value:
        """What a call gets of it, and may change."""
        return self.mapped(value, copied)

    def zeros(self, value: Value) -> Value:
        """What is of its form, and took no thought."""
        return self.mapped(value, zeros)

    def comes_back(self, value: Value, after: Any) -> bool:
        """Whether what a call got of it is of its type still."""
        return type(after) is type(value)

    def unchanged(self, before: Value, after: Any) -> bool:
        """Whether a call left it as it was, of the same type."""
        return bool(before == after) or before != before  # NaN

    def same(self, one: Value, other: Value, rules: Rules) -> bool:
        """Whether two answers, the first of this kind, are the same."""
        raise NotImplementedError

    def difference(self, due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        """The first thing in which a value is not as this one that is due."""
        raise NotImplementedError

    def words(self, value: Value) -> str:
        """What kind of thing it is: "a NumPy array of shape (2, 3)"."""
        return article(type(value).__name__)

    def short(self, value: Value) -> str:
        """It among the arguments of a case, in a few characters."""
        return cut(repr(value), 60)


class Array(Kind):
    """An array of one of `DTYPES`; a tensor comes as one."""

    names = ("array", *LAYOUTS)

    def holds(self, value: Value) -> bool:
        return isinstance(value, np.ndarray)

    def takes(self, result: Any) -> bool:
        return type(result) is np.ndarray or is_tensor(result)  # a matrix calculates by rules of its own

    def take(self, result: Any, left: list[int], depth: int) -> Value:
        array = result if type(result) is np.ndarray else _from_tensor(result)
        if array.dtype == np.longdouble:
            array = array.astype(np.float64)
        if dtype_name(array.dtype) not in DTYPES:
            return TextArray().take(array, left, depth)
        left[1] -= array.size
        if left[1] < 0:
            raise NotPlain(f"ndarray of {array.size:,} values")
        return np.array(array, order="C", subok=False)

    def pack(self, value: np.ndarray, arrays: list[np.ndarray]) -> dict:
        layout = layout_of(value)
        arrays.append(value[:1] if layout == "repeated" else value)
        if layout == "repeated":
            return {layout: [len(arrays) - 1, len(value)]}
        return {"array" if layout == "C" else layout: len(arrays) - 1}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> np.ndarray:
        if name == "array":
            return _item(arrays, packed)
        if isinstance(arrays, Once):  # an answer's arrays lie as they came
            raise FrameError("no such kind of value")
        if name == "repeated":
            if not isinstance(packed, list) or len(packed) != 2 or type(packed[1]) is not int:
                raise FrameError("an array and how often it is repeated were due")
            row, times = _item(arrays, packed[0]), packed[1]
            if len(row.shape) == 0 or len(row) != 1 or not 1 < times <= MAX_REPEATED:
                raise FrameError("no such repetition")
            return np.broadcast_to(row, (times, *row.shape[1:]))
        return arranged(_item(arrays, packed), name)

    def copied(self, value: np.ndarray) -> np.ndarray:
        return arranged(value, layout_of(value))

    def zeros(self, value: np.ndarray) -> np.ndarray:
        return np.zeros_like(value)

    def unchanged(self, before: np.ndarray, after: Any) -> bool:
        same = before.dtype == after.dtype and before.shape == after.shape
        if layout_of(before) == layout_of(after) == "repeated":
            before, after = before[:1], after[:1]
        return same and before.tobytes() == after.tobytes()

    def same(self, one: np.ndarray, other: Value, rules: Rules) -> bool:
        if not isinstance(other, np.ndarray) or one.shape != other.shape:
            return False
        if rules.returns != "tensor" and (one.dtype == bool) != (other.dtype == bool):
            return False
        return same_values(viewed(one, rules), viewed(other, rules), rules.tolerance)

    def difference(
        self, due: np.ndarray, value: Value, rules: Rules, speaking: Speaking
    ) -> Difference | None:
        if not isinstance(value, np.ndarray) or (value.ndim == 0 and due.ndim):
            return of_another_type(due, value, rules, speaking)
        if value.shape != due.shape:
            seen = speaking.of_shape(value.shape, due.shape)
            return Difference("shape", seen, _reshaped(due, value, rules))
        if dtype := _dtype_difference(due, value, rules):
            seen = f"{speaking.result} holds {value.dtype.name}; {due.dtype.name} is due."
            return Difference("dtype", speaking.says(seen), dtype)
        wanted, got = viewed(due, rules), viewed(value, rules)
        agree = close(wanted, got, rules.tolerance)
        if everywhere(agree):
            return None
        about = getattr(resolve(rules.view), "says", "") if rules.view else ""
        unfinite = ~np.isfinite(got.astype(np.float64)) & np.isfinite(wanted.astype(np.float64))
        if unfinite.any():
            where = tuple(int(i) for i in np.argwhere(unfinite)[0])
            seen = (
                f"{about}{int(unfinite.sum())} of your numbers should be finite and are not: "
                f"the first is {number(got[where])} at {_place(where)}."
            )
            return Difference("not finite", speaking.says(seen))
        square = value.ndim > 1 and value.shape[-1] == value.shape[-2] > 1
        turned = square and same_values(wanted, viewed(_turned(value), rules), rules.tolerance)
        mistake, near = (None, False) if rules.view or turned else _near(due, value)
        means = f"{STRUCTURAL['imprecise'][0][:-1]}: {_digits(due, value)}." if mistake == "imprecise" else ""
        mistake = "transposed" if turned else mistake
        seen = speaking.says(about + _worst(wanted, got, agree))
        return Difference("values", seen, mistake, means=means, near=near)

    def words(self, value: np.ndarray) -> str:
        return f"a NumPy array of shape {value.shape}"

    def short(self, value: np.ndarray) -> str:
        plain = "" if value.dtype in (np.float64, np.bool_) else f" {value.dtype.name}"
        return f"{value.shape}{plain}"


@dataclass(frozen=True)
class Texts:
    """An array of texts, or of dates: its shape, and what it holds, row by row; of dates the unit does not count."""

    dtype: str = field(compare=False)
    shape: tuple[int, ...]
    items: tuple[str, ...]

    @property
    def noun(self) -> str:
        return "texts" if self.dtype == "str" else "dates"


class TextArray(Kind):
    """An array of texts or dates, as `Texts`; a call gets NumPy's own."""

    names = ("texts",)

    def holds(self, value: Value) -> bool:
        return isinstance(value, Texts)

    def takes(self, result: Any) -> bool:
        return isinstance(result, Texts)  # an array is asked first

    def take(self, result: Any, left: list[int], depth: int) -> Texts:
        if isinstance(result, Texts):
            return result
        left[0] -= result.size
        if result.dtype.kind not in "OUM" or left[0] < 0:
            raise NotPlain(f"ndarray of {result.dtype.name}")
        dtype, items = "str", result.ravel().tolist()
        if result.dtype.kind == "M":
            dtype, items = result.dtype.name, np.datetime_as_string(result.astype(_DATES).ravel()).tolist()
        if (not items and result.dtype.kind == "O") or not all(type(item) is str for item in items):
            raise NotPlain(f"ndarray of {result.dtype.name}")
        left[2] -= sum(map(len, items)) if dtype == "str" else 0
        if left[2] < 0:
            raise NotPlain("ndarray of too many characters")
        return Texts(dtype, result.shape, tuple(items))

    def pack(self, value: Texts, arrays: list[np.ndarray]) -> dict:
        return {"texts": [value.dtype, list(value.shape), list(value.items)]}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Texts:
        if (
            not isinstance(packed, list)
            or len(packed) != 3
            or not all(isinstance(p, list) for p in packed[1:])
        ):
            raise FrameError("an array of texts was due")
        dtype, shape, items = packed
        form = _ITEM["str" if dtype == "str" else _DATES]
        whole = (
            all(type(axis) is int and 0 <= axis <= MAX_PARTS for axis in shape) and len(shape) <= MAX_DEPTH
        )
        known = dtype == "str" or (isinstance(dtype, str) and _UNIT.fullmatch(dtype))
        if not known or not whole or math.prod(shape) != len(items):
            raise FrameError("no such array of texts")
        if not all(isinstance(item, str) and form.fullmatch(item) for item in items):
            raise FrameError("no texts, or no dates")
        return Texts(dtype, tuple(shape), tuple(items))

    def copied(self, value: Texts) -> np.ndarray:
        plain = np.array(value.items, dtype="str" if value.dtype == "str" else _DATES)
        return plain.astype(value.dtype).reshape(value.shape)

    def zeros(self, value: Texts) -> Texts:
        return replace(value, items=("" if value.dtype == "str" else "NaT",) * len(value.items))

    def comes_back(self, value: Texts, after: Any) -> bool:
        return isinstance(after, np.ndarray)

    def unchanged(self, before: Texts, after: Any) -> bool:
        try:
            return take(after, [MAX_PARTS, MAX_GIVEN, MAX_GIVEN]) == before
        except NotPlain:
            return False

    def same(self, one: Texts, other: Value, rules: Rules) -> bool:
        return bool(one == other and one.noun == other.noun)

    def difference(self, due: Texts, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        if not isinstance(value, Texts) or value.noun != due.noun:
            return of_another_type(due, value, rules, speaking)
        if value.shape != due.shape:
            return Difference("shape", speaking.of_shape(value.shape, due.shape))
        wrong = [i for i, (one, other) in enumerate(zip(due.items, value.items, strict=True)) if one != other]
        if not wrong:
            return None
        where = tuple(int(i) for i in np.unravel_index(wrong[0], due.shape)) if due.shape else ()
        yours, wanted = (self._shown(one, wrong[0]) for one in (value, due))
        seen = f"{len(wrong)} of {len(due.items)} {due.noun} differ, the first at {_place(where)}: "
        return Difference("values", speaking.says(f"{seen}yours {yours}, expected {wanted}."))

    def _shown(self, value: Texts, at: int) -> str:
        item = value.items[at]
        return (
            cut(repr(item), 60)
            if value.dtype == "str"
            else item.removesuffix(".000000").removesuffix("T00:00:00")
        )

    def words(self, value: Texts) -> str:
        return f"a NumPy array of {value.noun} of shape {value.shape}"

    def short(self, value: Texts) -> str:
        return f"{value.shape} {value.noun}"


class Moment(Kind):
    """A date, a date with a time, or a duration: Python's, which those of NumPy and of pandas become."""

    names = ("date", "datetime", "timedelta")

    def holds(self, value: Value) -> bool:
        return type(value) in _DATE_WORDS

    def takes(self, result: Any) -> bool:
        return isinstance(result, (dt.date, dt.timedelta, np.datetime64, np.timedelta64))

    def take(self, result: Any, left: list[int], depth: int) -> Value:
        try:
            if isinstance(result, (np.datetime64, np.timedelta64)):
                name = result.dtype.name.partition("[")[0]
                result = (
                    part
                    if not isinstance(part := result.item(), int)
                    else result.astype(f"{name}[us]").item()
                )
            if isinstance(result, dt.timedelta):
                return dt.timedelta(int(result.days), int(result.seconds), int(result.microseconds))
            if isinstance(result, dt.datetime):
                return dt.datetime.fromisoformat(dt.datetime.isoformat(result))
            return dt.date(int(result.year), int(result.month), int(result.day))
        except (AttributeError, TypeError, ValueError, OverflowError):  # NaT, and what lies before the year 1
            raise NotPlain("date that is none") from None

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        duration = isinstance(value, dt.timedelta)
        return {
            type(value).__name__: str(value // dt.timedelta(microseconds=1))
            if duration
            else value.isoformat()
        }

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Value:
        if not isinstance(packed, str) or len(packed) > 40:
            raise FrameError("a date was due")
        try:
            if name == "timedelta":
                return dt.timedelta(microseconds=int(packed))
            return (dt.date if name == "date" else dt.datetime).fromisoformat(packed)
        except (ValueError, OverflowError):
            raise FrameError("no such date") from None

    def zeros(self, value: Value) -> Value:
        return dt.timedelta() if isinstance(value, dt.timedelta) else type(value)(1970, 1, 1)

    def comes_back(self, value: Value, after: Any) -> bool:
        return True  # no call changes one

    def same(self, one: Value, other: Value, rules: Rules) -> bool:
        return type(one) is type(other) and one == other

    def difference(self, due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        if type(due) is not type(value):
            return of_another_type(due, value, rules, speaking)
        seen = f"{speaking.returned} {value}; {due} is due."
        return None if due == value else Difference("values", speaking.says(seen))

    def words(self, value: Value) -> str:
        return _DATE_WORDS[type(value)]

    def short(self, value: Value) -> str:
        return str(value)


class Several(Kind):
    """A tuple or a list of values."""

    names = ("tuple", "list")

    def holds(self, value: Value) -> bool:
        return isinstance(value, (tuple, list))

    def take(self, result: Any, left: list[int], depth: int) -> Value:
        parts = [take(part, left, depth + 1) for part in result]
        return parts if isinstance(result, list) else tuple(parts)

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        if type(value) not in (tuple, list):
            raise FrameError(f"a {type(value).__name__} is no value")
        return {type(value).__name__: [pack_value(part, arrays) for part in value]}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Value:
        if not isinstance(packed, list):
            raise FrameError("no such kind of value")
        parts = [unpack_value(part, arrays, depth + 1) for part in packed]
        return tuple(parts) if name == "tuple" else parts

    def mapped(self, value: Value, change: Callable[[Value], Value]) -> Value:
        return type(value)(map(change, value))

    def unchanged(self, before: Value, after: Any) -> bool:
        return len(before) == len(after) and all(map(unchanged, before, after))

    def same(self, one: Value, other: Value, rules: Rules) -> bool:
        if not isinstance(other, (tuple, list)):
            return False
        # Several values may come in either; nested numbers are a mistake of their own in each.
        if type(one) is not type(other) and not any(isinstance(part, np.ndarray) for part in one):
            return False
        return len(one) == len(other) and all(same(a, b, rules) for a, b in zip(one, other, strict=True))

    def difference(self, due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        if not isinstance(value, (tuple, list)):
            return of_another_type(due, value, rules, speaking)
        if len(value) != len(due):
            returned = "there are" if speaking.place and len(value) != 1 else speaking.returned
            seen = f"{returned} {counted(len(value), 'value')}; {are_due(len(due))}."
            mistake = None if speaking.place else "another-number-of-values"
            return Difference("shape", speaking.says(seen), mistake)
        many = counted(len(due), "value")
        whole = f"its {many}" if speaking.place else f"the {many} that you return"
        for i, (one, other) in enumerate(zip(due, value, strict=True)):
            place = f"In the {ordinal(i + 1)} of {whole}: "
            if found := difference(one, other, rules, speaking.inside(place)):
                return replace(found, path=(i, *found.path))
        return None

    def words(self, value: Value) -> str:
        return f"{article(type(value).__name__)} of {counted(len(value), 'value')}"

    def short(self, value: Value) -> str:
        marks = "()" if isinstance(value, tuple) else "[]"
        return f"{marks[0]}{', '.join(map(short, value))}{marks[1]}"


class Entries(Kind):
    """A mapping of texts, numbers, or tuples of them to values; it is a dict when it comes."""

    names = ("mapping", "entries")

    def holds(self, value: Value) -> bool:
        return isinstance(value, Mapping)

    def takes(self, result: Any) -> bool:
        return isinstance(result, dict)

    def take(self, result: Any, left: list[int], depth: int) -> dict:
        try:
            return {take(key, left, depth + 1): take(part, left, depth + 1) for key, part in result.items()}
        except TypeError:  # what is hashed by its identity, say, is a list as a value
            raise NotPlain("dict whose keys are no plain values") from None

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        if all(type(key) is str for key in value):
            return {"mapping": {key: pack_value(part, arrays) for key, part in value.items()}}
        return {"entries": [[pack_value(key, arrays), pack_value(value[key], arrays)] for key in value]}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> dict:
        if name == "mapping" and isinstance(packed, dict):
            return {key: unpack_value(part, arrays, depth + 1) for key, part in packed.items()}
        if name == "mapping" or not isinstance(packed, list):
            raise FrameError("no such kind of value")
        found = {}
        for pair in packed:
            if not isinstance(pair, list) or len(pair) != 2:
                raise FrameError("a key and a value were due")
            key, part = (unpack_value(item, arrays, depth + 1) for item in pair)
            try:
                found[key] = part
            except TypeError:
                raise FrameError("a list, say, is no key") from None
        return found

    def mapped(self, value: Value, change: Callable[[Value], Value]) -> dict:
        return {key: change(part) for key, part in value.items()}

    def comes_back(self, value: Value, after: Any) -> bool:
        return type(after) is dict

    def unchanged(self, before: Value, after: Any) -> bool:
        return before.keys() == after.keys() and all(unchanged(before[k], after[k]) for k in before)

    def same(self, one: Value, other: Value, rules: Rules) -> bool:
        if not isinstance(other, Mapping) or one.keys() != other.keys():
            return False
        return all(same(one[k], other[k], rules) for k in one)

    def difference(self, due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        if not isinstance(value, Mapping):
            return of_another_type(due, value, rules, speaking)
        for lack, holders, others in (("has no entry", due, value), ("has an entry", value, due)):
            strange = [key for key in holders if key not in others]
            if strange:
                known = ", ".join(map(repr, due))
                seen = f"{speaking.result} {lack} {strange[0]!r}; its entries are to be {known}."
                return Difference("shape", speaking.says(seen))
        for key in due:
            if found := difference(due[key], value[key], rules, speaking.inside(f"Under {key!r}: ")):
                return replace(found, path=(key, *found.path))
        return None

    def words(self, value: Value) -> str:
        return f"a dict with the entries {', '.join(map(repr, value))}"

    def short(self, value: Value) -> str:
        if len(value) > 4:  # a model's parameters, say
            return f"a mapping with {len(value)} entries"
        return "{" + ", ".join(f"{k!r}: {short(part)}" for k, part in value.items()) + "}"


class Unordered(Kind):
    """A set of values; equal numbers are equal to the last digit."""

    names = ("set",)

    def holds(self, value: Value) -> bool:
        return isinstance(value, (set, frozenset))

    def take(self, result: Any, left: list[int], depth: int) -> set:
        return {take(part, left, depth + 1) for part in result}

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        return {"set": [pack_value(part, arrays) for part in sorted(value, key=repr)]}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> set:
        if not isinstance(packed, list):
            raise FrameError("no such kind of value")
        try:
            return {unpack_value(part, arrays, depth + 1) for part in packed}
        except TypeError:
            raise FrameError("a list, say, is in no set") from None

    def copied(self, value: Value) -> Value:
        return type(value)(value)

    def zeros(self, value: Value) -> Value:
        return type(value)()

    def same(self, one: Value, other: Value, rules: Rules) -> bool:
        return isinstance(other, (set, frozenset)) and one == other

    def difference(self, due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        if not isinstance(value, (set, frozenset)):
            return of_another_type(due, value, rules, speaking)
        for lack, strange in (("lacks", due - value), ("should not hold", value - due)):
            if strange:
                seen = f"{speaking.result} {lack} {cut(repr(min(strange, key=repr)), 60)}."
                return Difference("values", speaking.says(seen))
        return None

    def words(self, value: Value) -> str:
        return f"a set of {counted(len(value), 'value')}"


class Tabular(Kind):
    """A DataFrame or a Series, as a `Table`; a call gets pandas' own."""

    names = ("table",)

    def holds(self, value: Value) -> bool:
        return isinstance(value, Table)

    def takes(self, result: Any) -> bool:
        return isinstance(result, Table) or is_pandas(result)

    def take(self, result: Any, left: list[int], depth: int) -> Table:
        if left[1] < result.size:
            raise NotPlain(f"{type(result).__name__} of {result.size:,} cells")
        try:
            table = result if isinstance(result, Table) else of_pandas(result)
        except NoTable as what:
            raise NotPlain(str(what)) from None
        left[0] -= len(table.data)
        left[1] -= table.size
        if min(left) < 0:
            raise NotPlain(f"{table.kind} of too many cells, or too much text")
        return table

    def pack(self, value: Table, arrays: list[np.ndarray]) -> dict:
        return {"table": pack_value(value.plain(), arrays)}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Table:
        try:
            return Table.of_plain(unpack_value(packed, arrays, depth + 1))
        except NoTable as what:
            raise FrameError(str(what)) from None

    def copied(self, value: Table) -> Any:
        return value.to_pandas()

    def zeros(self, value: Table) -> Table:
        return value.zeros()

    def comes_back(self, value: Table, after: Any) -> bool:
        return is_pandas(after) and type(after).__name__ == value.kind

    def unchanged(self, before: Table, after: Any) -> bool:
        try:
            return unchanged(
                before.plain(), (after if isinstance(after, Table) else of_pandas(after)).plain()
            )
        except NoTable:
            return False

    def same(self, one: Table, other: Value, rules: Rules) -> bool:
        return self.difference(one, other, rules, Speaking()) is None

    def difference(self, due: Table, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        if not isinstance(value, Table) or value.kind != due.kind:
            return of_another_type(due, value, rules, speaking)
        found = due.difference(value, rules, speaking.result)
        return found and replace(found, seen=speaking.says(found.seen))

    def words(self, value: Table) -> str:
        return value.words

    def short(self, value: Table) -> str:
        return value.words.partition(" ")[2]


class Drawn(Kind):
    """What a figure shows, as a `Drawing`; `figures.drawn` takes it."""

    names = ("drawing",)

    def holds(self, value: Value) -> bool:
        return isinstance(value, Drawing)

    def take(self, result: Drawing, left: list[int], depth: int) -> Drawing:
        return Drawing.of_plain(take(result.plots, left, depth + 1))

    def pack(self, value: Drawing, arrays: list[np.ndarray]) -> dict:
        return {"drawing": pack_value(value.plots, arrays)}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Drawing:
        try:
            return Drawing.of_plain(unpack_value(packed, arrays, depth + 1))
        except NoDrawing as what:
            raise FrameError(str(what)) from None

    def mapped(self, value: Drawing, change: Callable[[Value], Value]) -> Drawing:
        return Drawing(change(value.plots))

    def zeros(self, value: Drawing) -> Drawing:
        return Drawing(changed(value.plots, np.zeros_like))  # with the texts of what is due

    def same(self, one: Drawing, other: Value, rules: Rules) -> bool:
        return self.difference(one, other, rules, Speaking()) is None

    def difference(self, due: Drawing, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        if not isinstance(value, Drawing):
            return of_another_type(due, value, rules, speaking)
        return due.difference(
            value,
            lambda one, other, place: difference(one, other, rules, Speaking(place, "there is", "it")),
        )

    def words(self, value: Drawing) -> str:
        return "a figure"


class Error(Kind):
    """An error that is due; `compare` looks at whether it came, and no result is one."""

    names = ("raised",)

    def takes(self, result: Any) -> bool:
        return False

    def holds(self, value: Value) -> bool:
        return isinstance(value, Raised)

    def pack(self, value: Raised, arrays: list[np.ndarray]) -> dict:
        return {"raised": [value.type, value.part]}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Raised:
        if not isinstance(packed, list) or len(packed) != 2 or not all(isinstance(p, str) for p in packed):
            raise FrameError("no such kind of value")
        return Raised(*packed)

    def same(self, one: Raised, other: Value, rules: Rules) -> bool:
        return one == other

    def words(self, value: Raised) -> str:
        return article(value.type)


class Function(Kind):
    """A function or an object among the arguments, as `Made`; a call gets the thing itself."""

    names = ("made",)

    def takes(self, result: Any) -> bool:
        return False

    def holds(self, value: Value) -> bool:
        return isinstance(value, Made)

    def pack(self, value: Made, arrays: list[np.ndarray]) -> dict:
        parts = [] if value.args is None else [value.args, dict(value.kwargs)]
        return {"made": [value.function, *(pack_value(part, arrays) for part in parts)]}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Made:
        if isinstance(arrays, Once):  # an answer names nothing that would be looked up here
            raise FrameError("no such kind of value")
        if not isinstance(packed, list) or len(packed) not in (1, 3) or not isinstance(packed[0], str):
            raise FrameError("a function's name was due")
        return Made(packed[0], *(unpack_value(part, arrays, depth + 1) for part in packed[1:]))

    def mapped(self, value: Made, change: Callable[[Value], Value]) -> Made:
        return value if value.args is None else _with_parts(value, value.args, change)

    def copied(self, value: Made) -> Any:
        return self.come_of(value, copied)

    def come_of(self, value: Made, part: Callable[[Value], Any]) -> Any:
        """The function, or what it makes of these parts of the value."""
        try:
            function = resolve(value.function)
        except (ImportError, AttributeError, ValueError):
            raise Complaint(
                f"The course's library has no {value.function} here: get the labs anew."
            ) from None
        own = self.mapped(value, part)
        return function if own.args is None else function(*own.args, **own.kwargs)

    def comes_back(self, value: Made, after: Any) -> bool:
        return True  # what an object is like inside is its own: a generator is there to be used up

    def unchanged(self, before: Made, after: Any) -> bool:
        return True

    def same(self, one: Made, other: Value, rules: Rules) -> bool:
        return False

    def words(self, value: Made) -> str:
        return "a function"

    def short(self, value: Made) -> str:
        return as_code(value, short)


class Dtype(Kind):
    """A type of NumPy's numbers, such as `np.float32`."""

    names = ("dtype",)

    def holds(self, value: Value) -> bool:
        return isinstance(value, type) and issubclass(value, np.generic) and np.dtype(value).name in DTYPES

    def pack(self, value: type, arrays: list[np.ndarray]) -> dict:
        return {"dtype": np.dtype(value).name}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> type:
        if not isinstance(packed, str) or packed not in DTYPES:
            raise FrameError("no such kind of value")
        return np.dtype(packed).type

    def same(self, one: type, other: Value, rules: Rules) -> bool:
        return one is other

    def difference(self, due: type, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        return Single().difference(due, value, rules, speaking)

    def short(self, value: type) -> str:
        return value.__name__


class Single(Kind):
    """None, a bool, an int, a float, a complex number or a text; among the inputs also a number of NumPy's."""

    names = ("value", "float", "scalar", "complex", "integer")

    def holds(self, value: Value) -> bool:
        return value is None or isinstance(value, (bool, int, float, complex, str, np.generic))

    def takes(self, result: Any) -> bool:
        if isinstance(result, np.generic):
            return dtype_name(result.dtype) in DTYPES or isinstance(result, np.complexfloating)
        return self.holds(result)

    def take(self, result: Any, left: list[int], depth: int) -> Value:
        if isinstance(result, np.generic):
            return result.item()
        if isinstance(result, str):
            left[2] -= len(result)
            if left[2] < 0:
                raise NotPlain("str of too many characters")
            return str(result)
        if result is not None and type(result) not in (bool, int, float, complex):  # a kind of int, say
            result = next(t for t in (int, float, complex) if isinstance(result, t))(result)
        if type(result) is int and result.bit_length() > MAX_BITS:
            raise NotPlain(f"int of more than {MAX_BITS} bits")
        return result

    def zeros(self, value: Value) -> Value:
        return None if value is None else type(value)()

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        if isinstance(value, np.generic):
            arrays.append(np.asarray(value))
            return {"scalar": len(arrays) - 1}
        if type(value) is float and not abs(value) < float("inf"):
            return {"float": str(value)}
        if type(value) is complex:
            return {"complex": [str(value.real), str(value.imag)]}
        if type(value) is int and not -MAX_INTEGER <= value < MAX_INTEGER:
            return {"integer": hex(value)}
        return {"value": value}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Value:
        if name == "scalar":
            array = _item(arrays, packed)
            if array.ndim:
                raise FrameError("a scalar has no axes")
            return array[()]
        if name == "float" and isinstance(packed, str) and packed in _FLOATS:
            return _FLOATS[packed]
        if name == "integer" and isinstance(packed, str) and len(packed) <= MAX_BITS // 4 + 3:
            try:
                return int(packed, 16)
            except ValueError:
                raise FrameError("no whole number") from None
        if name == "complex" and isinstance(packed, list) and len(packed) == 2:
            try:
                return complex(*(float(part) for part in packed if isinstance(part, str) and len(part) < 40))
            except (ValueError, TypeError):
                raise FrameError("no complex number") from None
        if name == "value" and (packed is None or type(packed) in (bool, int, float, str)):
            return packed
        raise FrameError("no such kind of value")

    def same(self, one: Value, other: Value, rules: Rules) -> bool:
        if isinstance(other, np.ndarray):
            return False
        if float in (type(one), type(other)) and {type(one), type(other)} <= {int, float}:
            return close_numbers(one, other, rules)
        if complex in (type(one), type(other)) and {type(one), type(other)} <= {int, float, complex}:
            pairs = zip((complex(one).real, complex(one).imag), (complex(other).real, complex(other).imag))
            size = max(abs(complex(one)), abs(complex(other)))
            return all(close_numbers(a, b, rules, size) for a, b in pairs)
        return type(one) is type(other) and one == other

    def difference(self, due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        if isinstance(value, np.ndarray) and value.ndim == 0 and not isinstance(due, str):
            value = value.item()
        if isinstance(due, str) and isinstance(value, str):
            return text_difference("Your text", due, value, speaking)
        if type(due) in (int, float) and type(value) in (int, float):
            return self._of_numbers(due, value, rules, speaking)
        if type(due) is complex and type(value) in (int, float, complex):
            seen = f"{speaking.returned} {value:.4g}; {due:.4g} is due."
            return None if self.same(due, value, rules) else Difference("values", speaking.says(seen))
        if rules.floats_too and type(due) is bool and type(value) in (int, float) and due == value:
            return None
        if type(due) is not type(value):
            return of_another_type(due, value, rules, speaking)
        seen = f"{speaking.returned} {value!r}; {due!r} is due."
        return None if due == value else Difference("values", speaking.says(seen))

    def _of_numbers(self, due: float, value: float, rules: Rules, speaking: Speaking) -> Difference | None:
        if (
            type(due) is int
            and type(value) is float
            and not (rules.floats_too and self.same(due, value, rules))
        ):
            seen = f"{speaking.returned} {value!r}, a float; a whole number (int) is due."
            mistake = "not-a-whole-number" if value == due else None
            return Difference("type", speaking.says(seen), mistake)
        if self.same(due, value, rules):
            return None
        yours, wanted = (cut(str(x), 60) if type(due) is int else number(x) for x in (value, due))
        if yours == wanted:
            yours, wanted = f"{value:.9g}", f"{due:.9g}"
        kind = "values" if np.isfinite(float(value)) or not np.isfinite(float(due)) else "not finite"
        return Difference(kind, speaking.says(f"{speaking.returned} {yours}; {wanted} is due."))

    def words(self, value: Value) -> str:
        return "None" if value is None else _WORDS.get(type(value)) or super().words(value)


KINDS: tuple[Kind, ...] = (
    *(Single(), Array(), Several(), Entries(), Unordered(), TextArray(), Moment()),
    *(Tabular(), Drawn(), Dtype(), Function(), Error()),
)
_BY_NAME = {name: kind for kind in KINDS for name in kind.names}
_SINGLE, _ARRAY, _SEVERAL = KINDS[:3]
# Of the types that nearly all values have, and that are taken as they are: to ask each kind in turn takes longer
# than most of what is done with the value.
_USUAL: dict[type, Kind] = {
    **dict.fromkeys((type(None), bool, int, float, complex, str), _SINGLE),
    np.ndarray: _ARRAY,
    tuple: _SEVERAL,
    list: _SEVERAL,
}


def kind_of(value: Value) -> Kind:
    """The kind of a value; FrameError for what is none."""
    kind = _USUAL.get(type(value)) or next((kind for kind in KINDS if kind.holds(value)), None)
    if kind is None:
        raise FrameError(f"a {type(value).__name__} is no value")
    return kind


def take(result: Any, left: list[int], depth: int = 0) -> Value:
    """What a call gave, as a value; NotPlain where it is none."""
    left[0] -= 1
    if left[0] < 0 or depth > MAX_DEPTH:
        raise NotPlain(f"{type(result).__name__} of too many parts")
    kind = _USUAL.get(type(result)) or next((kind for kind in KINDS if kind.takes(result)), None)
    if kind is None:
        raise NotPlain(type(result).__name__)
    return kind.take(result, left, depth)


def pack_value(value: Value, arrays: list[np.ndarray]) -> dict:
    """A value as JSON; its arrays are appended to `arrays`.

    >>> pack_value((1, "a"), [])
    {'tuple': [{'value': 1}, {'value': 'a'}]}
    """
    return kind_of(value).pack(value, arrays)


def unpack_value(packed: Any, arrays: Arrays, depth: int = 0) -> Value:
    """The inverse of `pack_value`."""
    if not isinstance(packed, dict) or len(packed) != 1 or depth > MAX_DEPTH:
        raise FrameError("a value needs one kind, and not too deep a one")
    ((name, content),) = packed.items()
    if name not in _BY_NAME:
        raise FrameError("no such kind of value")
    return _BY_NAME[name].unpack(name, content, arrays, depth)


def changed(value: Value, change: Callable[[np.ndarray], Value]) -> Value:
    """A copy of a value with each array in it changed."""
    return (
        change(value)
        if isinstance(value, np.ndarray)
        else kind_of(value).mapped(value, partial(changed, change=change))
    )


def copied(value: Value) -> Value:
    """What a call gets, and may change: arrays keep their layout in memory, and tables are pandas' own."""
    return kind_of(value).copied(value)


def worked_out(asked: Value, result: Any) -> Any:
    """What comes of it if this is asked of a result."""
    if not isinstance(asked, Made):
        return copied(asked)
    return Function().come_of(asked, partial(worked_out, result=result)) if asked.function else result


def mapped_inputs(given: Inputs, change: Callable[[Value], Value]) -> Inputs:
    """The same question with each of its values changed."""
    return replace(_with_parts(given, given.args, change), asked=tuple(map(change, given.asked)))


def _with_parts(call: Call, args: tuple, change: Callable[[Value], Value]) -> Call:
    """The same call with each of its arguments changed."""
    named = {name: change(value) for name, value in call.kwargs.items()}
    return replace(call, args=tuple(map(change, args)), kwargs=named)


def copied_inputs(given: Inputs) -> Inputs:
    """The arguments as a call gets them."""
    named = {name: copied(value) for name, value in given.kwargs.items()}
    return Inputs(tuple(map(copied, given.args)), named, given.memory)


def as_value(value: Value) -> Value:
    """What an author gives as an argument, as a value: a table of what is pandas' own, functions by their names."""
    usual = _USUAL.get(type(value))
    if usual is _SINGLE or (usual is _ARRAY and dtype_name(value.dtype) in DTYPES):
        return value  # as nearly all are
    if is_pandas(value):
        return take(value, [MAX_PARTS, MAX_GIVEN, 0])
    if isinstance(value, Recorder):
        return as_value(value._autograder_made)
    if callable(value) and not Dtype().holds(value):
        return Made(name_of(value))
    if isinstance(value, Made) and callable(value.function):
        value = replace(value, function=name_of(value.function))
    if isinstance(value, (np.datetime64, np.timedelta64)):
        raise FrameError(f"a {type(value).__name__} is no value by itself: give Python's own, or an array")
    if isinstance(value, np.ndarray) and dtype_name(value.dtype) not in DTYPES:
        return take(value, [MAX_PARTS, MAX_GIVEN, MAX_GIVEN])
    return kind_of(value).mapped(value, as_value)


def zeros(value: Value) -> Value:
    """What has the form of a value, and took no thought."""
    return kind_of(value).zeros(value)


def arrays_in(value: Value) -> list[np.ndarray]:
    """All the arrays in a value."""
    found: list[np.ndarray] = []
    changed(value, found.append)
    return found


def unchanged(before: Value, after: Any) -> bool:
    """Whether a call left a copy of a value as it was."""
    kind = kind_of(before)
    return kind.comes_back(before, after) and kind.unchanged(before, after)


def same(one: Value, other: Value, rules: Rules) -> bool:
    """Whether two answers are the same value."""
    return kind_of(one).same(one, other, rules)


def difference(due: Value, value: Value, rules: Rules, speaking: Speaking = Speaking()) -> Difference | None:
    """The first thing in which a value is not as due."""
    return kind_of(due).difference(due, value, rules, speaking)


def words(value: Value) -> str:
    """What kind of thing a value is: "a NumPy array of shape (2, 3)"."""
    return kind_of(value).words(value)


def short(value: Value) -> str:
    """A value among the arguments of a case, in a few characters."""
    return kind_of(value).short(value)


def of_another_type(due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference:
    """What is said of a value of another kind than is due."""
    wanted = words(due)
    if rules.returns == "tensor":
        wanted = wanted.replace("NumPy array", "tensor")
    mistake = None
    if isinstance(due, np.ndarray):
        forms: dict[type, str] = {list: "returns-a-list", tuple: "returns-a-tuple", float: "one-number"}
        mistake = forms.get(type(value))
    elif isinstance(value, tuple) and not isinstance(due, (tuple, list, Mapping)):
        mistake = "returns-a-tuple"
    given = article(type(value).__name__) if isinstance(value, (list, tuple)) else words(value)
    return Difference("type", speaking.says(f"{speaking.returned} {given}; {wanted} is due."), mistake)


def text_difference(what: str, due: str, value: str, speaking: Speaking = Speaking()) -> Difference | None:
    """Where two texts first differ, by their lines."""
    if due == value:
        return None
    wanted, given = due.split("\n"), value.split("\n")
    at = next((i for i, (a, b) in enumerate(zip(wanted, given)) if a != b), min(len(wanted), len(given)))
    line = f"in line {at + 1} " if len(wanted) > 1 or len(given) > 1 else ""
    if at == len(given):
        seen = f"{what} ends after line {at}; {_quoted(wanted[at])} is due next."
    elif at == len(wanted):
        seen = f"{what} goes on {line}with {_quoted(given[at])}, where nothing more is due."
    else:
        seen = f"{what} says {line}{_quoted(given[at])}; {_quoted(wanted[at])} is due."
    return Difference("values", speaking.says(seen))


def _quoted(text: str) -> str:
    return repr(cut(text, 80))


def is_tensor(result: Any) -> bool:
    """Whether it is an array of one of Keras's backends."""
    return (
        hasattr(result, "__array__")
        and not isinstance(result, (np.ndarray, np.generic, type))
        and not any(base.__module__.partition(".")[0] == "pandas" for base in type(result).__mro__)
    )


def _from_tensor(tensor: Any) -> np.ndarray:
    try:
        from keras import ops
    except ImportError:
        array = np.asarray(tensor)
    else:
        array = ops.convert_to_numpy(tensor)
    return array if array.dtype.name in DTYPES else array.astype(np.float32)  # bfloat16


def _item(items: Any, index: Any) -> Any:
    if type(index) is not int or not 0 <= index < len(items):
        raise FrameError("no such item")
    return items[index]


# What can be said of arrays of one shape


_NEARLY = 1e-2  # what is nearer than this, everywhere, is a matter of precision

_FLOAT32 = 3e-7  # of the largest number: so much is lost where one step is worked out in float32

PRECISION = ("imprecise", "precision-lost-on-the-way")


def _turned(value: np.ndarray) -> np.ndarray:
    return np.swapaxes(value, -1, -2).copy()


def _near(expected: np.ndarray, value: np.ndarray) -> tuple[str | None, bool]:
    """The mistake of form of numbers that are all nearly right ("rounded", "imprecise"…), and whether they may be."""
    if expected.dtype.kind != "f" or value.dtype.kind != "f" or expected.dtype == np.float16:
        return None, False
    wanted, got = expected.astype(np.float64), value.astype(np.float64)
    if not np.isfinite(wanted).all() or not np.isfinite(got).all():
        return None, False
    gap, size = np.abs(got - wanted), np.abs(wanted)
    slack = 1e-12 if expected.dtype == np.float64 else 1e-6
    for places in range(1, 9):
        if not (gap <= 0.51 * 10.0**-places + slack * (1 + size)).all():
            break  # too far away for these places, and so for more
        if np.allclose(got, np.round(wanted, places), rtol=slack, atol=slack) and got.any():
            return "rounded", False
    # A tiny share that is far off beside one that is right shows a step that was cut, not one that is imprecise.
    largest = size.max(initial=0.0)
    if not (gap <= _NEARLY * size + 1e-6 * largest).all():
        return None, bool((gap <= _NEARLY * size + 2e-3 * largest).all())
    with np.errstate(over="ignore"):
        single = np.array_equal(got, got.astype(np.float32).astype(np.float64))
    lost = expected.dtype == np.float64 and (gap <= (1e-6 if single else _FLOAT32) * largest).all()
    return "precision-lost-on-the-way" if lost else "imprecise", True


def _digits(expected: np.ndarray, value: np.ndarray) -> str:
    """How near two arrays are, in words."""
    wanted, got = expected.astype(np.float64), value.astype(np.float64)
    size = np.abs(wanted)
    worst = float(np.max(np.abs(got - wanted)[size > 0] / size[size > 0], initial=0.0))
    return f"by at most {worst:.1g} of each number"


def _dtype_difference(expected: np.ndarray, value: np.ndarray, rules: Rules) -> str | None:
    """The mistake of form in an array's dtype, if there is one."""
    if (rules.returns == "tensor" and not rules.exact_dtype) or value.dtype == expected.dtype:
        return None
    if expected.dtype == bool:
        return "numbers-not-booleans" if bool(np.isin(value, (0, 1)).all()) else "numbers-for-true-and-false"
    if value.dtype == bool:
        return "booleans-not-numbers"
    if expected.dtype.kind != "f":
        return None
    if value.dtype.kind != "f":
        return "whole-numbers"
    if value.dtype.itemsize < expected.dtype.itemsize:
        return "lower-precision"
    return "higher-precision" if rules.exact_dtype else None


def _reshaped(expected: np.ndarray, value: np.ndarray, rules: Rules) -> str | None:
    if value.size != expected.size or value.dtype.kind not in "fiub":
        return None
    wanted = viewed(expected, rules)
    if value.ndim > 1 and _turned(value).shape == expected.shape and min(value.shape[-2:]) > 1:
        return "transposed" if same_values(wanted, viewed(_turned(value), rules), rules.tolerance) else None
    if value.squeeze().shape != expected.squeeze().shape:
        return None
    if not same_values(wanted, viewed(value.reshape(expected.shape), rules), rules.tolerance):
        return None
    if value.ndim == expected.ndim:
        return "transposed" if value.T.shape == expected.shape else None
    return "extra-axis" if value.ndim > expected.ndim else "missing-axis"


def _worst(wanted: np.ndarray, got: np.ndarray, agree: np.ndarray) -> str:
    with np.errstate(all="ignore"):
        gap = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
    gap = np.where(agree, -1.0, np.nan_to_num(gap, nan=np.inf, posinf=np.inf))
    largest = gap >= gap.max() * (1 - 1e-6)  # of those that are alike but for rounding, the first
    worst = np.unravel_index(int(np.argmax(largest)), gap.shape) if gap.ndim else ()
    where = tuple(int(i) for i in worst)
    yours, due = number(got[where]), number(wanted[where])
    if yours == due:  # they differ further behind the point
        yours, due = f"{float(got[where]):.9g}", f"{float(wanted[where]):.9g}"
    noun = "entries" if wanted.dtype == bool else "numbers"
    return (
        f"{int((~agree).sum())} of {agree.size} {noun} differ, most at {_place(where)}: "
        f"yours {yours}, expected {due}."
    )


def _place(where: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, where))}]" if where else "its only place"
