"""Remove the features that only Linux, or only POSIX, has; imported from PYTHONPATH.

Removed:

- modules, from our own code (libraries have their own ways where they are missing): fcntl,
resource, termios, tty,
  pty, pwd, grp;
- of os: fork, forkpty, killpg, setsid, setpgid, setuid, getpgid, wait3, wait4,
waitstatus_to_exitcode,
  sched_getaffinity, sysconf, pread, mkfifo, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY, O_CLOEXEC,
  unshare, setns;
- of signal: SIGKILL, SIGALRM, SIGCHLD, SIGHUP, alarm, setitimer, pthread_kill, pthread_sigmask;
- of select and socket: poll, epoll; send_fds, recv_fds;
- of subprocess: pass_fds, start_new_session, preexec_fn;
- /proc, from our own code; and `sys.platform` is "elsewhere".

Libraries (subprocess, psutil, Jupyter) need the files and pipes of Linux, and its way to start
and end processes: these stay. So paths with backslashes, locked files, and the end of processes
on Windows are not tested.
"""

import asyncio  # noqa: F401
import builtins
import contextlib
import ctypes  # noqa: F401
import multiprocessing.connection  # noqa: F401
import os
import platform
import select
import selectors  # noqa: F401
import shutil
import signal
import socket
import subprocess
import sys
import tempfile  # noqa: F401

import psutil  # noqa: F401

MODULES = {"fcntl", "resource", "termios", "tty", "pty", "pwd", "grp"}
REMOVED_NAMES = {
    os: "fork forkpty killpg setsid setpgid setuid getpgid wait3 wait4 waitstatus_to_exitcode "
    "sched_getaffinity sysconf pread mkfifo O_NOFOLLOW O_NONBLOCK O_DIRECTORY O_CLOEXEC unshare "
    "setns",
    signal: "SIGKILL SIGALRM SIGCHLD SIGHUP alarm setitimer pthread_kill pthread_sigmask",
    select: "poll epoll",
    socket: "send_fds recv_fds",
}


def is_own_code(depth: int) -> bool:
    """Return True if our own code calls, directly or through pathlib and the like."""
    frame = sys._getframe(depth)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.split(".")[0] not in (
            "pathlib",
            "io",
            "os",
            "posixpath",
            "genericpath",
            "importlib",
            "sitecustomize",
        ):
            return name.split(".")[0] in ("autograder", "attention_labs")
        frame = frame.f_back
    return False


REAL_IMPORT = builtins.__import__


def import_module(name, *args, **kwargs):
    if name in MODULES and is_own_code(2):
        raise ImportError(f"there is no {name} here")
    return REAL_IMPORT(name, *args, **kwargs)


def refuse_proc(event, arguments):
    if (
        event in ("open", "os.listdir", "os.scandir")
        and str(arguments[0]).startswith("/proc")
        and is_own_code(2)
    ):
        raise FileNotFoundError(2, "there is no /proc here", str(arguments[0]))


class Popen(subprocess.Popen):
    """Popen without the options that Windows refuses."""

    def __init__(self, *arguments, **options):
        refused_options = {"pass_fds", "start_new_session", "preexec_fn"} & {
            name for name, value in options.items() if value
        }
        if refused_options and is_own_code(2):
            raise ValueError(f"{refused_options.pop()} is not supported here")
        super().__init__(*arguments, **options)

    def kill(self):
        self.send_signal(9)


platform.machine(), platform.system()  # kept, as they are found by asking a program
shutil._use_fd_functions = False
subprocess._CAN_USE_PIDFD_OPEN = False  # of Python 3.15, where `wait` would call select.poll
subprocess.Popen = Popen
builtins.__import__ = import_module
sys.addaudithook(refuse_proc)
with contextlib.suppress(ImportError):
    import wasmtime  # noqa: F401 - it asks for the system by name
sys.platform = "elsewhere"
for module, names in REMOVED_NAMES.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
