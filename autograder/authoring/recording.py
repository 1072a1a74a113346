"""Running a foreign source notebook to see what its tests ask: in a process of its own, and nothing is pickled.

Each cell is run with its own solution; while a test cell runs, the calls that it makes of the functions to be
written are kept, with their arguments, results and errors, and the variables that it reads.
"""

import builtins
import functools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from autograder.errors import Complaint, cut
from autograder.judging.answer import ask, pack
from autograder.judging.frames import decode, encode
from autograder.judging.kinds import FrameError, copied, copied_inputs, pack_value, same, unpack_value, zeros
from autograder.judging.question import Inputs, Rules, Value
from autograder.judging.tables import Table
from autograder.judging.tested import WORDS, by_test, heard, holds

SECONDS = 300  # of CPU time, for all cells of a notebook
MEMORY = 4 << 30  # bytes of address space
BESIDE = 200 << 20  # bytes of files beside the notebook that are copied for it
MOST = 40  # calls of one function that are kept of a test cell
_VALUES = ("args", "kwargs", "result")  # what of a call is packed


class RecordingError(Complaint):
    """A source notebook cannot be run; the text says why."""


@dataclass(frozen=True)
class Call:
    """One call that a test cell made.

    Parameters
    ----------
    cell, line : int
        Where: the cell's number, and the line in it.
    function : str
    args : tuple, kwargs : dict
        Values; empty where `lost` says what was none.
    result : value
    error : str
        The type of what it raised, else "".
    printed : bool
        Whether it printed and returned nothing.
    lost : str
        Why it cannot be a case: what among the arguments or results is no value; "" where it can.
    """

    cell: int
    line: int
    function: str
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    result: Value = None
    error: str = ""
    printed: bool = False
    lost: str = ""


@dataclass(frozen=True)
class Recorded:
    """What running a notebook showed.

    Parameters
    ----------
    calls : list of Call
    held : dict of (int, str) to (value, str)
        What each variable held when a test cell began, and why that is no value; "" where it is one.
    errors : dict of int to str
        What cells raised.
    kept : dict of str to Tried
        What became of the tests that cells are to be kept as, by their names.
    """

    calls: list[Call]
    held: dict[tuple[int, str], tuple[Value, str]]
    errors: dict[int, str]
    kept: dict[str, "Tried"]


@dataclass(frozen=True)
class Tried:
    """A test by itself, asked of the notebook's own solution: what it needs, and why it cannot be asked so, or "".

    `weak` is whether quite other results of the same form pass it.
    """

    values: dict[str, Value]
    why: str = ""
    weak: bool = False


def record(cells: Sequence[dict], folder: Path) -> Recorded:
    """Run the cells in a process with limits, in a copy of the folder that the notebook lies in.

    Parameters
    ----------
    cells : sequence of dict
        `number`, `source`, `functions` (that it defines and that are to be kept), `test` (bool), `reads` (variables),
        `kept` (tests to be tried by themselves, see `autograder.authoring.keeping.Kept`).
    folder : Path

    Raises
    ------
    RecordingError
    """
    with tempfile.TemporaryDirectory() as place:
        work = Path(place) / "work"
        _copy(folder, work)
        (Path(place) / "order.json").write_text(json.dumps(list(cells)), "utf-8")
        env = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "autograder.authoring.recording", place]
        try:
            ran = subprocess.run(
                command, cwd=work, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=6 * SECONDS
            )
        except subprocess.TimeoutExpired:
            raise RecordingError(
                f"The notebook did not come to its end in {6 * SECONDS} seconds; make its cells quicker."
            ) from None
        try:
            return _unpacked((Path(place) / "recorded").read_bytes())
        except (OSError, FrameError, KeyError, TypeError, ValueError):
            last = ran.stderr.decode("utf-8", "replace").strip().split("\n")[-1][:200]
            why = last or f"exit code {ran.returncode}"
            raise RecordingError(
                f"Running the notebook ended its process ({why}): it may take {SECONDS} s of CPU time and "
                f"{MEMORY >> 30} GB of memory."
            ) from None


def _copy(folder: Path, work: Path) -> None:
    """The files beside a notebook, as far as there is room; links and hidden folders are left out."""
    left = BESIDE
    work.mkdir()
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        for name in sorted(files):
            path = Path(here) / name
            if path.is_symlink() or not path.is_file() or path.suffix == ".ipynb":
                continue
            left -= path.stat().st_size
            if left < 0:
                return
            target = work / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def _unpacked(data: bytes) -> Recorded:
    header, arrays = decode(data)
    calls = [
        Call(**{**call, **{name: unpack_value(call[name], arrays) for name in _VALUES}})
        for call in header["calls"]
    ]
    held = {(cell, name): (unpack_value(v, arrays), lost) for cell, name, v, lost in header["held"]}
    kept = {name: Tried(unpack_value(v, arrays), why, weak) for name, v, why, weak in header["kept"]}
    return Recorded(calls, held, {int(n): said for n, said in header["errors"].items()}, kept)


# The other side


