"""The sandbox, seen from outside: cells and questions in, outputs and arrays out.

bubblewrap is put around a warm process (`autograder.grading.sandbox.inside`), which is forked for each hand-in,
and a keeper that talks with one hand-in after another. All that comes back may have been forged by a student's
code; it is bounded and checked by `autograder.grading.sandbox.inside.wire`, and only ever compared or shown.
SECURITY.md says what holds and what does not.
"""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from threading import Lock
from time import monotonic, time
from types import TracebackType
from typing import IO, Any

import numpy as np

import autograder
from autograder.course import VARIABLE
from autograder.grading.sandbox import bubblewrap
from autograder.grading.sandbox.bubblewrap import COURSE, SandboxError
from autograder.grading.sandbox.inside import HOME, Config, wire
from autograder.grading.sandbox.inside.limits import Limits
from autograder.judging import frames
from autograder.judging.answer import Answer
from autograder.judging.question import Inputs
from autograder.results import Outcome
from autograder.stopwatch import PATIENCE

PRELOAD = ("numpy", "matplotlib.pyplot", "IPython")
MAX_ANSWERS_JSON = 1 << 20  # bytes of it in one frame of answers: their texts, and what they printed
_STOPPED = (Outcome.TIMEOUT, Outcome.CRASH)
STARTUP_SECONDS = 120  # a machine that is busy importing TensorFlow in every process may need them


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
        As in `autograder.judging.answer.ask`.
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
    status : Outcome
        "error": an ordinary cell raised. "timeout" and "crash" of a test cell are about its exercise alone;
        an ordinary cell with one of them was left out and the rest run again, if it did not stop when
        interrupted. "skipped": the time or the reruns were used up before it.
    seconds : float
        By the clock.
    spent : float
        The seconds that are held against its limit: CPU time or, for what waits, its share of the clock's.
    answers : list of Answer, optional
        A test cell's, in the order of its questions; fewer than those after a timeout or crash.
    missing : bool
        Nothing has the exercise's name.
    reason : str
        A sentence about a timeout or crash.
    forged : bool
        It crashed since what it sent could not have come from our side of the sandbox.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    status: Outcome = Outcome.OK
    seconds: float = 0.0
    spent: float = 0.0
    answers: list[Answer] | None = None
    missing: bool = False
    reason: str = ""
    forged: bool = False


