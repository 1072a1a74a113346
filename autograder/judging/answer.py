"""Calling an answer: one call in, plain data out.

The same code runs in the student's kernel, in the sandbox and over the misconceptions, so that all
three are judged alike. What it returns holds values (`autograder.judging.question`) and text, nothing else.
"""

import builtins
import inspect
import io
import linecache
import re
import sys
import tracemalloc
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from autograder.errors import cut
from autograder.judging import kinds
from autograder.judging.figures import drawn
from autograder.judging.kinds import MAX_CHARACTERS, NotPlain, Room
from autograder.judging.made import worked_out
from autograder.judging.question import Answer, Inputs, Value


def ask(function: Any, given: Inputs, call: str = "function") -> Answer:
    """Call `function` on copies of the inputs and pack what comes back.

    Parameters
    ----------
    function : callable
        The answer.
    given : Inputs
    call : str
        As in `autograder.judging.question.Rules`.

    Returns
    -------
    Answer
        Never raises for what the function does; an interrupt passes through.
    """
    asked = kinds.copied_inputs(given)
    args, kwargs = asked.args, asked.kwargs
    printed = _Printed()
    measured = _Memory(given.memory)
    told: _Told | None = None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with Overheard(printed), measured:
                target = _target(function, call)
                result = target(*args, **kwargs)
                if given.asked and result is not None:
                    told = _Told()
                    told.ask(result, given.asked)
            if told is not None:
                kind, value = told.kind, tuple(told.values)
            else:
                kind, value = pack(result) if call != "in place" else pack(_left(result, given, asked))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises is an answer
        line, within = _raised_in(error)
        return Answer(
            told and tuple(told.values),
            "error",
            _one_line(error),
            printed=printed.text,
            line=line,
            within=within,
        )
    if call == "in place":
        return Answer(value, kind, "", (), printed.text, held=measured.held)
    changed = [i for i, before in enumerate(given.args) if not kinds.unchanged(before, args[i])]
    modified = names_of(function, changed) if changed else []
    modified += [name for name, before in given.kwargs.items() if not kinds.unchanged(before, kwargs[name])]
    return Answer(value, kind, "", tuple(modified), printed.text, held=measured.held)


class Overheard:
    """Inside, what is printed goes to `printed`, errors go nowhere, and `input` raises EOFError at once.

    A notebook would ask whoever sits there, case after case. (contextlib's own ways take as long as many a call.)
    """

    def __init__(self, printed: io.TextIOBase) -> None:
        self._printed = printed

    def __enter__(self) -> None:
        self._usual = sys.stdout, sys.stderr, builtins.input
        sys.stdout, sys.stderr, builtins.input = self._printed, NOWHERE, _nobody

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr, builtins.input = self._usual


def _nobody(*_: object) -> str:
    raise EOFError("nobody answers input() here")


def pack(result: Any) -> tuple[str, Value]:
    """The kind of a call's result, and the result as a value; None where it is none."""
    try:
        value = kinds.take(result, Room())
    except NotPlain as what:
        return str(what), None
    return "tensor" if kinds.is_tensor(result) else type(result).__name__, value


def _target(function: Any, call: str) -> Any:
    """What is called with the arguments."""
    if ":" in call:  # a function of the course's library, which knows how such an answer is to be called
        return partial(kinds.resolve(call), function)
    if call == "figure":
        return partial(drawn, function)
    return function


class _Told:
    """What came of it when a result was asked, as values, up to what is none."""

    def __init__(self) -> None:
        self.kind, self.values = "tuple", list[Value]()

    def ask(self, result: Any, asked: Sequence[Value]) -> None:
        """Ask it all of this; what it raises is raised."""
        room = Room()
        for one in asked:
            came = worked_out(one, result)
            try:
                self.values.append(kinds.take(came, room))  # now, for it may change while more is asked
            except NotPlain as what:
                self.kind = str(what)
                return


def _left(result: Any, given: Inputs, asked: Inputs) -> dict[int | str, Any]:
    """What a call has changed among its arguments, by their places or names, and under "" what it gave, if anything."""
    changed: dict[int | str, Any] = {
        i: after for i, after in enumerate(asked.args) if not kinds.unchanged(given.args[i], after)
    }
    changed |= {n: after for n, after in asked.kwargs.items() if not kinds.unchanged(given.kwargs[n], after)}
    return changed if result is None else {**changed, "": result}


def names_of(function: Any, places: Sequence[int]) -> list[str]:
    """The names of a function's arguments at these places."""
    try:
        names = list(inspect.signature(function).parameters)
    except (ValueError, TypeError):
        names = []
    return [str(names[i]) if i < len(names) else f"argument {i + 1}" for i in places]


class _Printed(io.TextIOBase):
    """Keeps the first so many characters of what is written to it."""

    def __init__(self, most: int = MAX_CHARACTERS) -> None:
        self._parts: list[str] = []
        self._left = most

    def write(self, text: str) -> int:
        if self._left > 0:
            self._parts.append(str(text)[: self._left])
            self._left -= len(self._parts[-1])
        return len(text)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing: another call may write to it."""

    @property
    def text(self) -> str:
        return "".join(self._parts)


NOWHERE = _Printed(0)


class _Memory:
    """Measures what is allocated inside a `with`, where there is a limit on it; NumPy reports its arrays."""

    def __init__(self, limit: int | None):
        self._limit = limit
        self.held = 0

    def __enter__(self) -> None:
        if self._limit is None:
            return
        self._was_on = tracemalloc.is_tracing()  # a notebook may measure, too
        tracemalloc.start()
        tracemalloc.reset_peak()
        self._before = tracemalloc.get_traced_memory()[0]

    def __exit__(self, *_: object) -> None:
        if self._limit is None:
            return
        self.held = max(0, tracemalloc.get_traced_memory()[1] - self._before)
        if not self._was_on:
            tracemalloc.stop()


def _raised_in(error: BaseException) -> tuple[str, str]:
    """The student's line that an exception comes from, and the function or class that it stands in."""
    found = ("", "")
    try:
        trace = error.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            if frame.f_globals.get("__name__") == "__main__":
                code = frame.f_code
                text = linecache.getline(code.co_filename, trace.tb_lineno).strip()[:200]
                if text:
                    # Of a method that is its class, which is what was asked for.
                    outermost = code.co_qualname.partition(".")[0]
                    found = (f"{trace.tb_lineno}: {text}", outermost[:80])
            trace = trace.tb_next
    except BaseException:  # noqa: BLE001 - an exception may be hostile through and through
        return "", ""
    return found


# Keras wraps what a layer raises in its own words, and prints it in bold; TensorFlow names the node and the operation.
_BOLD = re.compile(r"\x1b\[[0-9;]*m")
_TENSORFLOW_NAMES = re.compile(r"\{\{function_node .*?\}\} | \[Op:\w+\]( name:( \S+)?)?")
_KERAS_FRAME = re.compile(r"Exception encountered when calling \S+\(\)\. (.*?)( Arguments received by .*)?")


def _one_line(error: BaseException) -> str:
    try:
        text = " ".join(_BOLD.sub("", str(error)[:MAX_CHARACTERS]).split())
        framed = _KERAS_FRAME.fullmatch(text)
        text = _TENSORFLOW_NAMES.sub("", framed[1] if framed else text)
    except Exception:  # noqa: BLE001 - a hostile __str__
        text = "(its message cannot be shown)"
    text = cut(text, 300)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
