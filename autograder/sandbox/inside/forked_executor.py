"""Run a submission in a process that forks itself to call the function of each exercise.

So whatever the student's function does to its process affects only the test of that exercise. The
last exercise is tested in the submission's own process, since no later test could be affected.
"""

import _thread
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import sleep
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from autograder.sandbox.inside import linux, protocol
from autograder.sandbox.inside.executor import SubmissionExecutor, call_and_encode_results
from autograder.values.case_records import Inputs

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.sandbox.inside.ipython_shell import Shell
    from autograder.sandbox.inside.isolation import Isolation

# A process that called a student's function under a memory limit stays alive for so many seconds
# after the call, so that its memory can be measured from outside. Then it is killed.
LINGER_SECONDS = 0.5


class ForkedExecutor(SubmissionExecutor):
    """Executor of a submission's cells and calls, in a process that can kill its child processes.

    `isolation` is used to kill them.
    """

    def __init__(
        self,
        shell: "Shell | None",
        channel: protocol.Channel,
        output_bytes: int,
        isolation: "Isolation",
    ) -> None:
        send = _delay_interrupts_while_sending(channel.send)
        super().__init__(shell, channel.receive, send, output_bytes)
        self._isolation, self._pid = isolation, os.getpid()

    def serve(self) -> NoReturn:
        """Execute orders (run a cell, call a function) until this process is killed."""
        self.redirect_streams_and_seed()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._emitter.send({"op": "ready"})
        while True:
            self.execute_next()

    def _run_cell(self, shell: "Shell", source: str) -> bool:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            return super()._run_cell(shell, source)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _after_cell(self) -> None:
        if os.getpid() != self._pid:
            # The student's code has forked this process, and the fork has come to the end of the
            # cell. It must not execute any further orders.
            os._exit(0)

    def _call_and_send_results(
        self,
        function: Any,
        call: str,
        call_inputs: list[Inputs],
        last: bool,
    ) -> int:
        """Call a student's function in a fork of this process, and send the results.

        If `last` is True, no other exercise follows, and the function is called in this process.
        """
        self._isolation.end_descendants()  # processes that cells have started could interfere
        # The last exercise needs no fork, since nothing runs after it. But if cells have left
        # threads running, fork for it as well: a fork has only one thread. Never fork once JAX was
        # used: JAX hangs in a fork.
        if (last and not _thread._count()) or "jax" in sys.modules:
            with linux.raise_limits():
                status = super()._call_and_send_results(function, call, call_inputs, last)
            self._after_cell()
            return status
        status = 1
        with suppress(OSError), linux.raise_limits():
            outcomes, reports = os.pipe()
            linux.enlarge_pipe(reports)
            pid = os.fork()
            if pid == 0:
                _call_function_and_exit(function, call, call_inputs, reports)
            os.close(reports)
            status = self._forward_outcomes(outcomes, pid)
            os.close(outcomes)
        return status

    def _forward_outcomes(self, answer_pipe: int, pid: int) -> int:
        """Pass on the results that a forked process writes, until that process ends.

        Return the exit code of the forked process.
        """
        status: int | None = None
        poll = select.poll()
        poll.register(answer_pipe, select.POLLIN)
        while True:
            if poll.poll(0 if status is not None else 20):
                data = os.read(answer_pipe, 1 << 18)
                if not data:
                    break
                self._emitter.send({"op": "answers"}, [np.frombuffer(data, np.uint8)])
            elif status is not None:
                # The process has ended. A process that it started may still have the pipe open, but
                # what is written there from now on is no result of a call.
                break
            else:
                status = _wait_for_exit(pid, os.WNOHANG)
        if status is None:
            # The process has closed the pipe, so it is about to end.
            status = _wait_for_exit(pid, 0)
        self._isolation.end_answer_process(pid)
        return -1 if status is None else status


def _delay_interrupts_while_sending(send: Callable[..., None]) -> Callable[..., None]:
    """Wrap `send` so that an interrupt (Ctrl+C) takes effect after a message, never within it."""

    def send_whole(*frame: Any) -> None:
        previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            send(*frame)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)

    return send_whole


def _wait_for_exit(pid: int, options: int) -> int | None:
    """Return the exit code of a child process; None if `options` is WNOHANG and it still runs."""
    try:
        ended_pid, status = os.waitpid(pid, options)
    except ChildProcessError:
        return -1
    return os.waitstatus_to_exitcode(status) if ended_pid else None


def _call_function_and_exit(
    function: Any,
    call: str,
    call_inputs: Sequence[Inputs],
    descriptor: int,
) -> NoReturn:
    """Call a student's function in a forked process, write the results to a pipe, and exit."""
    exit_code = 1
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        os.closerange(3, 5)
        for frame in call_and_encode_results(function, call, call_inputs):
            remaining = memoryview(frame)
            while remaining:
                remaining = remaining[os.write(descriptor, remaining) :]
        if any(inputs.memory is not None for inputs in call_inputs):
            sleep(LINGER_SECONDS)
        exit_code = 0
    finally:
        os._exit(exit_code)
