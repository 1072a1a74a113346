"""Running a hand-in, whatever the sandbox: cells and questions in, outputs and arrays out.

All that comes back may have been forged by a student's code; it is bounded and checked here and by
`autograder.grading.sandbox.inside`, and only ever compared or shown. SECURITY.md says what holds and what does not.
"""

import ast
import sys
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np

import autograder
from autograder.course import ANSWERS, FILE, VARIABLE
from autograder.errors import Complaint, listed
from autograder.grading.sandbox.inside import COURSE, wire
from autograder.grading.sandbox.inside.drive import CellRun, Reported
from autograder.grading.sandbox.inside.limits import Limits
from autograder.judging import frames
from autograder.judging.kinds import Once
from autograder.judging.question import Answer, Inputs
from autograder.results import Outcome

PRELOAD = ("numpy", "matplotlib.pyplot", "IPython")
# Bytes of it in one frame of answers: the parts of one that is as large as answers may be, or the texts of many small
# ones, each character of which may take six.
MAX_ANSWERS_JSON = 2 << 20
_JSON_WEIGHS = 8  # times its bytes, when it has been read
_STOPPED = (Outcome.TIMEOUT, Outcome.CRASH)
_PACKAGE = Path(autograder.__file__).parent


class SandboxError(Complaint):
    """The sandbox failed, not what ran in it: never a student's fault."""


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
    call : {"function", "in place", "figure"} or str
        As in `autograder.judging.answer.ask`.
    """

    source: str
    exercise: str | None = None
    questions: Sequence[Inputs] = ()
    call: str = "function"


class Sandbox(ABC):
    """Where hand-ins run, one after another; starts when first used. What is in it is shared by none of them.

    Parameters
    ----------
    preload : sequence of str
        Modules to import once for all hand-ins.
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

    name: ClassVar[str]
    held_here: ClassVar[int] = 0  # how many times a hand-in's memory this process may hold itself

    def __init__(
        self,
        preload: Sequence[str] = PRELOAD,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        library: Sequence[Path] = (),
        course: Path | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._preload = tuple(preload)
        self._env = dict(env or {})
        self._library = _checked_library(library)
        self._course = course
        self._lock = Lock()

    @classmethod
    @abstractmethod
    def why_unavailable(cls) -> str:
        """Why this sandbox does not start on this machine, in a sentence with the remedy; "" if it does."""

    @classmethod
    def why_not_with(cls, packages: Iterable[str]) -> str:
        """Why hand-ins that import these cannot be marked in this sandbox, in a sentence; "" if they can."""
        lacking = cls.lacks(frozenset(packages))
        return cls.remedy.format(listed(sorted(lacking))) if lacking else ""

    remedy: ClassVar[str] = (
        "{0} cannot be imported where hand-ins run: install it beside the engine, `pip install {0}`."
    )

    @classmethod
    def lacks(cls, packages: frozenset[str]) -> set[str]:
        """Those of these packages that hand-ins cannot import."""
        return {name for name in packages if find_spec(name) is None}

    @abstractmethod
    def start(self) -> None:
        """Import what all hand-ins need; nothing if that is done."""

    @abstractmethod
    def close(self) -> None:
        """End all that was started; `run` would start it again."""

    @abstractmethod
    def _reports(
        self,
        plan: Sequence[dict[str, Any] | None],
        arrays: list[np.ndarray],
        limits: Limits,
        seconds: float,
    ) -> Generator[Reported, None, None]:
        """Run these cells in one hand-in, which may spend so many seconds: what `drive.Guest.cells` gives.

        Raises WireError or OSError where the sandbox itself fails.
        """

    def _shown(self) -> dict[str, Path]:
        """The engine's and the course's files and folders that hand-ins see, by their places in the sandbox.

        Of the engine that is the student's part, the package's top level and the folder `judging`, and what runs in
        the sandbox: it has its real name, and nothing stands in the packages above it.
        """
        parts = ("*.py", "judging/*.py", "grading/sandbox/inside/*.py")
        engine = [path for part in parts for path in sorted(_PACKAGE.glob(part))]
        shown = {f"{COURSE}/autograder/{path.relative_to(_PACKAGE).as_posix()}": path for path in engine}
        shown |= {f"{COURSE}/{path.name}": path for path in self._library}
        if self._course is not None:
            students = [self._course / FILE, *sorted(self._course.glob(f"notebooks/*/{ANSWERS}"))]
            shown |= {f"{COURSE}/{path.relative_to(self._course).as_posix()}": path for path in students}
        return shown

    def _basics(self, home: str, temporary: str, course: str) -> dict[str, str]:
        """The environment that hand-ins have everywhere."""
        return {
            "HOME": home,
            "USER": "student",
            "LOGNAME": "student",
            "LANG": "C.UTF-8",
            "TMPDIR": temporary,
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "MPLCONFIGDIR": f"{temporary}/matplotlib",
            "IPYTHONDIR": f"{temporary}/ipython",
            **({VARIABLE: course} if self._course else {}),
        }

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, cells: Sequence[Cell], limits: Limits | None = None) -> list[CellRun]:
        """Run one hand-in's cells in order.

        A cell that raises does not stop the rest. One that ends the process, or has to be killed, is left out, and
        the others are run again; of one that took too long, what it had done before is done again.

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
        left_out: dict[int, int] = {}  # how many of the cell's statements are still run
        failures = 0
        while len(found) < len(cells) and len(left_out) <= limits.reruns and left > 0:
            try:
                guilty, spent = self._attempt(cells, left_out, found, limits, left)
            except (wire.WireError, OSError) as error:
                failures += 1
                if failures == 2:
                    raise SandboxError(self._why(f"The sandbox failed twice: {error}.")) from error
                self.close()
                continue
            left -= spent
            if guilty is None:
                break
            stopped = guilty not in left_out and found[guilty].status is Outcome.TIMEOUT
            left_out[guilty] = found[guilty].statements if stopped else 0
        skipped = CellRun(
            status=Outcome.SKIPPED, reason="The notebook's time, or its number of reruns, was used up."
        )
        return [found.get(index, skipped) for index in range(len(cells))]

    def _why(self, what: str) -> str:
        """`what`, with what the sandbox itself had to say."""
        return what

    def _attempt(
        self,
        cells: Sequence[Cell],
        left_out: Mapping[int, int],
        found: dict[int, CellRun],
        limits: Limits,
        seconds: float,
    ) -> tuple[int | None, float]:
        """One hand-in's worth: the index of the cell that ended it, if one did, and what it spent of the seconds."""
        arrays: list[np.ndarray] = []
        plan = [
            None
            if left_out.get(index) == 0 or (cell.exercise and index in found)
            else _pack_cell(cell, arrays, left_out.get(index))
            for index, cell in enumerate(cells)
        ]
        last, spent = -1, 0.0
        due = max((index for index, cell in enumerate(plan) if cell), default=-1)
        with closing(self._reports(plan, arrays, limits, seconds)) as reports:
            for run, values in reports:
                index, spent = run.index, run.total
                if not last < index <= due or not (ordered := plan[index]):
                    raise wire.WireError("a report that nobody asked for")
                last = index
                if not ordered["quietly"]:
                    _take_answers(run, values, cells[index])
                    if index not in found or (found[index].status is Outcome.OK and run.status in _STOPPED):
                        found[index] = run
                if run.over:
                    return index, spent
        if last != due:
            raise wire.WireError("the reports have no end")
        return None, spent


