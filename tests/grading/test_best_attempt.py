"""Tests of the best attempt: it counts whole, with its own time and manual marks."""

import csv
from dataclasses import replace
from datetime import datetime, timedelta

import nbformat
import pytest
from command import work_here
from nbgrader.api import Gradebook
from our_course import COURSE, Silent, lab
from sample_class import perfect, with_answer, wrong_answer

from autograder.core.course import CourseError
from autograder.core.files import write_file
from autograder.core.results import Result, Verdict
from autograder.gradebook.attempt_choice import find_best_attempt, read_attempt_index
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.deadlines import Deadlines
from autograder.gradebook.graded_submission import GradedSubmission, GradingOptions
from autograder.gradebook.policy import Policy, read_policy
from autograder.grading.best_attempt import choose_best_attempts
from autograder.grading.run import grade_class
from autograder.intake import collect
from autograder.reports.class_page import build_report, write_report
from autograder.reports.feedback_pages import write_feedback_pages
from autograder.reports.platform_csv import format_grades_csv
from autograder.sandbox.choice import explain_unavailability

LAB = "additive-attention"  # alignment 4, attention 3, explain-tanh 3
BEST = {"attempts": "best", "penalty_per_day": 0.1}

pytestmark = [
    pytest.mark.skipif(bool(explain_unavailability()), reason=explain_unavailability()),
    pytest.mark.filterwarnings("ignore"),
]


def make_submission(*wrong, text="In my own words."):
    notebook = perfect(lab(LAB))
    for exercise in wrong:
        definition = lab(LAB).exercises[exercise]
        notebook = with_answer(
            notebook,
            exercise,
            wrong_answer(definition, definition.misconceptions[0]),
        )
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = text
    return nbformat.writes(notebook).encode()


@pytest.fixture
def classroom(tmp_path, monkeypatch):
    work_here(monkeypatch.setattr)
    return Classroom(
        tmp_path / "class",
        replace(
            COURSE,
            policy=BEST,
            lab={LAB: {"due": datetime(2026, 11, 2, 18)}},
        ),
    )


def collect_attempt(classroom, student, time, data):
    """Collect a submission from a file with Blackboard's name for it."""
    inbox = classroom.root.parent / f"inbox-{student}-{time}"
    write_file(inbox / f"{LAB}_{student}_attempt_{time}_{LAB}.ipynb", data)
    report = collect([inbox], classroom.root, COURSE.labs)
    assert report.exit_code == 0, report.summary


def grade(classroom, **options):
    return grade_class(
        classroom,
        [lab(LAB)],
        GradingOptions(),
        workers=1,
        on_result=lambda row: None,
        progress=Silent(),
        **options,
    )


def table(classroom):
    """Return the rows of the report's grades.csv by student."""
    text = format_grades_csv(build_report(classroom).marks)
    return {row["student_id"]: row for row in csv.DictReader(text.splitlines())}


def give_manual_mark(classroom, student, score):
    with Gradebook(classroom.db, COURSE.id) as book:
        grades = book.find_submission(LAB, student).notebooks[0].grades
        grade_entry = next(g for g in grades if g.name == "explain-tanh")
        grade_entry.manual_score, grade_entry.needs_manual_grade = score, False
        book.db.commit()


