"""The exercise `dot_product_attention`: attention with any mask."""

import math

import numpy as np

from attention_labs.comparers import within_the_values
from autograder.authoring import Exercise, inputs

from ._shared import (
    LARGEST,
    K,
    Q,
    V,
    shape_of,
    some_allowed,
    some_lengths,
    triple,
    with_scores_up_to,
)
from .masked_softmax import masked_softmax
from .padding_mask import padding_mask

dot_product_attention = Exercise(
    "dot_product_attention",
    points=3,
    builds_on=[masked_softmax],
    properties=[within_the_values],
)


@dot_product_attention.domain(
    sizes={"batch": (1, 60), "L_q": (1, 60), "L_k": (1, 60), "d_k": (1, 60), "d_v": (1, 60)},
    flags={
        "axes": (3, 2),
        "mask": ("(L_q, L_k)", None, "(batch, 1, L_k)", "(1, L_q, L_k)"),
        "scale": (True, False),
    },
    magnitudes=(1.0, LARGEST),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L_q, L_k, d_k, d_v, axes, mask, scale, magnitude):
    lead = [batch][: axes - 2]
    arrays = [rng.normal(size=(*lead, *shape)) for shape in ((L_q, d_k), (L_k, d_k), (L_k, d_v))]
    seen = None if mask is None else some_allowed(rng, *shape_of(mask, batch, L_q, L_k))
    if magnitude > 1:
        arrays = with_scores_up_to(magnitude, *arrays, scale)
    return inputs(*arrays, mask=seen, scale=scale)


@dot_product_attention.case("the notebook's example, no mask")
def example(rng):
    return inputs(Q, K, V)


@dot_product_attention.case("the notebook's example with its causal mask")
def example_causal(rng):
    return inputs(Q, K, V, mask=np.tri(2, dtype=bool))


@dot_product_attention.case("more or fewer queries than keys, no mask")
def rectangle(rng):
    return inputs(*triple(rng))


@dot_product_attention.case("a mask of shape (L_q, L_k)")
def rectangle_masked(rng):
    query, key, value = triple(rng)
    return inputs(query, key, value, mask=some_allowed(rng, len(query), len(key)))


@dot_product_attention.case("a batch with a padding mask (batch, 1, L_k)")
def batch_padded(rng):
    query, key, value = triple(rng, batch=["batch"])
    batch, keys = key.shape[:2]
    return inputs(
        query, key, value, mask=padding_mask.reference(some_lengths(rng, batch, keys), keys)
    )


@dot_product_attention.case("a batch with a causal mask (1, L, L)")
def batch_causal(rng):
    query, key, value = triple(rng, batch=["batch"], queries="as many as keys")
    return inputs(query, key, value, mask=np.tri(key.shape[1], dtype=bool)[None])


@dot_product_attention.case("without the scale")
def unscaled(rng):
    query, key, value = triple(rng)
    return inputs(query, key, value, scale=False)


@dot_product_attention.case("without the scale, with a mask")
def unscaled_masked(rng):
    query, key, value = triple(rng)
    return inputs(query, key, value, mask=some_allowed(rng, len(query), len(key)), scale=False)


@dot_product_attention.case("scores of ±300, with a mask")
def large_scores(rng):
    query, key, value = with_scores_up_to(LARGEST, *triple(rng))
    return inputs(query, key, value, mask=some_allowed(rng, len(query), len(key)))


@dot_product_attention.case("float32")
def attention_32(rng):
    query, key, value = triple(rng, dtype=np.float32)
    return inputs(query, key, value, mask=some_allowed(rng, len(query), len(key)))


