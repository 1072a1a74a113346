"""Grading of many submissions at a time, on the cores of this machine or on a Dask cluster."""

import atexit
import gc
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from threading import Lock, local
from typing import Any

import nbformat

from autograder.authoring.lab import Lab, read_lab, read_lab_in
from autograder.core.course import read_course
from autograder.core.import_guard import PACKAGES_VARIABLE
from autograder.gradebook.classroom import Submission
from autograder.gradebook.fingerprint import fingerprint_lab
from autograder.gradebook.graded_submission import GradedSubmission, GradingOptions
from autograder.grading.dask_cluster import ClusterClient, ClusterError
from autograder.grading.grade_submission import (
    READING_STAGE,
    SHOWING_STAGE,
    cache_release,
    grade_submission,
    grade_unreadable_submission,
    prepare_lab,
    release_for_grading,
)
from autograder.grading.worker import (
    DEFAULT_MEGABYTES,
    CallFailed,
    Worker,
    WorkerDied,
    WorkerFailed,
    get_worker,
    run_concurrently,
    worker_threads,
)
from autograder.sandbox import PRELOAD, RunLimits, Sandbox, SandboxError
from autograder.sandbox.choice import explain_fallback, find_sandbox

# Further modules for submissions that draw figures. Forking a process with these modules takes a
# fifth longer, so these submissions get a sandbox of their own.
DRAWING_PRELOAD = ("matplotlib.pyplot",)
_DRAWING_MARKERS = (b"matplotlib", b"pylab")  # the file of a submission that draws contains one
_MAX_CLUSTER_THREADS = 1_000  # threads that wait for the workers of a cluster
_PREPARATION_SECONDS = 300
_EXTRA_SECONDS = 180  # for starting the sandbox, reading the notebook and cleaning its outputs


@cache
def get_sandbox(lab: Lab, choice: str = "auto", uses_drawing: bool = False) -> Sandbox:
    """Return this process's sandbox for a lab; the first call starts it.

    Parameters
    ----------
    choice : str
        One of `autograder.sandbox.choice.CHOICES`.
    uses_drawing : bool
        Import Matplotlib when the sandbox starts. Without this a submission can import Matplotlib
        too, but that takes half a second each time.
    """
    course = lab.course
    preload = [*PRELOAD]
    if uses_drawing:
        preload += DRAWING_PRELOAD
    sandbox_type = find_sandbox_class([lab], choice)
    sandbox = sandbox_type(
        (*preload, *lab.preload, *lab.setup_import_statements),
        _run_limits(lab),
        _make_environment(lab),
        tuple(course.root / name for name in (*course.library, *course.data)),
        course.root,
    )
    atexit.register(sandbox.close)
    return sandbox.__enter__()


def _make_environment(lab: Lab) -> dict[str, str]:
    """Return the environment variables that the code in a lab's sandbox needs besides the usual."""
    environment = {name: os.environ[name] for name in lab.environment if name in os.environ}
    environment[PACKAGES_VARIABLE] = ",".join(sorted(lab.allowed_packages))
    return environment


def find_sandbox_class(labs: Iterable[Lab], choice: str) -> type[Sandbox]:
    """Return the kind of sandbox to use, after checking that it has the labs' packages.

    Raises
    ------
    SandboxError
        If a package is missing in the sandbox, or the chosen sandbox does not run here.
    """
    sandbox = find_sandbox(choice)
    for lab in labs:
        problem = sandbox.explain_missing_packages(lab.imported_course_packages)
        if problem:
            fallback = explain_fallback(sandbox) if choice == "auto" else ""
            reasons = " ".join(filter(None, (problem, fallback)))
            raise SandboxError(f"{lab.name} cannot be marked here. {reasons}")
    return sandbox


def grade_in_worker(*arguments: Any) -> GradedSubmission:
    """Grade a submission in the worker process that belongs to this thread.

    The arguments are those of `grade_in_worker_as_json`.
    """
    return GradedSubmission.from_fields(json.loads(grade_in_worker_as_json(*arguments)))


def grade_in_worker_as_json(
    course: str,
    lab_name: str,
    data: bytes | None,
    note: str,
    options: GradingOptions,
    is_alone: bool = False,
) -> str:
    """Grade a submission in this thread's worker process; return the grading result as JSON.

    If reading the notebook exceeds its limits, the submission is graded as unreadable. If cleaning
    the outputs exceeds its limits, the submission is graded again with plain text only.

    Parameters
    ----------
    is_alone : bool
        True if no other submission is being graded. If the worker then dies, this submission must
        be the cause.

    Raises
    ------
    WorkerFailed
        If the second try fails as well, or the worker dies and `is_alone` is false.
    """
    limits = _run_limits(read_lab_in(course, lab_name))
    seconds = 2 * limits.total_seconds + _EXTRA_SECONDS  # twice for follow-through
    release = _release_json(course, lab_name)
    megabytes = _compute_worker_memory_limit(limits, options)

    def grade(data: bytes | None, note: str, text_only: bool = False) -> str:
        arguments = course, lab_name, release, data, note, options, text_only
        return _get_worker_restarted_for_new_lab(lab_name).run(
            grade_in_this_process, *arguments, seconds=seconds, memory=megabytes
        )

    try:
        return grade(data, note)
    except WorkerFailed as failure:
        if isinstance(failure, WorkerDied) and not is_alone:
            raise
        if failure.stage == READING_STAGE:
            reason = f"it {failure.reason}"
            if isinstance(failure, CallFailed):
                reason = "its contents are not a notebook's"
            note = f"The notebook cannot be read: {reason}. Clear its outputs and submit it again."
            return grade(None, note)
        if failure.stage == SHOWING_STAGE:
            return grade(data, note, text_only=True)
        raise


