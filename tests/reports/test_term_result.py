"""A term of four labs for twelve students, worked out on paper beside what the program says.

    lab                weight  points  due            its exercises, and the question that a person marks
    additive-attention      1      10  2 November     alignment 4, attention 3; 3
    qkv-attention           2      13  9 November     softmax 2, stable_softmax 2, weights 3, attention 3; 3
    attention-masks         1      17  16 November    1 + 2 + 2 + 3 + 3 + 2 = 13; 4
    positions               2      14  30 November    sinusoids 3, shift 2, rotate 3, alibi 2; 4

The best three labs count. Each day begun late takes off a tenth, ten minutes are forgiven. It is 20 November, so the
first three labs are due. Nothing of what is expected below is computed by a program.
"""

import csv
import html
import re
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import made
import pytest
from command import autograder
from made import enrol, fill, reported, results, well_formed
from nbgrader.api import Gradebook
from our_course import COURSE, lab

from autograder.course import CourseError
from autograder.grading.nbgrader.gradebook import Book
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import read_policy
from autograder.grading.reports.giving_back import write_returns
from autograder.grading.reports.marks import read_marks
from autograder.grading.reports.page import write_report
from autograder.grading.reports.show import describe_student
from autograder.grading.reports.term import Counts, Part, best_of, read_rules, terms_of, write_pages

pytestmark = pytest.mark.filterwarnings("ignore")

ONE, TWO, THREE, FOUR = LABS = ("additive-attention", "qkv-attention", "attention-masks", "positions")
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
AFTER = datetime(2026, 12, 1, 12, tzinfo=UTC)
DUE = dict(zip(LABS, (datetime(2026, 11, day, 18) for day in (2, 9, 16, 30)), strict=True))
TERM = {
    "weights": {
        TWO: 2,
        FOUR: 2,
        "multi-head-attention": 0,
        "learning-to-align": 0,
        "long-contexts": 0,
        "tiny-transformer": 0,
        "training": 0,
        "keras-attention": 0,
    },
    "best": 3,
    "grades": {"A": 90, "B": 80, "C": 65, "D": 50, "F": 0},
}
ROSTER = """First name,Last name,Login,ID,SID,Email,Status,Extension attention-masks
Ada,A,ada,1,s1,ada@x,,
Bo,B,bo,2,s2,bo@x,,
Cy,C,cy,3,s3,cy@x,,
Di,D,di,4,s4,di@x,,
Ed,E,ed,5,s5,ed@x,,
Fi,F,fi,6,s6,fi@x,,
Gu,G,gu,7,s7,gu@x,,10 days
Ha,H,ha,8,s8,ha@x,,
Io,I,io,9,s9,io@x,,
Jo,J,jo,10,s10,jo@x,,
Ka,K,ka,11,s11,ka@x,,
Li,L,li,12,s12,li@x,,
Mo,M,mo,13,s13,mo@x,withdrawn,
"""

# What each handed in: the lab, the exercises that are wrong, what a person gave; and when, if not two days early.
HANDED_IN = {
    "ada": [(ONE, [], 3), (TWO, [], 3), (THREE, [], 4), (FOUR, [], 4)],
    "bo": [(ONE, ["attention"], 3), (TWO, ["stable_softmax"], 3), (THREE, [], 2)],
    "cy": [(ONE, [], 3), (TWO, [], 0), (FOUR, ["rotate"], 4)],
    "di": [],
    "ed": [(ONE, [], 1), (TWO, [], None), (THREE, [], 4)],
    "fi": [(ONE, [], 3, "2026-11-03 19:00:00 UTC"), (TWO, [], 3), (THREE, [], 4)],
    "gu": [(ONE, [], 3), (TWO, [], 1.5)],
    "ha": [(ONE, ["alignment", "attention"], 2.94), (TWO, [], 3), (THREE, [], 4)],
    "io": [
        (ONE, [], 3),
        (TWO, ["stable_softmax"], 0),
        (THREE, ["dot_product_attention"], 0.2),
        (FOUR, ["rotate"], 4),
    ],
    "jo": [(ONE, ["alignment", "attention"], 2.9), (TWO, [], 3), (THREE, [], 4)],
    "ka": [
        (ONE, [], 3, "2026-11-02 18:05:00 UTC"),
        (TWO, [], 3),
        (THREE, ["masked_softmax", "causal_mask"], 3.75),
    ],
    "li": [(FOUR, [], 4)],
    "mo": [(ONE, [], 3)],
}

