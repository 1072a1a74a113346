"""The exercise `softmax`: ordinary numbers, along any axis."""

import numpy as np

from attention_labs.comparers import no_negative_weight, sums_to_one
from autograder.authoring import Exercise, inputs, sizes

from . import _any_softmax
from ._shared import shares

softmax = Exercise("softmax", points=2, properties=[no_negative_weight, sums_to_one])


@softmax.domain(
    sizes={"blocks": (1, 60), "rows": (1, 60), "columns": (1, 60)},
    flags={"axis": (0, 1, 2, -1, -2, -3)},
    magnitudes=(2.0, 20.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, blocks, rows, columns, axis, magnitude):
    return inputs(rng.uniform(-magnitude, magnitude, size=(blocks, rows, columns)), axis=axis)


@softmax.case("the three scores of the notebook's example")
def three_scores(rng):
    return inputs(np.array([2.0, 1.0, 0.0]))


@softmax.case("three other scores")
def three_other_scores(rng):
    # The same shape as the example: a result that is remembered by its shape is wrong here.
    return inputs(rng.normal(size=3))


@softmax.case("a matrix, the axis left out (so axis 0, down the columns)")
def columns(rng):
    return inputs(rng.normal(size=sizes(rng, 2, 3)))


@softmax.case("along the rows of a matrix")
def rows(rng):
    return inputs(rng.normal(size=sizes(rng, 2, 3)), axis=1)


@softmax.case("along the rows of a square matrix")
def square_rows(rng):
    size = int(rng.integers(3, 7))
    return inputs(rng.normal(size=(size, size)), axis=1)


@softmax.case("along the middle axis of a 3-D array")
def middle_axis(rng):
    return inputs(rng.normal(size=sizes(rng, 3)), axis=1)


@softmax.case("along the last axis of a 3-D array, written axis=-1")
def last_axis(rng):
    return inputs(rng.normal(size=sizes(rng, 3)), axis=-1)


@softmax.case("along the first axis of a 4-D array")
def first_of_four(rng):
    return inputs(rng.normal(size=sizes(rng, 4, 2, 6)), axis=0)


@softmax.case("a matrix of float32 numbers, along its rows")
def single_precision(rng):
    return inputs(rng.normal(size=sizes(rng, 2, 3)).astype(np.float32), axis=1)


# Mistakes; first those that `stable_softmax` has too.


def plain(x, axis):
    return np.exp(x)


_mistakes = _any_softmax.add_to(softmax, exp=plain)


@softmax.misconception(
    means="You divided by the largest exponential instead of by their sum: "
    "the largest weight is 1, and their sum is larger than 1.",
    nudge="By what must you divide the exponentials so that they add up to 1?",
)
def divided_by_the_largest(x, axis=0):
    return np.exp(x) / np.exp(x).max(axis=axis, keepdims=True)


@softmax.misconception(
    means="You divided the numbers themselves by their sum: negative ones stay negative, "
    "and a sum near 0 blows up.",
    nudge="Which function makes every number positive before the division?",
)
def no_exponential(x, axis=0):
    return shares(x, axis)


@softmax.misconception(
    means="You squared the numbers where softmax takes their exponentials, so -2 counts as much as 2.",
    nudge="In the formula x is the exponent. What is NumPy's name for e to the power x?",
)
def squares(x, axis=0):
    return shares(x**2, axis)


@softmax.misconception(
    means="You used powers of 2; softmax uses powers of e = 2.718…, which tell the numbers further apart.",
    nudge="What is NumPy's name for e to the power x?",
)
def powers_of_two(x, axis=0):
    return shares(np.exp2(x), axis)


@softmax.common_mistake
def transposed(x, axis=0):
    return shares(np.exp(x), axis).T


@softmax.common_mistake
def modifies_argument(x, axis=0):
    x -= x.max(axis=axis, keepdims=True)
    return shares(np.exp(x), axis)


@softmax.common_mistake
def lower_precision(x, axis=0):
    return shares(np.exp(x), axis).astype(np.float32)


@softmax.common_mistake
def returns_a_list(x, axis=0):
    return shares(np.exp(x), axis).tolist()


@softmax.misconception(
    means="You divided the exponentials by the sum of the numbers themselves.",
    nudge="What must all the weights add up to? By what must you divide each exponential?",
)
def divided_by_the_sum_of_x(x, axis=0):
    return np.exp(x) / np.sum(x, axis=axis, keepdims=True)


@softmax.misconception(
    means="You divided first, and took the exponentials of the quotients.",
    nudge="In the formula, which comes first: the exponential or the division?",
)
def exponentials_of_shares(x, axis=0):
    return np.exp(shares(x, axis))


@softmax.combined_misconception(no_exponential, _mistakes["over_everything"])
def no_exponential_over_everything(x, axis=0):
    return shares(x, None)


@softmax.combined_misconception(no_exponential, _mistakes["always_axis_0"])
def no_exponential_axis_0(x, axis=0):
    return shares(x, 0)


@softmax.combined_misconception(powers_of_two, _mistakes["over_everything"])
def powers_of_two_over_everything(x, axis=0):
    return shares(np.exp2(x), None)


@softmax.misconception(
    means="You divided by the exponential of a sum, exp(x₁ + x₂ + …); divide by the sum of the exponentials.",
    nudge="In which order do sum and exponential come below the fraction line?",
)
def exponential_of_the_sum(x, axis=0):
    return np.exp(x) / np.exp(np.sum(x, axis=axis, keepdims=True))


@softmax.misconception(
    means="For axis 1 you transposed the matrix and did not transpose it back; for other axes you divide by the sums "
    "down axis 0.",
    nudge="What shape should come out when x has shape (2, 3)? Which argument of `np.sum` spares you the transpose?",
)
def transposed_for_axis_1_and_not_back(x, axis=0):
    return shares(np.exp(x.T if axis == 1 else x), 0)


@softmax.misconception(
    means="For an axis other than 0 you transposed the array and did not transpose it back.",
    nudge="What shape should come out when x has shape (2, 3)? Which argument of `np.sum` spares you the transpose?",
)
def transposed_and_not_back(x, axis=0):
    return shares(np.exp(x.T if axis else x), 0)


@softmax.misconception(
    means="You transpose for axis 1, and back again; every other axis is treated as axis 0.",
    nudge="How would you write it for an array of three axes? Which argument of `np.sum` spares you the transpose?",
)
def turned_for_axis_1_only(x, axis=0):
    return shares(np.exp(x.T), 0).T if axis == 1 else shares(np.exp(x), 0)


@softmax.combined_misconception(no_exponential, _mistakes["always_axis_1"])
def no_exponential_axis_1(x, axis=0):
    return shares(x, 1)


@softmax.combined_misconception(no_exponential, _mistakes["sums_without_their_axis"])
def no_exponential_and_no_axis(x, axis=0):
    return x / x.sum(axis=axis)


@softmax.combined_misconception(no_exponential, _mistakes["always_the_last_axis"])
def no_exponential_last_axis(x, axis=0):
    return shares(x, -1)


@softmax.combined_misconception(powers_of_two, _mistakes["always_axis_0"])
def powers_of_two_axis_0(x, axis=0):
    return shares(np.exp2(x), 0)


@softmax.combined_misconception(powers_of_two, _mistakes["sums_without_their_axis"])
def powers_of_two_and_no_axis(x, axis=0):
    return np.exp2(x) / np.exp2(x).sum(axis=axis)


@softmax.combined_misconception(_mistakes["minus_sign"], _mistakes["always_axis_0"])
def minus_sign_axis_0(x, axis=0):
    return shares(np.exp(-x), 0)


@softmax.combined_misconception(_mistakes["minus_sign"], _mistakes["sums_without_their_axis"])
def minus_sign_and_no_axis(x, axis=0):
    return np.exp(-x) / np.exp(-x).sum(axis=axis)


@softmax.misconception(
    means="You took e to the power x, less 1: `np.expm1`, or a 1 subtracted. A score of 0 then gets the weight 0.",
    nudge="What is e to the power 0, and which weight should the smallest of 2, 1, 0 get?",
)
def one_subtracted(x, axis=0):
    with np.errstate(all="ignore"):
        return shares(np.expm1(x), axis)


# Other right answers, which must pass.


@softmax.variant
def published(x, axis=0):
    return np.exp(x) / np.expand_dims(np.sum(np.exp(x), axis=axis), axis)


@softmax.variant
def with_keepdims(x, axis=0):
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


@softmax.variant
def power_of_e(x, axis=0):
    y = np.e**x
    return y / np.sum(y, axis, keepdims=True)


@softmax.variant
def axis_moved_to_the_front(x, axis=0):
    e = np.moveaxis(np.exp(x), axis, 0)
    return np.moveaxis(e / e.sum(axis=0), 0, axis)


@softmax.variant
def one_over_the_sum_of_differences(x, axis=0):
    x = np.moveaxis(np.asarray(x), axis, -1)
    ratios = np.exp(x[..., np.newaxis, :] - x[..., :, np.newaxis])
    return np.moveaxis(1 / ratios.sum(axis=-1), -1, axis)


@softmax.variant
def by_einsum(x, axis=0):
    e = np.exp(np.swapaxes(x, axis, -1))
    return np.swapaxes(np.einsum("...i,...->...i", e, 1 / np.einsum("...i->...", e)), -1, axis)
