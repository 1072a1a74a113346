"""Base class for types of values (arguments and results): convert, encode, compare, describe.

A value is an argument or a result of a call (see `autograder.values.case_records`). The result of a
call is converted to a value once. Everything else is done with that value, by the class for its
type. To support another type of value, add a class. The classes are in `scalars`, `arrays`, `containers` and
`objects`; each registers itself when it is defined.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from autograder.core.import_guard import allowed_packages
from autograder.core.text_format import truncate
from autograder.values.case_records import (
    DTYPES,
    ComparisonRules,
    DeferredCall,
    Inputs,
    Value,
    name_dtype,
)
from autograder.values.common_mistakes import Difference
from autograder.values.dataframes import is_pandas
from autograder.values.deferred_calls import StudentResultPlaceholder
from autograder.values.wording import PLAIN_WORDING, ResultWording, add_article

MAX_ANSWER_NUMBERS = 1_000_000  # of one answer; no case needs more than a few thousand
MAX_ARGUMENT_CELLS = 20_000_000  # table cells, or characters of text, in an argument
MAX_ANSWER_PARTS = 20_000  # an array is one part; each takes some 40 bytes of a frame's JSON
MAX_AXES = 32  # of an array; NumPy allows 64
MAX_DEPTH = 8  # levels of nested containers
MAX_ANSWER_CHARACTERS = 20_000  # of text in one answer, and of printed text
_MAX_QUOTED_CHARACTERS = 80
# Packages whose arrays, on the processor or on a GPU, count as tensors.
_TENSOR_PACKAGES = ("tensorflow", "torch", "jax", "jaxlib", "keras")


class EncodingError(ValueError):
    """Error for an encoded message that is damaged or forged, or an object without encoding."""


class UnsupportedValue(Exception):
    """Error for a result that is too large or of an unsupported type; the text names the type."""


class SizeBudget:
    """Limits on a result that is converted: how many parts and numbers it may still have."""

    def __init__(
        self,
        parts: int = MAX_ANSWER_PARTS,
        numbers: int = MAX_ANSWER_NUMBERS,
        characters: int = MAX_ANSWER_CHARACTERS,
    ):
        self._parts, self._numbers, self._characters = parts, numbers, characters

    @classmethod
    def for_argument(cls) -> "SizeBudget":
        """Return the limits for an argument of a test case, which may be larger than a result."""
        return cls(numbers=MAX_ARGUMENT_CELLS, characters=MAX_ARGUMENT_CELLS)

    def suffices(self, parts: int = 0, numbers: int = 0, characters: int = 0) -> bool:
        """Return True if the remaining limits allow this many parts, numbers and characters."""
        fits = parts <= self._parts and numbers <= self._numbers
        return fits and characters <= self._characters

    def spend(
        self,
        description: str,
        parts: int = 0,
        numbers: int = 0,
        characters: int = 0,
    ) -> None:
        """Subtract from the remaining limits; raise UnsupportedValue if a result exceeds them."""
        if not self.suffices(parts, numbers, characters):
            raise UnsupportedValue(description)
        self._parts -= parts
        self._numbers -= numbers
        self._characters -= characters


class SingleUseArrays:
    """Arrays in an encoded message: each can be taken out only once.

    Otherwise a small message could refer to one array many times, and decode to a huge value.
    """

    def __init__(self, arrays: Sequence[np.ndarray]):
        self._arrays: list[np.ndarray | None] = list(arrays)
        self._parts = 0

    def begin_answer(self) -> None:
        """Begin to count the parts of the next result in a message anew."""
        self._parts = 0

    def count_part(self) -> None:
        """Count one part of the current result; raise EncodingError if it has too many parts."""
        self._parts += 1
        if self._parts > MAX_ANSWER_PARTS:
            raise EncodingError("an answer of too many parts")

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, index: int) -> np.ndarray:
        array, self._arrays[index] = self._arrays[index], None
        if array is None:
            raise EncodingError("an array is used twice")
        return array


Arrays = Sequence[np.ndarray] | SingleUseArrays
Call = TypeVar("Call", Inputs, DeferredCall)
VALUE_TYPES: list["ValueType"] = []
_TYPE_BY_NAME: dict[str, "ValueType"] = {}
_TYPE_BY_CLASS: dict[type, "ValueType"] = {}


class ValueType:
    """Base class for a type of values, such as arrays; its methods suit most types.

    Attributes
    ----------
    names : tuple of str
        Keys that mark values of this type in encoded JSON, such as "array".
    types : tuple of type
        Python classes whose objects are all of this type of value. They are looked up in a mapping,
        because to ask each value type in turn would take longer than most other work here.
    """

    names: tuple[str, ...] = ()
    types: tuple[type, ...] = ()

    def __init_subclass__(cls) -> None:
        value_type = cls()
        VALUE_TYPES.append(value_type)
        _TYPE_BY_NAME.update(dict.fromkeys(cls.names, value_type))
        _TYPE_BY_CLASS.update(dict.fromkeys(cls.types, value_type))

    def accepts(self, result: Any) -> bool:
        """Return True if a call's result can be converted to this type of value."""
        return self.matches(result)

    def convert(self, result: Any, budget: SizeBudget, depth: int) -> Value:
        """Convert a call's result to plain data; raise UnsupportedValue if it is too large."""
        return result

    def matches(self, value: Value) -> bool:
        """Return True if a value is of this type."""
        raise NotImplementedError

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        """Encode a value as a JSON object `{name: data}`; append its arrays to `arrays`."""
        raise NotImplementedError

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> Value:
        """Decode a value from what `pack` returned; raise EncodingError if it is malformed."""
        raise NotImplementedError

    def map_parts(self, value: Value, function: Callable[[Value], Value]) -> Value:
        """Apply `function` to each part of a list or the like; return other values unchanged."""
        return value

    def copy(self, value: Value) -> Value:
        """Return a copy of a value for a student's function, which may change the copy."""
        return self.map_parts(value, copy_value)

    def blank(self, value: Value) -> Value:
        """Return a value of the same type and shape without its contents: zeros, for example."""
        return self.map_parts(value, blank_like)

    def is_unchanged(self, original: Value, current: Any) -> bool:
        """Return True if an argument has still its original value after the call of a function."""
        if type(original) is not type(current):
            return False
        both_nan = original != original and current != current
        return both_nan or bool(original == current)

    def is_comparable(self, expected: Value, value: Value) -> bool:
        """Return True if a value has the expected type, so that its content can be compared."""
        return self.matches(value)

    def agrees(self, first: Value, second: Value, rules: ComparisonRules) -> bool:
        """Return True if two values agree to tolerance; the first has this type."""
        return find_difference(first, second, rules) is None

    def find_difference(
        self, expected: Value, value: Value, rules: ComparisonRules, wording: ResultWording
    ) -> Difference | None:
        """Return the first difference of a value from the expected one; None if the two agree."""
        if expected == value:
            return None
        texts = f"{self.short_repr(value)}; expected {self.short_repr(expected)}"
        return Difference("values", wording.add_place(f"{wording.lead_in} {texts}."))

    def describe(self, value: Value) -> str:
        """Describe the type of a value: "a NumPy array of shape (2, 3)"."""
        return add_article(type(value).__name__)

    def short_repr(self, value: Value) -> str:
        """Return a value as a short text for messages, such as "(4, 3)" for an array."""
        return truncate(repr(value), 60)


