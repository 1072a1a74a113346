"""The exercise `softmax`: ordinary numbers, along any axis."""

import numpy as np

from attention_labs.comparers import no_negative_weight, sums_to_one
from autograder.authoring import Exercise, inputs, sizes

from ._any_softmax import RIGHT, SLIPS, softmax_with_shared_slips

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


@softmax.slips(
    SLIPS
    + """
    divided_by_the_largest: You divided by the largest exponential instead of by their sum: the largest
        weight is 1, and their sum is larger than 1.
        Hint: By what must you divide the exponentials so that they add up to 1?
    no_exponential: You divided the numbers themselves by their sum: negative ones stay negative, and a
        sum near 0 blows up.
        Hint: Which function makes every number positive before the division?
    squares: You squared the numbers where softmax takes their exponentials, so -2 counts as much as 2.
        Hint: In the formula x is the exponent. What is NumPy's name for e to the power x?
    powers_of_two: You used powers of 2; softmax uses powers of e = 2.718…, which tell the numbers
        further apart.
        Hint: What is NumPy's name for e to the power x?
    transposed
    modifies_argument
    lower_precision
    returns_a_list
    divided_by_the_sum_of_x: You divided the exponentials by the sum of the numbers themselves.
        Hint: What must all the weights add up to? By what must you divide each exponential?
    exponentials_of_shares: You divided first, and took the exponentials of the quotients.
        Hint: In the formula, which comes first: the exponential or the division?
    exponential_of_the_sum: You divided by the exponential of a sum, exp(x₁ + x₂ + …); divide by the sum
        of the exponentials.
        Hint: In which order do sum and exponential come below the fraction line?
    transposed_for_axis_1_and_not_back: For axis 1 you transposed the matrix and did not transpose it
        back; for other axes you divide by the sums down axis 0.
        Hint: What shape should come out when x has shape (2, 3)? Which argument of `np.sum` spares you
        the transpose?
    transposed_and_not_back: For an axis other than 0 you transposed the array and did not transpose it
        back.
        Hint: What shape should come out when x has shape (2, 3)? Which argument of `np.sum` spares you
        the transpose?
    turned_for_axis_1_only: You transpose for axis 1, and back again; every other axis is treated as axis
        0.
        Hint: How would you write it for an array of three axes? Which argument of `np.sum` spares you
        the transpose?
    one_subtracted: You took e to the power x, less 1: `np.expm1`, or a 1 subtracted. A score of 0 then
        gets the weight 0.
        Hint: What is e to the power 0, and which weight should the smallest of 2, 1, 0 get?
"""
)
def softmax_with_slips(slip, x, axis=0):
    if slip.modifies_argument:
        x -= x.max(axis=axis, keepdims=True)
    turns_for_axis_1 = slip.transposed_for_axis_1_and_not_back or slip.turned_for_axis_1_only
    is_turned = (turns_for_axis_1 and axis == 1) or (slip.transposed_and_not_back and axis != 0)
    if is_turned:
        x = x.T
    if turns_for_axis_1 or slip.transposed_and_not_back:
        axis = 0
    sums = x.sum(axis=axis, keepdims=True)
    if slip.divided_by_the_sum_of_x:
        return np.exp(x) / sums
    if slip.exponential_of_the_sum:
        return np.exp(x) / np.exp(sums)
    if slip.exponentials_of_shares:
        return np.exp(x / sums)
    if slip.divided_by_the_largest:
        return np.exp(x) / np.exp(x).max(axis=axis, keepdims=True)

    def exp(x, axis):
        return slip.choose(
            np.exp(x),
            no_exponential=x,
            squares=x**2,
            powers_of_two=np.exp2(x),
            one_subtracted=np.expm1(x),
        )

    weights = softmax_with_shared_slips(slip, x, axis, exp)
    if slip.transposed or (slip.turned_for_axis_1_only and is_turned):
        weights = weights.T
    if slip.returns_a_list:
        return weights.tolist()
    return slip.choose(weights, lower_precision=weights.astype(np.float32))


# Other right answers, which must pass; first those to `stable_softmax` too.

for _answer in RIGHT:
    softmax.variant(_answer)


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