class Sandbox:
    """One warm process in its sandbox; starts when first used.

    Parameters
    ----------
    preload : sequence of str
        Modules to import before the first fork, once for all hand-ins.
    sandboxed : bool
        False runs hand-ins without bubblewrap and namespaces: only for ones that are trusted.
    limits : Limits, optional
        What each hand-in may use, unless `run` is given others.
    env : mapping of str to str
        Environment variables on top of the few that every hand-in gets.
    library : sequence of Path
        The course's own folders that hand-ins may read: packages that notebooks import, and data. In the
        sandbox each is found at /course under its name, beside the engine.
    course : Path, optional
        The course's folder, of which a hand-in sees course.toml and the answer keys that its students have.

    Raises
    ------
    SandboxError
        If a folder of the library is not there, or has the name of another module.
    """

    def __init__(
        self,
        preload: Sequence[str] = PRELOAD,
        sandboxed: bool = True,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        library: Sequence[Path] = (),
        course: Path | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._preload, self._sandboxed = tuple(preload), sandboxed
        self._env = dict(env or {})
        self._library = _checked_library(library)
        self._course = course
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._held: int | None = None  # the folder of a start, while there is one

    def __enter__(self) -> "Sandbox":
        self._ensure_started()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        left = limits.total_seconds
        found: dict[int, CellRun] = {}
        left_out: set[int] = set()
        failures = 0
        while len(found) < len(cells) and len(left_out) <= limits.reruns and left > 0:
            job = [
                index not in left_out and not (cell.exercise and index in found)
                for index, cell in enumerate(cells)
            ]
            try:
                guilty, spent = self._attempt(cells, job, found, limits, left)
            except (wire.WireError, OSError) as error:
                failures += 1
                if failures == 2:
                    raise SandboxError(self._why(f"The sandbox failed twice: {error}.")) from error
                self.close()
                continue
            left -= spent
            if guilty is None:
                break
            left_out.add(guilty)
        skipped = CellRun(
            status=Outcome.SKIPPED, reason="The notebook's time, or its number of reruns, was used up."
        )
        return [found.get(index, skipped) for index in range(len(cells))]

    def probe(self) -> None:
        """Make the namespaces of a run, with nothing to run in them; raises SandboxError if that fails."""
        try:
            self._attempt([], [], {}, self.limits, 2)
        except (wire.WireError, OSError) as error:
            raise SandboxError(self._why(f"{error}.")) from error

    def _attempt(
        self,
        cells: Sequence[Cell],
        job: Sequence[bool],
        found: dict[int, CellRun],
        limits: Limits,
        seconds: float,
    ) -> tuple[int | None, float]:
        """One fork's worth: the index of the cell that ended it, if one did, and what it spent of the seconds."""
        channel, connection = self._connect(seconds)
        try:
            channel.send({"limits": asdict(limits), "seconds": seconds})
            arrays: list[np.ndarray] = []
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
                    return guilty, float(header["spent"])
                index = header.get("index")
                if type(index) is not int or not expected < index < len(cells) or not job[index]:
                    raise wire.WireError("a report that nobody asked for")
                expected = index
                run = _cell_run(header, values, cells[index])
                if index not in found or (found[index].status is Outcome.OK and run.status in _STOPPED):
                    found[index] = run
        finally:
            connection.close()

    def _connect(self, seconds: float) -> tuple[wire.Channel, socket.socket]:
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
        latest = monotonic() + PATIENCE * seconds + 15  # the keeper ends the run by itself, long before

        def tick() -> None:
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
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by _stop
        sweep(Path(tempfile.gettempdir()))
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX)
        self._held = _hold(Path(self._folder.name))
        try:
            self._launch(Path(self._folder.name))
        except BaseException:
            self._let_go()
            self._log.close()
            raise
        if self._sandboxed:  # what bubblewrap needed of it is mounted: a grader that is killed leaves nothing
            self._let_go()

    def _let_go(self) -> None:
        self._folder.cleanup()
        if self._held is not None:
            os.close(self._held)
            self._held = None

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
        """The command line of the warm process, with bubblewrap around it."""
        config: Config = {
            "control": control,
            "sandboxed": self._sandboxed,
            "preload": list(self._preload),
            "uid": _unused_uid() if self._sandboxed and bubblewrap.is_real_root() else None,
            "path": [COURSE],
        }
        if self._sandboxed:
            program = bubblewrap.find_bubblewrap()
            if program is None:
                raise SandboxError(bubblewrap.why_none())
            wrapper = bubblewrap.command_line(
                program, folder, self._environment(HOME), self._library, self._course
            )
            python, start = bubblewrap.place_inside(sys.executable), bubblewrap.PROGRAM
        else:
            places = [Path(autograder.__file__).parents[1], *(path.parent for path in self._library)]
            config["path"] = list(dict.fromkeys(map(str, places)))
            wrapper, python = [], sys.executable
            start = str(Path(__file__).parent / "inside" / "__main__.py")
        return [*wrapper, python, "-s", "-P", "-B", start, json.dumps(config)]

    def _stop(self) -> None:
        if self._process is None:
            return
        self._control.close()
        self._process.kill()  # all else in its PID namespace dies with it
        self._process.wait()
        self._process = None
        self._let_go()
        self._log.close()

    def _why(self, what: str) -> str:
        """`what`, with the end of what the warm process had to say."""
        with suppress(OSError, ValueError, AttributeError):  # there may be no log, or no longer
            size = os.fstat(self._log.fileno()).st_size
            said = os.pread(self._log.fileno(), 2000, max(0, size - 2000)).decode("utf-8", "replace").strip()
            return f"{what} {said}".strip()
        return what

    def _environment(self, home: str) -> dict[str, str]:
        temporary, prefix = home, sys.prefix
        if self._sandboxed:
            temporary, prefix = "/tmp", bubblewrap.place_inside(sys.prefix)
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
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_NUM_INTRAOP_THREADS": "1",
            "TF_NUM_INTEROP_THREADS": "1",
            "TF_ENABLE_ONEDNN_OPTS": "0",
            "CUDA_VISIBLE_DEVICES": "",
            **({VARIABLE: COURSE if self._sandboxed else str(self._course)} if self._course else {}),
            **one,
            **self._env,
        }