def get_value_type(value: Value) -> ValueType:
    """Return the object that handles a value's type; raise EncodingError if no type fits."""
    value_type = _TYPE_BY_CLASS.get(type(value))
    if value_type is not None:
        return value_type
    for value_type in VALUE_TYPES:
        if value_type.matches(value):
            return value_type
    raise EncodingError(f"a {type(value).__name__} is no value")


def convert_result(result: Any, budget: SizeBudget, depth: int = 0) -> Value:
    """Convert a function's result to plain data (a value); raise UnsupportedValue if that fails."""
    description = f"{type(result).__name__} of too many parts"
    if depth > MAX_DEPTH:
        raise UnsupportedValue(description)
    budget.spend(description, parts=1)
    value_type = _TYPE_BY_CLASS.get(type(result))
    if value_type is not None:
        return value_type.convert(result, budget, depth)
    for value_type in VALUE_TYPES:
        if value_type.accepts(result):
            return value_type.convert(result, budget, depth)
    raise UnsupportedValue(type(result).__name__)


def pack_value(value: Value, arrays: list[np.ndarray]) -> dict:
    """Encode a value as a JSON object. Append the arrays in it to `arrays`.

    >>> pack_value((1, "a"), [])
    {'tuple': [{'value': 1}, {'value': 'a'}]}
    """
    return get_value_type(value).pack(value, arrays)


def have_too_many_hash_collisions(keys: Iterable[Value]) -> bool:
    """Return True if so many keys have the same hash that a dict of them would be very slow.

    Whole numbers that differ by a multiple of 2^61 - 1 have the same hash, and each is compared
    with all others of that hash. Powers of two, which students do use, have only 61 different
    hashes. So a hundred comparisons for each key are accepted. Raise TypeError if a key cannot be hashed.
    """
    counts = Counter(map(hash, keys)).values()
    return sum(count * count for count in counts) > 100 * sum(counts) + 10_000


