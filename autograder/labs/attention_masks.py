"""The exercises of the lab `attention-masks`: masks, and the attention that obeys them."""

import numpy as np

from autograder.labs.exercise import Exercise, inputs, sizes
from autograder.labs.reference import Reference

solution = Reference("attention-masks")

# The small matrices of the notebook's worked example.
Q = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
K = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
V = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])


def some_allowed(rng, *shape):
    """A random mask in which every row has something to see and something hidden."""
    ranks = rng.random(shape).argsort(axis=-1)
    return ranks < rng.integers(1, shape[-1], size=(*shape[:-1], 1))


def some_lengths(rng, batch, size):
    """Lengths of sentences, none empty, at least one shorter than `size`, not all alike."""
    lengths = rng.integers(1, size + 1, size=batch)
    lengths[rng.permutation(batch)[:2]] = size, 1
    return lengths


# --- causal_mask ---------------------------------------------------------------------------------

causal_mask = Exercise("causal_mask", lab="attention-masks", points=1, properties=["no looking ahead"])


@causal_mask.case("four positions, as in the notebook")
def four_positions(rng):
    return inputs(4)


@causal_mask.case("a single position")
def one_position(rng):
    return inputs(1)


@causal_mask.case("a short sentence")
def short_sentence(rng):
    return inputs(int(rng.integers(5, 8)))


@causal_mask.case("a longer sentence")
def longer_sentence(rng):
    return inputs(int(rng.integers(9, 13)))


@causal_mask.misconception(
    means="Each position sees the earlier ones but not itself, so the first one has nothing to attend to.",
    nudge="May a word look at itself? Then what belongs on the diagonal?",
)
def strictly_lower(size):
    return np.tril(np.ones((size, size), dtype=bool), k=-1)


@causal_mask.misconception(
    means="You allowed each position itself and everything after it: it sees the future and not the past.",
    nudge="Rows are queries, columns are keys. In row 0, which columns have already been written?",
)
def upper_triangle(size):
    return np.triu(np.ones((size, size), dtype=bool))


@causal_mask.misconception(
    means="This is the mask the other way round: True stands where attention is forbidden.",
    nudge="In this lab True means “may attend”. Which operator turns every True into False?",
)
def inverted_causal(size):
    return np.triu(np.ones((size, size), dtype=bool), k=1)


@causal_mask.misconception(
    means="Each position also sees the one that comes right after it.",
    nudge="How many columns should be True in row 0? Check the offset `k` or your comparison (`<` or `<=`).",
)
def one_ahead(size):
    return np.tril(np.ones((size, size), dtype=bool), k=1)


@causal_mask.misconception(
    means="Everything is allowed, so nothing is hidden from anybody.",
    nudge="Which half of this square lies in the future?",
)
def all_allowed(size):
    return np.ones((size, size), dtype=bool)


@causal_mask.misconception(
    means="Nothing is allowed: the whole mask is False.",
    nudge="Which array did you cut the triangle from, one full of zeros or one full of ones?",
)
def nothing_allowed(size):
    return np.tril(np.zeros((size, size), dtype=bool))


@causal_mask.misconception(
    means="Each position sees only itself and none of those before it.",
    nudge="Position 2 may look at positions 0, 1 and 2. Which columns is that in row 2?",
)
def only_itself(size):
    return np.eye(size, dtype=bool)


@causal_mask.misconception(
    means="Each position sees itself and its one neighbour, and forgets everything before that.",
    nudge="How far back may the last position look?",
)
def only_one_step_back(size):
    return np.eye(size, dtype=bool) | np.eye(size, k=-1, dtype=bool)


@causal_mask.misconception(
    means="The triangle leans the wrong way: your columns are counted from the right-hand end.",
    nudge="In which column does the first position stand, the leftmost or the rightmost?",
)
def mirrored(size):
    return np.fliplr(np.tri(size, dtype=bool))


@causal_mask.misconception(
    means="This is the additive form (0 = keep, a large negative number = hide); booleans are asked for.",
    nudge="True where a position may attend, False where it may not; the conversion comes in Exercise 3.",
)
def additive_causal(size):
    return np.where(np.tri(size, dtype=bool), 0.0, -1e9)


@causal_mask.misconception(
    means="You return the notebook's mask for four positions, whatever `size` says.",
    nudge="Where does your code use `size`?",
)
def hard_coded_causal(size):
    return np.tri(4, dtype=bool)


@causal_mask.structural
def numbers_not_booleans(size):
    return np.tri(size)


@causal_mask.structural
def extra_axis(size):
    return np.tri(size, dtype=bool)[np.newaxis]


@causal_mask.structural
def returns_a_list(size):
    return [[column <= row for column in range(size)] for row in range(size)]


# --- padding_mask --------------------------------------------------------------------------------

padding_mask = Exercise("padding_mask", lab="attention-masks", points=2)


@padding_mask.case("three sentences, as in the notebook")
def three_sentences(rng):
    return inputs(np.array([2, 5, 3]), 5)


@padding_mask.case("every sentence shorter than size")
def all_short(rng):
    batch, size = sizes(rng, 2, low=5, high=9)
    return inputs(1 + rng.permutation(size - 2)[: min(batch, size - 2)], size)


@padding_mask.case("a full sentence and an empty one")
def full_and_empty(rng):
    size = int(rng.integers(5, 9))
    lengths = rng.permutation(np.array([0, size, int(rng.integers(2, size - 1)), int(rng.integers(2, size))]))
    return inputs(lengths, size)


@padding_mask.case("a batch of one")
def batch_of_one(rng):
    size = int(rng.integers(4, 9))
    return inputs(rng.integers(2, size - 1, size=1), size)


