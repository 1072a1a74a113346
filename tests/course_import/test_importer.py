"""`autograder import`: another grader's source notebook becomes a lab that builds, checks and grades."""

import ast
import csv
import json
import re
import shutil
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import psutil
import pytest
from command import autograder, autograder_in_turn
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sample_class import perfect, with_answer

from autograder.authoring.lab import read_labs
from autograder.core.course import read_course
from autograder.core.files import write_file
from autograder.judging.compare import compare_outcome
from autograder.sandbox.bubblewrap import Bubblewrap
from autograder.sandbox.choice import explain_unavailability
from autograder.sandbox.webassembly import WebAssembly
from autograder.student import answer_key
from autograder.values.case_records import CallOutcome, ComparisonRules
from autograder.values.dataframes import table_from_pandas
from autograder.values.value_types import values_agree
from course_import import dependencies, pictures, record_calls
from course_import.assertions import EXACT, read_assertions
from course_import.comparisons import make_comparison
from course_import.dependencies import read_module
from course_import.importer import _number_equal_labels
from course_import.nbgrader_source import CellImportReport, NotASourceNotebook, SourceCell
from course_import.otter_source import _OtterQuestion, _OtterReader, _read_question
from course_import.write_exercise import CaseSource, explain_unwritable, format_value

needs_sandbox = pytest.mark.skipif(
    bool(explain_unavailability()),
    reason=explain_unavailability() or "there is a sandbox",
)


def code_cell(source, name="", points=None, **flags):
    cell = new_code_cell(source.strip("\n"))
    if name:
        about = {f: flags.get(f, False) for f in ("grade", "solution", "locked", "task")}
        cell.metadata["nbgrader"] = {**about, "grade_id": name, "schema_version": 3}
        if points is not None:
            cell.metadata["nbgrader"]["points"] = points
    return cell


def solution_cell(source, name):
    return code_cell(source, name, solution=True)


def make_test(source, name, points):
    return code_cell(source, name, points, grade=True, locked=True)


def make_manual(cell, name, points):
    cell.metadata["nbgrader"] = {
        **{"grade": True, "solution": True, "locked": False, "task": False},
        **{"grade_id": name, "schema_version": 3, "points": points},
    }
    return cell


TILES = [
    new_markdown_cell("# Tiles and *paint*"),
    code_cell("%matplotlib inline\nimport numpy as np\nSIDE = 3"),
    solution_cell(
        """
def area(width, height):
    ### BEGIN SOLUTION
    return width * height
    ### END SOLUTION

def tiles(width, height, side=1):
    ### BEGIN SOLUTION
    return int(np.ceil(area(width, height) / side**2))
    ### END SOLUTION
""",
        "floor",
    ),
    make_test("assert area(2, 3) == 6\nassert area(4, 7) == 28", "test_area", 1),
    make_test(
        """
many = tiles(6, 6, side=SIDE)
assert many == 4
### BEGIN HIDDEN TESTS
assert tiles(5, 7, side=2) == 9
### END HIDDEN TESTS
""",
        "test_tiles",
        2,
    ),
    solution_cell(
        "### BEGIN SOLUTION\npaint = 2.5 * area(3, 4)\ntins = [1, 2, 3]\n### END SOLUTION",
        "paint",
    ),
    make_test(
        "assert abs(paint - 30) < 0.01\n### BEGIN HIDDEN TESTS\nassert tins == [1, 2, 3]\n### END "
        "HIDDEN TESTS",
        "t3",
        3,
    ),
    code_cell("print(paint)"),
    make_manual(new_markdown_cell("Because."), "why", 2),
    make_manual(code_cell("area(1, 1)"), "use", 1),
]


SLOW_WRITER = "import sys, time  # autograder-marker\ntime.sleep(60)\nopen(sys.argv[1], 'w')"


def build_course(course, *labs, trials=False):
    """Build a course, or some of its labs, without an error; return its messages."""
    built = autograder("build", *labs, "--course", course, trials=trials)
    assert built.returncode == 0, built.stderr
    return built.stderr


def import_cells(course, cells, exit_code=0, name="tiles-and-paint"):
    path = course.parent / f"{name}.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    ran = autograder("import", path, "--course", course)
    assert ran.returncode == exit_code, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stdout + ran.stderr


def test_functions_variables_and_manually_graded_answers_are_imported_and_build(course):
    report = import_cells(course, TILES)
    assert "9 points of 9 came over as they were" in report
    assert "magics and shell commands are taken out" in report
    assert "the domain of area is proposed" in build_course(course, "tiles-and-paint")
    tiles = (course / "solutions/tiles-and-paint/tiles.py").read_text("utf-8")
    assert (
        "floats_too=True, builds_on=[area]" in tiles
        and "inputs(5, 7, side=2)" in tiles
        and "hidden=True" in tiles
    )
    paint = (course / "solutions/tiles-and-paint/answer_paint.py").read_text("utf-8")
    assert 'hold", hidden=True' in paint.replace("'", '"')  # one of the two is in hidden tests only
    assert not answer_key.read_exercise_key(
        course / "notebooks/tiles-and-paint/answers/answer_paint.key",
        "answer_paint",
    ).test_cases
    released = nbformat.read(course / "notebooks/tiles-and-paint/tiles-and-paint.ipynb", 4)
    text = "\n".join(cell.source for cell in released.cells)
    assert "width * height" not in text and "np.ceil" not in text and "side=2" not in text
    assert 'answer_paint = answers("paint", "tins")' in text


@pytest.mark.long
@needs_sandbox
def test_an_imported_lab_is_graded_as_its_tests_would(course):
    import_cells(course, TILES)
    build_course(course)
    lab = "tiles-and-paint"
    right = course / f"solutions/{lab}/{lab}.ipynb"
    submissions = {
        "right": {},
        "wrong": {
            "return width * height": "return width + height",
            "2.5 * area(3, 4)": "2.4 * area(3, 4)",
        },
        "cheat": {"return int(np.ceil(area(width, height) / side**2))": "return 4"},
        "none": {"paint = 2.5": "pain = 2.5"},
    }
    for student, changes in submissions.items():
        text = right.read_text("utf-8")
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        place = course / "classroom/submitted" / student / lab / f"{lab}.ipynb"
        place.parent.mkdir(parents=True)
        place.write_text(text, "utf-8")
    ran = autograder("grade", lab, cwd=course)
    assert ran.returncode == 0, ran.stderr
    report = {student: autograder("show", student, cwd=course).stdout for student in submissions}
    assert "In all 6 of 9; 2 awaiting manual grading" in report["right"]
    assert "✗ area " in report["wrong"] and "✗ answer_paint" in report["wrong"]
    assert "✗ tiles " in report["cheat"]  # only a hidden case tells
    assert "✗ answer_paint" in report["none"]


@pytest.mark.parametrize(
    ("source", "kind", "tolerance"),
    [
        ("assert f(3) == 9", "value", EXACT),
        ("x = f(3)\nassert x == 9", "value", EXACT),
        ("assert (f(3) == [9, 1]).all()", "value", EXACT),
        ("assert np.allclose(f(3), 9, atol=0.1)", "value", (1e-5, 0.1)),
        ("assert math.isclose(f(3), 9, abs_tol=1e-3)", "value", (1e-9, 1e-3)),
        ("assert abs(f(3) - 9) < 10**-3", "value", (0.0, 1e-3)),
        ("assert 1/100 > np.max(np.abs(f(3) - 9))", "value", (0.0, 0.01)),
        ("np.testing.assert_allclose(f(3), 9)", "value", (1e-7, 0.0)),
        ("np.testing.assert_almost_equal(f(3), 9, decimal=2)", "value", (0.0, 0.015)),
        ("self.assertAlmostEqual(f(3), 9, places=3)", "value", (0.0, 0.0005)),
        ("self.assertAlmostEqual(f(3), 9)", "value", (0.0, 5e-8)),
        ("self.assertAlmostEqual(f(3), 9, delta=0.1)", "value", (0.0, 0.1)),
        ("assert f(3) == pytest.approx(9, 0.01)", "value", (0.01, 1e-12)),
        ("assert f(3) == pytest.approx(9, 0.01, 0.5)", "value", (0.01, 0.5)),
        ("assert round(f(3), 2) == 9.12", "value", (0.0, 0.0051)),
        ("### AUTOTEST f(3)", "value", EXACT),
        ("assert len(f(3)) == 9", "property", EXACT),
        ("assert f(3).shape == (9,)", "property", EXACT),
        ("assert isinstance(f(3), int)", "property", EXACT),
        ("assert f(3) > 8", "property", EXACT),
        ("with pytest.raises(ValueError):\n    f(3)", "error", EXACT),
        ("try:\n    f(3)\nexcept ValueError:\n    pass", "error", EXACT),
        ("print(f(3))", "nothing", EXACT),
    ],
)
def test_a_statement_is_classified(source, kind, tolerance):
    assertion = read_assertions(source)[-1]
    assert (assertion.kind, assertion.tolerance) == (kind, pytest.approx(tolerance))
    assert kind in ("nothing", "error") or assertion.has_call("f", 1)


def test_only_comparisons_of_students_names_count():
    source = "x, y = f(3)\nassert_allclose(x * y, due[0])\nassert_allclose(x, due[0])"
    assert [a.kind for a in read_assertions(source, names_to_define={"f"})] == ["property", "value"]


def test_a_distance_of_nothing_is_a_property():
    assert read_assertions("assert abs() < 1")[0].kind == "property"


def test_a_power_without_end_is_no_tolerance():
    assert read_assertions("assert abs(f(3) - 9) < 9**9**9**9**9")[0].tolerance == (0.0, EXACT)


