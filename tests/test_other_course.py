"""A course of another subject, outside this repository: the engine takes it from an author's files to marks."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from command import autograder
from sample_class import perfect, with_answer, wrong_answer

from autograder.authoring import projects
from autograder.authoring.lab import read_labs
from autograder.course import read
from autograder.errors import Complaint
from autograder.grading.sandbox.choice import why_unavailable

ROOT = Path(__file__).parents[1]
OTHER = Path(__file__).parent / "other_course"
WORDS, DICE = "counting-words", "fair-dice"
EXERCISES = {
    WORDS: ["count_words", "longest_word", "print_counts"],
    DICE: ["chance_of_sum", "mean_and_spread"],
}
# A mistake in each exercise; of a mapping, a text, what is printed, a number and a tuple.
MISTAKES = {
    "count_words": "capitals-kept-apart",
    "longest_word": "its-length",
    "print_counts": "not-sorted",
    "chance_of_sum": "sums-equally-likely",
    "mean_and_spread": "the-other-way-round",
}
needs_sandbox = pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable() or "there is a sandbox")

# An editable install finds the repository whatever the path says.
_ALONE = """\
import sys
sys.meta_path[:] = [f for f in sys.meta_path if not getattr(f, "__module__", "").startswith("__editable__")]
"""


def copied(folder):
    shutil.copytree(OTHER, folder, ignore=shutil.ignore_patterns("__pycache__", "conftest.py", ".ruff_cache"))
    return folder


def run(course, *command, code=0):
    """A command of ours in the course's folder."""
    return done(autograder(*command, cwd=course, here=True), code)


def done(ran, code=0):
    assert ran.returncode == code, f"{ran.args}\n{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
    assert "Traceback" not in ran.stderr
    return ran.stdout


def run_alone(course, *command, engine):
    """The same with nothing of the repository in reach, and the engine from elsewhere."""
    alone = course.parent / "alone"
    alone.mkdir(exist_ok=True)
    (alone / "sitecustomize.py").write_text(_ALONE)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV", "PYTEST", "AUTOGRADER"))}
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "autograder.cli", *map(str, command)],
        cwd=course,
        env={**env, "PYTHONPATH": f"{engine}{os.pathsep}{alone}"},
        text=True,
        capture_output=True,
    )
    return done(ran)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy far from the repository, built."""
    folder = copied(tmp_path_factory.mktemp("elsewhere") / "course")
    run(folder, "build")
    return folder


def hand_ins(course):
    """(student, lab, notebook) of a class of five."""
    labs = read_labs(read(course))
    for name, lab in labs.items():
        right = perfect(lab)
        yield "ada", name, right
        wrong = right
        for exercise in lab.exercises.values():
            mistake = next(m for m in exercise.misconceptions if m.name == MISTAKES[exercise.name])
            wrong = with_answer(wrong, exercise.name, wrong_answer(exercise, mistake))
        yield "ben", name, wrong
        yield "cyd", name, nbformat.read(lab.released, as_version=4)
    first = labs[WORDS].exercises["count_words"]
    apart = wrong_answer(first, first.misconceptions[0])
    yield "dan", WORDS, with_answer(perfect(labs[WORDS]), "count_words", apart)
    odd = "def chance_of_sum(total):\n    return -0.5"
    yield "eve", DICE, with_answer(perfect(labs[DICE]), "chance_of_sum", odd)


def hand_in(course):
    for student, lab, notebook in hand_ins(course):
        path = course / "classroom" / "submitted" / student / lab / f"{lab}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def graded(course):
    """Its class marked: the rows by student and exercise."""
    hand_in(course)
    said = run(course, "grade", "--json", "-")
    rows = [json.loads(line) for line in said.splitlines()]
    return {(row["student"], row["exercise"]): row for row in rows}


def test_it_builds_and_does_not_drift(course):
    assert run(course, "build", "--check") == "Everything is as the solutions say.\n"
    for lab, names in EXERCISES.items():
        assert {p.stem for p in (course / "notebooks" / lab / "answers").glob("*.key")} == set(names)
    committed = {p.relative_to(OTHER) for p in (OTHER / "solutions").rglob("*.ipynb")}
    for path in committed:
        assert (course / path).read_bytes() == (OTHER / path).read_bytes(), f"{path}: save what is built"


@pytest.mark.long
def test_a_student_checks_with_nothing_but_the_notebook_and_its_answers(course, tmp_path):
    folder = tmp_path / "work"
    assert run(course, "start", folder) == f"2 labs copied to {folder}.\n"
    for lab, names in EXERCISES.items():
        path = folder / lab / f"{lab}.ipynb"
        stub = run(course, "check", path, code=1)
        assert stub.splitlines() == [f"✗ {name}: not written yet" for name in names]
        by_student = {s: n for s, handed_in, n in hand_ins(course) if handed_in == lab}
        nbformat.write(by_student["ada"], path)
        assert run(course, "check", path).splitlines() == [f"✓ {name}: right" for name in names]
        nbformat.write(by_student["ben"], path)
        said = run(course, "check", path, code=1)
        for exercise in read_labs(read(course))[lab].exercises.values():
            means = {m.name: m.means for m in exercise.misconceptions}
            assert means[MISTAKES[exercise.name]] in said


@needs_sandbox
def test_right_answers_of_every_kind_get_full_points(graded):
    rows = {name: row for (student, name), row in graded.items() if student == "ada"}
    assert [rows[n]["verdict"] for names in EXERCISES.values() for n in names] == ["pass"] * 5
    assert {rows[f"explain-{lab}"]["verdict"] for lab in EXERCISES} == {"manual"}


@needs_sandbox
@pytest.mark.parametrize("exercise", MISTAKES)
def test_mistakes_of_every_kind_are_named(graded, exercise):
    row = graded["ben", exercise]
    assert (row["verdict"], row["misconception"], row["score"]) == ("wrong", MISTAKES[exercise], 0)


@needs_sandbox
def test_stubs_earlier_mistakes_and_the_librarys_own_sentence(graded):
    assert {graded["cyd", name]["verdict"] for name in MISTAKES} == {"error"}
    assert [graded["dan", name]["verdict"] for name in EXERCISES[WORDS]] == ["wrong", "pass", "pass"]
    assert "A chance lies between 0 and 1; yours is -0.5." in graded["eve", "chance_of_sum"]["message"]
    assert graded["eve", "chance_of_sum"]["misconception"] is None


@needs_sandbox
def test_the_class_gets_pages_a_report_and_marks(course, graded):
    run(course, "feedback")
    page = (course / "classroom" / "feedback" / "ben" / WORDS / f"{WORDS}.html").read_text("utf-8")
    assert "counted apart from the same words" in page
    assert "MARK SCHEME" not in page
    report = Path(course / run(course, "report").strip())
    text = report.read_text("utf-8")
    assert "Words and chance" in text
    assert "capitals-kept-apart" in text
    assert "attention" not in text.lower()
    (grades,) = (course / "classroom").rglob("grades.csv")
    with grades.open(encoding="utf-8-sig") as file:
        marks = list(csv.DictReader(file))
    assert {row["student_id"] for row in marks} == {"ada", "ben", "cyd", "dan", "eve"}


@pytest.mark.long
def test_nothing_of_the_repositorys_own_course_is_in_reach(course):
    """What the next test relies on."""
    run_alone(course, "--version", engine=ROOT)
    ran = subprocess.run(
        [sys.executable, "-P", "-c", "import attention_labs"],
        cwd=course,
        env={"PYTHONPATH": str(course.parent / "alone")},
        text=True,
        capture_output=True,
    )
    assert "No module named 'attention_labs'" in ran.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The engine as its wheel brings it, unpacked by itself."""
    made, unpacked = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("installed")
    try:
        built = projects.wheel(projects.engine(), made)
    except Complaint as complaint:
        pytest.skip(f"No wheel can be built here, which needs setuptools from the network: {complaint}")
    shutil.unpack_archive(built, unpacked, "zip")
    return unpacked


