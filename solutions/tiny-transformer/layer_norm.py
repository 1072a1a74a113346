"""The exercise `layer_norm`: each word to mean 0 and variance 1, then a gain and a bias."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import TWO, gains, norm

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


# Over what?


@layer_norm.misconception(
    means="You normalised over the words of a sentence: "
    "each column has mean 0, and a word now depends on its neighbours.",
    nudge="A word's own numbers lie along which axis?",
)
def over_the_words(x, gain, bias, epsilon=1e-5):
    axis = -2 if x.ndim > 1 else -1
    centred = x - x.mean(axis=axis, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=axis, keepdims=True) + epsilon) * gain + bias


@layer_norm.misconception(
    means="You normalised along axis 0, so in a batch a sentence depends on the other sentences.",
    nudge="How do you name the last axis, however many there are before it?",
)
def over_axis_0(x, gain, bias, epsilon=1e-5):
    centred = x - x.mean(axis=0, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=0, keepdims=True) + epsilon) * gain + bias


@layer_norm.misconception(
    means="You took one mean and one variance for the whole array instead of one for each word.",
    nudge="What do `axis=-1` and `keepdims=True` change in a mean?",
)
def over_everything(x, gain, bias, epsilon=1e-5):
    return (x - x.mean()) / np.sqrt(x.var() + epsilon) * gain + bias


@layer_norm.misconception(
    means="You took one mean and one variance for a whole sentence, over its words and their numbers.",
    nudge="A word should come out the same whatever words stand beside it. Over which axis, then?",
)
def over_the_sentence(x, gain, bias, epsilon=1e-5):
    axes = tuple(range(x.ndim))[-2:]
    centred = x - x.mean(axis=axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + epsilon) * gain + bias


@layer_norm.misconception(
    means="The mean of each word has lost its axis, so NumPy subtracts it from the wrong numbers, "
    "or finds that the shapes do not fit.",
    nudge="What shape has `x.mean(axis=-1)`, and what does `keepdims=True` change?",
)
def no_keepdims(x, gain, bias, epsilon=1e-5):
    return (x - x.mean(axis=-1)) / np.sqrt(x.var(axis=-1) + epsilon) * gain + bias


# By what?


@layer_norm.misconception(
    means="Your variance is divided by d − 1, and epsilon is added outside the root: "
    "a published form that differs from the formula above.",
    nudge="Compare both with the formula: by what is the sum of squares divided, and where does the root end?",
)
def sample_deviation_plus_epsilon(x, gain, bias, epsilon=1e-5):
    d = x.shape[-1]
    with np.errstate(all="ignore"):
        deviation = np.sqrt(x.var(axis=-1, keepdims=True) * d / np.float64(d - 1))
        return (x - x.mean(axis=-1, keepdims=True)) / (deviation + epsilon) * gain + bias


@layer_norm.misconception(
    means="Your variance is divided by d − 1, as for a sample; layer norm divides by d.",
    nudge="What does `ddof` do in `np.var` and `np.std`, and which value does it have if you leave it out?",
)
def divided_by_d_minus_one(x, gain, bias, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        variance = (centred**2).sum(axis=-1, keepdims=True) / np.float64(x.shape[-1] - 1)
        return centred / np.sqrt(variance + epsilon) * gain + bias


@layer_norm.misconception(
    means="Epsilon is added to the standard deviation; it belongs under the root, to the variance.",
    nudge="Look where the root in the formula begins and ends.",
)
def epsilon_outside_the_root(x, gain, bias, epsilon=1e-5):
    return (x - x.mean(axis=-1, keepdims=True)) / (x.std(axis=-1, keepdims=True) + epsilon) * gain + bias


@layer_norm.misconception(
    means="Epsilon is missing: for numbers that are very close together the result differs, "
    "and for equal ones it is not a number.",
    nudge="What is 0 divided by 0, and what in the formula prevents it?",
)
def no_epsilon(x, gain, bias, epsilon=1e-5):
    with np.errstate(all="ignore"):
        return norm(x, gain, bias, 0)


@layer_norm.misconception(
    means="You always use 0.00001, whatever `epsilon` is.",
    nudge="Where does your code use its argument `epsilon`?",
)
def always_the_usual_epsilon(x, gain, bias, epsilon=1e-5):
    return norm(x, gain, bias)


@layer_norm.misconception(
    means="You used epsilon squared under the root.",
    nudge="In the formula epsilon is added to the variance just as it is.",
)
def epsilon_squared(x, gain, bias, epsilon=1e-5):
    return norm(x, gain, bias, epsilon**2)


@layer_norm.misconception(
    means="You divided by the variance; numbers have variance 1 after division by its root.",
    nudge="If all numbers are doubled, by how much does their variance grow?",
)
def divided_by_the_variance(x, gain, bias, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (x.var(axis=-1, keepdims=True) + epsilon) * gain + bias


@layer_norm.misconception(
    means="You squared the variance. The formula has its square root.",
    nudge="Which power is a square root?",
)
def squared_for_root(x, gain, bias, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (x.var(axis=-1, keepdims=True) + epsilon) ** 2 * gain + bias


@layer_norm.misconception(
    means="You divided by the norm of the token's vector, the root of a sum of squares. The formula has the "
    "root of their mean.",
    nudge="The variance is a mean over d numbers. Did you divide by d?",
)
def sum_for_mean(x, gain, bias, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).sum(axis=-1, keepdims=True) + epsilon) * gain + bias


@layer_norm.misconception(
    means="You did not subtract the mean: this is RMS norm, its relative in newer models.",
    nudge="Which mean should each word have before gain and bias?",
)
def rms_norm(x, gain, bias, epsilon=1e-5):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * gain + bias


@layer_norm.misconception(
    means="You divided by the right number, but never subtracted the mean.",
    nudge="Which mean should each word have before gain and bias?",
)
def mean_not_subtracted(x, gain, bias, epsilon=1e-5):
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + epsilon) * gain + bias


@layer_norm.misconception(
    means="You subtracted the mean, but divided by the root of the mean square of the numbers as they came.",
    nudge="The variance is the mean square of which numbers: those before or after the mean was subtracted?",
)
def centred_over_raw_squares(x, gain, bias, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * gain + bias


@layer_norm.misconception(
    means="You subtracted the mean, but nothing divides by the spread.",
    nudge="Which variance should each word have before gain and bias?",
)
def only_centred(x, gain, bias, epsilon=1e-5):
    return (x - x.mean(axis=-1, keepdims=True)) * gain + bias


# Gain and bias.


@layer_norm.misconception(
    means="Neither gain nor bias comes in.",
    nudge="What is done to the normalised numbers at the end?",
)
def neither_gain_nor_bias(x, gain, bias, epsilon=1e-5):
    return norm(x, 1.0, 0.0, epsilon)


@layer_norm.misconception(means="The gain is missing.", nudge="What is the normalised word multiplied by?")
def no_gain(x, gain, bias, epsilon=1e-5):
    return norm(x, 1.0, bias, epsilon)


@layer_norm.misconception(means="The bias is missing.", nudge="What is added at the very end?")
def no_bias(x, gain, bias, epsilon=1e-5):
    return norm(x, gain, 0.0, epsilon)


@layer_norm.misconception(
    means="Gain and bias have changed places.",
    nudge="Which of the two is near 1 in a new model, and which near 0?",
)
def gain_and_bias_exchanged(x, gain, bias, epsilon=1e-5):
    return norm(x, bias, gain, epsilon)


@layer_norm.misconception(
    means="The bias is added before the gain multiplies, so it is multiplied as well.",
    nudge="In which order do gain and bias stand in the formula? Where would brackets be needed?",
)
def bias_before_gain(x, gain, bias, epsilon=1e-5):
    return (norm(x, 1.0, 0.0, epsilon) + bias) * gain


@layer_norm.misconception(
    means="Gain and bias are used on the numbers as they came, and normalised away again.",
    nudge="What should be the last step?",
)
def gain_and_bias_first(x, gain, bias, epsilon=1e-5):
    return norm(x * gain + bias, 1.0, 0.0, epsilon)


# Two at once.


def normed(x, axis=-1, epsilon=0.0, root=True):
    """Without gain and bias; over another axis, or divided by the variance, where asked for."""
    centred = x - x.mean(axis=axis, keepdims=True)
    spread = (centred**2).mean(axis=axis, keepdims=True) + epsilon
    return centred / (np.sqrt(spread) if root else spread)


@layer_norm.combined_misconception(divided_by_the_variance, bias_before_gain)
def variance_and_bias_before_gain(x, gain, bias, epsilon=1e-5):
    return (normed(x, -1, epsilon, False) + bias) * gain


@layer_norm.combined_misconception(divided_by_the_variance, over_everything)
def variance_over_everything(x, gain, bias, epsilon=1e-5):
    return normed(x, None, epsilon, False) * gain + bias


@layer_norm.combined_misconception(divided_by_the_variance, over_axis_0)
def variance_over_axis_0(x, gain, bias, epsilon=1e-5):
    return normed(x, 0, epsilon, False) * gain + bias


@layer_norm.combined_misconception(divided_by_the_variance, no_epsilon)
def variance_without_epsilon(x, gain, bias, epsilon=1e-5):
    with np.errstate(all="ignore"):
        return normed(x, -1, 0.0, False) * gain + bias


@layer_norm.combined_misconception(over_everything, no_epsilon)
def over_everything_without_epsilon(x, gain, bias, epsilon=1e-5):
    with np.errstate(all="ignore"):
        return normed(x, None) * gain + bias


@layer_norm.combined_misconception(over_axis_0, no_epsilon)
def over_axis_0_without_epsilon(x, gain, bias, epsilon=1e-5):
    with np.errstate(all="ignore"):
        return normed(x, 0) * gain + bias


@layer_norm.combined_misconception(bias_before_gain, no_epsilon)
def bias_before_gain_without_epsilon(x, gain, bias, epsilon=1e-5):
    with np.errstate(all="ignore"):
        return (normed(x) + bias) * gain


@layer_norm.combined_misconception(bias_before_gain, epsilon_outside_the_root)
def bias_before_gain_epsilon_outside(x, gain, bias, epsilon=1e-5):
    return ((x - x.mean(axis=-1, keepdims=True)) / (x.std(axis=-1, keepdims=True) + epsilon) + bias) * gain


@layer_norm.combined_misconception(divided_by_d_minus_one, no_epsilon)
def d_minus_one_without_epsilon(x, gain, bias, epsilon=1e-5):
    return divided_by_d_minus_one(x, gain, bias, 0.0)


@layer_norm.common_mistake
def modifies_argument(x, gain, bias, epsilon=1e-5):
    x -= x.mean(axis=-1, keepdims=True)
    return norm(x, gain, bias, epsilon)


@layer_norm.common_mistake
def lower_precision(x, gain, bias, epsilon=1e-5):
    return norm(x, gain, bias, epsilon).astype(np.float32)


@layer_norm.common_mistake
def returns_a_list(x, gain, bias, epsilon=1e-5):
    return norm(x, gain, bias, epsilon).tolist()


@layer_norm.misconception(
    means="You multiplied by 1 + gain; the gain is the factor itself.",
    nudge="Some models keep the gain less 1. What does the formula multiply by?",
)
def gain_counted_from_zero(x, gain, bias, epsilon=1e-5):
    return norm(x, 1 + gain, bias, epsilon)


@layer_norm.misconception(
    means="You brought each word to the range from 0 to 1; its mean should be 0 and its variance 1.",
    nudge="Which two numbers of a word does the formula use: its smallest and largest, or its mean and variance?",
)
def from_0_to_1(x, gain, bias, epsilon=1e-5):
    low, high = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        return (x - low) / (high - low) * gain + bias


@layer_norm.misconception(
    means="You divided by the mean absolute deviation. The formula has the root of the mean square.",
    nudge="What is squared in a variance, and when is the root taken?",
)
def mean_distance(x, gain, bias, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.abs(centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(spread**2 + epsilon) * gain + bias


@layer_norm.misconception(
    means="The default of `epsilon` in your function is 1e-6; it should be 1e-5.",
    nudge="Compare the first line of your function with that of the stub.",
)
def another_usual_epsilon(x, gain, bias, epsilon=1e-5):
    return norm(x, gain, bias, 1e-6 if epsilon == 1e-5 else epsilon)


# Other right answers, which must pass.


@layer_norm.variant
def with_var(x, gain, bias, epsilon=1e-5):
    return gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(np.var(x, -1, keepdims=True) + epsilon) + bias


@layer_norm.variant
def with_std(x, gain, bias, eps=None, epsilon=1e-5):
    spread = (x.std(axis=-1, keepdims=True) ** 2 + epsilon) ** 0.5
    return (x - np.expand_dims(np.mean(x, axis=-1), -1)) / spread * gain + bias


@layer_norm.variant
def word_by_word(x, gain, bias, epsilon=1e-5):
    rows = [
        (row - row.mean()) / np.sqrt(row.var() + epsilon) * gain + bias for row in x.reshape(-1, x.shape[-1])
    ]
    return np.array(rows).reshape(x.shape)


@layer_norm.variant
def with_einsum(x, gain, bias, epsilon=1e-5):
    d = x.shape[-1]
    centred = x - np.einsum("...d->...", x)[..., None] / d
    return (
        centred * (np.einsum("...d,...d->...", centred, centred)[..., None] / d + epsilon) ** -0.5 * gain
        + bias
    )
