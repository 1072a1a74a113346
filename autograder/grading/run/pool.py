"""Many hand-ins: the same function on every core of this machine, or on a Dask cluster."""

import atexit
import gc
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

from autograder.authoring.lab import Lab, read_lab
from autograder.course import read as read_course
from autograder.grading.marking import Marked, mark, prepare, unmarkable
from autograder.grading.marking.mark import READING, SHOWING, release_for_marking, take_release
from autograder.grading.register.classroom import GradingError, Submission
from autograder.grading.run.limited import Died, Failed, NotDone, threads, worker
from autograder.grading.sandbox import Limits, Sandbox

# What the warm process imports (and, after a colon, calls) before it forks, besides what a lab asks for.
PRELOAD = ("numpy", "IPython", "autograder.student")
# What another warm process imports as well, for hand-ins that draw themselves: copies of it cost a fifth more.
DRAWING = ("matplotlib.pyplot",)
_DRAWS = (b"matplotlib", b"pylab")  # one of these stands in the file of a hand-in that does


class ClusterError(GradingError):
    """The Dask cluster cannot be reached."""


@dataclass(frozen=True)
class Options:
    """How hand-ins are marked: everything that `mark` needs beside the bytes."""

    follow_through: bool = True
    sandboxed: bool = True
    salt: str = ""


def sandbox_for(lab: Lab, sandboxed: bool = True, drawing: bool = False) -> Sandbox:
    """This process's own warm sandbox for a lab, whichever road leads to it; labs with the same needs share one.

    Parameters
    ----------
    drawing : bool
        With Matplotlib loaded: a hand-in may import it in any, but that takes half a second.
    """
    course = lab.course
    library = tuple(course.root / name for name in (*course.library, *course.data))
    env = tuple((name, os.environ[name]) for name in lab.environment if name in os.environ)
    preload = (*PRELOAD, *(DRAWING if drawing else ()), *lab.preload)
    return _sandbox(preload, tuple(lab.limits.items()), sandboxed, env, library, course.root)


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
    release = _release_of(course, lab_name)

    def marked(data: bytes | None, why: str, plain: bool = False) -> str:
        given = course, lab_name, release, data, why, options, plain
        return worker().run(mark_bytes, *given, seconds=seconds)

    try:
        return marked(data, why)
    except NotDone as problem:
        if isinstance(problem, Died) and not alone:
            raise
        if problem.stage == READING:
            why_not = (
                "its contents are not a notebook's" if isinstance(problem, Failed) else f"it {problem.why}"
            )
            sentence = f"The notebook cannot be read: {why_not}. Clear its outputs and hand it in again."
            return marked(None, sentence)
        if problem.stage == SHOWING:
            return marked(data, why, plain=True)
        raise


def mark_bytes(
    course: str,
    lab_name: str,
    release: str,
    data: bytes | None,
    why: str,
    options: Options,
    plain: bool = False,
) -> str:
    """Mark one hand-in: from bytes to JSON, with no state between calls but the warm sandbox.

    Parameters
    ----------
    course, lab_name : str
        The course's folder, and the lab.
    release : str
        What `_release_of` gives for it.
    data : bytes or None
        None for a hand-in without a notebook that may be read; `why` then says so.
    why : str
        What is to be noted about the file; "" usually.
    options : Options
    plain : bool
        Show it in a form that takes no time.
    """
    lab = read_lab(read_course(Path(course)), lab_name)
    take_release(lab, release)
    if data is None:
        return unmarkable(lab, why).to_json()
    sandbox = sandbox_for(lab, options.sandboxed, any(word in data for word in _DRAWS))
    follow = options.follow_through
    marked = mark(data, lab, sandbox, follow_through=follow, salt=options.salt, plain=plain)
    if why:
        marked = replace(marked, notes=(why, *marked.notes))
    return marked.to_json()


def _release_of(course: str, lab_name: str) -> str:
    """`release_for_marking` as JSON: made once for all workers, and by one thread, for it takes all of nbgrader."""
    with _one_at_a_time:
        return _release_as_json(course, lab_name)


_one_at_a_time = Lock()


@cache
def _release_as_json(course: str, lab_name: str) -> str:
    return json.dumps(release_for_marking(read_lab(read_course(Path(course)), lab_name)))


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
    gc.freeze()  # what all hand-ins share is not gone through again at each collection
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
        """Mark hand-ins side by side; gives each as it is done, with an exception where the grader failed.

        The first are under way when this returns. Only a few hand-ins are held at a time, so a class of any
        size needs the same memory. What was under way when its process died is marked again when all others
        are done, and one at a time: only what ends a process by itself is its own fault.
        """
        queue = iter(submissions)
        first = next(queue, None)
        if first is None:
            return iter(())  # and nobody is asked for
        executor = self._open()
        round_ = _Round(self._course, self._options, executor, chain([first], queue), self._most)
        return self._results(executor, round_)

    def _results(
        self, executor: Executor, round_: "_Round"
    ) -> Iterator[tuple[Submission, Marked | Exception]]:
        yield from round_.results()
        for submission, _ in round_.lost:
            by_itself = _Round(self._course, self._options, executor, iter([submission]), 1, alone=True)
            yield from by_itself.results()
            yield from by_itself.lost


class _Round:
    """Hand-ins that are marked side by side, so many at a time, the first of them from now on."""

    def __init__(
        self,
        course: str,
        options: Options,
        executor: Executor,
        queue: Iterator[Submission],
        most: int,
        alone: bool = False,
    ):
        self._course, self._options, self._executor = course, options, executor
        self._queue, self._most, self._alone = queue, most, alone
        self._under_way: dict[Future, Submission] = {}
        self.lost: list[tuple[Submission, Exception]] = []  # with its process
        self._fill()

    def _fill(self) -> None:
        while len(self._under_way) < self._most and (submission := next(self._queue, None)):
            what = self._course, submission.lab, submission.data, submission.why, self._options, self._alone
            try:
                self._under_way[self._executor.submit(mark_limited, *what)] = submission
            except BrokenExecutor as error:
                self.lost.append((submission, error))

    def results(self) -> Iterator[tuple[Submission, Marked | Exception]]:
        """Each as it is done, until the queue is empty."""
        while self._under_way:
            for future in wait(self._under_way, return_when=FIRST_COMPLETED).done:
                submission = self._under_way.pop(future)
                try:
                    yield submission, Marked.from_facts(json.loads(future.result()))
                except (Died, BrokenExecutor) as error:
                    self.lost.append((submission, error))
                except Exception as error:  # noqa: BLE001 - one hand-in's fault is not the run's
                    yield submission, error
            self._fill()


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
