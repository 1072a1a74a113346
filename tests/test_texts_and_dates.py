"""Arrays of texts, and dates: what travels, what is told of them, what is refused."""

import datetime as dt

import numpy as np
import pytest
from test_proof import lab_of

from autograder.authoring import inputs
from autograder.authoring.proof import weaknesses
from autograder.judging.answer import ask, pack
from autograder.judging.frames import decode, encode, pack_answer, pack_inputs, unpack_answer, unpack_inputs
from autograder.judging.judge import judge
from autograder.judging.kinds import FrameError, Once, as_value, copied, mapped_inputs, unpack_value
from autograder.judging.question import Question, Rules

NAMES = np.array(["Rome", "Oslo", "Bern"])
DAYS = np.array(["2024-02-28", "2024-02-29", "NaT"], dtype="datetime64[D]")
NOON = dt.datetime(2024, 2, 29, 12, 30)


def told(due, answer):
    """What is said of an answer that has travelled; None where it is right."""
    given = mapped_inputs(inputs(due), as_value)
    arrays = []
    header, received = decode(encode({"given": pack_inputs(given, arrays)}, arrays))
    wanted = ask(lambda x: x, given).value
    arrays = []
    packed = pack_answer(ask(answer, unpack_inputs(header["given"], received)), arrays)
    header, received = decode(encode({"answer": packed}, arrays))
    came = unpack_answer(header["answer"], Once(received))
    return judge([Question("", given, wanted, {})], [came], Rules(), [], "f").seen or None


@pytest.mark.parametrize(("due", "answer", "sentence"), [
    (NAMES, lambda x: x.astype("U20"), None),
    (NAMES, lambda x: x.astype(object), None),
    (NAMES, lambda x: np.sort(x), "2 of 3 texts differ, the first at [0]: yours 'Bern', expected 'Rome'."),
    (NAMES, lambda x: x[:2], "Your result has shape (2,); (3,) is due."),
    (NAMES, lambda x: x.tolist(), "Your function returned a list; a NumPy array of texts of shape (3,) is due."),
    (NAMES, lambda x: np.arange(3),
     "Your function returned a NumPy array of shape (3,); a NumPy array of texts of shape (3,) is due."),
    (NAMES, lambda x: x.__setitem__(0, "Bonn") or np.array(["Rome", "Oslo", "Bern"]),
     "Your function changed its argument `x`."),
    (NAMES.reshape(1, 3), lambda x: np.char.upper(x),
     "3 of 3 texts differ, the first at [0, 0]: yours 'ROME', expected 'Rome'."),
    (np.arange(3.0), lambda x: x.astype(str),
     "Your function returned a NumPy array of texts of shape (3,); a NumPy array of shape (3,) is due."),
    ({"a": NAMES}, lambda x: {"a": x["a"][::-1]},
     "Under 'a': 2 of 3 texts differ, the first at [0]: yours 'Bern', expected 'Rome'."),
    (DAYS, lambda x: x.astype("datetime64[ns]"), None),
    (DAYS, lambda x: x + 1, "2 of 3 dates differ, the first at [0]: yours 2024-02-29, expected 2024-02-28."),
    (DAYS, lambda x: x + np.timedelta64(90, "m"),
     "2 of 3 dates differ, the first at [0]: yours 2024-02-28T01:30:00, expected 2024-02-28."),
    (DAYS, lambda x: np.datetime_as_string(x),
     "Your function returned a NumPy array of texts of shape (3,); a NumPy array of dates of shape (3,) is due."),
    (NOON, lambda x: np.datetime64(x, "ns"), None),
    (NOON, lambda x: x + dt.timedelta(hours=1),
     "Your function returned 2024-02-29 13:30:00; 2024-02-29 12:30:00 is due."),
    (NOON, lambda x: x.date(), "Your function returned a date; a date with a time (datetime) is due."),
    (NOON, lambda x: np.datetime64("NaT"),
     "Your function returned a date that is none, which cannot be compared. A date with a time (datetime) is due."),
    (NOON.date(), lambda x: np.datetime64(x), None),
    (NOON.date(), lambda x: str(x), "Your function returned a text (str); a date is due."),
    (NOON - dt.datetime(2024, 1, 1), lambda x: np.timedelta64(x), None),
    (dt.timedelta(days=2), lambda x: x / 2, "Your function returned 1 day, 0:00:00; 2 days, 0:00:00 is due."),
    ([NOON.date()], lambda x: [x[0].replace(day=1)],
     "In the first of the 1 value that you return: there is 2024-02-01; 2024-02-29 is due."),
])  # fmt: skip
def test_what_is_told(due, answer, sentence):
    assert told(due, answer) == sentence


@pytest.mark.parametrize(
    "given", [NAMES, NAMES.reshape(3, 1), np.array([], dtype=str), DAYS, DAYS.astype("datetime64[ns]")]
)
def test_an_array_comes_as_it_was_given(given):
    came = copied(as_value(given))
    assert came.dtype == given.dtype and came.shape == given.shape
    assert came.astype(str).tolist() == given.astype(str).tolist()


def test_a_date_of_numpy_s_by_itself_is_a_sentence():
    with pytest.raises(FrameError, match="a datetime64 is no value by itself"):
        as_value(np.datetime64("2024-02-29"))


class Day(dt.datetime):
    """A kind of datetime that says it equals everything."""

    def __eq__(self, other):
        return True

    __hash__ = dt.datetime.__hash__

    def isoformat(self, *args):
        return "2024-02-29T12:30:00"


@pytest.mark.parametrize("result", [
    np.array(["a", 1], dtype=object), np.array([], dtype=object), np.array([b"a"]), np.array(["x" * 10_001] * 2),
    np.zeros(20_001, "U1"), np.array([1], "timedelta64[D]"),
    np.datetime64("NaT"), np.datetime64(-10**6, "Y"),
])  # fmt: skip
def test_what_is_no_value(result):
    assert pack(result)[1] is None


def test_a_hostile_date_is_what_it_holds():
    assert (
        told(NOON, lambda x: Day(1999, 1, 1))
        == "Your function returned 1999-01-01 00:00:00; 2024-02-29 12:30:00 is due."
    )


@pytest.mark.parametrize("packed", [
    {"texts": ["str", [2], ["a"]]}, {"texts": ["str", [-1], ["a"]]}, {"texts": ["str", [1.0], ["a"]]},
    {"texts": ["str", [1], [1]]}, {"texts": ["object", [1], ["a"]]}, {"texts": [["str"], [1], ["a"]]},
    {"texts": ["datetime64[us]", [1], ["a"]]}, {"texts": ["datetime64[10us]", [1], ["NaT"]]}, {"texts": 1},
    {"texts": ["str", [0] + [10**4] * 20, []]}, {"date": "2024-02-30"}, {"date": 1}, {"datetime": "x"},
    {"timedelta": "9" * 39},
    {"timedelta": "1" * 99}, {"datetime": "2024-02-29T12:30:00" + " " * 30},
])  # fmt: skip
def test_what_is_forged_is_refused(packed):
    with pytest.raises(FrameError):
        unpack_value(packed, Once([]))


def test_a_build_proves_them():
    def drawn(rng):
        return inputs(
            np.array(["a", "b", "c"])[rng.integers(3, size=4)],
            NOON + dt.timedelta(minutes=int(rng.integers(99))),
        )

    assert weaknesses(lab_of(lambda x, at: (np.char.add(x, "!"), at.date(), at - NOON), drawn)) == []
    (sentence,) = weaknesses(lab_of(lambda x, at: x, drawn))
    assert "argument 1 given back is right in every case" in sentence
