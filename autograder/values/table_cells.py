"""Cells of tables that are no number, boolean or text, as plain data: lists, dates, periods and more.

A pandas column with the dtype "object", or the categories of a column, may hold such cells. A list
becomes a `ListCell`, which can be hashed, and an object of pandas or of Python's standard library
becomes an `ObjectCell`, which is its text.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.values.case_records import ComparisonRules
from autograder.values.tolerance import all_true, elements_agree

# Content of one table cell: None if it is missing, a bool, a number, a text, an `ObjectCell`, or a
# `ListCell` or tuple of such contents.
CellValue = Any

MAX_CELL_DEPTH = 5  # levels of nested lists in a cell
MAX_OBJECT_CHARACTERS = 200

SCALAR_DESCRIPTIONS = {
    bool: "booleans",
    int: "whole numbers",
    float: "numbers",
    complex: "complex numbers",
    str: "texts",
}
# What students read about the objects that a cell may hold, by the name of their class.
_OBJECT_DESCRIPTIONS = {
    "Timestamp": "date objects",
    "datetime": "date objects",
    "date": "date objects",
    "time": "times of day",
    "Timedelta": "duration objects",
    "timedelta": "duration objects",
    "Period": "periods",
    "Interval": "intervals",
    "Decimal": "decimal numbers",
}


class InvalidCell(ValueError):
    """Error for a cell that is no plain data. The text is the name of its class."""


class ListCell(tuple):
    """List in a cell. It equals the tuple of its elements, and can be hashed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"


@dataclass(frozen=True)
class ObjectCell:
    """Object in a cell as its text, such as a date or an interval.

    Parameters
    ----------
    kind : str
        Name of the object's class, such as "Timestamp" or "Interval".
    text : str
        The object as text.
    detail : str
        Time zone of a Timestamp, or frequency of a Period; else "".
    """

    kind: str
    text: str
    detail: str = ""

    def __repr__(self) -> str:
        return self.text

    def __post_init__(self) -> None:
        if (
            self.kind not in _OBJECT_DESCRIPTIONS
            or type(self.text) is not str
            or type(self.detail) is not str
        ):
            raise InvalidCell(str(self.kind)[:MAX_OBJECT_CHARACTERS])
        if len(self.text) + len(self.detail) > MAX_OBJECT_CHARACTERS:
            raise InvalidCell(self.kind)

    def to_object(self) -> Any:
        """Return the object of pandas or of the standard library."""
        import datetime
        from decimal import Decimal

        import pandas as pd

        if self.kind == "Timestamp":
            return pd.Timestamp(self.text, tz=self.detail or None)
        if self.kind == "Period":
            return pd.Period(self.text, freq=self.detail)
        if self.kind == "Interval":
            return _parse_interval(self.text, self.detail)
        if self.kind == "Timedelta":
            return pd.Timedelta(self.text)
        if self.kind == "timedelta":
            return pd.Timedelta(self.text).to_pytimedelta()
        if self.kind == "Decimal":
            return Decimal(self.text)
        return getattr(datetime, self.kind).fromisoformat(self.text)


def _parse_interval(text: str, content: str) -> Any:
    """Return the interval of a text such as "(0, 1]"; `content` is the class of its bounds."""
    import pandas as pd

    converters: dict[str, Any] = {"int": int, "float": float}
    convert = converters.get(content) or getattr(pd, content)
    left, right = (convert(bound) for bound in text[1:-1].split(", "))
    closed = {"[]": "both", "[)": "left", "(]": "right", "()": "neither"}[text[0] + text[-1]]
    return pd.Interval(left, right, closed)


def cell_from_object(cell: Any, depth: int = 0) -> CellValue:
    """Convert the content of a pandas cell to plain data; raise InvalidCell if that is impossible."""
    if type(cell) in (bool, int, float, str):
        return cell
    if isinstance(cell, np.generic):
        cell = cell.item()
    if type(cell) in (list, tuple):
        if depth >= MAX_CELL_DEPTH:
            raise InvalidCell("deeply nested list")
        items = [None if item is None else cell_from_object(item, depth + 1) for item in cell]
        if any(isinstance(item, complex) for item in items):
            raise InvalidCell("list of complex numbers")
        return ListCell(items) if type(cell) is list else tuple(items)
    for scalar_type in SCALAR_DESCRIPTIONS:
        if isinstance(cell, scalar_type):
            return scalar_type(cell)
    if type(cell).__name__ in _OBJECT_DESCRIPTIONS:
        return _object_cell(cell)
    raise InvalidCell(type(cell).__name__)


