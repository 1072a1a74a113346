"""DataFrame and Series: encoding, comparison, and the messages about their differences."""

import json
import subprocess
import sys

import nbformat
import numpy as np
import pandas as pd
import pytest
from command import autograder
from sample_class import perfect, with_answer
from small_lab import lab_of
from test_functions_as_values import submission_path

from autograder.authoring.exercise import Exercise, ExerciseError
from autograder.authoring.lab import read_labs
from autograder.authoring.skeleton import write_course
from autograder.authoring.verify import find_lab_weaknesses
from autograder.core.course import read_course
from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import call_student_function, pack_result
from autograder.sandbox.choice import explain_unavailability
from autograder.values.case_records import CallOutcome, ComparisonRules, inputs
from autograder.values.dataframes import (
    _MAX_LISTED_COLUMNS,
    MAX_COLUMNS,
    MAX_LABEL_LEVELS,
    DataTable,
)
from autograder.values.encoding import decode, encode
from autograder.values.value_types import (
    MAX_ANSWER_NUMBERS,
    EncodingError,
    SingleUseArrays,
    blank_like,
    convert_argument,
    copy_value,
    find_difference,
    is_unchanged,
    pack_value,
    unpack_value,
)

DAYS = pd.date_range("2020-01-01", periods=4, tz="Europe/Paris")
TABLES = {
    "missing": pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [1.5, np.nan, 2]}),
    "labels": pd.DataFrame({"a": [1, 2]}, index=["r", "s"]),
    "dates": pd.DataFrame({"d": DAYS, "t": pd.to_timedelta([1, 2, 3, None], "h")}, index=DAYS),
    "categories": pd.DataFrame(
        {"k": pd.Categorical(["lo", "hi", None], ["lo", "hi", "no"], ordered=True)}
    ),
    "nullable": pd.DataFrame(
        {"i": pd.array([1, None], "Int64"), "b": pd.array([True, None], "boolean")}
    ),
    "texts": pd.DataFrame(
        {"s": pd.array(["q", None], "string"), "o": pd.Series([1, "a"], dtype=object)}
    ),
    "small numbers": pd.DataFrame(
        {"a": np.array([1, 2], "int8"), "b": np.array([1, 2], "float32")}
    ),
    "nothing": pd.DataFrame(),
    "no rows": pd.DataFrame({"a": []}),
    "no cells": pd.DataFrame(columns=["x", "y"]),
    "a series": pd.Series([1, 2, 3], name="n"),
    "a named index": pd.Series({"a": 1.0, "b": 2}).rename_axis("letter"),
    "levels": pd.DataFrame({"x": [1, 1, 2], "y": ["a", "b", "a"], "z": [1.0, 2, 3]})
    .set_index(["x", "y"])
    .unstack(),
    "one name twice": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "one label twice": pd.DataFrame({"a": [1, 2, 3]}, index=[0, 0, 1]),
    "years": pd.DataFrame({2020: [1], 2021: [2]}),
}


def round_trip(table):
    arrays = []
    data = pack_value(table, arrays)
    header, arrays = decode(encode({"value": data}, arrays))
    return unpack_value(header["value"], SingleUseArrays(arrays))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_comes_back_as_pandas_has_it(name):
    original = TABLES[name]
    table = round_trip(convert_argument(original))
    assert type(table) is DataTable  # the judge has plain data
    frame = isinstance(original, pd.DataFrame)
    assert_equal = pd.testing.assert_frame_equal if frame else pd.testing.assert_series_equal
    assert_equal(copy_value(table), original, check_freq=False)
    assert (
        is_unchanged(table, copy_value(table))
        and find_difference(table, convert_argument(original), ComparisonRules()) is None
    )
    assert pack_result(original)[0] == ("DataFrame" if frame else "Series")


# Messages. Each row: the right table, a function that makes a wrong one of it, and the sentence.