class _Recorder:
    """Stands in a notebook for its functions, and keeps the outermost calls that test cells make."""

    def __init__(self) -> None:
        self.cell: int | None = None
        self.depth = 0
        self.calls: list[tuple[Call, Callable]] = []
        self.counts: dict[tuple[int, str], int] = {}

    def around(self, name: str, function: Callable) -> Callable:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            if self.cell is None or self.depth or self._too_many(name):
                return function(*args, **kwargs)
            line = self._line()
            given = {place: _plain(value) for place, value in [*enumerate(args), *kwargs.items()]}
            self.depth += 1
            error = ""
            result = None
            try:
                result = function(*args, **kwargs)
                return result
            except Exception as raised:
                error = type(raised).__name__
                raise
            finally:
                self.depth -= 1
                value, other = _plain(result)
                lost = [f"an argument is {why}" for _, why in given.values() if why]
                lost += [f"it returns {other}"] if other else []
                call = Call(self.cell, line, name, result=value, error=error, lost=next(iter(lost), ""))
                if not lost:
                    values = [value for value, _ in given.values()]
                    named = dict(zip(kwargs, values[len(args) :], strict=True))
                    call = replace(call, args=tuple(values[: len(args)]), kwargs=named)
                self.calls.append((call, function))

        return recorded

    def _too_many(self, name: str) -> bool:
        at = (self.cell or 0, name)
        self.counts[at] = self.counts.get(at, 0) + 1
        return self.counts[at] > MOST

    def _line(self) -> int:
        frame, ours = sys._getframe(2), f"<cell {self.cell}>"
        while frame is not None and frame.f_code.co_filename != ours:
            frame = frame.f_back  # type: ignore[assignment]
        return frame.f_lineno if frame is not None else 0

    def settled(self) -> list[Call]:
        """The calls, each made once more at the end: what differs depends on chance or on what came between."""
        return [call if call.lost else _settled(call, function) for call, function in self.calls]


def _plain(value: Any) -> tuple[Value, str]:
    """What is kept of a value, and what it is where it is none: "a generator"."""
    kind, plain = pack(value)
    return plain, "" if plain is not None or value is None else f"a {kind}"


def _settled(call: Call, function: Callable) -> Call:
    again = ask(function, Inputs(call.args, call.kwargs))
    why = f"it changes its argument {again.modified[0]}" if again.modified and not call.error else ""
    if again.raised != call.error or not same(again.value, call.result, Rules()):
        why = "it gives something else when it is called again"
    if why:
        return replace(call, args=(), kwargs={}, result=None, lost=why)
    return replace(call, printed=call.result is None and not call.error and bool(again.printed.strip()))


def _tried(test: dict, namespace: dict[str, Any], held: dict[str, tuple[Value, str]]) -> Tried:
    """A test by itself, with the notebook's functions and what its variables held before its cell."""
    for name in (*test["values"], *test["variables"]):
        if lost := held.get(name, (None, "not there"))[1]:
            return Tried({}, f"it uses `{name}`, which is {lost}")
    values, found = ({name: held[name][0] for name in test[of]} for of in ("values", "variables"))
    names = [name for name in (test["subject"], *test["others"]) if name]
    functions = {name: getattr(namespace.get(name), "__wrapped__", repr) for name in names}
    answer = functions.get(test["subject"], lambda: copied(found))
    given = by_test(test["source"], **values)
    try:
        came, error = heard(answer, functions, **copied_inputs(given).kwargs)
    except Exception as raised:  # noqa: BLE001 - anybody's code
        came, error = [], raised
    _, due = pack(came)
    if error or due is None:
        raises = cut(" ".join(f"it raises {type(error).__name__}: {error}".split()), 120)
        return Tried({}, raises if error else "it gives more than can be compared")
    if said := holds(due, copied(due), 0.0, copied_inputs(given)):
        return Tried({}, f"it fails. {said}")
    others = (copied([_others(held, far) for held in due]) for far in (-1e6, 1e6))
    return Tried(values, "", all(holds(due, other, 0.0, copied_inputs(given)) is None for other in others))


def _others(value: Value, far: float) -> Value:
    """A value of the same form, with quite other numbers in it."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return (far / (1 + np.arange(value.size).reshape(value.shape))).astype(value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(_others(part, far / (2 + at)) for at, part in enumerate(value))
    if isinstance(value, dict):
        return {key: _others(part, far) for key, part in value.items()}
    if isinstance(value, str):
        return value if value in WORDS else f"{value}?"
    if isinstance(value, Table):
        return zeros(value)
    return not value if type(value) is bool else type(value)(far) if type(value) in (int, float) else value


def main(place: Path) -> None:
    """Run what `order.json` holds, and write `recorded`."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from IPython.display import display

    builtins.display = display  # type: ignore[attr-defined]
    sys.path.insert(0, "")
    cells = json.loads((place / "order.json").read_text("utf-8"))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    recorder, held, errors = _Recorder(), [], {}
    arrays: list = []
    kept: list[tuple[str, Tried]] = []
    for cell in cells:
        number = cell["number"]
        for name in cell["reads"]:
            if name in namespace:
                value, lost = _plain(namespace[name])
                held.append([number, name, pack_value(value, arrays), lost])
        recorder.cell = number if cell["test"] else None
        began = process_time()
        try:
            exec(compile(cell["source"], f"<cell {number}>", "exec"), namespace)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            errors[number] = f"{type(error).__name__}: {error}"[:300]
        recorder.cell = None
        if number not in errors and process_time() - began < SECONDS / 20:
            here = {name: (unpack_value(value, arrays), lost) for n, name, value, lost in held if n == number}
            chance = random.getstate(), np.random.get_state()  # what comes draws as if nothing had been tried
            kept += [(test["name"], _tried(test, namespace, here)) for test in cell["kept"]]
            random.setstate(chance[0])
            np.random.set_state(chance[1])
        for name in cell["functions"]:
            if callable(namespace.get(name)) and not hasattr(namespace[name], "__wrapped__"):
                namespace[name] = recorder.around(name, namespace[name])
    calls = [
        {**vars(call), **{name: pack_value(getattr(call, name), arrays) for name in _VALUES}}
        for call in recorder.settled()
    ]
    tried = [[name, pack_value(one.values, arrays), one.why, one.weak] for name, one in kept]
    header = {"calls": calls, "held": held, "errors": errors, "kept": tried}
    (place / "recorded").write_bytes(encode(header, arrays))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
