"""The class in one page: content, safety and pseudonyms."""

import html
import re
import shutil
from base64 import b64encode
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import pytest
from graded_class import (
    EVIL,
    LAB,
    by_hand,
    came_from,
    enrol,
    fill,
    reported,
    results,
    table,
    well_formed,
    with_policy,
)
from our_course import COURSE, lab

from autograder.core.errors import AutograderError, UsageError
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.nbgrader_db import GradebookError
from autograder.reports import class_page
from autograder.reports.class_page import _make_classroom_option, write_report
from autograder.reports.pseudonyms import assign_pseudonyms
from autograder.reports.terminal import MAX_MATCHES_SHOWN, describe_student

# nbgrader and SQLAlchemy raise deprecation warnings in their own code.
pytestmark = pytest.mark.filterwarnings("ignore")


def read_page(classroom):
    return reported(classroom)


@pytest.fixture
def page(classroom):
    evil = "it's “" + EVIL + "” & more"
    fill(
        classroom,
        {
            EVIL.replace("/", ""): results("x", ["softmax"], message=evil, notes=[evil]),
            "ada": results("ada", list(lab(LAB).exercises)),
        },
    )
    (classroom.submitted / "grace" / LAB).mkdir(parents=True)
    return read_page(classroom)


def test_it_is_well_formed(page):
    parser = well_formed(page)
    tags = [tag for tag, _ in parser.tags]
    assert {"main", "nav", "header", "footer", "figure", "caption"} <= set(tags)
    assert tags.count("h1") == 1
    for tag, attrs in parser.tags:
        if tag == "th":
            assert attrs["scope"] in {"col", "row"}
        if tag == "svg":
            assert attrs.get("role") == "img" or attrs.get("aria-hidden") == "true"


def test_it_fetches_nothing_and_runs_one_script(page):
    tags = well_formed(page).tags
    assert not {"iframe", "img", "link", "object"} & {tag for tag, _ in tags}
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)  # ours, and no other may run
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = next(a["content"] for _, a in tags if a.get("http-equiv") == "Content-Security-Policy")
    assert f"script-src 'sha256-{digest}'" in policy.split("; ")
    assert policy.startswith("default-src 'none'; ") and "http" not in policy
    assert not re.search(r"https?://", page)
    assert not any(key.startswith("on") or key == "src" for _, attrs in tags for key in attrs)


def test_names_messages_and_notes_are_escaped(page):
    assert page.count("<script") == 1 and "&lt;script&gt;" in page


def test_submissions_without_a_result_are_listed(page):
    table_html = page[page.index("Submitted, but without a result") :]
    assert "grace" in table_html[: table_html.index("</table>")]


def test_it_says_that_there_is_no_gradebook(page):
    assert "There is no gradebook" in page


def test_a_report_on_nothing_is_a_sentence_and_nothing_is_made(classroom):
    (classroom.submitted / "ada" / LAB).mkdir(parents=True)
    files = sorted(classroom.root.rglob("*"))
    with pytest.raises(AutograderError, match=r"Nothing is graded .* run `autograder grade`"):
        write_report(classroom)
    assert sorted(classroom.root.rglob("*")) == files


def test_one_student(classroom):
    fill(classroom, {"ada": results("ada", ["softmax"])})
    page = read_page(classroom)
    well_formed(page)
    assert "ada" in page


def test_a_damaged_result_is_listed(classroom):
    fill(classroom, {"ada": results("ada")})
    (classroom.results / "bob").mkdir()
    (classroom.submitted / "bob" / LAB).mkdir(parents=True)
    (classroom.results / "bob" / f"{LAB}.json").write_text('{"rows": [')
    page = read_page(classroom)
    assert "A result that cannot be read (1)" in page


