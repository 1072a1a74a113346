"""Test functions that are made from the test cells of a notebook."""

import ast

import pytest

from course_import.extracted_tests import NotebookDefinitions, may_affect_later_assertions
from course_import.nbgrader_source import SourceCell

FIGURE = """import matplotlib.pyplot as plt
from autograder.judging.function_tests import call_in_same_process
import matplotlib.pyplot
matplotlib.pyplot.close("all")
"""
EXPECT_ERROR = "from autograder.judging.function_tests import expect_error\n"
SAME_PROCESS = "from autograder.judging.function_tests import call_in_same_process\n"


def extract(
    source, lines, given="", earlier="", subject="f", variables=(), hidden=False, solution=""
):
    """Return the test function that a test cell gives; the students write f and g."""
    cells = [SourceCell(1, "given", given), SourceCell(2, "test", earlier)]
    cells.append(SourceCell(3, "solution", solution))
    cell = SourceCell(20, "test", source)
    definitions = NotebookDefinitions([*cells, cell], {"f", "g"})
    test = definitions.make_test(cell, {*lines}, hidden, subject, [*variables])
    if test:
        compile(test.source, "<test>", "exec")  # a name twice among the parameters is no Python
    return test


def indent(text):
    return "".join(f"    {line}\n" for line in text.strip("\n").split("\n"))


@pytest.mark.parametrize(
    ("source", "lines", "given", "parameters", "body"),
    [
        ("x = 2\ny = 3\nassert f(x) == k\nassert g(y)", [3], "", "f, k", "x = 2\nassert f(x) == k"),
        ("assert f(g(2)) > 0", [1], "", "f, g", "assert f(g(2)) > 0"),
        ("f(1) == 2", [1], "", "f", "assert f(1) == 2"),
        ("assert type(f(1)) is int", [1], "", "f", "assert f(1).__class__ is int"),
        ("for i in range(3):\n    assert f(i) == i", [2], "", "f",
         "for i in range(3):\n    assert f(i) == i"),
        ("with pytest.raises(ValueError, match='no'):\n    f(-1)", [1, 2], "", "f",
         f"{EXPECT_ERROR}with expect_error(ValueError, match='no'):\n    f(-1)"),
        ("with self.assertRaisesRegex(ValueError, 'no'):\n    f(-1)", [2], "", "f",
         f"{EXPECT_ERROR}with expect_error(ValueError, match='no'):\n    f(-1)"),
        ("assert dir(f(1)) == [1] and type('X', (), {}) and k.type(f(1))", [1], "", "f, k",
         f"{SAME_PROCESS}assert call_in_same_process(f, dir, f(1)) == [1] "
         "and type('X', (), {}) and k.type(f(1))"),
        ("with pytest.raises(ValueError) as e, open(k):\n    f(-1)", [2], "", "f, k",
         f"{EXPECT_ERROR}with expect_error(ValueError) as e, open(k):\n    f(-1)"),
        ("with assert_raises(ValueError, msg='a'):\n    f(-1)", [2], "", "f",
         f"{EXPECT_ERROR}with expect_error(ValueError):\n    f(-1)"),
        ("with warnings.catch_warnings():\n    warnings.simplefilter('error')\n    assert f(1)",
         [3], "import warnings", "f",
         "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('error')\n"
         '    import numpy\n    numpy.seterr(divide="warn", over="warn", invalid="warn")\n'
         "    assert f(1)".replace('"', "'")),
        ("assert f(floor(1)) == join(none)", [1], "from math import *\nfrom os.path import *",
         "f, none", "from math import floor\nfrom os.path import join\n"
         "assert f(floor(1)) == join(none)"),
        ("assert f(x)", [1], "@cache\ndef x():\n    return y\ny = 2", "f, cache, y",
         "@cache\ndef x():\n    return y\nassert f(x)"),
        ("def check(v):\n    assert f(v) == k\nk = 2\nm = 3\ncheck(1)\nprint(m)", [2], "", "f",
         "def check(v):\n    assert f(v) == k\nk = 2\ncheck(1)"),
        ("a = []\nf(a)\ng(a)\nh(a)\nprint(a)\nb = f(b)\nassert a == [2]", [7], "", "f, h, g",
         "a = []\nf(a)\ng(a)\nh(a)\nassert a == [2]"),
        ("out = open(k)\nwith stdout(out):\n    f(1)\nwith stdout(i):\n    f(2)\nassert out == 1",
         [6], "", "f, k, stdout", "out = open(k)\nwith stdout(out):\n    f(1)\nassert out == 1"),
        ("sys.stdout = out = k()\nf(1)\nsys.stdout = sys.__stdout__\nassert out.text == 'x'", [4],
         "import sys", "f, k", "import sys\nsys.stdout = out = k()\nf(1)\n"
         "sys.stdout = sys.__stdout__\nassert out.text == 'x'"),
        ("fig, ax = plt.subplots()\nf(ax)\nassert ax.get_title() == 'x'", [3],
         "import matplotlib.pyplot as plt", "f",
         f"{FIGURE}fig, ax = call_in_same_process(f, plt.subplots)\nf(ax)\n"
         "assert ax.get_title() == 'x'"),
        ("s = f(0)\nfor i in k:\n    s.push(i)\nfor i in k:\n    assert s\nif k:\n    pass\nelse:\n"
         "    s.pop()\nassert s.n == 3", [10], "", "f, k",
         "s = f(0)\nfor i in k:\n    s.push(i)\nif k:\n    pass\nelse:\n    s.pop()\n"
         "assert s.n == 3"),
        ("g = len\nassert f(2)", [2], "", "f", "assert f(2)"),
        ("f(ax)\nassert plt.gca().get_title() == 'x'", [2], "import matplotlib.pyplot as plt",
         "f, ax", f"{FIGURE}f(ax)\nassert call_in_same_process(f, plt.gca).get_title() == 'x'"),
        ("assert 'for' in inspect.getsource(f)", [1], "import inspect", "f",
         f"import inspect\n{SAME_PROCESS}"
         "assert 'for' in call_in_same_process(f, inspect.getsource, f)"),
    ],
)  # fmt: skip
def test_a_test_has_what_its_assertion_needs(source, lines, given, parameters, body):
    test = extract(source, lines, given)
    assert test.source == f"def f_in_20({parameters}):\n{indent(body)}"
    assert (test.name, test.subject, test.variables, test.hidden) == ("f_in_20", "f", [], False)


