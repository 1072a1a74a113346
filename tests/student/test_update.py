"""Copies older than the course's text: `start` lists them, `update` keeps what students wrote."""

import json
import random
import shutil

import nbformat
import pytest
from command import autograder
from our_course import ROOT

from autograder.core.course import read_course
from autograder.student import update, workspace

LAB = "additive-attention"


@pytest.fixture
def course(tmp_path):
    """A course of one lab, and a student's folder with a copy of it."""
    course_root = tmp_path / "course"
    (course_root / "notebooks").mkdir(parents=True)
    (course_root / "course.toml").write_text(
        f'title = "Attention"\nid = "attention"\nlabs = ["{LAB}"]\n',
    )
    shutil.copytree(ROOT / "notebooks" / LAB, course_root / "notebooks" / LAB)
    assert run_command(course_root, "start", "work") == "1 lab copied to work.\n"
    return read_course(course_root)


def run_command(folder, *command):
    result = autograder(*command, cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def edit_cells(path, **sources):
    """Replace sources of a notebook's cells, by ids with _ for -; return all sources."""
    notebook = nbformat.read(path, as_version=4)
    cells = {cell.id: cell for cell in notebook.cells}
    for name, source in sources.items():
        cells[name.replace("_", "-")].source = source
    nbformat.write(notebook, path)
    return {name: cell.source for name, cell in cells.items()}


def cell_ids(path):
    return [cell.id for cell in nbformat.read(path, as_version=4).cells]


def test_a_newer_text_is_named_and_taken_over_without_losing_a_word(course):
    copy, course_notebook = (
        course.root / "work" / LAB / f"{LAB}.ipynb",
        course.released_notebook_path(LAB),
    )
    original_sources = {cell.id: cell.source for cell in nbformat.read(copy, as_version=4).cells}
    answer = "def alignment(*any):\n    return 'mine'"
    edit_cells(
        copy,
        alignment=answer,
        move="A note of mine.",
        setup=original_sources["setup"] + "\nMINE = 1",
    )
    notebook = nbformat.read(copy, as_version=4)
    own_cell = nbformat.v4.new_code_cell("my_own = 3", id="my-own")
    notebook.cells.insert(cell_ids(copy).index("alignment") + 1, own_cell)
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("To do: read this.", id="my-first"))
    notebook.cells.append(
        nbformat.v4.new_code_cell(answer.replace("mine", "a second try"), id="again"),
    )
    notebook.cells[-1].metadata = notebook.cells[cell_ids(copy).index("alignment") + 1].metadata
    nbformat.write(notebook, copy)
    assert run_command(course.root, "start", "work") == "work has all the labs already.\n"

    new_sources = {
        "move": original_sources["move"] + "\n\nMore.",
        "attention": original_sources["attention"] + "\n# new stub",
        "alignment": original_sources["alignment"] + "\n# new stub",
        "repeat-idea": "### Another title\n\nAnother idea.",
    }
    edit_cells(course_notebook, **new_sources)
    notebook = nbformat.read(course_notebook, as_version=4)
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell("Something new.", id="news"))
    nbformat.write(notebook, course_notebook)

    output = run_command(course.root, "start", "work")
    line = output.splitlines()[1]
    assert line.startswith(
        f"{LAB}: your copy is older than the course's text, which has changed in “",
    )
    assert "“Another title”" in line or "other place" in line
    assert line.endswith(
        f"`autograder update work/{LAB}/{LAB}.ipynb` takes it over; your answers stay.",
    )
    page = (course.root / "work" / "README.ipynb").read_text()
    assert "(there is a newer text)" in page
    old_bytes = copy.read_bytes()
    output = run_command(course.root, "update", copy)
    (backup,) = copy.parent.glob("*.before-update-*.ipynb")
    assert backup.read_bytes() == old_bytes
    assert output.endswith(f"Your version is kept in {backup}.\n")

    nbformat.validate(nbformat.read(copy, as_version=4))
    sources = {cell.id: cell.source for cell in nbformat.read(copy, as_version=4).cells}
    assert sources["alignment"] == answer
    assert sources["setup"].endswith("MINE = 1")
    assert {name: sources[name] for name in new_sources if name != "alignment"} == {
        name: source for name, source in new_sources.items() if name != "alignment"
    }
    order = cell_ids(copy)
    assert order[:3] == ["my-first", "title", "news"]
    assert order[order.index("alignment") + 1] == "my-own"
    raw = nbformat.read(copy, as_version=4).cells[order.index("move") + 1]
    assert (raw.cell_type, raw.source.endswith("A note of mine.")) == ("raw", True)
    assert any("a second try" in source for source in sources.values())

    assert run_command(course.root, "update", copy) == f"{LAB}: your copy is up to date.\n"
    assert run_command(course.root, "start", "work") == "work has all the labs already.\n"
    assert "newer text" not in (course.root / "work" / "README.ipynb").read_text()


