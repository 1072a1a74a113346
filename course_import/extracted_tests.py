"""Convert test cells to test functions, which `autograder.judging.function_tests` can run."""

import ast
import builtins
from collections.abc import Iterable, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module

from autograder.authoring.python_names import (
    find_bound_names,
    find_changed_names,
    find_free_names,
    find_read_or_assigned_names,
    get_called_name,
    parse_code,
)
from course_import.assertions import PYPLOT_NAMES, SEED_FUNCTIONS
from course_import.nbgrader_source import HIDDEN_TESTS, SourceCell

_BUILTIN_NAMES = set(dir(builtins))
_RAISE_CONTEXTS = {"raises", "assertRaises", "assertRaisesRegex", "assert_raises"}
_FIGURE_QUESTIONS = {"gca", "gcf", "gci", "get_fignums", "xlim", "ylim"}
_FIGURE_MAKERS = {"subplots", "subplot", "figure", "axes"}
_OBJECT_QUESTIONS = {"getsource", "getsourcelines", "dir"}
_GENERATOR_MAKERS = {"default_rng", "RandomState", "Random"}
_TEST_SEED = 1  # of a test that draws random numbers: its two runs draw the same
_DISPLAY_NAMES = {"print", "display", "plt", "pylab", "fig", "ax"}


@dataclass(frozen=True)
class ExtractedTest:
    """A test function made from the part of a test cell that tests one exercise.

    Parameters
    ----------
    name : str
        Name of the test function.
    subject : str
        The function that is tested; "" for a test of variables.
    variables : list of str
        The variables that are tested.
    source : str
        Source of the test function. Its first argument is the answer; the names in `values` and
        `helper_functions` follow.
    values : list of str
        Further variables that the test needs.
    helper_functions : list of str
        Further functions of students that the test calls.
    """

    name: str
    subject: str
    variables: list[str]
    hidden: bool
    source: str
    values: list[str]
    helper_functions: list[str]


