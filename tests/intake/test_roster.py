"""The class as platforms export it, and hand-ins matched to it."""

import pytest
from downloads import QKV, collect, filed, notebook, of, put, texts
from hypothesis import given
from hypothesis import strategies as st

from autograder.grading.intake import missing, read_origin, roster
from autograder.grading.intake.roster import Identity, RosterError

EXPORTS = {
    "Canvas": (
        "Student,ID,SIS User ID,SIS Login ID,Section,Lab 2 (99)\n"
        '"    Points Possible",,,,,10.0\n'
        '"Lovelace, Ada",12345,u777,ada1,Section A,\n'
        '"Student, Test",999,,abcdef,Section A,\n'
    ),
    "Moodle participants": (
        '"First name",Surname,"Email address",Groups\nAda,Lovelace,ada@x.edu,"Team Red, Lab A"\n'
    ),
    "Moodle grades": (
        '"First name","Last name","ID number",Institution,"Email address","Course total"\n'
        "Ada,Lovelace,777,,ada@x.edu,-\n"
    ),
    "Moodle worksheet": (
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade\n"
        "Participant 1234567,Ada Lovelace,ada@x.edu,Submitted,,10\n"
    ),
    "Blackboard": (
        '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Last Access"\nLovelace\tAda\tada1\t777\t2026\n'
    ),
    "Brightspace": (
        "OrgDefinedId,Username,Last Name,First Name,Email,Lab 2 Points Grade <Numeric MaxPoints:10>,"
        "End-of-Line Indicator\n#777,#ada1,Lovelace,Ada,ada@x.edu,,#\n"
    ),
    "Gradescope": (
        "First Name,Last Name,SID,Email,Role,Section\nAda,Lovelace,777,ada@x.edu,Student,A\n"
        "Pat,Teacher,,pat@x.edu,Instructor,\n"
    ),
    "GitHub Classroom": "identifier,github_username,github_id,name\nada1,AdaL,55,Ada Lovelace\n",
    "nbgrader": "id,first_name,last_name,email,lms_user_id\nada1,Ada,Lovelace,ada@x.edu,12345\n",
    "by hand": "Name;Login;E-mail;Section;Group;Extension;Extension qkv-attention\n"
    "Ada Lovelace;ada1;ada@x.edu;A;Team Red;1 day;48h\n",
}
EXPECTED = {
    "Canvas": {"student": "ada1", "lms_id": "12345", "sid": "u777", "section": "Section A"},
    "Moodle participants": {"student": "ada@x.edu", "group": ("Team Red", "Lab A")},
    "Moodle grades": {"student": "777", "sid": "777", "email": "ada@x.edu"},
    "Moodle worksheet": {"student": "ada@x.edu", "participant": ("1234567",)},
    "Blackboard": {"student": "ada1", "sid": "777"},
    "Brightspace": {"student": "ada1", "sid": "777", "login": "ada1"},
    "Gradescope": {"student": "777", "sid": "777", "section": "A"},
    "GitHub Classroom": {"student": "ada1", "github": "AdaL"},
    "nbgrader": {"student": "ada1", "lms_id": "12345"},
    "by hand": {
        "student": "ada1",
        "extension": {"": "1 day", "qkv-attention": "48h"},
        "group": ("Team Red",),
    },
}


