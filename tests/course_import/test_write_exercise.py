"""The Python file of an imported exercise: its cases, its imports and its proposed domain."""

import ast

import numpy as np
import pytest

from autograder.values.case_records import DeferredCall
from autograder.values.dataframes import table_from_pandas
from course_import import write_exercise
from course_import.write_exercise import (
    CaseSource,
    explain_unwritable,
    format_exception_name,
    format_value,
    make_exercise_source,
    propose_domain,
)

HALF = np.array([0.5, 2.0])
FUNCTION = ast.parse("def area(x, n=2, flag=False): pass").body[0]


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([True, False], "x"),
        ([1, 5], "int(rng.integers(1, 6))"),
        ([1, 2.5], "float(rng.uniform(1, 2.5))"),
        ([np.array([0, 3]), np.array([2, 1])], "rng.integers(0, 4, size=2)"),
        ([np.array([0, 3]), np.array([4, 2, 1])], "rng.integers(0, 5, size=n_1)"),
        ([np.array([[1, 2], [3, 1]]), np.array([[0, 5], [6, 3]])],
         "rng.integers(0, 7, size=(2, 2))"),
        ([np.array([0, 3], "int8"), np.array([2, 1], "int8")],
         'rng.integers(0, 4, size=2).astype("int8")'),
        ([HALF.astype("float32"), HALF[::-1].astype("float32")],
         'rng.uniform(0.5, 2.0, size=2).astype("float32")'),
        ([np.array([1.0, 2, 3]), np.array([2.0, 2, 9])], "np.sort(rng.uniform(1.0, 9.0, size=3))"),
        ([[1, 2], [0, 5]], "rng.integers(0, 6, size=2).tolist()"),
        ([[0.5, 1.0], [4.0, 2.0]], "rng.uniform(0.5, 4.0, size=2).tolist()"),
    ],
)  # fmt: skip
def test_an_argument_is_drawn_from_the_range_of_the_recorded_ones(values, drawn):
    axes = write_exercise._SharedSizes()
    assert write_exercise._draw_argument("x", values, axes) == (drawn, True)
    assert axes.sizes == ({"n_1": (2, 3)} if "n_1" in drawn else {})


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([2, 2], "2"),
        ([1.0, float("nan")], '[1.0, float("nan")][rng.integers(2)]'),
        (["a", "b", "a"], "['a', 'b'][rng.integers(2)]"),
        ([np.array([0.25, 0.75]), HALF], "[np.array([0.25, 0.75]), np.array([0.5, 2.0])]"),
        ([np.eye(2), np.array([[0, 5.0], [5, 3]])], "[np.array([[1.0, 0.0], [0.0, 1.0]]), np"),
        ([np.array([True]), np.array([False])], "[np.array([True]), np.array([False])]"),
        ([np.array([np.inf]), np.array([1.0])], '[np.array([float("inf")]), np.array([1.0])]'),
        ([np.array(1.0), np.array(2.0)], "[np.array(1.0), np.array(2.0)]"),
        ([np.array([1]), np.array([2.0])], "[np.array([1]), np.array([2.0])]"),
        ([np.array([1, 2]), np.array([[1, 2]])], "[np.array([1, 2]), np.array([[1, 2]])]"),
    ],
)
def test_of_other_arguments_only_the_recorded_ones_are_drawn(values, drawn):
    """Probabilities and symmetric matrices are special: random numbers are none."""
    source, is_random = write_exercise._draw_argument("x", values, write_exercise._SharedSizes())
    assert source.startswith(drawn) and not is_random


def test_a_proposed_domain_has_the_sizes_and_flags_of_all_calls():
    calls = [
        ((np.array([1, 2]),), {"n": 2, "flag": True}),
        ((np.array([4, 0, 3]),), {"flag": False, "n": 3}),
    ]
    comment, *lines = propose_domain("area", FUNCTION, calls).split("\n")
    assert comment.startswith("# Proposed from the arguments of the tests.")
    assert lines == [
        "@area.domain(sizes={'n_1': (2, 3)}, flags={'flag': (False, True)}, proposed=True)",
        "def anywhere(rng, n_1, flag):",
        "    return inputs(rng.integers(0, 5, size=n_1), flag=flag, n=int(rng.integers(2, 4)))",
    ]
    one_changes = propose_domain("area", FUNCTION, [((1, 2), {}), ((1, 5), {})])
    assert one_changes.endswith("    return inputs(1, int(rng.integers(2, 6)))")


