"""`autograder` without a command says what to do next, and changes nothing."""

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from graded_class import LAB, by_hand, fill, results
from our_course import COURSE, Silent, lab

from autograder.cli import next_step
from autograder.cli.next_step import QUESTIONS_SHOWN, describe_next_steps
from autograder.reports.class_page import write_report
from autograder.reports.feedback_pages import write_feedback_pages
from autograder.reports.marks import ClassMarks, Mark

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


def test_an_empty_variable_names_no_class(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTOGRADER_CLASSROOM", "")
    assert next(describe_next_steps(COURSE)) == "No submissions in classroom yet."


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


def test_a_graded_submission_without_a_notebook_is_not_to_be_graded_again(
    classroom, prepared, steps
):
    (classroom.submitted / "ada" / LAB).mkdir(parents=True)
    assert "1 submission is not graded yet" in steps()
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    for path in (classroom.submitted / "ada" / LAB).iterdir():
        path.unlink()
    assert "1 submission by 1 student." in steps()
    assert "not graded yet" not in steps()


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


def make_marks(students, questions, score=None):
    """Return marks of these students with a score for each question of the lab."""
    marks = ClassMarks()
    for student in students:
        marks.marks[student, LAB] = Mark(
            student=student,
            lab=LAB,
            scores=dict.fromkeys(questions, score),
            points=dict.fromkeys(questions, 1.0),
        )
    return marks


def test_a_few_questions_are_listed_those_with_most_answers_first(monkeypatch):
    questions = [f"q{number}" for number in range(QUESTIONS_SHOWN + 2)]
    lab_of_questions = SimpleNamespace(manual_questions=dict.fromkeys(questions, 1.0))
    monkeypatch.setattr(next_step, "read_labs", lambda course: {LAB: lab_of_questions})
    marks = make_marks(["ada"], [*questions, "softmax"])
    marks.marks |= make_marks(["bo"], ["q3"]).marks
    marks.marks |= make_marks(["cy"], ["q5"], score=1.0).marks
    steps = list(next_step._find_manual_grading_steps(SimpleNamespace(course=COURSE), marks))
    assert len(steps) == QUESTIONS_SHOWN
    assert steps[0] == ("2 answers to q3 await manual grading", f"answers {LAB} q3")
    assert all("softmax" not in sentence for sentence, _ in steps), "an exercise awaits the grader"


def test_a_page_that_is_older_than_its_result_is_to_be_made(classroom):
    marks = make_marks(["ada", "bo", "cy"], [])
    for student, page_time in (("ada", 5), ("bo", 15)):
        for path, time in ((classroom.page_path, page_time), (classroom.result_path, 10)):
            path(student, LAB).parent.mkdir(parents=True, exist_ok=True)
            path(student, LAB).write_text("")
            os.utime(path(student, LAB), (time, time))
    steps = list(next_step._find_feedback_step(classroom, marks))
    assert steps == [("1 feedback page is missing or older than the results", "feedback")]
    os.utime(classroom.result_path("bo", LAB), (20, 20))
    (step,) = next_step._find_feedback_step(classroom, marks)
    assert step[0] == "2 feedback pages are missing or older than the results"


def test_a_report_is_as_old_as_its_page(classroom):
    marks = make_marks(["ada"], [])
    times = {classroom.root / "gradebook.db": 10, classroom.result_path("ada", LAB): 20}
    for path, time in times.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        os.utime(path, (time, time))

    def find_step():
        return [sentence for sentence, _ in next_step._find_report_step(classroom, marks)]

    page = classroom.report / "index.html"
    assert find_step() == ["The report on the class is not written yet"]
    page.parent.mkdir()
    page.write_text("")
    for time, is_old in ((15, True), (25, False)):
        os.utime(page, (time, time))
        assert find_step() == ["The report on the class is older than the marks"] * is_old, time
    os.utime(classroom.root / "gradebook.db", (30, 30))
    assert find_step() == ["The report on the class is older than the marks"]
    page.unlink()
    assert list(next_step._find_report_step(classroom, ClassMarks())) == [], "nothing to report"


def test_make_is_no_command_of_the_autograder():
    assert next_step._format_step("See", "make demo") == ["See:", "    make demo"]
    assert next_step._format_step("Grade", "grade") == ["Grade:", "    autograder grade"]
