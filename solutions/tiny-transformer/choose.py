"""The exercise `choose`: a temperature, a softmax, and a random number."""

import numpy as np

from autograder.authoring import Exercise, inputs

choose = Exercise("choose", points=2)


def shares(logits, temperature=1.0):
    scaled = np.asarray(logits) / temperature
    e = np.exp(scaled - scaled.max())
    return e / e.sum()


def token_of(probabilities, uniform):
    return int(
        min(
            np.searchsorted(np.cumsum(probabilities), uniform, side="right"), len(probabilities) - 1
        )
    )


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
        others = (
            token_of(shares(z), uniform),
            int(uniform * len(z)),
            int(z.argmin()),
            int(z.argmax()),
        )
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


@choose.slips("""
    always_the_largest: Your token is always the one with the largest logit; only at temperature 0 is
        that asked for.
        Hint: Where does your code use `uniform`? One number that is added to all the logits alike moves
        none of them ahead.
    cold_below_one: Every temperature below 1 is treated as if it were 0.
        Hint: What does `int(0.5)` give? Which comparison asks for exactly 0?
    temperature_ignored: The temperature makes no difference, except where it is 0.
        Hint: What are the logits divided by before the softmax?
    small_number_for_0: At temperature 0 you divide by a small number, such as 0.001. Two nearly equal
        logits then both have a chance.
        Hint: Which token is right at temperature 0 if the largest logit is larger by 0.0001 only?
    temperature_never_used: The temperature makes no difference, not even where it is 0.
        Hint: What are the logits divided by, and what if that is 0?
    multiplied_by_the_temperature: You multiplied the logits by the temperature, so that a high one makes
        the choice surer.
        Hint: Should a high temperature make the probabilities more alike or less?
    multiplied_even_by_zero: You multiplied the logits by the temperature; at temperature 0 all
        probabilities are then equal.
        Hint: Should a high temperature make the probabilities more alike or less?
    temperature_after_the_softmax: You divided the probabilities by the temperature, after the softmax.
        Hint: To what do probabilities add up if each is divided by 2? The temperature belongs before the
        softmax.
    divided_by_zero: At temperature 0 your function gives token 0, whatever the logits are. Either
        it returns 0 itself, or the logits are divided by 0, and all probabilities are nan.
        Hint: At temperature 0, before anything is divided: which token has the largest logit?
    smallest_when_cold: At temperature 0 you took the smallest logit, or the last in an order.
        Hint: At temperature 0 the most likely token is chosen.
    cold_as_if_one: At temperature 0 you chose as at temperature 1.
        Hint: At temperature 0 the most likely token is chosen, whatever `uniform` is.
    no_maximum_subtracted: For large logits `np.exp` gives inf. Subtract the largest logit from all logits
        before `np.exp`.
        Hint: What is e to the power 1000 for NumPy, and what changes if all logits get smaller by the
        same amount?
    never_divided_by_the_sum: You added up exponentials that were never divided by their sum.
        Hint: What should the last of the cumulative sums be?
    no_exponentials: You divided the logits by their sum; probabilities come from a softmax.
        Hint: What if a logit is negative?
    not_cumulated: You took the first token whose own probability exceeds `uniform`; the cumulative sums
        are what counts.
        Hint: Where does the interval of the third token begin?
    rounded_probabilities: You rounded the probabilities before you summed them, so the intervals moved.
        Hint: How often is a token chosen whose probability is 0.004? Round numbers only when you print
        them.
    nearest_probability: You chose the token whose probability is nearest to `uniform`.
        Hint: A token with twice the probability should be chosen twice as often. How long is its
        interval?
    nearest_end: You chose the token whose cumulative probability is nearest to `uniform`.
        Hint: Does an interval lie before or around the place where it ends?
    one_too_early: You took the token before the one whose interval holds `uniform`.
        Hint: Of the cumulative probabilities, is it the first above `uniform` that counts, or the last
        below it?
    one_too_late: You took the token after the one whose interval holds `uniform`.
        Hint: Of three tokens with probabilities 0.1, 0.6 and 0.3, which is chosen by 0.35?
    compared_before_the_addition: You compare the sum before the token's own probability is added,
        so each choice is one token too late.
        Hint: Which probabilities are in the sum when token 0 is judged?
    sorted_first: You put the tokens in order of their probability first, and counted intervals in that
        order; here they stand in the order of the vocabulary.
        Hint: Is there a sort too many?
    place_in_the_order: You sorted the probabilities and returned a place in that order, which is no
        token's number.
        Hint: Is there a sort too many?
    from_the_far_end: You measured the intervals from the far end: 1 − `uniform` decides.
        Hint: The first token's interval begins at 0.
    all_alike: You chose as if all tokens were equally likely.
        Hint: What have the logits to do with how long an interval is?
    the_sum_for_the_token: You returned the cumulative probability at which you stopped. Expected is the
        number of the token.
        Hint: Which function tells *where* something is, not what it is?
    the_logit_for_the_token: You returned the logit of the chosen token. Expected is the number of the
        token.
        Hint: Which function tells *where* something is, not what it is?
    right_end_included: Your function can choose a token of probability 0. Either an interval contains its
        right end and not its left one, or a small number was added to the probabilities.
        Hint: Which end should an interval contain, the left or the right? With `uniform` 0, may the
        first token be taken if its probability is 0? Compare `>` and `>=`, or side="left"
        and side="right" of `np.searchsorted`.
    largest_logit_when_cold: At temperature 0 you returned the largest logit itself. Expected is its
        position, the number of the token.
        Hint: Which function tells *where* the largest number stands?
    largest_logit_cut_off_when_cold: At temperature 0 you returned the largest logit itself, converted to
        a whole number. Expected is its position, the number of the token.
        Hint: Which function returns the *position* of the largest number?
    probability_for_number: You return the probability of the token; the result should be the number of
        the token.
        Hint: Which is the index here, and which is the value at that index?
""")
def choose_with_slips(slip, logits, temperature, uniform):
    cold = temperature == 0
    if slip.cold_below_one:
        cold = temperature < 1
    if slip.always_the_largest:
        cold = True
    if slip.small_number_for_0:
        cold, temperature = False, max(temperature, 1e-3)
    if slip.temperature_never_used:
        cold, temperature = False, 1.0
    if slip.cold_as_if_one:
        cold, temperature = False, temperature or 1.0
    if slip.divided_by_zero:
        cold, temperature = False, np.float64(temperature)
    if slip.multiplied_even_by_zero:
        cold, logits, temperature = False, logits * temperature, 1.0
    if cold:
        if slip.largest_logit_when_cold or slip.the_logit_for_the_token:
            return float(np.max(logits))
        if slip.the_sum_for_the_token:
            return float(shares(logits).max())
        return int(
            slip.choose(
                np.argmax(logits),
                smallest_when_cold=np.argmin(logits),
                largest_logit_cut_off_when_cold=np.max(logits),
            )
        )

    divisor = slip.choose(
        temperature,
        temperature_ignored=1.0,
        temperature_after_the_softmax=1.0,
        multiplied_by_the_temperature=1 / temperature,
    )
    z = np.asarray(logits) / divisor
    e = np.exp(slip.choose(z - z.max(), no_maximum_subtracted=z))
    p = slip.choose(
        e / e.sum(),
        never_divided_by_the_sum=e,
        no_exponentials=z / z.sum(),
        temperature_after_the_softmax=e / e.sum() / temperature,
    )
    if slip.rounded_probabilities:
        p = np.round(p, 2)
    order = np.arange(len(p))
    if slip.sorted_first:
        order = np.argsort(logits)[::-1]
        p = p[order]
    if slip.place_in_the_order:
        p = np.sort(p)[::-1]

    ends = np.cumsum(p)
    if slip.not_cumulated:
        return int(np.argmax(p > uniform))
    if slip.nearest_probability:
        return int(np.argmin(np.abs(p - uniform)))
    if slip.nearest_end:
        return int(np.argmin(np.abs(ends - uniform)))
    if slip.all_alike:
        return int(uniform * len(p))
    if slip.from_the_far_end:
        uniform = 1 - uniform
    side = slip.choose("right", right_end_included="left")
    place = int(min(np.searchsorted(ends, uniform, side=side), len(p) - 1))
    if slip.compared_before_the_addition and place == len(p) - 1:
        return None  # the loop ends without a choice
    place = slip.choose(
        place,
        compared_before_the_addition=place + 1,
        one_too_early=max(place - 1, 0),
        one_too_late=min(place + 1, len(p) - 1),
    )
    token = int(order[place])
    return slip.choose(
        token,
        the_sum_for_the_token=float(ends[place]),
        the_logit_for_the_token=float(logits[token]),
        probability_for_number=float(p[place]),
    )


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
