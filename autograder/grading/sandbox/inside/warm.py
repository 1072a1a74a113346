"""The warm process: imports once what all hand-ins need, then starts one after another, each a fork of it, and ends it.

No student's code runs here.
"""

import gc
import os
import resource
import select
import signal
import socket
import traceback
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from autograder import imports
from autograder.grading.sandbox.inside import Config, confine, process, wire
from autograder.grading.sandbox.inside.around import Around, Namespaces
from autograder.grading.sandbox.inside.hand_in import preload
from autograder.grading.sandbox.inside.keeper import keep
from autograder.grading.sandbox.inside.limits import Limits

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.grading.sandbox.inside.shell import Shell


def warm(config: Config) -> None:
    """Fork the process that is to be warm, and go on as the keeper."""
    ours, theirs = socket.socketpair()
    control = socket.socket(fileno=config["control"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    around = Namespaces() if config["namespaces"] else Around()
    around.lead()
    if (pid := os.fork()) == 0:
        try:
            ours.close()
            control.close()
            confine.die_with_parent()
            _be_warm(config, theirs, around)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()  # to a file of the grader's: no student's code runs here
        finally:
            os._exit(1)
    theirs.close()
    around.hold_keeper()
    if not ours.recv(1):
        os._exit(1)
    control.sendall(b"+")
    keep(control, ours, pid)


def _be_warm(config: Config, keeper: socket.socket, around: Around) -> None:
    """Prepare, then start each hand-in that the keeper asks for."""
    around.hold_warm()
    shell = None
    if config["preload"]:
        preload(config["preload"])
        from autograder.grading.sandbox.inside.shell import prepare_shell

        shell = prepare_shell()
    imports.guard()
    confine.proc_files()  # read now, for all forks
    gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, what every fork shares
    confine.gather_pages()
    gc.set_threshold(20_000)  # a hand-in is over before more collecting would pay
    keeper.sendall(b"+")
    Starter(keeper, around, shell).serve()


class Starter:
    """Starts hand-ins for the keeper, one after another, and ends them.

    Parameters
    ----------
    keeper : socket
        Orders come over it, and answers to them go back. The first order of a run comes with a byte that
        carries the hand-in's ends of its two pipes.
    around : Around
    shell : Shell or None
        None where only namespaces are to be tried, and there is no cell.
    """

    def __init__(self, keeper: socket.socket, around: Around, shell: "Shell | None") -> None:
        self._socket, self._around, self._shell = keeper, around, shell
        self._keeper = wire.Channel(keeper.fileno(), keeper.fileno())
        self._base = confine.mapped()

    def serve(self) -> None:
        """One run after another, until the keeper has gone."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        with suppress(wire.Closed):
            while True:
                waiting.poll()
                message, fds, *_ = socket.recv_fds(self._socket, 1, 2)
                if not message:
                    return
                self._one(*fds)

    def _one(self, commands: int, reports: int) -> None:
        """One run, from the first order to the last; the hand-in and all it started are dead afterwards."""
        limits = Limits(**self._keeper.receive()[0]["limits"])
        self._child = self._around.fork()
        if self._child == 0:
            try:
                self._become_hand_in(limits, commands, reports)
            finally:
                os._exit(1)
        os.close(commands)
        os.close(reports)
        ended: int | None = None
        try:
            self._keeper.send({"op": "started"})
            ended = self._status_within(self._keeper.receive()[0]["seconds"])  # the order to end it
        finally:
            self._around.kill(self._child, ended is not None)
        self._keeper.send({"exit": None if ended is None else os.waitstatus_to_exitcode(ended)})

    def _become_hand_in(self, limits: Limits, commands: int, reports: int) -> None:
        try:
            confine.be_killed_first()
            self._around.enter(limits)
            self._confine(limits, commands, reports)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()  # to a file of the grader's: no student's code has run yet
            return
        process.Forked(self._shell, wire.Channel(3, 4), limits.output_bytes, self._around).serve()

    def _confine(self, limits: Limits, commands: int, reports: int) -> None:
        """Keep the two pipes, as 3 and 4, and nothing else that was open; and no way to do harm."""
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        most = max(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        # Above every number that dup2 is about to overwrite.
        kept = [os.dup(commands) for _ in range(6)][-1], [os.dup(reports) for _ in range(6)][-1]
        self._around.seal(limits, self._base)
        for number, fd in enumerate((nothing, nothing, nothing, *kept)):
            os.dup2(fd, number, inheritable=number < 3)
        os.closerange(5, most)

    def _status_within(self, seconds: float) -> int | None:
        """The hand-in's wait status, if it ends by itself in so many seconds."""
        until = monotonic() + seconds
        while True:
            pid, status = os.waitpid(self._child, os.WNOHANG)
            if pid or monotonic() > until:
                return status if pid else None
            select.poll().poll(5)
