"""Cells of a source notebook: their roles, points, hidden lines and parts."""

import ast

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_import import nbgrader_source
from course_import.nbgrader_source import (
    CellImportReport,
    NotASourceNotebook,
    SourceCell,
    read_cells,
    read_source,
    split_points,
    split_source,
)


@pytest.mark.parametrize(
    ("nbgrader", "code_role", "text_role", "points"),
    [
        (None, "given", "text", 0),
        ("odd", "given", "text", 0),
        ({"grade": True, "points": 2}, "test", "text", 2),
        ({"solution": True, "points": 5}, "solution", "by hand", 0),
        ({"grade": True, "solution": True, "points": 1.5}, "by hand", "by hand", 1.5),
        ({"task": True, "points": 3}, "task", "task", 3),
        ({"grade": True, "points": True}, "test", "text", 0),
        ({"grade": True, "points": "2"}, "test", "text", 0),
        ({"grade": True, "points": 1_000_000}, "test", "text", 1_000_000),
    ],
)
def test_a_cell_has_the_role_and_the_points_that_nbgrader_gives_it(
    nbgrader, code_role, text_role, points
):
    cells = [new_code_cell("a"), new_markdown_cell("a")]
    for cell in cells:
        if nbgrader:
            cell.metadata["nbgrader"] = nbgrader
    code, text = read_cells(new_notebook(cells=cells))
    assert (code.number, code.role, code.points, code.is_code) == (1, code_role, points, True)
    assert (text.number, text.role, text.points, text.is_code) == (2, text_role, points, False)


@pytest.mark.parametrize("points", [-1, 1_000_001, float("nan")])
def test_points_that_no_cell_can_have_are_refused_with_the_cell(points):
    cell = new_code_cell("a", metadata={"nbgrader": {"grade": True, "points": points}})
    with pytest.raises(NotASourceNotebook, match=f"Cell 2 is worth {points} points; .* 1,000,000"):
        read_cells(new_notebook(cells=[new_code_cell("b"), cell]))


def test_hidden_lines_are_those_of_the_marks_and_between():
    lines = ["a", "  ### BEGIN HIDDEN TESTS", "b", "### END HIDDEN TESTS", "c"]
    assert SourceCell(1, "test", "\n".join(lines)).hidden_lines == {2, 3, 4}
    open_end = SourceCell(1, "test", "\n".join([*lines, "# BEGIN HIDDEN TESTS", "d"]))
    assert open_end.hidden_lines == {2, 3, 4, 6, 7}
    assert SourceCell(1, "test", "a\nb").hidden_lines == set()


def test_the_visible_code_of_a_solution_has_pass_in_place_of_each():
    source = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\nx = 2"
    cell = SourceCell(1, "solution", source)
    assert ast.unparse(cell.visible_tree) == "def f():\n    pass\nx = 2"
    assert SourceCell(1, "solution", "x = 2").visible_tree is None
    assert ast.unparse(SourceCell(1, "given", "x = 2").visible_tree) == "x = 2"


def test_lines_of_magics_are_passed_over_and_other_lines_keep_their_numbers():
    cell = SourceCell(1, "given", "%matplotlib inline\n!ls\nx = 5\\\n  % 3\n%%time\nx != 3\n% m")
    rest = "x = 5\\\n  % 3\n"
    assert cell.source_with_pass_for_magics == f"pass\npass\n{rest}pass\nx != 3\n% m"
    assert cell.without_magics == f"{rest}x != 3\n% m"


@pytest.mark.parametrize(
    ("points", "count", "shares"),
    [
        (1, 3, [0.33, 0.33, 0.34]),
        (0.1, 3, [0.03, 0.03, 0.04]),
        (2, 1, [2]),
        (0, 2, [0, 0]),
        (3, 2, [1.5, 1.5]),
    ],
)
def test_shares_of_points_add_up(points, count, shares):
    assert split_points(points, count) == shares


@pytest.mark.parametrize(
    ("source", "statements", "pieces"),
    [
        ("x = 1\n# about y\n\ny = 2\nz = 3", [0, 1], ["x = 1", "# about y\n\ny = 2", "z = 3"]),
        ("### BEGIN SOLUTION\na = 1\nb = 2\n### END SOLUTION\nc = 3", [0],
         ["### BEGIN SOLUTION\na = 1\n### END SOLUTION",
          "### BEGIN SOLUTION\nb = 2\n### END SOLUTION\nc = 3"]),
        ("### BEGIN SOLUTION\na = 1\n### END SOLUTION\nc = 3", [0],
         ["### BEGIN SOLUTION\na = 1\n### END SOLUTION", "c = 3"]),
    ],
)  # fmt: skip
def test_a_cell_is_cut_after_a_statement_and_each_solution_has_its_marks(
    source, statements, pieces
):
    assert split_source(source, ast.parse(source), statements) == pieces


def test_points_count_as_imported_in_part_if_an_assertion_is_lost():
    report = CellImportReport(SourceCell(1, "test", "", points=3.0))
    assert report.partly_imported_points == 0
    report.problems = ["an assertion"]
    assert report.partly_imported_points == 3
    report.dropped_exercises, report.lost_points = 1, 1.0
    assert report.partly_imported_points == 0
    report.problems.append("an exercise")
    assert report.partly_imported_points == 2


def write_notebook(path, **metadata):
    nbformat.write(new_notebook(cells=[new_code_cell("x = 1")], metadata=metadata), path)
    return path


def test_a_notebook_is_read_up_to_the_limit_of_its_size(tmp_path, monkeypatch):
    path = write_notebook(tmp_path / "a.ipynb")
    monkeypatch.setattr(nbgrader_source, "MAX_NOTEBOOK_BYTES", path.stat().st_size)
    assert read_source(path).cells[0].source == "x = 1"
    path.write_text(path.read_text("utf-8") + " ", "utf-8")
    with pytest.raises(NotASourceNotebook, match="MB; clear its outputs first"):
        read_source(path)


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({}, ""),
        ({"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}}, ""),
        ({"language_info": {"name": "IPython"}}, ""),
        ({"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}}, "R"),
        ({"language_info": {"name": "julia"}}, "julia"),
    ],
)
def test_only_notebooks_in_python_are_read(tmp_path, metadata, language):
    path = write_notebook(tmp_path / "a.ipynb", **metadata)
    if not language:
        assert len(read_source(path).cells) == 1
        return
    with pytest.raises(NotASourceNotebook, match=f"is written in {language}; only notebooks in"):
        read_source(path)


def test_a_path_that_is_no_notebook_is_named(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("[1]")
    for name, words in (
        ("none.ipynb", r"There is no file .*none.ipynb\."),
        ("folder", "is a folder; name the notebook in it"),
        ("text", "text is no notebook that can be read"),
    ):
        with pytest.raises(NotASourceNotebook, match=words):
            read_source(tmp_path / name)
