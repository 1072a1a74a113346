"""Convert source notebooks of the grader otter to nbgrader's format.

Both of otter's formats: questions between raw cells (`# BEGIN QUESTION` … `# END QUESTION`),
and the older one, where a code block in Markdown begins a question and test cells begin with
`## Test ##`.
"""

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

import yaml
from nbformat import NotebookNode

from autograder.authoring.python_names import get_called_name, parse_code
from autograder.core.notebook_cells import make_nbgrader_metadata
from course_import.assertions import is_full_value
from course_import.nbgrader_source import SOURCE_NUMBER, NotASourceNotebook, split_points

MAX_MARK_CHARACTERS = 2_000  # a longer cell is text that happens to begin like a mark

_MARK = re.compile(
    r"^\s*(?:<!--\s*)?#* *(BEGIN|END) (QUESTION|SOLUTION|TESTS|PROMPT|ASSIGNMENT CONFIG)\b"
    r"|^\s*# ASSIGNMENT CONFIG",
)
_OLD_QUESTION = re.compile(r"(?:```|<!--)\s*\n?\s*BEGIN QUESTION\n(.*?)(?:```|-->)", re.S)
_OLD_CONFIG = re.compile(r"```\s*\n?\s*BEGIN ASSIGN(?:MENT)?\b.*?```", re.S)
_OLD_TEST = re.compile(r"^\s*#+ *(?:hidden *)?tests?(?: *\d* *\(hidden\))? *#*\s*$", re.I)
_HIDDEN_TEST = re.compile(r"#+ *(?:hidden\b|tests?\b.*\bhidden\b)", re.I)
_TEST_CONFIG = re.compile(
    r"""^(?:\w+ *= *)?(\"{3}|'{3}) *# *BEGIN TEST CONFIG *\n(.*?)^ *\1 *# *END TEST CONFIG[^\n]*\n?""",
    re.S | re.M,
)
_CONFIG_FRAME = re.compile(r"\s*(?:<!--|-->|```|#* *(?:BEGIN|END) )")
_PROMPT = re.compile(r'^[ \t]*""" *# *BEGIN PROMPT.*?# *END PROMPT[^\n]*\n?', re.S | re.M)
_ONE_LINE = re.compile(r"^(\s*)(.*?)\s*#+ *SOLUTION(?: NO PROMPT)?\s*$")
_REGION = re.compile(r"^(\s*)#+ *(BEGIN|END) SOLUTION(?: NO PROMPT)?\s*$")


_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*(?: *, *[A-Za-z_]\w*)*) *=(?!=)")
_NUMPY_NUMBER = re.compile(r"np\.(?:int|uint|float)\d+\((.*)\)")
# Functions that give True in a test that was saved without its outputs.
_PREDICATES = frozenset(
    (
        "all",
        "any",
        "isinstance",
        "isclose",
        "allclose",
        "array_equal",
        "equals",
        "issubset",
        "issuperset",
    )
)
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")  # differs in every run
_GRADER_METHODS = frozenset(("check", "check_all", "export", "to_pdf", "add_plugin_files"))
_PROMPT_LINE = re.compile(r"([A-Za-z_]\w*) *= *\.\.\. *$")


@dataclass
class _OtterQuestion:
    """One question of an otter notebook while its cells are read, with its test cells.

    Parameters
    ----------
    points : float or None
        Points of the whole question; None if it does not say.
    points_of_each : float or None
        Points of each test cell that has none of its own.
    points_in_order : list of float
        Points of the test cells, one by one.
    is_all_or_nothing : bool
        True if the points are given only for all tests together.
    """

    name: str
    points: float | None = None
    points_of_each: float | None = None
    points_in_order: list[float] = field(default_factory=list)
    is_manual: bool = False
    is_all_or_nothing: bool = False
    tests: list[tuple[NotebookNode, float | None]] = field(default_factory=list)
    has_answer: bool = False


def is_otter_source(notebook: NotebookNode) -> bool:
    """Return True for a notebook in the format of the command `otter assign`."""
    return any("BEGIN QUESTION" in cell.source for cell in notebook.cells)


