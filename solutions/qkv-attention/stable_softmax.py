"""The exercise `stable_softmax`: the same as `softmax`, and right for numbers of ±1000."""

import numpy as np

from attention_labs.comparers import no_negative_weight, sums_to_one
from autograder.authoring import Exercise, inputs, sizes

from . import _any_softmax
from ._shared import exponents, shares
from .softmax import softmax

stable_softmax = Exercise(
    "stable_softmax",
    points=2,
    builds_on=[softmax],
    properties=[no_negative_weight, sums_to_one],
)


@stable_softmax.domain(
    sizes={"blocks": (1, 60), "rows": (1, 60), "columns": (1, 60)},
    flags={"axis": (0, 1, 2, -1, -2, -3)},
    magnitudes=(1.0, 1000.0, 1e5),
    dtypes=("float64", "float32"),
)
def anywhere(rng, blocks, rows, columns, axis, magnitude):
    shape = (blocks, rows, columns)
    levels = magnitude * rng.choice([-1.0, 1.0], size=shape)
    return inputs(levels + rng.normal(size=shape), axis=axis)


@stable_softmax.case("the notebook's three large scores")
def three_large_scores(rng):
    return inputs(np.array([1000.0, 999.0, 998.0]))


@stable_softmax.case("a matrix of ordinary numbers, the axis left out")
def ordinary(rng):
    return inputs(rng.normal(size=sizes(rng, 2, 3)))


@stable_softmax.case("numbers near 1000, along the rows")
def near_1000(rng):
    return inputs(1000 + rng.normal(size=sizes(rng, 2, 3)), axis=1)


@stable_softmax.case("numbers near -1000, down the columns")
def near_minus_1000(rng):
    return inputs(-1000 + rng.normal(size=sizes(rng, 2, 3)), axis=0)


@stable_softmax.case("one row near 1000, the others near 0 and -1000")
def rows_far_apart(rng):
    count, length = sizes(rng, 2, 3, 6)
    levels = rng.permutation([1000.0, 0.0, -1000.0, *rng.choice([0.0, -1000.0], size=count - 3)])
    return inputs(levels[:, np.newaxis] + rng.normal(size=(count, length)), axis=1)


@stable_softmax.case("rows with positive numbers and one near -1000")
def one_far_below(rng):
    x = 5 + rng.normal(size=sizes(rng, 2, 3, 6))
    x[:, 0] -= 1000
    return inputs(x, axis=1)


@stable_softmax.case("a 3-D array with levels far apart, along its middle axis")
def blocks_far_apart(rng):
    first, middle, last = sizes(rng, 3, 2, 6)
    levels = rng.permuted(np.resize([1000.0, -1000.0], first * last)).reshape(first, 1, last)
    return inputs(levels + rng.normal(size=(first, middle, last)), axis=1)


@stable_softmax.case("1000 and -1000 side by side, along the last axis of a 4-D array")
def side_by_side(rng):
    shape = [*sizes(rng, 3, 2, 5), 6]
    rows = np.array([[1000.0, -1000.0, -1000.0, -1000.0, 999.0, -1000.0], [800.0, 0, 0, 799.0, 0, 0]])
    return inputs(rng.permuted(np.resize(rows, shape), axis=-1) + rng.normal(size=shape), axis=-1)


@stable_softmax.case("float32 numbers near 1000, along the rows of a square matrix")
def single_precision_near_1000(rng):
    size = int(rng.integers(3, 7))
    return inputs((1000 + rng.normal(size=(size, size))).astype(np.float32), axis=1)


# Mistakes; first those that `softmax` has too.

_mistakes = _any_softmax.add_to(stable_softmax, exp=exponents)


# Mistakes with large numbers.


@stable_softmax.misconception(
    means="The numbers go into the exponential as large as they come, or nearly: e to the 1000 is too large for "
    "the computer (inf), e to the -1000 too small (0), and both inf/inf and 0/0 are nan.",
    nudge="What may be subtracted from every number of a slice so that softmax stays the same? Print it for "
    "[1000, 999, 998].",
)
def no_maximum_subtracted(x, axis=0):
    return shares(np.exp(x), axis)


@stable_softmax.misconception(
    means="You subtracted the maximum of the whole array: a slice that lies far below it becomes 0/0, "
    "which is nan.",
    nudge="Softmax is computed for each slice separately. Which maximum should you subtract from a slice?",
)
def maximum_of_the_whole_array(x, axis=0):
    return shares(np.exp(x - x.max()), axis)


