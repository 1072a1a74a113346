"""`autograder collect`: every platform's names, every odd zip, and nothing outside the classroom."""

import io
import json
import os
import shutil
import stat
import struct
import time
import unicodedata
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nbgrader.utils import parse_utc

from autograder.grading import collect as module
from autograder.grading import handin_names, unpack
from autograder.grading.classroom import Classroom
from autograder.grading.collect import CollectError, Outcome, collect
from autograder.grading.handin_names import by_grade_ids, by_name, by_platform, safe_student

QKV = "qkv-attention"
NEWER = (2026, 11, 21, 12, 0, 0)
OLDER = (2026, 11, 20, 12, 0, 0)


def notebook(text="x", grade_id=None):
    metadata = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    cell = {"cell_type": "code", "source": text, "metadata": metadata, "outputs": []}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def make_zip(target, members):
    """A zip of {name or ZipInfo: bytes}, or of pairs; returns what it was written to."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items() if isinstance(members, dict) else members:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name, OLDER)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return target


def zip_bytes(members):
    return make_zip(io.BytesIO(), members).getvalue()


def member(name, when=OLDER, mode=None, raw=None):
    info = zipfile.ZipInfo(name, when)
    if mode is not None:
        info.create_system, info.external_attr = 3, mode << 16
    if raw is not None:
        info.filename = raw  # past ZipInfo's own tidying
    return info


@pytest.fixture
def room(tmp_path):
    return Classroom(tmp_path / "classroom")


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


def put(folder, files, when=None):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if when:
            os.utime(path, (when, when))
    return folder


def filed(room):
    """{student/lab: (text of the notebook, time stamp)} of what is in submitted/."""
    found = {}
    for path in sorted(room.submitted.glob("*/*/*.ipynb")):
        stamp = path.with_name("timestamp.txt")
        assert path.stem == path.parent.name
        text = json.loads(path.read_bytes())["cells"][0]["source"]
        key = path.parent.relative_to(room.submitted).as_posix()
        found[key] = (text, stamp.read_text().strip() if stamp.exists() else None)
    return found


def earlier(room):
    return sorted((room.root / "submitted-earlier").rglob("*.ipynb"))


def only(report):
    (row,) = report.rows
    return row


def snapshot(folder):
    """Every path below a folder with its kind, bytes and times, folders included."""
    return {
        path.relative_to(folder).as_posix(): (
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() and not path.is_symlink() else None,
        )
        for path in sorted(folder.rglob("*"))
    }


# The platforms' names


CANVAS = {
    "lovelaceada_12345_678901_qkv-attention.ipynb": notebook("ada"),
    "hoppergrace_LATE_12346_678902_qkv-attention-2.ipynb": notebook("grace"),
    "müllerzoë_12347_678903_attention-masks-1.ipynb": notebook("zoe"),
    "anon_aB3xY_678904_qkv-attention.ipynb": notebook("anon"),
    "LATE_anon_cD4zW_678905_qkv-attention.ipynb": notebook("late anon"),
}
MOODLE = {
    "Ada Lovelace_12345_assignsubmission_file_/qkv-attention.ipynb": notebook("ada"),
    "Grace Hopper_12346_assignsubmission_file_/work/qkv-attention.ipynb": notebook("grace"),
    "Zoë Müller_12347_assignsubmission_file_qkv-attention.ipynb": notebook("zoe"),
    "Alan Turing_12348_assignsubmission_file/qkv-attention.ipynb": notebook("alan"),
    "Kurt Gödel_12349_assignsubmission_onlinetext_/onlinetext.html": b"<p>here</p>",
    "Emmy Noether_12350_onlinetext_/onlinetext.html": b"<p>here</p>",
}
RECEIPT = """Name: Ada Lovelace ({user})
Assignment: qkv-attention
Date Submitted: {date}
Current Grade: Needs Grading

Submission Field:
There is no student submission text data for this assignment.

