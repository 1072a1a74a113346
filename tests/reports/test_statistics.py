"""Statistics of a class, compared with values computed by hand."""

from collections import Counter
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
from autograder.reports.term import ClassTerm, StudentTermResult, TermRules, format_term_csv
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


def test_who_has_left_is_in_no_median_of_a_lab():
    marks = ClassMarks({"ada": Person(student="ada"), "bo": Person(student="bo", withdrawn=True)})
    submissions = [
        submission("ada", [row("ada", "softmax")]),
        submission("bo", [row("bo", "softmax", Verdict.WRONG)]),
    ]
    figures = statistics.summarise_lab(LAB, submissions, marks).distribution
    assert (figures.count, figures.median, figures.mean) == (1, 100.0, 100.0)


def test_who_has_left_needs_no_help():
    marks = ClassMarks({"ada": Person(student="ada", withdrawn=True), "bo": Person(student="bo")})
    wrong = [row("ada", "softmax", Verdict.WRONG)]
    submissions = [submission("ada", wrong), submission("bo", wrong)]
    needs = statistics.find_students_in_need(submissions, marks, {}, [LAB])
    assert [need.student for need in needs] == ["bo"]


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


def test_withdrawn_students_are_withdrawn_under_their_pseudonyms_too():
    """Otherwise the anonymous tables of the term have a line for them."""
    people = {
        "ada": Person(student="ada", name="Ada L"),
        "bo": Person(student="bo", withdrawn=True),
    }
    names = {"ada": "student-2", "bo": "student-1"}
    marks = ClassMarks(people).with_pseudonyms(names)
    assert marks.students == {
        "student-1": Person(student="student-1", withdrawn=True),
        "student-2": Person(student="student-2"),
    }
    assert list(marks.students) == ["student-1", "student-2"]
    rules = TermRules({})
    terms = ClassTerm(rules, dict.fromkeys(names, StudentTermResult(()))).with_pseudonyms(names)
    (line,) = format_term_csv(terms, marks).splitlines()[1:]
    assert line.startswith("student-2,")


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


def test_a_mark_a_rounding_below_full_is_full_and_ranges_begin_at_their_tens():
    distribution = statistics.summarise_distribution([99.996, 99.99, 9.9, 10.0, 0.0])
    assert distribution.full_mark_count == 1
    assert distribution.tenths == (2, 1, 0, 0, 0, 0, 0, 0, 0, 2)


@pytest.mark.parametrize(("points", "reasons"), [(6.0, 1), (2.0, 0)])
def test_half_of_the_points_is_not_low(points, reasons):
    rows = [row("ada", "softmax"), row("ada", "stable_softmax", Verdict.WRONG, points=points)]
    marks = ClassMarks({"ada": Person(student="ada")})
    needs = statistics.find_students_in_need([submission("ada", rows)], marks, {}, [LAB])
    assert len(needs) == reasons


def test_a_file_is_unreadable_if_nothing_in_it_could_be_graded():
    marks = ClassMarks({"ada": Person(student="ada")})
    part = submission("ada", [row("ada", "a", Verdict.MISSING), row("ada", "b", points=4)])
    (need, *_) = [*statistics.find_students_in_need([part], marks, {}, [LAB]), None]
    assert need is None
    nothing = submission("ada", [])
    assert statistics.find_students_in_need([nothing], marks, {}, [LAB]) == []


def test_points_that_await_grading_are_not_possible_points():
    rows = [row("ada", "a"), row("ada", "why", Verdict.MANUAL, points=8)]
    half = submission("ada", rows, {"a": 1.0, "why": None})
    other = submission("ada", [row("ada", "b")], penalty=1.0)
    assert statistics.compute_student_percentages([half, other]) == {"ada": 50.0}


def test_a_lab_counts_late_submissions_also_those_that_cost_nothing():
    late = submission("ada", [row("ada", "a", seconds=1.0)], seconds_late=60.0)
    slow = submission("bo", [row("bo", "a", seconds=4.0)])
    waiting = submission("cy", [row("cy", "a", seconds=2.0)], awaiting_manual_count=2)
    summary = statistics.summarise_lab(LAB, [late, slow, waiting], ClassMarks())
    assert (summary.late_count, summary.awaiting_manual_count, summary.points) == (1, 1, 2.0)
    seconds = (summary.total_seconds, summary.slowest_seconds, summary.median_seconds)
    assert seconds == (7.0, 4.0, 2.0)
    assert summary.distribution.count == 3


