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
from autograder.values.case_records import CallOutcome, ComparisonRules, Inputs, TestCase

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
    assert "2 of 4 cases are right. All failing cases have `temperature=0`." in finding.means
    finding = judge(cases, answers, RULES, [])
    assert "`0` as argument 2" in finding.means


def test_one_failing_case_is_one_and_a_random_number_explains_nothing():
    cases = [TestCase("", Inputs((0.1 + n / 7, n == 2)), 1.0, {}) for n in range(4)]
    answers = [CallOutcome(2.0 if n == 2 else 1.0, "float") for n in range(4)]
    finding = judge(cases, answers, RULES, [], argument_names=("uniform", "causal"))
    assert "3 of 4 cases are right. The failing case has `causal=True`." in finding.means
    finding = judge(cases[1:3], answers[1:3], RULES, [], argument_names=("uniform", "causal"))
    assert "uniform" not in finding.means


def test_a_count_says_that_edge_cases_are_among_the_cases():
    """The last line of a check counts them apart."""
    edges = [None, None, ("size", 1), ("size", 0)]
    cases = [TestCase("", Inputs((n,)), 1.0, {}, edge=edge) for n, edge in enumerate(edges)]
    answers = [CallOutcome(2.0 if n == 3 else 1.0, "float") for n in range(4)]
    finding = judge(cases, answers, RULES, [], argument_names=("size",))
    assert "3 of 4 cases (edge cases included) are right." in finding.means


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
