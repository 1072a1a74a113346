"""The students' zip: no solution in it, no instructor's code, and it works by itself."""

import os
import subprocess
import sys
import tomllib
import zipfile

import nbformat
import pytest

from autograder.grading.sample_class import perfect
from autograder.labs import LABS, exercises
from autograder.labs import bundle as bundling
from autograder.labs.reference import SOLUTIONS, reference_cells

LAB = "additive-attention"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(bundling.write(folder / "labs.zip")) as archive:
        archive.extractall(folder)
    return folder / bundling.FOLDER


def secrets():
    """Lines that only an instructor may see: answers, model answers, marking schemes."""
    for lab in LABS:
        for cell in nbformat.read(SOLUTIONS / lab / f"{lab}.ipynb", as_version=4).cells:
            for mark in ("### {} SOLUTION", "=== {} MARK SCHEME"):
                if mark.format("BEGIN") in cell.source:
                    hidden = cell.source.split(mark.format("BEGIN"))[1].split(mark.format("END"))[0]
                    hidden = hidden.splitlines()[1:]
                    yield from (line.strip() for line in hidden if len(line.strip()) > 24)
            if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
                yield from (line for line in cell.source.splitlines() if len(line) > 40)


def leaks(files):
    lines = set(secrets())
    return [
        (name, line)
        for name, data in files.items()
        if not name.endswith(".npz")
        for line in lines
        if line in data.decode("utf-8")
    ]


# An editable install finds the repository's `autograder.labs` even where `autograder` is another's.
_ALONE = """\
import sys
sys.meta_path[:] = [f for f in sys.meta_path if not getattr(f, "__module__", "").startswith("__editable__")]
"""


def python(folder, *arguments):
    """Python in the unpacked zip, with nothing of this repository in reach."""
    alone = folder.parent / "alone"
    alone.mkdir(exist_ok=True)
    (alone / "sitecustomize.py").write_text(_ALONE)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV", "PYTEST"))}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**environment, "PYTHONPATH": f"{folder}{os.pathsep}{alone}"},
        text=True,
        capture_output=True,
    )


def run(folder, *arguments):
    """A command of the unpacked zip."""
    return python(folder, "-m", "autograder.cli", *arguments)


def test_no_answer_is_in_it():
    assert len(set(secrets())) > 40
    assert leaks(bundling.contents()) == []


def test_an_answer_in_it_is_noticed():
    line = reference_cells(LAB)[-1][1].split("### BEGIN SOLUTION\n")[1].splitlines()[-2].strip()
    assert leaks({"a.ipynb": f"prose\n{line}\n".encode()})


def test_it_holds_the_core_and_nothing_of_the_instructors(unpacked):
    files = {str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if p.is_file()}
    assert not [f for f in files if f.startswith(("solutions", "tests", "classroom", "data/fasttext"))]
    assert not [f for f in files if f.startswith(("autograder/labs", "autograder/grading"))]
    for lab in LABS:
        assert {f"notebooks/{lab}/{lab}.ipynb", f"autograder/keys/{lab}.json"} <= files
        assert {f"autograder/keys/{lab}/{name}.npz" for name in exercises(lab)} <= files
    assert {"README.md", "Makefile", "environment.yml", "constraints.txt", "pyproject.toml"} <= files
    assert {"Dockerfile", "LICENSE", "data/embeddings_en.npz", "data/embeddings_fr.npz"} <= files


def test_its_project_installs_the_core_with_what_the_labs_need(unpacked):
    own = tomllib.loads((bundling.ROOT / "pyproject.toml").read_text("utf-8"))
    project = tomllib.loads((unpacked / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["setuptools"]["packages"] == ["autograder"]
    wanted = own["project"]["dependencies"] + own["project"]["optional-dependencies"]["lab"]
    assert project["project"]["dependencies"] == wanted
    for field in ("name", "version", "requires-python", "scripts", "license"):
        assert project["project"][field] == own["project"][field]
    assert project["project"]["requires-python"] in (unpacked / "environment.yml").read_text("utf-8")


def test_it_is_the_same_to_the_byte_each_time(tmp_path):
    one, two = (bundling.write(tmp_path / name).read_bytes() for name in ("one.zip", "two.zip"))
    assert one == two


def test_start_and_check_work_with_nothing_but_the_bundle(unpacked):
    where = python(unpacked, "-c", "import autograder; print(autograder.__file__)")
    assert where.stdout.startswith(str(unpacked))
    assert f"{len(LABS)} labs copied to work." in run(unpacked, "start").stdout
    notebook = unpacked / "work" / LAB / f"{LAB}.ipynb"
    stub = run(unpacked, "check", notebook)
    assert stub.returncode == 1
    assert "✗ alignment: This exercise is not written yet." in stub.stdout
    nbformat.write(perfect(LAB), notebook)
    right = run(unpacked, "check", notebook)
    assert (right.returncode, right.stderr) == (0, "")
    assert right.stdout.splitlines() == ["✓ alignment: right", "✓ attention: right"]


@pytest.mark.parametrize("command", ["build", "collect", "grade", "feedback", "report"])
def test_instructors_commands_say_in_one_sentence_that_they_are_for_instructors(unpacked, command):
    ran = run(unpacked, command, *(["."] if command == "collect" else []))
    assert ran.returncode == 2, ran.stderr
    assert "is for instructors" in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr
