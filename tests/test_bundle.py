"""The students' zip: no solution in it, no instructor's code, and it works by itself."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import nbformat
import pytest
from sample_class import perfect
from test_build import shown

from autograder import __version__
from autograder.authoring import bundle as bundling
from autograder.authoring.lab import read_labs
from autograder.authoring.projects import run_python
from autograder.course import read
from autograder.errors import Complaint

ROOT = Path(__file__).parents[1]
COURSE = read(ROOT)
LABS = read_labs(COURSE)
LAB = "additive-attention"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(bundling.write(COURSE, folder / "labs.zip")) as archive:
        archive.extractall(folder)
    return folder / COURSE.id


def secrets():
    """Lines that only an instructor may see: answers, model answers, marking schemes."""
    for lab in LABS.values():
        for cell in lab.read_solution().cells:
            for mark in ("### {} SOLUTION", "=== {} MARK SCHEME"):
                if mark.format("BEGIN") in cell.source:
                    hidden = cell.source.split(mark.format("BEGIN"))[1].split(mark.format("END"))[0]
                    hidden = hidden.splitlines()[1:]
                    yield from (line.strip() for line in hidden if len(line.strip()) > 24)
            if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
                yield from (line for line in cell.source.splitlines() if len(line) > 40)


def leaks(files):
    """Secret lines in files; one that a lab's author gives elsewhere in the same lab is no secret there."""
    lines = set(secrets())
    given = {f"notebooks/{name}/{name}.ipynb": shown(lab.read_solution()) for name, lab in LABS.items()}
    return [
        (name, line)
        for name, data in files.items()
        if not name.endswith((".npz", ".key"))
        for line in lines
        if data.decode("utf-8").count(line) > given.get(name, "").count(line)
    ]


# An editable install finds the repository's `autograder.grading` even where `autograder` is another's.
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
    assert leaks(bundling.contents(COURSE)) == []


def test_an_answer_in_it_is_noticed():
    line = (
        list(LABS[LAB].reference_cells.values())[-1].split("### BEGIN SOLUTION\n")[1].splitlines()[-2].strip()
    )
    notebook = COURSE.released(LAB).read_text("utf-8")
    assert leaks({"a.ipynb": f"prose\n{line}\n".encode()})
    assert leaks({f"notebooks/{LAB}/{LAB}.ipynb": f"{notebook}\n{line}\n".encode()})


def test_it_holds_the_core_and_nothing_of_the_instructors(unpacked):
    files = {str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if p.is_file()}
    assert not [f for f in files if f.startswith(("solutions", "tests", "classroom", "data/fasttext"))]
    assert not [f for f in files if f.startswith(("autograder/authoring", "autograder/grading"))]
    for name, lab in LABS.items():
        assert {f"notebooks/{name}/{name}.ipynb", f"notebooks/{name}/answers/lab.json"} <= files
        assert {f"notebooks/{name}/answers/{exercise}.key" for exercise in lab.exercises} <= files
    assert {"course.toml", "attention_labs/__init__.py", "autograder/judging/judge.py"} <= files
    assert {
        "README.md",
        "Makefile",
        "environment.yml",
        "constraints.txt",
        "install.py",
        "pyproject.toml",
    } <= files
    assert {"Dockerfile", "LICENSE", "data/embeddings_en.npz", "data/embeddings_fr.npz"} <= files