class NotebookDefinitions:
    """Sources of the imports, functions and classes that the tests in a notebook may use, by name.

    Parameters
    ----------
    student_functions : set of str
        The functions that students write.
    """

    def __init__(self, cells: Iterable[SourceCell], student_functions: Set[str]):
        self._student_functions = student_functions
        self._sources: dict[str, str] = {}
        self._star_modules: list[str] = []  # modules of which the notebook imports every name
        cells = list(cells)
        self._test_cells = [cell for cell in cells if cell.role == "test"]
        self._names_of_tests = _find_objects_of_tests(cells, student_functions)
        for cell in cells:
            self._add_imports(cell)
            if cell.role != "solution":
                self._add_definitions(cell)

    def _find_earlier_statements(
        self, cell: SourceCell, body: Sequence[ast.stmt], hidden: bool
    ) -> list[ast.stmt]:
        """Return the statements of earlier test cells that make the objects of a test."""
        needed_names = _find_names_read_first(body)
        statements: list[ast.stmt] = []
        for earlier in reversed(self._test_cells):
            if earlier.number >= cell.number or not earlier.tree:
                continue
            for statement in reversed(earlier.tree.body):
                is_hidden = statement.lineno in earlier.hidden_lines
                if isinstance(statement, ast.Assert) or (is_hidden and not hidden):
                    continue
                names = needed_names & self._names_of_tests
                if find_changed_names(statement) & names or _may_change(statement, names):
                    statements.insert(0, statement)
                    needed_names |= _find_names_read_first([statement])
        return statements

    def _add_imports(self, cell: SourceCell) -> None:
        if not cell.tree:
            return
        for node in ast.walk(cell.tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    if alias.name == "*" and isinstance(node, ast.ImportFrom) and not node.level:
                        self._star_modules.append(node.module or "")
                    single = ast.copy_location(type(node)(**{**vars(node), "names": [alias]}), node)
                    name = (alias.asname or alias.name).partition(".")[0]
                    self._sources[name] = ast.unparse(single)

    def _add_definitions(self, cell: SourceCell) -> None:
        visible = parse_code(HIDDEN_TESTS.sub("", cell.source_with_pass_for_magics))
        for statement in visible.body if visible else ():
            is_definition = isinstance(statement, (ast.FunctionDef, ast.ClassDef))
            if is_definition and statement.name not in self._student_functions:
                self._sources.setdefault(statement.name, ast.unparse(statement))

    def _find_star_module(self, name: str) -> str:
        """Return the installed module from which `from … import *` imports a name; "" if none."""
        for module_name in self._star_modules:
            try:
                module = import_module(module_name)
            except Exception:  # noqa: BLE001 - a module may raise anything, or lie beside the notebook
                continue
            if hasattr(module, name):
                return module_name
        return ""

    def collect_sources(self, names: Set[str]) -> tuple[list[str], set[str]]:
        """Return the sources of these names and of all names that they use; and unknown names."""
        sources: list[str] = []
        todo, visited_names, unknown_names = sorted(names), set(names), set()
        while todo:
            name = todo.pop()
            if name not in self._sources:
                module = self._find_star_module(name)
                if not module:
                    unknown_names.add(name)
                    continue
                self._sources[name] = f"from {module} import {name}"
            source = self._sources[name]
            is_import = source.startswith(("import ", "from "))
            sources.insert(0 if is_import else len(sources), source)
            further = find_free_names(ast.parse(source)) - _BUILTIN_NAMES - visited_names
            visited_names |= further
            todo += sorted(further)
        return sources, unknown_names

    def make_test(
        self,
        cell: SourceCell,
        asserted_lines: Set[int],
        hidden: bool,
        subject: str,
        student_variables: Sequence[str],
    ) -> ExtractedTest | None:
        """Make a test function from the statements of a test cell that test one exercise.

        Parameters
        ----------
        asserted_lines : set of int
            The lines of these assertions.
        subject : str
            The function that is tested; "" for a test of variables.
        student_variables : sequence of str
            The variables that are tested, if no function is.

        Returns
        -------
        ExtractedTest or None
            None if no statement asserts anything of the exercise.
        """
        callers = {subject} if subject else self._student_functions
        body = _select_statements(cell, asserted_lines, hidden, callers)
        body = [*self._find_earlier_statements(cell, body, hidden), *body]
        expectation = _ExpectErrors()
        body = [expectation.visit(deepcopy(part)) for part in body]
        free_names = _find_names_read_first(body) - _BUILTIN_NAMES - {"expect_error"}
        # A test that puts something in the place of a student's function changes it for the other
        # functions, too. A test function cannot, so it must not run.
        free_names -= {*find_bound_names(ast.Module(body, []))} & self._student_functions
        variables = [name for name in student_variables if name in free_names]
        if not body or (not subject and not variables):
            return None
        # The test body uses some names before it sets them, or never sets them. These come from
        # the notebook.
        outer_names = free_names - self._student_functions - {subject, *student_variables}
        sources, unknown_names = self.collect_sources(outer_names)
        unknown_names -= self._student_functions  # those that the notebook's own functions call
        helper_functions = free_names.copy()
        for source in sources:
            helper_functions |= find_free_names(ast.parse(source))
        helper_functions &= self._student_functions - {subject}

        parts = []
        if variables:
            names = ", ".join(f'"{variable}"' for variable in variables)
            parts.append(f"found = answer({names})")
        parts += [f'{variable} = found["{variable}"]' for variable in variables]
        if any("simplefilter" in ast.unparse(part) for part in body):
            # While an answer is called, NumPy is told not to warn. This test asks for its warnings.
            body = _AllowWarnings().allow_in(body)
        call_transformer = _SameProcessCallTransformer(subject or "answer")
        seeds = _make_seeds(body)
        body = [_TypeCallTransformer().visit(deepcopy(part)) for part in body]
        body = [_SeedTransformer().visit(part) for part in body]
        statements = [ast.unparse(call_transformer.visit(part)) for part in body]
        if call_transformer.is_used:
            sources.append("from autograder.judging.function_tests import call_in_same_process")
        if expectation.is_used:
            sources.append("from autograder.judging.function_tests import expect_error")
        if call_transformer.asks_for_figure:
            sources.append("import matplotlib.pyplot")
            sources.append('matplotlib.pyplot.close("all")')
        parts += [*sources, *seeds, *statements]
        text = "\n".join("    " + line for line in "\n".join(parts).split("\n"))
        name = f"{subject or 'answer'}_in_{cell.number}"
        if hidden:
            name += "_hidden"
        parameters = [subject or "answer", *sorted(unknown_names), *sorted(helper_functions)]
        source = f"def {name}({', '.join(parameters)}):\n{text}\n"
        return ExtractedTest(
            name,
            subject,
            variables,
            hidden,
            source,
            sorted(unknown_names),
            sorted(helper_functions),
        )


class _ExpectErrors(ast.NodeTransformer):
    """Transformer of `with pytest.raises(…)` and the like, since students have no pytest."""

    def __init__(self) -> None:
        self.is_used = False

    def visit_With(self, node: ast.With) -> ast.With:
        self.generic_visit(node)
        for item in node.items:
            call = item.context_expr
            if not isinstance(call, ast.Call) or get_called_name(call) not in _RAISE_CONTEXTS:
                continue
            self.is_used = True
            keywords = [keyword for keyword in call.keywords if keyword.arg == "match"]
            arguments = call.args[:1]
            if get_called_name(call) == "assertRaisesRegex" and len(call.args) > 1:
                keywords = [ast.keyword("match", call.args[1])]
            item.context_expr = ast.Call(ast.Name("expect_error", ast.Load()), arguments, keywords)
        return node


class _AllowWarnings(ast.NodeTransformer):
    """Transformer that adds a call by which NumPy warns again after each `simplefilter(…)`."""

    def allow_in(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return self.visit(ast.Module(deepcopy([*body]), [])).body

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        if get_called_name(node.value) != "simplefilter":
            return [node]
        source = 'import numpy\nnumpy.seterr(divide="warn", over="warn", invalid="warn")'
        return [node, *ast.parse(source).body]


def _find_objects_of_tests(cells: Sequence[SourceCell], student_functions: Set[str]) -> set[str]:
    """Return the variables that only tests set, by calls of students' functions."""
    names: set[str] = set()
    names_elsewhere: set[str] = set()
    for cell in cells:
        if cell.role != "test":
            names_elsewhere |= find_changed_names(cell.tree)
            continue
        for statement in cell.tree.body if cell.tree else ():
            is_assignment = isinstance(statement, (ast.Assign, ast.AnnAssign))
            if is_assignment and find_read_or_assigned_names(statement) & {
                *student_functions,
                *names,
            }:
                names |= find_changed_names(statement)
    return names - names_elsewhere


class _TypeCallTransformer(ast.NodeTransformer):
    """Transformer of `type(x)` into `x.__class__`, which is right for a stand-in of `x`, too."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if (
            get_called_name(node) == "type"
            and isinstance(node.func, ast.Name)
            and len(node.args) == 1
        ):
            return ast.Attribute(node.args[0], "__class__", ast.Load())
        return node


class _SeedTransformer(ast.NodeTransformer):
    """Transformer that seeds each generator that is made without a seed, `default_rng()`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if get_called_name(node) in _GENERATOR_MAKERS and not node.args and not node.keywords:
            return ast.Call(node.func, [ast.Constant(_TEST_SEED)], [])
        return node


def _make_seeds(body: Sequence[ast.stmt]) -> list[str]:
    """Return statements that seed the global generators from which a test draws without a seed.

    A test runs twice, and only its calls of students' functions are recorded. So both runs have to
    draw the same numbers.
    """
    if any(get_called_name(node) in SEED_FUNCTIONS for part in body for node in ast.walk(part)):
        return []
    calls = [node for part in body for node in ast.walk(part) if isinstance(node, ast.Call)]
    owners = {ast.unparse(call.func).rpartition(".")[0] for call in calls}
    seeds = []
    if owners & {"np.random", "numpy.random"}:
        seeds.append(f"import numpy\nnumpy.random.seed({_TEST_SEED})")
    if "random" in owners:
        seeds.append(f"random.seed({_TEST_SEED})")
    return seeds


class _SameProcessCallTransformer(ast.NodeTransformer):
    """Transformer of what asks for something that a call leaves behind, such as `plt.gca()`.

    It becomes `call_in_same_process(draw, plt.gca)`: the figure is in the process in which students' code
    runs. So is one that the test makes for students to draw in, `plt.subplots()`; and the source of
    a function, for `inspect.getsource` and `inspect.getsourcelines`; and the names of an object's
    attributes, for `dir`.

    Parameters
    ----------
    subject : str
        The tested function.
    """

    def __init__(self, subject: str):
        self.subject = subject
        self.is_used = self.asks_for_figure = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = node.func
        is_method = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
        owner = function.value.id if is_method else ""  # type: ignore[attr-defined]
        questions = _FIGURE_QUESTIONS | _FIGURE_MAKERS
        is_figure = owner in PYPLOT_NAMES and get_called_name(node) in questions
        if is_figure or get_called_name(node) in _OBJECT_QUESTIONS:
            self.is_used = True
            self.asks_for_figure |= is_figure
            name = ast.Name("call_in_same_process", ast.Load())
            arguments = [ast.Name(self.subject, ast.Load()), function, *node.args]
            return ast.Call(name, arguments, node.keywords)
        return node


def _select_statements(
    cell: SourceCell, asserted_lines: Set[int], hidden: bool, student_functions: Set[str]
) -> list[ast.stmt]:
    """Return the assertions in these lines and the other statements that they need, in order."""
    assertions = []
    available = []
    for statement in cell.tree.body:
        is_hidden = statement.lineno in cell.hidden_lines
        if is_hidden == hidden and not asserted_lines.isdisjoint(_get_lines(statement)):
            assertions.append(statement)
        if hidden or not is_hidden:
            available.append(statement)
    if not assertions:
        return []
    helpers = {statement.name for statement in assertions if isinstance(statement, ast.FunctionDef)}
    statements = []
    for statement in available:
        calls_helper = (
            isinstance(statement, ast.Expr) and get_called_name(statement.value) in helpers
        )
        if statement in assertions or calls_helper:
            statements.append(statement)
    needed_names = set().union(*(_find_names_read_first([part]) for part in statements))
    for statement in reversed(available):
        if statement in statements or isinstance(statement, ast.Assert):
            continue
        is_earlier = statement.lineno < assertions[-1].lineno
        has_effect = (
            _may_change(statement, needed_names)
            or _is_seed(statement)
            or _has_asked_effect(statement, needed_names, student_functions)
        )
        if find_changed_names(statement) & needed_names or (is_earlier and has_effect):
            statements.append(statement)
            needed_names |= _find_names_read_first([statement])
    return [_make_assert(statement) for statement in cell.tree.body if statement in statements]


def _find_names_read_first(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements read before they set them, or never set.

    >>> code = "v, t = f(x, t)\\nn += 1\\nassert v[0] == t[0] + n"
    >>> sorted(_find_names_read_first(ast.parse(code).body))
    ['f', 'n', 't', 'x']
    """
    names: set[str] = set()
    names_in_functions: set[str] = set()  # read when the function is called, later
    known_names: set[str] = set()
    for statement in statements:
        names_read = find_free_names(statement)
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names_in_functions |= names_read
            names_read = set()
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and statement.value:
            names_read |= find_free_names(statement.value)
        if isinstance(statement, ast.AugAssign):
            names_read |= find_read_or_assigned_names(statement.target)
        names |= names_read - known_names
        known_names |= find_changed_names(statement)
    return names | (names_in_functions - known_names)


def _has_asked_effect(
    statement: ast.stmt,
    needed_names: Set[str],
    student_functions: Set[str],
) -> bool:
    """Return True for a call that draws, prints or may change an argument, if a test asks for it."""
    if isinstance(statement, ast.With):
        contexts = {
            name
            for item in statement.items
            for name in find_read_or_assigned_names(item.context_expr)
        }
        return bool(contexts & needed_names)
    if not isinstance(statement, (ast.Assign, ast.Expr)):
        return False
    targets = getattr(statement, "targets", [])
    if any(ast.unparse(target) == "sys.stdout" for target in targets):
        return True
    calls = [node for node in ast.walk(statement) if get_called_name(node) in student_functions]
    arguments = {
        name for call in calls for name in find_read_or_assigned_names(call)
    } - student_functions
    return bool(calls) and bool(needed_names & {*arguments, *PYPLOT_NAMES, "sys"})


def _get_lines(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _may_change(statement: ast.stmt, names: Set[str]) -> bool:
    """Return True for a call that may change one of these objects, also for one in a loop.

    It may be an argument, `np.fill_diagonal(h, 0)`, or the object itself, `stack.push(3)`.
    """
    if isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
        if any(isinstance(node, ast.Assert) for node in ast.walk(statement)):
            return False
        parts = [*statement.body, *getattr(statement, "orelse", [])]
        return any(_may_change(part, names) for part in parts)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    call_names = [node.id for node in ast.walk(call) if isinstance(node, ast.Name)]
    changed_names = {*call_names[1:]}
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        changed_names.add(call.func.value.id)
    return not _DISPLAY_NAMES & {*call_names} and bool(changed_names & names)


def may_affect_later_assertions(statement: ast.stmt) -> bool:
    """Return True if leaving out an assertion may change what the statements after it assert.

    Assertions, assignments, imports and displays are safe, unless they draw random numbers.
    """
    if isinstance(statement, ast.Expr):
        name = get_called_name(statement.value) if isinstance(statement.value, ast.Call) else ""
        is_condition = isinstance(
            statement.value, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant)
        )
        return not is_condition and name not in _DISPLAY_NAMES
    safe_statements = (ast.Assert, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)
    return not isinstance(statement, safe_statements) or "rand" in ast.unparse(statement)


def _is_seed(statement: ast.stmt) -> bool:
    """Return True for a statement that seeds a global random number generator."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and get_called_name(call) in SEED_FUNCTIONS


def _make_assert(statement: ast.stmt) -> ast.stmt:
    """Turn a condition that stands alone, as in otter's tests, into an assertion."""
    conditions = (ast.Compare, ast.BoolOp, ast.UnaryOp)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, conditions):
        return ast.copy_location(ast.Assert(statement.value), statement)
    return statement
