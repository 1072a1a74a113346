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


# Mistakes.


@to_additive.misconception(
    means="In float16 -1e9 becomes -inf, and 0 × -inf is NaN (not a number) where nothing should happen.",
    nudge="float16 ends at ±65504. Choose 0 or the lowest number for each key; do not multiply.",
)
def minus_1e9_in_float16(mask, dtype=np.float64):
    return (1 - mask.astype(dtype)) * np.asarray(-1e9).astype(dtype)


@to_additive.misconception(
    means="The numbers are fine, but the result always has one and the same dtype, whatever `dtype` says.",
    nudge="Adding a float64 mask turns float16 scores into float64. Where does your code use `dtype`?",
)
def ignores_dtype(mask, dtype=np.float64):
    return np.where(mask, 0.0, -1e9)


@to_additive.misconception(
    means="You hid the positions that may be attended to, and kept the others: the mask is inverted.",
    nudge="True means “may attend”. What should be added to a score that may stay as it is?",
)
def inverted_additive(mask, dtype=np.float64):
    return np.where(mask, np.finfo(dtype).min, 0).astype(dtype)


@to_additive.misconception(
    means="You add 1 where attention is allowed and 0 where not: that favours a little, and hides nothing.",
    nudge="Which number, added to a score, makes its exponential vanish?",
)
def zeros_and_ones(mask, dtype=np.float64):
    return mask.astype(dtype)


@to_additive.misconception(
    means="You add -1 at the hidden positions, but exp(-1) is 0.37: they keep much of their weight.",
    nudge="Which number, added to a score, makes its exponential vanish?",
)
def minus_one(mask, dtype=np.float64):
    return mask.astype(dtype) - np.ones((), dtype)


@to_additive.misconception(
    means="-10 is not low enough: exp(-10) is 0.00005, so a little of what is hidden leaks through.",
    nudge="How low can a number of this dtype go? `np.finfo` knows.",
)
def too_small_a_number(mask, dtype=np.float64):
    return np.where(mask, 0, -10).astype(dtype)


@to_additive.misconception(
    means="Your number hides a key among ordinary scores only: a hidden score of 1000 would still win "
    "against a visible one of -1000.",
    nudge="Scores may lie 2000 apart. How low can a number of this dtype go? `np.finfo` knows.",
)
def low_enough_for_ordinary_scores(mask, dtype=np.float64):
    return np.where(mask, 0, -100).astype(dtype)


@to_additive.misconception(
    means="You add something to the keys that may be attended to as well; their scores should stay as they are.",
    nudge="Which number can be added to a score without changing it?",
)
def something_for_the_allowed_too(mask, dtype=np.float64):
    return np.where(mask, 1.0, np.finfo(dtype).min).astype(dtype)


@to_additive.misconception(
    means="You add a tiny number to the keys that may be attended to; it should be exactly 0.",
    nudge="Which number can be added to a score without changing it?",
)
def nearly_zero_for_the_allowed(mask, dtype=np.float64):
    return np.where(mask, 1e-6, np.finfo(dtype).min).astype(dtype)


@to_additive.misconception(
    means="You add +inf at the hidden positions, and inf / inf is NaN in the whole row of weights.",
    nudge="exp of which infinity is 0?",
)
def plus_infinity(mask, dtype=np.float64):
    return np.where(mask, 0, np.inf).astype(dtype)


@to_additive.misconception(
    means="0 × inf is NaN (not a number), so the keys that may be attended to get NaN.",
    nudge="Choose 0 or the lowest number for each key with `np.where`; do not multiply by inf.",
)
def multiplied_by_infinity(mask, dtype=np.float64):
    with np.errstate(all="ignore"):
        return ((1 - mask) * -np.inf).astype(dtype)


@to_additive.misconception(
    means="What you add at the hidden positions is 0 or next to it, so nothing is hidden "
    "(`np.finfo(dtype).tiny` and `.eps` are tiny positive numbers, not large negative ones).",
    nudge="Print the number that you add: is it far below any score?",
)
def hides_nothing(mask, dtype=np.float64):
    return np.where(mask, 0, np.finfo(dtype).tiny).astype(dtype)


@to_additive.misconception(
    means="You add a large positive number at the hidden positions, and they win all of the weight.",
    nudge="exp of a large positive number is huge. What sign makes it vanish?",
)
def wrong_sign(mask, dtype=np.float64):
    return np.where(mask, 0, np.finfo(dtype).max).astype(dtype)


@to_additive.misconception(
    means="You add NaN at the hidden positions, and one NaN spreads over the whole row of weights.",
    nudge="exp(NaN) is NaN. Which number has an exponential of 0?",
)
def hides_with_nan(mask, dtype=np.float64):
    return np.where(mask, 0, np.nan).astype(dtype)


@to_additive.misconception(
    means="This is still the boolean mask; added to scores, True counts as 1 and False as 0.",
    nudge="Which number should replace True, and which should replace False?",
)
def still_boolean(mask, dtype=np.float64):
    return mask


@to_additive.misconception(
    means="Your array holds whole numbers; scores are floating-point numbers of the type `dtype`.",
    nudge="`astype(dtype)`, or `dtype=dtype` when you make the array, gives the type that is asked for.",
)
def whole_numbers(mask, dtype=np.float64):
    return np.where(mask, 0, -(10**9))


@to_additive.common_mistake
def returns_a_list(mask, dtype=np.float64):
    return np.where(mask, 0, np.finfo(dtype).min).tolist()


@to_additive.misconception(
    means="You put the large number into the boolean mask itself. There it becomes True, so that 1 is added "
    "everywhere, and nothing is hidden.",
    nudge="Which dtype does the array have into which you write the number? Make a new one for it.",
)
def put_into_the_boolean_mask(mask, dtype=np.float64):
    return np.ones(mask.shape, dtype)


@to_additive.misconception(
    means="There are two mistakes. You hid the positions that may be attended to, and kept the others: the mask "
    "is inverted. And the result always has one and the same dtype, whatever `dtype` says.",
    nudge="True means “may attend”. What should be added to a score that may stay as it is?",
)
def inverted_in_float64(mask, dtype=np.float64):
    return np.where(mask, -1e9, 0.0)


@to_additive.misconception(
    means="You add 1 at the hidden positions and 0 at the others: that favours what should be hidden.",
    nudge="Which number, added to a score, makes its exponential vanish, and at which positions do you need it?",
)
def inverted_zeros_and_ones(mask, dtype=np.float64):
    return (~mask).astype(dtype)


@to_additive.misconception(
    means="You add -1 at the positions that may be attended to, and 0 at the hidden ones, which are favoured "
    "by that.",
    nudge="Which number, added to a score, makes its exponential vanish, and at which positions do you need it?",
)
def inverted_minus_one(mask, dtype=np.float64):
    return -mask.astype(dtype)


@to_additive.combined_misconception(inverted_additive, minus_1e9_in_float16)
def inverted_minus_1e9(mask, dtype=np.float64):
    return mask.astype(dtype) * np.asarray(-1e9).astype(dtype)


@to_additive.misconception(
    means="There are two mistakes. -10 is not low enough: exp(-10) is 0.00005, so a little of what is hidden "
    "leaks through. And the result always has one and the same dtype, whatever `dtype` says.",
    nudge="How low can a number of this dtype go? `np.finfo` knows.",
)
def too_small_in_float64(mask, dtype=np.float64):
    return np.where(mask, 0.0, -10.0)


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
