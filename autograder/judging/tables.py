"""pandas' DataFrame and Series as plain data, and what is said where two of them differ.

pandas itself makes a table (`of_pandas`) or is made of one (`Table.to_pandas`): where an answer is called. Who judges
has plain tables, and needs no pandas for it.
"""

import re
import sys
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Literal

import numpy as np

from autograder.errors import counted, cut, listed
from autograder.judging.agreement import close, everywhere
from autograder.judging.mistakes import Difference
from autograder.judging.question import DTYPES, Rules
from autograder.judging.wording import are_due, number

Cell = None | bool | int | float | complex | str  # None where it is missing
Label = Any  # a cell, or a tuple of cells

MAX_COLUMNS = 2_000
_NOWHERE = np.iinfo(np.int64).min  # the missing date
_SHOWN = 8  # columns that a sentence lists
# The dtypes whose cells are kept one by one, and those of dates; the last two cannot be made again from texts.
_CELLS = re.compile(
    r"object|str|string|boolean|U?Int(8|16|32|64)|Float(32|64)|category(, ordered)?|period\[.{1,20}\]|interval\[.{1,40}\]"
)
_DATES = re.compile(r"(datetime64|timedelta64)\[(s|ms|us|ns)(, ([\w/+:-]{1,40}))?\]")


class NoTable(ValueError):
    """What a DataFrame or Series has that is no plain data, or what is wrong with the data of a table."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column, or one level of the labels of rows or columns.

    Parameters
    ----------
    dtype : str
        As pandas names it.
    values : numpy.ndarray, shape (rows,)
        The numbers; of dates and durations their nanoseconds; else the place of each cell in `levels`, or -1.
    levels : tuple of cells, optional
        The different cells; of a category its categories, in their order.
    """

    dtype: str
    values: np.ndarray
    levels: tuple[Cell, ...] | None = None

    def __post_init__(self) -> None:
        kept, date = _CELLS.fullmatch(self.dtype), _DATES.fullmatch(self.dtype)
        right = self.dtype if self.dtype in DTYPES else "int64" if kept or date else ""
        if (
            self.values.dtype.name != right
            or self.values.ndim != 1
            or bool(kept) != (self.levels is not None)
        ):
            raise NoTable(f"a column of {cut(self.dtype, 40)}")
        if self.levels is not None:
            if not all(
                level is None or type(level) in (bool, int, float, complex, str) for level in self.levels
            ):
                raise NoTable("a column with cells of another kind")
            if self.values.size and not -1 <= self.values.min() <= self.values.max() < len(self.levels):
                raise NoTable("a column with cells that are not there")

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def cells(self) -> np.ndarray:
        """Its cells, as an array of objects: None where one is missing."""
        if self.levels is not None:
            known = np.empty(len(self.levels) + 1, object)
            known[:-1] = self.levels
            return known[self.values]  # -1 is the last, None
        cells = self.values.astype(object)
        cells[self.missing] = None
        return cells

    @cached_property
    def missing(self) -> np.ndarray:
        """Where a cell is missing."""
        if self.levels is not None:
            known = np.array([*(level is None for level in self.levels), True])
            return known[self.values]
        if self.values.dtype.kind == "f":
            return np.isnan(self.values)
        return self.values == _NOWHERE if self.holds in ("dates", "durations") else np.zeros(len(self), bool)

    @cached_property
    def holds(self) -> str:
        """What its cells are, in words; "nothing" where all are missing."""
        if date := _DATES.fullmatch(self.dtype):
            return "dates" if date[1] == "datetime64" else "durations"
        if self.levels is None:
            return _NUMBERS.get(self.values.dtype.kind, "whole numbers")
        kinds = {type(cell) for cell in self.levels if cell is not None}
        if kinds == {int, float}:
            kinds = {float}
        return _WORDS[kinds.pop()] if len(kinds) == 1 else "cells of several kinds" if kinds else "nothing"

    @cached_property
    def numbers(self) -> np.ndarray | None:
        """Its numbers, NaN where one is missing; None if it holds something else."""
        if self.holds not in ("whole numbers", "numbers"):
            return None
        return self.values if self.levels is None else self.cells.astype(np.float64)

    def agree(self, other: "Column", rules: Rules) -> np.ndarray:
        """Where two columns of one length agree."""
        one, two = self.numbers, other.numbers
        if one is not None and two is not None:
            return close(one, two, rules.tolerance)
        if self.levels is other.levels is None and self.holds == other.holds:
            return self.values == other.values
        if self.holds == other.holds == "texts":
            return np.asarray(self.cells == other.cells, bool)
        return np.array([_alike(a, b, rules) for a, b in zip(self.cells, other.cells, strict=True)], bool)

    def fits(self, other: "Column", rules: Rules) -> bool:
        """Whether it holds the same kind of cells as another that is due."""
        if rules.exact_dtype:
            return self.dtype == other.dtype
        both = {self.holds, other.holds} - {"nothing"}
        return len(both) < 2 or both == {"numbers", "whole numbers"}

    def shown(self, i: int) -> str:
        """A cell as a sentence gives it."""
        if self.missing[i]:
            return "missing"
        if self.holds == "dates":
            zone = " UTC" if "," in self.dtype else ""
            return str(np.datetime_as_string(self.values[i].view("M8[ns]"), unit="auto")) + zone
        if self.holds == "durations":
            return str(timedelta(microseconds=int(self.values[i]) / 1000))
        cell = self.cells[i]
        return number(cell) if type(cell) is float else cut(repr(cell), 60)


