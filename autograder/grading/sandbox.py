"""The sandbox, seen from outside: cells and questions in, outputs and arrays out.

bubblewrap is put around one warm process (`autograder/grading/worker.py`), which forks for each hand-in.
All that comes back may have been forged by a student's code; it is bounded and checked by
`autograder.grading.wire`, and only ever compared or shown. SECURITY.md says what holds and what does not.

>>> with Sandbox() as sandbox:                              # doctest: +SKIP
...     sandbox.run([Cell("def double(x): return 2 * x"),
...                  Cell("", exercise="double", questions=[inputs(np.ones(2))])])[1].answers[0].value
array([2., 2.])
"""

import json
import os
import shutil
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from threading import Lock
from time import monotonic

import autograder
from autograder.answer import Answer
from autograder.exercise import Inputs
from autograder.grading import wire

MB = 1 << 20
STATUSES = frozenset({"ok", "error", "timeout", "crash", "skipped"})
PRELOAD = ("numpy", "matplotlib.pyplot", "IPython")
HOME, VENV = "/home/sandbox", "/venv"  # in the sandbox; HOME as in worker.py
STARTUP_SECONDS = 120  # a machine that is busy importing TensorFlow in every process may need them


class SandboxError(RuntimeError):
    """The sandbox failed, not what ran in it: never a student's fault."""


@dataclass(frozen=True)
class Limits:
    """What one hand-in may use.

    Parameters
    ----------
    cell_seconds : float
        Of wall-clock time for one ordinary cell, before it is interrupted.
    call_seconds : float
        For one test cell, that is for all questions of one exercise.
    total_seconds : float
        For the hand-in, with its reruns.
    memory : int
        Bytes that all its processes together may hold, and that each may map beyond the warm process's.
    processes, open_files : int
        Processes and threads of the hand-in; open files of each process.
    file_bytes, scratch_bytes : int
        The largest file; the size of each of /tmp, /dev/shm and the home directory.
    output_bytes : int
        Of outputs kept, over all cells.
    outputs : int
        Outputs kept of one cell.
    reruns : int
        How often a hand-in is run again without the cell that ended its process.
    """

    cell_seconds: float = 20
    call_seconds: float = 10
    total_seconds: float = 90
    memory: int = 1024 * MB
    processes: int = 64
    open_files: int = 256
    file_bytes: int = 64 * MB
    scratch_bytes: int = 64 * MB
    output_bytes: int = 8 * MB
    outputs: int = 200
    reruns: int = 5


NUMPY = Limits()
KERAS = Limits(
    cell_seconds=120,
    call_seconds=60,
    total_seconds=600,
    memory=6 * 1024 * MB,
    processes=256,
    file_bytes=256 * MB,
    scratch_bytes=256 * MB,
)


@dataclass(frozen=True)
class Cell:
    """One step of a hand-in.

    Parameters
    ----------
    source : str
        An ordinary cell's code.
    exercise : str, optional
        Makes this a test cell: `source` is not run, but the function of this name is asked `questions`.
    questions : sequence of Inputs
    call : {"function", "layer"}
        As in `autograder.answer.ask`.
    """

    source: str
    exercise: str | None = None
    questions: Sequence[Inputs] = ()
    call: str = "function"


@dataclass(frozen=True)
class CellRun:
    """What became of one cell.

    Parameters
    ----------
    outputs : list of dict
        nbformat 4 outputs, bounded but not sanitised.
    status : {"ok", "error", "timeout", "crash", "skipped"}
        "error": an ordinary cell raised. "timeout" and "crash" of a test cell are about its exercise alone;
        an ordinary cell with one of them was left out and the rest run again, if it did not stop when
        interrupted. "skipped": the time or the reruns were used up before it.
    seconds : float
    answers : list of Answer, optional
        A test cell's, in the order of its questions; fewer than those after a timeout or crash.
    missing : bool
        Nothing has the exercise's name.
    reason : str
        A sentence about a timeout or crash.
    execution_count : int, optional
        An ordinary cell's number.
    """

    outputs: list[dict] = field(default_factory=list)
    status: str = "ok"
    seconds: float = 0.0
    answers: list[Answer] | None = None
    missing: bool = False
    reason: str = ""
    execution_count: int | None = None


