"""The exercise `layer_norm_backward`: a word's numbers move its mean and its spread as well."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import all_but_last, flat, gains, mean, over_words, parts

layer_norm_backward = Exercise("layer_norm_backward", points=3, tolerance=1e-9)


def given(rng, shape, scale=1.0, shift=0.0, **kwargs):
    x = scale * (shift + rng.normal(size=shape))
    return inputs(rng.normal(size=shape), x, gains(rng, shape[-1]), **kwargs)


@layer_norm_backward.domain(
    sizes={"batch": (1, 60), "L": (1, 60), "d": (1, 60)},
    flags={"axes": (3, 2, 1), "epsilon": (1e-5, 0.1)},
    magnitudes=(1.0, 1e-3, 1000.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, d, axes, epsilon, magnitude):
    return given(rng, (batch, L, d)[3 - axes :], magnitude, epsilon=epsilon)


@layer_norm_backward.case("the notebook's example by hand")
def by_hand(rng):
    return inputs(np.array([4.0, 0.0, 0.0, 0.0]), np.array([1.0, 5.0, 1.0, 5.0]), np.ones(4))


@layer_norm_backward.case("one word")
def one_word(rng):
    return given(rng, sizes(rng, 1, 4))


@layer_norm_backward.case("a sentence (L, d)")
def sentence(rng):
    return given(rng, sizes(rng, 2, 3))


@layer_norm_backward.case("as many words as numbers in a word")
def square(rng):
    size = int(rng.integers(4, 7))
    return given(rng, (size, size))


@layer_norm_backward.case("sentences (batch, L, d), far from 0")
def sentences(rng):
    return given(rng, sizes(rng, 3, 3), shift=4.0)


@layer_norm_backward.case("batch, L and d all the same size")
def cube(rng):
    size = int(rng.integers(3, 6))
    return given(rng, (size, size, size), scale=2.0, shift=1.0)


@layer_norm_backward.case("very small numbers, for which epsilon matters")
def small(rng):
    return given(rng, sizes(rng, 3, 3), scale=3e-3)


@layer_norm_backward.case("a large epsilon")
def large_epsilon(rng):
    return given(rng, sizes(rng, 3, 3), scale=1.5, epsilon=0.5)


def back(upstream, x, gain, epsilon, d_x):
    """The three gradients, the first one as `d_x` makes it from (d_n, n, root)."""
    _, n, root = parts(x, epsilon)
    return d_x(upstream * gain, n, root), over_words(upstream * n), over_words(upstream)


def right(d_n, n, root):
    return (d_n - mean(d_n) - n * mean(d_n * n)) / root


def wrong(means, nudge):
    """Register a mistake in the first gradient, written as a function of (d_n, n, root)."""

    def register(d_x):
        def mistaken(upstream, x, gain, epsilon=1e-5):
            return back(upstream, x, gain, epsilon, d_x)

        mistaken.__name__ = d_x.__name__
        layer_norm_backward.misconception(means=means, nudge=nudge)(mistaken)
        return mistaken

    return register


# The gradient for x.


@wrong(
    means="You took mean and spread for fixed numbers: each number of a word moves them too.",
    nudge="If one number of the word grows, what happens to the mean that is subtracted from all of them?",
)
def mean_and_spread_as_if_fixed(d_n, n, root):
    return d_n / root


@wrong(
    means="The way through the mean is missing: each number moves the mean, and so all others.",
    nudge="The bracket of the formula has three terms. Which of them comes from the mean?",
)
def through_the_mean_forgotten(d_n, n, root):
    return (d_n - n * mean(d_n * n)) / root


@wrong(
    means="The path through the variance is missing (or you took the mean of n alone, which is 0): each number moves "
    "the root that all are divided by.",
    nudge="The bracket of the formula has three terms. Which of them contains n twice?",
)
def through_the_variance_forgotten(d_n, n, root):
    return (d_n - mean(d_n)) / root


@wrong(
    means="You took the mean of d_n times n, and did not multiply it by n again.",
    nudge="Which factor of the last term of the bracket is different for each number?",
)
def not_times_n_again(d_n, n, root):
    return (d_n - mean(d_n) - mean(d_n * n)) / root


@wrong(
    means="You took sums; means are expected: the formula divides by d.",
    nudge="mean(…) in the formula: of how many numbers?",
)
def sums_for_means(d_n, n, root):
    d = d_n.shape[-1]
    return (d_n - d * mean(d_n) - n * d * mean(d_n * n)) / root


@wrong(
    means="You took the means over all words together; each word has its own.",
    nudge="Along which axis do the numbers of one word lie?",
)
def means_over_everything(d_n, n, root):
    return (d_n - d_n.mean() - n * (d_n * n).mean()) / root


@wrong(
    means="You took the means along axis 0, over the words or the sentences, not over the numbers of a word.",
    nudge="Along which axis do the numbers of one word lie?",
)
def means_along_axis_0(d_n, n, root):
    return (d_n - mean(d_n, 0) - n * mean(d_n * n, 0)) / root


@wrong(
    means="You took the means over the words of a sentence, not over the numbers of a word.",
    nudge="Along which axis do the numbers of one word lie?",
)
def means_over_the_words(d_n, n, root):
    axis = -2 if d_n.ndim > 1 else -1
    return (d_n - mean(d_n, axis) - n * mean(d_n * n, axis)) / root


@wrong(
    means="Nothing is divided by the root of the variance.",
    nudge="If the forward pass divides, what does the backward pass do?",
)
def not_divided_by_the_root(d_n, n, root):
    return d_n - mean(d_n) - n * mean(d_n * n)


@wrong(
    means="You multiplied by the root of the variance; both passes divide by it.",
    nudge="If n = x / c, what is the derivative of n with respect to x?",
)
def multiplied_by_the_root(d_n, n, root):
    return (d_n - mean(d_n) - n * mean(d_n * n)) * root


@wrong(
    means="You divided by the variance; its root is expected.",
    nudge="By what does the forward pass divide the token?",
)
def divided_by_the_variance(d_n, n, root):
    return (d_n - mean(d_n) - n * mean(d_n * n)) / root**2


@wrong(
    means="Only the last term is divided by the root: a bracket is missing.",
    nudge="What does the fraction line of the formula stretch over?",
)
def brackets_lost(d_n, n, root):
    return d_n - mean(d_n) - n * mean(d_n * n) / root


@wrong(
    means="Two signs are wrong: the two means are subtracted.",
    nudge="Give every number of a word the same upstream gradient. What must come out?",
)
def both_signs_wrong(d_n, n, root):
    return (d_n + mean(d_n) + n * mean(d_n * n)) / root


@wrong(
    means="The sign of the mean of d_n is wrong.",
    nudge="Give every number of a word the same upstream gradient. What must come out?",
)
def sign_of_the_mean_wrong(d_n, n, root):
    return (d_n + mean(d_n) - n * mean(d_n * n)) / root


@wrong(
    means="The sign of the last term is wrong.",
    nudge="If the upstream gradient is n itself, a larger word gives the same n. What must nearly come out?",
)
def sign_of_the_spread_wrong(d_n, n, root):
    return (d_n - mean(d_n) + n * mean(d_n * n)) / root


@wrong(
    means="The last term counts twice: the 2 of the square and the ½ of the root cancel.",
    nudge="What is the derivative of the root of a sum of squares?",
)
def the_two_of_the_square_kept(d_n, n, root):
    return (d_n - mean(d_n) - 2 * n * mean(d_n * n)) / root


@layer_norm_backward.misconception(
    means="In the last term you used the distances from the mean; they are divided by the root first, both times.",
    nudge="Which n is in the formula: before or after the division?",
)
def distances_for_n(upstream, x, gain, epsilon=1e-5):
    centred, _, _ = parts(x, epsilon)

    def d_x(d_n, n, root):
        return (d_n - mean(d_n) - centred * mean(d_n * centred)) / root

    return back(upstream, x, gain, epsilon, d_x)


@layer_norm_backward.misconception(
    means="In the last term you used x itself; the normalised n is expected.",
    nudge="Which numbers are meant by n, and do you have them at hand?",
)
def x_for_n(upstream, x, gain, epsilon=1e-5):
    return back(upstream, x, gain, epsilon, lambda d_n, n, root: (d_n - mean(d_n) - x * mean(d_n * x)) / root)


# The gain.


@layer_norm_backward.misconception(
    means="The gain is missing in the gradient of x: the forward pass multiplies n by it.",
    nudge="y = gain · n + bias. What is the gradient for n, if that for y is given?",
)
def gain_forgotten(upstream, x, gain, epsilon=1e-5):
    _, n, root = parts(x, epsilon)
    return right(upstream, n, root), over_words(upstream * n), over_words(upstream)


@layer_norm_backward.misconception(
    means="The gain multiplies at the very end; it has to be inside both means.",
    nudge="In the forward pass the gain comes last. When does it come in the backward pass?",
)
def gain_at_the_end(upstream, x, gain, epsilon=1e-5):
    _, n, root = parts(x, epsilon)
    return gain * right(upstream, n, root), over_words(upstream * n), over_words(upstream)


@layer_norm_backward.misconception(
    means="The gain is missing in the second mean: all three terms of the bracket contain d_n.",
    nudge="The bracket contains d_n three times. Is it upstream times gain each time?",
)
def gain_missing_in_the_second_mean(upstream, x, gain, epsilon=1e-5):
    def d_x(d_n, n, root):
        return (d_n - mean(d_n) - n * mean(upstream * n)) / root

    return back(upstream, x, gain, epsilon, d_x)


@layer_norm_backward.misconception(
    means="The gain is missing in the first mean: all three terms of the bracket contain d_n.",
    nudge="The bracket contains d_n three times. Is it upstream times gain each time?",
)
def gain_missing_in_the_first_mean(upstream, x, gain, epsilon=1e-5):
    def d_x(d_n, n, root):
        return (d_n - mean(upstream) - n * mean(d_n * n)) / root

    return back(upstream, x, gain, epsilon, d_x)


@layer_norm_backward.misconception(
    means="The gain is missing in both means: all three terms of the bracket contain d_n.",
    nudge="The bracket contains d_n three times. Is it upstream times gain each time?",
)
def gain_missing_in_both_means(upstream, x, gain, epsilon=1e-5):
    def d_x(d_n, n, root):
        return (d_n - mean(upstream) - n * mean(upstream * n)) / root

    return back(upstream, x, gain, epsilon, d_x)


@layer_norm_backward.misconception(
    means="You multiplied by the gain twice.",
    nudge="Where does the forward pass use the gain, and how often?",
)
def gain_twice(upstream, x, gain, epsilon=1e-5):
    return back(upstream, x, gain, epsilon, lambda d_n, n, root: right(d_n * gain, n, root))


@layer_norm_backward.misconception(
    means="Your first result is the *forward* pass of layer norm without its bias; its gradient is expected.",
    nudge="Where does your first result use the upstream gradient?",
)
def the_way_forward(upstream, x, gain, epsilon=1e-5):
    return back(upstream, x, gain, epsilon, lambda d_n, n, root: gain * n)


@layer_norm_backward.misconception(
    means="You took a root once too often: it is divided by the root of (variance + epsilon), not by the root of that.",
    nudge="By what does the forward pass divide the token?",
)
def a_root_too_many(upstream, x, gain, epsilon=1e-5):
    return back(upstream, x, gain, epsilon, lambda d_n, n, root: right(d_n, n, root**0.5))


@layer_norm_backward.misconception(
    means="You divided by the gain; both passes multiply by it.",
    nudge="y = gain · n + bias. What is the derivative of y with respect to n?",
)
def divided_by_the_gain(upstream, x, gain, epsilon=1e-5):
    _, n, root = parts(x, epsilon)
    return right(upstream / gain, n, root), over_words(upstream * n), over_words(upstream)


@layer_norm_backward.misconception(
    means="Your gradient of the gain contains the gain itself; only upstream is multiplied by n there.",
    nudge="y = gain · n + bias. What is the derivative of y with respect to the gain?",
)
def gain_in_its_own_gradient(upstream, x, gain, epsilon=1e-5):
    d_x, d_gain, d_bias = back(upstream, x, gain, epsilon, right)
    return d_x, d_gain * gain, d_bias


@layer_norm_backward.misconception(
    means="For the gain you multiplied upstream by x; the gain multiplies the normalised word.",
    nudge="What is the gain multiplied by in the forward pass?",
)
def x_in_the_gains_gradient(upstream, x, gain, epsilon=1e-5):
    d_x, _, d_bias = back(upstream, x, gain, epsilon, right)
    return d_x, over_words(upstream * x), d_bias


@layer_norm_backward.misconception(
    means="For the gain you multiplied upstream by the distances from the mean, not yet divided by the root.",
    nudge="What is the gain multiplied by in the forward pass?",
)
def distances_in_the_gains_gradient(upstream, x, gain, epsilon=1e-5):
    d_x, _, d_bias = back(upstream, x, gain, epsilon, right)
    return d_x, over_words(upstream * parts(x, epsilon)[0]), d_bias


@layer_norm_backward.misconception(
    means="The gradient for the bias is multiplied by the gain; the bias is added after the gain.",
    nudge="y = gain · n + bias. What is the derivative of y with respect to the bias?",
)
def gain_in_the_bias(upstream, x, gain, epsilon=1e-5):
    d_x, d_gain, d_bias = back(upstream, x, gain, epsilon, right)
    return d_x, d_gain, d_bias * gain


@layer_norm_backward.misconception(
    means="You took the mean over the words for gain and bias; every word uses the same gain, so that all are added.",
    nudge="A number that is used in many places gets a gradient from each. How are they put together?",
)
def means_for_gain_and_bias(upstream, x, gain, epsilon=1e-5):
    d_x, d_gain, d_bias = back(upstream, x, gain, epsilon, right)
    words = max(1, len(flat(upstream)))
    return d_x, d_gain / words, d_bias / words


@layer_norm_backward.misconception(
    means="The gradients for gain and bias are not added up over the words: each word still has its own.",
    nudge="Which shape does the gain have, and which shape must its gradient have?",
)
def not_added_up(upstream, x, gain, epsilon=1e-5):
    d_x, _, _ = back(upstream, x, gain, epsilon, right)
    return d_x, upstream * parts(x, epsilon)[1], 1.0 * upstream


@layer_norm_backward.misconception(
    means="The gradients for gain and bias are added up along axis 0 only.",
    nudge="How many axes can x have, and which of them must be gone?",
)
def added_up_along_axis_0(upstream, x, gain, epsilon=1e-5):
    d_x, _, _ = back(upstream, x, gain, epsilon, right)
    return d_x, (upstream * parts(x, epsilon)[1]).sum(axis=0), upstream.sum(axis=0)


@layer_norm_backward.misconception(
    means="You summed the gradients of gain and bias over the numbers of each token; sum over the tokens.",
    nudge="Which shape does the gain have, and which axis must stay?",
)
def added_up_over_the_numbers(upstream, x, gain, epsilon=1e-5):
    d_x, _, _ = back(upstream, x, gain, epsilon, right)
    return d_x, (upstream * parts(x, epsilon)[1]).sum(axis=-1), upstream.sum(axis=-1)


@layer_norm_backward.misconception(
    means="The gradients for gain and bias have changed places.",
    nudge="In which order does the docstring list what is returned?",
)
def gain_and_bias_exchanged(upstream, x, gain, epsilon=1e-5):
    d_x, d_gain, d_bias = back(upstream, x, gain, epsilon, right)
    return d_x, d_bias, d_gain


# Epsilon and the variance.


@layer_norm_backward.misconception(
    means="Epsilon is missing: for numbers that are very close together the result differs.",
    nudge="What does the forward pass add to the variance?",
)
def no_epsilon(upstream, x, gain, epsilon=1e-5):
    with np.errstate(all="ignore"):
        return back(upstream, x, gain, 0.0, right)


@layer_norm_backward.misconception(
    means="You always use 0.00001, whatever `epsilon` is.",
    nudge="Where in your function does `epsilon` appear?",
)
def always_the_usual_epsilon(upstream, x, gain, epsilon=1e-5):
    return back(upstream, x, gain, 1e-5, right)


def other_root(upstream, x, gain, root_of):
    centred = x - mean(x)
    root = root_of(centred)
    n = centred / root
    return right(upstream * gain, n, root), over_words(upstream * n), over_words(upstream)


@layer_norm_backward.misconception(
    means="Epsilon is added to the standard deviation; it belongs under the root, to the variance.",
    nudge="What does the root stretch over in the formula of layer norm?",
)
def epsilon_outside_the_root(upstream, x, gain, epsilon=1e-5):
    return other_root(upstream, x, gain, lambda c: np.sqrt(mean(c**2)) + epsilon)


@layer_norm_backward.misconception(
    means="Your variance is divided by d − 1, as for a sample; layer norm divides by d.",
    nudge="Which `ddof` does your function of NumPy (or of a library) use?",
)
def divided_by_d_minus_one(upstream, x, gain, epsilon=1e-5):
    return other_root(
        upstream,
        x,
        gain,
        lambda c: np.sqrt((c**2).sum(-1, keepdims=True) / max(c.shape[-1] - 1, 1) + epsilon),
    )


@layer_norm_backward.misconception(
    means="You normalised the upstream gradient, as the way forward does with x.",
    nudge="What has x to do with your result?",
)
def upstream_normalised(upstream, x, gain, epsilon=1e-5):
    return (
        gain * parts(upstream, epsilon)[1],
        over_words(upstream * parts(x, epsilon)[1]),
        over_words(upstream),
    )


@layer_norm_backward.combined_misconception(gain_forgotten, mean_and_spread_as_if_fixed)
def fixed_and_no_gain(upstream, x, gain, epsilon=1e-5):
    _, n, root = parts(x, epsilon)
    return upstream / root, over_words(upstream * n), over_words(upstream)


@layer_norm_backward.combined_misconception(mean_and_spread_as_if_fixed, added_up_along_axis_0)
def fixed_and_axis_0(upstream, x, gain, epsilon=1e-5):
    _, n, root = parts(x, epsilon)
    return upstream * gain / root, (upstream * n).sum(axis=0), upstream.sum(axis=0)


@layer_norm_backward.combined_misconception(mean_and_spread_as_if_fixed, no_epsilon)
def fixed_and_no_epsilon(upstream, x, gain, epsilon=1e-5):
    with np.errstate(all="ignore"):
        return back(upstream, x, gain, 0.0, lambda d_n, n, root: d_n / root)


@layer_norm_backward.combined_misconception(gain_forgotten, through_the_variance_forgotten)
def no_gain_no_variance(upstream, x, gain, epsilon=1e-5):
    _, n, root = parts(x, epsilon)
    return (upstream - mean(upstream)) / root, over_words(upstream * n), over_words(upstream)


@layer_norm_backward.common_mistake
def modifies_argument(upstream, x, gain, epsilon=1e-5):
    _, n, root = parts(x, epsilon)
    d_gain, d_bias = over_words(upstream * n), over_words(upstream)
    upstream *= gain
    return right(upstream, n, root), d_gain, d_bias


# Other right answers, which must pass.


@layer_norm_backward.variant
def step_by_step(upstream, x, gain, epsilon=1e-5):
    d = x.shape[-1]
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    root = np.sqrt(variance + epsilon)
    d_n = upstream * gain
    d_root = -(d_n * centred).sum(axis=-1, keepdims=True) / root**2
    d_variance = d_root / (2 * root)
    d_centred = d_n / root + d_variance * 2 * centred / d
    d_x = d_centred - d_centred.sum(axis=-1, keepdims=True) / d
    axes = all_but_last(x)
    return d_x, (upstream * centred / root).sum(axis=axes), upstream.sum(axis=axes)


@layer_norm_backward.variant
def with_a_matrix_for_each_word(upstream, x, gain, epsilon=1e-5):
    d = x.shape[-1]
    n = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)
    jacobian = (np.eye(d) - 1 / d - n[..., :, None] * n[..., None, :] / d) / np.sqrt(
        x.var(-1, keepdims=True) + epsilon
    )[..., None]
    d_x = (jacobian @ (upstream * gain)[..., None])[..., 0]
    return d_x, (upstream * n).reshape(-1, d).sum(0), upstream.reshape(-1, d).sum(0)


@layer_norm_backward.variant
def all_over_d(upstream, x, gain, epsilon=1e-5):
    d = x.shape[-1]
    inverse = (x.var(axis=-1, keepdims=True) + epsilon) ** -0.5
    n = (x - x.mean(axis=-1, keepdims=True)) * inverse
    d_n = upstream * gain
    total = np.sum(d_n, axis=-1, keepdims=True)
    d_x = inverse / d * (d * d_n - total - n * np.sum(d_n * n, axis=-1, keepdims=True))
    return d_x, np.einsum("nd,nd->d", flat(upstream), flat(n)), np.ones(len(flat(upstream))) @ flat(upstream)


@layer_norm_backward.variant
def word_by_word(upstream, x, gain, epsilon=1e-5):
    d_x, d_gain, d_bias = np.empty_like(x), np.zeros_like(gain), np.zeros_like(gain)
    for place in np.ndindex(x.shape[:-1]):
        word, g = x[place], upstream[place]
        root = np.sqrt(np.var(word) + epsilon)
        n = (word - np.mean(word)) / root
        d_gain, d_bias = d_gain + g * n, d_bias + g
        g = g * gain
        d_x[place] = (g - g.mean() - n * (g * n).mean()) / root
    return d_x, d_gain, d_bias
