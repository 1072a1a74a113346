"""The exercise `recurrent_step`: causal linear attention, one token at a time."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import K, Q, V, as_it_is, drawn, phi
from .feature_map import feature_map

recurrent_step = Exercise("recurrent_step", points=3, builds_on=[feature_map])


def after(rng, tokens, d_k, d_v, magnitude=None):
    """Arguments of the step that follows `tokens` earlier tokens."""
    queries, keys, values = drawn(rng, 1, tokens + 1, d_k, d_v)
    if magnitude is not None:
        queries, keys = (magnitude * rng.uniform(-1, 1, size=x.shape) for x in (queries, keys))
    features = phi(keys[:-1])
    return inputs(queries[0], keys[-1], values[-1], features.T @ values[:-1], features.sum(axis=0))


@recurrent_step.domain(
    sizes={"tokens": (0, 60), "d_k": (1, 60), "d_v": (1, 60)},
    magnitudes=(1.0, 5.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, tokens, d_k, d_v, magnitude):
    return after(rng, tokens, d_k, d_v, magnitude)


@recurrent_step.case("the notebook's example: the second token")
def example(rng):
    features = phi(K[:1])
    return inputs(Q[0], K[1], V[1], features.T @ V[:1], features.sum(axis=0))


@recurrent_step.case("every size different")
def all_different(rng):
    return after(rng, *sizes(rng, 3, low=3))


@recurrent_step.case("keys and values of one size")
def one_size(rng):
    tokens, d = sizes(rng, 2, low=4)
    return after(rng, tokens, d, d)


@recurrent_step.case("the first token: state and total are zero")
def first(rng):
    return after(rng, 0, *sizes(rng, 2, low=3))


@recurrent_step.case("after a hundred tokens")
def many(rng):
    return after(rng, 100, *sizes(rng, 2, low=3))


@recurrent_step.case("numbers close to -5")
def very_low(rng):
    query, key, *keys = rng.uniform(-5, -4.8, size=(4, 2))
    features, values = phi(np.array(keys)), rng.normal(size=(2, 5))
    return inputs(query, key, rng.normal(size=5), features.T @ values, features.sum(axis=0))


@recurrent_step.slips("""
    does_not_see_itself: The token does not see itself: the context was taken from the old state and the
        old total.
        Hint: What must come first: adding the new key and value, or computing the context? What can
        the very first token see?
    old_total_in_the_denominator: The context comes from the new state, but its denominator from the old
        total.
        Hint: The token sees itself in the numerator. Does it count in the denominator too?
    old_state_in_the_numerator: The context comes from the old state, but its denominator from the new total.
        Hint: The token counts in the denominator. Does it see its own value?
    no_feature_map: The feature map is missing: query and key are used as they are.
        Hint: The state is the sum of φ(k) ⊗ v. Which function of yours is φ?
    map_of_the_query_only: The feature map is applied to the query, but not to the key.
        Hint: Which features of the key does the state hold?
    map_of_the_key_only: The feature map is applied to the key, but not to the query: state and total are
        right, the context is not.
        Hint: φ is applied to the query and to the key. Does your code apply it to both?
    map_of_the_value_too: The value went through the feature map as well; it is stored as it is.
        Hint: Which of query, key and value take part in the similarity?
    never_divided: The context is not divided: it is a weighted sum, not an average.
        Hint: What is `total` kept for?
    divided_by_the_sum_of_the_total: You divided by the sum of the total; the denominator is φ(q) ·
        total, so it depends on the query.
        Hint: What is the sum of this query's similarities with all the keys so far?
    epsilon_in_the_denominator: A small number was added to the denominator. It changes the result, and
        no denominator is 0 here.
        Hint: Can φ(q) · total become 0 once the token has been added? Divide by it as it is.
    state_not_updated: The context is right, but state and total come back as they were: the next step
        knows nothing of this token.
        Hint: What should the docstring's second and third result contain?
    total_not_returned: You return the old total; it grows by φ(k) with every token.
        Hint: Which two sums over the tokens does the formula need?
    state_replaced: The new token took the place of the old state; it should be added to it.
        Hint: The state is a sum over all tokens so far. What happens to the old ones?
    total_counts_tokens: The total counts tokens: 1 was added instead of φ(k).
        Hint: The denominator is φ(q) · total. Which vector must `total` be the sum of?
    total_of_the_bare_key: The key itself was added to the total; the state uses φ(k), and so must the total.
        Hint: Numerator and denominator must use the same features. Which are they?
    results_exchanged: You return the total before the state; it should be the state before the
        total.
        Hint: In which order does the docstring list what is returned?
    context_only: Only the context is returned; the next step needs the new state and the new total as well.
        Hint: How many things does the docstring's Returns part list?
    outer_product_turned_where_it_fits: The outer product is the wrong way round; it fits only where keys
        and values have the same size.
        Hint: In which order do key and value go into `np.outer`?
    divided_state_stored: The state is divided before it is stored. Keep the sums, and divide only the
        context.
        Hint: By what is the context divided? Does it depend on the query, and is it the same in the next
        step?
    exponential_features: The feature map was e^x instead of elu(x) + 1.
        Hint: Call your own `feature_map`: what does it do above 0?
    scaled_query: You divided the query by √d_k before the feature map. Linear attention has no such scale.
        Hint: Look at the formula: is there a root in it?
    epsilon_of_1e_8: A small number was added to the denominator. It changes the result, and no
        denominator is 0 here.
        Hint: Can φ(q) · total become 0 once the token has been added? Divide by it as it is.
    rows_divided_by_the_total: Each row of the state was divided by its own total. The denominator is one
        number for the query: φ(q) · total.
        Hint: What is the sum of this query's similarities with all the keys so far?
    total_of_the_summed_features: The key's features were added up before they went into the total; it
        keeps one sum for each feature.
        Hint: Which shape do `total` and φ(k) have? Is a sum needed to add one to the other?
    query_in_the_total: The query's features were added to the total; it is the sum of the keys' features.
        Hint: Which of query and key is stored, and which asks?
    query_stored: The query's features went into the state; what is stored are the key's features with
        the value.
        Hint: Which of query and key is stored, and which asks?
    map_of_the_outer_product: The feature map was applied to the outer product; it belongs to the key alone.
        Hint: The state is the sum of φ(k) ⊗ v. What is inside φ?
    weight_of_the_query_stored: An exponential of the score with this token's query was stored. Later
        queries will ask other questions: what is stored must not depend on the query.
        Hint: Which of the arguments may the new state depend on?
    extra_axis
    returns_nothing
