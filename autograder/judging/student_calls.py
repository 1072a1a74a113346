"""Call a student's function on a test case's inputs and return the outcome as plain data.

The student's Jupyter kernel, the grader's sandbox, and the code that computes the answers of
misconceptions all call functions by this module, so that answers are judged alike everywhere. An
`CallOutcome` holds values (see `autograder.values.case_records`) and text only.
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

from autograder.core.text_format import truncate
from autograder.values import value_types
from autograder.values.case_records import CallOutcome, Inputs, Value
from autograder.values.objects import evaluate_query
from autograder.values.plots import capture_drawing
from autograder.values.value_types import MAX_ANSWER_CHARACTERS, SizeBudget, UnsupportedValue

MAX_ERROR_CHARACTERS = 300


def call_student_function(function: Any, inputs: Inputs, call: str = "function") -> CallOutcome:
    """Call `function` with copies of a test case's inputs; return a `CallOutcome`.

    An exception in the function becomes part of the outcome. Only an interrupt, such as
    KeyboardInterrupt, passes through.

    Parameters
    ----------
    call : str
        See `autograder.values.case_records.ComparisonRules`.
    """
    copies = value_types.copy_inputs(inputs)
    output = LimitedOutputBuffer()
    memory = _PeakMemoryMeter(inputs.memory)
    responses: _QueryResponses | None = None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with OutputCapture(output), memory:
                target = _wrap_for_call_mode(function, call)
                result = target(*copies.args, **copies.kwargs)
                if inputs.result_queries and result is not None:
                    responses = _QueryResponses()
                    responses.evaluate_queries(result, inputs.result_queries)
            if responses is not None:
                type_name, value = responses.type_name, tuple(responses.values)
            elif call == "in place":
                type_name, value = pack_result(
                    _modified_arguments_and_result(result, inputs, copies)
                )
            else:
                type_name, value = pack_result(result)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any exception is part of the outcome
        line, function_name = _locate_error_in_student_code(error)
        return CallOutcome(
            responses and tuple(responses.values),
            "error",
            _format_error(error),
            printed=output.text,
            line=line,
            within=function_name,
        )
    modified_names = () if call == "in place" else _modified_names(function, inputs, copies)
    return CallOutcome(
        value, type_name, "", modified_names, output.text, peak_bytes=memory.peak_bytes
    )


class OutputCapture:
    """Context for a call: it captures printed text, drops stderr, and makes `input` raise EOFError.

    Otherwise a check in a notebook would wait for the student to type something in every case. The
    context managers of contextlib are not used, because they take as long as many a call.
    """

    def __init__(self, output: io.TextIOBase) -> None:
        self._output = output

    def __enter__(self) -> None:
        self._originals = sys.stdout, sys.stderr, builtins.input
        sys.stdout, sys.stderr, builtins.input = self._output, NULL_OUTPUT, _refuse_input

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr, builtins.input = self._originals


def _refuse_input(*_: object) -> str:
    raise EOFError("nobody answers input() here")


def pack_result(result: Any) -> tuple[str, Value]:
    """Return the name of a result's type, and the result as plain data (None if unsupported)."""
    try:
        value = value_types.convert_result(result, SizeBudget())
    except UnsupportedValue as error:
        return str(error), None
    return "tensor" if value_types.is_tensor(result) else type(result).__name__, value


def _wrap_for_call_mode(function: Any, call_mode: str) -> Any:
    """Return the function to call for an exercise, which in turn calls the student's function.

    `call_mode` names it: "figure" for the code that captures a plot, "module:function" for one of
    the course's library. Otherwise it is the student's function itself.
    """
    if ":" in call_mode:  # a function of the course's library calls the student's function
        return partial(value_types.import_function(call_mode), function)
    if call_mode == "figure":
        return partial(capture_drawing, function)
    return function


class _QueryResponses:
    """Results of a test case's queries: what it calls or reads on the object that was returned."""

    def __init__(self) -> None:
        self.type_name, self.values = "tuple", list[Value]()

    def evaluate_queries(self, result: Any, queries: Sequence[Value]) -> None:
        """Do with a returned object what the test case asks (its queries); store the results.

        Exceptions pass through.
        """
        budget = SizeBudget()
        for query in queries:
            response = evaluate_query(query, result)
            try:
                # Convert the result of a query to plain data at once: a later query may modify the
                # object.
                self.values.append(value_types.convert_result(response, budget))
            except UnsupportedValue as error:
                self.type_name = str(error)
                return


def _modified_arguments_and_result(
    result: Any, inputs: Inputs, copies: Inputs
) -> dict[int | str, Any]:
    """Return the modified arguments by position or name, and the returned value under "".

    The returned value, if it is not None, stands under "".
    """
    arguments: dict[int | str, Any] = {}
    for index, value in enumerate(copies.args):
        if not value_types.is_unchanged(inputs.args[index], value):
            arguments[index] = value
    for name, value in copies.kwargs.items():
        if not value_types.is_unchanged(inputs.kwargs[name], value):
            arguments[name] = value
    if result is not None:
        arguments[""] = result
    return arguments


