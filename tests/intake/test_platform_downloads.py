"""Downloads of each platform: students, times, and the origins that are kept for feedback."""

import time
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from downloads import (
    GRADE_IDS,
    QKV,
    blackboard_attempts,
    blackboard_files,
    collect,
    files_with_outcome,
    notebook,
    only_file,
    read_submitted,
    submitted_texts,
    write_files,
    zip_bytes,
)

from autograder.core.errors import UsageError
from autograder.intake import Origin, platform_metadata, read_origin
from autograder.intake.filename_patterns import FILENAME_PATTERNS, match_patterns
from autograder.intake.platform_metadata import (
    parse_time,
    parse_timestamp,
    read_blackboard_receipt,
    read_gradescope_metadata,
)
from autograder.intake.store import _differs_only_by_time_zone, make_earlier_attempt_file_name

NOTEBOOK_NAME = "qkv-attention.ipynb"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [(pattern, path) for pattern in FILENAME_PATTERNS for path in pattern.examples],
    ids=lambda value: value if isinstance(value, str) else value.platform,
)
def test_every_pattern_matches_its_examples(pattern, path):
    groups = pattern.match(path)
    assert groups is not None
    assert {key: groups[key] for key in pattern.examples[path]} == pattern.examples[path]
    assert match_patterns(path, [QKV, "random-walks"])[0][0].platform == pattern.platform


@pytest.mark.parametrize("pattern", FILENAME_PATTERNS, ids=lambda pattern: pattern.platform)
def test_every_pattern_has_examples_and_ends_with_the_file(pattern):
    assert pattern.examples
    assert pattern.pattern.rstrip().endswith(
        ("(?P<file>.+)", "(?P<file>[^/]+)", "(?P<file>[_.].+)"),
    )


# Canvas


def test_canvas(classroom, make_download):
    files = {
        f"lovelaceada_12345_678901_{NOTEBOOK_NAME}": notebook("ada"),
        "hoppergrace_LATE_12346_678902_qkv-attention-2.ipynb": notebook("grace"),
        "müllerzoë_12347_678903_attention-masks-1.ipynb": notebook("zoe"),
        f"anon_aB3xY_678904_{NOTEBOOK_NAME}": notebook("anon"),
        f"LATE_anon_cD4zW_678905_{NOTEBOOK_NAME}": notebook("late anon"),
        "wongkim_12348_text.html": b"<p>typed</p>",
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        "lovelaceada-12345/qkv-attention": "ada",
        "hoppergrace-12346/qkv-attention": "grace",
        "müllerzoë-12347/attention-masks": "zoe",
        "anon_aB3xY/qkv-attention": "anon",
        "anon_cD4zW/qkv-attention": "late anon",
    }
    assert report.exit_code == 0
    late = [row.student for row in report.files if "Canvas marks it as late" in row.reason]
    assert sorted(late) == ["anon_cD4zW", "hoppergrace-12346"]
    origin = read_origin(classroom.root, "hoppergrace-12346", QKV)
    assert (origin.platform, origin.lms_id, origin.late, origin.number) == (
        "Canvas",
        "12346",
        True,
        678902,
    )
    assert origin.original == "hoppergrace_LATE_12346_678902_" and origin.file.endswith(
        "qkv-attention-2.ipynb",
    )


def test_a_canvas_student_who_changes_names_stays_the_same(classroom, inbox, tmp_path):
    collect([write_files(inbox, {f"byronada_12345_678_{NOTEBOOK_NAME}": notebook()})], classroom)
    collect(
        [
            write_files(
                tmp_path / "other",
                {"lovelaceada_12345_700_attention-masks.ipynb": notebook()},
            )
        ],
        classroom,
    )
    assert sorted(read_submitted(classroom)) == [
        "byronada-12345/attention-masks",
        "byronada-12345/qkv-attention",
    ]


def test_a_group_is_not_taken_for_a_canvas_student(classroom, inbox, tmp_path):
    collect([write_files(inbox, {f"group-12/{NOTEBOOK_NAME}": notebook()})], classroom)
    collect(
        [write_files(tmp_path / "other", {f"lovelaceada_12_700_{NOTEBOOK_NAME}": notebook("2")})],
        classroom,
    )
    assert sorted(read_submitted(classroom)) == [
        "group-12/qkv-attention",
        "lovelaceada-12/qkv-attention",
    ]


