"""Encoding: values of every type survive a frame and an answer key, within bounds."""

import json
import time
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from autograder.authoring.lab import read_lab
from autograder.authoring.skeleton import write_course
from autograder.core.course import read_course
from autograder.judging.student_calls import call_student_function, pack_result
from autograder.student import answer_key
from autograder.values import encoding, scalars, value_types
from autograder.values.arrays import MAX_REPEATED_ROWS
from autograder.values.case_records import (
    DTYPES,
    CallOutcome,
    ComparisonRules,
    Inputs,
    copy_with_layout,
    find_memory_layout,
)
from autograder.values.encoding import (
    decode,
    encode,
    pack_inputs,
    pack_outcome,
    unpack_inputs,
    unpack_outcome,
)
from autograder.values.value_types import (
    MAX_ANSWER_CHARACTERS,
    MAX_ANSWER_NUMBERS,
    MAX_ANSWER_PARTS,
    MAX_AXES,
    MAX_DEPTH,
    EncodingError,
    SingleUseArrays,
    find_difference,
    is_unchanged,
    pack_value,
    unpack_value,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ARRAYS = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda dtype: arrays_of.arrays(
        dtype, arrays_of.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    )
)
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(),
    TEXTS,
    ARRAYS,
    st.sampled_from([np.dtype(name).type for name in sorted(DTYPES)]),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(TEXTS, inner, max_size=3),
        st.sets(TEXTS | st.integers(-9, 9), max_size=3),
    ),
    max_leaves=8,
)


def identical(first, second):
    """Return True for equal types, numbers (NaN equals NaN), and dtypes and shapes of arrays."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        return (
            first.dtype == second.dtype
            and first.shape == second.shape
            and first.tobytes() == second.tobytes()
        )
    if isinstance(first, (tuple, list)):
        return len(first) == len(second) and all(map(identical, first, second))
    if isinstance(first, dict):
        same_keys = list(first) == list(second)
        return same_keys and all(identical(first[key], second[key]) for key in first)
    return first == second or (first != first and second != second)


def depth(value):
    """Return the number of levels of containers in a value."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list, set)):
        return 0
    return 1 + max(map(depth, value), default=0)


def round_trip(value):
    """Return a value after it was packed, sent as bytes, and unpacked."""
    arrays = []
    data = pack_value(value, arrays)
    header, arrays = decode(encode({"value": data}, arrays))
    return unpack_value(header["value"], arrays)


@given(VALUES.filter(lambda value: depth(value) <= MAX_DEPTH))
def test_a_value_survives_a_round_trip(value):
    assert identical(round_trip(value), value)


@given(VALUES.filter(lambda value: depth(value) <= MAX_DEPTH))
def test_an_answer_survives_a_round_trip(value):
    answer = CallOutcome(
        value, type(value).__name__, "ValueError: no", ("x",), "printed", "3: f()", "f"
    )
    arrays = []
    header, arrays = decode(encode({"answer": pack_outcome(answer, arrays)}, arrays))
    decoded_answer = unpack_outcome(header["answer"], SingleUseArrays(arrays))
    assert identical(decoded_answer.value, value)
    for name in ("type", "error", "modified", "printed", "line", "within"):
        assert getattr(decoded_answer, name) == getattr(answer, name)


@given(
    st.lists(PLAIN, max_size=3),
    st.dictionaries(st.sampled_from("abc"), PLAIN),
    st.none() | st.integers(0, 99),
)
def test_inputs_survive_a_round_trip(args, kwargs, memory):
    arrays = []
    header, arrays = decode(
        encode({"given": pack_inputs(Inputs(tuple(args), kwargs, memory), arrays)}, arrays)
    )
    inputs = unpack_inputs(header["given"], arrays)
    assert identical(inputs.args, tuple(args)) and identical(dict(inputs.kwargs), kwargs)
    assert inputs.memory == memory


