"""Filing attempts: the one that counts, the earlier ones, and the report."""

import hashlib
import io
import json
import os
import shutil
import tempfile
import time
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from downloads import (
    LABS,
    QKV,
    blackboard_attempts,
    blackboard_files,
    collect,
    earlier_attempts,
    files_with_outcome,
    make_classroom,
    make_zip,
    notebook,
    only_file,
    read_submitted,
    refusal_reasons,
    snapshot,
    submitted_texts,
    write_files,
    zip_bytes,
    zip_member,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from our_course import COURSE

from autograder.core import files
from autograder.core.errors import AutograderError, UsageError
from autograder.core.notebook_cells import MAX_NOTEBOOK_BYTES
from autograder.gradebook.classroom import Classroom
from autograder.intake import Origin, read_origin, store
from autograder.intake.collect import (
    MAX_LISTED_NAMES,
    MAX_TABLE_ROWS,
    CollectionReport,
    SubmittersAndAbsentees,
    _count_without_timestamp,
    _join_first_names_and_count_others,
    _limit_rows_per_student,
    _make_roster_and_zone_notes,
    _parse_time_zone_options,
    find_submitters_and_absentees,
)
from autograder.intake.finder import FileOutcome, FileReport
from autograder.intake.roster import Person, PlatformIdentity, Roster
from autograder.intake.upload_limits import FileRefused


def test_the_newest_attempt_wins_and_the_others_are_kept(classroom, make_download):
    report = collect([make_download(blackboard_attempts(3, 9, 6))], classroom)
    assert read_submitted(classroom) == {"ada/qkv-attention": ("at 9", "2026-11-20 14:09:00 UTC")}
    assert [path.name[:16] for path in earlier_attempts(classroom)] == [
        "20261120T140300Z",
        "20261120T140600Z",
    ]
    assert sorted(row.outcome for row in report.files) == ["filed", "older", "older"]
    assert all((classroom.root / row.path).is_file() for row in report.files)
    for row in report.files:
        minute = str(int(row.source.split("-14-")[1][:2]))
        assert f"at {minute}" in (classroom.root / row.path).read_text()
    assert report.exit_code == 0


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_a_later_run_with_newer_or_older_attempts(classroom, tmp_path, order):
    zips = {
        1: make_zip(tmp_path / "1.zip", blackboard_attempts(3)),
        2: make_zip(tmp_path / "2.zip", blackboard_attempts(3, 6)),
    }
    for number in order:
        collect([zips[number]], classroom)
    assert read_submitted(classroom) == {"ada/qkv-attention": ("at 6", "2026-11-20 14:06:00 UTC")}
    assert [path.name[:16] for path in earlier_attempts(classroom)] == ["20261120T140300Z"]
    snapshot_before = snapshot(classroom.root)
    outcomes = [row.outcome for row in collect([zips[1], zips[2]], classroom).files]
    assert outcomes == ["older", "older", "unchanged"]
    assert snapshot(classroom.root) == snapshot_before


def test_canvas_counts_uploads_whatever_the_files_times(classroom, inbox):
    new = {"lovelaceada_12345_700_qkv-attention-1.ipynb": notebook("new")}
    write_files(
        inbox,
        {"lovelaceada_12345_678_qkv-attention.ipynb": notebook("old")},
        modified_at=1_900_000_000,
    )
    write_files(inbox, new, modified_at=1_000_000_000)
    for _ in range(2):
        collect([inbox], classroom)
        assert read_submitted(classroom) == {"lovelaceada-12345/qkv-attention": ("new", None)}
    shutil.rmtree(classroom.root)
    for name in sorted(os.listdir(inbox), reverse=True):
        collect([inbox / name], classroom)
    assert read_submitted(classroom) == {"lovelaceada-12345/qkv-attention": ("new", None)}


def test_without_an_origin_file_times_decide(classroom, inbox, tmp_path):
    collect(
        [
            write_files(
                inbox,
                {"ada/qkv-attention.ipynb": notebook("2001")},
                modified_at=1_000_000_000,
            )
        ],
        classroom,
    )
    shutil.rmtree(classroom.root / "collected")
    second = write_files(
        tmp_path / "other", {"ada/qkv-attention.ipynb": notebook("2002")}, modified_at=1_020_000_000
    )
    assert only_file(collect([second], classroom)).outcome == "filed"
    assert only_file(collect([inbox], classroom)).outcome == "older"


def test_the_same_submission_without_its_time_changes_nothing(classroom, inbox, tmp_path):
    collect([write_files(inbox, blackboard_attempts(3))], classroom)
    snapshot_before = snapshot(classroom.root)
    second = write_files(
        tmp_path / "other", {"ada/qkv-attention.ipynb": notebook("at 3")}, modified_at=1_900_000_000
    )
    assert only_file(collect([second], classroom)).outcome == "unchanged"
    assert snapshot(classroom.root) == snapshot_before


def test_after_a_killed_run_no_time_stamp_is_reported_missing_that_is_there(classroom, inbox):
    """The run was killed after it wrote the time, and before it wrote the origin."""
    write_files(inbox, blackboard_attempts(3))
    collect([inbox], classroom)
    (note,) = (classroom.root / "collected").rglob("*.json")
    note.rename(note.with_name(f".{note.name}.4711")).write_text("")
    report = collect([inbox], classroom)
    assert report.untimed_count == 0 and "without a time stamp" not in report.summary


def test_a_files_time_becomes_a_time_stamp_only_when_asked(classroom, inbox):
    write_files(inbox, {"ada/qkv-attention.ipynb": notebook()}, modified_at=1_763_647_402)
    assert collect([inbox], classroom).untimed_count == 1
    assert read_submitted(classroom)["ada/qkv-attention"][1] is None
    report = collect([inbox], classroom, file_times=True)
    assert read_submitted(classroom)["ada/qkv-attention"][1] == "2025-11-20 14:03:22 UTC"
    assert report.untimed_count == 0 and not earlier_attempts(classroom)
    snapshot_before = snapshot(classroom.root)
    collect([inbox], classroom, file_times=True)
    assert snapshot(classroom.root) == snapshot_before


@pytest.mark.parametrize(
    ("zones", "hour"),
    [
        ({"timezone": "America/New_York", "course_timezone": "Europe/Berlin"}, 16),
        ({"course_timezone": "Europe/Berlin"}, 10),
    ],
)
def test_the_time_of_a_file_in_a_zip_is_read_in_the_chosen_zone(classroom, tmp_path, zones, hour):
    member = zip_member("ada/qkv-attention.ipynb", (2025, 11, 20, 11, 3, 22))
    path = make_zip(tmp_path / "class.zip", {member: notebook()})
    collect([path], classroom, file_times=True, **zones)
    assert read_submitted(classroom)["ada/qkv-attention"][1] == f"2025-11-20 {hour}:03:22 UTC"


def test_the_time_stamp_is_one_that_nbgrader_and_the_classroom_read(classroom, inbox):
    from nbgrader.coursedir import CourseDirectory

    collect([write_files(inbox, blackboard_files())], classroom)
    folder = classroom.submitted / "ada1" / QKV
    assert str(CourseDirectory().get_existing_timestamp(str(folder))).startswith(
        "2026-11-20 19:03:22",
    )
    submission = Classroom(classroom.root, COURSE).read_submission("ada1", QKV)
    assert submission.timestamp == "2026-11-20 19:03:22 UTC" and submission.note == ""
    assert Classroom(classroom.root, COURSE).list_submissions([QKV]) == [("ada1", QKV)]


def test_a_replaced_attempts_time_stamp_does_not_stay(classroom, inbox, tmp_path):
    collect([write_files(inbox, blackboard_attempts(3))], classroom)
    plain = write_files(
        tmp_path / "plain",
        {"ada/qkv-attention.ipynb": notebook("later")},
        modified_at=1_900_000_000,
    )
    collect([plain], classroom, replaces=True)
    assert read_submitted(classroom) == {"ada/qkv-attention": ("later", None)}


def test_a_submission_put_there_by_hand_is_compared_and_kept(classroom, inbox):
    folder = classroom.submitted / "ada" / QKV
    write_files(
        folder,
        {"my-work.ipynb": notebook("by hand"), "timestamp.txt": b"2026-11-20 14:05:00 UTC"},
    )
    report = collect([write_files(inbox, blackboard_attempts(3))], classroom)
    assert only_file(report).outcome == "older"
    assert (folder / "my-work.ipynb").exists()
    collect([write_files(inbox, blackboard_attempts(9))], classroom)
    assert [p.name for p in folder.glob("*.ipynb")] == ["qkv-attention.ipynb"]
    assert read_submitted(classroom)["ada/qkv-attention"][0] == "at 9"
    assert any(path.read_bytes() == notebook("by hand") for path in earlier_attempts(classroom))


def test_an_instructors_change_to_a_time_stamp_stays(classroom, inbox):
    collect([write_files(inbox, blackboard_attempts(3))], classroom)
    stamp = classroom.submitted / "ada" / QKV / "timestamp.txt"
    stamp.write_text("2026-11-01 00:00:00 UTC\n")  # an extension
    collect([inbox], classroom)
    assert stamp.read_text() == "2026-11-01 00:00:00 UTC\n"


def test_run_twice_it_changes_nothing(classroom, tmp_path):
    inner = zip_bytes({"a/qkv-attention.ipynb": notebook()})
    plain = {f"eve/qkv-attention{n}.ipynb": notebook(n) for n in ("", " (1)")}
    paths = [
        make_zip(
            tmp_path / "canvas.zip",
            {
                "hoppergrace_LATE_6_7_qkv-attention-2.ipynb": notebook(),
                "turingalan_9_10_all.zip": inner,
            },
        ),
        make_zip(
            tmp_path / "moodle.zip",
            {
                "Zoe M_1_assignsubmission_file_/qkv-attention.ipynb": notebook(),
                "Kurt G_2_assignsubmission_onlinetext_/onlinetext.html": b"<p>here</p>",
            },
        ),
        write_files(tmp_path / "bb", blackboard_files() | blackboard_attempts(1, 2, 3)),
        write_files(tmp_path / "plain", plain),
    ]
    first = collect(paths, classroom)
    snapshot_before = snapshot(classroom.root)
    second = collect(paths, classroom)
    assert snapshot(classroom.root) == snapshot_before
    assert "filed" in {row.outcome for row in first.files}
    assert {row.outcome for row in second.files} == {"unchanged", "older", "ignored"}
    assert [row.source for row in first.files] == [row.source for row in second.files]
    # The comparison notices a changed time.
    os.utime(next(classroom.submitted.rglob("*.ipynb")), (1, 1))
    assert snapshot(classroom.root) != snapshot_before


def test_the_classroom_within_the_folder_is_not_collected_from_itself(tmp_path):
    classroom = make_classroom(tmp_path / "classroom")
    write_files(tmp_path, {"ada/qkv-attention.ipynb": notebook()})
    collect([tmp_path], classroom)
    snapshot_before = snapshot(classroom.root)
    assert only_file(collect([tmp_path], classroom)).outcome == "unchanged"
    assert snapshot(classroom.root) == snapshot_before
    with pytest.raises(AutograderError, match="is the classroom's own"):
        collect([classroom.submitted / "ada"], classroom)


@pytest.mark.parametrize("part", ["submitted", "submitted/ada", "submitted/ada/qkv-attention"])
def test_links_in_the_classroom_lead_nowhere(classroom, inbox, tmp_path, part):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = classroom.root / part
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    report = collect([write_files(inbox, {"ada/qkv-attention.ipynb": notebook()})], classroom)
    assert refusal_reasons(report) == [f"{part} is a link or a file where a folder should be."]
    assert list(outside.iterdir()) == []


def test_something_else_in_the_place_of_the_notebook(classroom, inbox, tmp_path):
    outside = tmp_path / "outside.ipynb"
    outside.write_bytes(b"mine")
    place = classroom.submitted / "ada" / QKV / "qkv-attention.ipynb"
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    report = collect([write_files(inbox, {"ada/qkv-attention.ipynb": notebook()})], classroom)
    assert "qkv-attention.ipynb is in the way" in only_file(report).reason
    assert outside.read_bytes() == b"mine"


def test_wrong_origin_files_are_ignored(classroom, inbox):
    collect([write_files(inbox, blackboard_attempts(3))], classroom)
    record = classroom.root / "collected" / "ada" / f"{QKV}.json"
    for content in (b"", b"[]", b"{}", b"\xff", b'{"student": 1}'):
        record.write_bytes(content)
        assert only_file(collect([inbox], classroom)).outcome == "unchanged"


def test_an_origin_and_a_time_stamp_are_read_up_to_a_size(classroom, inbox, tmp_path):
    collect([write_files(inbox, blackboard_attempts(3))], classroom)
    record = classroom.root / "collected" / "ada" / f"{QKV}.json"
    content, stamp = record.read_bytes(), tmp_path / "timestamp.txt"
    for extra in (0, 1):
        record.write_bytes(content.ljust(store.MAX_ORIGIN_BYTES + extra))
        assert (read_origin(classroom.root, "ada", QKV) is None) == bool(extra)
        stamp.write_bytes(b"2026-11-20 15:03:22 UTC".ljust(store.MAX_TIMESTAMP_BYTES + extra))
        assert (store._read_timestamp(stamp) is None) == bool(extra)


@pytest.mark.parametrize(
    ("seconds", "is_zone"),
    [
        (0, True),
        (900, True),
        (901, False),
        (store._MAX_ZONE_DIFFERENCE_SECONDS, True),
        (store._MAX_ZONE_DIFFERENCE_SECONDS + 900, False),
    ],
)
def test_two_times_of_one_attempt_differ_by_a_zone_at_most(seconds, is_zone):
    origin = Origin(time=1e9, sha256="0" * 64)
    for time_of_earlier in (1e9 + seconds, 1e9 - seconds):
        earlier = Path(store.make_earlier_attempt_file_name(Origin(time=time_of_earlier)))
        assert store._differs_only_by_time_zone(earlier, origin) == is_zone


def test_nothing_is_half_written(classroom, inbox, monkeypatch):
    collect([write_files(inbox, blackboard_attempts(3))], classroom)
    snapshot_before = snapshot(classroom.root)

    def full(self, target):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(AutograderError, match="No space left on device"):
        collect([write_files(inbox, blackboard_attempts(9))], classroom)
    submitted_now = snapshot(classroom.root / "submitted")
    assert {k: v[1] for k, v in submitted_now.items() if k.endswith(".ipynb")} == {
        "ada/qkv-attention/qkv-attention.ipynb": snapshot_before[
            "submitted/ada/qkv-attention/qkv-attention.ipynb"
        ][1]
    }
    monkeypatch.undo()
    collect([inbox], classroom)
    assert read_submitted(classroom)["ada/qkv-attention"][0] == "at 9"
    assert not list(classroom.root.rglob("*.part"))


@pytest.mark.parametrize("failing_call", ["replace", "open"])
def test_a_full_disk_leaves_no_folder_that_would_count_as_a_submission(
    classroom, inbox, monkeypatch, failing_call
):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        *((Path, "replace") if failing_call == "replace" else (tempfile, "mkstemp")),
        full,
    )
    with pytest.raises(AutograderError, match="No space left on device"):
        collect([write_files(inbox, blackboard_attempts(3))], classroom)
    assert not list(classroom.submitted.glob("*"))


