"""Grading on a Dask cluster, whose workers are tested before they get a submission.

A worker passes the test if it has the same versions of the autograder, Python and the labs as this
machine, and can grade the released notebook of a lab. A worker that fails the test gets no
submissions. If a worker fails on a submission later, the worker is tested again and the submission
is given to another worker.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock
from time import monotonic, sleep
from typing import Any

from autograder.core.text_format import format_count, join_words, make_printable
from autograder.gradebook.classroom import GradingError
from autograder.gradebook.graded_submission import GradedSubmission
from autograder.grading.worker import WorkerDied

POLL_SECONDS = 0.5  # between two queries for the cluster's workers
WORKER_TEST_SECONDS = 300.0  # for a worker to pass its test
_FETCH_SECONDS = 5  # for a result to be transferred; its worker may have died in the meantime
_NOTICE_INTERVAL_SECONDS = 30.0  # between two messages about waiting
_FIRST_NOTICE_SECONDS = 2.0
_MAX_TRIES = 3  # number of workers that try to grade the same submission
_MAX_CALLS_PER_SLOT = 2  # for each thread of a worker: one call that runs, and one that waits
_MAX_REASON_CHARACTERS = 300


class ClusterError(GradingError):
    """Error for a cluster that cannot be reached, or of which no worker is able to grade."""


class WorkerLost(WorkerDied):
    """Error for a Dask worker that left the cluster while it was grading a submission."""


class ClusterClient:
    """Client of a Dask cluster that grades submissions.

    It is used in a `with` statement, and many threads may call `grade` at the same time.

    Parameters
    ----------
    address : str
        Address of the scheduler.
    function : callable
        Function that runs on a worker, grades a submission and returns the result as JSON.
    worker_test : tuple
        Function that tests a worker, and its arguments. It returns the reason why the worker cannot
        grade, or "".
    show_message : callable
        Function that shows a sentence to the user.

    Raises
    ------
    ClusterError
        If no scheduler answers.
    """

    def __init__(
        self,
        address: str,
        function: Callable[..., str],
        worker_test: tuple[Any, ...],
        show_message: Callable[[str], None],
    ):
        from distributed import Client

        # Silence Dask's log messages: the user sees sentences through `show_message` instead.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._address, self._function, self._worker_test, self._show_message = (
            address,
            function,
            worker_test,
            show_message,
        )
        try:
            self._client = Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"No Dask scheduler answers at {address} ({type(error).__name__}); "
                "start one with `dask scheduler` and give --scheduler its address."
            ) from None
        self._lock = Lock()  # protects all attributes below
        # The keys of all these dictionaries are the addresses of workers.
        self._present: dict[str, int] = {}  # number of threads, for all workers of the cluster
        self._slots: dict[str, int] = {}  # number of threads, for workers that passed the test
        self._worker_tests: dict[
            str, tuple[Any, float]
        ] = {}  # future and deadline of each running test
        self._excluded: dict[str, str] = {}  # reason why the worker gets no submissions
        self._busy: Counter[str] = Counter()  # number of calls that run or wait on the worker
        self._next_update = 0.0
        self._last_notice = monotonic() - _NOTICE_INTERVAL_SECONDS + _FIRST_NOTICE_SECONDS

    def __enter__(self) -> "ClusterClient":
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(Exception):  # the scheduler may be gone
            self._client.close(timeout=5)

    def capacity(self) -> int:
        """Return the number of simultaneous calls that keeps all workers of the cluster busy."""
        return _MAX_CALLS_PER_SLOT * max(1, sum(self._slots.values()))

    def grade(self, *arguments: Any) -> GradedSubmission:
        """Grade a submission on the worker with the least load; on another worker if that fails.

        The arguments are passed to the function that was given to the constructor.

        Raises
        ------
        ClusterError
            If the scheduler is gone, or no worker can grade.
        WorkerDied
            If the worker process died, or several workers left the cluster during the call.
        Exception
            Any error that the function itself raised, also on other workers.
        """
        tries = 0
        while True:
            worker, tries = self._acquire_worker(), tries + 1
            try:
                graded_submission = GradedSubmission.from_fields(
                    json.loads(self._grade_on_worker(worker, *arguments)),
                )
                if not graded_submission.faults:
                    return graded_submission
                if not self._retest_worker_and_check_for_others(worker) or tries == _MAX_TRIES:
                    return graded_submission
            except WorkerLost:
                if tries == _MAX_TRIES:
                    raise
            except (ClusterError, WorkerDied):
                raise
            except Exception:
                if not self._retest_worker_and_check_for_others(worker) or tries == _MAX_TRIES:
                    raise
            finally:
                with self._lock:
                    self._busy[worker] -= 1

    def _acquire_worker(self) -> str:
        """Wait until a worker can take a call, and reserve it; the least busy worker is chosen."""
        while True:
            with self._lock:
                self._update_workers_and_worker_tests()
                load = {worker: self._busy[worker] / slots for worker, slots in self._slots.items()}
                worker = min(load, key=load.__getitem__, default="")
                if worker and load[worker] < _MAX_CALLS_PER_SLOT:
                    self._busy[worker] += 1
                    return worker
            sleep(POLL_SECONDS)

    def _grade_on_worker(self, worker: str, *arguments: Any) -> str:
        """Call the grading function on the given worker, and wait for the JSON text it returns."""
        future, is_done = self._submit_to_worker(worker, self._function, *arguments), Event()
        future.add_done_callback(lambda _: is_done.set())
        while not is_done.wait(POLL_SECONDS):
            with self._lock:
                self._update_workers_and_worker_tests()
                if worker not in self._present:
                    future.cancel()
                    raise WorkerLost("was given to a worker that went away")
        if future.status == "error":
            error = future.exception()
            raise error if isinstance(error, Exception) else WorkerLost(str(error))
        try:
            return str(future.result(_FETCH_SECONDS))
        except Exception as error:  # noqa: BLE001 - the result was lost with its worker
            reason = f"was given to a worker that went away ({type(error).__name__})"
            raise WorkerLost(reason) from None

    def _submit_to_worker(self, worker: str, function: Callable, *arguments: Any) -> Any:
        try:
            return self._client.submit(
                function,
                *arguments,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
        except Exception:  # noqa: BLE001 - a client without its scheduler may raise anything
            raise self._scheduler_lost_error() from None

    def _scheduler_lost_error(self) -> ClusterError:
        return ClusterError(
            f"The Dask scheduler at {self._address} has gone away. What is marked is kept; "
            "start it again, "
            "and the same command goes on from there."
        )

    def _retest_worker_and_check_for_others(self, worker: str) -> bool:
        """Test a worker again that failed to grade; return True if there are other workers."""
        with self._lock:
            has_others = bool({*self._slots, *self._worker_tests} - {worker})
            if self._slots.pop(worker, None):
                self._start_worker_test(worker)
            return has_others

    def _update_workers_and_worker_tests(self) -> None:
        """Update the lists of workers and of running tests, at most every half second.

        Raises
        ------
        ClusterError
            If the scheduler is gone, or no worker can grade.
        """
        if monotonic() < self._next_update:
            return
        self._next_update = monotonic() + POLL_SECONDS
        if self._client.status != "running":
            raise self._scheduler_lost_error()
        try:
            self._present = self._client.nthreads()
        except Exception:  # noqa: BLE001
            raise self._scheduler_lost_error() from None
        for worker in self._present:
            if worker not in {*self._slots, *self._worker_tests, *self._excluded}:
                self._start_worker_test(worker)
        self._handle_ended_worker_tests()
        for worker in self._slots.keys() - self._present.keys():
            del self._slots[worker]
        if not self._slots and not self._worker_tests:
            self._handle_no_usable_workers()

    def _handle_ended_worker_tests(self) -> None:
        """Handle each worker's test that has ended or takes too long, or whose worker has left."""
        for worker, (worker_test, deadline) in list(self._worker_tests.items()):
            if worker not in self._present:
                del self._worker_tests[worker]
            elif worker_test.done() and monotonic() <= deadline:
                self._admit_or_exclude_worker(worker, worker_test, self._present[worker])
            elif monotonic() > deadline:
                worker_test.cancel()
                reason = (
                    f"it did not mark a lab as it was handed out in {WORKER_TEST_SECONDS:g} seconds"
                )
                self._exclude_worker(worker, reason)

    def _handle_no_usable_workers(self) -> None:
        """Raise an error if every worker is excluded; tell the user if the cluster has none."""
        if self._present:
            reasons = join_words(dict.fromkeys(self._excluded.values()))
            raise ClusterError(
                f"None of the {format_count(len(self._present), 'worker')} of the Dask cluster at "
                f"{self._address} can mark this class: {reasons}. Mend one, "
                "and the same command goes on."
            )
        if monotonic() > self._last_notice + _NOTICE_INTERVAL_SECONDS:
            self._last_notice = monotonic()
            self._show_message(
                f"The Dask scheduler at {self._address} has no workers; waiting for some. Start "
                f"them with `dask worker {self._address} --nthreads 1`."
            )

    def _start_worker_test(self, worker: str) -> None:
        self._worker_tests[worker] = (
            self._submit_to_worker(worker, *self._worker_test),
            monotonic() + WORKER_TEST_SECONDS,
        )

    def _admit_or_exclude_worker(self, worker: str, worker_test: Any, threads: int) -> None:
        """Let the Dask worker grade submissions if its test succeeded; exclude it otherwise."""
        try:
            get_outcome = (
                worker_test.result if worker_test.status == "finished" else worker_test.exception
            )
            reason = str(get_outcome(_FETCH_SECONDS))
        except TimeoutError:  # the worker has died, as a later update will show
            return
        except Exception as error:  # noqa: BLE001 - such as an old autograder without the function
            reason = f"{type(error).__name__}: {error}"
        if reason:
            self._exclude_worker(worker, reason)
        else:
            del self._worker_tests[worker]
            self._slots[worker] = max(1, threads)

    def _exclude_worker(self, worker: str, reason: str) -> None:
        del self._worker_tests[worker]
        first_line = str(reason).split("\n")[0]
        self._excluded[worker] = make_printable(first_line)[:_MAX_REASON_CHARACTERS].rstrip(".")
        self._show_message(f"The worker {worker} is left out: {self._excluded[worker]}.")
