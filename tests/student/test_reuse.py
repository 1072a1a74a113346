"""Reuse of a student's functions: saved when they pass, used in later labs, never in grading."""

import json

import nbformat
import numpy as np
import pytest
from command import autograder
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


@pytest.fixture
def work(tmp_path):
    """A student's folder with two labs, and a copy of the first."""
    for lab in ("qkv-attention", "qkv-attention copy", "tiny-transformer"):
        (tmp_path / lab).mkdir()
    (tmp_path / START_PAGE).write_text("{}")
    return tmp_path


def pass_it(work, source=RIGHT, lab="qkv-attention"):
    return run_cells([FIRST, source, "check(stable_softmax)"], work / lab)[-1]


def test_a_function_that_passed_is_used_in_the_next_lab(work):
    assert "correct in all" in pass_it(work)
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


@pytest.mark.long
def test_reuse_can_be_switched_off(work):
    pass_it(work)
    folder = work / "tiny-transformer"
    texts = run_cells([SETUP, "use_my_functions(on=False)", USE], folder)
    assert texts[2].startswith("function [0.25")
    texts = run_cells([SETUP, USE], folder, **{reuse.REUSE_VARIABLE: "off"})
    assert texts[1].startswith("function")


def test_a_failing_function_does_not_replace_the_saved_one(work):
    pass_it(work)
    original = (work / reuse.REUSE_FOLDER / "stable_softmax.py").read_bytes()
    assert "✗" in pass_it(work, RIGHT.replace("np.exp(x - highest(x, axis) + SHIFT)", "np.exp(x)"))
    assert (work / reuse.REUSE_FOLDER / "stable_softmax.py").read_bytes() == original


def test_a_copy_of_a_lab_counts_and_the_last_one_that_passed_is_used(work):
    pass_it(work)
    pass_it(work, RIGHT.replace("SHIFT = 0.0", "SHIFT = 1.0"), "qkv-attention copy")
    assert "SHIFT = 1.0" in (work / reuse.REUSE_FOLDER / "stable_softmax.py").read_text()


def test_outside_a_students_folder_nothing_is_kept(work):
    (work / START_PAGE).unlink()
    assert "correct in all" in pass_it(work)
    assert not (work / reuse.REUSE_FOLDER).exists()


def test_a_file_that_was_changed_is_not_run(work):
    pass_it(work)
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
    result = autograder("grade", lab, "--classroom", tmp_path, "--json", "-", here=True)
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
