"""Where an answer first differs from what was expected, and what else can be said of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from autograder.answer import Answer

# Relative error, and absolute error near zero, for numbers of ordinary size.
_PRECISION = {"float16": (2e-2, 2e-3), "float32": (2e-4, 2e-6)}


@dataclass(frozen=True)
class Difference:
    """The first thing that is not as expected.

    Parameters
    ----------
    kind : str
        "error", "nothing", "type", "shape", "dtype", "not finite", "modified" or "values".
    seen : str
        The sentence that says so.
    mistake : str or None
        A key of `STRUCTURAL`, where the difference is itself a known mistake.
    """

    kind: str
    seen: str
    mistake: str | None = None


# Mistakes of form, the same in every exercise: name -> (what it means, a nudge).
STRUCTURAL = {
    "not-written-yet": (
        "",
        "Replace the line `raise NotImplementedError()` with your code, run that cell, then this one.",
    ),
    "returns-nothing": (
        "A Python function without a `return` line gives None.",
        "End the function with `return` and the array that you computed.",
    ),
    "returns-a-list": (
        "The numbers may be right, but the next step of the lab needs a NumPy array.",
        "Which NumPy function turns nested lists into an array?",
    ),
    "returns-a-tuple": (
        "Only one array is asked for; several values after `return` make a tuple.",
        "Read the Returns part of the docstring: which of the values is it?",
    ),
    "extra-axis": (
        "The numbers are right, but they sit in an array with an axis of length 1 too many.",
        "Did a `keepdims` or a slice such as `[:, :1]` leave an axis that the docstring does not ask for?",
    ),
    "missing-axis": (
        "The numbers are right, but an axis of length 1 got lost.",
        "Compare your shape with the docstring: which axis did a sum, an index or a reshape drop?",
    ),
    "transposed": (
        "The numbers are right, but rows and columns are exchanged.",
        "Which axis belongs to the queries (or words) that you ask for, and which to what they look at?",
    ),
    "lower-precision": (
        "Somewhere the numbers were rounded to a smaller type than they came in.",
        "Look for `astype`, `dtype=` or an array that was created as float32.",
    ),
    "numbers-not-booleans": (
        "0 and 1 look like False and True, but `~` and indexing treat them differently.",
        "Can a comparison such as `>` or `>=`, or `dtype=bool`, give you booleans directly?",
    ),
    "modifies-argument": (
        "The caller's own array is changed, so running a cell twice gives a different result.",
        "Operations such as `x -= …` or `x[…] = …` work in place; which one makes a new array instead?",
    ),
}


def tolerance(rtol: float, *arrays: np.ndarray) -> tuple[float, float]:
    """Relative and absolute tolerance for the least precise of the arrays' dtypes."""
    for name in ("float16", "float32"):
        if any(a.dtype == name for a in arrays):
            return _PRECISION[name]
    return rtol, rtol * 1e-3


def same_values(expected: np.ndarray, value: np.ndarray, rtol: float) -> bool:
    """Whether two arrays of one shape agree to tolerance; NaN equals NaN.

    >>> same_values(np.ones(2), np.ones(2) + 1e-9, 1e-7)
    True
    """
    return expected.shape == value.shape and bool(_close(expected, value, rtol).all())


def _close(expected, value, rtol):
    relative, absolute = tolerance(rtol, expected, value)
    with np.errstate(all="ignore"):
        return np.isclose(
            value.astype(np.float64), expected.astype(np.float64), relative, absolute, equal_nan=True
        )


def same_answer(one: Answer, other: Answer, view: Callable, rtol: float, returns: str = "array") -> bool:
    """Whether two calls gave the same: the same values, or the same kind of error.

    With ``returns="tensor"`` neither the kind of array nor its dtype counts, and the backends' different
    errors for arrays that do not fit are one.
    """
    tensor = returns == "tensor"
    if one.error or other.error:
        kinds = [_misfit(a.error) if tensor else a.error.split(":")[0] for a in (one, other)]
        return bool(one.error and other.error) and kinds[0] == kinds[1]
    if one.value is None or other.value is None:
        return one.value is None and other.value is None and one.type == other.type
    types = ["tensor" if tensor and a.type == "ndarray" else a.type for a in (one, other)]
    if types[0] != types[1] or bool(one.modified) != bool(other.modified):
        return False
    if one.value.shape != other.value.shape:
        return False
    if not tensor and _family(one.value) != _family(other.value):
        return False
    return same_values(view(one.value), view(other.value), rtol)


