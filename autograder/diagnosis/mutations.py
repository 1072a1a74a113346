"""Make small changes (mutations) of a student's function, to find what the student may have meant.

All are compiled into one copy of the function, where each can be switched on.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from autograder.core.text_format import truncate
from autograder.diagnosis.brackets import add_brackets, list_inner_links

# Names of helper functions that the changed code calls. Each begins with a blank, so that it cannot
# be a name in the student's code.
LOOP_TICK = " tick"  # called in every turn of a loop
IDENTITY = " same"
EXTRA_STEP = " step"  # applies a function of `_EXTRA_STEPS`, given by its index
CHECK_SIZES, CHECK_DTYPE = " sizes", " dtype"  # refuse arguments that NumPy would misunderstand

# Ranks of mutations (small changes of the code). The lower the rank, the likelier the student meant
# the changed code.
LEAVE_OUT, LEAVE_OUT_MORE, REPLACE, EXTEND, COMBINE = range(5)

# Methods that put their arguments into a list, a set or a dict.
_CONTAINER_METHODS = {"append", "extend", "insert", "add", "update", "setdefault"}

MAX_QUOTED_CHARACTERS = 40
MAX_WORD_CHARACTERS = 30  # of a text constant that replaces another


class Alternative(NamedTuple):
    """Piece of code (a syntax node) that the student may have meant in place of another.

    `node` is None if the statement is to be removed.
    """

    rank: int
    description: str
    node: Any


@dataclass(frozen=True)
class Mutation:
    """One small change of the student's code, with its description.

    The description is the middle of a sentence. It stands between "In line 3 of your cell, `…`:" and
    ", every case is right."
    """

    description: str
    line: int
    rank: int

    @property
    def is_combinable(self) -> bool:
        """True if the mutation is worth a try together with a mutation at another place.

        A mutation that puts a variable in place of other code is not: together with another
        mutation it makes too many wrong functions right by chance.
        """
        uses_variable = self.description.startswith("with one of your variables")
        return self.rank < EXTEND and not uses_variable and not self.changes_equality

    @property
    def changes_equality(self) -> bool:
        """True if the mutation changes or leaves out a test of equality, such as `n == 0`.

        Together with a second mutation it makes many a wrong function right by chance: such a test
        mostly guards a rare case, and with `n >= 0` the line does something else in all others.
        """
        sign = "`[=!]=`"
        words = rf"with another comparison in place of {sign}|with only `.*` in place of `.* [=!]= "
        return bool(re.match(words, self.description))


class MutationEmbedder:
    """Builder of a copy of a function's code that holds all mutations, each behind a condition.

    A mutation is a small change of the code.

    Parameters
    ----------
    function : ast.FunctionDef
    add_mutation : callable
        Takes a mutation and the code before and after it. Returns the expression that is true if
        the mutation is active.
    has_room : callable
        Returns True as long as more mutations may be added.
    words : set of str
        The text constants in the code, which may be meant in place of one another.
    ranks : sequence of int
        Ranks of the mutations to add. Mutations of other ranks are left out.
    """

    def __init__(
        self,
        function: ast.FunctionDef,
        add_mutation: Callable[[Mutation, str, str], ast.expr],
        has_room: Callable[[], bool],
        words: set[str],
        ranks: Sequence[int],
    ) -> None:
        self._function, self._add_mutation, self._has_room = function, add_mutation, has_room
        self._words, self._ranks = words, ranks
        # Names of the containers into which the code that is being mutated is put.
        self._containers: list[str] = []
        nodes = list(ast.walk(function))
        self._parameters = _parameter_names(function)
        self._names = _list_variables(function, nodes)
        loads = {node.id for node in nodes if _is_name(node, ast.Load)}
        self._unused = [name for name in self._parameters if name not in loads]
        self._inner_links = list_inner_links(function)
        # The numbers after a sign, such as the 1 of `axis=-1`.
        self._negated: set[int] = set()
        for node in nodes:
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
                self._negated.add(id(node.operand))
        self._names_in_line: dict[int, set[str]] = {}
        self._assignment_line: dict[str, int] = {}  # line of the first assignment of each variable
        for node in nodes:
            if isinstance(node, ast.Name):
                self._names_in_line.setdefault(node.lineno, set()).add(node.id)
                if isinstance(node.ctx, ast.Store):
                    self._assignment_line.setdefault(node.id, node.lineno)

    def mutate(self) -> ast.FunctionDef:
        """Return the function with all mutations, with its original signature and decorators."""
        return _copy_node(self._function, body=self._mutate_body(self._function.body))

    # The methods below add mutations (small changes) to the statements of a function.

    def _mutate_body(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        new = [self._mutate_statement(node) for node in body]
        if LEAVE_OUT not in self._ranks:
            return new
        for i, (first, second) in enumerate(pairwise(body)):
            if not isinstance(first, ast.Assign) or not isinstance(second, ast.Assign):
                continue
            description = "with the right sides of this line and of the next assignment, "
            description += f"line {second.lineno}, exchanged"
            mutation = Mutation(description, first.lineno, REPLACE)
            test = self._add_mutation(mutation, ast.unparse(first), ast.unparse(second))
            for index, node, value in ((i, first, second.value), (i + 1, second, first.value)):
                exchange = ast.If(test, [_copy_node(node, value=value)], [new[index]])
                new[index] = ast.copy_location(exchange, node)
        return new

    def _mutate_statement(self, node: ast.stmt) -> ast.stmt:
        if isinstance(node, (ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
            return node
        fields = self._mutate_fields(node)
        if isinstance(node, (ast.For, ast.While)):
            tick = ast.Expr(ast.Call(_make_name(LOOP_TICK), [], []))
            fields["body"] = [ast.copy_location(tick, node), *fields["body"]]
        new: ast.stmt = _copy_node(node, **fields)
        if LEAVE_OUT not in self._ranks:
            return new
        code = ast.unparse(node)
        for rank, description, statement in _vary_statement(node):
            new_code, replacement = "", ast.copy_location(ast.Pass(), node)
            if statement:
                new_code, replacement = ast.unparse(statement), statement
            test = self._add_mutation(Mutation(description, node.lineno, rank), code, new_code)
            new = ast.copy_location(ast.If(test, [replacement], [new]), node)
        return new

    def _mutate_fields(self, node: ast.AST) -> dict[str, Any]:
        """Return those fields of a syntax node that hold code, with mutations added to the code."""
        fields: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            if is_function and name != "body":
                continue
            if isinstance(node, ast.Call) and name == "func":
                fields[name] = self._mutate_receiver(value)
            elif isinstance(node, ast.Call) and name == "args":
                with self._note_container(_find_receiving_container(node)):
                    args = [self._mutate_node(item) for item in value]
                fields[name] = _wrap_arguments_in_checks(node, args)
            elif isinstance(node, (ast.Assign, ast.AugAssign)) and name == "value":
                with self._note_container(_find_receiving_container(node)):
                    fields[name] = self._mutate_node(value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                fields[name] = self._mutate_body(value)
            elif isinstance(value, list):
                fields[name] = [self._mutate_node(item) for item in value]
            elif isinstance(value, ast.AST):
                fields[name] = self._mutate_node(value)
        return fields

    @contextmanager
    def _note_container(self, name: str | None) -> Iterator[None]:
        """Note in the `with` block that the mutated code is put into the container of this name."""
        if name is None:
            yield
            return
        self._containers.append(name)
        yield
        self._containers.pop()

    # The methods below add mutations to expressions.

    def _mutate_node(self, node: Any) -> Any:
        """Return a syntax node with mutations added to all expressions in it."""
        if not isinstance(node, ast.AST):
            return node
        if isinstance(node, ast.stmt):  # inside `except` and `case`
            return self._mutate_statement(node)
        if isinstance(node, _UNCHANGED_NODES):
            return node
        mutated_node = _copy_node(node, **self._mutate_fields(node))
        if not isinstance(node, ast.expr) or isinstance(node, (ast.Slice, ast.Starred, ast.Tuple)):
            return mutated_node
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            return mutated_node
        return self._add_alternatives(node, mutated_node)

    def _add_alternatives(self, node: ast.expr, mutated_node: Any) -> Any:
        """Return a conditional expression: it selects an expression or code meant in its place."""
        new, code = mutated_node, ast.unparse(node)
        codes = {code}
        for rank, description, alternative in self._vary_expression(node):
            if rank not in self._ranks:
                continue
            new_code = ast.unparse(alternative)
            if new_code in codes or not self._has_room():
                continue
            if _holds_whole(alternative, self._containers):
                continue
            codes.add(new_code)
            key = (code, new_code)
            if description.startswith("with another function"):  # a quoted text may say it, too
                key = (description, ast.unparse(alternative.func))
            test = self._add_mutation(Mutation(description, node.lineno, rank), *key)
            if isinstance(node, ast.Call) and alternative in node.args[:1]:
                # Leave out a call by calling, in its place, a function that returns its argument.
                # So a mutation of the argument can be combined with this one.
                mutated_node.func = ast.IfExp(test, _make_name(IDENTITY), mutated_node.func)
            else:
                new = ast.copy_location(ast.IfExp(test, alternative, new), node)
        return new

    def _mutate_receiver(self, node: ast.expr) -> ast.expr:
        """Add mutations to the object on which a method is called: to `x` in `x.sum()`.

        A called function stays as it is: `_vary_call` replaces it together with its call.
        """
        if isinstance(node, ast.Attribute) and node.attr not in _CONTAINER_METHODS:
            return _copy_node(node, value=self._mutate_node(node.value))
        return node

    def _vary_expression(self, node: ast.expr) -> Iterator[Alternative]:
        """Yield the code that the student may have meant in place of an expression."""
        code = _quote(node)
        if isinstance(node, ast.Constant):
            sign = "-" if id(node) in self._negated else ""
            yield from _vary_constant(node, self._words, sign)
            if type(node.value) in (int, float):
                yield from self._replace_by_variables(code)
        elif isinstance(node, ast.Name):
            for name in self._names if node.id in self._names else ():
                if name != node.id:
                    description = f"with another variable in place of {code}"
                    yield Alternative(REPLACE, description, _make_name(name))
        elif isinstance(node, ast.BinOp):
            yield from _vary_operation(node)
        elif isinstance(node, ast.UnaryOp):
            sign = _UNARY_SIGNS[type(node.op)]
            description = f"without the `{sign}` before {_quote(node.operand)}"
            yield Alternative(LEAVE_OUT, description, node.operand)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from _vary_comparison(node, code)
        elif isinstance(node, (ast.BoolOp, ast.IfExp)):
            yield from _vary_condition(node, code)
        elif isinstance(node, ast.List) and len(node.elts) > 1:
            for i, part in enumerate(node.elts):
                shorter_list = ast.List([*node.elts[:i], *node.elts[i + 1 :]], ast.Load())
                yield Alternative(LEAVE_OUT, f"without {_quote(part)} in {code}", shorter_list)
        elif isinstance(node, ast.Subscript):
            yield from _vary_subscript(node, code)
            yield from self._replace_by_variables(code)
        elif isinstance(node, ast.Attribute):
            yield from _vary_attribute(node, code)
        elif isinstance(node, ast.Call):
            yield from self._vary_call(node, code)
            yield from self._replace_by_variables(code)
        if id(node) not in self._inner_links:
            for other in add_brackets(node):
                yield Alternative(REPLACE, _describe_brackets(node, other), other)
        if isinstance(node, (ast.BinOp, ast.Call)):
            for part in _nested_operands(node):
                description = f"with only {_quote(part)} in place of {code}"
                yield Alternative(LEAVE_OUT_MORE, description, part)
        if EXTEND in self._ranks:
            yield from self._extend_expression(node, code)

    def _replace_by_variables(self, code: str) -> Iterator[Alternative]:
        description = f"with one of your variables in place of {code}"
        for name in self._names:
            yield Alternative(REPLACE, description, _make_name(name))

    def _extend_expression(self, node: ast.expr, code: str) -> Iterator[Alternative]:
        """Yield the expression with one step more, such as a square root, or one variable more."""
        if isinstance(node, (ast.BinOp, ast.Call, ast.Name, ast.Subscript)):
            for number, (description, _, _) in enumerate(_EXTRA_STEPS):
                step = ast.Call(_make_name(EXTRA_STEP), [ast.Constant(number), node], [])
                yield Alternative(EXTEND, f"with {description.format(code)}", step)
        is_sum = isinstance(getattr(node, "op", 0), (ast.Add, ast.Sub))
        if not is_sum and not isinstance(node, (ast.Call, ast.Name)):
            return
        for name, is_in_line in self._variables_perhaps_forgotten_in_line(node):
            variable = _make_name(name)
            operations, factors = _COMBINING_OPERATIONS[:1], list[ast.expr]([variable])
            if not is_in_line:
                column = _fill_template(_COLUMN_TEMPLATE, variable)
                operations, factors = _COMBINING_OPERATIONS, [variable, column]
            for description, operation in operations:
                for factor in factors:
                    text = f"with {description.format(code)} one of your variables"
                    yield Alternative(COMBINE, text, ast.BinOp(node, operation, factor))

    def _variables_perhaps_forgotten_in_line(self, node: ast.expr) -> Iterator[tuple[str, bool]]:
        """Yield variables that may be missing in a line of code; a flag tells if one is used there.

        They are the unused parameters, and the variables that an earlier line assigns. The flag is
        True if the line holds the variable already.
        """
        in_line = self._names_in_line.get(node.lineno, set())
        earlier = [name for name, line in self._assignment_line.items() if line < node.lineno]
        for name in (*self._unused, *earlier):
            if name not in in_line or isinstance(node, ast.Name):
                yield name, name in in_line

    # The methods below yield what the student may have meant in place of a call.

    def _vary_call(self, node: ast.Call, code: str) -> Iterator[Alternative]:
        yield from _vary_called_function(node, code)
        yield from _rearrange_or_shorten_call(node, code)
        yield from _add_axis_or_keepdims(node)
        if isinstance(node.func, ast.Name):
            yield from self._pass_unused_parameters_to_call(node)

    def _pass_unused_parameters_to_call(self, node: ast.Call) -> Iterator[Alternative]:
        """Yield a call with parameters of the student's function added as arguments."""
        function = ast.unparse(node.func)
        argument_codes = _keyword_names(node).union(map(ast.unparse, node.args))
        free = [name for name in self._parameters if name not in argument_codes]
        for name in free:
            call = _copy_call(node, args=[*node.args, _make_name(name)])
            yield Alternative(EXTEND, f"with one more argument for `{function}`", call)
        for start in range(len(free)):
            keywords = [ast.keyword(name, _make_name(name)) for name in free[start:]]
            call = _copy_call(node, keywords=[*node.keywords, *keywords])
            description = f"with more of your function's arguments passed to `{function}`"
            yield Alternative(EXTEND, description, call)


