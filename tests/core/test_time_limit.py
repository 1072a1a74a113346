"""The time limit of a check leaves the notebook's own signal handlers as they were."""

import signal
from types import SimpleNamespace

import pytest

from autograder.core.time_limit import CallTimeLimit, TimeLimitExceeded, limit_call_time

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="Windows has no such signal"
)


@pytest.fixture
def notebook_handler():
    """A handler that the notebook has set for the signal that ends a function."""

    def handle(*_):
        raise AssertionError("the notebook's own handler was called")

    previous_handler = signal.signal(signal.SIGALRM, handle)
    yield handle
    signal.signal(signal.SIGALRM, previous_handler)


def end_well():
    pass


def end_with_an_error():
    raise ValueError


def end_at_the_limit():
    signal.raise_signal(signal.SIGALRM)  # as the thread that watches the time does
    raise AssertionError("the code was not stopped")


@pytest.mark.parametrize("code", [end_well, end_with_an_error, end_at_the_limit])
def test_an_earlier_signal_handler_is_restored(notebook_handler, code):
    try:
        with limit_call_time(1_000, __file__):
            assert signal.getsignal(signal.SIGALRM) != notebook_handler
            code()
    except (ValueError, TimeLimitExceeded):
        pass
    assert signal.getsignal(signal.SIGALRM) is notebook_handler


def test_code_between_two_lines_has_no_line_to_name():
    """Python gives no line number for some instructions."""
    limit = CallTimeLimit(1.0, __file__)
    frame = SimpleNamespace(f_code=end_well.__code__, f_lineno=None, f_globals={}, f_back=None)
    limit._count_running_line(frame)
    assert limit._describe_hottest_line() == ""


def test_a_function_that_is_stuck_is_told_the_case_that_it_is_in():
    limit = CallTimeLimit(1.0, __file__)
    limit.begin("one row")
    limit.begin("ties")
    limit._was_stopped, limit._stopwatch = (
        True,
        SimpleNamespace(cpu_seconds=lambda: 2.0, is_stuck=lambda: True),
    )
    assert limit.describe_overrun() == (
        "It did not end; 1 s are allowed. It was busy with the case “ties”."
    )
    with pytest.raises(TimeLimitExceeded):
        limit.begin("the next")


@pytest.mark.parametrize(("samples", "is_named"), [((3, 2), True), ((2, 2), False)])
def test_a_line_is_named_if_most_of_the_time_went_into_it(samples, is_named):
    limit = CallTimeLimit(1.0, __file__)
    first = end_well.__code__.co_firstlineno
    for line, count in zip((first, first + 1), samples, strict=True):
        for _ in range(count):
            frame = SimpleNamespace(
                f_code=end_well.__code__, f_lineno=line, f_globals={}, f_back=None
            )
            limit._count_running_line(frame)
    text = f"line {first}: `def end_well():`" if is_named else ""
    assert limit._describe_hottest_line() == text
