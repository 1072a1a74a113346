"""A term: roster, three labs, two platforms, two attempts, lateness, an extension, a group, marks by hand, a drop.

    Monday      lab 1 comes from Blackboard: Ada hands in twice, Bo is late, Cy is as late with an extension
    Tuesday     lab 2 comes from Blackboard; afterwards its exercise `stable_softmax` is dropped
    Wednesday   lab 3 comes from Moodle: Ada and Bo are a group with one notebook; Di hands in nothing

What must come out is worked out by hand, a line of the final table at a time.
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
from autograder.grading.intake import collect
from autograder.grading.register.classroom import Classroom
from autograder.grading.reports.feedback import write_feedback
from autograder.grading.reports.giving_back import write_returns
from autograder.grading.reports.page import write_report
from autograder.grading.run.grade import grade
from autograder.grading.run.pool import Options
from autograder.grading.sandbox.choice import why_unavailable

ONE, TWO, THREE = LABS = ("additive-attention", "qkv-attention", "attention-masks")
ROSTER = """First name,Last name,Login,Extension,Group
Ada,Lovelace,ada,,Red
Bo,Li,bo,,Red
Cy,Twombly,cy,2 days,
Di,Prima,di,,
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable()),
    pytest.mark.filterwarnings("ignore"),
]


def handed_in(name, wrong=()):
    """A lab as a student hands it in, with the first known mistake in some exercises."""
    notebook = perfect(lab(name))
    for exercise in wrong:
        definition = lab(name).exercises[exercise]
        notebook = with_answer(notebook, exercise, wrong_answer(definition, definition.misconceptions[0]))
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = "In my own words."
    return nbformat.writes(notebook).encode()


def blackboard(name, login, when):
    return f"{name}_{login}_attempt_{when}_{name}.ipynb"


def marks_by_hand(room, name, question, given):
    """What the instructor types into the formgrader."""
    with Gradebook(room.db, COURSE.id) as book:
        for student, score in given.items():
            found = book.find_submission(name, student).notebooks[0].grades
            one = next(g for g in found if g.name == question)
            one.manual_score, one.needs_manual_grade = score, False
        book.db.commit()


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """The classroom at the end of the term, and what the last report wrote."""
    inbox = tmp_path_factory.mktemp("inbox")
    due = {ONE: {"due": datetime(2026, 11, 2, 18)}, TWO: {"due": datetime(2026, 11, 9, 18)}}
    course = replace(COURSE, policy={"penalty_per_day": 0.1}, lab=due)
    room = Classroom(tmp_path_factory.mktemp("class"), course)
    (room.root / "roster.csv").write_text(ROSTER)
    monday = {
        blackboard(ONE, "ada", "2026-11-01-10-00-00"): handed_in(ONE, ["alignment"]),
        blackboard(ONE, "ada", "2026-11-02-17-00-00"): handed_in(ONE),
        blackboard(ONE, "bo", "2026-11-03-19-00-00"): handed_in(ONE, ["attention"]),
        blackboard(ONE, "cy", "2026-11-03-19-00-00"): handed_in(ONE),
    }
    tuesday = {
        blackboard(TWO, login, "2026-11-09-12-00-00"): handed_in(TWO, wrong)
        for login, wrong in {"ada": ["stable_softmax"], "bo": ["softmax"], "cy": [], "di": []}.items()
    }
    wednesday = {
        f"Red_55_assignsubmission_file/{THREE}.ipynb": handed_in(THREE, ["causal_mask"]),
        f"Cy Twombly_57_assignsubmission_file/{THREE}.ipynb": handed_in(THREE),
    }
    grade_ids = labs_by_grade_id(read_labs(course))
    for number, members in enumerate((monday, tuesday, wednesday)):
        path = make_zip(inbox / f"{number}.zip", members)
        done = collect([path], room.root, course.labs, grade_ids=grade_ids)
        assert done.exit_code == 0, done.summary
    labs = [lab(name) for name in LABS]
    run = grade(room, labs, Options(), workers=1, put=lambda row: None, progress=Silent())
    assert not run.faults and run.judged == 10

    marks_by_hand(room, ONE, "explain-tanh", {"ada": 3, "bo": 2, "cy": 1})
    marks_by_hand(room, TWO, "explain-flat", {"ada": 3, "bo": 3, "di": 0})  # Cy's waits
    marks_by_hand(room, THREE, "explain-masks", {"ada": 4, "cy": 2})  # Ada's is Bo's as well
    room.course = replace(course, lab={**due, TWO: {**due[TWO], "dropped": ["stable_softmax"]}})
    pages = write_feedback(room, labs=labs, progress=Silent())
    assert not pages.failed and pages.made == 10
    failed = []
    list(write_returns(room, labs, failed))
    assert not failed
    return room, write_report(room)


def rows(room, name):
    with (room.report / name).open(newline="") as file:
        return list(csv.DictReader(file))


