"""The keeper: the process between the grader and the hand-ins, one after another.

It has a hand-in started, hands it one cell at a time, and checks what comes back; measures CPU time and memory;
has it killed. No student's code runs in it, and none in a copy of it: the hand-ins are copies of the warm
process, which knows nothing of what the keeper has read.
"""

import os
import select
import signal
import socket
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any, NoReturn

import numpy as np

from autograder.grading.sandbox.inside import confine, wire
from autograder.grading.sandbox.inside.limits import Limits
from autograder.grading.sandbox.inside.outputs import Budget, Outputs
from autograder.judging import frames
from autograder.stopwatch import OVERTIME, PATIENCE, Stopwatch, too_long

INTERRUPTS = 3  # how often a cell that runs for too long is asked to stop
GRACE = 0.5  # seconds of CPU time between those, and for a hand-in to say that a question was stopped
# Seconds between two looks at a hand-in: always, and while it may hold little.
LOOK, LOOK_CLOSELY = 0.05, 0.003
DYING = 0.2  # seconds that a hand-in which has closed its pipe may take to end
UNCOUNTED = 8 << 20  # bytes that an answer writes on the way and that are none of its arrays, at most
MAX_ANSWERS = 64 << 20  # bytes, of one exercise
MAX_EVENT = 1 << 16  # bytes of an event's JSON while an answer's memory is measured


