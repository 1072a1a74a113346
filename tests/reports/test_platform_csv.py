"""Marks in the CSV formats of the platforms."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from graded_class import LAB, by_hand, came_from, enrol, fill, policy_of, results, row, table

from autograder.gradebook.class_list import ClassList, ClassListError
from autograder.intake import Origin, Person
from autograder.reports.marks import (
    Assignment,
    ClassMarks,
    Mark,
    display_name,
    format_full_name,
    read_marks,
)
from autograder.reports.platform_csv import (
    CSV_FORMATS,
    PLATFORMS,
    build_platform_tables,
    escape_formula,
    format_grades_csv,
    format_platform_csv,
    make_moodle_worksheet_format,
    select_platforms,
)
from autograder.reports.pseudonyms import assign_pseudonyms

pytestmark = pytest.mark.filterwarnings("ignore")


def person(student, last="", first="", email="", **fields):
    return Person(student=student, last=last, first=first, email=email, **fields)


def mark(student, scores, **fields):
    return Mark(student=student, lab="one", scores=scores, points={"a": 6, "b": 4}, **fields)


def make_marks(platform="", **origin):
    """Return marks: Ada has 4.5 of 10 in lab "one", Eve's await manual grading, Zoe has no submission."""
    marks = ClassMarks(
        {
            "al1": person("al1", "Lovelace", "Ada"),
            "eve": person("eve", name="Eve Evil"),
            "zoe": person("zoe"),
        },
        {"one": Assignment("one", datetime(2026, 1, 1), 10.0), "two": Assignment("two", None, 4.0)},
        {
            ("al1", "one"): mark("al1", {"a": 5.5, "b": 0}, penalty=1.0),
            ("eve", "one"): mark(
                "eve", {"a": 6, "b": None}, awaiting_manual_count=1, seconds_late=5400
            ),
        },
    )
    if platform:
        marks.class_list = ClassList(origins={("al1", "one"): Origin(platform=platform, **origin)})
    return marks


def test_grades_csv_has_a_row_for_each_student_and_lab():
    rows = table(format_grades_csv(make_marks()))
    assert [(r["student_id"], r["assignment"]) for r in rows] == [
        (s, lab) for s in ("al1", "eve", "zoe") for lab in ("one", "two")
    ]
    ada, eve, zoe = rows[0], rows[2], rows[4]
    assert (ada["raw_score"], ada["late_submission_penalty"], ada["score"]) == ("5.5", "1.0", "4.5")
    assert (ada["state"], ada["max_score"]) == ("complete", "10.0")
    assert (eve["raw_score"], eve["score"], eve["waiting"]) == ("6.0", "", "1")
    assert (eve["state"], eve["hours_late"]) == ("awaiting manual grading", "1.5")
    assert (zoe["score"], zoe["raw_score"], zoe["state"]) == ("", "", "nothing submitted")


def test_rows_are_alphabetical_whatever_the_accents():
    marks = make_marks()
    names = {"a": "Zadie", "b": "Émile", "c": "evan", "d": "Ada"}
    marks.students = {key: person(key, name, "X") for key, name in names.items()}
    marks.sort(["two", "one"])
    assert list(marks.students) == ["d", "b", "c", "a"] and list(marks.labs) == ["two", "one"]


def test_canvas_finds_students_by_the_number_in_their_own_files_name():
    text, omitted_count = format_platform_csv(
        make_marks("Canvas", lms_id="12345", name="lovelaceada"), CSV_FORMATS["Canvas"]
    )
    rows = table(text)
    assert list(rows[0]) == ["Student", "ID", "Section", "one", "two"]
    assert "Points Possible" in rows[0]["Student"] and rows[0]["one"] == "10.0"
    assert (rows[1]["Student"], rows[1]["ID"]) == ("Lovelace, Ada", "12345")
    assert (rows[1]["one"], rows[1]["two"]) == ("4.5", "")
    assert len(rows) == 2 and omitted_count == 1  # Eve, with a mark; nothing is invented for her


