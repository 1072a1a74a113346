"""Assertions of a test cell: what each is about, its names, its tolerance and its lines."""

import ast

import pytest

from course_import.assertions import (
    EXACT,
    _find_functions_by_argument,
    find_error_texts,
    find_sides,
    is_full_value,
    read_assertions,
    uncomment_autotests,
)


def parse_expression(source):
    return ast.parse(source, mode="eval").body


def read_last(source, **options):
    return read_assertions(source, **{"names_to_define": {"f", "g", "y"}} | options)[-1]


@pytest.mark.parametrize(
    ("test", "kind", "tolerance"),
    [
        ("assert np.isclose(f(3), 9)", "value", (1e-5, 1e-8)),
        ("assert np.isclose(f(3), 9, 0.1, 0.2)", "value", (0.1, 0.2)),
        ("assert np.isclose(f(3), 9, 0.1, atol=k)", "value", (0.1, 1e-8)),
        ("assert math.isclose(f(3), 9, rel_tol=1e-3)", "value", (1e-3, 0.0)),
        ("assert np.allclose(9, f(3), rtol=2 * 10**-3 - 1/1000)", "value", (1e-3, 1e-8)),
        ("assert f(3) == pytest.approx(9)", "value", (1e-6, 1e-12)),
        ("assert pytest.approx(9, abs=0.5) == f(3)", "value", (1e-6, 0.5)),
        ("assert round(f(3)) == 9", "value", (0.0, 0.51)),
        ("assert round(f(3), n) == 9", "value", (0.0, 0.51)),
        ("assert abs(f(3) - 9) <= -0.5", "value", (0.0, 0.5)),
        ("assert abs(f(3) - 9) < n", "value", (0.0, EXACT)),
        ("assert np.linalg.norm(f(3) - 9) < 1", "value", (0.0, 1.0)),
        ("assert np.abs(f(3) - 9).max() < 1", "value", (0.0, 1.0)),
        ("assert sum(np.fabs(f(3) - 9)) < 1", "value", (0.0, 1.0)),
        ("assert 1 >= abs(9 - f(3))", "value", (0.0, 1.0)),
        ("assert_array_almost_equal(f(3), 9)", "value", (0.0, 1.5e-6)),
        ("assert_almost_equal(f(3), 9)", "value", (0.0, 1.5e-7)),
        ("assert_almost_equal(f(3), 9, 2)", "value", (0.0, 0.015)),
        ("assert_almost_equal(f(3), 9, 2, 'no')", "value", (0.0, 0.015)),
        ("self.assertAlmostEqual(f(3), 9, n)", "value", (0.0, 5e-8)),
        ("self.assertAlmostEqual(f(3), 9, places=3, msg=k)", "value", (0.0, 0.0005)),
        ("self.assertAlmostEqual(f(3), 9, delta=0.1)", "value", (0.0, 0.1)),
        ("assert f(3) is None", "value", EXACT),
        ("assert f(3).equals(k)", "value", EXACT),
        ("assert k.equals(f(3))", "value", EXACT),
        ("assert np.array_equal(f(3), k)", "value", EXACT),
        ("self.assertEqual(k, f(3))", "value", EXACT),
        ("self.assertTrue(f(3) == 9, 'no')", "value", EXACT),
        ("assert all(f(i) == i for i in k)", "value", EXACT),
        ("assert all([f(i) == i for i in k])", "value", EXACT),
        ("assert np.array_equal(f(3))", "value", EXACT),
        ("assert y == 9", "value", EXACT),
        ("assert f(3)[0] == 9", "value", EXACT),
        ("assert list(f(3)) == 9", "value", EXACT),
        ("assert (f(3), 4) == 9", "value", EXACT),
        ("assert f(3).tolist() == 9", "value", EXACT),
        # What several answers have is a property.
        ("assert abs(f(3) - 9) > 1", "property", EXACT),
        ("assert abs(f(3) + 9) < 1", "property", EXACT),
        ("assert max(f(3) - 9) < 1", "property", EXACT),
        ("assert abs(sorted(f(3) - 9)) < 1", "property", EXACT),
        ("assert f(3) != 9", "property", EXACT),
        ("assert f(3) in k", "property", EXACT),
        ("assert 1 < f(3) < 9", "property", EXACT),
        ("assert any(f(i) == i for i in k)", "property", EXACT),
        ("assert not f(3)", "property", EXACT),
        ("assert f(3)", "property", EXACT),
        ("assert f(3) == 9 or g(3) == 9", "property", EXACT),
        ("assertEqual(k, 9, f(3))", "property", EXACT),
        ("assert f(3) == g(3)", "property", EXACT),
        ("assert f(3) == y", "property", EXACT),
        ("assert f(3) == f(4)", "property", EXACT),
        ("assert f(f(3)) == 9", "property", EXACT),
        ("assert f(abs(f(3))) == 9", "property", EXACT),
        ("assert sorted(f(3)) == 9", "property", EXACT),
        ("assert len(f(3)) == 9", "property", EXACT),
        ("assert f(3) + 1 == 9", "property", EXACT),
        ("assert k == 9", "property", EXACT),
        ("assert h(f(3)) == 9", "property", EXACT),
        ("warnings.simplefilter('error')\nassert f(3) == 9", "property", EXACT),
        ("warnings.simplefilter('ignore')\nassert f(3) == 9", "value", EXACT),
        ("with pytest.warns(UserWarning):\n    assert f(3) == 9", "warning", EXACT),
        ("with pytest.warns(UserWarning):\n    f(1)\nassert f(3) == 9", "value", EXACT),
        ("assert_raises(ValueError, f, 3)", "error", EXACT),
        ("np.random.seed(1)", "nothing", EXACT),
        ("'f(3) == 9'", "nothing", EXACT),
        ("plt.close('all')", "nothing", EXACT),
        ("f(3)", "nothing", EXACT),
        ("f(3) == 9", "nothing", EXACT),
        ("all(f(3) == 9)", "nothing", EXACT),
        ("assert_equal(f(3), 9)", "value", EXACT),
        ("eq_(f(3), 9)", "value", EXACT),
        ("ok_(f(3) == 9)", "value", EXACT),
        ("### HASHED AUTOTEST f(3)", "value", EXACT),
        ("if k:\n    pass\nelse:\n    assert f(3) == 9", "value", EXACT),
        ("def test():\n    for i in k:\n        assert f(i) == 9", "value", EXACT),
        ("while k:\n    with h:\n        assert f(3) == 9", "value", EXACT),
        ("(a, [b, c]) = f(3)\nassert c == 9", "value", EXACT),
        ("a, *b = f(3)\nassert a == 9", "value", EXACT),
        ("a = f(3)\na = len(a)\nassert a == 9", "property", EXACT),
    ],
)
def test_an_assertion_compares_a_value_or_asks_for_something_else(test, kind, tolerance):
    assertion = read_last(test)
    assert (assertion.kind, assertion.tolerance) == (kind, pytest.approx(tolerance))


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("f(3)", "value"),
        ("y", "value"),
        ("len(f(3))", "shown"),
        ("f(3) == 9", "value"),
        ("f(3) > 9", "property"),
        ("print(f(3))", "nothing"),
        ("display(f(3))", "nothing"),
        ("test_f(3)", "nothing"),
        ("plt.close('all')", "nothing"),
        ("window.close()", "shown"),
        ("warnings.simplefilter('error')\nf(3)", "property"),
        ("warnings.simplefilter('error')\nlen(f(3))", "shown"),
        ("'text'", "nothing"),
    ],
)
def test_of_otters_tests_a_bare_value_is_asserted(source, kind):
    assert read_last(source, bare_values=True).kind == kind


