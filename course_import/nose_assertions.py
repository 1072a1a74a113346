"""Replace the assertions of the package nose by those of unittest, in a notebook's cells.

Old notebooks of nbgrader import `assert_equal` and the like from `nose.tools`. No present version
of Python can run that package, and its assertions are methods of unittest's under other names.
"""

import ast
from collections.abc import Sequence
from dataclasses import replace
from unittest import TestCase

from course_import.nbgrader_source import SourceCell

_OTHER_NAMES = {  # those that are no method of unittest's in other letters
    "ok_": "assertTrue",
    "eq_": "assertEqual",
    "assert_equals": "assertEqual",
    "assert_not_equals": "assertNotEqual",
    "assert_almost_equals": "assertAlmostEqual",
    "assert_not_almost_equals": "assertNotAlmostEqual",
    "assert_items_equal": "assertCountEqual",
    "assert_raises_regexp": "assertRaisesRegex",
    "assert_regexp_matches": "assertRegex",
    "assert_not_regexp_matches": "assertNotRegex",
}
_IMPORT = "from unittest import TestCase"


def replace_nose_assertions(cells: Sequence[SourceCell]) -> tuple[list[SourceCell], list[int]]:
    """Return the cells without nose, and the numbers of the cells that imported it.

    Lines keep their numbers. An import of anything else from nose stays as it is.
    """
    methods: dict[str, str] = {}  # by the name that the notebook uses
    new_cells, numbers = [], []
    for cell in cells:
        if not cell.is_code or cell.tree is None:
            new_cells.append(cell)
            continue
        imports = _find_nose_imports(cell.tree, methods)
        edits: list[tuple[ast.stmt | ast.expr, str]] = [(node, _IMPORT) for node in imports]
        for node in ast.walk(cell.tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                method = methods.get(ast.unparse(node))
                if method:
                    edits.append((node, f"TestCase().{method}"))
        new_cells.append(replace(cell, source=_edit(cell.source, edits)) if edits else cell)
        if imports:
            numbers.append(cell.number)
    return new_cells, numbers


def _find_nose_imports(tree: ast.AST, methods: dict[str, str]) -> list[ast.stmt]:
    """Return the imports of assertions of nose's; note the method of each name that they bind.

    A name that another import or a definition binds is no longer one of nose's.
    """
    imports: list[ast.stmt] = []
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="nose.tools", names=aliases):
                bound_methods = _find_methods(aliases)
                if bound_methods:
                    methods |= bound_methods
                    imports.append(node)
            case ast.Import(names=[ast.alias(name="nose.tools", asname=name)]):
                methods |= {f"{name or 'nose.tools'}.{key}": _METHODS[key] for key in _METHODS}
                imports.append(node)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    methods.pop(alias.asname or alias.name, None)
            case ast.FunctionDef(name=name):
                methods.pop(name, None)
    return imports


def _find_methods(aliases: Sequence[ast.alias]) -> dict[str, str]:
    """Return unittest's method for each name that an import binds; {} if one has none."""
    if [alias.name for alias in aliases] == ["*"]:
        return dict(_METHODS)
    methods = {}
    for alias in aliases:
        if alias.name not in _METHODS:
            return {}
        methods[alias.asname or alias.name] = _METHODS[alias.name]
    return methods


def _list_methods() -> dict[str, str]:
    """Return the method of unittest for each assertion of nose: `assert_equal` for one."""
    methods = {}
    for method in dir(TestCase):
        if method.startswith("assert") and method != "assert_":
            letters = [f"_{letter.lower()}" if letter.isupper() else letter for letter in method]
            methods["".join(letters)] = method
    return methods | _OTHER_NAMES


_METHODS = _list_methods()


def _edit(source: str, edits: Sequence[tuple[ast.stmt | ast.expr, str]]) -> str:
    """Return source code in which each node is replaced by its text; lines keep their numbers."""
    lines = [line.encode() for line in source.split("\n")]  # columns of a node are in bytes

    def find_place(edit: tuple[ast.stmt | ast.expr, str]) -> tuple[int, int]:
        return edit[0].lineno, edit[0].col_offset

    for node, text in sorted(edits, key=find_place, reverse=True):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        rest = lines[last][node.end_col_offset or 0 :]
        lines[first] = lines[first][: node.col_offset] + text.encode() + rest
        for number in range(first + 1, last + 1):
            lines[number] = b""
    return b"\n".join(lines).decode()
