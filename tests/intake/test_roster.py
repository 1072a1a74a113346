"""Rosters as platforms export them, and matching submissions to people."""

from dataclasses import replace

import pytest
from downloads import (
    QKV,
    collect,
    files_with_outcome,
    notebook,
    read_submitted,
    submitted_texts,
    write_files,
)
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake import read_origin, read_origins, roster
from autograder.intake.collect import find_submitters_and_absentees
from autograder.intake.roster import Person, PlatformIdentity, RosterError

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
        "OrgDefinedId,Username,Last Name,First Name,Email,Lab 2 Points Grade <Numeric "
        "MaxPoints:10>,End-of-Line Indicator\n#777,#ada1,Lovelace,Ada,ada@x.edu,,#\n"
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
EXPORTED_FIELDS = {
    "Canvas": {"student": "ada1", "lms_id": "12345", "sid": "u777", "section": "Section A"},
    "Moodle participants": {"student": "ada@x.edu", "group": ("Team Red", "Lab A")},
    "Moodle grades": {"student": "777", "sid": "777", "email": "ada@x.edu"},
    "Moodle worksheet": {"student": "ada@x.edu", "participant": {"": "1234567"}},
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


def write_roster(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_platforms_export(tmp_path, export, encoding):
    (person,) = roster.read_roster(write_roster(tmp_path, EXPORTS[export], encoding)).people
    assert (person.name, person.first or "Ada", person.last or "Lovelace") == (
        "Ada Lovelace",
        "Ada",
        "Lovelace",
    )
    assert {key: getattr(person, key) for key in EXPORTED_FIELDS[export]} == EXPORTED_FIELDS[export]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_any_separator(tmp_path, separator):
    text = EXPORTS["nbgrader"].replace(",", separator)
    assert roster.read_roster(write_roster(tmp_path, text)).people[0].email == "ada@x.edu"


def test_no_roster_is_an_empty_one(tmp_path):
    assert roster.read_roster(tmp_path / "roster.csv") == roster.Roster()


def test_an_old_encoding_is_reported(tmp_path):
    class_roster = roster.read_roster(
        write_roster(tmp_path, "Name,Login\nZoë Müller,zoe\n", "cp1252"),
    )
    assert class_roster.people[0].name == "Zoë Müller"
    assert class_roster.notes == ("It is not UTF-8; it was read as Windows' Western one.",)


def test_unused_columns_are_reported(tmp_path):
    class_roster = roster.read_roster(
        write_roster(tmp_path, "Name,Login,Shoe size,User name\nAda,ada1,38,a\n"),
    )
    assert class_roster.notes == (
        "The columns 'Login' and 'User name' say the same; the first one counts.",
        "1 column not used: Shoe size.",
    )
    assert class_roster.people[0].login == "ada1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("colour,size\nred,1\n", "has no column that says who"),
        ("Name,Login\nAda,x\nBo,X\n", "'Ada' and 'Bo' have the same folder, x; take"),
        ("Name,Folder,Login\nAda,a,x\nBo,b,X\n", "have the same login, x"),
        ('Name,Login\n"Ada', None),
        ("Name\n" + "a" * 200_000 + "\n", "field larger than field limit"),
    ],
)
def test_a_roster_that_cannot_be_used(tmp_path, text, reason):
    if reason is None:
        roster.read_roster(write_roster(tmp_path, text))
        return
    with pytest.raises(RosterError, match=reason):
        roster.read_roster(write_roster(tmp_path, text))


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_a_roster_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("r") / "roster.csv"
    path.write_bytes(b"Name,Login,Email\n" + data)
    try:
        roster.read_roster(path)
    except RosterError as error:
        assert str(error).endswith(".")


CLASS = (
    "Folder,Name,Login,ID,Email,GitHub\n"
    "jane1,Jane Doe,jdoe,11,jane1@x.edu,JaneD\n"
    "jane2,Jane Doe,jdoe2,12,jane2@x.edu,\n"
    "bo,Bo Li,bli,13,bo@x.edu,\n"
)


