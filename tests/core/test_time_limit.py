"""The time limit of a check leaves the notebook's own signal handlers as they were."""

import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from autograder.core import time_limit
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


@pytest.mark.parametrize(
    ("seconds", "was_stopped", "is_stuck", "text"),
    [
        (1.0, False, False, ""),
        (1.2, False, False, "It needs 2 s of the 1 allowed."),
        (1.2, False, True, "It needs 2 s of the 1 allowed."),
        (1.5, True, False, "It needs more than 1.5 s of the 1 allowed."),
    ],
)
def test_a_function_that_is_only_slow_is_told_no_case(seconds, was_stopped, is_stuck, text):
    limit = CallTimeLimit(1.0, __file__)
    limit.begin("ties")
    limit._was_stopped = was_stopped
    limit._stopwatch = SimpleNamespace(cpu_seconds=lambda: seconds, is_stuck=lambda: is_stuck)
    assert limit.describe_overrun() == text


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


def run_until_stopped(stopped=None):
    """Run an endless loop with a limit of 0.1 s, and record that it was stopped."""
    with pytest.raises(TimeLimitExceeded), limit_call_time(0.1, __file__):
        while True:
            pass
    if stopped is not None:
        stopped.set()


def count_watching_threads():
    return sum(thread.name == time_limit.THREAD_NAME for thread in threading.enumerate())


def wait_for_end_of_watching_threads():
    end = time.monotonic() + 60
    while count_watching_threads() and time.monotonic() < end:
        time.sleep(0.01)
    assert not count_watching_threads()


def test_one_thread_watches_all_limits_and_ends_without_one(monkeypatch):
    wait_for_end_of_watching_threads()  # that of earlier tests
    monkeypatch.setattr(time_limit, "_watcher", time_limit._Watcher())
    monkeypatch.setattr(time_limit, "IDLE_SECONDS", 0.05)
    for _ in range(20):
        with limit_call_time(1_000, __file__), limit_call_time(1_000, __file__):
            assert count_watching_threads() == 1
    wait_for_end_of_watching_threads()
    run_until_stopped()  # it starts again


def test_an_outer_limit_holds_inside_of_another():
    with pytest.raises(TimeLimitExceeded), limit_call_time(0.1, __file__):  # noqa: SIM117
        with limit_call_time(1_000, __file__):
            while True:
                pass


def test_a_limit_holds_in_a_forked_process():
    run_until_stopped()  # the thread runs here, and is not copied
    context = multiprocessing.get_context("fork")
    stopped = context.Event()
    process = context.Process(target=run_until_stopped, args=(stopped,), daemon=True)
    process.start()
    process.join(60)
    process.kill()
    assert stopped.is_set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_limit_holds_after_an_error_of_the_watching_thread(monkeypatch):
    monkeypatch.setattr(time_limit, "_watcher", time_limit._Watcher())

    def raise_error(limit):
        raise ValueError

    with monkeypatch.context() as patch, limit_call_time(1_000, __file__):
        patch.setattr(CallTimeLimit, "stop_thread_on_overrun", raise_error)
        end = time.monotonic() + 60
        while time_limit._watcher._is_running and time.monotonic() < end:
            time.sleep(0.01)
    run_until_stopped()


WITHOUT_SIGNALS = """
import signal, sys
del signal.pthread_kill
from autograder.core.time_limit import TimeLimitExceeded, limit_call_time

def run():
    with limit_call_time(0.1, ""):
        while is_endless:
            pass

def follow(frame, event, argument):
    return follow

for is_endless in (False, True, False):
    try:
        run()
    except TimeLimitExceeded:
        assert is_endless
    sys.settrace(follow)
    (lambda: 1)()
    sys.settrace(None)
print("done")
"""


def test_without_signals_nothing_is_left_pending():
    """Python 3.11 hangs in the next function that is traced if it believes an exception pending."""
    command = [sys.executable, "-c", WITHOUT_SIGNALS]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.stdout == "done\n", ran.stderr


def make_limit(seconds=0.0):
    """Return a limit of one second, a list of its stops, and of the cases that have begun."""
    limit, stops, progress = CallTimeLimit(1.0, __file__), [], []
    limit._stop_thread = lambda: stops.append(1)
    limit._stopwatch = SimpleNamespace(
        charged_seconds=lambda: seconds, mark_progress=lambda: progress.append(1)
    )
    return limit, stops, progress


@pytest.mark.parametrize(
    ("seconds", "is_armed", "is_stopped"),
    [(1.4, True, False), (1.5, True, False), (1.6, True, True), (1.6, False, False)],
)
def test_code_has_half_as_much_time_again_before_it_is_stopped(seconds, is_armed, is_stopped):
    limit, stops, _ = make_limit(seconds)
    limit._is_armed = is_armed
    limit.stop_thread_on_overrun()
    assert (len(stops), limit._was_stopped) == (is_stopped, is_stopped)


def test_a_signal_after_the_end_of_a_block_stops_nothing():
    limit, _, progress = make_limit()
    limit.begin("one row")
    limit.begin("ties")
    assert len(progress) == 2
    with pytest.raises(TimeLimitExceeded):
        limit._handle_signal()
    limit._disarm()
    limit._handle_signal()


def test_the_line_of_a_notebook_counts_that_called_what_runs_now():
    limit, _, _ = make_limit()

    def make_frame(file, line, name, caller=None):
        code = SimpleNamespace(co_filename=file)
        return SimpleNamespace(
            f_code=code, f_lineno=line, f_globals={"__name__": name}, f_back=caller
        )

    notebook = make_frame("another cell", 3, "__main__", make_frame(__file__, 5, "x"))
    limit._count_running_line(make_frame("numpy.py", 9, "numpy", notebook))
    limit._count_running_line(make_frame(__file__, 5, "tests", notebook))
    limit._count_running_line(make_frame("numpy.py", 9, "numpy"))
    limit._count_running_line(None)
    assert limit._line_samples == {("another cell", 3): 1, (__file__, 5): 1}
