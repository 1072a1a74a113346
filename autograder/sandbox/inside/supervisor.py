"""Supervisor: the process in the sandbox that controls one submission after another for the grader.

It lets the fork server start a submission, sends the submission one cell after another, checks
the replies, and measures CPU time and memory. At the end it lets the fork server kill the
submission. No student's code runs in the supervisor. Submissions are not forked from it either, so
that they inherit nothing of what the supervisor has read of other submissions.
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

from autograder.core.results import CellOutcome
from autograder.core.run_limits import RunLimits
from autograder.sandbox.inside import linux, memory_usage, protocol
from autograder.sandbox.inside.driver import (
    UNCOUNTED_BYTES,
    SubmissionDriver,
    SubmissionLimitExceeded,
    is_complete_frame,
)
from autograder.values import encoding

CHECK_INTERVAL_SECONDS = 0.05  # between two checks of a submission
MEMORY_CHECK_INTERVAL_SECONDS = 0.003  # the same, while an answer's memory is measured
EXIT_WAIT_SECONDS = 0.2  # time for a submission that has closed its pipe to exit by itself
# Maximal size of the JSON in a message from a submission while the memory of a call is measured.
MAX_EVENT_BYTES = 1 << 16


class ProcessUsage(NamedTuple):
    """CPU time and memory that a process uses.

    `virtual` is its address space and `resident` its memory, both in bytes. `cpu` is its CPU time
    in seconds, including that of child processes that have ended.
    """

    virtual: int
    resident: int
    cpu: float


def measure_process_tree(root: int) -> dict[psutil.Process, ProcessUsage]:
    """Return CPU time and memory of a process and all its descendants; empty except on Linux."""
    usage: dict[psutil.Process, ProcessUsage] = {}
    if not psutil.LINUX:
        return usage
    with suppress(psutil.Error):
        top = psutil.Process(root)
        for process in [top, *top.children(recursive=True)]:
            with suppress(psutil.Error), process.oneshot():
                memory, times = process.memory_info(), process.cpu_times()
                usage[process] = ProcessUsage(memory.vms, memory.rss, sum(times[:4]))
    return usage


def _measure_proportional_memory(process: psutil.Process, fallback_bytes: int) -> int:
    """Return the memory of a process in bytes; a page shared by n processes counts as one n-th.

    Return `fallback_bytes` if these figures are not available.
    """
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0
    except psutil.Error:
        return fallback_bytes


def serve_runs(control: socket.socket, fork_server: socket.socket, pid: int) -> NoReturn:
    """Run one submission after another for the grader, each over a connection of its own.

    This process exits when the grader has ended, or if the supervisor itself fails.

    Parameters
    ----------
    control : socket
        Socket to the grader, which sends a connection for each submission.
    fork_server : socket
        Socket to the fork server.
    pid : int
        Process id of the fork server.
    """
    while True:
        message, fds, *_ = socket.recv_fds(control, 1, 1)
        if not message:
            os._exit(0)
        with socket.socket(fileno=fds[0]) as connection:
            try:
                Supervisor(connection, fork_server, psutil.Process(pid)).run()
            except protocol.ChannelClosed:
                # Either the grader has closed the connection, or the submission did not start. In
                # the second case the grader sees the closed connection and tries again.
                pass
            except BaseException:  # noqa: BLE001
                # Write the traceback to the grader's log. No student's code has run here, so it can
                # be trusted.
                traceback.print_exc()
                os._exit(1)


class Supervisor(SubmissionDriver):
    """Supervisor of one submission: lets it run each cell, and sends the results to the grader.

    Parameters
    ----------
    connection : socket
        Connection to the grader, for this submission only.
    fork_server : socket
        Socket to the fork server.
    fork_server_process : psutil.Process
        Process of the fork server, whose child is the submission.
    """

    def __init__(
        self,
        connection: socket.socket,
        fork_server: socket.socket,
        fork_server_process: psutil.Process,
    ) -> None:
        self._grader = protocol.Channel(connection.fileno(), connection.fileno())
        self._fork_server_socket, self._fork_server_process = fork_server, fork_server_process
        self._exit_code: int | None = None  # of the submission's process, once it has ended
        self._is_over = False  # True once the fork server was told to end the submission
        # Descriptors of the submission's temporary folders.
        self._scratch_folders: list[int] = []
        # Monitor of the memory that a call of a student's function takes; None while none is
        # measured.
        self._memory_monitor: memory_usage.PeakMemoryMeter | None = None
        self._next_check = 0.0  # time of the next check, by `monotonic`
        self._cpu_seconds = 0.0  # the submission's CPU time at the last check
        self._sleep_seconds = 0.0  # time in which all of its processes slept, up to that check
        self._last_measurement = monotonic()
        self._usage: dict[psutil.Process, ProcessUsage] = {}

    def run(self) -> None:
        """Run the submission that the grader sends, and report on each cell.

        The submission's processes are dead afterwards.
        """
        job = self._grader.receive()[0]
        super().__init__(RunLimits(**job["limits"]), job["seconds"])
        commands, orders = os.pipe()
        events, reports = os.pipe()
        for pipe in (orders, reports):
            linux.enlarge_pipe(pipe)
        fork_server = self._fork_server_socket.fileno()
        self._fork_server = protocol.Channel(fork_server, fork_server)
        self._submission = protocol.Channel(
            events,
            orders,
            self._enforce_limits,
            CHECK_INTERVAL_SECONDS,
        )
        try:
            self._start_submission(job["limits"], commands, reports)
            plan, arrays = self._grader.receive()
            for report, values in self.run_cells(plan["cells"], arrays):
                # The grader needs no report on a cell before the last, so several reports can be
                # sent together.
                self._grader.send(report.to_fields(), values, buffer=True)
        finally:
            with suppress(protocol.ChannelClosed):
                self._end_submission()
            for descriptor in (orders, events, *self._scratch_folders):
                os.close(descriptor)
        self._grader.send({"op": "end"})

    def _start_submission(self, limits: dict[str, Any], commands: int, reports: int) -> None:
        try:
            socket.send_fds(self._fork_server_socket, [b"+"], [commands, reports])
        finally:
            os.close(commands)
            os.close(reports)
        self._fork_server.send({"limits": limits})
        self._fork_server.receive()  # "started"
        (self._process,) = self._fork_server_process.children()
        self._child = self._process.pid
        self._shared_memory = self._fork_server_process.memory_info()
        # Until the submission has sent the message "ready", no student's code has run in it. A
        # failure so far is the sandbox's own.
        header, _ = self._submission.receive(1000, 0)
        if header != {"op": "ready"}:
            raise RuntimeError("the submission's process did not start")
        if psutil.LINUX:
            self._scratch_folders = memory_usage.open_scratch_folders(self._child)

    # The methods below implement the abstract class `SubmissionDriver`.

    def _submission_cpu_seconds(self) -> float:
        return self._cpu_seconds

    def _submission_sleep_seconds(self) -> float:
        return self._sleep_seconds

    def measure_usage(self) -> None:
        """Measure how much CPU time and memory all processes of the submission use."""
        self._usage = measure_process_tree(self._child)
        # The CPU time of an ended process is missing in the sum if its parent process did not wait
        # for it. Then keep the sum that was measured earlier, which is larger.
        cpu_seconds = sum(usage.cpu for usage in self._usage.values())
        # If this process itself was kept off the processor, the time since the last measurement
        # says little about the submission. So charge at most two intervals.
        now = monotonic()
        elapsed = min(now - self._last_measurement, 2 * CHECK_INTERVAL_SECONDS)
        self._last_measurement = now
        if cpu_seconds <= self._cpu_seconds and self._is_asleep():
            self._sleep_seconds += elapsed
        self._cpu_seconds = max(self._cpu_seconds, cpu_seconds)

    def _is_asleep(self) -> bool:
        """Return True if all processes of the submission sleep; False except on Linux."""
        if not self._usage:
            return False
        return all(linux.is_asleep(process.pid) for process in self._usage)

    def interrupt_cell(self) -> None:
        """Interrupt the running cell by SIGINT."""
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGINT)

    def end_answer_process(self) -> None:
        """Kill the submission's child processes, one of which calls a student's function."""
        memory_usage.kill_descendants(self._child)

    def send_order(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        """Send the submission's process an order: run a cell, or call the student's function."""
        self._submission.send(header, arrays)

    def receive_event(self) -> encoding.Frame:
        """Wait for the submission's next message, and enforce its limits meanwhile."""
        max_header = 4 * self.limits.output_bytes + (1 << 20)
        if self._memory_monitor:  # no memory is sampled while a long message is decoded
            max_header = MAX_EVENT_BYTES
        return self._submission.receive(max_header, 8 * encoding.MAX_ANSWER_NUMBERS)

    def start_memory_measurement(self, memory: int | None) -> None:
        """Start to measure the memory of the next call of a student's function, if limited."""
        if memory is not None and psutil.LINUX:
            self._memory_monitor = memory_usage.PeakMemoryMeter(self._child, self._scratch_folders)
            self._memory_limit = memory
            self._submission.tick_seconds = MEMORY_CHECK_INTERVAL_SECONDS

    def record_received_results(self, answer_bytes: bytearray) -> None:
        """Handle bytes of results of calls that have arrived: record progress, and measure memory.

        If memory is measured and the answer is complete, kill the process that gave it.
        """
        self.part_watch.mark_progress()
        if self._memory_monitor:
            self._memory_monitor.sample()
            if is_complete_frame(answer_bytes):
                # The result is complete, and the process only stays alive so that its memory can be
                # measured: kill it.
                memory_usage.kill_descendants(self._child)

    def end_measurement_and_find_excess_memory(self) -> int:
        """End the measurement of memory; return the peak in bytes if over the limit, else 0."""
        if self._memory_monitor is None:
            return 0
        self._memory_monitor.sample()
        peak, max_bytes = self._memory_monitor.peak_bytes, self._memory_limit + UNCOUNTED_BYTES
        if self._memory_monitor.has_untracked_processes():
            peak = max(peak, max_bytes + 1)
        self._memory_monitor, self._submission.tick_seconds = None, CHECK_INTERVAL_SECONDS
        return peak if peak > max_bytes else 0

    def describe_process_end(self) -> str:
        """Return a sentence on how the submission's process ended."""
        exit_code = self._end_submission(EXIT_WAIT_SECONDS)
        if exit_code is None:
            return "It closed the grader's own pipe."
        return protocol.describe_exit(exit_code)

    # The methods below check the submission's limits during the run.

    def _enforce_limits(self) -> None:
        """Enforce the limits of time and memory; called every few milliseconds during the run."""
        current_time = monotonic()
        if self._memory_monitor:
            self._memory_monitor.sample()
            if current_time < self._next_check:
                return
        self._next_check = current_time + CHECK_INTERVAL_SECONDS
        self.check_time_limits()
        if self._has_exited():
            # The submission's process has ended, but its child processes would keep its pipe open.
            # End them as well.
            self._end_submission()
        if self._exceeds_memory_limit():
            reason = f"It used more than {self.limits.memory >> 20} MB of memory."
            raise SubmissionLimitExceeded(CellOutcome.CRASH, reason)

    def _exceeds_memory_limit(self) -> bool:
        usage, shared_memory = self._usage, self._shared_memory
        max_bytes = self.limits.memory + shared_memory.rss + linux.SPARE_LIMITS["AS"]
        # Pages of shared memory may exist although no process's resident memory includes them. So
        # the address space is limited as well.
        virtual = [max(0, process.virtual - shared_memory.vms) for process in usage.values()]
        if sum(virtual) > 4 * max_bytes:
            return True
        if sum(process.resident for process in usage.values()) <= max_bytes:
            return False
        total = 0
        for process, process_usage in usage.items():
            total += _measure_proportional_memory(process, process_usage.resident)
        return total > max_bytes

    def _has_exited(self) -> bool:
        try:
            return self._process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    def _end_submission(self, grace_seconds: float = 0.0) -> int | None:
        """Let the fork server kill the submission with all processes that it started.

        Return the submission's exit code, or None if it did not exit by itself within
        `grace_seconds`.
        """
        if not self._is_over:
            self._is_over = True
            self._fork_server.send({"seconds": grace_seconds})
            self._exit_code = self._fork_server.receive()[0]["exit"]
        return self._exit_code
