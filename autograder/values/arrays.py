"""Convert, encode, compare and describe NumPy arrays of numbers, texts or dates."""

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autograder.core.text_format import truncate
from autograder.values import value_types
from autograder.values.case_records import (
    DTYPES,
    LAYOUTS,
    ComparisonRules,
    Value,
    copy_with_layout,
    find_memory_layout,
    name_dtype,
)
from autograder.values.common_mistakes import MISTAKES, Difference
from autograder.values.tolerance import all_true, arrays_agree, elements_agree
from autograder.values.value_types import (
    MAX_ANSWER_PARTS,
    MAX_AXES,
    MAX_DEPTH,
    Arrays,
    EncodingError,
    SingleUseArrays,
    SizeBudget,
    UnsupportedValue,
    ValueType,
)
from autograder.values.wording import (
    ResultWording,
    format_differently,
    format_index,
    format_number,
)

MAX_REPEATED_ROWS = 100_000_000  # of an argument made by `np.broadcast_to`, in one memory

_DATE_DTYPE = "datetime64[us]"  # dates of all NumPy units are converted to microseconds
_DURATION_DTYPE = "timedelta64[us]"
_DATE_UNIT = re.compile(r"(datetime|timedelta)64\[(Y|M|W|D|h|m|s|ms|us|ns)\]")
_DURATION = re.compile(r"NaT|-?\d{1,19}")
_DATE = re.compile(r"NaT|-?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")


class ArrayType(ValueType):
    """Type of values: a NumPy array of numbers or booleans. A Keras tensor becomes an array."""

    names = ("array", *LAYOUTS)
    types = (np.ndarray,)

    def matches(self, value: Value) -> bool:
        return isinstance(value, np.ndarray)

    def accepts(self, result: Any) -> bool:
        # Refuse subclasses of ndarray, since some behave differently: `*` of two objects of
        # `np.matrix`, for example, is the matrix product.
        return type(result) is np.ndarray or value_types.is_tensor(result)

    def convert(self, result: Any, budget: SizeBudget, depth: int) -> Value:
        array = result
        if type(result) is not np.ndarray:
            array = _tensor_to_array(result)
        if array.dtype == np.longdouble:
            array = array.astype(np.float64)
        if name_dtype(array.dtype) not in DTYPES:
            return to_text_or_date_array(array, budget)
        if array.ndim > MAX_AXES:
            raise UnsupportedValue(f"ndarray of {array.ndim} axes")
        # An axis of size 0 does not make a huge axis beside it acceptable: the decoder refuses it.
        numbers = math.prod(max(size, 1) for size in array.shape)
        budget.spend(f"ndarray of {numbers:,} values", numbers=numbers)
        return np.array(array, order="C", subok=False)

    def pack(self, value: np.ndarray, arrays: list[np.ndarray]) -> dict:
        layout = find_memory_layout(value)
        if layout == "repeated":
            arrays.append(value[:1])
            return {layout: [len(arrays) - 1, len(value)]}
        arrays.append(value)
        name = "array" if layout == "C" else layout
        return {name: len(arrays) - 1}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> np.ndarray:
        if name == "array":
            return value_types.get_array(arrays, data)
        if isinstance(arrays, SingleUseArrays):  # only arguments state their memory layout
            raise EncodingError("no such kind of value")
        if name == "repeated":
            return self._unpack_repeated(data, arrays)
        return copy_with_layout(value_types.get_array(arrays, data), name)

    def _unpack_repeated(self, data: Any, arrays: Arrays) -> np.ndarray:
        if not isinstance(data, list) or len(data) != 2 or type(data[1]) is not int:
            raise EncodingError("expected an array and how often it is repeated")
        row, count = value_types.get_array(arrays, data[0]), data[1]
        if len(row.shape) == 0 or len(row) != 1 or not 1 < count <= MAX_REPEATED_ROWS:
            raise EncodingError("no such repetition")
        return np.broadcast_to(row, (count, *row.shape[1:]))

    def copy(self, value: np.ndarray) -> np.ndarray:
        return copy_with_layout(value, find_memory_layout(value))

    def blank(self, value: np.ndarray) -> np.ndarray:
        return np.zeros_like(value)

    def is_unchanged(self, original: np.ndarray, current: Any) -> bool:
        if type(current) is not np.ndarray:
            return False
        if original.dtype != current.dtype or original.shape != current.shape:
            return False
        if find_memory_layout(original) == find_memory_layout(current) == "repeated":
            original, current = original[:1], current[:1]
        return original.tobytes() == current.tobytes()

    def is_comparable(self, expected: np.ndarray, value: Value) -> bool:
        return isinstance(value, np.ndarray) and not (value.ndim == 0 and expected.ndim)

    def agrees(self, first: np.ndarray, second: Value, rules: ComparisonRules) -> bool:
        if not isinstance(second, np.ndarray) or first.shape != second.shape:
            return False
        if rules.returns != "tensor" and (first.dtype == bool) != (second.dtype == bool):
            return False
        return _views_agree(first, second, rules)

    def find_difference(
        self, expected: np.ndarray, value: Value, rules: ComparisonRules, wording: ResultWording
    ) -> Difference | None:
        if value.shape != expected.shape:
            sentence = wording.shape_sentence(value.shape, expected.shape)
            return Difference("shape", sentence, _classify_shape_mistake(expected, value, rules))
        mistake = _classify_dtype_mistake(expected, value, rules)
        if mistake:
            names = f"{value.dtype.name}; expected {expected.dtype.name}"
            sentence = wording.add_place(f"{wording.result} holds {names}.")
            return Difference("dtype", sentence, mistake)
        expected_view = value_types.apply_view(expected, rules)
        value_view = value_types.apply_view(value, rules)
        agree = elements_agree(expected_view, value_view, rules.tolerance)
        if all_true(agree):
            return None
        intro = ""
        if rules.view:
            intro = getattr(value_types.import_function(rules.view), "says", "")
        sentence = _describe_unexpected_nan_or_inf(expected_view, value_view)
        if sentence:
            return Difference("not finite", wording.add_place(intro + sentence))
        sentence = wording.add_place(
            intro + _describe_largest_difference(expected_view, value_view, agree)
        )
        return _classify_number_difference(expected, value, rules, sentence)

    def describe(self, value: np.ndarray) -> str:
        return f"a NumPy array of shape {value.shape}"

    def short_repr(self, value: np.ndarray) -> str:
        if value.dtype in (np.float64, np.bool_):
            return str(value.shape)
        return f"{value.shape} {value.dtype.name}"


