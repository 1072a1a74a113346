"""Hostile zips and folders: no file leaves its place, and other students are not affected."""

import io
import os
import stat
import struct
import time
import zipfile
import zlib
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from types import SimpleNamespace
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest
from downloads import (
    NEWER,
    OLDER,
    collect,
    files_with_outcome,
    make_zip,
    notebook,
    only_file,
    read_submitted,
    refusal_reasons,
    write_files,
    zip_bytes,
    zip_member,
)
from hypothesis import given
from hypothesis import strategies as st

from autograder.core import files
from autograder.intake import archives, upload_limits
from autograder.intake.upload_limits import FileRefused

GOOD = ("zed/qkv-attention.ipynb", notebook("good"))


@pytest.mark.parametrize(
    ("name", "reason"),
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
        ("é" * 200 + "/qkv-attention.ipynb", "Its name is too long (220 characters)."),
        ("a/" * 600 + "qkv-attention.ipynb", "It lies more than 32 folders deep."),
        (("a" * 99 + "/") * 12 + "x.ipynb", "Its name is too long (1,207 characters)."),
    ],
)
def test_names_that_are_refused(classroom, tmp_path, name, reason):
    members = [(zip_member("x", raw=name), notebook("evil")), GOOD]
    report = collect([make_zip(tmp_path / "class.zip", members)], classroom)
    assert refusal_reasons(report) == [reason]
    assert list(read_submitted(classroom)) == ["zed/qkv-attention"]  # the others are not lost
    assert report.exit_code == 1


def test_a_name_with_a_zero_byte(classroom, tmp_path):
    data = zip_bytes([("ada/qkv-attention.ipynbXevil.txt", notebook("evil")), GOOD])
    (tmp_path / "class.zip").write_bytes(data.replace(b"ipynbXevil", b"ipynb\0evil"))
    report = collect([tmp_path / "class.zip"], classroom)
    assert refusal_reasons(report) == ["Its name holds control characters."]


