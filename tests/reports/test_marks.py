"""Marks of single students, without a gradebook: scores, states, names and what a pseudonym hides."""

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from graded_class import LAB, row, submission

from autograder.core.results import ResultReason, Verdict
from autograder.gradebook.class_list import ClassList
from autograder.gradebook.deadlines import Deadlines
from autograder.gradebook.policy import Policy
from autograder.intake import Origin, Person
from autograder.reports import marks as marks_module
from autograder.reports.marks import Assignment, ClassMarks, Mark, MarkState, format_full_name


def mark(scores, points=None, **fields):
    points = points or dict.fromkeys(scores, 2.0)
    return Mark(student="ada", lab=LAB, scores=scores, points=points, **fields)


def test_a_dropped_answer_without_a_grade_holds_no_mark_back():
    dropped = mark({"a": 2.0, "why": None}, {"a": 2.0, "why": 0.0})
    assert (dropped.final_score, dropped.state) == (2.0, MarkState.COMPLETE)
    open_mark = mark({"a": 2.0, "why": None})
    assert (open_mark.final_score, open_mark.state) == (None, MarkState.AWAITING_GRADING)
    assert mark({}).state is MarkState.AWAITING_GRADING


def test_a_mark_is_never_below_zero_and_rounded_figures_add_up():
    assert mark({"a": 1.0}, penalty=1.5).score == 0
    late = mark({"a": 0.125}, penalty=0.0125)
    figures = [late.rounded_raw_score, late.rounded_penalty, late.rounded_score]
    assert [str(figure) for figure in figures] == ["0.13", "0.02", "0.11"]


def test_what_a_person_changed_is_an_exercise_or_has_extra_credit():
    rows = [row("ada", name) for name in ("graded", "said", "plain", "gift")]
    rows += [row("ada", name, Verdict.MANUAL) for name in ("why", "bonus")]
    changed = submission(
        "ada",
        rows,
        manually_graded=frozenset({"graded", "why"}),
        comments={"said": "Look here.", "why": "Good."},
        extra_credit={"gift": 1.0, "bonus": 0.5},
    )
    assert changed.changed_by_person == ["graded", "said", "gift", "bonus"]


def test_students_are_sorted_by_last_name_however_it_is_known():
    people = [
        Person(student="3", name="Ada Zed"),
        Person(student="1", first="Zoe", last="Adams"),
        Person(student="mia"),
        Person(student="2", name="Zoe Mann Adams"),
        Person(student="4", name="Bo Adams"),
    ]
    marks = ClassMarks({person.student: person for person in people})
    marks.labs = {name: Assignment(name, None, 1.0) for name in ("old", "b", "a")}
    marks.sort(["a", "b"])
    assert list(marks.students) == ["4", "1", "2", "mia", "3"]
    assert list(marks.labs) == ["a", "b", "old"], "a lab that the course has no more comes last"


def test_a_name_is_as_full_as_it_is_known():
    assert format_full_name(Person(student="x", first="Ada")) == "Ada"
    assert format_full_name(Person(student="x", last="Li", name="Bo")) == "Bo"
    assert format_full_name(Person(student="x", last="Li")) == "Li"
    assert format_full_name(Person(student="x")) == "x"


def test_a_folder_that_is_somebody_else_s_name_needs_no_second_mention():
    marks = ClassMarks({"ada": Person(student="ada"), "x1": Person(student="x1", name="ADA")})
    assert (marks.distinct_name("ada"), marks.distinct_name("x1")) == ("ada", "ADA (x1)")


def test_with_a_roster_only_its_students_are_missing():
    people = {"ada": Person(student="ada"), "bo": Person(student="bo")}
    marks = ClassMarks(
        {**people, "guest": Person(student="guest")},
        submissions=frozenset({("ada", LAB)}),
        policy=Policy(due_dates={LAB: None}),
    )
    assert marks.missing_students == {LAB: ["bo", "guest"]}
    marks.class_list = ClassList(people=people)
    assert marks.missing_students == {LAB: ["bo"]}


def test_a_deadline_has_the_extension_and_the_zone_of_the_course():
    marks = ClassMarks(
        policy=Policy(zone=ZoneInfo("Europe/Paris")),
        deadlines=Deadlines({LAB: datetime(2026, 1, 2, 12)}, {("ada", LAB): timedelta(days=1)}),
    )
    assert str(marks.find_deadline("ada", LAB)) == "2026-01-03 13:00:00+01:00"
    assert str(marks.find_deadline("bo", LAB)) == "2026-01-02 13:00:00+01:00"
    assert marks.find_deadline("ada", "another") is None