def _object_cell(cell: Any) -> ObjectCell:
    """Return an object of pandas or of the standard library as its text."""
    kind, detail = type(cell).__name__, ""
    text = str(cell)
    if kind == "Timestamp":
        detail = str(cell.tz or "")
        text = cell.tz_localize(None).isoformat() if cell.tz else cell.isoformat()
    elif kind in ("Timedelta", "datetime", "date", "time"):
        text = cell.isoformat()
    elif kind == "Period":
        detail = str(cell.freqstr)
    elif kind == "Interval":
        detail = type(cell.left).__name__
        if isinstance(cell.left, (np.generic, int, float)):
            detail = "int" if isinstance(cell.left, (int, np.integer)) else "float"
    return ObjectCell(kind, text, detail)


def cell_to_object(cell: CellValue) -> Any:
    """Convert the content of a cell back to what pandas had."""
    if isinstance(cell, ListCell):
        return [cell_to_object(item) for item in cell]
    if isinstance(cell, tuple):
        return tuple(cell_to_object(item) for item in cell)
    return cell.to_object() if isinstance(cell, ObjectCell) else cell


def cell_to_plain(cell: CellValue) -> Any:
    """Return a cell as data that can be encoded; a list or an object as one text in JSON."""
    if isinstance(cell, (ObjectCell, tuple)):
        return {"json": json.dumps(_to_json(cell))}
    return cell


def _to_json(cell: CellValue) -> Any:
    if isinstance(cell, ObjectCell):
        return {"object": [cell.kind, cell.text, cell.detail]}
    if isinstance(cell, tuple):
        key = "list" if isinstance(cell, ListCell) else "tuple"
        return {key: [_to_json(item) for item in cell]}
    return cell


def cell_from_plain(plain: Any) -> CellValue:
    """Decode a cell from what `cell_to_plain` returned; raise InvalidCell for any other data."""
    if plain is None or type(plain) in SCALAR_DESCRIPTIONS:
        return plain
    if type(plain) is not dict or list(plain) != ["json"] or type(plain["json"]) is not str:
        raise InvalidCell("cell of another kind")
    try:
        return _from_json(json.loads(plain["json"]))
    except (ValueError, RecursionError):
        raise InvalidCell("cell of another kind") from None


def _from_json(data: Any, depth: int = 0) -> CellValue:
    if data is None or type(data) in SCALAR_DESCRIPTIONS:
        return data
    if type(data) is not dict or len(data) != 1 or depth > MAX_CELL_DEPTH:
        raise InvalidCell("cell of another kind")
    ((key, items),) = data.items()
    if type(items) is not list or key not in ("object", "list", "tuple"):
        raise InvalidCell("cell of another kind")
    if key == "object":
        if len(items) != 3:
            raise InvalidCell("cell of another kind")
        return ObjectCell(*items)
    cells = [_from_json(item, depth + 1) for item in items]
    return ListCell(cells) if key == "list" else tuple(cells)


def is_cell(cell: Any) -> bool:
    """Return True if this is the content of a cell as plain data."""
    if isinstance(cell, tuple):
        return all(map(is_cell, cell))
    return cell is None or isinstance(cell, ObjectCell) or type(cell) in SCALAR_DESCRIPTIONS


def describe_content(cell: CellValue) -> str:
    """Return the kind of a cell's content, such as "texts" or "lists"."""
    if isinstance(cell, tuple):
        return "lists"
    if isinstance(cell, ObjectCell):
        return _OBJECT_DESCRIPTIONS[cell.kind]
    return SCALAR_DESCRIPTIONS[type(cell)]


def measure_cell(cell: CellValue) -> int:
    """Return the size of a cell's content, for limits: its characters, and one for each element."""
    if isinstance(cell, tuple):
        return len(cell) + sum(map(measure_cell, cell))
    if isinstance(cell, ObjectCell):
        return len(cell.text)
    return len(cell) if isinstance(cell, str) else 0


def cells_agree(expected: CellValue, cell: CellValue, rules: ComparisonRules) -> bool:
    """Compare two cells; numbers, also those in lists, may differ by the tolerance."""
    if isinstance(expected, tuple) and isinstance(cell, tuple):
        if len(expected) != len(cell):
            return False
        if all(type(item) is float for item in (*expected, *cell)):
            return all_true(elements_agree(np.array(expected), np.array(cell), rules.tolerance))
        return all(cells_agree(a, b, rules) for a, b in zip(expected, cell))
    numbers = (int, float)
    if type(expected) in numbers and type(cell) in numbers:
        return all_true(elements_agree(np.array([expected]), np.array([cell]), rules.tolerance))
    return type(expected) is type(cell) and expected == cell
