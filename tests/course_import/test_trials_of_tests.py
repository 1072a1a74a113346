"""Trials of imported tests on the notebook's own solution: what is kept, and what is lost."""

import ast
import random

import numpy as np
import pandas as pd
import pytest

from course_import.assertions import read_assertions
from course_import.extracted_tests import NotebookDefinitions, _SameProcessCallTransformer
from course_import.nbgrader_source import SourceCell
from course_import.record_calls import ZEROS_PASS, _NotebookRun, _to_value, _try_test


def try_assertion(assertion, solution):
    """Return the trial of a test that has this assertion about the function `f`."""
    namespace = {}
    exec(solution, namespace)
    test = {
        "source": f"def asks_f(f):\n    {assertion}\n",
        "subject": "f",
        "values": [],
        "variables": [],
        "helper_functions": [],
    }
    return _try_test(test, namespace, {})


@pytest.mark.parametrize("assertion", ["assert f(2) == 0", "assert abs(f(2)) < 0.1"])
def test_a_test_that_expects_zero_and_refuses_other_numbers_is_kept(assertion):
    trial = try_assertion(assertion, "def f(x):\n    return 0.0")
    assert (trial.problem, trial.is_weak, trial.expects_zeros) == ("", False, True)
    assert not try_assertion("assert f(2) == 3", "def f(x):\n    return 3").expects_zeros


@pytest.mark.parametrize("assertion", ["assert f(2) <= 0", "assert isinstance(f(2), float)"])
def test_a_test_that_zeros_and_other_numbers_pass_is_lost(assertion):
    assert try_assertion(assertion, "def f(x):\n    return 0.0").problem == ZEROS_PASS


def test_the_lines_of_a_functions_source_are_read_where_the_function_runs():
    transformer = _SameProcessCallTransformer("f")
    tree = transformer.visit(ast.parse("assert 'for' in inspect.getsourcelines(f)[0][1]"))
    assert "call_in_same_process(f, inspect.getsourcelines, f)" in ast.unparse(tree)


def test_the_attributes_of_an_object_are_listed_where_the_object_is():
    class Circuit:
        def __init__(self):
            self.currents = [1.0]

    transformer = _SameProcessCallTransformer("answer")
    assertion = ast.unparse(transformer.visit(ast.parse("assert 'currents' in dir(x)")))
    function = "from autograder.judging.function_tests import call_in_same_process"
    assert try_variable(f"{function}; {assertion}", Circuit()).problem == ""


def test_closing_a_figure_asserts_nothing():
    source = 'plt.close("all")\npyplot.close()\nf(2)'
    kinds = [assertion.kind for assertion in read_assertions(source, bare_values=True)]
    assert kinds == ["nothing", "nothing", "value"]


def try_variable(assertion, value):
    """Return the trial of a test that has this assertion about the variable `x`."""
    test = {
        "source": f"def asks_x(answer):\n    x = answer()['x']\n    {assertion}\n",
        "subject": "",
        "values": [],
        "variables": ["x"],
        "helper_functions": [],
    }
    return _try_test(test, {"x": value}, {"x": _to_value(value)})


def test_zeros_in_a_table_are_tried_too():
    zeros = pd.DataFrame({"a": [0.0, 0.0]})
    assert try_variable("assert len(x) == 2", zeros).problem == ZEROS_PASS
    assert try_variable("assert len(x) == 2", zeros + 1).problem == ""


@pytest.mark.parametrize("value", [pd.DataFrame(), [], ""])
def test_an_answer_that_is_empty_is_asked(value):
    assert try_variable("assert len(x) == 0", value).problem == ""


def extract_test(source, subject, *given):
    """Return the test function of a cell that asserts something of a function."""
    cell = SourceCell(9, "test", source, "t", 1)
    asserted_lines = {n for n, line in enumerate(source.split("\n"), 1) if "assert" in line}
    functions = {subject, "helper"}
    definitions = NotebookDefinitions([*given, cell], functions)
    return definitions.make_test(cell, asserted_lines, False, subject, [])


def test_a_name_that_a_statement_reads_and_sets_is_made_before_it():
    test = extract_test("x = [1, 2]\nt = [3, 4]\nv, t = speed(x, t)\nassert len(v) == 1", "speed")
    assert "t = [3, 4]" in test.source and test.values == []
    test = extract_test("total += speed(3)\nassert total == 7", "speed")
    assert test.values == ["total"]
    test = extract_test(
        "def ask(v):\n    return v + n\nn = 2\nassert ask(speed(1)) == 2 + n", "speed"
    )
    assert test.values == [] and "n = 2" in test.source


def test_a_test_that_replaces_a_students_function_has_no_other_to_call():
    source = (
        "kept = helper\n"
        "try:\n    helper = sum\n    assert speed(3) == 3\nfinally:\n    helper = kept"
    )
    test = extract_test(source, "speed")
    assert "helper = sum" in test.source and test.helper_functions == []


@pytest.mark.parametrize("draw", ["random.random()", "np.random.random()"])
def test_a_trial_leaves_the_random_numbers_of_the_cells_below_as_they_are(draw):
    run = _NotebookRun.__new__(_NotebookRun)  # `__init__` would watch all files of this process
    run.namespace, run.trials = {"f": lambda x: x}, []
    source = f"def asks_f(f):\n    import random, numpy as np\n    assert f({draw}) < 2\n"
    test = {"name": "asks_f", "source": source, "subject": "f"}
    test |= {"values": [], "variables": [], "helper_functions": []}
    random.seed(1)
    np.random.seed(1)
    expected = random.random(), np.random.random()
    random.seed(1)
    np.random.seed(1)
    run._try_tests([test], {})
    assert (random.random(), np.random.random()) == expected
    assert [name for name, _ in run.trials] == ["asks_f"]
