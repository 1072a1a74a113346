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


def contributions(weights, values, w_o):
    return weights @ values @ rows_of(w_o, len(weights))


def wrong(means, nudge):
    return head_contributions.misconception(means=means, nudge=nudge)


@wrong(
    means="You multiplied by the head's *columns* of w_o; a head's result enters through its rows.",
    nudge="merged @ w_o: which axis of w_o meets the numbers of a head?",
)
def columns_for_rows(weights, values, w_o):
    return contributions(weights, values, w_o.T)


@wrong(
    means="Every head uses the first head's rows of w_o.",
    nudge="Where do the rows of head 1 begin?",
)
def first_rows_for_all(weights, values, w_o):
    return weights @ values @ w_o[: values.shape[-1]]


@wrong(
    means="You took every `heads`-th row of w_o; the rows of one head are neighbours.",
    nudge="In which order does merge_heads put the numbers of the heads side by side?",
)
def every_so_many_rows(weights, values, w_o):
    heads = len(weights)
    return np.array([weights[h] @ values[h] @ w_o[h::heads] for h in range(heads)])


@wrong(
    means="The heads use each other's rows of w_o, in reverse order.",
    nudge="Whose rows are the first rows of w_o?",
)
def rows_in_reverse(weights, values, w_o):
    return weights @ values @ rows_of(w_o, len(weights))[::-1]


@wrong(
    means="You multiplied by the attention weights the wrong way round: their columns averaged, not their rows.",
    nudge="Which axis of the weights sums to 1, and which axis of the values does it meet?",
)
def weights_transposed(weights, values, w_o):
    return contributions(np.swapaxes(weights, -1, -2), values, w_o)


@wrong(
    means="The attention weights are missing: each token contributes its own value.",
    nudge="What does a head do with the values before w_o?",
)
def without_the_weights(weights, values, w_o):
    return values @ rows_of(w_o, len(weights))


@wrong(
    means="You applied a softmax to the weights; they are attention weights already.",
    nudge="What do the rows of `weights` sum to?",
)
def softmax_again(weights, values, w_o):
    powers = np.exp(weights)
    return contributions(powers / powers.sum(axis=-1, keepdims=True), values, w_o)


@wrong(
    means="You divided by the number of heads; what the heads add to the stream is a sum, not a mean.",
    nudge="What must the contributions of all heads sum to?",
)
def mean_for_sum(weights, values, w_o):
    return contributions(weights, values, w_o) / len(weights)


@wrong(
    means="Each entry is the sum of all heads; each head should have its own.",
    nudge="Which axis of the result belongs to the heads, and was anything summed over it?",
)
def the_sum_for_each_head(weights, values, w_o):
    found = contributions(weights, values, w_o)
    return np.broadcast_to(found.sum(axis=0), found.shape).copy()


@wrong(
    means="Each entry is the sum of this head and all heads before it.",
    nudge="Does your loop add to what the last head has left?",
)
def running_sum(weights, values, w_o):
    return contributions(weights, values, w_o).cumsum(axis=0)


@wrong(
    means="These are all heads together, (L, d); the result should keep them apart, (heads, L, d).",
    nudge="Over which axis did you sum?",
)
def all_heads_together(weights, values, w_o):
    return contributions(weights, values, w_o).sum(axis=0)


@wrong(
    means="The axes are (L, heads, d); the heads should come first.",
    nudge="Which shape does the docstring promise?",
)
def heads_second(weights, values, w_o):
    return contributions(weights, values, w_o).swapaxes(0, 1)


@wrong(
    means="The product with w_o is missing: these are the heads' results, not what they add to the stream.",
    nudge="How does a head's result of d_head numbers become one of d numbers?",
)
def before_w_o(weights, values, w_o):
    return weights @ values


@wrong(
    means="Every head uses the first head's attention weights.",
    nudge="Do `weights` and `values` get the same index in your loop?",
)
def first_weights_for_all(weights, values, w_o):
    return contributions(np.broadcast_to(weights[:1], weights.shape), values, w_o)


@wrong(
    means="Every head uses the first head's values.",
    nudge="Do `weights` and `values` get the same index in your loop?",
)
def first_values_for_all(weights, values, w_o):
    return contributions(weights, np.broadcast_to(values[:1], values.shape), w_o)


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
