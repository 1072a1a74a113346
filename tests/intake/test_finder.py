"""Finding submissions in folders and zips, and refusing uncertain ones."""

import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from downloads import (
    collect,
    files_with_outcome,
    make_zip,
    notebook,
    only_file,
    read_submitted,
    refusal_reasons,
    submitted_texts,
    write_files,
    zip_bytes,
)

from autograder.intake import archives, finder
from autograder.intake.finder import MAX_CALENDAR_SECONDS, MAX_TIMESTAMP_BYTES
from autograder.intake.ownership import MAX_FOLDER_LEVELS, SubmissionAccount
from autograder.intake.student_matching import UnmatchedFile
from autograder.intake.upload_limits import FileRefused, PerStudentReadingBudget


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
def test_plain_folders(classroom, make_download, name):
    report = collect([make_download({name: notebook("ada")})], classroom)
    assert read_submitted(classroom) == {"ada/qkv-attention": ("ada", None)}
    assert report.exit_code == 0


@pytest.mark.parametrize("name", ["spring", "spring (1)", "Spring(12)"])
def test_a_folder_called_as_its_download_holds_the_class(classroom, make_download, name):
    """A browser gives a number to the second download of one name."""
    files = {f"spring/{s}/qkv-attention.ipynb": notebook(s) for s in ("ada", "bo")}
    collect([make_download(files, name)], classroom)
    assert sorted(read_submitted(classroom)) == ["ada/qkv-attention", "bo/qkv-attention"]


def test_of_two_folders_called_after_labs_the_inner_one_tells_the_lab(classroom, make_download):
    files = {"ada/attention-masks/qkv-attention/work.ipynb": notebook("ada")}
    files["bo/qkv-attention/qkv-attention.ipynb"] = notebook("bo")
    collect([make_download(files)], classroom)
    assert sorted(read_submitted(classroom)) == ["ada/qkv-attention", "bo/qkv-attention"]


def test_a_folder_around_the_class(classroom, make_download):
    collect(
        [make_download({f"Lab 2/{s}/qkv-attention.ipynb": notebook(s) for s in ("ada", "grace")})],
        classroom,
    )
    assert sorted(read_submitted(classroom)) == ["ada/qkv-attention", "grace/qkv-attention"]


def test_nbgraders_own_layout_with_its_timestamps(classroom, make_download):
    files = {
        "submitted/ada/qkv-attention/qkv-attention.ipynb": notebook("ada"),
        "submitted/ada/qkv-attention/timestamp.txt": b"2026-11-20 15:03:22.123456 +0100".ljust(
            MAX_TIMESTAMP_BYTES
        ),
        "autograded/ada/qkv-attention/qkv-attention.ipynb": notebook("marked"),
    }
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom)["ada/qkv-attention"][0] == "ada"
    stamp = read_submitted(classroom)["ada/qkv-attention"][1]
    assert stamp == "2026-11-20 14:03:22 UTC"
    assert [row.reason for row in report.files if row.outcome == "unmatched"] == [
        "It lies beside names of nbgrader's form, and its name is not of that form. Collect it by itself, "
        "or use --pattern."
    ]


@pytest.mark.parametrize(
    "timestamp", [b"tomorrow, perhaps", b"2026-11-20 15:03:22".ljust(MAX_TIMESTAMP_BYTES + 1)]
)
def test_a_timestamp_that_cannot_be_read(classroom, make_download, timestamp):
    parent = "submitted/ada/qkv-attention"
    files = {
        f"{parent}/qkv-attention.ipynb": notebook(),
        f"{parent}/timestamp.txt": timestamp,
    }
    report = collect([make_download(files)], classroom)
    assert only_file(report).reason == "The timestamp.txt beside it cannot be read."
    assert report.untimed_count == 1 and "1 submission without a time stamp" in report.summary


def test_a_notebook_and_another_file_as_arguments(classroom, inbox):
    write_files(
        inbox,
        {"lovelaceada_12345_678_qkv-attention.ipynb": notebook("ada"), "notes.pdf": b"%PDF"},
    )
    report = collect(
        [inbox / "lovelaceada_12345_678_qkv-attention.ipynb", inbox / "notes.pdf"],
        classroom,
    )
    assert list(read_submitted(classroom)) == ["lovelaceada-12345/qkv-attention"]
    assert report.files[1].reason == "It is neither a folder nor a zip nor a notebook."


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
def test_many_spellings_of_a_lab_are_recognised(classroom, inbox, name):
    collect([write_files(inbox, {f"ada/{name}": notebook("ada")})], classroom)
    assert list(read_submitted(classroom)) == ["ada/qkv-attention"]


