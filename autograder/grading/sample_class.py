"""A class to try things on: hand-ins made from the solutions and the catalogue of misconceptions."""

import ast
import inspect
import random
import sys
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.cells import grade_id, id_of
from autograder.exercise import Misconception
from autograder.labs import exercises
from autograder.labs.build import release
from autograder.labs.reference import SOLUTIONS, reference_cells

_FIRST = (
    "Ada Bela Chloé Dmitri Emeka Fatima Goran Hana Ines Jonas Kavya Lars Mei Nadia Omar Paula Quentin Rosa "
    "Sven Tariq Uma Viktor Wanda Xenia Yusuf Zoe Amélie Bruno Clara Duc"
).split()
_LAST = (
    "Adeyemi Bauer Costa Dubois Eriksen Fischer Greco Haddad Ivanova Jansen Khan Lopez Moreau Novak Okafor "
    "Petrov Quispe Rossi Sato Tanaka Ueda Vega Wagner Xu Yilmaz Zhang Ahmed Berg Chen Diaz"
).split()

HOSTILE = {
    "quits": "import os\nos._exit(0)",
    "never ends": "while True:\n    pass",
    "eats memory": "hoard = []\nwhile True:\n    hoard.append(bytearray(50_000_000))",
}


@cache
def _solution(lab: str) -> NotebookNode:
    return nbformat.read(SOLUTIONS / lab / f"{lab}.ipynb", as_version=4)


def perfect(lab: str) -> NotebookNode:
    """The lab as a student hands it in who got everything right."""
    notebook = deepcopy(release(_solution(lab)))
    sources = {
        c.metadata["nbgrader"]["grade_id"]: c.source
        for c in _solution(lab).cells
        if c.metadata.get("nbgrader", {}).get("solution")
    }
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = sources[cell.metadata["nbgrader"]["grade_id"]]
    return notebook


def with_answer(notebook: NotebookNode, exercise: str, source: str) -> NotebookNode:
    """A copy in which an exercise's cell holds `source`."""
    notebook = deepcopy(notebook)
    for cell in notebook.cells:
        if id_of(cell) == grade_id(exercise):
            cell.source = source
    return notebook


def wrong_answer(exercise, misconception: Misconception) -> str | None:
    """A misconception as a student would have written it: code that stands by itself in a cell.

    What it uses of its module comes with it; the right function that some start from does too.
    None for a misconception that is made by other code rather than written out.
    """
    module = inspect.getmodule(misconception.function)
    tree = ast.parse(inspect.getsource(module))
    at = inspect.unwrap(misconception.function).__code__.co_firstlineno
    known = {}
    for node in tree.body:
        for name in _bound(node):
            known.setdefault(name, node)
    own = next((n for n in tree.body if _is_written_out(n, exercise.name, at)), None)
    if own is None:
        return None
    own = deepcopy(own)
    own.decorator_list = [d for d in own.decorator_list if not _registers(d, exercise.name)]
    own.name = exercise.name
    needed, todo = [], [own]
    while todo:
        node = todo.pop()
        for name in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}:
            other = known.get(name)
            if other is not None and other not in needed and _plain(other):
                needed.append(other)
                todo.append(other)
    parts = [n for n in tree.body if n in needed] + [own]
    source = "\n\n\n".join(ast.unparse(n) for n in parts)
    if "solution." not in source:
        return source
    reference = dict(reference_cells(exercise.lab))[grade_id(exercise.name)]
    return (
        f"{reference}\n\n\nfrom types import SimpleNamespace\n\n"
        f"solution = SimpleNamespace(**globals())  # what is right so far\n\n\n{source}"
    )


def _is_written_out(node, exercise: str, line: int) -> bool:
    """Whether this is a function or class at that line, decorated as the exercise's misconception."""
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or not node.decorator_list:
        return False
    registered = any(_registers(d, exercise) for d in node.decorator_list)
    return registered and node.decorator_list[0].lineno <= line <= node.end_lineno


def _registers(decorator, exercise: str) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called) in {f"{exercise}.misconception", f"{exercise}.structural"}


def _bound(node) -> list[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    return []


def _plain(node) -> bool:
    """Not an exercise, nor the reference, nor one of the decorated wrong answers."""
    if isinstance(node, ast.Assign):
        return not (
            isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in {"Exercise", "Reference"}
        )
    if isinstance(node, ast.ImportFrom):
        return not node.module.startswith("autograder")
    return isinstance(node, ast.Import) or not node.decorator_list


def hand_ins(lab: str, count: int, seed: int = 0, hostile: bool = False) -> Iterator[tuple[str, bytes]]:
    """(what it is, the file's bytes) of `count` hand-ins: a third perfect, the rest with 1 to 3 mistakes.

    Parameters
    ----------
    hostile : bool
        Whether a few quit, loop or eat memory, and a few are no notebooks at all.
    """
    chance = random.Random(seed)
    right = perfect(lab)
    catalogue = [
        (e, m, source)
        for e in exercises(lab).values()
        for m in e.misconceptions
        if (source := wrong_answer(e, m))
    ]
    for number in range(count):
        notebook, what = right, "perfect"
        if hostile and number % 10 == 7:
            what, source = list(HOSTILE.items())[number // 10 % len(HOSTILE)]
            notebook = with_answer(right, chance.choice(list(exercises(lab))), source)
        elif hostile and number % 15 == 11:
            yield "cut off", nbformat.writes(right)[:5000].encode()
            continue
        elif number % 3:
            # Weighted towards a few, as in a real class.
            favourites = catalogue[:: max(len(catalogue) // 8, 1)]
            picks = chance.sample(favourites if chance.random() < 0.6 else catalogue, chance.randint(1, 3))
            for exercise, _, source in picks:
                notebook = with_answer(notebook, exercise.name, source)
            what = ", ".join(f"{e.name}: {m.name}" for e, m, _ in picks)
        notebook = deepcopy(notebook)
        for cell in notebook.cells:
            nbgrader = cell.metadata.get("nbgrader", {})
            if cell.cell_type == "markdown" and nbgrader.get("solution"):
                cell.source = f"In my words (student {number}): {cell.source[number % 7 * 9 : 400]}"
        yield what, nbformat.writes(notebook).encode()


def write_zip(path: Path, lab: str, count: int, due: datetime, seed: int = 0) -> None:
    """A class's hand-ins in one zip, named as Blackboard names them; every ninth is late.

    Parameters
    ----------
    due : datetime
        When the lab is due, in UTC.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (_, data) in enumerate(hand_ins(lab, count, seed, hostile=True)):
            student = f"{_FIRST[number % len(_FIRST)]}.{_LAST[number * 7 % len(_LAST)]}".lower()
            when = due + timedelta(hours=5) if number % 9 == 4 else due - timedelta(hours=3 + number)
            archive.writestr(f"{lab}_{student}_attempt_{when:%Y-%m-%d-%H-%M-%S}_{lab}.ipynb", data)
        archive.writestr("readme.txt", "Downloaded from the course page.")


def main(folder: Path, lab: str = "qkv-attention", count: int = 30) -> None:
    """Write `<folder>/download.zip`, and a gradebook in which the lab has its due date."""
    from autograder.grading.classroom import Classroom
    from autograder.grading.gradebook import Book

    due = datetime(2026, 11, 20, 18)
    folder.mkdir(parents=True, exist_ok=True)
    write_zip(folder / "download.zip", lab, count, due)
    with Book(Classroom(folder)) as book:
        book.prepare(lab, due=due)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
