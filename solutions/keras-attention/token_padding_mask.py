"""The exercise `token_padding_mask`: the padding of each sentence is hidden (1)."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import TOKENS, padding_of, some_tokens

token_padding_mask = Exercise("token_padding_mask", points=2, returns="tensor")


@token_padding_mask.domain(
    sizes={"batch": (1, 60), "L": (1, 60)},
    flags={"dtype": (np.int64, np.int32)},
)
def anywhere(rng, batch, L, dtype):
    tokens = rng.integers(1, 30_000, size=(batch, L))
    return inputs((tokens * (rng.random((batch, L)) < 0.7)).astype(dtype))


@token_padding_mask.case("three sentences, as in the notebook")
def notebook_tokens(rng):
    return inputs(TOKENS)


@token_padding_mask.case("other sentences")
def other_tokens(rng):
    return inputs(some_tokens(rng, *sizes(rng, 2, low=3)))


@token_padding_mask.case("more sentences than positions")
def many_sentences(rng):
    return inputs(some_tokens(rng, int(rng.integers(7, 10)), int(rng.integers(3, 6))))


@token_padding_mask.case("a batch of one")
def one_sentence(rng):
    return inputs(some_tokens(rng, 1, int(rng.integers(4, 9))))


@token_padding_mask.case("padding on the left")
def padding_in_front(rng):
    return inputs(np.ascontiguousarray(some_tokens(rng, *sizes(rng, 2, low=4))[:, ::-1]))


@token_padding_mask.case("token ids of type int32")
def int32_tokens(rng):
    return inputs(some_tokens(rng, *sizes(rng, 2, low=3)).astype(np.int32))


# Mistakes.


@token_padding_mask.misconception(
    means="You marked the words with 1 and the padding with 0: this is the mask the other way round.",
    nudge="In this lab 1 means “hidden”. Are the words or the padding to be hidden?",
)
def words_marked(token_ids):
    return 1 - padding_of(token_ids)


@token_padding_mask.misconception(
    means="The axis of length 1 stands last, so this hides padded queries (rows) and not padded keys.",
    nudge="Scores have shape (batch, L_q, L_k). Along which of the three axes should your positions lie?",
)
def on_the_queries(token_ids):
    return np.swapaxes(padding_of(token_ids), 1, 2)


@token_padding_mask.misconception(
    means="The axis of length 1 stands first, so sentence i would be matched with query i.",
    nudge="Scores have shape (batch, L_q, L_k). Where does the batch belong in your mask?",
)
def axis_in_front(token_ids):
    return np.swapaxes(padding_of(token_ids), 0, 1)


@token_padding_mask.misconception(
    means="You hid the padded queries as well as the padded keys, in a square for each sentence.",
    nudge="Does it matter to what a padded query attends? One row for each sentence is enough.",
)
def queries_hidden_too(token_ids):
    padding = padding_of(token_ids)
    return np.maximum(padding, np.swapaxes(padding, 1, 2))


@token_padding_mask.misconception(
    means="You wrote the same row once for every query; the middle axis should have length 1 and broadcast.",
    nudge="The number of queries is not known here. Which length fits any number of them?",
)
def repeated_for_every_query(token_ids):
    return np.repeat(padding_of(token_ids), token_ids.shape[1], axis=1)


@token_padding_mask.misconception(
    means="You counted the words and hid as many positions at the end as there are paddings; "
    "but the padding may stand elsewhere.",
    nudge="Which number stands at a padded position itself? You need no counting.",
)
def padding_always_at_the_end(token_ids):
    words = (token_ids != 0).sum(axis=1)[:, None, None]
    return (np.arange(token_ids.shape[1]) >= words).astype(np.float32)


@token_padding_mask.misconception(
    means="You hid everything from the first padding on; but the padding may be on the left of the words.",
    nudge="Which number stands at a padded position itself? Each position can be decided alone.",
)
def all_after_the_first_padding(token_ids):
    return np.maximum.accumulate(padding_of(token_ids), axis=-1)


@token_padding_mask.misconception(
    means="Every position of a sentence is hidden as soon as one of them is padding.",
    nudge="Should the words of a short sentence be hidden too? Decide for each position by itself.",
)
def whole_sentence_hidden(token_ids):
    return np.broadcast_to(
        padding_of(token_ids).max(axis=-1, keepdims=True), padding_of(token_ids).shape
    )


@token_padding_mask.misconception(
    means="You took 1 for the padding; in these sentences the number of padding is 0, and 1 is a word.",
    nudge="Print the token ids: which number fills the short sentences up?",
)
def token_1_is_padding(token_ids):
    return (token_ids == 1).astype(np.float32)[:, None, :]


@token_padding_mask.misconception(
    means="Nothing is hidden: all numbers of your mask are 0.",
    nudge="Compare the token ids with the number of padding. Do you compare them, or something else?",
)
def nothing_is_padding(token_ids):
    return np.zeros_like(padding_of(token_ids))


@token_padding_mask.misconception(
    means="These are still the token ids; a mask holds nothing but 0 and 1.",
    nudge="Which question about each token id has the answer yes or no?",
)
def the_token_ids(token_ids):
    return token_ids[:, None, :]


@token_padding_mask.misconception(
    means="You multiplied by the large negative number already; the layer does that. The mask is 0 or 1.",
    nudge="What does the layer do with a mask that is handed to it?",
)
def already_negative(token_ids):
    return -1e9 * padding_of(token_ids)


@token_padding_mask.misconception(
    means="Every sentence got the padding of the first one.",
    nudge="Is there an index `[0]` too many? Each sentence has a row of its own.",
)
def first_sentence_for_all(token_ids):
    return np.repeat(padding_of(token_ids[:1]), len(token_ids), axis=0)


@token_padding_mask.misconception(
    means="You return the notebook's own mask, whatever comes in.",
    nudge="Where does your code use `token_ids`?",
)
def hard_coded(token_ids):
    return padding_of(TOKENS)


@token_padding_mask.common_mistake
def missing_axis(token_ids):
    return padding_of(token_ids)[:, 0]


@token_padding_mask.common_mistake
def extra_axis(token_ids):
    return padding_of(token_ids)[:, None]


@token_padding_mask.common_mistake
def returns_a_list(token_ids):
    return padding_of(token_ids).tolist()


@token_padding_mask.common_mistake
def modifies_argument(token_ids):
    token_ids[token_ids > 0] = 1
    return (1 - token_ids)[:, None, :]


# Other right answers, which must pass.


@token_padding_mask.variant
def booleans(token_ids):
    from keras import ops

    return ops.equal(token_ids, 0)[:, None, :]


@token_padding_mask.variant
def integers_in_numpy(ids):
    return np.where(np.asarray(ids) == 0, 1, 0).reshape(len(ids), 1, -1)


@token_padding_mask.variant
def one_minus_words(token_ids):
    from keras import ops

    words = ops.cast(ops.not_equal(token_ids, 0), "float32")
    return ops.expand_dims(1.0 - words, axis=-2)


@token_padding_mask.variant
def row_by_row(token_ids):
    mask = np.zeros((len(token_ids), 1, token_ids.shape[1]))
    for sentence, row in enumerate(token_ids):
        for position, token in enumerate(row):
            mask[sentence, 0, position] = token == 0
    return mask


@token_padding_mask.variant
def reshaped_where(token_ids):
    from keras import ops

    token_ids = ops.convert_to_tensor(token_ids)
    batch, length = token_ids.shape
    return ops.reshape(ops.where(token_ids > 0, 0, 1), (batch, 1, length))
