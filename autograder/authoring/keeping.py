"""A test cell, or a part of it, kept as it stands: a function of the answer that it asks (`autograder.judging.tested`)."""

import ast
import builtins
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from autograder.authoring.foreign import bound, defined, free_names

_KNOWN = set(dir(builtins))
_SHOWING = {"print", "display", "plt", "pylab", "fig", "ax"}


@dataclass(frozen=True)
class Kept:
    """A part of a test cell that asks one exercise.

    Parameters
    ----------
    subject : str
        The function that it asks; "" where it asks variables.
    variables : list of str
        Those that it asks.
    hidden : bool
    source : str
        Of a function whose first argument is the answer, and whose others are `values` and `others` by name.
    values, others : list of str
        The variables that it needs besides, and the other functions that students write.
    """

    subject: str
    variables: list[str]
    hidden: bool
    source: str
    values: list[str]
    others: list[str]


class Definitions:
    """What a notebook's cells define for its tests: imports, helpers and classes, by name."""

    def __init__(self, trees: Iterable[ast.Module], own: Set[str]):
        self._found: dict[str, str] = {}
        for tree in trees:
            for node in ast.walk(tree):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    for alias in node.names:
                        one = ast.copy_location(type(node)(**{**vars(node), "names": [alias]}), node)
                        self._found[(alias.asname or alias.name).partition(".")[0]] = ast.unparse(one)
            for statement in tree.body:
                if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) and statement.name not in own:
                    self._found.setdefault(statement.name, ast.unparse(statement))

    def of(self, names: Set[str]) -> tuple[list[str], set[str]]:
        """The sources of these and of what they use in turn, and the names among them that nothing here defines."""
        sources: list[str] = []
        todo, seen, left = sorted(names), set(names), set()
        while todo:
            name = todo.pop()
            if name not in self._found:
                left.add(name)
                continue
            source = self._found[name]
            sources.insert(0 if source.startswith(("import ", "from ")) else len(sources), source)
            more = free_names(ast.parse(source)) - _KNOWN - seen
            seen |= more
            todo += sorted(more)
        return sources, left


def kept(
    name: str,
    tree: ast.Module,
    asserted: Set[int],
    secret: Set[int],
    hidden: bool,
    subject: str,
    made: Sequence[str],
    functions: Set[str],
    known: Definitions,
) -> Kept | None:
    """The statements of a test cell in which something is asserted of one exercise, with what they need.

    Parameters
    ----------
    asserted, secret : set of int
        The lines of these assertions, and those of hidden tests.
    made : sequence of str
        The variables that are asked, where no function is.
    """
    mine = [s for s in tree.body if (s.lineno in secret) == hidden and asserted & set(_lines(s))]
    if not mine:
        return None
    before = [s for s in tree.body if hidden or s.lineno not in secret]
    body = [
        s for s in before if s in mine or _calls(s, {f.name for f in mine if isinstance(f, ast.FunctionDef)})
    ]
    wanted = set().union(*(free_names(s) for s in body))
    for statement in reversed(before):
        functions_of, variables = defined(ast.Module([statement], []))
        makes = {*functions_of, *variables, *bound(statement)}
        needed = makes & wanted or (statement.lineno < mine[-1].lineno and _changes(statement, wanted))
        if statement not in body and needed and not isinstance(statement, ast.Assert):
            body.append(statement)
            wanted |= free_names(statement)
    body = [_asserting(s) for s in tree.body if s in body]
    free = free_names(ast.Module(body, [])) - _KNOWN
    # What is bound somewhere in the body, and used before that, is the notebook's.
    sources, left = known.of(free - functions - {subject, *made})
    others = sorted((free | {n for s in sources for n in free_names(ast.parse(s))}) & functions - {subject})
    asked = [*(f'{n} = found["{n}"]' for n in made if n in free)]
    if not subject and not asked:
        return None
    arguments = ", ".join([subject or "answer", *sorted(left), *others])
    lines = [*(["found = answer()"] if asked else []), *asked, *sources, *(ast.unparse(s) for s in body)]
    text = "\n".join("    " + row for line in lines for row in line.split("\n"))
    return Kept(
        subject,
        [n for n in made if n in free],
        hidden,
        f"def {name}({arguments}):\n{text}\n",
        sorted(left),
        others,
    )


def _lines(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _calls(statement: ast.stmt, names: Set[str]) -> bool:
    """Whether a statement is the call of one of these functions."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in names


def _changes(statement: ast.stmt, names: Set[str]) -> bool:
    """Whether a statement is a call that may change what one of these names stands for: `np.fill_diagonal(h, 0)`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    used = [node.id for node in ast.walk(call) if isinstance(node, ast.Name)]
    return not _SHOWING & {*used} and bool({*used[1:]} & names)


def _asserting(statement: ast.stmt) -> ast.stmt:
    """An expression whose truth is looked at, as in otter's tests, as an assertion."""
    if isinstance(statement, ast.Expr) and isinstance(
        statement.value, (ast.Compare, ast.BoolOp, ast.UnaryOp)
    ):
        return ast.copy_location(ast.Assert(statement.value), statement)
    return statement