def test_damaged_results_are_listed_by_pseudonym_without_the_names(classroom):
    """They have no mark, so only the folder of submissions names their students."""
    fill(classroom, {"ada": results("ada")})
    for name in ("zoe", "bob"):
        (classroom.results / name).mkdir()
        (classroom.submitted / name / LAB).mkdir(parents=True)
        (classroom.results / name / f"{LAB}.json").write_text('{"rows": [')
    report = class_page.build_report(classroom)
    assert report.unreadable_results == [("bob", LAB), ("zoe", LAB)]
    assert list(report.marks.marks) == [("ada", LAB)]
    write_report(classroom, anonymous=True)
    page = (classroom.report / "index.html").read_text("utf-8")
    assert "A result that cannot be read (2)" in page and not re.search("bob|zoe", page)


def test_a_gradebook_that_is_named_must_be_there(classroom, tmp_path):
    fill(classroom, {"ada": results("ada")})
    elsewhere = Classroom(classroom.root, classroom.course, f"sqlite:///{tmp_path}/none.db")
    with pytest.raises(GradebookError, match="no such file"):
        write_report(elsewhere)


def test_no_name_in_any_file(classroom, prepared):
    names = ["lovelace", "hopperson", "turingman"]
    fill(
        classroom,
        {
            name: results(
                name,
                ["softmax"],
                message=f"Your function raised ValueError: {name} was here",
                notes=[
                    f"The file was called 'final {name}.ipynb'; it was taken as {LAB}.ipynb.",
                    f"{name} 2.ipynb is not an ordinary file.",
                    f"Something nobody foresaw about {name.upper()}.",
                ],
                answer=f"{name} " + "says the very same long sentence about attention weights " * 9,
            )
            for name in names
        },
        gradebook=prepared,
    )
    enrol(classroom, "Login,First name,Last name\nlovelace,Lovelace,Turingman\n")
    came_from(classroom, "lovelace", "Moodle", name="Hopperson", participant="7")
    write_report(classroom, anonymous=True)
    for path in filter(Path.is_file, classroom.report.rglob("*")):
        assert not re.search("|".join(names), path.read_text("utf-8"), re.IGNORECASE), path
    assert {path.name for path in classroom.report.iterdir()} == {
        "index.html",
        "grades.csv",
        "students",
    }
    assert not re.search("|".join(names), " ".join(map(str, classroom.report.rglob("*"))))
    order = [r["student_id"] for r in table((classroom.report / "grades.csv").read_text())]
    assert order == sorted(order)  # the order of the real names would tell
    mapping = table((classroom.root / "pseudonyms.csv").read_text())
    pseudonym_by_student = {r["student_id"]: r["pseudonym"] for r in mapping}
    assert {name.removeprefix("'") for name in pseudonym_by_student} == set(names)
    page = (classroom.report / "index.html").read_text("utf-8")
    assert all(pseudonym in page for pseudonym in pseudonym_by_student.values())


def test_pseudonyms_stay_when_the_class_grows(tmp_path):
    first = assign_pseudonyms(["ada", "=1+1"], tmp_path)
    second = assign_pseudonyms(["=1+1", "bob", "ada"], tmp_path)
    assert {name: second[name] for name in first} == first
    assert len(set(second.values())) == 3
    assign_pseudonyms(["ada"], tmp_path)  # of one student, or while others have withdrawn
    assert assign_pseudonyms(["=1+1", "bob", "ada"], tmp_path) == second
    assert (tmp_path / "pseudonyms.csv").stat().st_mode & 0o077 == 0


def test_a_list_of_pseudonyms_that_cannot_be_read_is_kept(tmp_path):
    path = tmp_path / "pseudonyms.csv"
    content = "pseudonym,student_id\nstudent-007,jos\u00e9\n".encode("cp1252")
    path.write_bytes(content)
    with pytest.raises(AutograderError, match=r"is not a text in UTF-8. Restore it, or delete it"):
        assign_pseudonyms(["ada"], tmp_path)
    assert path.read_bytes() == content


def test_another_classroom_has_different_pseudonyms(tmp_path):
    first, second = (assign_pseudonyms(map(str, range(20)), tmp_path / name) for name in "ab")
    assert first != second


