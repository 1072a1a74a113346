"""Send a submission's process its cells, one after another, and enforce the time limits.

All sandboxes use this code. It runs outside the submission's process: in the supervisor, or in the
grader for WebAssembly. The submission's replies may have been forged by the student's code. Their
size is limited here, and `protocol` and `outputs` check their form.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from time import monotonic
from typing import Any, get_origin

import numpy as np

from autograder.core.cpu_time import (
    OVERTIME_FACTOR,
    WALL_SECONDS_PER_CPU_SECOND,
    Stopwatch,
    describe_overrun,
)
from autograder.core.results import CellOutcome
from autograder.core.run_limits import RunLimits
from autograder.sandbox.inside import protocol
from autograder.sandbox.inside.outputs import CellOutputs, OutputBudget
from autograder.values import encoding
from autograder.values.case_records import CallOutcome

MAX_INTERRUPTS = 3  # a cell over its time limit is interrupted up to 3 times, then it is killed
# CPU time, in seconds, that a submission has to react after its cell was interrupted. The same time
# applies for reporting that a child process, which called a student's function, was killed.
GRACE_SECONDS = 0.5
SLOW_CALLEE_MESSAGE = "It was stopped early: it calls a function that takes too long."
# An exercise may call another exercise's function that took too long before. Then it gets only this
# share of its time limit.
SLOW_CALLEE_SHARE = 0.1
MAX_ANSWERS_BYTES = 64 << 20  # size of all encoded answers to one exercise
# Number of bytes by which a call of a student's function may exceed its memory limit. Python itself
# writes to some memory during a call: 3 to 4 MB were measured in a forked process, 2 to 3 MB in
# WebAssembly.
UNCOUNTED_BYTES = 8 << 20


class SubmissionLimitExceeded(Exception):
    """Exception: a submission exceeded a limit, so its process is ended.

    `status` and `reason` are for the result of the cell that was running.
    """

    def __init__(self, status: CellOutcome, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass
class CellRun:
    """Result of running one cell of a submission, or of testing one exercise.

    Parameters
    ----------
    outputs : list of dict
        Outputs as in nbformat 4, limited in size but not sanitised.
    status : CellOutcome
        "error" means that an ordinary cell raised an exception. After "timeout" or "crash" in an
        ordinary cell, all cells have run again without it, unless an interrupt was enough to stop
        it. "timeout" or "crash" in a test cell concerns only its exercise. "skipped" means that
        the time or the reruns had been used up before this cell.
    seconds : float
        Wall-clock time.
    charged_seconds : float
        Seconds that count against the cell's limit. This is the CPU time or, for a cell that
        waits, a fraction of the wall-clock time.
    outcomes : list of CallOutcome, optional
        Results of calling the tested function, in the order of the inputs. After a timeout or
        crash some are missing at the end.
    missing : bool
        True if the notebook has not defined the name of the tested function.
    reason : str
        A sentence about a timeout or crash.
    forged : bool
        True if the student's code tried to forge a reply: data came that the sandbox's own code
        never sends.
    completed_statements : int
        Number of statements that an ordinary cell had completed when it was stopped; 0 if unknown.
    index : int
        Position among the cells.
    total_charged_seconds : float
        Sum of `charged_seconds` over the submission up to and including this cell.
    ended_process : bool
        True if the submission's process ended in this cell.
    outcome_groups : list of dict
        The undecoded outcomes: a dict for each group of calls that one process made.
        `parts` is the number of arrays that belong to this group, in the list of arrays beside
        the report. `exit` is the exit code of the process. `held` is its peak memory in bytes, or
        0 if that was within the limit.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    status: CellOutcome = CellOutcome.OK
    seconds: float = 0.0
    charged_seconds: float = 0.0
    outcomes: list[CallOutcome] | None = None
    missing: bool = False
    reason: str = ""
    forged: bool = False
    completed_statements: int = 0
    index: int = 0
    total_charged_seconds: float = 0.0
    ended_process: bool = False
    outcome_groups: list[dict[str, Any]] = field(default_factory=list)

    def to_fields(self) -> dict[str, Any]:
        """Return all fields except `outcomes` as a dict, to be sent to the grader as JSON."""
        return {name: value for name, value in vars(self).items() if name != "outcomes"}

    @classmethod
    def from_fields(cls, report_fields: dict[str, Any]) -> "CellRun":
        """Make a result from the dict of `to_fields`; raise ProtocolError if it is malformed."""
        types: dict[str, Any] = {}
        for spec in fields(cls):
            if spec.name != "outcomes":
                types[spec.name] = get_origin(spec.type) or spec.type
        run = cls(**encoding.check_fields(report_fields, types | {"status": str}))
        if run.status not in set(CellOutcome) or len(run.reason) > encoding.MAX_TEXT_CHARACTERS:
            raise protocol.ProtocolError("no report")
        run.status = CellOutcome(run.status)
        run.outputs = [protocol.validate_and_strip_output(output) for output in run.outputs]
        return run


