"""Property test of tables: every kind of column in every place, with hypothesis.

Random tables go through everything that the autograder does with an argument or an answer: they are
encoded, decoded, converted back, compared, blanked, changed in place and written as source code.
`EXAMPLES=2000 pytest tests/values/test_table_kinds.py` tries more than CI does, and CI tries more
than `make test`.
"""

import datetime
import json
import os
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import call_student_function, pack_result
from autograder.values.case_records import CallOutcome, ComparisonRules, inputs
from autograder.values.dataframes import DataTable
from autograder.values.encoding import decode, encode
from autograder.values.table_cells import (
    MAX_CELL_DEPTH,
    MAX_OBJECT_CHARACTERS,
    InvalidCell,
    cell_from_plain,
)
from autograder.values.value_types import (
    SingleUseArrays,
    UnsupportedValue,
    blank_like,
    convert_argument,
    copy_value,
    find_difference,
    pack_value,
    unpack_value,
)
from course_import.write_exercise import explain_unwritable, format_value

EXAMPLES = int(os.environ.get("EXAMPLES", 8))
HOW_MANY = pytest.mark.parametrize(
    "example_count", [EXAMPLES // 3 + 1, pytest.param(EXAMPLES, marks=pytest.mark.long)]
)
RULES = ComparisonRules()
EXACT_RULES = ComparisonRules(exact_dtype=True)

TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=6)
FLOATS = st.floats(-1e6, 1e6, width=32)
MOMENTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(
    lambda moment: moment.replace(fold=0)
)
DURATIONS = st.timedeltas(datetime.timedelta(-1000), datetime.timedelta(1000))
LISTS = st.lists(st.one_of(st.integers(-9, 9), TEXTS, FLOATS, st.booleans()), max_size=3)


def make_array(dtype):
    return lambda values: pd.array(values, dtype=dtype)


def make_object_column(values):
    cells = np.empty(len(values), object)
    cells[:] = [None] * len(values)
    for i, value in enumerate(values):
        cells[i] = value
    return pd.Series(cells, dtype=object)


# For each kind: a strategy for one cell, True if a cell may be missing, and a function that makes a
# column of a list of cells.
KINDS = {
    "bool": (st.booleans(), False, make_array("bool")),
    "int64": (st.integers(-(2**63), 2**63 - 1), False, make_array("int64")),
    "uint8": (st.integers(0, 255), False, make_array("uint8")),
    "float64": (FLOATS, True, make_array("float64")),
    "float32": (FLOATS, True, make_array("float32")),
    "boolean": (st.booleans(), True, make_array("boolean")),
    "Int64": (st.integers(-(2**53), 2**53), True, make_array("Int64")),
    "UInt8": (st.integers(0, 255), True, make_array("UInt8")),
    "Float64": (FLOATS, True, make_array("Float64")),
    "string": (TEXTS, True, make_array("string")),
    "str": (TEXTS, True, make_array("str")),
    "object of texts": (TEXTS, True, make_object_column),
    "object of several": (
        st.one_of(TEXTS, st.booleans(), st.integers(-9, 9), FLOATS),
        True,
        make_object_column,
    ),
    "object of lists": (LISTS, True, make_object_column),
    "object of tuples": (LISTS.map(tuple), True, make_object_column),
    "object of lists of lists": (st.lists(LISTS, max_size=2), True, make_object_column),
    "object of dates": (MOMENTS.map(datetime.datetime.date), True, make_object_column),
    "object of timestamps": (MOMENTS.map(pd.Timestamp), True, make_object_column),
    "object of timestamps with zones": (
        st.builds(
            lambda moment, zone: pd.Timestamp(moment, tz="UTC").tz_convert(zone),
            MOMENTS,
            st.sampled_from(["Europe/Paris", "Asia/Kathmandu", "UTC"]),
        ),
        True,
        make_object_column,
    ),
    "object with NaN": (st.one_of(TEXTS, st.just(np.nan)), True, make_object_column),
    "object of durations": (DURATIONS.map(pd.Timedelta), True, make_object_column),
    "object of times": (
        st.times().map(lambda time: time.replace(fold=0)),
        True,
        make_object_column,
    ),
    "object of decimals": (st.decimals(-9, 9, places=2).map(Decimal), True, make_object_column),
    "category of texts": (TEXTS, True, pd.Categorical),
    "category of numbers": (st.integers(-9, 9), True, pd.Categorical),
    "category of booleans": (st.booleans(), True, pd.Categorical),
    "category of dates": (
        MOMENTS.map(pd.Timestamp),
        True,
        lambda v: pd.Categorical(pd.DatetimeIndex(v)),
    ),
    "category of intervals": (
        st.integers(1, 9),
        True,
        lambda values: pd.cut(pd.Series(values, dtype="float64"), [0, 2.5, 5, 9]),
    ),
    "ordered category": (
        st.sampled_from(["lo", "mid", "hi"]),
        True,
        lambda values: pd.Categorical(values, ["lo", "mid", "hi"], ordered=True),
    ),
    "dates": (
        MOMENTS,
        True,
        lambda values: pd.Series(pd.to_datetime(values)).astype("datetime64[us]"),
    ),
    "dates with a zone": (
        MOMENTS,
        True,
        lambda values: (
            pd.Series(pd.to_datetime(values, utc=True))
            .astype("datetime64[us, UTC]")
            .dt.tz_convert("Europe/Paris")
        ),
    ),
    "durations": (DURATIONS, True, make_array("timedelta64[us]")),
    "periods": (
        st.integers(1950, 2050).map(str),
        True,
        lambda values: pd.Series(pd.PeriodIndex(values, freq="Y")),
    ),
    "intervals with missing ones": (
        FLOATS.map(lambda left: (left, left + 1)),
        True,
        lambda values: pd.arrays.IntervalArray.from_tuples(
            [np.nan if v is None else v for v in values],
            closed="left",
            dtype="interval[float64, left]",
        ),
    ),
    "intervals": (
        st.integers(0, 9).map(lambda left: (left, left + 1)),
        False,
        lambda values: pd.arrays.IntervalArray.from_tuples(values, dtype="interval[int64, right]"),
    ),
}
NOT_COMPARED_WITH_MISSING = ("intervals",)
COLUMN_LABELS = ("texts", "one name twice", "numbers", "two levels", "dates")
INDEX_LABELS = ("default", "repeated", "two levels", *KINDS)


