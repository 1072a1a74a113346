"""Classify the assertions in a test cell: each is about a value, an error or a property."""

import ast
import builtins
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from autograder.authoring.python_names import (
    find_functions_and_variables,
    find_read_or_assigned_names,
    get_called_name,
)
from autograder.values.case_records import Tolerance

EXACT = 1e-7  # tolerance in place of `==` of numbers: rounding is no mistake

# Functions that return True for numbers that are nearly equal, with their default tolerances
# (relative, absolute).
_CLOSE_CALLS: dict[str, tuple[float, float]] = {
    "isclose": (1e-5, 1e-8),
    "allclose": (1e-5, 1e-8),
    "assert_allclose": (1e-7, 0.0),
    "approx": (1e-6, 1e-12),
}
_MATH_ISCLOSE = (1e-9, 0.0)
# Position of each keyword argument in the pair (relative, absolute).
_TOLERANCE_KEYWORDS = {"rtol": 0, "rel_tol": 0, "rel": 0, "atol": 1, "abs_tol": 1, "abs": 1}
_EQUAL_CALLS = frozenset(
    """
    array_equal array_equiv equals assert_equal assert_equals assertEqual assertEquals assert_array_equal
    eq_ assert_frame_equal assert_series_equal assert_index_equal assertListEqual assertDictEqual
    assertSetEqual assertTupleEqual assertSequenceEqual assertCountEqual
    """.split(),
)
_DECIMALS = {  # default number of decimals, and tolerance in units of the last one
    "assert_almost_equal": (7, 1.5),
    "assert_array_almost_equal": (6, 1.5),
    "assertAlmostEqual": (7, 0.5),
}
_TRUE_CALLS = frozenset({"all", "bool", "assert_true", "assertTrue", "ok_", "assert_"})
_RAISE_CALLS = frozenset(
    {"assert_raises", "assertRaises", "raises", "assert_raises_regex", "assertRaisesRegex"},
)
# Functions that only convert their argument. A comparison of `list(f(x))` counts as a comparison
# of `f(x)`. Functions that lose something, such as `sorted` and `abs`, are not among them: their
# assertions ask for a property, which several answers have.
_CONVERSIONS = frozenset(
    """
    list tuple dict array asarray float round tolist item to_numpy compute get_value
    """.split(),
)
# Functions that seed a random number generator.
SEED_FUNCTIONS = ("seed", "set_seed", "manual_seed", "set_random_seed")
# Functions that expect a warning.
_WARNING_CALLS = frozenset("warns assert_warns assertWarns deprecated_call".split())
# Names under which notebooks import pyplot, whose current figure a call may change.
PYPLOT_NAMES = frozenset("plt pyplot pylab".split())
_DISTANCES = frozenset("abs norm absolute fabs".split())
_AUTOTEST = re.compile(r"^#{1,3} *(HASHED +)?AUTOTEST\b")


def _closes_figures(expression: ast.expr) -> bool:
    """Return True for `plt.close()`, which returns nothing that a test could compare.

    >>> _closes_figures(ast.parse("plt.close('all')").body[0].value)
    True
    """
    function = expression.func if isinstance(expression, ast.Call) else None
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    return function.attr == "close" and function.value.id in PYPLOT_NAMES


