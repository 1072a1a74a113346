"""Import a notebook made for another grader as a lab of the course: `autograder import`.

The functions that its tests call become exercises, whose reference is the notebook's own solution
and whose cases are the calls that the tests make, recorded by running them (`record_calls`).
Variables that tests read become exercises, too (`autograder.answers`). The report says of every
cell what was imported, what was not, and how many points depend on that.
"""

import ast
import builtins
import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeGuard

import nbformat
from nbformat import NotebookNode

from autograder.authoring.python_names import (
    find_bound_names,
    find_changed_names,
    find_classes,
    find_free_names,
    find_functions_and_variables,
    find_import_and_class_names,
    find_imported_names,
    find_read_or_assigned_names,
    get_called_name,
    parse_code,
)
from autograder.authoring.skeleton import SkeletonError, add_lab, hyphenate, is_exercise_name
from autograder.core.course import Course
from autograder.core.errors import AutograderError
from autograder.core.files import write_file
from autograder.core.import_guard import ENGINE_PACKAGES
from autograder.core.notebook_cells import make_grade_id, make_nbgrader_metadata, make_test_grade_id
from autograder.core.text_format import format_count, join_words, truncate
from autograder.judging import function_tests
from autograder.judging.function_tests import COMPARED_VARIABLES
from autograder.values.case_records import ComparisonRules, Tolerance, Value
from autograder.values.value_types import blank_like, copy_value, values_agree
from course_import import otter_source
from course_import.assertions import (
    EXACT,
    Assertion,
    find_error_texts,
    read_assertions,
    uncomment_autotests,
)
from course_import.comparisons import (
    ENGINE_FUNCTIONS,
    asks_for_form,
    compares_part,
    make_comparison,
)
from course_import.dependencies import (
    Dependencies,
    find_imported_dotted_names,
    find_imported_modules,
    get_module_name,
    is_file_in_folder,
    make_files_import,
    write_library_module,
)
from course_import.extracted_tests import (
    ExtractedTest,
    NotebookDefinitions,
    may_affect_later_assertions,
)
from course_import.nbgrader_source import (
    HIDDEN_TESTS,
    SOLUTION_REGION,
    CellImportReport,
    NotASourceNotebook,
    SourceCell,
    read_cells,
    read_source,
    split_points,
    split_source,
)
from course_import.nose_assertions import replace_nose_assertions
from course_import.pictures import attach_pictures
from course_import.record_calls import ZEROS_PASS, RecordedCall, Recording, record_notebook
from course_import.write_exercise import (
    CaseSource,
    explain_unwritable,
    format_exception_name,
    make_exercise_source,
    propose_domain,
)

REPORT_FILE = "imported.md"
CHECKS_PACKAGE = "course_checks"  # the package of the course's library for imported checks
SANDBOX_REMARK = (
    "The notebook ran in a sandbox: without network, and with no files but those beside it. If a "
    "cell raised because it needs more, and you trust the notebook, import it again with "
    "--without-sandbox."
)
MAX_CASES = 60
MAX_GRADE_ID_CHARACTERS = 60


class ImportFailed(AutograderError):
    """Error for a notebook that cannot be imported at all; the text says why."""


@dataclass
class ExercisePlan:
    """Plan of an exercise to be written: students write a function, or set variables in a cell.

    Parameters
    ----------
    answer_cell : SourceCell
        Cell with the solution.
    variables : list of str
        The variables of the answer; empty for a function.
    points_by_test : dict of int to float
        The exercise's points that each test cell gives, by the number of the cell.
    calls : list of (RecordedCall, bool, str)
        Calls for cases, each with True if it is hidden, and its label.
    hidden : bool
        True if only hidden tests compare the value of some variable.
    compared_variables : list of str
        Variables of which one value only is right.
    variables_by_test : dict of int to list of str
        Variables that each test cell compares.
    test_cases : list of CaseSource
        Test functions.
    further_functions : set of str
        Other functions that the test functions call.
    checks_type : bool
        True if a test checks a type, too.
    comparisons : list of str
        Statements that compare the answer's value, `found`, with the expected one, as tests do.
    lacks_comparison : bool
        True if a test compares the value in a way that no such statement can express.
    type_checks : list of (int, str)
        Checks of a type, each with the number of its test cell.
    """

    name: str
    answer_cell: SourceCell
    variables: list[str] = field(default_factory=list)
    points_by_test: dict[int, float] = field(default_factory=dict)
    calls: list[tuple[RecordedCall, bool, str]] = field(default_factory=list)
    hidden: bool = False
    tolerances: list[Tolerance] = field(default_factory=list)
    compared_variables: list[str] = field(default_factory=list)
    variables_by_test: dict[int, list[str]] = field(default_factory=dict)
    test_cases: list[CaseSource] = field(default_factory=list)
    further_functions: set[str] = field(default_factory=set)
    checks_type: bool = False
    comparisons: list[str] = field(default_factory=list)
    lacks_comparison: bool = False
    type_checks: list[tuple[int, str]] = field(default_factory=list)

    @property
    def points(self) -> float:
        """Points of the exercise: the sum over its test cells."""
        return round(sum(self.points_by_test.values()), 10)

    @property
    def tests(self) -> list[int]:
        """Numbers of the test cells, in order."""
        return sorted(self.points_by_test)

    @property
    def has_several_scored_tests(self) -> bool:
        """True if more than one test cell gives points."""
        return sum(points > 0 for points in self.points_by_test.values()) > 1

    def add_compared_variables(self, names: Sequence[str], test: int) -> None:
        """Let the exercise compare the values of variables with those expected in a test cell."""
        _add_new(self.variables, names)
        _add_new(self.compared_variables, names)
        _add_new(self.variables_by_test.setdefault(test, []), names)

    def add_comparison(self, comparison: str) -> None:
        """Add a statement that compares the answer's value; "" if a test cannot be expressed so."""
        if comparison:
            _add_new(self.comparisons, [comparison])
        else:
            self.lacks_comparison = True

    @property
    def equality_name(self) -> str:
        """Name of the function that decides whether an answer's value is right."""
        return f"equals_{self.name}"

    def name_parts(self) -> dict[int, str]:
        """Return the name of the part of the exercise that each test cell gives points for.

        It is empty if all points hang on one test cell, or a test cell with points has no case of
        its own, so that its points cannot be given apart.
        """
        with_cases = {call.cell for call, _, _ in self.calls}
        with_cases |= {case.test_cell for case in self.test_cases} | {*self.variables_by_test}
        scored = {number for number, points in self.points_by_test.items() if points}
        if not self.has_several_scored_tests or not scored <= with_cases:
            return {}
        return {number: f"part {index}" for index, number in enumerate(sorted(with_cases), start=1)}

    @property
    def tolerance(self) -> Tolerance:
        """The largest tolerance in the tests. So each answer that passes them counts as right."""
        relative, absolute = [], []
        for tolerance in self.tolerances:
            if tolerance != EXACT:
                pair = tolerance if isinstance(tolerance, tuple) else (tolerance, 0.0)
                relative.append(pair[0])
                absolute.append(pair[1])
        return (max(relative), max(absolute)) if relative else EXACT


@dataclass(frozen=True)
class ImportReport:
    """Report on an import: what became of each cell, and what could not be imported.

    Parameters
    ----------
    packages : list of str
        Packages that answers may import, in addition to those of every course.
    remark : str
        What to do about cells that raised in the sandbox, or "".
    """

    lab: str
    cells: list[CellImportReport]
    packages: list[str]
    remark: str = ""

    @property
    def is_complete(self) -> bool:
        """True if the import left nothing out."""
        return not any(cell.problems for cell in self.cells)

    def text(self) -> str:
        """Return the report as Markdown, for a file and for the terminal."""
        lines = [f"# What became of {self.lab}", ""]
        for report in self.cells:
            cell = report.cell
            name = f" `{cell.name}`" if cell.name else ""
            worth = f" ({format_count(cell.points, 'point')})" if cell.points else ""
            lines.append(f"- cell {cell.number}{name}{worth}: {report.outcome or 'left out'}")
            lines += [f"    - {sentence}" for sentence in report.additions]
            lines += [f"    - not: {sentence}" for sentence in report.problems]
            if report.lost_points:
                points = format_count(report.lost_points, "point")
                verb = "depends" if report.lost_points == 1 else "depend"
                lines.append(f"    - {points} {verb} on this")
        names = join_words(["Python's standard library", "numpy", "matplotlib", *self.packages])
        packages = (
            f"Answers may import {names}. Any other package is refused. If answers may use one, "
            "add it to `imports` in course.toml, and import it in a cell that students are given."
        )
        if self.remark:
            lines += ["", self.remark]
        return "\n".join([*lines, "", packages, "", f"{self._summary()}."]) + "\n"

    def _summary(self) -> str:
        """Return how many points came over as they were, in part, and not at all."""
        all_points = sum(report.cell.points for report in self.cells)
        lost_points = sum(report.lost_points for report in self.cells)
        incomplete = [report for report in self.cells if report.partly_imported_points]
        partly_imported_points = sum(report.partly_imported_points for report in incomplete)
        whole_points = all_points - lost_points - partly_imported_points
        summary = f"{format_count(whole_points, 'point')} of {all_points:g} came over as they were"
        if partly_imported_points:
            numbers = join_words(report.cell.number for report in incomplete)
            noun = "cell" if numbers.isdigit() else "cells"
            summary += f"; {partly_imported_points:g} came over with less than their tests ask ({noun} {numbers})"
        if lost_points:
            summary += f"; {format_count(lost_points, 'point')} did not come over"
        problem_count = sum(len(report.problems) for report in self.cells)
        if problem_count:
            verb = "says" if problem_count == 1 else "say"
            lines = format_count(problem_count, "line")
            summary += f'. {lines} above with "not:" {verb} what to do'
        return summary


