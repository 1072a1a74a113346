"""Results of a term of four labs for twelve students, compared with results computed by hand.

    lab                weight  points  due            its exercises, and the question that a person marks
    additive-attention      1      10  2 November     alignment 4, attention 3; 3
    qkv-attention           2      13  9 November     softmax 2, stable_softmax 2, weights 3, attention 3; 3
    attention-masks         1      17  16 November    1 + 2 + 2 + 3 + 3 + 2 = 13; 4
    positions               2      14  30 November    sinusoids 3, shift 2, rotate 3, alibi 2; 4

The best three labs count. Each day begun late takes off a tenth, ten minutes are forgiven. It is 20 November, so
the first three labs are due. No expected value below is computed by a program.
"""

import csv
import html
import re
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import graded_class
import pytest
from command import autograder
from graded_class import enrol, fill, reported, results, well_formed
from nbgrader.api import Gradebook
from our_course import COURSE, lab

from autograder.core.course import CourseError
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.gradebook_writer import GradebookWriter
from autograder.gradebook.policy import read_policy
from autograder.reports.class_page import write_report
from autograder.reports.feedback_zips import write_feedback_archives
from autograder.reports.marks import read_marks
from autograder.reports.term import (
    MAX_DECIMALS,
    MAX_WEIGHT,
    LabContribution,
    LabStatus,
    TermRules,
    choose_best_labs,
    compute_terms,
    read_term_rules,
    write_student_term_pages,
)
from autograder.reports.terminal import describe_student

pytestmark = pytest.mark.filterwarnings("ignore")