_NUMBERS = {"f": "numbers", "b": "booleans"}
_WORDS: dict[type, str] = {
    bool: "booleans", int: "whole numbers", float: "numbers", complex: "complex numbers", str: "texts",
}  # fmt: skip


def _alike(one: Cell, other: Cell, rules: Rules) -> bool:
    numbers = (int, float)
    if type(one) in numbers and type(other) in numbers:
        return everywhere(close(np.array([one]), np.array([other]), rules.tolerance))
    return type(one) is type(other) and one == other


@dataclass(frozen=True, eq=False)
class Labels:
    """What the rows are called, or the columns: a level, or several, each with its own name."""

    levels: tuple[Column, ...]
    names: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.levels[0])

    def __getitem__(self, i: int) -> str:
        parts = [level.shown(i) for level in self.levels]
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    def named(self) -> list[str]:
        """Each as a sentence names a column."""
        return [f"`{self[i].strip(chr(39)).replace('`', chr(39))}`" for i in range(len(self))]

    @property
    def only_count(self) -> bool:
        """Whether they are 0, 1, 2…, as pandas gives them unasked."""
        whole = len(self.levels) == 1 and self.levels[0].dtype == "int64"
        return whole and np.array_equal(self.levels[0].values, np.arange(len(self)))


@dataclass(frozen=True, eq=False)
class Table:
    """A DataFrame, or a Series: then it has one column, and the name of it is `name`.

    Parameters
    ----------
    kind : {"DataFrame", "Series"}
    index : Labels
    columns : Labels or None
        None for a Series.
    data : tuple of Column
    name : cell or tuple of cells
    """

    kind: Literal["DataFrame", "Series"]
    index: Labels
    columns: Labels | None
    data: tuple[Column, ...]
    name: Label = None

    def __post_init__(self) -> None:
        if (self.kind == "Series") != (self.columns is None) or self.kind not in ("DataFrame", "Series"):
            raise NoTable("neither a DataFrame nor a Series")
        if len(self.data) > MAX_COLUMNS or len(self.data) != (
            1 if self.columns is None else len(self.columns)
        ):
            raise NoTable("another number of columns than of their labels, or too many")
        if any(len(column) != len(self.index) for column in (*self.data, *self.index.levels)):
            raise NoTable("columns of several lengths")

    def __repr__(self) -> str:
        return f"<{self.words}>"

    @property
    def size(self) -> int:
        """How many cells it has; of cells that are kept one by one each character of a different one counts."""
        columns = [*self.data, *self.index.levels, *(() if self.columns is None else self.columns.levels)]
        texts = sum(len(cell) for one in columns for cell in one.levels or () if isinstance(cell, str))
        return sum(map(len, columns)) + texts

    @property
    def words(self) -> str:
        """What it is: "a DataFrame of 3 rows and the columns 'a' and 'b'"."""
        rows = counted(len(self.index), "row")
        if self.columns is None:
            return f"a Series of {rows}"
        count = len(self.columns)
        if not 0 < count <= _SHOWN:
            return f"a DataFrame of {rows} and {count or 'no'} columns"
        return (
            f"a DataFrame of {rows} and the column{'' if count == 1 else 's'} {listed(self.columns.named())}"
        )

    def plain(self) -> dict[str, Any]:
        """It as a mapping of texts, arrays and lists."""

        def packed(column: Column) -> list:
            return [column.dtype, column.values, None if column.levels is None else list(column.levels)]

        def labels(these: Labels | None) -> Any:
            return None if these is None else [[*map(packed, these.levels)], [*these.names]]

        return {
            "kind": self.kind,
            "index": labels(self.index),
            "columns": labels(self.columns),
            "data": [packed(column) for column in self.data],
            "name": self.name,
        }

    @classmethod
    def of_plain(cls, plain: Any) -> "Table":
        """The inverse of `plain`; raises NoTable for anything else."""

        def column(packed: Any) -> Column:
            dtype, values, levels = packed
            if (
                type(dtype) is not str
                or type(values) is not np.ndarray
                or type(levels) not in (list, type(None))
            ):
                raise NoTable("no column")
            return Column(dtype, values, None if levels is None else tuple(levels))

        def labels(packed: Any) -> Labels:
            levels, names = packed
            found = tuple(map(column, levels))
            if not 0 < len(found) == len(names) <= 10 or len({len(level) for level in found}) != 1:
                raise NoTable("no labels")
            return Labels(found, tuple(map(_name, names)))

        try:
            columns = plain["columns"] and labels(plain["columns"])
            data = tuple(map(column, plain["data"]))
            return cls(plain["kind"], labels(plain["index"]), columns, data, _name(plain["name"]))
        except (TypeError, KeyError, ValueError) as error:
            raise NoTable(f"no table ({error})") from None

    def zeros(self) -> "Table":
        """One of the same form with nothing in it."""
        empty = [
            Column(c.dtype, np.zeros_like(c.values) - (c.levels is not None), c.levels) for c in self.data
        ]
        return Table(self.kind, self.index, self.columns, tuple(empty), self.name)

    def to_pandas(self) -> Any:
        """The DataFrame or Series.

        Raises
        ------
        NoTable
            Where pandas is not installed, or it has periods or intervals, which are kept as texts.
        """
        try:
            import pandas as pd
        except ImportError:
            raise NoTable("a table, and pandas is not installed here") from None

        def labels(these: Labels) -> Any:
            if these.only_count:
                return pd.RangeIndex(len(these), name=these.names[0])
            levels = [pd.Index(_series(level), name=name) for level, name in zip(these.levels, these.names)]
            return levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)

        index = labels(self.index)
        data = [_series(column, index) for column in self.data]
        if self.columns is None:
            return data[0].rename(self.name)
        frame = pd.DataFrame(dict(enumerate(data)), index=index)
        frame.columns = labels(self.columns)
        return frame

    def difference(self, value: "Table", rules: Rules, result: str) -> Difference | None:
        """The first thing in which a table is not as this one that is due; `result` names it in a sentence."""
        found = self._of_columns(value) or self._of_rows(value)
        if found:
            return Difference("shape", f"{result} {found}")
        if found := self._of_index(value, rules):
            return Difference("values", f"{result} {found}")
        names = [""] if self.columns is None else self.columns.named()
        wrong = []
        for name, due, came in zip(names, self.data, value.data):
            if not came.fits(due, rules):
                where = f" in the column {name}" if name else ""
                return Difference(
                    "dtype", f"{result} holds {_in_full(came)}{where}; {_in_full(due)} are due."
                )
            agree = due.agree(came, rules)
            if not everywhere(agree):
                wrong.append((name, due, came, agree))
        if not wrong:
            return None
        also = f" Rows of {listed(name for name, *_ in wrong[1:_SHOWN])} differ, too." if wrong[1:] else ""
        return Difference("values", self._of_cells(*wrong[0]) + also)

    def _of_columns(self, value: "Table") -> str:
        if self.columns is None or value.columns is None:
            return ""
        due, came = self.columns.named(), value.columns.named()
        if due == came:
            return ""
        wanted = f"the columns are to be {', '.join(due[:_SHOWN])}{', …' if len(due) > _SHOWN else ''}."
        for lacks, some, others in (("has no column", due, came), ("has a column", came, due)):
            if strange := [label for label in some if some.count(label) > others.count(label)]:
                return f"{lacks} {strange[0]}{'' if some is due else ' that is not due'}; {wanted}"
        return f"has the right columns in another order; {wanted}"

    def _of_rows(self, value: "Table") -> str:
        due, came = len(self.index), len(value.index)
        return "" if due == came else f"has {counted(came, 'row')}; {are_due(due)}."

    def _of_index(self, value: "Table", rules: Rules) -> str:
        due, came = self.index, value.index
        if len(due.levels) != len(came.levels):
            return f"has an index of {counted(len(came.levels), 'level')}; {are_due(len(due.levels))}."
        agree = np.all(
            [a.fits(b, rules) & b.agree(a, rules) for a, b in zip(came.levels, due.levels)], axis=0
        )
        if everywhere(agree):
            return ""
        at = int(np.argmin(agree))
        count = f"{int((~agree).sum())} of {len(agree)} rows"
        label = f"the first of them is {came[at]}, {due[at]} is due"
        if sorted(due.named()) == sorted(came.named()):
            return f"has the right rows in another order: {label}."
        if due.only_count:
            return f"has labels on its rows that are not 0, 1, 2…, as in a new index: {label}."
        return f"has another index in {count}: {label}."

    def _of_cells(self, name: str, due: Column, came: Column, agree: np.ndarray) -> str:
        at = int(np.argmin(agree))
        where = f"In the column {name} " if name else ""
        row = f"row {self.index[at]}"
        yours, wanted = came.shown(at), due.shown(at)
        if yours == wanted:
            yours, wanted = (f"{float(c.cells[at]):.9g}" for c in (came, due))
        seen = f"{int((~agree).sum())} of {len(agree)} rows differ: {row} is {yours}, {wanted} is due."
        lacking = int((came.missing & ~due.missing).sum())
        too_many = (
            f" {lacking} {'is' if lacking == 1 else 'are'} missing where a value is due."
            if lacking > 1
            else ""
        )
        return f"{where}{seen}{too_many}"


