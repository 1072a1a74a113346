"""The protocol: values survive a round trip, and malformed data is refused."""

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

from autograder.sandbox import Cell, CellRun, SandboxError
from autograder.sandbox.base import _decode_outcomes
from autograder.sandbox.inside import protocol
from autograder.sandbox.inside.executor import call_and_encode_results
from autograder.sandbox.inside.protocol import Channel, ProtocolError
from autograder.sandbox.no_isolation import NoIsolation
from autograder.values import encoding
from autograder.values.case_records import DTYPES, CallOutcome, Inputs, inputs
from autograder.values.encoding import MAX_ARRAYS, ByteReader, decode, encode, read_frame
from autograder.values.value_types import MAX_ANSWER_CHARACTERS, MAX_ANSWER_PARTS, SingleUseArrays

quick = settings(suppress_health_check=[HealthCheck.too_slow])

arrays = hnp.arrays(
    st.sampled_from(sorted(DTYPES)).map(np.dtype),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)  # no lone surrogates
json_values = st.recursive(
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


def is_same(first, second) -> bool:
    if isinstance(first, np.ndarray):
        return (
            first.dtype == second.dtype
            and first.shape == second.shape
            and first.tobytes() == second.tobytes()
        )
    if isinstance(first, float):
        return type(second) is float and (first == second or (first != first and second != second))
    return type(first) is type(second) and first == second


@quick
@given(
    st.dictionaries(st.sampled_from(["op", "a", "é"]), json_values), st.lists(arrays, max_size=3)
)
def test_frames_come_back(header, values):
    decoded_header, decoded_values = decode(encode(header, values))
    assert decoded_header == header
    assert all(map(is_same, values, decoded_values)) and len(values) == len(decoded_values)


@quick
@given(
    st.lists(arguments, max_size=4),
    st.dictionaries(st.text("abcé", max_size=4), arguments, max_size=3),
)
def test_inputs_come_back(args, kwargs):
    values: list = []
    record = encoding.pack_inputs(Inputs(tuple(args), kwargs), values)
    header, decoded_values = decode(encode({"inputs": record}, values))
    unpacked = encoding.unpack_inputs(header["inputs"], decoded_values)
    assert all(map(is_same, args, unpacked.args)) and list(unpacked.kwargs) == list(kwargs)
    assert all(is_same(kwargs[name], unpacked.kwargs[name]) for name in kwargs)


@quick
@given(
    st.none() | arrays,
    st.text(max_size=20),
    st.text(max_size=20),
    st.lists(st.text(max_size=5), max_size=3),
)
def test_answers_come_back(value, kind, error, modified):
    values: list = []
    record = encoding.pack_outcome(CallOutcome(value, kind, error, tuple(modified)), values)
    header, decoded_values = decode(encode({"answer": record}, values))
    unpacked = encoding.unpack_outcome(header["answer"], SingleUseArrays(decoded_values))
    clean = [text.encode("utf-8", "replace").decode() for text in (kind, error, *modified)]
    assert [unpacked.type, unpacked.error, *unpacked.modified] == clean
    assert (unpacked.value is None) == (value is None)
    assert value is None or is_same(value, unpacked.value)


def test_arrays_in_any_layout_travel():
    odd = [
        np.arange(12).reshape(3, 4).T,
        np.arange(6, dtype=">i4")[::2],
        np.float32(3).reshape(()),
        np.zeros((2, 0, 3)),
    ]
    for array, decoded in zip(odd, decode(encode({}, odd))[1], strict=True):
        assert decoded.shape == array.shape and decoded.tolist() == array.tolist()
        assert decoded.flags.writeable


def test_numpy_scalars_lists_and_tuples_travel():
    values: list = []
    record = encoding.pack_inputs(inputs(np.float16(1.5), (1, [2.0, None]), [np.ones(2)]), values)
    header, decoded_values = decode(encode(record, values))
    scalar, pair, list_argument = encoding.unpack_inputs(header, decoded_values).args
    assert (
        type(scalar) is np.float16
        and scalar == 1.5
        and pair == (1, [2.0, None])
        and list_argument[0].tolist() == [1, 1]
    )


# Malformed data raises ProtocolError, never any other exception


@quick
@given(st.binary(max_size=200))
def test_garbage_is_refused(data):
    with pytest.raises(ProtocolError):
        decode(data)


@quick
@given(st.data())
def test_damaged_frames_are_refused_or_plain(data):
    frame = bytearray(
        encode({"op": "answer", "a": [1, "x", None]}, [np.arange(3.0), np.ones((2, 2), bool)])
    )
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        header, values = decode(bytes(frame))
    except ProtocolError:
        return
    assert isinstance(header, dict) and all(value.dtype.name in DTYPES for value in values)


@quick
@given(st.integers(0, 200))
def test_cut_frames_are_refused(length):
    frame = encode({"op": "x"}, [np.arange(20.0)])
    if length < len(frame):
        with pytest.raises(ProtocolError):
            decode(frame[:length])


@quick
@given(json_values)
def test_any_json_as_values_is_refused_or_plain(value):
    for unpack in (encoding.unpack_inputs, encoding.unpack_outcome):
        try:
            unpacked = unpack(value, [np.zeros(2)])
        except ProtocolError:
            continue
        assert isinstance(unpacked, (Inputs, CallOutcome))
    with suppress(ProtocolError):
        protocol.validate_and_strip_output(value)


@quick
@given(
    st.dictionaries(
        st.sampled_from(["output_type", "data", "metadata", "name", "text", "ename"]), json_values
    )
)
def test_any_object_as_an_output_is_refused_or_valid(value):
    nbformat = pytest.importorskip("nbformat")
    try:
        output = protocol.validate_and_strip_output(value)
    except ProtocolError:
        return
    cell = nbformat.v4.new_code_cell("", outputs=[nbformat.from_dict(output)])
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))