LAB_1, LAB_2, LAB_3, LAB_4 = LABS = (
    "additive-attention",
    "qkv-attention",
    "attention-masks",
    "positions",
)
OTHER_LABS = [name for name in COURSE.labs if name not in LABS]
NOVEMBER_20 = datetime(2026, 11, 20, 12, tzinfo=UTC)
DECEMBER_1 = datetime(2026, 12, 1, 12, tzinfo=UTC)
DUE_DATES = dict(zip(LABS, (datetime(2026, 11, day, 18) for day in (2, 9, 16, 30)), strict=True))
TERM = {
    "weights": {LAB_2: 2, LAB_4: 2, **dict.fromkeys(OTHER_LABS, 0)},
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

# Submissions: lab, wrong exercises, manual points, and the time, by default two days before the due date.
SUBMISSIONS = {
    "ada": [(LAB_1, [], 3), (LAB_2, [], 3), (LAB_3, [], 4), (LAB_4, [], 4)],
    "bo": [(LAB_1, ["attention"], 3), (LAB_2, ["stable_softmax"], 3), (LAB_3, [], 2)],
    "cy": [(LAB_1, [], 3), (LAB_2, [], 0), (LAB_4, ["rotate"], 4)],
    "di": [],
    "ed": [(LAB_1, [], 1), (LAB_2, [], None), (LAB_3, [], 4)],
    "fi": [(LAB_1, [], 3, "2026-11-03 19:00:00 UTC"), (LAB_2, [], 3), (LAB_3, [], 4)],
    "gu": [(LAB_1, [], 3), (LAB_2, [], 1.5)],
    "ha": [(LAB_1, ["alignment", "attention"], 2.94), (LAB_2, [], 3), (LAB_3, [], 4)],
    "io": [
        (LAB_1, [], 3),
        (LAB_2, ["stable_softmax"], 0),
        (LAB_3, ["dot_product_attention"], 0.2),
        (LAB_4, ["rotate"], 4),
    ],
    "jo": [(LAB_1, ["alignment", "attention"], 2.9), (LAB_2, [], 3), (LAB_3, [], 4)],
    "ka": [
        (LAB_1, [], 3, "2026-11-02 18:05:00 UTC"),
        (LAB_2, [], 3),
        (LAB_3, ["masked_softmax", "causal_mask"], 3.75),
    ],
    "li": [(LAB_4, [], 4)],
    "mo": [(LAB_1, [], 3)],
}

# Computed by hand: result, grade, labs not among the best three, labs not submitted, labs that await grading.
EXPECTED_NOVEMBER_20 = {
    # 10/10, 13/13, 17/17, 14/14: all are 100, and of equal labs the first three count
    "ada": ("100.0", "A", LAB_4, "", ""),
    # 4 + 3 = 7 of 10: 70.  2 + 3 + 3 + 3 = 11 of 13: 84.615385.  13 + 2 = 15 of 17: 88.235294.  positions is not due
    # (1·70 + 2·84.615385 + 1·88.235294) / 4 = 327.466064 / 4 = 81.866516
    "bo": ("81.9", "B", "", "", ""),
    # 100; 10 of 13: 76.923077; masks 0; 3 + 2 + 2 + 4 = 11 of 14: 78.571429, submitted before it is due
    # without masks: (1·100 + 2·76.923077 + 2·78.571429) / 5 = 410.989012 / 5 = 82.197802
    "cy": ("82.2", "B", LAB_3, "", ""),
    # nothing: (1·0 + 2·0 + 1·0) / 4
    "di": ("0.0", "F", "", f"{LAB_1}; {LAB_2}; {LAB_3}", ""),
    # 4 + 3 + 1 = 8 of 10: 80; qkv waits; 100: (1·80 + 1·100) / 2 = 90, just an A
    "ed": ("90.0", "A", "", "", LAB_2),
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
    "io": ("79.3", "C", LAB_2, "", ""),
    # 2.9 of 10: 29; 100; 100: (1·29 + 2·100 + 1·100) / 4 = 329 / 4 = 82.25, a half: up, though 2 is even
    "jo": ("82.3", "B", "", "", ""),
    # five minutes late are forgiven: 100; 100; 2 + 2 + 3 + 2 + 3.75 = 12.75 of 17: 75
    # (1·100 + 2·100 + 1·75) / 4 = 375 / 4 = 93.75, a half: up
    "ka": ("93.8", "A", "", "", ""),
    # three zeros and 100 for positions, weight 2: with the two light zeros (0 + 0 + 2·100) / 4 = 50, with qkv's 40
    "li": ("50.0", "D", LAB_2, f"{LAB_1}; {LAB_3}", ""),
}

# On 1 December all four are due.
EXPECTED_DECEMBER_1 = {
    # positions is 0, and the one that is left out: as before
    "bo": ("81.9", "B", LAB_4, "", ""),
    # masks and positions are 0; the light one costs less: (1·100 + 2·88.461538 + 1·0) / 4 = 276.923077 / 4 = 69.230769
    "gu": ("69.2", "C", LAB_4, LAB_3, ""),
    # 80, 100, and positions 0; qkv waits: (1·80 + 1·100 + 2·0) / 4 = 45
    "ed": ("45.0", "F", "", LAB_4, LAB_2),
}


def question_of(name):
    (question,) = lab(name).manual_questions
    return question


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """Classroom on 20 November."""
    course = replace(
        COURSE,
        policy={"penalty_per_day": 0.1, "grace": 10},
        lab={name: {"due": date} for name, date in DUE_DATES.items()},
        term=TERM,
    )
    room = Classroom(tmp_path_factory.mktemp("class"), course)
    enrol(room, ROSTER)
    labs = {name: lab(name) for name in LABS}
    with GradebookWriter(room) as book:
        book.save_labs(list(labs.values()), read_policy(course, labs))
    with pytest.MonkeyPatch.context() as patch:
        for name in LABS:
            patch.setattr(graded_class, "LAB", name)
            for student, submissions in SUBMISSIONS.items():
                for of_lab, wrong, _, *times in submissions:
                    if of_lab == name:
                        day = DUE_DATES[name].day - 2
                        time = times[0] if times else f"2026-11-{day:02} 12:00:00 UTC"
                        submission = {student: results(student, wrong=wrong)}
                        fill(room, submission, gradebook=room.root / "gradebook.db", timestamp=time)
    with Gradebook(room.db, course.id) as book:
        for student, submissions in SUBMISSIONS.items():
            for name, _, points, *_ in submissions:
                grades = book.find_submission(name, student).notebooks[0].grades
                grade = next(g for g in grades if g.name == question_of(name))
                grade.manual_score, grade.needs_manual_grade = points, points is None
        book.db.commit()
    return room


def read_table(room, name):
    with (room.report / name).open(newline="") as file:
        return list(csv.DictReader(file))


def result_cells(row):
    return tuple(
        row[c] for c in ("result", "grade", "not_among_the_best", "not_submitted", "waits")
    )


def test_the_term_agrees_with_a_calculation_by_hand(term):
    write_report(term, now=NOVEMBER_20)
    table = {row["student_id"]: result_cells(row) for row in read_table(term, "term.csv")}
    assert table == EXPECTED_NOVEMBER_20  # and who has left is not in it


def test_its_other_columns(term):
    write_report(term, now=NOVEMBER_20)
    rows = {row["student_id"]: row for row in read_table(term, "term.csv")}
    bo, cy = ([rows[s][name] for name in LABS] for s in ("bo", "cy"))
    assert bo == ["70.00", "84.62", "88.24", ""] and cy == ["100.00", "76.92", "0.00", "78.57"]
    assert "training" not in rows["bo"]  # it has no weight
    assert (rows["bo"]["last_name"], rows["bo"]["first_name"], rows["bo"]["email"]) == (
        "B",
        "Bo",
        "bo@x",
    )


def test_a_missing_lab_counts_as_zero_once_it_is_due(term):
    write_report(term, now=DECEMBER_1)
    table = {row["student_id"]: result_cells(row) for row in read_table(term, "term.csv")}
    assert {student: table[student] for student in EXPECTED_DECEMBER_1} == EXPECTED_DECEMBER_1


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
    sentence = write_report(term, platforms=[platform], now=NOVEMBER_20)[0]
    name = f"term-{platform.lower()}.csv"
    assert name in sentence and "grades.csv, term.csv" in sentence
    rows = {row[known_by]: row[column] for row in read_table(term, name) if row[known_by]}
    assert len(rows) == 12 and rows[bo] == "81.9"
    assert rows[ed] == ""  # a lab waits: no result is better than one that will change
    page = (term.report / "index.html").read_text("utf-8")
    assert f'<a href="{name}">{name}</a>' in page


def visible(page):
    """Return the text of a page in one line."""
    text = re.sub(r"<(style|title)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(text).split())


def test_a_students_page(term):
    assert write_student_term_pages(term, NOVEMBER_20) == 12
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
    assert (
        "rounded to one decimal, halves up, and the grade is that of the rounded result." in words
    )
    assert "A from 90, B from 80, C from 65, D from 50, F from 0." in words

    def page_words(student):
        return visible((term.feedback / student / "term.html").read_text("utf-8"))

    assert "qkv-attention still awaits grading, and will change this." in page_words("ed")
    assert "8 of 10 80.00 1 counts; late, 2 off" in page_words("fi")
    assert "attention-masks Thu 26 November 2026, 18:00 UTC – – 1 not due yet" in page_words("gu")
    assert (
        "additive-attention Mon 2 November 2026, 18:00 UTC – 0.00 1 not submitted, so 0"
        in page_words("di")
    )


@pytest.mark.long
def test_the_pages_are_archived_and_the_report_agrees(term):
    write_student_term_pages(term, NOVEMBER_20)
    lines = list(write_feedback_archives(term, [], []))
    assert lines == [f"{term.root / 'returned' / 'term'}: 12 pages."]
    assert (term.root / "returned" / "term" / "bo-term.html").is_file()
    page = reported(term, now=NOVEMBER_20)
    well_formed(page)
    words = visible(page)
    assert "So far 5 × A, 4 × B, 1 × C, 1 × D, 1 × F." in words and "90.0 + ? A" in words
    assert "The term so far: 81.9, grade B." in visible(
        (term.report / "students" / "bo.html").read_text("utf-8")
    )
    assert "the term so far: 81.9 of 100, grade B" in describe_student(term, "bo", [lab(LAB_1)])


def test_the_anonymous_report_has_the_same_terms(term):
    write_report(term, anonymous=True, now=NOVEMBER_20)
    rows = read_table(term, "term.csv")
    assert {row["student_id"][:8] for row in rows} == {"student-"}
    assert {result_cells(row) for row in rows} >= set(EXPECTED_NOVEMBER_20.values())


def test_without_rules_there_is_no_term(term):
    room = Classroom(term.root, replace(term.course, term=None))
    assert write_student_term_pages(room, NOVEMBER_20) == 0
    assert "term.csv" not in "\n".join(write_report(room, now=NOVEMBER_20))
    assert not (room.report / "term.csv").exists()


def rules(**term):
    return read_term_rules(replace(COURSE, term=term))


def test_the_usual_rules():
    usual = rules()
    assert set(usual.weights.values()) == {Fraction(1)} and usual.best is None and not usual.grades
    assert (
        usual.sentences[0]
        == "The result is the mean of the labs in per cent, all with the same weight."
    )
    assert usual.sentences[2] == "The result is rounded to one decimal, halves up."


def test_students_read_how_the_result_is_computed():
    same, different = {"a": Fraction(2), "b": Fraction(2)}, {"a": Fraction(1), "b": Fraction(2)}
    grades = ((Fraction(0), "A"),)
    of_rules = [
        (TermRules(same), "all with the same weight.", "one decimal, halves up."),
        (
            TermRules(different, 1, 0),
            "each with its weight. Of the 2 labs the one that gives most counts.",
            "a whole",
        ),
        (TermRules(same | {"c": Fraction(0)}, 2, 2), "the same weight.", "2 decimals, halves up."),
        (
            TermRules(same, 2, 3, grades),
            "the same weight.",
            "halves up, and the grade is that of the",
        ),
    ]
    for term_rules, mean, rounding in of_rules:
        sentences = term_rules.sentences
        assert mean in sentences[0] and rounding in sentences[2], sentences
        assert ("Of the" in sentences[0]) == (term_rules.best == 1)
        assert ("grade" in sentences[2]) == bool(term_rules.grades)


def test_the_largest_weight_and_most_decimals_are_accepted():
    largest = rules(weights={LAB_2: MAX_WEIGHT}, decimals=MAX_DECIMALS)
    assert (largest.weights[LAB_2], largest.decimals) == (MAX_WEIGHT, MAX_DECIMALS)


@pytest.mark.parametrize(
    ("term", "sentence"),
    [
        (
            {"drop": 1},
            "has an unknown entry 'drop'. The entries are weights, best, decimals and grades.",
        ),
        ({"best": "3"}, "best is '3'; expected a whole number."),
        ({"best": True}, "best is True; expected a whole number."),
        ({"best": 99}, f"best is 99; a number of labs is expected, 1 to {len(COURSE.labs)}."),
        ({"best": 0}, f"best is 0; a number of labs is expected, 1 to {len(COURSE.labs)}."),
        (
            {"weights": {"poetry": 1}},
            "weights names 'poetry', but the labs are additive-attention,",
        ),
        ({"weights": {LAB_2: -1}}, "the weight of qkv-attention is -1; 0 or more is expected."),
        (
            {"weights": {LAB_2: float("nan")}},
            "the weight of qkv-attention is nan; 0 or more is expected.",
        ),
        ({"weights": {LAB_2: "2"}}, "the weight of qkv-attention is '2'; 0 or more is expected."),
        (
            {"weights": dict.fromkeys(COURSE.labs, 0)},
            "no lab has a weight, so there is nothing to count.",
        ),
        ({"decimals": 9}, "decimals is 9; 0 to 4 is expected."),
        ({"decimals": MAX_DECIMALS + 1}, "decimals is 5; 0 to 4 is expected."),
        ({"weights": {LAB_2: MAX_WEIGHT + 1}}, "qkv-attention is 1001; 0 or more is expected."),
        ({"grades": {"A": 90}}, "no grade begins at 0, so a result below 90 would have none."),
        ({"grades": {"A": 90, "B": 90, "F": 0}}, "two grades begin at the same result."),
        (
            {"grades": {"A": 900, "F": 0}},
            "the grade A is 900; a result in per cent, 0 to 100, is expected.",
        ),
    ],
)
def test_invalid_rules_are_refused(term, sentence):
    with pytest.raises(CourseError) as error:
        rules(**term)
    assert str(error.value).startswith("course.toml, [term]") and sentence in str(error.value)


def test_a_lab_of_the_terms_own_name():
    with pytest.raises(CourseError, match="a lab of the course is called 'term'"):
        read_term_rules(replace(COURSE, labs=("term",), term={}))


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_halves_are_rounded_up_and_grades_begin_at_the_rounded_result(decimals):
    term_rules = rules(decimals=decimals, grades={"A": 90, "F": 0})
    step = Fraction(1, 10**decimals)
    assert term_rules.grade(term_rules.round(90 - step / 2)) == "A"
    assert term_rules.grade(term_rules.round(90 - step / 2 - Fraction(1, 10**9))) == "F"


def test_the_best_labs_have_the_highest_mean():
    """Compare with all combinations, for every number of labs and many weights."""
    from itertools import combinations
    from random import Random

    def mean(labs):
        return sum(term_lab.weight * term_lab.share for term_lab in labs) / sum(
            term_lab.weight for term_lab in labs
        )

    chance = Random(1)
    for _ in range(60):
        labs = [
            LabContribution(
                str(n),
                Fraction(chance.randint(1, 9)),
                Fraction(chance.randint(0, 12), 12),
                LabStatus.COUNTS,
            )
            for n in range(6)
        ]
        for count in range(1, 7):
            assert mean(choose_best_labs(labs, count)) == max(map(mean, combinations(labs, count)))


def test_marks_by_thirds_are_exact(term):
    """Three times 2/3 of a point are two points: rounding costs nobody a grade."""
    policy = read_policy(term.course, {name: lab(name) for name in COURSE.labs})
    marks = read_marks(term, policy)
    third = replace(
        marks.marks["fi", LAB_1],
        scores={"a": 2 / 3, "b": 2 / 3, "c": 2 / 3},
        points={"a": 4.0},
        penalty=0,
    )
    marks.marks["fi", LAB_1] = third
    rules_of_one_lab = replace(
        read_term_rules(term.course), weights={LAB_1: Fraction(1)}, best=None
    )
    assert compute_terms(rules_of_one_lab, marks, NOVEMBER_20).by_student["fi"].exact == 50


def test_the_command(term, tmp_path):
    """`feedback --give-back` writes the term's pages and their archive."""
    for name in ("solutions", "notebooks", "attention_labs", "data"):
        (tmp_path / name).symlink_to(COURSE.root / name)
    text = (COURSE.root / "course.toml").read_text("utf-8")
    (tmp_path / "course.toml").write_text(f"{text}\n[term]\ndecimals = 0\n", "utf-8")
    options = ("--course", tmp_path, "--classroom", term.root)
    outcome = autograder("feedback", LAB_1, "--give-back", *options)
    assert outcome.returncode == 0, outcome.stderr
    assert "12 pages of the term so far, term.html in each student's folder." in outcome.stderr
    assert f"{term.root / 'returned' / 'term'}: 12 pages." in outcome.stdout
    assert "The result is rounded to a whole number" in (
        term.feedback / "bo" / "term.html"
    ).read_text("utf-8")