PEOPLE = pd.DataFrame(
    {"name": ["Ada", "Bo", "Cy"], "age": [36, 41, 29], "height": [1.7, np.nan, 1.8]},
)
BY_TOWN = pd.Series({"Rome": 2.5, "Oslo": 3.0}, name="mean")
WRONG = {
    "a cell": (PEOPLE, lambda d: d.assign(age=[36, 41, 28]),
                "In the column `age` 1 of 3 rows differ: row 2 is 28, expected 29."),
    "two columns": (PEOPLE, lambda d: d.assign(age=d.age + 1, height=d.height * 2),
                    "In the column `age` 3 of 3 rows differ: row 0 is 37, expected 36. Rows of "
                    "`height` differ, too."),
    "filled": (PEOPLE, lambda d: d.fillna(0),
     "In the column `height` 1 of 3 rows differ: row 1 is 0, expected missing."),
    "lost": (PEOPLE, lambda d: d.assign(height=np.nan),
             "In the column `height` 2 of 3 rows differ: row 0 is missing, expected 1.7. 2 "
             "values are missing."),
    "a column less": (PEOPLE, lambda d: d[["name", "height"]],
                      "Your result has no column `age`; expected the columns `name`, `age`, "
                      "`height`."),
    "a column more": (PEOPLE, lambda d: d.assign(old=True),
                      "Your result has an unexpected column `old`; expected the columns `name`, "
                      "`age`, `height`."),
    "columns' order": (PEOPLE, lambda d: d[["age", "name", "height"]],
                       "Your result has the right columns in another order; expected the "
                       "columns `name`, `age`, `height`."),
    "rows": (PEOPLE, lambda d: d[d.age > 30], "Your result has 2 rows; expected 3."),
    "rows' order": (PEOPLE, lambda d: d.sort_values("age"),
                    "Your result has the right rows in another order: the first of them is 2, "
                    "expected 0."),
    "index": (PEOPLE, lambda d: d.set_index(pd.Index([7, 8, 9])),
              "Your result has labels on its rows that are not 0, 1, 2…, as in a new index: the "
              "first of them is 7, expected 0"),
    "texts": (PEOPLE, lambda d: d.assign(age=d.age.astype(str)),
              "Your result holds texts (str) in the column `age`; expected whole numbers (int64)."),
    "a series": (PEOPLE, lambda d: d.age,
                "Your function returned a Series of 3 rows; expected a DataFrame of 3 rows and "
                "the columns "
                 "`name`, `age` and `height`."),
    "an array": (PEOPLE, lambda d: d[["age"]].to_numpy(),
                "Your function returned a NumPy array of shape (3, 1); expected a DataFrame"),
    "labels": (BY_TOWN, lambda s: s.rename({"Oslo": "Bern"}),
               "Your result has another index in 1 of 2 rows: the first of them is 'Bern', "
               "expected 'Oslo'."),
    "a value": (BY_TOWN, lambda s: s + 1, "2 of 2 rows differ: row 'Rome' is 3.5, expected 2.5."),
    "a list": (BY_TOWN, list, "Your function returned a list; expected a Series of 2 rows."),
    "levels": (BY_TOWN, lambda s: pd.concat({"x": s}),
     "Your result has an index of 2 levels; expected 1."),
    "a date": (TABLES["dates"], lambda d: d.assign(t=d.t * 2),
                "In the column `t` 3 of 4 rows differ: row 2019-12-31T23:00 UTC is 2:00:00,"),
    "lists in cells": (PEOPLE, lambda d: d.assign(name=[[n] for n in d.name]),
                       "Your result holds lists (object) in the column `name`; expected texts (str)."),
    "sets in cells": (PEOPLE, lambda d: d.assign(name=[{n} for n in d.name]),
                      "Your function returned a DataFrame whose column 'name' holds a set, "
                      "which cannot be compared."),
    "a subclass": (PEOPLE, lambda d: type("Frame", (pd.DataFrame,), {})(d),
                "Your function returned a Frame, which cannot be compared."),
}  # fmt: skip


