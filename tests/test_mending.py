"""The one place of an answer's own code that is wrong, found by changing it: said, tried in all cases, and harmless."""

import linecache
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

from autograder import student
from autograder.deadline import TookTooLong
from autograder.judging.answer import ask
from autograder.judging.compare import first_difference
from autograder.judging.question import Inputs, Question, Rules
from autograder.mending import LONGEST, what_mends
from autograder.student import CheckFailed, check

RIGHT = """
def scaled(x, y, size=2):
    total = x.sum(axis=-1, keepdims=True)
    part = x / total
    lower = part[..., 1:] * size
    out = np.sqrt(np.abs(lower)) - y[..., 1:]
    out[..., 0] += np.tanh(y[..., 0])
    return out
"""


def in_a_cell(source, **names):
    """The first function that a cell's source defines."""
    name = f"<cell {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"np": np, "__name__": "__main__", **names}
    exec(compile(source, name, "exec"), space)
    return space[source.split("def ", 1)[1].split("(")[0]]


def asked(right=RIGHT):
    rng = np.random.default_rng(3)
    given = [
        Inputs((rng.uniform(1, 2, size=s), rng.normal(size=s)), {"size": k})
        for s, k in (((2, 4), 3), ((3, 5), 5), ((2, 3, 4), 7), ((4, 3), 2))
    ]
    return [Question("", one, ask(in_a_cell(right), one).value, {}) for one in given]


def said(answer, right=RIGHT, **names):
    function, questions = in_a_cell(answer, **names), asked(right)
    good = [first_difference(q.expected, ask(function, q.inputs), Rules()) is None for q in questions]
    failing, fine = ([q for q, g in zip(questions, good, strict=True) if g is want] for want in (False, True))
    return what_mends(function, failing, fine, Rules())


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("np.sqrt(", "np.cbrt(1 + ", 6, ""),
        ("[..., 1:] * size", "[..., 1:] * 3", 5, "with one of your names in place of `3`"),
        ("np.tanh(", "np.sin(", 7, "with another function in place of `np.sin`"),
        ("axis=-1", "axis=-2", 3, "with another number in place of `2`"),
        ("x / total", "y / total", 4, "with another name in place of `y`"),
        ("x / total", "x + total", 4, "with another operator in place of `+`"),
        ("x / total", "total / x", 4, "with the two sides of `/` exchanged"),
        ("x / total", "x / total / 2", 4, "without `/ 2`"),
        ("return out", "return np.round(out, 3)", 8, "without `np.round` around `out`"),
        ("return out", "return out[::-1]", 8, "with all of `out` in place of `out[::-1]`"),
        ("return out", "out = out - out.mean()\n    return out", 8, "without this line"),
        ("return out", "out[0] = 0\n    return out", 8, "without this line"),
        ("part[..., 1:]", "part[..., :-1]", 5, "with another part in place of `part[..., :-1]`"),
        ("+=", "-=", 7, "with another operator in place of `-=`"),
        ("+=", "=", 7, "with the new joined to what is there already"),
        ("x.sum(", "x.mean(", 3, "with another function in place of `x.mean`"),
        ("- y[", "+ y[", 6, "with another operator in place of `+`"),
        ("np.abs(lower)", "1 - lower", 6, "without `1 -`"),
        (" * size", "", 6, "with `np.abs(lower)` multiplied by one of your names"),
        (", keepdims=True", "", 3, "with `keepdims` for `x.sum`"),
        (
            "np.sqrt(np.abs(lower))",
            "np.log(np.abs(lower) + 1)",
            6,
            "with another function, of `np.abs(lower)` alone,",
        ),
    ],
)
def test_one_place_is_said_with_its_line_and_kind(old, new, line, words):
    assert old in RIGHT
    text = said(RIGHT.replace(old, new, 1))
    if not words:
        assert text == ""  # no small change makes a cube root of something else right
        return
    assert text.startswith(f"One place is wrong. In line {line} of its cell, `"), text
    assert f"`: {words}" in text
    assert text.endswith("every case comes out right.")


