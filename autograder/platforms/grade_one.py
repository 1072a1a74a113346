"""Grade one submission on a platform such as Gradescope, without a class or a gradebook."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.authoring.lab import Lab, LabError, labs_by_grade_id, read_lab
from autograder.core.course import Course
from autograder.core.errors import UsageError
from autograder.core.notebook_cells import get_grade_id
from autograder.core.results import Result
from autograder.gradebook.classroom import Submission, read_notebook, read_submitted_notebook
from autograder.gradebook.graded_submission import GradedSubmission, GradingOptions, rescore_results
from autograder.gradebook.policy import read_policy
from autograder.grading.grade_submission import grade_unreadable_submission, report_grader_fault
from autograder.grading.pool import GradingPool, find_sandbox_class
from autograder.grading.run import describe_error
from autograder.intake.names import find_grade_ids, find_lab_by_cells, find_lab_by_name
from autograder.reports.feedback_summary import build_standalone_summary
from autograder.reports.student_page import FeedbackSummary
from autograder.sandbox import SandboxError

UNKNOWN_LAB = (
    "Nothing in it says which lab it is for: submit the lab's own notebook, which has its name."
)


@dataclass(frozen=True)
class PlatformResult:
    """Result of grading one submission, before it is converted to the format of a platform.

    Parameters
    ----------
    lab : str
        Name of the lab; "" if it is unknown.
    results : tuple of Result
        Results of the exercises and questions, in the notebook's order and with the current points.
        Their field `student` is "".
    summary : FeedbackSummary
        The results in words, as on the feedback page.
    manual_questions : frozenset of str
        Names of the manually graded questions.
    fault : str
        The reason if the grader failed, so that there is no mark; else "".
    seconds : float
        Running time of the student's cells and of the calls of the student's functions. Second
        runs, which use the reference's results in place of a wrong answer's, are not counted.
    sandbox : str
        Name of the sandbox that the submission ran in; "" if it did not run.
    """

    lab: str
    results: tuple[Result, ...]
    summary: FeedbackSummary
    manual_questions: frozenset[str] = frozenset()
    fault: str = ""
    seconds: float = 0.0
    sandbox: str = ""

    @property
    def automatic_results(self) -> tuple[Result, ...]:
        """Results that make up the score: of automatically graded exercises that are worth points."""
        results = []
        for result in self.results:
            if result.exercise not in self.manual_questions and result.max_score:
                results.append(result)
        return tuple(results)

    @property
    def score(self) -> float:
        """Points that the student has for the automatically graded exercises."""
        return sum(result.score or 0.0 for result in self.automatic_results)

    @property
    def max_score(self) -> float:
        """Maximum points for the automatically graded exercises."""
        return sum(result.max_score for result in self.automatic_results)

    @property
    def manual_max_score(self) -> float:
        """Points for all manually graded questions of the lab, which a person can still give.

        Unanswered questions count, too, so that this and `max_score` add up to all points of the
        lab. 0 if the submission could not be graded.
        """
        if self.fault or self.summary.unreadable:
            return 0.0
        manual = [result for result in self.results if result.exercise in self.manual_questions]
        return sum(result.max_score for result in manual)


def grade_for_platform(
    course: Course,
    path: Path,
    lab_name: str | None,
    choose_sandbox: Callable[[], str],
) -> PlatformResult:
    """Grade one student's notebook, and return the result for a platform.

    Parameters
    ----------
    path : Path
        The notebook, or a folder with the notebook.
    lab_name : str or None
        Name of the lab. With None, the lab is the one whose cells the notebook holds, or whose name
        the file has.
    choose_sandbox : callable
        Function without arguments that returns the name of the sandbox to use, or raises
        SandboxError if there is none.

    Raises
    ------
    UsageError
        If there is no such file or lab.
    LabError, CourseError
        If the definition of the lab or the course has a mistake.
    """
    data, reason, lab = _read_notebook_and_find_lab(course, path, lab_name)
    if lab is None:
        return make_unknown_lab_result(course, reason or UNKNOWN_LAB)
    if data is not None:
        mismatch = _wrong_lab_message(course, lab, data)
        if mismatch:
            data, reason = None, mismatch
    return make_platform_result(lab, _grade_or_report_fault(lab, data, reason, choose_sandbox))


def make_platform_result(lab: Lab, submission: GradedSubmission) -> PlatformResult:
    """Convert a graded submission to a `PlatformResult`, scored by the course's present points.

    Students see the running times. Their code decides how long it runs, so a time could tell them
    what their code saw. Times therefore cover only the first run, which sees no reference, and are
    in whole seconds.
    """
    points = read_policy(lab.course, {lab.name: lab}).points[lab.name]
    seconds = sum(result.seconds for result in submission.results)
    coarse_results = []
    for result in rescore_results(submission, points):
        coarse_results.append(replace(result, seconds=float(round(result.seconds))))
    return PlatformResult(
        lab.name,
        tuple(coarse_results),
        build_standalone_summary(lab, submission, points),
        frozenset(lab.manual_questions),
        submission.faults[0] if submission.faults else "",
        float(round(seconds)),
        submission.sandbox,
    )


def make_unknown_lab_result(course: Course, reason: str) -> PlatformResult:
    """Return the result for a file that belongs to no known lab; students see the reason."""
    title = course.title
    summary = FeedbackSummary(title, "", "", title, "", "0 points", (), (), unreadable=reason)
    return PlatformResult("", (), summary)


def _read_notebook_and_find_lab(
    course: Course,
    path: Path,
    name: str | None,
) -> tuple[bytes | None, str, Lab | None]:
    """Read a submitted notebook, and find the lab that it belongs to.

    Returns
    -------
    (bytes or None, str, Lab or None)
        Content of the notebook, or None if it cannot be read. A remark on the file, or the reason
        why it cannot be read, or "". The lab, or None if it is unknown.
    """
    lab = read_lab(course, name) if name else None
    if path.is_dir() and not path.is_symlink():
        if lab is None:
            advice = "say with --lab which lab's notebook is expected in it"
            raise UsageError(f"{path} is a folder: {advice}.")
        return *read_submitted_notebook(path, lab.name), lab
    if not path.is_symlink() and not path.exists():
        raise UsageError(f"There is no file {path}.")
    data, remark = read_notebook(path)
    if lab is None:
        lab_name = find_lab_by_cells(data, _map_grade_ids_to_labs(course)) if data else ""
        lab_name = lab_name or find_lab_by_name(path.name, course.labs)
        if not lab_name and len(course.labs) == 1:
            lab_name = course.labs[0]
        if lab_name:
            lab = read_lab(course, lab_name)
    return data, remark, lab


def _map_grade_ids_to_labs(course: Course) -> dict[str, str]:
    """Map each grade_id (nbgrader's name of a cell) to the lab that has this cell.

    Labs of the course that are not there are left out, since a package may hold one lab only.
    """
    labs = {}
    for name in course.labs:
        with suppress(LabError):
            labs[name] = read_lab(course, name)
    return labs_by_grade_id(labs)


def _wrong_lab_message(course: Course, lab: Lab, data: bytes) -> str:
    """Return a sentence for a student whose notebook belongs to another lab; "" if it does not.

    Return "" if the notebook has an answer cell or a test cell of the expected lab, or if it has no
    cell of another lab.
    """
    grade_ids = find_grade_ids(data)
    lab_cells = {get_grade_id(cell) for cell in lab.read_solution().cells}
    answer_cells = {*lab.exercises_by_answer_cell, *lab.manual_questions}
    answer_cells |= lab.exercises_by_test_cell.keys()
    if grade_ids & answer_cells or grade_ids <= lab_cells:
        return ""
    other_labs = {}
    for grade_id, lab_name in _map_grade_ids_to_labs(course).items():
        if lab_name != lab.name:
            other_labs[grade_id] = lab_name
    other_lab = find_lab_by_cells(data, other_labs) or "another lab"
    problem = f"This is the notebook of {other_lab}; {lab.name} is expected here."
    return f"{problem} Submit {lab.name}.ipynb."


def _grade_or_report_fault(
    lab: Lab,
    notebook_data: bytes | None,
    remark: str,
    choose_sandbox: Callable[[], str],
) -> GradedSubmission:
    if notebook_data is None:
        return grade_unreadable_submission(lab, remark)
    unavailable_reason = lab.unavailable_reason()
    if unavailable_reason:
        return report_grader_fault(lab, f"{lab.name} cannot be marked here. {unavailable_reason}")
    try:
        sandbox_name = find_sandbox_class([lab], choose_sandbox()).name
    except SandboxError as error:
        return report_grader_fault(lab, str(error))
    options = GradingOptions(sandbox=sandbox_name, salt=_make_salt(lab))
    submission = Submission("", lab.name, notebook_data, remark, None)
    with GradingPool(str(lab.course.root), [lab.name], options, workers=1) as pool:
        ((_, outcome),) = pool.grade_all([submission])
    if isinstance(outcome, Exception):
        return report_grader_fault(lab, describe_error(outcome))
    return outcome


def _make_salt(lab: Lab) -> str:
    """Return a secret text from which the inputs of the hidden test cases are computed.

    Students cannot compute it, since they do not have the solution. It is the same on every machine
    and in every run, so that the same submission always gets the same mark.
    """
    return hashlib.sha256(lab.solution_path.read_bytes()).hexdigest()
