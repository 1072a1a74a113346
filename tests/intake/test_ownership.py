"""Ownership of files: no file of a student identifies a student, replaces another's or tells a time."""

import time
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from itertools import product

import downloads
import pytest
from downloads import (
    QKV,
    collect,
    files_with_outcome,
    make_zip,
    notebook,
    only_file,
    read_submitted,
    submitted_texts,
    write_files,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.intake import ownership, roster, student_matching
from autograder.intake.filename_patterns import FilenamePattern, match_patterns
from autograder.intake.names import (
    escape_unprintable,
    normalise_name,
    to_nfc,
)
from autograder.intake.ownership import SubmissionAccount
from autograder.intake.roster import Person, PlatformIdentity, RosterError
from autograder.intake.student_matching import StudentMatcher, UnmatchedFile

NOTEBOOK_NAME = "qkv-attention.ipynb"
CLASS = "Folder,Name,Email\nada,Ada L,ada@x.edu\nbob,Bob B,bob@x.edu\n"
GRADESCOPE = """submission_1:
  :submitters:
  - :name: Ada L
    :email: ada@x.edu
  :created_at: 2027-01-21 10:00:00 Z
"""
RECEIPT = "Name: Ada L ({login})\nAssignment: x\nDate Submitted: Friday, 20 November 2026 14:03:22 o'clock GMT\n"


def with_roster(classroom, text=CLASS):
    classroom.root.mkdir(exist_ok=True)
    (classroom.root / "roster.csv").write_text(text)


# A list counts only at the top of the platform's export


@pytest.mark.parametrize(
    "parent",
    ["work of m/", "Ada/", "Lab 2/", "Lab 2/assignment_1_export/", "work/"],
)
@pytest.mark.parametrize("has_roster", [True, False])
def test_gradescopes_list_counts_only_at_the_top_of_its_export(
    classroom,
    make_download,
    parent,
    has_roster,
):
    """Regression: a list in a student's own folder named somebody else and a date."""
    if has_roster:
        with_roster(classroom)
    collect(
        [
            make_download(
                {f"Ada L_1_assignsubmission_file_/{NOTEBOOK_NAME}": notebook("ada")},
                "moodle",
            )
        ],
        classroom,
    )
    submitted_before = read_submitted(classroom)
    files = {
        f"{parent}submission_metadata.yml": GRADESCOPE.encode(),
        f"{parent}submission_1/{NOTEBOOK_NAME}": notebook("evil"),
    }
    report = collect([make_download(files, "late")], classroom)
    assert read_submitted(classroom) == submitted_before and report.exit_code == 1


def test_even_a_whole_export_replaces_nothing_of_another_platform(classroom, make_download):
    with_roster(classroom)
    collect(
        [
            make_download(
                {f"Ada L_1_assignsubmission_file_/{NOTEBOOK_NAME}": notebook("ada")},
                "moodle",
            )
        ],
        classroom,
    )
    parent = "assignment_1_export/"
    files = {
        f"{parent}submission_metadata.yml": GRADESCOPE.encode(),
        f"{parent}submission_1/{NOTEBOOK_NAME}": notebook("new"),
    }
    report = collect([make_download(files, "gradescope")], classroom)
    assert submitted_texts(classroom) == {"ada/qkv-attention": "ada"}
    assert only_file(report).reason.startswith(
        "The submission that is there came from Moodle 'Ada L (1)', this one from Gradescope "
        "'Ada L (ada@x.edu)'. If both are this student's, collect it with --replace;"
    )
    report = collect([make_download(files, "gradescope")], classroom, replaces=True)
    assert submitted_texts(classroom) == {"ada/qkv-attention": "new"}
    assert (
        "Replaced, the earlier ones being in submitted-earlier/: ada (qkv-attention)."
        in report.summary
    )
    assert only_file(report).identified_by == "Gradescope's submission_metadata.yml and roster.csv"
    # Collecting the earlier download again is no error.
    assert only_file(
        collect(
            [
                make_download(
                    {f"Ada L_1_assignsubmission_file_/{NOTEBOOK_NAME}": notebook("ada")},
                    "moodle",
                )
            ],
            classroom,
        )
    ).outcome


# Two accounts that match one person


@pytest.mark.parametrize(
    "name",
    ["Ada L", "ADA  L", "Ada L.", "A\u200bda L", "L, Ada", "Ada L \U0001f600"],
)
@pytest.mark.parametrize("file", [NOTEBOOK_NAME, "qkv-attention-9.ipynb"])
def test_two_moodle_participants_of_one_person_in_the_roster(classroom, make_download, name, file):
    with_roster(classroom)
    files = {f"Ada L_1_assignsubmission_file/{NOTEBOOK_NAME}": notebook("ada")}
    files |= {f"{name}_2_assignsubmission_file/{file}": notebook("evil")}
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {} and len(files_with_outcome(report, "unmatched")) == 2
    assert all("Moodle 'Ada L (1)'" in row.reason and "(2)'" in row.reason for row in report.files)
    assert "a column Identifier" in report.files[0].reason


def test_two_normal_forms_of_one_name_are_two_accounts(classroom, make_download):
    with_roster(classroom, "Folder,Name\nzoe,Zoë K\n")
    files = {
        f"{n}_{i}_assignsubmission_file/{NOTEBOOK_NAME}": notebook()
        for i, n in enumerate(("Zo\u00eb K", "Zoe\u0308 K"))
    }
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {} and len(files_with_outcome(report, "unmatched")) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"Ada L/{NOTEBOOK_NAME}", f"ada  l/{NOTEBOOK_NAME}"),
        (f"Ada L/{NOTEBOOK_NAME}", f"ada@x.edu/{NOTEBOOK_NAME}"),
        ("Ada L.ipynb", "ada_l.ipynb"),
        ("qkv-attention-ada/qkv-attention.ipynb", "qkv-attention-Ada-L/qkv-attention.ipynb"),
        (f"lal_1_2_{NOTEBOOK_NAME}", f"ladal_3_4_{NOTEBOOK_NAME}"),
        (
            f"1-9 - Ada L - Oct 3, 2026 1134 PM/{NOTEBOOK_NAME}",
            f"2-9 - ada l - Oct 3, 2026 1134 PM/{NOTEBOOK_NAME}",
        ),
        (f"Ada L - {NOTEBOOK_NAME}", "Ada L - qkv-attention (1).ipynb"),
        (f"Ada L - {NOTEBOOK_NAME}", f"Ada L. - {NOTEBOOK_NAME}"),
    ],
)
def test_two_accounts_of_one_person_are_unmatched(classroom, make_download, first, second):
    with_roster(classroom, "Folder,Name,Email\nada,Ada L,ada@x.edu\n")
    files = {first: notebook("ada", "softmax"), second: notebook("evil", "softmax")}
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {} and len(files_with_outcome(report, "unmatched")) == 2