Files:
\tOriginal filename: qkv-attention.ipynb
\tFilename: qkv-attention_{user}_attempt_2026-11-20-14-03-22_qkv-attention.ipynb
"""


def blackboard(user="ada1", date="Friday, November 20, 2026 2:03:22 PM EST"):
    begins = f"qkv-attention_{user}_attempt_2026-11-20-14-03-22"
    return {
        f"{begins}.txt": RECEIPT.format(user=user, date=date).encode(),
        f"{begins}_qkv-attention.ipynb": notebook(user),
    }


@pytest.fixture(params=["zip", "folder"])
def given_as(request, tmp_path):
    """The same files as a zip and as a folder."""

    def give(files, name="download"):
        if request.param == "zip":
            return make_zip(tmp_path / f"{name}.zip", files)
        return put(tmp_path / name, files)

    return give


def test_canvas(room, given_as):
    report = collect([given_as(CANVAS)], room)
    assert {key: text for key, (text, _) in filed(room).items()} == {
        "lovelaceada-12345/qkv-attention": "ada",
        "hoppergrace-12346/qkv-attention": "grace",
        "müllerzoë-12347/attention-masks": "zoe",
        "anon_aB3xY/qkv-attention": "anon",
        "anon_cD4zW/qkv-attention": "late anon",
    }
    assert report.exit_code == 0
    late = [row.student for row in report.rows if "Canvas marks it as late" in row.reason]
    assert sorted(late) == ["anon_cD4zW", "hoppergrace-12346"]


def test_moodle(room, given_as):
    report = collect([given_as(MOODLE)], room)
    assert {key: text for key, (text, _) in filed(room).items()} == {
        "Ada Lovelace/qkv-attention": "ada",
        "Grace Hopper/qkv-attention": "grace",
        "Zoë Müller/qkv-attention": "zoe",
        "Alan Turing/qkv-attention": "alan",
    }
    ignored = [row for row in report.rows if row.outcome is Outcome.IGNORED]
    assert len(ignored) == 2
    assert all(
        row.reason == "It is text typed into a page; only a notebook can be marked." for row in ignored
    )
    assert report.exit_code == 0


@pytest.mark.parametrize(
    ("date", "utc"),
    [
        ("Friday, November 20, 2026 2:03:22 PM EST", "2026-11-20 19:03:22 UTC"),
        ("Friday, 20 November 2026 14:03:22 o'clock GMT", "2026-11-20 14:03:22 UTC"),
        ("Friday, 20 November 2026 14:03:22 +0100", "2026-11-20 13:03:22 UTC"),
        ("Friday, 20 November 2026 14:03:22 XYZT", "2026-11-20 14:03:22 UTC"),  # an unknown zone
        ("le 31 brumaire", "2026-11-20 14:03:22 UTC"),
        ("Friday, November 20, 2026 9:00:00 PM EST", "2026-11-20 14:03:22 UTC"),  # not the same moment
    ],
)
def test_blackboard(room, given_as, date, utc):
    report = collect([given_as(blackboard(date=date))], room)
    assert filed(room) == {"ada1/qkv-attention": ("ada1", utc)}
    assert report.exit_code == 0 and report.others == 1


def test_blackboard_username_with_underscores_is_in_the_text_file(room, given_as):
    collect([given_as(blackboard(user="c_ada_1"))], room)
    assert list(filed(room)) == ["c_ada_1/qkv-attention"]


def test_a_blackboard_name_with_an_impossible_time(room, given_as):
    report = collect(
        [given_as({"lab_ada1_attempt_2026-13-40-14-03-22_qkv-attention.ipynb": notebook()})], room
    )
    assert only(report).reason == "2026-13-40-14-03-22 in its name is no time."
    assert filed(room) == {"ada1/qkv-attention": ("x", None)}


def test_the_time_zone_given_counts(room, given_as):
    collect([given_as(blackboard())], room, timezone="Europe/Berlin")
    assert filed(room)["ada1/qkv-attention"][1] == "2026-11-20 13:03:22 UTC"


@pytest.mark.parametrize(
    "repository",
    ["qkv-attention-ada-l", "lab-2-submissions/lab-2-ada-l"],
)
def test_github(room, given_as, repository):
    files = {
        f"{repository}/.git/HEAD": b"ref: refs/heads/main",
        f"{repository}/.git/hooks/qkv-attention.ipynb": notebook("a hook"),
        f"{repository}/work/qkv-attention/qkv-attention.ipynb": notebook("ada"),
        f"{repository}/work/qkv-attention/.ipynb_checkpoints/qkv-attention-checkpoint.ipynb": notebook("old"),
        f"{repository}/README.md": b"hello",
    }
    report = collect([given_as(files)], room)
    assert filed(room) == {"ada-l/qkv-attention": ("ada", None)}
    assert report.exit_code == 0 and report.junk >= 1


def test_github_clones_show_their_assignment_by_what_they_have_in_common(room, given_as):
    files = {}
    for user in ("ada", "grace-h"):
        files |= {f"week-2-{user}/.git/HEAD": b"x", f"week-2-{user}/qkv-attention.ipynb": notebook(user)}
    report = collect([given_as(files)], room)
    assert {key: text for key, (text, _) in filed(room).items()} == {
        "ada/qkv-attention": "ada",
        "grace-h/qkv-attention": "grace-h",
    }
    assert all(row.reason == "The assignment was taken to be 'week-2'." for row in report.rows)


@pytest.mark.parametrize(
    "name",
    [
        "ada/qkv-attention.ipynb",
        "ada/qkv-attention/qkv-attention.ipynb",
        "ada/deep/down/qkv-attention.ipynb",
        "submitted/ada/qkv-attention/qkv-attention.ipynb",
        "download/ada/qkv-attention.ipynb",
        "qkv-attention/ada/qkv-attention.ipynb",
    ],
)
def test_plain_folders(room, given_as, name):
    report = collect([given_as({name: notebook("ada")})], room)
    assert filed(room) == {"ada/qkv-attention": ("ada", None)}
    assert report.exit_code == 0


def test_a_folder_around_the_class(room, given_as):
    collect([given_as({f"autumn/{s}/qkv-attention.ipynb": notebook(s) for s in ("ada", "grace")})], room)
    assert sorted(filed(room)) == ["ada/qkv-attention", "grace/qkv-attention"]


def test_nbgraders_own_layout_with_its_timestamps(room, given_as):
    files = {
        "submitted/ada/qkv-attention/qkv-attention.ipynb": notebook("ada"),
        "submitted/ada/qkv-attention/timestamp.txt": b"2026-11-20 15:03:22.123456 +0100",
        "autograded/ada/qkv-attention/qkv-attention.ipynb": notebook("marked"),
    }
    report = collect([given_as(files)], room)
    assert filed(room)["ada/qkv-attention"][0] == "ada"
    stamp = filed(room)["ada/qkv-attention"][1]
    assert parse_utc(stamp) == parse_utc(parse_utc("2026-11-20 15:03:22 +0100"))
    assert [row.reason for row in report.rows if row.outcome is Outcome.UNMATCHED] == [
        "It lies outside 'submitted', where the hand-ins are."
    ]


def test_a_timestamp_that_is_none(room, given_as):
    files = {"ada/qkv-attention.ipynb": notebook(), "ada/timestamp.txt": b"tomorrow, perhaps"}
    report = collect([given_as(files)], room)
    assert only(report).reason == "The timestamp.txt beside it cannot be read."
    assert report.untimed == 1 and "late penalty: 1," in report.summary


def test_one_notebook_or_one_odd_file_named_itself(room, inbox):
    put(inbox, {"lovelaceada_12345_678_qkv-attention.ipynb": notebook("ada"), "notes.pdf": b"%PDF"})
    report = collect([inbox / "lovelaceada_12345_678_qkv-attention.ipynb", inbox / "notes.pdf"], room)
    assert list(filed(room)) == ["lovelaceada-12345/qkv-attention"]
    assert report.rows[1].reason == "It is neither a folder nor a zip nor a notebook."


@pytest.mark.parametrize(
    "name",
    [
        "qkv-attention (1).ipynb",
        "Copy of qkv-attention.ipynb",
        "qkv_attention.ipynb",
        "QKV-Attention.IPYNB",
        "qkv-attention-Copy1.ipynb",
        "qkv-attention - Copy.ipynb",
        "my QKV attention, final.ipynb",
        "qkv-attention.ipynb.txt",
    ],
)
def test_tolerant_of_what_students_call_a_lab(room, inbox, name):
    collect([put(inbox, {f"ada/{name}": notebook("ada")})], room)
    assert list(filed(room)) == ["ada/qkv-attention"]


def test_a_lab_is_known_by_its_cells(room, inbox, monkeypatch):
    monkeypatch.setattr(
        handin_names, "_grade_ids", lambda: {"softmax": QKV, "causal-mask": "attention-masks"}
    )
    files = {
        "ada/Untitled.ipynb": notebook("ada", "softmax"),
        "bob/Untitled.ipynb": notebook('{"grade_id": "softmax"}'),  # only speaks of it
        "eve/qkv-attention/Untitled.ipynb": b"broken",
    }
    report = collect([put(inbox, files)], room)
    assert {row.student: row.outcome for row in report.rows} == {
        "ada": Outcome.FILED,
        "bob": Outcome.UNMATCHED,
        "eve": Outcome.FILED,
    }
    (why,) = [row.reason for row in report.rows if row.student == "bob"]
    assert why.startswith("Neither its name nor its cells say which lab it is for.")


def test_the_solutions_grade_ids_tell_the_labs_apart():
    ids = handin_names._grade_ids()
    for lab in {
        lab for lab in handin_names.LABS if (handin_names.SOLUTIONS / lab / f"{lab}.ipynb").is_file()
    }:
        source = (handin_names.SOLUTIONS / lab / f"{lab}.ipynb").read_bytes()
        assert by_grade_ids(source) == lab
        assert by_grade_ids(source.decode().encode("utf-16")) == lab
        assert lab in ids.values()


@pytest.mark.parametrize("data", [b"", b"[" * 100_000, b"\xff" * 1000, b'"grade_id": "' + b"a" * 10_000])
def test_looking_at_cells_never_raises(data):
    assert by_grade_ids(data) == ""


def test_by_name_says_nothing_where_two_labs_are_named():
    assert by_name("attention-masks and qkv-attention.ipynb") == ""


def test_other_labs_are_listed(room, inbox):
    report = collect([put(inbox, {"ada/attention-masks.ipynb": notebook()})], room, labs=[QKV])
    assert only(report).reason == "It is for attention-masks, which is not collected here."
    assert report.exit_code == 1


# A student chooses file names, never who they are


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("lovelaceada_12345_678_bob_99_100_qkv-attention.ipynb", "lovelaceada-12345"),
        ("lovelaceada_12345_678_x_bob_attempt_2026-11-20-14-03-22_qkv-attention.ipynb", "lovelaceada-12345"),
        ("lab_ada1_attempt_2026-11-20-14-03-22_bob_99_100_qkv-attention.ipynb", "ada1"),
        ("Ada L_12_assignsubmission_file_/Bob M_13_assignsubmission_file_/qkv-attention.ipynb", "Ada L"),
        ("Ada L_12_assignsubmission_file_/bob_99_100_qkv-attention.ipynb", "Ada L"),
    ],
)
def test_the_platforms_part_of_a_name_counts(room, given_as, name, student):
    collect([given_as({name: notebook()})], room)
    assert list(filed(room)) == [f"{student}/qkv-attention"]


@pytest.mark.parametrize(
    "inside",
    ["Bob_99_assignsubmission_file_/qkv-attention.ipynb", "bob_99_100_qkv-attention.ipynb"],
)
def test_nobody_hands_in_for_another_from_their_own_folder(room, given_as, inside):
    files = {f"ada/{inside}": notebook("evil"), "bob/qkv-attention.ipynb": notebook("bob")}
    report = collect([given_as(files)], room)
    assert filed(room) == {"bob/qkv-attention": ("bob", None)}
    (row,) = [row for row in report.rows if row.outcome is Outcome.UNMATCHED]
    assert "but it lies in the folder 'ada' beside other hand-ins" in row.reason


def test_nobody_hands_in_for_another_from_their_own_zip(room, inbox):
    evil = {
        "Bob_99_assignsubmission_file_/qkv-attention.ipynb": notebook("evil"),
        "bob/attention-masks.ipynb": notebook("evil"),
        "x-submissions/x-bob/additive-attention.ipynb": notebook("evil"),
        "timestamp.txt": b"2020-01-01 00:00:00 UTC",
    }
    make_zip(inbox / "lovelaceada_12345_678_hand-in.zip", evil)
    report = collect([inbox], room)
    assert {row.student for row in report.rows} == {"lovelaceada-12345"}
    assert [stamp for _, stamp in filed(room).values()] == [None] * 3


def test_a_time_stamp_in_a_folder_is_not_for_what_is_in_a_zip(room, inbox):
    inner = zip_bytes({"bob/qkv-attention.ipynb": notebook("ada")})
    put(inbox, {"ada/hand-in.zip": inner, "bob/qkv-attention.ipynb": notebook("bob")})
    put(inbox, {"bob/timestamp.txt": b"2026-11-20 14:05:00 UTC"})
    collect([inbox], room)
    assert filed(room) == {
        "ada/qkv-attention": ("ada", None),
        "bob/qkv-attention": ("bob", "2026-11-20 14:05:00 UTC"),
    }


def test_nobody_hands_in_for_another_by_naming_a_repository(room, given_as):
    files = {f"ada/x-submissions/x-{s}/.git/HEAD": b"" for s in ("bob", "eve")}
    files |= {f"ada/x-submissions/x-{s}/qkv-attention.ipynb": notebook() for s in ("bob", "eve")}
    files["bob/qkv-attention.ipynb"] = notebook("bob")
    collect([given_as(files)], room)
    assert sorted(filed(room)) == ["ada/qkv-attention", "bob/qkv-attention"]


# Students' names as folders


@pytest.mark.parametrize("name", ["Ada Lovelace", "Zoë", "李雷", "O'Neil", "ada@uni.edu", "ada.l_2-b"])
def test_ordinary_names_stay(name):
    assert safe_student(name) == name
    assert safe_student(unicodedata.normalize("NFD", name)) == name


@pytest.mark.parametrize(
    "name",
    ["../ada", "..", ".", "", ".ada", "ada.", "-rf", "a/b", "a\\b", "c:ada", "a*b", "a?b", "con", "NUL.txt"]
    + ["COM¹", "a\nb", "a\u202eb", "a\udce9b", "a" * 500, "李" * 200, "[ada]", "a  b"],
)
def test_other_names_are_changed_and_stay_apart(name):
    safe = safe_student(name)
    assert safe != name and safe == safe_student(name)
    assert len(safe.encode()) <= 100 and safe[0] not in ".- " and safe[-1] not in ". "
    assert not set(safe) & set('/\\:*?"<>|[]\n\0') and safe.isprintable()
    assert safe.split(".")[0].casefold() not in handin_names._RESERVED
    assert safe_student(name + "x") != safe


def test_the_same_name_in_another_case_or_normalisation_is_the_same_student(room, inbox, tmp_path):
    collect([put(inbox, {"Zoe\u0308/qkv-attention.ipynb": notebook("1")}, when=1_000_000_000)], room)
    other = put(tmp_path / "other", {"ZOË/qkv-attention.ipynb": notebook("2")}, when=1_100_000_000)
    report = collect([other], room)
    assert filed(room) == {"Zoë/qkv-attention": ("2", None)}
    assert only(report).reason == (
        "It replaces an earlier attempt. 'ZOË' is taken as 'Zoë': only the case differs."
    )
    assert len(earlier(room)) == 1


def test_a_canvas_student_who_changes_names_stays_the_same(room, inbox, tmp_path):
    collect([put(inbox, {"byronada_12345_678_qkv-attention.ipynb": notebook()})], room)
    other = put(tmp_path / "other", {"lovelaceada_12345_700_attention-masks.ipynb": notebook()})
    collect([other], room)
    assert sorted(filed(room)) == ["byronada-12345/attention-masks", "byronada-12345/qkv-attention"]


def test_a_group_is_not_taken_for_a_canvas_student(room, inbox, tmp_path):
    collect([put(inbox, {"group-12/qkv-attention.ipynb": notebook()})], room)
    collect([put(tmp_path / "other", {"lovelaceada_12_700_qkv-attention.ipynb": notebook("2")})], room)
    assert sorted(filed(room)) == ["group-12/qkv-attention", "lovelaceada-12/qkv-attention"]


def test_two_moodle_participants_of_one_name_are_not_mixed_up(room, given_as):
    files = {
        f"Ada Lovelace_{number}_assignsubmission_file_/qkv-attention.ipynb": notebook(str(number))
        for number in (1, 2)
    }
    report = collect([given_as(files)], room)
    assert filed(room) == {"Ada Lovelace/qkv-attention": ("1", None)}
    assert report.rows[1].reason.startswith("There is a hand-in of Moodle's participant 1, of the same name;")
    assert report.exit_code == 1


# Attempts and times


def attempts(*minutes):
    return {
        f"lab_ada_attempt_2026-11-20-14-{minute:02}-00_qkv-attention.ipynb": notebook(f"at {minute}")
        for minute in minutes
    }


def test_the_newest_attempt_wins_and_the_others_are_kept(room, given_as):
    report = collect([given_as(attempts(3, 9, 6))], room)
    assert filed(room) == {"ada/qkv-attention": ("at 9", "2026-11-20 14:09:00 UTC")}
    assert [path.name[:16] for path in earlier(room)] == ["20261120T140300Z", "20261120T140600Z"]
    assert sorted(row.outcome for row in report.rows) == ["filed", "older", "older"]
    assert all((room.root / row.path).is_file() for row in report.rows)
    for row in report.rows:
        minute = str(int(row.source.split("-14-")[1][:2]))
        assert f"at {minute}" in (room.root / row.path).read_text()
    assert report.exit_code == 0


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_a_later_run_with_newer_or_older_attempts(room, tmp_path, order):
    zips = {
        1: make_zip(tmp_path / "1.zip", attempts(3)),
        2: make_zip(tmp_path / "2.zip", attempts(3, 6)),
    }
    for number in order:
        collect([zips[number]], room)
    assert filed(room) == {"ada/qkv-attention": ("at 6", "2026-11-20 14:06:00 UTC")}
    assert [path.name[:16] for path in earlier(room)] == ["20261120T140300Z"]
    before = snapshot(room.root)
    outcomes = [row.outcome for row in collect([zips[1], zips[2]], room).rows]
    assert outcomes == [Outcome.OLDER, Outcome.OLDER, Outcome.UNCHANGED]
    assert snapshot(room.root) == before


def test_canvas_counts_uploads_whatever_the_files_times(room, inbox):
    new = {"lovelaceada_12345_700_qkv-attention-1.ipynb": notebook("new")}
    put(inbox, {"lovelaceada_12345_678_qkv-attention.ipynb": notebook("old")}, when=1_900_000_000)
    put(inbox, new, when=1_000_000_000)
    for _ in range(2):
        collect([inbox], room)
        assert filed(room) == {"lovelaceada-12345/qkv-attention": ("new", None)}
    shutil.rmtree(room.root)
    for name in sorted(os.listdir(inbox), reverse=True):
        collect([inbox / name], room)
    assert filed(room) == {"lovelaceada-12345/qkv-attention": ("new", None)}


def test_file_times_then_copy_numbers_decide_where_nothing_else_does(room, tmp_path):
    one = make_zip(tmp_path / "1.zip", [(member("ada/qkv-attention.ipynb", NEWER), notebook("new"))])
    two = make_zip(tmp_path / "2.zip", [(member("ada/qkv-attention.ipynb", OLDER), notebook("old"))])
    collect([one, two], room)
    assert filed(room)["ada/qkv-attention"][0] == "new"
    copies = {f"bob/qkv-attention{n}.ipynb": notebook(n) for n in ("", " (1)", " (2)", " (10)")}
    collect([put(tmp_path / "copies", copies, when=1_500_000_000)], room)
    assert filed(room)["bob/qkv-attention"][0] == " (10)"


def test_without_what_is_remembered_file_times_decide(room, inbox, tmp_path):
    collect([put(inbox, {"ada/qkv-attention.ipynb": notebook("2001")}, when=1_000_000_000)], room)
    shutil.rmtree(room.root / "collected")
    other = put(tmp_path / "other", {"ada/qkv-attention.ipynb": notebook("2002")}, when=1_020_000_000)
    assert only(collect([other], room)).outcome is Outcome.FILED
    assert only(collect([inbox], room)).outcome is Outcome.OLDER


def test_the_same_hand_in_without_its_time_changes_nothing(room, inbox, tmp_path):
    collect([put(inbox, attempts(3))], room)
    before = snapshot(room.root)
    other = put(tmp_path / "other", {"ada/qkv-attention.ipynb": notebook("at 3")}, when=1_900_000_000)
    assert only(collect([other], room)).outcome is Outcome.UNCHANGED
    assert snapshot(room.root) == before


def test_a_files_time_becomes_a_time_stamp_only_when_asked(room, inbox):
    put(inbox, {"ada/qkv-attention.ipynb": notebook()}, when=1_763_647_402)
    assert collect([inbox], room).untimed == 1
    assert filed(room)["ada/qkv-attention"][1] is None
    report = collect([inbox], room, file_times=True)
    assert filed(room)["ada/qkv-attention"][1] == "2025-11-20 14:03:22 UTC"
    assert report.untimed == 0 and not earlier(room)
    before = snapshot(room.root)
    collect([inbox], room, file_times=True)
    assert snapshot(room.root) == before


def test_the_time_stamp_is_one_that_nbgrader_and_the_classroom_read(room, inbox):
    from nbgrader.coursedir import CourseDirectory

    collect([put(inbox, blackboard())], room)
    folder = room.submitted / "ada1" / QKV
    assert str(CourseDirectory().get_existing_timestamp(str(folder))).startswith("2026-11-20 19:03:22")
    submission = room.submission("ada1", QKV)
    assert submission.timestamp == "2026-11-20 19:03:22 UTC" and submission.why == ""
    assert room.handed_in([QKV]) == [("ada1", QKV)]


def test_a_replaced_attempts_time_stamp_does_not_stay(room, inbox, tmp_path):
    collect([put(inbox, attempts(3))], room)
    plain = put(tmp_path / "plain", {"ada/qkv-attention.ipynb": notebook("later")}, when=1_900_000_000)
    collect([plain], room)
    assert filed(room) == {"ada/qkv-attention": ("later", None)}


def test_a_hand_in_put_there_by_hand_is_compared_and_kept(room, inbox):
    folder = room.submitted / "ada" / QKV
    put(folder, {"my-work.ipynb": notebook("by hand"), "timestamp.txt": b"2026-11-20 14:05:00 UTC"})
    report = collect([put(inbox, attempts(3))], room)
    assert only(report).outcome is Outcome.OLDER
    assert (folder / "my-work.ipynb").exists()
    collect([put(inbox, attempts(9))], room)
    assert [p.name for p in folder.glob("*.ipynb")] == ["qkv-attention.ipynb"]
    assert filed(room)["ada/qkv-attention"][0] == "at 9"
    assert any(path.read_bytes() == notebook("by hand") for path in earlier(room))


def test_an_instructors_change_to_a_time_stamp_stays(room, inbox):
    collect([put(inbox, attempts(3))], room)
    stamp = room.submitted / "ada" / QKV / "timestamp.txt"
    stamp.write_text("2026-11-01 00:00:00 UTC\n")  # an extension
    collect([inbox], room)
    assert stamp.read_text() == "2026-11-01 00:00:00 UTC\n"


def test_run_twice_it_changes_nothing(room, tmp_path):
    inner = zip_bytes({"a/qkv-attention.ipynb": notebook()})
    plain = {f"eve/qkv-attention{n}.ipynb": notebook(n) for n in ("", " (1)")}
    paths = [
        make_zip(tmp_path / "canvas.zip", CANVAS | {"turingalan_9_10_all.zip": inner}),
        make_zip(tmp_path / "moodle.zip", MOODLE),
        put(tmp_path / "bb", blackboard() | attempts(1, 2, 3)),
        put(tmp_path / "plain", plain),
    ]
    first = collect(paths, room)
    before = snapshot(room.root)
    second = collect(paths, room)
    assert snapshot(room.root) == before
    assert Outcome.FILED in {row.outcome for row in first.rows}
    assert {row.outcome for row in second.rows} == {Outcome.UNCHANGED, Outcome.OLDER, Outcome.IGNORED}
    assert [row.source for row in first.rows] == [row.source for row in second.rows]
    # The check can fail: a file that is touched shows.
    os.utime(next(room.submitted.rglob("*.ipynb")), (1, 1))
    assert snapshot(room.root) != before


# Zips in zips


def test_a_zip_a_student(room, tmp_path):
    inner = zip_bytes({"work/qkv-attention/qkv-attention.ipynb": notebook("ada"), "work/data.csv": b"1,2"})
    files = {
        "lovelaceada_12345_678_hand-in.zip": inner,
        "hoppergrace_12346_679_empty.zip": zip_bytes({"report.pdf": b"%PDF"}),
    }
    report = collect([make_zip(tmp_path / "canvas.zip", files)], room)
    assert list(filed(room)) == ["lovelaceada-12345/qkv-attention"]
    (row,) = [row for row in report.rows if row.outcome is Outcome.UNMATCHED]
    assert (row.student, row.reason) == ("hoppergrace-12346", "No notebook is in this zip, only report.pdf.")


def test_zips_in_a_folder_are_named_after_students_or_hold_a_class(room, inbox):
    make_zip(inbox / "ada.zip", {"work/qkv-attention.ipynb": notebook("ada")})
    make_zip(inbox / "grace.zip", {"qkv-attention.ipynb": notebook("grace")})
    make_zip(inbox / "moodle-export.zip", MOODLE)
    make_zip(inbox / "class.zip", {f"{s}/qkv-attention.ipynb": notebook() for s in ("kim", "lou")})
    collect([inbox], room)
    students = {key.split("/")[0] for key in filed(room)}
    assert students == {"ada", "grace", "kim", "lou"} | {
        name.split("_")[0] for name in MOODLE if "file" in name
    }


def test_many_zips_in_a_folder_below(room, inbox):
    for student in ("ada", "grace"):
        (inbox / "week").mkdir(exist_ok=True)
        make_zip(inbox / "week" / f"{student}.zip", {"qkv-attention.ipynb": notebook(student)})
    collect([inbox], room)
    assert sorted(filed(room)) == ["ada/qkv-attention", "grace/qkv-attention"]


def test_a_zip_with_a_zip_a_student_or_a_students_zip_with_a_zip(room, inbox):
    work = zip_bytes({"qkv-attention.ipynb": notebook()})
    make_zip(inbox / "class.zip", {"class/ada.zip": work, "class/grace.zip": work})
    make_zip(inbox / "kim.zip", {"hand-in.zip": work})
    make_zip(inbox / "lou.zip", {"work/hand-in.zip": work})
    collect([inbox], room)
    assert [key.split("/")[0] for key in filed(room)] == ["ada", "grace", "kim", "lou"]


def test_zips_are_opened_one_level_deep(room, tmp_path):
    deepest = zip_bytes({"qkv-attention.ipynb": notebook()})
    deeper = zip_bytes({"b.zip": deepest, "qkv-attention.ipynb": notebook("seen")})
    report = collect([make_zip(tmp_path / "class.zip", {"ada/a.zip": deeper})], room)
    assert filed(room)["ada/qkv-attention"][0] == "seen"
    (row,) = [row for row in report.rows if row.outcome is Outcome.REFUSED]
    assert row.reason == "It is a zip in a zip in a zip; that deep none is opened. Unpack the outer one."
    assert row.source == "class.zip/ada/a.zip/b.zip"


# Odd zips


GOOD = ("zed/qkv-attention.ipynb", notebook("good"))


def refusals(report):
    return [row.reason for row in report.rows if row.outcome is Outcome.REFUSED]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../ada/qkv-attention.ipynb", "Its name leads out of the folder (..)."),
        ("ada/../../../qkv-attention.ipynb", "Its name leads out of the folder (..)."),
        ("..\\..\\ada\\qkv-attention.ipynb", "Its name leads out of the folder (..)."),
        ("/ada/qkv-attention.ipynb", "Its name is an absolute path."),
        ("\\\\server\\ada\\qkv-attention.ipynb", "Its name is an absolute path."),
        ("C:/ada/qkv-attention.ipynb", "Its name begins with a drive letter."),
        ("c:\\ada\\qkv-attention.ipynb", "Its name begins with a drive letter."),
        ("ada\x1b[2J/qkv-attention.ipynb", "Its name holds control characters."),
        ("a" * 300 + "/qkv-attention.ipynb", "Its name is too long (320 characters)."),
        ("a/" * 600 + "qkv-attention.ipynb", "Its name is too long (1,219 characters)."),
    ],
)
def test_names_that_are_refused(room, tmp_path, name, why):
    members = [(member("x", raw=name), notebook("evil")), GOOD]
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    assert refusals(report) == [why]
    assert list(filed(room)) == ["zed/qkv-attention"]  # the others are not lost
    assert report.exit_code == 1


def test_a_name_with_a_zero_byte(room, tmp_path):
    data = zip_bytes([("ada/qkv-attention.ipynbXevil.txt", notebook("evil")), GOOD])
    (tmp_path / "class.zip").write_bytes(data.replace(b"ipynbXevil", b"ipynb\0evil"))
    report = collect([tmp_path / "class.zip"], room)
    assert refusals(report) == ["Its name holds control characters."]


def test_backslashes_are_taken_as_slashes(room, tmp_path):
    members = [(member("x", raw="ada\\qkv-attention.ipynb"), notebook("ada"))]
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    assert list(filed(room)) == ["ada/qkv-attention"]
    assert only(report).reason == "Its name has backslashes; they were taken as slashes."


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        (stat.S_IFLNK | 0o777, "It is a link; links are not followed."),
        (stat.S_IFIFO | 0o644, "It is not an ordinary file but a pipe, a socket or a device."),
        (stat.S_IFCHR | 0o644, "It is not an ordinary file but a pipe, a socket or a device."),
    ],
)
def test_links_and_special_files_in_zips(room, tmp_path, mode, why):
    members = [(member("ada/qkv-attention.ipynb", mode=mode), b"/etc/passwd"), GOOD]
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    assert refusals(report) == [why] and list(filed(room)) == ["zed/qkv-attention"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_members(room, tmp_path):
    members = [("ada/qkv-attention.ipynb", notebook("first")), ("ada/qkv-attention.ipynb", notebook("last"))]
    for _ in range(2):
        report = collect([make_zip(tmp_path / "class.zip", members)], room)
        assert filed(room) == {"ada/qkv-attention": ("last", None)}
        assert sorted(row.outcome for row in report.rows)[0] in ("filed", "older")
        assert all("more than once; the last one counts" in row.reason for row in report.rows)
    assert [path.read_bytes() for path in earlier(room)] == [notebook("first")]


def test_names_that_differ_only_in_case(room, tmp_path):
    members = [
        (member("Ada/qkv-attention.ipynb", OLDER), notebook("old")),
        (member("ada/QKV-attention.ipynb", NEWER), notebook("new")),
    ]
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    assert filed(room) == {"Ada/qkv-attention": ("new", None)}
    assert all("The zip holds names that differ only in case." in row.reason for row in report.rows)
    assert "'ada' is taken as 'Ada': only the case differs." in report.rows[1].reason
    assert [path.read_bytes() for path in earlier(room)] == [notebook("old")]


def test_a_bomb_of_one_member(room, tmp_path):
    members = [("ada/qkv-attention.ipynb", bytes(60_000_000)), GOOD]
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    (why,) = refusals(report)
    assert why.startswith("It would unpack to ") and why.endswith(" times its size, as a zip bomb does.")
    assert list(filed(room)) == ["zed/qkv-attention"]


def test_a_bomb_of_many_members(room, tmp_path):
    data = bytes(30_000_000)
    report = collect([make_zip(tmp_path / "class.zip", {f"{i}/x.ipynb": data for i in range(5)})], room)
    assert only(report).reason.startswith("The zip would unpack to ")
    assert not room.root.exists()


def test_a_bomb_of_overlapping_members(room, tmp_path):
    data = zip_bytes({f"student{i:02}/qkv-attention.ipynb": os.urandom(50_000) for i in range(20)})
    directory = data.index(b"PK\1\2")
    entries, at = bytearray(data[directory:]), 0
    while (at := entries.find(b"PK\1\2", at)) >= 0:
        entries[at + 42 : at + 46] = struct.pack("<L", 0)  # all point at the first
        at += 4
    end = entries.index(b"PK\5\6")
    entries[end + 16 : end + 20] = struct.pack("<L", 60_000)
    (tmp_path / "class.zip").write_bytes(data[:60_000] + bytes(entries))
    report = collect([tmp_path / "class.zip"], room)
    assert refusals(report) == ["The zip's members overlap, as in a zip bomb, or its sizes are wrong."]


def test_too_many_members(room, tmp_path):
    members = {f"s{i}/qkv-attention.ipynb": b"" for i in range(unpack.MAX_MEMBERS + 1)}
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    assert only(report).reason == (
        "The zip has 10,001 members; 10,000 are the most. Unpack it and collect the folder."
    )


def test_a_table_of_contents_that_would_fill_the_memory(room, tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "MAX_CONTENTS", 1000)
    members = {f"s{i}/qkv-attention.ipynb": b"" for i in range(100)}
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    assert "table of contents alone" in only(report).reason


def test_too_many_files_in_a_folder(room, inbox, monkeypatch):
    monkeypatch.setattr(unpack, "MAX_ENTRIES", 5)
    report = collect([put(inbox, {f"{i}.txt": b"" for i in range(10)})], room)
    assert refusals(report) == ["There are more than 5 files in here; the rest was not looked at."]


def test_too_much_in_all(room, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_UNPACKED", 2_000)
    members = {f"s{i}/qkv-attention.ipynb": notebook(os.urandom(300).hex()) for i in range(5)}
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    assert len(filed(room)) == 2 and len(refusals(report)) == 3
    assert "came out of this folder or zip" in refusals(report)[0]


FIELDS = {
    "flags": (6, "<H"),
    "method": (8, "<H"),
    "crc": (14, "<L"),
    "packed": (18, "<L"),
    "size": (22, "<L"),
}


def patched(data, **fields):
    """A zip of one member with its sizes, flags or method changed in both of its headers."""
    data = bytearray(data)
    for signature, shift in ((b"PK\3\4", 0), (b"PK\1\2", 2)):
        at = data.index(signature) + shift
        for name, value in fields.items():
            offset, form = FIELDS[name]
            struct.pack_into(form, data, at + offset, value)
    return bytes(data)


ONE = zip_bytes({"ada/qkv-attention.ipynb": notebook("something to compress " * 20)})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (patched(ONE, flags=1), "It is encrypted. Unpack the zip with its password and collect the folder."),
        (
            patched(ONE, method=14),
            "It is compressed in an unusual way. Unpack the zip and collect the folder.",
        ),
        (patched(ONE, size=2_000), "It is damaged: it has 571 bytes where the zip says 2,000."),
        (patched(ONE, size=100), "It is damaged: it cannot be unpacked (Bad CRC-32"),
        (patched(ONE, crc=1), "It is damaged: it cannot be unpacked (Bad CRC-32"),
        (patched(ONE, size=500_000_000), "The zip would unpack to "),
        (
            patched(ONE, packed=100_000),
            "The zip's members overlap, as in a zip bomb, or its sizes are wrong.",
        ),
        (ONE.replace(b"\x78", b"\x77"), ""),
        (ONE[:-30], "It is not a whole, valid zip (File is not a zip file)."),
        (ONE[100:], ""),
        (b"this is no zip", "It is not a whole, valid zip (File is not a zip file)."),
        (b"", "It is not a whole, valid zip (File is not a zip file)."),
        (zip_bytes({}), "There is nothing in it."),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_damaged_and_lying_zips(room, inbox, data, why, nested):
    path = inbox / "class.zip"
    if nested:
        make_zip(
            path,
            {"lovelaceada_12345_678_hand-in.zip": data, "hoppergrace_1_2_qkv-attention.ipynb": notebook()},
        )
    else:
        path.write_bytes(data)
    report = collect([path], room)
    bad = [row for row in report.rows if row.outcome in (Outcome.REFUSED, Outcome.UNMATCHED)]
    if why:
        (row,) = bad
        if not (nested and why == "There is nothing in it."):
            assert row.reason.startswith(why)
        assert report.exit_code == 1
    assert len(filed(room)) == nested or not why


@pytest.mark.parametrize("flipped", range(0, len(ONE), 7))
def test_any_flipped_byte_is_survived(room, tmp_path, flipped):
    data = bytearray(ONE)
    data[flipped] ^= 0xFF
    (tmp_path / "class.zip").write_bytes(data)
    assert collect([tmp_path / "class.zip"], room).rows


def test_sizes_that_lie_do_not_fool_the_limit(room, tmp_path):
    """A member that says 100 bytes and holds 60 MB: no more than it says is unpacked."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packer.compress(bytes(60_000_000)) + packer.flush()
    bomb = zip_bytes({"ada/qkv-attention.ipynb": bytes(60_000_000)})
    assert len(bomb) < len(data) + 200
    (tmp_path / "class.zip").write_bytes(patched(bomb, size=100))
    assert refusals(collect([tmp_path / "class.zip"], room))[0].startswith("It is damaged")


