"""How long something may take: CPU time is the limit, and wall-clock time a precaution.

A busy machine gives a process less time, and no more to do: only CPU time is the same on a quiet machine and on
one that has eight other things to do. What waits uses none, so the clock stops it, but late.
"""

from collections.abc import Callable
from math import ceil
from time import monotonic, process_time

PATIENCE = 6  # seconds by the clock for each second of CPU time that is allowed
OVERTIME = 1.5  # how much longer an answer may run than is allowed, so that what it needs can be said
# What took this share of its time before it came to the part at hand is slow, and not without an end.
SLOW = 20
CALL_SECONDS = 10  # of CPU time, for all questions of an exercise, unless its lab has other limits


class Stopwatch:
    """What something has taken since this was made.

    Parameters
    ----------
    cpu : callable
        Gives the CPU time, in seconds, that it has used so far; this process's own by default.
    """

    def __init__(self, cpu: Callable[[], float] = process_time) -> None:
        self._cpu = cpu
        self._began, self._start = cpu(), monotonic()
        self._progress = 0.0

    def seconds(self) -> float:
        """Of CPU time."""
        return max(0.0, self._cpu() - self._began)

    def spent(self) -> float:
        """What is held against a limit: the CPU time or, for what waits, its share of the clock's."""
        return max(self.seconds(), (monotonic() - self._start) / PATIENCE)

    def got_on(self) -> None:
        """Part of it is done: what is slow comes here again and again, what has no end does not."""
        self._progress = self.seconds()

    def is_stuck(self) -> bool:
        """Whether the parts that were done took next to no time, and the one at hand all of it.

        Of an answer that is slow in all parts the largest may well take most of the time.
        """
        return self._progress <= self.spent() / SLOW


def too_long(seconds: float, allowed: float, *, ended: bool, stuck: bool = False) -> str:
    """What is said of something that took too long.

    Parameters
    ----------
    seconds, allowed : float
        Of CPU time.
    ended : bool
        It was not stopped.
    stuck : bool
        It was, and `Stopwatch.is_stuck` then.

    Examples
    --------
    >>> too_long(13.2, 10, ended=True)
    'It needs 14 s of the 10 allowed.'
    >>> too_long(15.1, 10, ended=False)
    'It needs more than 15 s of the 10 allowed.'
    >>> too_long(15.1, 10, ended=False, stuck=True)
    'It did not end; 10 s are allowed.'
    """
    if ended:
        return f"It needs {ceil(seconds):g} s of the {allowed:g} allowed."
    if stuck:
        return f"It did not end; {allowed:g} s are allowed."
    return f"It needs more than {OVERTIME * allowed:g} s of the {allowed:g} allowed."