# Moodle


@pytest.mark.parametrize("end", ["file_/", "file/", "file_"])
def test_moodle(classroom, make_download, end):
    files = {
        f"Ada Lovelace_12345_assignsubmission_{end}{NOTEBOOK_NAME}": notebook("ada"),
        f"Zoë Müller_12347_assignsubmission_{end}{NOTEBOOK_NAME}": notebook("zoe"),
        "Kurt Gödel_12349_assignsubmission_onlinetext_/onlinetext.html": b"<p>here</p>",
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        "Ada Lovelace/qkv-attention": "ada",
        "Zoë Müller/qkv-attention": "zoe",
    }
    (online_text,) = files_with_outcome(report, "ignored")
    assert online_text.reason == "It is text typed into a page; only a notebook can be marked."
    assert report.exit_code == 0
    origin = read_origin(classroom.root, "Ada Lovelace", QKV)
    assert (
        origin.participant == "12345"
        and origin.original == f"Ada Lovelace_12345_assignsubmission_{end}"
    )


def test_moodle_in_blind_marking(classroom, make_download):
    files = {
        f"Participant_{n}_assignsubmission_file_/{NOTEBOOK_NAME}": notebook(str(n))
        for n in (1001, 1002, 1003)
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        f"Participant_{n}/qkv-attention": str(n) for n in (1001, 1002, 1003)
    }
    assert report.exit_code == 0


def test_moodle_in_blind_marking_in_another_language(classroom, make_download):
    files = {
        f"Osallistuja_{n}_assignsubmission_file_/{NOTEBOOK_NAME}": notebook(str(n)) for n in (7, 8)
    }
    collect([make_download(files)], classroom)
    assert sorted(read_submitted(classroom)) == [
        "Osallistuja_7/qkv-attention",
        "Osallistuja_8/qkv-attention",
    ]


def test_two_moodle_participants_of_one_name_are_both_refused(classroom, make_download):
    files = {
        f"Ada Lovelace_{n}_assignsubmission_file_/{NOTEBOOK_NAME}": notebook(str(n)) for n in (1, 2)
    }
    files[f"Bo Li_3_assignsubmission_file_/{NOTEBOOK_NAME}"] = notebook("bo")
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"Bo Li/qkv-attention": "bo"}
    assert len(files_with_outcome(report, "unmatched")) == 2 and report.exit_code == 1
    assert files_with_outcome(report, "unmatched")[0].reason == (
        "Moodle 'Ada Lovelace (1)' and Moodle 'Ada Lovelace (2)' would all be 'Ada Lovelace', "
        "and may be several people. A name alone does not tell them apart: put a roster that "
        "tells them apart into the classroom as roster.csv."
    )


def test_two_files_with_a_name_that_a_student_chose_are_told_by_their_paths(
    classroom, make_download
):
    paths = ["Ada Lovelace - qkv-attention (1).ipynb", "Ada Lovelace - qkv-attention.ipynb"]
    report = collect([make_download({path: notebook(path) for path in paths})], classroom)
    assert submitted_texts(classroom) == {}
    assert {row.reason for row in files_with_outcome(report, "unmatched")} == {
        f"Google Classroom {paths[0]!r} and Google Classroom {paths[1]!r} would all be "
        "'Ada Lovelace', and may be several people. Put each into a folder called after its student."
    }


def test_another_moodle_participant_of_a_name_later_is_refused(classroom, tmp_path):
    for n in (1, 2):
        files = {f"Ada Lovelace_{n}_assignsubmission_file_/{NOTEBOOK_NAME}": notebook(str(n))}
        report = collect([write_files(tmp_path / str(n), files)], classroom)
    assert only_file(report).reason.startswith(
        "The submission that is there came from Moodle 'Ada Lovelace (1)', this one from Moodle "
        "'Ada Lovelace (2)'."
    )
    assert submitted_texts(classroom) == {"Ada Lovelace/qkv-attention": "1"}


def test_a_grading_worksheet_as_roster_tells_moodles_participants_apart(classroom, make_download):
    classroom.root.mkdir()
    (classroom.root / "roster.csv").write_text(
        "Identifier,Full name,Email address,Status,Grade\n"
        "Participant 1,Ada Lovelace,ada1@x.edu,Submitted,\n"
        "Participant 2,Ada Lovelace,ada2@x.edu,Submitted,\n"
    )
    files = {
        f"Ada Lovelace_{n}_assignsubmission_file_/{NOTEBOOK_NAME}": notebook(str(n)) for n in (1, 2)
    }
    collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        "ada1@x.edu/qkv-attention": "1",
        "ada2@x.edu/qkv-attention": "2",
    }