@dataclass(frozen=True)
class TextOrDateArrayData:
    """Array of texts, dates or durations as plain data: its shape, and a tuple of its entries.

    Dates are held as ISO texts with microseconds, and durations as a number of microseconds,
    whatever NumPy unit the array has.
    """

    dtype: str = field(compare=False)
    shape: tuple[int, ...]
    items: tuple[str, ...]

    @property
    def noun(self) -> str:
        """Noun for the items in sentences to students: "texts", "dates" or "durations"."""
        if self.dtype == "str":
            return "texts"
        return "durations" if self.dtype.startswith("timedelta") else "dates"


def to_text_or_date_array(array: np.ndarray, budget: SizeBudget) -> TextOrDateArrayData:
    """Return a NumPy array of texts, dates or durations as a `TextOrDateArrayData`.

    Raise UnsupportedValue for any other array.
    """
    description = f"ndarray of {array.dtype.name}"
    if array.ndim > MAX_DEPTH or max(array.shape, default=0) > MAX_ANSWER_PARTS:
        raise UnsupportedValue(description)
    budget.spend(description, parts=array.size)
    if array.dtype.kind == "M":
        dates = np.datetime_as_string(array.astype(_DATE_DTYPE).ravel()).tolist()
        return TextOrDateArrayData(array.dtype.name, array.shape, tuple(dates))
    if array.dtype.kind == "m" and _DATE_UNIT.fullmatch(array.dtype.name):
        numbers = array.astype(_DURATION_DTYPE).astype("int64").ravel()
        missing = np.isnat(array).ravel()
        durations = list(map(str, numbers))
        for index in np.flatnonzero(missing):
            durations[index] = "NaT"
        return TextOrDateArrayData(array.dtype.name, array.shape, tuple(durations))
    if array.dtype.kind not in "OU":
        raise UnsupportedValue(description)
    items = array.ravel().tolist()
    is_empty = not items and array.dtype.kind == "O"
    if is_empty or not all(type(item) is str for item in items):
        raise UnsupportedValue(description)
    budget.spend("ndarray of too many characters", characters=sum(map(len, items)))
    return TextOrDateArrayData("str", array.shape, tuple(items))


