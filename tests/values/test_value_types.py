"""Tests of what all types of values share: their descriptions, copies, sizes and names."""

import datetime
import math
from fractions import Fraction

import numpy as np
import pandas
import pytest

from autograder.values import value_types
from autograder.values.case_records import ComparisonRules, DeferredCall, ExpectedError, Inputs
from autograder.values.value_types import (
    MAX_ANSWER_CHARACTERS,
    MAX_ANSWER_NUMBERS,
    MAX_ANSWER_PARTS,
    MAX_ARGUMENT_CELLS,
    MAX_DEPTH,
    EncodingError,
    SingleUseArrays,
    SizeBudget,
    UnsupportedValue,
    blank_like,
    convert_argument,
    convert_result,
    copy_inputs,
    describe_value,
    find_arrays,
    find_difference,
    get_array,
    have_too_many_hash_collisions,
    importable_name,
    is_tensor,
    is_unchanged,
    map_inputs,
    pack_value,
    short_repr,
    text_difference,
    unpack_value,
)

WORDS = {
    "array": (np.zeros(2), "a NumPy array of shape (2,)"),
    "int": (1, "a whole number (int)"),
    "float": (1.5, "a number (float)"),
    "text": ("a", "a text (str)"),
    "bool": (True, "True or False"),
    "none": (None, "None"),
    "tuple": ((1, 2), "a tuple of 2 values"),
    "list": ([1], "a list of 1 value"),
    "dict": ({"a": 1}, "a dict with the entries 'a'"),
    "set": ({1, 2}, "a set of 2 values"),
}
MISTAKEN = {
    ("array", "float"): "one-number",
    ("array", "tuple"): "returns-a-tuple",
    ("array", "list"): "returns-a-list",
    ("int", "array"): "array-for-one-number",
    ("float", "array"): "array-for-one-number",
    **dict.fromkeys(
        [(name, "tuple") for name in ("int", "float", "text", "bool", "none", "set")],
        "returns-a-tuple",
    ),
}
# Pairs that are compared by their values, or have a sentence of their own.
COMPARED = {("int", "float"), ("float", "int"), ("tuple", "list"), ("list", "tuple")}


@pytest.mark.parametrize("name", WORDS)
def test_a_value_of_another_type_is_named_with_its_mistake(name):
    expected, words = WORDS[name]
    for other, (value, value_words) in WORDS.items():
        if other == name or (name, other) in COMPARED:
            continue
        difference = find_difference(expected, value, ComparisonRules())
        returned = {"tuple": "a tuple", "list": "a list"}.get(other, value_words)
        assert difference.observation == f"Your function returned {returned}; expected {words}."
        assert (difference.kind, difference.mistake) == ("type", MISTAKEN.get((name, other)))
    assert find_difference(expected, expected, ComparisonRules()) is None


def test_where_tensors_are_asked_for_a_tensor_is_expected():
    difference = find_difference(np.zeros(2), [1], ComparisonRules(returns="tensor"))
    assert difference.observation == (
        "Your function returned a list; expected a tensor of shape (2,)."
    )