def test_backslashes_are_taken_as_slashes(classroom, tmp_path):
    members = [(zip_member("x", raw="ada\\qkv-attention.ipynb"), notebook("ada"))]
    report = collect([make_zip(tmp_path / "class.zip", members)], classroom)
    assert list(read_submitted(classroom)) == ["ada/qkv-attention"]
    assert only_file(report).reason == "Its name has backslashes; they were taken as slashes."


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (stat.S_IFLNK | 0o777, "It is a link; links are not followed."),
        (stat.S_IFIFO | 0o644, "It is not an ordinary file but a pipe, a socket or a device."),
        (stat.S_IFCHR | 0o644, "It is not an ordinary file but a pipe, a socket or a device."),
    ],
)
def test_links_and_special_files_in_zips(classroom, tmp_path, mode, reason):
    members = [(zip_member("ada/qkv-attention.ipynb", mode=mode), b"/etc/passwd"), GOOD]
    report = collect([make_zip(tmp_path / "class.zip", members)], classroom)
    assert refusal_reasons(report) == [reason] and list(read_submitted(classroom)) == [
        "zed/qkv-attention",
    ]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_members(classroom, tmp_path):
    members = [
        ("ada/qkv-attention.ipynb", notebook("first")),
        ("ada/qkv-attention.ipynb", notebook("last")),
    ]
    report = collect([make_zip(tmp_path / "class.zip", [*members, GOOD])], classroom)
    assert refusal_reasons(report) == [
        "The zip holds 2 files of this name, which may be several people's.",
    ]
    assert list(read_submitted(classroom)) == ["zed/qkv-attention"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_members_of_a_students_own_zip(classroom, tmp_path):
    student_zip = zip_bytes(
        [("qkv-attention.ipynb", notebook("first")), ("qkv-attention.ipynb", notebook("last"))]
    )
    for outcome in ("filed", "unchanged"):
        report = collect(
            [make_zip(tmp_path / "class.zip", {"ada/qkv-attention.zip": student_zip})],
            classroom,
        )
        assert read_submitted(classroom) == {"ada/qkv-attention": ("last", None)}
        assert only_file(report).outcome == outcome
        assert "more than once; the last one counts" in only_file(report).reason


def test_names_that_differ_only_in_case(classroom, tmp_path):
    members = [
        (zip_member("Ada/qkv-attention.ipynb", OLDER), notebook("old")),
        (zip_member("ada/QKV-attention.ipynb", NEWER), notebook("new")),
    ]
    report = collect([make_zip(tmp_path / "class.zip", members)], classroom)
    assert read_submitted(classroom) == {} and report.exit_code == 1
    assert all(
        "differ only in case, and may be one person or two" in row.reason for row in report.files
    )


def test_a_bomb_of_one_member(classroom, tmp_path):
    members = [("ada/qkv-attention.ipynb", bytes(30_000_000)), GOOD]
    report = collect([make_zip(tmp_path / "class.zip", members)], classroom)
    (reason,) = refusal_reasons(report)
    assert reason.startswith("It would unpack to ") and reason.endswith(
        " times its size, as a zip bomb does.",
    )
    assert list(read_submitted(classroom)) == ["zed/qkv-attention"]


def test_a_bomb_of_many_members(classroom, tmp_path):
    data = bytes(30_000_000)
    bomb = zip_bytes({f"{i}/x.ipynb": data for i in range(5)})
    report = collect([make_zip(tmp_path / "class.zip", [("mallory.zip", bomb), GOOD])], classroom)
    (reason,) = refusal_reasons(report)
    assert reason.startswith("The zip would unpack to ")
    assert list(read_submitted(classroom)) == ["zed/qkv-attention"]


def test_one_bomb_in_a_class_does_not_refuse_the_class(classroom, tmp_path):
    """Regression: because of one notebook of 100 MB of zeros, the class's zip was refused as a bomb."""
    members = [
        ("mallorym_9_9_x.ipynb", bytes(120_000_000)),
        ("zed_1_2_qkv-attention.ipynb", notebook()),
    ]
    report = collect([make_zip(tmp_path / "class.zip", members)], classroom)
    (reason,) = refusal_reasons(report)
    assert reason.startswith("It has 120 MB")
    assert list(read_submitted(classroom)) == ["zed-1/qkv-attention"]


def test_a_bomb_of_overlapping_members(classroom, tmp_path):
    data = zip_bytes({f"student{i:02}/qkv-attention.ipynb": os.urandom(50_000) for i in range(20)})
    directory = data.index(b"PK\1\2")
    entries, offset = bytearray(data[directory:]), 0
    while (offset := entries.find(b"PK\1\2", offset)) >= 0:
        entries[offset + 42 : offset + 46] = struct.pack("<L", 0)  # all point at the first
        offset += 4
    end = entries.index(b"PK\5\6")
    entries[end + 16 : end + 20] = struct.pack("<L", 60_000)
    (tmp_path / "class.zip").write_bytes(data[:60_000] + bytes(entries))
    report = collect([tmp_path / "class.zip"], classroom)
    assert refusal_reasons(report) == [
        "The zip's members overlap, as in a zip bomb, or its sizes are wrong.",
    ]


def test_too_many_members(classroom, tmp_path, set_limits):
    assert archives.LIMITS.max_zip_files == 10_000
    set_limits(max_zip_files=1_000)
    members = {f"s{i}/qkv-attention.ipynb": b"" for i in range(1_001)}
    report = collect(
        [make_zip(tmp_path / "class.zip", [("mallory.zip", zip_bytes(members)), GOOD])],
        classroom,
    )
    assert refusal_reasons(report) == [
        "The zip has 1,001 members; 1,000 are the most. Unpack it and collect the folder."
    ]
    assert list(read_submitted(classroom)) == ["zed/qkv-attention"]


def test_one_with_many_files_does_not_refuse_the_class(classroom, tmp_path, set_limits):
    """Regression: because of 10,000 files of one student, the class's zip was not opened."""
    set_limits(max_zip_files=1_000)
    members = [(f"mallorym_9_{i}_x.txt", b"") for i in range(1_001)]
    report = collect(
        [make_zip(tmp_path / "class.zip", [*members, ("zed_1_2_qkv-attention.ipynb", notebook())])],
        classroom,
    )
    assert list(read_submitted(classroom)) == ["zed-1/qkv-attention"] and not refusal_reasons(
        report,
    )


def test_a_table_of_contents_that_would_fill_the_memory(classroom, tmp_path, set_limits):
    set_limits(max_class_directory_bytes=1000)
    members = {f"s{i}/qkv-attention.ipynb": b"" for i in range(50)}
    report = collect([make_zip(tmp_path / "class.zip", members)], classroom)
    assert "table of contents alone" in only_file(report).reason


def test_too_many_files_in_a_folder(classroom, inbox, set_limits):
    set_limits(max_class_files=5)
    report = collect([write_files(inbox, {f"{i}.txt": b"" for i in range(10)})], classroom)
    assert refusal_reasons(report) == [
        "There are more than 5 files; the rest of this folder was not looked at."
    ]


def test_a_student_with_very_many_files_does_not_keep_others_from_being_listed(
    classroom, inbox, set_limits
):
    """Regression: a repository of 200,000 files was searched first, and some students never."""
    set_limits(max_class_files=60)
    files = {
        f"{student}/qkv-attention.ipynb": notebook(student) for student in ("ada", "bob", "zoe")
    }
    files |= {f"mallory/d{i % 3}/{i}.txt": b"" for i in range(200)}
    report = collect([write_files(inbox, files)], classroom)
    (reason,) = refusal_reasons(report)
    assert "more than 60 files" in reason
    assert next(row.source for row in report.files if row.outcome == "refused").startswith(
        "inbox/mallory",
    )
    assert {student.split("/")[0] for student in read_submitted(classroom)} == {"ada", "bob", "zoe"}


def test_no_name_makes_a_pattern_match_take_long(classroom, inbox, tmp_path):
    """Regression: Brightspace's pattern tried all ways to divide 36,000 characters, for hours."""
    name = "1-1 - " + "a - " * 4000 + "1111 " * 4000 + "x.ipynb"
    short = "1-1 - " + "a - " * 25 + "1111 " * 20 + "x.ipynb"
    bad = zip_bytes([(name, notebook()), *((f"{i}/{short}", notebook()) for i in range(100))])
    members = [("mallory.zip", bad), GOOD]
    begun = time.monotonic()
    collect([make_zip(tmp_path / "class.zip", members)], classroom)
    assert time.monotonic() - begun < 200  # and not hours
    assert "zed/qkv-attention" in read_submitted(classroom)


def test_notebooks_and_zips_of_each_student_have_limits_of_their_own(set_limits):
    set_limits(max_student_notebook_bytes=4_000_000, max_student_zip_bytes=6_000_000)
    budget = upload_limits.PerStudentReadingBudget()
    megabyte = bytes(1_000_000)

    def read(student, count, is_zip):
        return len(list(budget.count_bytes(student, iter([megabyte] * count), is_zip=is_zip)))

    assert read("ada", 6, True) == 6 and read("ada", 3, False) == 3 and read("ada", 1, False) == 1
    for is_zip, size in ((False, 4), (True, 6)):
        with pytest.raises(FileRefused, match=f"More than {size} MB of this student's were read"):
            read("ada", 1, is_zip)
        assert read("bo", size, is_zip) == size


@pytest.mark.parametrize("folder", ["", "__MACOSX/"])
def test_zips_in_a_zip_are_listed_up_to_a_number_of_files(classroom, inbox, set_limits, folder):
    """Regression: a zip of 17 MB, with 200 zips of 9,900 files each, took minutes."""
    set_limits(max_student_zip_files=20)
    inner = zip_bytes({f"{folder}{i}": b"" for i in range(15)})
    name = "Mal Lory_12_assignsubmission_file_/x.zip"
    write_files(inbox, {name: zip_bytes({f"z{i}.zip": inner for i in range(5)})})
    write_files(inbox, {"Zed Z_13_assignsubmission_file_/qkv-attention.ipynb": notebook()})
    report = collect([inbox], classroom)
    assert (
        len([reason for reason in refusal_reasons(report) if "more than 20 files" in reason]) == 3
    )
    assert len(read_submitted(classroom)) == 1


FIELDS = {
    "flags": (6, "<H"),
    "method": (8, "<H"),
    "crc": (14, "<L"),
    "packed": (18, "<L"),
    "size": (22, "<L"),
}


def change_headers(data, **fields):
    """Return a zip of one member with fields changed in both of its headers."""
    data = bytearray(data)
    for signature, shift in ((b"PK\3\4", 0), (b"PK\1\2", 2)):
        start = data.index(signature) + shift
        for name, value in fields.items():
            offset, struct_format = FIELDS[name]
            struct.pack_into(struct_format, data, start + offset, value)
    return bytes(data)


ONE_MEMBER_ZIP = zip_bytes({"ada/qkv-attention.ipynb": notebook("something to compress " * 20)})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            change_headers(ONE_MEMBER_ZIP, flags=1),
            "It is encrypted. Unpack the zip with its password and collect the folder.",
        ),
        (
            change_headers(ONE_MEMBER_ZIP, method=14),
            "It is compressed in an unusual way. Unpack the zip and collect the folder.",
        ),
        (
            change_headers(ONE_MEMBER_ZIP, size=2_000),
            "It is damaged: it has 571 bytes where the zip says 2,000.",
        ),
        (
            change_headers(ONE_MEMBER_ZIP, size=100),
            "It is damaged: it cannot be unpacked (Bad CRC-32",
        ),
        (change_headers(ONE_MEMBER_ZIP, crc=1), "It is damaged: it cannot be unpacked (Bad CRC-32"),
        (
            change_headers(ONE_MEMBER_ZIP, size=500_000_000),
            ("The zip would unpack to ", "It has 500 MB; 40 MB are the most."),
        ),
        (
            change_headers(ONE_MEMBER_ZIP, packed=100_000),
            "The zip's members overlap, as in a zip bomb, or its sizes are wrong.",
        ),
        (ONE_MEMBER_ZIP.replace(b"\x78", b"\x77"), ""),
        (ONE_MEMBER_ZIP[:-30], "It is not a whole, valid zip (File is not a zip file)."),
        (ONE_MEMBER_ZIP[100:], ""),
        (b"this is no zip", "It is not a whole, valid zip (File is not a zip file)."),
        (b"", "It is not a whole, valid zip (File is not a zip file)."),
        (zip_bytes({}), "There is nothing in it."),
    ],
)
@pytest.mark.parametrize("is_nested", [False, True])
def test_damaged_and_lying_zips(classroom, inbox, data, reason, is_nested):
    path = inbox / "class.zip"
    if is_nested:
        make_zip(
            path,
            {
                "lovelaceada_12345_678_submission.zip": data,
                "hoppergrace_1_2_qkv-attention.ipynb": notebook(),
            },
        )
    else:
        path.write_bytes(data)
    report = collect([path], classroom)
    bad = [row for row in report.files if row.outcome in ("refused", "unmatched")]
    if reason:
        (row,) = bad
        if not (is_nested and reason == "There is nothing in it."):
            assert row.reason.startswith(reason)
        assert report.exit_code == 1
    assert len(read_submitted(classroom)) == is_nested or not reason


