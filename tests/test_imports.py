"""What a notebook may import is the same for `check` and for marking, and is said."""

import subprocess
import sys
import tomllib
from functools import partial

import nbformat
import numpy as np
import pytest
from command import autograder
from nbformat.v4 import new_code_cell
from our_course import COURSE, ROOT, release

from autograder import imports
from autograder.authoring.lab import read_lab
from autograder.authoring.skeleton import write_course
from autograder.cells import nbgrader_of
from autograder.grading.marking import mark
from autograder.grading.run import pool
from autograder.grading.run.pool import sandbox_for
from autograder.grading.sandbox import PRELOAD, Cell, SandboxError
from autograder.grading.sandbox.none import Unconfined
from autograder.grading.sandbox.webassembly import WebAssembly
from autograder.student import CheckFailed, check

NAMES = {"ipython": ["IPython"], "matplotlib": ["matplotlib", "mpl_toolkits"]}


def test_the_engine_s_own_packages_are_those_that_it_depends_on():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = [name for package in project["dependencies"] for name in NAMES.get(package, [package])]
    # A notebook may run where there are no processes to look at: in a browser, in WebAssembly.
    assert {"autograder", *names} - {"psutil"} == imports.ENGINE


def test_what_every_student_has_is_allowed_and_what_tests_need_is_not():
    known = imports.allowed()
    assert {"math", "numpy", "matplotlib", "attention_labs", "keras"} <= known
    assert not {"scipy", "pandas", "pytest", "hypothesis"} & known


def right(x, axis=0):
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


def imports_inside(x, axis=0):
    import pytest as helper

    return right(x, axis) if helper else x


def uses_a_module(x, axis=0):
    return right(x, axis) if pytest.approx else x


approx = pytest.approx


def uses_a_function(x, axis=0):
    return right(x, axis) if approx(1) == 1 else x


def calls_one_that_does(x, axis=0):
    return uses_a_module(x, axis)


@pytest.mark.parametrize("answer", [imports_inside, uses_a_module, uses_a_function, calls_one_that_does])
def test_a_check_refuses_what_the_mark_would_refuse(answer):
    package = "_pytest" if answer is uses_a_function else "pytest"
    answer.__name__ = "softmax"
    with pytest.raises(CheckFailed, match=f"^softmax: `{package}` may not be imported in these notebooks"):
        check(answer)


def test_a_check_takes_what_is_allowed(capsys):
    def softmax(x, axis=0):
        import math
        from functools import reduce

        return right(x, axis) * reduce(lambda a, b: a * b, [math.exp(0)])

    check(softmax)
    bound = {"softmax": partial(right)}
    exec("check(softmax)", {**bound, "check": check})
    assert capsys.readouterr().out.count("right in all") == 2


def test_without_a_course_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
    monkeypatch.chdir(tmp_path)
    assert imports.allowed() is None
    assert imports.foreign(iter([uses_a_module.__code__]), globals()) == ""


def test_marking_refuses_it_in_a_notebook_s_own_code_and_not_in_its_libraries():
    cells = [
        "import pytest",
        "import numpy.linalg, math, attention_labs",
        "import importlib as i\ni.import_module('pytest')",
    ]
    with Unconfined(preload=PRELOAD, library=[ROOT / "attention_labs"], course=ROOT) as sandbox:
        first, *others = sandbox.run([Cell(source) for source in cells])
    assert first.status == "error"
    assert first.outputs[0]["evalue"] == imports.refusal("pytest")
    assert [run.status for run in others] == ["ok", "ok"]


def test_what_a_notebook_s_set_up_imports_is_imported_once_for_all_hand_ins():
    lab = read_lab(COURSE, "attention-masks")
    sandbox = sandbox_for(lab, "none")
    new = "print(*(name for name in sys.modules.keys() - before if name.startswith('attention_labs')))"
    sources = ["import sys; before = set(sys.modules)", *lab.reference_cells.values(), new]
    *_, last = sandbox.run([Cell(source) for source in sources])
    assert [output["text"] for output in last.outputs] == ["\n"]


def test_the_guard_is_silent_without_a_course(tmp_path):
    code = (
        "import builtins; real = builtins.__import__; from autograder import imports; imports.guard(); "
        "assert builtins.__import__ is real"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(COURSE.root), "PATH": ""}
    )
    assert done.returncode == 0


