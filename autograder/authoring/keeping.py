"""A test cell, or a part of it, kept as it stands: a function of the answer that it asks (`autograder.judging.tested`)."""

import ast
import builtins
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from autograder.authoring.foreign import HIDDEN, Cell
from autograder.authoring.names import called, free_names, made_by, parsed

_KNOWN = set(dir(builtins))
_SHOWING = {"print", "display", "plt", "pylab", "fig", "ax"}


@dataclass(frozen=True)
class Kept:
    """A part of a test cell that asks one exercise.

    Parameters
    ----------
    name : str
        Of the function that it becomes.
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

    name: str
    subject: str
    variables: list[str]
    hidden: bool
    source: str
    values: list[str]
    others: list[str]


class Definitions:
    """What a notebook's cells define for the tests that students see: imports, helpers and classes, by name.

    Parameters
    ----------
    own : set of str
        The functions that students write.
    """

    def __init__(self, cells: Iterable[Cell], own: Set[str]):
        self._own = own
        self._found: dict[str, str] = {}
        for cell in cells:
            for node in ast.walk(cell.tree) if cell.tree else ():
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    for alias in node.names:
                        one = ast.copy_location(type(node)(**{**vars(node), "names": [alias]}), node)
                        self._found[(alias.asname or alias.name).partition(".")[0]] = ast.unparse(one)
            seen = parsed(HIDDEN.sub("", cell.plain)) if cell.role != "solution" else None
            for statement in seen.body if seen else ():
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
        self, cell: Cell, asserted: Set[int], hidden: bool, subject: str, made: Sequence[str]
    ) -> Kept | None:
        """The statements of a test cell in which something is asserted of one exercise, with what they need.

        Parameters
        ----------
        asserted : set of int
            The lines of these assertions.
        subject : str
            The function that is asked; "" where variables are.
        made : sequence of str
            The variables that are asked, where no function is.
        """
        mine = [
            s for s in cell.tree.body if (s.lineno in cell.hidden) == hidden and asserted & set(_lines(s))
        ]
        if not mine:
            return None
        before = [s for s in cell.tree.body if hidden or s.lineno not in cell.hidden]
        helpers = {s.name for s in mine if isinstance(s, ast.FunctionDef)}
        body = [s for s in before if s in mine or (isinstance(s, ast.Expr) and called(s.value) in helpers)]
        wanted = set().union(*map(free_names, body))
        for statement in reversed(before):
            makes = made_by(statement) & wanted
            needed = makes or (statement.lineno < mine[-1].lineno and _changes(statement, wanted))
            if statement not in body and needed and not isinstance(statement, ast.Assert):
                body.append(statement)
                wanted |= free_names(statement)
        body = [_asserting(s) for s in cell.tree.body if s in body]
        free = free_names(ast.Module(body, [])) - _KNOWN
        variables = [name for name in made if name in free]
        if not subject and not variables:
            return None
        # What is bound somewhere in the body, and used before that, is the notebook's.
        sources, left = self.of(free - self._own - {subject, *made})
        others = sorted(free.union(*(free_names(ast.parse(s)) for s in sources)) & self._own - {subject})
        lines = [f'{name} = found["{name}"]' for name in variables]
        lines = [*(["found = answer()"] if lines else []), *lines, *sources, *map(ast.unparse, body)]
        text = "\n".join("    " + row for line in lines for row in line.split("\n"))
        name = f"{subject or 'answer'}_in_{cell.number}{'_hidden' if hidden else ''}"
        source = f"def {name}({', '.join([subject or 'answer', *sorted(left), *others])}):\n{text}\n"
        return Kept(name, subject, variables, hidden, source, sorted(left), others)


def _lines(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


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
