"""pandas' DataFrame and Series: they come back as they went, and what is said where two differ."""

import json
import subprocess
import sys

import nbformat
import numpy as np
import pandas as pd
import pytest
from command import autograder
from sample_class import perfect, with_answer

from autograder.authoring.exercise import Exercise, ExerciseError
from autograder.authoring.lab import read_labs
from autograder.authoring.skeleton import write_course
from autograder.course import read
from autograder.grading.sandbox.choice import why_unavailable
from autograder.judging.answer import ask, pack
from autograder.judging.compare import first_difference
from autograder.judging.frames import decode, encode
from autograder.judging.kinds import (
    MAX_VALUES,
    FrameError,
    Once,
    as_value,
    copied,
    difference,
    pack_value,
    unchanged,
    unpack_value,
    zeros,
)
from autograder.judging.question import Answer, Rules, inputs
from autograder.judging.tables import MAX_COLUMNS, Table

DAYS = pd.date_range("2020-01-01", periods=4, tz="Europe/Paris")
TABLES = {
    "missing": pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [1.5, np.nan, 2]}),
    "labels": pd.DataFrame({"a": [1, 2]}, index=["r", "s"]),
    "dates": pd.DataFrame({"d": DAYS, "t": pd.to_timedelta([1, 2, 3, None], "h")}, index=DAYS),
    "categories": pd.DataFrame({"k": pd.Categorical(["lo", "hi", None], ["lo", "hi", "no"], ordered=True)}),
    "nullable": pd.DataFrame({"i": pd.array([1, None], "Int64"), "b": pd.array([True, None], "boolean")}),
    "texts": pd.DataFrame({"s": pd.array(["q", None], "string"), "o": pd.Series([1, "a"], dtype=object)}),
    "small numbers": pd.DataFrame({"a": np.array([1, 2], "int8"), "b": np.array([1, 2], "float32")}),
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


def travelled(table):
    arrays = []
    packed = pack_value(table, arrays)
    header, received = decode(encode({"value": packed}, arrays))
    return unpack_value(header["value"], Once(received))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_comes_back_as_pandas_has_it(name):
    original = TABLES[name]
    back = travelled(as_value(original))
    assert type(back) is Table  # who judges has plain data
    frame = isinstance(original, pd.DataFrame)
    same = pd.testing.assert_frame_equal if frame else pd.testing.assert_series_equal
    same(copied(back), original, check_freq=False)
    assert unchanged(back, copied(back)) and difference(back, as_value(original), Rules()) is None
    assert pack(original)[0] == ("DataFrame" if frame else "Series")


# What is said. Each row: what makes a wrong table of the right one, and the sentence.

PEOPLE = pd.DataFrame({"name": ["Ada", "Bo", "Cy"], "age": [36, 41, 29], "height": [1.7, np.nan, 1.8]})
BY_TOWN = pd.Series({"Rome": 2.5, "Oslo": 3.0}, name="mean")
WRONG = {
    "a cell": (PEOPLE, lambda d: d.assign(age=[36, 41, 28]),
                "In the column `age` 1 of 3 rows differ: row 2 is 28, 29 is due."),
    "two columns": (PEOPLE, lambda d: d.assign(age=d.age + 1, height=d.height * 2),
                    "In the column `age` 3 of 3 rows differ: row 0 is 37, 36 is due. Rows of `height` differ, too."),
    "filled": (PEOPLE, lambda d: d.fillna(0), "In the column `height` 1 of 3 rows differ: row 1 is 0, missing is due."),
    "lost": (PEOPLE, lambda d: d.assign(height=np.nan),
             "In the column `height` 2 of 3 rows differ: row 0 is missing, 1.7 is due. 2 are missing where a value is due."),
    "a column less": (PEOPLE, lambda d: d[["name", "height"]],
                      "Your result has no column `age`; the columns are to be `name`, `age`, `height`."),
    "a column more": (PEOPLE, lambda d: d.assign(old=True),
                      "Your result has a column `old` that is not due; the columns are to be `name`, `age`, `height`."),
    "columns' order": (PEOPLE, lambda d: d[["age", "name", "height"]],
                       "Your result has the right columns in another order; the columns are to be `name`, `age`, `height`."),
    "rows": (PEOPLE, lambda d: d[d.age > 30], "Your result has 2 rows; 3 are due."),
    "rows' order": (PEOPLE, lambda d: d.sort_values("age"),
                    "Your result has the right rows in another order: the first of them is 2, 0 is due."),
    "index": (PEOPLE, lambda d: d.set_index(pd.Index([7, 8, 9])),
              "Your result has labels on its rows that are not 0, 1, 2…, as in a new index: the first of them is 7, 0 is"),
    "texts": (PEOPLE, lambda d: d.assign(age=d.age.astype(str)),
              "Your result holds texts (str) in the column `age`; whole numbers (int64) are due."),
    "a series": (PEOPLE, lambda d: d.age,
                "Your function returned a Series of 3 rows; a DataFrame of 3 rows and the columns "
                 "`name`, `age` and `height` is due."),
    "an array": (PEOPLE, lambda d: d[["age"]].to_numpy(),
                "Your function returned a NumPy array of shape (3, 1); a DataFrame"),
    "labels": (BY_TOWN, lambda s: s.rename({"Oslo": "Bern"}),
               "Your result has another index in 1 of 2 rows: the first of them is 'Bern', 'Oslo' is due."),
    "a value": (BY_TOWN, lambda s: s + 1, "2 of 2 rows differ: row 'Rome' is 3.5, 2.5 is due."),
    "a list": (BY_TOWN, list, "Your function returned a list; a Series of 2 rows is due."),
    "levels": (BY_TOWN, lambda s: pd.concat({"x": s}), "Your result has an index of 2 levels; 1 is due."),
    "a date": (TABLES["dates"], lambda d: d.assign(t=d.t * 2),
                "In the column `t` 3 of 4 rows differ: row 2019-12-31T23:00 UTC is 2:00:00,"),
    "lists in cells": (PEOPLE, lambda d: d.assign(name=[[n] for n in d.name]),
                       "Your function returned a DataFrame whose column 'name' holds a list, which cannot be compared."),
    "a subclass": (PEOPLE, lambda d: type("Frame", (pd.DataFrame,), {})(d),
                "Your function returned a Frame, which cannot be compared."),
}  # fmt: skip