def convert_to_nbgrader(notebook: NotebookNode) -> NotebookNode:
    """Return a copy of an otter notebook in nbgrader's format.

    Each cell has the number that it has in the source, since cells of marks are left out.
    """
    new_notebook = deepcopy(notebook)
    for number, cell in enumerate(new_notebook.cells, start=1):
        cell.metadata[SOURCE_NUMBER] = number
    new_notebook.cells = list(_OtterReader().convert_cells(new_notebook.cells))
    return new_notebook


class _OtterReader:
    """Reader of an otter notebook; it keeps the question and section that it is in."""

    def __init__(self) -> None:
        self.question: _OtterQuestion | None = None
        self.section = ""

    def convert_cells(self, cells: list[NotebookNode]) -> Iterator[NotebookNode]:
        for cell in cells:
            mark = _find_mark(cell)
            if mark:
                yield from self._read_boundary(mark, cell.source)
            else:
                yield from self._convert_cell(cell)
        yield from self._end_question()

    def _read_boundary(self, mark: re.Match, source: str) -> Iterator[NotebookNode]:
        boundary, section = mark[1], mark[2]
        if section == "QUESTION":
            yield from self._end_question()
            if boundary == "BEGIN":
                self.question = _read_question(source)
        elif section:
            self.section = section if boundary == "BEGIN" else ""

    def _convert_cell(self, cell: NotebookNode) -> Iterator[NotebookNode]:
        is_code, is_text = cell.cell_type == "code", cell.cell_type == "markdown"
        old_question = _OLD_QUESTION.search(cell.source) if is_text else None
        if old_question:
            yield from self._end_question()
            self.question = _read_question(old_question[1])
            cell.source = cell.source.replace(old_question[0], "").strip()
        if cell.cell_type == "raw" or (is_text and _OLD_CONFIG.search(cell.source)):
            return
        if is_code and self.section != "TESTS":
            source = cell.source
            cell.source = _remove_otter_calls(source)
            if cell.source != source and not cell.source.strip():
                return
        question = self.question
        if self.section == "PROMPT":
            if is_text:
                yield cell
        elif question is None:
            yield cell
        elif self.section == "TESTS" or (is_code and _OLD_TEST.match(_get_first_line(cell))):
            if is_code:
                self._add_test(question, cell)
        elif self.section == "SOLUTION" or (is_code and "SOLUTION" in cell.source):
            yield self._convert_answer(question, cell)
        else:
            yield cell

    def _convert_answer(self, question: _OtterQuestion, cell: NotebookNode) -> NotebookNode:
        name = question.name
        if question.has_answer:
            name = f"{question.name}-{cell.get('id', '')}"
        grade = question.is_manual and not question.has_answer
        if cell.cell_type == "code":
            cell.source = convert_solution_marks(cell.source)
        if cell.cell_type == "code" or grade:
            points = None
            if grade:
                points = 1.0 if question.points is None else question.points
            cell.metadata["nbgrader"] = make_nbgrader_metadata(
                name,
                points,
                grade=grade,
                solution=True,
            )
        question.has_answer = True
        return cell

    def _add_test(self, question: _OtterQuestion, cell: NotebookNode) -> None:
        source = cell.source
        config: dict = {}
        block = _TEST_CONFIG.search(source)
        if block:
            config = _read_config(block[2])
            source = source.replace(block[0], "")
        hidden = _is_true(config.get("hidden")) or bool(_HIDDEN_TEST.match(source.lstrip()))
        config_of_case = _read_test_case(source)
        hidden = hidden or config_of_case.get("hidden") is True
        config = {**config_of_case, **config}
        source = _remove_otter_calls(source)
        source = _add_test_calls(_inline_env_tests(_assert_shown_value(source, _find_output(cell))))
        if hidden:
            source = f"### BEGIN HIDDEN TESTS\n{source}\n### END HIDDEN TESTS"
        cell.source = source
        question.tests.append((cell, _to_number(config.get("points"))))

    def _end_question(self) -> Iterator[NotebookNode]:
        """Finish a question: yield its test cells, each with a share of the points."""
        question, self.question, self.section = self.question, None, ""
        if question is None or question.is_manual:
            return
        for index, points in enumerate(_share_points(question)):
            question.tests[index] = (question.tests[index][0], points)
        if question.is_all_or_nothing and question.tests:
            cell = question.tests[0][0]
            cell.source = "\n".join(test.source for test, _ in question.tests)
            question.tests = [(cell, round(sum(points or 0.0 for _, points in question.tests), 10))]
        for number, (cell, worth) in enumerate(question.tests, start=1):
            name = f"test-{question.name}-{number}"
            cell.metadata["nbgrader"] = make_nbgrader_metadata(
                name,
                worth,
                grade=True,
                locked=True,
            )
            yield cell


