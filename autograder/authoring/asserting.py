"""What the statements of a test cell ask, as far as their source tells: a value, an error, or some property."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Set
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.authoring.foreign import defined, parsed_source
from autograder.judging.question import Tolerance

Own = Set[str] | None

EXACT = 1e-7  # what `==` of numbers becomes: rounding is no mistake

# Comparing functions: whether numbers are close, and how close by default (relative, absolute).
_CLOSE: dict[str, tuple[float, float]] = {
    "isclose": (1e-5, 1e-8),
    "allclose": (1e-5, 1e-8),
    "assert_allclose": (1e-7, 0.0),
    "approx": (1e-6, 1e-12),
}
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
_TRUE = frozenset({"assert_true", "assertTrue", "ok_", "assert_"})
_RAISES = frozenset({"assert_raises", "assertRaises", "raises", "assert_raises_regex", "assertRaisesRegex"})
# What gives the whole of its argument in another form: to compare it is to compare the argument.
_WHOLE = frozenset(
    "list tuple set frozenset dict sorted array asarray float int str round tolist item to_numpy strip all any squeeze "
    "flatten ravel lower upper bool abs compute get_value".split()
)
_AUTOTEST = re.compile(r"^#{1,3} *(HASHED +)?AUTOTEST\b")


@dataclass(frozen=True)
class Asked:
    """One statement of a test cell.

    Parameters
    ----------
    nature : {"value", "property", "error", "nothing"}
    source : str
        As it stands there.
    lines : range
        In which of the cell's it stands, from 1.
    tolerance : float or two
        Of a value.
    whole : str
        The same with the cell's own names replaced by what was assigned to them.
    parts : mapping of str to list of (int, int)
        The names that it uses, in lines from and to, with those of the local names that it goes back to.
    through : set of str
        Names that its local ones are made with in any other way, as in a loop.
    """

    nature: str
    source: str
    lines: range
    tolerance: Tolerance = EXACT
    whole: str = ""
    parts: Mapping[str, list[tuple[int, int]]] = field(default_factory=dict)
    through: Set[str] = frozenset()

    @property
    def names(self) -> set[str]:
        """The names that it is about, also where one stands as a text: `'x' in vars()`."""
        texts = re.findall(r"'(\w+)' in (?:vars|globals|locals|dir)\(\)", self.whole)
        return {*self.parts, *texts, *self.through}

    @property
    def is_a_call(self) -> bool:
        """Whether it asks for the truth of one call: `assert prime(7)`, `assert not prime(8)`."""
        asked = ast.parse(self.whole).body[0]
        test = asked.value if isinstance(asked, ast.Expr) else None
        test = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
        return isinstance(test, ast.Call) and isinstance(test.func, ast.Name)

    def means(self, own: Set[str]) -> set[str]:
        """The functions among `own` that are only called for the arguments of another: g in `f(g(2)) == 3`."""
        inner: set[str] = set()
        outer: set[str] = set()

        def visit(node: ast.AST, below: bool) -> None:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in own:
                (inner if below else outer).add(node.func.id)
                below = True
            for part in ast.iter_child_nodes(node):
                visit(part, below)

        visit(ast.parse(self.whole), False)
        return inner - outer

    def calls(self, function: str, line: int) -> bool:
        """Whether a call of a function in this line is one of the statement's."""
        return any(first <= line <= last for first, last in self.parts.get(function, ()))


def statements(source: str, values: bool = False, own: Own = None) -> list[Asked]:
    """What a test cell asks, statement by statement; SyntaxError where it is no Python.

    Parameters
    ----------
    values : bool
        Whether a bare expression asks for its value, as in otter's tests.
    own : set of str, optional
        What students write: a comparison of anything else is none of theirs. By default, every name.
    """
    lines = source.split("\n")
    compared = set()
    for number, line in enumerate(lines):
        if found := _AUTOTEST.match(line.strip()):
            lines[number] = line.strip()[found.end() :].strip()
            compared.add(number + 1)
    tree = ast.parse("\n".join(lines))
    made = _made_with(tree)
    return [
        replace(asked, through=frozenset().union(*(made.get(name, set()) for name in _used(asked.source))))
        for asked in _walk(tree.body, {}, compared, values, own)
    ]


def _made_with(tree: ast.Module) -> dict[str, set[str]]:
    """By each name that a statement makes or changes the names that it uses, and those that these were made with."""
    made: dict[str, set[str]] = {}
    for statement in tree.body:
        used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        used = used.union(*(made.get(name, set()) for name in used))
        for name in [n for names in defined(ast.Module([statement], [])) for n in names]:
            made.setdefault(name, set()).update(used)
    return made


def _used(source: str) -> set[str]:
    tree = parsed_source(source)
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree else set()


def runnable(source: str) -> str:
    """A test cell's source with the lines that nbgrader's `AUTOTEST` stands for as statements."""
    return "\n".join(
        _AUTOTEST.sub("", line.strip()).strip() if _AUTOTEST.match(line.strip()) else line
        for line in source.split("\n")
    )


