"""Differences inside tuples, lists and mappings say where they are."""

import numpy as np
import pytest

from autograder.values.case_records import ComparisonRules
from autograder.values.value_types import describe_value, find_difference, short_repr


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


@pytest.mark.parametrize(
    ("expected", "value", "sentence"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, "Your result has no entry 'b'; its keys should be 'a', 'b'."),
        ({"a": 1}, {"a": 1, "c": 2}, "Your result has an entry 'c'; its keys should be 'a'."),
        ({1, 2}, {1, 2, 3}, "Your result should not hold 3."),
        ({1, 2}, {1, 3}, "Your result lacks 2."),
        ((1, 2), (1,), "Your function returned 1 value; expected 2."),
        (((1, 2), 3), ((1,), 3), "In the first of the 2 values that you return: found 1 value"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "In the entry 'a': in the entry 'b': "),
        (
            [[1, 2], 3],
            [[1, 4], 3],
            "In the first of the 2 values that you return: in the second of",
        ),
    ],
)
def test_a_difference_of_a_container_has_its_sentence(expected, value, sentence):
    difference = find_difference(expected, value, ComparisonRules())
    assert difference is not None and difference.observation.startswith(sentence)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (set(), "an empty set"),
        ({1}, "a set of 1 value"),
        ({1, 2}, "a set of 2 values"),
        ([], "a list of 0 values"),
        ((1,), "a tuple of 1 value"),
        ({"a": 1}, "a dict with the entries 'a'"),
    ],
)
def test_a_container_is_described_by_what_it_holds(value, text):
    assert describe_value(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": 2, "c": 3, "d": 4}, "{'a': 1, 'b': 2, 'c': 3, 'd': 4}"),
        (dict.fromkeys("abcde", 1), "a mapping with 5 entries"),
        ([1, (2, 3)], "[1, (2, 3)]"),
    ],
)
def test_a_small_mapping_is_written_out_and_a_large_one_is_not(value, text):
    assert short_repr(value) == text


@pytest.mark.parametrize(
    ("expected", "value", "agrees"), [(True, 1, True), (False, 0.0, True), (True, 2, False)]
)
def test_one_stands_for_true_where_the_rules_say_so(expected, value, agrees):
    rules = ComparisonRules(floats_too=True)
    assert (find_difference(expected, value, rules) is None) is agrees
    assert find_difference(expected, value, ComparisonRules()) is not None
