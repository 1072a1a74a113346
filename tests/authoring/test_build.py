"""Test the build: students' notebooks hold no answers, and every check notices a mistake."""

import os
import re
import shutil
import subprocess
import sys
import zlib
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from autograder.authoring import build as building
from autograder.authoring.build import build_labs, build_page_notebooks, normalize_notebook
from autograder.authoring.exercise import Exercise
from autograder.authoring.lab import read_lab, read_labs
from autograder.authoring.preprocessors import AllowTestErrors, ClearOutputsOfAnswers
from autograder.authoring.released_notebook import BuildError, release_notebook
from autograder.core.course import read_course
from autograder.core.notebook_cells import get_grade_id, make_grade_id
from autograder.student import answer_key
from autograder.values.encoding import decode, encode

ROOT = Path(__file__).parents[2]
COURSE = read_course(ROOT)
LABS = read_labs(COURSE)
LABS_HERE = [name for name, lab in LABS.items() if not lab.needs]
MASKS = LABS["attention-masks"]
KEY_PATH = "notebooks/additive-attention/answers/attention.key"


def solution(lab):
    return LABS[lab].read_solution()


def answer_lines(notebook):
    """Yield the long lines of the solutions, model answers and marking schemes."""
    for cell in notebook.cells:
        for region in re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", cell.source, re.S):
            yield from (line.strip() for line in region.splitlines() if len(line.strip()) > 12)
        nbgrader = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and nbgrader.get("solution"):
            yield from (line for line in cell.source.splitlines() if len(line) > 40)
        if "BEGIN MARK SCHEME" in cell.source:
            scheme = cell.source.split("BEGIN MARK SCHEME")[1].split("END MARK SCHEME")[0]
            yield from (line for line in scheme.splitlines() if len(line) > 30)


def visible_text(notebook):
    """Return the author's text outside of the answers, such as hints and given code."""
    hidden = r"### BEGIN SOLUTION\n.*?### END SOLUTION|=== BEGIN MARK SCHEME.*?END MARK SCHEME ==="
    cells = [
        c
        for c in notebook.cells
        if c.cell_type == "code" or not c.metadata.get("nbgrader", {}).get("solution")
    ]
    return "\n".join(re.sub(hidden, "", cell.source, flags=re.S) for cell in cells)


def find_leaks(notebook, text):
    """Return the lines of answers that occur in `text` more often than in the visible text."""
    visible = visible_text(notebook)
    return [line for line in answer_lines(notebook) if text.count(line) > visible.count(line)]


@pytest.mark.parametrize("lab", LABS_HERE)
def test_no_answer_stands_in_the_students_notebook(lab):
    student_notebook = nbformat.read(COURSE.released_notebook_path(lab), as_version=4)
    outputs = [str(output) for cell in student_notebook.cells for output in cell.get("outputs", ())]
    text = "\n".join([*(cell.source for cell in student_notebook.cells), *outputs])
    assert len(list(answer_lines(solution(lab)))) > 5
    assert find_leaks(solution(lab), text) == []
    assert "BEGIN" not in text


@pytest.mark.parametrize("lab", LABS_HERE)
def test_a_leaked_answer_is_noticed(lab):
    notebook = solution(lab)
    for line in answer_lines(notebook):
        assert find_leaks(notebook, f"{visible_text(notebook)}\n    {line}\n")


@pytest.mark.parametrize("lab", LABS_HERE)
def test_every_stub_raises_not_implemented(lab):
    student_notebook = nbformat.read(COURSE.released_notebook_path(lab), as_version=4)
    by_id = {get_grade_id(cell): cell for cell in student_notebook.cells if get_grade_id(cell)}
    for exercise in LABS[lab].exercises.values():
        assert "raise NotImplementedError()" in by_id[make_grade_id(exercise.name)].source
        test_cell = by_id[f"test-{make_grade_id(exercise.name)}"]
        assert test_cell.metadata["nbgrader"]["points"] == exercise.points
    manual_cells = []
    for cell in by_id.values():
        if cell.metadata["nbgrader"]["grade"] and cell.cell_type == "markdown":
            manual_cells.append(cell)
    assert manual_cells
    assert all(cell.source == "YOUR ANSWER HERE" for cell in manual_cells)