def test_the_same_wherever_it_stands_and_two_things_in_each_others_place():
    twice = RIGHT.replace("[..., 1:]", "[..., 2:]")
    assert "with another number in place of `2`, there and wherever else it stands," in said(twice)
    swapped = RIGHT.replace("x.sum", "y.sum").replace("x / total", "y / total").replace("- y[", "- x[")
    assert "with `x` and `y` exchanged everywhere" in said(swapped.replace("tanh(y", "tanh(x"))
    lines = ("total = x.sum(axis=-1, keepdims=True)", "part = x / total")
    exchanged = RIGHT.replace(lines[0], "total = x / total").replace(
        lines[1], "part = x.sum(axis=-1, keepdims=True)"
    )
    assert "with the right sides of this line and the next assignment, line 5, exchanged" in said(
        exchanged.replace("def scaled(", "def scaled(").replace("):\n", "):\n    total = 1.0\n", 1)
    )


def test_two_places_of_which_one_puts_part_of_it_right():
    text = said(RIGHT.replace("axis=-1", "axis=0").replace("+=", "-="))
    assert text.startswith("Two places are wrong. In line ")
    assert "with another operator in place of `-=`" in text
    assert "with another number in place of `0`" in text
    text = said(RIGHT.replace("[..., 1:]", "[..., 2:]").replace("+=", "-="))
    assert "with another number in place of `2`, there and wherever else it stands. In line 7" in text


@pytest.mark.parametrize(
    ("old", "new", "outer", "inner"),
    [
        ("x.sum(axis=-1, keepdims=True)", "np.sqrt(np.sum(x**2, axis=-1, keepdims=True))", "np.sqrt", "** 2"),
        (
            "x.sum(axis=-1, keepdims=True)",
            "np.exp(np.log(x).sum(axis=-1, keepdims=True))",
            "np.exp",
            "np.log",
        ),
    ],
)
def test_two_places_of_which_one_is_inside_the_other(old, new, outer, inner):
    text = said(RIGHT.replace(old, new))
    assert text.startswith("Two places are wrong. In line 3 of its cell, `")
    assert f"without `{outer}` around" in text
    assert f"without `{inner}" in text


def test_no_number_of_its_own_hides_like_infinity():
    right = RIGHT.replace("return out", "return np.isinf(np.where(out > 0, out, np.inf))")
    text = said(right.replace("out, np.inf", "out, 50.0"), right)
    assert "with another number in place of `50.0` every case comes out right." in text


def test_least_squares_are_left_as_they_are(capfd):
    """A change that hands NaN to LAPACK's least squares made it print to the student's terminal."""
    wrong = RIGHT.replace(
        "return out", "np.linalg.lstsq(np.log(np.eye(3) + 1), np.ones(3))\n    return out + 1"
    )
    assert said(wrong) == ""
    assert capfd.readouterr() == ("", "")


def test_what_a_right_case_contradicts_is_not_said():
    """Without the last line the first three cases come out right, and the fourth, which is right, would not."""
    right = RIGHT.replace("return out", "return out + (size == 2)")
    answer = RIGHT.replace("return out", "out = out + 1\n    return out")
    assert "without this line" not in said(answer, right)
    assert "without this line" in said(answer)


def test_helpers_of_the_same_cell_are_looked_at_too():
    helper = (
        RIGHT.replace("np.abs(lower)", "size_of(lower)") + "\ndef size_of(v):\n    return np.abs(v) * 4\n"
    )
    assert "In line 11 of its cell, `return np.abs(v) * 4`: without `* 4`" in said(helper)


def test_no_source_no_sentence():
    function, questions = in_a_cell(RIGHT.replace("+=", "-=")), asked()
    linecache.cache.pop(function.__code__.co_filename)
    assert what_mends(function, questions, [], Rules()) == ""
    assert what_mends(lambda x, y, size: x, questions, [], Rules()) == ""
    assert what_mends(np.add, questions, [], Rules()) == ""


