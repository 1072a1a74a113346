"""Tests of the policy: rules in course.toml and the roster apply at every report."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import graded_class
import pytest
from graded_class import (
    LAB,
    by_hand,
    came_from,
    enrol,
    fill,
    policy_of,
    reported,
    results,
    with_policy,
)
from nbgrader.api import Gradebook
from our_course import COURSE, Silent, lab

from autograder.core.course import CourseError
from autograder.core.results import Verdict
from autograder.gradebook import policy
from autograder.gradebook.class_list import ClassListError, read_class_list
from autograder.gradebook.classroom import Submission
from autograder.gradebook.gradebook_records import ReplacedAnswerMark, read_gradebook_record
from autograder.gradebook.gradebook_writer import GradebookWriter, refresh_gradebook
from autograder.gradebook.policy import (
    Policy,
    SubmissionTiming,
    parse_extension,
    parse_time,
    read_policy,
    rescale_score,
)
from autograder.reports.feedback_pages import write_feedback_pages
from autograder.reports.marks import read_marks
from autograder.reports.safe_html import format_time
from autograder.reports.term import compute_terms, read_term_rules

pytestmark = pytest.mark.filterwarnings("ignore")
LATE = "2026-01-03 19:00:00 UTC"
DUE = datetime(2026, 1, 2, 18, tzinfo=UTC)
TENTH = {"penalty_per_day": 0.1}


def read_marks_again(classroom):
    """Read course.toml, the roster and the marks, as a report does."""
    policy = refresh_gradebook(classroom, {LAB: lab(LAB)})
    return read_marks(classroom, policy).marks


@pytest.mark.parametrize(
    ("minutes", "expected_penalty"),
    [(0, 0), (9, 0), (10, 0), (10.02, 1), (24 * 60, 1), (24 * 60 + 0.02, 2), (1e6, 5)],
)
def test_what_is_taken_off_by_the_minute(minutes, expected_penalty):
    """Grace is ten minutes; later, each day begun since the due date counts, grace included."""
    rules = Policy(timedelta(minutes=10), penalty_per_day=0.1, max_penalty=0.5)
    assert (
        rules.compute_penalty(
            10,
            SubmissionTiming(DUE + timedelta(minutes=minutes), DUE),
        )
        == expected_penalty
    )


@pytest.mark.parametrize(
    ("score", "old_points", "points", "expected"),
    [
        (3, 3, 3, 3),
        (3, 3, 2, 2),
        (3, 3, 6, 6),
        (1, 3, 6, 2),
        (0, 3, 9, 0),
        (2, 3, 0, 0),
        (2, 0, 3, 2),
        (4, 0, 3, 3),
    ],
)
def test_a_manual_mark_at_other_points(score, old_points, points, expected):
    assert rescale_score(score, old_points, points) == expected


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2 days", 48),
        ("48h", 48),
        ("1 week", 168),
        ("90 min", 1.5),
        ("1 day 12 hours", 36),
        ("1.5 d", 36),
        ("2 Weeks, 1 DAY and 3h", 363),
        ("  10 mins ", 1 / 6),
    ],
)
def test_lengths_of_extensions(text, hours):
    assert parse_extension(text, None, UTC) == timedelta(hours=hours)


PARIS = ZoneInfo("Europe/Paris")


@pytest.mark.parametrize(
    ("due", "new", "handed_in", "late"),
    [
        # Summer time ends on 25 October 2026: the day has 25 hours.
        ("2026-10-24 18:00", "2026-10-26 18:00", "2026-10-26 16:30:00 UTC", 0),
        ("2026-10-24 18:00", "2026-10-26 18:00", "2026-10-26 17:30:00 UTC", 1800),
        # It begins on 29 March: the day has 23.
        ("2026-03-27 18:00", "2026-03-30 18:00", "2026-03-30 16:45:00 UTC", 2700),
        ("2026-03-27 18:00", "2026-03-30 18:00", "2026-03-30 15:45:00 UTC", 0),
    ],
)
def test_a_new_due_date_across_a_change_of_clocks(classroom, prepared, due, new, handed_in, late):
    """The mark, the lab's page and the term's page show the roster's due date."""
    fill(classroom, {"ada": results("ada")}, gradebook=prepared, timestamp=handed_in)
    enrol(classroom, f"Login,Extension\nada,{new}\n")
    with_policy(classroom, {**TENTH, "timezone": "Europe/Paris"}, due=datetime.fromisoformat(due))
    (mark,) = read_marks_again(classroom).values()
    assert (mark.seconds_late, mark.penalty) == (late, 1 if late else 0)
    write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent())
    page = (classroom.feedback / "ada" / LAB / f"{LAB}.html").read_text("utf-8")
    assert f"it was due on {format_time(datetime.fromisoformat(new).replace(tzinfo=PARIS))}" in page
    marks = read_marks(classroom, policy_of(classroom.course))
    rules = read_term_rules(replace(classroom.course, term={"weights": {LAB: 1}}))
    (part,) = [
        part for part in compute_terms(rules, marks).by_student["ada"].labs if part.lab == LAB
    ]
    assert format_time(part.due_date) == format_time(
        datetime.fromisoformat(new).replace(tzinfo=PARIS)
    )


