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


def autograder(
    *arguments, cwd=ROOT, env=(), workers=False, trials=True
) -> subprocess.CompletedProcess:
    """Run a command, and return its output and exit code.

    Parameters
    ----------
    *arguments
        Arguments of the command line.
    cwd : Path
    env : mapping, optional
        Further environment variables; those of the tests that begin with AUTOGRADER are removed.
    workers : bool
        Run the functions of workers in processes of their own, as outside of tests. By default they
        run in the command's process, which saves their start-up.
    trials : bool
        Let a build run the notebook, compute the keys as another processor would, and grade the
        solution. A build without these trials takes a tenth of the time.
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
            workers,
            trials,
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
    arguments: list[str],
    cwd: str,
    env: dict[str, str],
    output_paths: list[str],
    workers: bool,
    trials: bool,
) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(output_paths, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    if not workers:
        work_here()
    if not trials:
        build_without_trials()
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


def build_without_trials(patch=setattr) -> None:
    """Let builds in this process keep to what the labs say: no notebook and no solution is run."""
    from autograder.authoring import build
    from autograder.platforms import solution_check

    patch(build, "run_notebook_in_empty_folder", lambda notebook, course: notebook)
    patch(build, "find_processor_dependent_results", lambda lab, keys: [])
    patch(solution_check, "describe_solutions_without_full_score", lambda lab: [])
