"""Different right answers to the exercises of the lab `attention-masks`."""

import math

import numpy as np
import scipy.special

VARIANTS = []  # (exercise, function)


def right(exercise):
    def register(function):
        VARIANTS.append((exercise, function))
        return function

    return register


@right("causal_mask")
def tri_of_booleans(n):
    return np.tri(n, dtype=bool)


@right("causal_mask")
def compared_positions(size):
    positions = np.arange(size)
    return positions[:, None] >= positions[None, :]


@right("causal_mask")
def two_loops(size):
    mask = np.zeros((size, size), dtype=bool)
    for i in range(size):
        for j in range(i + 1):
            mask[i, j] = True
    return mask


@right("causal_mask")
def not_the_upper_triangle(size):
    return ~np.triu(np.ones((size, size), dtype=np.bool_), k=1)


@right("causal_mask")
def upper_triangle_equal_zero(size):
    return np.triu(np.ones((size, size)), k=1) == 0


@right("causal_mask")
def indices_of_the_triangle(size):
    mask = np.full((size, size), False)
    mask[np.tril_indices(size)] = True
    return mask


@right("causal_mask")
def nested_list(size):
    return np.array([[j <= i for j in range(size)] for i in range(size)])


@right("causal_mask")
def from_a_function(size):
    return np.fromfunction(lambda i, j: j <= i, (size, size))


@right("padding_mask")
def reshaped_lengths(lengths, size):
    return np.arange(size).reshape(1, 1, size) < lengths.reshape(-1, 1, 1)


@right("padding_mask")
def expanded_afterwards(lengths, size):
    return np.expand_dims(lengths[:, None] > np.arange(size), axis=1)


@right("padding_mask")
def row_by_row(lengths, size):
    mask = np.zeros((len(lengths), 1, size), dtype=bool)
    for i, n in enumerate(lengths):
        mask[i, 0, :n] = True
    return mask


@right("padding_mask")
def stacked_rows(lengths, size):
    return np.stack([np.arange(size) < n for n in lengths])[:, np.newaxis, :]


@right("padding_mask")
def outer_comparison(lengths, size):
    return np.greater.outer(lengths, np.arange(size)).reshape(len(lengths), 1, size)


@right("padding_mask")
def positions_counted_from_one(lengths, size):
    return np.arange(1, size + 1)[None, None] <= lengths[:, None, None]


@right("padding_mask")
def not_the_padding(lengths, size):
    hidden = np.zeros((lengths.shape[0], 1, size), dtype=np.bool_)
    for i, n in enumerate(lengths):
        hidden[i, :, n:] = True
    return np.logical_not(hidden)


@right("to_additive")
def where_lowest(mask, dtype=np.float64):
    return np.where(mask, 0, np.finfo(dtype).min).astype(dtype)


@right("to_additive")
def minus_infinity(mask, dtype=np.float64):
    return np.where(mask, 0.0, -np.inf).astype(dtype)


@right("to_additive")
def logarithm_of_the_mask(mask, dtype=np.float64):
    return np.log(mask.astype(dtype))


@right("to_additive")
def minus_ten_thousand(mask, dtype=np.float64):
    return ((1 - mask) * -1e4).astype(dtype)


@right("to_additive")
def minus_1e9_becomes_infinite_without_harm(mask, dtype=np.float64):
    return np.where(mask, 0.0, -1e9).astype(dtype)


@right("to_additive")
def constant_for_each_type(mask, dtype=np.float64):
    low = -6e4 if dtype == np.float16 else -1e9
    additive = np.full(mask.shape, low, dtype)
    additive[mask] = 0
    return additive


@right("to_additive")
def product_with_the_lowest(mask, dtype=np.float64):
    return (~mask).astype(dtype) * np.finfo(dtype).min


@right("to_additive")
def half_of_the_lowest(mask, dtype=np.float64):
    return np.array(np.select([mask, ~mask], [0.0, float(np.finfo(dtype).min) / 2]), dtype=dtype)


