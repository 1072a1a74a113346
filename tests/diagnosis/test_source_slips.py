"""Slips that can be read in the source are named by their line, and right code is left alone."""

import linecache
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from functions_in_cells import define_in_cell
from our_course import COURSE

from autograder.authoring.lab import read_lab
from autograder.diagnosis import source_slips
from autograder.diagnosis.source_slips import (
    MAX_CODE_CHARACTERS,
    MAX_DECORATOR_LINES,
    MAX_SOURCE_LINES,
    explain_missing_result,
    find_cause_of_none,
    find_in_place_call,
    find_source_slip,
    find_squeeze_of_all_axes,
    find_tuple_of_places,
    find_uncalled_function,
    find_written_infinity,
    fit_hint_to_source,
)
from autograder.judging.code_patterns import explain_in_place_call
from autograder.student.check import CheckFailed, check

NOTEBOOK = {
    "Q": np.ones((2, 3)),
    "heads": 4,
    "layer": define_in_cell("\ndef layer(x):\n    return x + 1\n"),
    "visit": define_in_cell("\ndef visit(x, out):\n    if x:\n        return\n    out += x\n"),
    "change": lambda x: x.sort(),
    "show": define_in_cell("\ndef show(x):\n    print(x)\n    return None\n"),
    "names": ["a"],
    "RATE": 3.0,
}


def find_slip(*lines, head="def f(x, n=2):", **keywords):
    body = "".join(f"    {line}\n" for line in lines)
    function = define_in_cell(f"\n{head}\n{body}", **NOTEBOOK)
    return find_source_slip(function, **keywords)


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (["for i in range(n):", "    x = x + i", "    return x"], 5, "ends in its first turn"),
        (
            ["for i in x:", "    if i:", "        return i", "    else:", "        return n"],
            4,
            "both branches in the loop end in `return`, so your function ends in its first turn",
        ),
        (["return x * np.random.rand(n)"], 3, "a random number is drawn"),
        (["y = x + n", "return y.sort()"], 4, "`.sort` changes its object in place"),
        (["y = [n]", "y = y.append(x)", "return y"], 4, "`.append` changes its object"),
        (["y = x * n", "y = np.random.shuffle(y)", "return y"], 4, "`np.random.shuffle` changes"),
        (["x = x.insert(n)", "y = x.sort()", "return y"], 4, "`.sort` changes its object in place"),
        (
            ["return np.array(x.insert(n), x.append(n))"],
            3,
            "an argument is None. `.append` changes",
        ),
        (["y = x * n,", "return y"], 3, "the comma at the end makes a tuple"),
        (["x =- n", "return x"], 3, "To change the old value, write `-=`"),
        (["return n & 1 == 0 and x"], 3, "Put each comparison into brackets"),
        (["y = [[0] * n] * n", "y[0][1] = x", "return y"], 3, "repeats one and the same row"),
        (["y = [np.zeros(n)] * n", "y[0][1] = x", "return y"], 3, "a change of one changes all"),
        (["x.reshape(n, n)", "return x"], 3, "a value is computed and not kept"),
        (["np.exp(x * n)", "return x"], 3, "a value is computed and not kept"),
        (["layer(x * n)", "return x"], 3, "the result of `layer` is not kept."),
        (["x / n", "return x"], 3, "a value is computed and not kept"),
        (["x.transpose(0, 2, 1)", "return x * n"], 3, "a value is computed and not kept"),
        (["x.reshape(2, 3, n)", "return x"], 3, "a value is computed and not kept"),
        (["x[1:]", "return x * n"], 3, "a value is computed and not kept"),
        (["x.reshape(len(x), -1)", "return x"], 3, "a value is computed and not kept"),
        (["x[0] == n", "return x"], 3, "`==` only compares"),
        (["y = np.where(x > n)", "return y[-1]"], 3, "a tuple with an array of places"),
        (["y = np.nonzero(x > n)", "return len(y)"], 3, "a tuple with an array of places"),
        (["y = np.nonzero(x > n)", "return y[3]"], 3, "a tuple with an array of places"),
        (["y = np.nonzero(x > n)", "return y[n]"], 3, "a tuple with an array of places"),
        (["y = np.nonzero(x > n)", "return y.size"], 3, "a tuple with an array of places"),
        (["y = np.nonzero(x > n)", "return y + 1"], 3, "a tuple with an array of places"),
        (["y = np.nonzero(x > n)", "return max(y)"], 3, "a tuple with an array of places"),
        (["return x / n ** 1/2"], 3, "Python computes `(x / n ** 1) / 2`"),
        (["return x + 100 ** -2 * n / 3"], 3, "Python computes `(100 ** (-2)) * n`"),
        (["return x / 1 - n"], 3, "Python computes `(x / 1) - n`"),
        (["return x.transpose(-2, -1) * n"], 3, "-2, -1 is the order that a matrix already has"),
        (["return np.transpose(x, (0, 1)) * n"], 3, "0, 1 is the order that a matrix already has"),
        (["return layer @ x * n"], 3, "`layer` is a function that was not called"),
        (["return np.matmul(x, n, x)"], 3, "`np.matmul` computes with 2 arrays"),
        (["return np.max(x, n * x)"], 3, "the second argument of `np.max` is the axis"),
        (["return np.random.default_rng(n).normal() * np.random.rand()"], 3, "a random number is"),
        (["return Q @ x"], 3, "`Q` is a variable of the notebook"),
        (["y = np.array([n].append(x))", "return y"], 3, "an argument is None. `.append` changes"),
        (["n, y = x[0], x[1]", "return y * n"], 3, "`n` gets another value before its own was"),
        (
            [
                "seen = {}",
                "for i, t in enumerate(x):",
                "    j = seen.get(t)",
                "    if j:",
                "        n += j",
                "    seen[t] = i",
                "return n",
            ],
            6,
            "`j` counts as false if it is None, and also if it is 0",
        ),
    ],
)
def test_a_slip_is_named_by_its_line(lines, line, words):
    slip = find_slip(*lines)
    assert slip.line == line
    assert slip.means.startswith(f"In line {line} of your cell, `")
    assert words in slip.means
    assert slip.is_certain


@pytest.mark.parametrize("head", ["def f(x, n):", "def f(x, *, n=2):", "def f(n, *x):"])
def test_an_argument_of_any_kind_that_is_overwritten_is_named(head):
    slip = find_slip("n = x[0] + 1", "return n * 2", head=head)
    assert "the argument `n` gets another value before its own was used" in slip.means
    assert slip.nudge.startswith("Which lines mean the argument `n`")