def pack_raw(header: bytes, payload: bytes = b"", lengths=None) -> bytes:
    sizes = lengths or (len(header), len(payload))
    return encoding.PREFIX.pack(encoding.MAGIC, *sizes) + header + payload


def with_array(dtype, shape, payload=b"") -> bytes:
    return pack_raw(json.dumps({"arrays": [[dtype, shape]]}).encode(), payload)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the bytes end"),
        (struct.pack("!4sIQ", b"PK\3\4", 2, 0) + b"{}", "no frame begins"),
        (pack_raw(b"", lengths=(2**32 - 1, 0)), "too large"),
        (pack_raw(b"{}", lengths=(2, 2**63)), "too large"),
        (pack_raw(b"[]"), "must be an object"),
        (pack_raw(b"{}"), "expected a list"),
        (pack_raw(b"{"), "not JSON"),
        (pack_raw(b'{"a": NaN, "arrays": []}'), "NaN is not JSON"),
        (pack_raw(b'{"a": 1e999, "arrays": []}'), "too large"),
        (pack_raw(b'{"a": 1' + b"0" * 30 + b', "arrays": []}'), "integer too large"),
        (pack_raw(b'{"a": 1' + b"0" * 9000 + b', "arrays": []}'), "not JSON"),
        (pack_raw(b'{"a": 1, "a": 2, "arrays": []}'), "appears twice"),
        (pack_raw(b'{"a": "\\ud800", "arrays": []}'), "not Unicode"),
        (pack_raw(b'{"a": ' + b"[" * 40 + b"]" * 40 + b', "arrays": []}'), "too deep"),
        (
            pack_raw(b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b', "arrays": []}'),
            "not JSON|too deep",
        ),
        (pack_raw(b'{"arrays": []}\xff'), "not JSON"),
        (with_array("object", [1], b"x" * 8), "no such dtype"),
        (with_array("float128", [1], b"x" * 16), "no such dtype"),
        (with_array("<U4", [1], b"x" * 16), "no such dtype"),
        (with_array("int8", [-1]), "no such shape"),
        (with_array("int8", [True], b"x"), "no such shape"),
        (with_array("int8", [1.0], b"x"), "no such shape"),
        (with_array("int8", "3", b"xxx"), "expected a list"),
        (with_array("int8", [10**7], b"x"), "no such shape"),
        (with_array("int8", [10**4, 10**4]), "too large an array"),
        (with_array("int8", [10**6, 10**6, 0]), "too large an array"),
        (with_array("int8", [1] * 40, b"x"), "expected a list"),
        (with_array("int8", [3], b"xx"), "another length"),
        (with_array("int8", [3], b"xxxx"), "another length"),
        (with_array("bool", [2], b"\x01\x02"), "0 or 1"),
        (pack_raw(b'{"arrays": [[[], []]]}'), "dtype and a shape"),
        (pack_raw(b'{"arrays": [1]}'), "dtype and a shape"),
        (encode({}) + b"x", "after the frame"),
    ],
)
def test_each_oddity_is_named(data, reason):
    with pytest.raises(ProtocolError, match=reason):
        decode(data)


