"""The exercise `attention_qkv`: for each query, the values mixed by its attention weights."""

import numpy as np

from attention_labs.comparers import within_the_values
from autograder.authoring import Exercise, inputs, sizes

from ._any_softmax import largest_subtracted
from ._shared import K, Q, V, published, root, rows_of, scores_of, weights_of, words
from .calculate_weights import (
    by_broadcasting,
    calculate_weights,
    cosine_similarity,
    divides_by_d_k,
    keys_first_then_turned,
    minus_sign,
    multiplies_by_the_scale,
    no_scale,
    only_exponentials,
    published_weights,
    root_of_the_number_of_keys,
    scale_after_softmax,
    softmax_applied_twice,
    softmax_over_everything,
    softmax_over_the_queries,
)

attention_qkv = Exercise(
    "attention_qkv",
    points=3,
    builds_on=[calculate_weights],
    properties=[within_the_values],
)


def triple(rng, queries, keys, size, value_size):
    return *words(rng, queries, keys, size), rng.normal(size=(keys, value_size))


@attention_qkv.domain(
    sizes={"L_q": (1, 60), "L_k": (1, 60), "d_k": (1, 60), "d_v": (1, 60)},
    dtypes=("float64", "float32"),
)
def anywhere(rng, L_q, L_k, d_k, d_v):
    return inputs(*triple(rng, L_q, L_k, d_k, d_v))


@attention_qkv.case("the notebook's example: 2 queries, 3 keys and values of size 2")
def two_queries_three_values(rng):
    return inputs(Q, K, V)


@attention_qkv.case("the notebook's sentence, the first ten numbers of each value")
def sentence_with_values(rng):
    queries, keys = published()
    return inputs(queries, keys, keys[:, :10])


@attention_qkv.case("every size different")
def every_size_different(rng):
    return inputs(*triple(rng, *sizes(rng, 4)))


@attention_qkv.case("more queries than keys, values of many numbers")
def long_values(rng):
    keys, size, queries = sorted(sizes(rng, 3))
    return inputs(*triple(rng, queries, keys, size, int(rng.integers(9, 16))))


@attention_qkv.case("keys and values of one size")
def one_size(rng):
    queries, keys, size = sizes(rng, 3)
    return inputs(*triple(rng, queries, keys, size, size))


@attention_qkv.case("as many queries as keys, and all of that size")
def every_size_alike(rng):
    size = int(rng.integers(3, 7))
    return inputs(*triple(rng, size, size, size, size))


@attention_qkv.case("a single query")
def a_single_query(rng):
    return inputs(*triple(rng, 1, *sizes(rng, 3, 3)))


@attention_qkv.case("an unknown word (zeros) among the queries and among the keys, float32")
def unknown_words_with_values(rng):
    queries, keys, values = triple(rng, *sizes(rng, 4, 3))
    queries[rng.integers(len(queries))] = 0
    gap = rng.integers(len(keys))
    keys[gap] = values[gap] = 0
    return inputs(*(x.astype(np.float32) for x in (queries, keys, values)))


# Mistakes in what is averaged.


@attention_qkv.misconception(
    means="You returned the weights; the last step, averaging the values with them, is missing.",
    nudge="What are the weights (L_q, L_k) multiplied by, to give one row of size d_v for each query?",
)
def returns_the_weights(queries, keys, values):
    return weights_of(queries, keys)


@attention_qkv.misconception(
    means="You mixed the keys instead of the values.",
    nudge="Keys decide how much each word counts; which argument holds what is handed over?",
)
def mixes_the_keys(queries, keys, values):
    return weights_of(queries, keys) @ keys


@attention_qkv.misconception(
    means="You mixed the queries instead of the values.",
    nudge="Queries ask; which argument holds what is handed over?",
)
def mixes_the_queries(queries, keys, values):
    return weights_of(queries, keys) @ queries