def test_a_conjunction_is_several_assertions_with_their_lines():
    source = "x = 1\nassert (f(1) == 2 and\n    (f(2) and f(3) > x)), 'no'\nf(4)"
    assertions = read_assertions(source, names_to_define={"f"}, hidden={3})
    assert [(a.source, a.kind, [*a.lines], a.hidden) for a in assertions] == [
        ("f(1) == 2", "value", [2, 3], True),
        ("f(2)", "property", [2, 3], True),
        ("f(3) > x", "property", [2, 3], True),
        ("f(4)", "nothing", [4], False),
    ]
    assert ast.unparse(assertions[2].expansion) == "f(3) > 1"
    assert assertions[1].references == {"f": [(3, 3)]}
    assert [assertions[1].has_call("f", line) for line in (2, 3, 4)] == [False, True, False]
    assert not assertions[1].has_call("g", 3)


def test_an_expected_error_names_its_function_without_a_call():
    (assertion,) = read_assertions("self.assertRaises(\n    ValueError, f, 3)")
    assert assertion.references["f"] == [(1, 2)]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = f(1)\nassert a > 2", {"f"}),
        ("assert 'y' in vars()", {"y", "vars"}),
        ("assert 'y' not in globals()", {"globals"}),
        ("for i in range(3):\n    a += f(i)\nassert a > 2", {"a", "f", "i", "range"}),
        ("a = []\nf(a)\nassert a == [2]", {"f"}),
        ("a = []\nf(x=a)\nassert a == [2]", {"f"}),
        ("a = []\nprint(a)\nassert a == [2]", set()),
        ("f(1)\nassert plt.gca()", {"plt", "f"}),
        ("k(1)\nassert plt.gca()", {"plt"}),
        ("with h() as a:\n    f(1)\nassert a > 2", {"a", "f", "h"}),
        ("with h() as a:\n    b = f(1)\nassert b > 2", {"f"}),
        ("with h():\n    for i in k:\n        b += f(i)\nassert b > 2", {"b", "f", "i", "k"}),
        ("sys.stdout = out\nf(1)\nassert out.text", {"out", "f"}),
    ],
)
def test_an_assertion_depends_on_names(source, names):
    assert read_last(source).names == names


