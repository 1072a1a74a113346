"""`check` and grading allow a notebook the same imports, and name them in the refusal."""

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
from PIL._imaging import new as compiled_function

from autograder.authoring.lab import Lab, read_lab
from autograder.authoring.skeleton import write_course
from autograder.core import import_guard
from autograder.core.notebook_cells import get_nbgrader_metadata
from autograder.grading import pool
from autograder.grading.grade_submission import grade_submission
from autograder.grading.pool import get_sandbox
from autograder.sandbox import Cell, SandboxError
from autograder.sandbox.no_isolation import NoIsolation
from autograder.sandbox.webassembly import WebAssembly
from autograder.student import answer_key
from autograder.student.check import CheckFailed, check
from autograder.student.workspace import copy_labs

NAMES = {"ipython": ["IPython"], "matplotlib": ["matplotlib", "mpl_toolkits"]}


def test_the_engine_s_own_packages_are_those_that_it_depends_on():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = [name for package in project["dependencies"] for name in NAMES.get(package, [package])]
    # A notebook may run where there are no processes to look at: in a browser, in WebAssembly.
    assert {"autograder", *names} - {"psutil", "threadpoolctl"} == import_guard.ENGINE_PACKAGES


def test_common_packages_are_allowed_and_test_packages_are_not():
    packages = import_guard.allowed_packages()
    assert {"math", "numpy", "matplotlib", "attention_labs", "keras"} <= packages
    assert not {"scipy", "pandas", "pytest", "hypothesis"} & packages


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


@pytest.mark.parametrize(
    "answer",
    [imports_inside, uses_a_module, uses_a_function, calls_one_that_does],
)
def test_a_check_refuses_the_imports_that_grading_refuses(answer):
    package = "_pytest" if answer is uses_a_function else "pytest"
    answer.__name__ = "softmax"
    with pytest.raises(
        CheckFailed,
        match=f"^softmax: `{package}` may not be imported in this lab",
    ):
        check(answer)


@pytest.mark.parametrize("package", ["torch", "keras", "scipy"])
def test_a_numpy_lab_allows_no_package_of_another_lab(package):
    names = {"right": right, "__name__": "__main__"}
    exec(f"def softmax(x, axis=0):\n    import {package}\n    return right(x, axis)", names)
    with pytest.raises(CheckFailed) as refusal:
        exec("check(softmax)", {**names, "check": check})
    assert str(refusal.value) == (
        f"softmax: `{package}` may not be imported in this lab. Its answers may use Python's standard library, "
        "numpy, matplotlib and attention_labs, which every student has. Write this step with one of them."
    )


def test_a_refusal_in_a_lab_without_packages_names_none_of_the_course():
    assert "Its answers may use Python's standard library, numpy and matplotlib, which" in (
        import_guard.describe_refusal("torch", [])
    )


@pytest.mark.parametrize("name", COURSE.labs)
def test_check_and_mark_allow_the_same_packages(name):
    """The answer key, which `check` reads, has the list that the lab's sandbox gets."""
    lab = read_lab(COURSE, name)
    key = answer_key.load_lab_descriptions()[name]
    assert set(key.packages) == lab.allowed_packages
    assert ("torch" in key.packages) == ("keras" in lab.imported_course_packages)


def test_a_lab_s_sandbox_refuses_the_packages_of_other_labs():
    sandbox = get_sandbox(read_lab(COURSE, "qkv-attention"), "none")
    first, second = sandbox.run([Cell("import torch"), Cell("import attention_labs")])
    assert first.outputs[0]["evalue"] == import_guard.describe_refusal("torch", ["attention_labs"])
    assert second.status == "ok"


def test_a_check_accepts_allowed_imports(capsys):
    def softmax(x, axis=0):
        import math
        from functools import reduce

        return right(x, axis) * reduce(lambda a, b: a * b, [math.exp(0)])

    check(softmax)
    bound = {"softmax": partial(right)}
    exec("check(softmax)", {**bound, "check": check})
    assert capsys.readouterr().out.count("correct in all") == 2


@pytest.mark.parametrize("folder", ["", "qkv-attention", "elsewhere"])
def test_outside_the_course_the_answer_keys_list_the_allowed_imports(tmp_path, monkeypatch, folder):
    """The answer keys that lie beside the copies say what the course allows."""
    copy_labs(tmp_path / "my labs", COURSE)
    (tmp_path / "my labs" / "elsewhere").mkdir()
    monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
    monkeypatch.chdir(tmp_path / "my labs" / folder)
    packages = import_guard.allowed_packages()
    assert {"numpy", "attention_labs", "keras"} <= packages and not {"scipy", "pandas"} & packages
    code = iter([uses_a_module.__code__])
    assert import_guard.find_forbidden_package(code, globals()) == "pytest"
    assert "attention_labs, jax, keras" in import_guard.describe_refusal("scipy")
    if folder == "qkv-attention":
        uses_a_module.__name__ = "softmax"
        with pytest.raises(
            CheckFailed,
            match=r"^softmax: `pytest` may not be imported in this lab",
        ):
            check(uses_a_module)


