"""An imported test means what it meant: our verdict is that of the author's assertions.

Each kind of question is imported in a small notebook and built. Then its answers, right and wrong,
are judged by the imported exercise, and by the author's own test cells.
"""

import contextlib
import io
import linecache
import re
from dataclasses import dataclass

import matplotlib.pyplot as plt
import nbformat
import pytest
from command import autograder
from nbformat.v4 import new_code_cell, new_notebook, new_output

from autograder.authoring.lab import read_labs
from autograder.core.course import read_course
from autograder.core.notebook_cells import make_grade_id
from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import call_student_function
from course_import.assertions import read_assertions

_MARK = re.compile(r"\s*### (BEGIN|END) SOLUTION\n?")


@dataclass
class Kind:
    """Question of a notebook: its solution, its test cells, and answers, right and wrong."""

    solution: str
    tests: list[str]
    answers: list[str]


GIVEN = """
import io
import os
import sys
import time
import warnings
import inspect
import unittest
from collections import Counter, defaultdict
from contextlib import redirect_stdout
from pathlib import Path
import numpy as np
import pytest
tc = unittest.TestCase()
given_line = np.poly1d([3.0, 1.0])
given_data = np.arange(4500.0)
class Timer:
    def __enter__(self):
        self.start = time.perf_counter()
        return self
    def __exit__(self, *_):
        self.elapsed = time.perf_counter() - self.start
"""
# Each takes a second of processor time to import.
LARGE_PACKAGES = {"pd": "import pandas as pd", "plt": "import matplotlib.pyplot as plt"}


def define(name, parameters, *bodies):
    """Return functions of one name with these bodies."""
    sources = []
    for body in bodies:
        lines = "".join(f"    {line}\n" for line in body.split("\n"))
        sources.append(f"def {name}({parameters}):\n{lines}")
    return sources


def make_kind(name, parameters, tests, solution, *answers):
    """Return the kind of a question that asks for a function; answers are bodies of functions."""
    functions = define(name, parameters, solution, *answers)
    return Kind(functions[0], [tests] if isinstance(tests, str) else tests, functions[1:])


