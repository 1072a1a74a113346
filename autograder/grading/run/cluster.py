"""The workers of a Dask cluster, each tried before it gets a hand-in, and left out where it would not do.

A worker is told apart by what it says of itself (its engine, its Python, its course) and by marking a lab as
it was handed out. One that fails later is tried again, and what it failed on goes to another.
"""

import json
import logging
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

import nbformat

from autograder.authoring.lab import lab_at, read_lab
from autograder.course import read as read_course
from autograder.errors import counted, listed, printable
from autograder.grading.marking import Marked
from autograder.grading.marking.mark import release_for_marking
from autograder.grading.register.classroom import GradingError
from autograder.grading.register.evidence import lab_fingerprint

LOOK = 0.5  # seconds between two looks at who is there
TRIAL = 300.0  # seconds that a worker has to show that it can mark
_FETCH = 5  # seconds for what is done to come from its worker, which may have died since
_PATIENCE = 30.0  # seconds between two words about waiting


class ClusterError(GradingError):
    """The cluster cannot be reached, or cannot mark."""


class WorkerLost(Exception):
    """The worker went away, or failed where another may not."""


def as_here(course: str, labs: Sequence[str]) -> dict[str, str]:
    """What must be the same on every machine that marks for one class."""
    facts = {
        "autograder": version("attention-labs"),
        "Python": f"{sys.version_info[0]}.{sys.version_info[1]}",
    }
    read = read_course(Path(course))
    return facts | {f"the lab {name}": lab_fingerprint(read_lab(read, name)) for name in labs}


def try_out(course: str, labs: Sequence[str], options: Any, expected: str) -> str:
    """On a worker: why it must not mark this class; "" if it may.

    Parameters
    ----------
    expected : str
        `as_here` of the run's own machine, as JSON.
    """
    from autograder.grading.run.pool import mark_limited

    try:
        here, there = as_here(course, labs), json.loads(expected)
        for name, value in there.items():
            if here.get(name) != value:
                said = f" ({here.get(name)}; {value} is due)" if not name.startswith("the lab") else ""
                return f"{name} is not the same there{said}"
        release = nbformat.writes(release_for_marking(lab_at(course, labs[0])))
        marked = Marked.from_facts(
            json.loads(mark_limited(course, labs[0], release.encode(), "", options, alone=True))
        )
        return " ".join(marked.faults[:1])
    except Exception as error:  # noqa: BLE001 - whatever it is, this worker is not to mark
        return f"{type(error).__name__}: {error}"


