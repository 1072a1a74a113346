"""Convert pandas DataFrames and Series to plain data (a `DataTable`), and compare two of them.

The process that calls a student's function converts tables from pandas (`table_from_pandas`) and to
pandas (`DataTable.to_pandas`). No other process needs pandas, because the judge compares plain
tables.
"""

import re
import sys
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Literal

import numpy as np

from autograder.core.text_format import format_count, join_words, truncate
from autograder.values.case_records import DTYPES, ComparisonRules
from autograder.values.common_mistakes import Difference
from autograder.values.table_cells import (
    SCALAR_DESCRIPTIONS,
    CellValue,
    InvalidCell,
    cell_from_object,
    cell_from_plain,
    cell_to_object,
    cell_to_plain,
    cells_agree,
    describe_content,
    is_cell,
    measure_cell,
)
from autograder.values.tolerance import all_true, elements_agree
from autograder.values.wording import format_number

Label = Any  # of a row or column: a `CellValue`, or a tuple of them

MAX_COLUMNS = 2_000
MAX_LABEL_LEVELS = 10
_MISSING_DATE = np.iinfo(np.int64).min
_MAX_LISTED_COLUMNS = 8
# `_CELL_DTYPE` matches the pandas dtypes of columns with few different contents. Each content of
# such a column is stored once, and each row has its index. `_DATE_DTYPE` matches the dtypes of
# dates and durations.
_NUMBER_DTYPES = r"boolean|U?Int(8|16|32|64)|Float(32|64)"
_PARAMETRIC_DTYPES = r"category\[.{1,60}\](, ordered)?|period\[.{1,20}\]|interval\[.{1,40}\]"
_CELL_DTYPE = re.compile(rf"object|str|string|{_NUMBER_DTYPES}|{_PARAMETRIC_DTYPES}")
_DATE_DTYPE = re.compile(r"(datetime64|timedelta64)\[(s|ms|us|ns)(, ([\w/+:-]{1,40}))?\]")


class InvalidTable(ValueError):
    """Error for a pandas table with objects that are no plain data, or for invalid data."""