def test_moodle_groups(classroom, make_download):
    """Moodle names folders after the group since 4.1, and after each member before."""
    classroom.root.mkdir()
    (classroom.root / "roster.csv").write_text(
        "First name,Last name,Email address,Groups\n"
        'Ada,Lovelace,ada@x.edu,"Team Red, Lab A"\n'
        "Grace,Hopper,grace@x.edu,Team Red\n"
        "Bo,Li,bo@x.edu,Team Blue\n"
    )
    files = {
        f"Team Red_55_assignsubmission_file/{NOTEBOOK_NAME}": notebook("red"),
        f"Team Blue-Bo Li_77_assignsubmission_file_/{NOTEBOOK_NAME}": notebook("blue"),
        f"Default team_assignsubmission_file/{NOTEBOOK_NAME}": notebook("nobody"),
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        "ada@x.edu/qkv-attention": "red",
        "grace@x.edu/qkv-attention": "red",
        "bo@x.edu/qkv-attention": "blue",
    }
    assert read_origin(classroom.root, "ada@x.edu", QKV).members == ("ada@x.edu", "grace@x.edu")
    assert files_with_outcome(report, "unmatched")[0].reason.startswith(
        "Moodle gives no number in its name",
    )


def test_a_number_of_one_assignment_is_another_student_s_in_the_next(classroom, make_download):
    files = {
        f"Ada Lovelace_7_assignsubmission_file_/{NOTEBOOK_NAME}": notebook("ada"),
        "Bo Li_7_assignsubmission_file_/additive-attention.ipynb": notebook("bo"),
    }
    report = collect([make_download(files)], classroom)
    assert files_with_outcome(report, "refused") == [] and report.exit_code == 0
    assert sorted(submitted_texts(classroom).values()) == ["ada", "bo"]


# Blackboard


@pytest.mark.parametrize(
    ("date", "utc"),
    [
        ("Friday, November 20, 2026 2:03:22 PM EST", "2026-11-20 19:03:22 UTC"),
        ("Friday, 20 November 2026 14:03:22 o'clock GMT", "2026-11-20 14:03:22 UTC"),
        ("Friday, 20 November 2026 14:03:22 +0100", "2026-11-20 13:03:22 UTC"),
        ("Friday, 20 November 2026 14:03:22 XYZT", "2026-11-20 14:03:22 UTC"),  # an unknown zone
        ("le 31 brumaire", "2026-11-20 14:03:22 UTC"),
        # Not the moment in the file's name.
        ("Friday, November 20, 2026 9:00:00 PM EST", "2026-11-20 14:03:22 UTC"),
        ("Friday, November 20, 2026 9:00:00 AM EST", "2026-11-20 14:03:22 UTC"),
    ],
)
def test_blackboard(classroom, make_download, date, utc):
    report = collect([make_download(blackboard_files(date=date))], classroom)
    assert read_submitted(classroom) == {"ada1/qkv-attention": ("ada1", utc)}
    assert report.exit_code == 0 and report.other_file_count == 1
    origin = read_origin(classroom.root, "ada1", QKV)
    assert (origin.login, origin.name, origin.submission_time) == ("ada1", "Ada Lovelace", utc)


def test_blackboard_logins_with_underscores_are_in_the_text_files(classroom, make_download):
    collect(
        [make_download(blackboard_files(user="a_smith") | blackboard_files(user="b_smith"))],
        classroom,
    )
    assert sorted(read_submitted(classroom)) == ["a_smith/qkv-attention", "b_smith/qkv-attention"]


def test_blackboard_logins_with_underscores_without_text_files_are_refused(
    classroom,
    make_download,
):
    files = blackboard_files(user="a_smith", receipt=False) | blackboard_files(
        user="b_smith",
        receipt=False,
    )
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {} and report.exit_code == 1
    assert files_with_outcome(report, "unmatched")[0].reason == (
        "It cannot be told where the assignment's name ends and the student's begins in "
        "'qkv-attention_a_smith'. Keep Blackboard's text files beside the submissions, or put a "
        "roster that tells them apart into the classroom as roster.csv."
    )


