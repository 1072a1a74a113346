"""Worker processes for work on students' files; a worker that exceeds its limits is killed.

A student's notebook can make a parser or renderer take hours, or crash the process. So all work on
a submission's content runs in a worker process. The process that started the worker watches its CPU
time and memory, and kills it when a limit is exceeded; then only this one submission fails. The
watching works in the same way on every operating system.

A worker can call any function that is defined at the top level of a module and returns text (such
as JSON). Nothing that a worker sends is unpickled.
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
from queue import Empty, SimpleQueue
from typing import IO, Any, TypeVar

import psutil

from autograder.core.address_space import limit_added_memory
from autograder.core.cpu_time import Stopwatch

DEFAULT_CPU_SECONDS, DEFAULT_MEGABYTES = 60.0, 1_500
POLL_SECONDS = 0.05  # between two measurements of a worker
MAX_WAIT_SECONDS = 0.5  # between two checks of how many calls may run at the same time
MAX_ERROR_CHARACTERS = 2_000
_CLOSE_SECONDS = 2  # time for a worker to end by itself before it is killed
_MESSAGE_LENGTH = struct.Struct(">Q")  # format of the length that is sent before each message
_MAX_MESSAGE_BYTES = 1 << 29
_STAGE_MEGABYTES = 1_000  # of additional address space in a stage (see `time_limited_stage`)
_PR_SET_PDEATHSIG = 1  # option of Linux's prctl: end this process when its parent ends

# Kinds of messages from a worker, given by the first byte of the message.
_RESULT, _ERROR, _MEMORY_ERROR, _STAGE_START, _STAGE_END = b"=", b"!", b"m", b">", b"<"

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class WorkerFailed(Exception):
    """Error for work on a submission that a worker process could not do.

    Parameters
    ----------
    reason : str
        End of a sentence about the submission, such as "takes more than 20 seconds".
    stage : str
        Name of the stage (see `time_limited_stage`) in which the work failed; "" outside any stage.
    """

    def __init__(self, reason: str, stage: str = ""):
        super().__init__(reason, stage)
        self.reason, self.stage = reason, stage

    def __str__(self) -> str:
        return f"{self.stage} {self.reason}" if self.stage else self.reason


class LimitExceeded(WorkerFailed):
    """Error for work that exceeded its limit of time or memory, and would exceed it again."""


class _MemoryExceeded(LimitExceeded):
    """Error for work that exceeded its limit of memory."""


class WorkerDied(WorkerFailed):
    """Error for a worker process that ended unexpectedly, perhaps not due to the submission."""


class CallFailed(WorkerFailed):
    """Error for a function that raised in a worker. `reason` is the type and text of its error."""


# Functions that run in the worker process

_to_parent: IO[bytes] | None = None


@contextmanager
def time_limited_stage(name: str, seconds: float) -> Iterator[None]:
    """Run the `with` block with a CPU time limit of its own, and limited memory.

    On Linux the block may add at most a gigabyte of address space. In a process that is no worker,
    the block runs without limits.
    """
    if _to_parent is None:
        yield
        return
    _send(_to_parent, _STAGE_START + json.dumps([name, seconds]).encode())
    try:
        with limit_added_memory(_STAGE_MEGABYTES):
            yield
    except BaseException as error:
        # Note in the error in which stage of the work it was raised. If nothing catches the error,
        # `_serve_calls` reports it with the stage's name.
        error.__dict__.setdefault("_stage", name)
        raise
    finally:
        _send(_to_parent, _STAGE_END)


def _serve_calls(parent_pid: int) -> None:
    """Run the worker process: receive calls and send their results, until the pipe is closed.

    Parameters
    ----------
    parent_pid : int
        Id of the process that started the worker.
    """
    global _to_parent
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # so that Ctrl-C ends it without a traceback
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent_pid:  # the parent had ended before prctl was called
            os._exit(1)
    # Move the pipes from stdin and stdout to other descriptors, so that code which reads stdin or
    # prints cannot disturb the messages.
    calls, _to_parent = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, 0)
    os.dup2(devnull, 1)
    # Run the garbage collector less often: reference counts free most of a submission's objects.
    gc.set_threshold(50_000)
    while True:
        call = _receive_message(calls)
        if call is None:
            return
        function, arguments = pickle.loads(call)
        try:
            answer = _RESULT + function(*arguments).encode("utf-8", "surrogatepass")
        except BaseException as error:  # noqa: BLE001 - Rust panics are no Exceptions
            kind = _MEMORY_ERROR if isinstance(error, MemoryError) else _ERROR
            details = [error.__dict__.get("_stage", ""), _describe_exception(error)]
            answer = kind + json.dumps(details).encode()
        _send(_to_parent, answer)


def _describe_exception(error: BaseException) -> str:
    """Return an exception's type and text; the type alone if getting the text fails."""
    try:
        return f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARACTERS]
    except Exception:  # noqa: BLE001 - a hostile __str__
        return type(error).__name__


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_MESSAGE_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def _receive_message(pipe: IO[bytes]) -> bytes | None:
    """Return the next message in a pipe; None if there is none, or it is incomplete or too long."""
    with suppress(OSError, ValueError):
        length = pipe.read(_MESSAGE_LENGTH.size)
        if len(length) < _MESSAGE_LENGTH.size:
            return None
        size = _MESSAGE_LENGTH.unpack(length)[0]
        if size <= _MAX_MESSAGE_BYTES:
            message = pipe.read(size)
            return message if len(message) == size else None
    return None


