"""The exercise `HalfPrecisionAttention`: the layer once more, right in float16 too."""

import numpy as np

from attention_labs.layers import (
    AGAIN,
    GRADIENTS,
    MINUS_1E9_IN_FLOAT16,
    TENSOR_METHODS,
    TWO_DTYPES,
    asked_in_their_dtype,
    stays_within_the_values,
)
from autograder.authoring import Exercise, sizes

from ._shared import (
    ahead_of,
    as_layer,
    attend,
    best_match_hidden,
    called,
    for_a_gradient,
    hidden_by,
    hide,
    in_the_scores,
    keras_layer,
    padding_of,
    scores_of,
    softmax,
    some_hidden,
    some_tokens,
    triple,
    weights_of,
)
from .DotProductAttention import DotProductAttention

HalfPrecisionAttention = Exercise(
    "HalfPrecisionAttention",
    points=2,
    builds_on=[DotProductAttention],
    call=asked_in_their_dtype,
    returns="tensor",
    exact_dtype=True,
    properties=[stays_within_the_values],
    portability_note=f"{MINUS_1E9_IN_FLOAT16} {TWO_DTYPES} {TENSOR_METHODS}",
)


def positive(arrays):
    """Values between 0.5 and 1.5, so that float16's few digits are enough to tell right from wrong."""
    queries, keys, values = arrays
    spread = np.ptp(values) or 1.0  # one value alone has none
    return queries, keys, 0.5 + (values - values.min()) / spread


@HalfPrecisionAttention.domain(
    sizes={"batch": (1, 60), "L_q": (1, 60), "L_k": (1, 60), "d_k": (1, 60), "d_v": (1, 60)},
    flags={
        "mask": ("(batch, L_q, L_k)", None, "(batch, 1, L_k)", "(L_q, L_k)"),
        "booleans": (False, True),
    },
    dtypes=("float16", "float32"),
    has_fixed_shapes=True,  # JAX compiles for each shape
)
def anywhere(rng, batch, L_q, L_k, d_k, d_v, mask, booleans):
    hidden = hidden_by(rng, mask, batch, L_q, L_k)
    arrays = positive(triple(rng, batch, L_q, L_k, d_k, d_v))
    return called(arrays, np.float16, mask=hidden == 1 if booleans else hidden)


@HalfPrecisionAttention.case("float16, a padding mask (batch, 1, L_k)")
def half_padding(rng):
    batch, queries, keys, d_k, d_v = sizes(rng, 5, low=3)
    mask = padding_of(some_tokens(rng, batch, keys)).astype(np.float16)
    return called(positive(triple(rng, batch, queries, keys, d_k, d_v)), np.float16, mask=mask)


@HalfPrecisionAttention.case("float16, both masks together (batch, L, L)")
def half_both(rng):
    batch, length, d_k, d_v = sizes(rng, 4, low=3)
    mask = np.maximum(padding_of(some_tokens(rng, batch, length)), ahead_of(length)).astype(
        np.float16
    )
    return called(positive(triple(rng, batch, length, length, d_k, d_v)), np.float16, mask=mask)


@HalfPrecisionAttention.case("float16, the key with the largest score is hidden (L_q, L_k)")
def half_best_hidden(rng):
    arrays, mask = best_match_hidden(rng, np.float16)
    return called(positive(arrays), np.float16, mask=mask)


@HalfPrecisionAttention.case("float16, a mask of booleans")
def half_booleans(rng):
    batch, queries, keys, d_k, d_v = sizes(rng, 5, low=3)
    mask = some_hidden(rng, batch, queries, keys) == 1
    return called(positive(triple(rng, batch, queries, keys, d_k, d_v)), np.float16, mask=mask)


@HalfPrecisionAttention.case("float16, no mask")
def half_unmasked(rng):
    return called(positive(triple(rng, *sizes(rng, 5))), np.float16)


@HalfPrecisionAttention.case("float32, both masks together")
def single_both(rng):
    batch, length, d_k, d_v = sizes(rng, 4, low=3)
    mask = np.maximum(padding_of(some_tokens(rng, batch, length)), ahead_of(length))
    return called(triple(rng, batch, length, length, d_k, d_v), mask=mask)