def test_a_lab_is_known_by_its_cells(classroom, inbox):
    files = {
        "ada/Untitled.ipynb": notebook("ada", "softmax"),
        "bob/Untitled.ipynb": notebook('{"grade_id": "softmax"}'),  # only mentions the cell
        "eve/qkv-attention/Untitled.ipynb": b"broken",
    }
    report = collect([write_files(inbox, files)], classroom)
    assert {row.student: row.outcome for row in report.files} == {
        "ada": "filed",
        "bob": "unmatched",
        "eve": "filed",
    }
    (reason,) = [row.reason for row in report.files if row.student == "bob"]
    assert reason.startswith("Neither its name nor its cells say which lab it is for.")


def test_other_labs_are_listed(classroom, inbox):
    files = {"submitted/ada/hw1/attention-masks.ipynb": notebook()}
    report = collect([write_files(inbox, files)], classroom)
    assert only_file(report).reason == "It is for hw1, which is not collected here."
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("lovelaceada_12345_678_bob-99_100_qkv-attention.ipynb", "lovelaceada-12345"),
        ("lab_ada1_attempt_2026-11-20-14-03-22_bob_99_100_qkv-attention.ipynb", "ada1"),
        (
            "Ada L_12_assignsubmission_file_/Bob M_13_assignsubmission_file_/qkv-attention.ipynb",
            "Ada L",
        ),
        ("Ada L_12_assignsubmission_file_/bob_99_100_qkv-attention.ipynb", "Ada L"),
    ],
)
def test_the_platforms_part_of_a_name_counts(classroom, make_download, name, student):
    collect([make_download({name: notebook()})], classroom)
    assert list(read_submitted(classroom)) == [f"{student}/qkv-attention"]


@pytest.mark.parametrize(
    "inside",
    ["Bob_99_assignsubmission_file_/qkv-attention.ipynb", "bob_99_100_qkv-attention.ipynb"],
)
def test_no_student_submits_for_another_in_their_own_folder(classroom, make_download, inside):
    files = {f"ada/{inside}": notebook("evil"), "bob/qkv-attention.ipynb": notebook("bob")}
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {"bob/qkv-attention": ("bob", None)}
    (row,) = [row for row in report.files if row.outcome == "unmatched"]
    assert row.reason.startswith("'ada' seems to hold several people's submissions.")


def test_no_student_submits_for_another_in_their_own_zip(classroom, inbox):
    evil = {
        "Bob_99_assignsubmission_file_/qkv-attention.ipynb": notebook("evil"),
        "bob/attention-masks.ipynb": notebook("evil"),
        "x-submissions/x-bob/additive-attention.ipynb": notebook("evil"),
        "timestamp.txt": b"2020-01-01 00:00:00 UTC",
    }
    make_zip(inbox / "lovelaceada_12345_678_submission.zip", evil)
    report = collect([inbox], classroom)
    assert {row.student for row in report.files} == {"lovelaceada-12345"}
    assert [stamp for _, stamp in read_submitted(classroom).values()] == [None] * 3


def test_a_students_own_time_stamp_dates_nothing(classroom, inbox):
    """timestamp.txt counts only in nbgrader's folders: elsewhere students may have written it."""
    inner = zip_bytes(
        {"bob/qkv-attention.ipynb": notebook("ada"), "timestamp.txt": b"2026-11-20 14:05:00 UTC"},
    )
    write_files(inbox, {"ada/submission.zip": inner, "bob/qkv-attention.ipynb": notebook("bob")})
    write_files(inbox, {"bob/timestamp.txt": b"2026-11-20 14:05:00 UTC"})
    report = collect([inbox], classroom)
    assert read_submitted(classroom) == {
        "ada/qkv-attention": ("ada", None),
        "bob/qkv-attention": ("bob", None),
    }
    (row,) = [row for row in report.files if row.student == "bob"]
    assert (
        row.reason
        == "Its timestamp.txt was not used: in a plain folder it is the student's own word."
    )


