"""Whole sentences on wrong arrays, numbers and dates, with the mistake that each one shows."""

import datetime as dt

import numpy as np
import pytest

from autograder.values.arrays import find_largest_difference
from autograder.values.case_records import ComparisonRules
from autograder.values.common_mistakes import MISTAKES
from autograder.values.value_types import (
    SizeBudget,
    convert_argument,
    convert_result,
    find_difference,
    is_unchanged,
)

NAMES = {"np": np, "dt": dt}


def compare(expected, value, **rules):
    """Return the difference of two values that are given as code."""
    right = convert_argument(eval(expected, NAMES))
    result = convert_result(eval(value, NAMES), SizeBudget())
    return find_difference(right, result, ComparisonRules(**rules))


@pytest.mark.parametrize(
    ("expected", "value", "kind", "mistake", "nearly_right", "sentence"),
    [
        (
            "np.ones((2, 3))",
            "np.ones((3, 2))",
            "shape",
            "transposed",
            False,
            "Your result has shape (3, 2); expected (2, 3).",
        ),
        (
            "np.arange(6.0).reshape(2, 3)",
            "np.arange(6.0).reshape(2, 3).T",
            "shape",
            "transposed",
            False,
            "Your result has shape (3, 2); expected (2, 3).",
        ),
        (
            "np.arange(4.0).reshape(2, 2)",
            "np.arange(4.0).reshape(2, 2).T",
            "values",
            "transposed",
            False,
            (
                "2 of 4 numbers differ. The largest difference is at [0, 1]: your value is 2, "
                "expected 1."
            ),
        ),
        (
            "np.arange(3.0)",
            "np.arange(3.0)[:, None]",
            "shape",
            "extra-axis",
            False,
            "Your result has shape (3, 1); expected (3,).",
        ),
        (
            "np.arange(3.0)[:, None]",
            "np.arange(3.0)",
            "shape",
            "missing-axis",
            False,
            "Your result has shape (3,); expected (3, 1).",
        ),
        (
            "np.arange(3.0)[:, None]",
            "np.arange(3.0)[None]",
            "shape",
            "transposed",
            False,
            "Your result has shape (1, 3); expected (3, 1).",
        ),
        (
            "np.arange(3.0)",
            "np.arange(3.0)[:, None] + 1",
            "shape",
            None,
            False,
            "Your result has shape (3, 1); expected (3,).",
        ),
        (
            "np.ones(3)",
            "np.ones(4)",
            "shape",
            None,
            False,
            "Your result has shape (4,); expected (3,).",
        ),
        (
            "np.ones((2, 1, 3))",
            "np.ones((2, 3, 1))",
            "shape",
            None,
            False,
            "Your result has shape (2, 3, 1); expected (2, 1, 3).",
        ),
        (
            "np.array([True, False])",
            "np.array([1, 0])",
            "dtype",
            "numbers-not-booleans",
            False,
            "Your result holds int64; expected bool.",
        ),
        (
            "np.array([True, False])",
            "np.array([1.5, 0])",
            "dtype",
            "numbers-for-true-and-false",
            False,
            "Your result holds float64; expected bool.",
        ),
        (
            "np.array([1.0, 0.0])",
            "np.array([True, False])",
            "dtype",
            "booleans-not-numbers",
            False,
            "Your result holds bool; expected float64.",
        ),
        (
            "np.array([1, 0])",
            "np.array([True, False])",
            "dtype",
            "booleans-not-numbers",
            False,
            "Your result holds bool; expected int64.",
        ),
        (
            "np.array([1.5, 0.5])",
            "np.array([1, 0])",
            "dtype",
            "whole-numbers",
            False,
            "Your result holds int64; expected float64.",
        ),
        (
            "np.array([1.5, 0.5])",
            "np.array([1.5, 0.5], 'float32')",
            "dtype",
            "lower-precision",
            False,
            "Your result holds float32; expected float64.",
        ),
        (
            "np.array([1.0, 2.0, 3.0])",
            "np.array([1.0, np.nan, np.inf])",
            "not finite",
            None,
            False,
            (
                "2 of your 3 numbers are infinite or NaN; finite numbers are expected. The first "
                "is nan, at [1]."
            ),
        ),
        (
            "np.array([1.0, np.inf])",
            "np.array([1.0, 2.0])",
            "values",
            None,
            False,
            (
                "1 of 2 numbers differ. The largest difference is at [1]: your value is 2, "
                "expected inf."
            ),
        ),
        (
            "np.array([[1.0, 2.0], [3.0, 4.0]])",
            "np.array([[1.0, 2.0], [9.0, 5.0]])",
            "values",
            None,
            False,
            (
                "2 of 4 numbers differ. The largest difference is at [1, 0]: your value is 9, "
                "expected 3."
            ),
        ),
        (
            "np.array([True, False, True])",
            "np.array([True, True, False])",
            "values",
            None,
            False,
            (
                "2 of 3 entries differ. The first of them is at [1]: your value is True, expected "
                "False."
            ),
        ),
        (
            "np.array(3.0)",
            "np.array(4.0)",
            "values",
            None,
            False,
            (
                "1 of 1 numbers differ. The largest difference is at its only entry: your value is "
                "4, expected 3."
            ),
        ),
        (
            "np.array([1.0, 1.0])",
            "np.array([1.0, 1.00001])",
            "values",
            "imprecise",
            True,
            (
                "1 of 2 numbers differ. The largest difference is at [1]: your value is 1.00001, "
                "expected 1."
            ),
        ),
        (
            "np.array([1.23456, 7.65432])",
            "np.array([1.23, 7.65])",
            "values",
            "rounded",
            False,
            (
                "2 of 2 numbers differ. The largest difference is at [0]: your value is 1.23, "
                "expected 1.235."
            ),
        ),
        (
            "np.array([1.23456, 7.65432])",
            "np.array([1.3, 7.7])",
            "values",
            None,
            False,
            (
                "2 of 2 numbers differ. The largest difference is at [0]: your value is 1.3, "
                "expected 1.235."
            ),
        ),
        (
            "np.array([1.0, 2.0])",
            "np.array([1.003, 2.0])",
            "values",
            "imprecise",
            True,
            (
                "1 of 2 numbers differ. The largest difference is at [0]: your value is 1.003, "
                "expected 1."
            ),
        ),
        (
            "np.array([1.0, 2.0])",
            "np.array([1.0000001, 2.0000003])*(1+2e-7)",
            "values",
            "imprecise",
            True,
            (
                "2 of 2 numbers differ. The largest difference is at [1]: your value is 2.0000007, "
                "expected 2."
            ),
        ),
        (
            "np.array([1.0, 0.001])",
            "np.array([1.0, 0.0005])",
            "values",
            None,
            True,
            (
                "1 of 2 numbers differ. The largest difference is at [1]: your value is 0.0005, "
                "expected 0.001."
            ),
        ),
        (
            "np.array([1.0, 2.0])",
            "np.array([1.02, 2.0])",
            "values",
            None,
            False,
            (
                "1 of 2 numbers differ. The largest difference is at [0]: your value is 1.02, "
                "expected 1."
            ),
        ),
        (
            "np.array([1.0, 2.0], 'float32')",
            "np.array([1.003, 2.0], 'float32')",
            "values",
            "imprecise",
            True,
            (
                "1 of 2 numbers differ. The largest difference is at [0]: your value is 1.003, "
                "expected 1."
            ),
        ),
        (
            "np.array([1, 20])",
            "np.array([1, 21])",
            "values",
            None,
            False,
            (
                "1 of 2 numbers differ. The largest difference is at [1]: your value is 21, "
                "expected 20."
            ),
        ),
        (
            "np.array([5.0, 6.0])",
            "np.array([6.0, 7.0])",
            "values",
            None,
            False,
            (
                "2 of 2 numbers differ. The largest difference is at [0]: your value is 6, "
                "expected 5."
            ),
        ),
        (
            "np.array(['ab', 'c'])",
            "np.array(['ab', 'd'])",
            "values",
            None,
            False,
            "1 of 2 texts differ. The first is at [1]: your value is 'd', expected 'c'.",
        ),
        (
            "np.array(['ab', 'c'])",
            "np.array(['ab'])",
            "shape",
            None,
            False,
            "Your result has shape (1,); expected (2,).",
        ),
        (
            "np.array([['a', 'b']])",
            "np.array([['x', 'y']])",
            "values",
            None,
            False,
            "2 of 2 texts differ. The first is at [0, 0]: your value is 'x', expected 'a'.",
        ),
        (
            "np.array('a')",
            "np.array('b')",
            "values",
            None,
            False,
            (
                "1 of 1 texts differ. The first is at its only entry: your value is 'b', expected "
                "'a'."
            ),
        ),
        (
            "np.array(['2020-01-01', '2020-01-02'], 'M8[D]')",
            "np.array(['2020-01-01', '2020-01-03T10:00'], 'M8[s]')",
            "values",
            None,
            False,
            (
                "1 of 2 dates differ. The first is at [1]: your value is 2020-01-03T10:00:00, "
                "expected 2020-01-02."
            ),
        ),
        (
            "np.array([1, 2], 'm8[s]')",
            "np.array([1, 90], 'm8[s]')",
            "values",
            None,
            False,
            (
                "1 of 2 durations differ. The first is at [1]: your value is 0:01:30, expected "
                "0:00:02."
            ),
        ),
        (
            "np.array([1], 'm8[s]')",
            "np.array(['NaT'], 'm8[s]')",
            "values",
            None,
            False,
            "1 of 1 durations differ. The first is at [0]: your value is NaT, expected 0:00:01.",
        ),
        (
            "np.array(['a'])",
            "np.array(['2020-01-01'], 'M8[D]')",
            "type",
            None,
            False,
            (
                "Your function returned a NumPy array of dates of shape (1,); expected a NumPy "
                "array of texts of shape (1,)."
            ),
        ),
        (
            "np.array(['a'])",
            "np.array([1.0])",
            "type",
            None,
            False,
            (
                "Your function returned a NumPy array of shape (1,); expected a NumPy array of "
                "texts of shape (1,)."
            ),
        ),
        ("1", "2", "values", None, False, "Your function returned 2; expected 1."),
        ("1.5", "2.5", "values", None, False, "Your function returned 2.5; expected 1.5."),
        (
            "1",
            "1.0",
            "type",
            "not-a-whole-number",
            False,
            "Your function returned 1.0, a float; expected a whole number (int).",
        ),
        (
            "1",
            "1.5",
            "type",
            None,
            False,
            "Your function returned 1.5, a float; expected a whole number (int).",
        ),
        (
            "1.0",
            "float('nan')",
            "not finite",
            None,
            False,
            "Your function returned nan; expected 1.",
        ),
        ("float('inf')", "1.0", "values", None, False, "Your function returned 1; expected inf."),
        ("1.0", "1.00001", "values", None, False, "Your function returned 1.00001; expected 1."),
        ("1 + 2j", "1 + 3j", "values", None, False, "Your function returned 1+3j; expected 1+2j."),
        (
            "1.0",
            "1 + 0j",
            "type",
            None,
            False,
            "Your function returned a complex number; expected a number (float).",
        ),
        ("True", "False", "values", None, False, "Your function returned False; expected True."),
        ("'a'", "'b'", "values", None, False, "Your text says 'b'; expected 'a'."),
        (
            "None",
            "0",
            "type",
            None,
            False,
            "Your function returned a whole number (int); expected None.",
        ),
        (
            "dt.date(2020, 1, 1)",
            "dt.date(2020, 1, 2)",
            "values",
            None,
            False,
            "Your function returned 2020-01-02; expected 2020-01-01.",
        ),
        (
            "dt.date(2020, 1, 1)",
            "dt.datetime(2020, 1, 1)",
            "type",
            None,
            False,
            "Your function returned a date with a time (datetime); expected a date.",
        ),
        (
            "dt.timedelta(1)",
            "dt.timedelta(2)",
            "values",
            None,
            False,
            "Your function returned 2 days, 0:00:00; expected 1 day, 0:00:00.",
        ),
        (
            "dt.datetime(2020, 1, 1, 12)",
            "dt.datetime(2020, 1, 1, 13)",
            "values",
            None,
            False,
            "Your function returned 2020-01-01 13:00:00; expected 2020-01-01 12:00:00.",
        ),
        ("1", "-1", "values", None, False, "Your function returned -1; expected 1."),
        (
            "0",
            "1e-12",
            "type",
            None,
            False,
            "Your function returned 1e-12, a float; expected a whole number (int).",
        ),
    ],
)
def test_a_wrong_value_has_its_sentence_and_its_mistake(
    expected, value, kind, mistake, nearly_right, sentence
):
    difference = compare(expected, value)
    assert difference.observation == sentence
    assert (difference.kind, difference.mistake) == (kind, mistake)
    assert difference.nearly_right == nearly_right and difference.nudge is None


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ("np.array([1.5], 'float32')", "np.array([1.5])"),
        ("np.array([1, 2])", "np.array([1.0, 2.0])"),
        ("np.array([1, 2])", "np.array([1, 2], 'int8')"),
        ("np.array([1.0, np.nan])", "np.array([1.0, np.nan])"),
        ("np.array(['2020-01-01'], 'M8[D]')", "np.array(['2020-01-01'], 'M8[s]')"),
        ("1.0", "1.0000001"),
    ],
)
def test_a_value_of_another_size_or_unit_is_right(expected, value):
    assert compare(expected, value) is None