@attention_qkv.misconception(
    means="You compared the queries with the values instead of with the keys.",
    nudge="Which two of the three arguments decide on the weights?",
)
def compares_with_the_values(queries, keys, values):
    return rows_of(queries @ values.T / root(keys.shape[-1])) @ values


@attention_qkv.misconception(
    means="You exchanged keys and values.",
    nudge="Check the order of the arguments: queries, keys, values.",
)
def keys_and_values_exchanged(queries, keys, values):
    return weights_of(queries, values) @ keys


@attention_qkv.misconception(
    means="You exchanged queries and keys.",
    nudge="Check the order of the arguments: queries, keys, values.",
)
def queries_and_keys_exchanged(queries, keys, values):
    return weights_of(keys, queries) @ values


@attention_qkv.misconception(
    means="You compared the keys with themselves, so every word asks about its own sentence; "
    "the queries do not come in.",
    nudge="Which two of the three arguments decide on the weights?",
)
def keys_ask_the_keys(queries, keys, values):
    return weights_of(keys, keys) @ values


@attention_qkv.misconception(
    means="You took the plain mean of the values for every query: nothing is compared.",
    nudge="Where do the weights come in?",
)
def mean_of_the_values(queries, keys, values):
    return np.repeat(values.mean(axis=0, keepdims=True), len(queries), axis=0)


@attention_qkv.misconception(
    means="You added all the values up, each with a weight of 1.",
    nudge="Where do the weights come in?",
)
def sum_of_the_values(queries, keys, values):
    return np.repeat(values.sum(axis=0, keepdims=True), len(queries), axis=0)


@attention_qkv.misconception(
    means="You handed over the value of the best key only; attention mixes all values, each by its weight.",
    nudge="What should a word with a weight of 0.3 contribute to the result?",
)
def value_of_the_best_key(queries, keys, values):
    return values[scores_of(queries, keys).argmax(axis=-1)]


# Mistakes in how it is averaged.


@attention_qkv.misconception(
    means="You mixed the values with the raw scores; scores may be negative and do not add up to 1.",
    nudge="Which of your functions gives the weights?",
)
def scores_for_weights(queries, keys, values):
    return scores_of(queries, keys) @ values


@attention_qkv.misconception(
    means="You mixed the values with bare dot products: neither divided by √d_k nor passed through softmax.",
    nudge="Which of your functions gives the weights?",
)
def bare_products_for_weights(queries, keys, values):
    return queries @ keys.T @ values


@attention_qkv.misconception(
    means="You used softmax on the finished mixture instead of on the scores.",
    nudge="Softmax gives each key a weight: at which step do you have one number for each key?",
)
def softmax_at_the_end(queries, keys, values):
    return rows_of(scores_of(queries, keys) @ values)


@attention_qkv.misconception(
    means="You transposed the weights before the product: "
    "each row mixes by how much a word is looked at, not by what it looks at.",
    nudge="(L_q, L_k) times (L_k, d_v): does anything have to be transposed?",
)
def weights_turned(queries, keys, values):
    return weights_of(queries, keys).T @ values


@attention_qkv.misconception(
    means="You multiplied in the wrong order, values first; where it runs at all, the sizes happen to match.",
    nudge="The result has a row for each query. Which factor must then be on the left?",
)
def values_first(queries, keys, values):
    return values @ weights_of(queries, keys)


@attention_qkv.misconception(
    means="You multiplied number by number (`*`), which needs equal shapes; "
    "nothing is added up over the keys.",
    nudge="Which operator is the matrix product in Python?",
)
def weights_times_values(queries, keys, values):
    return weights_of(queries, keys) * values


@attention_qkv.misconception(
    means="You divided the mixture once more, by the number of keys; the weights add up to 1 already.",
    nudge="Is there anything left to divide by, once each row of weights adds up to 1?",
)
def divided_once_more(queries, keys, values):
    return weights_of(queries, keys) @ values / len(keys)