@pytest.mark.parametrize("day", ["2026-11-25", "20261125", "2026-W48-3", "2026W483"])
def test_a_date_alone_in_any_form_ends_with_its_day(day):
    assert str(parse_time(day, PARIS)) == "2026-11-25 23:59:59+01:00"


@pytest.mark.parametrize(
    "text", ["2026-11-25 24:00", " 2026-11-25T24:00:00\n", "2026-11-26 00:00+01:00"]
)
def test_midnight_at_the_end_of_a_day_is_a_time(text):
    assert parse_time(text, PARIS).isoformat() == "2026-11-26T00:00:00+01:00"


@pytest.mark.parametrize(
    "text", ["2026-11-25 24:00:01", "2026-11-25 24:01", "24:00", "1969-12-31", "2200-01-01"]
)
def test_a_time_after_midnight_or_of_another_century_is_none(text):
    with pytest.raises(ValueError):
        parse_time(text, PARIS)


def test_a_time_is_shown_in_the_course_s_zone_and_one_without_a_zone_is_utc():
    zone_policy = policy.Policy(zone=PARIS)
    for moment in (
        datetime(2026, 1, 2, 17),
        datetime(2026, 1, 2, 17, tzinfo=UTC),
        datetime(2026, 1, 2, 18, tzinfo=PARIS),
    ):
        assert zone_policy.to_local_time(moment).isoformat() == "2026-01-02T18:00:00+01:00"
    last = datetime.max.replace(tzinfo=UTC)
    assert zone_policy.to_local_time(last) == last


def test_an_extension_may_be_a_new_due_date():
    assert parse_extension("2026-01-04 18:00", DUE, UTC) == timedelta(days=2)
    assert parse_extension(
        "2026-01-04",
        DUE,
        UTC,
    ) == timedelta(days=2, hours=5, minutes=59, seconds=59)
    assert parse_extension("2026-01-01", DUE, UTC) == timedelta()
    assert parse_extension("2026-01-04", None, UTC) is None


@pytest.mark.parametrize("text", ["9999 weeks", "9999w " * 20_000, "9999 d, " * 50])
def test_an_extension_that_no_date_can_be_moved_by_is_a_sentence(text):
    with pytest.raises(ValueError, match="is longer than 520 weeks"):
        parse_extension(text, None, UTC)


@pytest.mark.parametrize(
    "text", ["soon", "2", "2 dogs", "2 days or so", "2 d 3", "-1 day", "d", "2026-13-01"]
)
def test_what_is_no_extension_is_a_sentence(classroom, text):
    enrol(classroom, f"Login,Name,Extension\nada,Ada,{text}\n")
    with pytest.raises(
        ClassListError,
        match=r"roster.csv, Ada: the extension .* such as 2 days or 48h",
    ):
        read_class_list(classroom).read_extensions(policy_of())