def _run_limits(lab: Lab) -> RunLimits:
    limits: dict[str, Any] = dict(lab.limits)
    return RunLimits(**limits)


def _compute_worker_memory_limit(limits: RunLimits, options: GradingOptions) -> int:
    """Return the memory limit of a worker process, in megabytes.

    A worker process runs the reference solution, which needs as much memory as a submission. In
    some kinds of sandbox it also contains the submission's memory (`memory_copies`).
    """
    megabytes = limits.memory // 1_000_000
    return (
        max(
            DEFAULT_MEGABYTES,
            megabytes,
        )
        + find_sandbox(options.sandbox).memory_copies * megabytes
    )


def grade_in_this_process(
    course: str,
    lab_name: str,
    release: str,
    data: bytes | None,
    note: str,
    options: GradingOptions,
    text_only: bool = False,
) -> str:
    """Grade the submission in the bytes of a file, in this process; return the result as JSON.

    The sandbox is kept for the next call.

    Parameters
    ----------
    course, lab_name : str
        Path of the course's folder, and name of the lab.
    release : str
        The lab's released notebook as JSON, from `_release_json`.
    data : bytes or None
        Content of the submitted file; None if it cannot be read, with the reason in `note`.
    note : str
        Remark about the file; usually "".
    options : GradingOptions
    text_only : bool
        Keep only the plain text of outputs and prose, which takes no time to render.
    """
    lab = read_lab_in(course, lab_name)
    cache_release(lab, release)
    if data is None:
        return grade_unreadable_submission(lab, note).to_json()
    is_drawing = any(marker in data for marker in _DRAWING_MARKERS)
    sandbox = get_sandbox(lab, options.sandbox, is_drawing)
    graded_submission = grade_submission(
        data,
        lab,
        sandbox,
        follow_through=options.follow_through,
        salt=options.salt,
        text_only=text_only,
    )
    if note:
        graded_submission = replace(graded_submission, notes=(note, *graded_submission.notes))
    return graded_submission.to_json()


def _release_json(course: str, lab_name: str) -> str:
    """Return the lab's released notebook as JSON.

    It is made only once, in the main process, since making it imports all of nbgrader.
    """
    with _release_lock:
        return _make_release_json(course, lab_name)


_release_lock = Lock()


@cache
def _make_release_json(course: str, lab_name: str) -> str:
    return json.dumps(release_for_grading(read_lab_in(course, lab_name)))


_thread_state = local()


def _get_worker_restarted_for_new_lab(lab: str) -> Worker:
    """Return this thread's worker process, restarted if it has worked on another lab before.

    If the worker has graded another lab before, it is restarted, which frees the memory that the
    other lab took.
    """
    worker = get_worker()
    if getattr(_thread_state, "lab", lab) != lab:
        worker.close()
    _thread_state.lab = lab
    return worker


def _warm_up(course: str, lab: str, options: GradingOptions) -> None:
    """Start this thread's worker and prepare it for a lab."""
    with suppress(WorkerFailed):  # the same failure will be reported with the first submission
        megabytes = _compute_worker_memory_limit(_run_limits(read_lab_in(course, lab)), options)
        _get_worker_restarted_for_new_lab(lab).run(
            _warm_up_worker, course, lab, options, seconds=_PREPARATION_SECONDS, memory=megabytes
        )


def _warm_up_worker(course: str, lab_name: str, options: GradingOptions) -> str:
    """Start the sandbox and prepare the lab in a worker, before the first submission comes."""
    with suppress(Exception):  # the same error will be reported with the first submission
        lab = read_lab_in(course, lab_name)
        get_sandbox(lab, options.sandbox, False)
        prepare_lab(lab)
    gc.freeze()  # so that the garbage collector need not scan the objects made until now
    return ""


def list_versions_to_match(course: str, labs: Sequence[str]) -> dict[str, str]:
    """Return the versions and lab fingerprints that must be equal on all grading machines.

    Returns
    -------
    dict of str to str
        Version or fingerprint by what it belongs to, such as "Python" or "the lab training".
    """
    environment = {
        "autograder": version("attention-labs"),
        "Python": f"{sys.version_info[0]}.{sys.version_info[1]}",
    }
    course_here = read_course(Path(course))
    for name in labs:
        environment[f"the lab {name}"] = fingerprint_lab(read_lab(course_here, name))
    return environment


