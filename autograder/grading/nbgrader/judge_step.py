"""Our judge, and our late policy, as steps of plain `nbgrader autograde`, named in nbgrader's settings.

nbgrader's own bookkeeping (scores, feedback) then works on the outputs it leaves.
"""

import os
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.authoring.lab import Lab, read_lab
from autograder.course import find
from autograder.grading.marking import unmarkable
from autograder.grading.marking.mark import release_for_marking
from autograder.grading.nbgrader import gradebook
from autograder.grading.nbgrader.gradebook import timings
from autograder.grading.register.classroom import Classroom, leads_elsewhere, put_link_aside
from autograder.grading.register.policy import read_policy
from autograder.grading.register.roll import read_roll
from autograder.grading.run.limited import NotDone
from autograder.grading.run.pool import Options, mark_here
from autograder.grading.sandbox.choice import find as find_sandbox
from autograder.grading.sandbox.choice import why_not_first

_READ_HERE = 2_000_000  # bytes of a file that nbgrader reads itself, without limits


def _lab(resources: dict[str, Any] | None) -> Lab:
    return read_lab(find(), (resources or {})["nbgrader"]["assignment"])


def put_aside_time(assignment: str, student: str, notebooks: Sequence[str]) -> None:
    """nbgrader's hook before it converts a hand-in: it gives one up whose timestamp.txt it cannot read, and copies
    what links beside the notebook lead to."""
    for folder in {Path(notebook).parent for notebook in notebooks}:
        gradebook.put_aside_time(folder)
        if leads_elsewhere(folder):
            continue  # the judge refuses it
        for above, folders, files in os.walk(folder):
            for path in (Path(above, name) for name in (*folders, *files)):
                if path.is_symlink():
                    put_link_aside(path)


class Reader(NotebookExporter):
    """Gives the lab's own notebook in place of a student's that nbgrader, or what it calls, might refuse.

    `Judge` marks the file itself.
    """

    def from_filename(self, filename: str, resources: Any = None, **kw: Any) -> tuple[Any, dict[str, Any]]:
        lab = _lab(resources)
        submitted = Classroom(lab.course.classroom, lab.course).submitted
        try:
            if Path(filename).absolute().is_relative_to(submitted.absolute()):
                raise ValueError("it is read within limits, by the judge")
            if Path(filename).stat().st_size > _READ_HERE:
                raise ValueError("too long")
            notebook = nbformat.read(filename, as_version=4)
            nbformat.validate(notebook)
            nbformat.writes(notebook).encode()
        except Exception:  # noqa: BLE001 - hostile content can make a reader raise anything
            notebook = deepcopy(release_for_marking(lab))
        return self.from_notebook_node(notebook, resources, **kw)


class Judge(NbGraderPreprocessor):
    """Rebuild the hand-in, run it in the sandbox, and leave our verdicts as the test cells' outputs.

    The classroom is the course's own, with its secret: the same bytes get the same mark on either road.
    """

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        lab = _lab(resources)
        classroom = Classroom(lab.course.classroom, lab.course)
        handed_in = classroom.submission(resources["nbgrader"].get("student", ""), lab.name)
        data, why = handed_in.data, handed_in.why
        if data is None and not (classroom.submitted / handed_in.student / lab.name).exists():
            data, why = nbformat.writes(nb).encode(), ""  # it lies elsewhere
        if data is None:
            return unmarkable(lab, why).notebook, resources
        try:
            kind = find_sandbox("auto")
            if why := why_not_first(kind):
                self.log.info("It runs in the sandbox %s, for bubblewrap does not start. %s", kind.name, why)
            options = Options(salt=classroom.salt, sandbox=kind.name)
            marked = mark_here(str(lab.course.root), lab.name, data, why, options, True)
        except NotDone as problem:
            raise RuntimeError(f"The grader failed, not the student: {problem}") from None
        if marked.faults:
            raise RuntimeError(marked.faults[0])  # nbgrader then records no mark
        due = read_policy(lab.course, {}).due[lab.name]
        if url := resources["nbgrader"].get("db_url"):
            # nbgrader asks for a penalty only where the gradebook itself has a due date.
            with Gradebook(url, lab.course.id) as book:
                gradebook.set_due(book, classroom, lab.name, due)
        return nbformat.from_dict(marked.notebook), resources


class LatePolicy(LateSubmissionPlugin):
    """The penalty that course.toml and the roster say, on nbgrader's own road too."""

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """The points to take off; nbgrader's own count of the seconds knows no extension of the roster."""
        course, step = find(), self.parent
        policy = read_policy(course, {})
        roll = read_roll(Classroom(course.classroom, course))
        timing = timings(step.gradebook.db.query, policy, roll).get((student_id, step.assignment_id))
        return policy.penalty(score, timing) or None if timing else None
