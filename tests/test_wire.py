"""The wire: what is packed comes back, and nothing else gets through."""

import json
import os
import struct
import threading
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograder.grading.sandbox import Cell, CellRun, SandboxError
from autograder.grading.sandbox.inside import wire
from autograder.grading.sandbox.inside.hand_in import frames_of_answers
from autograder.grading.sandbox.inside.wire import Channel, WireError
from autograder.grading.sandbox.none import Unconfined
from autograder.grading.sandbox.run import _read_answers
from autograder.judging import frames
from autograder.judging.frames import MAX_ARRAYS, Bytes, decode, encode, read_frame
from autograder.judging.kinds import MAX_CHARACTERS, MAX_PARTS, Once
from autograder.judging.question import DTYPES, Answer, Inputs, inputs

quick = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

arrays = hnp.arrays(
    st.sampled_from(sorted(DTYPES)).map(np.dtype),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)  # no lone surrogates
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=10,
)
arguments = (
    arrays
    | st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | text
    | st.sampled_from([getattr(np, name) for name in sorted(DTYPES - {"bool"})] + [np.bool_])
)


def same(one, other) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return type(other) is float and (one == other or (one != one and other != other))
    return type(one) is type(other) and one == other


@quick
@given(st.dictionaries(st.sampled_from(["op", "a", "é"]), plain), st.lists(arrays, max_size=3))
def test_frames_come_back(header, values):
    again, back = decode(encode(header, values))
    assert again == header
    assert all(map(same, values, back)) and len(values) == len(back)


@quick
@given(st.lists(arguments, max_size=4), st.dictionaries(st.text("abcé", max_size=4), arguments, max_size=3))
def test_inputs_come_back(args, kwargs):
    values: list = []
    packed = frames.pack_inputs(Inputs(tuple(args), kwargs), values)
    header, back = decode(encode({"inputs": packed}, values))
    found = frames.unpack_inputs(header["inputs"], back)
    assert all(map(same, args, found.args)) and list(found.kwargs) == list(kwargs)
    assert all(same(kwargs[name], found.kwargs[name]) for name in kwargs)


@quick
@given(
    st.none() | arrays, st.text(max_size=20), st.text(max_size=20), st.lists(st.text(max_size=5), max_size=3)
)
def test_answers_come_back(value, kind, error, modified):
    values: list = []
    packed = frames.pack_answer(Answer(value, kind, error, tuple(modified)), values)
    header, back = decode(encode({"answer": packed}, values))
    found = frames.unpack_answer(header["answer"], Once(back))
    clean = [text.encode("utf-8", "replace").decode() for text in (kind, error, *modified)]
    assert [found.type, found.error, *found.modified] == clean
    assert found.value is None if value is None else same(value, found.value)


def test_arrays_in_any_layout_travel():
    odd = [
        np.arange(12).reshape(3, 4).T,
        np.arange(6, dtype=">i4")[::2],
        np.float32(3).reshape(()),
        np.zeros((2, 0, 3)),
    ]
    for before, after in zip(odd, decode(encode({}, odd))[1], strict=True):
        assert after.shape == before.shape and after.tolist() == before.tolist() and after.flags.writeable


def test_numpy_scalars_lists_and_tuples_travel():
    values: list = []
    packed = frames.pack_inputs(inputs(np.float16(1.5), (1, [2.0, None]), [np.ones(2)]), values)
    header, back = decode(encode(packed, values))
    scalar, pair, listed = frames.unpack_inputs(header, back).args
    assert (
        type(scalar) is np.float16
        and scalar == 1.5
        and pair == (1, [2.0, None])
        and listed[0].tolist() == [1, 1]
    )


# Whatever a stranger writes is refused, never anything but WireError


@quick
@given(st.binary(max_size=200))
def test_garbage_is_refused(data):
    with pytest.raises(WireError):
        decode(data)


