"""The exercise `without_head`: the rows of the output matrix that belong to one head."""

import numpy as np

from autograder.authoring import Exercise, inputs

without_head = Exercise("without_head", points=1)


def given(rng, heads, size, head):
    d = heads * size
    return inputs(rng.normal(size=(d, d)), head, heads)


@without_head.domain(
    sizes={"size": (1, 16)},
    flags={"heads": (3, 1, 2, 8), "which": ("middle", "first", "last")},
    dtypes=("float64", "float32"),
)
def anywhere(rng, size, heads, which):
    return given(rng, heads, size, {"middle": heads // 2, "first": 0, "last": heads - 1}[which])


@without_head.case("the notebook's example: four rows, two heads")
def example(rng):
    return inputs(np.arange(1.0, 17.0).reshape(4, 4), 1, 2)


@without_head.case("the first head")
def first(rng):
    return given(rng, 3, 4, 0)


@without_head.case("a head in the middle")
def middle(rng):
    return given(rng, 4, 3, int(rng.integers(1, 3)))


@without_head.case("the last head")
def last(rng):
    return given(rng, 4, 2, 3)


@without_head.case("as many heads as numbers in a head")
def square(rng):
    return given(rng, 3, 3, 1)


@without_head.case("the only head")
def only(rng):
    return given(rng, 1, 4, 0)


def zeroed(w_o, rows=slice(0, 0), columns=slice(None)):
    result = w_o.copy()
    result[rows, columns] = 0
    return result


def rows_of(w_o, head, heads):
    size = len(w_o) // heads
    return slice(head * size, (head + 1) * size)


def wrong(means, nudge):
    return without_head.misconception(means=means, nudge=nudge)


@wrong(
    means="You set the head's *columns* to 0; a head's result enters through its rows.",
    nudge="merged @ w_o: which axis of w_o meets the numbers of a head?",
)
def columns_for_rows(w_o, head, heads):
    return zeroed(w_o, slice(None), rows_of(w_o, head, heads))


@wrong(
    means="Only the square of the head's rows and columns is 0; the rows are zero over their whole length.",
    nudge="A head's result is added to how many numbers of the stream?",
)
def rows_and_columns(w_o, head, heads):
    return zeroed(w_o, rows_of(w_o, head, heads), rows_of(w_o, head, heads))


@wrong(
    means="You took the head's rows *and* its columns away.",
    nudge="What is in the head's columns: what it writes, or what all heads write to some numbers of the stream?",
)
def cross_for_rows(w_o, head, heads):
    return zeroed(zeroed(w_o, rows_of(w_o, head, heads)), slice(None), rows_of(w_o, head, heads))


@wrong(
    means="All heads are ablated but the one that should be.",
    nudge="Which rows are to be zero, and which stay as they are?",
)
def the_others(w_o, head, heads):
    return w_o - zeroed(w_o, rows_of(w_o, head, heads))


@wrong(
    means="The rows of the head after this one are zero: heads are counted from 0.",
    nudge="Where do the rows of head 0 begin?",
)
def the_next_head(w_o, head, heads):
    return zeroed(w_o, rows_of(w_o, head + 1, heads))


@wrong(
    means="The rows of the head before this one are zero: heads are counted from 0.",
    nudge="Where do the rows of head 0 begin?",
)
def the_head_before(w_o, head, heads):
    return zeroed(w_o, rows_of(w_o, (head - 1) % heads, heads))


@wrong(
    means="You took every `heads`-th row; a head's rows are neighbours.",
    nudge="In which order does merge_heads put the numbers of the heads side by side?",
)
def every_so_many_rows(w_o, head, heads):
    return zeroed(w_o, slice(head, None, heads))


@wrong(
    means="Only one row is zero; a head has d / heads of them.",
    nudge="How many numbers does a head hand over for each token?",
)
def one_row(w_o, head, heads):
    return zeroed(w_o, slice(head, head + 1))


@wrong(
    means="Only the first of the head's rows is zero; it has d / heads of them.",
    nudge="How many numbers does a head hand over for each token?",
)
def first_row_of_the_head(w_o, head, heads):
    start = rows_of(w_o, head, heads).start
    return zeroed(w_o, slice(start, start + 1))


@wrong(
    means="You took `heads` rows; a head has d / heads of them.",
    nudge="How many numbers does a head hand over for each token?",
)
def as_many_rows_as_heads(w_o, head, heads):
    return zeroed(w_o, slice(head * heads, (head + 1) * heads))


@wrong(
    means="You always split the matrix into two heads; how many there are, `heads` says.",
    nudge="Where in your function does `heads` appear?",
)
def always_two_heads(w_o, head, heads):
    return zeroed(w_o, rows_of(w_o, head, 2))


@wrong(
    means="You set the head's rows to −∞, as for scores before a softmax. These rows are multiplied, so they must be 0.",
    nudge="By what must a number be multiplied so that nothing of it arrives?",
)
def minus_infinity(w_o, head, heads):
    result = w_o.copy()
    result[rows_of(w_o, head, heads)] = -np.inf
    return result


@wrong(
    means="From the head's first row on everything is zero: the heads after it are ablated too.",
    nudge="Where do the head's rows end?",
)
def and_all_after_it(w_o, head, heads):
    return zeroed(w_o, slice(rows_of(w_o, head, heads).start, None))


@wrong(
    means="Everything up to the head's last row is zero: the heads before it are ablated too.",
    nudge="Where do the head's rows begin?",
)
def and_all_before_it(w_o, head, heads):
    return zeroed(w_o, slice(rows_of(w_o, head, heads).stop))


@wrong(
    means="One row too many is zero: a slice's end does not belong to it.",
    nudge="Which is the last row of w_o[2:4]?",
)
def one_row_too_many(w_o, head, heads):
    rows = rows_of(w_o, head, heads)
    return zeroed(w_o, slice(rows.start, rows.stop + 1))


@wrong(
    means="One row too few is zero.",
    nudge="Which is the last row of w_o[2:4]?",
)
def one_row_too_few(w_o, head, heads):
    rows = rows_of(w_o, head, heads)
    return zeroed(w_o, slice(rows.start, rows.stop - 1))


@wrong(
    means="The head's rows are cut out, so that the matrix no longer fits; they are to be zero.",
    nudge="Which shape must the matrix have, so that merged @ w_o still works?",
)
def rows_cut_out(w_o, head, heads):
    return np.delete(w_o, rows_of(w_o, head, heads), axis=0)


@wrong(
    means="You returned the head's rows alone.",
    nudge="Which shape does the docstring promise?",
)
def only_its_rows(w_o, head, heads):
    return w_o[rows_of(w_o, head, heads)].copy()


@wrong(
    means="You set the head's rows to 1. They must be 0, because with 1 the head still adds something.",
    nudge="By what must a number be multiplied so that nothing of it arrives?",
)
def ones_for_zeros(w_o, head, heads):
    result = w_o.copy()
    result[rows_of(w_o, head, heads)] = 1
    return result


@wrong(means="Nothing is zero: the matrix came back as it was.", nudge="Which rows should be different?")
def unchanged(w_o, head, heads):
    return w_o.copy()


@wrong(means="Everything is zero: all heads are ablated.", nudge="Which rows should stay as they were?")
def all_heads_gone(w_o, head, heads):
    return np.zeros_like(w_o)


@without_head.common_mistake
def modifies_argument(w_o, head, heads):
    w_o[rows_of(w_o, head, heads)] = 0
    return w_o


# Other right answers, which must pass.


@without_head.variant
def as_blocks(w_o, head, heads):
    blocks = w_o.reshape(heads, -1, w_o.shape[1]).copy()
    blocks[head] = 0
    return blocks.reshape(w_o.shape)


@without_head.variant
def times_a_mask(w_o, head, heads):
    keep = np.arange(len(w_o)) // (len(w_o) // heads) != head
    return w_o * keep[:, None]


@without_head.variant
def stacked(w_o, head, heads):
    size = w_o.shape[0] // heads
    return np.vstack([w_o[: head * size], np.zeros((size, w_o.shape[1])), w_o[(head + 1) * size :]])


@without_head.variant
def a_loop(w_o, head, heads):
    result = np.array(w_o)
    size = len(w_o) // heads
    for row in range(head * size, head * size + size):
        for column in range(w_o.shape[1]):
            result[row, column] = 0.0
    return result