@padding_mask.case("more sentences than positions")
def many_sentences(rng):
    size = int(rng.integers(3, 6))
    return inputs(rng.permutation(np.concatenate([np.arange(size + 1), [1, 2]])), size)


@padding_mask.misconception(
    means="True stands on the padding and False on the words: this is the mask the other way round.",
    nudge="In this lab True means “may attend”. Are the words or the padding to be attended to?",
)
def inverted_padding(lengths, size):
    return np.arange(size) >= lengths[:, None, None]


@padding_mask.misconception(
    means="One padding position too many is allowed after every sentence.",
    nudge="Positions count from 0: what is the position of the last word in a sentence of length 3?",
)
def one_too_many(lengths, size):
    return np.arange(size) <= lengths[:, None, None]


@padding_mask.misconception(
    means="The last word of every sentence is hidden as well.",
    nudge="Positions count from 0: what is the position of the last word in a sentence of length 3?",
)
def one_too_few(lengths, size):
    return np.arange(size) < lengths[:, None, None] - 1


@padding_mask.misconception(
    means="You hid the front of each sentence, as if the padding stood before the words.",
    nudge="The words come first. For length 2 and size 5, which of the positions 0 to 4 are words?",
)
def padding_at_the_front(lengths, size):
    return np.arange(size) >= size - lengths[:, None, None]


@padding_mask.misconception(
    means="A full sentence came out all hidden: there is no padding, and `-0:` is the whole axis.",
    nudge="What does `row[-n:]` select when n is 0? Count from the front instead.",
)
def minus_zero_slice(lengths, size):
    mask = np.ones((len(lengths), 1, size), dtype=bool)
    for i, n in enumerate(lengths):
        mask[i, 0, -(size - n) :] = False
    return mask


@padding_mask.misconception(
    means="Only the last word of each sentence is allowed, instead of every word up to there.",
    nudge="Is it enough to mark where a sentence ends, or do the words before it count too?",
)
def only_the_last_word(lengths, size):
    return np.arange(size) == lengths[:, None, None] - 1


@padding_mask.misconception(
    means="Positions and lengths lie along the same axis, so NumPy compares position i with sentence i.",
    nudge="Which axes of length 1 would put the sentences on the first axis and the positions on the last?",
)
def no_new_axis(lengths, size):
    return np.arange(size) < lengths


@padding_mask.misconception(
    means="Shape (batch, size) lacks the axis for the queries; beside scores of shape (batch, L_q, L_k) "
    "NumPy would match your sentences with the queries.",
    nudge="Which axis of length 1 does the docstring ask for, and between which two others?",
)
def missing_axis(lengths, size):
    return np.arange(size) < lengths[:, None]


@padding_mask.misconception(
    means="The axis of length 1 stands last, so this hides padded queries (rows) and not padded keys.",
    nudge="Scores have shape (batch, L_q, L_k). Which of the three axes should your positions lie along?",
)
def on_the_queries(lengths, size):
    return (np.arange(size) < lengths[:, None])[:, :, None]


@padding_mask.misconception(
    means="The axis of length 1 stands first, so sentence i would be matched with query i.",
    nudge="Scores have shape (batch, L_q, L_k). Where does the batch belong in your mask?",
)
def axis_in_front(lengths, size):
    return (np.arange(size) < lengths[:, None])[None]


@padding_mask.misconception(
    means="You wrote the same row once for every query; the middle axis should have length 1 and broadcast.",
    nudge="The number of queries is not known here. Which length fits any number of them?",
)
def repeated_for_every_query(lengths, size):
    return np.repeat(np.arange(size) < lengths[:, None, None], size, axis=1)


@padding_mask.misconception(
    means="You hid the padded queries as well as the padded keys; some rows have nothing left to attend to.",
    nudge="Whom does it hurt if a padded query attends to something? One row for each sentence is enough.",
)
def queries_hidden_too(lengths, size):
    words = np.arange(size) < lengths[:, None]
    return words[:, :, None] & words[:, None, :]


@padding_mask.misconception(
    means="Every sentence got the length of the first one.",
    nudge="Each sentence has its own entry in `lengths`: along which axis should they lie in the comparison?",
)
def first_length_for_all(lengths, size):
    return np.repeat((np.arange(size) < lengths[0])[None, None], len(lengths), axis=0)


@padding_mask.misconception(
    means="Every sentence got the length of the longest one.",
    nudge="Each sentence has its own entry in `lengths`: along which axis should they lie in the comparison?",
)
def longest_length_for_all(lengths, size):
    return np.repeat((np.arange(size) < lengths.max())[None, None], len(lengths), axis=0)


@padding_mask.misconception(
    means="Your mask is as wide as the longest sentence; it should have `size` columns.",
    nudge="Where does your code use `size`?",
)
def size_of_the_longest(lengths, size):
    return np.arange(lengths.max()) < lengths[:, None, None]


@padding_mask.misconception(
    means="This is the additive form (0 = keep, a large negative number = hide); booleans are asked for.",
    nudge="True where a position may be attended to, False where not; the conversion comes in Exercise 3.",
)
def additive_padding(lengths, size):
    return np.where(np.arange(size) < lengths[:, None, None], 0.0, -1e9)


@padding_mask.misconception(
    means="You return the notebook's own mask for the lengths 2, 5, 3, whatever comes in.",
    nudge="Where does your code use `lengths`?",
)
def hard_coded_padding(lengths, size):
    return np.arange(5) < np.array([2, 5, 3])[:, None, None]


@padding_mask.structural
def numbers_not_booleans(lengths, size):
    return (np.arange(size) < lengths[:, None, None]).astype(np.int64)


@padding_mask.structural
def returns_a_list(lengths, size):
    return [[[position < n for position in range(size)]] for n in lengths.tolist()]


