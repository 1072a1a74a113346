"""A second run names the product, the operation or the array at which a function goes wrong."""

import ast
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from test_repair import define_in_cell

from autograder.diagnosis import second_run
from autograder.diagnosis.second_run import (
    MAX_SHOWN_ARGUMENTS,
    MIN_SHARE_OF_PEAK,
    describe_largest_array,
    explain_failing_line,
    explain_infinite_numbers,
)
from autograder.diagnosis.source_slips import MAX_CODE_CHARACTERS
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
        ("x + y", [(5, 1), (4, 3)], "from the end: 5 and 4 are not equal, and neither is 1."),
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
    text = explain_failing_line(
        define("y[0] -= x"), Inputs((np.ones((2, 3)), np.ones((2, 4))))
    ).means
    assert text.startswith("In `y[0] - x`, the shapes are (4,) and (2, 3).")


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


@pytest.mark.parametrize(
    ("line", "shapes", "means", "nudge"),
    [
        (
            "x @ y",
            ((2, 3), (4, 5)),
            (
                "In `x @ y`, the shapes are (2, 3) and (4, 5): the last size on the left, 3, must "
                "equal the first on the right, 4."
            ),
            "Which shapes do you expect here? Print `.shape` before this line.",
        ),
        (
            "x @ y",
            ((2, 3), (4, 3)),
            (
                "In `x @ y`, the shapes are (2, 3) and (4, 3): the last size on the left, 3, must "
                "equal the first on the right, 4. With rows and columns of `y` exchanged they "
                "would be equal."
            ),
            "Which axis of `y` must be added up in this product?",
        ),
        (
            "x @ y",
            ((3, 2), (3, 4)),
            (
                "In `x @ y`, the shapes are (3, 2) and (3, 4): the last size on the left, 2, must "
                "equal the first on the right, 3. With rows and columns of `x` exchanged they "
                "would be equal."
            ),
            "Which axis of `x` must be added up in this product?",
        ),
        (
            "x @ y",
            ((2, 3), (2, 3)),
            (
                "In `x @ y`, the shapes are (2, 3) and (2, 3): the last size on the left, 3, must "
                "equal the first on the right, 2. With rows and columns of `x` or `y` exchanged "
                "they would be equal."
            ),
            "Which axis of `x` or `y` must be added up in this product?",
        ),
        (
            "x @ y",
            ((3,), (4,)),
            (
                "In `x @ y`, the shapes are (3,) and (4,): the last size on the left, 3, must "
                "equal the first on the right, 4."
            ),
            "Which shapes do you expect here? Print `.shape` before this line.",
        ),
        (
            "x @ y",
            ((3,), (4, 3)),
            (
                "In `x @ y`, the shapes are (3,) and (4, 3): the last size on the left, 3, must "
                "equal the first on the right, 4. With rows and columns of `y` exchanged they "
                "would be equal."
            ),
            "Which axis of `y` must be added up in this product?",
        ),
        (
            "x @ y",
            ((2, 3), (5, 4, 3)),
            (
                "In `x @ y`, the shapes are (2, 3) and (5, 4, 3): the last size on the left, 3, "
                "must equal the last but one on the right, 4. With rows and columns of `y` "
                "exchanged they would be equal."
            ),
            "Which axis of `y` must be added up in this product?",
        ),
        (
            "x @ y.T",
            ((2, 6, 5, 3), (2, 6, 5, 3)),
            (
                "In `x @ y.T`, the shapes are (2, 6, 5, 3) and (3, 5, 6, 2): the last size on the "
                "left, 3, must equal the last but one on the right, 6. `y.T` reverses all 4 axes. "
                "To exchange the last two only, write `np.swapaxes(y, -1, -2)`. (An array with one "
                "axis stays as it is.)"
            ),
            "",
        ),
        (
            "x.T @ y",
            ((7,), (3, 2)),
            (
                "In `x.T @ y`, the shapes are (7,) and (3, 2): the last size on the left, 7, must "
                "equal the first on the right, 3. `x` has one axis only, so `x.T` is the same as "
                "`x`."
            ),
            "",
        ),
        (
            "x.T @ y",
            ((2, 3, 4), (5, 6)),
            (
                "In `x.T @ y`, the shapes are (4, 3, 2) and (5, 6): the last size on the left, 2, "
                "must equal the first on the right, 5. `x.T` reverses all 3 axes. To exchange the "
                "last two only, write `np.swapaxes(x, -1, -2)`. (An array with one axis stays as "
                "it is.)"
            ),
            "",
        ),
        (
            "(y.T @ x.T).T",
            ((3, 5, 7), (7, 8)),
            (
                "In `y.T @ x.T`, the shapes are (8, 7) and (7, 5, 3): the last size on the left, "
                "7, must equal the last but one on the right, 5. `x.T` reverses all 3 axes. For "
                "matrices, `y.T @ x.T` is the transpose of `x @ y`. `x @ y` itself needs no `.T`, "
                "and `x` may have any number of axes."
            ),
            "",
        ),
        (
            "x @ y.T",
            ((2, 3), (5, 4)),
            (
                "In `x @ y.T`, the shapes are (2, 3) and (4, 5): the last size on the left, 3, "
                "must equal the first on the right, 4."
            ),
            "Which shapes do you expect here? Print `.shape` before this line.",
        ),
        (
            "np.dot(x, y)",
            ((2, 3), (4, 5)),
            (
                "In `np.dot(x, y)`, the shapes are (2, 3) and (4, 5): the last size on the left, "
                "3, must equal the first on the right, 4."
            ),
            "Which shapes do you expect here? Print `.shape` before this line.",
        ),
        (
            "x / y",
            ((3, 8), (3,)),
            (
                "In `x / y`, the shapes are (3, 8) and (3,). NumPy compares the sizes from the "
                "end: 8 and 3 are not equal, and neither is 1. With an axis of length 1 at its "
                "end, `y` would have shape (3, 1), and the shapes would fit."
            ),
            "How can a sum keep its axis, or an array get a new one?",
        ),
        (
            "x / y",
            ((3,), (3, 8)),
            (
                "In `x / y`, the shapes are (3,) and (3, 8). NumPy compares the sizes from the "
                "end: 3 and 8 are not equal, and neither is 1. With an axis of length 1 at its "
                "end, `x` would have shape (3, 1), and the shapes would fit."
            ),
            "How can a sum keep its axis, or an array get a new one?",
        ),
        (
            "x - y",
            ((2, 3, 8), (2, 3)),
            (
                "In `x - y`, the shapes are (2, 3, 8) and (2, 3). NumPy compares the sizes from "
                "the end: 8 and 3 are not equal, and neither is 1. With an axis of length 1 at its "
                "end, `y` would have shape (2, 3, 1), and the shapes would fit."
            ),
            "How can a sum keep its axis, or an array get a new one?",
        ),
        (
            "x - y",
            ((2, 3, 8), (3,)),
            (
                "In `x - y`, the shapes are (2, 3, 8) and (3,). NumPy compares the sizes from the "
                "end: 8 and 3 are not equal, and neither is 1."
            ),
            "Compare the shapes with the formula. Which of them is another?",
        ),
        (
            "x * y",
            ((5,), (6,)),
            (
                "In `x * y`, the shapes are (5,) and (6,). NumPy compares the sizes from the end: "
                "5 and 6 are not equal, and neither is 1. `*` multiplies two vectors number by "
                "number."
            ),
            "Which function multiplies each number of one vector by each of the other?",
        ),
        (
            "x + y",
            ((5,), (6,)),
            (
                "In `x + y`, the shapes are (5,) and (6,). NumPy compares the sizes from the end: "
                "5 and 6 are not equal, and neither is 1."
            ),
            "Compare the shapes with the formula. Which of them is another?",
        ),
        (
            "x * y",
            ((5, 4), (6, 4)),
            (
                "In `x * y`, the shapes are (5, 4) and (6, 4). NumPy compares the sizes from the "
                "end: 5 and 6 are not equal, and neither is 1."
            ),
            "Compare the shapes with the formula. Which of them is another?",
        ),
        (
            "x + y",
            ((1, 4), (6, 5)),
            (
                "In `x + y`, the shapes are (1, 4) and (6, 5). NumPy compares the sizes from the "
                "end: 4 and 5 are not equal, and neither is 1."
            ),
            "Compare the shapes with the formula. Which of them is another?",
        ),
        (
            "x - y",
            ((5, 4), (6, 3)),
            (
                "In `x - y`, the shapes are (5, 4) and (6, 3). NumPy compares the sizes from the "
                "end: 4 and 3 are not equal, and neither is 1."
            ),
            "Compare the shapes with the formula. Which of them is another?",
        ),
        (
            "y - np.outer(x, x)",
            ((4, 6), (4,)),
            (
                "In `y - np.outer(x, x)`, the shapes are (4,) and (24, 24). NumPy compares the "
                "sizes from the end: 4 and 24 are not equal, and neither is 1. `np.outer` is made "
                "for two vectors: of a matrix it takes all numbers as one long vector."
            ),
            "Which operation makes such a table for each row on its own?",
        ),
        (
            "y - np.outer(x, x)",
            ((4,), (3,)),
            (
                "In `y - np.outer(x, x)`, the shapes are (3,) and (4, 4). NumPy compares the sizes "
                "from the end: 3 and 4 are not equal, and neither is 1."
            ),
            "Compare the shapes with the formula. Which of them is another?",
        ),
        (
            "layer(x, y, 0.5)",
            ((4, 6), (5, 3)),
            (
                "The error is raised inside `layer`, which this line calls. You give it `y` as "
                "`w_1`. The shapes of its arguments are `x` (4, 6) and `w_1` (5, 3)."
            ),
            "Which shape does `layer` expect for each of them?",
        ),
        (
            "layer(x, x, 0)",
            ((4, 6), (5, 3)),
            (
                "The error is raised inside `layer`, which this line calls. You give it `x` as "
                "`w_1`. The shapes of its arguments are `x` (4, 6) and `w_1` (4, 6)."
            ),
            "Which shape does `layer` expect for each of them?",
        ),
    ],
)
def test_the_whole_explanation_and_its_hint(line, shapes, means, nudge):
    explanation = explain(line, *shapes)
    assert (explanation.means, explanation.nudge) == (means, nudge)