@pytest.mark.parametrize(
    "lines",
    [
        ["for i in range(n):", "    if x[i] < 0:", "        return i", "return n + x"],
        ["for i in range(n):", "    if x[i] < 0:", "        continue", "    return i"],
        ["for i in x:", "    if i:", "        return i", "    else:", "        x = n"],
        ["y = x * n", "y.sort()", "return np.sort(y)"],
        ["y = (n,)", "return x.reshape(y)"],
        ["y = -n", "return x + y"],
        ["return (x > 0) ^ (x < n)"],
        ["return (n & 1) == 0 and x"],
        ["y = [[0] * n for _ in range(n)]", "y[0][1] = x", "return y"],
        ["y = [0] * n", "y[0] = x", "return y"],
        ["np.exp(x, out=x)", "print(x)", "return np.add(x, n)"],
        ["y = np.nonzero(x > n)[0]", "z = np.where(x > n)", "return y, z[0]"],
        ["y = np.nonzero(x > n)", "return y[0] * 9 + y[1] * 3 + y[2]"],
        ["y = np.where(x > n, x, n)", "return y[3] + len(y)"],
        ["return x / n ** (1 / 2) + (n ** 1) / 2 + x ** 2 / n"],
        ["return np.max(x, -1) + np.max(x, axis=n)"],
        ["return x / (1 - n) + (x / 1) - n"],
        ["return x.transpose(1, 0) @ np.transpose(x, (0, 2, 1)) * n"],
        ["return x.repeat(n, 1)"],
        ["y = [print(i) for i in x] and [x.append(n) for i in x]", "return y * n"],
        ["n = n + 1", "if n > 2:", "    x = n", "return x"],
        [
            "seen = {}",
            "for t in x:",
            "    j = seen.get(t)",
            "    if j:",
            "        n += 1",
            "    seen[t] = [n]",
            "return n",
        ],
        ["layer = x.sum()", "return layer * n"],
        ["visit(x, n)", "change(x)", "return x"],
        ["def layer(x):", "    x.sort()", "layer(x * n)", "return x"],
        ["np.dot(x, x, x)", "np.clip(x, 0, n, x)", "np.cumsum(x, 0, None, x)", "return x"],
        ["x.clip(0, n, x)", "x.dot(n, x)", "np.clip(*x)", "np.sum(**n)", "return x"],
        ["np.nan_to_num(x, copy=False)", "np.nan_to_num(x, False)", "return x * n"],
        ["np.median(x, overwrite_input=True)", "return x * n"],
        ["x.replace(1, n, inplace=True)", "return x"],
        ["n in x or x.setdefault(n, 1)", "n > 0 or print(n)", "return x"],
        ["x.pop() + n", "x[n]", "np.exp(x.pop())", "return x"],
        ["try:", "    x[3:]", "    x == n", "    layer(x)", "except IndexError:", "    pass"],
        [
            "try:",
            "    with np.errstate(all='raise'):",
            "        x / n",
            "except ArithmeticError: x = n",
        ],
        ["try:", "    for i in x:", "        x[i]", "except IndexError:", "    return n"],
        ["import shutil", "shutil.copy(x, n)", "return x"],
        ["x.join()", "x.replace(n)", "return x"],
        ["x = x.insert(n)", "y = x.remove(2)", "return y.clear()"],
        ["x = 10 ** 6 * n * x", "return 2 ** 10 / n + x + 10 ** -3 * n"],
        ["rng = np.random.default_rng(n)", "return rng.normal() + x"],
        ["np.random.seed(n)", "return x * np.random.rand()"],
        ["y = x.copy()", "y[n : n + 1] = 0", "return y * n"],
    ],
)
def test_right_code_has_no_slip(lines):
    assert find_slip(*lines) is None