@pytest.mark.long
def test_the_best_attempt_counts_and_a_better_one_takes_its_place(classroom):
    collect_attempt(classroom, "ada", "2026-11-01-10-00-00", make_submission("attention"))  # 4
    collect_attempt(
        classroom, "ada", "2026-11-01-12-00-00", make_submission("alignment")
    )  # 3: attention is right in itself
    collect_attempt(classroom, "bo", "2026-11-01-10-00-00", make_submission())
    run = grade(classroom)
    assert not run.faults
    rows = table(classroom)
    assert (rows["ada"]["raw_score"], rows["bo"]["raw_score"]) == ("4.0", "7.0")
    assert rows["ada"]["timestamp"] == "2026-11-01 10:00:00"
    write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent())
    page = (classroom.feedback / "ada" / LAB / f"{LAB}.html").read_text("utf-8")
    assert "An earlier attempt of yours counts, since it has more automatic points" in page
    other_page = (classroom.feedback / "bo" / LAB / f"{LAB}.html").read_text("utf-8")
    assert "An earlier attempt" not in other_page

    # A manual mark belongs to the answer; a worse attempt, a broken one, and a run that changes
    # nothing leave it.
    give_manual_mark(classroom, "ada", 2)
    collect_attempt(
        classroom,
        "ada",
        "2026-11-01-13-00-00",
        make_submission(
            "alignment",
            "attention",
            text="Another.",
        ),
    )
    collect_attempt(classroom, "ada", "2026-11-01-14-00-00", b"no notebook at all")
    assert not grade(classroom).faults and table(classroom)["ada"]["score"] == "6.0"
    run = grade(classroom)
    assert (run.newly_graded, run.from_cache) == (0, 2)

    collect_attempt(classroom, "ada", "2026-11-02-10-00-00", make_submission(text="Another."))
    assert not grade(classroom).faults
    row = table(classroom)["ada"]
    assert (row["raw_score"], row["state"], row["timestamp"]) == (
        "7.0",
        "awaiting manual grading",
        "2026-11-02 10:00:00",
    )
    assert (
        grade(
            classroom,
            force=True,
        ).newly_graded
        == 2
        and table(classroom)["ada"]["raw_score"] == "7.0"
    )


@pytest.mark.long
def test_each_attempt_has_its_own_lateness(classroom):
    # 4, in time
    collect_attempt(classroom, "ada", "2026-11-02-17-00-00", make_submission("attention"))
    collect_attempt(
        classroom, "ada", "2026-11-07-17-00-00", make_submission()
    )  # 7, five days late: 7 − 5 × 0.7 = 3.5
    # 4, in time
    collect_attempt(classroom, "bo", "2026-11-02-17-00-00", make_submission("attention"))
    collect_attempt(
        classroom, "bo", "2026-11-04-17-00-00", make_submission()
    )  # 7, two days late: 7 − 1.4 = 5.6
    collect_attempt(classroom, "cy", "2026-11-03-17-00-00", make_submission())  # 7, a day late: 6.3
    # 3, two days late
    collect_attempt(classroom, "cy", "2026-11-04-17-00-00", make_submission("alignment"))
    assert not grade(classroom).faults
    rows = table(classroom)
    columns = ("raw_score", "late_submission_penalty")
    assert tuple(rows["ada"][k] for k in columns) == ("4.0", "0.0")
    assert tuple(rows["bo"][k] for k in columns) == ("7.0", "1.4")
    assert tuple(rows["cy"][k] for k in columns) == ("7.0", "0.7")
    # More points for one exercise, and a due date moved: the choice follows at the next run, and
    # nothing is judged but the submission that counts now.
    classroom.course = replace(classroom.course, lab={LAB: {"due": datetime(2026, 11, 8, 18)}})
    assert grade(classroom).newly_graded == 1
    assert table(classroom)["ada"]["raw_score"] == "7.0"


def test_the_last_counts_where_nothing_is_said(classroom):
    collect_attempt(classroom, "ada", "2026-11-01-10-00-00", make_submission())
    collect_attempt(classroom, "ada", "2026-11-01-12-00-00", make_submission("alignment"))
    assert not grade(classroom).faults and table(classroom)["ada"]["raw_score"] == "7.0"
    classroom.course = replace(classroom.course, policy={})
    assert not grade(classroom).faults and table(classroom)["ada"]["raw_score"] == "3.0"