@dot_product_attention.slips("""
    never_scales: You never divide the scores by √d_k. `scale` is True by default, so you should divide.
        Hint: A dot product of d_k terms grows with d_k. What brings it back to ordinary size?
    always_scales: The scores are divided by √d_k even when `scale` is False.
        Hint: Where does your code use `scale`?
    divides_by_d: You divided by d_k instead of by its square root, so the weights come out too flat.
        Hint: Compare your scale with the formula: is a root missing?
    multiplies_by_the_scale: You multiplied the scores by √d_k instead of dividing by it, so the weights
        come out too sharp.
        Hint: Should the scale make large scores larger or smaller?
    scales_by_number_of_keys: You scaled by the square root of the number of keys instead of the size of
        one key.
        Hint: d_k is how many numbers one key holds. On which axis are those?
    scales_by_value_size: You scaled by the square root of the size of a value instead of the size of a
        key.
        Hint: The sum in the dot product runs over the numbers of which two vectors?
    scale_read_from_axis_1: You read d_k from axis 1, which is right for a matrix but holds the words of
        a batch.
        Hint: Counted from the end, d_k is always on the same axis. Which one?
    scales_after_softmax: You divided by √d_k after the softmax, so the weights no longer sum to 1.
        Hint: What is to be kept at ordinary size, the scores that go into the softmax or what comes out?
    ignores_the_mask: The mask makes no difference: hidden keys contribute like all the others.
        Hint: Where does your code use `mask`?
    inverted_mask: You kept what should be hidden and hid what should be kept: the mask is read the other
        way round.
        Hint: `np.where(mask, a, b)` takes a where mask is True. What does True mean in this lab?
    mask_after_softmax: You hid the keys after the softmax, so what is left of the weights no longer sums
        to 1.
        Hint: The weights of the visible keys should add up to 1. At which step must you remove the
        hidden ones?
    mask_by_multiplication: The hidden scores became 0, and exp(0) is 1: a score of 0 is an ordinary
        score.
        Hint: Which number must replace a hidden score so that its exponential is 0?
    mask_added_as_0_1: You added booleans to the scores: True counts as 1, so visible scores grow by
        1, and nothing is hidden.
        Hint: Only a mask in the additive form may be added. What did you write to convert the boolean
        one?
    mask_on_queries: You exchanged the mask's last two axes, so it hides queries (rows) instead of keys
        (columns).
        Hint: The mask already has a row for each query and a column for each key. Does it need turning?
    mask_on_values: You put the mask on the values: they become 0, but their keys still get weight.
        Hint: Which numbers determine the weights, and so need the mask?
    softmax_over_queries: You took the softmax over the queries: each key's column sums to 1, instead of
        each query's row.
        Hint: The weights of each query add up to 1. Which axis of the scores are the keys?
    softmax_over_axis_1: You took the softmax along axis 1, which holds the keys of a matrix, but the
        queries of a batch.
        Hint: Counted from the end, the keys always lie on the same axis. Which one?
    softmax_over_everything: All the weights together sum to 1, instead of each query's weights by
        themselves.
        Hint: What do `axis=-1` and `keepdims=True` change in a sum?
    no_softmax: There is no softmax: you averaged the values with the raw scores.
        Hint: Which function turns scores into weights that are positive and sum to 1?
    transposes_every_axis: `.T` turns all the axes of a batch round, the batch as well, and then nothing
        fits.
        Hint: Exchange only the last two axes of the keys. Which NumPy function exchanges two axes?
    first_sentence_for_all: You used the first sentence of the batch for all of them.
        Hint: `@` already works on every sentence of a batch. Is there an index `[0]` too many?
    averages_the_keys: You averaged the keys instead of the values.
        Hint: Keys are for finding, values are what is handed over. Which array is multiplied by the
        weights?
    compares_with_the_values: You compared the queries with the values instead of with the keys.
        Hint: Keys are for finding, values are what is handed over. With which of the two is a query
        compared?
    queries_and_keys_swapped: You exchanged queries and keys: your scores have a row for each key.
        Hint: The output has a row for each query. Which array comes first in the product?
    returns_the_weights: These are the attention weights; the last step, averaging the values with them,
        is missing.
        Hint: What are the weights multiplied by to give one row of size d_v for each query?
    plain_average: All the visible keys have the same weight: this is the plain average of their values.
        Hint: The scores of queries and keys should decide how much each value counts. Where do they come
        in?
    winner_takes_all: Each query takes over the value of its best key alone; softmax would weigh all the
        visible ones.
        Hint: What does softmax do that `argmax` does not?
    hard_coded_output: You return the notebook's own result, whatever comes in.
        Hint: Where does your code use `query`, `key` and `value`?
    scale_the_other_way_round: You divide by √d_k where `scale` is False, and not where it is True.
        Hint: Read your condition aloud: when should the scores be divided?
    scores_times_scale: You multiplied the scores by `scale`, and False counts as 0: without the scale
        all scores vanish.
        Hint: `scale` is a yes or no. Which statement of Python's decides by it?
    scales_by_number_of_queries: You scaled by the square root of the number of queries instead of the
        size of one key.
        Hint: d_k is how many numbers one key holds. On which axis are those?
    scale_read_from_axis_1_of_the_queries: You read d_k from axis 1 of the queries, which is right for a
        matrix but holds the words of a batch.
        Hint: Counted from the end, d_k is always on the same axis. Which one?
    scales_by_len_of_query: You scaled by the square root of `len(query)`: how many queries, or how many
        sentences of a batch.
        Hint: d_k is how many numbers one key holds. On which axis are those?
    scales_by_len_of_key: You scaled by the square root of `len(key)`: how many keys, or how many
        sentences of a batch.
        Hint: d_k is how many numbers one key holds. On which axis are those?
    power_before_division: Python computes `/ d_k ** 1 / 2` from left to right: it divides by d_k
        and then by 2.
        Hint: Where do brackets belong, or which function takes a root?
    exchanges_the_first_two_axes: You exchanged the first two axes of the keys; in a batch the first one
        counts the sentences.
        Hint: Counted from the end, which two axes of the keys should be exchanged?
    transposes_batches_only: You named three axes in the transpose, which is right for a batch; a single
        sentence has two.
        Hint: Which NumPy function exchanges two axes, however many there are?
    cosine_similarity: You divided by the norms of the vectors (that is cosine similarity); attention
        divides by √d_k only.
        Hint: By which number does the formula divide the dot products, and is it the same for all of
        them?
    cosine_similarity_for_the_scale: You divided by the norms of the vectors (that is cosine similarity)
        instead of by √d_k.
        Hint: By which number does the formula divide the dot products, and is it the same for all of
        them?
    always_causal: You hid the future whatever `mask` says: the mask that is passed to the function does
        not count.
        Hint: Where does your code use `mask`? Who decides what is hidden, this function or its caller?
    lower_precision
    modifies_argument
    returns_a_tuple
    returns_a_list
    causal_where_no_mask_is_given: Where no mask is given you hide what comes later; None hides nothing.
        Hint: What does the docstring say that None does?
""")
def dot_product_attention_with_slips(slip, query, key, value, mask=None, scale=True):
    if slip.hard_coded_output:
        return np.array([[0.8496745482, 0.1503254518, 0.8496745482]] * 2)
    d_k = key.shape[-1]
    divisor = slip.choose(
        d_k**0.5,
        divides_by_d=d_k,
        power_before_division=2.0 * d_k,
        multiplies_by_the_scale=d_k**-0.5,
        scales_by_number_of_keys=key.shape[-2] ** 0.5,
        scales_by_number_of_queries=query.shape[-2] ** 0.5,
        scales_by_value_size=value.shape[-1] ** 0.5,
        scale_read_from_axis_1=key.shape[1] ** 0.5,
        scale_read_from_axis_1_of_the_queries=query.shape[1] ** 0.5,
        scales_by_len_of_query=len(query) ** 0.5,
        scales_by_len_of_key=len(key) ** 0.5,
    )
    if slip.plain_average or (slip.scores_times_scale and not scale):
        query = np.zeros_like(query)
    if slip.modifies_argument and scale:
        query /= divisor
    if slip.cosine_similarity or slip.cosine_similarity_for_the_scale:
        query = query / np.linalg.norm(query, axis=-1, keepdims=True)
        key = key / np.linalg.norm(key, axis=-1, keepdims=True)
    scale = slip.choose(
        scale,
        never_scales=False,
        always_scales=True,
        scale_the_other_way_round=not scale,
        modifies_argument=False,
        cosine_similarity_for_the_scale=False,
    )
    batch = len(query)
    if slip.first_sentence_for_all and query.ndim > 2:
        query, key, value = query[:1], key[:1], value[:1]
        if mask is not None:
            mask = mask[:1]
    left = slip.choose(query, queries_and_keys_swapped=key)
    right = slip.choose(key, queries_and_keys_swapped=query, compares_with_the_values=value)
    columns = slip.choose(
        np.swapaxes(right, -1, -2),
        transposes_every_axis=right.T,
        exchanges_the_first_two_axes=np.swapaxes(right, 0, 1),
    )
    if slip.transposes_batches_only:
        columns = right.transpose(0, 2, 1)
    scores = left @ columns
    if scale and not slip.scales_after_softmax:
        scores = scores / divisor
    if slip.always_causal or (slip.causal_where_no_mask_is_given and mask is None):
        mask = np.tri(query.shape[-2], key.shape[-2], dtype=bool)
    if slip.ignores_the_mask:
        mask = None
    hidden = scores
    if mask is not None:
        transpose = np.swapaxes(mask, -1, -2)
        if slip.mask_on_values:
            value = np.where(transpose, value, 0)
        mask = slip.choose(mask, inverted_mask=~mask, mask_on_queries=transpose)
        hidden = slip.choose(
            np.where(mask, scores, -1e9),
            mask_after_softmax=scores,
            mask_on_values=scores,
            mask_by_multiplication=scores * mask,
            no_softmax=scores * mask,
            mask_added_as_0_1=scores + mask,
        )
    axis = slip.choose(
        -1, softmax_over_queries=-2, softmax_over_axis_1=1, softmax_over_everything=None
    )
    weights = np.exp(hidden - hidden.max(axis=axis, keepdims=True))
    weights = weights / weights.sum(axis=axis, keepdims=True)
    if slip.no_softmax:
        weights = hidden
    if slip.mask_after_softmax and mask is not None:
        weights = weights * mask
    if slip.winner_takes_all:
        weights = np.eye(hidden.shape[-1], dtype=hidden.dtype)[hidden.argmax(axis=-1)]
    if slip.returns_the_weights:
        return weights
    output = weights @ slip.choose(value, averages_the_keys=key)
    if slip.scales_after_softmax and scale:
        output = output / divisor
    if slip.first_sentence_for_all and output.ndim > 2:
        output = np.repeat(output, batch, axis=0)
    if slip.returns_a_tuple:
        return output, weights
    if slip.returns_a_list:
        return output.tolist()
    return slip.choose(output, lower_precision=output.astype(np.float32))


