"""The built files are the solutions with their answers cut out, and every gate notices what it guards."""

import re
import shutil
import zlib
from copy import deepcopy
from pathlib import Path

import nbformat
import numpy as np
import pytest

from autograder import keys
from autograder.authoring import build as building
from autograder.authoring.build import build, build_pages, tidy
from autograder.authoring.lab import read_lab, read_labs
from autograder.authoring.release import BuildError, release
from autograder.authoring.steps import KeepOutputs
from autograder.cells import grade_id, id_of
from autograder.course import read
from autograder.judging.frames import decode, encode

ROOT = Path(__file__).parents[1]
COURSE = read(ROOT)
LABS = read_labs(COURSE)
LABS_HERE = [name for name, lab in LABS.items() if not lab.needs]
MASKS = LABS["attention-masks"]


def solution(lab):
    return LABS[lab].read_solution()


def answers(notebook):
    """The lines that stand between the solution markers, the short and the common ones left out."""
    for cell in notebook.cells:
        for region in re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", cell.source, re.S):
            yield from (line.strip() for line in region.splitlines() if len(line.strip()) > 12)
        nbgrader = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and nbgrader.get("solution"):
            yield from (line for line in cell.source.splitlines() if len(line) > 40)
        if "BEGIN MARK SCHEME" in cell.source:
            scheme = cell.source.split("BEGIN MARK SCHEME")[1].split("END MARK SCHEME")[0]
            yield from (line for line in scheme.splitlines() if len(line) > 30)


def shown(notebook):
    """What the author writes outside the answers as well: in a hint, or in code that is given."""
    hidden = r"### BEGIN SOLUTION\n.*?### END SOLUTION|=== BEGIN MARK SCHEME.*?END MARK SCHEME ==="
    cells = [
        c
        for c in notebook.cells
        if c.cell_type == "code" or not c.metadata.get("nbgrader", {}).get("solution")
    ]
    return "\n".join(re.sub(hidden, "", cell.source, flags=re.S) for cell in cells)


def leaks(notebook, text):
    """Lines of answers that stand in `text` more often than the author shows them."""
    there = shown(notebook)
    return [line for line in answers(notebook) if text.count(line) > there.count(line)]


@pytest.mark.parametrize("lab", LABS_HERE)
def test_no_answer_stands_in_the_students_notebook(lab):
    released = nbformat.read(COURSE.released(lab), as_version=4)
    outputs = [str(output) for cell in released.cells for output in cell.get("outputs", ())]
    text = "\n".join([*(cell.source for cell in released.cells), *outputs])
    assert len(list(answers(solution(lab)))) > 5
    assert leaks(solution(lab), text) == []
    assert "BEGIN" not in text


@pytest.mark.parametrize("lab", LABS_HERE)
def test_a_leaked_answer_is_noticed(lab):
    notebook = solution(lab)
    for line in answers(notebook):
        assert leaks(notebook, f"{shown(notebook)}\n    {line}\n")


@pytest.mark.parametrize("lab", LABS_HERE)
def test_every_stub_raises_not_implemented(lab):
    released = nbformat.read(COURSE.released(lab), as_version=4)
    by_id = {c.metadata["nbgrader"]["grade_id"]: c for c in released.cells if "nbgrader" in c.metadata}
    for exercise in LABS[lab].exercises.values():
        assert "raise NotImplementedError()" in by_id[grade_id(exercise.name)].source
        assert by_id[f"test-{grade_id(exercise.name)}"].metadata["nbgrader"]["points"] == exercise.points
    manual = [c for c in by_id.values() if c.metadata["nbgrader"]["grade"] and c.cell_type == "markdown"]
    assert manual
    assert all(c.source == "YOUR ANSWER HERE" for c in manual)


def kept_outputs(*sources):
    """Which cells of a lab keep their output in the release; the second one is an answer's."""
    cells = [nbformat.v4.new_code_cell(s, id=f"cell-{n}") for n, s in enumerate(sources)]
    for cell in cells:
        cell.outputs = [nbformat.v4.new_output("stream", text=cell.id)]
    about = {"grade_id": "f", "grade": False, "solution": True, "locked": False, "schema_version": 3}
    cells[1].metadata["nbgrader"] = about
    made, _ = KeepOutputs().preprocess(nbformat.v4.new_notebook(cells=cells), {})
    return [n for n, cell in enumerate(made.cells) if cell.outputs]


SETUP, STUB = "import numpy as np\nfrom autograder import check, mine, ready\nmine()", "def f(x):\n    pass"


