"""Each platform's download in its own form: who is who, when it came, and what is kept for the way back."""

import pytest
from downloads import (
    GRADE_IDS,
    QKV,
    attempts,
    blackboard,
    collect,
    filed,
    notebook,
    of,
    only,
    put,
    texts,
    zip_bytes,
)

from autograder.errors import Usage
from autograder.grading.intake import read_origin
from autograder.grading.intake.indexes import parse_time, read_metadata, read_receipt, stamp_of
from autograder.grading.intake.platforms import (
    FORMS,
    forms_of,
)

NB = "qkv-attention.ipynb"


@pytest.mark.parametrize(
    ("form", "path"),
    [(form, path) for form in FORMS for path in form.examples],
    ids=lambda value: value if isinstance(value, str) else value.platform,
)
def test_every_forms_examples(form, path):
    said = form.match(path)
    assert said is not None
    assert {key: said[key] for key in form.examples[path]} == form.examples[path]
    assert forms_of(path, [QKV, "random-walks"])[0][0].platform == form.platform


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.platform)
def test_every_form_has_examples_and_a_file_that_comes_last(form):
    assert form.examples
    assert form.pattern.rstrip().endswith(("(?P<file>.+)", "(?P<file>[^/]+)", "(?P<file>[_.].+)"))


# Canvas


def test_canvas(room, given_as):
    files = {
        f"lovelaceada_12345_678901_{NB}": notebook("ada"),
        "hoppergrace_LATE_12346_678902_qkv-attention-2.ipynb": notebook("grace"),
        "müllerzoë_12347_678903_attention-masks-1.ipynb": notebook("zoe"),
        f"anon_aB3xY_678904_{NB}": notebook("anon"),
        f"LATE_anon_cD4zW_678905_{NB}": notebook("late anon"),
        "wongkim_12348_text.html": b"<p>typed</p>",
    }
    report = collect([given_as(files)], room)
    assert texts(room) == {
        "lovelaceada-12345/qkv-attention": "ada",
        "hoppergrace-12346/qkv-attention": "grace",
        "müllerzoë-12347/attention-masks": "zoe",
        "anon_aB3xY/qkv-attention": "anon",
        "anon_cD4zW/qkv-attention": "late anon",
    }
    assert report.exit_code == 0
    late = [row.student for row in report.rows if "Canvas marks it as late" in row.reason]
    assert sorted(late) == ["anon_cD4zW", "hoppergrace-12346"]
    origin = read_origin(room.root, "hoppergrace-12346", QKV)
    assert (origin.platform, origin.lms_id, origin.late, origin.number) == ("Canvas", "12346", True, 678902)
    assert origin.original == "hoppergrace_LATE_12346_678902_" and origin.file.endswith(
        "qkv-attention-2.ipynb"
    )


def test_a_canvas_student_who_changes_names_stays_the_same(room, inbox, tmp_path):
    collect([put(inbox, {f"byronada_12345_678_{NB}": notebook()})], room)
    collect([put(tmp_path / "other", {"lovelaceada_12345_700_attention-masks.ipynb": notebook()})], room)
    assert sorted(filed(room)) == ["byronada-12345/attention-masks", "byronada-12345/qkv-attention"]


def test_a_group_is_not_taken_for_a_canvas_student(room, inbox, tmp_path):
    collect([put(inbox, {f"group-12/{NB}": notebook()})], room)
    collect([put(tmp_path / "other", {f"lovelaceada_12_700_{NB}": notebook("2")})], room)
    assert sorted(filed(room)) == ["group-12/qkv-attention", "lovelaceada-12/qkv-attention"]


# Moodle