_UNCHANGED_NODES = (
    ast.JoinedStr,
    ast.pattern,
    ast.expr_context,
    ast.operator,
    ast.cmpop,
    ast.arguments,
)


def _list_variables(function: ast.FunctionDef, nodes: Sequence[ast.AST]) -> list[str]:
    """List the parameters and local variables of a function and of the functions defined in it."""
    assigned_names = {node.id for node in nodes if _is_name(node, ast.Store)}
    excluded_names: set[str] = set()
    parameters: list[str] = []
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node is not function:
            excluded_names.add(node.name)
        # Exclude names with a `global` or `nonlocal` declaration: Python forbids the use of a name
        # before its declaration.
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            excluded_names.update(node.names)
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            parameters += _parameter_names(node)
    return list(dict.fromkeys([*parameters, *sorted(assigned_names - excluded_names)]))


def _is_name(node: ast.AST, context: type[ast.expr_context]) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, context)


def _nested_operands(node: ast.expr, depth: int = 4) -> Iterator[ast.expr]:
    """Yield the operands of an expression's operands, down to a depth; but no constants."""
    if not depth:
        return
    for operand in _operands_or_arguments(node):
        for part in _operands_or_arguments(operand):
            if isinstance(part, (ast.BinOp, ast.Call, ast.Name, ast.Subscript)):
                yield part
        yield from _nested_operands(operand, depth - 1)