def cells_with_output(*sources):
    """Return the numbers of the cells that keep their output; the second cell is an answer's."""
    cells = [nbformat.v4.new_code_cell(s, id=f"cell-{n}") for n, s in enumerate(sources)]
    for cell in cells:
        cell.outputs = [nbformat.v4.new_output("stream", text=cell.id)]
    cells[1].metadata["nbgrader"] = {
        "grade_id": "f",
        "grade": False,
        "solution": True,
        "locked": False,
        "schema_version": 3,
    }
    released_notebook, _ = ClearOutputsOfAnswers().preprocess(
        nbformat.v4.new_notebook(cells=cells), {}
    )
    return [n for n, cell in enumerate(released_notebook.cells) if cell.outputs]


SETUP, STUB = (
    "import numpy as np\nfrom autograder import check, ready, use_my_functions\nuse_my_functions()",
    "def f(x):\n    pass",
)


@pytest.mark.parametrize(
    ("source", "keeps"),
    [
        ("np.zeros(3)", True),
        ("value = 3\nvalue + 1", True),
        ("async_ = 1\nawait something()", True),
        ("f(3)", False),
        ("y = f(3)\nprint(y)\nprint('done')", False),
        ("if ready(f):\n    print(1)", False),
        ("ready()", False),
        ("np.zeros(f)", False),
        ("print(1)\nanswers = [f(n) for n in range(3)]", False),
        ("%timeit 1", False),
        ("from autograder import progress as how_far\nhow_far()", False),
    ],
)
def test_only_an_output_that_needs_no_answer_is_kept(source, keeps):
    assert cells_with_output(SETUP, STUB, source) == ([2] if keeps else [])


def test_an_output_that_needs_an_answer_through_other_cells_is_not_kept():
    by_way = (
        "def g(x):\n    return f(x) + 1",
        "class C:\n    h = staticmethod(g)",
        "C.h(2)",
        "two = g(1)",
        "two",
    )
    assert cells_with_output(SETUP, STUB, *by_way, "np.ones(2)") == [7]


def test_a_picture_is_kept_as_a_plain_png_with_its_alt_text():
    html = '<img alt="A &lt; B." style="max-width:100%" src="data:image/png;base64,QUJD">'
    data = {"text/html": html, "text/plain": "A < B."}
    picture = nbformat.v4.new_output("display_data", data)
    cell = nbformat.v4.new_code_cell("draw()", outputs=[picture])
    notebook, _ = ClearOutputsOfAnswers().preprocess(nbformat.v4.new_notebook(cells=[cell]), {})
    [output] = notebook.cells[0].outputs
    assert output.data == {"image/png": "QUJD", "text/plain": "A < B."}
    assert output.metadata == {"image/png": {"alt": "A < B."}}


@pytest.mark.long
@pytest.mark.parametrize("lab", LABS_HERE)
def test_the_kept_outputs_are_those_of_an_untouched_notebook(lab):
    """No output that students see at first depends on an answer."""
    student_notebook = nbformat.read(COURSE.released_notebook_path(lab), as_version=4)
    outputs_by_cell = saved_outputs(student_notebook)
    new_notebook, _ = ClearOutputsOfAnswers().preprocess(
        building.run_notebook_in_empty_folder(student_notebook, ROOT), {}
    )
    new_cells = [cell for cell in new_notebook.cells if cell.id in outputs_by_cell]
    new_outputs = {cell.id: cell.outputs for cell in new_cells}
    assert {name: output_texts(outputs) for name, outputs in new_outputs.items()} == {
        n: output_texts(o) for n, o in outputs_by_cell.items()
    }


def test_most_labs_keep_outputs():
    """In a short lab all outputs may need an answer."""
    labs = [
        name
        for name in LABS_HERE
        if saved_outputs(nbformat.read(COURSE.released_notebook_path(name), as_version=4))
    ]
    assert len(labs) > len(LABS_HERE) / 2


def saved_outputs(student_notebook):
    return {
        c.id: c.outputs
        for c in student_notebook.cells
        if c.get("outputs") and building.MEASUREMENT_TAG not in c.metadata.get("tags", ())
    }


