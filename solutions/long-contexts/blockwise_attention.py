"""The exercise `blockwise_attention`: full attention's numbers, without its matrix of scores.

Four cases limit the memory. In the first the blocks are wide and few, in the second a single row of scores is too
much, in the third the blocks are narrow and many, the fourth is causal: so a matrix of scores, one row of it, an array
for each block and a mask of full size are told apart. Each of them goes beyond the limit by more than the 8 MB that
the grader's look from outside forgives.
"""

import numpy as np

from attention_labs.comparers import within_the_values
from autograder.authoring import Exercise, inputs, sizes

from ._shared import CACHED_KEYS, CACHED_VALUES, K, Q, V, full
from .merge_softmax import merge_softmax

blockwise_attention = Exercise(
    "blockwise_attention", points=4, builds_on=[merge_softmax], properties=[within_the_values], tolerance=1e-9
)


@blockwise_attention.domain(
    sizes={"L_q": (1, 60), "L_k": (1, 60), "d_k": (1, 60), "d_v": (1, 60), "block": (1, 100)},
    flags={"causal": (False, True)},
    magnitudes=(1.0, 1000.0),
)
def anywhere(rng, L_q, L_k, d_k, d_v, block, causal, magnitude):
    L_q = L_k if causal else L_q
    keys = rng.uniform(-1, 1, size=(L_k, d_k))
    queries = rng.normal(size=(L_q, d_k))
    if magnitude > 1:
        queries *= magnitude * d_k**0.5 / np.abs(queries).sum(axis=1, keepdims=True)
    return inputs(queries, keys, rng.normal(size=(L_k, d_v)), block, causal=causal)


def drawn(rng, L_q, L_k, d_k, d_v):
    """Random queries, keys and values."""
    return tuple(rng.normal(size=shape) for shape in ((L_q, d_k), (L_k, d_k), (L_k, d_v)))


def with_scores_near(rng, score, L_q, L_k):
    """Queries, keys and values whose scores are all within a few of `score`."""
    d_k, d_v = 4, 3
    keys = np.ones((L_k, d_k)) + 0.002 * rng.normal(size=(L_k, d_k))
    queries = np.full((L_q, d_k), score / d_k**0.5) * (1 + 0.01 * rng.random(size=(L_q, 1)))
    return queries, keys, rng.normal(size=(L_k, d_v))


@blockwise_attention.case("the example of section 2, in blocks of two")
def example(rng):
    return inputs(Q[None], np.vstack([CACHED_KEYS, K]), np.vstack([CACHED_VALUES, V]), 2)


@blockwise_attention.case("blocks that divide the keys evenly")
def even_blocks(rng):
    L_q, d_k, d_v = sizes(rng, 3, low=3, high=7)
    return inputs(*drawn(rng, L_q, 12, d_k, d_v), 4)


@blockwise_attention.case("a last block that is shorter")
def uneven_blocks(rng):
    L_q, d_k, d_v = sizes(rng, 3, low=3, high=7)
    return inputs(*drawn(rng, L_q, 14, d_k, d_v), 4)


@blockwise_attention.case("a block larger than all the keys")
def one_block(rng):
    return inputs(*drawn(rng, *sizes(rng, 4, low=3)), 50)


@blockwise_attention.case("blocks of one key")
def blocks_of_one(rng):
    return inputs(*drawn(rng, *sizes(rng, 4, low=3)), 1)


@blockwise_attention.case("causal, in several blocks")
def causal_blocks(rng):
    d_k, d_v = sizes(rng, 2, low=3)
    return inputs(*drawn(rng, 11, 11, d_k, d_v), 3, causal=True)


@blockwise_attention.case("causal, in one block")
def causal_in_one(rng):
    L, d_k, d_v = sizes(rng, 3, low=3)
    return inputs(*drawn(rng, L, L, d_k, d_v), 20, causal=True)


@blockwise_attention.case("scores of about 1000")
def large_scores(rng):
    return inputs(*with_scores_near(rng, 1000, 5, 9), 4)


@blockwise_attention.case("scores of about -1000")
def very_low_scores(rng):
    return inputs(*with_scores_near(rng, -1000, 6, 9), 4)