@pytest.mark.parametrize(
    ("identity", "student"),
    [
        (PlatformIdentity(name="doejane", lms_id="12"), "jane2"),
        (PlatformIdentity(login="JDOE"), "jane1"),
        (PlatformIdentity(email="Jane2@x.edu"), "jane2"),
        (PlatformIdentity(name="Li, Bo"), "bo"),
        (PlatformIdentity(any_identifier="libo"), "bo"),
        (PlatformIdentity(any_identifier="jdoe2"), "jane2"),
        (PlatformIdentity(github="janed", any_identifier="janed"), "jane1"),
        (PlatformIdentity(name="Jane Doe"), None),
        (PlatformIdentity(name="Bo Li", lms_id="99"), None),  # of one name, with another number
        (PlatformIdentity(name="Bo Li", login="somebody"), None),
        (PlatformIdentity(), None),
        (PlatformIdentity(name="--"), None),
    ],
)
def test_matching(tmp_path, identity, student):
    people = roster.read_roster(write_roster(tmp_path, CLASS)).find(identity)
    names = [person.student for person in people]
    assert names == [student] if student else len(names) != 1


def test_submissions_are_matched_and_the_missing_listed(classroom, make_download):
    classroom.root.mkdir()
    write_roster(classroom.root, CLASS)
    files = {
        "doejane_12_678_qkv-attention.ipynb": notebook("jane2"),
        "libo_13_679_attention-masks.ipynb": notebook("bo"),
        "ghost_99_680_qkv-attention.ipynb": notebook("ghost"),
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        "jane2/qkv-attention": "jane2",
        "bo/attention-masks": "bo",
    }
    (stranger,) = files_with_outcome(report, "unmatched")
    assert stranger.reason == (
        "Nobody in the roster is 'ghost' or '99'. Add a line to roster.csv and collect it again."
    )
    assert {lab: list(submissions.absent) for lab, submissions in report.missing.items()} == {
        "attention-masks": ["jane1", "jane2"],
        "qkv-attention": ["jane1", "bo"],
    }
    assert "attention-masks: 2 submissions missing (jane1, jane2)." in report.summary
    people = roster.read_roster(classroom.root / "roster.csv")
    assert find_submitters_and_absentees(
        classroom.root, people, [QKV], read_origins(classroom.root)
    )[QKV] == (
        ("jane2",),
        ("jane1", "bo"),
    )


def test_of_a_lab_that_few_submitted_these_few_are_named(classroom, make_download):
    """One student took another lab for the one that was asked: nobody is asked for that lab."""
    names = [f"s{number:02}" for number in range(15)]
    classroom.root.mkdir()
    (classroom.root / "roster.csv").write_text(
        "Name,Login\n" + "".join(f"{n} x,{n}\n" for n in names)
    )
    files = {f"{name}/qkv-attention.ipynb": notebook() for name in names[:12]}
    files["s14/attention-masks.ipynb"] = notebook()
    report = collect([make_download(files)], classroom)
    assert (
        "attention-masks: only 1 of 15 students submitted it (s14). Is it a mistake?"
        in report.summary
    )
    assert "qkv-attention: 3 submissions missing (s12, s13, s14)." in report.summary


def test_two_people_of_one_name_are_refused_with_a_remedy(classroom, make_download):
    classroom.root.mkdir()
    write_roster(classroom.root, CLASS)
    report = collect([make_download({"Jane Doe - qkv-attention.ipynb": notebook()})], classroom)
    assert read_submitted(classroom) == {}
    assert files_with_outcome(report, "unmatched")[0].reason == (
        "2 people in the roster could be 'Jane Doe'. Add a column Login, and folders called after the logins."
    )


def test_a_later_roster_gives_no_student_a_second_folder(classroom, tmp_path):
    collect(
        [write_files(tmp_path / "1", {"libo_13_679_qkv-attention.ipynb": notebook("1")})],
        classroom,
    )
    write_roster(classroom.root, CLASS)
    report = collect(
        [write_files(tmp_path / "2", {"libo_13_690_attention-masks.ipynb": notebook("2")})],
        classroom,
    )
    assert sorted(read_submitted(classroom)) == ["libo-13/attention-masks", "libo-13/qkv-attention"]
    assert report.missing["attention-masks"].absent == ("jane1", "jane2")


