"""Every kind of difference, its sentence, and the table that goes with it."""

import json
from functools import partial

import numpy as np
import pytest

from autograder.feedback import as_html, as_text, describe, tables
from autograder.judging.agreement import same_values
from autograder.judging.answer import ask, pack
from autograder.judging.compare import failing_property, first_difference
from autograder.judging.judge import judge
from autograder.judging.mistakes import NOT_WRITTEN, STRUCTURAL
from autograder.judging.question import Answer, Inputs, Misconception, Question, Raised, Rules
from autograder.results import Result, Verdict

WANTED = np.array([[0.25, 0.75], [0.5, 0.5], [0.1, 0.9]])


def difference(value, rules=None, expected=WANTED):
    kind, plain = pack(value)
    return first_difference(expected, Answer(plain, kind), rules or Rules())


def test_a_right_answer_has_no_difference():
    assert difference(WANTED.copy()) is None
    assert difference(WANTED + 1e-10) is None


@pytest.mark.parametrize(
    ("value", "kind", "mistake", "said"),
    [
        (None, "nothing", "returns-nothing", "returned None"),
        (WANTED.tolist(), "type", "returns-a-list", "returned a list"),
        ((WANTED, WANTED), "type", "returns-a-tuple", "returned a tuple"),
        ("text", "type", None, "returned a text (str); a NumPy array of shape (3, 2) is due."),
        (1.5, "type", "one-number", "returned a number (float); a NumPy array"),
        (np.array([object()]), "dtype", "array-of-objects", "holds Python objects (its dtype is object)"),
        (WANTED * 1j, "dtype", "complex-numbers", "complex numbers (complex128)"),
        (np.ma.array(WANTED), "type", None, "returned a MaskedArray"),
        (WANTED.T, "shape", "transposed", "shape (2, 3); (3, 2) is due"),
        (WANTED[None], "shape", "extra-axis", "shape (1, 3, 2)"),
        (WANTED[:2], "shape", None, "shape (2, 2)"),
        (WANTED.astype(np.float32), "dtype", "lower-precision", "holds float32; float64 is due"),
        (WANTED > 0.5, "dtype", "booleans-not-numbers", "holds bool"),
        (WANTED.astype(int), "dtype", "whole-numbers", "holds int64; float64 is due"),
        (np.where(WANTED > 0.8, np.nan, WANTED), "not finite", None, "the first is nan at [2, 1]"),
        (WANTED + [[0, 0], [0, 0], [0.2, 0]], "values", None, "1 of 6 numbers differ, most at [2, 0]"),
        # Which of two differences that are equal is the larger by a digit hangs on the processor.
        (WANTED + [[0.1, 0], [0.2, 0], [0.2 + 1e-9, 0]], "values", None, "3 of 6 numbers differ, most at [1, 0]"),
    ],
)  # fmt: skip
def test_each_kind(value, kind, mistake, said):
    found = difference(value)
    assert (found.kind, found.mistake) == (kind, mistake)
    assert said in found.seen


def test_booleans_and_squares():
    mask = np.tril(np.ones((3, 3), bool))
    assert difference(mask.astype(int), expected=mask).mistake == "numbers-not-booleans"
    assert difference(mask.T.copy(), expected=mask).mistake == "transposed"


def test_a_wider_float_will_do_unless_the_dtype_is_asked_for():
    narrow = WANTED.astype(np.float32)
    assert difference(WANTED, expected=narrow) is None
    assert difference(WANTED, Rules(exact_dtype=True), narrow).kind == "dtype"


def test_the_view_compares_the_weights_a_mask_leads_to():
    keep = np.array([[0.0, -np.inf, 0.0]])
    rules = Rules(view="attention_labs.comparers:weights_it_leads_to")
    for hidden in (-np.inf, -1e9, np.finfo(float).min):
        assert difference(np.where(keep == 0, 0.0, hidden), rules, keep) is None
    assert difference(np.where(keep == 0, 0.0, -10.0), rules, keep).kind == "values"
    assert difference(np.where(keep == 0, 0.0, 1.0), rules, keep).kind == "values"


def test_nan_is_equal_to_nan_only():
    assert same_values(np.array([np.nan]), np.array([np.nan]), 1e-7)
    assert not same_values(np.array([np.nan]), np.array([1.0]), 1e-7)