def test_a_clock_is_read_where_the_compared_value_depends_on_it():
    source = "begin = time()\nx = f(1)\nspent = time() - begin\nassert x > 2\nassert spent < 1"
    *_, value, time = read_assertions(source, names_to_define={"f"})
    assert not value.reads_clock({"time"}) and time.reads_clock({"time"})
    looped = "for i in k:\n    spent += time()\nassert spent < 1"
    assert read_last(looped).reads_clock({"spent"}) and read_last(looped).reads_clock({"time"})


@pytest.mark.parametrize(
    ("test", "inner"),
    [
        ("f(g(2)) == 3", {"g"}),
        ("f(g(2)) == g(3)", set()),
        ("f(2) == g(3)", set()),
        ("f(h(x=g(2))) == 3", {"g"}),
        ("h(g(2)) == 3", set()),
    ],
)
def test_an_inner_function_is_called_only_in_arguments_of_another(test, inner):
    assert read_last(f"assert {test}").find_inner_functions({"f", "g"}) == inner


@pytest.mark.parametrize(
    ("source", "depends"),
    [
        ("assert f(1) == 2", False),
        ("a = f(1)\nassert a == 2", False),
        ("for i in k:\n    a += f(i)\nassert a < 1", True),
        ("for i in k:\n    a += f(i)\nassert a < f(1)", False),
        ("assert spread(f) < 1", True),
        ("assert spread(1, of=f) < 1", True),
        ("assert callable(f)", False),
        ("assert spread(g) < 1", False),
    ],
)
def test_an_assertion_depends_on_calls_that_do_not_stand_in_it(source, depends):
    assert read_last(source).depends_on_outside_calls_of("f") == depends


@pytest.mark.parametrize(
    ("test", "is_truth"),
    [
        ("f(1)", True),
        ("not f(1)", True),
        ("-f(1)", False),
        ("a.f(1)", False),
        ("not a.f(1)", False),
        ("f(1) == 2", False),
    ],
)
def test_only_a_call_says_that_it_is_true(test, is_truth):
    assert read_last(f"assert {test}").is_truth_of_call == is_truth


