"""Helpers for several exercises of `learning-to-align`: inputs, and right steps."""

import numpy as np

from autograder.authoring import sizes


def shares(x, axis=-1):
    """Softmax."""
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def log_shares(x):
    """The logarithm of the softmax of each row."""
    x = x - x.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def one_hot(logits, targets):
    """A 1 at each row's target, 0 elsewhere."""
    return (np.arange(logits.shape[1]) == targets[:, None]).astype(float)


def rows_and_targets(rng, magnitude=1.5):
    """Logits of a few rows, and a target for each; the targets differ."""
    rows, classes = sorted(sizes(rng, 2, low=3, high=8))
    return magnitude * rng.normal(size=(rows, classes)), rng.permutation(classes)[:rows]


def three_sizes(rng):
    """Queries, keys, values and a gradient for the output; every axis of its own size."""
    L_q, L_k, d_k, d_v = sizes(rng, 4, low=3, high=8)
    shapes = (L_q, d_k), (L_k, d_k), (L_k, d_v), (L_q, d_v)
    return [rng.normal(size=shape) for shape in shapes]


def rows_back(weights, upstream):
    """The gradient of softmax, last axis."""
    return weights * (upstream - (weights * upstream).sum(axis=-1, keepdims=True))
