"""Sentences of `autograder show`, of the term and of the report, without a gradebook."""

import html
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from graded_class import LAB, row, submission
from our_course import COURSE, lab

from autograder.core.errors import UsageError
from autograder.core.results import ResultReason, Verdict
from autograder.gradebook.deadlines import Deadlines
from autograder.gradebook.graded_submission import GradedSubmission
from autograder.gradebook.policy import Policy
from autograder.gradebook.regrade_requests import RegradeRequest
from autograder.intake import Origin, Person
from autograder.reports import class_page, terminal
from autograder.reports import term as term_module
from autograder.reports.marks import ClassMarks, Mark
from autograder.reports.platform_csv import PlatformTable
from autograder.reports.safe_html import render_page
from autograder.reports.term import (
    ClassTerm,
    LabContribution,
    LabStatus,
    StudentTermResult,
    TermRules,
)


def make_marks(**fields):
    points = {LAB: {"softmax": 4.0, "why": 2.0}}
    return ClassMarks(
        policy=Policy(points=points, zone=ZoneInfo("Europe/Paris"), due_dates={LAB: None}), **fields
    )


def describe(rows, mark=None, requests=None, **fields):
    marks = make_marks(regrade_requests={("ada", LAB): requests or {}})
    if mark:
        marks.marks["ada", LAB] = mark
    graded = GradedSubmission(tuple(rows), None, **fields)
    return list(terminal._describe_submission("ada", LAB, marks, graded))


def test_each_verdict_has_its_sign_and_a_message_that_is_one_line():
    rows = [
        row("ada", "softmax", points=4),
        row("ada", "a", Verdict.WRONG, "transposed", "Not\n  ✓ b right"),
        row("ada", "why", Verdict.MANUAL),
        row("ada", "b", Verdict.FAULT, message="No room."),
    ]
    lines = describe(rows, notes=("A link.",), log=("Forged messages came.",))
    assert [" ".join(line.split()) for line in lines] == [
        f"ada, {LAB}",
        "Note: A link.",
        "Note: Forged messages came.",
        "✓ softmax 4 of 4 pass",
        "✗ a 0 of 2 wrong [transposed]",
        "Not ✓ b right",
        "✎ why – of 2 manual",
        "! b – of 2 fault",
        "No room.",
    ]


def test_points_are_today_s_and_a_person_s():
    mark = Mark(
        student="ada",
        lab=LAB,
        scores={"softmax": 1.5},
        points={"softmax": 4.0},
        timestamp=datetime(2026, 1, 2, 17),
    )
    lines = describe([row("ada", "softmax")], mark)
    assert lines[0] == f"ada, {LAB}, submitted Fri 2 January 2026, 18:00 CET"
    assert "1.5 of 4" in lines[1] and lines[-1] == "  In all 1.5 of 4"


def test_requests_stand_below_their_exercise_with_their_answers():
    requests = {"softmax": (RegradeRequest("Why?"), RegradeRequest("And now?", "Yes."))}
    lines = describe([row("ada", "softmax"), row("ada", "b")], requests=requests)
    assert [line.strip() for line in lines[2:4]] == [
        "Asked: Why? Answer: not yet.",
        "Asked: And now? Answer: Yes.",
    ]


def test_the_total_says_what_was_taken_off_and_what_is_open():
    plain = Mark(student="ada", lab=LAB, scores={"a": 2.0}, points={"a": 2.0})
    totals = {
        "  In all 2 of 2": plain,
        "  In all 1.5 of 2, 0.5 off for lateness": replace(plain, penalty=0.5),
        "  In all 2 of 2; 1 awaiting manual grading": replace(plain, awaiting_manual_count=1),
        "  In all 2 of 2; interrupted: run `autograder grade` again": replace(
            plain, interrupted=True
        ),
    }
    for text, mark in totals.items():
        assert terminal._describe_total_and_open_grading(mark) == text


def contribution(status, share=None, name="a"):
    return LabContribution(name, Fraction(1), share, status)


def test_the_term_so_far_in_one_line():
    waits = (contribution(LabStatus.AWAITING_GRADING),)
    texts = {
        "nothing counts yet": StudentTermResult(()),
        "nothing counts yet; a lab awaits grading": StudentTermResult(waits),
        "81.9 of 100": StudentTermResult((), result="81.9"),
        "81.9 of 100, grade B; a lab awaits grading": StudentTermResult(
            waits, result="81.9", grade="B"
        ),
    }
    for text, result in texts.items():
        assert terminal._describe_term("ada", result) == f"ada, the term so far: {text}"


