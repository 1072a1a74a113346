"""The exercise `attention_backward`: from a gradient for the output to those for queries, keys and values."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import rows_back, shares, three_sizes
from .softmax_backward import softmax_backward

attention_backward = Exercise(
    "attention_backward", points=4, builds_on=[softmax_backward], tolerance=1e-9
)


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


@attention_backward.slips("""
    scale_forgotten_on_the_way_back: The forward pass divides the scores by √d_k; your backward pass does
        not divide their gradients.
        Hint: If s = x / c, what is the derivative of s with respect to x?
    scale_for_the_queries_only: The gradient of the queries is divided by √d_k, that of the keys is not.
        Hint: Both queries and keys reach the output through the same scaled scores.
    no_scale: The scale √d_k is missing altogether, in the weights too.
        Hint: Which attention is this the gradient of? Look at its formula in section 6.
    scale_only_on_the_way_back: You divided by √d_k in the backward pass, but computed the weights without it.
        Hint: Which weights did the forward pass use? The backward pass needs the same ones.
    divided_by_d_k: You divided by d_k; its square root is expected.
        Hint: What is the denominator in the formula of attention?
    root_of_the_number_of_keys: You divided by the square root of the number of keys; the scale is √d_k,
        the size of one key.
        Hint: Which axis of `keys` holds the numbers of one key?
    root_of_the_values_size_on_the_way_back: In the backward pass you divided by √d_v, the root of a
        value's size; the scores were divided by √d_k.
        Hint: The scores are products of queries and keys. Whose size is under the root?
    root_of_the_values_size: You divided by √d_v, the root of a value's size, in both passes; √d_k is
        expected.
        Hint: The scores are products of queries and keys. Whose size is under the root?
    multiplied_by_the_scale: In the backward pass you multiplied by √d_k instead of dividing by it.
        Hint: If s = x / c, what is the derivative of s with respect to x?
    softmax_left_out: The backward pass through softmax is missing: you used the gradient of the weights
        for the scores.
        Hint: What is between the scores and the weights, and which function of yours is its backward pass?
    own_score_only: In the backward pass through softmax you used only each weight's own score, w(1 - w).
        Hint: You have already written the backward pass through softmax. Do you use it here?
    nothing_subtracted: In the backward pass through softmax, weights times gradient is not enough:
        the weighted average of the gradient is subtracted from the gradient first.
        Hint: You have already written the backward pass through softmax. Do you use it here?
    softmax_over_the_queries: Your softmax runs over the queries (axis 0). The weights of each query must
        sum to 1 over the *keys*.
        Hint: Along which axis of the (L_q, L_k) weights should they add up to 1?
    way_back_over_the_queries: In the backward pass through softmax your sum runs over the queries (axis
        0) instead of the keys.
        Hint: Along which axis of the (L_q, L_k) weights do they add up to 1?
    scores_for_weights: You passed the scores to `softmax_backward`; it expects the weights.
        Hint: What does `softmax_backward` expect as its first argument?
    arguments_of_softmax_backward_exchanged: You passed the two arguments of `softmax_backward` in the
        wrong order.
        Hint: Which comes first in `softmax_backward`: the weights, or the gradient for them?
    maximum_of_the_whole_array: You subtracted the maximum of all scores: a query whose scores are far
        below it has weights 0 / 0.
        Hint: Each query has its own softmax. Which maximum should you subtract from its scores?
    no_maximum_subtracted: You took exponentials of the scores as they are; scores in the thousands
        overflow to inf, and then nan.
        Hint: Which function, given above, makes the weights safely?
    scores_for_the_values: The values' gradient uses the scores; the output is made of *weights* times values.
        Hint: output = W V. What is V multiplied by, before or after softmax?
    queries_and_keys_exchanged: The gradients of queries and keys are exchanged.
        Hint: In which order does the docstring name the three, and which shape has each?
    values_first: The three gradients come in the order in which they are computed; queries, keys, values
        is the order asked for.
        Hint: In which order does the docstring name the three?
    own_factor: The scores' gradient is multiplied by the queries for the queries and by the keys for the
        keys: each needs the *other* factor of the product.
        Hint: For a product a·b: what is its derivative with respect to a?
    keys_not_transposed: The gradient of the scores has a row for each query. For the keys it must
        be transposed.
        Hint: The gradient of the keys has shape (L_k, d_k). Which two shapes multiply to that?
    weights_not_transposed: The weights must be transposed for the values' gradient: a value gathers from
        all the queries.
        Hint: The gradient of the values has shape (L_k, d_v). Which two shapes multiply to that?
    keys_for_values: The weights' gradient was made with the keys; the output mixes the *values*.
        Hint: output = W V. By what is the output's gradient multiplied to reach W?
    weights_held_fixed: Queries and keys get no gradient: you treated the weights as fixed numbers.
        Hint: If a query moves a little, do the weights stay the same?
    upstream_taken_as_ones: You left `upstream` out: these are the gradients of the sum of all outputs.
        Hint: The chain rule multiplies by what comes from behind. Where does `upstream` appear in your code?
    signs_reversed: All three signs are reversed: this points downhill, and the optimiser turns it round
        once more.
        Hint: Compare one entry with the finite difference: which sign does that have?
    upstream_for_the_values: You used the output's gradient unchanged for the values; each value gets its
        weighted share of every query's.
        Hint: How much of value j is in output i? By that its gradient goes back.
    divided_by_d_k_on_the_way_back: In the backward pass you divided by d_k instead of by its square root.
        Hint: By what does the forward pass divide the scores?
    root_of_the_number_of_keys_on_the_way_back: In the backward pass you divided by the root of the
        number of keys; the scores were divided by √d_k.
        Hint: Which axis of `keys` holds the numbers of one key?
    scores_gradient_for_the_values: The gradient of the values is made with that of the scores; it is
        made with the weights.
        Hint: out = weights @ values. What are the values multiplied by in the forward pass?
