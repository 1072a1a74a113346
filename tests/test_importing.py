"""`autograder import`: another grader's source notebook becomes a lab that builds, checks and marks."""

import json
import zipfile

import nbformat
import numpy as np
import pytest
from command import autograder
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder import keys
from autograder.authoring.asserting import EXACT, statements
from autograder.authoring.writing import literal, unwritable
from autograder.grading.sandbox.choice import why_unavailable
from autograder.judging.compare import first_difference
from autograder.judging.kinds import same
from autograder.judging.question import Answer, Rules
from autograder.judging.tables import of_pandas

needs_sandbox = pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable() or "there is a sandbox")


def code(source, name="", points=None, **flags):
    cell = new_code_cell(source.strip("\n"))
    if name:
        about = {f: flags.get(f, False) for f in ("grade", "solution", "locked", "task")}
        cell.metadata["nbgrader"] = {**about, "grade_id": name, "schema_version": 3}
        if points is not None:
            cell.metadata["nbgrader"]["points"] = points
    return cell


def answer(source, name):
    return code(source, name, solution=True)


def asks(source, name, points):
    return code(source, name, points, grade=True, locked=True)


def by_hand(cell, name, points):
    cell.metadata["nbgrader"] = {
        **{"grade": True, "solution": True, "locked": False, "task": False},
        **{"grade_id": name, "schema_version": 3, "points": points},
    }
    return cell


