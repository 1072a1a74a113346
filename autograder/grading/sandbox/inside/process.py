"""A hand-in that is a process of its own: a fork of the warm one, which forks itself for each exercise that is asked.

So what an answer does to its process costs that exercise only. The last one is asked in the hand-in's own: nothing
comes after it that could be spoilt.
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

from autograder.grading.sandbox.inside import confine, wire
from autograder.grading.sandbox.inside.hand_in import HandIn, frames_of_answers
from autograder.judging.question import Inputs

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.grading.sandbox.inside.around import Around
    from autograder.grading.sandbox.inside.shell import Shell

LINGER = 0.5  # seconds that an answer whose memory is limited waits to be looked at; the keeper ends it then


class Forked(HandIn):
    """A hand-in in a process of its own.

    Parameters
    ----------
    shell : Shell or None
    channel : wire.Channel
    output_bytes : int
    around : Around
        What is around it, and can end what it started.
    """

    def __init__(
        self, shell: "Shell | None", channel: wire.Channel, output_bytes: int, around: "Around"
    ) -> None:
        super().__init__(shell, channel.receive, _uninterrupted(channel.send), output_bytes)
        self._around, self._pid = around, os.getpid()

    def serve(self) -> NoReturn:
        """Until the keeper closes the channel, which it never does before the end."""
        self.begin()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._emitter.send({"op": "ready"})
        while True:
            self.obey()

    def _run_cell(self, shell: "Shell", source: str) -> bool:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            return super()._run_cell(shell, source)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _after_cell(self) -> None:
        if os.getpid() != self._pid:
            os._exit(0)  # a fork that the student's code made, and let run on

    def _answer(self, function: Any, call: str, questions: list[Inputs], last: bool) -> int:
        """Have a fork of this process answer, unless nothing is to come; the keeper ends it when its time is up."""
        self._around.end_all()  # what cells have left running is in the way of the answer
        # Threads that cells have left running are in no fork. JAX hangs in one once it has been used.
        if (last and not _thread._count()) or "jax" in sys.modules:
            with confine.spare_limits():
                status = super()._answer(function, call, questions, last)
            self._after_cell()
            return status
        status = 1
        with suppress(OSError), confine.spare_limits():
            answers, reports = os.pipe()
            confine.enlarge(reports)
            pid = os.fork()
            if pid == 0:
                _answer(function, call, questions, reports)
            os.close(reports)
            status = self._forward(answers, pid)
            os.close(answers)
        return status

    def _forward(self, answers: int, pid: int) -> int:
        """Pass on what the question's process writes until it ends; its exit code."""
        status: int | None = None
        waiting = select.poll()
        waiting.register(answers, select.POLLIN)
        while True:
            if waiting.poll(0 if status is not None else 20):
                data = os.read(answers, 1 << 18)
                if not data:
                    break
                self._emitter.send({"op": "answers"}, [np.frombuffer(data, np.uint8)])
            elif status is not None:
                break  # it has ended; whoever still holds its pipe has nothing to say
            else:
                status = _exit_of(pid, os.WNOHANG)
        if status is None:
            status = _exit_of(pid, 0)  # it has closed its pipe, and should end
        self._around.end(pid)
        return -1 if status is None else status


def _uninterrupted(send: Callable[..., None]) -> Callable[..., None]:
    """Sending frames that go out whole: an interrupt waits for their end."""

    def whole(*frame: Any) -> None:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            send(*frame)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return whole


def _exit_of(pid: int, how: int) -> int | None:
    """The exit code of a child; None while it runs, if `how` is not to wait for it."""
    try:
        done, status = os.waitpid(pid, how)
    except ChildProcessError:
        return -1
    return os.waitstatus_to_exitcode(status) if done else None


def _answer(function: Any, call: str, questions: Sequence[Inputs], fd: int) -> NoReturn:
    """In the question's process: the answers, and the end."""
    code = 1
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        os.closerange(3, 5)
        for frame in frames_of_answers(function, call, questions):
            left = memoryview(frame)
            while left:
                left = left[os.write(fd, left) :]
        if any(given.memory is not None for given in questions):
            sleep(LINGER)
        code = 0
    finally:
        os._exit(code)