@dataclass(frozen=True)
class Assertion:
    """Assertion in a test cell, or an expression statement there that asserts nothing.

    Parameters
    ----------
    kind : {"value", "property", "error", "warning", "time", "shown", "nothing"}
    expression : ast.AST
        The assertion as it is written.
    expansion : ast.AST
        The expression with the cell's local names replaced by their assigned expressions.
    lines : range
        Lines of the cell that the statement covers, from 1.
    hidden : bool
        True among the hidden tests.
    tolerance : float or (float, float)
        Tolerance of a value.
    references : mapping of str to list of (int, int)
        Names in the expansion, each with the first and last lines of its calls.
    indirect_names : set of str
        Names that the local ones depend on in another way, as in a loop.
    unresolved_names : set of str
        Names that those in the expansion depend on.
    called_functions : set of str
        Students' functions that are called with a name in the assertion, if it depends on no other
        name of students: it may test that its argument is not changed.
    """

    kind: str
    expression: ast.AST
    expansion: ast.AST
    lines: range
    hidden: bool
    tolerance: Tolerance
    references: Mapping[str, list[tuple[int, int]]]
    indirect_names: Set[str]
    unresolved_names: Set[str]
    called_functions: Set[str]

    @cached_property
    def source(self) -> str:
        """Source code of the assertion."""
        return ast.unparse(self.expression)

    @property
    def names(self) -> set[str]:
        """Names that the assertion depends on, also one in a string, as in `'x' in vars()`."""
        strings = re.findall(
            r"'(\w+)' in (?:vars|globals|locals|dir)\(\)",
            ast.unparse(self.expansion),
        )
        return {*self.references, *strings, *self.indirect_names, *self.called_functions}

    @property
    def is_truth_of_call(self) -> bool:
        """True if the assertion says only that a call is true or false: `assert prime(7)`."""
        match self.expansion:
            case ast.Call(func=ast.Name()):
                return True
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name())):
                return True
        return False

    def find_inner_functions(self, functions: Set[str]) -> set[str]:
        """Return the functions called only inside the arguments of another: g in `f(g(2)) == 3`."""
        calls = [node for node in ast.walk(self.expansion) if get_called_name(node) in functions]
        inner_calls = []
        for call in calls:
            inner_calls += [node for node in ast.walk(call) if node is not call and node in calls]
        outer_calls = [call for call in calls if call not in inner_calls]
        return {*map(get_called_name, inner_calls)} - {*map(get_called_name, outer_calls)}

    def depends_on_outside_calls_of(self, function: str) -> bool:
        """Return True if the assertion depends on calls of `function` that do not stand in it.

        They stand in another statement, `timer.elapsed < 1`, or in a helper, `spread(draw) < 1`.
        """
        for node in ast.walk(self.expansion):
            if not isinstance(node, ast.Call) or hasattr(builtins, get_called_name(node)):
                continue
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                if isinstance(argument, ast.Name) and argument.id == function:
                    return True
        return function in self.indirect_names and not self.references.get(function)

    def reads_clock(self, clocks: Set[str]) -> bool:
        """Return True if the assertion depends on one of the `clocks`, which measure time."""
        return not clocks.isdisjoint({*self.references, *self.unresolved_names})

    def has_call(self, function: str, line: int) -> bool:
        """Return True if the assertion contains the call of `function` in this line."""
        return any(first <= line <= last for first, last in self.references.get(function, ()))


def read_assertions(
    source: str,
    bare_values: bool = False,
    names_to_define: Set[str] | None = None,
    hidden: Set[int] = frozenset(),
    earlier_tests: Sequence[ast.stmt] = (),
) -> list[Assertion]:
    """Return the assertions in a test cell; raise SyntaxError if the cell is not valid Python.

    Parameters
    ----------
    bare_values : bool
        True if a bare expression is an assertion of its value, as in otter's tests.
    names_to_define : set of str, optional
        Names that students define: a comparison of anything else asks them nothing. By default,
        every name.
    hidden : set of int
        The lines of hidden tests.
    earlier_tests : sequence of statements
        The statements of earlier test cells, which may make objects for this one.
    """
    reader = _AssertionReader(source, bare_values, names_to_define, hidden, earlier_tests)
    return list(reader.read(ast.parse(uncomment_autotests(source)).body))


def uncomment_autotests(source: str) -> str:
    """Turn the comments `### AUTOTEST …`, nbgrader's notation for tests, into statements."""
    lines = []
    for line in source.split("\n"):
        if _AUTOTEST.match(line.strip()):
            line = _AUTOTEST.sub("", line.strip()).strip()
        lines.append(line)
    return "\n".join(lines)


