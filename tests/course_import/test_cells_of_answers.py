"""Cells of answers in an imported lab: each has a name of its own, and sets what is asked there."""

import ast
import itertools
from types import SimpleNamespace

import pandas as pd
import pytest

from autograder.authoring.skeleton import SkeletonError
from course_import import importer as importer_module
from course_import.importer import (
    ExercisePlan,
    _load_equality,
    _NotebookImporter,
    _select_cases_evenly,
)
from course_import.nbgrader_source import SourceCell
from course_import.record_calls import RecordedCall, Recording
from course_import.write_exercise import CaseSource

STEP = SourceCell(2, "solution", "def step(v):\n    return v + 1", "step_1")
TEST = SourceCell(3, "test", "assert step(v)[0] == v[0] + 1", "t", 1)
SHOWN_ABOVE = SourceCell(4, "given", "v = step(v)")


def make_importer(*cells):
    return _NotebookImporter("lab", list(cells), False, set())


def test_two_cells_whose_names_differ_in_a_sign_get_two_grade_ids():
    long_name = "a-question-with-a-long-name-of-more-than-fifty-signs"
    names = ["q7", "q7-", "q7_", f"{long_name}-1", f"{long_name}-2", "double", "", "test.double"]
    cells = []
    for number, name in enumerate(names, start=1):
        cells.append(SourceCell(number, "solution", f"x_{number} = 1", name))
    task = SourceCell(len(cells) + 1, "task", "", "q7", is_code=False)
    importer = make_importer(*cells, task)
    importer.exercises = {"double": ExercisePlan("double", cells[0])}
    grade_ids = [*importer._make_grade_ids().values()]
    assert grade_ids[:3] == ["q7", "q7-2", "q7-3"]
    assert grade_ids[-1] == "answer-q7"
    assert len({*grade_ids, "double", "test-double"}) == len(grade_ids) + 2
    assert max(map(len, grade_ids)) <= 60


def test_a_variable_that_a_cell_below_a_test_sets_again_is_no_answer_of_that_test():
    first = SourceCell(1, "solution", "v = [1, 2]", "v")
    importer = make_importer(first, STEP, SourceCell(7, "test", "assert v == [1, 2]", "v"), TEST)
    assert importer._is_written_just_before_test("v", importer.cells[2])
    importer = make_importer(first, SourceCell(9, "test", "v", "t"), STEP, TEST, SHOWN_ABOVE)
    assert not importer._is_written_just_before_test("v", TEST)
    assert importer._is_written_just_before_test("step", TEST)
    later = SourceCell(5, "test", "assert v == [2, 3]", "t2", 1)
    importer = make_importer(first, STEP, SHOWN_ABOVE, later)
    assert importer._is_written_just_before_test("v", later)


def test_two_exercises_that_end_with_one_statement_do_not_share_its_cell():
    test = SourceCell(5, "test", "assert step(2) == 3 and v == 3", "t", 1)
    importer = make_importer(STEP, SHOWN_ABOVE, test)
    function = ExercisePlan("step", STEP, points_by_test={5: 0.5})
    variable = ExercisePlan("answer_v", STEP, ["v"], {5: 0.5})
    importer.exercises = {"step": function, "answer_v": variable}
    importer.recording = Recording([], {}, {}, {}, {})
    assert importer._explain_impossible(function) == ""
    assert "compare what `step` gives" in importer._explain_impossible(variable)


def test_a_constant_that_a_test_sets_as_a_given_cell_does_is_not_set_by_the_test():
    given = SourceCell(1, "given", "g = 9.81")
    fall = SourceCell(2, "solution", "def fall(t):\n    return g / 2 * t ** 2", "fall")
    test = SourceCell(3, "test", "g = 9.81\nassert fall(0) == 0", "t", 1)
    on_the_moon = SourceCell(4, "solution", "g = 1.62\nd = fall(2)", "moon")
    again = SourceCell(5, "given", "g = 9.81")
    for cells, names in (
        ([given, fall, test], []),
        ([given, fall, test, on_the_moon, again], []),
        ([given, fall, test, on_the_moon], ["g"]),
        ([fall, test], ["g"]),
        ([given, fall, SourceCell(3, "test", "g = 1\nassert fall(0) == 0", "t", 1)], ["g"]),
        ([SourceCell(1, "given", "g = [9.81]"), fall, test], ["g"]),
    ):
        importer = make_importer(*cells)
        assert importer._find_read_variables_set_by_tests({"fall"}, [3]) == names


