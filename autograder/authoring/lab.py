"""Read a lab from its folder `solutions/<lab>/`.

The folder holds these files:

    lab.toml            title, minutes, difficulty, requirements, preloaded modules and limits
    <lab>.ipynb         solution notebook
    <exercise>.py       definition of an exercise, in a file with the exercise's name
    _shared.py          helper functions; no file that begins with an underscore defines an exercise
    teaching.md         notes for teachers

The Python files can import from each other with relative imports. Any inconsistency raises an error
when the course is read, before the lab is given to students.
"""

import ast
import hashlib
import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from traceback import extract_tb
from types import ModuleType, SimpleNamespace
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.exercise import Exercise, ExerciseError
from autograder.authoring.reference import find_setup_and_answer_sources, run_reference
from autograder.core.course import NUMBER, Course, check_toml_entries, read_course, read_toml
from autograder.core.errors import AutograderError
from autograder.core.import_guard import find_imports
from autograder.core.notebook_cells import (
    get_grade_id,
    get_nbgrader_metadata,
    make_grade_id,
    make_test_grade_id,
)
from autograder.core.run_limits import RunLimits
from autograder.core.text_format import join_words
from autograder.values.value_types import import_function

_ENTRIES: dict[str, type] = {
    "title": str,
    "minutes": int,
    "difficulty": str,
    "needs": str,
    "preload": list,
    "environment": list,
    "graded_with": dict,
    "limits": dict,
    "certificate": str,
}


MARK_SCHEME = re.compile(r"=== BEGIN MARK SCHEME ===(.*?)=== END MARK SCHEME ===", re.DOTALL)


class LabError(AutograderError):
    """Error for a mistake in a lab's folder. The text says which file is wrong and what to do."""


