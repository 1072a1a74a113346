"""Who handed in what: folders, zips and the doubts that are refused."""

import os
import time
from pathlib import Path

import pytest
from downloads import (
    collect,
    filed,
    make_zip,
    notebook,
    of,
    only,
    put,
    refusals,
    texts,
    zip_bytes,
)

from autograder.grading.intake import unpack


@pytest.mark.parametrize(
    "name",
    [
        "ada/qkv-attention.ipynb",
        "ada/qkv-attention/qkv-attention.ipynb",
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
    collect([given_as({f"Lab 2/{s}/qkv-attention.ipynb": notebook(s) for s in ("ada", "grace")})], room)
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
    assert stamp == "2026-11-20 14:03:22 UTC"
    assert [row.reason for row in report.rows if row.outcome == "unmatched"] == [
        "It lies beside nbgrader's hand-ins, and is none. Collect it by itself, or use --pattern."
    ]


def test_a_timestamp_that_is_none(room, given_as):
    above = "submitted/ada/qkv-attention"
    files = {f"{above}/qkv-attention.ipynb": notebook(), f"{above}/timestamp.txt": b"tomorrow, perhaps"}
    report = collect([given_as(files)], room)
    assert only(report).reason == "The timestamp.txt beside it cannot be read."
    assert report.untimed == 1 and "1 hand-in without a time stamp" in report.summary


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


def test_a_lab_is_known_by_its_cells(room, inbox):
    files = {
        "ada/Untitled.ipynb": notebook("ada", "softmax"),
        "bob/Untitled.ipynb": notebook('{"grade_id": "softmax"}'),  # only speaks of it
        "eve/qkv-attention/Untitled.ipynb": b"broken",
    }
    report = collect([put(inbox, files)], room)
    assert {row.student: row.outcome for row in report.rows} == {
        "ada": "filed",
        "bob": "unmatched",
        "eve": "filed",
    }
    (why,) = [row.reason for row in report.rows if row.student == "bob"]
    assert why.startswith("Neither its name nor its cells say which lab it is for.")


def test_other_labs_are_listed(room, inbox):
    files = {"submitted/ada/hw1/attention-masks.ipynb": notebook()}
    report = collect([put(inbox, files)], room)
    assert only(report).reason == "It is for hw1, which is not collected here."
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("lovelaceada_12345_678_bob-99_100_qkv-attention.ipynb", "lovelaceada-12345"),
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
    (row,) = [row for row in report.rows if row.outcome == "unmatched"]
    assert row.reason.startswith("'ada' seems to hold several people's hand-ins.")


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


def test_a_students_own_time_stamp_dates_nothing(room, inbox):
    """In a plain folder, or in a zip, timestamp.txt is the student's word; in nbgrader's folders it is nbgrader's."""
    inner = zip_bytes(
        {"bob/qkv-attention.ipynb": notebook("ada"), "timestamp.txt": b"2026-11-20 14:05:00 UTC"}
    )
    put(inbox, {"ada/hand-in.zip": inner, "bob/qkv-attention.ipynb": notebook("bob")})
    put(inbox, {"bob/timestamp.txt": b"2026-11-20 14:05:00 UTC"})
    report = collect([inbox], room)
    assert filed(room) == {"ada/qkv-attention": ("ada", None), "bob/qkv-attention": ("bob", None)}
    (row,) = [row for row in report.rows if row.student == "bob"]
    assert row.reason == "Its timestamp.txt was not used: in a plain folder it is the student's own word."


def test_nobody_hands_in_for_another_by_naming_a_repository(room, given_as):
    files = {f"ada/x-submissions/x-{s}/.git/HEAD": b"" for s in ("bob", "eve")}
    files |= {f"ada/x-submissions/x-{s}/qkv-attention.ipynb": notebook() for s in ("bob", "eve")}
    files["bob/qkv-attention.ipynb"] = notebook("bob")
    collect([given_as(files)], room)
    assert sorted(filed(room)) == ["bob/qkv-attention"]


def test_a_zip_a_student(room, tmp_path):
    inner = zip_bytes({"work/qkv-attention/qkv-attention.ipynb": notebook("ada"), "work/data.csv": b"1,2"})
    files = {
        "lovelaceada_12345_678_hand-in.zip": inner,
        "hoppergrace_12346_679_empty.zip": zip_bytes({"report.pdf": b"%PDF"}),
    }
    report = collect([make_zip(tmp_path / "canvas.zip", files)], room)
    assert list(filed(room)) == ["lovelaceada-12345/qkv-attention"]
    (row,) = [row for row in report.rows if row.outcome == "unmatched"]
    assert (row.student, row.reason) == ("hoppergrace-12346", "No notebook is in this zip, only report.pdf.")


def test_many_zips_in_a_folder_below(room, inbox):
    for student in ("ada", "grace"):
        (inbox / "week").mkdir(exist_ok=True)
        make_zip(inbox / "week" / f"{student}.zip", {"qkv-attention.ipynb": notebook(student)})
    collect([inbox], room)
    assert sorted(filed(room)) == ["ada/qkv-attention", "grace/qkv-attention"]


def test_zips_are_opened_one_level_deep(room, tmp_path):
    deepest = zip_bytes({"qkv-attention.ipynb": notebook()})
    deeper = zip_bytes({"b.zip": deepest, "qkv-attention.ipynb": notebook("seen")})
    report = collect(
        [make_zip(tmp_path / "class.zip", {"ada/a.zip": deeper, "bob/attention-masks.ipynb": notebook()})],
        room,
    )
    assert filed(room)["ada/qkv-attention"][0] == "seen"
    (row,) = [row for row in report.rows if row.outcome == "refused"]
    assert row.reason == "It is a zip in a zip in a zip; that deep none is opened. Unpack the outer one."
    assert row.source == "class.zip/ada/a.zip/b.zip"


def test_a_zip_within_a_students_zip_came_when_that_came(room, inbox):
    """The inner zip's time is the student's clock's, and was taken for the time of the hand-in."""
    inner = zip_bytes({"qkv-attention.ipynb": notebook()})
    put(inbox, {"ada/qkv-attention.zip": zip_bytes({"work.zip": inner})}, when=1_763_647_402)
    collect([inbox], room, file_times=True)
    assert filed(room)["ada/qkv-attention"][1] == "2025-11-20 14:03:22 UTC"


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
    said = {row.outcome: (row.student, row.reason) for row in report.rows if row.outcome != "unmatched"}
    assert said["ignored"] == ("", "Neither notebooks nor anyone's: loose.txt.")
    assert {row.student: row.reason for row in of(report, "unmatched")} == {
        "": "Neither its name nor a folder says whose it is. Put it into a folder called after the student, "
        "or say with --pattern where the student's name stands.",
        "bob": "No notebook was handed in, only qkv.rar, report.pdf.",
    }
    assert report.others == 1


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
    assert row.outcome == "filed" and row.reason == "Its name is not UTF-8."
    assert row.student.startswith("Jos-") and row.source == "inbox/Jos\\udce9/qkv-attention.ipynb"
    row.source.encode()


# Two people are never one


@pytest.mark.parametrize("above", ["handins", "Lab 2", "week-3/handins", "qkv-attention"])
def test_a_folder_of_named_files(room, given_as, above):
    files = {
        f"{above}/jane_doe.ipynb": notebook("jane", "softmax"),
        f"{above}/bo_li.ipynb": notebook("bo", "softmax"),
    }
    report = collect([given_as(files)], room)
    assert texts(room) == {"jane_doe/qkv-attention": "jane", "bo_li/qkv-attention": "bo"}
    assert report.exit_code == 0


def test_one_named_file_could_be_a_student_or_lie_in_a_students_folder(room, given_as):
    report = collect([given_as({"klasse/jane_doe.ipynb": notebook("jane", "softmax")})], room)
    assert filed(room) == {} and only(report).reason == (
        "It cannot be told whether 'klasse' or 'jane_doe' is the student's name. Collect "
        "'klasse' by itself if it holds the class, say with --pattern where the name stands, or put a roster that "
        "tells them apart into the classroom as roster.csv."
    )


@pytest.mark.parametrize(
    "files",
    [
        [
            "week 1/ada/qkv-attention.ipynb",
            "week 1/bo/qkv-attention.ipynb",
            "week 2/ada/attention-masks.ipynb",
        ],
        ["a/ada/qkv-attention.ipynb", "a/bo/qkv-attention.ipynb", "b/cy/qkv-attention.ipynb"],
        ["a/ada/qkv-attention.ipynb", "b/bo/qkv-attention.ipynb"],
        ["ada/old try/qkv-attention.ipynb", "ada/newer/qkv-attention.ipynb", "bo/qkv-attention.ipynb"],
        ["lab-9/ada/qkv-attention.ipynb"],
        ["class.zip", "other/ada/qkv-attention.ipynb"],
        ["one/two/three/qkv-attention.ipynb"],
    ],
    ids=" ".join,
)
def test_folders_that_may_hold_several_people_are_no_ones(room, given_as, files):
    """Whatever is filed, it is never a folder around students that is taken for one."""
    several = zip_bytes({f"class/{s}.zip": zip_bytes({"qkv-attention.ipynb": notebook()}) for s in "xy"})
    report = collect([given_as({f: several if f.endswith(".zip") else notebook(f) for f in files})], room)
    students = {key.split("/")[0] for key in filed(room)}
    assert students <= {"ada", "bo", "cy"}
    assert len(students) == len({s for key, text in texts(room).items() for s in [text.split("/")[-2]]})
    assert report.exit_code == 1 or len(filed(room)) == len(files)


@pytest.mark.parametrize("above", ["attention-masks", "x-submissions", "assignment_1_export"])
def test_a_folder_called_as_a_classs_beside_a_students_is_nobodys(room, given_as, above):
    files = {"ada/qkv-attention.ipynb": notebook("ada"), f"{above}/qkv-attention.ipynb": notebook("whose?")}
    report = collect([given_as(files)], room)
    assert texts(room) == {"ada/qkv-attention": "ada"}
    assert of(report, "unmatched")[0].reason.startswith(f"{above!r} seems to hold several people's hand-ins.")


def test_zips_in_a_folder_are_each_one_students(room, inbox):
    make_zip(inbox / "ada.zip", {"work/qkv-attention.ipynb": notebook("ada")})
    make_zip(inbox / "grace.zip", {"qkv-attention.ipynb": notebook("grace")})
    make_zip(inbox / "moodle-export.zip", {"Bo Li_1_assignsubmission_file_/qkv-attention.ipynb": notebook()})
    make_zip(inbox / "all.zip", {f"{s}/qkv-attention.ipynb": notebook() for s in ("kim", "lou")})
    inner = {f"class/{s}.zip": zip_bytes({"qkv-attention.ipynb": notebook()}) for s in ("x", "y")}
    make_zip(inbox / "class.zip", inner)
    report = collect([inbox], room)
    assert sorted(filed(room)) == ["ada/qkv-attention", "grace/qkv-attention"]
    assert (
        refusals(report)
        == ["It seems to hold hand-ins of several people. If it is a class's download, collect it by itself."]
        * 2
    )
    assert of(report, "unmatched")[0].source == "inbox/class.zip"
    report = collect([inbox / "all.zip", inbox / "class.zip", inbox / "moodle-export.zip"], room)
    assert report.exit_code == 0 and len(filed(room)) == 7


@pytest.mark.parametrize("names", [("Ada", "ada"), ("ZOË", "Zoë"), ("Strasse", "straße")])
def test_names_that_differ_only_in_case_are_refused(room, tmp_path, names):
    files = {f"{name}/qkv-attention.ipynb": notebook(name) for name in names}
    report = collect([make_zip(tmp_path / "both.zip", files)], room)
    assert filed(room) == {} and len(of(report, "unmatched")) == 2
    room_files = {f"{names[0]}/qkv-attention.ipynb": notebook("1")}
    collect([put(tmp_path / "first", room_files)], room)
    report = collect([put(tmp_path / "second", {f"{names[1]}/qkv-attention.ipynb": notebook("2")})], room)
    assert list(texts(room).values()) == ["1"]
    assert only(report).reason.endswith(
        "put a roster that tells them apart into the classroom as roster.csv."
    )


def test_one_name_written_in_two_normal_forms_is_one_person(room, tmp_path):
    collect([put(tmp_path / "1", {"Zoe\u0308/qkv-attention.ipynb": notebook("1")}, when=1_000_000_000)], room)
    collect([put(tmp_path / "2", {"Zo\u00eb/qkv-attention.ipynb": notebook("2")}, when=1_100_000_000)], room)
    assert texts(room) == {"Zo\u00eb/qkv-attention": "2"}


@pytest.mark.parametrize(
    "salt", ["salt", "collected", "submitted", "roster.csv", "con", ".hidden", "a" * 200]
)
def test_students_of_any_name_are_filed(room, inbox, salt):
    files = {
        f"{n}_{i}_assignsubmission_file_/qkv-attention.ipynb": notebook() for i, n in enumerate((salt, "bo"))
    }
    assert collect([put(inbox, files)], room).exit_code == 0
    assert len(filed(room)) == 2


def test_a_hand_in_that_cannot_be_read_costs_only_itself(room, inbox, monkeypatch):
    def broken(data, grade_ids):
        raise MemoryError("too much")

    monkeypatch.setattr("autograder.grading.intake.find.lab_of_cells", broken)
    files = {"ada/Untitled.ipynb": notebook("x", "softmax"), "bo/qkv-attention.ipynb": notebook("b")}
    report = collect([put(inbox, files)], room)
    assert refusals(report) == ["It could not be read: too much."]
    assert list(filed(room)) == ["bo/qkv-attention"]


def test_folders_in_folders_are_not_gone_into_for_ever(room, tmp_path):
    """A download made to be looked through level by level costs seconds, not minutes."""
    deep = "/".join(["week 1 - 2026"] * 28)
    files = {f"{deep}/{i}-1 - x - 2026 - y{i}.ipynb": b"" for i in range(1000)}
    began = time.monotonic()
    done = collect([make_zip(tmp_path / "deep.zip", files)], room)
    assert time.monotonic() - began < 20
    assert filed(room) == {} and {row.reason for row in done.rows} == {
        "It lies more than 5 folders deep; collect the folder that holds the students'."
    }