def test_no_student_submits_for_another_by_naming_a_repository(classroom, make_download):
    files = {f"ada/x-submissions/x-{s}/.git/HEAD": b"" for s in ("bob", "eve")}
    files |= {f"ada/x-submissions/x-{s}/qkv-attention.ipynb": notebook() for s in ("bob", "eve")}
    files["bob/qkv-attention.ipynb"] = notebook("bob")
    collect([make_download(files)], classroom)
    assert sorted(read_submitted(classroom)) == ["bob/qkv-attention"]


def test_a_zip_a_student(classroom, tmp_path):
    inner = zip_bytes(
        {"work/qkv-attention/qkv-attention.ipynb": notebook("ada"), "work/data.csv": b"1,2"},
    )
    files = {
        "lovelaceada_12345_678_submission.zip": inner,
        "hoppergrace_12346_679_empty.zip": zip_bytes({"report.pdf": b"%PDF"}),
    }
    report = collect([make_zip(tmp_path / "canvas.zip", files)], classroom)
    assert list(read_submitted(classroom)) == ["lovelaceada-12345/qkv-attention"]
    (row,) = [row for row in report.files if row.outcome == "unmatched"]
    assert (row.student, row.reason) == (
        "hoppergrace-12346",
        "No notebook is in this zip, only report.pdf.",
    )


def test_many_zips_in_a_folder_below(classroom, inbox):
    for student in ("ada", "grace"):
        (inbox / "week").mkdir(exist_ok=True)
        make_zip(inbox / "week" / f"{student}.zip", {"qkv-attention.ipynb": notebook(student)})
    collect([inbox], classroom)
    assert sorted(read_submitted(classroom)) == ["ada/qkv-attention", "grace/qkv-attention"]


@pytest.mark.parametrize("depth", [2, 3])
def test_zips_are_opened_one_level_deep(classroom, tmp_path, set_limits, depth):
    set_limits(max_zip_depth=depth)
    deepest = zip_bytes({"qkv-attention.ipynb": notebook()})
    deeper = zip_bytes({"b.zip": deepest, "qkv-attention.ipynb": notebook("seen")})
    report = collect(
        [
            make_zip(
                tmp_path / "class.zip",
                {"ada/a.zip": deeper, "bob/attention-masks.ipynb": notebook()},
            )
        ],
        classroom,
    )
    assert read_submitted(classroom)["ada/qkv-attention"][0] == "seen"
    refused = [row for row in report.files if row.outcome == "refused"]
    if depth == 3:
        assert refused == []
        return
    (row,) = refused
    assert row.reason == "It is a zip in a zip in a zip, and is not opened. Unpack the outer one."
    assert row.source == "class.zip/ada/a.zip/b.zip"


def test_a_zip_within_a_students_zip_came_when_that_came(classroom, inbox):
    """Regression: the inner zip's time, which the student sets, was taken as the submission's."""
    inner = zip_bytes({"qkv-attention.ipynb": notebook()})
    write_files(
        inbox,
        {"ada/qkv-attention.zip": zip_bytes({"work.zip": inner})},
        modified_at=1_763_647_402,
    )
    collect([inbox], classroom, file_times=True)
    assert read_submitted(classroom)["ada/qkv-attention"][1] == "2025-11-20 14:03:22 UTC"


def test_other_files_are_reported_or_counted(classroom, make_download):
    files = {
        "ada/qkv-attention.ipynb": notebook(),
        "ada/data.csv": b"1",
        "bob/report.pdf": b"%PDF",
        "bob/qkv.rar": b"Rar!",
        "loose.txt": b"hello",
        "qkv-attention.ipynb": notebook("whose?"),
    }
    report = collect([make_download(files)], classroom)
    reports = {
        row.outcome: (row.student, row.reason) for row in report.files if row.outcome != "unmatched"
    }
    assert reports["ignored"] == ("", "No notebooks, and in no student's folder: loose.txt.")
    assert {row.student: row.reason for row in files_with_outcome(report, "unmatched")} == {
        "": "Neither its name nor a folder says whose it is. Put it into a folder called after the student, "
        "or say with --pattern where the student's name stands.",
    }
    assert reports["without a notebook"] == (
        "bob",
        "No notebook was submitted, only qkv.rar, report.pdf.",
    )
    assert report.other_file_count == 1