@pytest.mark.parametrize(
    "value",
    [1, -2.5, float("inf"), "it's", None, True, [1, (2,)], {"a": {1, 2}}, {3: []}, 10**30, 1 + 2j],
)
def test_a_literal_reads_back(value):
    assert eval(format_value(value), {"float": float}) == value


def test_a_file_that_is_no_source_is_a_sentence(course, tmp_path):
    assert "is worth points" in import_cells(
        course,
        [code_cell("x = 1")],
        exit_code=2,
        name="plain",
    )
    path = tmp_path / "broken.ipynb"
    path.write_text("{", "utf-8")
    ran = autograder("import", path, "--course", course)
    assert (ran.returncode, "is no notebook" in ran.stderr) == (2, True)
    assert autograder("import", tmp_path / "not-there.ipynb", "--course", course).returncode == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[" * 100_000, "no notebook that can be read (RecursionError)"),
        (
            json.dumps(new_notebook(cells=[new_markdown_cell("\ud800")])),
            "\\ud800, which is no character",
        ),
        (
            json.dumps(new_notebook(cells=[make_test("assert 1", "\ud800", 1)])),
            "which is no character",
        ),
        *(
            (
                json.dumps(new_notebook(cells=[make_test("assert 1", "t", points)])),
                "Cell 1 is worth",
            )
            for points in (float("nan"), float("inf"), -1, 1e308)
        ),
    ],
    ids=["deep", "surrogate", "surrogate name", "nan", "infinite", "negative", "huge"],
)
def test_a_notebook_with_broken_content_is_a_sentence_and_writes_nothing(
    course, tmp_path, text, sentence
):
    path, before = tmp_path / "broken.ipynb", sorted(course.rglob("*"))
    path.write_text(text, "utf-8")
    ran = autograder("import", path, "--course", course)
    assert ran.returncode == 2 and sentence in ran.stderr and "Traceback" not in ran.stderr, (
        ran.stderr
    )
    assert sorted(course.rglob("*")) == before


def test_a_module_beside_a_notebook_named_like_a_module_of_pythons_breaks_no_import(course):
    (course.parent / "json.py").write_text("raise RuntimeError")
    (course.parent / "numpy.py").write_text("raise RuntimeError")
    import_cells(course, TILES)


def test_a_process_that_a_cell_leaves_behind_is_ended(course):
    marker = course.parent / "late"
    code = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {SLOW_WRITER!r}, {str(marker)!r}]"
    begin = time.monotonic()
    import_cells(course, [code_cell(code + ", start_new_session=True)"), *TILES])
    assert time.monotonic() - begin < 50, "the import waited for the process"
    assert not any(
        "autograder-marker" in " ".join(p.info["cmdline"] or ())
        for p in psutil.process_iter(["cmdline"])
        if "-c" in (p.info["cmdline"] or ())
    )


