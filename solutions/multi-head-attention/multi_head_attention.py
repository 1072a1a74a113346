"""The exercise `multi_head_attention`: project, split, attend, merge, project."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import (
    MASKS,
    any_mask,
    attend,
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

multi_head_attention = Exercise(
    "multi_head_attention", points=4, builds_on=[split_heads, merge_heads]
)


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


@multi_head_attention.slips("""
    reshaped_there_and_back: Heads are made and joined by reshaping alone: the shapes fit, but each head
        is given pieces of only some words.
        Hint: Try your steps on three words of four numbers. Whose numbers are in head 0?
    split_by_reshape_alone: The heads are made by reshaping alone: each is given pieces of only some words.
        Hint: Does your layer call `split_heads`, and does that pass its own check?
    merged_by_reshape_alone: The heads are joined by reshaping alone, so that one word's row holds one
        head of several words.
        Hint: Does your layer call `merge_heads`, and does that pass its own check?
    one_big_head: This is one big head: `heads` makes no difference.
        Hint: Which function cuts the projected queries, keys and values, and what does it need to know?
    heads_attend_to_heads: The heads were never put before the words, so heads attend to heads within one
        word, and words to no query.
        Hint: Attention works on the last two axes. Which two must they be: words and numbers, or heads
        and numbers?
    no_output_projection: The last projection is missing: the merged heads were never multiplied by w_o.
        Hint: Which of the four matrices does your code not use?
    one_projection_for_all: w_q is used for the keys and the values too.
        Hint: Three similar lines are easily copied. Which weight matrix belongs to which of the three inputs?
    values_projected_as_keys: The values are projected by w_k, the matrix for the keys.
        Hint: Three similar lines are easily copied. Which weight matrix belongs to which of the three inputs?
    values_not_projected: The values are not projected: w_v is not used.
        Hint: Which of the four matrices does your code not use?
    queries_for_everything: Keys and values are made from the queries: this is right for self-attention only.
        Hint: The function receives three inputs. Where do you use `keys` and `values`?
    keys_for_values: You multiply the keys by w_v. It should be the values.
        Hint: The function receives three inputs. Where do you use `values`?
    tables_transposed: You multiplied by the transposed matrices; some libraries store them that way
        round, but here it is x @ w.
        Hint: In these formulas the rows of a matrix belong to what comes in, and its columns to what
        goes out. Is a `.T` too many?
    queries_added: The queries were added to the result; that residual connection belongs to the block
        around this layer.
        Hint: What does the formula return, once the merged heads are multiplied by w_o?
    scale_of_the_whole_word: The scores are divided by √d, the size of a whole word; a head's keys are
        smaller.
        Hint: How many numbers does one key of one head hold?
    no_scale: The scores are not divided by anything.
        Hint: Which root makes the scores of small and of large heads comparable?
    scaled_twice: The scores are divided twice by √d_head.
        Hint: Does the attention function that you call divide already?
    scale_of_the_number_of_heads: The scores are divided by the root of the number of heads, not of the
        size of one.
        Hint: How many numbers does one key of one head hold?
    no_softmax: The values are multiplied by the scores themselves; there is no softmax.
        Hint: Which step turns the scores of a query into shares that add up to 1?
    softmax_over_queries: The softmax runs over the queries: each key's column adds up to 1, not each
        query's row.
        Hint: The weights of each query add up to 1. Which axis of the scores are the keys?
    softmax_over_heads: The softmax runs over the heads, so the weights add up to 1 over the heads.
        Hint: In each head the weights add up to 1 over the keys. Which axis of (batch, heads, L_q, L_k)
        is that?
    room_for_heads_counted_from_the_front: Your layer only works with a mask whose first axis is the
        batch; one of shape (L_q, L_k) does not fit.
        Hint: Count the axes from the end: heads go before the last two. How do you write that for two
        axes and for three?
    no_room_for_heads: The mask has no axis for the heads: NumPy matches its sentences with the heads, or
        cannot match them at all.
        Hint: The scores are (batch, heads, L_q, L_k), the mask (batch, L_q, L_k). Where does it need an
        axis of length 1?
    mask_ignored: The mask is not used: hidden keys are attended to. Hint: Where do you pass `mask` on?
    mask_inverted: The mask is inverted: you attend to the keys that are hidden.
        Hint: True means “may attend”. Which of the two does your `where` send to a very low score?
    mask_after_softmax: The mask is applied after the softmax, so what is left of each row no longer adds
        up to 1.
        Hint: The weights of the visible keys should add up to 1. At which step must you remove the
        hidden ones?
    scores_times_mask: Hidden scores are multiplied by 0, and a score of 0 is an ordinary score: exp(0) is 1.
        Hint: Which number must replace a hidden score so that its exponential is 0?
    mask_added: The boolean mask is added to the scores: True counts as 1, so allowed keys are favoured,
        not alone.
        Hint: Only a mask in the additive form may be added. Which operation suits a boolean one?
    always_causal: The layer is always causal, whatever the mask says.
        Hint: The caller decides who may attend to whom. Where do you use `mask`?
    first_mask_for_all: The mask of the first sentence is used for all of them.
        Hint: Each sentence has its own mask. Is there an index `[0]` too many?
    room_for_heads_in_front: The new axis of the mask is the first one, where NumPy would add one anyway:
        so a mask's sentences are matched with the heads, or with nothing at all.
        Hint: The scores are (batch, heads, L_q, L_k), the mask (batch, L_q, L_k). Where does it need an
        axis of length 1?
    room_for_heads_at_the_end: The new axis of the mask is the last one, where the scores have the keys.
        Hint: The scores are (batch, heads, L_q, L_k), the mask (batch, L_q, L_k). Where does it need an
        axis of length 1?
    returns_a_tuple
    tables_of_values_and_output_exchanged: You exchanged w_v and w_o: the values are projected by the
        matrix for the output.
        Hint: Compare the order of the arguments with the order in which you use or pass them on.
    tables_of_keys_and_values_exchanged: You exchanged w_k and w_v: keys are projected by the matrix for
        the values.
        Hint: Compare the order of the arguments with the order in which you use or pass them on.
    tables_of_queries_and_keys_exchanged: You exchanged w_q and w_k: queries are projected by the matrix
        for the keys.
        Hint: Compare the order of the arguments with the order in which you use or pass them on.
    keys_projected_as_queries: w_q is used for the keys too; w_k is not used at all.
        Hint: Three similar lines are easily copied. Which weight matrix belongs to which of the three inputs?
    output_projected_as_values: w_v is used a second time instead of w_o.
        Hint: After the heads are merged there is one more weight matrix. Which one?
    always_two_heads: The number of heads is fixed at 2 in your code, whatever `heads` says.
        Hint: Where does your code use `heads`?
    tables_turned: Your matrices w_q, w_k and w_v are transposed: x @ w uses the columns of w, not its rows.
        Hint: Which axis of w_q is multiplied by the numbers of a word in x @ w_q? Is there a `.T` too many?
