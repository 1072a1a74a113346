"""Test what trying an answer again, with the same or other arguments, tells about it."""

import itertools

import numpy as np
import pytest

from autograder.diagnosis import argument_probe
from autograder.diagnosis.argument_probe import (
    MAX_COUNT_FACTOR,
    ArgumentPath,
    explain_by_arguments,
    is_small_enough_to_repeat,
)
from autograder.values.case_records import CallOutcome, ComparisonRules, Inputs, TestCase

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


def explain_cases(function, right, *inputs, passing=(), **options):
    """Return the explanation of a wrong function in several failing cases."""
    failing, correct = (
        [TestCase("", Inputs(arguments), right(*arguments), {}) for arguments in group]
        for group in (inputs, passing)
    )
    return explain_by_arguments(function, failing, ComparisonRules(), passing=correct, **options)


SIZES = ((3, 5), (4, 7), (6, 2))


@pytest.mark.parametrize(
    ("excess", "words"),
    [
        (lambda n, d: n, "too large by `n`"),
        (lambda n, d: -d, "too small by `d`"),
        (lambda n, d: MAX_COUNT_FACTOR * n * d, "too large by 16 · `n` · `d`"),
        (lambda n, d: -2 * n * d**2, "too small by 2 · `n` · `d`²"),
        (lambda n, d: n**2 * d**2, "too large by `n`² · `d`²"),
        (lambda n, d: (MAX_COUNT_FACTOR + 1) * n, None),
        (lambda n, d: n**3, None),
        (lambda n, d: n + 1, None),
        (lambda n, d: 5, None),
    ],
)
def test_a_count_that_is_wrong_by_a_product_of_sizes_is_told_so(excess, words):
    def right(n, d):
        return 1000 * n * d

    text = explain_cases(lambda n, d: right(n, d) + excess(n, d), right, *SIZES)
    if words is None:
        assert not text.startswith("In every failing case")
    else:
        assert text == (
            f"In every failing case your number is {words}. "
            "Which part of the formula has that many numbers?"
        )
    one = explain_cases(lambda n, d: right(n, d) + excess(n, d), right, SIZES[0])
    assert not one.startswith("In every failing case")


def test_only_whole_numbers_are_taken_for_counts():
    text = explain_cases(lambda n, d: 2.0 * n * d + n, lambda n, d: 2.0 * n * d, *SIZES)
    assert not text.startswith("In every failing case")
    text = explain_cases(lambda n, d: 2 * n * d + 1, lambda n, d: 2 * n * d, (1, 2), (1, 3))
    assert not text.startswith("In every failing case")
    # A size of 0 in the first case tells nothing of a factor.
    assert explain_cases(lambda n: n * n, lambda n: n * n + n, (0,), (4,)) == ""


def test_a_function_of_the_arguments_is_asked_twice():
    count = itertools.count()
    text = explain(lambda x: x + next(count), lambda x: np.exp(x), X)
    assert text == (
        "Called twice with the same arguments, your function gives two different results. Either "
        "it draws a random number, or it stores something between calls. The result must depend on "
        "the arguments alone; if the function needs a random number, an argument gives it."
    )
    assert explain(lambda x: x.nothing, lambda x: np.exp(x), X) == ""
    assert explain(lambda x: None, lambda x: np.exp(x), X) == ""
    assert explain(lambda: X, lambda x: np.exp(x), X) == ""  # the arguments do not fit


def test_the_whole_sentence_on_an_argument_without_effect():
    def right(x, y):
        return np.exp(x) * y

    text = explain(lambda x, y: np.tan(x), right, X, W)
    assert text == (
        "Your result does not depend on `y`: it stays the same if other numbers are in `y`. "
        "Where should your code use them?"
    )
    # Neither nan nor whole numbers show what a result depends on.
    assert explain(lambda x, y: x * np.nan, right, X, W) == ""
    assert explain(lambda x, y: 3, lambda x, y: 5, X, W) == ""
    whole = np.arange(12).reshape(3, 4)  # the array that is not used holds no floats
    assert "does not depend" not in explain(lambda x, y: np.tan(x), right, X, whole)
    infinite = np.full(3, np.inf)
    assert "does not depend" not in explain(
        lambda x, y: np.tan(x), lambda x, y: np.exp(x), X, infinite
    )