""")
def attention_backward_with_slips(slip, queries, keys, values, upstream):
    root = np.sqrt(keys.shape[1])
    scale = slip.choose(
        root,
        no_scale=1.0,
        divided_by_d_k=keys.shape[1],
        root_of_the_number_of_keys=np.sqrt(len(keys)),
        root_of_the_values_size=np.sqrt(values.shape[1]),
    )
    scale_back = slip.choose(
        scale,
        scale_forgotten_on_the_way_back=1.0,
        root_of_the_values_size_on_the_way_back=np.sqrt(values.shape[1]),
        multiplied_by_the_scale=1 / root,
        divided_by_d_k_on_the_way_back=keys.shape[1],
        root_of_the_number_of_keys_on_the_way_back=np.sqrt(len(keys)),
    )
    scale = slip.choose(scale, scale_only_on_the_way_back=1.0)
    if slip.upstream_taken_as_ones:
        upstream = np.ones_like(upstream)

    axis = slip.choose(-1, softmax_over_the_queries=0)
    scores = queries @ keys.T / scale
    maximum = slip.choose(
        scores.max(axis, keepdims=True),
        maximum_of_the_whole_array=scores.max(),
        no_maximum_subtracted=0,
    )
    exponentials = np.exp(scores - maximum)
    weights = exponentials / exponentials.sum(axis, keepdims=True)

    d_weights = upstream @ slip.choose(values, keys_for_values=keys).T
    axis = slip.choose(axis, way_back_over_the_queries=0)
    w, g = slip.choose(
        (weights, d_weights),
        scores_for_weights=(scores, d_weights),
        arguments_of_softmax_backward_exchanged=(d_weights, weights),
    )
    d_scores = slip.choose(
        w * (g - (w * g).sum(axis, keepdims=True)),
        softmax_left_out=d_weights,
        own_score_only=weights * (1 - weights) * d_weights,
        nothing_subtracted=weights * d_weights,
    )

    left = slip.choose(
        weights.T,
        scores_for_the_values=scores.T,
        weights_not_transposed=weights,
        scores_gradient_for_the_values=d_scores.T,
    )
    d_values = upstream
    if not slip.upstream_for_the_values:
        d_values = left @ upstream
    if slip.weights_held_fixed:
        d_scores = np.zeros_like(d_scores)
    d_products = d_scores / scale_back
    if slip.own_factor:
        queries, keys = keys, queries
    d_queries = d_products @ keys
    for_keys = slip.choose(d_products, scale_for_the_queries_only=d_scores)
    d_keys = slip.choose(for_keys.T, keys_not_transposed=for_keys) @ queries

    if slip.queries_and_keys_exchanged:
        return d_keys, d_queries, d_values
    if slip.values_first:
        return d_values, d_keys, d_queries
    if slip.signs_reversed:
        return -d_queries, -d_keys, -d_values
    return d_queries, d_keys, d_values


# Other right answers, which must pass.


@attention_backward.variant
def with_einsum(queries, keys, values, upstream):
    weights = shares(queries @ keys.T / np.sqrt(keys.shape[1]))
    d_weights = upstream @ values.T
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
