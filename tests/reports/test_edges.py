"""Marks and identities at their edges: whose it is, what is kept, what it is worth, what is given back."""

import json
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from made import LAB, by_hand, came_from, enrol, fill, policy_of, results, table, with_policy
from our_course import lab

from autograder import keys
from autograder.cells import id_of
from autograder.grading.intake.file import Origin
from autograder.grading.intake.roster import Identity, Person, Roster
from autograder.grading.marking.mark import _answers, faulty, release_for_marking
from autograder.grading.nbgrader.gradebook import Book, refresh
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Submission
from autograder.grading.register.roll import read_roll
from autograder.grading.reports import tables
from autograder.grading.reports.giving_back import _file_name
from autograder.grading.reports.marks import read_marks
from autograder.grading.reports.pseudonyms import pseudonyms
from autograder.grading.run.pool import Options
from autograder.judging.frames import decode, encode

pytestmark = pytest.mark.filterwarnings("ignore")


def marks_of(classroom):
    return read_marks(classroom, refresh(classroom, {LAB: lab(LAB)}))


# Whose it is

ADA = Person(student="ada", name="Ada Lovelace", sid="A1", lms_id="7", login="ada", github="ada-l")


@pytest.mark.parametrize("key", ["sid", "lms_id", "login", "github"])
def test_one_of_the_same_name_and_another_number_is_somebody_else(key):
    assert Roster((ADA,)).find(Identity(name="Ada Lovelace", **{key: "other"})) == []
    assert Roster((ADA,)).find(Identity(**{key: getattr(ADA, key).upper()})) == [ADA]


def test_a_github_user_who_calls_himself_like_her_login_is_not_her():
    assert Roster((ADA,)).find(Identity(said="ada")) == [ADA]
    assert Roster((ADA,)).find(Identity(github="mallory", said="ada")) == []


def test_a_number_that_two_have_is_neithers():
    twin = replace(ADA, student="bo", name="Bo Li", sid="B1", login="bo", github="")
    assert len(Roster((ADA, twin)).find(Identity(lms_id="7"))) == 2


def test_of_two_of_one_name_nobody_keeps_the_folder(classroom):
    came_from(classroom, "lovelaceada", "Canvas", name="Ada Lovelace")
    enrol(classroom, "Name,Login\nAda Lovelace,ada1\nAda Lovelace,ada2\n")
    assert set(read_roll(classroom).people) == {"ada1", "ada2"}


@pytest.mark.parametrize(
    ("old", "new", "newer"),
    [
        ({"time": 5.0}, {"time": 5.0}, False),
        ({"time": 5.0}, {"time": 6.0}, True),
        ({"time": 5.0, "number": 1}, {"time": 5.0, "number": 2}, True),
        ({"time": 6.0, "number": 1}, {"time": 5.0, "number": 2}, False),
        ({"platform": "Canvas", "number": 2}, {"platform": "Canvas", "number": 2, "time": 9.0}, False),
        ({"platform": "Canvas", "number": 2, "time": 9.0}, {"platform": "Canvas", "number": 3}, True),
    ],
)
def test_which_of_two_attempts_is_newer(old, new, newer):
    one, other = (Origin(**{"platform": "Moodle", **facts}) for facts in (old, new))
    assert other.newer_than(one) == newer
    assert not one.newer_than(other) or not newer


# What is kept


@pytest.mark.parametrize(
    "changed", [{"data": b"[]"}, {"data": None}, {"why": "It is a link."}, {"version": evidence.VERSION + 1}]
)
def test_evidence_is_of_these_bytes_read_in_this_way(classroom, changed):
    handed_in = Submission("ada", LAB, b"{}", "", None)
    evidence.keep(classroom, handed_in, results("ada"), lab(LAB), Options())
    assert evidence.kept(classroom, handed_in, lab(LAB), Options())
    if "version" in changed:
        path = classroom.result_path("ada", LAB)
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changed}), "utf-8")
    else:
        handed_in = replace(handed_in, **changed)
    assert evidence.kept(classroom, handed_in, lab(LAB), Options()) is None


def test_a_picture_is_part_of_an_answer_and_space_around_it_is_none():
    notebook = json.loads(json.dumps(release_for_marking(lab(LAB))))
    said = []
    for change in ({}, {"source": "\nYOUR ANSWER HERE  "}, {"attachments": {"a.png": {"image/png": "x"}}}):
        cells = type(release_for_marking(lab(LAB)))(json.loads(json.dumps(notebook)))
        cells.cells = [type(cells)(c) for c in cells.cells]
        for cell in cells.cells:
            cell.metadata = type(cells)(cell.metadata)
            if id_of(cell) == "explain-flat":
                cell.update(change)
        said.append(_answers(lab(LAB), cells)[0]["explain-flat"])
    assert said[0] == said[1] != said[2]


def test_a_fault_of_the_grader_takes_no_mark_away(classroom, prepared):
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    by_hand(classroom, "ada", 2)
    with Book(classroom) as book:
        book.record(Submission("ada", LAB, b"", "", None), faulty(lab(LAB), "No room.").of("ada"))
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    assert marks_of(classroom).marks["ada", LAB].final == 12


