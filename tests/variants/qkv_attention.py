"""Right answers to the exercises of `qkv-attention`, each written another way."""

import math

import numpy as np
from scipy import special

VARIANTS = []  # (exercise, function)


def right(*exercises):
    """Register a function as a right answer to each of these exercises."""

    def register(function):
        VARIANTS.extend((exercise, function) for exercise in exercises)
        return function

    return register


# softmax: ordinary numbers


@right("softmax")
def published_answer(x, axis=0):
    return np.exp(x) / np.expand_dims(np.sum(np.exp(x), axis=axis), axis)


@right("softmax")
def with_keepdims(x, axis=0):
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


@right("softmax")
def power_of_e(x, axis=0):
    y = np.e**x
    return y / np.sum(y, axis, keepdims=True)


@right("softmax")
def axis_moved_to_the_front(x, axis=0):
    e = np.moveaxis(np.exp(x), axis, 0)
    return np.moveaxis(e / e.sum(axis=0), 0, axis)


@right("softmax")
def one_over_the_sum_of_differences(x, axis=0):
    x = np.moveaxis(np.asarray(x), axis, -1)
    ratios = np.exp(x[..., np.newaxis, :] - x[..., :, np.newaxis])
    return np.moveaxis(1 / ratios.sum(axis=-1), -1, axis)


@right("softmax")
def by_einsum(x, axis=0):
    e = np.exp(np.swapaxes(x, axis, -1))
    return np.swapaxes(np.einsum("...i,...->...i", e, 1 / np.einsum("...i->...", e)), -1, axis)


# stable_softmax, which is a right softmax too


@right("softmax", "stable_softmax")
def largest_subtracted(x, axis=0):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@right("softmax", "stable_softmax")
def by_scipy(x, axis=0):
    return special.softmax(x, axis=axis)


@right("softmax", "stable_softmax")
def log_sum_exp(x, axis=0):
    return np.exp(x - special.logsumexp(x, axis=axis, keepdims=True))


@right("softmax", "stable_softmax")
def logaddexp_reduced(x, axis=0):
    return np.exp(x - np.expand_dims(np.logaddexp.reduce(x, axis=axis), axis))


@right("softmax", "stable_softmax")
def along_each_slice(values, axis=0):
    def one(row):
        e = np.exp(row - row.max())
        return e / e.sum()

    return np.apply_along_axis(one, axis, values)


@right("softmax", "stable_softmax")
def loop_over_slices(x, axis=0):
    moved = np.moveaxis(x, axis, -1)
    result = np.zeros(moved.shape, dtype=x.dtype)
    for index in np.ndindex(*moved.shape[:-1]):
        row = [math.exp(number - max(moved[index])) for number in moved[index]]
        result[index] = [number / sum(row) for number in row]
    return np.moveaxis(result, -1, axis)


@right("softmax", "stable_softmax")
def shapes_by_reshape(x, axis=0):
    shape = list(x.shape)
    shape[axis] = 1
    e = np.exp(x - x.max(axis).reshape(shape))
    return e / e.sum(axis).reshape(shape)


@right("softmax", "stable_softmax")
def in_double_precision(x, axis=0):
    x = np.array(x, dtype=np.float64)
    x -= x.max(axis=axis, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=axis, keepdims=True)
    return x


@right("softmax", "stable_softmax")
def indexed_by_a_tuple(x, axis=0):
    there = tuple(np.newaxis if i == axis % x.ndim else slice(None) for i in range(x.ndim))
    e = np.exp(x - x.max(axis=axis)[there])
    return np.divide(e, e.sum(axis=axis)[there])


@right("softmax", "stable_softmax")
def a_little_more_than_the_largest(x, axis=0):
    e = np.exp(x - (np.max(x, axis=axis, keepdims=True) + 1))
    return e / np.sum(e, axis=axis, keepdims=True)


# calculate_weights


@right("calculate_weights")
def published_weights(queries, keys):
    return published_answer(queries @ keys.T / np.sqrt(keys.shape[1]), axis=1)


@right("calculate_weights")
def by_np_dot(queries, keys):
    scores = np.dot(queries, np.transpose(keys)) / math.sqrt(queries.shape[-1])
    return largest_subtracted(scores, axis=-1)


@right("calculate_weights")
def einsum_scores(queries, keys):
    scores = np.einsum("qd,kd->qk", queries, keys) * keys.shape[1] ** -0.5
    return special.softmax(scores, axis=1)


@right("calculate_weights")
def scale_shared_by_both(q, k):
    root = q.shape[1] ** 0.25
    return with_keepdims((q / root) @ (k / root).T, axis=1)


@right("calculate_weights")
def queries_scaled_first(queries, keys):
    return log_sum_exp(np.matmul(queries / np.sqrt(queries.shape[-1]), np.swapaxes(keys, 0, 1)), 1)


@right("calculate_weights")
def loops_over_words(queries, keys):
    weights = np.empty((len(queries), len(keys)))
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            weights[i, j] = math.exp(sum(query * key) / math.sqrt(len(key)))
        weights[i] /= weights[i].sum()
    return weights


@right("calculate_weights")
def keys_first_then_turned(queries, keys):
    return largest_subtracted(keys @ queries.T / np.sqrt(keys.shape[1]), axis=0).T


@right("calculate_weights")
def by_broadcasting(queries, keys):
    scores = (queries[:, np.newaxis, :] * keys[np.newaxis]).sum(axis=-1) / np.sqrt(keys.shape[-1])
    e = np.exp(scores)
    return e / e.sum(axis=1)[:, None]


@right("calculate_weights")
def from_distances(queries, keys):
    squares = ((queries[:, None] - keys) ** 2).sum(-1)
    return special.softmax(((keys**2).sum(-1) - squares) / (2 * keys.shape[1] ** 0.5), axis=1)


# attention_qkv


@right("attention_qkv")
def published_attention(queries, keys, values):
    return published_weights(queries, keys) @ values


@right("attention_qkv")
def einsum_throughout(queries, keys, values):
    scores = np.einsum("qd,kd->qk", queries, keys) / np.sqrt(keys.shape[-1])
    return np.einsum("qk,kv->qv", special.softmax(scores, axis=-1), values)


@right("attention_qkv")
def word_by_word(queries, keys, values):
    result = []
    for query in queries:
        weights = largest_subtracted(keys @ query / np.sqrt(len(query)))
        result.append(sum(weight * value for weight, value in zip(weights, values)))
    return np.array(result)


@right("attention_qkv")
def divided_at_the_end(queries, keys, values):
    e = np.exp(queries @ keys.T / np.sqrt(keys.shape[-1]))
    return e @ values / e.sum(axis=1, keepdims=True)


@right("attention_qkv")
def turned_throughout(queries, keys, values):
    return (values.T @ keys_first_then_turned(queries, keys).T).T


@right("attention_qkv")
def weighted_averages(queries, keys, values):
    weights = by_broadcasting(queries, keys)
    return np.stack([np.average(values, axis=0, weights=w) for w in weights])


@right("attention_qkv")
def by_tensordot(Q, K, V):
    return np.tensordot(special.softmax(np.inner(Q, K) / K.shape[1] ** 0.5, axis=1), V, axes=(1, 0))
