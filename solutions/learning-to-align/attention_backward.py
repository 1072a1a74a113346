"""The exercise `attention_backward`: from a gradient for the output to those for queries, keys and values."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import rows_back, shares, three_sizes
from .softmax_backward import softmax_backward

attention_backward = Exercise("attention_backward", points=4, builds_on=[softmax_backward], tolerance=1e-9)


@attention_backward.domain(
    sizes={"L_q": (1, 60), "L_k": (1, 60), "d_k": (1, 60), "d_v": (1, 60)}, magnitudes=(1.0, 30.0)
)
def anywhere(rng, L_q, L_k, d_k, d_v, magnitude):
    queries = magnitude * rng.normal(size=(L_q, d_k))
    keys = magnitude * rng.normal(size=(L_k, d_k))
    return inputs(queries, keys, rng.normal(size=(L_k, d_v)), rng.normal(size=(L_q, d_v)))


@attention_backward.case("the notebook's example by hand")
def by_hand(rng):
    queries = np.array([[0.0, 2.0]])
    keys = np.array([[1.0, 0.0], [3.0, 0.0]])
    return inputs(queries, keys, np.array([[4.0], [0.0]]), np.array([[1.0]]))


@attention_backward.case("every axis of its own size")
def all_different(rng):
    return inputs(*three_sizes(rng))


@attention_backward.case("as many queries as keys")
def as_many(rng):
    L, d_k, d_v = sizes(rng, 3, low=3)
    return inputs(*(rng.normal(size=(L, d)) for d in (d_k, d_k, d_v, d_v)))


@attention_backward.case("values of the keys' size")
def same_size(rng):
    L_q, L_k, d = sizes(rng, 3, low=3)
    return inputs(*(rng.normal(size=(L, d)) for L in (L_q, L_k, L_k, L_q)))


@attention_backward.case("one query")
def one_query(rng):
    L_k, d_k, d_v = sizes(rng, 3, low=3)
    return inputs(*(rng.normal(size=s) for s in ((1, d_k), (L_k, d_k), (L_k, d_v), (1, d_v))))


@attention_backward.case("everything square")
def square(rng):
    L = int(rng.integers(3, 7))
    return inputs(*(rng.normal(size=(L, L)) for _ in range(4)))


def _steps(queries, keys, values, upstream, forward=None, axis=-1):
    """The weights, and the gradients for them and for the scores."""
    root = np.sqrt(keys.shape[-1]) if forward is None else forward
    weights = shares(queries @ keys.T / root, axis)
    d_weights = upstream @ values.T
    return weights, d_weights, rows_back(weights, d_weights)


# Mistakes with the scale.


@attention_backward.misconception(
    means="The forward pass divides the scores by √d_k; your backward pass does not divide their gradients.",
    nudge="If s = x / c, what is the derivative of s with respect to x?",
)
def scale_forgotten_on_the_way_back(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="The gradient of the queries is divided by √d_k, that of the keys is not.",
    nudge="Both queries and keys reach the output through the same scaled scores.",
)
def scale_for_the_queries_only(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    return d @ keys / np.sqrt(keys.shape[1]), d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="The scale √d_k is missing altogether, in the weights too.",
    nudge="Which attention is this the gradient of? Look at its formula in section 6.",
)
def no_scale(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream, forward=1.0)
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="You divided by √d_k in the backward pass, but computed the weights without it.",
    nudge="Which weights did the forward pass use? The backward pass needs the same ones.",
)
def scale_only_on_the_way_back(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream, forward=1.0)
    d = d / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="You divided by d_k; its square root is expected.",
    nudge="What is the denominator in the formula of attention?",
)
def divided_by_d_k(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream, forward=keys.shape[1])
    d = d / keys.shape[1]
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="You divided by the square root of the number of keys; the scale is √d_k, the size of one key.",
    nudge="Which axis of `keys` holds the numbers of one key?",
)
def root_of_the_number_of_keys(queries, keys, values, upstream):
    root = np.sqrt(len(keys))
    weights, _, d = _steps(queries, keys, values, upstream, forward=root)
    return d @ keys / root, d.T @ queries / root, weights.T @ upstream


@attention_backward.misconception(
    means="In the backward pass you divided by √d_v, the root of a value's size; the scores were divided by √d_k.",
    nudge="The scores are products of queries and keys. Whose size is under the root?",
)
def root_of_the_values_size_on_the_way_back(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    d = d / np.sqrt(values.shape[1])
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="You divided by √d_v, the root of a value's size, in both passes; √d_k is expected.",
    nudge="The scores are products of queries and keys. Whose size is under the root?",
)
def root_of_the_values_size(queries, keys, values, upstream):
    root = np.sqrt(values.shape[1])
    weights, _, d = _steps(queries, keys, values, upstream, forward=root)
    return d @ keys / root, d.T @ queries / root, weights.T @ upstream


@attention_backward.misconception(
    means="In the backward pass you multiplied by √d_k instead of dividing by it.",
    nudge="If s = x / c, what is the derivative of s with respect to x?",
)
def multiplied_by_the_scale(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    d = d * np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights.T @ upstream


# Mistakes with the softmax.


@attention_backward.misconception(
    means="The backward pass through softmax is missing: you used the gradient of the weights for the scores.",
    nudge="What is between the scores and the weights, and which function of yours is its backward pass?",
)
def softmax_left_out(queries, keys, values, upstream):
    weights, d, _ = _steps(queries, keys, values, upstream)
    d = d / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="In the backward pass through softmax you used only each weight's own score, w(1 - w).",
    nudge="You have already written the backward pass through softmax. Do you use it here?",
)
def own_score_only(queries, keys, values, upstream):
    weights, d_weights, _ = _steps(queries, keys, values, upstream)
    d = weights * (1 - weights) * d_weights / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="In the backward pass through softmax you subtract nothing: weights times gradient is only the first term.",
    nudge="You have already written the backward pass through softmax. Do you use it here?",
)
def nothing_subtracted(queries, keys, values, upstream):
    weights, d_weights, _ = _steps(queries, keys, values, upstream)
    d = weights * d_weights / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="Your softmax runs over the queries (axis 0). The weights of each query must sum to 1 over the *keys*.",
    nudge="Along which axis of the (L_q, L_k) weights should they add up to 1?",
)
def softmax_over_the_queries(queries, keys, values, upstream):
    weights, d_weights, _ = _steps(queries, keys, values, upstream, axis=0)
    d = rows_back(weights.T, d_weights.T).T / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="In the backward pass through softmax your sum runs over the queries (axis 0) instead of the keys.",
    nudge="Along which axis of the (L_q, L_k) weights do they add up to 1?",
)
def way_back_over_the_queries(queries, keys, values, upstream):
    weights, d_weights, _ = _steps(queries, keys, values, upstream)
    d = rows_back(weights.T, d_weights.T).T / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="You passed the scores to `softmax_backward`; it expects the weights.",
    nudge="What does `softmax_backward` expect as its first argument?",
)
def scores_for_weights(queries, keys, values, upstream):
    root = np.sqrt(keys.shape[1])
    scores = queries @ keys.T / root
    d = rows_back(scores, upstream @ values.T) / root
    return d @ keys, d.T @ queries, shares(scores).T @ upstream


@attention_backward.misconception(
    means="You passed the two arguments of `softmax_backward` in the wrong order.",
    nudge="Which comes first in `softmax_backward`: the weights, or the gradient for them?",
)
def arguments_of_softmax_backward_exchanged(queries, keys, values, upstream):
    weights, d_weights, _ = _steps(queries, keys, values, upstream)
    d = rows_back(d_weights, weights) / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="You subtracted the maximum of all scores: a query whose scores are far below it has weights 0 / 0.",
    nudge="Each query has its own softmax. Which maximum should you subtract from its scores?",
)
def maximum_of_the_whole_array(queries, keys, values, upstream):
    with np.errstate(all="ignore"):
        scores = queries @ keys.T / np.sqrt(keys.shape[1])
        e = np.exp(scores - scores.max())
        weights = e / e.sum(axis=1, keepdims=True)
        d = rows_back(weights, upstream @ values.T) / np.sqrt(keys.shape[1])
        return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="You took exponentials of the scores as they are; scores in the thousands overflow to inf, and then nan.",
    nudge="Which function, given above, makes the weights safely?",
)
def no_maximum_subtracted(queries, keys, values, upstream):
    with np.errstate(all="ignore"):
        e = np.exp(queries @ keys.T / np.sqrt(keys.shape[1]))
        weights = e / e.sum(axis=1, keepdims=True)
        d = rows_back(weights, upstream @ values.T) / np.sqrt(keys.shape[1])
        return d @ keys, d.T @ queries, weights.T @ upstream


# Mistakes in who gets what.


@attention_backward.misconception(
    means="The values' gradient uses the scores; the output is made of *weights* times values.",
    nudge="output = W V. What is V multiplied by, before or after softmax?",
)
def scores_for_the_values(queries, keys, values, upstream):
    root = np.sqrt(keys.shape[1])
    _, _, d = _steps(queries, keys, values, upstream)
    d = d / root
    return d @ keys, d.T @ queries, (queries @ keys.T / root).T @ upstream


@attention_backward.misconception(
    means="The gradients of queries and keys are exchanged.",
    nudge="In which order does the docstring name the three, and which shape has each?",
)
def queries_and_keys_exchanged(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    d = d / np.sqrt(keys.shape[1])
    return d.T @ queries, d @ keys, weights.T @ upstream


@attention_backward.misconception(
    means="The three gradients come in the order in which they are computed; "
    "queries, keys, values is the order asked for.",
    nudge="In which order does the docstring name the three?",
)
def values_first(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    d = d / np.sqrt(keys.shape[1])
    return weights.T @ upstream, d.T @ queries, d @ keys


@attention_backward.misconception(
    means="The scores' gradient is multiplied by the queries for the queries and by the keys for the keys: "
    "each needs the *other* factor of the product.",
    nudge="For a product a·b: what is its derivative with respect to a?",
)
def own_factor(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    d = d / np.sqrt(keys.shape[1])
    return d @ queries, d.T @ keys, weights.T @ upstream


@attention_backward.misconception(
    means="The scores' gradient must be transposed for the keys: it has a row for each query.",
    nudge="The gradient of the keys has shape (L_k, d_k). Which two shapes multiply to that?",
)
def keys_not_transposed(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    d = d / np.sqrt(keys.shape[1])
    return d @ keys, d @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="The weights must be transposed for the values' gradient: a value gathers from all the queries.",
    nudge="The gradient of the values has shape (L_k, d_v). Which two shapes multiply to that?",
)
def weights_not_transposed(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    d = d / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights @ upstream


@attention_backward.misconception(
    means="The weights' gradient was made with the keys; the output mixes the *values*.",
    nudge="output = W V. By what is the output's gradient multiplied to reach W?",
)
def keys_for_values(queries, keys, values, upstream):
    weights = shares(queries @ keys.T / np.sqrt(keys.shape[1]))
    d = rows_back(weights, upstream @ keys.T) / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="Queries and keys get no gradient: you treated the weights as fixed numbers.",
    nudge="If a query moves a little, do the weights stay the same?",
)
def weights_held_fixed(queries, keys, values, upstream):
    weights, _, _ = _steps(queries, keys, values, upstream)
    return np.zeros_like(queries), np.zeros_like(keys), weights.T @ upstream


@attention_backward.misconception(
    means="You left `upstream` out: these are the gradients of the sum of all outputs.",
    nudge="The chain rule multiplies by what comes from behind. Where does `upstream` appear in your code?",
)
def upstream_taken_as_ones(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, np.ones_like(upstream))
    d = d / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, weights.T @ np.ones_like(upstream)


@attention_backward.misconception(
    means="All three signs are reversed: this points downhill, and the optimiser turns it round once more.",
    nudge="Compare one entry with the finite difference: which sign does that have?",
)
def signs_reversed(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    d = d / np.sqrt(keys.shape[1])
    return -d @ keys, -d.T @ queries, -weights.T @ upstream


@attention_backward.misconception(
    means="You used the output's gradient unchanged for the values; each value gets its weighted share of every query's.",
    nudge="How much of value j is in output i? By that its gradient goes back.",
)
def upstream_for_the_values(queries, keys, values, upstream):
    _, _, d = _steps(queries, keys, values, upstream)
    d = d / np.sqrt(keys.shape[1])
    return d @ keys, d.T @ queries, upstream


@attention_backward.misconception(
    means="In the backward pass you divided by d_k instead of by its square root.",
    nudge="By what does the forward pass divide the scores?",
)
def divided_by_d_k_on_the_way_back(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    d = d / keys.shape[1]
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.combined_misconception(root_of_the_number_of_keys, queries_and_keys_exchanged)
def exchanged_with_the_root_of_the_keys(queries, keys, values, upstream):
    d_queries, d_keys, d_values = root_of_the_number_of_keys(queries, keys, values, upstream)
    return d_keys, d_queries, d_values


@attention_backward.misconception(
    means="In the backward pass you divided by the root of the number of keys; the scores were divided by √d_k.",
    nudge="Which axis of `keys` holds the numbers of one key?",
)
def root_of_the_number_of_keys_on_the_way_back(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    d = d / np.sqrt(len(keys))
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.combined_misconception(
    root_of_the_number_of_keys_on_the_way_back, queries_and_keys_exchanged
)
def exchanged_with_the_root_of_the_keys_on_the_way_back(queries, keys, values, upstream):
    d_queries, d_keys, d_values = root_of_the_number_of_keys_on_the_way_back(queries, keys, values, upstream)
    return d_keys, d_queries, d_values


@attention_backward.combined_misconception(scale_forgotten_on_the_way_back, queries_and_keys_exchanged)
def exchanged_and_unscaled(queries, keys, values, upstream):
    d_queries, d_keys, d_values = scale_forgotten_on_the_way_back(queries, keys, values, upstream)
    return d_keys, d_queries, d_values


@attention_backward.combined_misconception(scale_forgotten_on_the_way_back, own_score_only)
def own_score_only_unscaled(queries, keys, values, upstream):
    weights, d_weights, _ = _steps(queries, keys, values, upstream)
    d = weights * (1 - weights) * d_weights
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.combined_misconception(scale_forgotten_on_the_way_back, softmax_left_out)
def softmax_left_out_unscaled(queries, keys, values, upstream):
    weights, d, _ = _steps(queries, keys, values, upstream)
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.combined_misconception(scale_forgotten_on_the_way_back, nothing_subtracted)
def nothing_subtracted_unscaled(queries, keys, values, upstream):
    weights, d_weights, _ = _steps(queries, keys, values, upstream)
    d = weights * d_weights
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.combined_misconception(scale_forgotten_on_the_way_back, keys_not_transposed)
def keys_not_transposed_unscaled(queries, keys, values, upstream):
    weights, _, d = _steps(queries, keys, values, upstream)
    return d @ keys, d @ queries, weights.T @ upstream


@attention_backward.combined_misconception(no_scale, softmax_left_out)
def softmax_left_out_no_scale(queries, keys, values, upstream):
    weights, d, _ = _steps(queries, keys, values, upstream, forward=1.0)
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.misconception(
    means="The gradient of the values is made with that of the scores; it is made with the weights.",
    nudge="out = weights @ values. What are the values multiplied by in the forward pass?",
)
def scores_gradient_for_the_values(queries, keys, values, upstream):
    _, _, d_scores = _steps(queries, keys, values, upstream)
    right = attention_backward.reference(queries, keys, values, upstream)
    return right[0], right[1], d_scores.T @ upstream


# Other right answers, which must pass.


@attention_backward.variant
def with_einsum(queries, keys, values, upstream):
    weights, d_weights, _ = _steps(queries, keys, values, upstream)
    scale = keys.shape[1] ** -0.5
    d = weights * (d_weights - np.einsum("ij,ij->i", weights, d_weights)[:, None])
    return (
        scale * np.einsum("ij,jd->id", d, keys),
        scale * np.einsum("ij,id->jd", d, queries),
        np.einsum("ij,iv->jv", weights, upstream),
    )


@attention_backward.variant
def query_by_query(queries, keys, values, upstream):
    d_queries, d_keys, d_values = (np.zeros_like(x) for x in (queries, keys, values))
    scale = np.sqrt(keys.shape[1])
    for i, (query, g) in enumerate(zip(queries, upstream)):
        w = shares(keys @ query / scale)
        d = w * (values @ g - w @ (values @ g))
        d_queries[i] = d @ keys / scale
        d_keys += np.outer(d, query) / scale
        d_values += np.outer(w, g)
    return d_queries, d_keys, d_values


@attention_backward.variant
def output_used_for_the_sum(queries, keys, values, upstream):
    root = np.sqrt(queries.shape[-1])
    weights = shares(queries @ keys.T / root)
    mean = (upstream * (weights @ values)).sum(axis=-1, keepdims=True)
    d = weights * (upstream @ values.T - mean) / root
    return d @ keys, d.T @ queries, weights.T @ upstream


@attention_backward.variant
def queries_scaled_first(queries, keys, values, upstream):
    scaled = queries / keys.shape[1] ** 0.5
    weights = shares(scaled @ keys.T)
    d = rows_back(weights, upstream @ values.T)
    return d @ keys / keys.shape[1] ** 0.5, d.T @ scaled, weights.T @ upstream
