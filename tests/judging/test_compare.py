"""Every kind of difference, its sentence, and its tables."""

import json
from functools import partial

import numpy as np
import pytest

from autograder.core.results import Result, Verdict
from autograder.diagnosis.render import describe_inputs, render_html, render_tables, render_text
from autograder.judging.compare import (
    _has_unexpected_size,
    compare_outcome,
    describe_failing_property,
    same_outcome,
)
from autograder.judging.failure_patterns import (
    describe_difference_pattern,
    describe_shape_difference,
)
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function, pack_result
from autograder.values.arrays import _is_expected_rounded
from autograder.values.case_records import (
    CallOutcome,
    ComparisonRules,
    ExpectedError,
    Inputs,
    Misconception,
    TestCase,
)
from autograder.values.common_mistakes import MISTAKES, NOT_WRITTEN_MESSAGE
from autograder.values.tolerance import arrays_agree

RULES = ComparisonRules()

EXPECTED = np.array([[0.25, 0.75], [0.5, 0.5], [0.1, 0.9]])


def compare_value(value, rules=None, expected=EXPECTED):
    type_name, packed_value = pack_result(value)
    answer = CallOutcome(packed_value, type_name)
    return compare_outcome(expected, answer, rules or RULES)


def test_a_right_answer_has_no_difference():
    assert compare_value(EXPECTED.copy()) is None
    assert compare_value(EXPECTED + 1e-10) is None


@pytest.mark.parametrize(
    ("value", "kind", "mistake", "text"),
    [
        (None, "nothing", "returns-nothing", "returned None"),
        (EXPECTED.tolist(), "type", "returns-a-list", "returned a list"),
        ((EXPECTED, EXPECTED), "type", "returns-a-tuple", "returned a tuple"),
        ("text", "type", None, "returned a text (str); expected a NumPy array of shape (3, 2)."),
        (1.5, "type", "one-number", "returned a number (float); expected a NumPy array"),
        (np.array([object()]), "dtype", "array-of-objects", "holds Python objects (its dtype is object)"),
        (EXPECTED * 1j, "dtype", "complex-numbers", "complex numbers (complex128)"),
        (np.ma.array(EXPECTED), "type", None, "returned a MaskedArray"),
        (EXPECTED.T, "shape", "transposed", "shape (2, 3); expected (3, 2)"),
        (EXPECTED[None], "shape", "extra-axis", "shape (1, 3, 2)"),
        (EXPECTED[:2], "shape", None, "shape (2, 2)"),
        (EXPECTED.astype(np.float32), "dtype", "lower-precision", "holds float32; expected float64"),
        (EXPECTED > 0.5, "dtype", "booleans-not-numbers", "holds bool"),
        (EXPECTED.astype(int), "dtype", "whole-numbers", "holds int64; expected float64"),
        (np.where(EXPECTED > 0.8, np.nan, EXPECTED), "not finite", None, "The first is nan, at [2, 1]"),
        (EXPECTED + [[0, 0], [0, 0], [0.2, 0]], "values", None, "1 of 6 numbers differ."),
        # Which of two differences that are equal is the larger by a digit hangs on the processor.
        (EXPECTED + [[0.1, 0], [0.2, 0], [0.2 + 1e-9, 0]], "values", None, "The largest difference is at [1, 0]"),
    ],
)  # fmt: skip
def test_each_kind_of_difference_has_its_sentence(value, kind, mistake, text):
    difference = compare_value(value)
    assert (difference.kind, difference.mistake) == (kind, mistake)
    assert text in difference.observation


def test_booleans_and_squares():
    mask = np.tril(np.ones((3, 3), bool))
    assert compare_value(mask.astype(int), expected=mask).mistake == "numbers-not-booleans"
    assert compare_value(mask.T.copy(), expected=mask).mistake == "transposed"


