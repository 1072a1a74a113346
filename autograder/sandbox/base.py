"""Base class of all sandboxes: its methods run in the grader's process, outside of the sandbox.

It sends a submission's cells into the sandbox. Some are test cells, with calls of the
function that the student wrote. It gets back the outputs of the cells and the results of the calls.
A student's code may have forged these replies. So their size and form are checked here and in
`autograder.sandbox.inside`; afterwards they are only compared or shown, never executed.
SECURITY.md lists the guarantees and their limits.
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
from autograder.core.course import ANSWER_KEYS_FOLDER, COURSE_FILE, COURSE_VARIABLE
from autograder.core.errors import AutograderError
from autograder.core.results import CellOutcome
from autograder.core.run_limits import RunLimits
from autograder.core.text_format import join_words
from autograder.sandbox.inside import SANDBOX_COURSE, protocol
from autograder.sandbox.inside.driver import CellReport, CellRun
from autograder.student import STUDENT_PACKAGES
from autograder.values import encoding
from autograder.values.case_records import CallOutcome, Inputs
from autograder.values.value_types import SingleUseArrays

# Modules that a sandbox imports once, before any submission. Submissions run in forks of this
# process, so they need not import these modules. The modules of a lab are added. An entry
# "module:function" also calls the function.
PRELOAD = ("numpy", "IPython", "autograder.student.check")
# Maximal size of the JSON in one message with results of calls of a student's function. It has room
# for one result of the maximal size, or for the texts of many small results: JSON may take six
# bytes for a character.
MAX_ANSWERS_JSON_BYTES = 2 << 20
_JSON_MEMORY_FACTOR = 8  # decoded JSON takes up to 8 times as much memory as its text
_STOP_OUTCOMES = (CellOutcome.TIMEOUT, CellOutcome.CRASH)
_PACKAGE = Path(autograder.__file__).parent


class SandboxError(AutograderError):
    """The sandbox itself failed. This is never the fault of the student's code that ran in it."""


@dataclass(frozen=True)
class Cell:
    """Cell of a submission's notebook: code to run, or a request to call a student's function.

    Parameters
    ----------
    source : str
        Code of an ordinary cell.
    exercise : str, optional
        Name of the function to test. If it is given, `source` is not run; instead the student's
        function of this name is called with each of the `call_inputs`.
    call_inputs : sequence of Inputs
        The arguments of each call.
    call : {"function", "in place", "figure"} or str
        Kind of result, as in `autograder.judging.student_calls.call_student_function`.
    judged_again_without : frozenset of str
        Functions that this one calls, and without which the grader will try it again. If one of
        them takes too long, this test cell gets a tenth of the time: the same wait is paid once.
    """

    source: str
    exercise: str | None = None
    call_inputs: Sequence[Inputs] = ()
    call: str = "function"
    judged_again_without: frozenset[str] = frozenset()


