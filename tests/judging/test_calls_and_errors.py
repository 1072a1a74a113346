"""Calls of a student's function, expected errors and changed arguments: each message's second case."""

import ast
import sys
import tracemalloc

import numpy as np
import pytest
from functions_in_cells import define_in_cell

from autograder.core.results import Verdict
from autograder.judging import compare, judge
from autograder.judging.code_patterns import (
    explain_in_place_call,
    explain_reduction_of_two,
    find_calls,
    find_used_in_place_call,
    parse_line,
)
from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import (
    LimitedOutputBuffer,
    argument_names,
    call_student_function,
    find_argument_mismatch,
)
from autograder.values.case_records import (
    CallOutcome,
    ComparisonRules,
    DeferredCall,
    ExpectedError,
    Inputs,
    Misconception,
    TestCase,
)
from autograder.values.common_mistakes import MISTAKES, Difference

RULES = ComparisonRules()


def observe(expected, outcome, inputs=None, **rules):
    difference = compare_outcome(expected, outcome, ComparisonRules(**rules), inputs)
    return difference and difference.observation


# Calls


def test_what_a_function_prints_is_kept_as_it_is_and_its_errors_are_not(capsys):
    def noisy(x):
        print("  one ", x)
        print("warning", file=sys.stderr)

    assert call_student_function(noisy, Inputs((1,))).printed == "  one  1\n"
    assert capsys.readouterr() == ("", "")


def test_output_beyond_a_limit_is_dropped():
    buffer = LimitedOutputBuffer(5)
    assert [buffer.write(text) for text in ("abc", "defg", "h")] == [3, 4, 1]
    assert buffer.text == "abcde"


@pytest.mark.parametrize("error", [SystemExit(3), ValueError("no"), RecursionError("deep")])
def test_an_error_or_an_exit_is_the_outcome_of_a_call(error):
    def fail():
        raise error

    outcome = call_student_function(fail, Inputs())
    assert outcome.raised == type(error).__name__ and outcome.type == "error"


def test_an_interrupt_ends_a_check():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_student_function(interrupt, Inputs())


@pytest.mark.parametrize("is_tracing", [True, False])
def test_a_memory_limit_leaves_the_notebook_s_own_tracing_as_it_was(is_tracing):
    if is_tracing:
        tracemalloc.start()
    try:
        call_student_function(lambda: None, Inputs(memory=1_000_000))
        assert tracemalloc.is_tracing() is is_tracing
    finally:
        tracemalloc.stop()


def test_changed_arguments_are_called_by_name_or_counted_from_one():
    def change(first, *others, last=None):
        first[0] = others[1][0] = last[0] = 9

    arguments = Inputs(([1], [2], [3]), {"last": [4]})
    assert call_student_function(change, arguments).modified == ("first", "argument 3", "last")
    assert argument_names(len, [0]) == ["obj"]


def test_a_call_in_place_gives_what_was_changed_and_what_was_returned():
    def change(a, b, c=None):
        b.append(1)
        return "done"

    outcome = call_student_function(change, Inputs(([], []), {"c": []}), "in place")
    assert outcome.value == {1: [1], "": "done"} and outcome.modified == ()


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (Inputs((1,), {"axis": 0}), ""),
        (Inputs((1, 2, 3)), "too many positional arguments"),
        (Inputs((1,), {"axes": 0}), "unexpected keyword argument 'axes'"),
        (Inputs(), "missing a required argument: 'x'"),
    ],
)
def test_arguments_that_do_not_fit_are_told(inputs, words):
    reason = find_argument_mismatch(lambda x, axis=0: x, inputs)
    assert words in reason and bool(words) == bool(reason)


# Changed arguments


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("x",), "Your function changed its argument `x`."),
        (("x", "y"), "Your function changed its arguments `x` and `y`."),
    ],
)
def test_a_changed_argument_is_a_fault_of_a_right_result(names, text):
    outcome = CallOutcome(1.0, "float", modified=names)
    assert observe(1.0, outcome) == text
    assert observe(1.0, outcome, may_modify=True) is None


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("x",), "Besides, your function changed its argument `x`, which belongs to the caller."),
        (
            ("x", "y"),
            "Besides, your function changed its arguments `x` and `y`, which belong to the caller.",
        ),
    ],
)
def test_a_changed_argument_of_a_wrong_result_is_said_besides(names, words):
    cases = [TestCase("one", Inputs((1.0,)), 1.0, {})]
    finding = judge.judge(cases, [CallOutcome(2.5, "float", modified=names)], RULES, [])
    assert words in finding.message


