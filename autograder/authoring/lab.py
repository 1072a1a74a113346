"""A lab: one record, read from `solutions/<lab>/`.

    lab.toml            title, minutes, difficulty; what it needs, preloads, and its limits
    <lab>.ipynb         the solution notebook
    <exercise>.py       one for each exercise, of the exercise's own name; they import each other relatively
    _shared.py          helpers: files that begin with an underscore hold no exercise
    teaching.md         notes for those who teach it

Whatever does not fit together is one sentence when the course is read, not when a student fails.
"""

import ast
import hashlib
import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.exercise import Exercise, ExerciseError
from autograder.authoring.reference import reference_cells, run_reference
from autograder.cells import grade_id, id_of, id_of_test, nbgrader_of
from autograder.course import Course, read, read_entries
from autograder.errors import Complaint, listed
from autograder.imports import imported
from autograder.judging.kinds import resolve

_FACTS: dict[str, type] = {
    "title": str,
    "minutes": int,
    "difficulty": str,
    "needs": str,
    "preload": list,
    "environment": list,
    "limits": dict,
    "certificate": str,
}


_SCHEME = re.compile(r"=== BEGIN MARK SCHEME ===(.*?)=== END MARK SCHEME ===", re.DOTALL)


class LabError(Complaint):
    """A lab's folder is not as it should be; the text says which file and what to do."""


@dataclass(frozen=True, eq=False)
class Lab:
    """A lab of a course.

    Parameters
    ----------
    course : Course
    name, title, difficulty : str
    minutes : int
        About how long it takes.
    needs : str
        "module:function" that returns why the lab can be neither built nor marked here, or "".
    preload : tuple of str
        Modules ("module", or "module:function" to call as well) that its notebook is slow to import, and that
        come before what its set-up cells import.
    environment : tuple of str
        Environment variables that its notebook reads, which marking hands on.
    limits : mapping
        Fields of `autograder.grading.sandbox.Limits` that differ from the usual.
    certificate : str
        What `progress()` says once every exercise of the lab has passed.
    """

    course: Course
    name: str
    title: str
    minutes: int
    difficulty: str
    needs: str = ""
    preload: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    certificate: str = ""

    def __repr__(self) -> str:
        return f"Lab({self.name!r})"

    @property
    def folder(self) -> Path:
        """The author's side of the lab."""
        return self.course.solutions / self.name

    @property
    def order(self) -> int:
        """The lab's place in the course, from 1."""
        return self.course.labs.index(self.name) + 1

    @property
    def solution(self) -> Path:
        """The solution notebook's file."""
        return self.course.solution(self.name)

    @property
    def released(self) -> Path:
        """The students' notebook's file."""
        return self.course.released(self.name)

    def read_solution(self) -> NotebookNode:
        """The solution notebook as it is saved."""
        return nbformat.read(self.solution, as_version=4)

    @cached_property
    def cells(self) -> list[NotebookNode]:
        """Its cells, to be looked at only."""
        return list(self.read_solution().cells)

    def why_unavailable(self) -> str:
        """Why the lab can be neither built nor marked here, and what to do about it; "" where it can."""
        return str(resolve(self.needs)()) if self.needs else ""

    def mark_schemes(self) -> dict[str, str]:
        """What each question is marked by, by the grade_id of its answer's cell; the question stands before it."""
        found, scheme = {}, ""
        for cell in self.cells:
            inside = _SCHEME.search(cell.source)
            if inside:
                scheme = inside[1].strip()
            if scheme and id_of(cell) in self.by_hand:
                found[id_of(cell)], scheme = scheme, ""
        return found

    @cached_property
    def exercises(self) -> Mapping[str, Exercise]:
        """The exercises by name, in the order of their test cells in the notebook.

        Raises
        ------
        LabError
        """
        found = {exercise.name: exercise for exercise in self._read_exercises()}
        tests = {id_of_test(name): name for name in found}
        order = [tests[id_of(cell)] for cell in self.cells if id_of(cell) in tests]
        missing = [name for name in found if name not in order]
        if missing:
            raise LabError(
                f"{self.name}: {missing[0]}.py defines an exercise, but no cell of the notebook has the "
                f"grade_id {id_of_test(missing[0])!r}."
            )
        exercises = {name: found[name] for name in order}
        for exercise in exercises.values():
            exercise.lab = self
            for other in exercise.builds_on:
                if exercises.get(other.name) is not other:
                    raise LabError(
                        f"{self.name}: {exercise.name} builds on {other.name}, which is of another lab."
                    )
        return exercises

    def _read_exercises(self) -> Iterator[Exercise]:
        package = self._package()
        for path in sorted(self.folder.glob("*.py")):
            if path.stem.startswith("_"):
                continue
            module = self._import(f"{package}.{path.stem}", path)
            defined = [e for e in vars(module).values() if isinstance(e, Exercise) and e.name == path.stem]
            if not defined:
                names = [e.name for e in vars(module).values() if isinstance(e, Exercise)]
                why = f"it defines {listed(names)}" if names else "it defines none"
                raise LabError(f"{path}: an exercise named {path.stem!r}, as the file, is due; {why}.")
            yield defined[0]

    def _package(self) -> str:
        """A package of its own for the lab's folder, so that its files import each other relatively."""
        name = f"lab_{hashlib.sha1(str(self.folder).encode()).hexdigest()[:8]}_{self.name.replace('-', '_')}"
        if name not in sys.modules:
            package = ModuleType(name)
            package.__path__ = [str(self.folder)]
            sys.modules[name] = package
        return name

    def _import(self, module: str, path: Path) -> ModuleType:
        try:
            return importlib.import_module(module)
        except ExerciseError as error:
            raise LabError(f"{path}: {error}") from None
        except Exception as error:  # an author's own code may raise anything
            raise LabError(f"{path} cannot be imported: {type(error).__name__}: {error}.") from error

    @cached_property
    def by_test(self) -> dict[str, Exercise]:
        """The exercises by the grade_ids of their test cells."""
        return {id_of_test(name): exercise for name, exercise in self.exercises.items()}

    @cached_property
    def by_answer(self) -> dict[str, Exercise]:
        """The exercises by the grade_ids of the cells in which they are answered."""
        return {grade_id(name): exercise for name, exercise in self.exercises.items()}

    def name_of(self, name: str) -> str:
        """What a graded cell of this grade_id is for: the name of an exercise or, itself, of a question."""
        exercise = self.by_test.get(name) or self.by_answer.get(name)
        return exercise.name if exercise else name

    @cached_property
    def by_hand(self) -> dict[str, float]:
        """The points of the questions that a person marks, by their cells' grade_ids."""
        known = map(nbgrader_of, self.cells)
        return {c["grade_id"]: c["points"] for c in known if c.get("grade") and c.get("solution")}

    def ancestors(self, exercise: Exercise) -> list[Exercise]:
        """The exercises that one builds on, directly or not, in the lab's order."""
        found: set[str] = set()
        todo = list(exercise.builds_on)
        while todo:
            other = todo.pop()
            if other.name not in found:
                found.add(other.name)
                todo += other.builds_on
        return [e for e in self.exercises.values() if e.name in found]

    @cached_property
    def reference_cells(self) -> dict[str, str]:
        """The sources of the cells that define the reference, by their grade_ids (or ids)."""
        return reference_cells(self.cells)

    @cached_property
    def imports(self) -> tuple[str, ...]:
        """The import statements of the notebook's set-up cells, which every hand-in runs."""
        setup = [source for name, source in self.reference_cells.items() if name not in self.by_answer]
        steps = (step for source in setup for step in ast.parse(source).body)
        return tuple(ast.unparse(step) for step in steps if isinstance(step, (ast.Import, ast.ImportFrom)))

    @cached_property
    def packages(self) -> frozenset[str]:
        """What this lab cannot do without of the packages that its course allows besides what every student has."""
        code = self.reference_cells.values()  # another cell may do without, as one that only shows something
        used = set().union(*map(imported, code), (name.partition(":")[0] for name in self.preload))
        return frozenset(used & set(self.course.imports))

    @cached_property
    def reference(self) -> SimpleNamespace:
        """What the solution notebook's set-up and solution cells define."""
        return run_reference(self.reference_cells, self.name)


