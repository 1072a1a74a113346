"""Comparisons for this course's exercises: checks of masks and of attention weights."""

import numpy as np

from autograder.core.text_format import truncate
from autograder.values.case_records import Inputs
from autograder.values.wording import add_article, format_number

# Views: functions that compute from a result what is compared instead of the result.


def weights_it_leads_to(mask: np.ndarray) -> np.ndarray:
    """Return the attention weights that an additive mask gives, for made-up scores: (..., 1 + L_k).

    An additive mask promises two things. A hidden key stays hidden whatever the scores are: so one
    half of the scores is of ordinary size, the other half ±1000. A visible key keeps its weight,
    which only a mask value of 0 does: so each row has an additional first key to which nothing is
    added.
    """
    if mask.dtype.kind != "f" or mask.ndim == 0:
        return mask
    place = np.arange(mask.size).reshape(mask.shape)
    scores = np.cos(place) * 3
    with np.errstate(all="ignore"):
        hidden = mask < -1  # hidden well enough to outweigh a score of 1000 among keys of -1000
        extreme = np.where(hidden, 1000.0, -1000.0)
        return np.concatenate(
            [_weights(scores, 0.0, mask), _weights(extreme, -1000.0, mask)],
            axis=-1,
        )


def _weights(scores: np.ndarray, reference_score: float, mask: np.ndarray) -> np.ndarray:
    total = (scores.astype(mask.dtype) + mask).astype(np.float64)
    total = np.concatenate([np.full((*mask.shape[:-1], 1), reference_score), total], axis=-1)
    return np.exp(total - np.logaddexp.reduce(total, axis=-1, keepdims=True))


SAYS = (
    "We added your mask to small scores and to scores of ±1000, put one visible key beside the "
    "others, and took the softmax. The weights: "
)
setattr(weights_it_leads_to, "says", SAYS)  # noqa: B010 - shown before the numbers

# Properties: checks of a wrong result that no known misconception explains. Each function returns
# a sentence for the student, or None.


def sums_to_one(value: np.ndarray, inputs: Inputs) -> str | None:
    """Check that weights along the requested axis add up to 1."""
    axis = inputs.kwargs.get("axis", inputs.args[1] if len(inputs.args) > 1 else 0)
    return _sums(value, axis, f"along axis {axis}")


def rows_sum_to_one(value: np.ndarray, inputs: Inputs) -> str | None:
    """Check that the weights in each row add up to 1."""
    return _sums(value, -1, "in each row")


def _sums(value: np.ndarray, axis: int, place: str) -> str | None:
    if value.ndim == 0 or value.dtype.kind != "f":
        return None
    sums = value.astype(np.float64).sum(axis=axis)
    if not np.isfinite(sums).all() or np.allclose(sums, 1, atol=1e-3):
        return None
    return f"The weights {place} should sum to 1; yours sum to {_span(sums)}."


def no_negative_weight(value: np.ndarray, inputs: Inputs) -> str | None:
    """Check that no weight is below 0."""
    if value.dtype.kind == "f" and (value < 0).any():
        return f"A weight is never negative; your smallest is {format_number(value.min())}."
    return None


def no_looking_ahead(value: np.ndarray, inputs: Inputs) -> str | None:
    """Check that a causal mask has nothing above its diagonal, so that no word looks ahead."""
    if value.ndim < 2 or value.shape[-1] != value.shape[-2] or not np.isin(value, (0, 1)).all():
        return None
    later = np.triu(np.ones(value.shape[-2:], dtype=bool), 1) & (value != 0)
    if not later.any():
        return None
    row, column = (int(i) for i in np.argwhere(later)[0][-2:])
    return f"Position {row} attends to position {column}, which comes later."


def within_the_values(value: np.ndarray, inputs: Inputs) -> str | None:
    """Check that a context vector, an average, lies between the minimum and the maximum of `values`."""
    values = inputs.args[2] if len(inputs.args) > 2 else inputs.args[0]
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
    low, high = format_number(np.min(x)), format_number(np.max(x))
    return low if low == high else f"{low} to {high}"


# Comparisons: in place of the engine's own, which takes a list for a tuple.


def same_symbols(expected: tuple[str, ...], value: object, tolerance: float) -> str | None:
    """Symbols come back as a tuple: a list is no key of a dict, and equals no tuple."""
    if not isinstance(value, tuple):
        return f"Your function returned {add_article(type(value).__name__)}; expected the tuple {expected!r}."
    if value == expected:
        return None
    return f"Your function returned {truncate(repr(value), 300)}; expected {truncate(repr(expected), 300)}."