# What it is worth


@pytest.mark.parametrize(("zone", "hour"), [("Europe/Paris", 17), ("UTC", 18), ("America/New_York", 23)])
def test_a_due_date_is_in_the_courses_time(classroom, zone, hour):
    course = with_policy(classroom, {"timezone": zone}, due=datetime(2026, 1, 2, 18)).course
    assert policy_of(course).due[LAB].astimezone(UTC) == datetime(2026, 1, 2, hour, tzinfo=UTC)


def test_what_is_dropped_is_worth_nothing_whatever_points_it_has(classroom):
    course = with_policy(classroom, points={"softmax": 5}, dropped=["softmax"]).course
    assert policy_of(course).points[LAB]["softmax"] == 0


def test_lateness_takes_of_what_counts_and_was_won(classroom, prepared):
    fill(classroom, {"ada": results("ada", ["stable_softmax"])}, prepared, "2026-01-03 19:00:00 UTC")
    by_hand(classroom, "ada", 2)
    due = datetime(2026, 1, 2, 18, tzinfo=UTC)
    with_policy(classroom, {"penalty_per_day": 0.1}, due=due, dropped=["explain-flat"])
    assert marks_of(classroom).marks["ada", LAB].penalty == pytest.approx(0.2 * 8)


# What is given back


def test_what_waits_is_given_back_empty_and_what_was_late_with_its_penalty(classroom, prepared):
    students = ("ada", "bo")
    enrol(classroom, "Login,Name\nada,Ada\nbo,Bo\n")
    fill(classroom, {s: results(s) for s in students}, prepared, "2026-01-03 19:00:00 UTC")
    by_hand(classroom, "ada", 2)
    with_policy(classroom, {"penalty_per_day": 0.1}, due=datetime(2026, 1, 2, 18, tzinfo=UTC))
    rows = table(tables.platform_csv(marks_of(classroom), tables.FORMS["Moodle"])[0])
    assert {row["Username"]: row[LAB] for row in rows} == {"ada": "9.6", "bo": ""}


def test_the_rosters_number_goes_before_what_a_student_typed_into_gradescope(classroom, prepared):
    enrol(classroom, "Login,Name,SID,Email\nada,Ada,A1,ada@school.example\n")
    fill(classroom, {"ada": results("ada")}, prepared)
    came_from(classroom, "ada", "Gradescope", name="Ada", sid="9", email="ada@home.example")
    (row,) = table(tables.platform_csv(marks_of(classroom), tables.FORMS["Gradescope"])[0])
    assert (row["SID"], row["Email"]) == ("A1", "ada@school.example")


def test_names_that_are_cut_stay_apart():
    assert _file_name("x" * 300 + "a", LAB) != _file_name("x" * 300 + "b", LAB)


def test_a_pseudonym_is_one_persons(tmp_path):
    first = pseudonyms(["s1"], tmp_path)
    for count in range(2, 40):  # a new one at a time, beside those that there are
        now = pseudonyms([f"s{n}" for n in range(1, count)], tmp_path)
        assert len(set(now.values())) == len(now) and now.items() >= first.items()


def test_an_extension_moves_the_due_date_later(classroom, prepared):
    enrol(classroom, "Login,Extension\nada,2 days\n")
    fill(classroom, {"ada": results("ada")}, prepared, "2026-01-03 19:00:00 UTC")
    with_policy(classroom, {"penalty_per_day": 0.1}, due=datetime(2026, 1, 2, 18, tzinfo=UTC))
    mark = marks_of(classroom).marks["ada", LAB]
    assert (mark.late, mark.extension) == (0, timedelta(days=2))


# Keys


def changed_key(change):
    """An exercise's key with something else in it, beside the key itself."""
    data = keys.key_of(lab(LAB).exercises["softmax"])
    header, arrays = decode(zlib.decompress(data))
    return data, zlib.compress(encode(*change(header, [np.array(a) for a in arrays])))


def other_points(header, arrays):
    return {**header, "points": header["points"] * 1.001}, arrays


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda header, arrays: (header, [a * (1 + 1e-9) if a.dtype == float else a for a in arrays]), True),
        (lambda header, arrays: (header, [a * 1.01 if a.dtype == float else a for a in arrays]), False),
        (lambda header, arrays: (header, [a.astype(np.float32) for a in arrays]), False),
        (lambda header, arrays: (header, [a[None] for a in arrays]), False),
        (lambda header, arrays: (header, [*arrays, arrays[0]]), False),
        (other_points, False),
    ],
    ids=["rounding", "values", "dtypes", "shapes", "more", "points"],
)
def test_keys_are_the_same_to_rounding_and_in_nothing_else(change, same):
    one, other = changed_key(change)
    assert keys.same_key(one, other) == same


def test_a_key_of_another_version_is_not_read(tmp_path):
    (tmp_path / keys.INDEX).write_text(json.dumps({"version": keys.VERSION + 1, "lab": LAB}))
    with pytest.raises(keys.KeyMissing, match="of another version"):
        keys._lab_key(tmp_path)