class TextOrDateArrayType(ValueType):
    """Type of values: a NumPy array of texts, dates or durations, as a `TextOrDateArrayData`."""

    names = ("texts",)

    def matches(self, value: Value) -> bool:
        return isinstance(value, TextOrDateArrayData)

    def pack(self, value: TextOrDateArrayData, arrays: list[np.ndarray]) -> dict:
        return {"texts": [value.dtype, list(value.shape), list(value.items)]}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> TextOrDateArrayData:
        if not isinstance(data, list) or len(data) != 3:
            raise EncodingError("expected an array of texts")
        dtype, shape, items = data
        if not isinstance(shape, list) or not isinstance(items, list):
            raise EncodingError("expected an array of texts")
        is_dtype = dtype == "str" or (isinstance(dtype, str) and _DATE_UNIT.fullmatch(dtype))
        is_shape = len(shape) <= MAX_DEPTH and all(
            type(axis) is int and 0 <= axis <= MAX_ANSWER_PARTS for axis in shape
        )
        if not is_dtype or not is_shape or math.prod(shape) != len(items):
            raise EncodingError("no such array of texts")
        array = TextOrDateArrayData(dtype, tuple(shape), tuple(items))
        pattern = {"dates": _DATE, "durations": _DURATION}.get(array.noun)
        for item in items:
            if not isinstance(item, str) or (pattern is not None and not pattern.fullmatch(item)):
                raise EncodingError("not a text, a date or a duration")
        return array

    def copy(self, value: TextOrDateArrayData) -> np.ndarray:
        dtypes = {"texts": "str", "dates": _DATE_DTYPE, "durations": _DURATION_DTYPE}
        array = np.array(value.items, dtype=dtypes[value.noun])
        return array.astype(value.dtype).reshape(value.shape)

    def blank(self, value: TextOrDateArrayData) -> TextOrDateArrayData:
        item = "" if value.dtype == "str" else "NaT"
        return replace(value, items=(item,) * len(value.items))

    def is_unchanged(self, original: TextOrDateArrayData, current: Any) -> bool:
        try:
            return value_types.convert_result(current, SizeBudget.for_argument()) == original
        except UnsupportedValue:
            return False

    def is_comparable(self, expected: TextOrDateArrayData, value: Value) -> bool:
        return isinstance(value, TextOrDateArrayData) and value.noun == expected.noun

    def find_difference(
        self,
        expected: TextOrDateArrayData,
        value: Value,
        rules: ComparisonRules,
        wording: ResultWording,
    ) -> Difference | None:
        if value.shape != expected.shape:
            return Difference("shape", wording.shape_sentence(value.shape, expected.shape))
        pairs = enumerate(zip(expected.items, value.items, strict=True))
        wrong = [i for i, (expected_item, item) in pairs if expected_item != item]
        if not wrong:
            return None
        index: tuple[int, ...] = ()
        if expected.shape:
            index = tuple(int(i) for i in np.unravel_index(wrong[0], expected.shape))
        count = f"{len(wrong)} of {len(expected.items)} {expected.noun} differ"
        value_text = self._format_item(value, wrong[0])
        expected_text = self._format_item(expected, wrong[0])
        sentence = f"{count}. The first is at {format_index(index)}: "
        sentence += f"your value is {value_text}, expected {expected_text}."
        return Difference("values", wording.add_place(sentence))

    def _format_item(self, value: TextOrDateArrayData, position: int) -> str:
        item = value.items[position]
        if value.dtype == "str":
            return truncate(repr(item), 60)
        if value.noun == "durations" and item != "NaT":
            return str(np.timedelta64(int(item), "us").item())
        return item.removesuffix(".000000").removesuffix("T00:00:00")

    def describe(self, value: TextOrDateArrayData) -> str:
        return f"a NumPy array of {value.noun} of shape {value.shape}"

    def short_repr(self, value: TextOrDateArrayData) -> str:
        return f"{value.shape} {value.noun}"


