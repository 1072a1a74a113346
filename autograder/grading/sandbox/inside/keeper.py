"""The keeper: the process between the grader and the hand-ins, one after another.

It has a hand-in started, drives it cell by cell, and checks what comes back; measures CPU time and memory;
has it killed. No student's code runs in it, and none in a copy of it: the hand-ins are copies of the warm process, which
knows nothing of what the keeper has read.
"""

import os
import signal
import socket
import traceback
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, NamedTuple, NoReturn

import numpy as np
import psutil

from autograder.grading.sandbox.inside import confine, growth, wire
from autograder.grading.sandbox.inside.drive import UNCOUNTED, Guest, Stopped, is_whole
from autograder.grading.sandbox.inside.limits import Limits
from autograder.judging import frames
from autograder.results import Outcome

LOOK = 0.05  # seconds between two looks at a hand-in
LOOK_CLOSELY = 0.003  # the same, while it may hold little
DYING = 0.2  # seconds that a hand-in which has closed its pipe may take to end
MAX_EVENT = 1 << 16  # bytes of an event's JSON while an answer's memory is measured


class Use(NamedTuple):
    """What a process uses: bytes of address space and of memory, seconds of CPU time (its ended children's too)."""

    virtual: int
    resident: int
    cpu: float


def uses(root: int) -> dict[psutil.Process, Use]:
    """What a process and all below it use; nothing is known where there is no /proc."""
    found: dict[psutil.Process, Use] = {}
    with suppress(psutil.Error):
        top = psutil.Process(root)
        for process in [top, *top.children(recursive=True)] if psutil.LINUX else ():
            with suppress(psutil.Error), process.oneshot():
                memory, times = process.memory_info(), process.cpu_times()
                found[process] = Use(memory.vms, memory.rss, sum(times[:4]))
    return found


def _pss(process: psutil.Process, resident: int) -> int:
    """Bytes of memory in use, its share of pages that several share; of one that hides its pages, all of them."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0
    except psutil.Error:
        return resident


def keep(control: socket.socket, warm: socket.socket, pid: int) -> NoReturn:
    """Do one run after another, each over the connection that comes for it; end with the grader, or on failure.

    Parameters
    ----------
    control : socket
        To the grader.
    warm : socket
        To the warm process.
    pid : int
        Its own.
    """
    while True:
        message, fds, *_ = socket.recv_fds(control, 1, 1)
        if not message:
            os._exit(0)
        with socket.socket(fileno=fds[0]) as connection:
            try:
                Keeper(connection, warm, psutil.Process(pid)).run()
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
    process : psutil.Process
        The warm one.
    """

    def __init__(self, connection: socket.socket, warm: socket.socket, process: psutil.Process) -> None:
        self._grader = wire.Channel(connection.fileno(), connection.fileno())
        self._warm, self._parent = warm, process
        self._exit: int | None = None  # the hand-in's exit code, once that is known
        self._over = False  # it has been ended
        self._places: list[int] = []  # its scratch places
        self._growth: growth.Growth | None = None  # while an answer's memory is measured
        self._next_look, self._cpu_seen = 0.0, 0.0  # seconds: the clock's, and CPU time at the last look
        self._used: dict[psutil.Process, Use] = {}

    def run(self) -> None:
        """From the first frame to the last; the hand-in and all it started are dead afterwards."""
        job = self._grader.receive()[0]
        super().__init__(Limits(**job["limits"]), job["seconds"])
        commands, orders = os.pipe()
        events, reports = os.pipe()
        for pipe in (orders, reports):
            confine.enlarge(pipe)
        self._starter = wire.Channel(self._warm.fileno(), self._warm.fileno())
        self._hand_in = wire.Channel(events, orders, self._watch, LOOK)
        try:
            try:
                socket.send_fds(self._warm, [b"+"], [commands, reports])
            finally:
                os.close(commands)
                os.close(reports)
            self._starter.send({"limits": job["limits"]})
            self._starter.receive()  # "started"
            (self._process,) = self._parent.children()
            self._child = self._process.pid
            self._shared = self._parent.memory_info()
            header, _ = self._hand_in.receive(1000, 0)  # "ready": what fails before is the grader's fault
            if header != {"op": "ready"}:
                raise RuntimeError("the hand-in's process did not start")
            self._places = growth.scratch(self._child) if psutil.LINUX else []
            plan, arrays = self._grader.receive()
            for report, values in self.cells(plan["cells"], arrays):
                self._grader.send(report.to_fields(), values, more=True)  # nobody acts on it before the end
        finally:
            with suppress(wire.Closed):
                self._end()
            for descriptor in (orders, events, *self._places):
                os.close(descriptor)
        self._grader.send({"op": "end"})

    # As a guest

    def _cpu(self) -> float:
        return self._cpu_seen

    def look(self) -> None:
        self._used = uses(self._child)
        # What has ended, with nobody to wait for it, is in no sum any more: that is no reason to count down.
        self._cpu_seen = max(self._cpu_seen, sum(use.cpu for use in self._used.values()))

    def interrupt(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGINT)

    def end_answer(self) -> None:
        growth.end_below(self._child)

    def order(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        self._hand_in.send(header, arrays)

    def event(self) -> frames.Frame:
        # While memory is measured, nothing is read that would take the time of many looks.
        most = MAX_EVENT if self._growth else 4 * self.limits.output_bytes + (1 << 20)
        return self._hand_in.receive(most, 8 * frames.MAX_VALUES)

    def measure(self, memory: int | None) -> None:
        if memory is not None and psutil.LINUX:
            self._growth, self._memory = growth.Growth(self._child, self._places), memory
            self._hand_in.every = LOOK_CLOSELY

    def answered(self, written: bytearray) -> None:
        self.part.got_on()
        if self._growth:
            self._growth.look()
            if is_whole(written):
                growth.end_below(self._child)  # it has answered, and only waits to be looked at

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
        code = self._end(DYING)
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
        if self._has_ended():
            self._end()  # else what it left behind would hold its pipe open
        if self._too_large():
            raise Stopped(Outcome.CRASH, f"It used more than {self.limits.memory >> 20} MB of memory.")

    def _too_large(self) -> bool:
        used, most = self._used, self.limits.memory + self._shared.rss + confine.SPARE["AS"]
        # Shared pages can be let go of and still exist, so address space is held against it as well.
        if sum(max(0, use.virtual - self._shared.vms) for use in used.values()) > 4 * most:
            return True
        if sum(use.resident for use in used.values()) <= most:
            return False
        return sum(_pss(process, use.resident) for process, use in used.items()) > most

    def _has_ended(self) -> bool:
        try:
            return self._process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    def _end(self, seconds: float = 0.0) -> int | None:
        """End the hand-in with all that it started; its exit code, if it ended by itself within so many seconds."""
        if not self._over:
            self._over = True
            self._starter.send({"seconds": seconds})
            self._exit = self._starter.receive()[0]["exit"]
        return self._exit
