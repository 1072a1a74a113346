"""Each kind of mutation has its words, and changes the code as they say."""

import numpy as np
import pytest
from functions_in_cells import define_in_cell

from autograder.diagnosis.repair import _share_of_right_numbers, _SwitchableMutations

X = np.array([[1.0, -2.0, 4.0], [0.5, 8.0, -1.0]])


def list_results(lines, description, **names):
    """Return the results of `f(X, 2)` with each mutation of this description switched on."""
    body = "".join(f"    {line}\n" for line in lines.split("\n"))
    function = define_in_cell(f"\ndef f(x, n=2, top=3.0):\n{body}", **names)
    code = _SwitchableMutations.compile(function, range(5))
    numbers = [i for i, m in enumerate(code.mutations) if m.description == description]
    results = []
    for number in numbers:
        code.activate(number)
        results.append(code.run(lambda: code.function(X.copy(), 2)))
    return results


def scaled(v, factor=1.0, shift=0.0):
    return v * factor + shift


@pytest.mark.parametrize(
    ("lines", "description", "result"),
    [
        # statements
        ("x += n\nreturn x", "without this line", X),
        ("x += n\nreturn x", "with `=` in place of `+=`", 2),
        ("x -= n\nreturn x", "with another operator in place of `-=`", X + 2),
        ("y = x\ny = n\nreturn y", "with the new value combined with the old value", X * 2),
        ("if n > 5:\n    return x\nreturn -x", "with the opposite condition", X),
        # constants and variables
        ("return x.sum(keepdims=True)", "with `False` in place of `True`", X.sum()),
        ("return x * 3", "with another number in place of `3`", X * 4),
        ("return x * 3", "with another number in place of `3`", X * 2),
        ("return x * 3", "with another number in place of `3`", X / 3),
        ("return x.sum(axis=-1)", "with another number in place of `-1`", X.sum(axis=0)),
        ("return x * 9", "with one of your variables in place of `9`", X * 2),
        ("return x * n", "with another variable in place of `n`", X * 3),
        ("return np.searchsorted([2], n, 'left')", "with another word in place of `'left'`", 1),
        ("return 'a' if n else 'b'", "with another word in place of `'a'`", "b"),
        # operations
        ("return x - n", "with another operator in place of `-`", X + 2),
        ("return x - n", "with the two sides of `-` exchanged", 2 - X),
        ("return x - n", "without `- n`", X),
        ("return x - n", "without `x -`", 2),
        ("return -x", "without the `-` before `x`", X),
        ("return ~(x > n)", "without the `~` before `x > n`", X > 2),
        ("return x + n * top", "with brackets ( ) around `x + n`", (X + 2) * 3),
        ("return np.abs(x - n) * n", "with only `x` in place of `np.abs(x - n) * n`", X),
        (
            "return np.exp(x) - n",
            "with `- n` inside the brackets of the call before it",
            np.exp(X - 2),
        ),
        # conditions
        ("return x > 4", "with another comparison in place of `>`", X >= 4),
        ("return x > 4", "with another comparison in place of `>`", X < 4),
        ("return n in [2]", "with the opposite of `n in [2]`", False),
        ("return n == 2", "with only `n` in place of `n == 2`", 2),
        ("return n > 1 and n > 9", "with `and` and `or` exchanged in `n > 1 and n > 9`", True),
        ("return n > 9 or n > 1", "with `and` and `or` exchanged in `n > 9 or n > 1`", False),
        ("return n > 1 and n > 9", "with only one of the conditions in `n > 1 and n > 9`", True),
        ("return x if n else top", "with the two choices exchanged in `x if n else top`", 3.0),
        ("return x if n else top", "without the `if` in `x if n else top`", 3.0),
        # parts
        ("return x[1:]", "with all of `x` in place of `x[1:]`", X),
        ("return x[1:]", "with another slice in place of `x[1:]`", X[:1]),
        ("return x[:, 1:]", "with another slice in place of `x[:, 1:]`", X[:, 2:]),
        ("return x[:, 1:]", "with another slice in place of `x[:, 1:]`", X[:, :-1]),
        ("return x[:, ::-1]", "with another slice in place of `x[:, ::-1]`", X),
        ("return x[0] * n", "with the mean of all of `x` in place of `x[0]`", X.mean() * 2),
        ("return x[0] * n", "with the sum of all of `x` in place of `x[0]`", X.sum() * 2),
        ("return x.T", "without `.T` after `x`", X),
        (
            "return np.where(x < 0, np.nan, x)",
            "with another number in place of `np.nan`",
            X.clip(0),
        ),
        ("return [n, top]", "without `n` in `[n, top]`", [3.0]),
        # calls
        ("return np.mean(x, axis=0)", "with another function in place of `np.mean`", X.max(axis=0)),
        (
            "return x / x.sum(axis=1)[:, None]",
            "with another function in place of `x.sum`",
            X / X.max(axis=1)[:, None],
        ),
        ("return np.max(x, 4 - n)", "with another function in place of `np.max`", np.maximum(X, 2)),
        ("return np.add(x, n)", "with another function in place of `np.add`", X * 2),
        ("return np.tril(x)", "with another function in place of `np.tril`", np.triu(X)),
        (
            "return np.exp(x - n)",
            "with another function of only `x` in place of `np.exp(x - n)`",
            X**2,
        ),
        ("return np.exp(x)", "without `np.exp` around `x`", X),
        ("return x.clip(0)", "without `.clip(…)` after `x`", X),
        ("return x.sum(axis=0)", "without `axis=0` for `x.sum`", X.sum()),
        ("return np.subtract(n, x)", "with two arguments of `np.subtract` exchanged", X - 2),
        ("return np.maximum(n, x)", "with only `x` in place of `np.maximum(n, x)`", X),
        ("return x.sum()", "with an `axis` argument for `x.sum`", X.sum(axis=1)),
        ("return x.sum()", "with an `axis` argument for `x.sum`", X.sum(axis=0, keepdims=True)),
        ("return x.sum(axis=0)", "with `keepdims` for `x.sum`", X.sum(axis=0, keepdims=True)),
        ("return x.sum(keepdims=True)", "with an `axis` argument for `x.sum`", X.sum(axis=0)[None]),
        ("return x.sum(keepdims=True) + n", "without `+ n`", X.sum(keepdims=True)),
        ("return scaled(x)", "with one more argument for `scaled`", X * 2),
        (
            "return scaled(x, 5.0)",
            "with one more argument for `scaled`",
            X * 5 + 2,
        ),
        ("return np.abs(x)", "with `np.abs(x)` multiplied by one of your variables", np.abs(X) * 2),
        ("return np.abs(x)", "with `np.abs(x)` divided by one of your variables", np.abs(X) / 2),
        # steps more
        ("return x * 1", "with the sign of `x` changed", -X),
        ("return x * 1", "with rows and columns of `x` exchanged", X.T),
        ("return x * 1", "with the order of `x` reversed", X[::-1]),
        ("return np.abs(x)", "with the square root of `np.abs(x)` in its place", np.abs(X) ** 0.5),
        ("return x * 1", "with `x` squared", X**2),
        ("return x * 1", "with 1 divided by `x` in its place", 1 / X),
        ("return x * 1", "with `x` increased by 1", X + 1),
        ("return x * 1", "with `x` decreased by 1", X - 1),
        ("return x * 1", "with the absolute value of `x`", np.abs(X)),
        ("return np.isnan(x)", "with True and False exchanged in `np.isnan(x)`", X == X),
    ],
)
def test_a_mutation_is_made_as_it_is_described(lines, description, result):
    results = list_results(lines, description, scaled=scaled)
    assert any(
        np.shape(found) == np.shape(result) and np.array_equal(found, result) for found in results
    ), results