@attention_qkv.misconception(
    means="You added the results of all queries up into one vector; each query keeps its own.",
    nudge="The result has shape (L_q, d_v). Over which axis did you sum that should stay?",
)
def one_vector_for_all_queries(queries, keys, values):
    return (weights_of(queries, keys) @ values).sum(axis=0)


@attention_qkv.misconception(
    means="You answered the first query only.",
    nudge="The result has a row for each query. Is there an index `[0]` too many?",
)
def first_query_only(queries, keys, values):
    return weights_of(queries[:1], keys) @ values


@attention_qkv.misconception(
    means="You divided by √d_v, from the size of the values; the scale belongs to the dot products, "
    "whose size is d_k.",
    nudge="How long are the vectors whose products you divide?",
)
def root_of_the_value_size(queries, keys, values):
    return rows_of(queries @ keys.T / root(values.shape[-1])) @ values


@attention_qkv.misconception(
    means="You divided the mixture by √d_k once more; the scale belongs to the dot products, before softmax.",
    nudge="Does your function of the weights scale already?",
)
def mixture_scaled_too(queries, keys, values):
    return weights_of(queries, keys) @ values / root(keys.shape[-1])


@attention_qkv.misconception(
    means="You put the finished mixture through softmax; only the scores go through it.",
    nudge="Should the rows of the result add up to 1?",
)
def softmax_of_the_mixture(queries, keys, values):
    return rows_of(weights_of(queries, keys) @ values)


@attention_qkv.misconception(
    means="You added the queries to the mixture (a residual connection); here the mixture alone is asked for.",
    nudge="What does the formula multiply the weights by, and does it add anything?",
)
def queries_added(queries, keys, values):
    return queries + weights_of(queries, keys) @ values


# Mistakes of form.


@attention_qkv.misconception(
    means="You rounded the result: the check needs all the digits.",
    nudge="Round when you print, not in the function.",
)
def rounded_mixture(queries, keys, values):
    return np.round(weights_of(queries, keys) @ values, 3)


@attention_qkv.misconception(
    means="You return the result of the notebook's example, whatever comes in.",
    nudge="Where does your code use `queries`, `keys` and `values`?",
)
def hard_coded_attention(queries, keys, values):
    return weights_of(Q, K) @ V


@attention_qkv.common_mistake
def returns_a_tuple(queries, keys, values):
    weights = weights_of(queries, keys)
    return weights @ values, weights


@attention_qkv.common_mistake
def transposed(queries, keys, values):
    return (weights_of(queries, keys) @ values).T


@attention_qkv.common_mistake
def extra_axis(queries, keys, values):
    return (weights_of(queries, keys) @ values)[np.newaxis]


@attention_qkv.common_mistake
def missing_axis(queries, keys, values):
    return (weights_of(queries, keys) @ values).squeeze()


@attention_qkv.common_mistake
def modifies_argument(queries, keys, values):
    queries /= root(keys.shape[-1])
    return rows_of(queries @ keys.T) @ values


@attention_qkv.common_mistake
def lower_precision(queries, keys, values):
    return (weights_of(queries, keys) @ values).astype(np.float32)


@attention_qkv.common_mistake
def returns_a_list(queries, keys, values):
    return (weights_of(queries, keys) @ values).tolist()


# Right from the weights on, but the weights are not.


# attention_qkv: right from the weights on, but the weights are not


def on_wrong_weights(mistake):
    def wrong(queries, keys, values):
        return mistake(queries, keys) @ values

    wrong.__name__ = f"weights_{mistake.__name__}"
    return wrong


