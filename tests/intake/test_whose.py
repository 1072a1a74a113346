"""Whose word it is: no file of a student's says who, nor takes another's place, nor says when."""

import time

import downloads
import pytest
from downloads import QKV, collect, filed, make_zip, notebook, of, only, put, texts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.grading.intake import roster
from autograder.grading.intake.names import letters, nfc, shown
from autograder.grading.intake.platforms import forms_of
from autograder.grading.intake.roster import Identity, RosterError

NB = "qkv-attention.ipynb"
CLASS = "Folder,Name,Email\nada,Ada L,ada@x.edu\nbob,Bob B,bob@x.edu\n"
GRADESCOPE = """submission_1:
  :submitters:
  - :name: Ada L
    :email: ada@x.edu
  :created_at: 2027-01-21 10:00:00 Z
"""
RECEIPT = (
    "Name: Ada L ({login})\nAssignment: x\nDate Submitted: Friday, 20 November 2026 14:03:22 o'clock GMT\n"
)


def with_roster(room, text=CLASS):
    room.root.mkdir(exist_ok=True)
    (room.root / "roster.csv").write_text(text)


# An index is the platform's at the top of its export


@pytest.mark.parametrize("above", ["work of m/", "Ada/", "Lab 2/", "Lab 2/assignment_1_export/", "work/"])
@pytest.mark.parametrize("listed", [True, False])
def test_gradescopes_list_counts_only_at_the_top_of_its_export(room, given_as, above, listed):
    """It stood in a student's own folder, and named somebody else and a date."""
    if listed:
        with_roster(room)
    collect([given_as({f"Ada L_1_assignsubmission_file_/{NB}": notebook("ada")}, "moodle")], room)
    before = filed(room)
    files = {
        f"{above}submission_metadata.yml": GRADESCOPE.encode(),
        f"{above}submission_1/{NB}": notebook("evil"),
    }
    report = collect([given_as(files, "late")], room)
    assert filed(room) == before and report.exit_code == 1


def test_even_a_whole_export_replaces_nothing_of_another_platform(room, given_as):
    with_roster(room)
    collect([given_as({f"Ada L_1_assignsubmission_file_/{NB}": notebook("ada")}, "moodle")], room)
    above = "assignment_1_export/"
    files = {
        f"{above}submission_metadata.yml": GRADESCOPE.encode(),
        f"{above}submission_1/{NB}": notebook("new"),
    }
    report = collect([given_as(files, "gradescope")], room)
    assert texts(room) == {"ada/qkv-attention": "ada"}
    assert only(report).reason.startswith(
        "The hand-in that is there came from Moodle 'Ada L (1)', this one from Gradescope 'Ada L (ada@x.edu)'. If both "
        "are this student's, collect it with --replace;"
    )
    report = collect([given_as(files, "gradescope")], room, replaces=True)
    assert texts(room) == {"ada/qkv-attention": "new"}
    assert "Replaced, the earlier ones being in submitted-earlier/: ada (qkv-attention)." in report.summary
    assert only(report).word == "Gradescope's submission_metadata.yml and roster.csv"
    # The earlier download says nothing new, and is no trouble.
    assert only(
        collect([given_as({f"Ada L_1_assignsubmission_file_/{NB}": notebook("ada")}, "moodle")], room)
    ).outcome


# Two accounts that come to one person


@pytest.mark.parametrize("name", ["Ada L", "ADA  L", "Ada L.", "A\u200bda L", "L, Ada", "Ada L \U0001f600"])
@pytest.mark.parametrize("file", [NB, "qkv-attention-9.ipynb"])
def test_two_moodle_participants_of_one_person_in_the_roster(room, given_as, name, file):
    with_roster(room)
    files = {f"Ada L_1_assignsubmission_file/{NB}": notebook("ada")}
    files |= {f"{name}_2_assignsubmission_file/{file}": notebook("evil")}
    report = collect([given_as(files)], room)
    assert filed(room) == {} and len(of(report, "unmatched")) == 2
    assert all("Moodle 'Ada L (1)'" in row.reason and "(2)'" in row.reason for row in report.rows)
    assert "a column Identifier" in report.rows[0].reason