def _walk(
    body: list[ast.stmt], local: dict[str, ast.expr], compared: set[int], values: bool, own: Own
) -> Iterator[Asked]:
    for statement in body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            _bind(statement.targets[0], statement.value, local)
        if isinstance(statement, ast.Try) or (
            isinstance(statement, ast.With) and _raises(statement.items[0].context_expr)
        ):
            yield _asked("error", statement, statement, local)
        elif isinstance(statement, (ast.FunctionDef, ast.For, ast.While, ast.If, ast.With)):
            yield from _walk(statement.body, local, compared, values, own)
            yield from _walk(getattr(statement, "orelse", []), local, compared, values, own)
        elif isinstance(statement, ast.Assert):
            for part in _conjuncts(statement.test):
                nature, tolerance = _nature(_expanded(part, local), own)
                yield _asked(nature, statement, part, local, tolerance)
        elif isinstance(statement, ast.Expr):
            yield _of_expression(statement, local, statement.lineno in compared, values, own)


def _bind(target: ast.expr, value: ast.expr, local: dict[str, ast.expr]) -> None:
    if isinstance(target, ast.Name):
        local[target.id] = _expanded(value, local)
    elif isinstance(target, (ast.Tuple, ast.List)):
        value = deepcopy(value)
        for node in ast.walk(value):
            node.unpacked = True  # type: ignore[attr-defined]
        for part in target.elts:
            _bind(part, value, local)