def _operands_or_arguments(node: ast.expr) -> Sequence[ast.expr]:
    """Return the operands of an operation, or the object and the arguments of a call."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if not isinstance(node, ast.Call):
        return []
    operands = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        operands.insert(0, node.func.value)
    return operands


# The functions below build the nodes of Python's syntax tree.


def _find_receiving_container(node: ast.AST) -> str | None:
    """Return the name of the variable that a call or an assignment puts a value into, if any."""
    target: ast.AST | None = None
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CONTAINER_METHODS:
            target = node.func.value
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
    elif isinstance(node, ast.AugAssign):
        target = node.target
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def _holds_whole(node: ast.AST, names: Sequence[str]) -> bool:
    """Return True if an expression uses one of these variables whole, not only a part of it."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.value, ast.Name):
        parts = list(ast.iter_child_nodes(node))
        parts.remove(node.value)
        return any(_holds_whole(part, names) for part in parts)
    return any(_holds_whole(part, names) for part in ast.iter_child_nodes(node))


def _copy_node(node: Any, **fields: Any) -> Any:
    """Copy a syntax node with some of its fields replaced. The copy shares the other fields."""
    new = type(node)(**{**dict(ast.iter_fields(node)), **fields})
    return ast.copy_location(new, node)


def _copy_call(
    node: ast.Call,
    args: Sequence[ast.expr] | None = None,
    keywords: Sequence[ast.keyword] | None = None,
) -> ast.Call:
    """Copy a call with other positional or keyword arguments."""
    if args is None:
        args = node.args
    if keywords is None:
        keywords = node.keywords
    return ast.Call(node.func, list(args), list(keywords))