def test_an_argument_that_may_be_changed_is_no_part_of_a_misconception_or_of_a_message():
    cases, outcomes = [], []
    for expected, value in ((1.5, 7.25), (2.5, 8.75), (3.5, 3.5)):
        mistakes = {"shifted": CallOutcome(value, "float")}
        cases.append(TestCase("", Inputs((expected,)), expected, mistakes))
        outcomes.append(CallOutcome(value, "float", modified=("x",)))
    rules = ComparisonRules(may_modify=True)
    shifted = Misconception("shifted", "You shifted it.", "Why?")
    finding = judge.judge(cases, outcomes, rules, [shifted])
    assert (finding.misconception, finding.means) == ("shifted", "You shifted it.")
    assert judge.judge(cases, outcomes, RULES, [shifted]).misconception == "shifted"
    assert "changed" not in judge.judge(cases, outcomes, rules, []).message


# Paths, and functions of the author's


STUDENT_RESULT = DeferredCall("")
QUERIES = (
    DeferredCall("operator:call", (STUDENT_RESULT, 2.0)),
    DeferredCall("builtins:getattr", (STUDENT_RESULT, "size")),
)
IN_PLACE = {"call": "in place"}


@pytest.mark.parametrize(
    ("expected", "value", "rules", "text", "path"),
    [
        (
            (4.0, (1, 2)),
            (4.0, (1, 3)),
            {},
            "Your result's `size`: in the second of its 2 values: found 3; expected 2.",
            (1, 1),
        ),
        (
            (4.0, (1, 2)),
            (5.0,),
            {},
            "Your result, called with 2.0, gives 5; expected 4.",
            (0,),
        ),
        (
            (4.0, (1, 2)),
            (4.0,),
            {},
            "Your result's `size` is a tuple, which cannot be compared. "
            "Expected a tuple of 2 values.",
            (),
        ),
        (
            {0: [2], "": 3},
            {0: [2], "": 4},
            IN_PLACE,
            "Your function returned 4; expected 3.",
            ("",),
        ),
        (
            {0: [2, 5], "": 3},
            {0: [2, 6], "": 4},
            IN_PLACE,
            "In its first argument, after the call: in the second of its 2 values: found 6; "
            "expected 5.",
            (0, 1),
        ),
        (
            {1: [2]},
            {0: [3], 1: [3]},
            IN_PLACE,
            "In its second argument, after the call: in the first of its 1 value: found 3; "
            "expected 2.",
            (1, 0),
        ),
        ({0: [2]}, {0: [2], 1: [3]}, IN_PLACE, "Your function changed its second argument.", ()),
        (
            {0: [2]},
            {},
            IN_PLACE,
            "Your function left its first argument unchanged; expected a list of 1 value there.",
            (),
        ),
        (
            {"x": [2]},
            {"x": [4]},
            IN_PLACE,
            "In its argument `x`, after the call: in the first of its 1 value: found 4; expected 2.",
            ("x", 0),
        ),
        ({0: [2]}, {0: [2], "": 4}, IN_PLACE, None, ()),
        (3, 5, {"compare": "builtins:max"}, "5", ()),  # what the author's function returns
        (2.0, 3.0, {"equality": "numpy:allclose"}, "Your function returned 3; expected 2.", ()),
        (
            2.0,
            [2.0, 3.0],
            {"equality": "numpy:allclose"},
            "Your function returned a list; expected a number (float).",
            (),
        ),
        (
            2,
            2.0,
            {"equality": "operator:is_"},
            "Your function returned 2.0, a float; expected a whole number (int).",
            (),
        ),
        (
            (1, 2),
            (1, 2),
            {"equality": "operator:ne"},
            "Your function returned a tuple; expected a tuple of 2 values.",
            (),
        ),
        ([1, 2], [1, 2], {"equality": "builtins:print"}, None, ()),  # the usual comparison decides
        ([1, 2], [1, 3], {"equality": "builtins:print"}, "found 3; expected 2.", (1,)),
    ],
)
def test_a_difference_has_the_path_of_its_part(expected, value, rules, text, path):
    inputs = Inputs(([1], [2]), {"x": [1]})
    if not rules:
        inputs = Inputs((1,), result_queries=QUERIES)
    outcome = CallOutcome(value, type(value).__name__)
    difference = compare_outcome(expected, outcome, ComparisonRules(**rules), inputs)
    if text is None:
        assert difference is None
    else:
        assert difference.observation.endswith(text) and difference.path == path


