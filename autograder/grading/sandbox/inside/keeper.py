"""The keeper: one process for each run, between the grader and the hand-in.

It makes the namespaces, forks the hand-in, hands it one cell at a time, and checks what comes back;
measures time and memory; kills. No student's code runs in it.
"""

import os
import resource
import select
import shutil
import signal
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.grading.sandbox.inside import confine, process, wire
from autograder.grading.sandbox.inside.limits import Limits
from autograder.grading.sandbox.inside.outputs import Budget, Outputs
from autograder.judging import frames
from autograder.judging.question import Inputs

if TYPE_CHECKING:
    from autograder.grading.sandbox.inside.shell import Shell

INTERRUPTS = 3  # how often a cell that runs for too long is asked to stop
GRACE = 0.5  # seconds between those, and for a hand-in to say that a question was stopped
LOOK, LOOK_CLOSELY = (
    0.05,
    0.003,
)  # seconds between two looks at a hand-in: always, and while it may hold little
UNCOUNTED = 8 << 20  # bytes that an answer writes on the way and that are none of its arrays, at most
MAX_ANSWERS = 64 << 20  # bytes, of one exercise
MAX_ANSWER = 1 << 20  # bytes of one answer's JSON: its texts, and what it printed
MAX_EVENT = 1 << 16  # bytes of an event's JSON while an answer's memory is measured

_FORGED = "It wrote into the grader's own pipe."
_TOO_MUCH = "It sent more than answers can be."


class Stopped(Exception):
    """The hand-in cannot go on: `status` and `reason` are the guilty cell's."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass
class Report:
    """What became of one cell, as the grader is told; `count` is an ordinary cell's number."""

    status: str = "ok"
    reason: str = ""
    missing: bool = False
    count: int | None = None


@dataclass
class Answers:
    """The answers to one exercise's questions, packed; `arrays` are what they refer to."""

    packed: list[dict[str, Any]] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)


class Growth:
    """How much more the processes below one hold than it held when this was made, at most: seen from outside.

    The kernel remembers how much a process has held, so what comes and goes between two looks is
    seen too; only pages that were there and are written over, or are shared, have to be met.

    Parameters
    ----------
    processes : confine.Processes
    root : int
        The hand-in; what it comes to hold itself counts as well.
    """

    def __init__(self, processes: confine.Processes, root: int) -> None:
        self._processes, self._root = processes, root
        until = monotonic() + GRACE
        while self._copies() and monotonic() < until:
            self.end()  # what cells have left running
            select.poll().poll(2)
        processes.forget_most(root)
        self._most, self._anonymous = processes.most(root), processes.held(root)
        self._seen, self.most = False, self._anonymous  # until a copy is seen that answers: nobody else may

    def look(self) -> None:
        """See how much it is by now."""
        copies = self._copies()
        first = min(copies, default=0)
        if copies and not self._seen:
            self._seen, self.most = True, 0
        # The first began as a copy of the hand-in. What it forks in turn counts with all that it holds.
        held = sum(max(0, most - (self._anonymous if pid == first else 0)) for pid, most in copies.items())
        held += max(0, self._processes.most(self._root) - self._most)
        written = sum(map(self._processes.written, copies))
        of_root = self._processes.written(self._root)
        if copies and self._processes.most(first):  # while there is a copy, what both have is neither's alone
            written = max(written, of_root)  # and what one has written, the other has kept as it was
        self.most = max(self.most, held, written)

    def _copies(self) -> dict[int, int]:
        """What the hand-in has forked and lives: how much each has held at the most."""
        below = self._processes.below(self._root)
        return {pid: most for pid in below if (most := self._processes.most(pid)) > 0}

    def end(self) -> None:
        """Kill what the hand-in has forked: it has answered, and only waits to be looked at."""
        for pid in self._processes.below(self._root):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


