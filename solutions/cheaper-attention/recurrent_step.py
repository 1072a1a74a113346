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


# Mistakes.


def step(query, key, value, state, total, *, of_q=phi, of_k=phi, of_v=as_it_is, divide=None, see=True):
    """The right step, with other feature maps or another denominator."""
    fq, fk = of_q(query), of_k(key)
    new_state, new_total = state + np.outer(fk, of_v(value)), total + fk
    seen, weight = (new_state, new_total) if see else (state, total)
    below = fq @ weight if divide is None else divide(fq, weight)
    return fq @ seen / below, new_state, new_total


@recurrent_step.misconception(
    means="The token does not see itself: the context was taken from the old state and the old total.",
    nudge="What comes first, adding the new key and value, or asking? What can the very first token see?",
)
def does_not_see_itself(query, key, value, state, total):
    with np.errstate(all="ignore"):
        return step(query, key, value, state, total, see=False)


@recurrent_step.misconception(
    means="The context comes from the new state, but its denominator from the old total.",
    nudge="The token sees itself in the numerator. Does it count in the denominator too?",
)
def old_total_in_the_denominator(query, key, value, state, total):
    with np.errstate(all="ignore"):
        return step(query, key, value, state, total, divide=lambda fq, weight: fq @ total)


@recurrent_step.misconception(
    means="The context comes from the old state, but its denominator from the new total.",
    nudge="The token counts in the denominator. Does it see its own value?",
)
def old_state_in_the_numerator(query, key, value, state, total):
    _, new_state, new_total = step(query, key, value, state, total)
    fq = phi(query)
    return fq @ state / (fq @ new_total), new_state, new_total


@recurrent_step.misconception(
    means="The feature map is missing: query and key are used as they are.",
    nudge="The state is the sum of φ(k) ⊗ v. Which function of yours is φ?",
)
def no_feature_map(query, key, value, state, total):
    return step(query, key, value, state, total, of_q=as_it_is, of_k=as_it_is)


@recurrent_step.misconception(
    means="The feature map is applied to the query, but not to the key.",
    nudge="Which features of the key does the state hold?",
)
def map_of_the_query_only(query, key, value, state, total):
    return step(query, key, value, state, total, of_k=as_it_is)


@recurrent_step.misconception(
    means="The feature map is applied to the key, but not to the query: state and total are right, the context is not.",
    nudge="In φ(q) · φ(k), how many times does φ occur?",
)
def map_of_the_key_only(query, key, value, state, total):
    return step(query, key, value, state, total, of_q=as_it_is)


@recurrent_step.misconception(
    means="The value went through the feature map as well; it is stored as it is.",
    nudge="Which of query, key and value take part in the similarity?",
)
def map_of_the_value_too(query, key, value, state, total):
    return step(query, key, value, state, total, of_v=phi)


@recurrent_step.misconception(
    means="The context is not divided: it is a weighted sum, not an average.",
    nudge="What is `total` kept for?",
)
def never_divided(query, key, value, state, total):
    return step(query, key, value, state, total, divide=lambda fq, weight: 1)


@recurrent_step.misconception(
    means="You divided by the sum of the total; the denominator is φ(q) · total, so it depends on the query.",
    nudge="What is the sum of this query's similarities with all the keys so far?",
)
def divided_by_the_sum_of_the_total(query, key, value, state, total):
    return step(query, key, value, state, total, divide=lambda fq, weight: weight.sum())


@recurrent_step.misconception(
    means="A small number was added to the denominator. It changes the result, and no denominator is 0 here.",
    nudge="Can φ(q) · total become 0 once the token has been added? Divide by it as it is.",
)
def epsilon_in_the_denominator(query, key, value, state, total):
    return step(query, key, value, state, total, divide=lambda fq, weight: fq @ weight + 1e-6)


@recurrent_step.misconception(
    means="The context is right, but state and total come back as they were: the next step knows nothing of this token.",
    nudge="What should the docstring's second and third result contain?",
)
def state_not_updated(query, key, value, state, total):
    return step(query, key, value, state, total)[0], state, total


@recurrent_step.misconception(
    means="The total comes back as it was; it grows by φ(k) with every token.",
    nudge="Which two sums over the tokens does the formula need?",
)
def total_not_returned(query, key, value, state, total):
    context, new_state, _ = step(query, key, value, state, total)
    return context, new_state, total


@recurrent_step.misconception(
    means="The new token took the place of the old state; it should be added to it.",
    nudge="The state is a sum over all tokens so far. What happens to the old ones?",
)
def state_replaced(query, key, value, state, total):
    return step(query, key, value, 0 * state, 0 * total)


@recurrent_step.misconception(
    means="The total counts tokens: 1 was added instead of φ(k).",
    nudge="The denominator is φ(q) · total. Which vector must `total` be the sum of?",
)
def total_counts_tokens(query, key, value, state, total):
    fq = phi(query)
    new_state, new_total = state + np.outer(phi(key), value), total + 1
    return fq @ new_state / (fq @ new_total), new_state, new_total


@recurrent_step.misconception(
    means="The key itself was added to the total; the state uses φ(k), and so must the total.",
    nudge="Numerator and denominator must use the same features. Which are they?",
)
def total_of_the_bare_key(query, key, value, state, total):
    fq = phi(query)
    new_state, new_total = state + np.outer(phi(key), value), total + key
    return fq @ new_state / (fq @ new_total), new_state, new_total