@dataclass(frozen=True, eq=False)
class Lab:
    """A lab of a course.

    Parameters
    ----------
    course : Course
    name, title, difficulty : str
    minutes : int
        Approximate working time.
    needs : str
        Function, as "module:function", that checks whether the lab can be built and graded on this
        machine. It returns the reason if that is impossible, else "". Here "" stands for a lab
        without requirements.
    preload : tuple of str
        Modules that are slow to import. The sandbox imports them once before it runs submissions,
        and before the import statements of the set-up cells. "module:function" means that the
        function is called, too.
    environment : tuple of str
        Names of environment variables that the notebook reads, and that the sandbox therefore gets.
    graded_with : mapping of str to str
        Values that these environment variables have where marks are given, such as
        ``{"KERAS_BACKEND": "tensorflow"}``. A check under other values says which verdicts may
        differ (see `portability_note` of `autograder.authoring.exercise.Exercise`).
    limits : mapping
        Limits for running a submission that differ from the defaults, by the names of the fields of
        `autograder.core.run_limits.RunLimits`.
    certificate : str
        Text that `progress()` shows when every exercise of the lab has passed.
    """

    course: Course
    name: str
    title: str
    minutes: int
    difficulty: str
    needs: str = ""
    preload: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    graded_with: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    certificate: str = ""

    def __repr__(self) -> str:
        return f"Lab({self.name!r})"

    @property
    def folder(self) -> Path:
        """Folder of the author's files for the lab: `solutions/<lab>`."""
        return self.course.solutions / self.name

    @property
    def order(self) -> int:
        """Number of the lab in the course, from 1."""
        return self.course.labs.index(self.name) + 1

    @property
    def solution_path(self) -> Path:
        """Path of the solution notebook."""
        return self.course.solution_notebook_path(self.name)

    @property
    def release_path(self) -> Path:
        """Path of the students' notebook."""
        return self.course.released_notebook_path(self.name)

    def read_solution(self) -> NotebookNode:
        """Return the solution notebook as it is saved.

        Raises
        ------
        LabError
            If the file is no notebook.
        """
        try:
            return nbformat.read(self.solution_path, as_version=4)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            reason = str(error).split("\n")[0].partition(": ")[0]
            raise LabError(
                f"{self.solution_path} cannot be read as a notebook: {reason}."
            ) from None

    @cached_property
    def cells(self) -> list[NotebookNode]:
        """Cells of the solution notebook; callers must not change them."""
        return list(self.read_solution().cells)

    def unavailable_reason(self) -> str:
        """The reason why the lab cannot be built and graded here, with a remedy; "" if it can."""
        return str(import_function(self.needs)()) if self.needs else ""

    def mark_schemes(self) -> dict[str, str]:
        """Return the marking schemes (how to give points) of the manually graded questions.

        The keys are the grade_ids of the questions' answer cells. A marking scheme in the notebook
        belongs to the first such cell below it.
        """
        schemes = {}
        scheme = ""
        for cell in self.cells:
            match = MARK_SCHEME.search(cell.source)
            if match:
                scheme = match[1].strip()
            name = get_grade_id(cell)
            if scheme and name in self.manual_questions:
                schemes[name] = scheme
                scheme = ""
        return schemes

    @cached_property
    def exercises(self) -> Mapping[str, Exercise]:
        """Exercises by name, in the order in which the notebook tests them.

        Raises
        ------
        LabError
            If a file defines no exercise of its name, or an exercise has no test cell or builds on
            an exercise of another lab or on a later one.
        """
        by_file = {exercise.name: exercise for exercise in self._import_exercises()}
        names_by_test = {make_test_grade_id(name): name for name in by_file}
        exercises: dict[str, Exercise] = {}
        for cell in self.cells:
            name = names_by_test.get(get_grade_id(cell))
            if name:
                exercises[name] = by_file[name]
        for name in by_file:
            if name not in exercises:
                raise LabError(
                    f"{self.name}: {name}.py defines an exercise, but no cell of the notebook has "
                    f"the grade_id {make_test_grade_id(name)!r}."
                )
        order = list(exercises)
        for exercise in exercises.values():
            exercise.lab = self
            for ancestor in exercise.builds_on:
                if exercises.get(ancestor.name) is not ancestor:
                    pair = f"{exercise.name} builds on {ancestor.name}"
                    raise LabError(f"{self.name}: {pair}, which is of another lab.")
                if order.index(ancestor.name) > order.index(exercise.name):
                    raise LabError(
                        f"{self.name}: {exercise.name} builds on {ancestor.name}, which comes later "
                        "in the notebook, so students could not check their answer. Move the cells "
                        f"of {ancestor.name} up, or take it out of `builds_on`."
                    )
        return exercises

    def _import_exercises(self) -> Iterator[Exercise]:
        package = self._make_folder_importable()
        for path in sorted(self.folder.glob("*.py")):
            if path.stem.startswith("_"):
                continue
            module = self._import_exercise_file(f"{package}.{path.stem}", path)
            exercises = [value for value in vars(module).values() if isinstance(value, Exercise)]
            for exercise in exercises:
                if exercise.name == path.stem:
                    yield exercise
                    break
            else:
                content = "it defines none"
                if exercises:
                    content = f"it defines {join_words([exercise.name for exercise in exercises])}"
                raise LabError(
                    f"{path}: an exercise named {path.stem!r}, as the file, is expected; {content}."
                )

    def _make_folder_importable(self) -> str:
        """Make the lab's folder importable as a package with a unique name, and return the name.

        With a package, the files of the lab can use relative imports.
        """
        digest = hashlib.sha1(str(self.folder).encode()).hexdigest()[:8]
        name = f"lab_{digest}_{self.name.replace('-', '_')}"
        if name not in sys.modules:
            package = ModuleType(name)
            package.__path__ = [str(self.folder)]
            sys.modules[name] = package
        return name

    def _import_exercise_file(self, module: str, path: Path) -> ModuleType:
        try:
            return importlib.import_module(module)
        except ExerciseError as error:
            raise LabError(f"{_describe_last_line(error, path)}: {error}") from None
        except Exception as error:  # an author's own code may raise anything
            location = _describe_last_line(error, path)
            reason = f"{type(error).__name__}: {error}".rstrip(".")
            raise LabError(f"{location} cannot be imported: {reason}.") from error

    @cached_property
    def exercises_by_test_cell(self) -> dict[str, Exercise]:
        """Exercises by the grade_id (nbgrader's name) of their test cell."""
        return {make_test_grade_id(name): exercise for name, exercise in self.exercises.items()}

    @cached_property
    def exercises_by_answer_cell(self) -> dict[str, Exercise]:
        """Exercises by the grade_id (nbgrader's name) of their answer cell."""
        return {make_grade_id(name): exercise for name, exercise in self.exercises.items()}

    def find_item_of_cell(self, grade_id: str) -> str:
        """Return the name of the exercise or question to which a notebook cell belongs.

        Parameters
        ----------
        grade_id : str
            nbgrader's name of the cell.

        Returns
        -------
        str
            Name of the exercise, or, for a manually graded question, the grade_id itself.
        """
        exercise = self.exercises_by_test_cell.get(grade_id)
        exercise = exercise or self.exercises_by_answer_cell.get(grade_id)
        if exercise is None:
            return grade_id
        return exercise.name

    @cached_property
    def manual_questions(self) -> dict[str, float]:
        """Maximum points of manually graded questions, by nbgrader's name of the answer cell."""
        points = {}
        for metadata in map(get_nbgrader_metadata, self.cells):
            if metadata.get("grade") and metadata.get("solution"):
                points[metadata["grade_id"]] = metadata["points"]
        return points

    def prerequisites(self, exercise: Exercise) -> list[Exercise]:
        """Return all exercises that an exercise builds on, directly or through other exercises.

        They are in the order of the notebook.
        """
        names: set[str] = set()
        queue = list(exercise.builds_on)
        while queue:
            ancestor = queue.pop()
            if ancestor.name not in names:
                names.add(ancestor.name)
                queue += ancestor.builds_on
        return [ancestor for ancestor in self.exercises.values() if ancestor.name in names]

    @cached_property
    def reference_cells(self) -> dict[str, str]:
        """Sources of the solution's set-up and answer cells, by grade_id or else by cell id."""
        return find_setup_and_answer_sources(self.cells)

    @cached_property
    def setup_import_statements(self) -> tuple[str, ...]:
        """Import statements of the set-up cells, which every submission runs."""
        statements = []
        for name, source in self.reference_cells.items():
            if name in self.exercises_by_answer_cell:
                continue
            for statement in ast.parse(source).body:
                if isinstance(statement, (ast.Import, ast.ImportFrom)):
                    statements.append(ast.unparse(statement))
        return tuple(statements)

    @cached_property
    def imported_course_packages(self) -> frozenset[str]:
        """Those modules in the list `imports` of course.toml that this lab imports.

        Only imports in set-up and answer cells count, since the lab can be graded if another cell
        fails.
        """
        modules = {name.partition(":")[0] for name in self.preload}
        for source in self.reference_cells.values():
            modules |= find_imports(source)
        return frozenset(modules & set(self.course.imports))

    @property
    def allowed_packages(self) -> frozenset[str]:
        """Packages that the lab's answers may import in addition to those of every course.

        A lab that needs one of the course's `imports` allows all of them, since they belong
        together, as Keras and its backends do. A lab that needs none of them allows none.
        """
        imports = self.course.imports if self.imported_course_packages else ()
        return frozenset((*self.course.library, *imports))

    @cached_property
    def reference(self) -> SimpleNamespace:
        """Object whose attributes are the names that the solution's cells define."""
        return self.run_reference_cells()

    def run_reference_cells(self) -> SimpleNamespace:
        """Run the solution's cells, and return an object with the names that this run defines.

        Its functions share nothing with those of `reference` but the modules that both import.
        """
        cell_seconds = self.limits.get("cell_seconds", RunLimits.cell_seconds)
        return run_reference(self.reference_cells, self.name, cell_seconds)