def test_a_name_of_an_earlier_test_that_an_answer_sets_since_is_that_of_the_answer():
    draw = SourceCell(1, "solution", "def draw(x):\n    return [x]", "draw")
    test = SourceCell(2, "test", "picture = draw(3)\nassert picture == [3]", "t1", 1)
    answer = SourceCell(3, "solution", "picture = draw(4)", "picture")
    later = SourceCell(4, "test", "assert picture == [4]", "t2", 1)
    importer = make_importer(draw, test, answer, later)
    assert importer.assertions[2][0].names == {"draw"}
    assert importer.assertions[4][0].names == {"picture"}


def test_a_cell_that_sets_what_a_function_reads_is_no_illustration():
    fall = SourceCell(1, "solution", "def fall(t):\n    return g / 2 * t ** 2", "fall")
    on_the_moon = SourceCell(2, "solution", "g = 1.62\nd = fall(2)", "moon")
    again, shown = SourceCell(3, "given", "g = 9.81"), SourceCell(4, "given", "print(d)")
    importer = make_importer(fall, on_the_moon, again, shown)
    assert not importer._is_illustration(again)
    assert importer._is_illustration(shown)


def test_the_check_of_an_answer_stands_below_those_of_what_it_builds_on():
    root = SourceCell(1, "solution", "def root(x):\n    return x ** 0.5", "root")
    trial = SourceCell(2, "solution", "y = root(4)", "trial")
    ask_trial = SourceCell(3, "test", "assert y == 2", "t1", 1)
    ask_root = SourceCell(4, "test", "assert root(9) == 3", "t2", 1)
    importer = make_importer(root, trial, ask_trial, ask_root)
    importer.exercises = {
        "answer_y": ExercisePlan("answer_y", trial, ["y"], {3: 1}),
        "root": ExercisePlan("root", root, points_by_test={4: 1}),
    }
    importer._order_checks()
    assert importer.prerequisites == {"root": [], "answer_y": ["root"]}
    sources = []
    for cell in (ask_trial, ask_root):
        sources.append([part.source for part in importer._make_check_cells(cell)])
    assert sources == [['answer_y = answers("y")'], ["check(root)", "check(answer_y)"]]


def test_of_two_exercises_that_call_each_other_only_one_builds_on_the_other():
    even = SourceCell(1, "solution", "def even(n):\n    return n == 0 or odd(n - 1)", "even")
    odd = SourceCell(2, "solution", "def odd(n):\n    return n > 0 and even(n - 1)", "odd")
    test = SourceCell(3, "test", "assert even(2) and odd(3)", "t", 1)
    importer = make_importer(even, odd, test)
    for name, cell in (("even", even), ("odd", odd)):
        importer.exercises[name] = ExercisePlan(name, cell, points_by_test={3: 1})
    importer._order_checks()
    assert importer.prerequisites == {"even": [], "odd": ["even"]}


def test_a_variable_of_an_earlier_answer_is_the_submissions_own():
    count = SourceCell(1, "solution", "count = 2", "count")
    ask_count = SourceCell(2, "test", "assert count > 1", "t1", 1)
    values = SourceCell(3, "solution", "values = [0] * count", "values")
    ask_values = SourceCell(4, "test", "assert len(values) == count", "t2", 1)
    importer = make_importer(count, ask_count, values, ask_values)
    (test,) = importer.extracted_tests[4]
    assert test.variables == ["values", "count"] and test.values == []
    assert 'found = answer("values", "count")' in test.source
    assert importer.own_variables[test.name] == {"values"}