@pytest.mark.parametrize("index", range(0, len(ONE_MEMBER_ZIP), 7))
def test_no_flipped_byte_stops_the_run(classroom, tmp_path, index):
    data = bytearray(ONE_MEMBER_ZIP)
    data[index] ^= 0xFF
    (tmp_path / "class.zip").write_bytes(data)
    assert collect([tmp_path / "class.zip"], classroom).files


def test_wrong_sizes_do_not_get_around_the_limit(classroom, tmp_path):
    """A member with a stated size of 100 bytes holds 60 MB: only 100 bytes are unpacked."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packer.compress(bytes(60_000_000)) + packer.flush()
    bomb = zip_bytes({"ada/qkv-attention.ipynb": bytes(60_000_000)})
    assert len(bomb) < len(data) + 200
    (tmp_path / "class.zip").write_bytes(change_headers(bomb, size=100))
    assert refusal_reasons(collect([tmp_path / "class.zip"], classroom))[0].startswith(
        "It is damaged",
    )


@pytest.mark.parametrize(
    ("raw", "student"),
    [
        ("Jos\u00e9".encode(), "Jos\u00e9"),  # UTF-8 that is not marked so, from a Mac
        ("Jose\u0301".encode(), "Jos\u00e9"),  # and decomposed, as its file system writes it
        ("Jos\u00e9".encode("cp437"), "Jos\u00e9"),  # an old Windows
    ],
)
def test_names_that_are_not_marked_as_utf8(classroom, tmp_path, raw, student):
    placeholder = b"N" * len(raw)
    data = zip_bytes({f"{placeholder.decode()}/qkv-attention.ipynb": notebook()})
    (tmp_path / "class.zip").write_bytes(data.replace(placeholder, raw))
    collect([tmp_path / "class.zip"], classroom)
    assert list(read_submitted(classroom)) == [f"{student}/qkv-attention"]


def test_names_that_say_utf8_and_are_not(classroom, tmp_path):
    data = zip_bytes({"N\u00e9/qkv-attention.ipynb": notebook()})
    (tmp_path / "class.zip").write_bytes(data.replace("N\u00e9".encode(), b"N\xff\xfe"))
    assert refusal_reasons(collect([tmp_path / "class.zip"], classroom))[0].startswith(
        "It is not a whole, valid zip"
    )


def test_junk_of_systems_is_counted_not_listed(classroom, make_download):
    files = {
        "ada/qkv-attention.ipynb": notebook(),
        "__MACOSX/ada/._qkv-attention.ipynb": b"\0\5\x16\7",
        "ada/.DS_Store": b"",
        "ada/Thumbs.db": b"",
        "ada/.ipynb_checkpoints/qkv-attention-checkpoint.ipynb": notebook("old"),
    }
    report = collect([make_download(files)], classroom)
    assert only_file(report).outcome == "filed"
    assert report.junk_count == 4 and "4 system files ignored" in report.summary


def test_a_file_that_becomes_a_link_while_it_is_read_is_refused(inbox, monkeypatch):
    path = inbox / "qkv-attention.ipynb"
    path.symlink_to("/etc/passwd")
    os.mkfifo(inbox / "pipe")
    for unusual_path in (path, inbox / "pipe", inbox):
        with pytest.raises(archives.FileRefused, match=r"^It is not an ordinary file\.$"):
            archives.open_submitted_file(unusual_path)
    regular_status = os.stat(__file__)
    monkeypatch.setattr(os, "lstat", lambda _: regular_status)  # it was a regular file a moment ago
    with pytest.raises(archives.FileRefused, match="It cannot be read"):
        archives.open_submitted_file(path)
    with pytest.raises(archives.FileRefused, match="not an ordinary file"):
        archives.open_submitted_file(inbox / "pipe")


def test_without_the_flags_of_linux_a_link_is_not_followed_either(inbox, monkeypatch):
    """Windows has no such flags; line ends stay unchanged."""
    for name in ("O_NOFOLLOW", "O_NONBLOCK"):
        monkeypatch.delattr(os, name)
    path = inbox / "qkv-attention.ipynb"
    path.symlink_to("/etc/passwd")
    with pytest.raises(archives.FileRefused, match="not an ordinary file"):
        archives.open_submitted_file(path)
    files.write_file(inbox / "text", "a\r\nb\n")
    assert files.read_regular_file(inbox / "text", 4) == b"a\r\nb"


# Cost of a zip


def test_a_large_zip_of_one_student_does_not_stop_the_others(classroom, tmp_path, monkeypatch):
    """Regression: 256 members of 79 MB in one student's zip kept later students from being filed."""
    read = []
    real = archives._stream_zip_member
    monkeypatch.setattr(
        archives,
        "_stream_zip_member",
        lambda a, i, limit: (read.append(i.filename), real(a, i, limit))[1],
    )
    large = notebook("\n".join(os.urandom(20).hex() for _ in range(1_000)))
    notebooks = {f"{i}/qkv-attention-{i}.ipynb": large for i in range(50)}
    files = {
        "alice_1_1_qkv-attention.ipynb": notebook("a"),
        "mallory_2_2_all.zip": zip_bytes(notebooks),
        "zoe_3_3_qkv-attention.ipynb": notebook("z"),
    }
    report = collect([make_zip(tmp_path / "class.zip", files)], classroom)
    assert sorted(read_submitted(classroom)) == [
        "alice-1/qkv-attention",
        "mallory-2/qkv-attention",
        "zoe-3/qkv-attention",
    ]
    # Only one of the fifty notebooks is read, hashed and filed.
    assert {name for name in read if name[0].isdigit()} == {"49/qkv-attention-49.ipynb"}
    assert len(list(classroom.root.rglob("*.ipynb"))) == 3
    assert len(files_with_outcome(report, "older")) == 49


