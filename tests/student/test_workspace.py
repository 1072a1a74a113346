"""A student's folder: the progress in its notebooks, the table of labs and the start page."""

import json
from types import SimpleNamespace

import pytest

from autograder.core.course import ANSWER_KEYS_FOLDER, COURSE_VARIABLE
from autograder.core.files import write_file
from autograder.student import answer_key, update, workspace
from autograder.student.workspace import LabProgress, WorkspaceError, overview, read_lab_progress

LAB = "sums"


def make_cell(name, source="", outputs=(), cell_type="code"):
    return {
        "cell_type": cell_type,
        "metadata": {"nbgrader": {"grade_id": name}},
        "source": source,
        "outputs": list(outputs),
    }


PASSED = {"output_type": "stream", "name": "stdout", "text": "correct in all cases"}
FAILED = {"output_type": "error", "ename": "CheckFailed", "evalue": "", "traceback": []}


@pytest.fixture
def read_progress(tmp_path, monkeypatch):
    """Return a function that saves a notebook with some cells, and reads its progress."""
    key = SimpleNamespace(
        title="Sums",
        difficulty="easy",
        minutes=20,
        points={"add_up": 1, "mean": 2},
        by_hand={"explain": 3},
        folder=tmp_path / "course" / LAB / "answers",
    )
    monkeypatch.setattr(workspace.answer_key, "load_lab_descriptions", lambda: {LAB: key})

    def save_and_read(*cells):
        folder = tmp_path / "work" / LAB
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{LAB}.ipynb").write_text(json.dumps({"cells": cells}))
        (progress,) = read_lab_progress(tmp_path / "work")
        return progress

    return save_and_read


@pytest.mark.parametrize(
    ("outputs", "passed"),
    [([PASSED], 1), ([], 0), ([FAILED], 0), ([PASSED, FAILED], 0), ([PASSED, PASSED], 1)],
)
def test_a_check_that_has_run_without_an_error_has_passed(read_progress, outputs, passed):
    progress = read_progress(make_cell("test-add-up", "check(add_up)", outputs))
    assert (progress.passed_count, progress.exercise_count) == (passed, 2), outputs


def test_copies_of_a_check_count_once(read_progress):
    """JupyterLab copies a cell with its metadata and outputs."""
    check = make_cell("test-add-up", "check(add_up)", [PASSED])
    question = make_cell("explain", "YOUR ANSWER HERE", cell_type="markdown")
    progress = read_progress(check, check, question, question)
    assert (progress.passed_count, progress.unanswered_count) == (1, 1)
    assert not progress.is_done


@pytest.mark.parametrize(
    ("source", "unanswered"),
    [("YOUR ANSWER HERE", 1), ("", 1), (" \n", 1), ("Because of the softmax.", 0)],
)
def test_an_emptied_answer_is_no_answer(read_progress, source, unanswered):
    progress = read_progress(make_cell("explain", source, cell_type="markdown"))
    assert progress.unanswered_count == unanswered


def test_a_cell_that_is_no_check_of_the_lab_does_not_count(read_progress):
    progress = read_progress(make_cell("test-other", "", [PASSED]), make_cell("", "", [PASSED]))
    assert (progress.passed_count, progress.unanswered_count) == (0, 0)


def make_progress(lab="a", **fields):
    defaults = {"title": lab.upper(), "difficulty": "easy", "minutes": 30}
    return LabProgress(lab, **{**defaults, "passed_count": 0, "exercise_count": 3, **fields})


@pytest.mark.parametrize(
    ("passed", "unanswered", "is_done"), [(3, 0, True), (2, 0, False), (3, 1, False)]
)
def test_a_lab_is_done_with_its_exercises_and_its_questions(passed, unanswered, is_done):
    assert make_progress(passed_count=passed, unanswered_count=unanswered).is_done is is_done


def test_the_table_marks_what_is_done_and_the_first_of_the_others():
    labs = [
        make_progress("a", passed_count=3),
        make_progress("b", passed_count=1, unanswered_count=2),
        make_progress("c", passed_count=3),
        make_progress("d", is_outdated=True),
    ]
    assert workspace._render_progress_table(labs).split("\n")[2:] == [
        "| done | [A](a/a.ipynb) | 30 min | easy | ●●● 3 of 3 |",
        "| **next** | [B](b/b.ipynb) | 30 min | easy | ●○○ 1 of 3, and 2 to explain in words |",
        "| done | [C](c/c.ipynb) | 30 min | easy | ●●● 3 of 3 |",
        "|  | [D](d/d.ipynb) (there is a newer text) | 30 min | easy | ○○○ 0 of 3 |",
        "",
        "`autograder update` with the path of a lab takes a newer text over; your answers stay.",
    ]