def test_a_wider_float_will_do_unless_the_dtype_is_asked_for():
    float32_expected = EXPECTED.astype(np.float32)
    assert compare_value(EXPECTED, expected=float32_expected) is None
    assert (
        compare_value(EXPECTED, ComparisonRules(exact_dtype=True), float32_expected).kind == "dtype"
    )


def test_the_view_compares_the_weights_a_mask_leads_to():
    keep = np.array([[0.0, -np.inf, 0.0]])
    rules = ComparisonRules(view="attention_labs.comparers:weights_it_leads_to")
    for hidden in (-np.inf, -1e9, np.finfo(float).min):
        assert compare_value(np.where(keep == 0, 0.0, hidden), rules, keep) is None
    assert compare_value(np.where(keep == 0, 0.0, -10.0), rules, keep).kind == "values"
    assert compare_value(np.where(keep == 0, 0.0, 1.0), rules, keep).kind == "values"


def test_nan_is_equal_to_nan_only():
    assert arrays_agree(np.array([np.nan]), np.array([np.nan]), 1e-7)
    assert not arrays_agree(np.array([np.nan]), np.array([1.0]), 1e-7)


def test_calling_an_answer_never_raises_and_never_changes_the_inputs():
    case_inputs = Inputs((np.arange(3.0),), {"scale": True})

    def shout(x, scale):
        print("never seen")
        x += 1
        return x

    answer = call_student_function(shout, case_inputs)
    assert answer.modified == ("x",)
    assert case_inputs.args[0].tolist() == [0, 1, 2]
    assert (
        call_student_function(lambda x, scale: 1 / 0, case_inputs).error
        == "ZeroDivisionError: division by zero"
    )
    assert (
        call_student_function(lambda x, scale: exec("raise SystemExit(3)"), case_inputs).error
        == "SystemExit: 3"
    )
    assert call_student_function(lambda x, scale: np.zeros(2_000_000), case_inputs).value is None


def test_an_object_that_equals_everything_is_no_right_answer():
    class Yes(np.ndarray):
        def __eq__(self, other):
            return True

        def __array_ufunc__(self, *args, **kwargs):
            return np.array(True)

    class Always:
        __eq__ = __array__ = lambda self, *a, **k: True

    for answer in (EXPECTED.view(Yes), Always()):
        packed_outcome = call_student_function(partial(lambda value: value, answer), Inputs())
        assert compare_outcome(EXPECTED, packed_outcome, RULES) is not None


@pytest.mark.parametrize(
    ("name", "value", "case_inputs", "text"),
    [
        (
            "rows_sum_to_one",
            EXPECTED.T,
            Inputs(),
            "in each row should sum to 1; yours sum to 0.85 to 2.15",
        ),
        ("sums_to_one", EXPECTED, Inputs((EXPECTED,), {"axis": 0}), "along axis 0 should sum to 1"),
        ("sums_to_one", EXPECTED, Inputs((EXPECTED,)), "along axis 0 should sum to 1"),
        ("sums_to_one", EXPECTED.T, Inputs((EXPECTED, 1)), "along axis 1 should sum to 1"),
        ("no_negative_weight", -EXPECTED, Inputs(), "smallest is -0.9"),
        ("no_looking_ahead", np.ones((3, 3)), Inputs(), "Position 0 attends to position 1"),
        ("within_the_values", EXPECTED * 9, Inputs((0, 0, EXPECTED)), "stays between the values"),
    ],
)
def test_properties_say_what_fails_and_keep_quiet_otherwise(name, value, case_inputs, text):
    names = [f"attention_labs.comparers:{name}"]
    assert text in describe_failing_property(value, case_inputs, names)
    assert (
        describe_failing_property(np.eye(3), Inputs((0, 0, np.eye(3)), {"axis": 0}), names) is None
    )


SMALL_CASE = TestCase("a small case", Inputs((np.ones((3, 2)),), {"axis": 1}), EXPECTED, {})


