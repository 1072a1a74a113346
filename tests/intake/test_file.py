"""From attempts to folders: which one counts, what is kept, and what is said."""

import io
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from downloads import (
    LABS,
    QKV,
    attempts,
    blackboard,
    classroom,
    collect,
    earlier,
    filed,
    make_zip,
    member,
    notebook,
    of,
    only,
    put,
    refusals,
    snapshot,
    texts,
    zip_bytes,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from our_course import COURSE

from autograder import files
from autograder.errors import Complaint
from autograder.grading.intake import file as filing
from autograder.grading.intake import read_origin
from autograder.grading.marking.handin import MAX_BYTES
from autograder.grading.register.classroom import Classroom


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
    assert outcomes == ["older", "older", "unchanged"]
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


def test_without_what_is_remembered_file_times_decide(room, inbox, tmp_path):
    collect([put(inbox, {"ada/qkv-attention.ipynb": notebook("2001")}, when=1_000_000_000)], room)
    shutil.rmtree(room.root / "collected")
    other = put(tmp_path / "other", {"ada/qkv-attention.ipynb": notebook("2002")}, when=1_020_000_000)
    assert only(collect([other], room)).outcome == "filed"
    assert only(collect([inbox], room)).outcome == "older"


def test_the_same_hand_in_without_its_time_changes_nothing(room, inbox, tmp_path):
    collect([put(inbox, attempts(3))], room)
    before = snapshot(room.root)
    other = put(tmp_path / "other", {"ada/qkv-attention.ipynb": notebook("at 3")}, when=1_900_000_000)
    assert only(collect([other], room)).outcome == "unchanged"
    assert snapshot(room.root) == before


def test_after_a_kill_nobody_is_said_to_have_no_time_who_has_one(room, inbox):
    """The run ended between the hand-in with its time and the note of where they came from."""
    put(inbox, attempts(3))
    collect([inbox], room)
    (note,) = (room.root / "collected").rglob("*.json")
    note.rename(note.with_name(f".{note.name}.4711")).write_text("")
    report = collect([inbox], room)
    assert report.untimed == 0 and "without a time stamp" not in report.summary


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
    submission = Classroom(room.root, COURSE).submission("ada1", QKV)
    assert submission.timestamp == "2026-11-20 19:03:22 UTC" and submission.why == ""
    assert Classroom(room.root, COURSE).handed_in([QKV]) == [("ada1", QKV)]


def test_a_replaced_attempts_time_stamp_does_not_stay(room, inbox, tmp_path):
    collect([put(inbox, attempts(3))], room)
    plain = put(tmp_path / "plain", {"ada/qkv-attention.ipynb": notebook("later")}, when=1_900_000_000)
    collect([plain], room, replaces=True)
    assert filed(room) == {"ada/qkv-attention": ("later", None)}


def test_a_hand_in_put_there_by_hand_is_compared_and_kept(room, inbox):
    folder = room.submitted / "ada" / QKV
    put(folder, {"my-work.ipynb": notebook("by hand"), "timestamp.txt": b"2026-11-20 14:05:00 UTC"})
    report = collect([put(inbox, attempts(3))], room)
    assert only(report).outcome == "older"
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
        make_zip(
            tmp_path / "canvas.zip",
            {"hoppergrace_LATE_6_7_qkv-attention-2.ipynb": notebook(), "turingalan_9_10_all.zip": inner},
        ),
        make_zip(
            tmp_path / "moodle.zip",
            {
                "Zoe M_1_assignsubmission_file_/qkv-attention.ipynb": notebook(),
                "Kurt G_2_assignsubmission_onlinetext_/onlinetext.html": b"<p>here</p>",
            },
        ),
        put(tmp_path / "bb", blackboard() | attempts(1, 2, 3)),
        put(tmp_path / "plain", plain),
    ]
    first = collect(paths, room)
    before = snapshot(room.root)
    second = collect(paths, room)
    assert snapshot(room.root) == before
    assert "filed" in {row.outcome for row in first.rows}
    assert {row.outcome for row in second.rows} == {"unchanged", "older", "ignored"}
    assert [row.source for row in first.rows] == [row.source for row in second.rows]
    # The check can fail: a file that is touched shows.
    os.utime(next(room.submitted.rglob("*.ipynb")), (1, 1))
    assert snapshot(room.root) != before


