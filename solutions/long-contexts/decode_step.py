"""The exercise `decode_step`: attention for the newest word, with a cache."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import CACHED_KEYS, CACHED_VALUES, K, Q, V, softmax

decode_step = Exercise("decode_step", points=3)


@decode_step.domain(
    sizes={"L": (0, 60), "d_k": (1, 60), "d_v": (1, 60)},
    magnitudes=(1.0, 1000.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, L, d_k, d_v, magnitude):
    query = rng.normal(size=d_k)
    query *= magnitude / max(1.0, np.abs(query).sum() / d_k**0.5) if magnitude > 1 else 1.0
    old = rng.uniform(-1, 1, size=(L + 1, d_k)) if magnitude > 1 else rng.normal(size=(L + 1, d_k))
    return inputs(
        query, old[-1].copy(), rng.normal(size=d_v), old[:-1].copy(), rng.normal(size=(L, d_v))
    )


def drawn(rng, L, d_k, d_v, query=1.0):
    """Arguments of a step with L words in the cache."""
    return inputs(
        query * rng.normal(size=d_k),
        rng.normal(size=d_k),
        rng.normal(size=d_v),
        rng.normal(size=(L, d_k)),
        rng.normal(size=(L, d_v)),
    )


@decode_step.case("the notebook's example")
def example(rng):
    return inputs(Q, K, V, CACHED_KEYS, CACHED_VALUES)


@decode_step.case("every size different")
def all_different(rng):
    return drawn(rng, *sizes(rng, 3, low=3))


@decode_step.case("keys and values of one size, as in most models")
def one_size(rng):
    L, d = sizes(rng, 2, low=4)
    return drawn(rng, L, d, d)


@decode_step.case("the first word, nothing in the cache")
def first_word(rng):
    return drawn(rng, 0, *sizes(rng, 2, low=3))


@decode_step.case("the second word")
def second_word(rng):
    return drawn(rng, 1, *sizes(rng, 2, low=3))


@decode_step.case("as many cached words as a key has numbers")
def square(rng):
    L, d_v = sizes(rng, 2, low=3)
    return drawn(rng, L, L, d_v)


@decode_step.case("scores of about 1000")
def large_scores(rng):
    L, d_k, d_v = sizes(rng, 3, low=3)
    keys = np.ones((L + 1, d_k)) + 0.002 * rng.normal(size=(L + 1, d_k))
    query = np.full(d_k, 1000 / d_k**0.5)
    return inputs(
        query, keys[-1].copy(), rng.normal(size=d_v), keys[:-1].copy(), rng.normal(size=(L, d_v))
    )


@decode_step.case("scores from -1000 to 1000")
def far_apart(rng):
    L, d_v = sizes(rng, 2, low=5)
    keys = rng.uniform(-0.9, 0.9, size=(L + 1, 1))
    keys[rng.permutation(L + 1)[:2], 0] = -1, 1
    query = np.array([1000.0])
    return inputs(
        query, keys[-1].copy(), rng.normal(size=d_v), keys[:-1].copy(), rng.normal(size=(L, d_v))
    )


@decode_step.slips("""
    no_scale: The scores are not divided by √d_k.
        Hint: What does scaled dot-product attention do with the dot products before the softmax?
    divides_by_d_k: You divided the scores by d_k instead of by its square root.
        Hint: Compare your scale with the formula: is a root missing?
    root_of_the_number_of_keys: You divided by the root of the number of keys; it should be that of the
        size of one key.
        Hint: Which axis of the cached keys, `shape[0]` or `shape[1]`, holds the d_k numbers of a key?
    root_of_the_old_length: You divided by the root of the number of keys in the old cache; it should be
        the size of one key.
        Hint: Which axis of the cached keys, `shape[0]` or `shape[1]`, holds the d_k numbers of a key?
    root_of_the_value_size: You divided by the root of the size of a value; the dot product runs over the
        numbers of a key.
        Hint: How many terms does one dot product add up?
    never_divided_by_the_sum: The exponentials are not divided by their sum, so the context is no average.
        Hint: What do a query's weights add up to?
    no_maximum_subtracted: exp(1000) is too large for a float: it becomes inf, and inf / inf is not a number.
        Hint: Softmax stays the same if you subtract one number from all scores. Which number is safe?
    minimum_subtracted: You subtracted the smallest score; the largest is then still too large for an
        exponential.
        Hint: After the subtraction no score should be above 0. Which number does that?
    no_softmax: There is no softmax: the scores themselves, divided by their sum, were taken for weights.
        Hint: What makes a score, which may be negative, into a weight?
    does_not_see_itself: The newest word attends to the words before it, but not to itself.
        Hint: What should be done first, adding the new key and value to the caches, or attending?
    sees_itself_only_alone: The newest token does not see itself, except where the cache is empty: the
        context is made of the old cache alone.
        Hint: Which keys does the newest query compare itself with? Is its own among them?
    cache_not_grown: The context is right, but the caches come back as they were: the newest word is not
        in them.
        Hint: What will the next step know of this word?
    newest_first: You put the newest token at the beginning of the caches; it belongs at the end.
        Hint: In which order do you hand the two parts to `np.concatenate` (or `np.vstack`)?
    oldest_thrown_out: The oldest word is thrown out for each new one, so the cache never grows.
        Hint: How many rows should the caches have after this step?
    cache_replaced: Only the newest word is left: its key and value took the place of the whole cache.
        Hint: What should the rows of the words before become?
    caches_exchanged: You return the values before the keys; it should be the keys before the
        values.
        Hint: In which order does the docstring list what is returned?
    plain_average: All keys got the same weight: the context is the plain average of the values.
        Hint: Where do you use the query?
    context_only: The caches are right; return the context first, and the caches after it.
        Hint: How many things does the docstring's Returns part list?
    extra_axis
    returns_nothing
    unscaled_cache_not_grown: There are two mistakes. The scores are not divided by √d_k. And the caches
        come back as they were: the newest word is not in them.
        Hint: What does scaled dot-product attention do with the dot products before the softmax?
    d_k_cache_not_grown: There are two mistakes. You divided the scores by d_k instead of by its square
        root. And the caches come back as they were: the newest word is not in them.
        Hint: What does scaled dot-product attention do with the dot products before the softmax?
    newest_value_on_top: The newest value is added with a weight of 1 to what the others get: the weights
        add up to more than 1.
        Hint: Which weight does the softmax give to the newest word?
