"""Where one change of a wrong answer's own code would make it right: the line, the place in it, and what kind of change.

Every small change of the code (another number, name, operator or function, something left out, something done once
more) is built into one copy of it, which a number tells which of them to make. So all are compiled at once, and each
costs a call with a small case. What is said has been tried in all cases: with that change every one comes out right.
What the change is, is left to the student.
"""

import ast
import linecache
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from autograder.changes import SAME, TICK, Change, Changing
from autograder.errors import cut
from autograder.judging.answer import NOWHERE, Overheard, ask
from autograder.judging.compare import first_difference
from autograder.judging.kinds import copied_inputs
from autograder.judging.question import Question, Rules, Value
from autograder.probing import may_be_asked, size_of
from autograder.stopwatch import Stopwatch

MOST_FIRST = 3  # of those after which more is right, so many are tried with a second one
MOST = 2_000  # changes in one copy of the code
# Seconds of CPU time for the changes of one copy; those of a small function take a fifth of it.
LONGEST = 0.15
_AT = " at"  # which changes are to be made; a name that no student can write
_TURNS = 20_000  # of all loops of a call, before a change is given up


def what_mends(
    function: Any,
    failing: Sequence[Question],
    fine: Sequence[Question],
    rules: Rules,
) -> str:
    """A sentence on the one place of the code that is wrong, or on two; "" if it takes more to mend it.

    Parameters
    ----------
    function : callable
    failing, fine : sequences of Question
        The cases in which its answers are wrong, and those in which they are right.
    rules : Rules
    """
    failing = _in_order([q for q in failing if may_be_asked(q)])
    if not failing or rules.call != "function" or rules.returns != "array":
        return ""
    with np.errstate(all="ignore"), warnings.catch_warnings(), Overheard(NOWHERE):
        warnings.simplefilter("ignore")
        likely = _Cell.of(function, (0, 1, 2))
        if likely is None:
            return ""
        search = _Search(likely, failing, fine, rules)
        if said := search.one_place(likely):
            return said
        more = _Cell.of(function, (3, 4))
        return (more and search.one_place(more)) or search.two_places(likely) or search.most_of_it(likely)