def import_notebook(path: Path, course: Course, in_sandbox: bool = True) -> ImportReport:
    """Make a lab, below `solutions/` and in course.toml, from another grader's source notebook.

    Parameters
    ----------
    in_sandbox : bool
        Run the notebook in bubblewrap, without network and without this machine's other files.

    Raises
    ------
    NotASourceNotebook
        If the file is no source notebook of nbgrader or otter in Python.
    ImportFailed
        If the notebook passes none of its tests, so that it seems to have no solutions.
    RecordingError
        If running the notebook takes too long or ends its process.
    SkeletonError
        If the course has a lab of this name.
    """
    notebook = read_source(path)
    is_otter = otter_source.is_otter_source(notebook)
    if is_otter:
        notebook = otter_source.convert_to_nbgrader(notebook)
    cells = read_cells(notebook)
    if not any(cell.points for cell in cells):
        raise NotASourceNotebook(
            f"No test cell of {path} is worth points. Import the source notebook of nbgrader or "
            "otter, in which test cells have points.",
        )
    lab = _make_lab_name(path, course)
    cells, cells_with_nose = replace_nose_assertions(cells)
    importer = _NotebookImporter(lab, cells, is_otter, _find_exercise_names(course))
    for number in cells_with_nose:
        importer.reports[number].additions.append(
            "the assertions of `nose` became those of `unittest`: no present Python runs nose"
        )
    recording = record_notebook(importer.list_cells_to_run(), path.parent, in_sandbox)
    importer.plan_exercises(recording, path.parent, course)
    test_errors = [recording.errors.get(cell.number) for cell in cells if cell.role == "test"]
    if not importer.exercises and test_errors and all(test_errors):
        error = truncate(str(test_errors[0]).removesuffix(": "), 100)
        remark = f" {SANDBOX_REMARK}" if in_sandbox else ""
        raise ImportFailed(
            f"{path} passes none of its own tests ({error}): is it what students get, without the "
            f"solutions? Import the source notebook.{remark}",
        )
    files = importer.make_files(path.name)
    checks = importer.make_checks_module()
    if checks:
        title = "Checks that came with imported labs."
        write_library_module(course, CHECKS_PACKAGE, title, lab, checks)
    importer.dependencies.write(lab)
    add_lab(course, lab, files)
    remark = SANDBOX_REMARK if in_sandbox and recording.errors else ""
    packages = importer.list_allowed_packages()
    report = ImportReport(lab, list(importer.reports.values()), packages, remark)
    write_file(course.solutions / lab / REPORT_FILE, report.text())
    return report


def _make_lab_name(path: Path, course: Course) -> str:
    """Return a lab's name, made from the file's name; raise SkeletonError if it is taken."""
    name = hyphenate(path.stem) or "lab"
    if not name[0].isalpha():
        name = f"lab-{name}"
    if name in course.labs or (course.solutions / name).exists():
        raise SkeletonError(
            f"There is a lab {name!r} already: take it out of course.toml and of solutions/, "
            f"or give {path} another name.",
        )
    return name


def _find_exercise_names(course: Course) -> set[str]:
    """Return the names of all exercises in the course's present labs."""
    names = set()
    for lab in course.labs:
        for path in (course.solutions / lab).glob("[!_]*.py"):
            names.add(path.stem)
    return names