def test_unused_parameters_are_passed_on_by_their_own_names():
    def power(v, top=1.0, n=1):
        return v**n * top

    description = "with more of your function's arguments passed to `power`"
    results = list_results("return power(x)", description, power=power)
    assert any(np.array_equal(found, X**2 * 3) for found in results)  # both n and top
    assert any(np.array_equal(found, X * 3) for found in results)  # only top


def test_the_same_change_in_one_line_and_everywhere_are_mutations_of_their_own():
    description = "with another number in place of `5`"
    assert list_results("return 5 * x + 5", f"{description} everywhere in this line")
    assert not list_results("return 5 * x + 5", f"{description} here and everywhere else")
    lines = "y = 5 * x + 5\nreturn y * 5"
    assert list_results(lines, f"{description} everywhere in this line")
    assert list_results(lines, f"{description} here and everywhere else")


@pytest.mark.parametrize("text", ["Use another function.", "`x` squared", "without this line"])
def test_a_text_in_the_code_that_speaks_of_a_mutation_is_a_text(text):
    lines = f'"""{text}"""\nkind = "other" if n > 5 else "{text}"\nreturn x - n'
    results = list_results(lines, "with another operator in place of `-`")
    assert any(np.array_equal(found, X + 2) for found in results)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("n = len(x)", "with the number of columns of `x` in place of `len(x)`, the number of"),
        ("n = len(x) + x.size", "with rows and columns of `x` exchanged"),
        ("n = x.shape[0]", "with rows and columns of `x` exchanged"),
    ],
)
def test_an_exchange_is_a_number_of_columns_only_where_the_line_asks_for_no_more(line, words):
    function = define_in_cell(f"\ndef f(x):\n    {line}\n    return n\n")
    code = _SwitchableMutations.compile(function, range(5))
    exchange = "with rows and columns of `x` exchanged"
    numbers = [i for i, m in enumerate(code.mutations) if m.description == exchange]
    assert numbers
    for number in numbers:
        text = code.describe_mutation(number)
        assert text.startswith(f"In line 3 of your cell, `{line}`: {words}")


@pytest.mark.parametrize(
    ("result", "expected", "share"),
    [
        ((1.0, 5.0), (1.0, 2.0), 0.5),
        ([1.0, 2.0, 9.0, 9.0], [1.0, 2.0, 3.0, 4.0], 0.5),
        ((1.0,), (1.0, 2.0), 0.0),
        (np.array([1.0, 2.0, 7.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0]), 0.75),
        (np.ones((2, 1)), np.ones(2), 0.0),
        (np.ones(0), np.ones(0), 1.0),
        ((np.ones(2), 7.0), (np.array([1.0, 2.0]), 7.0), 0.75),
        (3.00001, 3.0, 1.0),
        (3.01, 3.0, 0.0),
        ("a", "a", 1.0),
        (None, 3.0, 0.0),
    ],
)
def test_the_share_of_right_numbers_is_that_of_all_values(result, expected, share):
    assert _share_of_right_numbers(result, expected) == share
