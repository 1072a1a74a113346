"""A second run names the product, the operation or the array at which a function goes wrong."""

import sys

import numpy as np
import pytest
from test_repair import define_in_cell

from autograder.diagnosis.second_run import (
    MAX_SHOWN_ARGUMENTS,
    describe_largest_array,
    explain_failing_line,
    explain_infinite_numbers,
)
from autograder.values.case_records import Inputs

LAYER = define_in_cell("\ndef layer(x, w_1, b_1):\n    return x @ w_1 + b_1\n")


def define(*lines, head="def f(x, y):"):
    body = "\n".join(["", head, *(f"    {line}" for line in lines), ""])
    return define_in_cell(body, layer=LAYER)


def explain(line, *shapes):
    inputs = Inputs(tuple(np.ones(shape) for shape in shapes))
    return explain_failing_line(define(f"return {line}"), inputs)


@pytest.mark.parametrize(
    ("line", "shapes", "words"),
    [
        ("(x + 1) @ y + x @ x.T", [(2, 3), (4, 3)], "In `(x + 1) @ y`, the shapes are (2, 3) and"),
        ("x @ y", [(2, 3), (4, 3)], "With rows and columns of `y` exchanged they would be equal."),
        ("x @ y", [(3, 2), (3, 4)], "With rows and columns of `x` exchanged they would be equal."),
        ("x @ y", [(2, 3), (2, 3)], "With rows and columns of `x` or `y` exchanged they would be"),
        (
            "x @ y",
            [(2, 3), (4, 5)],
            "the last size on the left, 3, must equal the first on the right",
        ),
        ("x @ y.T", [(2, 6, 5, 3)] * 2, "`y.T` reverses all 4 axes. To exchange the last two only"),
        ("x @ y.T", [(2, 6, 5, 3)] * 2, "must equal the last but one on the right, 6."),
        ("(y.T @ x.T).T", [(3, 5, 7), (7, 8)], "`x @ y` itself needs no `.T`, and `x` may have"),
        (
            "np.dot(y.T, x.T).T",
            [(3, 5, 7), (7, 8)],
            "`np.dot(y.T, x.T)` is the transpose of `x @ y`",
        ),
        ("x @ np.transpose(y)", [(2, 6, 5, 3)] * 2, "`np.transpose(y)` reverses all 4 axes. To"),
        ("x @ np.transpose(y)", [(2, 6, 5, 3)] * 2, "write `np.swapaxes(y, -1, -2)`"),
        ("np.sum(a=x @ y)", [(2, 3), (4, 5)], "In `x @ y`, the shapes are (2, 3) and (4, 5)"),
        ("np.ones(9)[int((x @ y).sum()) :]", [(2, 3), (4, 5)], "In `x @ y`, the shapes are"),
        ("np.sum(*[x @ y])", [(2, 3), (4, 5)], "In `x @ y`, the shapes are (2, 3) and (4, 5)"),
        ("np.dot(x.T, y)", [(7,), (3, 2)], "`x` has one axis only, so `x.T` is the same as `x`."),
        ("x / y", [(3, 8), (3,)], "`y` would have shape (3, 1), and the shapes would fit."),
        ("y / x", [(3, 8), (3,)], "`y` would have shape (3, 1), and the shapes would fit."),
        ("np.sqrt(x * y)", [(5,), (6,)], "`*` multiplies two vectors number by number."),
        ("x + y", [(5, 4), (6, 4)], "from the end: 5 and 6 are not equal, and neither is 1."),
        ("y - np.outer(x, x)", [(4, 6), (4,)], "`np.outer` is made for two vectors"),
        ("layer(x, y, x[0])", [(4, 6), (6, 3)], "The error is raised inside `layer`, which this"),
        ("layer(x, y, x[0])", [(4, 6), (6, 3)], "You give it `y` as `w_1` and `x[0]` as `b_1`."),
        ("layer(x, y, x[0])", [(4, 6), (6, 3)], "`x` (4, 6), `w_1` (6, 3) and `b_1` (6,)."),
        ("layer(x, y, 0.5)", [(4, 6), (5, 3)], "arguments are `x` (4, 6) and `w_1` (5, 3)."),
    ],
)
def test_the_part_of_a_line_that_fails_is_named_with_its_shapes(line, shapes, words):
    assert words in explain(line, *shapes).means


def test_the_hint_on_two_vectors_asks_for_another_product():
    hint = "Which function multiplies each number of one vector by each of the other?"
    assert explain("x * y", (5,), (6,)).nudge == hint
    assert explain("x + y", (5,), (6,)).nudge != hint


@pytest.mark.parametrize(
    ("line", "shapes"),
    [
        ("x + y", [(3, 2), (2,)]),  # no error
        ("[x @ y for _ in x][0]", [(2, 3), (2, 3)]),  # in a scope of its own
        ("x @ y", [(2, 4, 3), (5, 3, 2)]),  # the sizes of the batch
        ("missing + y", [(2,), (2,)]),
        ("x @ y", [(2, 3), ()]),
        ("x @ y", [(), (2, 3)]),
        ("layer(x, w_1=y, b_1=0)", [(4, 6), (5, 3)]),  # with names, nothing is given by its place
    ],
)
def test_nothing_is_said_of_a_line_that_is_not_understood(line, shapes):
    assert explain(line, *shapes) is None