def test_the_classroom_within_the_folder_is_not_collected_from_itself(tmp_path):
    room = classroom(tmp_path / "classroom")
    put(tmp_path, {"ada/qkv-attention.ipynb": notebook()})
    collect([tmp_path], room)
    before = snapshot(room.root)
    assert only(collect([tmp_path], room)).outcome == "unchanged"
    assert snapshot(room.root) == before
    with pytest.raises(Complaint, match="is the classroom's own"):
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
        assert only(collect([inbox], room)).outcome == "unchanged"


def test_nothing_is_half_written(room, inbox, monkeypatch):
    collect([put(inbox, attempts(3))], room)
    before = snapshot(room.root)

    def full(self, target):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(Complaint, match="No space left on device"):
        collect([put(inbox, attempts(9))], room)
    now = snapshot(room.root / "submitted")
    assert {k: v[1] for k, v in now.items() if k.endswith(".ipynb")} == {
        "ada/qkv-attention/qkv-attention.ipynb": before["submitted/ada/qkv-attention/qkv-attention.ipynb"][1]
    }
    monkeypatch.undo()
    collect([inbox], room)
    assert filed(room)["ada/qkv-attention"][0] == "at 9"
    assert not list(room.root.rglob("*.part"))


@pytest.mark.parametrize("what", ["replace", "open"])
def test_a_full_disk_leaves_no_folder_that_would_count_as_a_hand_in(room, inbox, monkeypatch, what):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((Path, "replace") if what == "replace" else (tempfile, "mkstemp")), full)
    with pytest.raises(Complaint, match="No space left on device"):
        collect([put(inbox, attempts(3))], room)
    assert not list(room.submitted.glob("*"))