def test_links_and_special_files_in_folders(classroom, inbox, tmp_path):
    secret = write_files(tmp_path / "secret", {"eve/qkv-attention.ipynb": notebook("secret")})
    write_files(inbox, {"zed/qkv-attention.ipynb": notebook("good")})
    (inbox / "ada").mkdir()
    (inbox / "ada" / "qkv-attention.ipynb").symlink_to(secret / "eve" / "qkv-attention.ipynb")
    (inbox / "eve").symlink_to(secret / "eve")
    (inbox / "loop").symlink_to(inbox)
    os.mkfifo(inbox / "zed" / "attention-masks.ipynb")
    report = collect([inbox], classroom)
    assert sorted(refusal_reasons(report)) == [
        "It is a link; links are not followed.",
        "It is a link; links are not followed.",
        "It is a link; links are not followed.",
        "It is not an ordinary file but a pipe, a socket or a device.",
    ]
    assert list(read_submitted(classroom)) == ["zed/qkv-attention"]


def test_unreadable_files_and_folders(classroom, inbox, monkeypatch):
    write_files(
        inbox,
        {"ada/qkv-attention.ipynb": notebook(), "bob/qkv-attention.ipynb": notebook()},
    )
    real_open, real_scan = os.open, os.scandir

    def deny(real, name):
        def call(path, *args, **kwargs):
            if name in str(path):
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *args, **kwargs)

        return call

    # Tests may run as root, who may read everything.
    monkeypatch.setattr(archives.os, "open", deny(real_open, "inbox/ada/qkv"))
    monkeypatch.setattr(archives.os, "scandir", deny(real_scan, "inbox/bob"))
    report = collect([inbox], classroom)
    assert sorted(refusal_reasons(report)) == [
        "It cannot be read (Permission denied).",
        "The folder cannot be read (Permission denied).",
    ]


def test_a_folder_name_that_is_not_utf8(classroom, inbox):
    folder = os.fsencode(inbox) + b"/Jos\xe9"
    os.mkdir(folder)
    Path(os.fsdecode(folder + b"/qkv-attention.ipynb")).write_bytes(notebook())
    report = collect([inbox], classroom)
    row = only_file(report)
    assert row.outcome == "filed" and row.reason == "Its name is not UTF-8."
    assert row.student.startswith("Jos-") and row.source == "inbox/Jos\\udce9/qkv-attention.ipynb"
    row.source.encode()


# Two students never share a folder


@pytest.mark.parametrize("parent", ["submissions", "Lab 2", "week-3/submissions", "qkv-attention"])
def test_a_folder_of_named_files(classroom, make_download, parent):
    files = {
        f"{parent}/jane_doe.ipynb": notebook("jane", "softmax"),
        f"{parent}/bo_li.ipynb": notebook("bo", "softmax"),
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        "jane_doe/qkv-attention": "jane",
        "bo_li/qkv-attention": "bo",
    }
    assert report.exit_code == 0


def test_one_named_file_could_be_a_student_or_lie_in_a_students_folder(classroom, make_download):
    report = collect(
        [make_download({"klasse/jane_doe.ipynb": notebook("jane", "softmax")})],
        classroom,
    )
    assert read_submitted(classroom) == {} and only_file(report).reason == (
        "It cannot be told whether 'klasse' or 'jane_doe' is the student's name. Collect "
        "'klasse' by itself if it holds the class, say with --pattern where the name stands, or "
        "put a roster that tells them apart into the classroom as roster.csv."
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
        [
            "ada/old try/qkv-attention.ipynb",
            "ada/newer/qkv-attention.ipynb",
            "bo/qkv-attention.ipynb",
        ],
        ["lab-9/ada/qkv-attention.ipynb"],
        ["class.zip", "other/ada/qkv-attention.ipynb"],
        ["one/two/three/qkv-attention.ipynb"],
    ],
    ids=" ".join,
)
def test_folders_that_may_hold_several_students_are_unmatched(classroom, make_download, files):
    """A folder around students is never taken for a student's."""
    several = zip_bytes(
        {f"class/{s}.zip": zip_bytes({"qkv-attention.ipynb": notebook()}) for s in "xy"},
    )
    report = collect(
        [make_download({f: several if f.endswith(".zip") else notebook(f) for f in files})],
        classroom,
    )
    students = {key.split("/")[0] for key in read_submitted(classroom)}
    assert students <= {"ada", "bo", "cy"}
    assert len(students) == len(
        {s for key, text in submitted_texts(classroom).items() for s in [text.split("/")[-2]]}
    )
    assert report.exit_code == 1 or len(read_submitted(classroom)) == len(files)


