"""Sample class: submissions made from the solutions and the catalogue of misconceptions."""

import ast
import inspect
import random
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeGuard

import nbformat
from nbformat import NotebookNode

from autograder.authoring.exercise import Exercise
from autograder.authoring.lab import Lab, read_lab
from autograder.authoring.released_notebook import release_notebook
from autograder.core.course import find_course
from autograder.core.notebook_cells import get_grade_id, make_grade_id
from autograder.values.case_records import Misconception

_FIRST = (
    "Ada Bela Chloé Dmitri Emeka Fatima Goran Hana Ines Jonas Kavya Lars Mei Nadia Omar Paula "
    "Quentin Rosa Sven Tariq Uma Viktor Wanda Xenia Yusuf Zoe Amélie Bruno Clara Duc"
).split()
_LAST = (
    "Adeyemi Bauer Costa Dubois Eriksen Fischer Greco Haddad Ivanova Jansen Khan Lopez Moreau "
    "Novak Okafor Petrov Quispe Rossi Sato Tanaka Ueda Vega Wagner Xu Yilmaz Zhang Ahmed Berg "
    "Chen Diaz"
).split()

_MARK = re.compile(r"\s*### (BEGIN|END) SOLUTION$")

HOSTILE = {
    "quits": "import os\nos._exit(0)",
    "never ends": "while True:\n    pass",
    "eats memory": "hoard = []\nwhile True:\n    hoard.append(bytearray(50_000_000))",
}


# Answers to a question of the second lab: right, half right and wrong, each with sentences that some
# students leave out. The sheet for manual grading shows them as three groups.
WRITTEN_ANSWERS = {
    "explain-flat": (
        "The picture is misleading: august gets only 0.0798, and all other words get about 0.077. "
        "With equal weights each of the 13 words would get 1/13 = 0.0769, so the row is nearly flat. "
        "The colours are stretched between the smallest and the largest weight. "
        "The cause is the scale. The word vectors have length 1, so a dot product is at most 1, and "
        "divided by the root of 300 the scores are at most 0.06. "
        "The exponentials of such scores are all close to 1. "
        "With a low temperature the row would become sharp. The order of the words would stay.",
        "The model is not so sure, because the weights are all about 0.08. "
        "That comes from the division by the root of d_k, which makes the scores small. "
        "If we leave the scale out, the weights become sharper. "
        "I am not sure whether the order of the words changes then.",
        "You are right, the model is very sure. The field of august is bright yellow and all others "
        "are dark, so nearly all attention goes there. "
        "That is because the dot product of a word and its translation is large. "
        "To make it even better one could train the vectors longer.",
    ),
}


