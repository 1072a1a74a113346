"""Reuse of a student's functions: saved when they pass, used in later labs, never in grading."""

import json
import shutil
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from command import autograder
from functions_in_cells import define_in_cell
from our_course import COURSE, ROOT

from autograder.authoring.build import make_kernel_environment
from autograder.authoring.lab import read_lab
from autograder.student import check, reuse
from autograder.student.workspace import START_PAGE

RIGHT = """
from math import fsum

SHIFT = 0.0

def highest(x, axis):
    return np.max(x, axis=axis, keepdims=True)

def stable_softmax(x, axis=0):
    e = np.exp(x - highest(x, axis) + SHIFT)
    return e / e.sum(axis=axis, keepdims=True)
"""


def run_cells(cells, folder, **variables):
    """Run cells in a kernel in `folder`; return each cell's output or error text."""
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    kernel = {k: v for k, v in make_kernel_environment(ROOT).items() if k != reuse.REUSE_VARIABLE}
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**kernel, **variables})
    texts = []
    for cell in notebook.cells:
        text = ""
        for output in cell.outputs:
            result = output.get("data", {}).get("text/plain", "")
            text += output.get("text") or output.get("evalue") or result
        texts.append(text)
    return texts


SETUP = """
import numpy as np
from autograder import check, list_my_functions, use_my_functions

def stable_softmax(x, axis=0):
    "the course's"
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)

def split_heads(x, heads):
    batch, length, d = x.shape
    return x.reshape(batch, length, heads, d // heads).transpose(0, 2, 1, 3)

use_my_functions()
"""
USE = "print(type(stable_softmax).__name__, stable_softmax(np.zeros((2, 4)), axis=1)[0])"
FIRST = "import numpy as np\nfrom autograder import check"


def make_work(folder):
    for lab in ("qkv-attention", "qkv-attention copy", "tiny-transformer"):
        (folder / lab).mkdir()
    (folder / START_PAGE).write_text("{}")
    return folder


@pytest.fixture
def work(tmp_path):
    """A student's folder with two labs, and a copy of the first."""
    return make_work(tmp_path)


def pass_it(work, source=RIGHT, lab="qkv-attention"):
    return run_cells([FIRST, source, "check(stable_softmax)"], work / lab)[-1]


@pytest.fixture(scope="module")
def saved_functions(tmp_path_factory):
    """The functions that are saved when `RIGHT` passes in a student's folder."""
    work = make_work(tmp_path_factory.mktemp("work"))
    assert "correct in all" in pass_it(work)
    return work / reuse.REUSE_FOLDER


@pytest.fixture
def work_with_function(work, saved_functions):
    """A student's folder in which `RIGHT` has passed."""
    shutil.copytree(saved_functions, work / reuse.REUSE_FOLDER)
    return work


def test_a_function_that_passed_is_used_in_the_next_lab(work_with_function):
    work = work_with_function
    source = (work / reuse.REUSE_FOLDER / "stable_softmax.py").read_text()
    assert "def highest" in source
    assert "import numpy as np" in source
    assert "SHIFT = 0.0" in source
    set_up_text, use_text, list_text = run_cells(
        [SETUP, USE, "list_my_functions()"],
        work / "tiny-transformer",
    )
    choice = "Of the 2 functions here that this course lets you write"
    assert f"{choice}, 1 is yours: stable_softmax." in set_up_text
    assert "The course's: split_heads." in set_up_text
    assert use_text.startswith("_FunctionWithFallback [0.25")
    assert "1 is yours" in list_text


@pytest.mark.long
def test_helpers_of_one_name_in_two_labs_do_not_meet(work):
    """`stable_softmax` came with a `softmax` of two arguments; the later lab's has one."""
    pass_it(work, RIGHT.replace("highest", "softmax"))
    choose = """def choose(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    ends = np.cumsum(softmax(logits / temperature))
    return int(min((ends <= uniform).sum(), len(ends) - 1))"""
    cells = [
        "def softmax(scores):\n    return stable_softmax(scores, axis=-1)",
        choose,
        "check(choose)",
    ]
    assert "correct in all" in run_cells([SETUP, *cells], work / "tiny-transformer")[-1]
    assert (work / reuse.REUSE_FOLDER / "choose.py").is_file()


