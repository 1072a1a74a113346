"""nbval over the solutions: every saved output is what the cell prints today."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.build import make_kernel_environment
from autograder.authoring.lab import read_labs
from autograder.core.course import read_course

ROOT = Path(__file__).parents[2]
LABS = read_labs(read_course(ROOT))
FOLDER = [name for name, lab in LABS.items() if not lab.needs]


def nbval(notebook, folder):
    """Run nbval on a copy whose cells carry the execution counts that git does without."""
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            cell.execution_count = number + 1
    path = folder / "notebook.ipynb"
    nbformat.write(notebook, path)
    options = [
        "--nbval",
        "--nbval-sanitize-with",
        "tests/nbval.cfg",
        "-p",
        "no:cacheprovider",
        "-q",
    ]
    command = [sys.executable, "-m", "pytest", *options, "-W", "ignore", str(path)]
    return subprocess.run(
        command,
        cwd=ROOT,
        text=True,
        capture_output=True,
        env=make_kernel_environment(ROOT),
    )


@pytest.mark.long
@pytest.mark.parametrize("lab", FOLDER)
def test_saved_outputs_hold(lab, tmp_path):
    ran = nbval(LABS[lab].read_solution(), tmp_path)
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert " passed" in ran.stdout


@pytest.mark.long
def test_a_stale_output_is_noticed(tmp_path):
    cell = nbformat.v4.new_code_cell(
        "print(1 + 1)",
        outputs=[nbformat.v4.new_output("stream", text="3\n")],
    )
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    ran = nbval(nbformat.v4.new_notebook(cells=[cell], metadata=kernel), tmp_path)
    assert ran.returncode == 1
    assert "1 failed" in ran.stdout
