"""Test the students' zip: it holds no solution and no instructor's code, and works by itself."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import nbformat
import pytest
from sample_class import perfect
from test_build import visible_text

from autograder import __version__
from autograder.authoring import bundle as bundling
from autograder.authoring import distribution
from autograder.authoring.distribution import list_data_files, run_module
from autograder.authoring.lab import read_labs
from autograder.core.course import read_course
from autograder.core.errors import AutograderError

ROOT = Path(__file__).parents[2]
COURSE = read_course(ROOT)
LABS = read_labs(COURSE)
LAB = "additive-attention"


@pytest.fixture(scope="module")
def students_zip(tmp_path_factory):
    return bundling.write_students_zip(COURSE, tmp_path_factory.mktemp("zip") / "labs.zip")


@pytest.fixture(scope="module")
def student_folder(students_zip, tmp_path_factory):
    folder = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(students_zip) as archive:
        archive.extractall(folder)
    return folder / COURSE.id


def secrets():
    """Yield the lines of answers, model answers and marking schemes."""
    for lab in LABS.values():
        for cell in lab.read_solution().cells:
            for mark in ("### {} SOLUTION", "=== {} MARK SCHEME"):
                if mark.format("BEGIN") in cell.source:
                    hidden = cell.source.split(mark.format("BEGIN"))[1].split(mark.format("END"))[0]
                    hidden = hidden.splitlines()[1:]
                    yield from (line.strip() for line in hidden if len(line.strip()) > 24)
            if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
                yield from (line for line in cell.source.splitlines() if len(line) > 40)


def find_leaks(files):
    """Return secret lines in files; a line in the visible text of a lab is no secret there."""
    lines = set(secrets())
    visible_texts = {}
    for name, lab in LABS.items():
        visible_texts[f"notebooks/{name}/{name}.ipynb"] = visible_text(lab.read_solution())
    leaks = []
    for name, data in files.items():
        if not name.endswith((".npz", ".key", ".safetensors")):
            text, visible = data.decode("utf-8"), visible_texts.get(name, "")
            leaks += [(name, line) for line in lines if text.count(line) > visible.count(line)]
    return leaks


# Editable installs would find the repository's modules in the unpacked zip's Python.
_WITHOUT_EDITABLE_INSTALLS = """\
import sys
for finder in list(sys.meta_path):
    if getattr(finder, "__module__", "").startswith("__editable__"):
        sys.meta_path.remove(finder)