def test_an_extension_for_a_lab_that_there_is_not(classroom):
    enrol(classroom, "Login,Extension lab-9\nada,2 days\n")
    with pytest.raises(
        ClassListError,
        match=r"'Extension lab-9', but the labs are additive-attention",
    ):
        read_class_list(classroom).read_extensions(policy_of())


def test_one_labs_extension_goes_before_all_labs(classroom):
    enrol(classroom, f"Login,Extension,Extension {LAB}\nada,1 day,3 days\n")
    marks = read_class_list(classroom).read_extensions(policy_of())
    assert marks["ada", LAB] == timedelta(days=3)
    assert marks["ada", "additive-attention"] == timedelta(days=1)
    one_lab_policy = read_policy(COURSE, {LAB: lab(LAB)})  # as where one lab only is graded
    assert read_class_list(classroom).read_extensions(one_lab_policy) == marks
    enrol(classroom, "Login,Extension additive-attention\nada,3 days\n")
    assert read_class_list(classroom).read_extensions(one_lab_policy) == {
        ("ada", "additive-attention"): timedelta(days=3)
    }


def test_penalty_and_extension_count_at_once_and_go_again(classroom, prepared):
    fill(
        classroom,
        {"ada": results("ada"), "bo": results("bo")},
        gradebook=prepared,
        timestamp=LATE,
    )
    assert read_marks_again(classroom)["ada", LAB].penalty == 0
    with_policy(classroom, TENTH, due=DUE)
    marks = read_marks_again(classroom)
    # 10 points without the question by hand; 25 hours late are two days begun: 2 × 10 % of 10.
    assert (marks["ada", LAB].raw_score, marks["ada", LAB].penalty, marks["ada", LAB].score) == (
        10,
        2,
        8,
    )
    enrol(classroom, "Login,Extension\nada,25h\nbo,\n")
    marks = read_marks_again(classroom)
    assert (
        marks["ada", LAB].penalty,
        marks["ada", LAB].seconds_late,
        marks["bo", LAB].penalty,
    ) == (0, 0, 2)
    enrol(classroom, "Login,Extension\nada,1 day\nbo,\n")
    assert read_marks_again(classroom)["ada", LAB].penalty == 1  # an hour late: one day begun
    (classroom.root / "roster.csv").unlink()
    assert read_marks_again(classroom)["ada", LAB].penalty == 2


def test_a_time_that_an_instructor_sets_counts_and_goes_again(classroom, prepared):
    submissions = {"ada": results("ada"), "bo": results("bo"), "cy": results("cy")}
    fill(classroom, submissions, gradebook=prepared)  # from a platform that gives no time
    fill(classroom, {"di": results("di")}, gradebook=prepared, timestamp=LATE)
    with_policy(classroom, {**TENTH, "timezone": "Europe/Berlin"}, due=DUE)
    assert {
        student: mark.seconds_late for (student, _), mark in read_marks_again(classroom).items()
    } == dict.fromkeys(("ada", "bo", "cy"), 0) | {"di": 25 * 3600}
    # Due on 2 January 18:00 UTC, which is 19:00 in Berlin.
    enrol(
        classroom,
        f"Login,Submitted {LAB},Extension\n"
        "ada,2026-01-03 20:00,\nbo,2026-01-03T20:00+01:00,2 days\ncy,2026-01-02 "
        "18:59,\ndi,2026-01-02 12:00,\n",
    )
    marks = read_marks_again(classroom)
    # 25 hours late: two days begun, 2 × 10 % of 10 points
    assert (marks["ada", LAB].seconds_late, marks["ada", LAB].penalty) == (25 * 3600, 2)
    # As late, with an extension
    assert (marks["bo", LAB].seconds_late, marks["bo", LAB].penalty) == (0, 0)
    # It goes before the platform's
    assert marks["cy", LAB].penalty == 0 and marks["di", LAB].penalty == 0
    enrol(classroom, f"Login,Submitted {LAB}\nada,2026-01-02\nbo,\ncy,\ndi,\n")
    marks = read_marks_again(classroom)
    assert marks["ada", LAB].penalty == 1  # a date alone is the end of that day
    assert marks["bo", LAB].timestamp is None and marks["di", LAB].penalty == 2