def _make_name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _make_constant(value: Any) -> ast.expr:
    if type(value) in (int, float) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _make_keyword(name: str, value: Any) -> ast.keyword:
    return ast.keyword(name, _make_constant(value))


def _parameter_names(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    arguments = function.args
    parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return [parameter.arg for parameter in parameters]


def _keyword_names(call: ast.Call) -> set[str | None]:
    return {keyword.arg for keyword in call.keywords}


def _quote(node: ast.AST) -> str:
    """Return the code of a syntax node in backticks, shortened to `MAX_QUOTED_CHARACTERS`."""
    return f"`{_shorten(ast.unparse(node))}`"


def _shorten(code: str) -> str:
    return truncate(" ".join(code.split()), MAX_QUOTED_CHARACTERS)


def _describe_brackets(node: ast.expr, other: ast.expr) -> str:
    """Say around which part of an expression `other` has brackets more."""
    old, new = ast.unparse(node), ast.unparse(other)
    place = 0
    while place < len(old) and old[place] == new[place]:
        place += 1
    depth = 0
    for end in range(place, len(new)):
        depth += (new[end] == "(") - (new[end] == ")")
        if depth == 0:
            break
    part = new[place + 1 : end]
    if new[place] != "(" or not part:
        return f"with one more pair of brackets in {_quote(node)}"
    return f"with brackets ( ) around `{_shorten(part)}`"


def _is_module(node: ast.expr) -> bool:
    return ast.unparse(node) in ("np", "numpy", "math", "np.linalg")


# The functions below yield the code that a student may have meant in place of a statement or an
# expression. There is one function for each type of node.


def _vary_statement(node: ast.stmt) -> Iterator[Alternative]:
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_removable = isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Break, ast.Continue))
    if is_removable and not is_docstring:
        yield Alternative(LEAVE_OUT, "without this line", None)
    if isinstance(node, ast.AugAssign):
        sign = _SIGNS[type(node.op)]
        for operation in _SIMILAR_OPERATORS.get(type(node.op), ()):
            description = f"with another operator in place of `{sign}=`"
            yield Alternative(REPLACE, description, _copy_node(node, op=operation()))
        assignment = ast.copy_location(ast.Assign([node.target], node.value), node)
        yield Alternative(REPLACE, f"with `=` in place of `{sign}=`", assignment)
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, (ast.Name, ast.Subscript)):
            for joint in (ast.Add(), ast.Mult()):
                combination = ast.copy_location(ast.AugAssign(target, joint, node.value), node)
                description = "with the new value combined with the old value"
                yield Alternative(REPLACE, description, combination)
    if isinstance(node, ast.If):
        opposite = _copy_node(node, test=ast.UnaryOp(ast.Not(), node.test))
        yield Alternative(REPLACE, "with the opposite condition", opposite)


