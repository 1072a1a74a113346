"""Base of the sandboxes that start each submission by forking a process with modules imported.

Inside such a sandbox run a fork server, which has already imported numpy, IPython and so on, and a
supervisor, which runs one submission after another (see `autograder.sandbox.inside`). The
subclasses start both with or without isolation from the rest of the machine.
"""

import json
import os
import socket
import subprocess
import tempfile
from abc import abstractmethod
from collections.abc import Generator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from time import monotonic
from typing import IO, Any

import numpy as np

from autograder.core.blas_threads import THREAD_VARIABLES
from autograder.core.cpu_time import WALL_SECONDS_PER_CPU_SECOND
from autograder.core.run_limits import RunLimits
from autograder.sandbox.base import Sandbox, SandboxError
from autograder.sandbox.inside import protocol
from autograder.sandbox.inside.driver import CellReport, CellRun

# Time limit for starting the sandbox, in seconds. A busy machine that imports TensorFlow in every
# worker may need as long.
STARTUP_SECONDS = 120


class ForkServerSandbox(Sandbox):
    """Sandbox whose submissions are all forked from one prepared process, the fork server."""

    _process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def _make_launch_command(
        self, control: int, resources: ExitStack
    ) -> tuple[list[str], dict[str, str], list[int]]:
        """Return how to start the sandbox: command, environment, and descriptors to inherit.

        Parameters
        ----------
        control : int
            Descriptor of the socket to the grader, to be passed on in the `StartupConfig`.
        resources : ExitStack
            Context managers entered here, such as a temporary folder, are closed when the
            sandbox's process has ended.
        """

    def close(self) -> None:
        """End the sandbox's processes."""
        with self._lock:
            self._stop()

    def probe(self) -> None:
        """Test the sandbox with an empty submission; raise SandboxError if it does not work."""
        try:
            for _ in self._run_plan([], [], self.limits, 2):
                pass
        except (protocol.ProtocolError, OSError) as error:
            raise SandboxError(self._add_log_excerpt(f"{error}.")) from error

    def _run_plan(
        self,
        plan: Sequence[dict[str, Any] | None],
        arrays: list[np.ndarray],
        limits: RunLimits,
        seconds: float,
    ) -> Generator[CellReport, None, None]:
        channel, connection = self._connect_to_supervisor(seconds)
        try:
            channel.send({"limits": asdict(limits), "seconds": seconds})
            channel.send({"cells": list(plan)}, arrays)
            while True:
                header, values = channel.receive()
                if header == {"op": "end"}:
                    break
                yield CellRun.from_fields(header), values
        finally:
            connection.close()

    def _connect_to_supervisor(self, seconds: float) -> tuple[protocol.Channel, socket.socket]:
        """Open a connection to the supervisor, the sandbox's process that controls a submission.

        Start the sandbox first if it is not running.
        """
        self.start()
        connection, supervisor_end = socket.socketpair()
        with supervisor_end:
            try:
                with self._lock:
                    socket.send_fds(self._control, [b"+"], [supervisor_end.fileno()])
            except OSError:
                connection.close()
                raise
        # The supervisor, a process in the sandbox, enforces the time limit itself. This later
        # deadline applies only if the supervisor hangs.
        deadline = monotonic() + WALL_SECONDS_PER_CPU_SECOND * seconds + 15

        def check_deadline() -> None:
            if monotonic() > deadline:
                raise protocol.ProtocolError("the sandbox does not answer")

        descriptor = connection.fileno()
        return protocol.Channel(descriptor, descriptor, check_deadline), connection

    def start(self) -> None:
        """Start the sandbox's processes; do nothing if they are running."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            self._stop()
            self._start_process()

    def _start_process(self) -> None:
        """Start the sandbox's process, and wait until it has imported the modules to preload."""
        with ExitStack() as resources:
            self._log: IO[bytes] = resources.enter_context(tempfile.TemporaryFile())
            control, sandbox_end = map(resources.enter_context, socket.socketpair())
            command, env, descriptors = self._make_launch_command(sandbox_end.fileno(), resources)
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=env,
                cwd="/",
                pass_fds=[sandbox_end.fileno(), *descriptors],
                start_new_session=True,  # Ctrl+C in the terminal shall reach the grader only
            )
            resources.callback(process.wait)
            resources.callback(process.kill)  # kills all processes in its PID namespace
            sandbox_end.close()
            control.settimeout(STARTUP_SECONDS)
            try:
                if control.recv(1) != b"+":
                    raise SandboxError(self._add_log_excerpt("The sandbox does not start."))
            except TimeoutError:
                message = f"The sandbox did not start within {STARTUP_SECONDS} s."
                raise SandboxError(message) from None
            control.settimeout(None)
            self._process, self._control, self._resources = process, control, resources.pop_all()

    def _startup_config_json(self, control: int, **options: Any) -> str:
        """Return the start-up settings of the sandbox's processes (`StartupConfig`) as JSON."""
        config = {"control": control, "preload": list(self._preload), "uid": None}
        return json.dumps({**config, **options})

    def _stop(self) -> None:
        if self._process is not None:
            self._process = None
            self._resources.close()

    def _add_log_excerpt(self, message: str) -> str:
        """Return the message, followed by the last 2,000 bytes of the sandbox's log."""
        # The log file may not exist yet, or may be closed already. Then add nothing.
        with suppress(OSError, ValueError, AttributeError):
            size = os.fstat(self._log.fileno()).st_size
            data = os.pread(self._log.fileno(), 2000, max(0, size - 2000))
            return f"{message} {data.decode('utf-8', 'replace').strip()}".strip()
        return message

    def _build_environment(
        self,
        home: str,
        temporary: str,
        prefix: str,
        course: str,
    ) -> dict[str, str]:
        return {
            **self._make_base_environment(home, temporary, course),
            "PATH": f"{prefix}/bin:/usr/bin:/bin",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            # The size of the address space is limited, and the C library's malloc reserves 64 MB of
            # it for each of its arenas. So allow two arenas only.
            "MALLOC_ARENA_MAX": "2",
            # There is no network: let `!pip install` fail at once instead of trying for a while.
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_NUM_INTRAOP_THREADS": "1",
            "TF_NUM_INTEROP_THREADS": "1",
            "TF_ENABLE_ONEDNN_OPTS": "0",
            "CUDA_VISIBLE_DEVICES": "",
            **dict.fromkeys(THREAD_VARIABLES, "1"),
            **self._env,
        }