@dataclass(frozen=True, eq=False)
class Column:
    """Column of a table as plain data, or one level of the labels of its rows or columns.

    Parameters
    ----------
    dtype : str
        Name of the pandas dtype.
    values : numpy.ndarray, shape (rows,)
        Numbers, or the nanoseconds of dates and durations. If there are `levels`: for each row
        the index of its content in `levels`, or -1 if the table cell is missing.
    levels : tuple of CellValue, optional
        The different contents of the column. For a categorical column, its categories in order.
    """

    dtype: str
    values: np.ndarray
    levels: tuple[CellValue, ...] | None = None

    def __post_init__(self) -> None:
        has_cells = bool(_CELL_DTYPE.fullmatch(self.dtype))
        values_dtype = ""
        if self.dtype in DTYPES:
            values_dtype = self.dtype
        elif has_cells or _DATE_DTYPE.fullmatch(self.dtype):
            values_dtype = "int64"
        if self.values.dtype.name != values_dtype or self.values.ndim != 1:
            raise InvalidTable(f"a column of {truncate(self.dtype, 40)}")
        if has_cells != (self.levels is not None):
            raise InvalidTable(f"a column of {truncate(self.dtype, 40)}")
        if self.levels is not None:
            self._check_levels(self.levels)

    def _check_levels(self, levels: tuple[CellValue, ...]) -> None:
        if not all(map(is_cell, levels)):
            raise InvalidTable("a column with cells of another kind")
        if self.values.size and not -1 <= self.values.min() <= self.values.max() < len(levels):
            raise InvalidTable("a column with cells that are not there")

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def cells(self) -> np.ndarray:
        """Contents of the column's cells as an array of objects, with None for a missing cell."""
        if self.levels is not None:
            lookup = np.empty(len(self.levels) + 1, object)
            for i, level in enumerate(self.levels):  # `lookup[:] = levels` would unpack lists
                lookup[i] = level
            return lookup[self.values]  # -1 means a missing cell: the last entry is None
        cells = self.values.astype(object)
        cells[self.missing] = None
        return cells

    @cached_property
    def missing(self) -> np.ndarray:
        """Boolean mask of the rows in which the column's cell is missing."""
        if self.levels is not None:
            lookup = np.array([*(level is None for level in self.levels), True])
            return lookup[self.values]
        if self.values.dtype.kind == "f":
            return np.isnan(self.values)
        if self.content in ("dates", "durations"):
            return self.values == _MISSING_DATE
        return np.zeros(len(self), bool)

    @cached_property
    def content(self) -> str:
        """Contents of the column in words, such as "dates"; "nothing" if all cells are missing."""
        date = _DATE_DTYPE.fullmatch(self.dtype)
        if date:
            return "dates" if date[1] == "datetime64" else "durations"
        if self.levels is None:
            return {"f": "numbers", "b": "booleans"}.get(self.values.dtype.kind, "whole numbers")
        contents = {describe_content(cell) for cell in self.levels if cell is not None}
        if contents == {"numbers", "whole numbers"}:
            return "numbers"
        if len(contents) > 1:
            return "cells of several kinds"
        return contents.pop() if contents else "nothing"

    @cached_property
    def numbers(self) -> np.ndarray | None:
        """The column as numbers, with NaN for a missing cell; None if it does not hold numbers."""
        if self.content not in ("whole numbers", "numbers"):
            return None
        if self.levels is None:
            return self.values
        return self.cells.astype(np.float64)

    def cells_agree(self, column: "Column", rules: ComparisonRules) -> np.ndarray:
        """Compare this column with another, row by row; return a boolean array, True for equal."""
        if self.numbers is not None and column.numbers is not None:
            return elements_agree(self.numbers, column.numbers, rules.tolerance)
        if self.levels is column.levels is None and self.content == column.content:
            return self.values == column.values
        if self.content == column.content == "texts":
            return np.asarray(self.cells == column.cells, bool)
        pairs = zip(self.cells, column.cells, strict=True)
        return np.array([cells_agree(a, b, rules) for a, b in pairs], bool)

    def has_type_of(self, expected: "Column", rules: ComparisonRules) -> bool:
        """Return True if this column has the same kind of contents as the expected one."""
        if rules.exact_dtype:
            return self.dtype == expected.dtype
        contents = {self.content, expected.content} - {"nothing"}
        return len(contents) < 2 or contents == {"numbers", "whole numbers"}

    def format_cell(self, row: int) -> str:
        """Return the content of one row of the column as text, for a sentence to students."""
        if self.missing[row]:
            return "missing"
        if self.content == "dates":
            zone = " UTC" if "," in self.dtype else ""
            return str(np.datetime_as_string(self.values[row].view("M8[ns]"), unit="auto")) + zone
        if self.content == "durations":
            return str(timedelta(microseconds=int(self.values[row]) / 1000))
        cell = self.cells[row]
        if type(cell) is float:
            return format_number(cell)
        return truncate(repr(cell), 60)

    def describe(self) -> str:
        """Describe the contents and the dtype of the column: "whole numbers (int64)"."""
        dtype = re.sub(r"^category\[.*\]", "category", self.dtype)
        return f"{self.content} ({dtype})"


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of a table's rows or columns. A MultiIndex of pandas has several levels of them."""

    levels: tuple[Column, ...]
    names: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.levels[0])

    def __getitem__(self, i: int) -> str:
        parts = [level.format_cell(i) for level in self.levels]
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    def quoted_names(self) -> list[str]:
        """The labels in `backticks`, as sentences to students show them."""
        names = []
        for i in range(len(self)):
            label = self[i].strip("'").replace("`", "'")
            names.append(f"`{label}`")
        return names

    @property
    def is_default(self) -> bool:
        """True if the labels are 0, 1, 2 …, as pandas sets them by default."""
        if len(self.levels) != 1 or self.levels[0].dtype != "int64":
            return False
        return np.array_equal(self.levels[0].values, np.arange(len(self)))