def test_messages_name_case_shapes_and_what_to_do():
    answer = call_student_function(lambda x, axis: EXPECTED.tolist(), SMALL_CASE.inputs)
    finding = judge([SMALL_CASE], [answer], RULES, [])
    text = render_text(finding)
    assert (
        "In the case “a small case”, inputs (3, 2), axis=1: Your function returned a list" in text
    )
    assert MISTAKES["returns-a-list"][1] in text


def test_a_vector_is_written_as_a_vector():
    case = TestCase("a vector", Inputs((np.ones(2),), {}), np.array([1.0, 2.0]), {})
    answer = call_student_function(lambda x: x * 3, case.inputs)
    finding = judge([case], [answer], RULES, [])
    values_text, _, expected_text = render_text(finding).splitlines()[-3:]
    assert values_text.startswith("[3.") and expected_text.startswith("[1.")
    assert render_html(finding).count("<table") == 3


def test_the_stub_gets_a_clean_message():
    def stub(x, axis):
        raise NotImplementedError

    answer = call_student_function(stub, SMALL_CASE.inputs)
    finding = judge([SMALL_CASE], [answer], RULES, [])
    assert (finding.verdict, finding.misconception) == (Verdict.ERROR, None)
    assert render_text(finding).startswith(NOT_WRITTEN_MESSAGE)


def test_the_html_escapes_what_the_student_raised():
    def hostile(x, axis):
        raise ValueError("<script>alert(1)</script>")

    answer = call_student_function(hostile, SMALL_CASE.inputs)
    html = render_html(judge([SMALL_CASE], [answer], RULES, []))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_the_html_escapes_the_name_and_the_inputs_of_a_case():
    case = TestCase("a < b", Inputs(("<start>",)), "x", {})
    html = render_html(judge([case], [CallOutcome("y", "str")], RULES, []))
    assert "a &lt; b" in html and "<start>" not in html


def test_a_table_says_which_cells_differ():
    html = render_tables(EXPECTED, np.where(EXPECTED > 0.8, np.nan, EXPECTED), 1e-7)
    assert html.count("<caption") == 3
    assert html.count("border:2px solid #c04000") == 3  # yours, expected and the difference
    assert "1 of 6 cells differs; it is framed." in html


def test_a_table_shows_no_difference_in_cells_that_agree():
    html = render_tables(np.array([[1.0, 2.0]]), np.array([[1.0 + 1e-12, 5.0]]), 1e-7)
    assert "e-12" not in html and "<b>3</b>" in html


def test_a_large_table_leaves_out_the_middle_but_shows_what_differs():
    expected = np.zeros((40, 30))
    values = expected.copy()
    values[17, 23] = 1
    html = render_tables(expected, values, 1e-7)
    assert html.count("<b>1</b>") == 2
    for name in (">17<", ">23<", ">0<", ">39<", ">29<"):
        assert name in html
    assert ">20<" not in html
    assert len(html) < 40_000


# The judge


def misconception(name, function):
    return Misconception(name, f"{name} means.", "What of it?", function)


def make_test_cases(function, cases, *wrong):
    """Test cases with `function` as the reference, and the answers of the misconceptions `wrong`."""
    return [
        TestCase(
            label,
            case_inputs,
            function(*case_inputs.args),
            {m.name: call_student_function(m.function, case_inputs) for m in wrong},
        )
        for label, case_inputs in cases
    ]


CASES = [(f"case {n}", Inputs((np.arange(n, n + 4.0).reshape(2, 2), n % 2))) for n in range(4)]


def total(x, axis):
    return x.sum(axis=axis)


def judge_answer(answer, *wrong):
    cases = make_test_cases(total, CASES, *wrong)
    return judge(
        cases,
        [call_student_function(answer, q.inputs) for q in cases],
        RULES,
        wrong,
        "total",
    )


def test_an_explanation_that_contradicts_a_right_case_is_none():
    always_0 = misconception("always-0", lambda x, axis: x.sum(axis=0))
    assert judge_answer(always_0.function, always_0).misconception == "always-0"
    # Right in every case but one, where it agrees with a mistake that contradicts the others.
    finding = judge_answer(
        lambda x, axis: x.sum(axis=0) if x[0, 0] == 1 else total(x, axis), always_0
    )
    assert finding.misconception is None


