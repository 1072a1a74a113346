"""The warm process: imports once what all hand-ins need, and is forked for each."""

import gc
import importlib
import os
import signal
import socket
import traceback
from collections.abc import Sequence

from autograder.grading.sandbox.inside import Config, confine
from autograder.grading.sandbox.inside.keeper import keep
from autograder.grading.sandbox.inside.starter import Starter


def warm(config: Config) -> None:
    """Fork the process that is to be warm, and go on as the keeper."""
    ours, theirs = socket.socketpair()
    control = socket.socket(fileno=config["control"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    if config["sandboxed"]:
        confine.lead_to_pids()
    if os.fork() == 0:
        try:
            ours.close()
            control.close()
            confine.die_with_parent()
            _be_warm(config, theirs)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()  # to a file of the grader's: no student's code runs here
        finally:
            os._exit(1)
    theirs.close()
    if config["sandboxed"]:
        confine.drop_capabilities()
    if not ours.recv(1):
        os._exit(1)
    control.sendall(b"+")
    keep(control, ours, config["sandboxed"])


def _be_warm(config: Config, keeper: socket.socket) -> None:
    """Prepare, then start each hand-in that the keeper asks for."""
    if config["sandboxed"]:
        confine.drop_capabilities(but=confine.CAP_SYS_ADMIN)  # for PID namespaces
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
    keeper.sendall(b"+")
    Starter(keeper, config["sandboxed"], shell).serve()


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