def said(due, came, **rules):
    kind, value = pack(came)
    found = first_difference(as_value(due), Answer(value, kind), Rules(**rules))
    return found.seen if found else ""


@pytest.mark.parametrize("name", WRONG)
def test_what_is_said_of_a_wrong_table(name):
    due, wrong, sentence = WRONG[name]
    assert said(due, wrong(due.copy())).startswith(sentence)


@pytest.mark.parametrize("right", [
    lambda d: d.assign(age=d.age.astype(float)), lambda d: d.assign(height=d.height * (1 + 1e-12)),
    lambda d: d.assign(name=d.name.astype("category")), lambda d: d.assign(age=d.age.astype("Int64")),
    lambda d: d.assign(name=d.name.astype(object)), lambda d: d.rename_axis("person"),
])  # fmt: skip
def test_a_table_with_the_same_cells_is_right_and_exact_dtypes_can_be_asked(right):
    assert said(PEOPLE, right(PEOPLE)) == ""
    if list(right(PEOPLE).dtypes) != list(PEOPLE.dtypes):
        assert "holds" in said(PEOPLE, right(PEOPLE), exact_dtype=True)


def test_zeros_of_a_table_are_not_it():
    for name in ("missing", "dates", "texts", "categories"):
        assert difference(as_value(TABLES[name]), zeros(as_value(TABLES[name])), Rules())


# Hostile ones


def test_a_call_gets_a_copy_and_a_change_in_it_is_noticed():
    def adds(people):
        people["old"] = people["age"] > 40
        return len(people)

    given = inputs(as_value(PEOPLE))
    answer = ask(adds, given)
    assert (answer.value, answer.modified) == (3, ("people",))
    assert ask(lambda people: len(people), given).modified == ()
    assert list(copied(given.args[0]).columns) == ["name", "age", "height"]