@pytest.mark.parametrize(
    ("code", "is_certain", "text", "nudge"),
    [
        (
            "for i in x:\n    if i:\n        return i\n    else:\n        return n",
            True,
            ("both branches in the loop end in `return`, so your function ends in its first turn."),
            "How far must the `return` be indented?",
        ),
        (
            "while n:\n    return x",
            True,
            "the `return` is inside the loop, so your function ends in its first turn.",
            "After which turn should the loop end?",
        ),
        (
            "return x,",
            True,
            (
                "the comma at the end makes a tuple: a value with a comma after it is a tuple with "
                "one entry."
            ),
            "",
        ),
        (
            "y =+ x\nreturn y * n",
            True,
            (
                "Python reads `=+` as `= +`: the line assigns a new value. To change the old "
                "value, write `+=`."
            ),
            "",
        ),
        (
            "y = n * [[]]\ny[0][1] = x\nreturn y",
            True,
            "the `*` repeats one and the same row: a change of one changes all.",
            "How can a loop, or NumPy, make a row of its own for each place?",
        ),
        (
            "x == n\nreturn x",
            True,
            "`==` only compares, and the answer is lost. An assignment has one `=`.",
            "Which name should get a new value on this line?",
        ),
        (
            "layer(x)\nreturn x * n",
            True,
            "the result of `layer` is not kept.",
            "Which name should the result get, and where is it used?",
        ),
        (
            "x.sum() + n\nreturn x",
            True,
            "a value is computed and not kept: nothing is changed by this line.",
            "Which name should the result get, and where is it used?",
        ),
        (
            "return x.transpose([0, 1]) * n",
            True,
            (
                "NumPy's `transpose` does not exchange two axes, as PyTorch's does. It takes the "
                "new order of all axes, and 0, 1 is the order that a matrix already has. So "
                "nothing changes."
            ),
            "How does NumPy exchange two axes? There is `.T`, and there is `np.swapaxes`.",
        ),
        (
            "x = 3 * n\nreturn x",
            True,
            "the argument `x` gets another value before its own was used, so that this is lost.",
            "Which lines mean the argument `x`, and which the new value?",
        ),
        (
            "return x | n > 1",
            True,
            (
                "Python computes `&` and `|` before `<`, `>=` and `==`. Put each comparison into "
                "brackets, such as `(i >= 0) & (i < n)`."
            ),
            "",
        ),
        (
            "y = np.where(x > n)\nreturn y[-1]",
            True,
            (
                "the result is a tuple with an array of places for each axis, not the array of "
                "places itself."
            ),
            "Which index takes the array out of the tuple?",
        ),
        (
            "return x * (n ** -1 / 2)",
            True,
            "the power ends before the `/`: Python computes `(n ** (-1)) / 2`.",
            "Where do brackets belong?",
        ),
        (
            "return 2.5 ** -1.5 * n * x",
            True,
            "the power ends before the `*`: Python computes `(2.5 ** (-1.5)) * n`.",
            "Where do brackets belong?",
        ),
        (
            "return x / n / 1 + n",
            True,
            "the division ends before the `+`: Python computes `(x / n / 1) + n`.",
            "Where do brackets belong?",
        ),
        (
            "return np.min(x, n * x)",
            True,
            (
                "the second argument of `np.min` is the axis, not another array. For two arrays, "
                "entry by entry: `np.minimum(a, b)`."
            ),
            "",
        ),
        (
            "return x - layer + n",
            True,
            "`layer` is a function that was not called: its brackets are missing.",
            "",
        ),
        (
            "return np.add(x, n, x)",
            True,
            "`np.add` computes with 2 arrays; one more is the array that gets the result.",
            "",
        ),
        (
            "np.add(x, n, x)\nreturn x",
            False,
            "`np.add` computes with 2 arrays; one more is the array that gets the result.",
            "",
        ),
        (
            "return x * random.random() + n",
            True,
            "a random number is drawn. The result must depend on the arguments alone.",
            "",
        ),
        (
            "return x @ Q",
            True,
            (
                "`Q` is a variable of the notebook: it is the same in every call. Your code does "
                "not use `n`, which is among its arguments."
            ),
            "Which argument do you mean by `Q`?",
        ),
        (
            "return x * heads",
            True,
            (
                "`heads` is a variable of the notebook: it is the same in every call. Your code "
                "does not use `n`, which is among its arguments."
            ),
            "Which argument do you mean by `heads`?",
        ),
        (
            "return x @ Q + n",
            False,
            "`Q` is a variable of the notebook: it is the same in every call.",
            "Which argument do you mean by `Q`?",
        ),
        ("return 7", False, "Your code never uses its arguments `x` and `n`.", ""),
        (
            "return x ^ 2 + n",
            False,
            "`^` combines the bits of whole numbers. In Python a power is written `**`.",
            "",
        ),
        (
            "return sum(x, x.sum()) + n",
            False,
            (
                "Python's `sum` adds up the entries of its first argument along the first axis; "
                "the second argument is the start."
            ),
            "",
        ),
        ("y = x + n\nreturn x", False, "`y` gets a value that is never used.", ""),
        (
            "for i in range(len(x) - 1):\n    n += x[i]\nreturn n",
            False,
            "`i` runs from 0 to len(x) - 2, because `range` stops before its argument.",
            "What is the last `i` that the loop needs?",
        ),
        (
            (
                "seen = {}\nfor i in range(n):\n    seen[x[i]] = i\n    j = seen.get(x[0])\n    n "
                "+= 1 if not j else 2\nreturn n"
            ),
            True,
            "`j` counts as false if it is None, and also if it is 0: the first index.",
            "How does Python ask whether `j` is None?",
        ),
        (
            "return 2 ** -1 * 3 * n * x",
            True,
            "the power ends before the `*`: Python computes `(2 ** (-1)) * 3`.",
            "Where do brackets belong?",
        ),
        (
            "return n ** -1 / 2 * x",
            True,
            "the power ends before the `/`: Python computes `(n ** (-1)) / 2`.",
            "Where do brackets belong?",
        ),
        (
            "return x / 1.0 - n",
            True,
            "the division ends before the `-`: Python computes `(x / 1.0) - n`.",
            "Where do brackets belong?",
        ),
        (
            "for i in range(n * 2 - 1):\n    x[i] = 0\nreturn x",
            False,
            "`i` runs from 0 to n * 2 - 2, because `range` stops before its argument.",
            "What is the last `i` that the loop needs?",
        ),
        (
            "return np.exp(x, n)",
            True,
            "`np.exp` computes with 1 array; one more is the array that gets the result.",
            "",
        ),
        (
            "return x * names",
            True,
            (
                "`names` is a variable of the notebook: it is the same in every call. Your code "
                "does not use `n`, which is among its arguments."
            ),
            "Which argument do you mean by `names`?",
        ),
    ],
)
def test_the_whole_of_a_slip_is_told(code, is_certain, text, nudge):
    slip = find_slip(*code.split("\n"))
    start = ""
    if slip.line:
        line = code.split("\n")[slip.line - 3].strip()
        start = f"In line {slip.line} of your cell, `{line}`, "
    assert slip.means == start + text
    assert (slip.is_certain, slip.nudge) == (is_certain, nudge)


