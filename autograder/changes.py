"""The small changes of a function's code that may be what its author meant, all built into one copy of it."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from autograder.errors import cut

# Names that no student can write: what each turn of a loop calls, and the function that gives back what it gets.
TICK = " tick"
SAME = " same"

# An expression that may be meant in place of another: how likely, from 0; words; the expression.
Other = tuple[int, str, Any]


@dataclass(frozen=True)
class Change:
    """One change of the code: its words follow "in line 3, `…`:" and come before "every case comes out right"."""

    words: str
    line: int
    rank: int

    @property
    def pairs(self) -> bool:
        """Whether it says something beside another change: much can be made good by a name in a call's place."""
        return self.rank < 3 and not self.words.startswith("with one of your names")


class Changing:
    """One function with the changes of its expressions and statements built in.

    Parameters
    ----------
    function : ast.FunctionDef
    add : callable
        Takes a change and the code before and after it, and gives the test for whether it is to be made.
    has_room : callable
        Whether there is room for another.
    words : set of str
        The texts that the code holds.
    ranks : sequence of int
        Which changes are built in: 0 leaves something out, 1 more of it, 2 puts another thing in its place, 3 does
        something more, 4 joins another name to it.
    """

    def __init__(
        self,
        function: ast.FunctionDef,
        add: Callable[[Change, str, str], ast.expr],
        has_room: Callable[[], bool],
        words: set[str],
        ranks: Sequence[int],
    ) -> None:
        self._function, self._add, self._has_room = function, add, has_room
        self._words, self._ranks = words, ranks
        nodes = list(ast.walk(function))
        kept = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        inside = {n.name for n in nodes if isinstance(n, ast.FunctionDef) and n is not function}
        # A name that is declared global or nonlocal may not stand before that.
        inside |= {name for n in nodes if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
        given = [a.arg for n in nodes if isinstance(n, (ast.FunctionDef, ast.Lambda)) for a in _parameters(n)]
        self._given = [a.arg for a in _parameters(function)]
        self._names = list(dict.fromkeys([*given, *sorted(kept - inside)]))
        loads = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        self._unused = [name for name in self._given if name not in {n.id for n in loads}]
        self._lines: dict[int, set[str]] = {}  # the names that stand in a line
        self._made: dict[str, int] = {}  # the line in which a name of its own is made
        for n in nodes:
            if isinstance(n, ast.Name):
                self._lines.setdefault(n.lineno, set()).add(n.id)
                if isinstance(n.ctx, ast.Store):
                    self._made.setdefault(n.id, n.lineno)

    def changed(self) -> ast.FunctionDef:
        """The definition; its first line and what decorates it stay."""
        function = self._function
        return _with(function, body=self._body(function.body))

    # Statements.

    def _body(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        new = [self._statement(node) for node in body]
        for i, (one, other) in enumerate(pairwise(body)):
            if isinstance(one, ast.Assign) and isinstance(other, ast.Assign) and 0 in self._ranks:
                words = f"with the right sides of this line and the next assignment, line {other.lineno}, exchanged"
                test = self._add(Change(words, one.lineno, 2), ast.unparse(one), ast.unparse(other))
                for at, node, value in ((i, one, other.value), (i + 1, other, one.value)):
                    new[at] = ast.copy_location(ast.If(test, [_with(node, value=value)], [new[at]]), node)
        return new

    def _statement(self, node: ast.stmt) -> ast.stmt:
        if isinstance(node, (ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
            return node
        fields = self._fields(node)
        if isinstance(node, (ast.For, ast.While)):
            tick = ast.Expr(ast.Call(ast.Name(TICK, ast.Load()), [], []))
            fields["body"] = [ast.copy_location(tick, node), *fields["body"]]
        new: ast.stmt = _with(node, **fields)
        text = ast.unparse(node)
        for rank, words, other in _other_statements(node) if 0 in self._ranks else ():
            test = self._add(Change(words, node.lineno, rank), text, ast.unparse(other) if other else "")
            new = ast.copy_location(ast.If(test, [other or ast.copy_location(ast.Pass(), node)], [new]), node)
        return new

    def _fields(self, node: ast.AST) -> dict[str, Any]:
        """The fields of a node that hold code, with the changes in it."""
        fields: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and name != "body":
                continue
            if isinstance(node, ast.Call) and name == "func":
                fields[name] = self._callee(value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                fields[name] = self._body(value)
            elif isinstance(value, list):
                fields[name] = [self._any(v) for v in value]
            elif isinstance(value, ast.AST):
                fields[name] = self._any(value)
        return fields

    # Expressions.

    def _any(self, node: Any) -> Any:
        """The same with the changes of all expressions in it built in."""
        if not isinstance(node, ast.AST):
            return node
        if isinstance(node, ast.stmt):  # inside `except` and `case`
            return self._statement(node)
        if isinstance(
            node, (ast.JoinedStr, ast.pattern, ast.expr_context, ast.operator, ast.cmpop, ast.arguments)
        ):
            return node
        new = plain = _with(node, **self._fields(node))
        if isinstance(node, (ast.expr)) and not isinstance(node, (ast.Slice, ast.Starred, ast.Tuple)):
            if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
                return new
            text = ast.unparse(node)
            tried = {text}
            for rank, words, other in self._others(node):
                after = ast.unparse(other) if rank in self._ranks else text
                if after not in tried and self._has_room():
                    tried.add(after)
                    same = (words, ast.unparse(other.func)) if "another function" in words else (text, after)
                    test = self._add(Change(words, node.lineno, rank), *same)
                    # What is inside may change as well.
                    if isinstance(node, ast.Call) and other in node.args[:1]:
                        plain.func = ast.IfExp(test, ast.Name(SAME, ast.Load()), plain.func)
                    else:
                        new = ast.copy_location(ast.IfExp(test, other, new), node)
        return new

    def _callee(self, node: ast.expr) -> ast.expr:
        """What is called: of a method, the object may change; a function changes with its call."""
        return _with(node, value=self._any(node.value)) if isinstance(node, ast.Attribute) else node

    def _others(self, node: ast.expr) -> Iterator[Other]:
        """What may be meant in place of an expression: (rank, words, expression)."""
        text = f"`{_short(ast.unparse(node))}`"
        if isinstance(node, ast.Constant):
            yield from _other_constants(node, self._words)
            for name in self._names if type(node.value) in (int, float) else ():
                yield 2, f"with one of your names in place of {text}", ast.Name(name, ast.Load())
        elif isinstance(node, ast.Name):
            for name in self._names:
                if name != node.id and node.id in self._names:
                    yield 2, f"with another name in place of {text}", ast.Name(name, ast.Load())
        elif isinstance(node, ast.BinOp):
            sign = _SIGNS[type(node.op)]
            for op in _OPERATORS.get(type(node.op), ()):
                yield 2, f"with another operator in place of `{sign}`", ast.BinOp(node.left, op(), node.right)
            if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv)):
                yield (
                    2,
                    f"with the two sides of `{sign}` exchanged",
                    ast.BinOp(node.right, node.op, node.left),
                )
            yield 0, f"without `{sign} {_short(ast.unparse(node.right))}`", node.left
            yield 0, f"without `{_short(ast.unparse(node.left))} {sign}`", node.right
        elif isinstance(node, ast.UnaryOp):
            yield (
                0,
                f"without what stands before `{_short(ast.unparse(node.operand))}` in {text}",
                node.operand,
            )
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            sign = _SIGNS.get(type(node.ops[0]), "in")
            for compare in (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq) if sign in _ORDER else ():
                if compare is not type(node.ops[0]):
                    other = ast.Compare(node.left, [compare()], node.comparators)
                    yield 2, f"with another comparison in place of `{sign}`", other
            yield 2, f"with the opposite of {text}", ast.UnaryOp(ast.Not(), node)
            yield 0, f"with `{_short(ast.unparse(node.left))}` alone in place of {text}", node.left
        elif isinstance(node, ast.BoolOp):
            other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield 2, f"with `and` and `or` exchanged in {text}", ast.BoolOp(other_op, node.values)
            for one in node.values:
                yield 0, f"with only one of the conditions in {text}", one
        elif isinstance(node, ast.List) and len(node.elts) > 1:
            for i, part in enumerate(node.elts):
                rest = ast.List([*node.elts[:i], *node.elts[i + 1 :]], ast.Load())
                yield 0, f"without `{_short(ast.unparse(part))}` in {text}", rest
        elif isinstance(node, ast.IfExp):
            yield 2, f"with the two choices exchanged in {text}", ast.IfExp(node.test, node.orelse, node.body)
            yield 0, f"without the `if` in {text}", node.body
            yield 0, f"without the `if` in {text}", node.orelse
        elif isinstance(node, ast.Subscript):
            yield from _other_slices(node, text)
            for name in self._names:
                yield 2, f"with one of your names in place of {text}", ast.Name(name, ast.Load())
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in _NUMBERS:
            for number in (0, 1, -1):
                yield 2, f"with another number in place of {text}", _number(number)
            for named in _NUMBERS:
                yield 2, f"with another number in place of {text}", ast.parse(named, mode="eval").body
        elif isinstance(node, ast.Attribute):
            yield 0, f"without `.{node.attr}` after `{_short(ast.unparse(node.value))}`", node.value
        elif isinstance(node, ast.Call):
            yield from self._other_calls(node, text)
            for name in self._names:
                yield 2, f"with one of your names in place of {text}", ast.Name(name, ast.Load())
        if isinstance(node, (ast.BinOp, ast.Call)):
            for part in _far_in(node):
                yield 1, f"with `{_short(ast.unparse(part))}` alone in place of {text}", part
        if 3 not in self._ranks:
            return
        if isinstance(node, (ast.BinOp, ast.Call, ast.Name, ast.Subscript)):
            for words, step in _MORE:
                yield 3, f"with {words.format(text)}", _filled(step, node)
        sum_or_part = isinstance(node, (ast.Call, ast.Name)) or isinstance(
            getattr(node, "op", 0), (ast.Add, ast.Sub)
        )
        for name, elsewhere in self._at_hand(node) if sum_or_part else ():
            by = ast.Name(name, ast.Load())
            for words, joint in _JOINED if elsewhere else _JOINED[:1]:
                for factor in (by, _filled(_COLUMN, by)) if elsewhere else (by,):
                    yield 4, f"with {words.format(text)} one of your names", ast.BinOp(node, joint, factor)

    def _at_hand(self, node: ast.expr) -> Iterator[tuple[str, bool]]:
        """The names that may be missing in a line: arguments used nowhere, what was made before; and if not there."""
        there = self._lines.get(node.lineno, set())
        made = [name for name, line in self._made.items() if line < node.lineno]
        for name in (*self._unused, *made):
            if name not in there or isinstance(node, ast.Name):
                yield name, name not in there

    def _other_calls(self, node: ast.Call, text: str) -> Iterator[Other]:
        called = ast.unparse(node.func)
        last = called.rpartition(".")[2]
        named = {k.arg for k in node.keywords}

        def call(
            args: Sequence[ast.expr] = node.args, keywords: Sequence[ast.keyword] = node.keywords
        ) -> ast.Call:
            return ast.Call(node.func, list(args), list(keywords))

        keep = [*node.keywords, _keyword("keepdims", True)]
        for name in (name for family in _FAMILIES if last in family for name in family if name != last):
            method = isinstance(node.func, ast.Attribute)
            func = _with(node.func, attr=name) if method else ast.Name(name, ast.Load())
            sums = name in _REDUCTIONS and "axis" in named and "keepdims" not in named
            for keywords in (node.keywords, keep) if sums else (node.keywords,):
                yield 2, f"with another function in place of `{called}`", ast.Call(func, node.args, keywords)
            for part in _operands(node.args[0]) if len(node.args) == 1 and not named else ():
                if isinstance(part, (ast.Name, ast.Call, ast.Subscript, ast.Attribute)):
                    words = (
                        f"with another function, of `{_short(ast.unparse(part))}` alone, in place of {text}"
                    )
                    yield 2, words, ast.Call(func, [part], [])
        for arg in node.args[1:]:
            if isinstance(arg, (ast.BinOp, ast.Name, ast.Call, ast.Subscript)):
                yield 0, f"with `{_short(ast.unparse(arg))}` alone in place of {text}", arg
        for i, (one, other) in enumerate(pairwise(node.args)):
            args = [*node.args[:i], other, one, *node.args[i + 2 :]]
            yield 2, f"with two arguments of `{called}` exchanged", call(args)
        for i, keyword in enumerate(node.keywords):
            rest = [*node.keywords[:i], *node.keywords[i + 1 :]]
            yield 0, f"without `{ast.unparse(keyword)}` for `{called}`", call(keywords=rest)
        if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
            yield 0, f"without `.{last}(…)` after `{_short(ast.unparse(node.func.value))}`", node.func.value
        elif node.args and not isinstance(node.args[0], ast.Starred):
            yield 0, f"without `{called}` around `{_short(ast.unparse(node.args[0]))}`", node.args[0]
        if last in _REDUCTIONS and "axis" in named and "keepdims" not in named:
            yield 3, f"with `keepdims` for `{called}`", call(keywords=keep)
        for axis in (-1, 0, 1, -2) if last in _REDUCTIONS and "axis" not in named else ():
            for keywords in (node.keywords, keep):
                yield 3, f"with an `axis` for `{called}`", call(keywords=[*keywords, _keyword("axis", axis)])
        if isinstance(node.func, ast.Name):
            free = [n for n in self._given if n not in {ast.unparse(a) for a in node.args} and n not in named]
            for name in free:
                args = [*node.args, ast.Name(name, ast.Load())]
                yield 3, f"with one argument more for `{called}`", call(args)
            for start in range(len(free)):
                keywords = [*node.keywords, *(ast.keyword(n, ast.Name(n, ast.Load())) for n in free[start:])]
                yield (
                    3,
                    f"with more of your function's arguments handed to `{called}`",
                    call(keywords=keywords),
                )


def _far_in(node: ast.expr, steps: int = 4) -> Iterator[ast.expr]:
    """The larger parts of the parts of an expression, and so on."""
    for part in _operands(node) if steps else ():
        for inner in _operands(part):
            if isinstance(inner, (ast.BinOp, ast.Call, ast.Name, ast.Subscript)):
                yield inner
        yield from _far_in(part, steps - 1)


def _operands(node: ast.expr) -> Sequence[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Call):
        method = (
            [node.func.value]
            if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)
            else []
        )
        return [*method, *(a for a in node.args if not isinstance(a, ast.Starred))]
    return [node.operand] if isinstance(node, ast.UnaryOp) else []


def _with(node: Any, **fields: Any) -> Any:
    """A copy of a node with some fields replaced; what is not replaced is shared."""
    new = type(node)(**{**dict(ast.iter_fields(node)), **fields})
    return ast.copy_location(new, node)


def _parameters(function: ast.FunctionDef | ast.Lambda) -> list[ast.arg]:
    taken = function.args
    return [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]


def _short(text: str) -> str:
    return cut(" ".join(text.split()), 40)


def _is_module(node: ast.expr) -> bool:
    return ast.unparse(node) in ("np", "numpy", "math", "np.linalg")


def _keyword(name: str, value: Any) -> ast.keyword:
    return ast.keyword(name, _number(value))


def _number(value: Any) -> ast.expr:
    if type(value) in (int, float) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _other_statements(node: ast.stmt) -> Iterator[Other]:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Break, ast.Continue)) and not docstring:
        yield 0, "without this line", None
    if isinstance(node, ast.AugAssign):
        for op in _OPERATORS.get(type(node.op), ()):
            sign = _SIGNS[type(node.op)]
            yield 2, f"with another operator in place of `{sign}=`", _with(node, op=op())
        plain = ast.copy_location(ast.Assign([node.target], node.value), node)
        yield 2, f"with `=` in place of `{_SIGNS[type(node.op)]}=`", plain
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        for joint in (ast.Add(), ast.Mult()) if isinstance(target, (ast.Name, ast.Subscript)) else ():
            other = ast.AugAssign(target, joint, node.value)  # type: ignore[arg-type]
            yield 2, "with the new joined to what is there already", ast.copy_location(other, node)
    if isinstance(node, ast.If):
        yield 2, "with the opposite condition", _with(node, test=ast.UnaryOp(ast.Not(), node.test))


