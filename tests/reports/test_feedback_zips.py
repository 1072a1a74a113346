"""Feedback archives, read as each platform reads them."""

import re
import zipfile

import nbformat
import pytest
from graded_class import EVIL, LAB, came_from, enrol, fill, results
from our_course import Silent, lab

from autograder.grading.grade_submission import grade_unreadable_submission
from autograder.reports import feedback_zips
from autograder.reports.feedback_pages import write_feedback_pages
from autograder.reports.feedback_zips import write_feedback_archives

pytestmark = pytest.mark.filterwarnings("ignore")


def grade_and_write_archives(classroom, prepared, students, wrong=("softmax",)):
    fill(
        classroom,
        {s: results(s, wrong, message=f"Wrong. {EVIL}") for s in students},
        gradebook=prepared,
    )
    return write_archives(classroom)


def write_archives(classroom):
    assert not write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent()).failures
    failures = []
    lines = list(write_feedback_archives(classroom, [lab(LAB)], failures))
    assert not failures
    return lines


def members(classroom, platform):
    with zipfile.ZipFile(classroom.root / "returned" / f"{LAB}-{platform}.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def moodles_reading(path):
    """Return participant and file, by the rules of Moodle's assignfeedback_file_zip_importer."""
    parts = path.split("/")
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) < 4 or not info[1].isdecimal():
            continue
        assert info[2:4] == ["assignsubmission", "file"]
        return int(info[1]), "/".join([*info[4:], *parts])
    return None


def canvas_reading(name):
    """Return user and upload, by the rules of Canvas's infer_comment_context_from_filename."""
    parts = [part for part in name.split("_") if part != "LATE"]
    if parts[0] == "anon":
        return tuple(parts[1:3])
    return tuple([part for part in parts if re.fullmatch(r"\d+", part)][:2])


def test_moodle(classroom, prepared):
    came_from(classroom, "ada", "Moodle", name="Ada_May Lovelace", participant="1234")
    came_from(classroom, "bo", "Moodle", name="Participant", participant="1235")
    lines = grade_and_write_archives(classroom, prepared, ["ada", "bo"])
    files = {moodles_reading(path): data for path, data in members(classroom, "moodle").items()}
    assert set(files) == {(1234, f"ada-{LAB}.html"), (1235, f"bo-{LAB}.html")}
    assert b"<h1>Queries, keys and values</h1>" in files[1234, f"ada-{LAB}.html"]
    assert lines == [f"{classroom.root}/returned/{LAB}-moodle.zip: 2 pages."]


def test_withdrawn_students_get_no_feedback_file(classroom, prepared):
    for student in ("ada", "bo"):
        came_from(classroom, student, "Moodle", name=student, participant=f"1{len(student)}")
    enrol(classroom, "Name,Login,Status\nAda,ada,\nBo,bo,Withdrawn\n")
    grade_and_write_archives(classroom, prepared, ["ada", "bo"])
    assert list(members(classroom, "moodle")) == [f"ada_13_assignsubmission_file/ada-{LAB}.html"]


def test_a_group_in_moodle_gets_one_file(classroom, prepared):
    for student in ("ada", "bo"):
        came_from(classroom, student, "Moodle", name="Red", participant="5", members=("ada", "bo"))
    grade_and_write_archives(classroom, prepared, ["ada", "bo"])
    assert [moodles_reading(path) for path in members(classroom, "moodle")] == [
        (5, f"Red-{LAB}.html")
    ]


def test_canvas(classroom, prepared):
    came_from(
        classroom,
        "ada",
        "Canvas",
        lms_id="12345",
        original="lovelaceada_LATE_12345_678901_",
        file="my_lab_2.ipynb",
    )
    came_from(classroom, "anon_a", "Canvas", original="anon_aB3xY_678904_", file="x.ipynb")
    grade_and_write_archives(classroom, prepared, ["ada", "anon_a"])
    files = {canvas_reading(name): data for name, data in members(classroom, "canvas").items()}
    assert set(files) == {("12345", "678901"), ("aB3xY", "678904")}
    notebook = nbformat.reads(files["12345", "678901"].decode(), as_version=4)
    nbformat.validate(notebook)
    first, *_ = notebook.cells
    assert (
        "8 of 10 points so far" in first.source
        and "✗ `softmax`: not right yet, 0 of 2." in first.source
    )
    text = nbformat.writes(notebook)
    assert "<script" not in text and "MARK SCHEME" not in text
    assert any(c.cell_type == "code" and "def stable_softmax" in c.source for c in notebook.cells)


