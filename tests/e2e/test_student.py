"""A student's day: the start page, stubs, a mistake, the right answers, what was saved, resets."""

import re

import nbformat
import numpy as np
import pytest
from sample_class import wrong_answer

from autograder.authoring.lab import read_labs
from autograder.core.course import read_course
from autograder.core.notebook_cells import make_grade_id
from autograder.student import answer_key
from autograder.values.common_mistakes import NOT_WRITTEN_MESSAGE
from e2e.driving import BIN, ROOT, SERVER_OPTIONS, Notebook, environment, run, serving

COURSE = read_course(ROOT)
LABS = read_labs(COURSE)
OFFERED_LABS = [name for name, lab in LABS.items() if not lab.needs]

# For one exercise of a lab a mistake, and its name among the lab's misconceptions; else the
# catalogue's first.
MISTAKES = {
    "alignment": (
        "no-tanh",
        "def alignment(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):\n"
        "    copies = np.repeat(decoder_state, len(encoder_states), axis=0)\n"
        "    return np.concatenate([encoder_states, copies], axis=1) @ layer_1 @ layer_2",
    ),
    "softmax": (
        "over-everything",
        "def softmax(x, axis=0):\n    return np.exp(x) / np.sum(np.exp(x))",
    ),
    "causal_mask": (
        "strictly-lower",
        "def causal_mask(size):\n    return np.tril(np.ones((size, size), dtype=bool), k=-1)",
    ),
    "split_heads": (
        "only-reshaped",
        "def split_heads(x, heads):\n    return x.reshape(len(x), heads, x.shape[1], -1)",
    ),
}