def test_a_table_is_bounded():
    assert pack(pd.DataFrame({"a": np.zeros(MAX_VALUES // 4)}))[1] is not None
    assert pack(pd.DataFrame({"a": np.zeros(MAX_VALUES + 1)}))[1] is None
    assert pack(pd.DataFrame(np.zeros((1, MAX_COLUMNS + 1))))[1] is None
    assert pack(pd.Series(["x" * MAX_VALUES]))[1] is None
    assert pack([pd.DataFrame({"a": np.zeros(MAX_VALUES // 4)})] * 3)[1] is None  # with their indices


def plain_table(**parts):
    table = as_value(pd.Series([1, 2])).plain()
    return {**table, **parts}


@pytest.mark.parametrize("parts", [
    {"kind": "Panel"}, {"kind": "DataFrame"}, {"kind": 1}, {"index": None}, {"index": [[], []]}, {"data": []},
    {"index": [[["int64", np.zeros(1, "int64"), None]], [None]]}, {"data": [["int64", np.zeros((2, 1), "int64"), None]]},
    {"data": [["float64", np.zeros(2, "int64"), None]]}, {"data": [["object", np.zeros(2, "int64"), None]]},
    {"data": [["object", np.array([0, 5]), ["a"]]]}, {"data": [["object", np.array([0, -2]), ["a"]]]},
    {"data": [["object", np.array([0, 0]), [["a"]]]]}, {"data": [["int64", np.zeros(2, "int64"), ["a"]]]},
    {"data": [["datetime64[ns, " + "x" * 99 + "]", np.zeros(2, "int64"), None]]}, {"data": [["eval", np.zeros(2), None]]},
    {"name": [1]}, {"data": 1}, {"data": [1]}, {"columns": [[], []]},
])  # fmt: skip
def test_what_is_no_table_is_refused(parts):
    arrays = []
    packed = {"table": pack_value(plain_table(**parts), arrays)}
    with pytest.raises(FrameError):
        unpack_value(packed, Once(arrays))
    with pytest.raises(FrameError):
        unpack_value({"table": {"value": 1}}, [])
    assert unpack_value({"table": pack_value(plain_table(), ours := [])}, Once(ours)).kind == "Series"


def test_an_argument_that_is_no_value_is_a_sentence():
    for value, why in (
        (pd.DataFrame({"a": [[1]]}), "holds a list"),
        (lambda: 0, "<lambda> is not found by its name"),
    ):
        exercise = Exercise("f", points=1)
        exercise.case("one")(lambda rng, value=value: inputs(value))
        with pytest.raises(ExerciseError, match=f"f: the case 'one' has an argument that cannot .*{why}"):
            exercise.draw()


def test_who_judges_needs_no_pandas(tmp_path):
    code = (
        "import sys, numpy as np\nsys.modules['pandas'] = None\n"
        "from autograder.judging.kinds import *\nfrom autograder.judging.question import Rules\n"
        "from autograder.judging.frames import decode\n"
        "header, arrays = decode(sys.stdin.buffer.read())\n"
        "one, two = (unpack_value(part, arrays) for part in header['two'])\n"
        "print(difference(one, two, Rules()).seen)\n"
    )
    arrays = []
    two = [pack_value(as_value(t), arrays) for t in (PEOPLE, PEOPLE.assign(age=0))]
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
    "other": ('numbers.groupby("town")["age"].max() * 1.0', "1 of 2 rows differ: row 'Rome' is 36, 32.5 is due."),
    "frame": ('numbers.groupby("town")[["age"]].mean()',
                "a DataFrame of 2 rows and the column `age`; a Series of 2 rows is due."),
    "hostile": ('type("F", (pd.Series,), {"__eq__": lambda s, o: True})([1.0])',
                "returned a F, which cannot be compared."),
}  # fmt: skip


def run(course, *command, code=0):
    ran = autograder(*command, cwd=course, here=True)
    assert ran.returncode == code, f"{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
    return ran.stdout


@pytest.mark.long
@pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable() or "there is a sandbox")
def test_a_course_with_pandas_from_its_build_to_its_marks(tmp_path):
    write_course(tmp_path / "people")
    course = read(tmp_path / "people")
    with_pandas = course.root / "course.toml"
    with_pandas.write_text(with_pandas.read_text().replace("# imports", "imports"))
    folder = course.root / "solutions" / "first-steps"
    (folder / "mean_of_first_steps.py").write_text(EXERCISE)
    path = folder / "first-steps.ipynb"
    text = path.read_text().replace("import numpy as np", "import pandas as pd")
    text = text.replace("return float(np.sum(numbers) / len(numbers))", f"return {RIGHT}".replace('"', '\\"'))
    text = text.replace("(np.array([1.0, 2.0, 6.0]))", "(pd.DataFrame({'town': ['Rome'], 'age': [36]}))")
    path.write_text(text)
    run(course.root, "build")
    lab = read_labs(read(course.root))["first-steps"]
    for student, (answer, _) in ANSWERS.items():
        one = course.root / "classroom" / "submitted" / student / "first-steps" / "first-steps.ipynb"
        one.parent.mkdir(parents=True)
        source = f"def mean_of_first_steps(numbers):\n    return {answer}"
        nbformat.write(with_answer(perfect(lab), "mean_of_first_steps", source), one)
    rows = [json.loads(line) for line in run(course.root, "grade", "--json", "-").splitlines()]
    told = {row["student"]: row["message"] for row in rows if row["exercise"] == "mean_of_first_steps"}
    assert {name for name in told if told[name].startswith("Right in all")} == {"right"}
    assert not [name for name, (_, sentence) in ANSWERS.items() if sentence not in told[name]], told
    # The same at the desk.
    other = course.root / "classroom" / "submitted" / "other" / "first-steps" / "first-steps.ipynb"
    assert ANSWERS["other"][1] in run(course.root, "check", other, code=1)
