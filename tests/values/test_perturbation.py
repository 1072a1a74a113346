"""Last digits are changed in fractions of float64 only, and equal numbers stay equal."""

import math

import numpy as np
import pytest

from autograder.values.case_records import find_memory_layout
from autograder.values.perturbation import perturb_last_digits


@pytest.mark.parametrize(
    ("value", "short", "is_changed"),
    [
        (0.3, False, True),
        (-0.3, False, True),
        (0.5, False, True),
        (2.0, False, False),
        (0.0, False, False),
        (1e300, False, False),
        (math.inf, False, False),
        (0.3, True, True),
        (0.5, True, False),
        (2.25, True, False),
        (-3 / 1024, True, False),
        (1 / 2048, True, True),
        (3, False, False),
        (True, False, False),
        ("0.3", False, False),
        (None, False, False),
        (1j, False, False),
        ([0.3], False, True),
        ((0.3, 2), False, True),
        ({"a": [0.3]}, False, True),
        ({"a": [0.5]}, True, False),
        (np.float64(0.3), False, False),
    ],
)
def test_only_a_fraction_is_changed(value, short, is_changed):
    changed = perturb_last_digits(value, short)
    assert type(changed) is type(value)
    assert (changed != value) == is_changed


def test_a_number_changes_by_three_units_in_its_last_place():
    numbers = np.array([0.3, 0.7, -12.34, 1e-5, 123.456])
    ratio = np.abs(perturb_last_digits(numbers) / numbers - 1) / np.finfo(float).eps
    assert np.all((ratio >= 2) & (ratio <= 4))
    assert math.isnan(perturb_last_digits(math.nan))


def test_equal_numbers_stay_equal_and_the_original_stays():
    numbers = np.array([[0.3, 0.7], [0.7, 0.3]])
    copy = numbers.copy()
    changed = perturb_last_digits(numbers)
    assert np.array_equal(numbers, copy) and not np.array_equal(changed, numbers)
    assert changed[0, 0] == changed[1, 1] == perturb_last_digits(0.3)
    signs = np.sign(perturb_last_digits(np.linspace(0.1, 0.9, 50)) - np.linspace(0.1, 0.9, 50))
    assert {*signs.tolist()} == {-1, 1}  # some become larger, and some smaller


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool"])
def test_arrays_of_other_types_stay_as_they_are(dtype):
    array = np.array([0.3, 0.7]).astype(dtype)
    assert perturb_last_digits(array) is array


def test_an_array_keeps_its_memory_layout():
    for array in (np.full((2, 3), 0.3), np.full((2, 3), 0.3).T):
        assert find_memory_layout(perturb_last_digits(array)) == find_memory_layout(array)