def test_a_roster_settles_named_files_folders_and_cases(classroom, make_download):
    classroom.root.mkdir()
    write_roster(classroom.root, CLASS)
    files = {
        "class/BLI/qkv-attention.ipynb": notebook("bo"),
        "class/jane2.ipynb": notebook("j2", "softmax"),
        "class/JaneD/qkv-attention.ipynb": notebook("j1"),
    }
    collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        "bo/qkv-attention": "bo",
        "jane1/qkv-attention": "j1",
        "jane2/qkv-attention": "j2",
    }
    assert read_origin(classroom.root, "bo", QKV).name == "Bo Li"


def test_repeated_separator_lines_of_a_spreadsheet(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("\nsep=;\r\n" + "sep=,\n" * 5_000 + "Name,Login\nAda,ada\n")
    assert [person.login for person in roster.read_roster(path).people] == ["ada"]
    path.write_text("sep=;")
    with pytest.raises(RosterError, match="it is empty"):
        roster.read_roster(path)


def test_a_github_user_called_as_somebody_elses_login_is_not_that_person(classroom, inbox):
    """Regression: the GitHub user "ada1" was taken for Ada, whose login that is."""
    classroom.root.mkdir(parents=True, exist_ok=True)
    (classroom.root / "roster.csv").write_text(
        "Name,Login,GitHub\nAda Lovelace,ada1,ada-l\nMal Mallory,mal1,mal\n"
    )
    write_files(
        inbox,
        {"qkv-attention-ada-l/qkv-attention.ipynb": notebook("ada")},
        modified_at=1_800_000_000,
    )
    write_files(
        inbox,
        {"qkv-attention-ada1/qkv-attention.ipynb": notebook("mallory")},
        modified_at=1_800_000_900,
    )
    report = collect([inbox], classroom)
    assert [row.reason for row in files_with_outcome(report, "unmatched")] and report.exit_code == 1
    assert submitted_texts(classroom) == {"ada1/qkv-attention": "ada"}


def test_two_accounts_that_could_be_one_person_are_not_filed(classroom, inbox):
    """Regression: the newer one was filed for both."""
    classroom.root.mkdir(parents=True, exist_ok=True)
    (classroom.root / "roster.csv").write_text("Name,Login\nAda Lovelace,ada1\nMal Mallory,mal1\n")
    names = ("ada1", "adalovelace", "mal1")
    write_files(
        inbox,
        {f"qkv-attention-{user}/qkv-attention.ipynb": notebook(user) for user in names},
    )
    report = collect([inbox], classroom)
    assert len(files_with_outcome(report, "unmatched")) == 2
    assert report.files[0].reason == (
        "GitHub 'ada1' and GitHub 'adalovelace' would all be 'Ada Lovelace', and may be several "
        "people. Say in roster.csv which is whose: a column GitHub."
    )
    assert list(read_submitted(classroom)) == ["mal1/qkv-attention"]


def test_a_zero_byte_in_a_name_does_not_break_the_roster(tmp_path):
    """Regression: the whole roster was read as UTF-16, and refused."""
    (tmp_path / "roster.csv").write_bytes(b"Name,Login\nAda\0 L,ada\nBo,bo\n")
    people = roster.read_roster(tmp_path / "roster.csv").people
    assert [person.student for person in people] == ["ada", "bo"] and people[1].name == "Bo"


def test_the_same_row_twice_is_one_person(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("Name,Login\nAda Lovelace,ada\nBo Li,bo\nAda Lovelace,ada\n")
    read = roster.read_roster(path)
    assert [person.student for person in read.people] == ["ada", "bo"]
    assert read.notes == ()


def test_only_a_status_that_begins_with_the_word_is_a_withdrawal(tmp_path):
    text = "Login,Status\nada,Active (was removed by mistake)\nbo,Withdrawn\ncy,Not withdrawn\n"
    people = roster.read_roster(write_roster(tmp_path, text)).people
    assert [person.withdrawn for person in people] == [False, True, False]


HEADERS = {
    "student": ["Folder"],
    "login": ["Login", "Login ID", "SIS Login ID", "Username", "NetID"],
    "github": ["GitHub", "GitHub username"],
    "lms_id": ["ID", "Canvas ID", "LMS ID", "lms_user_id", "User ID"],
    "sid": ["SID", "SIS User ID", "ID number", "Student ID", "OrgDefinedId"],
    "brightspace": ["Brightspace ID"],
    "email": ["E-mail", "Email address", "Mail"],
    "section": ["Section", "Sections"],
    "first": ["First", "First name", "Given name"],
    "last": ["Last", "Surname", "Family name"],
}


@pytest.mark.parametrize("field", HEADERS)
def test_each_heading_of_a_column_is_known(tmp_path, field):
    for heading in HEADERS[field]:
        text = f"Name,{heading}\nAda Lovelace,x7\n"
        (person,) = roster.read_roster(write_roster(tmp_path, text)).people
        assert getattr(person, field) == "x7", heading


@pytest.mark.parametrize(
    "heading",
    ["Extension qkv-attention", "extension for qkv-attention", "Extensions: qkv-attention"],
)
def test_an_extension_s_heading_names_the_lab(tmp_path, heading):
    text = f"Login,{heading},Submitted qkv-attention,Extension\nada,2 days,2026-11-20,\n"
    (person,) = roster.read_roster(write_roster(tmp_path, text)).people
    assert person.extension == {"qkv-attention": "2 days"}, "an empty cell is no extension"
    assert person.submission_times == {"qkv-attention": "2026-11-20"}


@pytest.mark.parametrize(
    ("status", "withdrawn"),
    [
        ("Withdrew", True),
        ("dropped", True),
        ("Left on 3 May", True),
        ("leftover", False),
        ("Inactive", True),
        ("Deleted", True),
        ("Unenrolled", True),
        ("deregistered", True),
        ("Removed", True),
        ("Suspended", True),
        ("active", False),
        ("", False),
    ],
)
def test_a_status_says_who_has_left(tmp_path, status, withdrawn):
    (person,) = roster.read_roster(write_roster(tmp_path, f"Login,Status\nada,{status}\n")).people
    assert person.withdrawn is withdrawn


def test_staff_test_students_and_points_are_no_students(tmp_path):
    rows = [
        "Ada,ada,Student",
        "Pat,pat,TEACHER",
        "Tom,tom,ta",
        '"Student, Test",t,',
        "Points Possible,p,",
    ]
    text = "\n".join(["Name,Login,Role", *rows])
    people = roster.read_roster(write_roster(tmp_path, text)).people
    assert [person.student for person in people] == ["ada"]


def test_of_two_columns_for_one_field_the_first_with_a_value_counts(tmp_path):
    text = "Login,Email,E-mail address\nada,,a@x.edu\nbo,b@x.edu,other@x.edu\n"
    read = roster.read_roster(write_roster(tmp_path, text))
    assert [person.email for person in read.people] == ["a@x.edu", "b@x.edu"]
    assert read.notes == (
        "The columns 'Email' and 'E-mail address' say the same; the first one counts.",
    )


def test_the_folder_is_named_after_the_best_identifier(tmp_path):
    text = "Name,Login,SID,ID,Email\nA B,l,s,i,e@x\nC D,,s2,i2,e2@x\nE F,,,i3,e3@x\nG H,,,,e4@x\nI J,,,,\n"
    people = roster.read_roster(write_roster(tmp_path, text)).people
    assert [person.student for person in people] == ["l", "s2", "i3", "e4@x", "I J"]
    identity = PlatformIdentity(login="l", email="e@x", sid="s", name="A B")
    assert identity.default_folder == "l"
    assert PlatformIdentity(email="e@x", sid="s", name="A B").default_folder == "e@x"


def test_ids_lose_what_brightspace_and_spreadsheets_write_before_them(tmp_path):
    text = "Name,Login,SID\nAda L,#ada,'00777\n"
    (person,) = roster.read_roster(write_roster(tmp_path, text)).people
    assert (person.login, person.sid) == ("ada", "00777")


def test_an_id_and_names_alone_are_nbgrader_s_and_more_columns_are_not(tmp_path):
    (person,) = roster.read_roster(write_roster(tmp_path, "id,first_name\nada1,Ada\n")).people
    assert (person.student, person.lms_id) == ("ada1", "")
    (person,) = roster.read_roster(write_roster(tmp_path, "id,login\n12,ada1\n")).people
    assert (person.student, person.lms_id) == ("ada1", "12")


def test_groups_are_separated_by_commas_or_semicolons(tmp_path):
    text = 'Login,Group\nada,"Red, Lab A"\nbo,"Red; Lab B;"\n'
    read = roster.read_roster(write_roster(tmp_path, text))
    assert [person.group for person in read.people] == [("Red", "Lab A"), ("Red", "Lab B")]
    assert [person.student for person in read.find_group_members("RED")] == ["ada", "bo"]


def test_a_shared_address_identifies_nobody_and_a_shared_login_is_refused_in_any_case(tmp_path):
    text = "Login,Email,,Remark\nada,a@x.edu,,\nbo,A@x.edu,,\n"
    read = roster.read_roster(write_roster(tmp_path, text))
    assert read.notes == (
        "1 column not used: Remark.",
        "'ada' and 'bo' have the same e-mail address, a@x.edu: it identifies nobody.",
    )
    with pytest.raises(RosterError, match="'ada' and 'ADA' have the same"):
        roster.read_roster(write_roster(tmp_path, "Login,Name\nada,\nADA,\n"))


def test_lines_may_end_as_on_an_old_mac(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_bytes(b"Name,Login\rAda L,ada\rBo Li,bo\r")
    assert [person.student for person in roster.read_roster(path).people] == ["ada", "bo"]


def test_a_name_is_found_without_its_blanks_and_with_its_last_name_first(tmp_path):
    text = "First,Last,Login\nAda Maria,Lovelace King,ada\n"
    read = roster.read_roster(write_roster(tmp_path, text))
    for name in ("Lovelace King, Ada Maria", "lovelacekingadamaria", "adamarialovelaceking"):
        assert [person.student for person in read.find_people_by_name(name)] == ["ada"], name


def test_a_roster_is_read_up_to_a_size(tmp_path, set_limits):
    path = write_roster(tmp_path, "Login\nada\n")
    set_limits(max_index_bytes=path.stat().st_size)
    assert roster.read_roster(path).people[0].login == "ada"
    set_limits(max_index_bytes=path.stat().st_size - 1)
    with pytest.raises(RosterError, match="is no roster that can be used"):
        roster.read_roster(path)


def test_few_are_a_tenth_of_the_class_at_most():
    found = [roster.is_submitted_by_few(*counts) for counts in ((1, 10), (2, 20), (2, 19), (0, 9))]
    assert found == [True, True, False, True]


@pytest.mark.parametrize(
    ("cells", "person"),
    [
        (
            {"name": "Lovelace, Ada", "login": "a"},
            Person(student="a", name="Ada Lovelace", first="Ada", last="Lovelace", login="a"),
        ),
        (
            {"name": "L , A", "last": "Lovelace", "first": "Ada", "student": "x/y"},
            Person(student="x-y-bd3c9047", name="A L", first="Ada", last="Lovelace"),
        ),
        (
            {"first": "Ada", "last": "L", "status": "dropped on Monday", "group": " a;; b,c "},
            Person(
                student="Ada L",
                name="Ada L",
                first="Ada",
                last="L",
                withdrawn=True,
                group=("a", "b", "c"),
            ),
        ),
        ({"last": "L", "role": "student"}, Person(student="L", name="L", last="L")),
        ({"name": "A", "sid": "s", "lms_id": "i", "email": "e"}, "s"),
        ({"name": "A", "lms_id": "i", "email": "e"}, "i"),
        ({"name": "A", "email": "e"}, "e"),
        ({"name": "A", "role": "TA"}, None),
        ({"name": "Student, Test", "login": "x"}, None),
        ({"name": "  Points Possible"}, None),
        ({"section": "1", "github": "g", "group": "r"}, None),  # nothing says who
    ],
)
def test_a_row_of_the_roster_becomes_a_person_or_nobody(cells, person):
    made = roster._make_person_from_cells(dict(cells), extension={"": "2d"}, participant={})
    if isinstance(person, str):
        person = replace(made, student=person)
    if person:
        person = replace(person, extension={"": "2d"})
    assert made == person


def test_remarks_on_columns_are_in_the_order_of_the_fields():
    headers = ["SID", "Name", "Mail", "Student", "ID number", "Email", "Extension", "Extension a"]
    notes = roster._note_duplicate_and_unused_columns(
        [*headers, "", "Shoe\x1b"],
        [roster._field_of_header(header) for header in headers] + ["", ""],
    )
    assert notes == [
        "The columns 'Mail' and 'Email' say the same; the first one counts.",
        "The columns 'Name' and 'Student' say the same; the first one counts.",
        "The columns 'SID' and 'ID number' say the same; the first one counts.",
        r"1 column not used: Shoe\x1b.",
    ]