def test_a_file_of_a_package_that_only_a_solution_imports_stays(course):
    package = course.parent / "tools"
    package.mkdir()
    texts = {
        "__init__": "from .used import HALF",
        "used": "from tools.needed import HALF",
        "needed": "HALF = 0.5",
        "public": "",
        "answers": "def double(x):\n    return 2 * x\n",
        "more": "",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    solution = "from tools.answers import double\ndef twice(x):\n    return double(x)"
    cells = [
        code_cell("import tools.public"),
        solution_cell(f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION", "twice"),
        make_test("assert twice(2) == 4", "t", 1),
    ]
    report = import_cells(course, cells, exit_code=1, name="lab")
    assert "only a solution imports `tools/answers.py`" in report
    files = {path.name for path in (course / "tools").glob("*.py")}
    assert files == {f"{name}.py" for name in texts} - {"answers.py"}


def test_a_module_named_like_a_folder_of_the_course_stays(course):
    for name in ("notebooks", "classroom", "submitted"):
        (course.parent / f"{name}.py").write_text("HALF = 0.5")
    cells = [code_cell("import notebooks, classroom, submitted"), *TILES]
    report = import_cells(course, cells, exit_code=1)
    for name in ("notebooks", "classroom", "submitted"):
        assert f"a course keeps its own files in a folder `{name}`" in report
        assert not (course / name / "__init__.py").exists()
    assert (
        autograder("import", course.parent / "tiles-and-paint.ipynb", "--course", course).returncode
        == 2
    )


def test_a_lab_that_is_there_stays(course):
    import_cells(course, TILES)
    course_file = (course / "course.toml").read_text("utf-8")
    assert "There is a lab 'tiles-and-paint' already" in import_cells(course, TILES, exit_code=2)
    assert (course / "course.toml").read_text("utf-8") == course_file


def test_a_notebook_that_ends_its_process_is_a_sentence_and_writes_nothing(course):
    report = import_cells(course, [*TILES, code_cell("import os\nos._exit(3)")], exit_code=1)
    assert "ended its process (exit code 3)" in report
    assert not (course / "solutions/tiles-and-paint").exists()
    assert "tiles-and-paint" not in (course / "course.toml").read_text("utf-8")


REFUSES = [
    solution_cell(
        """
def root(x):
    ### BEGIN SOLUTION
    if x < 0:
        raise ValueError("x is negative")
    return x**0.5
    ### END SOLUTION
""",
        "root",
    ),
    make_test("assert root(4.0) == 2\nassert root(9.0) == 3", "t1", 1),
    make_test("import pytest\nwith pytest.raises(ValueError):\n    root(-1.0)", "t2", 1),
    make_test(
        "try:\n    root(-4.0)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError()",
        "t3",
        1,
    ),
    make_test("np.testing.assert_raises(ValueError, root, -9.0)", "t4", 1),
]


def test_an_error_that_a_test_expects_is_a_case(course):
    cells = [code_cell("import numpy as np"), *REFUSES]
    assert "4 points of 4 came over as they were." in import_cells(course, cells, name="roots")
    text = (course / "solutions/roots/root.py").read_text("utf-8")
    assert text.count("raises=ValueError") == 3
    build_course(course, "roots")


def test_parts_that_cannot_be_imported_are_listed_with_their_points(course):
    cells = [
        code_cell("import no_such_package"),
        solution_cell(
            "import random\n\ndef draw():\n    ### BEGIN SOLUTION\n    return "
            "[random.random()]\n    ### END SOLUTION",
            "draw",
        ),
        make_test("assert len(draw()) == 1", "t1", 2),
        solution_cell(
            "def first(path):\n    ### BEGIN SOLUTION\n    return open(path).read()\n    ### END SOLUTION",
            "first",
        ),
        make_test(
            "### BEGIN HIDDEN TESTS\nassert first('names.txt') == 'Ada'\n### END HIDDEN TESTS",
            "t2",
            3,
        ),
    ]
    (course.parent / "names.txt").write_text("Ada")
    report = import_cells(course, cells, exit_code=1, name="lost")
    assert (
        "`len(draw()) == 1` is kept as it is, and very different values of the same form pass it"
        in report
    )
    assert "`first`: it reads a file, and what comes along is students', too" in report
    assert "3 points depend on this" in report
    assert "it imports `no_such_package`, which is not installed here" in report
    assert "2 points of 5 came over as they were; 3 points did not come over" in report


@pytest.mark.long
def test_packages_modules_and_files_beside_a_notebook_come_along(course):
    folder = course.parent
    (folder / "halves.py").write_text("import scipy\nHALF = 0.5\n")
    (folder / "data").mkdir()
    (folder / "data" / "table.csv").write_text("town,age\nOslo,36\n")
    cells = [
        code_cell("from halves import HALF\nname = f'{HALF}'"),
        solution_cell(
            '### BEGIN SOLUTION\nrows = open("./data/table.csv").readlines()\n### END SOLUTION',
            "rows",
        ),
        make_test('assert rows == ["town,age\\n", "Oslo,36\\n"]', "t", 2),
    ]
    report = import_cells(course, cells, name="files")
    assert "`data/table.csv` came along: the notebook's first cell puts it" in report
    assert "`halves` came along" in report and "it imports `scipy`" in report
    assert 'imports = ["scipy"]' in (course / "course.toml").read_text("utf-8")
    for left in (folder / "halves.py", folder / "data" / "table.csv"):
        left.unlink()
    build_course(course)
    assert autograder("bundle", "--course", course).returncode == 0
    with zipfile.ZipFile(next((course / "dist").glob("*.zip"))) as students:
        names = {name.partition("/")[2] for name in students.namelist()}
    assert {"halves/__init__.py", "course_files/files.py"} <= names
    checked = autograder("check", course / "solutions/files/files.ipynb", "--course", course)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_property_that_a_right_value_has_anyway_gives_its_points_to_that_value(course):
    cells = [
        solution_cell("### BEGIN SOLUTION\nyears = 7\n### END SOLUTION", "years"),
        make_test("assert 'years' in vars() and years != 8", "t1", 1),
        make_test("assert years == 7", "t2", 2),
    ]
    assert "3 points of 3 came over as they were." in import_cells(course, cells, name="had")
    assert "points=3" in (course / "solutions/had/answer_years.py").read_text("utf-8")


def test_values_changed_in_place_are_compared_and_outputs_are_not(course):
    cells = [
        code_cell("names = []\ntable = {}"),
        solution_cell(
            "### BEGIN SOLUTION\nnames.append('Ada')\ntable['a'] = 7\n### END SOLUTION\ndisplay(names)",
            "n",
        ),
        make_test("assert names == ['Ada']\nassert table['a'] == 7.0", "t", 2),
    ]
    assert "2 points of 2 came over as they were." in import_cells(course, cells, name="place")
    build_course(course, "place")
    exercise_source = (course / "solutions/place/answer_names.py").read_text("utf-8")
    assert "floats_too=True" in exercise_source  # 7.0 is 7, as it is for the test


def test_a_function_that_only_makes_anothers_argument_is_asked_by_its_test(course):
    cells = [
        solution_cell(
            "def root(x):\n    ### BEGIN SOLUTION\n    return x**0.5\n    ### END SOLUTION",
            "root",
        ),
        make_test("assert root(4) == 2", "t1", 1),
        solution_cell(
            "def large():\n    ### BEGIN SOLUTION\n    return 10**6\n    ### END SOLUTION",
            "large",
        ),
        make_test("n = large()\nassert abs(root(n) - 1000) < 500", "t2", 2),
    ]
    assert "3 points of 3 came over as they were." in import_cells(course, cells, name="means")
    text = (course / "solutions/means/large.py").read_text("utf-8")
    assert "builds_on=[root]" in text and "inputs_for_test(large_in_4)" in text
    build_course(course, "means")


@pytest.mark.long
def test_a_check_that_only_looks_at_the_form_becomes_a_comparison(course):
    cells = [
        code_cell("import numpy as np"),
        solution_cell(
            "### BEGIN SOLUTION\ngrid = np.arange(1, 13).reshape(3, 4)\n### END SOLUTION",
            "grid",
        ),
        make_test("assert grid.shape == (3, 4) and isinstance(grid, np.ndarray)", "t", 2),
    ]
    assert "2 points of 2 came over as they were." in import_cells(course, cells, name="form")
    build_course(course, "form")


def test_a_test_that_names_a_file_finds_it(course):
    (course.parent / "names.txt").write_text("Ada\n")
    solution = "def first(path):\n    ### BEGIN SOLUTION\n    return open(path).readline()\n    ### END SOLUTION"
    cells = [
        solution_cell(solution, "first"),
        make_test("assert first('names.txt') == 'Ada\\n'", "t", 2),
    ]
    assert "2 points of 2 came over as they were." in import_cells(course, cells, name="paths")
    assert 'first(beside("names.txt"))' in (course / "course_checks/paths.py").read_text("utf-8")
    build_course(course, "paths")


def test_a_test_that_its_own_solution_does_not_pass_makes_no_exercise(course):
    cells = [
        solution_cell(
            "def one():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION",
            "one",
        ),
        make_test("assert one() == 1", "t1", 1),
        make_test("assert one() == 2", "t2", 2),
    ]
    report = import_cells(course, cells, exit_code=1, name="own")
    assert (
        "the notebook's own solution does not pass it: AssertionError" in report
        and "2 points depend" in report
    )
    assert "points=1," in (course / "solutions/own/one.py").read_text("utf-8").replace(
        "points=1)",
        "points=1,",
    )


def test_a_notebook_without_its_solutions_is_refused(course):
    cells = [solution_cell("def one():\n    pass", "one"), make_test("assert one() == 1", "t1", 1)]
    report = import_cells(course, cells, exit_code=1, name="release")
    assert "passes none of its own tests (AssertionError): is it what students get" in report
    assert not (course / "solutions" / "release").exists()
    assert (
        "is a folder; name the notebook in it"
        in autograder("import", course, "--course", course).stderr
    )


def test_a_table_among_the_arguments_reads_back():
    pd = pytest.importorskip("pandas")
    dates = pd.to_datetime(["2026-01-02", "2026-03-04"])
    for frame in (
        pd.DataFrame(
            {"town": ["Oslo", None], "age": [36, 41], 7: [0.5, float("nan")], "born": dates},
        ),
        pd.DataFrame({"age": [36, 41]}, index=["b", "a"]),
        pd.Series([True, False], index=[3, 1], name="open"),
    ):
        table = table_from_pandas(frame)
        assert not explain_unwritable((table,), {})
        assert values_agree(
            table,
            table_from_pandas(eval(format_value(table), {"pd": pd})),
            ComparisonRules(exact_dtype=True),
        )
    levels = pd.DataFrame({"age": [36, 41]}, index=pd.MultiIndex.from_arrays([[1, 2], [3, 4]]))
    assert "cannot be written down" in explain_unwritable((table_from_pandas(levels),), {})


@pytest.mark.parametrize("name", [0, "", "open", None])
def test_a_series_among_the_arguments_keeps_its_name(name):
    pd = pytest.importorskip("pandas")
    source = format_value(table_from_pandas(pd.Series([1.5, 2.5], name=name)))
    assert eval(source, {"pd": pd}).name == name


def test_a_float_will_do_for_a_whole_number_unless_a_test_asks_for_its_type(course):
    cells = [
        solution_cell(
            "def one(x):\n    ### BEGIN SOLUTION\n    return x + 1\n    ### END SOLUTION",
            "one",
        ),
        make_test("assert one(2) == 3", "t1", 1),
        solution_cell(
            "def two(x):\n    ### BEGIN SOLUTION\n    return x + 2\n    ### END SOLUTION",
            "two",
        ),
        make_test("assert two(2) == 4\nassert isinstance(two(2), int)", "t2", 1),
        solution_cell(
            "def odd(x):\n    ### BEGIN SOLUTION\n    return x % 2 == 1\n    ### END SOLUTION",
            "odd",
        ),
        make_test("assert odd(3) == True\nassert not odd(4)", "t3", 1),
        solution_cell(
            "def even(x):\n    ### BEGIN SOLUTION\n    return x % 2 == 0\n    ### END SOLUTION",
            "even",
        ),
        make_test("assert even(3) is False", "t4", 1),
    ]
    report = import_cells(course, cells, name="whole")
    assert (
        "matplotlib. Any other package is refused. If answers" in report
    )  # it names none: any may be allowed
    assert "4 points of 4 came over as they were." in report
    assert "is weaker here" not in report
    checks = (course / "course_checks/whole.py").read_text("utf-8")
    assert "isinstance(found, int)" in checks  # beside the value
    names = ("one", "two", "odd", "even")
    files = {name: (course / f"solutions/whole/{name}.py").read_text("utf-8") for name in names}
    assert ["floats_too=True" in text for text in files.values()] == [True, False, True, False]
    for value, right in ((1, True), (1.0, True), (0, False), (2, False), ("1", False)):
        assert (
            compare_outcome(True, CallOutcome(value, "int"), ComparisonRules(floats_too=True))
            is None
        ) is right
    assert compare_outcome(True, CallOutcome(1, "int"), ComparisonRules())


@pytest.mark.long
def test_names_that_a_test_makes_for_later_cells_stay(course):
    cells = [
        solution_cell(
            "def half(x):\n    ### BEGIN SOLUTION\n    return x / 2\n    ### END SOLUTION",
            "half",
        ),
        make_test(
            """
numbers, secret = [2.0, 3.0], 1.0
assert half(numbers[0]) == 1
### BEGIN HIDDEN TESTS
secret = 3.0
assert half(secret) == 1.5
### END HIDDEN TESTS
""",
            "t1",
            1,
        ),
        solution_cell(
            "### BEGIN SOLUTION\nhalves = [half(n) for n in numbers]\n### END SOLUTION",
            "halves",
        ),
        code_cell("print(secret)"),
        make_test("assert halves == [1, 1.5]", "t2", 1),
    ]
    assert "2 points of 2 came over as they were." in import_cells(course, cells, name="halves")
    build_course(course, "halves")
    released = (course / "notebooks/halves/halves.ipynb").read_text("utf-8")
    assert "numbers, secret = [2.0, 3.0], 1.0" in released and "secret = 3.0" not in released


def test_a_solution_that_reads_what_only_a_test_sets_is_named(course):
    cells = [
        solution_cell(
            "def scaled(x):\n    ### BEGIN SOLUTION\n    return x * FACTOR\n    ### END SOLUTION",
            "scaled",
        ),
        make_test("FACTOR = 3\nassert scaled(2) == 6\nassert scaled(3) / 3 < FACTOR + 1", "t1", 2),
    ]
    report = import_cells(course, cells, exit_code=1, name="scaled")
    assert "reads `FACTOR`, which a test sets" in report and "2 points depend on this" in report
    build_course(course, "scaled")


def test_large_arrays_are_taken_from_the_reference(course):
    cells = [
        code_cell("import numpy as np\nraw = np.arange(5000)"),
        solution_cell("### BEGIN SOLUTION\nlarge = raw[raw > 4000]\n### END SOLUTION", "large"),
        make_test("assert large.max() == raw.max() and large.min() > 100", "t1", 2),
    ]
    assert "2 points of 2 came over as they were." in import_cells(course, cells, name="large")
    text = (course / "solutions/large/answer_large.py").read_text("utf-8")
    assert "as_due=['raw']" in text and len(text) < 1000
    build_course(course, "large")


def raw(source):
    return nbformat.v4.new_raw_cell(source)


SEVERAL_ANSWERS = [
    code_cell(
        "import numpy as np\nimport itertools\n\ndef is_sorted(x):\n    return list(x) == sorted(x)",
    ),
    solution_cell(
        "def weights(n):\n    ### BEGIN SOLUTION\n    return "
        "list(np.random.dirichlet(np.ones(n)))\n    ### END SOLUTION",
        "w",
    ),
    make_test(
        """
result = weights(4)
assert len(result) == 4
assert abs(sum(result) - 1) < 1e-9, "they add up to 1"
### BEGIN HIDDEN TESTS
for n in (2, 7):
    assert all(x > 0 for x in weights(n))
### END HIDDEN TESTS
""",
        "t1",
        2,
    ),
    solution_cell(
        "def turn(x):\n    ### BEGIN SOLUTION\n    return -x\n    ### END SOLUTION",
        "turn",
    ),
    make_test(
        "for x in range(5):\n    assert turn(turn(x)) == x\n    assert turn(x + 1) < 0",
        "t2",
        1,
    ),
    solution_cell(
        "def solve(f, x):\n    ### BEGIN SOLUTION\n    return x - f(x) / (2 * x), 1\n    ### END SOLUTION",
        "solve",
    ),
    make_test(
        """
def square(x):
    return x * x - 2

x, steps = solve(square, 1.5)
assert abs(x - 1.416666) < 1e-3
counts = []
for start in (1.0, 2.0):
    counts.append(solve(square, start)[1])
assert max(counts) < 5
""",
        "t3",
        1,
    ),
    solution_cell(
        "def adder(a):\n    ### BEGIN SOLUTION\n    return lambda b: a + b\n    ### END SOLUTION",
        "adder",
    ),
    make_test("g = adder(2)\nassert g(3) == 5", "t4", 1),
    solution_cell(
        "def evens():\n    ### BEGIN SOLUTION\n    return itertools.count(0, 2)\n    ### END SOLUTION",
        "evens",
    ),
    make_test(
        "assert list(itertools.islice(evens(), 3)) == [0, 2, 4] and "
        "is_sorted([*itertools.islice(evens(), 4)])",
        "t5",
        1,
    ),
    solution_cell("### BEGIN SOLUTION\npick = 7\nspots = np.arange(4.0)\n### END SOLUTION", "pick"),
    make_test(
        "assert spots[1] == 1\n### BEGIN HIDDEN TESTS\nassert 5 < pick < 9\n### END HIDDEN TESTS",
        "t6",
        2,
    ),
    solution_cell("### BEGIN SOLUTION\ndoubled = [2 * pick, 3]\n### END SOLUTION", "dbl"),
    make_test("assert doubled == [14, 3]", "t7", 2),
]


@pytest.mark.long
def test_an_assertion_without_comparison_becomes_a_test_function(course):
    assert "10 points of 10 came over as they were." in import_cells(
        course, SEVERAL_ANSWERS, name="several"
    )
    build_course(course, "several")
    lab = course / "solutions/several"
    checks = (course / "course_checks/several.py").read_text("utf-8")
    assert "def solve_in_7(solve)" in checks and "counts.append" in checks
    student_notebooks = [p.read_text("utf-8") for p in (course / "notebooks").rglob("*.ipynb")]
    assert not any("5 < pick" in text or "x > 0" in text for text in [checks, *student_notebooks])
    assert "5 < pick < 9" in (lab / "answer_spots.py").read_text("utf-8")
    assert "builds_on=[answer_spots]" in (lab / "answer_doubled.py").read_text("utf-8")


@pytest.mark.long
@needs_sandbox
def test_any_answer_that_passes_the_tests_gets_their_points_and_no_other(course):
    import_cells(course, SEVERAL_ANSWERS, name="several")
    build_course(course, "several")
    solution = nbformat.read(course / "solutions/several/several.ipynb", 4)
    answers = {
        "solution": {},
        "others": {
            "weights": "def weights(n):\n    return [1 / n] * n",
            "turn": "def turn(x):\n    return -1 * x",
            "evens": "def evens():\n    n = 0\n    while True:\n        yield n\n        n += 2",
            "answer-spots": "pick = 7.0\nspots = np.arange(4.0)",
        },
        "wrong": {
            "weights": "def weights(n):\n    return [1.0] * n",
            "turn": "def turn(x):\n    return x",
            "solve": "def solve(f, x):\n    return x, 1",
            "adder": "def adder(a):\n    return lambda b: a - b",
            "evens": "def evens():\n    return iter([0, 2])",
            "answer-spots": "pick = 30\nspots = np.arange(4.0)",
        },
    }
    for student, new in answers.items():
        notebook = nbformat.read(course / "notebooks/several/several.ipynb", 4)
        for cell, right in zip(notebook.cells, solution.cells, strict=True):
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = new.get(cell.metadata.nbgrader.grade_id, right.source)
        path = course / f"classroom/submitted/{student}/several/several.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    ran = autograder(
        "grade",
        "--course",
        course,
        "--classroom",
        course / "classroom",
        "--json",
        course / "out.jsonl",
    )
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in (course / "out.jsonl").read_text("utf-8").splitlines()]
    wrong = {
        row["exercise"] for row in rows if row["student"] == "wrong" and row["verdict"] != "pass"
    }
    assert wrong == {"weights", "turn", "solve", "adder", "evens", "answer_spots"}
    assert all(row["verdict"] == "pass" for row in rows if row["student"] != "wrong")
    (row_of_dependent,) = (
        r for r in rows if r["student"] == "wrong" and r["exercise"] == "answer_doubled"
    )
    assert (
        row_of_dependent["kind"] == "followed"
        and "builds on `answer_spots`" in row_of_dependent["message"]
    )
    report = {row["exercise"]: row["message"] for row in rows if row["student"] == "wrong"}
    assert (
        report["weights"]
        == "This assertion fails: `abs(sum(result) - 1) < 1e-09`. they add up to 1"
    )
    assert "`counts" not in report["solve"] and "abs(x - 1.416666)" in report["solve"]