@pytest.mark.parametrize(
    ("source", "keeps"),
    [
        ("np.zeros(3)", True),
        ("value = 3\nvalue + 1", True),
        ("async_ = 1\nawait something()", True),
        ("f(3)", False),
        ("if ready(f):\n    print(1)", False),
        ("ready()", False),
        ("np.zeros(f)", False),
        ("print(1)\nanswers = [f(n) for n in range(3)]", False),
        ("%timeit 1", False),
        ("from autograder import progress as how_far\nhow_far()", False),
    ],
)
def test_an_output_that_needs_no_answer_is_kept_and_no_other(source, keeps):
    assert kept_outputs(SETUP, STUB, source) == ([2] if keeps else [])


def test_what_needs_an_answer_by_way_of_other_cells_is_not_kept():
    by_way = (
        "def g(x):\n    return f(x) + 1",
        "class C:\n    h = staticmethod(g)",
        "C.h(2)",
        "two = g(1)",
        "two",
    )
    assert kept_outputs(SETUP, STUB, *by_way, "np.ones(2)") == [7]


def test_a_picture_is_kept_as_a_plain_png_with_its_alt_text():
    html = '<img alt="A &lt; B." style="max-width:100%" src="data:image/png;base64,QUJD">'
    shown = {"text/html": html, "text/plain": "A < B."}
    cell = nbformat.v4.new_code_cell("draw()", outputs=[nbformat.v4.new_output("display_data", shown)])
    [output] = KeepOutputs().preprocess(nbformat.v4.new_notebook(cells=[cell]), {})[0].cells[0].outputs
    assert output.data == {"image/png": "QUJD", "text/plain": "A < B."}
    assert output.metadata == {"image/png": {"alt": "A < B."}}


@pytest.mark.long
@pytest.mark.parametrize("lab", LABS_HERE)
def test_the_kept_outputs_are_what_an_untouched_notebook_gives(lab):
    """Nothing that students see before they have written a line owes anything to an answer."""
    released = nbformat.read(COURSE.released(lab), as_version=4)
    kept = kept_in(released)
    ran, _ = KeepOutputs().preprocess(building.run(released, ROOT), {})
    now = {cell.id: cell.outputs for cell in ran.cells if cell.id in kept}
    assert {name: said(outputs) for name, outputs in now.items()} == {n: said(o) for n, o in kept.items()}


def test_most_labs_keep_outputs():
    """A short one may have none that needs no answer."""
    labs = [name for name in LABS_HERE if kept_in(nbformat.read(COURSE.released(name), as_version=4))]
    assert len(labs) > len(LABS_HERE) / 2


def kept_in(released):
    return {
        c.id: c.outputs
        for c in released.cells
        if c.get("outputs") and building.MEASURED not in c.metadata.get("tags", ())
    }


def said(outputs):
    """What outputs say in text, the alt texts of pictures among it."""
    return [output.get("text") or output.data["text/plain"] for output in outputs]


@pytest.mark.long
def test_what_is_built_has_not_drifted():
    """The outputs themselves are nbval's to compare: it runs every solution."""
    assert build([LABS[lab] for lab in LABS_HERE], check=True, execute=False) == []


