"""Mistakes and right answers that `softmax` and `stable_softmax` have in common."""

import math

import numpy as np

from ._shared import exponents, shares

RIGHT = []

# Mistakes, for the list of slips of both exercises.

SLIPS = """
    always_axis_0: You always divide by the sums down axis 0, whatever `axis` says.
        Hint: Where in your function does the argument `axis` appear?
    always_axis_1: You always divide by the sums along axis 1, whatever `axis` says.
        Hint: Where in your function does the argument `axis` appear?
    always_the_last_axis: You always divide by the sums along the last axis, whatever `axis` says.
        Hint: Where in your function does the argument `axis` appear?
    over_everything: You divided by the sum of the whole array, so all its numbers together add up to 1,
        not each slice.
        Hint: How many sums does a matrix need when axis is 0: one for each row, or one for each column?
    axes_exchanged: You exchanged the two axes: for axis 0 each row adds up to 1, for axis 1 each column.
        Hint: `axis` is the axis that a sum makes disappear. If a matrix is summed over axis 0, which of
        its two sizes is left?
    sums_without_their_axis: The array of sums has one axis less than the input, so NumPy divides along the
        wrong axis, except for axis 0.
        Hint: Compare the shapes of the array and of its sums. What does `keepdims` change in them?
    axis_put_back_at_the_end: You put the lost axis back at the end whatever `axis` says: this is right
        for the last axis only.
        Hint: At which place of the shape did the sum take an axis away? There it must come back.
    made_for_matrices: You treat every axis but 0 as axis 1: fine for a matrix, wrong for arrays of more
        axes.
        Hint: Can you write one line that serves every axis, without asking which one it is?
    not_divided: You took the exponentials and left it at that: nothing makes them add up to 1.
        Hint: By what must a number be divided to become its share of the whole?
    divided_by_the_mean: You divided by the mean of the exponentials, so each slice adds up to its length
        and not to 1.
        Hint: What do your weights add up to, and what should they?
    divided_by_the_norm: You divided by the norm of each slice (the root of the sum of its squares): the
        squares add up to 1, not the weights.
        Hint: What do your weights add up to, and what should they?
    log_softmax: You returned the logarithm of softmax: every number is negative.
        Hint: Is there a logarithm, or a difference of logarithms, as your last step?
    softmax_twice: You applied softmax twice; the second time flattens the shares until they are nearly
        equal.
        Hint: What goes into your exponential: the numbers of x, or shares already?
    minus_sign: There is a minus sign too many: the smallest number gets the largest share.
        Hint: Which of the scores 2, 1, 0 should get the largest share? Try your function on them.
    sigmoid: Each number went through a sigmoid by itself; softmax shares 1 out among all the numbers of
        a slice.
        Hint: Should one number's weight change when another number of its slice grows?
    winner_takes_all: The largest number takes everything; softmax gives the others a share too.
        Hint: What should the scores 2, 1, 0 get? Look at the example by hand.
    rounded: You rounded the result: the check needs all the digits, and so does every later step.
        Hint: Round when you print, not in the function.
    hard_coded: You return the result of the notebook's example, whatever comes in.
        Hint: Where does your code use `x`?
    maximum_subtracted_above_only: You subtracted the largest number above the fraction line only, and
        not in the sum below it.
        Hint: A number may be taken away from every x without changing softmax. Is it taken away
        everywhere?
    powers_of_ten: You used powers of 10; softmax uses powers of e = 2.718…, which tell the numbers less
        far apart.
        Hint: What is NumPy's name for e to the power x?
"""


def softmax_with_shared_slips(slip, x, axis, exp):
    """Return the softmax of x with the slips of `SLIPS`; `exp(x, axis)` gives the exponentials."""
    if slip.hard_coded:
        return np.array([0.66524096, 0.24472847, 0.09003057])
    if slip.sigmoid:
        return 1 / (1 + np.exp(-x))
    if slip.winner_takes_all:
        return (x == x.max(axis=axis, keepdims=True)).astype(x.dtype)
    axis = slip.choose(
        axis,
        always_axis_0=0,
        always_axis_1=1,
        always_the_last_axis=-1,
        over_everything=None,
        axes_exchanged={0: min(1, x.ndim - 1), 1: 0}.get(axis, axis),
        made_for_matrices=int(axis != 0),
    )
    x = slip.choose(x, minus_sign=-x, powers_of_ten=x * np.log(10.0))
    e = exp(x, axis)
    if slip.not_divided:
        return e
    divisor = slip.choose(
        e.sum(axis=axis, keepdims=True),
        sums_without_their_axis=e.sum(axis=axis),
        axis_put_back_at_the_end=np.expand_dims(e.sum(axis=axis), axis=-1),
        divided_by_the_mean=e.mean(axis=axis, keepdims=True),
        divided_by_the_norm=np.linalg.norm(e, axis=axis, keepdims=True),
    )
    if slip.maximum_subtracted_above_only:
        e, divisor = exponents(x, axis), np.exp(x).sum(axis=axis, keepdims=True)
    weights = e / divisor
    if slip.softmax_twice:
        weights = shares(exp(weights, axis), axis)
    if slip.log_softmax:
        weights = np.log(shares(exponents(x, axis), axis) + np.finfo(float).tiny)
    if slip.rounded:
        weights = np.round(weights, 3)
    return weights


def right(function):
    """Decorate a right answer to both exercises."""
    RIGHT.append(function)
    return function


# Other right answers, which must pass.


@right
def largest_subtracted(x, axis=0):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@right
def by_scipy(x, axis=0):
    from scipy import special

    return special.softmax(x, axis=axis)


@right
def log_sum_exp(x, axis=0):
    from scipy import special

    return np.exp(x - special.logsumexp(x, axis=axis, keepdims=True))


@right
def logaddexp_reduced(x, axis=0):
    return np.exp(x - np.expand_dims(np.logaddexp.reduce(x, axis=axis), axis))


@right
def along_each_slice(values, axis=0):
    def one(row):
        e = np.exp(row - row.max())
        return e / e.sum()

    return np.apply_along_axis(one, axis, values)


@right
def loop_over_slices(x, axis=0):
    moved = np.moveaxis(x, axis, -1)
    result = np.zeros(moved.shape, dtype=x.dtype)
    for index in np.ndindex(*moved.shape[:-1]):
        row = [math.exp(number - max(moved[index])) for number in moved[index]]
        result[index] = [number / sum(row) for number in row]
    return np.moveaxis(result, -1, axis)


@right
def shapes_by_reshape(x, axis=0):
    shape = list(x.shape)
    shape[axis] = 1
    e = np.exp(x - x.max(axis).reshape(shape))
    return e / e.sum(axis).reshape(shape)


@right
def in_double_precision(x, axis=0):
    x = np.array(x, dtype=np.float64)
    x -= x.max(axis=axis, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=axis, keepdims=True)
    return x


@right
def indexed_by_a_tuple(x, axis=0):
    there = tuple(np.newaxis if i == axis % x.ndim else slice(None) for i in range(x.ndim))
    e = np.exp(x - x.max(axis=axis)[there])
    return np.divide(e, e.sum(axis=axis)[there])


@right
def a_little_more_than_the_largest(x, axis=0):
    e = np.exp(x - (np.max(x, axis=axis, keepdims=True) + 1))
    return e / np.sum(e, axis=axis, keepdims=True)
