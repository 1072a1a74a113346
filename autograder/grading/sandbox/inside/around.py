"""What is put around a hand-in that is a process of this machine: namespaces and what goes with them, or nothing."""

import os
import shutil
import signal
import tempfile
from contextlib import suppress

import psutil

from autograder.grading.sandbox.inside import confine
from autograder.grading.sandbox.inside.limits import Limits


class Around:
    """Nothing but limits: the hand-in can read and write what the grader can, and is killed with all below it."""

    def lead(self) -> None:
        """Before the warm process is forked."""

    def hold_keeper(self) -> None:
        """In the keeper."""

    def hold_warm(self) -> None:
        """In the warm process, which starts hand-ins from then on."""
        confine.adopt_orphans()

    def fork(self) -> int:
        """As `os.fork`, for a hand-in."""
        self._folder = tempfile.mkdtemp(prefix="hand-in-")
        return os.fork()

    def enter(self, limits: Limits) -> None:
        """In the hand-in: a place of its own."""
        os.environ.update(HOME=self._folder, TMPDIR=self._folder)
        os.mkdir(f"{self._folder}/notebook")
        os.chdir(f"{self._folder}/notebook")

    def seal(self, limits: Limits, base: int) -> None:
        """In the hand-in, last of all: its limits, and nothing that it could do harm with.

        `base` is the warm process's address space, in bytes.
        """
        confine.set_limits(limits, base)
        confine.die_with_parent()

    def end(self, pid: int) -> None:
        """In the hand-in: kill the process that was asked, with all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)

    def end_all(self) -> None:
        """In the hand-in: kill what its cells have left running."""

    def kill(self, child: int, ended: bool) -> None:
        """In the warm process: kill a hand-in, unless it has `ended` already, and all that it started."""
        if not psutil.LINUX:  # elsewhere this process adopts nobody, so some are found by their group alone
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
        while tree := psutil.Process().children(recursive=True):
            for process in tree:
                with suppress(psutil.Error):
                    process.kill()
            with suppress(ChildProcessError):
                while True:
                    os.waitpid(-1, 0)
        shutil.rmtree(self._folder, ignore_errors=True)


class Namespaces(Around):
    """bubblewrap's, and in those a hand-in's own; a filter on system calls; no capability."""

    def lead(self) -> None:
        confine.lead_to_pids()

    def hold_keeper(self) -> None:
        confine.drop_capabilities()

    def hold_warm(self) -> None:
        confine.drop_capabilities(but=confine.CAP_SYS_ADMIN)  # for PID namespaces
        self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY)

    def fork(self) -> int:
        return confine.fork_as_first(self._own_pids)

    def enter(self, limits: Limits) -> None:
        confine.enter_namespaces(limits.scratch_bytes)

    def seal(self, limits: Limits, base: int) -> None:
        confine.set_limits(limits, base, limits.processes)
        confine.drop_capabilities()
        confine.die_with_parent()
        confine.refuse_calls()

    def end(self, pid: int) -> None:
        self.end_all()

    def end_all(self) -> None:
        with suppress(ProcessLookupError):
            # All of this PID namespace, but for its first process, which is this one.
            os.kill(-1, signal.SIGKILL)

    def kill(self, child: int, ended: bool) -> None:
        if not ended:  # PID 1 takes its whole namespace with it, before waitpid returns
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