OTTER = [
    raw("# ASSIGNMENT CONFIG\ngenerate: true"),
    raw("# BEGIN QUESTION\nname: q1\npoints: 3"),
    new_markdown_cell("How many legs have so many cows?"),
    raw("# BEGIN SOLUTION"),
    code_cell(
        'def legs(cows):\n    """ # BEGIN PROMPT\n    ...\n    """ # END PROMPT\n    return 4 * cows  # SOLUTION',
    ),
    raw("# END SOLUTION"),
    raw("# BEGIN TESTS"),
    code_cell("legs(3)"),
    code_cell(
        '""" # BEGIN TEST CONFIG\npoints: 2\nhidden: true\n""" # END TEST CONFIG\n'
        "def test_many(legs):\n    assert legs(25) == 100",
    ),
    raw("# END TESTS"),
    raw("# END QUESTION"),
    raw("# BEGIN QUESTION\nname: q2\nmanual: true\npoints: 2"),
    new_markdown_cell("Why?"),
    raw("# BEGIN SOLUTION"),
    new_markdown_cell("**SOLUTION:** because."),
    raw("# END SOLUTION"),
    raw("# END QUESTION"),
    new_markdown_cell("```\nBEGIN QUESTION\nname: q3\n```\nThe older form."),
    code_cell("herd = 12 # SOLUTION"),
    code_cell("## Test ##\nherd == 12"),
]


@pytest.mark.long
def test_otters_notebooks_are_imported_in_both_formats(course):
    assert "6 points of 6 came over as they were." in import_cells(course, OTTER, name="cows")
    text = (course / "solutions/cows/legs.py").read_text("utf-8")
    assert "points=3" in text and "hidden=True" in text and "inputs(25)" in text
    build_course(course, "cows")
    released = nbformat.read(course / "notebooks/cows/cows.ipynb", 4)
    text = "\n".join(cell.source for cell in released.cells)
    assert (
        "4 * cows" not in text
        and "herd = 12" not in text
        and "BEGIN" not in text
        and "25" not in text
    )
    assert "because" not in text and "Why?" in text and "check(answer_herd)" in text


PICKS = [
    code_cell("import numpy as np\nlimit = 9"),
    solution_cell("### BEGIN SOLUTION\npick = 7\nspots = np.arange(4.0)\n### END SOLUTION", "pick"),
    make_test("assert 5 < pick < limit\nassert spots.shape == (4,)", "t1", 2),
]


def test_properties_of_variables_become_a_check_that_takes_any_right_answer(course):
    assert "2 points of 2 came over as they were." in import_cells(course, PICKS, name="picks")
    build_course(course)
    names = {}
    exec((course / "course_checks/picks.py").read_text("utf-8"), names)
    test = names["answer_in_3"]
    test(lambda *_: {"pick": 6, "spots": np.ones(4)}, limit=9)
    with pytest.raises(AssertionError):
        test(lambda *_: {"pick": 50, "spots": np.ones(4)}, limit=9)


@pytest.mark.long
def test_a_stub_that_is_no_python_and_a_cell_that_raises_do_not_stop_the_build(course):
    cells = [
        code_cell("nothing_of_this_name + 8"),
        solution_cell(
            "total = 0\nfor n in [1, 2]:\n### BEGIN SOLUTION\n    total += n\n### END SOLUTION",
            "total",
        ),
        make_test("assert total == 3", "t1", 1),
    ]
    report = import_cells(course, cells, exit_code=1, name="sums")
    assert "1 point of 1 came over" in report and "it raises NameError" in report
    build_course(course)


SEEDS = {
    "NumPy's": ("", "np.random.seed(1234)", "np.random.normal(size=5)"),
    "a generator": ("", "rng = np.random.default_rng(7)", "rng.normal(size=5)"),
    "Python's": (
        "import random",
        "random.seed(3)",
        "np.array([random.random() for _ in range(5)])",
    ),
}


@pytest.mark.parametrize(("imports", "seed", "draw"), SEEDS.values(), ids=SEEDS)
def test_a_seed_of_a_test_that_is_kept_is_kept(course, imports, seed, draw):
    """Without it the test's two runs draw other numbers, and its own solution seems to fail."""
    test = f"{seed}\nsample = {draw}\nleft, right = halves(sample)\nassert np.allclose(left + right, sample)"
    cells = [
        code_cell(f"import numpy as np\n{imports}"),
        solution_cell(
            "def halves(a):\n    ### BEGIN SOLUTION\n    return a * 0.25, a * 0.75\n    ### END SOLUTION",
            "halves",
        ),
        make_test(f"### BEGIN HIDDEN TESTS\n{test}\n### END HIDDEN TESTS", "test_halves", 3),
    ]
    report = import_cells(course, cells, name="splitting")
    assert "3 points of 3 came over" in report and "not:" not in report
    exercise_source = (course / "solutions" / "splitting" / "halves.py").read_text()
    assert seed in exercise_source and "np.allclose(left + right, sample)" in exercise_source


