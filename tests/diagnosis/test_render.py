"""Test the tables and sentences that show students a wrong answer."""

import numpy as np
import pytest

from autograder.diagnosis.render import (
    _choose_shown_indices,
    _quote_error_line,
    choose_arrays_to_show,
    format_cell,
    render_html,
    render_text,
)
from autograder.judging.judge import judge
from autograder.values.case_records import CallOutcome, ComparisonRules, Inputs, TestCase


def judge_value(expected, value):
    test_case = TestCase("a case", Inputs(), expected, {})
    return judge([test_case], [CallOutcome(value)], ComparisonRules(), [])


def test_of_a_batch_the_matrix_with_the_largest_difference_is_shown_and_named():
    expected = np.zeros((2, 3, 2, 2))
    value = expected.copy()
    value[0, 0, 0, 1] = 0.5
    value[1, 2, 1, 0] = 7
    finding = judge_value(expected, value)
    shown = choose_arrays_to_show(finding)
    assert shown.values.tolist() == [[0, 0], [7, 0]]
    assert shown.expected.tolist() == [[0, 0], [0, 0]]
    sentence = "The tables show one matrix of the array, the one at [1, 2, :, :]."
    assert "at [1, 2, 1, 0]" in finding.message
    assert sentence in render_text(finding)
    assert sentence in render_html(finding)


@pytest.mark.parametrize("shape", [(3,), (2, 2), (1, 2, 2), (1, 1, 2, 3)])
def test_an_array_that_is_shown_whole_needs_no_place(shape):
    finding = judge_value(np.zeros(shape), np.ones(shape))
    shown = choose_arrays_to_show(finding)
    assert shown.expected.size == np.zeros(shape).size
    assert shown.place == ""
    assert "The tables show" not in render_text(finding) + render_html(finding)


def test_nan_counts_as_the_largest_difference():
    value = np.zeros((2, 2, 2))
    value[0] = 1000
    value[1, 0, 0] = np.nan
    shown = choose_arrays_to_show(judge_value(np.zeros((2, 2, 2)), value))
    assert shown.place.endswith("[1, :, :].")


@pytest.mark.parametrize(
    ("line", "within", "text"),
    [
        ("3: return {'a': x}", "f", "line 3 of your cell, in `f`: `return {'a': x}`"),
        ("12: x: int = 1 / 0", "<lambda>", "line 12 of your cell: `x: int = 1 / 0`"),
        ("", "f", ""),
    ],
)
def test_a_line_that_raised_is_quoted_whole(line, within, text):
    assert _quote_error_line(CallOutcome(None, line=line, within=within)) == text


@pytest.mark.parametrize(
    ("length", "wrong", "shown"),
    [
        (8, [4], [0, 1, 2, 3, 4, 5, 6, 7]),
        (9, [], [0, 1, 2, 3, 4, 5, None, 8]),
        (20, [10], [0, 1, 2, 3, 4, None, 10, None, 19]),
        (20, [2, 3], [0, 1, 2, 3, 4, 5, None, 19]),
        (20, [7, 9, 11, 13, 15], [0, 1, None, 7, None, 9, None, 11, None, 13, None, 19]),
        (20, [0, 1, 19], [0, 1, 2, 3, 4, 5, None, 19]),
        (20, [17, 18, 19], [0, 1, 2, 3, None, 17, 18, 19]),
    ],
)
def test_of_a_large_table_the_ends_and_the_first_that_differ_are_shown(length, wrong, shown):
    assert _choose_shown_indices(np.isin(np.arange(length), wrong)) == shown


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (-0.0, "0"), (3, "3"), (0.001, "0.001"), (-0.001, "-0.001"), (0.00094, "9.4e-4"),
        (0.25, "0.25"), (99.5, "99.5"), (100, "100"), (100.4, "100"), (-99_999.0, "-99999"),
        (100_000, "1.0e5"), (2.5e12, "2.5e12"), (1e-12, "1.0e-12"), (np.nan, "nan"),
        (-np.inf, "-inf"), (np.False_, "False"), (np.float32(0.5), "0.5"),
    ],
)  # fmt: skip
def test_a_number_of_a_table_is_short(number, text):
    assert format_cell(number) == text
