"""Odd zips and folders: nothing gets out of its place, and the others of the same download are filed."""

import os
import stat
import struct
import time
import zlib

import pytest
from downloads import (
    NEWER,
    OLDER,
    collect,
    filed,
    make_zip,
    member,
    notebook,
    of,
    only,
    put,
    refusals,
    zip_bytes,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import files
from autograder.grading.intake import unpack

GOOD = ("zed/qkv-attention.ipynb", notebook("good"))


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
        ("é" * 200 + "/qkv-attention.ipynb", "Its name is too long (220 characters)."),
        ("a/" * 600 + "qkv-attention.ipynb", "It lies more than 32 folders deep."),
        (("a" * 99 + "/") * 12 + "x.ipynb", "Its name is too long (1,207 characters)."),
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
    report = collect([make_zip(tmp_path / "class.zip", [*members, GOOD])], room)
    assert refusals(report) == ["The zip holds 2 files of this name, which may be several people's."]
    assert list(filed(room)) == ["zed/qkv-attention"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_members_of_a_students_own_zip(room, tmp_path):
    own = zip_bytes([("qkv-attention.ipynb", notebook("first")), ("qkv-attention.ipynb", notebook("last"))])
    for outcome in ("filed", "unchanged"):
        report = collect([make_zip(tmp_path / "class.zip", {"ada/qkv-attention.zip": own})], room)
        assert filed(room) == {"ada/qkv-attention": ("last", None)}
        assert only(report).outcome == outcome
        assert "more than once; the last one counts" in only(report).reason


def test_names_that_differ_only_in_case(room, tmp_path):
    members = [
        (member("Ada/qkv-attention.ipynb", OLDER), notebook("old")),
        (member("ada/QKV-attention.ipynb", NEWER), notebook("new")),
    ]
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    assert filed(room) == {} and report.exit_code == 1
    assert all("differ only in case, and may be one person or two" in row.reason for row in report.rows)


def test_a_bomb_of_one_member(room, tmp_path):
    members = [("ada/qkv-attention.ipynb", bytes(30_000_000)), GOOD]
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    (why,) = refusals(report)
    assert why.startswith("It would unpack to ") and why.endswith(" times its size, as a zip bomb does.")
    assert list(filed(room)) == ["zed/qkv-attention"]


def test_a_bomb_of_many_members(room, tmp_path):
    data = bytes(30_000_000)
    bomb = zip_bytes({f"{i}/x.ipynb": data for i in range(5)})
    report = collect([make_zip(tmp_path / "class.zip", [("mallory.zip", bomb), GOOD])], room)
    (why,) = refusals(report)
    assert why.startswith("The zip would unpack to ")
    assert list(filed(room)) == ["zed/qkv-attention"]


def test_one_bomb_in_a_class_does_not_refuse_the_class(room, tmp_path):
    """A notebook of 100 MB of zeros made five honest hand-ins in the same zip a bomb."""
    members = [("mallorym_9_9_x.ipynb", bytes(120_000_000)), ("zed_1_2_qkv-attention.ipynb", notebook())]
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    (why,) = refusals(report)
    assert why.startswith("It has 120 MB")
    assert list(filed(room)) == ["zed-1/qkv-attention"]


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
    members = {f"s{i}/qkv-attention.ipynb": b"" for i in range(unpack.LIMITS.members + 1)}
    report = collect([make_zip(tmp_path / "class.zip", [("mallory.zip", zip_bytes(members)), GOOD])], room)
    assert refusals(report) == [
        "The zip has 10,001 members; 10,000 are the most. Unpack it and collect the folder."
    ]
    assert list(filed(room)) == ["zed/qkv-attention"]


def test_one_with_many_files_does_not_refuse_the_class(room, tmp_path):
    """10,000 files of one student's made the class's zip too large to be opened."""
    members = [(f"mallorym_9_{i}_x.txt", b"") for i in range(unpack.LIMITS.members + 1)]
    report = collect(
        [make_zip(tmp_path / "class.zip", [*members, ("zed_1_2_qkv-attention.ipynb", notebook())])], room
    )
    assert list(filed(room)) == ["zed-1/qkv-attention"] and not refusals(report)


def test_a_table_of_contents_that_would_fill_the_memory(room, tmp_path, limits):
    limits(class_contents=1000)
    members = {f"s{i}/qkv-attention.ipynb": b"" for i in range(50)}
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    assert "table of contents alone" in only(report).reason


def test_too_many_files_in_a_folder(room, inbox, limits):
    limits(class_members=5)
    report = collect([put(inbox, {f"{i}.txt": b"" for i in range(10)})], room)
    assert refusals(report) == ["There are more than 5 files; the rest of this folder was not looked at."]


def test_one_with_very_many_files_keeps_nobody_else_out(room, inbox, limits):
    """A repository of 200,000 files was looked through first, and those before it in the alphabet not at all."""
    limits(class_members=60)
    files = {f"{who}/qkv-attention.ipynb": notebook(who) for who in ("ada", "bob", "zoe")}
    files |= {f"mallory/d{i % 3}/{i}.txt": b"" for i in range(200)}
    report = collect([put(inbox, files)], room)
    (why,) = refusals(report)
    assert "more than 60 files" in why
    assert next(row.source for row in report.rows if row.outcome == "refused").startswith("inbox/mallory")
    assert {who.split("/")[0] for who in filed(room)} == {"ada", "bob", "zoe"}


def test_a_name_in_which_a_pattern_would_look_for_ever(room, inbox, tmp_path):
    """The form of Brightspace tried all ways of dividing 36,000 characters in four: hours."""
    name = "1-1 - " + "a - " * 4000 + "1111 " * 4000 + "x.ipynb"
    short = "1-1 - " + "a - " * 25 + "1111 " * 20 + "x.ipynb"
    bad = zip_bytes([(name, notebook()), *((f"{i}/{short}", notebook()) for i in range(100))])
    members = [("mallory.zip", bad), GOOD]
    begun = time.monotonic()
    collect([make_zip(tmp_path / "class.zip", members)], room)
    assert time.monotonic() - begun < 20
    assert "zed/qkv-attention" in filed(room)


def test_zips_in_a_zip_are_listed_up_to_a_number_of_files(room, inbox, limits):
    """200 zips of 9,900 files each, all in one of 17 MB, kept the run busy for minutes."""
    limits(listed=20)
    inner = zip_bytes({f"{i}": b"" for i in range(15)})
    name = "Mal Lory_12_assignsubmission_file_/x.zip"
    put(inbox, {name: zip_bytes({f"z{i}.zip": inner for i in range(5)})})
    put(inbox, {"Zed Z_13_assignsubmission_file_/qkv-attention.ipynb": notebook()})
    report = collect([inbox], room)
    assert len([why for why in refusals(report) if "more than 20 files" in why]) == 3
    assert len(filed(room)) == 1


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
        (patched(ONE, size=500_000_000), ("The zip would unpack to ", "It has 500 MB; 40 MB are the most.")),
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
    bad = [row for row in report.rows if row.outcome in ("refused", "unmatched")]
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
    assert only(report).outcome == "filed"
    assert report.junk == 4 and "4 of the system's own passed over" in report.summary


def test_what_becomes_a_link_while_it_is_read(inbox, monkeypatch):
    path = inbox / "qkv-attention.ipynb"
    path.symlink_to("/etc/passwd")
    os.mkfifo(inbox / "pipe")
    for odd in (path, inbox / "pipe", inbox):
        with pytest.raises(unpack.Refused, match=r"^It is not an ordinary file\.$"):
            unpack.opened(odd)
    before = os.stat(__file__)
    monkeypatch.setattr(os, "lstat", lambda _: before)  # it was one a moment ago
    with pytest.raises(unpack.Refused, match="It cannot be read"):
        unpack.opened(path)
    with pytest.raises(unpack.Refused, match="not an ordinary file"):
        unpack.opened(inbox / "pipe")


def test_without_the_flags_of_linux_a_link_is_not_followed_either(inbox, monkeypatch):
    """As on Windows; and line ends stay what they are."""
    for name in ("O_NOFOLLOW", "O_NONBLOCK"):
        monkeypatch.delattr(os, name)
    path = inbox / "qkv-attention.ipynb"
    path.symlink_to("/etc/passwd")
    with pytest.raises(unpack.Refused, match="not an ordinary file"):
        unpack.opened(path)
    files.write(inbox / "text", "a\r\nb\n")
    assert files.read_ordinary(inbox / "text", 4) == b"a\r\nb"


# What a zip costs


def test_ones_zip_takes_nothing_from_the_others(room, tmp_path, monkeypatch):
    """B6: 256 members of 79 MB in one student's zip kept those from being filed who come after."""
    read = []
    real = unpack._stream_member
    monkeypatch.setattr(
        unpack, "_stream_member", lambda a, i, limit: (read.append(i.filename), real(a, i, limit))[1]
    )
    large = notebook("\n".join(os.urandom(20).hex() for _ in range(10_000)))
    many = {f"{i}/qkv-attention-{i}.ipynb": large for i in range(50)}
    files = {
        "alice_1_1_qkv-attention.ipynb": notebook("a"),
        "mallory_2_2_all.zip": zip_bytes(many),
        "zoe_3_3_qkv-attention.ipynb": notebook("z"),
    }
    report = collect([make_zip(tmp_path / "class.zip", files)], room)
    assert sorted(filed(room)) == ["alice-1/qkv-attention", "mallory-2/qkv-attention", "zoe-3/qkv-attention"]
    # One of the fifty is read, to be hashed and to be filed; none is written but that.
    assert {name for name in read if name[0].isdigit()} == {"49/qkv-attention-49.ipynb"}
    assert len(list(room.root.rglob("*.ipynb"))) == 3
    assert len(of(report, "older")) == 49


def test_a_budget_a_student(room, tmp_path, limits):

    limits(read=2_000)
    files = {
        f"ada_1_1_{lab}.ipynb": notebook(os.urandom(600).hex())
        for lab in ("qkv-attention", "attention-masks")
    }
    files |= {f"zoe_2_2_{lab}.ipynb": notebook("z") for lab in ("qkv-attention", "attention-masks")}
    report = collect([make_zip(tmp_path / "class.zip", files)], room)
    assert sorted(filed(room)) == ["ada-1/attention-masks", "zoe-2/attention-masks", "zoe-2/qkv-attention"]
    assert "of this student's were read" in refusals(report)[0]


def test_too_many_notebooks_in_one_hand_in(room, tmp_path):
    inner = zip_bytes({f"{i}/qkv-attention.ipynb": b"" for i in range(201)})
    report = collect([make_zip(tmp_path / "class.zip", {"ada_1_1_x.zip": inner})], room)
    assert refusals(report) == ["It holds 201 notebooks and zips; 200 are the most in one hand-in."]


def test_notebooks_up_to_a_bound(room, inbox):
    for student, more in (("ada", 0), ("bob", 1)):
        (inbox / student).mkdir()
        with open(inbox / student / "qkv-attention.ipynb", "wb") as file:
            file.truncate(unpack.LIMITS.file + more)
    report = collect([inbox], room)
    assert [row.outcome for row in report.rows] == ["filed", "refused"]
    assert report.rows[1].reason == "It has 40 MB; 40 MB are the most."


def test_zips_are_opened_again_when_others_were_read(room, inbox, limits):
    limits(open_zips=1)
    for i in range(5):
        make_zip(
            inbox / f"s{i}.zip",
            {"qkv-attention.ipynb": notebook(str(i)), "attention-masks.ipynb": notebook("m")},
        )
    collect([inbox], room)
    assert len(filed(room)) == 10 and filed(room)["s3/qkv-attention"][0] == "3"


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_change_to_a_zip_is_survived(tmp_path_factory, data):
    raw = bytearray(ONE)
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("z") / "x.zip"
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw)
    from datetime import UTC

    with unpack.Zips(UTC) as zips:
        try:
            for found in zips.listing(unpack.one_file(path)).found:
                unpack.read(found, 10_000)
        except unpack.Refused as refused:
            assert str(refused).endswith(".")


def test_ten_thousand_odd_files_of_one_student_are_a_few_lines(room, tmp_path):
    from io import StringIO

    from rich.console import Console

    links = [(member(f"x{n}", mode=stat.S_IFLNK | 0o777), b"a") for n in range(3_000)]
    zips = {"mallory_1_2_work.zip": zip_bytes(links), "ada_3_4_qkv-attention.ipynb": notebook()}
    report = collect([make_zip(tmp_path / "class.zip", zips)], room)
    assert list(filed(room)) == ["ada-3/qkv-attention"] and len(refusals(report)) == 3_000
    console = Console(file=StringIO(), width=200)
    console.print(report.table())
    said = console.file.getvalue()
    assert len(said.splitlines()) < 60 and "And 2,980 more like these." in said


def test_what_goes_wrong_with_one_students_zip_is_that_students(room, tmp_path, monkeypatch):
    def no_room(self, found):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(unpack.Zips, "_spooled", no_room)
    zips = {
        "ada_1_2_qkv-attention.ipynb": notebook(),
        "mallory_3_4_work.zip": zip_bytes([GOOD]),
        "zoe_5_6_qkv-attention.ipynb": notebook(),
    }
    report = collect([make_zip(tmp_path / "class.zip", zips)], room)
    assert list(filed(room)) == ["ada-1/qkv-attention", "zoe-5/qkv-attention"]
    assert refusals(report) == ["It could not be read: No space left on device."]