@st.composite
def columns(draw, kind, row_count):
    cell, may_be_missing, make = KINDS[kind]
    if may_be_missing:
        cell = st.one_of(cell, st.none())
    return make(draw(st.lists(cell, min_size=row_count, max_size=row_count)))


@st.composite
def indexes(draw, row_count):
    kind = draw(st.sampled_from(INDEX_LABELS))
    if kind == "default":
        return pd.RangeIndex(row_count)
    if kind == "repeated":
        return pd.Index(["a", "a", "b", "c", "a"][:row_count], name="letter")
    if kind == "two levels":
        return pd.MultiIndex.from_arrays([list("aabbc")[:row_count], [1, 2, 1, 2, 1][:row_count]])
    if kind.startswith("object of lists"):
        kind = "object of tuples"  # labels must be hashable
    return pd.Index(draw(columns(kind, row_count)), tupleize_cols=False)


@st.composite
def tables(draw, kind):
    """Draw a DataFrame or Series in which one column is of this kind, and others of any kind."""
    row_count = draw(st.integers(0, 5))
    index = draw(indexes(row_count))
    kinds = [kind, *draw(st.lists(st.sampled_from([*KINDS]), max_size=2))]
    data = {}
    for i, name in enumerate(kinds):
        column = pd.Series(draw(columns(name, row_count)))
        data[i] = column.set_axis(index)
    if draw(st.booleans()):
        return data[0].rename(draw(st.sampled_from([None, "n", 7])))
    frame = pd.DataFrame(data, index=index)
    labels = {
        "texts": list("xyz"),
        "one name twice": ["x", "y", "x"],
        "numbers": [2020, 2021, 2022],
        "two levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
        "dates": pd.date_range("2026-03-28", periods=3, tz="Europe/Paris"),
    }[draw(st.sampled_from(COLUMN_LABELS))]
    frame.columns = labels[: len(kinds)]
    return frame


def assert_equal(table, original):
    """Compare two pandas objects by pandas' own function."""

    if isinstance(original, pd.Series):
        pd.testing.assert_series_equal(table, original, check_freq=False)
        if table.dtype == object:  # pandas takes 1 for True, and a tuple for a list
            assert list(map(repr, table)) == list(map(repr, original))
        return
    assert list(table.columns) == list(original.columns)
    assert table.shape == original.shape
    for i in range(table.shape[1]):
        assert_equal(table.iloc[:, i], original.iloc[:, i])


def round_trip(value):
    arrays = []
    data = pack_value(value, arrays)
    header, arrays = decode(encode({"value": data}, arrays))
    return unpack_value(header["value"], SingleUseArrays(arrays))


def run_examples(check, example_count):
    return settings(
        max_examples=example_count,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )(given(st.data())(check))


@pytest.mark.parametrize("kind", KINDS)
@HOW_MANY
def test_a_table_of_every_kind_is_whole_in_every_place(kind, example_count):
    def check(data):
        original = data.draw(tables(kind))
        value = convert_argument(original)
        returned = round_trip(value)
        assert type(returned) is DataTable
        assert_equal(copy_value(returned), original)
        assert find_difference(value, returned, EXACT_RULES) is None
        blank = round_trip(blank_like(value))
        assert blank.description == value.description
        find_difference(value, blank, RULES)
        copy_value(blank)
        # As an argument and as a result: the identity returns it and changes nothing.
        answer = call_student_function(lambda table: table, inputs(value))
        assert not answer.error and not answer.modified, answer
        assert compare_outcome(value, answer, EXACT_RULES) is None

    run_examples(check, example_count)()