def test_a_case_in_which_the_argument_counts_refutes_that_it_has_no_effect():
    def right(x, y):
        return np.exp(x) + y

    def wrong(x, y):  # uses y for a matrix of two rows only
        return np.exp(x) + y if len(x) == 2 else np.tan(x)

    failing, passing = (X, W), (X[:2], W[:2])
    assert "does not depend on `y`" in explain_cases(wrong, right, failing)
    assert explain_cases(wrong, right, failing, passing=[passing]) == ""
    assert explain_cases(wrong, right, failing, (X.T, W.T)).startswith(
        "Your result does not depend"
    )

    def half_wrong(x, y):  # uses y for few rows only, and is wrong everywhere
        return np.exp(x) + 2 * y**2 if len(x) == 2 else np.tan(x)

    assert "does not depend" in explain_cases(half_wrong, right, failing)
    assert "does not depend" not in explain_cases(half_wrong, right, failing, passing)


def test_the_largest_two_right_cases_are_asked_whether_an_argument_counts():
    def right(x, y):
        return np.exp(x) + y

    def make_inputs(size):
        return np.linspace(0.5, 2, size), np.linspace(1, 3, size)

    sizes = (8, 7, 9)
    expected = {size: right(*make_inputs(size)) for size in sizes}
    for used_size, is_refuted in ((9, True), (8, True), (7, False)):

        def wrong(x, y, used_size=used_size):
            if len(x) == 12:
                return np.tan(x)
            return np.exp(x) + y if len(x) == used_size else expected[len(x)]

        text = explain_cases(
            wrong, right, make_inputs(12), passing=[make_inputs(size) for size in sizes]
        )
        assert ("does not depend on `y`" in text) != is_refuted


def test_a_change_counts_only_if_it_makes_every_failing_case_right():
    def right(x, n):
        return x[:n] ** 2

    def wrong(x, n):
        return x[: n + 1 if len(x) == 3 else n + 2] ** 2

    x = np.linspace(0.3, 1.9, 9)
    assert explain_cases(wrong, right, (x[:3], 2)).startswith("With `n` decreased by 1, your")
    assert explain_cases(wrong, right, (x[:3], 2), (x, 4)) == ""


@pytest.mark.parametrize(
    ("wrong", "right", "arguments", "text"),
    [
        (
            lambda a, b: a / b,
            lambda a, b: b / a,
            (2.0, 3.0),
            "With `a` and `b` exchanged, your function gives the expected result. Are the two "
            "exchanged in your code?",
        ),
        (
            lambda a, b: a**2 - b,
            lambda a, b: a**2 + b,
            (2.0, 5.0),
            "With the opposite sign of `b`, your function gives the expected result. Is there a "
            "minus too many, or one missing?",
        ),
        (
            lambda a, b: a + 3 / b,
            lambda a, b: a + 3 * b,
            (2.0, 5.0),
            "With `1 / b` in place of `b`, your function gives the expected result. Do you multiply "
            "where you should divide, or divide where you should multiply?",
        ),
        (
            lambda a: np.exp(2 * a),
            np.exp,
            (X,),
            "With `a` multiplied by ½, your function gives the expected result. Is there a factor "
            "too many or one missing?",
        ),
        (
            lambda a: np.cumsum(a.T, axis=0),
            lambda a: np.cumsum(a, axis=0),
            (np.linspace(0.3, 1.9, 9).reshape(3, 3),),
            "With `a` transposed, your function gives the expected result. Is there a `.T` too "
            "many, or one missing?",
        ),
        (
            lambda a, m: np.where(m, a, a**2),
            lambda a, m: np.where(m, a**2, a),
            (X, X > 1),
            "With True and False exchanged in `m`, your function gives the expected result. What "
            "does True stand for in `m`, by the docstring?",
        ),
        (
            lambda a, n: a[n - 1] * 2,
            lambda a, n: a[n] * 2,
            (X, 1),
            "With `n` increased by 1, your function gives the expected result. Do you count from 0 "
            "or from 1, and should the last one be included?",
        ),
        (
            lambda a, n: a[n + 1] * 2,
            lambda a, n: a[n] * 2,
            (X, np.array([1, 0])),
            "With `n` decreased by 1, your function gives the expected result. Do you count from 0 "
            "or from 1, and should the last one be included?",
        ),
    ],
)
def test_the_whole_sentence_on_a_change_that_repairs(wrong, right, arguments, text):
    assert explain(wrong, right, *arguments) == text