def test_a_test_that_asks_only_for_an_earlier_answer_is_kept():
    count = SourceCell(1, "solution", "count = 2", "count")
    ask_count = SourceCell(2, "test", "assert count > 1", "t1", 1)
    total = SourceCell(3, "solution", "total = 2 * count", "total")
    ask_again = SourceCell(4, "test", "assert type(count) != str", "t2", 1)
    importer = make_importer(count, ask_count, total, ask_again)
    (test,) = importer.extracted_tests[4]
    assert test.variables == ["count"] and importer.own_variables[test.name] == {"count"}
    changed = SourceCell(3, "solution", "count = 2 * count", "total")
    between = [SourceCell(5, "test", "1", "t", 1), SourceCell(6, "solution", "n = 1", "n")]
    importer = make_importer(count, ask_count, changed, *between, ask_again)
    assert importer.extracted_tests[4] == []


def test_a_series_is_compared_with_a_list_without_its_labels():
    solution = SourceCell(1, "solution", "column = pd.Series([1, 2])", "column")
    test = SourceCell(2, "test", "assert (column == [1, 2]).all()", "t", 1)
    importer = make_importer(solution, test)
    comparison = importer._make_comparison(importer.assertions[2][0], "column")
    plan = ExercisePlan("answer_column", solution, comparisons=[comparison])
    equals = _load_equality(plan)
    expected = {"column": pd.Series([1, 2])}
    assert equals({"column": pd.Series([1, 2], index=["a", "b"])}, expected)
    assert not equals({"column": pd.Series([2, 1], index=[1, 0])}, expected)
    assert not equals({"column": [1, 2]}, expected)


def make_cases(calls, parts=()):
    plan = ExercisePlan("step", STEP, points_by_test={3: 1, 5: 1})
    plan.calls = calls
    return make_importer(STEP, TEST)._make_cases(plan, dict(parts))


def test_a_call_of_a_hidden_test_that_a_visible_one_makes_too_is_a_visible_case():
    hidden = (RecordedCall(3, 1, "step", (3,), {}, 4), True, "assert step(3) == 4, 'hidden'")
    visible = (RecordedCall(5, 1, "step", (3,), {}, 4), False, "assert step(3) == 4")
    other = (RecordedCall(3, 2, "step", (5,), {}, 6), True, "assert step(5) == 6")
    for calls in itertools.permutations([hidden, visible, other]):
        cases = {case.arguments: case for case in make_cases(calls)}
        assert (cases["3"].label, cases["3"].hidden) == ("assert step(3) == 4", False)
        assert cases["5"].label.startswith("hidden test ") and cases["5"].hidden
        assert len(cases) == 2


def test_the_parts_of_an_exercise_keep_each_a_case_of_one_call():
    hidden = (RecordedCall(3, 1, "step", (3,), {}, 4), True, "assert step(3) == 4")
    visible = (RecordedCall(5, 1, "step", (3,), {}, 4), False, "assert step(3) == 4")
    cases = make_cases([hidden, visible], {3: "one", 5: "two"})
    assert [(case.test_cell, case.hidden) for case in cases] == [(3, True), (5, False)]


def test_a_call_that_is_to_raise_is_labelled_without_what_it_returns():
    call = RecordedCall(3, 1, "step", ("a",), {}, None, "TypeError", error_text="text")
    (case,) = make_cases([(call, True, "assert_raises(TypeError, step, 'a')")])
    assert (case.label, case.raises, case.error_text) == ("step refuses 1", "TypeError", "text")


def test_of_too_many_cases_each_test_cell_keeps_its_first_ones():
    cases = [CaseSource(f"{cell}, {i}", test_cell=cell) for cell in (3, 5) for i in range(9)]
    cases.append(CaseSource("7, 0", test_cell=7))
    labels = [case.label for case in _select_cases_evenly(cases, 6)]
    assert labels == ["3, 0", "3, 1", "3, 2", "5, 0", "5, 1", "7, 0"]
    assert _select_cases_evenly(cases, 19) == cases