FORMS = {
    "an array by allclose": make_kind(
        *("double", "x", "np.testing.assert_allclose(double(np.array([1., 2.])), [2., 4.])"),
        *(
            "return 2 * np.asarray(x)",
            "return [2 * v for v in x]",
            "return tuple(2 * v for v in x)",
        ),
        *("return pd.Series(x) * 2", "return list(x)", "return [[2 * v for v in x]]"),
    ),
    "a number by ==": make_kind(
        *("half", "x", "assert half(3) == 1.5\nassert half(4) == 2.0", "return x / 2"),
        *("return x // 2 if x % 2 == 0 else x / 2", "return np.array(x / 2)", "return x // 2"),
        "return str(x / 2)",
    ),
    "a number by its distance": make_kind(
        *("near", "x", "assert abs(near(4) - 2) < 1e-6\nassert abs(near(9) - 3) < 1e-6"),
        *(
            "return float(np.sqrt(x))",
            "return int(round(x ** 0.5))",
            "return np.array([np.sqrt(x)])",
        ),
        *("return x / 2", "return None"),
    ),
    "a list after a conversion": make_kind(
        *(
            "squares",
            "n",
            "assert list(squares(3)) == [0, 1, 4]",
            "return [i * i for i in range(n)]",
        ),
        *(
            "return tuple(i * i for i in range(n))",
            "return np.arange(n) ** 2",
            "return list(range(n))",
        ),
        "return n",
    ),
    "a tuple by ==": make_kind(
        *("pair", "n", "assert pair(3) == (3, 4)\nassert pair(5) == (5, 6)", "return (n, n + 1)"),
        *("return (float(n), n + 1)", "return [n, n + 1]", "return (n, n)"),
    ),
    "a variable": Kind(
        "vec = np.array([1.0, 2.0, 3.0])",
        ["np.testing.assert_array_almost_equal(vec, [1, 2, 3])"],
        ["vec = [1, 2, 3]", "vec = pd.Series([1., 2., 3.])", "vec = [1, 2]", "vec = [1, 2, 4]"],
    ),
    "a Series by its labels": make_kind(
        *("means", "df"),
        "r = means(pd.DataFrame({'k': list('aba'), 'v': [1., 2., 3.]}))\n"
        "assert r['a'] == 2.0\nassert len(r) == 2",
        "return df.groupby('k')['v'].mean()",
        "return {k: float(df[df.k == k].v.mean()) for k in set(df.k)}",
        "return df.groupby('k')['v'].mean().sort_index(ascending=False)",
        *("return df.groupby('k')['v'].sum()", "return df.v.mean()"),
    ),
    "a type beside a value": make_kind(
        *("mean", "x", "assert mean([1, 3]) == 2.0\nassert isinstance(mean([1, 3]), float)"),
        *("return sum(x) / len(x)", "return np.mean(x)", "return int(np.mean(x))", "return max(x)"),
    ),
    "a property beside a value": make_kind(
        *("score", "s"),
        "z = score(pd.Series([1., 2., 3.]))\nassert np.allclose(z, [-1, 0, 1])\nassert abs(z.mean()) < 1e-9",
        *(
            "return (s - s.mean()) / s.std()",
            "return s.to_numpy() - s.mean()",
            "return list(s - 2)",
        ),
        "return s - 1",
    ),
    "a truth": make_kind(
        *("is_even", "n", "assert is_even(2)\nassert not is_even(3)", "return n % 2 == 0"),
        *("return 1 - n % 2", "return 'yes' if n % 2 == 0 else ''", "return True", "return n % 2"),
    ),
    "a text of NumPy's": Kind(
        "first = 'ab'",
        ["assert first == 'ab'"],
        ["first = np.array(['ab', 'c'])[0]", "first = np.array(['ab', 'c'])", "first = 'a'"],
    ),
    "a part of a list": Kind(
        "evens = list(range(0, 101, 2))",
        ["assert evens[-1] == 100\nassert evens[0] == 0"],
        ["evens = np.arange(0, 101, 2)", "evens = [0, 2, 100]", "evens = [1, 100]", "evens = []"],
    ),
    "a part of a tuple": make_kind(
        *("stats", "x", "m, s = stats(np.array([1., 3.]))\nassert m == 2.0"),
        *(
            "return float(np.mean(x)), float(np.std(x))",
            "return x.mean(), None",
            "return x.std(), x.mean()",
        ),
        "return x.mean()",
    ),
    "a table that is to be changed": make_kind(
        *("add", "d", "d = pd.DataFrame({'a': [1, 2]})\nadd(d)\nassert d['b'].tolist() == [2, 4]"),
        *(
            "d['b'] = 2 * d.a",
            "d.insert(0, 'b', d.a + d.a)",
            "d = d.assign(b=2 * d.a)",
            "d['b'] = d.a",
        ),
    ),
}
CHANGES = {
    "an argument that a test does not look at": make_kind(
        *(
            "norm",
            "v",
            "assert np.allclose(norm(np.array([1., 3.])), [0.25, 0.75])",
            "return v / v.sum()",
        ),
        *("v /= v.sum()\nreturn v", "v[:] = v / v.sum()\nreturn v", "v /= v.max()\nreturn v"),
    ),
    "an argument that a test looks at": make_kind(
        *("keep", "a", "a = [3, 1, 2]\nassert keep(a) == [1, 2, 3]\nassert a == [3, 1, 2]"),
        *("return sorted(a)", "b = a[:]\nb.sort()\nreturn b", "a.sort()\nreturn a", "return a"),
    ),
    "an argument that is to be changed": make_kind(
        *("order", "a", "a = [3, 1, 2]\norder(a)\nassert a == [1, 2, 3]", "a.sort()"),
        *("a[:] = sorted(a)", "a.sort()\nreturn a", "a = sorted(a)", "return sorted(a)"),
    ),
    "an array that is to be changed": make_kind(
        *("fill", "m", "m = np.zeros((2, 2))\nr = fill(m)\nassert np.allclose(m, np.eye(2))"),
        *(
            "np.fill_diagonal(m, 1)\nreturn m",
            "m += np.eye(len(m))",
            "m = m + np.eye(len(m))\nreturn m",
        ),
        "return m",
    ),
}
TEXTS_AND_DATES = {
    "texts": make_kind(
        *("upper", "a", "assert (upper(np.array(['a', 'bc'])) == np.array(['A', 'BC'])).all()"),
        *("return np.char.upper(a)", "return np.array([s.upper() for s in a])", "return a"),
    ),
    "dates": make_kind(
        *("after", "d"),
        "r = after(np.array(['2020-01-31'], dtype='datetime64[D]'))\n"
        "assert r[0] == np.datetime64('2020-02-01')",
        *("return d + np.timedelta64(1, 'D')", "return d + 1", "return d", "return d + 2"),
    ),
    "a date": make_kind(
        *("week", "d", "assert week(np.datetime64('2020-01-01')) == np.datetime64('2020-01-08')"),
        *(
            "return d + np.timedelta64(7, 'D')",
            "return d + 7",
            "return d",
            "return d.astype('M8[M]')",
        ),
    ),
    "durations": make_kind(
        *("gaps", "d"),
        "d = np.array(['2020-01-01', '2020-01-03'], dtype='datetime64[D]')\n"
        "assert (gaps(d) == np.array([2], dtype='timedelta64[D]')).all()",
        *("return np.diff(d)", "return d[1:] - d[:-1]", "return np.diff(d) + 1"),
    ),
}
IMAGE = """
x, y = np.random.rand(4), np.random.rand(3)
figure, axis = plt.subplots(figsize=(2, 2))
show(axis, x, y)
image = axis.get_images()[0]
np.testing.assert_allclose(image.get_array(), np.outer(x, y))
assert axis.get_xlabel() != ''
assert axis.get_xticks().tolist() == []
plt.close(figure)
"""
SHOWN = "axis.imshow(np.outer(x, y))\naxis.set_xlabel('x')\naxis.set_xticks([])"
EFFECTS = {
    "axes that the test makes": make_kind(
        *("show", "axis, x, y", IMAGE, SHOWN),
        "axis.set(xlabel='x', xticks=[])\naxis.imshow([[a * b for b in y] for a in x])",
        SHOWN.replace("np.outer(x, y)", "np.outer(y, x)"),
        SHOWN.replace("axis.set_xticks([])", ""),
        SHOWN.replace("axis", "plt.gca()"),
    ),
    "the current figure": make_kind(
        *(
            "draw",
            "y",
            "draw([3, 4])\nax = plt.gca()\nassert ax.get_xlabel() == 't'\nassert len(ax.lines) == 1",
        ),
        *(
            "plt.plot(y)\nplt.xlabel('t')",
            "fig, ax = plt.subplots()\nax.plot(y)\nax.set(xlabel='t')",
        ),
        *("plt.plot(y)", "plt.xlabel('t')"),
    ),
    "printed text": make_kind(
        *("hello", "n"),
        "buf = io.StringIO()\nwith redirect_stdout(buf):\n    hello(3)\n"
        "assert buf.getvalue() == 'hello 3\\n'",
        *(
            "print('hello', n)",
            "sys.stdout.write('hello %d\\n' % n)",
            "print('hello')",
            "return 'hello 3'",
        ),
    ),
    "printed text, by sys.stdout": make_kind(
        *("count", "n"),
        "old = sys.stdout\nsys.stdout = cap = io.StringIO()\ncount(2)\nsys.stdout = old\n"
        "assert cap.getvalue().split() == ['0', '1']",
        *(
            "for i in range(n):\n    print(i)",
            "print(*range(n))",
            "print(n)",
            "return list(range(n))",
        ),
    ),
    "the text of an error": make_kind(
        *(
            "root",
            "x",
            "assert root(4) == 2\nwith pytest.raises(ValueError, match='negative'):\n    root(-1)",
        ),
        "if x < 0:\n    raise ValueError('x must not be negative')\nreturn x ** 0.5",
        "if x < 0:\n    raise ValueError('negative number')\nreturn np.sqrt(x)",
        *("if x < 0:\n    raise ValueError('bad')\nreturn np.sqrt(x)", "return abs(x) ** 0.5"),
    ),
    "the text of an error, by unittest": make_kind(
        *(
            "root_2",
            "x",
            "tc.assertEqual(root_2(9), 3)\n"
            "with tc.assertRaisesRegex(ValueError, 'must not'):\n    root_2(-1)",
        ),
        "if x < 0:\n    raise ValueError('x must not be negative')\nreturn x ** 0.5",
        *(
            "if x < 0:\n    raise ValueError('this must not be')\nreturn x ** 0.5",
            "return abs(x) ** 0.5",
        ),
        "if x < 0:\n    raise ValueError('bad')\nreturn x ** 0.5",
    ),
    "warnings that are errors": make_kind(
        *("inverse", "x"),
        "with warnings.catch_warnings():\n    warnings.simplefilter('error')\n"
        "    r = inverse(np.array([0., 2.]))\nassert np.allclose(r, [0, 0.5])",
        "out = np.zeros_like(x)\nout[x != 0] = 1 / x[x != 0]\nreturn out",
        "return np.array([0.0 if v == 0 else 1 / v for v in x])",
        *("r = 1 / x\nr[x == 0] = 0\nreturn r", "return x"),
    ),
    "an object of several test cells": Kind(
        "class Bag:\n    def __init__(self):\n        self.n = 0\n    def add(self):\n        self.n += 1",
        ["bag = Bag()\nbag.add()\nassert bag.n == 1", "bag.add()\nassert bag.n == 2"],
        [
            "class Bag:\n    n = 0\n    def add(self):\n        self.n = self.n + 1",
            "class Bag:\n    n = 0\n    def add(self):\n        self.n = 1",
            "class Bag:\n    n = 2\n    def add(self):\n        pass",
        ],
    ),
    "a Counter": make_kind(
        *("tally", "s", "c = tally('aba')\nassert c['a'] == 2\nassert c['z'] == 0"),
        *("return Counter(s)", "c = defaultdict(int)\nfor x in s:\n    c[x] += 1\nreturn c"),
        *("return {x: s.count(x) for x in s}", "return Counter(set(s))"),
    ),
    "an object of a given cell": make_kind(
        *(
            "slope",
            "line",
            "assert slope(given_line) == 3.0\nassert slope(np.poly1d([5.0, 1.0])) == 5.0",
        ),
        *("return line.coef[0]", "return line(1) - line(0)", "return line(0)", "return 3.0"),
    ),
    "the source of a function": make_kind(
        *("total", "x"),
        "assert total(np.array([1., 2.])) == 3.0\nassert 'for' not in inspect.getsource(total)",
        *(
            "return x.sum()",
            "return np.sum(x)",
            "t = 0\nfor v in x:\n    t += v\nreturn t",
            "return 0 * x[0]",
        ),
    ),
}
ROWS_OF_RANDOM_LENGTH = """
for _ in range(5):
    n = np.random.randint(2, 9)
    noise = np.random.default_rng().normal(size=n)
    assert pair_up(noise).shape == (n, 2)
    assert abs(pair_up(noise)[:, 0] - noise).max() < 1e-9
"""
SETUPS = {
    "random numbers without a seed": make_kind(
        *("pair_up", "v", ROWS_OF_RANDOM_LENGTH, "return np.array([v, 2 * v]).T"),
        *("return np.column_stack((v, v))", "return np.array([v, v])", "return np.zeros((5, 2))"),
    ),
    "much given data": make_kind(
        *("rows", "a", "assert len(rows(given_data)) == 3\nassert rows(given_data)[0] == 1500"),
        *("return [v.size for v in np.split(a, 3)]", "return (len(a) / 3,) * 3"),
        *("return [1500]", "return [len(a)] * 3"),
    ),
    "a value that is set while a clock runs": make_kind(
        "double_up",
        "x",
        "with Timer() as timer:\n    r = double_up(np.array([1., 2.]))\nassert abs(r - [2, 4]).max() < 1e-9",
        *("return 2 * x", "return x + x", "return x", "return 2"),
    ),
}
GROUPS = {
    "setups": SETUPS,
    "forms": FORMS,
    "changes": CHANGES,
    "texts-and-dates": TEXTS_AND_DATES,
    "effects": EFFECTS,
}
SHORT_GROUPS = ("setups", "changes", "texts-and-dates")  # that `make test` runs