class Sandbox(ABC):
    """Isolated place to run submissions, one after another; no submission can see another.

    The sandbox's processes start at the first call of `start` or `run`.

    Parameters
    ----------
    preload : sequence of str
        Modules to import once for all submissions.
    limits : RunLimits, optional
        Limits for each submission, unless `run` is given others.
    env : mapping of str to str
        Environment variables in addition to those of `_make_base_environment`.
    library : sequence of Path
        The course's own folders that submissions may read: packages that notebooks import, and
        data. The sandbox has a folder such as `plots` as /course/plots, beside the autograder.
    course : Path, optional
        The course's folder. Of its other files, a submission sees only course.toml and the answer
        keys that students have.

    Raises
    ------
    SandboxError
        If a folder of the library does not exist, or has the name of another folder of the
        library, of the autograder, or of a module of the standard library.
    """

    name: ClassVar[str]
    # Number of copies of a submission's memory that the grader's process may hold at once.
    memory_copies: ClassVar[int] = 0

    def __init__(
        self,
        preload: Sequence[str] = PRELOAD,
        limits: RunLimits | None = None,
        env: Mapping[str, str] | None = None,
        library: Sequence[Path] = (),
        course: Path | None = None,
    ) -> None:
        self.limits = limits or RunLimits()
        self._preload = tuple(preload)
        self._env = dict(env or {})
        self._library = _check_library_folders(library)
        self._course = course
        self._lock = Lock()

    @classmethod
    @abstractmethod
    def explain_unavailability(cls) -> str:
        """Return the reason that this sandbox does not start, and the remedy; "" if it starts."""

    @classmethod
    def explain_missing_packages(cls, packages: Iterable[str]) -> str:
        """Return a sentence on those packages that submissions cannot import; "" if all can be."""
        missing = cls.missing_packages(frozenset(packages))
        if not missing:
            return ""
        names = sorted(missing)
        pronoun = "it" if len(names) == 1 else "them"
        command = f"pip install {' '.join(names)}"
        return cls.missing_package_message.format(join_words(names), pronoun, command)

    missing_package_message: ClassVar[str] = (
        "{0} cannot be imported where submissions run: install {1} beside the engine, `{2}`."
    )

    @classmethod
    def missing_packages(cls, packages: frozenset[str]) -> set[str]:
        """Return those of the given packages that submissions cannot import."""
        return {name for name in packages if find_spec(name) is None}

    @abstractmethod
    def start(self) -> None:
        """Start the sandbox, and import the modules to preload; do nothing if it has started."""

    @abstractmethod
    def close(self) -> None:
        """End all processes and free all memory. A later `run` starts the sandbox again."""

    @abstractmethod
    def _run_plan(
        self,
        plan: Sequence[dict[str, Any] | None],
        arrays: list[np.ndarray],
        limits: RunLimits,
        seconds: float,
    ) -> Generator[CellReport, None, None]:
        """Run a notebook's cells one after another in a new process, and yield a report on each.

        Stop early if a cell ends the process, as `SubmissionDriver.run_cells` does.

        Parameters
        ----------
        plan : sequence of dict or None
            The cells as JSON (see `_pack_cell`); None for a cell to be left out.
        arrays : list of ndarray
            The encoded inputs of all calls.
        seconds : float
            Time limit of the whole run.

        Raises
        ------
        ProtocolError, OSError
            If the sandbox itself fails.
        """

    def _map_visible_files(self) -> dict[str, Path]:
        """Return the files of the autograder and the course that submissions can read.

        The keys are the paths in the sandbox, the values the real paths of files and folders. Of
        the autograder, submissions see the packages that students have (`STUDENT_PACKAGES`), the
        modules at the top level, and `autograder.sandbox.inside`, whose parent packages are empty
        in the sandbox.
        """
        patterns = ("*.py", *(f"{name}/*.py" for name in STUDENT_PACKAGES), "sandbox/inside/*.py")
        files: dict[str, Path] = {}
        for pattern in patterns:
            for path in sorted(_PACKAGE.glob(pattern)):
                files[f"{SANDBOX_COURSE}/autograder/{path.relative_to(_PACKAGE).as_posix()}"] = path
        for path in self._library:
            files[f"{SANDBOX_COURSE}/{path.name}"] = path
        if self._course is not None:
            answer_keys = sorted(self._course.glob(f"notebooks/*/{ANSWER_KEYS_FOLDER}"))
            for path in (self._course / COURSE_FILE, *answer_keys):
                files[f"{SANDBOX_COURSE}/{path.relative_to(self._course).as_posix()}"] = path
        return files

    def _make_base_environment(self, home: str, temporary: str, course: str) -> dict[str, str]:
        """Return the environment variables that submissions have in every sandbox."""
        environment = {
            "HOME": home,
            "USER": "student",
            "LOGNAME": "student",
            "LANG": "C.UTF-8",
            "TMPDIR": temporary,
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "MPLCONFIGDIR": f"{temporary}/matplotlib",
            "IPYTHONDIR": f"{temporary}/ipython",
        }
        if self._course:
            environment[COURSE_VARIABLE] = course
        return environment

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, cells: Sequence[Cell], limits: RunLimits | None = None) -> list[CellRun]:
        """Run a submission's notebook cells in order, and return the result of each.

        After a cell that raises an exception, the next cell runs. If a cell ends the process, or
        has to be killed, all cells run again without that cell. If a cell was stopped at its time
        limit, the statements that it had completed are kept in this second run.

        Parameters
        ----------
        limits : RunLimits, optional
            Limits for this submission; by default those of the sandbox.

        Raises
        ------
        SandboxError
            If the sandbox itself fails twice.
        """
        limits = limits or self.limits
        remaining_seconds = limits.total_seconds
        runs: dict[int, CellRun] = {}
        # If a cell makes the process end, all cells run again in a new process. Of the cell that
        # was to blame, only the statements before the fatal one run again. This dict holds the
        # number of these statements by the cell's index; 0 leaves the cell out.
        statement_counts: dict[int, int] = {}
        failures = 0
        while len(runs) < len(cells) and remaining_seconds > 0:
            if len(statement_counts) > limits.reruns:
                break
            try:
                fatal, charged_seconds = self._run_in_new_process(
                    cells,
                    statement_counts,
                    runs,
                    limits,
                    remaining_seconds,
                )
            except (protocol.ProtocolError, OSError) as error:
                failures += 1
                if failures == 2:
                    message = self._add_log_excerpt(f"The sandbox failed twice: {error}.")
                    raise SandboxError(message) from error
                self.close()
                continue
            remaining_seconds -= charged_seconds
            if fatal is None:
                break
            timed_out = fatal not in statement_counts and runs[fatal].status is CellOutcome.TIMEOUT
            statement_counts[fatal] = runs[fatal].completed_statements if timed_out else 0
        skipped_run = CellRun(
            status=CellOutcome.SKIPPED,
            reason="The notebook's time, or its number of reruns, was used up.",
        )
        return [runs.get(index, skipped_run) for index in range(len(cells))]

    def _add_log_excerpt(self, message: str) -> str:
        """Return an error message, followed by the end of the sandbox's log if there is one."""
        return message

    def _run_in_new_process(
        self,
        cells: Sequence[Cell],
        statement_counts: Mapping[int, int],
        runs: dict[int, CellRun],
        limits: RunLimits,
        seconds: float,
    ) -> tuple[int | None, float]:
        """Run a notebook's cells in a new process, and add their results to `runs`.

        Parameters
        ----------
        statement_counts : mapping of int to int
            For the index of a cell that ended an earlier process: the number of its statements to
            run. A cell with 0 is left out.
        runs : dict of int to CellRun
            Results by index of the cell. A result from an earlier process stays, unless the cell
            was complete then and had to be stopped now.

        Returns
        -------
        int or None, float
            The index of the cell that ended the process, if any; and the seconds that count
            against the submission's time limit.
        """
        arrays: list[np.ndarray] = []
        plan: list[dict[str, Any] | None] = []
        slow_functions = set()
        for index, run in runs.items():
            if cells[index].exercise and run.status is CellOutcome.TIMEOUT:
                slow_functions.add(cells[index].exercise)
        for index, cell in enumerate(cells):
            if statement_counts.get(index) == 0 or (cell.exercise and index in runs):
                plan.append(None)
            else:
                packed_cell = _pack_cell(cell, arrays, statement_counts.get(index))
                packed_cell["slow"] = not slow_functions.isdisjoint(cell.judged_again_without)
                plan.append(packed_cell)
        previous, charged_seconds = -1, 0.0
        last = max((index for index, order in enumerate(plan) if order), default=-1)
        with closing(self._run_plan(plan, arrays, limits, seconds)) as reports:
            for run, values in reports:
                index, charged_seconds = run.index, run.total_charged_seconds
                order = plan[index] if previous < index <= last else None
                if not order:
                    raise protocol.ProtocolError("a report that nobody asked for")
                previous = index
                if not order["replay"]:
                    _store_decoded_outcomes(run, values, cells[index])
                    stopped_now = (
                        index in runs
                        and runs[index].status is CellOutcome.OK
                        and run.status in _STOP_OUTCOMES
                    )
                    if index not in runs or stopped_now:
                        runs[index] = run
                if run.ended_process:
                    return index, charged_seconds
        if previous != last:
            raise protocol.ProtocolError("the reports have no end")
        return None, charged_seconds