def test_each_student_has_a_budget(classroom, tmp_path, set_limits):

    set_limits(max_student_notebook_bytes=2_000)
    files = {
        f"ada_1_1_{lab}.ipynb": notebook(os.urandom(600).hex())
        for lab in ("qkv-attention", "attention-masks")
    }
    files |= {f"zoe_2_2_{lab}.ipynb": notebook("z") for lab in ("qkv-attention", "attention-masks")}
    report = collect([make_zip(tmp_path / "class.zip", files)], classroom)
    assert sorted(read_submitted(classroom)) == [
        "ada-1/attention-masks",
        "zoe-2/attention-masks",
        "zoe-2/qkv-attention",
    ]
    assert "of this student's were read" in refusal_reasons(report)[0]


def test_too_many_notebooks_in_one_submission(classroom, tmp_path):
    most = archives.LIMITS.max_zip_notebooks
    inner = zip_bytes({f"{i}/qkv-attention.ipynb": b"" for i in range(most + 1)})
    report = collect([make_zip(tmp_path / "class.zip", {"ada_1_1_x.zip": inner})], classroom)
    assert refusal_reasons(report) == [
        "It holds 201 notebooks and zips; 200 are the most in one submission.",
    ]
    inner = zip_bytes({f"{i}/qkv-attention.ipynb": b"" for i in range(most)})
    report = collect([make_zip(tmp_path / "class.zip", {"ada_1_1_x.zip": inner})], classroom)
    assert refusal_reasons(report) == []