def _of_expression(
    statement: ast.Expr, local: dict[str, ast.expr], compared: bool, values: bool, own: Own
) -> Asked:
    call = statement.value
    name = _name(call.func) if isinstance(call, ast.Call) else ""
    if isinstance(call, ast.Call) and name in _TRUE and call.args:
        nature, tolerance = _nature(_expanded(call.args[0], local), own)
        return _asked(nature, statement, call, local, tolerance)
    if isinstance(call, ast.Call) and name in _RAISES:
        return _asked("error", statement, call, local)
    if name.startswith(("assert", "eq_")):
        nature, tolerance = _nature(_expanded(call, local), own)
        return _asked(nature, statement, call, local, tolerance)
    if compared:
        return _asked("value", statement, call, local)
    if values and name not in ("print", "display") and not name.startswith("test"):
        nature, tolerance = _nature(_expanded(call, local), own)
        if nature == "property" and not isinstance(call, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
            nature = "value" if _whole(_expanded(call, local)) else "property"
        return _asked(nature, statement, call, local, tolerance)
    return _asked("nothing", statement, call, local)


def _asked(
    nature: str, statement: ast.stmt, part: ast.AST, local: dict[str, ast.expr], tolerance: Tolerance = EXACT
) -> Asked:
    whole = _expanded(part, local) if isinstance(part, ast.expr) else part
    parts: dict[str, list[tuple[int, int]]] = {}
    for node in ast.walk(whole):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            parts.setdefault(node.func.id, []).append((node.lineno, node.end_lineno or node.lineno))
        elif isinstance(node, ast.Name):
            found = parts.setdefault(node.id, [])
            if nature == "error":  # assert_raises(ValueError, f, 3)
                found.append((statement.lineno, statement.end_lineno or statement.lineno))
    lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    return Asked(nature, ast.unparse(part), lines, tolerance, ast.unparse(whole), parts)


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _conjuncts(part)
    else:
        yield test


def _expanded(part: ast.AST, local: dict[str, ast.expr]) -> Any:
    """An expression with the cell's own names replaced by what was assigned to them."""

    class Expand(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return local.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    return Expand().visit(deepcopy(part))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _raises(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and _name(expression.func) in _RAISES


def _nature(test: ast.expr, own: Own) -> tuple[str, Tolerance]:
    """Whether an expression compares something whole with a value, and how closely."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _of_comparison(test.left, test.ops[0], test.comparators[0], own)
    if isinstance(test, ast.Call):
        name = _name(test.func)
        inner = test.args[0] if test.args else None
        if name in ("all", "any") and inner is None and isinstance(test.func, ast.Attribute):
            inner = test.func.value  # (a == b).all()
        if name == "all" and isinstance(inner, (ast.GeneratorExp, ast.ListComp)):
            return _nature(inner.elt, own)
        if name in ("all", "bool") and inner is not None:
            return _nature(inner, own)
        if name in _CLOSE:
            return _if_whole(test.args, _given(test, *_CLOSE[name]), own)
        if name in _EQUAL:
            owner = [test.func.value] if name == "equals" and isinstance(test.func, ast.Attribute) else []
            return _if_whole([*owner, *test.args], EXACT, own)
        if name in _PLACES:
            places, units = _PLACES[name]
            wanted = _number(_keyword(test, "decimal", "places") or _third(test), places)
            return _if_whole(test.args, (0.0, units * 10.0**-wanted), own)
    return "property", EXACT


def _of_comparison(left: ast.expr, op: ast.cmpop, right: ast.expr, own: Own) -> tuple[str, Tolerance]:
    if isinstance(op, (ast.Gt, ast.GtE)):
        left, right, op = right, left, ast.Lt()
    if isinstance(op, (ast.Eq, ast.Is)):
        tolerance: Tolerance = EXACT
        for side in (left, right):
            if isinstance(side, ast.Call) and _name(side.func) == "round":
                places = _number(side.args[1] if len(side.args) > 1 else None, 0)
                tolerance = (0.0, 0.51 * 10.0**-places)
            elif isinstance(side, ast.Call) and _name(side.func) == "approx":
                tolerance = _given(side, *_CLOSE["approx"])
        return _if_whole([left, right], tolerance, own)
    if isinstance(op, (ast.Lt, ast.LtE)):
        gap = _difference(left)
        if gap is not None:
            return _if_whole([gap.left, gap.right], (0.0, abs(_number(right, EXACT))), own)
    return "property", EXACT


def _difference(expression: ast.expr) -> ast.BinOp | None:
    """The a - b in abs(a - b), norm(a - b), max(abs(a - b)); None where it is something else."""
    seen = False
    while isinstance(expression, ast.Call):
        name = _name(expression.func)
        seen = seen or name in ("abs", "norm", "absolute", "fabs")
        if name not in ("abs", "norm", "absolute", "fabs", "max", "amax", "sum", "mean"):
            return None
        expression = expression.args[0] if expression.args else getattr(expression.func, "value", expression)
    if seen and isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Sub):
        return expression
    return None


def _if_whole(sides: list[ast.expr], tolerance: Tolerance, own: Own) -> tuple[str, Tolerance]:
    """A comparison is of a value where one side is the whole of something, and not its length or its type."""
    mine = [
        side
        for side in sides[:2]
        if own is None or own & {n.id for n in ast.walk(side) if isinstance(n, ast.Name)}
    ]
    if own and _hang_together(sides[:2], own):
        return "property", EXACT
    return ("value", tolerance) if any(map(_whole, mine)) else ("property", EXACT)


def _hang_together(sides: list[ast.expr], own: Set[str]) -> bool:
    """Whether what a call gives is compared with another of the same function, or put into it: f(f(x)) == x."""

    def calls_in(tree: ast.AST) -> list[ast.Call]:  # but one of which a part has a name
        return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and not hasattr(n, "unpacked")]

    def called(tree: ast.AST) -> set[str]:
        return {_name(n.func) for n in calls_in(tree)} & own

    calls = [n for side in sides for n in calls_in(side)]
    nested = any({_name(call.func)} & called(part) & own for call in calls for part in call.args)
    return nested or (len(sides) > 1 and bool(called(sides[0]) & called(sides[1])))


def _whole(side: ast.expr) -> bool:
    """Whether an expression is a call or a variable, or all of its content in another form."""
    if isinstance(side, ast.Name):
        return True
    if isinstance(side, ast.Subscript):
        return _whole(side.value)
    if isinstance(side, ast.Call):
        if isinstance(side.func, ast.Attribute):
            return side.func.attr in _WHOLE and (
                not side.args or _whole(side.func.value) or _whole(side.args[0])
            )
        name = _name(side.func)
        if name in _WHOLE:
            return bool(side.args) and _whole(side.args[0])
        return name not in (
            "len",
            "type",
            "isinstance",
            "sum",
            "max",
            "min",
            "hasattr",
            "callable",
            "dir",
            "id",
        )
    if isinstance(side, (ast.Tuple, ast.List)):
        return any(map(_whole, side.elts))
    return False


def _given(call: ast.Call, relative: float, absolute: float) -> Tolerance:
    names = {"rtol": 0, "rel_tol": 0, "rel": 0, "atol": 1, "abs_tol": 1, "abs": 1}
    allowed = [relative, absolute]
    if _name(call.func) == "isclose" and any(k.arg in ("rel_tol", "abs_tol") for k in call.keywords):
        allowed = [1e-9, 0.0]  # math's
    for place, argument in enumerate(call.args[2:4]):
        allowed[place] = _number(argument, allowed[place])
    for keyword in call.keywords:
        if keyword.arg in names:
            allowed[names[keyword.arg]] = _number(keyword.value, allowed[names[keyword.arg]])
    return allowed[0], allowed[1]


def _keyword(call: ast.Call, *names: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg in names), None)


def _third(call: ast.Call) -> ast.expr | None:
    return call.args[2] if len(call.args) > 2 else None


def _number(expression: ast.expr | None, default: float) -> float:
    """The number that an expression is in the source: 1e-8, 10**-8, 1/100."""
    try:
        return default if expression is None else _evaluated(expression)
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
    if isinstance(expression, ast.Constant) and isinstance(expression.value, (int, float)):
        return float(expression.value)
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        return -_evaluated(expression.operand)
    if isinstance(expression, ast.BinOp) and type(expression.op) in _OPERATIONS:
        return _OPERATIONS[type(expression.op)](_evaluated(expression.left), _evaluated(expression.right))
    raise ValueError("no number")