@quick
@given(st.data())
def test_damaged_frames_are_refused_or_plain(data):
    whole = bytearray(encode({"op": "answer", "a": [1, "x", None]}, [np.arange(3.0), np.ones((2, 2), bool)]))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        header, values = decode(bytes(whole))
    except WireError:
        return
    assert isinstance(header, dict) and all(value.dtype.name in DTYPES for value in values)


@quick
@given(st.integers(0, 200))
def test_cut_frames_are_refused(length):
    whole = encode({"op": "x"}, [np.arange(20.0)])
    if length < len(whole):
        with pytest.raises(WireError):
            decode(whole[:length])


@quick
@given(plain)
def test_any_json_as_values_is_refused_or_plain(value):
    for unpack in (frames.unpack_inputs, frames.unpack_answer):
        try:
            found = unpack(value, [np.zeros(2)])
        except WireError:
            continue
        assert isinstance(found, (Inputs, Answer))
    with suppress(WireError):
        wire.check_output(value)


@quick
@given(st.dictionaries(st.sampled_from(["output_type", "data", "metadata", "name", "text", "ename"]), plain))
def test_any_object_as_an_output_is_refused_or_valid(value):
    nbformat = pytest.importorskip("nbformat")
    try:
        output = wire.check_output(value)
    except WireError:
        return
    cell = nbformat.v4.new_code_cell("", outputs=[nbformat.from_dict(output)])
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))


def raw(header: bytes, payload: bytes = b"", lengths=None) -> bytes:
    sizes = lengths or (len(header), len(payload))
    return frames.PREFIX.pack(frames.MAGIC, *sizes) + header + payload


def with_array(dtype, shape, payload=b"") -> bytes:
    return raw(json.dumps({"arrays": [[dtype, shape]]}).encode(), payload)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the bytes end"),
        (struct.pack("!4sIQ", b"PK\3\4", 2, 0) + b"{}", "no frame begins"),
        (raw(b"", lengths=(2**32 - 1, 0)), "too large"),
        (raw(b"{}", lengths=(2, 2**63)), "too large"),
        (raw(b"[]"), "must be an object"),
        (raw(b"{}"), "a list was due"),
        (raw(b"{"), "not JSON"),
        (raw(b'{"a": NaN, "arrays": []}'), "NaN is not JSON"),
        (raw(b'{"a": 1e999, "arrays": []}'), "too large"),
        (raw(b'{"a": 1' + b"0" * 30 + b', "arrays": []}'), "integer too large"),
        (raw(b'{"a": 1' + b"0" * 9000 + b', "arrays": []}'), "not JSON"),
        (raw(b'{"a": 1, "a": 2, "arrays": []}'), "appears twice"),
        (raw(b'{"a": "\\ud800", "arrays": []}'), "not Unicode"),
        (raw(b'{"a": ' + b"[" * 40 + b"]" * 40 + b', "arrays": []}'), "too deep"),
        (raw(b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b', "arrays": []}'), "not JSON|too deep"),
        (raw(b'{"arrays": []}\xff'), "not JSON"),
        (with_array("object", [1], b"x" * 8), "no such dtype"),
        (with_array("float128", [1], b"x" * 16), "no such dtype"),
        (with_array("<U4", [1], b"x" * 16), "no such dtype"),
        (with_array("int8", [-1]), "no such shape"),
        (with_array("int8", [True], b"x"), "no such shape"),
        (with_array("int8", [1.0], b"x"), "no such shape"),
        (with_array("int8", "3", b"xxx"), "a list was due"),
        (with_array("int8", [10**7], b"x"), "no such shape"),
        (with_array("int8", [10**4, 10**4]), "too large an array"),
        (with_array("int8", [10**6, 10**6, 0]), "too large an array"),
        (with_array("int8", [1] * 40, b"x"), "a list was due"),
        (with_array("int8", [3], b"xx"), "another length"),
        (with_array("int8", [3], b"xxxx"), "another length"),
        (with_array("bool", [2], b"\x01\x02"), "0 or 1"),
        (raw(b'{"arrays": [[[], []]]}'), "dtype and a shape"),
        (raw(b'{"arrays": [1]}'), "dtype and a shape"),
        (encode({}) + b"x", "after the frame"),
    ],
)
def test_each_oddity_is_named(data, why):
    with pytest.raises(WireError, match=why):
        decode(data)