def test_two_normal_forms_of_one_name_are_two_accounts(room, given_as):
    with_roster(room, "Folder,Name\nzoe,Zoë K\n")
    files = {
        f"{n}_{i}_assignsubmission_file/{NB}": notebook() for i, n in enumerate(("Zo\u00eb K", "Zoe\u0308 K"))
    }
    report = collect([given_as(files)], room)
    assert filed(room) == {} and len(of(report, "unmatched")) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"Ada L/{NB}", f"ada  l/{NB}"),
        (f"Ada L/{NB}", f"ada@x.edu/{NB}"),
        ("Ada L.ipynb", "ada_l.ipynb"),
        ("qkv-attention-ada/qkv-attention.ipynb", "qkv-attention-Ada-L/qkv-attention.ipynb"),
        (f"lal_1_2_{NB}", f"ladal_3_4_{NB}"),
        (f"1-9 - Ada L - Oct 3, 2026 1134 PM/{NB}", f"2-9 - ada l - Oct 3, 2026 1134 PM/{NB}"),
        (f"Ada L - {NB}", "Ada L - qkv-attention (1).ipynb"),
        (f"Ada L - {NB}", f"Ada L. - {NB}"),
    ],
)
def test_two_accounts_of_one_person_are_nobodys(room, given_as, one, other):
    with_roster(room, "Folder,Name,Email\nada,Ada L,ada@x.edu\n")
    files = {one: notebook("ada", "softmax"), other: notebook("evil", "softmax")}
    report = collect([given_as(files)], room)
    assert filed(room) == {} and len(of(report, "unmatched")) == 2


def test_all_uploads_of_an_account_that_could_be_anothers_are_nobodys(room, given_as):
    with_roster(room, "Folder,Name\nada,Ada L\n")
    files = {f"lada_1_{upload}_{NB}": notebook(str(upload)) for upload in (91, 92)}
    report = collect([given_as(files | {f"adal_3_93_{NB}": notebook("evil")})], room)
    assert filed(room) == {} and len(of(report, "unmatched")) == 3


def test_two_logins_of_one_name_in_blackboards_receipts(room, given_as):
    with_roster(room)
    files = {}
    for login in ("ada1", "mal"):
        begins = f"x_{login}_attempt_2026-11-20-14-03-22"
        files |= {f"{begins}_{NB}": notebook(login), f"{begins}.txt": RECEIPT.format(login=login).encode()}
    report = collect([given_as(files)], room)
    assert filed(room) == {} and "a column Login" in of(report, "unmatched")[0].reason
    with_roster(room, CLASS.replace("Email", "Login").replace("ada@x.edu", "ada1"))
    collect([given_as(files)], room)
    assert texts(room) == {"ada/qkv-attention": "ada1"}


def test_another_account_later_replaces_nothing(room, tmp_path):
    with_roster(room)
    for login in ("ada1", "mal"):
        begins = f"x_{login}_attempt_2026-11-2{len(login)}-14-03-22"
        files = {f"{begins}_{NB}": notebook(login), f"{begins}.txt": RECEIPT.format(login=login).encode()}
        report = collect([put(tmp_path / login, files)], room)
    assert len(filed(room)) == 1 and texts(room) == {"ada/qkv-attention": "ada1"}
    assert (
        "came from Blackboard 'Ada L (ada1)', this one from Blackboard 'Ada L (mal)'" in only(report).reason
    )


# Groups


TEAM = "Folder,Name,Group\nada,Ada L,Team X\nbob,Bob B,Team X\n"


@pytest.mark.parametrize("name", ["Team X", "Team X-Ada L"])
def test_who_is_called_as_a_group_does_not_replace_its_members(room, given_as, name):
    with_roster(room, TEAM)
    files = {
        f"Ada L_1_assignsubmission_file/{NB}": notebook("ada"),
        f"Bob B_3_assignsubmission_file/{NB}": notebook("bob"),
        f"{name}_4_assignsubmission_file/{NB}": notebook("evil"),
    }
    report = collect([given_as(files)], room)
    assert "evil" not in texts(room).values() and texts(room)["bob/qkv-attention"] == "bob"
    (row, *_) = of(report, "unmatched")
    assert f"Moodle '{name} (4)'" in row.reason and "Moodle 'Ada L (1)'" in row.reason