def _vary_constant(node: ast.Constant, words: set[str], sign: str = "") -> Iterator[Alternative]:
    value: Any = node.value
    if isinstance(value, bool):
        description = f"with `{not value}` in place of `{value}`"
        yield Alternative(REPLACE, description, ast.Constant(not value))
    elif isinstance(value, str):
        sides = {"left", "right"}
        if value in sides:
            words = words | sides
        for word in sorted(words):
            if word != value and len(word) < MAX_WORD_CHARACTERS:
                description = f"with another word in place of `{value!r}`"
                yield Alternative(REPLACE, description, ast.Constant(word))
    elif type(value) in (int, float):
        for number in _similar_numbers(value):
            description = f"with another number in place of `{sign}{value}`"
            yield Alternative(REPLACE, description, _make_constant(number))


def _similar_numbers(value: int | float) -> list[int | float]:
    """Return numbers that the student may have meant in place of another; ints for an int."""
    numbers = [value + 1, value - 1, -value, 0, 1, 2, 2 * value, value / 2, 10 * value, value / 10]
    numbers += [100 * value, value / 100, value**2 if abs(value) < 1e6 else 0, abs(value) ** 0.5]
    numbers += [1 / value] if value else [-np.inf, np.inf]
    if type(value) is float:
        numbers += [1e9, -1e9, np.inf, -np.inf]
    else:
        numbers = list(map(_to_int_if_whole, numbers))
    return [number for number in dict.fromkeys(numbers) if number != value]


def _to_int_if_whole(number: int | float) -> int | float:
    if np.isfinite(number) and number == int(number):
        return int(number)
    return number


def _vary_operation(node: ast.BinOp) -> Iterator[Alternative]:
    sign = _SIGNS[type(node.op)]
    for operation in _SIMILAR_OPERATORS.get(type(node.op), ()):
        description = f"with another operator in place of `{sign}`"
        yield Alternative(REPLACE, description, ast.BinOp(node.left, operation(), node.right))
    if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv)):
        exchange = ast.BinOp(node.right, node.op, node.left)
        yield Alternative(REPLACE, f"with the two sides of `{sign}` exchanged", exchange)
    if isinstance(node.op, (ast.Add, ast.Sub)):
        expression = _move_into_call(node)
        if expression:
            description = f"with `{sign} {_shorten(ast.unparse(node.right))}` inside the brackets "
            description += "of the call before it"
            yield Alternative(REPLACE, description, expression)
    right_code, left_code = _shorten(ast.unparse(node.right)), _shorten(ast.unparse(node.left))
    yield Alternative(LEAVE_OUT, f"without `{sign} {right_code}`", node.left)
    yield Alternative(LEAVE_OUT, f"without `{left_code} {sign}`", node.right)


def _move_into_call(node: ast.BinOp) -> ast.expr | None:
    """Return `c + a * f(x, y - z)` for `c + a * f(x, y) - z`; None without such a call."""

    def move(part: ast.expr) -> ast.expr | None:
        if isinstance(part, ast.BinOp):
            right = move(part.right)
            return ast.BinOp(part.left, part.op, right) if right else None
        if isinstance(part, ast.Call) and part.args and not isinstance(part.args[-1], ast.Starred):
            last = ast.BinOp(part.args[-1], node.op, node.right)
            return _copy_call(part, args=[*part.args[:-1], last])
        return None

    return move(node.left)


