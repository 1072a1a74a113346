"""The exercise `dot_product_self_attention`: each position attends to itself and to those before it."""

import numpy as np

from attention_labs.comparers import within_the_values
from autograder.authoring import Exercise, inputs, sizes

from ._shared import LARGEST, K, Q, V, scores_of, triple, with_scores_up_to
from .causal_mask import causal_mask
from .dot_product_attention import (
    additive_form,
    dot_product_attention,
    einsum,
    published_log_sum_exp,
    scaled_by,
    softmax_without_a_maximum,
    weights_of,
)
from .masked_softmax import masked_softmax

dot_product_self_attention = Exercise(
    "dot_product_self_attention",
    points=2,
    builds_on=[causal_mask, dot_product_attention],
    properties=[within_the_values],
)


def sentence(rng, dtype=np.float64):
    return triple(rng, batch=["batch"], queries="as many as keys", dtype=dtype)


@dot_product_self_attention.domain(
    sizes={"batch": (1, 60), "L": (1, 60), "d": (1, 60), "d_v": (1, 60)},
    flags={"scale": (True, False)},
    magnitudes=(1.0, LARGEST),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, d, d_v, scale, magnitude):
    arrays = [rng.normal(size=(batch, L, size)) for size in (d, d, d_v)]
    return inputs(*(with_scores_up_to(magnitude, *arrays, scale) if magnitude > 1 else arrays), scale=scale)


@dot_product_self_attention.case("the notebook's example as a batch of one")
def example_as_batch(rng):
    return inputs(Q[None], K[None], V[None])


@dot_product_self_attention.case("a batch of sentences")
def sentences(rng):
    return inputs(*sentence(rng))


@dot_product_self_attention.case("values as large as the keys")
def same_size(rng):
    shape = sizes(rng, 3, low=4)
    return inputs(*rng.normal(size=(3, *shape)))


@dot_product_self_attention.case("without the scale")
def sentences_unscaled(rng):
    return inputs(*sentence(rng), scale=False)


@dot_product_self_attention.case("a single position")
def single_position(rng):
    batch, d = sizes(rng, 2, low=3)
    return inputs(*rng.normal(size=(3, batch, 1, d)))


@dot_product_self_attention.case("float32")
def sentences_32(rng):
    return inputs(*sentence(rng, np.float32))


# Mistakes.


def self_attention(q, k, v, scale, mask):
    return dot_product_attention.reference(q, k, v, mask, scale)


def square(q):
    """The right causal mask for these queries."""
    return np.tri(q.shape[-2], dtype=bool)


@dot_product_self_attention.misconception(
    means="Nothing is hidden: every position sees the whole sentence, the future too.",
    nudge="Which mask from this lab hides what comes later? Is it handed to your attention?",
)
def no_causal_mask(q, k, v, scale=True):
    return self_attention(q, k, v, scale, None)


@dot_product_self_attention.misconception(
    means="Each position sees itself and what comes after it: your causal mask points into the future.",
    nudge="Row i of the mask belongs to query i. Should its True entries lie left or right of the diagonal?",
)
def looks_forward(q, k, v, scale=True):
    return self_attention(q, k, v, scale, square(q).T)


@dot_product_self_attention.misconception(
    means="The mask is inverted: you hide what may be seen, and the last position has nothing to attend to. "
    "(A mask in the additive form does the same here: its 0 counts as False).",
    nudge="Print the mask for L = 3. True means “may attend”: does row 0 see position 0?",
)
def inverted_mask(q, k, v, scale=True):
    return self_attention(q, k, v, scale, ~square(q))


@dot_product_self_attention.misconception(
    means="A position does not see itself, so the first one has nothing to attend to and becomes 0.",
    nudge="Print the mask for L = 3: what is on its diagonal?",
)
def not_itself(q, k, v, scale=True):
    return self_attention(q, k, v, scale, np.tri(q.shape[-2], k=-1, dtype=bool))