def test_the_table_of_labs_that_are_up_to_date_advises_nothing():
    assert workspace._render_progress_table([make_progress()]).endswith("○○○ 0 of 3 |")


@pytest.mark.parametrize(
    ("cells", "title"),
    [
        ([{"source": "# Words to know\nText"}], "Words to know"),
        ([{"source": ["## Words", "\n"]}], "Words"),
        ([{"source": ""}], "words"),
        ([], "words"),
    ],
)
def test_a_page_is_called_by_its_first_line_or_by_its_file(tmp_path, cells, title):
    (tmp_path / "words.ipynb").write_text(json.dumps({"cells": cells}))
    assert workspace._read_title(tmp_path / "words.ipynb") == title


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of two labs, of which one is released, and a page."""
    root = tmp_path / "course"
    (root / "notebooks" / LAB / "answers").mkdir(parents=True)
    (root / "course.toml").write_text(
        f'title = "Numbers"\nid = "numbers"\nlabs = ["{LAB}", "later"]\n'
        'pages = ["words.md"]\nabout = "For beginners."\n'
    )
    cells = [make_cell("add-up", "stub"), make_cell("test-add-up", "check(add_up)")]
    cells.append(make_cell("test-mean-of-two", "check(mean_of_two)"))
    for name, content in (
        (f"{LAB}/{LAB}.ipynb", cells),
        ("words.ipynb", [{"cell_type": "markdown", "source": "# Wörter", "metadata": {}}]),
    ):
        (root / "notebooks" / name).write_text(json.dumps({"cells": content}))
    (root / "notebooks" / LAB / "answers" / "key.json").write_text("1")
    monkeypatch.setattr(workspace.answer_key, "load_lab_descriptions", dict)
    from autograder.core.course import read_course

    return read_course(root)


def test_a_second_start_copies_what_is_new_and_keeps_what_the_student_has(course, tmp_path):
    work = tmp_path / "work"
    assert workspace.copy_labs(work, course) == [LAB]
    lab, page = work / LAB / f"{LAB}.ipynb", work / "words.ipynb"
    lab.write_text(json.dumps({"cells": [make_cell("add-up", "mine")]}))
    page.write_text(json.dumps({"cells": [{"source": "my notes"}]}))
    (course.answer_key_folder(LAB) / "key.json").write_text("2")
    assert workspace.copy_labs(work, course) == []
    assert "mine" in lab.read_text() and "my notes" in page.read_text()
    assert (work / LAB / "answers" / "key.json").read_text() == "2", "the newer key is copied"


def test_in_the_course_s_own_folder_no_answer_key_is_copied(course):
    workspace.copy_labs(course.root / "work", course)
    assert not (course.root / "work" / LAB / "answers").exists()


def test_the_start_page_names_the_course_and_its_pages(course, tmp_path):
    workspace.copy_labs(tmp_path / "work", course)
    page = json.loads((tmp_path / "work" / workspace.START_PAGE).read_text("utf-8"))
    source = page["cells"][0]["source"]
    assert source.startswith("# Numbers\n\nFor beginners.\n\nEach lab is a notebook")
    assert "\nBeside the labs: [Wörter](words.ipynb).\n\nRun the next cell" in source
    assert "Wörter" in (tmp_path / "work" / workspace.START_PAGE).read_text("utf-8")


def test_a_folder_from_before_the_record_gets_one_if_its_text_is_the_course_s(course, tmp_path):
    lab = tmp_path / "work" / LAB / f"{LAB}.ipynb"
    workspace.copy_labs(tmp_path / "work", course)
    update.find_handed_out_path(lab).unlink()
    workspace.copy_labs(tmp_path / "work", course)
    released = course.released_notebook_path(LAB).read_bytes()
    assert update.find_handed_out_path(lab).read_bytes() == released


def test_a_reset_lab_is_recorded_as_handed_out_and_a_reset_exercise_is_not(course, tmp_path):
    lab = tmp_path / "work" / LAB / f"{LAB}.ipynb"
    workspace.copy_labs(tmp_path / "work", course)
    released = course.released_notebook_path(LAB)
    released.write_text(released.read_text().replace("stub", "another stub"))
    backup = workspace.reset_copy(lab, "add_up", course)
    assert backup is not None and backup.name.startswith(f"{LAB}.before-reset-")
    assert "another stub" in lab.read_text() and "another" not in backup.read_text()
    record = update.find_handed_out_path(lab)
    assert "another stub" not in record.read_text()
    lab.write_text("{}")
    workspace.reset_copy(lab, None, course)
    assert record.read_bytes() == released.read_bytes()


def test_a_reset_of_an_unknown_exercise_names_those_of_the_lab(course, tmp_path):
    workspace.copy_labs(tmp_path / "work", course)
    with pytest.raises(WorkspaceError, match="its exercises are add_up and mean_of_two"):
        workspace.reset_copy(tmp_path / "work" / LAB / f"{LAB}.ipynb", "mean", course)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("other/other.ipynb", "other.ipynb is not one of the labs (sums and later), so it has"),
        ("later/later.ipynb", "later.ipynb is not one of the labs"),
        ("sums/none.ipynb", "There is no notebook"),
    ],
)
def test_a_file_that_is_no_copy_of_a_lab_has_no_first_version(course, tmp_path, name, sentence):
    path = tmp_path / "work" / name
    if "none" not in name:
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    with pytest.raises(WorkspaceError) as caught:
        workspace.reset_copy(path, None, course)
    assert sentence in str(caught.value)


def test_the_overview_shows_the_table_of_the_folder(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda content: shown.append(content.data))
    monkeypatch.setattr(workspace, "read_lab_progress", lambda folder: [make_progress(str(folder))])
    overview("..")
    assert "[..](../...ipynb)" in shown[0]


def test_labs_outside_of_a_course_stand_in_the_order_of_the_course(tmp_path, monkeypatch):
    """Their folders are found by name, and the course's list is not there."""
    for order, lab in enumerate(["second", "first", "third"], start=1):
        facts = {"order": order, "title": lab, "minutes": 9, "difficulty": "easy", "packages": []}
        content = answer_key.encode_lab_description(lab, facts, [], {f"explain-{lab}": 1.0})
        write_file(tmp_path / lab / ANSWER_KEYS_FOLDER / answer_key.LAB_FILE, content)
        write_file(tmp_path / lab / f"{lab}.ipynb", json.dumps({"cells": []}))
    monkeypatch.delenv(COURSE_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    answer_key.clear_cache()
    try:
        assert list(answer_key.load_lab_descriptions()) == ["second", "first", "third"]
        assert [lab.lab for lab in read_lab_progress(tmp_path)] == ["second", "first", "third"]
    finally:
        answer_key.clear_cache()


def test_a_folder_from_before_the_record_gets_none_if_the_course_s_text_has_changed(
    course, tmp_path
):
    lab = tmp_path / "work" / LAB / f"{LAB}.ipynb"
    workspace.copy_labs(tmp_path / "work", course)
    record = update.find_handed_out_path(lab)
    record.write_text("as it was")
    workspace.copy_labs(tmp_path / "work", course)
    assert record.read_text() == "as it was", "a record is kept"
    record.unlink()
    released = course.released_notebook_path(LAB)
    released.write_text(released.read_text().replace("check(add_up)", "check(add_up) # new"))
    workspace.copy_labs(tmp_path / "work", course)
    assert not record.exists()
    assert workspace.find_outdated_labs(tmp_path / "work", course) == {LAB: ["the beginning"]}


def test_an_exercise_is_reset_alone_and_a_deleted_one_is_put_back(course, tmp_path):
    lab = tmp_path / "work" / LAB / f"{LAB}.ipynb"
    workspace.copy_labs(tmp_path / "work", course)
    assert workspace.reset_copy(lab, "add_up", course) is None
    assert workspace.reset_copy(lab, None, course) is None
    own, test = make_cell("own", "mine"), make_cell("test-add-up", "# mine")
    lab.write_text(json.dumps({"cells": [own, make_cell("add-up", "wrong"), test]}))
    assert workspace.reset_copy(lab, "add_up", course) is not None
    sources = [cell["source"] for cell in workspace.read_cells(lab)]
    assert sources == ["mine", "stub", "# mine"]
    lab.write_text(json.dumps({"cells": [own, test]}))
    workspace.reset_copy(lab, "add_up", course)
    sources = [cell["source"] for cell in workspace.read_cells(lab)]
    assert sources[:3] == ["mine", "stub", "# mine"]
    lab.write_text("{")
    with pytest.raises(WorkspaceError, match=r"bring the whole lab back instead\."):
        workspace.reset_copy(lab, "add_up", course)
    assert lab.read_text() == "{"


@pytest.mark.parametrize("content", ["{", "[]", '{"cells": [{"source": "my plan"}]}'])
def test_a_start_page_of_the_student_s_own_is_left_alone(course, tmp_path, content):
    page = tmp_path / "work" / workspace.START_PAGE
    write_file(page, content)
    workspace.copy_labs(tmp_path / "work", course)
    assert page.read_text() == content


def test_a_page_that_is_not_released_is_left_out(course, tmp_path):
    (course.root / "notebooks" / "words.ipynb").unlink()
    workspace.copy_labs(tmp_path / "work", course)
    assert not (tmp_path / "work" / "words.ipynb").exists()
    assert "Beside the labs" not in (tmp_path / "work" / workspace.START_PAGE).read_text("utf-8")
