"""Find the names that a piece of Python code defines, changes and uses, from its syntax tree."""

import ast
import re
import symtable
from collections.abc import Iterator
from typing import Any, TypeGuard

# Methods that change the object on which they are called.
_MUTATING_METHODS = frozenset(
    (
        "append extend insert remove clear sort reverse "  # of lists
        "add update discard setdefault fill pop popitem"
    ).split()
)

# Names of the symbol tables of comprehensions.
_COMPREHENSIONS = frozenset(("listcomp", "setcomp", "dictcomp", "genexpr"))

_MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)


def parse_code(source: str | bytes) -> Any:
    """Return the syntax tree of a piece of code, or None if the code is no valid Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def find_functions_and_variables(tree: ast.AST | None) -> tuple[list[str], list[str]]:
    """Return the functions and the variables that code defines or changes at its top level.

    Names inside functions, classes and comprehensions are not included.
    """
    if tree is None:
        return [], []
    functions: dict[str, None] = {}  # dicts, to keep the order
    variables: dict[str, None] = {}
    for node in _walk_outermost_scope(tree):
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = None
        elif _is_assignment_target(node):
            variables[node.id] = None
        else:
            variables[_get_mutated_variable(node)] = None
    for name in (*functions, "", "_"):
        variables.pop(name, None)
    return list(functions), list(variables)


def find_classes(tree: ast.AST | None) -> list[str]:
    """Return the classes that code defines at its top level."""
    if tree is None:
        return []
    return [node.name for node in _walk_outermost_scope(tree) if isinstance(node, ast.ClassDef)]


def _walk_outermost_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a syntax tree, but not those inside functions and classes.

    The variables of comprehensions are left out as well.
    """
    yield node
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.comprehension):
        children = [node.iter, *node.ifs]
    for child in children:
        yield from _walk_outermost_scope(child)


def find_bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a piece of code defines at its top level, outside functions.

    These are the names of assigned variables, imports, functions and classes.
    """
    for part in _walk_outermost_scope(node):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield part.name
        elif isinstance(part, ast.alias):
            yield _get_bound_name(part)
        elif _is_assignment_target(part):
            yield part.id


def _get_bound_name(alias: ast.alias) -> str:
    return (alias.asname or alias.name).partition(".")[0]


def _is_assignment_target(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _get_mutated_variable(node: ast.AST) -> str:
    """Return the variable that `x[...] = ...` or `x.append(...)` changes in place, or ""."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if not isinstance(function, ast.Attribute) or function.attr not in _MUTATING_METHODS:
            return ""
        node = function.value
    elif not isinstance(getattr(node, "ctx", None), ast.Store):
        return ""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def find_imported_names(tree: ast.AST) -> set[str]:
    """Return the names that code imports, also inside functions."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {_get_bound_name(alias) for alias in node.names}
    return names


def find_import_and_class_names(tree: ast.AST) -> set[str]:
    """Return the names that code imports, and the names of its classes, also inside functions."""
    classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return find_imported_names(tree) | classes


def find_changed_names(tree: ast.AST | None) -> set[str]:
    """Return the names that code assigns to or changes at its top level, outside functions.

    Names of imports and classes inside functions are included, too.
    """
    if tree is None:
        return set()
    _, variables = find_functions_and_variables(tree)
    return {*find_bound_names(tree), *variables, *find_import_and_class_names(tree)}


def find_read_or_assigned_names(tree: ast.AST | None) -> set[str]:
    """Return the names that a piece of code reads or assigns to."""
    if tree is None:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def find_free_names(tree: ast.AST) -> set[str]:
    """Return the names that a piece of code uses and does not define anywhere."""
    names = set()
    definitions = find_import_and_class_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
            if not isinstance(node.ctx, ast.Load):
                definitions.add(node.id)
        elif isinstance(node, ast.arg):
            definitions.add(node.arg)
        elif isinstance(node, ast.FunctionDef):
            definitions.add(node.name)
    return names - definitions


def find_external_names(source: str) -> set[str]:
    """Return the names that a notebook cell uses and other cells must define.

    Names that the code binds in the cell, and local names of its functions, are not among them.
    Lines with IPython magic are ignored. The result is empty if the rest is no valid Python.

    >>> sorted(find_external_names("def f(x):\\n    def g(y): return y\\n    return g(x) + h(x)"))
    ['h']
    """
    try:
        module = symtable.symtable(_MAGIC.sub(r"\1pass", source), "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    module_names = set()
    names = set()
    for symbol in module.get_symbols():
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
            module_names.add(symbol.get_name())
        if symbol.is_referenced():
            names.add(symbol.get_name())
    tables = module.get_children()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_global():
                names.add(symbol.get_name())
                if symbol.is_assigned() and table.get_name() in _COMPREHENSIONS:  # by `:=`
                    module_names.add(symbol.get_name())
    return names - module_names


def get_called_name(expression: ast.AST) -> str:
    """Return the name of the function or method that an expression calls; "" if it calls none."""
    match expression:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return str(name)
    return ""