def _describe_last_line(error: Exception, path: Path) -> str:
    """Return where an error was raised that the import of a file ended in: a file and its line.

    It is the last line that ran in this file, or in a file beside it that it imports.
    """
    frames = extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if Path(frame.filename).parent == path.parent:
            return f"{frame.filename}, line {frame.lineno}"
    return str(path)


def read_lab(course: Course, name: str) -> Lab:
    """Read a lab of a course.

    Raises
    ------
    LabError
        If lab.toml is missing or has a mistake, or there is no solution notebook.
    UsageError
        If the course has no such lab.
    """
    return _read_cached_lab(course.root, course.require_lab(name))


def read_lab_in(folder: str, name: str) -> Lab:
    """Read the lab of this name, of the course that is in a folder.

    Worker processes call this, since a `Lab` cannot be sent to them and the two texts can.
    """
    return read_lab(read_course(Path(folder)), name)


@cache
def _read_cached_lab(root: Path, name: str) -> Lab:
    course = read_course(root)
    if str(root) not in sys.path:
        sys.path.append(str(root))  # so that the course's library can be imported
    path = course.solutions / name / "lab.toml"
    consequence = f"but course.toml lists the lab {name!r}"
    required = ("title", "minutes", "difficulty")
    entries = read_toml(path, _ENTRIES, LabError, required=required, consequence=consequence)
    if not course.solution_notebook_path(name).is_file():
        raise LabError(f"There is no solution notebook {course.solution_notebook_path(name)}.")
    needs = entries.get("needs")
    if needs:
        try:
            import_function(needs)
        except (ImportError, AttributeError, ValueError) as error:
            reason = f"needs names {needs!r}, which cannot be found ({error})."
            raise LabError(f"{path}: {reason}") from None
    _check_limits(path, entries.get("limits", {}))
    for variable, value in entries.get("graded_with", {}).items():
        if not isinstance(value, str):
            raise LabError(f"{path} [graded_with]: {variable} is {value!r}; a text is expected.")
    for entry in ("preload", "environment"):
        entries[entry] = tuple(entries.get(entry, ()))
    return Lab(course, name, **entries)