def _take_statements(source: str, count: int) -> str:
    """Return the source of the first `count` statements of a cell."""
    try:
        body = ast.parse(source).body[:count]
    except SyntaxError:  # the cell has IPython's syntax: a line that begins with % or !
        return ""
    return "\n".join(source.split("\n")[: body[-1].end_lineno]) if body else ""


def _pack_cell(cell: Cell, arrays: list[np.ndarray], max_statements: int | None) -> dict[str, Any]:
    """Encode a cell as JSON for the sandbox, and append the arguments of its calls to `arrays`.

    If `max_statements` is given, the cell had to be stopped in an earlier run. Then only the first
    `max_statements` statements are run again, and their outputs are ignored.
    """
    groups, first_array = [], len(arrays)
    input_groups = _split_inputs_by_process(cell.call_inputs) if cell.exercise is not None else []
    for group in input_groups:
        input_arrays: list[np.ndarray] = []
        records = [encoding.pack_inputs(inputs, input_arrays) for inputs in group]
        memory = group[0].memory if group else None
        # Encode the inputs of all calls to bytes, which are a part of the
        # message. The processes in between pass these bytes on. Only the process that makes the
        # calls decodes them.
        parts = protocol.split_into_message_parts(
            encoding.encode({"questions": records}, input_arrays)
        )
        groups.append({"parts": len(parts), "memory": memory})
        arrays += parts
    source = cell.source
    if max_statements is not None:
        source = _take_statements(source, max_statements)
    return {
        "source": source,
        "replay": max_statements is not None,
        "exercise": cell.exercise,
        "call": cell.call,
        "judged_again_without": sorted(cell.judged_again_without),
        "first_array": first_array,
        "groups": groups,
    }


