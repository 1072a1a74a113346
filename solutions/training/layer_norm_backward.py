"""The exercise `layer_norm_backward`: a word's numbers move its mean and its spread as well."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import all_but_last, flat, gains, mean

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


@layer_norm_backward.slips("""
    mean_and_spread_as_if_fixed: You treated the mean and the root as constants. If a number of x changes,
        they change too, so your d_x lacks two terms, one for each.
        Hint: If one number of the word grows, what happens to the mean that is subtracted from all of
        them?
    through_the_mean_forgotten: The way through the mean is missing: each number moves the mean, and so
        all others.
        Hint: The bracket of the formula has three terms. Which of them comes from the mean?
    through_the_variance_forgotten: The path through the variance is missing (or you took the mean of n
        alone, which is 0): each number moves the root that all are divided by.
        Hint: The bracket of the formula has three terms. Which of them contains n twice?
    not_times_n_again: You took the mean of d_n times n, and did not multiply it by n again.
        Hint: Which factor of the last term of the bracket is different for each number?
    sums_for_means: You took sums; means are expected: the formula divides by d.
        Hint: mean(…) in the formula: of how many numbers?
    means_over_everything: You took the means over all words together; each word has its own.
        Hint: Along which axis do the numbers of one word lie?
    means_along_axis_0: You took the means along axis 0, over the words or the sentences, not over the
        numbers of a word.
        Hint: Along which axis do the numbers of one word lie?
    means_over_the_words: You took the means over the words of a sentence, not over the numbers of a
        word.
        Hint: Along which axis do the numbers of one word lie?
    not_divided_by_the_root: Nothing is divided by the root of the variance.
        Hint: If the forward pass divides, what does the backward pass do?
    multiplied_by_the_root: You multiplied by the root of the variance; both passes divide by it.
        Hint: If n = x / c, what is the derivative of n with respect to x?
    divided_by_the_variance: You divided by the variance; its root is expected.
        Hint: By what does the forward pass divide the token?
    brackets_lost: Only the last term is divided by the root: a bracket is missing.
        Hint: In the formula, what is divided by r: the last term, or the whole bracket?
    both_signs_wrong: Two signs are wrong: the two means are subtracted.
        Hint: Give every number of a word the same upstream gradient. What must come out?
    sign_of_the_mean_wrong: The sign of the mean of d_n is wrong.
        Hint: Give every number of a word the same upstream gradient. What must come out?
    sign_of_the_spread_wrong: The sign of the last term is wrong.
        Hint: If the upstream gradient is n itself, a larger word gives the same n. What must nearly come
        out?
    the_two_of_the_square_kept: The last term counts twice: the 2 of the square and the ½ of the root
        cancel.
        Hint: What is the derivative of the root of a sum of squares?
    distances_for_n: In the last term you used the distances from the mean; they are divided by the root
        first, both times.
        Hint: Which n is in the formula: before or after the division?
    x_for_n: In the last term you used x itself; the normalised n is expected.
        Hint: Which numbers are meant by n, and do you have them at hand?
    gain_forgotten: The gain is missing in the gradient of x: the forward pass multiplies n by it.
        Hint: y = gain · n + bias. What is the gradient for n, if that for y is given?
    gain_at_the_end: You multiplied by the gain at the very end. Multiply upstream by it first, and
        take both means of that.
        Hint: In the forward pass the gain comes last. When does it come in the backward pass?
    gain_missing_in_the_second_mean: The gain is missing in the second mean: all three terms of the
        bracket contain d_n.
        Hint: The bracket contains d_n three times. Is it upstream times gain each time?
    gain_missing_in_the_first_mean: The gain is missing in the first mean: all three terms of the bracket
        contain d_n.
        Hint: The bracket contains d_n three times. Is it upstream times gain each time?
    gain_missing_in_both_means: The gain is missing in both means: all three terms of the bracket contain
        d_n.
        Hint: The bracket contains d_n three times. Is it upstream times gain each time?
    gain_twice: You multiplied by the gain twice.
        Hint: Where does the forward pass use the gain, and how often?
    the_way_forward: Your first result is the *forward* pass of layer norm without its bias; its gradient
        is expected.
        Hint: Where does your first result use the upstream gradient?
    a_root_too_many: You took a root once too often: it is divided by the root of (variance + epsilon),
        not by the root of that.
        Hint: By what does the forward pass divide the token?
    divided_by_the_gain: You divided by the gain; both passes multiply by it.
        Hint: y = gain · n + bias. What is the derivative of y with respect to n?
    gain_in_its_own_gradient: Your gradient of the gain contains the gain itself; only upstream is
        multiplied by n there.
        Hint: y = gain · n + bias. What is the derivative of y with respect to the gain?
    x_in_the_gains_gradient: For the gain you multiplied upstream by x; the gain multiplies the
        normalised word.
        Hint: What is the gain multiplied by in the forward pass?
    distances_in_the_gains_gradient: For the gain you multiplied upstream by the distances from the mean,
        not yet divided by the root.
        Hint: What is the gain multiplied by in the forward pass?
    gain_in_the_bias: The gradient for the bias is multiplied by the gain; the bias is added after the
        gain.
        Hint: y = gain · n + bias. What is the derivative of y with respect to the bias?
    means_for_gain_and_bias: You took the mean over the words for gain and bias; every word uses the same
        gain, so that all are added.
        Hint: A number that is used in many places gets a gradient from each. How are they put together?
    not_added_up: The gradients for gain and bias are not added up over the words: each word still has
        its own.
        Hint: Which shape does the gain have, and which shape must its gradient have?
    added_up_along_axis_0: The gradients for gain and bias are added up along axis 0 only.
        Hint: How many axes can x have, and which of them must be gone?
    added_up_over_the_numbers: You summed the gradients of gain and bias over the numbers of each token;
        sum over the tokens.
        Hint: Which shape does the gain have, and which axis must stay?
    gain_and_bias_exchanged: The gradients for gain and bias have changed places.
        Hint: In which order does the docstring list what is returned?
    no_epsilon: Epsilon is missing: for numbers that are very close together the result differs.
        Hint: What does the forward pass add to the variance?
    always_the_usual_epsilon: You always use 0.00001, whatever `epsilon` is.
        Hint: Where in your function does `epsilon` appear?
    epsilon_outside_the_root: Epsilon is added to the standard deviation; it belongs under the root, to
        the variance.
        Hint: What stands under the root in the formula of layer norm?
    divided_by_d_minus_one: Your variance is divided by d − 1, as for a sample; layer norm divides by d.
        Hint: Which `ddof` does your function of NumPy (or of a library) use?
    upstream_normalised: You normalised the upstream gradient, as the way forward does with x.
        Hint: What has x to do with your result?
    modifies_argument