def test_all_uploads_of_an_ambiguous_account_are_unmatched(classroom, make_download):
    with_roster(classroom, "Folder,Name\nada,Ada L\n")
    files = {f"lada_1_{upload}_{NOTEBOOK_NAME}": notebook(str(upload)) for upload in (91, 92)}
    report = collect(
        [make_download(files | {f"adal_3_93_{NOTEBOOK_NAME}": notebook("evil")})],
        classroom,
    )
    assert read_submitted(classroom) == {} and len(files_with_outcome(report, "unmatched")) == 3


def test_two_logins_of_one_name_in_blackboards_receipts(classroom, make_download):
    with_roster(classroom)
    files = {}
    for login in ("ada1", "mal"):
        prefix = f"x_{login}_attempt_2026-11-20-14-03-22"
        files |= {
            f"{prefix}_{NOTEBOOK_NAME}": notebook(login),
            f"{prefix}.txt": RECEIPT.format(login=login).encode(),
        }
    report = collect([make_download(files)], classroom)
    assert (
        read_submitted(classroom) == {}
        and "a column Login" in files_with_outcome(report, "unmatched")[0].reason
    )
    with_roster(classroom, CLASS.replace("Email", "Login").replace("ada@x.edu", "ada1"))
    collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"ada/qkv-attention": "ada1"}


def test_another_account_later_replaces_nothing(classroom, tmp_path):
    with_roster(classroom)
    for login in ("ada1", "mal"):
        prefix = f"x_{login}_attempt_2026-11-2{len(login)}-14-03-22"
        files = {
            f"{prefix}_{NOTEBOOK_NAME}": notebook(login),
            f"{prefix}.txt": RECEIPT.format(login=login).encode(),
        }
        report = collect([write_files(tmp_path / login, files)], classroom)
    assert len(read_submitted(classroom)) == 1 and submitted_texts(classroom) == {
        "ada/qkv-attention": "ada1",
    }
    assert (
        "came from Blackboard 'Ada L (ada1)', this one from Blackboard 'Ada L (mal)'"
        in only_file(report).reason
    )


# Groups


TEAM = "Folder,Name,Group\nada,Ada L,Team X\nbob,Bob B,Team X\n"


@pytest.mark.parametrize("name", ["Team X", "Team X-Ada L"])
def test_a_student_with_a_groups_name_does_not_replace_its_members(classroom, make_download, name):
    with_roster(classroom, TEAM)
    files = {
        f"Ada L_1_assignsubmission_file/{NOTEBOOK_NAME}": notebook("ada"),
        f"Bob B_3_assignsubmission_file/{NOTEBOOK_NAME}": notebook("bob"),
        f"{name}_4_assignsubmission_file/{NOTEBOOK_NAME}": notebook("evil"),
    }
    report = collect([make_download(files)], classroom)
    assert (
        "evil" not in submitted_texts(classroom).values()
        and submitted_texts(classroom)["bob/qkv-attention"] == "bob"
    )
    (row, *_) = files_with_outcome(report, "unmatched")
    assert f"Moodle '{name} (4)'" in row.reason and "Moodle 'Ada L (1)'" in row.reason


def test_a_group_after_its_members_replaces_nothing(classroom, tmp_path):
    with_roster(classroom, TEAM)
    collect(
        [
            write_files(
                tmp_path / "1",
                {f"Ada L_1_assignsubmission_file/{NOTEBOOK_NAME}": notebook("ada")},
            )
        ],
        classroom,
    )
    report = collect(
        [
            write_files(
                tmp_path / "2",
                {f"Team X_4_assignsubmission_file/{NOTEBOOK_NAME}": notebook("x")},
            )
        ],
        classroom,
    )
    assert submitted_texts(classroom) == {"ada/qkv-attention": "ada", "bob/qkv-attention": "x"}
    assert len(files_with_outcome(report, "refused")) == 1


# Names that students choose


@pytest.mark.parametrize("has_roster", [True, False])
def test_a_name_that_a_student_chose_takes_no_other_students_place(classroom, tmp_path, has_roster):
    if has_roster:
        with_roster(classroom)
    first = collect(
        [
            write_files(
                tmp_path / "1",
                {f"Lab 2/Ada L - {NOTEBOOK_NAME}": notebook("ada")},
                modified_at=1_000_000_000,
            )
        ],
        classroom,
    )
    assert "Filed under names that students chose themselves, so look at them: " in first.summary
    files = {f"Lab 2/Ada L - {NOTEBOOK_NAME}": notebook("evil")}
    report = collect([write_files(tmp_path / "2", files, modified_at=1_900_000_000)], classroom)
    assert list(submitted_texts(classroom).values()) == ["ada"]
    assert only_file(report).reason.startswith(
        "There is a submission of this name, and students choose such names themselves."
    )
    report = collect([tmp_path / "2"], classroom, replaces=True)
    assert list(submitted_texts(classroom).values()) == ["evil"] and "Replaced" in report.summary


HONEST_NAMES = {
    "plain folders": [f"{name}/{NOTEBOOK_NAME}" for name in ("Ada L", "Bob B", "Cy")],
    "files": [f"{name}.ipynb" for name in ("Ada L", "Bob B", "Cy")],
    "Google Classroom": [f"{name} - {NOTEBOOK_NAME}" for name in ("Ada L", "Bob B", "Cy")],
    "Canvas": [f"{name}_{i}_9{i}_{NOTEBOOK_NAME}" for i, name in enumerate(("adal", "bobb", "cy"))],
    "Moodle": [
        f"{name}_{i}_assignsubmission_file_{NOTEBOOK_NAME}"
        for i, name in enumerate(("Ada L", "Bob B", "Cy"))
    ],
    "GitHub": [f"qkv-attention-{name}/{NOTEBOOK_NAME}" for name in ("adal", "bobb", "cy")],
}
PLATFORM_NAMES = [
    f"Ana S_12345_assignsubmission_file_/{NOTEBOOK_NAME}",
    f"Ana S_12345_assignsubmission_file_{NOTEBOOK_NAME}",
    f"anas_12345_678_{NOTEBOOK_NAME}",
    f"12345-67890 - Ana S - Oct 3, 2026 1134 PM/{NOTEBOOK_NAME}",
    f"12345-67890 - Ana S - Oct 3, 2026 1134 PM - {NOTEBOOK_NAME}",
    f"x_ana_attempt_2026-11-20-14-03-22_{NOTEBOOK_NAME}",
    f"qkv-attention-ana/{NOTEBOOK_NAME}",
    f"submission_7/{NOTEBOOK_NAME}",
    f"submitted/ana/qkv-attention/{NOTEBOOK_NAME}",
    f"Ana S - {NOTEBOOK_NAME}",
    f"Ana S/{NOTEBOOK_NAME}",
]


PLATFORMS_AND_NAMES = list(product(sorted(HONEST_NAMES), PLATFORM_NAMES))


