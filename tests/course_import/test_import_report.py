"""Report on an import: its cells and their points; plans of exercises and their properties."""

import pytest
from click.testing import CliRunner
from nbformat.v4 import new_markdown_cell

from course_import import command, importer, pictures
from course_import.importer import ExercisePlan, ImportReport
from course_import.nbgrader_source import CellImportReport, SourceCell


def make_report(number, points, outcome="asked as `f`", problems=(), lost=0.0, dropped=0):
    cell = SourceCell(number, "test", "", f"t{number}" if number == 1 else "", points)
    return CellImportReport(cell, outcome, [], list(problems), lost, dropped)


def test_a_report_names_each_cell_with_what_is_lost():
    first = make_report(1, 2.0, problems=["lost"], lost=1.0)
    first.additions.append("extra")
    cells = [first, make_report(2, 0.0, ""), make_report(4, 3.0, problems=["a", "b"], lost=2.0)]
    report = ImportReport("waves", cells, ["pandas"])
    assert not report.is_complete
    lines = report.text().split("\n")
    assert lines[:12] == [
        "# What became of waves",
        "",
        "- cell 1 `t1` (2 points): asked as `f`",
        "    - extra",
        "    - not: lost",
        "    - 1 point depends on this",
        "- cell 2: left out",
        "- cell 4 (3 points): asked as `f`",
        "    - not: a",
        "    - not: b",
        "    - 2 points depend on this",
        "",
    ]
    assert lines[12].startswith(
        "Answers may import Python's standard library, numpy, matplotlib and pandas. Any other"
    )


@pytest.mark.parametrize(
    ("cells", "summary"),
    [
        ([(1, 1.0)], "1 point of 1 came over as they were."),
        ([(1, 1.0), (2, 1.5)], "2.5 points of 2.5 came over as they were."),
        ([(1, 1.0), (7, 2.0, "", ["one"])],
         "1 point of 3 came over as they were; 2 came over with less than their tests ask (cell 7). "
         '1 line above with "not:" says what to do.'),
        ([(1, 1.0, "", ["one"]), (7, 2.0, "", ["one", "two"], 0.5)],
         "0 points of 3 came over as they were; 2.5 came over with less than their tests ask "
         '(cells 1 and 7); 0.5 points did not come over. 3 lines above with "not:" say what to do.'),
        # The problem concerns a whole exercise, so that the other points are whole.
        ([(1, 3.0, "", ["dropped"], 1.0, 1)],
         "2 points of 3 came over as they were; 1 point did not come over. "
         '1 line above with "not:" says what to do.'),
    ],
)  # fmt: skip
def test_the_points_that_came_over_are_summed_up(cells, summary):
    report = ImportReport("waves", [make_report(*cell) for cell in cells], [])
    assert report.text().rstrip("\n").split("\n")[-1] == summary


def make_plan(**points_by_test):
    points = {int(name[1:]): points for name, points in points_by_test.items()}
    return ExercisePlan("f", SourceCell(1, "solution", ""), points_by_test=points)


def test_the_largest_relative_and_absolute_tolerance_of_the_tests_counts():
    plan = make_plan()
    assert plan.tolerance == importer.EXACT
    plan.tolerances = [importer.EXACT]
    assert plan.tolerance == importer.EXACT
    plan.tolerances = [importer.EXACT, (1e-3, 0.0), (0.0, 0.5), 1e-2]
    assert plan.tolerance == (1e-2, 0.5)
    plan.tolerances.reverse()
    assert plan.tolerance == (1e-2, 0.5)


def test_points_of_several_tests_are_given_apart_only_if_each_has_a_case():
    plan = make_plan(n5=0.1, n3=0.2, n4=0.0)
    assert (plan.points, plan.tests, plan.has_several_scored_tests) == (0.3, [3, 4, 5], True)
    plan.add_compared_variables(["a"], 5)
    assert plan.name_parts() == {}
    plan.add_compared_variables(["b", "a"], 3)
    assert plan.name_parts() == {3: "part 1", 5: "part 2"}
    assert plan.variables == plan.compared_variables == ["a", "b"]
    one = make_plan(n3=1.0, n4=0.0)
    one.add_compared_variables(["a"], 3)
    assert one.name_parts() == {} and not one.has_several_scored_tests