@pytest.mark.parametrize(
    ("first", "second", "rules", "is_same"),
    [
        (CallOutcome(None, "NoneType"), CallOutcome(None, "NoneType"), {}, True),
        (CallOutcome(None, "NoneType"), CallOutcome(None, "object"), {}, False),
        (CallOutcome(None, "NoneType"), CallOutcome(0, "int"), {}, False),
        (CallOutcome(1, "int"), CallOutcome(None, "error", "KeyError: 1"), {}, False),
        (CallOutcome(1, "int", modified=("x",)), CallOutcome(1, "int"), {}, False),
        (CallOutcome(1, "int", modified=("x",)), CallOutcome(1, "int"), {"may_modify": True}, True),
        (CallOutcome(1, "int", modified=("x",)), CallOutcome(1, "int", modified=("y",)), {}, True),
        (CallOutcome(1, "int", peak_bytes=11), CallOutcome(1, "int", peak_bytes=10), {}, False),
        (CallOutcome(1, "int", peak_bytes=9), CallOutcome(1, "int", peak_bytes=10), {}, True),
        (CallOutcome(1, "int", peak_bytes=11), CallOutcome(1, "int", peak_bytes=99), {}, True),
        (
            CallOutcome(1, "int", printed="a \n"),
            CallOutcome(2, "int", printed="a"),
            {"returns": "printed"},
            True,
        ),
        (
            CallOutcome(1, "int", printed="a"),
            CallOutcome(1, "int", printed=" a"),
            {"returns": "printed"},
            False,
        ),
        (CallOutcome(1, "int"), CallOutcome(1.0, "float"), {}, True),
        (
            CallOutcome(error="ValueError: a"),
            CallOutcome(error="TypeError: b"),
            {"returns": "tensor"},
            True,
        ),
        (
            CallOutcome(error="ValueError: a"),
            CallOutcome(error="KeyError: b"),
            {"returns": "tensor"},
            False,
        ),
        (CallOutcome(error="ValueError: a"), CallOutcome(error="TypeError: a"), {}, False),
    ],
)
def test_two_outcomes_are_the_same_in_either_order(first, second, rules, is_same):
    for pair in ((first, second), (second, first)):
        assert compare.same_outcome(*pair, ComparisonRules(**rules), memory=10) is is_same


# Sentences of the judge


@pytest.mark.parametrize(
    ("expected", "results", "means"),
    [
        ([1.5, 2.5, 3.5, 4.0], [-1.5, -2.5, -3.5, 4.0], "The number has the wrong sign."),
        ([1.5, 2.5, 4.0], [-1.5, -2.5, 4.0], "All the differing numbers are too small."),
        (
            [1.5, 1.5, 1.5, 4.0],
            [-1.5, -1.5, -1.5, 4.0],
            "All the differing numbers are too small. All failing cases have `1.5` as argument 1, "
            "and no other case has.",
        ),
    ],
)
def test_a_step_is_told_of_three_different_single_numbers_or_more(expected, results, means):
    cases = [make_case("", number) for number in expected]
    assert judge_results(cases, results, []).means == means


def test_a_called_function_is_wrong_or_not_written():
    assert judge.describe_broken_dependency("f") == (
        "Your function calls `f`, which fails its own check. Correct that first."
    )
    outcome = CallOutcome(None, "error", "NotImplementedError", within="f")
    finding = judge.judge([make_case("a", 1.0)], [outcome], RULES, [], "answer")
    assert finding.message == (
        "Your function calls `f`, which is not written yet. Write that first."
    )
    assert finding.misconception is None and finding.shown_case.mistake is None


@pytest.mark.parametrize(
    ("value", "path", "names_nan"),
    [
        (np.array([1.0, np.nan]), (), True),
        (np.array([1.0, np.inf]), (), False),
        ((1.0, np.array([np.nan])), (1,), True),
        ((np.array([np.nan]), np.inf), (1,), False),
        ({"a": float("nan")}, ("a",), True),
        (np.array(["nan"]), (), False),
        ((1.0,), (3,), False),
    ],
)
def test_the_source_of_nan_is_told_of_the_part_that_differs(value, path, names_nan):
    difference = compare.Difference("not finite", "", path=path)
    case = compare.JudgedCase(TestCase("", Inputs(), 1, {}), CallOutcome(value), RULES, difference)
    text = judge.describe_source_of_infinity(case)
    assert ("nan comes from" in text) == names_nan and "inf comes from" in text