@pytest.mark.parametrize(
    "calls",
    [
        [((1,), {})],
        [((1,), {}), ((1, 2), {})],
        [((1,), {}), ((2,), {"n": 3})],
        [((1,), {}), ((1,), {})],
        [((1, 2, 3, 4), {}), ((2, 2, 3, 4), {})],
    ],
)
def test_calls_that_tell_no_range_propose_no_domain(calls):
    assert propose_domain("area", FUNCTION, calls) == ""
    function = ast.parse("def area(*x): pass").body[0]
    assert propose_domain("area", function, [((1,), {}), ((2,), {})]) == ""


def test_axes_that_are_equal_in_all_calls_share_a_size():
    axes = write_exercise._SharedSizes()
    sizes = [axes.get_size(lengths) for lengths in ((2, 3), (4, 4), (5, 1), (2, 3))]
    assert sizes == ["n_1", "4", "n_2", "n_1"]
    assert axes.sizes == {"n_1": (2, 3), "n_2": (1, 5)}


def make_source(*cases, **options):
    options = {"points": 2, "parts": {}, "rules": {}, "domain": "", "builds_on": []} | options
    return make_exercise_source("f", "cell 3", cases=cases, checks="course_checks.lab", **options)


def test_a_plain_exercise_imports_no_more_than_it_needs():
    assert make_source(CaseSource("one", (1,))).split("\n") == [
        '"""The exercise `f`: cell 3."""',
        "",
        "from autograder.authoring import Exercise, inputs",
        "",
        'f = Exercise("f", points=2)',
        "",
        "",
        "@f.case('one')",
        "def case_1(rng):",
        "    return inputs(1)",
        "",
    ]


def test_an_exercise_has_all_that_its_cases_say():
    visible = "def test_a(f, v):\n    assert f(v)"
    hidden = "def test_b(f):\n    assert f(1) == 'x'"
    source = make_source(
        CaseSource("bad", (np.eye(1),), None, raises="ValueError", error_text="no", part="part 1"),
        CaseSource("plain", (), {"k": [1]}, hidden=True),
        CaseSource("shown", (), {"v": 2}, test=visible),
        CaseSource("tested", hidden=True, test=hidden),
        points=2.5,
        parts={"part 1": 1.0},
        rules={"tolerance": 1e-3},
        domain="DOMAIN",
        builds_on=["g", "h"],
        equality="equals_f",
    )
    for part in (
        "import numpy as np\n\nfrom course_checks.lab import test_a, equals_f\n",
        "Exercise, run_test_function, compare_by_test_function, inputs, inputs_for_test\n",
        "\nfrom .g import g\nfrom .h import h\n\n",
        f'\nTEST_B = r"""{hidden}"""\n',
        "f = Exercise(\"f\", points=2.5, parts={'part 1': 1.0}, tolerance=0.001, builds_on=[g, h], "
        "call=run_test_function, compare=compare_by_test_function, equality=equals_f)\n\n\nDOMAIN\n",
        "@f.case('bad', raises=ValueError, error_text='no', part='part 1')\ndef case_1(rng):\n"
        "    return inputs(np.array([[1.0]]))\n",
        "@f.case('plain', hidden=True)\ndef case_2(rng):\n    return inputs(k=[1])\n",
        "@f.case('shown')\ndef case_3(rng):\n    return inputs_for_test(test_a, v=2)\n",
        "@f.case('tested', hidden=True)\ndef case_4(rng):\n    return inputs_for_test(TEST_B)\n",
    ):
        assert part in source, part
    assert "import pandas" not in source and ast.parse(source)


