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
    hide,
    scores_of,
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
    return inputs(query, key, value, mask=padding_mask.reference(some_lengths(rng, batch, keys), keys))


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


# Mistakes.


def weights_of(query, key, mask=None, scale=True):
    """The right weights: attention with the identity for values."""
    values = np.eye(key.shape[-2], dtype=key.dtype)
    return dot_product_attention.reference(query, key, values, mask, scale)


def scaled_by(divisor, query, key, value, mask, scale):
    """Attention that divides the scores by something of its own where a scale is asked for."""
    return dot_product_attention.reference(query / divisor if scale else query, key, value, mask, False)


@dot_product_attention.misconception(
    means="The scores are never divided by √d_k, although `scale` is True unless somebody says otherwise.",
    nudge="A dot product of d_k terms grows with d_k. What brings it back to ordinary size?",
)
def never_scales(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, value, mask, False)


@dot_product_attention.misconception(
    means="The scores are divided by √d_k even when `scale` is False.",
    nudge="Where does your code use `scale`?",
)
def always_scales(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, value, mask, True)


@dot_product_attention.misconception(
    means="You divided by d_k instead of by its square root, so the weights come out too flat.",
    nudge="Compare your scale with the formula: is a root missing?",
)
def divides_by_d(query, key, value, mask=None, scale=True):
    return scaled_by(key.shape[-1] ** 0.5 * key.shape[-1] ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You multiplied the scores by √d_k instead of dividing by it, so the weights come out too sharp.",
    nudge="Should the scale make large scores larger or smaller?",
)
def multiplies_by_the_scale(query, key, value, mask=None, scale=True):
    return scaled_by(key.shape[-1] ** -0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You scaled by the square root of the number of keys instead of the size of one key.",
    nudge="d_k is how many numbers one key holds. On which axis are those?",
)
def scales_by_number_of_keys(query, key, value, mask=None, scale=True):
    return scaled_by(key.shape[-2] ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You scaled by the square root of the size of a value instead of the size of a key.",
    nudge="The sum in the dot product runs over the numbers of which two vectors?",
)
def scales_by_value_size(query, key, value, mask=None, scale=True):
    return scaled_by(value.shape[-1] ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You read d_k from axis 1, which is right for a matrix but holds the words of a batch.",
    nudge="Counted from the end, d_k is always on the same axis. Which one?",
)
def scale_read_from_axis_1(query, key, value, mask=None, scale=True):
    return scaled_by(key.shape[1] ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You divided by √d_k after the softmax, so the weights no longer sum to 1.",
    nudge="What is to be kept at ordinary size, the scores that go into the softmax or what comes out?",
)
def scales_after_softmax(query, key, value, mask=None, scale=True):
    output = dot_product_attention.reference(query, key, value, mask, False)
    return output / key.shape[-1] ** 0.5 if scale else output


@dot_product_attention.misconception(
    means="The mask makes no difference: hidden keys contribute like all the others.",
    nudge="Where does your code use `mask`?",
)
def ignores_the_mask(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, value, None, scale)


@dot_product_attention.misconception(
    means="You kept what should be hidden and hid what should be kept: the mask is read the other way round.",
    nudge="`np.where(mask, a, b)` takes a where mask is True. What does True mean in this lab?",
)
def inverted_mask(query, key, value, mask=None, scale=True):
    scores = scores_of(query, key, scale)
    scores = scores if mask is None else np.where(mask, -1e9, scores)
    return masked_softmax.reference(scores) @ value


@dot_product_attention.misconception(
    means="You hid the keys after the softmax, so what is left of the weights no longer sums to 1.",
    nudge="The weights of the visible keys should add up to 1. At which step must you remove the hidden ones?",
)
def mask_after_softmax(query, key, value, mask=None, scale=True):
    weights = weights_of(query, key, None, scale)
    return (weights if mask is None else weights * mask) @ value


@dot_product_attention.misconception(
    means="The hidden scores became 0, and exp(0) is 1: a score of 0 is an ordinary score.",
    nudge="Which score has an exponential of 0?",
)
def mask_by_multiplication(query, key, value, mask=None, scale=True):
    scores = scores_of(query, key, scale)
    return masked_softmax.reference(scores if mask is None else scores * mask) @ value


@dot_product_attention.misconception(
    means="You added booleans to the scores: True counts as 1, so visible keys are favoured, not alone.",
    nudge="Only a mask in the additive form may be added. What did you write to convert the boolean one?",
)
def mask_added_as_0_1(query, key, value, mask=None, scale=True):
    scores = scores_of(query, key, scale)
    return masked_softmax.reference(scores if mask is None else scores + mask) @ value


