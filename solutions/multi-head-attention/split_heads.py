"""The exercise `split_heads`: from (batch, L, d) to (batch, heads, L, d / heads)."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

split_heads = Exercise("split_heads", points=2)


@split_heads.domain(
    sizes={"batch": (1, 20), "L": (1, 60), "heads": (1, 16), "d_head": (1, 12)},
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, heads, d_head):
    return inputs(rng.normal(size=(batch, L, heads * d_head)), heads)


@split_heads.case("three words of four numbers, as in the notebook")
def three_words(rng):
    return inputs(split_heads.solution.numbered, 2)


@split_heads.case("all sizes different")
def all_different(rng):
    batch, length, heads, d_head = sizes(rng, 4, high=6)
    return inputs(rng.normal(size=(batch, length, heads * d_head)), heads)


@split_heads.case("as many words as heads")
def as_many_words_as_heads(rng):
    batch, heads, d_head = sizes(rng, 3, high=6)
    return inputs(rng.normal(size=(batch, heads, heads * d_head)), heads)


@split_heads.case("one sentence, heads of one number each")
def single_numbers(rng):
    length, heads = sizes(rng, 2, low=3)
    return inputs(rng.normal(size=(1, length, heads)), heads)


@split_heads.slips("""
    only_reshaped: The shape is right, but you got it by reshaping alone: a head now holds pieces of
        different words in its rows.
        Hint: Reshape keeps the numbers in reading order. Which axis can it split in two, and which step
        moves an axis?
    not_transposed: Each word is split into its heads, but the axis of heads still comes after that of
        words: (batch, L, heads, d_head).
        Hint: In the docstring the axis of heads comes before that of words. Which function exchanges two
        axes?
    dealt_out_like_cards: You gave the columns to the heads in turn: head 0 got columns 0, h, 2h and so on.
        Hint: Head 0 is to get the first d / heads columns. In which order must the two new axes be in
        the reshape?
    heads_taken_for_their_size: You exchanged `heads` and the size of a head.
        Hint: `heads` says how many there are. How many numbers does each of them get?
    heads_before_the_batch: The axis of heads comes before that of sentences: your result is (heads,
        batch, L, d_head).
        Hint: The batch comes first, then the heads. Which of the four axes should `transpose` leave alone?
    batch_and_heads_in_one_axis: Batch and heads are one axis: your result is (batch · heads, L, d_head).
        Hint: Some programs do keep them in one axis, but here the docstring asks for four. Which step
        joins the two?
    cut_into_batch_times_heads: You split the whole array into batch · heads parts by reshaping alone, so
        parts of several words are in one head.
        Hint: Cut only the last axis, in a result of four axes. Which axis has then still to be moved?
    words_and_numbers_exchanged: Words and numbers are exchanged within each head: your result is (batch,
        heads, d_head, L).
        Hint: Your axes after the reshape are batch, L, heads, d_head. In which order do you want them?
    all_axes_turned_round: `.T` turns all the axes round, so the batch ended up last and the numbers of a
        head first.
        Hint: Exchange only two of the four axes. Which function lets you choose them?
    whole_vector_for_every_head: Every head got the whole vector of each word; nothing was split.
        Hint: The d numbers are divided among the heads. How many does each get?
    first_columns_for_all: Every head got the same columns, the first ones.
        Hint: Head i takes the columns from i · d_head to (i + 1) · d_head. Where does your code use i?
    last_columns_first: The heads came out in reverse order: head 0 holds the last columns.
        Hint: Head 0 takes the first columns. From which end do you count?
    always_two_heads: You always split into two heads, as in the notebook's example, whatever `heads` says.
        Hint: Where does your code use `heads`?
    first_sentence_only: Only the first sentence of the batch comes back.
        Hint: The result has an axis for the batch. Is there an index `[0]` too many?
    list_of_heads: This is a Python list with an array for each head; one array with an axis for the
        heads is asked for.
        Hint: Which NumPy function puts arrays side by side along a *new* axis, and where should that
        axis stand?
    slices_as_wide_as_heads: Your slices are `heads` columns wide; a head has d / heads of them.
        Hint: With 6 columns and 2 heads, how wide is a head? Which columns does head 1 take?
    words_shared_out: You split the axis of the words; each head takes all words, and a part of their columns.
        Hint: In (batch, L, d), which axis is divided among the heads?
    heads_and_numbers_exchanged: You exchanged the last two axes, heads and numbers; exchange heads and
        words instead.
        Hint: Write the name of each axis below its number after the reshape. Which two are in the wrong
        order?
    returns_a_list
