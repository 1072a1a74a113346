"""A case's memory limit, in the judge, in the answer key and in the author's build."""

import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.authoring.exercise import Exercise, ExerciseError
from autograder.core.results import Verdict
from autograder.judging.compare import compare_outcome, same_outcome
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function
from autograder.student import answer_key
from autograder.values.case_records import CallOutcome, ComparisonRules, Inputs, inputs
from autograder.values.common_mistakes import MISTAKES

RULES = ComparisonRules()

LENGTH = 1000  # a square of floats takes 8 MB
LIMIT = 1_000_000


def row_by_row(x):
    """Add up all products of two of the numbers, without a large array."""
    return np.array([float((x * number).sum()) for number in x])


def square_sums(x):
    return (x[:, None] * x).sum(axis=1)


def random_vector(length):
    return lambda rng: inputs(rng.normal(size=length))


@pytest.fixture
def exercise():
    exercise = Exercise("sums", points=1)
    exercise.lab = SimpleNamespace(
        name="toy", limits={}, reference=SimpleNamespace(sums=row_by_row)
    )
    exercise.case("a few")(random_vector(5))
    exercise.case("many", memory=LIMIT)(random_vector(LENGTH))

    @exercise.misconception(means="You build the square.", nudge="Is all of it needed at once?")
    def whole_square(x):
        return square_sums(x)

    return exercise


def judge_function(exercise, function, cases=None):
    cases = cases or exercise.test_cases()
    answers = [call_student_function(function, case.inputs) for case in cases]
    return judge(cases, answers, exercise.rules, exercise.misconceptions, exercise.name)


def test_a_right_answer_with_too_much_memory_is_told_just_that(exercise):
    finding = judge_function(exercise, lambda x: np.outer(x, x).sum(axis=1))
    assert (finding.verdict, finding.cases_correct) == (Verdict.WRONG, (True, False))
    assert finding.misconception == "whole-square"
    assert finding.observation.startswith("Your result is right, but your function uses 8.")
    assert finding.observation.endswith(" MB of memory at once; 1.0 MB are allowed.")
    assert finding.message.endswith("You build the square. Is all of it needed at once?")


def test_without_the_limit_a_large_array_passes(exercise):
    exercise._cases = [replace(case, memory=None) for case in exercise._cases]
    assert judge_function(exercise, square_sums).verdict is Verdict.PASS


def test_an_answer_with_little_memory_passes(exercise):
    assert judge_function(exercise, lambda x: x * x.sum()).verdict is Verdict.PASS


def test_without_a_fitting_misconception_the_finding_still_has_a_name(exercise):
    exercise.misconceptions.clear()
    finding = judge_function(exercise, square_sums)
    assert finding.misconception == "too-much-memory"
    assert (finding.means, finding.nudge) == MISTAKES["too-much-memory"]


def test_a_wrong_result_is_told_that_it_is_wrong_whatever_its_memory(exercise):
    finding = judge_function(exercise, lambda x: square_sums(x) + np.arange(len(x)))
    assert finding.misconception is None
    assert "numbers differ" in finding.observation


def test_equal_results_with_and_without_too_much_memory_are_not_the_same_mistake():
    large, small = (CallOutcome(np.ones(2), peak_bytes=peak) for peak in (LIMIT + 1, LIMIT))
    assert same_outcome(large, large, RULES, LIMIT) and same_outcome(small, small, RULES, LIMIT)
    assert not same_outcome(large, small, RULES, LIMIT)
    assert same_outcome(large, small, RULES)
    assert compare_outcome(np.ones(2), small, RULES, Inputs(memory=LIMIT)) is None
    assert compare_outcome(np.ones(2), large, RULES, Inputs(memory=LIMIT)).kind == "memory"


def test_the_reference_keeps_to_its_own_limit(exercise):
    exercise.lab.reference.sums = square_sums
    with pytest.raises(
        ExerciseError, match=r"sums holds 8\.\d MB in its own case 'many', which allows 1\.0 MB"
    ):
        exercise.test_cases()


def test_a_key_records_which_mistakes_take_too_much_memory(exercise, tmp_path):
    path = tmp_path / "sums.key"
    path.write_bytes(answer_key.encode_key(exercise))
    key = answer_key.read_exercise_key(path, "sums")
    assert key.test_cases[1].inputs.memory == LIMIT
    assert [case.mistakes["whole-square"].peak_bytes > LIMIT for case in key.test_cases] == [
        False,
        True,
    ]
    finding = judge(
        key.test_cases,
        [call_student_function(square_sums, case.inputs) for case in key.test_cases],
        key.rules,
        key.misconceptions,
        "sums",
    )
    assert finding.misconception == "whole-square"
    assert answer_key.keys_are_equal(path.read_bytes(), answer_key.encode_key(exercise)), (
        "the number of bytes differs by version"
    )


@pytest.mark.parametrize("tracing", [False, True])
def test_only_the_memory_of_the_call_itself_counts(tracing):
    """The notebook may trace memory as well, and may have held a large array before."""
    case_inputs = inputs(np.ones(LENGTH))
    if tracing:
        tracemalloc.start()
    try:
        del (garbage := [np.ones((LENGTH, LENGTH))])[:]
        answer = call_student_function(
            lambda x: x + 1, type(case_inputs)(case_inputs.args, case_inputs.kwargs, LIMIT)
        )
        assert 8 * LENGTH <= answer.peak_bytes < 30 * LENGTH
        assert tracemalloc.is_tracing() is tracing
        assert not garbage
    finally:
        tracemalloc.stop()
    assert call_student_function(lambda x: x + 1, case_inputs).peak_bytes == 0, (
        "measured only where there is a limit"
    )
