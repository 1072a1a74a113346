"""What is neither number nor text, and travels by its name or as data: tables, figures, functions, errors that are due."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from autograder.errors import Complaint
from autograder.judging import kinds
from autograder.judging.asking import as_code
from autograder.judging.figures import Drawing, NoDrawing
from autograder.judging.kinds import Arrays, FrameError, Kind, NotPlain, Once, Room
from autograder.judging.mistakes import Difference
from autograder.judging.question import Made, Raised, Rules, Value
from autograder.judging.tables import NoTable, Table, is_pandas, of_pandas
from autograder.judging.wording import Speaking, article


class Tabular(Kind):
    """A DataFrame or a Series, as a `Table`; a call gets pandas' own."""

    names = ("table",)

    def holds(self, value: Value) -> bool:
        return isinstance(value, Table)

    def takes(self, result: Any) -> bool:
        return isinstance(result, Table) or is_pandas(result)

    def take(self, result: Any, room: Room, depth: int) -> Table:
        if not room.has(numbers=result.size):
            raise NotPlain(f"{type(result).__name__} of {result.size:,} cells")
        try:
            table = result if isinstance(result, Table) else of_pandas(result)
        except NoTable as what:
            raise NotPlain(str(what)) from None
        full = f"{table.kind} of too many cells, or too much text"
        room.spend(full, parts=len(table.data), numbers=table.size)
        return table

    def pack(self, value: Table, arrays: list[np.ndarray]) -> dict:
        return {"table": kinds.pack_value(value.plain(), arrays)}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Table:
        try:
            return Table.of_plain(kinds.unpack_value(packed, arrays, depth + 1))
        except NoTable as what:
            raise FrameError(str(what)) from None

    def copied(self, value: Table) -> Any:
        return value.to_pandas()

    def zeros(self, value: Table) -> Table:
        return value.zeros()

    def unchanged(self, before: Table, after: Any) -> bool:
        try:
            return is_pandas(after) and kinds.unchanged(before.plain(), of_pandas(after).plain())
        except NoTable:
            return False

    def is_like(self, due: Table, value: Value) -> bool:
        return isinstance(value, Table) and value.kind == due.kind

    def difference(self, due: Table, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
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

    def take(self, result: Drawing, room: Room, depth: int) -> Drawing:
        return Drawing.of_plain(kinds.take(result.plots, room, depth + 1))

    def pack(self, value: Drawing, arrays: list[np.ndarray]) -> dict:
        return {"drawing": kinds.pack_value(value.plots, arrays)}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Drawing:
        try:
            return Drawing.of_plain(kinds.unpack_value(packed, arrays, depth + 1))
        except NoDrawing as what:
            raise FrameError(str(what)) from None

    def mapped(self, value: Drawing, change: Callable[[Value], Value]) -> Drawing:
        return Drawing(change(value.plots))

    def zeros(self, value: Drawing) -> Drawing:
        return Drawing(kinds.changed(value.plots, np.zeros_like))  # with the texts of what is due

    def difference(self, due: Drawing, value: Value, rules: Rules, speaking: Speaking) -> Difference | None:
        return due.difference(
            value,
            lambda one, other, place: kinds.difference(one, other, rules, Speaking(place, "there is", "it")),
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
        return {"made": [value.function, *(kinds.pack_value(part, arrays) for part in parts)]}

    def unpack(self, name: str, packed: Any, arrays: Arrays, depth: int) -> Made:
        if isinstance(arrays, Once):  # an answer names nothing that would be looked up here
            raise FrameError("no such kind of value")
        if not isinstance(packed, list) or len(packed) not in (1, 3) or not isinstance(packed[0], str):
            raise FrameError("a function's name was due")
        return Made(packed[0], *(kinds.unpack_value(part, arrays, depth + 1) for part in packed[1:]))

    def mapped(self, value: Made, change: Callable[[Value], Value]) -> Made:
        return value if value.args is None else kinds.with_parts(value, value.args, change)

    def copied(self, value: Made) -> Any:
        return self.come_of(value, kinds.copied)

    def come_of(self, value: Made, part: Callable[[Value], Any]) -> Any:
        """The function, or what it makes of these parts of the value."""
        try:
            function = kinds.resolve(value.function)
        except (ImportError, AttributeError, ValueError):
            raise Complaint(
                f"The course's library has no {value.function} here: get the labs anew."
            ) from None
        own = self.mapped(value, part)
        return function if own.args is None else function(*own.args, **own.kwargs)

    def unchanged(self, before: Made, after: Any) -> bool:
        return True  # what an object is like inside is its own: a generator is there to be used up

    def same(self, one: Made, other: Value, rules: Rules) -> bool:
        return False

    def words(self, value: Made) -> str:
        return "a function"

    def short(self, value: Made) -> str:
        return as_code(value, kinds.short)


def worked_out(asked: Value, result: Any) -> Any:
    """What comes of it if this is asked of a result."""
    if not isinstance(asked, Made):
        return kinds.copied(asked)
    return Function().come_of(asked, partial(worked_out, result=result)) if asked.function else result
