"""Exercises that work in place: what a call leaves in its arguments is judged, and what is to stay is guarded."""

import numpy as np
import pytest
from test_proof import lab_of

from autograder.authoring import inputs
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.proof import answers_of, found, weaknesses
from autograder.judging.answer import ask
from autograder.judging.compare import first_difference
from autograder.judging.frames import decode, encode, pack_answer, unpack_answer
from autograder.judging.kinds import Once
from autograder.judging.question import Answer, Raised, Rules
from autograder.results import Verdict

IN_PLACE = Rules(call="in place")
LEFT = "Your function left its first argument as it was, and is to change it: {} is due there."


def told(reference, answer, given):
    """What is said of an answer, which has travelled as from a sandbox; None where it is right."""
    due = ask(reference, given, "in place")
    arrays = []
    packed = pack_answer(ask(answer, given, "in place"), arrays)
    header, received = decode(encode({"answer": packed}, arrays))
    difference = first_difference(due.value, unpack_answer(header["answer"], Once(received)), IN_PLACE, given)
    return difference and difference.seen


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


def loses_one(values, step):
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
        (rebinds, LEFT.format("a list of 4 values")),
        (
            reverses,
            "In its first argument, after the call: in the first of its 4 values: there is 9; 1 is due.",
        ),
        (loses_one, "In its first argument, after the call: there are 3 values; 4 are due."),
        (changes_the_other, "Your function changed its second argument."),
        (fails, "Your function raised KeyError: 'step'."),
        (
            puts_an_object,
            "What your function leaves in its arguments, or returns, holds a function, which cannot be compared.",
        ),
    ],
)
def test_a_list(answer, sentence):
    given = inputs([9, 1, 4, 2], [0])
    assert told(sort, answer, given) == sentence
    assert given.args == ([9, 1, 4, 2], [0])


def scale(rows, by):
    rows /= by


def scales_into_a_name(rows, by):
    rows = rows / by


def scales_wrongly(rows, by):
    rows *= by


def scales_nearly(rows, by):
    rows[:] = rows * (1 / by)


def scales_both(rows, by):
    rows /= by
    by[:] = 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (scale, None),
        (scales_nearly, None),
        (scales_into_a_name, LEFT.format("a NumPy array of shape (2, 3)")),
        (
            scales_wrongly,
            "In its first argument, after the call: 6 of 6 numbers differ, most at [1, 2]: "
            "yours 45, expected 5.",
        ),
        (scales_both, "Your function changed its second argument."),
    ],
)
def test_an_array(answer, sentence):
    assert told(scale, answer, inputs(np.arange(1, 7.0).reshape(2, 3) * 2.5, np.array([3.0]))) == sentence


def count(counts, *, word):
    counts[word] = counts.get(word, 0) + 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (count, None),
        (lambda counts, *, word: counts.update({word: counts[word] + 1}), None),
        (
            lambda counts, *, word: dict(counts, a=2),
            LEFT.format("a dict with the entries 'a', 'b'"),
        ),
        (
            lambda counts, *, word: counts.update({word: 7}),
            "In its first argument, after the call: under 'a': there is 7; 2 is due.",
        ),
        (
            lambda counts, *, word: counts.pop(word),
            "In its first argument, after the call: the result has no entry 'a'; its entries are to be 'a', 'b'.",
        ),
    ],
)
def test_a_dict(answer, sentence):
    assert told(count, answer, inputs({"a": 1, "b": 5}, word="a")) == sentence


def test_an_argument_by_name_is_called_that():
    given = inputs(counts={"a": 1}, word="a")
    assert told(count, lambda counts, word: None, given).startswith(
        "Your function left its argument `counts`"
    )


def test_what_is_returned_counts_where_the_reference_returns_something():
    given = inputs([3, 1, 2])
    assert told(list.pop, lambda x: x.pop(), given) is None
    assert told(list.pop, lambda x: x.pop() and None, given) == "Your function returned None."
    assert told(list.pop, lambda x: x.pop() * 2, given) == "Your function returned 4; 2 is due."
    assert told(list.sort, lambda x: x.sort() or x, given) is None


def test_an_error_is_due_here_too():
    answer = ask(sort, inputs([1], []), "in place")
    assert first_difference(Raised("ValueError", ""), answer, IN_PLACE).seen == (
        "Your function came to its end; a ValueError is to be raised here."
    )


@pytest.mark.parametrize("forged", [5, [1], {(0, 1): 2}, {0: 7}])
def test_what_no_call_leaves_is_wrong_and_ends_nothing(forged):
    assert first_difference({0: [1, 2]}, Answer(forged, "dict"), IN_PLACE, inputs([2, 1]))


# A build


def drawn(rng):
    return inputs([int(n) for n in rng.integers(1, 100, size=9)], [0])


def test_a_build_proves_mistakes_and_right_answers():
    lab = lab_of(sort, drawn, call="in place")
    exercise = lab.exercises["answer"]
    exercise.misconception(means="You gave a sorted copy a name.", nudge="Which method sorts the list?")(
        rebinds
    )
    exercise.variant(swaps)
    assert weaknesses(lab) == []
    questions = exercise.questions()
    finding = found(exercise, questions, answers_of(lambda v, s: None, exercise, questions))
    assert (finding.verdict, finding.misconception) == (Verdict.WRONG, "rebinds")
    exercise.variant(reverses)
    (sentence,) = weaknesses(lab)
    assert sentence.startswith("a-lab: answer: the right answer 'reverses' is refused. In its first argument")


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (len, None),
        (lambda x: None, "`pass`"),
        (lambda x: x.__init__([0] * len(x)), "zeros of the right shape"),
    ],
)
def test_a_build_refuses_what_takes_no_thought(reference, words):
    sentences = weaknesses(lab_of(reference, lambda rng: inputs([3, 1]), call="in place"))
    assert bool(sentences) is bool(words)
    assert not words or any(f"{words} is right in every case" in sentence for sentence in sentences)


def test_a_build_names_the_way_to_work_in_place():
    with pytest.raises(ExerciseError, match='say `call="in place"`, and what it leaves there is judged'):
        weaknesses(lab_of(sort, drawn))
    (sentence,) = (s for s in weaknesses(lab_of(lambda v, s: None, drawn)) if "`pass`" in s)
    assert 'is judged with `call="in place"`' in sentence