@pytest.mark.parametrize(
    ("expected", "text", "sentence"),
    [
        ("a", "b", "says 'b'; expected 'a'."),
        ("a\nb", "a", "ends after line 1; expected 'b' next."),
        ("a\nb\nc", "a\nb", "ends after line 2; expected 'c' next."),
        ("a\n", "a", "ends after line 1; expected '' next."),
        ("a", "a\nb", "goes on in line 2 with 'b'; expected nothing more."),
        ("a\nb", "a\nc", "says in line 2 'c'; expected 'b'."),
        ("a", "b\na", "says in line 1 'b'; expected 'a'."),
        ("", "a", "says 'a'; expected ''."),
        ("x" * 81, "y" * 80, f"says '{'y' * 80}'; expected '{'x' * 77}...'."),
    ],
)
def test_the_first_line_in_which_texts_differ_is_quoted(expected, text, sentence):
    difference = text_difference("Your text", expected, text)
    assert difference.observation == f"Your text {sentence}"
    assert difference.kind == "values"
    assert text_difference("Your text", text, text) is None


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("parts", MAX_ANSWER_PARTS),
        ("numbers", MAX_ANSWER_NUMBERS),
        ("characters", MAX_ANSWER_CHARACTERS),
    ],
)
def test_each_limit_of_a_result_is_spent_by_itself(name, limit):
    budget = SizeBudget()
    assert budget.suffices(**{name: limit}) and not budget.suffices(**{name: limit + 1})
    budget.spend("a list", **{name: limit - 1})
    budget.spend("a list", **{name: 1})
    with pytest.raises(UnsupportedValue, match=r"^a list$"):
        budget.spend("a list", **{name: 1})
    others = {"parts", "numbers", "characters"} - {name}
    assert budget.suffices(**dict.fromkeys(others, 1))


def test_an_argument_may_be_larger_than_a_result():
    budget = SizeBudget.for_argument()
    assert budget.suffices(MAX_ANSWER_PARTS, MAX_ARGUMENT_CELLS, MAX_ARGUMENT_CELLS)
    for sizes in ((MAX_ANSWER_PARTS + 1, 0, 0), (0, MAX_ARGUMENT_CELLS + 1, 0)):
        assert not budget.suffices(*sizes)
    assert not budget.suffices(0, 0, MAX_ARGUMENT_CELLS + 1)


def nest(depth, value=1):
    for _ in range(depth):
        value = [value]
    return value


def test_results_and_messages_are_nested_to_a_limit():
    assert convert_result(nest(MAX_DEPTH), SizeBudget()) == nest(MAX_DEPTH)
    with pytest.raises(UnsupportedValue, match="of too many parts"):
        convert_result(nest(MAX_DEPTH + 1), SizeBudget())
    assert unpack_value(pack_value(nest(MAX_DEPTH), []), []) == nest(MAX_DEPTH)
    with pytest.raises(EncodingError):
        unpack_value(pack_value(nest(MAX_DEPTH + 1), []), [])


@pytest.mark.parametrize("data", [[], 1, None, {}, {"value": 1, "list": []}, {"nothing": 1}])
def test_what_is_no_message_of_a_value_is_refused(data):
    with pytest.raises(EncodingError):
        unpack_value(data, [])


def test_each_array_of_a_message_is_used_once_and_parts_are_counted_for_each_answer(monkeypatch):
    monkeypatch.setattr(value_types, "MAX_ANSWER_PARTS", 3)
    arrays = SingleUseArrays([np.zeros(1), np.ones(2)])
    assert len(arrays) == 2
    assert arrays[1].tolist() == [1, 1] and arrays[0].tolist() == [0]
    with pytest.raises(EncodingError, match="an array is used twice"):
        arrays[1]
    for _ in range(2):
        arrays.begin_answer()
        for _ in range(3):
            arrays.count_part()
    with pytest.raises(EncodingError, match="too many parts"):
        arrays.count_part()


@pytest.mark.parametrize("index", [-1, 2, True, 0.0, "0", None])
def test_only_the_number_of_an_array_gives_it(index):
    arrays = [np.zeros(1), np.ones(2)]
    with pytest.raises(EncodingError):
        get_array(arrays, index)
    assert get_array(arrays, 1) is arrays[1] and get_array(arrays, 0) is arrays[0]


def test_keys_of_one_hash_are_accepted_up_to_a_limit():
    keys = [(2**61 - 1) * number for number in range(1, 200)]
    assert not have_too_many_hash_collisions(keys[:161])
    assert have_too_many_hash_collisions(keys[:162])
    assert not have_too_many_hash_collisions(2**power for power in range(1000))
    assert not have_too_many_hash_collisions(range(10_000))
    with pytest.raises(TypeError):
        have_too_many_hash_collisions([[]])