class Keeper:
    """Runs one hand-in and reports on it over a connection.

    Parameters
    ----------
    connection : int
        A socket's descriptor.
    sandboxed : bool
    shell : Shell or None
        None where only namespaces are to be tried, and there is no cell.
    """

    def __init__(self, connection: int, sandboxed: bool, shell: "Shell | None") -> None:
        self._sandboxed = sandboxed
        self._grader = wire.Channel(connection, connection)
        self._shell = shell
        self._child = 0
        self._ended: int | None = None  # the hand-in's wait status
        self._growth: Growth | None = None  # while an answer's memory is measured
        self._next_look = 0.0

    def run(self) -> None:
        """From the first frame to the last; the hand-in and all it started are dead afterwards."""
        confine.die_with_parent()
        self._limits = Limits(**self._grader.receive()[0]["limits"])
        self._finish = monotonic() + self._limits.total_seconds
        self._deadline, self._interrupts = self._finish, 0
        proc = os.path.isdir("/proc/self")
        self._processes = confine.Processes(os.open("/proc", os.O_RDONLY)) if proc else None
        self._base, resident = confine.sizes() if proc else (0, 0)
        self._spare = resident + confine.SPARE["AS"]
        folder = None
        if self._sandboxed:
            confine.enter_namespaces(self._limits.scratch_bytes)
        else:
            folder = _own_folder()
        self._start()
        try:
            guilty = self._cells()
        finally:
            self._kill()
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
        self._grader.send({"op": "end", "guilty": guilty})

    def _start(self) -> None:
        """Fork the hand-in."""
        commands, orders = os.pipe()
        events, reports = os.pipe()
        confine.adopt_orphans()
        self._child = os.fork()
        if self._child == 0:
            code = 1
            try:
                self._become_hand_in(commands, reports)
                code = 0
            finally:
                os._exit(code)
        os.close(commands)
        os.close(reports)
        if self._sandboxed:
            confine.drop_capabilities()
        self._hand_in = wire.Channel(events, orders, self._watch, LOOK)

    def _become_hand_in(self, commands: int, reports: int) -> None:
        os.setsid()
        if self._processes:
            self._processes.be_killed_first()
        nothing = os.open(os.devnull, os.O_RDWR)
        # Above every number that dup2 is about to overwrite.
        kept = [os.dup(commands) for _ in range(6)][-1], [os.dup(reports) for _ in range(6)][-1]
        for number, fd in enumerate((nothing, nothing, nothing, *kept)):
            os.dup2(fd, number, inheritable=number < 3)
        os.closerange(5, max(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
        confine.set_limits(self._limits, self._base, self._sandboxed)
        if self._sandboxed:
            confine.drop_capabilities()
        confine.die_with_parent()
        if self._sandboxed:
            confine.refuse_calls()
        process.HandIn(self._shell, wire.Channel(3, 4), self._limits, self._sandboxed).serve()

    # Cells

    def _cells(self) -> int | None:
        """Hand out the cells in order; the index of one that the hand-in did not survive."""
        header, _ = self._hand_in.receive(1000, 0)  # "ready": what fails before is the grader's fault
        if header != {"op": "ready"}:
            raise RuntimeError("the hand-in's process did not start")
        job, arrays = self._grader.receive()
        budget = Budget(self._limits.output_bytes, self._limits.outputs)
        count = 0
        for index, cell in enumerate(job["cells"]):
            if cell is None:
                continue
            ordinary = cell["exercise"] is None
            count += ordinary
            if not self._cell(index, cell, arrays, count if ordinary else None, Outputs(budget)):
                return index
        return None

    def _cell(
        self, index: int, cell: dict[str, Any], arrays: list[np.ndarray], count: int | None, outputs: Outputs
    ) -> bool:
        """Run or ask one cell and tell the grader; whether the hand-in can go on."""
        began = monotonic()
        report, answers = Report(count=count), Answers()
        survived = False
        try:
            if count is not None:
                self._ask_to_run(cell["source"], count, report, outputs)
            else:
                self._ask_questions(cell, arrays, report, answers, outputs)
            survived = True
        except Stopped as stop:
            report.status, report.reason = stop.status, stop.reason
        except wire.Closed:
            report.status, report.reason = "crash", self._how_it_died()
        except wire.WireError:
            report.status, report.reason = "crash", _FORGED
        if not survived and count is not None:
            outputs.stopped(report.reason)
        header = {
            "op": "cell",
            "index": index,
            **asdict(report),
            "seconds": monotonic() - began,
            "outputs": outputs.kept(),
            "answers": None if count is not None else answers.packed,
        }
        if count is None and not frames.fits(header, answers.arrays):
            header |= {"status": "crash", "reason": _TOO_MUCH, "answers": []}
            answers.arrays = []
        self._grader.send(header, answers.arrays)
        return survived

    def _ask_to_run(self, source: str, count: int, report: Report, outputs: Outputs) -> None:
        self._allow(self._limits.cell_seconds, INTERRUPTS)
        self._hand_in.send({"op": "run", "source": source, "count": count})
        while True:
            header, _ = self._event()
            if header["op"] == "done":
                break
            outputs.take(header, count)
        if self._interrupts < INTERRUPTS:
            report.status = "timeout"
            report.reason = f"This cell ran for more than {self._limits.cell_seconds:g} s."
            outputs.stopped(report.reason)
            return
        if header.get("status") not in ("ok", "error"):
            raise wire.WireError("no such status")
        report.status = header["status"]

    def _ask_questions(
        self,
        cell: dict[str, Any],
        arrays: list[np.ndarray],
        report: Report,
        answers: Answers,
        outputs: Outputs,
    ) -> None:
        self._allow(self._limits.call_seconds + 2 * GRACE, 0)
        until = monotonic() + self._limits.call_seconds
        for group in _groups([frames.unpack_inputs(question, arrays) for question in cell["questions"]]):
            due = len(answers.packed) + len(group)
            memory = group[0].memory if group else None
            if memory is None or self._processes is None:
                self._ask_group(cell, group, until, report, answers, outputs)
            else:
                self._growth = Growth(self._processes, self._child)
                self._hand_in.every = LOOK_CLOSELY
                try:
                    self._ask_group(cell, group, until, report, answers, outputs)
                    most = self._growth.most
                finally:
                    self._growth, self._hand_in.every = None, LOOK
                if most > memory + UNCOUNTED and len(answers.packed) == due:
                    answers.packed[-1]["held"] = max(answers.packed[-1]["held"], most)
            if report.missing or report.status != "ok":
                return

    def _ask_group(
        self,
        cell: dict[str, Any],
        group: list[Inputs],
        until: float,
        report: Report,
        answers: Answers,
        outputs: Outputs,
    ) -> None:
        """Ask questions that one process may answer; where answers are lacking, `report` says why."""
        needed: list[np.ndarray] = []  # of all the arrays, those of these questions
        questions = [frames.pack_inputs(given, needed) for given in group]
        message = {"op": "ask", "exercise": cell["exercise"], "call": cell["call"], "questions": questions}
        due = len(answers.packed) + len(group)
        self._hand_in.send({**message, "seconds": max(0.0, until - monotonic())}, needed)
        written = bytearray()
        while True:
            header, chunk = self._event()
            if header["op"] == "asked":
                break
            if header["op"] == "answers":
                written += b"".join(part.tobytes() for part in chunk)
                if len(written) > MAX_ANSWERS:
                    raise Stopped("crash", _TOO_MUCH)
                if self._growth:
                    self._growth.look()
                    if _is_whole(written):
                        self._growth.end()
            else:
                outputs.take(header, None)
        if self._growth:
            self._growth.look()
        if header.get("missing") is True:
            report.missing = True
            return
        odd = _read_answers(bytes(written), due, answers)
        if odd:
            report.status, report.reason = "crash", odd
        elif len(answers.packed) < due:
            if header.get("late") is True:
                seconds = self._limits.call_seconds
                report.status, report.reason = "timeout", f"It took more than {seconds:g} s."
            else:
                report.status, report.reason = "crash", _death(header.get("exit"))

    def _event(self) -> wire.Frame:
        # While memory is measured, nothing is read that would take the time of many looks.
        most = MAX_EVENT if self._growth else 4 * self._limits.output_bytes + (1 << 20)
        header, arrays = self._hand_in.receive(most, 8 * frames.MAX_VALUES)
        if not isinstance(header.get("op"), str):
            raise wire.WireError("no such event")
        return header, arrays

    # Watching

    def _allow(self, seconds: float, interrupts: int) -> None:
        self._deadline, self._interrupts = monotonic() + seconds, interrupts

    def _watch(self) -> None:
        """Called every few moments while the hand-in has the word."""
        now = monotonic()
        if self._growth:
            self._growth.look()
            if now < self._next_look:
                return
        self._next_look = now + LOOK
        if now > self._finish:
            seconds = self._limits.total_seconds
            raise Stopped("timeout", f"The whole notebook ran for more than {seconds:g} s.")
        if now > self._deadline:
            if not self._interrupts:
                raise Stopped("timeout", "It ran for too long, and did not stop when interrupted.")
            self._interrupts -= 1
            self._deadline = now + GRACE
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGINT)
        if not self._sandboxed and self._gone():
            self._kill()  # else what it left behind would hold its pipe open
        if self._processes and self._too_large(self._processes):
            raise Stopped("crash", f"It used more than {self._limits.memory >> 20} MB of memory.")

    def _too_large(self, processes: confine.Processes) -> bool:
        sizes, most = processes.under(self._child), self._limits.memory + self._spare
        # Shared pages can be let go of and still exist, so address space is held against it as well.
        if sum(max(0, virtual - self._base) for virtual, _ in sizes.values()) > 4 * most:
            return True
        if sum(resident for _, resident in sizes.values()) <= most:
            return False
        return processes.memory(sizes) > most

    def _gone(self) -> bool:
        if self._ended is None:
            pid, status = os.waitpid(self._child, os.WNOHANG)
            self._ended = status if pid else None
        return self._ended is not None

    def _how_it_died(self) -> str:
        until = monotonic() + 0.2
        while not self._gone():
            if monotonic() > until:
                return "It closed the grader's own pipe."
            select.poll().poll(5)
        return _death(None if self._ended is None else os.waitstatus_to_exitcode(self._ended))

    def _kill(self) -> None:
        if self._sandboxed:  # PID 1 takes its whole namespace with it, before waitpid returns
            if not self._gone():
                os.kill(self._child, signal.SIGKILL)
                self._ended = os.waitpid(self._child, 0)[1]
            return
        if not self._processes:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child, signal.SIGKILL)
            return
        while tree := set(self._processes.under(os.getpid())) - {os.getpid()}:
            for pid in tree:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                while True:  # this process adopts what the hand-in leaves
                    pid, status = os.waitpid(-1, 0)
                    if pid == self._child:
                        self._ended = status


