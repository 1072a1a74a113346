"""The exercise `blockwise_attention`: full attention's numbers, without its matrix of scores.

Four cases limit the memory. In the first the blocks are wide and few, in the second a single row of scores is too
much, in the third the blocks are narrow and many, the fourth is causal: so a matrix of scores, one row of it, an array
for each block and a mask of full size are told apart. Each of them goes beyond the limit by more than the 8 MB that
the grader's look from outside forgives.
"""

import numpy as np

from attention_labs.comparers import within_the_values
from autograder.authoring import Exercise, inputs, sizes

from ._shared import CACHED_KEYS, CACHED_VALUES, K, Q, V
from .merge_softmax import merge_softmax

blockwise_attention = Exercise(
    "blockwise_attention",
    points=4,
    builds_on=[merge_softmax],
    properties=[within_the_values],
    tolerance=1e-9,
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


@blockwise_attention.case(
    "one query with two million keys in blocks of 5000, at most 1 MB", memory=1_000_000
)
def one_long_row(rng):
    query, key, value = drawn(rng, 1, 1, 2, 1)
    return inputs(
        query, np.broadcast_to(key, (2_000_000, 2)), np.broadcast_to(value, (2_000_000, 1)), 5000
    )


@blockwise_attention.case("4000 keys in blocks of 8, at most 1 MB", memory=1_000_000)
def narrow_blocks(rng):
    queries, keys, values = drawn(rng, 400, 500, 2, 1)
    return inputs(queries, np.tile(keys, (8, 1)), np.tile(values, (8, 1)), 8)


@blockwise_attention.case("causal, 1500 keys in blocks of 16, at most 1.5 MB", memory=1_500_000)
def long_causal(rng):
    return inputs(*drawn(rng, 1500, 1500, 2, 1), 16, causal=True)


@blockwise_attention.slips("""
    full_matrix: Somewhere you build an array with an entry for each query and each key: the whole matrix
        of scores, or a mask of that size.
        Hint: What of a block's scores do the later blocks still need? Can the rest be forgotten?
    full_mask: Your function needs too much memory only if `causal` is True. Either the mask has an entry
        for each query and each key, or your blocks are larger than `block` says.
        Hint: Which columns of the mask does one block need? Can they be made when they are needed?
    more_than_one_block_at_once: With many small blocks you hold more than with a few large ones:
        something of each block is kept until the end, or `block` is taken for the number of blocks.
        Hint: How many blocks have to be in memory at the same time? Is `block` a size or a count in your
        code?
    no_scale: The scores are not divided by √d_k.
        Hint: What does scaled dot-product attention do with the dot products before the softmax?
    divides_by_d_k: You divided the scores by d_k instead of by its square root.
        Hint: Compare your scale with the formula: is a root missing?
    root_of_the_block: You scaled by the root of the number of keys in the block; d_k is the size of one key.
        Hint: Which axis of the keys holds the d_k numbers of one key?
    average_of_the_blocks: You averaged the results of the blocks, so a block with small scores
        counts as much as one with large scores.
        Hint: What else must you keep of a block, besides its result, so that it gets the right weight?
    sum_of_the_blocks: You added up the results of the blocks, each of which had its own softmax: the
        weights sum to more than 1.
        Hint: Over which keys should a query's weights sum to 1, those of a block or all?
    last_block_only: Only the last block is left: each one takes the place of what came before.
        Hint: What becomes of the result of the first block when the second is done?
    old_sums_not_rescaled: When a later block has a larger maximum, what you had so far is not rescaled.
        Hint: Old sums were measured against the old maximum. By which factor do they change?
    no_maximum: No maximum is subtracted: exp(1000) is inf, exp(-1000) is 0, and their quotients are not
        numbers.
        Hint: Which number, different for each query, can you subtract from the scores so that nothing
        overflows?
    maximum_begins_at_zero: Your first maximum is 0, so scores far below 0 all become exp(-1000) = 0.
        Hint: Which number is smaller than every score?
    short_last_block_lost: The keys after the last whole block are left out.
        Hint: What does your loop do if `block` does not divide the number of keys?
    last_key_of_each_block_lost: The last key of each block is left out: a slice ends *before* its second
        number.
        Hint: How many rows has `keys[start:start + block - 1]`?
    causal_ignored: `causal` makes no difference: queries see keys that come later.
        Hint: Where does your code use `causal`?
    always_causal: The future is always hidden, whether `causal` says so or not.
        Hint: Where does your code ask what `causal` is?
    keys_numbered_anew: In your causal mask the keys of each block are numbered from 0 again.
        Hint: Which number does the first key of the second block have in the whole text?
    does_not_see_itself: Queries do not see their own key: yours is a mask of `<`, and it should be `<=`.
        Hint: May a word look at itself? What does the first query see?
    sees_the_future_only: Your mask is the wrong way round: queries see what comes later, and not what
        came before.
        Hint: For query 0, which keys are allowed? Compare the key's number with the query's.
    nan_in_hidden_blocks: For early queries a late block is hidden as a whole; there -inf minus -inf is
        not a number.
        Hint: What is the maximum of a block in which everything is hidden, and what could you subtract
        instead?
    hidden_scores_zero: Hidden scores were set to 0, and exp(0) is 1: a score of 0 is an ordinary score.
        Hint: Which number must replace a hidden score so that its exponential is 0?
    never_divided: The division by the sum is missing, so these are no averages.
        Hint: What is left to do with `out` and `sum` when all blocks are merged?
    only_its_own_block: Each block of queries attends only to the block of keys with the same number.
        Hint: Which keys may a query of the first block see? All of them have to be gone through.
    does_not_see_itself_and_gives_zeros: Queries do not see their own key, so the first query sees
        nothing and becomes 0: yours is a mask of `<`, and it should be `<=`.
        Hint: May a word look at itself? What does the first query see?
    divided_in_each_block_too: Each block's out was divided by its own sum before it was merged, and all
        of it once more at the end.
        Hint: What does `merge_softmax` expect as the out of a part: divided already, or not yet?
    divided_in_each_block_only: Each block's out was divided by its own sum before it was merged, and
        nothing divides at the end; it should be the other way round.
        Hint: What does `merge_softmax` expect as the out of a part: divided already, or not yet? When
        does the division come?
    returns_nothing
    outs_not_rescaled: When the maximum changes, the sums are rescaled and the outs are not.
        Hint: Both were made with the old maximum subtracted. What holds for the one, then?
    sums_not_rescaled: When the maximum changes, the outs are rescaled and the sums are not.
        Hint: Both were made with the old maximum subtracted. What holds for the one, then?
    divided_after_every_block: You divide by the sum after every block, so what came early is divided
        again and again.
        Hint: What is the sum after the first of three blocks: is it the one to divide by?
    last_block_lost_unless_full: The last block is lost if it is not full: you do not use the keys after
        the last whole block.
        Hint: 14 keys in blocks of 4: how many blocks are that, and which keys are in the last one?
    root_of_block: You divided the scores by √block; how many keys are looked at together has no part in it.
        Hint: Of which numbers is a dot product the sum? How many are there?
    each_block_with_its_own_maximum: Each block subtracts a maximum of its own, and the sums and outs are
        added as they are: they are not in the same measure.
        Hint: By what must what was added up so far be multiplied when a larger maximum comes?
    first_values_in_every_block: Every block is mixed from the values of the first one.
        Hint: Which values belong to the keys from `start` on? Are both cut at the same places?
""")
def blockwise_attention_with_slips(slip, queries, keys, values, block, causal=False):
    L_q, L_k, d_k = len(queries), len(keys), keys.shape[1]
    causal = slip.choose(causal, causal_ignored=False, always_causal=True)
    block = slip.choose(block, full_matrix=L_k, more_than_one_block_at_once=-(-L_k // block))
    end = slip.choose(
        L_k,
        short_last_block_lost=L_k // block * block,
        last_block_lost_unless_full=max(1, L_k // block) * block,
    )
    scale = slip.choose(d_k**0.5, no_scale=1.0, divides_by_d_k=d_k, root_of_block=block**0.5)
    if slip.full_mask and causal:
        mask = np.tri(L_q, dtype=bool)
    if slip.first_values_in_every_block:
        values = values[np.arange(L_k) % block]
    if slip.only_its_own_block:
        block_of_key = np.arange(L_k) // block
    averages_each_block = (
        slip.average_of_the_blocks
        or slip.sum_of_the_blocks
        or slip.last_block_only
        or slip.divided_in_each_block_too
        or slip.divided_in_each_block_only
    )

    rows = np.arange(L_q)[:, None]
    largest = np.full((L_q, 1), slip.choose(-np.inf, maximum_begins_at_zero=0.0))
    total, out = np.zeros((L_q, 1)), np.zeros((L_q, values.shape[1]))
    for start in range(0, end, block):
        columns = np.arange(start, min(start + block, L_k))
        if slip.last_key_of_each_block_lost:
            columns = columns[:-1]
        if slip.root_of_the_block:
            scale = len(columns) ** 0.5
        scores = queries @ keys[columns].T / scale

        if causal:
            shown = slip.choose(
                columns <= rows,
                keys_numbered_anew=columns - start <= rows,
                does_not_see_itself=columns < rows,
                does_not_see_itself_and_gives_zeros=columns < rows,
                sees_the_future_only=columns >= rows,
            )
            if slip.full_mask:
                shown = mask[:, columns]
            scores = np.where(shown, scores, slip.choose(-np.inf, hidden_scores_zero=0.0))
        if slip.only_its_own_block:
            scores = np.where(rows // block == block_of_key[columns], scores, -np.inf)

        # The block's own maximum, sum and out.
        top = scores.max(axis=1, keepdims=True, initial=-np.inf)
        if slip.no_maximum:
            top = np.zeros((L_q, 1))
        shift = slip.choose(np.where(np.isfinite(top), top, 0), nan_in_hidden_blocks=top)
        powers = np.exp(scores - shift)
        block_total = powers.sum(axis=1, keepdims=True)
        block_out = powers @ values[columns]
        if averages_each_block:
            block_out = block_out / np.where(block_total == 0, 1, block_total)

        # Merged with those of the blocks before.
        new = np.maximum(largest, top)
        shift = np.where(np.isfinite(new), new, 0)
        before = slip.choose(
            np.exp(largest - shift),
            average_of_the_blocks=1,
            sum_of_the_blocks=1,
            last_block_only=0,
            old_sums_not_rescaled=1,
            each_block_with_its_own_maximum=1,
        )
        now = slip.choose(
            np.exp(top - shift),
            average_of_the_blocks=1,
            sum_of_the_blocks=1,
            last_block_only=1,
            each_block_with_its_own_maximum=1,
        )
        total = total * slip.choose(before, sums_not_rescaled=1) + block_total * now
        out = out * slip.choose(before, outs_not_rescaled=1) + block_out * now
        if slip.divided_after_every_block:
            out = out / total
        largest = new

    if slip.only_its_own_block or slip.does_not_see_itself_and_gives_zeros:
        total = np.where(total == 0, 1, total)
    divisor = slip.choose(
        total,
        average_of_the_blocks=len(range(0, L_k, block)),
        sum_of_the_blocks=1,
        last_block_only=1,
        never_divided=1,
        divided_in_each_block_only=1,
        divided_after_every_block=1,
    )
    return slip.choose(out / divisor, returns_nothing=None)


@blockwise_attention.misconception(
    means="You cut the queries into blocks. Cut the keys: your scores have a column for every key.",
    nudge="There may be a million keys. Which of your arrays should be read `block` rows at a time?",
)
def blocks_of_queries(queries, keys, values, block, causal=False):
    out = np.zeros((len(queries), values.shape[1]))
    for start in range(0, len(queries), block):
        rows = np.arange(start, min(start + block, len(queries)))
        scores = queries[rows] @ keys.T / keys.shape[1] ** 0.5
        if causal:
            scores = np.where(np.arange(len(keys)) <= rows[:, None], scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[rows] = weights @ values / weights.sum(axis=1, keepdims=True)
    return out


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
        m, t, o = (
            -np.inf * np.ones(len(some)),
            np.zeros(len(some)),
            np.zeros((len(some), values.shape[1])),
        )
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
        out[rows] = (
            out[rows] * np.exp(log_sum[rows] - both)[:, None] + np.exp(s - both[:, None]) @ v
        )
        log_sum[rows] = both
    return out
