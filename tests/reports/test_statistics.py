"""Statistics of a class, compared with values computed by hand."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest
from graded_class import LAB, policy_of, results, row, submission, table
from our_course import lab

from autograder.core.results import ResultReason, Verdict
from autograder.gradebook.deadlines import Deadlines
from autograder.gradebook.policy import Policy
from autograder.intake import Person
from autograder.reports import statistics
from autograder.reports.marks import Assignment, ClassMarks, Mark
from autograder.reports.platform_csv import build_platform_tables, format_grades_csv
from autograder.values.common_mistakes import MISTAKES


def test_discrimination_agrees_with_a_calculation_by_hand():
    # x = 1, 1, 0, 0 and y = 1, ½, ½, 0: covariance ⅛, deviations ½ and √⅛, so r = √½.
    pairs = [(1, 1.0), (1, 0.5), (0, 0.5), (0, 0.0)]
    assert statistics.compute_discrimination(3 * pairs) == pytest.approx(0.5**0.5)


def test_no_discrimination_of_few_or_of_all_the_same():
    pairs = [(1, 1.0), (1, 0.5), (0, 0.5), (0, 0.0)]
    assert statistics.compute_discrimination(pairs) is None
    assert statistics.compute_discrimination([(1, i) for i in range(20)]) is None
    assert statistics.compute_discrimination([]) is None


def test_exercise_statistics_agree_with_a_calculation_by_hand():
    verdicts = [
        (Verdict.PASS, None, ""),
        (Verdict.WRONG, "always-axis-0", ""),
        (Verdict.WRONG, None, ""),
        (Verdict.ERROR, None, "It raised ValueError."),
        (Verdict.ERROR, None, "", 2, 0.5, ResultReason.STUB),
        (Verdict.FAULT, None, ""),
    ]
    students = [
        submission(f"s{i}", [row(f"s{i}", "softmax", *v), row(f"s{i}", "stable_softmax")])
        for i, v in enumerate(verdicts)
    ]
    softmax = statistics.summarise_exercise("softmax", students)
    assert softmax.judged_submission_count == 5
    assert softmax.counts == {"passed": 1, "wrong": 2, "stopped": 1, "blank": 1, "unexplained": 1}
    assert softmax.pass_rate == 20 and softmax.mean == 20


def test_discrimination_leaves_the_exercise_itself_out():
    # Whoever passes a fails b: with a in the rest the correlation would not be -1.
    students = []
    for i in range(12):
        verdicts = (Verdict.PASS, Verdict.WRONG) if i % 2 else (Verdict.WRONG, Verdict.PASS)
        students.append(submission(f"s{i}", [row(f"s{i}", n, v) for n, v in zip("ab", verdicts)]))
    assert statistics.summarise_exercise("a", students).discrimination == pytest.approx(-1)


# Section 6 of the Law School Admission Test: how many of 1,000 people gave each pattern of answers to
# five items, from 00000 (all wrong) to 11111 (Bock and Lieberman 1970, Psychometrika 35, p. 179), and
# what `descript(LSAT)` of the R package ltm prints (Rizopoulos 2006, Journal of Statistical Software 17).
LSAT6_COUNTS = (3, 6, 2, 11, 1, 1, 3, 4, 1, 8, 0, 16, 0, 3, 2, 15)
LSAT6_COUNTS += (10, 29, 14, 81, 3, 28, 15, 80, 16, 56, 21, 173, 11, 61, 28, 298)
LSAT6_PASS_RATES = (92.4, 70.9, 55.3, 76.3, 87.0)
LSAT6_POINT_BISERIAL_EXCLUDED = (0.1128, 0.1532, 0.1728, 0.1444, 0.1216)


def test_item_statistics_agree_with_a_reference_program_on_a_known_test():
    students = []
    items = ("item 1", "item 2", "item 3", "item 4", "item 5")
    for pattern, count in zip(
        product((Verdict.WRONG, Verdict.PASS), repeat=5), LSAT6_COUNTS, strict=True
    ):
        for _ in range(count):
            name = f"s{len(students)}"
            students.append(submission(name, [row(name, *item) for item in zip(items, pattern)]))
    for item, pass_rate, correlation in zip(items, LSAT6_PASS_RATES, LSAT6_POINT_BISERIAL_EXCLUDED):
        result = statistics.summarise_exercise(item, students)
        assert result.pass_rate == pytest.approx(pass_rate)
        assert result.discrimination == pytest.approx(correlation, abs=0.00006)


def test_manual_grades_count_and_ungraded_answers_do_not():
    rows = [row("ada", "softmax"), row("ada", "explain", Verdict.MANUAL, points=4)]
    ungraded = submission("ada", rows, {"softmax": 2, "explain": None}, awaiting_manual_count=1)
    assert ungraded.percent == 100
    graded_mark = submission("ada", rows, {"softmax": 2, "explain": 1}, penalty=1.0)
    assert graded_mark.percent == pytest.approx(100 * 2 / 6)
    question = statistics.summarise_exercise("explain", [ungraded, graded_mark])
    assert (
        question.manually_graded
        and question.counts["waiting"] == 1
        and question.mean == 25
        and question.pass_rate is None
    )


def test_misconceptions_are_ranked_by_students():
    def wrong(student, exercise, name):
        return row(student, exercise, Verdict.WRONG, name)

    students = [
        submission(
            "a", [wrong("a", "softmax", "transposed"), wrong("a", "stable_softmax", "transposed")]
        ),
        submission("b", [wrong("b", "softmax", "returns-a-list"), row("b", "stable_softmax")]),
        submission("c", [wrong("c", "softmax", "returns-a-list"), row("c", "stable_softmax")]),
    ]
    first, second = statistics.count_misconceptions(students, {LAB: lab(LAB)})
    assert (first.name, first.students) == ("returns-a-list", {"b", "c"})
    assert first.means == MISTAKES["returns-a-list"][0]
    assert (second.students, second.by_exercise.total(), second.submitter_count) == ({"a"}, 2, 3)


def test_a_misconception_that_the_lab_no_longer_defines_keeps_its_name():
    unknown_misconception = row("a", "softmax", Verdict.WRONG, "once-known")
    assert (
        statistics.count_misconceptions(
            [submission("a", [unknown_misconception])], {LAB: lab(LAB)}
        )[0].means
        == "once known"
    )


def test_two_misconceptions_in_one_answer_have_a_sentence_each():
    both = row("a", "softmax", Verdict.WRONG, "returns-a-list + once-known")
    means = statistics.count_misconceptions([submission("a", [both])], {LAB: lab(LAB)})[0].means
    assert means == MISTAKES["returns-a-list"][0] + " once known"


def test_one_mistake_in_several_labs_is_counted_once_for_each_student():
    def wrong_submission(student, lab_name, exercise):
        rows = (replace(row(student, exercise, Verdict.WRONG, "transposed"), lab=lab_name),)
        return replace(submission(student, list(rows)), lab=lab_name)

    students = [
        wrong_submission("a", LAB, "softmax"),
        wrong_submission("a", "attention-masks", "causal_mask"),
        wrong_submission("b", LAB, "softmax"),
    ]
    (misconception,) = statistics.count_misconceptions(students, {LAB: lab(LAB)})
    assert misconception.students == {"a", "b"} and misconception.labs == {LAB, "attention-masks"}
    assert misconception.by_exercise == {"softmax": 2, "causal_mask": 1}


def test_a_question_has_no_mean_before_manual_grading():
    unreadable = submission("lars", [row("lars", "explain", Verdict.MISSING)])
    ungraded = submission(
        "ada", [row("ada", "explain", Verdict.MANUAL)], {"explain": None}, awaiting_manual_count=1
    )
    assert statistics.summarise_exercise("explain", [unreadable, ungraded]).mean is None


def test_students_who_need_attention():
    low_score = submission(
        "bo", [row("bo", "softmax"), row("bo", "stable_softmax", Verdict.WRONG, points=6)]
    )
    many_attempts = replace(
        submission("cy", [row("cy", "softmax")]), attempts=statistics.MANY_ATTEMPTS
    )
    good_score = submission("ada", [row("ada", "softmax")])
    unreadable = submission("di", [row("di", "softmax", Verdict.MISSING)])
    marks = ClassMarks({name: Person(student=name) for name in ("ada", "bo", "cy", "di", "eve")})
    needs = statistics.find_students_in_need(
        [low_score, many_attempts, good_score, unreadable], marks, {LAB: ["eve"]}, [LAB]
    )
    assert [need.student for need in needs] == ["eve", "di", "bo", "cy"]
    assert {need.student: need.reasons for need in needs} == {
        "eve": ("Has submitted nothing at all.",),
        "di": ("Has 0 % of the points graded so far.", f"The file for {LAB} could not be read."),
        "bo": ("Has 25 % of the points graded so far.",),
        "cy": (f"Has submitted {LAB} 4 times.",),
    }
    needs_in_two_labs = statistics.find_students_in_need(
        [good_score], marks, {LAB: ["ada"], "attention-masks": []}, [LAB, "attention-masks"]
    )
    assert needs_in_two_labs[0].reasons == (f"Has not submitted {LAB}.",)


def test_a_pseudonymous_mark_has_no_text_of_the_student():
    mark = submission(
        "ada",
        [row("ada", "softmax", Verdict.ERROR, message="ValueError: Ada was here")],
        notes=["'ada.txt'"],
    )
    marks = ClassMarks({"ada": Person(student="ada")}, marks={("ada", LAB): mark})
    (anonymous_mark,) = marks.with_pseudonyms({"ada": "student-001"}).marks.values()
    assert (
        anonymous_mark.results[0].verdict is Verdict.ERROR
        and anonymous_mark.results[0].exercise == "softmax"
    )
    assert "ada" not in repr(anonymous_mark).lower()


def test_withdrawn_students_are_not_missing():
    marks = ClassMarks(
        {name: Person(student=name, withdrawn=name == "bo") for name in ("ada", "bo", "cy")},
        submissions=frozenset({("ada", LAB)}),
        policy=Policy(due_dates={LAB: None, "positions": None}),
    )
    assert marks.missing_students == {LAB: ["cy"]}


def test_a_lab_that_one_student_submitted_by_mistake_is_not_asked_of_everybody():
    students = [f"s{n:02}" for n in range(20)]
    submissions = {(name, LAB) for name in students[:18]} | {("s03", "positions")}
    marks = ClassMarks(
        {name: Person(student=name) for name in students},
        submissions=frozenset(submissions),
        policy=Policy(due_dates={LAB: None, "positions": None}),
    )
    assert marks.missing_students == {LAB: ["s18", "s19"]}
    # Three of twenty are no mistake, and a lab with a due date is asked of everybody.
    three = replace(
        marks, submissions=marks.submissions | {("s04", "positions"), ("s05", "positions")}
    )
    assert len(three.missing_students["positions"]) == 17
    due = replace(
        marks, policy=Policy(due_dates={LAB: None, "positions": datetime(2026, 1, 2, tzinfo=UTC)})
    )
    assert len(due.missing_students["positions"]) == 19
    gradebook_due = replace(marks, deadlines=Deadlines({"positions": datetime(2026, 1, 2)}))
    assert len(gradebook_due.missing_students["positions"]) == 19
    assert marks.mistaken_lab_submitters == {"positions": ["s03"]}
    assert (
        not three.mistaken_lab_submitters
        and not due.mistaken_lab_submitters
        and not gradebook_due.mistaken_lab_submitters
    )


def test_a_lab_that_was_submitted_by_mistake_is_in_no_platforms_table():
    students = [f"s{n:02}" for n in range(20)]
    keys = [(name, LAB) for name in students[:18]] + [("s03", "positions")]
    marks = ClassMarks(
        {name: Person(student=name, login=name) for name in students},
        labs={name: Assignment(name, None, 10.0) for name in (LAB, "positions")},
        marks={
            key: Mark(student=key[0], lab=key[1], scores={"e": 1.0}, points={"e": 10.0})
            for key in keys
        },
        submissions=frozenset(keys),
        policy=Policy(due_dates={LAB: None, "positions": None}),
    )
    names = {table.name: table.text for table in build_platform_tables(marks, ["Moodle", "Canvas"])}
    assert "moodle-positions.csv" not in names and "positions" not in names["canvas.csv"]
    assert LAB in names["canvas.csv"]
    rows = [row["assignment"] for row in table(format_grades_csv(marks))]
    assert rows.count(LAB) == 20 and rows.count("positions") == 1  # her own row tells of it


def test_who_submitted_only_another_lab_has_not_submitted_nothing():
    marks = ClassMarks({name: Person(student=name) for name in ("ada", "bo")})
    other = replace(submission("ada", [row("ada", "softmax", Verdict.PASS)]), lab="positions")
    needs = statistics.find_students_in_need(
        [other], marks, {LAB: ["ada", "bo"]}, [LAB, "positions"]
    )
    assert {need.student: need.reasons for need in needs} == {
        "bo": ("Has submitted nothing at all.",),
        "ada": (f"Has not submitted {LAB}.",),
    }


def test_the_newest_submission_counts_as_an_attempt_beside_the_earlier_ones(classroom):
    earlier = classroom.root / "submitted-earlier" / "ada" / LAB
    earlier.mkdir(parents=True)
    for name in ("2026-01-01.ipynb", "2026-01-02.ipynb", "2026-01-02.json"):
        (earlier / name).write_text("{}")
    marks = ClassMarks(policy=policy_of())
    marks.add_results(classroom, {("ada", LAB): results("ada"), ("bo", LAB): results("bo")})
    assert {student: mark.attempts for (student, _), mark in marks.marks.items()} == {
        "ada": 3,
        "bo": 1,
    }