class _Search:
    """Which changes make all cases right."""

    def __init__(
        self, cell: "_Cell", failing: Sequence[Question], fine: Sequence[Question], rules: Rules
    ) -> None:
        self._failing, self._rules = failing, rules
        self._fine = sorted((q for q in fine if may_be_asked(q)), key=size_of)
        self._better: list[tuple[float, int]] = []  # changes after which more of the first case is right
        cell.make()
        # Of the smallest cases that fail, the one in which loops turn the least is tried first.
        self._first = min(self._failing[:4], key=cell.turns_of)
        self._watch = Stopwatch()

    def _has_time(self) -> bool:
        return self._watch.spent() < LONGEST

    def one_place(self, cell: "_Cell") -> str:
        """What is said of the first change that is enough; "" if there is none."""
        self._watch = Stopwatch()
        cell.make()
        before = self._share(cell, self._first)
        for number in cell.in_order():
            if not self._has_time():
                break
            cell.make(number)
            share = self._share(cell, self._first)
            if share == 1 and self._all_right(cell):
                return f"One place is wrong. {cell.where(number)} every case comes out right."
            if share > before and cell.changes[number].rank < 3:
                self._better.append((share, number))
        return ""

    def two_places(self, cell: "_Cell") -> str:
        """The same for two changes: the first puts some of the result right, or both leave something out."""
        self._watch = Stopwatch()
        likely = [number for number in cell.in_order() if cell.changes[number].pairs]
        self._better.sort(key=lambda pair: -pair[0])
        pairs = [(one, other) for _, one in self._better[:MOST_FIRST] for other in likely if one in likely]
        pairs += combinations((number for number in likely if cell.changes[number].rank == 0), 2)
        tried, still = -1, None
        for one, other in pairs:
            if not self._has_time():
                break
            if one != tried:
                cell.make(one)
                tried, still = one, next((q for q in self._failing if not self._right(cell, q)), None)
            cell.make(one, other)
            if still and self._share(cell, still) == 1 and self._all_right(cell):
                first = cell.where(one).rstrip(",")
                return f"Two places are wrong. {first}. {cell.where(other)} every case comes out right."
        return ""

    def most_of_it(self, cell: "_Cell") -> str:
        """What is said of a change that puts at least half of the failing cases right, and no other wrong."""
        for share, number in self._better[: 3 * MOST_FIRST]:
            cell.make(number)
            if (
                share < 1
                or not cell.changes[number].pairs
                or not all(self._right(cell, q) for q in self._fine)
            ):
                continue
            right = sum(self._right(cell, q) for q in self._failing)
            if 2 * right >= len(self._failing):
                count = f"{right} of the {len(self._failing)} cases that fail come out right"
                return f"One place is wrong, and it is not all. {cell.where(number)} {count}."
        return ""

    def _all_right(self, cell: "_Cell") -> bool:
        return all(self._right(cell, q) for q in (*self._failing, *self._fine))

    def _right(self, cell: "_Cell", q: Question) -> bool:
        came = cell.limited(partial(ask, cell.function, q.inputs))
        return came is not None and first_difference(q.expected, came, self._rules, q.inputs) is None

    def _share(self, cell: "_Cell", q: Question) -> float:
        """Which share of a result is right, roughly; 1 where it is worth a closer look."""
        asked = copied_inputs(q.inputs)
        got = cell.limited(lambda: cell.function(*asked.args, **asked.kwargs))
        if got is not None and (self._rules.view or self._rules.compare):
            return 1.0
        return 0.0 if got is None else _share(got, q.expected)


def _in_order(failing: Sequence[Question]) -> list[Question]:
    """The cases to try changes with: first those that have some numbers to compare, the smallest before the others."""
    some = [q for q in failing if q.expected is not None]
    return sorted(some, key=lambda q: (not q.mistakes, _amount(q.expected) < 6, size_of(q)))


def _amount(value: Value) -> int:
    return sum(map(_amount, value)) if isinstance(value, (tuple, list)) else int(np.size(value))