@dataclass(frozen=True, eq=False)
class DataTable:
    """A pandas DataFrame or Series as plain data, without pandas.

    Parameters
    ----------
    kind : {"DataFrame", "Series"}
    index : Labels
    columns : Labels or None
        None for a Series.
    data : tuple of Column
        The columns; for a Series only one.
    name : text, number or tuple of them
        Name of a Series; None for a DataFrame or a Series without a name.
    """

    kind: Literal["DataFrame", "Series"]
    index: Labels
    columns: Labels | None
    data: tuple[Column, ...]
    name: Label = None

    def __post_init__(self) -> None:
        expected_kind = "Series" if self.columns is None else "DataFrame"
        if self.kind != expected_kind:
            raise InvalidTable("neither a DataFrame nor a Series")
        column_count = 1 if self.columns is None else len(self.columns)
        if len(self.data) > MAX_COLUMNS or len(self.data) != column_count:
            raise InvalidTable("another number of columns than of their labels, or too many")
        if any(len(column) != len(self.index) for column in (*self.data, *self.index.levels)):
            raise InvalidTable("columns of several lengths")

    def __repr__(self) -> str:
        return f"<{self.description}>"

    @property
    def size(self) -> int:
        """Size of the table, for limits: number of cells and labels plus characters in texts."""
        columns = [*self.data, *self.index.levels]
        if self.columns is not None:
            columns += self.columns.levels
        size = 0
        for column in columns:
            size += len(column) + sum(map(measure_cell, column.levels or ()))
        return size

    @property
    def description(self) -> str:
        """Description of the table in words: "a DataFrame of 3 rows and the column `a`"."""
        rows = format_count(len(self.index), "row")
        if self.columns is None:
            return f"a Series of {rows}"
        count = len(self.columns)
        if not 0 < count <= _MAX_LISTED_COLUMNS:
            return f"a DataFrame of {rows} and {count or 'no'} columns"
        noun = "column" if count == 1 else "columns"
        return f"a DataFrame of {rows} and the {noun} {join_words(self.columns.quoted_names())}"

    def to_plain(self) -> dict[str, Any]:
        """Return the table as plain data that can be encoded: a dict of texts, arrays and lists."""
        return {
            "kind": self.kind,
            "index": _labels_to_plain(self.index),
            "columns": None if self.columns is None else _labels_to_plain(self.columns),
            "data": [_column_to_plain(column) for column in self.data],
            "name": self.name,
        }

    @classmethod
    def from_plain(cls, plain: Any) -> "DataTable":
        """Make a table from the data of `to_plain`; raise InvalidTable for any other data."""
        try:
            columns = plain["columns"] and _labels_from_plain(plain["columns"])
            data = tuple(map(_column_from_plain, plain["data"]))
            index = _labels_from_plain(plain["index"])
            return cls(plain["kind"], index, columns, data, _check_name(plain["name"]))
        except (TypeError, KeyError, ValueError) as error:
            raise InvalidTable(f"no table ({error})") from None

    def blank(self) -> "DataTable":
        """Return a table of the same shape and labels, with zeros or missing cells in it."""
        data = []
        for column in self.data:
            # Whole numbers, also as bounds of intervals, cannot be missing.
            has_no_missing = column.levels is None or column.dtype.startswith("interval[int")
            fill = 0 if has_no_missing else -1
            data.append(Column(column.dtype, np.full_like(column.values, fill), column.levels))
        return DataTable(self.kind, self.index, self.columns, tuple(data), self.name)

    def to_pandas(self) -> Any:
        """Convert the table to a pandas DataFrame or Series.

        Raises
        ------
        InvalidTable
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise InvalidTable("a table, and pandas is not installed here") from None

        index = _labels_to_pandas(self.index)
        data = [_column_to_series(column, index) for column in self.data]
        if self.columns is None:
            return data[0].rename(self.name)
        frame = pd.DataFrame(dict(enumerate(data)), index=index)
        frame.columns = _labels_to_pandas(self.columns)
        return frame

    def find_difference(
        self,
        value: "DataTable",
        rules: ComparisonRules,
        result: str,
    ) -> Difference | None:
        """Return the first difference of a student's table from this expected one; or None.

        `result` names the returned table in the sentence: "Your result".
        """
        fault = self._describe_wrong_columns(value) or self._describe_wrong_row_count(value)
        if fault:
            return Difference("shape", f"{result} {fault}")
        fault = self._describe_wrong_index(value, rules)
        if fault:
            return Difference("values", f"{result} {fault}")
        names = [""] if self.columns is None else self.columns.quoted_names()
        wrong = []
        for name, expected, column in zip(names, self.data, value.data):
            if not column.has_type_of(expected, rules):
                place = f" in the column {name}" if name else ""
                sentence = f"{result} holds {column.describe()}{place}; "
                return Difference("dtype", f"{sentence}expected {expected.describe()}.")
            agree = expected.cells_agree(column, rules)
            if not all_true(agree):
                wrong.append((name, expected, column, agree))
        if not wrong:
            return None
        sentence = self._describe_wrong_cells(*wrong[0])
        if len(wrong) > 1:
            more_names = join_words(name for name, *_ in wrong[1:_MAX_LISTED_COLUMNS])
            sentence += f" Rows of {more_names} differ, too."
        return Difference("values", sentence)

    def _describe_wrong_columns(self, value: "DataTable") -> str:
        if self.columns is None or value.columns is None:
            return ""
        expected, names = self.columns.quoted_names(), value.columns.quoted_names()
        if expected == names:
            return ""
        ellipsis = ", …" if len(expected) > _MAX_LISTED_COLUMNS else ""
        expected_names = ", ".join(expected[:_MAX_LISTED_COLUMNS]) + ellipsis
        expected_text = f"expected the columns {expected_names}."
        for name in expected:
            if expected.count(name) > names.count(name):
                return f"has no column {name}; {expected_text}"
        for name in names:
            if names.count(name) > expected.count(name):
                return f"has an unexpected column {name}; {expected_text}"
        return f"has the right columns in another order; {expected_text}"

    def _describe_wrong_row_count(self, value: "DataTable") -> str:
        expected, rows = len(self.index), len(value.index)
        if rows == expected:
            return ""
        return f"has {format_count(rows, 'row')}; expected {expected}."

    def _describe_wrong_index(self, value: "DataTable", rules: ComparisonRules) -> str:
        expected, index = self.index, value.index
        if len(expected.levels) != len(index.levels):
            levels = format_count(len(index.levels), "level")
            return f"has an index of {levels}; expected {len(expected.levels)}."
        agree = np.ones(len(index), bool)
        have_expected_types = True
        for expected_level, level in zip(expected.levels, index.levels):
            has_type = level.has_type_of(expected_level, rules)
            have_expected_types = have_expected_types and has_type
            agree &= has_type
            agree &= expected_level.cells_agree(level, rules)
        if all_true(agree):
            return ""
        row = int(np.argmin(agree))
        labels = f"the first of them is {index[row]}, expected {expected[row]}"
        is_reordered = sorted(expected.quoted_names()) == sorted(index.quoted_names())
        if is_reordered and have_expected_types:
            return f"has the right rows in another order: {labels}."
        if expected.is_default:
            return f"has labels on its rows that are not 0, 1, 2…, as in a new index: {labels}."
        return f"has another index in {int((~agree).sum())} of {len(agree)} rows: {labels}."

    def _describe_wrong_cells(
        self,
        name: str,
        expected: Column,
        column: Column,
        agree: np.ndarray,
    ) -> str:
        """Describe in how many rows a column differs from the expected one, and show the first."""
        row = int(np.argmin(agree))
        cell, expected_cell = column.format_cell(row), expected.format_cell(row)
        if cell == expected_cell and column.numbers is not None:  # so show more digits
            cell = f"{float(column.cells[row]):.9g}"
            expected_cell = f"{float(expected.cells[row]):.9g}"
        place = f"In the column {name} " if name else ""
        sentence = (
            f"{place}{int((~agree).sum())} of {len(agree)} rows differ: "
            f"row {self.index[row]} is {cell}, expected {expected_cell}."
        )
        missing = int((column.missing & ~expected.missing).sum())
        if missing > 1:
            sentence += f" {missing} values are missing."
        return sentence


# The functions below convert a table to data that can be encoded, and back.


def _column_to_plain(column: Column) -> list:
    levels = None if column.levels is None else list(map(cell_to_plain, column.levels))
    return [column.dtype, column.values, levels]


def _column_from_plain(plain: Any) -> Column:
    dtype, values, levels = plain
    if type(dtype) is not str or type(values) is not np.ndarray:
        raise InvalidTable("no column")
    if levels is None:
        return Column(dtype, values)
    if type(levels) is not list:
        raise InvalidTable("no column")
    return Column(dtype, values, tuple(map(cell_from_plain, levels)))


def _labels_to_plain(labels: Labels) -> list:
    return [[_column_to_plain(level) for level in labels.levels], list(labels.names)]


def _labels_from_plain(plain: Any) -> Labels:
    plain_levels, names = plain
    levels = tuple(map(_column_from_plain, plain_levels))
    if not 0 < len(levels) == len(names) <= MAX_LABEL_LEVELS:
        raise InvalidTable("no labels")
    if any(len(level) != len(levels[0]) for level in levels):
        raise InvalidTable("no labels")
    return Labels(levels, tuple(map(_check_name, names)))


def _check_name(name: Any) -> Label:
    if isinstance(name, tuple):
        return tuple(map(_check_name, name))
    if name is not None and type(name) not in SCALAR_DESCRIPTIONS:
        raise InvalidTable(f"a name that is a {type(name).__name__}")
    return name


# The functions below convert a table to a pandas object.


def _labels_to_pandas(labels: Labels) -> Any:
    import pandas as pd

    if labels.is_default:
        return pd.RangeIndex(len(labels), name=labels.names[0])
    levels = []
    for level, name in zip(labels.levels, labels.names):
        levels.append(pd.Index(_column_to_series(level), name=name))
    return levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)


def _column_to_series(column: Column, index: Any = None) -> Any:
    import pandas as pd

    if column.levels is None and column.dtype in DTYPES:
        return pd.Series(column.values.copy(), index=index)
    date = _DATE_DTYPE.fullmatch(column.dtype)
    if date:
        dtype = "M8[ns]" if date[1] == "datetime64" else "m8[ns]"
        series = pd.Series(column.values.view(dtype).copy(), index=index)
        if date[4]:
            series = series.dt.tz_localize("UTC")
        return series.astype(column.dtype)
    if column.dtype.startswith("category"):
        dtype = column.dtype.removeprefix("category[").removesuffix(", ordered").removesuffix("]")
        categories = pd.Index(_to_objects(column.levels or ()), dtype=dtype, tupleize_cols=False)
        is_ordered = column.dtype.endswith("ordered")
        categorical = pd.Categorical.from_codes(column.values, categories, is_ordered)
        return pd.Series(categorical, index=index)
    cells = _to_objects(column.cells)
    has_nan = column.dtype in ("object", "str") or column.dtype.startswith("interval")
    cells[column.values < 0] = np.nan if has_nan else pd.NA
    return pd.Series(cells, dtype=column.dtype, index=index)


def _to_objects(cells: Any) -> np.ndarray:
    """Return the contents of cells as pandas has them, in an array of objects."""
    objects = np.empty(len(cells), object)
    for i, cell in enumerate(cells):
        objects[i] = cell_to_object(cell)
    return objects


# The functions below convert a pandas object to a table.


def is_pandas(result: Any) -> bool:
    """Return True for a pandas DataFrame or Series itself, False for an object of a subclass."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(result) in (pandas.DataFrame, pandas.Series)


