"""Encode and compare None, numbers, texts, dates and NumPy's scalar types."""

import datetime as dt
import re
from typing import Any

import numpy as np

from autograder.core.text_format import truncate
from autograder.values import value_types
from autograder.values.case_records import DTYPES, ComparisonRules, Value, name_dtype
from autograder.values.common_mistakes import Difference
from autograder.values.tolerance import numbers_agree
from autograder.values.value_types import (
    Arrays,
    EncodingError,
    SizeBudget,
    UnsupportedValue,
    ValueType,
)
from autograder.values.wording import ResultWording, format_differently, format_number

MAX_JSON_INTEGER = 2**63  # larger whole numbers are encoded as text
_HEX_INTEGER = re.compile(r"-?(?:0x)?[0-9a-f]+")
MAX_INTEGER_BITS = 1000  # of a whole number; a float can still approximate it
_MAX_DATE_CHARACTERS = 40
_MAX_FLOAT_CHARACTERS = 39

_SPECIAL_FLOATS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_DESCRIPTIONS = {
    bool: "True or False",
    int: "a whole number (int)",
    float: "a number (float)",
    complex: "a complex number",
    str: "a text (str)",
}
_DATE_DESCRIPTIONS: dict[type, str] = {
    dt.date: "a date",
    dt.datetime: "a date with a time (datetime)",
    dt.timedelta: "a duration (timedelta)",
}


class ScalarType(ValueType):
    """Type of values: None, a bool, a number or a text. An argument may also be a NumPy scalar."""

    names = ("value", "float", "scalar", "complex", "integer")
    types = (type(None), bool, int, float, complex, str)

    def matches(self, value: Value) -> bool:
        return value is None or isinstance(value, (bool, int, float, complex, str, np.generic))

    def accepts(self, result: Any) -> bool:
        if isinstance(result, np.generic) and not isinstance(result, np.str_):
            return name_dtype(result.dtype) in DTYPES or isinstance(result, np.complexfloating)
        return self.matches(result)

    def convert(self, result: Any, budget: SizeBudget, depth: int) -> Value:
        if isinstance(result, np.generic) and not isinstance(result, np.str_):
            return result.item()
        if isinstance(result, str):
            budget.spend("str of too many characters", characters=len(result))
            return str(result)
        if result is not None and type(result) not in (bool, int, float, complex):  # a subclass
            base = next(base for base in (int, float, complex) if isinstance(result, base))
            result = base(result)
        if type(result) is int and result.bit_length() > MAX_INTEGER_BITS:
            raise UnsupportedValue(f"int of more than {MAX_INTEGER_BITS} bits")
        return result

    def blank(self, value: Value) -> Value:
        return None if value is None else type(value)()

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        if isinstance(value, np.generic):
            arrays.append(np.asarray(value))
            return {"scalar": len(arrays) - 1}
        if type(value) is float and not abs(value) < float("inf"):
            return {"float": str(value)}
        if type(value) is complex:
            return {"complex": [str(value.real), str(value.imag)]}
        if type(value) is int and not -MAX_JSON_INTEGER <= value < MAX_JSON_INTEGER:
            return {"integer": hex(value)}
        return {"value": value}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> Value:
        if name == "scalar":
            array = value_types.get_array(arrays, data)
            if array.ndim:
                raise EncodingError("a scalar has no axes")
            return array[()]
        if name == "value" and (data is None or type(data) in (bool, int, float, str)):
            return data
        try:
            if name == "float":
                return _SPECIAL_FLOATS[data]
            is_short = name == "integer" and len(data) <= MAX_INTEGER_BITS // 4 + 3
            if is_short and _HEX_INTEGER.fullmatch(data):  # int() takes blanks and underscores, too
                return int(data, 16)
            if name == "complex" and isinstance(data, list):
                real, imaginary = data
                if max(len(real), len(imaginary)) <= _MAX_FLOAT_CHARACTERS:
                    return complex(float(real), float(imaginary))
        except (KeyError, ValueError, TypeError):
            raise EncodingError("no such number") from None
        raise EncodingError("no such kind of value")

    def is_comparable(self, expected: Value, value: Value) -> bool:
        return True  # `find_difference` compares the types

    def agrees(self, first: Value, second: Value, rules: ComparisonRules) -> bool:
        if isinstance(second, np.ndarray):
            return False
        types = {type(first), type(second)}
        if float in types and types <= {int, float}:
            return numbers_agree(first, second, rules)
        if complex in types and types <= {int, float, complex}:
            first, second = complex(first), complex(second)
            size = max(abs(first), abs(second))
            real_agrees = numbers_agree(first.real, second.real, rules, size)
            return real_agrees and numbers_agree(first.imag, second.imag, rules, size)
        return type(first) is type(second) and first == second

    def find_difference(
        self, expected: Value, value: Value, rules: ComparisonRules, wording: ResultWording
    ) -> Difference | None:
        if isinstance(value, np.ndarray) and value.ndim == 0 and not isinstance(expected, str):
            value = value.item()
        if isinstance(expected, str) and isinstance(value, str):
            return value_types.text_difference("Your text", expected, value, wording)
        is_number = type(value) in (int, float)
        if type(expected) in (int, float) and is_number:
            return self._find_number_difference(expected, value, rules, wording)
        if type(expected) is complex and type(value) in (int, float, complex):
            if self.agrees(expected, value, rules):
                return None
            sentence = f"{wording.lead_in} {value:.4g}; expected {expected:.4g}."
            return Difference("values", wording.add_place(sentence))
        if rules.floats_too and type(expected) is bool and is_number and expected == value:
            return None
        if type(expected) is not type(value):
            return value_types.type_difference(expected, value, rules, wording)
        return super().find_difference(expected, value, rules, wording)

    def _find_number_difference(
        self, expected: float, value: float, rules: ComparisonRules, wording: ResultWording
    ) -> Difference | None:
        agrees = self.agrees(expected, value, rules)
        if type(expected) is int and type(value) is float and not (rules.floats_too and agrees):
            sentence = f"{wording.lead_in} {value!r}, a float; expected a whole number (int)."
            mistake = "not-a-whole-number" if value == expected else None
            return Difference("type", wording.add_place(sentence), mistake)
        if agrees:
            return None
        if type(expected) is int:
            value_text, expected_text = truncate(str(value), 60), truncate(str(expected), 60)
        else:
            value_text, expected_text = format_number(value), format_number(expected)
        if value_text == expected_text and type(expected) is type(value) is int:
            value_text, expected_text = str(value), str(expected)  # of which the ends differ
        elif value_text == expected_text:
            value_text, expected_text = format_differently(value, expected)
        kind = "values"
        if np.isfinite(float(expected)) and not np.isfinite(float(value)):
            kind = "not finite"
        sentence = f"{wording.lead_in} {value_text}; expected {expected_text}."
        return Difference(kind, wording.add_place(sentence))

    def describe(self, value: Value) -> str:
        if value is None:
            return "None"
        return _DESCRIPTIONS.get(type(value)) or super().describe(value)


