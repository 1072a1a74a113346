"""A student's own functions in later labs: kept when they pass, used in the next notebook, never in marking."""

import json

import nbformat
import numpy as np
import pytest
from command import autograder
from our_course import COURSE, ROOT

from autograder import own, student
from autograder.authoring.build import environment
from autograder.authoring.lab import read_lab
from autograder.workspace import START_PAGE

RIGHT = """
from math import fsum

SHIFT = 0.0

def highest(x, axis):
    return np.max(x, axis=axis, keepdims=True)

def stable_softmax(x, axis=0):
    e = np.exp(x - highest(x, axis) + SHIFT)
    return e / e.sum(axis=axis, keepdims=True)
"""


def run(cells, folder, **more):
    """What each cell prints (or the error's text), run in a kernel in `folder`."""
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    kernel = {k: v for k, v in environment(ROOT).items() if k != own.SWITCH}
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**kernel, **more})
    told = []
    for cell in notebook.cells:
        parts = [
            o.get("text") or o.get("evalue") or o.get("data", {}).get("text/plain", "") for o in cell.outputs
        ]
        told.append("".join(parts))
    return told


SETUP = """
import numpy as np
from autograder import check, mine, whose

def stable_softmax(x, axis=0):
    "the course's"
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)

def split_heads(x, heads):
    batch, length, d = x.shape
    return x.reshape(batch, length, heads, d // heads).transpose(0, 2, 1, 3)

mine()
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
    return run([FIRST, source, "check(stable_softmax)"], work / lab)[-1]


def test_what_passed_in_one_lab_is_used_in_the_next(work):
    assert "right in all" in pass_it(work)
    kept = (work / own.FOLDER / "stable_softmax.py").read_text()
    assert "def highest" in kept
    assert "import numpy as np" in kept
    assert "SHIFT = 0.0" in kept
    said, used, counted = run([SETUP, USE, "whose()"], work / "tiny-transformer")
    assert "Of the 2 functions here that this course lets you write, 1 are yours: stable_softmax." in said
    assert "The course's: split_heads." in said
    assert used.startswith("_Own [0.25")
    assert "1 are yours" in counted


def test_helpers_of_one_name_in_two_labs_do_not_meet(work):
    """`stable_softmax` came with a `softmax` of two arguments; the later lab's has one."""
    pass_it(work, RIGHT.replace("highest", "softmax"))
    choose = "def choose(logits, temperature, uniform):\n    if temperature == 0:\n        return int(np.argmax(logits))\n"
    choose += "    ends = np.cumsum(softmax(logits / temperature))\n"
    choose += "    return int(min((ends <= uniform).sum(), len(ends) - 1))"
    later = ["def softmax(scores):\n    return stable_softmax(scores, axis=-1)", choose, "check(choose)"]
    assert "right in all" in run([SETUP, *later], work / "tiny-transformer")[-1]
    assert (work / own.FOLDER / "choose.py").is_file()


@pytest.mark.long
def test_it_can_be_switched_off(work):
    pass_it(work)
    assert run([SETUP, "mine(on=False)", USE], work / "tiny-transformer")[2].startswith("function [0.25")
    assert run([SETUP, USE], work / "tiny-transformer", **{own.SWITCH: "off"})[1].startswith("function")


def test_what_fails_its_check_is_not_kept_and_keeps_what_passed(work):
    pass_it(work)
    before = (work / own.FOLDER / "stable_softmax.py").read_bytes()
    assert "✗" in pass_it(work, RIGHT.replace("np.exp(x - highest(x, axis) + SHIFT)", "np.exp(x)"))
    assert (work / own.FOLDER / "stable_softmax.py").read_bytes() == before


def test_a_copy_of_a_lab_counts_and_the_last_one_that_passed_is_used(work):
    pass_it(work)
    pass_it(work, RIGHT.replace("SHIFT = 0.0", "SHIFT = 1.0"), "qkv-attention copy")
    assert "SHIFT = 1.0" in (work / own.FOLDER / "stable_softmax.py").read_text()


