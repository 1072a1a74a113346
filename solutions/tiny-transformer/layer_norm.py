"""The exercise `layer_norm`: each word to mean 0 and variance 1, then a gain and a bias."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import TWO, gains

layer_norm = Exercise("layer_norm", points=2)


def given(rng, shape, scale=1.0, shift=0.0, **kwargs):
    x = scale * (shift + rng.normal(size=shape))
    return inputs(x, gains(rng, shape[-1]), 0.3 * rng.normal(size=shape[-1]), **kwargs)


@layer_norm.domain(
    sizes={"batch": (1, 60), "L": (1, 60), "d": (1, 60)},
    flags={"axes": (3, 2, 1), "epsilon": (1e-5, 0.1)},
    magnitudes=(1.0, 1e-3, 1000.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, d, axes, epsilon, magnitude):
    return given(rng, (batch, L, d)[3 - axes :], magnitude, epsilon=epsilon)


@layer_norm.case("the notebook's example, gain 1 and bias 0")
def example(rng):
    return inputs(TWO, np.ones(4), np.zeros(4))


@layer_norm.case("one token")
def one_word(rng):
    return given(rng, sizes(rng, 1, 4))


@layer_norm.case("a sentence (L, d)")
def sentence(rng):
    return given(rng, sizes(rng, 2, 3))


@layer_norm.case("L = d")
def square(rng):
    size = int(rng.integers(4, 7))
    return given(rng, (size, size))


@layer_norm.case("sentences (batch, L, d), far from 0")
def sentences(rng):
    return given(rng, sizes(rng, 3, 3), shift=4.0)


@layer_norm.case("batch, L and d all the same size")
def cube(rng):
    size = int(rng.integers(3, 6))
    return given(rng, (size, size, size), shift=1.0)


@layer_norm.case("very small numbers, for which epsilon matters")
def small(rng):
    return given(rng, sizes(rng, 3, 3), scale=3e-3)


@layer_norm.case("a large epsilon")
def large_epsilon(rng):
    return given(rng, sizes(rng, 3, 3), epsilon=0.5)


@layer_norm.slips("""
    over_the_words: You normalised over the words of a sentence: each column has mean 0, and a word now
        depends on its neighbours.
        Hint: A word's own numbers lie along which axis?
    over_axis_0: Your mean and variance run over axis 0. They must run over the numbers of one
        token, the last axis.
        Hint: How do you name the last axis, however many there are before it?
    over_everything: You took one mean and one variance for the whole array instead of one for each word.
        Hint: What do `axis=-1` and `keepdims=True` change in a mean?
    over_the_sentence: You took one mean and one variance for a whole sentence, over its words and their
        numbers.
        Hint: A word should come out the same whatever words stand beside it. Over which axis, then?
    no_keepdims: The mean of each word has lost its axis, so NumPy subtracts it from the wrong numbers, or
        finds that the shapes do not fit.
        Hint: What shape has `x.mean(axis=-1)`, and what does `keepdims=True` change?
    sample_deviation_plus_epsilon: Your variance is divided by d − 1, and epsilon is added outside the root:
        a published form that differs from the formula above.
        Hint: Compare both with the formula: by what is the sum of squares divided, and where does the root end?
    divided_by_d_minus_one: Your variance is divided by d − 1, as for a sample; layer norm divides by d.
        Hint: What does `ddof` do in `np.var` and `np.std`, and which value does it have if you leave it out?
    epsilon_outside_the_root: Epsilon is added to the standard deviation; it belongs under the root, to the
        variance.
        Hint: Look where the root in the formula begins and ends.
    no_epsilon: Epsilon is missing: for numbers that are very close together the result differs, and for
        equal ones it is not a number.
        Hint: What is 0 divided by 0, and what in the formula prevents it?
    always_the_usual_epsilon: You always use 0.00001, whatever `epsilon` is.
        Hint: Where does your code use its argument `epsilon`?
    epsilon_squared: You used epsilon squared under the root.
        Hint: In the formula epsilon is added to the variance just as it is.
    divided_by_the_variance: You divided by the variance; numbers have variance 1 after division by its root.
        Hint: If all numbers are doubled, by how much does their variance grow?
    squared_for_root: You squared the variance. The formula has its square root.
        Hint: Which power is a square root?
    sum_for_mean: You divided by the norm of the token's vector, the root of a sum of squares. The formula
        has the root of their mean.
        Hint: The variance is a mean over d numbers. Did you divide by d?
    rms_norm: You did not subtract the mean. Without it this is RMS norm, which newer models use in place of
        layer norm.
        Hint: What should the mean of each word be before you multiply by the gain?
    mean_not_subtracted: You divided by the right number, but never subtracted the mean.
        Hint: What should the mean of each word be before you multiply by the gain?
    centred_over_raw_squares: You subtracted the mean, but divided by the root of the mean square of the
        numbers as they came.
        Hint: The variance is the mean square of which numbers: those before or after the mean was subtracted?
    only_centred: You subtracted the mean, but nothing divides by the spread.
        Hint: What should the variance of each word be before you multiply by the gain?
    neither_gain_nor_bias: Neither gain nor bias comes in.
        Hint: What is done to the normalised numbers at the end?
    no_gain: The gain is missing. Hint: What is the normalised word multiplied by?
    no_bias: The bias is missing. Hint: What is added at the very end?
    gain_and_bias_exchanged: Gain and bias have changed places.
        Hint: Which of the two is near 1 in a new model, and which near 0?
    bias_before_gain: You add the bias first and multiply by the gain after that, so the bias is multiplied too.
        Hint: In which order do gain and bias stand in the formula? Where would brackets be needed?
    gain_and_bias_first: Gain and bias are used on the numbers as they came, and normalised away again.
        Hint: What should be the last step?
    modifies_argument
    lower_precision
    returns_a_list
    gain_counted_from_zero: You multiplied by 1 + gain; the gain is the factor itself.
        Hint: Some models keep the gain less 1. What does the formula multiply by?
    from_0_to_1: You brought each word to the range from 0 to 1; its mean should be 0 and its variance 1.
        Hint: Which two numbers of a word does the formula use: its smallest and largest, or its mean and
        variance?
    mean_distance: You divided by the mean absolute deviation. The formula has the root of the mean square.
        Hint: What is squared in a variance, and when is the root taken?
    another_usual_epsilon: The default of `epsilon` in your function is 1e-6; it should be 1e-5.
        Hint: Compare the first line of your function with that of the stub.
