"""Runner of the command line in a process that is forked from a warm one, which saves a second."""

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

_FORK_CONTEXT = multiprocessing.get_context("forkserver")
_FORK_CONTEXT.set_forkserver_preload(["warm"])


def autograder(*arguments, cwd=ROOT, env=(), here=False) -> subprocess.CompletedProcess:
    """Run a command, and return its output and exit code.

    Parameters
    ----------
    *arguments
        Arguments of the command line.
    cwd : Path
    env : mapping, optional
        Further environment variables; those of the tests that begin with AUTOGRADER are removed.
    here : bool
        Run the functions of workers in the command's process: for tests that are not about workers.
    """
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith("AUTOGRADER")
    }
    with tempfile.TemporaryDirectory() as folder:
        output_paths = [os.path.join(folder, name) for name in ("out", "err")]
        process_arguments = (
            [*map(str, arguments)],
            str(cwd),
            {**variables, **dict(env)},
            output_paths,
            here,
        )
        process = _FORK_CONTEXT.Process(target=_command, args=process_arguments, daemon=True)
        with mock.patch.dict(
            os.environ,
            PYTHONPATH=str(Path(__file__).parent),
        ):  # the folder of `warm`
            ensure_running()
        with mock.patch.object(
            sys.modules["__main__"],
            "__file__",
            None,
            create=True,
        ):  # else it is run there
            process.start()
        process.join()
        out, err = (Path(path).read_text("utf-8") for path in output_paths)
    return subprocess.CompletedProcess(process_arguments[0], process.exitcode, out, err)


def _command(
    arguments: list[str], cwd: str, env: dict[str, str], output_paths: list[str], here: bool
) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(output_paths, start=1):
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
    """Run the functions of workers in this process."""
    from autograder.grading.worker import CallFailed, Worker

    def run(self, function, *arguments, **limits):
        try:
            return function(*arguments)
        except Exception as error:
            raise CallFailed(repr(error)) from error

    patch(Worker, "run", run)
