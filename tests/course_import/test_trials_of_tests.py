"""Trials of imported tests on the notebook's own solution: what is kept, and what is lost."""

import ast

import pytest

from course_import.assertions import read_assertions
from course_import.extracted_tests import _SameProcessCallTransformer
from course_import.record_calls import ZEROS_PASS, _try_test


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


def test_closing_a_figure_asserts_nothing():
    source = 'plt.close("all")\npyplot.close()\nf(2)'
    kinds = [assertion.kind for assertion in read_assertions(source, bare_values=True)]
    assert kinds == ["nothing", "nothing", "value"]