@pytest.mark.parametrize("names", [("first", "second"), ("second", "first")])
def test_of_misconceptions_that_explain_equally_much_the_first_is_named(names):
    """Both agree in two of the three failing cases, and predict something else in the third."""

    def add_in_columns(x, axis):
        return total(x, axis) + (axis == 0) + 2 * (x[0, 0] == 1)

    wrong = [misconception(name, lambda x, axis: total(x, axis) + (axis == 0)) for name in names]
    assert judge_answer(add_in_columns, *wrong).misconception == names[0]


def test_two_errors_of_one_type_are_not_yet_the_same_error():
    misfit = misconception("misfit", lambda x, axis: x @ np.ones((3, 3)))
    assert judge_answer(misfit.function, misfit).misconception == "misfit"

    def always_raises(x, axis):
        raise ValueError("no")

    assert judge_answer(always_raises, misfit).misconception is None


def test_a_feature_of_all_failing_cases_is_named():
    finding = judge_answer(lambda x, axis: total(x, axis) + (axis == 1) * x.max())
    assert "All failing cases have `1` as argument 2, and no other case has." in finding.means
    rows = [
        (label, Inputs((np.arange(12.0).reshape(3, 4) + n, 0)))
        for n, (label, _) in enumerate(CASES)
    ]
    cases = make_test_cases(total, rows)
    double_answers = [
        call_student_function(lambda x, axis: 2 * total(x, axis), q.inputs) for q in cases
    ]
    finding = judge(cases, double_answers, RULES, [])
    assert "Every number is 2 times the expected one." in finding.means


def test_an_exception_names_the_line(monkeypatch):
    import linecache

    source = "def total(x, axis):\n    return x @ np.ones((3, 3))\n"
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(keepends=True), "<cell>")
    names = {"__name__": "__main__", "np": np}
    exec(compile(source, "<cell>", "exec"), names)
    finding = judge_answer(names["total"])
    assert "line 2 of your cell, in `total`: `return x @ np.ones((3, 3))`" in render_text(finding)


# Values of other kinds


@pytest.mark.parametrize(
    ("expected", "value", "text"),
    [
        (3, 4, "returned 4; expected 3"),
        (3, 3.0, "returned 3.0, a float; expected a whole number (int)"),
        (0.5, 1, "returned 1; expected 0.5"),
        ("yes", "no", "Your text says 'no'; expected 'yes'."),
        ("a\nb", "a", "Your text ends after line 1; expected 'b' next."),
        (True, 1, "returned a whole number (int); expected True or False"),
        ((1, 2), (1, 2, 3), "returned 3 values; expected 2"),
        ((1, 2), 1, "returned a whole number (int); expected a tuple of 2 values"),
        (
            (1, EXPECTED),
            (1, EXPECTED.T),
            "In the second of the 2 values that you return: the result has shape (2, 3)",
        ),
        ({"a": 1}, {"b": 1}, "has no entry 'a'"),
        ({"a": 1}, {"a": 2}, "In the entry 'a': found 2; expected 1."),
        (None, 1, "returned a whole number (int); expected None"),
    ],
)
def test_other_values_get_their_sentence(expected, value, text):
    assert text in compare_value(value, expected=expected).observation
    assert compare_value(expected, expected=expected) is None


def test_numbers_of_numpy_are_numbers():
    assert compare_value(np.int64(3), expected=3) is None
    assert compare_value(np.float32(0.5), expected=0.5) is None
    assert compare_value(np.array(0.5), expected=0.5) is None


def test_what_a_call_prints_can_be_the_answer():
    rules = ComparisonRules(returns="printed")
    right = call_student_function(lambda: print("one \ntwo\n"), Inputs())
    assert compare_outcome("one\ntwo", right, rules) is None
    wrong = call_student_function(lambda: print("one\nthree"), Inputs())
    assert (
        "says in line 2 'three'; expected 'two'"
        in compare_outcome("one\ntwo", wrong, rules).observation
    )