def test_blackboard_logins_with_underscores_are_known_to_the_roster(classroom, make_download):
    classroom.root.mkdir()
    lines = ("Last Name\tFirst Name\tUsername", "Smith\tAnn\ta_smith", "Smith\tBo\tb_smith")
    (classroom.root / "roster.csv").write_bytes("\n".join(lines).encode("utf-16"))
    files = blackboard_files(user="a_smith", receipt=False) | blackboard_files(
        user="b_smith",
        receipt=False,
    )
    collect([make_download(files)], classroom)
    assert sorted(read_submitted(classroom)) == ["a_smith/qkv-attention", "b_smith/qkv-attention"]


def test_a_blackboard_name_with_an_impossible_time(classroom, make_download):
    report = collect(
        [make_download({f"lab_ada1_attempt_2026-13-40-14-03-22_{NOTEBOOK_NAME}": notebook()})],
        classroom,
    )
    assert only_file(report).reason == "2026-13-40-14-03-22 in its name is no time."
    assert read_submitted(classroom) == {"ada1/qkv-attention": ("x", None)}


@pytest.mark.parametrize(
    ("has_receipts", "time"),
    [(False, "2026-11-20 13:03:22 UTC"), (True, "2026-11-20 19:03:22 UTC")],
)
def test_the_time_zone_given_counts_where_blackboard_names_none(
    classroom, make_download, has_receipts, time
):
    files = blackboard_files()
    if not has_receipts:
        files = {name: data for name, data in files.items() if not name.endswith(".txt")}
    collect([make_download(files)], classroom, timezone="Europe/Berlin")
    assert read_submitted(classroom)["ada1/qkv-attention"][1] == time


def test_a_receipt_speaks_for_its_own_submission_only(classroom, make_download):
    files = blackboard_attempts(1)
    prefix = next(iter(files)).split("_qkv")[0]
    files[f"{prefix}.txt"] = RECEIPT_OF_ANOTHER
    collect([make_download(files)], classroom)
    assert list(read_submitted(classroom)) == ["ada/qkv-attention"]


RECEIPT_OF_ANOTHER = b"Name: Bob (bob)\nDate Submitted: Friday, November 20, 2026 2:01:00 PM EST\n"


# Brightspace


@pytest.mark.parametrize("joint", ["/", " - "])
def test_brightspace(classroom, make_download, joint):
    files = {
        f"12345-67890 - Jane Doe - Oct 3, 2026 1134 PM{joint}{NOTEBOOK_NAME}": notebook("first"),
        f"12345-67890 - Jane Doe - Oct 4, 2026 926 AM{joint}{NOTEBOOK_NAME}": notebook("second"),
        f"12346-67890 - Mary-Ann Smith - Oct 3, 2026 1201 AM{joint}{NOTEBOOK_NAME}": notebook(
            "mary",
        ),
        "index.html": b"<table></table>",
    }
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {
        "Jane Doe/qkv-attention": ("second", "2026-10-04 09:26:00 UTC"),
        "Mary-Ann Smith/qkv-attention": ("mary", "2026-10-03 00:01:00 UTC"),
    }
    assert report.exit_code == 0 and len(files_with_outcome(report, "older")) == 1
    origin = read_origin(classroom.root, "Jane Doe", QKV)
    assert (origin.platform, origin.lms_id, origin.name) == ("Brightspace", "12345", "Jane Doe")


def test_brightspace_with_a_dash_for_the_comma(classroom, make_download):
    files = {f"12345-67890 - Jane Doe - Oct 3- 2026 1134 PM/{NOTEBOOK_NAME}": notebook("a")}
    collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {"Jane Doe/qkv-attention": ("a", "2026-10-03 23:34:00 UTC")}


def test_two_of_one_name_in_brightspace_are_both_refused(classroom, make_download):
    files = {
        f"{n}-67890 - Jane Doe - Oct 3, 2026 1134 PM/{NOTEBOOK_NAME}": notebook(str(n))
        for n in (1, 2)
    }
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {} and len(files_with_outcome(report, "unmatched")) == 2


# Google Classroom