@HalfPrecisionAttention.case(f"float32, the {GRADIENTS[0]}")
def single_gradient(rng):
    return for_a_gradient(rng, GRADIENTS[0])


@HalfPrecisionAttention.case(
    "float16, called a second time, after a call in which nothing was hidden"
)
def half_again(rng):
    batch, queries, keys, d_k, d_v = sizes(rng, 5, low=3)
    mask = some_hidden(rng, batch, queries, keys).astype(np.float16)
    arrays = positive(triple(rng, batch, queries, keys, d_k, d_v))
    return called(arrays, np.float16, mask=mask, wanted=AGAIN)


# Mistakes.


@HalfPrecisionAttention.misconception(
    means="Your layer answers in float32, whatever it is given: what comes after it is made to work in float32 too.",
    nudge="Compute in float32 if you like. In which dtype do the numbers leave?",
)
@as_layer(np.float32)
def always_float32(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask)


@HalfPrecisionAttention.misconception(
    means="Your layer answers in float16, even where float32 comes in.",
    nudge="Which dtype do the queries have? Is it named in your code, or asked for?",
)
@as_layer(np.float16)
def always_float16(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask)


@HalfPrecisionAttention.misconception(
    means="No gradient comes through your layer: somewhere in `call` the numbers leave Keras, or are held back.",
    nudge="Which of your steps is not one of `keras.ops`?",
)
@as_layer(gradients=lambda at, arrays, worked_out: np.zeros(arrays[at].shape, arrays[at].dtype))
def no_gradient(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask)


