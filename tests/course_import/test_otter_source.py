"""Notebooks of otter in nbgrader's format: questions, answers, tests and their points."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from course_import import otter_source
from course_import.otter_source import convert_solution_marks, convert_to_nbgrader


def convert(*cells):
    """Return number, source, name and points of each cell; a text is a raw cell with a mark."""
    notebook = new_notebook()
    for cell in cells:
        notebook.cells.append(new_raw_cell(f"# {cell}") if isinstance(cell, str) else cell)
    rows = []
    for cell in convert_to_nbgrader(notebook).cells:
        nbgrader = cell.metadata.get("nbgrader", {})
        name = nbgrader.get("grade_id", "").removesuffix(cell.get("id", "-"))
        number = cell.metadata["number in the source"]
        rows.append((number, cell.source, name, nbgrader.get("points")))
    return rows


def answer(text):
    return f"### BEGIN SOLUTION\n{text}\n### END SOLUTION"


def test_each_cell_has_its_number_and_the_first_answer_the_questions_name():
    assert convert(
        "ASSIGNMENT CONFIG\nx: 1",
        new_code_cell("import otter\ngrader = otter.Notebook()"),
        "BEGIN QUESTION\nname: q 1\npoints: 3",
        "BEGIN PROMPT",
        new_markdown_cell("Write here."),
        new_code_cell("..."),
        "END PROMPT",
        "BEGIN SOLUTION",
        new_code_cell("x = 1 # SOLUTION"),
        new_code_cell("print(x) # SOLUTION"),
        "END SOLUTION",
        "BEGIN TESTS",
        new_code_cell("x == 1"),
        new_code_cell("x < 2"),
        new_markdown_cell("A remark."),
        "END TESTS",
        "END QUESTION",
        new_markdown_cell("After it."),
    ) == [
        (5, "Write here.", "", None),
        (9, f"x = ...\n{answer('x = 1')}", "q-1", None),
        (10, answer("print(x)"), "q-1-", None),
        (13, "x == 1", "test-q-1-1", 1.5),
        (14, "x < 2", "test-q-1-2", 1.5),
        (18, "After it.", "", None),
    ]


def test_a_question_of_the_older_format_keeps_the_text_beside_its_settings():
    """Regression: text after settings in an HTML comment was read as settings, and refused."""
    settings = "BEGIN QUESTION\nname: q{}\npoints: 2\n"
    assert convert(
        new_markdown_cell("```\nBEGIN ASSIGNMENT\nx: 1\n```"),
        new_markdown_cell(f"First.\n```\n{settings.format(1)}```\nWhat?"),
        new_code_cell("x = 1 # SOLUTION"),
        new_code_cell("## Test ##\nx == 1"),
        new_code_cell("## Hidden Test ##\nx < 2"),
        new_markdown_cell(f"<!--\n{settings.format(2)}-->\nAnd *y*?"),
        new_code_cell("y = 1 # SOLUTION"),
        new_code_cell("# TEST\ny == 1"),
        new_code_cell("y + 1"),
        new_markdown_cell(f"<!--\n{settings.format(3)}-->"),
        new_code_cell("z = 1 # SOLUTION"),
        new_code_cell("#TEST\nz == 1"),
    ) == [
        (2, "First.\n\nWhat?", "", None),
        (3, f"x = ...\n{answer('x = 1')}", "q1", None),
        (4, "## Test ##\nx == 1", "test-q1-1", 1.0),
        (
            *(5, "### BEGIN HIDDEN TESTS\n## Hidden Test ##\nx < 2\n### END HIDDEN TESTS"),
            *("test-q1-2", 1.0),
        ),
        (6, "And *y*?", "", None),
        (7, f"y = ...\n{answer('y = 1')}", "q2", None),
        (9, "y + 1", "", None),
        (8, "# TEST\ny == 1", "test-q2-1", 2.0),
        (11, f"z = ...\n{answer('z = 1')}", "q3", None),
        (12, "#TEST\nz == 1", "test-q3-1", 2.0),
    ]


def test_tests_that_count_only_together_are_one_with_all_their_points():
    tests = [new_code_cell(f"x == {number}") for number in range(3)]
    settings = "BEGIN QUESTION\nname: q\nall_or_nothing: true\npoints: {each: 0.1}"
    assert convert(settings, "BEGIN TESTS", *tests, "END TESTS", "END QUESTION") == [
        (3, "x == 0\nx == 1\nx == 2", "test-q-1", 0.3)
    ]
    assert convert(settings, "BEGIN TESTS", "END TESTS", "END QUESTION") == []


@pytest.mark.parametrize(
    ("source", "config"),
    [
        ("@test_case(points=2, hidden=True)\ndef test(): pass", {"points": 2, "hidden": True}),
        ("@otter.test_case(points=P, hidden=False, name='a')\ndef test(): pass", {"hidden": False}),
        ("x = 1\n@cache\n@test_case(points=0.5)\ndef test(): pass", {"points": 0.5}),
        ("@other(points=2)\ndef test(): pass", {}),
        ("test_case(points=2)", {}),
        ("(", {}),
    ],
)
def test_the_decorator_of_a_test_has_its_points(source, config):
    assert otter_source._read_test_case(source) == config


@pytest.mark.parametrize(("settings", "points"), [("", 1), ("points: 0", 0), ("points: 2.5", 2.5)])
def test_a_manual_question_is_one_cell_with_its_points(settings, points):
    assert convert(
        f"BEGIN QUESTION\nname: why\nmanual: true\n{settings}",
        "BEGIN SOLUTION",
        new_markdown_cell("Because."),
        new_code_cell("plot() # SOLUTION"),
        "END SOLUTION",
        "BEGIN TESTS",
        new_code_cell("True"),
        "END TESTS",
        "END QUESTION",
    ) == [(3, "Because.", "why", points), (4, answer("plot()"), "why-", None)]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("name: q\npoints: [1, 0.5, x]", {"points": 1.5, "points_in_order": [1.0, 0.5, 0.0]}),
        ("name: q\npoints: {total: 3}", {"points": 3.0}),
        ("name: q\npoints: {each: 0.5}", {"points_of_each": 0.5}),
        ("name: q\npoints: many", {}),
        ("name: q\npoints: true", {}),
        ("name: q\nmanual: 'Yes'\nall_or_nothing: on",
         {"is_manual": True, "is_all_or_nothing": True}),
        ("name: q\nmanual: 'no'\nall_or_nothing: false", {}),
        ("- q", {"name": "question"}),
    ],
)  # fmt: skip
def test_a_question_says_its_points_in_several_ways(text, fields):
    question = otter_source._read_question(text)
    assert question == otter_source._OtterQuestion(**{"name": "q"} | fields)


@pytest.mark.parametrize(
    ("fields", "own_points", "shares"),
    [
        ({}, [None, None], [0.5, 0.5]),
        ({"points": 3.0}, [None, None], [1.5, 1.5]),
        ({"points": 3.0}, [1.0, None, None], [1.0, 1.0, 1.0]),
        ({"points": 3.0}, [2.0, 2.0, None], [2.0, 2.0, 0.0]),
        ({}, [2.0, None], [2.0, 0.0]),
        ({"points_of_each": 0.5}, [None, 2.0, None], [0.5, 2.0, 0.5]),
        ({"points": 1.5, "points_in_order": [1.0, 0.5]}, [None, None], [1.0, 0.5]),
        ({"points": 1.5, "points_in_order": [1.0, 0.5]}, [None], [1.5]),
    ],
)
def test_tests_without_points_of_their_own_share_what_is_left(fields, own_points, shares):
    tests = [(new_code_cell("x"), points) for points in own_points]
    question = otter_source._OtterQuestion("q", tests=tests, **fields)
    assert otter_source._share_points(question) == shares


@pytest.mark.parametrize(
    ("source", "converted"),
    [
        ("x, y = 1, 2 # SOLUTION", f"x = ...\ny = ...\n{answer('x, y = 1, 2')}"),
        ("x = 1 # SOLUTION\ny, z = 2, 3 # SOLUTION\nw = 4",
         "x = ...\ny = ...\nz = ...\n" + answer("x = 1\ny, z = 2, 3") + "\nw = 4"),
        ("x = 1 # SOLUTION\nx = 2 * x # SOLUTION", "# x = ...\n" + answer("x = 1\nx = 2 * x")),
        ("x += 1 # SOLUTION", answer("x += 1")),
        ("x == 1 # SOLUTION", answer("x == 1")),
        ("x = 1 # SOLUTION NO PROMPT", answer("x = 1")),
        ("# BEGIN SOLUTION\nx = 1\n# END SOLUTION", answer("x = 1")),
        ("def f(x):\n    return x # SOLUTION\n\ny = f(1)",
         "def f(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION\n\ny = f(1)"),
        ("def f(x):\n    return x # SOLUTION\ny = 1 # SOLUTION",
         "def f(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION\ny = ...\n"
         + answer("y = 1")),
        ("for i in x: # SOLUTION\n    y += i # SOLUTION\nz = y # SOLUTION",
         "z = ...\n" + answer("for i in x:\n    y += i\nz = y")),
    ],
)  # fmt: skip
def test_the_lines_of_a_solution_are_marked_and_its_names_stay(source, converted):
    assert convert_solution_marks(source) == converted


@pytest.mark.parametrize(
    ("source", "rest"),
    [
        ("from otter import Notebook\ng = Notebook('a')\ng.check_all()\ng.other()", "g.other()"),
        ("grader.check(\n    'q1'\n)\nimport a, otter\nx = otter.grade()\nother.check('q1')",
         "import a, otter\nx = otter.grade()\nother.check('q1')"),
        ("from otter.api import a\nimport otters\nx = Notebook()\nx.to_pdf()", "import otters"),
        ("%matplotlib inline\nimport otter\n!ls", "%matplotlib inline\n!ls"),
        ("grader.export(\n    'a'\n)", ""),
        ("x.export()", "x.export()"),
    ],
)  # fmt: skip
def test_only_otters_own_lines_are_left_out(source, rest):
    assert otter_source._remove_otter_calls(source) == rest


@pytest.mark.parametrize(
    ("source", "shown", "asserted"),
    [
        ("f(x)", "np.True_", "assert (f(x))"),
        ("f(x)", "False", "assert not (f(x))"),
        ("f(x)", "'a'", "assert (f(x)) == 'a'"),
        ("f(x)", "np.float64(0.5)", "assert (f(x)) == 0.5"),
        ("f(x)", "", "f(x)"),
        ("np.isclose(x, 1)", "", "assert (np.isclose(x, 1))"),
        ("f(x)", "<object at 0x7f>", "f(x)"),
        ("len(x)", "a b\n 1", "assert repr((len(x))).split() == 'a b\\n 1'.split()"),
        ("f(x)", "a b\n 1", "f(x)"),  # the whole value
        ("", "3", ""),
        ("a = 1; f(x)", "3", "a = 1; f(x)"),
        ("x == 1", "True", "x == 1"),
        ("x = 2\nf(\n    x)\n# end", "3", "x = 2\nassert (f(\n    x)) == 3\n# end"),
    ],
)
def test_what_a_test_shows_is_asserted_where_it_can_be(source, shown, asserted):
    assert otter_source._assert_shown_value(source, shown) == asserted


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("def test_x(env):\n    assert env['x'] == env.get('y', 0).z", "assert x == y.z"),
        ("def test_x(env):\n    d['a'] = env[i] + h.get('a') + env.pop('b') + env['c'](env['d'])",
         "d['a'] = env[i] + h.get('a') + env.pop('b') + c(d)"),
        ("def test_x(env):\n    assert env['a'][env['b']] == env.get(env['c'], 0)",
         "assert a[b] == env.get(c, 0)"),
        ("(", "("),
        ("y = 1\ndef test_x():\n    assert x", "y = 1\nassert x"),
        ("def test_x(x, y):\n    assert x", "def test_x(x, y):\n    assert x\ntest_x(x, y)"),
        ("def test_x(env):\n    return 1", "def test_x(env):\n    return 1\ntest_x(env)"),
        ("def test_x(x):\n    assert x\ntest_x(2)", "def test_x(x):\n    assert x\ntest_x(2)"),
        ("def other(env):\n    env['x']", "def other(env):\n    env['x']"),
    ],
)  # fmt: skip
def test_a_test_function_is_written_plainly_or_called(source, plain):
    inlined = otter_source._inline_env_tests(source)
    assert otter_source._add_test_calls(inlined) == plain


@pytest.mark.parametrize(
    ("outputs", "text"),
    [
        ([], ""),
        ([new_output("stream", text="3")], ""),
        ([new_output("display_data", {"text/plain": "3"})], ""),
        ([new_output("execute_result", {"text/html": "3"})], ""),
        (
            [new_output("stream", text="2"), new_output("execute_result", {"text/plain": " 3\n"})],
            "3",
        ),
    ],
)
def test_a_test_shows_the_value_of_its_last_line(outputs, text):
    assert otter_source._find_output(new_code_cell("x", outputs=outputs)) == text


def test_students_cannot_change_the_cells_of_tests_and_can_those_of_answers():
    cells = [
        new_raw_cell("# BEGIN QUESTION\nname: q"),
        new_code_cell("x = 1 # SOLUTION"),
        new_raw_cell("# BEGIN TESTS"),
        new_code_cell("x == 1"),
        new_raw_cell("# END TESTS"),
    ]
    answer_cell, test_cell = convert_to_nbgrader(new_notebook(cells=cells)).cells
    for cell, flags in (
        (answer_cell, {"grade": False, "solution": True, "locked": False}),
        (test_cell, {"grade": True, "solution": False, "locked": True}),
    ):
        assert flags.items() <= cell.metadata["nbgrader"].items()
    assert cells[1].source == "x = 1 # SOLUTION" and not cells[1].metadata
    assert otter_source.is_otter_source(new_notebook(cells=cells))
    assert not otter_source.is_otter_source(new_notebook(cells=cells[1:]))


def test_a_long_cell_that_begins_like_a_mark_is_text():
    mark = "# BEGIN PROMPT\n"
    for length, texts in (
        (otter_source.MAX_MARK_CHARACTERS - 1, 0),
        (otter_source.MAX_MARK_CHARACTERS, 1),
    ):
        cell = new_markdown_cell(mark.ljust(length, "x"))
        assert len(convert("BEGIN QUESTION\nname: q1", cell, "END QUESTION")) == texts, length