@pytest.mark.parametrize(
    "record",
    [
        {"array": 1}, {"array": -1}, {"array": True}, {"array": "0"}, {"dtype": "object"}, {"dtype": []},
        {"float": "1"}, {"float": []}, {"value": []}, {"value": {}}, {"scalar": 0}, {"tuple": 3},
        {"eval": "1"}, {}, {"value": 1, "array": 0}, [], None, 3,
    ],
)  # fmt: skip
def test_odd_arguments_are_refused(record):
    with pytest.raises(ProtocolError):
        encoding.unpack_inputs({"args": [record], "kwargs": {}}, [np.zeros(2)])


@pytest.mark.parametrize(
    "change",
    [
        {"type": 3}, {"error": None}, {"modified": "x"}, {"modified": [3]},
        {"value": {"array": 1.0}}, {"value": {"array": 7}}, {"value": {"array": "0"}},
        {"error": "x" * 5000}, {"modified": ["x"] * 500}, {"extra": 1},
        {"held": 1},
    ],
)  # fmt: skip
def test_odd_answers_are_refused(change):
    good = encoding.pack_outcome(CallOutcome(np.zeros(2)), [])
    assert encoding.unpack_outcome(good, SingleUseArrays([np.zeros(2)])).value.shape == (2,)
    with pytest.raises(ProtocolError):
        encoding.unpack_outcome({**good, **change}, SingleUseArrays([np.zeros(2)]))


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
    with pytest.raises(ProtocolError):
        protocol.validate_and_strip_output(output)


@pytest.mark.parametrize(
    "value", [object(), {1, b"x"}, b"x", np.array([object()]), np.array(["text"])]
)
def test_what_cannot_travel_is_not_packed(value):
    with pytest.raises(ProtocolError):
        values: list = []
        encode(encoding.pack_inputs(inputs(value), values), values)


def test_a_length_is_checked_before_anything_is_read():
    sizes = []
    data = ByteReader(pack_raw(b"{}", lengths=(2**31, 0)))

    def read(n):
        sizes.append(n)
        return data.read(n)

    with pytest.raises(ProtocolError, match="too large"):
        read_frame(read, max_header=1000)
    assert sizes == [encoding.PREFIX.size]


# Channels


def test_frames_larger_than_a_pipe_pass_both_ways():
    forward, backward = os.pipe(), os.pipe()
    channel, echo_channel = Channel(backward[0], forward[1]), Channel(forward[0], backward[1])
    big = np.arange(500_000.0)
    echo = threading.Thread(target=lambda: echo_channel.send(*echo_channel.receive()))
    echo.start()
    channel.send({"op": "x"}, [big])
    header, (echoed,) = channel.receive()
    echo.join()
    assert header == {"op": "x"} and is_same(big, echoed)
    for fd in (*forward, *backward):
        os.close(fd)


@pytest.mark.parametrize("sends", [False, True])
def test_a_silent_other_end_is_given_up_on(sends):
    class TooLate(Exception):
        pass

    def tick():
        raise TooLate

    (reader, writer), (second_reader, second_writer) = os.pipe(), os.pipe()
    channel = Channel(reader, second_writer, tick, tick_seconds=0.01)
    with pytest.raises(TooLate):
        channel.send({"op": "x"}, [np.zeros(100_000)]) if sends else channel.receive()
    for fd in (reader, writer, second_reader, second_writer):
        os.close(fd)


def test_a_closed_other_end_is_named():
    reader, writer = os.pipe()
    second_reader, second_writer = os.pipe()
    channel = Channel(reader, second_writer)
    os.write(writer, encode({"op": "x"})[:-1])
    os.close(writer)
    with pytest.raises(protocol.ChannelClosed):
        channel.receive()
    os.close(second_reader)
    with pytest.raises(protocol.ChannelClosed):
        channel.send({"op": "x"})
    os.close(reader)
    os.close(second_writer)


def nest(value, levels):
    for _ in range(levels):
        value = [value]
    return value