# student, lab: raw_score, late_submission_penalty, score, max_score, state
BY_HAND = {
    # right in all: alignment 4 + attention 3 + explained 3; her second attempt counts
    ("ada", ONE): ("10.0", "0.0", "10.0", "10.0", "complete"),
    # softmax 2 + weights 3 + attention 3 + explained 3; what was wrong, stable_softmax, is dropped
    ("ada", TWO): ("11.0", "0.0", "11.0", "11.0", "complete"),
    # causal_mask wrong; 2 + 2 + 3 + 3 + 2 for the rest, explained 4
    ("ada", THREE): ("16.0", "0.0", "16.0", "17.0", "complete"),
    # attention wrong; alignment 4 + explained 2; 25 hours late are two days begun: 2 × 10 % of 6
    ("bo", ONE): ("6.0", "1.2", "4.8", "10.0", "complete"),
    # softmax wrong, what builds on it right in itself: 3 + 3, explained 3
    ("bo", TWO): ("9.0", "0.0", "9.0", "11.0", "complete"),
    # Ada's notebook is Bo's, and so is the mark by hand that only Ada was given
    ("bo", THREE): ("16.0", "0.0", "16.0", "17.0", "complete"),
    # as late as Bo, but with two days more, so in time: 4 + 3, explained 1
    ("cy", ONE): ("8.0", "0.0", "8.0", "10.0", "complete"),
    # 2 + 3 + 3, and nobody has read the explanation: no grade yet
    ("cy", TWO): ("8.0", "0.0", "", "11.0", "waits for a person"),
    # 1 + 2 + 2 + 3 + 3 + 2, explained 2
    ("cy", THREE): ("15.0", "0.0", "15.0", "17.0", "complete"),
    ("di", ONE): ("", "", "", "10.0", "nothing handed in"),
    # 2 + 3 + 3, and a person has read the explanation and given nothing
    ("di", TWO): ("8.0", "0.0", "8.0", "11.0", "complete"),
    ("di", THREE): ("", "", "", "17.0", "nothing handed in"),
}


def test_the_final_table(term):
    columns = ("raw_score", "late_submission_penalty", "score", "max_score", "state")
    found = {
        (row["student_id"], row["assignment"]): tuple(row[name] for name in columns)
        for row in rows(term[0], "grades.csv")
    }
    assert found == BY_HAND


def test_its_order_and_its_other_columns(term):
    table = rows(term[0], "grades.csv")
    assert [row["last_name"] for row in table[::3]] == ["Li", "Lovelace", "Prima", "Twombly"]
    assert [row["assignment"] for row in table[:3]] == list(LABS)
    by_key = {(row["student_id"], row["assignment"]): row for row in table}
    assert by_key["bo", ONE]["hours_late"] == "25.0" and by_key["cy", ONE]["hours_late"] == ""
    assert by_key["cy", ONE]["extension"] == "48 h" and by_key["bo", ONE]["extension"] == ""
    assert by_key["bo", THREE]["group"] == "ada; bo" and by_key["cy", THREE]["group"] == ""


def test_the_way_back(term):
    room, written = term
    assert written[:2] == [
        f"Tables of marks beside it: grades.csv, moodle-{THREE}.csv, moodle.csv, blackboard.csv.",
        "1 grade waits for a mark by hand, and is left empty in the tables.",
    ]
    assert {row["Username"]: (row[ONE], row[TWO]) for row in rows(room, "blackboard.csv")} == {
        "ada": ("10.0", "11.0"),
        "bo": ("4.8", "9.0"),
        "cy": ("8.0", ""),
        "di": ("", "8.0"),
    }
    (cy,) = rows(room, f"moodle-{THREE}.csv")  # the group's number is nobody's own
    assert (cy["Identifier"], cy["Grade"]) == ("Participant 57", "15.0")
    assert (room.root / "returned" / f"{THREE}-moodle.zip").is_file()
    assert (room.root / "returned" / TWO / f"di-{TWO}.html").is_file()


def test_the_report(term):
    page = (term[0].report / "index.html").read_text("utf-8")
    needs = page[page.index('id="needs"') :]
    needs = needs[: needs.index("</table>")]
    assert f"Di Prima (di)</th><td>Has not handed in {ONE} and {THREE}." in needs
    assert "Dropped from qkv-attention, and worth nothing to anybody" in page
    assert f"Handed in together, with one mark for all: {THREE}: Ada Lovelace (ada), Bo Li (bo)." in page


def test_a_page(term):
    page = (term[0].feedback / "bo" / ONE / f"{ONE}.html").read_text("utf-8")
    assert (
        "Handed in on Tue 3 November 2026, 19:00 UTC; it was due on Mon 2 November 2026, 18:00 UTC." in page
    )
    assert "1 d 1 h late: 1.2 of 6 points are taken off." in page
