"""Measure the time that a student's code takes against its limit, mainly as CPU time.

On a busy machine, the same code takes longer by the clock, but about the same CPU time. So limits
are given in CPU time. Code that only waits takes no CPU time. So the time in which all of its
processes sleep counts in the same way. Some systems do not tell how long a process sleeps. So there
is also a limit of wall-clock time, which is much longer.
"""

from collections.abc import Callable
from math import ceil
from time import monotonic, process_time

WALL_SECONDS_PER_CPU_SECOND = 6  # the limit of wall-clock time is 6 times that of CPU time
# A student's function is stopped only at 1.5 times its limit. So a function that is a little too
# slow finishes, and the message can tell how long it took.
OVERTIME_FACTOR = 1.5
# If a stopped function made no progress in the last 19/20 of its time, the message says that it
# seems to be in an endless loop, and not that it is slow.
STUCK_RATIO = 20
# Limit of CPU time in seconds for all calls of one exercise's function together. A lab may set
# another limit.
DEFAULT_CALL_SECONDS = 10


class Stopwatch:
    """Stopwatch that starts when it is created, for CPU time and wall-clock time.

    Parameters
    ----------
    read_cpu_seconds : callable
        Returns the CPU time used so far in seconds; by default that of this process.
    read_sleep_seconds : callable, optional
        Returns the time so far in seconds in which the measured code slept. Waiting for a busy
        processor is not sleeping.
    """

    def __init__(
        self,
        read_cpu_seconds: Callable[[], float] = process_time,
        read_sleep_seconds: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._cpu, self._sleep = read_cpu_seconds, read_sleep_seconds
        self._start_cpu, self._start_sleep = read_cpu_seconds(), read_sleep_seconds()
        self._start_wall = monotonic()
        self._progress_seconds = 0.0

    def cpu_seconds(self) -> float:
        """Return the CPU time in seconds since the stopwatch was created."""
        return max(0.0, self._cpu() - self._start_cpu)

    def sleep_seconds(self) -> float:
        """Return the seconds since the stopwatch was created in which the code slept."""
        return max(0.0, self._sleep() - self._start_sleep)

    def charged_seconds(self) -> float:
        """Return the seconds that count against a limit.

        This is the largest of three: the CPU time, the time asleep, and a fraction of the
        wall-clock time.
        """
        wall_seconds = monotonic() - self._start_wall
        charged_wall_seconds = wall_seconds / WALL_SECONDS_PER_CPU_SECOND
        return max(self.cpu_seconds(), self.sleep_seconds(), charged_wall_seconds)

    def mark_progress(self) -> None:
        """Record that a part of the work, such as one call of the function, is finished.

        Code that is only slow makes progress again and again. Code in an endless loop does not.
        """
        self._progress_seconds = self.cpu_seconds()

    def is_stuck(self) -> bool:
        """Return True if almost all the time went into one unfinished part, such as a call.

        Then the code is probably in an endless loop. The share must be nearly all of the time: of
        code that is only slow, the largest part may well take most of the time.
        """
        return self._progress_seconds <= self.charged_seconds() / STUCK_RATIO


def describe_overrun(
    seconds: float,
    limit_seconds: float,
    *,
    finished: bool,
    stuck: bool = False,
) -> str:
    """Return the sentence for a student whose function took too much CPU time.

    Parameters
    ----------
    seconds : float
        CPU time that the function took.
    finished : bool
        True if the function returned, False if it was stopped.
    stuck : bool
        Result of `Stopwatch.is_stuck` when the function was stopped.

    Examples
    --------
    >>> describe_overrun(13.2, 10, finished=True)
    'It needs 14 s of the 10 allowed.'
    >>> describe_overrun(15.1, 10, finished=False)
    'It needs more than 15 s of the 10 allowed.'
    >>> describe_overrun(15.1, 10, finished=False, stuck=True)
    'It did not end; 10 s are allowed.'
    """
    if finished:
        return f"It needs {ceil(seconds):g} s of the {limit_seconds:g} allowed."
    if stuck:
        return f"It did not end; {limit_seconds:g} s are allowed."
    measured_seconds = OVERTIME_FACTOR * limit_seconds
    return f"It needs more than {measured_seconds:g} s of the {limit_seconds:g} allowed."