def unpack_value(data: Any, arrays: Arrays, depth: int = 0) -> Value:
    """Decode a value from what `pack_value` returned; raise EncodingError for any other data."""
    if not isinstance(data, dict) or len(data) != 1 or depth > MAX_DEPTH:
        raise EncodingError("a value is an object with one key, nested not too deep")
    if isinstance(arrays, SingleUseArrays):
        arrays.count_part()
    ((name, content),) = data.items()
    if name not in _TYPE_BY_NAME:
        raise EncodingError("no such kind of value")
    return _TYPE_BY_NAME[name].unpack(name, content, arrays, depth)


def map_arrays(value: Value, function: Callable[[np.ndarray], Value]) -> Value:
    """Return a copy of a value with `function` applied to each array in it."""
    if isinstance(value, np.ndarray):
        return function(value)
    return get_value_type(value).map_parts(value, partial(map_arrays, function=function))


def copy_value(value: Value) -> Value:
    """Return a copy of an argument for a student's function, which may change the copy.

    Arrays keep their memory layout. Tables become DataFrames or Series. Deferred calls are made.
    """
    return get_value_type(value).copy(value)


def map_inputs(inputs: Inputs, function: Callable[[Value], Value]) -> Inputs:
    """Return a test case's inputs with `function` applied to each argument and result query."""
    queries = tuple(map(function, inputs.result_queries))
    return replace(map_arguments(inputs, inputs.args, function), result_queries=queries)


def map_arguments(call: Call, args: tuple, function: Callable[[Value], Value]) -> Call:
    """Return a call with these positional arguments, after applying `function` to all arguments."""
    kwargs = {name: function(value) for name, value in call.kwargs.items()}
    return replace(call, args=tuple(map(function, args)), kwargs=kwargs)


def copy_inputs(inputs: Inputs) -> Inputs:
    """Return inputs with a copy of each argument, which the student's function may modify."""
    kwargs = {name: copy_value(value) for name, value in inputs.kwargs.items()}
    return Inputs(tuple(map(copy_value, inputs.args)), kwargs, inputs.memory)


def convert_argument(argument: Any) -> Value:
    """Convert an argument in a test case, as the course's author wrote it, to plain data.

    A pandas table becomes a `DataTable`. A function becomes a `DeferredCall` with its name.
    """
    if type(argument) in (bool, int, float, str):
        return argument
    if type(argument) is np.ndarray and name_dtype(argument.dtype) in DTYPES:
        return argument
    if is_pandas(argument):
        return convert_result(argument, SizeBudget.for_argument())
    if isinstance(argument, StudentResultPlaceholder):
        return convert_argument(argument._autograder_call)
    if callable(argument) and not any(value_type.matches(argument) for value_type in VALUE_TYPES):
        return DeferredCall(importable_name(argument))
    if isinstance(argument, DeferredCall) and callable(argument.function):
        argument = replace(argument, function=importable_name(argument.function))
    if isinstance(argument, (np.datetime64, np.timedelta64)):
        name = type(argument).__name__
        raise EncodingError(f"a {name} is no value by itself: give Python's own, or an array")
    if isinstance(argument, np.ndarray) and name_dtype(argument.dtype) not in DTYPES:
        return convert_result(argument, SizeBudget.for_argument())
    return get_value_type(argument).map_parts(argument, convert_argument)


def blank_like(value: Value) -> Value:
    """Return a value of the same type and shape without its contents: zeros, for example."""
    return get_value_type(value).blank(value)


def find_arrays(value: Value) -> list[np.ndarray]:
    """Return all the arrays in a value."""
    arrays: list[np.ndarray] = []
    map_arrays(value, arrays.append)
    return arrays


def is_unchanged(original: Value, current: Any) -> bool:
    """Return True if an argument has still its original value after the call of a function."""
    return get_value_type(original).is_unchanged(original, current)


def values_agree(first: Value, second: Value, rules: ComparisonRules) -> bool:
    """Return True if two values agree to tolerance."""
    return get_value_type(first).agrees(first, second, rules)


def find_difference(
    expected: Value, value: Value, rules: ComparisonRules, wording: ResultWording = PLAIN_WORDING
) -> Difference | None:
    """Return the first difference of a value from the expected one; None if they agree."""
    value_type = get_value_type(expected)
    if not value_type.is_comparable(expected, value):
        return type_difference(expected, value, rules, wording)
    return value_type.find_difference(expected, value, rules, wording)


