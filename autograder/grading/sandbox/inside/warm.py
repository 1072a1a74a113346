"""The warm process: imports once what all hand-ins need, and forks a keeper for each run."""

import gc
import importlib
import os
import select
import signal
import socket
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autograder.grading.sandbox.inside import Config, confine
from autograder.grading.sandbox.inside.keeper import Keeper

if TYPE_CHECKING:  # IPython, which is imported only if something is preloaded
    from autograder.grading.sandbox.inside.shell import Shell


def warm(config: Config) -> None:
    """Prepare, then fork a keeper for each connection that comes over the control socket."""
    shell = None
    if config["preload"]:
        preload(config["preload"])
        from autograder.grading.sandbox.inside.shell import prepare_shell

        shell = prepare_shell()
    confine.proc_files()  # read now, for all forks
    control = socket.socket(fileno=config["control"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, what every fork shares
    confine.gather_pages()
    gc.set_threshold(20_000)  # a hand-in is over before more collecting would pay
    control.sendall(b"+")
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    keepers: set[int] = set()
    while True:
        ready = waiting.poll(100 if keepers else None)
        for pid in list(keepers):
            if os.waitpid(pid, os.WNOHANG)[0]:
                keepers.discard(pid)
        if not ready:
            continue
        message, fds, *_ = socket.recv_fds(control, 1, 1)
        if not message:
            os._exit(0)
        keepers.add(_fork_keeper(fds[0], control, config["sandboxed"], shell))
        os.close(fds[0])


def _fork_keeper(connection: int, control: socket.socket, sandboxed: bool, shell: "Shell | None") -> int:
    """The PID of a new process that does one run and ends."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            control.close()
            Keeper(connection, sandboxed, shell).run()
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
