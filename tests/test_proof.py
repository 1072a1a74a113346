"""No exercise that cannot be failed: what takes no thought must not pass, and a build says where it would."""

from types import SimpleNamespace

import numpy as np
import pytest
from our_course import COURSE

from autograder.authoring import Exercise, inputs
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.lab import read_labs
from autograder.authoring.proof import doubts, weaknesses
from autograder.judging.answer import ask


def lab_of(reference, *cases, **rules):
    """A lab of one exercise, with these cases: functions of a generator."""
    exercise = Exercise("answer", points=1, **rules)
    exercise.__dict__["reference"] = reference
    for number, case in enumerate(cases):
        exercise.case(f"case {number}")(case)
    exercise.lab = SimpleNamespace(name="a-lab", exercises={"answer": exercise})
    return exercise.lab


def drawn(rng):
    return inputs(rng.normal(size=4))


@pytest.mark.parametrize(
    ("reference", "cases", "rules", "words"),
    [
        (lambda x: None, [drawn], {}, "`pass`"),
        (lambda x: x, [drawn], {}, "argument 1 given back"),
        (lambda x: -np.abs(x), [lambda rng: inputs(-np.ones(3))], {}, "argument 1 given back"),
        (
            lambda x, y: max(x, y),
            [lambda rng: inputs(1, 2), lambda rng: inputs(3, 5)],
            {},
            "argument 2 given back",
        ),
        (lambda x=0, y=0: y, [lambda rng: inputs(1, y=2)], {}, "argument y given back"),
        (lambda x, y: (x, y), [lambda rng: inputs(np.ones(2), np.ones(3))], {}, "all arguments given back"),
        (lambda x: x * 0, [drawn], {}, "zeros of the right shape"),
        (lambda x: {"count": 0, "mean": [0.0]}, [drawn], {}, "zeros of the right shape"),
        (lambda x: print(), [drawn], {"returns": "printed"}, "`pass`"),
    ],
)
def test_what_takes_no_thought_is_refused(reference, cases, rules, words):
    (sentence,) = (s for s in weaknesses(lab_of(reference, *cases, **rules)) if words in s)
    assert sentence.startswith(f"a-lab: answer: {words} is right in every case; add one in which it is not.")


@pytest.mark.parametrize(
    ("reference", "cases", "rules"),
    [
        (lambda x: -x, [drawn], {}),
        (lambda x: x if x.size > 3 else -x, [drawn, lambda rng: inputs(np.ones(2))], {}),
        (lambda x: print(len(x)), [drawn], {"returns": "printed"}),
    ],
)
def test_what_takes_some_is_not(reference, cases, rules):
    assert weaknesses(lab_of(reference, *cases, **rules)) == []


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (lambda x: x.sort(), [3, 1, 2]),
        (lambda x: x.append(4), [1]),
        (lambda x: x.__setitem__(0, 1.0), [1]),
        (lambda x: x.__setitem__(0, "b"), ["a"]),
        (lambda x: x[0].sort(), [[2, 1]]),
        (lambda x: x.__setitem__("more", 1), {"a": 1}),
        (lambda x: x.__setitem__("a", 2), {"a": 1}),
        (lambda x: x["a"].reverse(), {"a": [1, 2]}),
        (lambda x: x.__setitem__(0, "no array"), [np.ones(2)]),
        (lambda x: x.fill(2), np.ones(2)),
        (lambda x: x[0].fill(2), (np.ones(2), 1)),
    ],
)
def test_work_in_place_is_refused_in_lists_and_mappings_too(change, given):
    """Else `pass` would be right: its result is None as well, and its argument is nobody's business."""
    lab = lab_of(change, lambda rng: inputs(given))
    with pytest.raises(ExerciseError, match=r"changes its argument .*let it work on a copy, and return that"):
        weaknesses(lab)
    assert ask(change, inputs(given)).modified == ("x",)


def test_what_is_only_looked_at_is_not_changed():
    given = [1, 2.0, "a", None, True, float("nan"), [np.ones(2)], {"a": (1,)}, np.float32]
    assert ask(lambda x: sorted(map(str, x)), inputs(given, np.array([np.nan]))).error
    assert ask(lambda x, y: str(x), inputs(given, np.array([np.nan]))).modified == ()


def test_a_table_of_the_visible_cases_is_warned_about():
    three = [lambda rng, n=n: inputs(n) for n in range(3)]
    (sentence,) = doubts(lab_of(lambda x: x + 1, *three))
    assert sentence.startswith(
        "a-lab: every case of answer is one that students see, so a table of these answers"
    )
    assert doubts(lab_of(lambda x: x + 1, *three, lambda rng: inputs(int(rng.integers(1000))))) == []
    lab = lab_of(lambda x: x + 1, *three)
    lab.exercises["answer"].domain(sizes={"n": (1, 60)})(lambda rng, n: inputs(int(rng.integers(1000)) + n))
    assert doubts(lab) == []


def test_nothing_in_this_course_is_answered_by_a_table():
    labs = [lab for lab in read_labs(COURSE).values() if not lab.why_unavailable()]
    assert [sentence for lab in labs for sentence in doubts(lab)] == []
