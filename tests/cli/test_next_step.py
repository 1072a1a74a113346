"""`autograder` without a command says what to do next, and changes nothing."""

import os
from dataclasses import replace

import pytest
from graded_class import LAB, by_hand, fill, results
from our_course import COURSE, Silent, lab

from autograder.cli.next_step import describe_next_steps
from autograder.reports.class_page import write_report
from autograder.reports.feedback_pages import write_feedback_pages

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def steps(classroom, monkeypatch):
    """A function that returns the lines about the classroom."""
    monkeypatch.setenv("AUTOGRADER_CLASSROOM", str(classroom.root))

    def describe():
        before = {path: path.stat().st_mtime_ns for path in classroom.root.rglob("*")}
        lines = list(describe_next_steps(COURSE))
        assert before == {path: path.stat().st_mtime_ns for path in classroom.root.rglob("*")}
        return "\n".join(lines)

    return describe


def test_a_class_from_the_download_to_the_report(classroom, prepared, steps):
    assert steps().startswith("No submissions in") and "autograder collect DOWNLOAD" in steps()

    folder = classroom.submitted / "ada" / LAB
    folder.mkdir(parents=True)
    (folder / f"{LAB}.ipynb").write_bytes(b"")
    text = steps()
    assert "1 submission by 1 student." in text
    assert "1 submission is not graded yet:\n    autograder grade" in text
    assert "autograder feedback" not in text and "autograder report" not in text

    empty_hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    fill(classroom, {"ada": results("ada", file_hash=empty_hash)}, gradebook=prepared)
    text = steps()
    assert "not graded yet" not in text
    assert (
        f"1 answer to explain-flat awaits manual grading:\n    autograder answers {LAB} explain-flat"
        in text
    )
    assert "1 feedback page is missing or older than the results:\n    autograder feedback" in text
    assert "The report on the class is not written yet:\n    autograder report" in text

    by_hand(classroom, "ada", 2)
    write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent())
    write_report(classroom)
    assert steps().endswith("Everything is graded, and feedback and report are up to date.")

    by_hand(classroom, "ada", 3)
    os.utime(classroom.root / "gradebook.db")
    assert "The report on the class is older than the marks" in steps()

    (folder / f"{LAB}.ipynb").write_bytes(b"{}")  # submitted again
    assert "1 submission is not graded yet" in steps()


def test_a_course_with_a_mistake_is_one_sentence(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from autograder.cli import main

    (tmp_path / "course.toml").write_text("labs = 3\n")
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(main, [])
    assert outcome.exit_code and outcome.output.startswith("Error: ")


def test_outside_of_a_course_it_is_the_help(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from autograder.cli import main

    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(main, [])
    assert outcome.exit_code == 0 and "Commands:" in outcome.output


def test_a_course_without_labs_has_no_submissions(classroom, steps):
    other = replace(COURSE, labs=())
    assert "No submissions" in "\n".join(describe_next_steps(other))


def test_a_dropped_question_awaits_no_manual_grading(classroom, prepared, steps, monkeypatch):
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    assert "explain-flat awaits manual grading" in steps()
    course = replace(COURSE, lab={LAB: {"dropped": ["explain-flat"]}})
    classroom.course = course
    write_report(classroom)
    assert "awaits manual grading" not in "\n".join(describe_next_steps(course))