@pytest.mark.long
def test_the_report_follows_a_change_of_the_policy_and_manual_marks_stay(classroom):
    """Ada's attempts earn 4 in time, or 7 five days late, which is 3.5; nothing is graded again."""
    collect_attempt(classroom, "ada", "2026-11-02-17-00-00", make_submission("attention"))
    collect_attempt(classroom, "ada", "2026-11-07-17-00-00", make_submission(text="Another."))
    assert not grade(classroom).faults
    give_manual_mark(classroom, "ada", 2)

    def row():
        columns = ("raw_score", "score", "state", "timestamp")
        row_of_ada = table(classroom)["ada"]
        return tuple(row_of_ada[column] for column in columns)

    first = ("6.0", "6.0", "complete", "2026-11-02 17:00:00")
    newest = ("7.0", "", "awaiting manual grading", "2026-11-07 17:00:00")
    assert row() == first
    course = classroom.course
    changes = (
        {"policy": {"penalty_per_day": 0.1}},
        {"lab": {LAB: {"due": datetime(2026, 11, 2, 18), "points": {"attention": 9}}}},
        {"lab": {LAB: {"due": datetime(2026, 11, 8, 18)}}},
    )
    for change in changes:
        classroom.course = replace(course, **change)
        assert row()[2:] == newest[2:], change
        pages = write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent())
        page = (classroom.feedback / "ada" / LAB / f"{LAB}.html").read_text("utf-8")
        assert not pages.notes and "An earlier attempt of yours" not in page and "Another." in page
        classroom.course = course
        assert row() == first
    classroom.course = replace(course, policy={"penalty_per_day": 0.1})
    assert row() == newest
    assert grade(classroom).newly_graded == 0 and row() == newest
    # The newest attempt gets a mark of its own: each keeps its mark.
    give_manual_mark(classroom, "ada", 3)
    classroom.course = course
    assert row() == first
    classroom.course = replace(course, policy={"penalty_per_day": 0.1})
    assert row()[:3] == ("10.0", "5.0", "complete")


@pytest.mark.long
def test_the_report_says_that_attempts_are_not_graded_yet(classroom):
    classroom.course = replace(classroom.course, policy={})
    collect_attempt(classroom, "ada", "2026-11-01-10-00-00", make_submission())
    collect_attempt(classroom, "ada", "2026-11-01-12-00-00", make_submission("alignment"))
    assert not grade(classroom).faults
    assert not any("attempt" in note for note in write_report(classroom))
    classroom.course = replace(classroom.course, policy={"attempts": "best"})
    sentence = (
        "Not every attempt is graded yet, so it is not known which one is the best for 1 submission: "
        "run `autograder grade`."
    )
    assert sentence in write_report(classroom)
    pages = write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent())
    assert sentence in pages.notes
    grade(classroom)
    assert sentence not in write_report(classroom) and table(classroom)["ada"]["raw_score"] == "7.0"


@pytest.mark.parametrize("extension", [None, timedelta(days=6)])
@pytest.mark.long
def test_the_formgraders_due_dates_and_extensions_count_for_the_choice(classroom, extension):
    """Only the gradebook has a due date: 4 points in time, or 7 five days late, which is 3.5."""
    classroom.course = replace(classroom.course, lab={})
    collect_attempt(classroom, "ada", "2026-11-02-17-00-00", make_submission("attention"))
    assert not grade(classroom).faults
    with Gradebook(classroom.db, COURSE.id) as book:
        book.find_assignment(LAB).duedate = datetime(2026, 11, 2, 18)
        book.find_submission(LAB, "ada").extension = extension
        book.db.commit()
    collect_attempt(classroom, "ada", "2026-11-07-17-00-00", make_submission())
    assert not grade(classroom).faults
    assert table(classroom)["ada"]["raw_score"] == ("7.0" if extension else "4.0")


@pytest.mark.long
def test_of_equal_ones_the_newest(classroom):
    collect_attempt(classroom, "ada", "2026-11-01-10-00-00", make_submission(text="First."))
    collect_attempt(classroom, "ada", "2026-11-01-12-00-00", make_submission(text="Second."))
    assert not grade(classroom).faults
    assert table(classroom)["ada"]["timestamp"] == "2026-11-01 12:00:00"