def write_given_cell(kinds):
    """Return the source of the given cell, which imports the large packages that these kinds use."""
    sources = [source for kind in kinds for source in (kind.solution, *kind.tests, *kind.answers)]
    text = "\n".join(sources)
    lines = [line for name, line in LARGE_PACKAGES.items() if f"{name}." in text]
    return "\n".join([*lines, GIVEN])


def make_notebook(kinds, given):
    """Return the source notebook, in nbgrader's format, of these kinds of questions."""
    cells = [new_code_cell(given)]
    for number, kind in enumerate(kinds):
        solution = f"### BEGIN SOLUTION\n{kind.solution}\n### END SOLUTION"
        cells.append(make_cell(solution, f"s{number}", solution=True))
        for index, test in enumerate(kind.tests):
            cells.append(make_cell(test, f"t{number}-{index}", grade=True, locked=True, points=1))
    return new_notebook(cells=cells)


def make_cell(source, name, points=None, **flags):
    cell = new_code_cell(source)
    about = {flag: flags.get(flag, False) for flag in ("grade", "solution", "locked", "task")}
    cell.metadata["nbgrader"] = {**about, "grade_id": name, "schema_version": 3}
    if points is not None:
        cell.metadata["nbgrader"]["points"] = points
    return cell


def run_source(source, namespace):
    """Run code whose lines `inspect` finds, as in a notebook."""
    file_name = f"<cell {abs(hash(source))}>"
    linecache.cache[file_name] = len(source), None, source.splitlines(True), file_name
    exec(compile(source, file_name, "exec"), namespace)