def written(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_platforms_export(tmp_path, export, encoding):
    (person,) = roster.read(written(tmp_path, EXPORTS[export], encoding)).people
    assert (person.name, person.first or "Ada", person.last or "Lovelace") == (
        "Ada Lovelace",
        "Ada",
        "Lovelace",
    )
    assert {key: getattr(person, key) for key in EXPECTED[export]} == EXPECTED[export]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_any_separator(tmp_path, mark):
    text = EXPORTS["nbgrader"].replace(",", mark)
    assert roster.read(written(tmp_path, text)).people[0].email == "ada@x.edu"


def test_no_roster_is_an_empty_one(tmp_path):
    assert roster.read(tmp_path / "roster.csv") == roster.Roster()


def test_an_old_encoding_is_said(tmp_path):
    read = roster.read(written(tmp_path, "Name,Login\nZoë Müller,zoe\n", "cp1252"))
    assert read.people[0].name == "Zoë Müller"
    assert read.notes == ("It is not UTF-8; it was read as Windows' Western one.",)


def test_columns_that_are_not_used_are_said(tmp_path):
    read = roster.read(written(tmp_path, "Name,Login,Shoe size,User name\nAda,ada1,38,a\n"))
    assert read.notes == (
        "The columns 'Login' and 'User name' say the same; the first one counts.",
        "1 column not used: Shoe size.",
    )
    assert read.people[0].login == "ada1"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("colour,size\nred,1\n", "has no column that says who"),
        ("Name,Login\nAda,x\nBo,X\n", "'Ada' and 'Bo' have the same folder, x; take"),
        ("Name,Folder,Login\nAda,a,x\nBo,b,X\n", "have the same login, x"),
        ('Name,Login\n"Ada', None),
        ("Name\n" + "a" * 200_000 + "\n", "field larger than field limit"),
    ],
)
def test_a_roster_that_is_none(tmp_path, text, why):
    if why is None:
        roster.read(written(tmp_path, text))
        return
    with pytest.raises(RosterError, match=why):
        roster.read(written(tmp_path, text))


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise_anything_else(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("r") / "roster.csv"
    path.write_bytes(b"Name,Login,Email\n" + data)
    try:
        roster.read(path)
    except RosterError as error:
        assert str(error).endswith(".")


CLASS = (
    "Folder,Name,Login,ID,Email,GitHub\n"
    "jane1,Jane Doe,jdoe,11,jane1@x.edu,JaneD\n"
    "jane2,Jane Doe,jdoe2,12,jane2@x.edu,\n"
    "bo,Bo Li,bli,13,bo@x.edu,\n"
)


@pytest.mark.parametrize(
    ("who", "student"),
    [
        (Identity(name="doejane", lms_id="12"), "jane2"),
        (Identity(login="JDOE"), "jane1"),
        (Identity(email="Jane2@x.edu"), "jane2"),
        (Identity(name="Li, Bo"), "bo"),
        (Identity(said="libo"), "bo"),
        (Identity(said="jdoe2"), "jane2"),
        (Identity(github="janed", said="janed"), "jane1"),
        (Identity(name="Jane Doe"), None),
        (Identity(name="Bo Li", lms_id="99"), None),  # of one name, with another number
        (Identity(name="Bo Li", login="somebody"), None),
        (Identity(), None),
        (Identity(name="--"), None),
    ],
)
def test_matching(tmp_path, who, student):
    found = roster.read(written(tmp_path, CLASS)).find(who)
    names = [person.student for person in found]
    assert names == [student] if student else len(names) != 1


def test_hand_ins_are_matched_and_the_missing_listed(room, given_as):
    room.root.mkdir()
    written(room.root, CLASS)
    files = {
        "doejane_12_678_qkv-attention.ipynb": notebook("jane2"),
        "libo_13_679_attention-masks.ipynb": notebook("bo"),
        "ghost_99_680_qkv-attention.ipynb": notebook("ghost"),
    }
    done = collect([given_as(files)], room)
    assert texts(room) == {"jane2/qkv-attention": "jane2", "bo/attention-masks": "bo"}
    (stranger,) = of(done, "unmatched")
    assert stranger.reason == (
        "Nobody in the roster is 'ghost' or '99'. Add a line to roster.csv and collect it again."
    )
    assert {lab: [p.student for p in people] for lab, people in done.missing.items()} == {
        "attention-masks": ["jane1", "jane2"],
        "qkv-attention": ["jane1", "bo"],
    }
    assert "attention-masks: 2 hand-ins missing (jane1, jane2)." in done.summary
    people = roster.read(room.root / "roster.csv")
    assert missing(room.root, people, [QKV])[QKV][0].name == "Jane Doe"


def test_two_of_one_name_are_refused_with_what_to_do(room, given_as):
    room.root.mkdir()
    written(room.root, CLASS)
    done = collect([given_as({"Jane Doe - qkv-attention.ipynb": notebook()})], room)
    assert filed(room) == {}
    assert of(done, "unmatched")[0].reason == (
        "2 people in the roster could be 'Jane Doe'. Add a column Login, and folders called after the logins."
    )


def test_a_roster_that_comes_later_makes_nobody_two(room, tmp_path):
    collect([put(tmp_path / "1", {"libo_13_679_qkv-attention.ipynb": notebook("1")})], room)
    written(room.root, CLASS)
    done = collect([put(tmp_path / "2", {"libo_13_690_attention-masks.ipynb": notebook("2")})], room)
    assert sorted(filed(room)) == ["libo-13/attention-masks", "libo-13/qkv-attention"]
    assert [p.student for p in done.missing["attention-masks"]] == ["jane1", "jane2"]


def test_a_roster_settles_named_files_folders_and_cases(room, given_as):
    room.root.mkdir()
    written(room.root, CLASS)
    files = {
        "class/BLI/qkv-attention.ipynb": notebook("bo"),
        "class/jane2.ipynb": notebook("j2", "softmax"),
        "class/JaneD/qkv-attention.ipynb": notebook("j1"),
    }
    collect([given_as(files)], room)
    assert texts(room) == {
        "bo/qkv-attention": "bo",
        "jane1/qkv-attention": "j1",
        "jane2/qkv-attention": "j2",
    }
    assert read_origin(room.root, "bo", QKV).name == "Bo Li"


def test_however_often_a_spreadsheet_says_how_it_separates(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("\nsep=;\r\n" + "sep=,\n" * 5_000 + "Name,Login\nAda,ada\n")
    assert [person.login for person in roster.read(path).people] == ["ada"]
    path.write_text("sep=;")
    with pytest.raises(RosterError, match="it is empty"):
        roster.read(path)


def test_a_github_user_called_as_somebody_elses_login_is_not_that_person(room, inbox):
    """A repository of "ada1", newer than ada's own, was filed as ada's: that is her login, and not her GitHub name."""
    room.root.mkdir(parents=True, exist_ok=True)
    (room.root / "roster.csv").write_text(
        "Name,Login,GitHub\nAda Lovelace,ada1,ada-l\nMal Mallory,mal1,mal\n"
    )
    put(inbox, {"qkv-attention-ada-l/qkv-attention.ipynb": notebook("ada")}, when=1_800_000_000)
    put(inbox, {"qkv-attention-ada1/qkv-attention.ipynb": notebook("mallory")}, when=1_800_000_900)
    report = collect([inbox], room)
    assert [row.reason for row in of(report, "unmatched")] and report.exit_code == 1
    assert texts(room) == {"ada1/qkv-attention": "ada"}


def test_two_accounts_that_could_be_one_person_are_filed_as_nobody(room, inbox):
    """The newer of them would have stood for both."""
    room.root.mkdir(parents=True, exist_ok=True)
    (room.root / "roster.csv").write_text("Name,Login\nAda Lovelace,ada1\nMal Mallory,mal1\n")
    names = ("ada1", "adalovelace", "mal1")
    put(inbox, {f"qkv-attention-{who}/qkv-attention.ipynb": notebook(who) for who in names})
    report = collect([inbox], room)
    assert len(of(report, "unmatched")) == 2
    assert report.rows[0].reason == (
        "GitHub 'ada1' and GitHub 'adalovelace' would all be 'Ada Lovelace', and may be several people. Say in "
        "roster.csv which is whose: a column GitHub."
    )
    assert list(filed(room)) == ["mal1/qkv-attention"]


def test_a_zero_byte_in_a_name_keeps_nobody_else_out(tmp_path):
    """The whole roster was taken for UTF-16, and no roster."""
    (tmp_path / "roster.csv").write_bytes(b"Name,Login\nAda\0 L,ada\nBo,bo\n")
    people = roster.read(tmp_path / "roster.csv").people
    assert [person.student for person in people] == ["ada", "bo"] and people[1].name == "Bo"
