"""Mistakes and right answers that `softmax` and `stable_softmax` have in common."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ._shared import exponents, shares


class Mistake(NamedTuple):
    """A mistake of both, as `f(x, axis, exp)`; `exp(x, axis)` is safe from overflow in the second."""

    means: str
    nudge: str
    function: Callable


MISTAKES = []
RIGHT = []


def add_to(exercise, exp):
    """Give an exercise the mistakes, which take their exponentials from `exp`, and the right answers.

    The mistakes come back by their names, for those who make pairs of them.
    """
    given = {}
    for mistake in MISTAKES:
        wrong = exercise.misconception(means=mistake.means, nudge=mistake.nudge)(_with(exp, mistake.function))
        given[wrong.__name__] = wrong
    for answer in RIGHT:
        exercise.variant(answer)
    return given


def _with(exp, function):
    def wrong(x, axis=0):
        return function(x, axis, exp)

    wrong.__name__ = function.__name__
    return wrong


def mistake(means, nudge):
    """Decorate a mistake `f(x, axis, exp)` of both exercises."""

    def register(function):
        MISTAKES.append(Mistake(means, nudge, function))
        return function

    return register


def right(function):
    """Decorate a right answer to both exercises."""
    RIGHT.append(function)
    return function


@mistake(
    means="You always divide by the sums down axis 0, whatever `axis` says.",
    nudge="Where in your function does the argument `axis` appear?",
)
def always_axis_0(x, axis, exp):
    return shares(exp(x, 0), 0)


@mistake(
    means="You always divide by the sums along axis 1, whatever `axis` says.",
    nudge="Where in your function does the argument `axis` appear?",
)
def always_axis_1(x, axis, exp):
    return shares(exp(x, 1), 1)


@mistake(
    means="You always divide by the sums along the last axis, whatever `axis` says.",
    nudge="Where in your function does the argument `axis` appear?",
)
def always_the_last_axis(x, axis, exp):
    return shares(exp(x, -1), -1)


@mistake(
    means="You divided by the sum of the whole array, so all its numbers together add up to 1, "
    "not each slice.",
    nudge="How many sums does a matrix need when axis is 0: one for each row, or one for each column?",
)
def over_everything(x, axis, exp):
    return shares(exp(x, None), None)


@mistake(
    means="You exchanged the two axes: for axis 0 each row adds up to 1, for axis 1 each column.",
    nudge="`axis` is the axis that a sum makes disappear. If a matrix is summed over axis 0, "
    "which of its two sizes is left?",
)
def axes_exchanged(x, axis, exp):
    other = {0: min(1, x.ndim - 1), 1: 0}.get(axis, axis)
    return shares(exp(x, other), other)


@mistake(
    means="Your sums lost their axis, so NumPy lines them up with the wrong one: "
    "this is right for axis 0 only.",
    nudge="Compare the shapes of the array and of its sums. What does `keepdims` change in them?",
)
def sums_without_their_axis(x, axis, exp):
    e = exp(x, axis)
    return e / np.sum(e, axis=axis)


@mistake(
    means="You put the lost axis back at the end whatever `axis` says: this is right for the last axis only.",
    nudge="At which place of the shape did the sum take an axis away? There it must come back.",
)
def axis_put_back_at_the_end(x, axis, exp):
    e = exp(x, axis)
    return e / np.expand_dims(np.sum(e, axis=axis), axis=-1)


@mistake(
    means="You treat every axis but 0 as axis 1: fine for a matrix, wrong for arrays of more axes.",
    nudge="Can you write one line that serves every axis, without asking which one it is?",
)
def made_for_matrices(x, axis, exp):
    return shares(exp(x, 0), 0) if axis == 0 else shares(exp(x, 1), 1)


@mistake(
    means="You took the exponentials and left it at that: nothing makes them add up to 1.",
    nudge="By what must a number be divided to become its share of the whole?",
)
def not_divided(x, axis, exp):
    return exp(x, axis)


@mistake(
    means="You divided by the mean of the exponentials, so each slice adds up to its length and not to 1.",
    nudge="What do your weights add up to, and what should they?",
)
def divided_by_the_mean(x, axis, exp):
    e = exp(x, axis)
    return e / e.mean(axis=axis, keepdims=True)


@mistake(
    means="You divided by the norm of each slice (the root of the sum of its squares): the squares add up to 1, "
    "not the weights.",
    nudge="What do your weights add up to, and what should they?",
)
def divided_by_the_norm(x, axis, exp):
    e = exp(x, axis)
    return e / np.linalg.norm(e, axis=axis, keepdims=True)


@mistake(
    means="You returned the logarithm of softmax: every number is negative.",
    nudge="Is there a logarithm, or a difference of logarithms, as your last step?",
)
def log_softmax(x, axis, exp):
    return np.log(shares(exponents(x, axis), axis) + np.finfo(float).tiny)


@mistake(
    means="You applied softmax twice; the second time flattens the shares until they are nearly equal.",
    nudge="What goes into your exponential: the numbers of x, or shares already?",
)
def softmax_twice(x, axis, exp):
    return shares(exp(shares(exp(x, axis), axis), axis), axis)


@mistake(
    means="There is a minus sign too many: the smallest number gets the largest share.",
    nudge="Which of the scores 2, 1, 0 should get the largest share? Try your function on them.",
)
def minus_sign(x, axis, exp):
    return shares(exp(-x, axis), axis)


@mistake(
    means="Each number went through a sigmoid by itself; "
    "softmax shares 1 out among all the numbers of a slice.",
    nudge="Should one number's weight change when another number of its slice grows?",
)
def sigmoid(x, axis, exp):
    return 1 / (1 + np.exp(-x))


@mistake(
    means="The largest number takes everything; softmax gives the others a share too.",
    nudge="What should the scores 2, 1, 0 get? Look at the example by hand.",
)
def winner_takes_all(x, axis, exp):
    return (x == x.max(axis=axis, keepdims=True)).astype(x.dtype)


@mistake(
    means="You rounded the result: the check needs all the digits, and so does every later step.",
    nudge="Round when you print, not in the function.",
)
def rounded(x, axis, exp):
    return np.round(shares(exp(x, axis), axis), 3)


@mistake(
    means="You return the result of the notebook's example, whatever comes in.",
    nudge="Where does your code use `x`?",
)
def hard_coded(x, axis, exp):
    return np.array([0.66524096, 0.24472847, 0.09003057])


@mistake(
    means="You subtracted the largest number above the fraction line only, and not in the sum below it.",
    nudge="A number may be taken away from every x without changing softmax. Is it taken away everywhere?",
)
def maximum_subtracted_above_only(x, axis, exp):
    return exponents(x, axis) / np.sum(np.exp(x), axis=axis, keepdims=True)


@mistake(
    means="You used powers of 10; softmax uses powers of e = 2.718…, which tell the numbers less far apart.",
    nudge="What is NumPy's name for e to the power x?",
)
def powers_of_ten(x, axis, exp):
    return shares(exp(x * np.log(10.0), axis), axis)


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