@pytest.mark.parametrize("parent", ["Lab 2/", ""])
def test_google_classroom(classroom, make_download, parent):
    files = {
        f"{parent}Jane Doe - qkv-attention.ipynb": notebook("jane"),
        f"{parent}Bo Li - qkv-attention.ipynb": notebook("bo"),
        f"{parent}Kim Oh - Copy of qkv-attention.ipynb": notebook("kim"),
        f"{parent}qkv-attention (1).ipynb": notebook("whose?"),
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        f"{n}/qkv-attention": n.split()[0].lower() for n in ("Jane Doe", "Bo Li", "Kim Oh")
    }
    (reason,) = [row.reason for row in files_with_outcome(report, "unmatched")]
    assert reason == (
        "Neither its name nor a folder says whose it is. Put it into a folder called after the "
        "student, or say with --pattern where the student's name stands."
    )


# Gradescope

METADATA = """---
submission_98765432:
  :submitters:
  - :name: Jane Doe
    :sid: '0012'
    :email: jane@x.edu
  - :name: Bo Li
    :sid: '0013'
    :email: bo@x.edu
  :created_at: 2026-10-03 21:34:12.123456000 Z
  :score: 10.0
  :history: []
submission_98765433:
  :submitters:
  - :name: Kim Oh
    :sid:
    :email: kim@x.edu
  :created_at: 2026-10-03 23:34:12.000000000 -07:00
"""


def gradescope(metadata=METADATA):
    return {
        "assignment_1_export/submission_metadata.yml": metadata.encode(),
        f"assignment_1_export/submission_98765432/{NOTEBOOK_NAME}": notebook("both"),
        f"assignment_1_export/submission_98765433/work/{NOTEBOOK_NAME}": notebook("kim"),
        "assignment_1_export/submission_98765433/submission_metadata.yml": b"mine",
    }


def test_gradescope(classroom, make_download):
    report = collect([make_download(gradescope())], classroom)
    assert read_submitted(classroom) == {
        "jane@x.edu/qkv-attention": ("both", "2026-10-03 21:34:12 UTC"),
        "bo@x.edu/qkv-attention": ("both", "2026-10-03 21:34:12 UTC"),
        "kim@x.edu/qkv-attention": ("kim", "2026-10-04 06:34:12 UTC"),
    }
    assert report.exit_code == 0
    origin = read_origin(classroom.root, "bo@x.edu", QKV)
    assert (origin.name, origin.sid, origin.email) == ("Bo Li", "0013", "bo@x.edu")
    assert (
        origin.members == ("jane@x.edu", "bo@x.edu") and origin.original == "submission_98765432/"
    )


@pytest.mark.parametrize(
    ("options", "time"),
    [
        ({}, "21:34:12"),
        ({"course_timezone": "Asia/Tokyo"}, "12:34:12"),
        ({"course_timezone": "Asia/Tokyo", "timezone": "Europe/Berlin"}, "19:34:12"),
    ],
)
def test_a_zone_is_assumed_for_a_time_in_gradescopes_list_without_one(
    classroom, inbox, options, time
):
    metadata = METADATA.replace(".123456000 Z", "")
    collect([write_files(inbox, gradescope(metadata))], classroom, **options)
    times = {key: submitted_at for key, (_, submitted_at) in read_submitted(classroom).items()}
    assert times["bo@x.edu/qkv-attention"] == f"2026-10-03 {time} UTC"
    assert times["kim@x.edu/qkv-attention"] == "2026-10-04 06:34:12 UTC"  # its zone is stated


@pytest.mark.parametrize(
    "metadata",
    ["", "- 1", "{" * 5000, "submission_98765432: 5", "a: *b", "\x00"],
)
def test_gradescope_with_unusable_metadata(classroom, make_download, metadata):
    report = collect([make_download(gradescope(metadata))], classroom)
    assert read_submitted(classroom) == {} and report.exit_code == 1
    assert any(
        "does not say who submitted 'submission_98765432'" in row.reason for row in report.files
    )


@pytest.mark.parametrize("missing", [0, 1])
def test_gradescopes_list_is_read_up_to_a_size(classroom, make_download, set_limits, missing):
    set_limits(max_index_bytes=len(METADATA.encode()) - missing)
    collect([make_download(gradescope())], classroom)
    assert (read_submitted(classroom) == {}) == bool(missing)