def test_an_older_folder_without_a_record_keeps_its_answers(course):
    copy, course_notebook = (
        course.root / "work" / LAB / f"{LAB}.ipynb",
        course.released_notebook_path(LAB),
    )
    shutil.rmtree(course.root / "work" / update.HANDED_OUT_FOLDER)
    edit_cells(copy, alignment="mine")
    assert update.find_sections_changed_by_course(copy, course_notebook) == [], (
        "an answer is no change of the course's"
    )
    edit_cells(course_notebook, move="### Moved\n\nAnother text.")
    assert "“Moved”" in run_command(course.root, "start", "work")
    run_command(course.root, "update", copy)
    sources = edit_cells(copy)
    assert (sources["alignment"], sources["move"]) == ("mine", "### Moved\n\nAnother text.")
    assert (
        course.root / "work" / update.HANDED_OUT_FOLDER / f"{LAB}.ipynb"
    ).read_bytes() == course_notebook.read_bytes()


def test_everything_a_student_wrote_is_in_the_updated_lab():
    """Student and course change, add, move, remove and double cells at random."""

    def cell(name, source, answer):
        metadata = {"nbgrader": {"grade_id": name, "solution": True}} if answer else {}
        return {
            "cell_type": "code",
            "id": name,
            "metadata": metadata,
            "source": source,
            "outputs": [],
        }

    for seed in range(300):
        rng = random.Random(seed)
        old = [cell(f"c{i}", f"text {i}", i % 3 == 0) for i in range(8)]
        new = [dict(c) for c in old]
        for c in new:
            if rng.random() < 0.4:
                c["source"] += " new"
        new = [c for c in new if rng.random() < 0.85]
        new.insert(rng.randrange(len(new) + 1), cell("added", "the course's", False))
        student_cells, student_texts = [], []
        for c in old:
            kind = rng.choice(["same", "same", "changed", "gone", "doubled", "own"])
            student_texts.append(f"written {seed} {c['id']}")
            if kind in ("changed", "doubled"):
                student_cells.append({**c, "source": student_texts[-1]})
            if kind in ("same", "doubled", "own"):
                student_cells.append(dict(c))
            if kind == "own":
                student_cells.append(cell(f"own-{c['id']}", student_texts[-1], False))
            if kind in ("same", "gone"):
                student_texts.pop()
        rng.shuffle(student_cells)
        merged_cells = update.merge_update(
            {"cells": student_cells},
            {"cells": old},
            {"cells": new},
        )["cells"]
        merged_text = "\n".join(c["source"] for c in merged_cells)
        assert [text for text in student_texts if text not in merged_text] == []
        names = [c["id"] for c in merged_cells]
        assert len(names) == len({*names})
        new_names = [c["id"] for c in new]
        assert [name for name in names if name in new_names] == new_names


def test_a_copy_that_cannot_be_read_is_not_called_older(course):
    copy = course.root / "work" / LAB / f"{LAB}.ipynb"
    edit_cells(course.released_notebook_path(LAB), move="Another text.")
    for broken in ("{", "[]", '{"cells": 3}', "[" * 100_000):
        copy.write_text(broken)
        result = autograder("update", copy, cwd=course.root)
        assert result.returncode == 2
        assert "cannot be read as a notebook; `autograder reset" in result.stderr
    (course.root / "work" / update.HANDED_OUT_FOLDER / f"{LAB}.ipynb").write_text("{")
    assert run_command(course.root, "start", "work") == "work has all the labs already.\n"


def test_the_course_s_own_file_is_not_older_than_itself(course):
    course_notebook = course.released_notebook_path(LAB)
    assert update.find_sections_changed_by_course(course_notebook, course_notebook) == []
    result = autograder("update", "elsewhere.ipynb", cwd=course.root)
    assert (result.returncode, result.stderr) == (
        2,
        "Error: There is no notebook elsewhere.ipynb.\n",
    )


# The start page


def start_page(course):
    return course.root / "work" / "README.ipynb"


def test_the_start_page_has_each_lab_once(course):
    assert start_page(course).read_text().count(f"({LAB}/{LAB}.ipynb)") == 1