def test_a_group_after_its_members_replaces_nothing(room, tmp_path):
    with_roster(room, TEAM)
    collect([put(tmp_path / "1", {f"Ada L_1_assignsubmission_file/{NB}": notebook("ada")})], room)
    report = collect([put(tmp_path / "2", {f"Team X_4_assignsubmission_file/{NB}": notebook("x")})], room)
    assert texts(room) == {"ada/qkv-attention": "ada", "bob/qkv-attention": "x"}
    assert len(of(report, "refused")) == 1


# Names that students choose


@pytest.mark.parametrize("listed", [True, False])
def test_a_name_that_a_student_chose_takes_nobodys_place(room, tmp_path, listed):
    if listed:
        with_roster(room)
    first = collect([put(tmp_path / "1", {f"Lab 2/Ada L - {NB}": notebook("ada")}, when=1_000_000_000)], room)
    assert "Filed under names that students chose themselves, so look at them: " in first.summary
    files = {f"Lab 2/Ada L - {NB}": notebook("evil")}
    report = collect([put(tmp_path / "2", files, when=1_900_000_000)], room)
    assert list(texts(room).values()) == ["ada"]
    assert only(report).reason.startswith(
        "There is a hand-in of this name, and students choose such names themselves."
    )
    report = collect([tmp_path / "2"], room, replaces=True)
    assert list(texts(room).values()) == ["evil"] and "Replaced" in report.summary


FREE = {
    "plain folders": [f"{name}/{NB}" for name in ("Ada L", "Bob B", "Cy")],
    "files": [f"{name}.ipynb" for name in ("Ada L", "Bob B", "Cy")],
    "Google Classroom": [f"{name} - {NB}" for name in ("Ada L", "Bob B", "Cy")],
    "Canvas": [f"{name}_{i}_9{i}_{NB}" for i, name in enumerate(("adal", "bobb", "cy"))],
    "Moodle": [f"{name}_{i}_assignsubmission_file_{NB}" for i, name in enumerate(("Ada L", "Bob B", "Cy"))],
    "GitHub": [f"qkv-attention-{name}/{NB}" for name in ("adal", "bobb", "cy")],
}
FORMED = [
    f"Ana S_12345_assignsubmission_file_/{NB}",
    f"Ana S_12345_assignsubmission_file_{NB}",
    f"anas_12345_678_{NB}",
    f"12345-67890 - Ana S - Oct 3, 2026 1134 PM/{NB}",
    f"12345-67890 - Ana S - Oct 3, 2026 1134 PM - {NB}",
    f"x_ana_attempt_2026-11-20-14-03-22_{NB}",
    f"qkv-attention-ana/{NB}",
    f"submission_7/{NB}",
    f"submitted/ana/qkv-attention/{NB}",
    f"Ana S - {NB}",
    f"Ana S/{NB}",
]


@pytest.mark.parametrize("others", sorted(FREE))
@pytest.mark.parametrize("name", FORMED)
def test_one_name_of_another_form_is_nobodys_and_keeps_nobody_out(room, given_as, others, name):
    """It was believed, and all the others were not."""
    if [f.platform for f, _ in forms_of(FREE[others][0], [QKV])] == [
        f.platform for f, _ in forms_of(name, [QKV])
    ]:
        pytest.skip("of the same form")
    files = {path: notebook("honest", "softmax") for path in FREE[others]}
    report = collect([given_as(files | {name: notebook("evil", "softmax")})], room)
    assert list(texts(room).values()) == ["honest"] * 3
    (row,) = of(report, "unmatched")
    assert "a student could have chosen it" in row.reason or "and is none" in row.reason


def test_as_many_of_one_form_as_of_another_are_nobodys(room, given_as):
    files = {
        f"Lab 2/12345-67890 - Ada L - Oct 3, 2026 1134 PM - {NB}": notebook("evil"),
        f"Lab 2/Ada L - {NB}": notebook("ada"),
    }
    report = collect([given_as(files)], room)
    assert filed(room) == {} and "no more than half are of one form" in of(report, "unmatched")[0].reason


