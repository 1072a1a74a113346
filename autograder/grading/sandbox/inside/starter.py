"""The starter: one process for each hand-in, its parent.

It is forked from the warm process, makes the namespaces, forks the hand-in, and waits to be asked how that ended,
or to end it. No student's code runs in it.
"""

import os
import resource
import select
import shutil
import signal
import tempfile
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, NoReturn

from autograder.grading.sandbox.inside import confine, process, wire
from autograder.grading.sandbox.inside.limits import Limits

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.grading.sandbox.inside.shell import Shell


class Starter:
    """Starts one hand-in, and ends it.

    Parameters
    ----------
    line : int
        A socket to the keeper: orders come over it, and answers to them go back.
    commands, reports : int
        The hand-in's ends of its pipes to the keeper.
    sandboxed : bool
    shell : Shell or None
        None where only namespaces are to be tried, and there is no cell.
    """

    def __init__(
        self, line: int, commands: int, reports: int, sandboxed: bool, shell: "Shell | None"
    ) -> None:
        self._keeper = wire.Channel(line, line)
        self._commands, self._reports = commands, reports
        self._sandboxed, self._shell = sandboxed, shell
        self._ended: int | None = None  # the hand-in's wait status

    def run(self) -> None:
        """From the first order to the last; the hand-in and all it started are dead afterwards."""
        confine.die_with_parent()
        self._limits = Limits(**self._keeper.receive()[0]["limits"])
        proc = os.path.isdir("/proc/self")
        self._processes = confine.Processes(os.open("/proc", os.O_RDONLY)) if proc else None
        self._base, resident = confine.sizes() if proc else (0, 0)
        folder = None
        if self._sandboxed:
            confine.enter_namespaces(self._limits.scratch_bytes)
        else:
            folder = _own_folder()
        confine.adopt_orphans()
        self._child = os.fork()
        if self._child == 0:
            code = 1
            try:
                self._become_hand_in()
                code = 0
            finally:
                os._exit(code)
        os.close(self._commands)
        os.close(self._reports)
        if self._sandboxed:
            confine.drop_capabilities()
        try:
            self._keeper.send({"pid": self._child, "base": self._base, "resident": resident})
            while (order := self._keeper.receive()[0])["op"] == "how":
                self._keeper.send({"exit": self._exit_within(order["seconds"])})
        except wire.Closed:
            pass  # the keeper has gone
        finally:
            self._kill()
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
        with suppress(wire.Closed):
            self._keeper.send({"exit": self._exit_within(0)})

    def _become_hand_in(self) -> NoReturn:
        os.setsid()
        if self._processes:
            self._processes.be_killed_first()
        nothing = os.open(os.devnull, os.O_RDWR)
        # Above every number that dup2 is about to overwrite.
        kept = [os.dup(self._commands) for _ in range(6)][-1], [os.dup(self._reports) for _ in range(6)][-1]
        for number, fd in enumerate((nothing, nothing, nothing, *kept)):
            os.dup2(fd, number, inheritable=number < 3)
        os.closerange(5, max(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
        confine.set_limits(self._limits, self._base, self._sandboxed)
        if self._sandboxed:
            confine.drop_capabilities()
        confine.die_with_parent()
        if self._sandboxed:
            confine.refuse_calls()
        process.HandIn(self._shell, wire.Channel(3, 4), self._limits, self._sandboxed).serve()

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
        while tree := set(self._processes.under(os.getpid())) - {os.getpid()}:
            for pid in tree:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                while True:  # this process adopts what the hand-in leaves
                    pid, status = os.waitpid(-1, 0)
                    if pid == self._child:
                        self._ended = status


def _own_folder() -> str:
    """A temporary home with an empty working directory, for a hand-in that runs without a sandbox."""
    folder = tempfile.mkdtemp(prefix="hand-in-")
    os.environ.update(HOME=folder, TMPDIR=folder)
    os.mkdir(f"{folder}/notebook")
    os.chdir(f"{folder}/notebook")
    return folder