def test_a_submission_without_a_mark_awaits_grading():
    marks = ClassMarks(submissions=frozenset({("ada", LAB)}))
    assert marks.state("ada", LAB) is MarkState.AWAITING_GRADING
    assert marks.state("bo", LAB) is MarkState.NOTHING


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        (Origin(platform="Moodle", name="Ada Lovelace"), "Ada Lovelace"),
        (Origin(platform="Canvas", name="lovelaceada"), "ada"),  # Canvas leaves out the blanks
        (Origin(platform="Moodle", name="Team Red", members=("ada", "bo")), "ada"),
    ],
)
def test_a_platform_s_name_is_taken_if_it_is_the_student_s_own(origin, name):
    marks = ClassMarks({"ada": Person(student="ada"), "bo": Person(student="bo", name="Bo Li")})
    own = Origin(platform="Moodle", name="Somebody Else")
    marks.class_list = ClassList(origins={("ada", LAB): origin, ("bo", LAB): own})
    marks_module._add_roster_students_and_names(marks)
    assert format_full_name(marks.students["ada"]) == name
    assert format_full_name(marks.students["bo"]) == "Bo Li", "a name that is known stays"


def test_the_gradebook_fills_what_the_roster_leaves_out():
    entry = Person(student="ada", last="L", first="A", email="a@x.edu", lms_id="7")
    fill_person = marks_module._fill_person_from_gradebook
    plain = fill_person(entry, Person(student="ada"))
    assert (plain.last, plain.first, plain.email, plain.lms_id) == ("L", "A", "a@x.edu", "7")
    known = Person(student="ada", name="Ada King", email="k@x.edu", lms_id="8")
    assert fill_person(entry, known) == known, "one name is not mixed with another"
    half = fill_person(entry, Person(student="ada", first="Ida"))
    assert (half.last, half.first) == ("L", "Ida")


@pytest.mark.parametrize(
    "note", ["Sent by ADA@x.edu.", "Of al17, twice.", "Of Lovelace.", "Of Ada.", "Of folder-9."]
)
def test_a_note_that_names_the_student_in_any_way_is_not_shown(note):
    ada = Person(student="folder-9", first="Ada", last="Lovelace", email="ada@x.edu", login="al17")
    assert marks_module._anonymise_note(note, ada).startswith("The file was odd in a way")
    assert marks_module._anonymise_note("It is empty.", ada) == "It is empty."
    quoted = marks_module._anonymise_note("Two cells 'x' and 'y' were locked.", ada)
    assert quoted == "Two cells “…” were locked."


def test_a_pseudonymous_mark_says_that_an_exercise_is_not_written():
    rows = [
        row("ada", "a", Verdict.ERROR, message="Ada!", kind=ResultReason.STUB),
        row("ada", "b", Verdict.WRONG, message="Ada!"),
    ]
    marks = ClassMarks(
        {"ada": Person(student="ada")}, marks={("ada", LAB): submission("ada", rows)}
    )
    (anonymous,) = marks.with_pseudonyms({"ada": "student-001"}).marks.values()
    assert [result.message != "" for result in anonymous.results] == [True, False]
    assert {result.student for result in anonymous.results} == {"student-001"}


def test_partners_are_listed_by_pseudonym_in_its_order():
    marks = ClassMarks(
        {name: Person(student=name) for name in ("ada", "bo")},
        partners={("ada", LAB): ("ada", "bo", "gone")},
    )
    anonymous = marks.with_pseudonyms({"ada": "student-9", "bo": "student-1"})
    assert anonymous.partners == {("student-9", LAB): ("student-1", "student-9")}
    assert list(anonymous.students) == ["student-1", "student-9"]


def test_percent_is_of_the_points_that_are_graded():
    half = mark({"a": 1.0, "why": None}, {"a": 2.0, "why": 2.0}, awaiting_manual_count=1)
    assert (half.percent, half.graded_max_score, half.max_score) == (50.0, 2.0, 4.0)
    assert mark({"why": None}).percent is None
    assert replace(half, penalty=0.5).percent == 25.0


def test_a_due_date_and_its_extension_hold_under_a_pseudonym():
    due = datetime(2026, 1, 2, 18)
    deadlines = Deadlines({LAB: due}, {("ada", LAB): timedelta(days=1)})
    people = {name: Person(student=name) for name in ("ada", "bo")}
    marks = ClassMarks(people, deadlines=deadlines)
    anonymous = marks.with_pseudonyms({"ada": "student-9", "bo": "student-1"})
    for student, pseudonym in (("ada", "student-9"), ("bo", "student-1")):
        found = anonymous.find_deadline(pseudonym, LAB)
        assert found == marks.find_deadline(student, LAB) is not None
