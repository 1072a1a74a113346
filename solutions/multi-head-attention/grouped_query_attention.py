"""The exercise `grouped_query_attention`: several query heads share a head of keys and values."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import (
    MASKS,
    any_mask,
    layer,
    layer_inputs,
    merge,
    merge_by_reshape,
    padding,
    softmax,
    some_allowed,
    split,
    split_by_reshape,
)
from .merge_heads import merge_heads
from .split_heads import split_heads

grouped_query_attention = Exercise(
    "grouped_query_attention", points=3, builds_on=[split_heads, merge_heads]
)


@grouped_query_attention.domain(
    sizes={
        "batch": (1, 4),
        "L_q": (1, 55),
        "L_k": (1, 60),
        "kv_heads": (1, 4),
        "group": (1, 4),
        "d_head": (1, 5),
    },
    flags={"mask": MASKS},
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L_q, L_k, kv_heads, group, d_head, mask):
    mask = any_mask(rng, mask, batch, L_q, L_k)
    return layer_inputs(rng, batch, L_q, L_k, kv_heads * group, d_head, kv_heads, mask)


@grouped_query_attention.case("the notebook's two sentences: two heads of queries, one of keys")
def two_sentences(rng):
    lab = grouped_query_attention.solution
    return inputs(*[lab.sentences] * 3, lab.w_q, lab.w_k[:, :2], lab.w_v[:, :2], lab.w_o, 2, 1)


@grouped_query_attention.case("three heads of queries to a head of keys")
def groups_of_three(rng):
    batch, L_q, L_k, d_head = sizes(rng, 4, high=5)
    return layer_inputs(rng, batch, L_q, L_k, 6, d_head, 2)


@grouped_query_attention.case("two heads of queries to a head of keys")
def groups_of_two(rng):
    batch, L_q, L_k, d_head = sizes(rng, 4, high=5)
    return layer_inputs(rng, batch, L_q, L_k, 8, d_head, 4)


@grouped_query_attention.case("one head of keys for all")
def one_for_all(rng):
    batch, L_q, L_k, d_head, heads = sizes(rng, 5, high=6)
    return layer_inputs(rng, batch, L_q, L_k, heads, d_head, 1)


@grouped_query_attention.case("a single head of each")
def single_head(rng):
    batch, L_q, L_k, d_head = sizes(rng, 4, high=5)
    return layer_inputs(rng, batch, L_q, L_k, 1, d_head, 1)


@grouped_query_attention.case("as many heads of keys as of queries")
def one_for_each(rng):
    batch, L_q, L_k, d_head, heads = sizes(rng, 5, high=6)
    return layer_inputs(rng, batch, L_q, L_k, heads, d_head, heads)


@grouped_query_attention.case("a causal mask (L, L)")
def causal(rng):
    batch, n, d_head = sizes(rng, 3, high=5)
    return layer_inputs(rng, batch, n, n, 9, d_head, 3, np.tri(n, dtype=bool))


@grouped_query_attention.case("a padding mask (batch, 1, L_k), as many sentences as heads")
def padded(rng):
    L_q, L_k, d_head = sizes(rng, 3, high=5)
    return layer_inputs(rng, 6, L_q, L_k, 6, d_head, 3, padding(rng, 6, L_k))


@grouped_query_attention.case("a mask (batch, L_q, L_k)")
def one_mask_a_sentence(rng):
    batch, L_q, L_k, d_head = sizes(rng, 4, high=5)
    mask = some_allowed(rng, batch, L_q, L_k)
    return layer_inputs(rng, batch, L_q, L_k, 6, d_head, 2, mask)


@grouped_query_attention.slips("""
    tiled: The key heads are in the order 0, 1, 0, 1, so neighbouring query heads do not share one.
        Hint: Query heads 0, 1 and 2 should all read key head 0. Compare `np.tile` with `np.repeat` on a
        short list.
    keys_repeated_values_tiled: The keys are repeated one way and the values another, so a head weighs
        the values of another group.
        Hint: Keys and values of a head belong together. Are the two lines the same?
    divided_by_kv_heads: You divided the head's number by `kv_heads`; it is the size of a group that counts.
        Hint: With 6 heads of queries and 2 of keys, heads 0, 1, 2 belong together. By what do you divide
        0 to 5 to see that?
    repeated_kv_heads_times: You repeated each head `kv_heads` times. `kv_heads` is the number of
        key heads; the number of query heads that share one key head is expected.
        Hint: 8 heads of queries read 2 heads of keys. How often must each of the 2 appear, to make 8?
    repeated_heads_times: You repeated each head `heads` times; each serves only the queries of its own group.
        Hint: 8 heads of queries read 2 heads of keys. How often must each of the 2 appear, to make 8?
    repeated_before_the_cut: You repeated the columns one by one before they were split, so a head has
        few of them, several times.
        Hint: A whole head is to be repeated. When is there an axis of the heads to repeat along?
    first_key_head_for_all: All query heads read the first head of keys and values.
        Hint: There are `kv_heads` of them. Which query head reads which?
    key_heads_averaged: The heads of keys and values are averaged into one for all query heads.
        Hint: Nothing is averaged between heads: each query head reads one head of keys. Which one?
    queries_averaged: The queries of a group are averaged, so all its heads ask the same question.
        Hint: Only keys and values are shared. How many different questions should a group ask?
    keys_cut_into_all_heads: Keys and values are split into `heads` heads, but they have only `kv_heads`:
        they come out too small.
        Hint: w_k has kv_heads · d_head columns. Into how many heads do you split the result?
    key_heads_not_repeated: The queries have more heads than the keys, and nothing makes the two numbers
        equal.
        Hint: Each head of keys must serve heads // kv_heads heads of queries. Which function repeats
        along an axis?
    split_by_reshape_alone: The heads are made by reshaping alone: each is given pieces of only some words.
        Hint: Does your layer call `split_heads`, and does that pass its own check?
    merged_by_reshape_alone: The heads are joined by reshaping alone, so that one word's row holds one
        head of several words.
        Hint: Does your layer call `merge_heads`, and does that pass its own check?
    cut_before_projecting: The words are split into heads before they are multiplied by a weight matrix,
        which has a row for each of their d numbers.
        Hint: Each head should see the whole word through its own columns of the matrix. Which comes
        first, `@` or the split?
    no_output_projection: The last projection is missing: the merged heads were never multiplied by w_o.
        Hint: Which of the four matrices does your code not use?
    keys_for_values: You multiply the keys by w_v. It should be the values.
        Hint: The function receives three inputs. Where do you use `values`?
    values_projected_as_keys: The values are projected by w_k, the matrix for the keys.
        Hint: Three similar lines are easily copied. Which weight matrix belongs to which of the three inputs?
    scale_of_the_whole_word: The scores are divided by √d, the size of a whole word; a head's keys are
        smaller.
        Hint: How many numbers does one key of one head hold?
    scale_of_all_keys: The scores are divided by the root of all that w_k makes, the keys of several
        heads together.
        Hint: How many numbers does one key of one head hold?
    no_scale: The scores are not divided by anything.
        Hint: Which root makes the scores of small and of large heads comparable?
    mask_ignored: The mask is not used: hidden keys are attended to. Hint: Where do you pass `mask` on?
    mask_inverted: The mask is inverted: you attend to the keys that are hidden.
        Hint: True means “may attend”. Which of the two does your `where` send to a very low score?
    no_room_for_heads: The mask has no axis for the heads: NumPy matches its sentences with the heads, or
        cannot match them at all.
        Hint: The scores are (batch, heads, L_q, L_k), the mask (batch, L_q, L_k). Where does it need an
        axis of length 1?
    returns_a_tuple
