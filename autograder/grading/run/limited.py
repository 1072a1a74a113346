"""Work on one hand-in, in a process of its own that a watchdog ends when it takes too long or too much.

Readers, renderers and comparers are written for friendly input: some take the square of what they are given,
some die in C. So whatever touches a hand-in runs in a worker process, one hand-in at a time, and the worker
is killed when it goes over its CPU time or its memory: that costs this hand-in, and no other. It is looked at from
outside, in the same way on every system.

The functions given are named in a module, and give text (such as JSON) back; nothing is unpickled here that
comes out of a worker.
"""

import ctypes
import gc
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, TypeVar

import psutil

from autograder.stopwatch import Stopwatch

SECONDS, MEGABYTES = 60.0, 1_500
LOOK = 0.05  # seconds between two looks at what a worker uses
LONGEST_WAIT = 0.5  # seconds between two looks at how many may be under way
_LENGTH = struct.Struct(">Q")  # before each message
_ROOM = 1_000  # megabytes of address space that a stage may add
_MOST = 1 << 29  # bytes of an answer
_One = TypeVar("_One")
_Result = TypeVar("_Result")


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

_to_parent: IO[bytes] | None = None


@contextmanager
def stage(name: str, seconds: float) -> Iterator[None]:
    """A part of the work with limits of its own; outside a worker, nothing but a name.

    Inside, no process may be started that needs more address space than a gigabyte.
    """
    if _to_parent is None:
        yield
        return
    _send(_to_parent, b">" + json.dumps([name, seconds]).encode())
    try:
        with _address_space():
            yield
    except BaseException as error:
        # Whoever deals with it goes on outside the stage; if nobody does, the run is told where it came from.
        error.__dict__.setdefault("_stage", name)
        raise
    finally:
        _send(_to_parent, b"<")


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