def test_a_notebook_above_the_limit_is_refused(classroom, inbox):
    for student, extra_bytes in (("ada", 0), ("bob", 1)):
        (inbox / student).mkdir()
        with open(inbox / student / "qkv-attention.ipynb", "wb") as file:
            file.truncate(archives.LIMITS.max_notebook_bytes + extra_bytes)
    report = collect([inbox], classroom)
    assert [row.outcome for row in report.files] == ["filed", "refused"]
    assert report.files[1].reason == "It has 40 MB; 40 MB are the most."


def test_zips_are_opened_again_when_others_were_read(classroom, inbox, set_limits):
    set_limits(max_open_zips=1)
    for i in range(5):
        make_zip(
            inbox / f"s{i}.zip",
            {"qkv-attention.ipynb": notebook(str(i)), "attention-masks.ipynb": notebook("m")},
        )
    collect([inbox], classroom)
    assert (
        len(read_submitted(classroom)) == 10
        and read_submitted(classroom)["s3/qkv-attention"][0] == "3"
    )


@given(data=st.data())
def test_no_change_to_a_zip_raises_anything_but_file_refused(tmp_path_factory, data):
    raw = bytearray(ONE_MEMBER_ZIP)
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("z") / "x.zip"
    path.write_bytes(
        raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw,
    )
    from datetime import UTC

    with archives.ZipReader(UTC) as zips:
        try:
            for file in zips.list_members(archives.file_from_disk(path)).files:
                archives.read_content(file, 10_000)
        except archives.FileRefused as refused:
            assert str(refused).endswith(".")


def test_thousands_of_refused_files_of_one_student_are_a_few_lines_in_the_table(
    classroom, tmp_path
):
    from io import StringIO

    from rich.console import Console

    links = [(zip_member(f"x{n}", mode=stat.S_IFLNK | 0o777), b"a") for n in range(3_000)]
    zips = {"mallory_1_2_work.zip": zip_bytes(links), "ada_3_4_qkv-attention.ipynb": notebook()}
    report = collect([make_zip(tmp_path / "class.zip", zips)], classroom)
    assert (
        list(read_submitted(classroom)) == ["ada-3/qkv-attention"]
        and len(refusal_reasons(report)) == 3_000
    )
    console = Console(file=StringIO(), width=200)
    console.print(report.make_review_table())
    output = console.file.getvalue()
    assert len(output.splitlines()) < 100 and "And 2,980 more like these." in output


def test_an_error_with_one_students_zip_concerns_only_that_student(
    classroom, tmp_path, monkeypatch
):
    def no_room(self, file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archives.ZipReader, "_copy_inner_zip_to_temporary_file", no_room)
    zips = {
        "ada_1_2_qkv-attention.ipynb": notebook(),
        "mallory_3_4_work.zip": zip_bytes([GOOD]),
        "zoe_5_6_qkv-attention.ipynb": notebook(),
    }
    report = collect([make_zip(tmp_path / "class.zip", zips)], classroom)
    assert list(read_submitted(classroom)) == ["ada-1/qkv-attention", "zoe-5/qkv-attention"]
    assert refusal_reasons(report) == ["It could not be read: No space left on device."]