def test_a_whole_name_goes_before_longer_ones(monkeypatch, classroom):
    people = {
        "x1": Person(student="x1", name="Ada Li"),
        "x2": Person(student="x2", name="Ada Lind"),
    }
    monkeypatch.setattr(terminal, "read_class_list", lambda room: SimpleNamespace(people=people))
    assert terminal._resolve_student_name(classroom, ["x1", "x2"], "ada li") == "x1"
    assert terminal._resolve_student_name(classroom, ["x1", "x2"], "nobody") == "nobody"
    assert terminal._resolve_student_name(classroom, ["x1", "x2"], "Ada Lin") == "x2"
    assert terminal._resolve_student_name(classroom, ["x1", "y3"], "Y") == "y3"


@pytest.mark.parametrize(("count", "end"), [(5, "'s3' or 's4'."), (6, "'s4' or others.")])
def test_a_beginning_of_many_names_names_the_first_folders(monkeypatch, classroom, count, end):
    monkeypatch.setattr(terminal, "MAX_MATCHES_SHOWN", 5)
    monkeypatch.setattr(terminal, "read_class_list", lambda room: SimpleNamespace(people={}))
    folders = [f"s{number}" for number in reversed(range(count))]
    with pytest.raises(UsageError, match=r"^'s' may be 's0', 's1', ") as error:
        terminal._resolve_student_name(classroom, folders, "s")
    assert f"{end} Name one of these folders." in str(error.value)


# Rules of the term


def test_the_rules_are_told_as_they_are():
    weights = {"a": Fraction(1), "b": Fraction(2), "c": Fraction(0)}
    all_count = TermRules(weights, best=2, decimals=0).sentences
    assert all_count[0].endswith("each with its weight.") and "Of the" not in all_count[0]
    assert all_count[2] == "The result is rounded to a whole number, halves up."
    some = TermRules(weights, best=1, decimals=2, grades=((Fraction(0), "F"),)).sentences
    assert some[0].endswith("Of the 2 labs the one that gives most counts.")
    assert some[2].startswith("The result is rounded to 2 decimals, halves up, and the grade")


def read_rules(**term):
    return term_module.read_term_rules(replace(COURSE, term=term))


def test_only_labs_with_a_weight_can_be_the_best_and_weights_are_exact():
    weights = dict.fromkeys(COURSE.labs, 0) | {LAB: 0.1, "training": 0.2}
    rules = read_rules(weights=weights, best=2, grades={"A": 89.9, "F": 0})
    assert rules.weights[LAB] == Fraction(1, 10) and rules.grades[0] == (Fraction(899, 10), "A")
    with pytest.raises(
        term_module.CourseError, match="best is 3; a number of labs is expected, 1 to 2"
    ):
        read_rules(weights=weights, best=3)


@pytest.mark.parametrize(("minutes", "status"), [(9, "not due yet"), (11, "not submitted, so 0")])
def test_a_lab_is_missing_after_the_grace(minutes, status):
    due = datetime(2026, 1, 2, 18, tzinfo=UTC)
    marks = make_marks()
    marks.policy = replace(marks.policy, grace=timedelta(minutes=10), due_dates={LAB: due})
    marks.deadlines = Deadlines({LAB: due.replace(tzinfo=None)})
    now = due.replace(minute=minutes)
    found = term_module._compute_term_lab(Fraction(1), marks, "ada", LAB, now)
    assert found.status == status


# Sentences and addresses of the report


def make_report(marks, labs=(LAB,), **fields):
    return class_page.ClassReport(
        marks=marks,
        labs={name: lab(name) for name in labs},
        missing={},
        unreadable_results=[],
        terms=None,
        now=datetime(2026, 1, 2, tzinfo=UTC),
        **fields,
    )


@pytest.mark.parametrize(
    ("count", "sentence"),
    [
        (1, "1 grade awaits manual grading, and is left empty in the tables."),
        (2, "2 grades await manual grading, and are left empty in the tables."),
    ],
)
def test_the_report_names_its_tables_and_what_they_leave_out(count, sentence):
    marks = make_marks()
    for number in range(count):
        mark = submission(f"s{number}", [row("s", "a")], awaiting_manual_count=2)
        marks.marks[f"s{number}", LAB] = mark
    tables = (
        PlatformTable("canvas.csv", "Canvas", "", 1, "they are unknown"),
        PlatformTable("moodle.csv", "Moodle", "", 0, "x"),
    )
    report = make_report(marks, files=tables)
    assert class_page._describe_mark_tables(report) == [
        "Tables of marks beside it: grades.csv, canvas.csv, moodle.csv.",
        sentence,
        "canvas.csv leaves out 1 student: they are unknown.",
    ]