def output_texts(outputs):
    """Return the texts of outputs, with the alt texts of pictures."""
    return [output.get("text") or output.data["text/plain"] for output in outputs]


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("lab", LABS_HERE)
def test_what_is_built_has_not_drifted(lab):
    """Nothing is executed here, since nbval compares the outputs of all solutions."""
    assert build_labs([LABS[lab]], check=True, execute=False) == []


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the course's files, for tests that change them."""
    for name in ("solutions", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("course.toml", "nbgrader_config.py"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.setattr(Exercise, "predict_slip_pairs", predict_slip_pairs_once)
    # What is wrong in exercises is the subject of test_planted_faults.py and test_verify.py.
    monkeypatch.setattr(building, "find_lab_weaknesses", lambda lab: [])
    return tmp_path


PREDICT_SLIP_PAIRS = Exercise.predict_slip_pairs


@cache
def predict_slip_pairs_of(lab, exercise):
    key = (COURSE.answer_key_folder(lab) / f"{exercise}.key").read_bytes()
    names_by_case = answer_key._list_slip_pairs_by_case(key)
    return PREDICT_SLIP_PAIRS(LABS[lab].exercises[exercise], names_by_case)


def predict_slip_pairs_once(exercise, names_by_case=None):
    """Return the results of the key's pairs of slips: to search for pairs takes most of a build."""
    return predict_slip_pairs_of(exercise.lab.name, exercise.name)


def smallest_lab(copy):
    """Return the lab that builds fastest."""
    return read_lab(read_course(copy), "additive-attention")


def find_drift(copy):
    return build_labs([smallest_lab(copy)], check=True, execute=False)


def test_a_page_of_the_course_is_built_and_its_drift_is_noticed(copy):
    (copy / "docs").mkdir()
    (copy / "docs" / "words.md").write_text("# Words\n\nOurs and theirs.\n")
    drift = build_page_notebooks(read_course(copy), check=True)
    assert drift == ["notebooks/words.ipynb (the page docs/words.md)"]
    assert "Ours and theirs" not in (copy / "notebooks" / "words.ipynb").read_text()
    build_page_notebooks(read_course(copy))
    assert build_page_notebooks(read_course(copy), check=True) == []
    [cell] = nbformat.read(copy / "notebooks" / "words.ipynb", as_version=4).cells
    assert (cell.cell_type, cell.source) == ("markdown", "# Words\n\nOurs and theirs.")
    (copy / "docs" / "words.md").unlink()
    with pytest.raises(BuildError, match=r"The page docs/words\.md cannot be read"):
        build_page_notebooks(read_course(copy))


def test_the_pages_are_built():
    assert COURSE.pages
    assert build_page_notebooks(COURSE, check=True) == []


@pytest.mark.long
def test_an_edited_student_notebook_is_drift_and_building_restores_it(copy):
    path = copy / "notebooks" / "additive-attention" / "additive-attention.ipynb"
    original = path.read_bytes()
    path.write_text(path.read_text().replace("check(alignment)", "pass"))
    assert find_drift(copy) == [
        "notebooks/additive-attention/additive-attention.ipynb (the solution with its answers cut out)"
    ]
    assert "pass" in path.read_text(), "with --check nothing is written"
    build_labs([smallest_lab(copy)], execute=False)
    assert path.read_bytes() == original
    assert find_drift(copy) == []


@pytest.mark.long
def test_a_changed_solution_changes_its_own_files_only(copy):
    path = copy / "solutions" / "additive-attention" / "additive-attention.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source += "\nA new sentence."
    nbformat.write(notebook, path)
    other_files = {}
    for other_path in copy.rglob("*.*"):
        if other_path.is_file() and other_path.stem != "additive-attention":
            other_files[other_path] = other_path.read_bytes()
    assert len(find_drift(copy)) == 1
    build_labs([smallest_lab(copy)], execute=False)
    assert find_drift(copy) == []
    assert {p: p.read_bytes() for p in other_files} == other_files


def test_a_different_key_is_drift(copy):
    path = smallest_lab(copy).course.answer_key_folder("additive-attention") / "attention.key"
    header, arrays = decode(zlib.decompress(path.read_bytes()))
    case = next(c for c in header["cases"] if arrays[c["expected"]["array"]].dtype == np.float64)
    index = case["expected"]["array"]
    for amount, expected_drift in (
        (1e-12, []),  # rounding differs between machines
        (0.01, [f"{KEY_PATH} (what the lab's exercises say)"]),
    ):
        changed_arrays = [array + amount if i == index else array for i, array in enumerate(arrays)]
        path.write_bytes(zlib.compress(encode(header, changed_arrays)))
        assert find_drift(copy) == expected_drift
    header["cases"][0]["label"] += "!"
    path.write_bytes(zlib.compress(encode(header, arrays)))
    assert len(find_drift(copy)) == 1


@pytest.mark.long
def test_a_key_without_exercise_is_drift_and_building_deletes_it(copy):
    path = smallest_lab(copy).course.answer_key_folder("additive-attention") / "no_more.key"
    path.write_bytes(b"old")
    assert find_drift(copy) == [
        "notebooks/additive-attention/answers/no_more.key (it belongs to no exercise)"
    ]
    assert path.is_file(), "with --check nothing is written"
    build_labs([smallest_lab(copy)], execute=False)
    assert not path.exists()


def test_metadata_that_jupyterlab_adds_is_removed():
    notebook = solution("attention-masks")
    messy = deepcopy(notebook)
    for number, cell in enumerate(messy.cells):
        cell.metadata["collapsed"] = True
        if cell.cell_type == "code":
            cell.execution_count = number
    messy.metadata["language_info"]["version"] = "3.12.9"
    assert normalize_notebook(messy, MASKS) == normalize_notebook(notebook, MASKS)


def test_points_are_defined_once_and_headings_follow(monkeypatch):
    """An exercise's points come from its definition, a question's points from its answer cell."""
    notebook = MASKS.read_solution()
    monkeypatch.setattr(MASKS.exercises["causal_mask"], "points", 2.5)
    monkeypatch.setattr(MASKS.exercises["padding_mask"], "points", 1)
    monkeypatch.setitem(MASKS.manual_questions, "explain-masks", 7)
    old_text, new_text = (
        "\n".join(c.source for c in version.cells)
        for version in (notebook, normalize_notebook(notebook, MASKS))
    )
    for old, new in (
        ("`causal_mask` (1 point)", "`causal_mask` (2.5 points)"),
        ("`padding_mask` (2 points)", "`padding_mask` (1 point)"),
        ("own words (4 points, ", "own words (7 points, "),
        ("It is worth 4 points", "It is worth 7 points"),
    ):
        assert old in old_text
        assert new not in old_text
        old_text = old_text.replace(old, new)
    assert new_text == old_text


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda nb, index: nb.cells.pop(index + 1), "no cell has the grade_id 'test-causal-mask'"),
        (
            lambda nb, index: nb.cells.insert(index, nb.cells[index]),
            "two cells have the grade_id 'causal-mask'",
        ),
        (
            lambda nb, index: nb.cells[index + 1].update(source="assert True"),
            "must read check(causal_mask)",
        ),
    ],
)
def test_a_broken_solution_is_refused(spoil, sentence):
    notebook = solution("attention-masks")
    index = next(i for i, c in enumerate(notebook.cells) if get_grade_id(c) == "causal-mask")
    spoil(notebook, index)
    with pytest.raises(BuildError, match=re.escape(sentence)):
        normalize_notebook(notebook, MASKS)