class _NotebookImporter:
    """Importer of one notebook: it plans exercises, writes the lab, and reports on each cell.

    Attributes
    ----------
    functions : dict of str to SourceCell
        Functions and classes of solution cells, each with the cell of its last definition.
    variables : dict of str to list of SourceCell
        Variables that depend on solution cells, with the solution cells that they belong to.
    places : dict of int to int
        Place of each cell in the notebook, by the number of the cell.
    first_settings : dict of (str, int) to int
        Place of the first cell that sets a variable, by its name and the number of the solution
        cell that it belongs to.
    check_places : dict of str to int
        Place in the source at which the check of each exercise stands, in the order of the checks.
    prerequisites : dict of str to list of str
        The other exercises on which each exercise builds.
    assertions : dict of int to list of Assertion
        Assertions of each test cell.
    without_comparison : dict of int to list of Assertion
        Assertions of each test cell that compare no recorded value.
    lost_values : dict of int to dict of str to str
        Names whose values cannot be compared in a test cell, with the reason.
    recent_solutions : dict of int to list of SourceCell
        Solution cells before each test cell, since the last tests.
    extracted_tests : dict of int to list of ExtractedTest
        Test functions that each test cell could be converted to.
    own_variables : dict of str to set of str
        Variables that students write just before a test function's cell, by the function's name.
    """

    def __init__(
        self,
        lab: str,
        cells: list[SourceCell],
        is_otter: bool,
        course_exercises: set[str],
    ):
        self.lab, self.cells, self.course_exercises = lab, cells, course_exercises
        self.reports = {cell.number: CellImportReport(cell) for cell in cells}
        self.exercises: dict[str, ExercisePlan] = {}
        self.functions: dict[str, SourceCell] = {}
        self.variables: dict[str, list[SourceCell]] = {}
        self.places = {cell.number: place for place, cell in enumerate(cells)}
        self.first_settings: dict[tuple[str, int], int] = {}
        self.check_places: dict[str, int] = {}
        self.prerequisites: dict[str, list[str]] = {}
        self._find_names_to_define()
        self.assertions: dict[int, list[Assertion]] = {}
        clocks = self._find_clocks()
        for cell in self._select("test"):
            assertions = self._read_assertions(cell, is_otter)
            for index, assertion in enumerate(assertions):
                if assertion.reads_clock(clocks):
                    assertions[index] = replace(assertion, kind="time")
            self.assertions[cell.number] = assertions
        self.compared: dict[int, list[Assertion]] = {}  # assertions that became cases
        self.without_comparison: dict[int, list[Assertion]] = {}
        self.lost_values: dict[int, dict[str, str]] = {}
        self.recent_solutions = _find_recent_solutions(cells)
        self.definitions = NotebookDefinitions(
            self._select("given", "solution", "test"),
            {*self.functions},
        )
        for cell in self._select("test"):
            assertions = self.assertions[cell.number]
            for index, assertion in enumerate(assertions):
                if assertion.kind == "value" and self._compares_part_only(assertion):
                    assertions[index] = replace(assertion, kind="property")
        self.extracted_tests = {}
        self.own_variables: dict[str, set[str]] = {}
        for cell in self._select("test"):
            self.extracted_tests[cell.number] = list(self._convert_to_tests(cell))

    def _find_names_to_define(self) -> None:
        solution: SourceCell | None = None
        for cell in self._select("solution", "given"):
            functions, variables = find_functions_and_variables(cell.tree)
            if cell.role == "solution":
                solution = cell
                self.functions |= dict.fromkeys([*functions, *find_classes(cell.tree)], cell)
            elif not find_read_or_assigned_names(cell.tree) & self.names_to_define:
                continue  # the cell does not depend on students' code
            for name in variables:
                if solution:
                    self.variables.setdefault(name, []).append(solution)
                    place = self.places[cell.number]
                    self.first_settings.setdefault((name, solution.number), place)

    def _read_assertions(self, cell: SourceCell, is_otter: bool) -> list[Assertion]:
        try:
            return read_assertions(
                cell.source_with_pass_for_magics,
                is_otter,
                self.names_to_define,
                cell.hidden_lines,
                self._list_statements_of_earlier_tests(cell),
            )
        except SyntaxError as error:
            problem = f"it is no Python ({error.msg}, line {error.lineno})"
            self.reports[cell.number].problems.append(problem)
            return []

    def _list_statements_of_earlier_tests(self, cell: SourceCell) -> list[ast.stmt]:
        """Return the statements of the tests above, but for names that other cells set since."""
        statements: list[ast.stmt] = []
        for earlier in self._select("given", "solution", "test"):
            if earlier is cell:
                break
            if not earlier.tree:
                continue
            if earlier.role == "test":
                statements += earlier.tree.body
                continue
            names = {*find_bound_names(earlier.tree)}
            statements = [part for part in statements if names.isdisjoint(find_bound_names(part))]
        return statements

    def _compares_part_only(self, assertion: Assertion) -> bool:
        """Return True for an assertion about a part of a value that has no comparison."""
        for name in {*assertion.references} & self.names_to_define:
            is_variable = name not in self.functions
            is_part = compares_part(assertion, name, is_variable)
            if is_part and not self._make_comparison(assertion, name):
                return True
        return False

    def _make_comparison(self, assertion: Assertion, name: str) -> str:
        """Return statements that compare a value, `found`, as an assertion does; "" if none can."""
        is_variable = name not in self.functions
        source = make_comparison(assertion, name, is_variable)
        if not source:
            return ""
        known_names = {"found", "expected", *ENGINE_FUNCTIONS, *dir(builtins)}
        free_names = find_free_names(ast.parse(source)) - known_names
        imports, unknown_names = self.definitions.collect_sources(free_names)
        if unknown_names or not all(map(_imports_from_comparison_module, imports)):
            return ""
        if is_variable:
            values = f'found, expected = found["{name}"], expected["{name}"]'
            return "\n".join([*imports, values, source])
        return "\n".join([*imports, source])

    def _needs_object(
        self,
        assertion: Assertion,
        cell: SourceCell,
        comparisons: Sequence[tuple[str, RecordedCall | None, str]],
    ) -> bool:
        """Return True if a comparison fails for the solution's value once that is plain data.

        `count("a")["z"] == 0` holds for a Counter, and not for the dict that leaves a submission.
        """
        for name, call, problem in comparisons:
            source = self._make_comparison(assertion, name)
            if problem or assertion.kind == "error" or not source:
                continue
            if call is None:
                expected: Value = {name: self.recording.variables[cell.number, name][0]}
            else:
                expected = call.result
            plan = ExercisePlan("answer", cell, comparisons=[source])
            if not _load_equality(plan)(copy_value(expected), copy_value(expected)):
                return True
        return False

    def _find_clocks(self) -> set[str]:
        """Return the names of the modules, functions and classes with which tests measure time."""
        clocks: set[str] = set()
        for cell in self._select("given", "test"):
            for node in ast.walk(cell.tree or ast.Module([], [])):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    if find_imported_modules([node]) <= _CLOCK_MODULES:
                        clocks |= find_imported_names(node)
                elif (
                    isinstance(node, (ast.FunctionDef, ast.ClassDef))
                    and find_read_or_assigned_names(node) & clocks
                ):
                    clocks.add(node.name)
        return clocks - self.names_to_define

    @property
    def names_to_define(self) -> set[str]:
        """Names of the functions and variables that students have to write."""
        return {*self.functions, *self.variables}

    def _select(self, *roles: str) -> list[SourceCell]:
        return [cell for cell in self.cells if cell.role in roles and cell.is_code]

    def _convert_to_tests(self, cell: SourceCell) -> Iterator[ExtractedTest]:
        """Yield test functions made from a cell: one for each function, one for all variables."""
        if not cell.tree:
            return
        asks_for_recent = self._asks_for_recent_names(cell)
        for hidden in (False, True):
            lines: dict[str, set[int]] = {}
            variables: list[str] = []
            for assertion in self.assertions[cell.number]:
                if assertion.kind not in _KINDS_IN_TESTS or assertion.hidden != hidden:
                    continue
                names = []
                for name in assertion.references:
                    if name not in self.variables:
                        continue
                    is_recent = self._is_written_just_before_test(name, cell)
                    if is_recent or not (asks_for_recent or self._is_set_again(name)):
                        names.append(name)
                _add_new(variables, names)
                subjects = [*(assertion.names & set(self.functions))]
                if names:
                    subjects.append("")
                for subject in subjects:
                    lines.setdefault(subject, set()).update(assertion.lines)
            for subject, asserted_lines in lines.items():
                test = self.definitions.make_test(
                    cell,
                    asserted_lines,
                    hidden,
                    subject,
                    [] if subject else [*variables, *self._find_earlier_variables(cell, variables)],
                )
                if test:
                    self.own_variables[test.name] = {*test.variables} & {*variables}
                    yield test

    def _is_set_again(self, name: str) -> bool:
        """Return True if several cells set a variable: its value is not the same for all tests."""
        cells = self._select("given", "solution", "test")
        return sum(name in find_changed_names(cell.tree) for cell in cells) > 1

    def _asks_for_recent_names(self, cell: SourceCell) -> bool:
        """Return True if a test cell asks for something that students write just before it."""
        for assertion in self.assertions[cell.number]:
            for name in assertion.names & self.names_to_define:
                if self._is_written_just_before_test(name, cell):
                    return True
        return False

    def _find_earlier_variables(self, test: SourceCell, variables: Sequence[str]) -> list[str]:
        """Return the other variables of students' that a test of variables may read.

        They are the submission's own: an author's test asks if the answers agree with each other.
        """
        names = []
        for name in self.variables:
            is_other = name not in (*variables, *self.functions)
            if is_other and self._find_homes_before_test(name, test):
                names.append(name)
        return names

    def _is_written_just_before_test(self, name: str, test: SourceCell) -> bool:
        """Return True if students write this name in the solution cells just before the test."""
        homes = self._find_homes_before_test(name, test)
        return any(answer_cell in self.recent_solutions[test.number] for answer_cell in homes)

    def _find_homes_before_test(self, name: str, test: SourceCell) -> list[SourceCell]:
        """Return the solution cells that a name belongs to, if it is set there before the test.

        A given cell below the test may set a variable once more, from what the solution above
        returns.
        """
        if name in self.functions:
            return [self.functions[name]]
        homes = []
        for cell in self.variables[name]:
            if self.first_settings[name, cell.number] < self.places[test.number]:
                homes.append(cell)
        return homes

    def list_cells_to_run(self) -> list[dict]:
        """Return the cells that `record_notebook` has to run, in the form that it takes."""
        cells = []
        for cell in self._select("given", "solution", "test", "by hand"):
            is_test = cell.role == "test"
            if cell.tree is None and not is_test:
                continue
            tests = self.extracted_tests.get(cell.number, [])
            variables: set[str] = set()
            for assertion in self.assertions.get(cell.number, ()):
                variables |= {*assertion.references}
            variables -= set(dir(builtins))
            for test in tests:
                variables |= {*test.values}
            cells.append(
                {
                    "number": cell.number,
                    "source": self._make_source_to_run(cell),
                    "functions": [
                        name
                        for name in find_functions_and_variables(cell.tree)[0]
                        if self.functions.get(name) == cell
                    ],
                    "is_test": is_test,
                    "variables": sorted(variables),
                    "tests": [*map(asdict, tests)],
                },
            )
        return cells

    def _make_source_to_run(self, cell: SourceCell) -> str:
        """Return a cell's source for the run; a test does not ask how long the solution took.

        A busy machine would fail such a test, and with it everything else in its cell.
        """
        source = cell.source_with_pass_for_magics
        if cell.role != "test":
            return source
        lines = uncomment_autotests(source).split("\n")
        for statement in ast.walk(cell.tree) if cell.tree else ():
            if not isinstance(statement, ast.Assert):
                continue
            span = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
            kinds = {part.kind for part in self.assertions[cell.number] if part.lines == span}
            indent = lines[span[0] - 1][: statement.col_offset]
            if kinds == {"time"} and not indent.strip():
                lines[span[0] - 1 : span[-1]] = [f"{indent}pass", *[""] * (len(span) - 1)]
        return "\n".join(lines)

    # Methods that plan exercises from the test cells

    def plan_exercises(self, recording: Recording, folder: Path, course: Course) -> None:
        """Plan exercises from a recorded run of the notebook; complete the report on each cell."""
        self.recording, self.folder = recording, folder
        for number, error in recording.errors.items():
            report, text = self.reports[number], truncate(error.removesuffix(": "), 160)
            if report.cell.role == "test":
                report.problems.append(f"the notebook's own solution does not pass it: {text}")
            else:
                report.problems.append(f"it raises {text}")
            report.lost_points = report.cell.points
        for cell in self._select("test"):
            if cell.number not in recording.errors:
                self._plan_comparisons(cell)
        for cell in self._select("test"):
            self._plan_properties(cell)
        for plan in list(self.exercises.values()):
            self._drop_if_impossible(plan)
        code_cells = [cell for cell in self.cells if cell.is_code]
        visible_modules = find_imported_dotted_names(cell.visible_tree for cell in code_cells)
        all_modules = find_imported_dotted_names(cell.tree for cell in code_cells)
        self.dependencies = Dependencies(folder, course, visible_modules, all_modules)
        for number, tree in self._list_lab_code():
            self.dependencies.add(self.reports[number], tree)
        self._add_read_files()
        for report in self.reports.values():
            self._complete_report(report)

    def _add_read_files(self) -> None:
        """Add the files that cells without solution have read; report those of solutions alone."""
        for number, names in self.recording.files.items():
            cell = self.reports[number].cell
            if cell.role in _ROLES_WITHOUT_SOLUTION and not cell.hidden_lines:
                self.dependencies.add_read_files(self.reports[number], names)
        for number, names in self.recording.files.items():
            if self.reports[number].cell.role not in _ROLES_WITHOUT_SOLUTION:
                self.dependencies.report_private_files(self.reports[number], names)

    def _plan_comparisons(self, cell: SourceCell) -> None:
        """Make test cases from a test cell's comparisons; share its points among the exercises."""
        comparisons_by_name: dict[str, list[tuple[RecordedCall | None, Assertion]]] = {}
        compared: list[Assertion] = []
        without_comparison: list[Assertion] = []
        lost_values: dict[str, str] = {}
        for assertion in self.assertions[cell.number]:
            comparisons = list(self._find_comparisons(assertion, cell))
            if self._needs_object(assertion, cell, comparisons):
                comparisons = []
            for name, call, problem in comparisons:
                if problem:
                    lost_values.setdefault(name, problem)
                else:
                    comparisons_by_name.setdefault(name, []).append((call, assertion))
            if comparisons and not any(problem for _, _, problem in comparisons):
                compared.append(assertion)
            if not comparisons and assertion.kind != "nothing":
                without_comparison.append(assertion)
        plans = self._add_comparisons(cell, comparisons_by_name)
        if plans:
            self._share_points(cell, plans)
        else:
            self.reports[cell.number].lost_points = cell.points
        self._note_type_checks(cell, without_comparison)
        self.compared[cell.number] = compared
        self.without_comparison[cell.number], self.lost_values[cell.number] = (
            without_comparison,
            lost_values,
        )

    def _add_comparisons(
        self,
        cell: SourceCell,
        comparisons_by_name: Mapping[str, list[tuple[RecordedCall | None, Assertion]]],
    ) -> list[ExercisePlan]:
        """Add comparisons as test cases to exercises; prefer exercises just before the test."""
        names = [
            name for name in comparisons_by_name if self._is_written_just_before_test(name, cell)
        ]
        if not names:
            names = [name for name in comparisons_by_name if name in self.functions] or list(
                comparisons_by_name
            )
        plans = []
        variables = []
        for name in names:
            if name not in self.functions:
                variables.append(name)
                continue
            plan = self._get_or_create_function_plan(name)
            for call, assertion in comparisons_by_name[name]:
                plan.tolerances.append(assertion.tolerance)
                if call:
                    plan.calls.append((call, assertion.hidden, assertion.source))
                if assertion.kind != "error":
                    plan.add_comparison(self._make_comparison(assertion, name))
            plans.append(plan)
        if variables:
            plan = self._get_or_create_variables_plan(variables, cell)
            plan.add_compared_variables(variables, cell.number)
            for name in variables:
                plan.hidden |= all(assertion.hidden for _, assertion in comparisons_by_name[name])
                for _, assertion in comparisons_by_name[name]:
                    plan.tolerances.append(assertion.tolerance)
                    plan.add_comparison(self._make_comparison(assertion, name))
            plans.append(plan)
        return plans

    def _note_type_checks(self, cell: SourceCell, without_comparison: Sequence[Assertion]) -> None:
        names: set[str] = set()
        for assertion in without_comparison:
            if _TYPE_CHECK.search(assertion.source):
                names |= {*assertion.references}
        for assertion in self.assertions[cell.number]:
            if _IDENTITY_WITH_BOOL.search(assertion.source):
                names |= {*assertion.references}
        for plan in self.exercises.values():
            if cell.number in plan.tests and names & {plan.name, *plan.variables}:
                plan.checks_type = True

    def _find_comparisons(
        self, assertion: Assertion, cell: SourceCell
    ) -> Iterator[tuple[str, RecordedCall | None, str]]:
        """Yield each compared call or variable; and why it can be no test case, or ""."""
        calls = self._find_calls(assertion, cell)
        if assertion.kind == "error":
            for call in calls:
                if format_exception_name(call.error) and not call.problem:
                    text = self._find_error_text(assertion, cell)
                    yield call.function, replace(call, error_text=text), ""
            return
        if assertion.kind == "value":
            inner_functions = assertion.find_inner_functions({*self.functions})
            new = {name for name in self.functions if self._is_written_just_before_test(name, cell)}
            outer_functions = {call.function for call in calls} - inner_functions
            if new & inner_functions and not new & outer_functions:
                return  # this assertion tests a function of an earlier exercise
            calls = [call for call in calls if call.function not in inner_functions]
        elif not self._asserts_truth(assertion, calls):
            return
        for call in calls:
            if call.problem or not call.error:
                yield call.function, call, call.problem or self._explain_unusable(call, cell)
        if calls:
            return
        for name in assertion.references:
            if name in self.variables and (cell.number, name) in self.recording.variables:
                problem = self.recording.variables[cell.number, name][1]
                yield name, None, f"it is {problem}" if problem else ""

    def _find_error_text(self, assertion: Assertion, cell: SourceCell) -> str:
        """Return the text that an assertion expects in an error's message; report what it loses."""
        patterns, texts, is_lost = find_error_texts(assertion.expression)
        for pattern in patterns:
            text = max(_LITERAL_PARTS.split(pattern), key=len)
            is_lost |= text != pattern
            texts.append(text)
        if is_lost or len(texts) > 1:
            part = "only its type"
            if texts and texts[0]:
                part = f"only the part {texts[0]!r} of the text"
            self.reports[cell.number].additions.append(
                f"`{_shorten(assertion.source)}` is kept weaker: of the error, {part} is asked here"
            )
        return texts[0] if texts else ""

    def _asserts_truth(self, assertion: Assertion, calls: Sequence[RecordedCall]) -> bool:
        """Return True for an assertion that a call is true or false, if it returned a bool."""
        if assertion.kind != "property" or not assertion.is_truth_of_call or not calls:
            return False
        return all(type(call.result) is bool for call in calls)

    def _find_calls(self, assertion: Assertion, cell: SourceCell) -> list[RecordedCall]:
        calls = []
        for call in self.recording.calls:
            if call.cell == cell.number and assertion.has_call(call.function, call.line):
                calls.append(call)
        return calls

    def _plan_properties(self, cell: SourceCell) -> None:
        """Turn assertions that compare no value into test functions, or report them as left out.

        The right value of a compared exercise has the asserted property anyway; other properties
        become test functions, or are reported.
        """
        report = self.reports[cell.number]
        plans, remaining = self._split_implied_properties(cell)
        lost_values = self.lost_values.get(cell.number, {})
        tested_plans: list[ExercisePlan] = []
        for test, assertions in self._select_tests(cell, remaining, lost_values):
            remaining = [assertion for assertion in remaining if assertion not in assertions]
            names = {test.subject, *test.variables}
            lost_values = {**lost_values}
            for name in names:
                lost_values.pop(name, None)
            label = _shorten(assertions[0].source) if assertions else test.subject
            plan = self._add_test(cell, self._leave_out_compared_calls(cell, test), label)
            if isinstance(plan, ExercisePlan):
                plans[plan.name] = plan
                if plan not in tested_plans:
                    tested_plans.append(plan)
            else:
                suffix = ""
                if len(assertions) > 1:
                    suffix = f", and {format_count(len(assertions) - 1, 'more assertion')}"
                report.problems.append(f"`{label}`{suffix}: {plan}")
        for assertion in remaining:
            report.problems.append(f"`{_shorten(assertion.source)}` {_NO_EXERCISE[assertion.kind]}")
        for name, problem in lost_values.items():
            report.problems.append(f"`{name}` cannot be asked: {problem}")
        plans_of_cell = [plan for plan in self.exercises.values() if cell.number in plan.tests]
        new_plans = [plan for plan in tested_plans if plan not in plans_of_cell]
        if not plans_of_cell and plans and (tested_plans or not report.problems):
            report.lost_points = 0.0
            self._share_points(cell, list(plans.values()))
        elif plans_of_cell and new_plans:  # a test function without points would be dropped
            for plan in plans_of_cell:
                del plan.points_by_test[cell.number]
            self._share_points(cell, [*plans_of_cell, *new_plans])

    def _split_implied_properties(
        self,
        cell: SourceCell,
    ) -> tuple[dict[str, ExercisePlan], list[Assertion]]:
        """Separate the assertions that follow from an exercise's right value from all others."""
        plans_by_name = {}
        for plan in self.exercises.values():
            for name in plan.compared_variables or [plan.name]:
                plans_by_name[name] = plan
        plans: dict[str, ExercisePlan] = {}
        remaining = []
        for assertion in self.without_comparison.get(cell.number, ()):
            names = assertion.names & self.names_to_define
            is_property = assertion.kind == "property" and names and names <= {*plans_by_name}
            is_implied = is_property and not any(map(self._is_compared_in_parts, names))
            if is_implied and self._has_cases_for(assertion, cell):
                for name in sorted(names):
                    plan = plans_by_name[name]
                    plans[plan.name] = plan
                    if asks_for_form(assertion, name, name not in self.functions):
                        plan.add_comparison(self._make_comparison(assertion, name))
                    if _PYTHON_TYPE_CHECK.search(assertion.source):
                        plan.type_checks.append((cell.number, assertion.source))
            else:
                remaining.append(assertion)
        return plans, remaining

    def _is_compared_in_parts(self, name: str) -> bool:
        """Return True if the tests compare only parts of a value, such as `found[-1]`.

        A value that agrees in these parts need not have the other properties of the right one.
        """
        is_variable = name not in self.functions
        is_compared = False
        for assertion in itertools.chain(*self.compared.values()):
            if name not in assertion.names:
                continue
            if not compares_part(assertion, name, is_variable):
                return False
            is_compared = True
        return is_compared

    def _has_cases_for(self, assertion: Assertion, cell: SourceCell) -> bool:
        """Return True if the cases compare all calls that this assertion depends on."""
        for name in assertion.names & set(self.exercises):
            if not self.exercises[name].calls or assertion.depends_on_outside_calls_of(name):
                return False
        for call in self._find_calls(assertion, cell):
            plan = self.exercises.get(call.function)
            if not plan:
                continue
            cases = set()
            for case, _, _ in plan.calls:
                cases.add(CaseSource("", case.args, case.kwargs).arguments)
            if CaseSource("", call.args, call.kwargs).arguments not in cases:
                return False
        return True

    def _explain_unusable(self, call: RecordedCall, cell: SourceCell) -> str:
        """Return the reason why a call's arguments cannot stand in a test case; "" if they can."""
        for argument in (*call.args, *call.kwargs.values()):
            if isinstance(argument, str) and argument in _find_written_files(cell.tree):
                return "an argument is the name of a file that only this test makes"
            if is_file_in_folder(argument, self.folder):
                return "an argument is the name of a file: let it take what the file holds"
        return explain_unwritable(call.args, call.kwargs)

    def _select_tests(
        self, cell: SourceCell, assertions: list[Assertion], lost_values: Mapping[str, str]
    ) -> Iterator[tuple[ExtractedTest, list[Assertion]]]:
        """Yield the test functions that these assertions need, each with its assertions."""
        assertions = [assertion for assertion in assertions if assertion.kind in _KINDS_IN_TESTS]
        subjects = {*lost_values}
        for assertion in assertions:
            subjects |= assertion.names
        subjects &= set(self.functions)
        subjects = {
            name for name in subjects if self._is_written_just_before_test(name, cell)
        } or subjects
        for test in self.extracted_tests[cell.number]:
            names = {test.subject, *self.own_variables[test.name]}
            own_assertions = []
            for assertion in assertions:
                if names & assertion.names and assertion.hidden == test.hidden:
                    own_assertions.append(assertion)
            is_needed = test.subject in subjects if test.subject else bool(own_assertions)
            if is_needed:
                yield test, own_assertions

    def _leave_out_compared_calls(self, cell: SourceCell, test: ExtractedTest) -> ExtractedTest:
        """Return a hidden test without assertions that became cases: answers can read tests.

        A test function runs in the submission's process, and an answer can read its caller's text.
        The cases are compared outside. A test whose assertions may depend on each other, as one that
        draws random numbers, is kept whole.
        """
        if not test.hidden or any(
            map(may_affect_later_assertions, cell.tree.body if cell.tree else ())
        ):
            return test
        lines: set[int] = set()
        for assertion in self.assertions[cell.number]:
            is_asked = (
                assertion.kind in _KINDS_IN_TESTS and assertion not in self.compared[cell.number]
            )
            if is_asked and test.subject in assertion.names:
                lines.update(assertion.lines)
        smaller = self.definitions.make_test(cell, lines, True, test.subject, test.variables)
        return smaller if smaller and test.subject else test

    def _add_test(self, cell: SourceCell, test: ExtractedTest, label: str) -> ExercisePlan | str:
        """Add a test function to its exercise; return the exercise, or an obstacle as text."""
        trial = self.recording.trials.get(test.name)
        names = self._find_read_variables_set_by_tests(
            {test.subject, *test.helper_functions}, [cell.number]
        )
        if names:
            return f"the solution reads {_quote_names(names)}, which a test sets"
        if trial is None:
            return "its cell takes too long to be run again"
        opens_file = self.recording.files.get(cell.number) and _OPENS_FILE.search(test.source)
        if test.hidden and opens_file:
            return "it reads a file, and what comes along is students', too"
        if test.hidden and self._reads_file(test):
            return "it reads a file, and what comes along is students', too"
        files = _find_written_files(cell.tree) - _find_written_files(ast.parse(test.source))
        if files & _find_strings(test.source):
            quoted_files = _quote_names(sorted(files))
            return f"it needs {quoted_files}, a file that another part of the cell makes"
        names_in_notebook: set[str] = set()
        for earlier in self._select("given", "solution", "by hand"):
            names_in_notebook |= find_changed_names(earlier.tree)
        for name in test.values if not trial.problem else ():
            if name not in trial.values and name not in names_in_notebook:
                return f"`{name}`, which a test makes, holds more than can be written down"
        large = [k for k, value in trial.values.items() if explain_unwritable((), {k: value})]
        problem = trial.problem
        if not problem and test.subject:
            problem = explain_unwritable((), trial.values)
        if not problem and trial.expects_zeros and not self._has_test_that_refuses_zeros(test):
            problem = ZEROS_PASS
        if problem:
            return f"it cannot be imported: {problem}"
        if trial.is_weak:
            self.reports[cell.number].additions.append(
                f"`{label}` is kept as it is, and very different values of the same form pass it"
            )
        plan = self._get_or_create_plan_of_test(test, cell)
        _add_new(plan.variables, [*test.variables, *large])
        plan.further_functions |= {*test.helper_functions}
        values = {name: value for name, value in trial.values.items() if name in test.values}
        for name in large:
            del values[name]
        if large:
            values["as_due"] = large
        if test.hidden:
            label = f"hidden tests of cell {cell.number}"
        case = CaseSource(label, (), values, test.hidden, test=test.source, test_cell=cell.number)
        plan.test_cases.append(case)
        return plan

    def _has_test_that_refuses_zeros(self, test: ExtractedTest) -> bool:
        """Return True if another test of the same answer does not expect zeros alone."""
        for other in itertools.chain.from_iterable(self.extracted_tests.values()):
            if test.subject:
                is_of_same_answer = other.subject == test.subject
            else:
                variables = self.own_variables[test.name]
                is_of_same_answer = not variables.isdisjoint(self.own_variables[other.name])
            trial = self.recording.trials.get(other.name)
            if is_of_same_answer and trial and not trial.problem and not trial.expects_zeros:
                return True
        return False

    def _reads_file(self, test: ExtractedTest) -> bool:
        return any(is_file_in_folder(text, self.folder) for text in _find_strings(test.source))

    def _share_points(self, cell: SourceCell, plans: Sequence[ExercisePlan]) -> None:
        """Divide a test cell's points among the exercises to which it belongs."""
        shares = reversed(split_points(cell.points, len(plans)))
        for plan, points in zip(plans, shares, strict=True):
            earlier_points = plan.points_by_test.get(cell.number, 0.0)
            plan.points_by_test[cell.number] = earlier_points + points

    def _get_or_create_plan_of_test(self, test: ExtractedTest, cell: SourceCell) -> ExercisePlan:
        if test.subject:
            return self._get_or_create_function_plan(test.subject)
        return self._get_or_create_variables_plan(test.variables, cell)

    def _get_or_create_function_plan(self, name: str) -> ExercisePlan:
        return self.exercises.setdefault(name, ExercisePlan(name, self.functions[name]))

    def _get_or_create_variables_plan(self, names: list[str], test: SourceCell) -> ExercisePlan:
        """Return the exercise for these variables: that of the last cell that sets one of them."""
        recent = self.recent_solutions[test.number]
        homes = []
        for name in names:
            for cell in self._find_homes_before_test(name, test):
                if not recent or cell in recent:
                    homes.append(cell)
        if not homes:
            homes = [self.variables[names[0]][-1]]
        answer_cell = max(homes, key=lambda cell: cell.number)
        for plan in self.exercises.values():
            if plan.variables and plan.answer_cell == answer_cell:
                return plan
        plan = ExercisePlan(self._make_unique_name(f"answer_{names[0]}"), answer_cell)
        return self.exercises.setdefault(plan.name, plan)

    def _make_unique_name(self, name: str) -> str:
        name = re.sub(r"[^A-Za-z0-9_]", "", name)
        name = re.sub(r"_{2,}", "_", name).strip("_") or "answer"
        used_names = {*self.course_exercises, *self.names_to_define, *self.exercises}
        unique_name, number = name, 1
        while unique_name in used_names:
            number += 1
            unique_name = f"{name}_{number}"
        return unique_name

    def _drop_if_impossible(self, plan: ExercisePlan) -> None:
        """Remove an exercise that this course cannot have, and report its points as lost."""
        problem = self._explain_impossible(plan)
        if not problem:
            return
        del self.exercises[plan.name]
        for number in plan.tests if plan.points else ():
            report = self.reports[number]
            report.problems.append(f"`{plan.name}`: {problem}")
            report.dropped_exercises += 1
            if any(number in remaining_plan.tests for remaining_plan in self.exercises.values()):
                report.lost_points += plan.points_by_test[number]
            else:
                report.lost_points = report.cell.points

    def _explain_impossible(self, plan: ExercisePlan) -> str:
        if not plan.variables and plan.name in self.course_exercises:
            return f"another lab has an exercise `{plan.name}`; rename one of them"
        homes = []
        for cell in self._select("solution"):
            if plan.name in (*find_functions_and_variables(cell.tree)[0], *find_classes(cell.tree)):
                homes.append(cell.number)
        if len(homes) > 1 and plan.tests[0] < homes[-1]:
            return f"cells {join_words(homes)} define `{plan.name}`, each for its own tests; rename one of them"
        if not is_exercise_name(plan.name):
            return (
                f"`{plan.name}` is no name for an exercise: plain letters, and no double `_`, are"
            )
        if plan.points <= 0:
            return "no points hang on it"
        if plan.answer_cell.number in self.recording.errors:
            return "its solution raises"
        names = self._find_read_variables_set_by_tests(
            {plan.name, *plan.further_functions}, plan.tests
        )
        if names:
            return f"its solution reads {_quote_names(names)}, which a test sets"
        for neighbour in self.exercises.values():
            if plan.variables and neighbour is not plan and _have_same_answer(plan, neighbour):
                return (
                    f"no statement of the answer sets {_quote_names(plan.variables)} apart from "
                    f"`{neighbour.name}`: compare what `{neighbour.name}` gives instead"
                )
        return ""

    def _find_read_variables_set_by_tests(
        self, functions: set[str], tests: Sequence[int]
    ) -> list[str]:
        """Return the variables that these functions read although only a test sets them."""
        roles: dict[str, set[str]] = {}
        for cell in self._select("given", "solution", "test"):
            for name in find_functions_and_variables(cell.tree)[1]:
                roles.setdefault(name, set()).add(cell.role)
        names_read: set[str] = set()
        for function in functions & set(self.functions):
            names_read |= find_free_names(self._find_definition(function))
        names_in_tests: set[str] = set()
        for number in tests:
            names_in_tests |= {*find_functions_and_variables(self.reports[number].cell.tree)[1]}
        for name, roles_of_name in roles.items():
            if roles_of_name == {"test"}:
                names_in_tests.add(name)
        imported_names: set[str] = set()
        for cell in self._select("given", "solution"):
            if cell.tree is not None:
                imported_names |= find_imported_names(cell.tree)
        names = (names_read & names_in_tests) - imported_names
        return sorted(name for name in names if not self._is_constant_of_given_cells(name))

    def _is_constant_of_given_cells(self, name: str) -> bool:
        """Return True if given cells set a variable to a constant, and tests only to the same one.

        Answers may set it to another; then a given cell below sets it again.
        """
        roles: list[str] = []
        sources: set[str] = set()
        for cell in self._select("given", "solution", "test"):
            for statement in cell.tree.body if cell.tree else ():
                if name not in find_changed_names(statement):
                    continue
                if cell.role != "test":
                    roles.append(cell.role)
                if cell.role != "solution":
                    sources.add(ast.unparse(statement))
        if not roles or {roles[0], roles[-1]} != {"given"} or len(sources) > 1:
            return False
        return re.fullmatch(rf"{name} = [-+.\w]+", sources.pop()) is not None

    def _find_definition(self, name: str) -> ast.FunctionDef | ast.ClassDef:
        for node in ast.walk(self.functions[name].tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
                return node
        raise LookupError(name)

    def _list_lab_code(self) -> Iterator[tuple[int, ast.AST]]:
        """Yield the code of the lab's cells and visible tests, each with a source cell's number."""
        for cell in self.cells:
            if cell.role == "test":
                yield cell.number, ast.parse(self._extract_definitions(cell))
            elif cell.tree is not None:
                yield cell.number, cell.tree
        for plan in self.exercises.values():
            for case in plan.test_cases:
                if not case.hidden:
                    yield plan.tests[-1], ast.parse(case.test)

    def _complete_report(self, report: CellImportReport) -> None:
        cell = report.cell
        report.outcome = _OUTCOMES[cell.role]
        plans = self.exercises.values()
        if cell.role == "test":
            names = [plan.name for plan in plans if cell.number in plan.tests]
            if names:
                report.outcome = f"asked as {_quote_names(names)}"
                report.additions += self._describe_point_sharing(cell)
            elif not report.problems:
                report.problems.append("nothing in it compares what students write with a value")
        elif cell.role == "solution":
            names = [plan.name for plan in plans if plan.answer_cell == cell]
            if names:
                report.outcome = f"the answer to {_quote_names(names)}"
        elif cell.role == "task":
            report.additions.append(
                "the answer is written into a cell below it; students may add cells"
            )
        if cell.is_code and cell.role != "test":
            if cell.source != cell.source_with_pass_for_magics:
                report.additions.append("magics and shell commands are taken out: a lab has none")
            if cell.tree is None:
                report.problems.append("it is no Python, and is kept as text")

    def _describe_point_sharing(self, cell: SourceCell) -> Iterator[str]:
        """Yield how a test cell's points are given, if other cells give points for the same answer."""
        for plan in self.exercises.values():
            if cell.number not in plan.tests or not plan.has_several_scored_tests:
                continue
            part = plan.name_parts().get(cell.number)
            if part:
                yield f"its points are given apart, as “{part}” of `{plan.name}`"
            elif cell.points:
                scored = [number for number, points in plan.points_by_test.items() if points]
                others = join_words(sorted({*scored} - {cell.number}))
                noun = "cell" if others.isdigit() else "cells"
                yield f"its points and those of {noun} {others} are given together, or not at all"

    def list_allowed_packages(self) -> list[str]:
        """Return the packages that answers may import, in addition to those of every course.

        A lab that imports one of the course's packages allows all of them.
        """
        course = self.dependencies.course
        packages = {*course.imports, *self.dependencies.packages}
        if not packages & find_imported_modules(cell.tree for cell in self.cells if cell.is_code):
            packages = set()
        return sorted({*course.library, *self.dependencies.modules, *packages} - ENGINE_PACKAGES)

    # Methods that write the lab's files

    def make_files(self, source_name: str) -> dict[str, str]:
        """Return the contents of the files in the lab's folder, by file name."""
        self._order_checks()
        title = self._find_title().replace("\\", "").replace('"', "'")
        files = {"lab.toml": f'title = "{title}"\nminutes = 60\ndifficulty = "moderate"\n'}
        for plan in self.exercises.values():
            files[f"{plan.name}.py"] = self._make_exercise_source(plan, source_name)
        notebook = nbformat.v4.new_notebook(cells=list(self._make_notebook_cells()))
        return files | {f"{self.lab}.ipynb": nbformat.writes(notebook) + "\n"}

    def _find_title(self) -> str:
        for cell in self.cells:
            heading = re.search(r"^# +(.+)", cell.source, re.M)
            if heading and not cell.is_code:
                title = re.sub(r"[*_`#]", "", heading[1]).strip()
                break
        else:
            title = ""
        return title or self.lab.replace("-", " ").capitalize()

    def _make_exercise_source(self, plan: ExercisePlan, source_name: str) -> str:
        """Return the text of the exercise's Python file, and report what it leaves out."""
        parts = plan.name_parts()
        cases = self._make_cases(plan, parts)
        if len(cases) > MAX_CASES:
            self.reports[plan.tests[-1]].problems.append(
                f"{len(cases) - MAX_CASES} of the {len(cases)} calls of `{plan.name}`: these are enough",
            )
        selected_cases = [*_select_cases_evenly(cases, MAX_CASES), *plan.test_cases]
        rules: dict[str, Any] = {} if plan.tolerance == EXACT else {"tolerance": plan.tolerance}
        if not plan.checks_type and not plan.test_cases and self._has_integer_result(plan):
            rules["floats_too"] = True  # the source's tests accept 7.0 for 7, too
        if self._has_equality(plan):
            equality = plan.equality_name
        else:
            equality = ""
            for number, check in plan.type_checks:
                self.reports[number].additions.append(
                    f"`{_shorten(check)}` is weaker here, since only the value is compared: a number "
                    "of NumPy's, a whole number for a float and a tuple for a list are right, too"
                )
        if self._may_modify(plan):
            rules["may_modify"] = True
        domain = ""
        if plan.calls and all(call.has_printed for call, _, _ in plan.calls):
            rules["returns"] = "printed"
        elif plan.calls:
            arguments = [(call.args, call.kwargs) for call, _, _ in plan.calls if not call.error]
            definition = self._find_definition(plan.name)
            if isinstance(definition, ast.FunctionDef):
                domain = propose_domain(plan.name, definition, arguments)
        return make_exercise_source(
            plan.name,
            f"{source_name}, cell {plan.answer_cell.number}, tested in {join_words(plan.tests)}",
            plan.points,
            {name: plan.points_by_test.get(number, 0.0) for number, name in parts.items()},
            rules,
            _number_equal_labels(_assign_parts_to_cases(selected_cases, parts)),
            domain,
            self.prerequisites[plan.name],
            f"{CHECKS_PACKAGE}.{get_module_name(self.lab)}",
            equality,
        )

    def _has_equality(self, plan: ExercisePlan) -> bool:
        """Return True if the tests' own comparisons decide whether an answer's value is right.

        They do not if they accept an answer that takes no thought: zeros, None or an argument.
        """
        if plan.lacks_comparison or not plan.comparisons:
            return False
        if any(call.has_printed for call, _, _ in plan.calls):
            return False
        expected_values: list[Value] = []
        arguments: list[Sequence[Value]] = []
        for call, _, _ in plan.calls:
            if not call.error:
                expected_values.append(call.result)
                arguments.append([*call.args, *call.kwargs.values()])
        for number, names in plan.variables_by_test.items():
            values = {name: self.recording.variables[number, name][0] for name in names}
            expected_values.append(values)
            arguments.append([])
        equals = _load_equality(plan)
        thoughtless = [[*map(blank_like, expected_values)], [None] * len(expected_values)]
        for position in range(min(map(len, arguments), default=0)):
            thoughtless.append([values[position] for values in arguments])
        has_decided = False
        accepted = [True] * len(thoughtless)
        for index, expected in enumerate(expected_values):
            if equals(copy_value(expected), copy_value(expected)) is None:
                for number, answers in enumerate(thoughtless):
                    accepted[number] &= values_agree(expected, answers[index], ComparisonRules())
                continue
            has_decided = True
            for number, answers in enumerate(thoughtless):
                accepted[number] &= bool(equals(copy_value(answers[index]), copy_value(expected)))
        return has_decided and not any(accepted)

    def _may_modify(self, plan: ExercisePlan) -> bool:
        """Return True if no test looks again at an argument with which it calls a function."""
        if not plan.calls or plan.variables:
            return False
        for cell in self._select("test"):
            if cell.number not in plan.tests or not cell.tree:
                continue
            loaded = [node.id for node in ast.walk(cell.tree) if _is_loaded(node)]
            own_variables = {*find_functions_and_variables(cell.tree)[1]}
            for node in ast.walk(cell.tree):
                if not isinstance(node, ast.Call) or get_called_name(node) != plan.name:
                    continue
                for part in (*node.args, *(keyword.value for keyword in node.keywords)):
                    for name in {*filter(_is_loaded, ast.walk(part))}:
                        is_kept = loaded.count(name.id) > 1 or name.id not in own_variables
                        if is_kept and not self._is_constant(name.id):
                            return False
        return True

    def _is_constant(self, name: str) -> bool:
        """Return True for a name of a module, function or class, which no answer changes."""
        if name in self.functions or hasattr(builtins, name):
            return True
        sources, _ = self.definitions.collect_sources({name})
        return bool(sources)

    def _make_cases(self, plan: ExercisePlan, parts: Mapping[int, str]) -> list[CaseSource]:
        """Return a case for each set of arguments and each part; prefer calls that students see."""
        cases: dict[tuple[str, str], CaseSource] = {}
        variables_by_test = plan.variables_by_test
        if variables_by_test and not parts:
            variables_by_test = {0: plan.compared_variables}
        for number, variables in variables_by_test.items():
            kwargs = {}
            if variables != plan.variables:
                kwargs[COMPARED_VARIABLES] = variables
            label = "what the variables hold"
            cases["", parts.get(number, "")] = CaseSource(
                label, kwargs=kwargs, hidden=plan.hidden, test_cell=number
            )
        for call, hidden, source in plan.calls:
            error = format_exception_name(call.error)
            label = _shorten(source)
            if error:
                label = f"{plan.name} refuses {len(cases) + 1}"
            elif hidden:
                # Students read the label, so it must not quote the expected value.
                label = f"hidden test {len(cases) + 1}"
            case = CaseSource(label, call.args, call.kwargs, hidden, error, test_cell=call.cell)
            case = replace(case, error_text=call.error_text if error else "")
            key = (case.arguments, parts.get(call.cell, ""))
            if key not in cases or not hidden:
                cases[key] = case
        return _label_cases_by_call(plan.name, list(cases.values()))

    def _has_integer_result(self, plan: ExercisePlan) -> bool:
        results = [call.result for call, _, _ in plan.calls]
        for (number, name), (value, _) in self.recording.variables.items():
            if number in plan.tests and name in plan.compared_variables:
                results.append(value)
        return any(map(_contains_integer, results))

    def make_checks_module(self) -> str:
        """Return the source of a module with the lab's visible test functions; "" for none."""
        sources = []
        for plan in self.exercises.values():
            for case in plan.test_cases:
                if not case.hidden:
                    sources.append(case.test)
        tests = [*map(self.dependencies.replace_file_names, sources)]
        equalities = []
        for plan in self.exercises.values():
            if self._has_equality(plan):
                equalities.append(_make_equality_source(plan))
        head = f'"""Tests of {self.lab} that ask more than a value: each is called with the answer."""\n'
        if tests != sources:
            head += f"\n{make_files_import(self.lab)}\n"
        if not tests and not equalities:
            return ""
        if equalities:
            text = "".join(equalities)
            functions = [name for name in sorted(ENGINE_FUNCTIONS) if f"{name}(" in text]
            import_list = ", ".join(["equal_in_every_comparison", *functions])
            head += f"\nfrom autograder.judging.function_tests import {import_list}\n"
        return "\n\n".join([head, *tests, *equalities])

    def _find_prerequisites(self, plan: ExercisePlan) -> list[str]:
        """Return the other exercises on which a plan's function or variables build."""
        tree = plan.answer_cell.tree if plan.variables else self._find_definition(plan.name)
        names = find_read_or_assigned_names(tree)
        earlier = set()
        for name, candidate in self.exercises.items():
            if candidate.answer_cell.number < plan.answer_cell.number:
                earlier.add(name)
        names |= plan.further_functions & earlier
        if plan.variables:
            used_exercises = set()
            for name in earlier:
                if names & set(self.exercises[name].variables):
                    used_exercises.add(name)
            names |= used_exercises
        return [name for name in self.exercises if name in names and name != plan.name]

    def _order_checks(self) -> None:
        """Find the place of each exercise's check: below its tests and what it builds on.

        Of exercises that build on each other, the first one builds on none of the others.
        """
        waiting = sorted(self.exercises.values(), key=lambda plan: self.places[plan.tests[-1]])
        all_prerequisites = {plan.name: self._find_prerequisites(plan) for plan in waiting}
        while waiting:
            unchecked_names = {plan.name for plan in waiting}
            plan = waiting[0]
            for candidate in waiting:
                if unchecked_names.isdisjoint(all_prerequisites[candidate.name]):
                    plan = candidate
                    break
            waiting.remove(plan)
            names = [name for name in all_prerequisites[plan.name] if name in self.check_places]
            places = [self.check_places[name] for name in names]
            self.prerequisites[plan.name] = names
            self.check_places[plan.name] = max([self.places[plan.tests[-1]], *places])

    def _make_notebook_cells(self) -> Iterator[NotebookNode]:
        """Yield the cells of the lab's solution notebook."""
        asks_variables = any(plan.variables for plan in self.exercises.values())
        functions = "answers, check" if asks_variables else "check"
        setup = f"from autograder import {functions}"
        if self.dependencies.files:
            setup += f"\n{make_files_import(self.lab, notebook=True)}"
        yield _make_code_cell(setup, "autograder", "setup")
        grade_ids = self._make_grade_ids()
        for cell in self.cells:
            yield from self._convert_cell(cell, grade_ids[cell.number])

    def _make_grade_ids(self) -> dict[int, str]:
        """Return a grade_id for each cell of the source, which no other cell of the lab has.

        Names in the source may differ in a sign that a grade_id cannot have, or only in their ends.
        """
        used_ids = set()
        for exercise in self.exercises:
            used_ids |= {make_grade_id(exercise), make_test_grade_id(exercise)}
        grade_ids = {}
        for cell in self.cells:
            name = re.sub(r"[^A-Za-z0-9-]+", "-", cell.name).strip("-")[:50]
            if not name:
                name = f"cell-{cell.number}"
            if cell.role == "task":
                name = f"answer-{name}"
            grade_id, number = name, 1
            while grade_id in used_ids:
                number += 1
                grade_id = f"{name}-{number}"
            used_ids.add(grade_id)
            grade_ids[cell.number] = grade_id
        return grade_ids

    def _convert_cell(self, cell: SourceCell, name: str) -> Iterator[NotebookNode]:
        """Yield the lab's cells for a cell of the source; `name` is the grade_id of an answer."""
        cell_id = f"cell-{cell.number}"
        if not cell.is_code:
            text = nbformat.v4.new_markdown_cell(cell.source, id=cell_id)
            if cell.attachments:
                text.attachments = cell.attachments
            attach_pictures(text, self.folder, self.reports[cell.number])
            if cell.role == "task":
                yield text
                answer = nbformat.v4.new_markdown_cell(
                    "(The source notebook has no answer to this task.)"
                )
                yield _add_answer_metadata(answer, name, cell.points)
            else:
                yield (
                    _add_answer_metadata(text, name, cell.points)
                    if cell.role == "by hand"
                    else text
                )
        elif cell.tree is None and cell.role != "test":
            # The cell is not valid Python, so only the marks show which lines are the solution.
            visible = SOLUTION_REGION.sub(r"\1# YOUR CODE HERE", cell.source)
            yield nbformat.v4.new_markdown_cell(f"```\n{visible}\n```", id=cell_id)
        elif cell.role == "given":
            raises = cell.number in self.recording.errors
            tags = ["illustration" if raises or self._is_illustration(cell) else "setup"]
            if raises:
                tags.append("raises-exception")
            yield _make_code_cell(self._make_source(cell), cell_id, *tags)
        elif cell.role == "solution":
            yield from self._make_answer_cells(cell, name)
        elif cell.role == "by hand":
            code = nbformat.v4.new_code_cell(self._make_source(cell))
            yield _add_answer_metadata(code, name, cell.points)
        else:
            yield from self._make_check_cells(cell)

    def _make_source(self, cell: SourceCell) -> str:
        """Return a cell's source without IPython's commands; it finds its files from any folder."""
        return self.dependencies.replace_file_names(cell.without_magics)

    def _is_illustration(self, cell: SourceCell) -> bool:
        """Return True if a cell only shows students' results, and no later cell needs it."""
        functions, variables = find_functions_and_variables(cell.tree)
        definitions = {*functions, *find_import_and_class_names(cell.tree)}
        names = self._find_later_names(cell)
        for function in self.functions:  # a later cell may call each of them
            names |= find_free_names(self._find_definition(function))
        definitions |= {*variables} & names
        return not definitions and bool(
            find_read_or_assigned_names(cell.tree) & self.names_to_define
        )

    def _find_later_names(self, cell: SourceCell) -> set[str]:
        """Return the names that are used in later cells, and the variables of all exercises."""
        names: set[str] = set()
        for plan in self.exercises.values():
            names |= {*plan.variables}
        for later in self.cells:
            if later.role != "test" and later.number > cell.number:
                names |= find_read_or_assigned_names(later.tree)
        return names

    def _extract_definitions(self, cell: SourceCell) -> str:
        """Return the statements of a test cell that later cells need, such as loading of data."""
        names = self._find_later_names(cell) - self.names_to_define
        sources: list[str] = []
        for statement in reversed(cell.tree.body if cell.tree else []):
            if isinstance(statement, ast.Assert) or statement.lineno in cell.hidden_lines:
                continue
            if names & find_changed_names(statement) or self._is_import_for_answers(
                statement, cell
            ):
                sources.insert(
                    0, ast.get_source_segment(cell.source_with_pass_for_magics, statement) or ""
                )
                names |= find_read_or_assigned_names(statement)
        return "\n".join(sources)

    def _is_import_for_answers(self, statement: ast.stmt, cell: SourceCell) -> bool:
        """Return True for an import that an answer may rely on, since no earlier cell makes it.

        Students may write `np.sum` because the test cell above imports NumPy.
        """
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            return False
        known_names: set[str] = set()
        for earlier in self._select("given"):
            if earlier.number < cell.number:
                known_names |= find_changed_names(earlier.tree)
        packages = {"numpy", "matplotlib", *self.list_allowed_packages(), *sys.stdlib_module_names}
        modules = find_imported_modules([statement])
        is_for_tests = bool(modules & _TEST_MODULES) or not modules <= packages
        return not is_for_tests and not find_changed_names(statement) <= known_names

    def _make_answer_cells(self, cell: SourceCell, name: str) -> Iterator[NotebookNode]:
        """Split a solution cell so that each exercise has its own cell, and yield the parts."""
        plans = [plan for plan in self.exercises.values() if plan.answer_cell == cell]
        source = self._make_source(cell)
        if not plans:
            yield _add_answer_metadata(nbformat.v4.new_code_cell(source), name)
            return
        tree = ast.parse(source)
        grade_ids = {}
        for plan in plans:
            grade_ids[_find_last_statement(tree, plan)] = make_grade_id(plan.name)
        ends = sorted(grade_ids)
        for end, piece in zip(ends, split_source(source, tree, ends[:-1]), strict=True):
            yield _add_answer_metadata(nbformat.v4.new_code_cell(piece), grade_ids[end])

    def _make_check_cells(self, cell: SourceCell) -> Iterator[NotebookNode]:
        """Replace a test cell: yield a check for each exercise that has its last test here."""
        definitions = self._extract_definitions(cell)
        if definitions:
            source = self.dependencies.replace_file_names(definitions)
            yield _make_code_cell(source, f"cell-{cell.number}-makes", "setup")
        plans = [plan for plan in self.exercises.values() if cell.number in plan.tests]
        for plan in plans:
            if plan.variables and plan.tests[-1] == cell.number:
                yield _make_collecting_cell(plan)
        for name, place in self.check_places.items():
            if place == self.places[cell.number]:
                yield _make_check_cell(self.exercises[name])
        if not plans:
            yield from self._keep_visible_test(cell)

    def _keep_visible_test(self, cell: SourceCell) -> Iterator[NotebookNode]:
        """Yield the visible part of a test cell that belongs to no exercise, as code or as text."""
        source = HIDDEN_TESTS.sub("", self._make_source(cell)).strip()
        if not source:
            return
        known_names = {*dir(builtins), *self.names_to_define}
        for earlier in self._select("given"):
            if earlier.number < cell.number:
                known_names |= find_changed_names(earlier.tree)
        tree = parse_code(source)
        cell_id = f"cell-{cell.number}"
        if tree and find_free_names(tree) <= known_names:
            yield _make_code_cell(source, cell_id, "illustration", "raises-exception")
        else:
            text = f"The test that stood here:\n\n```python\n{source}\n```"
            yield nbformat.v4.new_markdown_cell(text, id=cell_id)


_NO_EXERCISE = {  # reason why an assertion makes no exercise, by its kind
    "property": "could not become a test of an answer: write one, as “A test function” in "
    "docs/kinds-of-answers.md shows",
    "error": "expects an error in a way that could not be imported: write a case with `raises=…`",
    "value": "compares nothing that students write",
    "shown": "has no saved output that can be compared: write `assert … == …`",
    "warning": "expects a warning, which is not asked here: write a check for it",
    "time": "asks for the time that an answer takes, on which no mark depends here",
}
_OUTCOMES = {  # how a cell without an exercise is imported, by its role
    "text": "text",
    "given": "as it is",
    "solution": "an answer without points",
    "test": "its visible part is kept, without points",
    "by hand": "manually graded",
    "task": "a task, manually graded",
}
_TEST_MODULES = {"doctest", "hashlib", "inspect", "unittest"}  # only tests need these
_KINDS_IN_TESTS = ("value", "property", "error")  # of assertions that can stand in a test function
# What is no plain text in a regular expression.
_LITERAL_PARTS = re.compile(r"\\.|\[[^\]]*\]|[.*+?^$(){}|\[\]]")
_OPENS_FILE = re.compile(r"\b(open|read_\w+|load\w*|genfromtxt|imread)\(")
_CLOCK_MODULES = {"time", "timeit"}
_ROLES_WITHOUT_SOLUTION = {"given", "test"}
_COMPARISON_MODULES = {"numpy", "pandas", "math", "cmath", "unittest"}
_TYPE_CHECK = re.compile(r"\b(isinstance|type|dtype)\b")
# A check for a type of Python's own, beside which the comparison of values accepts others.
_PYTHON_TYPE_CHECK = re.compile(r"\b(isinstance|type)\(.*\b(int|float|complex|list|tuple)\b")
_IDENTITY_WITH_BOOL = re.compile(r"\bis (True|False)\b")


def _select_cases_evenly(cases: Sequence[CaseSource], count: int) -> list[CaseSource]:
    """Return at most `count` cases, in their order: the first of each test cell, the second…"""
    ranks: list[int] = []
    seen: Counter[int] = Counter()
    for case in cases:
        ranks.append(seen[case.test_cell])
        seen[case.test_cell] += 1
    places = sorted(range(len(cases)), key=lambda place: (ranks[place], place))[:count]
    return [cases[place] for place in sorted(places)]


def _assign_parts_to_cases(
    cases: Sequence[CaseSource], parts: Mapping[int, str]
) -> list[CaseSource]:
    """Return the cases with the name of their part, so that equal labels in two parts differ."""
    if not parts:
        return list(cases)
    parts_by_label: dict[str, str] = {}
    named = []
    for case in cases:
        part, label = parts[case.test_cell], case.label
        if parts_by_label.setdefault(label, part) != part:
            label = f"{label} ({part})"
        named.append(replace(case, part=part, label=label))
    return named


def _label_cases_by_call(function: str, cases: Sequence[CaseSource]) -> list[CaseSource]:
    """Return the cases, labelled with their call where an assertion makes several calls."""
    arguments_by_label: dict[str, set[str]] = {}
    for case in cases:
        arguments_by_label.setdefault(case.label, set()).add(case.arguments)
    named = []
    for case in cases:
        label = case.label
        if len(arguments_by_label[label]) > 1 and not case.hidden:
            label = _shorten(f"{function}({case.arguments})")
        named.append(replace(case, label=label))
    return named


def _number_equal_labels(cases: Sequence[CaseSource]) -> list[CaseSource]:
    """Return the cases with a number after each label that an earlier case has."""
    numbered: dict[str, CaseSource] = {}
    for case in cases:
        label, number = case.label, 1
        while label in numbered:
            number += 1
            label = f"{case.label} ({number})"
        numbered[label] = replace(case, label=label)
    return list(numbered.values())


def _find_recent_solutions(cells: Sequence[SourceCell]) -> dict[int, list[SourceCell]]:
    """Return for each test cell the solution cells between it and the tests before it."""
    recent_solutions = {}
    solutions: list[SourceCell] = []
    follows_test = False
    for cell in cells:
        if cell.role == "solution":
            solutions = [cell] if follows_test else [*solutions, cell]
            follows_test = False
        elif cell.role == "test":
            follows_test = True
            recent_solutions[cell.number] = solutions
    return recent_solutions


def _find_strings(source: str) -> set[str]:
    """Return the strings that stand in a piece of code."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return {node.value for node in nodes if isinstance(node.value, str)}


def _find_written_files(tree: ast.AST | None) -> set[str]:
    """Return the names of the files that a piece of code opens to write them."""
    files = set()
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Call(
                func=ast.Name("open"), args=[ast.Constant(str(name)), ast.Constant(str(mode)), *_]
            ):
                if set(mode) & set("wax"):
                    files.add(name)
    return files


def _imports_from_comparison_module(source: str) -> bool:
    """Return True for an import from a module that every comparison may use."""
    modules = find_imported_modules([ast.parse(source)])
    return bool(modules) and modules <= _COMPARISON_MODULES


def _make_equality_source(plan: ExercisePlan) -> str:
    """Return the source of the function that decides whether an answer's value is right."""
    lines = [
        f"def {plan.equality_name}(found, expected):",
        f'    """Return True if a value of `{plan.name}` passes the comparisons of the tests."""',
    ]
    for number, comparison in enumerate(plan.comparisons, start=1):
        lines.append(f"    def comparison_{number}(found, expected):")
        lines += [f"        {line}" for line in comparison.split("\n")]
        lines.append("")
    names = [f"comparison_{number}" for number in range(1, len(plan.comparisons) + 1)]
    lines.append(f"    return equal_in_every_comparison(found, expected, {', '.join(names)})")
    return "\n".join(lines) + "\n"


def _load_equality(plan: ExercisePlan) -> Callable[[Value, Value], bool | None]:
    """Return the function that decides whether an answer's value is right."""
    names = ["equal_in_every_comparison", *ENGINE_FUNCTIONS]
    namespace: dict[str, Any] = {name: getattr(function_tests, name) for name in names}
    exec(_make_equality_source(plan), namespace)
    return namespace[plan.equality_name]


def _is_loaded(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _add_new(names: list[str], new_names: Sequence[str]) -> None:
    """Append those of the new names that the list does not have."""
    for name in new_names:
        if name not in names:
            names.append(name)


def _quote_names(names: Sequence[str]) -> str:
    return join_words(f"`{name}`" for name in names)


def _contains_integer(value: Value) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_contains_integer, value))
    if isinstance(value, Mapping):
        return any(map(_contains_integer, value.values()))
    return type(value) in (int, bool)


