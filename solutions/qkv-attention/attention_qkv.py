"""The exercise `attention_qkv`: for each query, the values mixed by its attention weights."""

import numpy as np

from attention_labs.comparers import within_the_values
from autograder.authoring import Exercise, inputs, sizes

from ._any_softmax import largest_subtracted
from ._shared import K, Q, V, exponents, published, root, rows_of, shares, words
from .calculate_weights import (
    by_broadcasting,
    calculate_weights,
    keys_first_then_turned,
    published_weights,
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


@attention_qkv.slips("""
    returns_the_weights: You returned the weights; the last step, averaging the values with them, is
        missing.
        Hint: What are the weights (L_q, L_k) multiplied by, to give one row of size d_v for each query?
    mixes_the_keys: You mixed the keys instead of the values.
        Hint: Keys decide how much each word counts; which argument is averaged?
    mixes_the_queries: You mixed the queries instead of the values.
        Hint: Queries ask; which argument is averaged?
    compares_with_the_values: You compared the queries with the values instead of with the keys.
        Hint: Which two of the three arguments decide on the weights?
    keys_and_values_exchanged: You exchanged keys and values.
        Hint: Check the order of the arguments: queries, keys, values.
    queries_and_keys_exchanged: You exchanged queries and keys.
        Hint: Check the order of the arguments: queries, keys, values.
    keys_ask_the_keys: You compared the keys with themselves, so every word asks about its own sentence;
        the queries do not come in.
        Hint: Which two of the three arguments decide on the weights?
    mean_of_the_values: You took the plain mean of the values for every query: nothing is compared.
        Hint: Where do the weights come in?
    sum_of_the_values: You added all the values up, each with a weight of 1.
        Hint: Where do the weights come in?
    value_of_the_best_key: You handed over the value of the best key only; attention mixes all values,
        each by its weight.
        Hint: What should a word with a weight of 0.3 contribute to the result?
    scores_for_weights: You mixed the values with the raw scores; scores may be negative and do not add
        up to 1.
        Hint: Which of your functions gives the weights?
    bare_products_for_weights: You mixed the values with bare dot products: neither divided by √d_k nor
        passed through softmax.
        Hint: Which of your functions gives the weights?
    softmax_at_the_end: You used softmax on the finished mixture instead of on the scores.
        Hint: Softmax gives each key a weight: at which step do you have one number for each key?
    weights_turned: You transposed the weights before the product: each row mixes by how much a word is
        looked at, not by what it looks at.
        Hint: (L_q, L_k) times (L_k, d_v): does anything have to be transposed?
    values_first: You multiplied in the wrong order, values first; where it runs at all, the sizes happen
        to match.
        Hint: The result has a row for each query. Which factor must then be on the left?
    weights_times_values: You multiplied number by number (`*`), which needs equal shapes; nothing is
        added up over the keys.
        Hint: Which operator is the matrix product in Python?
    divided_once_more: You divided the mixture once more, by the number of keys; the weights add up to 1
        already.
        Hint: Is there anything left to divide by, once each row of weights adds up to 1?
    one_vector_for_all_queries: You added the results of all queries up into one vector; each query keeps
        its own.
        Hint: The result has shape (L_q, d_v). Over which axis did you sum that should stay?
    first_query_only: You answered the first query only.
        Hint: The result has a row for each query. Is there an index `[0]` too many?
    root_of_the_value_size: You divided by √d_v, from the size of the values; the scale belongs to the
        dot products, whose size is d_k.
        Hint: How long are the vectors whose products you divide?
    mixture_scaled_too: You divided the mixture by √d_k once more; the scale belongs to the dot products,
        before softmax.
        Hint: Does your function of the weights scale already?
    softmax_of_the_mixture: You put the finished mixture through softmax; only the scores go through it.
        Hint: Should the rows of the result add up to 1?
    queries_added: You added the queries to the mixture (a residual connection); here the mixture alone
        is asked for.
        Hint: What does the formula multiply the weights by, and does it add anything?
    rounded_mixture: You rounded the result: the check needs all the digits.
        Hint: Round when you print, not in the function.
    hard_coded_attention: You return the result of the notebook's example, whatever comes in.
        Hint: Where does your code use `queries`, `keys` and `values`?
    returns_a_tuple
    transposed
    extra_axis
    missing_axis
    modifies_argument
    lower_precision
    returns_a_list
    weights_no_scale: The weights come from scores that were not divided by √d_k.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
    weights_divides_by_d_k: The weights come from scores divided by d_k instead of by its root.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
    weights_root_of_the_number_of_keys: The weights come from scores divided by the root of the number of
        keys.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
    weights_multiplies_by_the_scale: The weights come from scores multiplied by √d_k instead of divided.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
    weights_scale_after_softmax: The weights were divided by √d_k after softmax.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
    weights_cosine_similarity: The weights come from cosine similarity instead of the scaled dot product.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
    weights_softmax_over_the_queries: The weights add up to 1 over the queries instead of over the keys.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
    weights_softmax_over_everything: The weights add up to 1 over the whole table instead of in each row.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
    weights_only_exponentials: The weights are exponentials that were never divided by their sum.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
    weights_softmax_applied_twice: The weights went through softmax twice.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
    weights_minus_sign: The weights have the wrong sign in their scores.
        Hint: Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.
""")
def attention_qkv_with_slips(slip, queries, keys, values):
    if slip.hard_coded_attention:
        queries, keys, values = Q, K, V
    if slip.first_query_only:
        queries = queries[:1]
    d_k, d_v = keys.shape[-1], values.shape[-1]
    left = slip.choose(queries, queries_and_keys_exchanged=keys, keys_ask_the_keys=keys)
    right = slip.choose(
        keys,
        queries_and_keys_exchanged=queries,
        compares_with_the_values=values,
        keys_and_values_exchanged=values,
    )
    if slip.modifies_argument:
        queries /= root(d_k)
    scale = slip.choose(
        root(d_k),
        modifies_argument=1,
        bare_products_for_weights=1,
        weights_no_scale=1,
        weights_scale_after_softmax=1,
        weights_divides_by_d_k=d_k,
        weights_root_of_the_number_of_keys=root(len(right)),
        weights_multiplies_by_the_scale=1 / root(d_k),
        root_of_the_value_size=root(d_v),
    )
    if slip.weights_cosine_similarity:
        scale = np.linalg.norm(queries, axis=1)[:, np.newaxis] * np.linalg.norm(keys, axis=1)
        scale[scale == 0] = 1
    scores = left @ right.T / scale
    if slip.weights_minus_sign:
        scores = -scores
    if slip.value_of_the_best_key:
        return values[scores.argmax(axis=-1)]
    axis = slip.choose(-1, weights_softmax_over_the_queries=0)
    weights = shares(exponents(scores, axis), axis)
    weights = slip.choose(
        weights,
        weights_softmax_over_everything=shares(np.exp(scores), None),
        weights_only_exponentials=np.exp(scores),
        weights_softmax_applied_twice=rows_of(weights),
        weights_scale_after_softmax=weights / root(d_k),
        weights_turned=weights.T,
        mean_of_the_values=np.full_like(scores, 1 / len(keys)),
        sum_of_the_values=np.ones_like(scores),
        scores_for_weights=scores,
        bare_products_for_weights=scores,
        softmax_at_the_end=scores,
    )
    if slip.returns_the_weights:
        return weights
    values = slip.choose(
        values, mixes_the_keys=keys, mixes_the_queries=queries, keys_and_values_exchanged=keys
    )
    if slip.values_first:
        mixture = values @ weights
    elif slip.weights_times_values:
        mixture = weights * values
    else:
        mixture = weights @ values
    if slip.divided_once_more:
        mixture = mixture / len(keys)
    if slip.mixture_scaled_too:
        mixture = mixture / root(d_k)
    if slip.softmax_at_the_end or slip.softmax_of_the_mixture:
        mixture = rows_of(mixture)
    if slip.queries_added:
        mixture = queries + mixture
    if slip.returns_a_tuple:
        return mixture, weights
    if slip.returns_a_list:
        return mixture.tolist()
    return slip.choose(
        mixture,
        one_vector_for_all_queries=mixture.sum(axis=0),
        rounded_mixture=np.round(mixture, 3),
        transposed=mixture.T,
        extra_axis=mixture[np.newaxis],
        missing_axis=mixture.squeeze(),
        lower_precision=mixture.astype(np.float32),
    )


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