def test_a_notebook_too_large_to_mark_is_a_hand_in_all_the_same(room, inbox):
    (inbox / "ada").mkdir()
    with open(inbox / "ada" / "qkv-attention.ipynb", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert only(collect([inbox], room)).outcome == "filed"
    assert "at most 20 MB can be marked" in Classroom(room.root, COURSE).submission("ada", QKV).why


def test_bad_usage(room, inbox, tmp_path):
    with pytest.raises(Complaint, match=r"There is no .*nothing\.zip\."):
        collect([tmp_path / "nothing.zip"], room)
    with pytest.raises(Complaint, match="Nothing to collect"):
        collect([], room)
    for zone in ("Mars/Olympus", "../../etc/passwd", "/etc/localtime", ""):
        with pytest.raises(Complaint, match="There is no time zone"):
            collect([inbox], room, timezone=zone)
    assert not room.root.exists()
    room.root.write_text("a file")
    with pytest.raises(Complaint, match="is not a folder"):
        collect([inbox], room)


def test_the_report_prints(room, tmp_path):
    from rich.console import Console

    members = [
        ("../x.ipynb", b""),
        ("[bold]ada/qkv-attention.ipynb", notebook()),
        ("bob/\u202ex[/].pdf", b""),
    ]
    report = collect([make_zip(tmp_path / "class.zip", members)], room)
    console = Console(file=io.StringIO(), width=160)
    console.print(report.table())
    shown = console.file.getvalue()
    assert "].pdf" in shown and "[bold]" not in shown  # what is filed needs no look
    assert report.summary.startswith("1 filed, 1 refused, 1 unmatched.")
    assert report.exit_code == 1


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
@example(names=["..", "ada_12_34_qkv-attention.ipynb/qkv-attention.ipynb"], nest=False, mode=0)
def test_any_names_stay_inside(tmp_path, names, nest, mode):
    base = tmp_path / f"{time.perf_counter_ns()}"
    base.mkdir()
    room = classroom(base / "classroom")
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
    for path in filter(Path.is_file, room.submitted.rglob("*.ipynb")):  # a folder, too, may be named so
        assert path.stem == path.parent.name in LABS
    before = snapshot(room.root) if room.root.exists() else {}
    second = collect([base / "class.zip"], room)
    assert (snapshot(room.root) if room.root.exists() else {}) == before
    assert "filed" not in {row.outcome for row in second.rows}
    assert len(second.rows) == len(first.rows)


# What counts, what is kept, what is said


@pytest.mark.parametrize(
    ("files", "counts", "rule"),
    [
        ({"qkv-attention.ipynb": 0, "qkv-attention_v2.ipynb": 0}, "_v2", "it has the largest copy number"),
        ({"qkv-attention.ipynb": 0, "qkv-attention (1).ipynb": 0}, " (1)", "it has the largest copy number"),
        ({"qkv-attention.ipynb": 9, "qkv-attention (1).ipynb": 0}, "", "it is the newest"),
        ({"qkv-attention.ipynb": 0, "my qkv-attention.ipynb": 0}, "", "it is called after the lab"),
        ({"a qkv-attention.ipynb": 0, "b qkv-attention.ipynb": 0}, "b ", "it comes last in the alphabet"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_which_of_two_files_in_one_hand_in_counts_is_said(room, tmp_path, files, counts, rule, turned):
    above = "Ada_1_assignsubmission_file_/"
    members = [
        (member(above + name, (2026, 11, 20, 12, minute, 0)), notebook(name))
        for name, minute in files.items()
    ]
    done = collect([make_zip(tmp_path / "m.zip", members[::-1] if turned else members)], room)
    chosen = next(n for n in files if (counts or "qkv-attention.ipynb") in n and (counts or n[0] == "q"))
    chosen = "qkv-attention.ipynb" if not counts else chosen
    assert texts(room) == {"Ada/qkv-attention": chosen}
    (older,) = of(done, "older")
    assert older.reason == f"Of 2 notebooks in this hand-in, {chosen} counts: {rule}."
    assert not earlier(room)  # the other one is not written anywhere


def test_a_canvas_uploads_number_counts(room, inbox):
    files = {"a_1_700_qkv-attention-1.ipynb": notebook("new"), "a_1_699_qkv-attention.ipynb": notebook("old")}
    done = collect([put(inbox, files)], room)
    assert texts(room) == {"a-1/qkv-attention": "new"}
    assert "the upload's number is the largest" in of(done, "older")[0].reason


def test_two_downloads_of_one_name_are_two(room, tmp_path):
    old = {"ada/qkv-attention.ipynb": notebook("sooner")}
    one = put(tmp_path / "1" / "submissions", old, when=1_800_000_000)
    two = put(
        tmp_path / "2" / "submissions", {"ada/qkv-attention.ipynb": notebook("later")}, when=1_900_000_000
    )
    collect([one, two], room)
    assert texts(room) == {"ada/qkv-attention": "later"} and len(earlier(room)) == 1


def test_a_replaced_hand_in_takes_its_time_and_origin_with_it(room, inbox, tmp_path):
    collect([put(inbox, attempts(3))], room)
    late = put(tmp_path / "2", {"ada_LATE_5_6_qkv-attention.ipynb": notebook("x")})
    collect([late], room)
    assert filed(room)["ada/qkv-attention"][1] == "2026-11-20 14:03:00 UTC"
    plain = put(tmp_path / "3", {"ada/qkv-attention.ipynb": notebook("later")}, when=1_900_000_000)
    collect([plain], room, replaces=True)
    origin = read_origin(room.root, "ada", QKV)
    assert (origin.platform, origin.handed_in, origin.number) == ("folder", None, 0)
    assert filed(room)["ada/qkv-attention"] == ("later", None)
    kept = json.loads((room.root / "collected" / "ada" / f"{QKV}.json").read_text())
    assert kept["version"] == 1 and kept["sha256"]


def test_an_origin_cannot_be_handed_in(room, inbox):
    """nbgrader's exchange puts whatever a student sends beside the notebook; this is not read from there."""
    collect([put(inbox, {"eve_5_6_qkv-attention.ipynb": notebook()})], room)
    folder = room.submitted / "eve-5" / QKV
    put(folder, {".handin.json": b'{"lms_id": "1"}', f"{QKV}.json": b'{"lms_id": "1"}'})
    assert read_origin(room.root, "eve-5", QKV).lms_id == "5"


def test_what_fails_with_one_hand_in_is_its_row(room, inbox, monkeypatch):
    real = filing.origin_of

    def failing(attempt):
        if attempt.student == "bo":
            raise RecursionError("too deep\x1b[2J")
        return real(attempt)

    monkeypatch.setattr(filing, "origin_of", failing)
    done = collect([put(inbox, {f"{s}/qkv-attention.ipynb": notebook() for s in ("ada", "bo", "cy")})], room)
    assert sorted(filed(room)) == ["ada/qkv-attention", "cy/qkv-attention"]
    assert refusals(done) == ["It could not be filed: too deep\\x1b[2J."] and done.exit_code == 1


@pytest.mark.parametrize("name", ["ada", "b" * 90])
def test_a_folder_that_cannot_be_made_is_one_hand_ins_row(room, inbox, name):
    put(room.submitted, {name: b"a file where the folder should be"})
    done = collect([put(inbox, {f"{s}/qkv-attention.ipynb": notebook() for s in (name, "cy")})], room)
    assert list(filed(room)) == ["cy/qkv-attention"]
    assert refusals(done) == [f"submitted/{name} is a link or a file where a folder should be."]


def test_one_and_many(room, inbox):
    done = collect([put(inbox, {"ada/qkv-attention.ipynb": notebook(), "ada/a.csv": b""})], room)
    assert done.table() is None
    assert done.summary == (
        "1 filed, 1 file beside them that is no notebook.\n"
        "1 hand-in without a time stamp, and so without a late penalty: nothing says when they came. "
        "roster.csv may, in a column 'Handed in <lab>'."
    )
    put(inbox, {f"{s}/qkv-attention.ipynb": notebook() for s in ("bo", "cy")})
    put(inbox, {"bo/a.csv": b""})
    assert collect([inbox], room).summary.startswith(
        "2 filed, 1 unchanged, 2 files beside them that are no notebooks.\n3 hand-ins without a time stamp"
    )


def test_the_table_is_as_long_as_what_needs_a_look(room, inbox):
    files = {f"s{i}/qkv-attention.ipynb": notebook() for i in range(50)} | {"qkv-attention.ipynb": notebook()}
    table = collect([put(inbox, files)], room).table()
    assert table.row_count == 1


def test_nothing_printed_holds_control_codes(room, inbox, capsys):
    from rich.console import Console

    files = {
        "a\x1b]0;x\x07\u202eb/q.pdf": b"",
        "c\x9b2J_1_2_qkv-attention.ipynb": notebook(),
        "d/qkv-attention.ipynb": notebook(),
    }
    done = collect([put(inbox, files)], room)
    console = Console(file=io.StringIO(), width=200, no_color=True)
    console.print(done.table())
    printed = console.file.getvalue() + done.summary
    assert all(c.isprintable() or c == "\n" for c in printed)
    assert all(row.source.isprintable() and row.reason.isprintable() for row in done.rows)


def test_the_name_of_a_file_is_the_students_part_of_it(room, inbox):
    """The platform's part stood in it twice, and so in the name under which Canvas gets its feedback."""
    files = {
        "adal_1_2_qkv-attention.ipynb": notebook(),
        "bobb_3_4_x.zip": zip_bytes({"my qkv-attention.ipynb": b"{}"}),
    }
    collect([make_zip(inbox / "c.zip", files)], room)
    one, other = (read_origin(room.root, who, "qkv-attention") for who in ("adal-1", "bobb-3"))
    assert (one.original, one.file) == ("adal_1_2_", "qkv-attention.ipynb")
    assert (other.original, other.file) == ("bobb_3_4_", "my qkv-attention.ipynb")


def test_two_students_are_not_one_where_the_file_system_thinks_so(room, tmp_path, monkeypatch):
    """As on macOS and Windows, which take Anna for anna; Windows has no folder "con", and takes "ada." for "ada"."""
    collect([put(tmp_path / "1", {"anna/qkv-attention.ipynb": notebook("anna's")})], room)
    before = snapshot(room.root)
    lexists = os.path.lexists
    monkeypatch.setattr(
        os.path,
        "lexists",
        lambda path: lexists(path) or Path(path).name.lower() in os.listdir(Path(path).parent),
    )
    with pytest.raises(filing.Refused, match=r"^submitted/Anna cannot be told from a folder that is there"):
        filing._Place(room.root).folder("submitted", "Anna", "qkv-attention")
    assert filing._Place(room.root).folder("submitted", "anna", "qkv-attention").is_dir()
    monkeypatch.setattr(files, "_ON_WINDOWS", True)
    for name in ("con", "Aux.txt", "a:b", "ada.", "ada "):
        assert files.why_no_folder(room.root, name) == "is a name that Windows gives to no folder"
    assert files.why_no_folder(room.root, "console") == ""
    assert snapshot(room.root) == before


def test_what_a_killed_run_has_left_goes_with_the_next(room, inbox, monkeypatch):
    """Up to 40 MB a kill stayed beside a hand-in for ever."""
    collect([put(inbox, {"ada/qkv-attention.ipynb": notebook("1")})], room)
    left = room.submitted / "ada" / "qkv-attention" / ".collect-x.part"
    left.write_bytes(b"half")
    collect([inbox], room)
    assert left.exists()  # another run may be writing it
    monkeypatch.setattr("autograder.grading.intake.file.STALE", -1)
    collect([inbox], room)
    assert not left.exists() and list(filed(room)) == ["ada/qkv-attention"]