@pytest.mark.parametrize(
    ("source", "clocks"),
    [
        ("import time", {"time"}),
        ("from timeit import default_timer as now", {"now"}),
        ("import time, os", set()),
        ("import time\nclass Watch:\n    start = time.time()", {"time", "Watch"}),
        ("import time\ndef measure(f):\n    return time.time(), f()", {"time", "measure"}),
        ("import time\ndef other(f):\n    return f()", {"time"}),
        ("import time\ntime_limit = time.time()", {"time"}),
        ("from time import time as step", set()),
        ("def f(:", set()),
    ],
)
def test_what_measures_time_is_known_by_its_name(source, clocks):
    for role in ("given", "test"):
        importer = make_importer(SourceCell(1, role, source), STEP)
        assert importer._find_clocks() == clocks
    assert make_importer(SourceCell(1, "by hand", source), STEP)._find_clocks() == set()


def test_a_test_of_an_earlier_answer_asks_for_nothing_that_is_recent():
    total = SourceCell(4, "solution", "total = 3", "total")
    for assertion, asks in (
        ("assert step(3) == 4", False),
        ("assert step(total) == 4", True),
        ("assert 3 == 3", False),
    ):
        test = SourceCell(5, "test", assertion, "t2", 1)
        assert make_importer(STEP, TEST, total, test)._asks_for_recent_names(test) is asks


def test_a_variable_belongs_to_the_solutions_above_a_test_that_set_it():
    first, second = (SourceCell(n, "solution", f"total = {n}", f"total{n}") for n in (1, 6))
    early, late = (SourceCell(n, "test", "assert total > 0", f"t{n}", 1) for n in (3, 7))
    importer = make_importer(first, early, second, late)
    assert importer._find_homes_before_test("total", early) == [first]
    assert importer._find_homes_before_test("total", late) == [first, second]
    importer = make_importer(STEP, TEST)
    assert importer._find_homes_before_test("step", TEST) == [STEP]
    assert importer._is_set_again("step") is False
    importer = make_importer(first, early, second, late)
    assert importer._is_set_again("total") is True


def test_files_are_those_of_cells_without_solution_and_others_stay():
    cells = [
        SourceCell(1, "given", "read()"),
        SourceCell(2, "solution", "read()", "s"),
        SourceCell(3, "test", "read()", "t", 1),
        SourceCell(4, "test", "### BEGIN HIDDEN TESTS\nread()\n### END HIDDEN TESTS", "h", 1),
        SourceCell(5, "by hand", "read()", "b", 1),
    ]
    importer = make_importer(*cells)
    importer.recording = Recording([], {}, {}, {}, {n: [f"{n}.csv"] for n in (2, 1, 3, 4, 5)})
    noted = []
    importer.dependencies = SimpleNamespace(
        add_read_files=lambda report, names: noted.append(("add", report.cell.number, names)),
        report_private_files=lambda report, names: noted.append(
            ("stay", report.cell.number, names)
        ),
    )
    importer._add_read_files()
    assert noted == [
        ("add", 1, ["1.csv"]),
        ("add", 3, ["3.csv"]),
        ("stay", 2, ["2.csv"]),
        ("stay", 5, ["5.csv"]),
    ]


def test_an_exercise_that_is_defined_for_several_tests_is_refused():
    walk, again = (SourceCell(n, "solution", "class Walk:\n    pass", f"walk{n}") for n in (2, 4))
    tests = [SourceCell(n, "test", "assert Walk()", f"t{n}", 1) for n in (3, 5)]
    importer = make_importer(walk, tests[0], again, tests[1])
    importer.recording = Recording([], {}, {}, {}, {})
    plan = ExercisePlan("Walk", again, points_by_test={3: 1, 5: 1})
    importer.exercises = {"Walk": plan}
    assert importer._explain_impossible(plan) == (
        "cells 2 and 4 define `Walk`, each for its own tests; rename one of them"
    )
    plan.points_by_test = {5: 1}
    assert importer._explain_impossible(plan) == ""
    plan.points_by_test = {5: 0}
    assert importer._explain_impossible(plan) == "no points hang on it"
    above = make_importer(tests[0], again)
    above.recording = importer.recording
    early = ExercisePlan("Walk", again, points_by_test={3: 1})
    assert above._explain_impossible(early) == "", "it is defined once, below a test"
    plan.points_by_test = {5: 1}
    importer.recording.errors[4] = "ValueError: "
    assert importer._explain_impossible(plan) == "its solution raises"
    importer.course_exercises = {"Walk", "answer_total"}
    assert importer._explain_impossible(plan).startswith("another lab has an exercise `Walk`;")
    variable = ExercisePlan("answer_total", walk, ["total"], {5: 1})
    assert importer._explain_impossible(variable) == ""
    assert "is no name for an exercise" in importer._explain_impossible(
        ExercisePlan("_private", walk, points_by_test={3: 1})
    )


