"""Every kind of difference, its sentence, and the picture that goes with it."""

from functools import partial

import numpy as np
import pytest

from autograder.answer import Answer, ask, pack
from autograder.compare import STRUCTURAL, failing_property, first_difference, same_values
from autograder.exercise import Inputs, Question, Rules
from autograder.feedback import as_html, as_text, describe, picture
from autograder.judge import judge
from autograder.results import Result, Verdict

WANTED = np.array([[0.25, 0.75], [0.5, 0.5], [0.1, 0.9]])


def difference(value, rules=None, expected=WANTED):
    return first_difference(expected, pack(value), rules or Rules())


def test_a_right_answer_has_no_difference():
    assert difference(WANTED.copy()) is None
    assert difference(WANTED + 1e-10) is None


@pytest.mark.parametrize(
    ("value", "kind", "mistake", "said"),
    [
        (None, "nothing", "returns-nothing", "returned None"),
        (WANTED.tolist(), "type", "returns-a-list", "returned a list"),
        ((WANTED, WANTED), "type", "returns-a-tuple", "returned a tuple"),
        ("text", "type", None, "returned a str"),
        (np.array([object()]), "type", None, "ndarray of object"),
        (np.ma.array(WANTED), "type", None, "returned a MaskedArray"),
        (WANTED.T, "shape", "transposed", "shape (2, 3); (3, 2) is due"),
        (WANTED[None], "shape", "extra-axis", "shape (1, 3, 2)"),
        (WANTED[:2], "shape", None, "shape (2, 2)"),
        (WANTED.astype(np.float32), "dtype", "lower-precision", "holds float32; float64 is due"),
        (WANTED > 0.5, "dtype", None, "holds bool"),
        (np.where(WANTED > 0.8, np.nan, WANTED), "not finite", None, "the first is nan at [2, 1]"),
        (WANTED + [[0, 0], [0, 0], [0.2, 0]], "values", None, "1 of 6 numbers differ, most at [2, 0]"),
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
    rules = Rules(view="weights")
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
        ("rows sum to one", WANTED.T, Inputs(), "in each row should sum to 1; yours sum to 0.85 to 2.15"),
        ("sums to one", WANTED, Inputs((WANTED,), {"axis": 0}), "along axis 0 should sum to 1"),
        ("no negative weight", -WANTED, Inputs(), "smallest is -0.9"),
        ("no looking ahead", np.ones((3, 3)), Inputs(), "Position 0 attends to position 1"),
        ("within the values", WANTED * 9, Inputs((0, 0, WANTED)), "stays between the values"),
    ],
)
def test_properties_say_what_fails_and_keep_quiet_otherwise(name, value, given, said):
    assert said in failing_property(value, given, [name])
    assert failing_property(np.eye(3), Inputs((0, 0, np.eye(3)), {"axis": 0}), [name]) is None


QUESTION = Question("a small case", Inputs((np.ones((3, 2)),), {"axis": 1}), WANTED, {})


def test_messages_name_case_shapes_and_what_to_do():
    answer = ask(lambda x, axis: WANTED.tolist(), QUESTION.inputs)
    finding = judge([QUESTION], [answer], Rules(), [])
    text = as_text(finding, QUESTION, answer, Rules())
    assert "In the case “a small case”, inputs (3, 2), axis=1: Your function returned a list" in text
    assert STRUCTURAL["returns-a-list"][1] in text


def test_the_stub_gets_a_clean_message():
    def stub(x, axis):
        raise NotImplementedError

    answer = ask(stub, QUESTION.inputs)
    finding = judge([QUESTION], [answer], Rules(), [])
    assert (finding.verdict, finding.misconception) == (Verdict.ERROR, None)
    assert as_text(finding, QUESTION, answer, Rules()).startswith("This exercise is not written yet.")


def test_the_html_escapes_what_the_student_raised():
    def hostile(x, axis):
        raise ValueError("<script>alert(1)</script>")

    answer = ask(hostile, QUESTION.inputs)
    html = as_html(judge([QUESTION], [answer], Rules(), []), QUESTION, answer, Rules())
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_the_picture_is_a_png_whose_alt_text_counts():
    png, alt = picture(WANTED, np.where(WANTED > 0.8, np.nan, WANTED), 1e-7)
    assert png.startswith(b"\x89PNG")
    assert "1 cell differs and is framed" in alt


def test_shapes_are_described_for_people():
    given = Inputs((np.ones((2, 3), np.float32), 5), {"dtype": np.float16, "mask": None})
    assert describe(given) == "(2, 3) float32, 5, dtype=float16, mask=None"


def test_results_survive_json_and_nonsense_does_not():
    row = Result("ada", "lab", "softmax", None, 2.0, Verdict.MANUAL, None, "é", 0.5)
    assert Result.from_json(row.to_json()) == row
    with pytest.raises((ValueError, TypeError)):
        Result.from_json('{"student": 1}')
    with pytest.raises(ValueError, match="perfect"):
        Result.from_json(row.to_json().replace("manual", "perfect"))


def test_an_answer_holds_plain_data_only():
    assert pack(np.ones(2, np.longdouble)).value.dtype == np.float64
    assert pack(np.float64(1)).type == "float64"
    assert pack(object()) == Answer(None, "object")