class _AssertionReader:
    """Reader of the assertions in one test cell, for `read_assertions`.

    Attributes
    ----------
    autotests : set of int
        Lines of AUTOTEST comments.
    local_values : dict of str to ast.expr
        Expressions assigned to the cell's local names, expanded.
    dependencies : dict of str to set of str
        Names that each name defined or changed in the cell depends on.
    functions_by_argument : dict of str to set of str
        Students' functions that are called with a variable as an argument, by the variable.
    """

    def __init__(
        self,
        source: str,
        bare_values: bool,
        names_to_define: Set[str] | None,
        hidden: Set[int],
        earlier_tests: Sequence[ast.stmt],
    ):
        self.bare_values, self.names_to_define, self.hidden = bare_values, names_to_define, hidden
        self.autotests = set()
        for number, line in enumerate(source.split("\n"), 1):
            if _AUTOTEST.match(line.strip()):
                self.autotests.add(number)
        self.local_values: dict[str, ast.expr] = {}
        self.dependencies: dict[str, set[str]] = {}
        self.streams: set[str] = set()
        self.functions_by_argument = _find_functions_by_argument(source, names_to_define or set())
        self.has_strict_warnings = False
        for statement in [*earlier_tests, *ast.parse(uncomment_autotests(source)).body]:
            self._add_dependencies(statement)

    def _add_dependencies(self, statement: ast.stmt) -> None:
        """Add the names on which the names that a statement sets or changes depend.

        A call that stands alone may draw or print. So the figure and the texts that are caught
        depend on it. What a `with` block sets depends on the block's statements, not on its head:
        a value that is set while a clock runs is no time.
        """
        if isinstance(statement, ast.With):
            for part in statement.body:
                self._add_dependencies(part)
        names = find_read_or_assigned_names(statement)
        for name in [*names]:
            names = names | self.dependencies.get(name, set())
        functions, variables = find_functions_and_variables(statement)
        changed_names = [*functions, *variables]
        if isinstance(statement, ast.With):
            changed_names = []
            for item in statement.items:
                changed_names += find_read_or_assigned_names(item)
        targets = getattr(statement, "targets", [])
        if "sys.stdout" in map(ast.unparse, targets):
            self.streams |= names - {"sys"}
        if isinstance(statement, ast.Expr) and get_called_name(statement.value) in (
            self.names_to_define or set()
        ):
            changed_names += [*PYPLOT_NAMES, *self.streams]
        for name in changed_names:
            self.dependencies.setdefault(name, set()).update(names)

    def read(self, body: Sequence[ast.stmt]) -> Iterator[Assertion]:
        for statement in body:
            match statement:
                case ast.With(items=[ast.withitem(context_expr=call), *_]) if (
                    get_called_name(call) in _WARNING_CALLS
                ):
                    yield self._make_assertion(statement, statement, "warning")
                    continue
                case ast.Expr(value=call) if _makes_warnings_errors(call):
                    self.has_strict_warnings = True
            match statement:
                case ast.Assign(targets=[target], value=value):
                    self._record_assignment(target, value)
                case ast.Try():
                    yield self._make_assertion(statement, statement, "error")
                case ast.With(items=[ast.withitem(context_expr=call), *_]) if (
                    get_called_name(call) in _RAISE_CALLS
                ):
                    yield self._make_assertion(statement, statement, "error")
                case ast.FunctionDef() | ast.For() | ast.While() | ast.If() | ast.With():
                    yield from self.read([*statement.body, *getattr(statement, "orelse", [])])
                case ast.Assert(test=test):
                    for part in _split_conjunction(test):
                        yield self._make_assertion(statement, part)
                case ast.Expr(value=part):
                    yield self._read_expression(statement, part)

    def _record_assignment(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.local_values[target.id] = self._expand(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            has_star = any(isinstance(part, ast.Starred) for part in target.elts)
            for index, part in enumerate(target.elts):
                element: ast.expr = ast.Subscript(value, ast.Constant(index), ast.Load())
                self._record_assignment(
                    part, value if has_star else ast.copy_location(element, value)
                )

    def _expand(self, node: Any) -> Any:
        """Replace the test cell's local variables in an expression by what was assigned to them."""
        local_values = self.local_values

        class Expander(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.expr:
                if isinstance(node.ctx, ast.Load):
                    return local_values.get(node.id, node)
                return node

        return Expander().visit(deepcopy(node)) if isinstance(node, ast.expr) else node

    def _read_expression(self, statement: ast.stmt, expression: ast.expr) -> Assertion:
        name = get_called_name(expression)
        if name in _RAISE_CALLS:
            return self._make_assertion(statement, expression, "error")
        if name in SEED_FUNCTIONS or isinstance(expression, ast.Constant):
            return self._make_assertion(statement, expression, "nothing")
        if _closes_figures(expression):
            return self._make_assertion(statement, expression, "nothing")
        if name in _TRUE_CALLS - {"all", "bool"} or name.startswith(("assert", "eq_")):
            return self._make_assertion(statement, expression)
        if statement.lineno in self.autotests:
            return self._make_assertion(statement, expression, "value")
        if self.bare_values and name not in ("print", "display") and not name.startswith("test"):
            is_bare = not isinstance(expression, (ast.Compare, ast.BoolOp, ast.UnaryOp))
            return self._make_assertion(statement, expression, is_bare=is_bare)
        return self._make_assertion(statement, expression, "nothing")

    def _make_assertion(
        self, statement: ast.stmt, expression: ast.AST, kind: str = "", is_bare: bool = False
    ) -> Assertion:
        """Return an assertion's record. An expression alone asserts that its value is unchanged."""
        expansion = self._expand(expression)
        tolerance: Tolerance = EXACT
        if not kind:
            kind, tolerance = self._classify(expansion)
            if is_bare and kind == "property":
                kind = "value" if is_full_value(expansion, self.names_to_define) else "shown"
            if kind == "value" and self.has_strict_warnings:
                kind = "property"  # the value alone would not do
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        references: dict[str, list[tuple[int, int]]] = {}
        for node in ast.walk(expansion):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                call_lines = (node.lineno, node.end_lineno or node.lineno)
                references.setdefault(node.func.id, []).append(call_lines)
            elif isinstance(node, ast.Name):
                places = references.setdefault(node.id, [])
                if kind == "error":  # assert_raises(ValueError, f, 3)
                    places.append((lines[0], lines[-1]))
        indirect_names: set[str] = set()
        for name in find_read_or_assigned_names(expression):
            indirect_names |= self.dependencies.get(name, set())
        # A name that the cell has set is its own, also if a given cell shows something under this name.
        indirect_names -= self.local_values.keys()
        unresolved_names: set[str] = set()
        for name in references:
            unresolved_names |= self.dependencies.get(name, set())
        called_functions: set[str] = set()
        if self.names_to_define and not self.names_to_define & {*references, *indirect_names}:
            for name in find_read_or_assigned_names(expression):
                called_functions |= self.functions_by_argument.get(name, set())
        hidden = not self.hidden.isdisjoint(lines)
        return Assertion(
            kind,
            expression,
            expansion,
            lines,
            hidden,
            tolerance,
            references,
            indirect_names,
            unresolved_names,
            called_functions,
        )

    def _classify(self, test: ast.AST) -> tuple[str, Tolerance]:
        """Return what a test compares, "value" or "property", and the comparison's tolerance."""
        name = get_called_name(test)
        match test:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._classify_comparison(left, op, right)
            case ast.Call(func=ast.Attribute(value=inner, attr="all"), args=[]):  # (a == b).all()
                return self._classify(inner)
            case ast.Call(args=[ast.GeneratorExp(elt=item) | ast.ListComp(elt=item), *_]) if (
                name == "all"
            ):
                return self._classify(item)
            case ast.Call(args=[inner, *_]) if name in _TRUE_CALLS:
                return self._classify(inner)
            case ast.Call(args=sides) if name in _CLOSE_CALLS:
                return self._classify_compared_values(
                    sides, _read_tolerance(test, *_CLOSE_CALLS[name])
                )
            case ast.Call(func=ast.Attribute(value=owner, attr="equals"), args=sides):
                return self._classify_compared_values([owner, *sides], EXACT)
            case ast.Call(args=sides) if name in _EQUAL_CALLS:
                return self._classify_compared_values(sides, EXACT)
            case ast.Call(args=sides, keywords=keywords) if name in _DECIMALS:
                decimals: float
                decimals, units = _DECIMALS[name]
                by_name = {keyword.arg: keyword.value for keyword in keywords}
                if "delta" in by_name:
                    return self._classify_compared_values(
                        sides, (0.0, _read_number(by_name["delta"], 0.0))
                    )
                arguments = sides[2:3]
                arguments += [k.value for k in keywords if k.arg in ("decimal", "places")]
                if arguments:
                    decimals = _read_number(arguments[-1], decimals)
                return self._classify_compared_values(sides, (0.0, units * 10.0**-decimals))
        return "property", EXACT

    def _classify_comparison(
        self,
        left: ast.expr,
        op: ast.cmpop,
        right: ast.expr,
    ) -> tuple[str, Tolerance]:
        if isinstance(op, (ast.Gt, ast.GtE)):
            left, right, op = right, left, ast.Lt()
        if isinstance(op, (ast.Eq, ast.Is)):
            tolerance: Tolerance = EXACT
            for side in (left, right):
                match side:
                    case ast.Call(args=[_, *decimals]) if get_called_name(side) == "round":
                        places = _read_number(decimals[0], 0) if decimals else 0
                        tolerance = (0.0, 0.51 * 10.0**-places)
                    case ast.Call() if get_called_name(side) == "approx":
                        tolerance = _read_tolerance(side, *_CLOSE_CALLS["approx"])
            return self._classify_compared_values([left, right], tolerance)
        difference = _find_difference(left) if isinstance(op, (ast.Lt, ast.LtE)) else None
        if difference is not None:
            sides = [difference.left, difference.right]
            return self._classify_compared_values(sides, (0.0, abs(_read_number(right, EXACT))))
        return "property", EXACT

    def _classify_compared_values(
        self,
        sides: Sequence[ast.expr],
        tolerance: Tolerance,
    ) -> tuple[str, Tolerance]:
        """Return "value" if one side is a student's whole result, not only its length or type.

        A relation between two things that students write, `square == guess**2`, is a property.
        """
        names = self.names_to_define
        sides = sides[:2]
        student_sides = [
            side for side in sides if names is None or names & find_read_or_assigned_names(side)
        ]
        has_full_value = any(is_full_value(side, names) for side in student_sides)
        is_relation = names is not None and len(student_sides) > 1
        if (
            not has_full_value
            or is_relation
            or (names and _call_common_function_or_apply_twice(sides, names))
        ):
            return "property", EXACT
        return "value", tolerance


def find_error_texts(expression: ast.AST) -> tuple[list[str], list[str], bool]:
    """Return what an assertion of an error says of its message.

    Returns
    -------
    (list of str, list of str, bool)
        Regular expressions that the message matches, texts that it holds, and True if the assertion
        asks for something else of the error, too.
    """
    patterns: list[str] = []
    texts: list[str] = []
    asks_more = False
    for node in ast.walk(expression):
        name = get_called_name(node)
        match node:
            case ast.Call(args=arguments, keywords=keywords) if name in _RAISE_CALLS:
                values = [keyword.value for keyword in keywords if keyword.arg == "match"]
                if name in ("assertRaisesRegex", "assert_raises_regex"):
                    values += arguments[1:2]
                for value in values:
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        patterns.append(value.value)
                    else:
                        asks_more = True
            case ast.Assert(test=ast.Compare(left=ast.Constant(str(text)), ops=[ast.In()])):
                texts.append(text)
            case ast.Assert(test=test) if find_read_or_assigned_names(test):
                asks_more = True
    return patterns, texts, asks_more


def _makes_warnings_errors(call: ast.expr) -> bool:
    """Return True for `warnings.simplefilter("error")`, after which a warning is an error."""
    if get_called_name(call) not in ("simplefilter", "filterwarnings"):
        return False
    return any(isinstance(node, ast.Constant) and node.value == "error" for node in ast.walk(call))


def find_sides(test: ast.AST) -> list[ast.expr]:
    """Return the two sides of an assertion that two values agree; [] for any other assertion."""
    name = get_called_name(test)
    match test:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            return [left, right]
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()]):
            difference = _find_difference(left)
        case ast.Compare(ops=[ast.Gt() | ast.GtE()], comparators=[right]):
            difference = _find_difference(right)
        case ast.Call(func=ast.Attribute(value=inner, attr="all"), args=[]):
            return find_sides(inner)
        case ast.Call(args=[inner, *_]) if name in _TRUE_CALLS:
            return find_sides(inner)
        case ast.Call(func=ast.Attribute(value=owner, attr="equals"), args=[other, *_]):
            return [owner, other]
        case ast.Call(args=[first, second, *_]) if name in _EQUAL_CALLS:
            return [first, second]
        case ast.Call(args=[first, second, *_]) if name in _CLOSE_CALLS or name in _DECIMALS:
            return [first, second]
        case _:
            return []
    return [difference.left, difference.right] if difference is not None else []


def _find_functions_by_argument(source: str, names_to_define: Set[str]) -> dict[str, set[str]]:
    """Return the students' functions that are called with each variable as an argument."""
    functions: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(uncomment_autotests(source))):
        if not isinstance(node, ast.Call) or get_called_name(node) not in names_to_define:
            continue
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(argument, ast.Name):
                functions.setdefault(argument.id, set()).add(get_called_name(node))
    return functions