def test_arguments_are_exchanged_only_where_that_has_a_meaning():
    def right(x, y):
        return np.exp(x) - y

    def wrong(x, y):
        return np.exp(y) - x

    assert "exchanged" in explain(wrong, right, X, W)
    assert "exchanged" not in explain(wrong, right, X, X[:1])  # of other shapes
    assert "exchanged" not in explain(wrong, right, 2, 3)  # whole numbers may be anything
    assert "exchanged" in explain(lambda x, y: x / y, lambda x, y: y / x, 2.0, 3.0)
    assert "exchanged" not in explain(lambda x, y: x / y, lambda x, y: y / x, 2, 3.0)
    assert "exchanged" not in explain(lambda x, y: x, lambda x, y: x + 1, 2.0, 2.0)
    assert "exchanged" not in explain(wrong, right, X[:1, :1], W[:1, :1])  # of one number


def test_where_a_result_is_not_finite_no_number_is_changed():
    def right(x):
        return np.sqrt(x)

    negative = np.linspace(0.3, 1.9, 9)
    assert "opposite sign" in explain(lambda x: np.cbrt(-x), lambda x: np.cbrt(x), negative)
    assert explain(lambda x: np.sqrt(-x), right, negative) == ""
    assert explain(lambda x: np.sqrt(x / 2 - 0.9), lambda x: np.sqrt(x - 0.9), negative + 0.7) == ""