def test_a_dropped_exercise_loses_the_points_that_no_other_one_has():
    importer = make_importer(STEP, TEST)
    importer._explain_impossible = lambda plan: "no" if plan.name == "step" else ""
    step = ExercisePlan("step", STEP, points_by_test={3: 0.25})
    other = ExercisePlan("other", STEP, points_by_test={3: 0.75})
    importer.exercises = {"step": step, "other": other}
    importer._drop_if_impossible(other)
    importer._drop_if_impossible(step)
    report = importer.reports[3]
    assert [*importer.exercises] == ["other"] and report.problems == ["`step`: no"]
    assert (report.lost_points, report.dropped_exercises) == (0.25, 1)
    importer.exercises = {"step": step}
    importer._drop_if_impossible(step)
    assert (report.lost_points, report.dropped_exercises) == (1, 2)
    importer.exercises = {"step": ExercisePlan("step", STEP, points_by_test={3: 0.0})}
    importer._drop_if_impossible(importer.exercises["step"])
    assert len(report.problems) == 2 and importer.exercises == {}, "it has no points to lose"


def test_points_of_a_test_are_shared_and_added_to_earlier_shares():
    importer = make_importer(STEP, TEST)
    plans = [ExercisePlan("a", STEP, points_by_test={3: 1.0}), ExercisePlan("b", STEP)]
    importer._share_points(SourceCell(3, "test", "", "t", 1.0), plans)
    assert [plan.points_by_test for plan in plans] == [{3: 1.5}, {3: 0.5}]


def test_the_title_is_that_of_the_first_heading_outside_of_code():
    for cells, title in (
        ([("# no title", True), ("## Second", False), ("text\n# *The* `First`", False)],
         "The First"),
        ([("# A", False), ("# B", False)], "A"),
        ([("# **", False)], "My lab"),
        ([("text", False)], "My lab"),
    ):  # fmt: skip
        importer = make_importer(
            *(SourceCell(n, "text", text, "", 0, code) for n, (text, code) in enumerate(cells, 1))
        )
        importer.lab = "my-lab"
        assert importer._find_title() == title


def test_a_name_of_an_exercise_is_one_that_nothing_else_has():
    importer = make_importer(STEP, TEST)
    importer.course_exercises = {"answer_x"}
    importer.exercises = {"answer_x_2": None}
    for name, unique in (
        ("answer_x", "answer_x_3"),
        ("step", "step_2"),
        ("answer__é_y_", "answer_y"),
        ("__", "answer"),
    ):
        assert importer._make_unique_name(name) == unique


def test_a_lab_has_the_name_of_its_file_unless_it_is_taken(tmp_path):
    course = SimpleNamespace(labs=("waves",), solutions=tmp_path)
    make_name = importer_module._make_lab_name
    for file, name in (
        ("Random Walks.ipynb", "random-walks"),
        ("01 Sums.ipynb", "lab-01-sums"),
        ("é.ipynb", "lab"),
    ):
        assert make_name(tmp_path / file, course) == name
    (tmp_path / "sums").mkdir()
    for file in ("waves.ipynb", "sums.ipynb"):
        with pytest.raises(SkeletonError, match="There is a lab"):
            make_name(tmp_path / file, course)
    (tmp_path / "waves").mkdir()
    for name in ("waves/height.py", "waves/_shared.py", "waves/lab.toml", "sums/mean.py"):
        (tmp_path / name).write_text("")
    assert importer_module._find_exercise_names(course) == {"height"}