def test_gradescopes_list_is_nested_and_long_up_to_a_limit(monkeypatch):
    inner = platform_metadata.MAX_YAML_NESTING - 1
    assert read_gradescope_metadata(b"a: " + b"[" * inner + b"]" * inner) == {}
    with pytest.raises(ValueError, match="nested too deeply"):
        read_gradescope_metadata(b"a: " + b"[" * (inner + 1) + b"]" * (inner + 1))
    # Its events after the first: a document, a table and its two texts, and three ends.
    monkeypatch.setattr(platform_metadata, "MAX_YAML_EVENTS", 7)
    assert read_gradescope_metadata(b"a: b") == {}
    monkeypatch.setattr(platform_metadata, "MAX_YAML_EVENTS", 6)
    with pytest.raises(ValueError, match="too long"):
        read_gradescope_metadata(b"a: b")


def test_of_many_submitters_the_first_ones_count():
    most = platform_metadata.MAX_SUBMITTERS
    for count in (most, most + 1):
        people = "".join(f"  - :sid: '{number}'\n" for number in range(count))
        table = read_gradescope_metadata(f"one:\n  :submitters:\n{people}".encode())
        sids = [identity.sid for identity in table["one"].submitters]
        assert sids == [str(number) for number in range(most)]


def test_gradescopes_metadata_holds_texts_only():
    tags = b"submission_1:\n  :submitters:\n  - :name: !!python/object/apply:os.system ['true']\n"
    assert read_gradescope_metadata(tags)["submission_1"].submitters[0].name in ("", "['true']")


# GitHub Classroom


@pytest.mark.parametrize("repository", ["qkv-attention-ada-l", "lab-2-submissions/lab-2-ada-l"])
def test_github(classroom, make_download, repository):
    files = {
        f"{repository}/.git/HEAD": b"ref: refs/heads/main",
        f"{repository}/.git/hooks/{NOTEBOOK_NAME}": notebook("a hook"),
        f"{repository}/work/qkv-attention/{NOTEBOOK_NAME}": notebook("ada"),
        f"{repository}/work/qkv-attention/.ipynb_checkpoints/qkv-attention-checkpoint.ipynb": notebook(
            "old",
        ),
        f"{repository}/README.md": b"hello",
    }
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {"ada-l/qkv-attention": ("ada", None)}
    assert report.exit_code == 0 and report.junk_count >= 1


@pytest.mark.parametrize(
    "parent",
    ["", "attention-masks-submissions/", "Lab 3/attention-masks-submissions/"],
)
@pytest.mark.parametrize("git", [True, False])
def test_github_classrooms_folder_and_the_ones_above(classroom, make_download, parent, git):
    files = {}
    for user in ("Ada", "grace-h", "submissions-fan"):
        files[f"{parent}attention-masks-{user}/attention-masks.ipynb"] = notebook(user)
        if git:
            files[f"{parent}attention-masks-{user}/.git/HEAD"] = b"x"
    report = collect([make_download(files, "parent")], classroom)
    assert submitted_texts(classroom) == {
        f"{u.lower()}/attention-masks": u for u in ("Ada", "grace-h", "submissions-fan")
    }
    assert report.exit_code == 0


def test_github_clones_show_their_assignment_by_what_they_have_in_common(classroom, make_download):
    files = {}
    for user in ("ada", "grace-h"):
        files |= {
            f"week-2-{user}/.git/HEAD": b"x",
            f"week-2-{user}/{NOTEBOOK_NAME}": notebook(user),
        }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        "ada/qkv-attention": "ada",
        "grace-h/qkv-attention": "grace-h",
    }
    assert all(row.reason == "The assignment was taken to be 'week-2'." for row in report.files)


# --pattern


def test_a_pattern_for_other_names(classroom, make_download):
    files = {
        "2026/jdoe--qkv-attention--v1.ipynb": notebook("jane"),
        "2026/bli--attention-masks--v3.ipynb": notebook("bo"),
        "2026/odd.ipynb": notebook("odd"),
    }
    report = collect(
        [make_download(files)],
        classroom,
        pattern=r"2026/(?P<student>\w+)--(?P<lab>[\w-]+?)--v(?P<number>\d+)\.ipynb",
    )
    assert submitted_texts(classroom) == {"jdoe/qkv-attention": "jane", "bli/attention-masks": "bo"}
    assert [row.reason for row in files_with_outcome(report, "unmatched")] == [
        "It does not match --pattern.",
    ]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "--pattern is no regular expression"),
        ("(?P<lab>.+)", "--pattern must say who"),
        ("(?P<student>.+)(?P<colour>x)", "groups of no meaning: colour"),
    ],
)
def test_a_pattern_that_cannot_be_used(classroom, inbox, pattern, reason):
    with pytest.raises(UsageError, match=reason.replace("(", r"\(").replace("?", r"\?")):
        collect([inbox], classroom, pattern=pattern)