def test_fewer_numbers_than_may_agree_by_chance_are_no_combination():
    def right(x):
        return np.exp(x)

    n = argument_probe.MIN_COMPARED_NUMBERS
    for size in (n - 1, n):
        x = np.linspace(0.3, 1.9, size)
        text = explain(lambda x: right(x) + x, right, x)
        assert text.startswith("The value that you return is the expected result plus") == (
            size == n
        )
    x, y = np.linspace(0.3, 1.9, n).reshape(1, n), np.linspace(1, 2, n)
    text = explain(lambda x, y: y**2 + x[0], lambda x, y: y**2, x, y)
    assert "the expected result plus `x`" in text  # a row for a vector
    half = (x[0, : n // 2], y[: n // 2])
    text = explain_cases(lambda x, y: y**2 + x, lambda x, y: y**2, half, half)
    assert "the expected result plus `x`" in text  # the numbers of all cases count


def test_a_default_is_changed_only_where_the_call_leaves_it_out():
    def wrong(x, step=1):
        return np.exp(x * (step + 2))

    def right(x, step=0):
        return np.exp(x * (step + 2))

    x = np.linspace(0.3, 1.9, 9)
    assert explain(wrong, right, x) == (
        "The call leaves `step` out, so your function uses 1. With `step=0` your function gives the "
        "expected result. Compare the default in your `def` line with the stub's, and the uses of "
        "this argument."
    )
    assert "leaves" not in explain_cases(
        wrong, lambda x, step=0: np.exp(x * (0 if step == 1 else step + 2)), (x,), (x, 1)
    )

    def wrong_power(x, step=5):
        return np.exp(x) ** step

    # The size of a default is no number that the student counted wrongly.
    assert explain(wrong_power, lambda x: np.exp(x) ** 6, x) == ""


def test_no_more_calls_are_made_than_the_limit(monkeypatch):
    calls = []

    def wrong(x, n):
        calls.append(n)
        return x[: n + 1] ** 2

    def right(x, n):
        return x[:n] ** 2

    x = np.linspace(0.3, 1.9, 9)
    text = explain(wrong, right, x, 2)
    assert text.startswith("With `n` decreased by 1")
    needed = len(calls) - 1  # the first call is the one that is repeated
    for limit, is_found in ((needed, True), (needed - 1, False)):
        monkeypatch.setattr(argument_probe, "MAX_CALLS", limit)
        calls.clear()
        assert (explain(wrong, right, x, 2) == text) == is_found
        assert len(calls) == limit + 1


def test_arrays_that_the_reference_does_not_use_are_those_of_the_largest_small_case(monkeypatch):
    def reference(x, y):
        return np.exp(x) + (y[0] if len(x) > 3 else 0)

    def make(size):
        inputs = Inputs((np.linspace(0.3, 1.9, size), np.linspace(2, 3, size)))
        return TestCase("", inputs, reference(*inputs.args), {})

    rules = ComparisonRules()
    find = argument_probe.find_unused_arrays
    assert find(reference, [make(2), make(3)], rules) == ("y",)
    assert find(reference, [make(9), make(3)], rules) == ()
    monkeypatch.setattr(argument_probe, "MAX_INPUT_NUMBERS", 8)
    assert find(reference, [make(9), make(3)], rules) == ("y",)
    assert find(reference, [make(9)], rules) == ()
    assert find(reference, [make(3)], ComparisonRules(call="in place")) == ()
    whole = TestCase("", make(3).inputs, 5, {})
    assert find(lambda x, y: 5, [whole], rules) == ()


def test_a_path_reaches_an_argument_or_an_entry_of_one():
    arguments = {"x": 1, "weights": {"x": 2, "w": 3}}
    whole, entry = ArgumentPath("x"), ArgumentPath("weights", "x")
    assert (whole.name, whole.get(arguments), entry.get(arguments)) == ("x", 1, 2)
    assert ArgumentPath("weights", "w").name == "w"
    assert whole.replace(arguments, 9) == {"x": 9, "weights": {"x": 2, "w": 3}}
    assert entry.replace(arguments, 9) == {"x": 1, "weights": {"x": 9, "w": 3}}
    assert arguments == {"x": 1, "weights": {"x": 2, "w": 3}}


def test_a_changed_argument_does_not_count_and_no_error_is_a_result():
    def double(x):
        x *= 2
        return x

    probe = argument_probe._ProbedFunction(double, ComparisonRules())
    assert probe.returns({"x": np.ones(3)}, CallOutcome(np.full(3, 2.0)))
    assert probe.returns({"x": np.ones(3)}, CallOutcome(np.full(3, 2.0), modified=("x",)))
    assert not probe.returns({"x": None}, probe.call({"x": None}))


def test_what_cannot_be_called_again_is_told_nothing():
    assert explain_by_arguments(np.exp, [], ComparisonRules()) == ""
    for function in (dict, lambda: CASE.expected):  # without a signature, or with another one
        assert explain_by_arguments(function, [CASE], ComparisonRules()) == ""


def test_an_array_is_found_behind_arguments_that_are_none():
    """A case in which the argument is no array says nothing of it."""
    probe = argument_probe._ProbedFunction(lambda n, x, y, z: x, ComparisonRules())
    calls = []
    for z in (X, None):
        arguments = {"n": 1, "x": X, "y": X, "z": z}
        calls.append((arguments, CallOutcome(X)))
    paths = [ArgumentPath(name) for name in "nxyz"]
    describe = argument_probe._describe_ignored_array
    assert "does not depend on `y`" in describe(probe, calls, paths, ())
    assert "does not depend on `z`" in describe(probe, calls, paths, ["y"])
    assert describe(probe, calls, paths, ["y", "z"]) == ""


CHANGES_OF_NUMBERS = ["opposite sign of", "1 / ", "multiplied by 2", "multiplied by ½"]


@pytest.mark.parametrize(
    ("value", "words", "only_if_finite"),
    [
        (np.eye(2), ["transposed"], CHANGES_OF_NUMBERS),
        (np.ones((1, 1)), [], CHANGES_OF_NUMBERS),
        (np.ones((2, 2, 3)), [], CHANGES_OF_NUMBERS),
        (np.eye(2) > 0, ["transposed", "True and False exchanged"], []),
        (np.array([1, 2]), ["increased by 1", "decreased by 1"], CHANGES_OF_NUMBERS[2:]),
        (3, ["increased by 1", "decreased by 1"], []),
        (True, [], []),
        (2.5, [], CHANGES_OF_NUMBERS[:2]),
        (0.0, [], []),
        (np.array([np.nan]), [], []),
        (np.ones(0), [], []),
        ("mean", [], []),
    ],
)
def test_what_is_changed_of_an_argument_depends_on_its_kind(value, words, only_if_finite):
    paths = [ArgumentPath("x")]
    list_changes = argument_probe._list_argument_mixups
    for are_finite, expected in ((False, words), (True, [*words, *only_if_finite])):
        found = list(list_changes({"x": value}, paths, set(), are_finite))
        found = [text for text, _ in found if "√" not in text and "n = " not in text]
        assert len(found) == len(expected)
        assert all(map(str.__contains__, found, expected))
    assert not [*list_changes({"x": np.eye(2)}, paths, {"x"}, True)]
    assert not [*list_changes({"x": (0, 1)}, paths, {"x"}, True)]


@pytest.mark.parametrize(
    ("first", "second", "are_exchangeable"),
    [
        (np.array([1.0, 2.0]), np.array([2.0, 1.0]), True),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0]), False),
        (np.array([1.0]), np.array([2.0]), False),
        (np.array([1.0, 2.0]), np.array([[2.0, 1.0]]), False),
        (1.5, 2.5, True),
        (1.5, 1.5, False),
        (1, 2, False),
        (1.5, 2, False),
        (np.array([1.0, 2.0]), 1.5, False),
    ],
)
def test_two_arguments_are_exchanged_if_they_are_of_one_kind_and_differ(
    first, second, are_exchangeable
):
    assert argument_probe._are_exchangeable(first, second) is are_exchangeable
    assert argument_probe._are_exchangeable(second, first) is are_exchangeable


