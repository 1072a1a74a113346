"""A lab: its folder, its order, its exercises, and what its answers may import."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from autograder.authoring import Exercise
from autograder.authoring import lab as lab_module
from autograder.authoring.lab import Lab, LabError, labs_by_grade_id, read_lab, read_labs
from autograder.authoring.reference import run_reference
from autograder.authoring.skeleton import write_course
from autograder.core.course import read_course
from autograder.core.errors import AutograderError


def make_lab(tmp_path, *exercises, cells=(), **fields):
    """Return a lab with these exercises, whose course has two labs and the package `keras`."""
    course = SimpleNamespace(
        labs=("first", "lab"), library=("tools",), imports=("keras", "jax"), solutions=tmp_path
    )
    lab = Lab(
        course, **{"name": "lab", "title": "Lab", "minutes": 5, "difficulty": "easy"} | fields
    )
    vars(lab)["exercises"] = {exercise.name: exercise for exercise in exercises}
    vars(lab)["cells"] = [*cells]
    return lab


def make_cell(source, name="", tags=(), **roles):
    metadata = {"tags": [*tags]}
    if name:
        metadata["nbgrader"] = {"grade_id": name, **roles}
    return new_code_cell(source, id=name.replace("_", "-") or "cell", metadata=metadata)


def test_labs_are_counted_from_one(tmp_path):
    assert make_lab(tmp_path).order == 2 and make_lab(tmp_path, name="first").order == 1


@pytest.mark.parametrize(
    ("source", "preload", "modules", "allowed"),
    [
        ("import numpy", (), set(), {"tools"}),
        ("import keras.layers", (), {"keras"}, {"tools", "keras", "jax"}),
        ("x = 1", ("jax:devices",), {"jax"}, {"tools", "keras", "jax"}),
        ("x = 1", ("numpy",), set(), {"tools"}),
    ],
)
def test_a_lab_that_imports_one_of_the_courses_packages_allows_all(
    tmp_path, source, preload, modules, allowed
):
    cells = [make_cell(source, "setup", tags=["setup"]), make_cell("import jax", "shown")]
    lab = make_lab(tmp_path, cells=cells, preload=preload)
    assert (lab.imported_course_packages, lab.allowed_packages) == (modules, allowed)


@pytest.mark.parametrize(
    "error", ["PermissionError('locked')", "ConnectionError('refused')", "TimeoutError('late')"]
)
def test_only_a_file_that_is_not_there_is_told_as_missing(error):
    with pytest.raises(AutograderError) as error_info:
        run_reference({"setup": f"raise {error}"}, "means", 10)
    assert f"raises {error.partition('(')[0]}" in str(error_info.value)
    assert "not there" not in str(error_info.value)


def test_exercises_are_found_by_their_cells_and_what_they_build_on(tmp_path):
    first = Exercise("mean_of", points=1)
    second = Exercise("spread_of", points=1, builds_on=[first])
    third = Exercise("score_of", points=1, builds_on=[second])
    cells = [
        make_cell("import numpy as np\nfrom os import path\nx = 1", "begin", tags=["setup"]),
        make_cell("import math", "mean-of", solution=True),
        make_cell("why", "why", grade=True, solution=True, points=2),
        make_cell("check(mean_of)", "test-mean-of", grade=True, points=1),
    ]
    lab = make_lab(tmp_path, first, second, third, cells=cells)
    assert lab.prerequisites(third) == [first, second] and lab.prerequisites(first) == []
    names = ("test-mean-of", "mean-of", "spread-of", "why", "test-other")
    items = ["mean_of", "mean_of", "spread_of", "why", "test-other"]
    assert [lab.find_item_of_cell(name) for name in names] == items
    assert lab.manual_questions == {"why": 2}
    assert (
        lab.setup_import_statements
        == (
            "import numpy as np",
            "from os import path",
        )[:2]
    )


def test_two_labs_of_one_name_in_two_courses_are_two_packages(tmp_path):
    lab, other = make_lab(tmp_path / "a"), make_lab(tmp_path / "b")
    assert lab._make_folder_importable() != other._make_folder_importable()
    assert lab._make_folder_importable() == lab._make_folder_importable()


def test_the_reason_that_a_lab_cannot_run_here_is_that_of_its_function(tmp_path):
    assert make_lab(tmp_path).unavailable_reason() == ""
    assert make_lab(tmp_path, needs="os:getcwd").unavailable_reason() != ""


def test_the_cells_of_the_solution_have_the_limit_of_their_lab(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(lab_module, "run_reference", lambda *arguments: seen.append(arguments))
    make_lab(tmp_path, limits={"cell_seconds": 7}).run_reference_cells()
    make_lab(tmp_path).run_reference_cells()
    default = lab_module.RunLimits.cell_seconds
    assert seen == [({}, "lab", 7), ({}, "lab", default)]


def test_a_cell_that_two_labs_have_belongs_to_neither():
    labs = {}
    for name, grade_ids in (("a", ("x", "y")), ("b", ("y", "z", ""))):
        cells = [make_cell("", grade_id) for grade_id in grade_ids]
        labs[name] = SimpleNamespace(name=name, cells=cells)
    assert labs_by_grade_id(labs) == {"x": "a", "z": "b"}


def test_two_labs_have_no_exercise_of_one_name(monkeypatch):
    labs = {}
    for name, exercises in (("a", ("x", "y")), ("b", ("z",)), ("c", ("y",))):
        labs[name] = SimpleNamespace(name=name, exercises=exercises)
    monkeypatch.setattr(lab_module, "read_lab", lambda course, name: labs[name])
    course = SimpleNamespace(labs=("b", "a"))
    assert [*read_labs(course)] == ["b", "a"] and [*read_labs(course, ["c"])] == ["c"]
    with pytest.raises(LabError, match="a and c both have an exercise 'y'; rename one of them"):
        read_labs(course, ["a", "b", "c"])


LAB, EXERCISE = "first-steps", "mean_of_first_steps"


@pytest.fixture
def folder(tmp_path):
    write_course(tmp_path)
    return tmp_path


def read_new_lab(folder):
    return read_lab(read_course(folder), LAB)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("helper.py", "x = 1", r"an exercise named 'helper', as the file, is expected; it defines none\."),
        ("helper.py", f"from .{EXERCISE} import {EXERCISE}", f"it defines {EXERCISE}"),
        ("helper.py", "x = 1\n\n1 / 0", "helper.py, line 3 cannot be imported: ZeroDivisionError"),
        ("other.py", "from autograder.authoring import Exercise\nother = Exercise('other', points=1)",
         "other.py defines an exercise, but no cell of the notebook has the grade_id 'test-other'"),
        ("_helper.py", "1 / 0", ""),
    ],
)  # fmt: skip
def test_each_python_file_of_a_lab_defines_its_exercise(folder, name, text, sentence):
    (folder / "solutions" / LAB / name).write_text(text)
    if not sentence:
        assert [*read_new_lab(folder).exercises] == [EXERCISE]
        return
    with pytest.raises(LabError, match=sentence):
        _ = read_new_lab(folder).exercises


def test_an_exercise_of_the_same_name_in_another_lab_is_not_built_on(folder):
    text = (
        "from autograder.authoring import Exercise, inputs\n"
        f"theirs = Exercise('{EXERCISE}', points=1)\n"
        "second = Exercise('second', points=1, builds_on=[theirs])\n"
    )
    (folder / "solutions" / LAB / "second.py").write_text(text)
    path = folder / "solutions" / LAB / f"{LAB}.ipynb"
    notebook = nbformat.read(path, 4)
    notebook.cells.append(make_cell("check(second)", "test-second", grade=True))
    nbformat.write(notebook, path)
    with pytest.raises(LabError, match=f"second builds on {EXERCISE}, which is of another lab"):
        _ = read_new_lab(folder).exercises


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ('needs = "no_such_module:f"', "needs names 'no_such_module:f', which cannot be found"),
        ('needs = "os:no_such_function"', "needs names 'os:no_such_function', which cannot"),
        ('needs = "os"', "needs names 'os', which cannot be found"),
        ('needs = ":f"', "needs names ':f', which cannot be found"),
        ("limits = {memory = 1.5}", "memory is 1.5; expected a whole number"),
        ("limits = {call_seconds = 0}", "The limit call_seconds must be"),
        ("graded_with = {A = 1}", "A is 1; a text is expected"),
    ],
)
def test_a_wrong_entry_of_a_lab_is_named(folder, entry, sentence):
    path = folder / "solutions" / LAB / "lab.toml"
    path.write_text(f"{entry}\n" + path.read_text("utf-8"), "utf-8")
    with pytest.raises(LabError, match=sentence):
        read_new_lab(folder)


def test_the_lists_of_a_lab_are_read_and_missing_ones_are_empty(folder):
    lab = read_new_lab(folder)
    assert sys.path[-1] == str(folder), "below what Python and its packages have"
    assert (lab.preload, lab.environment, lab.limits, lab.graded_with) == ((), (), {}, {})
    lab_module._read_cached_lab.cache_clear()
    path = folder / "solutions" / LAB / "lab.toml"
    entries = 'preload = ["os"]\nenvironment = ["A", "B"]\nlimits = {call_seconds = 0.5}\n'
    path.write_text(entries + path.read_text("utf-8"), "utf-8")
    lab = read_new_lab(folder)
    assert (lab.preload, lab.environment) == (("os",), ("A", "B"))
    assert lab.limits == {"call_seconds": 0.5}


@pytest.mark.parametrize("text", ["{" * 300, "[1]", '{"cells": 3}', "3"])
def test_a_solution_that_is_no_notebook_is_one_short_sentence(folder, text):
    lab = replace(read_new_lab(folder))
    lab.solution_path.write_text(text)
    with pytest.raises(
        LabError, match=r"first-steps.ipynb cannot be read as a notebook: .*\.$"
    ) as raised:
        lab.read_solution()
    assert len(str(raised.value).partition("notebook: ")[2]) < 80