def test_notebooks_up_to_a_bound(room, inbox, monkeypatch):
    monkeypatch.setattr(module, "MAX_FILE", 10_000)
    put(inbox, {"ada/qkv-attention.ipynb": bytes(10_000), "bob/qkv-attention.ipynb": bytes(10_001)})
    report = collect([inbox], room)
    assert [row.outcome for row in report.rows] == [Outcome.FILED, Outcome.REFUSED]
    assert report.rows[1].reason == "It has 0 MB; 0 MB are the most."
    assert unpack.MAX_FILE == 4 * unpack.MAX_BYTES


def test_a_notebook_too_large_to_mark_is_a_hand_in_all_the_same(room, inbox):
    (inbox / "ada").mkdir()
    with open(inbox / "ada" / "qkv-attention.ipynb", "wb") as file:
        file.truncate(unpack.MAX_BYTES + 1)
    assert only(collect([inbox], room)).outcome is Outcome.FILED
    assert "at most 20 MB can be marked" in room.submission("ada", QKV).why


@pytest.mark.parametrize(
    ("raw", "student"),
    [
        ("Jos\u00e9".encode(), "Jos\u00e9"),  # UTF-8 that is not marked so, from a Mac
        ("Jose\u0301".encode(), "Jos\u00e9"),  # and decomposed, as its file system writes it
        ("Jos\u00e9".encode("cp437"), "Jos\u00e9"),  # an old Windows
    ],
)
def test_names_that_are_not_marked_as_utf8(room, tmp_path, raw, student):
    placeholder = b"N" * len(raw)
    data = zip_bytes({f"{placeholder.decode()}/qkv-attention.ipynb": notebook()})
    (tmp_path / "class.zip").write_bytes(data.replace(placeholder, raw))
    collect([tmp_path / "class.zip"], room)
    assert list(filed(room)) == [f"{student}/qkv-attention"]