# Functions that run in the process that starts the workers

_thread_state = threading.local()
_all_workers: set["Worker"] = set()


class Worker:
    """Worker process that runs one call at a time. It is started again after it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_unused = True  # no call has been completed since the process was started

    def run(
        self,
        function: Callable[..., str],
        *arguments: Any,
        seconds: float = DEFAULT_CPU_SECONDS,
        memory: int = DEFAULT_MEGABYTES,
    ) -> str:
        """Call a function in the worker process; return the text that it returns.

        Parameters
        ----------
        function : callable
            Function at the top level of a module, which returns a str.
        seconds : float
            Limit of CPU time for the whole call. By the clock, the call may take six times as long.
            A `time_limited_stage` in the function has a limit of its own in addition.
        memory : int
            Limit of memory for the process, in megabytes.

        Raises
        ------
        LimitExceeded, WorkerDied, CallFailed
        """
        try:
            return self._run_once(function, arguments, seconds, memory)
        except _MemoryExceeded:
            if self._is_unused:
                raise
            # The process may still hold memory from earlier calls. So call the function again, in a
            # new process.
            self._kill()
            return self._run_once(function, arguments, seconds, memory)

    def _run_once(
        self,
        function: Callable[..., str],
        arguments: tuple,
        seconds: float,
        memory: int,
    ) -> str:
        try:
            process = self._ensure_started()
            assert process.stdin is not None
            _send(process.stdin, pickle.dumps((function, arguments)))
            answer = self._receive_answer_within_limits(process.pid, seconds, memory)
            self._is_unused = False
            return answer
        except (OSError, ValueError):
            self._kill()
            raise WorkerDied("ended the process that worked on it") from None
        except CallFailed:
            self._is_unused = False
            raise
        except BaseException:
            self._kill()
            raise

    def _receive_answer_within_limits(self, pid: int, seconds: float, memory: int) -> str:
        """Wait for the function's result; raise an error when the process exceeds its limits."""
        usage = _ProcessUsage(pid)
        call_watch = stage_watch = Stopwatch(lambda: usage.cpu_seconds)
        stage, stage_seconds = "", seconds
        while True:
            try:
                message = self._messages.get(timeout=POLL_SECONDS)
            except Empty:
                pass
            else:
                if message is None:
                    raise WorkerDied("ended the process that worked on it", stage)
                kind, content = message[:1], message[1:]
                if kind not in (_STAGE_START, _STAGE_END):
                    return _decode_answer_or_raise(kind, content)
                usage.update()
                if kind == _STAGE_START:
                    stage, stage_seconds = json.loads(content)
                    stage_watch = Stopwatch(lambda: usage.cpu_seconds)
                else:
                    stage, stage_seconds, stage_watch = "", seconds, call_watch
            usage.update()
            stage_is_over = stage_watch.charged_seconds() > stage_seconds
            if stage_is_over or call_watch.charged_seconds() > seconds:
                raise LimitExceeded(f"takes more than {stage_seconds:g} seconds", stage)
            if usage.megabytes > memory:
                raise _MemoryExceeded(f"needs more than {memory:,} MB of memory", stage)

    def _ensure_started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._kill()
        # Start the worker with `subprocess`, since a process of a Dask worker must not use
        # `multiprocessing`.
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            "from autograder.grading.worker import _serve_calls; "
            f"_serve_calls({os.getpid()})"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._messages: SimpleQueue[bytes | None] = SimpleQueue()
        reader = threading.Thread(
            target=_forward_messages, args=(self._process.stdout, self._messages), daemon=True
        )
        reader.start()
        self._is_unused = True
        _all_workers.add(self)
        return self._process

    def close(self) -> None:
        """Close the pipe, so that the process ends and runs its exit handlers.

        If it has not ended after two seconds, it is killed.
        """
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_CLOSE_SECONDS)
        self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                with suppress(OSError):
                    self._process.stdin.close()
        self._process = None
        _all_workers.discard(self)


def _decode_answer_or_raise(kind: bytes, content: bytes) -> str:
    """Return the text in a worker's last message about a call, or raise the error in it."""
    if kind == _RESULT:
        return content.decode("utf-8", "surrogatepass")
    stage, text = json.loads(content)
    if kind == _MEMORY_ERROR:
        raise _MemoryExceeded("needs too much memory", stage)
    raise CallFailed(text, stage)