@pytest.mark.parametrize(
    ("original", "current", "same"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, 1.0, False),
        (1, True, False),
        (math.nan, math.nan, True),
        ("a", "a", True),
        (None, None, True),
        ([1, [2]], [1, [2]], True),
        ([1, [2]], [1, [3]], False),
        ([1], (1,), False),
        ({"a": np.ones(2)}, {"a": np.ones(2)}, True),
        ({"a": np.ones(2)}, {"a": np.zeros(2)}, False),
        ({"a": 1}, {"b": 1}, False),
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True),
        (np.ones(2), np.ones(2, "float32"), False),
        (np.ones(2), np.ones((1, 2)), False),
    ],
)
def test_a_change_of_an_argument_is_one_of_its_value_or_type(original, current, same):
    assert is_unchanged(original, current) == same


def test_inputs_are_copied_with_all_their_parts_and_their_memory():
    original = Inputs((np.ones(2), [np.zeros(1)]), {"y": {"a": np.ones(3)}}, memory=7)
    copies = copy_inputs(original)
    copies.args[0][0] = copies.args[1][0][0] = copies.kwargs["y"]["a"][0] = 9
    copies.args[1].append(1)
    assert [array.tolist() for array in find_arrays((*original.args, original.kwargs["y"]))] == [
        [1, 1],
        [0],
        [1, 1, 1],
    ]
    assert len(original.args[1]) == 1 and copies.memory == 7 and [*copies.kwargs] == ["y"]


def test_a_function_is_applied_to_all_inputs_and_queries():
    original = Inputs((1, 2), {"y": 3}, memory=5, result_queries=(4,))
    changed = map_inputs(original, lambda value: -value)
    assert (changed.args, changed.kwargs, changed.result_queries) == ((-1, -2), {"y": -3}, (-4,))
    assert changed.memory == 5


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (len, "builtins:len"),
        (np.sin, "numpy:sin"),
        (np.linalg.norm, "numpy.linalg:norm"),
        (math.sqrt, "math:sqrt"),
    ],
)
def test_a_function_is_named_by_its_module(function, name):
    assert importable_name(function) == name
    assert convert_argument(function) == DeferredCall(name)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x, "<lambda> is not found by its name"),
        (pytest.raises, "raises is not found by its name"),
        (Fraction(1, 2).__add__, "is not found by its name"),
    ],
)
def test_a_function_that_students_cannot_import_is_refused(function, words):
    with pytest.raises(EncodingError, match=words):
        importable_name(function)


def test_an_argument_that_is_a_moment_of_numpy_is_refused_with_advice():
    for moment, name in (
        (np.datetime64("2020-01-01"), "datetime64"),
        (np.timedelta64(1, "D"), "timedelta64"),
    ):
        with pytest.raises(EncodingError, match=f"a {name} is no value by itself: give Python's"):
            convert_argument(moment)
    day = datetime.date(2020, 1, 1)
    assert convert_argument(day) == day
    days = np.array(["2020-01-01"], "datetime64[D]")
    assert (
        find_difference(convert_argument(days), convert_argument(days), ComparisonRules()) is None
    )


def make_class(module, **members):
    return type("Tensor", (), {"__module__": module, **members})


def test_a_tensor_is_an_array_of_a_package_for_tensors():
    array = {"__array__": lambda self: np.ones(1)}
    for package in ("tensorflow", "torch", "jax", "jaxlib", "keras"):
        tensor = make_class(f"{package}.core", **array)
        assert is_tensor(tensor()) and not is_tensor(tensor)
        assert is_tensor(type("Mine", (tensor,), {"__module__": "mine"})())
        assert not is_tensor(make_class(package)())
    assert not is_tensor(make_class("torchvision", **array)())
    assert not is_tensor(np.ones(1)) and not is_tensor(np.poly1d([1]))


