"""The exercise `choose`: a temperature, a softmax, and a random number."""

import numpy as np

from autograder.authoring import Exercise, inputs

choose = Exercise("choose", points=2)


def shares(logits, temperature=1.0):
    scaled = np.asarray(logits) / temperature
    e = np.exp(scaled - scaled.max())
    return e / e.sum()


def token_of(probabilities, uniform):
    return int(min(np.searchsorted(np.cumsum(probabilities), uniform, side="right"), len(probabilities) - 1))


def asked(rng, logits, temperature, token=None):
    """With a `uniform` well inside a token's interval, so that rounding decides nothing."""
    p = shares(logits, temperature or 1.0)
    token = int(rng.choice(len(p), p=p)) if token is None else token
    return inputs(logits, temperature, float(p[:token].sum() + p[token] * rng.uniform(0.2, 0.8)))


@choose.domain(
    sizes={"vocabulary": (1, 300)},
    flags={"temperature": (1.0, 0.5, 2.0, 0.05, 0)},
    magnitudes=(1.5, 1000.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, vocabulary, temperature, magnitude):
    return asked(rng, magnitude * rng.normal(size=vocabulary), temperature)


def spread(rng, size=12):
    """Logits whose largest is neither first nor last; their order is drawn."""
    return rng.permutation(np.linspace(-1.2, 1.2, size)) + 0.02 * rng.normal(size=size)


@choose.case("the notebook's example: probabilities 0.1, 0.6 and 0.3, `uniform` 0.35")
def example(rng):
    return inputs(np.log([1.0, 6.0, 3.0]), 1.0, 0.35)


@choose.case("the same probabilities, `uniform` 0.8")
def example_last(rng):
    return inputs(np.log([1.0, 6.0, 3.0]), 1.0, 0.8)


@choose.case("the same probabilities, `uniform` 0")
def example_first(rng):
    return inputs(np.log([1.0, 6.0, 3.0]), 1.0, 0.0)


@choose.case("temperature 0")
def cold(rng):
    z = spread(rng)
    while True:
        uniform = float(rng.uniform(0.05, 0.95))
        others = token_of(shares(z), uniform), int(uniform * len(z)), int(z.argmin()), int(z.argmax())
        if len(set(others)) == len(others):
            return inputs(z, 0, uniform)


@choose.case("temperature 0 and large logits, all of them negative")
def cold_and_negative(rng):
    return inputs(spread(rng) * 100 - 500, 0, float(rng.uniform(0.05, 0.95)))


@choose.case("temperature 0 and two nearly equal logits")
def cold_and_close(rng):
    z = spread(rng)
    second, highest = np.argsort(z)[-2:]
    z[highest] = z[second] + 1e-4
    p = shares(z, 1e-3)  # nearly a half for each of the two
    first = min(second, highest)
    uniform = 0.27 if first == second else 0.73
    return inputs(z, 0, float(uniform * p.sum()))


def apart(rng, temperature, size=40):
    """Logits and a `uniform` for which a slip in temperature or order leads to another token."""
    while True:
        z = spread(rng, size)
        one = asked(rng, z, temperature, int(rng.integers(size // 4, size - size // 4)))
        uniform = one.args[2]
        right = token_of(shares(z, temperature), uniform)
        others = {
            token_of(shares(z), uniform),
            token_of(shares(z, 1 / temperature), uniform),
            token_of(shares(z, temperature**2), uniform),
            token_of(shares(z, temperature**0.5), uniform),
            int(z.argmax()),
            int(uniform * size),
        }
        if right not in others and len(others) >= 4:
            return one


@choose.case("a high temperature")
def hot(rng):
    return apart(rng, 3.0)


@choose.case("a low temperature")
def cool(rng):
    return apart(rng, 0.4)


@choose.case("another low temperature, another `uniform`")
def cooler(rng):
    return apart(rng, 0.3)


@choose.case("many tokens")
def many(rng):
    return asked(rng, rng.normal(size=200), 1.0)


@choose.case("logits near 1000")
def far(rng):
    z = spread(rng)
    token = next(int(n) for n in np.argsort(z)[-2::-1] if 0 < n < len(z) - 1)
    return asked(rng, z + 1000, 1.0, token)


@choose.case("two tokens of probability 0 come first, `uniform` 0")
def none_before(rng):
    z = spread(rng)
    z[:2] -= 3000  # their exponentials are exactly 0, so that rounding decides nothing
    return inputs(z, 1.0, 0.0)


# Temperature.


@choose.misconception(
    means="Your token is always the one with the largest logit; only at temperature 0 is that asked for.",
    nudge="Where does your code use `uniform`? One number that is added to all the logits alike moves none of them ahead.",
)
def always_the_largest(logits, temperature, uniform):
    return int(np.argmax(logits))


@choose.misconception(
    means="Every temperature below 1 is treated as if it were 0.",
    nudge="What does `int(0.5)` give? Which comparison asks for exactly 0?",
)
def cold_below_one(logits, temperature, uniform):
    return int(np.argmax(logits)) if temperature < 1 else token_of(shares(logits, temperature), uniform)


@choose.misconception(
    means="The temperature makes no difference, except where it is 0.",
    nudge="What are the logits divided by before the softmax?",
)
def temperature_ignored(logits, temperature, uniform):
    return int(np.argmax(logits)) if temperature == 0 else token_of(shares(logits), uniform)


@choose.misconception(
    means="At temperature 0 you divide by a small number, such as 0.001. Two nearly equal logits then both have a chance.",
    nudge="Which token is right at temperature 0 if the largest logit is larger by 0.0001 only?",
)
def small_number_for_0(logits, temperature, uniform):
    return token_of(shares(logits, max(temperature, 1e-3)), uniform)


@choose.misconception(
    means="The temperature makes no difference, not even where it is 0.",
    nudge="What are the logits divided by, and what if that is 0?",
)
def temperature_never_used(logits, temperature, uniform):
    return token_of(shares(logits), uniform)


@choose.misconception(
    means="You multiplied the logits by the temperature, so that a high one makes the choice surer.",
    nudge="Should a high temperature make the probabilities more alike or less?",
)
def multiplied_by_the_temperature(logits, temperature, uniform):
    return int(np.argmax(logits)) if temperature == 0 else token_of(shares(logits, 1 / temperature), uniform)


@choose.misconception(
    means="You multiplied the logits by the temperature; at temperature 0 all probabilities are then equal.",
    nudge="Should a high temperature make the probabilities more alike or less?",
)
def multiplied_even_by_zero(logits, temperature, uniform):
    return token_of(shares(np.asarray(logits) * temperature), uniform)


@choose.misconception(
    means="You divided the probabilities by the temperature, after the softmax.",
    nudge="To what do probabilities add up if each is divided by 2? The temperature belongs before the softmax.",
)
def temperature_after_the_softmax(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return token_of(shares(logits) / temperature, uniform)


@choose.misconception(
    means="Temperature 0 is not treated apart: something is divided by 0.",
    nudge="What should happen at temperature 0, before anything is divided?",
)
def divided_by_zero(logits, temperature, uniform):
    with np.errstate(all="ignore"):
        z = np.asarray(logits) / np.float64(temperature)
        return token_of(shares(z), uniform)


@choose.misconception(
    means="At temperature 0 you took the smallest logit, or the last in an order.",
    nudge="At temperature 0 the most likely token is chosen.",
)
def smallest_when_cold(logits, temperature, uniform):
    return int(np.argmin(logits)) if temperature == 0 else token_of(shares(logits, temperature), uniform)


@choose.misconception(
    means="At temperature 0 you chose as at temperature 1.",
    nudge="At temperature 0 the most likely token is chosen, whatever `uniform` is.",
)
def cold_as_if_one(logits, temperature, uniform):
    return token_of(shares(logits, temperature or 1.0), uniform)


# The softmax.


@choose.misconception(
    means="The exponentials overflow for large logits: subtract the largest one first.",
    nudge="What is e to the power 1000 for NumPy, and what changes if all logits get smaller by the same amount?",
)
def no_maximum_subtracted(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    with np.errstate(all="ignore"):
        e = np.exp(np.asarray(logits) / temperature)
        return token_of(e / e.sum(), uniform)


@choose.misconception(
    means="You added up exponentials that were never divided by their sum.",
    nudge="What should the last of the cumulative sums be?",
)
def never_divided_by_the_sum(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    z = np.asarray(logits) / temperature
    return token_of(np.exp(z - z.max()), uniform)


@choose.misconception(
    means="You divided the logits by their sum; probabilities come from a softmax.",
    nudge="What if a logit is negative?",
)
def no_exponentials(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    z = np.asarray(logits) / temperature
    return token_of(z / z.sum(), uniform)


# Choosing.


@choose.misconception(
    means="You took the first token whose own probability exceeds `uniform`; the cumulative sums are what counts.",
    nudge="Where does the interval of the third token begin?",
)
def not_cumulated(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return int(np.argmax(shares(logits, temperature) > uniform))


@choose.misconception(
    means="You rounded the probabilities before you summed them, so the intervals moved.",
    nudge="How often is a token chosen whose probability is 0.004? Round numbers only when you print them.",
)
def rounded_probabilities(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return token_of(np.round(shares(logits, temperature), 2), uniform)


@choose.misconception(
    means="You chose the token whose probability is nearest to `uniform`.",
    nudge="A token with twice the probability should be chosen twice as often. How long is its interval?",
)
def nearest_probability(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return int(np.argmin(np.abs(shares(logits, temperature) - uniform)))


@choose.misconception(
    means="You chose the token whose cumulative probability is nearest to `uniform`.",
    nudge="Does an interval lie before or around the place where it ends?",
)
def nearest_end(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return int(np.argmin(np.abs(np.cumsum(shares(logits, temperature)) - uniform)))


@choose.misconception(
    means="You took the token before the one whose interval holds `uniform`.",
    nudge="Of the cumulative probabilities, is it the first above `uniform` that counts, or the last below it?",
)
def one_too_early(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return max(token_of(shares(logits, temperature), uniform) - 1, 0)


@choose.misconception(
    means="You took the token after the one whose interval holds `uniform`.",
    nudge="Of three tokens with probabilities 0.1, 0.6 and 0.3, which is chosen by 0.35?",
)
def one_too_late(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return min(token_of(shares(logits, temperature), uniform) + 1, len(logits) - 1)


@choose.misconception(
    means="You put the tokens in order of their probability first, and counted intervals in that order; "
    "here they stand in the order of the vocabulary.",
    nudge="Is there a sort too many?",
)
def sorted_first(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    order = np.argsort(logits)[::-1]
    return int(order[token_of(shares(logits, temperature)[order], uniform)])


@choose.misconception(
    means="You sorted the probabilities and returned a place in that order, which is no token's number.",
    nudge="Is there a sort too many?",
)
def place_in_the_order(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return token_of(np.sort(shares(logits, temperature))[::-1], uniform)


@choose.misconception(
    means="You measured the intervals from the far end: 1 − `uniform` decides.",
    nudge="The first token's interval begins at 0.",
)
def from_the_far_end(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return token_of(shares(logits, temperature), 1 - uniform)


@choose.misconception(
    means="You chose as if all tokens were equally likely.",
    nudge="What have the logits to do with how long an interval is?",
)
def all_alike(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return int(uniform * len(logits))


@choose.misconception(
    means="You returned the cumulative probability at which you stopped. Expected is the number of the token.",
    nudge="Which function tells *where* something is, not what it is?",
)
def the_sum_for_the_token(logits, temperature, uniform):
    p = shares(logits, temperature or 1.0)
    if temperature == 0:
        return float(p.max())
    return float(np.cumsum(p)[token_of(p, uniform)])


@choose.misconception(
    means="You returned the logit of the chosen token. Expected is the number of the token.",
    nudge="Which function tells *where* something is, not what it is?",
)
def the_logit_for_the_token(logits, temperature, uniform):
    if temperature == 0:
        return float(np.max(logits))
    return float(logits[token_of(shares(logits, temperature), uniform)])


@choose.misconception(
    means="A token of probability 0 can be chosen: your stretches include their right end and not their left one, or a "
    "small number was added to the probabilities.",
    nudge="Which end of a stretch belongs to it? With `uniform` 0, may the first token be taken if its probability is "
    "0? Compare `>` and `>=`, or the two sides of `np.searchsorted`.",
)
def right_end_included(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    ends = np.cumsum(shares(logits, temperature))
    return int(min(np.searchsorted(ends, uniform, side="left"), len(ends) - 1))


@choose.combined_misconception(multiplied_by_the_temperature, from_the_far_end)
def multiplied_from_the_far_end(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    return token_of(shares(logits, 1 / temperature), 1 - uniform)


@choose.combined_misconception(multiplied_by_the_temperature, sorted_first)
def multiplied_and_sorted(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    order = np.argsort(logits)[::-1]
    return int(order[token_of(shares(logits, 1 / temperature)[order], uniform)])


@choose.combined_misconception(temperature_ignored, sorted_first)
def temperature_ignored_and_sorted(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    order = np.argsort(logits)[::-1]
    return int(order[token_of(shares(logits)[order], uniform)])


@choose.misconception(
    means="At temperature 0 you returned the largest logit itself. Expected is its position, the number of the token.",
    nudge="Which function tells *where* the largest number stands?",
)
def largest_logit_when_cold(logits, temperature, uniform):
    if temperature == 0:
        return float(np.max(logits))
    return token_of(shares(logits, temperature), uniform)


@choose.misconception(
    means="At temperature 0 you returned the largest logit itself, converted to a whole number. Expected is its "
    "position, the number of the token.",
    nudge="Which function returns the *position* of the largest number?",
)
def largest_logit_cut_off_when_cold(logits, temperature, uniform):
    if temperature == 0:
        return int(np.max(logits))
    return token_of(shares(logits, temperature), uniform)


@choose.combined_misconception(largest_logit_cut_off_when_cold, no_maximum_subtracted)
def logit_when_cold_and_no_maximum(logits, temperature, uniform):
    if temperature == 0:
        return int(np.max(logits))
    return no_maximum_subtracted(logits, temperature, uniform)


@choose.combined_misconception(largest_logit_when_cold, no_maximum_subtracted)
def float_logit_when_cold_and_no_maximum(logits, temperature, uniform):
    if temperature == 0:
        return float(np.max(logits))
    return no_maximum_subtracted(logits, temperature, uniform)


# Other right answers, which must pass.


@choose.variant
def a_loop(logits, temperature, uniform):
    if temperature == 0:
        return max(range(len(logits)), key=lambda token: logits[token])
    total = 0.0
    for token, share in enumerate(shares(logits, temperature)):
        total += share
        if uniform < total:
            return token
    return len(logits) - 1


@choose.misconception(
    means="You return the probability of the token; the result should be the number of the token.",
    nudge="Which is the index here, and which is the value at that index?",
)
def probability_for_number(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    p = shares(logits, temperature)
    return float(p[token_of(p, uniform)])


@choose.variant
def hardly_above_zero(logits, temperature, uniform):
    z = (np.asarray(logits, dtype=np.float64) - np.max(logits)) / max(temperature, 1e-6)
    return token_of(shares(z), uniform)


@choose.variant
def first_true(logits, temperature, uniform):
    if temperature == 0:
        return np.argmax(logits)
    return np.argmax(np.cumsum(shares(logits, temperature)) > uniform)


@choose.variant
def counted(logits, temperature, uniform):
    if not temperature:
        return int(logits.argmax())
    return int((np.cumsum(shares(logits, temperature)) <= uniform).sum())


@choose.variant
def scaled_up(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argsort(logits)[-1])
    e = np.exp((logits - logits.max()) / temperature)
    ends = e.cumsum()
    return int(np.searchsorted(ends, uniform * ends[-1], side="right"))
