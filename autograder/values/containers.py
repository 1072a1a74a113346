"""Convert, encode, compare and describe tuples, lists, dicts and sets."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.core.text_format import format_count, truncate
from autograder.values import value_types
from autograder.values.case_records import ComparisonRules, Value
from autograder.values.common_mistakes import Difference
from autograder.values.value_types import (
    Arrays,
    EncodingError,
    SizeBudget,
    UnsupportedValue,
    ValueType,
)
from autograder.values.wording import ResultWording, add_article, format_ordinal


class SequenceType(ValueType):
    """Type of values: a tuple or a list of other values."""

    names = ("tuple", "list")
    types = (tuple, list)

    def matches(self, value: Value) -> bool:
        return isinstance(value, (tuple, list))

    def convert(self, result: Any, budget: SizeBudget, depth: int) -> Value:
        parts = [value_types.convert_result(part, budget, depth + 1) for part in result]
        return parts if isinstance(result, list) else tuple(parts)

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        if type(value) not in (tuple, list):
            raise EncodingError(f"a {type(value).__name__} is no value")
        return {type(value).__name__: [value_types.pack_value(part, arrays) for part in value]}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> Value:
        parts = _unpack_list(data, arrays, depth)
        return tuple(parts) if name == "tuple" else parts

    def map_parts(self, value: Value, function: Callable[[Value], Value]) -> Value:
        return type(value)(map(function, value))

    def is_unchanged(self, original: Value, current: Any) -> bool:
        if type(original) is not type(current) or len(original) != len(current):
            return False
        return all(map(value_types.is_unchanged, original, current))

    def agrees(self, first: Value, second: Value, rules: ComparisonRules) -> bool:
        if not isinstance(second, (tuple, list)) or len(first) != len(second):
            return False
        # Here two answers are compared, such as a student's and a misconception's. A list and a
        # tuple of arrays agree: both return several results. A list and a tuple of numbers do not
        # agree: one may be the right type, and the other a mistake.
        if type(first) is not type(second) and not any(isinstance(p, np.ndarray) for p in first):
            return False
        pairs = zip(first, second, strict=True)
        return all(value_types.values_agree(a, b, rules) for a, b in pairs)

    def find_difference(
        self, expected: Value, value: Value, rules: ComparisonRules, wording: ResultWording
    ) -> Difference | None:
        if isinstance(expected, list) and _holds_sequences_for_arrays(expected, value):
            # The student's function may return a tuple whose first value is the expected list of
            # arrays. Comparing part by part would compare that whole list with the first expected
            # array, and the message would mislead.
            sentence = (
                f"{wording.lead_in} {self.describe(value)}; expected {self.describe(expected)}."
            )
            return Difference("type", wording.add_place(sentence), "more-than-the-list")
        if len(value) != len(expected):
            return self._length_difference(len(expected), len(value), wording)
        values = format_count(len(expected), "value")
        owner = f"its {values}" if wording.place else f"the {values} that you return"
        for i, (expected_part, part) in enumerate(zip(expected, value, strict=True)):
            part_wording = wording.for_part(f"In the {format_ordinal(i + 1)} of {owner}: ")
            difference = value_types.find_difference(expected_part, part, rules, part_wording)
            if difference:
                return replace(difference, path=(i, *difference.path))
        return None

    def _length_difference(self, expected: int, length: int, wording: ResultWording) -> Difference:
        lead_in = wording.lead_in
        mistake: str | None = "another-number-of-values"
        if wording.place:
            mistake = None
            lead_in = "found"
        sentence = f"{lead_in} {format_count(length, 'value')}; expected {expected}."
        return Difference("shape", wording.add_place(sentence), mistake)

    def describe(self, value: Value) -> str:
        return f"{add_article(type(value).__name__)} of {format_count(len(value), 'value')}"

    def short_repr(self, value: Value) -> str:
        parts = ", ".join(map(value_types.short_repr, value))
        return f"({parts})" if isinstance(value, tuple) else f"[{parts}]"


def _holds_sequences_for_arrays(expected: list, value: Value) -> bool:
    """Return True if a returned tuple has a list among its parts, where arrays are expected."""
    if not isinstance(value, tuple) or not expected:
        return False
    expects_arrays = all(isinstance(part, np.ndarray) for part in expected)
    return expects_arrays and any(isinstance(part, (list, tuple)) for part in value)


def _unpack_list(data: Any, arrays: Arrays, depth: int) -> list[Value]:
    if not isinstance(data, list):
        raise EncodingError("no such kind of value")
    return [value_types.unpack_value(part, arrays, depth + 1) for part in data]


class MappingType(ValueType):
    """Value type for mappings whose keys are texts, numbers or tuples.

    Expected values may be any mapping; a student's result must be a dict.
    """

    names = ("mapping", "entries")

    def matches(self, value: Value) -> bool:
        return isinstance(value, Mapping)

    def accepts(self, result: Any) -> bool:
        return isinstance(result, dict)

    def convert(self, result: Any, budget: SizeBudget, depth: int) -> dict:
        entries = []
        for key, part in result.items():
            key = value_types.convert_result(key, budget, depth + 1)
            entries.append((key, value_types.convert_result(part, budget, depth + 1)))
        try:
            if value_types.have_too_many_hash_collisions(key for key, _ in entries):
                raise UnsupportedValue("dict with very many keys of one hash")
        except TypeError:  # a key was converted to a value without a hash, such as a list
            raise UnsupportedValue("dict whose keys are no plain values") from None
        return dict(entries)

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        if all(type(key) is str for key in value):
            return {"mapping": {key: value_types.pack_value(value[key], arrays) for key in value}}
        entries = []
        for key in value:
            packed_key = value_types.pack_value(key, arrays)
            entries.append([packed_key, value_types.pack_value(value[key], arrays)])
        return {"entries": entries}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> dict:
        if name == "mapping" and isinstance(data, dict):
            return {key: value_types.unpack_value(data[key], arrays, depth + 1) for key in data}
        if name == "mapping" or not isinstance(data, list):
            raise EncodingError("no such kind of value")
        entries = []
        for pair in data:
            if not isinstance(pair, list) or len(pair) != 2:
                raise EncodingError("expected a key and a value")
            key, part = _unpack_list(pair, arrays, depth)
            entries.append((key, part))
        try:
            if value_types.have_too_many_hash_collisions(key for key, _ in entries):
                raise EncodingError("too many keys of one hash")
            return dict(entries)
        except TypeError:
            raise EncodingError("a key that has no hash, such as a list") from None

    def map_parts(self, value: Value, function: Callable[[Value], Value]) -> dict:
        return {key: function(part) for key, part in value.items()}

    def is_unchanged(self, original: Value, current: Any) -> bool:
        if type(current) is not dict or original.keys() != current.keys():
            return False
        return all(value_types.is_unchanged(original[key], current[key]) for key in original)

    def agrees(self, first: Value, second: Value, rules: ComparisonRules) -> bool:
        if not isinstance(second, Mapping) or first.keys() != second.keys():
            return False
        return all(value_types.values_agree(first[key], second[key], rules) for key in first)

    def find_difference(
        self, expected: Value, value: Value, rules: ComparisonRules, wording: ResultWording
    ) -> Difference | None:
        missing = [key for key in expected if key not in value]
        extra = [key for key in value if key not in expected]
        if missing or extra:
            fault = f"no entry {missing[0]!r}" if missing else f"an entry {extra[0]!r}"
            keys = ", ".join(map(repr, expected))
            sentence = f"{wording.result} has {fault}; its keys should be {keys}."
            return Difference("shape", wording.add_place(sentence))
        for key in expected:
            part_wording = wording.for_part(f"In the entry {key!r}: ")
            difference = value_types.find_difference(expected[key], value[key], rules, part_wording)
            if difference:
                return replace(difference, path=(key, *difference.path))
        return None

    def describe(self, value: Value) -> str:
        return f"a dict with the entries {', '.join(map(repr, value))}"

    def short_repr(self, value: Value) -> str:
        if len(value) > 4:  # such as the parameters of a model
            return f"a mapping with {len(value)} entries"
        entries = [f"{key!r}: {value_types.short_repr(value[key])}" for key in value]
        return "{" + ", ".join(entries) + "}"


class SetType(ValueType):
    """Type of values: a set of values. Numbers in it are compared exactly, without a tolerance."""

    names = ("set",)

    def matches(self, value: Value) -> bool:
        return isinstance(value, (set, frozenset))

    def convert(self, result: Any, budget: SizeBudget, depth: int) -> set:
        members = [value_types.convert_result(part, budget, depth + 1) for part in result]
        if value_types.have_too_many_hash_collisions(members):
            raise UnsupportedValue("set with very many members of one hash")
        return set(members)

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        members = sorted(value, key=repr)
        return {"set": [value_types.pack_value(member, arrays) for member in members]}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> set:
        members = _unpack_list(data, arrays, depth)
        try:
            if value_types.have_too_many_hash_collisions(members):
                raise EncodingError("too many members of one hash")
            return set(members)
        except TypeError:
            raise EncodingError("a member of a set that has no hash, such as a list") from None

    def copy(self, value: Value) -> Value:
        return type(value)(value)

    def blank(self, value: Value) -> Value:
        return type(value)()

    def find_difference(
        self, expected: Value, value: Value, rules: ComparisonRules, wording: ResultWording
    ) -> Difference | None:
        missing, extra = expected - value, value - expected
        if not missing and not extra:
            return None
        verb = "lacks" if missing else "should not hold"
        member = min(missing or extra, key=repr)
        sentence = f"{wording.result} {verb} {truncate(repr(member), 60)}."
        return Difference("values", wording.add_place(sentence))

    def describe(self, value: Value) -> str:
        return f"a set of {format_count(len(value), 'value')}" if value else "an empty set"