@pytest.mark.parametrize("text", ["soon", "2 days", "2026-13-01", "0001-01-01"])
def test_what_is_no_time_is_a_sentence(classroom, text):
    enrol(classroom, f"Login,Name,Submitted {LAB}\nada,Ada,{text}\n")
    with pytest.raises(
        ClassListError, match=r"roster.csv, Ada: '.*' is no time when qkv-attention was submitted"
    ):
        read_class_list(classroom).read_roster_submission_times(policy_of())


def test_a_time_for_a_lab_that_there_is_not(classroom):
    enrol(classroom, "Login,Submitted\nada,2026-01-02\n")
    with pytest.raises(
        ClassListError,
        match=r"a column 'Submitted ', but the labs are additive-attention",
    ):
        read_class_list(classroom).read_roster_submission_times(policy_of())


def test_the_report_names_who_is_late_by_an_unknown_time(classroom, prepared):
    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared)
    came_from(classroom, "ada", "Canvas", late=True)
    came_from(classroom, "bo", "Canvas")
    with_policy(classroom, TENTH, due=DUE)
    page = reported(classroom)
    table = page[page.index('id="untimed"') :].split("</table>")[0]
    assert ">ada<" in table and ">bo<" not in table
    enrol(classroom, f"Login,Submitted {LAB}\nada,2026-01-03 20:00\nbo,\n")
    assert 'id="untimed"' not in reported(classroom)


def test_late_days_are_used_in_the_order_of_the_due_dates(classroom, monkeypatch):
    """Three late days each; `positions` is due a week later, but first in the gradebook."""
    labs = {name: lab(name) for name in ("positions", LAB)}
    due = {LAB: {"due": DUE}, "positions": {"due": DUE + timedelta(days=7)}}
    classroom.course = replace(classroom.course, policy={**TENTH, "late_days": 3}, lab=due)
    classroom.root.mkdir()
    with GradebookWriter(classroom) as gradebook:
        gradebook.save_labs(list(labs.values()), read_policy(classroom.course, labs))
    # After due
    hours = {"ada": (25, 49), "bo": (-1, 49), "cy": (25, 49), "di": (97, 1), "ed": (25, 49)}
    for name, index in (("positions", 1), (LAB, 0)):
        monkeypatch.setattr(graded_class, "LAB", name)
        for student, late in hours.items():
            timestamp = f"{due[name]['due'] + timedelta(hours=late[index]):%Y-%m-%d %H:%M:%S} UTC"
            fill(
                classroom,
                {student: results(student)},
                gradebook=classroom.root / "gradebook.db",
                timestamp=timestamp,
            )
    enrol(
        classroom,
        f"Login,Extension positions,Extension {LAB}\nada,,\nbo,,\ncy,2 days,\ndi,,\ned,,1 day\n",
    )
    expected = {  # late days used, and what a tenth of 10 points a day is for the others
        ("ada", LAB): (2, 0),
        ("ada", "positions"): (1, 2),  # three days begun, one late day left
        ("bo", LAB): (0, 0),
        ("bo", "positions"): (3, 0),
        ("cy", LAB): (2, 0),
        ("cy", "positions"): (1, 0),  # two days more, so an hour late
        ("di", LAB): (3, 2),  # five days begun
        ("di", "positions"): (0, 1),
        ("ed", LAB): (1, 0),  # a day more, so an hour late
        ("ed", "positions"): (2, 1),
    }

    def read_lateness(labs):
        marks = read_marks(classroom, refresh_gradebook(classroom, labs)).marks
        return {key: (mark.late_days_used, mark.penalty) for key, mark in marks.items()}

    assert read_lateness(labs) == expected
    # As where one lab alone is graded
    assert read_lateness({"positions": labs["positions"]}) == expected
    write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent())
    page = (classroom.feedback / "di" / LAB / f"{LAB}.html").read_text("utf-8")
    assert "4 d 1 h late: 3 of your 3 late days used, 2 of 10 points are taken off." in page
    assert (
        "Each student has 3 late days, used in the order of the due dates"
        in policy_of(classroom.course).lateness_rules
    )


