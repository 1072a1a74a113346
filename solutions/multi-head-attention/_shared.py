"""Helpers of the lab's exercises: inputs, and the layer and its steps as they should be."""

import numpy as np

from autograder.authoring import inputs


def layer_inputs(rng, batch, L_q, L_k, heads, d_head, kv_heads=None, mask=None):
    """Inputs of `multi_head_attention`, or of `grouped_query_attention` where `kv_heads` is given.

    The weights shrink with the size of what they multiply, so that no softmax saturates. All have two
    decimals only, because the answer key keeps them, and such numbers take a third of the room.
    """
    d = heads * d_head
    d_kv = d if kv_heads is None else kv_heads * d_head
    queries, keys, values = (rng.normal(size=(batch, n, d)).round(2) for n in (L_q, L_k, L_k))
    weights = [(rng.normal(size=(d, columns)) / d**0.5).round(2) for columns in (d, d_kv, d_kv, d)]
    counts = (heads,) if kv_heads is None else (heads, kv_heads)
    named = {} if mask is None else {"mask": mask}
    return inputs(queries, keys, values, *weights, *counts, **named)


def some_allowed(rng, *shape):
    """A random mask in which every row has something to see and, where there is room, something hidden."""
    columns = shape[-1]
    ranks = rng.random(shape).argsort(axis=-1)
    return ranks < rng.integers(1, max(columns, 2), size=(*shape[:-1], 1))


def padding(rng, batch, L_k):
    """The mask (batch, 1, L_k) of sentences of different lengths, none empty."""
    lengths = rng.integers(1, L_k + 1, size=batch)
    lengths[rng.permutation(batch)[:2]] = [L_k, 1][: min(batch, 2)]
    return np.arange(L_k) < lengths[:, np.newaxis, np.newaxis]


MASKS = (None, "(L_q, L_k)", "(batch, L_q, L_k)", "(batch, 1, L_k)", "(1, L_q, L_k)", "(1, L_k)")


def any_mask(rng, mask, batch, L_q, L_k):
    """A random mask of the shape that one of `MASKS` names; None for None."""
    if mask is None:
        return None
    axes = {"1": 1, "batch": batch, "L_q": L_q, "L_k": L_k}
    return some_allowed(rng, *[axes[name] for name in mask.strip("()").split(", ")])


# The steps of the layer, as they should be, and two that only reshape.


def split(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def merge(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def split_by_reshape(x, heads):
    return x.reshape(x.shape[0], heads, x.shape[1], -1)


def merge_by_reshape(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


def scaled(q, k):
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5


def softmax(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def attend(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = np.where(np.expand_dims(mask, -3), scores, -np.inf)
    return softmax(scores) @ v


def repeat(x, heads):
    return np.repeat(x, heads // x.shape[1], axis=1)


def layer(
    queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None, *, kv_heads=None, repeat=repeat
):
    """The whole layer; `repeat` can be replaced where keys and values have fewer heads than queries."""
    q = split(queries @ w_q, heads)
    k = split(keys @ w_k, kv_heads or heads)
    v = split(values @ w_v, kv_heads or heads)
    if kv_heads is not None:
        k, v = repeat(k, heads), repeat(v, heads)
    return merge(attend(q, k, v, mask)) @ w_o
