"""The exercise `calculate_weights`: how much attention each query pays to each key."""

import math

import numpy as np

from attention_labs.comparers import no_negative_weight, rows_sum_to_one
from autograder.authoring import Exercise, inputs, sizes

from ._any_softmax import largest_subtracted, log_sum_exp
from ._shared import K, Q, exponents, published, root, rows_of, shares, words
from .softmax import published as published_softmax
from .softmax import softmax, with_keepdims
from .stable_softmax import stable_softmax

calculate_weights = Exercise(
    "calculate_weights",
    points=3,
    builds_on=[softmax, stable_softmax],
    properties=[no_negative_weight, rows_sum_to_one],
)


@calculate_weights.domain(
    sizes={"L_q": (1, 60), "L_k": (1, 60), "d_k": (1, 60)},
    dtypes=("float64", "float32"),
)
def anywhere(rng, L_q, L_k, d_k):
    return inputs(*words(rng, L_q, L_k, d_k))


@calculate_weights.case("the notebook's example: 2 queries, 3 keys of size 2")
def two_queries(rng):
    return inputs(Q, K)


@calculate_weights.case("the French and the English sentence of the notebook")
def the_sentence(rng):
    return inputs(*published())


@calculate_weights.case("more keys than queries, every size different")
def more_keys(rng):
    queries, size, keys = sorted(sizes(rng, 3))
    return inputs(*words(rng, queries, keys, size))


@calculate_weights.case("more queries than keys, every size different")
def more_queries(rng):
    keys, queries = sorted(sizes(rng, 2))
    return inputs(*words(rng, queries, keys, int(rng.integers(9, 16))))


@calculate_weights.case("as many queries as keys")
def as_many(rng):
    length, size = sizes(rng, 2, 3)
    return inputs(*words(rng, length, length, size))


@calculate_weights.case("as many queries as keys, and of that size too")
def all_alike(rng):
    size = int(rng.integers(3, 7))
    return inputs(*words(rng, size, size, size))


@calculate_weights.case("a single query")
def one_query(rng):
    keys, size = sizes(rng, 2, 3)
    return inputs(*words(rng, 1, keys, size))


@calculate_weights.case("an unknown word (zeros) among the queries and among the keys, float32")
def unknown_words(rng):
    queries, keys = words(rng, *sizes(rng, 3, 3))
    queries[rng.integers(len(queries))] = 0
    keys[rng.integers(len(keys))] = 0
    return inputs(queries.astype(np.float32), keys.astype(np.float32))