def test_canvas_gets_the_rosters_sis_columns():
    marks = make_marks("Canvas", lms_id="12345")
    marks.students["eve"] = person("eve", "Evil", "Eve", login="eve@x.edu", sid="S7", section="A")
    rows = table(format_platform_csv(marks, CSV_FORMATS["Canvas"])[0])
    assert list(rows[0])[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert rows[2]["ID"] == "" and rows[2]["SIS User ID"] == "S7"
    assert rows[2]["SIS Login ID"] == "eve@x.edu" and rows[1]["SIS Login ID"] == ""
    assert rows[2]["one"] == ""  # it waits


def worksheet(marks, lab, now=None):
    return format_platform_csv(
        marks, make_moodle_worksheet_format(marks, marks.labs[lab], now), [marks.labs[lab]]
    )


def test_moodles_worksheet_has_a_participant_for_each():
    marks = make_marks("Moodle", participant="1001", name="Ada Lovelace")
    text, omitted_count = worksheet(marks, "one", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    (row,) = table(text)
    assert row == {
        "Identifier": "Participant 1001",
        "Full name": "Ada Lovelace",
        "Email address": "",
        "Grade": "4.5",
        "Maximum Grade": "10.0",
        "Last modified (grade)": "2026-01-02 03:04:05 UTC",
    }
    assert omitted_count == 1
    assert worksheet(marks, "two")[0] == ""


def test_a_participant_number_of_a_group_identifies_nobody():
    marks = make_marks("Moodle", participant="55")
    marks.origins["eve", "one"] = Origin(
        platform="Moodle", participant="55", members=("al1", "eve")
    )
    assert worksheet(marks, "one") == ("", 2)


@pytest.mark.parametrize(
    ("columns", "identifiers"),
    [
        ([{"one": "1"}, {"one": "2"}, {}], ["Participant 1", "Participant 2"]),
        ([{"two": "1"}, {"two": "2"}, {}], []),
        # A column without a lab's name: it agrees with Zoe's submission, or it is another lab's.
        ([{"": "1"}, {"": "2"}, {"": "9"}], ["Participant 1", "Participant 2", "Participant 9"]),
        ([{"": "1"}, {"": "2"}, {"": "8"}], ["Participant 9"]),
        # A column with the lab's name counts more.
        (
            [{"": "1", "one": "7"}, {"": "2"}, {"": "9"}],
            ["Participant 7", "Participant 2", "Participant 9"],
        ),
    ],
)
def test_the_roster_has_the_participant_numbers_of_a_group(columns, identifiers):
    marks = make_marks("Moodle", participant="55")
    marks.origins["eve", "one"] = Origin(
        platform="Moodle", participant="55", members=("al1", "eve")
    )
    if "" in columns[0]:
        marks.origins["zoe", "one"] = Origin(platform="Moodle", participant="9")
    for student, column in zip(("al1", "eve", "zoe"), columns, strict=True):
        marks.students[student] = replace(marks.students[student], participant=column)
    text, _ = worksheet(marks, "one")
    assert [row["Identifier"] for row in table(text)] == identifiers if text else not identifiers


@pytest.mark.parametrize(
    ("of_zoe", "identifiers"),
    [
        ("9", ["Participant 1", "Participant 2", "Participant 9"]),
        ("8", ["Participant 1", "Participant 9"]),
    ],
)
def test_a_column_that_contradicts_one_of_several_submissions_is_another_labs(of_zoe, identifiers):
    marks = make_marks("Moodle", participant="1")
    marks.origins["zoe", "one"] = Origin(platform="Moodle", participant="9")
    for student, number in (("al1", "1"), ("eve", "2"), ("zoe", of_zoe)):
        marks.students[student] = replace(marks.students[student], participant={"": number})
    text, _ = worksheet(marks, "one")
    assert [row["Identifier"] for row in table(text)] == identifiers


@pytest.mark.parametrize("column", [{"one": "8"}, {"One": "8"}, {"": "8"}, {"two": "8"}, {}])
def test_a_submissions_own_participant_number_goes_before_the_rosters(column):
    marks = make_marks("Moodle", participant="1")
    marks.students["al1"] = replace(marks.students["al1"], participant=column)
    (row,) = table(worksheet(marks, "one")[0])
    assert row["Identifier"] == "Participant 1"


def test_moodles_gradebook_has_only_students_it_can_identify():
    marks = make_marks("Moodle", participant="1")
    marks.students["al1"] = person("al1", "Lovelace", "Ada", "ada@x.edu", login="al1")
    rows = table(format_platform_csv(marks, CSV_FORMATS["Moodle"])[0])
    assert [(r["Username"], r["Email address"], r["one"]) for r in rows] == [
        ("al1", "ada@x.edu", "4.5")
    ]


def test_blackboard():
    (row,) = table(
        format_platform_csv(make_marks("Blackboard", login="ada_1"), CSV_FORMATS["Blackboard"])[0]
    )
    assert (row["Username"], row["Last Name"], row["one"]) == ("ada_1", "Lovelace", "4.5")


def test_brightspace_never_takes_the_folders_number_for_an_id():
    marks = make_marks("Brightspace", lms_id="12345", name="Ada Lovelace")
    assert format_platform_csv(marks, CSV_FORMATS["Brightspace"]) == ("", 2)
    marks.students["al1"] = person("al1", "Lovelace", "Ada", sid="20067930", login="ada")
    text, omitted_count = format_platform_csv(marks, CSV_FORMATS["Brightspace"])
    assert text.splitlines() == [
        "OrgDefinedId,Username,one Points Grade,two Points Grade,End-of-Line Indicator",
        "20067930,ada,4.5,,#",
    ]
    assert omitted_count == 1


def test_gradescope():
    marks = make_marks(
        "Gradescope", email="ada@x.edu", sid="7", name="Ada Lovelace", members=("al1", "eve")
    )
    (row,) = table(format_platform_csv(marks, CSV_FORMATS["Gradescope"])[0])
    assert (row["SID"], row["Email"], row["one"], row["one - Max Points"]) == (
        "7",
        "ada@x.edu",
        "4.5",
        "10.0",
    )


def test_a_table_for_each_platform_that_occurs_and_no_other():
    assert build_platform_tables(make_marks()) == []
    assert [t.name for t in build_platform_tables(make_marks("Canvas", lms_id="1"))] == [
        "canvas.csv"
    ]
    assert [t.name for t in build_platform_tables(make_marks("Moodle", participant="1"))] == [
        "moodle-one.csv"
    ]
    marks = make_marks()
    marks.students["al1"] = person("al1", login="al1")
    assert [t.name for t in build_platform_tables(marks, ["Blackboard", "Canvas"])] == [
        "canvas.csv",
        "blackboard.csv",
    ]


def test_no_cell_is_a_formula():
    marks = make_marks("Canvas", lms_id="1")
    marks.students["=cmd()"] = person("=cmd()", "+Evil", "@Eve", "-x", login="=1", sid="=2")
    for text in (
        format_grades_csv(marks),
        *(format_platform_csv(marks, form)[0] for form in CSV_FORMATS.values()),
    ):
        for line in csv.reader(io.StringIO(text)):
            assert not any(cell.strip().startswith(("=", "+", "-", "@")) for cell in line)
    assert all(str(escape_formula(text)).startswith("'") for text in ("\t=1", " =1", "=1"))


def test_the_same_as_nbgraders_own_export(classroom, prepared, tmp_path):
    from nbgrader.api import Gradebook
    from nbgrader.plugins import CsvExportPlugin

    submissions = {"bob": results("bob", ["softmax"]), "ada": results("ada")}
    fill(classroom, submissions, gradebook=prepared, timestamp="2026-01-03 12:00:00 UTC")
    by_hand(classroom, "ada", 1.5)
    by_hand(classroom, "bob", 2)
    with Gradebook(classroom.db, "attention-labs") as book:
        book.update_or_create_student("ada", first_name="Ada", last_name="Z")
        book.update_or_create_assignment(LAB, duedate="2026-01-02 12:00:00 UTC")
        CsvExportPlugin(to=str(tmp_path / "theirs.csv")).export(book)
    marks = read_marks(classroom)
    nbgrader_rows = table((tmp_path / "theirs.csv").read_text())
    own_rows = [
        {key: row[key] for key in nbgrader_rows[0]} for row in table(format_grades_csv(marks))
    ]
    assert sorted(own_rows, key=str) == sorted(nbgrader_rows, key=str)
    assert marks.marks["ada", LAB].seconds_late == 86400


def test_names_are_the_rosters_and_everybody_in_it_has_a_line(classroom, prepared):
    enrol(classroom, 'Student,ID,Section\n"Lovelace, Ada",12,A\n"Li, Bo",13,B\n')
    fill(classroom, {"lovelaceada-12": results("lovelaceada-12")}, gradebook=prepared)
    came_from(classroom, "lovelaceada-12", "Canvas", name="lovelaceada", lms_id="12")
    marks = read_marks(classroom, policy_of())
    assert {s.student: format_full_name(s) for s in marks.students.values()} == {
        "13": "Bo Li",
        "lovelaceada-12": "Ada Lovelace",
    }
    rows = table(format_platform_csv(marks, CSV_FORMATS["Canvas"])[0])
    assert [(r["Student"], r["ID"]) for r in rows[1:]] == [
        ("Li, Bo", "13"),
        ("Lovelace, Ada", "12"),
    ]


def test_an_extension_is_in_the_table(classroom):
    marks = make_marks()
    marks.marks["al1", "one"] = replace(marks.marks["al1", "one"], extension=timedelta(days=2))
    assert table(format_grades_csv(marks))[0]["extension"] == "48 h"


def test_each_state_has_its_own_word():
    marks = make_marks()
    marks.marks["zoe", "one"] = mark("zoe", {"a": None, "b": None})
    marks.marks["al1", "two"] = replace(marks.marks["al1", "one"], interrupted=True)
    marks.submissions = frozenset({("eve", "two")})
    rows = {(r["student_id"], r["assignment"]): r["state"] for r in table(format_grades_csv(marks))}
    assert rows == {
        ("al1", "one"): "complete",
        ("al1", "two"): "interrupted",
        ("eve", "one"): "awaiting manual grading",
        ("eve", "two"): "awaiting grading",
        ("zoe", "one"): "awaiting grading",
        ("zoe", "two"): "nothing submitted",
    }


@pytest.mark.parametrize("platform", PLATFORMS)
def test_withdrawn_students_are_in_no_platform_table(platform):
    fields = {
        "login": "zo",
        "sid": "1",
        "lms_id": "2",
        "email": "zo@x.edu",
        "last": "Zed",
        "first": "Zo",
    }
    marks = make_marks()
    for student in ("al1", "zoe"):
        marks.students[student] = Person(student=student, **fields, withdrawn=student == "zoe")
        marks.marks[student, "one"] = mark(student, {"a": 1, "b": 1})
    marks.class_list = ClassList(
        origins={
            (s, "one"): Origin(platform=platform, participant=s[1:], lms_id=s, login=s)
            for s in ("al1", "zoe")
        }
    )
    assert len(table(format_platform_csv(marks, CSV_FORMATS[platform])[0])) == (
        2 if platform == "Canvas" else 1
    )
    numbers = (("al1", "1"), ("zoe", "2"))
    marks.class_list = ClassList(
        origins={(s, "one"): Origin(platform="Moodle", participant=number) for s, number in numbers}
    )
    assert len(table(worksheet(marks, "one")[0])) == 1
    assert (
        "zoe" in format_grades_csv(marks)
        and display_name(marks.students["zoe"]) == "Zo Zed (zoe), withdrawn"
    )


def test_a_roster_of_another_class_is_refused_with_the_names(classroom):
    for student in ("ada", "bo", "cy", "di"):
        (classroom.submitted / student / LAB).mkdir(parents=True)
    enrol(classroom, "Name,Login\nXi Yps,xyps\nPat Quux,pquu\n")
    with pytest.raises(
        ClassListError,
        match=r"another class's: 4 of the 4 .* \(ada, bo, cy and di\), .* Xi Yps and Pat Quux",
    ):
        read_marks(classroom)
    enrol(classroom, "Name,Login\nXi Yps,xyps\nAda,ada\nBo,bo\n")
    assert "xyps" in read_marks(classroom).students


def test_the_table_of_all_marks_names_partners_changes_and_students_without_a_last_name():
    marks = make_marks()
    marks.partners = {("al1", "one"): ("al1", "zoe")}
    rows = (row("al1", "a"), row("al1", "b"))
    marks.marks["al1", "one"] = replace(
        marks.marks["al1", "one"], results=rows, comments={"a": "Look."}, extra_credit={"b": 1.0}
    )
    ada, eve, zoe = (table(format_grades_csv(marks))[i] for i in (0, 2, 4))
    assert (ada["group"], ada["changed_by_person"]) == ("al1; zoe", "a; b")
    assert (ada["last_name"], ada["first_name"]) == ("Lovelace", "Ada")
    assert (eve["last_name"], eve["first_name"], eve["group"]) == ("Eve Evil", "", "")
    assert (zoe["last_name"], zoe["changed_by_person"], zoe["timestamp"]) == ("", "", "")


def test_the_number_in_the_file_s_name_goes_before_the_roster_s_and_another_platform_s_is_none():
    for platform, field, heading in (
        ("Canvas", "lms_id", "ID"),
        ("Blackboard", "login", "Username"),
    ):
        for of_file, expected in ((platform, "from-file"), ("Moodle", "from-roster")):
            marks = make_marks(of_file, **{field: "from-file"})
            marks.students["al1"] = replace(marks.students["al1"], **{field: "from-roster"})
            text, _ = format_platform_csv(marks, CSV_FORMATS[platform])
            assert table(text)[-1][heading] == expected, (platform, of_file)


def test_canvas_needs_both_sis_columns_if_one_has_a_value():
    marks = make_marks("Canvas", lms_id="1")
    marks.students["al1"] = replace(marks.students["al1"], login="ada")
    first = table(format_platform_csv(marks, CSV_FORMATS["Canvas"])[0])[0]
    assert list(first)[:4] == ["Student", "ID", "SIS User ID", "SIS Login ID"]


@pytest.mark.parametrize(
    "first",
    [
        Origin(platform="Canvas"),
        Origin(platform="Moodle", lms_id="9"),
        Origin(platform="Canvas", lms_id="9", members=("al1", "eve")),
    ],
    ids=["unknown", "another platform", "a group's"],
)
def test_an_identifier_that_only_a_later_lab_tells_is_in_the_table(first):
    marks = make_marks()
    marks.origins["al1", "one"] = first
    marks.origins["al1", "two"] = Origin(platform="Canvas", lms_id="7")
    rows = table(format_platform_csv(marks, CSV_FORMATS["Canvas"])[0])
    assert [row["ID"] for row in rows[1:]] == ["7"]


def test_moodle_s_worksheet_has_the_time_in_utc_whatever_the_machine_s_zone():
    marks = make_marks("Moodle", participant="1")
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))
    (row_of_ada,) = table(worksheet(marks, "one", now)[0])
    assert row_of_ada["Last modified (grade)"] == "2026-01-02 01:04:05 UTC"


