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
    lengths = rng.permutation(
        np.array([0, size, int(rng.integers(2, size - 1)), int(rng.integers(2, size))])
    )
    return inputs(lengths, size)


@padding_mask.case("a batch of one")
def batch_of_one(rng):
    size = int(rng.integers(4, 9))
    return inputs(rng.integers(2, size - 1, size=1), size)


@padding_mask.case("more sentences than positions")
def many_sentences(rng):
    size = int(rng.integers(3, 6))
    return inputs(rng.permutation(np.concatenate([np.arange(size + 1), [1, 2]])), size)


@padding_mask.slips("""
    inverted_padding: The mask is inverted: True is on the padding and False on the words.
        Hint: In this lab True means “may attend”. Are the words or the padding to be attended to?
    one_too_many: One padding position too many is allowed after every sentence.
        Hint: Positions count from 0: what is the position of the last word in a sentence of length 3?
    one_too_few: The last word of every sentence is hidden as well.
        Hint: Positions count from 0: what is the position of the last word in a sentence of length 3?
    padding_at_the_front: You hid the front of each sentence, as if the padding stood before the words.
        Hint: The words come first. For length 2 and size 5, which of the positions 0 to 4 are words?
    minus_zero_slice: A full sentence came out all hidden: there is no padding, and `-0:` is the whole
        axis.
        Hint: What does `row[-n:]` select when n is 0? Count from the front instead.
    only_the_last_word: Only the last word of each sentence is allowed, instead of every word up to
        there.
        Hint: Is it enough to mark where a sentence ends, or do the words before it count too?
    no_new_axis: Positions and lengths lie along the same axis, so NumPy compares position i with
        sentence i.
        Hint: Which axes of length 1 would put the sentences on the first axis and the positions on the
        last?
    missing_axis: Shape (batch, size) lacks the axis for the queries; with scores of shape (batch, L_q,
        L_k) NumPy would match your sentences with the queries.
        Hint: Which axis of length 1 does the docstring ask for, and between which two others?
    on_the_queries: The axis of length 1 is the last one, so this hides padded queries (rows) and not
        padded keys.
        Hint: Scores have shape (batch, L_q, L_k). Which of the three axes belongs to the keys?
    axis_in_front: The axis of length 1 is the first one, so sentence i would be matched with query i.
        Hint: Scores have shape (batch, L_q, L_k). Where does the batch belong in your mask?
    repeated_for_every_query: You wrote the same row once for every query; the middle axis should have
        length 1 and broadcast.
        Hint: The number of queries is not known here. Which length fits any number of them?
    queries_hidden_too: You hid the padded queries as well as the padded keys; some rows have nothing
        left to attend to.
        Hint: Whom does it hurt if a padded query attends to something? One row for each sentence is
        enough.
    first_length_for_all: Every sentence got the length of the first one.
        Hint: Each sentence has its own entry in `lengths`: along which axis should they lie in the
        comparison?
    longest_length_for_all: Every sentence got the length of the longest one.
        Hint: Each sentence has its own entry in `lengths`: along which axis should they lie in the
        comparison?
    size_of_the_longest: Your mask is as wide as the longest sentence; it should have `size` columns.
        Hint: Where does your code use `size`?
    additive_padding: This is the additive form (0 = keep, a large negative number = hide); booleans are
        asked for.
        Hint: True where a position may be attended to, False where not; the conversion comes in Exercise
        3.
    hard_coded_padding: You return the notebook's own mask for the lengths 2, 5, 3, whatever comes in.
        Hint: Where does your code use `lengths`?
    numbers_not_booleans
    returns_a_list
    slice_on_the_axis_of_length_1: Your slice goes along the axis of length 1, not along the positions: a
        sentence with any word is visible as a whole, its padding too.
        Hint: The mask has three axes. Which of them does `mask[i, :n]` cut, and which should it?
    slice_on_the_sentences: Your slice goes along the sentences, not along the positions: whole sentences
        are visible or hidden.
        Hint: The mask has three axes. Which of them does `mask[:n]` cut, and which should it?
""")
def padding_mask_with_slips(slip, lengths, size):
    if slip.hard_coded_padding:
        lengths, size = np.array([2, 5, 3]), 5
    lengths = slip.choose(
        lengths,
        one_too_many=lengths + 1,
        one_too_few=lengths - 1,
        first_length_for_all=np.full_like(lengths, lengths[0]),
        longest_length_for_all=np.full_like(lengths, lengths.max()),
    )
    positions = np.arange(slip.choose(size, size_of_the_longest=lengths.max()))
    if slip.no_new_axis:
        return positions < lengths
    ends = lengths[:, np.newaxis, np.newaxis]
    mask = positions < ends
    if slip.padding_at_the_front:
        mask = positions >= size - ends
    if slip.only_the_last_word:
        mask = positions == ends - 1
    if slip.minus_zero_slice:
        mask[lengths == size] = False
    if slip.slice_on_the_axis_of_length_1:
        mask = np.repeat(ends > 0, size, axis=2)
    if slip.slice_on_the_sentences:
        seen = np.arange(len(lengths)) < lengths.max()
        mask = np.repeat(seen[:, np.newaxis, np.newaxis], size, axis=2)
    if slip.inverted_padding:
        mask = ~mask
    on_the_queries = np.swapaxes(mask, 1, 2)
    if slip.returns_a_list:
        return mask.tolist()
    return slip.choose(
        mask,
        missing_axis=mask[:, 0],
        on_the_queries=on_the_queries,
        axis_in_front=np.swapaxes(mask, 0, 1),
        repeated_for_every_query=np.repeat(mask, size, axis=1),
        queries_hidden_too=mask & on_the_queries,
        additive_padding=np.where(mask, 0.0, -1e9),
        numbers_not_booleans=mask.astype(np.int64),
    )


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
