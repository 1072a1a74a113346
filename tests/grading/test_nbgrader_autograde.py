"""Tests of the preprocessor with which nbgrader's own autograde grades."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from nbgrader.utils import determine_grade
from our_course import COURSE, release

from autograder.core.files import write_file
from autograder.core.notebook_cells import make_nbgrader_metadata
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.graded_submission import GradedSubmission
from autograder.grading import nbgrader_autograde
from autograder.grading.grade_submission import _make_failed_test_outputs
from autograder.grading.worker import WorkerDied
from autograder.sandbox.webassembly import WebAssembly

LAB = "qkv-attention"


@pytest.fixture
def grading_of_ada(tmp_path, monkeypatch):
    """Return a function that has nbgrader grade a file of Ada's; it returns the note and the options."""
    monkeypatch.chdir(COURSE.root)
    monkeypatch.setenv("AUTOGRADER_CLASSROOM", str(tmp_path))
    calls = []

    def grade(course, lab, data, note, options, alone):
        calls.append((note, options))
        return GradedSubmission((), nbformat.v4.new_notebook())

    def autograde(name):
        write_file(Classroom(tmp_path, COURSE).submitted / "ada" / LAB / name, release(LAB))
        resources = {"nbgrader": {"student": "ada", "assignment": LAB, "notebook": LAB}}
        nbgrader_autograde.GradingPreprocessor().preprocess(nbformat.v4.new_notebook(), resources)
        return calls[-1]

    monkeypatch.setattr(nbgrader_autograde, "grade_in_worker", grade)
    monkeypatch.setattr(nbgrader_autograde, "find_sandbox", lambda name: WebAssembly)
    monkeypatch.setattr(
        nbgrader_autograde, "explain_fallback", lambda sandbox: "It does not start here."
    )
    return autograde


def test_the_note_on_a_file_reaches_the_grader_whatever_the_sandbox(grading_of_ada):
    """Regression: the reason for the second sandbox took the place of the note on the file."""
    note, _ = grading_of_ada("my own name.ipynb")
    assert note == f"The file was called 'my own name.ipynb'; it was taken as {LAB}.ipynb."


def test_nbgrader_grades_with_the_hidden_cases_of_the_class(grading_of_ada, tmp_path):
    """They are drawn with the class's secret, as those of `autograder grade` are."""
    _, options = grading_of_ada(f"{LAB}.ipynb")
    assert options.salt and options.salt == Classroom(tmp_path, COURSE).salt


def test_nbgrader_records_no_mark_if_the_worker_fails(grading_of_ada, monkeypatch):
    def fail(*arguments):
        raise WorkerDied("ended the process that worked on it")

    monkeypatch.setattr(nbgrader_autograde, "grade_in_worker", fail)
    with pytest.raises(RuntimeError, match=r"^The grader failed, not the student: ended the proc"):
        grading_of_ada(f"{LAB}.ipynb")


@pytest.mark.parametrize(("score", "points"), [(0.0, 0.0), (2.5, 2.5)])
def test_nbgrader_gives_a_failed_test_cell_the_points_of_its_right_parts(score, points):
    cell = new_code_cell(
        "", outputs=_make_failed_test_outputs("softmax", "Not right.", score=score)
    )
    cell.metadata["nbgrader"] = make_nbgrader_metadata("test-softmax", 5, grade=True, locked=True)
    assert determine_grade(cell) == (points, 5)


def test_nbgrader_is_given_the_release_in_place_of_a_large_file(tmp_path, monkeypatch):
    monkeypatch.chdir(COURSE.root)
    path = tmp_path / f"{LAB}.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[new_code_cell("own = 1")]), path)
    exporter = nbgrader_autograde.ReleasedInsteadOfSubmittedExporter()
    size = path.stat().st_size
    for most, is_read in ((size, True), (size - 1, False)):
        monkeypatch.setattr(nbgrader_autograde, "_MAX_DIRECT_READ_BYTES", most)
        text, _ = exporter.from_filename(str(path), {"nbgrader": {"assignment": LAB}})
        assert ("own = 1" in text) == is_read