@blockwise_attention.case("causal, with scores of about -1000")
def very_low_scores_causal(rng):
    return inputs(*with_scores_near(rng, -1000, 9, 9), 4, causal=True)


@blockwise_attention.case("12,000 keys in blocks of 150, at most 3 MB", memory=3_000_000)
def wide_blocks(rng):
    return inputs(*drawn(rng, 300, 12_000, 2, 1), 150)


@blockwise_attention.case("one query with two million keys in blocks of 5000, at most 1 MB", memory=1_000_000)
def one_long_row(rng):
    query, key, value = drawn(rng, 1, 1, 2, 1)
    return inputs(query, np.broadcast_to(key, (2_000_000, 2)), np.broadcast_to(value, (2_000_000, 1)), 5000)


@blockwise_attention.case("8000 keys in blocks of 8, at most 1 MB", memory=1_000_000)
def narrow_blocks(rng):
    queries, keys, values = drawn(rng, 400, 1000, 2, 1)
    return inputs(queries, np.tile(keys, (8, 1)), np.tile(values, (8, 1)), 8)


@blockwise_attention.case("causal, 2900 keys in blocks of 16, at most 2 MB", memory=2_000_000)
def long_causal(rng):
    return inputs(*drawn(rng, 2900, 2900, 2, 1), 16, causal=True)


# Mistakes.


def in_blocks(
    queries,
    keys,
    values,
    block,
    causal,
    *,
    scale=None,
    first=-np.inf,
    rescale=True,
    maximum=True,
    shown=lambda columns, rows, start: columns <= rows,
    stop=0,
    guard=True,
    divide=True,
    sums=True,
    outs=True,
    end=None,
    at_once=False,
):
    """The right steps, each of which can be left out or done in another way."""
    rows = np.arange(len(queries))[:, None]
    top, total = np.full(len(queries), float(first)), np.zeros(len(queries))
    out = np.zeros((len(queries), values.shape[1]))
    for start in range(0, len(keys) if end is None else end, block):
        columns = np.arange(start, min(start + block, len(keys)) - stop)
        scores = queries @ keys[columns].T / (keys.shape[1] ** 0.5 if scale is None else scale)
        if causal:
            scores = np.where(shown(columns, rows, start), scores, -np.inf)
        if not maximum:
            powers, factor = np.exp(scores), 1.0
        else:
            new = np.maximum(top, scores.max(axis=1, initial=-np.inf))
            shift = np.where(np.isfinite(new), new, 0) if guard else new
            powers = np.exp(scores - shift[:, None])
            factor = np.exp(top - shift) if rescale else np.ones(len(queries))
            top = new
        total = total * (factor if sums else 1) + powers.sum(axis=1)
        out = out * (np.reshape(factor, (-1, 1)) if outs else 1) + powers @ values[columns]
        if at_once:
            out = out / total[:, None]
    return out / total[:, None] if divide else out


def each_block(queries, keys, values, block, causal):
    """Return the result of each block separately, in float64."""
    for start in range(0, len(keys), block):
        mask = np.arange(start, min(start + block, len(keys))) <= np.arange(len(queries))[:, None]
        part = slice(start, start + block)
        yield full(queries, keys[part], values[part], mask if causal else None)


@blockwise_attention.misconception(
    means="Somewhere you build an array with an entry for each query and each key: the whole matrix of scores, or a "
    "mask of that size.",
    nudge="What of a block's scores do the later blocks still need? Can the rest be forgotten?",
)
def full_matrix(queries, keys, values, block, causal=False):
    return full(queries, keys, values, np.tri(len(queries), dtype=bool) if causal else None)


@blockwise_attention.misconception(
    means="You take one query at a time, but all keys at once: a row of scores with a number for each key.",
    nudge="How long is a row if there are a million keys? It is the keys that are to be taken `block` at a time.",
)
def one_query_at_a_time(queries, keys, values, block, causal=False):
    out = np.zeros((len(queries), values.shape[1]))
    for i, query in enumerate(queries):
        seen = i + 1 if causal else len(keys)
        scores = keys[:seen] @ query / keys.shape[1] ** 0.5
        weights = np.exp(scores - scores.max())
        out[i] = weights @ values[:seen] / weights.sum()
    return out