""")
def layer_norm_with_slips(slip, x, gain, bias, epsilon=1e-5):
    axis = slip.choose(
        -1,
        over_the_words=max(-2, -x.ndim),
        over_axis_0=0,
        over_everything=None,
        over_the_sentence=tuple(range(x.ndim))[-2:],
    )
    if slip.another_usual_epsilon and epsilon == 1e-5:
        epsilon = 1e-6
    epsilon = slip.choose(
        epsilon, no_epsilon=0.0, always_the_usual_epsilon=1e-5, epsilon_squared=epsilon**2
    )
    if slip.gain_and_bias_first:
        x, gain, bias = x * gain + bias, 1.0, 0.0
    if slip.modifies_argument:
        x -= x.mean(axis, keepdims=True)
    mean = x.mean(axis, keepdims=True)
    squares = slip.choose(x - mean, rms_norm=x, centred_over_raw_squares=x) ** 2
    variance = squares.mean(axis, keepdims=not slip.no_keepdims)
    if slip.no_keepdims:
        mean = x.mean(axis)
    centred = x - slip.choose(mean, rms_norm=0.0, from_0_to_1=x.min(-1, keepdims=True))
    d = x.shape[-1]
    if slip.sum_for_mean:
        variance = variance * d
    if slip.divided_by_d_minus_one or slip.sample_deviation_plus_epsilon:
        variance = variance * d / np.float64(d - 1)
    if slip.mean_distance:
        variance = np.abs(centred).mean(axis, keepdims=True) ** 2
    spread = np.sqrt(variance + epsilon)
    if slip.epsilon_outside_the_root or slip.sample_deviation_plus_epsilon:
        spread = np.sqrt(variance) + epsilon
    spread = slip.choose(
        spread,
        divided_by_the_variance=variance + epsilon,
        squared_for_root=(variance + epsilon) ** 2,
        only_centred=1.0,
        from_0_to_1=np.ptp(x, -1, keepdims=True),
    )
    normalised = slip.choose(centred, mean_not_subtracted=x) / spread
    if slip.gain_and_bias_exchanged:
        gain, bias = bias, gain
    if slip.bias_before_gain:
        return (normalised + bias) * gain
    no_gain = slip.no_gain or slip.neither_gain_nor_bias
    no_bias = slip.no_bias or slip.neither_gain_nor_bias
    factor = slip.choose(gain, gain_counted_from_zero=1 + gain)
    result = normalised * (1.0 if no_gain else factor) + (0.0 if no_bias else bias)
    if slip.returns_a_list:
        return result.tolist()
    return slip.choose(result, lower_precision=result.astype(np.float32))


# Other right answers, which must pass.


@layer_norm.variant
def with_var(x, gain, bias, epsilon=1e-5):
    return (
        gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(np.var(x, -1, keepdims=True) + epsilon)
        + bias
    )


@layer_norm.variant
def with_std(x, gain, bias, eps=None, epsilon=1e-5):
    spread = (x.std(axis=-1, keepdims=True) ** 2 + epsilon) ** 0.5
    return (x - np.expand_dims(np.mean(x, axis=-1), -1)) / spread * gain + bias


@layer_norm.variant
def word_by_word(x, gain, bias, epsilon=1e-5):
    rows = [
        (row - row.mean()) / np.sqrt(row.var() + epsilon) * gain + bias
        for row in x.reshape(-1, x.shape[-1])
    ]
    return np.array(rows).reshape(x.shape)


@layer_norm.variant
def with_einsum(x, gain, bias, epsilon=1e-5):
    d = x.shape[-1]
    centred = x - np.einsum("...d->...", x)[..., None] / d
    return (
        centred
        * (np.einsum("...d,...d->...", centred, centred)[..., None] / d + epsilon) ** -0.5
        * gain
        + bias
    )