@dot_product_self_attention.misconception(
    means="A position does not see itself, so the first one has nothing to attend to "
    "and averages the whole sentence.",
    nudge="Print the mask for L = 3: what is on its diagonal?",
)
def not_itself_then_everything(q, k, v, scale=True):
    scores = np.where(np.tri(q.shape[-2], k=-1, dtype=bool), scores_of(q, k, scale), -1e9)
    return masked_softmax.reference(scores) @ v


@dot_product_self_attention.misconception(
    means="A position does not see itself, and the first one, for which that leaves nothing, sees the whole sentence.",
    nudge="Print the mask for L = 3: what is on its diagonal? What may row 0 see?",
)
def not_itself_and_the_first_sees_all(q, k, v, scale=True):
    mask = np.tri(q.shape[-2], k=-1, dtype=bool)
    mask[0] = True
    return self_attention(q, k, v, scale, mask)


@dot_product_self_attention.misconception(
    means="Each position also sees the one that comes right after it.",
    nudge="Print the mask for L = 3: how many entries of row 0 are True?",
)
def one_position_ahead(q, k, v, scale=True):
    return self_attention(q, k, v, scale, np.tri(q.shape[-2], k=1, dtype=bool))


@dot_product_self_attention.misconception(
    means="Each position sees only itself, so its own value comes back unchanged.",
    nudge="Print the mask for L = 3: may the last position look at the first?",
)
def only_itself(q, k, v, scale=True):
    return self_attention(q, k, v, scale, np.eye(q.shape[-2], dtype=bool))


@dot_product_self_attention.misconception(
    means="`scale` is not passed on: the scores are divided by √d even when it is False.",
    nudge="Your function receives `scale`. Who else needs to know it?",
)
def scale_not_passed_on(q, k, v, scale=True):
    return self_attention(q, k, v, True, square(q))


@dot_product_self_attention.misconception(
    means="The scores are never divided by √d, although `scale` is True unless somebody says otherwise.",
    nudge="What does your function do with `scale`?",
)
def never_scales(q, k, v, scale=True):
    return self_attention(q, k, v, False, square(q))


@dot_product_self_attention.misconception(
    means="You scaled by the square root of the length of the sentence instead of the size of a key.",
    nudge="The dot product sums over the numbers of one key. On which axis are those?",
)
def scales_by_length(q, k, v, scale=True):
    return scaled_by(k.shape[-2] ** 0.5, q, k, v, square(q), scale)


@dot_product_self_attention.misconception(
    means="You divided by d instead of by its square root, so the weights come out too flat.",
    nudge="Compare your scale with the formula: is a root missing?",
)
def divides_by_d(q, k, v, scale=True):
    return scaled_by(k.shape[-1], q, k, v, square(q), scale)


@dot_product_self_attention.misconception(
    means="Your causal mask has a row for each feature; it needs one for each position of the sentence.",
    nudge="In (batch, L, d), which axis counts the positions?",
    raises=ValueError,
)
def mask_of_the_feature_size(q, k, v, scale=True):
    return self_attention(q, k, v, scale, np.tri(q.shape[-1], dtype=bool))


@dot_product_self_attention.misconception(
    means="Your causal mask has a row for each sentence of the batch; it needs one for each position.",
    nudge="In (batch, L, d), which axis counts the positions? `len(q)` counts something else.",
)
def mask_of_the_batch_size(q, k, v, scale=True):
    return self_attention(q, k, v, scale, np.tri(q.shape[0], dtype=bool))


@dot_product_self_attention.misconception(
    means="You hid the future after the softmax, so what is left of the weights no longer sums to 1.",
    nudge="The weights of the visible positions should add up to 1. At which step must you remove the others?",
)
def mask_after_softmax(q, k, v, scale=True):
    return (weights_of(q, k, None, scale) * square(q)) @ v


@dot_product_self_attention.misconception(
    means="The scores of the future became 0, and exp(0) is 1: a score of 0 is an ordinary score.",
    nudge="Which score has an exponential of 0?",
)
def mask_by_multiplication(q, k, v, scale=True):
    return masked_softmax.reference(scores_of(q, k, scale) * square(q)) @ v