def _in_full(column: Column) -> str:
    return f"{column.holds} ({column.dtype})"


def _name(name: Any) -> Label:
    if isinstance(name, tuple):
        return tuple(_name(part) for part in name)
    if name is not None and type(name) not in (bool, int, float, complex, str):
        raise NoTable(f"a name that is a {type(name).__name__}")
    return name


def _series(column: Column, index: Any = None) -> Any:
    """A column as a Series."""
    import pandas as pd

    if column.levels is None and column.dtype in DTYPES:
        return pd.Series(column.values.copy(), index=index)
    if date := _DATES.fullmatch(column.dtype):
        series = pd.Series(
            column.values.view("M8[ns]" if date[1] == "datetime64" else "m8[ns]").copy(), index=index
        )
        return (series.dt.tz_localize("UTC") if date[4] else series).astype(column.dtype)
    if column.dtype.startswith("category"):
        ordered = column.dtype.endswith("ordered")
        return pd.Series(
            pd.Categorical.from_codes(column.values, list(column.levels or ()), ordered), index=index
        )
    if column.dtype.startswith(("period", "interval")):
        raise NoTable(f"a table with {column.dtype}, which cannot be an argument")
    cells = column.cells.copy()
    cells[column.missing] = np.nan if column.dtype in ("object", "str") else pd.NA
    return pd.Series(cells, dtype=column.dtype, index=index)


