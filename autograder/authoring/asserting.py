"""What the statements of a test cell ask, as far as their source tells: a value, an error, or some property."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from autograder.authoring.names import called, defined, used
from autograder.judging.question import Tolerance

EXACT = 1e-7  # what `==` of numbers becomes: rounding is no mistake

# Comparing functions: whether numbers are close, and how close by default (relative, absolute).
_CLOSE: dict[str, tuple[float, float]] = {
    "isclose": (1e-5, 1e-8),
    "allclose": (1e-5, 1e-8),
    "assert_allclose": (1e-7, 0.0),
    "approx": (1e-6, 1e-12),
}
# Which of the two an argument is.
_ALLOWED = {"rtol": 0, "rel_tol": 0, "rel": 0, "atol": 1, "abs_tol": 1, "abs": 1}
_EQUAL = frozenset(
    "array_equal array_equiv equals assert_equal assert_equals assertEqual assertEquals assert_array_equal eq_ "
    "assert_frame_equal assert_series_equal assert_index_equal assertListEqual assertDictEqual assertSetEqual "
    "assertTupleEqual assertSequenceEqual assertCountEqual".split()
)
_PLACES = {  # digits behind the point, and half a unit or more of the last one
    "assert_almost_equal": (7, 1.5),
    "assert_array_almost_equal": (6, 1.5),
    "assertAlmostEqual": (7, 0.5),
}
_TRUE = frozenset({"all", "bool", "assert_true", "assertTrue", "ok_", "assert_"})
_RAISES = frozenset({"assert_raises", "assertRaises", "raises", "assert_raises_regex", "assertRaisesRegex"})
# What gives the whole of its argument in another form: to compare it is to compare the argument.
_WHOLE = frozenset(
    "list tuple set frozenset dict sorted array asarray float int str round tolist item to_numpy strip all any squeeze "
    "flatten ravel lower upper bool abs compute get_value".split()
)
# What gives a part or a property of its argument.
_PARTLY = frozenset("len type isinstance sum max min hasattr callable dir id".split())
_GAP = frozenset("abs norm absolute fabs".split())
_AUTOTEST = re.compile(r"^#{1,3} *(HASHED +)?AUTOTEST\b")


@dataclass(frozen=True)
class Asked:
    """One assertion of a test cell, or a statement that asserts nothing.

    Parameters
    ----------
    nature : {"value", "property", "error", "nothing"}
    part, whole : ast.AST
        As it stands there; and with the cell's own names replaced by what was assigned to them.
    lines : range
        In which of the cell's it stands, from 1.
    hidden : bool
        Whether it is among the hidden tests.
    tolerance : float or two
        Of a value.
    parts : mapping of str to list of (int, int)
        The names that it uses, in lines from and to, with those of the local names that it goes back to.
    through : set of str
        Names that its local ones are made with in any other way, as in a loop.
    """

    nature: str
    part: ast.AST
    whole: ast.AST
    lines: range
    hidden: bool
    tolerance: Tolerance
    parts: Mapping[str, list[tuple[int, int]]]
    through: Set[str]

    @cached_property
    def source(self) -> str:
        """As it stands there."""
        return ast.unparse(self.part)

    @property
    def names(self) -> set[str]:
        """The names that it is about, also where one stands as a text: `'x' in vars()`."""
        texts = re.findall(r"'(\w+)' in (?:vars|globals|locals|dir)\(\)", ast.unparse(self.whole))
        return {*self.parts, *texts, *self.through}

    @property
    def is_a_call(self) -> bool:
        """Whether it asks for the truth of one call: `assert prime(7)`, `assert not prime(8)`."""
        match self.whole:
            case ast.Call(func=ast.Name()) | ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name())):
                return True
        return False

    def means(self, own: Set[str]) -> set[str]:
        """The functions among `own` that are only called for the arguments of another: g in `f(g(2)) == 3`."""
        calls = [node for node in ast.walk(self.whole) if called(node) in own]
        inner = [node for call in calls for node in ast.walk(call) if node is not call and node in calls]
        return {*map(called, inner)} - {called(node) for node in calls if node not in inner}

    def calls(self, function: str, line: int) -> bool:
        """Whether a call of a function in this line is one of the statement's."""
        return any(first <= line <= last for first, last in self.parts.get(function, ()))


def statements(
    source: str, values: bool = False, own: Set[str] | None = None, hidden: Set[int] = frozenset()
) -> list[Asked]:
    """What a test cell asks, statement by statement; SyntaxError where it is no Python.

    Parameters
    ----------
    values : bool
        Whether a bare expression asks for its value, as in otter's tests.
    own : set of str, optional
        What students write: a comparison of anything else is none of theirs. By default, every name.
    hidden : set of int
        The lines of hidden tests.
    """
    return list(_Reader(source, values, own, hidden).walk(ast.parse(runnable(source)).body))


