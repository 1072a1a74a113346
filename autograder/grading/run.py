"""Grading of a class: grade new and changed submissions, and write results to the gradebook."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autograder.authoring.lab import Lab
from autograder.core.errors import UsageError
from autograder.core.files import is_disk_error
from autograder.core.results import Result
from autograder.core.text_format import join_words, make_printable
from autograder.gradebook import result_store
from autograder.gradebook.class_list import read_class_list
from autograder.gradebook.classroom import Classroom, GradingError, Submission
from autograder.gradebook.graded_submission import GradedSubmission, GradingOptions, rescore_results
from autograder.gradebook.policy import Policy, read_policy
from autograder.grading.grade_submission import report_grader_fault
from autograder.grading.pool import GradingPool
from autograder.grading.progress import Progress
from autograder.grading.worker import WorkerFailed

if TYPE_CHECKING:
    from autograder.gradebook.gradebook_writer import GradebookWriter


# If the autograder fails in the same way on this many submissions in a row, it grades the lab's
# released notebook. This shows whether the lab itself is at fault.
MAX_EQUAL_FAULTS = 3
MAX_ERROR_CHARACTERS = 500


@dataclass
class GradingSummary:
    """Summary of a grading run.

    Parameters
    ----------
    newly_graded, from_cache : int
        Number of submissions graded in this run, and of those with a valid cached result.
    faults : list of str
        Sentences about failures of the autograder, and about folders that cannot be graded.
    notes : list of str
        Remarks for the instructor.
    """

    newly_graded: int = 0
    from_cache: int = 0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def grade_class(
    classroom: Classroom,
    labs: Sequence[Lab],
    options: GradingOptions,
    *,
    workers: int,
    on_result: Callable[[Result], None],
    progress: Progress,
    scheduler: str | None = None,
    students: Sequence[str] = (),
    force: bool = False,
) -> GradingSummary:
    """Grade every submission of these labs.

    Parameters
    ----------
    workers : int
        Number of processes to start on this machine; ignored if there is a scheduler.
    on_result : callable
        Called with the result of each exercise as soon as it is known.
    scheduler : str, optional
        Address of the scheduler of a Dask cluster.
    students : sequence of str
        Grade only the submissions of these students; of all students by default.
    force : bool
        Grade all submissions again, even those with a valid cached result.

    Raises
    ------
    GradingError
        If the run cannot go on.
    """
    labs_by_name = {lab.name: lab for lab in labs}
    policy = read_policy(classroom.course, labs_by_name)
    classroom.require_writable()
    grader = _ClassGrader(classroom, labs_by_name, options, policy.points, on_result, progress)
    grader.report_ungradable_folders()
    submissions = _list_submissions_to_grade(classroom, labs_by_name, students)
    grader.grade(submissions, policy, workers, scheduler, force)
    return grader.summary


def _list_submissions_to_grade(
    classroom: Classroom, labs: Mapping[str, Lab], students: Sequence[str]
) -> list[tuple[str, str]]:
    """Return (student, lab) of the submissions to grade, sorted by lab.

    The order saves memory and time, since a worker process holds only one lab at a time.

    Raises
    ------
    UsageError
        If one of the students has no submission.
    """
    submissions = classroom.list_submissions(list(labs))
    if students:
        submitters = {student for student, _ in classroom.list_submissions(classroom.course.labs)}
        missing = sorted(set(students) - submitters)
        if missing:
            raise UsageError(f"No submission of {join_words(missing)} is in {classroom.submitted}.")
        submissions = [(student, lab) for student, lab in submissions if student in students]
    order = {lab: i for i, lab in enumerate(labs)}
    return sorted(submissions, key=lambda key: (order[key[1]], key[0]))


class _ClassGrader:
    """Grader of a class's submissions. A failure on one submission does not end the run."""

    def __init__(
        self,
        classroom: Classroom,
        labs: dict[str, Lab],
        options: GradingOptions,
        points: Mapping[str, Mapping[str, float]],
        on_result: Callable[[Result], None],
        progress: Progress,
    ):
        self.classroom, self.labs, self.points = classroom, labs, points
        self.options = replace(options, salt=classroom.salt)
        self.on_result, self.progress = on_result, progress
        self.summary = GradingSummary()

    def grade(
        self,
        submissions: Sequence[tuple[str, str]],
        policy: Policy,
        workers: int,
        scheduler: str | None,
        force: bool,
    ) -> None:
        """Grade the submissions, and bring the gradebook up to date."""
        self.progress.start(len(submissions))
        lab_names = list(dict.fromkeys(lab for _, lab in submissions))
        labs = [self.labs[name] for name in lab_names]
        workers = max(1, min(workers, len(submissions)))
        root, say = str(self.classroom.course.root), self.progress.show_message
        with (
            GradingPool(root, lab_names, self.options, workers, scheduler, say) as pool,
            ExitStack() as stack,
        ):
            if policy.best_attempt:
                self.choose_best_attempts(submissions, labs, policy, pool, force)
            cached_results = {} if force else self.load_cached_results(submissions)
            if len(cached_results) < len(submissions):
                pool.start()
            # Import nbgrader while the workers start, since the import takes long. It must be done
            # in the main thread: nbgrader's modules import each other in a circle, which fails if
            # two threads import them at the same time.
            from autograder.gradebook.gradebook_writer import GradebookWriter

            # Begin with the grading: the workers grade while this process opens the gradebook.
            new_keys = [key for key in submissions if key not in cached_results]
            outcomes = pool.grade_all(self.classroom.read_submission(*key) for key in new_keys)
            self.rename_invalid_timestamp_files(submissions)
            writer = stack.enter_context(GradebookWriter(self.classroom))
            writer.save_labs(labs, policy)
            self.record_cached_results(cached_results.values(), writer)
            self.record_new_results(outcomes, writer, pool)
            class_list = read_class_list(self.classroom)
            writer.recompute_scores(lab_names, policy, class_list)
            self.summary.notes += class_list.notes

    def report_ungradable_folders(self) -> None:
        """Report each folder that cannot be graded because its name is unusable or not a lab's."""
        for name in self.classroom.list_unusable_student_folders():
            self.summary.faults.append(
                f"the folder {name} cannot be marked; rename it in plain, printable letters."
            )
        for name in self.classroom.list_unknown_folders():
            self.summary.faults.append(
                f"the folder {name} belongs to no lab, so nothing in it is marked; rename it to "
                f"one of {join_words(self.classroom.course.labs)}, or take it away."
            )

    def choose_best_attempts(
        self,
        submissions: Sequence[tuple[str, str]],
        labs: Sequence[Lab],
        policy: Policy,
        pool: GradingPool,
        force: bool,
    ) -> None:
        """Choose which submission counts if a student has submitted a lab several times."""
        from autograder.gradebook.gradebook_writer import GradebookWriter
        from autograder.grading.best_attempt import choose_best_attempts

        # Which submission is the best depends on the late penalties, which depend on the due dates.
        # So first write the due dates of course.toml into the gradebook.
        with GradebookWriter(self.classroom) as writer:
            writer.save_labs(labs, policy)
        self.summary.notes += choose_best_attempts(
            self.classroom, self.labs, submissions, policy, pool, self.options, force
        )

    def rename_invalid_timestamp_files(self, submissions: Iterable[tuple[str, str]]) -> None:
        """Rename each timestamp.txt that holds no valid time, and add a note for the instructor."""
        from autograder.gradebook.deadlines import set_aside_invalid_timestamp

        for student, lab in submissions:
            if set_aside_invalid_timestamp(self.classroom.submitted / student / lab):
                self.summary.notes.append(
                    f"{student}, {lab}: timestamp.txt says no time, and is called "
                    "timestamp.txt.unreadable now; no lateness is counted."
                )

    def load_cached_results(
        self, submissions: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], tuple[Submission, GradedSubmission]]:
        """Return the submissions with a valid cached result, and the results, by student and lab.

        The submissions are returned without their notebooks, which are not needed any more.
        """
        cached_results = {}
        for key in submissions:
            if not self.classroom.result_path(*key).exists():
                continue
            submission = self.classroom.read_submission(*key)
            graded_submission = self._load_cached_result(submission)
            if graded_submission is not None:
                cached_results[key] = replace(submission, content=None), graded_submission
        return cached_results

    def record_cached_results(
        self,
        cached_results: Iterable[tuple[Submission, GradedSubmission]],
        writer: "GradebookWriter",
    ) -> None:
        """Write into the gradebook the cached results that it lacks, and report all cached results."""
        for submission, graded_submission in cached_results:
            self.summary.from_cache += 1
            self._save_and_report(writer, submission, graded_submission, is_new=False)

    def record_new_results(
        self,
        outcomes: Iterator[tuple[Submission, GradedSubmission | Exception]],
        writer: "GradebookWriter",
        pool: GradingPool,
    ) -> None:
        """Cache each new result as it arrives, write it into the gradebook, and report it.

        Raises
        ------
        GradingError
            If the autograder fails on several submissions in a row in the same way, and fails on
            the released notebook of the lab too.
        """
        equal_count, last_fault, limit = 0, "", MAX_EQUAL_FAULTS
        for submission, outcome in outcomes:
            if isinstance(outcome, Exception):
                outcome = report_grader_fault(self.labs[submission.lab], describe_error(outcome))
            fault = outcome.faults[0] if outcome.faults else ""
            if fault and fault == last_fault:
                equal_count += 1
            else:
                equal_count = 1 if fault else 0
            last_fault = fault
            if equal_count == limit:
                problem = pool.find_lab_problem(submission.lab)
                if problem:
                    raise GradingError(
                        f"{submission.lab} cannot be marked here: {equal_count} submissions failed "
                        f"in one way, and so does the lab as it was handed out. {problem} Nothing "
                        "more was tried; what is marked is kept."
                    )
                equal_count, limit = 0, 2 * limit  # the submissions are at fault
            self.summary.newly_graded += 1
            for note in (*outcome.notes, *outcome.log):
                self.summary.notes.append(f"{submission.student}, {submission.lab}: {note}")
            outcome = outcome.with_student(submission.student)
            self._save_and_report(writer, submission, outcome, is_new=True)

    def _load_cached_result(self, submission: Submission) -> GradedSubmission | None:
        if not self.classroom.notebook_path(submission.student, submission.lab).is_file():
            return None
        try:
            lab = self.labs[submission.lab]
            return result_store.load_result(self.classroom, submission, lab, self.options)
        except Exception:  # noqa: BLE001 - a submission with an unreadable result is graded again
            return None

    def _save_and_report(
        self,
        writer: "GradebookWriter",
        submission: Submission,
        graded_submission: GradedSubmission,
        *,
        is_new: bool,
    ) -> None:
        """Store one submission's result, write it into the gradebook, and report each exercise."""
        remark = ""
        try:
            # The autograder failed on this submission. If an earlier run has stored a valid result
            # for the same file, keep that result.
            if graded_submission.faults and self._load_cached_result(submission) is not None:
                remark = " The mark that is there stands."
            else:
                self._store_and_record(writer, submission, graded_submission, is_new)
        except GradingError:
            raise  # the error concerns the whole class, not only this submission
        except Exception as error:
            if is_disk_error(error):
                raise
            self._delete_result(submission)
            graded_submission = report_grader_fault(
                self.labs[submission.lab],
                describe_error(error),
            )
            graded_submission = graded_submission.with_student(submission.student)
        if graded_submission.faults:
            place = f"{submission.student}, {submission.lab}"
            self.summary.faults.append(f"{place}: {graded_submission.faults[0]}{remark}")
        for result in rescore_results(graded_submission, self.points[submission.lab]):
            self.on_result(result)
        self.progress.advance()

    def _store_and_record(
        self,
        writer: "GradebookWriter",
        submission: Submission,
        graded_submission: GradedSubmission,
        is_new: bool,
    ) -> None:
        """Store a result in the cache if it is new, and write it into the gradebook if missing."""
        if graded_submission.faults:  # a stored result has none
            self._delete_result(submission)  # the older result is of another file or lab version
            result_store.store_executed_notebook(self.classroom, submission, graded_submission)
        elif is_new:
            lab = self.labs[submission.lab]
            fingerprint = result_store.fingerprint_submission(submission, lab, self.options)
            result_store.store_result(self.classroom, submission, graded_submission, fingerprint)
        if is_new or not writer.has_recorded(submission, graded_submission):
            writer.record_submission(submission, graded_submission)

    def _delete_result(self, submission: Submission) -> None:
        with suppress(OSError):  # such as when the path is a folder
            self.classroom.result_path(submission.student, submission.lab).unlink(missing_ok=True)


def describe_error(error: Exception) -> str:
    """Return an exception's type and text in one printable line of limited length."""
    if isinstance(error, WorkerFailed):
        return str(error)
    line = f"{type(error).__name__}: {error}".split("\n")[0]
    return make_printable(line)[:MAX_ERROR_CHARACTERS]
