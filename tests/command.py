"""Runner of the command line in a process that is forked from a warm one, which saves a second."""

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
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
        Run the functions of workers, and the notebooks that are imported, in processes of their
        own, as outside of tests. By default they run in the command's process or its forks, which
        saves their start-up.
    trials : bool
        Let a build run the notebook, compute the keys as another processor would, and grade the
        solution. A build without these trials takes a tenth of the time.
    """
    (ran,) = autograder_in_turn([arguments], cwd, env, workers, trials)
    return ran


def autograder_in_turn(
    commands, cwd=ROOT, env=(), workers=False, trials=True
) -> list[subprocess.CompletedProcess]:
    """Run several commands in one process, as `autograder` runs one; a course's sandbox stays."""
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith("AUTOGRADER")
    }
    commands = [[*map(str, arguments)] for arguments in commands]
    with tempfile.TemporaryDirectory() as folder:
        process_arguments = (
            commands,
            str(cwd),
            {**variables, **dict(env)},
            folder,
            workers,
            trials,
        )
        process = _FORK_CONTEXT.Process(target=_run_commands, args=process_arguments, daemon=True)
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
        return [_read_output(Path(folder), n, c, process) for n, c in enumerate(commands)]


def _read_output(folder: Path, number: int, command, process) -> subprocess.CompletedProcess:
    """Return what a command has left in the folder; its exit code is the process's if it died."""
    texts = []
    for kind in ("out", "err", "code"):
        path = folder / f"{kind}{number}"
        texts.append(path.read_text("utf-8") if path.exists() else "")
    out, err, code = texts
    return subprocess.CompletedProcess(command, int(code or process.exitcode), out, err)


def _run_commands(
    commands: list[list[str]],
    cwd: str,
    env: dict[str, str],
    output_folder: str,
    workers: bool,
    trials: bool,
) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    if not workers:
        work_here()
        record_notebooks_in_forks()
    if not trials:
        build_without_trials()
    from autograder.cli import main

    try:
        for number, arguments in enumerate(commands):
            for descriptor, kind in ((1, "out"), (2, "err")):
                path = os.path.join(output_folder, f"{kind}{number}")
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
            sys.argv = ["autograder", *arguments]
            code = _run_main(main)
            Path(output_folder, f"code{number}").write_text(str(code), "utf-8")
    finally:
        atexit._run_exitfuncs()  # which multiprocessing leaves out


def _run_main(main) -> int:
    """Run the command of `sys.argv`, and return its exit code."""
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:  # noqa: BLE001 - as the interpreter does at the end of a process
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0


def work_here(patch=setattr) -> None:
    """Run the functions of workers in this process, with sandboxes that stay for later tests."""
    from shared_sandboxes import share_sandboxes

    from autograder.grading.worker import CallFailed, Worker

    def run(self, function, *arguments, **limits):
        try:
            return function(*arguments)
        except Exception as error:
            raise CallFailed(repr(error)) from error

    patch(Worker, "run", run)
    share_sandboxes(patch)


def record_notebooks_in_forks() -> None:
    """Let `import` run notebooks in forks of this process, without a sandbox."""
    from autograder.sandbox import bubblewrap
    from course_import import record_calls

    def run_recorder(exchange, errors, in_sandbox):
        pid = os.fork()
        if pid == 0:
            os.dup2(errors.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            os.environ.update(MPLBACKEND="agg")
            try:
                record_calls.main(exchange)
            except BaseException:  # noqa: BLE001 - a fork of the tests must never return
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        return subprocess.CompletedProcess([], os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    record_calls._run_recorder = run_recorder
    bubblewrap.explain_why_no_command_runs = str


def build_without_trials(patch=setattr) -> None:
    """Let builds in this process keep to what the labs say: no notebook and no solution is run."""
    from autograder.authoring import build
    from autograder.platforms import solution_check

    patch(build, "run_notebook_in_empty_folder", lambda notebook, course: notebook)
    patch(build, "find_processor_dependent_results", lambda lab, keys: [])
    patch(solution_check, "describe_solutions_without_full_score", lambda lab: [])
