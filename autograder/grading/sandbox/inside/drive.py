"""One hand-in, cell by cell, as whoever stands between it and the grader drives it: the same for every sandbox.

What comes back may have been forged by a student's code. It is bounded here, and checked by `wire` and `outputs`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from time import monotonic
from typing import Any, get_origin

import numpy as np

from autograder.grading.sandbox.inside import wire
from autograder.grading.sandbox.inside.limits import Limits
from autograder.grading.sandbox.inside.outputs import Budget, Outputs
from autograder.judging import frames
from autograder.judging.question import Answer
from autograder.results import Outcome
from autograder.stopwatch import OVERTIME, PATIENCE, Stopwatch, too_long

INTERRUPTS = 3  # how often a cell that runs for too long is asked to stop
GRACE = 0.5  # seconds of CPU time between those, and for a hand-in to say that a question was stopped
MAX_ANSWERS = 64 << 20  # bytes, of one exercise
# Bytes by which what answers a question may grow beside what it is asked to hold: Python's own pages, which it writes
# on the way (3 to 4 MB were seen in a forked process, 2 to 3 in a guest).
UNCOUNTED = 8 << 20


class Stopped(Exception):
    """The hand-in cannot go on: `status` and `reason` are the guilty cell's."""

    def __init__(self, status: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass
class CellRun:
    """What became of one cell.

    Parameters
    ----------
    outputs : list of dict
        nbformat 4 outputs, bounded but not sanitised.
    status : Outcome
        "error": an ordinary cell raised. "timeout" and "crash" of a test cell are about its exercise alone;
        an ordinary cell with one of them was left out and the rest run again, if it did not stop when
        interrupted. "skipped": the time or the reruns were used up before it.
    seconds : float
        By the clock.
    spent : float
        The seconds that are held against its limit: CPU time or, for what waits, its share of the clock's.
    answers : list of Answer, optional
        A test cell's, in the order of its questions; fewer than those after a timeout or crash.
    missing : bool
        Nothing has the exercise's name.
    reason : str
        A sentence about a timeout or crash.
    forged : bool
        It crashed since what it sent could not have come from our side of the sandbox.
    statements : int
        How many of an ordinary cell's statements were done when it was stopped for good; 0 where nobody knows.
    index : int
        Its place among the cells.
    total : float
        As `spent`: what the hand-in has come to with it.
    over : bool
        The hand-in did not survive it.
    asked : list of dict
        For each group of questions that were asked in one go: how many arrays (`parts`), after those of the groups
        before, hold the bytes that it wrote, unread; the code of its `exit`; the memory that was seen to be `held`,
        where that is more than was allowed.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    status: Outcome = Outcome.OK
    seconds: float = 0.0
    spent: float = 0.0
    answers: list[Answer] | None = None
    missing: bool = False
    reason: str = ""
    forged: bool = False
    statements: int = 0
    index: int = 0
    total: float = 0.0
    over: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)

    def to_fields(self) -> dict[str, Any]:
        """All but the answers, as it is sent to the grader."""
        return {name: value for name, value in vars(self).items() if name != "answers"}

    @classmethod
    def from_fields(cls, sent: dict[str, Any]) -> "CellRun":
        """The inverse of `to_fields`, whoever wrote it; raises WireError for anything else."""
        kinds = {one.name: get_origin(one.type) or one.type for one in fields(cls) if one.name != "answers"}
        run = cls(**frames.check_fields(sent, kinds | {"status": str}))
        if run.status not in set(Outcome) or len(run.reason) > frames.MAX_TEXT:
            raise wire.WireError("no report")
        run.status = Outcome(run.status)
        run.outputs = [wire.check_output(output) for output in run.outputs]
        return run


Reported = tuple[CellRun, list[np.ndarray]]


class Guest(ABC):
    """A hand-in that runs somewhere, as it is driven: what each sandbox does its own way, its time, and its cells.

    A method raises Stopped when the hand-in goes over a limit, and `wire.Closed` when it has ended by itself.

    Parameters
    ----------
    limits : Limits
    seconds : float
        What it may spend in all.
    """

    def __init__(self, limits: Limits, seconds: float) -> None:
        self.limits, self._seconds = limits, seconds
        self.whole = Stopwatch(self._cpu)
        self.allow(seconds, 0)

    @abstractmethod
    def _cpu(self) -> float:
        """Seconds of CPU time that it has used so far, as far as that is known without looking."""

    @abstractmethod
    def look(self) -> None:
        """Find out what it uses."""

    @abstractmethod
    def order(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        """Give an order."""

    @abstractmethod
    def event(self) -> frames.Frame:
        """What it says next."""

    @abstractmethod
    def how_it_died(self) -> str:
        """A sentence on it, once it has ended by itself."""

    @abstractmethod
    def interrupt(self) -> None:
        """Interrupt a cell; raises Stopped where that cannot be done."""

    @abstractmethod
    def end_answer(self) -> None:
        """End what answers a question."""

    @abstractmethod
    def measure(self, memory: int | None) -> None:
        """Measure from outside what it comes to hold from now on, if `memory` limits that."""

    @abstractmethod
    def measured(self) -> int:
        """How much that was, in bytes, if it was over the limit; else 0. Ends the measuring."""

    @abstractmethod
    def answered(self, written: bytearray) -> None:
        """It has written so much of its answers: so it gets on, as `part` is to be told when that happens."""

    # Time

    def allow(self, seconds: float, asks: int, question: bool = False) -> None:
        """Begin a part of the work: what it may spend, and how often it is asked to stop before it is made to."""
        self.part = self._since = Stopwatch(self._cpu)  # from its beginning; since it was last asked
        self._allowed, self._asks, self._question = seconds, asks, question
        self.asked_to_stop = False

    def check_time(self) -> None:
        """To be called every few moments while it has the word."""
        self.look()
        if self.whole.spent() > self._seconds:
            seconds = self.limits.total_seconds
            raise Stopped(Outcome.TIMEOUT, f"The whole notebook ran for more than {seconds:g} s.")
        if self._since.spent() <= self._allowed:
            return
        if not self._asks:
            raise Stopped(Outcome.TIMEOUT, self.too_long(ended=False))
        self._asks, self.asked_to_stop = self._asks - 1, True
        self._since, self._allowed = Stopwatch(self._cpu), GRACE
        if self._question:
            self.end_answer()
        else:
            self.interrupt()

    def too_long(self, *, ended: bool) -> str:
        """The reason where the part that is under way has taken too long."""
        took, limits = self.part.seconds(), self.limits
        if self._question:
            return too_long(took, limits.call_seconds, ended=ended, stuck=self.part.is_stuck())
        if took > limits.cell_seconds:
            return f"This cell ran for more than {limits.cell_seconds:g} s."
        return (
            f"This cell did not end in {PATIENCE * limits.cell_seconds:g} s, and hardly did anything in them."
        )

    # From its first cell to its last

    def cells(self, cells: Sequence[dict[str, Any] | None], given: list[np.ndarray]) -> Iterator[Reported]:
        """Hand out the cells in order, up to one that it does not survive; a report on each."""
        budget = Budget(self.limits.output_bytes, self.limits.outputs)
        last = max((index for index, cell in enumerate(cells) if cell is not None), default=None)
        count = 0
        for index, cell in enumerate(cells):
            if cell is None:
                continue
            report, outputs, began = CellRun(index=index, over=True), Outputs(budget), monotonic()
            arrays: list[np.ndarray] = []
            try:
                if cell["exercise"] is None:
                    count += 1
                    self._run_cell(cell["source"], count, report, outputs)
                else:
                    self._ask_questions(cell, given[cell["first"] :], report, arrays, outputs, index == last)
                report.over = False
            except Stopped as stop:
                report.status, report.reason = stop.status, stop.reason
            except wire.Closed:
                report.status, report.reason = Outcome.CRASH, self.how_it_died()
            except wire.WireError:
                report.status, report.reason, report.forged = Outcome.CRASH, wire.FORGED, True
            if report.over and cell["exercise"] is None:
                outputs.stopped(report.reason)
            report.outputs, report.seconds = outputs.kept(), round(monotonic() - began, 6)
            report.spent, report.total = self.part.spent(), self.whole.spent()
            yield report, arrays
            if report.over:
                return

    def _run_cell(self, source: str, count: int, report: CellRun, outputs: Outputs) -> None:
        self.allow(self.limits.cell_seconds, INTERRUPTS)
        self.order({"op": "run", "source": source, "count": count})
        while True:
            header, _ = self._event()
            if header["op"] == "done":
                break
            if header["op"] == "step":
                report.statements += 1
            else:
                outputs.take(header, count)
        if self.asked_to_stop:
            report.status, report.reason = Outcome.TIMEOUT, self.too_long(ended=False)
            outputs.stopped(report.reason)
            return
        if header.get("status") not in (Outcome.OK, Outcome.ERROR):
            raise wire.WireError("no such status")
        report.status = Outcome(header["status"])

    def _ask_questions(
        self,
        cell: dict[str, Any],
        given: Sequence[np.ndarray],
        report: CellRun,
        arrays: list[np.ndarray],
        outputs: Outputs,
        last: bool,
    ) -> None:
        """Ask the groups of questions in order; what they are, and what is answered, is for others to read.

        Those after which the hand-in does nothing any more (`last`) are asked in no copy of it.
        """
        self.look()  # what came before is not the answer's
        allowed = self.limits.call_seconds
        self.allow(OVERTIME * allowed, 1, question=True)
        left = MAX_ANSWERS
        for number, group in enumerate(cell["groups"], 1):
            asked_last = last and number == len(cell["groups"]) and group["memory"] is None
            message = {"op": "ask", "exercise": cell["exercise"], "call": cell["call"], "last": asked_last}
            questions, given = given[: group["parts"]], given[group["parts"] :]
            self.measure(group["memory"])
            try:
                self.order(message, questions)
                written, end = self._answers(left, outputs)
            finally:
                held = self.measured()
            if end.get("missing") is True:
                report.missing = True
                return
            code = end.get("exit")
            parts = wire.in_parts(written)
            arrays += parts
            report.asked.append({"parts": len(parts), "exit": code if _is_code(code) else None, "held": held})
            left -= len(written)
            if self.asked_to_stop:
                report.status, report.reason = Outcome.TIMEOUT, self.too_long(ended=False)
                return
            ended_here = group["memory"] is not None and is_whole(written)
            if code != 0 and not ended_here:
                return
        self.look()
        if self.part.seconds() > allowed:
            report.status, report.reason = Outcome.TIMEOUT, self.too_long(ended=True)

    def _answers(self, most: int, outputs: Outputs) -> tuple[bytearray, dict[str, Any]]:
        """What is answered now, `most` bytes of it, and the hand-in's word on how that ended."""
        written = bytearray()
        while True:
            header, chunk = self._event()
            if header["op"] == "asked":
                return written, header
            if header["op"] == "answers":
                for part in chunk:
                    written += part.tobytes()
                if len(written) > most:
                    raise Stopped(Outcome.CRASH, wire.TOO_MUCH)
                self.answered(written)
            else:
                outputs.take(header, None)

    def _event(self) -> frames.Frame:
        header, arrays = self.event()
        if not isinstance(header.get("op"), str):
            raise wire.WireError("no such event")
        return header, arrays


def _is_code(code: object) -> bool:
    """Whether this is an exit code as `os.waitstatus_to_exitcode` gives it."""
    return type(code) is int and -128 < code < 256


def is_whole(written: bytearray) -> bool:
    """Whether this is as long as the frame that it begins with; to read it would take the time of many looks."""
    if len(written) < frames.PREFIX.size:
        return False
    _, header, payload = frames.PREFIX.unpack_from(written)
    return len(written) >= frames.PREFIX.size + int(header) + int(payload)