@pytest.mark.parametrize(
    "packed",
    [
        {"array": 1}, {"array": -1}, {"array": True}, {"array": "0"}, {"dtype": "object"}, {"dtype": []},
        {"float": "1"}, {"float": []}, {"value": []}, {"value": {}}, {"scalar": 0}, {"tuple": 3},
        {"eval": "1"}, {}, {"value": 1, "array": 0}, [], None, 3,
    ],
)  # fmt: skip
def test_odd_arguments_are_refused(packed):
    with pytest.raises(WireError):
        frames.unpack_inputs({"args": [packed], "kwargs": {}}, [np.zeros(2)])


@pytest.mark.parametrize(
    "changed",
    [
        {"type": 3}, {"error": None}, {"modified": "x"}, {"modified": [3]},
        {"value": {"array": 1.0}}, {"value": {"array": 7}}, {"value": {"array": "0"}},
        {"error": "x" * 5000}, {"modified": ["x"] * 500}, {"extra": 1},
        {"held": 1},
    ],
)  # fmt: skip
def test_odd_answers_are_refused(changed):
    good = frames.pack_answer(Answer(np.zeros(2)), [])
    assert frames.unpack_answer(good, Once([np.zeros(2)])).value.shape == (2,)
    with pytest.raises(WireError):
        frames.unpack_answer({**good, **changed}, Once([np.zeros(2)]))


@pytest.mark.parametrize(
    "output",
    [
        {"output_type": "stream", "name": "stdin", "text": ""},
        {"output_type": "stream", "name": "stdout", "text": ["a"]},
        {"output_type": "stream", "name": "stdout", "text": "", "x": 1},
        {"output_type": "display_data", "data": {"text/html": ["a"]}, "metadata": {}},
        {"output_type": "display_data", "data": {"no mime": "a"}, "metadata": {}},
        {"output_type": "display_data", "data": {"text/plain": "a"}},
        {"output_type": "execute_result", "data": {}, "metadata": {}, "execution_count": "1"},
        {"output_type": "error", "ename": "a", "evalue": "b", "traceback": [1]},
        {"output_type": ["stream"]}, {}, None, [],
    ],
)  # fmt: skip
def test_odd_outputs_are_refused(output):
    with pytest.raises(WireError):
        wire.check_output(output)


@pytest.mark.parametrize("value", [object(), {1, b"x"}, b"x", np.array([object()]), np.array(["text"])])
def test_what_cannot_travel_is_not_packed(value):
    with pytest.raises(WireError):
        values: list = []
        encode(frames.pack_inputs(inputs(value), values), values)


def test_a_length_is_checked_before_anything_is_read():
    asked = []
    data = Bytes(raw(b"{}", lengths=(2**31, 0)))

    def read(n):
        asked.append(n)
        return data.read(n)

    with pytest.raises(WireError, match="too large"):
        read_frame(read, max_header=1000)
    assert asked == [frames.PREFIX.size]


# Channels


def test_frames_larger_than_a_pipe_pass_both_ways():
    there, back = os.pipe(), os.pipe()
    one, other = Channel(back[0], there[1]), Channel(there[0], back[1])
    big = np.arange(500_000.0)
    echo = threading.Thread(target=lambda: other.send(*other.receive()))
    echo.start()
    one.send({"op": "x"}, [big])
    header, (again,) = one.receive()
    echo.join()
    assert header == {"op": "x"} and same(big, again)
    for fd in (*there, *back):
        os.close(fd)