def _pack_cell(cell: Cell, arrays: list[np.ndarray]) -> dict[str, Any]:
    groups, first = [], len(arrays)
    for group in _groups(cell.questions) if cell.exercise is not None else []:
        needed: list[np.ndarray] = []
        packed = [frames.pack_inputs(question, needed) for question in group]
        memory = group[0].memory if group else None
        # A frame in a frame: only the process that is asked unpacks it.
        parts = wire.in_parts(frames.encode({"questions": packed}, needed))
        groups.append({"parts": len(parts), "memory": memory})
        arrays += parts
    return {
        "source": cell.source,
        "exercise": cell.exercise,
        "call": cell.call,
        "first": first,
        "groups": groups,
    }


def _groups(questions: Sequence[Inputs]) -> list[list[Inputs]]:
    """The questions in order, by the process that answers them: one whose memory is limited has its own."""
    groups: list[list[Inputs]] = []
    alone = True
    for given in questions:
        if alone or given.memory is not None:
            groups.append([])
        groups[-1].append(given)
        alone = given.memory is not None
    return groups or [[]]


def _cell_run(header: dict[str, Any], values: list[np.ndarray], cell: Cell) -> CellRun:
    """A keeper's report as a CellRun; it is checked here once more, whoever wrote it."""
    kinds: dict[str, Any] = {
        "op": str,
        "index": int,
        "status": str,
        "reason": str,
        "missing": bool,
        "forged": bool,
        "seconds": (int, float),
        "spent": (int, float),
    }
    kinds |= {"count": (int, type(None)), "outputs": list, "asked": (list, type(None))}
    frames.check_fields(header, kinds)
    if (
        header["op"] != "cell"
        or header["status"] not in set(Outcome)
        or len(header["reason"]) > frames.MAX_TEXT
    ):
        raise wire.WireError("no report")
    status, reason, answers = Outcome(header["status"]), header["reason"], None
    if cell.exercise is not None:
        answers, why = _read_groups(header["asked"] or [], values, _groups(cell.questions))
        if status is Outcome.OK and not header["missing"]:
            status, reason = why
    return CellRun(
        outputs=[wire.check_output(output) for output in header["outputs"]],
        status=status,
        seconds=round(float(header["seconds"]), 6),
        spent=float(header["spent"]),
        answers=answers,
        missing=header["missing"],
        reason=reason,
        forged=header["forged"] or reason is wire.FORGED,
    )


def _read_groups(
    asked: list[Any], written: list[np.ndarray], groups: list[list[Inputs]]
) -> tuple[list[Answer], tuple[Outcome, str]]:
    """The answers that these processes wrote, and the status and reason of their exercise."""
    answers: list[Answer] = []
    room = [frames.MAX_ARRAYS, frames.MAX_PAYLOAD]
    for number, group in enumerate(groups):
        if number >= len(asked):
            return answers, (Outcome.CRASH, wire.death(None))
        kinds = {"parts": int, "exit": (int, type(None)), "held": int}
        report = frames.check_fields(asked[number], kinds)
        parts, written = written[: report["parts"]], written[report["parts"] :]
        if len(parts) != report["parts"]:
            raise wire.WireError("arrays are missing")
        found, odd = _read_answers(wire.together(parts), len(group), room)
        if odd:
            return [] if odd == wire.TOO_MUCH else answers, (Outcome.CRASH, odd)
        answers += found
        if len(found) < len(group):
            return answers, (Outcome.CRASH, wire.death(report["exit"]))
        if report["held"] > 0:
            answers[-1] = replace(answers[-1], held=max(answers[-1].held, report["held"]))
    return answers, (Outcome.OK, "")