@dot_product_attention.misconception(
    means="You exchanged the mask's last two axes, so it hides queries (rows) instead of keys (columns).",
    nudge="The mask already has a row for each query and a column for each key. Does it need turning?",
)
def mask_on_queries(query, key, value, mask=None, scale=True):
    turned = None if mask is None else np.swapaxes(mask, -1, -2)
    scores = scores_of(query, key, scale)
    return masked_softmax.reference(scores if mask is None else np.where(turned, scores, -1e9)) @ value


@dot_product_attention.misconception(
    means="You put the mask on the values: they become 0, but their keys still get weight.",
    nudge="Which numbers determine the weights, and so need the mask?",
)
def mask_on_values(query, key, value, mask=None, scale=True):
    value = value if mask is None else np.where(np.swapaxes(mask, -1, -2), value, 0)
    return weights_of(query, key, None, scale) @ value


@dot_product_attention.misconception(
    means="You took the softmax over the queries: each key's column sums to 1, instead of each query's row.",
    nudge="The weights of each query add up to 1. Which axis of the scores are the keys?",
)
def softmax_over_queries(query, key, value, mask=None, scale=True):
    scores = hide(scores_of(query, key, scale), mask, -1e9)
    return np.swapaxes(masked_softmax.reference(np.swapaxes(scores, -1, -2)), -1, -2) @ value


@dot_product_attention.misconception(
    means="You took the softmax along axis 1, which holds the keys of a matrix, but the queries of a batch.",
    nudge="Counted from the end, the keys always lie on the same axis. Which one?",
)
def softmax_over_axis_1(query, key, value, mask=None, scale=True):
    scores = hide(scores_of(query, key, scale), mask, -1e9)
    return np.moveaxis(masked_softmax.reference(np.moveaxis(scores, 1, -1)), -1, 1) @ value


@dot_product_attention.misconception(
    means="All the weights together sum to 1, instead of each query's weights by themselves.",
    nudge="What do `axis=-1` and `keepdims=True` change in a sum?",
)
def softmax_over_everything(query, key, value, mask=None, scale=True):
    scores = hide(scores_of(query, key, scale), mask, -1e9)
    return masked_softmax.reference(scores.reshape(-1)).reshape(scores.shape) @ value


@dot_product_attention.misconception(
    means="There is no softmax: you averaged the values with the raw scores.",
    nudge="Which function turns scores into weights that are positive and sum to 1?",
)
def no_softmax(query, key, value, mask=None, scale=True):
    scores = scores_of(query, key, scale)
    return (scores if mask is None else scores * mask) @ value


@dot_product_attention.misconception(
    means="Two shapes do not fit: in (L_q, d_k) times (L_k, d_k) the keys must be transposed first.",
    nudge="Write the shapes next to each `@`: the last size on the left must equal the second-to-last size on the right.",
    raises=ValueError,
)
def missing_transpose(query, key, value, mask=None, scale=True):
    scores = query @ key
    return masked_softmax.reference(scores / key.shape[-1] ** 0.5 if scale else scores, mask) @ value


@dot_product_attention.misconception(
    means="`.T` turns all the axes of a batch round, the batch as well, and then nothing fits.",
    nudge="Exchange only the last two axes of the keys. Which NumPy function exchanges two axes?",
)
def transposes_every_axis(query, key, value, mask=None, scale=True):
    scores = query @ key.T
    return masked_softmax.reference(scores / key.shape[-1] ** 0.5 if scale else scores, mask) @ value


@dot_product_attention.misconception(
    means="You used the first sentence of the batch for all of them.",
    nudge="`@` already works on every sentence of a batch. Is there an index `[0]` too many?",
)
def first_sentence_for_all(query, key, value, mask=None, scale=True):
    if query.ndim == 2:
        return dot_product_attention.reference(query, key, value, mask, scale)
    output = dot_product_attention.reference(
        query[0], key[0], value[0], None if mask is None else mask[0], scale
    )
    return np.repeat(output[None], len(query), axis=0)


@dot_product_attention.misconception(
    means="You averaged the keys instead of the values.",
    nudge="Keys are for finding, values are what is handed over. Which array is multiplied by the weights?",
)
def averages_the_keys(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, key, mask, scale)


@dot_product_attention.misconception(
    means="You compared the queries with the values instead of with the keys.",
    nudge="Keys are for finding, values are what is handed over. With which of the two is a query compared?",
)
def compares_with_the_values(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, value, value, mask, scale)