@pytest.mark.parametrize("parent", ["attention-masks", "x-submissions", "assignment_1_export"])
def test_a_container_folder_beside_a_students_folder_is_unmatched(classroom, make_download, parent):
    files = {
        "ada/qkv-attention.ipynb": notebook("ada"),
        f"{parent}/qkv-attention.ipynb": notebook("whose?"),
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"ada/qkv-attention": "ada"}
    assert files_with_outcome(report, "unmatched")[0].reason.startswith(
        f"{parent!r} seems to hold several people's submissions."
    )


@pytest.mark.parametrize(
    ("names", "roster", "students"),
    [
        (["ada.zip"], "", ["ada"]),
        (["week/ada.zip"], "", ["ada"]),
        (["ada.ipynb"], "", []),  # one notebook may be called anything
        (["ada.ipynb"], "Login\nada\n", ["ada"]),
        (["ada.ipynb", "bo.ipynb"], "", ["ada", "bo"]),
        (["ada.zip", "bo.ipynb"], "", ["ada", "bo"]),
        (["final.zip"], "", []),
    ],
)
def test_of_files_named_after_students_only_a_single_notebook_needs_the_roster(
    classroom, make_download, names, roster, students
):
    work = notebook(grade_id="softmax")
    files = {}
    for name in names:
        files[name] = zip_bytes({"qkv-attention.ipynb": work}) if name.endswith(".zip") else work
    if roster:
        write_files(classroom.root, {"roster.csv": roster.encode()})
    collect([make_download(files)], classroom)
    assert list(read_submitted(classroom)) == [f"{student}/qkv-attention" for student in students]


def test_each_zip_in_a_folder_is_one_students(classroom, inbox):
    make_zip(inbox / "ada.zip", {"work/qkv-attention.ipynb": notebook("ada")})
    make_zip(inbox / "grace.zip", {"qkv-attention.ipynb": notebook("grace")})
    make_zip(
        inbox / "moodle-export.zip",
        {"Bo Li_1_assignsubmission_file_/qkv-attention.ipynb": notebook()},
    )
    make_zip(inbox / "all.zip", {f"{s}/qkv-attention.ipynb": notebook() for s in ("kim", "lou")})
    inner = {f"class/{s}.zip": zip_bytes({"qkv-attention.ipynb": notebook()}) for s in ("x", "y")}
    make_zip(inbox / "class.zip", inner)
    report = collect([inbox], classroom)
    assert sorted(read_submitted(classroom)) == ["ada/qkv-attention", "grace/qkv-attention"]
    assert (
        refusal_reasons(report)
        == [
            "It seems to hold submissions of several people. If it is a class's download, "
            "collect it by itself."
        ]
        * 2
    )
    assert files_with_outcome(report, "unmatched")[0].source == "inbox/class.zip"
    report = collect(
        [inbox / "all.zip", inbox / "class.zip", inbox / "moodle-export.zip"],
        classroom,
    )
    assert report.exit_code == 0 and len(read_submitted(classroom)) == 7


@pytest.mark.parametrize("names", [("Ada", "ada"), ("ZOË", "Zoë"), ("Strasse", "straße")])
def test_names_that_differ_only_in_case_are_refused(classroom, tmp_path, names):
    files = {f"{name}/qkv-attention.ipynb": notebook(name) for name in names}
    report = collect([make_zip(tmp_path / "both.zip", files)], classroom)
    assert read_submitted(classroom) == {} and len(files_with_outcome(report, "unmatched")) == 2
    room_files = {f"{names[0]}/qkv-attention.ipynb": notebook("1")}
    collect([write_files(tmp_path / "first", room_files)], classroom)
    report = collect(
        [write_files(tmp_path / "second", {f"{names[1]}/qkv-attention.ipynb": notebook("2")})],
        classroom,
    )
    assert list(submitted_texts(classroom).values()) == ["1"]
    assert only_file(report).reason.endswith(
        "put a roster that tells them apart into the classroom as roster.csv."
    )


def test_one_name_written_in_two_normal_forms_is_one_person(classroom, tmp_path):
    collect(
        [
            write_files(
                tmp_path / "1",
                {"Zoe\u0308/qkv-attention.ipynb": notebook("1")},
                modified_at=1_000_000_000,
            )
        ],
        classroom,
    )
    collect(
        [
            write_files(
                tmp_path / "2",
                {"Zo\u00eb/qkv-attention.ipynb": notebook("2")},
                modified_at=1_100_000_000,
            )
        ],
        classroom,
    )
    assert submitted_texts(classroom) == {"Zo\u00eb/qkv-attention": "2"}


