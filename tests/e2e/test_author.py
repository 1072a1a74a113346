"""An author's day: an exercise is changed in JupyterLab and built; what should move moves, no more."""

import re
import shutil
import subprocess

import nbformat
import pytest

from e2e.driving import ROOT, Notebook, environment, jupyterlab, run

LAB = "additive-attention"
SOLUTION = f"solutions/{LAB}/{LAB}.ipynb"
STUDENT_LABS = f"notebooks/{LAB}/{LAB}.ipynb"
EXERCISE = f"solutions/{LAB}/alignment.py"
KEYS = [f"notebooks/{LAB}/answers/{name}" for name in ("alignment.key", "lab.json")]
NOT_COPIED = shutil.ignore_patterns(
    ".*",
    "work",
    "classroom",
    "dist",
    "build",
    "__pycache__",
    "tests",
)
NEW = "Mind the order of the two halves."


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A copy of the course that uses its own package, in git, with nbdime set up as the README says."""
    home = tmp_path_factory.mktemp("author")
    copy = home / "course"
    shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
    for name in (".gitattributes", ".gitignore"):
        shutil.copy(ROOT / name, copy)
    env = environment(home, copy)
    git(copy, env, "init", "-q")
    git(copy, env, "config", "user.name", "author")
    git(copy, env, "config", "user.email", "author@localhost")
    git(copy, env, "add", ".")
    git(copy, env, "commit", "-q", "-m", "before")
    nbdime_process = run("nbdime", "config-git", "--enable", cwd=copy, env=env)
    assert nbdime_process.returncode == 0, nbdime_process.stderr
    assert git(copy, env, "status", "--short") == "", (
        ".gitattributes says already what nbdime wants"
    )
    return copy, env


def git(folder, env, *command):
    ran = subprocess.run(["git", *command], cwd=folder, env=env, text=True, capture_output=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def moved(folder, env):
    return sorted(line[3:] for line in git(folder, env, "status", "--short").splitlines())


def build(folder, env, *options):
    return run("autograder", "build", LAB, *options, cwd=folder, env=env)


@pytest.fixture(scope="module")
def edited(browser, repository):
    """After a new sentence in an exercise's text was typed, a cell run, and the notebook saved."""
    copy, env = repository
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(60_000)
    with jupyterlab(copy, copy.parent, env) as server:
        notebook = Notebook.at(page, server, SOLUTION)
        cell = notebook.cell(notebook.index("exercise-alignment"))
        cell.scroll_into_view_if_needed()
        cell.locator(".jp-RenderedMarkdown").dblclick()
        cell.locator(".cm-content").click()
        page.keyboard.press("ControlOrMeta+End")
        page.keyboard.insert_text(f"\n\n{NEW}")
        page.keyboard.press("Shift+Enter")
        cell.locator(".jp-RenderedMarkdown p", has_text=NEW).wait_for()
        notebook.run_cell("setup")
        notebook.save()
    page.close()
    return repository


def test_a_changed_exercise_moves_its_own_files_only(edited):
    copy, env = edited
    assert moved(copy, env) == [SOLUTION]
    raw = nbformat.read(copy / SOLUTION, as_version=4)
    assert any(cell.get("execution_count") for cell in raw.cells), (
        "the save brought an execution count"
    )

    build_output = build(copy, env)
    assert build_output.returncode == 0, build_output.stderr
    assert moved(copy, env) == sorted([SOLUTION, STUDENT_LABS])
    for path in (SOLUTION, STUDENT_LABS):
        diff_lines = git(copy, env, "diff", "--no-ext-diff", "-U0", path).splitlines()
        content = [line for line in diff_lines if re.match(r"[-+](?![-+])", line)]
        assert [line for line in content if NEW in line]
        assert len(content) <= 5, f"the sentence and its checksum at most: {content}"
    quiet = build(copy, env, "--check")
    assert (quiet.returncode, quiet.stdout) == (0, "Everything is as the solutions say.\n")

    readable = re.sub(r"\x1b\[[0-9;]*m", "", git(copy, env, "diff", SOLUTION))
    assert readable.startswith("nbdiff ")
    assert f"+{NEW}" in readable
    assert not re.search("execution_count|checksum|png", readable)


def test_other_points_move_the_key_as_well(repository):
    copy, env = repository
    git(copy, env, "stash", "-q")  # whatever another test did
    exercise = copy / EXERCISE
    text = exercise.read_text()
    assert text.count("points=4") == 1
    exercise.write_text(text.replace("points=4", "points=5"))
    assert build(copy, env).returncode == 0
    assert moved(copy, env) == sorted([EXERCISE, *KEYS, SOLUTION, STUDENT_LABS])
    assert '"alignment": 5' in (copy / KEYS[1]).read_text()


NOTEBOOKS = sorted(p for f in ("solutions", "notebooks") for p in ROOT.glob(f"{f}/*/*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_no_notebook_in_git_carries_what_changes_by_itself(path):
    assert volatile(nbformat.read(path, as_version=4)) == []


def volatile(notebook):
    """Return the traces of a run or a save in a notebook, which nobody wrote."""
    traces = [name for name in notebook.metadata if name not in {"kernelspec", "language_info"}]
    traces += [name for name in notebook.metadata.language_info if name != "name"]
    for cell in notebook.cells:
        if cell.get("execution_count") or any(
            o.get("execution_count") for o in cell.get("outputs", ())
        ):
            traces.append(f"{cell.id}: execution_count")
        known_keys = {"nbgrader", "tags", "slideshow", "deletable", "editable"}
        traces += [f"{cell.id}: {name}" for name in cell.metadata if name not in known_keys]
    return traces


def test_what_changes_by_itself_is_noticed():
    cell = nbformat.v4.new_code_cell("1", id="one", execution_count=3, metadata={"collapsed": True})
    metadata = {"language_info": {"name": "python", "version": "3.12.9"}, "widgets": {}}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata=metadata)
    assert volatile(notebook) == ["widgets", "version", "one: execution_count", "one: collapsed"]
