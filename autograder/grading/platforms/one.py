"""One hand-in, marked where it is asked for: no classroom, no gradebook, and nothing is kept."""

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.lab import Lab, LabError, labs_by_grade_id, read_lab
from autograder.cells import grade_id, id_of, id_of_test
from autograder.course import Course
from autograder.errors import Usage
from autograder.grading.intake.names import grade_ids_in, lab_of, lab_of_cells
from autograder.grading.marking import Marked, faulty, unmarkable
from autograder.grading.register.classroom import Submission, notebook_in, read_notebook
from autograder.grading.register.policy import read_policy
from autograder.grading.reports.feedback import Sheet, sheet_of_one
from autograder.grading.run.grade import described, priced
from autograder.grading.run.pool import Options, Pool, find_for
from autograder.grading.sandbox import SandboxError
from autograder.results import Result

WHICH = "Nothing in it says which lab it is for: hand in the lab's own notebook, which has its name."


@dataclass(frozen=True)
class Outcome:
    """What came of one hand-in, for whatever shows it.

    Parameters
    ----------
    lab : str
        "" where nothing says which it is.
    rows : tuple of Result
        In the notebook's order, at today's points; `student` is "".
    sheet : Sheet
        The same in words, as on the feedback page.
    by_hand : frozenset of str
        The questions that a person marks.
    fault : str
        Why the grader failed, if it did; then there is no mark.
    seconds : float
        By the clock.
    sandbox : str
        What it ran in; "" if it did not run.
    """

    lab: str
    rows: tuple[Result, ...]
    sheet: Sheet
    by_hand: frozenset[str] = frozenset()
    fault: str = ""
    seconds: float = 0.0
    sandbox: str = ""

    @property
    def judged(self) -> tuple[Result, ...]:
        """The rows of what is marked by machine and counts."""
        return tuple(row for row in self.rows if row.exercise not in self.by_hand and row.max_score)

    @property
    def score(self) -> float:
        """The points of what is marked by machine."""
        return sum(row.score or 0.0 for row in self.judged)

    @property
    def max_score(self) -> float:
        """The points to be had in it."""
        return sum(row.max_score for row in self.judged)

    @property
    def waiting(self) -> float:
        """The points that a person has yet to give."""
        return sum(row.max_score for row in self.rows if row.exercise in self.sheet.waits)


def mark_one(course: Course, path: Path, name: str | None, sandbox: Callable[[], str]) -> Outcome:
    """Mark the notebook at a path, or in the folder there.

    Parameters
    ----------
    name : str or None
        The lab; by default the one whose cells it holds, or whose name it has.
    sandbox : callable
        Gives the name of the sandbox to use, or raises SandboxError.

    Raises
    ------
    Usage
        If there is no such file or lab.
    LabError, CourseError
    """
    begun = time.monotonic()
    data, why, lab = _read(course, path, name)
    if lab is None:
        return unknown(course, why or WHICH)
    if data is not None and (other := _other_lab(course, lab, data)):
        data, why = None, other
    return outcome_of(lab, _marked(lab, data, why, sandbox), time.monotonic() - begun)


def outcome_of(lab: Lab, marked: Marked, seconds: float = 0.0) -> Outcome:
    """What marking found, at today's points and in words."""
    points = read_policy(lab.course, {lab.name: lab}).points[lab.name]
    return Outcome(
        lab.name,
        tuple(priced(marked, points)),
        sheet_of_one(lab, marked, points),
        frozenset(lab.by_hand),
        marked.faults[0] if marked.faults else "",
        round(seconds, 3),
        marked.sandbox,
    )


def unknown(course: Course, why: str) -> Outcome:
    """What is said of a file of which nobody knows what lab it is for."""
    sheet = Sheet(course.title, "", "", course.title, "", "0 points", (), (), unreadable=why)
    return Outcome("", (), sheet)


def _read(course: Course, path: Path, name: str | None) -> tuple[bytes | None, str, Lab | None]:
    """The notebook's bytes, what is odd about it, and its lab, as far as these can be told."""
    lab = read_lab(course, name) if name else None
    if path.is_dir() and not path.is_symlink():
        if lab is None:
            raise Usage(f"{path} is a folder: say with --lab which lab's notebook is due in it.")
        return *notebook_in(path, lab.name), lab
    if not path.is_symlink() and not path.exists():
        raise Usage(f"There is no file {path}.")
    data, why = read_notebook(path)
    if lab is None:
        found = lab_of_cells(data, _grade_ids(course)) if data else ""
        found = found or lab_of(path.name, course.labs) or (course.labs[0] if len(course.labs) == 1 else "")
        lab = read_lab(course, found) if found else None
    return data, why, lab


def _grade_ids(course: Course) -> dict[str, str]:
    """The lab of each grade_id, as far as the labs are here: a package holds one of a course's."""
    labs = {}
    for name in course.labs:
        with suppress(LabError):
            labs[name] = read_lab(course, name)
    return labs_by_grade_id(labs)


def _other_lab(course: Course, lab: Lab, data: bytes) -> str:
    """Why this is not the lab's notebook, in a sentence; "" where it has an answer of the lab's, or no other's."""
    named = grade_ids_in(data)
    answers = {*map(grade_id, lab.exercises), *map(id_of_test, lab.exercises), *lab.by_hand}
    if named & answers or named <= {id_of(cell) for cell in lab.read_solution().cells}:
        return ""
    others = {name: home for name, home in _grade_ids(course).items() if home != lab.name}
    whose = f"the notebook of {lab_of_cells(data, others) or 'another lab'}"
    return f"This is {whose}; {lab.name} is due here. Hand in {lab.name}.ipynb."


def _marked(lab: Lab, data: bytes | None, why: str, sandbox: Callable[[], str]) -> Marked:
    if data is None:
        return unmarkable(lab, why)
    if not_here := lab.why_unavailable():
        return faulty(lab, f"{lab.name} cannot be marked here. {not_here}")
    try:
        options = Options(sandbox=find_for([lab], sandbox()).name, salt=_salt(lab))
    except SandboxError as error:
        return faulty(lab, str(error))
    with Pool(str(lab.course.root), [lab.name], options, workers=1) as pool:
        ((_, outcome),) = pool.mark_all([Submission("", lab.name, data, why, None)])
    return faulty(lab, described(outcome)) if isinstance(outcome, Exception) else outcome


def _salt(lab: Lab) -> str:
    """What the seeds of fresh cases come from, where no class has a secret: the solution, which students lack.

    So the same file gets the same marks, wherever and however often it is marked.
    """
    return hashlib.sha256(lab.solution.read_bytes()).hexdigest()
