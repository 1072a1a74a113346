"""The proof: every misconception is caught under its own name, and every right variant passes.

The visible cases are those of the answer keys; fresh cases use 20 seeds.
"""

from functools import cache
from importlib import import_module

import pytest

from autograder.answer import Answer, ask
from autograder.judge import judge
from autograder.labs import exercises
from autograder.labs.build import available
from autograder.results import Verdict

SEEDS = [None, *range(20)]  # None: the visible cases
LABS = [lab for lab in available() if lab != "keras-attention"]  # that one has tests/test_keras.py
EXERCISES = {e.name: e for lab in LABS for e in exercises(lab).values()}
PAIRS = [(e.name, m.name) for e in EXERCISES.values() for m in e.misconceptions]
VARIANTS = [
    pytest.param(name, function, id=f"{name}-{function.__name__}")
    for lab in LABS
    for name, function in import_module(f"variants.{lab.replace('-', '_')}").VARIANTS
]


@cache
def questions(name, seed):
    """Kept, so that what each misconception gives for a case is computed once for all tests."""
    return EXERCISES[name].questions(seed)


def found(name, answers, seed):
    exercise = EXERCISES[name]
    return judge(questions(name, seed), answers, exercise.rules, exercise.misconceptions)


def answers(name, function, seed):
    return [ask(function, question.inputs) for question in questions(name, seed)]


@pytest.mark.parametrize(("name", "misconception"), PAIRS, ids=lambda x: x)
def test_a_misconception_is_rejected_under_its_own_name(name, misconception):
    for seed in SEEDS:
        given = [question.mistakes[misconception] for question in questions(name, seed)]
        finding = found(name, given, seed)
        assert finding.verdict is not Verdict.PASS, f"seed {seed}: passes"
        assert finding.misconception == misconception, f"seed {seed}: {finding}"


@pytest.mark.parametrize(("name", "function"), VARIANTS)
def test_a_right_variant_passes(name, function):
    for seed in SEEDS:
        finding = found(name, answers(name, function, seed), seed)
        assert finding.verdict is Verdict.PASS, f"seed {seed}: {finding}"


@pytest.mark.parametrize("name", EXERCISES)
def test_the_reference_passes_and_the_cases_do_not_repeat(name):
    for seed in SEEDS:
        assert found(name, answers(name, EXERCISES[name].reference, seed), seed).verdict is Verdict.PASS
    fresh = [[q.expected.tobytes() for q in questions(name, seed)] for seed in SEEDS]
    assert len({tuple(f) for f in fresh}) > 5, "fresh cases must be fresh"


def test_the_catalogue_is_large_enough():
    assert len(PAIRS) >= 60
    assert len(VARIANTS) >= 40


def test_every_message_has_its_parts():
    for exercise in EXERCISES.values():
        for m in exercise.misconceptions:
            assert m.means.endswith((".", "!", "?")), (exercise.name, m.name)
            assert m.nudge.endswith((".", "?")), (exercise.name, m.name)
            assert len(m.means) + len(m.nudge) < 420, (exercise.name, m.name)


def test_an_unexplained_answer_gets_a_property_and_no_name():
    """A wrong answer that nobody listed is wrong all the same."""
    import numpy as np

    def odd(x, axis=0):
        return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True) + 0.125

    finding = found("softmax", answers("softmax", odd, None), None)
    assert (finding.verdict, finding.misconception) == (Verdict.WRONG, None)
    assert "should sum to 1; yours sum to" in finding.means


def test_the_message_speaks_of_a_case_that_its_explanation_fits():
    """The first failing case is something else; the misconception gives the others."""
    given = [question.mistakes["no-scale"] for question in questions("calculate_weights", None)]
    first = found("calculate_weights", given, None).case
    given[first] = Answer(error="ValueError: something else")
    finding = found("calculate_weights", given, None)
    assert finding.misconception == "no-scale"
    assert finding.case > first
    assert "something else" not in finding.seen