def test_canvas_gets_a_word_on_a_file_that_cannot_be_read(classroom, prepared):
    came_from(classroom, "ada", "Canvas", original="a_1_2_", file="x.ipynb")
    fill(
        classroom,
        {"ada": grade_unreadable_submission(lab(LAB), "The file is empty.", 3)},
        gradebook=prepared,
    )
    write_archives(classroom)
    (data,) = members(classroom, "canvas").values()
    (cell,) = nbformat.reads(data.decode(), as_version=4).cells
    assert "**This file could not be marked.** The file is empty." in cell.source


def test_other_platforms_pages_are_in_a_folder(classroom, prepared):
    came_from(classroom, "ada", "Blackboard", login="ada")
    lines = grade_and_write_archives(classroom, prepared, ["ada", "bo"])
    folder = classroom.root / "returned" / LAB
    assert sorted(p.name for p in folder.iterdir()) == [f"ada-{LAB}.html", f"bo-{LAB}.html"]
    assert lines == [f"{folder}: 2 pages."]


def test_the_same_pages_make_the_same_zip(classroom, prepared):
    came_from(classroom, "ada", "Moodle", name="Ada L", participant="1")
    grade_and_write_archives(classroom, prepared, ["ada"])
    path = classroom.root / "returned" / f"{LAB}-moodle.zip"
    content = path.read_bytes()
    write_archives(classroom)
    assert path.read_bytes() == content


def test_a_zip_without_pages_any_more_is_deleted(classroom, prepared):
    """Otherwise last week's pages would be uploaded again."""
    came_from(classroom, "ada", "Moodle", name="Ada Lovelace", participant="1234")
    grade_and_write_archives(classroom, prepared, ["ada"])
    archive = classroom.root / "returned" / f"{LAB}-moodle.zip"
    assert archive.exists()
    came_from(classroom, "ada", "folder")
    write_archives(classroom)
    assert not archive.exists()


def test_one_page_that_fails_does_not_affect_the_others(classroom, prepared, monkeypatch):
    """A name of 255 letters, or a missing graded notebook, once ended the command for all."""
    long_name = "x" * 255
    for student in ("ada", "bo"):
        came_from(classroom, student, "Canvas", original=f"{student}_1_2_", file="x.ipynb")
    fill(classroom, {s: results(s) for s in ("ada", "bo", "cy", long_name)}, gradebook=prepared)
    assert not write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent()).failures
    classroom.notebook_path("ada", LAB).unlink()
    failures = []
    lines = list(write_feedback_archives(classroom, [lab(LAB)], failures))
    assert [line.split(": ")[-1] for line in lines] == ["2 pages.", "2 pages."]
    names = [path.name for path in (classroom.root / "returned" / LAB).iterdir()]
    assert f"cy-{LAB}.html" in names and len(names) == 2
    assert set(members(classroom, "canvas")) == {"ada_1_2_x.ipynb", "bo_1_2_x.ipynb"}, (
        "ada's without the answers"
    )
    assert not failures
    (classroom.feedback / "cy" / LAB / f"{LAB}.html").unlink()
    (classroom.feedback / "cy" / LAB / f"{LAB}.html").mkdir()
    lines = list(write_feedback_archives(classroom, [lab(LAB)], failures))
    assert [failure.split(":")[0] for failure in failures] == [f"cy, {LAB}"]
    assert [line.split(": ")[-1] for line in lines] == ["2 pages.", "1 page."]
    monkeypatch.setattr(feedback_zips, "MAX_FAILURE_CHARACTERS", 10)
    list(write_feedback_archives(classroom, [lab(LAB)], failures))
    assert failures[1] == failures[0][:10]


@pytest.mark.long
def test_a_feedback_notebook_is_rendered_within_limits(classroom, prepared, monkeypatch, workers):
    came_from(classroom, "ada", "Canvas", original="a_1_2_", file="x.ipynb")
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    assert not write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent()).failures
    monkeypatch.setattr(feedback_zips, "MAX_PAGE_SECONDS", -1)
    failures = []
    assert list(write_feedback_archives(classroom, [lab(LAB)], failures)) == []
    assert failures == [f"ada, {LAB}: takes more than -1 seconds"]
    monkeypatch.setattr(feedback_zips, "MAX_FAILURE_CHARACTERS", 10)
    assert list(write_feedback_archives(classroom, [lab(LAB)], failures)) == []
    assert failures[1] == failures[0][:10]


def test_last_week_s_pages_are_in_no_folder_of_this_week(classroom, prepared):
    folder = classroom.root / "returned" / LAB
    folder.mkdir(parents=True)
    (folder / f"gone-{LAB}.html").write_text("of last week")
    assert grade_and_write_archives(classroom, prepared, ["ada"]) == [f"{folder}: 1 page."]
    assert [path.name for path in folder.iterdir()] == [f"ada-{LAB}.html"]
