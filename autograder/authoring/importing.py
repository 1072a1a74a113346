"""`autograder import`: another grader's source notebook becomes a lab of the course.

The functions that its tests ask become exercises, whose reference is the notebook's own solution and whose cases are
the calls that the tests make, recorded by running them (`recording`). Variables that tests read are asked as they
stand (`autograder.answers`). The report says of every cell what came over, what did not, and what hangs on it.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from keyword import iskeyword
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring import otter
from autograder.authoring.asserting import EXACT, Asked, runnable, statements
from autograder.authoring.foreign import (
    HIDDEN,
    Cell,
    NoSource,
    bound,
    cells_of,
    cut_up,
    defined,
    free_names,
    hidden_lines,
    parsed,
    parsed_source,
    read_source,
    without_magics,
)
from autograder.authoring.keeping import Definitions, Kept
from autograder.authoring.keeping import kept as kept_test
from autograder.authoring.needs import given_out, is_file_beside, needs_of
from autograder.authoring.recording import Call, Recorded, record
from autograder.authoring.skeleton import SkeletonError, add_lab, add_to_list
from autograder.authoring.writing import Case, domain_of, error_named, exercise_file, unwritable
from autograder.cells import grade_id, id_of_test
from autograder.course import Course
from autograder.errors import Complaint, counted, cut, listed
from autograder.files import write
from autograder.judging.question import Tolerance, Value

REPORT = "imported.md"
CHECKS = "course_checks"  # the package of the course's library that holds imported checks
MOST_CASES = 60


class ImportFailed(Complaint):
    """A notebook cannot be imported at all; the text says why."""


@dataclass
class Line:
    """What the report says of a cell."""

    cell: Cell
    came: str = ""
    along: list[str] = field(default_factory=list)  # what came with it
    left: list[str] = field(default_factory=list)
    lost: float = 0.0


@dataclass
class Plan:
    """An exercise to be written: a function, or a group of variables.

    `reads` are the variables that are looked at; empty for a function. `tests` are the numbers of its test cells.
    """

    name: str
    home: Cell
    reads: list[str] = field(default_factory=list)
    points: float = 0.0
    tests: list[int] = field(default_factory=list)
    # With whether it is hidden, and its label.
    calls: list[tuple[Call, bool, str]] = field(default_factory=list)
    hidden: bool = False  # whether hidden tests alone tell what some variable must hold
    tolerances: list[Tolerance] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)  # those of `reads` of which one value is right
    kept: list[Case] = field(default_factory=list)  # tests as they stand
    beside: set[str] = field(default_factory=set)  # the other functions that these call
    typed: bool = False  # whether a test asks for a type, too

    def compare(self, names: Sequence[str]) -> None:
        """Compare these variables by their values."""
        for known in (self.reads, self.compared):
            known += [name for name in names if name not in known]

    @property
    def tolerance(self) -> Tolerance:
        """The loosest that a test used, so that nobody is refused whom they accept."""
        pairs = [t if isinstance(t, tuple) else (t, 0.0) for t in self.tolerances if t != EXACT]
        return (max(p[0] for p in pairs), max(p[1] for p in pairs)) if pairs else EXACT


@dataclass(frozen=True)
class Report:
    """What `autograder import` says.

    Parameters
    ----------
    lab : str
    lines : list of Line
    """

    lab: str
    lines: list[Line]

    @property
    def points(self) -> float:
        """Of the source notebook."""
        return sum(line.cell.points for line in self.lines)

    @property
    def lost(self) -> float:
        """Points that hang on what did not come over."""
        return sum(line.lost for line in self.lines)

    @property
    def whole(self) -> bool:
        """Whether everything came over."""
        return not any(line.left for line in self.lines)

    def text(self) -> str:
        """The report, cell by cell, for a file and for the terminal."""
        rows = [f"# What became of {self.lab}", ""]
        for line in self.lines:
            name = f" `{line.cell.name}`" if line.cell.name else ""
            worth = f" ({counted(line.cell.points, 'point')})" if line.cell.points else ""
            rows.append(f"- cell {line.cell.number}{name}{worth}: {line.came or 'left out'}")
            rows += [f"    - {sentence}" for sentence in line.along]
            rows += [f"    - not: {sentence}" for sentence in line.left]
            if line.lost:
                rows.append(f"    - {counted(line.lost, 'point')} hang on this")
        said = f"{counted(self.points - self.lost, 'point')} of {self.points:g} came over"
        rest = sum(len(line.left) for line in self.lines)
        rows += ["", f"{said}; {counted(rest, 'thing')} did not, or not wholly." if rest else f"{said}."]
        return "\n".join(rows) + "\n"


def bring(path: Path, course: Course) -> Report:
    """Make a lab of a source notebook, below `solutions/`, with its line in course.toml.

    Raises
    ------
    NoSource
        If the file is no source notebook of nbgrader or otter in Python.
    ImportFailed, RecordingError, SkeletonError
    """
    notebook = read_source(path)
    values = otter.is_source(notebook)
    cells = cells_of(otter.as_nbgrader(notebook) if values else notebook)
    if not any(cell.points for cell in cells):
        raise NoSource(f"{path} has no cell with points: it is no source notebook of nbgrader or otter.")
    lab = _lab_name(path, course)
    work = _Import(lab, cells, values, set(_taken(course)))
    recorded = record(work.order(), path.parent)
    work.plan(recorded, path.parent, course)
    if not work.exercises and all(cell.number in recorded.errors for cell in cells if cell.role == "test"):
        first = next((recorded.errors[c.number] for c in cells if c.role == "test"), "")
        if first:
            raise ImportFailed(
                f"{path} passes none of its own tests ({cut(first.removesuffix(': '), 100)}): is it what students "
                "get, without the solutions? Import the source notebook."
            )
    files = work.files(path.name)
    if checks := work.checks():
        if CHECKS not in course.library:
            write(course.root / CHECKS / "__init__.py", '"""Checks that came with imported labs."""\n')
            add_to_list(course, "library", CHECKS)
        write(course.root / CHECKS / f"{lab.replace('-', '_')}.py", checks)
    work.needs.write(course, lab)
    add_lab(course, lab, files)
    report = Report(lab, list(work.lines.values()))
    write(course.solutions / lab / REPORT, report.text())
    return report


def _lab_name(path: Path, course: Course) -> str:
    """A name for the lab, made of the file's."""
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "lab"
    name = name if name[0].isalpha() else f"lab-{name}"
    if name in course.labs or (course.solutions / name).exists():
        raise SkeletonError(
            f"There is a lab {name!r} already: take it out of course.toml and of solutions/, or give {path} another name."
        )
    return name