@dot_product_self_attention.misconception(
    means="You added the boolean mask to the scores: True counts as 1, so the past is favoured, not alone.",
    nudge="Only a mask in the additive form may be added. Which operation suits a boolean one?",
)
def mask_added_as_0_1(q, k, v, scale=True):
    return masked_softmax.reference(scores_of(q, k, scale) + square(q)) @ v


@dot_product_self_attention.misconception(
    means="You took the softmax over the queries: each key's column sums to 1, instead of each query's row.",
    nudge="The weights of each position add up to 1. Which axis of the scores are the keys?",
)
def softmax_over_queries(q, k, v, scale=True):
    scores = np.where(square(q), scores_of(q, k, scale), -1e9)
    return np.swapaxes(masked_softmax.reference(np.swapaxes(scores, -1, -2)), -1, -2) @ v


@dot_product_self_attention.misconception(
    means="The weights ignore the scores: this is the plain average of everything so far.",
    nudge="Queries and keys should decide how much each position counts. Where do they come in?",
)
def running_average(q, k, v, scale=True):
    return self_attention(np.zeros_like(q), k, v, scale, square(q))


@dot_product_self_attention.misconception(
    means="You used q for keys and values too: three arrays of the same sentence, but not the same numbers.",
    nudge="The function receives q, k and v. Where do you use k and v?",
)
def q_for_everything(q, k, v, scale=True):
    return self_attention(q, q, q, scale, square(q))


@dot_product_self_attention.misconception(
    means="You averaged the keys instead of the values.",
    nudge="Check the order of the arguments: query, key, value.",
)
def averages_the_keys(q, k, v, scale=True):
    return self_attention(q, k, k, scale, square(q))


@dot_product_self_attention.misconception(
    means="You exchanged queries and keys.",
    nudge="Check the order of the arguments: query, key, value.",
)
def queries_and_keys_swapped(q, k, v, scale=True):
    return self_attention(k, q, v, scale, square(q))


@dot_product_self_attention.misconception(
    means="You used the first sentence of the batch for all of them.",
    nudge="`@` already works on every sentence of a batch. Is there an index `[0]` too many?",
)
def first_sentence_for_all(q, k, v, scale=True):
    return np.repeat(self_attention(q[0], k[0], v[0], scale, square(q))[None], len(q), axis=0)


@dot_product_self_attention.misconception(
    means="Only the first sentence of the batch comes back.",
    nudge="The result has shape (batch, L, d). Is there an index `[0]` too many?",
)
def first_sentence_only(q, k, v, scale=True):
    return self_attention(q, k, v, scale, square(q))[0]


@dot_product_self_attention.misconception(
    means="These are the attention weights; the last step, averaging the values with them, is missing.",
    nudge="What are the weights multiplied by to give one row of size d for each position?",
)
def returns_the_weights(q, k, v, scale=True):
    return weights_of(q, k, square(q), scale)


@dot_product_self_attention.misconception(
    means="You return the notebook's own result, whatever comes in.",
    nudge="Where does your code use `q`, `k` and `v`?",
)
def hard_coded_self_attention(q, k, v, scale=True):
    return np.array([[[0.0, 1.0, 0.0], [0.8496745482, 0.1503254518, 0.8496745482]]])


@dot_product_self_attention.common_mistake
def extra_axis(q, k, v, scale=True):
    return self_attention(q, k, v, scale, square(q))[np.newaxis]


@dot_product_self_attention.common_mistake
def lower_precision(q, k, v, scale=True):
    return self_attention(q, k, v, scale, square(q)).astype(np.float32)


@dot_product_self_attention.common_mistake
def modifies_argument(q, k, v, scale=True):
    if scale:
        q /= k.shape[-1] ** 0.5
    return self_attention(q, k, v, False, square(q))


@dot_product_self_attention.common_mistake
def returns_a_list(q, k, v, scale=True):
    return self_attention(q, k, v, scale, square(q)).tolist()


@dot_product_self_attention.misconception(
    means="You compared the queries with themselves: q is used where k belongs.",
    nudge="Check the arguments of your call: query, key, value.",
)
def q_for_the_keys(q, k, v, scale=True):
    return self_attention(q, q, v, scale, square(q))


