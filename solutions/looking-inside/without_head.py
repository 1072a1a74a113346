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


@without_head.slips("""
    columns_for_rows: You chose columns of `w_o`. The numbers of a head are multiplied by rows of `w_o`.
        Hint: The results of the heads, side by side, are multiplied by w_o. Is one number of a head
        multiplied by a row of w_o or by a column?
    rows_and_columns: Only the square of the head's rows and columns is 0; the rows are zero over their
        whole length.
        Hint: A head's result is added to how many numbers of the stream?
    cross_for_rows: You took the head's rows *and* its columns away.
        Hint: What is in the head's columns: what it writes, or what all heads write to some numbers of
        the stream?
    the_others: All heads are ablated but the one that should be.
        Hint: Which rows are to be zero, and which stay as they are?
    the_next_head: The rows of the head after this one are zero: heads are counted from 0.
        Hint: Where do the rows of head 0 begin?
    the_head_before: The rows of the head before this one are zero: heads are counted from 0.
        Hint: Where do the rows of head 0 begin?
    every_so_many_rows: You took every `heads`-th row. The rows of one head come one after the
        other.
        Hint: In which order does merge_heads put the numbers of the heads side by side?
    one_row: Only one row is zero; a head has d / heads of them.
        Hint: How many numbers does a head hand over for each token?
    first_row_of_the_head: Only the first of the head's rows is zero; it has d / heads of them.
        Hint: How many numbers does a head hand over for each token?
    as_many_rows_as_heads: You took `heads` rows; a head has d / heads of them.
        Hint: How many numbers does a head hand over for each token?
    always_two_heads: You always split the matrix into two heads; how many there are, `heads` says.
        Hint: Where in your function does `heads` appear?
    minus_infinity: You set the head's rows to −∞, as for scores before a softmax. These rows are
        multiplied, so they must be 0.
        Hint: By what must a number be multiplied so that nothing of it arrives?
    and_all_after_it: From the head's first row on everything is zero: the heads after it are ablated
        too.
        Hint: Where do the head's rows end?
    and_all_before_it: Everything up to the head's last row is zero: the heads before it are ablated too.
        Hint: Where do the head's rows begin?
    one_row_too_many: One row too many is zero: a slice's end does not belong to it.
        Hint: Which is the last row of w_o[2:4]?
    one_row_too_few: One row too few is zero. Hint: Which is the last row of w_o[2:4]?
    rows_cut_out: The head's rows are cut out, so that the matrix no longer fits; they are to be zero.
        Hint: Which shape must the matrix have, so that merged @ w_o still works?
    only_its_rows: You returned the head's rows alone. Hint: Which shape does the docstring promise?
    ones_for_zeros: You set the head's rows to 1. They must be 0, because with 1 the head still adds
        something.
        Hint: By what must a number be multiplied so that nothing of it arrives?
    unchanged: Nothing is zero: the matrix came back as it was. Hint: Which rows should be different?
    all_heads_gone: Everything is zero: all heads are ablated. Hint: Which rows should stay as they were?
    modifies_argument
""")
def without_head_with_slips(slip, w_o, head, heads):
    if slip.the_next_head:
        head = head + 1
    if slip.the_head_before:
        head = (head - 1) % heads
    size = len(w_o) // slip.choose(heads, always_two_heads=2)
    start, stop = head * size, (head + 1) * size
    rows, columns = slice(start, stop), slice(None)
    if slip.rows_cut_out:
        return np.delete(w_o, rows, axis=0)
    if slip.only_its_rows:
        return w_o[rows].copy()
    rows = slip.choose(
        rows,
        columns_for_rows=slice(None),
        every_so_many_rows=slice(head, None, heads),
        one_row=slice(head, head + 1),
        first_row_of_the_head=slice(start, start + 1),
        as_many_rows_as_heads=slice(head * heads, (head + 1) * heads),
        and_all_after_it=slice(start, None),
        and_all_before_it=slice(stop),
        one_row_too_many=slice(start, stop + 1),
        one_row_too_few=slice(start, stop - 1),
        unchanged=slice(0, 0),
        all_heads_gone=slice(None),
    )
    if slip.columns_for_rows or slip.rows_and_columns:
        columns = slice(start, stop)
    result = slip.choose(w_o.copy(), modifies_argument=w_o)
    result[rows, columns] = slip.choose(0, minus_infinity=-np.inf, ones_for_zeros=1)
    if slip.cross_for_rows:
        result[:, rows] = 0
    return slip.choose(result, the_others=w_o - result)


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