def test_a_long_value_is_cut_in_a_message():
    assert short_repr("a" * 70) == f"'{'a' * 56}..."
    assert short_repr("a" * 58) == f"'{'a' * 58}'"


# One value of every type: its words, its blank and its data in a message.

FRAME = pandas.DataFrame({"a": [1, 2]})
VALUES = [
    # value, description, short text, blank (None: it stays), data in a message (None: not held here)
    (
        np.ones((2, 3), np.float32),
        "a NumPy array of shape (2, 3)",
        "(2, 3) float32",
        np.zeros((2, 3), np.float32),
        {"array": 0},
    ),
    (
        np.asfortranarray(np.ones((2, 3))),
        "a NumPy array of shape (2, 3)",
        "(2, 3)",
        np.zeros((2, 3), order="F"),
        {"F": 0},
    ),
    (
        np.broadcast_to(np.ones((1, 3)), (4, 3)),
        "a NumPy array of shape (4, 3)",
        "(4, 3)",
        np.zeros((4, 3), order="F"),
        {"repeated": [0, 4]},
    ),
    (
        np.array(["a", "b"]),
        "a NumPy array of texts of shape (2,)",
        "(2,) texts",
        np.array(["", ""]),
        {"texts": ["str", [2], ["a", "b"]]},
    ),
    (
        np.array(["2020-01-01"], "M8[D]"),
        "a NumPy array of dates of shape (1,)",
        "(1,) dates",
        np.array(["NaT"], "M8[D]"),
        {"texts": ["datetime64[D]", [1], ["2020-01-01T00:00:00.000000"]]},
    ),
    (
        np.array([1, 2], "m8[s]"),
        "a NumPy array of durations of shape (2,)",
        "(2,) durations",
        np.array(["NaT"] * 2, "m8[s]"),
        {"texts": ["timedelta64[s]", [2], ["1000000", "2000000"]]},
    ),
    (7, "a whole number (int)", "7", 0, {"value": 7}),
    (2.5, "a number (float)", "2.5", 0.0, {"value": 2.5}),
    (1 + 2j, "a complex number", "(1+2j)", 0j, {"complex": ["1.0", "2.0"]}),
    ("abc", "a text (str)", "'abc'", "", {"value": "abc"}),
    (True, "True or False", "True", False, {"value": True}),
    (None, "None", "None", None, {"value": None}),
    (16**20, "a whole number (int)", str(16**20), 0, {"integer": "0x1" + 20 * "0"}),
    (np.float32(2), "a float32", "np.float32(2.0)", np.float32(0), {"scalar": 0}),
    (np.float16, "a type", "float16", None, {"dtype": "float16"}),
    (
        datetime.date(2020, 1, 2),
        "a date",
        "2020-01-02",
        datetime.date(1970, 1, 1),
        {"date": "2020-01-02"},
    ),
    (
        datetime.datetime(2020, 1, 2, 3),
        "a date with a time (datetime)",
        "2020-01-02 03:00:00",
        datetime.datetime(1970, 1, 1),
        {"datetime": "2020-01-02T03:00:00"},
    ),
    (
        datetime.timedelta(days=1, seconds=3),
        "a duration (timedelta)",
        "1 day, 0:00:03",
        datetime.timedelta(),
        {"timedelta": "86403000000"},
    ),
    (
        (1, [2]),
        "a tuple of 2 values",
        "(1, [2])",
        (0, [0]),
        {"tuple": [{"value": 1}, {"list": [{"value": 2}]}]},
    ),
    (
        {"a": 1},
        "a dict with the entries 'a'",
        "{'a': 1}",
        {"a": 0},
        {"mapping": {"a": {"value": 1}}},
    ),
    (
        {2: 1},
        "a dict with the entries 2",
        "{2: 1}",
        {2: 0},
        {"entries": [[{"value": 2}, {"value": 1}]]},
    ),
    ({1, 2}, "a set of 2 values", "{1, 2}", set(), {"set": [{"value": 1}, {"value": 2}]}),
    (
        FRAME,
        "a DataFrame of 2 rows and the column `a`",
        "DataFrame of 2 rows and the column `a`",
        pandas.DataFrame({"a": [0, 0]}),
        None,
    ),
    (
        ExpectedError("KeyError", "x"),
        "a KeyError",
        "ExpectedError(type='KeyError', part='x')",
        None,
        {"raised": ["KeyError", "x"]},
    ),
    (DeferredCall("math:sqrt"), "a function", "sqrt", None, {"made": ["math:sqrt"]}),
    (
        DeferredCall("math:pow", (2.0,), {"b": 1}),
        "a function",
        "pow(2.0, b=1)",
        DeferredCall("math:pow", (0.0,), {"b": 0}),
        {"made": ["math:pow", {"tuple": [{"value": 2.0}]}, {"mapping": {"b": {"value": 1}}}]},
    ),
]


