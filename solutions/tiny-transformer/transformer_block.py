"""The exercise `transformer_block`: attention and feed-forward, each after a norm and beside a residual."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import NAMES, attend, block, block_parameters, causal, feed, gelu_exact, norm, parts, relu
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


def mistake(means, nudge):
    """A wrong block, written with its four parts: f(x, norm_1, attention, norm_2, feed)."""

    def register(wrong):
        def function(x, parameters, heads, mask):
            return wrong(x, *parts(parameters, heads, mask))

        function.__name__ = wrong.__name__
        transformer_block.misconception(means=means, nudge=nudge)(function)
        return wrong

    return register


# Parameters.


@transformer_block.misconception(
    means="You took the values of `parameters` in their order; a dict need not have the order of the docstring.",
    nudge='Read each array by its name. What does `parameters["w_q"]` give you?',
)
def values_in_their_order(x, parameters, heads, mask):
    return block(x, dict(zip(NAMES, parameters.values())), heads, mask)


# Residuals.


@mistake(
    "Neither attention nor feed-forward has its residual: what passes by them is lost.",
    "What is each of the two results added to?",
)
def no_residuals(x, norm_1, attention, norm_2, feed_):
    return feed_(norm_2(attention(norm_1(x))))


@mistake(
    "Attention has no residual: its result takes the place of x.", "What is the result of attention added to?"
)
def no_residual_at_attention(x, norm_1, attention, norm_2, feed_):
    x = attention(norm_1(x))
    return x + feed_(norm_2(x))


@mistake(
    "The feed-forward has no residual: its result takes the place of x.",
    "What is the result of the feed-forward added to?",
)
def no_residual_at_feed_forward(x, norm_1, attention, norm_2, feed_):
    x = x + attention(norm_1(x))
    return feed_(norm_2(x))


@mistake(
    "Both residuals carry the normalised words: x was overwritten by its layer norm before the sum.",
    "Is what passes by untouched, or has it been through layer norm? Give the normalised words a name of their own.",
)
def residuals_of_the_normalised(x, norm_1, attention, norm_2, feed_):
    x = norm_1(x)
    x = x + attention(x)
    x = norm_2(x)
    return x + feed_(x)


@mistake(
    "The first residual carries the normalised words instead of x itself.",
    "Is what passes by the attention untouched?",
)
def first_residual_normalised(x, norm_1, attention, norm_2, feed_):
    y = norm_1(x)
    x = y + attention(y)
    return x + feed_(norm_2(x))


@mistake(
    "The second residual carries the normalised words instead of what came out of the attention part.",
    "Is what passes by the feed-forward untouched?",
)
def second_residual_normalised(x, norm_1, attention, norm_2, feed_):
    x = x + attention(norm_1(x))
    y = norm_2(x)
    return y + feed_(y)


@mistake(
    "The second residual adds the words as they came into the block, so the attention's result passes only "
    "through the feed-forward.",
    "What is x after the first of the two lines? The second line continues from there.",
)
def second_residual_from_the_start(x, norm_1, attention, norm_2, feed_):
    y = x + attention(norm_1(x))
    return x + feed_(norm_2(y))


@mistake(
    "The words as they came in are added twice: once beside attention, and again at the end.",
    "How many sums does the formula have?",
)
def added_twice(x, norm_1, attention, norm_2, feed_):
    y = x + attention(norm_1(x))
    return x + y + feed_(norm_2(y))


@mistake(
    "Attention and feed-forward work side by side on the same words; in this block the second "
    "reads what the first has written.",
    "Which x does the second line of the formula use?",
)
def side_by_side(x, norm_1, attention, norm_2, feed_):
    return x + attention(norm_1(x)) + feed_(norm_2(x))


# Norms.


@mistake(
    "The norms come after the sums, as in the Transformer of 2017 (post-norm); here each comes "
    "before its part (pre-norm).",
    "What does each part read: x, or the layer norm of x?",
)
def post_norm(x, norm_1, attention, norm_2, feed_):
    x = norm_1(x + attention(x))
    return norm_2(x + feed_(x))


@mistake(
    "The results of attention and feed-forward are normalised, instead of what these two read.",
    "Which comes first in each line, layer norm or the part itself?",
)
def results_normalised(x, norm_1, attention, norm_2, feed_):
    x = x + norm_1(attention(x))
    return x + norm_2(feed_(x))


@mistake("There is no layer norm at all.", "What do attention and feed-forward read: x itself?")
def no_norms(x, norm_1, attention, norm_2, feed_):
    x = x + attention(x)
    return x + feed_(x)


@transformer_block.misconception(
    means="Queries are made of the normalised words, keys and values of the words as they came.",
    nudge="In self-attention all three are the same words. Which ones does the formula name?",
)
def only_queries_normed(x, parameters, heads, mask):
    return attending(x, parameters, heads, mask, normed="q")


@transformer_block.misconception(
    means="Queries and values are made of the normed words, keys of the words as they came.",
    nudge="In self-attention all three are the same words. Which ones does the formula name?",
)
def keys_not_normed(x, parameters, heads, mask):
    return attending(x, parameters, heads, mask, normed="qv")


@transformer_block.misconception(
    means="Queries and keys are made of the normed words, values of the words as they came.",
    nudge="In self-attention all three are the same words. Which ones does the formula name?",
)
def values_not_normed(x, parameters, heads, mask):
    return attending(x, parameters, heads, mask, normed="qk")


def attending(x, parameters, heads, mask, normed):
    """The block, where only the named ones of queries, keys and values are made of normed words."""
    p = parameters
    y = norm(x, p["gain_1"], p["bias_1"])
    d, length = x.shape[-1], x.shape[1]
    shape = (len(x), length, heads, d // heads)
    q, k, v = (
        ((y if name in normed else x) @ p[f"w_{name}"]).reshape(shape).swapaxes(1, 2) for name in "qkv"
    )
    scores = np.where(mask, q @ k.swapaxes(-1, -2) / math.sqrt(d // heads), -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = weights / weights.sum(axis=-1, keepdims=True) @ v
    x = x + mixed.swapaxes(1, 2).reshape(x.shape) @ p["w_o"]
    return x + feed(norm(x, p["gain_2"], p["bias_2"]), p["w_1"], p["b_1"], p["w_2"], p["b_2"])


@mistake("The layer norm before the attention is missing.", "What does attention read: x itself?")
def no_first_norm(x, norm_1, attention, norm_2, feed_):
    x = x + attention(x)
    return x + feed_(norm_2(x))


@mistake("The layer norm before the feed-forward is missing.", "What does the feed-forward read: x itself?")
def no_second_norm(x, norm_1, attention, norm_2, feed_):
    x = x + attention(norm_1(x))
    return x + feed_(x)


@mistake(
    "Both norms use gain_1 and bias_1; the second has its own.",
    "Which two entries of `parameters` have you not used?",
)
def first_norm_twice(x, norm_1, attention, norm_2, feed_):
    x = x + attention(norm_1(x))
    return x + feed_(norm_1(x))


@mistake(
    "The two norms have changed places.",
    "Whose gain ends in 1: that before attention or before feed-forward?",
)
def norms_exchanged(x, norm_1, attention, norm_2, feed_):
    x = x + attention(norm_2(x))
    return x + feed_(norm_1(x))


@mistake(
    "There is a third layer norm at the end of the block; in a pre-norm model it comes once, after the last block.",
    "How many norms does the picture of a block show?",
)
def norm_at_the_end(x, norm_1, attention, norm_2, feed_):
    x = x + attention(norm_1(x))
    return norm_2(x + feed_(norm_2(x)))


# Order and what is left out.


@mistake(
    "The feed-forward comes first, and attention second.", "In which order do the parts stand in the picture?"
)
def feed_forward_first(x, norm_1, attention, norm_2, feed_):
    x = x + feed_(norm_2(x))
    return x + attention(norm_1(x))


@mistake(
    "The block ends after attention; the feed-forward is missing.", "What is the second half of the block?"
)
def no_feed_forward(x, norm_1, attention, norm_2, feed_):
    return x + attention(norm_1(x))


@mistake("The attention is missing: no word learns of any other.", "What is the first half of the block?")
def no_attention(x, norm_1, attention, norm_2, feed_):
    return x + feed_(norm_2(x))


@mistake(
    "The result is what the feed-forward adds; the sum with what passes by it is missing.",
    "What is the result of the feed-forward added to?",
)
def only_what_is_added(x, norm_1, attention, norm_2, feed_):
    y = attention(norm_1(x))
    return y + feed_(norm_2(x + y))


# Arguments.


@transformer_block.misconception(
    means="The mask is not used: each word attends to those that come after it as well.",
    nudge="Which of your arguments does the attention not get?",
)
def mask_ignored(x, parameters, heads, mask):
    return block(x, parameters, heads, np.ones_like(mask))


@transformer_block.misconception(
    means="You always use a causal mask, whatever `mask` says.",
    nudge="Where does your code use its argument `mask`?",
)
def always_causal(x, parameters, heads, mask):
    return block(x, parameters, heads, causal(x.shape[1]))


@transformer_block.misconception(
    means="This is attention with one big head: `heads` makes no difference.",
    nudge="Where does your code use its argument `heads`?",
)
def one_big_head(x, parameters, heads, mask):
    return block(x, parameters, 1, mask)


@transformer_block.misconception(
    means="Queries and keys have changed places.",
    nudge="Compare the order of the tables with that in `multi_head_attention`.",
)
def queries_and_keys_exchanged(x, parameters, heads, mask):
    return block(x, parameters | {"w_q": parameters["w_k"], "w_k": parameters["w_q"]}, heads, mask)


@transformer_block.misconception(
    means="The feed-forward bends with ReLU instead of GELU.",
    nudge="Does your block call your own `feed_forward`, and does that pass its check?",
)
def relu_inside(x, parameters, heads, mask):
    p = parameters
    x = x + attend(norm(x, p["gain_1"], p["bias_1"]), p["w_q"], p["w_k"], p["w_v"], p["w_o"], heads, mask)
    return x + feed(norm(x, p["gain_2"], p["bias_2"]), p["w_1"], p["b_1"], p["w_2"], p["b_2"], relu)


@transformer_block.misconception(
    means="The feed-forward bends with the GELU of the error function erf, which differs a little.",
    nudge="Does your block call your own `feed_forward`, and does that pass its check?",
)
def exact_gelu_inside(x, parameters, heads, mask):
    p = parameters
    x = x + attend(norm(x, p["gain_1"], p["bias_1"]), p["w_q"], p["w_k"], p["w_v"], p["w_o"], heads, mask)
    return x + feed(norm(x, p["gain_2"], p["bias_2"]), p["w_1"], p["b_1"], p["w_2"], p["b_2"], gelu_exact)


@mistake(
    "The feed-forward reads the normalised words that attention read; it should read the second norm of what "
    "attention has made of x.",
    "Which two entries of `parameters` have you not used? What is the second norm taken of?",
)
def feed_forward_reads_the_first_norm(x, norm_1, attention, norm_2, feed_):
    y = norm_1(x)
    return x + attention(y) + feed_(y)


# Two at once.


def both(first, second):
    """Register two mistakes at once, of those written with the four parts, or with all arguments."""
    known = {m.name: m.function for m in transformer_block.misconceptions}
    pair = [known[one.__name__.replace("_", "-")] for one in (first, second)]

    def register(wrong):
        def function(x, parameters, heads, mask):
            return wrong(x, parameters, heads, mask)

        function.__name__ = wrong.__name__
        transformer_block.combined_misconception(*pair)(function)
        return wrong

    return register


@both(only_queries_normed, first_norm_twice)
def only_queries_normed_and_first_norm_twice(x, parameters, heads, mask):
    p = parameters
    return only_queries_normed(x, p | {"gain_2": p["gain_1"], "bias_2": p["bias_1"]}, heads, mask)


@both(no_residuals, no_norms)
def neither_residuals_nor_norms(x, parameters, heads, mask):
    _, attention, _, feed_ = parts(parameters, heads, mask)
    return feed_(attention(x))


@both(post_norm, mask_ignored)
def post_norm_without_mask(x, parameters, heads, mask):
    return post_norm(x, *parts(parameters, heads, np.ones_like(mask)))


@both(first_norm_twice, mask_ignored)
def first_norm_twice_without_mask(x, parameters, heads, mask):
    return first_norm_twice(x, *parts(parameters, heads, np.ones_like(mask)))


@both(first_norm_twice, no_residual_at_attention)
def first_norm_twice_no_residual_at_attention(x, parameters, heads, mask):
    norm_1, attention, _, feed_ = parts(parameters, heads, mask)
    return no_residual_at_attention(x, norm_1, attention, norm_1, feed_)


@both(first_norm_twice, no_residual_at_feed_forward)
def first_norm_twice_no_residual_at_feed_forward(x, parameters, heads, mask):
    norm_1, attention, _, feed_ = parts(parameters, heads, mask)
    return no_residual_at_feed_forward(x, norm_1, attention, norm_1, feed_)


@both(post_norm, first_norm_twice)
def post_norm_first_norm_twice(x, parameters, heads, mask):
    norm_1, attention, _, feed_ = parts(parameters, heads, mask)
    return post_norm(x, norm_1, attention, norm_1, feed_)


@both(no_residuals, mask_ignored)
def neither_residuals_nor_mask(x, parameters, heads, mask):
    return no_residuals(x, *parts(parameters, heads, np.ones_like(mask)))


@transformer_block.common_mistake
def modifies_argument(x, parameters, heads, mask):
    norm_1, attention, norm_2, feed_ = parts(parameters, heads, mask)
    x += attention(norm_1(x))
    x += feed_(norm_2(x))
    return x


@transformer_block.common_mistake
def returns_a_tuple(x, parameters, heads, mask):
    return block(x, parameters, heads, mask), parameters["w_q"]


@transformer_block.common_mistake
def lower_precision(x, parameters, heads, mask):
    return block(x, parameters, heads, mask).astype(np.float32)


@mistake(
    "The feed-forward comes first, and attention second.",
    "In which order do the parts stand in the picture?",
)
def feed_forward_first_with_the_norms_as_named(x, norm_1, attention, norm_2, feed_):
    x = x + feed_(norm_1(x))
    return x + attention(norm_2(x))


@mistake(
    "The second norm reads the normed words of the first one, so the feed-forward does not see what attention has written.",
    "Of what is the second norm taken: of x as it is by then, or of the words that attention read?",
)
def second_norm_of_the_first(x, norm_1, attention, norm_2, feed_):
    y = norm_1(x)
    return x + attention(y) + feed_(norm_2(y))


@mistake(
    "The words as they came are counted twice in the first sum.",
    "What is added to the result of attention: x, or twice x?",
)
def stream_doubled(x, norm_1, attention, norm_2, feed_):
    x = 2 * x + attention(norm_1(x))
    return x + feed_(norm_2(x))


@mistake(
    "Attention stands in both halves; the feed-forward is missing.",
    "What is the second half of the block?",
)
def attention_twice(x, norm_1, attention, norm_2, feed_):
    x = x + attention(norm_1(x))
    return x + attention(norm_2(x))


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