# From pandas


def is_pandas(result: Any) -> bool:
    """Whether it is a DataFrame or a Series, and none of a subclass."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(result) in (pandas.DataFrame, pandas.Series)


def of_pandas(result: Any) -> Table:
    """A DataFrame or a Series as a table.

    Raises
    ------
    NoTable
        If it holds what is no plain data.
    """
    kind = type(result).__name__
    index = _labels_of(result.index, f"{kind} whose index")
    if kind == "Series":
        return Table("Series", index, None, (_column_of(result, "Series that"),), _plain_name(result.name))
    if result.shape[1] > MAX_COLUMNS:
        raise NoTable(f"DataFrame of {result.shape[1]:,} columns")
    columns = _labels_of(result.columns, "DataFrame whose columns' labels")
    data = [
        _column_of(result.iloc[:, i], f"DataFrame whose column {columns[i]}") for i in range(len(columns))
    ]
    return Table("DataFrame", index, columns, tuple(data))


def _labels_of(index: Any, what: str) -> Labels:
    import pandas as pd

    levels = [index] if index.nlevels == 1 else [index.get_level_values(i) for i in range(index.nlevels)]
    found = tuple(_column_of(pd.Series(level), what) for level in levels)
    return Labels(found, tuple(_plain_name(name) for name in index.names))


def _plain_name(name: Any) -> Label:
    if isinstance(name, tuple):
        return tuple(map(_plain_name, name))
    return name if name is None else _plain_cell(name, "name that")


def _column_of(series: Any, what: str) -> Column:
    """A Series as a column; `what` is the beginning of a sentence about it."""
    name = str(series.dtype)
    if isinstance(series.dtype, np.dtype) and name in DTYPES:
        return Column(name, np.array(series.to_numpy()))
    if _DATES.fullmatch(name):
        naive = series.dt.tz_convert(None) if "," in name else series
        try:
            return Column(name, np.array(naive.to_numpy(f"{naive.dtype.kind}8[ns]")).view(np.int64))
        except (ValueError, OverflowError):
            raise NoTable(f"{what} holds dates that are too far away") from None
    if name == "category":
        name += ", ordered" if series.cat.ordered else ""
        levels = tuple(_plain_cell(level, what) for level in series.cat.categories)
        return Column(name, series.cat.codes.to_numpy().astype(np.int64), levels)
    if not _CELLS.fullmatch(name):
        raise NoTable(f"{what} holds {name}")
    places: dict[tuple[type, Cell], int] = {}
    codes = np.full(len(series), -1)
    present = np.flatnonzero(series.notna().to_numpy())
    cells = series.astype(object).to_numpy()
    for i in present:
        cell = _plain_cell(cells[i], what)
        codes[i] = places.setdefault((type(cell), cell), len(places))
    return Column(name, codes.astype(np.int64), tuple(cell for _, cell in places))


def _plain_cell(cell: Any, what: str) -> Cell:
    if type(cell) in (bool, int, float, str):
        return cell
    if isinstance(cell, np.generic):
        cell = cell.item()
    kind = next((kind for kind in _WORDS if isinstance(cell, kind)), None)
    if kind is not None:
        return kind(cell)
    if type(cell).__name__ in ("Interval", "Period"):
        return str(cell)
    raise NoTable(f"{what} holds a {type(cell).__name__}")
