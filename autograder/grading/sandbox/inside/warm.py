"""The warm process: imports once what all hand-ins need, and is forked for each."""

import gc
import importlib
import os
import select
import signal
import socket
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from autograder.grading.sandbox.inside import Config, confine
from autograder.grading.sandbox.inside.keeper import keep
from autograder.grading.sandbox.inside.starter import Starter

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.grading.sandbox.inside.shell import Shell


def warm(config: Config) -> None:
    """Fork the process that is to be warm, and go on as the keeper."""
    ours, theirs = socket.socketpair()
    control = socket.socket(fileno=config["control"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def be_warm() -> None:
        ours.close()
        control.close()
        confine.die_with_parent()
        _be_warm(config, theirs)

    _fork(be_warm)
    theirs.close()
    if not ours.recv(1):
        os._exit(1)
    control.sendall(b"+")
    keep(control, ours, config["sandboxed"])


def _be_warm(config: Config, control: socket.socket) -> None:
    """Prepare, then fork a starter for each hand-in that the keeper asks for."""
    shell = None
    if config["preload"]:
        preload(config["preload"])
        from autograder.grading.sandbox.inside.shell import prepare_shell

        shell = prepare_shell()
    confine.proc_files()  # read now, for all forks
    gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, what every fork shares
    confine.gather_pages()
    gc.set_threshold(20_000)  # a hand-in is over before more collecting would pay
    control.sendall(b"+")
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    starters: set[int] = set()
    while True:
        ready = waiting.poll(100 if starters else None)
        for pid in list(starters):
            if os.waitpid(pid, os.WNOHANG)[0]:
                starters.discard(pid)
        if not ready:
            continue
        message, fds, *_ = socket.recv_fds(control, 1, 3)
        if not message:
            return
        starters.add(_fork_starter(fds, control, config["sandboxed"], shell))
        for fd in fds:
            os.close(fd)


def _fork_starter(fds: list[int], control: socket.socket, sandboxed: bool, shell: "Shell | None") -> int:
    """The PID of a new process that starts one hand-in, and ends with it."""

    def start() -> None:
        control.close()
        line, commands, reports = fds
        Starter(line, commands, reports, sandboxed, shell).run()

    return _fork(start)


def _fork(work: Callable[[], None]) -> int:
    """The PID of a new process that does this and ends."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001
            traceback.print_exc()  # to a file of the grader's: no student's code runs here
        finally:
            os._exit(code)
    return pid


def preload(names: Sequence[str]) -> None:
    """Import these modules; after a colon stands a function that reads something for all forks to share.

    >>> preload(["numpy", "math:sqrt"])
    Traceback (most recent call last):
        ...
    TypeError: math.sqrt() takes exactly one argument (0 given)
    """
    for name in names:
        module_name, _, function = name.partition(":")
        module = importlib.import_module(module_name)
        if function:
            getattr(module, function)()