def test_many_students_have_different_pseudonyms(tmp_path):
    pseudonyms = assign_pseudonyms((f"s{i}" for i in range(3000)), tmp_path)
    assert len(set(pseudonyms.values())) == 3000


def test_students_their_marks_and_the_way_to_their_pages(classroom, prepared):
    enrol(classroom, "Login,First name,Last name\nada,Ada,Lovelace\nzoe,Zoë,Adams\n")
    fill(classroom, {"ada": results("ada", ["softmax"])}, gradebook=prepared)
    page = classroom.feedback / "ada" / LAB / f"{LAB}.html"
    page.parent.mkdir(parents=True)
    page.write_text("page")
    text = read_page(classroom)
    well_formed(text)
    table_html = text[text.index('id="students-table"') :]
    table_html = table_html[: table_html.index("</table>")]
    assert table_html.index("Zoë Adams (zoe)") < table_html.index(
        "Ada Lovelace (ada)"
    )  # by last name
    assert f'<a href="../feedback/ada/{LAB}/{LAB}.html">8 + ?</a>' in table_html
    needs = text[text.index('id="needs"') :]
    assert "Zoë Adams (zoe)</th><td>Has submitted nothing at all." in needs


def test_a_students_address_cannot_leave_the_folder(classroom):
    odd = 'a"b#c'
    fill(classroom, {odd: results(odd)})
    page = classroom.feedback / odd / LAB / f"{LAB}.html"
    page.parent.mkdir(parents=True)
    page.write_text("page")
    assert f'href="../feedback/a%22b%23c/{LAB}/{LAB}.html"' in read_page(classroom)


def test_sentences_for_students_are_quoted(classroom):
    misconception = lab(LAB).exercises["softmax"].misconceptions[0]
    fill(classroom, {"ada": results("ada", ["softmax"], misconception=misconception.name)})
    text = read_page(classroom)
    table_of = text[text.index('id="held"') :]
    assert f"<strong>{misconception.name}</strong>" in table_of
    assert "“" + misconception.means.split("`")[0].split("'")[0][:20] in table_of


def test_due_dates_and_what_lateness_costs(classroom, prepared):
    with_policy(
        classroom,
        {"timezone": "Europe/Paris", "penalty_per_day": 0.1, "grace": 10},
        due=datetime(2026, 1, 2, 18),
    )
    enrol(classroom, "Login,Extension\nada,\nbo,2 days\n")
    submissions = {name: results(name) for name in ("ada", "bo")}
    fill(classroom, submissions, gradebook=prepared, timestamp="2026-01-03 18:00:00 UTC")
    text = read_page(classroom)
    assert "Friday" not in text and "Fri 2 January 2026, 18:00 CET" in text
    assert "takes off 10 % of the points; 10 minutes late is in time." in text
    late = text[text.index('id="late-table"') :]
    late = late[: late.index("</table>")]
    assert "ada" in late and "1 d 1 h" in late and ">bo<" not in late
    assert "2 d 0 h" in text[text.index('id="extended"') :]


def test_marks_that_await_manual_grading_are_counted(classroom, prepared):
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    sentences = "\n".join(write_report(classroom))
    assert "1 grade awaits manual grading, and is left empty in the tables." in sentences
    by_hand(classroom, "ada", 2)
    assert "manual grading" not in "\n".join(write_report(classroom))