def test_blanks_before_the_first_printed_line_count_and_those_at_ends_do_not():
    rules = ComparisonRules(returns="printed")
    expected = "  *\n ***"
    right = call_student_function(lambda: print("  * \n ***\n"), Inputs())
    assert compare_outcome(expected, right, rules) is None
    wrong = call_student_function(lambda: print("*\n ***"), Inputs())
    assert "line 1" in compare_outcome(expected, wrong, rules).observation


def test_shapes_are_described_for_people():
    case_inputs = Inputs((np.ones((2, 3), np.float32), 5), {"dtype": np.float16, "mask": None})
    assert describe_inputs(case_inputs) == "(2, 3) float32, 5, dtype=float16, mask=None"
    model = {name: np.ones(2) for name in "abcde"}
    assert (
        describe_inputs(Inputs((model, {"a": [model]}), {}))
        == "a mapping with 5 entries, {'a': [a mapping with 5 entries]}"
    )


def test_results_survive_json_and_nonsense_does_not():
    row = Result(
        student="ada",
        lab="lab",
        exercise="softmax",
        score=None,
        max_score=2.0,
        verdict=Verdict.MANUAL,
        message="é",
        seconds=0.5,
    )
    assert Result.from_fields(json.loads(row.to_json())) == row
    with pytest.raises((KeyError, TypeError)):
        Result.from_fields({"student": 1})
    with pytest.raises(ValueError, match="perfect"):
        Result.from_fields(json.loads(row.to_json().replace("manual", "perfect")))


def test_an_answer_holds_plain_data_only():
    assert pack_result(np.ones(2, np.longdouble))[1].dtype == np.float64
    assert pack_result(np.float64(1)) == ("float64", 1.0)
    assert pack_result(object()) == ("object", None)
    assert pack_result([1, object()]) == ("object", None)
    assert pack_result(10**400) == ("int of more than 1000 bits", None)
    deep = 1
    for _ in range(20):
        deep = [deep]
    assert pack_result(deep) == ("list of too many parts", None)


def test_an_expected_mapping_of_a_layer_is_compared_as_a_mapping():
    rules = ComparisonRules(returns="tensor")
    assert compare_outcome({"size": 2}, CallOutcome({"size": 2}, "dict"), rules) is None
    difference = compare_outcome({"size": 2}, CallOutcome({"size": 3}, "dict"), rules)
    assert difference.observation == "In the entry 'size': found 3; expected 2."
    assert compare_outcome(np.ones(2), CallOutcome({"size": 2}, "dict"), rules).kind == "type"


NEGATIVE = ExpectedError("ValueError", "negative")


@pytest.mark.parametrize(
    ("expected", "answer", "text"),
    [
        (NEGATIVE, CallOutcome(None, "error", "ValueError: x is negative"), None),
        (
            NEGATIVE,
            CallOutcome(None, "error", "UnicodeError: negative"),
            None,
        ),  # which is a ValueError
        (
            NEGATIVE,
            CallOutcome(2.0, "float"),
            "Your function returned a float; it should raise a ValueError here.",
        ),
        (
            NEGATIVE,
            CallOutcome(None, "NoneType"),
            "Your function returned None; it should raise a ValueError here.",
        ),
        (
            NEGATIVE,
            CallOutcome(None, "error", "TypeError: no"),
            "Your function raised TypeError: no. Expected a ValueError.",
        ),
        (
            NEGATIVE,
            CallOutcome(None, "error", "ValueError: no"),
            "Your function raised ValueError: no. Its message should contain 'negative'.",
        ),
        (
            NEGATIVE,
            CallOutcome(None, "error", "NotImplementedError"),
            "This exercise is not written yet.",
        ),
        (2 + 3j, CallOutcome(2 + 3.0000000001j, "complex"), None),
        (2 + 3j, CallOutcome(2 - 3j, "complex"), "Your function returned 2-3j; expected 2+3j."),
        (2 + 0j, CallOutcome(2.0, "float"), None),
        (10**30, CallOutcome(10**30, "int"), None),
        (
            10**30,
            CallOutcome(10**30 + 1, "int"),
            f"Your function returned {10**30 + 1}; expected {10**30}.",
        ),
        (
            {1: 2, 3: 4},
            CallOutcome({1: 2, 4: 4}, "dict"),
            "Your result has no entry 3; its keys should be 1, 3.",
        ),
        ({1: 2, 3: 4}, CallOutcome({1: 2, 3: 5}, "dict"), "In the entry 3: found 5; expected 4."),
    ],
)
def test_expected_errors_large_and_complex_numbers_and_other_keys(expected, answer, text):
    difference = compare_outcome(expected, answer, RULES)
    assert (difference and difference.observation) == text