# Times and texts


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Oct 3, 2026 1134 PM", "2026-10-03 23:34:00+00:00"),
        ("Oct 3- 2026 926 AM", "2026-10-03 09:26:00+00:00"),
        ("3 Oct, 2026 23:34", "2026-10-03 23:34:00+00:00"),
        ("2026-10-03 21:34:12.123456000 Z", "2026-10-03 21:34:12+00:00"),
        ("2026-11-20 15:03:22.123456 Europe/Berlin", "2026-11-20 14:03:22+00:00"),
        ("2026-11-20 15:03:22 +0100", "2026-11-20 14:03:22+00:00"),
        ("12/05/2026 10:00", "None"),  # the day or the month may come first
        ("5.12.2026 10:00", "None"),
        ("01-02-26 10:00", "None"),
        ("12/12/2026 10:00", "2026-12-12 10:00:00+00:00"),
        ("25/12/2026 10:00", "2026-12-25 10:00:00+00:00"),
        ("12/25/2026 10:00", "2026-12-25 10:00:00+00:00"),
        ("99999999999999999999999999h", "None"),
        ("nothing", "None"),
        ("", "None"),
        ("5", "None"),
    ],
)
def test_times(text, time):
    from datetime import UTC

    assert str(parse_timestamp(text, UTC)) == time


def test_no_text_makes_the_parsers_raise():
    from hypothesis import given
    from hypothesis import strategies as st

    @given(st.text(max_size=200))
    def parse_all(text):
        parse_time(text)
        read_blackboard_receipt(text)
        match_patterns(text, [QKV])
        for pattern in FILENAME_PATTERNS:
            pattern.match(text)

    parse_all()
    assert GRADE_IDS and zip_bytes({})


TIMED_NAMES = {
    "Blackboard": "qkv-attention_ada1_attempt_2026-11-20-{hour}-03-22_qkv-attention.ipynb",
    "Brightspace": "12345-67890 - Ada Lovelace - Nov 20, 2026 {hour}03/qkv-attention.ipynb",
}


@pytest.mark.parametrize("platform", TIMED_NAMES)
def test_the_courses_zone_is_the_default(classroom, inbox, platform):
    write_files(inbox, {TIMED_NAMES[platform].format(hour="14"): notebook()})
    report = collect([inbox], classroom, course_timezone="Europe/Paris")
    ((_, timestamp),) = read_submitted(classroom).values()
    assert timestamp.startswith("2026-11-20 13:03:")
    assert (
        "Times without a zone were read in Europe/Paris, the zone in course.toml." in report.summary
    )
    report = collect([inbox], classroom, timezone="Europe/Paris", course_timezone="UTC")
    assert "Times without a zone" not in report.summary


@pytest.mark.parametrize("platform", TIMED_NAMES)
def test_a_zone_that_is_named_later_corrects_the_time(classroom, inbox, platform):
    """The first run takes UTC, a run with a zone corrects it, and later runs keep the correction."""
    write_files(inbox, {TIMED_NAMES[platform].format(hour="17"): notebook()})
    first = collect([inbox], classroom)
    assert "Times without a zone were read in UTC, as course.toml names no zone." in first.summary
    ((_, wrong),) = read_submitted(classroom).values()
    second = collect([inbox], classroom, timezone="Europe/Paris")
    ((_, right),) = read_submitted(classroom).values()
    assert (wrong[11:13], right[11:13]) == ("17", "16")
    (path,) = classroom.submitted.rglob("*.ipynb")
    file_time = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    assert file_time.strftime("%Y-%m-%d %H:%M:%S UTC") == right
    assert "The time was read anew, in the zone that you named: " in second.summary
    assert not (classroom.root / "submitted-earlier").exists()
    for options in ({}, {"course_timezone": "Asia/Tokyo"}, {"timezone": "Europe/Paris"}):
        report = collect([inbox], classroom, **options)
        assert (
            read_submitted(classroom) and next(iter(read_submitted(classroom).values()))[1] == right
        )
        assert "read anew" not in report.summary
        if "timezone" not in options:  # the course's zone was not used, so it is not named
            assert "Times without a zone were read" not in report.summary
            assert (
                "The times that an earlier run read in another zone stay; say --timezone"
                in report.summary
            )


