"""The exercise `padding_mask`: the padding at the end of each sentence is hidden."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

padding_mask = Exercise("padding_mask", points=2)


@padding_mask.domain(sizes={"batch": (1, 60), "size": (1, 60)})
def anywhere(rng, batch, size):
    return inputs(rng.integers(0, size + 1, size=batch), size)


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


# Mistakes.


@padding_mask.misconception(
    means="The mask is inverted: True is on the padding and False on the words.",
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
    means="Shape (batch, size) lacks the axis for the queries; with scores of shape (batch, L_q, L_k) "
    "NumPy would match your sentences with the queries.",
    nudge="Which axis of length 1 does the docstring ask for, and between which two others?",
)
def missing_axis(lengths, size):
    return np.arange(size) < lengths[:, None]


@padding_mask.misconception(
    means="The axis of length 1 is the last one, so this hides padded queries (rows) and not padded keys.",
    nudge="Scores have shape (batch, L_q, L_k). Which of the three axes should your positions lie along?",
)
def on_the_queries(lengths, size):
    return (np.arange(size) < lengths[:, None])[:, :, None]


@padding_mask.misconception(
    means="The axis of length 1 is the first one, so sentence i would be matched with query i.",
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


@padding_mask.common_mistake
def numbers_not_booleans(lengths, size):
    return (np.arange(size) < lengths[:, None, None]).astype(np.int64)


@padding_mask.common_mistake
def returns_a_list(lengths, size):
    return [[[position < n for position in range(size)]] for n in lengths.tolist()]


@padding_mask.misconception(
    means="Your slice goes along the axis of length 1, not along the positions: a sentence with any word is "
    "visible as a whole, its padding too.",
    nudge="The mask has three axes. Which of them does `mask[i, :n]` cut, and which should it?",
)
def slice_on_the_axis_of_length_1(lengths, size):
    return np.repeat((lengths > 0)[:, None, None], size, axis=2)


@padding_mask.misconception(
    means="Your slice goes along the sentences, not along the positions: whole sentences are visible or hidden.",
    nudge="The mask has three axes. Which of them does `mask[:n]` cut, and which should it?",
)
def slice_on_the_sentences(lengths, size):
    return np.repeat((np.arange(len(lengths)) < lengths.max())[:, None, None], size, axis=2)


@padding_mask.combined_misconception(inverted_padding, one_too_many)
def inverted_one_too_many(lengths, size):
    return np.arange(size) > lengths[:, None, None]


@padding_mask.combined_misconception(inverted_padding, one_too_few)
def inverted_one_too_few(lengths, size):
    return np.arange(size) >= lengths[:, None, None] - 1


@padding_mask.combined_misconception(inverted_padding, padding_at_the_front)
def inverted_at_the_front(lengths, size):
    return np.arange(size) < size - lengths[:, None, None]


# Other right answers, which must pass.


@padding_mask.variant
def reshaped_lengths(lengths, size):
    return np.arange(size).reshape(1, 1, size) < lengths.reshape(-1, 1, 1)


@padding_mask.variant
def expanded_afterwards(lengths, size):
    return np.expand_dims(lengths[:, None] > np.arange(size), axis=1)


@padding_mask.variant
def row_by_row(lengths, size):
    mask = np.zeros((len(lengths), 1, size), dtype=bool)
    for i, n in enumerate(lengths):
        mask[i, 0, :n] = True
    return mask


@padding_mask.variant
def stacked_rows(lengths, size):
    return np.stack([np.arange(size) < n for n in lengths])[:, np.newaxis, :]


@padding_mask.variant
def outer_comparison(lengths, size):
    return np.greater.outer(lengths, np.arange(size)).reshape(len(lengths), 1, size)


@padding_mask.variant
def positions_counted_from_one(lengths, size):
    return np.arange(1, size + 1)[None, None] <= lengths[:, None, None]


@padding_mask.variant
def not_the_padding(lengths, size):
    hidden = np.zeros((lengths.shape[0], 1, size), dtype=np.bool_)
    for i, n in enumerate(lengths):
        hidden[i, :, n:] = True
    return np.logical_not(hidden)
