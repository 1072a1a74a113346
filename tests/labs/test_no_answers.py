"""Nothing that answers an exercise lies where students can read it: every function found there is tried on each.

Places are what the sandbox and the students' zip hold, the course's library and its data, and the set-up cells of every
lab. A later lab's set-up may hold an earlier exercise's answer, as it hands on what was written before; by then
students have it.
"""

import ast
import inspect
import socket
import time
from functools import cache
from pathlib import Path

import pytest
from our_course import COURSE, ROOT

from autograder.authoring.lab import read_labs
from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import call_student_function, find_argument_mismatch
from autograder.values.case_records import Inputs

LABS = [lab for lab in read_labs(COURSE).values() if not lab.needs]
EXERCISES = [exercise for lab in LABS for exercise in lab.exercises.values()]
FILES = [p for name in (*COURSE.library, *COURSE.data) for p in sorted((ROOT / name).rglob("*.py"))]


def functions(source, name):
    """The functions of a piece of code, by name: what of it runs without being a program is run."""
    namespace = {
        "__name__": name,
        "__file__": str(ROOT / "data" / "file.py"),
        "open": None,
    }  # a number is a file to it
    for node in ast.parse(source).body:
        try:
            exec(compile(ast.Module([node], []), name, "exec"), namespace)
        except (Exception, SystemExit):  # noqa: BLE001 - a package that is not here, a file that is not there
            continue
    own_functions = {
        key: f for key, f in namespace.items() if inspect.isfunction(f) and f.__module__ == name
    }
    return {
        key: f for key, f in own_functions.items() if not hasattr(f, "__wrapped__")
    }  # those draw


def find_answered_exercises(function, exercises):
    """The exercises that a function answers: all cases of one whose arguments fit it."""

    @cache  # a function is asked about a thousand cases, which have a dozen shapes
    def takes(count, names):
        inputs = Inputs((None,) * count, dict.fromkeys(names))
        return not find_argument_mismatch(function, inputs)

    for exercise in exercises:
        exercise_cases = [
            q for q in exercise.test_cases() if takes(len(q.inputs.args), tuple(q.inputs.kwargs))
        ]
        if len(exercise_cases) > 2 and all(
            _right(function, case, exercise.rules) for case in exercise_cases
        ):
            yield exercise.name


def _right(function, case, rules):
    answer = call_student_function(function, case.inputs, rules.call)
    return compare_outcome(case.expected, answer, rules, case.inputs) is None


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*arguments, **keywords):
        raise OSError("no network in a test")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # before it is tried again


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_library_and_the_data_answer_nothing(path):
    functions_by_name = functions(path.read_text("utf-8"), path.stem)
    assert {
        name: exercises
        for name, f in functions_by_name.items()
        if (exercises := list(find_answered_exercises(f, EXERCISES)))
    } == {}


@pytest.mark.long
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_labs_set_up_answers_nothing_that_comes_later(lab):
    """Nor anything of its own."""
    later = [e for e in EXERCISES if e.lab.order >= lab.order]
    setup_cells = [c for c in lab.read_solution().cells if "setup" in c.metadata.get("tags", [])]
    functions_by_name = functions("\n\n".join(cell.source for cell in setup_cells), lab.name)
    assert {
        name: exercises
        for name, f in functions_by_name.items()
        if (exercises := list(find_answered_exercises(f, later)))
    } == {}


def test_an_answer_that_lies_there_is_found():
    lab = next(lab for lab in LABS if lab.name == "qkv-attention")
    cells = ("softmax", "stable-softmax")
    source = "\n\n".join(
        ["import numpy as np", "import not_here", *(lab.reference_cells[c] for c in cells)],
    )
    functions_by_name = functions(source, "a file")
    assert list(find_answered_exercises(functions_by_name["stable_softmax"], EXERCISES)) == [
        "softmax",
        "stable_softmax",
    ]
    assert list(find_answered_exercises(functions_by_name["softmax"], EXERCISES))[:1] == ["softmax"]
    assert FILES
    assert Path(ROOT / "attention_labs" / "comparers.py") in FILES
