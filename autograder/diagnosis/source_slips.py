"""Find slips that can be read in the source of a student's function, such as a `return` in a loop.

What is said of a slip is true of the code, whatever the student meant. So nothing has to be tried
out, and the slip is found beside other mistakes, too. `autograder.diagnosis.repair` tries changes
instead, and finds only what makes the results right.
"""

import ast
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

import numpy as np

from autograder.core.text_format import format_count, join_words, truncate
from autograder.judging.code_patterns import (
    explain_in_place_call,
    explain_reduction_of_two,
    find_calls,
    name_in_place_function,
)

MAX_CODE_CHARACTERS = 60  # of a quoted line
MAX_DECORATOR_LINES = 9  # between the first line of a function's code and its `def`
MAX_SOURCE_LINES = 400  # of a function; the time to read a longer one is outside of any limit


@dataclass(frozen=True)
class SourceSlip:
    """Slip in a student's source, with a sentence about it and a hint.

    Parameters
    ----------
    line : int
        Its line in the notebook's cell; 0 if it has none.
    means, nudge : str
        What the code does, and a question that leads to the slip; the question may be "".
    is_certain : bool
        False if such code may be right: an argument that is not used, for example.
    unused_names : tuple of str
        Names of the arguments that the function never uses, if these are the slip.
    """

    line: int
    means: str
    nudge: str = ""
    is_certain: bool = True
    unused_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Syntax tree and lines of a student's function, and the global names that it can use.

    `fails_with_more_axes` is True if only cases fail whose arrays have more axes than all others.
    """

    function: ast.FunctionDef
    lines: Sequence[str]
    namespace: Mapping[str, Any]
    unused_arguments: Collection[str]
    raises_error: bool = False
    fails_with_more_axes: bool = False

    def make_slip(
        self,
        node: ast.AST,
        text: str,
        nudge: str = "",
        is_certain: bool = True,
    ) -> SourceSlip:
        """Return a slip on the line where a node begins; `text` is the rest of its sentence."""
        line: int = node.lineno  # type: ignore[attr-defined]
        code = truncate(self.get_line(node), MAX_CODE_CHARACTERS)
        return SourceSlip(line, f"In line {line} of your cell, `{code}`, {text}", nudge, is_certain)

    def get_line(self, node: ast.AST) -> str:
        return self.lines[node.lineno - 1].strip()  # type: ignore[attr-defined]


def find_source_slip(
    function: Any,
    unused_arguments: Collection[str] = (),
    has_misconception: bool = False,
    raises_error: bool = False,
    fails_with_more_axes: bool = False,
) -> SourceSlip | None:
    """Return the gravest slip in the source of a student's function; None if there is none.

    Parameters
    ----------
    unused_arguments : collection of str
        Names of arguments on which the right result does not depend.
    has_misconception : bool
        True if a misconception explains the results. Then only slips that may be its cause count.
    raises_error : bool
        True if the function raises an error: this can come from code that is right elsewhere.
    fails_with_more_axes : bool
        True if only cases fail whose arrays have more axes than those of all other cases.
    """
    source = read_source(function, unused_arguments)
    if source is None:
        return None
    source = replace(source, raises_error=raises_error, fails_with_more_axes=fails_with_more_axes)
    finders = _ALL_SLIPS
    if has_misconception:
        finders = (*_SLIPS_BEHIND_MISCONCEPTIONS, _find_certainly_unused_variable)
    for find in finders:
        slip = find(source)
        if slip:
            return slip
    return None


def explain_missing_result(function: Any) -> SourceSlip | None:
    """Explain why a function returns None although it has a `return` line; None if it has none."""
    source = read_source(function, ())
    if source is None:
        return None
    slip = _find_used_in_place_call(source)
    if slip:
        return slip
    own_returns = [node for node in _walk_own_code(source.function) if isinstance(node, ast.Return)]
    inner_returns = [node for node in ast.walk(source.function) if isinstance(node, ast.Return)]
    if not any(node.value for node in own_returns):
        if not any(node.value for node in inner_returns):
            return None
        return SourceSlip(
            0,
            "The `return` line belongs to the function that you define inside yours, so your own "
            "function has none, and gives None.",
            "Where do you call the inner function, and what happens to its result?",
        )
    return SourceSlip(
        0,
        "In this case your function gives None, although it has a `return` line. Perhaps no `return` "
        "line runs, because each one stands in an `if` or a loop. Or the value after `return` is None.",
        "Which lines run in this case? A `print` before the `return` shows whether it is reached.",
    )


def find_tuple_of_places(function: Any) -> SourceSlip | None:
    """Return the line of a tuple of `np.nonzero` that is taken for an array; None if unknown."""
    source = read_source(function, ())
    return _find_tuple_of_places(source) if source else None


def find_written_infinity(function: Any, number: str) -> SourceSlip | None:
    """Return the line on which a function writes "inf" or "-inf" itself; None if there is none."""
    source = read_source(function, ())
    if source is None:
        return None
    operands: set[ast.expr] = set()  # the `np.inf` of a `-np.inf`
    for node in ast.walk(source.function):
        if not isinstance(node, (ast.UnaryOp, ast.Attribute, ast.Call)) or node in operands:
            continue
        if isinstance(node, ast.UnaryOp):
            operands.add(node.operand)
        code = ast.unparse(node)
        match = re.fullmatch(r"(-?)(?:np|numpy|math)\.inf|(-?)float\('(-?)inf'\)", code)
        if match and "".join(filter(None, match.groups())) + "inf" == number:
            return source.make_slip(
                node,
                f"you write {number} yourself, and your result holds it.",
                "Which numbers are expected in these places?",
            )
    return None


def find_squeeze_of_all_axes(function: Any) -> SourceSlip | None:
    """Return the line with a `squeeze` that names no axis, if there is one."""
    source = read_source(function, ())
    if source is None:
        return None
    for call in find_calls(source.function):
        name = ast.unparse(call.func)
        count = 1 if name in ("np.squeeze", "numpy.squeeze") else 0
        if name.endswith(".squeeze") and len(call.args) == count and not call.keywords:
            return source.make_slip(
                call,
                "`squeeze` without an axis removes every axis of length 1.",
                "Which of them does the docstring ask for? `squeeze` can be told an axis.",
            )
    return None


def fit_hint_to_source(function: Any, hint: str) -> str:
    """Return a hint; "" if it speaks of code that the function does not have, such as a mask.

    A hint to call another exercise's function is replaced if the code calls it already.
    """
    source = read_source(function, ())
    if source is None:
        return hint
    statements = source.function.body
    if ast.get_docstring(source.function) is not None:
        statements = statements[1:]
    code = "\n".join([ast.unparse(source.function.args), *map(ast.unparse, statements)])
    called = re.search(r"check\((\w+)\) pass\?.*let `\w+` call it", hint)
    if called and re.search(rf"\b{called[1]}\(", code):
        return f"Which arguments does your code give `{called[1]}`, and in which order?"
    for words, needed_code in _CODE_BEHIND_HINTS:
        if re.search(words, hint) and not re.search(needed_code, code):
            return ""
    return hint


# Words of a hint that speak of the student's own code, and what such code contains.
_CODE_BEHIND_HINTS = (
    (r"Print the mask\b|\byour mask\b", r"mask|\btri|where"),
    (r"transpose or a `\.T` too many", r"\.m?T\b|transpose|swapaxes|moveaxis|einsum"),
    (r"index `\[0\]` too many", r"\[0\b"),
    (r"should `transpose` leave", r"transpose"),
)


def find_uncalled_function(function: Any) -> SourceSlip | None:
    """Return the line with a function that has not been called, if there is one."""
    source = read_source(function, ())
    return _find_uncalled_function(source) if source else None


def find_in_place_call(function: Any) -> SourceSlip | None:
    """Return the line with a value that is None because a method returns nothing, if any."""
    source = read_source(function, ())
    return _find_used_in_place_call(source) if source else None


def find_cause_of_none(function: Any) -> SourceSlip | None:
    """Return the line of a function from which the None in an error comes; None if unknown."""
    source = read_source(function, ())
    if source is None:
        return None
    slip = _find_used_in_place_call(source)
    if slip:
        return slip
    for call in find_calls(source.function):
        is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "get"
        if is_method and len(call.args) == 1 and not call.keywords:
            return source.make_slip(
                call,
                "`.get(key)` gives None for a key that the dict does not "
                "have; `.get(key, other)` gives `other`.",
            )
    return None


def read_source(function: Any, unused_arguments: Collection[str]) -> Source | None:
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    first, last = code.co_firstlineno, code.co_firstlineno + MAX_DECORATOR_LINES
    definitions: list[ast.FunctionDef] = []
    for node in ast.walk(tree):
        is_named_so = isinstance(node, ast.FunctionDef) and node.name == code.co_name
        if isinstance(node, ast.FunctionDef) and is_named_so and first <= node.lineno <= last:
            definitions.append(node)
    if len(definitions) != 1:
        return None
    if (definitions[0].end_lineno or 0) - definitions[0].lineno >= MAX_SOURCE_LINES:
        return None
    return Source(definitions[0], lines, function.__globals__, unused_arguments)


def _walk_own_code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below a node, but not those of functions and classes defined in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _walk_own_code(child)


def _is_method_of_notebook(source: Source, name: str) -> bool:
    """Return True if a class or function of the notebook defines a method of this name.

    Then a call such as `x.reverse()` may be one of it, and do something else than a list's method.
    """
    for node in ast.walk(source.function):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return True
    for value in source.namespace.values():
        if inspect.isfunction(value) and _contains_code(value.__code__, name):
            return True
        value_type = value if isinstance(value, type) else type(value)
        for base in value_type.__mro__:
            if inspect.isfunction(vars(base).get(name)):
                return True
    return False


def _contains_code(code: CodeType, name: str) -> bool:
    """Return True if a function of this name is defined within some code."""
    for constant in code.co_consts:
        if not isinstance(constant, CodeType):
            continue
        if constant.co_name == name or _contains_code(constant, name):
            return True
    return False


def _list_modules(source: Source) -> set[str]:
    """Return the names of the modules that the function can use, and of their packages."""
    names = set()
    for name, value in source.namespace.items():
        if inspect.ismodule(value):
            names |= {name, value.__name__.partition(".")[0]}
    for node in ast.walk(source.function):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                names |= {alias.asname or alias.name, alias.name.partition(".")[0]}
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def _may_use_tensors(source: Source) -> bool:
    """Return True if an array of the function may be a tensor, which has other methods."""
    return bool(_list_modules(source) & {"torch", "keras"})


def _list_local_names(function: ast.FunctionDef) -> set[str]:
    """Return the names of arguments, of variables and of functions that a function defines."""
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef) and node is not function:
            names.add(node.name)
    return names


# The functions below each look for one kind of slip.


def _find_return_in_loop(source: Source) -> SourceSlip | None:
    for loop in _walk_own_code(source.function):
        if not isinstance(loop, (ast.For, ast.While)):
            continue
        skips = any(isinstance(node, (ast.Continue, ast.Break)) for node in ast.walk(loop))
        for node in loop.body:
            if skips or not _always_returns(node):
                continue
            text = "the `return` is inside the loop"
            if isinstance(node, ast.If):
                text = "both branches in the loop end in `return`"
            nudge = "How far must the `return` be indented?"
            if isinstance(loop, ast.While):
                nudge = "After which turn should the loop end?"
            return source.make_slip(
                node, f"{text}, so your function ends in its first turn.", nudge
            )
    return None


def _always_returns(node: ast.stmt) -> bool:
    """Return True for a `return`, and for an `if` with an `else` that both end in one."""
    if isinstance(node, ast.If) and node.orelse:
        return _always_returns(node.body[-1]) and _always_returns(node.orelse[-1])
    return isinstance(node, ast.Return)


def _find_used_in_place_call(source: Source) -> SourceSlip | None:
    for node in ast.walk(source.function):
        if isinstance(node, (ast.Assign, ast.Return)):
            name = name_in_place_function(node.value)
            method = name.rpartition(".")[2]
            # Other classes have methods such as `insert`, `remove` and `add` that return a value.
            if name.startswith(".") and method not in _LIST_METHODS:
                continue
            if name and not _is_method_of_notebook(source, method):
                text = f"the value is None. {explain_in_place_call(name)}"
                return source.make_slip(node, text)
    return _find_in_place_call_as_argument(source)


def _find_in_place_call_as_argument(source: Source) -> SourceSlip | None:
    """Find a call such as `np.array(values.append(x))`, whose argument is None."""
    for call in find_calls(source.function):
        for argument in call.args:
            name = name_in_place_function(argument)
            method = name.rpartition(".")[2]
            if not name.startswith(".") or method not in _LIST_METHODS:
                continue
            if not _is_method_of_notebook(source, method):
                text = f"an argument is None. {explain_in_place_call(name)}"
                return source.make_slip(call, text)
    return None


_LIST_METHODS = frozenset("sort append extend reverse shuffle".split())


def _find_comma_at_end(source: Source) -> SourceSlip | None:
    for node in ast.walk(source.function):
        is_tuple = isinstance(node, (ast.Assign, ast.Return)) and isinstance(node.value, ast.Tuple)
        if not is_tuple or len(node.value.elts) != 1:  # type: ignore[attr-defined]
            continue
        if source.get_line(node).partition("#")[0].rstrip().endswith(","):
            return source.make_slip(
                node,
                "the comma at the end makes a tuple: a value with a comma "
                "after it is a tuple with one entry.",
            )
    return None


def _find_sign_after_equals(source: Source) -> SourceSlip | None:
    for node in ast.walk(source.function):
        is_signed = isinstance(node, ast.Assign) and isinstance(node.value, ast.UnaryOp)
        match = is_signed and re.search(r"\w\s*=([+-])\s", source.get_line(node))
        if match:
            return source.make_slip(
                node,
                f"Python reads `={match[1]}` as `= {match[1]}`: the line "
                f"assigns a new value. To change the old value, write `{match[1]}=`.",
            )
    return None


def _find_power_written_as_xor(source: Source) -> SourceSlip | None:
    for node in ast.walk(source.function):
        sides: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
            sides = [_last_operand(node.left), _first_operand(node.right)]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitXor):
            sides = [_first_operand(node.value)]
        if any(map(_is_number, sides)):
            return source.make_slip(
                node,
                "`^` combines the bits of whole numbers. In Python a power is written `**`.",
                is_certain=False,
            )
    return None


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _first_operand(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.BinOp):
        node = node.left
    return node


def _last_operand(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.BinOp):
        node = node.right
    return node


_LOGIC = (ast.BitAnd, ast.BitOr)


def _find_comparison_without_brackets(source: Source) -> SourceSlip | None:
    for node in ast.walk(source.function):
        if not isinstance(node, ast.Compare) or isinstance(node.ops[0], (ast.In, ast.NotIn)):
            continue
        for operand in (node.left, *node.comparators):
            if not isinstance(operand, ast.BinOp) or not isinstance(operand.op, _LOGIC):
                continue
            if _is_in_brackets(source, operand):
                continue
            return source.make_slip(
                node,
                "Python computes `&` and `|` before `<`, `>=` and `==`. "
                "Put each comparison into brackets, such as `(i >= 0) & (i < n)`.",
            )
    return None


def _is_in_brackets(source: Source, node: ast.expr) -> bool:
    """Return True if an operation is written in brackets of its own."""
    before = source.lines[node.lineno - 1].encode()[: node.col_offset].decode().rstrip()
    after = source.lines[(node.end_lineno or 1) - 1].encode()[node.end_col_offset or 0 :].decode()
    return before.endswith("(") and after.lstrip().startswith(")")


def _find_repeated_row(source: Source) -> SourceSlip | None:
    if not any(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
               for node in ast.walk(source.function)):  # fmt: skip
        return None
    for node in ast.walk(source.function):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        for side in (node.left, node.right):
            if isinstance(side, ast.List) and len(side.elts) == 1 and _is_mutable(side.elts[0]):
                return source.make_slip(
                    node,
                    "the `*` repeats one and the same row: a change of one changes all.",
                    "How can a loop, or NumPy, make a row of its own for each place?",
                )
    return None


def _is_mutable(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return isinstance(node.left, ast.List) or isinstance(node.right, ast.List)
    if isinstance(node, ast.Call):
        makers = ("np.zeros", "np.ones", "np.empty", "np.full", "list", "dict")
        return ast.unparse(node.func) in makers
    return isinstance(node, (ast.List, ast.ListComp, ast.Dict))


def _find_mutable_default(source: Source) -> SourceSlip | None:
    arguments = source.function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    pairs = list(zip(names[len(names) - len(arguments.defaults) :], arguments.defaults))
    for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults):
        if value is not None:
            pairs.append((argument.arg, value))
    changed_names = _list_changed_names(source.function)
    for name, default in pairs:
        if isinstance(default, (ast.List, ast.Dict, ast.Set)) and name in changed_names:
            code = ast.unparse(default)
            return SourceSlip(
                0,
                f"The default `{code}` of `{name}` is made only once, and your function changes "
                "it: the next call finds what this one has put into it.",
                f"Where can your function make a new `{code}` in each call?",
            )
    return None


def _list_changed_names(function: ast.FunctionDef) -> set[str]:
    """Return the names whose object is changed by a method or by an assignment to an entry."""
    names = set()
    for node in ast.walk(function):
        target: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            target = node.func.value if name_in_place_function(node) else None
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            target = node.value
        if isinstance(target, ast.Name):
            names.add(target.id)
    return names


# Methods of arrays and texts that leave their object as it is and return a new one.
_PURE_METHODS = frozenset(
    "reshape transpose swapaxes astype copy sum mean max min clip round flatten ravel squeeze "
    "repeat dot argsort argmax cumsum std var prod take view replace strip lower upper".split()
)
_PURE_BUILTINS = frozenset("abs float int len range".split())
# Keywords with which functions of NumPy and pandas write into their arguments.
_WRITING_KEYWORDS = frozenset({"copy", "inplace", "out", "overwrite_input"})
# The first words of functions that do more than compute a value. `np.apply_along_axis` calls
# another function.
_ACTIONS = ("apply", "print", "save", "set")
_OPERATIONS = (
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.BoolOp,
    ast.Attribute,
    ast.Name,
)


def _find_lost_value(source: Source) -> SourceSlip | None:
    """Find a line that computes a value and does not keep it, such as `x.reshape(2, 3)`."""
    tried_nodes: set[ast.AST] = set()  # these may be there for the error that they raise
    for node in ast.walk(source.function):
        if isinstance(node, ast.Try):
            for statement in node.body:
                tried_nodes.update(ast.walk(statement))
    for node in ast.walk(source.function):
        if not isinstance(node, ast.Expr) or node in tried_nodes:
            continue
        value = node.value
        if isinstance(value, ast.Compare) and isinstance(value.ops[0], ast.Eq):
            return source.make_slip(
                node,
                "`==` only compares, and the answer is lost. An assignment has one `=`.",
                "Which name should get a new value on this line?",
            )
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            name = value.func.id
            is_local = name in _list_local_names(source.function)
            if not is_local and _returns_value(source.namespace.get(name)):
                return source.make_slip(
                    node,
                    f"the result of `{name}` is not kept.",
                    "Which name should the result get, and where is it used?",
                )
        if _is_computation(value) and _has_only_pure_calls(source, value):
            return source.make_slip(
                node,
                "a value is computed and not kept: nothing is changed by this line.",
                "Which name should the result get, and where is it used?",
            )
    return None


def _returns_value(function: Any) -> bool:
    """Return True for a function whose source has a `return` with a value."""
    source = read_source(function, ()) if inspect.isfunction(function) else None
    if source is None:
        return False
    for node in _walk_own_code(source.function):
        if isinstance(node, ast.Return) and node.value and ast.unparse(node.value) != "None":
            return True
    return False


def _is_computation(node: ast.expr) -> bool:
    # `d[key]` is none: it makes the entry of a defaultdict.
    is_part = isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Slice, ast.Tuple))
    return is_part or isinstance(node, (*_OPERATIONS, ast.Call))


def _has_only_pure_calls(source: Source, node: ast.expr) -> bool:
    """Return True if all calls in an expression only compute values."""
    for call in find_calls(node):
        is_builtin = isinstance(call.func, ast.Name) and call.func.id in _PURE_BUILTINS
        # A line that is only `range(n)` or `int(x)` may be meant as it is, so it is no slip.
        if not (is_builtin and call is not node) and not _is_pure_call(source, call):
            return False
    return True


def _is_pure_call(source: Source, node: ast.Call) -> bool:
    """Return True for a call that only computes a value: of NumPy, or of a method of arrays."""
    if not isinstance(node.func, ast.Attribute) or name_in_place_function(node):
        return False
    keywords = {keyword.arg for keyword in node.keywords}
    has_star = None in keywords or any(isinstance(value, ast.Starred) for value in node.args)
    if has_star or keywords & _WRITING_KEYWORDS:
        return False
    owner, name = ast.unparse(node.func.value), node.func.attr
    function = getattr(np, name, None)
    if owner in _MODULES_OF_ARRAYS:
        max_arguments = _count_inputs(function)
        is_action = name.startswith(_ACTIONS)
        return callable(function) and not is_action and len(node.args) <= max_arguments
    if name not in _PURE_METHODS or owner in {"random", "plt", "ax", *_list_modules(source)}:
        return False
    if name == "replace" and len(node.args) < 2:
        return False  # a method `replace` of a path renames its file
    # An array's method has one argument less than the function of NumPy.
    is_free = name in ("reshape", "transpose") or not callable(function)
    if not is_free and len(node.args) >= _count_inputs(function):
        return False
    return not _is_method_of_notebook(source, name)


def _count_inputs(function: Any) -> int:
    """Return how many arguments a function of NumPy takes before the one into which it writes.

    `np.add(x, y, x)` writes into its third argument. The result is 0 if it is not known.
    """
    if isinstance(function, np.ufunc):
        return function.nin
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return 0
    for count, name in enumerate(names):
        if name in _WRITING_KEYWORDS:
            return count
    return sys.maxsize


def _find_tuple_of_places(source: Source) -> SourceSlip | None:
    """Find the result of `np.nonzero`, or `np.where` with one argument, taken for an array."""
    names: dict[str, ast.Assign] = {}
    for node in ast.walk(source.function):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        if isinstance(node.value, ast.Call):
            function = ast.unparse(node.value.func)
            is_where = function == "np.where" and len(node.value.args) == 1
            if is_where or function == "np.nonzero":
                names[node.targets[0].id] = node
    for node in ast.walk(source.function):
        user: ast.expr | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            index = node.slice
            is_first = isinstance(index, ast.Constant) and index.value in (0, 1, 2)
            user = None if is_first else node.value
        elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name):
            user = node.args[0] if node.func.id in ("len", "max", "min", "sum") else None
        elif isinstance(node, ast.Attribute):
            user = node.value
        elif isinstance(node, ast.BinOp):
            user = node.left
        if isinstance(user, ast.Name):
            assignment = names.get(user.id)
            if assignment:
                return source.make_slip(
                    assignment,
                    "the result is a tuple with an array of places "
                    "for each axis, not the array of places itself.",
                    "Which index takes the array out of the tuple?",
                )
    return None


def _find_early_end_of_power(source: Source) -> SourceSlip | None:
    """Find `n ** 1 / 2` and `10000 ** -2 * i / d`, where the power ends before the `*` or `/`."""
    for node in ast.walk(source.function):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mult, ast.Div)):
            continue
        power = node.left
        if isinstance(power, ast.BinOp) and isinstance(power.op, (ast.Mult, ast.Div)):
            power = power.right  # of `x / n ** 1 / 2`, the part before the last sign
        if not isinstance(power, ast.BinOp) or not isinstance(power.op, ast.Pow):
            continue
        exponent = ast.unparse(power.right)
        is_half = exponent in ("1", "-1") and _is_number(node.right)
        # `10 ** -3 * n` is the usual way to write 0.001 n.
        is_of_number = isinstance(power.left, ast.Constant) and power.left.value != 10
        is_negative = bool(re.fullmatch(r"-\d+(\.\d*)?", exponent))
        is_rate = is_of_number and is_negative and isinstance(node.right, ast.Name)
        if (is_half or is_rate) and not _is_in_brackets(source, power):
            return _make_slip_on_missing_brackets(source, "power", node)
    return None


def _find_division_by_one(source: Source) -> SourceSlip | None:
    """Find `x / 1 - b`, where the division ends before the sign."""
    for node in ast.walk(source.function):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub)):
            continue
        quotient = node.left
        if not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.Div):
            continue
        is_by_one = isinstance(quotient.right, ast.Constant) and quotient.right.value == 1
        if is_by_one and not _is_in_brackets(source, quotient):
            return _make_slip_on_missing_brackets(source, "division", node)
    return None


_SIGNS: dict[type[ast.operator], str] = {ast.Mult: "*", ast.Div: "/", ast.Add: "+", ast.Sub: "-"}


def _make_slip_on_missing_brackets(source: Source, operation: str, node: ast.BinOp) -> SourceSlip:
    """Return a slip on an operation, such as "power", that ends before the sign of `node`."""
    sign = _SIGNS[type(node.op)]
    code = f"({ast.unparse(node.left)}) {sign} {ast.unparse(node.right)}"
    return source.make_slip(
        node,
        f"the {operation} ends before the `{sign}`: Python computes `{code}`.",
        "Where do brackets belong?",
    )


def _find_transpose_without_effect(source: Source) -> SourceSlip | None:
    """Find `x.transpose(-2, -1)`, which leaves the axes of a matrix as they are."""
    if _may_use_tensors(source):
        return None
    for call in find_calls(source.function):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "transpose":
            continue
        arguments = call.args
        if ast.unparse(call.func.value) in _MODULES_OF_ARRAYS:
            arguments = arguments[1:]
        if len(arguments) == 1 and isinstance(arguments[0], (ast.Tuple, ast.List)):
            arguments = arguments[0].elts
        axes = ", ".join(map(ast.unparse, arguments))
        if axes in ("0, 1", "-2, -1"):
            return source.make_slip(
                call,
                "NumPy's `transpose` does not exchange two axes, as PyTorch's does. It takes the new "
                f"order of all axes, and {axes} is the order that a matrix already has. So nothing changes.",
                "How does NumPy exchange two axes? There is `.T`, and there is `np.swapaxes`.",
            )
    return None


_MODULES_OF_ARRAYS = ("np", "numpy")


def _find_repeat_of_torch(source: Source) -> SourceSlip | None:
    """Find `x.repeat(k, 1)`, if the function raises an error: the 1 is an axis in NumPy."""
    if not source.raises_error or _may_use_tensors(source):
        return None
    for call in find_calls(source.function):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "repeat":
            continue
        is_method = ast.unparse(call.func.value) not in _MODULES_OF_ARRAYS
        if is_method and len(call.args) == 2 and ast.unparse(call.args[1]) == "1":
            return source.make_slip(
                call,
                "the second argument of NumPy's `repeat` is an axis: this repeats along axis 1. "
                "(PyTorch's `repeat` takes a number for each axis; `np.tile` does that in NumPy.)",
                "Along which axis should the array become longer?",
            )
    return None


def _find_overwritten_argument(source: Source) -> SourceSlip | None:
    """Find an argument that gets a new value before its own was used, and is used afterwards."""
    arguments = source.function.args
    names = {argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)}
    loads = _list_loaded_names(source.function)
    for statement in source.function.body:
        if not isinstance(statement, (ast.Assign, ast.Expr)):
            return None  # in an `if` or a loop the value may be used in some cases only
        written_names: list[ast.Name] = []
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.discard(node.id)  # also in the index of `result[head] = …`
            elif isinstance(node, ast.Name):
                written_names.append(node)
        if isinstance(statement, ast.Assign):
            for node in written_names:
                if node.id in names & loads:
                    return source.make_slip(
                        statement,
                        f"the argument `{node.id}` gets another value before its own was used, so "
                        "that this is lost.",
                        f"Which lines mean the argument `{node.id}`, and which the new value?",
                    )
    return None


def _find_index_used_as_condition(source: Source) -> SourceSlip | None:
    """Find `if j:` for an index from `.get`, where None was meant and 0 is false, too."""
    counters: set[str] = set()
    for node in ast.walk(source.function):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            target = node.target
            if isinstance(target, ast.Tuple) and ast.unparse(node.iter.func) == "enumerate":
                target = target.elts[0]
            if isinstance(target, ast.Name):
                counters.add(target.id)
    mappings: set[str] = set()
    index_names: set[str] = set()
    for node in ast.walk(source.function):
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        is_counter = isinstance(value, ast.Name) and value.id in counters
        if isinstance(target, ast.Subscript) and is_counter:
            mappings.add(ast.unparse(target.value))
    for node in ast.walk(source.function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            function, target = node.value.func, node.targets[0]
            if not isinstance(function, ast.Attribute) or not isinstance(target, ast.Name):
                continue
            if function.attr == "get" and ast.unparse(function.value) in mappings:
                index_names.add(target.id)
    for node in ast.walk(source.function):
        if not isinstance(node, (ast.If, ast.While, ast.IfExp)):
            continue
        test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
        if isinstance(test, ast.Name) and test.id in index_names:
            return source.make_slip(
                node,
                f"`{test.id}` counts as false if it is None, and also if it is 0: the first index.",
                f"How does Python ask whether `{test.id}` is None?",
            )
    return None


def _find_axis_counted_from_start(source: Source) -> SourceSlip | None:
    """Find `axis=1` or `.shape[1]` where only cases with more axes than others fail."""
    if not source.fails_with_more_axes:
        return None
    nodes = [node for node in ast.walk(source.function) if isinstance(node, ast.expr)]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    for node in nodes:
        axis: ast.expr | None = None
        if isinstance(node, ast.Call):
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            axis, code = keywords.get("axis"), "axis={}"
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            if node.value.attr != "shape":
                continue
            axis, code = node.slice, ast.unparse(node.value) + "[{}]"
        if not isinstance(axis, ast.Constant) or axis.value not in (1, 2):
            continue
        if isinstance(axis.value, bool):
            continue
        text = "is the last axis of a matrix, but the middle one of an array with three axes"
        if axis.value == 2:
            text = "is the last of three axes, but not of four"
        return source.make_slip(
            node,
            f"`{code.format(axis.value)}` {text}. The last axis is always axis -1.",
            "Which axis do you mean if the array has one more in front?",
        )
    return None


def _find_short_range(source: Source) -> SourceSlip | None:
    """Find `for i in range(n - 1)` in a loop that does not look at the place after i."""
    for loop in ast.walk(source.function):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        call = loop.iter
        is_range = isinstance(call, ast.Call) and ast.unparse(call.func) == "range"
        if not is_range or len(call.args) != 1:  # type: ignore[attr-defined]
            continue
        stop, name = call.args[0], loop.target.id  # type: ignore[attr-defined]
        body = "\n".join(map(ast.unparse, loop.body))
        looks_ahead = re.search(rf"\b{name} \+|\+ {name}\b|-{name}\b|- {name}\b", body)
        if ast.unparse(stop).endswith(" - 1") and isinstance(stop, ast.BinOp) and not looks_ahead:
            last = ast.unparse(ast.BinOp(stop.left, ast.Sub(), ast.Constant(2)))
            return source.make_slip(
                loop,
                f"`{name}` runs from 0 to {last}, because `range` stops before its argument.",
                f"What is the last `{name}` that the loop needs?",
                is_certain=False,
            )
    return None


def _find_reduction_of_two(source: Source) -> SourceSlip | None:
    for node in ast.walk(source.function):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.For, ast.If)):
            text = explain_reduction_of_two(node)
            if text:
                sentence = text[0].lower() + text[1:]
                return source.make_slip(node, f"{sentence}")
    return None


def _find_uncalled_function(source: Source) -> SourceSlip | None:
    """Find a function that stands beside an operator and has not been called: `softmax @ v`."""
    local_names = _list_local_names(source.function)
    for node in ast.walk(source.function):
        if not isinstance(node, ast.BinOp):
            continue
        for side in (node.left, node.right):
            if not isinstance(side, ast.Name) or side.id in local_names:
                continue
            if inspect.isfunction(source.namespace.get(side.id)):
                return source.make_slip(
                    node,
                    f"`{side.id}` is a function that was not called: its brackets are missing.",
                )
    return None


def _find_extra_array(source: Source) -> SourceSlip | None:
    """Find a third array in `np.matmul(a, b, c)`, into which NumPy would write the result."""
    for call in find_calls(source.function):
        module, _, name = ast.unparse(call.func).rpartition(".")
        function = getattr(np, name, None) if module in ("np", "numpy") else None
        if isinstance(function, np.ufunc) and len(call.args) > function.nin:
            count = format_count(function.nin, "array")
            return source.make_slip(
                call,
                f"`np.{name}` computes with {count}; one more is the array that gets the result.",
                is_certain=_is_value_used(source, call),
            )
    return None


def _is_value_used(source: Source, call: ast.Call) -> bool:
    statements = [node.value for node in ast.walk(source.function) if isinstance(node, ast.Expr)]
    return all(value is not call for value in statements)


def _find_random_number(source: Source) -> SourceSlip | None:
    calls = list(find_calls(source.function))
    if any(call.args and ast.unparse(call.func).endswith("random.seed") for call in calls):
        return None  # the numbers are the same in every call
    for call in calls:
        code = ast.unparse(call.func)
        if "(" in code:
            continue  # a call such as `default_rng(3)` is looked at by itself
        if re.search(r"\.(default_rng|RandomState|SeedSequence|Random)$", code) and call.args:
            continue
        if code.startswith(("np.random.", "numpy.random.", "random.")):
            return source.make_slip(
                call,
                "a random number is drawn. The result must depend on the arguments alone.",
            )
    return None


def _find_sum_with_axis(source: Source) -> SourceSlip | None:
    for call in find_calls(source.function):
        is_sum = isinstance(call.func, ast.Name) and call.func.id == "sum"
        if is_sum and len(call.args) == 2 and isinstance(call.args[1], (ast.Name, ast.Call)):
            return source.make_slip(
                call,
                "Python's `sum` adds up the entries of its first argument along the first axis; "
                "the second argument is the start.",
                is_certain=False,
            )
    return None


def _find_variable_of_notebook(source: Source) -> SourceSlip | None:
    """Find an array of the notebook that the function uses, perhaps in place of an argument."""
    local_names = {node.arg for node in ast.walk(source.function) if isinstance(node, ast.arg)}
    loads: dict[str, ast.Name] = {}
    for node in ast.walk(source.function):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                loads.setdefault(node.id, node)
            else:
                local_names.add(node.id)
    unused_names = _list_unused_arguments(source)
    for name, node in loads.items():
        if name in local_names or name not in source.namespace or _is_in_def_line(source, node):
            continue
        value = source.namespace[name]
        is_suspect = bool(unused_names) or source.raises_error
        is_number = type(value) in (int, float) and not name.isupper() and is_suspect
        is_container = type(value) in (list, dict) and bool(unused_names)
        is_data = isinstance(value, np.ndarray) or is_container
        if not is_number and not is_data:
            continue
        unused_sentence = ""
        if unused_names:
            names = join_words([f"`{unused_name}`" for unused_name in unused_names])
            verb = "is" if len(unused_names) == 1 else "are"
            unused_sentence = f" Your code does not use {names}, which {verb} among its arguments."
        return source.make_slip(
            node,
            f"`{name}` is a variable of the notebook: it is the same in every call.{unused_sentence}",
            f"Which argument do you mean by `{name}`?",
            is_certain=bool(unused_names),
        )
    return None


def _is_in_def_line(source: Source, node: ast.AST) -> bool:
    """Return True for a node in the defaults of an argument, which are evaluated only once."""
    return any(node is inner for inner in ast.walk(source.function.args))


def _find_unused_name(source: Source) -> SourceSlip | None:
    """Find an argument, or a variable that gets a value, which the function never uses."""
    unused_names = _list_unused_arguments(source)
    if unused_names:
        names = join_words([f"`{name}`" for name in unused_names])
        noun = "argument" if len(unused_names) == 1 else "arguments"
        text = f"Your code never uses its {noun} {names}."
        return SourceSlip(0, text, is_certain=False, unused_names=tuple(unused_names))
    return _find_unused_variable(source)


def _find_unused_variable(source: Source, is_certain: bool = False) -> SourceSlip | None:
    """Find a variable that gets a value which the function never uses."""
    loads = _list_loaded_names(source.function)
    for node in ast.walk(source.function):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name = node.targets[0].id
        if name not in loads and not name.startswith("_"):
            return source.make_slip(
                node,
                f"`{name}` gets a value that is never used.",
                is_certain=is_certain,
            )
    return None


def _find_certainly_unused_variable(source: Source) -> SourceSlip | None:
    """Find a variable that gets a value which is never used; it is certain to be a slip.

    The results show a mistake, and the name that was forgotten may be its cause.
    """
    return _find_unused_variable(source, is_certain=True)


def _list_unused_arguments(source: Source) -> list[str]:
    loads = _list_loaded_names(source.function)
    arguments = source.function.args
    names = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)]
    return [name for name in names if name not in loads and name not in source.unused_arguments]


def _list_loaded_names(function: ast.FunctionDef) -> set[str]:
    """Return the names that the body of a function reads; all names, if it calls `locals`."""
    names = set()
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
    if names & {"locals", "vars", "eval", "exec"}:
        names.update(node.id for node in ast.walk(function) if isinstance(node, ast.Name))
        names.update(node.arg for node in ast.walk(function) if isinstance(node, ast.arg))
    return names


_Finder = Callable[[Source], SourceSlip | None]

# The gravest first. Those of the first table are also said beside a misconception: that names what
# is wrong with the result, and the slip is where it comes from.
_SLIPS_BEHIND_MISCONCEPTIONS: tuple[_Finder, ...] = (
    _find_return_in_loop,
    _find_used_in_place_call,
    _find_comma_at_end,
    _find_sign_after_equals,
    _find_repeated_row,
    _find_mutable_default,
    _find_lost_value,
    _find_transpose_without_effect,
    _find_repeat_of_torch,
)
# The last five may be right, and are said only where nothing else is known.
_OTHER_SLIPS: tuple[_Finder, ...] = (
    _find_overwritten_argument,
    _find_index_used_as_condition,
    _find_axis_counted_from_start,
    _find_comparison_without_brackets,
    _find_tuple_of_places,
    _find_early_end_of_power,
    _find_division_by_one,
    _find_reduction_of_two,
    _find_uncalled_function,
    _find_extra_array,
    _find_random_number,
    _find_variable_of_notebook,
    _find_power_written_as_xor,
    _find_sum_with_axis,
    _find_unused_name,
    _find_short_range,
)
_ALL_SLIPS = (*_SLIPS_BEHIND_MISCONCEPTIONS, *_OTHER_SLIPS)
