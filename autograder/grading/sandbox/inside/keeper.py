"""The keeper: the process between the grader and the hand-ins, one after another.

It has a hand-in started, drives it cell by cell, and checks what comes back; measures CPU time and memory;
has it killed. No student's code runs in it, and none in a copy of it: the hand-ins are copies of the warm process, which
knows nothing of what the keeper has read.
"""

import os
import select
import signal
import socket
import traceback
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, NoReturn

import numpy as np

from autograder.grading.sandbox.inside import confine, wire
from autograder.grading.sandbox.inside.drive import GRACE, UNCOUNTED, Drive, Guest, Stopped, is_whole
from autograder.grading.sandbox.inside.limits import Limits
from autograder.judging import frames

LOOK = 0.05  # seconds between two looks at a hand-in
LOOK_CLOSELY = 0.003  # the same, while it may hold little
DYING = 0.2  # seconds that a hand-in which has closed its pipe may take to end
MAX_EVENT = 1 << 16  # bytes of an event's JSON while an answer's memory is measured


class Growth:
    """How much more the processes below one hold than it held when this was made, at most: seen from outside.

    The kernel remembers how much a process has held, so what comes and goes between two looks is
    seen too; only pages that were there and are written over, or are shared, have to be met. A process that the answer
    begins could be gone before it is met, so it may begin none, and no thread that nobody meets: `hidden` says.

    Parameters
    ----------
    processes : confine.Processes
    root : int
        The hand-in; what it comes to hold itself counts as well.
    places : sequence of int
        Descriptors of its scratch places: all that lies there counts, whenever it was written.
    """

    def __init__(self, processes: confine.Processes, root: int, places: Sequence[int] = ()) -> None:
        self._processes, self._root, self._places = processes, root, places
        until = monotonic() + GRACE
        while self._copies() and monotonic() < until:
            self.end()  # what cells have left running
            select.poll().poll(2)
        processes.forget_most(root)
        self._most, self._anonymous = processes.most(root), processes.held(root)
        self._met = set(processes.threads(root))
        # Where the hand-in has no places of its own, others begin some, too.
        self._begun = processes.last_begun() - len(self._met) if places else None
        self._seen, self.most = False, self._anonymous  # until a copy is seen that answers: nobody else may

    def look(self) -> None:
        """See how much it is by now."""
        copies = self._copies()
        first = min(copies, default=0)
        if copies and not self._seen:
            self._seen, self.most = True, 0
        for pid in (self._root, *([first] if first else [])):
            self._met.update(self._processes.threads(pid))
        # The first began as a copy of the hand-in. What it forks in turn counts with all that it holds.
        held = sum(max(0, most - (self._anonymous if pid == first else 0)) for pid, most in copies.items())
        held += max(0, self._processes.most(self._root) - self._most)
        written = sum(map(self._processes.written, copies))
        of_root = self._processes.written(self._root)
        if copies and self._processes.most(first):  # while there is a copy, what both have is neither's alone
            written = max(written, of_root)  # and what one has written, the other has kept as it was
        self.most = max(self.most, max(held, written) + sum(map(_filled, self._places)))

    def hidden(self) -> bool:
        """Whether more was begun than the copy that answers, and threads that were met."""
        return self._begun is not None and self._processes.last_begun() - self._begun > len(self._met)

    def _copies(self) -> dict[int, int]:
        """What the hand-in has forked and lives: how much each has held at the most."""
        below = self._processes.below(self._root)
        return {pid: most for pid in below if (most := self._processes.most(pid)) > 0}

    def end(self) -> None:
        """Kill what the hand-in has forked: it has answered, and only waits to be looked at."""
        _end_below(self._processes, self._root)


def keep(control: socket.socket, warm: socket.socket) -> NoReturn:
    """Do one run after another, each over the connection that comes for it; end with the grader, or on failure.

    Parameters
    ----------
    control : socket
        To the grader.
    warm : socket
        To the warm process.
    """
    while True:
        message, fds, *_ = socket.recv_fds(control, 1, 1)
        if not message:
            os._exit(0)
        with socket.socket(fileno=fds[0]) as connection:
            try:
                Keeper(connection, warm).run()
            except wire.Closed:
                pass  # the grader has given the run up, or the hand-in did not start: then all starts again
            except BaseException:  # noqa: BLE001
                traceback.print_exc()  # to a file of the grader's: no student's code runs here
                os._exit(1)


