"""Fork server: a process that imports numpy, IPython and so on, and forks for each submission.

So a submission starts without the time for these imports. No student's code runs in the fork
server itself.
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

from autograder.core import import_guard
from autograder.core.run_limits import RunLimits
from autograder.sandbox.inside import StartupConfig, forked_executor, linux, protocol
from autograder.sandbox.inside.executor import preload_modules
from autograder.sandbox.inside.isolation import Isolation, NamespaceIsolation
from autograder.sandbox.inside.supervisor import serve_runs

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.sandbox.inside.ipython_shell import Shell


def start_sandbox(config: StartupConfig) -> None:
    """Fork this process. The child is the fork server, from which submissions are forked.

    The parent is the supervisor, which controls each submission.
    """
    fork_server, supervisor = socket.socketpair()
    control = socket.socket(fileno=config["control"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    isolation = NamespaceIsolation() if config["namespaces"] else Isolation()
    isolation.before_fork()
    pid = os.fork()
    if pid == 0:
        try:
            fork_server.close()
            control.close()
            linux.die_with_parent()
            _run_fork_server(config, supervisor, isolation)
        except BaseException:  # noqa: BLE001
            # Write the traceback to the grader's log. No student's code has run in this process, so
            # the traceback can be trusted.
            traceback.print_exc()
        finally:
            os._exit(1)
    supervisor.close()
    isolation.enter_supervisor()
    if not fork_server.recv(1):
        os._exit(1)
    control.sendall(b"+")
    serve_runs(control, fork_server, pid)


def _run_fork_server(
    config: StartupConfig,
    supervisor: socket.socket,
    isolation: Isolation,
) -> None:
    """Import the modules to preload, then fork a submission whenever the supervisor asks."""
    isolation.enter_fork_server()
    shell = None
    if config["preload"]:
        preload_modules(config["preload"])
        from autograder.sandbox.inside.ipython_shell import prepare_shell

        shell = prepare_shell()
    import_guard.guard_imports()
    linux.read_proc_files()  # every submission inherits the cached result
    gc.collect()
    # Keep the garbage collector from writing to the memory that all submissions share: the kernel
    # would copy it for each.
    gc.freeze()
    linux.use_huge_pages()
    # A submission runs too briefly for Python's frequent garbage collections to be worth it.
    gc.set_threshold(20_000)
    supervisor.sendall(b"+")
    ForkServer(supervisor, isolation, shell).serve()


class ForkServer:
    """Process that forks one submission after another for the supervisor, and kills each.

    Parameters
    ----------
    supervisor : socket
        Socket to the supervisor. For each submission the supervisor first sends one byte, with
        which come the descriptors of two pipes: for orders to the submission, and for its replies.
    shell : Shell or None
        IPython's shell for the submissions; None if the sandbox is only tried out, without cells.
    """

    def __init__(
        self,
        supervisor: socket.socket,
        isolation: Isolation,
        shell: "Shell | None",
    ) -> None:
        self._socket, self._isolation, self._shell = supervisor, isolation, shell
        self._supervisor = protocol.Channel(supervisor.fileno(), supervisor.fileno())
        self._address_space = linux.measure_address_space()

    def serve(self) -> None:
        """Start and end one submission after another, until the supervisor has ended."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        with suppress(protocol.ChannelClosed):
            while True:
                poll.poll()
                message, fds, *_ = socket.recv_fds(self._socket, 1, 2)
                if not message:
                    return
                self._fork_and_await_submission(*fds)

    def _fork_and_await_submission(self, commands: int, reports: int) -> None:
        """Start one submission, and kill it with all its processes when the supervisor says so."""
        limits = RunLimits(**self._supervisor.receive()[0]["limits"])
        self._child = self._isolation.fork_submission()
        if self._child == 0:
            try:
                self._become_submission(limits, commands, reports)
            finally:
                os._exit(1)
        os.close(commands)
        os.close(reports)
        status: int | None = None
        try:
            self._supervisor.send({"op": "started"})
            end_order = self._supervisor.receive()[0]
            status = self._wait_for_exit(end_order["seconds"])
        finally:
            self._isolation.kill_submission(self._child, status is not None)
        exit_code = None if status is None else os.waitstatus_to_exitcode(status)
        self._supervisor.send({"exit": exit_code})

    def _become_submission(self, limits: RunLimits, commands: int, reports: int) -> None:
        try:
            linux.prefer_oom_kill()
            self._isolation.enter_submission(limits)
            self._restrict_submission(limits, commands, reports)
        except BaseException:  # noqa: BLE001
            # Write the traceback to the grader's log. No student's code has run in this process
            # yet, so the traceback can be trusted.
            traceback.print_exc()
            return
        channel = protocol.Channel(3, 4)
        executor = forked_executor.ForkedExecutor(
            self._shell,
            channel,
            limits.output_bytes,
            self._isolation,
        )
        executor.serve()

    def _restrict_submission(self, limits: RunLimits, commands: int, reports: int) -> None:
        """Close all descriptors of the submission except two pipes, and drop all privileges."""
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        max_descriptors = max(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        # Give the two pipes higher numbers first, because the loop below puts other files at the
        # numbers 0 to 4.
        pipes = [os.dup(commands) for _ in range(6)][-1], [os.dup(reports) for _ in range(6)][-1]
        self._isolation.restrict_submission(limits, self._address_space)
        for number, fd in enumerate((null, null, null, *pipes)):
            os.dup2(fd, number, inheritable=number < 3)
        os.closerange(5, max_descriptors)

    def _wait_for_exit(self, seconds: float) -> int | None:
        """Wait so many seconds for a submission to end; return its exit status, or None."""
        deadline = monotonic() + seconds
        while True:
            pid, status = os.waitpid(self._child, os.WNOHANG)
            if pid:
                return status
            if monotonic() > deadline:
                return None
            select.poll().poll(5)
