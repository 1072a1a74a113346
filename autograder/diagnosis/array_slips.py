"""Find slips in a student's source that come from how NumPy's arrays hold their numbers and texts.

A slice of an array is no copy, an array of texts has a fixed width, and a numerical derivative is
right to some digits only.
"""

import ast
from collections.abc import Collection
from typing import Any

from autograder.core.text_format import truncate
from autograder.diagnosis.source_slips import MAX_CODE_CHARACTERS, Source, SourceSlip, read_source
from autograder.judging.code_patterns import find_calls, name_in_place_function

# Attributes and methods of an array, and functions of NumPy, that give the same numbers again.
_VIEWS = frozenset(
    "T mT reshape view transpose swapaxes squeeze asarray atleast_1d atleast_2d".split()
)
_MAKERS_OF_ARRAYS = ("np.array", "np.asarray", "numpy.array", "numpy.asarray")


def find_change_of_argument(function: Any, argument_names: Collection[str]) -> SourceSlip | None:
    """Return the line that writes into an argument, or gives it a second name; None if unknown.

    Parameters
    ----------
    argument_names : collection of str
        Names of the arguments that the function changes.
    """
    source = read_source(function, ())
    if source is None:
        return None
    # For each variable of a loop over an argument, such as g of `for g in gradients`: the argument.
    loops: dict[str, str] = {}
    # The names under which an argument's array is known, each with the line of a second name.
    names: dict[str, ast.Assign | None] = dict.fromkeys(argument_names)
    nodes: list[ast.stmt | ast.expr] = []
    for node in ast.walk(source.function):
        if isinstance(node, (ast.stmt, ast.expr)):
            nodes.append(node)
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            shared_name = _find_shared_name(node.value)
            names.pop(name, None)
            if shared_name in names and shared_name != name:
                names[name] = node
            elif shared_name in argument_names:
                names[name] = None
            loops.pop(name, None)
        elif isinstance(node, ast.For):
            loops.update(_find_loop_over_argument(node, argument_names))
        target_name = _find_written_name(node)
        if target_name in loops:
            return source.make_slip(
                node,
                f"you write into `{target_name}`, which is a part of the argument "
                f"`{loops[target_name]}`.",
                "Where can your function make a new array, and keep it?",
            )
        if target_name in names:
            return _make_slip_on_change(source, node, names[target_name], target_name)
    return None


def _find_loop_over_argument(loop: ast.For, argument_names: Collection[str]) -> dict[str, str]:
    """Return the variable that holds one part of an argument in each turn, with the argument."""
    target, values = loop.target, loop.iter
    if isinstance(values, ast.Call) and ast.unparse(values.func) == "enumerate" and values.args:
        values = values.args[0]
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            target = target.elts[1]
    if not isinstance(target, ast.Name) or not isinstance(values, ast.Name):
        return {}
    return {target.id: values.id} if values.id in argument_names else {}


def _find_shared_name(node: ast.expr) -> str:
    """Return the variable whose numbers an expression shows again, as `x[:]` does; "" if none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        is_slice = all(isinstance(part, (ast.Slice, ast.Constant)) for part in parts)
        return _find_shared_name(node.value) if is_slice else ""
    if isinstance(node, ast.Attribute):
        return _find_shared_name(node.value) if node.attr in _VIEWS else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in _VIEWS:
            return ""
        if ast.unparse(node.func.value) in ("np", "numpy"):
            return _find_shared_name(node.args[0]) if node.args else ""
        return _find_shared_name(node.func.value)
    return ""


def _find_written_name(node: ast.AST) -> str:
    """Return the variable whose array a statement or a call writes into; "" if it writes none."""
    target: ast.expr | None = None
    if isinstance(node, ast.AugAssign):
        target = node.target
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
    elif isinstance(node, ast.Call):
        outputs = [keyword.value for keyword in node.keywords if keyword.arg == "out"]
        if outputs:
            target = outputs[0]
        elif name_in_place_function(node).startswith("."):
            target = node.func.value  # type: ignore[attr-defined]
        elif name_in_place_function(node) and node.args:
            target = node.args[0]
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _make_slip_on_change(
    source: Source, node: ast.AST, second_name: ast.Assign | None, target_name: str
) -> SourceSlip:
    if second_name is None:
        text = f"you write into the array `{target_name}` that your function is given."
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            text += f" A line `{target_name} = {target_name} …` makes a new array."
        return source.make_slip(node, text, "Where can your function make a copy, or a new array?")
    value = second_name.value
    code = truncate(ast.unparse(value), MAX_CODE_CHARACTERS)
    text = f"`{code}` is no copy of the array: both show the same numbers."
    if isinstance(value, ast.Name):
        text = f"`{code}` gets a second name, and no copy is made."
    elif isinstance(value, ast.Subscript):
        text = (
            "a slice of an array is no copy (unlike a slice of a list): both show the same numbers."
        )
    line = node.lineno  # type: ignore[attr-defined]
    return source.make_slip(
        second_name,
        f"{text} Line {line} then changes both.",
        "Which method makes a copy of an array?",
    )


def find_array_of_texts(function: Any) -> SourceSlip | None:
    """Return the line that makes an array into which the function puts longer texts, if any."""
    source = read_source(function, ())
    if source is None:
        return None
    arrays: dict[str, ast.Assign] = {}
    for node in ast.walk(source.function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            if isinstance(value, ast.Call) and ast.unparse(value.func) in _MAKERS_OF_ARRAYS:
                arrays[node.targets[0].id] = node
    for node in ast.walk(source.function):
        target_name = _find_written_name(node)
        if target_name in arrays:
            return source.make_slip(
                arrays[target_name],
                "the array has room for texts as long as the longest that it is made of. A longer "
                "text that is put into it later is cut off at the end.",
                "Which type of Python holds texts of any length, and can be changed?",
            )
    return None


def find_approximation(function: Any) -> SourceSlip | None:
    """Return the line that calls a function for numerical derivatives; None if there is none."""
    source = read_source(function, ())
    for call in find_calls(source.function if source else None):
        name = ast.unparse(call.func)
        if "numerical" in name and source:
            return source.make_slip(
                call,
                f"`{name}` computes with small differences, so its numbers are right to about "
                "seven digits only; about fifteen are expected.",
                "Which formula gives the exact numbers?",
            )
    return None
