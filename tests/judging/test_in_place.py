"""In-place exercises: the final arguments are judged, and others must not change."""

import numpy as np
import pytest
from small_lab import lab_of

from autograder.authoring import inputs
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.verify import call_on_cases, find_lab_weaknesses, judge_outcomes
from autograder.core.results import Verdict
from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import call_student_function
from autograder.values.case_records import CallOutcome, ComparisonRules, ExpectedError
from autograder.values.encoding import decode, encode, pack_outcome, unpack_outcome
from autograder.values.value_types import SingleUseArrays

IN_PLACE = ComparisonRules(call="in place")
UNCHANGED = "Your function left its first argument unchanged; expected {} there."


def judge_in_place(reference, answer, case_inputs):
    """The sentence on an answer that was encoded as by a sandbox; None for a right one."""
    expected = call_student_function(reference, case_inputs, "in place")
    arrays = []
    packed_outcome = pack_outcome(call_student_function(answer, case_inputs, "in place"), arrays)
    header, received_arrays = decode(encode({"answer": packed_outcome}, arrays))
    difference = compare_outcome(
        expected.value,
        unpack_outcome(header["answer"], SingleUseArrays(received_arrays)),
        IN_PLACE,
        case_inputs,
    )
    return difference and difference.observation


def sort(values, step):
    values.sort()


def swaps(values, step):
    for i in range(len(values)):
        for j in range(i):
            if values[j] > values[i]:
                values[i], values[j] = values[j], values[i]


def rebinds(values, step):
    values = sorted(values)


def reverses(values, step):
    values.sort(reverse=True)


def remove_last_value(values, step):
    values.sort()
    values.pop()


def changes_the_other(values, step):
    values.sort()
    step.append(1)


def fails(values, step):
    values.sort()
    raise KeyError("step")


def puts_an_object(values, step):
    values[0] = fails


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (sort, None),
        (swaps, None),
        (rebinds, UNCHANGED.format("a list of 4 values")),
        (
            reverses,
            "In its first argument, after the call: in the first of its 4 values: found 9; expected 1.",
        ),
        (remove_last_value, "In its first argument, after the call: found 3 values; expected 4."),
        (changes_the_other, "Your function changed its second argument."),
        (fails, "Your function raised KeyError: 'step'."),
        (
            puts_an_object,
            "An argument after the call, or the returned value, holds a function, which cannot be compared.",
        ),
    ],
)
def test_a_list_is_changed_in_place(answer, sentence):
    case_inputs = inputs([9, 1, 4, 2], [0])
    assert judge_in_place(sort, answer, case_inputs) == sentence
    assert case_inputs.args == ([9, 1, 4, 2], [0])


def scale(rows, divisor):
    rows /= divisor


def scales_into_a_name(rows, divisor):
    rows = rows / divisor


def scales_wrongly(rows, divisor):
    rows *= divisor


def scales_nearly(rows, divisor):
    rows[:] = rows * (1 / divisor)


def scales_both(rows, divisor):
    rows /= divisor
    divisor[:] = 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (scale, None),
        (scales_nearly, None),
        (scales_into_a_name, UNCHANGED.format("a NumPy array of shape (2, 3)")),
        (
            scales_wrongly,
            "In its first argument, after the call: 6 of 6 numbers differ. The largest difference is at [1, 2]: "
            "your value is 45, expected 5.",
        ),
        (scales_both, "Your function changed its second argument."),
    ],
)
def test_an_array_is_changed_in_place(answer, sentence):
    assert (
        judge_in_place(
            scale, answer, inputs(np.arange(1, 7.0).reshape(2, 3) * 2.5, np.array([3.0]))
        )
        == sentence
    )