@pytest.mark.parametrize(
    ("code", "option", "text", "nudge"),
    [
        (
            "return x.repeat(n, 1)",
            "raises_error",
            (
                "the second argument of NumPy's `repeat` is an axis: this repeats along axis 1. "
                "(PyTorch's `repeat` takes a number for each axis; `np.tile` does that in NumPy.)"
            ),
            "Along which axis should the array become longer?",
        ),
        (
            "y = x.sum(axis=1)\nreturn y * n",
            "fails_with_more_axes",
            (
                "`axis=1` is the last axis of a matrix, but the middle one of an array with three "
                "axes. The last axis is always axis -1."
            ),
            "Which axis do you mean if the array has one more in front?",
        ),
        (
            "return x.shape[2] * n",
            "fails_with_more_axes",
            (
                "`x.shape[2]` is the last of three axes, but not of four. The last axis is always "
                "axis -1."
            ),
            "Which axis do you mean if the array has one more in front?",
        ),
        (
            "return x.sum(axis=2) * n",
            "fails_with_more_axes",
            (
                "`axis=2` is the last of three axes, but not of four. The last axis is always axis "
                "-1."
            ),
            "Which axis do you mean if the array has one more in front?",
        ),
    ],
)
def test_the_whole_of_a_slip_that_needs_a_reason_is_told(code, option, text, nudge):
    slip = find_slip(*code.split("\n"), **{option: True})
    line = code.split("\n")[0]
    assert slip.means == f"In line 3 of your cell, `{line}`, {text}"
    assert (slip.line, slip.is_certain, slip.nudge) == (3, True, nudge)
    assert find_slip(*code.split("\n")) is None


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ("return x, # last", 3, "the comma at the end makes a tuple"),
        ("x =- n\nreturn x", 3, "Python reads `=-` as `= -`"),
        (
            "y = [[i for i in x]] * n\ny[0][1] = x\nreturn y",
            3,
            "the `*` repeats one and the same row",
        ),
        ("y = [{}] * n\ny[0][1] = x\nreturn y", 3, "the `*` repeats one and the same row"),
        ("y = [n * [0]] * n\ny[0][1] = x\nreturn y", 3, "the `*` repeats one and the same row"),
        ("y = [list(x)] * n\ny[0][1] = x\nreturn y", 3, "the `*` repeats one and the same row"),
        ("return 0 <= x & n", 3, "Python computes `&` and `|` before `<`, `>=` and `==`. Put e"),
        ("return x + 2 ^ n", 3, "`^` combines the bits of whole numbers. In Python a power is"),
        ("x.T\nreturn x * n", 3, "a value is computed and not kept"),
        ("x\nreturn x * n", 3, "a value is computed and not kept"),
        ("-x\nreturn x * n", 3, "a value is computed and not kept"),
        ("x and n\nreturn x * n", 3, "a value is computed and not kept"),
        ("abs(x) + n\nreturn x", 3, "a value is computed and not kept"),
        ("x[0, 1]\nreturn x * n", 3, "a value is computed and not kept"),
        (
            "random.shuffle(x)\nreturn x * n",
            3,
            "a random number is drawn. The result must depend on the argu",
        ),
        (
            "np.random.shuffle(x)\nreturn x * n",
            3,
            "a random number is drawn. The result must depend on the argu",
        ),
        (
            "random.sum(x)\nreturn x * n",
            3,
            "a random number is drawn. The result must depend on the argu",
        ),
        ("x.dot(n)\nreturn x", 3, "a value is computed and not kept"),
        ("numpy.exp(x)\nreturn x * n", 3, "a value is computed and not kept"),
        ("x.replace(1, n)\nreturn x", 3, "a value is computed and not kept"),
        (
            "y = np.nonzero(x > n)\nreturn min(y)",
            3,
            "the result is a tuple with an array of places for each axis,",
        ),
        (
            "y = np.nonzero(x > n)\nreturn sum(y)",
            3,
            "the result is a tuple with an array of places for each axis,",
        ),
        (
            "return np.transpose(x, (-2, -1)) * n",
            3,
            "NumPy's `transpose` does not exchange two axes, as PyTorch's",
        ),
        (
            "return x.transpose((0, 1)) * n",
            3,
            "NumPy's `transpose` does not exchange two axes, as PyTorch's",
        ),
        ("x = n", 0, "Your code never uses its argument `x`."),
        (
            (
                "seen = {}\nfor i, t in enumerate(x):\n    seen[t] = i\n    j = seen.get(n)\n    "
                "while j:\n        n += 1\nreturn n"
            ),
            7,
            "`j` counts as false if it is None, and also if it is 0",
        ),
        (
            "return np.sum(x, n, x)",
            3,
            "the second argument of `np.sum` is the axis, not another arr",
        ),
        (
            "np.random.seed()\nreturn x * n * np.random.rand()",
            3,
            "a random number is drawn. The result must depend on the argu",
        ),
        (
            "return np.random.default_rng().normal() * x * n",
            3,
            "a random number is drawn. The result must depend on the argu",
        ),
        (
            "return numpy.random.rand() * x * n",
            3,
            "a random number is drawn. The result must depend on the argu",
        ),
        ("return x * RATE", 0, "Your code never uses its argument `n`."),
        ("return Q.T * heads", 3, "`heads` is a variable of the notebook"),
        (
            "return sum(x, len(x)) + n",
            3,
            "Python's `sum` adds up the entries of its first argument alo",
        ),
    ],
)
def test_a_slip_is_found_in_each_of_its_forms(code, line, words):
    slip = find_slip(*code.split("\n"))
    assert slip.line == line and words in slip.means


@pytest.mark.parametrize(
    "code",
    [
        "return np.random.default_rng(n).normal() * x",
        "return random.Random(n).random() * x",
        "return x.sort() or n",
        "y = [[0] * n] * n\ny[0].append(x)\nreturn y",
        "for i in x:\n    if i < n:\n        break\n    return i",
        "def g(y):\n    for i in y:\n        return i\nreturn g(x) * n",
        "y = (\n    x,\n)\nreturn y * n",
        "y=-n\nreturn x + y",
        "return x ^ n",
        "return x ^ True + n",
        "return 2 * x ^ n",
        "return x ^ n * 2",
        "return n & 1 in x",
        "return n - 1 == x",
        "y = [[0], [1]] * n\ny[0][1] = x\nreturn y",
        "y = [[0]] * n\nreturn y + x",
        "abs(x)\nreturn x * n",
        "x[0]\nreturn x * n",
        "np.apply_along_axis(n, x)\nreturn x",
        "np.save('f', x)\nreturn x * n",
        "np.set_printoptions(precision=n)\nreturn x",
        "np.add.at(x, 0, n)\nreturn x",
        "ax.view(30, n)\nreturn x",
        "plt.clip(n)\nreturn x",
        "x.insert(0, n)\nreturn x",
        "x.dot(n, x)\nreturn x",
        "show(x)\nreturn x * n",
        "y = np.nonzero(x > n)\nreturn abs(y)",
        "y = np.where(x > n)\nreturn y[2]",
        "return n ** 1 / x",
        "return 2 ** -2 * 3 * n * x",
        "return n ** -2 * x",
        "return 100 ** 2 * n * x",
        "return x / 2 - n",
        "return x / 1 * n",
        "return x.transpose(0, 1, 2) * n",
        "return x.transpose() * n",
        "if n:\n    x = n\nreturn x * n",
        "print(x)\nx = n\nreturn x",
        "x: int = n\nreturn x",
        (
            "seen = {}\nfor i, t in enumerate(x):\n    seen[t] = i\n    j = seen.get(n)\n    "
            "if j is None:\n        n += 1\nreturn n"
        ),
        (
            "seen = {}\nfor i, t in zip(x, x):\n    seen[t] = i\n    j = seen.get(n)\n    if "
            "j:\n        n += 1\nreturn n"
        ),
        (
            "other, seen = {}, {}\nfor i, t in enumerate(x):\n    seen[t] = i\n    j = "
            "other.get(n)\n    if j:\n        n += 1\nreturn n"
        ),
        "for i in range(n - 1):\n    x[1 + i] = 0\nreturn x",
        "for i in range(n - 1):\n    x[n - i] = 0\nreturn x",
        "for i in range(n - 1):\n    x[-i] = 0\nreturn x",
        "for i in range(n - 2):\n    x[i] = 0\nreturn x",
        "for i in reversed(n - 1):\n    x[i] = 0\nreturn x",
        "return x * np.add + n",
        "return x * layer(n)",
        "return sum(x, 0) * n",
        "return sum(x, n * 2)",
        "return x.sum(x, n)",
        "return math.sum(x, n)",
        "_y = x * n\nreturn x",
        "y[0] = n\nreturn x * y",
        "y += n\nreturn x",
        "return locals()",
        "return x * heads * n",
        "return x * names * n",
        "return [Q for Q in x] * n",
        "return lambda Q: Q * x * n",
        "global Q\nQ = n\nreturn Q * x",
        "return f(x, n)",
        "return x.sum(axis=1, keepdims=n)",
    ],
)
def test_code_that_only_looks_like_a_slip_has_none(code):
    assert find_slip(*code.split("\n")) is None