@pytest.fixture
def copy(tmp_path):
    """The course's files in another place, to be spoilt."""
    for name in ("solutions", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("course.toml", "nbgrader_config.py"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def small_of(copy):
    """The lab that is built the soonest."""
    return read_lab(read(copy), "additive-attention")


def drift(copy):
    return build([small_of(copy)], check=True, execute=False)


def test_a_page_of_the_course_is_built_and_its_drift_is_noticed(copy):
    (copy / "docs").mkdir()
    (copy / "docs" / "words.md").write_text("# Words\n\nOurs and theirs.\n")
    assert build_pages(read(copy), check=True) == ["notebooks/words.ipynb (the page docs/words.md)"]
    assert "Ours and theirs" not in (copy / "notebooks" / "words.ipynb").read_text()
    build_pages(read(copy))
    assert build_pages(read(copy), check=True) == []
    [cell] = nbformat.read(copy / "notebooks" / "words.ipynb", as_version=4).cells
    assert (cell.cell_type, cell.source) == ("markdown", "# Words\n\nOurs and theirs.")
    (copy / "docs" / "words.md").unlink()
    with pytest.raises(BuildError, match=r"The page docs/words\.md cannot be read"):
        build_pages(read(copy))


def test_the_pages_are_built():
    assert COURSE.pages
    assert build_pages(COURSE, check=True) == []


def test_an_edited_student_notebook_is_drift_and_building_mends_it(copy):
    path = copy / "notebooks" / "additive-attention" / "additive-attention.ipynb"
    before = path.read_bytes()
    path.write_text(path.read_text().replace("check(alignment)", "pass"))
    assert drift(copy) == [
        "notebooks/additive-attention/additive-attention.ipynb (the solution with its answers cut out)"
    ]
    assert "pass" in path.read_text(), "with --check nothing is written"
    build([small_of(copy)], execute=False)
    assert path.read_bytes() == before
    assert drift(copy) == []


def test_a_changed_solution_moves_its_own_files_only(copy):
    path = copy / "solutions" / "additive-attention" / "additive-attention.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source += "\nA new sentence."
    nbformat.write(notebook, path)
    others = {p: p.read_bytes() for p in copy.rglob("*.*") if p.is_file() and p.stem != "additive-attention"}
    assert len(drift(copy)) == 1
    build([small_of(copy)], execute=False)
    assert drift(copy) == []
    assert {p: p.read_bytes() for p in others} == others


def test_a_key_that_says_something_else_is_drift(copy):
    path = small_of(copy).course.answers("additive-attention") / "attention.key"
    header, arrays = decode(zlib.decompress(path.read_bytes()))
    case = next(c for c in header["cases"] if arrays[c["expected"]["array"]].dtype == np.float64)
    at = case["expected"]["array"]
    for change, said in (
        (1e-12, []),  # rounding, as between machines
        (0.01, ["notebooks/additive-attention/answers/attention.key (what the lab's exercises say)"]),
    ):
        changed = [array + change if i == at else array for i, array in enumerate(arrays)]
        path.write_bytes(zlib.compress(encode(header, changed)))
        assert drift(copy) == said
    header["cases"][0]["label"] += "!"
    path.write_bytes(zlib.compress(encode(header, arrays)))
    assert len(drift(copy)) == 1


def test_a_key_of_no_exercise_is_drift_and_building_takes_it_away(copy):
    path = small_of(copy).course.answers("additive-attention") / "no_more.key"
    path.write_bytes(b"old")
    assert drift(copy) == ["notebooks/additive-attention/answers/no_more.key (it belongs to no exercise)"]
    assert path.is_file(), "with --check nothing is written"
    build([small_of(copy)], execute=False)
    assert not path.exists()


def test_what_a_save_in_jupyterlab_adds_is_taken_out_again():
    notebook = solution("attention-masks")
    messy = deepcopy(notebook)
    for number, cell in enumerate(messy.cells):
        cell.metadata["collapsed"] = True
        if cell.cell_type == "code":
            cell.execution_count = number
    messy.metadata["language_info"]["version"] = "3.12.9"
    assert tidy(messy, MASKS) == tidy(notebook, MASKS)


def test_points_stand_once_and_headings_follow(monkeypatch):
    """Of exercises in their definitions, of questions at the cell that answers them."""
    notebook = MASKS.read_solution()
    monkeypatch.setattr(MASKS.exercises["causal_mask"], "points", 2.5)
    monkeypatch.setattr(MASKS.exercises["padding_mask"], "points", 1)
    monkeypatch.setitem(MASKS.by_hand, "explain-masks", 7)
    before, after = ("\n".join(c.source for c in nb.cells) for nb in (notebook, tidy(notebook, MASKS)))
    for old, new in (
        ("`causal_mask` (1 point)", "`causal_mask` (2.5 points)"),
        ("`padding_mask` (2 points)", "`padding_mask` (1 point)"),
        ("own words (4 points, ", "own words (7 points, "),
        ("It is worth 4 points", "It is worth 7 points"),
    ):
        assert old in before
        assert new not in before
        before = before.replace(old, new)
    assert after == before


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda nb, at: nb.cells.pop(at + 1), "no cell has the grade_id 'test-causal-mask'"),
        (lambda nb, at: nb.cells.insert(at, nb.cells[at]), "two cells have the grade_id 'causal-mask'"),
        (lambda nb, at: nb.cells[at + 1].update(source="assert True"), "must read check(causal_mask)"),
    ],
)
def test_a_broken_solution_is_refused(spoil, sentence):
    notebook = solution("attention-masks")
    at = next(i for i, c in enumerate(notebook.cells) if id_of(c) == "causal-mask")
    spoil(notebook, at)
    with pytest.raises(BuildError, match=re.escape(sentence)):
        tidy(notebook, MASKS)


@pytest.mark.parametrize(
    "asks", ["**Guess first**: which row?", "Before you run it, **guess**, and write it down."]
)
def test_what_is_to_be_guessed_first_is_hidden(asks):
    notebook = solution("attention-masks")
    there = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    there[2].source += f"\n\n{asks}"
    there[3].source = "**What you should see.** The first."
    said = f"the cell {there[2].id!r} says to guess first. The next text, {there[3].id!r}, is to begin with <details>"
    with pytest.raises(BuildError, match=re.escape(said)):
        tidy(notebook, MASKS)
    there[3].source = "<details><summary>What you should see</summary>\n\nThe first.\n</details>"
    tidy(notebook, MASKS)
    there[-1].source = asks
    with pytest.raises(BuildError, match=re.escape("The next text is to begin with <details>")):
        tidy(notebook, MASKS)