@pytest.mark.parametrize(
    "name",
    ["salt", "collected", "submitted", "roster.csv", "con", ".hidden", "a" * 200],
)
def test_students_of_any_name_are_filed(classroom, inbox, name):
    files = {
        f"{n}_{i}_assignsubmission_file_/qkv-attention.ipynb": notebook()
        for i, n in enumerate((name, "bo"))
    }
    assert collect([write_files(inbox, files)], classroom).exit_code == 0
    assert len(read_submitted(classroom)) == 2


def test_a_submission_that_cannot_be_read_costs_only_itself(classroom, inbox, monkeypatch):
    def broken(data, grade_ids):
        raise MemoryError("too much")

    monkeypatch.setattr("autograder.intake.finder.find_lab_by_cells", broken)
    files = {
        "ada/Untitled.ipynb": notebook("x", "softmax"),
        "bo/qkv-attention.ipynb": notebook("b"),
    }
    report = collect([write_files(inbox, files)], classroom)
    assert refusal_reasons(report) == ["It could not be read: too much."]
    assert list(read_submitted(classroom)) == ["bo/qkv-attention"]


def test_deep_folders_are_searched_down_to_a_limit(classroom, tmp_path):
    """A download with many levels of folders takes seconds, not minutes."""
    deep = "/".join(["week 1 - 2026"] * 28)
    files = {f"{deep}/{i}-1 - x - 2026 - y{i}.ipynb": b"" for i in range(1000)}
    began = time.monotonic()
    report = collect([make_zip(tmp_path / "deep.zip", files)], classroom)
    assert time.monotonic() - began < 200
    assert read_submitted(classroom) == {} and {row.reason for row in report.files} == {
        "It lies more than 5 folders deep; collect the folder that holds the students'."
    }


@pytest.mark.parametrize("level_count", [MAX_FOLDER_LEVELS, MAX_FOLDER_LEVELS + 1])
def test_five_folders_may_lie_around_the_students_folders(classroom, make_download, level_count):
    around = "/".join(f"Week {number}" for number in range(1, level_count + 1))
    files = {f"{around}/{s}/qkv-attention.ipynb": notebook(s) for s in ("ada", "bo")}
    report = collect([make_download(files)], classroom)
    if level_count == MAX_FOLDER_LEVELS:
        assert submitted_texts(classroom) == {"ada/qkv-attention": "ada", "bo/qkv-attention": "bo"}
    else:
        assert {row.reason.split(";")[0] for row in report.files} == {
            "It lies more than 5 folders deep"
        }


def test_a_receipt_is_read_up_to_a_size(tmp_path, set_limits):
    path = tmp_path / "Lab_ada1_attempt_2026-11-20-14-03-22.txt"
    path.write_text("Name: Ada L (ada1)\n")
    files, size = {path.name: archives.file_from_disk(path)}, path.stat().st_size
    for most in (size, size - 1):
        set_limits(max_receipt_bytes=most)
        (receipt,) = finder._read_blackboard_receipts(files).values()
        assert (receipt is not None) == (most == size)


def test_a_time_is_one_from_1970_to_the_calendars_end():
    last = MAX_CALENDAR_SECONDS - 1
    assert datetime.fromtimestamp(last, UTC).isoformat() == "9999-12-31T23:59:59+00:00"
    times = {0.0: 0.0, 1.0: 1.0, last: last, MAX_CALENDAR_SECONDS: 0.0, -1.0: 0.0, None: 0.0}
    for time_of_file, valid in times.items():
        assert finder._valid_time(time_of_file) == valid, time_of_file


ZIP_IN_ZIP = "It is a zip in a zip in a zip, and is not opened. Unpack the outer one."