@dot_product_self_attention.combined_misconception(no_causal_mask, scale_not_passed_on)
def nothing_passed_on(q, k, v, scale=True):
    return self_attention(q, k, v, True, None)


@dot_product_self_attention.combined_misconception(looks_forward, scale_not_passed_on)
def forward_and_always_scaled(q, k, v, scale=True):
    return self_attention(q, k, v, True, square(q).T)


@dot_product_self_attention.combined_misconception(no_causal_mask, never_scales)
def neither_mask_nor_scale(q, k, v, scale=True):
    return self_attention(q, k, v, False, None)


@dot_product_self_attention.combined_misconception(queries_and_keys_swapped, inverted_mask)
def swapped_and_inverted(q, k, v, scale=True):
    return self_attention(k, q, v, scale, ~square(q))


@dot_product_self_attention.combined_misconception(queries_and_keys_swapped, no_causal_mask)
def swapped_without_a_mask(q, k, v, scale=True):
    return self_attention(k, q, v, scale, None)


@dot_product_self_attention.combined_misconception(inverted_mask, scale_not_passed_on)
def inverted_and_always_scaled(q, k, v, scale=True):
    return self_attention(q, k, v, True, ~square(q))


@dot_product_self_attention.combined_misconception(inverted_mask, never_scales)
def inverted_and_never_scaled(q, k, v, scale=True):
    return self_attention(q, k, v, False, ~square(q))


@dot_product_self_attention.combined_misconception(not_itself, scale_not_passed_on)
def not_itself_and_always_scaled(q, k, v, scale=True):
    return self_attention(q, k, v, True, np.tri(q.shape[-2], k=-1, dtype=bool))


@dot_product_self_attention.combined_misconception(one_position_ahead, scale_not_passed_on)
def one_ahead_and_always_scaled(q, k, v, scale=True):
    return self_attention(q, k, v, True, np.tri(q.shape[-2], k=1, dtype=bool))


@dot_product_self_attention.combined_misconception(no_causal_mask, averages_the_keys)
def keys_averaged_without_a_mask(q, k, v, scale=True):
    return self_attention(q, k, k, scale, None)


@dot_product_self_attention.combined_misconception(no_causal_mask, q_for_everything)
def q_for_everything_without_a_mask(q, k, v, scale=True):
    return self_attention(q, q, q, scale, None)


@dot_product_self_attention.misconception(
    means="Each position sees the earlier ones but not itself; only the first is let see itself.",
    nudge="May a word look at itself? Then what belongs on the whole diagonal?",
)
def first_for_itself(q, k, v, scale=True):
    places = np.arange(q.shape[1])
    return self_attention(q, k, v, scale, (places[:, None] > places) | (places == 0))


# Other right answers, which must pass.


# The usual published answer to the original lab, around the published attention.
@dot_product_self_attention.variant
def published_self_attention(q, k, v, scale=True):
    size = q.shape[-2]
    mask = np.tril(np.ones((1, size, size), dtype=np.bool_), k=0)
    return published_log_sum_exp(q, k, v, mask, scale=scale)


@dot_product_self_attention.variant
def matrix_mask(q, k, v, scale=True):
    return additive_form(q, k, v, np.tri(q.shape[1], dtype=bool), scale)


@dot_product_self_attention.variant
def sentence_by_sentence(q, k, v, scale=True):
    mask = ~np.triu(np.ones((q.shape[1],) * 2, dtype=bool), 1)
    return np.stack([softmax_without_a_maximum(*one, mask, scale) for one in zip(q, k, v, strict=True)])


@dot_product_self_attention.variant
def only_the_past_is_looked_at(q, k, v, scale=True):
    steps = [einsum(q[:, i : i + 1], k[:, : i + 1], v[:, : i + 1], scale=scale) for i in range(q.shape[1])]
    return np.concatenate(steps, axis=1)


@dot_product_self_attention.variant
def triangle_of_exponentials(q, k, v, scale=True):
    e = np.tril(np.exp(q @ k.transpose(0, 2, 1) / (np.sqrt(q.shape[-1]) if scale else 1)))
    return e / e.sum(axis=2, keepdims=True) @ v