def test_a_start_page_with_the_list_of_earlier_versions_is_brought_up_to_date(course):
    page = json.loads(start_page(course).read_text())
    text = page["cells"][0]["source"]
    old_list = (
        f"builds on.\n\n1. [Additive attention]({LAB}/{LAB}.ipynb), about 45 minutes, first steps\n\n"
        "Beside the labs: [Words](words.ipynb).\n\nRun"
    )
    page["cells"][0]["source"] = text.replace("builds on.\n\nRun", old_list)
    assert page["cells"][0]["source"] != text
    start_page(course).write_text(json.dumps(page))
    run_command(course.root, "start", "work")
    assert json.loads(start_page(course).read_text())["cells"][0]["source"] == text
    page["cells"][0]["source"] += "\n\nMy own plan."
    start_page(course).write_text(json.dumps(page))
    run_command(course.root, "start", "work")
    assert json.loads(start_page(course).read_text()) == page


def test_a_start_page_follows_the_course_s_title(course):
    toml = course.root / "course.toml"
    toml.write_text(toml.read_text().replace('title = "Attention"', 'title = "Another title"'))
    run_command(course.root, "start", "work")
    assert "# Another title" in start_page(course).read_text()


def test_an_overview_without_labs_says_why(course, capsys, monkeypatch):
    monkeypatch.setenv("AUTOGRADER_COURSE", str(course.root))
    monkeypatch.chdir(course.root / "work" / LAB)
    workspace.overview()
    assert capsys.readouterr().out == (
        f"There are no labs in {course.root / 'work' / LAB}: overview() shows those in the folders below it. "
        'They are in the folder above: overview("..").\n'
    )
    monkeypatch.chdir(course.root)
    workspace.overview()
    assert capsys.readouterr().out.endswith("Open the start page, README.ipynb.\n")


def test_a_section_with_two_changed_cells_is_named_once(tmp_path):
    cells = [nbformat.v4.new_markdown_cell("## Scores (2 points)", id="title")]
    cells += [
        nbformat.v4.new_code_cell(f"x = {number}", id=f"cell-{number}") for number in range(3)
    ]
    old, new = tmp_path / "old.ipynb", tmp_path / "new.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), old)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), new)
    assert update.find_sections_changed_by_course(old, new) == []
    edit_cells(new, cell_0="x = 7", cell_2="x = 9")
    assert update.find_sections_changed_by_course(old, new) == ["Scores"]


def make_notebook(*cells):
    """A notebook of cells, given as (id, source) or (id, source, outputs)."""
    notebook = []
    for name, source, *outputs in cells:
        cell = {"cell_type": "code", "id": name, "metadata": {}, "source": source}
        notebook.append({**cell, "outputs": [text for texts in outputs for text in texts]})
    return {"cells": notebook}


def sections_changed(tmp_path, old, new, handed_out=None):
    copy = tmp_path / "lab" / "lab.ipynb"
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(json.dumps(old))
    if handed_out is not None:
        update.save_handed_out(copy, json.dumps(handed_out).encode())
    (tmp_path / "new.ipynb").write_text(json.dumps(new))
    return update.find_sections_changed_by_course(copy, tmp_path / "new.ipynb")


def test_changed_sections_are_called_by_their_headings(tmp_path):
    def make_lab(text, first="a", code="x = 1"):
        markdown = {"cell_type": "markdown", "metadata": {}}
        return {
            "cells": [
                {**markdown, "id": "intro", "source": first},
                {**markdown, "id": "one", "source": "## The `softmax` (2.5 points)\n\nText"},
                {**markdown, "id": "two", "source": text},
                {"cell_type": "code", "metadata": {}, "id": "code", "source": code},
            ]
        }

    old = make_lab("more")
    assert sections_changed(tmp_path, old, make_lab("other")) == ["The softmax"]
    assert sections_changed(tmp_path, old, make_lab("more", "b")) == ["the beginning"]
    assert sections_changed(tmp_path, old, make_lab("more", code="# x")) == ["The softmax"], (
        "a comment in code is no heading"
    )


def test_a_cell_that_the_course_has_taken_away_is_said(tmp_path):
    old, new = make_notebook(("a", "1"), ("b", "2")), make_notebook(("a", "1"))
    assert sections_changed(tmp_path, old, new, old) == ["what is no longer there"]


def test_a_course_without_the_notebook_has_changed_nothing(tmp_path):
    assert update.find_sections_changed_by_course(tmp_path / "a", tmp_path / "none.ipynb") == []


def test_outputs_stay_with_the_source_that_made_them_only():
    student = make_notebook(("a", "x", ["of x"]), ("b", "y", ["of y"]))
    old = make_notebook(("a", "x"), ("b", "y"))
    new = make_notebook(("a", "x"), ("b", "other"))
    first, second = update.merge_update(student, old, new)["cells"]
    assert (first["outputs"], second["source"], second["outputs"]) == (["of x"], "other", [])