class Cluster:
    """Where hand-ins are marked, if not here; a context manager.

    Parameters
    ----------
    address : str
        The scheduler's.
    function : callable
        What marks a hand-in; it gives text.
    trial : tuple
        The arguments of `try_out`.
    say : callable
        Given a sentence for whoever waits.

    Raises
    ------
    ClusterError
    """

    def __init__(
        self, address: str, function: Callable[..., str], trial: tuple[Any, ...], say: Callable[[str], None]
    ):
        from distributed import Client

        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it logs what is said here in a sentence
        self._address, self._function, self._trial, self._say = address, function, trial, say
        try:
            self._client = Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"No Dask scheduler answers at {address} ({type(error).__name__}); "
                "start one with `dask scheduler` and give --scheduler its address."
            ) from None
        self._slots: dict[str, int] = {}  # of the workers that may mark
        self._trials: dict[str, tuple[Any, float]] = {}
        self._out: dict[str, str] = {}  # why a worker gets nothing
        self._at: dict[Future, tuple[str, Any]] = {}
        self._told = monotonic() - _PATIENCE + 2  # the first word after two seconds

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *error: object) -> None:
        for _, theirs in self._at.values():
            with suppress(Exception):
                theirs.cancel()
        with suppress(Exception):  # a scheduler that is gone cannot be told good-bye
            self._client.close(timeout=5)

    def room(self) -> int:
        """How many more calls are wanted now."""
        return 2 * sum(self._slots.values()) - len(self._at)

    def submit(self, *what: Any) -> "Future[str]":
        """Have the function called on the worker that has least to do."""
        busy = [worker for worker, _ in self._at.values()]
        worker = min(self._slots, key=lambda one: busy.count(one) / self._slots[one])
        ours: Future[str] = Future()
        theirs = self._submit(worker, self._function, *what)
        self._at[ours] = worker, theirs
        theirs.add_done_callback(lambda done: _hand_over(done, ours))
        return ours

    def _submit(self, worker: str, function: Callable, *what: Any) -> Any:
        try:
            return self._client.submit(
                function, *what, workers=[worker], allow_other_workers=False, pure=False, retries=0
            )
        except Exception:  # noqa: BLE001 - whatever a client says that has lost its scheduler
            raise self._gone() from None

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"The Dask scheduler at {self._address} has gone away. What is marked is kept; start it again, and "
            "the same command goes on from there."
        )

    def done(self, ours: Future) -> None:
        """Forget a call that is done."""
        self._at.pop(ours, None)

    def failed(self, ours: Future) -> bool:
        """A hand-in could not be marked: its worker is tried anew; whether another may have the hand-in."""
        worker = self._at[ours][0]
        others = bool({*self._slots, *self._trials} - {worker})
        if self._slots.pop(worker, None):
            self._try(worker)
        return others

    def look(self) -> None:
        """See who has come and gone, and what came of the trials."""
        if self._client.status != "running":
            raise self._gone()
        try:
            present = self._client.nthreads()
        except Exception:  # noqa: BLE001
            raise self._gone() from None
        for worker in present.keys() - self._slots.keys() - self._trials.keys() - self._out.keys():
            self._try(worker)
        for worker, (trial, until) in list(self._trials.items()):
            if worker not in present:
                del self._trials[worker]
            elif trial.done() and monotonic() <= until:
                self._tried(worker, trial, present[worker])
            elif monotonic() > until:
                trial.cancel()
                self._leave_out(worker, f"it did not mark a lab as it was handed out in {TRIAL:g} seconds")
        for worker in self._slots.keys() - present.keys():
            del self._slots[worker]
        for ours, (at, theirs) in list(self._at.items()):
            if at not in present and not ours.done():
                theirs.cancel()
                _settle(ours, WorkerLost(f"the worker {at} went away"))
        if self._slots or self._trials:
            return
        if present:
            first = listed(dict.fromkeys(self._out.values()))
            raise ClusterError(
                f"None of the {counted(len(present), 'worker')} of the Dask cluster at {self._address} can "
                f"mark this class: {first}. Mend one, and the same command goes on."
            )
        if monotonic() > self._told + _PATIENCE:
            self._told = monotonic()
            self._say(
                f"The Dask scheduler at {self._address} has no workers; waiting for some. Start them with "
                f"`dask worker {self._address} --nthreads 1`."
            )

    def _try(self, worker: str) -> None:
        self._trials[worker] = self._submit(worker, try_out, *self._trial), monotonic() + TRIAL

    def _tried(self, worker: str, trial: Any, threads: int) -> None:
        try:
            why = trial.result(_FETCH) if trial.status == "finished" else f"{trial.exception(_FETCH)}"
        except TimeoutError:  # it went away with its worker, which is seen at one of the next looks
            return
        except Exception as error:  # noqa: BLE001 - its engine has no such function, or no words for it
            why = f"{type(error).__name__}: {error}"
        if why:
            self._leave_out(worker, why)
        else:
            del self._trials[worker]
            self._slots[worker] = max(1, threads)

    def _leave_out(self, worker: str, why: str) -> None:
        del self._trials[worker]
        self._out[worker] = printable(str(why).split("\n")[0])[:300].rstrip(".")
        self._say(f"The worker {worker} is left out: {self._out[worker]}.")


def _hand_over(theirs: Any, ours: "Future[str]") -> None:
    """What a call on the cluster came to, in the future of the run's own."""
    if theirs.status == "finished":
        try:
            result = theirs.result(_FETCH)
        except Exception as error:  # noqa: BLE001 - it may be gone again
            _settle(ours, WorkerLost(str(error)))
        else:
            with suppress(Exception):
                ours.set_result(result)
    elif theirs.status == "error":
        raised = theirs.exception()
        _settle(ours, raised if isinstance(raised, Exception) else WorkerLost(str(raised)))
    else:
        _settle(ours, WorkerLost("the cluster has given the call up"))


def _settle(ours: Future, error: Exception) -> None:
    with suppress(Exception):  # it may have been settled from the other side meanwhile
        ours.set_exception(error)
