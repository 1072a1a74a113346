"""The command line in a process that is forked from one that is warm: no second goes by first."""

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from unittest import mock

from our_course import ROOT

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(["warm"])


def autograder(*arguments, cwd=ROOT, env=(), here=False) -> subprocess.CompletedProcess:
    """What a command of ours says and how it ends.

    Parameters
    ----------
    *arguments
        Of the command line.
    cwd : Path
    env : mapping, optional
        Environment variables, beside those of the tests without the names that begin with AUTOGRADER.
    here : bool
        What workers would do is done in the command's own process: for tests that are not about them.
    """
    mine = {name: value for name, value in os.environ.items() if not name.startswith("AUTOGRADER")}
    with tempfile.TemporaryDirectory() as folder:
        said = [os.path.join(folder, name) for name in ("out", "err")]
        given = ([*map(str, arguments)], str(cwd), {**mine, **dict(env)}, said, here)
        process = _FORKED.Process(target=_command, args=given, daemon=True)
        with mock.patch.dict(os.environ, PYTHONPATH=str(Path(__file__).parent)):  # where `warm` is
            ensure_running()
        with mock.patch.object(
            sys.modules["__main__"], "__file__", None, create=True
        ):  # else it is run there
            process.start()
        process.join()
        out, err = (Path(path).read_text("utf-8") for path in said)
    return subprocess.CompletedProcess(given[0], process.exitcode, out, err)


def _command(arguments: list[str], cwd: str, env: dict[str, str], said: list[str], here: bool) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(said, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    if here:
        work_here()
    from autograder.cli import main

    sys.argv = ["autograder", *arguments]
    try:
        main()
    finally:
        atexit._run_exitfuncs()  # which multiprocessing leaves out


def work_here(patch=setattr) -> None:
    """Have done in this process what a worker would do."""
    from autograder.grading.run.limited import Failed, Worker

    def run(self, function, *arguments, **limits):
        try:
            return function(*arguments)
        except Exception as error:
            raise Failed(repr(error)) from error

    patch(Worker, "run", run)