@pytest.mark.long
def test_a_file_beside_the_notebook_is_where_the_notebook_looks(course):
    """`open("data/table.csv")`, as its text asks it, is right in a check, in the bundle and where it is marked."""
    (course.parent / "data").mkdir()
    (course.parent / "data" / "table.csv").write_text("town,age\nOslo,36\n")
    cells = [
        code_cell("first = open('data/table.csv').readline()"),
        solution_cell(
            '### BEGIN SOLUTION\nrows = open("data/table.csv").readlines()\n### END SOLUTION',
            "rows",
        ),
        make_test('assert rows == ["town,age\\n", "Oslo,36\\n"]', "t", 2),
    ]
    report = import_cells(course, cells, name="files")
    assert (
        "`data/table.csv` came along: the notebook's first cell puts it where the notebook looks"
        in report
    )
    shutil.rmtree(course.parent / "data")
    build_course(course)
    lab = read_labs(read_course(course))["files"]
    right = with_answer(perfect(lab), "rows", 'rows = open("data/table.csv").readlines()')
    folder = course.parent / "a student's"
    assert autograder("start", folder, "--course", course).returncode == 0
    nbformat.write(right, folder / "files" / "files.ipynb")
    checked = autograder("check", folder / "files" / "files.ipynb", "--course", course, cwd=folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert (folder / "files" / "data" / "table.csv").is_file() and not (
        course / "data" / "table.csv"
    ).exists()
    (folder / "files" / "data" / "table.csv").write_text("mine\n")  # what is there stays
    for sandbox in ("bubblewrap", "webassembly"):
        if why_unavailable_there(sandbox):
            continue
        marked = autograder(
            "mark",
            folder / "files/files.ipynb",
            "--course",
            course,
            "--sandbox",
            sandbox,
        )
        reply = json.loads(marked.stdout)
        assert (reply["score"], reply["max_score"]) == (2, 2), reply
    assert not (course / "data").exists() and not Path("data/table.csv").exists()


def why_unavailable_there(sandbox):
    kind = {"bubblewrap": Bubblewrap, "webassembly": WebAssembly}[sandbox]
    return kind.explain_unavailability()


def test_a_module_that_only_a_solution_imports_stays_with_its_author(course):
    folder = course.parent
    (folder / "teacher_only.py").write_text("def right(x):\n    return x + 1  # THE SOLUTION\n")
    (folder / "for_all.py").write_text("ONE = 1\n")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "secret.py").write_text("")
    (folder / "linked").symlink_to(folder / "elsewhere")
    source = (
        "from for_all import ONE\n\ndef following(x):\n    ### BEGIN SOLUTION\n"
        "    from teacher_only import right\n    return right(x)\n    ### END SOLUTION"
    )
    cells = [
        code_cell("import for_all"),
        solution_cell(source, "following"),
        make_test("assert following(1) == 2", "t", 1),
    ]
    report = import_cells(course, cells, exit_code=1, name="next")
    assert "only its solution imports `teacher_only`" in report and "`for_all` came along" in report
    assert (course / "for_all" / "__init__.py").exists() and not (course / "teacher_only").exists()
    assert not [path for path in course.rglob("*.py") if "THE SOLUTION" in path.read_text("utf-8")]
    assert read_module(folder, "linked") == {} and read_module(folder, "for_all")


def test_functions_that_read_what_a_test_sets_are_lost_with_their_share_of_the_points(course):
    """Each of three functions has a point of the cell; two read a name that the cell sets anew."""
    functions = {"area": "return SIDE * x", "ring": "return 4 * SIDE * x", "double": "return 2 * x"}
    cells = [code_cell("SIDE = 3")]
    for name, body in functions.items():
        source = f"def {name}(x):\n    ### BEGIN SOLUTION\n    {body}\n    ### END SOLUTION"
        cells.append(solution_cell(source, name))
    test = "SIDE = 4\nassert area(2) == 8\nassert ring(2) == 32\nassert double(2) == 4"
    report = import_cells(course, [*cells, make_test(test, "t1", 3)], exit_code=1, name="sides")
    assert "`area`: its solution reads `SIDE`, which a test sets" in report
    assert "`ring`: its solution reads `SIDE`, which a test sets" in report
    assert "2 points depend on this" in report
    assert "1 point of 3 came over as they were; 2 points did not come over" in report


@pytest.mark.parametrize(
    "first_lines",
    [
        '""" # BEGIN TEST CONFIG\nhidden: TRUE\n""" # END TEST CONFIG',
        '""" # BEGIN TEST CONFIG\nhidden: yes\n""" # END TEST CONFIG',
        '_ = """ # BEGIN TEST CONFIG\nhidden: true\npoints: 0.75\n""" # END TEST CONFIG',
        "# HIDDEN",
        "# Test 2 (hidden)",
        "## Hidden Test ##",
    ],
)
def test_otters_hidden_tests_are_found_however_true_is_written(first_lines):
    cells = [
        nbformat.v4.new_raw_cell("# BEGIN QUESTION\nname: q1\npoints: 1"),
        nbformat.v4.new_raw_cell("# BEGIN TESTS"),
        code_cell("legs(3) == 12"),
        code_cell(f"{first_lines}\nlegs(5) == 20"),
        nbformat.v4.new_raw_cell("# END TESTS"),
        nbformat.v4.new_raw_cell("# END QUESTION"),
    ]
    tests = [cell.source for cell in _OtterReader().convert_cells(cells) if "legs" in cell.source]
    assert [("HIDDEN" in source, "legs(5)" in source) for source in tests] == [
        (False, False),
        (True, True),
    ]


@needs_sandbox
def test_hidden_tests_show_no_expected_value(course):
    """Neither the label of a case nor the text of a test function, which an answer can read."""
    cells = [
        solution_cell(
            "def legs(n):\n    ### BEGIN SOLUTION\n    return 4 * n\n    ### END SOLUTION", "legs"
        ),
        make_test(
            "assert legs(1) == 4\n### BEGIN HIDDEN TESTS\nassert legs(7) == 28\nassert legs(3) < 1e4\n"
            "assert str(legs(11))[0] == '4'\n### END HIDDEN TESTS",
            "test_legs",
            2,
        ),
    ]
    import_cells(course, cells, name="animals")
    text = (course / "solutions" / "animals" / "legs.py").read_text("utf-8")
    assert "@legs.case('hidden test 2', hidden=True)" in text
    assert "inputs(7)" in text and "legs(11)" in text and "28" not in text


# Lines of a hidden test, each with the comparison that students may see.
HIDDEN_LINES = {
    "np.allclose(double([4.0, 6.5]).sum() - 21.0, 0)": "",
    "(double(3) == 42) == True": "",
    "np.allclose(double([1.0]) - 2 * np.pi, 0)": "",
    "np.isclose(double([1.0]), 42).all() == True": "",
    "np.testing.assert_array_equal(double([3]), [42], 'it is 42')": "",
    "np.allclose({21: double(3)}[21], 42)": "",
    "hasattr(double(3), 'sums')": "",
    "double([4.0])[0] == 42": "assert found[0] == expected[0]",
    "np.allclose(double([4.0]), 42, rtol=0.01)": "assert np.allclose(found, expected, rtol=0.01)",
    "round(double(2.1), 2) == 4.2": "assert round(found, 2) == round(expected, 2)",
    "double([[4]]).sum(axis=0) == 42": "assert found.sum(axis=0) == expected.sum(axis=0)",
    "type(double(2)) == float": "assert type(found) == float",
    "isinstance(double(2), float)": "assert isinstance(found, float)",
}


@pytest.mark.parametrize("line", HIDDEN_LINES)
def test_a_comparison_of_a_hidden_test_holds_no_value_of_it(line):
    is_call = line.startswith("np.testing")
    source = line if is_call else f"assert {line}"
    (assertion,) = read_assertions(source, names_to_define={"double"}, hidden={1})
    assert make_comparison(assertion, "double", False) == HIDDEN_LINES[line]


def test_the_published_checks_hold_no_constant_of_a_hidden_test(course):
    source = (
        "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * np.array(x)\n    ### END SOLUTION"
    )
    hidden = "assert np.allclose(double([4.0, 6.5]).sum() - 21.0, 0)"
    cells = [
        code_cell("import numpy as np"),
        solution_cell(source, "double"),
        make_test(
            "assert np.allclose(double([4.0, 6.5]), [8.0, 13.0])\n"
            f"### BEGIN HIDDEN TESTS\n{hidden}\n"
            "### END HIDDEN TESTS",
            "test_double",
            2,
        ),
    ]
    import_cells(course, cells, name="doubling")
    for path in (course / "course_checks").rglob("*.py"):
        assert not re.search(r"\b21\b", path.read_text("utf-8")), path


# A class as an answer, objects of other packages, properties


STACK = [
    solution_cell(
        """
class Stack:
    ### BEGIN SOLUTION
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def __len__(self):
        return len(self.items)
    ### END SOLUTION
""",
        "stack",
    ),
    make_test(
        """
s = Stack()
assert len(s) == 0
s.push(3)
s.push(4)
assert len(s) == 2 and isinstance(s, Stack)
""",
        "test_stack",
        3,
    ),
]


@needs_sandbox
@pytest.mark.long
def test_a_class_is_asked_by_what_its_objects_do(course):
    report = import_cells(course, STACK, name="stacks")
    assert "3 points of 3 came over as they were" in report and "not:" not in report
    build_course(course, "stacks")
    lab = read_labs(read_course(course))["stacks"]
    wrong = "class Stack(list):\n    def push(self, item):\n        self[:] = [item]\n"
    right_in_another_way = (
        "class Stack:\n    def __init__(self):\n        self.top, self.n = None, 0\n"
        "    def push(self, item):\n        self.top, self.n = (item, self.top), self.n + 1\n"
        "    def __len__(self):\n        return self.n\n"
    )
    answers = [("Stack", source) for source in (None, wrong, right_in_another_way)]
    replies = mark_answers(course, lab, answers)
    assert [reply["score"] for reply in replies] == [3, 0, 3]
    assert "len(s) == 2" in replies[1]["results"][0]["message"]


