"""The exercise `dot_product_self_attention`: each position attends to itself and to those before it."""

import numpy as np

from attention_labs.comparers import within_the_values
from autograder.authoring import Exercise, inputs, sizes

from ._shared import LARGEST, K, Q, V, triple, with_scores_up_to
from .causal_mask import causal_mask
from .dot_product_attention import (
    additive_form,
    dot_product_attention,
    einsum,
    published_log_sum_exp,
    softmax_without_a_maximum,
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
    return inputs(
        *(with_scores_up_to(magnitude, *arrays, scale) if magnitude > 1 else arrays), scale=scale
    )


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


@dot_product_self_attention.slips("""
    no_causal_mask: Nothing is hidden: every position sees the whole sentence, the future too.
        Hint: Which mask from this lab hides what comes later? Do you pass that mask to
        `dot_product_attention`?
    looks_forward: Each position sees itself and what comes after it: your causal mask points into the
        future.
        Hint: Row i of the mask belongs to query i. Should its True entries lie left or right of the
        diagonal?
    inverted_mask: The mask is inverted: you hide what may be seen, and the last position has nothing to
        attend to. (A mask in the additive form does the same here: its 0 counts as False).
        Hint: Print the mask for L = 3. True means “may attend”: does row 0 see position 0?
    not_itself: A position does not see itself, so the first one has nothing to attend to and becomes 0.
        Hint: Print the mask for L = 3: what is on its diagonal?
    not_itself_then_everything: A position does not see itself, so the first one has nothing to attend to
        and averages the whole sentence.
        Hint: Print the mask for L = 3: what is on its diagonal?
    not_itself_and_the_first_sees_all: A position does not see itself, and the first one, for which that
        leaves nothing, sees the whole sentence.
        Hint: Print the mask for L = 3: what is on its diagonal? What may row 0 see?
    one_position_ahead: Each position also sees the one that comes right after it.
        Hint: Print the mask for L = 3: how many entries of row 0 are True?
    only_itself: Each position sees only itself, so its own value comes back unchanged.
        Hint: Print the mask for L = 3: may the last position look at the first?
    scale_not_passed_on: `scale` is not passed on: the scores are divided by √d even when it is False.
        Hint: Your function receives `scale`. Who else needs to know it?
    never_scales: You never divide the scores by √d. `scale` is True by default, so you should divide.
        Hint: What does your function do with `scale`?
    scales_by_length: You scaled by the square root of the length of the sentence instead of the size of
        a key.
        Hint: The dot product sums over the numbers of one key. On which axis are those?
    divides_by_d: You divided by d instead of by its square root, so the weights come out too flat.
        Hint: Compare your scale with the formula: is a root missing?
    mask_of_the_batch_size: Your causal mask has a row for each sentence of the batch; it needs one for
        each position.
        Hint: In (batch, L, d), which axis counts the positions? `len(q)` counts something else.
    mask_after_softmax: You hid the future after the softmax, so what is left of the weights no longer
        sums to 1.
        Hint: The weights of the visible positions should add up to 1. At which step must you remove the
        others?
    mask_by_multiplication: The scores of the future became 0, and exp(0) is 1: a score of 0 is an
        ordinary score.
        Hint: Which number must replace a hidden score so that its exponential is 0?
    mask_added_as_0_1: You added the boolean mask to the scores: True counts as 1, so the past is
        favoured, not alone.
        Hint: Only a mask in the additive form may be added. Which operation suits a boolean one?
    softmax_over_queries: You took the softmax over the queries: each key's column sums to 1, instead of
        each query's row.
        Hint: The weights of each position add up to 1. Which axis of the scores are the keys?
    running_average: The weights ignore the scores: this is the plain average of everything so far.
        Hint: Queries and keys should decide how much each position counts. Where do they come in?
    q_for_everything: You used q for keys and values too: three arrays of the same sentence, but not the
        same numbers.
        Hint: The function receives q, k and v. Where do you use k and v?
    averages_the_keys: You averaged the keys instead of the values.
        Hint: Check the order of the arguments: query, key, value.
    queries_and_keys_swapped: You exchanged queries and keys.
        Hint: Check the order of the arguments: query, key, value.
    first_sentence_for_all: You used the first sentence of the batch for all of them.
        Hint: `@` already works on every sentence of a batch. Is there an index `[0]` too many?
    first_sentence_only: Only the first sentence of the batch comes back.
        Hint: The result has shape (batch, L, d). Is there an index `[0]` too many?
    returns_the_weights: These are the attention weights; the last step, averaging the values with them,
        is missing.
        Hint: What are the weights multiplied by to give one row of size d for each position?
    hard_coded_self_attention: You return the notebook's own result, whatever comes in.
        Hint: Where does your code use `q`, `k` and `v`?
    extra_axis
    lower_precision
    modifies_argument
    returns_a_list
    q_for_the_keys: You compared the queries with themselves: q is used where k belongs.
        Hint: Check the arguments of your call: query, key, value.
    first_for_itself: Each position sees the earlier ones but not itself; only the first is let see
        itself.
        Hint: May a word look at itself? Then what belongs on the whole diagonal?
""")
def dot_product_self_attention_with_slips(slip, q, k, v, scale=True):
    if slip.hard_coded_self_attention:
        return np.array([[[0.0, 1.0, 0.0], [0.8496745482, 0.1503254518, 0.8496745482]]])
    length, d = k.shape[-2:]
    divisor = slip.choose(d**0.5, scales_by_length=length**0.5, divides_by_d=d)
    if slip.modifies_argument and scale:
        q /= divisor
    scale = slip.choose(
        scale, scale_not_passed_on=True, never_scales=False, modifies_argument=False
    )
    left = slip.choose(q, running_average=np.zeros_like(q), queries_and_keys_swapped=k)
    right = slip.choose(k, queries_and_keys_swapped=q, q_for_the_keys=q, q_for_everything=q)
    scores = left @ np.swapaxes(right, -1, -2)
    if scale:
        scores = scores / divisor
    offset = slip.choose(
        0,
        one_position_ahead=1,
        not_itself=-1,
        not_itself_then_everything=-1,
        not_itself_and_the_first_sees_all=-1,
        first_for_itself=-1,
    )
    mask = np.tri(length, k=offset, dtype=bool)
    if slip.not_itself_and_the_first_sees_all:
        mask[0] = True
    if slip.first_for_itself:
        mask[0, 0] = True
    mask = slip.choose(
        mask,
        no_causal_mask=np.ones_like(mask),
        looks_forward=mask.T,
        inverted_mask=~mask,
        only_itself=np.eye(length, dtype=bool),
        mask_of_the_batch_size=np.tri(len(q), dtype=bool),
    )
    hidden = slip.choose(
        np.where(mask, scores, slip.choose(-np.inf, not_itself_then_everything=-1e9)),
        mask_after_softmax=scores,
        mask_by_multiplication=scores * mask,
        mask_added_as_0_1=scores + mask,
    )
    weights = masked_softmax.reference(hidden)
    if slip.softmax_over_queries:
        weights = np.swapaxes(masked_softmax.reference(np.swapaxes(hidden, -1, -2)), -1, -2)
    if slip.mask_after_softmax:
        weights = weights * mask
    if slip.returns_the_weights:
        return weights
    output = weights @ slip.choose(v, averages_the_keys=k, q_for_everything=q)
    if slip.returns_a_list:
        return output.tolist()
    return slip.choose(
        output,
        first_sentence_for_all=np.repeat(output[:1], len(output), axis=0),
        first_sentence_only=output[0],
        extra_axis=output[np.newaxis],
        lower_precision=output.astype(np.float32),
    )


@dot_product_self_attention.misconception(
    means="Your causal mask has a row for each feature; it needs one for each position of the sentence.",
    nudge="In (batch, L, d), which axis counts the positions?",
    raises=ValueError,
)
def mask_of_the_feature_size(q, k, v, scale=True):
    return dot_product_attention.reference(q, k, v, np.tri(q.shape[-1], dtype=bool), scale)


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
    return np.stack(
        [softmax_without_a_maximum(*one, mask, scale) for one in zip(q, k, v, strict=True)]
    )


@dot_product_self_attention.variant
def only_the_past_is_looked_at(q, k, v, scale=True):
    steps = [
        einsum(q[:, i : i + 1], k[:, : i + 1], v[:, : i + 1], scale=scale)
        for i in range(q.shape[1])
    ]
    return np.concatenate(steps, axis=1)


@dot_product_self_attention.variant
def triangle_of_exponentials(q, k, v, scale=True):
    e = np.tril(np.exp(q @ k.transpose(0, 2, 1) / (np.sqrt(q.shape[-1]) if scale else 1)))
    return e / e.sum(axis=2, keepdims=True) @ v