def test_late_days_that_cannot_be():
    for value, sentence in (
        (-1, "late_days is -1; a number of days"),
        ("3", "late_days is '3'; expected a whole number"),
    ):
        with pytest.raises(CourseError, match=sentence):
            policy_of(replace(COURSE, policy={"late_days": value}))


def test_nbgraders_own_extension_counts_where_the_roster_says_nothing(classroom, prepared):
    from nbgrader.api import Gradebook

    fill(classroom, {"ada": results("ada")}, gradebook=prepared, timestamp=LATE)
    with Gradebook(classroom.db, COURSE.id) as gradebook:
        gradebook.grant_extension(LAB, "ada", days=2)
    with_policy(classroom, TENTH, due=DUE)
    assert read_marks_again(classroom)["ada", LAB].penalty == 0
    enrol(classroom, "Login,Extension\nada,1h\n")
    assert read_marks_again(classroom)["ada", LAB].penalty == 1  # 24 hours late


def test_a_new_due_date_in_the_roster_extends_the_due_date_of_the_formgrader(classroom, prepared):
    from nbgrader.api import Gradebook

    fill(
        classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared, timestamp=LATE
    )
    with_policy(classroom, TENTH)
    with Gradebook(classroom.db, COURSE.id) as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate=datetime(2026, 1, 2, 12))
    enrol(classroom, "Login,Extension\nada,2026-01-09 12:00\nbo,\n")
    marks = read_marks_again(classroom)
    assert (marks["ada", LAB].penalty, marks["ada", LAB].seconds_late) == (0, 0)
    assert marks["bo", LAB].penalty > 0


@pytest.mark.long
def test_what_was_dropped_may_count_again(classroom, prepared):
    fill(classroom, {"ada": results("ada", ["stable_softmax"])}, gradebook=prepared)
    full_marks = read_marks_again(classroom)["ada", LAB]
    assert (
        full_marks.raw_score,
        full_marks.scores["softmax"],
        full_marks.scores["stable_softmax"],
    ) == (
        8,
        2,
        0,
    )
    with_policy(classroom, dropped=["softmax"])
    reduced_marks = read_marks_again(classroom)["ada", LAB]
    assert (
        reduced_marks.raw_score,
        reduced_marks.points["softmax"],
        sum(reduced_marks.points.values()),
    ) == (
        6,
        0,
        11,
    )
    with_policy(classroom)
    assert read_marks_again(classroom)["ada", LAB].scores == full_marks.scores


def test_a_manual_mark_for_what_is_dropped_is_worth_nothing(classroom, prepared):
    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared)
    by_hand(classroom, "ada", 3)
    with_policy(classroom, dropped=["explain-flat"])
    marks = read_marks_again(classroom)
    assert marks["ada", LAB].final_score == marks["bo", LAB].final_score == 10  # and nothing waits


def make_group(classroom, *students, **facts):
    for student in students:
        came_from(
            classroom,
            student,
            "Moodle",
            name="Team",
            members=students,
            sha256="same",
            **facts,
        )


def test_a_manual_mark_holds_for_the_whole_group(classroom, prepared):
    fill(classroom, {name: results(name) for name in ("ada", "bo", "cy")}, gradebook=prepared)
    make_group(classroom, "ada", "bo")
    by_hand(classroom, "ada", 2, "Well said.")
    marks = read_marks_again(classroom)
    assert (
        marks["ada", LAB].final_score,
        marks["bo", LAB].final_score,
        marks["cy", LAB].final_score,
    ) == (
        12,
        12,
        None,
    )
    by_hand(classroom, "ada", 1)  # another mark: it follows
    assert read_marks_again(classroom)["bo", LAB].final_score == 11
    by_hand(classroom, "ada", None)  # taken back: it waits again, for both
    marks = read_marks_again(classroom)
    assert marks["bo", LAB].final_score is None and marks["bo", LAB].awaiting_manual_count == 1