def message_for(expected, result, **rules):
    kind, value = pack_result(result)
    answer = CallOutcome(value, kind)
    difference = compare_outcome(convert_argument(expected), answer, ComparisonRules(**rules))
    return difference.observation if difference else ""


@pytest.mark.parametrize("name", WRONG)
def test_the_message_describes_the_first_difference_of_a_table(name):
    expected, wrong, sentence = WRONG[name]
    assert message_for(expected, wrong(expected.copy())).startswith(sentence)


MANY = pd.DataFrame([[0] * 9], columns=list("abcdefghi"))
NAMED = PEOPLE.set_index("name")


@pytest.mark.parametrize(
    ("expected", "wrong", "message"),
    [
        (
            MANY,
            MANY.drop(columns="c"),
            "Your result has no column `c`; expected the columns `a`, `b`, `c`, `d`, `e`, `f`, `g`, "
            "`h`, ….",
        ),
        (
            MANY.drop(columns="i"),
            MANY,
            "Your result has an unexpected column `i`; expected the columns `a`, `b`, `c`, `d`, `e`, "
            "`f`, `g`, `h`.",
        ),
        (
            MANY,
            MANY + 1,
            "In the column `a` 1 of 1 rows differ: row 0 is 1, expected 0. Rows of `b`, `c`, `d`, "
            "`e`, `f`, `g` and `h` differ, too.",
        ),
        (
            PEOPLE,
            PEOPLE.rename(columns={"age": "`x`"}),
            "Your result has no column `age`; expected the columns `name`, `age`, `height`.",
        ),
        (
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            pd.DataFrame([[1]], columns=["a"]),
            "Your result has no column `a`; expected the columns `a`, `a`.",
        ),
        (
            pd.DataFrame([[1]], columns=["a"]),
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            "Your result has an unexpected column `a`; expected the columns `a`.",
        ),
        (
            NAMED,
            NAMED[::-1],
            "Your result has the right rows in another order: the first of them is 'Cy', expected "
            "'Ada'.",
        ),
        (
            NAMED,
            NAMED.rename({"Bo": "Eve"}),
            "Your result has another index in 1 of 3 rows: the first of them is 'Eve', expected 'Bo'.",
        ),
        (
            PEOPLE,
            PEOPLE.set_index("name", drop=False),
            "Your result has labels on its rows that are not 0, 1, 2…, as in a new index: the first "
            "of them is 'Ada', expected 0.",
        ),
        (
            PEOPLE.set_index(["name", "age"]),
            PEOPLE.set_index(["name", "age"])[::-1],
            "Your result has the right rows in another order: the first of them is ('Cy', 29), "
            "expected ('Ada', 36).",
        ),
        (
            pd.Series([1, 2]),
            pd.Series([1, 2], index=["0", "1"]),
            "Your result has labels on its rows that are not 0, 1, 2…, as in a new index: the first "
            "of them is '0', expected 0.",
        ),
        (
            pd.Series([1, 2], index=[5, 6]),
            pd.Series([1, 2], index=["6", "5"]),
            "Your result has another index in 2 of 2 rows: the first of them is '6', expected 5.",
        ),
        (pd.Series([1]), pd.Series([1, 2]), "Your result has 2 rows; expected 1."),
        (pd.Series([1, 2]), pd.Series([1]), "Your result has 1 row; expected 2."),
        (
            pd.Series([1, 2]),
            pd.Series([True, False]),
            "Your result holds booleans (bool); expected whole numbers (int64).",
        ),
        (
            pd.Series([1, 2]),
            pd.Series([1.0, 2.5]),
            "1 of 2 rows differ: row 1 is 2.5, expected 2.",
        ),
        (
            pd.Series([1.0, 2.0]),
            pd.Series([1.0, 2.00001]),
            "1 of 2 rows differ: row 1 is 2.00001, expected 2.",
        ),
        (
            pd.Series(["a", None]),
            pd.Series([None, None], dtype=object),
            "1 of 2 rows differ: row 0 is missing, expected 'a'.",
        ),
        (
            pd.Series([1.0, np.nan, 3, 4]),
            pd.Series([np.nan, np.nan, np.nan, 4]),
            "2 of 4 rows differ: row 0 is missing, expected 1. 2 values are missing.",
        ),
    ],
)
def test_the_whole_message_on_a_wrong_table(expected, wrong, message):
    assert message_for(expected, wrong) == message