def test_a_notebook_too_large_to_mark_is_a_submission_all_the_same(classroom, inbox):
    (inbox / "ada").mkdir()
    with open(inbox / "ada" / "qkv-attention.ipynb", "wb") as file:
        file.truncate(MAX_NOTEBOOK_BYTES + 1)
    assert only_file(collect([inbox], classroom)).outcome == "filed"
    assert (
        "at most 20 MB can be marked"
        in Classroom(classroom.root, COURSE).read_submission("ada", QKV).note
    )


def test_bad_usage(classroom, inbox, tmp_path):
    with pytest.raises(AutograderError, match=r"There is no .*nothing\.zip\."):
        collect([tmp_path / "nothing.zip"], classroom)
    with pytest.raises(AutograderError, match="Nothing to collect"):
        collect([], classroom)
    for zone in ("Mars/Olympus", "../../etc/passwd", "/etc/localtime", ""):
        with pytest.raises(AutograderError, match="There is no time zone"):
            collect([inbox], classroom, timezone=zone)
    assert not classroom.root.exists()
    classroom.root.write_text("a file")
    with pytest.raises(AutograderError, match="is not a folder"):
        collect([inbox], classroom)


def test_the_report_prints(classroom, tmp_path):
    from rich.console import Console

    members = [
        ("../x.ipynb", b""),
        ("[bold]ada/qkv-attention.ipynb", notebook()),
        ("bob/\u202ex[/].pdf", b""),
    ]
    report = collect([make_zip(tmp_path / "class.zip", members)], classroom)
    console = Console(file=io.StringIO(), width=160)
    console.print(report.make_review_table())
    output = console.file.getvalue()
    assert "].pdf" in output and "[bold]" not in output  # a filed submission needs no look
    assert report.summary.startswith("1 filed, 1 refused, 1 without a notebook.")
    assert report.exit_code == 1


