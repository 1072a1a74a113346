"""Slips of arrays are named by their line: views, arrays of texts, numerical derivatives."""

import pytest
from test_repair import define_in_cell

from autograder.diagnosis.array_slips import (
    find_approximation,
    find_array_of_texts,
    find_change_of_argument,
)
from autograder.student.check import CheckFailed, check


def define(*lines, head="def f(x, n=2):"):
    return define_in_cell("\n".join(["", head, *(f"    {line}" for line in lines), ""]))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["y = x[:]", "y[n] = 0", "return y"], "a slice of an array is no copy (unlike a slice"),
        (["y = x", "y -= n", "return y"], "`x` gets a second name, and no copy is made. Line 4"),
        (["y = x.T", "y[0] = n", "return y"], "`x.T` is no copy of the array"),
        (["y = np.asarray(x)", "y *= n", "return y"], "`np.asarray(x)` is no copy"),
        (["y = x[0]", "y += n", "return y"], "a slice of an array is no copy (unlike a slice"),
        (["y = x[:, 1]", "y[n] = 0", "return y"], "a slice of an array is no copy (unlike a slice"),
        (["y = x[1:].T", "y += n", "return y"], "`x[1:].T` is no copy of the array"),
        (["y = x.reshape(n, -1)", "y += n", "return y"], "`x.reshape(n, -1)` is no copy of the"),
        (["x /= n", "return x"], "A line `x = x …` makes a new array."),
        (["x[0] = n", "return x"], "you write into the array `x` that your function is given."),
        (["np.exp(x, out=x)", "return x"], "`np.exp(x, out=x)`, you write into the array `x`"),
        (["x.sort()", "return x"], "you write into the array `x`"),
        (["x = np.asarray(x)", "x[n] = 0", "return x"], "you write into the array `x`"),
        (["x = x[1:]", "x[n] = 0", "return x"], "you write into the array `x`"),
        (
            ["for part in x:", "    part *= n", "return x"],
            "`part *= n`, you write into `part`, which is a part of the argument `x`.",
        ),
        (
            ["for i, part in enumerate(x):", "    part[i] = n", "return x"],
            "which is a part of the argument `x`.",
        ),
    ],
)
def test_the_line_that_changes_an_argument_is_named(lines, words):
    assert words in find_change_of_argument(define(*lines), ["x"]).means


@pytest.mark.parametrize(
    "lines",
    [
        ["x = x.copy()", "x[0] = n", "return x"],
        ["y = x + n", "y -= 1", "return y"],
        ["y = x[[0, 1]]", "y[0] = n", "return y"],
        ["y = x[x > n]", "y += n", "return y"],
        ["y = x.flatten()", "y += n", "return y"],
        ["return change(x)"],
        ["for part in x:", "    part = part * n", "    part += 1", "return x"],
        ["for part in n:", "    part += 1", "return x"],
    ],
)
def test_a_copy_is_no_change_of_an_argument(lines):
    assert find_change_of_argument(define(*lines), ["x"]) is None


COPY = "Which method makes a copy of an array?"
NEW = "Where can your function make a copy, or a new array?"
KEEP = "Where can your function make a new array, and keep it?"
WRITES = "you write into the array `x` that your function is given."