def test_commands_for_manual_grading_are_of_labs_that_await_it():
    marks = make_marks()
    open_mark = submission("ada", [row("ada", "a")], awaiting_manual_count=1)
    marks.marks["ada", LAB] = open_mark
    marks.marks["ada", "training"] = replace(open_mark, lab="training", awaiting_manual_count=0)
    assert make_report(marks, (LAB, "training")).manual_grading_commands == [
        f"autograder answers {LAB} explain-flat"
    ]
    report = make_report(marks, (LAB, "training"), classroom_option=" --classroom demo")
    assert report.manual_grading_commands == [
        f"autograder answers {LAB} explain-flat --classroom demo"
    ]


@pytest.mark.parametrize(
    ("score", "points", "is_listed"),
    [(None, 3.0, True), (None, 0.0, False), (2.0, 3.0, False), (0.0, 3.0, False)],
)
def test_a_question_that_is_graded_or_dropped_has_no_command(score, points, is_listed):
    """The answer to another question of the lab awaits a person."""
    marks = make_marks()
    mark = submission("ada", [row("ada", "a")], awaiting_manual_count=1)
    scores, all_points = (
        {"explain-flat": score, "other": None},
        {"explain-flat": points, "other": 1},
    )
    marks.marks["ada", LAB] = replace(mark, scores=scores, points=all_points)
    commands = [f"autograder answers {LAB} explain-flat"] if is_listed else []
    assert make_report(marks).manual_grading_commands == commands


def test_addresses_are_quoted_and_a_name_too_long_for_a_file_has_none():
    long_name = "x" * class_page.MAX_PAGE_NAME_BYTES
    marks = make_marks(students={name: Person(student=name) for name in ("a b#c", long_name)})
    assert make_report(marks).addresses == {"a b#c": "students/a%20b%23c.html"}


def test_only_pages_of_labs_are_linked(classroom):
    for name in (f"a b/{LAB}/{LAB}.html", f"ada/{LAB}/other.html"):
        path = classroom.feedback / name
        path.parent.mkdir(parents=True)
        path.write_text("")
    assert class_page._find_feedback_page_addresses(classroom) == {
        ("a b", LAB): f"../feedback/a%20b/{LAB}/{LAB}.html"
    }


def test_what_is_late_without_a_time_asked_and_shared_is_pending():
    marks = make_marks()
    for student, timestamp in (("ada", None), ("bo", datetime(2026, 1, 2))):
        mark = submission(student, [row(student, "softmax")], timestamp=timestamp)
        marks.marks[student, LAB] = mark
        marks.students[student] = Person(student=student)
    late = {(name, LAB): Origin(platform="Canvas", late=True) for name in ("ada", "bo")}
    marks.class_list = replace(marks.class_list, origins=late)
    marks.partners = {("ada", LAB): ("ada", "bo"), ("bo", LAB): ("ada", "bo")}
    marks.regrade_requests = {
        ("ada", LAB): {"softmax": (RegradeRequest("Why?"), RegradeRequest("So?", "Yes."))}
    }
    pending = class_page._pending_matters_for_template(make_report(marks))
    assert [mark.student for mark in pending["late_without_time"]] == ["ada"]
    assert pending["open_requests"] == [("ada", LAB, "softmax", "Why?")]
    assert pending["partners"] == [(LAB, ("ada", "bo"))]


def test_a_blank_exercise_is_not_among_the_errors():
    marks = make_marks()
    rows = [row("ada", "a", Verdict.ERROR, kind=ResultReason.STUB), row("ada", "b", Verdict.CRASH)]
    marks.marks["ada", LAB] = submission("ada", rows)
    marks.students["ada"] = Person(student="ada")
    groups = class_page._pending_matters_for_template(make_report(marks))["verdict_groups"]
    assert [(verdict, [group.exercises for group in found]) for verdict, _, _, found in groups] == [
        (Verdict.CRASH, [("b",)])
    ]