def test_a_float_will_do_for_a_whole_number_where_the_rules_say_so():
    assert compare_outcome(3, CallOutcome(3.0, "float"), RULES).mistake == "not-a-whole-number"
    assert (
        compare_outcome([3, 4], CallOutcome([3.0, 4], "list"), ComparisonRules(floats_too=True))
        is None
    )
    assert (
        compare_outcome(3, CallOutcome(3.5, "float"), ComparisonRules(floats_too=True)).kind
        == "type"
    )


def test_a_tolerance_may_have_an_absolute_part():
    loose = ComparisonRules(tolerance=(1e-3, 0.5))
    assert compare_outcome(0.0, CallOutcome(0.4, "float"), loose) is None
    assert compare_outcome(1000.0, CallOutcome(1001.4, "float"), loose) is None
    assert compare_outcome(1000.0, CallOutcome(1001.6, "float"), loose)
    assert compare_outcome(0.0, CallOutcome(0.4, "float"), ComparisonRules(tolerance=0.5))


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("shapes (2,) (3,)", "shapes (2,) (3,)", True),
        ("shapes (2,) (3,)", "shapes (3,) (2,)", True),  # the other way round is the same mistake
        ("shapes (2,) (3,)", "shapes (2,) (4,)", False),
    ],
)
def test_errors_about_broadcasting_are_the_same_for_the_same_sizes_only(first, second, is_same):
    start = "ValueError: operands could not be broadcast together with"
    answers = [CallOutcome(error=f"{start} {shapes} ") for shapes in (first, second)]
    assert same_outcome(*answers, ComparisonRules()) == is_same


def test_one_array_that_is_filled_again_and_again_is_recognised():
    expected = np.arange(24.0).reshape(4, 3, 2)
    repeated = np.broadcast_to(expected[-1], expected.shape)
    text = describe_difference_pattern([(expected, repeated)], ComparisonRules())
    assert text.startswith("Along the first axis every part equals the last one.")
    repeated = np.broadcast_to(expected[0], expected.shape)
    assert "Along the first axis" not in describe_difference_pattern(
        [(expected, repeated)], ComparisonRules()
    )


@pytest.mark.parametrize(
    ("dtype", "error", "is_right"),
    [("float32", 3e-7, True), ("float32", 1e-3, False), ("float64", 3e-7, False)],
)
@pytest.mark.parametrize("shape", ["a number", "a tuple"])
def test_a_number_computed_from_float32_is_as_exact_as_a_float32_array(
    dtype, error, is_right, shape
):
    expected, value = 1.5, 1.5 + error
    if shape == "a tuple":
        expected, value = (expected, 2), (value, 2)
    array = np.ones(3, dtype)
    outcome = CallOutcome(value, type(value).__name__)
    for inputs in (Inputs((array,)), Inputs((2.0,), {"x": array})):
        difference = compare_outcome(expected, outcome, ComparisonRules(), inputs)
        assert (difference is None) == is_right


