"""The exercise `head_contributions`: what each head adds to the residual stream."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import random_weights

head_contributions = Exercise("head_contributions", points=3)


def drawn(rng, heads, length, d_head, masked=True):
    """Return weights (heads, L, L), values (heads, L, d_head) and w_o (d, d), d = heads · d_head."""
    weights = np.array([random_weights(rng, length, masked) for _ in range(heads)])
    values = rng.normal(size=(heads, length, d_head))
    d = heads * d_head
    return inputs(weights, values, rng.normal(size=(d, d)) / d_head**0.5)


@head_contributions.domain(
    sizes={"heads": (1, 9), "L": (1, 40), "d_head": (1, 16)},
    flags={"causal": (True, False)},
    dtypes=("float64", "float32"),
)
def anywhere(rng, heads, L, d_head, causal):
    return drawn(rng, heads, L, d_head, causal)


@head_contributions.case("the notebook's example: two heads, two tokens, d = 2")
def example(rng):
    weights = np.array([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]])
    values = np.array([[[2.0], [4.0]], [[1.0], [10.0]]])
    return inputs(weights, values, np.array([[1.0, 3.0], [0.0, -1.0]]))


@head_contributions.case("every size different")
def all_different(rng):
    heads, length, d_head = sizes(rng, 3, low=2, high=7)
    return drawn(rng, heads, length, d_head)


@head_contributions.case("as many heads as tokens and as numbers in a head")
def all_the_same(rng):
    return drawn(rng, 3, 3, 3)


@head_contributions.case("one head")
def one_head(rng):
    return drawn(rng, 1, 5, 4)


@head_contributions.case("one token")
def one_token(rng):
    return drawn(rng, 3, 1, 2)


@head_contributions.case("heads that may attend to all tokens")
def no_mask(rng):
    return drawn(rng, 2, 6, 5, masked=False)


def rows_of(w_o, heads):
    """Return the rows of each head, (heads, d_head, d)."""
    return w_o.reshape(heads, -1, w_o.shape[1])


@head_contributions.slips("""
    columns_for_rows: You multiplied by columns of w_o. The numbers of a head are multiplied by rows
        of w_o.
        Hint: The results of the heads, side by side, are multiplied by w_o. Is one number of a head
        multiplied by a row of w_o or by a column?
    first_rows_for_all: Every head uses the first head's rows of w_o.
        Hint: Where do the rows of head 1 begin?
    every_so_many_rows: You took every `heads`-th row of w_o. The rows of one head come one after
        the other.
        Hint: In which order does merge_heads put the numbers of the heads side by side?
    blocks_overlap: The blocks of rows begin at i, not at i · d_head, so they overlap.
        Hint: In which row does the block of head 1 begin?
    rows_in_reverse: The heads use each other's rows of w_o, in reverse order.
        Hint: Whose rows are the first rows of w_o?
    weights_transposed: You used the columns of the attention weights. Use the rows: the result of
        token i is row i of the weights times the values.
        Hint: Which axis of the weights sums to 1, and which axis of the values does it meet?
    without_the_weights: The attention weights are missing: each token contributes its own value.
        Hint: What does a head do with the values before w_o?
    softmax_again: You applied a softmax to the weights; they are attention weights already.
        Hint: What do the rows of `weights` sum to?
    mean_for_sum: You divided by the number of heads; what the heads add to the stream is a sum, not a
        mean.
        Hint: What must the contributions of all heads sum to?
    the_sum_for_each_head: Each entry is the sum of all heads; each head should have its own.
        Hint: Which axis of the result belongs to the heads, and was anything summed over it?
    running_sum: Each entry is the sum of this head and all heads before it.
        Hint: Does your loop add to what the last head has left?
    all_heads_together: These are all heads together, (L, d); the result should keep them apart, (heads,
        L, d).
        Hint: Over which axis did you sum?
    heads_second: The axes are (L, heads, d); the heads should come first.
        Hint: Which shape does the docstring promise?
    before_w_o: The product with w_o is missing: these are the heads' results, not what they add to the
        stream.
        Hint: How does a head's result of d_head numbers become one of d numbers?
    first_weights_for_all: Every head uses the first head's attention weights.
        Hint: Do `weights` and `values` get the same index in your loop?
    first_values_for_all: Every head uses the first head's values.
        Hint: Do `weights` and `values` get the same index in your loop?
""")
def head_contributions_with_slips(slip, weights, values, w_o):
    heads, _, size = values.shape
    if slip.first_weights_for_all:
        weights = np.broadcast_to(weights[:1], weights.shape)
    if slip.first_values_for_all:
        values = np.broadcast_to(values[:1], values.shape)
    if slip.softmax_again:
        weights = np.exp(weights) / np.exp(weights).sum(axis=-1, keepdims=True)
    if slip.weights_transposed:
        weights = weights.swapaxes(-1, -2)
    results = slip.choose(weights @ values, without_the_weights=values)
    if slip.before_w_o:
        return results
    rows = rows_of(slip.choose(w_o, columns_for_rows=w_o.T), heads)
    rows = slip.choose(
        rows,
        first_rows_for_all=rows[:1],
        every_so_many_rows=w_o.reshape(size, heads, -1).swapaxes(0, 1),
        blocks_overlap=np.stack([w_o[i : i + size] for i in range(heads)]),
        rows_in_reverse=rows[::-1],
    )
    found = results @ rows
    if slip.mean_for_sum:
        found = found / heads
    if slip.the_sum_for_each_head:
        found = np.repeat(found.sum(axis=0, keepdims=True), heads, axis=0)
    return slip.choose(
        found,
        running_sum=found.cumsum(axis=0),
        all_heads_together=found.sum(axis=0),
        heads_second=found.swapaxes(0, 1),
    )


# Other right answers, which must pass.


@head_contributions.variant
def a_loop(weights, values, w_o):
    size = values.shape[-1]
    found = []
    for head in range(len(weights)):
        result = weights[head] @ values[head]
        found.append(result @ w_o[head * size : (head + 1) * size])
    return np.array(found)


@head_contributions.variant
def with_einsum(weights, values, w_o):
    return np.einsum("hij,hjc,hcd->hid", weights, values, rows_of(w_o, len(weights)))


@head_contributions.variant
def others_ablated(weights, values, w_o):
    heads, length, size = values.shape
    merged = (weights @ values).transpose(1, 0, 2).reshape(length, heads * size)
    found = []
    for head in range(heads):
        rows = np.arange(len(w_o)) // size == head
        found.append(merged @ (w_o * rows[:, None]))
    return np.stack(found)