@right("masked_softmax")
def hidden_weights_put_back_to_zero(scores, mask=None):
    mask = np.broadcast_to(True if mask is None else mask, scores.shape)
    scores = np.where(mask, scores, -1e9)
    weights = np.exp(scores - scores.max(-1, keepdims=True)) * mask
    return weights / np.maximum(weights.sum(-1, keepdims=True), np.finfo(scores.dtype).tiny)


@right("masked_softmax")
def scipy_and_zeros_for_nan(scores, mask=None):
    if mask is None:
        return scipy.special.softmax(scores, axis=-1)
    return np.nan_to_num(scipy.special.softmax(np.where(mask, scores, -np.inf), axis=-1))


@right("masked_softmax")
def log_sum_exp(scores, mask=None):
    hidden = scores if mask is None else np.where(mask, scores, -np.inf)
    total = scipy.special.logsumexp(hidden, axis=-1, keepdims=True)
    return np.where(np.isneginf(total), 0.0, np.exp(hidden - np.where(np.isneginf(total), 0, total)))


@right("masked_softmax")
def one_row_at_a_time(scores, mask=None):
    mask = np.ones_like(scores, dtype=bool) if mask is None else np.broadcast_to(mask, scores.shape)
    weights = np.zeros_like(scores)
    for place in np.ndindex(scores.shape[:-1]):
        seen = mask[place]
        if seen.any():
            e = np.exp(scores[place][seen] - scores[place][seen].max())
            weights[place][seen] = e / e.sum()
    return weights


@right("masked_softmax")
def maximum_over_the_visible(scores, mask=None):
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    lowest = np.finfo(scores.dtype).min
    top = np.max(scores, axis=-1, keepdims=True, where=mask, initial=lowest)
    e = np.zeros_like(scores)
    np.exp(scores - top, out=e, where=np.broadcast_to(mask, scores.shape))
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total != 0)


@right("masked_softmax")
def uniform_rows_emptied(scores, mask=None):
    if mask is not None:
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    weights = np.exp(scores - scores.max(axis=-1)[..., None])
    weights = weights / weights.sum(axis=-1)[..., None]
    return weights if mask is None else np.where(np.any(mask, axis=-1, keepdims=True), weights, 0)


@right("masked_softmax")
def along_the_last_axis(scores, mask=None):
    def row(x):
        e = np.exp(x - (x.max() if np.isfinite(x).any() else 0))
        return e / (e.sum() or 1)

    hidden = scores.copy() if mask is None else np.where(mask, scores, -np.inf)
    return np.apply_along_axis(row, -1, hidden)


@right("masked_softmax")
def always_in_float64(scores, mask=None):
    scores = np.array(scores, dtype=np.float64)
    if mask is not None:
        scores[np.broadcast_to(~mask, scores.shape)] = -np.inf
    weights = np.exp(scores - np.nan_to_num(scores.max(-1, keepdims=True), neginf=0))
    total = weights.sum(-1, keepdims=True)
    total[total == 0] = 1
    return weights / total


# The usual published answer to the original lab.
@right("dot_product_attention")
def published_log_sum_exp(query, key, value, mask=None, scale=True):
    depth = query.shape[-1] if scale else 1
    dots = np.matmul(query, np.swapaxes(key, -1, -2)) / np.sqrt(depth)
    if mask is not None:
        dots = np.where(mask, dots, np.full_like(dots, -1e9))
    logsumexp = scipy.special.logsumexp(dots, axis=-1, keepdims=True)
    return np.matmul(np.exp(dots - logsumexp), value)