@pytest.mark.parametrize(
    "name",
    [
        f"lovelaceada_201_5_x_12345_678_{NB}",  # Canvas: "ada_.201_.5_x" is called so
        f"lovelaceada_12345_678_2026_11_20_{NB}",
        f"anon_aB3xY_9_x_12345_678_{NB}",
        f"adal_1_2_b_3_assignsubmission_file_{NB}",  # Moodle's, or Canvas's
        f"lovelaceada_12345_678_x_bob_attempt_2026-11-20-14-03-22_{NB}",
    ],
)
def test_a_name_that_two_readings_give_to_two_people_is_nobodys(room, given_as, name):
    with_roster(room, "Name,ID\nAda Lovelace,201\nMal,12345\n")
    report = collect([given_as({name: notebook("mal")})], room)
    assert filed(room) == {} and len(of(report, "unmatched")) == 1


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada L_5_assignsubmission_file_/", "Bob B_5_assignsubmission_file_/"),
        ("Ada L_5_assignsubmission_file_", "Bob B_5_assignsubmission_file_"),
        ("adal_5_91_", "bobb_5_92_"),
    ],
)
def test_one_number_under_two_names_is_nobodys(room, given_as, one, other, listed):
    if listed:
        with_roster(room)
    files = {f"{one}{NB}": notebook("ada"), f"{other}{NB}": notebook("bob")}
    report = collect([given_as(files)], room)
    assert filed(room) == {} and len(of(report, "unmatched")) == 2
    assert all("ada" in row.reason.lower() and "bob" in row.reason.lower() for row in report.rows)


def test_names_of_two_platforms_in_one_folder_are_nobodys(room, given_as):
    files = {f"Ada L_1_assignsubmission_file/{NB}": notebook(), f"lovelaceada_1_2_{NB}": notebook()}
    report = collect([given_as(files)], room)
    assert filed(room) == {} and len(of(report, "unmatched")) == 2


@pytest.mark.parametrize(
    ("name", "student"),
    [
        (f"2-9 - Mal M - Oct 1, 2026 100 AM - Nov 22, 2026 900 AM/{NB}", "Mal M - Oct 1- 2026 100 AM"),
        (f"2-9 - Mal M - Oct 1, 2026 100 AM - Nov 22, 2026 900 AM - {NB}", None),
        (f"Ada L_1_assignsubmission_file_2_assignsubmission_file/{NB}", "Ada L_1_assignsubmission_file"),
        (f"Ada L_1_assignsubmission_file_2_assignsubmission_file_{NB}", None),
    ],
)
def test_a_display_name_that_looks_like_the_platforms_part_is_a_name(room, given_as, name, student):
    report = collect([given_as({name: notebook("mal")})], room)
    if student is None:
        assert filed(room) == {} and only(report).reason.startswith("It cannot be told where ")
        return
    ((key, (_, stamp)),) = filed(room).items()
    assert key.startswith(student) and stamp in (None, "2026-11-22 09:00:00 UTC")


def test_a_folder_around_one_student_is_not_guessed(room, given_as):
    """Whoever names the outer folder after themselves could name the inner ones after others."""
    for files in ({f"mal/ada/{NB}": notebook()}, {f"mal/{s}/{NB}": notebook() for s in ("ada", "bob")}):
        report = collect([given_as(files, f"d{len(files)}")], room)
        assert filed(room) == {} and "Collect 'mal' by itself" in report.rows[0].reason


# The roster


def test_one_roster_serves_two_platforms(room, given_as):
    """Canvas's ID refused a whole class of Brightspace's, with a sentence that was not true."""
    with_roster(room, "Name,Login,ID,OrgDefinedId\nAda L,ada,201,77\nBob B,bob,12000,78\n")
    files = {
        f"12000-9 - Ada L - Oct 3, 2026 1134 PM/{NB}": notebook("ada"),
        f"12001-9 - Bob B - Oct 3, 2026 1134 PM/{NB}": notebook("bob"),
    }
    collect([given_as(files)], room)
    assert texts(room) == {"ada/qkv-attention": "ada", "bob/qkv-attention": "bob"}
    files = {
        "lada_201_5_attention-masks.ipynb": notebook("a"),
        "bbob_12000_6_attention-masks.ipynb": notebook("b"),
    }
    collect([given_as(files, "canvas")], room)
    assert texts(room)["ada/attention-masks"] == "a" and texts(room)["bob/attention-masks"] == "b"