def _share(got: Any, due: Value) -> float:
    """Which share of what is due came, roughly compared."""
    if isinstance(due, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(due):
            return 0.0
        return sum(map(_share, got, due)) / len(due)
    try:
        if not isinstance(due, np.ndarray):
            number = isinstance(due, (int, float))
            return float(abs(got - due) <= 1e-4 * abs(due) + 1e-6 if number else got == due)
        if not isinstance(got, np.ndarray) or got.shape != due.shape:
            return 0.0
        same = (got == due) | (np.abs(got.astype(float) - due) <= 1e-4 * np.abs(due) + 1e-6)
        return float(same.mean()) if same.size else 1.0
    except (TypeError, ValueError):
        return 0.0


def _same(value: Any, *_args: Any, **_kwargs: Any) -> Any:
    return value


class _GivenUp(Exception):
    """A change made a loop turn too often."""


class _Cell:
    """The functions of one cell of the notebook, with every change of them built in."""

    def __init__(self, function: Any, ranks: Sequence[int]) -> None:
        code, space = function.__code__, function.__globals__
        source = "".join(linecache.getlines(code.co_filename, space))
        tree = ast.parse(source)
        functions = [f for f in tree.body if isinstance(f, ast.FunctionDef)]
        if [f.name for f in functions].count(code.co_name) != 1 or function.__closure__:
            raise ValueError("it is made by another function, or twice")
        if "lstsq" in source:  # given NaN, LAPACK's prints past `sys.stdout`
            raise ValueError("it would print")
        self.changes: list[Change] = []
        self._lines = source.splitlines()
        self._groups: dict[tuple[str, str], list[tuple[int, set[int]]]] = {}
        self._switches: list[tuple[ast.Constant, set[int]]] = []
        self._turns = 0
        words = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is str}
        body: list[ast.stmt] = [
            Changing(f, self._add, self._has_room, words, ranks).changed() for f in functions
        ]
        self._make_groups()
        for test, numbers in self._switches:
            test.value = frozenset(numbers)  # type: ignore[assignment]
        self._space: dict[str, Any] = {**space, _AT: frozenset(), TICK: self._tick, SAME: _same}
        exec(compile(ast.fix_missing_locations(ast.Module(body, [])), code.co_filename, "exec"), self._space)
        self.function = self._space[code.co_name]

    @classmethod
    def of(cls, function: Any, ranks: Sequence[int]) -> "_Cell | None":
        """The cell in which a function was written, with changes of these ranks; None if its source cannot be had."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return cls(function, ranks)
            except Exception:  # noqa: BLE001 - a cell with IPython's own commands, or one that cannot be run again
                return None

    def _add(self, change: Change, before: str, after: str) -> ast.expr:
        """A test for whether this change is to be made."""
        numbers = {len(self.changes)}
        self._groups.setdefault((before, after), []).append((len(self.changes), numbers))
        self.changes.append(change)
        test = ast.Constant(None)
        self._switches.append((test, numbers))
        return ast.BinOp(test, ast.BitAnd(), ast.Name(_AT, ast.Load()))

    def _has_room(self) -> bool:
        return len(self.changes) < MOST

    def _make_groups(self) -> None:
        """The same change in all places, or in one line, as one; and two things in each other's place."""
        for places in self._groups.values():
            lines = {self.changes[number].line for number, _ in places}
            first = self.changes[places[0][0]]
            if len(places) > 1:
                where = (
                    ", there and wherever else it stands,"
                    if len(lines) > 1
                    else ", wherever it stands there,"
                )
                self._together(places, replace(first, words=first.words + where))
            for line in lines if len(lines) > 1 else ():
                some = [place for place in places if self.changes[place[0]].line == line]
                if len(some) > 1:
                    self._together(
                        some, replace(first, line=line, words=f"{first.words}, wherever it stands there,")
                    )
        for (one, other), places in self._groups.items():
            back = self._groups.get((other, one), [])
            if back and one < other and not one[-1].isdigit():
                line = min(self.changes[number].line for number, _ in (*places, *back))
                self._together(
                    [*places, *back], Change(f"with `{one}` and `{other}` exchanged everywhere", line, 3)
                )

    def _together(self, places: Sequence[tuple[int, set[int]]], change: Change) -> None:
        """Some changes as one."""
        for _, numbers in places:
            numbers.add(len(self.changes))
        self.changes.append(change)

    def in_order(self) -> list[int]:
        """The numbers of the changes, the likeliest kinds first, and of one kind those of larger parts."""
        return sorted(range(len(self.changes)), key=lambda i: (self.changes[i].rank, -i))

    def make(self, *numbers: int) -> None:
        """From now on the function is the one with these changes."""
        self._space[_AT] = frozenset(numbers)

    def where(self, number: int) -> str:
        """The line and the change: "In line 3 of its cell, `y = x ** 2`: with another number in place of `2`"."""
        change = self.changes[number]
        text = cut(self._lines[change.line - 1].strip(), 90)
        return f"In line {change.line} of its cell, `{text}`: {change.words}"

    def turns_of(self, q: Question) -> int:
        """How often the loops turn in a case."""
        self.limited(partial(ask, self.function, q.inputs))
        return self._turns

    def _tick(self) -> None:
        self._turns += 1
        if self._turns > _TURNS:
            raise _GivenUp

    def limited(self, call: Callable[[], Any]) -> Any:
        """What a call gives; None if it raises, or its loops turn too often."""
        self._turns = 0
        try:
            return call()
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a changed function raises
            return None