@right("dot_product_attention")
def softmax_without_a_maximum(query, key, value, mask=None, scale=True):
    scores = query @ np.swapaxes(key, -1, -2)
    if scale:
        scores /= np.sqrt(key.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    weights = np.exp(scores)
    return weights / np.sum(weights, axis=-1, keepdims=True) @ value


@right("dot_product_attention")
def additive_form(query, key, value, mask=None, scale=True):
    scores = np.matmul(query, key.swapaxes(-2, -1))
    scores = scores / math.sqrt(key.shape[-1]) if scale else scores
    if mask is not None:
        scores = scores + np.where(mask, 0.0, -np.inf)
    return scipy.special.softmax(scores, axis=-1) @ value


@right("dot_product_attention")
def einsum(q, k, v, mask=None, scale=True):
    scores = np.einsum("...qd,...kd->...qk", q, k) * (q.shape[-1] ** -0.5 if scale else 1)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights if mask is None else weights * mask
    return np.einsum("...qk,...kv->...qv", weights / weights.sum(-1, keepdims=True), v)


@right("dot_product_attention")
def query_by_query(query, key, value, mask=None, scale=True):
    scores_shape = (*query.shape[:-1], key.shape[-2])
    mask = np.broadcast_to(True if mask is None else mask, scores_shape)
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    for place in np.ndindex(query.shape[:-1]):
        keys, values = (x if x.ndim == 2 else x[place[0]] for x in (key, value))
        scores = np.array([query[place] @ one for one in keys], dtype=np.float64)
        scores = scores / np.sqrt(len(query[place])) if scale else scores
        e = np.where(mask[place], np.exp(scores), 0)
        output[place] = sum(w * one for w, one in zip(e / e.sum(), values, strict=True))
    return output


@right("dot_product_attention")
def transposed_axes_by_hand(query, key, value, mask=None, scale=True):
    turned = key.T if key.ndim == 2 else key.transpose(0, 2, 1)
    scores = np.matmul(query, turned)
    if scale:
        scores = scores / np.sqrt(query.shape[-1]).astype(query.dtype)
    if mask is not None:
        scores = np.where(np.logical_not(mask), np.finfo(scores.dtype).min, scores)
    scores = scores - np.amax(scores, axis=scores.ndim - 1, keepdims=True)
    weights = np.exp(scores)
    weights = weights / np.expand_dims(np.sum(weights, axis=-1), -1)
    return np.matmul(weights, value)


@right("dot_product_attention")
def averaged_before_dividing(query, key, value, mask=None, scale=True):
    d = key.shape[-1]
    e = np.exp((query / d**0.5 if scale else query) @ np.moveaxis(key, -1, -2))
    e = e if mask is None else np.where(mask, e, 0)
    return e @ value / e.sum(axis=-1, keepdims=True)


# The usual published answer to the original lab, around the published attention.
@right("dot_product_self_attention")
def published_self_attention(q, k, v, scale=True):
    size = q.shape[-2]
    mask = np.tril(np.ones((1, size, size), dtype=np.bool_), k=0)
    return published_log_sum_exp(q, k, v, mask, scale=scale)


@right("dot_product_self_attention")
def matrix_mask(q, k, v, scale=True):
    return additive_form(q, k, v, np.tri(q.shape[1], dtype=bool), scale)


@right("dot_product_self_attention")
def sentence_by_sentence(q, k, v, scale=True):
    mask = ~np.triu(np.ones((q.shape[1],) * 2, dtype=bool), 1)
    return np.stack([softmax_without_a_maximum(*one, mask, scale) for one in zip(q, k, v, strict=True)])


@right("dot_product_self_attention")
def only_the_past_is_looked_at(q, k, v, scale=True):
    steps = [einsum(q[:, i : i + 1], k[:, : i + 1], v[:, : i + 1], scale=scale) for i in range(q.shape[1])]
    return np.concatenate(steps, axis=1)


@right("dot_product_self_attention")
def triangle_of_exponentials(q, k, v, scale=True):
    e = np.tril(np.exp(q @ k.transpose(0, 2, 1) / (np.sqrt(q.shape[-1]) if scale else 1)))
    return e / e.sum(axis=2, keepdims=True) @ v
