"""`autograder import`: another grader's source notebook becomes a lab of the course.

The functions that its tests ask become exercises, whose reference is the notebook's own solution and whose cases are
the calls that the tests make, recorded by running them (`recording`). Variables that tests read are asked as they
stand (`autograder.answers`). The report says of every cell what came over, what did not, and what hangs on it.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring import otter
from autograder.authoring.asserting import EXACT, Asked, runnable, statements
from autograder.authoring.foreign import HIDDEN, Cell, Line, NoSource, cells_of, cut_up, read_source, shares
from autograder.authoring.keeping import Definitions, Kept
from autograder.authoring.names import bound, defined, free_names, made_by, parsed, used
from autograder.authoring.needs import Needs, add_to_library, given_out, is_file_beside, module_of
from autograder.authoring.recording import Call, Recorded, record
from autograder.authoring.skeleton import SkeletonError, add_lab, hyphened, names_exercise
from autograder.authoring.writing import Case, domain_of, error_named, exercise_file, unwritable
from autograder.cells import grade_id, graded, id_of_test
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
        points = sum(line.cell.points for line in self.lines)
        said = f"{counted(points - sum(line.lost for line in self.lines), 'point')} of {points:g} came over"
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
    work.plan(record(work.order(), path.parent), path.parent, course)
    failed = [work.recorded.errors.get(cell.number) for cell in cells if cell.role == "test"]
    if not work.exercises and failed and all(failed):
        raise ImportFailed(
            f"{path} passes none of its own tests ({cut(str(failed[0]).removesuffix(': '), 100)}): is it what students "
            "get, without the solutions? Import the source notebook."
        )
    files = work.files(path.name)
    if checks := work.checks():
        add_to_library(course, CHECKS, "Checks that came with imported labs.", lab, checks)
    work.needs.write(lab)
    add_lab(course, lab, files)
    report = Report(lab, list(work.lines.values()))
    write(course.solutions / lab / REPORT, report.text())
    return report


def _lab_name(path: Path, course: Course) -> str:
    """A name for the lab, made of the file's."""
    name = hyphened(path.stem) or "lab"
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
        self.functions: dict[str, Cell] = {}  # by name, where it is defined last
        self.made: dict[str, list[Cell]] = {}  # variables of solution cells, where they are assigned
        home: Cell | None = None
        for cell in self._with("solution", "given"):
            functions, variables = defined(cell.tree)
            if cell.role == "solution":
                home = cell
                self.functions |= dict.fromkeys(functions, cell)
            elif not used(cell.tree) & self.own:
                continue  # it stands whatever students write
            for name in variables:
                if home:
                    self.made.setdefault(name, []).append(home)
        self.asked: dict[int, list[Asked]] = {}
        for cell in self._with("test"):
            try:
                self.asked[cell.number] = statements(cell.plain, self.values, self.own, cell.hidden)
            except SyntaxError as error:
                self.asked[cell.number] = []
                self.lines[cell.number].left.append(f"it is no Python ({error.msg}, line {error.lineno})")
        self.others: dict[int, list[Asked]] = {}  # what test cells ask besides values
        self.unasked: dict[int, dict[str, str]] = {}  # whose value cannot be asked, and why
        # The solution cells before a test cell, and after the last one.
        self.since: dict[int, list[Cell]] = {}
        since: list[Cell] = []
        tested = False
        for cell in cells:
            if cell.role == "solution":
                since = [cell] if tested else [*since, cell]
                tested = False
            elif cell.role == "test":
                tested, self.since[cell.number] = True, since
        known = Definitions(self._with("given", "solution", "test"), {*self.functions})
        self.kept = {cell.number: list(self._kept(cell, known)) for cell in self._with("test")}
        self.exercises: dict[str, Plan] = {}

    @property
    def own(self) -> set[str]:
        """What students write: functions, and variables."""
        return {*self.functions, *self.made}

    def _with(self, *roles: str) -> list[Cell]:
        return [cell for cell in self.cells if cell.role in roles and cell.code]

    def _kept(self, cell: Cell, known: Definitions) -> Iterator[Kept]:
        """The tests that a test cell may be kept as: for each function that it asks, and for all variables."""
        for hidden in (False, True):
            lines: dict[str, set[int]] = {}
            variables: dict[str, None] = {}
            for asked in self.asked[cell.number] if cell.tree else ():
                if asked.nature == "nothing" or asked.hidden != hidden:
                    continue
                made = [name for name in asked.parts if name in self.made and self._is_new(name, cell)]
                variables |= dict.fromkeys(made)
                for name in [*(asked.names & set(self.functions)), *([""] if made else [])]:
                    lines.setdefault(name, set()).update(asked.lines)
            for name, of in lines.items():
                if one := known.kept(cell, of, hidden, name, [] if name else list(variables)):
                    yield one

    def _is_new(self, name: str, test: Cell) -> bool:
        """Whether a function or variable is of the answers since the last test."""
        homes = [self.functions[name]] if name in self.functions else self.made[name]
        return any(home in self.since[test.number] for home in homes)

    def order(self) -> list[dict]:
        """What the recording is told to run."""
        order = []
        for cell in self._with("given", "solution", "test", "by hand"):
            test = cell.role == "test"
            if cell.tree is None and not test:
                continue
            trials = self.kept.get(cell.number, [])
            reads = {n for a in self.asked.get(cell.number, ()) for n in a.parts} - set(dir(builtins))
            order.append(
                {
                    "number": cell.number,
                    "source": runnable(cell.plain) if test else cell.plain,
                    "functions": [name for name, home in self.functions.items() if home == cell],
                    "test": test,
                    "reads": sorted(reads.union(*(one.values for one in trials))),
                    "kept": [asdict(one) for one in trials],
                }
            )
        return order

    # What becomes of the tests

    def plan(self, recorded: Recorded, folder: Path, course: Course) -> None:
        """Make exercises of what the test cells ask, and say of every cell what came of it."""
        self.recorded, self.folder = recorded, folder
        for number, why in recorded.errors.items():
            line, said = self.lines[number], cut(why.removesuffix(": "), 160)
            test = line.cell.role == "test"
            line.left.append(
                f"the notebook's own solution does not pass it: {said}" if test else f"it raises {said}"
            )
            line.lost = line.cell.points
        for cell in self._with("test"):
            if cell.number not in recorded.errors:
                self._plan_test(cell)
        for cell in self._with("test"):
            self._say_properties(cell)
        for plan in list(self.exercises.values()):
            self._settle(plan)
        self.needs = Needs(folder, course)
        for number, tree in self._code():
            self.needs.add(self.lines[number], tree)
        for line in self.lines.values():
            self._say_rest(line)

    def _plan_test(self, cell: Cell) -> None:
        """Give what a test cell compares, and its points, to the exercises that it is about."""
        rows: dict[str, list[tuple[Call | None, Asked]]] = {}
        others: list[Asked] = []
        unasked: dict[str, str] = {}
        for asked in self.asked[cell.number]:
            found = list(self._compared(asked, cell))
            for name, call, why in found:
                if why:
                    unasked.setdefault(name, why)
                else:
                    rows.setdefault(name, []).append((call, asked))
            if not found and asked.nature != "nothing":
                others.append(asked)
        new = [name for name in rows if self._is_new(name, cell)]
        names = new or [name for name in rows if name in self.functions] or list(rows)
        plans = []
        for name in names:
            if name in self.functions:
                plan = self._of_function(name)
                plan.calls += [(call, asked.hidden, asked.source) for call, asked in rows[name] if call]
                plan.tolerances += [asked.tolerance for _, asked in rows[name]]
                plans.append(plan)
        if variables := [name for name in names if name not in self.functions]:
            plan = self._of_variables(variables, cell)
            plan.compare(variables)
            plan.hidden |= any(all(asked.hidden for _, asked in rows[name]) for name in variables)
            plan.tolerances += [asked.tolerance for name in variables for _, asked in rows[name]]
            plans.append(plan)
        if plans:
            self._share(cell, plans)
        else:
            self.lines[cell.number].lost = cell.points
        typed = [asked for asked in others if _TYPE.search(asked.source)]
        typed += [asked for asked in self.asked[cell.number] if _TRUTH.search(asked.source)]
        about = {name for asked in typed for name in asked.parts}
        for plan in self.exercises.values():
            plan.typed |= cell.number in plan.tests and bool(about & {plan.name, *plan.reads})
        self.others[cell.number], self.unasked[cell.number] = others, unasked

    def _compared(self, asked: Asked, cell: Cell) -> Iterator[tuple[str, Call | None, str]]:
        """What an assertion compares with a value: each call or variable, and why it cannot be asked, or ""."""
        calls = self._calls(asked, cell)
        if asked.nature == "error":
            yield from ((c.function, c, "") for c in calls if error_named(c.error) and not c.lost)
        elif asked.nature == "value":
            means = asked.means({*self.functions})
            new = {name for name in self.functions if self._is_new(name, cell)}
            if new & means and not new & ({c.function for c in calls} - means):
                return  # another's result is compared
            calls = [c for c in calls if c.function not in means]
        truths = bool(calls) and asked.is_a_call and all(type(c.result) is bool for c in calls)
        if asked.nature == "value" or (asked.nature == "property" and truths):
            yield from ((c.function, c, c.lost or self._unfit(c)) for c in calls if c.lost or not c.error)
            for name in asked.parts if not calls else ():
                if name in self.made and (cell.number, name) in self.recorded.held:
                    why = self.recorded.held[cell.number, name][1]
                    yield name, None, f"it is {why}" if why else ""

    def _calls(self, asked: Asked, cell: Cell) -> list[Call]:
        return [c for c in self.recorded.calls if c.cell == cell.number and asked.calls(c.function, c.line)]

    def _say_properties(self, cell: Cell) -> None:
        """Of what a test cell asks besides values: a right value has it, or it is asked by a test, or it is said."""
        line = self.lines[cell.number]
        asked_for = {name: p for p in self.exercises.values() for name in p.compared or [p.name]}
        about: dict[str, Plan] = {}
        asked_by = False  # by the cell's own test
        left = []
        for asked in self.others.get(cell.number, ()):
            subjects = asked.names & self.own
            if (
                asked.nature == "property"
                and subjects
                and subjects <= {*asked_for}
                and self._had(asked, cell)
            ):
                about |= {asked_for[name].name: asked_for[name] for name in sorted(subjects)}
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
        for call in self._calls(asked, cell):
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
        subjects = {*lost, *(name for asked in left for name in asked.names)} & set(self.functions)
        subjects = {name for name in subjects if self._is_new(name, cell)} or subjects
        for one in self.kept[cell.number]:
            about = {one.subject, *one.variables}
            done = [asked for asked in left if about & asked.names and asked.hidden == one.hidden]
            if one.subject in subjects if one.subject else done:
                yield one, done

    def _kept_as(self, cell: Cell, one: Kept, label: str) -> Plan | str:
        """The exercise that a test is asked in as it stands; or why it cannot be."""
        tried = self.recorded.kept.get(one.name)
        if names := self._read_from_tests({one.subject, *one.others}, [cell.number]):
            return f"the solution reads {listed(f'`{n}`' for n in names)}, which a test sets"
        if tried is None:
            return "its cell takes too long to be run again"
        texts = (node.value for node in ast.walk(ast.parse(one.source)) if isinstance(node, ast.Constant))
        if one.hidden and any(is_file_beside(text, self.folder) for text in texts):
            return "it reads a file, and what comes along is students', too"
        large = [n for n, value in tried.values.items() if unwritable((), {n: value})]
        if why := tried.why or (unwritable((), tried.values) if one.subject else ""):
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
        label = "what is asked besides" if one.hidden else label
        plan.kept.append(Case(label, (), values, one.hidden, test=one.source))
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
            plan.hidden |= one.hidden
        return plan if calls or held else None

    def _share(self, cell: Cell, plans: Sequence[Plan]) -> None:
        """Give a test cell's points to the exercises that it is about."""
        for plan, points in zip(plans, reversed(shares(cell.points, len(plans))), strict=True):
            plan.points += points
            plan.tests = sorted({*plan.tests, cell.number})

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
        taken, number = {*self.taken, *self.own, *self.exercises}, 1
        free = name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        return free

    def _settle(self, plan: Plan) -> None:
        """Take an exercise out again that cannot be one here."""
        why = self._why_not(plan)
        if not why:
            return
        del self.exercises[plan.name]
        for number in plan.tests if plan.points else ():
            line = self.lines[number]
            line.left.append(f"`{plan.name}`: {why}")
            others = [other for other in self.exercises.values() if number in other.tests]
            share = round(plan.points / len(plan.tests), 2)
            line.lost = line.lost + share if others else line.cell.points

    def _why_not(self, plan: Plan) -> str:
        if not plan.reads and plan.name in self.taken:
            return f"another lab has an exercise `{plan.name}`; rename one of them"
        if not names_exercise(plan.name):
            return f"`{plan.name}` is no name for an exercise: plain letters, and no double `_`, are"
        if plan.points <= 0:
            return "no points hang on it"
        if plan.home.number in self.recorded.errors:
            return "its solution raises"
        if names := self._read_from_tests({plan.name, *plan.beside}, plan.tests):
            return f"its solution reads {listed(f'`{n}`' for n in names)}, which a test sets"
        return ""

    def _read_from_tests(self, functions: set[str], tests: Sequence[int]) -> list[str]:
        """The variables that these functions read, and that these tests set, or test cells alone."""
        makers: dict[str, set[str]] = {}
        for cell in self._with("given", "solution", "test"):
            for name in defined(cell.tree)[1]:
                makers.setdefault(name, set()).add(cell.role)
        read = set().union(*(free_names(self._code_of(name)) for name in functions & set(self.functions)))
        here = {name for number in tests for name in defined(self.lines[number].cell.tree)[1]}
        return sorted(name for name in read if makers.get(name) == {"test"} or name in here)

    def _code_of(self, function: str) -> ast.FunctionDef:
        nodes = ast.walk(self.functions[function].tree)
        return next(n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == function)

    def _code(self) -> Iterator[tuple[int, ast.AST]]:
        """The code of the cells that students get, or write, and of the tests that are kept."""
        for cell in self.cells:
            if cell.role == "test":
                yield cell.number, ast.parse(self._made_for_later(cell))
            elif cell.tree is not None:
                yield cell.number, cell.tree
        for plan in self.exercises.values():
            yield from ((plan.tests[-1], ast.parse(one.test)) for one in plan.kept if not one.hidden)

    def _say_rest(self, line: Line) -> None:
        cell = line.cell
        line.came = _CAME[cell.role]
        if cell.role == "test":
            names = [plan.name for plan in self.exercises.values() if cell.number in plan.tests]
            if names:
                line.came = f"asked as {listed(f'`{name}`' for name in names)}"
            elif not line.left:
                line.left.append("nothing in it compares what students write with a value")
        elif cell.role == "solution":
            homes = [plan.name for plan in self.exercises.values() if plan.home == cell]
            if homes:
                line.came = f"the answer to {listed(f'`{name}`' for name in homes)}"
        elif cell.role == "task":
            line.lost = cell.points
            line.left.append(
                "a task for which students add cells: there is no such kind; ask a question by hand"
            )
        if cell.code and cell.role != "test":
            if cell.source != cell.plain:
                line.along.append("magics and shell commands are taken out: a lab has none")
            if cell.tree is None:
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
        notebook = nbformat.v4.new_notebook(cells=list(self._notebook()))
        return files | {f"{self.lab}.ipynb": nbformat.writes(notebook) + "\n"}

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
            self.lines[plan.tests[-1]].left.append(
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
        domain = ""
        if plan.calls and all(call.printed for call, _, _ in plan.calls):
            rules["returns"] = "printed"
        elif plan.calls:
            given = [(call.args, call.kwargs) for call, _, _ in plan.calls if not call.error]
            domain = domain_of(plan.name, self._code_of(plan.name), given)
        where = f"{source}, cell {plan.home.number}, tested in {listed(plan.tests)}"
        written = [*list(cases.values())[:MOST_CASES], *plan.kept]
        checks = f"{CHECKS}.{module_of(self.lab)}"
        return exercise_file(
            plan.name, where, plan.points, rules, written, domain, self._used_by(plan), checks
        )

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
        names = used(plan.home.tree if plan.reads else self._code_of(plan.name))
        before = {name for name, other in self.exercises.items() if other.home.number < plan.home.number}
        names |= plan.beside & before
        if plan.reads:
            names |= {name for name in before if names & set(self.exercises[name].reads)}
        return [name for name in self.exercises if name in names and name != plan.name]

    def _notebook(self) -> Iterator[NotebookNode]:
        """The cells of the solution notebook."""
        engine = "answers, check" if any(plan.reads for plan in self.exercises.values()) else "check"
        files = f"\n{given_out(self.lab)}" if self.needs.files else ""
        yield _code(f"from autograder import {engine}{files}", "autograder", "setup")
        for cell in self.cells:
            ident = f"cell-{cell.number}"
            name = re.sub(r"[^A-Za-z0-9-]+", "-", cell.name).strip("-")[:50] or ident
            if not cell.code and cell.role == "by hand":
                yield _answered(nbformat.v4.new_markdown_cell(cell.source), name, cell.points)
            elif not cell.code:
                yield nbformat.v4.new_markdown_cell(cell.source, id=ident)
            elif cell.tree is None and cell.role != "test":
                yield nbformat.v4.new_markdown_cell(f"```\n{cell.source}\n```", id=ident)
            elif cell.role == "given":
                raises = ["raises-exception"] if cell.number in self.recorded.errors else []
                shows = raises or self._only_shows(cell)
                yield _code(self._source(cell), ident, *(["illustration"] if shows else ["setup"]), *raises)
            elif cell.role == "solution":
                yield from self._answers(cell, name)
            elif cell.role == "by hand":
                yield _answered(nbformat.v4.new_code_cell(self._source(cell)), name, cell.points)
            else:
                yield from self._checks(cell)

    def _source(self, cell: Cell) -> str:
        """A cell's source as students get it."""
        return self.needs.given(cell.without_magics)

    def _only_shows(self, cell: Cell) -> bool:
        """Whether a given cell makes nothing that a later one uses, of what students write."""
        functions, variables = defined(cell.tree)
        makes = {*functions, *bound(cell.tree), *({*variables} & self._used_after(cell))}
        return not makes and bool(used(cell.tree) & self.own)

    def _used_after(self, cell: Cell) -> set[str]:
        """The names that later cells use, and the answers that are asked there."""
        later = (o for o in self.cells if o.role != "test" and o.number > cell.number)
        asked = (plan.reads for plan in self.exercises.values())
        return set().union(*asked, *(used(other.tree) for other in later))

    def _made_for_later(self, cell: Cell) -> str:
        """The statements of a test cell that later cells need, such as data that it loads."""
        wanted = self._used_after(cell) - self.own
        kept: list[str] = []
        for statement in reversed(cell.tree.body if cell.tree else []):
            asserts = isinstance(statement, ast.Assert) or statement.lineno in cell.hidden
            if wanted & made_by(statement) and not asserts:
                kept.insert(0, ast.get_source_segment(cell.plain, statement) or "")
                wanted |= used(statement)
        return "\n".join(kept)

    def _answers(self, cell: Cell, name: str) -> Iterator[NotebookNode]:
        """A solution cell, cut so that each exercise has one of its own."""
        plans = [plan for plan in self.exercises.values() if plan.home == cell]
        source = self._source(cell)
        ends, pieces = {0: name}, [source]
        if plans:
            tree = ast.parse(source)
            ends = {_end_of(tree, plan): grade_id(plan.name) for plan in plans}
            pieces = cut_up(source, tree, sorted(ends)[:-1])
        for end, piece in zip(sorted(ends), pieces, strict=True):
            yield _answered(nbformat.v4.new_code_cell(piece), ends[end])

    def _checks(self, cell: Cell) -> Iterator[NotebookNode]:
        """What stands in the place of a test cell: the checks of the exercises that it is the last test of."""
        if kept := self._made_for_later(cell):
            yield _code(self.needs.given(kept), f"cell-{cell.number}-makes", "setup")
        plans = [plan for plan in self.exercises.values() if cell.number in plan.tests]
        for plan in plans:
            if plan.tests[-1] != cell.number:
                continue
            if plan.reads:
                names = ", ".join(f'"{name}"' for name in plan.reads)
                yield _code(f"{plan.name} = answers({names})", f"ask-{grade_id(plan.name)}"[:60], "setup")
            check = _code(f"check({plan.name})", id_of_test(plan.name)[:60])
            about = graded(id_of_test(plan.name), plan.points, grade=True, locked=True)
            check.metadata["nbgrader"] = about
            yield check
        visible = HIDDEN.sub("", self._source(cell)).strip()
        if plans or not visible:
            return
        given = (made_by(o.tree) for o in self._with("given") if o.number < cell.number)
        tree = parsed(visible)
        if tree and free_names(tree) <= {*dir(builtins), *self.own}.union(*given):
            yield _code(visible, f"cell-{cell.number}", "illustration", "raises-exception")
        else:
            text = f"The test that stood here:\n\n```python\n{visible}\n```"
            yield nbformat.v4.new_markdown_cell(text, id=f"cell-{cell.number}")


_WHY = {
    "property": "asks for a property, not for a value: write a check for it",
    "error": "expects an error that cannot be asked",
    "value": "compares nothing that students write",
}
_CAME = {  # where nothing more can be said
    "text": "text",
    "given": "as it is",
    "solution": "an answer without points",
    "test": "its visible part is kept, without points",
    "by hand": "marked by hand",
    "task": "its text",
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
        functions, variables = defined(statement)
        if plan.name in functions or set(plan.reads) & set(variables):
            last = index
    return last


def _code(source: str, ident: str, *tags: str) -> NotebookNode:
    cell = nbformat.v4.new_code_cell(source, id=ident)
    if tags:
        cell.metadata["tags"] = list(tags)
    return cell


def _answered(cell: NotebookNode, name: str, points: float | None = None) -> NotebookNode:
    """A cell in which students answer; with points, one that a person marks."""
    cell.id = name[:60]
    cell.metadata["nbgrader"] = graded(name, points, grade=points is not None, solution=True)
    return cell
