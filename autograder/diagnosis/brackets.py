"""Make the expressions that a student may have meant where a pair of brackets is missing.

`a + b / c` may be meant as `(a + b) / c`, `n ** 1 / 2` as `n ** (1 / 2)`, `-x ** 2` as `(-x) ** 2`,
and `a + b if c else 0` as `a + (b if c else 0)`.
"""

import ast
from collections.abc import Iterator, Sequence

MAX_OPERANDS = 12  # of a chain such as `a + b * c`; longer ones get no brackets

_POWER = 14
_PRECEDENCE: dict[type, int] = {
    ast.BitOr: 6, ast.BitXor: 7, ast.BitAnd: 8, ast.LShift: 9, ast.RShift: 9,
    ast.Add: 10, ast.Sub: 10,
    ast.Mult: 11, ast.Div: 11, ast.FloorDiv: 11, ast.Mod: 11, ast.MatMult: 11, ast.Pow: _POWER,
}  # fmt: skip

# Operands and operators of an expression in the order in which they are written.
_Chain = tuple[list[ast.expr], list[ast.operator]]


def add_brackets(node: ast.expr) -> Iterator[ast.expr]:
    """Yield an expression with one more pair of brackets, at each place where it matters."""
    if isinstance(node, ast.BinOp):
        yield from _bracket_parts(_flatten(node))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        power = node.operand
        if isinstance(power, ast.BinOp) and isinstance(power.op, ast.Pow):
            yield ast.BinOp(ast.UnaryOp(node.op, power.left), power.op, power.right)
    elif isinstance(node, ast.IfExp):
        yield from _bracket_condition(node)


def list_inner_links(tree: ast.AST) -> set[int]:
    """Return the ids of the operations that are a part of a longer chain, such as `b * c` in
    `a + b * c`: the brackets of the whole chain include theirs.
    """
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            for child, is_part in _find_sides_without_brackets(node):
                if is_part:
                    inner.add(id(child))
    return inner


def _find_sides_without_brackets(node: ast.BinOp) -> list[tuple[ast.expr, bool]]:
    """Return the two sides of an operation, each with True if it is written without brackets."""
    precedence = _PRECEDENCE[type(node.op)]
    is_power = precedence == _POWER
    sides = []
    for side, is_right in ((node.left, False), (node.right, True)):
        is_part = False
        if isinstance(side, ast.BinOp):
            inner = _PRECEDENCE[type(side.op)]
            is_part = inner > precedence or (inner == precedence and is_right == is_power)
        sides.append((side, is_part))
    return sides


def _flatten(node: ast.BinOp) -> _Chain:
    operands: list[ast.expr] = []
    operators: list[ast.operator] = []
    for side, is_part in _find_sides_without_brackets(node):
        if operands:
            operators.append(node.op)
        if is_part and isinstance(side, ast.BinOp):
            inner_operands, inner_operators = _flatten(side)
            operands += inner_operands
            operators += inner_operators
        else:
            operands.append(side)
    return operands, operators


def _bracket_parts(chain: _Chain) -> Iterator[ast.expr]:
    operands, operators = chain
    count = len(operands)
    if not 2 < count <= MAX_OPERANDS:
        return
    whole = ast.unparse(_join(operands, operators))
    for length in range(2, count):
        for start in range(count - length + 1):
            end = start + length
            if _is_same_without_brackets(operators, start, end):
                continue
            part = _join(operands[start:end], operators[start : end - 1])
            new = _join(
                [*operands[:start], part, *operands[end:]],
                [*operators[:start], *operators[end - 1 :]],
            )
            if ast.unparse(new) != whole:
                yield new


def _is_same_without_brackets(operators: Sequence[ast.operator], start: int, end: int) -> bool:
    """Return True for `a * (b * c)` and `a + (b - c)`, which brackets do not change."""
    if not start:
        return False
    before = type(operators[start - 1])
    if before not in (ast.Add, ast.Mult, ast.MatMult):
        return False
    precedence = _PRECEDENCE[before]
    if any(_PRECEDENCE[type(operator)] > precedence for operator in operators[end - 1 : end]):
        return False
    return all(type(operator) in _REGROUPED[before] for operator in operators[start : end - 1])


_REGROUPED: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Add, ast.Sub),
    ast.Mult: (ast.Mult, ast.Div),
    ast.MatMult: (ast.MatMult,),
}


def _join(operands: Sequence[ast.expr], operators: Sequence[ast.operator]) -> ast.expr:
    """Return the expression of operands and operators in this order, by Python's precedence."""
    if not operators:
        return operands[0]
    precedences = [_PRECEDENCE[type(operator)] for operator in operators]
    lowest = min(precedences)
    # The operation that is done last: the first power, or the last of other equal operators.
    place = precedences.index(lowest)
    if lowest != _POWER:
        place = len(precedences) - 1 - precedences[::-1].index(lowest)
    left = _join(operands[: place + 1], operators[:place])
    right = _join(operands[place + 1 :], operators[place + 1 :])
    return ast.BinOp(left, operators[place], right)


def _bracket_condition(node: ast.IfExp) -> Iterator[ast.expr]:
    """Yield `a + (b if c else 0)` for `a + b if c else 0`, and `(a if c else b) + d` likewise."""
    if isinstance(node.body, ast.BinOp):
        operands, operators = _flatten(node.body)
        for place in range(len(operators)):
            choice = _join(operands[place + 1 :], operators[place + 1 :])
            last = ast.IfExp(node.test, choice, node.orelse)
            yield _join([*operands[: place + 1], last], operators[: place + 1])
    if isinstance(node.orelse, ast.BinOp):
        operands, operators = _flatten(node.orelse)
        for place in range(len(operators)):
            choice = _join(operands[: place + 1], operators[:place])
            first = ast.IfExp(node.test, node.body, choice)
            yield _join([first, *operands[place + 1 :]], operators[place:])