def _forward_messages(pipe: IO[bytes], messages: SimpleQueue[bytes | None]) -> None:
    """Put a worker's messages into a queue, and then None. This runs in a thread of its own."""
    with pipe:
        message = _receive_message(pipe)
        while message is not None:
            messages.put(message)
            message = _receive_message(pipe)
    messages.put(None)


class _ProcessUsage:
    """CPU time and memory of a worker process, as measured by the last call of `update`."""

    def __init__(self, pid: int) -> None:
        self.cpu_seconds = self.megabytes = 0.0
        self._process: psutil.Process | None = None
        with suppress(psutil.Error):
            self._process = psutil.Process(pid)
        self.update()

    def update(self) -> None:
        """Measure the process again; keep the old values if the process has ended."""
        if self._process:
            with suppress(psutil.Error), self._process.oneshot():
                times = self._process.cpu_times()
                self.cpu_seconds = times.user + times.system
                self.megabytes = self._process.memory_info().rss / 1e6


def get_worker() -> Worker:
    """Return the worker process that belongs to the current thread."""
    if not hasattr(_thread_state, "worker"):
        _thread_state.worker = Worker()
    return _thread_state.worker


def kill_workers() -> None:
    """Kill the worker processes of all threads, even those in the middle of a call."""
    for worker in list(_all_workers):
        process = worker._process
        if process is not None:
            process.kill()


def run_calls_in_workers(
    function: Callable[..., str],
    calls: Sequence[tuple],
    *,
    workers: int,
    seconds: float = DEFAULT_CPU_SECONDS,
    memory: int = DEFAULT_MEGABYTES,
    retry_with_simpler_result: bool = False,
) -> Iterator[tuple[int, str | WorkerFailed]]:
    """Call a function once for each of many submissions, in worker processes.

    Parameters
    ----------
    function : callable
        Function at the top level of a module, which returns a str.
    calls : sequence of tuple
        The arguments of each call.
    retry_with_simpler_result : bool
        Call the function with one more argument, False. If the call fails, repeat it with True,
        which asks the function for a simpler form of its result.

    Yields
    ------
    int
        Index of the call in `calls`. The order is that in which the calls end.
    str or WorkerFailed
        Text that the function returned, or the error.

    Examples
    --------
    >>> sorted(run_calls_in_workers(str.upper, [("a",), ("b",)], workers=2))
    [(0, 'A'), (1, 'B')]
    """

    def run_call(index: int, is_alone: bool) -> str:
        def run(*wants_simple_result: bool) -> str:
            return get_worker().run(
                function, *calls[index], *wants_simple_result, seconds=seconds, memory=memory
            )

        if not retry_with_simpler_result:
            return run()
        try:
            return run(False)
        except WorkerFailed as failure:
            if isinstance(failure, WorkerDied) and not is_alone:
                raise
            return run(True)

    workers = max(1, min(workers, len(calls)))
    with worker_threads(workers) as pool:
        yield from run_concurrently(run_call, range(len(calls)), pool, lambda: 2 * workers)


def run_concurrently(
    function: Callable[[_Item, bool], _Result],
    items: Iterable[_Item],
    pool: ThreadPoolExecutor,
    capacity: Callable[[], int],
) -> Iterator[tuple[_Item, _Result | WorkerFailed]]:
    """Call a function for each item in threads; return an iterator of items and results.

    The first calls have already begun when this function returns. If a worker process dies, its
    item is tried again at the end, when no other call is running. If the process dies again, that
    item must be the cause.

    Parameters
    ----------
    function : callable
        Called with an item and a bool, which is True if no other call is running.
    capacity : callable
        Returns the number of calls that may run at present. No more items than that are held.
    """
    queue = iter(items)
    under_way: dict[Future[_Result], _Item] = {}
    retries: list[_Item] = []

    def fill() -> None:
        for item in islice(queue, max(0, capacity() - len(under_way))):
            under_way[pool.submit(function, item, False)] = item

    def results() -> Iterator[tuple[_Item, _Result | WorkerFailed]]:
        while under_way:
            for future in wait(under_way, MAX_WAIT_SECONDS, FIRST_COMPLETED).done:
                item, outcome = under_way.pop(future), _outcome_of(future)
                fill()
                if isinstance(outcome, WorkerDied):
                    retries.append(item)
                else:
                    yield item, outcome
            fill()
        for item in retries:
            yield item, _outcome_of(pool.submit(function, item, True))

    fill()
    return results()


def _outcome_of(future: Future[_Result]) -> _Result | WorkerFailed:
    try:
        return future.result()
    except WorkerFailed as failure:
        return failure


@contextmanager
def worker_threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Open a pool of threads for the `with` block, each with a worker process of its own.

    When the block ends, all workers end. If the block raises an error, they are killed.
    """
    pool = ThreadPoolExecutor(count, thread_name_prefix="worker")
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        kill_workers()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        for worker in list(_all_workers):
            worker.close()