@pytest.mark.parametrize(
    ("source", "patterns", "texts", "asks_more"),
    [
        ("with pytest.raises(ValueError, match='n.'):\n    f(1)", ["n."], [], False),
        ("with pytest.raises(ValueError, match=text):\n    f(1)", [], [], True),
        ("with assertRaisesRegex(ValueError, 'n.'):\n    f(1)", ["n."], [], False),
        ("assert_raises(ValueError, f, x=1)", [], [], False),
        ("with assertRaises(ValueError, 'n.'):\n    f(1)", [], [], False),
        ("assert_raises_regex(ValueError, 'n.', f, 1)", ["n."], [], False),
        ("try:\n    f(1)\nexcept ValueError as e:\n    assert 'no' in str(e)", [], ["no"], False),
        ("try:\n    f(1)\nexcept ValueError as e:\n    assert 'no' not in str(e)", [], [], True),
        ("try:\n    f(1)\n    assert False\nexcept ValueError:\n    pass", [], [], False),
        ("try:\n    f(1)\nexcept ValueError as e:\n    assert e.code", [], [], True),
    ],
)
def test_the_message_of_an_error_is_asked_for(source, patterns, texts, asks_more):
    assert find_error_texts(ast.parse(source)) == (patterns, texts, asks_more)


@pytest.mark.parametrize(
    ("test", "sides"),
    [
        ("a == b", ["a", "b"]),
        ("a is b", ["a", "b"]),
        ("a != b", []),
        ("a == b == c", []),
        ("abs(a - b) < 1", ["a", "b"]),
        ("1 >= abs(a - b)", ["a", "b"]),
        ("abs(a - b) > 1", []),
        ("abs(a + b) < 1", []),
        ("a < b", []),
        ("(a == b).all()", ["a", "b"]),
        ("(a == b).any()", []),
        ("np.all(a == b)", ["a", "b"]),
        ("assertTrue(np.allclose(a, b, c))", ["a", "b"]),
        ("a.equals(b, c)", ["a", "b"]),
        ("assertAlmostEqual(a, b, c)", ["a", "b"]),
        ("assertEqual(a, b, 'no')", ["a", "b"]),
        ("assertEqual(a)", []),
        ("f(a, b)", []),
        ("a", []),
    ],
)
def test_the_sides_of_an_assertion_are_the_two_values_that_agree(test, sides):
    assert [ast.unparse(side) for side in find_sides(parse_expression(test))] == sides


@pytest.mark.parametrize(
    ("side", "is_full", "is_full_of_f"),
    [
        ("x", True, True),
        ("f(1)", True, True),
        ("g(1)", True, False),
        ("len(x)", False, False),
        ("x[0][1]", True, True),
        ("len(x)[0]", False, False),
        ("list(f(1))", True, True),
        ("list()", False, False),
        ("list(3)", False, False),
        ("x.tolist()", True, True),
        ("x.round(2)", True, True),
        ("np.asarray(f(1))", True, True),
        ("x.sum()", False, False),
        ("x.shape", False, False),
        ("(1, f(1))", True, True),
        ("[1, 2]", False, False),
        ("-x", False, False),
    ],
)
def test_a_side_is_a_whole_result(side, is_full, is_full_of_f):
    assert is_full_value(parse_expression(side)) == is_full
    assert is_full_value(parse_expression(side), {"f"}) == is_full_of_f


def test_autotest_comments_become_statements_and_other_lines_stay():
    lines = {
        "### AUTOTEST f(1)": "f(1)",
        "  # HASHED AUTOTEST f(2); f(3)": "f(2); f(3)",
        "#### AUTOTEST f(1)": "#### AUTOTEST f(1)",
        "# AUTOTESTS f(1)": "# AUTOTESTS f(1)",
        "  x = 1": "  x = 1",
    }
    assert uncomment_autotests("\n".join(lines)).split("\n") == [*lines.values()]
    assert _find_functions_by_argument("### AUTOTEST f(a, x=b)\nprint(c)\ng(a, 1)", {"f", "g"}) == {
        "a": {"f", "g"},
        "b": {"f"},
    }
