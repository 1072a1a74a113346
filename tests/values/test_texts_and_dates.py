"""Arrays of texts, and dates: encoding, comparison, and refusal of invalid data."""

import datetime as dt

import numpy as np
import pytest
from small_lab import lab_of

from autograder.authoring import inputs
from autograder.authoring.verify import find_lab_weaknesses
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function, pack_result
from autograder.values.case_records import ComparisonRules, TestCase
from autograder.values.encoding import (
    decode,
    encode,
    pack_inputs,
    pack_outcome,
    unpack_inputs,
    unpack_outcome,
)
from autograder.values.value_types import (
    EncodingError,
    SingleUseArrays,
    convert_argument,
    copy_value,
    map_inputs,
    pack_value,
    unpack_value,
)

NAMES = np.array(["Rome", "Oslo", "Bern"])
DAYS = np.array(["2024-02-28", "2024-02-29", "NaT"], dtype="datetime64[D]")
NOON = dt.datetime(2024, 2, 29, 12, 30)


def message_for(argument, answer):
    """Return the message about an answer after a round trip; None if it is right."""
    arguments = map_inputs(inputs(argument), convert_argument)
    arrays = []
    header, arrays = decode(encode({"given": pack_inputs(arguments, arrays)}, arrays))
    sent_arguments = unpack_inputs(header["given"], arrays)
    expected = call_student_function(lambda x: x, arguments).value
    arrays = []
    data = pack_outcome(call_student_function(answer, sent_arguments), arrays)
    header, arrays = decode(encode({"answer": data}, arrays))
    result = unpack_outcome(header["answer"], SingleUseArrays(arrays))
    case = TestCase("", arguments, expected, {})
    return judge([case], [result], ComparisonRules(), [], "f").observation or None


@pytest.mark.parametrize(("argument", "answer", "sentence"), [
    (NAMES, lambda x: x.astype("U20"), None),
    (NAMES, lambda x: x.astype(object), None),
    (NAMES, lambda x: np.sort(x),
     "2 of 3 texts differ. The first is at [0]: your value is 'Bern', expected 'Rome'."),
    (NAMES, lambda x: x[:2], "Your result has shape (2,); expected (3,)."),
    (NAMES, lambda x: x.tolist(),
     "Your function returned a list; expected a NumPy array of texts of shape (3,)."),
    (NAMES, lambda x: np.arange(3),
     "Your function returned a NumPy array of shape (3,); expected a NumPy array of texts of "
     "shape (3,)."),
    (NAMES, lambda x: x.__setitem__(0, "Bonn") or np.array(["Rome", "Oslo", "Bern"]),
     "Your function changed its argument `x`."),
    (NAMES.reshape(1, 3), lambda x: np.char.upper(x),
     "3 of 3 texts differ. The first is at [0, 0]: your value is 'ROME', expected 'Rome'."),
    (np.arange(3.0), lambda x: x.astype(str),
     "Your function returned a NumPy array of texts of shape (3,); expected a NumPy array of "
     "shape (3,)."),
    ({"a": NAMES}, lambda x: {"a": x["a"][::-1]},
     "In the entry 'a': 2 of 3 texts differ. The first is at [0]: your value is 'Bern', expected 'Rome'."),
    (DAYS, lambda x: x.astype("datetime64[ns]"), None),
    (DAYS, lambda x: x + 1,
     "2 of 3 dates differ. The first is at [0]: your value is 2024-02-29, expected 2024-02-28."),
    (DAYS, lambda x: x + np.timedelta64(90, "m"),
     "2 of 3 dates differ. The first is at [0]: your value is 2024-02-28T01:30:00, expected 2024-02-28."),
    (DAYS, lambda x: np.datetime_as_string(x),
     "Your function returned a NumPy array of texts of shape (3,); expected a NumPy array of "
     "dates of shape (3,)."),
    (NOON, lambda x: np.datetime64(x, "ns"), None),
    (NOON, lambda x: x + dt.timedelta(hours=1),
     "Your function returned 2024-02-29 13:30:00; expected 2024-02-29 12:30:00."),
    (NOON, lambda x: x.date(),
     "Your function returned a date; expected a date with a time (datetime)."),
    (NOON, lambda x: np.datetime64("NaT"),
     "Your function returned a date that is none, which cannot be compared. Expected a date "
     "with a time (datetime)."),
    (NOON, lambda x: x.replace(tzinfo=dt.UTC),
     "Your function returned 2024-02-29 12:30:00+00:00; expected 2024-02-29 12:30:00."),
    (NOON.replace(tzinfo=dt.UTC), lambda x: x.replace(tzinfo=None),
     "Your function returned 2024-02-29 12:30:00; expected 2024-02-29 12:30:00+00:00."),
    (NOON.date(), lambda x: np.datetime64(x), None),
    (NOON.date(), lambda x: str(x), "Your function returned a text (str); expected a date."),
    (NOON - dt.datetime(2024, 1, 1), lambda x: np.timedelta64(x), None),
    (dt.timedelta(days=2), lambda x: x / 2,
     "Your function returned 1 day, 0:00:00; expected 2 days, 0:00:00."),
    (dt.timedelta(days=2), lambda x: x + dt.timedelta(microseconds=1),
     "Your function returned 2 days, 0:00:00.000001; expected 2 days, 0:00:00."),
    (dt.timedelta(days=2), lambda x: np.timedelta64(x, "us") - np.timedelta64(1, "us"),
     "Your function returned 1 day, 23:59:59.999999; expected 2 days, 0:00:00."),
    (dt.timedelta(microseconds=-7), lambda x: np.timedelta64(x, "ns"), None),
    ([NOON.date()], lambda x: [x[0].replace(day=1)],
     "In the first of the 1 value that you return: found 2024-02-01; expected 2024-02-29."),
])  # fmt: skip
def test_the_message_describes_the_first_difference(argument, answer, sentence):
    assert message_for(argument, answer) == sentence