def test_names_that_say_utf8_and_are_not(room, tmp_path):
    data = zip_bytes({"N\u00e9/qkv-attention.ipynb": notebook()})
    (tmp_path / "class.zip").write_bytes(data.replace("N\u00e9".encode(), b"N\xff\xfe"))
    assert refusals(collect([tmp_path / "class.zip"], room))[0].startswith("It is not a whole, valid zip")


def test_junk_of_systems_is_counted_not_listed(room, given_as):
    files = {
        "ada/qkv-attention.ipynb": notebook(),
        "__MACOSX/ada/._qkv-attention.ipynb": b"\0\5\x16\7",
        "ada/.DS_Store": b"",
        "ada/Thumbs.db": b"",
        "ada/.ipynb_checkpoints/qkv-attention-checkpoint.ipynb": notebook("old"),
    }
    report = collect([given_as(files)], room)
    assert only(report).outcome is Outcome.FILED
    assert report.junk == 4 and "4 of the system's own passed over" in report.summary


def test_what_is_no_notebook_is_listed_or_counted(room, given_as):
    files = {
        "ada/qkv-attention.ipynb": notebook(),
        "ada/data.csv": b"1",
        "bob/report.pdf": b"%PDF",
        "bob/qkv.rar": b"Rar!",
        "loose.txt": b"hello",
        "qkv-attention.ipynb": notebook("whose?"),
    }
    report = collect([given_as(files)], room)
    said = {row.outcome: (row.student, row.reason) for row in report.rows if row.outcome != Outcome.UNMATCHED}
    assert said[Outcome.IGNORED] == ("", "Neither notebooks nor anyone's: loose.txt.")
    assert [(row.student, row.reason) for row in report.rows if row.outcome is Outcome.UNMATCHED] == [
        ("", "Neither its name nor a folder says whose it is."),
        ("bob", "No notebook was handed in, only qkv.rar, report.pdf."),
    ]
    assert report.others == 1


