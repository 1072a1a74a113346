"""A copy that is older than the course's text: said by `start`, taken over by `update`, and nothing written is lost."""

import json
import random
import shutil

import nbformat
import pytest
from command import autograder
from our_course import ROOT

from autograder import renewal, workspace
from autograder.course import read

LAB = "additive-attention"


@pytest.fixture
def course(tmp_path):
    """A course of one lab, and a student's folder with a copy of it."""
    root = tmp_path / "course"
    (root / "notebooks").mkdir(parents=True)
    (root / "course.toml").write_text(f'title = "Attention"\nid = "attention"\nlabs = ["{LAB}"]\n')
    shutil.copytree(ROOT / "notebooks" / LAB, root / "notebooks" / LAB)
    assert said(root, "start", "work") == "1 lab copied to work.\n"
    return read(root)


def said(root, *command):
    ran = autograder(*command, cwd=root)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def edited(path, **sources):
    """Put these sources into a notebook's cells, known by their ids with _ for -."""
    notebook = nbformat.read(path, as_version=4)
    cells = {cell.id: cell for cell in notebook.cells}
    for name, source in sources.items():
        cells[name.replace("_", "-")].source = source
    nbformat.write(notebook, path)
    return {name: cell.source for name, cell in cells.items()}


def ids(path):
    return [cell.id for cell in nbformat.read(path, as_version=4).cells]


def test_a_newer_text_is_named_and_taken_over_without_losing_a_word(course):
    copy, released = course.root / "work" / LAB / f"{LAB}.ipynb", course.released(LAB)
    before = {cell.id: cell.source for cell in nbformat.read(copy, as_version=4).cells}
    mine = "def alignment(*any):\n    return 'mine'"
    edited(copy, alignment=mine, move="A note of mine.", setup=before["setup"] + "\nMINE = 1")
    notebook = nbformat.read(copy, as_version=4)
    own = nbformat.v4.new_code_cell("my_own = 3", id="my-own")
    notebook.cells.insert(ids(copy).index("alignment") + 1, own)
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("To do: read this.", id="my-first"))
    notebook.cells.append(nbformat.v4.new_code_cell(mine.replace("mine", "a second try"), id="again"))
    notebook.cells[-1].metadata = notebook.cells[ids(copy).index("alignment") + 1].metadata
    nbformat.write(notebook, copy)
    assert said(course.root, "start", "work") == "work has all the labs already.\n"

    changed = {
        "move": before["move"] + "\n\nMore.",
        "attention": before["attention"] + "\n# new stub",
        "alignment": before["alignment"] + "\n# new stub",
        "repeat-idea": "### Another title\n\nAnother idea.",
    }
    edited(released, **changed)
    notebook = nbformat.read(released, as_version=4)
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell("Something new.", id="news"))
    nbformat.write(notebook, released)

    told = said(course.root, "start", "work")
    line = told.splitlines()[1]
    assert line.startswith(f"{LAB}: your copy is older than the course's text, which has changed in “")
    assert "“Another title”" in line or "other place" in line
    assert line.endswith(f"`autograder update work/{LAB}/{LAB}.ipynb` takes it over; your answers stay.")
    page = (course.root / "work" / "README.ipynb").read_text()
    assert "(there is a newer text)" in page
    was = copy.read_bytes()
    told = said(course.root, "update", copy)
    (kept,) = copy.parent.glob("*.before-update-*.ipynb")
    assert kept.read_bytes() == was
    assert told.endswith(f"Your version is kept in {kept}.\n")

    nbformat.validate(nbformat.read(copy, as_version=4))
    now = {cell.id: cell.source for cell in nbformat.read(copy, as_version=4).cells}
    assert now["alignment"] == mine
    assert now["setup"].endswith("MINE = 1")
    assert {name: now[name] for name in changed if name != "alignment"} == {
        name: source for name, source in changed.items() if name != "alignment"
    }
    order = ids(copy)
    assert order[:3] == ["my-first", "title", "news"]
    assert order[order.index("alignment") + 1] == "my-own"
    raw = nbformat.read(copy, as_version=4).cells[order.index("move") + 1]
    assert (raw.cell_type, raw.source.endswith("A note of mine.")) == ("raw", True)
    assert any("a second try" in source for source in now.values())

    assert said(course.root, "update", copy) == f"{LAB} has the course's text of today.\n"
    assert said(course.root, "start", "work") == "work has all the labs already.\n"
    assert "newer text" not in (course.root / "work" / "README.ipynb").read_text()


