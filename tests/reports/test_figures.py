"""What verdicts and marks add up to, worked out by hand beside."""

from dataclasses import replace

import pytest
from made import LAB, handin, row
from our_course import lab

from autograder.grading.intake import Person
from autograder.grading.register.policy import Policy
from autograder.grading.reports import figures
from autograder.grading.reports.marks import Marks
from autograder.judging.mistakes import STRUCTURAL
from autograder.results import Kind, Verdict


def test_discrimination_by_hand():
    # x = 1, 1, 0, 0 and y = 1, ½, ½, 0: covariance ⅛, deviations ½ and √⅛, so r = √½.
    pairs = [(1, 1.0), (1, 0.5), (0, 0.5), (0, 0.0)]
    assert figures.discrimination(3 * pairs) == pytest.approx(0.5**0.5)


def test_no_discrimination_of_few_or_of_all_the_same():
    pairs = [(1, 1.0), (1, 0.5), (0, 0.5), (0, 0.0)]
    assert figures.discrimination(pairs) is None
    assert figures.discrimination([(1, i) for i in range(20)]) is None
    assert figures.discrimination([]) is None


def test_an_exercise_by_hand():
    verdicts = [
        (Verdict.PASS, None, ""),
        (Verdict.WRONG, "always-axis-0", ""),
        (Verdict.WRONG, None, ""),
        (Verdict.ERROR, None, "It raised ValueError."),
        (Verdict.ERROR, None, "", 2, 0.5, Kind.STUB),
        (Verdict.FAULT, None, ""),
    ]
    students = [
        handin(f"s{i}", [row(f"s{i}", "softmax", *v), row(f"s{i}", "stable_softmax")])
        for i, v in enumerate(verdicts)
    ]
    found = figures.exercise_figures("softmax", students)
    assert found.tried == 5
    assert found.counts == {"passed": 1, "wrong": 2, "stopped": 1, "blank": 1, "unexplained": 1}
    assert found.pass_rate == 20 and found.mean == 20


def test_the_rest_leaves_the_exercise_out():
    # Whoever passes a fails b: with a in the rest the correlation would not be -1.
    students = []
    for i in range(12):
        verdicts = (Verdict.PASS, Verdict.WRONG) if i % 2 else (Verdict.WRONG, Verdict.PASS)
        students.append(handin(f"s{i}", [row(f"s{i}", n, v) for n, v in zip("ab", verdicts)]))
    assert figures.exercise_figures("a", students).discrimination == pytest.approx(-1)


def test_marks_by_hand_count_and_waiting_ones_do_not():
    rows = [row("ada", "softmax"), row("ada", "explain", Verdict.MANUAL, points=4)]
    waits = handin("ada", rows, {"softmax": 2, "explain": None}, awaits=1)
    assert waits.percent == 100
    judged = handin("ada", rows, {"softmax": 2, "explain": 1}, penalty=1.0)
    assert judged.percent == pytest.approx(100 * 2 / 6)
    found = figures.exercise_figures("explain", [waits, judged])
    assert found.by_hand and found.counts["waiting"] == 1 and found.mean == 25 and found.pass_rate is None


def test_misconceptions_are_ranked_by_students():
    def wrong(student, exercise, name):
        return row(student, exercise, Verdict.WRONG, name)

    students = [
        handin("a", [wrong("a", "softmax", "transposed"), wrong("a", "stable_softmax", "transposed")]),
        handin("b", [wrong("b", "softmax", "returns-a-list"), row("b", "stable_softmax")]),
        handin("c", [wrong("c", "softmax", "returns-a-list"), row("c", "stable_softmax")]),
    ]
    first, second = figures.misconceptions(students, {LAB: lab(LAB)})
    assert (first.name, first.holders) == ("returns-a-list", {"b", "c"})
    assert first.means == STRUCTURAL["returns-a-list"][0]
    assert (second.holders, second.by_exercise.total(), second.tried) == ({"a"}, 2, 3)


def test_a_misconception_that_the_lab_has_forgotten_keeps_its_name():
    gone = row("a", "softmax", Verdict.WRONG, "once-known")
    assert figures.misconceptions([handin("a", [gone])], {LAB: lab(LAB)})[0].means == "once known"


def test_one_mistake_in_several_labs_is_counted_once_for_each_student():
    def of(student, where, exercise):
        rows = (replace(row(student, exercise, Verdict.WRONG, "transposed"), lab=where),)
        return replace(handin(student, list(rows)), lab=where)

    students = [of("a", LAB, "softmax"), of("a", "attention-masks", "causal_mask"), of("b", LAB, "softmax")]
    (one,) = figures.misconceptions(students, {LAB: lab(LAB)})
    assert one.holders == {"a", "b"} and one.labs == {LAB, "attention-masks"}
    assert one.by_exercise == {"softmax": 2, "causal_mask": 1}


def test_a_question_by_hand_has_no_mean_before_a_person_has_read_any():
    unread = handin("lars", [row("lars", "explain", Verdict.MISSING)])
    waits = handin("ada", [row("ada", "explain", Verdict.MANUAL)], {"explain": None}, awaits=1)
    assert figures.exercise_figures("explain", [unread, waits]).mean is None


def test_who_needs_a_person():
    few = handin("bo", [row("bo", "softmax"), row("bo", "stable_softmax", Verdict.WRONG, points=6)])
    often = replace(handin("cy", [row("cy", "softmax")]), attempts=figures.MANY_ATTEMPTS)
    well = handin("ada", [row("ada", "softmax")])
    unread = handin("di", [row("di", "softmax", Verdict.MISSING)])
    marks = Marks({name: Person(student=name) for name in ("ada", "bo", "cy", "di", "eve")})
    found = figures.needs([few, often, well, unread], marks, {LAB: ["eve"]}, [LAB])
    assert [need.student for need in found] == ["eve", "di", "bo", "cy"]
    assert {need.student: need.reasons for need in found} == {
        "eve": ("Has handed in nothing at all.",),
        "di": ("Has 0 % of the points so far.", f"The file for {LAB} could not be read."),
        "bo": ("Has 25 % of the points so far.",),
        "cy": (f"Has handed in {LAB} 4 times.",),
    }
    some = figures.needs([well], marks, {LAB: ["ada"], "attention-masks": []}, [LAB, "attention-masks"])
    assert some[0].reasons == (f"Has not handed in {LAB}.",)


def test_under_a_pseudonym_no_word_of_the_student_is_left():
    said = handin(
        "ada", [row("ada", "softmax", Verdict.ERROR, message="ValueError: Ada was here")], notes=["'ada.txt'"]
    )
    marks = Marks({"ada": Person(student="ada")}, marks={("ada", LAB): said})
    (found,) = marks.renamed({"ada": "student-001"}).marks.values()
    assert found.rows[0].verdict is Verdict.ERROR and found.rows[0].exercise == "softmax"
    assert "ada" not in repr(found).lower()


def test_who_has_left_is_not_missed():
    marks = Marks(
        {name: Person(student=name, withdrawn=name == "bo") for name in ("ada", "bo", "cy")},
        handed_in=frozenset({("ada", LAB)}),
        policy=Policy(due={LAB: None, "positions": None}),
    )
    assert marks.missing == {LAB: ["cy"]}
