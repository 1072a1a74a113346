"""The exercise `linear_attention`: the features of the keys summed first, so that no table of scores is made.

One case limits the memory. Its table of 2000 queries by 2000 keys takes 32 MB, 16 MB in float32: more than the 8 MB
that the grader's measure from outside allows above the limit.
"""

import numpy as np

from attention_labs.comparers import within_the_values
from autograder.authoring import Exercise, inputs, sizes

from ._shared import K, Q, V, as_it_is, drawn, phi
from .feature_map import feature_map

linear_attention = Exercise(
    "linear_attention", points=3, builds_on=[feature_map], properties=[within_the_values]
)


@linear_attention.domain(
    sizes={"L_q": (1, 60), "L_k": (1, 60), "d_k": (1, 60), "d_v": (1, 60)},
    magnitudes=(1.0, 5.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, L_q, L_k, d_k, d_v, magnitude):
    queries, keys = (magnitude * rng.uniform(-1, 1, size=(n, d_k)) for n in (L_q, L_k))
    return inputs(queries, keys, rng.normal(size=(L_k, d_v)))


@linear_attention.case("the notebook's example")
def example(rng):
    return inputs(Q, K, V)


@linear_attention.case("every size different")
def all_different(rng):
    return inputs(*drawn(rng, *sizes(rng, 4, low=3)))


@linear_attention.case("as many queries as keys, and one size of key and value")
def self_attention(rng):
    L, d = sizes(rng, 2, low=3)
    return inputs(*drawn(rng, L, L, d, d))


@linear_attention.case("as many keys as a key has numbers")
def square(rng):
    L_q, n, d_v = sizes(rng, 3, low=3)
    return inputs(*drawn(rng, L_q, n, n, d_v))


@linear_attention.case("one query, many keys")
def one_query(rng):
    d_k, d_v = sizes(rng, 2, low=3)
    return inputs(*drawn(rng, 1, 40, d_k, d_v))


@linear_attention.case("a single key")
def one_key(rng):
    L_q, d_k, d_v = sizes(rng, 3, low=3)
    return inputs(*drawn(rng, L_q, 1, d_k, d_v))


@linear_attention.case("numbers close to -5")
def very_low(rng):
    queries, keys = (rng.uniform(-5, -4.8, size=(n, 2)) for n in (4, 3))
    return inputs(queries, keys, rng.normal(size=(3, 5)))


@linear_attention.case("2000 queries and 2000 keys, at most 2 MB", memory=2_000_000)
def long(rng):
    queries, keys, values = drawn(rng, 20, 20, 2, 1)
    return inputs(*(np.tile(x, (100, 1)) for x in (queries, keys, values)))


# Mistakes.


def softmax(scores, axis):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def attend_by_table(slip, queries, keys, values):
    """Attention by way of the table of similarities (L_q, L_k), which takes too much memory."""
    weights = phi(queries) @ phi(keys).T
    if slip.softmax_of_features:
        weights = softmax(weights, 1)
    if slip.softmax_attention:
        weights = softmax(queries @ keys.T / keys.shape[1] ** 0.5, 1)
    if slip.map_of_the_dot_products:
        weights = phi(queries @ keys.T)
    if slip.causal or slip.causal_where_it_fits:
        weights = weights * (np.arange(len(keys)) <= np.arange(len(queries))[:, None])
    total = weights.sum(axis=1, keepdims=True)
    return weights @ values / np.where(total == 0, 1, total)


@linear_attention.slips("""
    table_of_similarities: You built the table with a number for each query and each key. Multiply
        the keys and the values first.
        Hint: Which of the two products do you compute first? What is the shape of φ(K)ᵀV?
    softmax_attention: This is softmax attention. Here the similarity is the dot product of the features,
        φ(q) · φ(k).
        Hint: Where does `feature_map` come in? There is no exponential of a score any more.
    no_feature_map: The feature map is missing: queries and keys are multiplied as they are.
        Hint: The similarity is φ(q) · φ(k). Which function of yours is φ?
    map_of_queries_only: The feature map is applied to the queries, but not to the keys.
        Hint: φ is applied to the query and to the key. Does your code apply it to both?
    map_of_keys_only: The feature map is applied to the keys, but not to the queries.
        Hint: φ is applied to the query and to the key. Does your code apply it to both?
    map_of_values_too: The values went through the feature map as well; they are averaged as they are.
        Hint: Which of the three arrays take part in the similarity?
    never_divided: The denominator is missing: these are weighted sums, not averages.
        Hint: What do the weights of one query add up to in your result? By what must you divide?
    divided_by_the_number_of_keys: You divided by the number of keys; each query has a denominator of its
        own, φ(q) · Σφ(k).
        Hint: What is the sum of one query's similarities with all the keys?
    epsilon_in_the_denominator: A small number was added to the denominator. It changes the result, and
        no denominator is 0 here.
        Hint: Can φ(q) · Σφ(k) become 0 when every feature is positive? Divide by it as it is.
    one_denominator_for_all: One denominator was used for all the queries; each query divides by its own.
        Hint: What is the shape of φ(Q) Σφ(K)? Did you add up its numbers once more?
    mean_for_the_sum: You used the mean of the key features in the denominator; it should be their sum.
        Hint: The numerator adds over the keys. Then what does the denominator do?
    map_of_the_sum: The keys were added up before the feature map; the sum of φ(k) is not φ of the sum.
        Hint: Which comes first in Σφ(k), the map or the sum?
    sum_of_query_features: The denominator is the sum of the query's features; the keys are missing from it.
        Hint: The weights of one query must add up to 1. Which sum of similarities is that?
    exponential_features: The feature map was e^x instead of elu(x) + 1.
        Hint: Call your own `feature_map`: what does it do above 0?
    relu_features: The features are those of relu, not of elu(x) + 1.
        Hint: Call your own `feature_map`: what does it do below 0?
    scaled_queries: You divided the queries by √d_k before the feature map. Linear attention has no such
        scale.
        Hint: Look at the formula: is there a root in it?
    scaled_numerator: Only the numerator is divided by √d_k, so the weights no longer add up to 1.
        Hint: Look at the formula: is there a root in it?
    softmax_of_features: A softmax of φ(q) · φ(k) was taken; these similarities are the weights already,
        up to their sum.
        Hint: What is left to do with positive similarities so that they add up to 1?
    keys_and_values_summed_apart: The values are summed first and multiplied by the summed features: the
        link between key and value is lost.
        Hint: φ(k) and v of one key belong together. Which product keeps the pairs?
    plain_average: All keys got the same weight: this is the plain average of the values.
        Hint: Where does the query come in?
    causal: The result is causal: query i sees only the keys up to i. Here every query sees all of them.
        Hint: Is there a mask in the formula of this exercise?
    epsilon_of_1e_8: A small number was added to the denominator. It changes the result, and no
        denominator is 0 here.
        Hint: Can φ(q) · Σφ(k) become 0 when every feature is positive? Divide by it as it is.
    epsilon_of_1e_5: A small number was added to the denominator. It changes the result, and no
        denominator is 0 here.
        Hint: Can φ(q) · Σφ(k) become 0 when every feature is positive? Divide by it as it is.
    scaled_queries_and_keys: Queries and keys were scaled before the feature map, as if for a softmax.
        Linear attention has no scale.
        Hint: Look at the formula: is there a root in it?
    total_is_one_number: The key features were added up to one single number; z is a vector with one sum
        for each feature.
        Hint: What is the shape of z? Which axis does `sum` need?
    state_divided_by_the_total: Each feature of the state was divided by its own total. The denominator
        belongs to the query: φ(q) · z.
        Hint: What do the weights of one query add up to? Divide at the end, by one number for each query.
    queries_and_keys_normalised_apart: Each feature of the keys was divided by its total, and each query
        by the sum of its features. The weights add up to 1, but they are not proportional to φ(q) ·
        φ(k).
        Hint: Compute the similarities first, then ask by what one query's must be divided.
    map_of_the_dot_products: The feature map was applied to the dot products. It belongs to queries and
        keys, before they are multiplied.
        Hint: φ(q · k) needs the whole table first. What does φ(q) · φ(k) need?
    divided_by_its_own_sum: Each row was divided by the sum of its own numbers, which are contexts, not
        weights.
        Hint: Which numbers should add up to 1, those of the context or the weights of the keys?
    causal_where_it_fits: Where there are as many queries as keys, the result is causal. Here every query
        sees all the keys.
        Hint: Is there a running sum or a mask in the formula of this exercise?
    softmax_of_queries_and_keys: The softmax was taken of the queries' and keys' features; φ alone makes
        them positive.
        Hint: Is there an exponential left once φ is applied?
    bare_keys_in_the_denominator: Your denominator sums the keys. It should sum their features φ(k),
        as the numerator does.
        Hint: The weights of one query must add up to 1. Which sum of similarities is that?
    bare_queries_in_the_denominator: The denominator uses the queries themselves; numerator and
        denominator must use the same features, φ(q).
        Hint: The weights of one query must add up to 1. Which sum of similarities is that?
    divided_twice: You divided by the denominator twice.
        Hint: How many times does the formula divide? What do the weights of one query add up to after
        the first time?
    transposed
    returns_nothing
""")
def linear_attention_with_slips(slip, queries, keys, values):
    if (
        slip.table_of_similarities
        or slip.softmax_attention
        or slip.softmax_of_features
        or slip.causal
        or slip.map_of_the_dot_products
        or (slip.causal_where_it_fits and len(queries) == len(keys))
    ):
        return attend_by_table(slip, queries, keys, values)
    d_k = keys.shape[1]
    if slip.scaled_queries:
        queries = queries / d_k**0.5
    if slip.scaled_queries_and_keys:
        queries, keys = queries / d_k**0.25, keys / d_k**0.25
    map_features = slip.choose(
        phi,
        no_feature_map=as_it_is,
        exponential_features=np.exp,
        relu_features=lambda x: np.maximum(x, 0) + 1e-300,
    )
    fq, fk = map_features(queries), map_features(keys)
    if slip.map_of_queries_only:
        fk = keys
    if slip.map_of_keys_only:
        fq = queries
    if slip.softmax_of_queries_and_keys:
        fq, fk = softmax(queries, 1), softmax(keys, 0)
    total = slip.choose(
        fk.sum(axis=0),
        mean_for_the_sum=fk.mean(axis=0),
        map_of_the_sum=phi(keys.sum(axis=0)),
        total_is_one_number=np.full(d_k, fk.sum(), dtype=fk.dtype),
        bare_keys_in_the_denominator=keys.sum(axis=0),
    )
    state = fk.T @ slip.choose(values, map_of_values_too=phi(values))
    if slip.keys_and_values_summed_apart:
        state = np.outer(total, values.sum(axis=0))
    if slip.state_divided_by_the_total or slip.queries_and_keys_normalised_apart:
        state = state / total[:, None]
    if slip.queries_and_keys_normalised_apart:
        fq = fq / fq.sum(axis=1, keepdims=True)
    out = fq @ state
    denominator = (slip.choose(fq, bare_queries_in_the_denominator=queries) @ total)[:, None]
    denominator = slip.choose(
        denominator,
        never_divided=1,
        state_divided_by_the_total=1,
        queries_and_keys_normalised_apart=1,
        softmax_of_queries_and_keys=1,
        divided_by_the_number_of_keys=len(keys),
        epsilon_in_the_denominator=denominator + 1e-6,
        epsilon_of_1e_8=denominator + 1e-8,
        epsilon_of_1e_5=denominator + 1e-5,
        one_denominator_for_all=denominator.sum(),
        sum_of_query_features=fq.sum(axis=1, keepdims=True),
        divided_by_its_own_sum=out.sum(axis=1, keepdims=True),
        divided_twice=denominator**2,
    )
    out = out / denominator
    return slip.choose(
        out,
        scaled_numerator=out / d_k**0.5,
        plain_average=np.repeat(values.mean(axis=0, keepdims=True), len(queries), axis=0),
        transposed=out.T,
        returns_nothing=None,
    )


@linear_attention.misconception(
    means="The key features were added up along the wrong axis: one sum for each key instead of one for each feature.",
    nudge="Σφ(k) adds over the keys. Which axis of an (L_k, d_k) array runs over the keys?",
    raises=ValueError,
)
def summed_along_the_wrong_axis(queries, keys, values):
    fq, fk = phi(queries), phi(keys)
    return fq @ (fk.T @ values) / (fq @ fk.sum(axis=1))[:, None]


@linear_attention.misconception(
    means="φ(K) and V do not fit: the product over the keys needs φ(K) transposed.",
    nudge="(L_k, d_k) and (L_k, d_v): which of them must be turned so that L_k is in the middle?",
    raises=ValueError,
)
def not_transposed(queries, keys, values):
    return phi(queries) @ (phi(keys) @ values)


# Other right answers, which must pass.


@linear_attention.variant
def with_einsum(queries, keys, values):
    fq, fk = phi(queries), phi(keys)
    state = np.einsum("jk,jv->kv", fk, values)
    return np.einsum("ik,kv->iv", fq, state) / np.einsum("ik,jk->i", fq, fk)[:, None]


@linear_attention.variant
def a_column_of_ones(queries, keys, values):
    ones = np.ones((len(values), 1), dtype=values.dtype)
    both = phi(queries) @ (phi(keys).T @ np.hstack([values, ones]))
    return both[:, :-1] / both[:, -1:]


@linear_attention.variant
def key_by_key(queries, keys, values):
    state = np.zeros((keys.shape[1], values.shape[1]), dtype=values.dtype)
    total = np.zeros(keys.shape[1], dtype=keys.dtype)
    for key, value in zip(keys, values, strict=True):
        state += np.outer(phi(key), value)
        total += phi(key)
    fq = phi(queries)
    return fq @ state / (fq @ total).reshape(-1, 1)


@linear_attention.variant
def query_by_query(queries, keys, values):
    fk = phi(keys)
    rows = []
    for query in queries:
        weights = fk @ phi(query)
        rows.append(weights @ values / weights.sum())
    return np.array(rows)


@linear_attention.variant
def outer_products(queries, keys, values):
    fq, fk = phi(queries), phi(keys)
    state = (fk[:, :, None] * values[:, None, :]).sum(axis=0)
    return fq @ state / (fq * fk.sum(axis=0)).sum(axis=1, keepdims=True)
