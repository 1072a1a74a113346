"""Helpers for several exercises of `long-contexts`: the notebook's example, random parts, attention with slips."""

import numpy as np

# The example of the notebook's second section: two cached words and a third one.
Q, K, V = np.array([1.0]), np.array([np.log(3)]), np.array([2.0, 2.0])
CACHED_KEYS = np.array([[0.0], [np.log(2)]])
CACHED_VALUES = np.array([[6.0, 0.0], [0.0, 6.0]])


def softmax(scores):
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def full(queries, keys, values, mask=None):
    """Full attention; a row that sees nothing gives zeros."""
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ values


def far_from_zero(rng, d, *, above, count=None):
    """Vectors whose dot products with each other are all about `above`, and positive."""
    shape = (d,) if count is None else (count, d)
    return np.sqrt(above / d) * np.ones(shape) + 0.1 * rng.normal(size=shape)
