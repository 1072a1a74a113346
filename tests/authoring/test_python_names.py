"""Names that a piece of code binds, changes or uses, and the outputs that depend on them."""

import ast

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder.authoring import preprocessors, python_names
from autograder.authoring.python_names import find_changed_names, find_external_names


@pytest.mark.parametrize(
    ("body", "is_external"),
    [
        ("def split_heads(x, heads):\n        return x", False),
        ("split_heads = None", False),
        ("# as split_heads(x) does\n    'split_heads(x)'", False),
        ("split_heads(queries, heads)", True),
        ("def cut(x):\n        return split_heads(x, 2)\n    cut(queries)", True),
        ("return 2 * queries\nparts = split_heads(queries, 2)\nif 0:\n    pass", True),
        ("split_heads(queries, heads)\n    %matplotlib inline", True),
        ("[split_heads(x, 2) for x in (queries,)]", True),
        ("split_heads(queries, heads", False),  # no Python
    ],
)
def test_an_inner_function_of_a_name_is_not_the_function_of_another_cell(body, is_external):
    source = f"def attend(queries, heads):\n    {body}\n"
    assert ("split_heads" in find_external_names(source)) == is_external


@pytest.mark.parametrize(
    "source",
    [
        "x = 1",
        "x += 1",
        "x: int = 1",
        "x[0] = 1",
        "x[0][1] += 1",
        "x.size = 1",
        "x.shape[0] = 1",
        "x.rows[0].name = 1",
        "x.append(1)",
        "x.rows.append(1)",
        "(x, [*y]) = 1, [2]",
        "for x in (): pass",
        "with open(0) as x: pass",
        "import x",
        "def f():\n    import x",
        "class x: pass",
    ],
)
def test_a_name_that_code_changes_is_found(source):
    assert "x" in find_changed_names(ast.parse(source))


@pytest.mark.parametrize(
    "source", ["print(x)", "y = x", "y[x] = 1", "x.sum()", "def f():\n    x = 1"]
)
def test_a_name_that_code_only_reads_is_not_found(source):
    assert "x" not in find_changed_names(ast.parse(source))


CODE = """\
import os.path, numpy as np
from a.b import c as d, e
x = y = 1
z.rows[0].append(x)
w.shape = u[v] = 2
k.sum()
t += [i for i in s if i]
(o, *p) = q
class K(Base):
    field = 1
def f(g, *h, j=m):
    import sys
    n = g + r
    def inner(): pass
    return lambda l: l + n
async def wait(): pass
[_ for _ in s]
_ = f
f = s
"""


def test_each_question_about_names_has_its_answer():
    tree = ast.parse(CODE)
    functions, variables = python_names.find_functions_and_variables(tree)
    assert functions == ["f"]
    assert variables == ["x", "y", "z", "w", "u", "t", "o", "p"]
    assert python_names.find_classes(tree) == ["K"]
    bound = "os np d e x y t o p K f wait _ f".split()
    assert [*python_names.find_bound_names(tree)] == bound
    imported = {"os", "np", "d", "e", "sys"}
    assert python_names.find_imported_names(tree) == imported
    assert python_names.find_import_and_class_names(tree) == {*imported, "K"}
    changed = {*bound, *variables, *imported}
    assert find_changed_names(tree) == changed
    free = {"z", "w", "u", "v", "k", "s", "q", "Base", "m", "r"}
    assert python_names.find_free_names(tree) == free
    read = {*free, *"x y t o p f field g n l i _".split()}
    assert python_names.find_read_or_assigned_names(tree) == read
    assert find_external_names(CODE) == free


def test_a_name_that_a_condition_of_a_comprehension_binds_is_found():
    tree = ast.parse("[i for i in s if (cut := i)]")
    assert [*python_names.find_bound_names(tree)] == ["cut"]
    assert python_names.find_functions_and_variables(tree) == ([], ["cut"])


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("found = [cut for i in s if (cut := i)]", {"s"}),
        ("any((cut := i) for i in (1, 2))\nprint(cut)", {"any", "print"}),
        ("def count():\n    global calls\n    calls += 1", {"calls"}),
    ],
)
def test_a_name_that_a_comprehension_binds_comes_from_no_other_cell(source, names):
    assert find_external_names(source) == names


