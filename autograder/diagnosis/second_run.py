"""Run a wrong function once more, and look at what its variables hold where it goes wrong.

The message of an error names neither the product of a line that failed nor where the arrays come
from, and nan says nothing of the operation that made it. A second run in the student's own session
shows both.
"""

import ast
import inspect
import linecache
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from autograder.core.text_format import join_words, truncate
from autograder.diagnosis.source_slips import MAX_CODE_CHARACTERS
from autograder.judging.student_calls import NULL_OUTPUT, OutputCapture
from autograder.values.case_records import Inputs
from autograder.values.value_types import copy_inputs

MAX_SHOWN_ARGUMENTS = 8  # of a call, with their shapes
MIN_SHARE_OF_PEAK = 0.3  # of the memory used, to say that one array is too large

_LINE_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)
# The parts of these run in a scope of their own, or not at all.
_CLOSED_NODES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp)
_PRODUCTS = ("np.dot", "np.matmul", "numpy.dot", "numpy.matmul")


@dataclass(frozen=True)
class Explanation:
    """Sentences on what a second run has shown, and a hint.

    Parameters
    ----------
    means, nudge : str
        The hint may be "".
    """

    means: str
    nudge: str = ""


@dataclass(frozen=True)
class _FailingRun:
    """Error of a function, and the frame of its code that raised it.

    `is_inside` is True if a function that this code calls has raised the error.
    """

    error: BaseException
    frame: FrameType
    line: int
    is_inside: bool


def explain_failing_line(function: Any, inputs: Inputs) -> Explanation | None:
    """Name the product or the operation of a line for which shapes do not fit; None if unknown."""
    run = _find_failing_run(function, inputs)
    statement = _find_statement(run) if run else None
    if run is None or statement is None:
        return None
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.AugAssign):
        target = ast.parse(ast.unparse(statement.target), mode="eval").body
        value = ast.BinOp(target, statement.op, statement.value)
    if value is None:
        return None
    line = _FailingLineExplainer(run)
    node = line.find_failing_node(value)
    return line.explain(node) if node else None


def _find_failing_run(
    function: Any, inputs: Inputs, errors: dict[str, str] | None = None
) -> _FailingRun | None:
    """Call a function; return its error and where it was raised, or None if it raises none.

    `errors` are options of `np.errstate`, such as `{"invalid": "raise"}`.
    """
    function = inspect.unwrap(function)
    filename = getattr(getattr(function, "__code__", None), "co_filename", "")
    copies = copy_inputs(inputs)
    options: dict[str, Any] = {"all": "ignore", **(errors or {})}
    try:
        with (
            warnings.catch_warnings(),
            np.errstate(**options),
            OutputCapture(NULL_OUTPUT),
        ):
            warnings.simplefilter("ignore")
            function(*copies.args, **copies.kwargs)
    except Exception as error:  # noqa: BLE001 - any error of the student's code
        own_trace, last_trace = None, None
        trace = error.__traceback__
        while trace is not None:
            is_own = trace.tb_frame.f_code.co_filename == filename
            own_trace = trace if is_own else own_trace
            last_trace = trace
            trace = trace.tb_next
        if own_trace is None or last_trace is None:
            return None
        is_numpy = "numpy" in last_trace.tb_frame.f_code.co_filename
        return _FailingRun(
            error,
            own_trace.tb_frame,
            own_trace.tb_lineno,
            last_trace is not own_trace and not is_numpy,
        )
    return None


def _find_statement(run: _FailingRun) -> ast.stmt | None:
    """Return the statement of the student's code that was running; None for `if`, `for`, …"""
    code = run.frame.f_code
    lines = linecache.getlines(code.co_filename, run.frame.f_globals)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, _LINE_STATEMENTS) and _holds_line(node, run.line):
            return node
    return None