def _other_constants(node: ast.Constant, words: set[str]) -> Iterator[Other]:
    value: Any = node.value
    if isinstance(value, bool):
        yield 2, f"with the other of True and False in place of `{value}`", ast.Constant(not value)
    elif isinstance(value, str):
        for word in sorted(words | ({"left", "right"} if value in ("left", "right") else set())):
            if word != value and len(word) < 30:
                yield 2, f"with another word in place of `{value!r}`", ast.Constant(word)
    elif type(value) in (int, float):
        near = [value + 1, value - 1, -value, 0, 1, 2, 2 * value, value / 2, 10 * value, value / 10]
        near += [100 * value, value / 100, value**2 if abs(value) < 1e6 else 0, abs(value) ** 0.5]
        near += [1 / value] if value else [-np.inf, np.inf]
        near += [1e9, -1e9, np.inf, -np.inf] if type(value) is float else []
        whole = [int(n) if type(value) is int and np.isfinite(n) and n == int(n) else n for n in near]
        for other in dict.fromkeys(whole):
            if other != value:
                yield 2, f"with another number in place of `{value}`", _number(other)


def _other_slices(node: ast.Subscript, text: str) -> Iterator[Other]:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for i, part in enumerate(parts):
        if not isinstance(part, ast.Slice):
            continue
        for other in _slices_like(part):
            whole = [*parts[:i], other, *parts[i + 1 :]]
            inside = ast.Tuple(whole, ast.Load()) if isinstance(node.slice, ast.Tuple) else other
            new = ast.Subscript(node.value, inside, ast.Load())
            yield 2, f"with another part in place of {text}", new
    if any(isinstance(part, (ast.Slice, ast.Name)) for part in parts):
        yield 0, f"with all of `{_short(ast.unparse(node.value))}` in place of {text}", node.value
    for what in ("mean", "sum"):
        step = ast.Call(ast.Attribute(ast.Name("np", ast.Load()), what, ast.Load()), [node.value], [])
        yield 3, f"with the {what} of all of `{_short(ast.unparse(node.value))}` in place of {text}", step


