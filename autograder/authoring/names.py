"""The names that a piece of code makes, changes and uses, as far as its source tells."""

import ast
from collections.abc import Iterator
from typing import Any, TypeGuard

# Methods that change what they are called on, and give nothing back that is used.
_CHANGING = frozenset(
    "append extend insert remove clear sort reverse add update discard setdefault fill pop popitem".split()
)


def parsed(source: str | bytes) -> Any:
    """A piece of code as Python's own tree; None where it is no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def defined(tree: ast.AST | None) -> tuple[list[str], list[str]]:
    """The functions and the variables that a piece of code makes, in its own scope."""
    nodes = list(_in_scope(tree)) if tree else []
    functions = dict.fromkeys(node.name for node in nodes if isinstance(node, ast.FunctionDef))
    stored = [node.id if _is_stored(node) else _changed(node) for node in nodes]
    return [*functions], [name for name in dict.fromkeys(stored) if name not in {*functions, "", "_"}]


def _in_scope(node: ast.AST) -> Iterator[ast.AST]:
    """A piece of code, node by node, without what functions, classes and comprehensions keep to themselves."""
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        inside = (node.iter, *node.ifs) if isinstance(node, ast.comprehension) else ast.iter_child_nodes(node)
        for part in inside:
            yield from _in_scope(part)


def left_behind(node: ast.AST) -> Iterator[str]:
    """The names that a piece of code binds, in its own scope."""
    for part in _in_scope(node):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield part.name
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]
        elif _is_stored(part):
            yield part.id


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _changed(node: ast.AST) -> str:
    """The variable that `x[...] = ...` or `x.append(...)` changes in place, or ""."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        if not isinstance(called, ast.Attribute) or called.attr not in _CHANGING:
            return ""
        node = called.value
    elif not (isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store)):
        return ""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def bound(tree: ast.AST) -> set[str]:
    """The names that imports and classes bind."""
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return found


def made_by(tree: ast.AST | None) -> set[str]:
    """All names that a piece of code makes or changes, and those that it imports anywhere."""
    return {*left_behind(tree), *defined(tree)[1], *bound(tree)} if tree else set()


def used(tree: ast.AST | None) -> set[str]:
    """The names that a piece of code uses, or makes by assigning to them."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree else set()


def free_names(tree: ast.AST) -> set[str]:
    """The names that a piece of code uses and does not make itself."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    made = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | bound(tree)
    made |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    made |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return {node.id for node in names} - made


def called(expression: ast.AST) -> str:
    """The name of the function or method that an expression calls; "" where it is no call of such."""
    match expression:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return str(name)
    return ""