def test_a_folder_from_before_its_first_state_was_kept_keeps_its_answers_too(course):
    copy, released = course.root / "work" / LAB / f"{LAB}.ipynb", course.released(LAB)
    shutil.rmtree(course.root / "work" / renewal.HANDED_OUT)
    edited(copy, alignment="mine")
    assert renewal.changes(copy, released) == [], "an answer is no change of the course's"
    edited(released, move="### Moved\n\nAnother text.")
    assert "“Moved”" in said(course.root, "start", "work")
    said(course.root, "update", copy)
    now = edited(copy)
    assert (now["alignment"], now["move"]) == ("mine", "### Moved\n\nAnother text.")
    assert (course.root / "work" / renewal.HANDED_OUT / f"{LAB}.ipynb").read_bytes() == released.read_bytes()


def test_whatever_a_student_wrote_is_in_the_renewed_lab():
    """Cells at random: changed, added, moved, removed and doubled, by the student and by the course."""

    def cell(name, source, answer):
        metadata = {"nbgrader": {"grade_id": name, "solution": True}} if answer else {}
        return {"cell_type": "code", "id": name, "metadata": metadata, "source": source, "outputs": []}

    for seed in range(300):
        rng = random.Random(seed)
        old = [cell(f"c{i}", f"text {i}", i % 3 == 0) for i in range(8)]
        new = [{**c, "source": c["source"] + " new"} if rng.random() < 0.4 else dict(c) for c in old]
        new = [c for c in new if rng.random() < 0.85]
        new.insert(rng.randrange(len(new) + 1), cell("added", "the course's", False))
        mine, written = [], []
        for c in old:
            kind = rng.choice(["same", "same", "changed", "gone", "doubled", "own"])
            written.append(f"written {seed} {c['id']}")
            if kind in ("changed", "doubled"):
                mine.append({**c, "source": written[-1]})
            if kind in ("same", "doubled", "own"):
                mine.append(dict(c))
            if kind == "own":
                mine.append(cell(f"own-{c['id']}", written[-1], False))
            if kind in ("same", "gone"):
                written.pop()
        rng.shuffle(mine)
        result = renewal.renewed({"cells": mine}, {"cells": old}, {"cells": new})["cells"]
        there = "\n".join(c["source"] for c in result)
        assert [text for text in written if text not in there] == []
        names = [c["id"] for c in result]
        assert len(names) == len({*names})
        assert [c["id"] for c in result if c["id"] in {n["id"] for n in new}] == [n["id"] for n in new]


def test_a_copy_that_cannot_be_read_is_not_called_older(course):
    copy = course.root / "work" / LAB / f"{LAB}.ipynb"
    edited(course.released(LAB), move="Another text.")
    for broken in ("{", "[]", '{"cells": 3}', "[" * 100_000):
        copy.write_text(broken)
        ran = autograder("update", copy, cwd=course.root)
        assert ran.returncode == 2
        assert "cannot be read as a notebook; `autograder reset" in ran.stderr
    (course.root / "work" / renewal.HANDED_OUT / f"{LAB}.ipynb").write_text("{")
    assert said(course.root, "start", "work") == "work has all the labs already.\n"


def test_the_course_s_own_file_is_not_older_than_itself(course):
    assert renewal.changes(course.released(LAB), course.released(LAB)) == []
    ran = autograder("update", "elsewhere.ipynb", cwd=course.root)
    assert (ran.returncode, ran.stderr) == (2, "Error: There is no notebook elsewhere.ipynb.\n")


# The start page


def start_page(course):
    return course.root / "work" / "README.ipynb"


def test_the_start_page_has_each_lab_once(course):
    assert start_page(course).read_text().count(f"({LAB}/{LAB}.ipynb)") == 1


def test_a_start_page_with_the_list_of_earlier_versions_is_brought_up_to_date(course):
    page = json.loads(start_page(course).read_text())
    text = page["cells"][0]["source"]
    listed = (
        f"builds on.\n\n1. [Additive attention]({LAB}/{LAB}.ipynb), about 45 minutes, first steps\n\n"
        "Beside the labs: [Words](words.ipynb).\n\nRun"
    )
    page["cells"][0]["source"] = text.replace("builds on.\n\nRun", listed)
    assert page["cells"][0]["source"] != text
    start_page(course).write_text(json.dumps(page))
    said(course.root, "start", "work")
    assert json.loads(start_page(course).read_text())["cells"][0]["source"] == text
    page["cells"][0]["source"] += "\n\nMy own plan."
    start_page(course).write_text(json.dumps(page))
    said(course.root, "start", "work")
    assert json.loads(start_page(course).read_text()) == page


def test_a_start_page_follows_what_the_course_says_of_itself(course):
    toml = course.root / "course.toml"
    toml.write_text(toml.read_text().replace('title = "Attention"', 'title = "Another title"'))
    said(course.root, "start", "work")
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
