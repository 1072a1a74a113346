"""Calling an answer: one call in, plain data out.

The same code runs in the student's kernel, in the sandbox and over the misconceptions, so that all
three are judged alike. What it returns holds arrays of plain dtypes and text, nothing else.
"""

import inspect
import io
import re
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np

DTYPES = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split())
MAX_VALUES = 1_000_000  # no case asks for more than a few thousand numbers


@dataclass(frozen=True)
class Answer:
    """What one call gave.

    Parameters
    ----------
    value : numpy.ndarray or None
        The result, where it was numbers in an array, a tensor or a list; dtype one of `DTYPES`.
    type : str
        What it was: "ndarray", "tensor", "list", "NoneType"...
    error : str
        "ValueError: what it said" if the call raised, else "".
    modified : tuple of str
        The arguments whose values the call changed in place.
    """

    value: np.ndarray | None = None
    type: str = "ndarray"
    error: str = ""
    modified: tuple[str, ...] = ()


def ask(function: Any, given, call: str = "function") -> Answer:
    """Call `function` on copies of the inputs and pack what comes back.

    Parameters
    ----------
    function : callable
        The answer; for layers, a class that is made without arguments.
    given : autograder.exercise.Inputs
    call : {"function", "layer", "layer in its dtype"}
        As in `autograder.exercise.Rules`.

    Returns
    -------
    Answer
        Never raises for what the function does; an interrupt passes through.
    """
    args = [_copy(a) for a in given.args]
    kwargs = {k: _copy(a) for k, a in given.kwargs.items()}
    silence = io.StringIO()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with redirect_stdout(silence), redirect_stderr(silence):
                target = function if call == "function" else _layer(function, args, call)
                result = target(*args, **kwargs)
                answer = pack(result)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises is an answer
        return Answer(type="error", error=_one_line(error))
    modified = tuple(
        name
        for name, before, after in _pairs(function, given, args, kwargs)
        if isinstance(before, np.ndarray) and not _same(before, after)
    )
    return Answer(answer.value, answer.type, "", modified)


def pack(result: Any) -> Answer:
    """The result of a call as plain data."""
    kind = type(result).__name__
    if type(result) is np.ndarray:
        return _plain(result, "ndarray")
    if isinstance(result, (list, tuple)):
        try:
            return _plain(np.array(result), kind)
        except (ValueError, TypeError):
            return Answer(None, kind)
    if isinstance(result, (np.ndarray, np.generic, bool, int, float)):
        return _plain(np.asarray(result), kind)
    if hasattr(result, "__array__") and type(result).__module__.split(".")[0] != "pandas":
        return _plain(_from_tensor(result), "tensor")
    return Answer(None, kind)


def _layer(cls, args, call: str):
    """An instance of a Keras layer; in Keras's default dtype, or in that of its first input."""
    if call == "layer":
        return cls()
    import keras

    usual = keras.config.dtype_policy()
    keras.config.set_dtype_policy(args[0].dtype.name)
    try:
        return cls()
    finally:
        keras.config.set_dtype_policy(usual)


def _from_tensor(tensor) -> np.ndarray:
    try:
        from keras import ops
    except ImportError:
        array = np.asarray(tensor)
    else:
        array = ops.convert_to_numpy(tensor)
    return array if array.dtype.name in DTYPES else array.astype(np.float32)  # bfloat16


def _plain(array: np.ndarray, kind: str) -> Answer:
    if array.dtype.name == "longdouble" or array.dtype.name.startswith("float128"):
        array = array.astype(np.float64)
    if array.dtype.name not in DTYPES:
        return Answer(None, f"{kind} of {array.dtype.name}")
    if array.size > MAX_VALUES:
        return Answer(None, f"{kind} of {array.size:,} values")
    return Answer(np.array(array, order="C", subok=False), kind)


def _copy(argument):
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def _pairs(function, given, args, kwargs):
    try:
        names = list(inspect.signature(function).parameters)
    except (ValueError, TypeError):
        names = []
    for i, (before, after) in enumerate(zip(given.args, args, strict=True)):
        yield str(names[i]) if i < len(names) else f"argument {i + 1}", before, after
    for name, before in given.kwargs.items():
        yield name, before, kwargs[name]


def _same(before: np.ndarray, after: np.ndarray) -> bool:
    return before.shape == after.shape and before.tobytes() == after.tobytes()


# Keras wraps what a layer raises in its own words, and prints it in bold.
_BOLD = re.compile(r"\x1b\[[0-9;]*m")
_KERAS_FRAME = re.compile(r"Exception encountered when calling \S+\(\)\. (.*?)( Arguments received by .*)?")


def _one_line(error: BaseException) -> str:
    try:
        text = " ".join(_BOLD.sub("", str(error)).split())
        framed = _KERAS_FRAME.fullmatch(text)
        text = framed[1] if framed else text
    except Exception:  # noqa: BLE001 - a hostile __str__
        text = "(its message cannot be shown)"
    text = text if len(text) <= 300 else text[:297] + "..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