def table_from_pandas(result: Any) -> DataTable:
    """Convert a pandas DataFrame or Series to a `DataTable`.

    Raises
    ------
    InvalidTable
        If the DataFrame or Series holds anything but plain data.
    """
    kind = type(result).__name__
    index = _labels_from_pandas(result.index, f"{kind} whose index")
    if kind == "Series":
        column = _column_from_series(result, "Series that")
        return DataTable("Series", index, None, (column,), _name_from_pandas(result.name))
    if result.shape[1] > MAX_COLUMNS:
        raise InvalidTable(f"DataFrame of {result.shape[1]:,} columns")
    columns = _labels_from_pandas(result.columns, "DataFrame whose column index")
    data = []
    for i in range(len(columns)):
        data.append(_column_from_series(result.iloc[:, i], f"DataFrame whose column {columns[i]}"))
    return DataTable("DataFrame", index, columns, tuple(data))


def _labels_from_pandas(index: Any, error_subject: str) -> Labels:
    import pandas as pd

    if index.nlevels > MAX_LABEL_LEVELS:
        raise InvalidTable(f"{error_subject} has {index.nlevels} levels")
    levels = [index]
    if index.nlevels > 1:
        levels = [index.get_level_values(i) for i in range(index.nlevels)]
    columns = [_column_from_series(pd.Series(level), error_subject) for level in levels]
    return Labels(tuple(columns), tuple(_name_from_pandas(name) for name in index.names))


