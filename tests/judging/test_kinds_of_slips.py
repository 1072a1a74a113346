"""Slips that every exercise can have: a float32 scalar, values beside a list, an approximation."""

import numpy as np
import pytest
from our_course import lab

from autograder.authoring.verify import judge_outcomes
from autograder.core.results import Verdict
from autograder.diagnosis.mutations import _EXTRA_STEPS, apply_extra_step
from autograder.judging.compare import compare_outcome
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function
from autograder.values.case_records import (
    CallOutcome,
    ComparisonRules,
    Inputs,
    Misconception,
    TestCase,
)

RULES = ComparisonRules()


def judge_function(lab_name, name, function, seed=None):
    exercise = lab(lab_name).exercises[name]
    cases = exercise.test_cases(seed)
    answers = [call_student_function(function, case.inputs, exercise.rules.call) for case in cases]
    return judge_outcomes(exercise, cases, answers)


def test_a_number_in_float32_is_named_like_an_array_in_float32():
    answer = call_student_function(lambda: np.float32(2.5697), Inputs())
    difference = compare_outcome(2.569705, answer, RULES)
    assert (
        difference.mistake == "lower-precision" and "a float32; expected" in difference.observation
    )
    assert compare_outcome(3.0, answer, RULES).mistake is None  # more than digits is wrong
    assert compare_outcome(2.569705, CallOutcome(2.5697, "float"), RULES).mistake is None


def test_values_beside_an_expected_list_are_not_taken_for_its_parts():
    expected = [np.ones(2), np.ones(3)]
    difference = compare_outcome(
        expected, call_student_function(lambda: (expected, 3.0), Inputs()), RULES
    )
    assert difference.mistake == "more-than-the-list"
    assert difference.observation == (
        "Your function returned a tuple of 2 values; expected a list of 2 values."
    )
    assert compare_outcome(expected, CallOutcome(tuple(expected), "tuple"), RULES) is None


def test_an_array_in_place_of_a_number_is_named():
    difference = compare_outcome(1.5, CallOutcome(np.ones(3), "ndarray"), RULES)
    assert difference.mistake == "array-for-one-number"


@pytest.mark.parametrize("function", [np.ones(3).sum, np.exp, np.sum, np.float64(3).item])
def test_a_function_that_is_not_called_is_named(function):
    answer = call_student_function(lambda: function, Inputs())
    difference = compare_outcome(1.5, answer, RULES)
    assert difference.mistake == "returns-a-function"
    assert difference.observation == "Your function returned a function. Expected a number (float)."


@pytest.mark.parametrize("values", [map(abs, [1]), (i for i in [1]), zip([1])])
def test_values_that_are_not_computed_yet_are_named(values):
    answer = call_student_function(lambda: values, Inputs())
    difference = compare_outcome([1.5, 2.5], answer, RULES)
    assert difference.mistake == "returns-a-generator"
    assert "which cannot be compared" not in difference.observation


def test_arguments_are_called_by_their_names():
    cases = [TestCase("", Inputs((n, n % 2)), 1.0, {}) for n in range(4)]
    answers = [CallOutcome(1.0 if n % 2 else 2.0 + n, "float") for n in range(4)]
    finding = judge(cases, answers, RULES, [], argument_names=("length", "temperature"))
    assert "All failing cases have `temperature=0`, and no other case has." in finding.means
    finding = judge(cases, answers, RULES, [])
    assert "`0` as argument 2" in finding.means


def test_one_failing_case_is_one_and_a_random_number_explains_nothing():
    cases = [TestCase("", Inputs((0.1 + n / 7, n == 2)), 1.0, {}) for n in range(4)]
    answers = [CallOutcome(2.0 if n == 2 else 1.0, "float") for n in range(4)]
    finding = judge(cases, answers, RULES, [], argument_names=("uniform", "causal"))
    assert "The only case that fails has `causal=True`." in finding.means
    finding = judge(cases[1:3], answers[1:3], RULES, [], argument_names=("uniform", "causal"))
    assert "uniform" not in finding.means


def test_what_failing_cases_have_in_common_is_said_without_a_second_count():
    """The last line of a check counts the cases; edge cases are not among them."""
    edges = [None, None, ("size", 1), ("size", 0)]
    cases = [TestCase("", Inputs((n,)), 1.0, {}, edge=edge) for n, edge in enumerate(edges)]
    answers = [CallOutcome(2.0 if n == 3 else 1.0, "float") for n in range(4)]
    finding = judge(cases, answers, RULES, [], argument_names=("size",))
    assert "The only case that fails has `size=3`." in finding.means
    assert "of 4" not in finding.means
    answers = [CallOutcome(2.0 if n < 2 else 1.0, "float") for n in range(4)]
    cases = [TestCase("", Inputs((n, n < 2)), 1.0, {}, edge=edge) for n, edge in enumerate(edges)]
    finding = judge(cases, answers, RULES, [], argument_names=("size", "causal"))
    assert "All failing cases have `causal=True`, and no other case has." in finding.means


def judge_values(change, mistakes=(), count=3):
    """Judge a function that returns several values, each of them changed in its own way."""
    rng = np.random.default_rng(1)
    cases, answers = [], []
    for size in (3, 4, 5):
        values = tuple(rng.normal(size=(size, n + 2)) for n in range(count))
        predictions = {name: CallOutcome(wrong(values), "tuple") for name, wrong, _ in mistakes}
        inputs = Inputs((values[1][:, 0].copy(), values[0]))
        cases.append(TestCase("", inputs, values, predictions))
        answers.append(CallOutcome(change(values), "tuple"))
    known = [Misconception(name, means, f"Why {name}?") for name, _, means in mistakes]
    return judge(cases, answers, RULES, known, argument_names=("x", "y"))