def read_lab(course: Course, name: str) -> Lab:
    """One lab of a course.

    Raises
    ------
    LabError
    """
    return _lab(course.root, course.with_lab(name))


def lab_at(folder: str, name: str) -> Lab:
    """One lab of the course in a folder: by what a process of the run is told of it."""
    return read_lab(read(Path(folder)), name)


@cache
def _lab(root: Path, name: str) -> Lab:
    course = read(root)
    if str(root) not in sys.path:
        sys.path.append(str(root))  # for the course's library
    path = course.solutions / name / "lab.toml"
    absent = f"but course.toml lists the lab {name!r}"
    required = ("title", "minutes", "difficulty")
    facts = read_entries(path, _FACTS, LabError, required=required, absent=absent)
    if not course.solution(name).is_file():
        raise LabError(f"There is no solution notebook {course.solution(name)}.")
    if needs := facts.get("needs"):
        try:
            resolve(needs)
        except (ImportError, AttributeError, ValueError) as error:
            raise LabError(f"{path}: needs names {needs!r}, which cannot be found ({error}).") from None
    lists: Any = {name: tuple(facts.pop(name, ())) for name in ("preload", "environment")}
    return Lab(course, name, **lists, **facts)


def read_labs(course: Course, names: Iterable[str] | None = None) -> dict[str, Lab]:
    """Labs of a course by name, each with its exercises read; all of them, in the course's order, unless named.

    Raises
    ------
    LabError
        Also if two labs have an exercise of one name.
    """
    labs = {name: read_lab(course, name) for name in (course.labs if names is None else names)}
    homes: dict[str, str] = {}
    for lab in labs.values():
        for name in lab.exercises:
            if name in homes:
                raise LabError(
                    f"{homes[name]} and {lab.name} both have an exercise {name!r}; rename one of them."
                )
            homes[name] = lab.name
    return labs


def labs_by_grade_id(labs: Mapping[str, Lab]) -> dict[str, str]:
    """The lab of each grade_id that stands in one lab's notebook only."""
    homes: dict[str, list[str]] = {}
    for lab in labs.values():
        for cell in lab.cells:
            if name := id_of(cell):
                homes.setdefault(name, []).append(lab.name)
    return {name: where[0] for name, where in homes.items() if len(where) == 1}