@pytest.mark.parametrize(
    ("tolerance", "expected", "result"),
    [
        (1e-9, np.ones(2, np.float32), 2e-4),
        (1e-2, np.ones(2, np.float32), 1e-2),
        (1e-9, np.ones(2), 1e-9),
        (1e-9, (1.0, np.ones(2, np.float32)), 2e-4),
        (1e-9, 1.0, 1e-9),
        ((1e-9, 1.0), np.ones(2, np.float32), (2e-4, 1.0)),
        ((1e-2, 1e-9), np.ones(2, np.float32), (1e-2, 2e-6)),
    ],
)
def test_the_tolerance_of_a_misconception_is_float32s_at_least(tolerance, expected, result):
    rules = judge.adapt_rules_to_precision(ComparisonRules(tolerance=tolerance), expected)
    assert rules.tolerance == result


# Expected errors


@pytest.mark.parametrize(
    ("expected", "outcome", "text"),
    [
        (
            ExpectedError("ValueError"),
            CallOutcome(1, "int"),
            "Your function returned an int; it should raise a ValueError here.",
        ),
        (
            ExpectedError("ValueError"),
            CallOutcome(None, "NoneType"),
            "Your function returned None; it should raise a ValueError here.",
        ),
        (
            ExpectedError("ValueError"),
            CallOutcome(None, "error", "KeyError: 'a'"),
            "Your function raised KeyError: 'a'. Expected a ValueError.",
        ),
        (
            ExpectedError("ValueError", "too small"),
            CallOutcome(None, "error", "ValueError: Too small."),
            "Your function raised ValueError: Too small. Its message should contain 'too small'.",
        ),
        (
            ExpectedError("ValueError", "small"),
            CallOutcome(None, "error", "ValueError: x is small"),
            None,
        ),
        (ExpectedError("LookupError"), CallOutcome(None, "error", "KeyError: 1"), None),
        (ExpectedError("ValueError"), CallOutcome(None, "error", "LinAlgError: no"), None),
        (ExpectedError("LinAlgError"), CallOutcome(None, "error", "LinAlgError: no"), None),
        (ExpectedError("Exception"), CallOutcome(None, "error", "OwnError: no"), None),
        (ExpectedError("OwnError"), CallOutcome(None, "error", "OwnError"), None),
        (
            ExpectedError("LinAlgError"),
            CallOutcome(None, "error", "ValueError: no"),
            "Your function raised ValueError: no. Expected a LinAlgError.",
        ),
        (
            ExpectedError("OwnError"),
            CallOutcome(None, "error", "OtherError: no"),
            "Your function raised OtherError: no. Expected an OwnError.",
        ),
    ],
)
def test_an_expected_error_is_known_by_its_type_and_its_text(expected, outcome, text):
    assert observe(expected, outcome) == text


def test_an_expected_error_of_a_call_in_place_is_missed_without_a_result():
    text = observe(ExpectedError("ValueError"), CallOutcome({}, "dict"), call="in place")
    assert text == "Your function finished without an error; it should raise a ValueError here."


@pytest.mark.parametrize(
    ("error", "end"),
    [
        ("ValueError: no", "ValueError: no."),
        ("ValueError: no.", "ValueError: no."),
        ("ValueError: really?", "ValueError: really?"),
    ],
)
def test_a_sentence_about_an_error_ends_with_one_sign(error, end):
    assert observe(1.0, CallOutcome(None, "error", error)) == f"Your function raised {end}"


def test_a_reference_that_returns_beside_a_change_is_missed_where_nothing_is_returned():
    inputs = Inputs(([1],))
    outcome = CallOutcome({0: [2]}, "dict")
    assert observe({0: [2], "": 3}, outcome, inputs, call="in place") == (
        "Your function returned None."
    )
    assert observe({0: [2]}, outcome, inputs, call="in place") is None