def test_the_command_for_manual_grading_names_the_classroom(tmp_path, prepared, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder, option in (("my class", " --classroom 'my class'"), ("demo", " --classroom demo")):
        classroom = Classroom(Path(folder), COURSE)
        fill(classroom, {"ada": results("ada")}, gradebook=prepared)
        page = html.unescape(reported(classroom))
        assert f"autograder answers {LAB} explain-flat{option}</code>" in page
    assert _make_classroom_option(Classroom(COURSE.root / "classroom", COURSE)) == ""


def test_the_table_of_a_platform_that_is_not_used_any_more_is_deleted(classroom):
    fill(classroom, {"ada": results("ada")})
    came_from(classroom, "ada", "Canvas", lms_id="12")
    write_report(classroom)
    assert (classroom.report / "canvas.csv").exists()
    came_from(classroom, "ada", "folder")
    write_report(classroom)
    assert not (classroom.report / "canvas.csv").exists()


def test_a_large_class_has_sections_its_frequent_mistakes_first_and_a_page_for_each(classroom):
    names = [f"s{i:02}" for i in range(30)]
    enrol(
        classroom, "Login,Section\n" + "".join(f"{s},{'AB'[i % 2]}\n" for i, s in enumerate(names))
    )
    misconceptions = [
        m.name for e in ("softmax", "stable_softmax") for m in lab(LAB).exercises[e].misconceptions
    ]
    misconceptions = list(dict.fromkeys(misconceptions))
    assert len(misconceptions) > 16
    mistakes = {
        s: ("softmax", misconceptions[0] if i < 5 else misconceptions[i % len(misconceptions)])
        for i, s in enumerate(names)
    }
    fill(classroom, {s: results(s, [e], misconception=m) for s, (e, m) in mistakes.items()})
    text = read_page(classroom)
    well_formed(text)
    start, rest_start = text.index('id="held"'), text.index('id="held-rest"')
    assert text[start:rest_start].count("<tr><td") == 12 and "The other" in text[start:rest_start]
    assert f"<strong>{misconceptions[0]}</strong>" in text[start : start + 2500]
    sections = text[text.index('id="sections"') :]
    assert '<th scope="row">A</th><td class="n">15</td><td class="n">15</td>' in sections
    table_of = text[text.index('id="students-table"') :]
    assert table_of.index("Per cent<br>so far") < table_of.index(
        LAB.split("-")[0]
    )  # the total beside the name
    assert '<a href="students/s07.html">s07</a>' in table_of
    page = (classroom.report / "students" / "s07.html").read_text("utf-8")
    well_formed(page)
    assert mistakes["s07"][1] in page and "awaiting manual grading" in page


def test_ungraded_and_interrupted_submissions_are_listed(classroom, prepared):
    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared)
    receipt = classroom.result_path("bo", LAB).with_suffix(".recorded")
    receipt.write_text(receipt.read_text().replace('"stamp": "', '"stamp": "", "was": "'))
    receipt.write_text(re.sub(r', "was": "[^"]*"', "", receipt.read_text()))
    (classroom.submitted / "cy" / LAB).mkdir(parents=True)
    text = read_page(classroom)
    rows = {
        r["student_id"]: r["state"] for r in table((classroom.report / "grades.csv").read_text())
    }
    assert rows == {"ada": "awaiting manual grading", "bo": "interrupted"}
    assert "Interrupted (1)" in text and "<dt>awaiting grading</dt><dd>1</dd>" in text


def test_times_are_told_in_the_courses_zone(classroom, monkeypatch):
    with_policy(classroom, {"timezone": "Asia/Tokyo"})
    fill(classroom, {"ada": results("ada")})
    assert re.search(r"Generated on [^<]* JST\.", read_page(classroom))


def test_within_the_grace_is_in_time(classroom, prepared):
    with_policy(classroom, {"grace": 10}, due=datetime(2026, 1, 2, 18))
    fill(
        classroom, {"ada": results("ada")}, gradebook=prepared, timestamp="2026-01-02 18:09:00 UTC"
    )
    assert "Nothing was late." in read_page(classroom)


