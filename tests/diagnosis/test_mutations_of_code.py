"""Each kind of mutation has its words, and changes the code as they say."""

import ast

import numpy as np
import pytest
from functions_in_cells import define_in_cell

from autograder.diagnosis.mutations import (
    COMBINE,
    EXTEND,
    LEAVE_OUT,
    LEAVE_OUT_MORE,
    MAX_QUOTED_CHARACTERS,
    MAX_WORD_CHARACTERS,
    REPLACE,
    Mutation,
    MutationEmbedder,
    apply_extra_step,
    refuse_array_as_dtype,
    refuse_negative_sizes,
)
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


def list_alternatives(body, ranks=range(5), head="def f(x, n=2):", room=10**6):
    """Return the rank, the line, the words, the old code and the new code of all mutations."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    function = ast.parse(f"{head}\n{lines}").body[0]
    found = []

    def add(mutation, old_code, new_code):
        found.append((mutation.rank, mutation.line, mutation.description, old_code, new_code))
        return ast.Constant(None)

    words = {node.value for node in ast.walk(function) if isinstance(node, ast.Constant)}
    texts = {word for word in words if isinstance(word, str)}
    MutationEmbedder(function, add, lambda: len(found) < room, texts, ranks).mutate()
    return found


@pytest.mark.parametrize(
    ("expression", "alternatives"),
    [
        (
            "x - 3",
            [
                "2 with another operator in place of `-`: x + 3; x * 3; x / 3",
                "2 with the two sides of `-` exchanged: 3 - x",
                "0 without `- 3`: x",
                "0 without `x -`: 3",
            ],
        ),
        (
            "x * n",
            [
                "2 with another operator in place of `*`: x / n; x + n; x - n; x @ n; x // n",
                "0 without `* n`: x",
                "0 without `x *`: n",
            ],
        ),
        (
            "x + np.exp(n, x) - 1",
            [
                (
                    "2 with another function in place of `np.exp`: np.exp2; np.expm1; np.log; np.log2; "
                    "np.log10; np.log1p; np.sqrt; np.square; np.abs; np.absolute; np.reciprocal"
                ),
                (
                    "2 with another operator in place of `-`: x + np.exp(n, x) + 1; (x + np.exp(n, x)) "
                    "* 1; (x + np.exp(n, x)) / 1"
                ),
                "2 with the two sides of `-` exchanged: 1 - (x + np.exp(n, x))",
                "2 with `- 1` inside the brackets of the call before it: x + np.exp(n, x - 1)",
                "0 without `- 1`: x + np.exp(n, x)",
                "0 without `x + np.exp(n, x) -`: 1",
                "1 with only `x` in place of `x + np.exp(n, x) - 1`: x",
                "1 with only `np.exp(n, x)` in place of `x + np.exp(n, x) - 1`: np.exp(n, x)",
                "1 with only `n` in place of `x + np.exp(n, x) - 1`: n",
            ],
        ),
        (
            "n // x",
            [
                "2 with another operator in place of `//`: n / x; n % x; n * x",
                "2 with the two sides of `//` exchanged: x // n",
                "0 without `// x`: n",
                "0 without `n //`: x",
            ],
        ),
        (
            "x % n",
            [
                "2 with another operator in place of `%`: x // n",
                "0 without `% n`: x",
                "0 without `x %`: n",
            ],
        ),
        (
            "x @ n",
            [
                "2 with another operator in place of `@`: x * n",
                "2 with the two sides of `@` exchanged: n @ x",
                "0 without `@ n`: x",
                "0 without `x @`: n",
            ],
        ),
        (
            "x ** n",
            [
                "2 with another operator in place of `**`: x * n",
                "2 with the two sides of `**` exchanged: n ** x",
                "0 without `** n`: x",
                "0 without `x **`: n",
            ],
        ),
        (
            "x & n",
            [
                "2 with another operator in place of `&`: x | n; x ^ n",
                "0 without `& n`: x",
                "0 without `x &`: n",
            ],
        ),
        (
            "x | n",
            [
                "2 with another operator in place of `|`: x & n; x ^ n",
                "0 without `| n`: x",
                "0 without `x |`: n",
            ],
        ),
        (
            "x + n",
            [
                "2 with another operator in place of `+`: x - n; x * n; x / n; x @ n",
                "0 without `+ n`: x",
                "0 without `x +`: n",
            ],
        ),
        (
            "x < n",
            [
                "2 with another comparison in place of `<`: x <= n; x > n; x >= n; x == n; x != n",
                "2 with the opposite of `x < n`: not x < n",
                "0 with only `x` in place of `x < n`: x",
            ],
        ),
        (
            "x in n",
            [
                "2 with the opposite of `x in n`: not x in n",
                "0 with only `x` in place of `x in n`: x",
            ],
        ),
        (
            "x not in n",
            [
                "2 with the opposite of `x not in n`: not x not in n",
                "0 with only `x` in place of `x not in n`: x",
            ],
        ),
        (
            "x == n",
            [
                "2 with another comparison in place of `==`: x < n; x <= n; x > n; x >= n; x != n",
                "2 with the opposite of `x == n`: not x == n",
                "0 with only `x` in place of `x == n`: x",
            ],
        ),
        ("x < n < 3", []),
        (
            "x and n",
            [
                "2 with `and` and `or` exchanged in `x and n`: x or n",
                "0 with only one of the conditions in `x and n`: x; n",
            ],
        ),
        (
            "not x",
            [
                "0 without the `not` before `x`: x",
            ],
        ),
        (
            "~x",
            [
                "0 without the `~` before `x`: x",
            ],
        ),
        (
            "x if n else 0",
            [
                "2 with the two choices exchanged in `x if n else 0`: 0 if n else x",
                "0 without the `if` in `x if n else 0`: x; 0",
            ],
        ),
        (
            "x[1:, n]",
            [
                (
                    "2 with another slice in place of `x[1:, n]`: x[:, n]; x[1 + 1:, n]; x[1 + -1:, "
                    "n]; x[:1, n]; x[:-1, n]"
                ),
                "0 with all of `x` in place of `x[1:, n]`: x",
                "3 with the mean of all of `x` in place of `x[1:, n]`: np.mean(x)",
                "3 with the sum of all of `x` in place of `x[1:, n]`: np.sum(x)",
                "2 with one of your variables in place of `x[1:, n]`: n",
            ],
        ),
        (
            "x[:-1]",
            [
                (
                    "2 with another slice in place of `x[:-1]`: x[:]; x[:-1 + 1]; x[:-1 + -1]; x[-1:]; "
                    "x[1:]"
                ),
                "0 with all of `x` in place of `x[:-1]`: x",
                "3 with the mean of all of `x` in place of `x[:-1]`: np.mean(x)",
                "3 with the sum of all of `x` in place of `x[:-1]`: np.sum(x)",
                "2 with one of your variables in place of `x[:-1]`: n",
            ],
        ),
        (
            "x[::2]",
            [
                "2 with another slice in place of `x[::2]`: x[:]; x[::-2]",
                "0 with all of `x` in place of `x[::2]`: x",
                "3 with the mean of all of `x` in place of `x[::2]`: np.mean(x)",
                "3 with the sum of all of `x` in place of `x[::2]`: np.sum(x)",
                "2 with one of your variables in place of `x[::2]`: n",
            ],
        ),
        (
            "x[n:2]",
            [
                (
                    "2 with another slice in place of `x[n:2]`: x[:2]; x[n + 1:2]; x[n + -1:2]; x[n:]; "
                    "x[n:2 + 1]; x[n:2 + -1]"
                ),
                "0 with all of `x` in place of `x[n:2]`: x",
                "3 with the mean of all of `x` in place of `x[n:2]`: np.mean(x)",
                "3 with the sum of all of `x` in place of `x[n:2]`: np.sum(x)",
                "2 with one of your variables in place of `x[n:2]`: n",
            ],
        ),
        (
            "x[0]",
            [
                "3 with the mean of all of `x` in place of `x[0]`: np.mean(x)",
                "3 with the sum of all of `x` in place of `x[0]`: np.sum(x)",
                "2 with one of your variables in place of `x[0]`: x; n",
            ],
        ),
        (
            "x[n]",
            [
                "0 with all of `x` in place of `x[n]`: x",
                "3 with the mean of all of `x` in place of `x[n]`: np.mean(x)",
                "3 with the sum of all of `x` in place of `x[n]`: np.sum(x)",
                "2 with one of your variables in place of `x[n]`: n",
            ],
        ),
        (
            "x.T",
            [
                "0 without `.T` after `x`: x",
            ],
        ),
        (
            "np.pi",
            [
                "2 with another number in place of `np.pi`: 0; 1; -1; np.nan; np.inf; -np.inf; np.e",
            ],
        ),
        (
            "-np.inf",
            [
                "0 without the `-` before `np.inf`: np.inf",
            ],
        ),
        (
            "3",
            [
                (
                    "2 with another number in place of `3`: 4; 2; -3; 0; 1; 6; 1.5; 30; 0.3; 300; "
                    "0.03; 9; 1.7320508075688772; 0.3333333333333333"
                ),
                "2 with one of your variables in place of `3`: x; n",
            ],
        ),
        (
            "0",
            [
                "2 with another number in place of `0`: 1; -1; 2; -1e309; 1e309",
                "2 with one of your variables in place of `0`: x; n",
            ],
        ),
        (
            "1",
            [
                "2 with another number in place of `1`: 2; 0; -1; 0.5; 10; 0.1; 100; 0.01",
                "2 with one of your variables in place of `1`: x; n",
            ],
        ),
        (
            "-2",
            [
                "0 without the `-` before `2`: 2",
            ],
        ),
        (
            "2.5",
            [
                (
                    "2 with another number in place of `2.5`: 3.5; 1.5; -2.5; 0; 1; 2; 5.0; 1.25; "
                    "25.0; 0.25; 250.0; 0.025; 6.25; 1.5811388300841898; 0.4; 1000000000.0; "
                    "-1000000000.0; 1e309; -1e309"
                ),
                "2 with one of your variables in place of `2.5`: x; n",
            ],
        ),
        (
            "0.0",
            [
                (
                    "2 with another number in place of `0.0`: 1.0; -1.0; 2; -1e309; 1e309; "
                    "1000000000.0; -1000000000.0"
                ),
                "2 with one of your variables in place of `0.0`: x; n",
            ],
        ),
        (
            "True",
            [
                "2 with `False` in place of `True`: False",
            ],
        ),
        (
            "'left'",
            [
                "2 with another word in place of `'left'`: 'right'",
            ],
        ),
        (
            "np.sum(x, axis=0)",
            [
                (
                    "2 with another function in place of `np.sum`: np.mean; np.mean; np.max; np.max; "
                    "np.min; np.min; np.amax; np.amax; np.amin; np.amin; np.prod; np.prod; np.std; "
                    "np.std; np.var; np.var; np.median; np.median; np.argmax; np.argmax; np.cumsum; "
                    "np.cumsum; np.any; np.any; np.all; np.all"
                ),
                "0 without `axis=0` for `np.sum`: np.sum(x)",
                "0 without `np.sum` around `x`: x",
                "3 with `keepdims` for `np.sum`: np.sum(x, axis=0, keepdims=True)",
                "2 with one of your variables in place of `np.sum(x, axis=0)`: n",
            ],
        ),
        (
            "np.mean(x)",
            [
                (
                    "2 with another function in place of `np.mean`: np.sum; np.max; np.min; np.amax; "
                    "np.amin; np.prod; np.std; np.var; np.median; np.argmax; np.cumsum; np.any; np.all"
                ),
                "0 without `np.mean` around `x`: x",
                (
                    "3 with an `axis` argument for `np.mean`: np.mean(x, axis=-1); np.mean(x, "
                    "keepdims=True, axis=-1); np.mean(x, axis=0); np.mean(x, keepdims=True, axis=0); "
                    "np.mean(x, axis=1); np.mean(x, keepdims=True, axis=1); np.mean(x, axis=-2); "
                    "np.mean(x, keepdims=True, axis=-2)"
                ),
                "2 with one of your variables in place of `np.mean(x)`: n",
            ],
        ),
        (
            "x.sum(keepdims=True)",
            [
                (
                    "2 with another function in place of `x.sum`: x.mean; x.max; x.min; x.amax; "
                    "x.amin; x.prod; x.std; x.var; x.median; x.argmax; x.cumsum; x.any; x.all"
                ),
                "0 without `keepdims=True` for `x.sum`: x.sum()",
                "0 without `.sum(…)` after `x`: x",
                (
                    "3 with an `axis` argument for `x.sum`: x.sum(keepdims=True, axis=-1); "
                    "x.sum(keepdims=True, axis=0); x.sum(keepdims=True, axis=1); x.sum(keepdims=True, "
                    "axis=-2)"
                ),
                "2 with one of your variables in place of `x.sum(keepdims=True)`: n",
            ],
        ),
        (
            "np.max(x, n)",
            [
                (
                    "2 with another function in place of `np.max`: np.maximum; np.sum; np.mean; "
                    "np.min; np.amax; np.amin; np.prod; np.std; np.var; np.median; np.argmax; "
                    "np.cumsum; np.any; np.all"
                ),
                "0 with only `n` in place of `np.max(x, n)`: n",
                "2 with two arguments of `np.max` exchanged: np.max(n, x)",
                "0 without `np.max` around `x`: x",
                (
                    "3 with an `axis` argument for `np.max`: np.max(x, n, axis=-1); np.max(x, n, "
                    "keepdims=True, axis=-1); np.max(x, n, axis=0); np.max(x, n, keepdims=True, "
                    "axis=0); np.max(x, n, axis=1); np.max(x, n, keepdims=True, axis=1); np.max(x, n, "
                    "axis=-2); np.max(x, n, keepdims=True, axis=-2)"
                ),
            ],
        ),
        (
            "np.dot(x, n)",
            [
                (
                    "2 with another function in place of `np.dot`: np.matmul; np.multiply; np.inner; "
                    "np.outer"
                ),
                "0 with only `n` in place of `np.dot(x, n)`: n",
                "2 with two arguments of `np.dot` exchanged: np.dot(n, x)",
                "0 without `np.dot` around `x`: x",
            ],
        ),
        (
            "f(x, n=n)",
            [
                "0 without `n=n` for `f`: f(x)",
                "0 without `f` around `x`: x",
                "2 with one of your variables in place of `f(x, n=n)`: n",
            ],
        ),
        (
            "f(n)",
            [
                "0 without `f` around `n`: n",
                "3 with one more argument for `f`: f(n, x)",
                "3 with more of your function's arguments passed to `f`: f(n, x=x)",
                "2 with one of your variables in place of `f(n)`: x",
            ],
        ),
        (
            "np.exp(x - n)",
            [
                (
                    "2 with another function in place of `np.exp`: np.exp2; np.expm1; np.log; np.log2; "
                    "np.log10; np.log1p; np.sqrt; np.square; np.abs; np.absolute; np.reciprocal"
                ),
                (
                    "2 with another function of only `x` in place of `np.exp(x - n)`: np.exp2; "
                    "np.expm1; np.log; np.log2; np.log10; np.log1p; np.sqrt; np.square; np.abs; "
                    "np.absolute; np.reciprocal"
                ),
                (
                    "2 with another function of only `n` in place of `np.exp(x - n)`: np.exp2; "
                    "np.expm1; np.log; np.log2; np.log10; np.log1p; np.sqrt; np.square; np.abs; "
                    "np.absolute; np.reciprocal"
                ),
                "0 without `np.exp` around `x - n`: x - n",
                "2 with one of your variables in place of `np.exp(x - n)`: x; n",
            ],
        ),
        (
            "x.clip(0, n)",
            [
                "0 with only `n` in place of `x.clip(0, n)`: n",
                "2 with two arguments of `x.clip` exchanged: x.clip(n, 0)",
                "0 without `.clip(…)` after `x`: x",
            ],
        ),
        (
            "len(x)",
            [
                "0 without `len` around `x`: x",
                "3 with one more argument for `len`: len(x, n)",
                "3 with more of your function's arguments passed to `len`: len(x, n=n)",
                "2 with one of your variables in place of `len(x)`: n",
            ],
        ),
        (
            "x.mean() - n",
            [
                (
                    "2 with another function in place of `x.mean`: x.sum; x.max; x.min; x.amax; "
                    "x.amin; x.prod; x.std; x.var; x.median; x.argmax; x.cumsum; x.any; x.all"
                ),
                "2 with another operator in place of `-`: x.mean() + n; x.mean() * n; x.mean() / n",
                "2 with the two sides of `-` exchanged: n - x.mean()",
                "0 without `- n`: x.mean()",
                "0 without `x.mean() -`: n",
                "1 with only `x` in place of `x.mean() - n`: x",
            ],
        ),
        (
            "[x, n, 0]",
            [
                "0 without `x` in `[x, n, 0]`: [n, 0]",
                "0 without `n` in `[x, n, 0]`: [x, 0]",
                "0 without `0` in `[x, n, 0]`: [x, n]",
            ],
        ),
        ("[x]", []),
        ("(x, n)", []),
        (
            "np.exp(x * 2) / n",
            [
                (
                    "2 with another function in place of `np.exp`: np.exp2; np.expm1; np.log; np.log2; "
                    "np.log10; np.log1p; np.sqrt; np.square; np.abs; np.absolute; np.reciprocal"
                ),
                (
                    "2 with another function of only `x` in place of `np.exp(x * 2)`: np.exp2; "
                    "np.expm1; np.log; np.log2; np.log10; np.log1p; np.sqrt; np.square; np.abs; "
                    "np.absolute; np.reciprocal"
                ),
                (
                    "2 with another operator in place of `/`: np.exp(x * 2) * n; np.exp(x * 2) // n; "
                    "np.exp(x * 2) - n; np.exp(x * 2) + n"
                ),
                "2 with the two sides of `/` exchanged: n / np.exp(x * 2)",
                "0 without `/ n`: np.exp(x * 2)",
                "0 without `np.exp(x * 2) /`: n",
                "1 with only `x * 2` in place of `np.exp(x * 2) / n`: x * 2",
                "1 with only `x` in place of `np.exp(x * 2) / n`: x",
            ],
        ),
        (
            "2 * x",
            [
                "2 with another operator in place of `*`: 2 / x; 2 + x; 2 - x; 2 @ x; 2 // x",
                "0 without `* x`: 2",
                "0 without `2 *`: x",
            ],
        ),
        (
            "np.floor(x)",
            [
                (
                    "2 with another function in place of `np.floor`: np.ceil; np.round; np.rint; "
                    "np.trunc"
                ),
                "0 without `np.floor` around `x`: x",
                "2 with one of your variables in place of `np.floor(x)`: n",
            ],
        ),
    ],
)
def test_the_alternatives_to_an_expression_are_these(expression, alternatives):
    code = ast.unparse(ast.parse(expression, mode="eval"))
    groups = {}
    for rank, line, description, old_code, new_code in list_alternatives(f"return {expression}"):
        # Calls of other functions are kept by their words.
        is_whole = old_code in (code, description)
        if is_whole and rank < COMBINE and " step(" not in new_code:
            assert line == 2
            groups.setdefault(f"{rank} {description}", []).append(new_code)
    assert [f"{words}: {'; '.join(codes)}" for words, codes in groups.items()] == alternatives


LEFT_OUT = "0 without this line: "
COMBINED = "2 with the new value combined with the old value"


@pytest.mark.parametrize(
    ("code", "mutations"),
    [
        (
            "x @= n",
            [
                LEFT_OUT,
                "2 with another operator in place of `@=`: x *= n",
                "2 with `=` in place of `@=`: x = n",
            ],
        ),
        ("y = x", [LEFT_OUT, f"{COMBINED}: y += x", f"{COMBINED}: y *= x"]),
        ("x[0] = n", [LEFT_OUT, f"{COMBINED}: x[0] += n", f"{COMBINED}: x[0] *= n"]),
        ("x, y = n", [LEFT_OUT]),
        ("x.y = n", [LEFT_OUT]),
        ("if x:\n    pass", ["2 with the opposite condition: if not x:\n    pass"]),
        ("for i in x:\n    break", [LEFT_OUT]),
        ("while x:\n    continue", [LEFT_OUT]),
        ("'text'", []),
        ("import os", []),
        ("x: int = n", []),
        ("global y", []),
        ("def g(y):\n    pass", []),
        ("class A:\n    y = 1", []),
        ("return x", []),
        (
            "x[0] = n\nx[1] = 2",
            [
                LEFT_OUT,
                f"{COMBINED}: x[0] += n",
                f"{COMBINED}: x[0] *= n",
                LEFT_OUT,
                f"{COMBINED}: x[1] += 2",
                f"{COMBINED}: x[1] *= 2",
                "2 with the right sides of this line and of the next assignment, line 3, exchanged: x[1] = 2",
            ],
        ),
    ],
)
def test_the_mutations_of_a_statement_are_these(code, mutations):
    statements = [
        ast.unparse(node) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.stmt)
    ]
    found = []
    for rank, _, description, old_code, new_code in list_alternatives(code):
        if old_code in statements and old_code not in ("x", "n"):
            found.append(f"{rank} {description}: {new_code}")
    assert found == mutations
    for ranks in ((LEAVE_OUT_MORE, REPLACE), (EXTEND, COMBINE)):  # statements are mutated only once
        assert not {each[3] for each in list_alternatives(code, ranks)} & set(statements)


def test_only_mutations_of_the_given_ranks_are_made_as_long_as_there_is_room():
    code = "y = np.sum(x - n * 2) + x[0]\nreturn y"
    everything = list_alternatives(code)
    for ranks in ((LEAVE_OUT,), (REPLACE, LEAVE_OUT_MORE), (EXTEND, COMBINE)):
        found = [each for each in list_alternatives(code, ranks) if "line" not in each[2]]
        expected = [each for each in everything if each[0] in ranks and "line" not in each[2]]
        assert [each for each in found if "old value" not in each[2]] == [
            each for each in expected if "old value" not in each[2]
        ]
    assert (
        list_alternatives("return np.sum(x - n)", room=5)
        == list_alternatives("return np.sum(x - n)")[:5]
    )


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("return x", ["n"]),
        ("y = n\nreturn x", ["n", "y"]),
        ("z = y = n\nreturn x", ["n", "y", "z"]),
        ("global y\ny = n\nreturn x", ["n"]),
        ("def g(a, *, b):\n    return n\nreturn x", ["n", "a", "b"]),
        ("y = lambda c: n\nreturn x", ["n", "c", "y"]),
        ("for i in [n]:\n    pass\nreturn x", ["n", "i"]),
    ],
)
def test_the_variables_that_may_be_meant_are_those_of_the_function(code, names):
    found = [
        each[4]
        for each in list_alternatives(code)
        if each[2] == "with another variable in place of `x`"
    ]
    assert found == names


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("y.append(x)", True),
        ("y.extend(x)", True),
        ("y.insert(0, x)", True),
        ("y.add(x)", True),
        ("y.update(x)", True),
        ("y.setdefault(0, x)", True),
        ("y[0] = x", True),
        ("y[0][1] = x", True),
        ("y += x", True),
        ("y.z.append(x)", True),
        ("y.sum(x)", False),
        ("z = x", False),
        ("z.append(x)", False),
    ],
)
def test_no_container_is_put_into_itself(line, refused):
    found = [
        each
        for each in list_alternatives(f"y = z = [n]\n{line}\nreturn x", (REPLACE,))
        if each[1] == 3 and each[3] == "x"
    ]
    assert {each[4] for each in found} - {"y"} >= {"n"}
    assert ("y" not in {each[4] for each in found}) == refused


def test_a_part_of_a_container_may_be_put_into_it():
    found = list_alternatives(
        "y = [n]\ny.append(x - y[0])\ny.append(y[0:n])\nreturn y", (LEAVE_OUT,)
    )
    assert (LEAVE_OUT, 3, "without `x -`", "x - y[0]", "y[0]") in found
    assert not any(each[4] == "y" and each[3] == "y[0:n]" for each in found)


def test_a_forgotten_variable_is_an_unused_parameter_or_one_of_an_earlier_line():
    code = "y = x + 1\nz = np.abs(x) * y\nreturn z"
    found = [
        each[1:]
        for each in list_alternatives(code, (EXTEND, COMBINE), head="def f(x, n=2, m=3):")
        if each[0] == COMBINE
    ]
    assert {new for line, _, old, new in found if line == 2 and old == "x"} == {
        *("x * n", "x * n[:, None]", "x / n", "x / n[:, None]"),
        *("x * m", "x * m[:, None]", "x / m", "x / m[:, None]"),
    }
    assert {new for line, _, old, new in found if line == 3 and old == "np.abs(x)"} == {
        f"np.abs(x) {sign} {name}{column}"
        for sign in "*/"
        for name in "nm"
        for column in ("", "[:, None]")
    }
    assert {new for line, _, old, new in found if line == 4} == {
        "z * z",
        *(
            f"z {sign} {name}{column}"
            for sign in "*/"
            for name in "nmy"
            for column in ("", "[:, None]")
        ),
    }
    assert not {old for _, _, old, _ in found if "* y" in old}  # a sum, a call or a name only


@pytest.mark.parametrize(
    ("rank", "description", "is_combinable", "changes_equality"),
    [
        (LEAVE_OUT, "without `- n`", True, False),
        (REPLACE, "with another operator in place of `-`", True, False),
        (REPLACE, "with one of your variables in place of `3`", False, False),
        (EXTEND, "with `x` squared", False, False),
        (COMBINE, "with `x` multiplied by one of your variables", False, False),
        (REPLACE, "with another comparison in place of `==`", False, True),
        (REPLACE, "with another comparison in place of `!=`", False, True),
        (REPLACE, "with another comparison in place of `<=`", True, False),
        (LEAVE_OUT, "with only `n` in place of `n == 0`", False, True),
        (LEAVE_OUT, "with only `n` in place of `n != 0`", False, True),
        (LEAVE_OUT, "with only `n` in place of `n < 0`", True, False),
    ],
)
def test_a_mutation_that_is_often_right_by_chance_has_no_second_one(
    rank, description, is_combinable, changes_equality
):
    mutation = Mutation(description, 3, rank)
    assert mutation.is_combinable == is_combinable
    assert mutation.changes_equality == changes_equality


NUMBERS, SIZES, BITS = (
    np.array([[1.0, -4.0], [9.0, 16.0]]),
    np.array([1, 4]),
    np.array([True, False]),
)


@pytest.mark.parametrize(
    ("step", "value", "result"),
    [
        (0, NUMBERS, -NUMBERS), (0, 2.0, -2.0), (0, SIZES, SIZES), (0, 4, 4), (0, BITS, BITS),
        (1, NUMBERS, NUMBERS.T), (1, 2.0, 2.0), (1, [1, 2], [1, 2]),
        (2, NUMBERS, NUMBERS[::-1]), (2, SIZES, SIZES[::-1]), (2, np.float64(2), 2.0), (2, [1, 2], [1, 2]),
        (3, SIZES, np.array([1.0, 2.0])), (3, 9, 3.0), (3, BITS, BITS), (3, "a", "a"),
        (4, SIZES, np.array([1, 16])), (4, 3.0, 9.0), (5, 4, 0.25), (6, SIZES, np.array([2, 5])),
        (7, 4, 3), (7, BITS, BITS),
        (8, NUMBERS, np.abs(NUMBERS)), (8, -4, -4), (8, -4.0, 4.0),
        (3, 1, 1), (4, 1, 1), (5, 1, 1), (8, 4.0, 4.0), (2, np.ones(3), np.ones(3)),
        (9, BITS, ~BITS), (9, True, False),
    ],
)  # fmt: skip
def test_a_step_is_applied_where_it_has_a_meaning(step, value, result):
    found = apply_extra_step(step, value)
    assert np.array_equal(found, result) and np.shape(found) == np.shape(result)
    if np.array_equal(value, result):
        assert found is value


def test_a_number_is_not_negated_as_a_boolean():
    for value in (3, NUMBERS, [True]):
        with pytest.raises(TypeError):
            apply_extra_step(9, value)


def test_what_numpy_would_misunderstand_is_refused():
    for value in (3, -1, (2, -1), [2, 3], np.int64(-1), None, 2.0, "ab"):
        assert refuse_negative_sizes(value) is value
    for value in (-2, (2, -3), [np.int64(-2)]):
        with pytest.raises(ValueError):
            refuse_negative_sizes(value)
    for value in (float, "int32", np.dtype(bool), None, np.float32):
        assert refuse_array_as_dtype(value) is value
    for value in (NUMBERS, np.float64(3), np.bool_(True)):
        with pytest.raises(TypeError):
            refuse_array_as_dtype(value)


@pytest.mark.parametrize(
    ("call", "checked"),
    [
        ("x.reshape(n, *x)", [" sizes(n)", "* sizes(x)"]),
        ("np.ones(x, n)", ["x", " dtype(n)"]),
        ("np.zeros(x, n)", ["x", " dtype(n)"]),
        ("np.empty(x, n)", ["x", " dtype(n)"]),
        ("np.full(x, n, n)", ["x", "n", " dtype(n)"]),
        ("np.full(x, n)", ["x", "n"]),
        ("np.ones(*x, n)", ["*x", "n"]),
        ("np.sum(x, n)", ["x", "n"]),
    ],
)
def test_the_arguments_that_numpy_may_misunderstand_are_checked(call, checked):
    function = ast.parse(f"def f(x, n):\n    return {call}\n").body[0]
    embedder = MutationEmbedder(function, lambda *_: ast.Constant(None), lambda: True, set(), ())
    value = ast.fix_missing_locations(embedder.mutate()).body[0].value
    assert [ast.unparse(argument) for argument in value.args] == checked


def test_long_code_is_cut_in_the_words_and_a_long_text_replaces_none():
    name = "x" * (MAX_QUOTED_CHARACTERS + 1)
    texts = {
        each[2] for each in list_alternatives(f"return {name} - 1", (LEAVE_OUT,), f"def f({name}):")
    }
    assert texts == {"without `- 1`", f"without `{name[: MAX_QUOTED_CHARACTERS - 3]}... -`"}
    words = ["w" * (MAX_WORD_CHARACTERS - 1), "v" * MAX_WORD_CHARACTERS, "b"]
    found = [
        each[4] for each in list_alternatives(f"return x[{words}]", (REPLACE,)) if each[3] == "'b'"
    ]
    assert found == [repr(words[0])]


def test_of_two_negative_places_the_sign_is_told():
    texts = {
        each[2] for each in list_alternatives("return x[-1] + 1", (REPLACE,)) if "number" in each[2]
    }
    assert texts == {"with another number in place of `-1`", "with another number in place of `1`"}


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
        (np.array([-np.inf, 2.0, np.inf, 1.0]), np.array([-np.inf, 2.0, -np.inf, 5.0]), 0.5),
        ((np.ones(2), 7.0), (np.array([1.0, 2.0]), 7.0), 0.75),
        (3.00001, 3.0, 1.0),
        (-np.inf, -np.inf, 1.0),
        (2.0, -np.inf, 0.0),
        (3.01, 3.0, 0.0),
        ("a", "a", 1.0),
        (None, 3.0, 0.0),
    ],
)
def test_the_share_of_right_numbers_is_that_of_all_values(result, expected, share):
    assert _share_of_right_numbers(result, expected) == share
