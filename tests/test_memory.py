"""A case's limit of memory: a right answer that holds too much is told just that, by judge, key and author's proof."""

import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from autograder import keys
from autograder.authoring.exercise import Exercise, ExerciseError
from autograder.judging.answer import ask
from autograder.judging.compare import first_difference, same_answer
from autograder.judging.judge import judge
from autograder.judging.mistakes import STRUCTURAL
from autograder.judging.question import Answer, Inputs, Rules, inputs
from autograder.results import Verdict

LENGTH = 1000  # a square of floats takes 8 MB
LIMIT = 1_000_000


def row_by_row(x):
    """The sum of all products of two of the numbers, in little room."""
    return np.array([float((x * number).sum()) for number in x])


def squared(x):
    return (x[:, None] * x).sum(axis=1)


def rows(length):
    return lambda rng: inputs(rng.normal(size=length))


@pytest.fixture
def exercise():
    exercise = Exercise("sums", points=1)
    exercise.lab = SimpleNamespace(name="toy", reference=SimpleNamespace(sums=row_by_row))
    exercise.case("a few")(rows(5))
    exercise.case("many", memory=LIMIT)(rows(LENGTH))

    @exercise.misconception(means="You build the square.", nudge="Is all of it needed at once?")
    def whole_square(x):
        return squared(x)

    return exercise


def judged(exercise, function, questions=None):
    questions = questions or exercise.questions()
    answers = [ask(function, question.inputs) for question in questions]
    return judge(questions, answers, exercise.rules, exercise.misconceptions, exercise.name)


def test_a_right_answer_that_holds_too_much_is_told_just_that(exercise):
    finding = judged(exercise, lambda x: np.outer(x, x).sum(axis=1))
    assert (finding.verdict, finding.right) == (Verdict.WRONG, (True, False))
    assert finding.misconception == "whole-square"
    assert finding.seen.startswith("Your result is right, but your function holds 8.")
    assert finding.seen.endswith(" MB at once, where 1.0 MB are allowed.")
    assert finding.message.endswith("You build the square. Is all of it needed at once?")


def test_without_the_limit_it_passes(exercise):
    exercise._cases = [replace(case, memory=None) for case in exercise._cases]
    assert judged(exercise, squared).verdict is Verdict.PASS


def test_an_answer_in_little_room_passes(exercise):
    assert judged(exercise, lambda x: x * x.sum()).verdict is Verdict.PASS


def test_with_no_fitting_misconception_it_has_a_name_all_the_same(exercise):
    exercise.misconceptions.clear()
    finding = judged(exercise, squared)
    assert finding.misconception == "too-much-memory"
    assert (finding.means, finding.nudge) == STRUCTURAL["too-much-memory"]


def test_a_wrong_result_is_told_that_it_is_wrong_however_much_it_holds(exercise):
    finding = judged(exercise, lambda x: squared(x) + np.arange(len(x)))
    assert finding.misconception is None
    assert "numbers differ" in finding.seen


def test_a_mistake_in_little_room_is_not_the_one_in_much():
    much, little = (Answer(np.ones(2), held=held) for held in (LIMIT + 1, LIMIT))
    assert same_answer(much, much, Rules(), LIMIT) and same_answer(little, little, Rules(), LIMIT)
    assert not same_answer(much, little, Rules(), LIMIT)
    assert same_answer(much, little, Rules())
    assert first_difference(np.ones(2), little, Rules(), Inputs(memory=LIMIT)) is None
    assert first_difference(np.ones(2), much, Rules(), Inputs(memory=LIMIT)).kind == "memory"


def test_the_reference_keeps_to_its_own_limit(exercise):
    exercise.lab.reference.sums = squared
    with pytest.raises(
        ExerciseError, match=r"sums holds 8\.\d MB in its own case 'many', which allows 1\.0 MB"
    ):
        exercise.questions()


def test_a_key_knows_which_mistakes_hold_too_much(exercise, tmp_path):
    path = tmp_path / "sums.key"
    path.write_bytes(keys.key_of(exercise))
    key = keys._load(path, "sums")
    assert key.questions[1].inputs.memory == LIMIT
    assert [question.mistakes["whole-square"].held > LIMIT for question in key.questions] == [False, True]
    finding = judge(
        key.questions,
        [ask(squared, question.inputs) for question in key.questions],
        key.rules,
        key.misconceptions,
        "sums",
    )
    assert finding.misconception == "whole-square"
    assert keys.same_key(path.read_bytes(), keys.key_of(exercise)), "not how much, which differs by version"


@pytest.mark.parametrize("tracing", [False, True])
def test_only_what_the_call_itself_holds_counts(tracing):
    """A notebook may measure, too, and may have held much before."""
    given = inputs(np.ones(LENGTH))
    if tracing:
        tracemalloc.start()
    try:
        del (before := [np.ones((LENGTH, LENGTH))])[:]
        answer = ask(lambda x: x + 1, type(given)(given.args, given.kwargs, LIMIT))
        assert 8 * LENGTH <= answer.held < 30 * LENGTH
        assert tracemalloc.is_tracing() is tracing
        assert not before
    finally:
        tracemalloc.stop()
    assert ask(lambda x: x + 1, given).held == 0, "asked only where there is a limit"
