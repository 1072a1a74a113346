"""Assertions as comparisons of any found value with the expected one."""

import ast

import pytest

from course_import.assertions import read_assertions
from course_import.comparisons import (
    _choose_element,
    _holds_value,
    asks_for_form,
    compares_part,
    make_comparison,
)

NAMES = {"f", "x"}


@pytest.mark.parametrize(
    ("source", "comparison"),
    [
        ("f(2) == 3", "found == expected"),
        ("3 == f(2)", "expected == found"),
        ("np.allclose(f(2), [2, 3], rtol=1e-3, err_msg='no')",
         "np.allclose(found, convert_to_list(expected), rtol=0.001)"),
        ("abs(f(2) - 3) < 1e-6", "abs(found - expected) < 1e-06"),
        ("1e-6 > abs(3 - f(2))", "1e-06 > abs(expected - found)"),
        ("all(f(i) == i for i in range(3))", "found == expected"),
        ("[f(i) for i in range(3)] == [0, 1]", "found == convert_to_list(expected)"),
        ("f(1) == np.arange(3)", "found == remove_labels(expected)"),
        ("(f(1)[0], f(1)[1]) == (1, 2)",
         "(found[0], found[1]) == convert_to_list((expected[0], expected[1]))"),
        ("f(1)", "bool(found) == bool(expected)"),
        ("not f(1)", "bool(not found) == bool(not expected)"),
        ("len(f(1)) == 3", "len(found) == len(expected)"),
        ("type(f(1)) == float", "type(found) == float"),
        ("f(1).dtype == np.float64", "found.dtype == np.float64"),
        ("(f(1) == y).all()", "(found == expected).all()"),
        ("f(1).equals(y)", "found.equals(expected)"),
        ("f(1) > 3", "found > 3"),
        ("x[0] == 3", "found[0] == expected[0]"),
        ("all(f(1) == y)", "all(found == expected)"),
        ("all(all(f(i) == j for j in k) for i in k)", "found == expected"),
        ("[f(1), f(2)] == [0, 1]", "found == convert_to_list(expected)"),
        ("(f(1)[0], 3) == y", "found[0] == expected[0]"),
        ("f([1, k]) == y", "found == expected"),
        ("np.float64 == f(1).dtype", "np.float64 == found.dtype"),
        ("isinstance(f(1), list) == True", "isinstance(found, list) == isinstance(expected, list)"),
        ("f(1) is y", "found is expected"),
        ("[f(1), f(2)[0]] == y", ""),
        ("f(1) < f(2)", ""),
        ("f(1) == f(2)", ""),
        ("f(f(1)) == 1", ""),
    ],
)  # fmt: skip
def test_an_assertion_becomes_a_comparison_without_its_value(source, comparison):
    (assertion,) = read_assertions(f"assert {source}", names_to_define=NAMES)
    name = "x" if source.startswith("x") else "f"
    expected = f"assert {comparison}" if comparison else ""
    assert make_comparison(assertion, name, name == "x") == expected