@pytest.mark.parametrize("end", ["file_/", "file/", "file_"])
def test_moodle(room, given_as, end):
    files = {
        f"Ada Lovelace_12345_assignsubmission_{end}{NB}": notebook("ada"),
        f"Zoë Müller_12347_assignsubmission_{end}{NB}": notebook("zoe"),
        "Kurt Gödel_12349_assignsubmission_onlinetext_/onlinetext.html": b"<p>here</p>",
    }
    report = collect([given_as(files)], room)
    assert texts(room) == {"Ada Lovelace/qkv-attention": "ada", "Zoë Müller/qkv-attention": "zoe"}
    (typed,) = of(report, "ignored")
    assert typed.reason == "It is text typed into a page; only a notebook can be marked."
    assert report.exit_code == 0
    origin = read_origin(room.root, "Ada Lovelace", QKV)
    assert origin.participant == "12345" and origin.original == f"Ada Lovelace_12345_assignsubmission_{end}"


def test_moodle_in_blind_marking(room, given_as):
    files = {f"Participant_{n}_assignsubmission_file_/{NB}": notebook(str(n)) for n in (1001, 1002, 1003)}
    report = collect([given_as(files)], room)
    assert texts(room) == {f"Participant_{n}/qkv-attention": str(n) for n in (1001, 1002, 1003)}
    assert report.exit_code == 0


def test_moodle_in_blind_marking_in_another_language(room, given_as):
    files = {f"Osallistuja_{n}_assignsubmission_file_/{NB}": notebook(str(n)) for n in (7, 8)}
    collect([given_as(files)], room)
    assert sorted(filed(room)) == ["Osallistuja_7/qkv-attention", "Osallistuja_8/qkv-attention"]


def test_two_moodle_participants_of_one_name_are_both_refused(room, given_as):
    files = {f"Ada Lovelace_{n}_assignsubmission_file_/{NB}": notebook(str(n)) for n in (1, 2)}
    files[f"Bo Li_3_assignsubmission_file_/{NB}"] = notebook("bo")
    report = collect([given_as(files)], room)
    assert texts(room) == {"Bo Li/qkv-attention": "bo"}
    assert len(of(report, "unmatched")) == 2 and report.exit_code == 1
    assert of(report, "unmatched")[0].reason == (
        "Moodle 'Ada Lovelace (1)' and Moodle 'Ada Lovelace (2)' would all be 'Ada Lovelace', and may be several "
        "people. A name alone does not tell them apart: put a roster that tells them apart into the classroom as "
        "roster.csv."
    )


def test_another_moodle_participant_of_a_name_later_is_refused(room, tmp_path):
    for n in (1, 2):
        files = {f"Ada Lovelace_{n}_assignsubmission_file_/{NB}": notebook(str(n))}
        report = collect([put(tmp_path / str(n), files)], room)
    assert only(report).reason.startswith(
        "The hand-in that is there came from Moodle 'Ada Lovelace (1)', this one from Moodle 'Ada Lovelace (2)'."
    )
    assert texts(room) == {"Ada Lovelace/qkv-attention": "1"}


def test_a_grading_worksheet_as_roster_tells_moodles_participants_apart(room, given_as):
    room.root.mkdir()
    (room.root / "roster.csv").write_text(
        "Identifier,Full name,Email address,Status,Grade\n"
        "Participant 1,Ada Lovelace,ada1@x.edu,Submitted,\n"
        "Participant 2,Ada Lovelace,ada2@x.edu,Submitted,\n"
    )
    files = {f"Ada Lovelace_{n}_assignsubmission_file_/{NB}": notebook(str(n)) for n in (1, 2)}
    collect([given_as(files)], room)
    assert texts(room) == {"ada1@x.edu/qkv-attention": "1", "ada2@x.edu/qkv-attention": "2"}