def count(counts, *, word):
    counts[word] = counts.get(word, 0) + 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (count, None),
        (lambda counts, *, word: counts.update({word: counts[word] + 1}), None),
        (
            lambda counts, *, word: dict(counts, a=2),
            UNCHANGED.format("a dict with the entries 'a', 'b'"),
        ),
        (
            lambda counts, *, word: counts.update({word: 7}),
            "In its first argument, after the call: in the entry 'a': found 7; expected 2.",
        ),
        (
            lambda counts, *, word: counts.pop(word),
            "In its first argument, after the call: the result has no entry 'a'; its keys should be 'a', 'b'.",
        ),
    ],
)
def test_a_dict_is_changed_in_place(answer, sentence):
    assert judge_in_place(count, answer, inputs({"a": 1, "b": 5}, word="a")) == sentence


def test_an_argument_by_name_is_called_that():
    case_inputs = inputs(counts={"a": 1}, word="a")
    assert judge_in_place(count, lambda counts, word: None, case_inputs).startswith(
        "Your function left its argument `counts`"
    )


def test_the_result_counts_where_the_reference_returns_one():
    case_inputs = inputs([3, 1, 2])
    assert judge_in_place(list.pop, lambda x: x.pop(), case_inputs) is None
    assert (
        judge_in_place(list.pop, lambda x: x.pop() and None, case_inputs)
        == "Your function returned None."
    )
    assert (
        judge_in_place(list.pop, lambda x: x.pop() * 2, case_inputs)
        == "Your function returned 4; expected 2."
    )
    assert judge_in_place(list.sort, lambda x: x.sort() or x, case_inputs) is None


def test_an_in_place_call_may_have_to_raise_an_error():
    answer = call_student_function(sort, inputs([1], []), "in place")
    assert compare_outcome(ExpectedError("ValueError", ""), answer, IN_PLACE).observation == (
        "Your function finished without an error; it should raise a ValueError here."
    )


@pytest.mark.parametrize("value", [5, [1], {(0, 1): 2}, {0: 7}])
def test_an_impossible_recording_is_wrong_and_raises_nothing(value):
    assert compare_outcome({0: [1, 2]}, CallOutcome(value, "dict"), IN_PLACE, inputs([2, 1]))


# A build


def random_inputs(rng):
    return inputs([int(n) for n in rng.integers(1, 100, size=9)], [0])


def test_a_build_tests_mistakes_and_right_answers():
    lab = lab_of(sort, random_inputs, call="in place")
    exercise = lab.exercises["answer"]
    exercise.misconception(
        means="You gave a sorted copy a name.", nudge="Which method sorts the list?"
    )(rebinds)
    exercise.variant(swaps)
    assert find_lab_weaknesses(lab) == []
    cases = exercise.test_cases()
    finding = judge_outcomes(exercise, cases, call_on_cases(lambda v, s: None, exercise, cases))
    assert (finding.verdict, finding.misconception) == (Verdict.WRONG, "rebinds")
    exercise.variant(reverses)
    (sentence,) = find_lab_weaknesses(lab)
    assert sentence.startswith(
        "a-lab: answer: the right answer 'reverses' is refused. In its argument `values`"
    )


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (len, None),
        (lambda x: None, "`pass`"),
        (lambda x: x.__init__([0] * len(x)), "zeros of the right shape"),
    ],
)
def test_a_build_refuses_exercises_with_trivial_answers(reference, words):
    sentences = find_lab_weaknesses(lab_of(reference, lambda rng: inputs([3, 1]), call="in place"))
    assert bool(sentences) is bool(words)
    assert not words or any(f"{words} is right in every case" in sentence for sentence in sentences)


def test_a_build_names_the_way_to_work_in_place():
    with pytest.raises(
        ExerciseError, match='say `call="in place"`, and what it leaves there is judged'
    ):
        find_lab_weaknesses(lab_of(sort, random_inputs))
    (sentence,) = (
        s for s in find_lab_weaknesses(lab_of(lambda v, s: None, random_inputs)) if "`pass`" in s
    )
    assert 'is judged with `call="in place"`' in sentence