def _read_answers(written: bytes, due: int, room: list[int]) -> tuple[list[Answer], str]:
    """The answers in what a question's process wrote, up to `due`, and what is odd about it, or "".

    `room` counts down the arrays, and the bytes of them, that all answers together may have.
    """
    source = frames.Bytes(written)
    answers: list[Answer] = []
    while source.left:
        begins = written[-source.left :][:4]
        try:
            header, arrays = frames.read_frame(source.read, MAX_ANSWERS_JSON, 8 * frames.MAX_VALUES)
        except wire.WireError:
            # A process that was killed may leave half a frame; more than that is forged.
            half = len(answers) < due and source.ended and frames.MAGIC.startswith(begins)
            return answers, "" if half else wire.FORGED
        try:
            fields = frames.check_fields(header, {"first": int, "answers": list})
            once = frames.Once(arrays)
            found = [frames.unpack_answer(answer, once) for answer in fields["answers"]]
        except wire.WireError:
            return answers, wire.FORGED
        if not found or fields["first"] != len(answers) or len(answers) + len(found) > due:
            return answers, wire.FORGED
        answers += found
        room[0] -= len(arrays)
        room[1] -= sum(array.nbytes for array in arrays)
        if min(room) < 0:
            return answers, wire.TOO_MUCH
    return answers, ""


def _checked_library(library: Sequence[Path]) -> tuple[Path, ...]:
    """The folders as absolute paths; raises SandboxError for one that cannot be shown under its name."""
    folders: dict[str, Path] = {}
    for path in library:
        folder = Path(path).absolute()
        if not folder.is_dir():
            raise SandboxError(f"The course's library names {folder}, and there is no such folder.")
        if folder.name in folders:
            raise SandboxError(f"The course's library has two folders {folder.name}: rename one.")
        if folder.name == "autograder" or folder.name in sys.stdlib_module_names:
            raise SandboxError(
                f"The course's library has a folder {folder.name}, which would hide Python's or the "
                "engine's module of that name: rename it."
            )
        folders[folder.name] = folder
    return tuple(folders.values())


_uids = count()


_PREFIX = "autograder-start-"
_SETTLED = 60  # seconds after which a folder that nobody holds is nobody's


def _hold(folder: Path) -> int | None:
    """Mark a folder as one of a living process; what is marked so, its end lets go of."""
    handle = os.open(folder, os.O_RDONLY)
    if not _locked(handle):
        os.close(handle)
        return None
    return handle


def _locked(handle: int) -> bool:
    try:
        import fcntl  # not everywhere

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def sweep(place: Path) -> None:
    """Take away what starts that were killed have left: folders of ours that no living process holds."""
    for folder in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            if time() - status.st_mtime < _SETTLED:
                continue
            handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                if _locked(handle):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _unused_uid() -> int:
    """A user id that nobody has, and another for each sandbox."""
    return 0x70000000 + (os.getpid() % (1 << 22)) * 16 + next(_uids) % 16


@cache
def why_unavailable() -> str:
    """Why there is no sandbox on this machine, in a sentence with the remedy; "" if there is one."""
    if sys.platform != "linux":
        return bubblewrap.NOT_LINUX
    if bubblewrap.find_bubblewrap() is None:
        return bubblewrap.why_none()
    try:
        with Sandbox(preload=()) as sandbox:
            sandbox.probe()
    except SandboxError as error:
        return bubblewrap.remedy(str(error))
    return ""