@pytest.mark.parametrize("layout", ["C", "F", "strided", "repeated"])
def test_an_input_keeps_its_memory_layout(layout):
    array = copy_with_layout(np.arange(12.0).reshape(3, 4), layout)
    copies = round_trip((array, array))
    assert [find_memory_layout(a) for a in copies] == [layout, layout]
    assert (copies[0] == array).all()


def test_identical_tells_values_apart():
    """The tests above rely on `identical`."""
    pairs = [
        (1, 1.0), (True, 1), ((1,), [1]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (0.0, float("nan")),
        (np.zeros(2), np.zeros((2, 1))), (np.zeros(2), np.zeros(2, "float32")), ("1", 1),
        ({"a": 1}, {"a": 2}),
    ]  # fmt: skip
    assert not [pair for pair in pairs if identical(*pair)]
    assert identical(float("nan"), float("nan"))


# Bounds


def nest(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def test_a_value_nested_too_deep_is_refused_on_both_sides():
    assert identical(round_trip(nest(MAX_DEPTH)), nest(MAX_DEPTH))
    with pytest.raises(EncodingError, match="not too deep"):
        round_trip(nest(MAX_DEPTH + 1))
    with pytest.raises(EncodingError, match="too deep"):
        decode(encode({"value": pack_value(nest(40), [])}))
    assert pack_result(nest(MAX_DEPTH))[1] is not None
    assert pack_result(nest(MAX_DEPTH + 1)) == ("int of too many parts", None)


def test_an_array_of_an_answer_is_used_once():
    arrays = [np.zeros(3)]
    data = {"tuple": [{"array": 0}, {"array": 0}]}
    assert len(unpack_value(data, arrays)) == 2  # in an answer key, which is trusted
    with pytest.raises(EncodingError, match="an array is used twice"):
        unpack_value(data, SingleUseArrays(arrays))
    with pytest.raises(EncodingError, match="no such kind"):  # no copy into another layout
        unpack_value({"F": 0}, SingleUseArrays([np.zeros((2, 2))]))


@pytest.mark.parametrize(
    "data",
    [
        None, [], {}, {"value": 1, "float": "inf"}, {"value": [1]}, {"value": {}},
        {"float": "1"}, {"float": 1},
        {"dtype": "object"}, {"dtype": "complex128"}, {"array": 1}, {"array": -1},
        {"array": True}, {"array": "0"},
        {"scalar": 0}, {"tuple": {}}, {"list": "ab"}, {"mapping": []}, {"eval": "1"},
        {"set": {}}, {"set": [{"list": []}]}, {"set": [{"array": 0}]},
    ],
)  # fmt: skip
def test_invalid_value_data_are_refused(data):
    with pytest.raises(EncodingError):
        unpack_value(data, [np.zeros(2)])


@pytest.mark.parametrize("value", [{1, b"a"}, b"a", object(), np.zeros(2, complex), len])
def test_an_unsupported_object_is_refused(value):
    with pytest.raises(EncodingError):
        round_trip(value)
    kind, plain = pack_result(value)
    assert plain is None and kind


def test_the_size_of_an_answer_is_limited():
    assert pack_result("x" * MAX_ANSWER_CHARACTERS)[1] is not None
    assert pack_result("x" * (MAX_ANSWER_CHARACTERS + 1))[1] is None
    assert pack_result(["x" * (MAX_ANSWER_CHARACTERS // 2 + 1)] * 2)[1] is None
    assert pack_result(np.zeros(MAX_ANSWER_NUMBERS + 1, bool))[1] is None
    assert pack_result([np.zeros(MAX_ANSWER_NUMBERS // 2 + 1, bool)] * 2)[1] is None
    assert pack_result([0] * (MAX_ANSWER_PARTS - 1))[1] is not None
    assert pack_result([0] * MAX_ANSWER_PARTS)[1] is None  # the list itself is a part, too
    with pytest.raises(EncodingError, match="prints too much"):
        data = pack_outcome(CallOutcome(1), [])
        unpack_outcome({**data, "printed": "x" * (MAX_ANSWER_CHARACTERS + 1)}, SingleUseArrays([]))


def test_a_list_that_became_a_tuple_is_changed():
    arguments = Inputs(({"a": [1, 2]},))
    answer = call_student_function(lambda table: table.update(a=(1, 2)), arguments)
    assert answer.modified == ("table",)


def test_sets_are_compared_copied_and_checked_for_changes():
    expected = {1, "a", (2, 3)}
    for value, sentence in (
        ({1, "a"}, "lacks (2, 3)."),
        (expected | {9}, "should not hold 9."),
        ([1], "a set of 3 values"),
    ):
        assert sentence in find_difference(expected, value, ComparisonRules()).observation
    assert find_difference(expected, set(expected), ComparisonRules()) is None

    def adds(names):
        names.add("new")

    arguments = Inputs(({"old"},))
    assert call_student_function(adds, arguments).modified == ("names",) and arguments.args[0] == {
        "old"
    }


def test_changed_arguments_are_noticed_in_every_kind_of_value():
    def changes(numbers, names, table):
        names.append("c")
        table["a"][0] = 9
        return len(names)

    arguments = Inputs((np.zeros(2), ["a", "b"], {"a": np.ones(2)}))
    answer = call_student_function(changes, arguments)
    assert (answer.value, answer.modified) == (3, ("names", "table"))
    assert arguments.args[1] == ["a", "b"] and arguments.args[2]["a"][0] == 1


# Keys

EXERCISE = """\
import numpy as np

from autograder.authoring import Exercise, inputs

mean_of_first_steps = Exercise("mean_of_first_steps", points=2{rules})


@mean_of_first_steps.case("one")
def one(rng):
    return inputs(np.array([1.0, 2.0, 6.0]))


@mean_of_first_steps.case("two")
def two(rng):
    return inputs(rng.normal(size=5))


@mean_of_first_steps.misconception(means="You did.", nudge="Why?")
def wrong(numbers):
    {wrong}
"""
RESULTS = {
    "number": ("float(numbers.sum())", "return 0.5"),
    "text": ("f'{numbers.sum():.2f}'", "return 'none'"),
    "tuple": ("(int(len(numbers)), float(numbers.sum()))", "return (0, 0.5)"),
    "list": ("[float(n) for n in numbers]", "return []"),
    "mapping": ("{'sum': float(numbers.sum()), 'all': numbers * 2}", "return {}"),
    "bool": ("bool(numbers.sum() > -100)", "return False"),
    "array": ("numbers * 2", "return numbers * 3"),
    "set": ("{int(n) for n in numbers}", "return {0}"),
    "none": ("None", "return 1"),
    "dtype": ("np.float32", "return np.float64"),
}


def key_of(tmp_path, wrong, rules="", result="", body=""):
    """Return the exercise of a new course with this result, and its answer key."""
    write_course(tmp_path)
    folder = tmp_path / "solutions" / "first-steps"
    source = EXERCISE.format(rules=rules, wrong=wrong)
    (folder / "mean_of_first_steps.py").write_text(source, "utf-8")
    path = folder / "first-steps.ipynb"
    text = path.read_text("utf-8")
    old = "return float(np.sum(numbers) / len(numbers))"
    assert old in text
    path.write_text(text.replace(old, body or f"return {result}"), "utf-8")
    lab = read_lab(read_course(tmp_path), "first-steps")
    exercise = lab.exercises["mean_of_first_steps"]
    written = tmp_path / "mean_of_first_steps.key"
    written.write_bytes(answer_key.encode_key(exercise))
    answer_key.clear_cache()
    return exercise, answer_key.read_exercise_key(written, exercise.name)


@pytest.mark.parametrize("kind", RESULTS)
def test_a_key_holds_results_of_every_kind(kind, tmp_path):
    result, wrong = RESULTS[kind]
    exercise, key = key_of(tmp_path, wrong, result=result)
    for test_case, key_case in zip(exercise.test_cases(), key.test_cases, strict=True):
        assert identical(key_case.expected, test_case.expected)
        assert identical(key_case.inputs.args, test_case.inputs.args)
        mistake, key_mistake = test_case.mistakes["wrong"], key_case.mistakes["wrong"]
        assert identical(key_mistake.value, mistake.value)
        assert (key_mistake.type, key_mistake.error, key_mistake.modified) == (
            mistake.type,
            mistake.error,
            mistake.modified,
        )


def test_a_key_holds_what_is_printed_and_what_a_mistake_prints(tmp_path):
    rules, body = ', returns="printed"', "print(len(numbers))"
    exercise, key = key_of(tmp_path, "print('no')", rules=rules, body=body)
    for drawn_cases in (key.test_cases, exercise.test_cases()):
        assert [test_case.expected for test_case in drawn_cases] == ["3\n", "5\n"]
    assert [q.mistakes["wrong"].printed for q in key.test_cases] == ["no\n", "no\n"]


def test_answer_keys_and_the_sandbox_protocol_share_one_encoding(tmp_path):
    """A key is one compressed frame; its test cases are packed like those of the sandbox."""
    exercise, _ = key_of(tmp_path, "return 0", result="(float(numbers.sum()), numbers)")
    header, arrays = decode(zlib.decompress(answer_key.encode_key(exercise)))
    for case, test_case in zip(header["cases"], exercise.test_cases(), strict=True):
        new_arrays = []
        assert set(case["inputs"]) == set(pack_inputs(test_case.inputs, new_arrays))
        assert identical(unpack_inputs(case["inputs"], arrays).args, test_case.inputs.args)
        assert identical(unpack_value(case["expected"], arrays), test_case.expected)


@pytest.mark.parametrize(
    "value",
    [
        2**63,
        -(2**63) - 1,
        10**250,
        {1: 2},
        {(1, "a"): [2.5], None: np.eye(2)},
        1j,
        2.5 - 1e-3j,
        {2 + 1j},
    ],
)
def test_large_and_complex_numbers_and_any_plain_key_survive_a_round_trip(value):
    decoded_value = round_trip(value)
    assert is_unchanged(value, decoded_value) and type(decoded_value) is type(value)
    assert is_unchanged(value, pack_result(value)[1])


@pytest.mark.parametrize("data", [
    {"integer": "0xg"}, {"integer": "1_0"}, {"integer": " 1"}, {"integer": "1" * 300},
    {"complex": ["1"]}, {"complex": ["a", "1"]},
    {"entries": {}},
    {"entries": [[{"value": 1}]]}, {"entries": [[{"list": []}, {"value": 1}]]}, {"raised": ["a"]},
])  # fmt: skip
def test_invalid_data_of_numbers_keys_and_errors_are_refused(data):
    with pytest.raises(EncodingError):
        unpack_value(data, [])


PRIME = 2**61 - 1  # Python hashes whole numbers modulo this prime


@pytest.mark.parametrize(
    "value",
    [
        {"entries": [[{"integer": f"{i * PRIME:x}"}, {"integer": "0"}] for i in range(10_000)]},
        {"set": [{"integer": f"{i * PRIME:x}"} for i in range(10_000)]},
        {"set": [{"tuple": [{"integer": f"{i * PRIME:x}"}]} for i in range(10_000)]},
    ],
    ids=["keys", "members", "tuples"],
)
def test_keys_of_one_hash_are_refused_before_a_table_is_made_of_them(value):
    """A hash table of these keys would take quadratic time: 80 seconds."""
    began = time.process_time()
    with pytest.raises(EncodingError, match="too many"):
        value_types.unpack_value(value, [])
    assert time.process_time() - began < 5


def test_a_result_with_many_keys_of_one_hash_is_reported():
    budget = value_types.SizeBudget()
    with pytest.raises(value_types.UnsupportedValue, match="dict with very many keys of one hash"):
        value_types.convert_result({i * PRIME: 0 for i in range(1000)}, budget)
    message = "set with very many members of one hash"
    with pytest.raises(value_types.UnsupportedValue, match=message):
        value_types.convert_result({i * PRIME for i in range(1000)}, budget)
    few_collisions = {-1: 0, -2: 1, 0: 2, PRIME: 3}
    assert value_types.convert_result(few_collisions, budget) == few_collisions
    powers = {2**k: k for k in range(1000)}
    assert value_types.convert_result(powers, budget) == powers and value_types.convert_result(
        {*powers}, budget
    ) == {*powers}


@pytest.mark.parametrize("part", [b"[]", b"1", b'""', b"{}"])
def test_json_of_very_many_parts_is_refused_before_it_is_read(part):
    with pytest.raises(EncodingError, match="too much JSON"):
        encoding._decode_json_header(b'{"x": [' + b",".join([part] * 21_000) + b"]}", 20_000)


def test_json_of_as_many_parts_as_no_frame_has_is_refused():
    assert encoding.MAX_JSON_NODES == 2_000_000
    with pytest.raises(EncodingError, match="too much JSON"):
        encoding._decode_json_header(b'{"x": [' + b",".join([b"1"] * 2_100_000) + b"]}")


def test_punctuation_in_texts_is_not_counted():
    text = '[[{,"\\' * 500_000
    assert encoding._decode_json_header(json.dumps({"x": text}).encode()) == {"x": text}


def test_an_answer_of_too_many_parts_is_refused():
    parts = [{"value": 1}] * value_types.MAX_ANSWER_PARTS
    with pytest.raises(EncodingError, match="too many parts"):
        value_types.unpack_value({"list": parts}, value_types.SingleUseArrays([]))
    arrays = value_types.SingleUseArrays([])
    for _ in range(3):  # the parts of each answer are counted anew
        arrays.begin_answer()
        value = value_types.unpack_value({"list": parts[:-1]}, arrays)
        assert len(value) == value_types.MAX_ANSWER_PARTS - 1


def test_counting_the_values_of_hostile_json_takes_linear_time():
    """An unclosed string of escaped quotation marks took minutes; the CPU time may grow 16 times."""
    seconds = []
    for length in (50_000, 400_000):
        start = time.process_time()
        for ending in (b"", b"\\"):
            data = b"[" + b"," * 200_001 + b'"' + b'\\"' * length + ending
            with pytest.raises(EncodingError, match="too much JSON"):
                encoding._decode_json_header(data, 200_000)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 16 * seconds[0] + 0.5


def test_counting_the_values_of_json_takes_little_memory():
    data = b"[" + b'"",' * 50_000
    tracemalloc.start()
    with pytest.raises(EncodingError, match="too much JSON"):
        encoding._decode_json_header(data, 20_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 18


def test_a_reader_may_allow_fewer_values_in_the_json():
    frame = encode({"op": "output", "parts": [{"": 0}] * 1000})
    assert len(decode(frame, max_nodes=2100)[0]["parts"]) == 1000
    with pytest.raises(EncodingError, match="too much JSON"):
        decode(frame, max_nodes=1900)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_whole_numbers_of_both_signs_survive_a_round_trip(sign):
    largest = sign * (2**scalars.MAX_INTEGER_BITS - 1)
    assert round_trip(largest) == largest and pack_result(largest) == ("int", largest)
    assert pack_result(2 * largest)[1] is None


class HeaderReadError(Exception):
    pass


@pytest.mark.parametrize(
    ("more_bytes", "error"), [(0, HeaderReadError), (1, EncodingError)], ids=["at", "above"]
)
def test_a_frame_with_too_long_a_header_is_refused_before_it_is_read(more_bytes, error):
    size = encoding.MAX_HEADER_BYTES + more_bytes

    def read(count):
        if count == size:
            raise HeaderReadError
        return encoding.PREFIX.pack(encoding.MAGIC, size, 0)

    with pytest.raises(error):
        encoding.read_frame(read)


def test_the_depth_of_json_and_the_axes_of_arrays_are_limited():
    levels = encoding.MAX_JSON_DEPTH - 1  # without the header itself
    assert decode(encode({"x": nest(levels)}))[0] == {"x": nest(levels)}
    with pytest.raises(EncodingError, match="too deep"):
        decode(encode({"x": nest(levels + 1)}))
    array = np.zeros([1] * MAX_AXES)
    assert decode(encode({}, [array]))[1][0].shape == array.shape
    with pytest.raises(EncodingError, match="at most 32 items"):
        decode(encode({}, [array[None]]))


OUTCOME = pack_outcome(CallOutcome(1), [])
LONGEST_TEXT = "x" * encoding.MAX_TEXT_CHARACTERS
TOO_LONG = LONGEST_TEXT + "x"
MOST_NAMES = ["x"] * (encoding._MAX_TEXTS - 4)  # type, error, line and function are texts, too


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ({"type": LONGEST_TEXT}, {"type": TOO_LONG}),
        ({"error": LONGEST_TEXT}, {"error": TOO_LONG}),
        ({"modified": [LONGEST_TEXT]}, {"modified": [TOO_LONG]}),
        ({"modified": MOST_NAMES}, {"modified": [*MOST_NAMES, "x"]}),
    ],
    ids=["type", "error", "name", "names"],
)
def test_the_texts_of_an_answer_are_limited(accepted, refused):
    unpack_outcome({**OUTCOME, **accepted}, SingleUseArrays([]))
    with pytest.raises(EncodingError, match="texts"):
        unpack_outcome({**OUTCOME, **refused}, SingleUseArrays([]))


def test_the_texts_of_an_answer_are_cut_to_what_is_accepted():
    names = (TOO_LONG,) * (encoding._MAX_MODIFIED + 1)
    data = pack_outcome(CallOutcome(1, TOO_LONG, TOO_LONG, names, "", TOO_LONG, TOO_LONG), [])
    answer = unpack_outcome(data, SingleUseArrays([]))
    texts = {answer.type, answer.error, answer.line, answer.within, *answer.modified}
    assert texts == {LONGEST_TEXT} and len(answer.modified) == encoding._MAX_MODIFIED


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (scalars.MAX_JSON_INTEGER - 1, "value"),
        (scalars.MAX_JSON_INTEGER, "integer"),
        (-scalars.MAX_JSON_INTEGER, "value"),
        (-scalars.MAX_JSON_INTEGER - 1, "integer"),
    ],
)
def test_a_whole_number_too_large_for_json_is_encoded_as_text(value, kind):
    assert list(pack_value(value, [])) == [kind] and round_trip(value) == value


def write_one(digits):
    return "1".zfill(digits)


@pytest.mark.parametrize(
    ("make_data", "max_characters"),
    [
        (lambda length: {"timedelta": write_one(length)}, scalars._MAX_DATE_CHARACTERS),
        (lambda length: {"complex": [write_one(length), "1"]}, scalars._MAX_FLOAT_CHARACTERS),
        (lambda length: {"complex": ["1", write_one(length)]}, scalars._MAX_FLOAT_CHARACTERS),
    ],
    ids=["date", "real part", "imaginary part"],
)
def test_the_text_of_a_date_or_number_is_limited(make_data, max_characters):
    unpack_value(make_data(max_characters), [])
    with pytest.raises(EncodingError):
        unpack_value(make_data(max_characters + 1), [])


def test_an_argument_is_repeated_so_often_at_most():
    data = {"repeated": [0, MAX_REPEATED_ROWS]}
    assert len(unpack_value(data, [np.zeros(1)])) == MAX_REPEATED_ROWS
    data["repeated"][1] += 1
    with pytest.raises(EncodingError, match="no such repetition"):
        unpack_value(data, [np.zeros(1)])


@pytest.mark.parametrize(
    ("largest", "too_large"),
    [
        (np.zeros([1] * MAX_AXES), np.zeros([1] * (MAX_AXES + 1))),
        (np.zeros((0, MAX_ANSWER_NUMBERS)), np.zeros((0, MAX_ANSWER_NUMBERS + 1))),
        (np.full([1] * MAX_DEPTH, "a"), np.full([1] * (MAX_DEPTH + 1), "a")),
        (np.zeros((0, MAX_ANSWER_PARTS), "U1"), np.zeros((0, MAX_ANSWER_PARTS + 1), "U1")),
    ],
    ids=["axes", "an empty array", "axes of texts", "an empty array of texts"],
)
def test_a_result_of_a_shape_that_is_never_decoded_is_reported(largest, too_large):
    """The grader would say of it: "It wrote into the grader's own pipe"."""
    assert round_trip(pack_result(largest)[1]).shape == largest.shape
    assert pack_result(too_large)[1] is None


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda frame: frame + b"x", "bytes after the frame"),
        (lambda frame: frame.replace(b"1.5", b"NaN"), "NaN is not JSON"),
        (lambda frame: frame.replace(b'"op"', b'"no"'), "a key appears twice"),
        (lambda frame: frame.replace(b"[1, 2]", b"[1, 1]"), "another length than"),
        (lambda frame: frame.replace(b"[1, 2]", b"[1,-2]"), "no such shape"),
        (lambda frame: frame.replace(b"[1, 2]", b"[1,[]]"), "no such shape"),
        (lambda frame: frame.replace(b"[1, 2]", b'["12"]'), "no such shape"),
        (lambda frame: frame.replace(b"[1, 2]", b'"1, 2"'), "a list of at most"),
        (lambda frame: frame.replace(b'"bool", [1, 2]', b'1.0000, [1, 2]'), "a dtype and a shape"),
        (lambda frame: frame.replace(b'["bool", [1, 2]]', b'{"bool": [1, 2]}'), "a dtype and a shape"),
        (lambda frame: frame.replace(b'["bool", [1, 2]]', b'["bool",0,[1,2]]'), "a dtype and a shape"),
        (lambda frame: frame.replace(b'["bool", [1, 2]]', b'                '), "another length than"),
        (lambda frame: frame.replace(b'"bool"', b'"book"'), "no such dtype"),
        (lambda frame: frame[:-1] + b"\2", "a boolean is 0 or 1"),
        (lambda frame: b"?" + frame[1:], "no frame begins here"),
    ],
)  # fmt: skip
def test_a_frame_with_one_fault_is_refused_with_its_reason(change, error):
    frame = encode({"op": 1.5, "no": 2}, [np.array([[True, False]])])
    assert decode(frame)[0] == {"op": 1.5, "no": 2}
    assert change(frame) != frame
    with pytest.raises(EncodingError, match=error):
        decode(change(frame))


@pytest.mark.parametrize("array", [np.array(["a"]), np.ones(2, complex), np.array([None])])
def test_an_array_of_another_type_is_no_part_of_a_frame(array):
    with pytest.raises(EncodingError, match=f"an array of {array.dtype.name} cannot be encoded"):
        encode({}, [array])


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({}, "expected the fields args, kwargs, memory, asked"),
        ([], "expected the fields args, kwargs, memory, asked"),
        ({"args": [], "kwargs": {}, "memory": None, "more": 1}, "expected the fields"),
        ({"args": {}, "kwargs": {}, "memory": None}, "args is of another type"),
        ({"args": [], "kwargs": [], "memory": None}, "kwargs is of another type"),
        ({"args": [], "kwargs": {}, "memory": 1.5}, "memory is of another type"),
        ({"args": [], "kwargs": {}, "memory": 1, "asked": None}, "asked is of another type"),
    ],
)
def test_inputs_of_other_fields_are_refused(data, error):
    with pytest.raises(EncodingError, match=error):
        unpack_inputs(data, [])