""")
def split_heads_with_slips(slip, x, heads):
    if slip.always_two_heads:
        heads = 2
    batch, length, d = x.shape
    if slip.list_of_heads:
        return np.split(x, heads, axis=-1)
    if slip.cut_into_batch_times_heads:
        return x.reshape(batch * heads, -1, d // heads)
    if slip.slices_as_wide_as_heads:
        return np.stack([x[:, :, i * heads : (i + 1) * heads] for i in range(heads)], axis=1)

    shape = slip.choose(
        (batch, length, heads, -1),
        only_reshaped=(batch, heads, length, -1),
        dealt_out_like_cards=(batch, length, -1, heads),
        heads_taken_for_their_size=(batch, length, -1, heads),
        words_shared_out=(batch, heads, -1, d),
    )
    order = slip.choose(
        (0, 2, 1, 3),
        only_reshaped=(0, 1, 2, 3),
        not_transposed=(0, 1, 2, 3),
        dealt_out_like_cards=(0, 3, 1, 2),
        words_and_numbers_exchanged=(0, 2, 3, 1),
        all_axes_turned_round=(3, 2, 1, 0),
        words_shared_out=(0, 1, 2, 3),
        heads_and_numbers_exchanged=(0, 1, 3, 2),
    )
    result = x.reshape(shape).transpose(order)

    if slip.whole_vector_for_every_head:
        result = np.repeat(x[:, np.newaxis], heads, axis=1)
    if slip.first_columns_for_all:
        result = np.repeat(result[:, :1], heads, axis=1)
    if slip.last_columns_first:
        result = result[:, ::-1]
    if slip.heads_before_the_batch:
        result = result.swapaxes(0, 1)
    if slip.batch_and_heads_in_one_axis:
        result = result.reshape(batch * heads, length, -1)
    if slip.first_sentence_only:
        result = result[0]
    if slip.returns_a_list:
        return result.tolist()
    return result


@split_heads.misconception(
    means="d / heads is a float, even where it comes out even, and a size must be a whole number.",
    nudge="Which division of Python's gives a whole number?",
    raises=TypeError,
)
def size_from_a_true_division(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, x.shape[2] / heads)


@split_heads.variant
def with_swapaxes(x, heads):
    batch, length, d = x.shape
    return np.swapaxes(x.reshape(batch, length, heads, d // heads), 1, 2)


@split_heads.variant
def with_moveaxis(x, heads):
    return np.moveaxis(x.reshape(*x.shape[:-1], heads, -1), -2, -3)


@split_heads.variant
def stacked_slices(x, heads):
    size = x.shape[-1] // heads
    return np.stack([x[:, :, i * size : (i + 1) * size] for i in range(heads)], axis=1)


@split_heads.variant
def split_and_stacked(x, heads):
    return np.stack(np.split(x, heads, axis=2), axis=1)


@split_heads.variant
def filled_in_a_loop(x, heads):
    batch, length, d = x.shape
    result = np.empty((batch, heads, length, d // heads), dtype=x.dtype)
    for head in range(heads):
        columns = slice(head * d // heads, (head + 1) * d // heads)
        result[:, head] = x[..., columns]
    return result


@split_heads.variant
def with_einsum(x, heads):
    return np.einsum("blhd->bhld", x.reshape(x.shape[0], x.shape[1], heads, -1))
