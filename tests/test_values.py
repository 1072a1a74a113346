"""Values: every kind of question and answer comes back from a frame and from a key as it went in, within bounds."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from autograder import keys
from autograder.authoring.lab import read_lab
from autograder.authoring.skeleton import write_course
from autograder.course import read
from autograder.judging.answer import ask, pack
from autograder.judging.frames import decode, encode, pack_answer, pack_inputs, unpack_answer, unpack_inputs
from autograder.judging.kinds import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_PARTS,
    MAX_VALUES,
    FrameError,
    Once,
    difference,
    pack_value,
    unchanged,
    unpack_value,
)
from autograder.judging.question import DTYPES, Answer, Inputs, Rules, arranged, layout_of

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


def same(one, other):
    """Equal in kind, in every number (nan too) and, for arrays, in dtype and shape."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return one == other or (one != one and other != other)


def depth(value):
    parts = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, (tuple, list, set))
        else None
    )
    return 0 if parts is None else 1 + max(map(depth, parts), default=0)


def travelled(value):
    """A value after it was packed, sent as bytes, and unpacked."""
    arrays = []
    packed = pack_value(value, arrays)
    header, received = decode(encode({"value": packed}, arrays))
    return unpack_value(header["value"], received)


@settings(max_examples=200, deadline=None)
@given(VALUES.filter(lambda value: depth(value) <= MAX_DEPTH))
def test_a_value_comes_back_as_it_went(value):
    assert same(travelled(value), value)


@settings(max_examples=100, deadline=None)
@given(VALUES.filter(lambda value: depth(value) <= MAX_DEPTH))
def test_an_answer_comes_back_as_it_went(value):
    answer = Answer(value, type(value).__name__, "ValueError: no", ("x",), "printed", "3: f()", "f")
    packed = []
    header, received = decode(encode({"answer": pack_answer(answer, packed)}, packed))
    found = unpack_answer(header["answer"], Once(received))
    assert same(found.value, value)
    assert [getattr(found, name) for name in ("type", "error", "modified", "printed", "line", "within")] == [
        getattr(answer, name) for name in ("type", "error", "modified", "printed", "line", "within")
    ]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(PLAIN, max_size=3),
    st.dictionaries(st.sampled_from("abc"), PLAIN),
    st.none() | st.integers(0, 99),
)
def test_inputs_come_back_as_they_went(args, kwargs, memory):
    packed = []
    header, received = decode(
        encode({"given": pack_inputs(Inputs(tuple(args), kwargs, memory), packed)}, packed)
    )
    found = unpack_inputs(header["given"], received)
    assert same(found.args, tuple(args)) and same(dict(found.kwargs), kwargs)
    assert found.memory == memory


@pytest.mark.parametrize("layout", ["C", "F", "strided", "repeated"])
def test_an_input_lies_in_memory_as_it_did(layout):
    array = arranged(np.arange(12.0).reshape(3, 4), layout)
    found = travelled((array, array))
    assert [layout_of(a) for a in found] == [layout, layout]
    assert (found[0] == array).all()