def test_moodle_groups(room, given_as):
    """Since Moodle 4.1 a group's folder bears the group's name and number; before, each member's its own."""
    room.root.mkdir()
    (room.root / "roster.csv").write_text(
        "First name,Last name,Email address,Groups\n"
        'Ada,Lovelace,ada@x.edu,"Team Red, Lab A"\n'
        "Grace,Hopper,grace@x.edu,Team Red\n"
        "Bo,Li,bo@x.edu,Team Blue\n"
    )
    files = {
        f"Team Red_55_assignsubmission_file/{NB}": notebook("red"),
        f"Team Blue-Bo Li_77_assignsubmission_file_/{NB}": notebook("blue"),
        f"Default team_assignsubmission_file/{NB}": notebook("nobody"),
    }
    report = collect([given_as(files)], room)
    assert texts(room) == {
        "ada@x.edu/qkv-attention": "red",
        "grace@x.edu/qkv-attention": "red",
        "bo@x.edu/qkv-attention": "blue",
    }
    assert read_origin(room.root, "ada@x.edu", QKV).members == ("ada@x.edu", "grace@x.edu")
    assert of(report, "unmatched")[0].reason.startswith("Moodle gives no number in its name")


# Blackboard


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
    origin = read_origin(room.root, "ada1", QKV)
    assert (origin.login, origin.name, origin.handed_in) == ("ada1", "Ada Lovelace", utc)


def test_blackboard_logins_with_underscores_are_in_the_text_files(room, given_as):
    collect([given_as(blackboard(user="a_smith") | blackboard(user="b_smith"))], room)
    assert sorted(filed(room)) == ["a_smith/qkv-attention", "b_smith/qkv-attention"]


def test_blackboard_logins_with_underscores_without_text_files_are_refused(room, given_as):
    files = blackboard(user="a_smith", receipt=False) | blackboard(user="b_smith", receipt=False)
    report = collect([given_as(files)], room)
    assert filed(room) == {} and report.exit_code == 1
    assert of(report, "unmatched")[0].reason == (
        "It cannot be told where the assignment's name ends and the student's begins in "
        "'qkv-attention_a_smith'. Keep Blackboard's text files beside the hand-ins, or put a "
        "roster that tells "
        "them apart into the classroom as roster.csv."
    )


def test_blackboard_logins_with_underscores_are_known_to_the_roster(room, given_as):
    room.root.mkdir()
    lines = ("Last Name\tFirst Name\tUsername", "Smith\tAnn\ta_smith", "Smith\tBo\tb_smith")
    (room.root / "roster.csv").write_bytes("\n".join(lines).encode("utf-16"))
    files = blackboard(user="a_smith", receipt=False) | blackboard(user="b_smith", receipt=False)
    collect([given_as(files)], room)
    assert sorted(filed(room)) == ["a_smith/qkv-attention", "b_smith/qkv-attention"]


def test_a_blackboard_name_with_an_impossible_time(room, given_as):
    report = collect([given_as({f"lab_ada1_attempt_2026-13-40-14-03-22_{NB}": notebook()})], room)
    assert only(report).reason == "2026-13-40-14-03-22 in its name is no time."
    assert filed(room) == {"ada1/qkv-attention": ("x", None)}


def test_the_time_zone_given_counts(room, given_as):
    collect([given_as(blackboard())], room, timezone="Europe/Berlin")
    assert filed(room)["ada1/qkv-attention"][1] == "2026-11-20 13:03:22 UTC"


def test_a_receipt_speaks_for_its_own_hand_in_only(room, given_as):
    files = attempts(1)
    begins = next(iter(files)).split("_qkv")[0]
    files[f"{begins}.txt"] = RECEIPT_OF_ANOTHER
    collect([given_as(files)], room)
    assert list(filed(room)) == ["ada/qkv-attention"]


RECEIPT_OF_ANOTHER = b"Name: Bob (bob)\nDate Submitted: Friday, November 20, 2026 2:01:00 PM EST\n"


# Brightspace


