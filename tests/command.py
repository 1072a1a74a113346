"""Runner of the command line in a process that is forked from a server, which saves seconds."""

import atexit
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SERVER_VARIABLE = "TEST_COMMAND_SERVER"  # its value is the folder of the server's socket
_VARIABLES = dict(os.environ)  # before a test changes them

# Arguments of `gc.set_threshold`: with Python's default thresholds, garbage collection took a twentieth
# of the tests' time.
GARBAGE_COLLECTION_THRESHOLDS = (20_000, 20, 100)


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
        request = [commands, str(cwd), {**variables, **dict(env)}, folder, workers, trials]
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(start_command_server())
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = connection.recv(100_000).decode()  # empty if the process has been killed
        if answer not in ("", "ended"):
            raise RuntimeError(f"The commands could not be run:\n{answer}")
        return [_read_output(Path(folder), n, c) for n, c in enumerate(commands)]


def prepare_command_server() -> None:
    """Choose the folder of this test run's server; it is removed at the end of this process."""
    folder = tempfile.mkdtemp(prefix="commands")
    os.environ[_SERVER_VARIABLE] = _VARIABLES[_SERVER_VARIABLE] = folder
    Path(folder, "pid").write_text(str(os.getpid()))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


def start_command_server() -> str:
    """Start the server unless another process of the test run has; return its socket's path."""
    folder = Path(_VARIABLES[_SERVER_VARIABLE])
    address = folder / "socket"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists():
            subprocess.run(  # it returns when the server is ready
                [sys.executable, "-m", "command_server", address, (folder / "pid").read_text()],
                env={**_VARIABLES, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                check=True,
            )
    return str(address)


def _read_output(folder: Path, number: int, command: list[str]) -> subprocess.CompletedProcess:
    """Return what a command has left in the folder; without an exit code, it was killed."""
    texts = []
    for kind in ("out", "err", "code"):
        path = folder / f"{kind}{number}"
        texts.append(path.read_text("utf-8") if path.exists() else "")
    out, err, code = texts
    return subprocess.CompletedProcess(command, int(code or -signal.SIGKILL), out, err)


def run_commands(
    commands: list[list[str]],
    cwd: str,
    env: dict[str, str],
    output_folder: str,
    workers: bool,
    trials: bool,
) -> None:
    """Run commands in this process, which ends then; their output goes into a folder."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    if not workers:
        work_here()
        record_notebooks_in_forks()
    if not trials:
        build_without_trials()
    try:
        for number, arguments in enumerate(commands):
            for descriptor, kind in ((1, "out"), (2, "err")):
                path = os.path.join(output_folder, f"{kind}{number}")
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
            code = run_command(arguments)
            Path(output_folder, f"code{number}").write_text(str(code), "utf-8")
    finally:
        atexit._run_exitfuncs()  # which `os._exit` leaves out


def run_command(arguments: list[str]) -> int:
    """Run a command in this process, and return its exit code."""
    from autograder.cli import main

    sys.argv = ["autograder", *arguments]
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
    """Run the functions of workers in this process; its sandboxes and SQL statements stay."""
    from shared_sandboxes import share_sandboxes
    from shared_statements import share_statements

    from autograder.grading.worker import CallFailed, Worker

    def run(self, function, *arguments, **limits):
        try:
            return function(*arguments)
        except Exception as error:
            raise CallFailed(repr(error)) from error

    patch(Worker, "run", run)
    share_sandboxes(patch)
    share_statements(patch)


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