def _misfit(error: str) -> str:
    kind = error.split(":")[0]
    known = {"InvalidArgumentError", "RuntimeError", "TypeError"}  # of TensorFlow, PyTorch and JAX
    return "ValueError" if kind in known else kind


def _family(array: np.ndarray) -> str:
    return "bool" if array.dtype == bool else "number"


def first_difference(expected: np.ndarray, answer: Answer, rules) -> Difference | None:
    """The first thing in which an answer is not as expected; None for a right answer.

    Parameters
    ----------
    expected : numpy.ndarray
    answer : Answer
    rules : autograder.exercise.Rules
    """
    value = answer.value
    if answer.error:
        if answer.error.startswith("NotImplementedError"):
            return Difference("error", "This exercise is not written yet.", "not-written-yet")
        stop = "" if answer.error.endswith((".", "!", "?")) else "."
        return Difference("error", f"Your function raised {answer.error}{stop}")
    if answer.type == "NoneType":
        return Difference("nothing", "Your function returned None.", "returns-nothing")
    allowed = {"ndarray", "tensor"} if rules.returns == "tensor" else {"ndarray"}
    if answer.type not in allowed:
        mistake = {"list": "returns-a-list", "tuple": "returns-a-tuple"}.get(answer.type)
        due = "tensor" if rules.returns == "tensor" else "NumPy array"
        seen = f"Your function returned a {answer.type}; a {due} of shape {expected.shape} is due."
        return Difference("type", seen, mistake)
    if value is None:
        return Difference(
            "type", f"Your function returned an {answer.type}, which cannot be read as numbers."
        )
    if value.shape != expected.shape:
        seen = f"Your result has shape {value.shape}; {expected.shape} is due."
        return Difference("shape", seen, _reshaped(expected, value, rules))
    dtype = _dtype_difference(expected, value, rules)
    if dtype:
        return dtype
    view = VIEWS[rules.view]
    wanted, got = view(expected), view(value)
    close = _close(wanted, got, rules.tolerance)
    if close.all():
        if answer.modified:
            names = " and ".join(f"`{n}`" for n in answer.modified)
            return Difference("modified", f"Your function changed its argument {names}.", "modifies-argument")
        return None
    about = "Added to some scores, your mask leads to these weights: " if rules.view == "weights" else ""
    unfinite = ~np.isfinite(got.astype(np.float64)) & np.isfinite(wanted.astype(np.float64))
    if unfinite.any():
        where = tuple(int(i) for i in np.argwhere(unfinite)[0])
        seen = (
            f"{about}{_count(unfinite)} of your numbers should be finite and are not: "
            f"the first is {_number(got[where])} at {_place(where)}."
        )
        return Difference("not finite", seen)
    square = value.ndim == 2 and value.shape[0] == value.shape[1] and value.shape[0] > 1
    turned = square and same_values(wanted, view(value.T.copy()), rules.tolerance)
    return Difference("values", about + _worst(wanted, got, close), "transposed" if turned else None)


def _dtype_difference(expected, value, rules) -> Difference | None:
    if rules.returns == "tensor":
        return None
    seen = f"Your result holds {value.dtype.name}; {expected.dtype.name} is due."
    if (expected.dtype == bool) != (value.dtype == bool):
        return Difference("dtype", seen, "numbers-not-booleans" if expected.dtype == bool else None)
    if expected.dtype.kind != "f":
        return None
    narrower = value.dtype.kind != "f" or value.dtype.itemsize < expected.dtype.itemsize
    if narrower:
        return Difference("dtype", seen, "lower-precision" if value.dtype.kind == "f" else None)
    if rules.exact_dtype and value.dtype != expected.dtype:
        return Difference("dtype", seen)
    return None


def _reshaped(expected, value, rules) -> str | None:
    if value.size != expected.size or value.dtype.kind not in "fiub":
        return None
    view = VIEWS[rules.view]
    if value.ndim == 2 and value.T.shape == expected.shape and min(value.shape) > 1:
        return "transposed" if same_values(view(expected), view(value.T.copy()), rules.tolerance) else None
    if value.squeeze().shape != expected.squeeze().shape:
        return None
    if not same_values(view(expected), view(value.reshape(expected.shape)), rules.tolerance):
        return None
    if value.ndim == expected.ndim:
        return "transposed" if value.T.shape == expected.shape else None
    return "extra-axis" if value.ndim > expected.ndim else "missing-axis"