@pytest.mark.parametrize(
    "instruction",
    ["**Guess first**: which row?", "Before you run it, **guess**, and write it down."],
)
def test_a_result_to_guess_first_must_be_hidden(instruction):
    notebook = solution("attention-masks")
    texts = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    texts[2].source += f"\n\n{instruction}"
    texts[3].source = "**What you should see.** The first."
    message = (
        f"the cell {texts[2].id!r} says to guess first. "
        f"The next text, {texts[3].id!r}, is to begin with <details>"
    )
    with pytest.raises(BuildError, match=re.escape(message)):
        normalize_notebook(notebook, MASKS)
    texts[3].source = "<details><summary>What you should see</summary>\n\nThe first.\n</details>"
    normalize_notebook(notebook, MASKS)
    texts[-1].source = instruction
    with pytest.raises(BuildError, match=re.escape("The next text is to begin with <details>")):
        normalize_notebook(notebook, MASKS)


def test_a_solution_without_an_end_marker_is_named():
    notebook = solution("attention-masks")
    cell = next(c for c in notebook.cells if get_grade_id(c) == "causal-mask")
    cell.source = cell.source.replace("### END SOLUTION", "")
    message = "ClearSolutions refuses the cell 'causal-mask': no end solution"
    with pytest.raises(BuildError, match=message):
        release_notebook(notebook, MASKS)


LOG = "import os\nos.write(2, b'the pipes are frozen')"