def _find_mark(cell: NotebookNode) -> re.Match | None:
    """Return the mark that a cell consists of, such as `# BEGIN QUESTION`; None if it has none."""
    if cell.cell_type not in ("raw", "markdown") or len(cell.source) >= MAX_MARK_CHARACTERS:
        return None
    old_question = _OLD_QUESTION.search(cell.source)
    if old_question and cell.source.replace(old_question[0], "").strip():
        return None  # the text of a question of the older format follows its settings
    return _MARK.match(cell.source)


def _share_points(question: _OtterQuestion) -> list[float]:
    """Return the points of each test cell: its own, or a share of what the question is worth."""
    own_points = [points for _, points in question.tests]
    if len(question.points_in_order) == len(own_points):
        return question.points_in_order
    explicit = [points for points in own_points if points is not None]
    total = question.points
    if total is None:
        total = sum(explicit) or 1.0
    if question.points_of_each is not None:
        shares = [question.points_of_each] * len(own_points)
    else:
        shares = split_points(max(total - sum(explicit), 0.0), len(own_points) - len(explicit))
    remaining = iter(shares)
    return [next(remaining) if points is None else points for points in own_points]


def _read_question(text: str) -> _OtterQuestion:
    config = _read_config(text)
    question = _OtterQuestion(re.sub(r"\s+", "-", str(config.get("name", "question"))))
    points = config.get("points")
    if isinstance(points, dict):
        question.points = _to_number(points.get("total"))
        question.points_of_each = _to_number(points.get("each"))
    elif isinstance(points, list):
        question.points_in_order = [_to_number(entry) or 0.0 for entry in points]
        question.points = sum(question.points_in_order)
    else:
        question.points = _to_number(points)
    question.is_manual = _is_true(config.get("manual"))
    question.is_all_or_nothing = _is_true(config.get("all_or_nothing"))
    return question


def _read_config(text: str) -> dict:
    """Return the entries of a block of YAML; raise NotASourceNotebook if it is not valid YAML."""
    lines = [line for line in text.split("\n") if not _CONFIG_FRAME.match(line)]
    try:
        config = yaml.safe_load("\n".join(lines))
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise NotASourceNotebook(f"A block of settings of otter's is no YAML: {reason}.") from None
    return config if isinstance(config, dict) else {}


def _to_number(entry: object) -> float | None:
    """Return an entry of a block of settings as a float; None if it is not a number."""
    if isinstance(entry, bool) or not isinstance(entry, (int, float)):
        return None
    return float(entry)


def _is_true(entry: object) -> bool:
    return entry is True or str(entry).strip().lower() in ("true", "yes", "on")


def _get_first_line(cell: NotebookNode) -> str:
    return str(cell.source).lstrip().partition("\n")[0]