def test_a_time_that_the_roster_states_is_not_missing(classroom, inbox):
    (classroom.root).mkdir(parents=True, exist_ok=True)
    roster = classroom.root / "roster.csv"
    roster.write_text(
        "Name,Login,Submitted qkv-attention\nAda Lovelace,ada,2026-11-21 19:05\nBo Li,bo,\n"
    )
    write_files(inbox, {f"{name}/qkv-attention.ipynb": notebook(name) for name in ("ada", "bo")})
    report = collect([inbox], classroom)
    assert report.untimed_count == 1 and "1 submission without a time stamp" in report.summary


def test_a_split_student_is_named(classroom, inbox):
    write_files(classroom.submitted, {f"Ada Lovelace/{QKV}/{QKV}.ipynb": notebook("1")})
    write_files(classroom.submitted, {f"ada/{QKV}/{QKV}.ipynb": notebook("2")})
    (classroom.root / "roster.csv").write_text("Name,Login\nAda Lovelace,ada\nBo Li,bo\n")
    report = collect([write_files(inbox, {f"bo/{QKV}.ipynb": notebook("3")})], classroom)
    assert (
        "The folders 'Ada Lovelace' and 'ada' in submitted/ seem to be one student's"
        in report.summary
    )
    assert "`autograder merge` makes one of them" in report.summary


@pytest.mark.parametrize("is_replaced", [False, True], ids=["filed together", "replaced"])
def test_times_of_earlier_attempts_are_read_again_too(classroom, inbox, is_replaced):
    name = TIMED_NAMES["Blackboard"]
    write_files(inbox, {name.format(hour="15"): notebook("1")})
    if is_replaced:
        collect([inbox], classroom)
    write_files(inbox, {name.format(hour="17"): notebook("2")})
    collect([inbox], classroom)
    collect([inbox], classroom, timezone="Europe/Paris")
    assert read_submitted(classroom)["ada1/qkv-attention"] == ("2", "2026-11-20 16:03:22 UTC")
    (earlier_path,) = (classroom.root / "submitted-earlier" / "ada1" / QKV).glob("*.ipynb")
    assert earlier_path.with_suffix(".txt").read_text() == "2026-11-20 14:03:22 UTC\n"


def test_the_same_bytes_submitted_again_stay_two_attempts(classroom, inbox):
    name = TIMED_NAMES["Blackboard"]
    for hour in ("15", "17"):
        write_files(inbox, {name.format(hour=hour): notebook()})
        collect([inbox], classroom, timezone="Europe/Paris")
    assert read_submitted(classroom)["ada1/qkv-attention"][1] == "2026-11-20 16:03:22 UTC"
    assert len(list((classroom.root / "submitted-earlier" / "ada1" / QKV).glob("*.ipynb"))) == 1


@pytest.fixture
def machine_zone(monkeypatch):
    """Function that sets the time zone of this machine."""
    if not hasattr(time, "tzset"):
        pytest.skip("Windows has no TZ")

    def set_zone(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield set_zone
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("machine", ["UTC", "America/St_Johns", "Asia/Kolkata"])
@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-03-01 10:00:00", "2026-03-01 15:00:00"),
        ("2026-03-01 10:00:00 Mars/Olympus", "2026-03-01 15:00:00"),
        ("2026-03-01 10:00:00 Europe/Berlin", "2026-03-01 09:00:00"),
        ("2026-03-01 10:00:00 UTC", "2026-03-01 10:00:00"),
        ("2026-03-01-10-00-00", "2026-03-01 15:00:00"),
        ("2026-07-01 10:00:00", "2026-07-01 14:00:00"),
    ],
)
def test_a_time_is_in_the_zone_of_the_course_wherever_the_machine_is(
    machine_zone, machine, text, utc
):
    machine_zone(machine)
    assert str(parse_timestamp(text, ZoneInfo("America/New_York"))) == f"{utc}+00:00"
    origin = Origin(time=1_800_000_000.7)
    for seconds in (25 * 3600, -25 * 3600):
        name = make_earlier_attempt_file_name(Origin(time=1_800_000_000 + seconds))
        assert _differs_only_by_time_zone(Path(name), origin)
