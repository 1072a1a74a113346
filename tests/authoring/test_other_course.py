"""Test a course of another subject outside this repository, from its sources to marks."""

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

from autograder.authoring import distribution
from autograder.authoring.lab import read_labs
from autograder.core.course import read_course
from autograder.core.errors import AutograderError
from autograder.sandbox.choice import explain_unavailability

ROOT = Path(__file__).parents[2]
COURSE_FOLDER = Path(__file__).parents[1] / "other_course"
WORDS, DICE = "counting-words", "fair-dice"
EXERCISES = {
    WORDS: ["count_words", "longest_word", "print_counts"],
    DICE: ["chance_of_sum", "mean_and_spread"],
}
# A misconception of each exercise: of a mapping, a text, a printed text, a number and a tuple.
MISTAKES = {
    "count_words": "capitals-kept-apart",
    "longest_word": "its-length",
    "print_counts": "not-sorted",
    "chance_of_sum": "sums-equally-likely",
    "mean_and_spread": "the-other-way-round",
}
needs_sandbox = pytest.mark.skipif(
    bool(explain_unavailability()),
    reason=explain_unavailability() or "there is a sandbox",
)

# Editable installs would find the repository, whatever the path.
_WITHOUT_EDITABLE_INSTALLS = """\
import sys
for finder in list(sys.meta_path):
    if getattr(finder, "__module__", "").startswith("__editable__"):
        sys.meta_path.remove(finder)
"""


def copy_course(folder):
    ignore = shutil.ignore_patterns("__pycache__", "conftest.py", ".ruff_cache")
    shutil.copytree(COURSE_FOLDER, folder, ignore=ignore)
    return folder


def run_command(course, *command, code=0, trials=True):
    """Run a command of the autograder in the course's folder."""
    return require_success(autograder(*command, cwd=course, trials=trials), code)


def require_success(process, code=0):
    output = f"{process.stdout[-3000:]}\n{process.stderr[-3000:]}"
    assert process.returncode == code, f"{process.args}\n{output}"
    assert "Traceback" not in process.stderr
    return process.stdout