def count_points_of_author(kind, given, answer):
    """Return how many of the author's test cells an answer passes."""
    namespace = {"__name__": "__main__"}
    run_source(f"{given}\n{answer}", namespace)
    passed = 0
    plt.close("all")
    for test in kind.tests:
        with contextlib.suppress(BaseException):
            run_source(test, namespace)
            passed += 1
    return passed


def count_points(lab, notebook, kind, answer):
    """Return the points of an answer in the imported lab."""
    namespace = {"__name__": "__main__"}
    exercise = None
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", ())
        about = cell.metadata.get("nbgrader", {})
        source = _MARK.sub("\n", cell.source).strip()
        if about.get("solution") and source == kind.solution.strip():
            run_source(answer, namespace)
            grade_ids = {make_grade_id(name): name for name in lab.exercises}
            exercise = grade_ids[about["grade_id"]]
        elif cell.cell_type == "code" and not about.get("grade") and "illustration" not in tags:
            # A cell that collects another question's variables may raise.
            with contextlib.suppress(Exception):
                run_source(source, namespace)
    return mark_exercise(lab.exercises[exercise], namespace[exercise])


def mark_exercise(exercise, function):
    """Return an answer's points: all of them, or those of the parts whose cases are all right."""
    wrong: list[str] = []
    for test_case in [*exercise.test_cases(), *exercise.hidden_test_cases()]:
        outcome = call_student_function(function, test_case.inputs, exercise.rules.call)
        if compare_outcome(test_case.expected, outcome, exercise.rules, test_case.inputs):
            wrong.append(exercise._part_names.get(test_case.label, ""))
    if not wrong:
        return exercise.points
    if "" in wrong:
        return 0
    return sum(points for name, points in exercise.parts.items() if name not in wrong)


