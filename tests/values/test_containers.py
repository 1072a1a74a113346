"""Differences inside tuples, lists and mappings say where they are."""

import numpy as np
import pytest

from autograder.values.case_records import ComparisonRules
from autograder.values.value_types import find_difference


@pytest.mark.parametrize(
    ("expected", "value", "path"),
    [
        ((1.0, 2.0), (1.0, 3.0), (1,)),
        ([1.0, [2.0, 3.0]], [1.0, [2.0, 4.0]], (1, 1)),
        ({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 3.0}, ("b",)),
        ({"a": (1.0, {"b": 2.0})}, {"a": (1.0, {"b": 3.0})}, ("a", 1, "b")),
        (({"a": np.ones(2)}, 1.0), ({"a": np.zeros(2)}, 1.0), (0, "a")),
        (1.0, 2.0, ()),
    ],
)
def test_a_difference_has_the_path_to_its_part(expected, value, path):
    difference = find_difference(expected, value, ComparisonRules())
    assert difference is not None and difference.path == path


def test_of_the_missing_members_of_a_set_the_first_in_order_is_named():
    """The order of a set's members differs from process to process."""
    members = {f"w{number:02}" for number in range(40)}
    assert "lacks 'w00'." in find_difference(members, set(), ComparisonRules()).observation
    assert (
        "should not hold 'w00'." in find_difference(set(), members, ComparisonRules()).observation
    )
