"""Where the best attempt counts: whole, with its own time, and with the marks by hand given for its answers."""

import csv
from dataclasses import replace
from datetime import datetime

import nbformat
import pytest
from command import work_here
from our_course import COURSE, Silent, lab
from sample_class import perfect, with_answer, wrong_answer

from autograder.course import CourseError
from autograder.files import write
from autograder.grading.intake import collect
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import read_policy
from autograder.grading.reports.feedback import write_feedback
from autograder.grading.reports.page import write_report
from autograder.grading.run.grade import grade
from autograder.grading.run.pool import Options
from autograder.grading.sandbox.choice import why_unavailable

LAB = "additive-attention"  # alignment 4, attention 3, explain-tanh 3
BEST = {"attempts": "best", "penalty_per_day": 0.1}

pytestmark = [
    pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable()),
    pytest.mark.filterwarnings("ignore"),
]


def handed_in(*wrong, said="In my own words."):
    notebook = perfect(lab(LAB))
    for exercise in wrong:
        definition = lab(LAB).exercises[exercise]
        notebook = with_answer(notebook, exercise, wrong_answer(definition, definition.misconceptions[0]))
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = said
    return nbformat.writes(notebook).encode()


@pytest.fixture
def room(tmp_path, monkeypatch):
    work_here(monkeypatch.setattr)
    return Classroom(
        tmp_path / "class", replace(COURSE, policy=BEST, lab={LAB: {"due": datetime(2026, 11, 2, 18)}})
    )


def comes(room, student, when, data):
    """A hand-in as Blackboard gives it out, collected."""
    inbox = room.root.parent / f"inbox-{student}-{when}"
    write(inbox / f"{LAB}_{student}_attempt_{when}_{LAB}.ipynb", data)
    done = collect([inbox], room.root, COURSE.labs)
    assert done.exit_code == 0, done.summary


def marked(room, **options):
    return grade(room, [lab(LAB)], Options(), workers=1, put=lambda row: None, progress=Silent(), **options)


def table(room):
    write_report(room)
    with (room.report / "grades.csv").open(newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def by_hand(room, student, score):
    from nbgrader.api import Gradebook

    with Gradebook(room.db, COURSE.id) as book:
        grades = book.find_submission(LAB, student).notebooks[0].grades
        one = next(g for g in grades if g.name == "explain-tanh")
        one.manual_score, one.needs_manual_grade = score, False
        book.db.commit()


@pytest.mark.long
def test_the_best_attempt_counts_and_a_better_one_takes_its_place(room):
    comes(room, "ada", "2026-11-01-10-00-00", handed_in("attention"))  # 4
    comes(room, "ada", "2026-11-01-12-00-00", handed_in("alignment"))  # 3: attention is right in itself
    comes(room, "bo", "2026-11-01-10-00-00", handed_in())
    run = marked(room)
    assert not run.faults
    rows = table(room)
    assert (rows["ada"]["raw_score"], rows["bo"]["raw_score"]) == ("4.0", "7.0")
    assert rows["ada"]["timestamp"] == "2026-11-01 10:00:00"
    write_feedback(room, labs=[lab(LAB)], progress=Silent())
    page = (room.feedback / "ada" / LAB / f"{LAB}.html").read_text("utf-8")
    assert "Of your attempts an earlier one counts, which has more points than the newest." in page
    other = (room.feedback / "bo" / LAB / f"{LAB}.html").read_text("utf-8")
    assert "Of your attempts" not in other

    # A mark by hand belongs to the answer; a worse attempt, a broken one, and a run that changes nothing leave it.
    by_hand(room, "ada", 2)
    comes(room, "ada", "2026-11-01-13-00-00", handed_in("alignment", "attention", said="Another."))
    comes(room, "ada", "2026-11-01-14-00-00", b"no notebook at all")
    assert not marked(room).faults and table(room)["ada"]["score"] == "6.0"
    run = marked(room)
    assert (run.judged, run.kept) == (0, 2)

    comes(room, "ada", "2026-11-02-10-00-00", handed_in(said="Another."))
    assert not marked(room).faults
    row = table(room)["ada"]
    assert (row["raw_score"], row["state"], row["timestamp"]) == (
        "7.0",
        "waits for a person",
        "2026-11-02 10:00:00",
    )
    assert marked(room, force=True).judged == 2 and table(room)["ada"]["raw_score"] == "7.0"


@pytest.mark.long
def test_each_attempt_has_its_own_lateness(room):
    comes(room, "ada", "2026-11-02-17-00-00", handed_in("attention"))  # 4, in time
    comes(room, "ada", "2026-11-07-17-00-00", handed_in())  # 7, five days late: 7 − 5 × 0.7 = 3.5
    comes(room, "bo", "2026-11-02-17-00-00", handed_in("attention"))  # 4, in time
    comes(room, "bo", "2026-11-04-17-00-00", handed_in())  # 7, two days late: 7 − 1.4 = 5.6
    comes(room, "cy", "2026-11-03-17-00-00", handed_in())  # 7, a day late: 6.3
    comes(room, "cy", "2026-11-04-17-00-00", handed_in("alignment"))  # 3, two days late
    assert not marked(room).faults
    rows = table(room)
    known = ("raw_score", "late_submission_penalty")
    assert tuple(rows["ada"][k] for k in known) == ("4.0", "0.0")
    assert tuple(rows["bo"][k] for k in known) == ("7.0", "1.4")
    assert tuple(rows["cy"][k] for k in known) == ("7.0", "0.7")
    # More points for one exercise, and a due date moved: the choice follows at the next run, and nothing is judged
    # but the hand-in that counts now.
    room.course = replace(room.course, lab={LAB: {"due": datetime(2026, 11, 8, 18)}})
    assert marked(room).judged == 1
    assert table(room)["ada"]["raw_score"] == "7.0"


def test_the_last_counts_where_nothing_is_said(room):
    comes(room, "ada", "2026-11-01-10-00-00", handed_in())
    comes(room, "ada", "2026-11-01-12-00-00", handed_in("alignment"))
    assert not marked(room).faults and table(room)["ada"]["raw_score"] == "7.0"
    room.course = replace(room.course, policy={})
    assert not marked(room).faults and table(room)["ada"]["raw_score"] == "3.0"


@pytest.mark.long
def test_of_equal_ones_the_newest(room):
    comes(room, "ada", "2026-11-01-10-00-00", handed_in(said="First."))
    comes(room, "ada", "2026-11-01-12-00-00", handed_in(said="Second."))
    assert not marked(room).faults
    assert table(room)["ada"]["timestamp"] == "2026-11-01 12:00:00"


def test_a_link_among_the_attempts_is_none(room):
    comes(room, "ada", "2026-11-01-10-00-00", handed_in("alignment"))
    comes(room, "bo", "2026-11-01-10-00-00", handed_in())
    earlier = room.root / "submitted-earlier" / "ada" / LAB
    earlier.mkdir(parents=True)
    (earlier / "20261101T080000Z-0123456789ab.ipynb").symlink_to(room.submitted / "bo" / LAB / f"{LAB}.ipynb")
    write(
        room.result_path("ada", LAB, "counts"),
        "../../../submitted/bo/additive-attention/additive-attention.ipynb",
    )
    assert list(room.attempts("ada", LAB)) == [""]
    assert not marked(room).faults and table(room)["ada"]["raw_score"] == "3.0"


def test_another_word_is_refused():
    with pytest.raises(CourseError, match="attempts is 'first'; last or best is due"):
        read_policy(replace(COURSE, policy={"attempts": "first"}), {})