def test_a_column_of_numbers_for_no_lab_is_not_trusted_without_a_submission_that_agrees():
    marks = make_marks("Canvas", lms_id="1")
    marks.students["al1"] = replace(marks.students["al1"], participant={"": "9"})
    assert worksheet(marks, "one")[0] == ""


def test_a_grade_is_rounded_as_pages_show_it():
    marks = make_marks("Canvas", lms_id="1")
    marks.marks["al1", "one"] = mark("al1", {"a": 2 / 3, "b": 0.005})
    assert table(format_platform_csv(marks, CSV_FORMATS["Canvas"])[0])[1]["one"] == "0.67"


def test_platforms_come_in_one_order_and_plain_folders_are_none():
    marks = make_marks("folder")
    assert select_platforms(marks, ["Moodle", "Canvas"]) == ["Canvas", "Moodle"]
    marks = make_marks("Gradescope", sid="1")
    assert select_platforms(marks, ["Canvas"]) == ["Canvas", "Gradescope"]


def test_a_list_of_pseudonyms_with_an_empty_line_is_read(tmp_path):
    path = tmp_path / "pseudonyms.csv"
    path.write_text("pseudonym,student_id\nstudent-009,'ada\n\nodd\n")
    assert assign_pseudonyms(["ada", "ada"], tmp_path) == {"ada": "student-009"}