def _split_inputs_by_process(call_inputs: Sequence[Inputs]) -> list[list[Inputs]]:
    """Split the inputs of a function's calls into groups: each gets its own process.

    The order stays. A call with a memory limit is a group by itself, so that the memory of its
    answer can be measured.
    """
    groups: list[list[Inputs]] = []
    start_group = True
    for inputs in call_inputs:
        if start_group or inputs.memory is not None:
            groups.append([])
        groups[-1].append(inputs)
        start_group = inputs.memory is not None
    return groups or [[]]


def _store_decoded_outcomes(run: CellRun, arrays: list[np.ndarray], cell: Cell) -> None:
    """Decode the results of a test cell's function calls; set `run.outcomes` and `run.status`."""
    if cell.exercise is not None:
        groups = _split_inputs_by_process(cell.call_inputs)
        run.outcomes, (status, reason) = _read_outcome_groups(run.outcome_groups, arrays, groups)
        if run.status is CellOutcome.OK and not run.missing:
            run.status, run.reason = status, reason
            run.forged = reason is protocol.FORGED_MESSAGE


def _read_outcome_groups(
    reports: list[Any], arrays: list[np.ndarray], groups: list[list[Inputs]]
) -> tuple[list[CallOutcome], tuple[CellOutcome, str]]:
    """Decode the results of all calls of one exercise's function (its outcomes).

    Return the answers, and the status of the test cell with the reason for it. If a process failed,
    the answers end there.
    """
    outcomes: list[CallOutcome] = []
    budget = [10 * encoding.MAX_ARRAYS, encoding.MAX_PAYLOAD_BYTES]
    for number, group in enumerate(groups):
        if number >= len(reports):
            return outcomes, (CellOutcome.CRASH, protocol.describe_exit(None))
        field_types = {"parts": int, "exit": (int, type(None)), "held": int}
        report = encoding.check_fields(reports[number], field_types)
        parts, arrays = arrays[: report["parts"]], arrays[report["parts"] :]
        if len(parts) != report["parts"]:
            raise protocol.ProtocolError("arrays are missing")
        group_outcomes, problem = _decode_outcomes(protocol.join_parts(parts), len(group), budget)
        if problem:
            outcomes = [] if problem == protocol.TOO_LARGE_MESSAGE else outcomes
            return outcomes, (CellOutcome.CRASH, problem)
        outcomes += group_outcomes
        if len(group_outcomes) < len(group):
            return outcomes, (CellOutcome.CRASH, protocol.describe_exit(report["exit"]))
        if report["held"] > 0:
            outcomes[-1] = replace(outcomes[-1], peak_bytes=report["held"])
    return outcomes, (CellOutcome.OK, "")