@pytest.mark.parametrize(
    ("code", "line", "text", "nudge"),
    [
        (
            "y = x.mT\ny += n",
            3,
            (
                "`x.mT` is no copy of the array: both show the same numbers. Line 4 then changes "
                "both."
            ),
            COPY,
        ),
        (
            "y = x.view()\ny += n",
            3,
            (
                "`x.view()` is no copy of the array: both show the same numbers. Line 4 then "
                "changes both."
            ),
            COPY,
        ),
        (
            "y = x.transpose(1, 0)\ny += n",
            3,
            (
                "`x.transpose(1, 0)` is no copy of the array: both show the same numbers. Line 4 "
                "then changes both."
            ),
            COPY,
        ),
        (
            "y = x.swapaxes(0, 1)\ny += n",
            3,
            (
                "`x.swapaxes(0, 1)` is no copy of the array: both show the same numbers. Line 4 "
                "then changes both."
            ),
            COPY,
        ),
        (
            "y = np.squeeze(x)\ny += n",
            3,
            (
                "`np.squeeze(x)` is no copy of the array: both show the same numbers. Line 4 then "
                "changes both."
            ),
            COPY,
        ),
        (
            "y = np.atleast_1d(x)\ny += n",
            3,
            (
                "`np.atleast_1d(x)` is no copy of the array: both show the same numbers. Line 4 "
                "then changes both."
            ),
            COPY,
        ),
        (
            "y = numpy.atleast_2d(x)\ny[0] = n",
            3,
            (
                "`numpy.atleast_2d(x)` is no copy of the array: both show the same numbers. Line 4 "
                "then changes both."
            ),
            COPY,
        ),
        (
            "y = x\nz = y\nz += n",
            4,
            "`y` gets a second name, and no copy is made. Line 5 then changes both.",
            COPY,
        ),
        ("np.copyto(x, n)", 3, WRITES, NEW),
        ("np.put(x, 0, n)", 3, WRITES, NEW),
        ("np.add.at(x, 0, n)", 3, WRITES, NEW),
        ("np.fill_diagonal(x, n)", 3, WRITES, NEW),
        ("x.fill(n)", 3, WRITES, NEW),
        ("np.add(x, n, out=x[0])", 3, WRITES, NEW),
        ("x[0][1] += n", 3, WRITES, NEW),
        (
            "y = x[0, :]\ny += 1",
            3,
            (
                "a slice of an array is no copy (unlike a slice of a list): both show the same "
                "numbers. Line 4 then changes both."
            ),
            COPY,
        ),
        (
            "y = x[n:]\ny[0] = 1",
            3,
            (
                "a slice of an array is no copy (unlike a slice of a list): both show the same "
                "numbers. Line 4 then changes both."
            ),
            COPY,
        ),
        (
            "for i, p in enumerate(x, 1):\n    p += i",
            4,
            "you write into `p`, which is a part of the argument `x`.",
            KEEP,
        ),
        (
            "for p in x:\n    p.sort()",
            4,
            "you write into `p`, which is a part of the argument `x`.",
            KEEP,
        ),
        (
            "while n:\n    x *= 2",
            4,
            (
                "you write into the array `x` that your function is given. A line `x = x …` makes "
                "a new array."
            ),
            NEW,
        ),
        (
            "y = x\nx += 1",
            4,
            (
                "you write into the array `x` that your function is given. A line `x = x …` makes "
                "a new array."
            ),
            NEW,
        ),
        (  # in the order of the lines, and not of their depth
            "for i in n:\n    y = x\ny += n",
            4,
            "`x` gets a second name, and no copy is made. Line 5 then changes both.",
            COPY,
        ),
        ("np.random.shuffle(x)", 3, WRITES, NEW),
        ("x.append(n)", 3, WRITES, NEW),
        (
            "y = z = x\ny += n",
            3,
            "`x` gets a second name, and no copy is made. Line 4 then changes both.",
            COPY,
        ),
    ],
)
def test_the_whole_of_a_change_is_told(code, line, text, nudge):
    slip = find_change_of_argument(define(*code.split("\n"), "return x"), ["x"])
    quoted = code.split("\n")[line - 3].strip()
    assert slip.means == f"In line {line} of your cell, `{quoted}`, {text}"
    assert (slip.line, slip.nudge, slip.is_certain) == (line, nudge, True)


@pytest.mark.parametrize(
    "code",
    [
        "y = x\ny = y + 1\ny += n",
        "y = x.ravel()\ny += n",
        "y = np.array(x)\ny += n",
        "x.sum(out=n)",
        "n.sum(where=x)",
        "np.add(n, n, where=x, out=n)",
        "x, y = n, x",
        "n += 1",
        "y = x[n]\ny += 1",
        "for p in x[1:]:\n    p += n",
        "for p in zip(x):\n    p += n",
        "for p, q in x:\n    p += n",
        "y = x\nx = x + 1\nx += 1",
        "y = np.asarray()\ny += 1",
        "x.T[0] = n",
        "x.a = n",
        "y = x.real\ny += n",
        "y: object = x\ny += n",
    ],
)
def test_what_is_no_change_of_the_argument_is_not_told(code):
    assert find_change_of_argument(define(*code.split("\n"), "return x"), ["x"]) is None