def runnable(source: str) -> str:
    """A test cell's source with the lines that nbgrader's `AUTOTEST` stands for as statements."""
    return "\n".join(
        _AUTOTEST.sub("", line.strip()).strip() if _AUTOTEST.match(line.strip()) else line
        for line in source.split("\n")
    )


class _Reader:
    """What is known while one goes through a test cell: see `statements`."""

    def __init__(self, source: str, values: bool, own: Set[str] | None, hidden: Set[int]):
        self.values, self.own, self.hidden = values, own, hidden
        self.autotests = {n for n, row in enumerate(source.split("\n"), 1) if _AUTOTEST.match(row.strip())}
        self.local: dict[str, ast.expr] = {}  # what was assigned to the cell's own names
        self.made: dict[
            str, set[str]
        ] = {}  # by each name that is made or changed the names that this goes back to
        for statement in ast.parse(runnable(source)).body:
            names = used(statement)
            names = names.union(*(self.made.get(name, set()) for name in names))
            for name in [n for kind in defined(statement) for n in kind]:
                self.made.setdefault(name, set()).update(names)

    def walk(self, body: Sequence[ast.stmt]) -> Iterator[Asked]:
        for statement in body:
            match statement:
                case ast.Assign(targets=[target], value=value):
                    self.bind(target, value)
                case ast.Try():
                    yield self.asked(statement, statement, "error")
                case ast.With(items=[ast.withitem(context_expr=call), *_]) if called(call) in _RAISES:
                    yield self.asked(statement, statement, "error")
                case ast.FunctionDef() | ast.For() | ast.While() | ast.If() | ast.With():
                    yield from self.walk([*statement.body, *getattr(statement, "orelse", [])])
                case ast.Assert(test=test):
                    for part in _conjuncts(test):
                        yield self.asked(statement, part)
                case ast.Expr(value=part):
                    yield self.of_expression(statement, part)

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.local[target.id] = self.expanded(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            value = deepcopy(value)
            for node in ast.walk(value):
                node.unpacked = True  # type: ignore[attr-defined]
            for part in target.elts:
                self.bind(part, value)

    def expanded(self, part: Any) -> Any:
        """An expression with the cell's own names replaced by what was assigned to them."""
        local = self.local

        class Expand(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.expr:
                return local.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

        return Expand().visit(deepcopy(part)) if isinstance(part, ast.expr) else part

    def of_expression(self, statement: ast.stmt, part: ast.expr) -> Asked:
        name = called(part)
        if name in _RAISES:
            return self.asked(statement, part, "error")
        if name in _TRUE - {"all", "bool"} or name.startswith(("assert", "eq_")):
            return self.asked(statement, part)
        if statement.lineno in self.autotests:
            return self.asked(statement, part, "value")
        if self.values and name not in ("print", "display") and not name.startswith("test"):
            bare = not isinstance(part, (ast.Compare, ast.BoolOp, ast.UnaryOp))
            return self.asked(statement, part, bare=bare)
        return self.asked(statement, part, "nothing")

    def asked(self, statement: ast.stmt, part: ast.AST, nature: str = "", bare: bool = False) -> Asked:
        """The record of an assertion; `bare` is one whose value is to be what it was."""
        whole = self.expanded(part)
        tolerance: Tolerance = EXACT
        if not nature:
            nature, tolerance = self.nature(whole)
            if bare and nature == "property" and _whole(whole):
                nature = "value"
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        parts: dict[str, list[tuple[int, int]]] = {}
        for node in ast.walk(whole):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                parts.setdefault(node.func.id, []).append((node.lineno, node.end_lineno or node.lineno))
            elif isinstance(node, ast.Name):
                found = parts.setdefault(node.id, [])
                if nature == "error":  # assert_raises(ValueError, f, 3)
                    found.append((lines[0], lines[-1]))
        through = frozenset().union(*(self.made.get(name, set()) for name in used(part)))
        hidden = not self.hidden.isdisjoint(lines)
        return Asked(nature, part, whole, lines, hidden, tolerance, parts, through)

    def nature(self, test: ast.AST) -> tuple[str, Tolerance]:
        """Whether an expression compares something whole with a value, and how closely."""
        name = called(test)
        match test:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.of_comparison(left, op, right)
            case ast.Call(func=ast.Attribute(value=inner, attr="all"), args=[]):  # (a == b).all()
                return self.nature(inner)
            case ast.Call(args=[ast.GeneratorExp(elt=each) | ast.ListComp(elt=each), *_]) if name == "all":
                return self.nature(each)
            case ast.Call(args=[inner, *_]) if name in _TRUE:
                return self.nature(inner)
            case ast.Call(args=sides) if name in _CLOSE:
                return self.compared(sides, _allowed(test, *_CLOSE[name]))
            case ast.Call(func=ast.Attribute(value=owner, attr="equals"), args=sides):
                return self.compared([owner, *sides], EXACT)
            case ast.Call(args=sides) if name in _EQUAL:
                return self.compared(sides, EXACT)
            case ast.Call(args=sides, keywords=keywords) if name in _PLACES:
                places, units = _PLACES[name]
                given = [*sides[2:3], *(k.value for k in keywords if k.arg in ("decimal", "places"))]
                wanted = _number(given[-1], places) if given else places
                return self.compared(sides, (0.0, units * 10.0**-wanted))
        return "property", EXACT

    def of_comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> tuple[str, Tolerance]:
        if isinstance(op, (ast.Gt, ast.GtE)):
            left, right, op = right, left, ast.Lt()
        if isinstance(op, (ast.Eq, ast.Is)):
            tolerance: Tolerance = EXACT
            for side in (left, right):
                match side:
                    case ast.Call(args=[_, *places]) if called(side) == "round":
                        tolerance = (0.0, 0.51 * 10.0 ** -(_number(places[0], 0) if places else 0))
                    case ast.Call() if called(side) == "approx":
                        tolerance = _allowed(side, *_CLOSE["approx"])
            return self.compared([left, right], tolerance)
        gap = _difference(left) if isinstance(op, (ast.Lt, ast.LtE)) else None
        if gap is not None:
            return self.compared([gap.left, gap.right], (0.0, abs(_number(right, EXACT))))
        return "property", EXACT

    def compared(self, sides: Sequence[ast.expr], tolerance: Tolerance) -> tuple[str, Tolerance]:
        """A comparison is of a value where one side is the whole of something, and not its length or its type."""
        sides = sides[:2]
        mine = [side for side in sides if self.own is None or self.own & used(side)]
        if not any(map(_whole, mine)) or (self.own and _hang_together(sides, self.own)):
            return "property", EXACT
        return "value", tolerance


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _conjuncts(part)
    else:
        yield test


def _difference(expression: ast.expr) -> ast.BinOp | None:
    """The a - b in abs(a - b), norm(a - b), max(abs(a - b)); None where it is something else."""
    seen = False
    while isinstance(expression, ast.Call):
        name = called(expression)
        seen = seen or name in _GAP
        if name not in {*_GAP, "max", "amax", "sum", "mean"}:
            return None
        expression = expression.args[0] if expression.args else getattr(expression.func, "value", expression)
    if seen and isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Sub):
        return expression
    return None


def _hang_together(sides: Sequence[ast.expr], own: Set[str]) -> bool:
    """Whether what a call gives is compared with another of the same function, or put into it: f(f(x)) == x."""

    def calls_in(tree: ast.AST) -> list[ast.Call]:  # but one of which a part has a name
        return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and not hasattr(n, "unpacked")]

    def own_in(tree: ast.AST) -> set[str]:
        return {*map(called, calls_in(tree))} & own

    calls = [n for side in sides for n in calls_in(side)]
    nested = any(called(call) in own_in(part) for call in calls for part in call.args)
    return nested or (len(sides) > 1 and bool(own_in(sides[0]) & own_in(sides[1])))