_on_weights = {}
for _mistake, _what in [
    (no_scale, "come from scores that were not divided by √d_k"),
    (divides_by_d_k, "come from scores divided by d_k instead of by its root"),
    (root_of_the_number_of_keys, "come from scores divided by the root of the number of keys"),
    (multiplies_by_the_scale, "come from scores multiplied by √d_k instead of divided"),
    (scale_after_softmax, "were divided by √d_k after softmax"),
    (cosine_similarity, "come from cosine similarity instead of the scaled dot product"),
    (softmax_over_the_queries, "add up to 1 over the queries instead of over the keys"),
    (softmax_over_everything, "add up to 1 over the whole table instead of in each row"),
    (only_exponentials, "are exponentials that were never divided by their sum"),
    (softmax_applied_twice, "went through softmax twice"),
    (minus_sign, "have the wrong sign in their scores"),
]:
    _on_weights[_mistake] = attention_qkv.misconception(
        means=f"The weights {_what}.",
        nudge="Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.",
    )(on_wrong_weights(_mistake))


# Two at once.


@attention_qkv.combined_misconception(_on_weights[softmax_over_the_queries], mixture_scaled_too)
def over_the_queries_and_scaled_twice(queries, keys, values):
    return softmax_over_the_queries(queries, keys) @ values / root(keys.shape[-1])


@attention_qkv.combined_misconception(_on_weights[no_scale], _on_weights[softmax_over_the_queries])
def no_scale_over_the_queries(queries, keys, values):
    products = queries @ keys.T
    return rows_of(products.T).T @ values


@attention_qkv.combined_misconception(_on_weights[divides_by_d_k], _on_weights[softmax_over_the_queries])
def d_k_over_the_queries(queries, keys, values):
    return rows_of(keys @ queries.T / keys.shape[-1]).T @ values


@attention_qkv.combined_misconception(_on_weights[no_scale], mixes_the_keys)
def no_scale_mixes_the_keys(queries, keys, values):
    return no_scale(queries, keys) @ keys


@attention_qkv.combined_misconception(_on_weights[divides_by_d_k], mixes_the_keys)
def d_k_mixes_the_keys(queries, keys, values):
    return divides_by_d_k(queries, keys) @ keys


@attention_qkv.combined_misconception(_on_weights[no_scale], queries_and_keys_exchanged)
def no_scale_exchanged(queries, keys, values):
    return no_scale(keys, queries) @ values


@attention_qkv.combined_misconception(_on_weights[no_scale], _on_weights[only_exponentials])
def exponentials_without_scale(queries, keys, values):
    return np.exp(queries @ keys.T) @ values


@attention_qkv.combined_misconception(_on_weights[no_scale], weights_turned)
def no_scale_and_weights_turned(queries, keys, values):
    return no_scale(queries, keys).T @ values


# Other right answers, which must pass.


@attention_qkv.variant
def published_answer(queries, keys, values):
    return published_weights(queries, keys) @ values


@attention_qkv.variant
def einsum_throughout(queries, keys, values):
    from scipy import special

    scores = np.einsum("qd,kd->qk", queries, keys) / np.sqrt(keys.shape[-1])
    return np.einsum("qk,kv->qv", special.softmax(scores, axis=-1), values)


@attention_qkv.variant
def word_by_word(queries, keys, values):
    result = []
    for query in queries:
        weights = largest_subtracted(keys @ query / np.sqrt(len(query)))
        result.append(sum(weight * value for weight, value in zip(weights, values)))
    return np.array(result)


@attention_qkv.variant
def divided_at_the_end(queries, keys, values):
    e = np.exp(queries @ keys.T / np.sqrt(keys.shape[-1]))
    return e @ values / e.sum(axis=1, keepdims=True)


@attention_qkv.variant
def turned_throughout(queries, keys, values):
    return (values.T @ keys_first_then_turned(queries, keys).T).T


@attention_qkv.variant
def weighted_averages(queries, keys, values):
    weights = by_broadcasting(queries, keys)
    return np.stack([np.average(values, axis=0, weights=w) for w in weights])


@attention_qkv.variant
def by_tensordot(Q, K, V):
    from scipy import special

    return np.tensordot(special.softmax(np.inner(Q, K) / K.shape[1] ** 0.5, axis=1), V, axes=(1, 0))
