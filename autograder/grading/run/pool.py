"""Many hand-ins: the same function on every core of this machine, or on a Dask cluster."""

import atexit
import gc
import json
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from threading import Lock, local
from time import sleep
from typing import Any

from autograder.authoring.lab import Lab, lab_at
from autograder.grading.marking import Marked, mark, prepare, unmarkable
from autograder.grading.marking.mark import READING, SHOWING, release_for_marking, take_release
from autograder.grading.register.classroom import Submission
from autograder.grading.run.cluster import LOOK, Cluster, WorkerLost, as_here, try_out
from autograder.grading.run.limited import MEGABYTES, Died, Failed, NotDone, Worker, threads, worker
from autograder.grading.sandbox import Limits, Sandbox, SandboxError
from autograder.grading.sandbox.choice import find, why_not_first

# What the warm process imports (and, after a colon, calls) before it forks, besides what a lab asks for.
PRELOAD = ("numpy", "IPython", "autograder.student")
# What another warm process imports as well, for hand-ins that draw themselves: copies of it cost a fifth more.
DRAWING = ("matplotlib.pyplot",)
_DRAWS = (b"matplotlib", b"pylab")  # one of these stands in the file of a hand-in that does
_TRIES = 3  # workers of a cluster that a hand-in is given to


@dataclass(frozen=True)
class Options:
    """How hand-ins are marked: everything that `mark` needs beside the bytes."""

    follow_through: bool = True
    sandbox: str = "auto"
    salt: str = ""


def sandbox_for(lab: Lab, choice: str = "auto", drawing: bool = False) -> Sandbox:
    """This process's own warm sandbox for a lab, whichever road leads to it; labs with the same needs share one.

    Parameters
    ----------
    choice : str
        One of `autograder.grading.sandbox.CHOICES`.
    drawing : bool
        With Matplotlib loaded: a hand-in may import it in any, but that takes half a second.
    """
    course = lab.course
    library = tuple(course.root / name for name in (*course.library, *course.data))
    env = tuple((name, os.environ[name]) for name in lab.environment if name in os.environ)
    preload = (*PRELOAD, *(DRAWING if drawing else ()), *lab.preload, *lab.imports)
    return _sandbox(preload, tuple(lab.limits.items()), find_for([lab], choice), env, library, course.root)


def find_for(labs: Iterable[Lab], choice: str) -> type[Sandbox]:
    """The sandbox for these labs: the one that `find` gives, if hand-ins can import there what the labs do.

    Raises
    ------
    SandboxError
    """
    kind = find(choice)
    for lab in labs:
        if why := kind.why_not_with(lab.packages):
            instead = why_not_first(kind) if choice == "auto" else ""
            raise SandboxError(f"{lab.name} cannot be marked here. {' '.join(filter(None, (why, instead)))}")
    return kind


@cache
def _sandbox(
    preload: tuple[str, ...],
    limits: tuple[tuple[str, Any], ...],
    kind: type[Sandbox],
    env: tuple[tuple[str, str], ...],
    library: tuple[Path, ...],
    course: Path,
) -> Sandbox:
    sandbox = kind(preload, Limits(**dict(limits)), dict(env), library, course)
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
    limits = _limits_of(course, lab_name)
    # Twice for following through, and once more for starting, rebuilding and showing.
    seconds = 2 * limits.total_seconds + 180
    release = _release_of(course, lab_name)

    memory = _megabytes(limits, options)

    def marked(data: bytes | None, why: str, plain: bool = False) -> str:
        given = course, lab_name, release, data, why, options, plain
        return _worker_for(lab_name).run(mark_bytes, *given, seconds=seconds, memory=memory)

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


def _limits_of(course: str, lab_name: str) -> Limits:
    given: dict[str, Any] = dict(lab_at(course, lab_name).limits)
    return Limits(**given)


def _megabytes(limits: Limits, options: Options) -> int:
    """What a worker may hold: it runs the reference, on the libraries that a hand-in's process has as well.

    In some sandboxes the hand-in is in the worker, too.
    """
    one = limits.memory // 1_000_000
    return max(MEGABYTES, one) + find(options.sandbox).held_here * one


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
    lab = lab_at(course, lab_name)
    take_release(lab, release)
    if data is None:
        return unmarkable(lab, why).to_json()
    sandbox = sandbox_for(lab, options.sandbox, any(word in data for word in _DRAWS))
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
    return json.dumps(release_for_marking(lab_at(course, lab_name)))


_here = local()


def _worker_for(lab: str) -> Worker:
    """This thread's worker, started anew for another lab: so a run needs the memory of one, however many it marks."""
    own = worker()
    if getattr(_here, "lab", lab) != lab:
        own.close()
    _here.lab = lab
    return own


def _get_ready(course: str, lab: str, options: Options) -> None:
    with suppress(NotDone):  # seen again, and dealt with, at the first hand-in
        memory = _megabytes(_limits_of(course, lab), options)
        _worker_for(lab).run(_prepare, course, lab, options, seconds=300, memory=memory)


