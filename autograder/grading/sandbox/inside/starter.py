"""The starter: what the warm process does once it is warm. It starts one hand-in after another, and ends each.

A hand-in is a fork of it, in namespaces of its own. No student's code runs here.
"""

import os
import resource
import select
import shutil
import signal
import socket
import tempfile
import traceback
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from autograder.grading.sandbox.inside import confine, process, wire
from autograder.grading.sandbox.inside.limits import Limits

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.grading.sandbox.inside.shell import Shell


class Starter:
    """Starts hand-ins for the keeper, one after another, and ends them.

    Parameters
    ----------
    keeper : socket
        Orders come over it, and answers to them go back. The first order of a run comes with a byte that
        carries the hand-in's ends of its two pipes.
    sandboxed : bool
    shell : Shell or None
        None where only namespaces are to be tried, and there is no cell.
    """

    def __init__(self, keeper: socket.socket, sandboxed: bool, shell: "Shell | None") -> None:
        self._socket, self._sandboxed, self._shell = keeper, sandboxed, shell
        self._keeper = wire.Channel(keeper.fileno(), keeper.fileno())
        self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY) if sandboxed else -1
        self._processes = confine.all_processes()
        self._me, self._base, self._resident = os.getpid(), 0, 0
        if self._processes:
            self._me = int(os.readlink("/proc/self"))  # as the keeper counts
            self._base, self._resident = confine.sizes()

    def serve(self) -> None:
        """One run after another, until the keeper has gone."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        if not self._sandboxed:
            confine.adopt_orphans()
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
        folder = None if self._sandboxed else tempfile.mkdtemp(prefix="hand-in-")
        self._ended: int | None = None  # the hand-in's wait status
        self._child = confine.fork_as_first(self._own_pids) if self._sandboxed else os.fork()
        if self._child == 0:
            try:
                self._become_hand_in(limits, folder, commands, reports)
            finally:
                os._exit(1)
        os.close(commands)
        os.close(reports)
        try:
            started = {"pid": self._number_of_child(), "base": self._base, "resident": self._resident}
            self._keeper.send(started)
            while (order := self._keeper.receive()[0])["op"] == "how":
                self._keeper.send({"exit": self._exit_within(order["seconds"])})
        finally:
            self._kill()
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
        self._keeper.send({"exit": self._exit_within(0)})

    def _number_of_child(self) -> int:
        """The hand-in's PID as the keeper counts: in the namespace that /proc was mounted in."""
        if not self._processes:
            return self._child
        return max(set(self._processes.under(self._me)) - {self._me}, default=0)

    def _become_hand_in(self, limits: Limits, folder: str | None, commands: int, reports: int) -> None:
        try:
            if folder:
                os.environ.update(HOME=folder, TMPDIR=folder)
                os.mkdir(f"{folder}/notebook")
                os.chdir(f"{folder}/notebook")
            else:
                confine.enter_namespaces(limits.scratch_bytes)
            self._confine(limits, commands, reports)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()  # to a file of the grader's: no student's code has run yet
            return
        process.HandIn(self._shell, wire.Channel(3, 4), limits, self._sandboxed).serve()

    def _confine(self, limits: Limits, commands: int, reports: int) -> None:
        """Keep the two pipes, as 3 and 4, and nothing else that was open; and no way to do harm."""
        os.setsid()
        if self._processes:
            self._processes.be_killed_first()
        nothing = os.open(os.devnull, os.O_RDWR)
        most = max(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        # Above every number that dup2 is about to overwrite.
        kept = [os.dup(commands) for _ in range(6)][-1], [os.dup(reports) for _ in range(6)][-1]
        confine.set_limits(limits, self._base, self._sandboxed)
        if self._sandboxed:
            confine.drop_capabilities()
        confine.die_with_parent()
        if self._sandboxed:
            confine.refuse_calls()
        for number, fd in enumerate((nothing, nothing, nothing, *kept)):
            os.dup2(fd, number, inheritable=number < 3)
        os.closerange(5, most)

    def _gone(self) -> bool:
        if self._ended is None:
            pid, status = os.waitpid(self._child, os.WNOHANG)
            self._ended = status if pid else None
        return self._ended is not None

    def _exit_within(self, seconds: float) -> int | None:
        """The hand-in's exit code as `os.waitstatus_to_exitcode` gives it; None while it lives."""
        until = monotonic() + seconds
        while not self._gone():
            if monotonic() > until:
                return None
            select.poll().poll(5)
        return None if self._ended is None else os.waitstatus_to_exitcode(self._ended)

    def _kill(self) -> None:
        if self._sandboxed:  # PID 1 takes its whole namespace with it, before waitpid returns
            if not self._gone():
                os.kill(self._child, signal.SIGKILL)
                self._ended = os.waitpid(self._child, 0)[1]
            return
        if not self._processes:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child, signal.SIGKILL)
            return
        while tree := set(self._processes.under(self._me)) - {self._me}:
            for pid in tree:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                while True:  # this process adopts what the hand-in leaves
                    pid, status = os.waitpid(-1, 0)
                    if pid == self._child:
                        self._ended = status