# `make test` takes a third of them, with each name and each platform.
@pytest.mark.parametrize(
    ("honest_platform", "name"),
    [
        pytest.param(*case, marks=() if number % 3 == 0 else pytest.mark.long)
        for number, case in enumerate(PLATFORMS_AND_NAMES)
    ],
)
def test_one_name_of_another_pattern_is_unmatched_and_keeps_nobody_out(
    classroom, make_download, honest_platform, name
):
    """Regression: the one name was matched, and all the others were not."""
    if [f.platform for f, _ in match_patterns(HONEST_NAMES[honest_platform][0], [QKV])] == [
        f.platform for f, _ in match_patterns(name, [QKV])
    ]:
        pytest.skip("of the same form")
    files = {path: notebook("honest", "softmax") for path in HONEST_NAMES[honest_platform]}
    report = collect([make_download(files | {name: notebook("evil", "softmax")})], classroom)
    assert list(submitted_texts(classroom).values()) == ["honest"] * 3
    (row,) = files_with_outcome(report, "unmatched")
    assert (
        "a student could have chosen it" in row.reason
        or "its name is not of that form" in row.reason
    )


def test_as_many_names_of_one_pattern_as_of_another_are_unmatched(classroom, make_download):
    files = {
        f"Lab 2/12345-67890 - Ada L - Oct 3, 2026 1134 PM - {NOTEBOOK_NAME}": notebook("evil"),
        f"Lab 2/Ada L - {NOTEBOOK_NAME}": notebook("ada"),
    }
    report = collect([make_download(files)], classroom)
    assert (
        read_submitted(classroom) == {}
        and "no more than half are of one form" in files_with_outcome(report, "unmatched")[0].reason
    )


@pytest.mark.parametrize(
    "name",
    [
        f"lovelaceada_201_5_x_12345_678_{NOTEBOOK_NAME}",  # Canvas: the display name may be "ada_.201_.5_x"
        f"lovelaceada_12345_678_2026_11_20_{NOTEBOOK_NAME}",
        f"anon_aB3xY_9_x_12345_678_{NOTEBOOK_NAME}",
        f"adal_1_2_b_3_assignsubmission_file_{NOTEBOOK_NAME}",  # of Moodle, or of Canvas
        f"lovelaceada_12345_678_x_bob_attempt_2026-11-20-14-03-22_{NOTEBOOK_NAME}",
    ],
)
def test_a_name_that_could_be_two_peoples_is_unmatched(classroom, make_download, name):
    with_roster(classroom, "Name,ID\nAda Lovelace,201\nMal,12345\n")
    report = collect([make_download({name: notebook("mal")})], classroom)
    assert read_submitted(classroom) == {} and len(files_with_outcome(report, "unmatched")) == 1


@pytest.mark.parametrize("has_roster", [True, False])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ada L_5_assignsubmission_file_/", "Bob B_5_assignsubmission_file_/"),
        ("Ada L_5_assignsubmission_file_", "Bob B_5_assignsubmission_file_"),
        ("adal_5_91_", "bobb_5_92_"),
    ],
)
def test_one_number_under_two_names_is_unmatched(
    classroom, make_download, first, second, has_roster
):
    if has_roster:
        with_roster(classroom)
    files = {
        f"{first}{NOTEBOOK_NAME}": notebook("ada"),
        f"{second}{NOTEBOOK_NAME}": notebook("bob"),
    }
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {} and len(files_with_outcome(report, "unmatched")) == 2
    assert all("ada" in row.reason.lower() and "bob" in row.reason.lower() for row in report.files)


def test_names_of_two_platforms_in_one_folder_are_unmatched(classroom, make_download):
    files = {
        f"Ada L_1_assignsubmission_file/{NOTEBOOK_NAME}": notebook(),
        f"lovelaceada_1_2_{NOTEBOOK_NAME}": notebook(),
    }
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {} and len(files_with_outcome(report, "unmatched")) == 2


@pytest.mark.parametrize(
    ("name", "student"),
    [
        (
            f"2-9 - Mal M - Oct 1, 2026 100 AM - Nov 22, 2026 900 AM/{NOTEBOOK_NAME}",
            "Mal M - Oct 1- 2026 100 AM",
        ),
        (f"2-9 - Mal M - Oct 1, 2026 100 AM - Nov 22, 2026 900 AM - {NOTEBOOK_NAME}", None),
        (
            f"Ada L_1_assignsubmission_file_2_assignsubmission_file/{NOTEBOOK_NAME}",
            "Ada L_1_assignsubmission_file",
        ),
        (f"Ada L_1_assignsubmission_file_2_assignsubmission_file_{NOTEBOOK_NAME}", None),
    ],
)
def test_a_display_name_that_looks_like_the_platforms_part_is_a_name(
    classroom,
    make_download,
    name,
    student,
):
    report = collect([make_download({name: notebook("mal")})], classroom)
    if student is None:
        assert read_submitted(classroom) == {} and only_file(report).reason.startswith(
            "It cannot be told where "
        )
        return
    ((key, (_, stamp)),) = read_submitted(classroom).items()
    assert key.startswith(student) and stamp in (None, "2026-11-22 09:00:00 UTC")


def test_a_folder_around_one_student_is_not_guessed(classroom, make_download):
    """A student could name the outer folder after themselves, and inner ones after others."""
    for files in (
        {f"mal/ada/{NOTEBOOK_NAME}": notebook()},
        {f"mal/{s}/{NOTEBOOK_NAME}": notebook() for s in ("ada", "bob")},
    ):
        report = collect([make_download(files, f"d{len(files)}")], classroom)
        assert (
            read_submitted(classroom) == {} and "Collect 'mal' by itself" in report.files[0].reason
        )


# The roster


def test_one_roster_serves_two_platforms(classroom, make_download):
    """Regression: Canvas's IDs in the roster made all of Brightspace's students unmatched."""
    with_roster(classroom, "Name,Login,ID,OrgDefinedId\nAda L,ada,201,77\nBob B,bob,12000,78\n")
    files = {
        f"12000-9 - Ada L - Oct 3, 2026 1134 PM/{NOTEBOOK_NAME}": notebook("ada"),
        f"12001-9 - Bob B - Oct 3, 2026 1134 PM/{NOTEBOOK_NAME}": notebook("bob"),
    }
    collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"ada/qkv-attention": "ada", "bob/qkv-attention": "bob"}
    files = {
        "lada_201_5_attention-masks.ipynb": notebook("a"),
        "bbob_12000_6_attention-masks.ipynb": notebook("b"),
    }
    collect([make_download(files, "canvas")], classroom)
    assert (
        submitted_texts(classroom)["ada/attention-masks"] == "a"
        and submitted_texts(classroom)["bob/attention-masks"] == "b"
    )