def test_a_predicted_float_is_no_int_that_differs_by_less_than_the_tolerance():
    """Else a count that float32 rounded would be named as right, but of the wrong type."""
    exact, rounded = CallOutcome(117_097_123.0, "float"), CallOutcome(117_097_120, "int")
    assert not same_outcome(rounded, exact, ComparisonRules())
    assert same_outcome(CallOutcome(117_097_123, "int"), exact, ComparisonRules())


@pytest.mark.parametrize("rows", [6, 7, 9])
def test_a_half_is_named_by_its_rounded_down_length(rows):
    expected = np.arange(1.0, 3 * rows + 1).reshape(rows, 3)
    half = rows // 2
    for wrong_rows, text in (
        (slice(half, None), "Only the first half of the rows is right."),
        (slice(None, half), "Only the second half of the rows is right."),
    ):
        value = expected.copy()
        value[wrong_rows] = -np.random.default_rng(0).normal(size=value[wrong_rows].shape)
        assert text in describe_difference_pattern([(expected, value)], ComparisonRules())
    value = expected.copy()
    value[half - 1 :] = -np.random.default_rng(0).normal(size=value[half - 1 :].shape)
    assert "half" not in describe_difference_pattern([(expected, value)], ComparisonRules())


def test_one_factor_for_all_rows_is_not_a_factor_of_each_row():
    expected = np.arange(1.0, 13).reshape(3, 4)
    text = describe_difference_pattern([(expected, 1.2 * expected)], ComparisonRules())
    assert text == "In each failing case these numbers are the expected ones times one factor."
    scales = np.array([[1.0], [2.0], [3.0]])
    text = describe_difference_pattern([(expected, scales * expected)], ComparisonRules())
    assert text == "Each row is the expected row times a factor that differs from row to row."


def test_a_place_near_the_right_one_is_not_said_to_be_correlated():
    pairs = [(place, place + 1 + place % 2) for place in range(6)]
    text = describe_difference_pattern(pairs, ComparisonRules())
    assert text == "All the differing numbers are too large."
    pairs = [(place, place + 1) for place in range(6)]
    text = describe_difference_pattern(pairs, ComparisonRules())
    assert text == "All the differing numbers are too large by 1."
    pairs = [(1000 * count, 1000 * count + 7 * count % 5) for count in range(1, 9)]
    assert "rises and falls" in describe_difference_pattern(pairs, ComparisonRules())


def test_arrays_of_another_shape_are_described():
    numbers = np.arange(12.0).reshape(3, 4)
    text = describe_shape_difference([(numbers, numbers.reshape(2, 6))])
    assert text.startswith("The numbers are right and in the right order; only the shape")
    text = describe_shape_difference([(numbers, np.ones(3)), (numbers, numbers)])
    assert text.startswith("Your array has 1 axis; expected 2 axes.")
    text = describe_shape_difference([(numbers, np.ones((4, 3)))])
    assert text == "The sizes of the axes are the expected ones, but in another order."
    assert describe_shape_difference([(numbers, np.ones((3, 3)))]) == ""
    assert describe_shape_difference([(numbers, 3.0)]) == ""


def test_where_a_part_is_right_no_early_step_is_blamed():
    rng = np.random.default_rng(1)
    pairs = []
    for _ in range(3):
        expected, value = rng.normal(size=(2, 4, 5, 6))
        value[0] = expected[0]
        pairs.append((expected, value))
    text = describe_difference_pattern(pairs, ComparisonRules())
    assert text == "Only the first matrix is right."


CLOSE = ComparisonRules(equality="numpy:allclose")