@dot_product_attention.misconception(
    means="Two shapes do not fit: in (L_q, d_k) times (L_k, d_k) the keys must be transposed first.",
    nudge="Write the shapes next to each `@`: the last size on the left must equal the second-to-last size on the right.",
    raises=ValueError,
)
def missing_transpose(query, key, value, mask=None, scale=True):
    scores = query @ key
    return (
        masked_softmax.reference(scores / key.shape[-1] ** 0.5 if scale else scores, mask) @ value
    )


# Other right answers, which must pass.


# The usual published answer to the original lab.
@dot_product_attention.variant
def published_log_sum_exp(query, key, value, mask=None, scale=True):
    from scipy import special

    depth = query.shape[-1] if scale else 1
    dots = np.matmul(query, np.swapaxes(key, -1, -2)) / np.sqrt(depth)
    if mask is not None:
        dots = np.where(mask, dots, np.full_like(dots, -1e9))
    logsumexp = special.logsumexp(dots, axis=-1, keepdims=True)
    return np.matmul(np.exp(dots - logsumexp), value)


@dot_product_attention.variant
def softmax_without_a_maximum(query, key, value, mask=None, scale=True):
    scores = query @ np.swapaxes(key, -1, -2)
    if scale:
        scores /= np.sqrt(key.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    weights = np.exp(scores)
    return weights / np.sum(weights, axis=-1, keepdims=True) @ value


@dot_product_attention.variant
def additive_form(query, key, value, mask=None, scale=True):
    from scipy import special

    scores = np.matmul(query, key.swapaxes(-2, -1))
    scores = scores / math.sqrt(key.shape[-1]) if scale else scores
    if mask is not None:
        scores = scores + np.where(mask, 0.0, -np.inf)
    return special.softmax(scores, axis=-1) @ value


@dot_product_attention.variant
def einsum(q, k, v, mask=None, scale=True):
    scores = np.einsum("...qd,...kd->...qk", q, k) * (q.shape[-1] ** -0.5 if scale else 1)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights if mask is None else weights * mask
    return np.einsum("...qk,...kv->...qv", weights / weights.sum(-1, keepdims=True), v)


@dot_product_attention.variant
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


@dot_product_attention.variant
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


@dot_product_attention.variant
def averaged_before_dividing(query, key, value, mask=None, scale=True):
    d = key.shape[-1]
    e = np.exp((query / d**0.5 if scale else query) @ np.moveaxis(key, -1, -2))
    e = e if mask is None else np.where(mask, e, 0)
    return e @ value / e.sum(axis=-1, keepdims=True)