PIECES = st.sampled_from(
    [
        "..",
        ".",
        "",
        "ada",
        "Ada",
        "qkv-attention.ipynb",
        "QKV-attention (1).ipynb",
        "submitted",
        "con",
        "C:",
    ]
    + [
        "ada_12_34_qkv-attention.ipynb",
        "Ada_12_assignsubmission_file_",
        "x_ada_attempt_2026-11-20-14-03-22",
    ]
    + [
        "_99_qkv-attention.ipynb",
        ".git",
        "__MACOSX",
        "a.zip",
        "\x00",
        "\n",
        "é",
        "\u202e",
        "x-submissions",
    ]
    + ["x-ada", "timestamp.txt", "qkv-attention", "*", "$HOME", "~", "%2e%2e"]
)
NAMES = st.one_of(
    st.lists(PIECES, min_size=1, max_size=5).flatmap(
        lambda pieces: st.sampled_from(["/", "\\", "_", ""]).map(lambda joint: joint.join(pieces))
    ),
    st.text(max_size=40).map(lambda text: f"{text}.ipynb"),
    st.text(min_size=1, max_size=40).map(lambda text: f"{text}/qkv-attention.ipynb"),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(NAMES, min_size=1, max_size=6),
    nest=st.booleans(),
    mode=st.integers(0, 0xFFFF),
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
@example(names=["..", "ada_12_34_qkv-attention.ipynb/qkv-attention.ipynb"], nest=False, mode=0)
def test_any_names_stay_inside(tmp_path, names, nest, mode):
    base = tmp_path / f"{time.perf_counter_ns()}"
    base.mkdir()
    classroom = make_classroom(base / "classroom")
    members = []
    for i, name in enumerate(names):
        raw = name.encode("utf-8", "replace").decode() or "x"
        members.append((zip_member("x", mode=mode if i == 0 else None, raw=raw), notebook(str(i))))
    data = zip_bytes(members)
    if nest:
        data = zip_bytes({"lovelaceada_1_2_x.zip": data, "ada/y.zip": data, "z.zip": data})
    (base / "class.zip").write_bytes(data)
    first = collect([base / "class.zip"], classroom)
    assert first.files or first.junk_count
    assert sorted(p.name for p in base.iterdir()) in (["class.zip"], ["class.zip", "classroom"])
    for path in classroom.root.rglob("*"):
        assert not path.is_symlink()
        parts = path.relative_to(classroom.root).parts
        assert parts[0] in ("submitted", "submitted-earlier", "collected")
        assert len(parts) <= 4 and all(part.isprintable() for part in parts)
    # A folder may be named like a notebook, too.
    for path in filter(Path.is_file, classroom.submitted.rglob("*.ipynb")):
        assert path.stem == path.parent.name in LABS
    snapshot_before = snapshot(classroom.root) if classroom.root.exists() else {}
    second = collect([base / "class.zip"], classroom)
    assert (snapshot(classroom.root) if classroom.root.exists() else {}) == snapshot_before
    assert "filed" not in {row.outcome for row in second.files}
    assert len(second.files) == len(first.files)


# The file that counts, the origin, the report


@pytest.mark.parametrize(
    ("files", "counts", "rule"),
    [
        (
            {"qkv-attention.ipynb": 0, "qkv-attention_v2.ipynb": 0},
            "_v2",
            "it has the largest copy number",
        ),
        (
            {"qkv-attention.ipynb": 0, "qkv-attention (1).ipynb": 0},
            " (1)",
            "it has the largest copy number",
        ),
        ({"qkv-attention.ipynb": 9, "qkv-attention (1).ipynb": 0}, "", "it is the newest"),
        ({"qkv-attention.ipynb": 0, "my qkv-attention.ipynb": 0}, "", "it is called after the lab"),
        (
            {"a qkv-attention.ipynb": 0, "b qkv-attention.ipynb": 0},
            "b ",
            "it comes last in the alphabet",
        ),
    ],
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_the_report_says_which_of_two_files_counts(
    classroom, tmp_path, files, counts, rule, is_reversed
):
    parent = "Ada_1_assignsubmission_file_/"
    members = [
        (zip_member(parent + name, (2026, 11, 20, 12, minute, 0)), notebook(name))
        for name, minute in files.items()
    ]
    report = collect(
        [make_zip(tmp_path / "m.zip", members[::-1] if is_reversed else members)],
        classroom,
    )
    chosen = next(
        n for n in files if (counts or "qkv-attention.ipynb") in n and (counts or n[0] == "q")
    )
    chosen = "qkv-attention.ipynb" if not counts else chosen
    assert submitted_texts(classroom) == {"Ada/qkv-attention": chosen}
    (older,) = files_with_outcome(report, "older")
    assert older.reason == f"Of 2 notebooks in this submission, {chosen} counts: {rule}."
    assert not earlier_attempts(classroom)  # the other file is not kept


def test_a_canvas_uploads_number_counts(classroom, inbox):
    files = {
        "a_1_700_qkv-attention-1.ipynb": notebook("new"),
        "a_1_699_qkv-attention.ipynb": notebook("old"),
    }
    report = collect([write_files(inbox, files)], classroom)
    assert submitted_texts(classroom) == {"a-1/qkv-attention": "new"}
    assert "the upload's number is the largest" in files_with_outcome(report, "older")[0].reason


def test_two_downloads_of_one_name_are_two(classroom, tmp_path):
    old = {"ada/qkv-attention.ipynb": notebook("sooner")}
    first = write_files(tmp_path / "1" / "submissions", old, modified_at=1_800_000_000)
    second = write_files(
        tmp_path / "2" / "submissions",
        {"ada/qkv-attention.ipynb": notebook("later")},
        modified_at=1_900_000_000,
    )
    collect([first, second], classroom)
    assert (
        submitted_texts(classroom) == {"ada/qkv-attention": "later"}
        and len(earlier_attempts(classroom)) == 1
    )


def test_a_replaced_submission_takes_its_time_and_origin_with_it(classroom, inbox, tmp_path):
    collect([write_files(inbox, blackboard_attempts(3))], classroom)
    late = write_files(tmp_path / "2", {"ada_LATE_5_6_qkv-attention.ipynb": notebook("x")})
    collect([late], classroom)
    assert read_submitted(classroom)["ada/qkv-attention"][1] == "2026-11-20 14:03:00 UTC"
    plain = write_files(
        tmp_path / "3", {"ada/qkv-attention.ipynb": notebook("later")}, modified_at=1_900_000_000
    )
    collect([plain], classroom, replaces=True)
    origin = read_origin(classroom.root, "ada", QKV)
    assert (origin.platform, origin.submission_time, origin.number) == ("folder", None, 0)
    assert read_submitted(classroom)["ada/qkv-attention"] == ("later", None)
    record = json.loads((classroom.root / "collected" / "ada" / f"{QKV}.json").read_text())
    assert record["version"] == 1 and record["sha256"]


def test_an_origin_cannot_be_submitted(classroom, inbox):
    """nbgrader's exchange puts all files of a student beside the notebook: no origin is read there."""
    collect([write_files(inbox, {"eve_5_6_qkv-attention.ipynb": notebook()})], classroom)
    folder = classroom.submitted / "eve-5" / QKV
    write_files(folder, {".submission.json": b'{"lms_id": "1"}', f"{QKV}.json": b'{"lms_id": "1"}'})
    assert read_origin(classroom.root, "eve-5", QKV).lms_id == "5"


def test_an_error_with_one_submission_is_only_its_own(classroom, inbox, monkeypatch):
    make_real_origin = store.make_origin

    def failing(attempt):
        if attempt.student == "bo":
            raise RecursionError("too deep\x1b[2J")
        return make_real_origin(attempt)

    monkeypatch.setattr(store, "make_origin", failing)
    report = collect(
        [write_files(inbox, {f"{s}/qkv-attention.ipynb": notebook() for s in ("ada", "bo", "cy")})],
        classroom,
    )
    assert sorted(read_submitted(classroom)) == ["ada/qkv-attention", "cy/qkv-attention"]
    assert (
        refusal_reasons(report) == ["It could not be filed: too deep\\x1b[2J."]
        and report.exit_code == 1
    )


@pytest.mark.parametrize("name", ["ada", "b" * 90])
def test_a_folder_that_cannot_be_made_concerns_only_one_submission(classroom, inbox, name):
    write_files(classroom.submitted, {name: b"a file where the folder should be"})
    report = collect(
        [write_files(inbox, {f"{s}/qkv-attention.ipynb": notebook() for s in (name, "cy")})],
        classroom,
    )
    assert list(read_submitted(classroom)) == ["cy/qkv-attention"]
    assert refusal_reasons(report) == [
        f"submitted/{name} is a link or a file where a folder should be.",
    ]


def test_singular_and_plural_in_the_summary(classroom, inbox):
    report = collect(
        [write_files(inbox, {"ada/qkv-attention.ipynb": notebook(), "ada/a.csv": b""})],
        classroom,
    )
    assert report.make_review_table() is None
    assert report.summary == (
        "1 filed, 1 file beside them that is no notebook.\n"
        "1 submission without a time stamp, and so without a late penalty: nothing says when they "
        "came. "
        "roster.csv may, in a column 'Submitted <lab>'."
    )
    write_files(inbox, {f"{s}/qkv-attention.ipynb": notebook() for s in ("bo", "cy")})
    write_files(inbox, {"bo/a.csv": b""})
    assert collect([inbox], classroom).summary.startswith(
        "2 filed, 1 unchanged, 2 files beside them that are no notebooks.\n3 submissions without a time stamp"
    )


def test_nothing_is_cut_into_pieces_on_a_terminal_of_80_columns(classroom, inbox):
    """Regression: six columns on 80 characters broke words into pieces of eleven letters."""
    from rich.console import Console

    files = {
        "qkv-attention.ipynb": notebook(),
        "van_den_berg_1234_5678_my_report_on_attention.pdf": b"%PDF",
    }
    report = collect([write_files(inbox, files)], classroom)
    console = Console(file=io.StringIO(), width=80)
    console.print(report.make_review_table())
    output = " ".join(console.file.getvalue().replace("│", " ").split())
    for row in report.files:
        assert row.source in output and row.outcome in output
        assert all(word in output for word in row.reason.split())


def test_the_table_is_as_long_as_what_needs_a_look(classroom, inbox):
    files = {f"s{i}/qkv-attention.ipynb": notebook() for i in range(50)} | {
        "qkv-attention.ipynb": notebook(),
    }
    table = collect([write_files(inbox, files)], classroom).make_review_table()
    assert table.row_count == 1


def test_nothing_printed_holds_control_codes(classroom, inbox, capsys):
    from rich.console import Console

    files = {
        "a\x1b]0;x\x07\u202eb/q.pdf": b"",
        "c\x9b2J_1_2_qkv-attention.ipynb": notebook(),
        "d/qkv-attention.ipynb": notebook(),
    }
    report = collect([write_files(inbox, files)], classroom)
    console = Console(file=io.StringIO(), width=200, no_color=True)
    console.print(report.make_review_table())
    output = console.file.getvalue() + report.summary
    assert all(c.isprintable() or c == "\n" for c in output)
    assert all(row.source.isprintable() and row.reason.isprintable() for row in report.files)


def test_the_name_of_a_file_is_the_students_part_of_it(classroom, inbox):
    """Regression: the platform's part was twice in the name, also in that of Canvas's feedback."""
    files = {
        "adal_1_2_qkv-attention.ipynb": notebook(),
        "bobb_3_4_x.zip": zip_bytes({"my qkv-attention.ipynb": b"{}"}),
    }
    collect([make_zip(inbox / "c.zip", files)], classroom)
    first, second = (
        read_origin(classroom.root, student, "qkv-attention") for student in ("adal-1", "bobb-3")
    )
    assert (first.original, first.file) == ("adal_1_2_", "qkv-attention.ipynb")
    assert (second.original, second.file) == ("bobb_3_4_", "my qkv-attention.ipynb")


def test_two_students_are_not_one_where_the_file_system_thinks_so(classroom, tmp_path, monkeypatch):
    """macOS and Windows take Anna for anna; Windows has no folder "con", and takes "ada." for "ada"."""
    collect(
        [write_files(tmp_path / "1", {"anna/qkv-attention.ipynb": notebook("anna's")})],
        classroom,
    )
    snapshot_before = snapshot(classroom.root)
    lexists = os.path.lexists
    monkeypatch.setattr(
        os.path,
        "lexists",
        lambda path: lexists(path) or Path(path).name.lower() in os.listdir(Path(path).parent),
    )
    with pytest.raises(
        store.FileRefused,
        match=r"^submitted/Anna cannot be told from a folder that is there",
    ):
        store._LinkFreeFolders(classroom.root).path_without_links(
            "submitted", "Anna", "qkv-attention"
        )
    assert (
        store._LinkFreeFolders(classroom.root)
        .path_without_links("submitted", "anna", "qkv-attention")
        .is_dir()
    )
    monkeypatch.setattr(files, "_IS_WINDOWS", True)
    for name in ("con", "Aux.txt", "a:b", "ada.", "ada "):
        assert (
            files.explain_unusable_name(classroom.root, name)
            == "is a name that Windows gives to no folder"
        )
    assert files.explain_unusable_name(classroom.root, "console") == ""
    assert snapshot(classroom.root) == snapshot_before


def test_files_of_a_killed_run_are_deleted_by_the_next(classroom, inbox, monkeypatch):
    """Regression: each killed run left a file of up to 40 MB for ever."""
    collect([write_files(inbox, {"ada/qkv-attention.ipynb": notebook("1")})], classroom)
    stale_path = classroom.submitted / "ada" / "qkv-attention" / ".collect-x.part"
    stale_path.write_bytes(b"half")
    earlier_path = classroom.root / "submitted-earlier" / "ada" / "qkv-attention" / stale_path.name
    write_files(earlier_path.parent, {earlier_path.name: b"half"})
    collect([inbox], classroom)
    assert stale_path.exists() and earlier_path.exists()  # another run may be writing them
    monkeypatch.setattr("autograder.intake.store.STALE_SECONDS", -1)
    collect([inbox], classroom)
    assert not earlier_path.exists()
    assert not stale_path.exists() and list(read_submitted(classroom)) == ["ada/qkv-attention"]


@pytest.mark.parametrize(("zone", "other_zone"), [("", "Asia/Tokyo"), ("Asia/Tokyo", "")])
def test_a_time_that_named_its_zone_is_compared_as_it_is(zone, other_zone):
    """Only two times that named no zone are compared as the platform wrote them."""
    old = Origin(platform="Moodle", time=1e9, zone=zone)
    new = Origin(platform="Moodle", time=1e9 + 3600, zone=other_zone)
    assert new.is_newer_than(old) and not old.is_newer_than(new)


def test_of_many_names_the_first_are_shown_and_the_others_counted():
    names = [f"s{number}" for number in range(MAX_LISTED_NAMES + 2)]
    text = _join_first_names_and_count_others(names)
    assert text.endswith(f"s{MAX_LISTED_NAMES - 1} and 2 more")
    whole = _join_first_names_and_count_others(names[:MAX_LISTED_NAMES])
    assert whole.split(", ") == names[:MAX_LISTED_NAMES]


@pytest.mark.parametrize("student", ["ada", ""])
def test_rows_are_left_out_of_each_students_rows_of_one_outcome(student):
    """A file that nobody owns stands for the folder or zip in which it lies."""

    def report(number, outcome, folder="ada.zip"):
        return FileReport(source=f"{folder}/{number}", student=student, outcome=outcome, reason="r")

    refused = [report(number, FileOutcome.REFUSED) for number in range(MAX_TABLE_ROWS + 1)]
    unmatched = [report(number, FileOutcome.UNMATCHED) for number in range(MAX_TABLE_ROWS)]
    rows = _limit_rows_per_student([*refused, *unmatched])
    assert rows[:MAX_TABLE_ROWS] == refused[:-1] and rows[MAX_TABLE_ROWS + 1 :] == unmatched
    rest = rows[MAX_TABLE_ROWS]
    assert (rest.source, rest.reason) == ("…", "And 1 more like these.")
    assert (rest.student, rest.outcome) == (student, FileOutcome.REFUSED)
    of_others = report(0, FileOutcome.REFUSED, "bo.zip")
    assert (of_others in _limit_rows_per_student([*refused, of_others])) == (not student)


EVERY_LINE_OF_A_SUMMARY = """\
1,200 filed, 1 refused, 2 files beside them that are no notebooks, 1 system file ignored.
Replaced, the earlier ones being in submitted-earlier/: ada (l).
Filed under names that students chose themselves, so look at them: bo.
2 submissions without a time stamp, and so without a late penalty: nothing says when they came. \
roster.csv may, in a column 'Submitted <lab>'.
The time was read anew, in the zone that you named: cy (l).
The times that an earlier run read in another zone stay; say --timezone to change them: di (l).
a note
l: only 1 of 20 students submitted it (s0). Is it a mistake?
m: 1 submission missing (s1)."""


def test_a_summary_has_a_line_for_each_thing_that_happened():
    def row(student, outcome=FileOutcome.FILED, **values):
        return FileReport(source=student, student=student, lab="l", outcome=outcome, **values)

    names = tuple(f"s{number}" for number in range(20))
    rows = [
        row("ada", replaced_path="x"),
        row("bo", student_chosen=True),
        row("cy", time_changed=True),
        row("di", time_kept=True),
        row("eve", FileOutcome.REFUSED, student_chosen=True),
    ]
    report = CollectionReport(
        files=(*rows, *[row("s")] * 1196),
        notes=("a note",),
        missing={
            "l": SubmittersAndAbsentees(names[:1], names[1:]),
            "m": SubmittersAndAbsentees(names[:1], names[1:2]),
        },
        untimed_count=2,
        junk_count=1,
        other_file_count=2,
    )
    assert report.summary.splitlines() == EVERY_LINE_OF_A_SUMMARY.splitlines()
    assert CollectionReport(files=(), missing={}).summary == "nothing found."
    nobody = CollectionReport(files=(), missing={"l": SubmittersAndAbsentees((), names[:3])})
    assert nobody.summary.splitlines()[1] == "l: 3 submissions missing (s0, s1, s2)."


@pytest.mark.parametrize("outcome", FileOutcome)
def test_each_outcome_has_its_exit_code_and_its_row_in_the_table(outcome):
    file = FileReport(
        source="a/b", student="a", lab="l", outcome=outcome, reason="so", identified_by="hand"
    )
    report = CollectionReport(files=(file, replace(file, needs_review=True)), missing={})
    is_routine = outcome in ("filed", "unchanged", "older")
    assert report.exit_code == int(not is_routine and outcome != "ignored")
    table = report.make_review_table()
    lines = [cell.plain for cell in table.columns[1].cells]
    assert lines == ["a/b\na, l (known by hand)\nso"] * (1 if is_routine else 2)
    assert [cell.plain for cell in table.columns[0].cells] == [outcome] * len(lines)
    routine = replace(file, needs_review=False)
    has_table = CollectionReport(files=(routine,), missing={}).make_review_table() is not None
    assert has_table == (not is_routine)


def test_the_rows_of_the_table_are_in_the_order_of_the_outcomes():
    outcomes = [FileOutcome.UNMATCHED, FileOutcome.IGNORED, FileOutcome.OLDER, FileOutcome.REFUSED]
    files = [FileReport(source=outcome, outcome=outcome, needs_review=True) for outcome in outcomes]
    table = CollectionReport(files=tuple(files), missing={}).make_review_table()
    assert [cell.plain for cell in table.columns[1].cells] == [
        "older",
        "ignored",
        "refused",
        "unmatched",
    ]


CANVAS = {"platform": "Canvas", "lms_id": "7"}


@pytest.mark.parametrize(
    ("new", "old", "is_newer"),
    [
        (Origin(**CANVAS, number=2, time=1), Origin(**CANVAS, number=1, time=9), True),
        (Origin(**CANVAS, number=2, inside=3), Origin(**CANVAS, number=2, inside=2), True),
        (Origin(**CANVAS, number=2, time=9), Origin(**CANVAS, number=2, time=1), False),
        (Origin(platform="Canvas", lms_id="8", number=2), Origin(**CANVAS, time=1), False),
        (Origin(platform="Moodle", number=2, time=1), Origin(platform="Moodle", time=2), False),
        (Origin(time=1, inside=2, number=1), Origin(time=1, inside=1, number=2), True),
        (Origin(time=1, number=2), Origin(time=1, number=1), True),
        (Origin(time=1, number=2), Origin(time=1, number=2), False),
    ],
)
def test_of_two_origins_the_upload_or_the_time_tells_the_newer(new, old, is_newer):
    assert new.is_newer_than(old) is is_newer
    if is_newer:
        assert not old.is_newer_than(new)


@pytest.mark.parametrize(
    ("old", "new", "is_another"),
    [
        (Origin(platform="Moodle", account="1"), Origin(platform="Moodle", account="2"), True),
        (Origin(platform="Moodle", account="1"), Origin(platform="Moodle", account="1"), False),
        (Origin(platform="Moodle", account="1"), Origin(platform="Canvas", account="1"), True),
        (Origin(platform="Moodle", account="1"), Origin(), False),
        (Origin(), Origin(platform="Moodle", account="1"), False),
        (Origin(platform="Moodle", participant="1"), Origin(platform="Moodle", account="2"), True),
        (Origin(platform="Canvas", lms_id="1"), Origin(platform="Canvas", account="2"), True),
        (Origin(platform="Canvas", lms_id="1"), Origin(platform="Canvas", account="1"), False),
        (Origin(platform="Canvas"), Origin(platform="Canvas", account="1"), False),
        (
            Origin(platform="folder", account="e\u0301"),
            Origin(platform="folder", account="é"),
            False,
        ),
    ],
)
def test_two_origins_are_of_two_accounts_only_if_both_name_one(old, new, is_another):
    assert old.is_from_another_account(new) is is_another


def test_an_origin_gives_the_roster_the_identifiers_of_its_platform():
    facts = {"name": "n", "login": "l", "email": "e", "sid": "s", "participant": "p"}
    for platform, kinds in {
        "Canvas": {"lms_id": "7"},
        "Brightspace": {"brightspace": "7"},
        "GitHub": {"lms_id": "7", "github": "a"},
    }.items():
        origin = Origin(platform=platform, account="a", lms_id="7", **facts)
        assert origin.identity == PlatformIdentity(**facts, **kinds), platform


def test_a_submission_put_there_by_hand_has_only_its_time_and_hash(tmp_path):
    place = f"submitted/ada/{QKV}"
    assert store.read_stored_submission(tmp_path, "ada", QKV) == (None, None)
    write_files(tmp_path / place, {"b.ipynb": b"x", ".c.ipynb": b"z"}, modified_at=1_800_000_000)
    sha256 = hashlib.sha256(b"x").hexdigest()
    path = tmp_path / place / "b.ipynb"
    found = store.read_stored_submission(tmp_path, "ada", QKV)
    assert found == (path, Origin(time=1_800_000_000, sha256=sha256))
    write_files(tmp_path / place, {"timestamp.txt": b"2026-11-20 14:03:22 UTC"})
    text = "2026-11-20 14:03:22 UTC"
    origin = Origin(submission_time=text, time=1_795_183_402, sha256=sha256)
    assert store.read_stored_submission(tmp_path, "ada", QKV) == (path, origin)
    write_files(tmp_path / place, {"d.ipynb": b"y"})
    assert store.read_stored_submission(tmp_path, "ada", QKV) == (None, None)
    write_files(tmp_path / place, {f"{QKV}.ipynb": b"w"})
    assert store.read_stored_submission(tmp_path, "ada", QKV)[0].name == f"{QKV}.ipynb"


@pytest.mark.parametrize(
    ("zones", "notes"),
    [
        ([False], ()),
        (
            [False, True],
            ("UTC, as course.toml names no zone", "Asia/Tokyo, the zone in course.toml"),
        ),
    ],
)
def test_a_note_says_in_which_zone_times_were_read_only_if_one_named_none(zones, notes):
    reports = [
        FileReport(source="x", outcome=FileOutcome.FILED, in_default_zone=zone) for zone in zones
    ]
    roster = Roster(notes=("first.", "second."))
    for zone, text in zip((None, "Asia/Tokyo"), notes or ("", ""), strict=True):
        found = list(_make_roster_and_zone_notes(roster, reports, zone))
        assert found[:2] == ["roster.csv: first.", "roster.csv: second."]
        assert found[2:] == [
            f"Times without a zone were read in {text}. If that is wrong, say --timezone and "
            "collect again."
        ] * bool(text)


def test_each_lab_that_somebody_missed_names_who_submitted_it_and_who_did_not(tmp_path):
    people = [Person(student=name) for name in ("ada", "bo", "cy")]
    roster = Roster((*people, Person(student="di", withdrawn=True)))
    for student, lab in (("cy", QKV), ("ada", QKV), ("di", QKV), ("eve", QKV), ("bo", LABS[0])):
        (tmp_path / "submitted" / student / lab).mkdir(parents=True)
    write_files(tmp_path, {f"submitted/bo/{QKV}": b"a file"})
    for student in ("ada", "cy"):
        (tmp_path / "submitted" / student / LABS[0]).mkdir()
    labs = [LABS[2], QKV, LABS[0]]  # of the last one, nobody's is missing
    assert find_submitters_and_absentees(tmp_path, roster, labs, {}) == {
        LABS[2]: ((), ("ada", "bo", "cy")),
        QKV: (("ada", "cy"), ("bo",)),
    }


def test_a_submission_is_without_a_time_if_neither_file_nor_roster_states_one(tmp_path):
    write_files(tmp_path, {f"submitted/ada/{QKV}/timestamp.txt": b""})
    people = {"bo": Person(student="bo", submission_times={"QKV Attention": "x"})}
    for student, lab, count in (
        ("ada", QKV, 0),
        ("ada", LABS[0], 1),
        ("bo", QKV, 0),
        ("bo", LABS[0], 1),
        ("cy", QKV, 1),
    ):
        assert _count_without_timestamp(tmp_path, [(student, lab)], people) == count
    assert _count_without_timestamp(tmp_path, [("cy", QKV), ("bo", LABS[0])], people) == 2


NUMBERED = SimpleNamespace(
    platform="Brightspace", platform_path="1-2 - Ada - x - ", upload_number=0, is_late=True
)
FOUND_ATTEMPT = SimpleNamespace(
    name="top/1-2 - Ada - x - work (3).ipynb",
    owner=NUMBERED,
    identity=PlatformIdentity(
        name="Ada", login="a", email="e", brightspace="1", sid="s", participant="p"
    ),
    person=Person(student="ada", name="Ada Lovelace"),
    submitted_at=datetime(2026, 11, 20, 14, 3, 22, tzinfo=UTC),
    members=("ada", "bo"),
    time=5.0,
    time_in_zip=7.0,
    zone="Asia/Tokyo",
)
FOUND_ORIGIN = Origin(
    platform="Brightspace",
    name="Ada",
    login="a",
    email="e",
    lms_id="1",
    sid="s",
    participant="p",
    account="p",
    original="1-2 - Ada - x - ",
    file="work (3).ipynb",
    submission_time="2026-11-20 14:03:22 UTC",
    late=True,
    number=3,
    members=("ada", "bo"),
    time=5.0,
    inside=7.0,
    zone="Asia/Tokyo",
)


def test_an_origin_has_all_that_is_known_of_an_attempt():
    assert store.make_origin(FOUND_ATTEMPT) == FOUND_ORIGIN
    unnamed = SimpleNamespace(**vars(FOUND_ATTEMPT))
    unnamed.identity = PlatformIdentity(lms_id="8", brightspace="1")
    unnamed.owner = SimpleNamespace(**{**vars(NUMBERED), "upload_number": 9})
    unnamed.submitted_at = None
    origin = store.make_origin(unnamed)
    assert (origin.name, origin.lms_id, origin.account) == ("Ada Lovelace", "8", "8")
    assert (origin.number, origin.submission_time) == (9, None)
    unnamed.person = None
    assert store.make_origin(unnamed).name == ""


def test_an_origin_with_a_value_of_another_type_is_none(tmp_path):
    path = tmp_path / "collected" / "ada" / f"{QKV}.json"
    path.parent.mkdir(parents=True)
    record = {"version": store.FORMAT_VERSION, **asdict(FOUND_ORIGIN)}

    def read_back(**changes):
        path.write_text(json.dumps({**record, **changes}))
        return read_origin(tmp_path, "ada", QKV)

    assert read_back() == FOUND_ORIGIN
    assert read_back(submission_time=None) == replace(FOUND_ORIGIN, submission_time=None)
    assert read_back(time=5, inside=7) == FOUND_ORIGIN
    for field in fields(Origin):
        for wrong in ({}, None):
            if (field.name, wrong) not in [("members", {}), ("submission_time", None)]:
                assert read_back(**{field.name: wrong}) is None, field.name
    for changes in ({"late": 1}, {"number": 1.5}, {"time": "5"}, {"version": 2}, {"new": 1}):
        assert read_back(**changes) is None, changes
    write_files(tmp_path / "collected", {f"bo/{QKV}.json": b"{}", f"bo/{QKV}.uploads": b"{}"})
    read_back()
    assert store.read_origins(tmp_path) == {("ada", QKV): FOUND_ORIGIN}


def test_a_report_says_of_an_attempt_what_is_known_of_it():
    attempt = SimpleNamespace(
        source="class.zip/\x1b.ipynb",
        student="ada",
        lab=QKV,
        notes=("One.", "Two."),
        person=None,
        owner=SimpleNamespace(identified_by="hand", student_chosen=True, in_default_zone=True),
    )
    report = FileReport(
        source="class.zip/\\x1b.ipynb",
        student="ada",
        lab=QKV,
        outcome=FileOutcome.OLDER,
        reason="So. One. Two.",
        path="p",
        identified_by="hand",
        student_chosen=True,
        in_default_zone=True,
        needs_review=True,
    )
    made = store._make_file_report(attempt, FileOutcome.OLDER, "So.", "p", needs_review=True)
    assert made == report
    attempt.person = Person(student="ada")
    made = store._make_file_report(attempt, FileOutcome.OLDER, time_kept=True)
    assert (made.reason, made.path) == ("One. Two.", "")
    assert made.identified_by == "hand and roster.csv"
    assert made.time_kept and not made.in_default_zone


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        (Origin(platform="Moodle", original="a"), Origin(platform="Moodle", original="a"), True),
        (Origin(platform="Moodle", original="a"), Origin(platform="Moodle", original="b"), False),
        (Origin(platform="Moodle"), Origin(platform="Moodle"), False),  # nothing tells the upload
        (Origin(), Origin(), False),
        (Origin(original="a"), Origin(platform="Moodle", original="a"), False),
        (
            Origin(platform="Moodle", original="a", account="1"),
            Origin(platform="Moodle", original="a", account="2"),
            False,
        ),
    ],
)
def test_two_records_are_of_one_upload_if_the_platform_wrote_the_same(old, new, is_same):
    assert store._SubmissionWriter._is_same_upload(None, old, new) is is_same


