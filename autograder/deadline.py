"""Stopping a student's answer in the student's own notebook, wherever Python runs.

A thread looks at the one that answers every few moments: how much CPU time has gone, and in which line of the
notebook. When that is too much it has an exception raised there, again and again, in case a bare `except` swallows it.
"""

import ctypes
import linecache
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from autograder.stopwatch import OVERTIME, Stopwatch, too_long

LOOK = 0.05  # seconds between two looks


class TookTooLong(BaseException):
    """An answer took too long, and the text says how; no `except Exception` of its own catches it."""


class Deadline:
    """What an answer may take, and what it takes; see `deadline`."""

    def __init__(self, allowed: float, home: str) -> None:
        self._allowed, self._home = allowed, home
        self._stopwatch, self._doing = Stopwatch(), ""
        self._lines: Counter[tuple[str, int]] = Counter()  # how often it was seen in which
        self._thread = threading.get_ident()
        # A signal wakes what sleeps, too. Windows has none, and only the main thread can be sent one.
        self._by_signal = (
            hasattr(signal, "pthread_kill") and threading.current_thread() is threading.main_thread()
        )
        self._lock = threading.Lock()
        self._running, self._stopped, self._watched = True, False, True
        self._over = threading.Event()

    def begin(self, what: str) -> None:
        """Another part of the work, by its name."""
        if self._stopped:  # and swallowed it
            raise TookTooLong
        self._stopwatch.got_on()
        self._doing = what

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Where the deadline is kept: what goes over it is left."""
        watch = threading.Thread(target=self._watch, daemon=True)
        before = signal.signal(signal.SIGALRM, self._interrupt) if self._by_signal else None
        try:
            watch.start()
        except RuntimeError:  # there are no threads in WebAssembly, and so no deadline
            self._watched = False
        try:
            try:
                yield
            finally:
                self._stand_down()
        except TookTooLong:
            pass
        finally:
            self._over.set()
            if self._by_signal:
                signal.signal(signal.SIGALRM, before)

    def why(self) -> str:
        """How it took too long; "" if it did not."""
        seconds = self._stopwatch.seconds()
        if not self._stopped and seconds <= self._allowed:
            return ""
        stuck = self._stopped and self._stopwatch.is_stuck()
        sentence = too_long(seconds, self._allowed, ended=not self._stopped, stuck=stuck)
        if stuck and self._doing:
            sentence += f" It was busy with the case “{self._doing}”."
        if where := self._busiest():
            sentence += f" Most of the time went into {where}."
        return sentence

    def _watch(self) -> None:
        while not self._over.wait(LOOK):
            self._see(sys._current_frames().get(self._thread))
            if self._stopwatch.spent() > OVERTIME * self._allowed:
                with self._lock:
                    if self._running:
                        self._stopped = True
                        self._stop()

    def _see(self, frame: FrameType | None) -> None:
        """Note which line of the notebook is at work."""
        while frame is not None:
            name = frame.f_code.co_filename
            if name == self._home or frame.f_globals.get("__name__") == "__main__":
                self._lines[name, frame.f_lineno] += 1
                return
            frame = frame.f_back

    def _busiest(self) -> str:
        """The line that it was seen in more often than in all others together."""
        for line, times in self._lines.most_common(1):
            text = linecache.getline(*line).strip()[:80]
            if text and 2 * times > self._lines.total():
                return f"line {line[1]}: `{text}`"
        return ""

    def _stop(self) -> None:
        if self._by_signal:
            signal.pthread_kill(self._thread, signal.SIGALRM)
        else:
            self._raise(ctypes.py_object(TookTooLong))

    def _interrupt(self, *_: object) -> None:
        """The signal has come."""
        if self._running:
            raise TookTooLong

    def _stand_down(self) -> None:
        """Nothing is raised from now on."""
        with self._lock:
            self._running = False
        if self._watched and not self._by_signal:
            self._raise(None)

    def _raise(self, what: object) -> None:
        """Have an exception raised at the next line of Python; or, with None, no more."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), what)


@contextmanager
def deadline(allowed: float, home: str) -> Iterator[Deadline]:
    """Limit the time of what runs inside.

    Parameters
    ----------
    allowed : float
        Seconds of CPU time.
    home : str
        The file that the answer's code is from: its lines, and the notebook's own, are told apart.

    Raises
    ------
    TookTooLong
        At the end, or in the midst of what does not end.
    """
    given = Deadline(allowed, home)
    with given.kept():
        yield given
    if why := given.why():
        raise TookTooLong(why)