@pytest.mark.parametrize(
    ("value", "package"),
    [
        (pytest, "pytest"),
        (pytest.raises, "_pytest"),
        (pytest.Item, "_pytest"),
        (compiled_function, "PIL"),
        (np.linalg, ""),
        (np.dot, ""),
        (np.ndarray, ""),
        (3, ""),
    ],
)
def test_modules_functions_and_classes_of_other_packages_are_found(monkeypatch, value, package):
    monkeypatch.setenv(import_guard.PACKAGES_VARIABLE, "attention_labs")
    codes = iter([(lambda: imported).__code__])  # noqa: F821
    assert import_guard.find_forbidden_package(codes, {"imported": value}) == package


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("number + text + module", "pytest"),
        ("own() + module.mark", "pytest"),
        ("number.module", "pytest"),  # the attribute may be any object, and counts as a name
        ("local_name", ""),
        ("__import__", ""),
        ("[__import__, module]", "pytest"),
    ],
)
def test_a_package_is_found_after_names_that_are_allowed(monkeypatch, source, package):
    monkeypatch.setenv(import_guard.PACKAGES_VARIABLE, "attention_labs")
    namespace = {"__name__": __name__, "number": 3, "text": "pytest", "module": pytest}
    namespace |= {"own": right, "__import__": __import__}
    code = compile(source, "<cell>", "eval")
    assert import_guard.find_forbidden_package(iter([code]), namespace) == package


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("import math, numpy.linalg, attention_labs", ""),
        ("import math, scipy.stats", "scipy"),
        ("from yaml import safe_load", "yaml"),
        ("from . import helper", ""),
    ],
)
def test_an_import_in_a_cell_s_code_is_found_by_its_package(monkeypatch, source, package):
    monkeypatch.setenv(import_guard.PACKAGES_VARIABLE, "attention_labs")
    codes = [compile("1", "<cell>", "exec"), compile(source, "<cell>", "exec")]
    assert import_guard.find_forbidden_package(iter(codes), {}) == package


def test_where_submissions_run_the_environment_lists_the_packages(tmp_path, monkeypatch):
    """A sandbox has no course; the grader passes on the list of the lab that it grades."""
    monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(import_guard.PACKAGES_VARIABLE, "attention_labs,keras")
    packages = import_guard.allowed_packages()
    assert {"numpy", "attention_labs", "keras"} <= packages and "scipy" not in packages
    monkeypatch.setenv(import_guard.PACKAGES_VARIABLE, "")
    assert "keras" not in import_guard.allowed_packages()


def test_a_relative_import_in_a_notebook_fails_as_python_says(monkeypatch):
    monkeypatch.setattr("builtins.__import__", __import__)
    import_guard.guard_imports()
    with pytest.raises(ImportError, match="relative import"):
        exec("from . import helper", {"__name__": "__main__", "__package__": ""})
    with pytest.raises(ImportError, match="`pytest` may not be imported"):
        exec("import pytest.mark", {"__name__": "__main__"})
    exec("import numpy.linalg, math, attention_labs", {"__name__": "__main__"})
    exec("import pytest, _pytest.mark", {"__name__": "a_library"})


def test_a_package_in_a_comment_is_not_imported_and_one_in_a_longer_line_is():
    source = "import numpy as np, keras.ops  # not torch\n    from jax import (\n# import scipy"
    assert import_guard.find_imports(source) == {"numpy", "keras", "jax"}


def test_without_a_course_and_without_keys_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
    monkeypatch.chdir(tmp_path)
    assert import_guard.allowed_packages() is None
    assert import_guard.find_forbidden_package(iter([uses_a_module.__code__]), globals()) == ""


def test_marking_refuses_it_in_a_notebook_s_own_code_and_not_in_its_libraries():
    cells = [
        "import pytest",
        "import numpy.linalg, math, attention_labs",
        "import importlib as i\ni.import_module('pytest')",
    ]
    with NoIsolation(library=[ROOT / "attention_labs"], course=ROOT) as sandbox:
        first, *other_runs = sandbox.run([Cell(source) for source in cells])
    assert first.status == "error"
    assert first.outputs[0]["evalue"] == import_guard.describe_refusal("pytest")
    assert [run.status for run in other_runs] == ["ok", "ok"]


@pytest.mark.long
def test_the_imports_of_a_set_up_are_loaded_once_for_all_submissions():
    lab = read_lab(COURSE, "attention-masks")
    sandbox = get_sandbox(lab, "none")
    new = """
for name in sys.modules.keys() - before:
    if name.startswith('attention_labs'):
        print(name)
print()
"""
    sources = ["import sys; before = set(sys.modules)", *lab.reference_cells.values(), new]
    *_, last = sandbox.run([Cell(source) for source in sources])
    assert [output["text"] for output in last.outputs] == ["\n"]