def _tensor_to_array(tensor: Any) -> np.ndarray:
    try:
        from keras import ops
    except ImportError:
        array = np.asarray(tensor)
    else:
        array = ops.convert_to_numpy(tensor)
    if array.dtype.name not in DTYPES:  # bfloat16
        return array.astype(np.float32)
    return array


# The functions below find the mistake behind a difference of two arrays of numbers, and describe
# it.


_NEARLY_RIGHT = 1e-2  # largest relative error that may be mere imprecision
_FLOAT32_ERROR = 3e-7  # error of one step in float32, relative to the largest number

PRECISION_MISTAKES = ("imprecise", "precision-lost-on-the-way")


def _views_agree(expected: np.ndarray, value: np.ndarray, rules: ComparisonRules) -> bool:
    """Return True if what the exercise compares of two arrays (`rules.view`) agrees.

    If an exercise compares only a part or a property of them (`rules.view`), only that must agree.
    """
    expected_view = value_types.apply_view(expected, rules)
    value_view = value_types.apply_view(value, rules)
    return arrays_agree(expected_view, value_view, rules.tolerance)


def _transpose(value: np.ndarray) -> np.ndarray:
    return np.swapaxes(value, -1, -2).copy()


def _describe_unexpected_nan_or_inf(expected: np.ndarray, value: np.ndarray) -> str:
    """Describe the numbers that are NaN or infinite where finite ones are expected; "" if none."""
    infinite = ~np.isfinite(value.astype(np.float64)) & np.isfinite(expected.astype(np.float64))
    if not infinite.any():
        return ""
    index = tuple(int(i) for i in np.argwhere(infinite)[0])
    return (
        f"{int(infinite.sum())} of your {value.size} numbers are infinite or NaN; finite numbers are expected. "
        f"The first is {format_number(value[index])}, at {format_index(index)}."
    )


def _classify_number_difference(
    expected: np.ndarray, value: np.ndarray, rules: ComparisonRules, sentence: str
) -> Difference:
    """Return the difference of two arrays of equal shape, with the mistake behind it if known.

    The difference is classified, if possible, as one of the mistakes common to all exercises, such
    as "transposed" or "imprecise".
    """
    is_square = value.ndim > 1 and value.shape[-1] == value.shape[-2] > 1
    if is_square and _views_agree(expected, _transpose(value), rules):
        return Difference("values", sentence, "transposed")
    if rules.view:
        return Difference("values", sentence)
    mistake, nearly_right = _classify_precision_mistake(expected, value)
    means = ""
    if mistake == "imprecise":
        means = f"{MISTAKES['imprecise'][0][:-1]} ({_describe_error(expected, value)})."
    return Difference("values", sentence, mistake, means=means, nearly_right=nearly_right)


def _classify_precision_mistake(expected: np.ndarray, value: np.ndarray) -> tuple[str | None, bool]:
    """Return how precision was lost, such as "rounded"; None if lost digits are not the mistake.

    The second returned value is True if lost digits may be all that is wrong with the numbers.
    """
    if expected.dtype.kind != "f" or value.dtype.kind != "f" or expected.dtype == np.float16:
        return None, False
    expected64, value64 = expected.astype(np.float64), value.astype(np.float64)
    if not np.isfinite(expected64).all() or not np.isfinite(value64).all():
        return None, False
    error, size = np.abs(value64 - expected64), np.abs(expected64)
    if _is_expected_rounded(expected64, value64, 1e-12 if expected.dtype == np.float64 else 1e-6):
        return "rounded", False
    # An error that is in small numbers only may come from a missing step, and not from lost digits.
    # Then report the result as "nearly right", not as "imprecise".
    largest = size.max(initial=0.0)
    if not (error <= _NEARLY_RIGHT * size + 1e-6 * largest).all():
        return None, bool((error <= _NEARLY_RIGHT * size + 2e-3 * largest).all())
    if expected.dtype != np.float64:
        return "imprecise", True
    with np.errstate(over="ignore"):
        fits_float32 = np.array_equal(value64, value64.astype(np.float32).astype(np.float64))
    max_error = 1e-6 if fits_float32 else _FLOAT32_ERROR
    if (error <= max_error * largest).all():
        return "precision-lost-on-the-way", True
    return "imprecise", True