# Odd folders


def test_links_and_special_files_in_folders(room, inbox, tmp_path):
    secret = put(tmp_path / "secret", {"eve/qkv-attention.ipynb": notebook("secret")})
    put(inbox, {"zed/qkv-attention.ipynb": notebook("good")})
    (inbox / "ada").mkdir()
    (inbox / "ada" / "qkv-attention.ipynb").symlink_to(secret / "eve" / "qkv-attention.ipynb")
    (inbox / "eve").symlink_to(secret / "eve")
    (inbox / "loop").symlink_to(inbox)
    os.mkfifo(inbox / "zed" / "attention-masks.ipynb")
    report = collect([inbox], room)
    assert sorted(refusals(report)) == [
        "It is a link; links are not followed.",
        "It is a link; links are not followed.",
        "It is a link; links are not followed.",
        "It is not an ordinary file but a pipe, a socket or a device.",
    ]
    assert list(filed(room)) == ["zed/qkv-attention"]


def test_what_becomes_a_link_while_it_is_read(inbox):
    path = inbox / "qkv-attention.ipynb"
    path.symlink_to("/etc/passwd")
    with pytest.raises(unpack.Refused, match="It cannot be read"):
        unpack.open_ordinary(path)
    os.mkfifo(inbox / "pipe")
    with pytest.raises(unpack.Refused, match="not an ordinary file"):
        unpack.open_ordinary(inbox / "pipe")