@pytest.mark.parametrize("sends", [False, True])
def test_a_silent_other_end_is_given_up_on(sends):
    class TooLate(Exception):
        pass

    def tick():
        raise TooLate

    (reader, writer), (other, last) = os.pipe(), os.pipe()
    channel = Channel(reader, last, tick, every=0.01)
    with pytest.raises(TooLate):
        channel.send({"op": "x"}, [np.zeros(100_000)]) if sends else channel.receive()
    for fd in (reader, writer, other, last):
        os.close(fd)


def test_a_closed_other_end_is_named():
    reader, writer = os.pipe()
    there, back = os.pipe()
    channel = Channel(reader, back)
    os.write(writer, encode({"op": "x"})[:-1])
    os.close(writer)
    with pytest.raises(wire.Closed):
        channel.receive()
    os.close(there)
    with pytest.raises(wire.Closed):
        channel.send({"op": "x"})
    os.close(reader)
    os.close(back)


def nested(number, levels):
    for _ in range(levels):
        number = [number]
    return number


LARGEST = MAX_PARTS - 1  # and the list itself
ODD_BUT_HONEST = {
    "an array as a list": lambda x: np.full(LARGEST, -1.2345678901234567e-300).tolist(),
    "a list of NumPy's numbers": lambda x: list(np.full(LARGEST, 0.1)),
    "a list of rows": lambda x: list(np.ones((LARGEST, 3))),
    "lists in lists": lambda x: [nested(0.1, 6) for _ in range(LARGEST // 7)],
    "one part too many": lambda x: [0.5] * MAX_PARTS,
    "control characters, printed": lambda x: print("\0" * MAX_CHARACTERS),
    "a text of control characters": lambda x: "\0" * MAX_CHARACTERS,
}


@pytest.mark.parametrize("what", ODD_BUT_HONEST)
def test_what_an_answer_may_hold_the_grader_reads(what):
    answer, times = ODD_BUT_HONEST[what], 20 if "characters" in what else 2
    written = b"".join(frames_of_answers(answer, "function", [Inputs((number,)) for number in range(times)]))
    answers, odd = _read_answers(written, times, [times * MAX_ARRAYS, times * frames.MAX_PAYLOAD])
    assert odd == "" and len(answers) == times


@pytest.mark.parametrize("value", [{0: [1, 2]}, {(1, "a"): None}, {None: {1, 2}}, {2.5}, {"a": {3: "b"}}])
def test_an_answer_of_any_plain_keys_is_sent(value):
    written = b"".join(frames_of_answers(lambda: value, "function", [Inputs()] * 3))
    header, _ = read_frame(Bytes(written).read, 10_000, 0)
    assert [frames.unpack_answer(answer, Once([])).value for answer in header["answers"]] == [value] * 3


def test_a_report_is_what_a_driver_writes_or_is_refused():
    run = CellRun(index=1, spent=0.5, outputs=[{"output_type": "stream", "name": "stdout", "text": "a"}])
    good = decode(encode(run.to_fields()))[0]
    assert CellRun.from_fields(dict(good)) == run
    odd = [{"status": "fine"}, {"index": True}, {"spent": "1"}, {"outputs": [{}]}, {"reason": "x" * 3000}]
    for change in [*odd, {"answers": []}, {"asked": None}]:
        with pytest.raises(WireError):
            CellRun.from_fields({**good, **change})


@pytest.mark.parametrize("said", [[], [0], [0, 0], [1, 0], [0, 7], [-1, 1]])
def test_reports_that_do_not_fit_the_cells_are_the_graders_fault(said):
    class Odd(Unconfined):
        def _reports(self, *ordered):
            yield from ((CellRun(index=index), []) for index in said)

    with pytest.raises(SandboxError, match="failed twice"):
        Odd().run([Cell("a = 1"), Cell("b = 1")])