@calculate_weights.slips("""
    no_scale: The scores are not divided by √d_k, so they grow with the size of the vectors.
        Hint: Which step comes between the dot products and softmax in the formula?
    divides_by_d_k: You divided the scores by d_k instead of by its square root, which flattens the
        weights.
        Hint: Look at the formula once more: is something around d_k?
    root_of_the_number_of_keys: You divided by the root of the number of keys; it should be the size of
        one key.
        Hint: Put the shape under `keys`: which of its two numbers is d_k?
    root_of_the_number_of_queries: You divided by the root of the number of queries; it should be the
        size of one key.
        Hint: Put the shape under `keys`: which of its numbers is d_k?
    multiplies_by_the_scale: You multiplied the scores by √d_k instead of dividing, so the largest score
        takes nearly everything.
        Hint: The scale should keep the scores small when d_k is large. Does yours?
    scale_after_softmax: You divided by the scale after softmax, so the rows no longer add up to 1.
        Hint: In which order do the steps come: products, scale, softmax?
    always_300: You divided by √300, the size of this notebook's word vectors, whatever the keys' own
        size is.
        Hint: Which argument knows the size of a key?
    cosine_similarity: You divided by the norms of the vectors (that is cosine similarity); attention
        divides by √d_k only.
        Hint: By which number does the formula divide the dot products, and is it the same for all of
        them?
    cosine_similarity_with_nan: You divided by the norms of the vectors (that is cosine similarity), and
        a word of zeros has norm 0: 0/0 is nan.
        Hint: By which number does the formula divide the dot products, and is it the same for all of
        them?
    softmax_over_the_queries: You took softmax over the queries: each column adds up to 1. That is also
        what softmax does if you leave its axis out.
        Hint: The weights of each query add up to 1 over the keys. Which axis of (L_q, L_k) are the keys?
    softmax_over_everything: All weights of the table add up to 1; the weights of each query should add
        up to 1.
        Hint: Which axis should softmax work along?
    no_softmax: These are the scores; softmax, which makes weights of them, is missing.
        Hint: Weights are positive and each row adds up to 1. Which of your functions does that?
    bare_dot_products: These are the bare dot products: neither divided by √d_k nor passed through
        softmax.
        Hint: Two steps of the formula are still to come: which?
    scores_over_their_sum: You divided the scores by their sum, without the exponential: a weight can
        then be negative or huge.
        Hint: Which of your functions turns a row of scores into weights?
    only_exponentials: You took the exponentials of the scores, but nothing makes a row add up to 1.
        Hint: Which of your functions turns a row of scores into weights?
    softmax_applied_twice: You applied softmax twice; the second time makes the weights nearly equal.
        Hint: What goes into softmax, and did it come out of a softmax already?
    minus_sign: There is a minus sign too many: the key that fits worst gets the most attention.
        Hint: Should a large dot product lead to a large weight or to a small one?
    log_weights: You returned the logarithm of the weights: every number is negative.
        Hint: Weights lie between 0 and 1. Is there a logarithm in your last step?
    sigmoid_for_softmax: You applied a sigmoid to each score separately, so the weights of a row do not
        add up to 1.
        Hint: Should one key's weight change when another key fits better?
    best_key_takes_all: The best key takes everything (1) and the others nothing (0); attention is a soft
        choice.
        Hint: Which of your functions also gives weight to the second and third best key?
    uniform_weights: Every key gets the same weight, whatever the query: nothing is compared.
        Hint: Which product tells how well a query fits a key?
    queries_and_keys_exchanged: You exchanged queries and keys: there is a row for each key now, and its
        weights add up to 1 over the queries.
        Hint: The result has a row for each query. Which of the two comes first in the product?
    keys_not_transposed: The keys were not transposed. Your product works only if L_k and d_k
        are equal.
        Hint: Write the shapes under the product: (L_q, d_k) times what gives (L_q, L_k)?
    reshape_for_transpose: You reshaped the keys instead of transposing them: the shape fits, but the
        numbers of different words mix.
        Hint: Print a small matrix, its reshape and its transpose. In which one does each word become a
        column?
    queries_with_queries: You compared the queries with themselves; the keys do not come in.
        Hint: Which two of the arguments meet in the dot products?
    keys_with_keys: You compared the keys with themselves; the queries do not come in.
        Hint: Which two of the arguments meet in the dot products?
    number_by_number: You multiplied number by number (`*`), which needs equal shapes; the dot products
        of every query with every key are expected.
        Hint: Which operator is the matrix product in Python?
    as_many_keys_as_queries: Your loops run over as many keys as there are queries; the two sentences may
        differ in length.
        Hint: Which length belongs to the inner loop?
    distances_for_dot_products: You compared by distance; attention compares by dot product, in which a
        longer vector counts more.
        Hint: Which product of a query and a key does the formula start with?
    power_before_division: Python computes `/ d_k ** 1 / 2` from left to right: it divides by d_k
        and then by 2.
        Hint: Where do brackets belong, or which function takes a root?
    root_of_all_the_numbers: You divided by the root of how many numbers all the keys hold together; it
        should be the size of one key.
        Hint: `keys.size` counts every number. Which part of `keys.shape` is d_k?
    rounded_weights: You rounded the weights: the check needs all the digits, and so does every later
        step.
        Hint: Round when you print, not in the function.
    hard_coded_weights: You return the weights of the notebook's example, whatever comes in.
        Hint: Where does your code use `queries` and `keys`?
    transposed
    extra_axis
    missing_axis
    modifies_argument
    lower_precision
    returns_a_list
    root_cut_off: You cut the root of d_k down to a whole number before you divided by it.
        Hint: What is the root of 10, and what is left of it after `int` or `//`?
    root_rounded: You rounded the root of d_k to a whole number before you divided by it.
        Hint: What is the root of 10, and what is left of it after `round`?
    by_distance: You compared queries and keys by their distance; this attention uses their dot products.
        Hint: Which product of the two matrices holds the dot product of each query with each key?
    softmax_of_the_keys: You put the keys through softmax before the product; softmax belongs to the
        scores, after it.
        Hint: What goes into softmax: one of the arguments, or what the products and the scale have made?
""")
def calculate_weights_with_slips(slip, queries, keys):
    if slip.hard_coded_weights:
        queries, keys = Q, K
    d_k = keys.shape[-1]
    if slip.modifies_argument:
        queries /= root(d_k)
    scale = slip.choose(
        root(d_k),
        no_scale=1,
        bare_dot_products=1,
        modifies_argument=1,
        divides_by_d_k=d_k,
        power_before_division=2 * d_k,
        root_of_the_number_of_keys=root(len(keys)),
        root_of_the_number_of_queries=root(len(queries)),
        root_of_all_the_numbers=root(keys.size),
        multiplies_by_the_scale=1 / root(d_k),
        always_300=root(300),
        root_cut_off=int(root(d_k)),
        root_rounded=round(root(d_k)),
    )
    if slip.cosine_similarity or slip.cosine_similarity_with_nan:
        scale = np.linalg.norm(queries, axis=1)[:, np.newaxis] * np.linalg.norm(keys, axis=1)
    if slip.cosine_similarity:
        scale[scale == 0] = 1
    left = slip.choose(queries, queries_and_keys_exchanged=keys, keys_with_keys=keys)
    right = slip.choose(keys, queries_and_keys_exchanged=queries, queries_with_queries=queries)
    if slip.softmax_of_the_keys:
        right = rows_of(right)
    if slip.as_many_keys_as_queries:
        right = right[np.arange(len(queries))]
    columns = slip.choose(
        right.T, keys_not_transposed=right, reshape_for_transpose=right.reshape(right.shape[::-1])
    )
    if slip.number_by_number:
        products = left * right
    elif slip.by_distance:
        products = -((left[:, np.newaxis] - right) ** 2).sum(axis=-1)
    elif slip.distances_for_dot_products:
        products = -np.linalg.norm(left[:, np.newaxis] - right, axis=-1)
    else:
        products = left @ columns
    scores = products / slip.choose(scale, scale_after_softmax=1)
    if slip.minus_sign:
        scores = -scores
    axis = slip.choose(-1, softmax_over_the_queries=0)
    weights = shares(exponents(scores, axis), axis)
    weights = slip.choose(
        weights,
        softmax_over_everything=shares(np.exp(scores), None),
        no_softmax=scores,
        bare_dot_products=scores,
        scores_over_their_sum=shares(scores, -1),
        only_exponentials=np.exp(scores),
        softmax_applied_twice=rows_of(weights),
        scale_after_softmax=weights / scale,
        log_weights=np.log(weights),
        sigmoid_for_softmax=1 / (1 + np.exp(-scores)),
        best_key_takes_all=np.eye(scores.shape[-1], dtype=scores.dtype)[scores.argmax(axis=-1)],
        uniform_weights=np.full(scores.shape, 1 / len(keys)),
    )
    if slip.returns_a_list:
        return weights.tolist()
    return slip.choose(
        weights,
        rounded_weights=np.round(weights, 3),
        transposed=weights.T,
        extra_axis=weights[np.newaxis],
        missing_axis=weights.squeeze(),
        lower_precision=weights.astype(np.float32),
    )


