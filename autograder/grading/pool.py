"""Many hand-ins: the same function on every core of this machine, or on a Dask cluster."""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from multiprocessing import get_context

from autograder.framework import QUIET, backend
from autograder.grading.classroom import GradingError, Submission, marked_from_record, record_of
from autograder.grading.marking import Marked, mark, prepare, unmarkable

# What the warm process imports (and, after a colon, calls) before it forks, by lab.
_ALWAYS = ("numpy", "matplotlib.pyplot", "IPython", "autograder.student", "autograder.keys:load_all")
PRELOAD = {
    "": _ALWAYS,
    "qkv-attention": (*_ALWAYS, "autograder.embeddings:load_all"),
    "keras-attention": (*_ALWAYS, "autograder.framework:start_keras", "keras"),
}


class ClusterError(GradingError):
    """The Dask cluster cannot be reached."""


@dataclass(frozen=True)
class Options:
    """How hand-ins are marked: everything that `mark` needs beside the bytes."""

    follow_through: bool = True
    sandboxed: bool = True
    salt: str = ""


@cache
def _sandbox(preload: tuple[str, ...], sandboxed: bool):
    """This process's own warm sandbox for labs that need these modules."""
    from autograder.grading.sandbox import Sandbox

    env = {}
    if "keras" in preload:
        env = {"KERAS_BACKEND": backend(), **QUIET}
    return Sandbox(preload=preload, sandboxed=sandboxed, env=env).__enter__()


def mark_bytes(lab: str, data: bytes | None, why: str, options: Options) -> str:
    """Mark one hand-in: from bytes to a JSON record, with no state between calls but the warm sandbox.

    Parameters
    ----------
    lab : str
    data : bytes or None
        None for a hand-in without a notebook that may be read; `why` then says so.
    why : str
        What is to be noted about the file; "" usually.
    options : Options
    """
    if data is None:
        return json.dumps(record_of(unmarkable(lab, why)))
    sandbox = _sandbox(PRELOAD.get(lab, PRELOAD[""]), options.sandboxed)
    marked = mark(data, lab, sandbox, follow_through=options.follow_through, salt=options.salt)
    record = record_of(marked)
    if why:
        record["notes"].insert(0, why)
    return json.dumps(record)


def _get_ready(labs: Sequence[str], options: Options) -> None:
    """Do what the first hand-in of each lab would wait for."""
    with suppress(Exception):  # whoever asks for a mark is told what is wrong
        for lab in labs:
            _sandbox(PRELOAD.get(lab, PRELOAD[""]), options.sandboxed)
            prepare(lab)


def _end_with(parent: int) -> None:
    """Have the kernel end this worker if the run is killed or interrupted; its sandbox ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # at once and without a traceback
    if sys.platform == "linux":
        death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None, use_errno=True).prctl(death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it had gone before
            os._exit(1)


class Pool:
    """Where hand-ins are marked: processes of this machine, or those of a Dask cluster.

    A context manager; what it started ends with it.

    Parameters
    ----------
    options : Options
    workers : int
        Processes to start here, unless there is a scheduler.
    scheduler : str, optional
        The address of a Dask scheduler.
    """

    def __init__(self, options: Options, workers: int, scheduler: str | None = None):
        self._options, self._workers, self._scheduler = options, workers, scheduler
        self._opened = ExitStack()
        self._executor: Executor | None = None
        self._most = 0  # calls to have under way

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._close()

    def start(self, labs: Sequence[str]) -> None:
        """Start now rather than at the first hand-in, and get ready to mark these labs.

        Raises
        ------
        ClusterError
        """
        self._open()
        if not self._scheduler:
            with suppress(BrokenExecutor):  # seen again, and dealt with, at the first hand-in
                for _ in range(self._workers):
                    self._executor.submit(_get_ready, labs, self._options)

    def _open(self) -> None:
        if self._executor is not None:
            return
        if self._scheduler:
            client = self._opened.enter_context(_client(self._scheduler))
            self._most = 2 * (sum(client.nthreads().values()) or 1)
            self._executor = client.get_executor(pure=False, retries=3)
        else:
            self._most = 2 * self._workers
            self._executor = ProcessPoolExecutor(
                self._workers, get_context("spawn"), _end_with, (os.getpid(),)
            )
            self._opened.callback(self._executor.shutdown, cancel_futures=True)

    def _close(self) -> None:
        self._opened.close()
        self._executor = None

    def mark_all(self, submissions: Iterable[Submission]) -> Iterator[tuple[Submission, Marked | Exception]]:
        """Mark hand-ins side by side; yields each as it is done, with an exception where the grader failed.

        Only a few hand-ins are held at a time, so a class of any size needs the same memory. If a worker
        process is killed from outside, what was under way is marked again, once.
        """
        source = iter(submissions)
        lost: list[Submission] = []
        tried: set[tuple[str, str]] = set()
        while True:
            self._open()
            broken = yield from self._rounds(chain(lost, source))
            if not broken:
                return
            self._close()
            lost = []
            for submission, error in broken:
                if (submission.student, submission.lab) in tried:
                    yield submission, error
                else:
                    tried.add((submission.student, submission.lab))
                    lost.append(submission)

    def _rounds(self, queue: Iterator[Submission]):
        """Yield results until the queue is empty, or the executor breaks; returns what broke with it."""
        under_way: dict[Future, Submission] = {}
        broken: list[tuple[Submission, Exception]] = []
        while True:
            while not broken and len(under_way) < self._most and (submission := next(queue, None)):
                what = submission.lab, submission.data, submission.why, self._options
                try:
                    under_way[self._executor.submit(mark_bytes, *what)] = submission
                except BrokenExecutor as error:
                    broken.append((submission, error))
            if not under_way:
                return broken
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                submission = under_way.pop(future)
                try:
                    yield submission, marked_from_record(json.loads(future.result()))
                except BrokenExecutor as error:
                    broken.append((submission, error))
                except Exception as error:  # noqa: BLE001 - one hand-in's fault is not the run's
                    yield submission, error


def _client(scheduler: str):
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