@recurrent_step.misconception(
    means="State and total come back in each other's place.",
    nudge="In which order does the docstring list what is returned?",
)
def results_exchanged(query, key, value, state, total):
    context, new_state, new_total = step(query, key, value, state, total)
    return context, new_total, new_state


@recurrent_step.misconception(
    means="Only the context is returned; the next step needs the new state and the new total as well.",
    nudge="How many things does the docstring's Returns part list?",
)
def context_only(query, key, value, state, total):
    return step(query, key, value, state, total)[0]


@recurrent_step.misconception(
    means="The outer product is the wrong way round: the state has a row for each feature of the key, (d_k, d_v).",
    nudge="In which order do key and value go into `np.outer`?",
    raises=ValueError,
)
def outer_product_turned(query, key, value, state, total):
    return step(query, key, value, state.T, total)[0], state + np.outer(value, phi(key)), total


@recurrent_step.misconception(
    means="The outer product is the wrong way round; it fits only where keys and values have the same size.",
    nudge="In which order do key and value go into `np.outer`?",
)
def outer_product_turned_where_it_fits(query, key, value, state, total):
    if len(key) != len(value):
        raise ValueError
    fq, fk = phi(query), phi(key)
    new_state, new_total = state + np.outer(value, fk), total + fk
    return fq @ new_state / (fq @ new_total), new_state, new_total


@recurrent_step.misconception(
    means="The state is divided before it is stored. Keep the sums, and divide only the context.",
    nudge="By what is the context divided? Does it depend on the query, and is it the same in the next step?",
)
def divided_state_stored(query, key, value, state, total):
    context, new_state, new_total = step(query, key, value, state, total)
    return context, new_state / new_total[:, None], new_total


@recurrent_step.misconception(
    means="The feature map was e^x instead of elu(x) + 1.",
    nudge="Call your own `feature_map`: what does it do above 0?",
)
def exponential_features(query, key, value, state, total):
    return step(query, key, value, state, total, of_q=np.exp, of_k=np.exp)


@recurrent_step.misconception(
    means="You divided the query by √d_k before the feature map. Linear attention has no such scale.",
    nudge="Look at the formula: is there a root in it?",
)
def scaled_query(query, key, value, state, total):
    return step(query / len(query) ** 0.5, key, value, state, total)


@recurrent_step.misconception(
    means="A small number was added to the denominator. It changes the result, and no denominator is 0 here.",
    nudge="Can φ(q) · total become 0 once the token has been added? Divide by it as it is.",
)
def epsilon_of_1e_8(query, key, value, state, total):
    return step(query, key, value, state, total, divide=lambda fq, weight: fq @ weight + 1e-8)


@recurrent_step.misconception(
    means="Each row of the state was divided by its own total. The denominator is one number for the query: φ(q) · total.",
    nudge="What is the sum of this query's similarities with all the keys so far?",
)
def rows_divided_by_the_total(query, key, value, state, total):
    _, new_state, new_total = step(query, key, value, state, total)
    return phi(query) @ (new_state / new_total[:, None]), new_state, new_total


@recurrent_step.misconception(
    means="The key's features were added up before they went into the total; it keeps one sum for each feature.",
    nudge="Which shape do `total` and φ(k) have? Is a sum needed to add one to the other?",
)
def total_of_the_summed_features(query, key, value, state, total):
    fq, fk = phi(query), phi(key)
    new_state, new_total = state + np.outer(fk, value), total + fk.sum()
    return fq @ new_state / (fq @ new_total), new_state, new_total


@recurrent_step.misconception(
    means="The query's features were added to the total; it is the sum of the keys' features.",
    nudge="Which of query and key is stored, and which asks?",
)
def query_in_the_total(query, key, value, state, total):
    fq = phi(query)
    new_state, new_total = state + np.outer(phi(key), value), total + fq
    return fq @ new_state / (fq @ new_total), new_state, new_total


@recurrent_step.misconception(
    means="The query's features went into the state; what is stored are the key's features with the value.",
    nudge="Which of query and key is stored, and which asks?",
)
def query_stored(query, key, value, state, total):
    fq = phi(query)
    new_state, new_total = state + np.outer(fq, value), total + fq
    return fq @ new_state / (fq @ new_total), new_state, new_total


@recurrent_step.misconception(
    means="The feature map was applied to the outer product; it belongs to the key alone.",
    nudge="The state is the sum of φ(k) ⊗ v. What is inside φ?",
)
def map_of_the_outer_product(query, key, value, state, total):
    fq = phi(query)
    new_state, new_total = state + phi(np.outer(key, value)), total + phi(key)
    return fq @ new_state / (fq @ new_total), new_state, new_total


@recurrent_step.misconception(
    means="An exponential of the score with this token's query was stored. Later queries will ask other questions: what is "
    "stored must not depend on the query.",
    nudge="Which of the arguments may the new state depend on?",
)
def weight_of_the_query_stored(query, key, value, state, total):
    weight = np.exp(query @ key / len(key) ** 0.5)
    new_state, new_total = state + weight * np.outer(key, value), total + weight
    return query @ new_state / (query @ new_total), new_state, new_total


@recurrent_step.common_mistake
def extra_axis(query, key, value, state, total):
    context, new_state, new_total = step(query, key, value, state, total)
    return context[None], new_state, new_total


@recurrent_step.common_mistake
def returns_nothing(query, key, value, state, total):
    return None


@recurrent_step.combined_misconception(no_feature_map, never_divided)
def neither_map_nor_division(query, key, value, state, total):
    return step(query, key, value, state, total, of_q=as_it_is, of_k=as_it_is, divide=lambda fq, w: 1)


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