@stable_softmax.misconception(
    means="You took the maximum along axis 0 whatever `axis` says, "
    "so the numbers of one slice lose different amounts.",
    nudge="Does the maximum run along the same axis as the sum?",
)
def maximum_always_along_axis_0(x, axis=0):
    return shares(np.exp(x - x.max(axis=0, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You took the maximum along the last axis whatever `axis` says, "
    "so the numbers of one slice lose different amounts.",
    nudge="Does the maximum run along the same axis as the sum?",
)
def maximum_always_along_the_last_axis(x, axis=0):
    return shares(np.exp(x - x.max(axis=-1, keepdims=True)), axis)


@stable_softmax.misconception(
    means="The maximum lost its axis, so NumPy subtracts it along the wrong one; your sums keep theirs.",
    nudge="Compare the shapes of the array and of its maxima. What does `keepdims` change in them?",
)
def maximum_without_its_axis(x, axis=0):
    return shares(np.exp(x - x.max(axis=axis)), axis)


@stable_softmax.misconception(
    means="You subtracted the largest absolute value: numbers near -1000 then become still smaller, "
    "and 0/0 is nan.",
    nudge="After the subtraction the largest number of each slice should be 0. Is it, if all are negative?",
)
def largest_absolute_value(x, axis=0):
    return shares(np.exp(x - np.abs(x).max(axis=axis, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You subtracted the largest number or 0, whichever is larger: a slice of numbers near -1000 is not "
    "shifted then, and 0/0 is nan.",
    nudge="With which number does your search for the maximum begin? Which slices have no number above it?",
)
def maximum_of_at_least_zero(x, axis=0):
    return shares(np.exp(x - np.maximum(x.max(axis=axis, keepdims=True), 0)), axis)


@stable_softmax.misconception(
    means="You subtracted the mean: "
    "where 1000 and -1000 are in one slice, the largest number is still far above 0.",
    nudge="After the subtraction no number should be above 0. What must you subtract?",
)
def subtracts_the_mean(x, axis=0):
    return shares(np.exp(x - x.mean(axis=axis, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You subtracted the smallest number, or one in the middle: where 1000 and -1000 are in one slice, "
    "the largest stays far above 0.",
    nudge="After the subtraction no number should be above 0. What must you subtract?",
)
def subtracts_the_minimum(x, axis=0):
    return shares(np.exp(x - x.min(axis=axis, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You divided the numbers by 1000 first, so 1000 and 999 are hardly different any more, and the weights change.",
    nudge="Softmax depends on differences only. Which operation leaves all of them as they are?",
)
def divides_by_a_thousand(x, axis=0):
    return shares(exponents(x / 1000, axis), axis)


@stable_softmax.misconception(
    means="You divided by the largest number instead of subtracting it: "
    "that shrinks the differences between the numbers.",
    nudge="Softmax depends on differences only. Which operation leaves 1000 and 999 one apart?",
)
def divides_by_the_maximum(x, axis=0):
    return shares(np.exp(x / x.max(axis=axis, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You subtracted the maximum after taking the exponential; the overflow has happened by then.",
    nudge="At which step do the numbers become too large? The subtraction must come before it.",
)
def subtracts_too_late(x, axis=0):
    return shares(np.exp(x) - np.max(x, axis=axis, keepdims=True), axis)


@stable_softmax.misconception(
    means="You cut the numbers off at a bound, so 1000 and 999 become equal and get the same weight.",
    nudge="Softmax depends on differences only. Which operation leaves 1000 and 999 one apart?",
)
def cuts_off(x, axis=0):
    return shares(np.exp(np.clip(x, -500 if x.itemsize > 4 else -80, 500 if x.itemsize > 4 else 80)), axis)


@stable_softmax.misconception(
    means="You replaced nan by numbers, which hides the overflow; the weights of that slice are still lost.",
    nudge="What could you subtract from every number beforehand, so that no nan arises?",
)
def hides_the_nan(x, axis=0):
    return np.nan_to_num(shares(np.exp(x), axis))


@stable_softmax.misconception(
    means="You added a tiny number to the sum: no division by 0 any more, but e to the 1000 still overflows, "
    "and small weights become 0.",
    nudge="What could you subtract from every number beforehand, so that the sum is never 0 nor infinite?",
)
def adds_epsilon(x, axis=0):
    return np.exp(x) / (np.sum(np.exp(x), axis=axis, keepdims=True) + 1e-9)


@stable_softmax.misconception(
    means="You subtracted the maximum, and then divided those differences by their sum: "
    "the exponential is missing.",
    nudge="Which function makes every number positive before the division?",
)
def no_exponential(x, axis=0):
    return shares(x - x.max(axis=axis, keepdims=True), axis)


@stable_softmax.misconception(
    means="You added the maximum instead of subtracting it, which makes large numbers larger still.",
    nudge="After this step no number of a slice should be above 0. Which sign does that?",
)
def adds_the_maximum(x, axis=0):
    return shares(np.exp(x + x.max(axis=axis, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You always subtract 1000: ordinary numbers then become so small that their exponentials are 0.",
    nudge="What should be subtracted from 3, 2, 1, and what from 1000, 999, 998?",
)
def subtracts_1000(x, axis=0):
    return shares(np.exp(x - np.asarray(1000, x.dtype)), axis)


@stable_softmax.misconception(
    means="You divided by the spread as well, so 1000 and 999 are no longer one apart.",
    nudge="Softmax depends on differences only. Which operation leaves all of them as they are?",
)
def standardised(x, axis=0):
    centred = x - x.mean(axis=axis, keepdims=True)
    return shares(np.exp(centred / x.std(axis=axis, keepdims=True)), axis)


@stable_softmax.misconception(
    means="The maximum is right, but `axis` did not reach the sum: it is always taken down axis 0.",
    nudge="Which functions in your code have an axis, and which of them hear of yours?",
)
def axis_for_the_maximum_only(x, axis=0):
    return shares(np.exp(x - x.max(axis=axis, keepdims=True)), 0)


@stable_softmax.misconception(
    means="You took the maximum along axis 1 whatever `axis` says: an array of one axis has none, "
    "and elsewhere the numbers of one slice lose different amounts.",
    nudge="Does the maximum run along the same axis as the sum?",
)
def maximum_always_along_axis_1(x, axis=0):
    return shares(np.exp(x - x.max(axis=1, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You made the maxima a column with `reshape(-1, 1)`: that is right for the rows of a matrix only.",
    nudge="Which argument of `max` leaves the axis where it was, whichever it is?",
)
def maximum_in_a_column(x, axis=0):
    return shares(np.exp(x - x.max(axis=axis).reshape(-1, 1)), axis)


@stable_softmax.misconception(
    means="You made the maxima and the sums columns with `reshape(-1, 1)`: that is right for the rows of a "
    "matrix only.",
    nudge="Which argument of `max` and `sum` leaves the axis where it was, whichever it is?",
)
def both_in_a_column(x, axis=0):
    e = np.exp(x - x.max(axis=axis).reshape(-1, 1))
    return e / e.sum(axis=axis).reshape(-1, 1)


@stable_softmax.misconception(
    means="The maxima and the sums both lost their axis, so NumPy lines them up with the wrong one: this is "
    "right for axis 0 only.",
    nudge="Compare the shapes of the array and of its sums. What does `keepdims` change in them?",
)
def both_without_their_axis(x, axis=0):
    e = np.exp(x - x.max(axis=axis))
    return e / e.sum(axis=axis)


@stable_softmax.combined_misconception(no_maximum_subtracted, _mistakes["always_axis_0"])
def no_maximum_and_axis_0(x, axis=0):
    return shares(np.exp(x), 0)


@stable_softmax.combined_misconception(no_maximum_subtracted, _mistakes["sums_without_their_axis"])
def no_maximum_and_no_axis(x, axis=0):
    return np.exp(x) / np.exp(x).sum(axis=axis)


@stable_softmax.combined_misconception(no_maximum_subtracted, _mistakes["over_everything"])
def no_maximum_over_everything(x, axis=0):
    return shares(np.exp(x), None)


@stable_softmax.combined_misconception(no_maximum_subtracted, _mistakes["always_axis_1"])
def no_maximum_and_axis_1(x, axis=0):
    return shares(np.exp(x), 1)


@stable_softmax.combined_misconception(no_maximum_subtracted, _mistakes["always_the_last_axis"])
def no_maximum_and_the_last_axis(x, axis=0):
    return shares(np.exp(x), -1)


@stable_softmax.combined_misconception(maximum_of_the_whole_array, _mistakes["always_axis_0"])
def whole_array_and_axis_0(x, axis=0):
    return shares(np.exp(x - x.max()), 0)


@stable_softmax.combined_misconception(maximum_of_the_whole_array, _mistakes["sums_without_their_axis"])
def whole_array_and_no_axis(x, axis=0):
    e = np.exp(x - x.max())
    return e / e.sum(axis=axis)


@stable_softmax.combined_misconception(subtracts_the_mean, _mistakes["always_axis_0"])
def mean_subtracted_and_axis_0(x, axis=0):
    return shares(np.exp(x - x.mean(axis=0, keepdims=True)), 0)


@stable_softmax.common_mistake
def modifies_argument(x, axis=0):
    x -= x.max(axis=axis, keepdims=True)
    return shares(np.exp(x), axis)


@stable_softmax.common_mistake
def lower_precision(x, axis=0):
    return shares(exponents(x, axis), axis).astype(np.float32)


@stable_softmax.common_mistake
def returns_a_list(x, axis=0):
    return shares(exponents(x, axis), axis).tolist()
