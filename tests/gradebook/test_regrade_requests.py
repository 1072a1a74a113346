"""Tests of regrade requests: shown beside the exercise, answered by a manual mark."""

import re

import nbformat
import pytest
from graded_class import EVIL, LAB, by_hand, enrol, fill, reported, results, table
from nbgrader.api import Gradebook
from our_course import COURSE, Silent, lab

from autograder.core.files import write_file
from autograder.gradebook import regrade_requests
from autograder.gradebook.regrade_requests import RegradeRequestError
from autograder.reports.class_page import write_report
from autograder.reports.feedback_pages import write_feedback_pages
from autograder.reports.feedback_zips import make_canvas_feedback_notebook
from autograder.reports.manual_marks import (
    read_question_marks,
    write_answers_page_and_marking_sheet,
)
from autograder.reports.terminal import describe_student

pytestmark = pytest.mark.filterwarnings("ignore")

HEAD = "Student,Lab,Exercise,Request,Answer\n"


@pytest.fixture
def classroom(classroom, prepared):
    fill(
        classroom,
        {"ada": results("ada", wrong=["softmax"]), "bo": results("bo")},
        gradebook=prepared,
    )
    enrol(classroom, "Name,Login\nAda Lovelace,ada\nBo Li,bo\n")
    return classroom


def softmax_row(classroom, student="ada"):
    write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent())
    page = (classroom.feedback / student / LAB / f"{LAB}.html").read_text("utf-8")
    return page[page.index('href="#at-softmax"') :].split("</li>")[0]


def give_mark(classroom, exercise, score, comment):
    """Enter a manual mark for an exercise, as the formgrader does."""
    with Gradebook(classroom.db, COURSE.id) as book:
        notebook = book.find_submission(LAB, "ada").notebooks[0]
        grade = next(g for g in notebook.grades if g.name == f"test-{exercise}")
        grade.manual_score = score
        next(c for c in notebook.comments if c.name == exercise).manual_comment = comment
        book.db.commit()


def test_asked_and_answered(classroom):
    write_file(
        classroom.root / "requests.csv",
        f"{HEAD}ada,{LAB},softmax,It is right for {EVIL} axis 1.,\n",
    )
    open_page = softmax_row(classroom)
    assert (
        "You asked:</span> It is right for &lt;script&gt;" in open_page
        and "Answer:</span> not yet." in open_page
    )
    assert "0 of 2</span>" in open_page and "You asked" not in softmax_row(classroom, "bo")
    report = reported(classroom)
    row = report[report.index('id="asked"') :].split("</table>")[0]
    assert (
        "Ada Lovelace (ada)</th><td>qkv-attention</td><td><code>softmax</code>" in row
        and EVIL not in row
    )
    assert "Asked: It is right for" in describe_student(classroom, "ada", [lab(LAB)])

    give_mark(classroom, "softmax", 1.5, "For the formula.")
    write_file(
        classroom.root / "requests.csv",
        f"{HEAD}Ada Lovelace,{LAB},softmax,Is it right?,Half of it is.\n",
    )
    answered_page = softmax_row(classroom)
    assert (
        "You asked:</span> Is it right?" in answered_page
        and "Answer:</span> Half of it is." in answered_page
    )
    assert "points given by a person" in answered_page and "1.5 of 2</span>" in answered_page
    assert "For the formula.</blockquote>" in answered_page
    assert 'id="asked"' not in reported(classroom)

    # Judged again, to the same verdict and to another: the manual mark stands, for the answer is
    # the same.
    for wrong in (["softmax"], [], ["softmax", "attention_qkv"]):
        fill(
            classroom,
            {"ada": results("ada", wrong=wrong)},
            gradebook=classroom.root / "gradebook.db",
        )
        assert "1.5 of 2</span>" in softmax_row(classroom)
        write_report(classroom)
        rows = table((classroom.report / "grades.csv").read_text())
        (row,) = [row for row in rows if row["student_id"] == "ada"]
        assert float(row["raw_score"]) == 10 - 2 + 1.5 - (3 if "attention_qkv" in wrong else 0)


def test_two_requests_of_one_exercise_and_one_of_a_question(classroom):
    by_hand(classroom, "ada", 1)
    rows = f"ada,{LAB},softmax,First?,No.\nada,{LAB},softmax,Really?,\nada,{LAB},explain-flat,Why one?,\n"
    write_file(classroom.root / "requests.csv", HEAD + rows)
    page = softmax_row(classroom)
    assert page.index("First?") < page.index("No.") < page.index("Really?") < page.index("not yet.")
    question = read_question_marks(classroom, lab(LAB), "explain-flat")
    write_answers_page_and_marking_sheet(question, workers=1)
    assert "Why one?" in question.page.read_text("utf-8")


