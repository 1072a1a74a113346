"""The built files are the solutions with their answers cut out, and every gate notices what it guards."""

import re
from copy import deepcopy

import nbformat
import numpy as np
import pytest

from autograder import keys
from autograder.cells import grade_id, id_of
from autograder.labs import LABS, exercises
from autograder.labs import build as building
from autograder.labs.build import BuildError, available, build, release, tidy

LABS_HERE = [lab for lab in available() if lab != "keras-attention"]


def solution(lab):
    return nbformat.read(building.SOLUTIONS / lab / f"{lab}.ipynb", as_version=4)


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


def leaks(notebook, text):
    return [line for line in answers(notebook) if line in text]


@pytest.mark.parametrize("lab", LABS_HERE)
def test_no_answer_stands_in_the_students_notebook(lab):
    released = nbformat.read(building.RELEASE / lab / f"{lab}.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in released.cells)
    assert len(list(answers(solution(lab)))) > 5
    assert leaks(solution(lab), text) == []
    assert all(not cell.outputs for cell in released.cells if cell.cell_type == "code")
    assert "BEGIN" not in text


@pytest.mark.parametrize("lab", LABS_HERE)
def test_a_leaked_answer_is_noticed(lab):
    line = next(iter(answers(solution(lab))))
    assert leaks(solution(lab), f"prose\n    {line}\n")


@pytest.mark.parametrize("lab", LABS_HERE)
def test_every_stub_raises_not_implemented(lab):
    released = nbformat.read(building.RELEASE / lab / f"{lab}.ipynb", as_version=4)
    by_id = {c.metadata["nbgrader"]["grade_id"]: c for c in released.cells if "nbgrader" in c.metadata}
    for exercise in exercises(lab).values():
        assert "raise NotImplementedError()" in by_id[grade_id(exercise.name)].source
        assert by_id[f"test-{grade_id(exercise.name)}"].metadata["nbgrader"]["points"] == exercise.points
    manual = [c for c in by_id.values() if c.metadata["nbgrader"]["grade"] and c.cell_type == "markdown"]
    assert manual
    assert all(c.source == "YOUR ANSWER HERE" for c in manual)


def test_what_is_built_has_not_drifted():
    assert build(LABS_HERE, check=True) == []


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The course's files in another place, to be spoilt."""
    import shutil

    for name in ("solutions", "notebooks"):
        shutil.copytree(building.ROOT / name, tmp_path / name)
    shutil.copytree(keys.KEYS, tmp_path / "keys")
    shutil.copy(building.ROOT / "nbgrader_config.py", tmp_path)
    monkeypatch.setattr(building, "ROOT", tmp_path)
    monkeypatch.setattr(building, "SOLUTIONS", tmp_path / "solutions")
    monkeypatch.setattr(building, "RELEASE", tmp_path / "notebooks")
    monkeypatch.setattr(keys, "KEYS", tmp_path / "keys")
    return tmp_path


def drift(**how):
    return build(["attention-masks"], check=True, execute=False, **how)


def test_an_edited_student_notebook_is_drift_and_building_mends_it(copy):
    path = copy / "notebooks" / "attention-masks" / "attention-masks.ipynb"
    before = path.read_bytes()
    path.write_text(path.read_text().replace("check(causal_mask)", "pass"))
    assert drift() == [
        "notebooks/attention-masks/attention-masks.ipynb is not the solution with its answers cut out"
    ]
    assert "pass" in path.read_text(), "with --check nothing is written"
    build(["attention-masks"], execute=False)
    assert path.read_bytes() == before
    assert drift() == []


def test_a_changed_solution_moves_its_own_files_only(copy):
    path = copy / "solutions" / "attention-masks" / "attention-masks.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source += "\nA new sentence."
    nbformat.write(notebook, path)
    others = {p: p.read_bytes() for p in copy.rglob("*") if p.is_file() and "attention-masks" not in str(p)}
    assert len(drift()) == 1
    build(["attention-masks"], execute=False)
    assert drift() == []
    assert {p: p.read_bytes() for p in others} == others


def test_a_key_that_says_something_else_is_drift(copy):
    path = copy / "keys" / "attention-masks" / "masked_softmax.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    name = next(n for n, a in arrays.items() if n.endswith("/expected") and a.dtype == np.float64)
    arrays[name] = arrays[name] + 1e-12  # rounding, as between machines
    np.savez(path, **arrays)
    assert drift() == []
    arrays[name] = arrays[name] + 0.01
    np.savez(path, **arrays)
    assert drift() == ["keys/attention-masks/masked_softmax.npz does not hold what the solution gives"]


def test_what_a_save_in_jupyterlab_adds_is_taken_out_again():
    notebook = solution("attention-masks")
    messy = deepcopy(notebook)
    for number, cell in enumerate(messy.cells):
        cell.metadata["collapsed"] = True
        if cell.cell_type == "code":
            cell.execution_count = number
    messy.metadata["language_info"]["version"] = "3.12.9"
    assert tidy(messy, "attention-masks") == tidy(notebook, "attention-masks")


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
        tidy(notebook, "attention-masks")


def test_a_solution_without_an_end_is_named():
    notebook = solution("attention-masks")
    cell = next(c for c in notebook.cells if id_of(c) == "causal-mask")
    cell.source = cell.source.replace("### END SOLUTION", "")
    with pytest.raises(BuildError, match="ClearSolutions refuses the cell 'causal-mask': no end solution"):
        release(notebook)


def test_a_cell_that_raises_is_named():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0", id="divides")])
    with pytest.raises(BuildError, match="The cell 'divides' of a solution raises ZeroDivisionError"):
        building.run(notebook)


def test_the_release_for_marking_keeps_the_marking_schemes():
    assert any(
        "MARK SCHEME" in c.source for c in release(solution("attention-masks"), keep_mark_schemes=True).cells
    )


def test_every_lab_has_a_place_in_the_course():
    assert list(keys.labs()) == [lab for lab in LABS if lab in keys.labs()]


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
    notebook.cells.append(nbformat.v4.new_code_cell("kept = 1", metadata={"tags": ["illustration"]}))
    notebook.cells.append(nbformat.v4.new_code_cell("print(kept)"))
    assert leaks_names(notebook) == {"kept"}