def test_a_misconception_in_a_right_answer_is_none_and_the_usual_words_are_shown():
    right = submission("a", [row("a", "softmax", Verdict.PASS, "transposed")])
    assert statistics.count_misconceptions([right], {LAB: lab(LAB)}) == []
    name = next(
        m.name for m in lab(LAB).exercises["softmax"].misconceptions if m.name not in MISTAKES
    )
    means = next(m.means for m in lab(LAB).exercises["softmax"].misconceptions if m.name == name)
    old = replace(row("a", "softmax", Verdict.WRONG, name), lab="an-old-lab")
    usual = [submission(s, [row(s, "softmax", Verdict.WRONG, name)]) for s in ("b", "c")]
    (found,) = statistics.count_misconceptions([submission("a", [old]), *usual], {LAB: lab(LAB)})
    assert found.means == means and found.students == {"a", "b", "c"}


def test_of_misconceptions_of_as_many_students_the_one_in_more_exercises_comes_first():
    rows = [row("a", "x", Verdict.WRONG, "alpha"), row("a", "y", Verdict.WRONG, "zeta")]
    rows.append(row("a", "z", Verdict.WRONG, "zeta"))
    found = statistics.count_misconceptions([submission("a", rows)], {})
    assert [(entry.name, entry.by_exercise.total()) for entry in found] == [
        ("zeta", 2),
        ("alpha", 1),
    ]


def test_the_message_of_a_group_is_that_on_its_first_exercise():
    rows = [row("b", name, Verdict.ERROR, message=f"On {name}.") for name in ("x", "y")]
    marks = [submission("b", rows), submission("a", rows[:1]), submission("c", [])]
    groups = statistics.find_exercises_by_submission(marks, lambda result: True)
    assert [(group.student, group.exercises, group.message) for group in groups] == [
        ("b", ("x", "y"), "On x."),
        ("a", ("x",), "On x."),
    ]


def test_zeros_of_blank_answers_count_when_all_others_are_graded():
    blank = submission("a", [row("a", "why", Verdict.MANUAL)], {"why": 0.0})
    graded = submission("b", [row("b", "why", Verdict.MANUAL)], {"why": 2.0})
    open_mark = submission("c", [row("c", "why", Verdict.MANUAL)], {"why": None})
    assert statistics.summarise_exercise("why", [blank, graded]).mean == 50
    assert statistics.summarise_exercise("why", [blank, graded, open_mark]).mean == 100
    by_hand_zero = replace(blank, manually_graded=frozenset({"why"}))
    assert statistics.summarise_exercise("why", [by_hand_zero, graded, open_mark]).mean == 50
    unreadable = submission("d", [row("d", "why", Verdict.MISSING)])
    assert statistics.summarise_exercise("why", [unreadable, graded]).mean == 100


def test_ten_students_are_enough_for_a_discrimination_and_an_exercise_may_be_missing():
    students = []
    for i in range(statistics.MIN_STUDENTS_FOR_DISCRIMINATION):
        verdict = (Verdict.PASS, Verdict.WRONG)[i % 2]
        rows = [row(f"s{i}", name, verdict) for name in "ab"]
        students.append(submission(f"s{i}", rows))
    of_another_version = submission("old", [row("old", "b")])
    exercise = statistics.summarise_exercise("a", [*students, of_another_version])
    assert exercise.discrimination == pytest.approx(1)
    assert exercise.judged_submission_count == len(students) and exercise.mean == 50
    assert statistics.summarise_exercise("a", students[1:]).discrimination is None


def test_a_long_message_of_a_group_ends_with_an_ellipsis():
    failure = submission("a", [row("a", "x", Verdict.ERROR, message="word " * 200)])
    (group,) = statistics.find_exercises_by_submission([failure], lambda result: True)
    assert group.message.endswith("word …")
    assert len(group.message) <= statistics.MAX_MESSAGE_CHARACTERS
    percents = [statistics.FULL_MARK_PERCENT, 99.99]
    assert statistics.summarise_distribution(percents).full_mark_count == 1


