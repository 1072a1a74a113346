"""The exercise `softmax_backward`: from a gradient for the weights to one for the scores."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import shares

softmax_backward = Exercise("softmax_backward", points=3)


def _pair(rng, *shape):
    return shares(rng.normal(size=shape)), rng.normal(size=shape)


@softmax_backward.domain(
    sizes={"batch": (1, 12), "rows": (1, 60), "columns": (1, 60)}, flags={"axes": (3, 1, 2)}
)
def anywhere(rng, batch, rows, columns, axes):
    return inputs(*_pair(rng, *(batch, rows, columns)[-axes:]))


@softmax_backward.case("the notebook's three weights")
def by_hand(rng):
    return inputs(np.array([0.5, 0.25, 0.25]), np.array([4.0, 0.0, 2.0]))


@softmax_backward.case("a matrix of weights")
def matrix(rng):
    return inputs(*_pair(rng, *sizes(rng, 2, low=3)))


@softmax_backward.case("a square matrix of weights")
def square(rng):
    size = int(rng.integers(3, 7))
    return inputs(*_pair(rng, size, size))


@softmax_backward.case("a batch of matrices")
def batch(rng):
    return inputs(*_pair(rng, *sizes(rng, 3)))


@softmax_backward.case("a row that is nearly all on one key")
def nearly_hard(rng):
    scores = rng.normal(size=sizes(rng, 2, low=3))
    scores[0, 1] += 12
    return inputs(shares(scores), rng.normal(size=scores.shape))


@softmax_backward.slips("""
    own_score_only: You used only the effect of a score on its own weight. It also changes the other
        weights of its row.
        Hint: The weights of a row add up to 1. When one grows, what do the others do?
    as_if_exp_alone: You multiplied the weights by the gradient and subtracted nothing, as if softmax
        were exp alone.
        Hint: Add one number to all scores of a row: the weights stay. What should your row then sum to?
    no_weights_in_front: The weights in front are missing: a key with weight 0 still gets a gradient.
        Hint: How much can a score move the output when its weight is 0.0001?
    plain_sum: You subtracted the plain sum of the gradient; its weighted average is expected.
        Hint: Look at the formula's sum over k: which two factors does it contain?
    plain_mean: You subtracted the plain mean of the gradient; its weighted average is expected.
        Hint: Which keys should count most in the average that is subtracted?
    mean_of_the_products: You subtracted the mean of weights times gradient; their sum is expected,
        because the weights sum to 1.
        Hint: The weights add up to 1. Must the weighted sum be divided again?
    bracket_forgotten: You subtracted the sum itself; in the formula it is multiplied by the weights as well.
        Hint: Where are the brackets in the formula, and what is in front of them?
    along_the_first_axis: Your sum runs over the first axis: it mixes different queries, each of which
        has its own softmax.
        Hint: Along which axis do the weights add up to 1?
    always_axis_1: You sum over axis 1. That is the last axis only if the array has two axes.
        Hint: How do you name the last axis whatever the number of axes is?
    over_everything: You summed over the whole array; each row has its own softmax and its own sum.
        Hint: How many sums do you need for a matrix with four rows?
    sum_without_its_axis: The sum lost its axis, so NumPy lines it up with the columns instead of the rows.
        Hint: Compare the shapes of `weights` and of your sum. What does `keepdims` change?
    sign_reversed: The sign is reversed: this gradient points downhill.
        Hint: If a key's gradient is above the average, should its score's gradient be positive or negative?
    softmax_once_more: You applied softmax to the weights. They already sum to 1, and the scores are not
        needed.
        Hint: Read the docstring: what is `weights`?
    arguments_exchanged: You exchanged the two arguments.
        Hint: Which of the two adds up to 1 in each row?
    made_for_one_row: You made one large matrix of derivatives from all rows together; that works for a
        single row only.
        Hint: Each row of weights has its own matrix of derivatives. Or is there a way without any matrix?
    divided_by_the_length: You divided by the length of the row; nothing in softmax is an average over
        the keys.
        Hint: Compare with the example by hand: by which factor are you off?
    sigmoid_and_softmax: You applied the sigmoid's rule w(1 - w) to the gradient minus its average: you
        used the weights twice.
        Hint: Write down the formula's factors. Is there a (1 - w) left once the sum is taken away?
    hard_coded: You return the numbers of the notebook's example for every input.
        Hint: Where does your code use `weights`?
    modifies_argument
    returns_a_list
    average_added: You added the weighted average of the gradient where it is subtracted.
        Hint: If all the scores of a row grow by the same amount, no weight changes. Does your formula
        give that?
    weights_once_too_often: What is subtracted is multiplied by the weights twice.
        Hint: In w (g − Σ w g), how often is the sum multiplied by w?
""")
def softmax_backward_with_slips(slip, weights, upstream):
    if slip.hard_coded:
        return np.array([0.75, -0.625, -0.125])
    if slip.softmax_once_more:
        weights = shares(weights)
    if slip.arguments_exchanged:
        weights, upstream = upstream, weights
    if slip.made_for_one_row:
        w = weights.reshape(-1, 1)
        return (np.diagflat(w) - w @ w.T) @ upstream

    axis = slip.choose(-1, along_the_first_axis=0, always_axis_1=1, over_everything=None)
    product = weights * upstream
    average = slip.choose(
        product.sum(axis, keepdims=not slip.sum_without_its_axis),
        plain_sum=upstream.sum(axis, keepdims=True),
        plain_mean=upstream.mean(axis, keepdims=True),
        mean_of_the_products=product.mean(axis, keepdims=True),
    )
    difference = slip.choose(
        upstream - average,
        own_score_only=upstream,
        as_if_exp_alone=upstream,
        average_added=upstream + average,
        sign_reversed=average - upstream,
    )
    if slip.modifies_argument:
        upstream -= average
    factor = slip.choose(
        weights,
        no_weights_in_front=1,
        own_score_only=weights * (1 - weights),
        sigmoid_and_softmax=weights * (1 - weights),
    )
    gradient = factor * difference
    if slip.bracket_forgotten:
        gradient = product - average
    if slip.weights_once_too_often:
        gradient = product - weights**2 * average
    if slip.divided_by_the_length:
        gradient = gradient / weights.shape[-1]
    if slip.returns_a_list:
        return gradient.tolist()
    return gradient


# Other right answers, which must pass.


@softmax_backward.variant
def with_einsum(weights, upstream):
    return weights * (upstream - np.einsum("...k,...k->...", weights, upstream)[..., None])


@softmax_backward.variant
def with_matrices_of_derivatives(weights, upstream):
    identity = np.eye(weights.shape[-1])
    jacobians = weights[..., :, None] * (identity - weights[..., None, :])
    return (jacobians @ upstream[..., None])[..., 0]


@softmax_backward.variant
def row_by_row(weights, upstream):
    gradient = np.empty_like(weights)
    for place in np.ndindex(weights.shape[:-1]):
        w = weights[place]
        gradient[place] = (np.diag(w) - np.outer(w, w)) @ upstream[place]
    return gradient


@softmax_backward.variant
def product_first(weights, upstream):
    product = upstream * weights
    return product - weights * np.sum(product, axis=-1, keepdims=True)


@softmax_backward.variant
def flattened(weights, upstream):
    w = weights.reshape(-1, weights.shape[-1])
    g = upstream.reshape(w.shape)
    return (w * g - w * (w * g).sum(axis=1)[:, None]).reshape(weights.shape)
