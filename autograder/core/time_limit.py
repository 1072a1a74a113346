"""Stop a student's function that takes too long when `check` calls it in the student's notebook.

It works on every operating system. A second thread watches the CPU time of the thread that runs the
function, and samples the line of the notebook that runs. At the time limit the watching thread
raises an exception in the watched thread. It does so repeatedly, since a bare `except` in the
student's code may catch the first exception. One thread watches all limits of a process, since
starting a thread takes longer than most calls.
"""

import ctypes
import linecache
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from autograder.core.cpu_time import OVERTIME_FACTOR, Stopwatch, describe_overrun

SAMPLE_SECONDS = 0.05  # interval at which the thread with the student's function is sampled
THREAD_NAME = "autograder-time-limits"
IDLE_SECONDS = 1  # time without a limit after which the watching thread ends


class TimeLimitExceeded(BaseException):
    """Error for a student's function that took too long; the text says how long, and the limit.

    It derives from BaseException, so that `except Exception` in a student's code does not catch it.
    """


class _Watcher:
    """Thread that watches all time limits that hold now. It starts with the first one."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget limits and thread, as a forked process must: the thread is not copied to it."""
        self._lock = threading.Lock()
        self._limits: list[CallTimeLimit] = []
        self._has_limits = threading.Event()
        self._is_running = False

    def add(self, limit: "CallTimeLimit") -> None:
        """Watch a limit; RuntimeError if a thread cannot be started."""
        with self._lock:
            self._limits.append(limit)
            if not self._is_running:
                threading.Thread(target=self._watch, name=THREAD_NAME, daemon=True).start()
                self._is_running = True
            if not self._has_limits.is_set():
                self._has_limits.set()

    def remove(self, limit: "CallTimeLimit") -> None:
        """Stop watching a limit."""
        with self._lock:
            if limit in self._limits:
                self._limits.remove(limit)

    def _watch(self) -> None:
        try:
            while self._wait_for_limits():
                time.sleep(SAMPLE_SECONDS)
                with self._lock:
                    limits = list(self._limits)
                    if not limits:
                        self._has_limits.clear()
                for limit in limits:
                    limit.stop_thread_on_overrun()
        except BaseException:
            self._is_running = False  # the next limit starts another thread
            raise

    def _wait_for_limits(self) -> bool:
        """Wait until there is a limit. After `IDLE_SECONDS` without one, return False."""
        if self._has_limits.wait(IDLE_SECONDS):
            return True
        with self._lock:
            self._is_running = self._has_limits.is_set()
            return self._is_running


_watcher = _Watcher()
if hasattr(os, "register_at_fork"):  # Windows and WebAssembly have no fork
    os.register_at_fork(after_in_child=_watcher.reset)


