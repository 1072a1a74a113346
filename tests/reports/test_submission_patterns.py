"""Pictures of the report: outcomes by student and exercise, failing cases, times of submission."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from graded_class import (
    LAB,
    enrol,
    fill,
    reported,
    results,
    row,
    submission,
    well_formed,
    with_policy,
)

from autograder.core.results import ResultReason, Verdict
from autograder.gradebook.deadlines import Deadlines
from autograder.gradebook.policy import Policy
from autograder.reports.marks import ClassMarks
from autograder.reports.submission_patterns import (
    FAILING_CASES_SHOWN,
    PATTERNS_SHOWN,
    SPANS_BEFORE_DUE_DATE,
    classify_outcome,
    count_arrivals,
    count_attempts,
    find_most_failed_cases,
    find_outcome_patterns,
)


def mark_with(student, *outcomes):
    """A mark for a lab of exercises e0, e1 …: "." passed, "x" wrong, "!" error, "-" not written."""
    verdicts = {".": Verdict.PASS, "x": Verdict.WRONG, "!": Verdict.TIMEOUT, "-": Verdict.ERROR}
    rows = []
    for number, sign in enumerate("".join(outcomes)):
        kind = ResultReason.STUB if sign == "-" else ResultReason.JUDGED
        rows.append(row(student, f"e{number}", verdicts[sign], kind=kind))
    return submission(student, rows)


def test_students_with_the_same_outcomes_share_a_row_and_the_best_come_first():
    marks = [
        mark_with("ada", ".x"),
        mark_with("bo", "!-"),
        mark_with("cy", ".x"),
        mark_with("di", ".."),
    ]
    patterns, omitted_count = find_outcome_patterns(["e0", "e1"], marks)
    assert [(pattern.outcomes, pattern.students) for pattern in patterns] == [
        (("passed", "passed"), ("di",)),
        (("passed", "wrong"), ("ada", "cy")),
        (("stopped", "blank"), ("bo",)),
    ]
    assert omitted_count == 0


def test_of_many_patterns_the_rare_ones_are_counted_only():
    marks = []
    for number in range(PATTERNS_SHOWN + 5):
        signs = format(number, "07b").replace("0", ".").replace("1", "x")
        marks += [mark_with(f"s{number}", signs), mark_with(f"t{number}", signs)]
    marks.append(mark_with("ada", "!!!!!!!"))  # the rarest of all
    patterns, omitted_count = find_outcome_patterns([f"e{i}" for i in range(7)], marks)
    assert len(patterns) == PATTERNS_SHOWN and omitted_count == 11
    assert not any("ada" in pattern.students for pattern in patterns)


def test_a_persons_points_decide_the_outcome():
    manual = row("ada", "why", Verdict.MANUAL, points=4)
    for score, outcome in ((None, "waiting"), (0, "wrong"), (1.5, "part"), (4, "passed")):
        mark = submission("ada", [manual], scores={"why": score})
        assert classify_outcome(mark, manual) == outcome
    wrong = row("ada", "softmax", Verdict.WRONG)
    changed = submission(
        "ada", [wrong], scores={"softmax": 2}, manually_graded=frozenset({"softmax"})
    )
    assert classify_outcome(changed, wrong) == "passed"
    assert classify_outcome(submission("ada", [wrong]), wrong) == "wrong"


def test_a_case_counts_once_a_submission_and_the_most_frequent_comes_first():
    def failing(student, *labels):
        return submission(student, [row(student, "softmax", Verdict.WRONG, failed_cases=labels)])

    marks = [failing("ada", "one row", "large"), failing("bo", "large", "large"), failing("cy")]
    cases = [(case.exercise, case.label, case.count) for case in find_most_failed_cases(marks)]
    assert cases == [("softmax", "large", 2), ("softmax", "one row", 1)]
    many = failing("di", *map(str, range(30)))
    other = submission("ed", [row("ed", "attention_qkv", Verdict.WRONG, failed_cases=("large",))])
    shown = [case.exercise for case in find_most_failed_cases([many, other, failing("flo", "0")])]
    assert shown == ["softmax"] + ["attention_qkv"] + ["softmax"] * (FAILING_CASES_SHOWN - 1)


def test_submissions_are_counted_against_each_students_own_due_date():
    due = datetime(2026, 11, 20, 18)
    extensions = {("bo", LAB): timedelta(days=2)}
    deadlines = Deadlines({LAB: due}, extensions)
    marks = ClassMarks(deadlines=deadlines, policy=Policy(due_dates={LAB: due}))
    times = {
        "ada": due - timedelta(days=8),
        "bo": due + timedelta(days=2, minutes=-30),  # in time, by the extension
        "cy": due,
        "di": due + timedelta(minutes=1),
        "ed": due + timedelta(days=9),
        "flo": None,
    }
    rows = []
    for student, timestamp in times.items():
        rows.append(replace(mark_with(student, "."), timestamp=timestamp))
    counts = [span.count for span in count_arrivals(rows, marks)]
    assert counts == [1, 0, 0, 0, 0, 2, 1, 0, 1]
    assert sum(counts[:SPANS_BEFORE_DUE_DATE]) == 3
    assert count_arrivals(rows, ClassMarks()) == []  # without a due date


def test_attempts_from_four_on_are_one_number():
    marks = [replace(mark_with("ada", "."), attempts=n) for n in (1, 1, 2, 4, 9)]
    assert count_attempts(marks) == {1: 2, 2: 1, 4: 2}


def test_the_page_shows_all_of_it(classroom, prepared):
    with_policy(classroom, due=datetime(2026, 11, 20, 18))
    facts = {"failed_cases": ("three <large> scores",)}
    fill(
        classroom,
        {"ada": results("ada", ["softmax"], **facts), "bo": results("bo")},
        gradebook=prepared,
        timestamp="2026-11-20 17:30:00 UTC",
    )
    enrol(classroom, "Name,Login\nAda Lovelace,ada\nBo Li,bo\n")
    write_earlier = classroom.root / "submitted-earlier" / "ada" / LAB
    write_earlier.mkdir(parents=True)
    (write_earlier / "20261101T000000Z-0123456789ab.ipynb").write_text("{}")
    page = reported(classroom)
    well_formed(page)
    table = page[page.index(f'id="outcomes-{LAB}"') :].split("</table>")[0]
    assert table.count('aria-label="wrong"') == 1 and "Ada Lovelace (ada)" in table
    assert table.index("Bo Li") < table.index("Ada Lovelace")
    cases = page[page.index(f'id="cases-{LAB}"') :].split("</table>")[0]
    assert "three &lt;large&gt; scores</td>" in cases
    assert "&lt; 1 h before the due date: 2. " in page
    assert "Attempts: 1 student submitted once, 1 student submitted twice." in page


def test_a_submission_at_the_due_date_came_before_it():
    due = datetime(2026, 1, 2, 18)
    marks = ClassMarks(
        deadlines=Deadlines({LAB: due}, {("bo", LAB): timedelta(hours=2)}), policy=Policy()
    )
    submissions = [
        replace(submission(student, []), timestamp=due + timedelta(hours=hours))
        for student, hours in (("ada", 0), ("bo", 2), ("cy", 0.001), ("di", -168), ("ed", 24.5))
    ]
    submissions.append(submission("fi", []))  # nothing says when it came
    counts = [span.count for span in count_arrivals(submissions, marks)]
    assert counts == [1, 0, 0, 0, 0, 2, 1, 0, 1]
    assert sum(counts[:SPANS_BEFORE_DUE_DATE]) == 3
    assert count_arrivals(submissions, ClassMarks()) == []


def test_a_person_s_points_for_a_blank_answer_decide_and_a_missing_row_is_blank():
    stub = row("ada", "softmax", Verdict.ERROR, kind=ResultReason.STUB)
    assert classify_outcome(submission("ada", [stub]), stub) == "blank"
    given = submission("ada", [stub], {"softmax": 1}, manually_graded=frozenset({"softmax"}))
    assert classify_outcome(given, stub) == "part"
    (pattern,), _ = find_outcome_patterns(["softmax", "new"], [given])
    assert pattern.outcomes == ("part", "blank")


def test_patterns_with_more_points_come_before_those_of_more_students():
    marks = [mark_with("a", "x."), mark_with("b", "x."), mark_with("c", "..")]
    patterns, _ = find_outcome_patterns(["e0", "e1"], marks)
    assert [pattern.students for pattern in patterns] == [("c",), ("a", "b")]


def test_four_attempts_and_more_are_one_group():
    marks = [replace(submission(str(n), []), attempts=n) for n in (7, 1, 4, 1, 3)]
    assert list(count_attempts(marks).items()) == [(1, 2), (3, 1), (4, 2)]


def test_each_span_of_time_ends_where_its_label_says():
    due = datetime(2026, 1, 20, 18)
    marks = ClassMarks(deadlines=Deadlines({LAB: due}, {}), policy=Policy())
    labels = ["> 7 d", "7–3 d", "3–1 d", "24–6 h", "6–1 h", "< 1 h", "< 1 h", "1–24 h", "> 1 d"]
    for index, hours in enumerate((-168, -72, -24, -6, -1, 0, 1, 24)):
        for minutes, expected in ((0, index), (1, index + 1)):
            timestamp = due + timedelta(hours=hours, minutes=minutes)
            spans = count_arrivals([replace(submission("ada", []), timestamp=timestamp)], marks)
            assert [span.count for span in spans].index(1) == expected, (hours, minutes)
            assert [span.label for span in spans] == labels


@pytest.mark.parametrize(
    ("verdict", "score", "is_persons", "is_stub", "outcome"),
    [
        (Verdict.PASS, 2.0, False, False, "passed"),
        (Verdict.WRONG, 1.0, False, False, "wrong"),  # a part of the points, but not a person's
        (Verdict.ERROR, 0.0, False, False, "stopped"),
        (Verdict.TIMEOUT, 0.0, False, False, "stopped"),
        (Verdict.CRASH, 0.0, False, False, "stopped"),
        (Verdict.MISSING, 0.0, False, False, "stopped"),
        (Verdict.FAULT, None, False, False, "waiting"),
        (Verdict.MANUAL, None, False, False, "waiting"),
        (Verdict.MANUAL, 0.0, False, False, "wrong"),
        (Verdict.MANUAL, 0.5, False, False, "part"),
        (Verdict.MANUAL, 2.0, False, False, "passed"),
        (Verdict.MANUAL, 2.5, False, False, "passed"),
        (Verdict.WRONG, 2.0, True, False, "passed"),
        (Verdict.PASS, 1.0, True, False, "part"),
        (Verdict.PASS, 0.0, True, False, "wrong"),
        (Verdict.ERROR, 0.0, False, True, "blank"),
        (Verdict.ERROR, 1.0, True, True, "part"),
    ],
)
def test_the_outcome_of_each_verdict_and_of_points_of_a_person(
    verdict, score, is_persons, is_stub, outcome
):
    kind = ResultReason.STUB if is_stub else ResultReason.JUDGED
    result = row("ada", "a", verdict, kind=kind)
    graded = frozenset("a") if is_persons else frozenset()
    mark = submission("ada", [result], {"a": score}, manually_graded=graded)
    assert classify_outcome(mark, result) == outcome