def test_a_submission_counts_as_the_newest_by_its_time_then_its_zips_then_its_number():
    def key(time, time_in_zip, name, upload_number=0):
        owner = SimpleNamespace(upload_number=upload_number)
        return store._chronological_key(
            SimpleNamespace(time=time, time_in_zip=time_in_zip, name=name, owner=owner)
        )

    assert key(1.0, 2.0, "a (3).ipynb") == (1.0, 2.0, 3)
    assert key(1.0, 2.0, "a (3).ipynb", 9) == (1.0, 2.0, 9)


def test_the_way_to_a_folder_has_no_links_files_or_unusable_names(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "file").write_text("")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "a" / "b")
    (tmp_path / "a" / "dangling").symlink_to(tmp_path / "nowhere")
    folders = store._LinkFreeFolders(tmp_path)
    assert folders.path_without_links("a", "b", "new", "newer") == tmp_path / "a/b/new/newer"
    for name in ("file", "link", "dangling"):
        with pytest.raises(FileRefused) as error:
            folders.path_without_links("a", name, "c")
        assert str(error.value) == f"a/{name} is a link or a file where a folder should be."
    monkeypatch.setattr(store, "explain_unusable_name", lambda parent, name: f"{parent.name} no")
    with pytest.raises(FileRefused, match=f"^a {tmp_path.name} no\\.$"):
        folders.path_without_links("a", "b")


