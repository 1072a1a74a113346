"""Isolation of a submission's processes from the machine and from other submissions.

Inside bubblewrap a submission gets its own namespaces, a system call filter and limits. Without a
sandbox it only gets limits.
"""

import os
import shutil
import signal
import tempfile
from contextlib import suppress

import psutil

from autograder.core.run_limits import RunLimits
from autograder.sandbox.inside import linux


class Isolation:
    """Steps by which the processes of a sandbox isolate submissions from each other and the system.

    The supervisor, the fork server and the submissions call these methods at certain points, such
    as before they fork. This base class only sets resource limits: submissions can read and write
    what the grader can. Subclasses isolate more.
    """

    def before_fork(self) -> None:
        """Prepare the process from which the fork server will be forked. Here, do nothing."""

    def enter_supervisor(self) -> None:
        """Drop the privileges that the supervisor, which controls submissions, does not need."""

    def enter_fork_server(self) -> None:
        """Prepare the fork server for starting submissions."""
        linux.adopt_orphans()

    def fork_submission(self) -> int:
        """Fork a submission from the fork server; return its process id, or 0 in the submission."""
        self._folder = tempfile.mkdtemp(prefix="submission-")
        return os.fork()

    def enter_submission(self, limits: RunLimits) -> None:
        """Give the submission a working directory of its own."""
        os.environ.update(HOME=self._folder, TMPDIR=self._folder)
        os.mkdir(f"{self._folder}/notebook")
        os.chdir(f"{self._folder}/notebook")

    def restrict_submission(self, limits: RunLimits, address_space: int) -> None:
        """Set a submission's limits and drop its privileges, as the last step before its code runs.

        `address_space` is the size of the fork server's address space in bytes.
        """
        linux.set_limits(limits, address_space)
        linux.die_with_parent()

    def end_answer_process(self, pid: int) -> None:
        """Kill the process in which a student's function was called, with its children."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)

    def end_descendants(self) -> None:
        """Kill the processes that the notebook's cells have started and left running."""

    def kill_submission(self, child: int, has_ended: bool) -> None:
        """Kill a submission if it still runs, and its descendants. The fork server calls this."""
        # Only on Linux do orphaned descendants become children of the fork server. Elsewhere they
        # can be killed only by their process group.
        if not psutil.LINUX:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
        while True:
            descendants = psutil.Process().children(recursive=True)
            if not descendants:
                break
            for process in descendants:
                with suppress(psutil.Error):
                    process.kill()
            with suppress(ChildProcessError):
                while True:
                    os.waitpid(-1, 0)
        shutil.rmtree(self._folder, ignore_errors=True)


class NamespaceIsolation(Isolation):
    """Isolation inside bubblewrap: own namespaces, a system call filter and no capabilities."""

    def before_fork(self) -> None:
        """Create a new PID namespace, in which the fork server will be process 1."""
        linux.unshare_pids()

    def enter_supervisor(self) -> None:
        """Drop all Linux capabilities: the separate privileges that make up the power of root."""
        linux.drop_capabilities()

    def enter_fork_server(self) -> None:
        """Drop all capabilities but CAP_SYS_ADMIN, which new PID namespaces need."""
        linux.drop_capabilities(keep=linux.CAP_SYS_ADMIN)
        self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY)

    def fork_submission(self) -> int:
        """Fork a submission as process 1 of a new PID namespace."""
        return linux.fork_as_init(self._own_pids)

    def enter_submission(self, limits: RunLimits) -> None:
        """Enter the submission's own namespaces, with empty temporary folders."""
        linux.enter_namespaces(limits.scratch_bytes)

    def restrict_submission(self, limits: RunLimits, address_space: int) -> None:
        """Set limits, drop all capabilities, and install the system call filter."""
        linux.set_limits(limits, address_space, limits.processes)
        linux.drop_capabilities()
        linux.die_with_parent()
        linux.install_seccomp_filter()

    def end_answer_process(self, pid: int) -> None:
        """Kill the process in which a student's function was called, with all that it started."""
        self.end_descendants()

    def end_descendants(self) -> None:
        """Kill all processes of a submission except its first, which calls this."""
        with suppress(ProcessLookupError):
            # -1 stands for all processes in this PID namespace except the calling one.
            os.kill(-1, signal.SIGKILL)

    def kill_submission(self, child: int, has_ended: bool) -> None:
        """Kill a submission's first process if it still runs.

        The kernel then kills all other processes of its PID namespace, before waitpid returns.
        """
        if not has_ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