def _check_limits(path: Path, limits: Mapping[str, Any]) -> None:
    """Raise LabError if the table `[limits]` of lab.toml has an unknown name or a wrong value."""
    types = {}
    for limit in fields(RunLimits):
        types[limit.name] = int if limit.type is int else NUMBER
    check_toml_entries(limits, types, f"{path} [limits]", LabError)
    try:
        RunLimits(**limits)
    except ValueError as error:
        raise LabError(f"{path}: {error}") from None


def describe_unlisted_labs(course: Course) -> Iterator[str]:
    """Yield a sentence for each lab's folder that `labs` in course.toml does not list."""
    for path in sorted(course.solutions.glob("*/lab.toml")):
        name = path.parent.name
        if name not in course.labs:
            yield (
                f"{path.relative_to(course.root)} is there, and course.toml does not list {name!r} "
                "under `labs`, so it is not built and not graded. Add it there."
            )


def read_labs(course: Course, names: Iterable[str] | None = None) -> dict[str, Lab]:
    """Read labs of a course and their exercises.

    Parameters
    ----------
    names : iterable of str, optional
        Labs to read; by default all, in the course's order.

    Returns
    -------
    dict of str to Lab
        Labs by name.

    Raises
    ------
    LabError
        If a lab has a mistake, or two labs have an exercise of the same name.
    """
    labs = {name: read_lab(course, name) for name in (course.labs if names is None else names)}
    lab_names: dict[str, str] = {}
    for lab in labs.values():
        for name in lab.exercises:
            if name in lab_names:
                pair = f"{lab_names[name]} and {lab.name}"
                raise LabError(f"{pair} both have an exercise {name!r}; rename one of them.")
            lab_names[name] = lab.name
    return labs


def labs_by_grade_id(labs: Mapping[str, Lab]) -> dict[str, str]:
    """Map each grade_id (nbgrader's name of a cell) to its lab, except for ids used in two labs."""
    lab_names: dict[str, list[str]] = {}
    for lab in labs.values():
        for cell in lab.cells:
            name = get_grade_id(cell)
            if name:
                lab_names.setdefault(name, []).append(lab.name)
    return {name: owners[0] for name, owners in lab_names.items() if len(owners) == 1}