def test_the_times_of_a_run_are_read_in_the_named_zone_or_the_courses():
    berlin, tokyo = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Tokyo")
    assert _parse_time_zone_options("Europe/Berlin", "Asia/Tokyo") == (berlin, tokyo)
    assert _parse_time_zone_options(None, "Asia/Tokyo") == (None, tokyo)
    assert _parse_time_zone_options("UTC", None) == (UTC, UTC)
    for zones, reason in (
        (("Mars", None), "There is no time zone 'Mars'; name one such as Europe/Berlin."),
        (("", None), "There is no time zone ''; name one such as Europe/Berlin."),
        (
            (None, "Mars"),
            "course.toml, [policy]: there is no time zone 'Mars'; one is Europe/Berlin.",
        ),
    ):
        with pytest.raises(UsageError) as error:
            _parse_time_zone_options(*zones)
        assert str(error.value) == reason


ANOTHER_ACCOUNT = "The submission that is there came from Moodle 'A (1)', this one from "
NAME_OF_A_STUDENT = "There is a submission of this name, and students choose such names themselves."
MOODLE_GROUP = Origin(platform="Moodle", name="A", account="1", members=("a", "b"))


@pytest.mark.parametrize(
    ("current", "new", "student_chosen", "same_bytes", "reason"),
    [
        (MOODLE_GROUP, MOODLE_GROUP, False, False, ""),
        (
            MOODLE_GROUP,
            replace(MOODLE_GROUP, account="2"),
            False,
            False,
            f"{ANOTHER_ACCOUNT}Moodle 'A (2)'.",
        ),
        (
            MOODLE_GROUP,
            replace(MOODLE_GROUP, account="2"),
            False,
            True,
            f"{ANOTHER_ACCOUNT}Moodle 'A (2)'.",
        ),
        (
            MOODLE_GROUP,
            replace(MOODLE_GROUP, members=("a",)),
            False,
            False,
            f"{ANOTHER_ACCOUNT}Moodle 'A (1)'.",
        ),
        (
            replace(MOODLE_GROUP, participant="9"),
            replace(MOODLE_GROUP, members=()),
            False,
            False,
            "",
        ),
        (
            MOODLE_GROUP,
            replace(MOODLE_GROUP, members=(), participant="9"),
            False,
            True,
            f"{ANOTHER_ACCOUNT}Moodle 'A (1)'.",
        ),
        (MOODLE_GROUP, MOODLE_GROUP, True, False, NAME_OF_A_STUDENT),
        (MOODLE_GROUP, MOODLE_GROUP, True, True, ""),
        (Origin(), replace(MOODLE_GROUP, members=()), False, False, ""),
    ],
)
def test_a_submission_is_not_replaced_if_it_may_be_another_persons(
    current, new, student_chosen, same_bytes, reason
):
    writer = object.__new__(store._SubmissionWriter)
    writer.attempt = SimpleNamespace(owner=SimpleNamespace(student_chosen=student_chosen))
    message = ""
    try:
        writer._refuse_if_of_another_person(current, new, same_bytes)
    except FileRefused as error:
        message = str(error)
    remedy = (
        " If both are this student's, collect it with --replace; if not, put a roster that tells them "
        "apart into the classroom, and move the wrong one away."
    )
    assert message == (reason + remedy if reason else "")
