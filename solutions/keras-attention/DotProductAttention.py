"""The exercise `DotProductAttention`: attention as a Keras layer, with a mask in which 1 means hidden."""

import numpy as np

from attention_labs.keras_start import backend
from attention_labs.layers import (
    AGAIN,
    GRADIENTS,
    TENSOR_METHODS,
    asked,
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

DotProductAttention = Exercise(
    "DotProductAttention",
    points=4,
    call=asked,
    returns="tensor",
    exact_dtype=True,
    properties=[stays_within_the_values],
    portability_note=TENSOR_METHODS,
)

# The notebook's worked example.
Q = np.array([[[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]])
K = np.array([[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]])
V = np.array([[[6.0, 0.0], [0.0, 6.0], [6.0, 6.0]]])


@DotProductAttention.domain(
    sizes={"batch": (1, 60), "L_q": (1, 60), "L_k": (1, 60), "d_k": (1, 60), "d_v": (1, 60)},
    flags={"mask": ("(batch, L_q, L_k)", None, "(batch, 1, L_k)", "(L_q, L_k)")},
    magnitudes=(1.0, 80.0),
    dtypes=("float32", "float64"),
    has_fixed_shapes=True,  # JAX compiles for each shape
)
def anywhere(rng, batch, L_q, L_k, d_k, d_v, mask, magnitude):
    q, k, v = triple(rng, batch, L_q, L_k, d_k, d_v)
    if magnitude > 1:  # by the docstring scores may be as large, and -100 hides none of these
        q *= magnitude / np.maximum(
            np.abs(scores_of(q, k, d_k**0.5)).max(axis=-1, keepdims=True), 1e-3
        )
        v = 1 + np.abs(
            v
        )  # float32 rounds such scores so far that a value near 0 would tell of that
    return called((q, k, v), mask=hidden_by(rng, mask, batch, L_q, L_k))


@DotProductAttention.case("the example worked by hand")
def by_hand(rng):
    return called((Q, K, V), mask=np.array([[[0, 0, 1]]], np.float32))


@DotProductAttention.case("64 sentences with 5 words and d_k = 64, as in the notebook; no mask")
def notebook_sizes(rng):
    return called((rng.random((64, 5, 64)), rng.random((64, 5, 64)), rng.random((64, 5, 3))))


@DotProductAttention.case("every size different, in float64; no mask")
def all_different(rng):
    return called(triple(rng, *sizes(rng, 5)), np.float64)


@DotProductAttention.case("a padding mask (batch, 1, L_k)")
def with_padding(rng):
    batch, queries, keys, d_k, d_v = sizes(rng, 5, low=3)
    mask = padding_of(some_tokens(rng, batch, keys))
    return called(triple(rng, batch, queries, keys, d_k, d_v), mask=mask)


@DotProductAttention.case("a look-ahead mask (L, L)")
def with_look_ahead(rng):
    batch, length, d_k, d_v = sizes(rng, 4, low=3)
    return called(triple(rng, batch, length, length, d_k, d_v), mask=ahead_of(length))


@DotProductAttention.case("both masks together (batch, L, L)")
def with_both(rng):
    batch, length, d_k, d_v = sizes(rng, 4, low=3)
    mask = np.maximum(padding_of(some_tokens(rng, batch, length)), ahead_of(length))
    return called(triple(rng, batch, length, length, d_k, d_v), mask=mask)


@DotProductAttention.case("the key with the largest score is hidden (L_q, L_k)")
def with_the_best_hidden(rng):
    arrays, mask = best_match_hidden(rng, np.float32)
    return called(arrays, mask=mask)


@DotProductAttention.case("all sizes the same")
def cube(rng):
    (size,) = sizes(rng, 1, low=4, high=7)
    return called(triple(rng, *[size] * 5), mask=some_hidden(rng, size, size, size))


@DotProductAttention.case("numbers of type float16, which a Keras layer turns into float32")
def from_float16(rng):
    batch, queries, keys, d_k, d_v = sizes(rng, 5, low=3)
    mask = some_hidden(rng, batch, queries, keys).astype(np.float16)
    return called(triple(rng, batch, queries, keys, d_k, d_v), np.float16, mask=mask)


for wanted in GRADIENTS:

    @DotProductAttention.case(f"the {wanted}")
    def gradient(rng, wanted=wanted):
        return for_a_gradient(rng, wanted)


@DotProductAttention.case("called a second time, after a call in which nothing was hidden")
def second_call(rng):
    batch, queries, keys, d_k, d_v = sizes(rng, 5, low=3)
    mask = some_hidden(rng, batch, queries, keys)
    return called(triple(rng, batch, queries, keys, d_k, d_v), mask=mask, wanted=AGAIN)


# What is wrong with a layer as such.


def to_the_values_only(at, arrays, worked_out):
    return worked_out() if at == 2 else np.zeros(arrays[at].shape, np.float32)


@DotProductAttention.misconception(
    means="No gradient comes through your layer, so nothing before it could learn: somewhere in `call` the numbers "
    "leave Keras (NumPy, `convert_to_numpy`), or are held back (`stop_gradient`).",
    nudge="Which of your steps is not one of `keras.ops`?",
)
@as_layer(
    np.float32, gradients=lambda at, arrays, worked_out: np.zeros(arrays[at].shape, np.float32)
)
def no_gradient(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask)


@DotProductAttention.misconception(
    means="Gradients come through your layer to the values only: the weights are held back (`stop_gradient`), or made "
    "outside Keras, so where to look can never be learned.",
    nudge="On which way do queries and keys come into the result? Which step on it is not one of `keras.ops`?",
)
@as_layer(np.float32, gradients=to_the_values_only)
def no_gradient_through_the_weights(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask)


@DotProductAttention.misconception(
    means="Your layer keeps something from one call to the next: called again with another mask, it gives another "
    "result than a new one.",
    nudge="What do you store on `self`, and does it belong to one call?",
)
def first_mask_kept():
    kept = []

    @as_layer(np.float32)
    def with_the_first(queries, keys, values, d_k, mask):
        if mask is not None and not kept:
            kept.append(mask)
        fits = kept and mask is not None and kept[0].shape == mask.shape
        return attend(queries, keys, values, d_k**0.5, kept[0] if fits else mask)

    return with_the_first()


# What masks do wrong.


@DotProductAttention.misconception(
    means="You multiplied minus infinity by the mask; where the mask is 0 that gives 0 × ∞, "
    "which is NaN (not a number).",
    nudge="Which number is low enough to hide a key, and yet gives 0 when it is multiplied by 0?",
)
@as_layer(np.float32)
@in_the_scores
def minus_infinity_times_the_mask(scores, mask):
    return scores + -np.inf * mask


@DotProductAttention.misconception(
    means="Your mask is the other way round: the keys that should be hidden are the only ones looked at.",
    nudge="In this lab 1 means “hidden”. Which scores should become very low?",
)
@as_layer(np.float32)
def mask_inverted(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask if mask is None else 1 - mask)


@DotProductAttention.misconception(
    means="You made the scores of the hidden keys very high instead of very low, so they take everything.",
    nudge="What is the exponential of a very high number, and of a very low one? Check a sign.",
)
@as_layer(np.float32)
@in_the_scores
def plus_for_minus(scores, mask):
    return scores + np.float32(1e9) * mask


@DotProductAttention.misconception(
    means="You added the mask itself: a hidden key gets 1 more, which makes it a little stronger.",
    nudge="What has to be added to a score so that its exponential becomes 0?",
)
@as_layer(np.float32)
@in_the_scores
def mask_added_as_it_is(scores, mask):
    return scores + mask


@DotProductAttention.misconception(
    means="You took the mask itself away: a hidden key loses 1, which weakens it but does not hide it.",
    nudge="How much has to be taken from a score so that its exponential becomes 0?",
)
@as_layer(np.float32)
@in_the_scores
def mask_taken_away(scores, mask):
    return scores - mask


@DotProductAttention.misconception(
    means="The number that you add to hidden scores is not low enough: "
    "a key that matches well still shines through.",
    nudge="A score may well be 10 or 20. How low must a number be to silence it for certain?",
)
@as_layer(np.float32)
@in_the_scores
def not_low_enough(scores, mask):
    return scores - 10 * mask


@DotProductAttention.misconception(
    means="The number that you add to hidden scores is not nearly low enough: a hidden key keeps much of its weight.",
    nudge="A score may well be 10 or 20. How low must a number be to silence it for certain?",
)
@as_layer(np.float32)
@in_the_scores
def far_from_low_enough(scores, mask):
    return scores - 5 * mask


@DotProductAttention.misconception(
    means="You multiplied the scores by 0 to hide them, and exp(0) is 1: a score of 0 is an ordinary score.",
    nudge="Which score has an exponential of 0?",
)
@as_layer(np.float32)
@in_the_scores
def scores_times_0(scores, mask):
    return scores * (1 - mask)


@DotProductAttention.misconception(
    means="You multiplied the scores by the mask, so the scores of the keys that may be seen became 0.",
    nudge="A mask is not a factor: what has to happen to the score of a hidden key, and what to the others?",
)
@as_layer(np.float32)
@in_the_scores
def scores_times_the_mask(scores, mask):
    return scores * mask


@DotProductAttention.misconception(
    means="You hid the keys after the softmax: they had taken their share already, "
    "and the weights that are left no longer sum to 1.",
    nudge="The visible keys should share the whole weight. At which moment must the others drop out?",
)
@as_layer(np.float32)
def mask_after_softmax(queries, keys, values, d_k, mask):
    weights = weights_of(queries, keys, d_k, None)
    return (weights if mask is None else weights * (1 - mask)) @ values


@DotProductAttention.misconception(
    means="The mask has no say in your result: hidden keys are looked at like all the others.",
    nudge="Where does your code use `mask`?",
)
@as_layer(np.float32)
def mask_ignored(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, None)


@DotProductAttention.misconception(
    means="Every sentence got the mask of the first one.",
    nudge="Is there an index `[0]` too many? A mask may have a batch axis, and broadcasting looks after it.",
)
@as_layer(np.float32)
def first_mask_for_all(queries, keys, values, d_k, mask):
    return attend(
        queries, keys, values, d_k**0.5, mask[0] if mask is not None and mask.ndim == 3 else mask
    )


# What goes wrong with the scale.


@DotProductAttention.misconception(
    means="You did not divide the scores by √d_k, so the weights come out too sharp.",
    nudge="Compare your scores with the formula: which argument have you not used?",
)
@as_layer(np.float32)
def no_scale(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, 1, mask)


@DotProductAttention.misconception(
    means="You divided by d_k instead of by its square root, so the weights come out too flat.",
    nudge="Compare your scale with the formula: is a root missing?",
)
@as_layer(np.float32)
def divided_by_d_k(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k, mask)


@DotProductAttention.misconception(
    means="You multiplied the scores by √d_k instead of dividing, which makes the weights far too sharp.",
    nudge="Should long keys make the scores larger, or is the scale there to stop just that?",
)
@as_layer(np.float32)
def multiplied_by_the_root(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**-0.5, mask)


@DotProductAttention.misconception(
    means="You divided by the root of the number of keys; the scale is the root of the size of one key.",
    nudge="Keys have shape (batch, L_k, d_k). Which of these numbers did you take?",
)
@as_layer(np.float32)
def root_of_the_number_of_keys(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, keys.shape[1] ** 0.5, mask)


@DotProductAttention.misconception(
    means="You divided by the root of the number of queries; the scale is the root of the size of one key.",
    nudge="Queries have shape (batch, L_q, d_k). Which of these numbers did you take?",
)
@as_layer(np.float32)
def root_of_the_number_of_queries(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, queries.shape[1] ** 0.5, mask)


@DotProductAttention.misconception(
    means="You divided by the root of the size of a value; the dot product sums over the numbers of a key.",
    nudge="Whose size is d_k, that of a key or that of a value?",
)
@as_layer(np.float32)
def root_of_the_value_size(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, values.shape[-1] ** 0.5, mask)


@DotProductAttention.misconception(
    means="You divided by 8 whatever d_k is; √64 = 8 is right for the notebook's sizes alone.",
    nudge="Where does your code use `d_k`?",
)
@as_layer(np.float32)
def always_divided_by_8(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, 8, mask)


@DotProductAttention.misconception(
    means="You divided the weights by √d_k after the softmax, so they no longer sum to 1.",
    nudge="The scale belongs to the scores. Is it before or after the softmax that you have scores?",
)
@as_layer(np.float32)
def scaled_after_softmax(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, 1, mask) / np.float32(d_k**0.5)


# What goes wrong with the softmax.


@DotProductAttention.misconception(
    means="You took the softmax over the queries: each key's column sums to 1, instead of each query's row.",
    nudge="Each query shares out its own attention. Along which axis of (batch, L_q, L_k) do the keys lie?",
)
@as_layer(np.float32)
def softmax_over_the_queries(queries, keys, values, d_k, mask):
    return softmax(hide(scores_of(queries, keys, d_k**0.5), mask), axis=1) @ values


@DotProductAttention.misconception(
    means="You took the softmax over the batch: the sentences compete with each other.",
    nudge="Each query shares out its own attention. Along which axis of (batch, L_q, L_k) do the keys lie?",
)
@as_layer(np.float32)
def softmax_over_the_batch(queries, keys, values, d_k, mask):
    return softmax(hide(scores_of(queries, keys, d_k**0.5), mask), axis=0) @ values


@DotProductAttention.misconception(
    means="You took the softmax twice: the second one makes shares of shares, and flattens them.",
    nudge="How often does the formula say softmax?",
)
@as_layer(np.float32)
def softmax_twice(queries, keys, values, d_k, mask):
    return softmax(softmax(hide(scores_of(queries, keys, d_k**0.5), mask))) @ values


@DotProductAttention.misconception(
    means="Each score went through a sigmoid by itself: the weights of a query do not sum to 1.",
    nudge="What shares out one whole among all the keys?",
)
@as_layer(np.float32)
def sigmoid_for_softmax(queries, keys, values, d_k, mask):
    scores = hide(scores_of(queries, keys, d_k**0.5), mask)
    return (0.5 * (1 + np.tanh(scores / 2))) @ values


@DotProductAttention.misconception(
    means="There is no softmax: you averaged with the raw scores, which may be negative and do not sum to 1.",
    nudge="Which step turns scores into weights?",
)
@as_layer(np.float32)
def no_softmax(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return (scores if mask is None else scores + np.float32(-1e9) * mask) @ values


@DotProductAttention.misconception(
    means="All the visible keys have the same weight: this is the plain average of their values.",
    nudge="The scores should decide how much each value counts. Where do they come in?",
)
@as_layer(np.float32)
def plain_average(queries, keys, values, d_k, mask):
    return attend(queries * 0, keys, values, 1, mask)


@DotProductAttention.misconception(
    means="Each query takes over the value of its best key alone; softmax would weigh all the visible ones.",
    nudge="What does softmax do that `argmax` does not?",
)
@as_layer(np.float32)
def winner_takes_all(queries, keys, values, d_k, mask):
    best = weights_of(queries, keys, d_k, mask).argmax(axis=-1)
    return np.eye(keys.shape[1], dtype=np.float32)[best] @ values


# What goes wrong with queries, keys and values.


@DotProductAttention.misconception(
    means="These are the attention weights; the last step, averaging the values with them, is missing.",
    nudge="What are the weights multiplied by to give one row of size d_v for each query?",
)
@as_layer(np.float32)
def returns_the_weights(queries, keys, values, d_k, mask):
    return weights_of(queries, keys, d_k, mask)


@DotProductAttention.misconception(
    means="You averaged the keys instead of the values.",
    nudge="Keys are for finding, values are what is handed over. Which are multiplied by the weights?",
)
@as_layer(np.float32)
def keys_for_values(queries, keys, values, d_k, mask):
    return attend(queries, keys, keys, d_k**0.5, mask)


@DotProductAttention.misconception(
    means="You compared the queries with the values instead of with the keys; "
    "that fits only if values are as large as keys.",
    nudge="Keys are for finding, values are what is handed over. With which is a query compared?",
)
@as_layer(np.float32)
def values_for_keys(queries, keys, values, d_k, mask):
    return attend(queries, values, values, d_k**0.5, mask)


@DotProductAttention.misconception(
    means="Queries and keys have changed places: your scores have a row for each key.",
    nudge="The output has a row for each query. Which comes first in the product?",
)
@as_layer(np.float32)
def queries_and_keys_swapped(queries, keys, values, d_k, mask):
    return attend(keys, queries, values, d_k**0.5, mask)


@DotProductAttention.misconception(
    means="You compared the queries with themselves; the keys have no say.",
    nudge="Where does your code use `keys`?",
)
@as_layer(np.float32)
def queries_for_keys(queries, keys, values, d_k, mask):
    return attend(queries, queries, values, d_k**0.5, mask)


@DotProductAttention.misconception(
    means="You turned round all the axes of the keys, the batch as well, and then nothing fits.",
    nudge="Only the last two axes of the keys should change places. How do you tell `transpose` that?",
)
@as_layer(np.float32)
def all_axes_transposed(queries, keys, values, d_k, mask):
    scores = queries @ keys.T / np.float32(d_k**0.5)
    return softmax(hide(scores, mask)) @ values


@DotProductAttention.misconception(
    means="You reshaped the keys instead of transposing them; a reshape tears the keys apart.",
    nudge="Try both on [[1, 2, 3], [4, 5, 6]]: which one turns rows into columns?",
)
@as_layer(np.float32)
def keys_reshaped(queries, keys, values, d_k, mask):
    turned = keys.reshape(keys.shape[0], keys.shape[2], keys.shape[1])
    return softmax(hide(queries @ turned / np.float32(d_k**0.5), mask)) @ values


@DotProductAttention.misconception(
    means="You used the first sentence of the batch for all of them.",
    nudge="`matmul` works on every sentence of a batch by itself. Is there an index `[0]` too many?",
)
@as_layer(np.float32)
def first_sentence_for_all(queries, keys, values, d_k, mask):
    mask = mask[:1] if mask is not None and mask.ndim == 3 else mask
    return np.repeat(
        attend(queries[:1], keys[:1], values[:1], d_k**0.5, mask), len(queries), axis=0
    )


@DotProductAttention.misconception(
    means="The notebook's sizes (64 sentences, 5 words) are written into your layer: other sizes do not fit.",
    nudge="Ask the arguments for their sizes (`queries.shape`), or do without: does your code need them?",
)
@as_layer(np.float32)
def notebook_sizes_only(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask).reshape(64, 5, -1)


@DotProductAttention.common_mistake
@as_layer(np.float32)
def returns_a_tuple(queries, keys, values, d_k, mask):
    weights = weights_of(queries, keys, d_k, mask)
    return weights @ values, weights


# Other right answers, which must pass.


@DotProductAttention.variant
@keras_layer
def as_published_for_keras_3(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    scores = ops.matmul(queries, ops.transpose(keys, axes=(0, 2, 1))) / ops.sqrt(
        ops.cast(d_k, "float32")
    )
    if mask is not None:
        scores += -1e9 * mask
    weights = ops.softmax(scores)
    return ops.matmul(weights, values)


if backend() == "tensorflow":

    @DotProductAttention.variant
    @keras_layer
    def as_published_for_tensorflow(self, queries, keys, values, d_k, mask=None):
        import tensorflow as tf

        scores = tf.matmul(queries, keys, transpose_b=True) / tf.math.sqrt(tf.cast(d_k, tf.float32))
        if mask is not None:
            scores += -1e9 * mask
        weights = tf.nn.softmax(scores)
        return tf.matmul(weights, values)


@DotProductAttention.variant
@keras_layer
def einsum(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    scores = ops.einsum("bqd,bkd->bqk", queries, keys) * d_k**-0.5
    scores = scores if mask is None else ops.where(ops.equal(mask, 1), -np.inf, scores)
    return ops.einsum("bqk,bkv->bqv", ops.nn.softmax(scores, axis=-1), values)


@DotProductAttention.variant
@keras_layer
def scaled_queries(self, queries, keys, values, d_k=None, mask=None):
    from keras import ops

    queries = queries / ops.sqrt(ops.cast(ops.shape(keys)[-1], queries.dtype))
    scores = queries @ ops.swapaxes(keys, -1, -2)
    if mask is not None:
        scores = scores - 1e9 * ops.cast(mask, "float32")
    powers = ops.exp(scores - ops.max(scores, axis=-1, keepdims=True))
    return (powers / ops.sum(powers, axis=-1, keepdims=True)) @ values


@DotProductAttention.variant
def keras_softmax_layer():
    import keras
    from keras import ops

    class KerasSoftmaxLayer(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.softmax = keras.layers.Softmax()

        def call(self, queries, keys, values, d_k, mask=None):
            scores = ops.matmul(queries, ops.swapaxes(keys, 1, 2)) / d_k**0.5
            visible = (
                None if mask is None else ops.broadcast_to(ops.equal(mask, 0), ops.shape(scores))
            )
            return ops.matmul(self.softmax(scores, mask=visible), values)

    return KerasSoftmaxLayer()


@DotProductAttention.variant
@keras_layer
def keras_function(self, queries, keys, values, d_k, mask=None):
    import keras
    from keras import ops

    if mask is not None:
        length = ops.shape(queries)[1]
        mask = ops.equal(mask, 0) if len(mask.shape) == 3 else ops.equal(mask, 0)[None]
        mask = ops.broadcast_to(mask, (ops.shape(queries)[0], length, ops.shape(keys)[1]))[:, None]
    queries, keys, values = (x[:, :, None] for x in (queries, keys, values))
    if keras.config.backend() == "jax":  # there, keys and values must have one size
        scores = ops.einsum("bqhd,bkhd->bhqk", queries, keys) / d_k**0.5
        scores = scores if mask is None else ops.where(mask, scores, -1e30)
        return ops.einsum("bhqk,bkhv->bqhv", ops.softmax(scores), values)[:, :, 0]
    return ops.nn.dot_product_attention(queries, keys, values, mask=mask)[:, :, 0]


@DotProductAttention.variant
@keras_layer
def hidden_left_out(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    powers = ops.exp(ops.matmul(queries, ops.transpose(keys, (0, 2, 1))) / np.sqrt(d_k))
    if mask is not None:
        powers = powers * (1 - mask)
    return ops.matmul(powers, values) / ops.sum(powers, axis=-1, keepdims=True)


@DotProductAttention.variant
@keras_layer
def sentence_by_sentence(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    outputs = []
    for i in range(queries.shape[0]):
        scores = ops.matmul(queries[i], ops.transpose(keys[i])) / float(d_k) ** 0.5
        if mask is not None:
            hidden = mask if len(mask.shape) == 2 else mask[i]
            scores = scores + hidden * -1e9
        outputs.append(ops.matmul(ops.softmax(scores, axis=1), values[i]))
    return ops.stack(outputs)


@DotProductAttention.variant
@keras_layer
def log_sum_exp(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    scores = ops.matmul(queries, ops.swapaxes(keys, -2, -1)) / d_k**0.5
    scores = scores if mask is None else scores + mask * -1e9
    return ops.matmul(ops.exp(scores - ops.logsumexp(scores, axis=-1, keepdims=True)), values)
