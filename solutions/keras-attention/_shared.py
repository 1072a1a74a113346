"""Helpers for several exercises of `keras-attention`: sentences, masks, and layers written in NumPy.

Nothing here needs Keras but the references and the right answers: the mistakes are written in NumPy, on
what Keras would hand to the layer (`as_layer`), so that they are quick and the same on every backend.
"""

from functools import wraps

import numpy as np

from attention_labs.layers import StandIn, differentiate_by_complex_steps
from autograder.authoring import inputs, sizes

# The notebook's own sentences.
TOKENS = np.array([[5, 3, 0, 0, 0], [4, 9, 2, 7, 1], [6, 8, 2, 0, 0]])


def some_tokens(rng, batch, length):
    """Token ids with padding at the end: one full sentence, one of a single word, the others between."""
    lengths = rng.integers(1, length + 1, size=batch)
    lengths[rng.permutation(batch)[:2]] = (length, 1) if batch > 1 else int(rng.integers(2, length))
    tokens = rng.integers(1, 60, size=(batch, length))
    tokens[:, 0] = 1 + np.arange(batch)
    return np.where(np.arange(length) < lengths[:, None], tokens, 0)


def padding_of(tokens):
    return (tokens == 0).astype(np.float32)[:, None, :]


def ahead_of(length):
    return np.triu(np.ones((length, length), np.float32), 1)


def some_hidden(rng, *shape):
    """A mask in which every row has something to see, and something hidden unless it has one key."""
    ranks = rng.random(shape).argsort(axis=-1)
    return (ranks < rng.integers(min(1, shape[-1] - 1), shape[-1], size=(*shape[:-1], 1))).astype(
        np.float32
    )


def hidden_by(rng, mask, batch, L_q, L_k):
    """A mask of the shape that its name says: (4, 1, 6) for "(batch, 1, L_k)"; None for None."""
    if mask is None:
        return None
    axes = {"1": 1, "batch": batch, "L_q": L_q, "L_k": L_k}
    return some_hidden(rng, *(axes[name] for name in mask.strip("()").split(", ")))


def triple(rng, batch, queries, keys, d_k, d_v):
    """Queries, keys and values with unsaturated scores; no two sentences alike."""
    q = rng.normal(size=(batch, queries, d_k))
    k = rng.normal(size=(batch, keys, d_k))
    return q, k, rng.normal(size=(batch, keys, d_v))


def called(arrays, dtype=np.float32, **given):
    """The arguments of one call of the layer; d_k by keyword, as Keras asks of all that is no tensor."""
    arrays = [a.astype(dtype) for a in arrays]
    return inputs(*arrays, d_k=int(arrays[1].shape[-1]), **given)


def for_a_gradient(rng, wanted, dtype=np.float32):
    """Return small inputs with a mask: the gradients of wrong answers are computed number by number."""
    arrays = triple(rng, 2, 3, 4, 5, 2)
    return called(arrays, dtype, mask=some_hidden(rng, 2, 3, 4).astype(dtype), wanted=wanted)


def best_match_hidden(rng, dtype):
    """Every query agrees most with a key that is hidden from it."""
    queries, keys, d_k, d_v = sizes(rng, 4, low=3)
    batch = int(rng.integers(2, 5))
    q, k, v = triple(rng, batch, queries, keys, d_k, d_v)
    best = rng.integers(keys, size=queries)
    q = (
        q / 3
        + 2.5
        * np.sqrt(d_k)
        * k[:, best]
        / (k[:, best] ** 2).mean(axis=-1, keepdims=True)
        / d_k**0.5
    )
    return (q, k, v), np.eye(keys)[best].astype(dtype)


def as_layer(dtype=None, gradients=None):
    """A function in place of a layer: made without arguments, called with what Keras hands to `call`.

    Keras turns all floats into the layer's dtype: `dtype`, or that of the first input. What its gradients are is
    worked out, unless `gradients` says it: a function of an argument's place, the three arrays, and what works it out.
    """

    def decorate(function):
        @wraps(function)
        def make():
            def call(queries, keys, values, d_k, mask=None, to=dtype):
                to = to or queries.dtype
                queries, keys, values = (x.astype(to) for x in (queries, keys, values))
                mask = mask if mask is None else mask.astype(to)
                return function(queries, keys, values, d_k, mask)

            def gradient(at, *arrays, **given):
                if gradients is None:
                    return worked_out(at, *arrays, **given)
                return gradients(at, arrays, lambda: worked_out(at, *arrays, **given))

            def worked_out(at, *arrays, **given):
                found = differentiate_by_complex_steps(
                    lambda *moved: call(*moved, **given, to=np.complex128), arrays, at
                )
                return found.astype(dtype or np.float32)

            return StandIn(call, gradient)

        return make

    return decorate


def scores_of(queries, keys, scale):
    return queries @ np.swapaxes(keys, -1, -2) / np.asarray(scale, queries.dtype)


def hide(scores, mask):
    return scores if mask is None else np.where(mask == 1, np.asarray(-6e4, scores.dtype), scores)


def in_the_scores(change):
    """A mistake in what a mask makes of the scores, (batch, L_q, L_k); all else is right."""

    @wraps(change)
    def wrong(queries, keys, values, d_k, mask):
        scores = scores_of(queries, keys, d_k**0.5)
        return softmax(scores if mask is None else change(scores, mask)) @ values

    return wrong


def softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def weights_of(queries, keys, d_k, mask):
    return softmax(hide(scores_of(queries, keys, d_k**0.5), mask))


def attend(queries, keys, values, scale, mask):
    return softmax(hide(scores_of(queries, keys, scale), mask)) @ values


def keras_layer(call):
    """A right answer's `call` as a Keras layer; Keras is imported when the layer is made, not before."""

    def make():
        from keras.layers import Layer

        return type(call.__name__, (Layer,), {"call": call})()

    make.__name__, make.__doc__ = call.__name__, call.__doc__
    return make