def _split_conjunction(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _split_conjunction(part)
    else:
        yield test


def _find_difference(expression: ast.expr) -> ast.BinOp | None:
    """Return a - b for an expression such as abs(a - b) or norm(a - b); None for others."""
    has_distance = False
    while isinstance(expression, ast.Call):
        name = get_called_name(expression)
        has_distance = has_distance or name in _DISTANCES
        if name not in {*_DISTANCES, "max", "amax", "sum", "mean"}:
            return None
        if expression.args:
            expression = expression.args[0]
        elif isinstance(expression.func, ast.Attribute):
            expression = expression.func.value
        else:
            return None
    if has_distance and isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Sub):
        return expression
    return None


def _call_common_function_or_apply_twice(sides: Sequence[ast.expr], functions: Set[str]) -> bool:
    """Return True if both sides call one function, or it is applied twice, as in f(f(x)) == x."""

    def find_calls(tree: ast.AST) -> list[ast.Call]:
        return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]

    def find_functions(tree: ast.AST) -> set[str]:
        return {*map(get_called_name, find_calls(tree))} & functions

    for side in sides:
        for call in find_calls(side):
            if any(get_called_name(call) in find_functions(argument) for argument in call.args):
                return True
    return len(sides) > 1 and bool(find_functions(sides[0]) & find_functions(sides[1]))


