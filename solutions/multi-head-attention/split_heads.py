"""The exercise `split_heads`: from (batch, L, d) to (batch, heads, L, d / heads)."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import split, split_by_reshape

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


@split_heads.misconception(
    means="The shape is right, but you got it by reshaping alone: a head now holds pieces of "
    "different words in its rows.",
    nudge="Reshape keeps the numbers in reading order. Which axis can it split in two, and which step "
    "moves an axis?",
)
def only_reshaped(x, heads):
    return split_by_reshape(x, heads)


@split_heads.misconception(
    means="Each word is split into its heads, but the axis of heads still comes after that of words: (batch, L, "
    "heads, d_head).",
    nudge="In the docstring the axis of heads comes before that of words. Which function exchanges two axes?",
)
def not_transposed(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1)


@split_heads.misconception(
    means="You gave the columns to the heads in turn: head 0 got columns 0, h, 2h and so on.",
    nudge="Head 0 is to get the first d / heads columns. In which order must the two new axes be "
    "in the reshape?",
)
def dealt_out_like_cards(x, heads):
    return x.reshape(x.shape[0], x.shape[1], -1, heads).transpose(0, 3, 1, 2)


@split_heads.misconception(
    means="You exchanged `heads` and the size of a head.",
    nudge="`heads` says how many there are. How many numbers does each of them get?",
)
def heads_taken_for_their_size(x, heads):
    return x.reshape(x.shape[0], x.shape[1], -1, heads).transpose(0, 2, 1, 3)


@split_heads.misconception(
    means="The axis of heads comes before that of sentences: your result is (heads, batch, L, d_head).",
    nudge="The batch comes first, then the heads. Which of the four axes should `transpose` leave alone?",
)
def heads_before_the_batch(x, heads):
    return np.stack(np.split(x, heads, axis=-1))


@split_heads.misconception(
    means="Batch and heads are one axis: your result is (batch · heads, L, d_head).",
    nudge="Some programs do keep them in one axis, but here the docstring asks for four. Which step "
    "joins the two?",
)
def batch_and_heads_in_one_axis(x, heads):
    return split(x, heads).reshape(x.shape[0] * heads, x.shape[1], -1)


@split_heads.misconception(
    means="You split the whole array into batch · heads parts by reshaping alone, so parts of "
    "several words are in one head.",
    nudge="Cut only the last axis, in a result of four axes. Which axis has then still to be moved?",
)
def cut_into_batch_times_heads(x, heads):
    return x.reshape(x.shape[0] * heads, -1, x.shape[2] // heads)


@split_heads.misconception(
    means="Words and numbers are exchanged within each head: your result is (batch, heads, d_head, L).",
    nudge="Your axes after the reshape are batch, L, heads, d_head. In which order do you want them?",
)
def words_and_numbers_exchanged(x, heads):
    return split(x, heads).swapaxes(-1, -2)


@split_heads.misconception(
    means="`.T` turns all the axes round, so the batch ended up last and the numbers of a head first.",
    nudge="Exchange only two of the four axes. Which function lets you choose them?",
)
def all_axes_turned_round(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).T


@split_heads.misconception(
    means="Every head got the whole vector of each word; nothing was split.",
    nudge="The d numbers are divided among the heads. How many does each get?",
)
def whole_vector_for_every_head(x, heads):
    return np.repeat(x[:, np.newaxis], heads, axis=1)


@split_heads.misconception(
    means="Every head got the same columns, the first ones.",
    nudge="Head i takes the columns from i · d_head to (i + 1) · d_head. Where does your code use i?",
)
def first_columns_for_all(x, heads):
    first = x[:, :, : x.shape[2] // heads]
    return np.repeat(first[:, np.newaxis], heads, axis=1)


@split_heads.misconception(
    means="The heads came out in reverse order: head 0 holds the last columns.",
    nudge="Head 0 takes the first columns. From which end do you count?",
)
def last_columns_first(x, heads):
    return split(x, heads)[:, ::-1]


@split_heads.misconception(
    means="You always split into two heads, as in the notebook's example, whatever `heads` says.",
    nudge="Where does your code use `heads`?",
)
def always_two_heads(x, heads):
    return split(x, 2)


@split_heads.misconception(
    means="d / heads is a float, even where it comes out even, and a size must be a whole number.",
    nudge="Which division of Python's gives a whole number?",
    raises=TypeError,
)
def size_from_a_true_division(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, x.shape[2] / heads)


@split_heads.misconception(
    means="Only the first sentence of the batch comes back.",
    nudge="The result has an axis for the batch. Is there an index `[0]` too many?",
)
def first_sentence_only(x, heads):
    return split(x, heads)[0]


@split_heads.misconception(
    means="This is a Python list with an array for each head; one array with an axis for the heads "
    "is asked for.",
    nudge="Which NumPy function puts arrays side by side along a *new* axis, and where should that "
    "axis stand?",
)
def list_of_heads(x, heads):
    return np.split(x, heads, axis=-1)


@split_heads.misconception(
    means="Your slices are `heads` columns wide; a head has d / heads of them.",
    nudge="With 6 columns and 2 heads, how wide is a head? Which columns does head 1 take?",
)
def slices_as_wide_as_heads(x, heads):
    return np.stack([x[:, :, i * heads : (i + 1) * heads] for i in range(heads)], axis=1)


@split_heads.misconception(
    means="You split the axis of the words; each head takes all words, and a part of their columns.",
    nudge="In (batch, L, d), which axis is divided among the heads?",
)
def words_shared_out(x, heads):
    return np.stack(np.split(x, heads, axis=1), axis=1)


@split_heads.combined_misconception(words_shared_out, heads_before_the_batch)
def words_shared_out_before_the_batch(x, heads):
    return np.stack(np.split(x, heads, axis=1), axis=0)


@split_heads.misconception(
    means="You exchanged the last two axes, heads and numbers; exchange heads and words instead.",
    nudge="Write the name of each axis below its number after the reshape. Which two are in the wrong order?",
)
def heads_and_numbers_exchanged(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).swapaxes(-1, -2)


@split_heads.combined_misconception(dealt_out_like_cards, heads_before_the_batch)
def dealt_out_before_the_batch(x, heads):
    return np.stack([x[:, :, head::heads] for head in range(heads)])


@split_heads.common_mistake
def returns_a_list(x, heads):
    return split_heads.reference(x, heads).tolist()


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
