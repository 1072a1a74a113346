"""Marks of single students, without a gradebook: scores, states, names and what a pseudonym hides."""

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from graded_class import LAB, row, submission
from our_course import COURSE

from autograder.core.notebook_cells import make_grade_id
from autograder.core.results import ResultReason, Verdict
from autograder.gradebook.class_list import ClassList
from autograder.gradebook.deadlines import Deadlines
from autograder.gradebook.graded_submission import GradedSubmission
from autograder.gradebook.policy import Policy
from autograder.gradebook.regrade_requests import RegradeRequest
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


def test_a_lab_may_be_a_mistake_if_it_has_no_due_date_and_few_submitted_it():
    names = [f"s{number:02}" for number in range(20)]
    labs = ("due", "due-in-gradebook", "nobody", "few", "many", "one")
    few = {
        ("s00", "due"),
        ("s00", "due-in-gradebook"),
        ("s01", "few"),
        ("s00", "few"),
        ("s02", "one"),
    }
    marks = ClassMarks(
        {name: Person(student=name) for name in names},
        submissions=frozenset({*few, *((name, "many") for name in names[:15])}),
        policy=Policy(due_dates=dict.fromkeys(labs) | {"due": datetime(2026, 1, 2, tzinfo=UTC)}),
        deadlines=Deadlines({"due-in-gradebook": datetime(2026, 1, 2)}),
    )
    marks.labs = {name: Assignment(name, None, 1.0) for name in ("one", "many", "few")}
    assert marks.mistaken_lab_submitters == {"few": ["s00", "s01"], "one": ["s02"]}
    assert list(marks.missing_students) == ["due", "due-in-gradebook", "many"]
    assert marks.missing_students["many"] == names[15:]
    assert [lab.name for lab in marks.tabulated_labs] == ["many"]


def test_a_class_under_pseudonyms_has_all_facts_but_names_and_texts():
    due = Deadlines({LAB: datetime(2026, 1, 2)})
    policy = Policy(due_dates={LAB: None}, late_days=3)
    people = {
        "ada": Person(student="ada", first="Ada", email="a@x.edu", section="A", withdrawn=True),
        "bo": Person(student="bo", name="Bo Li"),
    }
    marks = ClassMarks(
        people,
        labs={LAB: Assignment(LAB, None, 2.0)},
        marks={("ada", LAB): submission("ada", [row("ada", "a")], notes=["By Ada."], penalty=0.5)},
        from_gradebook=True,
        partners={("ada", LAB): ("ada", "bo"), ("gone", LAB): ("gone", "bo")},
        submissions=frozenset({("ada", LAB), ("bo", LAB)}),
        regrade_requests={("ada", LAB): {"a": (RegradeRequest("Why?"),)}},
        request_notes=["A request of Ada's is odd."],
        policy=policy,
        class_list=ClassList(people=people, notes=("Ada is twice in it.",)),
        deadlines=due,
    )
    first, second = "student-1", "student-2"
    hidden = "The file was odd in a way that would tell whose it is."
    assert marks.with_pseudonyms({"ada": second, "bo": first}) == ClassMarks(
        {first: Person(student=first), second: Person(student=second, withdrawn=True)},
        labs=marks.labs,
        marks={(second, LAB): submission(second, [row(second, "a")], notes=[hidden], penalty=0.5)},
        from_gradebook=True,
        partners={(second, LAB): (first, second)},
        submissions=frozenset({(first, LAB), (second, LAB)}),
        policy=policy,
        deadlines=due,
    )


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, MarkState.COMPLETE),
        ({"awaiting_manual_count": 1}, MarkState.AWAITING_MANUAL_GRADING),
        ({"awaiting_manual_count": 1, "interrupted": True}, MarkState.INTERRUPTED),
        ({"interrupted": True}, MarkState.INTERRUPTED),
        ({"scores": {"a": 1.0, "b": None}}, MarkState.AWAITING_GRADING),
        (
            {"scores": {"a": 1.0, "b": None}, "awaiting_manual_count": 1},
            MarkState.AWAITING_MANUAL_GRADING,
        ),
    ],
)
def test_a_mark_has_the_state_that_has_to_be_known_first(fields, state):
    found = replace(mark({"a": 1.0}, {"a": 2.0, "b": 1.0}), **fields)
    assert found.state is state
    assert (found.final_score is None) == ("scores" in fields or "awaiting_manual_count" in fields)