def is_full_value(side: ast.AST, names_to_define: Set[str] | None = None) -> bool:
    """Return True if one side of a comparison is a whole result: `x`, `f(x)` or `list(f(x))`."""
    match side:
        case ast.Name():
            return True
        case ast.Subscript(value=container):
            return is_full_value(container, names_to_define)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=arguments):
            if name not in _CONVERSIONS:
                return False
            if not arguments or is_full_value(owner, names_to_define):
                return True
            return is_full_value(arguments[0], names_to_define)
        case ast.Call(args=arguments) if get_called_name(side) in _CONVERSIONS:
            return bool(arguments) and is_full_value(arguments[0], names_to_define)
        case ast.Call():
            # Any other function, such as `len`, may return only a part or property of the result.
            name = get_called_name(side)
            return name in names_to_define if names_to_define else not hasattr(builtins, name)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(is_full_value(part, names_to_define) for part in parts)
    return False


def _read_tolerance(call: ast.Call, relative: float, absolute: float) -> tuple[float, float]:
    """Return the tolerance (relative, absolute) in a call such as `isclose`, or the default."""
    tolerance = [relative, absolute]
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if get_called_name(call) == "isclose" and not keywords.keys().isdisjoint(
        ("rel_tol", "abs_tol"),
    ):
        tolerance = [*_MATH_ISCLOSE]
    first = 2  # position of the relative tolerance, after the two values that are compared
    if get_called_name(call) == "approx":
        first = 1  # approx takes the expected value only
    arguments = dict(enumerate(call.args[first : first + 2]))
    for name, value in keywords.items():
        if name in _TOLERANCE_KEYWORDS:
            arguments[_TOLERANCE_KEYWORDS[name]] = value
    for index, argument in arguments.items():
        tolerance[index] = _read_number(argument, tolerance[index])
    return tolerance[0], tolerance[1]


def _read_number(expression: ast.expr, default: float) -> float:
    """Return the value of a constant expression such as 1e-8, 10**-8 or 1/100; or the default."""
    try:
        return _evaluate(expression)
    except (ValueError, ArithmeticError):
        return default


_OPERATIONS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,  # a power of floats cannot grow without limit
}


def _evaluate(expression: ast.expr) -> float:
    match expression:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=part):
            return -_evaluate(part)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_evaluate(left), _evaluate(right))
    raise ValueError("no number")