def _vary_comparison(node: ast.Compare, code: str) -> Iterator[Alternative]:
    operation = type(node.ops[0])
    sign = _SIGNS.get(operation, "in")
    if sign in _ORDER_SIGNS:
        for comparison in (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq):
            if comparison is not operation:
                description = f"with another comparison in place of `{sign}`"
                new = ast.Compare(node.left, [comparison()], node.comparators)
                yield Alternative(REPLACE, description, new)
    yield Alternative(REPLACE, f"with the opposite of {code}", ast.UnaryOp(ast.Not(), node))
    yield Alternative(LEAVE_OUT, f"with only {_quote(node.left)} in place of {code}", node.left)


def _vary_condition(node: ast.BoolOp | ast.IfExp, code: str) -> Iterator[Alternative]:
    if isinstance(node, ast.BoolOp):
        operation = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        exchange = ast.BoolOp(operation, node.values)
        yield Alternative(REPLACE, f"with `and` and `or` exchanged in {code}", exchange)
        for value in node.values:
            yield Alternative(LEAVE_OUT, f"with only one of the conditions in {code}", value)
        return
    exchanged_choices = ast.IfExp(node.test, node.orelse, node.body)
    yield Alternative(REPLACE, f"with the two choices exchanged in {code}", exchanged_choices)
    yield Alternative(LEAVE_OUT, f"without the `if` in {code}", node.body)
    yield Alternative(LEAVE_OUT, f"without the `if` in {code}", node.orelse)


def _vary_attribute(node: ast.Attribute, code: str) -> Iterator[Alternative]:
    if ast.unparse(node) not in _NUMBER_CONSTANTS:
        description = f"without `.{node.attr}` after {_quote(node.value)}"
        yield Alternative(LEAVE_OUT, description, node.value)
        return
    description = f"with another number in place of {code}"
    for number in (0, 1, -1):
        yield Alternative(REPLACE, description, _make_constant(number))
    for name in _NUMBER_CONSTANTS:
        yield Alternative(REPLACE, description, ast.parse(name, mode="eval").body)


def _vary_subscript(node: ast.Subscript, code: str) -> Iterator[Alternative]:
    indices = [node.slice]
    if isinstance(node.slice, ast.Tuple):
        indices = node.slice.elts
    for i, index in enumerate(indices):
        if not isinstance(index, ast.Slice):
            continue
        for other in _similar_slices(index):
            new_slice: ast.expr = other
            if isinstance(node.slice, ast.Tuple):
                new_slice = ast.Tuple([*indices[:i], other, *indices[i + 1 :]], ast.Load())
            new = ast.Subscript(node.value, new_slice, ast.Load())
            yield Alternative(REPLACE, f"with another slice in place of {code}", new)
    array = _quote(node.value)
    if any(isinstance(index, (ast.Slice, ast.Name)) for index in indices):
        yield Alternative(LEAVE_OUT, f"with all of {array} in place of {code}", node.value)
    for name in ("mean", "sum"):
        step = ast.Call(ast.Attribute(_make_name("np"), name, ast.Load()), [node.value], [])
        yield Alternative(EXTEND, f"with the {name} of all of {array} in place of {code}", step)


def _similar_slices(node: ast.Slice) -> Iterator[ast.Slice]:
    for side, other_side in (("lower", "upper"), ("upper", "lower")):
        bound = getattr(node, side)
        if bound is None:
            continue
        yield _copy_node(node, **{side: None})
        for step in (1, -1):
            yield _copy_node(node, **{side: ast.BinOp(bound, ast.Add(), _make_constant(step))})
        if getattr(node, other_side) is None:  # `[:1]` or `[:-1]` in place of `[1:]`
            negation: ast.expr = ast.UnaryOp(ast.USub(), bound)
            if isinstance(bound, ast.UnaryOp):
                negation = bound.operand
            yield _copy_node(node, **{side: None, other_side: bound})
            yield _copy_node(node, **{side: None, other_side: negation})
    if node.step is not None:
        yield _copy_node(node, step=None)
        yield _copy_node(node, step=ast.UnaryOp(ast.USub(), node.step))


# The functions below yield the code that a student may have meant in place of a call.


def _vary_called_function(node: ast.Call, code: str) -> Iterator[Alternative]:
    """Yield calls of other functions of the same family, such as `np.max` for `np.mean`."""
    function_code = ast.unparse(node.func)
    function_name = function_code.rpartition(".")[2]
    keyword_names = _keyword_names(node)
    keep_axis = [*node.keywords, _make_keyword("keepdims", True)]
    is_of_two = function_name in ("max", "min") and len(node.args) == 2
    if isinstance(node.func, ast.Attribute) and is_of_two:
        elementwise = _copy_node(node.func, attr=f"{function_name}imum")
        description = f"with another function in place of `{function_code}`"
        yield Alternative(REPLACE, description, ast.Call(elementwise, node.args, []))
    for name in _similar_functions(function_name):
        function: ast.expr = _make_name(name)
        if isinstance(node.func, ast.Attribute):
            function = _copy_node(node.func, attr=name)
        keyword_lists = [node.keywords]
        if name in _REDUCTIONS and "axis" in keyword_names and "keepdims" not in keyword_names:
            keyword_lists.append(keep_axis)
        for keywords in keyword_lists:
            description = f"with another function in place of `{function_code}`"
            yield Alternative(REPLACE, description, ast.Call(function, node.args, keywords))
        if len(node.args) != 1 or keyword_names:
            continue
        for part in _operands_or_arguments(node.args[0]):
            if isinstance(part, (ast.Name, ast.Call, ast.Subscript, ast.Attribute)):
                description = f"with another function of only {_quote(part)} in place of {code}"
                yield Alternative(REPLACE, description, ast.Call(function, [part], []))