@pytest.mark.parametrize(
    ("path", "is_listed"),
    [
        ("ada/lab.ipynb", True),
        ("ada/.lab.ipynb", True),  # a student's own name of the file
        ("ada/._lab.ipynb", False),  # macOS keeps a file's attributes there
        ("ada/.gitignore", False),
        ("ada/.DS_Store", False),
        ("ada/desktop.ini", False),  # of Windows
        ("ada/Thumbs.db", False),
        ("__MACOSX/ada/lab.ipynb", False),
    ],
)
def test_only_files_of_a_system_are_ignored(path, is_listed):
    listing = archives.FileListing()
    listing.add(archives.IncomingFile(path=path))
    assert ([file.path for file in listing.files], listing.junk_count) == (
        ([path], 0) if is_listed else ([], 1)
    )


@pytest.mark.parametrize("machine_zone", ["UTC", "Asia/Tokyo"])
def test_the_time_of_a_file_in_a_zip_is_in_the_courses_zone_whatever_the_machines_is(
    monkeypatch, machine_zone
):
    """A zip stores local times without a zone."""
    monkeypatch.setenv("TZ", machine_zone)
    time.tzset()
    try:
        info = zipfile.ZipInfo("a.ipynb", (2026, 1, 15, 12, 0, 0))
        seconds = archives._member_time(info, None, ZoneInfo("America/New_York"))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert seconds == datetime(2026, 1, 15, 17, tzinfo=UTC).timestamp()


def test_a_file_in_a_zip_without_a_time_has_the_time_of_the_zip():
    """Some programs write the first moment that a zip can store."""
    for moment, seconds in (((1980, 1, 1, 0, 0, 0), 5.0), ((1980, 1, 1, 0, 0, 2), 315532802.0)):
        info = zipfile.ZipInfo("a.ipynb", moment)
        assert archives._member_time(info, 5.0, UTC) == seconds, moment


def test_a_folder_is_listed_in_order_to_a_depth_and_without_the_classroom(tmp_path, set_limits):
    set_limits(max_folder_depth=3)
    names = ["b.ipynb", "a/x/lab.ipynb", "a/x/y/z/deep.ipynb", "own/lab.ipynb", "b/./c.ipynb"]
    names.append("a/x/y/near.ipynb")
    write_files(tmp_path, dict.fromkeys(names, b""))
    own = (tmp_path / "own").stat()
    listing = archives.list_folder(tmp_path, {(own.st_dev, own.st_ino)})
    assert [(file.path, file.problem) for file in listing.files] == [
        ("a/x/lab.ipynb", ""),
        ("a/x/y/near.ipynb", ""),
        ("a/x/y/z", "It lies more than 3 folders deep."),
        ("b.ipynb", ""),
        ("b/c.ipynb", ""),
    ]


@pytest.mark.parametrize("path", ["a/b/c/lab.ipynb", "a/b/c/d/lab.ipynb"])
def test_a_file_in_a_zip_lies_as_deep_as_in_a_folder(tmp_path, set_limits, path):
    set_limits(max_folder_depth=3)
    zip_file = archives.file_from_disk(make_zip(tmp_path / "class.zip", {path: b""}))
    with archives.ZipReader(UTC) as zips:
        (file,) = zips.list_members(zip_file).files
    problem = "It lies more than 3 folders deep." if "/d/" in path else ""
    assert file.problem == problem


def test_the_parts_of_a_name_in_a_zip_are_those_of_a_path():
    names = {"./ada//lab.ipynb": "ada/lab.ipynb", "a/./b": "a/b", "/": "(no name)"}
    for name, path in names.items():
        info = zipfile.ZipInfo(name)
        assert archives._member_name(info) == path, name