def _shorten(source: str) -> str:
    return truncate(" ".join(source.split()), 70)


def _find_last_statement(tree: ast.Module, plan: ExercisePlan) -> int:
    """Return the index of the last top-level statement that belongs to an exercise's answer."""
    last = 0
    for index, statement in enumerate(tree.body):
        functions, variables = find_functions_and_variables(statement)
        functions += find_classes(statement)
        if plan.name in functions or set(plan.variables) & set(variables):
            last = index
    return last


def _have_same_answer(plan: ExercisePlan, neighbour: ExercisePlan) -> bool:
    """Return True if the answers of two exercises end with the same statement of a cell."""
    if plan.answer_cell != neighbour.answer_cell or not plan.answer_cell.tree:
        return False
    tree = plan.answer_cell.tree
    return _find_last_statement(tree, plan) == _find_last_statement(tree, neighbour)


def _make_code_cell(source: str, cell_id: str, *tags: str) -> NotebookNode:
    cell = nbformat.v4.new_code_cell(source, id=cell_id)
    if tags:
        cell.metadata["tags"] = list(tags)
    return cell


def _add_answer_metadata(
    cell: NotebookNode,
    name: str,
    points: float | None = None,
) -> NotebookNode:
    """Turn a cell into an answer cell of nbgrader; with points, a person grades the answer."""
    cell.id = name[:MAX_GRADE_ID_CHARACTERS]
    cell.metadata["nbgrader"] = make_nbgrader_metadata(
        name,
        points,
        grade=points is not None,
        solution=True,
    )
    return cell


def _make_collecting_cell(plan: ExercisePlan) -> NotebookNode:
    """Return the cell that collects the variables of an exercise."""
    names = ", ".join(f'"{name}"' for name in plan.variables)
    cell_id = f"ask-{make_grade_id(plan.name)}"[:MAX_GRADE_ID_CHARACTERS]
    return _make_code_cell(f"{plan.name} = answers({names})", cell_id, "setup")


def _make_check_cell(plan: ExercisePlan) -> NotebookNode:
    """Return the cell that checks an exercise."""
    name = make_test_grade_id(plan.name)
    check = _make_code_cell(f"check({plan.name})", name[:MAX_GRADE_ID_CHARACTERS])
    check.metadata["nbgrader"] = make_nbgrader_metadata(name, plan.points, grade=True, locked=True)
    return check