""")
def decode_step_with_slips(slip, query, key, value, cached_keys, cached_values):
    if slip.oldest_thrown_out:
        cached_keys, cached_values = cached_keys[1:], cached_values[1:]
    if slip.cache_replaced:
        cached_keys, cached_values = cached_keys[:0], cached_values[:0]
    keys = np.concatenate([cached_keys, key[None]])
    values = np.concatenate([cached_values, value[None]])
    keys_seen, values_seen = keys, values
    if slip.does_not_see_itself or (slip.sees_itself_only_alone and len(cached_keys) > 0):
        keys_seen, values_seen = cached_keys, cached_values
    d_k = len(query)
    scale = slip.choose(
        d_k**0.5,
        no_scale=1.0,
        divides_by_d_k=d_k,
        root_of_the_number_of_keys=len(keys) ** 0.5,
        root_of_the_old_length=np.float64(len(cached_keys)) ** 0.5,
        root_of_the_value_size=len(value) ** 0.5,
        sees_itself_only_alone=np.sqrt(d_k),  # a float64, unlike the others
        unscaled_cache_not_grown=1.0,
        d_k_cache_not_grown=d_k,
    )
    scores = keys_seen @ query / scale
    shift = slip.choose(scores.max(), no_maximum_subtracted=0, minimum_subtracted=scores.min())
    powers = np.exp(scores - shift)
    weights = powers
    if not slip.never_divided_by_the_sum:
        weights = powers / powers.sum()
    if slip.no_softmax:
        weights = scores / scores.sum()
    if slip.newest_value_on_top:
        weights[-1] = 1
    context = slip.choose(weights @ values_seen, plain_average=values.mean(axis=0))
    if slip.extra_axis:
        context = context[None]
    if slip.cache_not_grown or slip.unscaled_cache_not_grown or slip.d_k_cache_not_grown:
        keys, values = cached_keys, cached_values
    if slip.newest_first:
        keys, values = np.vstack([key, cached_keys]), np.vstack([value, cached_values])
    return slip.choose(
        (context, keys, values),
        caches_exchanged=(context, values, keys),
        context_only=context,
        returns_nothing=None,
    )


@decode_step.misconception(
    means="Without `axis=0`, `np.append` makes one long row of numbers out of both arrays.",
    nudge="What shape do your keys have after it? Which argument keeps the rows apart?",
    raises=ValueError,
)
def append_without_axis(query, key, value, cached_keys, cached_values):
    keys, values = np.append(cached_keys, key), np.append(cached_values, value)
    return softmax(keys @ query / len(query) ** 0.5) @ values, keys, values


@decode_step.misconception(
    means="A matrix and a vector cannot be joined: the new key has one axis, the cache has two.",
    nudge="How do you turn (d_k,) into one row, (1, d_k)?",
    raises=ValueError,
)
def joins_a_matrix_and_a_vector(query, key, value, cached_keys, cached_values):
    return np.concatenate([cached_keys, key]), None, None


# Other right answers, which must pass.


@decode_step.variant
def with_vstack(query, key, value, cached_keys, cached_values):
    keys, values = np.vstack([cached_keys, key]), np.vstack((cached_values, value))
    s = (keys @ query) / np.sqrt(keys.shape[1])
    w = np.exp(s - np.max(s))
    w /= np.sum(w)
    return w @ values, keys, values


@decode_step.variant
def with_append_and_a_row(query, key, value, cached_keys, cached_values):
    keys = np.append(cached_keys, key.reshape(1, -1), axis=0)
    values = np.append(cached_values, value.reshape(1, -1), axis=0)
    s = query[None, :] @ keys.T / query.shape[0] ** 0.5
    w = np.exp(s - s.max(axis=1, keepdims=True))
    w = w / w.sum(axis=1, keepdims=True)
    return [(w @ values)[0], keys, values]


@decode_step.variant
def room_reserved_and_a_loop(query, key, value, cached_keys, cached_values):
    L = cached_keys.shape[0]
    keys, values = (
        np.zeros((L + 1, key.size), key.dtype),
        np.zeros((L + 1, value.size), value.dtype),
    )
    keys[:L], values[:L] = cached_keys, cached_values
    keys[L], values[L] = key, value
    scores = np.array([np.dot(query, keys[i]) for i in range(L + 1)]) / len(query) ** 0.5
    top = max(scores)
    context = sum(np.exp(scores[i] - top) * values[i] for i in range(L + 1))
    return context / np.exp(scores - top).sum(), keys, values


@decode_step.variant
def lists_of_rows(query, key, value, cached_keys, cached_values):
    keys, values = np.array([*cached_keys, key]), np.array([*cached_values, value])
    s = np.einsum("ld,d->l", keys, query) / keys.shape[-1] ** 0.5
    return np.exp(s - np.logaddexp.reduce(s)) @ values, keys, values