@pytest.mark.parametrize(
    ("expected", "value", "rules", "mistake"),
    [
        (
            "np.array([1.5], 'float32')",
            "np.array([1.5])",
            {"exact_dtype": True},
            "higher-precision",
        ),
        ("np.array([1.5])", "np.array([1.5], 'float32')", {"returns": "tensor"}, None),
        ("np.array([True])", "np.array([1])", {"returns": "tensor"}, None),
        (
            "np.array([1.5])",
            "np.array([1.5], 'float32')",
            {"returns": "tensor", "exact_dtype": True},
            "lower-precision",
        ),
    ],
)
def test_the_rules_say_which_dtype_will_do(expected, value, rules, mistake):
    difference = compare(expected, value, **rules)
    assert (difference and difference.mistake) == mistake


def test_the_size_of_an_error_is_told():
    difference = compare("np.array([1.0, 2.0, 0.0])", "np.array([1.003, 2.0, 0.0])")
    start = MISTAKES["imprecise"][0].removesuffix(".")
    assert difference.means == f"{start} (the largest relative error is 0.003)."
    assert compare("np.array([1.0])", "np.array([2.0])").means == ""


@pytest.mark.parametrize(
    ("expected", "error", "mistake", "nearly_right"),
    [
        ([1.0, 2.0], [0.0099, 0.0], "imprecise", True),
        ([1.0, 2.0], [0.0, 0.0239], None, True),
        ([1.0, 2.0], [0.0, 0.0241], None, False),
        ([1.0, 2.0], [2e-7 * 2.9, 0.0], "precision-lost-on-the-way", True),
        ([1.0, 2.0], [2e-7 * 3.2, 0.0], "imprecise", True),
        ([1.0, 2.0], [0.123, 0.0], None, False),
    ],
)
def test_how_precision_was_lost_depends_on_the_size_of_the_error(
    expected, error, mistake, nearly_right
):
    values = (np.array(expected) + error).tolist()
    difference = compare(f"np.array({expected})", f"np.array({values!r})")
    assert (difference.mistake, difference.nearly_right) == (mistake, nearly_right)