def test_numbers_of_pseudonyms_do_not_tell_who_came_last(tmp_path):
    numbers = []
    for count in range(1, 41):
        pseudonyms = assign_pseudonyms([f"s{n}" for n in range(count)], tmp_path)
        numbers.append(int(pseudonyms[f"s{count - 1}"].removeprefix("student-")))
    assert numbers != sorted(numbers) and max(numbers) > 40


ADA_OF_THE_ROSTER = {
    "login": "roster-login",
    "lms_id": "roster-lms",
    "sid": "roster-sid",
    "section": "roster-section",
    "github": "roster-github",
    "brightspace": "roster-brightspace",
}
OWN_FACTS = ("name", "login", "email", "lms_id", "sid", "participant", "account")


@pytest.mark.parametrize(
    ("platform", "headings", "cells"),
    [
        (
            "Canvas",
            "Student,ID,SIS User ID,SIS Login ID,Section",
            '"Lovelace, Ada",file-lms_id,roster-sid,roster-login,roster-section',
        ),
        (
            "Moodle",
            "Username,ID number,First name,Last name,Email address",
            "roster-login,roster-sid,Ada,Lovelace,ada@x.edu",
        ),
        (
            "Blackboard",
            "Last Name,First Name,Username,Student ID",
            "Lovelace,Ada,file-login,roster-sid",
        ),
        ("Brightspace", "OrgDefinedId,Username", "roster-sid,roster-login"),
        (
            "Gradescope",
            "First Name,Last Name,SID,Email",
            "Ada,Lovelace,roster-sid,ada@x.edu",
        ),
    ],
)
def test_each_column_of_a_platform_has_its_own_fact(platform, headings, cells):
    marks = make_marks(platform, **{name: f"file-{name}" for name in OWN_FACTS})
    marks.students = {
        "al1": person("al1", "Lovelace", "Ada", "ada@x.edu", **ADA_OF_THE_ROSTER),
    }
    lines = format_platform_csv(marks, CSV_FORMATS[platform])[0].splitlines()
    assert lines[0].startswith(f"{headings},one")
    assert lines[-1].startswith(f"{cells},4.5")