@pytest.mark.parametrize(
    ("header", "numbers", "template"),
    [
        (
            "Identifier",
            ("Participant 1", "Participant 2"),
            "Anna Schmidt_{}_assignsubmission_file/" + NOTEBOOK_NAME,
        ),
        (
            "Brightspace ID",
            ("1", "2"),
            "{}-9 - Anna Schmidt - Oct 3, 2026 1134 PM/" + NOTEBOOK_NAME,
        ),
        ("Canvas ID", ("1", "2"), "schmidtanna_{}_7{}_" + NOTEBOOK_NAME),
    ],
)
def test_the_advice_for_two_of_one_name_helps(classroom, make_download, header, numbers, template):
    lines = "Name,Login\nAnna Schmidt,a1\nAnna Schmidt,a2\n"
    with_roster(classroom, lines)
    files = {template.format(n, n): notebook(f"a{n}") for n in (1, 2)}
    report = collect([make_download(files)], classroom)
    assert read_submitted(classroom) == {} and (
        header.partition(" ID")[0] in report.files[0].reason or header == "Canvas ID"
    )
    with_roster(
        classroom,
        f"Name,Login,{header}\n"
        + "".join(f"Anna Schmidt,a{i},{n}\n" for i, n in enumerate(numbers, 1)),
    )
    collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"a1/qkv-attention": "a1", "a2/qkv-attention": "a2"}


@pytest.mark.parametrize("kind", ["lms_id", "sid", "brightspace", "login", "github"])
def test_each_kind_of_identifier_tells_two_people_apart(kind):
    person = Person(student="ada", name="Ada L", **{kind: "a1"})
    others = PlatformIdentity(name="Ada L", **{kind: "a2"})
    assert roster.find_contradiction(person, others) == "'a1', not 'a2'"
    assert roster.find_contradiction(person, PlatformIdentity(**{kind: "A1"})) == ""
    assert roster.find_contradiction(person, PlatformIdentity(name="Ada L")) == ""
    assert roster.find_contradiction(Person(student="ada", name="Ada L"), others) == ""


def test_another_number_of_the_same_kind_is_somebody_else(classroom, make_download):
    with_roster(classroom, "Name,SID\nAda L,1\n")
    person = roster.read_roster(classroom.root / "roster.csv").people[0]
    assert (
        roster.find_contradiction(person, PlatformIdentity(name="Ada L", sid="2")) == "'1', not '2'"
    )
    text = GRADESCOPE.replace(":email", ":sid: '2'\n    :email")
    files = {"submission_metadata.yml": text.encode(), f"submission_1/{NOTEBOOK_NAME}": notebook()}
    report = collect([make_download(files)], classroom)
    assert (
        read_submitted(classroom) == {}
        and "The roster has 'Ada L', but as '1', not '2'." in report.files[0].reason
    )


def test_an_identifier_of_two_people_is_unmatched(classroom, make_download):
    with_roster(classroom, "Name,Login,SID\nAda L,ada,77\nBob B,77,5\n")
    report = collect([make_download({f"77/{NOTEBOOK_NAME}": notebook()})], classroom)
    assert read_submitted(classroom) == {} and only_file(report).reason.startswith(
        "2 people in the roster could be '77'."
    )


def test_a_roster_of_an_old_mac(tmp_path):
    (tmp_path / "roster.csv").write_bytes(b"Name,Login\rAda,ada\rBo,bo\r")
    assert [person.student for person in roster.read_roster(tmp_path / "roster.csv").people] == [
        "ada",
        "bo",
    ]


