"""Otter's source notebooks, turned into nbgrader's: the same cells, with nbgrader's metadata and marks.

Both of otter's formats: questions between raw cells (`# BEGIN QUESTION` … `# END QUESTION`), and the older one, where
a code block in Markdown begins a question and test cells begin with `## Test ##`.
"""

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

from nbformat import NotebookNode

from autograder.authoring.foreign import shares
from autograder.authoring.names import called, parsed
from autograder.cells import graded

_MARK = re.compile(
    r"^\s*(?:<!--\s*)?#* *(BEGIN|END) (QUESTION|SOLUTION|TESTS|PROMPT|ASSIGNMENT CONFIG)\b|^\s*# ASSIGNMENT CONFIG"
)
_OLD_QUESTION = re.compile(r"(?:```|<!--)\s*\n?\s*BEGIN QUESTION\n(.*?)(?:```|-->)", re.S)
_OLD_CONFIG = re.compile(r"```\s*\n?\s*BEGIN ASSIGN(?:MENT)?\b.*?```", re.S)
_OLD_TEST = re.compile(r"^\s*#+ *(hidden *)?tests? *#*\s*$", re.I)
_TEST_CONFIG = re.compile(r'^""" *# *BEGIN TEST CONFIG\n(.*?)^""" *# *END TEST CONFIG\n?', re.S | re.M)
_PROMPT = re.compile(r'^[ \t]*""" *# *BEGIN PROMPT.*?# *END PROMPT[^\n]*\n?', re.S | re.M)
_ONE_LINE = re.compile(r"^(\s*)(.*?)\s*#+ *SOLUTION(?: NO PROMPT)?\s*$")
_REGION = re.compile(r"^(\s*)#+ *(BEGIN|END) SOLUTION(?: NO PROMPT)?\s*$")


@dataclass
class _Question:
    """A question while its cells are read."""

    name: str
    points: float
    manual: bool
    # Each with points of its own, if it has any.
    tests: list[tuple[NotebookNode, float | None]] = field(default_factory=list)
    answered: bool = False


def is_source(notebook: NotebookNode) -> bool:
    """Whether a notebook is written for `otter assign`."""
    return any("BEGIN QUESTION" in cell.source for cell in notebook.cells)


def as_nbgrader(notebook: NotebookNode) -> NotebookNode:
    """The same notebook as nbgrader has it: otter's marks gone, cells with metadata, one solution cell an answer."""
    made = deepcopy(notebook)
    made.cells = list(_Reader().read(made.cells))
    return made