def find_machine_problem(
    course: str, labs: Sequence[str], options: GradingOptions, expected: Mapping[str, str]
) -> str:
    """Return the reason why this machine cannot grade these labs; "" if it can.

    The released notebook of the first lab is graded as a test.

    Parameters
    ----------
    expected : mapping of str to str
        Result of `list_versions_to_match` on the machine that started the run; the environment here
        must be equal. With an empty mapping nothing is compared.
    """
    try:
        environment = list_versions_to_match(course, labs) if expected else {}
        for name, value in expected.items():
            if environment.get(name) != value:
                problem = f"{name} is not the same there"
                if not name.startswith("the lab"):
                    problem += f" ({environment.get(name)}; {value} is expected)"
                return problem
        release = nbformat.writes(release_for_grading(read_lab_in(course, labs[0])))
        faults = grade_in_worker(course, labs[0], release.encode(), "", options, True).faults
        return faults[0] if faults else ""
    except Exception as error:  # noqa: BLE001 - any error means that this machine cannot grade
        return f"{type(error).__name__}: {error}"


class GradingPool:
    """Pool of workers that grade submissions: processes on this machine, or a Dask cluster.

    It is used in a `with` statement, at whose end the workers end too.

    Parameters
    ----------
    course : str
        Path of the course's folder.
    labs : sequence of str
        Labs that may be graded, in the order in which their submissions come.
    options : GradingOptions
    workers : int
        Number of processes to start on this machine; ignored if there is a scheduler.
    scheduler : str, optional
        Address of the scheduler of a Dask cluster.
    show_message : callable, optional
        Function that shows a sentence to the user.
    """

    def __init__(
        self,
        course: str,
        labs: Sequence[str],
        options: GradingOptions,
        workers: int,
        scheduler: str | None = None,
        show_message: Callable[[str], None] = print,
    ):
        self._course, self._labs, self._options = course, tuple(labs), options
        self._workers, self._scheduler, self._show_message = workers, scheduler, show_message
        self._stack = ExitStack()
        self._threads: ThreadPoolExecutor | None = None
        self._grade, self._capacity = grade_in_worker, lambda: 2 * workers

    def __enter__(self) -> "GradingPool":
        return self

    def __exit__(self, *error: Any) -> None:
        self._threads = None
        self._stack.__exit__(*error)

    def start(self) -> ThreadPoolExecutor:
        """Start the workers and prepare them for the first lab, if that has not happened yet.

        Returns
        -------
        ThreadPoolExecutor
            Pool with one thread for each worker.

        Raises
        ------
        ClusterError
            If the scheduler of the Dask cluster does not answer.
        """
        if self._threads is not None:
            return self._threads
        thread_count = _MAX_CLUSTER_THREADS if self._scheduler else self._workers
        self._threads = self._stack.enter_context(worker_threads(thread_count))
        if self._scheduler:
            environment = list_versions_to_match(self._course, self._labs)
            worker_test = find_machine_problem, self._course, self._labs, self._options, environment
            cluster = self._stack.enter_context(
                ClusterClient(
                    self._scheduler, grade_in_worker_as_json, worker_test, self._show_message
                )
            )
            self._grade, self._capacity = cluster.grade, cluster.capacity
        else:
            for _ in range(self._workers):
                self._threads.submit(_warm_up, self._course, self._labs[0], self._options)
        return self._threads

    def find_lab_problem(self, lab: str) -> str:
        """Return the reason why this machine cannot grade a lab's released notebook; "" if it can.

        With a Dask cluster the result is always "", since `ClusterClient` tests each worker.
        """
        if self._scheduler:
            return ""
        return find_machine_problem(self._course, [lab], self._options, {})

    def grade_all(
        self, submissions: Iterable[Submission]
    ) -> Iterator[tuple[Submission, GradedSubmission | WorkerFailed]]:
        """Grade submissions concurrently; yield each with its result as soon as it is graded.

        If the autograder fails on a submission, the submission comes with the error. Submissions
        are taken from the iterable only a few at a time, so that the whole class need not fit into
        memory.
        """
        queue = iter(submissions)
        first = next(queue, None)
        if first is None:
            return iter(())

        def grade(submission: Submission, is_alone: bool) -> GradedSubmission:
            arguments = submission.lab, submission.content, submission.note, self._options, is_alone
            try:
                return self._grade(self._course, *arguments)
            except (WorkerFailed, ClusterError):
                raise
            except Exception as error:
                raise CallFailed(f"{type(error).__name__}: {error}") from error

        threads = self.start()
        return run_concurrently(grade, chain([first], queue), threads, lambda: self._capacity())


def count_cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