LARGEST = MAX_ANSWER_PARTS - 1  # and the list itself
ODD_BUT_HONEST = {
    "an array as a list": lambda x: np.full(LARGEST, -1.2345678901234567e-300).tolist(),
    "a list of NumPy's numbers": lambda x: list(np.full(LARGEST, 0.1)),
    "a list of rows": lambda x: list(np.ones((LARGEST, 3))),
    "lists in lists": lambda x: [nest(0.1, 6) for _ in range(LARGEST // 7)],
    "one part too many": lambda x: [0.5] * MAX_ANSWER_PARTS,
    "control characters, printed": lambda x: print("\0" * MAX_ANSWER_CHARACTERS),
    "a text of control characters": lambda x: "\0" * MAX_ANSWER_CHARACTERS,
}


@pytest.mark.parametrize("name", ODD_BUT_HONEST)
def test_what_an_answer_may_hold_the_grader_reads(name):
    answer, times = ODD_BUT_HONEST[name], 20 if "characters" in name else 2
    written = b"".join(
        call_and_encode_results(answer, "function", [Inputs((number,)) for number in range(times)])
    )
    answers, problem = _decode_outcomes(
        written, times, [times * MAX_ARRAYS, times * encoding.MAX_PAYLOAD_BYTES]
    )
    assert problem == "" and len(answers) == times


@pytest.mark.parametrize(
    "value", [{0: [1, 2]}, {(1, "a"): None}, {None: {1, 2}}, {2.5}, {"a": {3: "b"}}]
)
def test_an_answer_of_any_plain_keys_is_sent(value):
    written = b"".join(call_and_encode_results(lambda: value, "function", [Inputs()] * 3))
    header, _ = read_frame(ByteReader(written).read, 10_000, 0)
    assert [
        encoding.unpack_outcome(answer, SingleUseArrays([])).value for answer in header["answers"]
    ] == [value] * 3


def test_a_report_is_what_a_driver_writes_or_is_refused():
    run = CellRun(
        index=1,
        charged_seconds=0.5,
        outputs=[{"output_type": "stream", "name": "stdout", "text": "a"}],
    )
    good = decode(encode(run.to_fields()))[0]
    assert CellRun.from_fields(dict(good)) == run
    odd = [
        {"status": "fine"},
        {"index": True},
        {"charged_seconds": "1"},
        {"outputs": [{}]},
        {"reason": "x" * 3000},
    ]
    for change in [*odd, {"answers": []}, {"answer_groups": None}]:
        with pytest.raises(ProtocolError):
            CellRun.from_fields({**good, **change})


@pytest.mark.parametrize("indices", [[], [0], [0, 0], [1, 0], [0, 7], [-1, 1]])
def test_reports_that_do_not_fit_the_cells_are_the_graders_fault(indices):
    class Odd(NoIsolation):
        def _run_plan(self, *plan):
            yield from ((CellRun(index=index), []) for index in indices)

    with pytest.raises(SandboxError, match="failed twice"):
        Odd().run([Cell("a = 1"), Cell("b = 1")])


def is_output(**fields):
    try:
        protocol.validate_and_strip_output(fields)
    except ProtocolError:
        return False
    return True


def test_the_lines_of_a_traceback_and_the_types_of_an_output_are_limited():
    for lines in (protocol.MAX_TRACEBACK_LINES, protocol.MAX_TRACEBACK_LINES + 1):
        error = {"output_type": "error", "ename": "E", "evalue": ""}
        assert is_output(**error, traceback=["x"] * lines) == (
            lines == protocol.MAX_TRACEBACK_LINES
        )
    for types in (protocol.MAX_MIME_TYPES, protocol.MAX_MIME_TYPES + 1):
        data = {f"text/x-{number}": "" for number in range(types)}
        display = {"output_type": "display_data", "metadata": {}, "data": data}
        assert is_output(**display) == (types == protocol.MAX_MIME_TYPES)


@pytest.mark.parametrize("name", ["", "stdin", "stdout\n", "STDOUT"])
def test_a_stream_is_one_of_two(name):
    assert is_output(output_type="stream", name="stderr", text="")
    assert not is_output(output_type="stream", name=name, text="")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "Its process ended with exit code 0."),
        (-11, "Its process was killed by SIGSEGV."),
        (-300, "Its process was killed by signal 300."),
        (None, "Its process ended."),
    ],
)
def test_the_end_of_a_process_is_told_by_its_code(code, text):
    assert protocol.describe_exit(code) == text


def test_json_of_a_display_is_left_out_and_other_data_must_be_text():
    data = {"text/plain": "x", "application/json": {"a": 1}, "application/vnd.x+json": [1]}
    output = {"output_type": "display_data", "data": data, "metadata": {"a": 1}}
    stripped = protocol.validate_and_strip_output(output)
    assert (stripped["data"], stripped["metadata"]) == ({"text/plain": "x"}, {})
    for mime, content in (("image/png", 3), ("no type", "x")):
        output = {"output_type": "display_data", "data": {mime: content}, "metadata": {}}
        with pytest.raises(protocol.ProtocolError):
            protocol.validate_and_strip_output(output)


def test_bytes_are_split_into_parts_that_fit_into_a_message():
    largest = bytes(protocol.MAX_PART_BYTES)
    for data, sizes in ((largest, [len(largest)]), (largest + b"x", [len(largest), 1])):
        _, parts = decode(encode({}, protocol.split_into_message_parts(data)))
        assert [len(part) for part in parts] == sizes and protocol.join_parts(parts) == data