# A line with each slip, the gravest first. Those of the first part may cause a misconception.
CAUSES = {
    "for i in x:\n    return i": "ends in its first turn",
    "y = x.sort()": "the value is None",
    "y = n,": "the comma at the end",
    "y =- n": "Python reads `=-`",
    "y = [[n]] * n\ny[0][0] = 1": "repeats one and the same row",
    "x.T": "a value is computed and not kept",
    "y = x.transpose(0, 1)": "So nothing changes.",
    "y = x.repeat(n, 1)": "this repeats along axis 1",
}
OTHERS = {
    "x = 1": "the argument `x` gets another value",
    "y = x.sum(axis=1)": "`axis=1` is the last axis of a matrix",
    "y = x & n > 0": "Put each comparison into brackets",
    "z = np.nonzero(x > 1)\ny = len(z)": "the result is a tuple",
    "y = n ** 1 / 2": "the power ends before",
    "y = n / 1 - 2": "the division ends before",
    "y = np.max(x, n * x)": "the second argument of `np.max` is the axis",
    "y = layer @ x": "was not called",
    "y = np.add(x, n, x)": "`np.add` computes with 2 arrays",
    "y = np.random.rand()": "a random number is drawn",
    "y = x @ Q": "is a variable of the notebook",
    "y = n ^ 2": "`^` combines the bits",
    "y = sum(x, n)": "the second argument is the start",
    "unused = n": "gets a value that is never used",
    "for i in range(n - 1):\n    x[i] = 0": "`i` runs from 0 to n - 2",
}


@pytest.mark.parametrize("slips", [CAUSES, OTHERS, dict([*CAUSES.items()][-1:]) | OTHERS])
def test_of_two_slips_the_graver_is_told(slips):
    for (first, words), second in pairwise(slips.items()):
        lines = [*second[0].split("\n"), *first.split("\n"), "return x, y, n"]
        if first == "x = 1":
            lines = [first, *second[0].split("\n"), "return x, y, n"]
        slip = find_slip(*lines, raises_error=True, fails_with_more_axes=True)
        assert words in slip.means


@pytest.mark.parametrize("code", [*CAUSES, *OTHERS])
def test_beside_a_misconception_a_slip_is_told_if_it_can_be_the_cause(code):
    lines = (*code.split("\n"), "return x, y, n, i")
    options = {"raises_error": True, "fails_with_more_axes": True}
    slip = find_slip(*lines, has_misconception=True, **options)
    if code in CAUSES or code.startswith("unused"):
        assert {**CAUSES, **OTHERS}[code] in slip.means and slip.is_certain
    else:
        assert slip is None


@pytest.mark.parametrize(
    "lines",
    [
        ["import torch", "return x.repeat(n, 1)"],
        ["import torch.nn as nn", "return x.repeat(n, 1)"],
        ["from torch import nn", "return x.repeat(n, 1)"],
        ["from torch.nn import Linear", "return x.repeat(n, 1)"],
        ["from keras import ops as o", "return x.repeat(n, 1)"],
    ],
)
def test_methods_may_be_those_of_tensors_however_their_package_is_imported(lines):
    assert find_slip(*lines, raises_error=True) is None
    for line in ("import math", "from . import math"):
        assert find_slip(line, lines[1], raises_error=True) is not None


def test_a_name_of_the_function_itself_is_not_that_of_the_notebook():
    for line in ("layer(x)", "x @ layer", "x @ Q"):
        name = "Q" if "Q" in line else "layer"
        assert find_slip(f"y = {line}", "return y, n", head=f"def f(x, {name}, n=1):") is None
    assert find_slip("layer(x)", "return n", head="def f(x, layer, n):") is None
    assert find_slip("for layer in n:", "    layer(x)", "return x") is None
    assert find_slip("def append(y):", "    return y", "return np.array(n.append(x))") is None
    assert find_slip("return x, n,") is None


@pytest.mark.parametrize("method", ["sort", "append", "extend", "reverse", "shuffle"])
def test_each_method_that_gives_none_is_known_as_a_value_and_as_an_argument(method):
    assert f"`.{method}` changes" in find_slip(f"y = [n].{method}(x)", "return y").means
    slip = find_slip(f"y = np.array([n].{method}(x))", "return y")
    assert slip.means.endswith(f", an argument is None. {explain_in_place_call('.' + method)}")


def test_names_that_the_function_never_uses_are_listed():
    assert find_slip("return 7").unused_names == ("x", "n")
    assert find_slip("return n", head="def f(n, *, y=1, z=2):").unused_names == ("y", "z")
    assert find_slip("return n", unused_arguments=("y",), head="def f(n, y, z):").unused_names == (
        "z",
    )
    text = find_slip("return Q", raises_error=True).means
    assert text.endswith(" Your code does not use `x` and `n`, which are among its arguments.")
    assert find_slip("return x[: names[0]] + n", raises_error=True) is None
    assert find_slip("return x[:RATE] + n", raises_error=True) is None


def test_an_axis_counted_from_the_start_is_named_if_only_more_axes_fail():
    lines = ["y = x.sum(axis=1) + x.shape[1]", "return y * n"]
    assert find_slip(*lines) is None
    slip = find_slip(*lines, fails_with_more_axes=True)
    assert "`axis=1` is the last axis of a matrix, but the middle one of" in slip.means
    slip = find_slip("return n * x.shape[2]", fails_with_more_axes=True)
    assert "`x.shape[2]` is the last of three axes, but not of four." in slip.means
    assert find_slip("return n * x.sum(axis=-1) + x.shape[0]", fails_with_more_axes=True) is None
    slip = find_slip("return abs(x.sum(axis=2)) * n + x.shape[1]", fails_with_more_axes=True)
    assert slip.means.endswith("but not of four. The last axis is always axis -1.")


def test_a_range_that_leaves_out_the_last_index_is_named():
    slip = find_slip("for i in range(n - 1):", "    x[i] = 0", "return x")
    assert "`i` runs from 0 to n - 2" in slip.means and not slip.is_certain
    assert find_slip("for i in range(n - 1):", "    x[i] = x[i + 1]", "return x") is None
    assert find_slip("for i in range(1, n - 1):", "    x[i] = 0", "return x") is None


CLASS = "class Row:\n    def reverse(self):\n        return self\n"
MAKER = "def make_row():\n    class Row:\n        def reverse(self):\n            return self\n"


@pytest.mark.parametrize("definition", [CLASS, MAKER, "row = type('R', (), {'reverse': f})()\n"])
def test_a_method_of_the_notebook_may_return_a_value(definition):
    function = define_in_cell("\ndef f(x):\n    x = x.reverse()\n    return x\n")
    exec(definition.replace("reverse", "rotate"), function.__globals__)
    assert "the value is None" in find_source_slip(function).means
    exec(definition, function.__globals__)
    assert find_source_slip(function) is None