@pytest.mark.parametrize(
    ("line", "shapes"),
    [
        ("np.concatenate([x, y])", [(2, 3), (2, 4)]),
        ("x[5] + y", [(2, 3), (3,)]),
        ("(lambda: x @ y)()", [(2, 3), (2, 3)]),
        ("x @ y if True else 0", [(2, 3), (2, 3)]),
        ("{i: x @ y for i in x[0]}", [(2, 3), (2, 3)]),
        ("{(x @ y).sum() for i in x}", [(2, 3), (2, 3)]),
        ("sum(x @ y for i in x)", [(2, 3), (2, 3)]),
        ("np.dot(x, y, None)", [(2, 3), (2, 3)]),
        ("x @ y.tolist()", [(2, 3), (2, 3)]),
        ("layer(x.tolist(), 0, [1, 2])", [(2, 3), (2, 3)]),
    ],
)
def test_no_explanation_is_given_for_what_shapes_do_not_explain(line, shapes):
    assert explain(line, *shapes) is None


@pytest.mark.parametrize(
    ("lines", "quoted"),
    [
        (["z: object = x @ y", "return z"], "x @ y"),
        (["x @ y", "return x"], "x @ y"),
        (["z = (", "    x", "    @ y", ")", "return z"], "x @ y"),
        (["z = x[0] = 1 + x @ y"], "x @ y"),
        (["for i in range(2):", "    y -= x @ y"], "x @ y"),
        (["def g(u):", "    return u @ y", "return g(x)"], "u @ y"),
        (["if (x @ y).any():", "    return x"], None),
        (["for i in x @ y:", "    return x"], None),
        (["assert x @ y"], None),
    ],
)
def test_the_statement_that_failed_is_explained(lines, quoted):
    explanation = explain_failing_line(define(*lines), Inputs((np.ones((2, 3)), np.ones((4, 5)))))
    if quoted is None:
        assert explanation is None
    else:
        assert explanation.means.startswith(f"In `{quoted}`, the shapes are (2, 3) and (4, 5)")