def _slices_like(part: ast.Slice) -> Iterator[ast.Slice]:
    for this, that in (("lower", "upper"), ("upper", "lower")):
        end = getattr(part, this)
        if end is None:
            continue
        yield _with(part, **{this: None})
        for by in (1, -1):
            yield _with(part, **{this: ast.BinOp(end, ast.Add(), _number(by))})
        if getattr(part, that) is None:  # `[1:]` and `[:1]`, or `[:-1]`
            turned = end.operand if isinstance(end, ast.UnaryOp) else ast.UnaryOp(ast.USub(), end)
            yield _with(part, **{this: None, that: end})
            yield _with(part, **{this: None, that: turned})
    if part.step is not None:
        yield _with(part, step=None)
        yield _with(part, step=ast.UnaryOp(ast.USub(), part.step))


_SIGNS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_NUMBERS = ("np.nan", "np.inf", "-np.inf", "np.pi", "np.e")
_ORDER = ("<", "<=", ">", ">=", "==", "!=")
# Never a power where a product stands: sizes would be beyond all bounds.
_OPERATORS: dict[type, tuple[type[ast.operator], ...]] = {
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
_FAMILIES = (
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
_JOINED: tuple[tuple[str, ast.operator], ...] = (
    ("{} multiplied by", ast.Mult()),
    ("{} divided by", ast.Div()),
)
_COLUMN = ast.parse("_[:, None]", mode="eval").body
_MORE = [
    (words, ast.parse(step, mode="eval").body)
    for words, step in (
        ("the sign of {} changed", "-_"),
        ("rows and columns of {} exchanged", "np.swapaxes(_, -1, -2)"),
        ("the opposite order of {}", "_[::-1]"),
        ("the root of {} in its place", "_ ** 0.5"),
        ("{} squared", "_ ** 2"),
        ("1 divided by {} in its place", "1 / _"),
        ("{} one larger", "_ + 1"),
        ("{} one smaller", "_ - 1"),
        ("the absolute value of {}", "np.abs(_)"),
        ("True and False exchanged in {}", "~_"),
    )
]


def _filled(step: ast.expr, node: ast.expr) -> ast.expr:
    """A step with an expression in place of its blank."""
    if isinstance(step, ast.Name):
        return node if step.id == "_" else step
    fields: dict[str, Any] = {}
    for name, value in ast.iter_fields(step):
        if isinstance(value, list):
            fields[name] = [_filled(v, node) if isinstance(v, ast.expr) else v for v in value]
        elif isinstance(value, ast.expr):
            fields[name] = _filled(value, node)
    return _with(step, **fields)