def _is_expected_rounded(expected: np.ndarray, value: np.ndarray, slack: float) -> bool:
    """Return True if the numbers are the expected ones, rounded to 1 to 8 decimal places."""
    error, size = np.abs(value - expected), np.abs(expected)
    for places in range(1, 9):
        if not (error <= 0.51 * 10.0**-places + slack * (1 + size)).all():
            return False  # an error too large for this many places is too large for more
        if value.any() and np.allclose(value, np.round(expected, places), rtol=slack, atol=slack):
            return True
    return False


def _describe_error(expected: np.ndarray, value: np.ndarray) -> str:
    """Describe the error of a result: "the largest relative error is 0.003"."""
    expected64, value64 = expected.astype(np.float64), value.astype(np.float64)
    size = np.abs(expected64)
    relative = np.abs(value64 - expected64)[size > 0] / size[size > 0]
    return f"the largest relative error is {float(np.max(relative, initial=0.0)):.1g}"


def _classify_dtype_mistake(
    expected: np.ndarray, value: np.ndarray, rules: ComparisonRules
) -> str | None:
    """Return the mistake in a result's dtype, such as "whole-numbers"; None if there is none."""
    if value.dtype == expected.dtype or (rules.returns == "tensor" and not rules.exact_dtype):
        return None
    if expected.dtype == bool:
        if np.isin(value, (0, 1)).all():
            return "numbers-not-booleans"
        return "numbers-for-true-and-false"
    if value.dtype == bool:
        return "booleans-not-numbers"
    if expected.dtype.kind != "f":
        return None
    if value.dtype.kind != "f":
        return "whole-numbers"
    if value.dtype.itemsize < expected.dtype.itemsize:
        return "lower-precision"
    if rules.exact_dtype:
        return "higher-precision"
    return None


def _classify_shape_mistake(
    expected: np.ndarray, value: np.ndarray, rules: ComparisonRules
) -> str | None:
    """Return the mistake if the numbers are right but not the shape ("transposed"); else None."""
    if value.size != expected.size or value.dtype.kind not in "fiub":
        return None
    if value.ndim > 1 and min(value.shape[-2:]) > 1 and _transpose(value).shape == expected.shape:
        return "transposed" if _views_agree(expected, _transpose(value), rules) else None
    if value.squeeze().shape != expected.squeeze().shape:
        return None
    if not _views_agree(expected, value.reshape(expected.shape), rules):
        return None
    if value.ndim == expected.ndim:
        return "transposed" if value.T.shape == expected.shape else None
    return "extra-axis" if value.ndim > expected.ndim else "missing-axis"


def find_largest_difference(
    expected: np.ndarray, value: np.ndarray, agree: np.ndarray
) -> tuple[int, ...]:
    """Return the index of the largest difference of two arrays of one shape; () for single numbers.

    Parameters
    ----------
    agree : numpy.ndarray of bool
        Says of each place whether the numbers agree; these places do not count.
    """
    with np.errstate(all="ignore"):
        error = np.abs(value.astype(np.float64) - expected.astype(np.float64))
    error = np.where(agree, -1.0, np.nan_to_num(error, nan=np.inf, posinf=np.inf))
    if not error.ndim:
        return ()
    # The errors at several places may differ by rounding only. Count these errors as equal, and
    # take the first place.
    largest = error >= error.max() * (1 - 1e-6)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(largest)), error.shape))


def _describe_largest_difference(expected: np.ndarray, value: np.ndarray, agree: np.ndarray) -> str:
    """Say how many numbers differ, and give both numbers at the place of the largest error."""
    index = find_largest_difference(expected, value, agree)
    value_text, expected_text = format_number(value[index]), format_number(expected[index])
    if value_text == expected_text:  # the numbers differ in later digits
        value_text, expected_text = format_differently(float(value[index]), float(expected[index]))
    noun, which = "numbers", "largest difference"
    if expected.dtype == bool:
        noun, which = "entries", "first of them"
    return (
        f"{int((~agree).sum())} of {agree.size} {noun} differ. The {which} is at "
        f"{format_index(index)}: your value is {value_text}, expected {expected_text}."
    )
