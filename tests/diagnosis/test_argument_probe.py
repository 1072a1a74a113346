"""Test what trying an answer again, with the same or other arguments, tells about it."""

import itertools

import numpy as np

from autograder.diagnosis import argument_probe
from autograder.diagnosis.argument_probe import explain_by_arguments, is_small_enough_to_repeat
from autograder.values.case_records import ComparisonRules, Inputs, TestCase

CASE = TestCase("numbers", Inputs((np.arange(4.0),), {}), np.arange(4.0), {})
OF_A_LAYER = ComparisonRules(call="operator:call")  # a function of the course calls the answer


class Dropout:
    """Layer that keeps each number with probability 1/2."""

    __name__ = "Dropout"

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, x):
        return x * (self.rng.random(x.shape) < 0.5)


def test_a_layer_that_draws_random_numbers_is_told_so():
    sentence = explain_by_arguments(Dropout(3), [CASE], OF_A_LAYER)
    assert sentence.startswith(
        "Called twice with the same arguments, `Dropout` gives two different results."
    )
    assert "as dropout does" in sentence


def test_a_layer_that_counts_its_calls_is_told_so():
    count = itertools.count()

    def layer(x):
        return x + next(count)

    assert "`layer` gives two different results" in explain_by_arguments(layer, [CASE], OF_A_LAYER)


def test_a_wrong_layer_that_gives_the_same_again_is_told_nothing():
    assert explain_by_arguments(lambda x: 2 * x, [CASE], OF_A_LAYER) == ""


def test_a_layer_that_raises_an_error_is_told_nothing():
    assert explain_by_arguments(lambda x: x.nothing, [CASE], OF_A_LAYER) == ""


def test_without_a_failing_case_a_layer_is_not_called():
    assert explain_by_arguments(None, [], OF_A_LAYER) == ""


def test_a_random_layer_is_asked_with_the_largest_case():
    """Dropout often leaves a few numbers unchanged, twice in a row."""
    small = TestCase("one number", Inputs((np.zeros(1),), {}), np.ones(1), {})
    sentence = explain_by_arguments(Dropout(3), [small, CASE], OF_A_LAYER)
    assert "`Dropout` gives two different results" in sentence


def test_an_array_that_the_right_result_does_not_need_is_not_asked_for():
    x, y = np.linspace(0.1, 2, 9), np.linspace(3, 4, 9)
    case = TestCase("numbers", Inputs((x, y), {}), np.exp(x), {})

    def tangent(x, y):
        return np.tan(x)

    assert "does not depend on `y`" in explain_by_arguments(tangent, [case], ComparisonRules())
    assert explain_by_arguments(tangent, [case], ComparisonRules(), ["y"]) == ""


def test_only_small_cases_without_a_limit_of_memory_are_called_again(monkeypatch):
    monkeypatch.setattr(argument_probe, "MAX_INPUT_NUMBERS", 6)
    for inputs, is_small in (
        (Inputs((np.ones(3),), {"y": np.ones(3)}), True),
        (Inputs((np.ones(3),), {"y": np.ones(4)}), False),
        (Inputs((np.ones(3),), memory=1000), False),
    ):
        assert is_small_enough_to_repeat(TestCase("", inputs, 1.0, {})) == is_small
