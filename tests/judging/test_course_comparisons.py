"""A course's own comparison, `compare=`: its inputs, its time limit, and its test in a build."""

from time import process_time

import numpy as np
import pytest
from small_lab import lab_of

from attention_labs import comparers
from autograder.authoring import inputs
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.verify import call_on_cases, find_lab_weaknesses, judge_outcomes
from autograder.core.results import Verdict
from autograder.judging import compare
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function
from autograder.values.case_records import CallOutcome, ComparisonRules, Inputs, TestCase


def adds_up(expected, value, tolerance, case_inputs):
    """Accept any two numbers of the list that add up to the target."""
    numbers, target = case_inputs.args
    if not isinstance(value, tuple) or len(value) != 2:
        return "Expected two numbers, as a tuple."
    strange = [n for n in value if n not in numbers]
    if strange:
        return f"{strange[0]} is not in the list."
    return (
        None if sum(value) == target else f"Your numbers add up to {sum(value)}; expected {target}."
    )


def takes_anything(expected, value, tolerance, case_inputs):
    return None if isinstance(value, tuple) else "Expected a tuple."


def takes_nothing(expected, value, tolerance):
    return "It is not as expected."


def hangs_at_two(expected, value, tolerance):
    while value == 2:
        pass
    return None if value == expected else "It is another number."


def first_pair(numbers, target):
    return next((a, b) for a in numbers for b in numbers if a + b == target)


def last_pair(numbers, target):
    return first_pair(numbers[::-1], target)


CASES = [lambda rng: inputs([2, 5, 9, 6, 3], 11), lambda rng: inputs([7, 4, 1, 10], 14)]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (first_pair, ""),
        (last_pair, ""),
        (
            lambda numbers, target: list(first_pair(numbers, target)),
            "Expected two numbers, as a tuple.",
        ),
        (lambda numbers, target: (0, target), "0 is not in the list."),
        (
            lambda numbers, target: (numbers[0], numbers[1]),
            "Your numbers add up to 7; expected 11.",
        ),
    ],
)
def test_several_answers_are_right(answer, sentence):
    exercise = lab_of(first_pair, *CASES, compare=adds_up).exercises["answer"]
    cases = exercise.test_cases()
    assert first_pair(*CASES[0](None).args) != last_pair(*CASES[0](None).args)
    finding = judge_outcomes(exercise, cases, call_on_cases(answer, exercise, cases))
    assert (finding.verdict is Verdict.PASS, finding.observation) == (not sentence, sentence)


def same_letters(expected, value, tolerance):
    """Compare exactly; the engine's own comparison takes a list for a tuple."""
    return None if value == expected else f"{value} instead of {expected}."


def test_a_mistake_that_loses_a_value_is_named():
    """Once, such results were compared as far as the shorter one went, and seemed to be right."""
    letters = [lambda rng: inputs("hat"), lambda rng: inputs("then")]
    exercise = lab_of(tuple, *letters, compare=same_letters).exercises["answer"]

    @exercise.misconception(means="The last letter is lost.", nudge="Where does your loop end?")
    def last_letter_lost(word):
        return tuple(word[:-1])

    cases = exercise.test_cases()
    finding = judge_outcomes(exercise, cases, call_on_cases(last_letter_lost, exercise, cases))
    assert finding.misconception == "last-letter-lost"


def sorts_its_lists(expected, value, tolerance):
    expected.sort()
    value.sort()
    return None if value == expected else "It holds other numbers."


def test_a_comparison_that_changes_its_arguments_changes_no_case():
    case = TestCase("", inputs(1), [3, 1, 2], {})
    rules = ComparisonRules(compare=f"{__name__}:sorts_its_lists")
    assert judge([case], [CallOutcome([1, 2, 3], "list")], rules, []).verdict is Verdict.PASS
    assert case.expected == [3, 1, 2]


def test_a_comparison_that_hangs_ends_and_costs_its_exercise_only(monkeypatch):
    monkeypatch.setattr(compare, "MAX_COMPARISON_SECONDS", 0.2)
    rules = ComparisonRules(compare=f"{__name__}:hangs_at_two")
    cases = [TestCase(f"case {n}", inputs(n), 1, {}) for n in range(20)]
    start = process_time()
    finding = judge(cases, [CallOutcome(2, "int")] * 20, rules, [])
    assert process_time() - start < 1.5  # and not in each of its cases
    assert finding.verdict is Verdict.WRONG and not any(finding.cases_correct)
    assert finding.observation == "Your result takes too long to be compared with the expected one."
    assert judge(cases, [CallOutcome(1, "int")] * 20, rules, []).verdict is Verdict.PASS
    assert (
        judge(cases, [CallOutcome(3, "int")] * 20, rules, []).observation == "It is another number."
    )