# By hand: result, grade, the labs not among the best three, those that count as 0, those that wait.
ON_PAPER = {
    # 10/10, 13/13, 17/17, 14/14: all are 100, and of equal labs the first three count
    "ada": ("100.0", "A", FOUR, "", ""),
    # 4 + 3 = 7 of 10: 70.  2 + 3 + 3 + 3 = 11 of 13: 84.615385.  13 + 2 = 15 of 17: 88.235294.  positions is not due
    # (1·70 + 2·84.615385 + 1·88.235294) / 4 = 327.466064 / 4 = 81.866516
    "bo": ("81.9", "B", "", "", ""),
    # 100; 10 of 13: 76.923077; masks 0; 3 + 2 + 2 + 4 = 11 of 14: 78.571429, handed in before it is due
    # without masks: (1·100 + 2·76.923077 + 2·78.571429) / 5 = 410.989012 / 5 = 82.197802
    "cy": ("82.2", "B", THREE, "", ""),
    # nothing: (1·0 + 2·0 + 1·0) / 4
    "di": ("0.0", "F", "", f"{ONE}; {TWO}; {THREE}", ""),
    # 4 + 3 + 1 = 8 of 10: 80; qkv waits; 100: (1·80 + 1·100) / 2 = 90, just an A
    "ed": ("90.0", "A", "", "", TWO),
    # 25 hours late are two days begun: 10 − 2 = 8 of 10: 80.  (1·80 + 2·100 + 1·100) / 4 = 380 / 4 = 95
    "fi": ("95.0", "A", "", "", ""),
    # 100; 2 + 2 + 3 + 3 + 1.5 = 11.5 of 13: 88.461538; masks is due on the 26th for Gu: neither 0 nor anything
    # (1·100 + 2·88.461538) / 3 = 276.923077 / 3 = 92.307692
    "gu": ("92.3", "A", "", "", ""),
    # 2.94 of 10: 29.4; 100; 100: (1·29.4 + 2·100 + 1·100) / 4 = 329.4 / 4 = 82.35, a half: up
    "ha": ("82.4", "B", "", "", ""),
    # 100; 2 + 3 + 3 = 8 of 13: 61.538462; 10 + 0.2 = 10.2 of 17: 60; 11 of 14: 78.571429
    # without masks:  (100 + 2·61.538462 + 2·78.571429) / 5 = 380.219782 / 5 = 76.043956
    # without qkv:    (100 + 1·60        + 2·78.571429) / 4 = 317.142858 / 4 = 79.285714, more, though 60 < 61.5
    "io": ("79.3", "C", TWO, "", ""),
    # 2.9 of 10: 29; 100; 100: (1·29 + 2·100 + 1·100) / 4 = 329 / 4 = 82.25, a half: up, though 2 is even
    "jo": ("82.3", "B", "", "", ""),
    # five minutes late are forgiven: 100; 100; 2 + 2 + 3 + 2 + 3.75 = 12.75 of 17: 75
    # (1·100 + 2·100 + 1·75) / 4 = 375 / 4 = 93.75, a half: up
    "ka": ("93.8", "A", "", "", ""),
    # three zeros and 100 for positions, weight 2: with the two light zeros (0 + 0 + 2·100) / 4 = 50, with qkv's 40
    "li": ("50.0", "D", TWO, f"{ONE}; {THREE}", ""),
}