# --- to_additive ---------------------------------------------------------------------------------

to_additive = Exercise("to_additive", lab="attention-masks", points=2, view="weights", exact_dtype=True)


@to_additive.case("a causal mask, no dtype given")
def causal_by_default(rng):
    return inputs(np.tri(4, dtype=bool))


@to_additive.case("a mask of any pattern, in float64")
def pattern_64(rng):
    return inputs(some_allowed(rng, *sizes(rng, 2, low=4)), dtype=np.float64)


@to_additive.case("a padding mask (batch, 1, L_k), in float32")
def padding_32(rng):
    batch, size = sizes(rng, 2, low=3)
    return inputs(solution.padding_mask(some_lengths(rng, batch, size), size), dtype=np.float32)


@to_additive.case("a causal and a padding mask together, in float32")
def both_32(rng):
    batch, size = sizes(rng, 2, low=3)
    return inputs(
        solution.padding_mask(some_lengths(rng, batch, size), size) & np.tri(size, dtype=bool),
        dtype=np.float32,
    )


@to_additive.case("a mask of any pattern, in float16")
def pattern_16(rng):
    return inputs(some_allowed(rng, *sizes(rng, 2, low=4)), dtype=np.float16)


@to_additive.case("a padding mask (batch, 1, L_k), in float16")
def padding_16(rng):
    batch, size = sizes(rng, 2, low=3)
    return inputs(solution.padding_mask(some_lengths(rng, batch, size), size), dtype=np.float16)


@to_additive.misconception(
    means="In float16 -1e9 becomes -inf, and 0 × -inf is NaN (not a number) where nothing should happen.",
    nudge="float16 ends at ±65504. Choose 0 or the lowest number for each place; do not multiply.",
)
def minus_1e9_in_float16(mask, dtype=np.float64):
    return (1 - mask.astype(dtype)) * np.asarray(-1e9).astype(dtype)


@to_additive.misconception(
    means="The numbers are fine, but the result always has one and the same dtype, whatever `dtype` says.",
    nudge="Adding a float64 mask turns float16 scores into float64. Where does your code use `dtype`?",
)
def ignores_dtype(mask, dtype=np.float64):
    return np.where(mask, 0.0, -1e9)


@to_additive.misconception(
    means="You hid the positions that may be attended to, and kept the others: the mask is inverted.",
    nudge="True means “may attend”. What should be added to a score that may stay as it is?",
)
def inverted_additive(mask, dtype=np.float64):
    return np.where(mask, np.finfo(dtype).min, 0).astype(dtype)


@to_additive.misconception(
    means="You add 1 where attention is allowed and 0 where not: that favours a little, and hides nothing.",
    nudge="Which number, added to a score, makes its exponential vanish?",
)
def zeros_and_ones(mask, dtype=np.float64):
    return mask.astype(dtype)


@to_additive.misconception(
    means="You add -1 at the hidden positions, but exp(-1) is 0.37: they keep much of their weight.",
    nudge="Which number, added to a score, makes its exponential vanish?",
)
def minus_one(mask, dtype=np.float64):
    return mask.astype(dtype) - np.ones((), dtype)


@to_additive.misconception(
    means="-10 is not low enough: exp(-10) is 0.00005, so a little of what is hidden leaks through.",
    nudge="How low can a number of this dtype go? `np.finfo` knows.",
)
def too_small_a_number(mask, dtype=np.float64):
    return np.where(mask, 0, -10).astype(dtype)


@to_additive.misconception(
    means="What you add at the hidden positions is 0 or next to it, so nothing is hidden "
    "(`np.finfo(dtype).tiny` and `.eps` are tiny positive numbers, not large negative ones).",
    nudge="Print the number that you add: is it far below any score?",
)
def hides_nothing(mask, dtype=np.float64):
    return np.where(mask, 0, np.finfo(dtype).tiny).astype(dtype)


@to_additive.misconception(
    means="You add a large positive number at the hidden positions, and they win all of the weight.",
    nudge="exp of a large positive number is huge. What sign makes it vanish?",
)
def wrong_sign(mask, dtype=np.float64):
    return np.where(mask, 0, np.finfo(dtype).max).astype(dtype)


@to_additive.misconception(
    means="You add NaN at the hidden positions, and one NaN spreads over the whole row of weights.",
    nudge="exp(NaN) is NaN. Which number has an exponential of 0?",
)
def hides_with_nan(mask, dtype=np.float64):
    return np.where(mask, 0, np.nan).astype(dtype)


@to_additive.misconception(
    means="This is still the boolean mask; added to scores, True counts as 1 and False as 0.",
    nudge="Which number should stand in the place of True, and which in the place of False?",
)
def still_boolean(mask, dtype=np.float64):
    return mask


@to_additive.misconception(
    means="Your array holds whole numbers; scores are floating-point numbers of the type `dtype`.",
    nudge="`astype(dtype)`, or `dtype=dtype` when you make the array, gives the type that is asked for.",
)
def whole_numbers(mask, dtype=np.float64):
    return np.where(mask, 0, -(10**9))


@to_additive.structural
def returns_a_list(mask, dtype=np.float64):
    return np.where(mask, 0, np.finfo(dtype).min).tolist()


# --- masked_softmax ------------------------------------------------------------------------------

masked_softmax = Exercise(
    "masked_softmax", lab="attention-masks", points=3, properties=["no negative weight"]
)


@masked_softmax.case("the notebook's example with its causal mask")
def notebook_scores(rng):
    return inputs(Q @ K.T / np.sqrt(3), mask=np.tri(2, dtype=bool))


@masked_softmax.case("no mask")
def no_mask(rng):
    return inputs(rng.normal(size=sizes(rng, 2, low=3)))


