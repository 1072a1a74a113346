"""The exercise `delta_step`: write the difference between what is there and what should be there."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import phi

delta_step = Exercise("delta_step", points=3)


def unit(rng, d):
    vector = rng.normal(size=d)
    return vector / np.linalg.norm(vector)


def drawn(rng, d_k, d_v, rate):
    return inputs(
        rng.normal(size=d_k),
        unit(rng, d_k),
        rng.normal(size=d_v),
        float(rate),
        rng.normal(size=(d_k, d_v)),
    )


@delta_step.domain(
    sizes={"d_k": (1, 60), "d_v": (1, 60)},
    flags={"rate": (0.5, 0.0, 1.0)},
    magnitudes=(1.0, 1000.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, d_k, d_v, rate, magnitude):
    value, state = magnitude * rng.normal(size=d_v), magnitude * rng.normal(size=(d_k, d_v))
    return inputs(rng.normal(size=d_k), unit(rng, d_k), value, rate, state)


@delta_step.case("the notebook's example")
def example(rng):
    return inputs(
        np.array([1.0, 1.0]),
        np.array([1.0, 0.0]),
        np.array([4.0, 2.0]),
        0.5,
        np.array([[2.0, 0.0], [0.0, 6.0]]),
    )


@delta_step.case("every size different")
def all_different(rng):
    return drawn(rng, *sizes(rng, 2, low=3), rng.uniform(0.2, 0.8))


@delta_step.case("keys and values of one size")
def one_size(rng):
    (d,) = sizes(rng, 1, low=4)
    return drawn(rng, d, d, rng.uniform(0.2, 0.8))


@delta_step.case("rate 1: the value replaces what the key held")
def rate_one(rng):
    return drawn(rng, *sizes(rng, 2, low=3), 1)


@delta_step.case("rate 0: nothing is written")
def rate_zero(rng):
    return drawn(rng, *sizes(rng, 2, low=3), 0)


@delta_step.case("an empty state")
def empty(rng):
    d_k, d_v = sizes(rng, 2, low=3)
    return inputs(
        rng.normal(size=d_k), unit(rng, d_k), rng.normal(size=d_v), 0.7, np.zeros((d_k, d_v))
    )


@delta_step.case("asked with the key that was written")
def asked_with_the_key(rng):
    d_k, d_v = sizes(rng, 2, low=3)
    key = unit(rng, d_k)
    return inputs(key.copy(), key, rng.normal(size=d_v), 0.4, rng.normal(size=(d_k, d_v)))


@delta_step.slips("""
    plain_sum: You do not subtract the old value: you add rate · key ⊗ value.
        Hint: What does the state give back for this key before you write? Only the difference is to be added.
    no_rate: The rate is missing: the whole difference is written.
        Hint: How much should be written for a rate of 0?
    sum_without_rate: Neither the rate nor the old value comes in: key ⊗ value is simply added.
        Hint: What does the state give back for this key before you write? And how much is written for a
        rate of 0?
    rate_of_the_value_only: The rate multiplies only the value; the old value is subtracted in full.
        Hint: Where do the brackets end in rate · key ⊗ (value − keyᵀ state)?
    rate_of_the_old_value_only: The rate multiplies only the old value; the new value is written in full.
        Hint: Where do the brackets begin in rate · key ⊗ (value − keyᵀ state)?
    rate_upside_down: 1 − rate was used instead of the rate.
        Hint: What should happen at rate 0, nothing or everything?
    whole_state_fades: You multiply the whole state by 1 − rate, so what other keys have stored gets
        weaker too. Change only what this key holds.
        Hint: Which part of the state should be unchanged: what other keys (at right angles to this one) hold?
    fades_and_corrects: The whole state fades by 1 − rate, and the old value is subtracted besides.
        Hint: In the formula, what is the factor in front of the old state?
    read_before_writing: The context was read from the old state; write first, then read.
        Hint: If the rate is 1 and the query equals the key, the context should equal the value.
        Does yours?
    old_value_of_the_query: The old value was looked up with the query; it is what the state holds under
        the key.
        Hint: Whose value is replaced, that of the key or that of the query?
    written_under_the_query: The difference was written under the query; it belongs under the key.
        Hint: Which of query and key stores, and which asks?
    read_with_the_key: The context was read with the key; the query asks.
        Hint: Which of query and key stores, and which asks?
    sign_wrong: The sign is wrong: the state moves away from the new value.
        Hint: What should keyᵀ state be closer to after the step, and which difference leads there?
    old_value_added: The old value is added instead of subtracted.
        Hint: If the state holds the right value already, how much should be written?
    feature_map_used: Query and key went through the feature map. The delta rule uses them as they are.
        Hint: Is there a φ in the formula of this exercise?
    old_state_returned: The result is the new state, right, but the old one is returned: nothing is
        stored for the next step.
        Hint: Which state does the next token need?
    old_state_dropped: Only what is written is returned as the state; it should be added to what was there.
        Hint: What becomes of the values of all the other keys?
    results_exchanged: You return the state first and then the context; it should be the context
        first.
        Hint: In which order does the docstring list what is returned?
    context_only: Only the context is returned; the next step needs the new state as well.
        Hint: How many things does the docstring's Returns part list?
    state_only: Only the state is returned; the context, queryᵀ state, comes first.
        Hint: How many things does the docstring's Returns part list?
    scaled: The scores are scaled by √d_k. The delta rule has no such scale.
        Hint: Look at the formula: is there a root in it?
    rate_twice: The rate was applied twice.
        Hint: How many times does the rate occur in the formula? What is written at rate ½?
    context_divided: The context was divided. The delta rule has no denominator: the context is queryᵀ state.
        Hint: Is there a total to divide by in this exercise?
    read_from_the_change: The old state is missing from the context: it was read from what is written alone.
        Hint: From which state should the query read, the new one or the change?
    fades_by_the_rate: The state is a gate's and a sum's: faded by the rate, with the whole pair added.
        Hint: Which part of the state should be unchanged: what other keys (at right angles to this one) hold?
    only_erases: The old value is taken out, but the new one is not written.
        Hint: What should keyᵀ state be after a step at rate 1?
    whole_state_subtracted: The whole state was subtracted from the value, row by row; only what it holds
        under the key counts, keyᵀ state.
        Hint: What is the shape of value − keyᵀ state? It should be (d_v,).
    as_linear_attention: Query and key went through the feature map, and the context was divided. The
        delta rule has neither.
        Hint: Is there a φ or a denominator in the formula of this exercise?
    extra_axis
    returns_nothing