def _first(source: str, statements: int) -> str:
    """The first so many of a cell's statements."""
    try:
        body = ast.parse(source).body[:statements]
    except SyntaxError:  # IPython's own: a line that begins with % or !
        return ""
    return "\n".join(source.split("\n")[: body[-1].end_lineno]) if body else ""


def _pack_cell(cell: Cell, arrays: list[np.ndarray], statements: int | None) -> dict[str, Any]:
    """A cell as it is ordered; of one that had to be stopped before, the `statements` that were done then, unseen."""
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
        "source": cell.source if statements is None else _first(cell.source, statements),
        "quietly": statements is not None,
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


def _take_answers(run: CellRun, values: list[np.ndarray], cell: Cell) -> None:
    """Read the answers that came with a test cell's report, and judge by them how it went."""
    if cell.exercise is not None:
        run.answers, (status, reason) = _read_groups(run.asked, values, _groups(cell.questions))
        if run.status is Outcome.OK and not run.missing:
            run.status, run.reason, run.forged = status, reason, reason is wire.FORGED


def _read_groups(
    asked: list[Any], written: list[np.ndarray], groups: list[list[Inputs]]
) -> tuple[list[Answer], tuple[Outcome, str]]:
    """The answers that these processes wrote, and the status and reason of their exercise."""
    answers: list[Answer] = []
    room = [10 * frames.MAX_ARRAYS, frames.MAX_PAYLOAD]
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
            answers[-1] = replace(answers[-1], held=report["held"])
    return answers, (Outcome.OK, "")


def _read_answers(written: bytes, due: int, room: list[int]) -> tuple[list[Answer], str]:
    """The answers in what a question's process wrote, up to `due`, and what is odd about it, or "".

    `room` counts down the arrays, and the bytes of them and of JSON, that all answers together may have.
    """
    source = frames.Bytes(written)
    answers: list[Answer] = []
    while source.left:
        begins, before = written[-source.left :][:4], source.left
        try:
            header, arrays = frames.read_frame(source.read, MAX_ANSWERS_JSON, 8 * frames.MAX_VALUES)
        except wire.WireError:
            # A process that was killed may leave half a frame; more than that is forged.
            half = len(answers) < due and source.ended and frames.MAGIC.startswith(begins)
            return answers, "" if half else wire.FORGED
        try:
            fields = frames.check_fields(header, {"first": int, "answers": list})
            once = Once(arrays)
            found = [frames.unpack_answer(answer, once) for answer in fields["answers"]]
        except wire.WireError:
            return answers, wire.FORGED
        if not found or fields["first"] != len(answers) or len(answers) + len(found) > due:
            return answers, wire.FORGED
        answers += found
        room[0] -= len(arrays)
        size = sum(array.nbytes for array in arrays)
        room[1] -= size + _JSON_WEIGHS * (before - source.left - size)
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
