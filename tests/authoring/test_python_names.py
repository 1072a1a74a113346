"""Names that a piece of code binds, changes or uses."""

import ast

import pytest

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