def test_outside_a_students_folder_nothing_is_kept(work):
    (work / START_PAGE).unlink()
    assert "right in all" in pass_it(work)
    assert not (work / own.FOLDER).exists()


def test_a_file_that_was_changed_is_not_run(work):
    pass_it(work)
    path = work / own.FOLDER / "stable_softmax.py"
    path.write_text(path.read_text() + "print('run')\n")
    said, used = run([SETUP, USE], work / "tiny-transformer")
    assert "was changed since it passed" in said
    assert "run" not in said.splitlines()
    assert used.startswith("function")


def own_of(function, course):
    return own._Own("f", function, course, "")


def test_a_function_that_raises_differs_or_is_slow_is_replaced_with_a_sentence(capsys):
    def broken(x):
        raise ValueError

    def other(x):
        return x + 1

    def slow(x):
        return [sum(range(200_000)) for _ in range(40)] and x

    for function, why in (
        (broken, "raised ValueError here"),
        (other, "gives something else here"),
        (slow, "took "),
    ):
        wrapped = own_of(function, lambda x: x)
        assert np.array_equal(wrapped(np.ones(3)), np.ones(3))
        assert not wrapped.used
        assert why in capsys.readouterr().out


def test_a_function_that_is_wrong_for_larger_inputs_only_is_noticed(capsys):
    wrapped = own_of(lambda x: x[:100], lambda x: x)
    assert len(wrapped(np.ones(3))) == 3
    assert wrapped.used
    assert len(wrapped(np.ones(300))) == 300
    assert "gives something else here" in capsys.readouterr().out


def test_no_kernel_no_functions(monkeypatch, work, capsys):
    """The reference, the grader's sandbox and scripts are no notebook's kernel."""
    monkeypatch.setattr(student, "_passed", {})
    stable_softmax = read_lab(COURSE, "qkv-attention").reference.stable_softmax
    student.check(stable_softmax)
    capsys.readouterr()
    monkeypatch.chdir(work / "tiny-transformer")
    namespace = {"__name__": "reference"}
    exec(compile(SETUP, "cell", "exec"), namespace)
    assert namespace["stable_softmax"].__doc__ == "the course's"
    assert capsys.readouterr().out == ""
    assert not (work / own.FOLDER).exists()


@pytest.mark.long
def test_a_mark_is_the_same_with_and_without(tmp_path):
    """Hand-ins whose folders bring functions of their own are marked as those that bring none."""
    lab = "tiny-transformer"
    notebook = json.loads(COURSE.released(lab).read_text())
    answers = read_lab(COURSE, lab).reference_cells
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in {
            "layer-norm",
            "feed-forward",
            "transformer-block",
        }:  # the last calls what the set-up cell defines
            cell["source"] = answers[name]
    source = "def multi_head_attention(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):\n    return 0\n"
    for student_name in ("with", "without"):
        folder = tmp_path / "submitted" / student_name / lab
        folder.mkdir(parents=True)
        (folder / f"{lab}.ipynb").write_text(json.dumps(notebook))
        for place in (folder,) if student_name == "with" else ():
            (place / own.FOLDER).mkdir()
            (place / START_PAGE).write_text("{}")
            text = f"{own._MARK}{own._digest(source)}: x\n{source}"
            (place / own.FOLDER / "multi_head_attention.py").write_text(text)
    ran = autograder("grade", lab, "--classroom", tmp_path, "--json", "-", here=True)
    assert ran.returncode == 0, ran.stderr
    marks = {"with": {}, "without": {}}
    for line in map(json.loads, ran.stdout.splitlines()):
        marks[line["student"]][line["exercise"]] = line["verdict"], line["score"], line["message"]
    assert marks["with"] == marks["without"]
    assert marks["with"]["transformer_block"][0] == "pass"