@pytest.mark.parametrize(
    ("header", "numbers", "forms"),
    [
        ("Identifier", ("Participant 1", "Participant 2"), "Anna Schmidt_{}_assignsubmission_file/" + NB),
        ("Brightspace ID", ("1", "2"), "{}-9 - Anna Schmidt - Oct 3, 2026 1134 PM/" + NB),
        ("Canvas ID", ("1", "2"), "schmidtanna_{}_7{}_" + NB),
    ],
)
def test_the_advice_for_two_of_one_name_helps(room, given_as, header, numbers, forms):
    lines = "Name,Login\nAnna Schmidt,a1\nAnna Schmidt,a2\n"
    with_roster(room, lines)
    files = {forms.format(n, n): notebook(f"a{n}") for n in (1, 2)}
    report = collect([given_as(files)], room)
    assert filed(room) == {} and (
        header.partition(" ID")[0] in report.rows[0].reason or header == "Canvas ID"
    )
    with_roster(
        room, f"Name,Login,{header}\n" + "".join(f"Anna Schmidt,a{i},{n}\n" for i, n in enumerate(numbers, 1))
    )
    collect([given_as(files)], room)
    assert texts(room) == {"a1/qkv-attention": "a1", "a2/qkv-attention": "a2"}


def test_another_number_of_the_same_kind_is_somebody_else(room, given_as):
    with_roster(room, "Name,SID\nAda L,1\n")
    person = roster.read(room.root / "roster.csv").people[0]
    assert roster.contradiction(person, Identity(name="Ada L", sid="2")) == "'1', not '2'"
    text = GRADESCOPE.replace(":email", ":sid: '2'\n    :email")
    files = {"submission_metadata.yml": text.encode(), f"submission_1/{NB}": notebook()}
    report = collect([given_as(files)], room)
    assert filed(room) == {} and "The roster has 'Ada L', but as '1', not '2'." in report.rows[0].reason


def test_a_word_that_two_people_are_known_by_is_nobodys(room, given_as):
    with_roster(room, "Name,Login,SID\nAda L,ada,77\nBob B,77,5\n")
    report = collect([given_as({f"77/{NB}": notebook()})], room)
    assert filed(room) == {} and only(report).reason.startswith("2 people in the roster could be '77'.")


def test_a_roster_of_an_old_mac(tmp_path):
    (tmp_path / "roster.csv").write_bytes(b"Name,Login\rAda,ada\rBo,bo\r")
    assert [person.student for person in roster.read(tmp_path / "roster.csv").people] == ["ada", "bo"]