@pytest.mark.parametrize(("value", "words", "text", "blank", "data"), VALUES)
def test_every_type_of_value_has_its_words_its_blank_and_its_data(value, words, text, blank, data):
    converted = convert_argument(value)
    assert describe_value(converted) == words
    assert short_repr(converted) == text
    emptied = blank_like(converted)
    if blank is None:
        assert emptied == converted
    else:
        expected_blank = convert_argument(blank)
        assert type(emptied) is type(expected_blank)
        assert pack_value(emptied, []) == pack_value(expected_blank, []) or data is None
    arrays = []
    packed = pack_value(converted, arrays)
    assert data is None or packed == data
    unpacked = unpack_value(packed, arrays)
    assert type(unpacked) is type(converted)
    assert pack_value(unpacked, []) == packed


@pytest.mark.parametrize(
    "data",
    [
        {"raised": ["ValueError"]},
        {"raised": ["ValueError", "a", "b"]},
        {"raised": ["ValueError", 1]},
        {"raised": [1, "a"]},
        {"raised": "ab"},
        {"made": []},
        {"made": ["math:pow", {"tuple": []}]},
        {"made": ["math:pow", {"tuple": []}, {"mapping": {}}, {"value": 1}]},
        {"made": [1]},
        {"made": "x"},
        {"repeated": [0, 2, 3]},
        {"repeated": [0, True]},
        {"repeated": [0, 1]},
        {"timedelta": "x"},
        {"timedelta": 5},
        {"date": "2020-13-01"},
        {"drawing": {"value": 1}},
        {"table": {"value": 1}},
        {"texts": ["str", [3], ["a", "b"]]},
        {"texts": ["str", [2], ["a", 1]]},
        {"texts": ["datetime64[D]", [1], ["today"]]},
    ],
)
def test_invalid_data_of_arguments_are_refused(data):
    with pytest.raises(EncodingError):
        unpack_value(data, [np.zeros((1, 2))])


@pytest.mark.parametrize(
    ("original", "current"),
    [
        (np.ones(2), np.ones(2, np.float32)),
        (np.zeros(2), np.zeros(2, np.int64)),
        (np.ones((2, 1)), np.ones((1, 2))),
        (np.ones(2), [1.0, 1.0]),
        (np.ones(2), np.ones(2).view(np.ma.MaskedArray)),
        (np.broadcast_to(np.ones((1, 2)), (3, 2)), np.broadcast_to(np.zeros((1, 2)), (3, 2))),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 2}),
        ((1, 2), [1, 2]),
        (1, True),
        (1, 1.0),
        (math.nan, 1.0),
        ([1.0, math.nan], [1.0, 0.0]),  # a missing value that was filled
        (FRAME, FRAME.to_dict()),
        (FRAME, FRAME.assign(a=[1, 3])),
        (FRAME, FRAME.assign(b=1)),
    ],
)
def test_an_argument_of_each_type_is_changed_by_little(original, current):
    converted = convert_argument(original)
    assert is_unchanged(converted, original)
    assert not is_unchanged(converted, current)
