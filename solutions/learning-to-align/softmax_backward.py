"""The exercise `softmax_backward`: from a gradient for the weights to one for the scores."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import rows_back, shares

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


# Mistakes.


@softmax_backward.misconception(
    means="You took each weight's derivative with respect to its own score only; "
    "raising one score also lowers all the other weights of its row.",
    nudge="The weights of a row add up to 1. When one grows, what do the others do?",
)
def own_score_only(weights, upstream):
    return weights * (1 - weights) * upstream


@softmax_backward.misconception(
    means="You multiplied the weights by the gradient and subtracted nothing, as if softmax were exp alone.",
    nudge="Add one number to all scores of a row: the weights stay. What should your row then sum to?",
)
def as_if_exp_alone(weights, upstream):
    return weights * upstream


@softmax_backward.misconception(
    means="The weights in front are missing: a key with weight 0 still gets a gradient.",
    nudge="How much can a score move the output when its weight is 0.0001?",
)
def no_weights_in_front(weights, upstream):
    return upstream - (weights * upstream).sum(axis=-1, keepdims=True)


@softmax_backward.misconception(
    means="You subtracted the plain sum of the gradient; its weighted average is expected.",
    nudge="Look at the formula's sum over k: which two factors does it contain?",
)
def plain_sum(weights, upstream):
    return weights * (upstream - upstream.sum(axis=-1, keepdims=True))


@softmax_backward.misconception(
    means="You subtracted the plain mean of the gradient; its weighted average is expected.",
    nudge="Which keys should count most in the average that is subtracted?",
)
def plain_mean(weights, upstream):
    return weights * (upstream - upstream.mean(axis=-1, keepdims=True))


@softmax_backward.misconception(
    means="You subtracted the mean of weights times gradient; their sum is expected, because the weights sum to 1.",
    nudge="The weights add up to 1. Must the weighted sum be divided again?",
)
def mean_of_the_products(weights, upstream):
    return weights * (upstream - (weights * upstream).mean(axis=-1, keepdims=True))


@softmax_backward.misconception(
    means="You subtracted the sum itself; in the formula it is multiplied by the weights as well.",
    nudge="Where are the brackets in the formula, and what is in front of them?",
)
def bracket_forgotten(weights, upstream):
    product = weights * upstream
    return product - product.sum(axis=-1, keepdims=True)


@softmax_backward.misconception(
    means="Your sum runs over the first axis: it mixes different queries, each of which has its own softmax.",
    nudge="Along which axis do the weights add up to 1?",
)
def along_the_first_axis(weights, upstream):
    return weights * (upstream - (weights * upstream).sum(axis=0, keepdims=True))


@softmax_backward.misconception(
    means="Your sum runs over axis 1, which is the last one of a matrix only.",
    nudge="How do you name the last axis whatever the number of axes is?",
)
def always_axis_1(weights, upstream):
    return weights * (upstream - (weights * upstream).sum(axis=1, keepdims=True))


@softmax_backward.misconception(
    means="You summed over the whole array; each row has its own softmax and its own sum.",
    nudge="How many sums do you need for a matrix with four rows?",
)
def over_everything(weights, upstream):
    return weights * (upstream - (weights * upstream).sum())


@softmax_backward.misconception(
    means="The sum lost its axis, so NumPy lines it up with the columns instead of the rows.",
    nudge="Compare the shapes of `weights` and of your sum. What does `keepdims` change?",
)
def sum_without_its_axis(weights, upstream):
    return weights * (upstream - (weights * upstream).sum(axis=-1))


@softmax_backward.misconception(
    means="The sign is reversed: this gradient points downhill.",
    nudge="If a key's gradient is above the average, should its score's gradient be positive or negative?",
)
def sign_reversed(weights, upstream):
    return -rows_back(weights, upstream)


@softmax_backward.misconception(
    means="You applied softmax to the weights. They already sum to 1, and the scores are not needed.",
    nudge="Read the docstring: what is `weights`?",
)
def softmax_once_more(weights, upstream):
    return rows_back(shares(weights), upstream)


@softmax_backward.misconception(
    means="You exchanged the two arguments.",
    nudge="Which of the two adds up to 1 in each row?",
)
def arguments_exchanged(weights, upstream):
    return rows_back(upstream, weights)


@softmax_backward.misconception(
    means="You made one large matrix of derivatives from all rows together; that works for a single row only.",
    nudge="Each row of weights has its own matrix of derivatives. Or is there a way without any matrix?",
)
def made_for_one_row(weights, upstream):
    w = weights.reshape(-1, 1)
    return (np.diagflat(w) - w @ w.T) @ upstream


@softmax_backward.misconception(
    means="You divided by the length of the row; nothing in softmax is an average over the keys.",
    nudge="Compare with the example by hand: by which factor are you off?",
)
def divided_by_the_length(weights, upstream):
    return rows_back(weights, upstream) / weights.shape[-1]


@softmax_backward.misconception(
    means="You applied the sigmoid's rule w(1 - w) to the gradient minus its average: you used the weights twice.",
    nudge="Write down the formula's factors. Is there a (1 - w) left once the sum is taken away?",
)
def sigmoid_and_softmax(weights, upstream):
    return weights * (1 - weights) * (upstream - (weights * upstream).sum(axis=-1, keepdims=True))


@softmax_backward.misconception(
    means="You return the numbers of the notebook's example for every input.",
    nudge="Where does your code use `weights`?",
)
def hard_coded(weights, upstream):
    return np.array([0.75, -0.625, -0.125])


@softmax_backward.common_mistake
def modifies_argument(weights, upstream):
    upstream -= (weights * upstream).sum(axis=-1, keepdims=True)
    return weights * upstream


@softmax_backward.common_mistake
def returns_a_list(weights, upstream):
    return rows_back(weights, upstream).tolist()


@softmax_backward.misconception(
    means="You added the weighted average of the gradient where it is subtracted.",
    nudge="If all the scores of a row grow by the same amount, no weight changes. Does your formula give that?",
)
def average_added(weights, upstream):
    return weights * (upstream + (weights * upstream).sum(axis=-1, keepdims=True))


@softmax_backward.combined_misconception(no_weights_in_front, along_the_first_axis)
def no_weights_along_the_first_axis(weights, upstream):
    return upstream - (weights * upstream).sum(axis=0, keepdims=True)


@softmax_backward.combined_misconception(no_weights_in_front, plain_mean)
def no_weights_and_plain_mean(weights, upstream):
    return upstream - upstream.mean(axis=-1, keepdims=True)


@softmax_backward.combined_misconception(no_weights_in_front, over_everything)
def no_weights_over_everything(weights, upstream):
    return upstream - (weights * upstream).sum()


@softmax_backward.combined_misconception(plain_sum, along_the_first_axis)
def plain_sum_along_the_first_axis(weights, upstream):
    return weights * (upstream - upstream.sum(axis=0, keepdims=True))


@softmax_backward.combined_misconception(always_axis_1, sign_reversed)
def axis_1_and_sign_reversed(weights, upstream):
    return weights * ((weights * upstream).sum(axis=1, keepdims=True) - upstream)


@softmax_backward.combined_misconception(average_added, along_the_first_axis)
def average_added_along_the_first_axis(weights, upstream):
    return weights * (upstream + (weights * upstream).sum(axis=0, keepdims=True))


@softmax_backward.misconception(
    means="What is subtracted is multiplied by the weights twice.",
    nudge="In w (g − Σ w g), how often is the sum multiplied by w?",
)
def weights_once_too_often(weights, upstream):
    return weights * upstream - weights**2 * (weights * upstream).sum(axis=-1, keepdims=True)


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