def test_same_tells_values_apart():
    """What the tests above rely on."""
    pairs = [
        (1, 1.0), (True, 1), ((1,), [1]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (0.0, float("nan")),
        (np.zeros(2), np.zeros((2, 1))), (np.zeros(2), np.zeros(2, "float32")), ("1", 1), ({"a": 1}, {"a": 2}),
    ]  # fmt: skip
    assert not [pair for pair in pairs if same(*pair)]
    assert same(float("nan"), float("nan"))


# Bounds


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def test_what_is_nested_too_deep_is_refused_on_both_sides():
    assert same(travelled(nested(MAX_DEPTH)), nested(MAX_DEPTH))
    with pytest.raises(FrameError, match="not too deep"):
        travelled(nested(MAX_DEPTH + 1))
    with pytest.raises(FrameError, match="too deep"):
        decode(encode({"value": pack_value(nested(40), [])}))
    assert pack(nested(MAX_DEPTH))[1] is not None
    assert pack(nested(MAX_DEPTH + 1)) == ("int of too many parts", None)


def test_an_array_of_an_answer_is_used_once():
    one = [np.zeros(3)]
    twice = {"tuple": [{"array": 0}, {"array": 0}]}
    assert len(unpack_value(twice, one)) == 2  # in a key, which is ours
    with pytest.raises(FrameError, match="an array is used twice"):
        unpack_value(twice, Once(one))
    with pytest.raises(FrameError, match="no such kind"):  # nothing is copied into another layout
        unpack_value({"F": 0}, Once([np.zeros((2, 2))]))


@pytest.mark.parametrize(
    "packed",
    [
        None, [], {}, {"value": 1, "float": "inf"}, {"value": [1]}, {"value": {}}, {"float": "1"}, {"float": 1},
        {"dtype": "object"}, {"dtype": "complex128"}, {"array": 1}, {"array": -1}, {"array": True}, {"array": "0"},
        {"scalar": 0}, {"tuple": {}}, {"list": "ab"}, {"mapping": []}, {"eval": "1"},
        {"set": {}}, {"set": [{"list": []}]}, {"set": [{"array": 0}]},
    ],
)  # fmt: skip
def test_what_is_no_value_is_refused(packed):
    with pytest.raises(FrameError):
        unpack_value(packed, [np.zeros(2)])


@pytest.mark.parametrize("value", [{1, b"a"}, b"a", object(), np.zeros(2, complex), len])
def test_what_may_not_travel_is_refused(value):
    with pytest.raises(FrameError):
        travelled(value)
    kind, plain = pack(value)
    assert plain is None and kind


def test_an_answer_is_bounded():
    assert pack("x" * MAX_CHARACTERS)[1] is not None
    assert pack("x" * (MAX_CHARACTERS + 1))[1] is None
    assert pack(["x" * (MAX_CHARACTERS // 2 + 1)] * 2)[1] is None
    assert pack(np.zeros(MAX_VALUES + 1, bool))[1] is None
    assert pack([np.zeros(MAX_VALUES // 2 + 1, bool)] * 2)[1] is None
    assert pack([0] * (MAX_PARTS - 1))[1] is not None
    assert pack([0] * MAX_PARTS)[1] is None  # the list is one, too
    with pytest.raises(FrameError, match="prints too much"):
        packed = pack_answer(Answer(1), [])
        unpack_answer({**packed, "printed": "x" * (MAX_CHARACTERS + 1)}, Once([]))


def test_a_list_that_became_a_tuple_is_changed():
    assert ask(lambda table: table.update(a=(1, 2)), Inputs(({"a": [1, 2]},))).modified == ("table",)


def test_sets_are_compared_copied_and_told_apart():
    due = {1, "a", (2, 3)}
    for value, said in (
        ({1, "a"}, "lacks (2, 3)."),
        (due | {9}, "should not hold 9."),
        ([1], "a set of 3 values"),
    ):
        assert said in difference(due, value, Rules()).seen
    assert difference(due, set(due), Rules()) is None

    def adds(names):
        names.add("new")

    given = Inputs(({"old"},))
    assert ask(adds, given).modified == ("names",) and given.args[0] == {"old"}


def test_changed_arguments_are_noticed_in_every_kind_of_value():
    def changes(numbers, names, table):
        names.append("c")
        table["a"][0] = 9
        return len(names)

    given = Inputs((np.zeros(2), ["a", "b"], {"a": np.ones(2)}))
    answer = ask(changes, given)
    assert (answer.value, answer.modified) == (3, ("names", "table"))
    assert given.args[1] == ["a", "b"] and given.args[2]["a"][0] == 1


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
    """The exercise of a new course with this result, and the key that is made of it."""
    write_course(tmp_path)
    folder = tmp_path / "solutions" / "first-steps"
    (folder / "mean_of_first_steps.py").write_text(EXERCISE.format(rules=rules, wrong=wrong), "utf-8")
    path = folder / "first-steps.ipynb"
    text = path.read_text("utf-8")
    old = "return float(np.sum(numbers) / len(numbers))"
    assert old in text
    path.write_text(text.replace(old, body or f"return {result}"), "utf-8")
    lab = read_lab(read(tmp_path), "first-steps")
    exercise = lab.exercises["mean_of_first_steps"]
    written = tmp_path / "mean_of_first_steps.key"
    written.write_bytes(keys.key_of(exercise))
    keys.forget()
    return exercise, keys._load(written, exercise.name)


@pytest.mark.parametrize("kind", RESULTS)
def test_a_key_holds_results_of_every_kind(kind, tmp_path):
    result, wrong = RESULTS[kind]
    exercise, key = key_of(tmp_path, wrong, result=result)
    for ours, theirs in zip(exercise.questions(), key.questions, strict=True):
        assert same(theirs.expected, ours.expected)
        assert same(theirs.inputs.args, ours.inputs.args)
        mistake, kept = ours.mistakes["wrong"], theirs.mistakes["wrong"]
        assert same(kept.value, mistake.value)
        assert (kept.type, kept.error, kept.modified) == (mistake.type, mistake.error, mistake.modified)


def test_a_key_holds_what_is_printed_and_what_a_mistake_prints(tmp_path):
    exercise, key = key_of(tmp_path, "print('no')", rules=', returns="printed"', body="print(len(numbers))")
    assert [q.expected for q in key.questions] == [q.expected for q in exercise.questions()] == ["3\n", "5\n"]
    assert [q.mistakes["wrong"].printed for q in key.questions] == ["no\n", "no\n"]


def test_keys_and_the_wire_use_the_same_packers(tmp_path):
    """A key is one frame, compressed; its questions are packed as the sandbox's are."""
    exercise, _ = key_of(tmp_path, "return 0", result="(float(numbers.sum()), numbers)")
    header, arrays = decode(zlib.decompress(keys.key_of(exercise)))
    for case, question in zip(header["cases"], exercise.questions(), strict=True):
        packed = []
        assert set(case["inputs"]) == set(pack_inputs(question.inputs, packed))
        assert same(unpack_inputs(case["inputs"], arrays).args, question.inputs.args)
        assert same(unpack_value(case["expected"], arrays), question.expected)


@pytest.mark.parametrize(
    "value",
    [2**63, -(2**63) - 1, 10**250, {1: 2}, {(1, "a"): [2.5], None: np.eye(2)}, 1j, 2.5 - 1e-3j, {2 + 1j}],
)
def test_large_and_complex_numbers_and_any_plain_key_travel(value):
    back = travelled(value)
    assert unchanged(value, back) and type(back) is type(value)
    assert unchanged(value, pack(value)[1])


@pytest.mark.parametrize("packed", [
    {"integer": "0xg"}, {"integer": "1" * 300}, {"complex": ["1"]}, {"complex": ["a", "1"]}, {"entries": {}},
    {"entries": [[{"value": 1}]]}, {"entries": [[{"list": []}, {"value": 1}]]}, {"raised": ["a"]},
])  # fmt: skip
def test_odd_numbers_keys_and_errors_are_refused(packed):
    with pytest.raises(FrameError):
        unpack_value(packed, [])