def mark_answers(course, lab, answers):
    """Return the replies of `autograder mark` to the solution with each of these answers.

    `answers` are pairs of an exercise and a source; None stands for the solution's.
    """
    return mark_submissions(course, lab, [dict([answer]) for answer in answers])


def mark_submissions(course, lab, submissions):
    """Return the replies to the solution with the answers of each submission, by exercise."""
    solution = perfect(lab)
    commands = []
    for number, answers in enumerate(submissions):
        notebook = solution
        for exercise, answer in answers.items():
            if answer is not None:
                notebook = with_answer(notebook, exercise, answer)
        path = course.parent / f"submission-{number}.ipynb"
        nbformat.write(notebook, path)
        commands.append(("mark", path, "--course", course))
    replies = []
    for marked in autograder_in_turn(commands):
        assert marked.returncode == 0, marked.stdout + marked.stderr
        replies.append(json.loads(marked.stdout))
    return replies


def check_scores(course, lab, exercise, scores):
    """Check the score of the lab's solution with each of these answers to an exercise."""
    replies = mark_answers(course, lab, [(exercise, answer) for answer, _ in scores])
    for (answer, score), reply in zip(scores, replies, strict=True):
        assert reply["score"] == score, answer


FITTED = [
    code_cell("import numpy as np\nx = np.arange(6.0)\ny = 2 * x + 1"),
    solution_cell(
        """
### BEGIN SOLUTION
line = np.poly1d(np.polyfit(x, y, 1))
### END SOLUTION
""",
        "fit",
    ),
    make_test(
        """
assert line.order == 1
assert abs(line(10.0) - 21) < 1e-6
assert np.allclose(line.coef, [2, 1])
""",
        "test_fit",
        4,
    ),
]


@needs_sandbox
@pytest.mark.long
def test_an_object_of_any_package_is_asked_by_its_methods_and_attributes(course):
    report = import_cells(course, FITTED, name="fits")
    assert "4 points of 4 came over as they were" in report and "not:" not in report, report
    build_course(course, "fits")
    lab = read_labs(read_course(course))["fits"]
    scores = (
        (None, 4),
        ("line = np.poly1d([2.0, 1.0])", 4),
        ("line = np.poly1d([2.0, 3.0])", 0),
        ("line = np.array([2.0, 1.0])", 0),
        ("line = 3", 0),
    )
    check_scores(course, lab, "answer_line", scores)


FREE = [
    code_cell("import numpy as np"),
    solution_cell(
        """
def unit(v):
    ### BEGIN SOLUTION
    return v / np.linalg.norm(v)
    ### END SOLUTION

def reflect(v):
    ### BEGIN SOLUTION
    out = np.zeros_like(v)
    out[0] = np.linalg.norm(v)
    w = v - out
    return np.eye(len(v)) - 2 * np.outer(w, w) / (w @ w), out
    ### END SOLUTION

def evens(n):
    ### BEGIN SOLUTION
    return [2 * i for i in range(n)]
    ### END SOLUTION
""",
        "free",
    ),
    make_test("assert abs(np.linalg.norm(unit(np.array([3.0, 4.0]))) - 1) < 1e-9", "t1", 1),
    make_test(
        """
v = np.array([1.0, 2.0, 2.0])
before = v.copy()
h, out = reflect(v)
np.testing.assert_allclose(h @ v, out, atol=1e-9)
np.testing.assert_allclose(np.linalg.norm(out), 3.0)
assert abs(out[1]) < 1e-9 and abs(out[2]) < 1e-9
np.testing.assert_allclose(v, before)
""",
        "t2",
        2,
    ),
    make_test("assert sorted(evens(3)) == [0, 2, 4]\nassert set(evens(2)) == {0, 2}", "t3", 1),
]


@needs_sandbox
@pytest.mark.long
def test_a_property_stays_a_property(course):
    """A right answer of another sign or order passes the author's tests, and so it passes here."""
    report = import_cells(course, FREE, name="free")
    assert "4 points of 4 came over as they were" in report and "not:" not in report, report
    build_course(course, "free")
    lab = read_labs(read_course(course))["free"]
    source = {name: lab.reference_cells[name] for name in lab.exercises}
    submissions = (
        (
            ("unit", "v / ", "-v / ", True),
            ("reflect", "out[0] = np", "out[0] = -np", True),
            ("evens", "range(n)", "reversed(range(n))", True),
        ),
        (
            ("unit", "v / np", "v / 2 / np", False),
            ("reflect", "out[0] = np", "out[0] = 2 * np", False),
            ("evens", "range(n)", "range(1, n + 1)", False),
        ),
        # v is not to change
        (("reflect", "w = v - out", "w = v.copy(); w -= out; v += 1", False),),
    )
    answers = []
    for changes in submissions:
        assert all(old in source[exercise] for exercise, old, _, _ in changes)
        answers.append({name: source[name].replace(old, new) for name, old, new, _ in changes})
    replies = mark_submissions(course, lab, answers)
    for changes, reply in zip(submissions, replies, strict=True):
        results = {row["exercise"]: row["verdict"] for row in reply["results"]}
        for exercise, _, new, is_right in changes:
            assert (results[exercise] == "pass") == is_right, (exercise, new, reply["results"])


def test_a_picture_that_a_text_shows_comes_along(course):
    pixel = b"\x89PNG\r\n\x1a\n" + bytes(40)
    (course.parent / "img").mkdir()
    (course.parent / "img" / "my logo.png").write_bytes(pixel)
    (course.parent / "statement.jpg").write_bytes(b"\xff\xd8" + bytes(40))
    text = (
        "# Pictures\n![logo](img/my%20logo.png 'Logo')\n<img src=\"statement.jpg\" width=30>\n"
        "![web](https://example.org/x.png) ![none](img/none.png) ![own](attachment:a.png)"
    )
    cell = new_markdown_cell(text)
    cell.attachments = {"a.png": {"image/png": "AAAA"}}
    report = import_cells(course, [cell, *TILES[1:]], exit_code=1, name="pictures")
    assert "the picture `img/my logo.png` came along" in report
    assert "not: the picture `img/none.png` is not beside the notebook" in report
    build_course(course, "pictures")
    released = nbformat.read(course / "notebooks/pictures/pictures.ipynb", 4)
    (shown,) = [cell for cell in released.cells if "# Pictures" in cell.source]
    assert "![logo](attachment:img-my-logo.png 'Logo')" in shown.source
    assert '<img src="attachment:statement.jpg" width=30>' in shown.source
    assert "![web](https://example.org/x.png)" in shown.source
    assert {*shown.attachments} == {"a.png", "img-my-logo.png", "statement.jpg"}


def test_a_picture_of_more_bytes_than_the_limit_stays_and_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "MAX_PICTURE_BYTES", 100)
    for size, problems in ((100, 0), (101, 1)):
        (tmp_path / "a.png").write_bytes(bytes(size))
        cell = new_markdown_cell("![a](a.png)")
        report = CellImportReport(SourceCell(1, "text", cell.source, is_code=False))
        pictures.attach_pictures(cell, tmp_path, report)
        assert len(report.problems) == problems and ("attachments" in cell) == (not problems)


def test_the_name_to_assign_stays_in_otters_cell(course):
    cells = [
        raw("# BEGIN QUESTION\nname: q1\npoints: 2"),
        raw("# BEGIN SOLUTION"),
        code_cell("low, high = 2, 3  # SOLUTION\n# The sum\ntotal = low + high # SOLUTION"),
        code_cell(
            "# BEGIN SOLUTION NO PROMPT\nmean = total / 2\n# END SOLUTION\n"
            '""" # BEGIN PROMPT\nmean = ...\nmean.draw(...)\n""" # END PROMPT'
        ),
        code_cell("total = total + 0 # SOLUTION"),
        raw("# END SOLUTION"),
        raw("# BEGIN TESTS"),
        code_cell("import random\nrandom.seed(1)\nmean == 2.5"),
        code_cell("total == 5"),
        code_cell("[low, high] == [2, 3]"),
        raw("# END TESTS"),
        raw("# END QUESTION"),
    ]
    report = import_cells(course, cells, name="sums")
    assert "2 points of 2 came over as they were" in report and "not:" not in report
    build_course(course, "sums")
    released = nbformat.read(course / "notebooks/sums/sums.ipynb", 4)
    text = "\n".join(cell.source for cell in released.cells)
    assert (
        "low = ...\nhigh = ...\n" in text and "total = ...\n" in text and "low + high" not in text
    )
    assert (
        "\nmean = ...\n" in text
        and "# total = ...\n" in text
        and "draw" not in text
        and "total / 2" not in text
    )


@needs_sandbox
@pytest.mark.long
def test_types_of_a_package_whose_names_are_all_imported_can_be_asked(course):
    cells = [
        code_cell("from fractions import *\nfrom random import *"),
        solution_cell("### BEGIN SOLUTION\nhalf = Fraction(1, 2)\n### END SOLUTION", "half"),
        make_test(
            "assert type(half) == Fraction\nassert half.numerator == 1 and half + half == 1", "t", 2
        ),
    ]
    report = import_cells(course, cells, name="fractions-of-one")
    assert "2 points of 2 came over as they were" in report and "not:" not in report, report
    build_course(course, "fractions-of-one")
    lab = read_labs(read_course(course))["fractions-of-one"]
    scores = (
        (None, 2),
        ("half = Fraction(2, 4)", 2),
        ("half = 0.5", 0),
        ("half = Fraction(1, 3)", 0),
    )
    check_scores(course, lab, "answer_half", scores)


