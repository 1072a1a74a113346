"""Edge cases of identities, stored results, marks, platform tables and answer keys."""

import json
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from graded_class import (
    LAB,
    by_hand,
    came_from,
    enrol,
    fill,
    policy_of,
    results,
    table,
    with_policy,
)
from our_course import COURSE, lab

from autograder.core.course import LAB_FILE
from autograder.core.notebook_cells import get_grade_id
from autograder.gradebook import result_store
from autograder.gradebook.class_list import read_class_list
from autograder.gradebook.classroom import Submission
from autograder.gradebook.gradebook_writer import GradebookWriter, refresh_gradebook
from autograder.gradebook.graded_submission import GradingOptions
from autograder.grading.grade_submission import (
    _hash_answers_and_list_untouched,
    release_for_grading,
    report_grader_fault,
)
from autograder.intake.roster import Person, PlatformIdentity, Roster
from autograder.intake.store import Origin
from autograder.reports import platform_csv
from autograder.reports.feedback_zips import (
    MAX_FILE_NAME_BYTES,
    MAX_STUDENT_BYTES,
    _page_file_name,
)
from autograder.reports.marks import read_marks
from autograder.reports.pseudonyms import assign_pseudonyms
from autograder.student import answer_key
from autograder.values.encoding import decode, encode

pytestmark = pytest.mark.filterwarnings("ignore")


def marks_of(classroom):
    return read_marks(classroom, refresh_gradebook(classroom, {LAB: lab(LAB)}))


# Identities

ADA = Person(student="ada", name="Ada Lovelace", sid="A1", lms_id="7", login="ada", github="ada-l")


@pytest.mark.parametrize("key", ["sid", "lms_id", "login", "github"])
def test_the_same_name_with_another_number_is_another_student(key):
    assert Roster((ADA,)).find(PlatformIdentity(name="Ada Lovelace", **{key: "other"})) == []
    assert Roster((ADA,)).find(PlatformIdentity(**{key: getattr(ADA, key).upper()})) == [ADA]


def test_a_github_name_equal_to_a_login_does_not_identify_the_student():
    assert Roster((ADA,)).find(PlatformIdentity(any_identifier="ada")) == [ADA]
    assert Roster((ADA,)).find(PlatformIdentity(github="mallory", any_identifier="ada")) == []


def test_a_number_of_two_students_identifies_neither():
    twin = replace(ADA, student="bo", name="Bo Li", sid="B1", login="bo", github="")
    assert len(Roster((ADA, twin)).find(PlatformIdentity(lms_id="7"))) == 2


def test_two_students_of_one_name_do_not_get_the_folder(classroom):
    came_from(classroom, "lovelaceada", "Canvas", name="Ada Lovelace")
    enrol(classroom, "Name,Login\nAda Lovelace,ada1\nAda Lovelace,ada2\n")
    assert set(read_class_list(classroom).people) == {"ada1", "ada2"}


@pytest.mark.parametrize(
    ("old", "new", "newer"),
    [
        ({"time": 5.0}, {"time": 5.0}, False),
        ({"time": 5.0}, {"time": 6.0}, True),
        ({"time": 5.0, "number": 1}, {"time": 5.0, "number": 2}, True),
        ({"time": 6.0, "number": 1}, {"time": 5.0, "number": 2}, False),
        (
            {"platform": "Canvas", "number": 2},
            {"platform": "Canvas", "number": 2, "time": 9.0},
            False,
        ),
        (
            {"platform": "Canvas", "number": 2, "time": 9.0},
            {"platform": "Canvas", "number": 3},
            True,
        ),
    ],
)
def test_which_of_two_attempts_is_newer(old, new, newer):
    old_origin, new_origin = (Origin(**{"platform": "Moodle", **facts}) for facts in (old, new))
    assert new_origin.is_newer_than(old_origin) == newer
    assert not old_origin.is_newer_than(new_origin) or not newer


# Stored results