def test_other_numbers_in_an_array_follow_no_simple_pattern():
    array = np.array([[1.0, -2.0], [3.0, 0.0]], np.float32)
    other = argument_probe._perturb(array)
    noise = np.sin([[1.0, 2.0], [3.0, 4.0]])
    assert other.dtype == np.float32
    np.testing.assert_allclose(other, 1.25 * array + 0.5 * noise, rtol=1e-6)


@pytest.mark.parametrize(
    ("value", "argument", "is_sum"),
    [
        (np.arange(8.0) + 5, np.full(8, 5.0), True),
        (np.arange(8.0) + 5, np.full((1, 8), 5.0), True),
        (np.arange(8.0) + 5, np.full((3, 8), 5.0), False),
        (np.arange(8.0) + 5, np.ones(3), False),
        (np.arange(8.0).reshape(1, 8) + 5, np.full(8, 5.0), False),
        (3.5, np.full(8, 5.0), False),
        (np.arange(8.0), np.full(8, 5.0), False),  # the right result
    ],
)
def test_a_combination_has_the_shape_of_the_result(value, argument, is_sum):
    call = argument_probe._WrongCall({"x": argument}, np.arange(8.0), value)
    path = ArgumentPath("x")
    assert argument_probe._is_part_combined_with_argument([call], None, path, np.add) is is_sum
    pair = argument_probe._WrongCall({"x": argument}, (0.0, np.arange(8.0)), (0.0, value))
    assert argument_probe._is_part_combined_with_argument([pair], 1, path, np.add) is is_sum
    for wrong in (value, (0.0, value, value)):
        other = argument_probe._WrongCall({"x": argument}, (0.0, np.arange(8.0)), wrong)
        assert not argument_probe._is_part_combined_with_argument([other], 1, path, np.add)


@pytest.mark.parametrize(
    ("sizes", "gaps", "words"),
    [
        ([(2, 2, 1), (3, 3, 1)], (4, 9), "too large by `n` · `d`."),  # rather than `n`²
        ([(2, 5, 1), (3, 4, 1)], (-4, -9), "too small by `n`²."),
        ([(2, 5, 7), (3, 4, 2)], (2800, 1152), ""),  # n² d² h · 4
        ([(2, 5, 7), (3, 4, 2)], (1600, 2304), "too large by 16 · `n`² · `d`²."),
        ([(2, 5, 7), (3, 4, 2)], (10, 10), ""),
    ],
)
def test_an_excess_is_the_simplest_product_of_sizes(sizes, gaps, words):
    calls = []
    for values, gap in zip(sizes, gaps, strict=True):
        arguments = {**dict(zip("ndh", values, strict=True)), "rate": 0.5}
        calls.append(argument_probe._WrongCall(arguments, 100, 100 + gap))
    paths = [ArgumentPath(name) for name in ("n", "d", "h", "rate")]
    text = argument_probe._describe_difference_as_argument_product(calls, paths)
    ending = " Which part of the formula has that many numbers?"
    assert text == (f"In every failing case your number is {words}{ending}" if words else "")
