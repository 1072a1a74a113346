"""What has no parts: None, numbers, texts, dates, types of numbers."""

import datetime as dt
from typing import Any

import numpy as np

from autograder.errors import cut
from autograder.judging import kinds
from autograder.judging.agreement import close_numbers
from autograder.judging.kinds import Arrays, FrameError, Kind, NotPlain, Room
from autograder.judging.mistakes import Difference
from autograder.judging.question import DTYPES, Rules, Value, dtype_name
from autograder.judging.wording import Speaking, number

MAX_INTEGER = 2**63  # beyond it a whole number travels as text
MAX_BITS = 1000  # of a whole number, so that each is near some float

_FLOATS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_WORDS = {
    bool: "True or False",
    int: "a whole number (int)",
    float: "a number (float)",
    complex: "a complex number",
    str: "a text (str)",
}
_DATE_WORDS: dict[type, str] = {
    dt.date: "a date",
    dt.datetime: "a date with a time (datetime)",
    dt.timedelta: "a duration (timedelta)",
}


class Single(Kind):
    """None, a bool, an int, a float, a complex number or a text; among the inputs also a number of NumPy's."""

    names = ("value", "float", "scalar", "complex", "integer")
    types = (type(None), bool, int, float, complex, str)

    def holds(self, value: Value) -> bool:
        return value is None or isinstance(value, (bool, int, float, complex, str, np.generic))

    def takes(self, result: Any) -> bool:
        if isinstance(result, np.generic):
            return dtype_name(result.dtype) in DTYPES or isinstance(result, np.complexfloating)
        return self.holds(result)

    def take(self, result: Any, room: Room, depth: int) -> Value:
        if isinstance(result, np.generic):
            return result.item()
        if isinstance(result, str):
            room.spend("str of too many characters", characters=len(result))
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
            array = kinds.item_of(arrays, packed)
            if array.ndim:
                raise FrameError("a scalar has no axes")
            return array[()]
        try:
            if name == "float":
                return _FLOATS[packed]
            if name == "integer" and len(packed) <= MAX_BITS // 4 + 3:
                return int(packed, 16)
            if name == "complex" and isinstance(packed, list) and max(map(len, packed)) < 40:
                real, imaginary = packed
                return complex(float(real), float(imaginary))
        except (KeyError, ValueError, TypeError):
            raise FrameError("no such number") from None
        if name == "value" and (packed is None or type(packed) in (bool, int, float, str)):
            return packed
        raise FrameError("no such kind of value")

    def is_like(self, due: Value, value: Value) -> bool:
        return True  # an int may do where a float is due

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
            return kinds.text_difference("Your text", due, value, speaking)
        if type(due) in (int, float) and type(value) in (int, float):
            return self._of_numbers(due, value, rules, speaking)
        if type(due) is complex and type(value) in (int, float, complex):
            seen = f"{speaking.returned} {value:.4g}; {due:.4g} is due."
            return None if self.same(due, value, rules) else Difference("values", speaking.says(seen))
        if rules.floats_too and type(due) is bool and type(value) in (int, float) and due == value:
            return None
        if type(due) is not type(value):
            return kinds.of_another_type(due, value, rules, speaking)
        return super().difference(due, value, rules, speaking)

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

    def short(self, value: type) -> str:
        return value.__name__


class Moment(Kind):
    """A date, a date with a time, or a duration: Python's, which those of NumPy and of pandas become."""

    names = ("date", "datetime", "timedelta")

    def holds(self, value: Value) -> bool:
        return type(value) in _DATE_WORDS

    def takes(self, result: Any) -> bool:
        return isinstance(result, (dt.date, dt.timedelta, np.datetime64, np.timedelta64))

    def take(self, result: Any, room: Room, depth: int) -> Value:
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

    def is_like(self, due: Value, value: Value) -> bool:
        return type(due) is type(value)

    def words(self, value: Value) -> str:
        return _DATE_WORDS[type(value)]

    def short(self, value: Value) -> str:
        return str(value)