def import_notebook(course, notebook, name, exit_code=0):
    """Import a notebook and build its lab; return the report."""
    path = course.parent / f"{name}.ipynb"
    nbformat.write(notebook, path)
    ran = autograder("import", path, "--course", course)
    assert ran.returncode == exit_code, ran.stdout + ran.stderr
    built = autograder("build", name, "--course", course, trials=False)
    assert built.returncode == 0, built.stderr
    return ran.stdout


@pytest.mark.parametrize(
    "group",
    [
        *SHORT_GROUPS,
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in GROUPS
            if name not in SHORT_GROUPS
        ),
    ],
)
def test_our_verdict_is_that_of_the_authors_assertions(course, group):
    kinds = GROUPS[group]
    given = write_given_cell(kinds.values())
    report = import_notebook(course, make_notebook(kinds.values(), given), group)
    assert "not:" not in report and "weaker" not in report, report
    lab = read_labs(read_course(course))[group]
    notebook = nbformat.read(course / f"solutions/{group}/{group}.ipynb", 4)
    differences = []
    for name, kind in kinds.items():
        for answer in (kind.solution, *kind.answers):
            with contextlib.redirect_stdout(io.StringIO()):
                ours = count_points(lab, notebook, kind, answer)
                authors = count_points_of_author(kind, given, answer)
            if abs(ours - authors) > 0.01:
                differences.append((name, answer, ours, authors))
    assert not differences