def _taken(course: Course) -> Iterator[str]:
    """The names of the exercises that the course has."""
    for lab in course.labs:
        yield from (p.stem for p in (course.solutions / lab).glob("*.py") if not p.stem.startswith("_"))


class _Import:
    """One notebook on its way: what each cell defines and uses, the exercises, and what the report says."""

    def __init__(self, lab: str, cells: list[Cell], values: bool, taken: set[str]):
        self.lab, self.cells, self.values, self.taken = lab, cells, values, taken
        self.lines = {cell.number: Line(cell) for cell in cells}
        self.trees = {cell.number: parsed(cell) for cell in cells if cell.code}
        self.functions: dict[str, Cell] = {}  # by name, where it is defined last
        self.made: dict[str, list[Cell]] = {}  # variables of solution cells, where they are assigned
        home: Cell | None = None
        for cell in self._with("solution", "given"):
            functions, variables = defined(self.trees[cell.number])
            if cell.role == "solution":
                home = cell
                self.functions |= dict.fromkeys(functions, cell)
            elif not self._uses(cell) & {*self.functions, *self.made}:
                continue  # it stands whatever students write
            for name in variables:
                if home:
                    self.made.setdefault(name, []).append(home)
        self.asked: dict[int, list[Asked]] = {}
        for cell in self._with("test"):
            try:
                self.asked[cell.number] = statements(cell.plain, self.values, {*self.functions, *self.made})
            except SyntaxError as error:
                self.asked[cell.number] = []
                self.lines[cell.number].left.append(f"it is no Python ({error.msg}, line {error.lineno})")
        self.others: dict[int, list[Asked]] = {}  # what test cells ask besides values
        self.unasked: dict[int, dict[str, str]] = {}  # whose value cannot be asked, and why
        self.since: dict[
            int, list[Cell]
        ] = {}  # the solution cells before a test cell, and after the last one
        since: list[Cell] = []
        tested = False
        for cell in cells:
            if cell.role == "solution":
                since = [cell] if tested else [*since, cell]
                tested = False
            elif cell.role == "test":
                tested, self.since[cell.number] = True, since
        known = self._definitions()
        self.kept = {cell.number: list(self._kept(cell, known)) for cell in self._with("test")}
        self.exercises: dict[str, Plan] = {}
        self.pieces: dict[int, list[tuple[str, str]]] = {}  # of a solution cell: grade_id and source

    def _definitions(self) -> Definitions:
        """What the tests that students see may use of the notebook's imports, helpers and classes."""
        trees: list[ast.Module] = []
        for cell in self._with("given", "solution", "test"):
            whole = self.trees[cell.number]
            found = ast.walk(whole) if whole else ()
            trees.append(ast.Module([n for n in found if isinstance(n, (ast.Import, ast.ImportFrom))], []))
            seen = parsed_source(HIDDEN.sub("", cell.plain)) if cell.role == "test" else whole
            trees += [seen] if seen and cell.role != "solution" else []
        return Definitions(trees, {*self.functions})

    def _kept(self, cell: Cell, known: Definitions) -> Iterator[Kept]:
        """The tests that a test cell may be kept as."""
        tree = self.trees[cell.number]
        if tree is None:
            return
        secret = hidden_lines(cell.source)
        for hidden in (False, True):
            wanted: dict[str, set[int]] = {}
            variables: dict[str, None] = {}
            for asked in self.asked[cell.number]:
                if asked.nature == "nothing" or bool(secret & set(asked.lines)) != hidden:
                    continue
                made = [
                    n for n in asked.parts if n in self.made and self._made_in(n, self.since[cell.number])
                ]
                variables |= dict.fromkeys(made)
                for name in [*(asked.names & set(self.functions)), *([""] if made else [])]:
                    wanted.setdefault(name, set()).update(asked.lines)
            for name, lines in wanted.items():
                title = f"{name or 'answer'}_in_{cell.number}{'_hidden' if hidden else ''}"
                asks = (name, [] if name else list(variables))
                if one := kept_test(title, tree, lines, secret, hidden, *asks, set(self.functions), known):
                    yield one

    def _uses(self, cell: Cell) -> set[str]:
        """The names that a cell uses."""
        tree = self.trees[cell.number]
        return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree else set()

    def _with(self, *roles: str) -> list[Cell]:
        return [cell for cell in self.cells if cell.role in roles and cell.code]

    def order(self) -> list[dict]:
        """What the recording is told to run."""
        order = []
        for cell in self._with("given", "solution", "test", "by hand"):
            if self.trees[cell.number] is None and cell.role != "test":
                continue
            test = cell.role == "test"
            reads = {n for a in self.asked.get(cell.number, ()) for n in a.parts} - set(dir(builtins))
            trials = self.kept.get(cell.number, [])
            reads |= {name for one in trials for name in one.values}
            order.append(
                {
                    "number": cell.number,
                    "source": runnable(cell.plain) if test else cell.plain,
                    "functions": [name for name, home in self.functions.items() if home == cell],
                    "test": test,
                    "reads": sorted(reads) if test else [],
                    "kept": [asdict(one) for one in trials],
                }
            )
        return order

    # What becomes of the tests

    def plan(self, recorded: Recorded, folder: Path, course: Course) -> None:
        """Make exercises of what the test cells ask, and say of every cell what came of it."""
        self.recorded, self.folder = recorded, folder
        for cell in self.cells:
            if cell.role == "test" and cell.number not in recorded.errors:
                self._plan_test(cell, self.since[cell.number])
            if why := recorded.errors.get(cell.number):
                line, said = self.lines[cell.number], cut(why.removesuffix(": "), 160)
                line.left.append(
                    f"the notebook's own solution does not pass it: {said}"
                    if cell.role == "test"
                    else f"it raises {said}"
                )
                line.lost = cell.points
        for cell in self._with("test"):
            self._say_properties(cell)
        for name, plan in list(self.exercises.items()):
            self._settle(name, plan)
        self.needs = needs_of(self._code(), folder, course)
        self._say_needs()
        self._say_rest()

    def _plan_test(self, cell: Cell, since: list[Cell]) -> None:
        hidden = hidden_lines(cell.source)
        wanted: dict[str, list[tuple[Call, bool, str]]] = {}
        reads: dict[str, bool] = {}
        tolerances: dict[str, list[Tolerance]] = {}
        other: list[Asked] = []
        calls = [call for call in self.recorded.calls if call.cell == cell.number]
        lost: dict[str, str] = {}
        for asked in self.asked[cell.number]:
            secret = bool(hidden & set(asked.lines))
            of_it = [c for c in calls if asked.calls(c.function, c.line) and c.function in self.functions]
            if asked.nature == "value" and (means := asked.means(set(self.functions))):
                near = {name for name, home in self.functions.items() if home in since}
                if near & means and not near & ({c.function for c in of_it} - means):
                    other.append(replace(asked, nature="property"))  # another's result is compared
                    continue
                of_it = [c for c in of_it if c.function not in means]
            variables = [
                name
                for name in asked.parts
                if name in self.made and (cell.number, name) in self.recorded.held
            ]
            if asked.nature == "nothing":
                continue
            if asked.nature == "error":
                raising = [c for c in of_it if error_named(c.error) and not c.lost]
                for call in raising:
                    wanted.setdefault(call.function, []).append((call, secret, asked.source))
                    tolerances.setdefault(call.function, [])
                if not raising:
                    other.append(asked)
                continue
            truths = [c for c in of_it if type(c.result) is bool]
            if asked.nature == "property" and not (truths and truths == of_it and asked.is_a_call):
                other.append(asked)
                continue
            for call in of_it:
                if why := call.lost or self._unfit(call):
                    lost.setdefault(call.function, why)
                elif not call.error:
                    wanted.setdefault(call.function, []).append((call, secret, asked.source))
                    tolerances.setdefault(call.function, []).append(asked.tolerance)
            for name in variables if not of_it else ():
                _, why = self.recorded.held[cell.number, name]
                if why:
                    lost[name] = f"it is {why}"
                else:
                    reads[name] = reads.get(name, True) and secret
                    tolerances.setdefault(name, []).append(asked.tolerance)
            if not of_it and not variables:
                other.append(asked)
        self._count(cell, since, wanted, reads, tolerances)
        typed = [a for a in other if _TYPE.search(a.source)]
        typed += [a for a in self.asked[cell.number] if _TRUTH.search(a.source)]
        names = {name for asked in typed for name in asked.parts}
        for plan in self.exercises.values():
            plan.typed = plan.typed or (cell.number in plan.tests and bool(names & {plan.name, *plan.reads}))
        self.others[cell.number], self.unasked[cell.number] = other, lost

    def _say_properties(self, cell: Cell) -> None:
        """Of what a test cell asks besides values: a right value has it, or it is asked by a test, or it is said."""
        line = self.lines[cell.number]
        asked_for = {name: p for p in self.exercises.values() for name in p.compared or [p.name]}
        about: dict[str, Plan] = {}
        asked_by = False  # by the cell's own test
        left = []
        for asked in self.others.get(cell.number, ()):
            subjects = asked.names & {*self.functions, *self.made}
            plans = [asked_for[name] for name in sorted(subjects & set(asked_for))]
            if (
                asked.nature == "property"
                and subjects
                and len(plans) == len(subjects)
                and self._had(asked, cell)
            ):
                about |= {plan.name: plan for plan in plans}
            else:
                left.append(asked)
        lost = self.unasked.get(cell.number, {})
        for one, done in self._uncompared(cell, left, lost):
            left = [asked for asked in left if asked not in done]
            lost = {name: why for name, why in lost.items() if name not in {one.subject, *one.variables}}
            label = _label(done[0].source) if done else one.subject
            plan = self._kept_as(cell, one, label)
            if isinstance(plan, Plan):
                about[plan.name] = plan
                asked_by = True
            else:
                rest = f", and {counted(len(done) - 1, 'more assertion')}" if len(done) > 1 else ""
                line.left.append(f"`{label}`{rest}: {plan}")
        line.left += [f"`{cut(asked.source, 100)}` {_WHY[asked.nature]}" for asked in left]
        line.left += [f"`{name}` cannot be asked: {why}" for name, why in lost.items()]
        here = [plan for plan in self.exercises.values() if cell.number in plan.tests]
        if about and not here and (asked_by or not line.left):
            line.lost = 0.0
            self._share(cell, list(about.values()))

    def _had(self, asked: Asked, cell: Cell) -> bool:
        """Whether the very calls that a property is about are compared by their values."""
        calls = [c for c in self.recorded.calls if c.cell == cell.number and asked.calls(c.function, c.line)]
        for call in calls:
            plan = self.exercises.get(call.function)
            asks = Case("", call.args, call.kwargs).arguments
            if plan and not any(asks == Case("", c.args, c.kwargs).arguments for c, _, _ in plan.calls):
                return False
        return True

    def _unfit(self, call: Call) -> str:
        """Why a call's arguments cannot stand in a case, or ""."""
        if any(is_file_beside(given, self.folder) for given in (*call.args, *call.kwargs.values())):
            return "an argument is the name of a file: let it take what the file holds"
        return unwritable(call.args, call.kwargs)

    def _uncompared(
        self, cell: Cell, left: list[Asked], lost: Mapping[str, str]
    ) -> Iterator[tuple[Kept, list[Asked]]]:
        """The tests that ask what no comparison does, each with these assertions."""
        since, hidden = self.since[cell.number], hidden_lines(cell.source)
        subjects = {*lost, *(name for asked in left for name in asked.names)} & set(self.functions)
        subjects = {name for name in subjects if self.functions[name] in since} or subjects
        for one in self.kept[cell.number]:
            about = {one.subject, *one.variables}
            done = [a for a in left if about & a.names and bool(hidden & set(a.lines)) == one.hidden]
            if one.subject in subjects if one.subject else done:
                yield one, done

    def _kept_as(self, cell: Cell, one: Kept, label: str) -> Plan | str:
        """The exercise that a test is asked in as it stands; or why it cannot be."""
        tried = self.recorded.kept.get((cell.number, self.kept[cell.number].index(one)))
        if names := self._read_from_tests({one.subject, *one.others}, [cell.number]):
            return f"the solution reads {listed(f'`{n}`' for n in names)}, which a test sets"
        if tried is None:
            return "its cell takes too long to be run again"
        texts = (node.value for node in ast.walk(ast.parse(one.source)) if isinstance(node, ast.Constant))
        if one.hidden and any(is_file_beside(text, self.folder) for text in texts):
            return "it reads a file, and what comes along is students', too"
        large = [n for n, value in tried.values.items() if unwritable((), {n: value})]
        why = unwritable((), tried.values) if one.subject else ""
        if why := tried.why or why:
            return f"it cannot be asked by itself: {why}"
        if tried.weak:
            return (
                self._compared_whole(cell, one) or "quite other values of the same form pass it: assert more"
            )
        plan = self._of_function(one.subject) if one.subject else self._of_variables(one.variables, cell)
        plan.reads += [name for name in [*one.variables, *large] if name not in plan.reads]
        plan.beside |= {*one.others}
        values = {name: value for name, value in tried.values.items() if name not in large}
        values |= {"as_due": large} if large else {}
        case = Case("what is asked besides" if one.hidden else label, (), values, one.hidden)
        plan.kept.append(replace(case, test=one.source))
        return plan

    def _compared_whole(self, cell: Cell, one: Kept) -> Plan | None:
        """Compare by their values what a test asks nothing of but the form."""
        asked = [c for c in self.recorded.calls if c.cell == cell.number and c.function == one.subject]
        calls = [c for c in asked if not c.lost and not c.error and not self._unfit(c)]
        held = [name for name in one.variables if not self.recorded.held[cell.number, name][1]]
        if calls:
            plan = self._of_function(one.subject)
            plan.calls += [(call, one.hidden, f"what cell {cell.number} asks") for call in calls]
        elif held:
            plan = self._of_variables(held, cell)
            plan.compare(held)
            plan.hidden = plan.hidden or one.hidden
        return plan if calls or held else None

    def _count(
        self,
        cell: Cell,
        since: list[Cell],
        wanted: Mapping[str, list],
        reads: Mapping[str, bool],
        tolerances: Mapping[str, list[Tolerance]],
    ) -> None:
        """Give a test cell's cases and points to the exercises that it is about."""
        near = [name for name in wanted if self.functions[name] in since]
        chosen = near or ([] if any(self._made_in(name, since) for name in reads) else list(wanted))
        plans = [self._of_function(name) for name in chosen]
        for plan, name in zip(plans, chosen, strict=True):
            plan.calls += wanted[name]
            plan.tolerances += tolerances[name]
        names = [name for name in reads if self._made_in(name, since)] or ([] if plans else list(reads))
        if names:
            plan = self._of_variables(names, cell)
            plan.compare(names)
            plan.hidden = plan.hidden or any(reads[name] for name in names)
            plan.tolerances += [t for name in names for t in tolerances[name]]
            plans.append(plan)
        if plans:
            self._share(cell, plans)
        else:
            self.lines[cell.number].lost = cell.points

    def _share(self, cell: Cell, plans: Sequence[Plan]) -> None:
        """Give a test cell's points to the exercises that it is about."""
        share = round(cell.points / len(plans), 2)
        for number, plan in enumerate(plans):
            plan.points += share if number else round(cell.points - share * (len(plans) - 1), 10)
            plan.tests = sorted({*plan.tests, cell.number})

    def _made_in(self, name: str, since: list[Cell]) -> bool:
        return any(cell in since for cell in self.made[name])

    def _of_function(self, name: str) -> Plan:
        return self.exercises.setdefault(name, Plan(name, self.functions[name]))

    def _of_variables(self, names: list[str], test: Cell) -> Plan:
        """The exercise on variables of one solution cell."""
        since = self.since[test.number]
        homes = [cell for name in names for cell in self.made[name] if not since or cell in since]
        home = max(homes, key=lambda cell: cell.number) if homes else self.made[names[0]][-1]
        for plan in self.exercises.values():
            if plan.reads and plan.home == home:
                return plan
        plan = Plan(self._free(f"answer_{names[0]}"), home)
        return self.exercises.setdefault(plan.name, plan)

    def _free(self, name: str) -> str:
        name = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_]", "", name)).strip("_") or "answer"
        taken, number = {*self.taken, *self.functions, *self.made, *self.exercises}, 1
        free = name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        return free

    def _settle(self, name: str, plan: Plan) -> None:
        """Take an exercise out again that cannot be one here."""
        why = ""
        if not plan.reads and name in self.taken:
            why = f"another lab has an exercise `{name}`; rename one of them"
        elif (
            not plan.reads and not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", name)
        ) or iskeyword(name):
            why = f"`{name}` is no name for an exercise: plain letters, and no double `_`, are"
        elif plan.points <= 0:
            why = "no points hang on it"
        elif plan.home.number in self.recorded.errors:
            why = "its solution raises"
        elif names := self._read_from_tests({name, *plan.beside}, plan.tests):
            why = f"its solution reads {listed(f'`{n}`' for n in names)}, which a test sets"
        if why:
            del self.exercises[name]
            for number in plan.tests:
                line = self.lines[number]
                if plan.points:
                    line.left.append(f"`{name}`: {why}")
                    others = [p for p in self.exercises.values() if number in p.tests]
                    share = round(plan.points / len(plan.tests), 2)
                    line.lost = line.lost + share if others else line.cell.points

    def _read_from_tests(self, functions: set[str], tests: Sequence[int]) -> list[str]:
        """The variables that these functions read, and that these tests set, or test cells alone."""
        makers: dict[str, set[str]] = {}
        for cell in self._with("given", "solution", "test"):
            for name in defined(self.trees[cell.number])[1]:
                makers.setdefault(name, set()).add(cell.role)
        read: set[str] = set()
        for name in functions & set(self.functions):
            nodes = ast.walk(self.trees[self.functions[name].number])
            read |= {
                n for f in nodes if isinstance(f, ast.FunctionDef) and f.name == name for n in free_names(f)
            }
        here = {name for number in tests for name in defined(self.trees[number])[1]}
        return sorted(name for name in read if makers.get(name) == {"test"} or name in here)

    # What the report says of the cells

    def _say_needs(self) -> None:
        for number, said in self.needs.said:
            self.lines[number].along.append(said)
        for number, said in self.needs.left:
            self.lines[number].left.append(said)

    def _code(self) -> Iterator[tuple[int, ast.AST]]:
        """The code of the cells that students get, or write, and of the tests that are kept."""
        for cell in self.cells:
            tree = self.trees.get(cell.number)
            if cell.role == "test":
                yield cell.number, ast.parse(self._made_for_later(cell))
            elif tree is not None:
                yield cell.number, tree
        for plan in self.exercises.values():
            yield from ((plan.tests[-1], ast.parse(one.test)) for one in plan.kept if not one.hidden)

    def _say_rest(self) -> None:
        for cell in self.cells:
            line = self.lines[cell.number]
            mine = [plan.name for plan in self.exercises.values() if cell.number in plan.tests]
            if cell.role == "test":
                names = listed(f"`{name}`" for name in mine)
                line.came = f"asked as {names}" if mine else "its visible part is kept, without points"
                if not mine and not line.left:
                    line.left.append("nothing in it compares what students write with a value")
            elif cell.role == "solution":
                homes = [plan.name for plan in self.exercises.values() if plan.home == cell]
                line.came = (
                    f"the answer to {listed(f'`{n}`' for n in homes)}"
                    if homes
                    else "an answer without points"
                )
            elif cell.role == "by hand":
                line.came = "marked by hand"
            elif cell.role == "task":
                line.came, line.lost = "its text", cell.points
                line.left.append(
                    "a task for which students add cells: there is no such kind; ask a question by hand"
                )
            else:
                line.came = "text" if cell.role == "text" else "as it is"
            if cell.code and cell.source != cell.plain and cell.role != "test":
                line.along.append("magics and shell commands are taken out: a lab has none")
            if cell.code and self.trees[cell.number] is None and cell.role != "test":
                line.left.append("it is no Python, and is kept as text")

    # The lab's files

    def files(self, source: str) -> dict[str, str]:
        """The files of the lab's folder, by name."""
        title = next(
            (m[1] for c in self.cells if (m := re.search(r"^# +(.+)", c.source, re.M)) and not c.code), ""
        )
        title = re.sub(r"[*_`#]", "", title).strip() or self.lab.replace("-", " ").capitalize()
        quoted = title.replace("\\", "").replace('"', "'")
        files = {"lab.toml": f'title = "{quoted}"\nminutes = 60\ndifficulty = "moderate"\n'}
        for plan in self.exercises.values():
            files[f"{plan.name}.py"] = self._exercise(plan, source)
        files[f"{self.lab}.ipynb"] = (
            nbformat.writes(nbformat.v4.new_notebook(cells=list(self._notebook()))) + "\n"
        )
        return files

    def _exercise(self, plan: Plan, source: str) -> str:
        cases: dict[str, Case] = {}
        if plan.compared:
            only = {"only": plan.compared} if plan.compared != plan.reads else {}
            cases[""] = Case("what the variables hold", kwargs=only, hidden=plan.hidden)
        for call, hidden, asked in plan.calls:
            error = error_named(call.error)
            label = f"{plan.name} refuses {len(cases) + 1}" if error else _label(asked)
            one = Case(label, call.args, call.kwargs, hidden, error)
            if one.arguments not in cases or not hidden:
                cases[one.arguments] = one
        if len(cases) > MOST_CASES:
            line = self.lines[plan.tests[-1]]
            line.left.append(
                f"{len(cases) - MOST_CASES} of the {len(cases)} calls of `{plan.name}`: these are enough"
            )
        rules: dict[str, Any] = {} if plan.tolerance == EXACT else {"tolerance": plan.tolerance}
        results = [call.result for call, _, _ in plan.calls]
        results += [
            held
            for (number, name), (held, _) in self.recorded.held.items()
            if number in plan.tests and name in plan.compared
        ]
        if not plan.typed and not plan.kept and any(map(_holds_a_whole_number, results)):
            rules["floats_too"] = True  # as it will for `==`
        if plan.calls and all(call.printed for call, _, _ in plan.calls):
            rules["returns"] = "printed"
        function = next(
            (n for n in self.trees[plan.home.number].body if getattr(n, "name", "") == plan.name), None
        )
        domain = ""
        if isinstance(function, ast.FunctionDef) and not rules.get("returns"):
            domain = domain_of(
                plan.name, function, [(call.args, call.kwargs) for call, _, _ in plan.calls if not call.error]
            )
        where = f"{source}, cell {plan.home.number}, tested in {listed(plan.tests)}"
        earlier = self._used_by(plan)
        written = [*list(cases.values())[:MOST_CASES], *plan.kept]
        checks = f"{CHECKS}.{self.lab.replace('-', '_')}"
        return exercise_file(plan.name, where, plan.points, rules, written, domain, earlier, checks)

    def checks(self) -> str:
        """The source of the course's checks for this lab: the tests that students see, as they stand."""
        kept = [one.test for plan in self.exercises.values() for one in plan.kept if not one.hidden]
        tests = [self.needs.given(test) for test in kept]
        head = f'"""Tests of {self.lab} that ask more than a value: each is called with the answer."""\n'
        if tests != kept:
            head += f"\n{given_out(self.lab)}\n"
        return "\n\n".join([head, *tests]) if tests else ""

    def _used_by(self, plan: Plan) -> list[str]:
        """The exercises that a function calls, or that variables are worked out from."""
        tree = self.trees[plan.home.number]
        if not plan.reads:
            functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
            tree = next((n for n in functions if n.name == plan.name), ast.Module([], []))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        before = {name for name, other in self.exercises.items() if other.home.number < plan.home.number}
        names |= plan.beside & before
        if plan.reads:
            names |= {name for name in before if names & set(self.exercises[name].reads)}
        return [name for name in self.exercises if name in names and name != plan.name]

    def _notebook(self) -> Iterator[NotebookNode]:
        """The cells of the solution notebook."""
        used = [
            name
            for name in ("answers", "check")
            if name == "check" or any(p.reads for p in self.exercises.values())
        ]
        lines = [f"from autograder import {', '.join(used)}"]
        if self.needs.files:
            lines.append(given_out(self.lab))
        yield _code("\n".join(lines), "autograder", setup=True)
        for cell in self.cells:
            name = re.sub(r"[^A-Za-z0-9-]+", "-", cell.name).strip("-")[:50] or f"cell-{cell.number}"
            if not cell.code:
                yield _text(cell, name)
            elif self.trees[cell.number] is None and cell.role != "test":
                yield nbformat.v4.new_markdown_cell(f"```\n{cell.source}\n```", id=f"cell-{cell.number}")
            elif cell.role == "given":
                raises = cell.number in self.recorded.errors
                shows = raises or self._only_shows(cell)
                tags = (["illustration"] if shows else []) + (["raises-exception"] if raises else [])
                yield _code(self._source(cell), f"cell-{cell.number}", setup=not shows, tags=tags)
            elif cell.role == "solution":
                yield from self._answers(cell, name)
            elif cell.role == "by hand":
                yield _graded(self._source(cell), name, grade=True, solution=True, points=cell.points)
            else:
                yield from self._checks(cell)

    def _source(self, cell: Cell) -> str:
        """A cell's source as students get it."""
        return self.needs.given(without_magics(cell))

    def _only_shows(self, cell: Cell) -> bool:
        """Whether a given cell makes nothing that a later one uses, of what students write."""
        tree = self.trees[cell.number]
        makes = any(
            isinstance(n, (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)) for n in tree.body
        )
        own = {*self.functions, *self.made}
        return (
            not makes and bool(self._uses(cell) & own) and not set(defined(tree)[1]) & self._used_after(cell)
        )

    def _given(self, cell: Cell) -> set[str]:
        """The names that given cells before this one make."""
        found: set[str] = set()
        for other in self._with("given"):
            if other.number < cell.number and (tree := self.trees[other.number]):
                functions, variables = defined(tree)
                found |= {*functions, *variables, *bound(tree)}
        return found

    def _used_after(self, cell: Cell) -> set[str]:
        """The names that later cells use, and the answers that are asked there."""
        later = (
            self.trees[other.number]
            for other in self.cells
            if other.code and other.role != "test" and other.number > cell.number
        )
        asked = {name for plan in self.exercises.values() for name in plan.reads}
        return asked | {n.id for tree in later if tree for n in ast.walk(tree) if isinstance(n, ast.Name)}

    def _made_for_later(self, cell: Cell) -> str:
        """The statements of a test cell that later cells need, such as data that it loads."""
        tree = self.trees[cell.number]
        wanted = self._used_after(cell) - set(self.functions) - set(self.made)
        kept: list[str] = []
        hidden = hidden_lines(cell.source)
        for statement in reversed(tree.body if tree else []):
            functions, variables = defined(ast.Module([statement], []))
            made = {*functions, *variables, *bound(statement)}
            if wanted & made and not isinstance(statement, ast.Assert) and statement.lineno not in hidden:
                kept.insert(0, ast.get_source_segment(cell.plain, statement) or "")
                wanted |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        return "\n".join(kept)

    def _answers(self, cell: Cell, name: str) -> Iterator[NotebookNode]:
        """A solution cell, cut so that each exercise has one of its own."""
        plans = [plan for plan in self.exercises.values() if plan.home == cell]
        if not plans:
            yield _graded(self._source(cell), name, solution=True)
            return
        source = self._source(cell)
        tree = ast.parse(source)
        ends = {_end_of(tree, plan): plan.name for plan in plans}
        sources = cut_up(source, tree, sorted(ends)[:-1])
        for end, source in zip(sorted(ends), sources, strict=True):
            yield _graded(source, grade_id(ends[end]), solution=True)

    def _checks(self, cell: Cell) -> Iterator[NotebookNode]:
        """What stands in the place of a test cell: the checks of the exercises that it is the last test of."""
        if kept := self._made_for_later(cell):
            yield _code(self.needs.given(kept), f"cell-{cell.number}-makes", setup=True)
        for plan in self.exercises.values():
            if plan.tests[-1] != cell.number:
                continue
            if plan.reads:
                names = ", ".join(f'"{name}"' for name in plan.reads)
                yield _code(f"{plan.name} = answers({names})", f"ask-{grade_id(plan.name)}"[:60], setup=True)
            source = f"check({plan.name})"
            yield _graded(source, id_of_test(plan.name), grade=True, locked=True, points=plan.points)
        if not any(cell.number in plan.tests for plan in self.exercises.values()):
            visible = HIDDEN.sub("", self._source(cell)).strip()
            known = {*dir(builtins), *self.functions, *self.made, *self._given(cell)}
            tree = parsed_source(visible)
            if tree is not None and free_names(tree) <= known:
                yield _code(visible, f"cell-{cell.number}", tags=["illustration", "raises-exception"])
            elif visible:
                text = f"The test that stood here:\n\n```python\n{visible}\n```"
                yield nbformat.v4.new_markdown_cell(text, id=f"cell-{cell.number}")


