"""Tolerances: the least precise dtype widens them, and never narrows what the author allows."""

import re
from pathlib import Path

import numpy as np
import pytest

from autograder.values.case_records import ComparisonRules
from autograder.values.tolerance import arrays_agree, effective_tolerance

HALF, SINGLE, DOUBLE = (np.empty(0, dtype) for dtype in (np.float16, np.float32, np.float64))


@pytest.mark.parametrize(
    ("tolerance", "arrays", "expected"),
    [
        (1e-7, (DOUBLE, DOUBLE), (1e-7, 1e-10)),
        (1e-7, (DOUBLE, SINGLE), (2e-4, 2e-6)),
        (1e-7, (SINGLE, HALF), (2e-2, 2e-3)),
        (1e-3, (SINGLE,), (1e-3, 2e-6)),
        (0.5, (HALF,), (0.5, 2e-3)),
        ((1e-3, 1e-9), (DOUBLE,), (1e-3, 1e-9)),
        ((1e-3, 1e-9), (SINGLE,), (1e-3, 2e-6)),
        ((1e-6, 1e-2), (SINGLE,), (2e-4, 1e-2)),
        ((1e-6, 1e-9), (HALF, DOUBLE), (2e-2, 2e-3)),
    ],
)
def test_the_least_precise_array_decides(tolerance, arrays, expected):
    assert effective_tolerance(tolerance, *arrays) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("dtype", "relative"), [(np.float16, 2e-2), (np.float32, 2e-4), (np.float64, 1e-7)]
)
def test_numbers_agree_up_to_the_tolerance_and_no_further(dtype, relative):
    expected = np.array([1.0, 100.0], dtype)
    assert arrays_agree(expected, expected.astype(float) * (1 + 0.9 * relative), 1e-7)
    assert not arrays_agree(expected, expected.astype(float) * (1 + 1.2 * relative), 1e-7)


def test_the_authors_page_has_the_tolerances():
    text = (Path(__file__).parents[2] / "docs/new-lab.md").read_text("utf-8")
    rows = {
        "nothing": effective_tolerance(1e-7),
        "`tolerance=1e-3`": effective_tolerance(1e-3),
        "`tolerance=(1e-3, 0.5)`": effective_tolerance((1e-3, 0.5)),
        "any of these, and one of the two is `float32`": effective_tolerance(1e-7, SINGLE),
        "any of these, and one of the two is `float16`": effective_tolerance(1e-7, HALF),
    }
    for label, expected in rows.items():
        (row,) = [line for line in text.splitlines() if line.strip().startswith(f"| {label} |")]
        numbers = [float(number) for number in re.findall(r"\| ([\d.e-]+)", row)]
        assert numbers == pytest.approx(expected), label


def test_infinities_agree_with_themselves_only():
    expected = np.array([np.inf, -np.inf, np.nan, 1.0])
    assert arrays_agree(expected, expected.copy(), 1e-7)
    for place, value in ((0, -np.inf), (0, 1e308), (1, np.nan), (2, np.inf), (3, np.inf)):
        other = expected.copy()
        other[place] = value
        assert not arrays_agree(expected, other, 1e-7), (place, value)


@pytest.mark.parametrize("tolerance", [(1e-3, 0.5), (0.1, 0.0), (1e-9, 1e-9), 0.0, 1e-7])
@pytest.mark.parametrize("array", [SINGLE, HALF])
def test_a_wide_tolerance_of_an_author_stays_for_arrays_of_low_precision(tolerance, array):
    pair = effective_tolerance(tolerance)
    minimum = effective_tolerance(0.0, array)
    assert effective_tolerance(tolerance, array) == tuple(map(max, pair, minimum))


@pytest.mark.parametrize(
    "tolerance", [-1e-9, float("inf"), float("nan"), (1e-3, -1.0), (1e-3,), "1e-3", None]
)
def test_a_tolerance_without_sense_is_refused(tolerance):
    with pytest.raises(ValueError, match="a number of 0 or more is expected"):
        ComparisonRules(tolerance=tolerance)


@pytest.mark.parametrize("tolerance", [0, 1e-3, (0.0, 0.5), [1e-3, 0.5]])
def test_a_tolerance_may_be_a_number_or_a_pair(tolerance):
    expected = tuple(tolerance) if isinstance(tolerance, list) else tolerance
    assert ComparisonRules(tolerance=tolerance).tolerance == expected