def run_isolated_command(course, *command, engine):
    """Run a command of another copy of the engine, without the repository on the path."""
    site_folder = course.parent / "alone"
    site_folder.mkdir(exist_ok=True)
    (site_folder / "sitecustomize.py").write_text(_WITHOUT_EDITABLE_INSTALLS)
    env = dict(os.environ)
    for variable in os.environ:
        if variable.startswith(("PYTHON", "COV", "PYTEST", "AUTOGRADER")):
            del env[variable]
    process = subprocess.run(
        [sys.executable, "-P", "-m", "autograder", *map(str, command)],
        cwd=course,
        env={**env, "PYTHONPATH": f"{engine}{os.pathsep}{site_folder}"},
        text=True,
        capture_output=True,
    )
    return require_success(process)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the course outside of the repository, built."""
    folder = copy_course(tmp_path_factory.mktemp("elsewhere") / "course")
    run_command(folder, "build", trials=False)
    return folder


def make_submissions(course):
    """Yield (student, lab, notebook) for a class of five."""
    labs = read_labs(read_course(course))
    for name, lab in labs.items():
        right_notebook = perfect(lab)
        yield "ada", name, right_notebook
        wrong_notebook = right_notebook
        for exercise in lab.exercises.values():
            mistake = next(m for m in exercise.misconceptions if m.name == MISTAKES[exercise.name])
            source = wrong_answer(exercise, mistake)
            wrong_notebook = with_answer(wrong_notebook, exercise.name, source)
        yield "ben", name, wrong_notebook
        yield "cyd", name, nbformat.read(lab.release_path, as_version=4)
    first = labs[WORDS].exercises["count_words"]
    wrong_source = wrong_answer(first, first.misconceptions[0])
    yield "dan", WORDS, with_answer(perfect(labs[WORDS]), "count_words", wrong_source)
    odd_source = "def chance_of_sum(total):\n    return -0.5"
    yield "eve", DICE, with_answer(perfect(labs[DICE]), "chance_of_sum", odd_source)


def write_submissions(course):
    for student, lab, notebook in make_submissions(course):
        path = course / "classroom" / "submitted" / student / lab / f"{lab}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def graded_results(course):
    """Results of the class by student and exercise."""
    write_submissions(course)
    output = run_command(course, "grade", "--json", "-")
    rows = [json.loads(line) for line in output.splitlines()]
    return {(row["student"], row["exercise"]): row for row in rows}


def test_the_course_builds_and_does_not_drift(course):
    assert (
        run_command(course, "build", "--check", trials=False)
        == "Everything is as the solutions say.\n"
    )
    for lab, names in EXERCISES.items():
        keys = (course / "notebooks" / lab / "answers").glob("*.key")
        assert {path.stem for path in keys} == set(names)
    for solution_path in (COURSE_FOLDER / "solutions").rglob("*.ipynb"):
        path = solution_path.relative_to(COURSE_FOLDER)
        assert (course / path).read_bytes() == (COURSE_FOLDER / path).read_bytes(), (
            f"{path}: save what is built"
        )


@pytest.mark.long
def test_a_check_needs_only_the_notebook_and_its_answer_keys(course, tmp_path):
    folder = tmp_path / "work"
    assert run_command(course, "start", folder) == f"2 labs copied to {folder}.\n"
    for lab, names in EXERCISES.items():
        path = folder / lab / f"{lab}.ipynb"
        stub = run_command(course, "check", path, code=1)
        assert stub.splitlines() == [f"✗ {name}: not written yet" for name in names]
        by_student = {}
        for student, submission_lab, notebook in make_submissions(course):
            if submission_lab == lab:
                by_student[student] = notebook
        nbformat.write(by_student["ada"], path)
        lines = run_command(course, "check", path).splitlines()
        assert lines == [f"✓ {name}: right" for name in names]
        nbformat.write(by_student["ben"], path)
        output = run_command(course, "check", path, code=1)
        for exercise in read_labs(read_course(course))[lab].exercises.values():
            means = {m.name: m.means for m in exercise.misconceptions}
            assert means[MISTAKES[exercise.name]] in output


@needs_sandbox
def test_right_answers_of_every_kind_get_full_points(graded_results):
    rows = {name: row for (student, name), row in graded_results.items() if student == "ada"}
    assert [rows[n]["verdict"] for names in EXERCISES.values() for n in names] == ["pass"] * 5
    assert {rows[f"explain-{lab}"]["verdict"] for lab in EXERCISES} == {"manual"}


@needs_sandbox
@pytest.mark.parametrize("exercise", MISTAKES)
def test_mistakes_of_every_kind_are_named(graded_results, exercise):
    row = graded_results["ben", exercise]
    assert (row["verdict"], row["misconception"], row["score"]) == ("wrong", MISTAKES[exercise], 0)


@needs_sandbox
def test_stubs_earlier_mistakes_and_a_message_of_the_library(graded_results):
    assert {graded_results["cyd", name]["verdict"] for name in MISTAKES} == {"error"}
    verdicts = [graded_results["dan", name]["verdict"] for name in EXERCISES[WORDS]]
    assert verdicts == ["wrong", "pass", "pass"]
    result = graded_results["eve", "chance_of_sum"]
    assert "A chance lies between 0 and 1; yours is -0.5." in result["message"]
    assert result["misconception"] is None


@pytest.mark.long
@needs_sandbox
def test_the_class_gets_pages_a_report_and_marks(course, graded_results):
    run_command(course, "feedback")
    page = (course / "classroom" / "feedback" / "ben" / WORDS / f"{WORDS}.html").read_text("utf-8")
    assert "counted apart from the same words" in page
    assert "MARK SCHEME" not in page
    report = Path(course / run_command(course, "report").strip())
    text = report.read_text("utf-8")
    assert "Words and chance" in text
    assert "capitals-kept-apart" in text
    assert "attention" not in text.lower()
    (grades,) = (course / "classroom").rglob("grades.csv")
    with grades.open(encoding="utf-8-sig") as file:
        marks = list(csv.DictReader(file))
    assert {row["student_id"] for row in marks} == {"ada", "ben", "cyd", "dan", "eve"}


@pytest.mark.long
def test_the_repositorys_own_course_cannot_be_imported(course):
    """The next test relies on this."""
    run_isolated_command(course, "--version", engine=ROOT)
    process = subprocess.run(
        [sys.executable, "-P", "-c", "import attention_labs"],
        cwd=course,
        env={"PYTHONPATH": str(course.parent / "alone")},
        text=True,
        capture_output=True,
    )
    assert "No module named 'attention_labs'" in process.stderr


@pytest.fixture(scope="module")
def engine_folder(tmp_path_factory):
    """The unpacked wheel of the engine."""
    wheel_folder, folder = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("installed")
    try:
        wheel_path = distribution.build_wheel(
            distribution.make_engine_project_files(), wheel_folder
        )
    except AutograderError as complaint:
        reason = "No wheel can be built here, which needs setuptools from the network"
        pytest.skip(f"{reason}: {complaint}")
    shutil.unpack_archive(wheel_path, folder, "zip")
    return folder


@pytest.mark.long
@needs_sandbox
def test_the_wheel_alone_serves_a_course(engine_folder, tmp_path):
    course = copy_course(tmp_path / "course")
    run_isolated_command(course, "build", engine=engine_folder)
    assert (
        run_isolated_command(course, "build", "--check", engine=engine_folder)
        == "Everything is as the solutions say.\n"
    )
    write_submissions(course)
    rows = [
        json.loads(line)
        for line in run_isolated_command(
            course, "grade", WORDS, "--json", "-", engine=engine_folder
        ).splitlines()
    ]
    verdicts = [row["verdict"] for row in rows if row["student"] == "ada"]
    assert verdicts == ["pass", "pass", "pass", "manual"]
    run_isolated_command(course, "feedback", engine=engine_folder)
    run_isolated_command(course, "report", engine=engine_folder)
    run_isolated_command(tmp_path, "new", "course", tmp_path / "fresh", engine=engine_folder)
    run_isolated_command(tmp_path / "fresh", "build", engine=engine_folder)
    run_isolated_command(tmp_path / "fresh", "bundle", engine=engine_folder)
    shutil.unpack_archive(tmp_path / "fresh" / "dist" / "fresh.zip", tmp_path / "student")
    student_folder = tmp_path / "student" / "fresh"
    constraints = (student_folder / "constraints.txt").read_bytes()
    assert constraints == (ROOT / "constraints.txt").read_bytes()
    names = {path.name for path in student_folder.rglob("*")}
    assert not names & {"solutions", "grading", "authoring"}
    run_isolated_command(student_folder, "start", "work", engine=student_folder)
    assert (student_folder / "work" / "first-steps" / "first-steps.ipynb").is_file()


@pytest.mark.long
def test_the_wheel_makes_the_same_project_and_holds_no_course(engine_folder):
    """An installed engine makes the same package for a platform as the repository does."""
    code = """from pathlib import Path