@masked_softmax.case("a mask of shape (L_q, L_k)")
def mask_of_a_matrix(rng):
    shape = sizes(rng, 2, low=3)
    return inputs(rng.normal(size=shape), mask=some_allowed(rng, *shape))


@masked_softmax.case("a batch with a padding mask (batch, 1, L_k)")
def mask_of_a_batch(rng):
    batch, queries, keys = sizes(rng, 3, low=3)
    lengths = some_lengths(rng, batch, keys)
    return inputs(rng.normal(size=(batch, queries, keys)), mask=solution.padding_mask(lengths, keys))


@masked_softmax.case("a batch with a causal mask (1, L, L)")
def mask_for_all(rng):
    batch, size = sizes(rng, 2, low=3)
    return inputs(rng.normal(size=(batch, size, size)), mask=np.tri(size, dtype=bool)[None])


@masked_softmax.case("rows with nothing to attend to")
def empty_rows(rng):
    queries, keys = sizes(rng, 2, low=4)
    mask = some_allowed(rng, queries, keys)
    mask[rng.permutation(queries)[:2]] = False
    return inputs(rng.normal(size=(queries, keys)), mask=mask)


@masked_softmax.case("a batch with an empty sentence")
def empty_sentence(rng):
    batch, queries, keys = sizes(rng, 3, low=3)
    lengths = some_lengths(rng, batch, keys)
    lengths[int(np.argmin(lengths))] = 0
    return inputs(rng.normal(size=(batch, queries, keys)), mask=solution.padding_mask(lengths, keys))


@masked_softmax.case("scores of ±1000")
def large_scores(rng):
    keys = int(rng.integers(5, 9))
    scores, mask = rng.normal(size=(4, keys)), some_allowed(rng, 4, keys)
    scores[0] += np.where(mask[0], 0, 1000)  # a hidden key has the highest score
    scores[1] += 1000
    scores[2] -= 1000
    return inputs(scores, mask=mask)


@masked_softmax.case("float32")
def single_precision(rng):
    shape = sizes(rng, 2, low=4)
    return inputs(rng.normal(size=shape).astype(np.float32), mask=some_allowed(rng, *shape))


def hide(scores, mask, low=-np.inf):
    return scores if mask is None else np.where(mask, scores, low)


def normalised(weights, axis=-1):
    total = weights.sum(axis=axis, keepdims=True)
    return weights / np.where(total == 0, 1, total)


@masked_softmax.misconception(
    means="exp(1000) is too large for a float: it becomes inf, and inf / inf is NaN.",
    nudge="Softmax stays the same if you subtract one number from a whole row. Which number is safe?",
)
def no_maximum(scores, mask=None):
    return normalised(np.exp(hide(scores, mask)))


@masked_softmax.misconception(
    means="`np.nan_to_num` also turned the NaN of an overflow into 0, so rows with large scores are lost.",
    nudge="Which number can you subtract from a row before `np.exp`, so that nothing overflows?",
)
def overflow_turned_to_zero(scores, mask=None):
    weights = np.exp(hide(scores, mask))
    return np.nan_to_num(weights / weights.sum(axis=-1, keepdims=True))


@masked_softmax.misconception(
    means="Your maximum may belong to a hidden key; next to it, everything that is visible becomes 0.",
    nudge="Over which keys should the maximum be taken? Try to hide first, then look for it.",
)
def maximum_over_hidden_keys(scores, mask=None):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return normalised(weights if mask is None else weights * mask)


