"""A student's own functions on their way through four labs: used, slow, broken, rewritten in a copy, and the mark."""

import json
import shutil

import pytest

from autograder.core.notebook_cells import make_grade_id
from autograder.student.reuse import REUSE_VARIABLE
from e2e.driving import ROOT, Notebook, environment, jupyterlab, run

OWN = """def stable_softmax(x, axis=0):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))  # {mark}
    return e / np.sum(e, axis=axis, keepdims=True)"""
SPLIT = """def split_heads(x, heads):
    parts = x.reshape(*x.shape[:2], heads, -1)
    return np.swapaxes(parts, 1, 2)"""
SLOW = """def merge_heads(x):
    batch, heads, length, size = x.shape
    merged = np.zeros((batch, length, heads * size), dtype=x.dtype)
    for b, h, i, j in np.ndindex(x.shape):
        merged[b, i, h * size + j] = x[b, h, i, j]
    return merged"""
BROKEN_ANSWER = """def cross_entropy(logits, targets):
    if len(targets) > 500:
        raise ValueError("so many I cannot")
    lowered = logits - logits.max(axis=1, keepdims=True)
    rows = np.arange(len(targets))
    return float(np.mean(np.log(np.exp(lowered).sum(axis=1)) - lowered[rows, targets]))"""
RIGHT = """def embedding_backward(upstream, tokens, vocabulary):
    table = np.zeros((vocabulary, upstream.shape[-1]))
    np.add.at(table, tokens, upstream)
    return table"""
WRONG = """def learning_rate(step, steps, warmup, peak, final=0.0):
    return peak"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("mine")


@pytest.fixture(scope="module")
def env(home):
    return environment(home)


@pytest.fixture(scope="module")
def work(home, env):
    process = run("autograder", "start", home / "work", env=env)
    assert process.returncode == 0, process.stderr
    return home / "work"


@pytest.fixture(scope="module")
def server(browser, work, home, env):
    with jupyterlab(work, home, env) as server:
        yield server


def passed(page, server, path, **sources):
    """In the notebook at `path` write these functions and check them; all pass."""
    notebook = Notebook.at(page, server, path)
    notebook.run_cell("setup")
    for name, source in sources.items():
        notebook.write(make_grade_id(name), source)
        notebook.run_cell(f"test-{make_grade_id(name)}")
        assert f"{name}: correct in all" in notebook.outputs()[f"test-{make_grade_id(name)}"]
    return notebook


@pytest.mark.timeout(1200)
def test_own_functions_travel_through_four_labs(page, server, work, env):
    passed(
        page,
        server,
        "qkv-attention/qkv-attention.ipynb",
        stable_softmax=OWN.format(mark="first"),
    )
    passed(
        page,
        server,
        "multi-head-attention/multi-head-attention.ipynb",
        split_heads=SPLIT,
        merge_heads=SLOW,
    )
    passed(page, server, "learning-to-align/learning-to-align.ipynb", cross_entropy=BROKEN_ANSWER)

    training = Notebook.at(page, server, "training/training.ipynb")
    training.run_cell("setup")
    setup_output = training.outputs()["setup"]
    assert "4 are yours: stable_softmax, split_heads, merge_heads and cross_entropy" in setup_output
    for cell in ("stories", "way-back", "random-start", "init-look"):
        training.run_cell(cell)
    assert training.failed() == []
    setup_output = training.outputs()["init-look"]
    assert "Your merge_heads took" in setup_output
    assert (
        "Your cross_entropy raised ValueError here: from now on this notebook uses the course's."
        in setup_output
    )
    assert "the loss at the start is 5." in setup_output  # the course's went on where they stopped
    training.run_cell("whose")
    assert "2 are yours: stable_softmax and split_heads" in training.outputs()["whose"]

    copy = work / "qkv-attention" / "qkv-attention-Copy1.ipynb"
    shutil.copy(work / "qkv-attention" / "qkv-attention.ipynb", copy)
    passed(page, server, f"qkv-attention/{copy.name}", stable_softmax=OWN.format(mark="second"))
    training = Notebook.at(page, server, "training/training.ipynb")
    training.menu("Kernel", "Restart Kernel…")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    training.opened("training/training.ipynb")
    training.run_cell("setup")
    training.write("whose", "print(stable_softmax.source)")
    assert "# second" in training.outputs()["whose"]
    training.write("whose", "use_my_functions(on=False)\nlist_my_functions()")
    assert "0 are yours" in training.outputs()["whose"]

    training.write("embedding-backward", RIGHT)
    training.write("learning-rate", WRONG)
    training.save()
    handed_in = work.parent / "classroom" / "submitted" / "ada" / "training" / "training.ipynb"
    handed_in.parent.mkdir(parents=True)
    shutil.copy(work / "training" / "training.ipynb", handed_in)
    marks = []
    for switch in ({}, {REUSE_VARIABLE: "off"}):
        process = run(
            *(
                "autograder",
                "grade",
                "training",
                "--classroom",
                work.parent / "classroom",
                "--course",
                ROOT,
            ),
            *("--force", "--json", "-", "--workers", "1"),
            cwd=work,
            env=env | switch,
        )
        assert process.returncode == 0, process.stderr
        marks.append([{**json.loads(line), "seconds": 0} for line in process.stdout.splitlines()])
    assert marks[0] == marks[1]
    verdicts = {result["exercise"]: result["verdict"] for result in marks[0]}
    assert verdicts["embedding_backward"] == "pass"
    assert verdicts["learning_rate"] == "wrong"