def test_asking_never_raises_and_never_changes_the_inputs():
    given = Inputs((np.arange(3.0),), {"scale": True})

    def shout(x, scale):
        print("never seen")
        x += 1
        return x

    answer = ask(shout, given)
    assert answer.modified == ("x",)
    assert given.args[0].tolist() == [0, 1, 2]
    assert ask(lambda x, scale: 1 / 0, given).error == "ZeroDivisionError: division by zero"
    assert ask(lambda x, scale: exec("raise SystemExit(3)"), given).error == "SystemExit: 3"
    assert ask(lambda x, scale: np.zeros(2_000_000), given).value is None


def test_an_object_that_equals_everything_is_no_right_answer():
    class Yes(np.ndarray):
        def __eq__(self, other):
            return True

        def __array_ufunc__(self, *args, **kwargs):
            return np.array(True)

    class Always:
        __eq__ = __array__ = lambda self, *a, **k: True

    for answer in (WANTED.view(Yes), Always()):
        given = ask(partial(lambda it: it, answer), Inputs())
        assert first_difference(WANTED, given, Rules()) is not None


@pytest.mark.parametrize(
    ("name", "value", "given", "said"),
    [
        ("rows_sum_to_one", WANTED.T, Inputs(), "in each row should sum to 1; yours sum to 0.85 to 2.15"),
        ("sums_to_one", WANTED, Inputs((WANTED,), {"axis": 0}), "along axis 0 should sum to 1"),
        ("no_negative_weight", -WANTED, Inputs(), "smallest is -0.9"),
        ("no_looking_ahead", np.ones((3, 3)), Inputs(), "Position 0 attends to position 1"),
        ("within_the_values", WANTED * 9, Inputs((0, 0, WANTED)), "stays between the values"),
    ],
)
def test_properties_say_what_fails_and_keep_quiet_otherwise(name, value, given, said):
    names = [f"attention_labs.comparers:{name}"]
    assert said in failing_property(value, given, names)
    assert failing_property(np.eye(3), Inputs((0, 0, np.eye(3)), {"axis": 0}), names) is None


QUESTION = Question("a small case", Inputs((np.ones((3, 2)),), {"axis": 1}), WANTED, {})


def test_messages_name_case_shapes_and_what_to_do():
    answer = ask(lambda x, axis: WANTED.tolist(), QUESTION.inputs)
    finding = judge([QUESTION], [answer], Rules(), [])
    text = as_text(finding)
    assert "In the case “a small case”, inputs (3, 2), axis=1: Your function returned a list" in text
    assert STRUCTURAL["returns-a-list"][1] in text


def test_a_vector_is_written_as_a_vector():
    asked = Question("a vector", Inputs((np.ones(2),), {}), np.array([1.0, 2.0]), {})
    finding = judge([asked], [ask(lambda x: x * 3, asked.inputs)], Rules(), [])
    yours, _, expected = as_text(finding).splitlines()[-3:]
    assert yours.startswith("[3.") and expected.startswith("[1.")
    assert as_html(finding).count("<table") == 3


def test_the_stub_gets_a_clean_message():
    def stub(x, axis):
        raise NotImplementedError

    answer = ask(stub, QUESTION.inputs)
    finding = judge([QUESTION], [answer], Rules(), [])
    assert (finding.verdict, finding.misconception) == (Verdict.ERROR, None)
    assert as_text(finding).startswith(NOT_WRITTEN)


def test_the_html_escapes_what_the_student_raised():
    def hostile(x, axis):
        raise ValueError("<script>alert(1)</script>")

    answer = ask(hostile, QUESTION.inputs)
    html = as_html(judge([QUESTION], [answer], Rules(), []))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_table_says_which_cells_differ():
    html = tables(WANTED, np.where(WANTED > 0.8, np.nan, WANTED), 1e-7)
    assert html.count("<caption") == 3
    assert html.count("border:2px solid #c04000") == 3  # yours, expected and the difference
    assert "1 of 6 cells differs; it is framed." in html


def test_a_large_table_leaves_out_the_middle_but_shows_what_differs():
    wanted = np.zeros((40, 30))
    got = wanted.copy()
    got[17, 23] = 1
    html = tables(wanted, got, 1e-7)
    assert html.count("<b>1</b>") == 2
    for name in (">17<", ">23<", ">0<", ">39<", ">29<"):
        assert name in html
    assert ">20<" not in html
    assert len(html) < 40_000


