"""Work on one hand-in, in a process of its own that a watchdog ends when it takes too long or too much.

Readers, renderers and comparers are written for friendly input: some take the square of what they are given,
some die in C. So whatever touches a hand-in runs in a worker process, one hand-in at a time, and the worker
is killed when it goes over its time or its memory: that costs this hand-in, and no other.

The functions given are named in a module, and give text (such as JSON) back; nothing is unpickled here that
comes out of a worker.
"""

import ctypes
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from socket import socketpair
from time import monotonic
from typing import Any

SECONDS, MEGABYTES = 60.0, 1_500
LOOK = 0.05  # seconds between two looks at a worker's memory
_ROOM = 1_000  # megabytes of address space that a stage may add
_MOST = 1 << 29  # bytes of an answer


class NotDone(Exception):
    """The work on a hand-in was not done.

    Parameters
    ----------
    why : str
        The end of a sentence about the hand-in: "took more than 20 seconds".
    stage : str
        What was being done, as `stage` said; "" outside every stage.
    """

    def __init__(self, why: str, stage: str = ""):
        super().__init__(why, stage)
        self.why, self.stage = why, stage

    def __str__(self) -> str:
        return f"{self.stage} {self.why}" if self.stage else self.why


class Exceeded(NotDone):
    """It went over its time or its memory, and would again."""


class _NeedsMemory(Exceeded):
    """It went over its memory."""


class Died(NotDone):
    """The process ended, for whatever reason: perhaps one that is not the hand-in's."""


class Failed(NotDone):
    """The function raised; the text is the exception's type and words."""


# In the worker

_to_parent: Connection | None = None


@contextmanager
def stage(name: str, seconds: float) -> Iterator[None]:
    """A part of the work with limits of its own; outside a worker, nothing but a name.

    Inside, no process may be started that needs more address space than a gigabyte.
    """
    if _to_parent is None:
        yield
        return
    _to_parent.send_bytes(b">" + json.dumps([name, seconds]).encode())
    try:
        with _address_space():
            yield
    except BaseException as error:
        # Whoever deals with it goes on outside the stage; if nobody does, the run is told where it came from.
        error.__dict__.setdefault("_stage", name)
        raise
    finally:
        _to_parent.send_bytes(b"<")