def test_its_project_installs_the_core_with_what_the_labs_need(unpacked):
    own = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = tomllib.loads((unpacked / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert packages == ["autograder*", "attention_labs*"]
    extras = own["project"]["optional-dependencies"]
    assert project["project"]["dependencies"] == own["project"]["dependencies"]
    assert project["project"]["optional-dependencies"] == {
        name: extras[name] for name in ("lab", "keras", "jax", "torch")
    }
    assert own["project"]["version"] == __version__
    for field in ("name", "version", "requires-python", "scripts", "license"):
        assert project["project"][field] == own["project"][field]
    assert project["project"]["requires-python"] in (unpacked / "environment.yml").read_text("utf-8")


def test_it_is_the_same_to_the_byte_each_time(tmp_path):
    one, two = (bundling.write(COURSE, tmp_path / name).read_bytes() for name in ("one.zip", "two.zip"))
    assert one == two


def test_a_file_that_is_not_there_is_named(tmp_path):
    (tmp_path / "course.toml").write_text('title = "A"\nid = "a"\nlabs = ["one"]\n', "utf-8")
    with pytest.raises(Complaint, match=r"one\.ipynb; run `autograder build` first"):
        bundling.write(read(tmp_path))


def test_what_students_may_import_comes_along_as_it_is_installed_here(tmp_path):
    for name, said in (("nh3", ""), ("not_there_at_all", "not_there_at_all, which is not installed here")):
        text = f'title = "A"\nid = "a"\nlabs = []\nimports = ["{name}"]\n'
        (tmp_path / "course.toml").write_text(text, "utf-8")
        if said:
            with pytest.raises(Complaint, match=said):
                bundling.contents(read(tmp_path))
            continue
        files = bundling.contents(read(tmp_path))
        project = tomllib.loads(files["pyproject.toml"].decode())["project"]
        assert "nh3" in project["dependencies"]
        assert list(project["optional-dependencies"]) == ["lab"]
        assert files["constraints.txt"].decode().count(f"\nnh3=={version('nh3')}\n") == 1
        assert files["README.md"].decode().startswith("# A\n")


@pytest.mark.long
def test_start_and_check_work_with_nothing_but_the_bundle(unpacked):
    where = python(unpacked, "-c", "import autograder; print(autograder.__file__)")
    assert where.stdout.startswith(str(unpacked))
    assert f"{len(LABS)} labs copied to work." in run(unpacked, "start").stdout
    notebook = unpacked / "work" / LAB / f"{LAB}.ipynb"
    stub = run(unpacked, "check", notebook)
    assert stub.returncode == 1
    assert "✗ alignment: not written yet" in stub.stdout
    nbformat.write(perfect(LABS[LAB]), notebook)
    right = run(unpacked, "check", notebook)
    assert (right.returncode, right.stderr) == (0, "")
    assert right.stdout.splitlines() == ["✓ alignment: right", "✓ attention: right"]


@pytest.mark.parametrize("command", ["build", "collect", "grade", "feedback", "report"])
def test_instructors_commands_say_in_one_sentence_that_they_are_for_instructors(unpacked, command):
    ran = run(unpacked, command, *(["."] if command == "collect" else []))
    assert ran.returncode == 2, ran.stderr
    assert "is for instructors" in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('files = ["../secret.txt"]', "is not for students"),
        ('files = ["/etc/hostname"]', "leads out of the course"),
        ('files = ["solutions/one.py"]', "is not for students"),
        ('files = ["out.txt"]', "leads out of the course"),
        ('files = ["answers.txt"]', "is not for students"),
        ('renamed = { "../../evil.sh" = "fine.txt" }', "leads out of the zip's folder"),
        ('renamed = { "/abs" = "fine.txt" }', "leads out of the zip's folder"),
        ('renamed = { "a\\\\..\\\\b" = "fine.txt" }', "leads out of the zip's folder"),
        ('renamed = { "C:x" = "fine.txt" }', "leads out of the zip's folder"),
    ],
)
def test_what_a_course_names_stays_inside_its_zip(tmp_path, entry, why):
    """Names led out of the zip, and files came from outside the course, or from its solutions."""
    course = tmp_path / "course"
    (course / "solutions").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (course / "solutions" / "one.py").write_text("answer = 42")
    (course / "fine.txt").write_text("fine")
    (course / "out.txt").symlink_to(tmp_path / "secret.txt")
    (course / "answers.txt").symlink_to(course / "solutions" / "one.py")
    shutil.copy(ROOT / "pyproject.toml", course)
    head = 'title = "A"\nid = "a"\nlabs = []\n[bundle]\n'
    (course / "course.toml").write_text(head + entry)
    with pytest.raises(Complaint, match=why):
        bundling.write(read(course))
    assert not (course / "dist").exists()
    (course / "course.toml").write_text(head + 'renamed = { "docs/a.txt" = "fine.txt" }')
    with zipfile.ZipFile(bundling.write(read(course))) as archive:
        assert archive.read("a/docs/a.txt") == b"fine"


def test_no_program_that_made_the_data_goes_with_it(unpacked):
    """One of them was a solution of a later lab in NumPy."""
    assert (unpacked / "data" / "README.md").exists() and not list((unpacked / "data").glob("*.py"))


def test_what_cannot_be_made_says_why_in_the_last_line_of_what_makes_it():
    with pytest.raises(Complaint, match=r"^Nothing was made: .*No module named no_such_module$"):
        run_python("Nothing was made", "no_such_module", "build")
    with pytest.raises(Complaint, match=r"^Nothing was made: no reason was given$"):
        run_python("Nothing was made", "no_such_module", says="a line of this kind")