# The judge


def misconception(name, function):
    return Misconception(name, f"{name} means.", "What of it?", function)


def asked(function, cases, *wrong):
    """Questions whose reference is `function`, with what each misconception gives."""
    return [
        Question(label, given, function(*given.args), {m.name: ask(m.function, given) for m in wrong})
        for label, given in cases
    ]


CASES = [(f"case {n}", Inputs((np.arange(n, n + 4.0).reshape(2, 2), n % 2))) for n in range(4)]


def total(x, axis):
    return x.sum(axis=axis)


def judged(answer, *wrong):
    questions = asked(total, CASES, *wrong)
    return judge(questions, [ask(answer, q.inputs) for q in questions], Rules(), wrong, "total")


def test_an_explanation_that_contradicts_a_right_case_is_none():
    always_0 = misconception("always-0", lambda x, axis: x.sum(axis=0))
    assert judged(always_0.function, always_0).misconception == "always-0"
    # Right in every case but one, in which it happens to agree with a mistake that is wrong elsewhere.
    odd = judged(lambda x, axis: x.sum(axis=0) if x[0, 0] == 1 else total(x, axis), always_0)
    assert odd.misconception is None


def test_two_errors_of_one_type_are_not_yet_the_same_error():
    misfit = misconception("misfit", lambda x, axis: x @ np.ones((3, 3)))
    assert judged(misfit.function, misfit).misconception == "misfit"

    def always_raises(x, axis):
        raise ValueError("no")

    assert judged(always_raises, misfit).misconception is None


def test_what_the_failing_cases_share_is_said():
    finding = judged(lambda x, axis: total(x, axis) + (axis == 1) * x.max())
    assert "It is right in 2 cases" in finding.means
    rows = [(label, Inputs((np.arange(12.0).reshape(3, 4) + n, 0))) for n, (label, _) in enumerate(CASES)]
    questions = asked(total, rows)
    doubled = [ask(lambda x, axis: 2 * total(x, axis), q.inputs) for q in questions]
    always = judge(questions, doubled, Rules(), [])
    assert "Every number is 2 times the one expected." in always.means


def test_an_exception_names_the_line(monkeypatch):
    import linecache

    source = "def total(x, axis):\n    return x @ np.ones((3, 3))\n"
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(keepends=True), "<cell>")
    names = {"__name__": "__main__", "np": np}
    exec(compile(source, "<cell>", "exec"), names)
    finding = judged(names["total"])
    assert "line 2 of its cell, in `total`: `return x @ np.ones((3, 3))`" in as_text(finding)


# Values of other kinds


@pytest.mark.parametrize(
    ("expected", "value", "said"),
    [
        (3, 4, "returned 4; 3 is due"),
        (3, 3.0, "returned 3.0, a float; a whole number (int) is due"),
        (0.5, 1, "returned 1; 0.5 is due"),
        ("yes", "no", "Your text says 'no'; 'yes' is due."),
        ("a\nb", "a", "Your text ends after line 1; 'b' is due next."),
        (True, 1, "returned a whole number (int); True or False is due"),
        ((1, 2), (1, 2, 3), "returned 3 values; 2 are due"),
        ((1, 2), 1, "returned a whole number (int); a tuple of 2 values is due"),
        (
            (1, WANTED),
            (1, WANTED.T),
            "In the second of the 2 values that you return: the result has shape (2, 3)",
        ),
        ({"a": 1}, {"b": 1}, "has no entry 'a'"),
        ({"a": 1}, {"a": 2}, "Under 'a': there is 2; 1 is due."),
        (None, 1, "returned a whole number (int); None is due"),
    ],
)
def test_other_values_get_their_sentence(expected, value, said):
    assert said in difference(value, expected=expected).seen
    assert difference(expected, expected=expected) is None


def test_numbers_of_numpy_are_numbers():
    assert difference(np.int64(3), expected=3) is None
    assert difference(np.float32(0.5), expected=0.5) is None
    assert difference(np.array(0.5), expected=0.5) is None