def test_a_value_that_cannot_be_compared_is_named_with_its_place():
    outcome = CallOutcome(None, "object")
    assert observe({}, outcome, call="in place") == (
        "An argument after the call, or the returned value, holds an object, which cannot be "
        "compared."
    )
    assert observe(1.0, outcome, call="figure") == (
        "Your figure holds an object, which cannot be compared."
    )
    assert observe(1.0, outcome) == (
        "Your function returned an object, which cannot be compared. Expected a number (float)."
    )


# Misconceptions


def make_case(label, expected, **mistakes):
    outcomes = {name: CallOutcome(value, "float") for name, value in mistakes.items()}
    return TestCase(label, Inputs((expected,)), expected, outcomes)


def judge_results(cases, results, names):
    misconceptions = [Misconception(name, f"It is {name}.", f"Why {name}?") for name in names]
    outcomes = [CallOutcome(result, "float") for result in results]
    return judge.judge(cases, outcomes, RULES, misconceptions)


def test_of_two_misconceptions_that_fit_alike_the_first_is_named():
    cases = [
        make_case("a", 1.5, first=7.25, second=7.25),
        make_case("b", 2.5, first=8.5, second=8.5),
    ]
    finding = judge_results(cases, [7.25, 8.5], ["first", "second"])
    assert (finding.verdict, finding.misconception) == (Verdict.WRONG, "first")
    assert finding.nudge == "Why first?"


def test_a_misconception_that_explains_every_case_goes_before_one_that_explains_some():
    cases = [make_case(str(n), 1.5 + n, some=7.25 + n, all=7.25 + n) for n in range(4)]
    cases[3].mistakes["some"] = CallOutcome(99.5, "float")
    finding = judge_results(cases, [7.25, 8.25, 9.25, 10.25], ["some", "all"])
    assert finding.misconception == "all" and not finding.is_partial


def test_a_pair_of_misconceptions_must_explain_every_case():
    cases = [make_case(str(n), 1.5 + n, **{"a + b": 7.25 + n}) for n in range(4)]
    assert judge_results(cases, [7.25, 8.25, 9.25, 10.25], ["a + b"]).misconception == "a + b"
    assert judge_results(cases, [7.25, 8.25, 9.25, 50.125], ["a + b"]).misconception != "a + b"


def test_after_one_comparison_that_takes_too_long_no_other_is_made(monkeypatch):
    calls = []

    def slow(expected, outcome, rules, inputs):
        calls.append(expected)
        return compare.Difference("time", "It takes too long.")

    monkeypatch.setattr(judge, "compare_outcome", slow)
    cases = [make_case("a", 1.0), make_case("b", 2.0), make_case("c", 3.0)]
    assert judge_results(cases, [1.0, 2.0, 3.0], []).cases_correct == (False, False, False)
    assert calls == [1.0]


@pytest.mark.parametrize(
    ("source", "line", "within"),
    [
        ("def attend(x):\n    return 1 / x", "2: return 1 / x", "attend"),
        (
            "def call_another(x):\n    def inner(y):\n        return attend(y)\n    return inner(x)\n"
            "def attend(x):\n    return 1 / x",
            "6: return 1 / x",
            "attend",
        ),
        ("def choose(x):\n    return [][x]", "2: return [][x]", "choose"),
        (
            "def divide(x):\n    def inner(y):\n        return [1 / k for k in [y]]\n    return inner(x)",
            "3: return [1 / k for k in [y]]",
            "divide",
        ),
        (
            "def use_layer(x):\n    return Layer().call(x)\n"
            "class Layer:\n    def call(self, x):\n        return self.weights @ x",
            "5: return self.weights @ x",
            "Layer",
        ),
    ],
)
def test_an_error_comes_with_its_line_and_the_function_or_class_that_a_cell_defines(
    source, line, within
):
    """Exercises ask for a function or a class, not for a method or an inner function."""
    outcome = call_student_function(define_in_cell(source), Inputs((0,)))
    assert (outcome.line, outcome.within) == (line, within)


@pytest.mark.parametrize(("within", "cause"), [("softmax", "softmax"), ("answer", ""), ("", "")])
def test_a_stub_in_another_exercise_is_the_cause(within, cause):
    outcome = CallOutcome(None, "error", "NotImplementedError", within=within)
    finding = judge.judge([make_case("a", 1.0)], [outcome], RULES, [], "answer")
    assert (finding.cause, finding.is_unwritten) == (cause, not cause)