@pytest.mark.parametrize("places", range(1, 9))
def test_numbers_rounded_to_any_places_are_rounded(places):
    expected = np.array([1.234567891234, 7.654321987654])
    code = f"np.array({expected.tolist()})"
    difference = compare(code, f"np.round({code}, {places})", tolerance=1e-12)
    assert difference.mistake == "rounded" and not difference.nearly_right


@pytest.mark.parametrize(
    ("expected", "value", "index"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.5, 3.4], (1,)),
        ([1.0, 2.0, 3.0], [1.5, 2.5, 3.5], (0,)),
        ([1.0, 2.0, 3.0], [1.5, np.nan, np.inf], (1,)),
        ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 9.0]], (1, 1)),
        (1.0, 2.0, ()),
    ],
)
def test_the_first_of_the_largest_differences_is_found(expected, value, index):
    first, second = np.array(expected), np.array(value)
    assert find_largest_difference(first, second, first == second) == index
    if len(index) == 1:
        agree = np.arange(3) == index[0]
        assert find_largest_difference(first, second, agree) != index


def test_large_whole_numbers_that_differ_at_their_ends_are_written_out():
    sentence = compare("10**70", "10**70 + 1").observation
    assert sentence == f"Your function returned {10**70 + 1}; expected {10**70}."
    sentence = compare("10**70", "2 * 10**70").observation
    assert sentence == f"Your function returned 2{'0' * 56}...; expected 1{'0' * 56}...."


def test_numbers_of_float32_may_be_off_by_more():
    code = "np.array([1.0000008, 2.0])"
    rounded = compare("np.array([1.0, 2.0])", f"{code}.astype('float32').astype(float)")
    assert rounded.mistake == "precision-lost-on-the-way"
    assert compare("np.array([1.0, 2.0])", code).mistake == "imprecise"


def test_a_change_of_a_repeated_row_is_noticed():
    row = np.broadcast_to(np.ones((1, 2)), (3, 2))
    assert is_unchanged(row, np.broadcast_to(np.ones((1, 2)), (3, 2)))
    assert not is_unchanged(row, np.broadcast_to(np.zeros((1, 2)), (3, 2)))


def test_the_parts_of_a_complex_number_may_be_off_by_a_share_of_its_size():
    for value in ("1e6 + 1e-3j", "1e6 - 1e-3j"):
        assert compare("1e6 + 0j", value) is None
    for value in ("1e-3 + 1e6j", "-1e-3 + 1e6j"):
        assert compare("1e6j", value) is None
    assert compare("1e6 + 0j", "1e6 + 1j") is not None