from autograder.authoring.distribution import make_engine_project_files, write_files
write_files(Path("."), make_engine_project_files())
"""
    project_folder = engine_folder.parent / "again"
    project_folder.mkdir()
    site_folder = engine_folder.parent / "alone"
    site_folder.mkdir(exist_ok=True)
    (site_folder / "sitecustomize.py").write_text(_WITHOUT_EDITABLE_INSTALLS)
    env = {**os.environ, "PYTHONPATH": f"{engine_folder}{os.pathsep}{site_folder}"}
    subprocess.run([sys.executable, "-P", "-c", code], cwd=project_folder, env=env, check=True)
    project_files = {
        path.relative_to(project_folder).as_posix(): path.read_bytes()
        for path in project_folder.rglob("*")
        if path.is_file()
    }
    assert project_files == distribution.make_engine_project_files()
    assert {name.split("/")[0] for name in project_files if "/" in name} == {
        "autograder",
        "course_import",
        "course_site",
        "similarity",
    }
    assert not [path for path in engine_folder.iterdir() if "attention" in path.name]


@needs_sandbox
@pytest.mark.long
def test_a_package_of_one_lab_suffices_to_grade_it(course, tmp_path):
    package_path = tmp_path / "words.zip"
    run_command(course, "package", "gradescope", WORDS, "--output", package_path)
    shutil.unpack_archive(package_path, tmp_path / "source")
    package_course = tmp_path / "source" / "course"
    assert not (package_course / "solutions" / DICE).exists()
    submission_path = tmp_path / "submission.ipynb"
    nbformat.write(perfect(read_labs(read_course(course))[WORDS]), submission_path)
    outcome = json.loads(run_command(package_course, "mark", submission_path, "--lab", WORDS))
    assert outcome["score"] == outcome["max_score"] > 0
    passes = [row["exercise"] for row in outcome["results"] if row["verdict"] == "pass"]
    assert passes == EXERCISES[WORDS]
    other_notebook = course / "notebooks" / DICE / f"{DICE}.ipynb"
    other_outcome = json.loads(run_command(package_course, "mark", other_notebook, "--lab", WORDS))
    assert other_outcome["unreadable"].startswith("This is the notebook of another lab;")
