"""The exercise `merge_heads`: from (batch, heads, L, d_head) back to (batch, L, heads · d_head)."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import merge, merge_by_reshape

merge_heads = Exercise("merge_heads", points=1)


@merge_heads.domain(
    sizes={"batch": (1, 20), "heads": (1, 16), "L": (1, 60), "d_head": (1, 12)},
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, heads, L, d_head):
    return inputs(rng.normal(size=(batch, heads, L, d_head)))


@merge_heads.case("the two heads of the notebook's three words")
def three_words(rng):
    numbered = merge_heads.solution.numbered
    return inputs(np.stack([numbered[:, :, :2], numbered[:, :, 2:]], axis=1))


@merge_heads.case("all sizes different")
def all_different(rng):
    return inputs(rng.normal(size=sizes(rng, 4, high=6)))


@merge_heads.case("as many words as heads")
def as_many_words_as_heads(rng):
    batch, heads, d_head = sizes(rng, 3, high=6)
    return inputs(rng.normal(size=(batch, heads, heads, d_head)))


@merge_heads.case("one sentence, heads of one number each")
def single_numbers(rng):
    heads, length = sizes(rng, 2, low=3)
    return inputs(rng.normal(size=(1, heads, length, 1)))


@merge_heads.misconception(
    means="The shape is right, but you reshaped without moving an axis: a row now holds one head of "
    "several words.",
    nudge="A row should hold all heads of one word. Which two axes must be neighbours before you reshape?",
)
def only_reshaped(x):
    return merge_by_reshape(x)


@merge_heads.misconception(
    means="The heads are shuffled into each other: their first numbers come first, then all their "
    "second ones.",
    nudge="All the numbers of head 0 come first. Which should be the last axis when you reshape?",
)
def shuffled_into_each_other(x):
    batch, heads, length, d_head = x.shape
    return x.transpose(0, 2, 3, 1).reshape(batch, length, heads * d_head)


@merge_heads.misconception(
    means="The heads are one below the other, as if they were more words: (batch, heads · L, d_head).",
    nudge="There should be as many words as before, each with more numbers. Along which axis do you join?",
)
def below_each_other(x):
    batch, heads, length, d_head = x.shape
    return x.reshape(batch, heads * length, d_head)


@merge_heads.misconception(
    means="You took the axis of the heads for that of the words: your result is (batch, heads, L · d_head).",
    nudge="Write the name of each axis next to `x.shape`. Which number is L?",
)
def heads_taken_for_words(x):
    return x.reshape(x.shape[0], x.shape[1], -1)


@merge_heads.misconception(
    means="The heads were added up, so they cannot be separated any more.",
    nudge="They should be concatenated: how many numbers does each word then have?",
)
def added_up(x):
    return x.sum(axis=1)


@merge_heads.misconception(
    means="The heads were averaged, so they cannot be separated any more.",
    nudge="They should be concatenated: how many numbers does each word then have?",
)
def averaged(x):
    return x.mean(axis=1)


@merge_heads.misconception(
    means="You took the largest number over the heads, so they cannot be separated any more.",
    nudge="They should be concatenated: how many numbers does each word then have?",
)
def largest_of_the_heads(x):
    return x.max(axis=1)


@merge_heads.misconception(
    means="The first head is repeated, once for each head.",
    nudge="Each word should get the numbers of all heads. Which index picks a head, and does it ever change?",
)
def first_head_again_and_again(x):
    return np.tile(x[:, 0], x.shape[1])


@merge_heads.misconception(
    means="The axes are in the right order, but heads and numbers are not joined: your result still "
    "has four axes.",
    nudge="Which function turns the last two axes into one?",
)
def not_joined(x):
    return x.transpose(0, 2, 1, 3)


@merge_heads.misconception(
    means="You joined the words as well: each sentence came out as one long row.",
    nudge="The result has an axis for the words. Which sizes do you give to `reshape`?",
)
def one_long_row(x):
    return x.transpose(0, 2, 1, 3).reshape(len(x), -1)


@merge_heads.misconception(
    means="Only the first head comes back.",
    nudge="Each word should get the numbers of all heads, one head after the other.",
)
def first_head_only(x):
    return x[:, 0]


@merge_heads.misconception(
    means="`np.concatenate(x)` joins along the first axis of `x`, the sentences: they ended up side by side.",
    nudge="Which parts do you want to concatenate, and which axis of `x` do they come from?",
)
def sentences_side_by_side(x):
    return np.concatenate(x, axis=-1)


@merge_heads.misconception(
    means="`np.concatenate(x)` without an axis runs sentences and heads together: (batch · heads, L, d_head).",
    nudge="Which parts do you want to concatenate, and along which `axis` of each of them?",
)
def batch_and_heads_run_together(x):
    return np.concatenate(x)


@merge_heads.misconception(
    means="The heads were joined along the batch, as if they were more sentences.",
    nudge="Each word should get more numbers, not each batch more sentences. Which `axis` is that?",
)
def joined_along_the_batch(x):
    return np.concatenate([x[:, head] for head in range(x.shape[1])], axis=0)


@merge_heads.misconception(
    means="`.T` reversed all four axes, and the reshape then mixed words, heads and sentences.",
    nudge="Exchange only two axes. Which two?",
)
def all_axes_turned_round(x):
    return x.T.reshape(x.shape[0], x.shape[2], -1)


@merge_heads.misconception(
    means="Only the first sentence of the batch comes back.",
    nudge="The result has an axis for the batch. Is there an index `[0]` too many?",
)
def first_sentence_only(x):
    return merge(x)[0]


@merge_heads.misconception(
    means="You read the sizes off in another order: the second axis of `x` counts the heads, and you took it for "
    "the words.",
    nudge="Write the name of each axis next to `x.shape`, as the docstring gives them. Which number is L?",
)
def sizes_named_in_another_order(x):
    batch, length, heads, d_head = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * d_head)


@merge_heads.misconception(
    means="You exchanged the last two axes, words and numbers; exchange heads and words instead.",
    nudge="Write the name of each axis below its number. Which two must be neighbours before you reshape?",
)
def words_and_numbers_exchanged(x):
    batch, heads, length, d_head = x.shape
    return x.swapaxes(-1, -2).reshape(batch, length, heads * d_head)


@merge_heads.misconception(
    means="You exchanged the first two axes, sentences and heads; exchange heads and words instead.",
    nudge="Write the name of each axis below its number. Which two must be neighbours before you reshape?",
)
def batch_and_heads_exchanged(x):
    batch, heads, length, d_head = x.shape
    return x.swapaxes(0, 1).reshape(batch, length, heads * d_head)


@merge_heads.misconception(
    means="You exchanged heads and numbers; exchange heads and words instead.",
    nudge="Write the name of each axis below its number. Which two must be neighbours before you reshape?",
)
def heads_and_numbers_exchanged(x):
    batch, heads, length, d_head = x.shape
    return x.swapaxes(1, 3).reshape(batch, length, heads * d_head)


@merge_heads.common_mistake
def returns_a_list(x):
    return merge_heads.reference(x).tolist()


@merge_heads.misconception(
    means="The words of all the sentences are in one list: the axis of the batch is gone.",
    nudge="Which three sizes does the docstring name? Which of them did you multiply together?",
)
def all_words_in_one_heap(x):
    return merge(x).reshape(-1, x.shape[1] * x.shape[3])


@merge_heads.variant
def concatenated_heads(x):
    return np.concatenate([x[:, head] for head in range(x.shape[1])], axis=-1)


@merge_heads.variant
def with_swapaxes(x):
    batch, heads, length, d_head = x.shape
    return np.swapaxes(x, 1, 2).reshape(batch, length, heads * d_head)


@merge_heads.variant
def with_moveaxis(x):
    together = np.moveaxis(x, 1, 2)
    return together.reshape(together.shape[:2] + (-1,))


@merge_heads.variant
def filled_in_a_loop(x):
    batch, heads, length, d_head = x.shape
    result = np.zeros((batch, length, heads * d_head), dtype=x.dtype)
    for head in range(heads):
        result[:, :, head * d_head : (head + 1) * d_head] = x[:, head]
    return result


@merge_heads.variant
def sentence_by_sentence(x):
    return np.stack([np.hstack(list(sentence)) for sentence in x])