def test_a_function_is_given_copies_and_its_named_arguments():
    x, y = np.ones((2, 3)), np.ones((4, 5))
    explanation = explain_failing_line(define("x[:] = 7", "return x @ y"), Inputs((x,), {"y": y}))
    assert explanation.means.startswith("In `x @ y`") and x.max() == 1
    text = explain_infinite_numbers(define("x -= 1", "return 1 / x"), Inputs((x, y)), False)
    assert text.startswith("In line 4 of your cell, `return 1 / x`") and x.max() == 1
    describe_largest_array(define("x -= 1", "return x"), Inputs((x, y)), 1)
    assert x.max() == 1


@pytest.mark.parametrize(
    ("line", "with_nan", "without"),
    [
        (
            "x * np.log(y)",
            (
                "a logarithm is taken of 0, which gives -inf. On the same line, 0 is multiplied by "
                "inf, which gives nan."
            ),
            "a logarithm is taken of 0, which gives -inf.",
        ),
        ("np.exp(y + 999)", "", "an exponential is taken of a number so large that it gives inf."),
        ("np.sqrt(x - 1)", "a root is taken of a negative number, which gives nan.", ""),
        ("x / y", "0 is divided by 0, or inf by inf, which gives nan.", ""),
        ("1 / y", "", "a number is divided by 0, which gives inf."),
        ("np.log(y)", "", "a logarithm is taken of 0, which gives -inf."),
        ("np.log(y - 1)", "a logarithm is taken of a negative number, which gives nan.", ""),
        ("np.log2(y - 1)", "a logarithm is taken of a negative number, which gives nan.", ""),
        ("np.log10(y - 1)", "", ""),
        ("(y - 1) ** 0.5", "a root is taken of a negative number, which gives nan.", ""),
        (
            "np.array([np.inf, -np.inf]).sum() + y",
            "inf and -inf are added up, which gives nan.",
            "",
        ),
        (
            "np.array([np.inf, 0]) + np.array([-np.inf, 1])",
            "inf and -inf are added, which gives nan.",
            "",
        ),
        (
            "np.array([np.inf]) - np.array([np.inf])",
            "inf is subtracted from inf, which gives nan.",
            "",
        ),
        (
            "np.array([[0.0]]) @ np.array([[np.inf]])",
            "the product adds up 0 · inf or inf - inf, which gives nan.",
            "",
        ),
        ("x.sum() / y.sum()", "0 is divided by 0, or inf by inf, which gives nan.", ""),
        ("np.float64(0) / 0", "0 is divided by 0, or inf by inf, which gives nan.", ""),
        (
            "np.full(2, 1e300) * 1e300",
            "",
            "a number becomes too large for its type, which gives inf.",
        ),
        ("np.mean([])", "0 is divided by 0, or inf by inf, which gives nan.", ""),
        ("np.arcsin(x + 2)", "", ""),
        (
            "np.log(y) - np.log(y)",
            (
                "a logarithm is taken of 0, which gives -inf. On the same line, inf is subtracted "
                "from inf, which gives nan."
            ),
            "a logarithm is taken of 0, which gives -inf.",
        ),
        ("np.divide(x, y)", "0 is divided by 0, or inf by inf, which gives nan.", ""),
    ],
)
def test_each_operation_that_gives_nan_or_inf_has_its_words(line, with_nan, without):
    inputs = Inputs((np.zeros(2), np.zeros(2)))
    for has_nan, words in ((True, with_nan), (False, without)):
        text = explain_infinite_numbers(define(f"return {line}"), inputs, has_nan)
        assert text == (words and f"In line 3 of your cell, `return {line}`, {words}")


