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
        rng.normal(size=d_k), unit(rng, d_k), rng.normal(size=d_v), float(rate), rng.normal(size=(d_k, d_v))
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
    return inputs(rng.normal(size=d_k), unit(rng, d_k), rng.normal(size=d_v), 0.7, np.zeros((d_k, d_v)))


@delta_step.case("asked with the key that was written")
def asked_with_the_key(rng):
    d_k, d_v = sizes(rng, 2, low=3)
    key = unit(rng, d_k)
    return inputs(key.copy(), key, rng.normal(size=d_v), 0.4, rng.normal(size=(d_k, d_v)))


# Mistakes.


def step(query, key, value, rate, state, *, old=None, write=None, keep=1.0):
    """The right step, with another old value or another factor."""
    held = key @ state if old is None else old
    new = keep * state + (rate if write is None else write) * np.outer(key, value - held)
    return query @ new, new


@delta_step.misconception(
    means="The old value is not subtracted: this is the plain sum, rate · key ⊗ value.",
    nudge="What does the state give back for this key before you write? Only the difference is to be added.",
)
def plain_sum(query, key, value, rate, state):
    return step(query, key, value, rate, state, old=0)


@delta_step.misconception(
    means="The rate is missing: the whole difference is written.",
    nudge="How much should be written for a rate of 0?",
)
def no_rate(query, key, value, rate, state):
    return step(query, key, value, rate, state, write=1)


@delta_step.misconception(
    means="Neither the rate nor the old value comes in: key ⊗ value is simply added.",
    nudge="What does the state give back for this key before you write? And how much is written for a rate of 0?",
)
def sum_without_rate(query, key, value, rate, state):
    return step(query, key, value, rate, state, old=0, write=1)


@delta_step.misconception(
    means="The rate multiplies only the value; the old value is subtracted in full.",
    nudge="Where do the brackets end in rate · key ⊗ (value − keyᵀ state)?",
)
def rate_of_the_value_only(query, key, value, rate, state):
    return step(query, key, rate * value, rate, state, write=1)


@delta_step.misconception(
    means="The rate multiplies only the old value; the new value is written in full.",
    nudge="Where do the brackets begin in rate · key ⊗ (value − keyᵀ state)?",
)
def rate_of_the_old_value_only(query, key, value, rate, state):
    return step(query, key, value, rate, state, old=rate * (key @ state), write=1)


@delta_step.misconception(
    means="1 − rate was used instead of the rate.",
    nudge="What should happen at rate 0, nothing or everything?",
)
def rate_upside_down(query, key, value, rate, state):
    return step(query, key, value, rate, state, write=1 - rate)


@delta_step.misconception(
    means="The whole state fades by 1 − rate; only what this key holds should be changed.",
    nudge="Which part of the state should be unchanged: what other keys (at right angles to this one) hold?",
)
def whole_state_fades(query, key, value, rate, state):
    new = (1 - rate) * state + rate * np.outer(key, value)
    return query @ new, new


@delta_step.misconception(
    means="The whole state fades by 1 − rate, and the old value is subtracted besides.",
    nudge="In the formula, what is the factor in front of the old state?",
)
def fades_and_corrects(query, key, value, rate, state):
    return step(query, key, value, rate, state, keep=1 - rate)


@delta_step.misconception(
    means="The context was read from the old state; write first, then read.",
    nudge="At rate 1, asked with the key itself, the context should be the new value. Is it?",
)
def read_before_writing(query, key, value, rate, state):
    return query @ state, step(query, key, value, rate, state)[1]


@delta_step.misconception(
    means="The old value was looked up with the query; it is what the state holds under the key.",
    nudge="Whose value is replaced, that of the key or that of the query?",
)
def old_value_of_the_query(query, key, value, rate, state):
    return step(query, key, value, rate, state, old=query @ state)


@delta_step.misconception(
    means="The difference was written under the query; it belongs under the key.",
    nudge="Which of query and key stores, and which asks?",
)
def written_under_the_query(query, key, value, rate, state):
    new = state + rate * np.outer(query, value - key @ state)
    return query @ new, new


@delta_step.misconception(
    means="The context was read with the key; the query asks.",
    nudge="Which of query and key stores, and which asks?",
)
def read_with_the_key(query, key, value, rate, state):
    new = step(query, key, value, rate, state)[1]
    return key @ new, new


@delta_step.misconception(
    means="The sign is wrong: the state moves away from the new value.",
    nudge="What should keyᵀ state be closer to after the step, and which difference leads there?",
)
def sign_wrong(query, key, value, rate, state):
    return step(query, key, value, rate, state, write=-rate)


@delta_step.misconception(
    means="The old value is added instead of subtracted.",
    nudge="If the state holds the right value already, how much should be written?",
)
def old_value_added(query, key, value, rate, state):
    return step(query, key, value, rate, state, old=-(key @ state))


@delta_step.misconception(
    means="Query and key went through the feature map. The delta rule uses them as they are.",
    nudge="Is there a φ in the formula of this exercise?",
)
def feature_map_used(query, key, value, rate, state):
    return step(phi(query), phi(key), value, rate, state)