def _prepare(course: str, lab_name: str, options: Options) -> str:
    """Do what the first hand-in of a lab would wait for."""
    with suppress(Exception):  # whoever asks for a mark is told what is wrong
        lab = lab_at(course, lab_name)
        sandbox_for(lab, options.sandbox)
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
    labs : sequence of str
        Those that may be asked for, in the order in which they come.
    options : Options
    workers : int
        Processes to start here, unless there is a scheduler.
    scheduler : str, optional
        The address of a Dask scheduler.
    say : callable, optional
        Given a sentence for whoever waits.
    """

    def __init__(
        self,
        course: str,
        labs: Sequence[str],
        options: Options,
        workers: int,
        scheduler: str | None = None,
        say: Callable[[str], None] = print,
    ):
        self._course, self._labs, self._options = course, tuple(labs), options
        self._workers, self._scheduler, self._say = workers, scheduler, say
        self._opened = ExitStack()
        self._place: _Here | Cluster | None = None

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: Any) -> None:
        self._place = None
        self._opened.__exit__(*error)

    def start(self) -> "_Here | Cluster":
        """Start now rather than at the first hand-in, and get ready to mark the first lab.

        Raises
        ------
        ClusterError
        """
        if self._place is None and self._scheduler:
            trial = self._course, self._labs, self._options, json.dumps(as_here(self._course, self._labs))
            self._place = self._opened.enter_context(Cluster(self._scheduler, mark_limited, trial, self._say))
        elif self._place is None:
            here = _Here(self._workers)
            self._place = self._opened.enter_context(here)
            here.get_ready(self._course, self._labs[0], self._options)
        return self._place

    def why_not(self, lab: str) -> str:
        """Why this machine cannot mark a lab as it was handed out; "" if it can. A cluster tries its workers itself."""
        if self._scheduler:
            return ""
        return try_out(self._course, [lab], self._options, "{}")

    def mark_all(self, submissions: Iterable[Submission]) -> Iterator[tuple[Submission, Marked | Exception]]:
        """Mark hand-ins side by side; gives each as it is done, with an exception where the grader failed.

        The first are under way when this returns. Only a few hand-ins are held at a time, so a class of any
        size needs the same memory. What was under way when its process died is marked again when all others
        are done, and one at a time: only what ends a process by itself is its own fault.
        """
        queue = iter(submissions)
        if (first := next(queue, None)) is None:
            return iter(())
        place = self.start()
        return self._results(place, _Round(self._course, self._options, place, chain([first], queue)))

    def _results(
        self, place: "_Here | Cluster", round_: "_Round"
    ) -> Iterator[tuple[Submission, Marked | Exception]]:
        yield from round_.results()
        for submission, _ in round_.lost:
            by_itself = _Round(self._course, self._options, place, iter([submission]), alone=True)
            yield from by_itself.results()
            yield from by_itself.lost


class _Here:
    """The cores of this machine: a thread with a worker process each."""

    def __init__(self, workers: int):
        self._workers, self._opened, self._under_way = workers, ExitStack(), 0

    def __enter__(self) -> "_Here":
        self._threads = self._opened.enter_context(threads(self._workers))
        return self

    def __exit__(self, *error: Any) -> None:
        self._opened.__exit__(*error)

    def get_ready(self, course: str, lab: str, options: Options) -> None:
        for _ in range(self._workers):
            self._threads.submit(_get_ready, course, lab, options)

    def room(self) -> int:
        return 2 * self._workers - self._under_way

    def submit(self, *what: Any) -> Future:
        self._under_way += 1
        return self._threads.submit(mark_limited, *what)

    def done(self, future: Future) -> None:
        self._under_way -= 1

    def failed(self, future: Future) -> bool:
        return False  # another process of this machine would do no better

    def look(self) -> None:
        """Who is there is known."""


class _Round:
    """Hand-ins that are marked side by side, the first of them from now on."""

    def __init__(
        self,
        course: str,
        options: Options,
        place: _Here | Cluster,
        queue: Iterator[Submission],
        alone: bool = False,
    ):
        self._course, self._options, self._place, self._alone = course, options, place, alone
        self._queue, self._again = queue, deque[Submission]()
        self._tries: Counter[tuple[str, str]] = Counter()
        self._under_way: dict[Future, Submission] = {}
        self.lost: list[tuple[Submission, Exception]] = []  # with its process
        self._fill()

    def _fill(self) -> None:
        while self._place.room() > 0 and not (self._alone and self._under_way) and self._more():
            submission = self._again.popleft()
            what = self._course, submission.lab, submission.data, submission.why, self._options, self._alone
            self._under_way[self._place.submit(*what)] = submission

    def _more(self) -> bool:
        """Whether any is left to begin with."""
        if not self._again and (submission := next(self._queue, None)):
            self._again.append(submission)
        return bool(self._again)

    def results(self) -> Iterator[tuple[Submission, Marked | Exception]]:
        """Each as it is done, until the queue is empty."""
        while True:
            self._fill()
            if not self._under_way and not self._more():
                return
            self._place.look()
            if not self._under_way and self._place.room() <= 0:
                sleep(LOOK)  # until a worker comes
            for future in wait(self._under_way, LOOK, FIRST_COMPLETED).done:
                submission = self._under_way.pop(future)
                try:
                    outcome: Marked | Exception = Marked.from_facts(json.loads(future.result()))
                except Exception as error:  # noqa: BLE001 - one hand-in's fault is not the run's
                    outcome = error
                failed = isinstance(outcome, Exception) or bool(outcome.faults)
                another = failed and not isinstance(outcome, Died) and self._place.failed(future)
                self._place.done(future)
                who = submission.student, submission.lab
                self._tries[who] += 1
                if (another or isinstance(outcome, WorkerLost)) and self._tries[who] < _TRIES:
                    self._again.append(submission)
                elif isinstance(outcome, (Died, WorkerLost)):
                    self.lost.append((submission, outcome))
                else:
                    yield submission, outcome


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