class Sandbox:
    """One warm process in its sandbox; starts when first used.

    Parameters
    ----------
    preload : sequence of str
        Modules to import before the first fork, once for all hand-ins.
    sandboxed : bool
        False runs hand-ins without bubblewrap and namespaces: only for ones that are trusted.
    limits : Limits, optional
        By default `KERAS` if keras is among `preload`, else `NUMPY`.
    env : mapping of str to str
        Environment variables on top of the few that every hand-in gets.
    """

    def __init__(
        self,
        preload: Sequence[str] = PRELOAD,
        sandboxed: bool = True,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
    ):
        keras = any(name.split(".")[0] in ("keras", "tensorflow") for name in preload)
        self.limits = limits or (KERAS if keras else NUMPY)
        self._preload, self._sandboxed = tuple(preload), sandboxed
        self._env = dict(env or {})
        self._lock = Lock()
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> "Sandbox":
        self._ensure_started()
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """End the warm process and everything in its sandbox; `run` would start another."""
        with self._lock:
            self._stop()

    def run(self, cells: Sequence[Cell], limits: Limits | None = None) -> list[CellRun]:
        """Run one hand-in's cells in order.

        A cell that raises does not stop the rest. One that has to be killed, or ends the process, is left
        out, and the others are run again.

        Parameters
        ----------
        cells : sequence of Cell
        limits : Limits, optional
            For this hand-in.

        Raises
        ------
        SandboxError
            If the sandbox itself fails, twice.
        """
        limits = limits or self.limits
        until = monotonic() + limits.total_seconds
        found: dict[int, CellRun] = {}
        left_out: set[int] = set()
        failures = 0
        while len(found) < len(cells) and len(left_out) <= limits.reruns and monotonic() < until:
            job = [
                index not in left_out and not (cell.exercise and index in found)
                for index, cell in enumerate(cells)
            ]
            try:
                guilty = self._attempt(cells, job, found, limits, until)
            except (wire.WireError, OSError) as error:
                failures += 1
                if failures == 2:
                    raise SandboxError(self._why(f"The sandbox failed twice: {error}.")) from error
                self.close()
                continue
            if guilty is None:
                break
            left_out.add(guilty)
        skipped = CellRun(
            status="skipped", reason="The notebook's time, or its number of reruns, was used up."
        )
        return [found.get(index, skipped) for index in range(len(cells))]

    def probe(self) -> None:
        """Make the namespaces of a run, with nothing to run in them; raises SandboxError if that fails."""
        try:
            self._attempt([], [], {}, self.limits, monotonic() + 10)
        except (wire.WireError, OSError) as error:
            raise SandboxError(self._why(f"{error}.")) from error

    def _attempt(self, cells, job, found, limits, until) -> int | None:
        """One fork's worth; the index of the cell that ended it, if one did."""
        channel, connection = self._connect(until)
        try:
            seconds = max(0.1, until - monotonic())
            channel.send({"limits": {**asdict(limits), "total_seconds": seconds}})
            arrays: list = []
            plan = [
                _pack_cell(cell, arrays) if wanted else None for cell, wanted in zip(cells, job, strict=True)
            ]
            channel.send({"cells": plan}, arrays)
            expected = -1
            while True:
                header, values = channel.receive()
                if header.get("op") == "end":
                    guilty = header.get("guilty")
                    if guilty is not None and (guilty != expected or type(guilty) is not int):
                        raise wire.WireError("the end does not fit what came before")
                    return guilty
                index = header.get("index")
                if type(index) is not int or not expected < index < len(cells) or not job[index]:
                    raise wire.WireError("a report that nobody asked for")
                expected = index
                run = _cell_run(header, values, cells[index])
                if index not in found or (found[index].status == "ok" and run.status in ("timeout", "crash")):
                    found[index] = run
        finally:
            connection.close()

    def _connect(self, until: float) -> tuple[wire.Channel, socket.socket]:
        """A connection of this run's own, its other end in the hands of the warm process."""
        self._ensure_started()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                with self._lock:
                    socket.send_fds(self._control, [b"+"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        latest = until + 15  # the keeper ends the run by itself, long before

        def tick():
            if monotonic() > latest:
                raise wire.WireError("the sandbox does not answer")

        return wire.Channel(ours.fileno(), ours.fileno(), tick), ours

    # Starting and stopping

    def _ensure_started(self) -> None:
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            self._stop()
            self._start()

    def _start(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by _stop
        self._folder = tempfile.TemporaryDirectory(prefix="attention-labs-")
        try:
            self._launch(Path(self._folder.name))
        except BaseException:
            self._folder.cleanup()
            self._log.close()
            raise
        if self._sandboxed:  # what bubblewrap needed of it is mounted: a grader that is killed leaves nothing
            self._folder.cleanup()

    def _launch(self, folder: Path) -> None:
        """Start the process, and wait until it has imported everything."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = subprocess.Popen(
                    self._command(folder, theirs.fileno()),
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=self._log,
                    env={} if self._sandboxed else self._environment(str(folder)),
                    cwd="/",
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # an interrupt at the keyboard is for the grader
                )
            self._process, self._control = process, ours
            ours.settimeout(STARTUP_SECONDS)
            if ours.recv(1) != b"+":
                raise SandboxError(self._why("The sandbox does not start."))
            ours.settimeout(None)
        except BaseException as error:
            ours.close()
            self._stop()
            if isinstance(error, TimeoutError):
                raise SandboxError(f"The sandbox did not start within {STARTUP_SECONDS} s.") from None
            raise

    def _command(self, folder: Path, control: int) -> list[str]:
        config = {
            "control": control,
            "sandboxed": self._sandboxed,
            "preload": self._preload,
            "uid": _unused_uid() if self._sandboxed and _is_real_root() else None,
            "course": "/course" if self._sandboxed else str(Path(autograder.__file__).parents[1]),
        }
        wrapper, python, worker = [], sys.executable, str(Path(__file__).with_name("worker.py"))
        if self._sandboxed:
            if shutil.which("bwrap") is None:
                raise SandboxError(_NO_BUBBLEWRAP)
            wrapper = _bubblewrap(folder, self._environment(HOME))
            python, worker = _inside(sys.executable), "/course/worker.py"
        return [*wrapper, python, "-s", "-P", "-B", worker, json.dumps(config)]

    def _stop(self) -> None:
        if self._process is None:
            return
        self._control.close()
        self._process.kill()  # all else in its PID namespace dies with it
        self._process.wait()
        self._process = None
        self._folder.cleanup()
        self._log.close()

    def _why(self, what: str) -> str:
        """`what`, with the end of what the warm process had to say."""
        with suppress(OSError, ValueError, AttributeError):  # there may be no log, or no longer
            size = os.fstat(self._log.fileno()).st_size
            said = os.pread(self._log.fileno(), 2000, max(0, size - 2000)).decode("utf-8", "replace").strip()
            return f"{what} {said}".strip()
        return what

    def _environment(self, home: str) -> dict[str, str]:
        temporary, prefix = ("/tmp", _inside(sys.prefix)) if self._sandboxed else (home, sys.prefix)
        one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")}
        return {
            "PATH": f"{prefix}/bin:/usr/bin:/bin",
            "HOME": home,
            "USER": "student",
            "LOGNAME": "student",
            "LANG": "C.UTF-8",
            "TMPDIR": temporary,
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "MPLCONFIGDIR": f"{temporary}/matplotlib",
            "IPYTHONDIR": f"{temporary}/ipython",
            "MALLOC_ARENA_MAX": "2",  # address space is limited, and each thread's arena takes 64 MB of it
            "PIP_NO_INDEX": "1",  # so that `!pip install` says at once that it cannot
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "KERAS_BACKEND": "tensorflow",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_NUM_INTRAOP_THREADS": "1",
            "TF_NUM_INTEROP_THREADS": "1",
            "TF_ENABLE_ONEDNN_OPTS": "0",
            "CUDA_VISIBLE_DEVICES": "",
            **one,
            **self._env,
        }


def _pack_cell(cell: Cell, arrays: list) -> dict:
    return {
        "source": cell.source,
        "exercise": cell.exercise,
        "call": cell.call,
        "questions": [wire.pack_inputs(question, arrays) for question in cell.questions],
    }


def _cell_run(header: dict, values: list, cell: Cell) -> CellRun:
    """A keeper's report as a CellRun; it is checked here once more, whoever wrote it."""
    kinds = {"op": str, "index": int, "status": str, "reason": str, "missing": bool, "seconds": (int, float)}
    kinds |= {"count": (int, type(None)), "outputs": list, "answers": (list, type(None))}
    wire.check_fields(header, kinds)
    if header["op"] != "cell" or header["status"] not in STATUSES or len(header["reason"]) > wire.MAX_TEXT:
        raise wire.WireError("no report")
    answers = None
    if cell.exercise is not None:
        answers = [wire.unpack_answer(answer, values) for answer in header["answers"] or []]
        if len(answers) > len(cell.questions):
            raise wire.WireError("more answers than questions")
    return CellRun(
        outputs=[wire.check_output(output) for output in header["outputs"]],
        status=header["status"],
        seconds=round(float(header["seconds"]), 6),
        answers=answers,
        missing=header["missing"],
        reason=header["reason"],
        execution_count=header["count"],
    )


# What a hand-in can see.

INSIDE = ("worker.py", "wire.py", "confine.py", "runner.py")
_SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/share/zoneinfo")
_SYSTEM_LINKS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")


def _bubblewrap(folder: Path, env: Mapping[str, str]) -> list[str]:
    """bubblewrap's command line, up to the program."""
    package = Path(autograder.__file__).parent
    root = package.parent
    passwd, group = folder / "passwd", folder / "group"
    passwd.write_text(f"student:x:1000:1000::{HOME}:/bin/sh\n")
    group.write_text("student:x:1000:\n")
    for file in (passwd, group):
        file.chmod(0o644)
    args = ["bwrap", "--die-with-parent", "--new-session", "--clearenv"]
    args += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    args += ["--hostname", "sandbox"]
    if _is_real_root():
        args += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        args += ["--unshare-user", "--uid", str(os.getuid() or 1000), "--gid", str(os.getgid() or 1000)]
    for name, value in env.items():
        args += ["--setenv", name, value]
    for path in _SYSTEM_LINKS:
        if os.path.islink(path):
            args += ["--symlink", os.readlink(path), path]
    shown = {path: path for path in (*_SYSTEM, *_SYSTEM_LINKS, *_SYSTEM_FILES) if not os.path.islink(path)}
    shown |= {str(passwd): "/etc/passwd", str(group): "/etc/group"}
    shown |= _python()
    # The student's part of the package: its top level, and of the folders only the keys.
    shown |= {str(path): f"/course/autograder/{path.name}" for path in package.glob("*.py")}
    shown |= {str(package / "keys"): "/course/autograder/keys", str(root / "data"): "/course/data"}
    shown |= {str(Path(__file__).with_name(name)): f"/course/{name}" for name in INSIDE}
    folders = {str(parent): None for place in shown.values() for parent in reversed(Path(place).parents)}
    for folder in folders:  # bubblewrap would make them for root alone
        args += ["--dir", folder]
    for path, place in shown.items():
        args += ["--ro-bind-try", path, place]
    for path in _covered():
        args += ["--tmpfs", path]
    args += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm"]
    args += ["--dir", "/home", "--dir", HOME]
    return [*args, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME, "--"]


def _python() -> dict[str, str]:
    """What Python and the packages need of this installation, and where it goes.

    Neither `etc` nor `share`. A virtual environment goes to `VENV`, for it may well lie in /tmp or in a
    home directory, where a hand-in has its own; the Python that it was made from cannot be moved.
    """
    wanted = {}
    for prefix in dict.fromkeys([sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]):
        for name in ("bin", "lib", "lib64", "pyvenv.cfg"):
            wanted[str(Path(prefix, name))] = str(Path(_inside(prefix), name))
    for key in ("stdlib", "platstdlib", "purelib", "platlib"):
        path = sysconfig.get_path(key)
        wanted[path] = _inside(path)
    link = Path(sys.executable)
    while link.is_symlink():
        link = link.parent / os.readlink(link)
        wanted[str(link.parent)] = _inside(str(link.parent))
    wanted = {
        path: place for path, place in wanted.items() if os.path.exists(path) and not _within(place, _SYSTEM)
    }
    for path, place in wanted.items():
        if _within(place, ("/tmp", "/dev", "/proc", HOME)):
            raise SandboxError(
                f"Python lies in {path}, where the sandbox has a place of its own: install another."
            )
    return wanted


def _inside(path: str) -> str:
    """Where a path of the virtual environment is in the sandbox."""
    if sys.prefix != sys.base_prefix and _within(path, [sys.prefix]):
        return str(Path(VENV, Path(path).relative_to(sys.prefix)))
    return path


def _covered() -> list[str]:
    """What must not show although it lies within something that does."""
    shown = [*_SYSTEM, *_python()]
    package = Path(autograder.__file__).parent
    hidden = [Path(place, "autograder") for place in site.getsitepackages()]
    if package not in hidden:  # a checkout, whose root holds solutions and hand-ins
        hidden.append(package.parent)
    return [_inside(str(path)) for path in hidden if path.is_dir() and _within(path, shown)]


def _within(path, places: Sequence) -> bool:
    return any(Path(path).is_relative_to(place) for place in places)


def _is_real_root() -> bool:
    """Whether we are root of the machine and not only of some user namespace."""
    if os.geteuid() != 0:
        return False
    return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]


_uids = count()


def _unused_uid() -> int:
    """A user id that nobody has, and another for each sandbox."""
    return 0x70000000 + (os.getpid() % (1 << 22)) * 16 + next(_uids) % 16


_NO_BUBBLEWRAP = (
    "Hand-ins run in a sandbox, and that needs bubblewrap, which is not installed. Install it "
    "(Debian and Ubuntu: `apt install bubblewrap`; Fedora: `dnf install bubblewrap`)."
)


@cache
def available() -> str | None:
    """Why there is no sandbox on this machine, in a sentence with the remedy; None if there is one."""
    if sys.platform != "linux":
        return (
            "Hand-ins run in a sandbox that only Linux has. Grade on Linux, or in a virtual machine with it."
        )
    if shutil.which("bwrap") is None:
        return _NO_BUBBLEWRAP
    try:
        with Sandbox(preload=()) as sandbox:
            sandbox.probe()
    except SandboxError as error:
        return _remedy(str(error))
    return None


def _remedy(said: str) -> str:
    setting = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    with suppress(OSError):
        if setting.read_text().strip() == "1":
            return (
                "The sandbox cannot start, because AppArmor keeps ordinary users from making user "
                "namespaces. Allow them (`sysctl kernel.apparmor_restrict_unprivileged_userns=0`), or give "
                f"bwrap and Python AppArmor profiles that do. [{said}]"
            )
    return (
        "The sandbox cannot start. bubblewrap needs user namespaces (`sysctl user.max_user_namespaces` must "
        "not be 0, nor `kernel.unprivileged_userns_clone`), and inside a container the right to mount /proc. "
        f"[{said}]"
    )
