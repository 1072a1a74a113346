"""The lab `keras-attention` on the backend in KERAS_BACKEND: every mistake named, every right answer passed.

Without Keras (`make keras` installs it) all but the first tests are skipped.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autograder import framework
from autograder.answer import ask
from autograder.exercise import inputs
from autograder.judge import judge
from autograder.labs import exercises
from autograder.labs.reference import SOLUTIONS
from autograder.results import Verdict

LAB = "keras-attention"
SEEDS = [None, *range(5)]  # None: the visible cases
EXERCISES = list(exercises(LAB).values())
PAIRS = [pytest.param(e, m, id=f"{e.name}-{m.name}") for e in EXERCISES for m in e.misconceptions]

needs_keras = pytest.mark.skipif(bool(framework.missing()), reason=f"skipped: {framework.missing()}")


@pytest.fixture(scope="session")
def keras():
    framework.start_keras()
    import keras

    return keras


_cases = {}


def finding(exercise, function, seed):
    if (exercise.name, seed) not in _cases:
        _cases[exercise.name, seed] = exercise.questions(seed)
    questions = _cases[exercise.name, seed]
    answers = [ask(function, q.inputs, exercise.rules.call) for q in questions]
    return judge(questions, answers, exercise.rules, exercise.misconceptions)


def assert_named(exercise, name, function):
    for seed in SEEDS:
        found = finding(exercise, function, seed)
        assert found.verdict is not Verdict.PASS, f"seed {seed}: passes"
        assert found.misconception == name, f"seed {seed}: {found}"


# Without Keras.


def test_exercises_are_listed_without_keras():
    code = (
        "import sys; from autograder.labs import exercises\n"
        f"print(len(exercises({LAB!r})), [m for m in ('keras', 'tensorflow', 'jax', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "5 []\n"


def test_missing_keras_is_one_sentence(monkeypatch):
    monkeypatch.setattr(framework, "find_spec", lambda name: None)
    with pytest.raises(framework.KerasMissing, match="run `make keras`") as raised:
        framework.start_keras()
    assert raised.value._render_traceback_() == [str(raised.value)]


def test_missing_backend_is_named(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setattr(framework, "find_spec", lambda name: None if name == "jax" else "there")
    assert "asks for jax, which is not installed" in framework.missing()
    monkeypatch.setenv("KERAS_BACKEND", "abacus")
    assert "'abacus'" in framework.missing()


# The proof.


@needs_keras
@pytest.mark.parametrize(("exercise", "misconception"), PAIRS)
def test_named(keras, exercise, misconception):
    assert_named(exercise, misconception.name, misconception.function)


@needs_keras
@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_reference_passes(keras, exercise):
    for seed in SEEDS:
        assert finding(exercise, exercise.reference, seed).verdict is Verdict.PASS