def test_sections_are_compared_if_there_are_two_and_grades_are_of_who_is_in_the_class():
    marks = make_marks(students={"ada": Person(student="ada", section="A")})
    assert class_page._summarise_sections(make_report(marks)) == []
    marks.students["bo"] = Person(student="bo", section="B", withdrawn=True)
    assert class_page._summarise_sections(make_report(marks)) == []
    marks.students["cy"] = Person(student="cy")
    marks.students["di"] = Person(student="di", section="A", withdrawn=True)
    for student in ("ada", "di"):
        marks.marks[student, LAB] = submission(student, [row(student, "a")])
    sections = class_page._summarise_sections(make_report(marks))
    assert [(name, size, marks.count) for name, size, marks in sections] == [
        ("", 1, 0),
        ("A", 1, 1),
    ]
    del marks.students["cy"]
    rules = TermRules({}, grades=((Fraction(50), "A"), (Fraction(0), "F")))
    terms = ClassTerm(rules, dict.fromkeys(("ada", "bo"), StudentTermResult((), grade="A")))
    assert class_page._count_grades(terms, marks) == [("A", 1), ("F", 0)]


def test_submissions_are_sorted_by_names_as_a_dictionary_does_and_then_by_lab():
    names = {"s1": "Zoe Z", "s2": "Émile E", "s3": "ada a", "s4": "Fay F"}
    marks = make_marks(students={s: Person(student=s, name=name) for s, name in names.items()})
    for student, name in [("s4", LAB), ("s1", LAB), ("s3", "z"), ("s2", LAB), ("s3", LAB)]:
        mark = replace(submission(student, [row(student, "a")]), lab=name)
        marks.marks[student, name] = mark
    marks.marks["s5", LAB] = submission("s5", [])  # it has no results yet
    found = [(mark.student, mark.lab) for mark in make_report(marks).graded_submissions]
    assert found == [("s3", LAB), ("s3", "z"), ("s2", LAB), ("s4", LAB), ("s1", LAB)]


def test_dropped_exercises_are_named():
    marks = make_marks(students={"ada": Person(student="ada")})
    marks.policy = replace(marks.policy, points={LAB: {"softmax": 0.0, "why": 2.0}})
    marks.marks["ada", LAB] = submission("ada", [row("ada", "why")])
    statistics = class_page._statistics_for_template(make_report(marks))
    assert statistics["dropped"] == {LAB: ["softmax"]}


def test_changed_marks_are_listed_with_the_points_before_and_after():
    marks = make_marks(students={"ada": Person(student="ada")})
    rows = [row("ada", name) for name in ("graded", "said", "plain", "gift")]
    rows += [row("ada", name, Verdict.MANUAL, points=3) for name in ("why", "bonus")]
    scores = {"graded": 0.5, "said": 4.0, "plain": 2.0, "gift": 3.0, "why": 1.0, "bonus": 3.5}
    mark = submission(
        "ada",
        rows,
        scores,
        manually_graded=frozenset({"graded", "why", "bonus"}),
        comments={"said": "Look here."},
        extra_credit={"gift": 1.0, "bonus": 0.5},
    )
    points = {"graded": 2.0, "said": 4.0, "gift": 2.0}  # today's points differ from the cached
    marks.marks["ada", LAB] = replace(mark, points=points)
    expected = []
    for name, grader_score, score, max_score, extra_credit, comment in (
        ("graded", 2, 0.5, 2.0, 0.0, ""),
        ("said", 2, 4.0, 4.0, 0.0, "Look here."),
        ("gift", 2, 3.0, 2.0, 1.0, ""),
        ("bonus", None, 3.5, 3, 0.5, ""),
    ):
        changed = class_page.MarkChangedByPerson(
            student="ada",
            lab=LAB,
            exercise=name,
            grader_score=grader_score,
            score=score,
            max_score=max_score,
            extra_credit=extra_credit,
            comment=comment,
        )
        expected.append(changed)
    pending = class_page._pending_matters_for_template(make_report(marks))
    assert pending["changed_marks"] == expected