def test_what_a_notebook_holds_is_left_as_it_is(monkeypatch, capsys):
    """It prints nothing, asks nobody, ends nothing, changes no name of the notebook and no case."""
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("input() was called"))
    body = """
    global calls
    calls = 1
    print("x")
    try:
        input()
    except EOFError:
        x += 0
    if (total < 0).any():
        exit()
"""
    wrong = RIGHT.replace("True)\n", f"True){body}", 1).replace("+=", "-=", 2)
    function = in_a_cell(wrong, calls=0, exit=sys.exit)
    questions = asked()
    before = [q.inputs.args[0].copy() for q in questions]
    assert "with another operator in place of `-=`" in what_mends(function, questions, [], Rules())
    assert function.__globals__["calls"] == 0
    assert capsys.readouterr().out == ""
    assert all((a == q.inputs.args[0]).all() for a, q in zip(before, questions, strict=True))


@pytest.mark.parametrize("wrong", ["+ 1", "+ np.cosh(out) ** 7"])
def test_loops_that_a_change_makes_endless_are_given_up_and_the_time_is_kept(wrong):
    loop = "    n = 0\n    while n < 5:\n        n += 1\n    return out"
    began = time.process_time()
    said(RIGHT.replace("    return out", loop.replace("return out", f"return out {wrong}")))
    assert time.process_time() - began < 8 * LONGEST


def test_of_a_result_that_is_to_be_none_nothing_is_mended():
    given = [Question("", one.inputs, None, {}) for one in asked()]
    assert what_mends(in_a_cell(RIGHT), given, [], Rules()) == ""


def test_a_slow_answer_is_not_asked_for_long():
    slow = RIGHT.replace(
        "    return out", "    for _ in range(3000): np.zeros(99).sum()\n    return out * 1.7 - 0.3"
    )
    began = time.process_time()
    said(slow)
    assert time.process_time() - began < 8 * LONGEST


# In a check.


def written(source, **names):
    """A cell's first function, checked as a notebook would."""
    return in_a_cell(source, __name__="__main__", **names)


SOFTMAX = """
def softmax(x, axis=0):
    e = np.exp(np.abs(x))
    return e / e.sum(axis=axis, keepdims=True)
"""


def told(source):
    softmax = written(source)
    with pytest.raises(CheckFailed) as caught:
        check(softmax)
    return str(caught.value)


def test_an_error_whose_own_sentence_says_it_all_is_not_explained_by_a_change():
    text = told(SOFTMAX.replace("np.abs(x)", "x").replace("    e =", "    input()\n    e ="))
    assert "`input()` waits for somebody to type" in text
    assert "One place is wrong" not in text


def test_a_check_says_the_place_where_no_mistake_has_a_name():
    text = told(SOFTMAX)
    assert (
        "One place is wrong. In line 3 of its cell, `e = np.exp(np.abs(x))`: without `np.abs` around `x`"
        in text
    )
    assert "nearly in step" not in text  # what says less is left out


def test_a_mistake_that_explains_only_some_cases_gives_way_to_the_place_of_all():
    text = told(SOFTMAX.replace("np.abs(x)", "x").replace("(axis=axis,", "(axis=axis if x.ndim == 2 else 0,"))
    assert "without the `if` in" in text or "cases that fail, your result is" not in text


def test_what_is_asked_again_may_take_too_long_and_the_finding_stays(monkeypatch):
    limits = []

    @contextmanager
    def deadline(allowed, home):
        limits.append(allowed)
        with usual(allowed, home) as limit:
            yield limit
        if len(limits) > 1:  # the second is that of asking again
            raise TookTooLong("It did not end")

    usual = student.deadline
    monkeypatch.setattr(student, "deadline", deadline)
    text = told(SOFTMAX)
    assert len(limits) > 1 and "did not end" not in text and "numbers differ" in text
