"""Sandboxes whose hand-ins are processes of this machine, forked from a warm one that has imported everything.

`autograder.grading.sandbox.inside` runs there: the warm process, and a keeper that talks with one hand-in after
another. What is put around them is each sandbox's own.
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

from autograder.grading.sandbox.inside import wire
from autograder.grading.sandbox.inside.drive import CellRun, Reported
from autograder.grading.sandbox.inside.limits import Limits
from autograder.grading.sandbox.run import Sandbox, SandboxError
from autograder.stopwatch import PATIENCE

STARTUP_SECONDS = 120  # a machine that is busy importing TensorFlow in every process may need them


class Forking(Sandbox):
    """One warm process, and what is forked from it."""

    _process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def _launch(self, control: int, opened: ExitStack) -> tuple[list[str], dict[str, str], list[int]]:
        """The command line of the warm process, with what is around it; its environment; descriptors that it takes.

        `control` is a descriptor for its `Config`; what is `opened` for it is closed when it has ended.
        """

    def close(self) -> None:
        with self._lock:
            self._stop()

    def probe(self) -> None:
        """Make all that a run needs, with nothing to run in it; raises SandboxError if that fails."""
        try:
            for _ in self._reports([], [], self.limits, 2):
                pass
        except (wire.WireError, OSError) as error:
            raise SandboxError(self._why(f"{error}.")) from error

    def _reports(
        self,
        plan: Sequence[dict[str, Any] | None],
        arrays: list[np.ndarray],
        limits: Limits,
        seconds: float,
    ) -> Generator[Reported, None, None]:
        channel, connection = self._connect(seconds)
        try:
            channel.send({"limits": asdict(limits), "seconds": seconds})
            channel.send({"cells": list(plan)}, arrays)
            while (frame := channel.receive())[0] != {"op": "end"}:
                yield CellRun.from_fields(frame[0]), frame[1]
        finally:
            connection.close()

    def _connect(self, seconds: float) -> tuple[wire.Channel, socket.socket]:
        """A connection of this run's own, its other end in the hands of the warm process."""
        self.start()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                with self._lock:
                    socket.send_fds(self._control, [b"+"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        latest = monotonic() + PATIENCE * seconds + 15  # the keeper ends the run by itself, long before

        def tick() -> None:
            if monotonic() > latest:
                raise wire.WireError("the sandbox does not answer")

        return wire.Channel(ours.fileno(), ours.fileno(), tick), ours

    def start(self) -> None:
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            self._stop()
            self._start()

    def _start(self) -> None:
        """Start the process, and wait until it has imported everything."""
        with ExitStack() as opened:
            self._log: IO[bytes] = opened.enter_context(tempfile.TemporaryFile())
            ours, theirs = map(opened.enter_context, socket.socketpair())
            command, env, descriptors = self._launch(theirs.fileno(), opened)
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=env,
                cwd="/",
                pass_fds=[theirs.fileno(), *descriptors],
                start_new_session=True,  # an interrupt at the keyboard is for the grader
            )
            opened.callback(process.wait)
            opened.callback(process.kill)  # all else in its PID namespace dies with it
            theirs.close()
            ours.settimeout(STARTUP_SECONDS)
            try:
                if ours.recv(1) != b"+":
                    raise SandboxError(self._why("The sandbox does not start."))
            except TimeoutError:
                raise SandboxError(f"The sandbox did not start within {STARTUP_SECONDS} s.") from None
            ours.settimeout(None)
            self._process, self._control, self._opened = process, ours, opened.pop_all()

    def _config(self, control: int, **others: Any) -> str:
        """The warm process's `inside.Config`."""
        return json.dumps({"control": control, "preload": list(self._preload), "uid": None, **others})

    def _stop(self) -> None:
        if self._process is not None:
            self._process = None
            self._opened.close()

    def _why(self, what: str) -> str:
        """`what`, with the end of what the warm process had to say."""
        with suppress(OSError, ValueError, AttributeError):  # there may be no log, or no longer
            size = os.fstat(self._log.fileno()).st_size
            said = os.pread(self._log.fileno(), 2000, max(0, size - 2000)).decode("utf-8", "replace").strip()
            return f"{what} {said}".strip()
        return what

    def _environment(self, home: str, temporary: str, prefix: str, course: str) -> dict[str, str]:
        one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")}
        return {
            **self._basics(home, temporary, course),
            "PATH": f"{prefix}/bin:/usr/bin:/bin",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MALLOC_ARENA_MAX": "2",  # address space is limited, and each thread's arena takes 64 MB of it
            "PIP_NO_INDEX": "1",  # so that `!pip install` says at once that it cannot
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_NUM_INTRAOP_THREADS": "1",
            "TF_NUM_INTEROP_THREADS": "1",
            "TF_ENABLE_ONEDNN_OPTS": "0",
            "CUDA_VISIBLE_DEVICES": "",
            **one,
            **self._env,
        }