def test_a_report_under_pseudonyms_has_no_name_and_not_the_order_of_the_names():
    marks = make_marks(students={name: Person(student=name) for name in ("ada", "bo")})
    terms = ClassTerm(TermRules({}), {"ada": StudentTermResult((), grade="A")})
    report = make_report(marks, pages={("ada", LAB): "../feedback/ada"})
    report = replace(
        report,
        missing={LAB: ["bo"], "training": ["ada", "bo"]},
        unreadable_results=[("ada", LAB), ("bo", LAB)],
        terms=terms,
    )
    anonymous = report.with_pseudonyms({"ada": "student-9", "bo": "student-1"})
    assert anonymous.missing == {LAB: ["student-1"], "training": ["student-9", "student-1"]}
    assert anonymous.unreadable_results == [("student-1", LAB), ("student-9", LAB)]
    assert anonymous.terms.by_student == {"student-9": terms.by_student["ada"]}
    assert (list(anonymous.marks.students), anonymous.anonymous) == (
        ["student-1", "student-9"],
        True,
    )
    assert replace(report, terms=None).with_pseudonyms({"ada": "a", "bo": "b"}).terms is None


def test_a_lab_that_few_took_for_another_is_in_no_statistics_but_among_the_submissions():
    names = [f"s{number:02}" for number in range(20)]
    marks = make_marks(students={name: Person(student=name) for name in names})
    marks.policy = replace(
        marks.policy,
        due_dates={LAB: None, "training": None},
        points={LAB: {"a": 2.0, "old": 0.0}, "training": {"a": 2.0}},
    )
    misconception = lab(LAB).exercises["softmax"].misconceptions[0].name
    for name in names[:12]:
        rows = [row(name, "softmax", Verdict.WRONG, misconception), row(name, "a")]
        marks.marks[name, LAB] = submission(name, rows)
    blank = row("s00", "a", Verdict.ERROR, kind=ResultReason.STUB)
    marks.marks["s00", "training"] = replace(submission("s00", [blank]), lab="training")
    marks.submissions = frozenset({*marks.marks, ("s13", LAB), ("s12", LAB)})
    report = make_report(marks, ("training", LAB, "positions"))
    assert [mark.lab for mark in report.graded_submissions[:2]] == [LAB, "training"]
    assert {mark.lab for mark in report.graded_submissions_without_mistaken_labs} == {LAB}
    assert report.ungraded_submissions == [("s12", LAB), ("s13", LAB)]
    assert report.percentages == dict.fromkeys(names[:12], 50.0)
    statistics = class_page._statistics_for_template(
        replace(report, missing={LAB: ["s14"], "training": ["s15"]})
    )
    assert [of_lab.name for of_lab in statistics["labs"]] == [LAB]
    assert (statistics["overall"].count, statistics["overall"].mean) == (12, 50.0)
    needs = [(need.student, need.reasons) for need in statistics["students_in_need"]]
    assert needs == [("s14", ("Has submitted nothing at all.",))]
    assert [entry.name for entry in statistics["misconceptions"]] == [misconception]
    assert (statistics["blank"], statistics["dropped"]) == ([], {LAB: ["old"]})


def test_a_student_s_name_stands_before_the_folder_and_an_unknown_one_is_the_folder():
    people = {
        "x1": Person(student="x1", name="Ada L", withdrawn=True),
        "bo": Person(student="bo", name="bo"),
    }
    report = make_report(make_marks(students=people))
    names = [report.display_name(student) for student in ("x1", "bo", "gone")]
    assert names == ["Ada L (x1), withdrawn", "bo", "gone"]


def test_an_overview_has_no_row_for_a_lab_of_which_nothing_is_graded():
    marks = make_marks(students={"ada": Person(student="ada")})
    marks.marks["ada", LAB] = submission("ada", [row("ada", "a")])
    marks.submissions = frozenset({("ada", LAB), ("ada", "training")})
    ((_, page),) = class_page.render_student_overviews(
        make_report(marks, ("training", LAB, "positions"))
    )
    words = read_words(page)
    assert LAB in words and "training" not in words and "positions" not in words