def test_the_lines_of_the_first_inf_and_of_the_first_nan_are_both_told():
    inputs = Inputs((np.zeros(2), np.zeros(2)))
    text = explain_infinite_numbers(define("z = 1 / x", "return z - z"), inputs, True)
    assert text == (
        "In line 3 of your cell, `z = 1 / x`, a number is divided by 0, which gives inf. In line 4 of "
        "your cell, `return z - z`, inf is subtracted from inf, which gives nan."
    )
    inside = define_in_cell("\ndef inverse(x):\n    return 1 / x\n")
    calls = define_in_cell("\ndef f(x, y):\n    return inverse(x)\n", inverse=inside)
    assert explain_infinite_numbers(calls, inputs, False) == ""  # the error is in another cell
    assert explain_infinite_numbers(define("return missing"), inputs, False) == ""
    long = define(f"return 1 / x + {' + '.join(['1'] * 40)}")
    text = explain_infinite_numbers(long, inputs, False)
    assert f"`{('return 1 / x + ' + '1 + ' * 40)[: MAX_CODE_CHARACTERS - 3].rstrip()}" in text


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


def test_an_array_is_the_largest_of_a_call_from_a_share_of_the_memory_on():
    function, inputs = define("z = np.ones(30)", "return z"), Inputs((np.ones(2), np.ones(3)))
    assert "`z`, with shape (30,)" in describe_largest_array(
        function, inputs, int(240 / MIN_SHARE_OF_PEAK)
    )
    assert describe_largest_array(function, inputs, int(240 / MIN_SHARE_OF_PEAK) + 8) == ""
    assert describe_largest_array(np.sum, inputs, 1) == ""
    equal = define("z = np.ones(30)", "w = np.zeros((5, 6))", "return w")
    assert "`z`" in describe_largest_array(equal, inputs, 240)
    fails = define("z = np.ones(30)", "return missing")
    assert describe_largest_array(fails, inputs, 240) == ""
    in_tuple = Inputs(((np.ones(99),), [np.ones(99)]))
    text = describe_largest_array(
        define("u, v = x[0], y[0]", "z = u[:30] + v[:30]", "return z"), in_tuple, 240
    )
    assert "`z`, with shape (30,)" in text
    repeated = define("z = np.broadcast_to(x + 1, (300, 2))", "w = np.ones(30)", "return w")
    assert "`w`, with shape (30,)" in describe_largest_array(repeated, inputs, 240)