@pytest.mark.long
def test_a_task_becomes_a_question_for_a_person(course):
    task = new_markdown_cell(
        "Plot what you found.\n\n=== BEGIN MARK SCHEME ===\nLabels: 1\n=== END MARK SCHEME ==="
    )
    task.metadata["nbgrader"] = {
        **{"grade": False, "solution": False, "locked": True, "task": True},
        **{"grade_id": "plot", "schema_version": 3, "points": 4},
    }
    report = import_cells(course, [*TILES, task], name="tasks")
    assert (
        "13 points of 13 came over as they were" in report and "a task, manually graded" in report
    )
    build_course(course, "tasks")
    lab = read_labs(read_course(course))["tasks"]
    assert "answer-plot" in lab.manual_questions
    released = nbformat.read(course / "notebooks/tasks/tasks.ipynb", 4)
    text = "\n".join(cell.source for cell in released.cells)
    assert "Plot what you found." in text and "Labels: 1" not in text


def test_of_a_solution_that_is_no_python_nothing_but_the_stub_is_kept(course):
    broken = solution_cell(
        "x = = 1\n### BEGIN SOLUTION\nsecret = 1\n### END SOLUTION\ny = 2", "broken"
    )
    report = import_cells(course, [*TILES, broken], exit_code=1, name="broken")
    assert "it is no Python, and is kept as text" in report
    build_course(course, "broken")
    text = (course / "notebooks/broken/broken.ipynb").read_text("utf-8")
    assert "secret" not in text and "x = = 1" in text and "# YOUR CODE HERE" in text


def test_a_module_that_a_test_changes_is_no_variable_of_the_test(course):
    cells = [
        code_cell("import numpy as np"),
        solution_cell(
            "def root(x):\n    ### BEGIN SOLUTION\n    return np.sqrt(x)\n    ### END SOLUTION",
            "root",
        ),
        make_test(
            "np.linalg.solve = None\nassert root(4.0) == 2.0\nassert root(9.0) == 3.0", "t", 2
        ),
    ]
    report = import_cells(course, cells, name="modules")
    assert "2 points of 2 came over as they were" in report and "not:" not in report, report


APART = [
    code_cell("import numpy as np"),
    solution_cell(
        """
### BEGIN SOLUTION
def distance(a, b):
    return abs(a - b)
### END SOLUTION
""",
        "distances",
    ),
    make_test("assert distance(3, 1) == 2\nassert distance(8, 2) == 6", "larger_first", 2.5),
    make_test(
        "assert distance(1, 3) == 2\n### BEGIN HIDDEN TESTS\nassert distance(2, 9) == 7\n### END HIDDEN TESTS",
        "smaller_first",
        1.5,
    ),
    make_test("assert isinstance(distance(0, 0), int)\nassert distance(0.5, 0) > 0.25", "form", 1),
    solution_cell("### BEGIN SOLUTION\nlow, high = 1, 9\n### END SOLUTION", "bounds"),
    make_test("assert low == 1", "test_low", 2),
    make_test("assert high == 9", "test_high", 3),
]


@needs_sandbox
@pytest.mark.long
def test_test_cells_with_points_give_them_apart(course):
    report = import_cells(course, APART, name="distances")
    assert "10 points of 10 came over as they were" in report
    assert "its points are given apart, as “part 2” of `distance`" in report
    build_course(course, "distances")
    lab = read_labs(read_course(course))["distances"]
    assert lab.exercises["distance"].parts == {"part 1": 2.5, "part 2": 1.5, "part 3": 1.0}
    scores = (
        (None, 5, None, 5),
        ("return a - b", 3.5, "low, high = 1, 8", 2),
        ("return max(b - a, 1)", 2.5, "low, high = 2, 9", 3),
        ("return None", 0, "low, high = 2, 8", 0),
        (None, 5, "low = 1", 2),
    )
    answers = []
    for body, _, bounds, _ in scores:
        distance = body and f"def distance(a, b):\n    {body}"
        answers.append({"distance": distance, "answer_low": bounds})
    replies = mark_submissions(course, lab, answers)
    for (body, first, bounds, second), reply in zip(scores, replies, strict=True):
        points = {row["exercise"]: row["score"] for row in reply["results"]}
        assert points == {"distance": first, "answer_low": second}, (body, bounds)
        assert reply["score"] == first + second


def test_points_that_hang_on_one_value_are_not_given_apart(course):
    cells = [
        solution_cell(
            "### BEGIN SOLUTION\ndef twice(x):\n    return 2 * x\n### END SOLUTION", "twice"
        ),
        make_test("assert twice(2) == 4", "value", 2),
        make_test("assert twice(2) > 3", "property", 1),
    ]
    report = import_cells(course, cells, name="doubles")
    assert "its points and those of cell 2 are given together, or not at all" in report


def read_marks_of(course, *columns):
    """Run the report; return the columns of grades.csv by student."""
    ran = autograder("report", cwd=course)
    assert ran.returncode == 0, ran.stderr
    rows = csv.DictReader(
        (course / "classroom/report/grades.csv").read_text("utf-8-sig").splitlines()
    )
    return {row["student_id"]: tuple(float(row[name]) for name in columns) for row in rows}


@pytest.mark.long
@needs_sandbox
def test_points_of_parts_reach_marks_pages_and_platforms(course):
    import_cells(course, APART, name="distances")
    build_course(course, "distances")
    lab = read_labs(read_course(course))["distances"]
    half = "def distance(a, b):\n    return a - b"
    for student, answer in (
        ("right", None),
        ("half", half),
        ("none", "def distance(a, b):\n    return 0"),
    ):
        notebook = perfect(lab) if answer is None else with_answer(perfect(lab), "distance", answer)
        write_file(
            course / f"classroom/submitted/{student}/distances/distances.ipynb",
            nbformat.writes(notebook),
        )
    assert autograder("grade", cwd=course).returncode == 0
    columns = "score", "max_score"
    expected = {"right": (10, 10), "half": (8.5, 10), "none": (5, 10)}
    assert read_marks_of(course, *columns) == expected
    assert re.search("✗ distance +3.5 of 5 ", autograder("show", "half", cwd=course).stdout)
    assert autograder("feedback", cwd=course).returncode == 0
    page = (course / "classroom/feedback/half/distances/distances.html").read_text("utf-8")
    assert "“part 1” and “part 3” are right: 70 % of the points." in page

    # The points change: a part keeps its share. Dropped and counted again, it has its share again.
    settings = (course / "course.toml").read_text("utf-8")
    for table, score in (
        ("points = { distance = 10 }", 12),
        ('dropped = ["distance"]', 5),
        ("", 8.5),
    ):
        write_file(course / "course.toml", f"{settings}\n[lab.distances]\n{table}\n")
        assert read_marks_of(course, "score")["half"] == (score,), table

    path = course.parent / "half.ipynb"
    nbformat.write(with_answer(perfect(lab), "distance", half), path)
    for platform in ("gradescope", "prairielearn"):
        ran = autograder("mark", path, "--course", course, "--as", platform)
        reply = json.loads(ran.stdout)
        (test,) = [test for test in reply["tests"] if "distance" in test["name"]]
        assert test.get("points", test.get("score")) == 3.5, test


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("points: 0", [0, 0, 0]),
        ("points: 2.4", [0.8, 0.8, 0.8]),
        ("", [0.33, 0.33, 0.34]),
        ("points: 3 # of 20", [1, 1, 1]),
        ("points: [0, 1, 4]", [0, 1, 4]),
        ("points:\n  - 0\n  - 1\n  - 4", [0, 1, 4]),
        ("points:\n  each: 2", [2, 2, 2]),
        ("points: 4\nall_or_nothing: true", [4]),
    ],
)
def test_an_otter_question_is_worth_one_point_only_if_it_does_not_say(text, points):
    cells = make_otter_question(
        "a = 5", [("a > 0", ""), ("a < 9", ""), ("# HIDDEN\na == 5", "")], text
    )
    tests = [cell for cell in _OtterReader().convert_cells(cells) if "nbgrader" in cell.metadata]
    assert [
        cell.metadata["nbgrader"]["points"] for cell in tests if "a > 0" in cell.source
    ] == points[:1]
    assert [cell.metadata["nbgrader"].get("points") for cell in tests][1:] == points
    assert "BEGIN HIDDEN TESTS\n# HIDDEN\na == 5\n### END" in tests[-1].source


def test_points_of_one_otter_test_leave_none_to_the_others():
    config = '""" # BEGIN TEST CONFIG\npoints: 2 # of 3\n""" # END TEST CONFIG\n'
    cells = make_otter_question("a = 5", [(f"{config}a > 0", ""), ("a < 9", "")], "")
    tests = [cell for cell in _OtterReader().convert_cells(cells) if "nbgrader" in cell.metadata][
        1:
    ]
    assert [cell.metadata["nbgrader"]["points"] for cell in tests] == [2, 0]


def test_settings_of_otters_that_are_no_yaml_are_a_sentence():
    with pytest.raises(NotASourceNotebook, match="no YAML"):
        _read_question("name: [q1")


def test_the_files_of_a_lab_that_come_along_have_one_limit_together(tmp_path, monkeypatch):
    monkeypatch.setattr(dependencies, "MAX_FILE_BYTES", 250)
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(np.random.default_rng(len(name)).bytes(150))
    course = SimpleNamespace(library=(), imports=(), root=tmp_path)
    imported = dependencies.Dependencies(tmp_path, course, set(), set())
    report = CellImportReport(SourceCell(1, "given", ""))
    imported.add(report, ast.parse("open('a.bin'); open('b.bin')"))
    (present,) = imported.files
    (left_out,) = {"a.bin", "b.bin"} - {present}
    assert report.problems == [
        f"it reads `{left_out}`, which is too large to come along: let the library give it out"
    ]