def read_words(page):
    text = re.sub(r"<(style|title)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(text).split())


def test_a_student_s_overview_has_each_lab_with_its_state_and_what_is_not_right():
    marks = make_marks(students={"ada": Person(student="ada", name="Ada L", section="A")})
    rows = [
        row("ada", "a", Verdict.WRONG, "transposed"),
        row("ada", "b", Verdict.ERROR),
        row("ada", "c"),
        row("ada", "why", Verdict.MANUAL),
    ]
    scores = {"a": 0, "b": 0, "c": 2, "why": 2}
    late = submission("ada", rows, scores, seconds_late=7200.0, penalty=0.5)
    marks.marks["ada", LAB] = late
    # Another lab is graded for somebody else; Ada's is in the gradebook, and has no result.
    marks.marks["ada", "training"] = Mark(
        student="ada", lab="training", scores={"x": 1.0}, points={"x": 1.0}
    )
    marks.marks["bo", "training"] = replace(late, student="bo", lab="training")
    report = make_report(
        marks, (LAB, "training"), pages={("ada", LAB): f"../feedback/ada/{LAB}.html"}
    )
    ((student, page),) = class_page.render_student_overviews(report)
    words = read_words(page)
    assert student == "ada" and f'<a href="../../feedback/ada/{LAB}.html">{LAB}</a>' in page
    assert "Ada L (ada) 44 % of the points that are graded so far; section A." in words.replace(
        "\u00a0", " "
    )
    assert f"{LAB} 3.5 of 8 complete; 2 h 0 min late, 0.5 off a : transposed b : error" in words
    assert words.endswith("training – complete")
    marks.students["ada"] = Person(student="ada")
    ((_, page),) = class_page.render_student_overviews(make_report(marks))
    assert "section" not in read_words(page) and '<a href="../../feedback' not in page


def test_a_page_of_the_term_names_all_labs_that_await_grading():
    waits = tuple(contribution(LabStatus.AWAITING_GRADING, name=name) for name in ("a", "b"))
    rules = TermRules(
        dict.fromkeys("ab", Fraction(1)), grades=((Fraction(50), "A"), (Fraction(0), "F"))
    )

    def words_of(term, name="Ada L"):
        page = render_page(
            "term.html",
            course="Course",
            name=name,
            student="ada",
            term=term,
            rules=rules,
            round_half_up=lambda share: share,
            pages={},
            now=datetime(2026, 1, 2, 18, tzinfo=UTC),
        )
        return read_words(page)

    words = words_of(StudentTermResult(waits))
    assert (
        "Ada L (ada) Nothing counts yet As of Fri 2 January 2026, 18:00 UTC. a and b still await"
        in words
    )
    assert "a – – – 1 awaiting grading" in words and "A from 50, F from 0." in words
    one = (waits[0], contribution(LabStatus.NO_WEIGHT, name="c"))
    words = words_of(StudentTermResult(one, result="81", grade="A"), name="ada")
    assert "The term so far ada 81 of 100: grade A As of" in words
    assert "a still awaits grading, and will change this." in words
    assert "Not part of the result: c." in words and "c –" not in words


@pytest.mark.parametrize(
    ("weights", "end"),
    [
        ((1, 1, 0), "all with the same weight."),
        ((2, 2), "all with the same weight."),
        ((1, 2, 0), "each with its weight."),
    ],
)
def test_a_lab_that_does_not_count_changes_nothing_about_the_weights(weights, end):
    fractions = {f"lab{number}": Fraction(weight) for number, weight in enumerate(weights)}
    assert TermRules(fractions).sentences[0].endswith(f"in per cent, {end}")


OPEN = {"awaiting_manual_count": 1}


@pytest.mark.parametrize(
    ("fields", "weight", "status", "share"),
    [
        ({}, 1, LabStatus.COUNTS, Fraction(1, 2)),
        ({"penalty": 0.6}, 1, LabStatus.COUNTS, Fraction(2, 5)),
        (OPEN, 1, LabStatus.AWAITING_GRADING, None),
        ({"interrupted": True}, 1, LabStatus.AWAITING_GRADING, None),
        ({"scores": {"softmax": 2.0, "why": None}}, 1, LabStatus.AWAITING_GRADING, None),
        ({}, 0, LabStatus.NO_WEIGHT, None),
        ({"points": {"softmax": 0.0, "why": 0.0}}, 1, LabStatus.NO_WEIGHT, None),
        ("submitted", 1, LabStatus.AWAITING_GRADING, None),
        ("nothing", 1, LabStatus.NOT_DUE, None),
    ],
)
def test_a_lab_counts_for_the_term_once_it_is_graded(fields, weight, status, share):
    marks = make_marks()
    mark = None
    if isinstance(fields, dict):
        all_fields = {
            "scores": {"softmax": 2.0, "why": 1.0},
            "points": {"softmax": 4.0, "why": 2.0},
        }
        mark = Mark(student="ada", lab=LAB, **all_fields | fields)
        marks.marks["ada", LAB] = mark
    elif fields == "submitted":
        marks.submissions = frozenset({("ada", LAB)})
    now = datetime(2026, 1, 2, tzinfo=UTC)
    found = term_module._compute_term_lab(Fraction(weight), marks, "ada", LAB, now)
    assert found == LabContribution(LAB, Fraction(weight), share, status, mark)


def test_the_best_labs_make_the_result_and_the_others_say_so():
    labs = [
        contribution(LabStatus.COUNTS, Fraction(1, 2), "a"),
        contribution(LabStatus.COUNTS, Fraction(4, 5), "b"),
        contribution(LabStatus.NOT_SUBMITTED, Fraction(0), "c"),
        contribution(LabStatus.AWAITING_GRADING, None, "d"),
        contribution(LabStatus.COUNTS, Fraction(9, 10), "e"),
    ]
    rules = TermRules({}, best=2, grades=((Fraction(85), "A"), (Fraction(0), "F")))
    term = term_module._compute_student_term(rules, labs)
    statuses = [LabStatus.NOT_AMONG_BEST, LabStatus.COUNTS, LabStatus.NOT_AMONG_BEST]
    statuses += [LabStatus.AWAITING_GRADING, LabStatus.COUNTS]
    assert [found.status for found in term.labs] == statuses
    assert [replace(new, status=old.status) for new, old in zip(term.labs, labs)] == labs
    assert (term.exact, str(term.result), term.grade) == (85, "85.0", "A")
    all_count = term_module._compute_student_term(replace(rules, best=None), labs)
    assert [found.status for found in all_count.labs] == [found.status for found in labs]
    assert (all_count.exact, all_count.grade) == (55, "F")
    nothing = term_module._compute_student_term(rules, labs[3:4])
    assert nothing == StudentTermResult((labs[3],))


@pytest.mark.parametrize(
    ("share", "decimals", "result", "grade"),
    [
        (Fraction(8994, 10000), 1, "89.9", "B"),
        (Fraction(8995, 10000), 1, "90.0", "A"),
        (Fraction(8995, 10000), 2, "89.95", "B"),
        (Fraction(89, 100), 0, "89", "B"),
        (Fraction(179, 200), 0, "90", "A"),
    ],
)
def test_a_grade_is_that_of_the_rounded_result(share, decimals, result, grade):
    rules = TermRules({}, decimals=decimals, grades=((Fraction(90), "A"), (Fraction(0), "B")))
    term = term_module._compute_student_term(rules, [contribution(LabStatus.COUNTS, share, "a")])
    assert (term.exact, str(term.result), term.grade) == (100 * share, result, grade)


def test_the_table_of_the_term_leaves_empty_what_does_not_count_yet():
    people = {
        "ada": Person(student="ada", first="Ada", last="L", email="a@x", section="1"),
        "bo": Person(student="bo", name="Bo Li"),
        "cy": Person(student="cy", withdrawn=True),
    }
    of_ada = (
        contribution(LabStatus.COUNTS, Fraction(2, 3), "a"),
        contribution(LabStatus.NOT_SUBMITTED, Fraction(0), "b"),
        contribution(LabStatus.NOT_AMONG_BEST, Fraction(1, 2), "c"),
    )
    of_bo = tuple(contribution(LabStatus.AWAITING_GRADING, None, name) for name in "abc")
    results_by_student = {
        "ada": StudentTermResult(of_ada, result="33.3", grade="F"),
        "bo": StudentTermResult(of_bo),
    }
    weights = {"a": Fraction(1), "b": Fraction(1), "no weight": Fraction(0), "c": Fraction(2)}
    terms = ClassTerm(TermRules(weights), results_by_student)
    assert term_module.format_term_csv(terms, make_marks(students=people)).splitlines() == [
        "student_id,last_name,first_name,email,section,a,b,c,"
        "not_among_the_best,not_submitted,waits,result,grade",
        "ada,L,Ada,a@x,1,66.67,0.00,50.00,c,b,,33.3,F",
        "bo,Bo Li,,,,,,,,,a; b; c,,",
    ]


def test_a_page_of_the_term_links_the_pages_that_are_there(classroom):
    for name in ("a b", LAB):
        path = classroom.feedback / "ada" / name / f"{name}.html"
        path.parent.mkdir(parents=True)
        path.write_text("")
    rules = TermRules(dict.fromkeys(("a b", LAB, "missing"), Fraction(1)))
    assert term_module._find_feedback_page_addresses_of(classroom, "ada", rules) == {
        "a b": "a%20b/a%20b.html",
        LAB: f"{LAB}/{LAB}.html",
    }