@pytest.mark.parametrize("joint", ["/", " - "])
def test_brightspace(room, given_as, joint):
    files = {
        f"12345-67890 - Jane Doe - Oct 3, 2026 1134 PM{joint}{NB}": notebook("first"),
        f"12345-67890 - Jane Doe - Oct 4, 2026 926 AM{joint}{NB}": notebook("second"),
        f"12346-67890 - Mary-Ann Smith - Oct 3, 2026 1201 AM{joint}{NB}": notebook("mary"),
        "index.html": b"<table></table>",
    }
    report = collect([given_as(files)], room)
    assert filed(room) == {
        "Jane Doe/qkv-attention": ("second", "2026-10-04 09:26:00 UTC"),
        "Mary-Ann Smith/qkv-attention": ("mary", "2026-10-03 00:01:00 UTC"),
    }
    assert report.exit_code == 0 and len(of(report, "older")) == 1
    origin = read_origin(room.root, "Jane Doe", QKV)
    assert (origin.platform, origin.lms_id, origin.name) == ("Brightspace", "12345", "Jane Doe")


def test_brightspace_with_a_dash_for_the_comma(room, given_as):
    files = {f"12345-67890 - Jane Doe - Oct 3- 2026 1134 PM/{NB}": notebook("a")}
    collect([given_as(files)], room)
    assert filed(room) == {"Jane Doe/qkv-attention": ("a", "2026-10-03 23:34:00 UTC")}


def test_two_of_one_name_in_brightspace_are_both_refused(room, given_as):
    files = {f"{n}-67890 - Jane Doe - Oct 3, 2026 1134 PM/{NB}": notebook(str(n)) for n in (1, 2)}
    report = collect([given_as(files)], room)
    assert filed(room) == {} and len(of(report, "unmatched")) == 2


# Google Classroom


@pytest.mark.parametrize("above", ["Lab 2/", ""])
def test_google_classroom(room, given_as, above):
    files = {
        f"{above}Jane Doe - qkv-attention.ipynb": notebook("jane"),
        f"{above}Bo Li - qkv-attention.ipynb": notebook("bo"),
        f"{above}Kim Oh - Copy of qkv-attention.ipynb": notebook("kim"),
        f"{above}qkv-attention (1).ipynb": notebook("whose?"),
    }
    report = collect([given_as(files)], room)
    assert texts(room) == {
        f"{n}/qkv-attention": n.split()[0].lower() for n in ("Jane Doe", "Bo Li", "Kim Oh")
    }
    (why,) = [row.reason for row in of(report, "unmatched")]
    assert why == (
        "Neither its name nor a folder says whose it is. Put it into a folder called after the "
        "student, or say "
        "with --pattern where the student's name stands."
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
        f"assignment_1_export/submission_98765432/{NB}": notebook("both"),
        f"assignment_1_export/submission_98765433/work/{NB}": notebook("kim"),
        "assignment_1_export/submission_98765433/submission_metadata.yml": b"mine",
    }


def test_gradescope(room, given_as):
    report = collect([given_as(gradescope())], room)
    assert filed(room) == {
        "jane@x.edu/qkv-attention": ("both", "2026-10-03 21:34:12 UTC"),
        "bo@x.edu/qkv-attention": ("both", "2026-10-03 21:34:12 UTC"),
        "kim@x.edu/qkv-attention": ("kim", "2026-10-04 06:34:12 UTC"),
    }
    assert report.exit_code == 0
    origin = read_origin(room.root, "bo@x.edu", QKV)
    assert (origin.name, origin.sid, origin.email) == ("Bo Li", "0013", "bo@x.edu")
    assert origin.members == ("jane@x.edu", "bo@x.edu") and origin.original == "submission_98765432/"


@pytest.mark.parametrize("metadata", ["", "- 1", "{" * 5000, "submission_98765432: 5", "a: *b", "\x00"])
def test_gradescope_with_metadata_that_is_none(room, given_as, metadata):
    report = collect([given_as(gradescope(metadata))], room)
    assert filed(room) == {} and report.exit_code == 1
    assert any("does not say who handed in 'submission_98765432'" in row.reason for row in report.rows)


def test_gradescopes_metadata_holds_texts_only():
    tags = b"submission_1:\n  :submitters:\n  - :name: !!python/object/apply:os.system ['true']\n"
    assert read_metadata(tags)["submission_1"].submitters[0].name in ("", "['true']")