def test_a_shared_mark_of_an_exercise_goes_when_its_answer_is_replaced(classroom, prepared):
    fill(
        classroom,
        {name: results(name, wrong=["softmax"]) for name in ("ada", "bo")},
        gradebook=prepared,
    )
    make_group(classroom, "ada", "bo")
    with GradebookWriter(classroom) as writer:
        writer.record_marks_of_question(lab(LAB), "softmax", {"ada": ("1.5", "Nearly.")})
    mark = read_marks_again(classroom)["bo", LAB]
    assert (mark.scores["softmax"], mark.comments["softmax"]) == (1.5, "Nearly.")
    record_path = classroom.result_path("bo", LAB, "recorded")
    assert read_gradebook_record(record_path).shared == {"test-softmax": 1.5}
    # Bo submits another answer: the mark that was copied is one for an earlier answer.
    later = results("bo", wrong=["softmax"])
    fill(
        classroom,
        {"bo": replace(later, answers={**later.answers, "softmax": "another answer"})},
        gradebook=prepared,
        timestamp=LATE,
    )
    record = read_gradebook_record(record_path)
    assert (record.shared, record.earlier) == ({}, {"softmax": ReplacedAnswerMark(1.5, "Nearly.")})


def test_a_shared_mark_is_still_a_copy_once_the_points_have_changed(classroom, prepared):
    fill(classroom, {name: results(name) for name in ("ada", "bo")}, gradebook=prepared)
    make_group(classroom, "ada", "bo")

    def read_marks_of_question():
        policy = refresh_gradebook(classroom, {LAB: lab(LAB)})
        marks = read_marks(classroom, policy).marks
        return [marks[name, LAB].scores["explain-flat"] for name in ("ada", "bo")]

    by_hand(classroom, "ada", 1)
    assert read_marks_of_question() == [1, 1]
    with_policy(classroom, points={"explain-flat": 6})
    assert read_marks_of_question() == [2, 2]
    by_hand(classroom, "ada", None)  # taken back, for both
    assert read_marks_of_question() == [None, None]


def test_an_automatic_comment_is_escaped_for_nbgrader_which_shows_it_as_html(classroom, prepared):
    message = "Expected x < 3 & y > 2. <img src=x onerror=alert(1)>"
    fill(classroom, {"ada": results("ada", wrong=["softmax"], message=message)}, gradebook=prepared)
    with Gradebook(classroom.db, COURSE.id) as book:
        comments = book.find_submission(LAB, "ada").notebooks[0].comments
        (comment,) = (c.auto_comment for c in comments if c.name == "softmax")
    assert comment == "Expected x &lt; 3 &amp; y &gt; 2. &lt;img src=x onerror=alert(1)&gt;"


def test_different_marks_in_a_group_stay_different(classroom, prepared):
    fill(classroom, {name: results(name) for name in ("ada", "bo", "cy")}, gradebook=prepared)
    make_group(classroom, "ada", "bo", "cy")
    by_hand(classroom, "ada", 2)
    by_hand(classroom, "bo", 1)
    marks = read_marks_again(classroom)
    assert [marks[s, LAB].final_score for s in ("ada", "bo", "cy")] == [12, 11, None]


def test_who_submitted_something_else_is_no_partner(classroom, prepared):
    fill(classroom, {name: results(name) for name in ("ada", "bo")}, gradebook=prepared)
    came_from(classroom, "ada", "Moodle", members=("ada", "bo"), sha256="old")
    came_from(classroom, "bo", "Moodle", members=("ada", "bo"), sha256="new")
    by_hand(classroom, "ada", 2)
    assert read_marks_again(classroom)["bo", LAB].final_score is None


@pytest.mark.parametrize(
    ("roster", "names"),
    [
        ("Login,First name,Last name\nada,Ada,King Lovelace\n", ("Ada", "King Lovelace")),
        ("Login,Name\nada,Ada King Lovelace\n", ("Ada King", "Lovelace")),
        ("Login,Name\nada,Ada\n", (None, "Ada")),
    ],
)
def test_the_formgrader_shows_the_rosters_names(classroom, prepared, roster, names):
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    enrol(classroom, roster)
    read_marks_again(classroom)
    from nbgrader.api import Gradebook

    with Gradebook(classroom.db, COURSE.id) as gradebook:
        ada = gradebook.find_student("ada")
        assert (ada.first_name, ada.last_name) == names


