"""The time of a student's code: what counts against its limit, and what a message says of it."""

import pytest

from autograder.core import cpu_time
from autograder.core.cpu_time import Stopwatch, describe_overrun
from autograder.core.run_limits import RunLimits


class Clock:
    """The three times that a stopwatch reads; a test sets them."""

    def __init__(self):
        self.cpu, self.sleep, self.wall = 100.0, 50.0, 1_000.0


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(cpu_time, "monotonic", lambda: clock.wall)
    return clock


@pytest.fixture
def stopwatch(clock):
    return Stopwatch(lambda: clock.cpu, lambda: clock.sleep)


@pytest.mark.parametrize(
    ("cpu", "sleep", "wall", "charged"),
    [(3, 1, 6, 3), (1, 4, 6, 4), (1, 2, 30, 5), (0, 0, 0, 0)],
)
def test_the_largest_of_three_times_counts(clock, stopwatch, cpu, sleep, wall, charged):
    """Time on the wall counts a sixth: another program may have had the processor."""
    clock.cpu += cpu
    clock.sleep += sleep
    clock.wall += wall
    assert stopwatch.charged_seconds() == charged
    assert (stopwatch.cpu_seconds(), stopwatch.sleep_seconds()) == (cpu, sleep)


def test_a_reading_that_falls_is_no_time_below_zero(clock, stopwatch):
    """The processes that were counted may have ended."""
    clock.cpu -= 5
    clock.sleep -= 5
    assert stopwatch.cpu_seconds() == stopwatch.sleep_seconds() == 0


def test_code_is_stuck_if_nearly_all_of_its_time_is_in_one_part(clock, stopwatch):
    clock.cpu += 1
    stopwatch.mark_progress()
    clock.cpu += 18
    assert not stopwatch.is_stuck()
    clock.cpu += 2
    assert stopwatch.is_stuck()


@pytest.mark.parametrize(("time", "seconds"), [("sleep", 20), ("wall", 120)])
def test_code_that_waits_for_ever_is_stuck_as_well(clock, stopwatch, time, seconds):
    clock.cpu += 1
    stopwatch.mark_progress()
    assert not stopwatch.is_stuck()
    setattr(clock, time, getattr(clock, time) + seconds)
    assert stopwatch.is_stuck()


@pytest.mark.parametrize(
    ("seconds", "finished", "text"),
    [
        (10.1, True, "It needs 11 s of the 10 allowed."),
        (12.0, True, "It needs 12 s of the 10 allowed."),
        (17.3, False, "It needs more than 15 s of the 10 allowed."),
    ],
)
def test_the_seconds_of_a_slow_function_are_rounded_up(seconds, finished, text):
    assert describe_overrun(seconds, 10, finished=finished) == text


def test_a_lab_may_forbid_reruns_and_no_limit_is_infinite():
    assert RunLimits(reruns=0).reruns == 0
    with pytest.raises(ValueError, match="The limit reruns must be a whole number of zero or more"):
        RunLimits(reruns=-1)
    with pytest.raises(ValueError, match="The limit cell_seconds must be a number above zero"):
        RunLimits(cell_seconds=float("inf"))
