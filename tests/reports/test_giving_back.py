"""Feedback in the platforms' own forms, opened and read as each platform reads it."""

import re
import zipfile

import nbformat
import pytest
from made import EVIL, LAB, came_from, enrol, fill, results
from our_course import Silent, lab

from autograder.grading.marking import unmarkable
from autograder.grading.reports.feedback import write_feedback
from autograder.grading.reports.giving_back import write_returns

pytestmark = pytest.mark.filterwarnings("ignore")


def give_back(classroom, prepared, students, wrong=("softmax",)):
    fill(classroom, {s: results(s, wrong, message=f"Wrong. {EVIL}") for s in students}, gradebook=prepared)
    return again(classroom)


def again(classroom):
    assert not write_feedback(classroom, labs=[lab(LAB)], progress=Silent()).failed
    failed = []
    said = list(write_returns(classroom, [lab(LAB)], failed))
    assert not failed
    return said


def members(classroom, platform):
    with zipfile.ZipFile(classroom.root / "returned" / f"{LAB}-{platform}.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def moodles_reading(path):
    """Participant and file, by the rules of Moodle's assignfeedback_file_zip_importer."""
    parts = path.split("/")
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) < 4 or not info[1].isdecimal():
            continue
        assert info[2:4] == ["assignsubmission", "file"]
        return int(info[1]), "/".join([*info[4:], *parts])
    return None


def canvas_reading(name):
    """User and upload, by the rules of Canvas's infer_comment_context_from_filename."""
    parts = [part for part in name.split("_") if part != "LATE"]
    if parts[0] == "anon":
        return tuple(parts[1:3])
    return tuple([part for part in parts if re.fullmatch(r"\d+", part)][:2])


def test_moodle(classroom, prepared):
    came_from(classroom, "ada", "Moodle", name="Ada_May Lovelace", participant="1234")
    came_from(classroom, "bo", "Moodle", name="Participant", participant="1235")
    said = give_back(classroom, prepared, ["ada", "bo"])
    found = {moodles_reading(path): data for path, data in members(classroom, "moodle").items()}
    assert set(found) == {(1234, f"ada-{LAB}.html"), (1235, f"bo-{LAB}.html")}
    assert b"<h1>Queries, keys and values</h1>" in found[1234, f"ada-{LAB}.html"]
    assert said == [f"{classroom.root}/returned/{LAB}-moodle.zip: 2 pages."]


def test_who_has_left_gets_nothing_back(classroom, prepared):
    for student in ("ada", "bo"):
        came_from(classroom, student, "Moodle", name=student, participant=f"1{len(student)}")
    enrol(classroom, "Name,Login,Status\nAda,ada,\nBo,bo,Withdrawn\n")
    give_back(classroom, prepared, ["ada", "bo"])
    assert list(members(classroom, "moodle")) == [f"ada_13_assignsubmission_file/ada-{LAB}.html"]


def test_a_group_in_moodle_gets_one_file(classroom, prepared):
    for student in ("ada", "bo"):
        came_from(classroom, student, "Moodle", name="Red", participant="5", members=("ada", "bo"))
    give_back(classroom, prepared, ["ada", "bo"])
    assert [moodles_reading(path) for path in members(classroom, "moodle")] == [(5, f"Red-{LAB}.html")]


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
    give_back(classroom, prepared, ["ada", "anon_a"])
    found = {canvas_reading(name): data for name, data in members(classroom, "canvas").items()}
    assert set(found) == {("12345", "678901"), ("aB3xY", "678904")}
    notebook = nbformat.reads(found["12345", "678901"].decode(), as_version=4)
    nbformat.validate(notebook)
    first, *_ = notebook.cells
    assert "8 of 10 points so far" in first.source and "✗ `softmax`: not right yet, 0 of 2." in first.source
    text = nbformat.writes(notebook)
    assert "<script" not in text and "MARK SCHEME" not in text
    assert any(c.cell_type == "code" and "def stable_softmax" in c.source for c in notebook.cells)


def test_canvas_gets_a_word_on_a_file_that_cannot_be_read(classroom, prepared):
    came_from(classroom, "ada", "Canvas", original="a_1_2_", file="x.ipynb")
    fill(classroom, {"ada": unmarkable(lab(LAB), "The file is empty.", 3)}, gradebook=prepared)
    again(classroom)
    (data,) = members(classroom, "canvas").values()
    (cell,) = nbformat.reads(data.decode(), as_version=4).cells
    assert "**This file could not be marked.** The file is empty." in cell.source


def test_the_rest_in_a_folder_named_after_student_and_lab(classroom, prepared):
    came_from(classroom, "ada", "Blackboard", login="ada")
    said = give_back(classroom, prepared, ["ada", "bo"])
    folder = classroom.root / "returned" / LAB
    assert sorted(p.name for p in folder.iterdir()) == [f"ada-{LAB}.html", f"bo-{LAB}.html"]
    assert said == [f"{folder}: 2 pages."]


def test_the_same_pages_make_the_same_zip(classroom, prepared):
    came_from(classroom, "ada", "Moodle", name="Ada L", participant="1")
    give_back(classroom, prepared, ["ada"])
    path = classroom.root / "returned" / f"{LAB}-moodle.zip"
    before = path.read_bytes()
    again(classroom)
    assert path.read_bytes() == before


def test_one_page_that_cannot_be_given_back_is_nobody_elses(classroom, prepared):
    """A name of 255 letters, and an executed notebook that is gone: each ended the command for all."""
    long = "x" * 255
    for student in ("ada", "bo"):
        came_from(classroom, student, "Canvas", original=f"{student}_1_2_", file="x.ipynb")
    fill(classroom, {s: results(s) for s in ("ada", "bo", "cy", long)}, gradebook=prepared)
    assert not write_feedback(classroom, labs=[lab(LAB)], progress=Silent()).failed
    classroom.notebook_path("ada", LAB).unlink()
    failed = []
    said = list(write_returns(classroom, [lab(LAB)], failed))
    assert [line.split(": ")[-1] for line in said] == ["2 pages.", "2 pages."]
    names = [path.name for path in (classroom.root / "returned" / LAB).iterdir()]
    assert f"cy-{LAB}.html" in names and len(names) == 2
    assert set(members(classroom, "canvas")) == {"ada_1_2_x.ipynb", "bo_1_2_x.ipynb"}, (
        "ada's without the answers"
    )
    assert not failed
    (classroom.feedback / "cy" / LAB / f"{LAB}.html").unlink()
    (classroom.feedback / "cy" / LAB / f"{LAB}.html").mkdir()
    said = list(write_returns(classroom, [lab(LAB)], failed))
    assert [one.split(":")[0] for one in failed] == [f"cy, {LAB}"]
    assert [line.split(": ")[-1] for line in said] == ["2 pages.", "1 page."]


def test_a_notebook_given_back_is_made_within_limits(classroom, prepared, monkeypatch, workers):
    from autograder.grading.reports import giving_back

    came_from(classroom, "ada", "Canvas", original="a_1_2_", file="x.ipynb")
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    assert not write_feedback(classroom, labs=[lab(LAB)], progress=Silent()).failed
    monkeypatch.setattr(giving_back, "SECONDS", -1)
    failed = []
    assert list(write_returns(classroom, [lab(LAB)], failed)) == []
    assert failed == [f"ada, {LAB}: takes more than -1 seconds"]