@pytest.mark.parametrize(
    ("expected", "value", "type_name"),
    [
        (2.0, np.array([]), "ndarray"),
        (np.ones(3), np.ones((0, 3)), "ndarray"),
        (np.ones(3), [], "list"),
        ((np.ones(3), 2.0), (np.ones(3), np.array([])), "tuple"),
        (np.ones(2000), np.ones((40_000, 1)), "ndarray"),
        (np.ones(2000), [[1.0]] * 40_000, "list"),
        (2, 300, "int8"),
        (2.0, {"a": 1}, "float64"),
        (2, "abc", "int64"),
    ],
)
def test_an_authors_comparison_is_not_asked_of_what_is_empty_too_large_or_forged(
    expected, value, type_name
):
    assert compare_outcome(expected, CallOutcome(value, type_name), CLOSE) is not None


def test_an_authors_comparison_is_asked_of_an_empty_text_where_it_may_mean_false():
    rules = ComparisonRules(equality="operator:is_not")
    assert compare_outcome(False, CallOutcome("", "str"), rules) is None
    assert compare_outcome(2.0, CallOutcome("", "str"), rules) is not None


def test_an_authors_comparison_accepts_a_list_for_an_array():
    assert compare_outcome(np.ones(3), CallOutcome([1.0, 1.0, 1.0], "list"), CLOSE) is None
    assert compare_outcome(2.0, CallOutcome(2, "int64"), CLOSE) is None


@pytest.mark.parametrize(
    ("value", "type_name", "is_right"),
    [
        (2, "int64", True),
        (2.0, "float32", True),
        (2, "int", False),
        (2.0, "float", False),
        (True, "bool", False),
    ],
)
def test_an_authors_comparison_is_asked_of_a_number_of_numpys_own_type(value, type_name, is_right):
    rules = ComparisonRules(equality="builtins:isinstance")
    expected = getattr(np, type_name, np.float64)
    difference = compare_outcome(expected, CallOutcome(value, type_name), rules)
    assert (difference is None) == is_right


def test_the_first_wrong_entry_of_booleans_is_named():
    outcome = CallOutcome(np.array([True, True, True]))
    text = compare_outcome(np.array([True, False, False]), outcome, ComparisonRules()).observation
    assert text.startswith("2 of 3 entries differ. The first of them is at [1]: your value is True")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_an_array_of_low_precision_widens_the_tolerance_also_by_its_name(dtype):
    """The sum of float32 numbers differs by more than 1e-7 if it is taken in another order."""
    array, is_low = np.ones(3, dtype), dtype is not np.float64
    for inputs in (Inputs((array,)), Inputs((), {"x": array}), Inputs((1.0,), {"x": array})):
        difference = compare_outcome(
            1.0, CallOutcome(1 + 3e-7, "float"), ComparisonRules(tolerance=1e-8), inputs
        )
        assert (difference is None) == is_low, inputs


@pytest.mark.parametrize("places", range(1, 10))
def test_numbers_rounded_to_eight_places_at_most_are_recognised(places):
    expected = np.array([0.123456789123, -2.34567891234])
    value = np.round(expected, places)
    assert _is_expected_rounded(expected, value, 1e-12) == (places < 9)
    assert not _is_expected_rounded(expected, value + 0.3 * 10.0**-places, 1e-12)
    assert not _is_expected_rounded(expected / 100, np.zeros(2), 1e-12)


EMPTY = np.array([])


@pytest.mark.parametrize(
    ("expected", "value", "is_unexpected"),
    [
        ([1.0, 2.0], [EMPTY, 2.0], True),  # one empty part is enough
        ([1.0, 2.0], (1.0, EMPTY), True),
        ([1.0, 2.0], [1.0, 2.0], False),
        ([EMPTY, 2.0], [EMPTY, 2.0], False),
        (EMPTY, EMPTY, False),
        (np.ones(3), EMPTY, True),
        (True, [], False),
        (True, EMPTY, True),
        (np.ones((40, 1)), np.ones(20), True),
        (np.ones((4, 3)), np.ones(3), False),
        (np.ones(4), np.ones(3), False),
    ],
)
def test_a_function_of_an_author_judges_no_empty_and_no_much_larger_value(
    expected, value, is_unexpected
):
    assert _has_unexpected_size(expected, value) == is_unexpected