@delta_step.misconception(
    means="The result is the new state, right, but the old one is returned: nothing is stored for the next step.",
    nudge="Which state does the next token need?",
)
def old_state_returned(query, key, value, rate, state):
    return step(query, key, value, rate, state)[0], state


@delta_step.misconception(
    means="Only what is written is returned as the state; it should be added to what was there.",
    nudge="What becomes of the values of all the other keys?",
)
def old_state_dropped(query, key, value, rate, state):
    return step(query, key, value, rate, state, keep=0.0)


@delta_step.misconception(
    means="Context and state come back in each other's place.",
    nudge="In which order does the docstring list what is returned?",
)
def results_exchanged(query, key, value, rate, state):
    context, new = step(query, key, value, rate, state)
    return new, context


@delta_step.misconception(
    means="Only the context is returned; the next step needs the new state as well.",
    nudge="How many things does the docstring's Returns part list?",
)
def context_only(query, key, value, rate, state):
    return step(query, key, value, rate, state)[0]


@delta_step.misconception(
    means="Only the state is returned; the context, queryᵀ state, comes first.",
    nudge="How many things does the docstring's Returns part list?",
)
def state_only(query, key, value, rate, state):
    return step(query, key, value, rate, state)[1]


@delta_step.misconception(
    means="The state is multiplied from the wrong side: keyᵀ state adds over the rows, one for each number of the key.",
    nudge="(d_k,) and (d_k, d_v): on which side of `@` does the key stand?",
    raises=ValueError,
)
def state_times_key(query, key, value, rate, state):
    return step(query, key, value, rate, state, old=state @ key)


@delta_step.misconception(
    means="The outer product is the wrong way round; the state has the shape (d_k, d_v).",
    nudge="In which order do key and difference go into `np.outer`?",
    raises=ValueError,
)
def outer_product_turned(query, key, value, rate, state):
    new = state + rate * np.outer(value - key @ state, key)
    return query @ new, new


@delta_step.misconception(
    means="The scores are scaled by √d_k. The delta rule has no such scale.",
    nudge="Look at the formula: is there a root in it?",
)
def scaled(query, key, value, rate, state):
    context, new = step(query, key, value, rate, state)
    return context / len(query) ** 0.5, new


@delta_step.misconception(
    means="The rate was applied twice.",
    nudge="How many times does the rate occur in the formula? What is written at rate ½?",
)
def rate_twice(query, key, value, rate, state):
    return step(query, key, value, rate, state, write=rate * rate)


@delta_step.misconception(
    means="The context was divided. The delta rule has no denominator: the context is queryᵀ state.",
    nudge="Is there a total to divide by in this exercise?",
)
def context_divided(query, key, value, rate, state):
    context, new = step(query, key, value, rate, state)
    return context / np.abs(query).sum(), new


@delta_step.misconception(
    means="The old state is missing from the context: it was read from what is written alone.",
    nudge="From which state should the query read, the new one or the change?",
)
def read_from_the_change(query, key, value, rate, state):
    return step(query, key, value, rate, state, keep=0.0)[0], step(query, key, value, rate, state)[1]


@delta_step.misconception(
    means="The state is a gate's and a sum's: faded by the rate, with the whole pair added.",
    nudge="Which part of the state should be unchanged: what other keys (at right angles to this one) hold?",
)
def fades_by_the_rate(query, key, value, rate, state):
    new = rate * state + np.outer(key, value)
    return query @ new, new


@delta_step.misconception(
    means="The old value is taken out, but the new one is not written.",
    nudge="What should keyᵀ state be after a step at rate 1?",
)
def only_erases(query, key, value, rate, state):
    return step(query, key, 0 * value, rate, state)


@delta_step.misconception(
    means="The whole state was subtracted from the value, row by row; only what it holds under the key counts, keyᵀ state.",
    nudge="What is the shape of value − keyᵀ state? It should be (d_v,).",
)
def whole_state_subtracted(query, key, value, rate, state):
    new = state + rate * key[:, None] * (value - state)
    return query @ new, new


@delta_step.misconception(
    means="Query and key went through the feature map, and the context was divided. The delta rule has neither.",
    nudge="Is there a φ or a denominator in the formula of this exercise?",
)
def as_linear_attention(query, key, value, rate, state):
    context, new = step(phi(query), phi(key), value, rate, state)
    return context / (phi(query) @ phi(key)), new


@delta_step.common_mistake
def extra_axis(query, key, value, rate, state):
    context, new = step(query, key, value, rate, state)
    return context[None], new


@delta_step.common_mistake
def returns_nothing(query, key, value, rate, state):
    return None


@delta_step.combined_misconception(plain_sum, read_before_writing)
def sum_read_before(query, key, value, rate, state):
    return query @ state, step(query, key, value, rate, state, old=0)[1]


@delta_step.combined_misconception(no_rate, read_before_writing)
def no_rate_read_before(query, key, value, rate, state):
    return query @ state, step(query, key, value, rate, state, write=1)[1]


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
    new = np.array([row + rate * number * difference for row, number in zip(state, key, strict=True)])
    return query.dot(new), new


@delta_step.variant
def key_made_unit_again(query, key, value, rate, state):
    key = key / np.linalg.norm(key)
    new = state - rate * np.outer(key, key @ state - value)
    return query @ new, new