def test_solutions_are_recent_until_the_first_one_after_a_test():
    roles = ["solution", "given", "solution", "test", "test", "given", "solution", "text", "test"]
    cells = [SourceCell(number, role, "") for number, role in enumerate(roles, start=1)]
    recent = importer_module._find_recent_solutions(cells)
    numbers = {test: [cell.number for cell in found] for test, found in recent.items()}
    assert numbers == {4: [1, 3], 5: [1, 3], 9: [7]}


def test_cases_of_two_parts_and_two_calls_have_labels_of_their_own():
    cases = [
        CaseSource("both", (1,), test_cell=3),
        CaseSource("both", (2,), test_cell=3),
        CaseSource("hidden", (1,), hidden=True, test_cell=3),
        CaseSource("hidden", (2,), hidden=True, test_cell=3),
        CaseSource("same", (1,), test_cell=3),
        CaseSource("same", (1,), test_cell=5),
    ]
    labelled = importer_module._label_cases_by_call("step", cases)
    labels = [case.label for case in labelled]
    assert labels == ["step(1)", "step(2)", "hidden", "hidden", "same", "same"]
    assert importer_module._assign_parts_to_cases(labelled, {}) == labelled
    parts = importer_module._assign_parts_to_cases(labelled, {3: "part 1", 5: "part 2"})
    assert [case.part for case in parts] == [*["part 1"] * 5, "part 2"]
    assert parts[-1].label == "same (part 2)" and parts[-2].label == "same"
    numbered = importer_module._number_equal_labels([*labelled, CaseSource("hidden (2)")])
    assert [case.label for case in numbered] == [
        *("step(1)", "step(2)", "hidden", "hidden (2)", "same", "same (2)", "hidden (2) (2)"),
    ]


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("open('a.txt', 'w')", {"a.txt"}),
        ("with open('a.txt', 'ab', 1) as f: pass", {"a.txt"}),
        ("f(open('a.txt', 'x+'))", {"a.txt"}),
        ("open('a.txt')\nopen('b.txt', 'r')\nx.open('c.txt', 'w')\nopen(name, 'w')", set()),
    ],
)
def test_files_that_code_writes_are_known(source, files):
    assert importer_module._find_written_files(ast.parse(source)) == files
    assert importer_module._find_written_files(None) == set()


@pytest.mark.parametrize(
    ("value", "contains"),
    [
        (3, True),
        (True, True),
        (3.0, False),
        ("3", False),
        ([1.5, (2.5, 3)], True),
        ({"a": [2]}, True),
        ({3: 1.5}, False),
        ([], False),
    ],
)
def test_whole_numbers_are_found_in_any_part_of_a_value(value, contains):
    assert importer_module._contains_integer(value) is contains


@pytest.mark.parametrize(
    ("source", "is_usable"),
    [
        ("import numpy as np", True),
        ("from unittest import TestCase", True),
        ("import math, os", False),
        ("x = 3", False),
    ],
)
def test_a_comparison_may_import_from_a_few_modules(source, is_usable):
    assert importer_module._imports_from_comparison_module(source) is is_usable


def test_an_answer_does_not_read_what_only_a_test_sets():
    fall = SourceCell(1, "solution", "def fall(t):\n    return g / 2 * t ** 2", "fall")
    rise = SourceCell(2, "solution", "def rise(t):\n    return -t", "rise")
    test = SourceCell(3, "test", "g = 1.62\nassert fall(0) == rise(0)", "t", 1)
    importer = make_importer(fall, rise, test)
    importer.recording = Recording([], {}, {}, {}, {})
    sentence = "its solution reads `g`, which a test sets"
    plan = ExercisePlan("fall", fall, points_by_test={3: 1})
    assert importer._explain_impossible(plan) == sentence
    plan = ExercisePlan("rise", rise, points_by_test={3: 1})
    assert importer._explain_impossible(plan) == ""
    plan.further_functions = {"fall"}
    assert importer._explain_impossible(plan) == sentence
