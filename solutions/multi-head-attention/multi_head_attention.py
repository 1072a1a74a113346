"""The exercise `multi_head_attention`: project, split, attend, merge, project."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import (
    MASKS,
    any_mask,
    attend,
    hide,
    layer,
    layer_inputs,
    merge,
    merge_by_reshape,
    padding,
    scaled,
    softmax,
    some_allowed,
    split,
    split_by_reshape,
)
from .merge_heads import merge_heads
from .split_heads import split_heads

multi_head_attention = Exercise("multi_head_attention", points=4, builds_on=[split_heads, merge_heads])


@multi_head_attention.domain(
    sizes={"batch": (1, 6), "L_q": (1, 55), "L_k": (1, 60), "heads": (1, 9), "d_head": (1, 6)},
    flags={"mask": MASKS},
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L_q, L_k, heads, d_head, mask):
    mask = any_mask(rng, mask, batch, L_q, L_k)
    return layer_inputs(rng, batch, L_q, L_k, heads, d_head, mask=mask)


@multi_head_attention.case("the notebook's two sentences, two heads")
def two_sentences(rng):
    lab = multi_head_attention.solution
    return inputs(*[lab.sentences] * 3, lab.w_q, lab.w_k, lab.w_v, lab.w_o, 2)


@multi_head_attention.case("queries, keys and values of their own, no mask")
def all_different(rng):
    return layer_inputs(rng, *sizes(rng, 5, high=6))


@multi_head_attention.case("as many words as heads, no mask")
def square(rng):
    batch, heads, d_head = sizes(rng, 3, high=5)
    return layer_inputs(rng, batch, heads, heads, heads, d_head)


@multi_head_attention.case("a causal mask (L, L)")
def causal(rng):
    batch, n, heads, d_head = sizes(rng, 4, high=6)
    return layer_inputs(rng, batch, n, n, heads, d_head, mask=np.tri(n, dtype=bool))


@multi_head_attention.case("a mask (L_q, L_k), as many queries as heads")
def one_mask_for_all(rng):
    batch, L_k, heads, d_head = sizes(rng, 4, high=6)
    mask = some_allowed(rng, heads, L_k)
    return layer_inputs(rng, batch, heads, L_k, heads, d_head, mask=mask)


@multi_head_attention.case("a padding mask (batch, 1, L_k), as many sentences as heads")
def padded(rng):
    L_q, L_k, heads, d_head = sizes(rng, 4, high=6)
    mask = padding(rng, heads, L_k)
    return layer_inputs(rng, heads, L_q, L_k, heads, d_head, mask=mask)


@multi_head_attention.case("a mask (batch, L_q, L_k)")
def one_mask_a_sentence(rng):
    batch, L_q, L_k, heads, d_head = sizes(rng, 5, high=6)
    mask = some_allowed(rng, batch, L_q, L_k)
    return layer_inputs(rng, batch, L_q, L_k, heads, d_head, mask=mask)


# The heads.


@multi_head_attention.misconception(
    means="Heads are made and joined by reshaping alone: the shapes fit, but each head is given "
    "pieces of only some words.",
    nudge="Try your steps on three words of four numbers. Whose numbers are in head 0?",
)
def reshaped_there_and_back(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    given = queries, keys, values, w_q, w_k, w_v, w_o, heads, mask
    return layer(*given, split=split_by_reshape, merge=merge_by_reshape)


@multi_head_attention.misconception(
    means="The heads are made by reshaping alone: each is given pieces of only some words.",
    nudge="Does your layer call `split_heads`, and does that pass its own check?",
)
def split_by_reshape_alone(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, split=split_by_reshape)


@multi_head_attention.misconception(
    means="The heads are joined by reshaping alone, so that one word's row holds one head of several words.",
    nudge="Does your layer call `merge_heads`, and does that pass its own check?",
)
def merged_by_reshape_alone(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, merge=merge_by_reshape)


@multi_head_attention.misconception(
    means="This is one big head: `heads` makes no difference.",
    nudge="Which function cuts the projected queries, keys and values, and what does it need to know?",
)
def one_big_head(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, 1, mask)


@multi_head_attention.misconception(
    means="You split the inputs before they were projected: each head knows only its own part of every word.",
    nudge="Each head should see the whole word through its own columns of the matrix. Which comes "
    "first, `@` or the split?",
)
def cut_before_projecting(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    size = w_q.shape[0] // heads
    parts = []
    for i in range(heads):
        own = slice(i * size, (i + 1) * size)
        q, k, v = (
            queries[..., own] @ w_q[own, own],
            keys[..., own] @ w_k[own, own],
            values[..., own] @ w_v[own, own],
        )
        parts.append(attend(q[:, None], k[:, None], v[:, None], mask)[:, 0])
    return np.concatenate(parts, axis=-1) @ w_o


@multi_head_attention.misconception(
    means="The words are split into heads before they are multiplied by a weight matrix, which has a row for each of "
    "their d numbers.",
    nudge="Each head should see the whole word through its own columns of the matrix. Which comes "
    "first, `@` or the split?",
    raises=ValueError,
)
def cut_and_then_times_the_table(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    q, k, v = split(queries, heads) @ w_q, split(keys, heads) @ w_k, split(values, heads) @ w_v
    return merge(attend(q, k, v, mask)) @ w_o


@multi_head_attention.misconception(
    means="The heads were never put before the words, so heads attend to heads within one word, and "
    "words to no query.",
    nudge="Attention works on the last two axes. Which two must they be: words and numbers, or heads "
    "and numbers?",
)
def heads_attend_to_heads(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def cut(x):
        return x.reshape(x.shape[0], x.shape[1], heads, -1)

    context = attend(cut(queries @ w_q), cut(keys @ w_k), cut(values @ w_v), mask)
    return context.reshape(queries.shape) @ w_o


# The projections.


@multi_head_attention.misconception(
    means="The last projection is missing: the merged heads were never multiplied by w_o.",
    nudge="Which of the four matrices does your code not use?",
)
def no_output_projection(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_v, np.eye(len(w_o), dtype=w_o.dtype), heads, mask)


@multi_head_attention.misconception(
    means="w_q is used for the keys and the values too.",
    nudge="Three similar lines are easily copied. Which weight matrix belongs to which of the three inputs?",
)
def one_projection_for_all(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_q, w_q, w_o, heads, mask)


@multi_head_attention.misconception(
    means="The values are projected by w_k, the matrix for the keys.",
    nudge="Three similar lines are easily copied. Which weight matrix belongs to which of the three inputs?",
)
def values_projected_as_keys(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_k, w_o, heads, mask)


@multi_head_attention.misconception(
    means="The values are not projected: w_v is not used.",
    nudge="Which of the four matrices does your code not use?",
)
def values_not_projected(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, np.eye(len(w_v), dtype=w_v.dtype), w_o, heads, mask)


@multi_head_attention.misconception(
    means="Keys and values are made from the queries: this is right for self-attention only.",
    nudge="The function receives three inputs. Where do you use `keys` and `values`?",
)
def queries_for_everything(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, queries, queries, w_q, w_k, w_v, w_o, heads, mask)


@multi_head_attention.misconception(
    means="The values are made from the keys: w_v is right, but what it multiplies is not.",
    nudge="The function receives three inputs. Where do you use `values`?",
)
def keys_for_values(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, keys, w_q, w_k, w_v, w_o, heads, mask)


@multi_head_attention.misconception(
    means="You multiplied by the transposed matrices; some libraries store them that way round, but "
    "here it is x @ w.",
    nudge="In these formulas the rows of a matrix belong to what comes in, and its columns to what goes "
    "out. Is a `.T` too many?",
)
def tables_transposed(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q.T, w_k.T, w_v.T, w_o.T, heads, mask)


@multi_head_attention.misconception(
    means="The queries were added to the result; that residual connection belongs to the block "
    "around this layer.",
    nudge="What does the formula return, once the merged heads are multiplied by w_o?",
)
def queries_added(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return queries + layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask)


# The scores and the softmax.


@multi_head_attention.misconception(
    means="The scores are divided by √d, the size of a whole word; a head's keys are smaller.",
    nudge="How many numbers does one key of one head hold?",
)
def scale_of_the_whole_word(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def score(q, k):
        return scaled(q, k) / heads**0.5

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, score=score)


@multi_head_attention.misconception(
    means="The scores are not divided by anything.",
    nudge="Which root makes the scores of small and of large heads comparable?",
)
def no_scale(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def score(q, k):
        return q @ np.swapaxes(k, -1, -2)

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, score=score)


@multi_head_attention.misconception(
    means="The scores are divided twice by √d_head.",
    nudge="Does the attention function that you call divide already?",
)
def scaled_twice(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def score(q, k):
        return scaled(q, k) / q.shape[-1] ** 0.5

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, score=score)


@multi_head_attention.misconception(
    means="The scores are divided by the root of the number of heads, not of the size of one.",
    nudge="How many numbers does one key of one head hold?",
)
def scale_of_the_number_of_heads(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def score(q, k):
        return q @ np.swapaxes(k, -1, -2) / heads**0.5

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, score=score)


@multi_head_attention.misconception(
    means="The values are multiplied by the scores themselves; there is no softmax.",
    nudge="Which step turns the scores of a query into shares that add up to 1?",
)
def no_softmax(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def only_allowed(scores, mask):
        hidden = hide(scores, mask)
        return np.where(np.isneginf(hidden), 0, hidden)

    steps = {"hide": only_allowed, "share": lambda scores: scores}
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, **steps)


@multi_head_attention.misconception(
    means="The softmax runs over the queries: each key's column adds up to 1, not each query's row.",
    nudge="The weights of each query add up to 1. Which axis of the scores are the keys?",
)
def softmax_over_queries(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    steps = {"hide": hidden_low, "share": lambda scores: softmax(scores, -2)}
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, **steps)


@multi_head_attention.misconception(
    means="The softmax runs over the heads, so the weights add up to 1 over the heads.",
    nudge="In each head the weights add up to 1 over the keys. Which axis of (batch, heads, L_q, "
    "L_k) is that?",
)
def softmax_over_heads(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    steps = {"hide": hidden_low, "share": lambda scores: softmax(scores, 1)}
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, **steps)


def hidden_low(scores, mask):
    """Hidden scores as -1e9, where a softmax over another axis would meet nothing but -inf."""
    return np.maximum(hide(scores, mask), -1e9)


# The mask.


@multi_head_attention.misconception(
    means="Your layer only works with a mask whose first axis is the batch; one of shape (L_q, L_k) "
    "does not fit.",
    nudge="Count the axes from the end: heads go before the last two. How do you write that for two "
    "axes and for three?",
)
def room_for_heads_counted_from_the_front(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def masked(scores, mask):
        return scores if mask is None else np.where(mask[:, np.newaxis], scores, -1e9)

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, hide=masked)


@multi_head_attention.misconception(
    means="The mask has no axis for the heads: NumPy matches its sentences with the heads, or cannot "
    "match them at all.",
    nudge="The scores are (batch, heads, L_q, L_k), the mask (batch, L_q, L_k). Where does it need "
    "an axis of length 1?",
)
def no_room_for_heads(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def masked(scores, mask):
        return scores if mask is None else np.where(mask, scores, -1e9)

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, hide=masked)


@multi_head_attention.misconception(
    means="The mask is not used: hidden keys are attended to.",
    nudge="Where do you pass `mask` on?",
)
def mask_ignored(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads)


@multi_head_attention.misconception(
    means="The mask is inverted: you attend to the keys that are hidden.",
    nudge="True means “may attend”. Which of the two does your `where` send to a very low score?",
)
def mask_inverted(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def masked(scores, mask):
        return scores if mask is None else np.maximum(hide(scores, ~mask), -1e9)

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, hide=masked)


@multi_head_attention.misconception(
    means="The mask is applied after the softmax, so what is left of each row no longer adds up to 1.",
    nudge="The weights of the visible keys should add up to 1. At which step must you remove the hidden ones?",
)
def mask_after_softmax(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    allowed = True if mask is None else np.expand_dims(mask, -3)

    def share(scores):
        return softmax(scores) * allowed

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, share=share)


@multi_head_attention.misconception(
    means="Hidden scores are multiplied by 0, and a score of 0 is an ordinary score: exp(0) is 1.",
    nudge="Which score has an exponential of 0?",
)
def scores_times_mask(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def masked(scores, mask):
        return scores if mask is None else scores * np.expand_dims(mask, -3)

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, hide=masked)


@multi_head_attention.misconception(
    means="The boolean mask is added to the scores: True counts as 1, so allowed keys are favoured, "
    "not alone.",
    nudge="Only a mask in the additive form may be added. Which operation suits a boolean one?",
)
def mask_added(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def masked(scores, mask):
        return scores if mask is None else scores + np.expand_dims(mask, -3)

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, hide=masked)


@multi_head_attention.misconception(
    means="The layer is always causal, whatever the mask says.",
    nudge="The caller decides who may attend to whom. Where do you use `mask`?",
)
def always_causal(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    causal_mask = np.tri(queries.shape[1], keys.shape[1], dtype=bool)
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, causal_mask)


@multi_head_attention.misconception(
    means="The mask of the first sentence is used for all of them.",
    nudge="Each sentence has its own mask. Is there an index `[0]` too many?",
)
def first_mask_for_all(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    first = mask[0] if mask is not None and mask.ndim == 3 else mask
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, first)


@multi_head_attention.misconception(
    means="The new axis of the mask is the first one, where NumPy would add one anyway: so a mask's sentences are "
    "matched with the heads, or with nothing at all.",
    nudge="The scores are (batch, heads, L_q, L_k), the mask (batch, L_q, L_k). Where does it need an axis of "
    "length 1?",
)
def room_for_heads_in_front(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def masked(scores, mask):
        return scores if mask is None else np.where(mask[np.newaxis], scores, -1e9)

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, hide=masked)


@multi_head_attention.misconception(
    means="The new axis of the mask is the last one, where the scores have the keys.",
    nudge="The scores are (batch, heads, L_q, L_k), the mask (batch, L_q, L_k). Where does it need an axis of "
    "length 1?",
)
def room_for_heads_at_the_end(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def masked(scores, mask):
        return scores if mask is None else np.where(mask[..., np.newaxis], scores, -1e9)

    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask, hide=masked)


# Two at once.


def unscaled(q, k):
    return q @ np.swapaxes(k, -1, -2)


def by_the_whole_word(heads):
    return lambda q, k: scaled(q, k) / heads**0.5


@multi_head_attention.combined_misconception(no_scale, mask_ignored)
def neither_scale_nor_mask(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, score=unscaled)


@multi_head_attention.combined_misconception(no_scale, no_output_projection)
def neither_scale_nor_projection(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    plain = np.eye(len(w_o), dtype=w_o.dtype)
    return layer(queries, keys, values, w_q, w_k, w_v, plain, heads, mask, score=unscaled)


@multi_head_attention.combined_misconception(scale_of_the_whole_word, mask_ignored)
def whole_word_and_no_mask(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, score=by_the_whole_word(heads))


@multi_head_attention.combined_misconception(scale_of_the_whole_word, no_output_projection)
def whole_word_and_no_projection(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    plain = np.eye(len(w_o), dtype=w_o.dtype)
    score = by_the_whole_word(heads)
    return layer(queries, keys, values, w_q, w_k, w_v, plain, heads, mask, score=score)


@multi_head_attention.combined_misconception(no_output_projection, mask_ignored)
def neither_projection_nor_mask(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    plain = np.eye(len(w_o), dtype=w_o.dtype)
    return layer(queries, keys, values, w_q, w_k, w_v, plain, heads)


@multi_head_attention.combined_misconception(keys_for_values, no_output_projection)
def keys_for_values_unprojected(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    plain = np.eye(len(w_o), dtype=w_o.dtype)
    return layer(queries, keys, keys, w_q, w_k, w_v, plain, heads, mask)


@multi_head_attention.combined_misconception(scale_of_the_whole_word, no_room_for_heads)
def whole_word_and_no_room(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    def masked(scores, mask):
        return scores if mask is None else np.where(mask, scores, -1e9)

    given = queries, keys, values, w_q, w_k, w_v, w_o, heads, mask
    return layer(*given, hide=masked, score=by_the_whole_word(heads))


# The form.


@multi_head_attention.common_mistake
def returns_a_tuple(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    q, k = split(queries @ w_q, heads), split(keys @ w_k, heads)
    result = layer(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask)
    return result, softmax(hide(scaled(q, k), mask))


@multi_head_attention.misconception(
    means="You exchanged w_v and w_o: the values are projected by the matrix for the output.",
    nudge="Compare the order of the arguments with the order in which you use or pass them on.",
)
def tables_of_values_and_output_exchanged(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_o, w_v, heads, mask)


@multi_head_attention.misconception(
    means="You exchanged w_k and w_v: keys are projected by the matrix for the values.",
    nudge="Compare the order of the arguments with the order in which you use or pass them on.",
)
def tables_of_keys_and_values_exchanged(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_v, w_k, w_o, heads, mask)


@multi_head_attention.misconception(
    means="You exchanged w_q and w_k: queries are projected by the matrix for the keys.",
    nudge="Compare the order of the arguments with the order in which you use or pass them on.",
)
def tables_of_queries_and_keys_exchanged(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_k, w_q, w_v, w_o, heads, mask)


@multi_head_attention.misconception(
    means="w_q is used for the keys too; w_k is not used at all.",
    nudge="Three similar lines are easily copied. Which weight matrix belongs to which of the three inputs?",
)
def keys_projected_as_queries(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_q, w_v, w_o, heads, mask)


@multi_head_attention.misconception(
    means="w_v is used a second time instead of w_o.",
    nudge="After the heads are merged there is one more weight matrix. Which one?",
)
def output_projected_as_values(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_v, w_v, heads, mask)


@multi_head_attention.misconception(
    means="The number of heads is fixed at 2 in your code, whatever `heads` says.",
    nudge="Where does your code use `heads`?",
)
def always_two_heads(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q, w_k, w_v, w_o, 2, mask)


# Right in other words.


@multi_head_attention.misconception(
    means="Your matrices w_q, w_k and w_v are transposed: x @ w uses the columns of w, not its rows.",
    nudge="Which axis of w_q is multiplied by the numbers of a word in x @ w_q? Is there a `.T` too many?",
)
def tables_turned(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    return layer(queries, keys, values, w_q.T, w_k.T, w_v.T, w_o, heads, mask)


@multi_head_attention.variant
def loop_over_heads(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    size = w_q.shape[1] // heads
    contexts = []
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        scores = (
            (queries @ w_q[:, own])
            @ np.swapaxes(keys @ w_k[:, own], 1, 2)
            / np.sqrt(size).astype(queries.dtype)
        )
        if mask is not None:
            scores = np.where(mask, scores, -1e9)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        contexts.append(weights @ (values @ w_v[:, own]))
    return np.concatenate(contexts, axis=-1) @ w_o


@multi_head_attention.variant
def room_for_heads_counted_from_the_end(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    """As the third hint has it."""
    q, k, v = split(queries @ w_q, heads), split(keys @ w_k, heads), split(values @ w_v, heads)
    scores = scaled(q, k)
    if mask is not None:
        scores = np.where(mask[..., np.newaxis, :, :], scores, -1e9)
    return merge(softmax(scores) @ v) @ w_o


@multi_head_attention.variant
def sum_over_heads(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    """Each head's own rows of w_o, added up: no merging at all."""
    size, result = len(w_o) // heads, 0
    for i in range(0, len(w_o), size):
        q, k, v = queries @ w_q[:, i : i + size], keys @ w_k[:, i : i + size], values @ w_v[:, i : i + size]
        scores = np.einsum("bid,bjd->bij", q, k) * size**-0.5
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        result = result + softmax(scores) @ v @ w_o[i : i + size]
    return result


