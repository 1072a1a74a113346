"""The exercise `transformer_block`: attention and feed-forward, each after a norm and beside a residual."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import (
    NAMES,
    attend,
    block_parameters,
    causal,
    feed,
    first,
    gelu,
    gelu_exact,
    parts,
    relu,
    second,
)
from .feed_forward import feed_forward
from .layer_norm import layer_norm

transformer_block = Exercise("transformer_block", points=3, builds_on=[layer_norm, feed_forward])

MASKS = ("causal", "any", "none hidden")


def some_mask(rng, kind, length):
    if kind == "causal":
        return causal(length)
    if kind == "none hidden":
        return np.ones((length, length), dtype=bool)
    return (rng.random((length, length)) < 0.5) | np.eye(length, dtype=bool)


def given(rng, batch, length, heads, d_head, hidden, mask="causal", magnitude=1.0):
    d = heads * d_head
    x = magnitude * rng.normal(size=(batch, length, d))
    return inputs(x, block_parameters(rng, d, hidden), heads, some_mask(rng, mask, length))


@transformer_block.domain(
    sizes={"batch": (1, 6), "L": (1, 55), "heads": (1, 5), "d_head": (1, 5), "h": (1, 30)},
    flags={"mask": MASKS},
    magnitudes=(1.0, 30.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, heads, d_head, h, mask, magnitude):
    return given(rng, batch, L, heads, d_head, h, mask, magnitude)


@transformer_block.case("every size different, a causal mask")
def all_different(rng):
    batch, length, heads, d_head, hidden = sizes(rng, 5, 2, 6)
    return given(rng, batch, length, heads, d_head, hidden)


@transformer_block.case("another mask, which is not causal")
def another_mask(rng):
    batch, length, heads, d_head, hidden = sizes(rng, 5, 2, 6)
    return given(rng, batch, length, heads, d_head, hidden, "any")


@transformer_block.case("one head")
def one_head(rng):
    batch, length, d_head, hidden = sizes(rng, 4, 3, 7)
    return given(rng, batch, length, 1, d_head, hidden)


@transformer_block.case("L = d = h")
def square(rng):
    heads, d_head = sizes(rng, 2, 2, 3)
    d = heads * d_head
    return given(rng, 2, d, heads, d_head, d)


@transformer_block.case("large numbers passing by")
def large(rng):
    batch, length, heads, d_head, hidden = sizes(rng, 5, 2, 6)
    return given(rng, batch, length, heads, d_head, hidden, magnitude=5.0)


@transformer_block.slips("""
    values_in_their_order: You took the values of `parameters` in their order; a dict need not have the
        order of the docstring.
        Hint: Read each array by its name. What does `parameters["w_q"]` give you?
    no_residuals: Neither attention nor feed-forward has its residual: what passes by them is lost.
        Hint: What is each of the two results added to?
    no_residual_at_attention: Attention has no residual: its result takes the place of x.
        Hint: What is the result of attention added to?
    no_residual_at_feed_forward: The feed-forward has no residual: its result takes the place of x.
        Hint: What is the result of the feed-forward added to?
    residuals_of_the_normalised: Both residuals carry the normalised words: x was overwritten by its
        layer norm before the sum.
        Hint: Which x does the residual add: the one before layer norm, or the one after it? Give
        the normalised words a name of their own.
    first_residual_normalised: The first residual carries the normalised words instead of x itself.
        Hint: Is what passes by the attention untouched?
    second_residual_normalised: The second residual carries the normalised words instead of what came out
        of the attention part.
        Hint: Is what passes by the feed-forward untouched?
    second_residual_from_the_start: The second residual adds the words as they came into the block, so
        the attention's result passes only through the feed-forward.
        Hint: What is x after the first of the two lines? The second line continues from there.
    added_twice: The words as they came in are added twice: once beside attention, and again at the end.
        Hint: How many sums does the formula have?
    side_by_side: Attention and feed-forward work side by side on the same words; layer norm 2 must
        read the new x, after attention was added.
        Hint: Which x does the second line of the formula use?
    post_norm: The norms come after the sums, as in the Transformer of 2017 (post-norm); here each comes
        before its part (pre-norm).
        Hint: What does each part read: x, or the layer norm of x?
    results_normalised: The results of attention and feed-forward are normalised, instead of what these
        two read.
        Hint: Which comes first in each line, layer norm or the part itself?
    no_norms: There is no layer norm at all. Hint: What do attention and feed-forward read: x itself?
    only_queries_normed: Queries are made of the normalised words, keys and values of the words as they
        came.
        Hint: In self-attention all three are the same words. Which ones does the formula name?
    keys_not_normed: Queries and values are made of the normed words, keys of the words as they came.
        Hint: In self-attention all three are the same words. Which ones does the formula name?
    values_not_normed: Queries and keys are made of the normed words, values of the words as they came.
        Hint: In self-attention all three are the same words. Which ones does the formula name?
    no_first_norm: The layer norm before the attention is missing.
        Hint: What does attention read: x itself?
    no_second_norm: The layer norm before the feed-forward is missing.
        Hint: What does the feed-forward read: x itself?
    first_norm_twice: Both norms use gain_1 and bias_1; the second has its own.
        Hint: Which two entries of `parameters` have you not used?
    norms_exchanged: The two norms have changed places.
        Hint: Whose gain ends in 1: that before attention or before feed-forward?
    norm_at_the_end: There is a third layer norm at the end of the block; in a pre-norm model it comes
        once, after the last block.
        Hint: How many norms does the picture of a block show?
    feed_forward_first: The feed-forward comes first, and attention second.
        Hint: In which order do the parts stand in the picture?
    no_feed_forward: The block ends after attention; the feed-forward is missing.
        Hint: What is the second half of the block?
    no_attention: The attention is missing: no word learns of any other.
        Hint: What is the first half of the block?
    only_what_is_added: The result is what the feed-forward adds; the sum with what passes by it is
        missing.
        Hint: What is the result of the feed-forward added to?
    mask_ignored: The mask is not used: each word attends to those that come after it as well.
        Hint: Which of your arguments does the attention not get?
    always_causal: You always use a causal mask, whatever `mask` says.
        Hint: Where does your code use its argument `mask`?
    one_big_head: This is attention with one big head: `heads` makes no difference.
        Hint: Where does your code use its argument `heads`?
    queries_and_keys_exchanged: Queries and keys have changed places.
        Hint: Compare the order of the tables with that in `multi_head_attention`.
    relu_inside: The feed-forward bends with ReLU instead of GELU.
        Hint: Does your block call your own `feed_forward`, and does that pass its check?
    exact_gelu_inside: The feed-forward bends with the GELU of the error function erf, which differs a
        little.
        Hint: Does your block call your own `feed_forward`, and does that pass its check?
    feed_forward_reads_the_first_norm: The feed-forward reads the normalised words that attention read;
        it should read the second norm of what attention has made of x.
        Hint: Which two entries of `parameters` have you not used? What is the second norm taken of?
    modifies_argument
    returns_a_tuple
    lower_precision
    feed_forward_first_with_the_norms_as_named: The feed-forward comes first, and attention second.
        Hint: In which order do the parts stand in the picture?
    second_norm_of_the_first: The second norm reads the normed words of the first one, so the
        feed-forward does not see what attention has written.
        Hint: Of what is the second norm taken: of x as it is by then, or of the words that attention
        read?
    stream_doubled: The words as they came are counted twice in the first sum.
        Hint: What is added to the result of attention: x, or twice x?
    attention_twice: Attention stands in both halves; the feed-forward is missing.
        Hint: What is the second half of the block?