def test_unreadable_files_and_folders(room, inbox, monkeypatch):
    put(inbox, {"ada/qkv-attention.ipynb": notebook(), "bob/qkv-attention.ipynb": notebook()})
    real_open, real_scan = os.open, os.scandir

    def deny(real, name):
        def call(path, *args, **kwargs):
            if name in str(path):
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *args, **kwargs)

        return call

    monkeypatch.setattr(unpack.os, "open", deny(real_open, "inbox/ada/qkv"))  # root may read everything
    monkeypatch.setattr(unpack.os, "scandir", deny(real_scan, "inbox/bob"))
    report = collect([inbox], room)
    assert sorted(refusals(report)) == [
        "It cannot be read (Permission denied).",
        "The folder cannot be read (Permission denied).",
    ]


def test_a_folder_name_that_is_not_utf8(room, inbox):
    folder = os.fsencode(inbox) + b"/Jos\xe9"
    os.mkdir(folder)
    Path(os.fsdecode(folder + b"/qkv-attention.ipynb")).write_bytes(notebook())
    report = collect([inbox], room)
    row = only(report)
    assert row.outcome is Outcome.FILED and row.reason == "Its name is not UTF-8."
    assert row.student.startswith("Jos-") and row.source == "inbox/Jos\\udce9/qkv-attention.ipynb"
    row.source.encode()


