"""Twelve students, two labs, and an instructor who changes their mind: each mark beside one worked out here.

Nothing is judged in between: verdicts and marks by hand stay as they are, and what they are worth follows.
"""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import made
import pytest
from made import enrol, fill, results
from nbgrader.api import Gradebook
from our_course import COURSE, lab

from autograder.grading.nbgrader.gradebook import Book, refresh
from autograder.grading.register.policy import read_policy
from autograder.grading.reports.marks import read_marks

pytestmark = pytest.mark.filterwarnings("ignore")

LABS = ("qkv-attention", "positions")
STUDENTS = [f"s{n:02}" for n in range(12)]
DUE = datetime(2026, 11, 20, 18, tzinfo=UTC)
HOURS = [-5, -1, 0, 0.1, 0.2, 1, 23, 25, 49, 100, 300, -30]  # after the due date, of each student
GIVEN = [None, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3, 1, 0.5, 2]  # by hand; nobody has marked the first


def by_hand(name):
    """The question that a person marks, and its points."""
    ((question, points),) = lab(name).by_hand.items()
    return question, points


def wrong_of(student, name):
    """Which exercises a student has wrong: another choice for each."""
    number = STUDENTS.index(student) + LABS.index(name)
    return [e for at, e in enumerate(lab(name).exercises) if number >> at & 1]


@pytest.fixture
def term(classroom, monkeypatch):
    """The class, judged and marked by hand."""
    classroom.root.mkdir(exist_ok=True)
    with Book(classroom) as book:
        book.prepare([lab(name) for name in LABS], read_policy(COURSE, {n: lab(n) for n in LABS}))
    for name in LABS:
        monkeypatch.setattr(made, "LAB", name)
        for student, hours in zip(STUDENTS, HOURS, strict=True):
            at = f"{DUE + timedelta(hours=hours):%Y-%m-%d %H:%M:%S} UTC"
            marked = {student: results(student, wrong=wrong_of(student, name))}
            fill(classroom, marked, gradebook=classroom.root / "gradebook.db", timestamp=at)
    with Gradebook(classroom.db, COURSE.id) as book:
        for name in LABS:
            for student, given in zip(STUDENTS, GIVEN, strict=True):
                notebook = book.find_submission(name, student).notebooks[0]
                grade = next(g for g in notebook.grades if g.name == by_hand(name)[0])
                grade.manual_score, grade.needs_manual_grade = given, given is None
        book.db.commit()
    return classroom


def on_paper(student, name, policy, of_lab, extension=timedelta()):
    """A mark as one would work it out with a pencil."""
    points = {e.name: e.points for e in lab(name).exercises.values()}
    question, whole = by_hand(name)
    points[question] = whole
    points |= of_lab.get("points", {})
    points |= dict.fromkeys(of_lab.get("dropped", ()), 0)
    raw = sum(points[e] for e in lab(name).exercises if e not in wrong_of(student, name))
    given = GIVEN[STUDENTS.index(student)]
    raw += (given or 0) / whole * points[question]
    if "due" in of_lab:
        late = DUE + timedelta(hours=HOURS[STUDENTS.index(student)]) - (of_lab["due"] + extension)
        if late > timedelta(minutes=policy.get("grace", 0)):
            part = math.ceil(late / timedelta(days=1)) * policy.get("penalty_per_day", 0)
            raw -= raw * min(part, policy.get("most_penalty", 1))
    return raw


ONE, TWO = LABS
TENTH = {"penalty_per_day": 0.1}
HALF = {**TENTH, "grace": 10, "most_penalty": 0.5}
QUESTION = "explain-flat"

CHANGES = [
    ("nothing is said", {}, {}),
    ("a due date for both", TENTH, {ONE: {"due": DUE}, TWO: {"due": DUE}}),
    ("ten minutes are granted, and half is the most", HALF, {ONE: {"due": DUE}, TWO: {"due": DUE}}),
    ("one due date is a day later", HALF, {ONE: {"due": DUE + timedelta(days=1)}, TWO: {"due": DUE}}),
    ("one due date is taken away", HALF, {TWO: {"due": DUE}}),
    ("the other as well", HALF, {}),
    ("an exercise is worth more", {}, {ONE: {"points": {"softmax": 7}}}),
    ("a question marked by hand is worth twice as much", {}, {ONE: {"points": {QUESTION: 6}}}),
    ("and now less than was given", {}, {ONE: {"points": {QUESTION: 2}}}),
    ("and now nothing", {}, {ONE: {"dropped": [QUESTION]}}),
    ("and now as at first", {}, {}),
    ("an exercise is dropped, late", TENTH, {ONE: {"due": DUE, "dropped": ["softmax"]}, TWO: {"due": DUE}}),
    ("it counts again", TENTH, {ONE: {"due": DUE}, TWO: {"due": DUE}}),
]


def compare(term, what, policy, of_labs, extended=()):
    term.course = replace(COURSE, policy=policy, lab=of_labs)
    marks = read_marks(term, refresh(term, {name: lab(name) for name in LABS})).marks
    for name in LABS:
        for student in STUDENTS:
            more = timedelta(days=2) if student in extended else timedelta()
            paper = on_paper(student, name, policy, of_labs.get(name, {}), more)
            assert marks[student, name].score == pytest.approx(paper, abs=1e-5), (what, student, name)
            assert marks[student, name].awaits == (
                student == "s00" and by_hand(name)[0] not in of_labs.get(name, {}).get("dropped", ())
            )


def test_each_change_of_mind_gives_the_mark_on_paper(term):
    for what, policy, of_labs in CHANGES:
        compare(term, what, policy, of_labs)
    # Two days for two of them, by the roster; then the roster goes again.
    late = {name: {"due": DUE} for name in LABS}
    enrol(
        term,
        "Login,Name,Extension\n"
        + "".join(f"{s},{s},{'2 days' if s in ('s07', 's09') else ''}\n" for s in STUDENTS),
    )
    compare(term, "an extension", TENTH, late, extended=("s07", "s09"))
    (term.root / "roster.csv").unlink()
    compare(term, "no roster", TENTH, late)
    compare(term, "and all over again", *CHANGES[0][1:])
    with Gradebook(term.db, COURSE.id) as book:
        for student, given in zip(STUDENTS, GIVEN, strict=True):
            grades = book.find_submission(ONE, student).notebooks[0].grades
            assert next(g for g in grades if g.name == QUESTION).manual_score == (
                given if given is None else pytest.approx(given, abs=1e-9)
            )