def test_the_guard_is_silent_without_a_course(tmp_path):
    code = """
import builtins
real = builtins.__import__
from autograder.core import import_guard
import_guard.guard_imports()
assert builtins.__import__ is real
"""
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(COURSE.root), "PATH": ""},
    )
    assert process.returncode == 0


@pytest.mark.parametrize("name", COURSE.labs)
def test_a_notebook_begins_with_the_rules_for_all_answers(name):
    """Allowed imports, unchanged arguments and, in NumPy's labs, the precision of a result."""
    text = nbformat.reads(release(name).decode("utf-8"), as_version=4).cells[0].source
    required_texts = [
        "NumPy, Matplotlib and Python's standard library",
        "`check` and the grader reject other packages, such as SciPy",
        "must not change the arrays they are given",
    ]
    keras = "explain_unavailability" in (ROOT / "solutions" / name / "lab.toml").read_text("utf-8")
    required_texts.append(
        "Keras and its backend" if keras else "If the input is float64, compute in float64."
    )
    assert [part for part in required_texts if part not in text] == []


# Packages that a sandbox does not have


class Bare(NoIsolation):
    """A sandbox without any of the packages that a course allows."""

    @classmethod
    def missing_packages(cls, packages):
        return set(packages)

    def run(self, cells, limits=None):
        raise SandboxError("It was run.")


@pytest.mark.parametrize("name", COURSE.labs)
def test_a_lab_is_refused_if_a_package_is_missing(name, monkeypatch):
    monkeypatch.setattr(pool, "find_sandbox", lambda choice: Bare)
    course_lab = read_lab(COURSE, name)
    if not course_lab.needs:  # one shows PyTorch where it is, and does without
        assert (
            not course_lab.imported_course_packages
            and pool.find_sandbox_class([course_lab], "auto") is Bare
        )
        return
    with pytest.raises(
        SandboxError,
        match=rf"{name} cannot be marked here\. keras cannot be imported where",
    ):
        pool.find_sandbox_class([course_lab], "none")


@pytest.mark.parametrize(("line", "reason"), [
    ("import keras", "keras cannot be imported where submissions run: install it beside the engine"),
    ("def f():\n    from torch.nn import Linear", "torch cannot be imported"),
    ("if False:\n    import torch", "It was run."), ("try:\n    import jax\nexcept ImportError: pass", "It was run."),
    ("import pytest", "It was run."), ("'import keras'", "It was run."), ("# import keras", "It was run."),
])  # fmt: skip
def test_a_submission_that_may_import_a_missing_package_gets_no_zero(line, reason, monkeypatch):
    allowed = property(lambda lab: frozenset(lab.course.imports))
    monkeypatch.setattr(Lab, "allowed_packages", allowed)
    check_faults_with_line(line, reason)


@pytest.mark.parametrize("line", ["import keras", "def f():\n    from torch.nn import Linear"])
def test_a_package_of_another_lab_fails_in_the_students_code_only(line):
    check_faults_with_line(line, "It was run.")


def check_faults_with_line(line, reason):
    notebook = nbformat.reads(release("additive-attention"), 4)
    if line.startswith("def"):
        cells = (cell for cell in notebook.cells if get_nbgrader_metadata(cell).get("solution"))
        next(cells).source += f"\n{line}\n"
    else:
        notebook.cells.append(new_code_cell(line))
    data = nbformat.writes(notebook).encode()
    graded = grade_submission(data, read_lab(COURSE, "additive-attention"), Bare(), salt="")
    assert graded.faults and all(reason in fault for fault in graded.faults)
    assert all(row.score is None for row in graded.results)


@pytest.mark.skipif(bool(WebAssembly.explain_unavailability()), reason="it is not installed")
def test_a_guest_s_packages_are_known_without_starting_one():
    assert WebAssembly.missing_packages(
        frozenset({"numpy", "matplotlib", "pandas", "IPython", "math", "keras"}),
    ) == {"keras"}
    assert (
        "no keras: mark these submissions where bubblewrap starts"
        in WebAssembly.explain_missing_packages(["keras"])
    )


def test_nothing_is_graded_if_a_lab_s_package_is_missing(tmp_path):
    write_course(tmp_path / "mine")
    path = tmp_path / "mine" / "course.toml"
    path.write_text(path.read_text().replace("# imports = [", 'imports = ["not_to_be_had", '))
    path = tmp_path / "mine" / "solutions" / "first-steps" / "first-steps.ipynb"
    path.write_text(path.read_text().replace("import numpy as np", "import not_to_be_had", 1))
    submitted = tmp_path / "mine" / "classroom" / "submitted"
    submission = submitted / "ada" / "first-steps" / "first-steps.ipynb"
    submission.parent.mkdir(parents=True)
    submission.write_bytes(path.read_bytes())
    result = autograder("grade", "--sandbox", "none", cwd=tmp_path / "mine")
    assert (
        result.returncode == 1
        and "marked," not in result.stderr
        and not submission.parents[3].joinpath("autograded").exists()
    )
    assert (
        "first-steps cannot be marked here. not_to_be_had cannot be imported where submissions run"
        in result.stderr
    )
