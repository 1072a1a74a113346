"""Sandboxes of our course that tests share: a lab's sandbox starts once for many runs.

Starting one takes as long as marking ten submissions. Tests of the sandboxes themselves do not use
this module.
"""

import atexit
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache

import psutil
from our_course import ROOT

from autograder.grading.pool import get_sandbox
from autograder.sandbox.fork_server_sandbox import ForkServerSandbox

_running = {}  # the started sandboxes by their settings
_IMPORTING_PROCESS = os.getpid()  # pytest's or the one that commands are forked from
_start_process = ForkServerSandbox._start_process


class _SharedProcess:
    """Process of a sandbox that another process may have started."""

    def __init__(self, pid):
        self._process = psutil.Process(pid)

    def poll(self):
        """Return None while the process runs, as `subprocess.Popen` does."""
        return 1 if has_ended(self._process) else None


def has_ended(process: psutil.Process) -> bool:
    """Return True if a process has ended, even if its parent has not yet asked for its exit code.

    The parent of the test run may ask only after it has read the output to its end. The server of
    commands holds that output open, so each would wait for the other.
    """
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def share_sandboxes(patch=setattr) -> None:
    """Let all runs in this process, and in its forks, use one sandbox for each lab.

    Sandboxes of other courses than ours are shared in a fork only, which ends soon.
    """
    patch(ForkServerSandbox, "_start_process", _start_or_share)


def start_shared_sandboxes(labs) -> None:
    """Start the sandboxes of these labs, for the processes that are forked from this one."""
    share_sandboxes()
    for lab in labs:
        get_sandbox(lab)
    get_sandbox.cache_clear()


def _start_or_share(sandbox) -> None:
    """Use the running sandbox that has the same settings; start one if there is none."""
    is_temporary = sandbox._course != ROOT and os.getpid() == _IMPORTING_PROCESS
    if is_temporary or not sandbox._preload:
        _start_process(sandbox)
        return
    environment = tuple(sorted(sandbox._env.items()))
    settings = (sandbox.name, sandbox._preload, environment, sandbox._library, sandbox._course)
    running = _running.get(settings)
    if running is None or running._process.poll() is not None:
        running = type(sandbox)(
            sandbox._preload, sandbox.limits, sandbox._env, sandbox._library, sandbox._course
        )
        _get_starting_thread(os.getpid()).submit(_start_process, running).result()
        _running[settings] = running
        atexit.register(_close_in_process, running, os.getpid())
    sandbox._process = _SharedProcess(running._process.pid)
    sandbox._control, sandbox._log = running._control, running._log
    sandbox._resources = ExitStack()


@cache
def _get_starting_thread(pid: int) -> ThreadPoolExecutor:
    """Return a thread of this process: a sandbox ends with the thread that has started it."""
    return ThreadPoolExecutor(1)


def _close_in_process(sandbox, pid: int) -> None:
    if os.getpid() == pid:
        sandbox.close()