def test_only_the_functions_of_the_set_up_cell_are_replaced(tmp_path, monkeypatch, capsys):
    """A function of the same name in another cell is the student's answer in this lab."""
    monkeypatch.setattr(reuse, "_find_reuse_folder", lambda: tmp_path)
    monkeypatch.setattr(reuse, "_load_student_function", lambda _, name, function: f"my {name}")
    space = {"__name__": "__main__", "use_my_functions": reuse.use_my_functions}
    define = "def {}(x, axis=0): pass"
    exec(compile(define.format("softmax"), "another cell", "exec"), space)
    set_up = f"{define.format('stable_softmax')}\nuse_my_functions()"
    exec(compile(set_up, "the set-up cell", "exec"), space)
    assert space["stable_softmax"] == "my stable_softmax"
    assert callable(space["softmax"])
    assert capsys.readouterr().out == (
        "Of the 1 function here that this course lets you write, 1 is yours: stable_softmax.\n"
    )


@pytest.mark.long
def test_reuse_can_be_switched_off(work_with_function):
    work = work_with_function
    folder = work / "tiny-transformer"
    texts = run_cells([SETUP, "use_my_functions(on=False)", USE], folder)
    assert texts[2].startswith("function [0.25")
    texts = run_cells([SETUP, USE], folder, **{reuse.REUSE_VARIABLE: "off"})
    assert texts[1].startswith("function")


@pytest.mark.long
def test_a_failing_function_does_not_replace_the_saved_one(work_with_function):
    work = work_with_function
    original = (work / reuse.REUSE_FOLDER / "stable_softmax.py").read_bytes()
    assert "✗" in pass_it(work, RIGHT.replace("np.exp(x - highest(x, axis) + SHIFT)", "np.exp(x)"))
    assert (work / reuse.REUSE_FOLDER / "stable_softmax.py").read_bytes() == original


@pytest.mark.long
def test_a_copy_of_a_lab_counts_and_the_last_one_that_passed_is_used(work_with_function):
    work = work_with_function
    pass_it(work, RIGHT.replace("SHIFT = 0.0", "SHIFT = 1.0"), "qkv-attention copy")
    assert "SHIFT = 1.0" in (work / reuse.REUSE_FOLDER / "stable_softmax.py").read_text()


@pytest.mark.long
def test_outside_a_students_folder_nothing_is_kept(work):
    (work / START_PAGE).unlink()
    assert "correct in all" in pass_it(work)
    assert not (work / reuse.REUSE_FOLDER).exists()


def test_a_file_that_was_changed_is_not_run(work_with_function):
    work = work_with_function
    path = work / reuse.REUSE_FOLDER / "stable_softmax.py"
    path.write_text(path.read_text() + "print('run')\n")
    set_up_text, use_text = run_cells([SETUP, USE], work / "tiny-transformer")
    assert "was changed since it passed" in set_up_text
    assert "run" not in set_up_text.splitlines()
    assert use_text.startswith("function")


def student_function(function, course):
    return reuse._FunctionWithFallback("f", function, course, "")


def test_a_function_that_raises_differs_or_is_slow_is_replaced_with_a_sentence(capsys):
    def broken(x):
        raise ValueError

    def differs(x):
        return x + 1

    def slow(x):
        return [sum(range(200_000)) for _ in range(40)] and x

    for function, reason in (
        (broken, "raised ValueError here"),
        (differs, "gives something else here"),
        (slow, "took "),
    ):
        reused = student_function(function, lambda x: x)
        assert np.array_equal(reused(np.ones(3)), np.ones(3))
        assert not reused.is_active
        assert reason in capsys.readouterr().out


def test_a_function_that_is_wrong_for_larger_inputs_only_is_noticed(capsys):
    reused = student_function(lambda x: x[:100], lambda x: x)
    assert len(reused(np.ones(3))) == 3
    assert reused.is_active
    assert len(reused(np.ones(300))) == 300
    assert "gives something else here" in capsys.readouterr().out


def test_without_a_kernel_nothing_is_reused(monkeypatch, work, capsys):
    """Nothing is reused in the reference, in the grader's sandbox and in scripts."""
    monkeypatch.setattr(check, "_passed_checks", {})
    stable_softmax = read_lab(COURSE, "qkv-attention").reference.stable_softmax
    check.check(stable_softmax)
    capsys.readouterr()
    monkeypatch.chdir(work / "tiny-transformer")
    namespace = {"__name__": "reference"}
    exec(compile(SETUP, "cell", "exec"), namespace)
    assert namespace["stable_softmax"].__doc__ == "the course's"
    assert capsys.readouterr().out == ""
    assert not (work / reuse.REUSE_FOLDER).exists()


