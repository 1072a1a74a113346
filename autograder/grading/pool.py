"""Many hand-ins: the same function on every core of this machine, or on a Dask cluster."""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain
from multiprocessing import get_context

from autograder.framework import QUIET, backend
from autograder.grading.classroom import Submission, marked_from_record, record_of
from autograder.grading.marking import Marked, mark, unmarkable

# What the warm process imports (and, after a colon, calls) before it forks, by lab.
_ALWAYS = ("numpy", "matplotlib.pyplot", "IPython", "autograder.student", "autograder.keys:index")
PRELOAD = {
    "": _ALWAYS,
    "qkv-attention": (*_ALWAYS, "autograder.embeddings:load_all"),
    "keras-attention": (*_ALWAYS, "autograder.framework:start_keras", "keras"),
}


class ClusterError(Exception):
    """The Dask cluster cannot be reached; the text says what to do."""


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


def _end_with(parent: int) -> None:
    """Have the kernel end this worker if the run is killed; its sandbox ends with it."""
    if sys.platform == "linux":
        death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None, use_errno=True).prctl(death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it had gone before
            os._exit(1)


@contextmanager
def executor(workers: int, scheduler: str | None) -> Iterator[tuple[Executor, int]]:
    """Where the calls go, and how many to have under way."""
    if scheduler:
        from distributed import Client

        try:
            client = Client(scheduler, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"No Dask scheduler answers at {scheduler} ({type(error).__name__}); "
                "start one with `dask scheduler` and give --scheduler its address."
            ) from None
        with client:
            cores = sum(client.nthreads().values()) or 1
            yield client.get_executor(pure=False, retries=3), 2 * cores
    else:
        with ProcessPoolExecutor(workers, get_context("spawn"), _end_with, (os.getpid(),)) as pool:
            yield pool, 2 * workers


def mark_all(
    submissions: Iterable[Submission], options: Options, workers: int, scheduler: str | None = None
) -> Iterator[tuple[Submission, Marked | Exception]]:
    """Mark hand-ins side by side; yields each as it is done, with an exception where the grader failed.

    Only a few hand-ins are held at a time, so a class of any size needs the same memory. If a worker
    process is killed from outside, what was under way is marked again, once.
    """
    source = iter(submissions)
    lost: list[Submission] = []
    tried: set[tuple[str, str]] = set()
    while True:
        queue = chain(lost, source)
        with executor(workers, scheduler) as (pool, most):
            broken = yield from _rounds(pool, most, queue, options)
        if not broken:
            return
        lost = []
        for submission, error in broken:
            if (submission.student, submission.lab) in tried:
                yield submission, error
            else:
                tried.add((submission.student, submission.lab))
                lost.append(submission)


def _rounds(pool: Executor, most: int, queue: Iterator[Submission], options: Options):
    """Yield results until the queue is empty, or the pool breaks; returns what broke with it."""
    under_way: dict[Future, Submission] = {}
    broken: list[tuple[Submission, Exception]] = []
    while True:
        while not broken and len(under_way) < most and (submission := next(queue, None)):
            try:
                future = pool.submit(mark_bytes, submission.lab, submission.data, submission.why, options)
                under_way[future] = submission
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


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
