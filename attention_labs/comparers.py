"""How this course compares answers, beyond the engine's ways: a view of masks, and properties of weights."""

import numpy as np

from autograder.judging.question import Inputs
from autograder.judging.wording import number

# What is compared where it is not the result itself.


def weights_it_leads_to(mask: np.ndarray) -> np.ndarray:
    """The attention weights that scores get once `mask` is added to them, in rows of (..., 1 + L_k).

    Two things that a mask in the additive form promises are in view. The scores are of ordinary size for one
    half of them and ±1000 for the other, so that a hidden key must stay hidden beside any of them. And each
    row has a first key of its own to which nothing is added, so that only 0 leaves an allowed key its weight.
    """
    if mask.dtype.kind != "f" or mask.ndim == 0:
        return mask
    place = np.arange(mask.size).reshape(mask.shape)
    scores = np.cos(place) * 3
    with np.errstate(all="ignore"):
        hidden = mask < -1  # the lower, the better hidden: even from a score of 1000, beside keys of -1000
        extreme = np.where(hidden, 1000.0, -1000.0)
        return np.concatenate([_weights(scores, 0.0, mask), _weights(extreme, -1000.0, mask)], axis=-1)


def _weights(scores: np.ndarray, beside: float, mask: np.ndarray) -> np.ndarray:
    total = (scores.astype(mask.dtype) + mask).astype(np.float64)
    total = np.concatenate([np.full((*mask.shape[:-1], 1), beside), total], axis=-1)
    return np.exp(total - np.logaddexp.reduce(total, axis=-1, keepdims=True))


SAYS = (
    "Added to ordinary scores and then to ones of ±1000, each time beside a key to which nothing is added, "
    "your mask leads to these weights: "
)
setattr(weights_it_leads_to, "says", SAYS)  # noqa: B010 - told before the numbers

# What can be said of a wrong result, when no misconception explains it.


def sums_to_one(value: np.ndarray, given: Inputs) -> str | None:
    """Weights along the axis that was asked for add up to 1."""
    axis = given.kwargs.get("axis", given.args[1] if len(given.args) > 1 else 0)
    return _sums(value, axis, f"along axis {axis}")


def rows_sum_to_one(value: np.ndarray, given: Inputs) -> str | None:
    """Weights in each row add up to 1."""
    return _sums(value, -1, "in each row")


def _sums(value: np.ndarray, axis: int, where: str) -> str | None:
    if value.ndim == 0 or value.dtype.kind != "f":
        return None
    sums = value.astype(np.float64).sum(axis=axis)
    if not np.isfinite(sums).all() or np.allclose(sums, 1, atol=1e-3):
        return None
    return f"The weights {where} should sum to 1; yours sum to {_span(sums)}."


def no_negative_weight(value: np.ndarray, given: Inputs) -> str | None:
    """No weight is below 0."""
    if value.dtype.kind == "f" and (value < 0).any():
        return f"A weight is never negative; your smallest is {number(value.min())}."
    return None


def no_looking_ahead(value: np.ndarray, given: Inputs) -> str | None:
    """A causal mask has nothing above its diagonal."""
    if value.ndim < 2 or value.shape[-1] != value.shape[-2] or not np.isin(value, (0, 1)).all():
        return None
    later = np.triu(np.ones(value.shape[-2:], dtype=bool), 1) & (value != 0)
    if not later.any():
        return None
    row, column = (int(i) for i in np.argwhere(later)[0][-2:])
    return f"Position {row} attends to position {column}, which comes later."


def within_the_values(value: np.ndarray, given: Inputs) -> str | None:
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
    low, high = number(np.min(x)), number(np.max(x))
    return low if low == high else f"{low} to {high}"