def _whole(side: ast.AST) -> bool:
    """Whether an expression is a call or a variable, or all of its content in another form."""
    match side:
        case ast.Name():
            return True
        case ast.Subscript(value=of):
            return _whole(of)
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=given):
            return name in _WHOLE and (not given or _whole(of) or _whole(given[0]))
        case ast.Call(args=given) if called(side) in _WHOLE:
            return bool(given) and _whole(given[0])
        case ast.Call():
            return called(side) not in _PARTLY
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(map(_whole, parts))
    return False


def _allowed(call: ast.Call, relative: float, absolute: float) -> tuple[float, float]:
    """The tolerance that a comparing function is called with."""
    allowed = [relative, absolute]
    if called(call) == "isclose" and any(k.arg in ("rel_tol", "abs_tol") for k in call.keywords):
        allowed = [1e-9, 0.0]  # math's
    named = {_ALLOWED[k.arg]: k.value for k in call.keywords if k.arg in _ALLOWED}
    for place, argument in {**dict(enumerate(call.args[2:4])), **named}.items():
        allowed[place] = _number(argument, allowed[place])
    return allowed[0], allowed[1]


def _number(expression: ast.expr, default: float) -> float:
    """The number that an expression is in the source: 1e-8, 10**-8, 1/100."""
    try:
        return _evaluated(expression)
    except (ValueError, ArithmeticError):
        return default


_OPERATIONS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,  # of floats, so nothing grows without end
}


def _evaluated(expression: ast.expr) -> float:
    match expression:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=part):
            return -_evaluated(part)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_evaluated(left), _evaluated(right))
    raise ValueError("no number")