# What takes minutes is as long as it is in `tests/labs/test_nbval.py`; here fewer steps show the
# same.
SHORTER = {
    "training": {"begin": ("Watch(3000,", "Watch(150,"), "train": ("watch)", "watch, steps=150)")},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("student")


@pytest.fixture(scope="module")
def env(home):
    return environment(home)


@pytest.fixture(scope="module")
def server(browser, home, env):
    """Start JupyterLab by `make lab`."""
    options = f"JUPYTER_OPTIONS={' '.join(SERVER_OPTIONS)}"
    command = [
        "make",
        "-s",
        "-o",
        ".venv/ready-lab",
        "lab",
        f"BIN={BIN}",
        f"WORK={home / 'work'}",
        options,
    ]
    with serving(command, home, env, ROOT) as server:
        yield server


@pytest.fixture
def work(server, home):
    return home / "work"


def exercises(lab):
    return list(LABS[lab].exercises)


def mistake_in(lab):
    """An exercise of a lab, the name of a mistake in it, and the cell that makes it."""
    for name in exercises(lab):
        if name in MISTAKES:
            return name, *MISTAKES[name]
    for exercise in LABS[lab].exercises.values():
        for misconception in exercise.misconceptions:
            if source := wrong_answer(exercise, misconception):
                return exercise.name, misconception.name, source
    raise LookupError(f"no mistake of {lab} is written out")


def path_of(work, lab):
    return work / lab / f"{lab}.ipynb"


def answers(lab):
    """The right answer of each exercise, its docstring and markers left out."""
    cells = LABS[lab].reference_cells
    return {make_grade_id(name): cells[make_grade_id(name)] for name in exercises(lab)}


def test_the_start_page_says_where_to_begin(page, server):
    page.goto(server.url(""))
    start = Notebook(page, "README.ipynb")
    assert start.panel.locator("a", has_text="Additive attention").count() == 1
    table = start.outputs()["overview"]
    first = next(line for line in table.splitlines() if line.startswith("next"))
    assert f"Additive attention\t{LABS['additive-attention'].minutes} min" in first
    assert "0 of 2" in first
    start.run_all()
    assert start.outputs()["overview"] == table
    start.panel.locator(".jp-OutputArea a", has_text="Additive attention").click()
    start.opened("additive-attention/additive-attention.ipynb")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("lab", OFFERED_LABS)
def test_a_day_in_the_lab(lab, page, server, work, env):
    notebook = Notebook.at(page, server, f"{lab}/{lab}.ipynb")
    tests = [f"test-{make_grade_id(name)}" for name in exercises(lab)]

    notebook.run_all()
    assert notebook.failed() == tests
    outputs = notebook.outputs()
    for name in exercises(lab):
        text = outputs[f"test-{make_grade_id(name)}"]
        assert text.startswith(NOT_WRITTEN_MESSAGE)
        assert text.rstrip().endswith(f"{name}: not written yet.")
    assert "Traceback" not in "\n".join(outputs.values())
    assert "0 of" in outputs["progress"]
    assert notebook.too_wide() == []

    name, mistake, source = mistake_in(lab)
    notebook.write(make_grade_id(name), source)
    notebook.run_cell(f"test-{make_grade_id(name)}")
    text = notebook.outputs()[f"test-{make_grade_id(name)}"]
    misconception = {m.name: m for m in answer_key.load_exercise_key(name).misconceptions}[mistake]
    assert misconception.means.replace("`", "") in text
    assert re.search(rf"{name}: \d+ of \d+ cases are right\.$", text.rstrip())
    if isinstance(answer_key.load_exercise_key(name).test_cases[0].expected, np.ndarray):
        tables = notebook.cell(notebook.index(f"test-{make_grade_id(name)}")).locator(
            "table caption"
        )
        assert tables.all_inner_texts() == ["yours", "expected", "difference"]

    if lab == "additive-attention":
        notebook.save()
        process = run("autograder", "check", path_of(work, lab), env=env)
        assert process.returncode == 1
        wrong, stub = process.stdout.splitlines()
        assert wrong.startswith(f"✗ {name}: ")
        assert misconception.means in wrong
        assert stub.startswith("✗ attention: not written yet")

    sources = {cell.id: cell.source for cell in LABS[lab].read_solution().cells}
    for cell, (long, short) in SHORTER.get(lab, {}).items():
        assert sources[cell].count(long) == 1
        notebook.write(cell, sources[cell].replace(long, short))
    for cell, source in answers(lab).items():
        notebook.write(cell, source)
        notebook.run_cell(f"test-{cell}")
    assert notebook.failed() == []
    notebook.restart_and_run_all()
    assert notebook.failed() == []
    outputs = notebook.outputs()
    for name in exercises(lab):
        assert f"{name}: correct in all" in outputs[f"test-{make_grade_id(name)}"]
        assert f"✓ {name}" in outputs["progress"]
    assert not [cell for cell, text in outputs.items() if "This cell runs once" in text]
    pictures = notebook.panel.locator(".jp-OutputArea img")
    assert pictures.count() > 2
    assert all(alt and len(alt) > 30 for alt in pictures.evaluate_all("all => all.map(i => i.alt)"))
    points = sum(exercise.points for exercise in LABS[lab].exercises.values())
    assert f"{points:g} of {points:g} points" in outputs["progress"]
    notebook.theme("JupyterLab Dark")
    page.set_viewport_size({"width": 900, "height": 900})
    notebook.close_file_browser()
    assert notebook.too_wide() == []

    if lab == "qkv-attention":
        the_slider_moves_the_picture(notebook)
    notebook.save()
    if lab == "additive-attention":
        process = run("autograder", "check", path_of(work, lab), env=env)
        assert (process.returncode, process.stderr) == (0, "")
        assert process.stdout.splitlines() == [f"✓ {name}: right" for name in exercises(lab)]


def the_slider_moves_the_picture(notebook):
    cell = notebook.cell(notebook.index("temperature-slider"))
    picture, handle = cell.locator("img"), cell.locator(".noUi-handle")
    assert "temperature 0.01," in picture.get_attribute("alt")
    first_source = picture.get_attribute("src")
    handle.focus()
    handle.press("ArrowRight")
    cell.locator("img[alt*='temperature 0.0112']").wait_for()
    assert picture.get_attribute("src") != first_source


@pytest.fixture
def started_work(tmp_path):
    """A student's folder after `autograder start`, its first lab solved and run; no browser needed."""
    env = environment(tmp_path / "home")
    folder = tmp_path / "work"
    began = run("autograder", "start", folder, env=env)
    assert (began.returncode, began.stdout) == (0, f"{len(COURSE.labs)} labs copied to {folder}.\n")
    path = folder / "additive-attention" / "additive-attention.ipynb"
    page = (folder / "README.ipynb").read_text("utf-8")
    assert COURSE.about.splitlines()[0] in page
    assert "[Symbols and terms](words.ipynb)" in page
    assert (folder / "words.ipynb").read_bytes() == (COURSE.notebooks / "words.ipynb").read_bytes()
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.id in answers("additive-attention"):
            cell.source = answers("additive-attention")[cell.id]
        if cell.id.startswith("test-"):
            cell.outputs = [nbformat.v4.new_output("stream", text="✓\n")]
        if cell.id in LABS["additive-attention"].manual_questions:
            cell.source = "The layer between."
    nbformat.write(notebook, path)
    return folder, path, env


def test_a_second_start_overwrites_nothing_and_brings_the_start_page_up_to_date(started_work):
    folder, _, env = started_work
    contents = {p: p.read_bytes() for p in folder.rglob("*.ipynb")}
    process = run("autograder", "start", folder, env=env)
    assert process.stdout == f"{folder} has all the labs already.\n"
    changed_paths = [p for p, content in contents.items() if p.read_bytes() != content]
    assert changed_paths == [folder / "README.ipynb"]
    page = changed_paths[0].read_text()
    assert "| done | [Additive attention](additive-attention/additive-attention.ipynb) " in page
    assert "| **next** | [Queries, keys and values]" in page
    assert re.search(r"\| \*\*next\*\* .* to explain in words \|", page)


def test_a_reset_brings_one_exercise_back_and_keeps_the_old_version(started_work):
    _, path, env = started_work
    solved_bytes = path.read_bytes()
    process = run("autograder", "reset", path, "alignment", env=env)
    assert process.returncode == 0, process.stderr
    (backup,) = path.parent.glob("*before-reset*.ipynb")
    assert backup.read_bytes() == solved_bytes
    assert str(backup) in process.stdout
    sources = {cell.id: cell.source for cell in nbformat.read(path, as_version=4).cells}
    assert "raise NotImplementedError" in sources["alignment"]
    assert sources["attention"] == answers("additive-attention")["attention"]


def test_a_reset_brings_the_whole_lab_back_and_keeps_the_old_version(started_work):
    _, path, env = started_work
    solved_bytes = path.read_bytes()
    assert run("autograder", "reset", path, env=env).returncode == 0
    assert [backup.read_bytes() for backup in path.parent.glob("*before-reset*.ipynb")] == [
        solved_bytes,
    ]
    assert path.read_bytes() == COURSE.released_notebook_path("additive-attention").read_bytes()
    wrong = run("autograder", "reset", path, "softmax", env=env)
    assert wrong.returncode == 2
    assert "its exercises are alignment and attention" in wrong.stderr