def make_raw_cell(source):
    cell = new_code_cell(source)
    cell.cell_type = "raw"
    del cell["outputs"], cell["execution_count"]
    return cell


NOSE = """from nose.tools import (assert_equal, assert_raises,
    ok_)
assert_equal(root(4), 2)
ok_(root(9) == 3, "nine")
assert_raises(ValueError, root, -1)
"""
REFUSE = "if x < 0:\n    raise ValueError('x')\n"


def test_the_assertions_of_nose_are_asked_without_nose(course):
    solution = define("root", "x", f"{REFUSE}return x ** 0.5")[0]
    later = "assert_equal(root(16), 4)"  # that was imported in an earlier test cell
    cells = [
        *make_question(solution, NOSE),
        make_cell(later, "later", grade=True, locked=True, points=1),
    ]
    report = import_notebook(course, new_notebook(cells=cells), "roots")
    assert "2 points of 2 came over as they were" in report, report
    assert "the assertions of `nose` became those of `unittest`" in report, report
    lab = read_labs(read_course(course))["roots"]
    for body, points in (
        (f"{REFUSE}return float(x) ** 0.5", 2),
        (f"{REFUSE}return x / 2", 0),
        ("return abs(x) ** 0.5", 1),
        (f"{REFUSE}return str(x ** 0.5)", 0),
    ):
        namespace = {}
        exec(define("root", "x", body)[0], namespace)
        assert mark_exercise(lab.exercises["root"], namespace["root"]) == points, body


def test_a_name_that_a_test_sets_is_its_own_although_a_given_cell_shows_something_under_it():
    source = "fig, ax = plt.subplots()\ndraw(ax)\nassert ax.get_xlabel() == 't'"
    assertions = read_assertions(source, names_to_define={"draw", "fig", "ax"})
    assert "draw" in assertions[-1].names and "ax" not in assertions[-1].names


SLOW = """
start = time.perf_counter()
r = slow(3)
assert r == 6
assert time.perf_counter() - start < 0
"""