@pytest.mark.parametrize(
    "magic", ["%timeit g(x)", "!ls", "if x:\n    %timeit g(x)", "with x:\n\t!ls"]
)
def test_a_line_of_magic_is_ignored_and_the_lines_around_it_are_not(magic):
    """A line of magic may be the only statement of a block, which must not become empty."""
    names = find_external_names(f"h(y)\n{magic}\nk = h")
    assert names - {"x"} == {"h", "y"}


def test_code_that_is_no_python_has_no_names():
    tree = python_names.parse_code("x = (")
    assert tree is None and python_names.parse_code("x = \0") is None
    assert python_names.find_functions_and_variables(tree) == ([], [])
    assert python_names.find_classes(tree) == []
    assert find_changed_names(tree) == python_names.find_read_or_assigned_names(tree) == set()


def test_the_name_of_a_call_is_that_of_its_function_or_method():
    names = {"f(x)": "f", "a.b.c(x)": "c", "f": "", "f(x)(y)": "", "a[0](x)": ""}
    for source, name in names.items():
        assert python_names.get_called_name(ast.parse(source, mode="eval").body) == name


ANSWER_CELL = "def attend(x):\n    return x"
TRACKED_CELLS = [
    ("import numpy as np\nfrom autograder import check, ready\nfrom autograders import a", "kept"),
    ("x = np.ones(3)\nplot(x)", "kept"),
    ("y = attend(x)\nz = 2", "cleared"),
    ("z", "kept"),  # its own cell was cleared, and it depends on no answer
    ("for i in y:\n    total = i", "cleared"),
    ("total", "cleared"),
    ("i", "cleared"),
    ("if ready(attend):\n    pass", "cleared"),
    ("def use():\n    return attend(1)", "cleared"),
    ("use()", "cleared"),
    ("check(1)", "cleared"),
    ("a", "kept"),
    ("%matplotlib inline", "cleared"),
    ("await x", "kept"),
]


def test_the_outputs_of_cells_that_depend_on_an_answer_are_cleared():
    solution = {"nbgrader": {"grade_id": "attend", "solution": True, "grade": False}}
    graded = {"nbgrader": {"grade_id": "test", "solution": False, "grade": True}, "tags": ["a"]}
    text = {"output_type": "stream", "name": "stdout", "text": "out"}
    cells = [new_code_cell(source, outputs=[text]) for source, _ in TRACKED_CELLS]
    cells += [
        new_markdown_cell("attend"),
        new_code_cell(ANSWER_CELL, metadata=solution, outputs=[text]),
        new_code_cell("'a test'", metadata=graded, outputs=[text], execution_count=3),
        new_code_cell("def (", metadata=solution, outputs=[text]),
    ]
    notebook, _ = preprocessors.ClearOutputsOfAnswers()(new_notebook(cells=cells), {})
    for cell, (source, state) in zip(notebook.cells, TRACKED_CELLS, strict=False):
        assert ("kept" if cell.outputs else "cleared", cell.source) == (state, source)
    after = notebook.cells[len(TRACKED_CELLS) + 1 :]
    assert [cell.outputs for cell in after] == [[], [], []]
    assert after[1].execution_count is None
    notebook, _ = preprocessors.AllowTestErrors()(notebook, {})
    tags = [cell.metadata.get("tags") for cell in notebook.cells[-4:]]
    assert tags == [None, None, ["a", "raises-exception"], None]


PICTURE = '<img alt="a curve" width=3 src="data:image/png;base64,aGk=">'


@pytest.mark.parametrize(
    ("html", "is_converted"),
    [
        (PICTURE, True),
        (f"{PICTURE} and more", False),
        (PICTURE.replace("png", "gif"), False),
        ("", False),
    ],
)
def test_a_picture_in_html_becomes_a_png_with_its_text(html, is_converted):
    data = {"text/html": html, "text/plain": "a curve"}
    output = new_output("execute_result", data, execution_count=3)
    converted = preprocessors._convert_html_picture_to_png(output)
    if not is_converted:
        assert converted is output
        return
    assert converted == {
        "output_type": "display_data",
        "data": {"image/png": "aGk=", "text/plain": "a curve"},
        "metadata": {"image/png": {"alt": "a curve"}},
    }
