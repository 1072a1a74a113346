"""What course.toml and the roster say of marks, applied afresh at every report."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import made
import pytest
from made import LAB, by_hand, came_from, enrol, fill, policy_of, reported, results, with_policy
from our_course import COURSE, Silent, lab

from autograder.course import CourseError
from autograder.grading.nbgrader.gradebook import Book, refresh
from autograder.grading.register.policy import Policy, Timing, granted, read_policy, rescaled
from autograder.grading.register.roll import RollError, read_roll
from autograder.grading.reports.feedback import write_feedback
from autograder.grading.reports.marks import read_marks

pytestmark = pytest.mark.filterwarnings("ignore")
LATE = "2026-01-03 19:00:00 UTC"
DUE = datetime(2026, 1, 2, 18, tzinfo=UTC)
TENTH = {"penalty_per_day": 0.1}


def marks_now(classroom):
    """The marks after course.toml and the roster were read again, as a report does."""
    policy = refresh(classroom, {LAB: lab(LAB)})
    return read_marks(classroom, policy).marks


@pytest.mark.parametrize(
    ("minutes", "taken"), [(0, 0), (9, 0), (10, 0), (10.02, 1), (24 * 60, 1), (24 * 60 + 0.02, 2), (1e6, 5)]
)
def test_what_is_taken_off_by_the_minute(minutes, taken):
    """Ten minutes are granted; after them each day begun since the due date counts, the granted minutes too."""
    rules = Policy(timedelta(minutes=10), per_day=0.1, most=0.5)
    assert rules.penalty(10, Timing(DUE + timedelta(minutes=minutes), DUE)) == taken


@pytest.mark.parametrize(
    ("score", "of", "points", "now"),
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
def test_a_mark_by_hand_at_other_points(score, of, points, now):
    assert rescaled(score, of, points) == now


@pytest.mark.parametrize(
    ("text", "hours"),
    [("2 days", 48), ("48h", 48), ("1 week", 168), ("90 min", 1.5), ("1 day 12 hours", 36), ("1.5 d", 36)],
)
def test_lengths_of_extensions(text, hours):
    assert granted(text, None, UTC) == timedelta(hours=hours)


def test_an_extension_may_be_a_new_due_date():
    assert granted("2026-01-04 18:00", DUE, UTC) == timedelta(days=2)
    assert granted("2026-01-04", DUE, UTC) == timedelta(days=2, hours=5, minutes=59, seconds=59)
    assert granted("2026-01-01", DUE, UTC) == timedelta()
    assert granted("2026-01-04", None, UTC) is None


@pytest.mark.parametrize("text", ["9999 weeks", "9999w " * 20_000, "9999 d, " * 50])
def test_an_extension_that_no_date_can_be_moved_by_is_a_sentence(text):
    with pytest.raises(ValueError, match="is longer than 520 weeks"):
        granted(text, None, UTC)


@pytest.mark.parametrize("text", ["soon", "2", "2 dogs", "-1 day", "d", "2026-13-01"])
def test_what_is_no_extension_is_a_sentence(classroom, text):
    enrol(classroom, f"Login,Name,Extension\nada,Ada,{text}\n")
    with pytest.raises(RollError, match=r"roster.csv, Ada: the extension .* such as 2 days or 48h"):
        read_roll(classroom).extensions(policy_of())


def test_an_extension_for_a_lab_that_there_is_not(classroom):
    enrol(classroom, "Login,Extension lab-9\nada,2 days\n")
    with pytest.raises(RollError, match=r"'Extension lab-9', but the labs are additive-attention"):
        read_roll(classroom).extensions(policy_of())


def test_one_labs_extension_goes_before_all_labs(classroom):
    enrol(classroom, f"Login,Extension,Extension {LAB}\nada,1 day,3 days\n")
    found = read_roll(classroom).extensions(policy_of())
    assert found["ada", LAB] == timedelta(days=3)
    assert found["ada", "additive-attention"] == timedelta(days=1)
    one = read_policy(COURSE, {LAB: lab(LAB)})  # as where one lab only is graded
    assert read_roll(classroom).extensions(one) == found
    enrol(classroom, "Login,Extension additive-attention\nada,3 days\n")
    assert read_roll(classroom).extensions(one) == {("ada", "additive-attention"): timedelta(days=3)}


def test_penalty_and_extension_count_at_once_and_go_again(classroom, prepared):
    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared, timestamp=LATE)
    assert marks_now(classroom)["ada", LAB].penalty == 0
    with_policy(classroom, TENTH, due=DUE)
    found = marks_now(classroom)
    # 10 points without the question by hand; 25 hours late are two days begun: 2 × 10 % of 10.
    assert (found["ada", LAB].raw, found["ada", LAB].penalty, found["ada", LAB].score) == (10, 2, 8)
    enrol(classroom, "Login,Extension\nada,25h\nbo,\n")
    found = marks_now(classroom)
    assert (found["ada", LAB].penalty, found["ada", LAB].late, found["bo", LAB].penalty) == (0, 0, 2)
    enrol(classroom, "Login,Extension\nada,1 day\nbo,\n")
    assert marks_now(classroom)["ada", LAB].penalty == 1  # an hour late: one day begun
    (classroom.root / "roster.csv").unlink()
    assert marks_now(classroom)["ada", LAB].penalty == 2


def test_a_time_that_an_instructor_sets_counts_and_goes_again(classroom, prepared):
    marked = {"ada": results("ada"), "bo": results("bo"), "cy": results("cy")}
    fill(classroom, marked, gradebook=prepared)  # from a platform that gives no time
    fill(classroom, {"di": results("di")}, gradebook=prepared, timestamp=LATE)
    with_policy(classroom, {**TENTH, "timezone": "Europe/Berlin"}, due=DUE)
    assert {who: mark.late for (who, _), mark in marks_now(classroom).items()} == dict.fromkeys(
        ("ada", "bo", "cy"), 0
    ) | {"di": 25 * 3600}
    # Due on 2 January 18:00 UTC, which is 19:00 in Berlin.
    enrol(
        classroom,
        f"Login,Handed in {LAB},Extension\n"
        "ada,2026-01-03 20:00,\nbo,2026-01-03T20:00+01:00,2 days\ncy,2026-01-02 18:59,\ndi,2026-01-02 12:00,\n",
    )
    found = marks_now(classroom)
    # 25 hours late: two days begun, 2 × 10 % of 10 points
    assert (found["ada", LAB].late, found["ada", LAB].penalty) == (25 * 3600, 2)
    assert (found["bo", LAB].late, found["bo", LAB].penalty) == (0, 0)  # as late, with an extension
    assert found["cy", LAB].penalty == 0 and found["di", LAB].penalty == 0  # it goes before the platform's
    enrol(classroom, f"Login,Handed in {LAB}\nada,2026-01-02\nbo,\ncy,\ndi,\n")
    found = marks_now(classroom)
    assert found["ada", LAB].penalty == 1  # a date alone is the end of that day
    assert found["bo", LAB].timestamp is None and found["di", LAB].penalty == 2


@pytest.mark.parametrize("text", ["soon", "2 days", "2026-13-01", "0001-01-01"])
def test_what_is_no_time_is_a_sentence(classroom, text):
    enrol(classroom, f"Login,Name,Handed in {LAB}\nada,Ada,{text}\n")
    with pytest.raises(RollError, match=r"roster.csv, Ada: '.*' is no time when qkv-attention was handed in"):
        read_roll(classroom).times(policy_of())


def test_a_time_for_a_lab_that_there_is_not(classroom):
    enrol(classroom, "Login,Handed in\nada,2026-01-02\n")
    with pytest.raises(RollError, match=r"a column 'Handed in ', but the labs are additive-attention"):
        read_roll(classroom).times(policy_of())


def test_the_report_names_who_is_late_by_an_unknown_time(classroom, prepared):
    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared)
    came_from(classroom, "ada", "Canvas", late=True)
    came_from(classroom, "bo", "Canvas")
    with_policy(classroom, TENTH, due=DUE)
    page = reported(classroom)
    table = page[page.index('id="untimed"') :].split("</table>")[0]
    assert ">ada<" in table and ">bo<" not in table
    enrol(classroom, f"Login,Handed in {LAB}\nada,2026-01-03 20:00\nbo,\n")
    assert 'id="untimed"' not in reported(classroom)


def test_late_days_are_used_in_the_order_of_the_due_dates(classroom, monkeypatch):
    """Three late days each; `positions` is due a week after `qkv-attention`, and stands before it in the gradebook."""
    labs = {name: lab(name) for name in ("positions", LAB)}
    due = {LAB: {"due": DUE}, "positions": {"due": DUE + timedelta(days=7)}}
    classroom.course = replace(classroom.course, policy={**TENTH, "late_days": 3}, lab=due)
    classroom.root.mkdir()
    with Book(classroom) as book:
        book.prepare(list(labs.values()), read_policy(classroom.course, labs))
    hours = {"ada": (25, 49), "bo": (-1, 49), "cy": (25, 49), "di": (97, 1), "ed": (25, 49)}  # after due
    for name, at in (("positions", 1), (LAB, 0)):
        monkeypatch.setattr(made, "LAB", name)
        for student, late in hours.items():
            when = f"{due[name]['due'] + timedelta(hours=late[at]):%Y-%m-%d %H:%M:%S} UTC"
            fill(
                classroom,
                {student: results(student)},
                gradebook=classroom.root / "gradebook.db",
                timestamp=when,
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

    def now(labs):
        marks = read_marks(classroom, refresh(classroom, labs)).marks
        return {key: (mark.free_days, mark.penalty) for key, mark in marks.items()}

    assert now(labs) == expected
    assert now({"positions": labs["positions"]}) == expected  # as where one lab alone is graded
    write_feedback(classroom, labs=[lab(LAB)], progress=Silent())
    page = (classroom.feedback / "di" / LAB / f"{LAB}.html").read_text("utf-8")
    assert "4 d 1 h late: 3 of your 3 late days used, 2 of 10 points are taken off." in page
    assert (
        "Each student has 3 late days, used in the order of the due dates"
        in policy_of(classroom.course).rules
    )


def test_late_days_that_cannot_be():
    for value, sentence in (
        (-1, "late_days is -1; a number of days"),
        ("3", "late_days is '3'; a whole number is due"),
    ):
        with pytest.raises(CourseError, match=sentence):
            policy_of(replace(COURSE, policy={"late_days": value}))


def test_nbgraders_own_extension_counts_where_the_roster_says_nothing(classroom, prepared):
    from nbgrader.api import Gradebook

    fill(classroom, {"ada": results("ada")}, gradebook=prepared, timestamp=LATE)
    with Gradebook(classroom.db, COURSE.id) as book:
        book.grant_extension(LAB, "ada", days=2)
    with_policy(classroom, TENTH, due=DUE)
    assert marks_now(classroom)["ada", LAB].penalty == 0
    enrol(classroom, "Login,Extension\nada,1h\n")
    assert marks_now(classroom)["ada", LAB].penalty == 1  # 24 hours late


def test_what_was_dropped_may_count_again(classroom, prepared):
    fill(classroom, {"ada": results("ada", ["stable_softmax"])}, gradebook=prepared)
    before = marks_now(classroom)["ada", LAB]
    assert (before.raw, before.scores["softmax"], before.scores["stable_softmax"]) == (8, 2, 0)
    with_policy(classroom, dropped=["softmax"])
    dropped = marks_now(classroom)["ada", LAB]
    assert (dropped.raw, dropped.points["softmax"], sum(dropped.points.values())) == (6, 0, 11)
    with_policy(classroom)
    assert marks_now(classroom)["ada", LAB].scores == before.scores


def test_a_mark_by_hand_for_what_is_dropped_is_worth_nothing(classroom, prepared):
    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared)
    by_hand(classroom, "ada", 3)
    with_policy(classroom, dropped=["explain-flat"])
    found = marks_now(classroom)
    assert found["ada", LAB].final == found["bo", LAB].final == 10  # and nothing waits


def group(classroom, *students, **facts):
    for student in students:
        came_from(classroom, student, "Moodle", name="Team", members=students, sha256="same", **facts)


def test_a_mark_by_hand_holds_for_the_whole_group(classroom, prepared):
    fill(classroom, {name: results(name) for name in ("ada", "bo", "cy")}, gradebook=prepared)
    group(classroom, "ada", "bo")
    by_hand(classroom, "ada", 2, "Well said.")
    found = marks_now(classroom)
    assert (found["ada", LAB].final, found["bo", LAB].final, found["cy", LAB].final) == (12, 12, None)
    by_hand(classroom, "ada", 1)  # another mark: it follows
    assert marks_now(classroom)["bo", LAB].final == 11
    by_hand(classroom, "ada", None)  # taken back: it waits again, for both
    found = marks_now(classroom)
    assert found["bo", LAB].final is None and found["bo", LAB].awaits == 1


def test_different_marks_in_a_group_stay_different(classroom, prepared):
    fill(classroom, {name: results(name) for name in ("ada", "bo", "cy")}, gradebook=prepared)
    group(classroom, "ada", "bo", "cy")
    by_hand(classroom, "ada", 2)
    by_hand(classroom, "bo", 1)
    found = marks_now(classroom)
    assert [found[s, LAB].final for s in ("ada", "bo", "cy")] == [12, 11, None]


def test_who_handed_in_something_else_is_no_partner(classroom, prepared):
    fill(classroom, {name: results(name) for name in ("ada", "bo")}, gradebook=prepared)
    came_from(classroom, "ada", "Moodle", members=("ada", "bo"), sha256="old")
    came_from(classroom, "bo", "Moodle", members=("ada", "bo"), sha256="new")
    by_hand(classroom, "ada", 2)
    assert marks_now(classroom)["bo", LAB].final is None


def test_the_formgrader_shows_the_rosters_names(classroom, prepared):
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    enrol(classroom, "Login,First name,Last name\nada,Ada,Lovelace\n")
    marks_now(classroom)
    from nbgrader.api import Gradebook

    with Gradebook(classroom.db, COURSE.id) as book:
        ada = book.find_student("ada")
        assert (ada.first_name, ada.last_name) == ("Ada", "Lovelace")


def test_plain_nbgrader_takes_off_the_same(classroom, prepared, monkeypatch):
    """nbgrader's own step, with the plugin that our settings name, against the marks that `settle` makes."""
    from nbgrader.preprocessors import AssignLatePenalties

    from autograder.authoring.nbgrader_settings import settings
    from autograder.grading.nbgrader import judge_step

    enrol(classroom, "Login,Extension\nada,\nbo,25h\ncy,1 day\n")
    students = ("ada", "bo", "cy")
    fill(classroom, {s: results(s, ["softmax"]) for s in students}, gradebook=prepared, timestamp=LATE)
    with_policy(classroom, {**TENTH, "most_penalty": 0.15}, due=DUE)
    ours = {s: marks_now(classroom)[s, LAB].penalty for s in students}
    assert ours == {"ada": 1.2, "bo": 0, "cy": 0.8}  # of 8 points

    monkeypatch.setattr(judge_step, "find", lambda: classroom.course)
    monkeypatch.setattr(judge_step, "read_lab", lambda course, name: lab(name))
    monkeypatch.setattr(judge_step, "Classroom", lambda root, course: classroom)
    step = AssignLatePenalties(config=settings(COURSE))
    theirs = {}
    from nbgrader.api import Gradebook

    for student in students:
        with Gradebook(classroom.db, COURSE.id) as book:
            book.find_submission(LAB, student).notebooks[0].late_submission_penalty = 7
            book.db.commit()
        where = {"notebook": LAB, "assignment": LAB, "student": student, "db_url": classroom.db}
        from nbformat.v4 import new_notebook

        step.preprocess(new_notebook(), {"nbgrader": where})
        with Gradebook(classroom.db, COURSE.id) as book:
            theirs[student] = book.find_submission(LAB, student).notebooks[0].late_submission_penalty or 0
    assert theirs == pytest.approx(ours)


def test_a_mark_by_hand_keeps_its_part_of_the_points(classroom, prepared):
    """3 of 3 became 3 of 6, and 3 of 2."""
    found = {"ada": results("ada"), "bo": results("bo")}
    fill(classroom, found, gradebook=prepared)
    by_hand(classroom, "ada", 3)
    by_hand(classroom, "bo", 1.5)
    assert policy_of().points[LAB]["explain-flat"] == 3

    def worth(points, dropped=()):
        with_policy(classroom, points={"explain-flat": points}, dropped=list(dropped))
        policy = refresh(classroom, {LAB: lab(LAB)})
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
        CourseError, match=rf"\[policy\]: {name} is .*; a .* is due|\[policy\]: {name} is .*, 0 to 1, is"
    ):
        read_policy(replace(COURSE, policy={name: value}), {})