def convert_solution_marks(source: str) -> str:
    """Replace otter's marks of a solution, such as `# SOLUTION`, by those of nbgrader.

    A name that is assigned stays in the students' cell, as in otter's version for students.

    >>> print(convert_solution_marks("x = 2  # SOLUTION"))
    x = ...
    ### BEGIN SOLUTION
    x = 2
    ### END SOLUTION
    """
    # Otter's prompt stands after the solution. Here it stands before, so that the solution counts.
    lines: list[str] = []
    for prompt in _PROMPT.finditer(source):
        for line in prompt[0].split("\n"):
            name = _PROMPT_LINE.match(line)
            if name:
                lines.append(_make_prompt(name[1], source))
    # Of the solution that the last line belongs to: its end, its place and its indentation.
    end, begin, indentation = "", 0, ""
    for line in _PROMPT.sub("", source).split("\n"):
        region, single = _REGION.match(line), _ONE_LINE.match(line)
        if region:
            lines.append(f"{region[1]}### {region[2]} SOLUTION")
            end = ""
        elif single and single[2].strip():
            prompts: list[str] = []
            if "NO PROMPT" not in line and not single[1]:
                prompts = [_make_prompt(name, source) for name in _find_assigned_names(single[2])]
            # A line further to the left can lie outside of the function that holds the solution.
            is_same_solution = (
                lines and end and lines[-1] == end and single[1].startswith(indentation)
            )
            if is_same_solution:
                lines.pop()
                new_prompts = [prompt for prompt in prompts if prompt not in lines]
                lines[begin:begin] = new_prompts
                begin += len(new_prompts)
            else:
                lines += prompts
                begin, indentation = len(lines), single[1]
                lines.append(f"{indentation}### BEGIN SOLUTION")
            end = f"{indentation}### END SOLUTION"
            lines += [f"{single[1]}{single[2]}", end]
        else:
            lines.append(line)
    return "\n".join(lines)


def _find_assigned_names(line: str) -> list[str]:
    """Return the names to which a line of a solution assigns."""
    match = _ASSIGNMENT.match(line)
    return [name.strip() for name in match[1].split(",")] if match else []


def _make_prompt(name: str, source: str) -> str:
    """Return the line that tells students which name to assign, `x = ...`.

    If the solution changes an earlier value, `x = x + 1`, the line is a comment, so that the earlier
    value stays.
    """
    is_changed = re.search(rf"^\s*{name} *=.*\b{name}\b", source, re.M)
    return f"# {name} = ..." if is_changed else f"{name} = ..."


def _find_output(cell: NotebookNode) -> str:
    """Return the value that a cell showed when it was saved, as text; "" if there is none."""
    for output in cell.get("outputs", ()):
        if output.get("output_type") == "execute_result":
            text = output.get("data", {}).get("text/plain", "")
            return "".join(text).strip()
    return ""


def _assert_shown_value(source: str, output: str) -> str:
    """Turn the expression that ends a test into an assertion: otter compares what it shows.

    >>> _assert_shown_value("x = 2\\nf(x) * 2", "np.int64(6)")
    'x = 2\\nassert (f(x) * 2) == 6'
    >>> _assert_shown_value("all(x)", "True")
    'assert (all(x))'
    >>> _assert_shown_value("table.select('a')", "a\\n1")
    "assert repr((table.select('a'))).split() == 'a\\\\n1'.split()"
    """
    body = getattr(parse_code(source), "body", [])
    if not body or not isinstance(body[-1], ast.Expr):
        return source
    statement = body[-1]
    if isinstance(statement.value, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant)):
        return source
    number = _NUMPY_NUMBER.fullmatch(output)
    value = number[1] if number else output.removeprefix("np.").removesuffix("_")
    if not value and get_called_name(statement.value) in _PREDICATES:
        value = "True"
    expression = f"({ast.get_source_segment(source, statement.value)})"
    assertion = f"assert {expression} == {value}"
    try:
        ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        if not output or _ADDRESS.search(output) or is_full_value(statement.value):
            return source
        # Spaces at the ends of lines, and the width of columns, are no part of the answer.
        assertion = f"assert repr({expression}).split() == {output!r}.split()"
    if value == "True":
        assertion = f"assert {expression}"
    elif value == "False":
        assertion = f"assert not {expression}"
    lines = source.split("\n")
    end = statement.end_lineno or statement.lineno
    if lines[statement.lineno - 1][: statement.col_offset].strip():
        return source  # another statement stands before it in its line
    return "\n".join([*lines[: statement.lineno - 1], assertion, *lines[end:]])