def test_only_the_arguments_that_are_changed_are_looked_at():
    function = define("x += 1", "n += 1", "return x")
    assert find_change_of_argument(function, ["n"]).line == 4
    assert find_change_of_argument(function, ["x", "n"]).line == 3
    assert find_change_of_argument(function, []) is None
    assert find_change_of_argument(len, ["x"]) is None


@pytest.mark.parametrize("maker", ["np.array", "np.asarray", "numpy.array", "numpy.asarray"])
def test_an_array_of_texts_is_named_where_it_is_made(maker):
    slip = find_array_of_texts(define(f"y = {maker}(x)", "z = y", "y[0] = 'ab'", "return y"))
    assert slip.means == (
        f"In line 3 of your cell, `y = {maker}(x)`, the array has room for texts as long as the "
        "longest that it is made of. A longer text that is put into it later is cut off at the end."
    )
    assert slip.nudge == "Which type of Python holds texts of any length, and can be changed?"
    assert find_array_of_texts(define("y = list(x)", "y[0] = 'ab'", "return y")) is None
    assert find_array_of_texts(define("n[0] = np.array(x)", "n[0] = 'ab'", "return n")) is None
    assert find_array_of_texts(len) is None


def test_the_whole_sentence_on_a_numerical_derivative():
    slip = find_approximation(define("y = 1", "return numerical_slope(x, n)"))
    assert slip.means == (
        "In line 4 of your cell, `return numerical_slope(x, n)`, `numerical_slope` computes with "
        "small differences, so its numbers are right to about seven digits only; about fifteen are "
        "expected."
    )
    assert slip.nudge == "Which formula gives the exact numbers?"
    assert find_approximation(len) is None
    assert find_approximation(define("return slope(x, n)")) is None


def test_a_view_is_named_beside_the_changed_argument(capsys):
    source = (
        "\ndef without_head(w_o, head, heads):\n    size = len(w_o) // heads\n"
        "    ablated = w_o[:]\n"
        "    ablated[head * size : (head + 1) * size] = 0\n    return ablated\n"
    )
    with pytest.raises(CheckFailed, match="changed its argument `w_o`"):
        check(define_in_cell(source))
    output = capsys.readouterr().out
    assert "`ablated = w_o[:]`, a slice of an array is no copy" in output
    assert "Which method makes a copy of an array?" in output


def test_an_array_of_texts_that_cuts_them_off_is_named(capsys):
    source = (
        "\ndef merge_pair(symbols, pair):\n    array = np.array(symbols)\n"
        "    for i in range(len(array) - 1):\n"
        "        if (array[i], array[i + 1]) == tuple(pair):\n"
        "            array[i] = pair[0] + pair[1]\n"
        "            array = np.delete(array, i + 1)\n            break\n"
        "    return tuple(str(symbol) for symbol in array)\n"
    )
    with pytest.raises(CheckFailed):
        check(define_in_cell(source))
    assert "A longer text that is put into it later is cut off" in capsys.readouterr().out
    assert find_array_of_texts(define("y = np.array(x)", "return y + n")) is None


def test_a_numerical_derivative_is_named_as_the_cause_of_a_small_error(capsys):
    source = (
        "\ndef numerical_gradient(f, x):\n    g = np.zeros_like(x)\n"
        "    for i in np.ndindex(x.shape):\n"
        "        d = np.zeros_like(x)\n        d[i] = 1e-5\n"
        "        g[i] = (f(x + d) - f(x - d)) / 2e-5\n    return g\n"
    )
    derivative = define_in_cell(source)
    source = (
        "\ndef cross_entropy_backward(logits, targets):\n    def loss(x):\n"
        "        y = x - x.max(axis=-1, keepdims=True)\n"
        "        y = y - np.log(np.exp(y).sum(axis=-1, keepdims=True))\n"
        "        return -y[np.arange(len(y)), targets].mean()\n"
        "    return numerical_gradient(loss, logits)\n"
    )
    with pytest.raises(CheckFailed):
        check(define_in_cell(source, numerical_gradient=derivative))
    output = capsys.readouterr().out
    assert "`numerical_gradient` computes with small differences" in output
    assert "float32" not in output
    assert find_approximation(define("return x * n")) is None