def test_a_cell_that_raises_is_named_and_what_the_kernel_logs_is_not_shown(capfd):
    cells = [
        nbformat.v4.new_code_cell(f"{LOG};", id="logs"),
        nbformat.v4.new_code_cell("1 / 0", id="divides"),
    ]
    message = "^The cell 'divides' of a solution raises ZeroDivisionError: division by zero$"
    with pytest.raises(BuildError, match=message):
        building.run_notebook_in_empty_folder(nbformat.v4.new_notebook(cells=cells), ROOT)
    assert "frozen" not in capfd.readouterr().err


@pytest.mark.long
def test_what_a_kernel_that_dies_has_logged_is_shown():
    dies = nbformat.v4.new_code_cell(f"{LOG}\nos._exit(1)")
    with pytest.raises(BuildError, match=r"died before the last cell\. It logged: .*frozen"):
        building.run_notebook_in_empty_folder(nbformat.v4.new_notebook(cells=[dies]), ROOT)


def test_each_cell_of_a_solution_has_its_time(monkeypatch):
    """Without a limit, a solution with an endless loop is built for ever."""
    seconds = []

    class RecordingClient:
        def __init__(self, notebook, *, timeout=None, **_):
            seconds.append(timeout)

        def execute(self, env, **_):
            assert env["COURSE_BUILD"] == "1"

    monkeypatch.setattr("nbclient.NotebookClient", RecordingClient)
    building.run_notebook_in_empty_folder(nbformat.v4.new_notebook(), ROOT)
    assert seconds == [building.MAX_CELL_SECONDS]


def test_a_measurement_that_differs_is_no_drift():
    def notebook(text, *tags):
        output = nbformat.v4.new_output("stream", text=text)
        outputs = [output] if text else []
        cell = nbformat.v4.new_code_cell("x", outputs=outputs, metadata={"tags": list(tags)})
        return nbformat.v4.new_notebook(cells=[cell])

    def output_text(saved_text, *tags):
        return (
            building.keep_saved_measurement_outputs(
                notebook("0.2 s", *tags), notebook(saved_text, *tags)
            )
            .cells[0]
            .outputs[0]
            .text
        )

    assert output_text("0.1 s", building.MEASUREMENT_TAG) == "0.1 s"
    assert output_text("", building.MEASUREMENT_TAG) == "0.2 s", "a cleared output is refreshed"
    assert output_text("0.1 s", "illustration") == "0.2 s"


@pytest.mark.parametrize(("refresh_outputs", "expected_age"), [(False, "old"), (True, "new")])
def test_pictures_and_measurements_are_refreshed_on_request(
    copy,
    monkeypatch,
    refresh_outputs,
    expected_age,
):
    def outputs(age):
        picture = {"text/html": f'<img src="data:image/png;base64,{age}">'}
        return [
            [nbformat.v4.new_output("display_data", picture)],
            [nbformat.v4.new_output("stream", text=age)],
        ]

    def with_outputs(notebook, age):
        notebook = deepcopy(notebook)
        picture_cell, measuring_cell = notebook.cells[-2:]
        picture_cell.outputs, measuring_cell.outputs = outputs(age)
        return notebook

    lab = smallest_lab(copy)
    notebook = lab.read_solution()
    for tag in ("illustration", building.MEASUREMENT_TAG):
        cell = nbformat.v4.new_code_cell("1", id=f"a-{tag}", metadata={"tags": [tag]})
        notebook.cells.append(cell)
    lab.solution_path.write_text(
        building._format_notebook_file(
            building.normalize_notebook(with_outputs(notebook, "old"), lab)
        ),
        "utf-8",
    )

    def run_notebook_in_empty_folder(notebook, course):
        return with_outputs(notebook, "new")

    monkeypatch.setattr(building, "run_notebook_in_empty_folder", run_notebook_in_empty_folder)
    monkeypatch.setattr(building, "find_processor_dependent_results", lambda lab, keys: [])
    build_labs([lab], refresh_outputs=refresh_outputs)
    assert [cell.outputs for cell in lab.read_solution().cells[-2:]] == outputs(expected_age)


def test_a_widget_is_not_saved_and_leaves_no_empty_output():
    widget, words = "application/vnd.jupyter.widget-view+json", {"text/plain": "A picture."}
    view = {widget: {"model_id": "1"}}
    outputs = [nbformat.v4.new_output("display_data", data) for data in (view, {**view, **words})]
    cell = nbformat.v4.new_code_cell("1", outputs=outputs)
    notebook = MASKS.read_solution()
    notebook.cells.append(cell)
    [output] = normalize_notebook(notebook, MASKS).cells[-1].outputs
    assert output.data == words