TILES = [
    new_markdown_cell("# Tiles and *paint*"),
    code("%matplotlib inline\nimport numpy as np\nSIDE = 3"),
    answer(
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
    asks("assert area(2, 3) == 6\nassert area(4, 7) == 28", "test_area", 1),
    asks(
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
    answer("### BEGIN SOLUTION\npaint = 2.5 * area(3, 4)\ntins = [1, 2, 3]\n### END SOLUTION", "paint"),
    asks(
        "assert abs(paint - 30) < 0.01\n### BEGIN HIDDEN TESTS\nassert tins == [1, 2, 3]\n### END HIDDEN TESTS",
        "t3",
        3,
    ),
    code("print(paint)"),
    by_hand(new_markdown_cell("Because."), "why", 2),
    by_hand(code("area(1, 1)"), "use", 1),
]


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "mine"
    assert autograder("new", "course", folder).returncode == 0
    return folder


def builds(course, *labs):
    """What is said where a course, or some labs of it, are built; that goes through."""
    built = autograder("build", *labs, "--course", course)
    assert built.returncode == 0, built.stderr
    return built.stderr


def brought(course, cells, code=0, name="tiles-and-paint"):
    path = course.parent / f"{name}.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    ran = autograder("import", path, "--course", course)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stdout + ran.stderr


def test_functions_variables_and_marks_by_hand_come_over_and_build(course):
    said = brought(course, TILES)
    assert "9 of 9 points came over" in said.replace("9 points of 9 came over", "9 of 9 points came over")
    assert "magics and shell commands are taken out" in said
    assert "the domain of area is proposed" in builds(course, "tiles-and-paint")
    tiles = (course / "solutions/tiles-and-paint/tiles.py").read_text("utf-8")
    assert (
        "floats_too=True, builds_on=[area]" in tiles
        and "inputs(5, 7, side=2)" in tiles
        and "hidden=True" in tiles
    )
    paint = (course / "solutions/tiles-and-paint/answer_paint.py").read_text("utf-8")
    assert 'hold", hidden=True' in paint.replace("'", '"')  # one of the two is in hidden tests only
    assert not keys._load(
        course / "notebooks/tiles-and-paint/answers/answer_paint.key", "answer_paint"
    ).questions
    released = nbformat.read(course / "notebooks/tiles-and-paint/tiles-and-paint.ipynb", 4)
    text = "\n".join(cell.source for cell in released.cells)
    assert "width * height" not in text and "np.ceil" not in text and "side=2" not in text
    assert 'answer_paint = answers("paint", "tins")' in text


@pytest.mark.long
@needs_sandbox
def test_an_imported_lab_is_marked_as_its_tests_would(course):
    brought(course, TILES)
    builds(course)
    lab = "tiles-and-paint"
    right = course / f"solutions/{lab}/{lab}.ipynb"
    hand_ins = {
        "right": {},
        "wrong": {"return width * height": "return width + height", "2.5 * area(3, 4)": "2.4 * area(3, 4)"},
        "cheat": {"return int(np.ceil(area(width, height) / side**2))": "return 4"},
        "none": {"paint = 2.5": "pain = 2.5"},
    }
    for student, changes in hand_ins.items():
        text = right.read_text("utf-8")
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        place = course / "classroom/submitted" / student / lab / f"{lab}.ipynb"
        place.parent.mkdir(parents=True)
        place.write_text(text, "utf-8")
    ran = autograder("grade", lab, cwd=course)
    assert ran.returncode == 0, ran.stderr
    said = {student: autograder("show", student, cwd=course).stdout for student in hand_ins}
    assert "In all 6 of 9; 2 to be marked by hand" in said["right"]
    assert "✗ area " in said["wrong"] and "✗ answer_paint" in said["wrong"]
    assert "✗ tiles " in said["cheat"]  # only a hidden case tells
    assert "✗ answer_paint" in said["none"]


@pytest.mark.parametrize(
    ("source", "nature", "tolerance"),
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
def test_what_a_statement_asks(source, nature, tolerance):
    asked = statements(source)[-1]
    assert (asked.nature, asked.tolerance) == (nature, pytest.approx(tolerance))
    assert nature in ("nothing", "error") or asked.calls("f", 1)


def test_what_is_compared_is_what_students_write():
    source = "x, y = f(3)\nassert_allclose(x * y, due[0])\nassert_allclose(x, due[0])"
    assert [a.nature for a in statements(source, own={"f"})] == ["property", "value"]


def test_a_power_without_end_is_no_tolerance():
    assert statements("assert abs(f(3) - 9) < 9**9**9**9**9")[0].tolerance == (0.0, EXACT)


@pytest.mark.parametrize(
    "value", [1, -2.5, float("inf"), "it's", None, True, [1, (2,)], {"a": {1, 2}}, {3: []}, 10**30, 1 + 2j]
)
def test_a_literal_reads_back(value):
    assert eval(literal(value), {"float": float}) == value


def test_what_is_no_source_is_a_sentence(course, tmp_path):
    assert "no cell with points" in brought(course, [code("x = 1")], code=2, name="plain")
    path = tmp_path / "broken.ipynb"
    path.write_text("{", "utf-8")
    ran = autograder("import", path, "--course", course)
    assert (ran.returncode, "is no notebook" in ran.stderr) == (2, True)
    assert autograder("import", tmp_path / "not-there.ipynb", "--course", course).returncode == 2


def test_a_lab_that_is_there_stays(course):
    brought(course, TILES)
    before = (course / "course.toml").read_text("utf-8")
    assert "There is a lab 'tiles-and-paint' already" in brought(course, TILES, code=2)
    assert (course / "course.toml").read_text("utf-8") == before


def test_a_notebook_that_ends_its_process_is_a_sentence_and_writes_nothing(course):
    said = brought(course, [*TILES, code("import os\nos._exit(3)")], code=1)
    assert "ended its process (exit code 3)" in said
    assert not (course / "solutions/tiles-and-paint").exists()
    assert "tiles-and-paint" not in (course / "course.toml").read_text("utf-8")


REFUSES = [
    answer(
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
    asks("assert root(4.0) == 2\nassert root(9.0) == 3", "t1", 1),
    asks("import pytest\nwith pytest.raises(ValueError):\n    root(-1.0)", "t2", 1),
    asks("try:\n    root(-4.0)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError()", "t3", 1),
    asks("np.testing.assert_raises(ValueError, root, -9.0)", "t4", 1),
]


def test_an_error_that_a_test_expects_is_a_case(course):
    cells = [code("import numpy as np"), *REFUSES]
    assert "4 points of 4 came over." in brought(course, cells, name="roots")
    text = (course / "solutions/roots/root.py").read_text("utf-8")
    assert text.count("raises=ValueError") == 3
    builds(course, "roots")


def test_what_cannot_come_over_is_listed_with_its_points(course):
    cells = [
        code("import no_such_package"),
        answer(
            "import random\n\ndef draw():\n    ### BEGIN SOLUTION\n    return [random.random()]\n    ### END SOLUTION",
            "draw",
        ),
        asks("assert len(draw()) == 1", "t1", 2),
        answer(
            "def first(path):\n    ### BEGIN SOLUTION\n    return open(path).read()\n    ### END SOLUTION",
            "first",
        ),
        asks("### BEGIN HIDDEN TESTS\nassert first('names.txt') == 'Ada'\n### END HIDDEN TESTS", "t2", 3),
    ]
    (course.parent / "names.txt").write_text("Ada")
    said = brought(course, cells, code=1, name="lost")
    assert "`len(draw()) == 1`: quite other values of the same form pass it: assert more" in said
    assert "`first`: it reads a file, and what comes along is students', too" in said
    assert "2 points hang on this" in said and "3 points hang on this" in said
    assert "it imports `no_such_package`, which is not installed here" in said
    assert "0 points of 5 came over" in said


@pytest.mark.long
def test_packages_modules_and_files_beside_a_notebook_come_along(course):
    beside = course.parent
    (beside / "halves.py").write_text("import scipy\nHALF = 0.5\n")
    (beside / "data").mkdir()
    (beside / "data" / "table.csv").write_text("town,age\nOslo,36\n")
    cells = [
        code("from halves import HALF\nname = f'{HALF}'"),
        answer('### BEGIN SOLUTION\nrows = open("./data/table.csv").readlines()\n### END SOLUTION', "rows"),
        asks('assert rows == ["town,age\\n", "Oslo,36\\n"]', "t", 2),
    ]
    said = brought(course, cells, name="files")
    assert '`data/table.csv` came along: `beside("data/table.csv")` is its path' in said
    assert "`halves` came along" in said and "it imports `scipy`" in said
    assert 'imports = ["scipy"]' in (course / "course.toml").read_text("utf-8")
    for left in (beside / "halves.py", beside / "data" / "table.csv"):
        left.unlink()
    builds(course)
    assert autograder("bundle", "--course", course).returncode == 0
    with zipfile.ZipFile(next((course / "dist").glob("*.zip"))) as students:
        names = {name.partition("/")[2] for name in students.namelist()}
    assert {"halves/__init__.py", "course_files/files.py"} <= names
    checked = autograder("check", course / "solutions/files/files.ipynb", "--course", course)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_test_of_what_a_right_value_has_anyway_gives_its_points_to_that_value(course):
    cells = [
        answer("### BEGIN SOLUTION\nyears = 7\n### END SOLUTION", "years"),
        asks("assert 'years' in vars() and years != 8", "t1", 1),
        asks("assert years == 7", "t2", 2),
    ]
    assert "3 points of 3 came over." in brought(course, cells, name="had")
    assert "points=3" in (course / "solutions/had/answer_years.py").read_text("utf-8")


def test_what_an_answer_changes_in_place_is_asked_and_what_it_shows_is_nobodys(course):
    cells = [
        code("names = []\ntable = {}"),
        answer(
            "### BEGIN SOLUTION\nnames.append('Ada')\ntable['a'] = 7\n### END SOLUTION\ndisplay(names)", "n"
        ),
        asks("assert names == ['Ada']\nassert table['a'] == 7.0", "t", 2),
    ]
    assert "2 points of 2 came over." in brought(course, cells, name="place")
    builds(course, "place")
    asked = (course / "solutions/place/answer_names.py").read_text("utf-8")
    assert "floats_too=True" in asked  # 7.0 is 7, as it is for the test


def test_a_function_that_only_makes_anothers_argument_is_asked_by_its_test(course):
    cells = [
        answer("def root(x):\n    ### BEGIN SOLUTION\n    return x**0.5\n    ### END SOLUTION", "root"),
        asks("assert root(4) == 2", "t1", 1),
        answer("def large():\n    ### BEGIN SOLUTION\n    return 10**6\n    ### END SOLUTION", "large"),
        asks("n = large()\nassert abs(root(n) - 1000) < 500", "t2", 2),
    ]
    assert "3 points of 3 came over." in brought(course, cells, name="means")
    text = (course / "solutions/means/large.py").read_text("utf-8")
    assert "builds_on=[root]" in text and "by_test(large_in_4)" in text
    builds(course, "means")


@pytest.mark.long
def test_a_check_that_only_looks_at_the_form_becomes_a_comparison(course):
    cells = [
        code("import numpy as np"),
        answer("### BEGIN SOLUTION\ngrid = np.arange(1, 13).reshape(3, 4)\n### END SOLUTION", "grid"),
        asks("assert grid.shape == (3, 4) and isinstance(grid, np.ndarray)", "t", 2),
    ]
    assert "2 points of 2 came over." in brought(course, cells, name="form")
    builds(course, "form")


def test_a_test_that_names_a_file_finds_it(course):
    (course.parent / "names.txt").write_text("Ada\n")
    solution = (
        "def first(path):\n    ### BEGIN SOLUTION\n    return open(path).readline()\n    ### END SOLUTION"
    )
    cells = [answer(solution, "first"), asks("assert first('names.txt') == 'Ada\\n'", "t", 2)]
    assert "2 points of 2 came over." in brought(course, cells, name="paths")
    assert 'first(beside("names.txt"))' in (course / "course_checks/paths.py").read_text("utf-8")
    builds(course, "paths")


def test_a_test_that_its_own_solution_does_not_pass_makes_no_exercise(course):
    cells = [
        answer("def one():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION", "one"),
        asks("assert one() == 1", "t1", 1),
        asks("assert one() == 2", "t2", 2),
    ]
    said = brought(course, cells, code=1, name="own")
    assert "the notebook's own solution does not pass it: AssertionError" in said and "2 points hang" in said
    assert "points=1," in (course / "solutions/own/one.py").read_text("utf-8").replace(
        "points=1)", "points=1,"
    )


def test_a_notebook_without_its_solutions_is_refused(course):
    cells = [answer("def one():\n    pass", "one"), asks("assert one() == 1", "t1", 1)]
    said = brought(course, cells, code=1, name="release")
    assert "passes none of its own tests (AssertionError): is it what students get" in said
    assert not (course / "solutions" / "release").exists()
    assert "is a folder; name the notebook in it" in autograder("import", course, "--course", course).stderr


def test_a_table_among_the_arguments_reads_back():
    pd = pytest.importorskip("pandas")
    dates = pd.to_datetime(["2026-01-02", "2026-03-04"])
    for made in (
        pd.DataFrame({"town": ["Oslo", None], "age": [36, 41], 7: [0.5, float("nan")], "born": dates}),
        pd.DataFrame({"age": [36, 41]}, index=["b", "a"]),
        pd.Series([True, False], index=[3, 1], name="open"),
    ):
        table = of_pandas(made)
        assert not unwritable((table,), {})
        assert same(table, of_pandas(eval(literal(table), {"pd": pd})), Rules(exact_dtype=True))
    levels = pd.DataFrame({"age": [36, 41]}, index=pd.MultiIndex.from_arrays([[1, 2], [3, 4]]))
    assert "cannot be written down" in unwritable((of_pandas(levels),), {})


def test_a_float_will_do_for_a_whole_number_unless_a_test_asks_for_its_type(course):
    cells = [
        answer("def one(x):\n    ### BEGIN SOLUTION\n    return x + 1\n    ### END SOLUTION", "one"),
        asks("assert one(2) == 3", "t1", 1),
        answer("def two(x):\n    ### BEGIN SOLUTION\n    return x + 2\n    ### END SOLUTION", "two"),
        asks("assert two(2) == 4\nassert isinstance(two(2), int)", "t2", 1),
        answer("def odd(x):\n    ### BEGIN SOLUTION\n    return x % 2 == 1\n    ### END SOLUTION", "odd"),
        asks("assert odd(3) == True\nassert not odd(4)", "t3", 1),
        answer("def even(x):\n    ### BEGIN SOLUTION\n    return x % 2 == 0\n    ### END SOLUTION", "even"),
        asks("assert even(3) is False", "t4", 1),
    ]
    assert "4 points of 4 came over." in brought(course, cells, name="whole")
    names = ("one", "two", "odd", "even")
    files = {name: (course / f"solutions/whole/{name}.py").read_text("utf-8") for name in names}
    assert ["floats_too=True" in text for text in files.values()] == [True, False, True, False]
    for value, right in ((1, True), (1.0, True), (0, False), (2, False), ("1", False)):
        assert (first_difference(True, Answer(value, "int"), Rules(floats_too=True)) is None) is right
    assert first_difference(True, Answer(1, "int"), Rules())


@pytest.mark.long
def test_names_that_a_test_makes_for_later_cells_stay(course):
    cells = [
        answer("def half(x):\n    ### BEGIN SOLUTION\n    return x / 2\n    ### END SOLUTION", "half"),
        asks(
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
        answer("### BEGIN SOLUTION\nhalves = [half(n) for n in numbers]\n### END SOLUTION", "halves"),
        code("print(secret)"),
        asks("assert halves == [1, 1.5]", "t2", 1),
    ]
    assert "2 points of 2 came over." in brought(course, cells, name="halves")
    builds(course, "halves")
    released = (course / "notebooks/halves/halves.ipynb").read_text("utf-8")
    assert "numbers, secret = [2.0, 3.0], 1.0" in released and "secret = 3.0" not in released


def test_a_solution_that_reads_what_only_a_test_sets_is_named(course):
    cells = [
        answer(
            "def scaled(x):\n    ### BEGIN SOLUTION\n    return x * FACTOR\n    ### END SOLUTION", "scaled"
        ),
        asks("FACTOR = 3\nassert scaled(2) == 6\nassert scaled(3) / 3 < FACTOR + 1", "t1", 2),
    ]
    said = brought(course, cells, code=1, name="scaled")
    assert "reads `FACTOR`, which a test sets" in said and "2 points hang on this" in said
    builds(course, "scaled")


def test_tables_that_are_too_large_to_write_down_are_taken_from_what_is_due(course):
    cells = [
        code("import numpy as np\nraw = np.arange(5000)"),
        answer("### BEGIN SOLUTION\nlarge = raw[raw > 4000]\n### END SOLUTION", "large"),
        asks("assert large.max() == raw.max() and large.min() > 100", "t1", 2),
    ]
    assert "2 points of 2 came over." in brought(course, cells, name="large")
    text = (course / "solutions/large/answer_large.py").read_text("utf-8")
    assert "as_due=['raw']" in text and len(text) < 1000
    builds(course, "large")


def raw(source):
    return nbformat.v4.new_raw_cell(source)


SEVERAL = [
    code("import numpy as np\nimport itertools\n\ndef is_sorted(x):\n    return list(x) == sorted(x)"),
    answer(
        "def weights(n):\n    ### BEGIN SOLUTION\n    return list(np.random.dirichlet(np.ones(n)))\n    ### END SOLUTION",
        "w",
    ),
    asks(
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
    answer("def turn(x):\n    ### BEGIN SOLUTION\n    return -x\n    ### END SOLUTION", "turn"),
    asks("for x in range(5):\n    assert turn(turn(x)) == x\n    assert turn(x + 1) < 0", "t2", 1),
    answer(
        "def solve(f, x):\n    ### BEGIN SOLUTION\n    return x - f(x) / (2 * x), 1\n    ### END SOLUTION",
        "solve",
    ),
    asks(
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
    answer(
        "def adder(a):\n    ### BEGIN SOLUTION\n    return lambda b: a + b\n    ### END SOLUTION", "adder"
    ),
    asks("g = adder(2)\nassert g(3) == 5", "t4", 1),
    answer(
        "def evens():\n    ### BEGIN SOLUTION\n    return itertools.count(0, 2)\n    ### END SOLUTION",
        "evens",
    ),
    asks(
        "assert list(itertools.islice(evens(), 3)) == [0, 2, 4] and is_sorted([*itertools.islice(evens(), 4)])",
        "t5",
        1,
    ),
    answer("### BEGIN SOLUTION\npick = 7\nspots = np.arange(4.0)\n### END SOLUTION", "pick"),
    asks("assert spots[1] == 1\n### BEGIN HIDDEN TESTS\nassert 5 < pick < 9\n### END HIDDEN TESTS", "t6", 2),
    answer("### BEGIN SOLUTION\ndoubled = [2 * pick, 3]\n### END SOLUTION", "dbl"),
    asks("assert doubled == [14, 3]", "t7", 2),
]


def test_what_is_no_comparison_is_asked_by_the_test_as_it_stands(course):
    assert "10 points of 10 came over." in brought(course, SEVERAL, name="several")
    builds(course, "several")
    lab = course / "solutions/several"
    checks = (course / "course_checks/several.py").read_text("utf-8")
    assert "def solve_in_7(solve)" in checks and "counts.append" in checks
    given = [p.read_text("utf-8") for p in (course / "notebooks").rglob("*.ipynb")]
    assert not any("5 < pick" in text or "x > 0" in text for text in [checks, *given])
    assert "5 < pick < 9" in (lab / "answer_spots.py").read_text("utf-8")
    assert "builds_on=[answer_spots]" in (lab / "answer_doubled.py").read_text("utf-8")


@pytest.mark.long
@needs_sandbox
def test_any_answer_that_passes_the_tests_gets_their_points_and_no_other(course):
    brought(course, SEVERAL, name="several")
    builds(course, "several")
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
    for who, new in answers.items():
        notebook = nbformat.read(course / "notebooks/several/several.ipynb", 4)
        for cell, right in zip(notebook.cells, solution.cells, strict=True):
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = new.get(cell.metadata.nbgrader.grade_id, right.source)
        path = course / f"classroom/submitted/{who}/several/several.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    ran = autograder(
        "grade", "--course", course, "--classroom", course / "classroom", "--json", course / "out.jsonl"
    )
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in (course / "out.jsonl").read_text("utf-8").splitlines()]
    wrong = {row["exercise"] for row in rows if row["student"] == "wrong" and row["verdict"] != "pass"}
    assert wrong == {"weights", "turn", "solve", "adder", "evens", "answer_spots"}
    assert all(row["verdict"] == "pass" for row in rows if row["student"] != "wrong")
    (doubled,) = (r for r in rows if r["student"] == "wrong" and r["exercise"] == "answer_doubled")
    assert doubled["kind"] == "followed" and "builds on `answer_spots`" in doubled["message"]
    said = {row["exercise"]: row["message"] for row in rows if row["student"] == "wrong"}
    assert (
        said["weights"] == "This is to hold, and does not: `abs(sum(result) - 1) < 1e-09`. they add up to 1"
    )
    assert "`counts" not in said["solve"] and "abs(x - 1.416666)" in said["solve"]


OTTER = [
    raw("# ASSIGNMENT CONFIG\ngenerate: true"),
    raw("# BEGIN QUESTION\nname: q1\npoints: 3"),
    new_markdown_cell("How many legs have so many cows?"),
    raw("# BEGIN SOLUTION"),
    code(
        'def legs(cows):\n    """ # BEGIN PROMPT\n    ...\n    """ # END PROMPT\n    return 4 * cows  # SOLUTION'
    ),
    raw("# END SOLUTION"),
    raw("# BEGIN TESTS"),
    code("legs(3)"),
    code(
        '""" # BEGIN TEST CONFIG\npoints: 2\nhidden: true\n""" # END TEST CONFIG\n'
        "def test_many(legs):\n    assert legs(25) == 100"
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
    code("herd = 12 # SOLUTION"),
    code("## Test ##\nherd == 12"),
]


@pytest.mark.long
def test_otters_notebooks_come_over_in_both_formats(course):
    assert "6 points of 6 came over." in brought(course, OTTER, name="cows")
    text = (course / "solutions/cows/legs.py").read_text("utf-8")
    assert "points=3" in text and "hidden=True" in text and "inputs(25)" in text
    builds(course, "cows")
    released = nbformat.read(course / "notebooks/cows/cows.ipynb", 4)
    text = "\n".join(cell.source for cell in released.cells)
    assert "4 * cows" not in text and "herd = 12" not in text and "BEGIN" not in text and "25" not in text
    assert "because" not in text and "Why?" in text and "check(answer_herd)" in text


PICKS = [
    code("import numpy as np\nlimit = 9"),
    answer("### BEGIN SOLUTION\npick = 7\nspots = np.arange(4.0)\n### END SOLUTION", "pick"),
    asks("assert 5 < pick < limit\nassert spots.shape == (4,)", "t1", 2),
]


def test_properties_of_variables_become_a_check_that_takes_any_right_answer(course):
    assert "2 points of 2 came over." in brought(course, PICKS, name="picks")
    builds(course)
    names = {}
    exec((course / "course_checks/picks.py").read_text("utf-8"), names)
    test = names["answer_in_3"]
    test(lambda: {"pick": 6, "spots": np.ones(4)}, limit=9)
    with pytest.raises(AssertionError):
        test(lambda: {"pick": 50, "spots": np.ones(4)}, limit=9)


@pytest.mark.long
def test_a_stub_that_is_no_python_and_a_cell_that_raises_do_not_stop_the_build(course):
    cells = [
        code("nothing_of_this_name + 8"),
        answer("total = 0\nfor n in [1, 2]:\n### BEGIN SOLUTION\n    total += n\n### END SOLUTION", "total"),
        asks("assert total == 3", "t1", 1),
    ]
    said = brought(course, cells, code=1, name="sums")
    assert "1 point of 1 came over" in said and "it raises NameError" in said
    builds(course)
