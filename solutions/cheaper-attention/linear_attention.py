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


def summed(
    queries,
    keys,
    values,
    *,
    of_q=phi,
    of_k=phi,
    of_v=as_it_is,
    total=None,
    divide=True,
    epsilon=0.0,
    factor=1.0,
):
    """The right result, with other feature maps or another denominator."""
    fq, fk = of_q(queries), of_k(keys)
    numerator = fq @ (fk.T @ of_v(values)) * factor
    if not divide:
        return numerator
    weight = fk.sum(axis=0) if total is None else total(fk)
    return numerator / ((fq @ weight)[:, None] + epsilon)


def table(queries, keys, values, similarity, mask=None):
    """The result by way of the table of similarities (L_q, L_k)."""
    weights = similarity(queries, keys)
    if mask is not None:
        weights = weights * mask
    total = weights.sum(axis=1, keepdims=True)
    return weights @ values / np.where(total == 0, 1, total)


def of_features(queries, keys):
    return phi(queries) @ phi(keys).T


@linear_attention.misconception(
    means="The table of all queries by all keys was built; the brackets should be set the other way.",
    nudge="Which of the two products do you compute first? What is the shape of φ(K)ᵀV?",
)
def table_of_similarities(queries, keys, values):
    return table(queries, keys, values, of_features)


@linear_attention.misconception(
    means="This is softmax attention. Here the similarity is the dot product of the features, φ(q) · φ(k).",
    nudge="Where does `feature_map` come in? There is no exponential of a score any more.",
)
def softmax_attention(queries, keys, values):
    scores = queries @ keys.T / keys.shape[1] ** 0.5
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ values / weights.sum(axis=1, keepdims=True)


@linear_attention.misconception(
    means="The feature map is missing: queries and keys are multiplied as they are.",
    nudge="The similarity is φ(q) · φ(k). Which function of yours is φ?",
)
def no_feature_map(queries, keys, values):
    return summed(queries, keys, values, of_q=as_it_is, of_k=as_it_is)


@linear_attention.misconception(
    means="The feature map is applied to the queries, but not to the keys.",
    nudge="In φ(q) · φ(k), how many times does φ occur?",
)
def map_of_queries_only(queries, keys, values):
    return summed(queries, keys, values, of_k=as_it_is)


@linear_attention.misconception(
    means="The feature map is applied to the keys, but not to the queries.",
    nudge="In φ(q) · φ(k), how many times does φ occur?",
)
def map_of_keys_only(queries, keys, values):
    return summed(queries, keys, values, of_q=as_it_is)


@linear_attention.misconception(
    means="The values went through the feature map as well; they are averaged as they are.",
    nudge="Which of the three arrays take part in the similarity?",
)
def map_of_values_too(queries, keys, values):
    return summed(queries, keys, values, of_v=phi)


@linear_attention.misconception(
    means="The denominator is missing: these are weighted sums, not averages.",
    nudge="What do the weights of one query add up to in your result? By what must you divide?",
)
def never_divided(queries, keys, values):
    return summed(queries, keys, values, divide=False)


@linear_attention.misconception(
    means="You divided by the number of keys; each query has a denominator of its own, φ(q) · Σφ(k).",
    nudge="What is the sum of one query's similarities with all the keys?",
)
def divided_by_the_number_of_keys(queries, keys, values):
    return summed(queries, keys, values, divide=False) / len(keys)


@linear_attention.misconception(
    means="A small number was added to the denominator. It changes the result, and no denominator is 0 here.",
    nudge="Can φ(q) · Σφ(k) become 0 when every feature is positive? Divide by it as it is.",
)
def epsilon_in_the_denominator(queries, keys, values):
    return summed(queries, keys, values, epsilon=1e-6)


@linear_attention.misconception(
    means="One denominator was used for all the queries; each query divides by its own.",
    nudge="What is the shape of φ(Q) Σφ(K)? Did you add up its numbers once more?",
)
def one_denominator_for_all(queries, keys, values):
    fq, fk = phi(queries), phi(keys)
    return fq @ (fk.T @ values) / (fq @ fk.sum(axis=0)).sum()


@linear_attention.misconception(
    means="You used the mean of the key features in the denominator; it should be their sum.",
    nudge="The numerator adds over the keys. Then what does the denominator do?",
)
def mean_for_the_sum(queries, keys, values):
    return summed(queries, keys, values, total=lambda fk: fk.mean(axis=0))


@linear_attention.misconception(
    means="The keys were added up before the feature map; the sum of φ(k) is not φ of the sum.",
    nudge="Which comes first in Σφ(k), the map or the sum?",
)
def map_of_the_sum(queries, keys, values):
    return summed(queries, keys, values, total=lambda fk: phi(keys.sum(axis=0)))