@dot_product_attention.misconception(
    means="You exchanged queries and keys: your scores have a row for each key.",
    nudge="The output has a row for each query. Which array comes first in the product?",
)
def queries_and_keys_swapped(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(key, query, value, mask, scale)


@dot_product_attention.misconception(
    means="These are the attention weights; the last step, averaging the values with them, is missing.",
    nudge="What are the weights multiplied by to give one row of size d_v for each query?",
)
def returns_the_weights(query, key, value, mask=None, scale=True):
    return weights_of(query, key, mask, scale)


@dot_product_attention.misconception(
    means="All the visible keys have the same weight: this is the plain average of their values.",
    nudge="The scores of queries and keys should decide how much each value counts. Where do they come in?",
)
def plain_average(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(np.zeros_like(query), key, value, mask, scale)


@dot_product_attention.misconception(
    means="Each query takes over the value of its best key alone; softmax would weigh all the visible ones.",
    nudge="What does softmax do that `argmax` does not?",
)
def winner_takes_all(query, key, value, mask=None, scale=True):
    scores = hide(scores_of(query, key, scale), mask)
    return np.eye(scores.shape[-1], dtype=value.dtype)[scores.argmax(axis=-1)] @ value


@dot_product_attention.misconception(
    means="You return the notebook's own result, whatever comes in.",
    nudge="Where does your code use `query`, `key` and `value`?",
)
def hard_coded_output(query, key, value, mask=None, scale=True):
    return np.array([[0.8496745482, 0.1503254518, 0.8496745482]] * 2)


@dot_product_attention.misconception(
    means="You divide by √d_k where `scale` is False, and not where it is True.",
    nudge="Read your condition aloud: when should the scores be divided?",
)
def scale_the_other_way_round(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, value, mask, not scale)


@dot_product_attention.misconception(
    means="You multiplied the scores by `scale`, and False counts as 0: without the scale all scores vanish.",
    nudge="`scale` is a yes or no. Which statement of Python's decides by it?",
)
def scores_times_scale(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query if scale else np.zeros_like(query), key, value, mask, scale)


@dot_product_attention.misconception(
    means="You scaled by the square root of the number of queries instead of the size of one key.",
    nudge="d_k is how many numbers one key holds. On which axis are those?",
)
def scales_by_number_of_queries(query, key, value, mask=None, scale=True):
    return scaled_by(query.shape[-2] ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You read d_k from axis 1 of the queries, which is right for a matrix but holds the words of a batch.",
    nudge="Counted from the end, d_k is always on the same axis. Which one?",
)
def scale_read_from_axis_1_of_the_queries(query, key, value, mask=None, scale=True):
    return scaled_by(query.shape[1] ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You scaled by the square root of `len(query)`: how many queries, or how many sentences of a batch.",
    nudge="d_k is how many numbers one key holds. On which axis are those?",
)
def scales_by_len_of_query(query, key, value, mask=None, scale=True):
    return scaled_by(len(query) ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You scaled by the square root of `len(key)`: how many keys, or how many sentences of a batch.",
    nudge="d_k is how many numbers one key holds. On which axis are those?",
)
def scales_by_len_of_key(query, key, value, mask=None, scale=True):
    return scaled_by(len(key) ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="Python reads `d ** 1/2` as (d ** 1) / 2: you divided by d_k and then took half of it.",
    nudge="Where do brackets belong, or which function takes a root?",
)
def power_before_division(query, key, value, mask=None, scale=True):
    return scaled_by(2.0 * key.shape[-1], query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You exchanged the first two axes of the keys; in a batch the first one counts the sentences.",
    nudge="Counted from the end, which two axes of the keys should be exchanged?",
)
def exchanges_the_first_two_axes(query, key, value, mask=None, scale=True):
    scores = query @ np.swapaxes(key, 0, 1)
    return masked_softmax.reference(scores / key.shape[-1] ** 0.5 if scale else scores, mask) @ value


@dot_product_attention.misconception(
    means="You named three axes in the transpose, which is right for a batch; a single sentence has two.",
    nudge="Which NumPy function exchanges two axes, however many there are?",
)
def transposes_batches_only(query, key, value, mask=None, scale=True):
    scores = query @ key.transpose(0, 2, 1)
    return masked_softmax.reference(scores / key.shape[-1] ** 0.5 if scale else scores, mask) @ value


@dot_product_attention.misconception(
    means="You divided by the norms of the vectors (that is cosine similarity); attention divides by √d_k only.",
    nudge="By which number does the formula divide the dot products, and is it the same for all of them?",
)
def cosine_similarity(query, key, value, mask=None, scale=True):
    one, other = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (query, key))
    return dot_product_attention.reference(one, other, value, mask, scale)


@dot_product_attention.misconception(
    means="You divided by the norms of the vectors (that is cosine similarity) instead of by √d_k.",
    nudge="By which number does the formula divide the dot products, and is it the same for all of them?",
)
def cosine_similarity_for_the_scale(query, key, value, mask=None, scale=True):
    one, other = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (query, key))
    return dot_product_attention.reference(one, other, value, mask, False)


