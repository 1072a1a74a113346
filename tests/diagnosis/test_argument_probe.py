"""Test what trying an answer again, with the same or other arguments, tells about it."""

import itertools

import numpy as np
import pytest

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


X, W = np.linspace(0.5, 2.0, 12).reshape(3, 4), np.cos(np.arange(12.0)).reshape(3, 4)
SUMS = (X.sum(axis=0), np.linspace(1.0, 3.0, 12).reshape(3, 4))  # two values of another shape


def explain(function, right, *arguments):
    """Return the explanation of a wrong function, in one case with these arguments."""
    case = TestCase("a case", Inputs(arguments), right(*arguments), {})
    return explain_by_arguments(function, [case], ComparisonRules())


@pytest.mark.parametrize(
    ("combine", "words"),
    [
        (lambda right, x: right + x, "the expected result plus `x`"),
        (lambda right, x: right - x, "the expected result minus `x`"),
        (lambda right, x: x - right, "`x` minus the expected result"),
        (lambda right, x: right * x, "the expected result times `x`"),
        (lambda right, x: right / x, "the expected result divided by `x`"),
        (lambda right, x: (right + x) / 2, "halfway between the expected result and `x`"),
    ],
)
def test_a_result_combined_with_an_argument_is_named_and_of_several_values_which(combine, words):
    def right(x):
        return np.exp(W)

    ending = f"is {words}. Does the formula ask for that?"
    text = explain(lambda x: combine(right(x), x), right, X)
    assert text == f"The value that you return {ending}"

    def right_pair(x):
        return (SUMS[0], SUMS[1])

    text = explain(lambda x: (SUMS[0], combine(SUMS[1], x)), right_pair, X)
    assert text == f"The value that you return as the second value {ending}"
    text = explain(lambda x: (combine(SUMS[1], x), SUMS[0]), lambda x: right_pair(x)[::-1], X)
    assert text == f"The value that you return as the first value {ending}"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: 2 * x, "With `x` multiplied by ½, your"),
        (lambda x: x / 2, "With `x` multiplied by 2, your"),
        (lambda x: x * 2.0, "With `x` multiplied by ½, your"),
        (lambda x: x / x.shape[-1] ** 0.5, "multiplied by √n = `x.shape[-1]`, your"),
        (lambda x: x * x.shape[-1] ** 0.5, "multiplied by 1/√n = `x.shape[-1]`, your"),
        (lambda x: x / x.shape[-1], "multiplied by n = `x.shape[-1]`, your"),
        (lambda x: x * x.shape[-1], "multiplied by 1/n = `x.shape[-1]`, your"),
        (lambda x: x * x.shape[-1] ** 0.25, "multiplied by 1/√√n = `x.shape[-1]`, your"),
        (lambda x: x / len(x), "multiplied by n = `len(x)`, your"),
        (lambda x: x * len(x), "multiplied by 1/n = `len(x)`, your"),
        (lambda x: -x, "With the opposite sign of `x`, your"),
        (lambda x: 1 / x, "With `1 / x` in place of `x`, your"),
    ],
)
def test_a_wrong_use_of_an_array_is_named_by_the_change_that_undoes_it(change, words):
    def right(x):
        return np.exp(-x) + np.sin(x)

    x = np.linspace(0.3, 1.9, 15).reshape(3, 5)
    text = explain(lambda x: right(change(x)), right, x)
    assert words in text
    assert "function gives the expected result. " in text


def test_exchanged_transposed_and_shifted_arguments_are_named():
    x, y = np.linspace(0.3, 1.9, 9).reshape(3, 3), np.cos(np.arange(9.0)).reshape(3, 3)
    assert explain(lambda x, y: np.exp(y) - x, lambda x, y: np.exp(x) - y, x, y) == (
        "With `x` and `y` exchanged, your function gives the expected result. Are the two "
        "exchanged in your code?"
    )
    text = explain(lambda x: np.cumsum(x.T, axis=0), lambda x: np.cumsum(x, axis=0), x)
    assert text.startswith("With `x` transposed, your function gives the expected result. ")
    for wrong, words in (
        (lambda x, n: x[: n + 1] ** 2, "decreased"),
        (lambda x, n: x[: n - 1] ** 2, "increased"),
    ):
        text = explain(wrong, lambda x, n: x[:n] ** 2, x, 2)
        assert text.startswith(f"With `n` {words} by 1, your function gives the expected result. ")
    mask = np.eye(3, dtype=bool)

    def right(x, mask):
        return np.where(mask, x, x**2)

    text = explain(lambda x, mask: right(x, ~mask), right, x, mask)
    assert text.startswith("With True and False exchanged in `mask`, your function gives the ")


@pytest.mark.parametrize(
    ("wrong_default", "default", "power"),
    [
        (1, 0, lambda step: step + 2),
        (0, 1, lambda step: step + 2),
        (2, -1, lambda step: step + 2),
        (True, False, lambda step: 2 if step else 1),
        (False, True, lambda step: 2 if step else 1),
        (1, None, lambda step: 2 if step is None else 1),
    ],
)
def test_a_wrong_default_is_named_as_a_value_of_its_own_type(wrong_default, default, power):
    def wrong(x, step=wrong_default):
        return np.exp(x * power(step))

    text = explain(wrong, lambda x: np.exp(x * power(default)), np.linspace(0.3, 1.9, 9))
    assert text.startswith(
        f"The call leaves `step` out, so your function uses {wrong_default!r}. With "
        f"`step={default!r}` your function gives the expected result. "
    )
