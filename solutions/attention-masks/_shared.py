"""Helpers for several exercises of `attention-masks`: the notebook's example, random masks, right steps."""

import numpy as np

from autograder.authoring import sizes

# The small matrices of the notebook's worked example.
Q = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
K = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
V = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])


def some_allowed(rng, *shape):
    """A random mask in which every row has something to see, and something hidden unless it has one key."""
    ranks = rng.random(shape).argsort(axis=-1)
    return ranks < rng.integers(1, max(2, shape[-1]), size=(*shape[:-1], 1))


def shape_of(mask, batch, L_q, L_k):
    """The shape that a mask's name says: (4, 1, 6) for "(batch, 1, L_k)"."""
    axes = {"1": 1, "batch": batch, "L_q": L_q, "L_k": L_k}
    return [axes[name] for name in mask.strip("()").split(", ")]


def some_lengths(rng, batch, size):
    """Lengths of sentences, none empty, at least one shorter than `size`, not all alike."""
    lengths = rng.integers(1, size + 1, size=batch)
    lengths[rng.permutation(batch)[:2]] = size, 1
    return lengths


def triple(rng, *, batch=(), queries=None, low=3, dtype=np.float64):
    """Queries, keys and values, every axis of its own size; as many queries as keys where asked."""
    *lead, L_q, L_k, d, d_v = sizes(rng, len(batch) + 4, low=low, high=9)
    L_q = L_k if queries == "as many as keys" else L_q
    shapes = (*lead, L_q, d), (*lead, L_k, d), (*lead, L_k, d_v)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


LARGEST = (
    300.0  # of a score, by the docstrings: exp of it is a number still, and -100 hides nothing
)


def with_scores_up_to(largest, query, key, value, scale=True):
    """The same with each query as long as it takes for its largest score to be of this size."""
    sizes = np.abs(scores_of(query, key, scale)).max(axis=-1, keepdims=True)
    return query * (largest / np.maximum(sizes, 1e-3)), key, value


def scores_of(query, key, scale=True):
    """Return the scores of which the softmax is taken."""
    return query @ np.swapaxes(key, -1, -2) / (key.shape[-1] ** 0.5 if scale else 1.0)