@pytest.mark.parametrize("name", COURSE.labs)
def test_a_notebook_says_first_what_all_its_answers_are_held_to(name):
    """What may be imported, that arguments stay as they are, and in NumPy's labs how exact a result is."""
    text = nbformat.reads(release(name).decode("utf-8"), as_version=4).cells[0].source
    said = [
        "NumPy, Matplotlib and Python's standard library",
        "SciPy, are refused",
        "leave their arguments as they are",
    ]
    keras = "why_unavailable" in (ROOT / "solutions" / name / "lab.toml").read_text("utf-8")
    said.append("Keras and its backend" if keras else "they compute in float64")
    assert [words for words in said if words not in text] == []


# What a sandbox cannot import


class Bare(Unconfined):
    """A sandbox without any of the packages that a course allows."""

    @classmethod
    def lacks(cls, packages):
        return set(packages)

    def run(self, cells, limits=None):
        raise SandboxError("It was run.")


@pytest.mark.parametrize("name", COURSE.labs)
def test_a_lab_is_refused_where_what_it_imports_is_not_to_be_had(name, monkeypatch):
    monkeypatch.setattr(pool, "find", lambda choice: Bare)
    asked = read_lab(COURSE, name)
    if name != "keras-attention":  # one shows PyTorch where it is, and does without
        assert not asked.packages and pool.find_for([asked], "auto") is Bare
        return
    with pytest.raises(
        SandboxError, match=r"keras-attention cannot be marked here\. keras cannot be imported where"
    ):
        pool.find_for([asked], "none")


@pytest.mark.parametrize(("line", "why"), [
    ("import keras", "keras cannot be imported where hand-ins run: install it beside the engine"),
    ("def f():\n    from torch.nn import Linear", "torch cannot be imported"),
    ("if False:\n    import torch", "It was run."), ("try:\n    import jax\nexcept ImportError: pass", "It was run."),
    ("import pytest", "It was run."), ("'import keras'", "It was run."), ("# import keras", "It was run."),
])  # fmt: skip
def test_a_hand_in_that_may_import_what_is_not_there_gets_no_zero(line, why):
    notebook = nbformat.reads(release("additive-attention"), 4)
    if line.startswith("def"):
        next(c for c in notebook.cells if nbgrader_of(c).get("solution")).source += f"\n{line}\n"
    else:
        notebook.cells.append(new_code_cell(line))
    data = nbformat.writes(notebook).encode()
    marked = mark(data, read_lab(COURSE, "additive-attention"), Bare(), salt="")
    assert marked.faults and all(why in said for said in marked.faults)
    assert all(row.score is None for row in marked.rows)


@pytest.mark.skipif(bool(WebAssembly.why_unavailable()), reason="it is not installed")
def test_what_a_guest_can_import_is_known_without_one():
    assert WebAssembly.lacks(frozenset({"numpy", "matplotlib", "pandas", "IPython", "math", "keras"})) == {
        "keras"
    }
    assert "no keras: mark these hand-ins where bubblewrap starts" in WebAssembly.why_not_with(["keras"])


def test_nothing_is_marked_where_a_lab_s_package_is_not_there(tmp_path):
    write_course(tmp_path / "mine")
    path = tmp_path / "mine" / "course.toml"
    path.write_text(path.read_text().replace("# imports = [", 'imports = ["not_to_be_had", '))
    path = tmp_path / "mine" / "solutions" / "first-steps" / "first-steps.ipynb"
    path.write_text(path.read_text().replace("import numpy as np", "import not_to_be_had", 1))
    one = tmp_path / "mine" / "classroom" / "submitted" / "ada" / "first-steps" / "first-steps.ipynb"
    one.parent.mkdir(parents=True)
    one.write_bytes(path.read_bytes())
    ran = autograder("grade", "--sandbox", "none", cwd=tmp_path / "mine")
    assert (
        ran.returncode == 1
        and "marked," not in ran.stderr
        and not one.parents[3].joinpath("autograded").exists()
    )
    assert (
        "first-steps cannot be marked here. not_to_be_had cannot be imported where hand-ins run" in ran.stderr
    )
