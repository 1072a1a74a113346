"""Helpers for several exercises of `tiny-transformer`: right steps, and random parameters."""

import math

import numpy as np

TWO = np.array(
    [[[1.0, 5.0, 1.0, 5.0], [2.0, 2.0, 6.0, 6.0]]]
)  # the notebook's example: two words of four numbers


def norm(x, gain, bias, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * gain + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_exact(x):
    return x * 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))


def relu(x):
    return np.maximum(x, 0)


def feed(x, w_1, b_1, w_2, b_2, act=gelu):
    return act(x @ w_1 + b_1) @ w_2 + b_2


def attend(x, w_q, w_k, w_v, w_o, heads, mask, keys_of=None, values_of=None):
    """Multi-head attention of sentences (batch, L, d) with themselves, mask (L, L).

    Keys and values are made of the same words, unless `keys_of` or `values_of` are others.
    """
    keys_of = x if keys_of is None else keys_of
    values_of = x if values_of is None else values_of
    batch, length, size = x.shape

    def split(y):
        return y.reshape(batch, length, heads, size // heads).swapaxes(1, 2)

    scores = split(x @ w_q) @ split(keys_of @ w_k).swapaxes(-1, -2) / math.sqrt(size // heads)
    scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return (weights @ split(values_of @ w_v)).swapaxes(1, 2).reshape(batch, length, size) @ w_o


def first(p):
    """The first layer norm, as a function."""
    return lambda x: norm(x, p["gain_1"], p["bias_1"])


def second(p):
    return lambda x: norm(x, p["gain_2"], p["bias_2"])


def attention(p, heads, mask):
    return lambda x: attend(x, p["w_q"], p["w_k"], p["w_v"], p["w_o"], heads, mask)


def forward(p, act=gelu):
    return lambda x: feed(x, p["w_1"], p["b_1"], p["w_2"], p["b_2"], act)


def parts(p, heads, mask):
    """The four parts of a block, each a function of x: norm, attention, norm, feed-forward."""
    return first(p), attention(p, heads, mask), second(p), forward(p)


def block(x, p, heads, mask):
    norm_1, attend_, norm_2, feed_ = parts(p, heads, mask)
    x = x + attend_(norm_1(x))
    return x + feed_(norm_2(x))


def causal(length):
    return np.tri(length, dtype=bool)


def stack(x, p, heads):
    """All blocks, one after the other, with a causal mask."""
    for one in p["blocks"]:
        x = block(x, one, heads, causal(x.shape[1]))
    return x


def logits(x, p):
    return norm(x, p["gain"], p["bias"]) @ p["tokens"].T


# Random parameters.


def gains(rng, size):
    return 1 + 0.3 * rng.normal(size=size)


# Parameters of a block in the order of the docstring, and in that of the cases: equal shapes change places, so that an
# answer that takes the dict's values in their order is wrong.
NAMES = (
    "gain_1",
    "bias_1",
    "w_q",
    "w_k",
    "w_v",
    "w_o",
    "gain_2",
    "bias_2",
    "w_1",
    "b_1",
    "w_2",
    "b_2",
)
CASE_ORDER = (
    "gain_2",
    "bias_2",
    "w_o",
    "w_v",
    "w_k",
    "w_q",
    "gain_1",
    "bias_1",
    "w_1",
    "b_1",
    "w_2",
    "b_2",
)


def block_parameters(rng, d, hidden):
    """Parameters under which both branches are about as large as what passes by them."""

    def table(rows, columns):
        return rng.normal(size=(rows, columns)) / math.sqrt(rows)

    parameters = {
        "gain_1": gains(rng, d),
        "bias_1": 0.3 * rng.normal(size=d),
        "w_q": table(d, d),
        "w_k": table(d, d),
        "w_v": table(d, d),
        "w_o": table(d, d),
        "gain_2": gains(rng, d),
        "bias_2": 0.3 * rng.normal(size=d),
        "w_1": table(d, hidden),
        "b_1": 0.3 * rng.normal(size=hidden),
        "w_2": table(hidden, d),
        "b_2": 0.3 * rng.normal(size=d),
    }
    return {name: parameters[name] for name in CASE_ORDER}


def model_parameters(rng, vocabulary, positions, d, hidden, layers):
    return {
        "tokens": rng.normal(size=(vocabulary, d)),
        "positions": rng.normal(size=(positions, d)),
        "blocks": [block_parameters(rng, d, hidden) for _ in range(layers)],
        "gain": gains(rng, d),
        "bias": 0.3 * rng.normal(size=d),
    }