@blockwise_attention.misconception(
    means="Only where it is causal is more held than allowed: the mask is a square of full size, or your blocks are "
    "larger than `block` says.",
    nudge="Which columns of the mask does one block need? Can they be made when they are needed?",
)
def full_mask(queries, keys, values, block, causal=False):
    mask = np.tri(len(queries), dtype=bool) if causal else None
    shown = (lambda columns, rows, start: mask[:, columns]) if causal else None
    return in_blocks(queries, keys, values, block, causal, shown=shown)


@blockwise_attention.misconception(
    means="With many small blocks you hold more than with a few large ones: something of each block is kept until "
    "the end, or `block` is taken for the number of blocks.",
    nudge="How many blocks have to be in memory at the same time? Is `block` a size or a count in your code?",
)
def more_than_one_block_at_once(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, -(-len(keys) // block), causal)


@blockwise_attention.misconception(
    means="The scores are not divided by √d_k.",
    nudge="What does scaled dot-product attention do with the dot products before the softmax?",
)
def no_scale(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, scale=1.0)


@blockwise_attention.misconception(
    means="You divided the scores by d_k instead of by its square root.",
    nudge="Compare your scale with the formula: is a root missing?",
)
def divides_by_d_k(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, scale=keys.shape[1])


@blockwise_attention.misconception(
    means="You scaled by the root of the number of keys in the block; d_k is the size of one key.",
    nudge="Which axis of the keys holds the d_k numbers of one key?",
)
def root_of_the_block(queries, keys, values, block, causal=False):
    out = [np.full(len(queries), -np.inf), np.zeros(len(queries)), np.zeros((len(queries), values.shape[1]))]
    for start in range(0, len(keys), block):
        some = keys[start : start + block]
        scores = queries @ some.T / len(some) ** 0.5
        if causal:
            allowed = np.arange(start, start + len(some)) <= np.arange(len(queries))[:, None]
            scores = np.where(allowed, scores, -np.inf)
        top = scores.max(axis=1)
        powers = np.exp(scores - np.where(np.isfinite(top), top, 0)[:, None])
        out = merge_softmax.reference(*out, top, powers.sum(axis=1), powers @ values[start : start + block])
    return out[2] / out[1][:, None]


@blockwise_attention.misconception(
    means="You averaged the results of the blocks, so a block with small scores counts as much as one with large.",
    nudge="What else must you keep of a block, besides its result, so that it gets the right weight?",
)
def average_of_the_blocks(queries, keys, values, block, causal=False):
    total = number = 0
    for result in each_block(queries, keys, values, block, causal):
        total, number = total + result, number + 1
    return total / number


@blockwise_attention.misconception(
    means="You added up the results of the blocks, each of which had its own softmax: the weights sum to "
    "more than 1.",
    nudge="Over which keys should a query's weights sum to 1, those of a block or all?",
)
def sum_of_the_blocks(queries, keys, values, block, causal=False):
    return sum(each_block(queries, keys, values, block, causal))


@blockwise_attention.misconception(
    means="Only the last block is left: each one takes the place of what came before.",
    nudge="What becomes of the result of the first block when the second is done?",
)
def last_block_only(queries, keys, values, block, causal=False):
    for result in each_block(queries, keys, values, block, causal):
        last = result
    return last


@blockwise_attention.misconception(
    means="When a later block has a larger maximum, what you had so far is not rescaled.",
    nudge="Old sums were measured against the old maximum. By which factor do they change?",
)
def old_sums_not_rescaled(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, rescale=False)


@blockwise_attention.misconception(
    means="No maximum is subtracted: exp(1000) is inf, exp(-1000) is 0, and their quotients are not numbers.",
    nudge="Which number, different for each query, can you subtract from the scores so that nothing overflows?",
)
def no_maximum(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, maximum=False)


@blockwise_attention.misconception(
    means="Your first maximum is 0, so scores far below 0 all become exp(-1000) = 0.",
    nudge="Which number is smaller than every score?",
)
def maximum_begins_at_zero(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, first=0.0)


@blockwise_attention.misconception(
    means="The keys after the last whole block are left out.",
    nudge="What does your loop do if `block` does not divide the number of keys?",
)
def short_last_block_lost(queries, keys, values, block, causal=False):
    whole = len(keys) // block * block
    return in_blocks(queries, keys[:whole], values[:whole], block, causal)


@blockwise_attention.misconception(
    means="The last key of each block is left out: a slice ends *before* its second number.",
    nudge="How many rows has `keys[start:start + block - 1]`?",
)
def last_key_of_each_block_lost(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, stop=1)


@blockwise_attention.misconception(
    means="`causal` makes no difference: queries see keys that come later.",
    nudge="Where does your code use `causal`?",
)
def causal_ignored(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, False)


@blockwise_attention.misconception(
    means="The future is always hidden, whether `causal` says so or not.",
    nudge="Where does your code ask what `causal` is?",
)
def always_causal(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, True)


@blockwise_attention.misconception(
    means="In your causal mask the keys of each block are numbered from 0 again.",
    nudge="Which number does the first key of the second block have in the whole text?",
)
def keys_numbered_anew(queries, keys, values, block, causal=False):
    return in_blocks(
        queries, keys, values, block, causal, shown=lambda columns, rows, start: columns - start <= rows
    )


@blockwise_attention.misconception(
    means="Queries do not see their own key: yours is a mask of `<`, and it should be `<=`.",
    nudge="May a word look at itself? What does the first query see?",
)
def does_not_see_itself(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, shown=lambda columns, rows, start: columns < rows)


@blockwise_attention.misconception(
    means="Your mask is the wrong way round: queries see what comes later, and not what came before.",
    nudge="For query 0, which keys are allowed? Compare the key's number with the query's.",
)
def sees_the_future_only(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, shown=lambda columns, rows, start: columns >= rows)


@blockwise_attention.misconception(
    means="For early queries a late block is hidden as a whole; there -inf minus -inf is not a number.",
    nudge="What is the maximum of a block in which everything is hidden, and what could you subtract instead?",
)
def nan_in_hidden_blocks(queries, keys, values, block, causal=False):
    out = None
    for start in range(0, len(keys), block):
        columns = np.arange(start, min(start + block, len(keys)))
        scores = queries @ keys[columns].T / keys.shape[1] ** 0.5
        if causal:
            scores = np.where(columns <= np.arange(len(queries))[:, None], scores, -np.inf)
        top = scores.max(axis=1)
        powers = np.exp(scores - top[:, None])
        part = top, powers.sum(axis=1), powers @ values[columns]
        out = merge_softmax.reference(*out, *part) if out else part
    return out[2] / out[1][:, None]


@blockwise_attention.misconception(
    means="Hidden scores were set to 0, and exp(0) is 1: a score of 0 is an ordinary score.",
    nudge="Which score has an exponential of 0?",
)
def hidden_scores_zero(queries, keys, values, block, causal=False):
    out = [np.full(len(queries), -np.inf), np.zeros(len(queries)), np.zeros((len(queries), values.shape[1]))]
    for start in range(0, len(keys), block):
        columns = np.arange(start, min(start + block, len(keys)))
        scores = queries @ keys[columns].T / keys.shape[1] ** 0.5
        scores = scores * (columns <= np.arange(len(queries))[:, None]) if causal else scores
        top = scores.max(axis=1)
        powers = np.exp(scores - top[:, None])
        out = merge_softmax.reference(*out, top, powers.sum(axis=1), powers @ values[columns])
    return out[2] / out[1][:, None]


@blockwise_attention.misconception(
    means="The division by the sum is missing, so these are no averages.",
    nudge="What is left to do with `out` and `sum` when all blocks are merged?",
)
def never_divided(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, divide=False)


@blockwise_attention.misconception(
    means="Each block of queries attends only to the block of keys with the same number.",
    nudge="Which keys may a query of the first block see? All of them have to be gone through.",
)
def only_its_own_block(queries, keys, values, block, causal=False):
    pieces = []
    for start in range(0, len(queries), block):
        some = slice(start, start + block)
        rows, columns = np.arange(len(queries))[some], np.arange(len(keys))[some]
        mask = columns <= rows[:, None] if causal else None
        empty = np.zeros((len(rows), values.shape[1]))
        pieces.append(full(queries[some], keys[some], values[some], mask) if len(columns) else empty)
    return np.concatenate(pieces)


@blockwise_attention.misconception(
    means="Queries do not see their own key, so the first query sees nothing and becomes 0: yours is a mask of "
    "`<`, and it should be `<=`.",
    nudge="May a word look at itself? What does the first query see?",
)
def does_not_see_itself_and_gives_zeros(queries, keys, values, block, causal=False):
    out = in_blocks(queries, keys, values, block, causal, shown=lambda columns, rows, start: columns < rows)
    return np.nan_to_num(out, nan=0.0)


def divided_in_each_block(queries, keys, values, block, causal, divide):
    out = [np.full(len(queries), -np.inf), np.zeros(len(queries)), np.zeros((len(queries), values.shape[1]))]
    for start in range(0, len(keys), block):
        columns = np.arange(start, min(start + block, len(keys)))
        scores = queries @ keys[columns].T / keys.shape[1] ** 0.5
        if causal:
            scores = np.where(columns <= np.arange(len(queries))[:, None], scores, -np.inf)
        top = scores.max(axis=1)
        powers = np.exp(scores - np.where(np.isfinite(top), top, 0)[:, None])
        total = powers.sum(axis=1)
        part = powers @ values[columns] / np.where(total == 0, 1, total)[:, None]
        out = merge_softmax.reference(*out, top, total, part)
    return out[2] / out[1][:, None] if divide else out[2]


@blockwise_attention.misconception(
    means="Each block's out was divided by its own sum before it was merged, and all of it once more at the end.",
    nudge="What does `merge_softmax` expect as the out of a part: divided already, or not yet?",
)
def divided_in_each_block_too(queries, keys, values, block, causal=False):
    return divided_in_each_block(queries, keys, values, block, causal, True)


@blockwise_attention.misconception(
    means="Each block's out was divided by its own sum before it was merged, and nothing divides at the end; "
    "it should be the other way round.",
    nudge="What does `merge_softmax` expect as the out of a part: divided already, or not yet? When does the "
    "division come?",
)
def divided_in_each_block_only(queries, keys, values, block, causal=False):
    return divided_in_each_block(queries, keys, values, block, causal, False)


@blockwise_attention.combined_misconception(no_scale, causal_ignored)
def neither_scale_nor_causal(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, False, scale=1.0)


@blockwise_attention.combined_misconception(divides_by_d_k, causal_ignored)
def d_k_and_never_causal(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, False, scale=keys.shape[1])


@blockwise_attention.combined_misconception(no_scale, never_divided)
def neither_scale_nor_division(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, scale=1.0, divide=False)


@blockwise_attention.combined_misconception(no_scale, keys_numbered_anew)
def unscaled_and_numbered_anew(queries, keys, values, block, causal=False):
    def shown(columns, rows, start):
        return columns - start <= rows

    return in_blocks(queries, keys, values, block, causal, scale=1.0, shown=shown)


@blockwise_attention.combined_misconception(causal_ignored, old_sums_not_rescaled)
def never_causal_nor_rescaled(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, False, rescale=False)


@blockwise_attention.combined_misconception(no_scale, no_maximum)
def neither_scale_nor_maximum(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, scale=1.0, maximum=False)


@blockwise_attention.common_mistake
def returns_nothing(queries, keys, values, block, causal=False):
    return None


@blockwise_attention.misconception(
    means="When the maximum changes, the sums are rescaled and the outs are not.",
    nudge="Both were made with the old maximum subtracted. What holds for the one, then?",
)
def outs_not_rescaled(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, outs=False)


@blockwise_attention.misconception(
    means="When the maximum changes, the outs are rescaled and the sums are not.",
    nudge="Both were made with the old maximum subtracted. What holds for the one, then?",
)
def sums_not_rescaled(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, sums=False)


@blockwise_attention.misconception(
    means="You divide by the sum after every block, so what came early is divided again and again.",
    nudge="What is the sum after the first of three blocks: is it the one to divide by?",
)
def divided_after_every_block(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, at_once=True, divide=False)


@blockwise_attention.misconception(
    means="The last block is lost if it is not full: you do not use the keys after the last whole block.",
    nudge="14 keys in blocks of 4: how many blocks are that, and which keys are in the last one?",
)
def last_block_lost_unless_full(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, end=max(1, len(keys) // block) * block)


@blockwise_attention.misconception(
    means="You divided the scores by √block; how many keys are looked at together has no part in it.",
    nudge="Of which numbers is a dot product the sum? How many are there?",
)
def root_of_block(queries, keys, values, block, causal=False):
    return in_blocks(queries, keys, values, block, causal, scale=block**0.5)


@blockwise_attention.misconception(
    means="Each block subtracts a maximum of its own, and the sums and outs are added as they are: they are "
    "not in the same measure.",
    nudge="By what must what was added up so far be multiplied when a larger maximum comes?",
)
def each_block_with_its_own_maximum(queries, keys, values, block, causal=False):
    total, out = np.zeros((len(queries), 1)), np.zeros((len(queries), values.shape[1]))
    for start in range(0, len(keys), block):
        scores = queries @ keys[start : start + block].T / keys.shape[1] ** 0.5
        if causal:
            hidden = np.arange(start, start + scores.shape[1]) > np.arange(len(queries))[:, None]
            scores = np.where(hidden, -np.inf, scores)
        top = scores.max(axis=1, keepdims=True)
        powers = np.exp(scores - np.where(np.isfinite(top), top, 0))
        total, out = total + powers.sum(axis=1, keepdims=True), out + powers @ values[start : start + block]
    return out / total


@blockwise_attention.misconception(
    means="Every block is mixed from the values of the first one.",
    nudge="Which values belong to the keys from `start` on? Are both cut at the same places?",
)
def first_values_in_every_block(queries, keys, values, block, causal=False):
    firsts = values[np.arange(len(keys)) % block]
    return in_blocks(queries, keys, firsts, block, causal)


# Other right answers, which must pass.


@blockwise_attention.variant
def without_merge_softmax(queries, keys, values, block, causal=False):
    n, d = queries.shape
    m = np.full((n, 1), -np.inf)
    total, out = np.zeros((n, 1)), np.zeros((n, values.shape[1]))
    for start in range(0, keys.shape[0], block):
        k, v = keys[start : start + block], values[start : start + block]
        s = queries @ k.T / np.sqrt(d)
        if causal:
            future = start + np.arange(len(k))[None, :] > np.arange(n)[:, None]
            s[future] = -np.inf
        new = np.maximum(m, s.max(axis=1, keepdims=True))
        p = np.exp(s - new)
        total = total * np.exp(m - new) + p.sum(axis=1, keepdims=True)
        out = out * np.exp(m - new) + p @ v
        m = new
    return out / total


@blockwise_attention.variant
def blocks_of_queries_too(queries, keys, values, block, causal=False):
    results = []
    for first in range(0, len(queries), 64):
        some = queries[first : first + 64]
        m, t, o = -np.inf * np.ones(len(some)), np.zeros(len(some)), np.zeros((len(some), values.shape[1]))
        for start in range(0, len(keys), block):
            s = some @ keys[start : start + block].T * keys.shape[1] ** -0.5
            if causal:
                i, j = np.ogrid[first : first + len(some), start : start + s.shape[1]]
                s = np.where(j <= i, s, np.finfo(s.dtype).min)
            new = np.maximum(m, s.max(axis=-1))
            p = np.exp(s - new[:, None])
            a = np.exp(m - new)
            t, o, m = t * a + p.sum(-1), o * a[:, None] + p @ values[start : start + block], new
        results.append(o / t[:, None])
    return np.vstack(results)


@blockwise_attention.variant
def later_queries_only(queries, keys, values, block, causal=False):
    n, scale = len(queries), keys.shape[1] ** 0.5
    log_sum, out = np.full(n, -np.inf), np.zeros((n, values.shape[1]))
    for start in range(0, len(keys), block):
        rows = slice(start if causal else 0, None)  # those before see nothing of this block
        k, v = keys[start : start + block], values[start : start + block]
        s = queries[rows] @ k.T / scale
        if causal:
            s = np.where(np.arange(len(k)) <= np.arange(s.shape[0])[:, None], s, -np.inf)
        both = np.logaddexp(log_sum[rows], np.logaddexp.reduce(s, axis=1))
        out[rows] = out[rows] * np.exp(log_sum[rows] - both)[:, None] + np.exp(s - both[:, None]) @ v
        log_sum[rows] = both
    return out