@pytest.mark.parametrize(("error_count", "is_named"), [(1, False), (2, True), (3, True), (4, True)])
def test_an_error_of_half_of_the_failing_cases_is_named_with_its_hint(error_count, is_named):
    cases = [make_case(str(n), 1.5 + n**2) for n in range(5)]
    error = CallOutcome(None, "error", "IndexError: list index out of range", line="2: x[9]")
    outcomes = [error] * error_count
    outcomes += [CallOutcome(0.125 * (n + 1) ** 3, "float") for n in range(4 - error_count)]
    outcomes.append(CallOutcome(17.5, "float"))  # right
    finding = judge.judge(cases, outcomes, RULES, [])
    assert finding.verdict is Verdict.ERROR and sum(finding.cases_correct) == 1
    assert (finding.misconception == "place-that-is-not-there") == is_named
    assert bool(finding.nudge) == is_named


# Lines of code


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("y = np.max(a, b)", "`np.maximum(a, b)`"),
        ("y = np.mean(a, b)", "`(a + b) / 2`"),
        ("y = np.sum(a, axis)", ""),
        ("y = np.sum(a, ax)", ""),
        ("y = np.sum(a, last_dim)", ""),
        ("y = np.sum(a, -1)", ""),
        ("y = np.sum(a, (0, 1))", ""),
        ("y = np.sum(a, None)", ""),
        ("y = np.sum(a)", ""),
        ("y = max(a, b)", ""),
    ],
)
def test_a_second_array_in_the_place_of_an_axis_is_explained(line, text):
    explanation = explain_reduction_of_two(parse_line(line))
    assert text in explanation and bool(text) == bool(explanation)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("x = x.sort()", ".sort"),
        ("for i in x.reverse():", ".reverse"),
        ("return print(x)", "print"),
        ("y = print(x)", "print"),
        ("x.sort()", ""),
        ("y = x.pop()", ""),
        ("y = np.fill_diagonal(x, 0)", "np.fill_diagonal"),
        ("y = rng.shuffle(x)", "rng.shuffle"),
        ("y = np.random.shuffle(x)", "np.random.shuffle"),
        ("y = [1, 2].append(3)", ".append"),
        ("y = ops.add(x, 1)", ""),
    ],
)
def test_a_used_result_of_a_call_that_returns_none_is_found(line, name):
    assert find_used_in_place_call(parse_line(line)) == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("print", "`print` shows a value and returns None."),
        (".sort", "then use the object."),
        ("np.put", "the array or list that it is given in place and returns None"),
    ],
)
def test_a_call_that_returns_none_is_explained(name, words):
    assert words in explain_in_place_call(name)


def test_numbers_of_low_precision_are_judged_by_the_arguments():
    inputs = Inputs((np.ones(3, np.float32),))
    assert compare_outcome(1.0, CallOutcome(1.0001, "float"), RULES, inputs) is None
    assert compare_outcome(1.0, CallOutcome(1.0001, "float"), RULES, Inputs((np.ones(3),)))


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("   y = f(x)  ", ["f(x)"]),
        ("for i in f(x):", ["f(x)"]),
        ("  with g(f(x)) as y:", ["g(f(x))", "f(x)"]),
        ("return f(x)", ["f(x)"]),
        ("f(x", []),
        ("y = f(x) +", []),
        ("", []),
    ],
)
def test_the_calls_of_a_line_are_found_also_in_the_head_of_a_block(line, calls):
    assert [ast.unparse(call) for call in find_calls(parse_line(line))] == calls


def test_a_stream_for_output_takes_what_is_no_text_and_stays_open():
    buffer = LimitedOutputBuffer(4)
    assert buffer.writable()

    class Text(str):
        __slots__ = ()

        def __str__(self):
            return "other"

    buffer.write(Text("abc"))
    buffer.close()
    buffer.write("d")
    assert buffer.text == "othe"


@pytest.mark.parametrize(
    ("own", "nudge"), [(None, MISTAKES["missing-axis"][1]), ("", ""), ("a", "a")]
)
def test_a_difference_may_have_a_question_of_its_own_or_none(own, nudge):
    difference = Difference("shape", "Other shape.", "missing-axis", nudge=own)
    finding = judge._add_texts_of_common_mistake(
        judge.Finding(Verdict.WRONG), difference, [], "", ""
    )
    assert (finding.misconception, finding.nudge) == ("missing-axis", nudge)