def test_a_method_that_the_function_itself_defines_may_return_a_value():
    body = [f"    {line}" for line in CLASS.splitlines()]
    function = define_in_cell(
        "\n".join(["", "def f(x):", *body, "    return Row().reverse() + x", ""])
    )
    assert find_source_slip(function) is None
    body = [line.replace("reverse", "round") for line in body]
    function = define_in_cell(
        "\n".join(["", "def f(x):", *body, "    y = Row()", "    y.round()", "    return x", ""])
    )
    assert find_source_slip(function) is None


@pytest.mark.parametrize("name", ["torch", "keras.ops"])
def test_methods_of_tensors_are_not_taken_for_those_of_arrays(name):
    lines = ["return x.transpose(-2, -1).repeat(n, 1)"]
    assert "nothing changes" in find_slip(*lines).means
    function = define_in_cell("\ndef f(x, n):\n    " + lines[0], module=ModuleType(name))
    assert find_source_slip(function, raises_error=True) is None
    lines.insert(0, f"import {name}")
    assert find_slip(*lines, raises_error=True) is None


@pytest.mark.parametrize("lines", [["return x + n^2"], ["n ^= 2", "return x + n"]])
def test_a_power_written_as_a_combination_of_bits_is_not_certain(lines):
    slip = find_slip(*lines)
    assert "`^` combines the bits" in slip.means and not slip.is_certain
    assert "`Q` is a variable" in find_slip("return Q @ x ^ 2").means


def test_no_reference_and_no_right_variant_has_a_certain_slip():
    for name in ("training", "gpt-2", "long-contexts"):
        for exercise in read_lab(COURSE, name).exercises.values():
            for function in (exercise.reference, *exercise.variants):
                slip = find_source_slip(function)
                assert slip is None or not slip.is_certain, function


def test_a_default_that_the_function_changes_is_named():
    slip = find_slip("y.append(x)", "return y", head="def f(x, y=[]):")
    assert "The default `[]` of `y` is made only once" in slip.means
    assert find_slip("return [*y, x]", head="def f(x, y=[]):") is None
    slip = find_slip("z['a'] = x", "return z", head="def f(x, *, y=1, z={}, n):")
    assert "The default `{}` of `z` is made only once" in slip.means
    slip = find_slip("z.append(x)", "return z", head="def f(x, y=1, z=[], /):")
    assert "The default `[]` of `z`" in slip.means
    assert find_slip("z.append(x)", "return z + y", head="def f(x, z, y=[]):") is None


def test_a_loop_that_ends_at_once_is_asked_when_it_should_end():
    slip = find_slip("while True:", "    x = x * n", "    return x")
    assert slip.nudge == "After which turn should the loop end?"
    assert (
        find_slip("for i in x:", "    return i * n").nudge
        == "How far must the `return` be indented?"
    )


def test_what_the_function_never_uses_is_named_where_nothing_else_is():
    slip = find_slip("return x")
    assert slip.means == "Your code never uses its argument `n`." and not slip.is_certain
    assert find_slip("return x", unused_arguments=("n",)) is None
    slip = find_slip("weights = x / n", "return x")
    assert "`weights` gets a value that is never used" in slip.means and not slip.is_certain
    slip = find_slip("return Q @ x + n")
    assert "`Q` is a variable of the notebook" in slip.means and not slip.is_certain
    assert find_slip("return x * heads + n") is None
    slip = find_slip("return sum(x, n)")
    assert "the second argument is the start" in slip.means and not slip.is_certain
    assert find_slip("return sum([x, n], 0)") is None
    assert "Your code does not use `n`" in find_slip("return x * heads").means


def test_what_is_suspect_only_beside_an_error_is_named_only_there():
    slip = find_slip("return x.repeat(n, 1)", raises_error=True)
    assert "this repeats along axis 1" in slip.means
    assert find_slip("return np.repeat(x, n, 1) + x.repeat(n, 0)", raises_error=True) is None
    slip = find_slip("return x[:heads] + n", raises_error=True)
    assert "`heads` is a variable of the notebook" in slip.means and not slip.is_certain


@pytest.mark.parametrize(
    ("lines", "hint", "is_kept"),
    [
        (['"""Print a mask."""', "return x[: n + 1]"], "Print the mask for L = 3.", False),
        (["return np.tril(x) + n"], "Print the mask for L = 3.", True),
        (["return x[n]"], "Is there an index `[0]` too many?", False),
        (["return x[0] * n"], "Is there an index `[0]` too many?", True),
        (["return x * n"], "Is there a transpose or a `.T` too many?", False),
        (["return x.T * n"], "Is there a transpose or a `.T` too many?", True),
        (["y = np.where(x)", "return y[n]"], "Is your mask right?", True),
        (["mask = x > n", "return mask"], "Is your mask right?", True),
        (["return x * n"], "Is your mask right?", False),
        (["return x[n, 0]"], "Is there an index `[0]` too many?", False),
        *(
            ([f"return {code}"], "Is there a transpose or a `.T` too many?", True)
            for code in (
                "x.mT * n",
                "x.transpose(1, 0) * n",
                "np.swapaxes(x, 0, n)",
                "np.moveaxis(x, 0, n)",
                "np.einsum('ij->ji', x) * n",
            )
        ),
        (["return x.T * n"], "Which axis should `transpose` leave?", False),
        (["return x.transpose() * n"], "Which axis should `transpose` leave?", True),
        (["return x * n"], "Does check(layer) pass? Correct that, and let `f` call it.", True),
    ],
)
def test_a_hint_is_kept_if_the_code_has_what_it_speaks_of(lines, hint, is_kept):
    body = "".join(f"    {line}\n" for line in lines)
    function = define_in_cell(f"\ndef f(x, n=2):\n{body}")
    assert fit_hint_to_source(function, hint) == (hint if is_kept else "")


def test_a_hint_to_call_a_function_is_another_one_if_it_is_called():
    function = define_in_cell("\ndef f(x):\n    return layer(x)\n", **NOTEBOOK)
    hint = "Does check(layer) pass? Correct that, and let `f` call it."
    expected = "Which arguments does your code give `layer`, and in which order?"
    assert fit_hint_to_source(function, hint) == expected


def test_beside_a_misconception_only_its_cause_is_named():
    lines = ("y = x + n^2", "x.reshape(n, n)", "return x + y")
    assert "not kept" in find_slip(*lines, has_misconception=True).means
    assert find_slip(*lines[::2], has_misconception=True) is None