@HalfPrecisionAttention.misconception(
    means="In float16 -1e9 becomes minus infinity, and 0 × ∞ is NaN (not a number) "
    "where the mask is 0 and nothing should happen.",
    nudge="float16 goes from -65504 to 65504. Multiply by a number that fits, or choose instead of multiplying.",
)
@as_layer()
def minus_1e9_in_float16(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    if mask is not None:
        scores = scores + np.array(-1e9).astype(scores.dtype) * mask
    return softmax(scores) @ values


@HalfPrecisionAttention.misconception(
    means="You multiplied minus infinity by the mask; where the mask is 0 that gives 0 × ∞, "
    "which is NaN (not a number), in float32 too.",
    nudge="Choose the score of each key, hidden or not, instead of multiplying.",
)
@as_layer()
@in_the_scores
def minus_infinity_times_the_mask(scores, mask):
    return scores + np.asarray(-np.inf, scores.dtype) * mask


@HalfPrecisionAttention.misconception(
    means="You made the scores of the hidden keys very high instead of very low, so they take everything.",
    nudge="Check a sign: which number do the hidden scores get?",
)
@as_layer()
@in_the_scores
def hidden_keys_highest(scores, mask):
    return np.where(mask == 1, np.float16(6e4), scores)


@HalfPrecisionAttention.misconception(
    means="Your mask is the other way round: the keys that should be hidden are the only ones looked at.",
    nudge="In this lab 1 means “hidden”. If you choose with `where`: which of its two results comes first?",
)
@as_layer()
def mask_inverted(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask if mask is None else 1 - mask)


@HalfPrecisionAttention.misconception(
    means="The mask has no say in your result: hidden keys are looked at like all the others.",
    nudge="Where does your code use `mask`?",
)
@as_layer()
def mask_ignored(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, None)


@HalfPrecisionAttention.misconception(
    means="The score of a hidden key became 0, and exp(0) is 1: a score of 0 is an ordinary score.",
    nudge="Which score has an exponential of 0?",
)
@as_layer()
@in_the_scores
def hidden_scores_0(scores, mask):
    return scores * (1 - mask)


@HalfPrecisionAttention.misconception(
    means="The score of a hidden key is low, but not low enough: -1 still gives it a fair share.",
    nudge="How low may a number in float16 be? Use what there is.",
)
@as_layer()
@in_the_scores
def hidden_scores_1_lower(scores, mask):
    return scores - mask


@HalfPrecisionAttention.misconception(
    means="The score of a hidden key is low, but not low enough: a key that matches well still shines through.",
    nudge="A score may well be 10 or 20. How low may a number in float16 be?",
)
@as_layer()
@in_the_scores
def hidden_scores_10_lower(scores, mask):
    return scores - 10 * mask


@HalfPrecisionAttention.misconception(
    means="The score of a hidden key is low, but not low enough: the others may be lower still.",
    nudge="A score may well be -10 or -20. How low may a number in float16 be?",
)
@as_layer()
@in_the_scores
def hidden_scores_minus_10(scores, mask):
    return np.where(mask == 1, scores.dtype.type(-10), scores)


@HalfPrecisionAttention.misconception(
    means="You added the mask itself: a hidden key gets 1 more, which makes it a little stronger.",
    nudge="Which score has an exponential of 0?",
)
@as_layer()
@in_the_scores
def mask_added_as_it_is(scores, mask):
    return scores + mask


@HalfPrecisionAttention.misconception(
    means="You took the softmax over the queries: each key's column sums to 1, instead of each query's row.",
    nudge="Each query shares out its own attention. Along which axis of (batch, L_q, L_k) do the keys lie?",
)
@as_layer()
def softmax_over_the_queries(queries, keys, values, d_k, mask):
    return softmax(hide(scores_of(queries, keys, d_k**0.5), mask), axis=1) @ values


@HalfPrecisionAttention.misconception(
    means="You hid the keys after the softmax: they had taken their share already, "
    "and the weights that are left no longer sum to 1.",
    nudge="At which moment must hidden keys drop out, so that the others share the whole weight?",
)
@as_layer()
def mask_after_softmax(queries, keys, values, d_k, mask):
    weights = weights_of(queries, keys, d_k, None)
    return (weights if mask is None else weights * (1 - mask)) @ values


@HalfPrecisionAttention.misconception(
    means="You did not divide the scores by √d_k, so the weights come out too sharp.",
    nudge="What did your first layer do between the product and the mask?",
)
@as_layer()
def no_scale(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, 1, mask)


@HalfPrecisionAttention.misconception(
    means="You divided by d_k instead of by its square root, so the weights come out too flat.",
    nudge="What did your first layer divide by?",
)
@as_layer()
def divided_by_d_k(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k, mask)


@HalfPrecisionAttention.misconception(
    means="These are the attention weights; the last step, averaging the values with them, is missing.",
    nudge="What are the weights multiplied by to give one row of size d_v for each query?",
)
@as_layer()
def returns_the_weights(queries, keys, values, d_k, mask):
    return weights_of(queries, keys, d_k, mask)


# Other right answers, which must pass.


@HalfPrecisionAttention.variant
@keras_layer
def a_number_that_fits(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2)) / d_k**0.5
    if mask is not None:
        scores += -1e4 * ops.cast(mask, scores.dtype)
    return ops.matmul(ops.softmax(scores), values)


@HalfPrecisionAttention.variant
@keras_layer
def lowest_of_the_dtype(self, queries, keys, values, d_k, mask=None):
    import keras
    from keras import ops

    scores = ops.einsum("bqd,bkd->bqk", queries, keys) / ops.cast(d_k**0.5, queries.dtype)
    if mask is not None:
        lowest = float(np.finfo(keras.backend.standardize_dtype(scores.dtype)).min)
        scores = ops.where(ops.not_equal(ops.cast(mask, "int32"), 0), lowest, scores)
    return ops.einsum("bqk,bkv->bqv", ops.softmax(scores, axis=-1), values)


@HalfPrecisionAttention.variant
@keras_layer
def minus_infinity_chosen(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    scores = ops.matmul(queries, ops.transpose(keys, (0, 2, 1))) / d_k**0.5
    if mask is not None:
        scores = ops.where(mask, -np.inf, scores)
    return ops.matmul(ops.softmax(scores), values)


@HalfPrecisionAttention.variant
@keras_layer
def in_float32_inside(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    given = queries.dtype
    queries, keys, values = (ops.cast(x, "float32") for x in (queries, keys, values))
    scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2)) / d_k**0.5
    if mask is not None:
        scores += -1e9 * ops.cast(mask, "float32")
    return ops.cast(ops.matmul(ops.softmax(scores), values), given)
