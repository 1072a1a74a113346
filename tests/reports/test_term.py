"""A whole term, from the downloads of two platforms to the final table.

    Monday      lab 1 comes from Blackboard: Ada submits twice, Bo is late, Cy is as late with an extension
    Tuesday     lab 2 comes from Blackboard; afterwards its exercise `stable_softmax` is dropped
    Wednesday   lab 3 comes from Moodle: Ada and Bo are a group with one notebook; Di submits nothing

The expected rows of the final table are computed by hand.
"""

import csv
from dataclasses import replace
from datetime import datetime

import nbformat
import pytest
from downloads import make_zip
from nbgrader.api import Gradebook
from our_course import COURSE, Silent, lab
from sample_class import perfect, with_answer, wrong_answer

from autograder.authoring.lab import labs_by_grade_id, read_labs
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.graded_submission import GradingOptions
from autograder.grading.run import grade_class
from autograder.intake import collect
from autograder.reports.class_page import write_report
from autograder.reports.feedback_pages import write_feedback_pages
from autograder.reports.feedback_zips import write_feedback_archives
from autograder.sandbox.choice import explain_unavailability

LAB_1, LAB_2, LAB_3 = LABS = ("additive-attention", "qkv-attention", "attention-masks")
ROSTER = """First name,Last name,Login,Extension,Group
Ada,Lovelace,ada,,Red
Bo,Li,bo,,Red
Cy,Twombly,cy,2 days,
Di,Prima,di,,
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(explain_unavailability()), reason=explain_unavailability()),
    pytest.mark.filterwarnings("ignore"),
]


def submitted_notebook(name, wrong=()):
    """Return a submission, with the first known misconception in some exercises."""
    notebook = perfect(lab(name))
    for exercise in wrong:
        definition = lab(name).exercises[exercise]
        notebook = with_answer(
            notebook, exercise, wrong_answer(definition, definition.misconceptions[0])
        )
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = "In my own words."
    return nbformat.writes(notebook).encode()


def blackboard(name, login, time):
    return f"{name}_{login}_attempt_{time}_{name}.ipynb"


def grade_manually(room, name, question, scores):
    """Give manual grades as nbgrader's formgrader does."""
    with Gradebook(room.db, COURSE.id) as book:
        for student, score in scores.items():
            grades = book.find_submission(name, student).notebooks[0].grades
            grade = next(g for g in grades if g.name == question)
            grade.manual_score, grade.needs_manual_grade = score, False
        book.db.commit()


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """Classroom at the end of the term, and the sentences of the last report."""
    inbox = tmp_path_factory.mktemp("inbox")
    due_dates = {
        LAB_1: {"due": datetime(2026, 11, 2, 18)},
        LAB_2: {"due": datetime(2026, 11, 9, 18)},
    }
    course = replace(COURSE, policy={"penalty_per_day": 0.1}, lab=due_dates)
    room = Classroom(tmp_path_factory.mktemp("class"), course)
    (room.root / "roster.csv").write_text(ROSTER)
    monday = {
        blackboard(LAB_1, "ada", "2026-11-01-10-00-00"): submitted_notebook(LAB_1, ["alignment"]),
        blackboard(LAB_1, "ada", "2026-11-02-17-00-00"): submitted_notebook(LAB_1),
        blackboard(LAB_1, "bo", "2026-11-03-19-00-00"): submitted_notebook(LAB_1, ["attention"]),
        blackboard(LAB_1, "cy", "2026-11-03-19-00-00"): submitted_notebook(LAB_1),
    }
    tuesday = {
        blackboard(LAB_2, login, "2026-11-09-12-00-00"): submitted_notebook(LAB_2, wrong)
        for login, wrong in {
            "ada": ["stable_softmax"],
            "bo": ["softmax"],
            "cy": [],
            "di": [],
        }.items()
    }
    wednesday = {
        f"Red_55_assignsubmission_file/{LAB_3}.ipynb": submitted_notebook(LAB_3, ["causal_mask"]),
        f"Cy Twombly_57_assignsubmission_file/{LAB_3}.ipynb": submitted_notebook(LAB_3),
    }
    grade_ids = labs_by_grade_id(read_labs(course))
    for number, members in enumerate((monday, tuesday, wednesday)):
        path = make_zip(inbox / f"{number}.zip", members)
        collection = collect([path], room.root, course.labs, grade_ids=grade_ids)
        assert collection.exit_code == 0, collection.summary
    labs = [lab(name) for name in LABS]
    run = grade_class(
        room, labs, GradingOptions(), workers=1, on_result=lambda row: None, progress=Silent()
    )
    assert not run.faults and run.newly_graded == 10

    grade_manually(room, LAB_1, "explain-tanh", {"ada": 3, "bo": 2, "cy": 1})
    grade_manually(room, LAB_2, "explain-flat", {"ada": 3, "bo": 3, "di": 0})  # Cy's waits
    grade_manually(room, LAB_3, "explain-masks", {"ada": 4, "cy": 2})  # Ada's is Bo's as well
    room.course = replace(
        course, lab={**due_dates, LAB_2: {**due_dates[LAB_2], "dropped": ["stable_softmax"]}}
    )
    pages = write_feedback_pages(room, labs=labs, progress=Silent())
    assert not pages.failures and pages.written_count == 10
    failures = []
    list(write_feedback_archives(room, labs, failures))
    assert not failures
    return room, write_report(room)