@masked_softmax.misconception(
    means="A row with nothing to attend to becomes NaN: -inf minus -inf, or 0 divided by 0, is not a number.",
    nudge="Rows of -inf have the maximum -inf and the sum 0. What could you put in the place of each?",
)
def nan_in_empty_rows(scores, mask=None):
    weights = np.exp(hide(scores, mask) - np.max(hide(scores, mask), axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@masked_softmax.misconception(
    means="Where every key is hidden by the same finite number, softmax spreads the weight evenly over them.",
    nudge="Such a row should hold zeros. What could you do with the weights of hidden keys at the end?",
)
def uniform_in_empty_rows(scores, mask=None):
    hidden = hide(scores, mask, -1e9)
    return normalised(np.exp(hidden - hidden.max(axis=-1, keepdims=True)))


@masked_softmax.misconception(
    means="The mask makes no difference: hidden keys get weight like all the others.",
    nudge="Where does your code use `mask`?",
)
def ignores_the_mask(scores, mask=None):
    return solution.masked_softmax(scores)


@masked_softmax.misconception(
    means="You kept what should be hidden and hid what should be kept: the mask is read the other way round.",
    nudge="`np.where(mask, a, b)` takes a where mask is True. What does True mean in this lab?",
)
def inverted_mask(scores, mask=None):
    return solution.masked_softmax(scores, None if mask is None else ~mask)


@masked_softmax.misconception(
    means="You hid the keys after the softmax, so what is left of each row no longer sums to 1.",
    nudge="The visible keys should share the whole weight. At which moment must the others drop out?",
)
def mask_after_softmax(scores, mask=None):
    weights = solution.masked_softmax(scores)
    return weights if mask is None else weights * mask


@masked_softmax.misconception(
    means="The hidden scores became 0, and exp(0) is 1: a score of 0 is an ordinary score.",
    nudge="Which score has an exponential of 0?",
)
def mask_by_multiplication(scores, mask=None):
    return solution.masked_softmax(scores if mask is None else scores * mask)


@masked_softmax.misconception(
    means="You added booleans to the scores: True counts as 1, so visible keys are favoured, not alone.",
    nudge="Only a mask in the additive form may be added. Which operation suits a boolean one?",
)
def mask_added_as_0_1(scores, mask=None):
    return solution.masked_softmax(scores if mask is None else scores + mask)


@masked_softmax.misconception(
    means="The number that stands for “hidden” is not low enough, so hidden keys keep some weight.",
    nudge="Scores may be as low as -1000. Which number is lower than every score?",
)
def not_low_enough(scores, mask=None):
    return solution.masked_softmax(hide(scores, mask, -10.0))


@masked_softmax.misconception(
    means="You exchanged the mask's last two axes, so it hides queries (rows) instead of keys (columns).",
    nudge="The mask already has a row for each query and a column for each key. Does it need turning?",
)
def mask_transposed(scores, mask=None):
    return solution.masked_softmax(scores, None if mask is None else np.swapaxes(mask, -1, -2))


@masked_softmax.misconception(
    means="You used the first sentence's mask for the whole batch.",
    nudge="Broadcasting matches a mask with its own sentence by itself. Is there an index `[0]` too many?",
)
def first_mask_for_all(scores, mask=None):
    return solution.masked_softmax(scores, mask if mask is None or mask.ndim == 2 else mask[0])


@masked_softmax.misconception(
    means="Each key's weights sum to 1 over the queries: you normalised down the columns.",
    nudge="Each query shares out its own attention. Along which axis do the keys lie?",
)
def down_the_columns(scores, mask=None):
    hidden = hide(scores, mask)
    top = np.max(hidden, axis=-2, keepdims=True)
    return normalised(np.exp(hidden - np.where(np.isfinite(top), top, 0)), axis=-2)


@masked_softmax.misconception(
    means="You normalised along axis 1, which holds the keys of a matrix, but the queries of a batch.",
    nudge="Counted from the end, the keys always lie on the same axis. Which one?",
)
def always_axis_1(scores, mask=None):
    hidden = hide(scores, mask)
    top = np.max(hidden, axis=1, keepdims=True)
    return normalised(np.exp(hidden - np.where(np.isfinite(top), top, 0)), axis=1)


@masked_softmax.misconception(
    means="All the weights together sum to 1, instead of each row by itself.",
    nudge="What does `axis=-1` change in a sum, and what does `keepdims=True`?",
)
def over_everything(scores, mask=None):
    hidden = hide(scores, mask)
    return normalised(np.exp(hidden - hidden.max()), axis=None)


@masked_softmax.misconception(
    means="The sum over the last axis dropped that axis, so it no longer lines up with the rows.",
    nudge="Which argument of `np.sum` keeps an axis of length 1?",
)
def sum_without_keepdims(scores, mask=None):
    weights = solution.masked_softmax(scores, mask)
    return weights / weights.sum(axis=-1)


@masked_softmax.misconception(
    means="`if mask:` asks whether a whole array is true, and NumPy refuses to guess.",
    nudge="You want to know whether a mask was given at all. How do you compare something with None?",
)
def asks_if_mask(scores, mask=None):
    return solution.masked_softmax(scores, mask if mask else None)


@masked_softmax.misconception(
    means="Without a mask everything came out hidden: `np.where(None, ...)` counts None as False.",
    nudge="What should happen when `mask` is None? It deserves a line of its own.",
)
def none_hides_everything(scores, mask=None):
    return solution.masked_softmax(np.where(mask, scores, -np.inf))


@masked_softmax.misconception(
    means="`scores[~mask] = …` works only if the mask has exactly the shape of the scores.",
    nudge="Masks may have axes of length 1 that broadcast. Which NumPy function chooses between two values?",
)
def mask_of_the_same_shape_only(scores, mask=None):
    hidden = scores.copy()
    if mask is not None:
        hidden[~mask] = -np.inf
    return solution.masked_softmax(hidden)


@masked_softmax.misconception(
    means="You return the notebook's own weights, whatever comes in.",
    nudge="Where does your code use `scores`?",
)
def hard_coded_weights(scores, mask=None):
    return np.array([[1.0, 0.0], [0.1503254518, 0.8496745482]])


@masked_softmax.structural
def lower_precision(scores, mask=None):
    return solution.masked_softmax(scores, mask).astype(np.float32)


@masked_softmax.structural
def modifies_argument(scores, mask=None):
    if mask is not None:
        np.copyto(scores, -np.inf, where=~mask)
    return solution.masked_softmax(scores)


@masked_softmax.structural
def returns_a_list(scores, mask=None):
    return solution.masked_softmax(scores, mask).tolist()


# --- dot_product_attention -----------------------------------------------------------------------

dot_product_attention = Exercise(
    "dot_product_attention",
    lab="attention-masks",
    points=3,
    builds_on=["masked_softmax"],
    properties=["within the values"],
)


def triple(rng, *, batch=(), queries=None, low=3, dtype=np.float64):
    """Queries, keys and values, every axis of its own size; as many queries as keys where asked."""
    *lead, L_q, L_k, d, d_v = sizes(rng, len(batch) + 4, low=low, high=9)
    L_q = L_k if queries == "as many as keys" else L_q
    shapes = (*lead, L_q, d), (*lead, L_k, d), (*lead, L_k, d_v)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


@dot_product_attention.case("the notebook's example, no mask")
def example(rng):
    return inputs(Q, K, V)


@dot_product_attention.case("the notebook's example with its causal mask")
def example_causal(rng):
    return inputs(Q, K, V, mask=np.tri(2, dtype=bool))


@dot_product_attention.case("more or fewer queries than keys, no mask")
def rectangle(rng):
    return inputs(*triple(rng))


@dot_product_attention.case("a mask of shape (L_q, L_k)")
def rectangle_masked(rng):
    query, key, value = triple(rng)
    return inputs(query, key, value, mask=some_allowed(rng, len(query), len(key)))


@dot_product_attention.case("a batch with a padding mask (batch, 1, L_k)")
def batch_padded(rng):
    query, key, value = triple(rng, batch=["batch"])
    batch, keys = key.shape[:2]
    return inputs(query, key, value, mask=solution.padding_mask(some_lengths(rng, batch, keys), keys))


@dot_product_attention.case("a batch with a causal mask (1, L, L)")
def batch_causal(rng):
    query, key, value = triple(rng, batch=["batch"], queries="as many as keys")
    return inputs(query, key, value, mask=np.tri(key.shape[1], dtype=bool)[None])


@dot_product_attention.case("without the scale")
def unscaled(rng):
    query, key, value = triple(rng)
    return inputs(query, key, value, scale=False)


@dot_product_attention.case("without the scale, with a mask")
def unscaled_masked(rng):
    query, key, value = triple(rng)
    return inputs(query, key, value, mask=some_allowed(rng, len(query), len(key)), scale=False)


@dot_product_attention.case("float32")
def attention_32(rng):
    query, key, value = triple(rng, dtype=np.float32)
    return inputs(query, key, value, mask=some_allowed(rng, len(query), len(key)))


def scores_of(query, key, scale=True):
    """What the softmax is taken of."""
    return query @ np.swapaxes(key, -1, -2) / (key.shape[-1] ** 0.5 if scale else 1.0)


def weights_of(query, key, mask=None, scale=True):
    """The right weights: attention with the identity for values."""
    return solution.dot_product_attention(query, key, np.eye(key.shape[-2]), mask, scale)


def scaled_by(divisor, query, key, value, mask, scale):
    """Attention that divides the scores by something of its own where a scale is asked for."""
    return solution.dot_product_attention(query / divisor if scale else query, key, value, mask, False)


@dot_product_attention.misconception(
    means="The scores are never divided by √d_k, although `scale` is True unless somebody says otherwise.",
    nudge="A dot product of d_k terms grows with d_k. What brings it back to ordinary size?",
)
def never_scales(query, key, value, mask=None, scale=True):
    return solution.dot_product_attention(query, key, value, mask, False)


@dot_product_attention.misconception(
    means="The scores are divided by √d_k even when `scale` is False.",
    nudge="Where does your code use `scale`?",
)
def always_scales(query, key, value, mask=None, scale=True):
    return solution.dot_product_attention(query, key, value, mask, True)


@dot_product_attention.misconception(
    means="You divided by d_k instead of by its square root, so the weights come out too flat.",
    nudge="Compare your scale with the formula: is a root missing?",
)
def divides_by_d(query, key, value, mask=None, scale=True):
    return scaled_by(key.shape[-1] ** 0.5 * key.shape[-1] ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You multiplied the scores by √d_k instead of dividing by it, so the weights come out too sharp.",
    nudge="Should the scale make large scores larger or smaller?",
)
def multiplies_by_the_scale(query, key, value, mask=None, scale=True):
    return scaled_by(key.shape[-1] ** -0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You scaled by the square root of the number of keys instead of the size of one key.",
    nudge="d_k is how many numbers one key holds. On which axis are those?",
)
def scales_by_number_of_keys(query, key, value, mask=None, scale=True):
    return scaled_by(key.shape[-2] ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You scaled by the square root of the size of a value instead of the size of a key.",
    nudge="The sum in the dot product runs over the numbers of which two vectors?",
)
def scales_by_value_size(query, key, value, mask=None, scale=True):
    return scaled_by(value.shape[-1] ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You read d_k from axis 1, which is right for a matrix but holds the words of a batch.",
    nudge="Counted from the end, d_k is always on the same axis. Which one?",
)
def scale_read_from_axis_1(query, key, value, mask=None, scale=True):
    return scaled_by(key.shape[1] ** 0.5, query, key, value, mask, scale)


@dot_product_attention.misconception(
    means="You divided by √d_k after the softmax, so the weights no longer sum to 1.",
    nudge="What is to be kept at ordinary size, the scores that go into the softmax or what comes out?",
)
def scales_after_softmax(query, key, value, mask=None, scale=True):
    output = solution.dot_product_attention(query, key, value, mask, False)
    return output / key.shape[-1] ** 0.5 if scale else output


@dot_product_attention.misconception(
    means="The mask makes no difference: hidden keys contribute like all the others.",
    nudge="Where does your code use `mask`?",
)
def ignores_the_mask(query, key, value, mask=None, scale=True):
    return solution.dot_product_attention(query, key, value, None, scale)


@dot_product_attention.misconception(
    means="You kept what should be hidden and hid what should be kept: the mask is read the other way round.",
    nudge="`np.where(mask, a, b)` takes a where mask is True. What does True mean in this lab?",
)
def inverted_mask(query, key, value, mask=None, scale=True):
    scores = scores_of(query, key, scale)
    scores = scores if mask is None else np.where(mask, -1e9, scores)
    return solution.masked_softmax(scores) @ value


@dot_product_attention.misconception(
    means="You hid the keys after the softmax, so what is left of the weights no longer sums to 1.",
    nudge="The visible keys should share the whole weight. At which moment must the others drop out?",
)
def mask_after_softmax(query, key, value, mask=None, scale=True):
    weights = weights_of(query, key, None, scale)
    return (weights if mask is None else weights * mask) @ value


@dot_product_attention.misconception(
    means="The hidden scores became 0, and exp(0) is 1: a score of 0 is an ordinary score.",
    nudge="Which score has an exponential of 0?",
)
def mask_by_multiplication(query, key, value, mask=None, scale=True):
    scores = scores_of(query, key, scale)
    return solution.masked_softmax(scores if mask is None else scores * mask) @ value


@dot_product_attention.misconception(
    means="You added booleans to the scores: True counts as 1, so visible keys are favoured, not alone.",
    nudge="Only a mask in the additive form may be added. What did you write to convert the boolean one?",
)
def mask_added_as_0_1(query, key, value, mask=None, scale=True):
    scores = scores_of(query, key, scale)
    return solution.masked_softmax(scores if mask is None else scores + mask) @ value


@dot_product_attention.misconception(
    means="You exchanged the mask's last two axes, so it hides queries (rows) instead of keys (columns).",
    nudge="The mask already has a row for each query and a column for each key. Does it need turning?",
)
def mask_on_queries(query, key, value, mask=None, scale=True):
    turned = None if mask is None else np.swapaxes(mask, -1, -2)
    scores = scores_of(query, key, scale)
    return solution.masked_softmax(scores if mask is None else np.where(turned, scores, -1e9)) @ value


@dot_product_attention.misconception(
    means="You put the mask on the values: they become 0, but their keys still take a share of the weight.",
    nudge="Which numbers decide how the weight is shared out, and so need the mask?",
)
def mask_on_values(query, key, value, mask=None, scale=True):
    value = value if mask is None else np.where(np.swapaxes(mask, -1, -2), value, 0)
    return weights_of(query, key, None, scale) @ value


@dot_product_attention.misconception(
    means="You took the softmax over the queries: each key's column sums to 1, instead of each query's row.",
    nudge="Each query shares out its own attention. Along which axis of the scores do the keys lie?",
)
def softmax_over_queries(query, key, value, mask=None, scale=True):
    scores = hide(scores_of(query, key, scale), mask, -1e9)
    return np.swapaxes(solution.masked_softmax(np.swapaxes(scores, -1, -2)), -1, -2) @ value


@dot_product_attention.misconception(
    means="You took the softmax along axis 1, which holds the keys of a matrix, but the queries of a batch.",
    nudge="Counted from the end, the keys always lie on the same axis. Which one?",
)
def softmax_over_axis_1(query, key, value, mask=None, scale=True):
    scores = hide(scores_of(query, key, scale), mask, -1e9)
    return np.moveaxis(solution.masked_softmax(np.moveaxis(scores, 1, -1)), -1, 1) @ value


@dot_product_attention.misconception(
    means="All the weights together sum to 1, instead of each query's weights by themselves.",
    nudge="What do `axis=-1` and `keepdims=True` change in a sum?",
)
def softmax_over_everything(query, key, value, mask=None, scale=True):
    scores = hide(scores_of(query, key, scale), mask, -1e9)
    return solution.masked_softmax(scores.reshape(-1)).reshape(scores.shape) @ value


@dot_product_attention.misconception(
    means="There is no softmax: you averaged the values with the raw scores.",
    nudge="Which function turns scores into weights that are positive and sum to 1?",
)
def no_softmax(query, key, value, mask=None, scale=True):
    scores = scores_of(query, key, scale)
    return (scores if mask is None else scores * mask) @ value


@dot_product_attention.misconception(
    means="Two shapes do not fit: in (L_q, d_k) times (L_k, d_k) the keys must be turned first.",
    nudge="Write the shapes beside each `@`: the last size on the left must meet the same size on the right.",
)
def missing_transpose(query, key, value, mask=None, scale=True):
    scores = query @ key
    return solution.masked_softmax(scores / key.shape[-1] ** 0.5 if scale else scores, mask) @ value


@dot_product_attention.misconception(
    means="`.T` turns all the axes of a batch round, the batch as well, and then nothing fits.",
    nudge="Only the last two axes of the keys should change places. Which NumPy function exchanges two axes?",
)
def transposes_every_axis(query, key, value, mask=None, scale=True):
    scores = query @ key.T
    return solution.masked_softmax(scores / key.shape[-1] ** 0.5 if scale else scores, mask) @ value


@dot_product_attention.misconception(
    means="You used the first sentence of the batch for all of them.",
    nudge="`@` works on every sentence of a batch by itself. Is there an index `[0]` too many?",
)
def first_sentence_for_all(query, key, value, mask=None, scale=True):
    if query.ndim == 2:
        return solution.dot_product_attention(query, key, value, mask, scale)
    output = solution.dot_product_attention(
        query[0], key[0], value[0], None if mask is None else mask[0], scale
    )
    return np.repeat(output[None], len(query), axis=0)


@dot_product_attention.misconception(
    means="You averaged the keys instead of the values.",
    nudge="Keys are for finding, values are what is handed over. Which array is multiplied by the weights?",
)
def averages_the_keys(query, key, value, mask=None, scale=True):
    return solution.dot_product_attention(query, key, key, mask, scale)


@dot_product_attention.misconception(
    means="You compared the queries with the values instead of with the keys.",
    nudge="Keys are for finding, values are what is handed over. With which of the two is a query compared?",
)
def compares_with_the_values(query, key, value, mask=None, scale=True):
    return solution.dot_product_attention(query, value, value, mask, scale)


@dot_product_attention.misconception(
    means="Queries and keys have changed places: your scores have a row for each key.",
    nudge="The output has a row for each query. Which array comes first in the product?",
)
def queries_and_keys_swapped(query, key, value, mask=None, scale=True):
    return solution.dot_product_attention(key, query, value, mask, scale)


@dot_product_attention.misconception(
    means="These are the attention weights; the last step, averaging the values with them, is missing.",
    nudge="What are the weights multiplied by to give one row of size d_v for each query?",
)
def returns_the_weights(query, key, value, mask=None, scale=True):
    return weights_of(query, key, mask, scale)


@dot_product_attention.misconception(
    means="All the visible keys have the same weight: this is the plain average of their values.",
    nudge="The scores of queries and keys should decide how much each value counts. Where do they come in?",
)
def plain_average(query, key, value, mask=None, scale=True):
    return solution.dot_product_attention(np.zeros_like(query), key, value, mask, scale)


@dot_product_attention.misconception(
    means="Each query takes over the value of its best key alone; softmax would weigh all the visible ones.",
    nudge="What does softmax do that `argmax` does not?",
)
def winner_takes_all(query, key, value, mask=None, scale=True):
    scores = hide(scores_of(query, key, scale), mask)
    return np.eye(scores.shape[-1])[scores.argmax(axis=-1)] @ value


@dot_product_attention.misconception(
    means="You return the notebook's own result, whatever comes in.",
    nudge="Where does your code use `query`, `key` and `value`?",
)
def hard_coded_output(query, key, value, mask=None, scale=True):
    return np.array([[0.8496745482, 0.1503254518, 0.8496745482]] * 2)


@dot_product_attention.structural
def lower_precision(query, key, value, mask=None, scale=True):
    return solution.dot_product_attention(query, key, value, mask, scale).astype(np.float32)


@dot_product_attention.structural
def modifies_argument(query, key, value, mask=None, scale=True):
    if scale:
        query /= key.shape[-1] ** 0.5
    return solution.dot_product_attention(query, key, value, mask, False)


@dot_product_attention.structural
def returns_a_tuple(query, key, value, mask=None, scale=True):
    return solution.dot_product_attention(query, key, value, mask, scale), weights_of(query, key, mask, scale)


@dot_product_attention.structural
def returns_a_list(query, key, value, mask=None, scale=True):
    return solution.dot_product_attention(query, key, value, mask, scale).tolist()


# --- dot_product_self_attention ------------------------------------------------------------------

dot_product_self_attention = Exercise(
    "dot_product_self_attention",
    lab="attention-masks",
    points=2,
    builds_on=["causal_mask", "dot_product_attention"],
    properties=["within the values"],
)


def sentence(rng, dtype=np.float64):
    return triple(rng, batch=["batch"], queries="as many as keys", dtype=dtype)


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


def self_attention(q, k, v, scale, mask):
    return solution.dot_product_attention(q, k, v, mask, scale)


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
    means="The mask is inverted: you hide what may be seen, and the last position has nothing to attend to.",
    nudge="Print the mask for L = 3. True means “may attend”: does row 0 see position 0?",
)
def inverted_mask(q, k, v, scale=True):
    return self_attention(q, k, v, scale, ~square(q))


@dot_product_self_attention.misconception(
    means="A position does not see itself, so the first one has nothing to attend to and becomes 0.",
    nudge="Print the mask for L = 3: what stands on its diagonal?",
)
def not_itself(q, k, v, scale=True):
    return self_attention(q, k, v, scale, np.tri(q.shape[-2], k=-1, dtype=bool))


@dot_product_self_attention.misconception(
    means="A position does not see itself, so the first one has nothing to attend to "
    "and averages the whole sentence.",
    nudge="Print the mask for L = 3: what stands on its diagonal?",
)
def not_itself_then_everything(q, k, v, scale=True):
    scores = np.where(np.tri(q.shape[-2], k=-1, dtype=bool), scores_of(q, k, scale), -1e9)
    return solution.masked_softmax(scores) @ v


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
    nudge="The visible positions should share the whole weight. At which moment must the others drop out?",
)
def mask_after_softmax(q, k, v, scale=True):
    return (weights_of(q, k, None, scale) * square(q)) @ v