def test_each_file_of_a_download_has_its_row_in_the_report(classroom, inbox):
    deepest = zip_bytes({"additive-attention.ipynb": notebook(), "x/.DS_Store": b""})
    members = {
        "Ada L_1_assignsubmission_file_/qkv-attention.ipynb": notebook("ada"),
        "Ada L_1_assignsubmission_file_/data.csv": b"",
        "Bo Li_2_assignsubmission_file_/d.pdf": b"",
        "Bo Li_2_assignsubmission_file_/c.pdf": b"",
        "Bo Li_2_assignsubmission_file_/b.pdf": b"",
        "Bo Li_2_assignsubmission_file_/a.pdf": b"",
        "Cy_3_assignsubmission_onlinetext_/onlinetext.html": b"",
        "Cy_3_assignsubmission_file_/work.ZIP": zip_bytes(
            {"z.zip": deepest, "Cy_3_text.html": b""}
        ),
        "Di_4_assignsubmission_file_/all.zip": zip_bytes({"b.csv": b"", "a.csv": b""}),
        "Eve_5_assignsubmission_file_/none.zip": zip_bytes({"a/.DS_Store": b""}),
        "Fay_6_assignsubmission_file_/what.ipynb": notebook(),
        "Gus_7_assignsubmission_file_/bad.zip": b"PK",
        "index.html": b"",
    }
    make_zip(inbox / "class.ZIP", members)
    make_zip(inbox / "empty.zip", {})
    write_files(inbox, {"junk/Thumbs.db": b"", "hopper_1_2_attention-masks.ipynb": notebook()})
    names = ("class.ZIP", "empty.zip", "junk", "hopper_1_2_attention-masks.ipynb")
    report = collect([inbox / name for name in names], classroom)
    by_name = "Moodle's name of the file"
    top = "class.ZIP/{}_assignsubmission_file_/{}"
    unlabelled = (
        "Neither its name nor its cells say which lab it is for. Rename it, such as "
        "additive-attention.ipynb, and collect it again."
    )
    typed = "It is text typed into a page; only a notebook can be marked."
    rows = [
        (top.format("Ada L_1", "qkv-attention.ipynb"), "filed", "Ada L", "", by_name),
        (top.format("Cy_3", "work.ZIP/z.zip"), "refused", "Cy", ZIP_IN_ZIP, by_name),
        (top.format("Di_4", "all.zip"), "unmatched", "Di", "No notebook is in this zip, only a.csv, b.csv.", by_name),
        (top.format("Eve_5", "none.zip"), "unmatched", "Eve", "No notebook is in this zip.", by_name),
        (top.format("Fay_6", "what.ipynb"), "unmatched", "Fay", unlabelled, by_name),
        ("hopper_1_2_attention-masks.ipynb", "filed", "hopper-1", "", "Canvas's name of the file"),
        ("class.ZIP", "without a notebook", "Bo Li", "No notebook was submitted, only a.pdf, b.pdf, c.pdf and 1 more.", ""),
        ("class.ZIP", "ignored", "", "No notebooks, and in no student's folder: index.html.", ""),
        ("class.ZIP/Cy_3_assignsubmission_onlinetext_/onlinetext.html", "ignored", "", typed, ""),
        ("empty.zip", "unmatched", "", "There is nothing in it.", ""),
        ("junk", "unmatched", "", "There is nothing in it but files of the system.", ""),
    ]  # fmt: skip
    damaged = top.format("Gus_7", "bad.zip")
    found = [(f.source, f.outcome, f.student, f.reason, f.identified_by) for f in report.files]
    assert [row[:3] for row in found if row[0] == damaged] == [(damaged, "refused", "Gus")]
    assert sorted(row for row in found if row[0] != damaged) == sorted(rows)
    # Beside them are the files of Ada's and Cy's that are no notebooks, and the system's.
    assert (report.other_file_count, report.junk_count) == (2, 2)


def test_times_of_files_do_not_make_two_submissions_of_one(classroom, inbox):
    """A copy that lies in a student's folder is no earlier attempt."""
    for name, text, modified_at in (
        ("qkv-attention.ipynb", "new", 1_763_647_402),
        ("qkv-attention-Copy1.ipynb", "old", 1_763_600_000),
    ):
        write_files(inbox, {f"ada/{name}": notebook(text)}, modified_at=modified_at)
    collect([inbox], classroom, file_times=True)
    assert submitted_texts(classroom) == {"ada/qkv-attention": "new"}
    assert not (classroom.root / "submitted-earlier").exists()


UNKNOWN_LAB = (
    "Neither its name nor its cells say which lab it is for. Rename it, such as lab-one.ipynb, and "
    "collect it again."
)