ZEROS, ONES, ENDLESS = np.zeros(2), np.ones(2), np.full(2, np.inf)


@pytest.mark.parametrize(
    ("line", "x", "y", "has_nan", "source"),
    [
        ("x * y", ZEROS, ENDLESS, True, "0 is multiplied by inf, which gives nan"),
        ("x - y", ENDLESS, ENDLESS, True, "inf is subtracted from inf, which gives nan"),
        ("x + y", ENDLESS, -ENDLESS, True, "inf and -inf are added, which gives nan"),
        ("x / y", ZEROS, ZEROS, True, "0 is divided by 0, or inf by inf, which gives nan"),
        ("y[0] / x[0]", ZEROS, ZEROS, True, "0 is divided by 0, or inf by inf, which gives nan"),
        ("np.sqrt(x)", -ONES, ONES, True, "a root is taken of a negative number, which gives nan"),
        ("np.log2(x)", -ONES, ONES, True, "a logarithm is taken of a negative number, which gives nan"),
        ("x**y", -ONES, ONES / 2, True, "a negative number is raised to a power with a fraction, which gives nan"),
        ("x @ y", ZEROS, ENDLESS, True, "the product adds up 0 · inf or inf - inf, which gives nan"),
        ("np.r_[x, y].sum()", ENDLESS, -ENDLESS, True, "inf and -inf are added up, which gives nan"),
        ("x / y", ONES, ZEROS, False, "a number is divided by 0, which gives inf"),
        ("np.log(x)", ZEROS, ONES, False, "a logarithm is taken of 0, which gives -inf"),
        ("np.exp(x)", 999 * ONES, ONES, False, "an exponential is taken of a number so large that it gives inf"),
        ("x * y", 1e300 * ONES, 1e300 * ONES, False, "a number becomes too large for its type, which gives inf"),
        ("x + y", ONES, ONES, False, ""),
        ("x / y", ONES, ZEROS, True, ""),  # the inf alone does not explain a nan
        ("np.log(x)", -ONES, ONES, False, ""),
        ("np.arccos(x)", 3 * ONES, ONES, True, ""),
        ("layer(x, y / y, 0)", ZEROS, ENDLESS, False, ""),
    ],
)  # fmt: skip
def test_each_source_of_nan_or_inf_has_its_sentence(line, x, y, has_nan, source):
    text = explain_infinite_numbers(define(f"return {line}"), Inputs((x, y)), has_nan)
    sentence = ""
    if source:
        sentence = f"In line 3 of your cell, `return {line}`, {source}."
    assert text == sentence


def test_the_line_of_the_inf_is_told_before_that_of_the_nan():
    function = define("z = np.log(x)", "return z * x")
    logarithm = (
        "In line 3 of your cell, `z = np.log(x)`, a logarithm is taken of 0, which gives -inf."
    )
    product = "In line 4 of your cell, `return z * x`, 0 is multiplied by inf, which gives nan."
    inputs = Inputs((ZEROS, ONES))
    assert explain_infinite_numbers(function, inputs, True) == f"{logarithm} {product}"
    assert explain_infinite_numbers(function, inputs, False) == logarithm