class NumpyScalarClassType(ValueType):
    """Type of values: a NumPy scalar type, that is a class such as `np.float32`."""

    names = ("dtype",)

    def matches(self, value: Value) -> bool:
        if not isinstance(value, type) or not issubclass(value, np.generic):
            return False
        return np.dtype(value).name in DTYPES

    def pack(self, value: type, arrays: list[np.ndarray]) -> dict:
        return {"dtype": np.dtype(value).name}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> type:
        if not isinstance(data, str) or data not in DTYPES:
            raise EncodingError("no such kind of value")
        return np.dtype(data).type

    def short_repr(self, value: type) -> str:
        return value.__name__


class DateTimeType(ValueType):
    """Type of values: a date, datetime or timedelta. Those of NumPy and pandas are converted."""

    names = ("date", "datetime", "timedelta")

    def matches(self, value: Value) -> bool:
        return type(value) in _DATE_DESCRIPTIONS

    def accepts(self, result: Any) -> bool:
        return isinstance(result, (dt.date, dt.timedelta, np.datetime64, np.timedelta64))

    def convert(self, result: Any, budget: SizeBudget, depth: int) -> Value:
        try:
            if isinstance(result, (np.datetime64, np.timedelta64)):
                result = self._from_numpy(result)
            if isinstance(result, dt.timedelta):
                days, seconds = int(result.days), int(result.seconds)
                return dt.timedelta(days, seconds, int(result.microseconds))
            if isinstance(result, dt.datetime):
                # A student's subclass of datetime may have a hostile method `isoformat`. So call
                # the method of datetime itself.
                return dt.datetime.fromisoformat(dt.datetime.isoformat(result))
            return dt.date(int(result.year), int(result.month), int(result.day))
        except (AttributeError, TypeError, ValueError, OverflowError):  # NaT, or before the year 1
            raise UnsupportedValue("date that is none") from None

    def _from_numpy(self, result: Any) -> Any:
        item = result.item()
        if not isinstance(item, int):
            return item
        name = result.dtype.name.partition("[")[0]  # nanoseconds: Python has microseconds only
        return result.astype(f"{name}[us]").item()

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        name = type(value).__name__
        if isinstance(value, dt.timedelta):
            return {name: str(value // dt.timedelta(microseconds=1))}
        return {name: value.isoformat()}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> Value:
        if not isinstance(data, str) or len(data) > _MAX_DATE_CHARACTERS:
            raise EncodingError("expected a date")
        try:
            if name == "timedelta":
                return dt.timedelta(microseconds=int(data))
            if name == "date":
                return dt.date.fromisoformat(data)
            return dt.datetime.fromisoformat(data)
        except (ValueError, OverflowError):
            raise EncodingError("no such date") from None

    def blank(self, value: Value) -> Value:
        if isinstance(value, dt.timedelta):
            return dt.timedelta()
        return type(value)(1970, 1, 1)

    def is_comparable(self, expected: Value, value: Value) -> bool:
        return type(expected) is type(value)

    def describe(self, value: Value) -> str:
        return _DATE_DESCRIPTIONS[type(value)]

    def short_repr(self, value: Value) -> str:
        return str(value)