def test_plain_nbgrader_takes_off_the_same(classroom, prepared, monkeypatch):
    """nbgrader's step with our plugin gives the penalties of `recompute_scores`."""
    from nbgrader.preprocessors import AssignLatePenalties

    from autograder.authoring.nbgrader_settings import make_settings
    from autograder.grading import nbgrader_autograde

    enrol(classroom, "Login,Extension\nada,\nbo,25h\ncy,1 day\n")
    students = ("ada", "bo", "cy")
    fill(
        classroom,
        {s: results(s, ["softmax"]) for s in students},
        gradebook=prepared,
        timestamp=LATE,
    )
    with_policy(classroom, {**TENTH, "most_penalty": 0.15}, due=DUE)
    expected = {s: read_marks_again(classroom)[s, LAB].penalty for s in students}
    assert expected == {"ada": 1.2, "bo": 0, "cy": 0.8}  # of 8 points

    monkeypatch.setattr(nbgrader_autograde, "find_course", lambda: classroom.course)
    monkeypatch.setattr(nbgrader_autograde, "read_lab", lambda course, name: lab(name))
    monkeypatch.setattr(nbgrader_autograde, "Classroom", lambda root, course: classroom)
    step = AssignLatePenalties(config=make_settings(COURSE))
    nbgrader_penalties = {}
    from nbgrader.api import Gradebook

    for student in students:
        with Gradebook(classroom.db, COURSE.id) as gradebook:
            gradebook.find_submission(LAB, student).notebooks[0].late_submission_penalty = 7
            gradebook.db.commit()
        resources = {"notebook": LAB, "assignment": LAB, "student": student, "db_url": classroom.db}
        from nbformat.v4 import new_notebook

        step.preprocess(new_notebook(), {"nbgrader": resources})
        with Gradebook(classroom.db, COURSE.id) as gradebook:
            nbgrader_penalties[student] = (
                gradebook.find_submission(LAB, student).notebooks[0].late_submission_penalty or 0
            )
    assert nbgrader_penalties == pytest.approx(expected)


@pytest.mark.long
def test_a_manual_mark_keeps_its_part_of_the_points(classroom, prepared):
    """Regression: 3 of 3 points became 3 of 6, and 3 of 2."""
    marks = {"ada": results("ada"), "bo": results("bo")}
    fill(classroom, marks, gradebook=prepared)
    by_hand(classroom, "ada", 3)
    by_hand(classroom, "bo", 1.5)
    assert policy_of().points[LAB]["explain-flat"] == 3

    def worth(points, dropped_names=()):
        with_policy(classroom, points={"explain-flat": points}, dropped=list(dropped_names))
        policy = refresh_gradebook(classroom, {LAB: lab(LAB)})
        marks = read_marks(classroom, policy).marks
        return [marks[name, LAB].scores["explain-flat"] for name in ("ada", "bo")]

    assert worth(6) == [6, 3]
    assert worth(1) == [1, 0.5]
    assert worth(1, ["explain-flat"]) == [0, 0]
    assert worth(4) == [4, 2]  # as before it was dropped
    assert worth(4) == [4, 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("grace", -1),
        ("grace", 1e9),
        ("penalty_per_day", -0.1),
        ("penalty_per_day", 1.5),
        ("most_penalty", -0.1),
        ("most_penalty", 1.5),
        ("late_days", -1),
        ("late_days", 1_001),
    ],
)
def test_a_number_that_no_rule_can_be_is_a_sentence(name, value):
    with pytest.raises(
        CourseError,
        match=rf"\[policy\]: {name} is .*; a .* is expected|\[policy\]: {name} is .*, 0 to 1, is",
    ):
        read_policy(replace(COURSE, policy={name: value}), {})