@pytest.mark.parametrize(
    ("call", "subject", "variables", "parameters", "values", "helpers"),
    [
        ("helper(f(1)) == 2", "f", [], "f, g", [], ["g"]),
        ("helper(1) == 2 and g(1)", "g", [], "g", [], []),
        ("helper(a) == 2", "", ["a"], "answer, g", [], ["g"]),
        ("helper(f(k)) == 2", "f", [], "f, k, g", ["k"], ["g"]),
    ],
)
def test_a_function_of_the_notebook_may_call_one_of_students(
    call, subject, variables, parameters, values, helpers
):
    """Regression: such a function stood twice among the parameters, and the test was lost."""
    given = "import math\ndef helper(x):\n    return math.floor(x) + g(1)"
    test = extract(f"assert {call}", [1], given, subject=subject, variables=variables)
    assert test.source.startswith(f"def {subject or 'answer'}_in_20({parameters}):\n")
    assert (test.values, test.helper_functions) == (values, helpers)
    assert "    import math\n" in test.source and "    def helper(x):\n" in test.source


def test_variables_are_read_from_the_answer():
    test = extract("assert a > b\nassert a < 9", [1, 2], subject="", variables=["a", "b", "c"])
    body = 'found = answer("a", "b")\na = found["a"]\nb = found["b"]\nassert a > b\nassert a < 9'
    assert test.source == f"def answer_in_20(answer):\n{indent(body)}"
    assert test.variables == ["a", "b"]
    assert extract("assert x", [1], subject="", variables=["a"]) is None
    assert extract("assert f(1)", [3]) is None


