"""Marks that a person changes in an exercise which the grader marks: points, extra credit, comment."""

from dataclasses import replace
from datetime import datetime

import pytest
from graded_class import LAB, came_from, enrol, fill, reported, results, table, with_policy
from nbgrader.api import Gradebook
from our_course import COURSE, Silent, lab

from autograder.gradebook.gradebook_records import ReplacedAnswerMark, describe_earlier_mark
from autograder.reports.feedback_pages import write_feedback_pages
from autograder.reports.manual_marks import read_question_marks

pytestmark = pytest.mark.filterwarnings("ignore")


def change_mark(classroom, student, exercise="softmax", score=None, extra=None, comment=None):
    """Enter what the formgrader enters for an exercise; None empties a field, as there."""
    with Gradebook(classroom.db, COURSE.id) as book:
        notebook = book.find_submission(LAB, student).notebooks[0]
        grade = next(g for g in notebook.grades if g.name == f"test-{exercise}")
        grade.manual_score, grade.extra_credit = score, extra
        grade.needs_manual_grade = score is None and grade.auto_score is None
        next(c for c in notebook.comments if c.name == exercise).manual_comment = comment
        book.db.commit()


def grade_again(classroom, *, answers=(), **students):
    """Record new results of students; `answers` are the students whose softmax has changed."""
    marked = {}
    for student, wrong in students.items():
        marked[student] = results(student, wrong)
        if student in answers:
            changed = {**marked[student].answers, "softmax": "another answer"}
            marked[student] = replace(marked[student], answers=changed)
    fill(classroom, marked, gradebook=classroom.root / "gradebook.db")


def raw_score(classroom, student):
    reported(classroom)
    rows = table((classroom.report / "grades.csv").read_text())
    return float(next(row for row in rows if row["student_id"] == student)["raw_score"])


def feedback_line(classroom, student):
    write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent())
    page = (classroom.feedback / student / LAB / f"{LAB}.html").read_text("utf-8")
    return page[page.index('href="#at-softmax"') :].split("</li>")[0]


@pytest.fixture
def classroom(classroom, prepared):
    fill(
        classroom,
        {"ada": results("ada", ["softmax"]), "bo": results("bo")},
        gradebook=prepared,
    )
    enrol(classroom, "Name,Login\nAda Lovelace,ada\nBo Li,bo\n")
    return classroom


@pytest.mark.long
def test_it_stays_over_every_new_grading_of_the_same_answer_and_is_everywhere(classroom):
    before = raw_score(classroom, "ada")
    change_mark(classroom, "ada", score=1.5, extra=0.5, comment="Nearly.")
    for wrong in (["softmax"], [], ["softmax"]):
        grade_again(classroom, ada=wrong, bo=[])
        assert raw_score(classroom, "ada") == before + 2
        line = feedback_line(classroom, "ada")
        assert "points given by a person, with 0.5 points of extra credit" in line
        assert "2 of 2" in line and "Nearly." in line
    page = reported(classroom)
    changes = page[page.index('id="changed"') :].split("</table>")[0]
    assert "Ada Lovelace (ada)" in changes and "Bo Li" not in changes and "Nearly." in changes
    assert '<td class="n">0</td><td class="n">2 of 2</td><td class="n">0.5</td>' in changes


def test_it_is_taken_back_in_the_formgrader(classroom):
    before = raw_score(classroom, "ada")
    change_mark(classroom, "ada", score=1.5, extra=0.5, comment="Nearly.")
    assert raw_score(classroom, "ada") == before + 2
    change_mark(classroom, "ada")
    assert raw_score(classroom, "ada") == before
    assert 'id="changed"' not in reported(classroom)


def test_extra_credit_alone_does_not_make_a_wrong_answer_right(classroom):
    change_mark(classroom, "ada", extra=2)
    line = feedback_line(classroom, "ada")
    assert "not right yet, with 2 points of extra credit" in line and "2 of 2" in line
    (answer,) = [
        answer
        for answer in read_question_marks(classroom, lab(LAB), "softmax").answers
        if answer.student == "ada"
    ]
    assert answer.mark.points == ""  # the sheet's points are those that a person gave


def test_it_ends_with_the_answer_that_it_was_given_for(classroom):
    before = raw_score(classroom, "ada")
    change_mark(classroom, "ada", extra=1, comment="A good remark.")
    grade_again(classroom, answers=["ada"], ada=["softmax"], bo=[])
    assert raw_score(classroom, "ada") == before
    line = feedback_line(classroom, "ada")
    assert "For another answer a person gave 1 point of extra credit: “A good remark.”." in line
    assert "awaits" not in line  # the grader has marked the new answer
    change_mark(classroom, "ada", extra=1)
    grade_again(classroom, answers=["ada"], ada=["softmax"], bo=[])
    assert raw_score(classroom, "ada") == before + 1
    assert "another answer" not in feedback_line(classroom, "ada")


def test_extra_credit_alone_comes_back_with_the_answer_that_it_was_given_for(classroom):
    before = raw_score(classroom, "ada")
    change_mark(classroom, "ada", extra=1)
    grade_again(classroom, answers=["ada"], ada=["softmax"], bo=[])
    assert raw_score(classroom, "ada") == before
    sentence = "For another answer a person gave 1 point of extra credit."
    assert sentence in feedback_line(classroom, "ada")
    grade_again(classroom, ada=["softmax"], bo=[])
    assert raw_score(classroom, "ada") == before + 1


def test_a_penalty_is_of_all_points_with_extra_credit(classroom):
    with_policy(classroom, {"penalty_per_day": 0.5}, due=datetime(2026, 11, 20, 18))
    time = "2026-11-21 12:00:00 UTC"
    fill(
        classroom,
        {"ada": results("ada", ["softmax"])},
        gradebook=classroom.root / "gradebook.db",
        timestamp=time,
    )
    change_mark(classroom, "ada", extra=2)
    reported(classroom)
    rows = table((classroom.report / "grades.csv").read_text())
    ada = next(row for row in rows if row["student_id"] == "ada")
    assert float(ada["raw_score"]) > 2
    assert float(ada["late_submission_penalty"]) == float(ada["raw_score"]) / 2


def test_a_group_shares_extra_credit_as_it_shares_points(classroom):
    for student in ("ada", "bo"):
        came_from(classroom, student, "Moodle", members=("ada", "bo"), sha256="1")
    before = raw_score(classroom, "ada")
    change_mark(classroom, "bo", extra=1)
    assert raw_score(classroom, "ada") == before + 1
    change_mark(classroom, "bo")
    assert raw_score(classroom, "ada") == before


def test_no_points_are_points_that_a_person_gave():
    mark = ReplacedAnswerMark(0.0)
    assert describe_earlier_mark(mark, 3) == "For another answer a person gave 0 of 3 points."