def _groups(questions: list[Inputs]) -> list[list[Inputs]]:
    """The questions in order, by the process that answers them: one whose memory is limited has its own."""
    groups: list[list[Inputs]] = []
    alone = True
    for given in questions:
        if alone or given.memory is not None:
            groups.append([])
        groups[-1].append(given)
        alone = given.memory is not None
    return groups or [[]]


def _read_answers(written: bytes, due: int, answers: Answers) -> str:
    """Take the answers out of what a question's process wrote, up to `due`; what is odd about it, or ""."""
    source, before = frames.Bytes(written), len(answers.packed)
    while source.left:
        try:
            header, arrays = frames.read_frame(source.read, MAX_ANSWER, 8 * frames.MAX_VALUES)
            if set(header) != {"index", "answer"}:
                raise wire.WireError("no answer")
            answer = frames.unpack_answer(header["answer"], frames.Once(arrays))
        except wire.WireError:
            # A process that was killed may leave half a frame; more than that is forged.
            half = len(answers.packed) < due and written[-source.left :][:4] == frames.MAGIC
            return "" if half else _FORGED
        index = header["index"]
        if type(index) is not int or before + index != len(answers.packed) or before + index >= due:
            return _FORGED
        answers.packed.append(frames.pack_answer(answer, answers.arrays))
    return ""


def _is_whole(written: bytearray) -> bool:
    """Whether this is as long as the frame that it begins with; to read it would take the time of many looks."""
    if len(written) < frames.PREFIX.size:
        return False
    _, header, payload = frames.PREFIX.unpack_from(written)
    return len(written) >= frames.PREFIX.size + int(header) + int(payload)


def _death(code: object) -> str:
    """How a process ended, from its exit code as `os.waitstatus_to_exitcode` gives it.

    >>> _death(-9), _death(3), _death("forged")
    ('Its process was killed by SIGKILL.', 'Its process ended with exit code 3.', 'Its process ended.')
    """
    if not isinstance(code, int) or isinstance(code, bool):
        return "Its process ended."
    if code < 0:
        try:
            return f"Its process was killed by {signal.Signals(-code).name}."
        except ValueError:
            return f"Its process was killed by signal {-code}."
    return f"Its process ended with exit code {code}."


def _own_folder() -> str:
    """A temporary home with an empty working directory, for a hand-in that runs without a sandbox."""
    folder = tempfile.mkdtemp(prefix="hand-in-")
    os.environ.update(HOME=folder, TMPDIR=folder)
    os.mkdir(f"{folder}/notebook")
    os.chdir(f"{folder}/notebook")
    return folder