def test_the_release_for_grading_keeps_the_marking_schemes_and_no_output():
    grading_notebook = release_notebook(solution("attention-masks"), MASKS, for_grading=True)
    assert any("MARK SCHEME" in c.source for c in grading_notebook.cells)
    assert not any(c.get("outputs") for c in grading_notebook.cells)
    assert any(c.get("outputs") for c in release_notebook(solution("attention-masks"), MASKS).cells)


def test_each_marking_scheme_belongs_to_the_first_question_below_it():
    def question(name):
        metadata = {"nbgrader": {"grade_id": name, "grade": True, "solution": True, "points": 1}}
        return nbformat.v4.new_markdown_cell("", metadata=metadata)

    def make_mark_scheme(text):
        return nbformat.v4.new_markdown_cell(
            f"=== BEGIN MARK SCHEME ===\n{text}\n=== END MARK SCHEME ==="
        )

    cells = [
        question("none"),
        make_mark_scheme("- a"),
        question("one"),
        question("two"),
        make_mark_scheme("- b"),
    ]
    lab = replace(MASKS)
    vars(lab)["cells"] = [*cells, nbformat.v4.new_markdown_cell("Text."), question("three")]
    assert lab.mark_schemes() == {"one": "- a", "three": "- b"}
    assert lab.manual_questions == dict.fromkeys(("none", "one", "two", "three"), 1)


def test_a_test_cell_may_fail_and_keeps_its_tags():
    tags = {"test": ["slow"], "answer": [], "other": ["setup"]}
    cells = []
    for name, roles in (("test", {"grade": True}), ("answer", {"solution": True}), ("other", {})):
        metadata = {"nbgrader": {"grade": False, "solution": False, **roles}, "tags": tags[name]}
        cells.append(nbformat.v4.new_code_cell("x", metadata=metadata))
    del cells[1].metadata["tags"]
    text = nbformat.v4.new_markdown_cell("x", metadata={"nbgrader": {"grade": True}})
    notebook, _ = AllowTestErrors()(nbformat.v4.new_notebook(cells=[*cells, text]), {})
    assert [cell.metadata.get("tags") for cell in notebook.cells] == [
        *(["slow", "raises-exception"], None, ["setup"], None)
    ]


def test_every_lab_has_a_place_in_the_course():
    assert [lab.order for lab in LABS.values()] == list(range(1, len(LABS) + 1))
    assert list(answer_key.load_lab_descriptions()) == list(COURSE.labs)
    key_orders = [key.order for key in answer_key.load_lab_descriptions().values()]
    assert key_orders == list(range(1, len(LABS) + 1))
    assert [list(key.points) for key in answer_key.load_lab_descriptions().values()] == [
        list(lab.exercises) for lab in LABS.values()
    ]


def find_name_leaks(notebook):
    """Return names that only an illustration binds and another cell uses.

    The grader does not run illustrations.
    """
    import ast

    illustration_names, used_names, other_names = set(), set(), set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        names = [n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Name)]
        assigned_names = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        parameters = [n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.arg)]
        assigned_names |= {parameter.arg for parameter in parameters}
        if "illustration" in cell.metadata.get("tags", []):
            illustration_names |= assigned_names
        else:
            used_names |= {n.id for n in names if isinstance(n.ctx, ast.Load)} - assigned_names
            other_names |= assigned_names
    return (illustration_names & used_names) - other_names


@pytest.mark.parametrize("lab", LABS_HERE)
def test_nothing_depends_on_an_illustration(lab):
    notebook = solution(lab)
    assert find_name_leaks(notebook) == set()
    notebook.cells.append(
        nbformat.v4.new_code_cell("kept_by_a_test = 1", metadata={"tags": ["illustration"]})
    )
    notebook.cells.append(nbformat.v4.new_code_cell("print(kept_by_a_test)"))
    assert find_name_leaks(notebook) == {"kept_by_a_test"}


COMPARE_KEYS = """
from our_course import COURSE, lab
from autograder.student.answer_key import encode_key, keys_are_equal
for name, exercise in lab("positions").exercises.items():
    key = COURSE.answer_key_folder("positions") / f"{name}.key"
    print(name, keys_are_equal(key.read_bytes(), encode_key(exercise)))
"""


