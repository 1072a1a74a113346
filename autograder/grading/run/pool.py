"""Many hand-ins: the same function on every core of this machine, or on a Dask cluster."""

import atexit
import gc
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from threading import Lock, local
from typing import Any

import nbformat

from autograder.authoring.lab import Lab, lab_at, read_lab
from autograder.course import read as read_course
from autograder.grading.marking import Marked, mark, prepare, unmarkable
from autograder.grading.marking.mark import READING, SHOWING, release_for_marking, take_release
from autograder.grading.register.classroom import Submission
from autograder.grading.register.fingerprint import lab_fingerprint
from autograder.grading.run.cluster import Cluster, ClusterError
from autograder.grading.run.limited import (
    MEGABYTES,
    Died,
    Failed,
    NotDone,
    Worker,
    side_by_side,
    threads,
    worker,
)
from autograder.grading.sandbox import Limits, Sandbox, SandboxError
from autograder.grading.sandbox.choice import find, why_not_first

# What the warm process imports (and, after a colon, calls) before it forks, besides what a lab asks for.
PRELOAD = ("numpy", "IPython", "autograder.student")
# What another warm process imports as well, for hand-ins that draw themselves: copies of it cost a fifth more.
DRAWING = ("matplotlib.pyplot",)
_DRAWS = (b"matplotlib", b"pylab")  # one of these stands in the file of a hand-in that does
_THREADS = 1_000  # that wait for the workers of a cluster, at most


@dataclass(frozen=True)
class Options:
    """How hand-ins are marked: everything that `mark` needs beside the bytes."""

    follow_through: bool = True
    sandbox: str = "auto"
    salt: str = ""


@cache
def sandbox_for(lab: Lab, choice: str = "auto", drawing: bool = False) -> Sandbox:
    """This process's own warm sandbox for a lab, whichever road leads to it.

    Parameters
    ----------
    choice : str
        One of `autograder.grading.sandbox.CHOICES`.
    drawing : bool
        With Matplotlib loaded: a hand-in may import it in any, but that takes half a second.
    """
    course = lab.course
    sandbox = find_for([lab], choice)(
        (*PRELOAD, *(DRAWING if drawing else ()), *lab.preload, *lab.imports),
        _limits_of(lab),
        {name: os.environ[name] for name in lab.environment if name in os.environ},
        tuple(course.root / name for name in (*course.library, *course.data)),
        course.root,
    )
    atexit.register(sandbox.close)
    return sandbox.__enter__()


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


def mark_here(*what: Any) -> Marked:
    """What `mark_limited` finds."""
    return Marked.from_facts(json.loads(mark_limited(*what)))


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
    limits = _limits_of(lab_at(course, lab_name))
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


def _limits_of(lab: Lab) -> Limits:
    given: dict[str, Any] = dict(lab.limits)
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
        memory = _megabytes(_limits_of(lab_at(course, lab)), options)
        _worker_for(lab).run(_prepare, course, lab, options, seconds=300, memory=memory)


def _prepare(course: str, lab_name: str, options: Options) -> str:
    """Do what the first hand-in of a lab would wait for."""
    with suppress(Exception):  # whoever asks for a mark is told what is wrong
        lab = lab_at(course, lab_name)
        sandbox_for(lab, options.sandbox, False)
        prepare(lab)
    gc.freeze()  # what all hand-ins share is not gone through again at each collection
    return ""


def as_here(course: str, labs: Sequence[str]) -> dict[str, str]:
    """What must be the same on every machine that marks for one class."""
    facts = {
        "autograder": version("attention-labs"),
        "Python": f"{sys.version_info[0]}.{sys.version_info[1]}",
    }
    read = read_course(Path(course))
    return facts | {f"the lab {name}": lab_fingerprint(read_lab(read, name)) for name in labs}


def try_out(course: str, labs: Sequence[str], options: Options, expected: Mapping[str, str]) -> str:
    """Why the machine where this is called must not mark this class; "" if it may.

    Parameters
    ----------
    expected : mapping of str to str
        `as_here` of the run's own machine.
    """
    try:
        here = as_here(course, labs) if expected else {}
        for name, value in expected.items():
            if here.get(name) != value:
                said = f" ({here.get(name)}; {value} is due)" if not name.startswith("the lab") else ""
                return f"{name} is not the same there{said}"
        release = nbformat.writes(release_for_marking(lab_at(course, labs[0])))
        return " ".join(mark_here(course, labs[0], release.encode(), "", options, True).faults[:1])
    except Exception as error:  # noqa: BLE001 - whatever it is, this machine is not to mark
        return f"{type(error).__name__}: {error}"


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
        self._threads: ThreadPoolExecutor | None = None
        self._mark, self._room = mark_here, lambda: 2 * workers

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: Any) -> None:
        self._threads = None
        self._opened.__exit__(*error)

    def start(self) -> ThreadPoolExecutor:
        """Start now rather than at the first hand-in, and get ready to mark the first lab; gives the threads.

        Raises
        ------
        ClusterError
        """
        if self._threads is not None:
            return self._threads
        self._threads = self._opened.enter_context(threads(_THREADS if self._scheduler else self._workers))
        if self._scheduler:
            trial = try_out, self._course, self._labs, self._options, as_here(self._course, self._labs)
            cluster = self._opened.enter_context(Cluster(self._scheduler, mark_limited, trial, self._say))
            self._mark, self._room = cluster.mark, cluster.room
        else:
            for _ in range(self._workers):
                self._threads.submit(_get_ready, self._course, self._labs[0], self._options)
        return self._threads

    def why_not(self, lab: str) -> str:
        """Why this machine cannot mark a lab as it was handed out; "" if it can. A cluster tries its workers itself."""
        return "" if self._scheduler else try_out(self._course, [lab], self._options, {})

    def mark_all(self, submissions: Iterable[Submission]) -> Iterator[tuple[Submission, Marked | NotDone]]:
        """Mark hand-ins side by side, see `side_by_side`; and why it was not done where the grader failed.

        Only a few hand-ins are held at a time, so a class of any size needs the same memory.
        """
        queue = iter(submissions)
        if (first := next(queue, None)) is None:
            return iter(())

        def marked(one: Submission, alone: bool) -> Marked:
            try:
                return self._mark(self._course, one.lab, one.data, one.why, self._options, alone)
            except (NotDone, ClusterError):
                raise
            except Exception as error:
                raise Failed(f"{type(error).__name__}: {error}") from error

        pool = self.start()
        return side_by_side(marked, chain([first], queue), pool, lambda: self._room())


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