class Keeper(Guest):
    """Runs one hand-in and reports on it over a connection.

    Parameters
    ----------
    connection : socket
        To the grader, for this run alone.
    warm : socket
    """

    def __init__(self, connection: socket.socket, warm: socket.socket) -> None:
        self._grader = wire.Channel(connection.fileno(), connection.fileno())
        self._warm = warm
        self._exit: int | None = None  # the hand-in's exit code, once that is known
        self._over = False  # it has been ended
        self._places: list[int] = []  # its scratch places
        self._growth: Growth | None = None  # while an answer's memory is measured
        self._next_look, self._cpu_seen = 0.0, 0.0  # seconds: the clock's, and CPU time at the last look
        self._used: dict[int, confine.Use] = {}

    def run(self) -> None:
        """From the first frame to the last; the hand-in and all it started are dead afterwards."""
        job = self._grader.receive()[0]
        super().__init__(Limits(**job["limits"]), job["seconds"])
        self._processes = confine.all_processes()
        commands, orders = os.pipe()
        events, reports = os.pipe()
        for pipe in (orders, reports):
            confine.enlarge(pipe)
        self._starter = wire.Channel(self._warm.fileno(), self._warm.fileno())
        self._hand_in = wire.Channel(events, orders, self._watch, LOOK)
        end: dict[str, Any] = {}
        try:
            try:
                socket.send_fds(self._warm, [b"+"], [commands, reports])
            finally:
                os.close(commands)
                os.close(reports)
            self._starter.send({"limits": job["limits"]})
            started = self._starter.receive()[0]
            self._child, self._base = started["pid"], started["base"]
            self._spare = started["resident"] + confine.SPARE["AS"]
            header, _ = self._hand_in.receive(1000, 0)  # "ready": what fails before is the grader's fault
            if header != {"op": "ready"}:
                raise RuntimeError("the hand-in's process did not start")
            self._places = self._processes.scratch(self._child) if self._processes else []
            plan, arrays = self._grader.receive()
            for end, values in Drive(self).cells(plan["cells"], arrays):
                if end["op"] == "cell":
                    self._grader.send(end, values, more=True)  # nobody acts on it before the end
        finally:
            with suppress(wire.Closed):
                self._ask_starter("end")
            for descriptor in (orders, events, *self._places):
                os.close(descriptor)
        self._grader.send(end)

    # As a guest

    def _cpu(self) -> float:
        return self._cpu_seen

    def look(self) -> None:
        self._used = self._processes.under(self._child) if self._processes else {}
        # What has ended, with nobody to wait for it, is in no sum any more: that is no reason to count down.
        self._cpu_seen = max(self._cpu_seen, sum(use.cpu for use in self._used.values()))

    def interrupt(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGINT)

    def end_answer(self) -> None:
        if self._processes:
            _end_below(self._processes, self._child)

    def order(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        self._hand_in.send(header, arrays)

    def event(self) -> frames.Frame:
        # While memory is measured, nothing is read that would take the time of many looks.
        most = MAX_EVENT if self._growth else 4 * self.limits.output_bytes + (1 << 20)
        return self._hand_in.receive(most, 8 * frames.MAX_VALUES)

    def measure(self, memory: int | None) -> None:
        if memory is not None and self._processes is not None:
            self._growth, self._memory = Growth(self._processes, self._child, self._places), memory
            self._hand_in.every = LOOK_CLOSELY

    def answered(self, written: bytearray) -> None:
        self.part.got_on()
        if self._growth:
            self._growth.look()
            if is_whole(written):
                self._growth.end()

    def measured(self) -> int:
        if self._growth is None:
            return 0
        self._growth.look()
        most = self._growth.most
        if self._growth.hidden():
            most = max(most, self._memory + UNCOUNTED + 1)
        self._growth, self._hand_in.every = None, LOOK
        return most if most > self._memory + UNCOUNTED else 0

    def how_it_died(self) -> str:
        code = self._ask_starter("how", DYING)
        return "It closed the grader's own pipe." if code is None else wire.death(code)

    # Watching

    def _watch(self) -> None:
        """Called every few moments while the hand-in has the word."""
        now = monotonic()
        if self._growth:
            self._growth.look()
            if now < self._next_look:
                return
        self._next_look = now + LOOK
        self.check_time()
        if self._ask_starter("how") is not None:
            self._ask_starter("end")  # else what it left behind would hold its pipe open
        if self._processes and self._too_large(self._processes):
            raise Stopped("crash", f"It used more than {self.limits.memory >> 20} MB of memory.")

    def _too_large(self, processes: confine.Processes) -> bool:
        used, most = self._used, self.limits.memory + self._spare
        # Shared pages can be let go of and still exist, so address space is held against it as well.
        if sum(max(0, use.virtual - self._base) for use in used.values()) > 4 * most:
            return True
        if sum(use.resident for use in used.values()) <= most:
            return False
        return processes.memory(used) > most

    def _ask_starter(self, what: str, seconds: float = 0.0) -> int | None:
        """The hand-in's exit code, if it has ended by then, or must `end` now with all that it started."""
        if not self._over:
            self._starter.send({"op": what, "seconds": seconds})
            self._exit = self._starter.receive()[0]["exit"]
            self._over = what == "end"
        return self._exit


def _filled(place: int) -> int:
    """Bytes of memory in the files of a scratch place."""
    system = os.fstatvfs(place)
    return (system.f_blocks - system.f_bfree) * system.f_frsize


def _end_below(processes: confine.Processes, root: int) -> None:
    """Kill what a process has forked, and what that has."""
    for pid in processes.below(root):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
