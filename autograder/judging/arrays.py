"""Arrays: of numbers, and of texts or dates."""

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autograder.errors import cut
from autograder.judging import kinds
from autograder.judging.agreement import close, everywhere, same_values
from autograder.judging.kinds import MAX_DEPTH, MAX_PARTS, Arrays, FrameError, Kind, NotPlain, Once, Room
from autograder.judging.mistakes import STRUCTURAL, Difference
from autograder.judging.question import DTYPES, LAYOUTS, Rules, Value, arranged, dtype_name, layout_of
from autograder.judging.wording import Speaking, number, place_of

MAX_REPEATED = 100_000_000  # times that one row stands in an argument

_DATES = "datetime64[us]"  # of whatever unit they come
_ITEM = {"str": re.compile(r"(?s).*"), _DATES: re.compile(r"NaT|-?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")}
_UNIT = re.compile(r"datetime64\[(Y|M|W|D|h|m|s|ms|us|ns)\]")


class Array(Kind):
    """An array of one of `DTYPES`; a tensor comes as one."""

    names = ("array", *LAYOUTS)
    types = (np.ndarray,)

    def holds(self, value: Value) -> bool:
        return isinstance(value, np.ndarray)

    def takes(self, result: Any) -> bool:
        # A matrix calculates by rules of its own.
        return type(result) is np.ndarray or kinds.is_tensor(result)

    def take(self, result: Any, room: Room, depth: int) -> Value:
        array = result if type(result) is np.ndarray else _from_tensor(result)
        if array.dtype == np.longdouble:
            array = array.astype(np.float64)
        if dtype_name(array.dtype) not in DTYPES:
            return texts_in(array, room)
        room.spend(f"ndarray of {array.size:,} values", numbers=array.size)
        return np.array(array, order="C", subok=False)

    def pack(self, value: np.ndarray, arrays: list[np.ndarray]) -> dict:
        layout = layout_of(value)
        arrays.append(value[:1] if layout == "repeated" else value)
        if layout == "repeated":
            return {layout: [len(arrays) - 1, len(value)]}
        return {"array" if layout == "C" else layout: len(arrays) - 1}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> np.ndarray:
        if name == "array":
            return kinds.item_of(arrays, packed)
        if isinstance(arrays, Once):  # an answer's arrays lie as they came
            raise FrameError("no such kind of value")
        if name == "repeated":
            if not isinstance(packed, list) or len(packed) != 2 or type(packed[1]) is not int:
                raise FrameError("an array and how often it is repeated were due")
            row, times = kinds.item_of(arrays, packed[0]), packed[1]
            if len(row.shape) == 0 or len(row) != 1 or not 1 < times <= MAX_REPEATED:
                raise FrameError("no such repetition")
            return np.broadcast_to(row, (times, *row.shape[1:]))
        return arranged(kinds.item_of(arrays, packed), name)

    def copied(self, value: np.ndarray) -> np.ndarray:
        return arranged(value, layout_of(value))

    def zeros(self, value: np.ndarray) -> np.ndarray:
        return np.zeros_like(value)

    def unchanged(self, before: np.ndarray, after: Any) -> bool:
        if type(after) is not np.ndarray or before.dtype != after.dtype or before.shape != after.shape:
            return False
        if layout_of(before) == layout_of(after) == "repeated":
            before, after = before[:1], after[:1]
        return before.tobytes() == after.tobytes()

    def is_like(self, due: np.ndarray, value: Value) -> bool:
        return isinstance(value, np.ndarray) and not (value.ndim == 0 and due.ndim)

    def same(self, one: np.ndarray, other: Value, rules: Rules) -> bool:
        if not isinstance(other, np.ndarray) or one.shape != other.shape:
            return False
        if rules.returns != "tensor" and (one.dtype == bool) != (other.dtype == bool):
            return False
        return same_values(kinds.viewed(one, rules), kinds.viewed(other, rules), rules.tolerance)

    def difference(
        self, due: np.ndarray, value: Value, rules: Rules, speaking: Speaking
    ) -> Difference | None:
        if value.shape != due.shape:
            seen = speaking.of_shape(value.shape, due.shape)
            return Difference("shape", seen, _reshaped(due, value, rules))
        if dtype := _dtype_difference(due, value, rules):
            seen = f"{speaking.result} holds {value.dtype.name}; {due.dtype.name} is due."
            return Difference("dtype", speaking.says(seen), dtype)
        wanted, got = kinds.viewed(due, rules), kinds.viewed(value, rules)
        agree = close(wanted, got, rules.tolerance)
        if everywhere(agree):
            return None
        about = getattr(kinds.resolve(rules.view), "says", "") if rules.view else ""
        unfinite = ~np.isfinite(got.astype(np.float64)) & np.isfinite(wanted.astype(np.float64))
        if unfinite.any():
            where = tuple(int(i) for i in np.argwhere(unfinite)[0])
            seen = (
                f"{about}{int(unfinite.sum())} of your numbers should be finite and are not: "
                f"the first is {number(got[where])} at {place_of(where)}."
            )
            return Difference("not finite", speaking.says(seen))
        square = value.ndim > 1 and value.shape[-1] == value.shape[-2] > 1
        turned = square and same_values(wanted, kinds.viewed(_turned(value), rules), rules.tolerance)
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