def _holds_line(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


class _FailingLineExplainer:
    """Expressions of the line that raised an error, evaluated with the variables of its frame."""

    def __init__(self, run: _FailingRun) -> None:
        self._error = run.error
        self._is_inside = run.is_inside
        self._variables = {**run.frame.f_globals, **run.frame.f_locals}

    def _evaluate(self, node: ast.expr) -> Any:
        expression = ast.fix_missing_locations(ast.Expression(node))
        with warnings.catch_warnings(), np.errstate(all="ignore"), OutputCapture(NULL_OUTPUT):
            warnings.simplefilter("ignore")
            return eval(compile(expression, "<line>", "eval"), self._variables)

    def _evaluate_safely(self, node: ast.expr) -> Any:
        """Return the value of an expression; None if it raises an error."""
        try:
            return self._evaluate(node)
        except Exception:  # noqa: BLE001 - the student's code may raise anything
            return None

    def find_failing_node(self, node: ast.expr) -> ast.expr | None:
        """Return the smallest part of an expression that raises the same error; None if unknown."""
        try:
            self._evaluate(node)
            return None
        except Exception as error:  # noqa: BLE001 - the student's code may raise anything
            # Behind the first bracket, the message of `x += y` names one shape more than `x + y`.
            starts = [str(each).partition("(")[0] for each in (error, self._error)]
            if type(error) is not type(self._error) or starts[0] != starts[1]:
                return None
        if isinstance(node, _CLOSED_NODES):
            return None
        for part in _list_parts(node):
            failing = self.find_failing_node(part)
            if failing:
                return failing
        return node

    def explain(self, node: ast.expr) -> Explanation | None:
        operands: tuple[ast.expr, ...] = ()
        is_product = False
        if isinstance(node, ast.BinOp):
            operands = (node.left, node.right)
            is_product = isinstance(node.op, ast.MatMult)
        elif isinstance(node, ast.Call):
            if ast.unparse(node.func) in _PRODUCTS and len(node.args) == 2:
                operands, is_product = tuple(node.args), True
            elif self._is_inside:
                return self._explain_error_inside(node)
        values = [self._evaluate_safely(operand) for operand in operands]
        if len(values) != 2 or not all(isinstance(value, np.ndarray) for value in values):
            return None
        if is_product:
            return _explain_product(node, operands, values)
        return self._explain_broadcasting(node, operands, values)

    def _explain_broadcasting(
        self, node: ast.expr, operands: tuple[ast.expr, ...], values: list[np.ndarray]
    ) -> Explanation | None:
        first, second = (value.shape for value in values)
        pairs = list(zip(reversed(first), reversed(second)))
        mismatches = [pair for pair in pairs if pair[0] != pair[1] and 1 not in pair]
        if not mismatches:
            return None
        text = (
            f"In `{_quote(node)}`, the shapes are {first} and {second}. NumPy compares the sizes "
            f"from the end: {mismatches[0][0]} and {mismatches[0][1]} are not equal, and neither "
            "is 1."
        )
        for part in ast.walk(node):
            name = ast.unparse(part.func).rpartition(".")[2] if isinstance(part, ast.Call) else ""
            arguments = part.args if isinstance(part, ast.Call) and name == "outer" else []
            if any(map(self._has_rows, arguments)):
                return Explanation(
                    f"{text} `np.outer` is made for two vectors: of a matrix it takes all numbers "
                    "as one long vector.",
                    "Which operation makes such a table for each row on its own?",
                )
        is_times = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        if is_times and len(first) == len(second) == 1:
            return Explanation(
                f"{text} `*` multiplies two vectors number by number.",
                "Which function multiplies each number of one vector by each of the other?",
            )
        (short, long), shorter = sorted((first, second), key=len), operands[0]
        if len(first) > len(second):
            shorter = operands[1]
        if len(long) == len(short) + 1 and long[:-1] == short:
            return Explanation(
                f"{text} With an axis of length 1 at its end, `{_quote(shorter)}` would have "
                f"shape {(*short, 1)}, and the shapes would fit.",
                "How can a sum keep its axis, or an array get a new one?",
            )
        return Explanation(text, "Compare the shapes with the formula. Which of them is another?")

    def _has_rows(self, node: ast.expr) -> bool:
        value = self._evaluate_safely(node)
        return isinstance(value, np.ndarray) and value.ndim > 1

    def _explain_error_inside(self, node: ast.Call) -> Explanation | None:
        """Name the arguments that a call gives to a function in which the error is raised."""
        function = self._evaluate_safely(node.func)
        if not inspect.isfunction(function) or node.keywords:
            return None
        names = list(inspect.signature(function).parameters)[: len(node.args)]
        if len(names) > MAX_SHOWN_ARGUMENTS:
            return None
        shapes, roles = [], []
        for name, argument in zip(names, node.args):
            value = self._evaluate_safely(argument)
            if not isinstance(value, np.ndarray):
                continue
            shapes.append(f"`{name}` {value.shape}")
            if ast.unparse(argument) != name:
                roles.append(f"`{_quote(argument)}` as `{name}`")
        if not shapes:
            return None
        text = f"The error is raised inside `{_quote(node.func)}`, which this line calls."
        if roles:
            text += f" You give it {join_words(roles)}."
        return Explanation(
            f"{text} The shapes of its arguments are {join_words(shapes)}.",
            f"Which shape does `{_quote(node.func)}` expect for each of them?",
        )


def _list_parts(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions directly below a node, those in keywords and slices as well."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and not isinstance(child, (ast.Slice, ast.Starred)):
            yield child
        elif not isinstance(child, ast.expr_context):
            yield from _list_parts(child)


def _quote(node: ast.AST) -> str:
    return truncate(ast.unparse(node), MAX_CODE_CHARACTERS)


def _explain_product(
    node: ast.expr, operands: tuple[ast.expr, ...], values: list[np.ndarray]
) -> Explanation | None:
    left, right = (value.shape for value in values)
    if not left or not right:
        return None
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] == inner:
        return None  # the sizes of a batch differ
    place = "first" if len(right) < 3 else "last but one"
    text = (
        f"In `{_quote(node)}`, the shapes are {left} and {right}: the last size on the left, "
        f"{left[-1]}, must equal the {place} on the right, {inner}."
    )
    cause = _explain_product_of_transposes(node, operands, values)
    if cause:
        return Explanation(f"{text} {cause}")
    for operand in operands:
        cause = _explain_transposition(operand, dict(zip(operands, values))[operand])
        if cause:
            return Explanation(f"{text} {cause}")
    candidates = []
    if len(left) > 1 and left[-2] == inner:
        candidates.append(f"`{_quote(operands[0])}`")
    if len(right) > 1 and right[-1] == left[-1]:
        candidates.append(f"`{_quote(operands[1])}`")
    if not candidates:
        return Explanation(
            text, "Which shapes do you expect here? Print `.shape` before this line."
        )
    names = join_words(candidates, "or")
    return Explanation(
        f"{text} With rows and columns of {names} exchanged they would be equal.",
        f"Which axis of {names} must be added up in this product?",
    )


def _explain_product_of_transposes(
    node: ast.expr, operands: tuple[ast.expr, ...], values: list[np.ndarray]
) -> str:
    """Give the product without `.T` for one such as `w.T @ x.T`, where x is no matrix; "" if none.

    To exchange the last two axes of x would not do: the product is transposed back afterwards.
    """
    is_transposed = all(
        isinstance(part, ast.Attribute) and part.attr == "T" and isinstance(part.value, ast.Name)
        for part in operands
    )
    if not is_transposed or values[0].ndim != 2 or values[1].ndim < 3:
        return ""
    matrix, array = (_quote(part).removesuffix(".T") for part in operands)
    return (
        f"`{array}.T` reverses all {values[1].ndim} axes. For matrices, `{_quote(node)}` is the "
        f"transpose of `{array} @ {matrix}`. `{array} @ {matrix}` itself needs no `.T`, and `{array}` "
        "may have any number of axes."
    )


def _explain_transposition(operand: ast.expr, value: np.ndarray) -> str:
    """Say what `.T` does with an array that is no matrix; "" if the operand has none."""
    code = ast.unparse(operand)
    match = re.fullmatch(r"(?:np\.transpose\((\w+)\)|(\w+)(?:\.T|\.transpose\(\)))", code)
    if match is None or value.ndim == 2:
        return ""
    name = match[1] or match[2]
    if value.ndim == 1:
        return f"`{name}` has one axis only, so `{code}` is the same as `{name}`."
    return (
        f"`{code}` reverses all {value.ndim} axes. To exchange the last two only, write "
        f"`np.swapaxes({name}, -1, -2)`. (An array with one axis stays as it is.)"
    )


# What an operation of NumPy did when it gave the first nan, by the operation's name.
_SOURCES_OF_NAN = {
    "multiply": "0 is multiplied by inf, which gives nan",
    "subtract": "inf is subtracted from inf, which gives nan",
    "add": "inf and -inf are added, which gives nan",
    "divide": "0 is divided by 0, or inf by inf, which gives nan",
    "true_divide": "0 is divided by 0, or inf by inf, which gives nan",
    "scalar divide": "0 is divided by 0, or inf by inf, which gives nan",
    "sqrt": "a root is taken of a negative number, which gives nan",
    "log": "a logarithm is taken of a negative number, which gives nan",
    "log2": "a logarithm is taken of a negative number, which gives nan",
    "power": "a negative number is raised to a power with a fraction, which gives nan",
    "matmul": "the product adds up 0 · inf or inf - inf, which gives nan",
    "reduce": "inf and -inf are added up, which gives nan",
}
_SOURCES_OF_INFINITY = {
    "divide": "a number is divided by 0, which gives inf",
    "log": "a logarithm is taken of 0, which gives -inf",
    "exp": "an exponential is taken of a number so large that it gives inf",
}


def explain_infinite_numbers(function: Any, inputs: Inputs, has_nan: bool) -> str:
    """Name the line and the operation of a function that gave the first nan or inf; "" if unknown.

    Parameters
    ----------
    has_nan : bool
        True if the result holds nan; then the first nan is searched, and the inf before it.
    """
    invalid = _find_failing_run(function, inputs, {"invalid": "raise"}) if has_nan else None
    infinite = _find_failing_run(function, inputs, {"over": "raise", "divide": "raise"})
    sentences: list[str] = []
    for run, sources in ((infinite, _SOURCES_OF_INFINITY), (invalid, _SOURCES_OF_NAN)):
        if run is None or run.is_inside or not isinstance(run.error, FloatingPointError):
            continue
        operation = re.search(r"encountered in (.*)", str(run.error))
        source = sources.get(operation[1], "") if operation else ""
        if "overflow" in str(run.error) and not source:
            source = "a number becomes too large for its type, which gives inf"
        if not source:
            continue
        if sentences and infinite and infinite.line == run.line:
            sentences.append(f"On the same line, {source}.")
            continue
        filename = run.frame.f_code.co_filename
        text = linecache.getline(filename, run.line, run.frame.f_globals).strip()
        code = truncate(text, MAX_CODE_CHARACTERS)
        sentences.append(f"In line {run.line} of your cell, `{code}`, {source}.")
    if has_nan and not (sentences and "nan" in sentences[-1]):
        return ""
    return " ".join(sentences)


def describe_largest_array(function: Any, inputs: Inputs, peak_bytes: int) -> str:
    """Name the variable that held the largest array in a call; "" if none took much of the memory.

    Parameters
    ----------
    peak_bytes : int
        Memory that the call used at once.
    """
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    copies = copy_inputs(inputs)
    arguments = {*_list_memory_owners((*copies.args, *copies.kwargs.values()))}
    watch = _LargestArray(code.co_filename, arguments)
    watch.run(partial(function, *copies.args, **copies.kwargs))
    if watch.bytes < MIN_SHARE_OF_PEAK * peak_bytes:
        return ""
    return f"The largest of your arrays is `{watch.name}`, with shape {watch.shape}."


def _list_memory_owners(value: Any) -> Iterator[int]:
    """Yield the `id` of the array that holds the numbers, for each array in an argument.

    `find_arrays` does not fit: a copied argument may be of any type, such as a DataFrame.
    """
    if isinstance(value, np.ndarray):
        yield _find_memory_owner(value)
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _list_memory_owners(part)


def _find_memory_owner(array: np.ndarray) -> int:
    """Return the `id` of the array that holds an array's numbers: of a view, of that behind it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array)


class _LargestArray:
    """Largest array that a variable of a function's own code held during a call.

    The arguments and views of them do not count: their memory is not the function's.
    """

    def __init__(self, filename: str, argument_owners: set[int]) -> None:
        self._filename, self._argument_owners = filename, argument_owners
        self.bytes, self.name, self.shape = 0, "", ()

    def run(self, call: Callable[[], Any]) -> None:
        previous = sys.gettrace()
        try:
            with (
                warnings.catch_warnings(),
                np.errstate(all="ignore"),
                OutputCapture(NULL_OUTPUT),
            ):
                warnings.simplefilter("ignore")
                sys.settrace(self._trace)
                call()
        except Exception:  # noqa: BLE001 - the student's code may raise anything
            self.bytes = 0
        finally:
            sys.settrace(previous)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != self._filename:
            return None
        for name, value in frame.f_locals.items():
            if not isinstance(value, np.ndarray):
                continue
            if _find_memory_owner(value) in self._argument_owners:
                continue
            if value.nbytes > self.bytes and 0 not in value.strides:
                self.bytes, self.name, self.shape = value.nbytes, name, value.shape
        return self._trace