def _similar_functions(name: str) -> Iterator[str]:
    for family in _FUNCTION_FAMILIES:
        if name in family:
            for similar_name in family:
                if similar_name != name:
                    yield similar_name


def _rearrange_or_shorten_call(node: ast.Call, code: str) -> Iterator[Alternative]:
    """Yield a call with its arguments exchanged or left out, and the arguments without the call."""
    function_code = ast.unparse(node.func)
    for argument in node.args[1:]:
        if isinstance(argument, (ast.BinOp, ast.Name, ast.Call, ast.Subscript)):
            description = f"with only {_quote(argument)} in place of {code}"
            yield Alternative(LEAVE_OUT, description, argument)
    for i, (first, second) in enumerate(pairwise(node.args)):
        exchange = _copy_call(node, args=[*node.args[:i], second, first, *node.args[i + 2 :]])
        yield Alternative(REPLACE, f"with two arguments of `{function_code}` exchanged", exchange)
    for i, keyword in enumerate(node.keywords):
        shorter = _copy_call(node, keywords=[*node.keywords[:i], *node.keywords[i + 1 :]])
        description = f"without `{ast.unparse(keyword)}` for `{function_code}`"
        yield Alternative(LEAVE_OUT, description, shorter)
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        method = function_code.rpartition(".")[2]
        description = f"without `.{method}(…)` after {_quote(node.func.value)}"
        yield Alternative(LEAVE_OUT, description, node.func.value)
    elif node.args and not isinstance(node.args[0], ast.Starred):
        description = f"without `{function_code}` around {_quote(node.args[0])}"
        yield Alternative(LEAVE_OUT, description, node.args[0])


def _add_axis_or_keepdims(node: ast.Call) -> Iterator[Alternative]:
    """Yield a call such as `np.sum(x)` with the argument `axis` or `keepdims` added."""
    function_code = ast.unparse(node.func)
    if function_code.rpartition(".")[2] not in _REDUCTIONS:
        return
    keyword_names = _keyword_names(node)
    keyword_lists = [node.keywords]
    if "keepdims" not in keyword_names:  # given twice, it would make the whole code invalid
        keyword_lists.append([*node.keywords, _make_keyword("keepdims", True)])
    if "axis" in keyword_names:
        for keywords in keyword_lists[1:]:
            extended_call = _copy_call(node, keywords=keywords)
            yield Alternative(EXTEND, f"with `keepdims` for `{function_code}`", extended_call)
        return
    for axis in (-1, 0, 1, -2):
        for keywords in keyword_lists:
            extended_call = _copy_call(node, keywords=[*keywords, _make_keyword("axis", axis)])
            yield Alternative(
                EXTEND, f"with an `axis` argument for `{function_code}`", extended_call
            )


# The tables below list operators and functions that may be meant in place of one another.