def test_the_classroom_within_the_folder_is_not_collected_from_itself(tmp_path):
    room = Classroom(tmp_path / "classroom")
    put(tmp_path, {"ada/qkv-attention.ipynb": notebook()})
    collect([tmp_path], room)
    before = snapshot(room.root)
    assert only(collect([tmp_path], room)).outcome is Outcome.UNCHANGED
    assert snapshot(room.root) == before
    with pytest.raises(CollectError, match="is the classroom's own"):
        collect([room.submitted / "ada"], room)


@pytest.mark.parametrize("part", ["submitted", "submitted/ada", "submitted/ada/qkv-attention"])
def test_links_in_the_classroom_lead_nowhere(room, inbox, tmp_path, part):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = room.root / part
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    report = collect([put(inbox, {"ada/qkv-attention.ipynb": notebook()})], room)
    assert refusals(report) == [f"{part} is a link or a file where a folder should be."]
    assert list(outside.iterdir()) == []


def test_something_else_in_the_place_of_the_notebook(room, inbox, tmp_path):
    outside = tmp_path / "outside.ipynb"
    outside.write_bytes(b"mine")
    place = room.submitted / "ada" / QKV / "qkv-attention.ipynb"
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    report = collect([put(inbox, {"ada/qkv-attention.ipynb": notebook()})], room)
    assert "qkv-attention.ipynb is in the way" in only(report).reason
    assert outside.read_bytes() == b"mine"