@pytest.mark.long
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("processor", ["Nehalem", "Haswell"])
def test_a_key_is_the_same_on_other_processors(processor, threads):
    """A variable makes OpenBLAS compute as on another processor; others ignore it."""
    variables = {"OPENBLAS_CORETYPE": processor, "OPENBLAS_NUM_THREADS": threads}
    process = subprocess.run(
        [sys.executable, "-c", COMPARE_KEYS],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert "shift_matrix True" in process.stdout and "False" not in process.stdout, (
        process.stdout + process.stderr
    )


def test_a_heading_without_points_takes_none_of_a_question_below():
    """The later question has no heading of its own; its points stand in no heading."""

    def text(source):
        return nbformat.v4.new_markdown_cell(source)

    def question(name):
        metadata = {"nbgrader": {"grade_id": name}}
        return nbformat.v4.new_markdown_cell("", metadata=metadata)

    notebook = nbformat.v4.new_notebook(
        cells=[
            text("## An example (5 points)"),
            text("## In words (1 point)"),
            question("first"),
            question("second"),
        ]
    )
    lab = SimpleNamespace(exercises={}, manual_questions={"first": 2, "second": 3})
    building._update_points_in_text(notebook, lab)
    texts = [cell.source for cell in notebook.cells[:2]]
    assert texts == ["## An example (5 points)", "## In words (2 points)"]


def test_pieces_of_one_stream_are_joined_and_those_of_another_are_not():
    """A kernel cuts a text at random places, and errors are shown in another colour."""

    def stream(name, text):
        return nbformat.v4.new_output("stream", name=name, text=text)

    picture = nbformat.v4.new_output("display_data", {"text/plain": "a picture"})
    pieces = [
        *(stream("stdout", "a"), stream("stdout", "b"), stream("stderr", "c")),
        *(stream("stderr", "d"), stream("stdout", "e"), picture, stream("stdout", "f")),
    ]
    merged = building._merge_consecutive_streams(pieces)
    assert [(output.get("name"), output.get("text")) for output in merged] == [
        *(("stdout", "ab"), ("stderr", "cd"), ("stdout", "e"), (None, None), ("stdout", "f")),
    ]


def test_an_output_keeps_all_but_its_count_and_its_widget():
    widget = {building._WIDGET_TYPE: {"model_id": "1"}}
    text = {"text/plain": "a slider"}
    outputs = [
        nbformat.v4.new_output("execute_result", text, execution_count=7),
        nbformat.v4.new_output("display_data", {**widget, **text}),
        nbformat.v4.new_output("display_data", widget),
    ]
    first, second = building._strip_counts_and_widgets(outputs)
    assert (first.execution_count, first.data, second.data) == (None, text, text)
    assert outputs[0].execution_count == 7 and building._WIDGET_TYPE in outputs[1].data


def test_a_key_says_of_its_lab_what_the_lab_and_the_course_say(monkeypatch):
    described = []
    monkeypatch.setattr(
        answer_key, "encode_lab_description", lambda *arguments: described.append(arguments)
    )
    monkeypatch.setattr(building, "_encode_exercise_key", lambda exercise: exercise.name)
    monkeypatch.setattr(answer_key, "encode_criteria", lambda schemes: [*schemes])
    exercises = {"a": SimpleNamespace(name="a")}
    fields = {
        "name": "lab",
        "title": "Lab",
        "difficulty": "easy",
        "order": 3,
        "minutes": 5,
        "allowed_packages": frozenset({"b", "a"}),
        "exercises": exercises,
        "manual_questions": {"why": 2},
        "mark_schemes": lambda: {"why": "- 2 points"},
        "course": SimpleNamespace(criteria=True),
    }
    few = {"certificate": "", "limits": {"cell_seconds": 3}, "graded_with": {}}
    more = {"certificate": "Well done.", "limits": {"call_seconds": 9}, "graded_with": {"A": "b"}}
    contents = building._encode_answer_key_files(SimpleNamespace(**fields, **few))
    assert contents == {building.LAB_FILE: None, "a.key": "a", answer_key.CRITERIA_FILE: ["why"]}
    fields["course"].criteria = False
    contents = building._encode_answer_key_files(SimpleNamespace(**fields, **more))
    assert [*contents] == [building.LAB_FILE, "a.key"]
    facts = {"title": "Lab", "difficulty": "easy", "order": 3, "minutes": 5, "packages": ["a", "b"]}
    added = {"certificate": "Well done.", "call_seconds": 9, "graded_with": {"A": "b"}}
    assert [arguments[1] for arguments in described] == [facts, facts | added]
    assert described[0][0] == "lab" and described[0][2:] == ([exercises["a"]], {"why": 2})


def test_only_what_a_measurement_shows_is_kept_and_only_if_something_is_saved():
    def cell(text, *tags):
        outputs = []
        if text:
            outputs = [nbformat.v4.new_output("stream", text=text)]
        return nbformat.v4.new_code_cell("x", outputs=outputs, metadata={"tags": [*tags]})

    tag = building.MEASUREMENT_TAG
    new = nbformat.v4.new_notebook(cells=[cell("new", tag), cell("new", tag), cell("new", "setup")])
    saved = nbformat.v4.new_notebook(cells=[cell("old", tag), cell("", tag), cell("old", "setup")])
    kept = building.keep_saved_measurement_outputs(new, saved)
    assert [part.outputs[0].text for part in kept.cells] == ["old", "new", "new"]


def test_a_notebook_runs_with_one_thread_and_knows_that_it_is_built(tmp_path):
    environment = building.make_kernel_environment(tmp_path)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "COURSE_BUILD")
    assert [environment[name] for name in names] == ["1"] * 4
    assert str(tmp_path) in environment["PYTHONPATH"]