def test_two_lines_with_one_address(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("Name,Login,Email\nAda,ada,x@y\nBo,bo,x@y\nBo,bo,x@y\n")
    read = roster.read(path)
    assert [person.student for person in read.people] == ["ada", "bo"]
    assert read.notes == ("'Ada' and 'Bo' have the same e-mail address, x@y: nobody is known by it.",)
    assert len(read.find(Identity(said="x@y"))) == 2
    path.write_text("Name,Login\nAda,ada\nAnna,ada\n")
    with pytest.raises(RosterError, match="have the same folder, ada"):
        roster.read(path)


def test_who_has_left_is_not_missing(room, given_as):
    with_roster(room, "Name,Login,Status\nAda,ada,active\nBo,bo,withdrawn\nCy,cy,\n")
    report = collect([given_as({f"ada/{NB}": notebook()})], room)
    assert [person.student for person in report.missing[QKV]] == ["cy"]


# Deep and long tables


@pytest.mark.parametrize(
    "data", [b"[" * 500_000, b"{" * 500_000, b"- " * 500_000, b"a: " * 9 + b"[" * 500_000]
)
def test_a_deep_list_of_gradescopes_is_a_sentence(room, given_as, data):
    """Its parser is in C, recurses, and ended the process."""
    files = {"submission_metadata.yml": b"submission_1: " + data, f"submission_1/{NB}": notebook()}
    began = time.process_time()
    report = collect([given_as(files)], room)
    assert time.process_time() - began < 10
    assert (
        any("submission_metadata.yml" in row.source for row in of(report, "refused"))
        and report.exit_code == 1
    )


# From any set of people and names

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
PEOPLE = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4)
LOGINS = st.sampled_from(["ada1", "Ada-L", "adal", "bob1", "mal", "ada"])
ROSTERS = {
    "none": "",
    "names": "Folder,Name\nada,Ada L\nbob,Bob B\nzoe,Zoë\n",
    "logins": "Name,Login\nAda L,ada1\nBob B,bob1\n",
    "addresses": "Name,Email\nAda L,ada@x.edu\nBob B,bob@x.edu\n",
    "numbers": "Folder,Name,ID,Identifier,Brightspace ID,Login\nada,Ada L,1,1,1,ada1\nbob,Bob B,2,2,2,bob1\n",
    "groups": "Folder,Name,Group\nada,Ada L,Team X\nbob,Bob B,Team X\n",
    "two of one name": "Folder,Name,Login\nada,Ada L,ada1\nada2,Ada L,ada2\n",
}
PLATFORMS = {
    "Moodle": "{name}_{i}_assignsubmission_file/{nb}",
    "Moodle flat": "{name}_{i}_assignsubmission_file_{nb}",
    "Canvas": "{name}_{i}_9{i}_{nb}",
    "Brightspace": "{i}-9 - {name} - Nov 22, 2026 900 AM/{nb}",
    "Brightspace flat": "{i}-9 - {name} - Nov 22, 2026 900 AM - {nb}",
    "Blackboard": "x_{login}_attempt_2026-11-20-14-03-22_{nb}",
    "Google Classroom": "{name} - {nb}",
    "GitHub": "qkv-attention-{login}/{nb}",
    "Gradescope": "submission_{i}/{nb}",
    "folders": "{name}/{nb}",
    "inner folders": "{name}/{other}/{nb}",
    "files": "{name}.ipynb",
}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), platform=st.sampled_from(sorted(PLATFORMS)), which=st.sampled_from(sorted(ROSTERS)))
def test_nobodys_file_ever_lies_in_anothers_folder(tmp_path_factory, data, platform, which):
    """Whatever two downloads hold: one account's files, and no other's, are filed under one name, replaced or kept
    as older."""
    room = downloads.classroom(tmp_path_factory.mktemp("whose") / "classroom")
    if ROSTERS[which]:
        with_roster(room, ROSTERS[which])
    accounts: dict[str, object] = {}  # by the files' sources
    filed_as: dict[str, set[object]] = {}
    for n, run in enumerate(("first.zip", "second.zip")):
        files, index = {}, ""
        for i, name in enumerate(data.draw(PEOPLE), 10 * n):
            copy = data.draw(st.sampled_from([NB, "qkv-attention (1).ipynb", "qkv-attention-9.ipynb"]))
            other, login = data.draw(st.sampled_from(NAMES)), data.draw(LOGINS)
            if platform == "Canvas":
                name = letters(name)  # it writes no others
            path = PLATFORMS[platform].format(name=name, other=other, i=i, nb=copy, login=login)
            if shown(nfc(f"{run}/{path}")) in accounts:
                continue
            files[path] = notebook(f"{run} {i}", "softmax")
            if platform == "Blackboard":
                receipt = RECEIPT.replace("Ada L", name).format(login=login)
                files[path.replace(f"_{copy}", ".txt")] = receipt.encode()
            index += f"submission_{i}:\n  :submitters:\n  - :name: {name!r}\n    :email: e{i}@x\n"
            # A folder's name and a login are an account; a number is one; a name that is chosen is anybody's.
            known = {
                "folders": nfc(name),
                "inner folders": nfc(name),
                "Blackboard": login,
                "GitHub": login.lower(),
            }
            accounts[shown(nfc(f"{run}/{path}"))] = known.get(platform, i)
        if platform == "Gradescope":
            files["submission_metadata.yml"] = index.encode()
        for row in collect([make_zip(room.root.parent / run, files)], room).rows:
            if row.outcome in ("filed", "unchanged", "older"):
                filed_as.setdefault(row.student, set()).add(accounts[row.source])
    assert all(len(whose) == 1 for whose in filed_as.values()), filed_as
    assert {path.name for path in room.submitted.glob("*")} <= set(filed_as)