def test_a_fault_is_not_recorded_as_written(classroom, prepared):
    """Else the next run would take the fault for a result that the gradebook has already."""
    good = graded_class.results("ada")
    rows = [replace(row, verdict=Verdict.FAULT, score=None) for row in good.results]
    fault = replace(good, results=tuple(rows))
    ada = Submission("ada", LAB, b"", "", None)
    fill(classroom, {"ada": fault}, gradebook=prepared)
    with GradebookWriter(classroom) as gradebook:
        assert not gradebook.has_recorded(ada, fault)
        gradebook.record_submission(ada, good)
        assert gradebook.has_recorded(ada, good) and not gradebook.has_recorded(ada, fault)
        assert not gradebook.has_recorded(replace(ada, timestamp="2026-01-01 00:00:00 UTC"), good)


def test_points_and_extensions_are_limited():
    for points, fits in ((policy._MAX_POINTS, True), (policy._MAX_POINTS + 1, False), (-1, False)):
        course = replace(COURSE, policy={}, lab={LAB: {"points": {"softmax": points}}})
        if fits:
            assert read_policy(course, {LAB: lab(LAB)}).points[LAB]["softmax"] == points
        else:
            with pytest.raises(CourseError, match="a number of points is expected"):
                read_policy(course, {LAB: lab(LAB)})
    weeks = policy._MAX_EXTENSION_SECONDS // (7 * 86_400)
    assert policy.parse_extension(f"{weeks} weeks", None, UTC) == timedelta(weeks=weeks)
    with pytest.raises(ValueError, match=f"is longer than {weeks} weeks"):
        policy.parse_extension(f"{weeks} weeks 1 min", None, UTC)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"points": {"softmax": 5, "explain-flat": 0}}, {"softmax": 5.0, "explain-flat": 0.0}),
        ({"points": {"softmax": 5}, "dropped": ["softmax"]}, {"softmax": 0.0}),
        ({"points": {"softmax": True}}, "softmax is to be worth True"),
        ({"points": {"softmax": "2"}}, "softmax is to be worth '2'"),
        ({"points": {"gone": 2}}, "there is no 'gone'; the lab has"),
        ({"dropped": ["gone"]}, "there is no 'gone'"),
        ({"dropped": [["softmax"]]}, r"there is no \['softmax'\]"),
        ({"dropped": "softmax"}, "dropped"),
    ],
)
def test_points_are_those_of_course_toml_and_nothing_for_what_is_dropped(settings, expected):
    course = replace(COURSE, policy={}, lab={LAB: settings})
    if isinstance(expected, str):
        with pytest.raises(CourseError, match=expected):
            read_policy(course, {LAB: lab(LAB)})
        return
    of_files = policy_of().points[LAB]
    points = read_policy(course, {LAB: lab(LAB)}).points[LAB]
    assert points == {**of_files, **expected} and list(points) == list(of_files)


@pytest.mark.parametrize(
    ("due", "expected"),
    [
        (datetime(2026, 1, 2, 18), "2026-01-02T18:00:00+01:00"),
        (datetime(2026, 1, 2, 18, tzinfo=UTC), "2026-01-02T18:00:00+00:00"),
        (date(2026, 1, 2), "2026-01-02T23:59:59+01:00"),
    ],
)
def test_a_due_date_keeps_its_own_zone_and_a_day_is_due_at_its_end(due, expected):
    course = replace(COURSE, policy={"timezone": "Europe/Paris"}, lab={LAB: {"due": due}})
    assert read_policy(course, {}).due_dates[LAB].isoformat() == expected


def test_an_extension_leaves_the_order_of_late_days_as_it_is():
    """`first` is due first, and with its extension later than `second`."""
    hour = timedelta(hours=1)
    late_by = {"first": timedelta(days=7), "second": timedelta()}
    timings = {}
    for days, (name, extension) in enumerate(late_by.items()):
        due = DUE + timedelta(days=days)
        timings[name] = policy.SubmissionTiming(due + extension + hour, due, extension)
    spent = policy.Policy(late_days=1).assign_late_days(timings)
    assert {name: timing.late_days_used for name, timing in spent.items()} == {
        "first": 1,
        "second": 0,
    }