def test_what_a_call_prints_can_be_the_answer():
    rules = Rules(returns="printed")
    right = ask(lambda: print("one \ntwo\n"), Inputs())
    assert first_difference("one\ntwo", right, rules) is None
    wrong = ask(lambda: print("one\nthree"), Inputs())
    assert "says in line 2 'three'; 'two' is due" in first_difference("one\ntwo", wrong, rules).seen


def test_shapes_are_described_for_people():
    given = Inputs((np.ones((2, 3), np.float32), 5), {"dtype": np.float16, "mask": None})
    assert describe(given) == "(2, 3) float32, 5, dtype=float16, mask=None"
    model = {name: np.ones(2) for name in "abcde"}
    assert (
        describe(Inputs((model, {"a": [model]}), {}))
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
    assert pack(np.ones(2, np.longdouble))[1].dtype == np.float64
    assert pack(np.float64(1)) == ("float64", 1.0)
    assert pack(object()) == ("object", None)
    assert pack([1, object()]) == ("object", None)
    assert pack(10**400) == ("int of more than 1000 bits", None)
    deep = 1
    for _ in range(20):
        deep = [deep]
    assert pack(deep) == ("list of too many parts", None)


def test_where_a_mapping_is_due_of_a_layer_it_is_compared_as_one():
    rules = Rules(returns="tensor")
    assert first_difference({"size": 2}, Answer({"size": 2}, "dict"), rules) is None
    found = first_difference({"size": 2}, Answer({"size": 3}, "dict"), rules)
    assert found.seen == "Under 'size': there is 3; 2 is due."
    assert first_difference(np.ones(2), Answer({"size": 2}, "dict"), rules).kind == "type"


NEGATIVE = Raised("ValueError", "negative")


@pytest.mark.parametrize(
    ("due", "answer", "said"),
    [
        (NEGATIVE, Answer(None, "error", "ValueError: x is negative"), None),
        (NEGATIVE, Answer(None, "error", "UnicodeError: negative"), None),  # which is a ValueError
        (
            NEGATIVE,
            Answer(2.0, "float"),
            "Your function returned a float; a ValueError is to be raised here.",
        ),
        (
            NEGATIVE,
            Answer(None, "NoneType"),
            "Your function returned None; a ValueError is to be raised here.",
        ),
        (
            NEGATIVE,
            Answer(None, "error", "TypeError: no"),
            "Your function raised TypeError: no. A ValueError is due here.",
        ),
        (
            NEGATIVE,
            Answer(None, "error", "ValueError: no"),
            "Your function raised ValueError: no. Its text is to hold 'negative'.",
        ),
        (NEGATIVE, Answer(None, "error", "NotImplementedError"), "This exercise is not written yet."),
        (2 + 3j, Answer(2 + 3.0000000001j, "complex"), None),
        (2 + 3j, Answer(2 - 3j, "complex"), "Your function returned 2-3j; 2+3j is due."),
        (2 + 0j, Answer(2.0, "float"), None),
        (10**30, Answer(10**30, "int"), None),
        (10**30, Answer(10**30 + 1, "int"), f"Your function returned {10**30 + 1}; {10**30} is due."),
        (
            {1: 2, 3: 4},
            Answer({1: 2, 4: 4}, "dict"),
            "Your result has no entry 3; its entries are to be 1, 3.",
        ),
        ({1: 2, 3: 4}, Answer({1: 2, 3: 5}, "dict"), "Under 3: there is 5; 4 is due."),
    ],
)
def test_errors_that_are_due_large_and_complex_numbers_and_other_keys(due, answer, said):
    found = first_difference(due, answer, Rules())
    assert (found and found.seen) == said


def test_a_float_will_do_for_a_whole_number_where_the_rules_say_so():
    assert first_difference(3, Answer(3.0, "float"), Rules()).mistake == "not-a-whole-number"
    assert first_difference([3, 4], Answer([3.0, 4], "list"), Rules(floats_too=True)) is None
    assert first_difference(3, Answer(3.5, "float"), Rules(floats_too=True)).kind == "type"


def test_a_tolerance_may_have_an_absolute_part():
    loose = Rules(tolerance=(1e-3, 0.5))
    assert first_difference(0.0, Answer(0.4, "float"), loose) is None
    assert first_difference(1000.0, Answer(1001.4, "float"), loose) is None
    assert first_difference(1000.0, Answer(1001.6, "float"), loose)
    assert first_difference(0.0, Answer(0.4, "float"), Rules(tolerance=0.5))