def describe_value(value: Value) -> str:
    """Describe the type of a value: "a NumPy array of shape (2, 3)"."""
    return get_value_type(value).describe(value)


def short_repr(value: Value) -> str:
    """Return a value as a short text for messages, such as "(4, 3)" for an array."""
    return get_value_type(value).short_repr(value)


def type_difference(
    expected: Value, value: Value, rules: ComparisonRules, wording: ResultWording
) -> Difference:
    """Describe the difference if a result has another type than expected."""
    expected_words = describe_value(expected)
    if rules.returns == "tensor":
        expected_words = expected_words.replace("NumPy array", "tensor")
    mistake = None
    if isinstance(expected, np.ndarray):
        mistake = _NOT_AN_ARRAY.get(type(value))
    elif isinstance(value, np.ndarray) and type(expected) in (int, float):
        mistake = "array-for-one-number"
    elif isinstance(value, tuple) and not isinstance(expected, (tuple, list, Mapping)):
        mistake = "returns-a-tuple"
    value_words = describe_value(value)
    if isinstance(value, (list, tuple)):  # name the type only, not the number of parts
        value_words = add_article(type(value).__name__)
    sentence = f"{wording.lead_in} {value_words}; expected {expected_words}."
    return Difference("type", wording.add_place(sentence), mistake)


_NOT_AN_ARRAY: dict[type, str] = {
    list: "returns-a-list",
    tuple: "returns-a-tuple",
    float: "one-number",
}


def text_difference(
    subject: str, expected: str, value: str, wording: ResultWording = PLAIN_WORDING
) -> Difference | None:
    """Describe the first line in which two texts differ; None if the texts are equal.

    `subject` names the student's text in the sentence: "Your text".
    """
    if expected == value:
        return None
    expected_lines, value_lines = expected.split("\n"), value.split("\n")
    index = 0
    while expected_lines[index : index + 1] == value_lines[index : index + 1]:
        index += 1
    line = f"in line {index + 1} " if len(expected_lines) > 1 or len(value_lines) > 1 else ""
    if index == len(value_lines):
        expected_line = _quote(expected_lines[index])
        sentence = f"{subject} ends after line {index}; expected {expected_line} next."
    elif index == len(expected_lines):
        value_line = _quote(value_lines[index])
        sentence = f"{subject} goes on {line}with {value_line}; expected nothing more."
    else:
        value_line, expected_line = _quote(value_lines[index]), _quote(expected_lines[index])
        sentence = f"{subject} says {line}{value_line}; expected {expected_line}."
    return Difference("values", wording.add_place(sentence))


def _quote(text: str) -> str:
    return repr(truncate(text, _MAX_QUOTED_CHARACTERS))


@cache
def import_function(name: str) -> Callable[..., Any]:
    """Import the function that a text names: "numpy:sin" is the function `sin` of `numpy`."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def importable_name(function: Any) -> str:
    """Return the text "module:function" by which every process can import a function.

    Raise EncodingError if this name does not give the function, or if students lack the module.

    >>> importable_name(np.sin), importable_name(len)
    ('numpy:sin', 'builtins:len')
    """
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", "") or getattr(function, "__name__", "")
    packages = allowed_packages()
    try:
        available = packages is None or module.partition(".")[0] in packages
        if available and import_function(f"{module}:{name}") is function:
            return f"{module}:{name}"
    except (ImportError, AttributeError, ValueError):
        pass
    raise EncodingError(
        f"{name or add_article(type(function).__name__)} is not found by its name in the course's "
        "library, nor in what else students have: define it at the top of a module of the library"
    )


def apply_view(value: np.ndarray, rules: ComparisonRules) -> np.ndarray:
    """Return what an exercise compares of an array: itself, or what `rules.view` makes of it."""
    if not rules.view:
        return value
    return import_function(rules.view)(value)


def is_tensor(result: Any) -> bool:
    """Return True for a tensor of one of Keras's backends, such as TensorFlow.

    Objects of other packages that convert themselves to an array, such as `np.poly1d`, are none.
    """
    if not hasattr(result, "__array__") or isinstance(result, type):
        return False
    return any(
        base.__module__.partition(".")[0] in _TENSOR_PACKAGES for base in type(result).__mro__
    )


def get_array(arrays: Any, index: Any) -> Any:
    """Return the array with this number in a message; raise EncodingError if there is none."""
    if type(index) is not int or not 0 <= index < len(arrays):
        raise EncodingError("no such item")
    return arrays[index]