@pytest.mark.long
def test_a_link_among_the_attempts_is_none(classroom):
    collect_attempt(classroom, "ada", "2026-11-01-10-00-00", make_submission("alignment"))
    collect_attempt(classroom, "bo", "2026-11-01-10-00-00", make_submission())
    earlier = classroom.root / "submitted-earlier" / "ada" / LAB
    earlier.mkdir(parents=True)
    (earlier / "20261101T080000Z-0123456789ab.ipynb").symlink_to(
        classroom.submitted / "bo" / LAB / f"{LAB}.ipynb"
    )
    write_file(
        classroom.result_path("ada", LAB, "counts"),
        "../../../submitted/bo/additive-attention/additive-attention.ipynb",
    )
    assert list(classroom.read_attempts("ada", LAB)) == [""]
    assert not grade(classroom).faults and table(classroom)["ada"]["raw_score"] == "3.0"


@pytest.mark.parametrize("is_faulty", [False, True])
def test_an_attempt_that_the_grader_has_failed_on_is_graded_again(classroom, is_faulty):
    for day, data in ((1, make_submission("alignment")), (2, make_submission())):
        collect_attempt(classroom, "ada", f"2026-11-0{day}-10-00-00", data)
    verdict = Verdict.FAULT if is_faulty else Verdict.WRONG
    result = Result(lab=LAB, exercise="attention", max_score=3, verdict=verdict)
    graded = GradedSubmission((result,), nbformat.v4.new_notebook())

    class FaultyPool:
        def grade_all(self, submissions):
            return [(submission, graded) for submission in submissions]

    policy = read_policy(classroom.course, {LAB: lab(LAB)})
    keys, options = [("ada", LAB)], GradingOptions()
    notes = list(
        choose_best_attempts(classroom, {LAB: lab(LAB)}, keys, policy, FaultyPool(), options)
    )
    problem = f"ada, {LAB}: one of several attempts could not be judged, and is no choice yet."
    assert notes == [problem, problem] * is_faulty
    assert len(read_attempt_index(classroom, "ada", LAB)) == 2 * (not is_faulty)


def test_another_word_is_refused():
    with pytest.raises(CourseError, match="attempts is 'first'; last or best is expected"):
        read_policy(replace(COURSE, policy={"attempts": "first"}), {})


def test_an_attempt_that_is_right_in_part_counts_its_points():
    policy = Policy(points={LAB: {"alignment": 4.0, "attention": 3.0}}, best_attempt=True)
    attempts = {"": (None, {"attention": 1.0}), "earlier": (None, {"alignment": 0.8})}
    assert find_best_attempt(("ada", LAB), attempts, policy, Deadlines()) == "earlier"


@pytest.mark.long
def test_the_report_takes_over_a_time_that_collect_has_corrected(classroom):
    """`collect --timezone` corrects times; a newer notebook that is not graded changes none."""
    classroom.course = replace(classroom.course, policy={})
    collect_attempt(classroom, "ada", "2026-11-02-18-30-00", make_submission("attention"))
    assert not grade(classroom).faults
    assert table(classroom)["ada"]["timestamp"] == "2026-11-02 18:30:00"
    path = classroom.submitted / "ada" / LAB / "timestamp.txt"
    path.write_text("2026-11-02 17:30:00 UTC\n")
    assert table(classroom)["ada"]["timestamp"] == "2026-11-02 17:30:00"
    collect_attempt(classroom, "ada", "2026-11-03-10-00-00", make_submission())
    assert table(classroom)["ada"]["timestamp"] == "2026-11-02 17:30:00"
    assert not grade(classroom).faults
    assert table(classroom)["ada"]["timestamp"] == "2026-11-03 10:00:00"