class Stopped(Exception):
    """The hand-in cannot go on: `status` and `reason` are the guilty cell's."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass
class Report:
    """What became of one cell, as the grader is told.

    `count` is an ordinary cell's number; `spent`, the seconds that are held against its limit.
    """

    status: str = "ok"
    reason: str = ""
    missing: bool = False
    forged: bool = False
    count: int | None = None
    spent: float = 0.0


@dataclass
class Group:
    """What came of the questions that one process was asked.

    `parts` is how many of the report's arrays, after those of the groups before, hold the bytes that it wrote,
    unread; `held`, the memory that was seen from outside, where that is more than was allowed.
    """

    parts: int
    exit: int | None
    held: int = 0


class Growth:
    """How much more the processes below one hold than it held when this was made, at most: seen from outside.

    The kernel remembers how much a process has held, so what comes and goes between two looks is
    seen too; only pages that were there and are written over, or are shared, have to be met.

    Parameters
    ----------
    processes : confine.Processes
    root : int
        The hand-in; what it comes to hold itself counts as well.
    """

    def __init__(self, processes: confine.Processes, root: int) -> None:
        self._processes, self._root = processes, root
        until = monotonic() + GRACE
        while self._copies() and monotonic() < until:
            self.end()  # what cells have left running
            select.poll().poll(2)
        processes.forget_most(root)
        self._most, self._anonymous = processes.most(root), processes.held(root)
        self._seen, self.most = False, self._anonymous  # until a copy is seen that answers: nobody else may

    def look(self) -> None:
        """See how much it is by now."""
        copies = self._copies()
        first = min(copies, default=0)
        if copies and not self._seen:
            self._seen, self.most = True, 0
        # The first began as a copy of the hand-in. What it forks in turn counts with all that it holds.
        held = sum(max(0, most - (self._anonymous if pid == first else 0)) for pid, most in copies.items())
        held += max(0, self._processes.most(self._root) - self._most)
        written = sum(map(self._processes.written, copies))
        of_root = self._processes.written(self._root)
        if copies and self._processes.most(first):  # while there is a copy, what both have is neither's alone
            written = max(written, of_root)  # and what one has written, the other has kept as it was
        self.most = max(self.most, held, written)

    def _copies(self) -> dict[int, int]:
        """What the hand-in has forked and lives: how much each has held at the most."""
        below = self._processes.below(self._root)
        return {pid: most for pid in below if (most := self._processes.most(pid)) > 0}

    def end(self) -> None:
        """Kill what the hand-in has forked: it has answered, and only waits to be looked at."""
        _end_below(self._processes, self._root)


def keep(control: socket.socket, warm: socket.socket, sandboxed: bool) -> NoReturn:
    """Do one run after another, each over the connection that comes for it; end with the grader, or on failure.

    Parameters
    ----------
    control : socket
        To the grader.
    warm : socket
        To the warm process.
    sandboxed : bool
    """
    while True:
        message, fds, *_ = socket.recv_fds(control, 1, 1)
        if not message:
            os._exit(0)
        with socket.socket(fileno=fds[0]) as connection:
            try:
                Keeper(connection, warm, sandboxed).run()
            except wire.Closed:
                pass  # the grader has given the run up, or the hand-in did not start: then all starts again
            except BaseException:  # noqa: BLE001
                traceback.print_exc()  # to a file of the grader's: no student's code runs here
                os._exit(1)


class Keeper:
    """Runs one hand-in and reports on it over a connection.

    Parameters
    ----------
    connection : socket
        To the grader, for this run alone.
    warm : socket
    sandboxed : bool
    """

    def __init__(self, connection: socket.socket, warm: socket.socket, sandboxed: bool) -> None:
        self._grader = wire.Channel(connection.fileno(), connection.fileno())
        self._warm, self._sandboxed = warm, sandboxed
        self._exit: int | None = None  # the hand-in's exit code, once that is known
        self._over = False  # it has been ended
        self._growth: Growth | None = None  # while an answer's memory is measured
        self._next_look, self._cpu = 0.0, 0.0  # seconds: the clock's, and CPU time at the last look

    def run(self) -> None:
        """From the first frame to the last; the hand-in and all it started are dead afterwards."""
        job = self._grader.receive()[0]
        self._limits, self._seconds = Limits(**job["limits"]), job["seconds"]
        self._processes = confine.all_processes()
        self._whole = Stopwatch(lambda: self._cpu)
        self._allow(self._seconds, 0)
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
            started = self._starter.receive()[0]
            self._child, self._base = started["pid"], started["base"]
            self._spare = started["resident"] + confine.SPARE["AS"]
            guilty = self._cells()
        finally:
            with suppress(wire.Closed):
                self._ask_starter("end")
            os.close(orders)
            os.close(events)
        self._grader.send({"op": "end", "guilty": guilty, "spent": self._whole.spent()})

    # Cells

    def _cells(self) -> int | None:
        """Hand out the cells in order; the index of one that the hand-in did not survive."""
        header, _ = self._hand_in.receive(1000, 0)  # "ready": what fails before is the grader's fault
        if header != {"op": "ready"}:
            raise RuntimeError("the hand-in's process did not start")
        job, given = self._grader.receive()
        budget = Budget(self._limits.output_bytes, self._limits.outputs)
        count = 0
        for index, cell in enumerate(job["cells"]):
            if cell is None:
                continue
            ordinary = cell["exercise"] is None
            count += ordinary
            if not self._cell(index, cell, given, count if ordinary else None, Outputs(budget)):
                return index
        return None

    def _cell(
        self, index: int, cell: dict[str, Any], given: list[np.ndarray], count: int | None, outputs: Outputs
    ) -> bool:
        """Run or ask one cell and tell the grader; whether the hand-in can go on."""
        began = monotonic()
        report = Report(count=count)
        asked: list[Group] = []
        arrays: list[np.ndarray] = []
        survived = False
        try:
            if count is not None:
                self._ask_to_run(cell["source"], count, report, outputs)
            else:
                self._ask_questions(cell, given[cell["first"] :], report, asked, arrays, outputs)
            survived = True
        except Stopped as stop:
            report.status, report.reason = stop.status, stop.reason
        except wire.Closed:
            report.status, report.reason = "crash", self._how_it_died()
        except wire.WireError:
            report.status, report.reason, report.forged = "crash", wire.FORGED, True
        if not survived and count is not None:
            outputs.stopped(report.reason)
        report.spent = self._part.spent()
        header = {
            "op": "cell",
            "index": index,
            **asdict(report),
            "seconds": monotonic() - began,
            "outputs": outputs.kept(),
            "asked": None if count is not None else [asdict(group) for group in asked],
        }
        self._grader.send(header, arrays, more=True)  # nobody acts on it before the end
        return survived

    def _ask_to_run(self, source: str, count: int, report: Report, outputs: Outputs) -> None:
        self._allow(self._limits.cell_seconds, INTERRUPTS)
        self._hand_in.send({"op": "run", "source": source, "count": count})
        while True:
            header, _ = self._event()
            if header["op"] == "done":
                break
            outputs.take(header, count)
        if self._asks < INTERRUPTS:
            report.status = "timeout"
            report.reason = self._too_long(ended=False)
            outputs.stopped(report.reason)
            return
        if header.get("status") not in ("ok", "error"):
            raise wire.WireError("no such status")
        report.status = header["status"]

    def _ask_questions(
        self,
        cell: dict[str, Any],
        given: Sequence[np.ndarray],
        report: Report,
        asked: list[Group],
        arrays: list[np.ndarray],
        outputs: Outputs,
    ) -> None:
        """Ask the groups of questions in order; what they are, and what is answered, is for others to read."""
        self._look()  # what came before is not the answer's
        allowed = self._limits.call_seconds
        self._allow(OVERTIME * allowed, 1, question=True)
        left = MAX_ANSWERS
        for group in cell["groups"]:
            message = {"op": "ask", "exercise": cell["exercise"], "call": cell["call"]}
            questions, given = given[: group["parts"]], given[group["parts"] :]
            memory = group["memory"] if self._processes else None
            if memory is not None and self._processes is not None:
                self._growth = Growth(self._processes, self._child)
                self._hand_in.every = LOOK_CLOSELY
            try:
                self._hand_in.send(message, questions)
                written, end = self._answers(left, outputs)
                most = self._growth.most if self._growth else 0
            finally:
                self._growth, self._hand_in.every = None, LOOK
            if end.get("missing") is True:
                report.missing = True
                return
            code = end.get("exit")
            held = most if memory is not None and most > memory + UNCOUNTED else 0
            parts = wire.in_parts(written)
            arrays += parts
            asked.append(Group(len(parts), code if _is_code(code) else None, held))
            left -= len(written)
            if not self._asks:  # it was ended, for its time
                report.status, report.reason = "timeout", self._too_long(ended=False)
                return
            ended_here = memory is not None and _is_whole(written)
            if code != 0 and not ended_here:
                return
        self._look()
        if self._part.seconds() > allowed:
            report.status, report.reason = "timeout", self._too_long(ended=True)

    def _answers(self, most: int, outputs: Outputs) -> tuple[bytearray, dict[str, Any]]:
        """What the process that is asked now writes, `most` bytes of it, and the hand-in's word on its end."""
        written = bytearray()
        while True:
            header, chunk = self._event()
            if header["op"] == "asked":
                break
            if header["op"] == "answers":
                self._part.got_on()
                for part in chunk:
                    written += part.tobytes()
                if len(written) > most:
                    raise Stopped("crash", wire.TOO_MUCH)
                if self._growth:
                    self._growth.look()
                    if _is_whole(written):
                        self._growth.end()
            else:
                outputs.take(header, None)
        if self._growth:
            self._growth.look()
        return written, header

    def _event(self) -> wire.Frame:
        # While memory is measured, nothing is read that would take the time of many looks.
        most = MAX_EVENT if self._growth else 4 * self._limits.output_bytes + (1 << 20)
        header, arrays = self._hand_in.receive(most, 8 * frames.MAX_VALUES)
        if not isinstance(header.get("op"), str):
            raise wire.WireError("no such event")
        return header, arrays

    # Watching

    def _allow(self, seconds: float, asks: int, question: bool = False) -> None:
        """Begin a part of the work: what it may spend, and how often it is asked to stop before it is made to."""
        self._part = self._since = Stopwatch(lambda: self._cpu)  # from its beginning; since it was last asked
        self._allowed, self._asks, self._question = seconds, asks, question

    def _look(self) -> dict[int, confine.Use]:
        """What the hand-in, and all that it has started, use now."""
        used = self._processes.under(self._child) if self._processes else {}
        # What has ended, with nobody to wait for it, is in no sum any more: that is no reason to count down.
        self._cpu = max(self._cpu, sum(use.cpu for use in used.values()))
        return used

    def _watch(self) -> None:
        """Called every few moments while the hand-in has the word."""
        now = monotonic()
        if self._growth:
            self._growth.look()
            if now < self._next_look:
                return
        self._next_look = now + LOOK
        used = self._look()
        if self._whole.spent() > self._seconds:
            seconds = self._limits.total_seconds
            raise Stopped("timeout", f"The whole notebook ran for more than {seconds:g} s.")
        if self._since.spent() > self._allowed:
            self._ask_to_stop()
        if not self._sandboxed and self._ask_starter("how") is not None:
            self._ask_starter("end")  # else what it left behind would hold its pipe open
        if self._processes and self._too_large(self._processes, used):
            raise Stopped("crash", f"It used more than {self._limits.memory >> 20} MB of memory.")

    def _ask_to_stop(self) -> None:
        """Interrupt a cell; end what answers a question."""
        if not self._asks:
            raise Stopped("timeout", self._too_long(ended=False))
        self._asks -= 1
        self._since, self._allowed = Stopwatch(lambda: self._cpu), GRACE
        if not self._question:
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGINT)
        elif self._processes:
            _end_below(self._processes, self._child)

    def _too_long(self, *, ended: bool) -> str:
        """The reason where the part that is under way has taken too long."""
        if self._question:
            return too_long(
                self._part.seconds(), self._limits.call_seconds, ended=ended, stuck=self._part.is_stuck()
            )
        if self._part.seconds() > self._limits.cell_seconds:
            return f"This cell ran for more than {self._limits.cell_seconds:g} s."
        return f"This cell did not end in {PATIENCE * self._limits.cell_seconds:g} s, and hardly did anything in them."

    def _too_large(self, processes: confine.Processes, used: dict[int, confine.Use]) -> bool:
        most = self._limits.memory + self._spare
        # Shared pages can be let go of and still exist, so address space is held against it as well.
        if sum(max(0, use.virtual - self._base) for use in used.values()) > 4 * most:
            return True
        if sum(use.resident for use in used.values()) <= most:
            return False
        return processes.memory(used) > most

    def _how_it_died(self) -> str:
        code = self._ask_starter("how", DYING)
        return "It closed the grader's own pipe." if code is None else wire.death(code)

    def _ask_starter(self, what: str, seconds: float = 0.0) -> int | None:
        """The hand-in's exit code, if it has ended by then, or must `end` now with all that it started."""
        if not self._over:
            self._starter.send({"op": what, "seconds": seconds})
            self._exit = self._starter.receive()[0]["exit"]
            self._over = what == "end"
        return self._exit


def _end_below(processes: confine.Processes, root: int) -> None:
    """Kill what a process has forked, and what that has."""
    for pid in processes.below(root):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _is_code(code: object) -> bool:
    """Whether this is an exit code as `os.waitstatus_to_exitcode` gives it."""
    return type(code) is int and -128 < code < 256


def _is_whole(written: bytearray) -> bool:
    """Whether this is as long as the frame that it begins with; to read it would take the time of many looks."""
    if len(written) < frames.PREFIX.size:
        return False
    _, header, payload = frames.PREFIX.unpack_from(written)
    return len(written) >= frames.PREFIX.size + int(header) + int(payload)