def test_wrong_records_are_as_none(room, inbox):
    collect([put(inbox, attempts(3))], room)
    record = room.root / "collected" / "ada" / f"{QKV}.json"
    for wrong in (b"", b"[]", b"{}", b"\xff", b'{"student": 1}'):
        record.write_bytes(wrong)
        assert only(collect([inbox], room)).outcome is Outcome.UNCHANGED


def test_nothing_is_half_written(room, inbox, monkeypatch):
    collect([put(inbox, attempts(3))], room)
    before = snapshot(room.root)

    def full(self, target):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(CollectError, match="No space left on device"):
        collect([put(inbox, attempts(9))], room)
    now = snapshot(room.root / "submitted")
    assert {k: v[1] for k, v in now.items() if k.endswith(".ipynb")} == {
        "ada/qkv-attention/qkv-attention.ipynb": before["submitted/ada/qkv-attention/qkv-attention.ipynb"][1]
    }
    monkeypatch.undo()
    collect([inbox], room)
    assert filed(room)["ada/qkv-attention"][0] == "at 9"
    assert not list(room.root.rglob("*.part"))


# The command


def test_bad_usage(room, inbox, tmp_path):
    with pytest.raises(CollectError, match=r"There is no .*nothing\.zip\."):
        collect([tmp_path / "nothing.zip"], room)
    with pytest.raises(CollectError, match="Nothing to collect"):
        collect([], room)
    for zone in ("Mars/Olympus", "../../etc/passwd", "/etc/localtime", ""):
        with pytest.raises(CollectError, match="There is no time zone"):
            collect([inbox], room, timezone=zone)
    assert not room.root.exists()
    room.root.write_text("a file")
    with pytest.raises(CollectError, match="is not a folder"):
        collect([inbox], room)


def test_the_report_prints(room, tmp_path):
    from rich.console import Console

    members = [
        ("../x.ipynb", b""),
        ("[bold]ada[/]/qkv-attention.ipynb", notebook()),
        ("bob/\u202ex.pdf", b""),
    ]
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    console = Console(file=io.StringIO(), width=160)
    console.print(report.table())
    shown = console.file.getvalue()
    assert "[bold]ada[/]" in shown and "\u202e" not in shown and "\\u202e" in shown
    assert report.summary.startswith("1 filed, 1 refused, 1 unmatched.")
    assert report.exit_code == 1


# Anything at all


PIECES = st.sampled_from(
    ["..", ".", "", "ada", "Ada", "qkv-attention.ipynb", "QKV-attention (1).ipynb", "submitted", "con", "C:"]
    + ["ada_12_34_qkv-attention.ipynb", "Ada_12_assignsubmission_file_", "x_ada_attempt_2026-11-20-14-03-22"]
    + ["_99_qkv-attention.ipynb", ".git", "__MACOSX", "a.zip", "\x00", "\n", "é", "\u202e", "x-submissions"]
    + ["x-ada", "timestamp.txt", "qkv-attention", "*", "$HOME", "~", "%2e%2e"]
)
NAMES = st.one_of(
    st.lists(PIECES, min_size=1, max_size=5).flatmap(
        lambda pieces: st.sampled_from(["/", "\\", "_", ""]).map(lambda joint: joint.join(pieces))
    ),
    st.text(max_size=40).map(lambda text: f"{text}.ipynb"),
    st.text(min_size=1, max_size=40).map(lambda text: f"{text}/qkv-attention.ipynb"),
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(NAMES, min_size=1, max_size=6), nest=st.booleans(), mode=st.integers(0, 0xFFFF))
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_any_names_stay_inside(tmp_path, names, nest, mode):
    base = tmp_path / f"{time.perf_counter_ns()}"
    base.mkdir()
    room = Classroom(base / "classroom")
    members = []
    for i, name in enumerate(names):
        raw = name.encode("utf-8", "replace").decode() or "x"
        members.append((member("x", mode=mode if i == 0 else None, raw=raw), notebook(str(i))))
    data = zip_bytes(members)
    if nest:
        data = zip_bytes({"lovelaceada_1_2_x.zip": data, "ada/y.zip": data, "z.zip": data})
    (base / "class.zip").write_bytes(data)
    first = collect([base / "class.zip"], room)
    assert first.rows or first.junk
    assert sorted(p.name for p in base.iterdir()) in (["class.zip"], ["class.zip", "classroom"])
    for path in room.root.rglob("*"):
        assert not path.is_symlink()
        parts = path.relative_to(room.root).parts
        assert parts[0] in ("submitted", "submitted-earlier", "collected")
        assert len(parts) <= 4 and all(part.isprintable() for part in parts)
    for path in room.submitted.rglob("*.ipynb"):
        assert path.stem == path.parent.name in handin_names.LABS
    before = snapshot(room.root) if room.root.exists() else {}
    second = collect([base / "class.zip"], room)
    assert (snapshot(room.root) if room.root.exists() else {}) == before
    assert Outcome.FILED not in {row.outcome for row in second.rows}
    assert len(second.rows) == len(first.rows)


@settings(max_examples=300, deadline=None)
@given(name=st.text(max_size=200))
def test_any_name_becomes_a_safe_folder(name):
    safe = safe_student(name)
    assert safe and safe.isprintable() and len(safe.encode()) <= 100
    assert safe not in (".", "..") and not set(safe) & set('/\\:*?"<>|\0') and safe[0] != "."
    assert safe_student(safe) == safe
    by_platform(name)
    by_name(name)
