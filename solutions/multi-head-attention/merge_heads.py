"""The exercise `merge_heads`: from (batch, heads, L, d_head) back to (batch, L, heads · d_head)."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

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


@merge_heads.slips("""
    only_reshaped: The shape is right, but you reshaped without moving an axis: a row now holds one head
        of several words.
        Hint: A row should hold all heads of one word. Which two axes must be neighbours before you reshape?
    shuffled_into_each_other: Your row has the first number of every head, then the second number of
        every head, and so on. All numbers of head 0 come first.
        Hint: All the numbers of head 0 come first. Which should be the last axis when you reshape?
    below_each_other: The heads are one below the other, as if they were more words: (batch, heads · L,
        d_head).
        Hint: There should be as many words as before, each with more numbers. Along which axis do you join?
    heads_taken_for_words: You took the axis of the heads for that of the words: your result is (batch,
        heads, L · d_head).
        Hint: Write the name of each axis next to `x.shape`. Which number is L?
    added_up: The heads were added up, so they cannot be separated any more.
        Hint: They should be concatenated: how many numbers does each word then have?
    averaged: The heads were averaged, so they cannot be separated any more.
        Hint: They should be concatenated: how many numbers does each word then have?
    averaged_and_repeated: The heads were averaged, so they cannot be separated any more; repeating
        the average only fills the columns.
        Hint: They should be concatenated. Which numbers of `x` should stand in the row of a word?
    average_side_by_side: The heads were averaged, so they cannot be separated any more; a copy of
        the average for each head only fills the columns.
        Hint: They should be concatenated. Which numbers of `x` should stand in the row of a word?
    largest_of_the_heads: You took the largest number over the heads, so they cannot be separated any more.
        Hint: They should be concatenated: how many numbers does each word then have?
    first_head_again_and_again: The first head is repeated, once for each head.
        Hint: Each word should get the numbers of all heads. Which index picks a head, and does it ever
        change?
    not_joined: The axes are in the right order, but heads and numbers are not joined: your result still
        has four axes.
        Hint: Which function turns the last two axes into one?
    one_long_row: You joined the words as well: each sentence came out as one long row.
        Hint: The result has an axis for the words. Which sizes do you give to `reshape`?
    first_head_only: Only the first head comes back.
        Hint: Each word should get the numbers of all heads, one head after the other.
    sentences_side_by_side: You put the sentences side by side, and not the heads: a loop over `x`,
        or `np.concatenate(x)`, takes the parts along the first axis of `x`, the sentences.
        Hint: Which parts do you want to concatenate, and which axis of `x` do they come from?
    batch_and_heads_run_together: `np.concatenate(x)` without an axis runs sentences and heads together:
        (batch · heads, L, d_head).
        Hint: Which parts do you want to concatenate, and along which `axis` of each of them?
    joined_along_the_batch: The heads were joined along the batch, as if they were more sentences.
        Hint: Each word should get more numbers, not each batch more sentences. Which `axis` is that?
    all_axes_turned_round: `.T` reversed all four axes, and the reshape then mixed words, heads and sentences.
        Hint: Exchange only two axes. Which two?
    first_sentence_only: Only the first sentence of the batch comes back.
        Hint: The result has an axis for the batch. Is there an index `[0]` too many?
    sizes_named_in_another_order: You read the sizes off in another order: the second axis of `x` counts
        the heads, and you took it for the words.
        Hint: Write the name of each axis next to `x.shape`, as the docstring gives them. Which number is L?
    words_and_numbers_exchanged: You exchanged the last two axes, words and numbers; exchange heads and
        words instead.
        Hint: Write the name of each axis below its number. Which two must be neighbours before you reshape?
    batch_and_heads_exchanged: You exchanged the first two axes, sentences and heads; exchange heads and
        words instead.
        Hint: Write the name of each axis below its number. Which two must be neighbours before you reshape?
    heads_and_numbers_exchanged: You exchanged heads and numbers; exchange heads and words instead.
        Hint: Write the name of each axis below its number. Which two must be neighbours before you reshape?
    returns_a_list
    all_words_in_one_heap: The words of all the sentences are in one list: the axis of the batch is gone.
        Hint: Which three sizes does the docstring name? Which of them did you multiply together?
""")
def merge_heads_with_slips(slip, x):
    batch, heads, length, d_head = x.shape
    if slip.added_up:
        return x.sum(axis=1)
    if slip.averaged:
        return x.mean(axis=1)
    if slip.averaged_and_repeated:
        return np.repeat(x.mean(axis=1), heads, axis=-1)
    if slip.average_side_by_side:
        return np.tile(x.mean(axis=1), heads)
    if slip.largest_of_the_heads:
        return x.max(axis=1)
    if slip.first_head_only:
        return x[:, 0]
    if slip.first_head_again_and_again:
        return np.tile(x[:, 0], heads)

    order = slip.choose(
        (0, 2, 1, 3),
        only_reshaped=(0, 1, 2, 3),
        shuffled_into_each_other=(0, 2, 3, 1),
        below_each_other=(0, 1, 2, 3),
        heads_taken_for_words=(0, 1, 2, 3),
        sentences_side_by_side=(1, 2, 0, 3),
        batch_and_heads_run_together=(0, 1, 2, 3),
        joined_along_the_batch=(1, 0, 2, 3),
        all_axes_turned_round=(3, 2, 1, 0),
        words_and_numbers_exchanged=(0, 1, 3, 2),
        batch_and_heads_exchanged=(1, 0, 2, 3),
        heads_and_numbers_exchanged=(0, 3, 2, 1),
    )
    shape = slip.choose(
        (batch, length, heads * d_head),
        below_each_other=(batch, heads * length, d_head),
        heads_taken_for_words=(batch, heads, length * d_head),
        not_joined=(batch, length, heads, d_head),
        one_long_row=(batch, length * heads * d_head),
        sentences_side_by_side=(heads, length, batch * d_head),
        batch_and_heads_run_together=(batch * heads, length, d_head),
        joined_along_the_batch=(heads * batch, length, d_head),
        sizes_named_in_another_order=(batch, heads, length * d_head),
        all_words_in_one_heap=(batch * length, heads * d_head),
    )
    result = x.transpose(order).reshape(shape)
    if slip.first_sentence_only:
        result = result[0]
    if slip.returns_a_list:
        return result.tolist()
    return result


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