""")
def delta_step_with_slips(slip, query, key, value, rate, state):
    if slip.feature_map_used or slip.as_linear_attention:
        query, key = phi(query), phi(key)
    held = key @ state
    old_value = slip.choose(
        held,
        plain_sum=0,
        sum_without_rate=0,
        whole_state_fades=0,
        fades_by_the_rate=0,
        rate_of_the_old_value_only=rate * held,
        old_value_of_the_query=query @ state,
        old_value_added=-held,
        whole_state_subtracted=state,
    )
    new_value = slip.choose(value, rate_of_the_value_only=rate * value, only_erases=0 * value)
    write = slip.choose(
        rate,
        no_rate=1,
        sum_without_rate=1,
        rate_of_the_value_only=1,
        rate_of_the_old_value_only=1,
        fades_by_the_rate=1,
        rate_upside_down=1 - rate,
        sign_wrong=-rate,
        rate_twice=rate * rate,
    )
    address = slip.choose(key, written_under_the_query=query)
    change = write * (address[:, None] * (new_value - old_value))
    keep = slip.choose(
        1.0,
        whole_state_fades=1 - rate,
        fades_and_corrects=1 - rate,
        old_state_dropped=0.0,
        fades_by_the_rate=rate,
    )
    new = keep * state + change
    state_read = slip.choose(new, read_before_writing=state, read_from_the_change=change)
    context = slip.choose(query, read_with_the_key=key) @ state_read
    if slip.as_linear_attention:
        context = context / (query @ key)
    context = slip.choose(
        context,
        scaled=context / len(query) ** 0.5,
        context_divided=context / np.abs(query).sum(),
        extra_axis=context[None],
    )
    return slip.choose(
        (context, new),
        old_state_returned=(context, state),
        results_exchanged=(new, context),
        context_only=context,
        state_only=new,
        returns_nothing=None,
    )


@delta_step.misconception(
    means="The state is multiplied from the wrong side: keyᵀ state adds over the rows, one for each number of the key.",
    nudge="(d_k,) and (d_k, d_v): on which side of `@` does the key stand?",
    raises=ValueError,
)
def state_times_key(query, key, value, rate, state):
    new = state + rate * np.outer(key, value - state @ key)
    return query @ new, new


@delta_step.misconception(
    means="The outer product is the wrong way round; the state has the shape (d_k, d_v).",
    nudge="In which order do key and difference go into `np.outer`?",
    raises=ValueError,
)
def outer_product_turned(query, key, value, rate, state):
    new = state + rate * np.outer(value - key @ state, key)
    return query @ new, new


# Other right answers, which must pass.


@delta_step.variant
def as_a_matrix(query, key, value, rate, state):
    shrink = np.eye(len(key), dtype=key.dtype) - rate * np.outer(key, key)
    new = shrink @ state + rate * np.outer(key, value)
    return query @ new, new


@delta_step.variant
def target_between_old_and_new(query, key, value, rate, state):
    held = key @ state
    aim = (1 - rate) * held + rate * value
    new = state + key[:, None] * (aim - held)[None, :]
    return new.T @ query, new


@delta_step.variant
def with_einsum(query, key, value, rate, state):
    held = np.einsum("k,kv->v", key, state)
    new = state + rate * np.einsum("k,v->kv", key, value - held)
    return np.einsum("k,kv->v", query, new), new


@delta_step.variant
def by_rows(query, key, value, rate, state):
    difference = value - (state * key[:, None]).sum(axis=0)
    new = np.array(
        [row + rate * number * difference for row, number in zip(state, key, strict=True)]
    )
    return query.dot(new), new


@delta_step.variant
def key_made_unit_again(query, key, value, rate, state):
    key = key / np.linalg.norm(key)
    new = state - rate * np.outer(key, key @ state - value)
    return query @ new, new