@pytest.mark.parametrize(
    "array",
    [NAMES, NAMES.reshape(3, 1), np.array([], dtype=str), DAYS, DAYS.astype("datetime64[ns]")],
)
def test_a_copied_array_keeps_dtype_shape_and_items(array):
    copied_array = copy_value(convert_argument(array))
    assert copied_array.dtype == array.dtype and copied_array.shape == array.shape
    assert copied_array.astype(str).tolist() == array.astype(str).tolist()


def test_a_numpy_date_by_itself_is_refused():
    with pytest.raises(EncodingError, match="a datetime64 is no value by itself"):
        convert_argument(np.datetime64("2024-02-29"))


@pytest.mark.parametrize(
    "length", [dt.timedelta(seconds=1.001), dt.timedelta(days=9999, microseconds=1)]
)
def test_a_length_of_time_is_kept_to_the_microsecond(length):
    assert unpack_value(pack_value(length, []), []) == length
    assert message_for(length, lambda x: length) is None


GAPS = np.array([1, -40, "NaT"], dtype="timedelta64[D]")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda x: x, None),
        (lambda x: x.astype("timedelta64[h]"), None),
        (lambda x: x + 1, "durations differ"),
        (lambda x: np.where(x == x[0], x[2], x), "at [0]: your value is NaT, expected 1 day, 0:00"),
        (lambda x: np.where(np.isnat(x), x[0], x), "value is 1 day, 0:00:00, expected NaT."),
        (lambda x: x.astype(int), "expected a NumPy array of durations"),
    ],
)
def test_an_array_of_durations_is_compared_in_any_unit(answer, message):
    text = message_for(GAPS, answer)
    assert (text is None) if message is None else message in text, text


@pytest.mark.parametrize("items", [["1.5"], ["1 day"], ["1" * 20], [1]])
def test_no_forged_duration_is_decoded(items):
    with pytest.raises(EncodingError):
        unpack_value({"texts": ["timedelta64[D]", [1], items]}, SingleUseArrays([]))


class Day(dt.datetime):
    """A hostile subclass of datetime that equals everything."""

    def __eq__(self, day):
        return True

    __hash__ = dt.datetime.__hash__

    def isoformat(self, *args):
        return "2024-02-29T12:30:00"


@pytest.mark.parametrize("result", [
    np.array(["a", 1], dtype=object), np.array([], dtype=object), np.array([b"a"]), np.array(["x" * 10_001] * 2),
    np.zeros(20_001, "U1"), np.array([1], "timedelta64"),
    np.datetime64("NaT"), np.datetime64(-10**6, "Y"),
])  # fmt: skip
def test_unsupported_arrays_and_dates_are_no_values(result):
    assert pack_result(result)[1] is None


def test_a_hostile_date_is_compared_by_its_fields():
    assert (
        message_for(NOON, lambda x: Day(1999, 1, 1))
        == "Your function returned 1999-01-01 00:00:00; expected 2024-02-29 12:30:00."
    )


@pytest.mark.parametrize("data", [
    {"texts": ["str", [2], ["a"]]}, {"texts": ["str", [-1], ["a"]]},
    {"texts": ["str", [1.0], ["a"]]},
    {"texts": ["str", [1], [1]]}, {"texts": ["object", [1], ["a"]]},
    {"texts": [["str"], [1], ["a"]]},
    {"texts": ["datetime64[us]", [1], ["a"]]}, {"texts": ["datetime64[10us]", [1], ["NaT"]]},
    {"texts": 1},
    {"texts": ["str", [0] + [10**4] * 20, []]}, {"date": "2024-02-30"}, {"date": 1},
    {"datetime": "x"},
    {"timedelta": "9" * 39},
    {"timedelta": "1" * 99}, {"datetime": "2024-02-29T12:30:00" + " " * 30},
])  # fmt: skip
def test_invalid_data_of_texts_and_dates_are_refused(data):
    with pytest.raises(EncodingError):
        unpack_value(data, SingleUseArrays([]))


def test_a_build_refuses_an_exercise_that_an_argument_passes():
    def draw_inputs(rng):
        return inputs(
            np.array(["a", "b", "c"])[rng.integers(3, size=4)],
            NOON + dt.timedelta(minutes=int(rng.integers(99))),
        )

    def right(x, moment):
        return np.char.add(x, "!"), moment.date(), moment - NOON

    assert find_lab_weaknesses(lab_of(right, draw_inputs)) == []
    (sentence,) = find_lab_weaknesses(lab_of(lambda x, moment: x, draw_inputs))
    assert "argument 1 given back is right in every case" in sentence