def test_two_lines_with_one_address(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("Name,Login,Email\nAda,ada,x@y\nBo,bo,x@y\nBo,bo,x@y\n")
    read = roster.read_roster(path)
    assert [person.student for person in read.people] == ["ada", "bo"]
    assert read.notes == (
        "'Ada' and 'Bo' have the same e-mail address, x@y: it identifies nobody.",
    )
    assert len(read.find(PlatformIdentity(any_identifier="x@y"))) == 2
    path.write_text("Name,Login\nAda,ada\nAnna,ada\n")
    with pytest.raises(RosterError, match="have the same folder, ada"):
        roster.read_roster(path)


def test_a_withdrawn_student_is_not_missing(classroom, make_download):
    with_roster(classroom, "Name,Login,Status\nAda,ada,active\nBo,bo,withdrawn\nCy,cy,\n")
    report = collect([make_download({f"ada/{NOTEBOOK_NAME}": notebook()})], classroom)
    assert report.missing[QKV].absent == ("cy",)


# Deeply nested tables


@pytest.mark.parametrize(
    "data",
    [b"[" * 500_000, b"{" * 500_000, b"- " * 500_000, b"a: " * 9 + b"[" * 500_000],
)
def test_a_deeply_nested_list_of_gradescopes_is_refused(classroom, make_download, data):
    """Regression: the YAML parser is in C and recurses, and crashed the process."""
    files = {
        "submission_metadata.yml": b"submission_1: " + data,
        f"submission_1/{NOTEBOOK_NAME}": notebook(),
    }
    began = time.process_time()
    report = collect([make_download(files)], classroom)
    assert time.process_time() - began < 10
    assert (
        any(
            "submission_metadata.yml" in row.source for row in files_with_outcome(report, "refused")
        )
        and report.exit_code == 1
    )


# Whole answers of the finder of owners and of the matcher, without a run


def make_context(roster_text="", **options):
    """Return the state of a classroom with this roster."""
    class_roster = roster.Roster()
    if roster_text:
        rows = roster.parse_csv_rows(roster_text, roster._field_of_header)
        class_roster = roster._make_roster_from_rows(rows, [])
    defaults = {
        "labs": downloads.LABS,
        "grade_ids": {},
        "roster": class_roster,
        "folders": (),
        "folder_by_account": {},
        "folder_by_student": {},
        "person_by_folder": {},
        "zone": None,
        "default_zone": UTC,
        "use_file_times": False,
        "pattern": None,
    }
    return ownership.IntakeContext(**{**defaults, **options})


def find_owners(paths, roster_text="", name="download", receipts=(), repositories=(), **options):
    """Return the owner of each path of one download, in the order of the paths."""
    finder = ownership.DownloadOwnership(
        paths,
        name,
        make_context(roster_text, **options),
        repositories=repositories,
        receipts=dict(receipts),
        metadata=lambda folder: {},
    )
    return [finder.find_owner(path) for path in paths]


def folder_owner(name):
    return SubmissionAccount(
        platform="folder",
        identities=(PlatformIdentity(any_identifier=name),),
        default_folder=name,
        account=name,
        identified_by="the folder's name",
    )


IN_UTC = {"in_default_zone": True, "zone": "UTC"}
# The account of one path of each form, with all of its fields.
ACCOUNTS = {
    f"cy_LATE_3_44_{NOTEBOOK_NAME}": SubmissionAccount(
        platform="Canvas",
        identities=(PlatformIdentity(name="cy", lms_id="3"),),
        default_folder="cy-3",
        account="3",
        identified_by="Canvas's name of the file",
        platform_path="cy_LATE_3_44_",
        upload_number=44,
        is_late=True,
    ),
    f"anon_x_5_{NOTEBOOK_NAME}": SubmissionAccount(
        platform="Canvas",
        identities=(PlatformIdentity(name="anon_x"),),
        default_folder="anon_x",
        account="anon_x",
        identified_by="Canvas's name of the file",
        platform_path="anon_x_5_",
        upload_number=5,
    ),
    f"Ada L_12_assignsubmission_file/a/{NOTEBOOK_NAME}": SubmissionAccount(
        platform="Moodle",
        identities=(PlatformIdentity(name="Ada L", participant="12"),),
        default_folder="Ada L",
        account="12",
        identified_by="Moodle's name of the file",
        platform_path="Ada L_12_assignsubmission_file/",
    ),
    f"1-2 - Ada - Oct 3, 2026 926 AM/{NOTEBOOK_NAME}": SubmissionAccount(
        platform="Brightspace",
        identities=(PlatformIdentity(name="Ada", brightspace="1"),),
        default_folder="Ada",
        account="1",
        identified_by="Brightspace's name of the file",
        platform_path="1-2 - Ada - Oct 3, 2026 926 AM/",
        time=datetime(2026, 10, 3, 9, 26, tzinfo=UTC),
        **IN_UTC,
    ),
    f"L_ada_attempt_2026-11-20-14-03-22_{NOTEBOOK_NAME}": SubmissionAccount(
        platform="Blackboard",
        identities=(PlatformIdentity(login="ada"),),
        default_folder="ada",
        account="ada",
        identified_by="Blackboard's name of the file",
        platform_path="L_ada_attempt_2026-11-20-14-03-22",
        time=datetime(2026, 11, 20, 14, 3, 22, tzinfo=UTC),
        **IN_UTC,
    ),
    f"qkv-attention-Ada-L/{NOTEBOOK_NAME}": SubmissionAccount(
        platform="GitHub",
        identities=(PlatformIdentity(github="ada-l", any_identifier="ada-l"),),
        default_folder="ada-l",
        account="ada-l",
        identified_by="GitHub's name of the repository",
        platform_path="qkv-attention-Ada-L/",
    ),
    f"submitted/ada/hw1/{NOTEBOOK_NAME}": SubmissionAccount(
        platform="nbgrader",
        identities=(PlatformIdentity(student="ada"),),
        default_folder="ada",
        account="ada",
        identified_by="nbgrader's folder",
        platform_path="submitted/ada/hw1/",
        lab="hw1",
    ),
    f"Ada L - {NOTEBOOK_NAME}": SubmissionAccount(
        platform="Google Classroom",
        identities=(PlatformIdentity(name="Ada L"),),
        default_folder="Ada L",
        account=f"Ada L - {NOTEBOOK_NAME}",
        identified_by="the file's name, which the student chose",
        student_chosen=True,
        platform_path="Ada L - ",
    ),
    "ada.zip": SubmissionAccount(
        platform="file",
        identities=(PlatformIdentity(any_identifier="ada"),),
        default_folder="ada",
        account="ada.zip",
        identified_by="the file's name, which its student may have chosen",
        student_chosen=True,
    ),
    f"ada/{NOTEBOOK_NAME}": folder_owner("ada"),
}


@pytest.mark.parametrize("path", ACCOUNTS)
def test_a_path_of_each_form_gives_its_account_and_what_is_known_of_the_upload(path):
    for folder in ("", "Lab 2/"):
        (owner,) = find_owners([f"{folder}{path}"])
        expected = ACCOUNTS[path]
        if expected.platform == "nbgrader" and folder:
            continue  # nbgrader's folder is at the top
        if expected.student_chosen:
            expected = replace(expected, account=f"{folder}{path}")
        assert owner == expected
        for field in fields(SubmissionAccount):
            assert getattr(owner, field.name) == getattr(expected, field.name), field.name


NO_OWNER = ownership.NO_OWNER_MESSAGE
SEVERAL_STUDENTS = (
    "{!r} seems to hold several people's submissions. If it is a download and no student's folder, "
    "collect it by itself."
)
UNCERTAIN_FOLDER = (
    "It cannot be told whether 'a' or {!r} is the student's name. Collect 'a' by itself if it holds "
    "the class, say with --pattern where the name stands, or put a roster that tells them apart into "
    "the classroom as roster.csv."
)
UNCERTAIN_LOGIN = (
    "It cannot be told where the assignment's name ends and the student's begins in {!r}. Keep "
    "Blackboard's text files beside the submissions, or put a roster that tells them apart into the "
    "classroom as roster.csv."
)


@pytest.mark.parametrize(
    ("paths", "owners"),
    [
        # A folder with a name that many give is nobody's, and stays so beside a student's.
        (["work/qkv-attention.ipynb", "ada/final.ipynb"], [NO_OWNER, "ada"]),
        (["a/b/x.ipynb"], [UNCERTAIN_FOLDER.format("b")]),
        (["a/x.ipynb"], [UNCERTAIN_FOLDER.format("x")]),
        (["a/qkv-attention/x.ipynb"], ["a"]),
        (["a/x.ipynb", "ada/qkv-attention.ipynb"], ["a", "ada"]),
        (["a/x.ipynb", "a/y.zip", "ada/final.zip"], [SEVERAL_STUDENTS.format("a")] * 2 + ["ada"]),
        (["Lab 2/ada/final.ipynb", "bo/final.ipynb"], [SEVERAL_STUDENTS.format("Lab 2"), "bo"]),
        (["Lab 2/ada/final.ipynb", "Lab 3/bo/final.ipynb"], ["ada", "bo"]),
        (["a/x.ipynb", "Lab 2/final.ipynb"], [UNCERTAIN_FOLDER.format("x"), SEVERAL_STUDENTS.format("Lab 2")]),
        (["x.ipynb"], [NO_OWNER]),
        (["final.ipynb", "qkv-attention.ipynb"], [NO_OWNER, NO_OWNER]),
        (["x.ipynb", "y.ipynb", "final.ipynb"], ["x", "y", NO_OWNER]),
        (
            ["x_a_b_attempt_2026-11-20-14-03-22_q.ipynb"],
            [UNCERTAIN_LOGIN.format("x_a_b")],
        ),
        (
            ["A B_assignsubmission_file/q.ipynb"],
            [
                "Moodle gives no number in its name: it comes from those who are in no group. Look up "
                "in Moodle who that is, and put it into a folder called after the student."
            ],
        ),
        (
            ["ada_1_2_3_4_q.ipynb"],
            [
                "It cannot be told where Canvas's part of the name ends: a person's own name may look "
                "like it. Download the submissions in folders, or say with --pattern where the name "
                "stands."
            ],
        ),
        (
            ["ada_1_2_q.ipynb", "bo_3_4_q.ipynb", "cy/q.ipynb", "loose.ipynb"],
            [
                "ada-1",
                "bo-3",
                "It lies beside as many names of a platform's form, and its name is not of that form. "
                "Collect it by itself, or use --pattern.",
                NO_OWNER,
            ],
        ),
    ],
)  # fmt: skip
def test_an_owner_or_what_to_do(paths, owners):
    found = find_owners(paths)
    if owners[0] == "ada-1":  # half of the names are no majority
        assert all("no more than half are of one form" in owner for owner in found[:2])
        found[:2] = owners[:2]
    names = [o if isinstance(o, str) else o.default_folder for o in found]
    assert names == owners


@pytest.mark.parametrize(
    ("paths", "owners"),
    [
        (["a/x.ipynb"], ["a"]),
        (["work/x.ipynb"], ["work"]),  # a generic name that the roster has
        (["Lab 2/x.ipynb"], ["Lab 2"]),
        (["a/x.ipynb", "a/y.ipynb"], ["a", "a"]),
        (["a/b/q.ipynb", "eve/x/q.ipynb"], ["a", "eve"]),
        (["a.ipynb"], ["a"]),
        (["x_y_a_attempt_2026-11-20-14-03-22_q.ipynb"], ["a"]),
        (["x_work_a_attempt_2026-11-20-14-03-22_q.ipynb"], ["a"]),
        (["x_y_eve_attempt_2026-11-20-14-03-22_q.ipynb"], [UNCERTAIN_LOGIN.format("x_y_eve")]),
    ],
)
def test_a_name_that_the_roster_has_is_a_students(paths, owners):
    found = find_owners(paths, "Login\na\nwork\nLab 2\n")
    assert [o if isinstance(o, str) else o.default_folder for o in found] == owners


def match_students(accounts, roster_text="", lab=QKV, **options):
    """Return the folder, or folders, of each account; the message if there is none."""
    matcher = StudentMatcher(make_context(roster_text, **options), [(lab, a) for a in accounts])
    results = []
    for account in accounts:
        try:
            students = matcher.match(lab, account)
            results.append(" & ".join(student.folder for student in students))
        except UnmatchedFile as error:
            results.append(str(error))
    return results


def platform_account(platform, *identities, account="", **options):
    account = account or identities[0].distinguishing_identifier
    folder = identities[0].default_folder
    return SubmissionAccount(
        platform=platform, identities=identities, default_folder=folder, account=account, **options
    )


ADA = {"name": "Ada L"}
TWO_ADAS = "Name,Login\nAda L,ada1\nAda L,ada2\n"
COLUMNS = {
    "Canvas": "a column ID, with Canvas's numbers",
    "Moodle": "a column Identifier, with the numbers in the names (the assignment's grading worksheet has them)",
    "Brightspace": "a column 'Brightspace ID', with the numbers that the names begin with",
    "Blackboard": "a column Login",
    "Gradescope": "a column SID or Email",
    "GitHub": "a column GitHub",
    "folder": "a column Login, and folders called after the logins",
}


@pytest.mark.parametrize("platform", COLUMNS)
def test_people_of_one_name_are_told_apart_by_a_column_of_the_platform(platform):
    first = platform_account(platform, PlatformIdentity(**ADA), account="1")
    second = platform_account(platform, PlatformIdentity(**ADA), account="2")
    several = f"2 people in the roster could be 'Ada L'. Add {COLUMNS[platform]}."
    assert match_students([first], TWO_ADAS) == [several]
    both = f"{platform} 'Ada L (1)' and {platform} 'Ada L (2)' would all be 'Ada L', and may be several people."
    remedy = f"Say in roster.csv which is whose: {COLUMNS[platform]}."
    assert match_students([first, second], "Name,Login\nAda L,ada1\n") == [f"{both} {remedy}"] * 2
    remedy = f"A name alone does not tell them apart: {ownership.ROSTER_REMEDY}."
    assert match_students([first, second]) == [f"{both} {remedy}"] * 2
    other = platform_account("Otter", PlatformIdentity(**ADA), account="2")
    remedy = "Collect each by itself; the later one with --replace, if they are one person's."
    (reason, _) = match_students([first, other])
    assert reason == both.replace(f"and {platform}", "and Otter") + f" {remedy}"


@pytest.mark.parametrize(
    ("identity", "reason"),
    [
        (
            PlatformIdentity(name="Eve", login="e", email="e@x", lms_id="7", sid="8", github="g"),
            "Nobody in the roster is 'Eve' or 'e' or 'e@x' or '7' or '8' or 'g'. Add a line to "
            "roster.csv and collect it again.",
        ),
        (
            PlatformIdentity(any_identifier="eve", student="eve"),
            "Nobody in the roster is 'eve'. Add a line to roster.csv and collect it again.",
        ),
        (
            PlatformIdentity(name="Eve", any_identifier="x", login="e", student="y", lms_id="7"),
            "Nobody in the roster is 'Eve' or 'x' or 'e' or 'y' or '7'. Add a line to roster.csv and "
            "collect it again.",
        ),
        (
            PlatformIdentity(participant="7"),
            "Nobody in the roster is this one. Add a line to roster.csv and collect it again.",
        ),
        (
            PlatformIdentity(name="Bo Li", lms_id="9"),
            "The roster has 'Bo Li', but as '13', not '9'. If they are one person, correct "
            "roster.csv; if not, add a line to it, and collect it again.",
        ),
    ],
)
def test_a_submitter_whom_the_roster_does_not_have_is_described(identity, reason):
    (found,) = match_students([platform_account("Canvas", identity)], "Name,ID\nBo Li,13\n")
    assert found == reason


def test_one_account_under_two_names_is_nobodys():
    names = ("Ada L", "Bo")
    accounts = [
        platform_account("Moodle", PlatformIdentity(name=name, participant="5")) for name in names
    ]
    reason = (
        "Moodle's '5' is one account's, and here it stands beside the names 'Ada L' and 'Bo'. Look up "
        "there whose it is, and collect that one by itself."
    )
    assert match_students(accounts) == [reason] * 2
    accounts = [replace(account, platform="Brightspace") for account in accounts]
    assert match_students(accounts) == ["Ada L", "Bo"]


SECOND_DOWNLOAD = (
    "'ada (2)' may be a second download of 'ada', or another person's: rename it, or "
    f"{ownership.ROSTER_REMEDY}."
)
ANOTHER_CASE = (
    "'Ada' and 'ada' differ only in case, and may be one person or two: rename one, or "
    f"{ownership.ROSTER_REMEDY}."
)


@pytest.mark.parametrize(
    ("folders", "name", "result"),
    [
        ((), "ada (2)", "ada (2)"),
        (("ada",), "ada (2)", SECOND_DOWNLOAD),
        (("bo",), "ada (2)", "ada (2)"),
        (("ada",), "Ada", ANOTHER_CASE),
        (("Ada", "ada"), "Ada", "Ada"),
    ],
)
def test_a_folder_beside_one_of_nearly_the_same_name(folders, name, result):
    account = replace(folder_owner(name), default_folder=name)
    assert match_students([account], folders=folders) == [result]
    moodle = platform_account("Moodle", PlatformIdentity(name=name), account="7")
    if result == SECOND_DOWNLOAD:  # a platform writes no such numbers
        result = moodle.default_folder
    elif result == "ada (2)":
        return
    assert match_students([moodle], folders=folders) == [result]


def test_a_person_keeps_the_folder_that_is_there():
    roster_text = "Name,Login,ID\nAda L,ada1,7\n"
    account = platform_account("Canvas", PlatformIdentity(name="adal", lms_id="7"))
    by_account = {("Canvas", "7"): "old", ("Moodle", "7"): "other"}
    for options, folder in (
        ({}, "ada1"),
        ({"folder_by_account": by_account}, "old"),
        ({"folder_by_account": by_account, "folder_by_student": {"ada1": "mine"}}, "mine"),
        ({"folder_by_account": by_account, "folders": ("ada1",)}, "ada1"),
    ):
        assert match_students([account], roster_text, **options) == [folder]
    assert match_students([account], folder_by_account=by_account) == ["old"]
    assert match_students([account]) == ["adal"]


# Property: any set of people and names

NAMES = [
    "Ada L",
    "Bob B",
    "ada l",
    "Ada  L",
    "L, Ada",
    "Ada L.",
    "ada1",
    "bob1",
    "ada@x.edu",
    "Team X",
    "7",
    "Zoë",
]
NAMES += [
    "Zoe\u0308",
    "Team X-Ada L",
    "Ada L - Oct 1, 2026 100 AM",
    "Ada L_1_assignsubmission_file",
    "1",
    "2",
]
ROSTERS = {
    "none": "",
    "names": "Folder,Name\nada,Ada L\nbob,Bob B\nzoe,Zoë\n",
    "logins": "Name,Login\nAda L,ada1\nBob B,bob1\n",
    "addresses": "Name,Email\nAda L,ada@x.edu\nBob B,bob@x.edu\n",
    "numbers": "Folder,Name,ID,Identifier,Brightspace ID,Login\nada,Ada L,1,1,1,ada1\nbob,Bob B,2,2,2,bob1\n",
    "groups": "Folder,Name,Group\nada,Ada L,Team X\nbob,Bob B,Team X\n",
    "two of one name": "Folder,Name,Login\nada,Ada L,ada1\nada2,Ada L,ada2\n",
}
# The path of a file in each platform's download.
PLATFORMS = {
    "Moodle": "{name}_{number}_assignsubmission_file/{file}",
    "Moodle flat": "{name}_{number}_assignsubmission_file_{file}",
    "Canvas": "{name}_{number}_9{number}_{file}",
    "Brightspace": "{number}-9 - {name} - Nov 22, 2026 900 AM/{file}",
    "Brightspace flat": "{number}-9 - {name} - Nov 22, 2026 900 AM - {file}",
    "Blackboard": "x_{login}_attempt_2026-11-20-14-03-22_{file}",
    "Google Classroom": "{name} - {file}",
    "GitHub": "qkv-attention-{login}/{file}",
    "Gradescope": "submission_{number}/{file}",
    "folders": "{name}/{file}",
    "inner folders": "{name}/{inner_name}/{file}",
    "files": "{name}.ipynb",
}


@dataclass(frozen=True)
class Upload:
    """One student's file in a download, with all names that a platform may write into its path."""

    name: str
    login: str
    inner_name: str
    file: str
    number: int = 0

    def path(self, platform):
        name = self.name
        if platform == "Canvas":
            name = normalise_name(name)  # Canvas writes only letters and digits
        return PLATFORMS[platform].format(**{**vars(self), "name": name})

    def account(self, platform):
        """Return the part of an account that tells it from others, without names that students choose."""
        if platform in ("folders", "inner folders"):
            return to_nfc(self.name)
        if platform == "Blackboard":
            return self.login
        if platform == "GitHub":
            return self.login.lower()
        return self.number


UPLOADS = st.lists(
    st.builds(
        Upload,
        name=st.sampled_from(NAMES),
        login=st.sampled_from(["ada1", "Ada-L", "adal", "bob1", "mal", "ada"]),
        inner_name=st.sampled_from(NAMES),
        file=st.sampled_from([NOTEBOOK_NAME, "qkv-attention (1).ipynb", "qkv-attention-9.ipynb"]),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize(
    ("votes", "platform"),
    [
        ({"Canvas": {"a", "b", "c"}, "Moodle": {"d"}, "": {"e"}}, "Canvas"),
        ({"Canvas": {"a", "b"}, "Moodle": {"c"}, "": {"d"}}, None),  # half is no majority
        ({"Canvas": {"a", "b"}, "": {"c", "d"}}, None),
        ({"Canvas": {"a"}, "": {"b", "c"}}, ""),
        ({"Canvas": {"a", "b"}, "Moodle": {"a", "b"}}, None),  # each name has both forms
        ({"Canvas": {"a", "b"}, "Moodle": {"a"}}, "Canvas"),
    ],
)
def test_a_folder_is_a_platforms_if_more_than_half_of_its_names_are(votes, platform):
    assert ownership._majority_platform(votes) == platform


def make_files(platform, uploads):
    """Return the files of a platform's download, by path, beside those that it adds itself."""
    files, index = {}, ""
    for upload in uploads:
        path = upload.path(platform)
        files[path] = notebook(f"upload {upload.number}", "softmax")
        if platform == "Blackboard":
            receipt = RECEIPT.replace("Ada L", upload.name).format(login=upload.login)
            files[path.replace(f"_{upload.file}", ".txt")] = receipt.encode()
        index += f"submission_{upload.number}:\n  :submitters:\n  - :name: {upload.name!r}\n"
        index += f"    :email: e{upload.number}@x\n"
    if platform == "Gradescope":
        files["submission_metadata.yml"] = index.encode()
    return files


def numbered(uploads, first, platform):
    """Return uploads with numbers of their own, one for each path: a zip has a path only once."""
    by_path = {}
    for number, upload in enumerate(uploads, first):
        upload = replace(upload, number=number)
        by_path.setdefault(to_nfc(upload.path(platform)), upload)
    return list(by_path.values())


@settings(suppress_health_check=list(HealthCheck))
@given(
    downloads_of_class=st.tuples(UPLOADS, UPLOADS),
    platform=st.sampled_from(sorted(PLATFORMS)),
    roster_name=st.sampled_from(sorted(ROSTERS)),
)
def test_no_file_is_ever_filed_under_another_students_name(
    tmp_path_factory, downloads_of_class, platform, roster_name
):
    """In any two downloads, a student's folder gets the files of one account only."""
    classroom = downloads.make_classroom(tmp_path_factory.mktemp("whose") / "classroom")
    if ROSTERS[roster_name]:
        with_roster(classroom, ROSTERS[roster_name])
    filed = {}  # the uploads that were filed, by the student's folder
    for number, zip_name in enumerate(("first.zip", "second.zip")):
        uploads = numbered(downloads_of_class[number], 10 * number, platform)
        sources = {
            escape_unprintable(to_nfc(f"{zip_name}/{upload.path(platform)}")): upload
            for upload in uploads
        }
        zip_path = make_zip(classroom.root.parent / zip_name, make_files(platform, uploads))
        for row in collect([zip_path], classroom).files:
            if row.outcome in ("filed", "unchanged", "older"):
                filed.setdefault(row.student, []).append(sources[row.source])
    for student, uploads in filed.items():
        accounts = {upload.account(platform) for upload in uploads}
        assert len(accounts) == 1, f"{student} of {platform} has files of {accounts}: {uploads}"
    assert {path.name for path in classroom.submitted.glob("*")} <= set(filed)


@pytest.mark.parametrize(
    ("paths", "is_several"),
    [
        (["lab1.ipynb", "backup/lab1.ipynb"], False),  # a copy beside the folder's own file
        (["lab1.ipynb", "ada/lab1.ipynb"], False),
        (["ada/lab1.ipynb", "bob/lab1.ipynb"], True),
        (["ada/lab1.ipynb", "bob/lab2.ipynb"], False),
        (["lab1/lab1.ipynb", "lab2/lab1.ipynb"], False),  # folders of labs are nobody's
        (["ada.ipynb", "bob.ipynb"], True),
        (["ada.ipynb", "final.ipynb"], False),
        (["one/ada.ipynb", "two/bob.ipynb"], False),
        (["my lab1/lab1.ipynb", "my lab2/lab1.ipynb"], True),  # named after labs in part only
        (["a/b/lovelaceada_123_456_lab1.ipynb"], True),
        (["lovelaceada_123_456_lab1.ipynb"], True),
        ([], False),
    ],
)
def test_a_folder_holds_several_students_if_their_names_or_folders_differ(paths, is_several):
    parts = [path.split("/") for path in paths]
    assert ownership.holds_several_students(parts, ["lab1", "lab2"]) == is_several


@pytest.mark.parametrize(
    ("text", "receipt_login", "login"),
    [
        ("Lab 2_ada", "", "ada"),
        ("Lab_2_ada_1", "ada_1", "ada_1"),
        ("Lab_2_ada_1", "a_1", "ada_1"),  # another's receipt: the roster tells
        ("Lab_2_eve", "", ""),
        ("Lab_bo_ada_1", "", "ada_1"),
        ("Lab_2_ada_", "", "ada_"),
        ("Lab_ada_1_bo", "", "bo"),
        ("Lab_ada_1_cy", "", ""),
        ("x_1_cy", "", ""),  # both "1_cy" and "cy" are logins
    ],
)
def test_the_login_in_a_name_of_blackboards_is_the_receipts_or_the_only_one(
    text, receipt_login, login
):
    finder = object.__new__(ownership.DownloadOwnership)
    rows = [["Login"], ["ada_1"], ["ada_"], ["bo"], ["1_cy"], ["cy"]]
    finder._roster = roster._make_roster_from_rows(rows, [])
    assert finder._find_blackboard_login(text, receipt_login) == login


def test_moodles_words_for_a_participant_are_no_names():
    def moodle(name, number, platform="Moodle"):
        return platform_account(platform, PlatformIdentity(name=name, participant=number))

    for names, labs, blind in (
        (["Teilnehmer/in", "TEILNEHMER-IN", "Deltaker"], "aab", {"TEILNEHMER-IN", "Deltaker"}),
        (["Osallistuja", "Osallistuja"], "aa", {"Osallistuja"}),
        (["Osallistuja", "Osallistuja"], "ab", set()),  # one person, in two labs
        (["Ada Lovelace", "Ada Lovelace"], "aa", set()),
        (["Osallistuja", "Osallistuja", "Ada"], "aaa", set()),
    ):
        owners = [(lab, moodle(name, str(i))) for i, (lab, name) in enumerate(zip(labs, names))]
        others = [("a", moodle("Participant", "9", "Canvas"))]
        assert student_matching._find_blind_marking_names([*owners, *others]) == blind, names


def test_canvas_numbers_are_part_of_a_folders_name_and_a_patterns_are_not():
    pattern = FilenamePattern(
        platform="pattern",
        pattern=r"(?P<name>\w+)-(?P<lms_id>\d+)\.ipynb",
        identified_by="--pattern",
    )
    (owner,) = find_owners(["ada-7.ipynb"], pattern=pattern)
    assert owner == SubmissionAccount(
        platform="pattern",
        identities=(PlatformIdentity(name="ada", lms_id="7"),),
        default_folder="ada",
        account="7",
        identified_by="--pattern",
    )
    assert find_owners(["ada.ipynb"], pattern=pattern) == ["It does not match --pattern."]


@pytest.mark.parametrize(
    ("folder", "download", "is_container"),
    [
        ("Lab 2", "x", True),
        ("QKV_attention", "x", True),
        ("assignment_12_export", "x", True),
        ("assignment_12_export (1)", "x", True),
        ("ada", "x", False),
        ("Class B", "class-b", True),
        ("Class B", "class b (12)", True),
        ("Class B", "class b 12", False),
        ("…", "", False),
        ("Class C", "class c", False),  # it holds a submission
        ("Class R", "class r", False),  # the roster has it
    ],
)
def test_a_folder_is_a_container_by_its_name_or_its_downloads(folder, download, is_container):
    finder = ownership.DownloadOwnership(
        [], "", make_context("Name\nClass R\n"), repositories=(), receipts={}, metadata=None
    )
    file = "final.ipynb" if folder == "Class C" else "x.ipynb"
    assert bool(finder._has_container_name(folder, [[file]], download)) == is_container


TWO_TEAMS = "Name,Login,ID,Group\nAda L,ada,1,Team X\nBo Li,bo,2,Team X\nCy,cy,3,Team Y\n"


@pytest.mark.parametrize(
    ("submitters", "folders"),
    [
        ([("Team X", "1")], ["ada & bo"]),
        ([("Team X", "2")], ["ada & bo"]),
        ([("Team X", "1"), ("Cy", "3")], ["ada & bo", "cy"]),
        ([("Team X", "1"), ("Bo Li", "2")], ["ada", "bo"]),  # Ada chose that name
        ([("Team Y", "1")], ["ada"]),  # another group's name
        ([("Ada L", "1")], ["ada"]),
    ],
)
def test_a_group_of_canvas_is_filed_for_each_member_if_no_other_has_submitted(submitters, folders):
    accounts = [
        platform_account("Canvas", PlatformIdentity(name=name, lms_id=number))
        for name, number in submitters
    ]
    assert match_students(accounts, TWO_TEAMS) == folders
    number = submitters[0][1]
    member = {"1": "ada", "2": "bo"}[number]
    others = [replace(account, platform="Brightspace") for account in accounts]
    assert match_students(others, TWO_TEAMS)[0] == member
    if folders == ["ada & bo"]:  # the number is one member's, and so is an earlier folder of it
        by_account = {("Canvas", number): "old"}
        expected = folders[0].replace(member, "old")
        assert match_students(accounts, TWO_TEAMS, folder_by_account=by_account) == [expected]