def explain_missing_result_of(*lines):
    body = "".join(f"    {line}\n" for line in lines)
    return explain_missing_result(define_in_cell(f"\ndef f(x):\n{body}"))


def test_a_result_of_none_is_explained():
    assert (
        explain_missing_result_of("x + 1") is None
    )  # "A function without a `return` line gives None."
    assert "`np.add.at` changes" in explain_missing_result_of("return np.add.at(x, 0, 1)").means
    assert "`print` shows a value" in explain_missing_result_of("return print(x)").means
    assert (
        "Perhaps no `return` line runs"
        in explain_missing_result_of("if x > 3:", "    return x").means
    )
    inner = explain_missing_result_of("def g(y):", "    return y", "g(x)")
    assert "belongs to the function that you define inside yours" in inner.means


def test_the_hint_on_a_missing_result_is_that_of_its_cause():
    slip = explain_missing_result_of("if x > 3:", "    return x")
    assert slip.line == 0 and slip.means.startswith("In this case your function gives None,")
    assert slip.nudge.startswith("Which lines run in this case? A `print` before the `return`")
    slip = explain_missing_result_of("def g(y):", "    return y", "g(x)")
    assert slip.means.endswith("so your own function has none, and gives None.")
    assert slip.nudge == "Where do you call the inner function, and what happens to its result?"
    assert explain_missing_result_of("def g(y):", "    return", "return") is None
    both = explain_missing_result_of("def g(y):", "    return y", "if x:", "    return g(x)")
    assert "Perhaps no `return` line runs" in both.means
    assert explain_missing_result(np.exp) is None


@pytest.mark.parametrize(
    ("find", "line", "words"),
    [
        (find_squeeze_of_all_axes, "y = x.squeeze()", "removes every axis of length 1."),
        (find_squeeze_of_all_axes, "y = np.squeeze(x)", "removes every axis of length 1."),
        (find_squeeze_of_all_axes, "y = numpy.squeeze(x)", "removes every axis of length 1."),
        (find_squeeze_of_all_axes, "y = x.squeezed()", None),
        (find_squeeze_of_all_axes, "y = x.squeeze(1)", None),
        (find_squeeze_of_all_axes, "y = x.squeeze(axis=1)", None),
        (find_squeeze_of_all_axes, "y = np.squeeze(x, 1)", None),
        (find_squeeze_of_all_axes, "y = np.squeeze(x, axis=1)", None),
        (find_cause_of_none, "y = x.get(3)", "gives None for a key that the dict does not have"),
        (find_cause_of_none, "y = x.get(3, 0)", None),
        (find_cause_of_none, "y = x.get(3, default=0)", None),
        (find_cause_of_none, "y = get(3)", None),
        (find_cause_of_none, "y = x.get(3).sort()", "the value is None. `.sort` changes"),
        (find_in_place_call, "y = x.append(3)", "the value is None. `.append` changes"),
        (find_in_place_call, "x.append(x.get(3))", None),
        (find_uncalled_function, "y = x @ layer", "`layer` is a function that was not called"),
        (find_uncalled_function, "y = x @ layer(x)", None),
        (find_tuple_of_places, "y = len(np.nonzero(x))", None),
    ],
)
def test_the_cause_of_an_error_is_looked_for_in_the_source(find, line, words):
    slip = find(define_in_cell(f"\ndef f(x):\n    {line}\n    return y\n", **NOTEBOOK))
    if words is None:
        assert slip is None
    else:
        assert slip.line == 3 and words in slip.means
    assert find(np.exp) is None


def test_where_none_or_a_tuple_in_an_error_comes_from_is_named():
    function = define_in_cell("\ndef f(x):\n    y = x.get(3)\n    return y + 1\n")
    assert "In line 3 of your cell" in find_cause_of_none(function).means
    function = define_in_cell("\ndef f(x):\n    y = np.nonzero(x)\n    return y - 1\n")
    assert "In line 3 of your cell" in find_tuple_of_places(function).means


def test_without_source_there_is_no_slip():
    assert find_source_slip(np.exp) is None
    assert find_source_slip(eval("lambda x: x")) is None


def test_limits_of_what_is_read():
    slip = find_slip(f"x + {'1 + ' * MAX_CODE_CHARACTERS}1", "return x * n")
    quoted = slip.means.split("`")[1]
    assert len(quoted) <= MAX_CODE_CHARACTERS + 3
    decorators = "@str\n" * MAX_DECORATOR_LINES
    assert source_slips.read_source(define_decorated(decorators), ()) is not None
    assert source_slips.read_source(define_decorated("@str\n" + decorators), ()) is None


def test_a_long_function_is_not_read():
    lines = ["x.reshape(n)"] * (MAX_SOURCE_LINES - 2)
    assert find_slip(*lines, "return x") is not None
    assert find_slip(*lines, "x + n", "return x") is None


def define_decorated(decorators):
    function = define_in_cell(f"\ndef f(x):\n    return x\n# {len(decorators)}\n")
    source = f"{decorators}def f(x):\n    return x\n"
    name = f"<decorated {len(decorators)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    function.__code__ = function.__code__.replace(co_filename=name, co_firstlineno=1)
    return function


@pytest.mark.parametrize(
    ("source", "words", "hint"),
    [
        (
            "def softmax(x, axis=0):\n    for i in range(3):\n        return np.exp(x) - i\n",
            "`return np.exp(x) - i`, the `return` is inside the loop",
            "How far must the `return` be indented?",
        ),
        (
            "def softmax(x, axis=0):\n    e = np.exp(x)\n    e / e.sum(axis)\n    return e\n",
            "a value is computed and not kept",
            "Which name should the result get, and where is it used?",
        ),
        (
            "def softmax(x, axis=0):\n    e = np.exp(x)\n    return e.sort()\n",
            "`.sort` changes its object in place and returns None.",
            "",
        ),
        (
            "def softmax(x, axis=0):\n    return np.exp(x) / np.exp(Q).sum(axis, keepdims=True)\n",
            "`Q` is a variable of the notebook: it is the same in every call.",
            "",
        ),
        (
            "def merge_heads(x):\n"
            "    parts = np.split(x, x.shape[1], axis=1)\n"
            "    return np.concatenate(parts, axis=-1).squeeze()\n",
            "`squeeze` without an axis removes every axis of length 1. The numbers are right",
            "Which of them does the docstring ask for?",
        ),
        (
            "def softmax(x, axis=0):\n    return np.where(x > x.min(), x + axis, -np.inf)\n",
            "you write -inf yourself, and your result holds it.",
            "Which numbers are expected in these places?",
        ),
        (
            "def softmax(x, axis=0):\n    return np.exp(x + axis) @ layer\n",
            "`layer` is a function that was not called: its brackets are missing.",
            "",
        ),
    ],
)
def test_a_check_names_the_slip(source, words, hint, capsys):
    with pytest.raises(CheckFailed):
        check(define_in_cell(source, **NOTEBOOK))
    output = capsys.readouterr().out
    assert words in output and hint in output


