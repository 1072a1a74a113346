"""Cells of tables that are no number, boolean or text: their plain data, their words, their comparison."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from autograder.values.case_records import ComparisonRules
from autograder.values.table_cells import (
    MAX_CELL_DEPTH,
    MAX_OBJECT_CHARACTERS,
    InvalidCell,
    ListCell,
    ObjectCell,
    cell_from_object,
    cell_from_plain,
    cell_to_object,
    cell_to_plain,
    cells_agree,
    describe_content,
    is_cell,
    measure_cell,
)

NOON = datetime.datetime(2020, 1, 2, 12, 30)


@pytest.mark.parametrize(
    ("cell", "kind", "text", "detail", "words"),
    [
        (pd.Timestamp(NOON), "Timestamp", "2020-01-02T12:30:00", "", "date objects"),
        (
            pd.Timestamp(NOON, tz="Europe/Paris"),
            "Timestamp",
            "2020-01-02T12:30:00",
            "Europe/Paris",
            "date objects",
        ),
        (NOON, "datetime", "2020-01-02T12:30:00", "", "date objects"),
        (NOON.date(), "date", "2020-01-02", "", "date objects"),
        (NOON.time(), "time", "12:30:00", "", "times of day"),
        (pd.Timedelta(90, "s"), "Timedelta", "P0DT0H1M30S", "", "duration objects"),
        (datetime.timedelta(1, 3), "timedelta", "1 day, 0:00:03", "", "duration objects"),
        (pd.Period("2020", "Y"), "Period", "2020", "Y-DEC", "periods"),
        (pd.Interval(0, 1), "Interval", "(0, 1]", "int", "intervals"),
        (pd.Interval(np.int64(0), np.int64(1)), "Interval", "(0, 1]", "int", "intervals"),
        (pd.Interval(0.5, 1.0, "left"), "Interval", "[0.5, 1.0)", "float", "intervals"),
        (pd.Interval(0, 1, "both"), "Interval", "[0, 1]", "int", "intervals"),
        (pd.Interval(0, 1, "neither"), "Interval", "(0, 1)", "int", "intervals"),
        (
            pd.Interval(pd.Timestamp(2020, 1, 1), pd.Timestamp(2021, 1, 1)),
            "Interval",
            "(2020-01-01 00:00:00, 2021-01-01 00:00:00]",
            "Timestamp",
            "intervals",
        ),
        (Decimal("1.50"), "Decimal", "1.50", "", "decimal numbers"),
    ],
)
def test_an_object_in_a_cell_is_its_text_and_comes_back(cell, kind, text, detail, words):
    plain = cell_from_object(cell)
    assert plain == ObjectCell(kind, text, detail)
    assert repr(plain) == text and describe_content(plain) == words
    assert measure_cell(plain) == len(text)
    assert cell_from_plain(cell_to_plain(plain)) == plain
    returned = cell_to_object(plain)
    assert returned == cell and type(returned) is type(cell)
    assert getattr(returned, "tzinfo", None) == getattr(cell, "tzinfo", None)
    assert getattr(returned, "closed", None) == getattr(cell, "closed", None)


@pytest.mark.parametrize(
    ("cell", "plain", "words", "size"),
    [
        (True, True, "booleans", 0),
        (np.True_, True, "booleans", 0),
        (3, 3, "whole numbers", 0),
        (np.int8(3), 3, "whole numbers", 0),
        (1.5, 1.5, "numbers", 0),
        (np.float32(0.5), 0.5, "numbers", 0),
        (1j, 1j, "complex numbers", 0),
        ("abc", "abc", "texts", 3),
        (np.str_("abc"), "abc", "texts", 3),
        ([], ListCell(), "lists", 0),
        (["ab", [1]], ListCell(["ab", ListCell([1])]), "lists", 5),
        ((1, None), (1, None), "lists", 2),
    ],
)
def test_a_cell_has_plain_data_words_and_a_size(cell, plain, words, size):
    found = cell_from_object(cell)
    assert found == plain and type(found) is type(plain) and is_cell(found)
    assert (describe_content(found), measure_cell(found)) == (words, size)
    returned = cell_from_plain(cell_to_plain(found))
    assert returned == found and type(returned) is type(found)
    if isinstance(cell, (list, tuple)):
        assert cell_to_object(found) == cell and type(cell_to_object(found)) is type(cell)


def test_a_list_is_written_in_square_brackets_and_a_tuple_is_not():
    assert repr(cell_from_object([1, ["a"], (2, 3)])) == "[1, ['a'], (2, 3)]"


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ({1}, "set"),
        (b"a", "bytes"),
        (np.ones(2), "ndarray"),
        ([1j], "list of complex numbers"),
        ([{}], "dict"),
        (datetime.UTC, "timezone"),
        (pd.NaT, "NaTType"),
    ],
)
def test_any_other_object_is_named(cell, name):
    with pytest.raises(InvalidCell, match=f"^{name}$"):
        cell_from_object(cell)
    assert not is_cell(cell) and not is_cell((cell,))


def test_lists_are_nested_and_objects_are_long_up_to_a_limit():
    cell = 1
    for _ in range(MAX_CELL_DEPTH):
        cell = [cell]
    assert cell_to_object(cell_from_plain(cell_to_plain(cell_from_object(cell)))) == cell
    with pytest.raises(InvalidCell, match="deeply nested list"):
        cell_from_object([cell])
    for text, detail in (("x" * (MAX_OBJECT_CHARACTERS - 2), "yz"), ("x", "")):
        assert ObjectCell("Timestamp", text, detail).text == text
    with pytest.raises(InvalidCell, match="Timestamp"):
        ObjectCell("Timestamp", "x" * MAX_OBJECT_CHARACTERS, "y")
    with pytest.raises(InvalidCell, match="function"):
        ObjectCell("function", "x")


@pytest.mark.parametrize(
    ("expected", "cell", "agree"),
    [
        (1, 1.0, True),
        (1, 1 + 1e-9, True),
        (1, 1.1, False),
        (1.0, True, False),
        (True, True, True),
        (True, 1, False),
        ("a", "a", True),
        ("a", "b", False),
        (None, None, True),
        (None, 0, False),
        ("1", 1, False),
        (ListCell([1.0, 2.0]), ListCell([1.0, 2.0 + 1e-9]), True),
        (ListCell([1.0, 2.0]), ListCell([1.0, 2.1]), False),
        (ListCell([1.0]), ListCell([1.0, 2.0]), False),
        (ListCell([]), ListCell([]), True),
        (ListCell([1, "a"]), ListCell([1.0, "a"]), True),
        (ListCell([1, "a"]), ListCell([1, "b"]), False),
        (ListCell([1]), (1,), True),
        (ListCell([ListCell([1.0])]), ListCell([ListCell([1.0 + 1e-9])]), True),
        (ListCell([1]), 1, False),
        (ObjectCell("date", "2020-01-01"), ObjectCell("date", "2020-01-01"), True),
        (ObjectCell("date", "2020-01-01"), ObjectCell("date", "2020-01-02"), False),
        (ObjectCell("date", "2020-01-01"), ObjectCell("datetime", "2020-01-01"), False),
        (ObjectCell("Period", "2020", "Y"), ObjectCell("Period", "2020", "M"), False),
        (ObjectCell("date", "2020-01-01"), "2020-01-01", False),
    ],
)
def test_cells_agree_if_their_types_do_and_their_numbers_to_tolerance(expected, cell, agree):
    assert cells_agree(expected, cell, ComparisonRules()) == agree
    assert cells_agree(cell, expected, ComparisonRules()) == agree
    numbers = cells_agree(1.0, 1.1, ComparisonRules(tolerance=0.2))
    assert numbers and cells_agree(ListCell([1.0]), ListCell([1.1]), ComparisonRules(tolerance=0.2))