def _decode_outcomes(
    data: bytes, max_outcomes: int, budget: list[int]
) -> tuple[list[CallOutcome], str]:
    """Decode the results of function calls (answers) that one process of the sandbox wrote.

    Parameters
    ----------
    budget : list of int
        Number of arrays, and of bytes in memory, that the answers may still have. Both are
        reduced by those of the decoded answers.

    Returns
    -------
    list of CallOutcome, str
        The answers, and a sentence on what is wrong with the data, or "".
    """
    source = encoding.ByteReader(data)
    outcomes: list[CallOutcome] = []
    while source.remaining:
        start, bytes_before = data[-source.remaining :][:4], source.remaining
        try:
            header, arrays = encoding.read_frame(
                source.read, MAX_ANSWERS_JSON_BYTES, 8 * encoding.MAX_ANSWER_NUMBERS
            )
        except protocol.ProtocolError:
            # A process that was killed may have written half a message. Any other malformed
            # message was forged by the student's code.
            is_cut_off = source.hit_end and encoding.MAGIC.startswith(start)
            if is_cut_off and len(outcomes) < max_outcomes:
                return outcomes, ""
            return outcomes, protocol.FORGED_MESSAGE
        try:
            fields = encoding.check_fields(header, {"first": int, "answers": list})
            single_use_arrays = SingleUseArrays(arrays)
            frame_outcomes = []
            for outcome in fields["answers"]:
                frame_outcomes.append(encoding.unpack_outcome(outcome, single_use_arrays))
        except protocol.ProtocolError:
            return outcomes, protocol.FORGED_MESSAGE
        is_out_of_order = fields["first"] != len(outcomes)
        if (
            not frame_outcomes
            or is_out_of_order
            or len(outcomes) + len(frame_outcomes) > max_outcomes
        ):
            return outcomes, protocol.FORGED_MESSAGE
        outcomes += frame_outcomes
        budget[0] -= len(arrays)
        size = sum(array.nbytes for array in arrays)
        budget[1] -= size + _JSON_MEMORY_FACTOR * (bytes_before - source.remaining - size)
        if min(budget) < 0:
            return outcomes, protocol.TOO_LARGE_MESSAGE
    return outcomes, ""


def _check_library_folders(library: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders of the course's library as absolute paths.

    Raise SandboxError if a folder is missing, or would hide a module of the same name.
    """
    folders: dict[str, Path] = {}
    for path in library:
        folder = Path(path).absolute()
        if not folder.is_dir():
            raise SandboxError(f"The course's library names {folder}, and there is no such folder.")
        if folder.name in folders:
            raise SandboxError(f"The course's library has two folders {folder.name}: rename one.")
        if folder.name == "autograder" or folder.name in sys.stdlib_module_names:
            raise SandboxError(
                f"The course's library has a folder {folder.name}, which would hide Python's or "
                "the engine's module of that name: rename it."
            )
        folders[folder.name] = folder
    return tuple(folders.values())
