"""A missing name is explained by the cell of the saved notebook that defines it."""

import re
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from our_course import COURSE

from autograder.student import check as check_module
from autograder.student.check import CheckFailed, check
from autograder.student.missing_names import (
    MAX_QUOTED_CHARACTERS,
    explain_missing_name,
    find_saved_notebook,
    list_defined_names,
)


@pytest.fixture
def lab_folder(tmp_path, monkeypatch):
    """A student's folder of one lab, with a notebook of three code cells."""
    cells = [
        new_markdown_cell("# A lab"),
        new_code_cell("%matplotlib inline\nimport numpy as np"),
        new_markdown_cell("Text.\n\n## 2. The data"),
        new_code_cell(
            "# a comment\nrng = np.random.default_rng(0)\nif rng:\n    states = rng.normal(size=3)"
        ),
        new_code_cell("def f(x):\n    inside = 1\n    return x"),
        new_code_cell("broken ="),
    ]
    folder = tmp_path / "a-lab"
    folder.mkdir()
    nbformat.write(new_notebook(cells=cells), folder / "a-lab.ipynb")
    monkeypatch.chdir(folder)
    return folder


def test_the_cell_that_defines_a_name_is_quoted_with_its_section(lab_folder):
    assert explain_missing_name("states") == (
        "states is not defined yet. The cell that defines it begins with `rng = np.random.default_rng(0)`, in the "
        "section “2. The data”. Run that cell first. If you have restarted the kernel, select the cell that you ran, "
        "choose Run > Run All Above Selected Cell, and then run the cell again."
    )
    assert "begins with `%matplotlib inline`, in the section “A lab”" in explain_missing_name("np")


@pytest.mark.parametrize("name", ["inside", "broken", "stats"])
def test_a_name_that_no_cell_defines_is_not_explained(lab_folder, name):
    assert explain_missing_name(name) == ""


def test_a_long_first_line_is_cut(lab_folder):
    path = lab_folder / "a-lab.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(new_code_cell("long_name = [" + "1, " * 100 + "]"))
    nbformat.write(notebook, path)
    (quoted,) = re.findall(r"begins with `(.*?)`", explain_missing_name("long_name"))
    assert quoted.startswith("long_name = [1, 1") and len(quoted) == MAX_QUOTED_CHARACTERS


def test_a_notebook_of_another_name_is_the_lab_s_if_it_is_the_only_one(lab_folder):
    (lab_folder / "a-lab.ipynb").rename(lab_folder / "mine.ipynb")
    assert find_saved_notebook() == lab_folder / "mine.ipynb"
    (lab_folder / "other.ipynb").write_text("{}")
    assert find_saved_notebook() is None and explain_missing_name("states") == ""
    (lab_folder / "a-lab.ipynb").write_text("{}")
    assert find_saved_notebook() == lab_folder / "a-lab.ipynb"


def test_of_several_headings_in_a_cell_the_last_is_the_section(lab_folder):
    cells = [
        new_markdown_cell("# One\n\n## Two\n\nText"),
        new_markdown_cell("No heading here."),
        new_code_cell("!pip list\nfirst_name = 1"),
    ]
    assert "in the section “Two”" in explain_missing_name("first_name", cells)
    assert "begins with `!pip list`" in explain_missing_name("first_name", cells)


def test_a_cell_before_the_first_heading_has_no_section():
    assert "section" not in explain_missing_name("x", [new_code_cell("x = 1")])


def test_without_a_saved_notebook_nothing_is_explained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert explain_missing_name("np") == ""


def test_imports_loops_and_functions_define_names():
    source = (
        "import a.b, c as d\nfrom e import f\nfor g in h: i = j\ndef k(l): m = 1\nclass N: o = 1"
    )
    assert list_defined_names(source) == {"a", "d", "f", "g", "i", "k", "N"}


def test_a_name_error_in_a_cell_shows_the_cell_to_run(lab_folder, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.set_custom_exc((NameError,), check_module._show_name_error)
    shell.run_cell("states + 1", store_history=False)
    output = capsys.readouterr().out
    assert "states is not defined yet." in output and "Traceback" not in output
    shell.run_cell("stats + 1", store_history=False)
    assert "Traceback" in capsys.readouterr().out
    InteractiveShell.clear_instance()


def test_a_function_given_in_the_notebook_is_no_exercise_of_another_lab(
    tmp_path, monkeypatch, capsys
):
    """additive-attention gives softmax in a cell; it is also an exercise of qkv-attention."""
    notebook = nbformat.read(COURSE.released_notebook_path("additive-attention"), as_version=4)
    nbformat.write(notebook, tmp_path / "additive-attention.ipynb")
    monkeypatch.setenv("AUTOGRADER_COURSE", str(COURSE.root))
    monkeypatch.chdir(tmp_path)

    def attention(encoder_states, decoder_state, layer_1=None, layer_2=None):
        return softmax(encoder_states)  # noqa: F821

    with pytest.raises(CheckFailed):
        check(attention)
    output = capsys.readouterr().out
    assert "softmax is not defined yet. The cell that defines it begins with `def softmax" in output
    assert "Run > Run All Above Selected Cell" in output and "qkv-attention" not in output


def test_the_functions_for_notebooks_are_offered_before_their_first_use():
    """JupyterLab completes `autograder.` from this list."""
    code = "import autograder; print(*dir(autograder))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert {"check", "progress", "ready", "use_my_functions"} <= set(process.stdout.split())