def make_written_answer(question: str, model_answer: str, number: int) -> str:
    """Return a student's answer to a question for a person: right, half right or wrong."""
    quality = (0, 0, 1, 0, 2)[number % 5]
    answers = WRITTEN_ANSWERS.get(question, (model_answer,) * 3)
    sentences = re.split(r"(?<=[.:!?]) ", answers[quality])
    if question not in WRITTEN_ANSWERS:
        sentences = sentences[: max(1, len(sentences) // (1 + quality))]
    elif len(sentences) > 3 and number % 4:
        del sentences[1 + number % (len(sentences) - 2)]
    # No two submissions of a sample class may be the same.
    return " ".join([*sentences, f"(This is my own answer, as student {number}.)"])


def perfect(lab: Lab) -> NotebookNode:
    """Return a lab's notebook with every answer right."""
    solution = lab.read_solution()
    notebook = deepcopy(release_notebook(solution, lab))
    sources = {
        get_grade_id(c): c.source
        for c in solution.cells
        if c.metadata.get("nbgrader", {}).get("solution")
    }
    for cell in notebook.cells:
        if source := sources.get(get_grade_id(cell)):
            cell.source = "\n".join(line for line in source.splitlines() if not _MARK.match(line))
    return notebook


def with_answer(notebook: NotebookNode, exercise: str, source: str) -> NotebookNode:
    """Return a copy in which an exercise's cell has this source."""
    notebook = deepcopy(notebook)
    for cell in notebook.cells:
        if get_grade_id(cell) == make_grade_id(exercise):
            cell.source = source
    return notebook


def wrong_answer(exercise: Exercise, misconception: Misconception) -> str | None:
    """A misconception as a student would have written it: code that stands by itself in a cell.

    What it uses of its module comes with it; the right function that some start from does too.
    None for a misconception that is made by other code rather than written out.
    """
    return written_out(exercise, misconception.function)


def written_out(exercise: Exercise, function: Callable | None) -> str | None:
    """The same of any function that is registered with an exercise, such as a right variant."""
    active_slips = getattr(function, "active_slips", ())
    function = inspect.unwrap(function) if function else None
    if not inspect.isfunction(function) and not inspect.isclass(function):
        return None
    path = Path(inspect.getfile(function))
    statements: dict[str, ast.stmt] = {}
    body = list(_statements(path))
    for node in body:
        if _takes_slips(node):
            _make_slips(node, active_slips)
        for name in _bound(node):
            statements.setdefault(name, node)
    line = inspect.getsourcelines(function)[1]
    own = next(
        (
            n
            for n in ast.parse(path.read_text("utf-8")).body
            if _is_written_out(n, exercise.name, line)
        ),
        None,
    )
    if not isinstance(own, (ast.FunctionDef, ast.ClassDef)):
        return None
    if any(_registers(d, exercise.name, ("slips",)) for d in own.decorator_list):
        own = _make_slips(own, active_slips)
    own.decorator_list = [d for d in own.decorator_list if not _registers(d, exercise.name)]
    own.name = exercise.name
    needed_statements: list[ast.stmt] = []
    todo: list[ast.stmt] = [own]
    while todo:
        for name in {n.id for n in ast.walk(todo.pop()) if isinstance(n, ast.Name)}:
            definition = statements.get(name)
            if (
                definition is not None
                and definition not in needed_statements
                and _plain(definition)
            ):
                needed_statements.append(definition)
                todo.append(definition)
    right = _Right(set(exercise.lab.exercises))
    parts = [
        ast.unparse(right.visit(deepcopy(n)))
        for n in [*(n for n in body if n in needed_statements), own]
    ]
    return "\n\n\n".join(
        [*(_right_function(exercise, name) for name in sorted(right.used)), *parts],
    )


class _Right(ast.NodeTransformer):
    """Turns what only an author has into names: `softmax.reference` into `right_softmax`."""

    def __init__(self, exercises: set[str]):
        self._exercises, self.used = exercises, set[str]()

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        inner = node.value
        if isinstance(inner, ast.Name) and inner.id in self._exercises and node.attr == "reference":
            self.used.add(inner.id)
            return ast.Name(f"right_{inner.id}", ast.Load())
        if isinstance(inner, ast.Attribute) and inner.attr == "solution":
            return ast.Name(node.attr, ast.Load())
        return self.generic_visit(node)  # type: ignore[return-value]


def _right_function(exercise: Exercise, name: str) -> str:
    source = exercise.lab.reference_cells[make_grade_id(name)]
    if name == exercise.name:
        return f"{source}\n\n\nright_{name} = {name}  # what is right so far"
    return f"_names = dict(globals())\nexec({source!r}, _names)\nright_{name} = _names[{name!r}]"


def _statements(path: Path) -> Iterator[ast.stmt]:
    """Return the statements of a lab's file, after those of the helpers that it imports."""
    body = ast.parse(path.read_text("utf-8")).body
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.level:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            for name in names:
                if name.startswith("_"):
                    yield from _statements(path.with_name(f"{name}.py"))
            if node.module and not node.module.startswith("_"):
                yield from _find_functions(path.with_name(f"{node.module}.py"), node.names)
    yield from body


def _find_functions(path: Path, aliases: Sequence[ast.alias]) -> Iterator[ast.stmt]:
    """Return the functions of another exercise's file that are imported by their own names."""
    names = {alias.name for alias in aliases if not alias.asname}
    if path.is_file():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name in names:
                yield node


def _is_written_out(node: ast.stmt, exercise: str, line: int) -> bool:
    """Return True for a function or class at a line, decorated as the exercise's misconception."""
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or not node.decorator_list:
        return False
    registered = any(_registers(d, exercise) for d in node.decorator_list)
    return registered and node.decorator_list[0].lineno <= line <= (node.end_lineno or 0)


_WRONG_OR_RIGHT = ("misconception", "common_mistake", "variant", "slips")


def _registers(decorator: ast.expr, exercise: str, kinds: Sequence[str] = _WRONG_OR_RIGHT) -> bool:
    decorator_function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(decorator_function) in {f"{exercise}.{kind}" for kind in kinds}


def _takes_slips(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    """Return True for a helper that several functions with slips call."""
    if not isinstance(node, ast.FunctionDef) or node.decorator_list or not node.args.args:
        return False
    return node.args.args[0].arg == "slip"


def _make_slips(function: ast.FunctionDef, active_slips: Collection[str]) -> ast.FunctionDef:
    """Return a function with slips as a student writes it who makes those that are active."""
    made = ast.fix_missing_locations(_SlipsMade(active_slips).visit(function))
    assert isinstance(made, ast.FunctionDef)
    del made.args.args[0]
    return made


class _SlipsMade(ast.NodeTransformer):
    """Replaces what a function asks `slip` by the answer, and drops what is never run then."""

    def __init__(self, active_slips: Collection[str]):
        self._active_slips = active_slips

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "slip":
            return ast.Constant(node.attr in self._active_slips)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.args = [a for a in node.args if not (isinstance(a, ast.Name) and a.id == "slip")]
        if ast.unparse(node.func) == "slip.choose":
            chosen = node.args[0]
            for keyword in node.keywords:
                if keyword.arg in self._active_slips:
                    chosen = keyword.value
            return self.visit(chosen)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt] | None:
        condition = _fold(self.visit(node.test))
        if condition is None:
            self.generic_visit(node)
            node.body = node.body or [ast.Pass()]
            return node
        kept = node.body if condition else node.orelse
        statements: list[ast.stmt] = []
        for statement in kept:
            visited = self.visit(statement)
            statements += visited if isinstance(visited, list) else [visited] if visited else []
        return statements or None


def _fold(condition: ast.expr) -> bool | None:
    """Return the value of a condition that is made of constants; None if it has another value."""
    names = {n.id for n in ast.walk(condition) if isinstance(n, ast.Name)}
    if names or any(isinstance(n, ast.Call) for n in ast.walk(condition)):
        return None
    return bool(eval(ast.unparse(condition), {}))


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    return []


def _plain(node: ast.stmt) -> bool:
    """Not an exercise, nor something of the author's, nor one of the decorated wrong answers."""
    if isinstance(node, ast.Assign):
        return not (isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "Exercise")
    if isinstance(node, ast.ImportFrom):
        return not node.level and not (node.module or "").startswith("autograder")
    return isinstance(node, ast.Import) or not getattr(node, "decorator_list", [])


def submissions(
    lab: Lab, count: int, seed: int = 0, hostile: bool = False
) -> Iterator[tuple[str, bytes]]:
    """(what it is, the file's bytes) of `count` submissions: a third perfect, the rest with 1 to 3 mistakes.

    Parameters
    ----------
    hostile : bool
        Whether a few quit, loop or eat memory, and a few are no notebooks at all.
    """
    chance = random.Random(seed)
    right = perfect(lab)
    catalogue = [
        (e, m, source)
        for e in lab.exercises.values()
        for m in e.misconceptions
        if (source := wrong_answer(e, m))
    ]
    for number in range(count):
        notebook, description = right, "perfect"
        if hostile and number % 10 == 7:
            description, source = list(HOSTILE.items())[number // 10 % len(HOSTILE)]
            notebook = with_answer(right, chance.choice(list(lab.exercises)), source)
        elif hostile and number % 15 == 11:
            yield "cut off", nbformat.writes(right)[:5000].encode()
            continue
        elif number % 3:
            # Weighted towards a few, as in a real class.
            favourites = catalogue[:: max(len(catalogue) // 8, 1)]
            picks = chance.sample(
                favourites if chance.random() < 0.6 else catalogue,
                chance.randint(1, 3),
            )
            for exercise, _, source in picks:
                notebook = with_answer(notebook, exercise.name, source)
            description = ", ".join(f"{e.name}: {m.name}" for e, m, _ in picks)
        notebook = deepcopy(notebook)
        for cell in notebook.cells:
            nbgrader = cell.metadata.get("nbgrader", {})
            if cell.cell_type == "markdown" and nbgrader.get("solution"):
                cell.source = make_written_answer(nbgrader["grade_id"], cell.source, number)
        yield description, nbformat.writes(notebook).encode()


def write_zip(path: Path, lab: Lab, count: int, due: datetime, seed: int = 0) -> None:
    """A class's submissions in one zip, named as Blackboard names them; every ninth is late.

    Parameters
    ----------
    due : datetime
        When the lab is due, in UTC.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (_, data) in enumerate(submissions(lab, count, seed, hostile=True)):
            student = f"{_FIRST[number % len(_FIRST)]}.{_LAST[number * 7 % len(_LAST)]}".lower()
            submission_time = (
                due + timedelta(hours=5) if number % 9 == 4 else due - timedelta(hours=3 + number)
            )
            archive.writestr(
                f"{lab.name}_{student}_attempt_{submission_time:%Y-%m-%d-%H-%M-%S}_{lab.name}.ipynb",
                data,
            )
        archive.writestr("readme.txt", "Downloaded from the course page.")


def main(folder: Path, name: str = "", count: int = 30) -> None:
    """Write `<folder>/download.zip`, and a gradebook in which the lab has its due date.

    Parameters
    ----------
    name : str
        The lab; by default the course's second, or its only one.
    """
    from autograder.gradebook.classroom import Classroom
    from autograder.gradebook.nbgrader_db import open_gradebook

    course = find_course()
    lab = read_lab(course, name or course.labs[min(1, len(course.labs) - 1)])
    due = datetime(2026, 11, 20, 18, tzinfo=UTC)
    folder.mkdir(parents=True, exist_ok=True)
    write_zip(folder / "download.zip", lab, count, due)
    # As the formgrader sets it: the course names none, and what it has named goes when it no longer
    # does.
    with open_gradebook(Classroom(folder, course)) as book:
        book.update_or_create_assignment(lab.name, duedate=due.replace(tzinfo=None))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
