"""Plug-ins that make plain `nbgrader autograde` give the same marks as `autograder grade`.

nbgrader's settings name the classes in this module (see `authoring.nbgrader_settings`). `GradingPreprocessor`
writes verdicts into the outputs of the test cells, from which nbgrader computes scores and
feedback. `LatePolicy` applies the late penalties.
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
from autograder.core.course import find_course
from autograder.gradebook.class_list import read_class_list
from autograder.gradebook.classroom import Classroom, is_behind_link, replace_link_with_note
from autograder.gradebook.deadlines import read_timings, set_aside_invalid_timestamp
from autograder.gradebook.graded_submission import GradingOptions
from autograder.gradebook.nbgrader_db import set_due_date
from autograder.gradebook.policy import read_policy
from autograder.grading.grade_submission import grade_unreadable_submission, release_for_grading
from autograder.grading.pool import grade_in_worker
from autograder.grading.worker import WorkerFailed
from autograder.sandbox.choice import explain_fallback, find_sandbox

_MAX_DIRECT_READ_BYTES = 2_000_000  # of a file that is read in this process, without other limits


def _read_assignment_lab(resources: dict[str, Any] | None) -> Lab:
    return read_lab(find_course(), (resources or {})["nbgrader"]["assignment"])


def replace_links_and_invalid_timestamps(
    assignment: str, student: str, notebooks: Sequence[str]
) -> None:
    """Prepare a submission's folders for nbgrader: replace links, rename a bad timestamp.txt.

    nbgrader calls this before it converts the notebooks. A timestamp.txt that holds no time is
    renamed, since nbgrader would not grade the submission. Symbolic links are replaced by text
    files, since nbgrader would copy their targets.
    """
    for folder in {Path(notebook).parent for notebook in notebooks}:
        set_aside_invalid_timestamp(folder)
        if is_behind_link(folder):
            continue  # `GradingPreprocessor` will grade this submission as unreadable
        for parent, folders, files in os.walk(folder):
            for name in (*folders, *files):
                if Path(parent, name).is_symlink():
                    replace_link_with_note(Path(parent, name))


class ReleasedInsteadOfSubmittedExporter(NotebookExporter):
    """Exporter that gives nbgrader the released notebook instead of a submitted file.

    A submitted file may be so faulty that nbgrader cannot read it. The submitted file is later read
    by `GradingPreprocessor`, within limits.
    """

    def from_filename(
        self,
        filename: str,
        resources: Any = None,
        **kw: Any,
    ) -> tuple[Any, dict[str, Any]]:
        lab = _read_assignment_lab(resources)
        submitted = Classroom(lab.course.classroom, lab.course).submitted
        try:
            if Path(filename).absolute().is_relative_to(submitted.absolute()):
                raise ValueError("`GradingPreprocessor` reads it within limits")
            if Path(filename).stat().st_size > _MAX_DIRECT_READ_BYTES:
                raise ValueError("too long")
            notebook = nbformat.read(filename, as_version=4)
            nbformat.validate(notebook)
            nbformat.writes(notebook).encode()
        except Exception:  # noqa: BLE001 - hostile content can make a reader raise anything
            notebook = deepcopy(release_for_grading(lab))
        return self.from_notebook_node(notebook, resources, **kw)


class GradingPreprocessor(NbGraderPreprocessor):
    """Preprocessor that grades the submission and writes verdicts into the test cells' outputs.

    It uses the secret in the course's classroom folder, so that the hidden cases, and with them the
    marks, are the same as in `autograder grade`.
    """

    def preprocess(
        self,
        nb: NotebookNode,
        resources: dict[str, Any],
    ) -> tuple[NotebookNode, dict[str, Any]]:
        lab = _read_assignment_lab(resources)
        classroom = Classroom(lab.course.classroom, lab.course)
        submission = classroom.read_submission(resources["nbgrader"].get("student", ""), lab.name)
        data, note = submission.content, submission.note
        if data is None and not (classroom.submitted / submission.student / lab.name).exists():
            # Our classroom has no folder for this submission, since nbgrader reads submissions from
            # another place. So grade the notebook that nbgrader has read.
            data, note = nbformat.writes(nb).encode(), ""
        if data is None:
            return grade_unreadable_submission(lab, note).notebook, resources
        try:
            sandbox = find_sandbox("auto")
            reason = explain_fallback(sandbox)
            if reason:
                self.log.info(
                    "It runs in the sandbox %s, for bubblewrap does not start. %s",
                    sandbox.name,
                    reason,
                )
            options = GradingOptions(salt=classroom.salt, sandbox=sandbox.name)
            graded_submission = grade_in_worker(
                str(lab.course.root),
                lab.name,
                data,
                note,
                options,
                True,
            )
        except WorkerFailed as failure:
            raise RuntimeError(f"The grader failed, not the student: {failure}") from None
        if graded_submission.faults:
            raise RuntimeError(graded_submission.faults[0])  # so that nbgrader records no mark
        due = read_policy(lab.course, {}).due_dates[lab.name]
        url = resources["nbgrader"].get("db_url")
        if url:
            # Write the due date of course.toml into the gradebook: nbgrader calls `LatePolicy` only
            # if the gradebook has a due date for the lab.
            with Gradebook(url, lab.course.id) as gradebook:
                set_due_date(gradebook, classroom, lab.name, due)
        return nbformat.from_dict(graded_submission.notebook), resources


class LatePolicy(LateSubmissionPlugin):
    """nbgrader plug-in that computes late penalties by course.toml and the roster."""

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points that lateness takes off a score; None for no penalty.

        The roster's extensions are taken into account; nbgrader's `total_seconds_late` is not used.
        """
        course, step = find_course(), self.parent
        policy = read_policy(course, {})
        class_list = read_class_list(Classroom(course.classroom, course))
        timings = read_timings(step.gradebook.db.query, policy, class_list)
        timing = timings.get((student_id, step.assignment_id))
        if timing is None:
            return None
        return policy.compute_penalty(score, timing) or None