@pytest.mark.parametrize(
    ("platform", "identifying_fields", "other_fields"),
    [
        ("Canvas", ("lms_id", "sid", "login"), ("email", "section", "brightspace")),
        ("Moodle", ("login", "sid", "email"), ("lms_id", "section", "brightspace")),
        ("Blackboard", ("login",), ("sid", "email", "lms_id")),
        ("Brightspace", ("sid", "login"), ("brightspace", "lms_id", "email")),
        ("Gradescope", ("sid", "email"), ("login", "lms_id", "section")),
    ],
)
def test_each_identifier_alone_is_enough_and_nothing_else_is(
    platform, identifying_fields, other_fields
):
    for name in (*identifying_fields, *other_fields):
        marks = make_marks()
        marks.students["al1"] = person("al1", "Lovelace", "Ada", **{name: "x"})
        text, omitted_count = format_platform_csv(marks, CSV_FORMATS[platform])
        identifies = name in identifying_fields
        assert bool(text) == identifies, name
        assert omitted_count == (1 if identifies else 2), name  # Eve has a mark, too


def test_canvas_s_row_of_points_begins_as_canvas_writes_it():
    text, _ = format_platform_csv(make_marks("Canvas", lms_id="1"), CSV_FORMATS["Canvas"])
    assert text.splitlines()[1] == "    Points Possible,,,10.0,4.0"


@pytest.mark.parametrize(
    ("platform", "last", "name", "expected"),
    [
        ("Gradescope", "", "", "Ada L. of Gradescope"),
        ("Gradescope", "", "Ada Byron", "Ada Byron"),
        ("Gradescope", "Lovelace", "Ada Byron", "Lovelace"),
        ("Moodle", "", "", ""),
    ],
)
def test_gradescope_s_own_name_fills_an_unknown_last_name(platform, last, name, expected):
    marks = make_marks(platform, name="Ada L. of Gradescope")
    marks.students["al1"] = person("al1", last, name=name, sid="7")
    (cells,) = table(format_platform_csv(marks, CSV_FORMATS["Gradescope"])[0])
    assert cells["Last Name"] == expected