""")
def transformer_block_with_slips(slip, x, parameters, heads, mask):
    p = parameters
    if slip.values_in_their_order:
        p = dict(zip(NAMES, parameters.values()))
    if slip.queries_and_keys_exchanged:
        p = p | {"w_q": p["w_k"], "w_k": p["w_q"]}
    if slip.first_norm_twice:
        p = p | {"gain_2": p["gain_1"], "bias_2": p["bias_1"]}
    mask = slip.choose(mask, mask_ignored=np.ones_like(mask), always_causal=causal(x.shape[1]))
    heads = slip.choose(heads, one_big_head=1)

    def attention(normed):
        keys_of = slip.choose(normed, only_queries_normed=x, keys_not_normed=x)
        values_of = slip.choose(normed, only_queries_normed=x, values_not_normed=x)
        tables = [p[name] for name in ("w_q", "w_k", "w_v", "w_o")]
        return attend(normed, *tables, heads, mask, keys_of, values_of)

    def feed_(normed):
        bend = slip.choose(gelu, relu_inside=relu, exact_gelu_inside=gelu_exact)
        return feed(normed, p["w_1"], p["b_1"], p["w_2"], p["b_2"], bend)

    norm_1, norm_2 = first(p), second(p)
    first_part, second_part = attention, feed_
    if slip.norms_exchanged or slip.feed_forward_first:
        norm_1, norm_2 = norm_2, norm_1
    if slip.feed_forward_first or slip.feed_forward_first_with_the_norms_as_named:
        first_part, second_part = feed_, attention
    if slip.attention_twice:
        second_part = attention

    # The first half.
    normed = norm_1(x)
    if slip.no_norms or slip.no_first_norm or slip.post_norm or slip.results_normalised:
        normed = x
    added = first_part(normed)
    if slip.results_normalised:
        added = norm_1(added)
    passes_by = slip.choose(
        x,
        no_residuals=0,
        no_residual_at_attention=0,
        residuals_of_the_normalised=normed,
        first_residual_normalised=normed,
        stream_doubled=2 * x,
    )
    y = passes_by + added
    if slip.no_attention:
        y = x
    if slip.post_norm:
        y = norm_1(y)
    if slip.no_feed_forward:
        return y

    # The second half.
    normed_again = norm_2(slip.choose(y, side_by_side=x, second_norm_of_the_first=normed))
    if slip.no_norms or slip.no_second_norm or slip.post_norm or slip.results_normalised:
        normed_again = y
    if slip.feed_forward_reads_the_first_norm:
        normed_again = normed
    passes_by = slip.choose(
        y,
        no_residuals=0,
        no_residual_at_feed_forward=0,
        residuals_of_the_normalised=normed_again,
        second_residual_normalised=normed_again,
        second_residual_from_the_start=x,
        added_twice=x + y,
        only_what_is_added=added,
    )
    added = second_part(normed_again)
    if slip.results_normalised:
        added = norm_2(added)
    result = passes_by + added
    if slip.post_norm or slip.norm_at_the_end:
        result = norm_2(result)
    if slip.modifies_argument:
        x[...] = result
        return x
    return slip.choose(
        result, returns_a_tuple=(result, p["w_q"]), lower_precision=result.astype(np.float32)
    )


# Other right answers, which must pass.


@transformer_block.variant
def named_steps(x, parameters, heads, mask):
    norm_1, attention, norm_2, feed_ = parts(parameters, heads, mask)
    attended = attention(norm_1(x)) + x
    return feed_(norm_2(attended)) + attended


@transformer_block.variant
def sum_at_the_end(x, parameters, heads, mask):
    norm_1, attention, norm_2, feed_ = parts(parameters, heads, mask)
    first = attention(norm_1(x))
    second = feed_(norm_2(x + first))
    return x + first + second


@transformer_block.variant
def head_by_head(x, parameters, heads, mask):
    p = parameters
    y = layer_norm.reference(x, p["gain_1"], p["bias_1"])
    d_head = x.shape[-1] // heads
    out = x.copy()
    for h in range(heads):
        part = slice(h * d_head, (h + 1) * d_head)
        q, k, v = (y @ p[name][:, part] for name in ("w_q", "w_k", "w_v"))
        scores = np.einsum("bqd,bkd->bqk", q, k) / math.sqrt(d_head)
        scores = np.where(mask, scores, -1e30)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out = out + weights / weights.sum(-1, keepdims=True) @ v @ p["w_o"][part]
    return out + feed_forward.reference(
        layer_norm.reference(out, p["gain_2"], p["bias_2"]), p["w_1"], p["b_1"], p["w_2"], p["b_2"]
    )