@pytest.mark.parametrize("kind", KINDS)
@HOW_MANY
def test_another_cell_is_a_difference_and_a_change_in_place_is_noticed(kind, example_count):
    def check(data):
        original = data.draw(tables(kind).filter(lambda table: table.size))
        row = data.draw(st.integers(0, len(original) - 1))
        column = original if isinstance(original, pd.Series) else original.iloc[:, 0]
        if kind in NOT_COMPARED_WITH_MISSING or pd.api.types.is_bool_dtype(column.dtype):
            return
        is_missing = np.ravel(pd.isna(column.iloc[row])).all() and not isinstance(
            column.iloc[row], (list, tuple)
        )
        if is_missing or (isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu"):
            return

        def empty_one_cell(table):
            if isinstance(table, pd.Series):
                table.iloc[row] = None
            else:
                table.iloc[row, 0] = None
            return table

        value = convert_argument(original)
        answer = call_student_function(empty_one_cell, inputs(value))
        assert not answer.error and answer.modified == ("table",), answer
        difference = compare_outcome(value, answer, RULES)
        assert difference is not None
        assert difference.kind == "dtype" or "missing" in difference.observation, difference

    run_examples(check, example_count)()


@pytest.mark.parametrize(
    "kind", ["object of lists", "object of tuples", "object of lists of lists"]
)
@HOW_MANY
def test_a_longer_list_in_a_cell_is_a_difference(kind, example_count):
    def check(data):
        cells = [cell or () for cell in data.draw(columns(kind, 3))]
        longer = [cells[0], cells[1], [*cells[2], 1]]
        value = convert_argument(make_object_column(cells))
        difference = find_difference(value, convert_argument(make_object_column(longer)), RULES)
        assert difference.observation.startswith("1 of 3 rows differ: row 2 is ["), difference

    run_examples(check, example_count)()


@HOW_MANY
def test_any_two_tables_can_be_compared(example_count):
    def check(data):
        first = data.draw(tables(data.draw(st.sampled_from([*KINDS]))))
        second = data.draw(tables(data.draw(st.sampled_from([*KINDS]))))
        kind, value = pack_result(second)
        for rules in (RULES, EXACT_RULES, ComparisonRules(floats_too=True, tolerance=(1e-3, 0.5))):
            difference = compare_outcome(convert_argument(first), CallOutcome(value, kind), rules)
            assert difference is None or difference.observation.endswith((".", "…")), difference

    settings(max_examples=5 * example_count, deadline=None, derandomize=True)(
        given(st.data())(check)
    )()


@pytest.mark.parametrize("kind", KINDS)
@HOW_MANY
def test_a_table_in_an_imported_test_is_written_as_it_was_or_refused(kind, example_count):
    def check(data):
        value = convert_argument(data.draw(tables(kind)))
        if not explain_unwritable((value,), {}):
            copy = eval(format_value(value), {"pd": pd, "np": np})
            assert find_difference(value, convert_argument(copy), RULES) is None

    run_examples(check, example_count)()


@pytest.mark.parametrize(
    "data",
    [
        {"list": "abc"},
        {"object": ["Timestamp", "2020-01-01"]},
        {"object": ["os.system", "true", ""]},
        {"object": ["Timestamp", 5, ""]},
        {"object": ["Decimal", "1" * (MAX_OBJECT_CHARACTERS + 1), ""]},
        {"list": [], "tuple": []},
        {"set": []},
        [1],
    ],
)
def test_a_forged_cell_is_refused(data):
    with pytest.raises(InvalidCell):
        cell_from_plain({"json": json.dumps(data)})


@pytest.mark.parametrize(
    "plain", [{"json": 5}, {"json": "{"}, {"json": "[" * 100_000}, {"a": ""}, {}, []]
)
def test_forged_data_of_a_cell_are_refused(plain):
    with pytest.raises(InvalidCell):
        cell_from_plain(plain)


def test_lists_in_cells_are_bounded_in_depth():
    cell = 1
    for _ in range(MAX_CELL_DEPTH + 1):
        cell = [cell]
    with pytest.raises(UnsupportedValue, match="Series that holds a deeply nested list"):
        convert_argument(pd.Series([cell]))
    assert pack_result(pd.Series([cell]))[1] is None


def test_lists_that_python_takes_for_equal_stay_apart():
    cells = make_object_column([[1], [True], [1.0], (1,), [[1]], [(1,)]])
    returned = copy_value(round_trip(convert_argument(cells)))
    assert list(map(repr, returned)) == list(map(repr, cells))
