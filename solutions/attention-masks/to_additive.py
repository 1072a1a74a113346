"""The exercise `to_additive`: a boolean mask as numbers to add to the scores."""

import numpy as np

from attention_labs.comparers import weights_it_leads_to
from autograder.authoring import Exercise, inputs, sizes

from ._shared import some_allowed, some_lengths
from .padding_mask import padding_mask

to_additive = Exercise("to_additive", points=2, view=weights_it_leads_to, exact_dtype=True)


@to_additive.domain(
    sizes={"batch": (1, 60), "L_q": (1, 60), "L_k": (1, 60)},
    flags={"axes": (3, 2, 4), "dtype": (np.float64, np.float32, np.float16)},
)
def anywhere(rng, batch, L_q, L_k, axes, dtype):
    return inputs(some_allowed(rng, *[2, batch, L_q, L_k][-axes:]), dtype=dtype)


@to_additive.case("a causal mask, no dtype given")
def causal_by_default(rng):
    return inputs(np.tri(4, dtype=bool))


@to_additive.case("a mask of any pattern, in float64")
def pattern_64(rng):
    return inputs(some_allowed(rng, *sizes(rng, 2, low=4)), dtype=np.float64)


@to_additive.case("a padding mask (batch, 1, L_k), in float32")
def padding_32(rng):
    batch, size = sizes(rng, 2, low=3)
    return inputs(padding_mask.reference(some_lengths(rng, batch, size), size), dtype=np.float32)


@to_additive.case("a causal and a padding mask together, in float32")
def both_32(rng):
    batch, size = sizes(rng, 2, low=3)
    return inputs(
        padding_mask.reference(some_lengths(rng, batch, size), size) & np.tri(size, dtype=bool),
        dtype=np.float32,
    )


@to_additive.case("a mask of any pattern, in float16")
def pattern_16(rng):
    return inputs(some_allowed(rng, *sizes(rng, 2, low=4)), dtype=np.float16)


@to_additive.case("a padding mask (batch, 1, L_k), in float16")
def padding_16(rng):
    batch, size = sizes(rng, 2, low=3)
    return inputs(padding_mask.reference(some_lengths(rng, batch, size), size), dtype=np.float16)


