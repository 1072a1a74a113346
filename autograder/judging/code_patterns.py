"""Find typical slips in the syntax tree of a student's code, such as `x = x.sort()`.

The explanations of errors read one line in this way; `autograder.diagnosis.source_slips` reads a
whole function.
"""

import ast
from collections.abc import Iterator

# Methods that change their object and return None. `pop` is not one of them: it returns a value.
_IN_PLACE_METHODS = frozenset(
    "append extend insert remove reverse clear sort shuffle fill update add put".split()
)
_IN_PLACE_FUNCTIONS = frozenset("copyto put place putmask fill_diagonal put_along_axis".split())
# Modules whose functions, such as `np.sort` and `ops.add`, return a new array.
_MODULES = frozenset("np numpy ops keras math torch tf jnp scipy".split())
# NumPy's reductions, each with the code for two arrays, entry by entry.
_REDUCTIONS_OF_TWO = {
    "max": "np.maximum(a, b)",
    "amax": "np.maximum(a, b)",
    "min": "np.minimum(a, b)",
    "amin": "np.minimum(a, b)",
    "sum": "a + b",
    "mean": "(a + b) / 2",
    "prod": "a * b",
    "any": "a | b",
    "all": "a & b",
}


def parse_line(code: str) -> ast.AST | None:
    """Return the syntax tree of one line of code; None if it is only a part of a statement."""
    code = code.strip()
    for text in (code, f"{code} pass"):  # the second for a line such as `for i in x:`
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError):
            continue
    return None


def find_calls(tree: ast.AST | None) -> Iterator[ast.Call]:
    """Yield all calls in a syntax tree."""
    if tree is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node


def name_in_place_function(node: ast.AST | None) -> str:
    """Return the name of the function that a call uses, if it returns None; else "".

    >>> name_in_place_function(ast.parse("np.add.at(x, i, y)", mode="eval").body)
    'np.add.at'
    >>> name_in_place_function(ast.parse("x.copy().sort()", mode="eval").body)
    '.sort'
    >>> name_in_place_function(ast.parse("np.sort(x)", mode="eval").body)
    ''
    """
    if not isinstance(node, ast.Call):
        return ""
    if not isinstance(node.func, ast.Attribute):
        return "print" if isinstance(node.func, ast.Name) and node.func.id == "print" else ""
    name, receiver = node.func.attr, ast.unparse(node.func.value)
    if receiver in ("np", "numpy"):
        return f"{receiver}.{name}" if name in _IN_PLACE_FUNCTIONS else ""
    if receiver in _MODULES:
        return ""
    if name == "at" and receiver.partition(".")[0] in ("np", "numpy"):
        return f"{receiver}.at"
    if name == "shuffle":
        is_module_or_generator = receiver.isidentifier() or "random" in receiver
        return f"{receiver}.shuffle" if is_module_or_generator else ".shuffle"
    return f".{name}" if name in _IN_PLACE_METHODS else ""


def find_used_in_place_call(tree: ast.AST | None) -> str:
    """Return the function of a call that returns None and whose result is used; else ""."""
    if tree is None:
        return ""
    statements = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    for call in find_calls(tree):
        name = name_in_place_function(call)
        if name and not any(call is value for value in statements):
            return name
    return ""


def explain_in_place_call(name: str) -> str:
    """Say that a function returns None, and how it is used.

    >>> explain_in_place_call(".sort").partition(". ")[0]
    '`.sort` changes its object in place and returns None'
    """
    if name == "print":
        return "`print` shows a value and returns None."
    owner = "its object" if name.startswith(".") else "the array or list that it is given"
    thing = "object" if name.startswith(".") else "array or list"
    return (
        f"`{name}` changes {owner} in place and returns None. "
        f"Write the call on a line of its own, and then use the {thing}."
    )


def explain_reduction_of_two(tree: ast.AST | None) -> str:
    """Explain a call such as `np.max(a, b)`, whose second argument is the axis; else return ""."""
    for call in find_calls(tree):
        module, _, name = ast.unparse(call.func).rpartition(".")
        if module not in ("np", "numpy") or name not in _REDUCTIONS_OF_TWO or len(call.args) < 2:
            continue
        if _may_be_an_axis(call.args[1]):
            continue
        return (
            f"The second argument of `np.{name}` is the axis, not another array. "
            f"For two arrays, entry by entry: `{_REDUCTIONS_OF_TWO[name]}`."
        )
    return ""


def _may_be_an_axis(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Name):
        return any(part in node.id.lower() for part in ("ax", "dim"))
    if isinstance(node, ast.Tuple):
        return True
    return isinstance(node, ast.Constant) and type(node.value) in (int, type(None))