def test_a_test_of_the_time_fails_no_other_assertion_of_its_cell(course):
    question = make_question("def slow(n):\n    return 2 * n", SLOW)
    notebook = new_notebook(cells=[new_code_cell("import time"), *question])
    report = import_notebook(course, notebook, "clocks", exit_code=1)
    assert "asks for the time that an answer takes" in report, report
    assert "does not pass it" not in report and "1 came over with less" in report, report


OTTER = [
    make_raw_cell("# ASSIGNMENT CONFIG\ninit_cell: false"),
    new_code_cell("import otter\ngrader = otter.Notebook()"),
    new_code_cell("import numpy as np\nimport otter"),
    make_raw_cell("# BEGIN QUESTION\nname: q1\npoints: 2"),
    make_raw_cell("# BEGIN SOLUTION"),
    new_code_cell("def twice(v):\n    return 2 * np.asarray(v) # SOLUTION\nx = 1 # SOLUTION"),
    make_raw_cell("# END SOLUTION"),
    make_raw_cell("# BEGIN TESTS"),
    new_code_cell(
        'def test_twice(env):\n    assert env["x"] == 1\n    assert np.allclose(env["twice"]([1, 2]), [2, 4])'
    ),
    make_raw_cell("# END TESTS"),
    make_raw_cell("# END QUESTION"),
    new_code_cell('grader.check("q1")'),
    new_code_cell('x\ngrader.check("q1")'),
]


def test_otters_exception_format_is_asked_and_its_own_lines_are_left_out(course):
    report = import_notebook(course, new_notebook(cells=OTTER), "lists")
    assert "2 points of 2 came over as they were" in report and "not:" not in report, report
    assert "cell 9 `test-q1-1`" in report, report  # as it is numbered in the source
    released = nbformat.read(course / "notebooks/lists/lists.ipynb", 4)
    text = "\n".join(cell.source for cell in released.cells)
    assert not re.search(r"\b(otter|grader)\b", text) and "import numpy as np" in text, text
    lab = read_labs(read_course(course))["lists"]
    for body, is_right in (
        ("[2 * n for n in v]", True),
        ("np.array(v) * 2.0", True),
        ("v * 2", False),
    ):
        namespace = {}
        exec(f"import numpy as np\ndef twice(v):\n    return {body}", namespace)
        points = mark_exercise(lab.exercises["twice"], namespace["twice"])
        assert (points > 0) == is_right, body


def test_what_an_otter_test_shows_of_an_object_is_compared(course):
    shown = new_code_cell("line.deriv(1)  # the first")
    text = "poly1d([2.,\n        3.])"  # spaces as the notebook was saved with
    shown.outputs = [new_output("execute_result", {"text/plain": text}, execution_count=1)]
    cells = [
        *OTTER[:5],
        new_code_cell("line = np.poly1d([1.0, 3.0, 1.0])  # SOLUTION"),
        *OTTER[6:8],
        shown,
        *OTTER[9:11],
    ]
    report = import_notebook(course, new_notebook(cells=cells), "lines")
    assert "2 points of 2 came over as they were" in report, report
    exercise = read_labs(read_course(course))["lines"].exercises["answer_line"]
    for coefficients, points in (([1, 3, 7], 2), ([1.0, 2.0, 1.0], 0)):
        line = f"import numpy as np\nline = np.poly1d({[*map(float, coefficients)]})\n"
        namespace = {}
        exec(f"from autograder import answers\n{line}answer_line = answers('line')", namespace)
        assert mark_exercise(exercise, namespace["answer_line"]) == points, coefficients