def texts_in(array: np.ndarray, room: Room) -> Texts:
    """An array of texts or of dates as a value."""
    what = f"ndarray of {array.dtype.name}"
    room.spend(what, parts=array.size)
    if array.dtype.kind not in "OUM":
        raise NotPlain(what)
    dtype, items = "str", array.ravel().tolist()
    if array.dtype.kind == "M":
        dtype, items = array.dtype.name, np.datetime_as_string(array.astype(_DATES).ravel()).tolist()
    if (not items and array.dtype.kind == "O") or not all(type(item) is str for item in items):
        raise NotPlain(what)
    if dtype == "str":
        room.spend("ndarray of too many characters", characters=sum(map(len, items)))
    return Texts(dtype, array.shape, tuple(items))


class TextArray(Kind):
    """An array of texts or dates, as `Texts`; a call gets NumPy's own."""

    names = ("texts",)

    def holds(self, value: Value) -> bool:
        return isinstance(value, Texts)

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

    def unchanged(self, before: Texts, after: Any) -> bool:
        try:
            return kinds.take(after, Room.of_given()) == before
        except NotPlain:
            return False

    def is_like(self, due: Texts, value: Value) -> bool:
        return isinstance(value, Texts) and value.noun == due.noun

    def difference(self, due: Texts, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        if value.shape != due.shape:
            return Difference("shape", speaking.of_shape(value.shape, due.shape))
        wrong = [i for i, (one, other) in enumerate(zip(due.items, value.items, strict=True)) if one != other]
        if not wrong:
            return None
        where = tuple(int(i) for i in np.unravel_index(wrong[0], due.shape)) if due.shape else ()
        yours, wanted = (self._shown(one, wrong[0]) for one in (value, due))
        seen = f"{len(wrong)} of {len(due.items)} {due.noun} differ, the first at {place_of(where)}: "
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


def _from_tensor(tensor: Any) -> np.ndarray:
    try:
        from keras import ops
    except ImportError:
        array = np.asarray(tensor)
    else:
        array = ops.convert_to_numpy(tensor)
    return array if array.dtype.name in DTYPES else array.astype(np.float32)  # bfloat16


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
    wanted = kinds.viewed(expected, rules)
    if value.ndim > 1 and _turned(value).shape == expected.shape and min(value.shape[-2:]) > 1:
        return (
            "transposed"
            if same_values(wanted, kinds.viewed(_turned(value), rules), rules.tolerance)
            else None
        )
    if value.squeeze().shape != expected.squeeze().shape:
        return None
    if not same_values(wanted, kinds.viewed(value.reshape(expected.shape), rules), rules.tolerance):
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
        f"{int((~agree).sum())} of {agree.size} {noun} differ, most at {place_of(where)}: "
        f"yours {yours}, expected {due}."
    )