# On 1 December all four are due.
ON_PAPER_AFTER = {
    # positions is 0, and the one that is left out: as before
    "bo": ("81.9", "B", FOUR, "", ""),
    # masks and positions are 0; the light one costs less: (1·100 + 2·88.461538 + 1·0) / 4 = 276.923077 / 4 = 69.230769
    "gu": ("69.2", "C", FOUR, THREE, ""),
    # 80, 100, and positions 0; qkv waits: (1·80 + 1·100 + 2·0) / 4 = 45
    "ed": ("45.0", "F", "", FOUR, TWO),
}


def question_of(name):
    (question,) = lab(name).by_hand
    return question


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """The class on 20 November."""
    course = replace(
        COURSE,
        policy={"penalty_per_day": 0.1, "grace": 10},
        lab={name: {"due": due} for name, due in DUE.items()},
        term=TERM,
    )
    room = Classroom(tmp_path_factory.mktemp("class"), course)
    enrol(room, ROSTER)
    labs = {name: lab(name) for name in LABS}
    with Book(room) as book:
        book.prepare(list(labs.values()), read_policy(course, labs))
    with pytest.MonkeyPatch.context() as patch:
        for name in LABS:
            patch.setattr(made, "LAB", name)
            for student, handed_in in HANDED_IN.items():
                for of_lab, wrong, _, *when in handed_in:
                    if of_lab == name:
                        day = DUE[name].day - 2
                        at = when[0] if when else f"2026-11-{day:02} 12:00:00 UTC"
                        marked = {student: results(student, wrong=wrong)}
                        fill(room, marked, gradebook=room.root / "gradebook.db", timestamp=at)
    with Gradebook(room.db, course.id) as book:
        for student, handed_in in HANDED_IN.items():
            for name, _, given, *_ in handed_in:
                grades = book.find_submission(name, student).notebooks[0].grades
                one = next(g for g in grades if g.name == question_of(name))
                one.manual_score, one.needs_manual_grade = given, given is None
        book.db.commit()
    return room


def read_table(room, name):
    with (room.report / name).open(newline="") as file:
        return list(csv.DictReader(file))


def told(row):
    return tuple(row[c] for c in ("result", "grade", "not_among_the_best", "not_handed_in", "waits"))


def test_the_term_on_paper(term):
    write_report(term, now=NOW)
    table = {row["student_id"]: told(row) for row in read_table(term, "term.csv")}
    assert table == ON_PAPER  # and who has left is not in it


def test_its_other_columns(term):
    write_report(term, now=NOW)
    rows = {row["student_id"]: row for row in read_table(term, "term.csv")}
    bo, cy = ([rows[s][name] for name in LABS] for s in ("bo", "cy"))
    assert bo == ["70.00", "84.62", "88.24", ""] and cy == ["100.00", "76.92", "0.00", "78.57"]
    assert "training" not in rows["bo"]  # it has no weight
    assert (rows["bo"]["last_name"], rows["bo"]["first_name"], rows["bo"]["email"]) == ("B", "Bo", "bo@x")


def test_what_is_missing_counts_once_it_is_due(term):
    write_report(term, now=AFTER)
    table = {row["student_id"]: told(row) for row in read_table(term, "term.csv")}
    assert {student: table[student] for student in ON_PAPER_AFTER} == ON_PAPER_AFTER


@pytest.mark.parametrize(
    ("platform", "known_by", "ed", "bo", "column"),
    [
        ("Canvas", "ID", "5", "2", "Term"),
        ("Moodle", "Username", "ed", "bo", "Term"),
        ("Blackboard", "Username", "ed", "bo", "Term"),
        ("Brightspace", "OrgDefinedId", "s5", "s2", "Term Points Grade"),
        ("Gradescope", "SID", "s5", "s2", "Term"),
    ],
)
def test_the_final_table_as_each_platform_takes_it(term, platform, known_by, ed, bo, column):
    said = write_report(term, platforms=[platform], now=NOW)[0]
    name = f"term-{platform.lower()}.csv"
    assert name in said and "grades.csv, term.csv" in said
    rows = {row[known_by]: row[column] for row in read_table(term, name) if row[known_by]}
    assert len(rows) == 12 and rows[bo] == "81.9"
    assert rows[ed] == ""  # a lab waits: no result is better than one that will change
    page = (term.report / "index.html").read_text("utf-8")
    assert f'<a href="{name}">{name}</a>' in page