@pytest.mark.parametrize(
    "change",
    [
        {"content": b"[]"},
        {"content": None},
        {"note": "It is a link."},
        {"version": result_store.FORMAT_VERSION + 1},
    ],
)
def test_a_stored_result_belongs_to_the_bytes_and_the_version(classroom, change):
    submission = Submission("ada", LAB, b"{}", "", None)
    fingerprint = result_store.fingerprint_submission(submission, lab(LAB), GradingOptions())
    result_store.store_result(classroom, submission, results("ada"), fingerprint)
    assert result_store.load_result(classroom, submission, lab(LAB), GradingOptions())
    if "version" in change:
        path = classroom.result_path("ada", LAB)
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    else:
        submission = replace(submission, **change)
    assert result_store.load_result(classroom, submission, lab(LAB), GradingOptions()) is None


def test_a_picture_is_part_of_an_answer_and_space_around_it_is_none():
    notebook = json.loads(json.dumps(release_for_grading(lab(LAB))))
    hashes = []
    for change in (
        {},
        {"source": "\nYOUR ANSWER HERE  "},
        {"attachments": {"a.png": {"image/png": "x"}}},
    ):
        cells = type(release_for_grading(lab(LAB)))(json.loads(json.dumps(notebook)))
        cells.cells = [type(cells)(c) for c in cells.cells]
        for cell in cells.cells:
            cell.metadata = type(cells)(cell.metadata)
            if get_grade_id(cell) == "explain-flat":
                cell.update(change)
        hashes.append(_hash_answers_and_list_untouched(lab(LAB), cells)[0]["explain-flat"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_grader_fault_keeps_the_mark(classroom, prepared):
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    by_hand(classroom, "ada", 2)
    with GradebookWriter(classroom) as book:
        book.record_submission(
            Submission("ada", LAB, b"", "", None),
            report_grader_fault(lab(LAB), "No room.").with_student("ada"),
        )
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    assert marks_of(classroom).marks["ada", LAB].final_score == 12


# Points and penalties


@pytest.mark.parametrize(
    ("zone", "hour"), [("Europe/Paris", 17), ("UTC", 18), ("America/New_York", 23)]
)
def test_a_due_date_is_in_the_courses_time(classroom, zone, hour):
    course = with_policy(classroom, {"timezone": zone}, due=datetime(2026, 1, 2, 18)).course
    assert policy_of(course).due_dates[LAB].astimezone(UTC) == datetime(
        2026, 1, 2, hour, tzinfo=UTC
    )


def test_a_dropped_exercise_is_worth_nothing(classroom):
    course = with_policy(classroom, points={"softmax": 5}, dropped=["softmax"]).course
    assert policy_of(course).points[LAB]["softmax"] == 0


def test_the_penalty_is_a_share_of_the_points_that_count(classroom, prepared):
    fill(
        classroom, {"ada": results("ada", ["stable_softmax"])}, prepared, "2026-01-03 19:00:00 UTC"
    )
    by_hand(classroom, "ada", 2)
    due_date = datetime(2026, 1, 2, 18, tzinfo=UTC)
    with_policy(classroom, {"penalty_per_day": 0.1}, due=due_date, dropped=["explain-flat"])
    assert marks_of(classroom).marks["ada", LAB].penalty == pytest.approx(0.2 * 8)


# Platform tables


def test_ungraded_marks_are_exported_empty_and_late_ones_with_their_penalty(classroom, prepared):
    students = ("ada", "bo")
    enrol(classroom, "Login,Name\nada,Ada\nbo,Bo\n")
    fill(classroom, {s: results(s) for s in students}, prepared, "2026-01-03 19:00:00 UTC")
    by_hand(classroom, "ada", 2)
    with_policy(classroom, {"penalty_per_day": 0.1}, due=datetime(2026, 1, 2, 18, tzinfo=UTC))
    rows = table(
        platform_csv.format_platform_csv(marks_of(classroom), platform_csv.CSV_FORMATS["Moodle"])[0]
    )
    assert {row["Username"]: row[LAB] for row in rows} == {"ada": "9.6", "bo": ""}


def test_the_rosters_number_has_priority_over_gradescopes(classroom, prepared):
    enrol(classroom, "Login,Name,SID,Email\nada,Ada,A1,ada@school.example\n")
    fill(classroom, {"ada": results("ada")}, prepared)
    came_from(classroom, "ada", "Gradescope", name="Ada", sid="9", email="ada@home.example")
    (row,) = table(
        platform_csv.format_platform_csv(
            marks_of(classroom), platform_csv.CSV_FORMATS["Gradescope"]
        )[0]
    )
    assert (row["SID"], row["Email"]) == ("A1", "ada@school.example")


def test_shortened_names_stay_unique():
    assert _page_file_name("x" * 300 + "a", LAB) != _page_file_name("x" * 300 + "b", LAB)


def test_a_file_name_is_shortened_if_it_has_too_many_bytes():
    longest = "é" + "x" * (MAX_FILE_NAME_BYTES - len(f"é-{LAB}.html".encode()))
    assert _page_file_name(longest, LAB) == f"{longest}-{LAB}.html"
    student, digest = _page_file_name(f"{longest}x", LAB).removesuffix(f"-{LAB}.html").split("-")
    assert student == f"é{'x' * (MAX_STUDENT_BYTES - 2)}" and len(digest) == 8


def test_a_pseudonym_belongs_to_one_student(tmp_path):
    first = assign_pseudonyms(["s1"], tmp_path)
    for count in range(2, 40):  # a new one at a time, beside those that there are
        pseudonyms = assign_pseudonyms([f"s{n}" for n in range(1, count)], tmp_path)
        assert (
            len(set(pseudonyms.values())) == len(pseudonyms) and pseudonyms.items() >= first.items()
        )


def test_an_extension_moves_the_due_date_later(classroom, prepared):
    enrol(classroom, "Login,Extension\nada,2 days\n")
    fill(classroom, {"ada": results("ada")}, prepared, "2026-01-03 19:00:00 UTC")
    with_policy(classroom, {"penalty_per_day": 0.1}, due=datetime(2026, 1, 2, 18, tzinfo=UTC))
    mark = marks_of(classroom).marks["ada", LAB]
    assert (mark.seconds_late, mark.extension) == (0, timedelta(days=2))


# Answer keys


def make_changed_key(change):
    """Return an exercise's answer key, and the same key after a change."""
    data = (COURSE.answer_key_folder(LAB) / "softmax.key").read_bytes()
    header, arrays = decode(zlib.decompress(data))
    return data, zlib.compress(encode(*change(header, [np.array(a) for a in arrays])))


def with_tolerance(header):
    return {**header, "rules": {**header["rules"], "tolerance": 1e-3}}


def other_points(header, arrays):
    return {**header, "points": header["points"] * 1.001}, arrays


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        (
            lambda header, arrays: (
                header,
                [a * (1 + 1e-9) if a.dtype == float else a for a in arrays],
            ),
            True,
        ),
        (
            lambda header, arrays: (
                header,
                [a * (1 + 1e-6) if a.dtype == float else a for a in arrays],
            ),
            False,
        ),
        (
            lambda header, arrays: (header, [a * 1.01 if a.dtype == float else a for a in arrays]),
            False,
        ),
        (lambda header, arrays: (header, [a.astype(np.float32) for a in arrays]), False),
        (lambda header, arrays: (header, [a[None] for a in arrays]), False),
        (lambda header, arrays: ({**header, "cases": header["cases"][:-1]}, arrays), False),
        (other_points, False),
    ],
    ids=[
        "rounding",
        "more than answers may differ",
        "values",
        "dtypes",
        "shapes",
        "fewer",
        "points",
    ],
)
def test_keys_are_the_same_to_rounding_and_in_nothing_else(change, equal):
    key, changed_key = make_changed_key(change)
    assert answer_key.keys_are_equal(key, changed_key) == equal


def test_keys_are_compared_as_closely_as_answers():
    factor = 1 + 1e-4
    _, key = make_changed_key(lambda header, arrays: (with_tolerance(header), arrays))
    _, near_key = make_changed_key(
        lambda header, arrays: (with_tolerance(header), [a * factor for a in arrays])
    )
    assert answer_key.keys_are_equal(key, near_key)


def test_a_key_of_another_version_is_not_read(tmp_path):
    (tmp_path / LAB_FILE).write_text(
        json.dumps({"version": answer_key.KEY_VERSION + 1, "lab": LAB})
    )
    with pytest.raises(answer_key.AnswerKeyError, match="of another version"):
        answer_key._read_lab_description(tmp_path)