@pytest.mark.long
@needs_sandbox
def test_the_wheel_alone_serves_a_course(wheel, tmp_path):
    course = copied(tmp_path / "course")
    run_alone(course, "build", engine=wheel)
    assert run_alone(course, "build", "--check", engine=wheel) == "Everything is as the solutions say.\n"
    hand_in(course)
    rows = [
        json.loads(line)
        for line in run_alone(course, "grade", WORDS, "--json", "-", engine=wheel).splitlines()
    ]
    assert [r["verdict"] for r in rows if r["student"] == "ada"] == ["pass", "pass", "pass", "manual"]
    run_alone(course, "feedback", engine=wheel)
    run_alone(course, "report", engine=wheel)
    run_alone(tmp_path, "new", "course", tmp_path / "fresh", engine=wheel)
    run_alone(tmp_path / "fresh", "build", engine=wheel)
    run_alone(tmp_path / "fresh", "bundle", engine=wheel)
    shutil.unpack_archive(tmp_path / "fresh" / "dist" / "fresh.zip", tmp_path / "student")
    given = tmp_path / "student" / "fresh"
    assert (given / "constraints.txt").read_bytes() == (ROOT / "constraints.txt").read_bytes()
    assert not [path for path in given.rglob("*") if path.name in ("solutions", "grading", "authoring")]
    run_alone(given, "start", "work", engine=given)
    assert (given / "work" / "first-steps" / "first-steps.ipynb").is_file()


@pytest.mark.long
def test_the_wheel_makes_the_same_of_itself_and_brings_no_course(wheel):
    """A package for a platform, made where there is no repository, is the one that the repository makes."""
    code = "from autograder.authoring.projects import *; write_files(Path('.'), engine())"
    again = wheel.parent / "again"
    again.mkdir()
    (wheel.parent / "alone").mkdir(exist_ok=True)
    (wheel.parent / "alone" / "sitecustomize.py").write_text(_ALONE)
    env = {**os.environ, "PYTHONPATH": f"{wheel}{os.pathsep}{wheel.parent / 'alone'}"}
    subprocess.run([sys.executable, "-P", "-c", code], cwd=again, env=env, check=True)
    made = {
        path.relative_to(again).as_posix(): path.read_bytes() for path in again.rglob("*") if path.is_file()
    }
    assert made == projects.engine()
    assert {name.split("/")[0] for name in made if "/" in name} == {"autograder", "alike"}
    assert not [path for path in wheel.iterdir() if "attention" in path.name]


@needs_sandbox
def test_a_package_of_one_lab_is_all_that_marking_it_needs(course, tmp_path):
    zipped = tmp_path / "words.zip"
    run(course, "package", "gradescope", WORDS, "--output", zipped)
    shutil.unpack_archive(zipped, tmp_path / "source")
    alone = tmp_path / "source" / "course"
    assert not (alone / "solutions" / DICE).exists()
    handed_in = tmp_path / "hand-in.ipynb"
    nbformat.write(perfect(read_labs(read(course))[WORDS]), handed_in)
    outcome = json.loads(run(alone, "mark", handed_in, "--lab", WORDS))
    assert outcome["score"] == outcome["max_score"] > 0
    assert [row["exercise"] for row in outcome["results"] if row["verdict"] == "pass"] == EXERCISES[WORDS]
    other = json.loads(run(alone, "mark", course / "notebooks" / DICE / f"{DICE}.ipynb", "--lab", WORDS))
    assert other["unreadable"].startswith("This is the notebook of another lab;")