@pytest.mark.parametrize(
    "test", ['assert x == "a"', 'print("""a""")', "assert x", r"assert x == '\n'", "'a\\'"]
)
def test_a_hidden_tests_source_reads_back(test):
    assert ast.literal_eval(write_exercise._format_string(test)) == test


def test_a_long_case_is_cut_into_lines_unless_it_holds_a_text():
    arguments = ", ".join(["np.array([1, 2, 3])"] * 8)
    lines = write_exercise._wrap_line(f"    return inputs({arguments})").split("\n")
    assert len(lines) == 2 and max(map(len, lines)) <= 106 and lines[1].startswith(" " * 8 + "np")
    for line in (f"    return inputs({arguments}, 'a')", "    return inputs(1)"):
        assert write_exercise._wrap_line(line) == line


def test_only_errors_that_a_file_can_name_are_expected():
    names = ("ValueError", "LinAlgError", "SystemExit", "print", "NoSuchError")
    assert [format_exception_name(name) for name in names] == [
        "ValueError",
        "np.linalg.LinAlgError",
        *("", "", ""),
    ]


@pytest.mark.parametrize(
    ("value", "source"),
    [
        (np.float32(1.5), "np.float32(1.5)"),
        (np.bool_(True), "np.bool(True)"),
        (np.int8, "np.int8"),
        (float("-inf"), 'float("-inf")'),
        (1 - 2j, "complex(1.0, -2.0)"),
        ([], "[]"),
        ((), "()"),
        ((1,), "(1,)"),
        ([(1, [True]), None], "[(1, [True]), None]"),
        (set(), "set()"),
        ({3, 1, 2}, "{1, 2, 3}"),
        (frozenset({"b", "a"}), "{'a', 'b'}"),
        ({}, "{}"),
        ({"a": (1,), 2: float("nan")}, """{'a': (1,), 2: float("nan")}"""),
        (np.array([1, 2]), "np.array([1, 2])"),
        (np.array([True]), "np.array([True])"),
        (np.array([1], "int32"), 'np.array([1], dtype="int32")'),
        (np.zeros((0, 2)), 'np.array([], dtype="float64")'),
        (DeferredCall("numpy:datetime64", ("2026-01-02", "D")),
         "defer_call(np.datetime64, '2026-01-02', 'D')"),
        (DeferredCall("pandas:Timestamp", ("2026-01-02",)),
         "defer_call(pd.Timestamp, '2026-01-02')"),
    ],
)  # fmt: skip
def test_a_value_is_written_as_source(value, source):
    assert format_value(value) == source


def test_a_table_is_written_with_its_labels_and_dtypes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"town": ["Oslo", None], 7: [0.5, float("nan")]}, index=["b", "a"])
    dates = pd.Series(pd.to_datetime(["2026-01-02", "2026-03-04"]).as_unit("ns"), name="born")
    assert [format_value(table_from_pandas(table)) for table in (frame, dates)] == [
        "pd.DataFrame({'town': ['Oslo', None], 7: [0.5, float(\"nan\")]}, index=['b', 'a'])",
        "pd.Series(pd.to_datetime(['2026-01-02T00:00:00.000000000', "
        "'2026-03-04T00:00:00.000000000']).astype(\"datetime64[ns]\"), name='born')",
    ]
    levels = pd.DataFrame({"age": [36, 41]}, index=pd.MultiIndex.from_arrays([[1, 2], [3, 4]]))
    assert format_value(table_from_pandas(levels)) == "pd.DataFrame({'age': [36, 41]}, index=None)"
    reason = explain_unwritable((1,), {"x": table_from_pandas(levels)})
    assert reason.endswith(" of such dtypes cannot be written down")


def test_no_more_numbers_are_written_down_than_the_limit(monkeypatch):
    monkeypatch.setattr(write_exercise, "MAX_NUMBERS", 6)
    assert explain_unwritable((np.zeros(3),), {"y": [np.zeros(3)]}) == ""
    reason = explain_unwritable((np.zeros(3),), {"y": [np.zeros(4)]})
    assert reason == "7 numbers are too many to write down"