""")
def layer_norm_backward_with_slips(slip, upstream, x, gain, epsilon=1e-5):
    d = x.shape[-1]
    under_the_root = slip.choose(
        epsilon, no_epsilon=0.0, always_the_usual_epsilon=1e-5, epsilon_outside_the_root=0.0
    )
    centred = x - mean(x)
    variance = mean(centred**2)
    if slip.divided_by_d_minus_one:
        variance = variance * d / max(d - 1, 1)
    root = np.sqrt(variance + under_the_root)
    if slip.epsilon_outside_the_root:
        root = root + epsilon
    n = centred / root

    # The gradients of gain and bias.
    axes = slip.choose(
        all_but_last(x), not_added_up=(), added_up_along_axis_0=0, added_up_over_the_numbers=-1
    )
    into_gain = slip.choose(n, x_in_the_gains_gradient=x, distances_in_the_gains_gradient=centred)
    d_gain, d_bias = (upstream * into_gain).sum(axis=axes), upstream.sum(axis=axes)
    if slip.gain_in_its_own_gradient:
        d_gain = d_gain * gain
    if slip.gain_in_the_bias:
        d_bias = d_bias * gain
    if slip.means_for_gain_and_bias:
        d_gain, d_bias = d_gain / len(flat(x)), d_bias / len(flat(x))
    if slip.gain_and_bias_exchanged:
        d_gain, d_bias = d_bias, d_gain

    # The gradient of x.
    d_n = slip.choose(
        upstream * gain,
        gain_forgotten=upstream,
        gain_at_the_end=upstream,
        gain_twice=upstream * gain * gain,
        divided_by_the_gain=upstream / gain,
    )
    in_first_mean = slip.choose(
        d_n, gain_missing_in_the_first_mean=upstream, gain_missing_in_both_means=upstream
    )
    in_second_mean = slip.choose(
        d_n, gain_missing_in_the_second_mean=upstream, gain_missing_in_both_means=upstream
    )
    distances = slip.choose(n, distances_for_n=centred, x_for_n=x)
    axis = slip.choose(
        -1, means_over_everything=None, means_along_axis_0=0, means_over_the_words=max(-2, -x.ndim)
    )
    first, second = mean(in_first_mean, axis), mean(in_second_mean * distances, axis)
    if slip.sums_for_means:
        first, second = d * first, d * second
    last = slip.choose(
        distances * second,
        not_times_n_again=second,
        the_two_of_the_square_kept=2 * distances * second,
    )
    bracket = slip.choose(
        d_n - first - last,
        mean_and_spread_as_if_fixed=d_n,
        through_the_mean_forgotten=d_n - last,
        through_the_variance_forgotten=d_n - first,
        both_signs_wrong=d_n + first + last,
        sign_of_the_mean_wrong=d_n + first - last,
        sign_of_the_spread_wrong=d_n - first + last,
    )
    d_x = slip.choose(
        bracket / root,
        not_divided_by_the_root=bracket,
        multiplied_by_the_root=bracket * root,
        divided_by_the_variance=bracket / root**2,
        a_root_too_many=bracket / root**0.5,
        brackets_lost=d_n - first - last / root,
        gain_at_the_end=gain * bracket / root,
        the_way_forward=gain * n,
    )
    if slip.upstream_normalised:
        distances = upstream - mean(upstream)
        d_x = gain * distances / np.sqrt(mean(distances**2) + epsilon)
    if slip.modifies_argument:
        upstream *= gain
    return d_x, d_gain, d_bias


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
    return (
        d_x,
        np.einsum("nd,nd->d", flat(upstream), flat(n)),
        np.ones(len(flat(upstream))) @ flat(upstream),
    )


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