@pytest.mark.parametrize(
    ("expected", "right"),
    [
        (pd.Series([1, 2]), pd.Series([1, 2], name="x")),
        (pd.Series([1.0, 2]), pd.Series([1, 2])),
        (pd.Series([1, 2]), pd.Series([1, 2], index=[0.0, 1.0])),
        (pd.Series([None, None], dtype=object), pd.Series([np.nan, np.nan])),
    ],
)
def test_names_and_equal_numbers_are_no_difference(expected, right):
    assert message_for(expected, right) == ""


@pytest.mark.parametrize(
    ("cells", "dtype", "description", "texts"),
    [
        ([1, 2], None, "whole numbers (int64)", ["1", "2"]),
        ([1, 2], "uint8", "whole numbers (uint8)", ["1", "2"]),
        ([1 / 3, np.nan], None, "numbers (float64)", ["0.3333", "missing"]),
        ([True], None, "booleans (bool)", ["True"]),
        (["a", None], object, "texts (object)", ["'a'", "missing"]),
        (["x" * 70], object, "texts (object)", [f"'{'x' * 56}..."]),
        ([1, "a"], object, "cells of several kinds (object)", ["1", "'a'"]),
        ([1, 2.5], object, "numbers (object)", ["1", "2.5"]),
        ([None], object, "nothing (object)", ["missing"]),
        ([1, None], "Int64", "whole numbers (Int64)", ["1", "missing"]),
        ([[1, 2]], None, "lists (object)", ["[1, 2]"]),
        ([1 + 2j], object, "complex numbers (object)", ["(1+2j)"]),
        (
            [pd.Timestamp("2020"), None],
            "M8[ns]",
            "dates (datetime64[ns])",
            ["2020-01-01", "missing"],
        ),
        (pd.to_datetime(["2020-01-01 10:30"], utc=True), None, "dates", ["2020-01-01T10:30 UTC"]),
        (pd.to_timedelta([90, None], "s"), "m8[ns]", "durations", ["0:01:30", "missing"]),
        (["a"], "category", "texts (category)", ["'a'"]),
        (pd.Categorical([1], ordered=True), None, "whole numbers (category, ordered)", ["1"]),
    ],
)
def test_a_column_is_described_and_its_cells_are_written(cells, dtype, description, texts):
    column = convert_argument(pd.Series(cells, dtype=dtype)).data[0]
    assert column.describe().startswith(description)
    assert [column.format_cell(row) for row in range(len(column))] == texts
    assert column.missing.tolist() == [text == "missing" for text in texts]
    assert (column.numbers is not None) == (column.content in ("numbers", "whole numbers"))


@pytest.mark.parametrize(
    ("original", "description", "size"),
    [
        (pd.DataFrame(), "a DataFrame of 0 rows and no columns", 0),
        (pd.DataFrame({"a": [1]}), "a DataFrame of 1 row and the column `a`", 4),
        (
            pd.DataFrame({"ab": [1, 2], "c": 3}),
            "a DataFrame of 2 rows and the columns `ab` and `c`",
            11,
        ),
        (MANY, "a DataFrame of 1 row and 9 columns", 28),
        (
            MANY.drop(columns="i"),
            "a DataFrame of 1 row and the columns `a`, `b`, `c`, `d`, `e`, `f`, `g` and `h`",
            25,
        ),
        (pd.Series([1]), "a Series of 1 row", 2),
        (pd.Series(["abc", "abc", "d"]), "a Series of 3 rows", 10),
    ],
)
def test_a_table_has_a_description_and_a_size(original, description, size):
    table = convert_argument(original)
    assert (table.description, table.size) == (description, size)
    assert repr(table) == f"<{description}>"