def _read_test_case(source: str) -> dict:
    """Return the arguments of otter's decorator `@test_case(points=2, hidden=True)`; {} if none."""
    config: dict = {}
    for statement in getattr(parse_code(source), "body", []):
        for decorator in getattr(statement, "decorator_list", []):
            if get_called_name(decorator) != "test_case":
                continue
            for keyword in decorator.keywords:
                if keyword.arg in ("points", "hidden") and isinstance(keyword.value, ast.Constant):
                    config[keyword.arg] = keyword.value.value
    return config


def _inline_env_tests(source: str) -> str:
    """Write the test functions of otter's exception format as plain statements.

    Their argument `env` holds the student's names.

    >>> print(_inline_env_tests("def test_x(env):\\n    assert env['x'] == 1"))
    assert x == 1
    """
    tree = parse_code(source)
    if tree is None:
        return source
    body: list[ast.stmt] = []
    has_changed = False
    for statement in tree.body:
        is_test = isinstance(statement, ast.FunctionDef) and statement.name.startswith("test")
        if not is_test or any(isinstance(node, ast.Return) for node in ast.walk(statement)):
            body.append(statement)
            continue
        parameters = [argument.arg for argument in statement.args.args]
        if parameters not in (["env"], []):
            body.append(statement)
            continue
        has_changed = True
        body += [_ReplaceEnv().visit(part) for part in statement.body]
    return ast.unparse(ast.Module(body, [])) if has_changed else source


class _ReplaceEnv(ast.NodeTransformer):
    """Transformer of `env["x"]` and `env.get("x")` into `x`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Subscript(value=ast.Name("env"), slice=ast.Constant(str(name))):
                return ast.copy_location(ast.Name(name, node.ctx), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(ast.Name("env"), "get"),
                args=[ast.Constant(str(name)), *_],
            ):
                return ast.copy_location(ast.Name(name, ast.Load()), node)
        return node


def _remove_otter_calls(source: str) -> str:
    """Return a cell's source without the statements that only otter needs.

    >>> _remove_otter_calls("import otter\\ngrader = otter.Notebook()\\nx = 1\\ngrader.check('q1')")
    'x = 1'
    """
    lines = source.split("\n")
    plain = "\n".join("pass" if line.lstrip().startswith(("%", "!")) else line for line in lines)
    removed: set[int] = set()
    graders = {"grader"}
    for statement in getattr(parse_code(plain), "body", []):
        match statement:
            case ast.Import(names=[ast.alias(name=name)]) | ast.ImportFrom(module=str(name)):
                is_otters = name.partition(".")[0] == "otter"
            case ast.Assign(targets=[ast.Name(name)], value=ast.Call() as call):
                is_otters = ast.unparse(call.func) in ("otter.Notebook", "Notebook")
                if is_otters:
                    graders.add(name)
            case ast.Expr(value=ast.Call(func=ast.Attribute(ast.Name(name), attribute))):
                is_otters = name in graders and attribute in _GRADER_METHODS
            case _:
                is_otters = False
        if is_otters:
            removed |= set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    if not removed:
        return source
    return "\n".join(line for number, line in enumerate(lines, start=1) if number not in removed)


def _add_test_calls(source: str) -> str:
    """Append calls of the test functions to a test cell. Otter would call them itself."""
    body = getattr(parse_code(source), "body", [])
    calls = {
        get_called_name(statement.value) for statement in body if isinstance(statement, ast.Expr)
    }
    lines = [source]
    for statement in body:
        if not isinstance(statement, ast.FunctionDef) or not statement.name.startswith("test"):
            continue
        if statement.name not in calls:
            arguments = ", ".join(argument.arg for argument in statement.args.args)
            lines.append(f"{statement.name}({arguments})")
    return "\n".join(lines)
