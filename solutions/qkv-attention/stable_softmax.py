"""The exercise `stable_softmax`: the same as `softmax`, and right for numbers of ±1000."""

import numpy as np

from attention_labs.comparers import no_negative_weight, sums_to_one
from autograder.authoring import Exercise, inputs, sizes

from ._any_softmax import RIGHT, SLIPS, softmax_with_shared_slips
from ._shared import shares
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
    rows = np.array(
        [[1000.0, -1000.0, -1000.0, -1000.0, 999.0, -1000.0], [800.0, 0, 0, 799.0, 0, 0]]
    )
    return inputs(rng.permuted(np.resize(rows, shape), axis=-1) + rng.normal(size=shape), axis=-1)


@stable_softmax.case("float32 numbers near 1000, along the rows of a square matrix")
def single_precision_near_1000(rng):
    size = int(rng.integers(3, 7))
    return inputs((1000 + rng.normal(size=(size, size))).astype(np.float32), axis=1)


@stable_softmax.slips(
    SLIPS
    + """
    no_maximum_subtracted: The numbers go into the exponential as large as they come, or nearly: e to the
        1000 is too large for the computer (inf), e to the -1000 too small (0), and both inf/inf and 0/0
        are nan.
        Hint: What may be subtracted from every number of a slice so that softmax stays the same? Print
        it for [1000, 999, 998].
    maximum_of_the_whole_array: You subtracted the maximum of the whole array: a slice that lies far
        below it becomes 0/0, which is nan.
        Hint: Softmax is computed for each slice separately. Which maximum should you subtract from a
        slice?
    maximum_always_along_axis_0: You took the maximum along axis 0 whatever `axis` says, so the numbers
        of one slice lose different amounts.
        Hint: Does the maximum run along the same axis as the sum?
    maximum_always_along_the_last_axis: You took the maximum along the last axis whatever `axis` says, so
        the numbers of one slice lose different amounts.
        Hint: Does the maximum run along the same axis as the sum?
    maximum_without_its_axis: The maximum lost its axis, so NumPy subtracts it along the wrong one; your
        sums keep theirs.
        Hint: Compare the shapes of the array and of its maxima. What does `keepdims` change in them?
    largest_absolute_value: You subtracted the largest absolute value: numbers near -1000 then become
        still smaller, and 0/0 is nan.
        Hint: After the subtraction the largest number of each slice should be 0. Is it, if all are
        negative?
    maximum_of_at_least_zero: You subtracted the largest number or 0, whichever is larger: a slice of
        numbers near -1000 is not shifted then, and 0/0 is nan.
        Hint: With which number does your search for the maximum begin? Which slices have no number above
        it?
    subtracts_the_mean: You subtracted the mean: where 1000 and -1000 are in one slice, the largest
        number is still far above 0.
        Hint: After the subtraction no number should be above 0. What must you subtract?
    subtracts_the_minimum: You subtracted the smallest number, or one in the middle: where 1000 and -1000
        are in one slice, the largest stays far above 0.
        Hint: After the subtraction no number should be above 0. What must you subtract?
    divides_by_a_thousand: You divided the numbers by 1000 first, so 1000 and 999 are hardly different
        any more, and the weights change.
        Hint: Softmax depends on differences only. Which operation leaves all of them as they are?
    divides_by_the_maximum: You divided by the largest number instead of subtracting it: that shrinks the
        differences between the numbers.
        Hint: Softmax depends on differences only. Which operation leaves 1000 and 999 one apart?
    subtracts_too_late: You subtracted the maximum after taking the exponential; the overflow has
        happened by then.
        Hint: At which step do the numbers become too large? The subtraction must come before it.
    cuts_off: You cut the numbers off at a bound, so 1000 and 999 become equal and get the same weight.
        Hint: Softmax depends on differences only. Which operation leaves 1000 and 999 one apart?
    hides_the_nan: You replaced nan by numbers, which hides the overflow; the weights of that slice are
        still lost.
        Hint: What could you subtract from every number beforehand, so that no nan arises?
    adds_epsilon: You added a tiny number to the sum: no division by 0 any more, but e to the 1000 still
        overflows, and small weights become 0.
        Hint: What could you subtract from every number beforehand, so that the sum is never 0 nor
        infinite?
    no_exponential: You subtracted the maximum, and then divided those differences by their sum: the
        exponential is missing.
        Hint: Which function makes every number positive before the division?
    adds_the_maximum: You added the maximum instead of subtracting it, which makes large numbers larger
        still.
        Hint: After this step no number of a slice should be above 0. Which sign does that?
    subtracts_1000: You always subtract 1000: ordinary numbers then become so small that their
        exponentials are 0.
        Hint: What should be subtracted from 3, 2, 1, and what from 1000, 999, 998?
    standardised: You divided by the spread as well, so 1000 and 999 are no longer one apart.
        Hint: Softmax depends on differences only. Which operation leaves all of them as they are?
    axis_for_the_maximum_only: The maximum is right, but `axis` did not reach the sum: it is always taken
        down axis 0.
        Hint: You call functions with an axis. To which of them do you pass `axis`?
    maximum_always_along_axis_1: You took the maximum along axis 1 whatever `axis` says: an array of one
        axis has none, and elsewhere the numbers of one slice lose different amounts.
        Hint: Does the maximum run along the same axis as the sum?
    maximum_in_a_column: You made the maxima a column with `reshape(-1, 1)`: that is right for the rows
        of a matrix only.
        Hint: Which argument of `max` leaves the axis where it was, whichever it is?
    both_in_a_column: You made the maxima and the sums columns with `reshape(-1, 1)`: that is right for
        the rows of a matrix only.
        Hint: Which argument of `max` and `sum` leaves the axis where it was, whichever it is?
    both_without_their_axis: The maxima and the sums both lost their axis, so NumPy lines them up with
        the wrong one: this is right for axis 0 only.
        Hint: Compare the shapes of the array and of its sums. What does `keepdims` change in them?
    modifies_argument
    lower_precision
    returns_a_list
"""
)
def stable_softmax_with_slips(slip, x, axis=0):
    if slip.modifies_argument:
        x -= x.max(axis=axis, keepdims=True)
    if slip.divides_by_a_thousand:
        x = x / 1000

    def exp(x, axis):
        maximum, without_its_axis = x.max(axis=axis, keepdims=True), x.max(axis=axis)
        mean = x.mean(axis=axis, keepdims=True)
        shift = slip.choose(
            maximum,
            no_maximum_subtracted=0,
            hides_the_nan=0,
            adds_epsilon=0,
            maximum_of_the_whole_array=x.max(),
            maximum_always_along_axis_0=x.max(axis=0, keepdims=True),
            maximum_always_along_the_last_axis=x.max(axis=-1, keepdims=True),
            maximum_without_its_axis=without_its_axis,
            both_without_their_axis=without_its_axis,
            maximum_in_a_column=without_its_axis.reshape(-1, 1),
            both_in_a_column=without_its_axis.reshape(-1, 1),
            largest_absolute_value=np.abs(x).max(axis=axis, keepdims=True),
            maximum_of_at_least_zero=np.maximum(maximum, 0),
            subtracts_the_mean=mean,
            standardised=mean,
            subtracts_the_minimum=x.min(axis=axis, keepdims=True),
            adds_the_maximum=-maximum,
            subtracts_1000=np.asarray(1000, x.dtype),
        )
        if slip.maximum_always_along_axis_1:
            shift = x.max(axis=1, keepdims=True)
        exponent = x - shift
        if slip.standardised:
            exponent = exponent / x.std(axis=axis, keepdims=True)
        if slip.divides_by_the_maximum:
            exponent = x / maximum
        if slip.cuts_off:
            bound = 500 if x.itemsize > 4 else 80
            exponent = np.clip(x, -bound, bound)
        if slip.subtracts_too_late:
            return np.exp(x) - maximum
        if slip.no_exponential:
            return exponent
        return np.exp(exponent)

    e = exp(x, axis)
    if slip.axis_for_the_maximum_only:
        return shares(e, 0)
    if slip.both_without_their_axis:
        return e / e.sum(axis=axis)
    if slip.both_in_a_column:
        return e / e.sum(axis=axis).reshape(-1, 1)
    if slip.adds_epsilon:
        return e / (e.sum(axis=axis, keepdims=True) + 1e-9)
    weights = softmax_with_shared_slips(slip, x, axis, exp)
    if slip.hides_the_nan:
        weights = np.nan_to_num(weights)
    if slip.returns_a_list:
        return weights.tolist()
    return slip.choose(weights, lower_precision=weights.astype(np.float32))


# Right answers, which must pass: those to `softmax` too.

for _answer in RIGHT:
    stable_softmax.variant(_answer)