@linear_attention.misconception(
    means="The denominator is the sum of the query's features; the keys are missing from it.",
    nudge="The weights of one query must add up to 1. Which sum of similarities is that?",
)
def sum_of_query_features(queries, keys, values):
    fq = phi(queries)
    return fq @ (phi(keys).T @ values) / fq.sum(axis=1, keepdims=True)


@linear_attention.misconception(
    means="The key features were added up along the wrong axis: one sum for each key instead of one for each feature.",
    nudge="Σφ(k) adds over the keys. Which axis of an (L_k, d_k) array runs over the keys?",
    raises=ValueError,
)
def summed_along_the_wrong_axis(queries, keys, values):
    return summed(queries, keys, values, total=lambda fk: fk.sum(axis=1))


@linear_attention.misconception(
    means="The feature map was e^x instead of elu(x) + 1.",
    nudge="Call your own `feature_map`: what does it do above 0?",
)
def exponential_features(queries, keys, values):
    return summed(queries, keys, values, of_q=np.exp, of_k=np.exp)


@linear_attention.misconception(
    means="The features are those of relu, not of elu(x) + 1.",
    nudge="Call your own `feature_map`: what does it do below 0?",
)
def relu_features(queries, keys, values):
    def relu(x):
        return np.maximum(x, 0) + 1e-300

    return summed(queries, keys, values, of_q=relu, of_k=relu)


@linear_attention.misconception(
    means="You divided the queries by √d_k before the feature map. Linear attention has no such scale.",
    nudge="Look at the formula: is there a root in it?",
)
def scaled_queries(queries, keys, values):
    return summed(queries / keys.shape[1] ** 0.5, keys, values)


@linear_attention.misconception(
    means="Only the numerator is divided by √d_k, so the weights no longer add up to 1.",
    nudge="Look at the formula: is there a root in it?",
)
def scaled_numerator(queries, keys, values):
    return summed(queries, keys, values, factor=keys.shape[1] ** -0.5)


@linear_attention.misconception(
    means="A softmax of φ(q) · φ(k) was taken; these similarities are the weights already, up to their sum.",
    nudge="What is left to do with positive similarities so that they add up to 1?",
)
def softmax_of_features(queries, keys, values):
    def similarity(q, k):
        scores = of_features(q, k)
        return np.exp(scores - scores.max(axis=1, keepdims=True))

    return table(queries, keys, values, similarity)


@linear_attention.misconception(
    means="The values are summed first and multiplied by the summed features: the link between key and value is lost.",
    nudge="φ(k) and v of one key belong together. Which product keeps the pairs?",
)
def keys_and_values_summed_apart(queries, keys, values):
    fq, fk = phi(queries), phi(keys)
    weight = fk.sum(axis=0)
    return (fq @ weight)[:, None] * values.sum(axis=0) / (fq @ weight)[:, None]


@linear_attention.misconception(
    means="All keys got the same weight: this is the plain average of the values.",
    nudge="Where does the query come in?",
)
def plain_average(queries, keys, values):
    return np.repeat(values.mean(axis=0, keepdims=True), len(queries), axis=0)


@linear_attention.misconception(
    means="The result is causal: query i sees only the keys up to i. Here every query sees all of them.",
    nudge="Is there a mask in the formula of this exercise?",
)
def causal(queries, keys, values):
    mask = np.arange(len(keys)) <= np.arange(len(queries))[:, None]
    return table(queries, keys, values, of_features, mask)


@linear_attention.misconception(
    means="φ(K) and V do not fit: the product over the keys needs φ(K) transposed.",
    nudge="(L_k, d_k) and (L_k, d_v): which of them must be turned so that L_k is in the middle?",
    raises=ValueError,
)
def not_transposed(queries, keys, values):
    return phi(queries) @ (phi(keys) @ values)


EPSILON = (
    "A small number was added to the denominator. It changes the result, and no denominator is 0 here.",
    "Can φ(q) · Σφ(k) become 0 when every feature is positive? Divide by it as it is.",
)


@linear_attention.misconception(means=EPSILON[0], nudge=EPSILON[1])
def epsilon_of_1e_8(queries, keys, values):
    return summed(queries, keys, values, epsilon=1e-8)


@linear_attention.misconception(means=EPSILON[0], nudge=EPSILON[1])
def epsilon_of_1e_5(queries, keys, values):
    return summed(queries, keys, values, epsilon=1e-5)


@linear_attention.misconception(
    means="Queries and keys were scaled before the feature map, as if for a softmax. Linear attention has no scale.",
    nudge="Look at the formula: is there a root in it?",
)
def scaled_queries_and_keys(queries, keys, values):
    scale = keys.shape[1] ** 0.25
    return summed(queries / scale, keys / scale, values)