@dot_product_self_attention.misconception(
    means="The scores of the future became 0, and exp(0) is 1: a score of 0 is an ordinary score.",
    nudge="Which score has an exponential of 0?",
)
def mask_by_multiplication(q, k, v, scale=True):
    return solution.masked_softmax(scores_of(q, k, scale) * square(q)) @ v


@dot_product_self_attention.misconception(
    means="You added the boolean mask to the scores: True counts as 1, so the past is favoured, not alone.",
    nudge="Only a mask in the additive form may be added. Which operation suits a boolean one?",
)
def mask_added_as_0_1(q, k, v, scale=True):
    return solution.masked_softmax(scores_of(q, k, scale) + square(q)) @ v


@dot_product_self_attention.misconception(
    means="You took the softmax over the queries: each key's column sums to 1, instead of each query's row.",
    nudge="Each position shares out its own attention. Along which axis of the scores do the keys lie?",
)
def softmax_over_queries(q, k, v, scale=True):
    scores = np.where(square(q), scores_of(q, k, scale), -1e9)
    return np.swapaxes(solution.masked_softmax(np.swapaxes(scores, -1, -2)), -1, -2) @ v


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
    means="Queries and keys have changed places.",
    nudge="Check the order of the arguments: query, key, value.",
)
def queries_and_keys_swapped(q, k, v, scale=True):
    return self_attention(k, q, v, scale, square(q))


@dot_product_self_attention.misconception(
    means="You used the first sentence of the batch for all of them.",
    nudge="`@` works on every sentence of a batch by itself. Is there an index `[0]` too many?",
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


@dot_product_self_attention.structural
def extra_axis(q, k, v, scale=True):
    return self_attention(q, k, v, scale, square(q))[np.newaxis]


@dot_product_self_attention.structural
def lower_precision(q, k, v, scale=True):
    return self_attention(q, k, v, scale, square(q)).astype(np.float32)


@dot_product_self_attention.structural
def modifies_argument(q, k, v, scale=True):
    if scale:
        q /= k.shape[-1] ** 0.5
    return self_attention(q, k, v, False, square(q))


@dot_product_self_attention.structural
def returns_a_list(q, k, v, scale=True):
    return self_attention(q, k, v, scale, square(q)).tolist()