"""


def run_isolated_python(folder, *arguments):
    """Run Python in the unpacked zip, without this repository on its path."""
    site_folder = folder.parent / "alone"
    site_folder.mkdir(exist_ok=True)
    (site_folder / "sitecustomize.py").write_text(_WITHOUT_EDITABLE_INSTALLS)
    environment = dict(os.environ)
    for variable in os.environ:
        if variable.startswith(("PYTHON", "COV", "PYTEST")):
            del environment[variable]
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**environment, "PYTHONPATH": f"{folder}{os.pathsep}{site_folder}"},
        text=True,
        capture_output=True,
    )


def run_command(folder, *arguments):
    """Run a command of the unpacked zip."""
    return run_isolated_python(folder, "-m", "autograder", *arguments)


def test_the_zip_holds_no_answer():
    assert len(set(secrets())) > 40
    assert find_leaks(bundling.collect_student_zip_files(COURSE)) == []


def test_an_answer_in_the_zip_is_noticed():
    source = list(LABS[LAB].reference_cells.values())[-1]
    line = source.split("### BEGIN SOLUTION\n")[1].splitlines()[-2].strip()
    notebook = COURSE.released_notebook_path(LAB).read_text("utf-8")
    assert find_leaks({"a.ipynb": f"prose\n{line}\n".encode()})
    assert find_leaks({f"notebooks/{LAB}/{LAB}.ipynb": f"{notebook}\n{line}\n".encode()})


def test_the_zip_holds_the_core_and_no_code_for_instructors(student_folder):
    files = {str(p.relative_to(student_folder)) for p in student_folder.rglob("*") if p.is_file()}
    instructor_folders = ("solutions", "tests", "classroom", "data/fasttext")
    assert not [file for file in files if file.startswith(instructor_folders)]
    engine_folders = ("autograder/authoring", "autograder/grading")
    assert not [file for file in files if file.startswith(engine_folders)]
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


def test_the_project_installs_the_core_and_the_packages_of_the_labs(student_folder):
    repository = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = tomllib.loads((student_folder / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert packages == ["autograder*", "attention_labs*"]
    extras = repository["project"]["optional-dependencies"]
    assert project["project"]["dependencies"] == repository["project"]["dependencies"]
    assert project["project"]["optional-dependencies"] == {
        name: extras[name] for name in ("lab", "keras", "jax", "torch")
    }
    assert repository["project"]["version"] == __version__
    for field in ("name", "version", "requires-python", "scripts", "license"):
        assert project["project"][field] == repository["project"][field]
    conda_file = (student_folder / "environment.yml").read_text("utf-8")
    assert project["project"]["requires-python"] in conda_file


def test_the_zip_has_the_same_bytes_each_time(tmp_path):
    (tmp_path / "numbers").mkdir()
    for name in ("b.csv", "a.csv"):
        (tmp_path / "numbers" / name).write_text("1\n", "utf-8")
    text = 'title = "A"\nid = "a"\nlabs = []\ndata = ["numbers"]\n'
    (tmp_path / "course.toml").write_text(text, "utf-8")
    zips = []
    for name in ("one.zip", "two.zip"):
        os.utime(tmp_path / "numbers" / "a.csv", (1_700_000_000 + 60 * len(zips),) * 2)
        zips.append(bundling.write_students_zip(read_course(tmp_path), tmp_path / name))
    with zipfile.ZipFile(zips[0]) as archive:
        assert "a/numbers/a.csv" in archive.namelist()
    assert zips[0].read_bytes() == zips[1].read_bytes()


def test_a_missing_file_is_named(tmp_path):
    (tmp_path / "course.toml").write_text('title = "A"\nid = "a"\nlabs = ["one"]\n', "utf-8")
    with pytest.raises(AutograderError, match=r"one\.ipynb; run `autograder build` first"):
        bundling.write_students_zip(read_course(tmp_path))


def test_packages_for_students_have_the_versions_installed_here(tmp_path):
    missing = "not_there_at_all, which is not installed here"
    for name, problem in (("nh3", ""), ("not_there_at_all", missing)):
        text = f'title = "A"\nid = "a"\nlabs = []\nimports = ["{name}"]\n'
        (tmp_path / "course.toml").write_text(text, "utf-8")
        if problem:
            with pytest.raises(AutograderError, match=problem):
                bundling.collect_student_zip_files(read_course(tmp_path))
            continue
        files = bundling.collect_student_zip_files(read_course(tmp_path))
        project = tomllib.loads(files["pyproject.toml"].decode())["project"]
        assert "nh3" in project["dependencies"]
        assert list(project["optional-dependencies"]) == ["lab"]
        assert files["constraints.txt"].decode().count(f"\nnh3=={version('nh3')}\n") == 1
        readme = files["README.md"].decode()
        assert readme.startswith("# A\n")
        oldest, newest = re.findall(r"3\.(\d+)", project["requires-python"])
        assert f"Python 3.{oldest}" in readme and f"or 3.{int(newest) - 1}" in readme
        assert f"3.{newest}" not in readme


@pytest.mark.long
def test_start_and_check_work_with_nothing_but_the_bundle(student_folder):
    code = "import autograder; print(autograder.__file__)"
    location = run_isolated_python(student_folder, "-c", code)
    assert location.stdout.startswith(str(student_folder))
    assert f"{len(LABS)} labs copied to work." in run_command(student_folder, "start").stdout
    notebook = student_folder / "work" / LAB / f"{LAB}.ipynb"
    stub = run_command(student_folder, "check", notebook)
    assert stub.returncode == 1
    assert "✗ alignment: not written yet" in stub.stdout
    nbformat.write(perfect(LABS[LAB]), notebook)
    right = run_command(student_folder, "check", notebook)
    assert (right.returncode, right.stderr) == (0, "")
    assert right.stdout.splitlines() == ["✓ alignment: right", "✓ attention: right"]


@pytest.mark.parametrize("command", ["build", "collect", "grade", "feedback", "report"])
def test_commands_for_instructors_refuse_in_one_sentence(student_folder, command):
    process = run_command(student_folder, command, *(["."] if command == "collect" else []))
    assert process.returncode == 2, process.stderr
    assert "is for instructors" in " ".join(process.stderr.split())
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize(
    ("entry", "problem"),
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
        ('renamed = { "a.txt" = "../secret.txt" }', "is not for students"),
        ('renamed = { "a.txt" = "/etc/hostname" }', "leads out of the course"),
        ('renamed = { "a.txt" = "solutions/one.py" }', "is not for students"),
        ('renamed = { "a.txt" = "out.txt" }', "leads out of the course"),
        ('renamed = { "a.txt" = "answers.txt" }', "is not for students"),
    ],
)
def test_what_a_course_names_stays_inside_its_zip(tmp_path, entry, problem):
    """Once, names led out of the zip, and files came from the solutions or from other folders."""
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
    with pytest.raises(AutograderError, match=problem):
        bundling.write_students_zip(read_course(course))
    assert not (course / "dist").exists()
    (course / "course.toml").write_text(head + 'renamed = { "docs/a.txt" = "fine.txt" }')
    with zipfile.ZipFile(bundling.write_students_zip(read_course(course))) as archive:
        assert archive.read("a/docs/a.txt") == b"fine"


def test_a_data_folder_may_be_a_link_out_of_the_course(tmp_path):
    course, shared = tmp_path / "course", tmp_path / "shared"
    (course / "solutions").mkdir(parents=True)
    shared.mkdir()
    (shared / "words.txt").write_text("words")
    (course / "data").symlink_to(shared)
    shutil.copy(ROOT / "pyproject.toml", course)
    text = (
        'title = "A"\nid = "a"\nlabs = []\ndata = ["data"]\n[bundle]\nfiles = ["data/words.txt"]\n'
    )
    (course / "course.toml").write_text(text)
    with zipfile.ZipFile(bundling.write_students_zip(read_course(course))) as archive:
        assert archive.read("a/data/words.txt") == b"words"


def test_no_program_that_made_the_data_is_in_the_zip(student_folder):
    """One of these programs was a solution of a later lab in NumPy."""
    assert (student_folder / "data" / "README.md").exists() and not list(
        (student_folder / "data").glob("*.py")
    )


def test_hidden_files_and_programs_beside_the_data_are_no_data(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("a.npz", ".DS_Store", ".~lock.a.ods#", "make.py"):
        (tmp_path / "data" / name).write_text("")
    course = replace(COURSE, root=tmp_path, data=("data",))
    assert [path.name for path in list_data_files(course)] == ["a.npz"]


def test_a_failed_program_is_reported_with_its_last_line():
    message = r"^Nothing was made: .*No module named no_such_module$"
    with pytest.raises(AutograderError, match=message):
        run_module("Nothing was made", "no_such_module", "build")
    with pytest.raises(AutograderError, match=r"^Nothing was made: no reason was given$"):
        run_module("Nothing was made", "no_such_module", marker="a line of this kind")


@pytest.mark.parametrize(
    ("stdout", "stderr", "marker", "reason"),
    [
        ("Error: one\nError: two\n\nbye\n", "", "Error", "Error: two"),
        ("Error: one\n", "Error: two\n", "Error", "Error: two"),
        ("Error: one\n", "a remark\n", "Error", "Error: one"),
        ("one\n", "two\n  three\n", "", "three"),
    ],
)
def test_of_several_lines_with_the_marker_the_last_is_the_reason(
    monkeypatch, stdout, stderr, marker, reason
):
    process = subprocess.CompletedProcess([], 1, stdout, stderr)
    monkeypatch.setattr(distribution.subprocess, "run", lambda *_, **__: process)
    with pytest.raises(AutograderError, match=f"^Nothing was made: {reason}$"):
        run_module("Nothing was made", "a_module", marker=marker)


def test_a_package_that_is_pinned_already_is_not_pinned_again(monkeypatch):
    monkeypatch.setattr(distribution, "read_root_file", lambda name: b"PyYAML==6.0\nscipy==1.16\n")
    versions = {"pyyaml": "6.1", "SciPy": "1.17", "polars": "1.0"}
    text = distribution.make_constraints(versions).decode()
    assert text == "PyYAML==6.0\nscipy==1.16\npolars==1.0\n"