def test_it_is_in_the_form_for_canvas_and_in_no_report_without_names(classroom):
    from autograder.gradebook.regrade_requests import RegradeRequest
    from autograder.reports.student_page import FeedbackSummary, SummaryLine

    line = SummaryLine(
        "softmax",
        "✗",
        "not right yet",
        "0 of 2",
        requests=(RegradeRequest("Why?", ""),),
    )
    sheet = FeedbackSummary("c", "ada", "Ada", "t", LAB, "0 of 13 points", (), (line,))
    first = (
        nbformat.reads(
            make_canvas_feedback_notebook(sheet, lab(LAB), {"cells": []}),
            as_version=4,
        )
        .cells[0]
        .source
    )
    assert "> You asked: Why?\n>\n> Answer: not yet." in first
    write_file(classroom.root / "requests.csv", f"{HEAD}ada,{LAB},softmax,My name is Ada,\n")
    assert "My name is Ada" not in reported(classroom, anonymous=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "",
            "requests.csv has no column 'student'; its first line is Student,Lab,Exercise,Request,Answer.",
        ),
        ("Student,Lab,Request\n", "has no column 'exercise'"),
    ],
)
def test_a_list_that_cannot_be_used(classroom, text, sentence):
    write_file(classroom.root / "requests.csv", text)
    with pytest.raises(RegradeRequestError, match=re.escape(sentence)):
        write_report(classroom)


@pytest.mark.parametrize(
    ("bad_row", "sentence"),
    [
        (
            f"zoe,{LAB},softmax,Why?,",
            "requests.csv, 'Why?': nobody in the class is called 'zoe'. Write the name of the folder.",
        ),
        (f",{LAB},softmax,Why?,", "nobody in the class is called ''"),
        (
            "ada,lab-9,softmax,Why?,",
            "requests.csv, 'Why?': there is no lab 'lab-9'. The labs are additive-attention",
        ),
        (
            f"ada,{LAB},soft,Why?,",
            "qkv-attention has no exercise 'soft'. It has softmax, stable_softmax",
        ),
        ("ada", "there is no lab ''"),
        (
            f"John Smith,{LAB},softmax,Why?,",
            "2 students are called 'John Smith'. Write the name of the folder: 'js1' or 'js2'.",
        ),
    ],
)
def test_a_row_that_cannot_be_used_stops_nothing(classroom, bad_row, sentence):
    enrol(classroom, "Name,Login\nAda Lovelace,ada\nBo Li,bo\nJohn Smith,js1\nJohn Smith,js2\n")
    write_file(classroom.root / "requests.csv", f"{HEAD}{bad_row}\nada,{LAB},softmax,Good?,\n")
    (note,) = [note for note in write_report(classroom) if note.startswith("requests.csv")]
    assert sentence in note
    page = (classroom.report / "index.html").read_text("utf-8")
    assert "Rows of requests.csv that cannot be used (1)" in page
    assert "You asked:</span> Good?" in softmax_row(classroom)
    pages = write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent())
    assert pages.notes == [note] and not pages.failures


def test_a_folder_in_its_place(classroom):
    (classroom.root / "requests.csv").mkdir()
    with pytest.raises(
        RegradeRequestError,
        match=r"requests.csv cannot be read: It is not an ordinary file",
    ):
        write_report(classroom)


@pytest.mark.parametrize("excess", [0, 1])
def test_a_list_that_is_too_long_is_refused_and_not_cut(tmp_path, monkeypatch, excess):
    monkeypatch.setattr(regrade_requests, "MAX_REQUESTS_BYTES", 100_000)
    path = tmp_path / "requests.csv"
    row = f"ada,{LAB},softmax,Why?,\n"
    path.write_text((HEAD + row).rjust(100_000 + excess, "\n"))
    if excess:
        with pytest.raises(
            RegradeRequestError, match=r"requests\.csv has more than 0.1 MB\. Take out"
        ):
            regrade_requests._read_request_rows(path)
    else:
        assert [row["request"] for row in regrade_requests._read_request_rows(path)] == ["Why?"]


def test_as_spreadsheets_write_it(classroom):
    text = f'\ufeffStudent;Lab;Question;Request;Answer\r\nada;{LAB};softmax;"a;b";\r\n'
    write_file(classroom.root / "requests.csv", text.encode("utf-8"))
    assert "You asked:</span> a;b" in softmax_row(classroom)


def test_a_table_without_replies_has_open_requests(tmp_path):
    path = tmp_path / "requests.csv"
    path.write_text("Student,Lab,Question,Request\nada,a-lab,why,Please.\nbo,a-lab\n")
    assert regrade_requests._read_request_rows(path) == [
        {"student": "ada", "lab": "a-lab", "exercise": "why", "request": "Please.", "answer": ""},
        {"student": "bo", "lab": "a-lab", "exercise": "", "request": "", "answer": ""},
    ]