# GitHub Classroom


@pytest.mark.parametrize("repository", ["qkv-attention-ada-l", "lab-2-submissions/lab-2-ada-l"])
def test_github(room, given_as, repository):
    files = {
        f"{repository}/.git/HEAD": b"ref: refs/heads/main",
        f"{repository}/.git/hooks/{NB}": notebook("a hook"),
        f"{repository}/work/qkv-attention/{NB}": notebook("ada"),
        f"{repository}/work/qkv-attention/.ipynb_checkpoints/qkv-attention-checkpoint.ipynb": notebook("old"),
        f"{repository}/README.md": b"hello",
    }
    report = collect([given_as(files)], room)
    assert filed(room) == {"ada-l/qkv-attention": ("ada", None)}
    assert report.exit_code == 0 and report.junk >= 1


@pytest.mark.parametrize("above", ["", "attention-masks-submissions/", "Lab 3/attention-masks-submissions/"])
@pytest.mark.parametrize("git", [True, False])
def test_github_classrooms_folder_and_the_ones_above(room, given_as, above, git):
    files = {}
    for user in ("Ada", "grace-h", "submissions-fan"):
        files[f"{above}attention-masks-{user}/attention-masks.ipynb"] = notebook(user)
        if git:
            files[f"{above}attention-masks-{user}/.git/HEAD"] = b"x"
    report = collect([given_as(files, "parent")], room)
    assert texts(room) == {f"{u.lower()}/attention-masks": u for u in ("Ada", "grace-h", "submissions-fan")}
    assert report.exit_code == 0


def test_github_clones_show_their_assignment_by_what_they_have_in_common(room, given_as):
    files = {}
    for user in ("ada", "grace-h"):
        files |= {f"week-2-{user}/.git/HEAD": b"x", f"week-2-{user}/{NB}": notebook(user)}
    report = collect([given_as(files)], room)
    assert texts(room) == {"ada/qkv-attention": "ada", "grace-h/qkv-attention": "grace-h"}
    assert all(row.reason == "The assignment was taken to be 'week-2'." for row in report.rows)


# --pattern


def test_a_pattern_for_the_rest(room, given_as):
    files = {
        "2026/jdoe--qkv-attention--v1.ipynb": notebook("jane"),
        "2026/bli--attention-masks--v3.ipynb": notebook("bo"),
        "2026/odd.ipynb": notebook("odd"),
    }
    report = collect(
        [given_as(files)],
        room,
        pattern=r"2026/(?P<student>\w+)--(?P<lab>[\w-]+?)--v(?P<number>\d+)\.ipynb",
    )
    assert texts(room) == {"jdoe/qkv-attention": "jane", "bli/attention-masks": "bo"}
    assert [row.reason for row in of(report, "unmatched")] == ["It does not match --pattern."]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "--pattern is no regular expression"),
        ("(?P<lab>.+)", "--pattern must say who"),
        ("(?P<student>.+)(?P<colour>x)", "groups of no meaning: colour"),
    ],
)
def test_a_pattern_that_cannot_be_used(room, inbox, pattern, why):
    with pytest.raises(Usage, match=why.replace("(", r"\(").replace("?", r"\?")):
        collect([inbox], room, pattern=pattern)


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
        ("99999999999999999999999999h", "None"),
        ("nothing", "None"),
        ("", "None"),
        ("5", "None"),
    ],
)
def test_times(text, time):
    from datetime import UTC

    assert str(stamp_of(text, UTC)) == time


def test_no_text_makes_the_readers_raise():
    from hypothesis import given
    from hypothesis import strategies as st

    @given(st.text(max_size=200))
    def tried(text):
        parse_time(text)
        read_receipt(text)
        forms_of(text, [QKV])
        for form in FORMS:
            form.match(text)

    tried()
    assert GRADE_IDS and zip_bytes({})