@pytest.mark.long
def test_saved_functions_do_not_change_a_mark(tmp_path):
    """Saved functions in a submission's folder do not change its grade."""
    lab = "tiny-transformer"
    notebook = json.loads(COURSE.released_notebook_path(lab).read_text())
    answers = read_lab(COURSE, lab).reference_cells
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in {
            "layer-norm",
            "feed-forward",
            "transformer-block",
        }:  # the last calls what the set-up cell defines
            cell["source"] = answers[name]
    parameters = "queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None"
    source = f"def multi_head_attention({parameters}):\n    return 0\n"
    for student_name in ("with", "without"):
        folder = tmp_path / "submitted" / student_name / lab
        folder.mkdir(parents=True)
        (folder / f"{lab}.ipynb").write_text(json.dumps(notebook))
        for target in (folder,) if student_name == "with" else ():
            (target / reuse.REUSE_FOLDER).mkdir()
            (target / START_PAGE).write_text("{}")
            text = f"{reuse._DIGEST_PREFIX}{reuse._hash_source(source)}: x\n{source}"
            (target / reuse.REUSE_FOLDER / "multi_head_attention.py").write_text(text)
    result = autograder("grade", lab, "--classroom", tmp_path, "--json", "-")
    assert result.returncode == 0, result.stderr
    marks = {"with": {}, "without": {}}
    for line in map(json.loads, result.stdout.splitlines()):
        marks[line["student"]][line["exercise"]] = line["verdict"], line["score"], line["message"]
    assert marks["with"] == marks["without"]
    assert marks["with"]["transformer_block"][0] == "pass"


@pytest.mark.parametrize(
    ("names", "student_names", "text"),
    [
        ([], set(), "Nothing here is a function that this course lets you write."),
        (
            ["softmax"],
            set(),
            "Of the 1 function here that this course lets you write, 0 are yours.",
        ),
        (
            ["softmax", "scores"],
            {"scores"},
            "Of the 2 functions here that this course lets you write, 1 is yours: scores. The course's: softmax.",
        ),
    ],
)
def test_the_owners_of_functions_are_described(names, student_names, text):
    assert reuse._describe_owners(names, student_names) == text


def double(x, scale=2.0):
    """The course's."""
    return scale * x


def test_a_reused_function_is_compared_again_only_for_much_larger_arguments():
    calls = []

    def count(x, scale=2.0):
        calls.append(x.size)
        return scale * x

    reused = student_function(lambda x, scale=2.0: scale * x, count)
    for size in (10, 20, 40, 41, 60):
        reused(np.ones(size))
    assert calls == [10, 41], "up to four times as large is not much larger"


def test_an_array_by_name_counts_as_an_argument():
    calls = []
    reused = student_function(lambda x=None: x, lambda x=None: calls.append(x.size) or x)
    reused(x=np.ones(2))
    reused(x=np.ones(300))
    assert calls == [2, 300]


@pytest.mark.parametrize(
    ("result", "expected", "agrees"),
    [
        (np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), True),
        (np.ones(2), np.ones(2) + 1e-5, True),
        (np.ones(2), np.ones(2) + 1e-2, False),
        (np.ones((1, 2)), np.ones(2), False),
        ((np.ones(2), 1.0), (np.ones(2), 1.0), True),
        ((np.ones(2),), (np.ones(2), 1.0), False),
        ([1.0, 2.0], (1.0, 2.0), True),
    ],
)
def test_results_agree_up_to_small_errors(result, expected, agrees):
    assert reuse._results_agree(result, expected) is agrees


def test_the_functions_of_the_course_are_put_back_whatever_became_of_the_students(capsys):
    active = student_function(lambda x: x, double)
    failed = student_function(lambda x: x + 3, double)
    failed(np.ones(2))
    namespace = {"softmax": active, "scores": failed, "other": 3}
    reuse._restore_course_functions(namespace)
    assert namespace == {"softmax": double, "scores": double, "other": 3}
    assert "All functions of the set-up cell are the course's." in capsys.readouterr().out


def test_a_function_that_was_replaced_is_not_said_to_be_the_students(monkeypatch):
    active, failed = (student_function(lambda x: x, lambda x: x) for _ in range(2))
    failed.is_active = False
    monkeypatch.setattr(reuse.answer_key, "list_exercises", lambda: ["one", "two"])
    text = reuse.describe_function_owners({"one": active, "two": failed}, {})
    assert text.endswith("1 is yours: one. The course's: two.")
    text = reuse.describe_function_owners({"one": active, "two": failed}, {"two": True})
    assert text.endswith("2 are yours: one and two.")