@to_additive.slips("""
    minus_1e9_in_float16: In float16 -1e9 becomes -inf. For a visible key you compute 0 × -inf, which is
        NaN (not a number) instead of 0.
        Hint: The lowest number in float16 is -65504. Choose 0 or the lowest number for each key; do not multiply.
    ignores_dtype: The numbers are fine, but the result always has one and the same dtype, whatever
        `dtype` says.
        Hint: Adding a float64 mask turns float16 scores into float64. Where does your code use `dtype`?
    inverted_additive: You hid the positions that may be attended to, and kept the others: the mask is
        inverted.
        Hint: True means “may attend”. What should be added to a score that may stay as it is?
    zeros_and_ones: You add 1 where attention is allowed and 0 where not: that favours a little, and
        hides nothing.
        Hint: Which number, added to a score, makes its exponential vanish?
    minus_one: You add -1 at the hidden positions, but exp(-1) is 0.37: they keep much of their weight.
        Hint: Which number, added to a score, makes its exponential vanish?
    too_small_a_number: -10 is not low enough: exp(-10) is 0.00005, so a little of what is hidden leaks
        through.
        Hint: How low can a number of this dtype go? `np.finfo(dtype)` tells you.
    low_enough_for_ordinary_scores: Your number is low enough for ordinary scores, but not for large ones:
        a hidden score of 1000 plus your number must stay far below a visible score of -1000.
        Hint: A hidden score can be 2000 larger than a visible one. How low can a number of this
        dtype go? `np.finfo(dtype)` tells you.
    something_for_the_allowed_too: You add something to the keys that may be attended to as well; their
        scores should stay as they are.
        Hint: Which number can be added to a score without changing it?
    nearly_zero_for_the_allowed: You add a tiny number to the keys that may be attended to; it should be
        exactly 0.
        Hint: Which number can be added to a score without changing it?
    plus_infinity: You add +inf at the hidden positions, and inf / inf is NaN in the whole row of
        weights.
        Hint: exp of which infinity is 0?
    multiplied_by_infinity: 0 × inf is NaN (not a number), so the keys that may be attended to get NaN.
        Hint: Choose 0 or the lowest number for each key with `np.where`; do not multiply by inf.
    hides_nothing: What you add at the hidden positions is 0 or next to it, so nothing is hidden
        (`np.finfo(dtype).tiny` and `.eps` are tiny positive numbers, not large negative ones).
        Hint: Print the number that you add: is it far below any score?
    wrong_sign: You add a large positive number at the hidden positions, and they win all of the weight.
        Hint: exp of a large positive number is huge. What sign makes it vanish?
    hides_with_nan: You add NaN at the hidden positions, and one NaN spreads over the whole row of
        weights.
        Hint: exp(NaN) is NaN. Which number has an exponential of 0?
    still_boolean: This is still the boolean mask; added to scores, True counts as 1 and False as 0.
        Hint: Which number should replace True, and which should replace False?
    whole_numbers: Your array holds whole numbers; scores are floating-point numbers of the type `dtype`.
        Hint: `astype(dtype)`, or `dtype=dtype` when you make the array, gives the type that is asked
        for.
    returns_a_list
    put_into_the_boolean_mask: You put the large number into the boolean mask itself. There it becomes
        True, so that 1 is added everywhere, and nothing is hidden.
        Hint: Which dtype does the array have into which you write the number? Make a new one for it.
    inverted_in_float64: There are two mistakes. You hid the positions that may be attended to, and kept
        the others: the mask is inverted. And the result always has one and the same dtype, whatever
        `dtype` says.
        Hint: True means “may attend”. What should be added to a score that may stay as it is?
    inverted_zeros_and_ones: You add 1 at the hidden positions and 0 at the others: that favours what
        should be hidden.
        Hint: Which number, added to a score, makes its exponential vanish, and at which positions do you
        need it?
    inverted_minus_one: You add -1 at the positions that may be attended to, and 0 at the hidden ones,
        which are favoured by that.
        Hint: Which number, added to a score, makes its exponential vanish, and at which positions do you
        need it?
    too_small_in_float64: There are two mistakes. -10 is not low enough: exp(-10) is 0.00005, so a little
        of what is hidden leaks through. And the result always has one and the same dtype, whatever
        `dtype` says.
        Hint: How low can a number of this dtype go? `np.finfo(dtype)` tells you.
""")
def to_additive_with_slips(slip, mask, dtype=np.float64):
    if slip.still_boolean:
        return mask
    if slip.put_into_the_boolean_mask:
        return np.ones(mask.shape, dtype)
    opposite = ~mask
    mask = slip.choose(
        mask,
        inverted_additive=opposite,
        inverted_in_float64=opposite,
        inverted_zeros_and_ones=opposite,
        inverted_minus_one=opposite,
    )
    if slip.zeros_and_ones or slip.inverted_zeros_and_ones:
        return mask.astype(dtype)
    if slip.minus_one or slip.inverted_minus_one:
        return mask.astype(dtype) - np.ones((), dtype)
    if slip.minus_1e9_in_float16:
        return (1 - mask.astype(dtype)) * np.asarray(-1e9).astype(dtype)
    if slip.multiplied_by_infinity:
        return ((1 - mask) * -np.inf).astype(dtype)
    limits = np.finfo(dtype)
    low = slip.choose(
        limits.min,
        too_small_a_number=-10,
        too_small_in_float64=-10,
        low_enough_for_ordinary_scores=-100,
        ignores_dtype=-1e9,
        inverted_in_float64=-1e9,
        whole_numbers=-(10**9),
        hides_nothing=limits.tiny,
        wrong_sign=limits.max,
        plus_infinity=np.inf,
        hides_with_nan=np.nan,
    )
    high = slip.choose(0, something_for_the_allowed_too=1.0, nearly_zero_for_the_allowed=1e-6)
    if slip.ignores_dtype or slip.inverted_in_float64 or slip.too_small_in_float64:
        dtype = np.float64
    if slip.whole_numbers:
        dtype = np.int64
    additive = np.where(mask, high, low).astype(dtype)
    if slip.returns_a_list:
        return additive.tolist()
    return additive


# Other right answers, which must pass.


@to_additive.variant
def where_lowest(mask, dtype=np.float64):
    return np.where(mask, 0, np.finfo(dtype).min).astype(dtype)


@to_additive.variant
def minus_infinity(mask, dtype=np.float64):
    return np.where(mask, 0.0, -np.inf).astype(dtype)


@to_additive.variant
def logarithm_of_the_mask(mask, dtype=np.float64):
    return np.log(mask.astype(dtype))


@to_additive.variant
def minus_ten_thousand(mask, dtype=np.float64):
    return ((1 - mask) * -1e4).astype(dtype)


@to_additive.variant
def minus_1e9_becomes_infinite_without_harm(mask, dtype=np.float64):
    return np.where(mask, 0.0, -1e9).astype(dtype)


@to_additive.variant
def constant_for_each_type(mask, dtype=np.float64):
    low = -6e4 if dtype == np.float16 else -1e9
    additive = np.full(mask.shape, low, dtype)
    additive[mask] = 0
    return additive


@to_additive.variant
def product_with_the_lowest(mask, dtype=np.float64):
    return (~mask).astype(dtype) * np.finfo(dtype).min


@to_additive.variant
def half_of_the_lowest(mask, dtype=np.float64):
    return np.array(np.select([mask, ~mask], [0.0, float(np.finfo(dtype).min) / 2]), dtype=dtype)
