"""Many hand-ins: the same function on every core of this machine, or on a Dask cluster."""

import atexit
import json
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder.authoring.lab import Lab, read_lab
from autograder.course import read as read_course
from autograder.grading.classroom import GradingError, Submission
from autograder.grading.limited import Died, Failed, NotDone, threads, worker
from autograder.grading.marking import Marked, mark, prepare, unmarkable
from autograder.grading.marking.mark import READING, SHOWING
from autograder.grading.sandbox import Limits, Sandbox

# What the warm process imports (and, after a colon, calls) before it forks, besides what a lab asks for.
PRELOAD = ("numpy", "matplotlib.pyplot", "IPython", "autograder.student", "autograder.keys:load_all")


class ClusterError(GradingError):
    """The Dask cluster cannot be reached."""


@dataclass(frozen=True)
class Options:
    """How hand-ins are marked: everything that `mark` needs beside the bytes."""

    follow_through: bool = True
    sandboxed: bool = True
    salt: str = ""


def sandbox_for(lab: Lab, sandboxed: bool = True) -> Sandbox:
    """This process's own warm sandbox for a lab, whichever road leads to it; labs with the same needs share one."""
    course = lab.course
    library = tuple(course.root / name for name in (*course.library, *course.data))
    env = tuple((name, os.environ[name]) for name in lab.environment if name in os.environ)
    return _sandbox((*PRELOAD, *lab.preload), tuple(lab.limits.items()), sandboxed, env, library, course.root)


@cache
def _sandbox(
    preload: tuple[str, ...],
    limits: tuple[tuple[str, Any], ...],
    sandboxed: bool,
    env: tuple[tuple[str, str], ...],
    library: tuple[Path, ...],
    course: Path,
) -> Sandbox:
    sandbox = Sandbox(preload, sandboxed, Limits(**dict(limits)), dict(env), library, course)
    atexit.register(sandbox.close)
    return sandbox.__enter__()


def mark_limited(
    course: str, lab_name: str, data: bytes | None, why: str, options: Options, alone: bool = False
) -> str:
    """`mark_bytes` in this thread's own worker, and in a plainer form where the full one goes over a limit.

    Parameters
    ----------
    alone : bool
        Nothing else is under way, so that a process that dies does so because of this hand-in.

    Raises
    ------
    NotDone
    """
    given: dict[str, Any] = dict(read_lab(read_course(Path(course)), lab_name).limits)
    limits = Limits(**given)
    # Twice for following through, and once more for starting, rebuilding and showing.
    seconds = 2 * limits.total_seconds + 180
    what = course, lab_name
    try:
        return worker().run(mark_bytes, *what, data, why, options, seconds=seconds)
    except NotDone as problem:
        if isinstance(problem, Died) and not alone:
            raise
        if problem.stage == READING:
            why_not = (
                "its contents are not a notebook's" if isinstance(problem, Failed) else f"it {problem.why}"
            )
            sentence = f"The notebook cannot be read: {why_not}. Clear its outputs and hand it in again."
            return worker().run(mark_bytes, *what, None, sentence, options)
        if problem.stage == SHOWING:
            return worker().run(mark_bytes, *what, data, why, options, True, seconds=seconds)
        raise


def mark_bytes(
    course: str, lab_name: str, data: bytes | None, why: str, options: Options, plain: bool = False
) -> str:
    """Mark one hand-in: from bytes to JSON, with no state between calls but the warm sandbox.

    Parameters
    ----------
    course, lab_name : str
        The course's folder, and the lab.
    data : bytes or None
        None for a hand-in without a notebook that may be read; `why` then says so.
    why : str
        What is to be noted about the file; "" usually.
    options : Options
    plain : bool
        Show it in a form that takes no time.
    """
    lab = read_lab(read_course(Path(course)), lab_name)
    if data is None:
        return unmarkable(lab, why).to_json()
    sandbox = sandbox_for(lab, options.sandboxed)
    follow = options.follow_through
    marked = mark(data, lab, sandbox, follow_through=follow, salt=options.salt, plain=plain)
    if why:
        marked = replace(marked, notes=(why, *marked.notes))
    return marked.to_json()