@dot_product_attention.misconception(
    means="You hid the future whatever `mask` says: the mask that is passed to the function does not count.",
    nudge="Where does your code use `mask`? Who decides what is hidden, this function or its caller?",
)
def always_causal(query, key, value, mask=None, scale=True):
    scores = hide(scores_of(query, key, scale), np.tri(query.shape[-2], key.shape[-2], dtype=bool))
    return masked_softmax.reference(scores) @ value


@dot_product_attention.combined_misconception(never_scales, ignores_the_mask)
def neither_scale_nor_mask(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, value, None, False)


@dot_product_attention.combined_misconception(never_scales, inverted_mask)
def unscaled_and_inverted(query, key, value, mask=None, scale=True):
    return inverted_mask(query, key, value, mask, False)


@dot_product_attention.combined_misconception(always_scales, ignores_the_mask)
def always_scaled_never_masked(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, value, None, True)


@dot_product_attention.combined_misconception(always_scales, inverted_mask)
def always_scaled_and_inverted(query, key, value, mask=None, scale=True):
    return inverted_mask(query, key, value, mask, True)


@dot_product_attention.combined_misconception(never_scales, mask_after_softmax)
def unscaled_and_masked_afterwards(query, key, value, mask=None, scale=True):
    return mask_after_softmax(query, key, value, mask, False)


@dot_product_attention.combined_misconception(never_scales, mask_by_multiplication)
def unscaled_and_multiplied(query, key, value, mask=None, scale=True):
    return mask_by_multiplication(query, key, value, mask, False)


@dot_product_attention.combined_misconception(never_scales, softmax_over_queries)
def unscaled_over_queries(query, key, value, mask=None, scale=True):
    return softmax_over_queries(query, key, value, mask, False)


@dot_product_attention.combined_misconception(divides_by_d, ignores_the_mask)
def d_and_no_mask(query, key, value, mask=None, scale=True):
    return divides_by_d(query, key, value, None, scale)


@dot_product_attention.combined_misconception(divides_by_d, inverted_mask)
def d_and_inverted(query, key, value, mask=None, scale=True):
    return inverted_mask(query / key.shape[-1] if scale else query, key, value, mask, False)


@dot_product_attention.combined_misconception(divides_by_d, mask_after_softmax)
def d_and_masked_afterwards(query, key, value, mask=None, scale=True):
    return mask_after_softmax(query / key.shape[-1] if scale else query, key, value, mask, False)


@dot_product_attention.combined_misconception(divides_by_d, softmax_over_queries)
def d_over_queries(query, key, value, mask=None, scale=True):
    return softmax_over_queries(query / key.shape[-1] if scale else query, key, value, mask, False)


@dot_product_attention.combined_misconception(always_scales, mask_after_softmax)
def always_scaled_masked_afterwards(query, key, value, mask=None, scale=True):
    return mask_after_softmax(query, key, value, mask, True)


@dot_product_attention.combined_misconception(multiplies_by_the_scale, ignores_the_mask)
def multiplied_and_no_mask(query, key, value, mask=None, scale=True):
    return multiplies_by_the_scale(query, key, value, None, scale)


@dot_product_attention.combined_misconception(scales_by_number_of_keys, ignores_the_mask)
def number_of_keys_and_no_mask(query, key, value, mask=None, scale=True):
    return scales_by_number_of_keys(query, key, value, None, scale)


@dot_product_attention.combined_misconception(never_scales, mask_added_as_0_1)
def unscaled_and_added(query, key, value, mask=None, scale=True):
    return mask_added_as_0_1(query, key, value, mask, False)


@dot_product_attention.combined_misconception(averages_the_keys, never_scales)
def keys_averaged_unscaled(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, key, mask, False)


@dot_product_attention.combined_misconception(queries_and_keys_swapped, never_scales)
def swapped_and_unscaled(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(key, query, value, mask, False)


@dot_product_attention.common_mistake
def lower_precision(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, value, mask, scale).astype(np.float32)


@dot_product_attention.common_mistake
def modifies_argument(query, key, value, mask=None, scale=True):
    if scale:
        query /= key.shape[-1] ** 0.5
    return dot_product_attention.reference(query, key, value, mask, False)


@dot_product_attention.common_mistake
def returns_a_tuple(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, value, mask, scale), weights_of(
        query, key, mask, scale
    )


@dot_product_attention.common_mistake
def returns_a_list(query, key, value, mask=None, scale=True):
    return dot_product_attention.reference(query, key, value, mask, scale).tolist()


@dot_product_attention.misconception(
    means="Where no mask is given you hide what comes later; None hides nothing.",
    nudge="What does the docstring say that None does?",
)
def causal_where_no_mask_is_given(query, key, value, mask=None, scale=True):
    causal = np.tri(query.shape[-2], key.shape[-2], dtype=bool)
    return weights_of(query, key, causal if mask is None else mask, scale) @ value


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