@pytest.mark.parametrize("right", [
    lambda d: d.assign(age=d.age.astype(float)), lambda d: d.assign(height=d.height * (1 + 1e-12)),
    lambda d: d.assign(name=d.name.astype("category")),
    lambda d: d.assign(age=d.age.astype("Int64")),
    lambda d: d.assign(name=d.name.astype(object)), lambda d: d.rename_axis("person"),
])  # fmt: skip
def test_a_table_with_the_same_cells_is_right_and_exact_dtypes_can_be_required(right):
    assert message_for(PEOPLE, right(PEOPLE)) == ""
    if list(right(PEOPLE).dtypes) != list(PEOPLE.dtypes):
        assert "holds" in message_for(PEOPLE, right(PEOPLE), exact_dtype=True)


def test_a_blank_table_differs_from_the_table():
    for name in ("missing", "dates", "texts", "categories"):
        table = convert_argument(TABLES[name])
        assert find_difference(table, blank_like(table), ComparisonRules())


# Bounds, and hostile data


def test_a_call_gets_a_copy_and_a_change_in_it_is_noticed():
    def adds(people):
        people["old"] = people["age"] > 40
        return len(people)

    arguments = inputs(convert_argument(PEOPLE))
    answer = call_student_function(adds, arguments)
    assert (answer.value, answer.modified) == (3, ("people",))
    assert call_student_function(lambda people: len(people), arguments).modified == ()
    assert list(copy_value(arguments.args[0]).columns) == ["name", "age", "height"]