# Other right answers, which must pass.


@calculate_weights.variant
def published_weights(queries, keys):
    return published_softmax(queries @ keys.T / np.sqrt(keys.shape[1]), axis=1)


@calculate_weights.variant
def by_np_dot(queries, keys):
    scores = np.dot(queries, np.transpose(keys)) / math.sqrt(queries.shape[-1])
    return largest_subtracted(scores, axis=-1)


@calculate_weights.variant
def einsum_scores(queries, keys):
    from scipy import special

    scores = np.einsum("qd,kd->qk", queries, keys) * keys.shape[1] ** -0.5
    return special.softmax(scores, axis=1)


@calculate_weights.variant
def scale_shared_by_both(q, k):
    root = q.shape[1] ** 0.25
    return with_keepdims((q / root) @ (k / root).T, axis=1)


@calculate_weights.variant
def queries_scaled_first(queries, keys):
    return log_sum_exp(np.matmul(queries / np.sqrt(queries.shape[-1]), np.swapaxes(keys, 0, 1)), 1)


@calculate_weights.variant
def loops_over_words(queries, keys):
    weights = np.empty((len(queries), len(keys)))
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            weights[i, j] = math.exp(sum(query * key) / math.sqrt(len(key)))
        weights[i] /= weights[i].sum()
    return weights


@calculate_weights.variant
def keys_first_then_turned(queries, keys):
    return largest_subtracted(keys @ queries.T / np.sqrt(keys.shape[1]), axis=0).T


@calculate_weights.variant
def by_broadcasting(queries, keys):
    scores = (queries[:, np.newaxis, :] * keys[np.newaxis]).sum(axis=-1) / np.sqrt(keys.shape[-1])
    e = np.exp(scores)
    return e / e.sum(axis=1)[:, None]


@calculate_weights.variant
def from_distances(queries, keys):
    from scipy import special

    squares = ((queries[:, None] - keys) ** 2).sum(-1)
    return special.softmax(((keys**2).sum(-1) - squares) / (2 * keys.shape[1] ** 0.5), axis=1)