@pytest.mark.parametrize(
    ("source", "comparison", "hidden_comparison"),
    [
        ("assert_equal(f(1), 2, 'msg')", "assert_equal(found, expected, 'msg')", ""),
        ("assert_equal(f(1), 2, msg='no')", "assert_equal(found, expected)",
         "assert_equal(found, expected)"),
        ("self.assertEqual(f(1), 2)", "assert found == expected", "assert found == expected"),
        ("np.testing.assert_allclose(f(1), 2, atol=0.1)",
         "np.testing.assert_allclose(found, expected, atol=0.1)",
         "np.testing.assert_allclose(found, expected, atol=0.1)"),
        ("assert f(1) > 3", "assert found > 3", ""),
        ("assert f(1) > y", "assert found > y", ""),
        ("assert f(1)", "assert bool(found) == bool(expected)",
         "assert bool(found) == bool(expected)"),
        ("assert isinstance(f(1), list)", "assert isinstance(found, list)",
         "assert isinstance(found, list)"),
        ("assert len(f(1))", "assert len(found)", ""),
        ("assert y == {1: f(1)}", "assert {1: expected} == {1: found}", ""),
        ("assert np.allclose(f(1), 2, 0.1)", "assert np.allclose(found, expected, 0.1)",
         "assert np.allclose(found, expected, 0.1)"),
        ("assertListEqual(f(1), [1])", "assert found == convert_to_list(expected)",
         "assert found == convert_to_list(expected)"),
        ("assert_raises(ValueError, f, f(1))", "", ""),
        ("with pytest.warns(W):\n    f(1)", "", ""),
        ("### AUTOTEST f(1)", "", ""),
        ("### AUTOTEST f(1)[0]", "assert found[0] == expected[0]",
         "assert found[0] == expected[0]"),
        ("### AUTOTEST len(f(1))", "assert len(found) == len(expected)",
         "assert len(found) == len(expected)"),
        ("assert f(1)[x] == 3", "assert found[x] == expected[x]", "assert found[x] == expected[x]"),
        ("assert f(1)[y < 3] == 3", "assert found[y < 3] == expected[y < 3]", ""),
        ("assert f(1) * math.pi == 3", "assert found * math.pi == expected * math.pi", ""),
    ],
)  # fmt: skip
def test_a_hidden_assertion_shows_no_text_and_no_value(source, comparison, hidden_comparison):
    for hidden, expected in ((frozenset(), comparison), ({1}, hidden_comparison)):
        (assertion,) = read_assertions(source, names_to_define={"f"}, hidden=hidden)
        assert make_comparison(assertion, "f", False) == expected


@pytest.mark.parametrize(
    ("source", "form", "part"),
    [
        ("f(1) == 2", False, False),
        ("f(1).shape == (2,)", True, False),
        ("isinstance(f(1), list)", True, False),
        ("callable(f(1))", True, False),
        ("type(f(1)) == float", True, False),
        ("isinstance(y, list)", False, False),
        ("f(1)[-1] == 2", False, True),
        ("f(y[0]) == 2", False, False),
        ("len(f(1)) == 2", False, False),
    ],
)
def test_an_assertion_asks_for_a_form_or_a_part(source, form, part):
    (assertion,) = read_assertions(f"assert {source}", names_to_define={"f"})
    assert asks_for_form(assertion, "f", False) == form
    assert compares_part(assertion, "f", False) == part


@pytest.mark.parametrize(
    ("side", "element"),
    [
        ("[f(x) for x in data]", "f(x)"),
        ("sum(f(x) for x in data)", "f(x)"),
        ("(f(x), 3)", "f(x)"),
        ("[[f(x) for x in row] for row in data]", "f(x)"),
        ("[f(x), f(y)]", "f(x)"),  # two calls, of which the same is said
        ("(f(x)[0], f(x)[1])", "(f(x)[0], f(x)[1])"),
        ("f(x) + f(x)", "f(x) + f(x)"),
        ("f(x) + f(y)", None),
        ("f([f(x)])", None),  # the list is an argument, and no list of results
        ("f([1, 2])", "f([1, 2])"),
    ],
)
def test_of_a_list_of_results_one_is_compared(side, element):
    def is_subject(node):
        return isinstance(node, ast.Call) and ast.unparse(node.func) == "f"

    found = _choose_element(ast.parse(side, mode="eval").body, is_subject)
    assert (found and ast.unparse(found)) == element


@pytest.mark.parametrize(
    ("code", "holds_value"),
    [
        ("found > 3", True),
        ("found * np.pi", True),
        ("found == math.tau", True),
        ("found.e", False),  # an attribute of the answer
        ("isinstance(found, np.ndarray)", False),
        ("found.dtype == np.float64", False),
        ("found.dtype == 'float64'", False),
        ("found.name == 'mass'", True),
        ("found[0] == found[1]", False),
        ("found['mass']", False),
        ("found[found > 7]", True),
        ("found.loc[key]", False),
        ("round(found, 2)", False),
        ("round(3.5)", True),
        ("np.allclose(found, found, atol=1e-3)", False),
        ("f(found, start=1)", True),
        ("not found", False),
        ("found is None", True),
    ],
)
def test_code_holds_a_value_beyond_indices_tolerances_and_types(code, holds_value):
    assert _holds_value(ast.parse(code, mode="eval").body) is holds_value