def _modified_names(function: Any, inputs: Inputs, copies: Inputs) -> tuple[str, ...]:
    """Return the names of the arguments that a call of a student's function modified."""
    arguments = _modified_arguments_and_result(None, inputs, copies)
    indices = [key for key in arguments if isinstance(key, int)]
    names = argument_names(function, indices) if indices else []
    return (*names, *(key for key in arguments if isinstance(key, str)))


def argument_names(function: Any, indices: Sequence[int]) -> list[str]:
    """Return the names of a function's parameters at these positions; "argument 3" if unnamed."""
    names = list_positional_names(function)
    return [names[i] if i < len(names) else f"argument {i + 1}" for i in indices]


def list_positional_names(function: Any) -> tuple[str, ...]:
    """Return the names of the parameters that take positional arguments, without one like `*rest`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(parameter.name for parameter in parameters if parameter.kind in kinds)


def list_parameter_names(function: Any) -> tuple[str, ...]:
    """Return the names of a function's parameters; () if Python cannot tell its signature."""
    try:
        return tuple(map(str, inspect.signature(function).parameters))
    except (ValueError, TypeError):
        return ()


def find_argument_mismatch(function: Any, inputs: Inputs) -> str:
    """Return why a function cannot be called with these inputs; "" if it can, or nothing is known."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return ""
    try:
        signature.bind(*inputs.args, **inputs.kwargs)
    except TypeError as error:
        return str(error)
    return ""


class LimitedOutputBuffer(io.TextIOBase):
    """Text stream for a student's output: it keeps `max_characters` and drops the rest."""

    def __init__(self, max_characters: int = MAX_ANSWER_CHARACTERS) -> None:
        self._parts: list[str] = []
        self._remaining = max_characters

    def write(self, text: str) -> int:
        if self._remaining > 0:
            self._parts.append(str(text)[: self._remaining])
            self._remaining -= len(self._parts[-1])
        return len(text)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Stay open: the student's code may close stdout, and another call may write to it."""

    @property
    def text(self) -> str:
        return "".join(self._parts)


NULL_OUTPUT = LimitedOutputBuffer(0)


class _PeakMemoryMeter:
    """Context that measures how much memory a call allocates, if the test case limits the memory.

    It uses tracemalloc, to which NumPy reports the memory of its arrays.
    """

    def __init__(self, limit: int | None):
        self._limit = limit
        self.peak_bytes = 0

    def __enter__(self) -> None:
        if self._limit is None:
            return
        self._was_tracing = tracemalloc.is_tracing()  # a notebook may use it as well
        tracemalloc.start()
        tracemalloc.reset_peak()
        self._start_bytes = tracemalloc.get_traced_memory()[0]

    def __exit__(self, *_: object) -> None:
        if self._limit is None:
            return
        self.peak_bytes = max(0, tracemalloc.get_traced_memory()[1] - self._start_bytes)
        if not self._was_tracing:
            tracemalloc.stop()


def _locate_error_in_student_code(error: BaseException) -> tuple[str, str]:
    """Return the student's line that raised an error, and the function or class that holds it.

    The line comes with its number: "3: return a @ b".
    """
    location = ("", "")
    try:
        trace = error.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            if frame.f_globals.get("__name__") == "__main__":
                code = frame.f_code
                text = linecache.getline(code.co_filename, trace.tb_lineno).strip()[:200]
                if text:
                    # For an error in a method, name the method's class: exercises ask for a class,
                    # not for its methods.
                    outermost = code.co_qualname.partition(".")[0]
                    location = (f"{trace.tb_lineno}: {text}", outermost[:80])
            trace = trace.tb_next
    except BaseException:  # noqa: BLE001 - a hostile exception may raise anywhere
        return "", ""
    return location


# Parts of error messages to remove. Keras wraps the message of a layer's error and prints it in
# bold. TensorFlow adds names of nodes and operations, and advice that does not fit Keras.
_BOLD = re.compile(r"\x1b\[[0-9;]*m")
_TENSORFLOW_ADDITIONS = re.compile(
    r"\{\{function_node .*?\}\} | \[Op:\w+\]( name:( \S+)?)?"
    r"| If you are looking for numpy-related methods, please run the following: \S+"
)
_KERAS_FRAME = re.compile(
    r"Exception encountered when calling \S+\(\)\. (.*?)( Arguments received by .*)?"
)


def _format_error(error: BaseException) -> str:
    """Format an exception on one line: "ValueError: message"."""
    try:
        text = " ".join(_BOLD.sub("", str(error)[:MAX_ANSWER_CHARACTERS]).split())
        frame = _KERAS_FRAME.fullmatch(text)
        text = _TENSORFLOW_ADDITIONS.sub("", frame[1] if frame else text)
    except Exception:  # noqa: BLE001 - a hostile __str__
        text = "(its message cannot be shown)"
    text = truncate(text, MAX_ERROR_CHARACTERS)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