def test_an_own_error_that_reads_like_numpys_is_no_source_of_nan():
    function = define("raise ValueError('invalid value encountered in log')")
    assert explain_infinite_numbers(function, Inputs((ZEROS, ONES)), True) == ""


def fail(text):
    raise ValueError(text)


def make_explainer(error, is_inside=False, **variables):
    frame = SimpleNamespace(f_globals={"np": np, "fail": fail}, f_locals=variables)
    return second_run._FailingLineExplainer(second_run._FailingRun(error, frame, 3, is_inside))


def parse(code):
    return ast.parse(code, mode="eval").body


@pytest.mark.parametrize(
    ("code", "error", "failing"),
    [
        ("abs(fail('no fit (2,)')) + 2", ValueError("no fit (2,) (3,)"), "fail('no fit (2,)')"),
        ("[abs(2), fail('no fit')]", ValueError("no fit"), "fail('no fit')"),
        ("fail('no fit (2,)')", ValueError("no (2,)"), None),
        ("fail('no fit')", TypeError("no fit"), None),
        ("abs(2)", ValueError("no fit"), None),
        ("abs(fail('other')) + fail('no fit')", ValueError("no fit"), None),
        ("[fail('no fit') for i in (1, 2)]", ValueError("no fit"), None),
    ],
)
def test_the_part_of_a_line_that_raises_the_same_error_is_looked_for(code, error, failing):
    node = make_explainer(error).find_failing_node(parse(code))
    assert (ast.unparse(node) if node else None) == failing


@pytest.mark.parametrize(
    ("code", "is_explained"),
    [
        ("x @ y", True),
        ("np.dot(x, y)", True),
        ("np.dot(x, y, x)", False),
        ("np.add(x, y)", False),
        ("x @ 2", False),
        ("x", False),
    ],
)
def test_the_shapes_of_two_operands_are_compared(code, is_explained):
    variables = {"x": np.ones((2, 3)), "y": np.ones((4, 5))}
    explanation = make_explainer(ValueError("no fit"), **variables).explain(parse(code))
    assert (explanation is not None) == is_explained


def test_of_a_call_only_the_given_arguments_are_counted():
    names = ", ".join(f"a_{number}=0" for number in range(MAX_SHOWN_ARGUMENTS))
    function = define_in_cell(f"\ndef g(x, {names}):\n    return x\n")
    explainer = make_explainer(ValueError("no fit"), True, g=function, x=np.ones((2, 3)))
    text = explainer.explain(parse("g(x, x.T)")).means
    assert text.endswith(
        "You give it `x.T` as `a_0`. The shapes of its arguments are `x` (2, 3) and `a_0` (3, 2)."
    )
    assert explainer.explain(parse(f"g({', '.join(['x'] * (MAX_SHOWN_ARGUMENTS + 1))})")) is None


@pytest.mark.parametrize(
    ("code", "shapes", "is_explained"),
    [
        ("w.T @ x.T", [(3, 4), (2, 5, 3)], True),
        ("w.T @ x.T", [(3, 4), (5, 4)], False),
        ("w.T @ x.T", [(2, 3, 4), (2, 5, 3)], False),
        ("w.mT @ x.mT", [(3, 4), (2, 5, 3)], False),
        ("w @ x.T", [(3, 4), (2, 5, 3)], False),
        ("w.T @ f(x).T", [(3, 4), (2, 5, 3)], False),
    ],
)
def test_a_product_of_transposes_is_one_of_a_matrix_and_an_array_of_more_axes(
    code, shapes, is_explained
):
    node = parse(code)
    values = [np.ones(shape) for shape in shapes]
    text = second_run._explain_product_of_transposes(node, (node.left, node.right), values)
    assert text == (
        "`x.T` reverses all 3 axes. For matrices, `w.T @ x.T` is the transpose of `x @ w`. "
        "`x @ w` itself needs no `.T`, and `x` may have any number of axes."
        if is_explained
        else ""
    )


def test_what_is_no_error_of_numpys_or_no_code_of_the_student_is_not_explained():
    function = define("raise FloatingPointError('mine')")
    inputs = Inputs((np.ones(2), np.ones(2)))
    assert explain_infinite_numbers(function, inputs, has_nan=False) == ""
    assert explain_infinite_numbers(np.exp, Inputs((np.full(2, 1e9),)), has_nan=False) == ""
    assert describe_largest_array(np.exp, Inputs((np.ones(2),)), 1) == ""
