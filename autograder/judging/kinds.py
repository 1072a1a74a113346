"""The kinds of values: whatever is asked of one stands in its class, and a new kind is one class more.

A value goes into a call or comes out of it (`autograder.judging.question`). What a call gave is taken as a value once;
then it travels, is copied, compared and described, by its kind alone. The kinds themselves, each enrolled as it is
defined, are in `single`, `arrays`, `several` and `made`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from autograder.errors import cut
from autograder.imports import allowed
from autograder.judging.asking import Recorder
from autograder.judging.mistakes import Difference
from autograder.judging.question import DTYPES, Inputs, Made, Rules, Value, dtype_name
from autograder.judging.tables import is_pandas
from autograder.judging.wording import PLAINLY, Speaking, article

MAX_VALUES = 1_000_000  # numbers in one answer; no case asks for more than a few thousand
MAX_GIVEN = 20_000_000  # cells of a table among the arguments
MAX_PARTS = 20_000  # values in one answer, an array counting as one: some 40 bytes of a frame's JSON each
MAX_DEPTH = 8
MAX_CHARACTERS = 20_000  # of text in one answer, and of what it prints


class FrameError(ValueError):
    """These bytes are not a frame of ours."""


class NotPlain(Exception):
    """What a result is, where it is no value."""


class Room:
    """What a result may still hold: parts, numbers and characters."""

    def __init__(self, parts: int = MAX_PARTS, numbers: int = MAX_VALUES, characters: int = MAX_CHARACTERS):
        self._parts, self._numbers, self._characters = parts, numbers, characters

    @classmethod
    def of_given(cls) -> "Room":
        """What an argument may hold."""
        return cls(numbers=MAX_GIVEN, characters=MAX_GIVEN)

    def has(self, parts: int = 0, numbers: int = 0, characters: int = 0) -> bool:
        """Whether so much is left."""
        return parts <= self._parts and numbers <= self._numbers and characters <= self._characters

    def spend(self, what: str, parts: int = 0, numbers: int = 0, characters: int = 0) -> None:
        """Take so much of it; NotPlain, with what the result is, where less is left."""
        if not self.has(parts, numbers, characters):
            raise NotPlain(what)
        self._parts -= parts
        self._numbers -= numbers
        self._characters -= characters


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
KINDS: list["Kind"] = []
_BY_NAME: dict[str, "Kind"] = {}
_USUAL: dict[type, "Kind"] = {}


class Kind:
    """One kind of value. What most kinds have in common stands here.

    `names` are those by which it travels in a frame's JSON. Of the `types`, which nearly all values have, every one is
    of this kind and is taken as it is: to ask each kind in turn takes longer than most of what is done with a value.
    """

    names: tuple[str, ...] = ()
    types: tuple[type, ...] = ()

    def __init_subclass__(cls) -> None:
        KINDS.append(kind := cls())
        _BY_NAME.update(dict.fromkeys(cls.names, kind))
        _USUAL.update(dict.fromkeys(cls.types, kind))

    def takes(self, result: Any) -> bool:
        """Whether what a call gave is of this kind."""
        return self.holds(result)

    def take(self, result: Any, room: "Room", depth: int) -> Value:
        """It as a value, if there is room for it."""
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

    def unchanged(self, before: Value, after: Any) -> bool:
        """Whether a call left it as it was."""
        return type(before) is type(after) and (bool(before == after) or before != before)  # NaN

    def is_like(self, due: Value, value: Value) -> bool:
        """Whether a value is such a thing as this one that is due, and can be compared with it part by part."""
        return self.holds(value)

    def same(self, one: Value, other: Value, rules: Rules) -> bool:
        """Whether two answers, the first of this kind, are the same."""
        return difference(one, other, rules) is None

    def difference(self, due: Value, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        """The first thing in which a value that is like this one is not as due."""
        seen = f"{speaking.returned} {self.short(value)}; {self.short(due)} is due."
        return None if due == value else Difference("values", speaking.says(seen))

    def words(self, value: Value) -> str:
        """What kind of thing it is: "a NumPy array of shape (2, 3)"."""
        return article(type(value).__name__)

    def short(self, value: Value) -> str:
        """It among the arguments of a case, in a few characters."""
        return cut(repr(value), 60)


def kind_of(value: Value) -> Kind:
    """The kind of a value; FrameError for what is none."""
    kind = _USUAL.get(type(value)) or next((kind for kind in KINDS if kind.holds(value)), None)
    if kind is None:
        raise FrameError(f"a {type(value).__name__} is no value")
    return kind


def take(result: Any, room: Room, depth: int = 0) -> Value:
    """What a call gave, as a value; NotPlain where it is none."""
    what = f"{type(result).__name__} of too many parts"
    if depth > MAX_DEPTH:
        raise NotPlain(what)
    room.spend(what, parts=1)
    kind = _USUAL.get(type(result)) or next((kind for kind in KINDS if kind.takes(result)), None)
    if kind is None:
        raise NotPlain(type(result).__name__)
    return kind.take(result, room, depth)


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


def mapped_inputs(given: Inputs, change: Callable[[Value], Value]) -> Inputs:
    """The same question with each of its values changed."""
    return replace(with_parts(given, given.args, change), asked=tuple(map(change, given.asked)))


def with_parts(call: Call, args: tuple, change: Callable[[Value], Value]) -> Call:
    """The same call with each of its arguments changed."""
    named = {name: change(value) for name, value in call.kwargs.items()}
    return replace(call, args=tuple(map(change, args)), kwargs=named)


def copied_inputs(given: Inputs) -> Inputs:
    """The arguments as a call gets them."""
    named = {name: copied(value) for name, value in given.kwargs.items()}
    return Inputs(tuple(map(copied, given.args)), named, given.memory)


def as_value(value: Value) -> Value:
    """What an author gives as an argument, as a value: a table of what is pandas' own, functions by their names."""
    if type(value) in (bool, int, float, str) or (
        type(value) is np.ndarray and dtype_name(value.dtype) in DTYPES
    ):
        return value  # as nearly all are
    if is_pandas(value):
        return take(value, Room.of_given())
    if isinstance(value, Recorder):
        return as_value(value._autograder_made)
    if callable(value) and not any(kind.holds(value) for kind in KINDS):
        return Made(name_of(value))
    if isinstance(value, Made) and callable(value.function):
        value = replace(value, function=name_of(value.function))
    if isinstance(value, (np.datetime64, np.timedelta64)):
        raise FrameError(f"a {type(value).__name__} is no value by itself: give Python's own, or an array")
    if isinstance(value, np.ndarray) and dtype_name(value.dtype) not in DTYPES:
        return take(value, Room.of_given())
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
    return kind_of(before).unchanged(before, after)


def same(one: Value, other: Value, rules: Rules) -> bool:
    """Whether two answers are the same value."""
    return kind_of(one).same(one, other, rules)


def difference(due: Value, value: Value, rules: Rules, speaking: Speaking = PLAINLY) -> Difference | None:
    """The first thing in which a value is not as due."""
    kind = kind_of(due)
    if not kind.is_like(due, value):
        return of_another_type(due, value, rules, speaking)
    return kind.difference(due, value, rules, speaking)


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


def text_difference(what: str, due: str, value: str, speaking: Speaking = PLAINLY) -> Difference | None:
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


def is_tensor(result: Any) -> bool:
    """Whether it is an array of one of Keras's backends."""
    return (
        hasattr(result, "__array__")
        and not isinstance(result, (np.ndarray, np.generic, type))
        and not any(base.__module__.partition(".")[0] == "pandas" for base in type(result).__mro__)
    )


def item_of(items: Any, index: Any) -> Any:
    """The array of this number; FrameError where there is none."""
    if type(index) is not int or not 0 <= index < len(items):
        raise FrameError("no such item")
    return items[index]