def test_the_size_of_a_table_is_limited():
    assert pack_result(pd.DataFrame({"a": np.zeros(MAX_ANSWER_NUMBERS // 4)}))[1] is not None
    assert pack_result(pd.DataFrame({"a": np.zeros(MAX_ANSWER_NUMBERS + 1)}))[1] is None
    assert pack_result(pd.DataFrame(np.zeros((1, MAX_COLUMNS + 1))))[1] is None
    assert pack_result(pd.Series(["x" * MAX_ANSWER_NUMBERS]))[1] is None
    assert (
        pack_result([pd.DataFrame({"a": np.zeros(MAX_ANSWER_NUMBERS // 4)})] * 3)[1] is None
    )  # with their indices


def make_table_with_levels(count):
    labels = pd.MultiIndex.from_tuples([tuple(range(count))])
    return pd.DataFrame([[1.0]], index=labels, columns=labels)


def test_the_levels_of_labels_are_limited():
    table = convert_argument(make_table_with_levels(MAX_LABEL_LEVELS))
    assert len(round_trip(table).index.levels) == MAX_LABEL_LEVELS
    many = make_table_with_levels(MAX_LABEL_LEVELS + 1)
    for wrong, subject in (
        (many, "DataFrame whose index"),
        (many.reset_index(drop=True), "DataFrame whose column index"),
    ):
        assert pack_result(wrong) == (f"{subject} has {MAX_LABEL_LEVELS + 1} levels", None)
    level = ["int64", np.zeros(2, "int64"), None]
    for count in (MAX_LABEL_LEVELS, MAX_LABEL_LEVELS + 1):
        arrays = []
        table = plain_table(index=[[level] * count, [None] * count])
        table = pack_value(table, arrays)
        if count == MAX_LABEL_LEVELS:
            unpack_value({"table": table}, arrays)
        else:
            with pytest.raises(EncodingError, match="no labels"):
                unpack_value({"table": table}, arrays)


def test_so_many_columns_are_listed():
    names = [f"c{number}" for number in range(_MAX_LISTED_COLUMNS + 1)]
    many = pd.DataFrame({name: [1] for name in names})
    few = many[names[:-1]]
    assert "the columns `c0`," in convert_argument(few).description
    assert "the columns" not in convert_argument(many).description
    for table, has_ellipsis in ((few, False), (many, True)):
        sentence = describe_table_difference(table, table.drop(columns="c0"))
        assert (sentence.count("`"), "…" in sentence) == (2 + 2 * len(names[:-1]), has_ellipsis)
    sentence = describe_table_difference(many, many + 1)
    assert sentence.endswith("`c6` and `c7` differ, too.")


def plain_table(**parts):
    table = convert_argument(pd.Series([1, 2])).to_plain()
    return {**table, **parts}


@pytest.mark.parametrize("parts", [
    {"kind": "Panel"}, {"kind": "DataFrame"}, {"kind": 1}, {"index": None}, {"index": [[], []]},
    {"data": []},
    {"index": [[["int64", np.zeros(1, "int64"), None]], [None]]},
    {"data": [["int64", np.zeros((2, 1), "int64"), None]]},
    {"data": [["float64", np.zeros(2, "int64"), None]]},
    {"data": [["object", np.zeros(2, "int64"), None]]},
    {"data": [["object", np.array([0, 5]), ["a"]]]},
    {"data": [["object", np.array([0, -2]), ["a"]]]},
    {"data": [["object", np.array([0, 0]), [["a"]]]]},
    {"data": [["int64", np.zeros(2, "int64"), ["a"]]]},
    {"data": [["datetime64[ns, " + "x" * 99 + "]", np.zeros(2, "int64"), None]]},
    {"data": [["eval", np.zeros(2), None]]},
    {"name": [1]}, {"data": 1}, {"data": [1]}, {"columns": [[], []]},
])  # fmt: skip
def test_invalid_table_data_are_refused(parts):
    arrays = []
    data = {"table": pack_value(plain_table(**parts), arrays)}
    with pytest.raises(EncodingError):
        unpack_value(data, SingleUseArrays(arrays))
    with pytest.raises(EncodingError):
        unpack_value({"table": {"value": 1}}, [])
    valid_arrays = []
    valid_data = {"table": pack_value(plain_table(), valid_arrays)}
    assert unpack_value(valid_data, SingleUseArrays(valid_arrays)).kind == "Series"


def test_an_unsupported_argument_is_reported():
    for value, reason in (
        (pd.DataFrame({"a": [{1}]}), "holds a set"),
        (lambda: 0, "<lambda> is not found by its name"),
    ):
        exercise = Exercise("f", points=1)
        exercise.case("one")(lambda rng, value=value: inputs(value))
        message = f"f: the case 'one' has an argument that cannot .*{reason}"
        with pytest.raises(ExerciseError, match=message):
            exercise.draw()


def test_the_judge_needs_no_pandas(tmp_path):
    code = (
        "import sys, numpy as np\nsys.modules['pandas'] = None\n"
        "from autograder.values.value_types import *\n"
        "from autograder.values.case_records import ComparisonRules\n"
        "from autograder.values.encoding import decode\n"
        "header, arrays = decode(sys.stdin.buffer.read())\n"
        "one, two = (unpack_value(part, arrays) for part in header['two'])\n"
        "print(find_difference(one, two, ComparisonRules()).observation)\n"
    )
    arrays = []
    two = [pack_value(convert_argument(t), arrays) for t in (PEOPLE, PEOPLE.assign(age=0))]
    ran = subprocess.run(
        [sys.executable, "-c", code], input=encode({"two": two}, arrays), capture_output=True
    )
    assert ran.stdout.decode().startswith("In the column `age` 3 of 3 rows differ"), ran.stderr


# A course

EXERCISE = '''\
"""The exercise `mean_of_first_steps`: the mean age by town."""

import pandas as pd

from autograder.authoring import Exercise, inputs

mean_of_first_steps = Exercise("mean_of_first_steps", points=2)


@mean_of_first_steps.domain(sizes={"people": (1, 30)})
def anywhere(rng, people):
    towns = [["Rome", "Oslo", "Bern"][i] for i in rng.integers(3, size=people)]
    return inputs(pd.DataFrame({"town": towns, "age": rng.integers(1, 90, size=people)}))


@mean_of_first_steps.case("three people")
def three(rng):
    return inputs(pd.DataFrame({"town": ["Rome", "Oslo", "Rome"], "age": [36, 41, 29]}))


@mean_of_first_steps.misconception(means="You added the ages up.", nudge="What is the mean of two?")
def summed(numbers):
    return numbers.groupby("town")["age"].sum().astype(float)
'''
RIGHT = 'numbers.groupby("town")["age"].mean()'
ANSWERS = {
    "right": (RIGHT, "Right in all"),
    "summed": ('numbers.groupby("town")["age"].sum().astype(float)', "You added the ages up."),
    "other": ('numbers.groupby("town")["age"].max() * 1.0',
     "1 of 2 rows differ: row 'Rome' is 36, expected 32.5."),
    "frame": ('numbers.groupby("town")[["age"]].mean()',
                "a DataFrame of 2 rows and the column `age`; expected a Series of 2 rows."),
    "hostile": ('type("F", (pd.Series,), {"__eq__": lambda s, o: True})([1.0])',
                "returned a F, which cannot be compared."),
}  # fmt: skip


def run(course, *command, code=0):
    ran = autograder(*command, cwd=course)
    assert ran.returncode == code, f"{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
    return ran.stdout


@pytest.mark.long
@pytest.mark.skipif(
    bool(explain_unavailability()), reason=explain_unavailability() or "there is a sandbox"
)
def test_a_course_with_pandas_from_its_build_to_its_marks(tmp_path):
    write_course(tmp_path / "people")
    course = read_course(tmp_path / "people")
    with_pandas = course.root / "course.toml"
    with_pandas.write_text(with_pandas.read_text().replace("# imports", "imports"))
    folder = course.root / "solutions" / "first-steps"
    (folder / "mean_of_first_steps.py").write_text(EXERCISE)
    path = folder / "first-steps.ipynb"
    text = path.read_text().replace("import numpy as np", "import pandas as pd")
    solution = f"return {RIGHT}".replace('"', '\\"')
    text = text.replace("return float(np.sum(numbers) / len(numbers))", solution)
    table = "(pd.DataFrame({'town': ['Rome'], 'age': [36]}))"
    text = text.replace("(np.array([1.0, 2.0, 6.0]))", table)
    path.write_text(text)
    run(course.root, "build")
    lab = read_labs(read_course(course.root))["first-steps"]
    for student, (answer, _) in ANSWERS.items():
        submission = submission_path(course, student)
        submission.parent.mkdir(parents=True)
        source = f"def mean_of_first_steps(numbers):\n    return {answer}"
        nbformat.write(with_answer(perfect(lab), "mean_of_first_steps", source), submission)
    rows = [json.loads(line) for line in run(course.root, "grade", "--json", "-").splitlines()]
    rows = [row for row in rows if row["exercise"] == "mean_of_first_steps"]
    messages = {row["student"]: row["message"] for row in rows}
    assert {name for name in messages if messages[name].startswith("Right in all")} == {"right"}
    sentences = {name: sentence for name, (_, sentence) in ANSWERS.items()}
    assert not [name for name in sentences if sentences[name] not in messages[name]], messages
    # The same with `autograder check`.
    notebook = submission_path(course, "other")
    assert ANSWERS["other"][1] in run(course.root, "check", notebook, code=1)


COLUMNS = {
    "bool": [True, False, True],
    "int8": np.array([1, 2, 3], "int8"),
    "uint64": np.array([1, 2, 3], "uint64"),
    "float32": np.array([1, np.nan, 3], "float32"),
    "object": pd.Series([1, "a", None], dtype=object),
    "string": pd.array(["a", None, "c"], "string"),
    "boolean": pd.array([True, None, False], "boolean"),
    "Int64": pd.array([1, None, 3], "Int64"),
    "Float32": pd.array([1.5, None, 3], "Float32"),
    "category": pd.Categorical(["lo", None, "hi"]),
    "ordered category": pd.Categorical([1, 2, 1], [2, 1], ordered=True),
    "category of bools": pd.Categorical([True, False, None]),
    "datetime": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
    "datetime with a zone": pd.to_datetime(["2020-01-01", None, "2020-01-03"]).tz_localize(
        "Europe/Paris"
    ),
    "timedelta": pd.to_timedelta([1, None, 3], "h"),
    "period": pd.period_range("2020-01", periods=3, freq="M"),
    "interval": pd.interval_range(0, 3),
}


@pytest.mark.parametrize("place", ["column", "series", "index", "no rows"])
@pytest.mark.parametrize("name", COLUMNS)
def test_every_kind_of_column_has_a_blank_form(name, place):
    """A build tries blank tables; once a column of bools stopped it with an error."""
    values = COLUMNS[name]
    tables = {
        "column": pd.DataFrame({"a": values, "n": [1, 2, 3]}),
        "series": pd.Series(values),
        "index": pd.DataFrame({"n": [1, 2, 3]}, index=pd.Index(values)),
        "no rows": pd.DataFrame({"a": values}).iloc[:0],
    }
    value = convert_argument(tables[place])
    blank = blank_like(value)
    assert (blank.kind, len(blank.index)) == (value.kind, len(value.index))
    assert [column.dtype for column in blank.data] == [column.dtype for column in value.data]
    assert find_difference(value, value, ComparisonRules()) is None
    if place in ("column", "series") and name != "category":
        assert find_difference(value, blank, ComparisonRules()) is not None
    pack_value(blank, [])


def test_an_exercise_whose_answer_has_a_column_of_bools_is_built():
    def three_people(rng):
        return inputs(pd.DataFrame({"age": rng.integers(1, 90, 6)}))

    lab = lab_of(lambda table: table.assign(adult=table["age"] >= 18), three_people)
    assert find_lab_weaknesses(lab) == []


def describe_table_difference(expected, value, **rules):
    return find_difference(
        convert_argument(expected), convert_argument(value), ComparisonRules(**rules)
    ).observation


def test_the_words_about_a_table_fit_its_numbers():
    one = pd.DataFrame({"a": [1.0, 2.0]})
    assert convert_argument(one).description == "a DataFrame of 2 rows and the column `a`"
    assert convert_argument(one.iloc[:1, :0]).description == "a DataFrame of 1 row and no columns"
    many = pd.DataFrame({f"c{number}": [1] for number in range(10)})
    assert convert_argument(many).description == "a DataFrame of 1 row and 10 columns"
    sentence = describe_table_difference(many, many.drop(columns="c9"))
    assert sentence.endswith(
        "expected the columns `c0`, `c1`, `c2`, `c3`, `c4`, `c5`, `c6`, `c7`, …."
    )
    sentence = describe_table_difference(many.iloc[:, :8], many.iloc[:, :7])
    assert sentence.endswith("`c7`.")


def test_a_small_difference_in_a_cell_is_written_so_that_it_shows():
    expected, value = pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"a": [1.0, 2.000001]})
    assert "is 2.000001, expected 2." in describe_table_difference(expected, value)


@pytest.mark.parametrize(("missing", "is_said"), [([np.nan, 2.0], False), ([np.nan] * 2, True)])
def test_the_number_of_missing_values_is_said_if_there_are_several(missing, is_said):
    sentence = describe_table_difference(
        pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"a": missing})
    )
    assert ("values are missing" in sentence) is is_said


@pytest.mark.parametrize("closed", ["both", "left", "right", "neither"])
def test_an_interval_keeps_its_bounds(closed):
    interval = pd.Interval(0, 1, closed)
    table = convert_argument(pd.Series([interval], dtype=object))
    assert copy_value(table).iloc[0] == interval