def visible(page):
    """A page's words, in one line."""
    text = re.sub(r"<(style|title)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(text).split())


def test_a_students_page(term):
    assert write_pages(term, NOW) == 12
    assert not (term.feedback / "mo" / "term.html").exists()
    page = (term.feedback / "cy" / "term.html").read_text("utf-8")
    well_formed(page)
    words = visible(page)
    assert "Cy C (cy) 82.2 of 100: grade B As of Fri 20 November 2026, 12:00 UTC." in words
    assert "additive-attention Mon 2 November 2026, 18:00 UTC 10 of 10 100.00 1 counts" in words
    assert "attention-masks Mon 16 November 2026, 18:00 UTC – 0.00 1 not among the best" in words
    assert "positions Mon 30 November 2026, 18:00 UTC 11 of 14 78.57 2 counts" in words
    assert "Not part of the result: multi-head-attention, learning-to-align," in words
    assert "Of the 4 labs the 3 count that give most." in words
    assert "rounded to one decimal, halves up, and the grade is that of the rounded result." in words
    assert "A from 90, B from 80, C from 65, D from 50, F from 0." in words

    def of(student):
        return visible((term.feedback / student / "term.html").read_text("utf-8"))

    assert "qkv-attention still waits to be marked, and will change this." in of("ed")
    assert "8 of 10 80.00 1 counts; late, 2 off" in of("fi")
    assert "attention-masks Thu 26 November 2026, 18:00 UTC – – 1 not due yet" in of("gu")
    assert "additive-attention Mon 2 November 2026, 18:00 UTC – 0.00 1 not handed in, so 0" in of("di")


def test_the_pages_go_back_and_the_instructor_sees_the_same(term):
    write_pages(term, NOW)
    said = list(write_returns(term, [], []))
    assert said == [f"{term.root / 'returned' / 'term'}: 12 pages."]
    assert (term.root / "returned" / "term" / "bo-term.html").is_file()
    page = reported(term, now=NOW)
    well_formed(page)
    words = visible(page)
    assert "So far 5 × A, 4 × B, 1 × C, 1 × D, 1 × F." in words and "90.0 + ? A" in words
    assert "The term so far: 81.9, grade B." in visible(
        (term.report / "students" / "bo.html").read_text("utf-8")
    )
    assert "the term so far: 81.9 of 100, grade B" in describe_student(term, "bo", [lab(ONE)])


def test_without_names(term):
    write_report(term, anonymous=True, now=NOW)
    rows = read_table(term, "term.csv")
    assert {row["student_id"][:8] for row in rows} == {"student-"}
    assert {told(row) for row in rows} >= set(ON_PAPER.values())


def test_no_rules_no_term(term):
    room = Classroom(term.root, replace(term.course, term=None))
    assert write_pages(room, NOW) == 0
    assert "term.csv" not in "\n".join(write_report(room, now=NOW))
    assert not (room.report / "term.csv").exists()


def rules(**term):
    return read_rules(replace(COURSE, term=term))


def test_the_usual_rules():
    usual = rules()
    assert set(usual.weights.values()) == {Fraction(1)} and usual.best is None and not usual.grades
    assert usual.sentences[0] == "The result is the mean of the labs in per cent, all with the same weight."
    assert usual.sentences[2] == "The result is rounded to one decimal, halves up."


@pytest.mark.parametrize(
    ("term", "sentence"),
    [
        ({"drop": 1}, "has an entry 'drop'; the entries are weights, best, decimals and grades."),
        ({"best": "3"}, "best is '3'; a whole number is due."),
        ({"best": True}, "best is True; a whole number is due."),
        ({"best": 11}, "best is 11; a number of labs is due, 1 to 10."),
        ({"best": 0}, "best is 0; a number of labs is due, 1 to 10."),
        ({"weights": {"poetry": 1}}, "weights names 'poetry', but the labs are additive-attention,"),
        ({"weights": {TWO: -1}}, "the weight of qkv-attention is -1; 0 or more is due."),
        ({"weights": {TWO: float("nan")}}, "the weight of qkv-attention is nan; 0 or more is due."),
        ({"weights": {TWO: "2"}}, "the weight of qkv-attention is '2'; 0 or more is due."),
        ({"weights": dict.fromkeys(COURSE.labs, 0)}, "no lab has a weight, so there is nothing to count."),
        ({"decimals": 9}, "decimals is 9; 0 to 4 is due."),
        ({"grades": {"A": 90}}, "no grade begins at 0, so a result below 90 would have none."),
        ({"grades": {"A": 90, "B": 90, "F": 0}}, "two grades begin at the same result."),
        ({"grades": {"A": 900, "F": 0}}, "the grade A is 900; a result in per cent, 0 to 100, is due."),
    ],
)
def test_rules_that_cannot_be(term, sentence):
    with pytest.raises(CourseError) as error:
        rules(**term)
    assert str(error.value).startswith("course.toml, [term]") and sentence in str(error.value)


def test_a_lab_of_the_terms_own_name():
    with pytest.raises(CourseError, match="a lab of the course is called 'term'"):
        read_rules(replace(COURSE, labs=("term",), term={}))


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_halves_are_rounded_up_and_grades_begin_at_the_rounded_result(decimals):
    half = rules(decimals=decimals, grades={"A": 90, "F": 0})
    step = Fraction(1, 10**decimals)
    assert half.grade(half.rounded(90 - step / 2)) == "A"
    assert half.grade(half.rounded(90 - step / 2 - Fraction(1, 10**9))) == "F"


def test_the_best_are_the_best():
    """Against all choices there are, for every number of labs and many weights."""
    from itertools import combinations
    from random import Random

    def mean(parts):
        return sum(p.weight * p.share for p in parts) / sum(p.weight for p in parts)

    chance = Random(1)
    for _ in range(60):
        parts = [
            Part(str(n), Fraction(chance.randint(1, 9)), Fraction(chance.randint(0, 12), 12), Counts.YES)
            for n in range(6)
        ]
        for count in range(1, 7):
            assert mean(best_of(parts, count)) == max(map(mean, combinations(parts, count)))


def test_marks_by_thirds_are_exact(term):
    """2/3 of a point is no decimal, and three of them are two points: no result falls below a grade for that."""
    policy = read_policy(term.course, {name: lab(name) for name in COURSE.labs})
    marks = read_marks(term, policy)
    third = replace(
        marks.marks["fi", ONE], scores={"a": 2 / 3, "b": 2 / 3, "c": 2 / 3}, points={"a": 4.0}, penalty=0
    )
    marks.marks["fi", ONE] = third
    only = replace(read_rules(term.course), weights={ONE: Fraction(1)}, best=None)
    assert terms_of(only, marks, NOW).of["fi"].exact == 50


def test_the_command(term, tmp_path):
    """`feedback` makes the pages of a course whose course.toml has a term, and gives them back."""
    for name in ("solutions", "notebooks", "attention_labs", "data"):
        (tmp_path / name).symlink_to(COURSE.root / name)
    text = (COURSE.root / "course.toml").read_text("utf-8")
    (tmp_path / "course.toml").write_text(f"{text}\n[term]\ndecimals = 0\n", "utf-8")
    asked = ("--course", tmp_path, "--classroom", term.root)
    done = autograder("feedback", ONE, "--give-back", *asked, here=True)
    assert done.returncode == 0, done.stderr
    assert "12 pages of the term so far, term.html in each student's folder." in done.stderr
    assert f"{term.root / 'returned' / 'term'}: 12 pages." in done.stdout
    assert "The result is rounded to a whole number" in (term.feedback / "bo" / "term.html").read_text(
        "utf-8"
    )