@pytest.mark.parametrize(
    ("path", "lab_of_owner", "is_alone", "lab"),
    [
        ("a/Lab One (2).ipynb", "", False, "lab-one"),
        ("a/x.ipynb", "Lab_Two", False, "lab-two"),
        ("a/lab-one.ipynb", "lab-two", False, "lab-two"),
        (
            "a/lab-one.ipynb",
            "my lab-two",
            False,
            "It is for my lab-two, which is not collected here.",
        ),
        ("a/lab-one.ipynb", "lab\t3", False, r"It is for lab\t3, which is not collected here."),
        ("a/cells of two.ipynb", "", False, "lab-two"),
        ("lab-one/cells of two.ipynb", "", True, "lab-two"),
        ("a/cells of three.ipynb", "", True, "It is for lab-three, which is not collected here."),
        ("lab-two/lab-one/x.ipynb", "", True, "lab-one"),
        ("lab-two/my lab-one/x.ipynb", "", True, "lab-two"),
        ("lab-one/x.ipynb", "", False, UNKNOWN_LAB),
        ("a/x.ipynb", "", True, UNKNOWN_LAB),
    ],
)
def test_a_notebooks_lab_is_told_by_the_platform_its_name_cells_or_folders(
    path, lab_of_owner, is_alone, lab
):
    searcher = object.__new__(finder.SubmissionFinder)
    searcher.context = SimpleNamespace(
        labs=("lab-one", "lab-two"), grade_ids={"two": "lab-two", "three": "lab-three"}
    )
    searcher.budget = PerStudentReadingBudget()
    data = notebook("x", grade_id=Path(path).stem.removeprefix("cells of "))
    file = archives.IncomingFile(path=path, read_chunks=lambda limit: iter([data[:9], data[9:]]))
    owner = SimpleNamespace(lab=lab_of_owner, default_folder="ada")
    try:
        found = searcher._find_lab_of_notebook(file, owner, is_alone)
    except UnmatchedFile as error:
        found = str(error)
    assert found == lab


STAMP_TIME = datetime(2026, 11, 20, 14, 3, 22, tzinfo=UTC)
UNUSED_STAMP = "Its timestamp.txt was not used: in a plain folder it is the student's own word."
UNREADABLE_STAMP = "The timestamp.txt beside it cannot be read."


@pytest.mark.parametrize(
    ("platform", "file", "stamp", "time_and_note"),
    [
        ("nbgrader", "x/a.ipynb", b" 2026-11-20 14:03:22 UTC\n", (STAMP_TIME, "")),
        ("nbgrader", "x/a.ipynb", b"2026-11-20 14:03:22", (STAMP_TIME, "")),
        ("nbgrader", "x/a.ipynb", b"soon", (None, UNREADABLE_STAMP)),
        ("nbgrader", "x/a.ipynb", b"\xff", (None, UNREADABLE_STAMP)),
        ("nbgrader", "x/a.ipynb", b" " * (MAX_TIMESTAMP_BYTES + 1), (None, UNREADABLE_STAMP)),
        ("nbgrader", "x/a.zip", b"2026-11-20 14:03:22", (None, "")),
        ("nbgrader", "a.ipynb", b"2026-11-20 14:03:22", (None, "")),
        ("folder", "x/a.ipynb", b"2026-11-20 14:03:22", (None, UNUSED_STAMP)),
        ("folder", "x/a.pdf", b"2026-11-20 14:03:22", (None, "")),
        ("Moodle", "x/a.ipynb", b"2026-11-20 14:03:22", (None, "")),
    ],
)
def test_a_timestamp_counts_beside_a_notebook_in_nbgraders_folder_only(
    platform, file, stamp, time_and_note
):
    def add_time(owner):
        by_path = {"x/timestamp.txt": archives.IncomingFile(path="", read_chunks=read_stamp)}
        notebook_file = archives.IncomingFile(path=file)
        return finder.SubmissionFinder._add_time_from_timestamp_file(
            None, owner, notebook_file, by_path
        )

    def read_stamp(limit):
        if len(stamp) > limit:
            raise FileRefused("too large")
        yield stamp

    owner = SubmissionAccount(platform=platform, identities=(), default_folder="ada")
    found = add_time(owner)
    assert (found.time, found.note) == time_and_note and found == owner
    dated = replace(owner, time=datetime(2026, 1, 1, tzinfo=UTC))
    assert add_time(dated) is dated and add_time("Nobody's.") == "Nobody's."