def test_misconceptions_are_found_after_right_answers_and_in_every_submission():
    name = lab(LAB).exercises["softmax"].misconceptions[0].name
    means = lab(LAB).exercises["softmax"].misconceptions[0].means
    students = [
        submission("a", [row("a", "other"), row("a", "softmax", Verdict.WRONG, name)]),
        submission("b", [row("b", "softmax")]),
        submission("c", [row("c", "softmax", Verdict.ERROR, name), row("c", "other")]),
        submission("d", [row("d", "other", Verdict.WRONG)]),
    ]
    assert statistics.count_misconceptions(students, {LAB: lab(LAB)}) == [
        statistics.MisconceptionOccurrences(
            name, means, Counter({"softmax": 2}), {"a", "c"}, submitter_count=3, labs={LAB}
        )
    ]


def test_students_in_need_come_with_those_without_points_first_then_by_points_and_reasons():
    def make_wrong_submission(student, right_points):
        rows = [row(student, "a", Verdict.WRONG, points=100)]
        return submission(student, rows, {"a": right_points})

    marks = ClassMarks({name: Person(student=name) for name in "abcdef"})
    submissions = [
        make_wrong_submission("a", 49.5),
        make_wrong_submission("b", 0.5),
        make_wrong_submission("c", 0),
        replace(make_wrong_submission("d", 0), attempts=5),
        submission("e", [row("e", "a", Verdict.MANUAL)]),
    ]
    labs = [LAB, "training", "positions"]
    missing = {LAB: ["f"], "training": ["e", "f"], "positions": ["e"]}
    needs = statistics.find_students_in_need(submissions, marks, missing, labs)
    assert [(need.student, need.percent, need.reasons) for need in needs] == [
        ("e", None, ("Has not submitted training and positions.",)),
        ("f", None, ("Has submitted nothing at all.",)),
        ("d", 0.0, ("Has 0 % of the points graded so far.", f"Has submitted {LAB} 5 times.")),
        ("c", 0.0, ("Has 0 % of the points graded so far.",)),
        ("b", 0.5, ("Has 0 % of the points graded so far.",)),
        ("a", 49.5, ("Has 50 % of the points graded so far.",)),
    ]


def test_a_lab_is_summarised_from_all_its_submissions():
    first = [row("a", "x", seconds=1.0), row("a", "why", Verdict.MANUAL, points=4, seconds=2.0)]
    second = [row("b", "x", Verdict.WRONG, seconds=5.0), row("b", "y", seconds=0.0)]
    students = [
        submission("a", first, awaiting_manual_count=2, seconds_late=60.0),
        submission("b", second, attempts=3),
        submission("c", []),
    ]
    marks = ClassMarks({name: Person(student=name) for name in "abc"})
    summary = statistics.summarise_lab(LAB, students, marks)
    assert [exercise.name for exercise in summary.exercises] == ["x", "why", "y"]
    assert (summary.name, summary.points, summary.omitted_pattern_count) == (LAB, 6, 0)
    assert (summary.awaiting_manual_count, summary.late_count) == (1, 1)
    assert (summary.total_seconds, summary.slowest_seconds, summary.median_seconds) == (8, 5, 3)
    assert (summary.distribution.count, summary.distribution.mean) == (2, 75)
    assert [pattern.outcomes for pattern in summary.patterns] == [
        ("passed", "waiting", "blank"),
        ("wrong", "blank", "passed"),
        ("blank", "blank", "blank"),
    ]
    assert (summary.failing_cases, summary.arrivals, summary.attempts) == ((), (), {1: 2, 3: 1})
    nothing = statistics.summarise_lab(LAB, [], marks)
    assert (nothing.points, nothing.slowest_seconds, nothing.median_seconds) == (0, 0, 0)


@pytest.mark.parametrize(
    ("scores", "share"),
    [
        ({"a": 1.0}, None),
        ({"a": 1.0, "b": None}, None),
        ({"a": 1.0, "b": 1.0, "c": None}, 0.5),
        ({"a": None, "b": 1.0, "c": 2.0}, 0.75),
        ({"a": 1.0, "dropped": 0.0}, None),
    ],
)
def test_the_rest_of_a_lab_is_what_is_graded_of_it(scores, share):
    points = dict.fromkeys(scores, 2.0) | {"dropped": 0.0}
    mark = Mark(student="a", lab=LAB, scores=scores, points=points)
    assert statistics._share_of_other_points(mark, "a") == share
