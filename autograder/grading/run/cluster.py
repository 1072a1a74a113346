"""The workers of a Dask cluster, each tried before it gets a hand-in, and left out where it would not do.

A worker is told apart by what it says of itself (its engine, its Python, its course) and by marking a lab as
it was handed out. One that fails later is tried again, and what it failed on goes to another.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock
from time import monotonic, sleep
from typing import Any

from autograder.errors import counted, listed, printable
from autograder.grading.marking import Marked
from autograder.grading.register.classroom import GradingError
from autograder.grading.run.limited import Died

LOOK = 0.5  # seconds between two looks at who is there
TRIAL = 300.0  # seconds that a worker has to show that it can mark
_FETCH = 5  # seconds for what is done to come from its worker, which may have died since
_PATIENCE = 30.0  # seconds between two words about waiting
_TRIES = 3  # workers that a hand-in is given to


class ClusterError(GradingError):
    """The cluster cannot be reached, or cannot mark."""


class WorkerLost(Died):
    """The worker went away with what it was given."""


class Cluster:
    """Where hand-ins are marked, if not here; a context manager, which many threads may use.

    Parameters
    ----------
    address : str
        The scheduler's.
    function : callable
        What marks a hand-in; it gives what was found as JSON.
    trial : tuple
        A function that says why a worker must not mark ("" if it may), and its arguments.
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
        self._lock = Lock()  # for all that follows
        self._present: dict[str, int] = {}
        self._slots: dict[str, int] = {}  # of the workers that may mark
        self._trials: dict[str, tuple[Any, float]] = {}
        self._out: dict[str, str] = {}  # why a worker gets nothing
        self._busy: Counter[str] = Counter()
        self._next = 0.0
        self._told = monotonic() - _PATIENCE + 2  # the first word after two seconds

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(Exception):  # a scheduler that is gone cannot be told good-bye
            self._client.close(timeout=5)

    def room(self) -> int:
        """How many calls keep all workers busy."""
        return 2 * max(1, sum(self._slots.values()))

    def mark(self, *what: Any) -> Marked:
        """What the function finds, on the worker that has least to do; where one fails, on another.

        Raises
        ------
        ClusterError, Died, or what the function raises
        """
        tries = 0
        while True:
            worker, tries = self._free_worker(), tries + 1
            try:
                marked = Marked.from_facts(json.loads(self._call(worker, *what)))
                if not marked.faults or not self._distrust(worker) or tries == _TRIES:
                    return marked
            except WorkerLost:
                if tries == _TRIES:
                    raise
            except (ClusterError, Died):
                raise
            except Exception:
                if not self._distrust(worker) or tries == _TRIES:
                    raise
            finally:
                with self._lock:
                    self._busy[worker] -= 1

    def _free_worker(self) -> str:
        """The worker that has least to do, as soon as one has room."""
        while True:
            with self._lock:
                self._look()
                load = {worker: self._busy[worker] / slots for worker, slots in self._slots.items()}
                worker = min(load, key=load.__getitem__, default="")
                if worker and load[worker] < 2:  # the next one waits there already
                    self._busy[worker] += 1
                    return worker
            sleep(LOOK)

    def _call(self, worker: str, *what: Any) -> str:
        theirs, done = self._submit(worker, self._function, *what), Event()
        theirs.add_done_callback(lambda _: done.set())
        while not done.wait(LOOK):
            with self._lock:
                self._look()
                if worker not in self._present:
                    theirs.cancel()
                    raise WorkerLost("was given to a worker that went away")
        if theirs.status == "error":
            raised = theirs.exception()
            raise raised if isinstance(raised, Exception) else WorkerLost(str(raised))
        try:
            return str(theirs.result(_FETCH))
        except Exception as error:  # noqa: BLE001 - it may be gone again, or was given up
            raise WorkerLost(f"was given to a worker that went away ({type(error).__name__})") from None

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

    def _distrust(self, worker: str) -> bool:
        """A hand-in could not be marked: its worker is tried anew; whether another may have the hand-in."""
        with self._lock:
            others = bool({*self._slots, *self._trials} - {worker})
            if self._slots.pop(worker, None):
                self._try(worker)
            return others

    def _look(self) -> None:
        """See now and then who has come and gone, and what came of the trials."""
        if monotonic() < self._next:
            return
        self._next = monotonic() + LOOK
        if self._client.status != "running":
            raise self._gone()
        try:
            present = self._present = self._client.nthreads()
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
        self._trials[worker] = self._submit(worker, *self._trial), monotonic() + TRIAL

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