def rows(room, name):
    with (room.report / name).open(newline="") as file:
        return list(csv.DictReader(file))


# student, lab: raw_score, late_submission_penalty, score, max_score, state
EXPECTED_ROWS = {
    # right in all: alignment 4 + attention 3 + explained 3; her second attempt counts
    ("ada", LAB_1): ("10.0", "0.0", "10.0", "10.0", "complete"),
    # softmax 2 + weights 3 + attention 3 + explained 3; what was wrong, stable_softmax, is dropped
    ("ada", LAB_2): ("11.0", "0.0", "11.0", "11.0", "complete"),
    # causal_mask wrong; 2 + 2 + 3 + 3 + 2 for the rest, explained 4
    ("ada", LAB_3): ("16.0", "0.0", "16.0", "17.0", "complete"),
    # attention wrong; alignment 4 + explained 2; 25 hours late are two days begun: 2 × 10 % of 6
    ("bo", LAB_1): ("6.0", "1.2", "4.8", "10.0", "complete"),
    # softmax wrong, what builds on it right in itself: 3 + 3, explained 3
    ("bo", LAB_2): ("9.0", "0.0", "9.0", "11.0", "complete"),
    # Ada's notebook is Bo's, and so is the mark by hand that only Ada was given
    ("bo", LAB_3): ("16.0", "0.0", "16.0", "17.0", "complete"),
    # as late as Bo, but with two days more, so in time: 4 + 3, explained 1
    ("cy", LAB_1): ("8.0", "0.0", "8.0", "10.0", "complete"),
    # 2 + 3 + 3, and nobody has read the explanation: no grade yet
    ("cy", LAB_2): ("8.0", "0.0", "", "11.0", "awaiting manual grading"),
    # 1 + 2 + 2 + 3 + 3 + 2, explained 2
    ("cy", LAB_3): ("15.0", "0.0", "15.0", "17.0", "complete"),
    ("di", LAB_1): ("", "", "", "10.0", "nothing submitted"),
    # 2 + 3 + 3, and a person has read the explanation and given nothing
    ("di", LAB_2): ("8.0", "0.0", "8.0", "11.0", "complete"),
    ("di", LAB_3): ("", "", "", "17.0", "nothing submitted"),
}


def test_the_final_table(term):
    columns = ("raw_score", "late_submission_penalty", "score", "max_score", "state")
    table = {
        (row["student_id"], row["assignment"]): tuple(row[name] for name in columns)
        for row in rows(term[0], "grades.csv")
    }
    assert table == EXPECTED_ROWS


def test_its_order_and_its_other_columns(term):
    table = rows(term[0], "grades.csv")
    assert [row["last_name"] for row in table[::3]] == ["Li", "Lovelace", "Prima", "Twombly"]
    assert [row["assignment"] for row in table[:3]] == list(LABS)
    by_key = {(row["student_id"], row["assignment"]): row for row in table}
    assert by_key["bo", LAB_1]["hours_late"] == "25.0" and by_key["cy", LAB_1]["hours_late"] == ""
    assert by_key["cy", LAB_1]["extension"] == "48 h" and by_key["bo", LAB_1]["extension"] == ""
    assert by_key["bo", LAB_3]["group"] == "ada; bo" and by_key["cy", LAB_3]["group"] == ""


def test_tables_and_archives_for_the_platforms(term):
    room, sentences = term
    assert sentences[:2] == [
        f"Tables of marks beside it: grades.csv, moodle-{LAB_3}.csv, moodle.csv, blackboard.csv.",
        "1 grade awaits manual grading, and is left empty in the tables.",
    ]
    assert {row["Username"]: (row[LAB_1], row[LAB_2]) for row in rows(room, "blackboard.csv")} == {
        "ada": ("10.0", "11.0"),
        "bo": ("4.8", "9.0"),
        "cy": ("8.0", ""),
        "di": ("", "8.0"),
    }
    (cy,) = rows(room, f"moodle-{LAB_3}.csv")  # the group's number is nobody's own
    assert (cy["Identifier"], cy["Grade"]) == ("Participant 57", "15.0")
    assert (room.root / "returned" / f"{LAB_3}-moodle.zip").is_file()
    assert (room.root / "returned" / LAB_2 / f"di-{LAB_2}.html").is_file()


def test_the_report(term):
    page = (term[0].report / "index.html").read_text("utf-8")
    needs = page[page.index('id="needs"') :]
    needs = needs[: needs.index("</table>")]
    assert f"Di Prima (di)</th><td>Has not submitted {LAB_1} and {LAB_3}." in needs
    assert "Dropped from qkv-attention, and worth nothing to anybody" in page
    assert (
        f"Submitted together, with one mark for all: {LAB_3}: Ada Lovelace (ada), Bo Li (bo)."
        in page
    )


def test_a_page(term):
    page = (term[0].feedback / "bo" / LAB_1 / f"{LAB_1}.html").read_text("utf-8")
    assert (
        "Submitted on Tue 3 November 2026, 19:00 UTC; it was due on Mon 2 November 2026, 18:00 UTC."
        in page
    )
    assert "1 d 1 h late: 1.2 of 6 points are taken off." in page