def test_an_infinite_number_that_the_code_writes_is_named_with_its_sign():
    function = define_in_cell("\ndef f(x):\n    return np.where(x, -np.inf, x)\n")
    assert "you write -inf yourself" in find_written_infinity(function, "-inf").means
    assert find_written_infinity(function, "inf") is None
    function = define_in_cell("\ndef f(x):\n    return np.where(x, float('inf'), x)\n")
    assert "you write inf yourself" in find_written_infinity(function, "inf").means
    assert find_written_infinity(function, "-inf") is None


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("np.inf", "inf"),
        ("numpy.inf", "inf"),
        ("math.inf", "inf"),
        ("-math.inf", "-inf"),
        ("-numpy.inf", "-inf"),
        ("float('inf')", "inf"),
        ("float('-inf')", "-inf"),
        ("-float('inf')", "-inf"),
        ("torch.inf", None),
        ("np.info", None),
        ("x.inf", None),
    ],
)
def test_an_infinite_number_is_found_as_it_may_be_written(code, number):
    function = define_in_cell(f"\ndef f(x):\n    return x * {code}\n")
    for each in ("inf", "-inf"):
        slip = find_written_infinity(function, each)
        assert (slip is not None) == (each == number)
        if slip:
            assert f"you write {number} yourself" in slip.means
            assert slip.nudge == "Which numbers are expected in these places?"
    assert find_written_infinity(np.exp, "inf") is None


def test_a_hint_on_transpose_is_given_to_code_that_has_one():
    hint = "Which of the four axes should `transpose` leave alone?"
    assert fit_hint_to_source(define_in_cell("\ndef f(x):\n    return x + 1\n"), hint) == ""
    function = define_in_cell("\ndef f(x):\n    return x.transpose()\n")
    assert fit_hint_to_source(function, hint) == hint


def test_a_result_of_nan_is_explained_without_its_consequences(capsys):
    source = (
        "def adam_step(parameter, gradient, mean, square, step, rate=1e-3, beta_1=0.9, "
        "beta_2=0.999, epsilon=1e-8):\n"
        "    new_mean = beta_1 * mean + (1 - beta_1) * gradient\n"
        "    new_square = beta_2 * square + (1 - beta_2) * gradient**2\n"
        "    root = np.sqrt(new_square - step - rate) + epsilon\n"
        "    return parameter - rate * new_mean / root, new_mean, new_square\n"
    )
    with pytest.raises(CheckFailed):
        check(define_in_cell(source))
    output = capsys.readouterr().out
    assert "a root is taken of a negative number, which gives nan." in output
    assert "does not depend" not in output


def test_a_step_without_effect_is_named_before_the_misconception(capsys):
    source = (
        "def calculate_weights(queries, keys):\n"
        "    scores = queries @ keys.transpose(-2, -1) / np.sqrt(keys.shape[-1])\n"
        "    return stable_softmax(scores, axis=-1)\n"
    )
    functions = vars(read_lab(COURSE, "qkv-attention").reference)
    with pytest.raises(CheckFailed):
        check(define_in_cell(source, **functions))
    output = capsys.readouterr().out
    assert output.index("nothing changes.") < output.index("The keys were not transposed")


def test_a_misconception_is_shown_without_a_hint_on_code_that_is_not_there(capsys):
    source = (
        "def dot_product_self_attention(q, k, v, scale=True):\n"
        "    parts = []\n"
        "    for t in range(q.shape[1]):\n"
        "        row = q[:, t : t + 1], k[:, : t + 2], v[:, : t + 2]\n"
        "        parts.append(dot_product_attention(*row, scale=scale))\n"
        "    return np.concatenate(parts, axis=1)\n"
    )
    functions = vars(read_lab(COURSE, "attention-masks").reference)
    with pytest.raises(CheckFailed):
        check(define_in_cell(source, **functions))
    output = capsys.readouterr().out
    assert "Each position also sees the one that comes right after it." in output
    assert "Print the mask" not in output


def test_an_unused_argument_that_the_case_does_not_give_leaves_a_question(capsys):
    source = (
        "\ndef softmax(x, axis=0):\n    y = np.abs(x)\n"
        "    return y / np.sum(y, axis=0, keepdims=True)\n"
    )
    with pytest.raises(CheckFailed, match="Your code never uses its argument `axis`"):
        check(define_in_cell(source))
    assert (
        "The case above does not give `axis`. Is something else wrong in it, too?"
        in capsys.readouterr().out
    )


def test_a_variable_that_is_never_used_is_named_beside_the_misconception(capsys):
    source = (
        "\ndef stable_softmax(x, axis=0):\n    shifted = x - np.max(x, axis=axis, keepdims=True)\n"
        "    y = np.exp(x)\n    return y / np.sum(y, axis=axis, keepdims=True)\n"
    )
    with pytest.raises(CheckFailed, match="`shifted` gets a value that is never used"):
        check(define_in_cell(source))
    assert "What may be subtracted from every number" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("head", "line", "name", "code"),
    [
        ("def f(x, n=[]):", "n.append(x)", "n", "[]"),
        ("def f(x, m, n=[], k=2):", "n[0] = x", "n", "[]"),
        ("def f(x, /, n={}):", "n[x] = 1", "n", "{}"),
        ("def f(x, *, m, n={1}, k=None):", "n.add(x)", "n", "{1}"),
        ("def f(x, m=[], n={}):", "n.update(x)", "n", "{}"),
        ("def f(x, m=[], n={}):", "m.sort()", "m", "[]"),
        ("def f(x, n=[]):", "y = n + [x]", None, ""),
        ("def f(x, n=[]):", "n = n[1:]", None, ""),
        ("def f(x, n=[]):", "y = n[0]", None, ""),
        ("def f(x, n=2):", "x.append(n)", None, ""),
        ("def f(x, n=()):", "n[0] = 1", None, ""),
        ("def f(x, m=[], n=2):", "n[0] = 1", None, ""),
    ],
)
def test_only_a_default_that_the_function_changes_is_named(head, line, name, code):
    source = source_slips.read_source(define_in_cell(f"\n{head}\n    {line}\n    return x\n"), ())
    slip = source_slips._find_mutable_default(source)
    if name is None:
        assert slip is None
    else:
        assert slip.means == (
            f"The default `{code}` of `{name}` is made only once, and your function changes it: the "
            "next call finds what this one has put into it."
        )
        assert slip.nudge == f"Where can your function make a new `{code}` in each call?"