""")
def recurrent_step_with_slips(slip, query, key, value, state, total):
    if slip.state_replaced:
        state, total = 0 * state, 0 * total
    if slip.scaled_query:
        query = query / len(query) ** 0.5
    map_features = slip.choose(
        phi,
        no_feature_map=as_it_is,
        exponential_features=np.exp,
        weight_of_the_query_stored=as_it_is,
    )
    fq, fk = map_features(query), map_features(key)
    if slip.map_of_the_query_only:
        fk = key
    if slip.map_of_the_key_only:
        fq = query
    if slip.query_stored:
        fk = fq
    product = np.outer(fk, slip.choose(value, map_of_the_value_too=phi(value)))
    if slip.map_of_the_outer_product:
        product = phi(np.outer(key, value))
    if slip.outer_product_turned_where_it_fits:
        if len(key) != len(value):
            raise ValueError
        product = product.T
    features = slip.choose(
        fk,
        total_counts_tokens=1,
        total_of_the_bare_key=key,
        total_of_the_summed_features=fk.sum(),
        query_in_the_total=fq,
    )
    if slip.weight_of_the_query_stored:
        weight = np.exp(query @ key / len(key) ** 0.5)
        product, features = weight * product, weight
    new_state, new_total = state + product, total + features
    state_read, total_read = new_state, new_total
    if slip.does_not_see_itself or slip.old_state_in_the_numerator:
        state_read = state
    if slip.does_not_see_itself or slip.old_total_in_the_denominator:
        total_read = total
    denominator = fq @ total_read
    denominator = slip.choose(
        denominator,
        never_divided=1,
        divided_by_the_sum_of_the_total=total_read.sum(),
        epsilon_in_the_denominator=denominator + 1e-6,
        epsilon_of_1e_8=denominator + 1e-8,
    )
    context = fq @ state_read / denominator
    if slip.rows_divided_by_the_total:
        context = fq @ (new_state / new_total[:, None])
    if slip.divided_state_stored:
        new_state = new_state / new_total[:, None]
    if slip.state_not_updated:
        new_state = state
    if slip.state_not_updated or slip.total_not_returned:
        new_total = total
    if slip.extra_axis:
        context = context[None]
    return slip.choose(
        (context, new_state, new_total),
        results_exchanged=(context, new_total, new_state),
        context_only=context,
        returns_nothing=None,
    )


@recurrent_step.misconception(
    means="The outer product is the wrong way round: the state has a row for each feature of the key, (d_k, d_v).",
    nudge="In which order do key and value go into `np.outer`?",
    raises=ValueError,
)
def outer_product_turned(query, key, value, state, total):
    fq, fk = phi(query), phi(key)
    context = fq @ (state.T + np.outer(fk, value)) / (fq @ (total + fk))
    return context, state + np.outer(value, fk), total


# Other right answers, which must pass.


@recurrent_step.variant
def with_axes(query, key, value, state, total):
    fk, fq = phi(key), phi(query)
    state = state + fk[:, None] * value[None, :]
    total = total + fk
    return (fq[None, :] @ state)[0] / np.sum(fq * total), state, total


@recurrent_step.variant
def with_einsum(query, key, value, state, total):
    state = state + np.einsum("k,v->kv", phi(key), value)
    total = phi(key) + total
    return np.einsum("k,kv->v", phi(query), state) / np.dot(total, phi(query)), state, total


@recurrent_step.variant
def by_columns(query, key, value, state, total):
    new_state = state.copy()
    new_total = total.copy()
    features = phi(key)
    for place, number in enumerate(value):
        new_state[:, place] += features * number
    new_total += features
    weights = phi(query) / (phi(query) @ new_total)
    return new_state.T @ weights, new_state, new_total


@recurrent_step.variant
def old_and_new_apart(query, key, value, state, total):
    fq, fk = phi(query), phi(key)
    own = fq @ fk
    context = (fq @ state + own * value) / (fq @ total + own)
    return context, state + np.outer(fk, value), total + fk