CellReport = tuple[CellRun, list[np.ndarray]]


class SubmissionDriver(ABC):
    """Driver of one submission: it sends cells to the submission's process, and limits its time.

    Each sandbox has a subclass, which implements how messages reach the submission. Methods raise
    SubmissionLimitExceeded if the submission exceeds a limit, and `protocol.ChannelClosed` if its
    process has ended.

    Parameters
    ----------
    limits : RunLimits
        Limits for the submission and its cells.
    seconds : float
        Time limit for the whole submission in this run; less than `limits.total_seconds` if an
        earlier run has used up some of that.
    """

    def __init__(self, limits: RunLimits, seconds: float) -> None:
        self.limits, self._seconds = limits, seconds
        self._slow_functions: set[str] = set()  # those that took too long in this run
        self.total_watch = self._start_stopwatch()
        self.start_time_limit(seconds, 0)

    @abstractmethod
    def _submission_cpu_seconds(self) -> float:
        """Return the submission's CPU time in seconds, as of the last `measure_usage`."""

    @abstractmethod
    def _submission_sleep_seconds(self) -> float:
        """Return the seconds in which the submission slept, as of the last `measure_usage`."""

    @abstractmethod
    def measure_usage(self) -> None:
        """Measure how much CPU time and memory the submission has used."""

    @abstractmethod
    def send_order(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        """Tell a submission's process to run a cell ("run") or call a function ("ask")."""

    @abstractmethod
    def receive_event(self) -> encoding.Frame:
        """Wait for the next message from a submission's process, such as an output or "done"."""

    @abstractmethod
    def describe_process_end(self) -> str:
        """Return a sentence on how the submission's process ended, if it ended by itself."""

    @abstractmethod
    def interrupt_cell(self) -> None:
        """Interrupt the running cell, as Ctrl+C does.

        Raise SubmissionLimitExceeded if this sandbox cannot interrupt a cell.
        """

    @abstractmethod
    def end_answer_process(self) -> None:
        """End the process in which the student's function is called on the test cases."""

    @abstractmethod
    def start_memory_measurement(self, memory: int | None) -> None:
        """Start to measure how much memory the next call of a student's function takes.

        Another process measures it, since the student's process could report anything.

        `memory` is the limit for that answer in bytes. Do nothing if it is None.
        """

    @abstractmethod
    def end_measurement_and_find_excess_memory(self) -> int:
        """End the measurement of a call's memory; return the peak if over the limit, else 0.

        The peak is in bytes.
        """

    @abstractmethod
    def record_received_results(self, answer_bytes: bytearray) -> None:
        """Mark progress: bytes of results have arrived; `answer_bytes` are all of them so far."""

    # The methods below enforce the time limits.

    def _start_stopwatch(self) -> Stopwatch:
        return Stopwatch(self._submission_cpu_seconds, self._submission_sleep_seconds)

    def start_time_limit(
        self, seconds: float, stop_requests: int, is_test_call: bool = False
    ) -> None:
        """Start to measure the time of a cell, or of all calls that test one exercise.

        Parameters
        ----------
        seconds : float
            Time limit of this part of the work.
        stop_requests : int
            Number of times that the part is asked to stop once it has exceeded the limit. After
            that the submission is ended.
        is_test_call : bool
            True if the part consists of calls of a tested function.
        """
        # Start two stopwatches: one for the whole cell, one for the time until it is asked to stop.
        # After each request to stop, a new stopwatch replaces the second.
        self.part_watch = self._interval_watch = self._start_stopwatch()
        self._interval_seconds, self._stop_requests = seconds, stop_requests
        self._is_test_call = is_test_call
        self.stop_requested = False

    def check_time_limits(self) -> None:
        """Enforce the time limits; subclasses call this every few milliseconds during the run."""
        self.measure_usage()
        if self.total_watch.charged_seconds() > self._seconds:
            seconds = self.limits.total_seconds
            reason = f"The whole notebook ran for more than {seconds:g} s."
            raise SubmissionLimitExceeded(CellOutcome.TIMEOUT, reason)
        if self._interval_watch.charged_seconds() <= self._interval_seconds:
            return
        if not self._stop_requests:
            raise SubmissionLimitExceeded(
                CellOutcome.TIMEOUT, self.describe_exceeded_time_limit(finished=False)
            )
        self._stop_requests, self.stop_requested = self._stop_requests - 1, True
        self._interval_watch = self._start_stopwatch()
        self._interval_seconds = GRACE_SECONDS
        if self._is_test_call:
            self.end_answer_process()
        else:
            self.interrupt_cell()

    def describe_exceeded_time_limit(self, *, finished: bool) -> str:
        """Return a sentence that says which time limit the current cell or test has exceeded.

        `finished` is True if the work came to its end, False if it was stopped.
        """
        cpu_seconds, limits = self.part_watch.cpu_seconds(), self.limits
        if self._is_test_call:
            is_stuck = self.part_watch.is_stuck()
            return describe_overrun(
                cpu_seconds,
                limits.call_seconds,
                finished=finished,
                stuck=is_stuck,
            )
        if cpu_seconds > limits.cell_seconds:
            return f"This cell ran for more than {limits.cell_seconds:g} s."
        if self.part_watch.sleep_seconds() > limits.cell_seconds:
            return f"This cell waited for more than {limits.cell_seconds:g} s, as in `time.sleep`."
        wall_seconds = WALL_SECONDS_PER_CPU_SECOND * limits.cell_seconds
        return f"This cell did not end in {wall_seconds:g} s, although it hardly computed anything."

    # The methods below run the cells.

    def run_cells(
        self, cells: Sequence[dict[str, Any] | None], arrays: list[np.ndarray]
    ) -> Iterator[CellReport]:
        """Run the cells in order, and yield a report on each; stop if a cell ends the process.

        `arrays` holds the encoded inputs of all cells' calls. A cell that is None is left out.
        """
        budget = OutputBudget(self.limits.output_bytes, self.limits.outputs)
        last = max((index for index, cell in enumerate(cells) if cell is not None), default=None)
        execution_count = 0
        for index, cell in enumerate(cells):
            if cell is None:
                continue
            report, outputs = CellRun(index=index, ended_process=True), CellOutputs(budget)
            start = monotonic()
            answer_arrays: list[np.ndarray] = []
            try:
                if cell["exercise"] is None:
                    execution_count += 1
                    self._run_cell(cell["source"], execution_count, report, outputs)
                else:
                    call_inputs = arrays[cell["first_array"] :]
                    is_last = index == last
                    self._call_tested_function(
                        cell, call_inputs, report, answer_arrays, outputs, is_last
                    )
                report.ended_process = False
            except SubmissionLimitExceeded as stop:
                report.status, report.reason = stop.status, stop.reason
            except protocol.ChannelClosed:
                report.status, report.reason = CellOutcome.CRASH, self.describe_process_end()
            except protocol.ProtocolError:
                report.status, report.reason = CellOutcome.CRASH, protocol.FORGED_MESSAGE
                report.forged = True
            if report.ended_process and cell["exercise"] is None:
                outputs.add_stop_error(report.reason)
            if cell["exercise"] is not None and report.status is CellOutcome.TIMEOUT:
                self._slow_functions.add(cell["exercise"])
            report.outputs, report.seconds = outputs.to_list(), round(monotonic() - start, 6)
            report.charged_seconds = self.part_watch.charged_seconds()
            report.total_charged_seconds = self.total_watch.charged_seconds()
            yield report, answer_arrays
            if report.ended_process:
                return

    def _run_cell(
        self,
        source: str,
        execution_count: int,
        report: CellRun,
        outputs: CellOutputs,
    ) -> None:
        self.start_time_limit(self.limits.cell_seconds, MAX_INTERRUPTS)
        self.send_order({"op": "run", "source": source, "count": execution_count})
        while True:
            header, _ = self._next_event()
            if header["op"] == "done":
                break
            if header["op"] == "step":
                report.completed_statements += 1
            else:
                outputs.handle_message(header, execution_count)
        if self.stop_requested:
            report.status = CellOutcome.TIMEOUT
            report.reason = self.describe_exceeded_time_limit(finished=False)
            outputs.add_stop_error(report.reason)
            return
        if header.get("status") not in (CellOutcome.OK, CellOutcome.ERROR):
            raise protocol.ProtocolError("no such status")
        report.status = CellOutcome(header["status"])

    def _call_tested_function(
        self,
        cell: dict[str, Any],
        call_inputs: Sequence[np.ndarray],
        report: CellRun,
        answer_arrays: list[np.ndarray],
        outputs: CellOutputs,
        is_last: bool,
    ) -> None:
        """Let a submission call its function for one exercise on the inputs of all test cases.

        The undecoded answers are appended to `answer_arrays`. Each group is answered in a process
        of its own. Only the last group of the last exercise (`is_last`) is answered in the
        submission's process, since no later answer could be affected.
        """
        self.measure_usage()  # so that CPU time used before does not count for the answers
        call_seconds = self.limits.call_seconds
        is_slow = cell["slow"] or not self._slow_functions.isdisjoint(cell["judged_again_without"])
        if is_slow:
            call_seconds *= SLOW_CALLEE_SHARE
        self.start_time_limit(OVERTIME_FACTOR * call_seconds, 1, is_test_call=True)
        remaining_bytes = MAX_ANSWERS_BYTES
        for number, group in enumerate(cell["groups"], 1):
            is_last_group = is_last and number == len(cell["groups"]) and group["memory"] is None
            order = {"op": "ask", "exercise": cell["exercise"], "call": cell["call"]}
            group_inputs, call_inputs = call_inputs[: group["parts"]], call_inputs[group["parts"] :]
            self.start_memory_measurement(group["memory"])
            try:
                self.send_order({**order, "last": is_last_group}, group_inputs)
                answer_bytes, end = self._collect_outcomes(remaining_bytes, outputs)
            finally:
                peak_bytes = self.end_measurement_and_find_excess_memory()
            if end.get("missing") is True:
                report.missing = True
                return
            exit_code = end.get("exit")
            parts = protocol.split_into_message_parts(answer_bytes)
            answer_arrays += parts
            reported_code = exit_code if _is_exit_code(exit_code) else None
            group_report = {"parts": len(parts), "exit": reported_code, "held": peak_bytes}
            report.outcome_groups.append(group_report)
            remaining_bytes -= len(answer_bytes)
            if self.stop_requested:
                report.status = CellOutcome.TIMEOUT
                report.reason = self.describe_exceeded_time_limit(finished=False)
                if is_slow:
                    report.reason = SLOW_CALLEE_MESSAGE
                return
            # A process whose memory is measured is killed as soon as it has sent its whole result.
            # Then its exit code says nothing.
            was_ended = group["memory"] is not None and is_complete_frame(answer_bytes)
            if exit_code != 0 and not was_ended:
                return
        self.measure_usage()
        # Some calls were done before they were stopped, but only because the limit for stopping
        # them is 1.5 times as high. Report those as too slow as well.
        if self.part_watch.cpu_seconds() > self.limits.call_seconds:
            report.status = CellOutcome.TIMEOUT
            report.reason = self.describe_exceeded_time_limit(finished=True)

    def _collect_outcomes(
        self,
        max_bytes: int,
        outputs: CellOutputs,
    ) -> tuple[bytearray, dict[str, Any]]:
        """Receive results of function calls until a submission reports that all calls are done.

        Return the encoded answers and that message.
        """
        answer_bytes = bytearray()
        while True:
            header, chunks = self._next_event()
            if header["op"] == "asked":
                return answer_bytes, header
            if header["op"] == "answers":
                for chunk in chunks:
                    answer_bytes += chunk.tobytes()
                if len(answer_bytes) > max_bytes:
                    raise SubmissionLimitExceeded(CellOutcome.CRASH, protocol.TOO_LARGE_MESSAGE)
                self.record_received_results(answer_bytes)
            else:
                outputs.handle_message(header, None)

    def _next_event(self) -> encoding.Frame:
        header, arrays = self.receive_event()
        if not isinstance(header.get("op"), str):
            raise protocol.ProtocolError("no such event")
        return header, arrays


def _is_exit_code(code: object) -> bool:
    """Return True if a value, which may be forged, is a possible exit code of a process."""
    return type(code) is int and -128 < code < 256


def is_complete_frame(answer_bytes: bytearray) -> bool:
    """Return True if bytes hold a whole message, judging only by the length at its beginning.

    Decoding the frame would take too long here.
    """
    if len(answer_bytes) < encoding.PREFIX.size:
        return False
    _, header, payload = encoding.PREFIX.unpack_from(answer_bytes)
    return len(answer_bytes) >= encoding.PREFIX.size + int(header) + int(payload)