def test_a_helper_under_another_name_is_saved_with_that_name():
    highest = define_in_cell("def highest(x):\n    return max(x)\n")
    (source,) = reuse._collect_required_sources("top", highest, highest.__globals__)
    assert source.endswith("\ntop = highest")
    assert reuse._run_source(source, "top")([1, 3, 2]) == 3


@pytest.mark.parametrize(
    "body",
    [
        "return helper(x)",
        "return [helper(i) for i in [x]][0]",
        "return (lambda i: helper(i))(x)",
        "def inner(i):\n        return helper(i)\n    return inner(x)",
        "def inner(i):\n        return [helper(k) for k in [i]][0]\n    return inner(x)",
        "class Inner:\n        y = helper(3)\n    return x + 1",
    ],
)
def test_a_helper_is_saved_wherever_the_function_uses_it(body):
    cell = f"def top(x):\n    {body}\n\n\ndef helper(x):\n    return x + STEP\n"
    top = define_in_cell(cell, STEP=1)
    source = "\n".join(reuse._collect_required_sources("top", top, top.__globals__))
    assert reuse._run_source(source, "top")(3) == 4


def save(folder, source, name="double"):
    text = f"{reuse._DIGEST_PREFIX}{reuse._hash_source(source)}: x\n{source}"
    (folder / f"{name}.py").write_text(text)


@pytest.mark.parametrize(
    ("source", "is_used", "sentence"),
    [
        ('def double(x, scale=2.0):\n    "mine"\n    return x\n', True, ""),
        ("def double(x):\n    return x\n", False, ""),
        ("def double(scale, x):\n    return x\n", False, ""),
        ("def double(x, scale=2.0):\n    return (\n", False, "(SyntaxError), so the course's is"),
        ("import nowhere_to_be_found\n", False, "(ModuleNotFoundError), so the course's is used."),
        ("def another(x):\n    return x\n", False, "Your double cannot be used here (KeyError)"),
    ],
)
def test_a_saved_function_is_used_if_it_runs_and_has_the_same_parameters(
    tmp_path, capsys, source, is_used, sentence
):
    save(tmp_path, source)
    loaded = reuse._load_student_function(tmp_path, "double", double)
    assert (loaded is not None) is is_used
    output = capsys.readouterr().out
    assert sentence in output and bool(sentence) == bool(output)
    if loaded:
        assert (loaded.__name__, loaded.__doc__) == ("double", "mine"), "help() shows the student's"


def test_a_function_that_was_never_saved_is_passed_over(tmp_path, capsys):
    assert reuse._load_student_function(tmp_path, "double", double) is None
    assert capsys.readouterr().out == ""


def test_the_folders_of_the_users_own_packages_stay_for_a_kernel(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/mine")
    environment = reuse.make_grading_like_environment(tmp_path)
    assert environment["PYTHONPATH"].split(reuse.os.pathsep) == [str(tmp_path), "/mine"]
    assert environment["AUTOGRADER_COURSE"] == str(tmp_path)
    assert environment[reuse.REUSE_VARIABLE] == "off"
    monkeypatch.delenv("PYTHONPATH")
    assert reuse.make_grading_like_environment(tmp_path)["PYTHONPATH"] == str(tmp_path)
    assert "PYTHONPATH" not in reuse.make_grading_like_environment(None)


@pytest.mark.parametrize(
    ("course_seconds", "student_seconds", "is_active"),
    [
        (0.0, reuse.MAX_EXTRA_SECONDS, True),
        (0.0, 1.01 * reuse.MAX_EXTRA_SECONDS, False),
        (1.0, reuse.MAX_SLOWDOWN, True),
        (1.0, reuse.MAX_SLOWDOWN + 2 * reuse.MAX_EXTRA_SECONDS, False),
    ],
)
def test_a_function_may_take_so_many_times_as_long_as_the_course_s(
    monkeypatch, course_seconds, student_seconds, is_active
):
    moments = iter([0.0, course_seconds, course_seconds + student_seconds])
    clock = SimpleNamespace(process_time=lambda: next(moments))
    monkeypatch.setattr(reuse, "time", clock)
    reused = student_function(lambda x: x, lambda x: x)
    assert reused(1) == 1 and reused.is_active == is_active