def test_a_solution_without_an_end_is_named():
    notebook = solution("attention-masks")
    cell = next(c for c in notebook.cells if id_of(c) == "causal-mask")
    cell.source = cell.source.replace("### END SOLUTION", "")
    with pytest.raises(BuildError, match="ClearSolutions refuses the cell 'causal-mask': no end solution"):
        release(notebook, MASKS)


def test_a_cell_that_raises_is_named():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0", id="divides")])
    with pytest.raises(BuildError, match="The cell 'divides' of a solution raises ZeroDivisionError"):
        building.run(notebook, ROOT)


def test_what_is_measured_is_another_each_time_and_no_drift():
    def notebook(text, *tags):
        output = nbformat.v4.new_output("stream", text=text)
        return nbformat.v4.new_notebook(
            cells=[
                nbformat.v4.new_code_cell("x", outputs=[output] * bool(text), metadata={"tags": list(tags)})
            ]
        )

    def built(saved, *tags):
        return (
            building.with_measured(notebook("0.2 s", *tags), notebook(saved, *tags)).cells[0].outputs[0].text
        )

    assert built("0.1 s", building.MEASURED) == "0.1 s"
    assert built("", building.MEASURED) == "0.2 s", "an output that was cleared is made anew"
    assert built("0.1 s", "illustration") == "0.2 s"


@pytest.mark.parametrize(("anew", "kept"), [(False, "old"), (True, "new")])
def test_pictures_and_measurements_are_made_anew_where_that_is_asked(copy, monkeypatch, anew, kept):
    def outputs(age):
        picture = {"text/html": f'<img src="data:image/png;base64,{age}">'}
        return [
            [nbformat.v4.new_output("display_data", picture)],
            [nbformat.v4.new_output("stream", text=age)],
        ]

    def with_outputs(notebook, age):
        notebook = deepcopy(notebook)
        drawn, measured = notebook.cells[-2:]
        drawn.outputs, measured.outputs = outputs(age)
        return notebook

    lab = small_of(copy)
    notebook = lab.read_solution()
    for tag in ("illustration", building.MEASURED):
        notebook.cells.append(nbformat.v4.new_code_cell("1", id=f"a-{tag}", metadata={"tags": [tag]}))
    lab.solution.write_text(building._dump(building.tidy(with_outputs(notebook, "old"), lab)), "utf-8")
    monkeypatch.setattr(building, "run", lambda notebook, course: with_outputs(notebook, "new"))
    build([lab], anew=anew)
    assert [cell.outputs for cell in lab.read_solution().cells[-2:]] == outputs(kept)


def test_a_widget_is_not_saved_and_leaves_no_empty_output():
    widget, words = "application/vnd.jupyter.widget-view+json", {"text/plain": "A picture."}
    outputs = [
        nbformat.v4.new_output("display_data", {widget: {"model_id": "1"}, **more}) for more in ({}, words)
    ]
    cell = nbformat.v4.new_code_cell("1", outputs=outputs)
    notebook = MASKS.read_solution()
    notebook.cells.append(cell)
    assert [output.data for output in tidy(notebook, MASKS).cells[-1].outputs] == [words]


def test_the_release_for_marking_keeps_the_marking_schemes_and_no_output():
    kept = release(solution("attention-masks"), MASKS, to_mark=True)
    assert any("MARK SCHEME" in c.source for c in kept.cells)
    assert not any(c.get("outputs") for c in kept.cells)
    assert any(c.get("outputs") for c in release(solution("attention-masks"), MASKS).cells)


def test_every_lab_has_a_place_in_the_course():
    assert [lab.order for lab in LABS.values()] == list(range(1, len(LABS) + 1))
    assert list(keys.labs()) == list(COURSE.labs)
    assert [key.order for key in keys.labs().values()] == list(range(1, len(LABS) + 1))
    assert [list(key.points) for key in keys.labs().values()] == [
        list(lab.exercises) for lab in LABS.values()
    ]


def leaks_names(notebook):
    """Names that an illustration binds and another cell uses; marking does not run illustrations."""
    import ast

    bound, used, plain = set(), set(), set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        names = [n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Name)]
        stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        stored |= {n.arg for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.arg)}
        if "illustration" in cell.metadata.get("tags", []):
            bound |= stored
        else:
            used |= {n.id for n in names if isinstance(n.ctx, ast.Load)} - stored
            plain |= stored
    return (bound & used) - plain


@pytest.mark.parametrize("lab", LABS_HERE)
def test_nothing_depends_on_an_illustration(lab):
    notebook = solution(lab)
    assert leaks_names(notebook) == set()
    notebook.cells.append(
        nbformat.v4.new_code_cell("kept_by_a_test = 1", metadata={"tags": ["illustration"]})
    )
    notebook.cells.append(nbformat.v4.new_code_cell("print(kept_by_a_test)"))
    assert leaks_names(notebook) == {"kept_by_a_test"}