_SIGNS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_UNARY_SIGNS: dict[type, str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_NUMBER_CONSTANTS = ("np.nan", "np.inf", "-np.inf", "np.pi", "np.e")
_ORDER_SIGNS = ("<", "<=", ">", ">=", "==", "!=")
# A power is never tried in place of a product, because sizes of arrays could become huge.
_SIMILAR_OPERATORS: dict[type, tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult, ast.Div, ast.MatMult),
    ast.Sub: (ast.Add, ast.Mult, ast.Div),
    ast.Mult: (ast.Div, ast.Add, ast.Sub, ast.MatMult, ast.FloorDiv),
    ast.Div: (ast.Mult, ast.FloorDiv, ast.Sub, ast.Add),
    ast.FloorDiv: (ast.Div, ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
    ast.BitOr: (ast.BitAnd, ast.BitXor),
    ast.BitXor: (ast.BitOr, ast.BitAnd),
}
_REDUCTIONS = tuple("sum mean max min amax amin prod std var median argmax cumsum any all".split())
_FUNCTION_FAMILIES = (
    _REDUCTIONS,
    *(
        tuple(names.split())
        for names in (
            "sin cos tan tanh sinh cosh arctan",
            "exp exp2 expm1 log log2 log10 log1p sqrt square abs absolute reciprocal",
            "floor ceil round rint trunc",
            "tril triu",
            "zeros ones empty",
            "zeros_like ones_like",
            "repeat tile",
            "hstack vstack column_stack dstack",
            "maximum minimum add multiply",
            "dot matmul multiply inner outer",
            "logical_and logical_or",
        )
    ),
)
_COMBINING_OPERATIONS: tuple[tuple[str, ast.operator], ...] = (
    ("{} multiplied by", ast.Mult()),
    ("{} divided by", ast.Div()),
)
_COLUMN_TEMPLATE = ast.parse("_[:, None]", mode="eval").body


# The functions below are called by the changed code.


def _negate_booleans(value: Any) -> Any:
    """Negate a boolean or an array of booleans.

    Raise TypeError for other values, of which `~` makes a number.
    """
    if isinstance(value, bool):
        return not value
    if getattr(getattr(value, "dtype", None), "kind", "") != "b":
        raise TypeError("not True or False")
    return ~value


def _has_float_dtype(value: Any) -> bool:
    """Return True for floats: measured or computed numbers, not sizes, indices or booleans."""
    return getattr(value, "dtype", np.asarray(value).dtype).kind == "f"


def _has_number_dtype(value: Any) -> bool:
    return getattr(value, "dtype", np.asarray(value).dtype).kind in "fiu"


def _has_axes(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


# Steps that may be missing in the student's code, such as a square root. Each row has a
# description, a test of the values for which the step makes sense, and the step itself.
_EXTRA_STEPS: list[tuple[str, Callable[[Any], bool], Callable[[Any], Any]]] = [
    ("the sign of {} changed", _has_float_dtype, operator.neg),
    ("rows and columns of {} exchanged", _has_axes, lambda value: np.swapaxes(value, -1, -2)),
    ("the order of {} reversed", _has_axes, lambda value: value[::-1]),
    ("the square root of {} in its place", _has_number_dtype, lambda value: value**0.5),
    ("{} squared", _has_number_dtype, lambda value: value**2),
    ("1 divided by {} in its place", _has_number_dtype, lambda value: 1 / value),
    ("{} increased by 1", _has_number_dtype, lambda value: value + 1),
    ("{} decreased by 1", _has_number_dtype, lambda value: value - 1),
    ("the absolute value of {}", _has_float_dtype, np.abs),
    ("True and False exchanged in {}", lambda value: True, _negate_booleans),
]


def apply_extra_step(number: int, value: Any) -> Any:
    """Apply a step, such as a square root, to a value; return the value if this has no meaning.

    Nor is there a meaning in a step that only changes the type (4 into NumPy's 4): it may avoid an
    error, but nobody can have meant it.
    """
    _, has_meaning, step = _EXTRA_STEPS[number]
    if not has_meaning(value):
        return value
    result = step(value)
    return value if np.array_equal(value, result) else result


def refuse_negative_sizes(value: Any) -> Any:
    """Return an argument of `reshape` unchanged, but raise ValueError for a size below -1.

    NumPy would take any negative size for -1.
    """
    for size in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(size, (int, np.integer)) and size < -1:
            raise ValueError("a negative size")
    return value


def refuse_array_as_dtype(value: Any) -> Any:
    """Return the value of an argument `dtype` unchanged if it can stand for a dtype.

    Raise TypeError for an array or a NumPy number, whose own dtype NumPy would use. A mutation may
    put one there, and would then seem to repair the code.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        raise TypeError("a value for a dtype")
    return value


def _wrap_arguments_in_checks(call: ast.Call, args: list[ast.expr]) -> list[ast.expr]:
    """Return the arguments of a call, with checks of those that NumPy may misunderstand."""
    function_name = ast.unparse(call.func).rpartition(".")[2]
    if function_name == "reshape":
        return [_wrap_call(CHECK_SIZES, argument) for argument in args]
    dtype_index = {"ones": 1, "zeros": 1, "empty": 1, "full": 2}.get(function_name)
    if dtype_index is None or any(isinstance(argument, ast.Starred) for argument in args):
        return args
    checked_args = list(args)
    if dtype_index < len(args):
        checked_args[dtype_index] = _wrap_call(CHECK_DTYPE, args[dtype_index])
    return checked_args


def _wrap_call(name: str, node: ast.expr) -> ast.expr:
    """Return the syntax node for the call `name(node)`; for a starred argument `*x`, `*name(x)`."""
    if isinstance(node, ast.Starred):
        return _copy_node(node, value=_wrap_call(name, node.value))
    return ast.copy_location(ast.Call(_make_name(name), [node], []), node)


def _fill_template(template: ast.expr, node: ast.expr) -> ast.expr:
    """Return a template expression, such as `_[:, None]`, with a node in place of `_`."""
    if isinstance(template, ast.Name) and template.id == "_":
        return node
    fields: dict[str, Any] = {}
    for name, value in ast.iter_fields(template):
        if name == "elts":
            fields[name] = [_fill_template(item, node) for item in value]
        elif isinstance(value, ast.expr):
            fields[name] = _fill_template(value, node)
    return _copy_node(template, **fields)
