"""A student asks for another look at a mark: noted beside the exercise, and answered by a mark by hand that stays."""

import re

import nbformat
import pytest
from made import EVIL, LAB, by_hand, enrol, fill, reported, results, table
from nbgrader.api import Gradebook
from our_course import COURSE, Silent, lab

from autograder.files import write
from autograder.grading.register.requests import RequestError
from autograder.grading.reports.answers import read_question, write_sheet
from autograder.grading.reports.feedback import write_feedback
from autograder.grading.reports.giving_back import as_notebook
from autograder.grading.reports.page import write_report
from autograder.grading.reports.show import describe_student

pytestmark = pytest.mark.filterwarnings("ignore")

HEAD = "Student,Lab,Exercise,Request,Answer\n"


@pytest.fixture
def room(classroom, prepared):
    fill(classroom, {"ada": results("ada", wrong=["softmax"]), "bo": results("bo")}, gradebook=prepared)
    enrol(classroom, "Name,Login\nAda Lovelace,ada\nBo Li,bo\n")
    return classroom


def page_of(room, student="ada"):
    write_feedback(room, labs=[lab(LAB)], progress=Silent())
    page = (room.feedback / student / LAB / f"{LAB}.html").read_text("utf-8")
    return page[page.index('href="#at-softmax"') :].split("</li>")[0]


def given(room, exercise, score, comment):
    """A mark by hand for what was judged, as the formgrader gives it."""
    with Gradebook(room.db, COURSE.id) as book:
        notebook = book.find_submission(LAB, "ada").notebooks[0]
        grade = next(g for g in notebook.grades if g.name == f"test-{exercise}")
        grade.manual_score = score
        next(c for c in notebook.comments if c.name == exercise).manual_comment = comment
        book.db.commit()


def test_asked_and_answered(room):
    write(room.root / "requests.csv", f"{HEAD}ada,{LAB},softmax,It is right for {EVIL} axis 1.,\n")
    asked = page_of(room)
    assert "You asked:</span> It is right for &lt;script&gt;" in asked and "Answer:</span> not yet." in asked
    assert "0 of 2</span>" in asked and "You asked" not in page_of(room, "bo")
    report = reported(room)
    row = report[report.index('id="asked"') :].split("</table>")[0]
    assert "Ada Lovelace (ada)</th><td>qkv-attention</td><td><code>softmax</code>" in row and EVIL not in row
    assert "Asked: It is right for" in describe_student(room, "ada", [lab(LAB)])

    given(room, "softmax", 1.5, "For the formula.")
    write(room.root / "requests.csv", f"{HEAD}Ada Lovelace,{LAB},softmax,Is it right?,Half of it is.\n")
    answered = page_of(room)
    assert "You asked:</span> Is it right?" in answered and "Answer:</span> Half of it is." in answered
    assert "points given by a person" in answered and "1.5 of 2</span>" in answered
    assert "For the formula.</blockquote>" in answered
    assert 'id="asked"' not in reported(room)

    # Judged again, to the same verdict and to another: the mark by hand stands, for the answer is the same.
    for wrong in (["softmax"], [], ["softmax", "attention_qkv"]):
        fill(room, {"ada": results("ada", wrong=wrong)}, gradebook=room.root / "gradebook.db")
        assert "1.5 of 2</span>" in page_of(room)
        write_report(room)
        (row,) = [r for r in table((room.report / "grades.csv").read_text()) if r["student_id"] == "ada"]
        assert float(row["raw_score"]) == 10 - 2 + 1.5 - (3 if "attention_qkv" in wrong else 0)


def test_two_requests_of_one_exercise_and_one_of_a_question(room):
    by_hand(room, "ada", 1)
    rows = f"ada,{LAB},softmax,First?,No.\nada,{LAB},softmax,Really?,\nada,{LAB},explain-flat,Why one?,\n"
    write(room.root / "requests.csv", HEAD + rows)
    page = page_of(room)
    assert page.index("First?") < page.index("No.") < page.index("Really?") < page.index("not yet.")
    question = read_question(room, lab(LAB), "explain-flat")
    write_sheet(question, workers=1)
    assert "Why one?" in question.page.read_text("utf-8")


def test_it_is_in_the_form_for_canvas_and_in_no_report_without_names(room):
    from autograder.grading.register.requests import Request
    from autograder.grading.reports.feedback import Line, Sheet

    line = Line("softmax", "✗", "not right yet", "0 of 2", requests=(Request("Why?", ""),))
    sheet = Sheet("c", "ada", "Ada", "t", LAB, "0 of 13 points", (), (line,))
    first = nbformat.reads(as_notebook(sheet, lab(LAB), {"cells": []}), as_version=4).cells[0].source
    assert "> You asked: Why?\n>\n> Answer: not yet." in first
    write(room.root / "requests.csv", f"{HEAD}ada,{LAB},softmax,My name is Ada,\n")
    assert "My name is Ada" not in reported(room, anonymous=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "requests.csv has no column 'student'; its first line is Student,Lab,Exercise,Request,Answer."),
        ("Student,Lab,Request\n", "has no column 'exercise'"),
        (f"{HEAD}zoe,{LAB},softmax,Why?,\n", "requests.csv, 'Why?': nobody of the class is 'zoe'"),
        (f"{HEAD},{LAB},softmax,Why?,\n", "nobody of the class is ''"),
        (f"{HEAD}ada,lab-9,softmax,Why?,\n", "there is no lab 'lab-9'; the labs are additive-attention"),
        (
            f"{HEAD}ada,{LAB},soft,Why?,\n",
            "qkv-attention has no exercise 'soft'; it has softmax, stable_softmax",
        ),
        (f"{HEAD}ada\n", "there is no lab ''"),
    ],
)
def test_a_list_that_cannot_be_used(room, text, sentence):
    write(room.root / "requests.csv", text)
    with pytest.raises(RequestError, match=re.escape(sentence)):
        write_report(room)


def test_a_folder_in_its_place(room):
    (room.root / "requests.csv").mkdir()
    with pytest.raises(RequestError, match=r"requests.csv cannot be read: It is not an ordinary file"):
        write_report(room)


def test_as_spreadsheets_write_it(room):
    text = f'\ufeffStudent;Lab;Question;Request;Answer\r\nada;{LAB};softmax;"a;b";\r\n'
    write(room.root / "requests.csv", text.encode("utf-8"))
    assert "You asked:</span> a;b" in page_of(room)