def _worst(wanted, got, close) -> str:
    with np.errstate(all="ignore"):
        gap = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
    gap = np.where(close, -1.0, np.nan_to_num(gap, nan=np.inf, posinf=np.inf))
    where = np.unravel_index(int(np.argmax(gap)), gap.shape) if gap.ndim else ()
    where = tuple(int(i) for i in where)
    yours, due = _number(got[where]), _number(wanted[where])
    if yours == due:  # they differ further behind the point
        yours, due = f"{float(got[where]):.9g}", f"{float(wanted[where]):.9g}"
    noun = "entries" if wanted.dtype == bool else "numbers"
    return (
        f"{_count(~close)} of {close.size} {noun} differ, most at {_place(where)}: "
        f"yours {yours}, expected {due}."
    )


def _count(flags: np.ndarray) -> str:
    return f"{int(flags.sum())}"


def _place(where: tuple[int, ...]) -> str:
    if not where:
        return "its only place"
    return f"[{', '.join(map(str, where))}]"


def _number(x) -> str:
    return str(bool(x)) if isinstance(x, (bool, np.bool_)) else f"{float(x) + 0.0:.4g}"


# What is compared where it is not the result itself.


def _weights_it_leads_to(mask: np.ndarray) -> np.ndarray:
    """The attention weights that scores of ordinary size get once `mask` is added to them."""
    if mask.dtype.kind != "f" or mask.ndim == 0:
        return mask
    scores = np.cos(np.arange(mask.size)).reshape(mask.shape) * 3
    with np.errstate(all="ignore"):
        total = (scores.astype(mask.dtype) + mask).astype(np.float64)
        return np.exp(total - np.logaddexp.reduce(total, axis=-1, keepdims=True))


VIEWS: Mapping[str, Callable] = {"as is": lambda value: value, "weights": _weights_it_leads_to}


# What else can be said of a wrong result, when no misconception explains it.


def _sums_to_one(value: np.ndarray, given) -> str | None:
    axis = given.kwargs.get("axis", given.args[1] if len(given.args) > 1 else 0)
    return _sums(value, axis, f"along axis {axis}")


def _rows_sum_to_one(value: np.ndarray, given) -> str | None:
    return _sums(value, -1, "in each row")


def _sums(value, axis, where):
    if value.ndim == 0 or value.dtype.kind != "f":
        return None
    sums = value.astype(np.float64).sum(axis=axis)
    if not np.isfinite(sums).all() or np.allclose(sums, 1, atol=1e-3):
        return None
    return f"The weights {where} should sum to 1; yours sum to {_span(sums)}."


def _no_negative(value: np.ndarray, given) -> str | None:
    if value.dtype.kind == "f" and (value < 0).any():
        return f"A weight is never negative; your smallest is {_number(value.min())}."
    return None


def _no_looking_ahead(value: np.ndarray, given) -> str | None:
    if value.ndim < 2 or value.shape[-1] != value.shape[-2]:
        return None
    later = np.triu(np.ones(value.shape[-2:], dtype=bool), 1) & (value != 0)
    if not later.any():
        return None
    row, column = (int(i) for i in np.argwhere(later)[0][-2:])
    return f"Position {row} attends to position {column}, which comes later."


def _within_values(value: np.ndarray, given) -> str | None:
    """A context vector is an average, so it stays between the smallest and the largest value."""
    values = given.args[2] if len(given.args) > 2 else given.args[0]
    if not np.isfinite(value).all() or value.dtype.kind != "f":
        return None
    low, high = float(np.min(values)), float(np.max(values))
    if value.min() >= low - 1e-6 and value.max() <= high + 1e-6:
        return None
    return (
        f"A weighted average stays between the values it averages ({low:.3g} to {high:.3g}); "
        f"yours runs from {_span(value)}."
    )


def _span(x: np.ndarray) -> str:
    low, high = _number(np.min(x)), _number(np.max(x))
    return low if low == high else f"{low} to {high}"


PROPERTIES: Mapping[str, Callable] = {
    "sums to one": _sums_to_one,
    "rows sum to one": _rows_sum_to_one,
    "no negative weight": _no_negative,
    "no looking ahead": _no_looking_ahead,
    "within the values": _within_values,
}


def failing_property(value: np.ndarray | None, given, names) -> str | None:
    """The sentence of the first named property that `value` lacks; None if it has them all."""
    if value is None:
        return None
    for name in names:
        try:
            said = PROPERTIES[name](value, given)
        except (ValueError, IndexError, TypeError):  # a shape for which the property has no meaning
            continue
        if said:
            return said
    return None