""")
def multi_head_attention_with_slips(
    slip, queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None
):
    heads = slip.choose(heads, one_big_head=1, always_two_heads=2)
    keys = slip.choose(keys, queries_for_everything=queries)
    values = slip.choose(values, queries_for_everything=queries, keys_for_values=keys)
    if slip.tables_transposed or slip.tables_turned:
        w_q, w_k, w_v = w_q.T, w_k.T, w_v.T
    if slip.tables_transposed:
        w_o = w_o.T
    identity = np.eye(len(w_o), dtype=w_o.dtype)
    w_q, w_k, w_v, w_o = slip.choose(
        (w_q, w_k, w_v, w_o),
        no_output_projection=(w_q, w_k, w_v, identity),
        one_projection_for_all=(w_q, w_q, w_q, w_o),
        values_projected_as_keys=(w_q, w_k, w_k, w_o),
        values_not_projected=(w_q, w_k, identity, w_o),
        tables_of_values_and_output_exchanged=(w_q, w_k, w_o, w_v),
        tables_of_keys_and_values_exchanged=(w_q, w_v, w_k, w_o),
        tables_of_queries_and_keys_exchanged=(w_k, w_q, w_v, w_o),
        keys_projected_as_queries=(w_q, w_q, w_v, w_o),
        output_projected_as_values=(w_q, w_k, w_v, w_v),
    )

    cut = slip.choose(
        split, reshaped_there_and_back=split_by_reshape, split_by_reshape_alone=split_by_reshape
    )
    q, k, v = cut(queries @ w_q, heads), cut(keys @ w_k, heads), cut(values @ w_v, heads)
    if (
        slip.heads_attend_to_heads
    ):  # the heads are behind the words, as they are before `split` moves them
        q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    d_head = q.shape[-1]
    scale = slip.choose(
        d_head**0.5,
        scale_of_the_whole_word=(d_head * heads) ** 0.5,
        no_scale=1,
        scaled_twice=d_head,
        scale_of_the_number_of_heads=heads**0.5,
    )
    scores = q @ np.swapaxes(k, -1, -2) / scale

    if slip.always_causal:
        mask = np.tri(queries.shape[1], keys.shape[1], dtype=bool)
    if slip.mask_ignored:
        mask = None
    if slip.first_mask_for_all and mask is not None and mask.ndim == 3:
        mask = mask[0]
    masked = scores
    if mask is not None:
        allowed = slip.choose(
            np.expand_dims(mask, -3),
            room_for_heads_counted_from_the_front=mask[:, np.newaxis],
            no_room_for_heads=mask,
            mask_inverted=~np.expand_dims(mask, -3),
            room_for_heads_in_front=mask[np.newaxis],
            room_for_heads_at_the_end=mask[..., np.newaxis],
        )
        masked = np.where(allowed, scores, slip.choose(-1e9, no_softmax=0))
        if slip.mask_after_softmax:
            masked = scores
        if slip.scores_times_mask:
            masked = scores * allowed
        if slip.mask_added:
            masked = scores + allowed
    weights = softmax(masked, slip.choose(-1, softmax_over_queries=-2, softmax_over_heads=1))
    if slip.no_softmax:
        weights = masked
    if slip.mask_after_softmax and mask is not None:
        weights = weights * allowed

    context = weights @ v
    join = slip.choose(
        merge, reshaped_there_and_back=merge_by_reshape, merged_by_reshape_alone=merge_by_reshape
    )
    merged = join(context)
    if slip.heads_attend_to_heads:
        merged = context.reshape(queries.shape)
    result = merged @ w_o
    if slip.queries_added:
        result = queries + result
    if slip.returns_a_tuple:
        return result, weights
    return result


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


# Right in other words.


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
def room_for_heads_counted_from_the_end(
    queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None
):
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
        q, k, v = (
            queries @ w_q[:, i : i + size],
            keys @ w_k[:, i : i + size],
            values @ w_v[:, i : i + size],
        )
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
        scores = np.where(
            np.broadcast_to(mask, (len(queries), *scores.shape[2:]))[:, None], scores, -1e30
        )
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
