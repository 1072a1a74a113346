"""The warm process: imports once what all hand-ins need, and is forked for each."""

import gc
import os
import signal
import socket
import traceback

from autograder import imports
from autograder.grading.sandbox.inside import Config, confine
from autograder.grading.sandbox.inside.around import Around, Namespaces
from autograder.grading.sandbox.inside.hand_in import preload
from autograder.grading.sandbox.inside.keeper import keep
from autograder.grading.sandbox.inside.starter import Starter


def warm(config: Config) -> None:
    """Fork the process that is to be warm, and go on as the keeper."""
    ours, theirs = socket.socketpair()
    control = socket.socket(fileno=config["control"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    around = Namespaces() if config["namespaces"] else Around()
    around.lead()
    if (pid := os.fork()) == 0:
        try:
            ours.close()
            control.close()
            confine.die_with_parent()
            _be_warm(config, theirs, around)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()  # to a file of the grader's: no student's code runs here
        finally:
            os._exit(1)
    theirs.close()
    around.hold_keeper()
    if not ours.recv(1):
        os._exit(1)
    control.sendall(b"+")
    keep(control, ours, pid)


def _be_warm(config: Config, keeper: socket.socket, around: Around) -> None:
    """Prepare, then start each hand-in that the keeper asks for."""
    around.hold_warm()
    shell = None
    if config["preload"]:
        preload(config["preload"])
        from autograder.grading.sandbox.inside.shell import prepare_shell

        shell = prepare_shell()
    imports.guard()
    confine.proc_files()  # read now, for all forks
    gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, what every fork shares
    confine.gather_pages()
    gc.set_threshold(20_000)  # a hand-in is over before more collecting would pay
    keeper.sendall(b"+")
    Starter(keeper, around, shell).serve()