def test_the_files_that_a_notebook_runs_beside_have_one_limit_together(tmp_path, monkeypatch):
    monkeypatch.setattr(record_calls, "MAX_FILE_BYTES", 10)
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_bytes(b"123456")
    record_calls._copy_folder(folder, tmp_path / "work")
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["a"]


DOUBLE = solution_cell(
    "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION", "double"
)


def test_the_calls_of_a_loop_have_labels_of_their_own(course):
    cells = [
        DOUBLE,
        make_test("for x in [1, 2, 3]:\n    assert double(x) == 2 * x", "t1", 1),
        make_test("for n in [[0] * 40, [1] * 40]:\n    assert double(n) == n + n", "t2", 1),
    ]
    import_cells(course, cells, name="loops")
    text = (course / "solutions/loops/double.py").read_text("utf-8")
    assert "'double(1)'" in text and "'double(2)'" in text and " (2)'" not in text
    build_course(course, "loops")


def test_two_cases_of_one_label_get_a_number():
    cases = [CaseSource("a"), CaseSource("a"), CaseSource("a (2)"), CaseSource("b")]
    assert [case.label for case in _number_equal_labels(cases)] == ["a", "a (2)", "a (2) (2)", "b"]


QUEUE = solution_cell(
    """
class Queue:
    ### BEGIN SOLUTION
    def __init__(self):
        self.items = []
    def put(self, item):
        self.items.append(item)
    def get(self):
        return self.items.pop(0)
    def __eq__(self, other):
        return self.items == other.items
    ### END SOLUTION
""",
    "queue",
)


def test_every_test_cell_of_a_class_is_asked(course):
    cells = [
        QUEUE,
        make_test("q = Queue()\nq.put(1)\nassert q.items == [1]", "t1", 1),
        make_test("q = Queue()\nfor i in [1, 2]:\n    q.put(i)\nassert q.get() == 1", "t2", 1),
        make_test(
            "### BEGIN HIDDEN TESTS\nassert Queue() == Queue()\n### END HIDDEN TESTS", "t3", 1
        ),
    ]
    report = import_cells(course, cells, name="queues")
    assert "3 points of 3 came over as they were." in report
    assert "“part 3” of `Queue`" in report
    text = (course / "solutions/queues/Queue.py").read_text("utf-8")
    assert text.count("@Queue.case(") == 3 and "Queue() == Queue()" in text
    build_course(course, "queues")


def test_a_call_in_a_helper_is_asked_in_a_later_cell_too(course):
    helper = "def spread(function):\n    return max(function(9)) - min(function(9))\nassert spread(numbers) == 8"
    cells = [
        solution_cell(
            "def numbers(n):\n    ### BEGIN SOLUTION\n    return [*range(n)]\n    ### END SOLUTION",
            "numbers",
        ),
        make_test("assert len(numbers(5)) == 5 and sum(numbers(3)) == 3", "t1", 1),
        make_test(f"### BEGIN HIDDEN TESTS\n{helper}\n### END HIDDEN TESTS", "t2", 2),
    ]
    assert "3 points of 3 came over as they were." in import_cells(course, cells, name="helpers")
    assert "spread(numbers)" in (course / "solutions/helpers/numbers.py").read_text("utf-8")


def test_a_test_of_the_time_that_an_answer_takes_is_reported(course):
    timed = (
        "start = time.perf_counter()\nresult = double(4)\nelapsed = time.perf_counter() - start\n"
    )
    timer = """
class Timer:
    def __enter__(self):
        self.start = time.perf_counter()
        return self
    def __exit__(self, *error):
        self.elapsed = time.perf_counter() - self.start

with Timer() as timer:
    actual = double(3)
assert type(actual) is int
assert timer.elapsed < 5
assert double(1) == 2
"""
    cells = [
        code_cell("import time"),
        DOUBLE,
        make_test(f"{timed}assert elapsed < 5\nassert result == 8", "t1", 1),
        make_test(timer, "t2", 2),
    ]
    report = import_cells(course, cells, exit_code=1, name="times")
    assert "not: `elapsed < 5` asks for the time" in report
    assert "not: `timer.elapsed < 5` asks for the time" in report
    assert "0 points of 3 came over as they were; 3 came over with less" in report


def test_a_test_function_beside_a_case_of_another_function_gets_points(course):
    cells = [
        solution_cell(
            """
def tokens(text):
    ### BEGIN SOLUTION
    yield from text.split()
    ### END SOLUTION

def count(text):
    ### BEGIN SOLUTION
    return len(text.split())
    ### END SOLUTION
""",
            "words",
        ),
        make_test(
            """
it = tokens("a b")
assert next(it) == "a"
assert count("x y") == 2
""",
            "t1",
            2,
        ),
    ]
    import_cells(course, cells, name="words")
    for name in ("tokens", "count"):
        assert "points=1" in (course / f"solutions/words/{name}.py").read_text("utf-8")
    build_course(course, "words")


def test_a_test_that_needs_a_file_made_by_its_cell_is_reported(course):
    cells = [
        solution_cell(
            "def size(path):\n    ### BEGIN SOLUTION\n    return len(open(path).read())\n    ### END SOLUTION",
            "size",
        ),
        make_test(
            'with open("made.txt", "w") as file:\n    file.write("ab")\nassert size("made.txt") == 2',
            "t",
            2,
        ),
    ]
    report = import_cells(course, cells, exit_code=1, name="made")
    assert "it needs `made.txt`, a file that another part of the cell makes" in report
    assert "2 points did not come over" in report


def make_otter_question(source, tests, config="points: 2"):
    """Return the cells of a question of otter's; each test is its source, and its saved output or ""."""
    cells = [
        raw(f"# BEGIN QUESTION\nname: q1\n{config}"),
        raw("# BEGIN SOLUTION"),
        code_cell(source),
        raw("# END SOLUTION"),
        raw("# BEGIN TESTS"),
    ]
    for test, output in tests:
        cell = code_cell(test)
        if output:
            data = {"text/plain": output}
            cell.outputs = [nbformat.v4.new_output("execute_result", data=data, execution_count=1)]
        cells.append(cell)
    return [*cells, raw("# END TESTS"), raw("# END QUESTION")]


def test_a_value_that_an_otter_test_shows_is_asserted(course):
    tests = [
        ("[f(x) for x in (2, 3)]", "[3, 4]"),
        ("# HIDDEN\nf(5) * 2", "np.int64(12)"),
        ("all([f(x) > x for x in (1, 2)])", ""),
        ("f(1) + 1", ""),
    ]
    solution = "def f(x):\n    # BEGIN SOLUTION\n    return x + 1\n    # END SOLUTION"
    report = import_cells(course, make_otter_question(solution, tests), exit_code=1, name="shown")
    assert "not: `f(1) + 1` has no saved output that can be compared" in report
    checks = (course / "course_checks/shown.py").read_text("utf-8")
    assert "assert [f(x) for x in (2, 3)] == [3, 4]" in checks
    assert "assert all([f(x) > x for x in (1, 2)])" in checks and "12" not in checks
    assert "assert f(5) * 2 == 12" in (course / "solutions/shown/f.py").read_text("utf-8")
    build_course(course, "shown")


def test_a_relation_between_two_variables_of_an_answer_stays_a_relation(course):
    cells = [
        solution_cell(
            "### BEGIN SOLUTION\nguess = 10\nsquare = guess**2\n### END SOLUTION", "guess"
        ),
        make_test("assert 5 < guess < 20\nassert square == guess**2", "t", 2),
    ]
    assert "2 points of 2 came over as they were." in import_cells(course, cells, name="relation")
    text = (course / "course_checks/relation.py").read_text("utf-8")
    assert "assert square == guess ** 2" in text
    source = (course / "solutions/relation/answer_guess.py").read_text("utf-8")
    assert source.count(".case(") == 1 and "what the variables hold" not in source
    build_course(course, "relation")


def test_a_line_that_begins_with_an_operator_is_no_magic():
    source = "x = (7\n     % 4\n     != 3)"
    assert SourceCell(1, "given", source).source_with_pass_for_magics == source
    assert (
        SourceCell(1, "given", "%matplotlib inline\n%%time\n!ls").source_with_pass_for_magics
        == "pass\npass\npass"
    )


def test_a_function_that_two_questions_define_is_promised_for_neither(course):
    define = "def area({0}):\n    ### BEGIN SOLUTION\n    return {1}\n    ### END SOLUTION"
    cells = [
        solution_cell(define.format("r", "3 * r * r"), "area"),
        make_test("assert area(2) == 12", "t1", 1),
        solution_cell(define.format("a, b", "a * b"), "area2"),
        make_test("assert area(2, 3) == 6", "t2", 1),
        DOUBLE,
        make_test("assert double(2) == 4", "t3", 1),
    ]
    report = import_cells(course, cells, exit_code=1, name="twice")
    assert (
        "`area`: cells 1 and 3 define `area`, each for its own tests; rename one of them" in report
    )
    assert "1 point of 3 came over as they were; 2 points did not come over" in report
    build_course(course, "twice")


def test_the_settings_of_a_test_go_before_those_of_its_decorator():
    block = '""" # BEGIN TEST CONFIG\npoints: 2\nhidden: false\n""" # END TEST CONFIG\n'
    decorated = "@test_case(points=3)\ndef test_one(x):\n    assert x == 1"
    question = _OtterQuestion("q1")
    for source in (block + decorated, decorated):
        cell = nbformat.v4.new_code_cell(source)
        _OtterReader()._add_test(question, cell)
    assert [points for _, points in question.tests] == [2.0, 3.0]