def test_points_in_texts_have_their_singular_and_their_place():
    texts = [
        "## Exercise 1: `a` and `b` (2.5 points, hard)\n*(3 points)*",
        "It is worth 1 point. Is it worth 1 point?",
        "The exercise (2 points) stays.",
    ]
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_markdown_cell, texts)])
    exercises = {"b": SimpleNamespace(points=1)}
    lab = SimpleNamespace(exercises=exercises, manual_questions={"why": 2, "how": 0.5})
    cell = nbformat.v4.new_markdown_cell("", metadata={"nbgrader": {"grade_id": "why"}})
    notebook.cells.append(cell)
    building._update_points_in_text(notebook, lab)
    assert [part.source for part in notebook.cells[:3]] == [
        "## Exercise 1: `a` and `b` (1 point, hard)\n*(2 points)*",
        "It is worth 2.5 points. Is it worth 1 point?",
        "The exercise (2 points) stays.",
    ]


def test_set_up_cells_are_locked_and_points_are_those_of_the_exercises():
    exercise = SimpleNamespace(name="mean", points=3.0)
    lab = SimpleNamespace(
        name="a-lab",
        exercises={"mean": exercise},
        exercises_by_test_cell={"test-mean": exercise},
        manual_questions={"why": 2.0, "how": 1.0},
    )

    def graded(name, **roles):
        return {"nbgrader": {"grade_id": name, "checksum": "x", "cell_type": "code", **roles}}

    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    cells = [
        text("## `mean` (9 points)\nIt is worth 9 points", id="heading"),
        code("import numpy", id="imports", metadata={"tags": ["setup"], "execution": {}}),
        code("", id="mean", metadata=graded("mean", solution=True)),
        code("check(mean)", id="test", metadata=graded("test-mean", grade=True, points=9)),
        text("## Of no question (7 points)", id="before"),
        text("## Why? (9 points, marked by hand)", id="question"),
        text("", id="why", metadata=graded("why", grade=True, solution=True, points=2)),
        text("*(9 points)* and ## How? (9 points)", id="other"),
    ]
    made = normalize_notebook(nbformat.v4.new_notebook(cells=cells), lab)
    assert [cell.source for cell in made.cells if cell.cell_type == "markdown"] == [
        "## `mean` (3 points)\nIt is worth 3 points",
        "## Of no question (7 points)",
        "## Why? (2 points, marked by hand)",
        "",
        "*(9 points)* and ## How? (9 points)",
    ]
    metadata = {cell.id: cell.metadata for cell in made.cells}
    assert metadata["imports"].keys() == {"tags", "nbgrader"}
    locked = metadata["imports"]["nbgrader"]
    assert (locked["grade_id"], locked["locked"], locked["grade"]) == ("imports", True, False)
    assert metadata["test"]["nbgrader"] == {"grade_id": "test-mean", "grade": True, "points": 3.0}