def test_hidden_and_visible_assertions_are_apart():
    source = "# BEGIN HIDDEN TESTS\nassert f(3)\n# END HIDDEN TESTS\nassert f(4)"
    hidden, visible = (extract(source, [2, 4], hidden=hidden) for hidden in (True, False))
    assert hidden.source == "def f_in_20_hidden(f):\n    assert f(3)\n" and hidden.hidden
    assert visible.source == "def f_in_20(f):\n    assert f(4)\n" and not visible.hidden


def test_a_helper_that_only_a_solution_defines_is_not_in_a_test():
    test = extract("assert helper(f(1))", [1], solution="import math\ndef helper(x):\n    return x")
    assert test.source == "def f_in_20(f, helper):\n    assert helper(f(1))\n"
    given = "# BEGIN HIDDEN TESTS\ndef helper(x):\n    return x\n# END HIDDEN TESTS"
    assert "return x" not in extract("assert helper(f(1))", [1], given).source


@pytest.mark.parametrize(
    ("earlier", "hidden", "made"),
    [
        ("s = 3", False, None),
        ("s = f(0)\nt = s\nu = 4\ns.push(1)\nprint(s)\nt.pop()", False, "s = f(0)\ns.push(1)"),
        ("t = f(0)\ns = t", False, "t = f(0)\ns = t"),
        ("# BEGIN HIDDEN TESTS\ns = f(0)\n# END HIDDEN TESTS", False, None),
        ("# BEGIN HIDDEN TESTS\ns = f(0)\n# END HIDDEN TESTS", True, "s = f(0)"),
    ],
)
def test_an_object_that_only_tests_make_is_made_by_their_statements(earlier, hidden, made):
    source = "assert f(s) == 1"
    if hidden:
        source = f"# BEGIN HIDDEN TESTS\n{source}\n# END HIDDEN TESTS"
    test = extract(source, [1, 2], earlier=earlier, hidden=hidden)
    body = test.source.partition("\n")[2]
    assert body == indent(f"{made}\nassert f(s) == 1" if made else "assert f(s) == 1")
    assert test.values == ([] if made else ["s"])


def test_an_object_of_an_earlier_test_is_made_anew_without_its_assertions():
    test = extract("s.push(3)\nassert f(s) == 1", [2], earlier="s = f(0)\nassert s")
    body = indent("s = f(0)\ns.push(3)\nassert f(s) == 1")
    assert test.source == f"def f_in_20(f):\n{body}"


@pytest.mark.parametrize(
    ("source", "seeds"),
    [
        ("assert f(np.random.rand())", ["import numpy", "numpy.random.seed(1)"]),
        ("assert f(random.random())", ["random.seed(1)"]),
        ("np.random.seed(3); x = np.random.rand()\nassert f(x)", []),
        ("assert f(np.random.default_rng().random())", ["import numpy", "numpy.random.seed(1)"]),
        ("assert f(1)", []),
    ],
)
def test_a_test_that_draws_numbers_draws_the_same_again(source, seeds):
    test = extract(source, [1, 2], "import numpy as np, random")
    lines = [line.strip() for line in test.source.split("\n")]
    added = [line for line in lines if line == "import numpy" or "seed(1)" in line]
    assert added == seeds
    assert ("default_rng(1)" in test.source) == ("default_rng" in source)


@pytest.mark.parametrize(
    ("source", "may_affect"),
    [
        ("assert x", False),
        ("x = 1", False),
        ("x: int = 1", False),
        ("x = random.random()", True),
        ("assert np.random.rand() < 2", True),
        ("f(x)", True),
        ("print(x)", False),
        ("x == 1", False),
        ("'text'", False),
        ("import a", False),
        ("for i in x: pass", True),
        ("del x", True),
    ],
)
def test_only_some_statements_may_change_what_later_ones_assert(source, may_affect):
    assert may_affect_later_assertions(ast.parse(source).body[0]) == may_affect