class _Reader:
    """What is open while one goes through a notebook's cells."""

    def __init__(self) -> None:
        self.question: _Question | None = None
        self.inside = ""  # SOLUTION, TESTS or PROMPT

    def read(self, cells: list[NotebookNode]) -> Iterator[NotebookNode]:
        for cell in cells:
            mark = _MARK.match(cell.source) if cell.cell_type in ("raw", "markdown") else None
            if mark and len(cell.source) < 2_000:
                yield from self._marked(mark, cell.source)
            else:
                yield from self._cell(cell)
        yield from self._close()

    def _marked(self, mark: re.Match, source: str) -> Iterator[NotebookNode]:
        what, of = mark[1], mark[2]
        if of == "QUESTION":
            yield from self._close()
            if what == "BEGIN":
                self.question = _question(source)
        elif of:
            self.inside = of if what == "BEGIN" else ""

    def _cell(self, cell: NotebookNode) -> Iterator[NotebookNode]:
        old = _OLD_QUESTION.search(cell.source) if cell.cell_type == "markdown" else None
        if old:
            yield from self._close()
            self.question = _question(old[1])
            cell.source = cell.source.replace(old[0], "").strip()
        if cell.cell_type == "raw" or (cell.cell_type == "markdown" and _OLD_CONFIG.search(cell.source)):
            return
        question = self.question
        if question is None or self.inside == "PROMPT":
            if self.inside != "PROMPT" or cell.cell_type == "markdown":
                yield cell
        elif self.inside == "TESTS" or (cell.cell_type == "code" and _OLD_TEST.match(_first_line(cell))):
            if cell.cell_type == "code":
                self._test(question, cell)
        elif self.inside == "SOLUTION" or (cell.cell_type == "code" and "SOLUTION" in cell.source):
            yield self._answer(question, cell)
        else:
            yield cell

    def _answer(self, question: _Question, cell: NotebookNode) -> NotebookNode:
        name = question.name if not question.answered else f"{question.name}-{cell.get('id', '')}"
        grade = question.manual and not question.answered
        if cell.cell_type == "code":
            cell.source = with_regions(cell.source)
        if cell.cell_type == "code" or grade:
            points = question.points if grade else None
            cell.metadata["nbgrader"] = graded(name, points, grade=grade, solution=True)
        question.answered = True
        return cell

    def _test(self, question: _Question, cell: NotebookNode) -> None:
        config = _TEST_CONFIG.search(cell.source)
        about = config[1] if config else ""
        source = cell.source.replace(config[0], "") if config else cell.source
        first = _first_line(cell)
        old = _OLD_TEST.match(first)
        hidden = bool(re.search(r"hidden: *true", about, re.I) or re.match(r"#+ *HIDDEN\b", first, re.I))
        if hidden or (old and old[1]):
            source = f"### BEGIN HIDDEN TESTS\n{source}\n### END HIDDEN TESTS"
        cell.source = _called(source)
        question.tests.append((cell, _entry(about, "points")))

    def _close(self) -> Iterator[NotebookNode]:
        """The test cells of the question that ends, with their points."""
        question, self.question, self.inside = self.question, None, ""
        if question is None or question.manual:
            return
        own = [points for _, points in question.tests if points is not None]
        left = max(question.points - sum(own), 0.0)
        rest = iter(shares(left, len(question.tests) - len(own)))
        for number, (cell, points) in enumerate(question.tests, start=1):
            points = next(rest) if points is None else points
            name = f"test-{question.name}-{number}"
            cell.metadata["nbgrader"] = graded(name, points, grade=True, locked=True)
            yield cell


def _question(text: str) -> _Question:
    name = re.search(r"^name: *(\S+)", text, re.M)
    points = _entry(text, "points")
    manual = bool(re.search(r"^manual: *true", text, re.I | re.M))
    return _Question(name[1].strip("\"'") if name else "question", 1.0 if points is None else points, manual)


def _entry(text: str, name: str) -> float | None:
    found = re.search(rf"^{name}: *\n?\s*(?:(?:each|total): *)?([\d.]+)\s*$", text, re.M)
    return float(found[1]) if found else None


def _first_line(cell: NotebookNode) -> str:
    return str(cell.source).lstrip().partition("\n")[0]


def with_regions(source: str) -> str:
    """A solution's source with nbgrader's marks in place of otter's.

    >>> print(with_regions("x = 2  # SOLUTION"))
    ### BEGIN SOLUTION
    x = 2
    ### END SOLUTION
    """
    lines: list[str] = []
    end = ""
    for line in _PROMPT.sub("", source).split("\n"):
        region, single = _REGION.match(line), _ONE_LINE.match(line)
        if region:
            lines.append(f"{region[1]}### {region[2]} SOLUTION")
            end = ""
        elif single and single[2].strip():
            if lines and end and lines[-1] == end:
                lines.pop()  # the line before is a solution, too
            else:
                lines.append(f"{single[1]}### BEGIN SOLUTION")
            end = f"{single[1]}### END SOLUTION"
            lines += [f"{single[1]}{single[2]}", end]
        else:
            lines.append(line)
    return "\n".join(lines)


def _called(source: str) -> str:
    """A test cell with calls of its test functions, which otter makes by itself."""
    body = getattr(parsed(source), "body", [])
    done = {called(s.value) for s in body if isinstance(s, ast.Expr)}
    tests = [s for s in body if isinstance(s, ast.FunctionDef) and s.name.startswith("test")]
    calls = [f"{s.name}({', '.join(a.arg for a in s.args.args)})" for s in tests if s.name not in done]
    return "\n".join([source, *calls])
