"""Helpers for both exercises of `keras-translator`: sentences, masks, and layers with weights written in NumPy.

Nothing here needs Keras but the references and the right answers: the mistakes are written in NumPy, so that
they are quick and the same on every backend.
"""

from functools import cache, wraps

import numpy as np

from attention_labs.layers import (
    CONFIG,
    GRADIENT,
    HANDED_ON,
    PADDED,
    START,
    STATE,
    InNumPy,
    differentiate_by_complex_steps,
)


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


def in_numpy(tells=None, extra=0, always=None, ignores_dtype=False):
    """A function in place of a layer with weights: of the arrays, the weights by name, the settings and what else
    `call` takes. `tells` says what such a layer gives in place of the truth, by what is wanted (`GRADIENT` for any of
    them, "" for all else): a function of the true answer's function. `extra` weights it has besides; `always` is the
    dtype in which it works on what it is given, whatever it is asked for; with `ignores_dtype`
    it is given float32, too.
    """

    def decorate(function):
        @wraps(function)
        def make(dtype="float32", name="", **settings):
            asked = "float32" if ignores_dtype else dtype.removeprefix("mixed_")
            dtype = always or asked

            def call(arrays, weights, given, to=dtype):
                weights = {key: w.astype(to) for key, w in weights.items()}
                return function(*(a.astype(to) for a in arrays), **weights, **settings, **given)

            def true(wanted, arrays, weights, given):
                if wanted == STATE:
                    many = len(weights) + extra
                    return {"before the first call": 0, **dict.fromkeys(AFTER, many)}
                if wanted == CONFIG:
                    return settings | ({"name": name} if name else {})
                if wanted == START:
                    return {"they differ": True}
                padding = [(a == 0).all(axis=-1) for a in arrays]
                if wanted == HANDED_ON:
                    return ~padding[0]
                if wanted == PADDED:
                    given = {**given, "keys_mask": ~padding[1]}
                if not wanted.startswith(GRADIENT):
                    as_asked = {name: w.astype(asked) for name, w in weights.items()}
                    return call([a.astype(asked) for a in arrays], as_asked, given)
                names = [*weights, *(f"argument {i + 1}" for i in range(len(arrays)))]

                def moved(*exact):
                    first, rest = exact[: len(weights)], exact[len(weights) :]
                    return call(rest, dict(zip(weights, first)), given, np.complex128)

                at = names.index(wanted.removeprefix(GRADIENT))
                return differentiate_by_complex_steps(
                    moved, [*weights.values(), *arrays], at
                ).astype(dtype)

            def answer(wanted, *given):
                for told in (wanted, GRADIENT if wanted.startswith(GRADIENT) else "", ""):
                    if told in (tells or {}):
                        return tells[told](lambda: true(wanted, *given))
                return true(wanted, *given)

            return InNumPy(answer)

        return make

    return decorate


AFTER = ("after the first call", "after the second call")


def raising(error):
    """Return the report of a layer that raises this error."""

    def told(true):
        raise error

    return told


def without(setting):
    """Return the settings of `get_config` without one of them."""
    return lambda true: {name: value for name, value in true().items() if name != setting}


def as_it_is(true):
    return true()


def nothing(true):
    """Zeros in place of a gradient, or of a mask."""
    return np.zeros_like(true())


def softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def keras_class(make):
    """A right answer as a Keras layer's class; Keras is imported when a layer is made, not before."""

    @cache
    def the_class():
        from keras import ops
        from keras.layers import Layer

        return make(Layer, ops)

    return wraps(make)(lambda **settings: the_class()(**settings))