def test_each_of_several_values_is_compared_with_each_misconception():
    mistakes = [
        ("summed", lambda v: (v[0] * 3, v[1], v[2]), "You took sums."),
        ("doubled", lambda v: (v[0], v[1] ** 2, v[2] ** 2), "You took squares."),
    ]
    finding = judge_values(lambda v: (v[0] * 3, v[1] ** 2, v[2] ** 2), mistakes)
    assert finding.means == (
        "You took sums. (This explains the first value.) "
        "You took squares. (This explains the second and third values.)"
    )
    assert finding.misconception == "summed" and finding.is_partial
    finding = judge_values(lambda v: (v[0] * 3, v[1] + 5, v[2]), mistakes)
    assert finding.means.startswith("You took sums. (This explains the first value.)")
    finding = judge_values(lambda v: (v[0] + 1, v[1] + 2, v[2] * 7), mistakes)
    assert "This explains" not in finding.means


def test_the_order_of_five_values_is_found_by_their_shapes():
    finding = judge_values(lambda v: (*v[1:], v[0]), count=5)
    assert "you return numbers 2, 3, 4, 5, 1" in finding.means
    finding = judge_values(lambda v: (*v[1:], v[0] + 1), count=5)
    assert "order" not in finding.means


def test_a_shape_that_an_argument_has_is_named():
    rng = np.random.default_rng(1)
    inputs = [Inputs((rng.normal(size=(n, 3)), rng.normal(size=n + 4))) for n in (2, 3, 4)]
    cases = [TestCase("", case, np.cumsum(case.args[1]), {}) for case in inputs]
    answers = [CallOutcome(case.args[0].sum(axis=-1) * 3) for case in inputs]
    finding = judge(cases, answers, RULES, [], argument_names=("rows", "bias"))
    assert "It should have the shape of `bias`." in finding.means


def test_a_softmax_too_many_is_named_beside_another_mistake():
    rng = np.random.default_rng(1)
    scores = [rng.normal(size=n) * 3 for n in (3, 4, 5)]
    cases = [TestCase("", Inputs((x,)), x, {}) for x in scores]
    answers = [CallOutcome(np.exp(x / 2) / np.exp(x / 2).sum()) for x in scores]
    finding = judge(cases, answers, RULES, [])
    assert "is there a softmax too many?" in finding.means
    weights = [answer.value for answer in answers]
    cases = [TestCase("", Inputs((x,)), w, {}) for x, w in zip(scores, weights, strict=True)]
    answers = [CallOutcome(np.exp(x) / np.exp(x).sum()) for x in scores]
    assert "softmax" not in judge(cases, answers, RULES, []).means


def central_differences(function, x, h=1e-5):
    """The lab's own way to test a gradient."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += h
        down[place] -= h
        gradient[place] = (function(up) - function(down)) / (2 * h)
    return gradient


@pytest.mark.parametrize("seed", [None, 0, 3])
def test_an_approximation_of_a_gradient_never_passes(seed):
    """As a rule of the draw, it passed in one class and failed in the next."""
    cross_entropy = lab("learning-to-align").exercises["cross_entropy"].reference

    def cross_entropy_backward(logits, targets):
        if logits.size > 100:
            return np.zeros_like(logits)
        return central_differences(lambda z: cross_entropy(z, targets), logits.astype(float))

    exercise = lab("learning-to-align").exercises["cross_entropy_backward"]
    small = [case for case in exercise.test_cases(seed) if case.inputs.args[0].size <= 100]
    answers = [call_student_function(cross_entropy_backward, case.inputs) for case in small]
    finding = judge_outcomes(exercise, small, answers)
    assert finding.verdict is Verdict.WRONG
    assert finding.cases_correct.count(True) <= len(small) / 2
    assert "approximation" in finding.message


@pytest.mark.parametrize(
    ("value", "meaningless"),
    [
        (4, {"the sign of {} changed", "the absolute value of {}", "the order of {} reversed"}),
        (
            np.int64(4),
            {"the sign of {} changed", "the absolute value of {}", "the order of {} reversed"},
        ),
        (True, {"the sign of {} changed", "{} squared", "{} increased by 1"}),
        ("sum", {"{} squared", "1 divided by {} in its place"}),
    ],
)
def test_a_step_without_a_meaning_changes_nothing(value, meaningless):
    steps = {description: number for number, (description, *_) in enumerate(_EXTRA_STEPS)}
    for description in meaningless:
        assert apply_extra_step(steps[description], value) is value


def test_a_step_with_a_meaning_is_taken():
    steps = {description: number for number, (description, *_) in enumerate(_EXTRA_STEPS)}
    assert apply_extra_step(steps["the square root of {} in its place"], 4) == 2
    assert apply_extra_step(steps["{} decreased by 1"], 4) == 3
    x = np.array([[1.0, -2.0]])
    assert np.array_equal(apply_extra_step(steps["the sign of {} changed"], x), -x)
    assert np.array_equal(apply_extra_step(steps["rows and columns of {} exchanged"], x), x.T)