def test_one_student_in_the_terminal(classroom, prepared):
    with_policy(classroom, {"timezone": "Europe/Paris"}, points={"softmax": 3})
    enrol(classroom, "Login,First name,Last name\nada,Ada,Lovelace\n")
    submissions = {"ada": results("ada"), "bo": results("bo")}
    fill(classroom, submissions, gradebook=prepared, timestamp="2026-01-02 18:00:00 UTC")
    for name in ("ada", "ada lovelace"):
        text = describe_student(classroom, name, [lab(LAB)])
        assert "submitted Fri 2 January 2026, 19:00 CET" in text
        assert re.search(r"✓ softmax +3 of 3  pass", text)  # today's points, and today's marks
    (classroom.submitted / "cy" / LAB).mkdir(parents=True)
    assert "cy, qkv-attention: awaiting grading;" in describe_student(classroom, "cy", [lab(LAB)])
    with pytest.raises(UsageError, match="no submission of 'zoe'"):
        describe_student(classroom, "zoe", [lab(LAB)])


def test_the_beginning_of_a_name_is_enough_in_the_terminal(classroom, prepared):
    names = ["al17", "amélie", *(f"bo.{n}" for n in range(MAX_MATCHES_SHOWN + 1))]
    others = "".join(f"{name},Person,{name}\n" for name in names[1:])
    enrol(classroom, f"Login,First name,Last name\nal17,Ada,Lovelace\n{others}")
    fill(classroom, {name: results(name) for name in names}, gradebook=prepared)
    for beginning, folder in (
        ("ada", "al17"),
        ("AL", "al17"),
        ("amelie", "amélie"),
        ("bo.3", "bo.3"),
    ):
        assert describe_student(classroom, beginning, [lab(LAB)]).startswith(f"{folder}, {LAB}")
    with pytest.raises(
        UsageError, match=r"'a' may be 'al17' or 'amélie'\. Name one of these folders"
    ):
        describe_student(classroom, "a", [lab(LAB)])
    with pytest.raises(UsageError) as error:
        describe_student(classroom, "bo", [lab(LAB)])
    assert str(error.value).count("'bo.") == MAX_MATCHES_SHOWN and "or others." in str(error.value)
    with pytest.raises(UsageError, match="no submission of ''"):
        describe_student(classroom, "", [lab(LAB)])


def test_a_report_replaces_the_last_one_and_says_what_is_odd(classroom, monkeypatch):
    """Pages of students who have left, and results of labs that the course has no more, stay out."""
    enrol(classroom, "Login,Name\nada,Ada L\n")
    fill(classroom, {"ada": results("ada")})
    shutil.copytree(classroom.results / "ada", classroom.results / "bo")
    old_result = classroom.results / "bo" / f"{LAB}.json"
    old_result.rename(old_result.with_name("an-old-lab.json"))
    (classroom.submitted / "bo" / "an-old-lab").mkdir(parents=True)
    (classroom.report / "students").mkdir(parents=True)
    for name in ("students/gone.html", "canvas.csv"):
        (classroom.report / name).write_text("of last week")
    read_fresh_marks = class_page.refresh_and_read_marks

    def read_marks_with_note(*arguments):
        marks = read_fresh_marks(*arguments)
        marks.class_list = replace(marks.class_list, notes=("Two folders are Ada's.",))
        marks.request_notes = ["A request is nobody's."]
        return marks

    monkeypatch.setattr(class_page, "refresh_and_read_marks", read_marks_with_note)
    monkeypatch.setattr(
        class_page, "describe_ungraded_attempts", lambda *arguments: ["An attempt is not graded."]
    )
    common = ["A request is nobody's.", "An attempt is not graded."]
    tables, *sentences = write_report(classroom, platforms=["Moodle"])
    assert tables == "Tables of marks beside it: grades.csv, moodle.csv."
    assert sentences[-3:] == [common[0], "Two folders are Ada's.", common[1]]
    files = {
        path.relative_to(classroom.report).as_posix() for path in classroom.report.rglob("*.*")
    }
    assert files == {"index.html", "grades.csv", "moodle.csv", "students/ada.html"}
    rows = table((classroom.report / "grades.csv").read_text())
    assert {(r["student_id"], r["assignment"]) for r in rows} == {("ada", LAB)}
    _, *sentences = write_report(classroom, anonymous=True)
    assert sentences[-1] == common[1] and common[0] not in sentences
    assert "Two folders are Ada's." not in sentences, "it has a name in it"