def _serve(parent: int) -> None:
    """The worker's life: a function with its arguments in, a text out, until nobody is there any more."""
    global _to_parent
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # at once and without a traceback
    if sys.platform == "linux":
        death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None, use_errno=True).prctl(death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it had gone before
            os._exit(1)
    # The two pipes are ours alone: what reads or prints here, or in a process from here, has nothing.
    orders, _to_parent = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    # What is done here for one hand-in is let go of at its end, without the collector.
    gc.set_threshold(50_000)
    while True:
        order = _receive(orders)
        if order is None:
            return
        function, arguments = pickle.loads(order)
        try:
            answer = b"=" + function(*arguments).encode("utf-8", "surrogatepass")
        except BaseException as error:  # noqa: BLE001 - Rust's panics are no Exceptions
            kind = b"m" if isinstance(error, MemoryError) else b"!"
            said = [error.__dict__.get("_stage", ""), _described(error)]
            answer = kind + json.dumps(said).encode()
        _send(_to_parent, answer)


def _described(error: BaseException) -> str:
    """An exception's type and words, if it has any that can be had."""
    try:
        return f"{type(error).__name__}: {error}"[:2_000]
    except Exception:  # noqa: BLE001 - a hostile __str__
        return type(error).__name__


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    """The next message; None at the end, in the midst of one, and for one that is longer than any may be."""
    with suppress(OSError, ValueError):
        length = pipe.read(_LENGTH.size)
        if len(length) == _LENGTH.size and (size := _LENGTH.unpack(length)[0]) <= _MOST:
            message = pipe.read(size)
            return message if len(message) == size else None
    return None


# In the run

_here = threading.local()
_all: set["Worker"] = set()


class Worker:
    """A process that does one thing at a time; started when it is needed, and again after it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
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
            Of CPU time, for all of it, and six times as many by the clock; a `stage` in it has its own.
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
            process = self._started()
            assert process.stdin is not None
            _send(process.stdin, pickle.dumps((function, arguments)))
            answer = self._wait(process.pid, seconds, memory)
            self._fresh = False
            return answer
        except (OSError, ValueError):
            self._end()
            raise Died("ended the process that worked on it") from None
        except Failed:
            self._fresh = False
            raise
        except BaseException:
            self._end()
            raise

    def _wait(self, pid: int, seconds: float, memory: int) -> str:
        seen = _Seen(pid)
        whole = part = Stopwatch(lambda: seen.cpu)
        stage, allowed = "", seconds
        while True:
            try:
                message = self._messages.get(timeout=LOOK)
            except Empty:
                pass
            else:
                if message is None:
                    raise Died("ended the process that worked on it", stage)
                kind, rest = message[:1], message[1:]
                if kind == b"=":
                    return rest.decode("utf-8", "surrogatepass")
                if kind in (b"m", b"!"):
                    stage, words = json.loads(rest)
                    if kind == b"m":
                        raise _NeedsMemory("needs too much memory", stage)
                    raise Failed(words, stage)
                seen.look()
                if kind == b">":
                    stage, allowed = json.loads(rest)
                    part = Stopwatch(lambda: seen.cpu)
                else:
                    stage, allowed, part = "", seconds, whole
            seen.look()
            if part.spent() > allowed or whole.spent() > seconds:
                raise Exceeded(f"takes more than {allowed:g} seconds", stage)
            if seen.megabytes > memory:
                raise _NeedsMemory(f"needs more than {memory:,} MB of memory", stage)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        # Not multiprocessing's own start: a Dask worker may not use it. And pipes, which every system has.
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from autograder.grading.run.limited import _serve; "
            f"_serve({os.getpid()})"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._messages: SimpleQueue[bytes | None] = SimpleQueue()
        reader = threading.Thread(target=_read, args=(self._process.stdout, self._messages), daemon=True)
        reader.start()
        self._fresh = True
        _all.add(self)
        return self._process

    def close(self) -> None:
        """Let the process end by itself, so that it can put its things away."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(2)
        self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                with suppress(OSError):
                    self._process.stdin.close()
        self._process = None
        _all.discard(self)


def _read(pipe: IO[bytes], messages: SimpleQueue[bytes | None]) -> None:
    """In a thread, which can wait for a pipe on every system: what a worker says, and None at its end."""
    with pipe:
        while (message := _receive(pipe)) is not None:
            messages.put(message)
    messages.put(None)


class _Seen:
    """What a process uses, as it was at the last look: seconds of CPU time, and megabytes that it holds."""

    def __init__(self, pid: int) -> None:
        self.cpu = self.megabytes = 0.0
        self._process: psutil.Process | None = None
        with suppress(psutil.Error):
            self._process = psutil.Process(pid)
        self.look()

    def look(self) -> None:
        """See how much it is by now; of a process that has ended, nothing new."""
        if self._process:
            with suppress(psutil.Error), self._process.oneshot():
                times = self._process.cpu_times()
                self.cpu = times.user + times.system
                self.megabytes = self._process.memory_info().rss / 1e6


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
    plainer: bool = False,
) -> Iterator[tuple[int, str | NotDone]]:
    """Do one thing for each of many hand-ins; yields (place in `calls`, what came of it), as they get done.

    Parameters
    ----------
    function : callable
        Named in a module; returns a str.
    calls : sequence of tuple
        The arguments of each call.
    plainer : bool
        The function has one more argument, the last: whether it is to do it in a plain form, which is asked for where
        it was not done otherwise.

    Examples
    --------
    >>> sorted(each(str.upper, [("a",), ("b",)], workers=2))
    [(0, 'A'), (1, 'B')]
    """

    def do(i: int, alone: bool) -> str:
        def run(*form: bool) -> str:
            return worker().run(function, *calls[i], *form, seconds=seconds, memory=memory)

        if not plainer:
            return run()
        try:
            return run(False)
        except NotDone as why:
            if isinstance(why, Died) and not alone:
                raise
            return run(True)

    workers = max(1, min(workers, len(calls)))
    with threads(workers) as pool:
        yield from side_by_side(do, range(len(calls)), pool, lambda: 2 * workers)


def side_by_side(
    do: Callable[[_One, bool], _Result],
    what: Iterable[_One],
    pool: ThreadPoolExecutor,
    room: Callable[[], int],
) -> Iterator[tuple[_One, _Result | NotDone]]:
    """Do something for each of these in a pool's threads; gives each with what came of it, as they get done.

    The first are under way when this returns. What was under way when its process died is done again when all others
    are, and by itself: only what ends a process then is its own fault.

    Parameters
    ----------
    do : callable
        Given one, and whether nothing else is under way.
    room : callable
        How many may be under way now: no more are held at a time.
    """
    queue, under_way, again = iter(what), dict[Future[_Result], _One](), list[_One]()

    def fill() -> None:
        for one in islice(queue, max(0, room() - len(under_way))):
            under_way[pool.submit(do, one, False)] = one

    def results() -> Iterator[tuple[_One, _Result | NotDone]]:
        while under_way:
            for future in wait(under_way, LONGEST_WAIT, FIRST_COMPLETED).done:
                one, outcome = under_way.pop(future), _outcome(future)
                fill()
                if isinstance(outcome, Died):
                    again.append(one)
                else:
                    yield one, outcome
            fill()
        for one in again:
            yield one, _outcome(pool.submit(do, one, True))

    fill()
    return results()


def _outcome(future: Future[_Result]) -> _Result | NotDone:
    try:
        return future.result()
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