def _name_from_pandas(name: Any) -> Label:
    if isinstance(name, tuple):
        return tuple(map(_name_from_pandas, name))
    if name is None:
        return None
    return _cell_from_pandas(name, "name that")


def _column_from_series(series: Any, error_subject: str) -> Column:
    """Convert a pandas Series to a column; `error_subject` begins the sentence of an error."""
    name = str(series.dtype)
    if isinstance(series.dtype, np.dtype) and name in DTYPES:
        return Column(name, np.array(series.to_numpy()))
    if _DATE_DTYPE.fullmatch(name):
        naive = series.dt.tz_convert(None) if "," in name else series
        try:
            values = np.array(naive.to_numpy(f"{naive.dtype.kind}8[ns]")).view(np.int64)
        except (ValueError, OverflowError):
            raise InvalidTable(f"{error_subject} holds dates that are too far away") from None
        return Column(name, values)
    if name == "category":
        name += f"[{series.cat.categories.dtype}]" + (", ordered" if series.cat.ordered else "")
        levels = tuple(_cell_from_pandas(level, error_subject) for level in series.cat.categories)
        return Column(name, series.cat.codes.to_numpy().astype(np.int64), levels)
    if not _CELL_DTYPE.fullmatch(name):
        raise InvalidTable(f"{error_subject} holds {name}")
    return _factorize_series(series, name, error_subject)


def _factorize_series(series: Any, dtype: str, error_subject: str) -> Column:
    positions: dict[tuple[type, str, CellValue], int] = {}  # 1 == True, so the type is in the key
    codes = np.full(len(series), -1)
    cells = series.astype(object).to_numpy()
    is_stored = series.notna().to_numpy()
    if dtype == "object":  # None and NaN are both missing, and code may tell them apart
        is_stored = is_stored | np.array([cell is None for cell in cells], bool)
    for row in np.flatnonzero(is_stored):
        cell = None if cells[row] is None else _cell_from_pandas(cells[row], error_subject)
        text = repr(cell) if isinstance(cell, tuple) else ""
        codes[row] = positions.setdefault((type(cell), text, cell), len(positions))
    return Column(dtype, codes.astype(np.int64), tuple(cell for _, _, cell in positions))


def _cell_from_pandas(cell: Any, error_subject: str) -> CellValue:
    try:
        return cell_from_object(cell)
    except InvalidCell as error:
        raise InvalidTable(f"{error_subject} holds a {error}") from None