def test_a_call_with_many_arguments_is_not_listed():
    names = [f"a{i}" for i in range(MAX_SHOWN_ARGUMENTS + 1)]
    source = f"\ndef many({', '.join(names)}):\n    return a0 @ a1\n"
    call = f"return many({', '.join(['x', 'y', *['0'] * (len(names) - 2)])})"
    function = define_in_cell(f"\ndef f(x, y):\n    {call}\n", many=define_in_cell(source))
    assert explain_failing_line(function, Inputs((np.ones(2), np.ones(3)))) is None


def test_a_change_in_place_is_explained_too():
    function = define("x += y", "return x")
    text = explain_failing_line(function, Inputs((np.ones((3, 8)), np.ones(3)))).means
    assert text.startswith("In `x + y`, the shapes are (3, 8) and (3,).")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x * np.log(y)", "a logarithm is taken of 0, which gives -inf. On the same line, 0 is"),
        ("np.exp(y + 999) - np.exp(y + 999)", "an exponential is taken of a number so large that"),
        ("np.sqrt(x - 1)", "In line 3 of your cell, `return np.sqrt(x - 1)`, a root is taken of a"),
        ("x / y", "0 is divided by 0, or inf by inf, which gives nan."),
        ("np.where(x == 0, -np.inf, 0) - -np.inf", "inf is subtracted from inf, which gives nan."),
    ],
)
def test_the_line_of_the_first_nan_is_named(line, words):
    function = define(f"return {line}")
    assert words in explain_infinite_numbers(function, Inputs((np.zeros(2), np.zeros(2))), True)


@pytest.mark.parametrize(
    ("shapes", "names"),
    [([(2, 3), (2, 3)], "`x` or `y`"), ([(2, 3), (4, 3)], "`y`"), ([(3, 2), (3, 4)], "`x`")],
)
def test_the_hint_of_a_product_asks_for_an_axis_of_the_array_that_may_be_exchanged(shapes, names):
    assert (
        explain("x @ y", *shapes).nudge
        == f"Which axis of {names} must be added up in this product?"
    )


def test_the_line_of_the_first_inf_is_named():
    inputs = Inputs((np.ones(2), np.zeros(2)))
    text = explain_infinite_numbers(define("z = x / y", "return z + 1"), inputs, False)
    assert text == "In line 3 of your cell, `z = x / y`, a number is divided by 0, which gives inf."
    assert explain_infinite_numbers(define("return x + y"), inputs, False) == ""
    assert explain_infinite_numbers(define("return x / y"), inputs, True) == ""  # no nan there


def test_a_warning_does_not_end_the_second_run():
    lines = ("import warnings", "warnings.warn('careful')", "z = np.ones(999)", "return z")
    inputs = Inputs((np.ones(2), np.ones(3)))
    assert "`z`, with shape (999,)" in describe_largest_array(define(*lines), inputs, 8000)
    explanation = explain_failing_line(define(*lines[:2], "return x @ y"), inputs)
    assert explanation.means.startswith("In `x @ y`, the shapes are (2,) and (3,)")


def test_a_second_run_leaves_no_trace_function_and_prints_nothing(capsys):
    previous = sys.gettrace()
    describe_largest_array(define("print('seen')", "return x"), Inputs((np.ones(9), 0)), 1)
    describe_largest_array(define("return missing"), Inputs((np.ones(9), 0)), 1)
    assert sys.gettrace() is previous
    assert capsys.readouterr().out == ""


def test_the_largest_array_is_named_if_it_takes_much_of_the_memory():
    function = define("z = np.ones((150, 200))", "w = z.sum(axis=0)", "return w")
    inputs = Inputs((np.ones(9), np.ones(9)))
    text = describe_largest_array(function, inputs, 300_000)
    assert text == "The largest of your arrays is `z`, with shape (150, 200)."
    assert describe_largest_array(function, inputs, 3_000_000) == ""
    assert describe_largest_array(define("return x"), Inputs((np.ones(999), 0)), 1000) == ""
    repeated = define("z = np.broadcast_to(x, (9, 999))", "w = x[:500] + 1", "return w")
    text = describe_largest_array(repeated, Inputs((np.ones(999), 0)), 8000)
    assert text == "The largest of your arrays is `w`, with shape (500,)."


@pytest.mark.parametrize("line", ["v = y", "v = y.T", "v = y[:, 1:]", "v = y.reshape(-1)"])
def test_an_argument_or_a_view_of_it_is_not_the_largest_array_of_the_function(line):
    function = define(line, "w = x + 1", "return w")
    text = "The largest of your arrays is `w`, with shape (500,)."
    large = np.ones((300, 100))
    for inputs in (
        Inputs((np.ones(500), large)),
        Inputs((np.ones(500),), {"y": large}),
        Inputs((np.ones(500),), {"y": large[::2]}),
    ):
        assert describe_largest_array(function, inputs, 4000) == text
    function = define("v = y['w']", "w = x + 1", "return w")
    assert describe_largest_array(function, Inputs((np.ones(500), {"w": large})), 4000) == text