""")
def grouped_query_attention_with_slips(
    slip, queries, keys, values, w_q, w_k, w_v, w_o, heads, kv_heads, mask=None
):
    group = heads // kv_heads
    values = slip.choose(values, keys_for_values=keys)
    w_v = slip.choose(w_v, values_projected_as_keys=w_k)
    if slip.repeated_before_the_cut:
        w_k, w_v = np.repeat(w_k, group, axis=1), np.repeat(w_v, group, axis=1)
    parts = slip.choose(kv_heads, keys_cut_into_all_heads=heads, repeated_before_the_cut=heads)

    cut = slip.choose(split, split_by_reshape_alone=split_by_reshape)
    if slip.cut_before_projecting:
        q, k, v = cut(queries, heads) @ w_q, cut(keys, parts) @ w_k, cut(values, parts) @ w_v
    else:
        q, k, v = cut(queries @ w_q, heads), cut(keys @ w_k, parts), cut(values @ w_v, parts)
    if slip.queries_averaged:
        q = q.reshape(len(q), kv_heads, group, *q.shape[2:]).mean(axis=2).repeat(group, axis=1)
    if slip.key_heads_averaged:
        k, v = k.mean(axis=1, keepdims=True), v.mean(axis=1, keepdims=True)

    each = np.arange(kv_heads)
    own = slip.choose(
        each.repeat(group),
        tiled=np.tile(each, group),
        divided_by_kv_heads=np.arange(heads) // kv_heads,
        repeated_kv_heads_times=each.repeat(kv_heads),
        repeated_heads_times=each.repeat(heads),
        first_key_head_for_all=[0],
        key_heads_averaged=[0],
        key_heads_not_repeated=each,
        keys_cut_into_all_heads=np.arange(heads),
        repeated_before_the_cut=np.arange(heads),
    )
    k, v = k[:, own], v[:, slip.choose(own, keys_repeated_values_tiled=np.tile(each, group))]

    d_head = q.shape[-1]
    excess = slip.choose(1, scale_of_the_whole_word=heads**0.5, scale_of_all_keys=kv_heads**0.5)
    scores = q @ np.swapaxes(k, -1, -2) / slip.choose(d_head**0.5, no_scale=1) / excess
    if mask is not None and not slip.mask_ignored:
        allowed = slip.choose(
            np.expand_dims(mask, -3),
            mask_inverted=~np.expand_dims(mask, -3),
            no_room_for_heads=mask,
        )
        scores = np.where(allowed, scores, -1e9)
    weights = softmax(scores)

    join = slip.choose(merge, merged_by_reshape_alone=merge_by_reshape)
    result = join(weights @ v)
    if not slip.no_output_projection:
        result = result @ w_o
    if slip.returns_a_tuple:
        return result, weights
    return result


@grouped_query_attention.misconception(
    means="`np.repeat` without an `axis` repeats every single number, in one long row without any shape.",
    nudge="The heads lie along one axis of (batch, kv_heads, L_k, d_head). Which?",
    raises=np.exceptions.AxisError,
)
def repeated_without_an_axis(queries, keys, values, w_q, w_k, w_v, w_o, heads, kv_heads, mask=None):
    given = queries, keys, values, w_q, w_k, w_v, w_o, heads, mask
    return layer(*given, kv_heads=kv_heads, repeat=lambda x, heads: np.repeat(x, heads // kv_heads))


# Right in other words.


@grouped_query_attention.variant
def chosen_by_index(queries, keys, values, w_q, w_k, w_v, w_o, heads, kv_heads, mask=None):
    group = heads // kv_heads
    own = np.array([i // group for i in range(heads)])
    given = queries, keys, values, w_q, w_k, w_v, w_o, heads, mask
    return layer(*given, kv_heads=kv_heads, repeat=lambda x, heads: x[:, own])


@grouped_query_attention.variant
def an_axis_for_the_groups(queries, keys, values, w_q, w_k, w_v, w_o, heads, kv_heads, mask=None):
    """Nothing is repeated: the queries get an axis for their place in the group, the keys one of length 1."""
    q = split(queries @ w_q, heads)
    batch, _, length, d_head = q.shape
    q = q.reshape(batch, kv_heads, heads // kv_heads, length, d_head)
    k, v = (split(x @ w, kv_heads)[:, :, np.newaxis] for x, w in ((keys, w_k), (values, w_v)))
    scores = q @ np.swapaxes(k, -1, -2) / d_head**0.5
    if mask is not None:
        full = np.broadcast_to(mask, (batch, length, keys.shape[1]))
        scores = np.where(full[:, np.newaxis, np.newaxis], scores, -1e9)
    context = softmax(scores) @ v
    return context.transpose(0, 3, 1, 2, 4).reshape(queries.shape) @ w_o


@grouped_query_attention.variant
def wider_tables(queries, keys, values, w_q, w_k, w_v, w_o, heads, kv_heads, mask=None):
    """The columns of w_k and w_v repeated: then it is the layer of the exercise before."""
    d_head = w_q.shape[1] // heads

    def widen(w):
        cut = w.reshape(len(w), kv_heads, d_head)
        return np.repeat(cut, heads // kv_heads, axis=1).reshape(len(w), -1)

    return layer(queries, keys, values, w_q, widen(w_k), widen(w_v), w_o, heads, mask)


@grouped_query_attention.variant
def loop_over_heads(queries, keys, values, w_q, w_k, w_v, w_o, heads, kv_heads, mask=None):
    size = w_q.shape[1] // heads
    contexts = []
    for i in range(heads):
        j = i * kv_heads // heads
        q = queries @ w_q[:, i * size : (i + 1) * size]
        k, v = (x @ w[:, j * size : (j + 1) * size] for x, w in ((keys, w_k), (values, w_v)))
        scores = q @ k.transpose(0, 2, 1) / size**0.5
        contexts.append(softmax(scores if mask is None else np.where(mask, scores, -1e9)) @ v)
    return np.concatenate(contexts, axis=2) @ w_o