def make_question(solution, test, name="q", **flags):
    """Return the cells of a question, in nbgrader's format."""
    return [
        make_cell(f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION", f"{name}-s", solution=True),
        make_cell(test, f"{name}-t", grade=True, locked=True, points=1),
    ]


COMPUTED_NAMES = """
import os
from pathlib import Path
folder, year = "data", 2020
first = open(os.path.join(folder, "a.csv")).read()
second = (Path("data") / "b.csv").read_text()
third = open(f"{folder}/c_{year}.csv").read()
"""


def test_files_whose_names_are_computed_come_along(course):
    (course.parent / "data").mkdir()
    for name in ("a.csv", "b.csv", "c_2020.csv", "d.csv"):
        (course.parent / "data" / name).write_text(f"{name}\n")
    question = make_question("text = first + third", "assert len(text) == 17")
    cells = [new_code_cell(COMPUTED_NAMES), *question]
    report = import_notebook(course, new_notebook(cells=cells), "reads")
    for name in ("a.csv", "b.csv", "c_2020.csv"):
        assert f"`data/{name}` came along" in report, report
    assert "d.csv" not in report


def test_a_file_with_a_computed_name_that_only_a_solution_reads_stays_with_its_author(course):
    (course.parent / "a.sol").write_text("# THE SOLUTION\n")
    (course.parent / "b.csv").write_text("1,2\n")
    solution = "texts = [open(name).read() for name in sorted(glob('*.sol') + glob('*.csv'))]"
    cells = [
        new_code_cell(
            "from glob import glob\nrows = [open(name).read() for name in glob('*.csv')]"
        ),
        *make_question(solution, "assert len(texts) == 2"),
    ]
    nbformat.write(new_notebook(cells=cells), course.parent / "reads.ipynb")
    ran = autograder("import", course.parent / "reads.ipynb", "--course", course)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "only its solution reads `a.sol`" in ran.stdout, ran.stdout
    assert "`a.sol` does not come along" in ran.stdout and "`a.sol` came along" not in ran.stdout
    assert "`b.csv` came along" in ran.stdout and "reads `b.csv`" not in ran.stdout
    assert '"a.sol"' not in (course / "course_files/reads.py").read_text("utf-8")


def test_a_second_lab_with_another_module_of_the_same_name_is_refused_before_it_is_written(course):
    for number in (1, 2):
        folder = course.parent / f"ps{number}"
        folder.mkdir()
        (folder / "utils.py").write_text(f"STEP = {number}\n")
        question = make_question(
            f"def step_{number}(n):\n    return n + utils.STEP",
            f"assert step_{number}(1) == {number + 1}\nassert step_{number}(2) == {number + 2}",
        )
        notebook = new_notebook(cells=[new_code_cell("import utils"), *question])
        nbformat.write(notebook, folder / f"ps{number}.ipynb")
    first = autograder("import", course.parent / "ps1/ps1.ipynb", "--course", course)
    assert first.returncode == 0, first.stdout + first.stderr
    before = {path: path.read_bytes() for path in course.rglob("*") if path.is_file()}
    second = autograder("import", course.parent / "ps2/ps2.ipynb", "--course", course)
    assert second.returncode not in (0, 1) or "another `utils`" in second.stderr, second.stdout
    assert "another `utils`" in second.stderr and "Nothing was written." in second.stderr
    assert {path: path.read_bytes() for path in course.rglob("*") if path.is_file()} == before


WEAKER = """
assert root(4) == 2
with pytest.raises(ValueError, match=r"x is -\\d+, negative"):
    root(-1)
with pytest.warns(UserWarning):
    root(0)
"""


def test_what_a_test_loses_is_said(course):
    solution = (
        "def root(x):\n    if x < 0:\n        raise ValueError(f'x is {x}, negative')\n"
        "    if x == 0:\n        warnings.warn('zero')\n    return x ** 0.5"
    )
    cells = [new_code_cell("import warnings\nimport pytest"), *make_question(solution, WEAKER)]
    report = import_notebook(course, new_notebook(cells=cells), "roots", exit_code=1)
    assert "of the error, only the part ', negative' of the text is asked here" in report
    assert "not: `with pytest.warns(UserWarning): root(0)` expects a warning" in report
    assert "0 points of 1 came over as they were; 1 came over with less" in report
