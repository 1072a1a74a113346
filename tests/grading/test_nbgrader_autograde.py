"""Tests of the preprocessor with which nbgrader's own autograde grades."""

import nbformat
from our_course import COURSE, release

from autograder.core.files import write_file
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.graded_submission import GradedSubmission
from autograder.grading import nbgrader_autograde
from autograder.sandbox.webassembly import WebAssembly

LAB = "qkv-attention"


def test_the_note_on_a_file_reaches_the_grader_whatever_the_sandbox(tmp_path, monkeypatch):
    """Regression: the reason for the second sandbox took the place of the note on the file."""
    monkeypatch.chdir(COURSE.root)
    monkeypatch.setenv("AUTOGRADER_CLASSROOM", str(tmp_path))
    write_file(Classroom(tmp_path, COURSE).submitted / "ada" / LAB / "my own name.ipynb", release(LAB))
    notes = []

    def grade(course, lab, data, note, options, alone):
        notes.append(note)
        return GradedSubmission((), nbformat.v4.new_notebook())

    monkeypatch.setattr(nbgrader_autograde, "grade_in_worker", grade)
    monkeypatch.setattr(nbgrader_autograde, "find_sandbox", lambda name: WebAssembly)
    monkeypatch.setattr(nbgrader_autograde, "explain_fallback", lambda sandbox: "It does not start here.")
    resources = {"nbgrader": {"student": "ada", "assignment": LAB, "notebook": LAB}}
    nbgrader_autograde.GradingPreprocessor().preprocess(nbformat.v4.new_notebook(), resources)
    assert notes == [f"The file was called 'my own name.ipynb'; it was taken as {LAB}.ipynb."]