@pytest.mark.parametrize("from_gradebook", [True, False])
def test_a_result_adds_to_its_mark_or_makes_one(from_gradebook):
    """A result that the gradebook lacks comes from a run that was interrupted."""
    marks = ClassMarks(
        {"ada": Person(student="ada", name="Ada L")},
        policy=Policy(points={LAB: {"a": 4.0, "why": 3.0}}),
        from_gradebook=from_gradebook,
    )
    of_gradebook = mark({"a": 1.5, "why": 2.0}, {"a": 4.0, "why": 3.0}, penalty=0.5)
    marks.marks["ada", LAB] = of_gradebook
    stored_results = {}
    for student in ("ada", "bo"):
        rows = (row(student, "a"), row(student, "why", Verdict.MANUAL, points=3))
        stored_results[student, LAB] = GradedSubmission(rows, None, ("A link.",))
    attempts = {"ada": 0, "bo": 2}
    room = SimpleNamespace(count_earlier_attempts=lambda student, name: attempts[student])
    marks.add_results(room, stored_results)
    assert marks.students == {
        "ada": Person(student="ada", name="Ada L"),
        "bo": Person(student="bo"),
    }
    assert marks.labs == {LAB: Assignment(LAB, None, 7.0)}
    ada, bo = marks.marks["ada", LAB], marks.marks["bo", LAB]
    assert replace(ada, results=(), notes=()) == of_gradebook
    assert [(result.exercise, result.score, result.max_score) for result in ada.results] == [
        ("a", 4.0, 4.0),
        ("why", None, 3.0),
    ]
    assert bo == Mark(
        student="bo",
        lab=LAB,
        scores={"a": 4.0, "why": None},
        points={"a": 4.0, "why": 3.0},
        awaiting_manual_count=1,
        interrupted=from_gradebook,
        results=bo.results,
        notes=("A link.",),
        attempts=3,
    )
    assert {result.student for result in bo.results} == {"bo"}


class Rows(list):
    """Rows of a query of the gradebook, whatever is joined and filtered."""

    def join(self, *conditions):
        return self

    filter = join


def make_grade(auto_score=None, manual_score=None, extra_credit=0.0, needs_manual_grade=False):
    score = auto_score or 0.0
    if manual_score is not None:
        score = manual_score
    return SimpleNamespace(
        auto_score=auto_score,
        manual_score=manual_score,
        score=score + extra_credit,
        extra_credit=extra_credit,
        needs_manual_grade=needs_manual_grade,
    )


GRADES = {
    "right": (make_grade(2.0), 2.0, 2.0, ()),
    "not-graded": (make_grade(), 3.0, None, ()),
    "waiting": (make_grade(needs_manual_grade=True), 3.0, None, ("awaiting",)),
    "graded by a person": (make_grade(0.0, 1.5), 3.0, 1.5, ("manual",)),
    "zero by a person": (make_grade(2.0, 0.0), 3.0, 0.0, ("manual",)),
    "graded anew": (make_grade(0.0, 1.5, 0.0, True), 3.0, 1.5, ("manual", "awaiting")),
    "extra credit": (make_grade(2.0, None, 0.5), 2.0, 2.5, ("extra",)),
    "dropped": (make_grade(0.0), 0.0, 0.0, ()),
    "dropped, graded by a person": (make_grade(0.0, 1.0, 0.5, True), 0.0, 0.0, ("manual",)),
    "dropped, not graded": (make_grade(needs_manual_grade=True), 0.0, None, ()),
}