def test_a_name_has_up_to_so_many_characters_and_bytes_in_a_part(set_limits):
    for part, problem in (
        ("a" * archives.MAX_PART_BYTES, ""),
        ("a" * (archives.MAX_PART_BYTES + 1), "Its name is too long (256 characters)."),
        ("a" + "é" * (archives.MAX_PART_BYTES // 2), ""),
        ("é" * (archives.MAX_PART_BYTES // 2 + 1), "Its name is too long (128 characters)."),
    ):
        assert archives._find_name_problem(part) == problem
    set_limits(max_name_characters=7)
    assert archives._find_name_problem("abc/def") == ""
    assert archives._find_name_problem("abc/defg") == "Its name is too long (8 characters)."


def test_a_long_name_in_a_zip_is_listed_in_part(tmp_path, set_limits):
    set_limits(max_name_characters=7)
    zip_file = archives.file_from_disk(make_zip(tmp_path / "class.zip", {"abc/defg": b""}))
    with archives.ZipReader(UTC) as zips:
        assert [file.path for file in zips.list_members(zip_file).files] == ["abc/def"]


@pytest.mark.parametrize(
    ("size", "packed_size", "is_bomb"),
    [(1_000, 1, False), (1_001, 1, True), (1_010, 101, False), (1_011, 101, True)],
)
def test_a_large_member_of_a_high_compression_is_a_bomb(set_limits, size, packed_size, is_bomb):
    set_limits(min_bomb_bytes=1_000, max_compression_ratio=10)
    info = zipfile.ZipInfo("a.ipynb")
    info.file_size, info.compress_size = size, packed_size
    with pytest.raises(FileRefused) as caught:
        list(archives._stream_zip_member(None, info, 10_000))  # there is nothing to be read
    assert ("as a zip bomb does" in str(caught.value)) == is_bomb


def test_a_large_zip_of_a_high_compression_is_a_bomb(set_limits):
    total, data = 20_000, zip_bytes({"a": bytes(20_000)})
    for unpacked, least, is_bomb in (
        (total, 199, False), (total - 1, 200, False), (total - 1, 199, True),
    ):  # fmt: skip
        set_limits(min_bomb_bytes=least, max_compression_ratio=Fraction(unpacked, len(data)))
        if is_bomb:
            with pytest.raises(FileRefused, match="as a zip bomb does"):
                archives._open_checked_zip(io.BytesIO(data))
        else:
            assert archives._open_checked_zip(io.BytesIO(data)).namelist() == ["a"]


@pytest.mark.parametrize(
    ("limit", "is_class_download"),
    [("max_zip_directory_bytes", False), ("max_class_directory_bytes", True)],
)
def test_a_table_of_contents_has_up_to_so_many_bytes(set_limits, limit, is_class_download):
    data = zip_bytes({f"{number}.ipynb": b"" for number in range(5)})
    size = data.index(b"PK\5\6") - data.index(b"PK\1\2")
    set_limits(**{limit: size})
    assert len(archives._open_checked_zip(io.BytesIO(data), is_class_download).namelist()) == 5
    set_limits(**{limit: size - 1})
    with pytest.raises(FileRefused, match="table of contents alone"):
        archives._open_checked_zip(io.BytesIO(data), is_class_download)


def test_a_zip_in_a_zip_is_kept_in_memory_up_to_a_size_and_read_up_to_another(set_limits):
    set_limits(max_in_memory_bytes=4, max_inner_zip_bytes=9)
    limits = []
    for content, is_on_disk in ((b"abcd", False), (b"abcde", True)):

        def read(limit, content=content):
            limits.append(limit)
            return iter([content])

        zip_file = archives.IncomingFile(path="x.zip", read_chunks=read)
        with archives.ZipReader(UTC)._copy_inner_zip_to_temporary_file(zip_file) as file:
            assert file._rolled == is_on_disk
    assert limits == [9, 9]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("is_class_download", [False, True])
def test_the_members_of_a_zip_are_listed_in_the_order_of_their_names(tmp_path, is_class_download):
    link = zip_member("link.ipynb", mode=stat.S_IFLNK | 0o777)
    members = [
        (zip_member("b.ipynb", OLDER), b"1"),
        (zip_member("x", raw="a\\c.ipynb"), b""),
        (link, b"b.ipynb"),
        (zip_member("d/", OLDER), b""),
        (zip_member("b.ipynb", NEWER), b"22"),
        (zip_member("x", raw="../e.ipynb"), b""),
        (zip_member(".git/config"), b""),
        (zip_member("sub/.git/config"), b""),
    ]
    path = make_zip(tmp_path / "x.zip", members)
    zip_file = archives.IncomingFile(
        path="x.zip", disk_path=path, is_class_download=is_class_download
    )
    with archives.ZipReader(UTC) as zips:
        listing = zips.list_members(zip_file)
        content = archives.read_content(listing.files[2], 2)
        with pytest.raises(FileRefused, match=r"^It has 0 MB; 0 MB are the most\.$"):
            archives.read_content(listing.files[2], 1)
    twice = {"note": "The zip holds this name more than once; the last one counts."}
    if is_class_download:
        twice = {"problem": "The zip holds 2 files of this name, which may be several people's."}
    expected = [
        ("../e.ipynb", {"problem": "Its name leads out of the folder (..)."}),
        ("a/c.ipynb", {"note": "Its name has backslashes; they were taken as slashes."}),
        ("b.ipynb", twice),
        ("link.ipynb", {"problem": "It is a link; links are not followed."}),
    ]
    found = [(f.path, f.problem, f.note) for f in listing.files]
    assert found == [(p, r.get("problem", ""), r.get("note", "")) for p, r in expected]
    assert content == b"22" and listing.files[2].time == datetime(*NEWER, tzinfo=UTC).timestamp()
    assert (listing.junk_count, listing.repositories) == (2, {"", "sub"})


def test_a_folder_that_cannot_be_listed_is_named(tmp_path, monkeypatch):
    write_files(tmp_path, {"a/b/lab.ipynb": b"", "a/lab.ipynb": b"", "junk/.DS_Store": b""})
    scandir = os.scandir

    def refuse(path):
        if path.name in refused:
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(archives.os, "scandir", refuse)
    reason = "The folder cannot be read (Permission denied)."
    for refused, rows in (
        (["b"], [("a/b", reason), ("a/lab.ipynb", "")]),
        ([tmp_path.name], [(".", reason)]),
    ):
        listing = archives.list_folder(tmp_path, set())
        assert [(file.path, file.problem) for file in listing.files] == rows
        assert listing.junk_count == (1 if refused == ["b"] else 0)


def test_a_file_whose_kind_cannot_be_asked_is_named_and_the_others_are_listed(
    tmp_path, monkeypatch
):
    write_files(tmp_path, {"ada.ipynb": b"", "bo.ipynb": b""})

    @contextmanager
    def scan(_):
        error = PermissionError(13, "Permission denied")
        unreadable = SimpleNamespace(name="a\u0308.ipynb", stat=Mock(side_effect=error))
        with scandir(tmp_path) as entries:
            yield [*entries, unreadable]

    scandir = os.scandir
    monkeypatch.setattr(archives.os, "scandir", scan)
    listing = archives.list_folder(tmp_path, set())
    rows = [(file.path, file.problem) for file in listing.files]
    reason = "It cannot be read (Permission denied)."
    assert rows == [("ada.ipynb", ""), ("bo.ipynb", ""), ("ä.ipynb", reason)]


def test_folders_of_systems_and_of_git_are_known_though_they_are_empty(tmp_path):
    for name in ("a/.git", "__MACOSX", "b/.ipynb_checkpoints", "empty"):
        (tmp_path / name).mkdir(parents=True)
    write_files(tmp_path, {"a/.git/config": b"", "__MACOSX/b.ipynb": b"", "b/c.ipynb": b""})
    listing = archives.list_folder(tmp_path, set())
    assert [file.path for file in listing.files] == ["b/c.ipynb"]
    assert (listing.junk_count, listing.repositories) == (3, {"a"})


def test_a_read_of_all_that_is_left_is_refused_by_its_size():
    for count in (None, -1, 6):
        file = archives._FileRefusingLargeReads(io.BytesIO(b"content"), 5)
        assert file.size == 7
        file.seek(1)
        with pytest.raises(FileRefused):
            file.read(count)
        assert file.tell() == 1
        file.seek(2)
        assert file.read(5 if count == 6 else count) == b"ntent"


@pytest.mark.parametrize(
    ("path", "mode", "problem", "note"),
    [
        ("a/é 😀.ipynb", stat.S_IFREG, "", ""),
        ("a/\udce9.ipynb", stat.S_IFREG, "", "Its name is not UTF-8."),
        ("a/\udc80\udcff", stat.S_IFREG, "", "Its name is not UTF-8."),
        ("a/\x01", stat.S_IFREG, "Its name holds control characters.", ""),
        ("a/\x01", stat.S_IFLNK, "It is a link; links are not followed.", ""),
        ("a", stat.S_IFIFO, "It is not an ordinary file but a pipe, a socket or a device.", ""),
    ],
)
def test_a_file_of_a_folder_has_its_time_and_what_is_wrong_with_it(
    tmp_path, path, mode, problem, note
):
    (tmp_path / "x").write_bytes(b"content")
    status = SimpleNamespace(st_mode=mode, st_mtime=5.5)
    file = archives._make_incoming_file(tmp_path / "x", path, status)
    assert (file.path, file.time, file.disk_path) == (path, 5.5, tmp_path / "x")
    assert (file.problem, file.note) == (problem, note)
    assert archives.read_content(file, 7) == b"content"


def test_a_file_that_the_instructor_named_is_read_from_its_place(tmp_path):
    write_files(tmp_path, {"a\u0308.zip": b"content"}, modified_at=1_800_000_000)
    path = tmp_path / "a\u0308.zip"
    file = archives.file_from_disk(path)
    assert (file.path, file.time, file.disk_path) == ("ä.zip", 1_800_000_000, path)
    assert (file.problem, file.note, file.is_class_download) == ("", "", False)
    assert archives.read_content(file, 7) == b"content"
    with pytest.raises(FileRefused):
        archives.read_content(file, 6)


@pytest.mark.parametrize(
    ("size", "limit", "message"),
    [(2_600_000_000, 500_000_000, "2,600 MB; 500 MB"), (1_500_001, 1_499_999, "2 MB; 1 MB")],
)
def test_a_size_is_said_in_megabytes(size, limit, message):
    assert archives._size_message(size, limit) == f"It has {message} are the most."


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(28, "No space left."), "No space left"),
        (ValueError("bad\nworse"), "bad"),
        (RecursionError(), "RecursionError"),
        (ValueError("a\x1b" + "b" * 200), f"a\\x1b{'b' * 67}…{'b' * 36}"),
    ],
)
def test_an_error_is_described_in_one_short_line(error, text):
    assert archives.describe_error(error) == text


def test_a_temporary_copy_of_a_zip_lies_in_the_classroom_if_there_is_one(tmp_path, monkeypatch):
    folders = []
    monkeypatch.setattr(
        archives.tempfile,
        "SpooledTemporaryFile",
        lambda dir, **options: folders.append(dir) or io.BytesIO(),
    )
    for folder in (tmp_path, tmp_path / "missing", None):
        zip_file = archives.IncomingFile(path="x.zip")
        with archives.ZipReader(UTC, folder)._copy_inner_zip_to_temporary_file(zip_file):
            pass
    assert folders == [str(tmp_path), None, None]
