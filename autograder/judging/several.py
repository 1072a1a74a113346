"""What has parts: tuples and lists, mappings, sets."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.errors import counted, cut
from autograder.judging import kinds
from autograder.judging.kinds import Arrays, FrameError, Kind, NotPlain, Room
from autograder.judging.mistakes import Difference
from autograder.judging.question import Rules, Value
from autograder.judging.wording import Speaking, are_due, article, ordinal


class Several(Kind):
    """A tuple or a list of values."""

    names = ("tuple", "list")
    types = (tuple, list)

    def holds(self, value: Value) -> bool:
        return isinstance(value, (tuple, list))

    def take(self, result: Any, room: Room, depth: int) -> Value:
        parts = [kinds.take(part, room, depth + 1) for part in result]
        return parts if isinstance(result, list) else tuple(parts)

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        if type(value) not in (tuple, list):
            raise FrameError(f"a {type(value).__name__} is no value")
        return {type(value).__name__: [kinds.pack_value(part, arrays) for part in value]}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Value:
        if not isinstance(packed, list):
            raise FrameError("no such kind of value")
        parts = [kinds.unpack_value(part, arrays, depth + 1) for part in packed]
        return tuple(parts) if name == "tuple" else parts

    def mapped(self, value: Value, change: Callable[[Value], Value]) -> Value:
        return type(value)(map(change, value))

    def unchanged(self, before: Value, after: Any) -> bool:
        whole = type(before) is type(after) and len(before) == len(after)
        return whole and all(map(kinds.unchanged, before, after))

    def same(self, one: Value, other: Value, rules: Rules) -> bool:
        if not isinstance(other, (tuple, list)):
            return False
        # Several values may come in either; nested numbers are a mistake of their own in each.
        if type(one) is not type(other) and not any(isinstance(part, np.ndarray) for part in one):
            return False
        return len(one) == len(other) and all(
            kinds.same(a, b, rules) for a, b in zip(one, other, strict=True)
        )

    def difference(self, due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        if len(value) != len(due):
            returned = "there are" if speaking.place and len(value) != 1 else speaking.returned
            seen = f"{returned} {counted(len(value), 'value')}; {are_due(len(due))}."
            mistake = None if speaking.place else "another-number-of-values"
            return Difference("shape", speaking.says(seen), mistake)
        many = counted(len(due), "value")
        whole = f"its {many}" if speaking.place else f"the {many} that you return"
        for i, (one, other) in enumerate(zip(due, value, strict=True)):
            place = f"In the {ordinal(i + 1)} of {whole}: "
            if found := kinds.difference(one, other, rules, speaking.inside(place)):
                return replace(found, path=(i, *found.path))
        return None

    def words(self, value: Value) -> str:
        return f"{article(type(value).__name__)} of {counted(len(value), 'value')}"

    def short(self, value: Value) -> str:
        marks = "()" if isinstance(value, tuple) else "[]"
        return f"{marks[0]}{', '.join(map(kinds.short, value))}{marks[1]}"


class Entries(Kind):
    """A mapping of texts, numbers, or tuples of them to values; it is a dict when it comes."""

    names = ("mapping", "entries")

    def holds(self, value: Value) -> bool:
        return isinstance(value, Mapping)

    def takes(self, result: Any) -> bool:
        return isinstance(result, dict)

    def take(self, result: Any, room: Room, depth: int) -> dict:
        try:
            return {
                kinds.take(key, room, depth + 1): kinds.take(part, room, depth + 1)
                for key, part in result.items()
            }
        except TypeError:  # what is hashed by its identity, say, is a list as a value
            raise NotPlain("dict whose keys are no plain values") from None

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        if all(type(key) is str for key in value):
            return {"mapping": {key: kinds.pack_value(part, arrays) for key, part in value.items()}}
        return {
            "entries": [
                [kinds.pack_value(key, arrays), kinds.pack_value(value[key], arrays)] for key in value
            ]
        }

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> dict:
        if name == "mapping" and isinstance(packed, dict):
            return {key: kinds.unpack_value(part, arrays, depth + 1) for key, part in packed.items()}
        if name == "mapping" or not isinstance(packed, list):
            raise FrameError("no such kind of value")
        found = {}
        for pair in packed:
            if not isinstance(pair, list) or len(pair) != 2:
                raise FrameError("a key and a value were due")
            key, part = (kinds.unpack_value(item, arrays, depth + 1) for item in pair)
            try:
                found[key] = part
            except TypeError:
                raise FrameError("a list, say, is no key") from None
        return found

    def mapped(self, value: Value, change: Callable[[Value], Value]) -> dict:
        return {key: change(part) for key, part in value.items()}

    def unchanged(self, before: Value, after: Any) -> bool:
        whole = type(after) is dict and before.keys() == after.keys()
        return whole and all(kinds.unchanged(before[k], after[k]) for k in before)

    def same(self, one: Value, other: Value, rules: Rules) -> bool:
        if not isinstance(other, Mapping) or one.keys() != other.keys():
            return False
        return all(kinds.same(one[k], other[k], rules) for k in one)

    def difference(self, due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        for lack, holders, others in (("has no entry", due, value), ("has an entry", value, due)):
            strange = [key for key in holders if key not in others]
            if strange:
                known = ", ".join(map(repr, due))
                seen = f"{speaking.result} {lack} {strange[0]!r}; its entries are to be {known}."
                return Difference("shape", speaking.says(seen))
        for key in due:
            if found := kinds.difference(due[key], value[key], rules, speaking.inside(f"Under {key!r}: ")):
                return replace(found, path=(key, *found.path))
        return None

    def words(self, value: Value) -> str:
        return f"a dict with the entries {', '.join(map(repr, value))}"

    def short(self, value: Value) -> str:
        if len(value) > 4:  # a model's parameters, say
            return f"a mapping with {len(value)} entries"
        return "{" + ", ".join(f"{k!r}: {kinds.short(part)}" for k, part in value.items()) + "}"


class Unordered(Kind):
    """A set of values; equal numbers are equal to the last digit."""

    names = ("set",)

    def holds(self, value: Value) -> bool:
        return isinstance(value, (set, frozenset))

    def take(self, result: Any, room: Room, depth: int) -> set:
        return {kinds.take(part, room, depth + 1) for part in result}

    def pack(self, value: Value, arrays: list[np.ndarray]) -> dict:
        return {"set": [kinds.pack_value(part, arrays) for part in sorted(value, key=repr)]}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> set:
        if not isinstance(packed, list):
            raise FrameError("no such kind of value")
        try:
            return {kinds.unpack_value(part, arrays, depth + 1) for part in packed}
        except TypeError:
            raise FrameError("a list, say, is in no set") from None

    def copied(self, value: Value) -> Value:
        return type(value)(value)

    def zeros(self, value: Value) -> Value:
        return type(value)()

    def difference(self, due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        for lack, strange in (("lacks", due - value), ("should not hold", value - due)):
            if strange:
                seen = f"{speaking.result} {lack} {cut(repr(min(strange, key=repr)), 60)}."
                return Difference("values", speaking.says(seen))
        return None

    def words(self, value: Value) -> str:
        return f"a set of {counted(len(value), 'value')}"