@multi_head_attention.variant
def all_in_einsum(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    cut = (len(w_q), heads, -1)
    q = np.einsum("bld,dhe->bhle", queries, w_q.reshape(cut))
    k = np.einsum("bld,dhe->bhle", keys, w_k.reshape(cut))
    v = np.einsum("bld,dhe->bhle", values, w_v.reshape(cut))
    scores = np.einsum("bhqe,bhke->bhqk", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = np.where(np.broadcast_to(mask, (len(queries), *scores.shape[2:]))[:, None], scores, -1e30)
    context = np.einsum("bhqk,bhke->bhqe", softmax(scores), v)
    return np.einsum("bhqe,hef->bqf", context, w_o.reshape(heads, -1, w_o.shape[1]))


@multi_head_attention.variant
def batch_and_heads_in_one_axis(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    """As older programs do it: a batch of batch · heads sentences, and the mask repeated for it."""

    def cut(x):
        return split(x, heads).reshape(-1, x.shape[1], x.shape[2] // heads)

    scores = scaled(cut(queries @ w_q), cut(keys @ w_k))
    if mask is not None:
        full = np.broadcast_to(mask, (len(queries), queries.shape[1], keys.shape[1]))
        scores = scores + np.where(np.repeat(full, heads, axis=0), 0, -1e9).astype(scores.dtype)
    context = softmax(scores) @ cut(values @ w_v)
    return merge(context.reshape(len(queries), heads, queries.shape[1], -1)) @ w_o


@multi_head_attention.variant
def sentence_by_sentence(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    if mask is None:
        mask = np.ones((1, 1), dtype=bool)
    masks = np.broadcast_to(mask, (len(queries), queries.shape[1], keys.shape[1]))
    rows = zip(queries, keys, values, masks, strict=True)
    return np.stack(
        [layer(q[None], k[None], v[None], w_q, w_k, w_v, w_o, heads, m)[0] for q, k, v, m in rows]
    )


@multi_head_attention.variant
def queries_scaled_first(queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None):
    d_head = queries.shape[-1] // heads
    q = split(queries @ w_q, heads) * d_head**-0.5
    k, v = split(keys @ w_k, heads), split(values @ w_v, heads)
    scores = np.matmul(q, k.transpose(0, 1, 3, 2))
    if mask is not None:
        while mask.ndim < 3:
            mask = mask[np.newaxis]
        scores[np.broadcast_to(~mask[:, np.newaxis], scores.shape)] = -1e9
    return np.dot(merge(softmax(scores) @ v), w_o)