def test_a_comparison_is_added_once_and_one_that_cannot_be_made_is_remembered():
    plan = make_plan(n3=1.0)
    plan.add_comparison("found == expected")
    plan.add_comparison("found == expected")
    assert (plan.comparisons, plan.lacks_comparison) == (["found == expected"], False)
    plan.add_comparison("")
    assert (plan.comparisons, plan.lacks_comparison) == (["found == expected"], True)


def test_a_remark_on_the_sandbox_stands_before_the_packages():
    report = ImportReport("waves", [make_report(1, 1.0)], [], "It ran in a sandbox.")
    assert report.is_complete
    paragraphs = report.text().split("\n\n")
    assert paragraphs[2] == "It ran in a sandbox."
    assert paragraphs[3].startswith("Answers may import")
    assert len(ImportReport("waves", [], []).text().split("\n\n")) == 4 - 1


@pytest.mark.parametrize(
    ("complete", "code"), [((True, True), 0), ((False, True), 1), ((True, False), 1)]
)
def test_the_exit_code_is_that_of_all_notebooks(monkeypatch, complete, code):
    reports = {}
    for name, is_complete in zip(("a.ipynb", "b.ipynb"), complete, strict=True):
        problems = [] if is_complete else ["lost"]
        reports[name] = ImportReport(name[0], [make_report(1, 1.0, problems=problems)], [])
    monkeypatch.setattr(
        importer, "import_notebook", lambda path, course, in_sandbox: reports[path.name]
    )
    monkeypatch.setattr(command, "find_course", lambda: None)
    result = CliRunner().invoke(command.import_notebooks, [*reports])
    assert result.exit_code == code
    for lab in "ab":
        assert f"# What became of {lab}" in result.output
        assert f"solutions/{lab} holds the lab. Read it, and run `autograder build {lab}`." in (
            result.output
        )


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("PLOT.PNG", "image/png"),
        ("a.jpeg", "image/jpeg"),
        ("a.JPG", "image/jpeg"),
        ("a.gif", "image/gif"),
        ("a.svg", "image/svg+xml"),
        ("a.webp", "image/webp"),
        ("./a.png", "image/png"),
    ],
)
def test_a_picture_of_each_kind_comes_along(tmp_path, name, mime_type):
    (tmp_path / name).write_bytes(b"abc")
    cell = new_markdown_cell(f"![a plot]({name} 'Plot')")
    report = make_report(1, 0.0)
    pictures.attach_pictures(cell, tmp_path, report)
    key = name.removeprefix("./")
    assert cell.source == f"![a plot](attachment:{key} 'Plot')"
    assert cell.attachments == {key: {mime_type: "YWJj"}}
    assert report.additions == [f"the picture `{key}` came along, inside of the cell"]
    assert not report.problems


@pytest.mark.parametrize("name", ["none.png", "a.pdf", "../a.png"])
def test_a_picture_that_is_not_beside_the_notebook_is_named(tmp_path, name):
    folder = tmp_path / "source"
    folder.mkdir()
    for path in (tmp_path / "a.png", folder / "a.pdf"):
        path.write_bytes(b"abc")
    cell, report = new_markdown_cell(f"![]({name})"), make_report(1, 0.0)
    pictures.attach_pictures(cell, folder, report)
    assert report.problems == [f"the picture `{name}` is not beside the notebook: put it there"]
    assert cell.source == f"![]({name})" and "attachments" not in cell


@pytest.mark.parametrize("name", ["https://x.org/a.png", "/a.png", "attachment:a.png", "data:x"])
def test_other_addresses_of_pictures_stay(tmp_path, name):
    cell, report = new_markdown_cell(f"<img alt='' src='{name}'>"), make_report(1, 0.0)
    pictures.attach_pictures(cell, tmp_path, report)
    assert cell.source == f"<img alt='' src='{name}'>" and not report.problems
