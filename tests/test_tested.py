"""A test, asked of an answer as it stands: heard where the answer is, and judged on what was heard."""

import itertools

import numpy as np
import pytest

from autograder.authoring import asked, by_test, holds
from autograder.judging.answer import ask
from autograder.judging.compare import first_difference
from autograder.judging.patterns import features
from autograder.judging.question import Inputs, Question, Rules

RULES = Rules(call="autograder.judging.tested:asked", compare="autograder.judging.tested:holds")

ADDS_UP = """def adds_up(weights, n):
    result = weights(n)
    assert len(result) == n
    assert abs(sum(result) - 1) < 1e-9, "they add up to 1"
"""
BACK = """def back(turn):
    for x in (2, [1]):
        assert turn(turn(x)) == x
"""
BY_CALLS = """def by_calls(counter):
    up = counter(2)
    assert [up(3), up(4)] == [5, 6]
"""
EVEN = """def even(evens):
    from itertools import islice
    assert list(islice(evens(), 3)) == [0, 2, 4]
"""
ROOT = """def root(solve):
    x, steps = solve(lambda x: x * x - 2, 1.0)
    assert abs(x - 2 ** 0.5) < 1e-06 and steps < 10
"""
REFUSES = """def refuses(half):
    try:
        half(3)
        assert False, "3 has no half"
    except ValueError:
        pass
    assert half(4) == 2
"""


def bisected(f, x):
    low, high = x, x + 2
    for _ in range(60):
        low, high = ((low + high) / 2, high) if f((low + high) / 2) < 0 else (low, (low + high) / 2)
    return low, 5


def only_even(n):
    if n % 2:
        raise ValueError("odd")
    return n // 2


def seen(function, test, **values):
    """What the judge says of an answer in a case that is this test."""
    given = by_test(test, **values)
    answer = ask(function, given, RULES.call)
    wrong = first_difference([], answer, RULES, given)
    return wrong and wrong.seen


@pytest.mark.parametrize(
    ("test", "right", "wrong", "sentence"),
    [
        (
            ADDS_UP,
            lambda n: [1 / n] * n,
            lambda n: [1.0] * n,
            "`abs(sum(result) - 1) < 1e-09`. they add up to 1",
        ),
        (ADDS_UP, lambda n: np.ones(n) / n, lambda n: None, "`len(result) == n` cannot be worked out"),
        (BACK, lambda x: x, lambda x: -x if x == 2 else [], "does not: `turn(turn(x)) == x`."),
        (BY_CALLS, lambda a: lambda b: a + b, lambda a: lambda b: b - a, "`[up(3), up(4)] == [5, 6]`."),
        (BY_CALLS, lambda a: lambda b: a + b, lambda a: a, "`[up(3), up(4)] == [5, 6]` cannot be worked out"),
        (
            EVEN,
            lambda: itertools.count(0, 2),
            lambda: iter([0, 2]),
            "`list(islice(evens(), 3)) == [0, 2, 4]`.",
        ),
        (ROOT, bisected, lambda f, x: (1.4, 3), "`abs(x - 2 ** 0.5) < 1e-06 and steps < 10`."),
        (REFUSES, only_even, lambda n: n // 2, "3 has no half"),
        (REFUSES, only_even, lambda n: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_any_answer_that_passes_a_test_is_right_and_what_fails_is_said(test, right, wrong, sentence):
    values = {"n": 4} if test == ADDS_UP else {}
    assert seen(right, test, **values) is None
    assert sentence in seen(wrong, test, **values)


def test_a_case_without_a_test_is_compared_as_ever():
    given = Inputs((4,))
    assert holds(2, asked(only_even, 4), 1e-7, given) is None
    assert "yours" not in (holds(2, 3, 1e-7, given) or "") and holds(2, 3, 1e-7, given)
    some = Inputs((), {"only": ["x"]})
    held = {"x": 1, "y": 2}
    assert asked(lambda: held, only=["x"]) == held
    assert holds(held, {"x": 1, "y": 99}, 1e-7, some) is None
    assert holds(held, {"x": 9, "y": 2}, 1e-7, some)


@pytest.mark.parametrize(
    "heard",
    [
        None,
        7,
        [],
        [7],
        [{}],
        [{"value": 1, "more": 2}],
        [{"end": True}],
        [{"raised": "exit"}],
        [{"raised": "\0"}],
    ],
)
def test_what_was_never_heard_so_passes_nothing(heard):
    assert holds([], heard, 1e-7, by_test(ADDS_UP, n=4))


def test_what_failing_cases_share_is_no_test():
    assert features(Question("", by_test(ADDS_UP, n=4), None, {})) == ["`n=4`"]


def test_zeros_alone_pass_no_test():
    test = "def sums(parts):\n    a, b, c = parts(3)\n    assert a + b == c\n"
    given = by_test(test)
    due = asked(lambda n: (1, 2, n), **given.kwargs)
    assert holds(due, asked(lambda n: (2, 3, 5), **given.kwargs), 0.0, given) is None
    zeros = asked(lambda n: (0, 0, 0), **given.kwargs)
    assert holds(due, zeros, 0.0, given) == "Zeros alone pass this test; they are not what is due."
    assert holds(zeros, zeros, 0.0, given) is None


def test_what_is_not_the_students_is_taken_from_what_is_due():
    test = "def share(answer, whole):\n    part = answer()['part']\n    assert len(part) * 2 == len(whole)\n"
    given = by_test(test, as_due=["whole"])
    due = asked(lambda: {"part": [1, 2], "whole": [0, 1, 2, 3]}, **given.kwargs)
    assert holds(due, due, 0.0, given) is None
    own = asked(lambda: {"part": [1], "whole": [0, 1]}, **given.kwargs)
    assert "does not: `len(part) * 2 == len(whole)`" in holds(due, own, 0.0, given)


def test_what_other_functions_give_is_what_the_notebooks_own_give():
    test = "def both(half, double):\n    assert half(double(3)) == 3\n"
    space = {"double": lambda n: 2 * n}
    exec("def half(n):\n    return n // 2", space)
    assert seen(space["half"], test) is None
    space["double"] = lambda n: 2 * n + 2  # the original fails so, too; marking goes on with the right one
    assert seen(space["half"], test) == "This is to hold, and does not: `half(double(3)) == 3`."
    del space["double"]
    assert seen(space["half"], test)