def _get_ready(course: str, labs: Sequence[str], options: Options) -> None:
    with suppress(NotDone):  # seen again, and dealt with, at the first hand-in
        worker().run(_prepare, course, labs, options, seconds=300)


def _prepare(course: str, labs: Sequence[str], options: Options) -> str:
    """Do what the first hand-in of each lab would wait for."""
    with suppress(Exception):  # whoever asks for a mark is told what is wrong
        for name in labs:
            lab = read_lab(read_course(Path(course)), name)
            sandbox_for(lab, options.sandboxed)
            prepare(lab)
    return ""


class Pool:
    """Where hand-ins are marked: processes of this machine, or those of a Dask cluster.

    A context manager; what it started ends with it.

    Parameters
    ----------
    course : str
        The course's folder.
    options : Options
    workers : int
        Processes to start here, unless there is a scheduler.
    scheduler : str, optional
        The address of a Dask scheduler.
    """

    def __init__(self, course: str, options: Options, workers: int, scheduler: str | None = None):
        self._course, self._options = course, options
        self._workers, self._scheduler = workers, scheduler
        self._opened = ExitStack()
        self._executor: Executor | None = None
        self._most = 0  # calls to have under way

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: Any) -> None:
        self._executor = None
        self._opened.__exit__(*error)

    def start(self, labs: Sequence[str]) -> None:
        """Start now rather than at the first hand-in, and get ready to mark these labs.

        Raises
        ------
        ClusterError
        """
        executor = self._open()
        if not self._scheduler:
            for _ in range(self._workers):
                executor.submit(_get_ready, self._course, labs, self._options)

    def _open(self) -> Executor:
        if self._executor is not None:
            return self._executor
        if self._scheduler:
            client = self._opened.enter_context(_client(self._scheduler))
            self._most = 2 * (sum(client.nthreads().values()) or 1)
            self._executor = client.get_executor(pure=False, retries=3)
        else:
            self._most = 2 * self._workers
            self._executor = self._opened.enter_context(threads(self._workers))
        return self._executor

    def mark_all(self, submissions: Iterable[Submission]) -> Iterator[tuple[Submission, Marked | Exception]]:
        """Mark hand-ins side by side; yields each as it is done, with an exception where the grader failed.

        Only a few hand-ins are held at a time, so a class of any size needs the same memory. What was under
        way when its process died is marked again when all others are done, and one at a time: only what ends
        a process by itself is its own fault.
        """
        self._open()
        lost = yield from self._rounds(iter(submissions), self._most, alone=False)
        for submission, _ in lost:
            still = yield from self._rounds(iter([submission]), 1, alone=True)
            yield from still

    def _rounds(
        self, queue: Iterator[Submission], most: int, alone: bool
    ) -> Generator[tuple[Submission, "Marked | Exception"], None, list[tuple[Submission, Exception]]]:
        """Yield results until the queue is empty; returns what was lost with its process."""
        executor = self._open()
        under_way: dict[Future, Submission] = {}
        lost: list[tuple[Submission, Exception]] = []
        while True:
            while len(under_way) < most and (submission := next(queue, None)):
                what = self._course, submission.lab, submission.data, submission.why, self._options
                try:
                    under_way[executor.submit(mark_limited, *what, alone)] = submission
                except BrokenExecutor as error:
                    lost.append((submission, error))
            if not under_way:
                return lost
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                submission = under_way.pop(future)
                try:
                    yield submission, Marked.from_facts(json.loads(future.result()))
                except (Died, BrokenExecutor) as error:
                    lost.append((submission, error))
                except Exception as error:  # noqa: BLE001 - one hand-in's fault is not the run's
                    yield submission, error


def _client(scheduler: str) -> Any:
    from distributed import Client

    try:
        return Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"No Dask scheduler answers at {scheduler} ({type(error).__name__}); "
            "start one with `dask scheduler` and give --scheduler its address."
        ) from None


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