def test_a_build_tests_a_comparison():
    assert find_lab_weaknesses(lab_of(first_pair, *CASES, compare=adds_up)) == []
    (sentence,) = find_lab_weaknesses(lab_of(first_pair, *CASES, compare=takes_nothing))
    assert (
        sentence
        == "a-lab: answer: the right answer 'first_pair' is refused. It is not as expected."
    )
    sentences = find_lab_weaknesses(lab_of(first_pair, *CASES, compare=takes_anything))
    assert any("what is right in another case is right in every case" in s for s in sentences)


def test_a_build_says_how_to_query_a_returned_function():
    with pytest.raises(
        ExerciseError, match=r"returns a function in its own case .* Say what is asked of it"
    ):
        find_lab_weaknesses(lab_of(lambda x: lambda: x, lambda rng: inputs(1)))
    assert call_student_function(lambda x: lambda: x, inputs(1)).type == "function"


VALUES = Inputs((np.zeros(2), np.zeros((2, 2)), np.array([[1.0], [3.0]])))  # query, keys, values


@pytest.mark.parametrize(
    ("check", "value", "inputs", "sentence"),
    [
        (
            comparers.sums_to_one,
            np.full((2, 2), 0.5),
            Inputs((0, 1), {}),
            None,
        ),
        (
            comparers.sums_to_one,
            np.array([[0.5, 0.5], [0.25, 0.25]]),
            Inputs((0, 1), {}),
            "The weights along axis 1 should sum to 1; yours sum to 0.5 to 1.",
        ),
        (
            comparers.sums_to_one,
            np.array([0.25, 0.25]),
            Inputs((0,), {}),
            "The weights along axis 0 should sum to 1; yours sum to 0.5.",
        ),
        (
            comparers.sums_to_one,
            np.array([[0.25, 0.75], [0.75, 0.25]]),
            Inputs((0,), {"axis": 1}),
            None,
        ),
        (
            comparers.no_looking_ahead,
            np.array([[1.0, 1.0], [1.0, 1.0]]),
            Inputs(),
            "Position 0 attends to position 1, which comes later.",
        ),
        (
            comparers.no_looking_ahead,
            np.stack([np.tri(3), np.tri(3, k=1)]),
            Inputs(),
            "Position 0 attends to position 1, which comes later.",
        ),
        (
            comparers.no_looking_ahead,
            np.tri(4) + (np.indices((4, 4)) == [[[2]], [[3]]]).all(axis=0),
            Inputs(),
            "Position 2 attends to position 3, which comes later.",
        ),
        # A sentence on nan comes from the engine.
        (comparers.sums_to_one, np.array([np.nan, 0.5]), Inputs((0,)), None),
        (comparers.rows_sum_to_one, np.array([[np.inf, 0.5]]), Inputs(), None),
        (comparers.rows_sum_to_one, np.array([[0.5, 0.5], [0.25, 0.75]]), Inputs(), None),
        (
            comparers.rows_sum_to_one,
            np.array([[0.5, 0.5], [0.5, 0.75]]),
            Inputs(),
            "The weights in each row should sum to 1; yours sum to 1 to 1.25.",
        ),
        (comparers.rows_sum_to_one, np.array([[2, 3]]), Inputs(), None),  # whole numbers
        (comparers.rows_sum_to_one, np.array(0.5), Inputs(), None),
        (comparers.no_negative_weight, np.array([0.0, 1.0]), Inputs(), None),
        (
            comparers.no_negative_weight,
            np.array([0.5, -0.25, 0.75]),
            Inputs(),
            "A weight is never negative; your smallest is -0.25.",
        ),
        (comparers.within_the_values, np.array([1.0, 3.0]), VALUES, None),
        (
            comparers.within_the_values,
            np.array([0.5, 3.0]),
            VALUES,
            "A weighted average stays between the values it averages (1 to 3); yours runs from "
            "0.5 to 3.",
        ),
        (comparers.within_the_values, np.array([1.0, 3.5]), Inputs((np.array([1.0, 4.0]),)), None),
        (comparers.within_the_values, np.array([np.nan, 9.0]), VALUES, None),
        (comparers.no_looking_ahead, np.ones((2, 3)), Inputs(), None),
        (comparers.no_looking_ahead, np.tri(3), Inputs(), None),
    ],
)
def test_a_property_of_weights_is_told_with_its_numbers(check, value, inputs, sentence):
    assert check(value, inputs) == sentence