def test_an_empty_cell_of_the_student_is_left_out_and_a_copied_one_gets_an_id_of_its_own():
    student = make_notebook(("a", "x"), ("mine", " \n"), ("a", "a second try"))
    course_notebook = make_notebook(("a", "x"))
    first, second = update.merge_update(student, course_notebook, course_notebook)["cells"]
    assert (first["id"], first["source"]) == ("a", "x")
    assert second["source"] == "a second try" and second["id"] not in ("a", "mine")


NOTE = update._STUDENT_VERSION_NOTE


@pytest.mark.parametrize(
    ("student", "old", "new", "is_answer", "is_recorded", "merged"),
    [
        ("mine", "old", "new", False, True, [("code", "new"), ("raw", f"{NOTE}mine")]),
        ("old", "old", "new", False, True, [("code", "new")]),
        ("mine", "old", "old", False, True, [("code", "mine")]),
        ("new", "old", "new", False, True, [("code", "new")]),
        ("mine", "old", "new", True, True, [("code", "mine")]),
        ("old", "old", "new", True, True, [("code", "new")]),  # the stub is untouched
        ("mine", None, "new", False, True, [("code", "new"), ("raw", f"{NOTE}mine")]),
        ("mine", None, "new", True, True, [("code", "mine")]),
        ("mine", None, "new", False, False, [("code", "new")]),
        ("mine", None, "new", True, False, [("code", "mine")]),
    ],
)
def test_a_cell_is_the_student_s_where_only_the_student_or_an_answer_has_changed(
    student, old, new, is_answer, is_recorded, merged
):
    student_cell = {"source": student, "outputs": ["of mine"]}
    metadata = {"nbgrader": {"grade_id": "a", "solution": is_answer}}
    new_cell = {"cell_type": "code", "source": new, "outputs": [], "metadata": metadata}
    cells = update._merge_cell(student_cell, old, new_cell, is_recorded)
    assert [(cell["cell_type"], cell["source"]) for cell in cells] == merged
    is_same = cells[0]["source"] == student
    assert cells[0]["outputs"] == (["of mine"] if is_same else [])
    assert cells[0]["metadata"] == metadata and new_cell["outputs"] == []
    text = {"cell_type": "markdown", "source": student, "metadata": {}}
    assert "outputs" not in update._merge_cell(student_cell, student, text, True)[0]


def test_of_a_cell_and_its_copy_the_first_is_the_cell():
    student = make_notebook(("b", "mine"), ("a", "first"), ("a", "second"), ("gone", "changed"))
    student["cells"] += make_notebook(("left", "left"), ("own", "own"))["cells"]
    old = make_notebook(("a", "old"), ("b", "old"), ("gone", "old"), ("left", "left"))
    new = make_notebook(("a", "old"), ("b", "old"), ("new", "new"))
    new["metadata"] = {"kernelspec": {}}
    merged = update.merge_update(student, old, new)
    assert [cell["source"] for cell in merged["cells"]] == [
        *("first", "second", "changed", "own"),
        *("mine", "new"),
    ]
    assert merged["metadata"] == new["metadata"] and len(new["cells"]) == 3


def test_without_a_record_answers_and_the_student_s_own_cells_are_no_change_of_the_course(tmp_path):
    def make_answer(source):
        metadata = {"nbgrader": {"grade_id": "answer", "solution": True}}
        return {"cell_type": "code", "metadata": metadata, "source": source}

    text, own = {"id": "t", "source": "text"}, {"id": "own", "source": "own"}
    student = {"cells": [text, make_answer("mine"), own]}
    course_lab = {"cells": [text, make_answer("stub")]}
    assert sections_changed(tmp_path, student, course_lab) == []
    assert sections_changed(tmp_path, {"cells": [text]}, course_lab) == ["the beginning"]
    changed = sections_changed(tmp_path, student, course_lab, {"cells": [text, make_answer("old")]})
    assert changed == ["the beginning"]
    assert sections_changed(tmp_path, student, course_lab, course_lab) == []


@pytest.mark.parametrize(
    ("source", "heading"),
    [
        ("# A `b` (2 points)", "A b"),
        ("text\n### Second\n# Third", "Second"),
        ("# Two (1 point)", "Two"),
        ("# Two (0.5 points)", "Two"),
        ("# Two (three points)", "Two (three points)"),
        ("no # heading", ""),
    ],
)
def test_a_heading_is_read_without_its_points(source, heading):
    assert update._read_heading({"cell_type": "markdown", "source": source}) == heading
    assert update._read_heading({"cell_type": "code", "source": source}) == ""
