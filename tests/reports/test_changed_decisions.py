"""Marks after changes of course.toml and the roster, compared with marks computed here.

Twelve students submit two labs. Nothing is graded again: verdicts and manual grades stay as they
are, and only their points change.
"""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import graded_class
import pytest
from graded_class import enrol, fill, results
from nbgrader.api import Gradebook
from our_course import COURSE, lab

from autograder.gradebook.gradebook_writer import GradebookWriter, refresh_gradebook
from autograder.gradebook.policy import read_policy
from autograder.reports.marks import read_marks

pytestmark = pytest.mark.filterwarnings("ignore")

LABS = ("qkv-attention", "positions")
STUDENTS = [f"s{n:02}" for n in range(12)]
DUE_DATE = datetime(2026, 11, 20, 18, tzinfo=UTC)
HOURS = [-5, -1, 0, 0.1, 0.2, 1, 23, 25, 49, 100, 300, -30]  # after the due date, of each student
MANUAL_POINTS = [
    None,
    0,
    0.5,
    1,
    1.5,
    2,
    2.5,
    3,
    3,
    1,
    0.5,
    2,
]  # points of the question; the first is not graded


def manual_question(name):
    """Return the manually graded question of a lab, and its points."""
    ((question, points),) = lab(name).manual_questions.items()
    return question, points


def wrong_exercises(student, name):
    """Return the exercises that a student has wrong; students differ in them."""
    number = STUDENTS.index(student) + LABS.index(name)
    return [e for index, e in enumerate(lab(name).exercises) if number >> index & 1]


@pytest.fixture
def term(classroom, monkeypatch):
    """Classroom with automatic and manual grades."""
    classroom.root.mkdir(exist_ok=True)
    with GradebookWriter(classroom) as book:
        book.save_labs([lab(name) for name in LABS], read_policy(COURSE, {n: lab(n) for n in LABS}))
    for name in LABS:
        monkeypatch.setattr(graded_class, "LAB", name)
        for student, hours in zip(STUDENTS, HOURS, strict=True):
            time = f"{DUE_DATE + timedelta(hours=hours):%Y-%m-%d %H:%M:%S} UTC"
            submission = {student: results(student, wrong=wrong_exercises(student, name))}
            fill(classroom, submission, gradebook=classroom.root / "gradebook.db", timestamp=time)
    with Gradebook(classroom.db, COURSE.id) as book:
        for name in LABS:
            for student, points in zip(STUDENTS, MANUAL_POINTS, strict=True):
                notebook = book.find_submission(name, student).notebooks[0]
                grade = next(g for g in notebook.grades if g.name == manual_question(name)[0])
                grade.manual_score, grade.needs_manual_grade = points, points is None
        book.db.commit()
    return classroom


def compute_mark(student, name, policy, of_lab, extension=timedelta()):
    """Return the expected score, computed independently of the engine."""
    points = {e.name: e.points for e in lab(name).exercises.values()}
    question, whole = manual_question(name)
    points[question] = whole
    points |= of_lab.get("points", {})
    points |= dict.fromkeys(of_lab.get("dropped", ()), 0)
    raw = sum(points[e] for e in lab(name).exercises if e not in wrong_exercises(student, name))
    manual_points = MANUAL_POINTS[STUDENTS.index(student)]
    raw += (manual_points or 0) / whole * points[question]
    if "due" in of_lab:
        lateness = (
            DUE_DATE + timedelta(hours=HOURS[STUDENTS.index(student)]) - (of_lab["due"] + extension)
        )
        if lateness > timedelta(minutes=policy.get("grace", 0)):
            part = math.ceil(lateness / timedelta(days=1)) * policy.get("penalty_per_day", 0)
            raw -= raw * min(part, policy.get("most_penalty", 1))
    return raw


LAB_1, LAB_2 = LABS
TENTH = {"penalty_per_day": 0.1}
HALF = {**TENTH, "grace": 10, "most_penalty": 0.5}
QUESTION = "explain-flat"

CHANGES = [
    ("nothing is said", {}, {}),
    ("a due date for both", TENTH, {LAB_1: {"due": DUE_DATE}, LAB_2: {"due": DUE_DATE}}),
    (
        "ten minutes are granted, and half is the most",
        HALF,
        {LAB_1: {"due": DUE_DATE}, LAB_2: {"due": DUE_DATE}},
    ),
    (
        "one due date is a day later",
        HALF,
        {LAB_1: {"due": DUE_DATE + timedelta(days=1)}, LAB_2: {"due": DUE_DATE}},
    ),
    ("one due date is taken away", HALF, {LAB_2: {"due": DUE_DATE}}),
    ("the other as well", HALF, {}),
    ("an exercise is worth more", {}, {LAB_1: {"points": {"softmax": 7}}}),
    ("a question marked by hand is worth twice as much", {}, {LAB_1: {"points": {QUESTION: 6}}}),
    ("and now less than was given", {}, {LAB_1: {"points": {QUESTION: 2}}}),
    ("and now nothing", {}, {LAB_1: {"dropped": [QUESTION]}}),
    ("and now as at first", {}, {}),
    (
        "an exercise is dropped, late",
        TENTH,
        {LAB_1: {"due": DUE_DATE, "dropped": ["softmax"]}, LAB_2: {"due": DUE_DATE}},
    ),
    ("it counts again", TENTH, {LAB_1: {"due": DUE_DATE}, LAB_2: {"due": DUE_DATE}}),
]


def compare(term, description, policy, of_labs, students_with_extension=()):
    term.course = replace(COURSE, policy=policy, lab=of_labs)
    marks = read_marks(term, refresh_gradebook(term, {name: lab(name) for name in LABS})).marks
    for name in LABS:
        for student in STUDENTS:
            extension = timedelta(days=2) if student in students_with_extension else timedelta()
            expected_score = compute_mark(student, name, policy, of_labs.get(name, {}), extension)
            assert marks[student, name].score == pytest.approx(expected_score, abs=1e-5), (
                description,
                student,
                name,
            )
            assert marks[student, name].awaiting_manual_count == (
                student == "s00"
                and manual_question(name)[0] not in of_labs.get(name, {}).get("dropped", ())
            )


def test_each_changed_decision_gives_the_expected_marks(term):
    for description, policy, of_labs in CHANGES:
        compare(term, description, policy, of_labs)
    # Two days for two of them, by the roster; then the roster goes again.
    due_dates = {name: {"due": DUE_DATE} for name in LABS}
    enrol(
        term,
        "Login,Name,Extension\n"
        + "".join(f"{s},{s},{'2 days' if s in ('s07', 's09') else ''}\n" for s in STUDENTS),
    )
    compare(term, "an extension", TENTH, due_dates, students_with_extension=("s07", "s09"))
    (term.root / "roster.csv").unlink()
    compare(term, "no roster", TENTH, due_dates)
    compare(term, "and all over again", *CHANGES[0][1:])
    with Gradebook(term.db, COURSE.id) as book:
        for student, points in zip(STUDENTS, MANUAL_POINTS, strict=True):
            grades = book.find_submission(LAB_1, student).notebooks[0].grades
            assert next(g for g in grades if g.name == QUESTION).manual_score == (
                points if points is None else pytest.approx(points, abs=1e-9)
            )