_WHY = {
    "property": "asks for a property, not for a value: write a check for it",
    "error": "expects an error that cannot be asked",
    "value": "compares nothing that students write",
}


_TYPE = re.compile(r"\b(isinstance|type|dtype)\b")
_TRUTH = re.compile(r"\bis (True|False)\b")


def _holds_a_whole_number(value: Value) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_a_whole_number, value))
    if isinstance(value, Mapping):
        return any(map(_holds_a_whole_number, value.values()))
    return type(value) in (int, bool)


def _label(asked: str) -> str:
    return cut(" ".join(asked.split()), 70)


def _end_of(tree: ast.Module, plan: Plan) -> int:
    """The index of the top-level statement that finishes an exercise's answer."""
    last = 0
    for index, statement in enumerate(tree.body):
        functions, variables = defined(ast.Module([statement], []))
        if plan.name in functions or set(plan.reads) & set(variables):
            last = index
    return last


def _code(source: str, ident: str, *, setup: bool = False, tags: Sequence[str] = ()) -> NotebookNode:
    cell = nbformat.v4.new_code_cell(source, id=ident)
    if setup or tags:
        cell.metadata["tags"] = [*(["setup"] if setup else []), *tags]
    return cell


def _graded(source: str, name: str, **flags: Any) -> NotebookNode:
    cell = nbformat.v4.new_code_cell(source, id=name[:60])
    cell.metadata["nbgrader"] = _flags(name, **flags)
    return cell


def _flags(name: str, points: float | None = None, **flags: bool) -> dict:
    about: dict[str, Any] = {f: flags.get(f, False) for f in ("grade", "solution", "locked", "task")}
    about |= {"grade_id": name, "schema_version": 3}
    return about if points is None else {**about, "points": points}


def _text(cell: Cell, name: str) -> NotebookNode:
    if cell.role != "by hand":
        return nbformat.v4.new_markdown_cell(cell.source, id=f"cell-{cell.number}")
    made = nbformat.v4.new_markdown_cell(cell.source, id=name[:60])
    made.metadata["nbgrader"] = _flags(name, cell.points, grade=True, solution=True)
    return made