@contextmanager
def _address_space() -> Iterator[None]:
    """A limit above what the process has now, so that most excesses end as a MemoryError."""
    try:
        import resource

        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = now + _ROOM * 1_000_000
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except (ImportError, OSError, ValueError):  # not Linux: the clock is left
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _serve(handle: int, parent: int) -> None:
    """The worker's life: a function with its arguments in, a text out, until nobody is there any more."""
    global _to_parent
    os.set_inheritable(handle, False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # at once and without a traceback
    if sys.platform == "linux":
        death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None, use_errno=True).prctl(death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it had gone before
            os._exit(1)
    _to_parent = Connection(handle)
    # What is done here for one hand-in is let go of at its end, without the collector.
    gc.set_threshold(50_000)
    while True:
        try:
            function, arguments = pickle.loads(_to_parent.recv_bytes())
        except (EOFError, OSError):
            return
        try:
            answer = b"=" + function(*arguments).encode("utf-8", "surrogatepass")
        except BaseException as error:  # noqa: BLE001 - Rust's panics are no Exceptions
            kind = b"m" if isinstance(error, MemoryError) else b"!"
            said = [error.__dict__.get("_stage", ""), _described(error)]
            answer = kind + json.dumps(said).encode()
        _to_parent.send_bytes(answer)


def _described(error: BaseException) -> str:
    """An exception's type and words, if it has any that can be had."""
    try:
        return f"{type(error).__name__}: {error}"[:2_000]
    except Exception:  # noqa: BLE001 - a hostile __str__
        return type(error).__name__


# In the run

_here = threading.local()
_all: set["Worker"] = set()


class Worker:
    """A process that does one thing at a time; started when it is needed, and again after it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._connection: Connection | None = None
        self._fresh = True  # it has done nothing yet

    def run(
        self, function: Callable[..., str], *arguments: Any, seconds: float = SECONDS, memory: int = MEGABYTES
    ) -> str:
        """What the function gives back.

        Parameters
        ----------
        function : callable
            Named in a module; returns a str.
        seconds : float
            For all of it; a `stage` in it has its own.
        memory : int
            Megabytes that the worker may hold.

        Raises
        ------
        Exceeded, Died, Failed
        """
        try:
            return self._run(function, arguments, seconds, memory)
        except _NeedsMemory:
            if self._fresh:
                raise
            # What others have left behind in this process is not counted against this one.
            self._end()
            return self._run(function, arguments, seconds, memory)

    def _run(self, function: Callable[..., str], arguments: tuple, seconds: float, memory: int) -> str:
        try:
            self._start()
            assert self._connection is not None
            self._connection.send_bytes(pickle.dumps((function, arguments)))
            answer = self._wait(seconds, memory)
            self._fresh = False
            return answer
        except (EOFError, OSError, ValueError):
            self._end()
            raise Died("ended the process that worked on it") from None
        except Failed:
            self._fresh = False
            raise
        except BaseException:
            self._end()
            raise

    def _wait(self, seconds: float, memory: int) -> str:
        stage, until, allowed = "", monotonic() + seconds, seconds
        outer = until
        assert self._connection is not None and self._process is not None
        while True:
            try:
                if self._connection.poll(LOOK):
                    message = self._connection.recv_bytes(_MOST)
                    kind, rest = message[:1], message[1:]
                    if kind == b"=":
                        return rest.decode("utf-8", "surrogatepass")
                    if kind in (b"m", b"!"):
                        stage, words = json.loads(rest)
                        if kind == b"m":
                            raise _NeedsMemory("needs too much memory", stage)
                        raise Failed(words, stage)
                    if kind == b">":
                        stage, allowed = json.loads(rest)
                        until = min(outer, monotonic() + allowed)
                    else:
                        stage, until, allowed = "", outer, seconds
            except (EOFError, OSError):
                raise Died("ended the process that worked on it", stage) from None
            if monotonic() > until:
                raise Exceeded(f"takes more than {allowed:g} seconds", stage)
            if _megabytes(self._process.pid) > memory:
                raise _NeedsMemory(f"needs more than {memory:,} MB of memory", stage)

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._end()
        ours, theirs = socketpair()
        with ours, theirs:
            # Not multiprocessing's own start: a Dask worker may not use it.
            code = (
                f"import sys; sys.path[:] = {sys.path!r}; from autograder.grading.run.limited import _serve; "
                f"_serve({theirs.fileno()}, {os.getpid()})"
            )
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # a run's rows may go to stdout
            )
            self._connection = Connection(ours.detach())
        self._fresh = True
        _all.add(self)

    def close(self) -> None:
        """Let the process end by itself, so that it can put its things away."""
        if self._connection is not None and self._process is not None:
            self._connection.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(2)
        self._end()

    def _end(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._connection = None
        _all.discard(self)


def worker() -> Worker:
    """This thread's own worker."""
    if not hasattr(_here, "worker"):
        _here.worker = Worker()
    return _here.worker


def stop_all() -> None:
    """Kill the workers of all threads: what they do is not wanted any more."""
    for one in list(_all):
        process = one._process
        if process is not None:
            process.kill()


def each(
    function: Callable[..., str],
    calls: Sequence[tuple],
    *,
    workers: int,
    seconds: float = SECONDS,
    memory: int = MEGABYTES,
) -> Iterator[tuple[int, str | NotDone]]:
    """Do one thing for each of many hand-ins; yields (place in `calls`, what came of it), as they get done.

    A call whose process died is tried once more, with nothing else under way, before it counts as its fault.

    Parameters
    ----------
    function : callable
        Named in a module; returns a str.
    calls : sequence of tuple
        The arguments of each call.

    Examples
    --------
    >>> sorted(each(str.upper, [("a",), ("b",)], workers=2))
    [(0, 'A'), (1, 'B')]
    """
    if not calls:
        return
    again = []
    with threads(max(1, min(workers, len(calls)))) as pool:
        todo = {pool.submit(_one, function, calls[i], seconds, memory): i for i in range(len(calls))}
        for done in as_completed(todo):
            outcome = done.result()
            if isinstance(outcome, Died):
                again.append(todo[done])
            else:
                yield todo[done], outcome
        for i in again:
            yield i, pool.submit(_one, function, calls[i], seconds, memory).result()


def _one(function: Callable[..., str], arguments: tuple, seconds: float, memory: int) -> str | NotDone:
    try:
        return worker().run(function, *arguments, seconds=seconds, memory=memory)
    except NotDone as why:
        return why


@contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads with a worker each; when the block is left, for whatever reason, nothing is under way."""
    pool = ThreadPoolExecutor(count, thread_name_prefix="limited")
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        stop_all()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        for one in list(_all):
            one.close()


def _megabytes(pid: int) -> float:
    """What a process holds; 0 where nobody says."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