@pytest.mark.parametrize("name", GRADES)
@pytest.mark.parametrize(
    ("cell", "exercise"),
    [("test-stable-softmax", "stable_softmax"), ("explain-flat", "explain-flat")],
)
def test_points_of_the_gradebook_are_read_as_nbgrader_means_them(name, cell, exercise):
    grade, max_score, score, kinds = GRADES[name]
    reader = marks_module._GradebookReader(SimpleNamespace(course=COURSE), Policy(), ClassList())
    fields = defaultdict(marks_module._initial_mark_fields)
    reader._add_points_to_fields(
        lambda *columns: Rows([(7, cell, grade, max_score), (8, "other", make_grade(1.0), 1.0)]),
        fields,
    )
    assert fields.keys() == {7, 8}
    assert fields[7] == {
        "scores": {exercise: score},
        "points": {exercise: max_score},
        "comments": {},
        "manually_graded": frozenset({exercise} if "manual" in kinds else ()),
        "extra_credit": {exercise: 0.5} if "extra" in kinds else {},
        "awaiting_manual_count": int("awaiting" in kinds),
    }


def test_comments_of_the_gradebook_are_those_of_the_exercise_and_submission():
    reader = marks_module._GradebookReader(SimpleNamespace(course=COURSE), Policy(), ClassList())
    fields = defaultdict(marks_module._initial_mark_fields)
    rows = [
        (7, make_grade_id("stable_softmax"), "A."),
        (7, "explain-flat", "B."),
        (8, "explain-flat", "C."),
    ]
    reader._add_comments_to_fields(lambda *columns: Rows(rows), fields)
    found = {submission_id: of_one["comments"] for submission_id, of_one in fields.items()}
    assert found == {7: {"stable_softmax": "A.", "explain-flat": "B."}, 8: {"explain-flat": "C."}}


def test_a_submission_of_the_gradebook_has_its_own_time_and_penalty(monkeypatch):
    """Lateness within the grace is none."""
    submitted_at = datetime(2026, 1, 2, 12)

    def make_timing(seconds_late, late_days_used=0, extension=None):
        return SimpleNamespace(
            submitted_at=submitted_at,
            seconds_late=seconds_late,
            late_days_used=late_days_used,
            extension=extension,
        )

    timings = {
        ("ada", LAB): make_timing(599.0),
        ("bo", LAB): make_timing(601.0, 1, timedelta(days=1)),
    }
    monkeypatch.setattr(marks_module, "read_timings", lambda *arguments: timings)
    monkeypatch.setattr(
        marks_module, "was_interrupted", lambda room, student, name: (student, name) == ("bo", LAB)
    )
    room = SimpleNamespace(course=COURSE)
    reader = marks_module._GradebookReader(room, Policy(grace=timedelta(minutes=10)), ClassList())
    fields = defaultdict(marks_module._initial_mark_fields)
    fields[8]["scores"] = {"a": 1.0}
    rows = [(7, "ada", LAB, None), (8, "bo", LAB, 0.5)]
    found = reader._read_submissions(lambda *columns: Rows(rows), fields, Deadlines())
    assert found == [
        Mark(student="ada", lab=LAB, scores={}, points={}, timestamp=submitted_at),
        Mark(
            student="bo",
            lab=LAB,
            scores={"a": 1.0},
            points={},
            penalty=0.5,
            timestamp=submitted_at,
            seconds_late=601.0,
            late_days_used=1,
            extension=timedelta(days=1),
            interrupted=True,
        ),
    ]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "x1"),
        ({"first": "Ada", "last": "Lovelace"}, "Ada Lovelace (x1)"),
        ({"name": "Ada L", "withdrawn": True}, "Ada L (x1), withdrawn"),
        ({"name": "x1", "withdrawn": True}, "x1, withdrawn"),
    ],
)
def test_an_instructor_sees_name_folder_and_who_has_left(fields, name):
    assert marks_module.display_name(Person(student="x1", **fields)) == name