@linear_attention.misconception(
    means="The key features were added up to one single number; z is a vector with one sum for each feature.",
    nudge="What is the shape of z? Which axis does `sum` need?",
)
def total_is_one_number(queries, keys, values):
    return summed(queries, keys, values, total=lambda fk: np.full(fk.shape[1], fk.sum(), dtype=fk.dtype))


@linear_attention.misconception(
    means="Each feature of the state was divided by its own total. The denominator belongs to the query: φ(q) · z.",
    nudge="What do the weights of one query add up to? Divide at the end, by one number for each query.",
)
def state_divided_by_the_total(queries, keys, values):
    fq, fk = phi(queries), phi(keys)
    return fq @ (fk.T @ values / fk.sum(axis=0)[:, None])


@linear_attention.misconception(
    means="Each feature of the keys was divided by its total, and each query by the sum of its features. The weights add "
    "up to 1, but they are not proportional to φ(q) · φ(k).",
    nudge="Compute the similarities first, then ask by what one query's must be divided.",
)
def queries_and_keys_normalised_apart(queries, keys, values):
    fq, fk = phi(queries), phi(keys)
    return fq / fq.sum(axis=1, keepdims=True) @ (fk.T @ values / fk.sum(axis=0)[:, None])


@linear_attention.misconception(
    means="The feature map was applied to the dot products. It belongs to queries and keys, before they are multiplied.",
    nudge="φ(q · k) needs the whole table first. What does φ(q) · φ(k) need?",
)
def map_of_the_dot_products(queries, keys, values):
    return table(queries, keys, values, lambda q, k: phi(q @ k.T))


@linear_attention.misconception(
    means="Each row was divided by the sum of its own numbers, which are contexts, not weights.",
    nudge="Which numbers should add up to 1, those of the context or the weights of the keys?",
)
def divided_by_its_own_sum(queries, keys, values):
    out = summed(queries, keys, values, divide=False)
    return out / out.sum(axis=1, keepdims=True)


@linear_attention.misconception(
    means="Where there are as many queries as keys, the result is causal. Here every query sees all the keys.",
    nudge="Is there a running sum or a mask in the formula of this exercise?",
)
def causal_where_it_fits(queries, keys, values):
    return causal(queries, keys, values) if len(queries) == len(keys) else summed(queries, keys, values)


@linear_attention.misconception(
    means="The softmax was taken of the queries' and keys' features; φ alone makes them positive.",
    nudge="Is there an exponential left once φ is applied?",
)
def softmax_of_queries_and_keys(queries, keys, values):
    def soft(x, axis):
        powers = np.exp(x - x.max(axis=axis, keepdims=True))
        return powers / powers.sum(axis=axis, keepdims=True)

    return soft(queries, 1) @ (soft(keys, 0).T @ values)


@linear_attention.misconception(
    means="The denominator uses the keys themselves; numerator and denominator must use the same features, φ(k).",
    nudge="The weights of one query must add up to 1. Which sum of similarities is that?",
)
def bare_keys_in_the_denominator(queries, keys, values):
    return summed(queries, keys, values, total=lambda fk: keys.sum(axis=0))


@linear_attention.misconception(
    means="The denominator uses the queries themselves; numerator and denominator must use the same features, φ(q).",
    nudge="The weights of one query must add up to 1. Which sum of similarities is that?",
)
def bare_queries_in_the_denominator(queries, keys, values):
    fq, fk = phi(queries), phi(keys)
    return fq @ (fk.T @ values) / (queries @ fk.sum(axis=0))[:, None]


@linear_attention.misconception(
    means="You divided by the denominator twice.",
    nudge="How many times does the formula divide? What do the weights of one query add up to after the first time?",
)
def divided_twice(queries, keys, values):
    fq, fk = phi(queries), phi(keys)
    below = (fq @ fk.sum(axis=0))[:, None]
    return fq @ (fk.T @ values) / below / below


@linear_attention.common_mistake
def transposed(queries, keys, values):
    return summed(queries, keys, values).T


@linear_attention.common_mistake
def returns_nothing(queries, keys, values):
    return None


@linear_attention.combined_misconception(no_feature_map, never_divided)
def neither_map_nor_division(queries, keys, values):
    return summed(queries, keys, values, of_q=as_it_is, of_k=as_it_is, divide=False)


@linear_attention.combined_misconception(exponential_features, never_divided)
def exponentials_never_divided(queries, keys, values):
    return summed(queries, keys, values, of_q=np.exp, of_k=np.exp, divide=False)


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