class CallTimeLimit:
    """Time limit for a block of code that calls a student's function, made by `limit_call_time`."""

    def __init__(self, limit_seconds: float, code_filename: str) -> None:
        self._limit_seconds = limit_seconds
        self._code_filename = code_filename
        self._stopwatch = Stopwatch()
        self._case_label = ""
        self._line_samples: Counter[tuple[str, int]] = Counter()
        self._thread = threading.get_ident()
        # Stop the code by a signal if possible, since a signal also interrupts `time.sleep`.
        # Windows has no such signal, and only the main thread can handle one.
        has_signals = hasattr(signal, "pthread_kill")
        is_main_thread = threading.current_thread() is threading.main_thread()
        self._uses_signal = has_signals and is_main_thread
        self._lock = threading.Lock()
        self._is_armed = True
        self._was_stopped = False

    def begin(self, case_label: str) -> None:
        """Record that the next test case begins; the message quotes `case_label`."""
        if self._was_stopped:  # the student's code has caught the exception
            raise TimeLimitExceeded
        self._stopwatch.mark_progress()
        self._case_label = case_label

    @contextmanager
    def enforce(self) -> Iterator[None]:
        """Limit the time of a `with` block: at the deadline, the block is left without an error."""
        previous_handler = None
        if self._uses_signal:
            previous_handler = signal.signal(signal.SIGALRM, self._handle_signal)
        with suppress(RuntimeError):  # WebAssembly has no threads, and so no deadline
            _watcher.add(self)
        try:
            try:
                yield
            finally:
                self._disarm()
        except TimeLimitExceeded:
            pass
        finally:
            _watcher.remove(self)
            if self._uses_signal:
                signal.signal(signal.SIGALRM, previous_handler)

    def describe_overrun(self) -> str:
        """Return sentences on how long the function took; "" if it kept to the limit."""
        seconds = self._stopwatch.cpu_seconds()
        if not self._was_stopped and seconds <= self._limit_seconds:
            return ""
        is_stuck = self._was_stopped and self._stopwatch.is_stuck()
        text = describe_overrun(
            seconds,
            self._limit_seconds,
            finished=not self._was_stopped,
            stuck=is_stuck,
        )
        if is_stuck and self._case_label:
            text += f" It was busy with the case “{self._case_label}”."
        line = self._describe_hottest_line()
        if line:
            text += f" Most of the time went into {line}."
        return text

    def stop_thread_on_overrun(self) -> None:
        """Count the line that runs now, and stop the code if its time is over. The watcher calls it."""
        self._count_running_line(sys._current_frames().get(self._thread))
        if self._stopwatch.charged_seconds() > OVERTIME_FACTOR * self._limit_seconds:
            with self._lock:
                if self._is_armed:
                    self._was_stopped = True
                    self._stop_thread()

    def _count_running_line(self, frame: FrameType | None) -> None:
        """Find the notebook's line that is running now, and count it to find the slowest line."""
        while frame is not None:
            file = frame.f_code.co_filename
            is_main = frame.f_globals.get("__name__") == "__main__"
            is_notebook_code = file == self._code_filename or is_main
            if is_notebook_code and frame.f_lineno is not None:  # None: between two lines
                self._line_samples[file, frame.f_lineno] += 1
                return
            frame = frame.f_back

    def _describe_hottest_line(self) -> str:
        """Describe the notebook's line that was running most of the time; "" if no line was."""
        for (file, number), samples in self._line_samples.most_common(1):
            text = linecache.getline(file, number).strip()[:80]
            if text and 2 * samples > self._line_samples.total():
                return f"line {number}: `{text}`"
        return ""

    def _stop_thread(self) -> None:
        if self._uses_signal:
            signal.pthread_kill(self._thread, signal.SIGALRM)
        else:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread), ctypes.py_object(TimeLimitExceeded)
            )

    def _handle_signal(self, *_: object) -> None:
        if self._is_armed:
            raise TimeLimitExceeded

    def _disarm(self) -> None:
        """End the time limit: stop no code from now on, and receive an exception that is pending."""
        while self._is_armed:  # the exception may come here, too
            with suppress(TimeLimitExceeded), self._lock:
                self._is_armed = False
        if self._was_stopped and not self._uses_signal:
            # Python raises a pending exception at the end of a loop's turn at the latest. It could
            # be cancelled instead, but then Python 3.11 goes on as if something were pending: it
            # is slower, and a function that `sys.settrace` follows does not start, ever.
            with suppress(TimeLimitExceeded):
                for _ in range(100):
                    pass


@contextmanager
def limit_call_time(limit_seconds: float, code_filename: str) -> Iterator[CallTimeLimit]:
    """Limit the CPU time of a `with` block that calls a student's function.

    Parameters
    ----------
    code_filename : str
        File name of the function's code object. If the function is too slow, the message names the
        line of this file, or of the notebook, that takes most of the time.

    Raises
    ------
    TimeLimitExceeded
        At the end of the block, if it took longer than the limit or was stopped.
    """
    limit = CallTimeLimit(limit_seconds, code_filename)
    with limit.enforce():
        yield limit
    overrun = limit.describe_overrun()
    if overrun:
        raise TimeLimitExceeded(overrun)
