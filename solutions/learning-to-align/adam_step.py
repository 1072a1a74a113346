"""The exercise `adam_step`: one step of the optimiser Adam."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

adam_step = Exercise("adam_step", points=2)


def _state(rng, *shape, step):
    """Return averages as after `step - 1` steps; zeros before the first."""
    mean, square = rng.normal(size=shape), rng.random(shape) + 0.1
    early = step > 1
    return rng.normal(size=shape), rng.normal(size=shape), 0.3 * mean * early, 0.3 * square * early


@adam_step.domain(
    sizes={"rows": (1, 60), "columns": (1, 60)},
    flags={
        "axes": (2, 1),
        "step": (3, 1, 2, 1000),
        "rate": (1e-3, 0.1),
        "beta_1": (0.9, 0.0),
        "beta_2": (0.999, 0.9),
        "epsilon": (1e-8, 0.1),
    },
)
def anywhere(rng, rows, columns, axes, step, rate, beta_1, beta_2, epsilon):
    given = _state(rng, *(rows, columns)[-axes:], step=step)
    return inputs(*given, step, rate=rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)


@adam_step.case("the notebook's example by hand")
def by_hand(rng):
    return inputs(np.array([1.0]), np.array([2.0]), np.zeros(1), np.zeros(1), 1, rate=0.1)


@adam_step.case("the first step of a matrix")
def first_step(rng):
    return inputs(*_state(rng, *sizes(rng, 2), step=1), 1)


@adam_step.case("a later step")
def later(rng):
    step = int(rng.integers(4, 20))
    return inputs(*_state(rng, *sizes(rng, 2), step=step), step)


@adam_step.case("another rate and other betas")
def other_settings(rng):
    step = int(rng.integers(3, 9))
    given = _state(rng, *sizes(rng, 2), step=step)
    return inputs(*given, step, rate=0.05, beta_1=0.7, beta_2=0.95)


@adam_step.case("a large epsilon")
def large_epsilon(rng):
    step = int(rng.integers(3, 9))
    return inputs(*_state(rng, *sizes(rng, 2), step=step), step, rate=0.02, epsilon=0.3)


@adam_step.case("gradients about as small as the default epsilon")
def tiny_gradients(rng):
    shape = sizes(rng, 2)
    gradient = 1e-8 * (0.5 + rng.random(shape))
    return inputs(rng.normal(size=shape), gradient, np.zeros(shape), np.zeros(shape), 1, rate=0.1)


@adam_step.case("gradients that are exactly 0 so far")
def no_gradient(rng):
    parameter = rng.normal(size=sizes(rng, 2))
    return inputs(parameter, *(np.zeros_like(parameter) for _ in range(3)), 2)


def _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    """The right step, and the corrected averages."""
    mean = beta_1 * mean + (1 - beta_1) * gradient
    square = beta_2 * square + (1 - beta_2) * gradient**2
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square, m, s


def wrong(means, nudge):
    """Register a mistake that takes all nine arguments."""

    def register(mistake):
        def adam(parameter, gradient, mean, square, step, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
            with np.errstate(all="ignore"):
                return mistake(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)

        adam.__name__ = mistake.__name__
        adam_step.misconception(means=means, nudge=nudge)(adam)
        return mistake

    return register


# Mistakes in the correction of the start.


@wrong(
    means="The averages are not corrected for having started at 0, so the first steps have the wrong size.",
    nudge="After one step the mean is a tenth of the gradient. By what is it divided to be the gradient again?",
)
def no_correction(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * mean / (np.sqrt(square) + epsilon), mean, square


@wrong(
    means="Only the mean is corrected for having started at 0; the square is not.",
    nudge="Both averages begin at 0. Does the second one need its correction less?",
)
def only_the_mean_corrected(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, m, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * m / (np.sqrt(square) + epsilon), mean, square


@wrong(
    means="Only the square is corrected for having started at 0; the mean is not.",
    nudge="Both averages begin at 0. Does the first one need its correction less?",
)
def only_the_square_corrected(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, _, s = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * mean / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="You return the corrected averages: in the next step they would be corrected once more.",
    nudge="Which of the two, mean or corrected mean, goes into the next step's average?",
)
def corrected_averages_returned(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    new, _, _, m, s = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return new, m, s


@wrong(
    means="The correction does not depend on the step: 1 - β is right for the first step only.",
    nudge="What is the power in the formula's denominator?",
)
def correction_without_the_power(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    m, s = mean / (1 - beta_1), square / (1 - beta_2)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="You multiplied β by the step; it is raised to the power of the step.",
    nudge="How does Python write β to the power t?",
)
def times_the_step(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    m, s = mean / (1 - beta_1 * step), square / (1 - beta_2 * step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="You count the steps one too far: `step` is 1 at the first step already.",
    nudge="What should the correction's denominator be at the first step, where `step` is 1?",
)
def step_one_too_far(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    m, s = mean / (1 - beta_1 ** (step + 1)), square / (1 - beta_2 ** (step + 1))
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="You multiplied the averages by 1 - β^t; they are divided by it.",
    nudge="After one step the mean is a tenth of the gradient. Should the correction enlarge or shrink it?",
)
def multiplied_by_the_correction(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    m, s = mean * (1 - beta_1**step), square * (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


# Mistakes in the averages.


@wrong(
    means="The two betas are exchanged.",
    nudge="Which average should remember longer, that of the gradients or that of their squares?",
)
def betas_exchanged(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    return _moved(parameter, gradient, mean, square, step, rate, beta_2, beta_1, epsilon)[:3]


@wrong(
    means="In your averages β multiplies the new gradient and 1 - β the old average. It should be the reverse.",
    nudge="With β = 0.9, does the average forget nearly everything in one step, or keep most of it?",
)
def old_and_new_exchanged(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    mean = (1 - beta_1) * mean + beta_1 * gradient
    square = (1 - beta_2) * square + beta_2 * gradient**2
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="The new gradient is added whole: the factor 1 - β is missing, and this is a sum, not an average.",
    nudge="If every gradient were 1, where should the average settle?",
)
def new_gradient_added_whole(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    mean, square = beta_1 * mean + gradient, beta_2 * square + gradient**2
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="The second average holds the gradients; their squares are expected.",
    nudge="What does Adam need under the square root so that the sign of a gradient does not matter?",
)
def gradient_not_squared(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    mean = beta_1 * mean + (1 - beta_1) * gradient
    square = beta_2 * square + (1 - beta_2) * gradient
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="The second average holds the squares of the mean; the squares of the gradient are expected.",
    nudge="Which of the two enters the formula for the square: g or m?",
)
def square_of_the_mean(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    mean = beta_1 * mean + (1 - beta_1) * gradient
    square = beta_2 * square + (1 - beta_2) * mean**2
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="The second average holds the square of one number for the whole array; every entry has its own.",
    nudge="Which shape should the average of the squares have?",
)
def one_square_for_all(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    mean = beta_1 * mean + (1 - beta_1) * gradient
    square = beta_2 * square + (1 - beta_2) * np.sum(gradient**2)
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="The parameter moves by the averages as they were before this gradient came in.",
    nudge="Which comes first in the formulas, the new averages or the step?",
)
def step_before_the_averages(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, new_mean, new_square, _, _ = _moved(
        parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon
    )
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), new_mean, new_square


# Mistakes in the step.


@wrong(
    means="The parameter goes uphill: the step is added.",
    nudge="A positive gradient says that the loss grows with the parameter. Which way should it move?",
)
def uphill(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    new, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return 2 * parameter - new, mean, square


@wrong(
    means="The square root is missing: the step is divided by the average square itself.",
    nudge="If all gradients were ten times as large, should Adam's step change?",
)
def no_square_root(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, m, s = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * m / (s + epsilon), mean, square


@wrong(
    means="Epsilon is under your square root; the formula adds it to the root.",
    nudge="Where is ε in the formula of section 6, inside or outside the root?",
)
def epsilon_under_the_root(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, m, s = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * m / np.sqrt(s + epsilon), mean, square


@wrong(
    means="You moved the corrections into the rate, so epsilon is added to the root of the uncorrected square.",
    nudge="To what does the formula add ε: to the root of s, or to the root of the corrected s?",
)
def epsilon_before_the_correction(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    rate = rate * np.sqrt(1 - beta_2**step) / (1 - beta_1**step)
    return parameter - rate * mean / (np.sqrt(square) + epsilon), mean, square


@wrong(
    means="Epsilon is missing: where all gradients were 0 so far, 0 is divided by 0.",
    nudge="What is the root of the average square for a parameter that has had no gradient yet?",
)
def no_epsilon(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, m, s = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * m / np.sqrt(s), mean, square


@wrong(
    means="The numerator of your step is the new gradient alone; the average of the gradients is expected.",
    nudge="What is the first average kept for, if the step does not use it?",
)
def gradient_for_the_mean(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, _, s = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * gradient / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="The step is not divided by the root of the average square: this is momentum only.",
    nudge="What is the second average kept for, if the step does not use it?",
)
def momentum_only(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, m, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * m, mean, square


@wrong(
    means="The settings are fixed at their usual values; what the caller passes for them is ignored.",
    nudge="Where do `rate`, `beta_1`, `beta_2` and `epsilon` appear in your code?",
)
def settings_ignored(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    return _moved(parameter, gradient, mean, square, step, 1e-3, 0.9, 0.999, 1e-8)[:3]


@wrong(
    means="The old averages are returned, so the optimiser forgets each step at once.",
    nudge="Which averages will the next step start from?",
)
def old_averages_returned(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    return _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)[0], mean, square


@wrong(
    means="You return the parameter alone; the two averages are needed for the next step.",
    nudge="Which three things does the docstring say come back?",
)
def parameter_alone(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    return _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)[0]


@wrong(
    means="You return the averages first and the parameter last.",
    nudge="In which order does the docstring name the three?",
)
def parameter_last(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    new, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return mean, square, new


@adam_step.common_mistake
def modifies_argument(
    parameter, gradient, mean, square, step, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-8
):
    mean *= beta_1
    mean += (1 - beta_1) * gradient
    square *= beta_2
    square += (1 - beta_2) * gradient**2
    parameter -= rate * mean / (1 - beta_1**step) / (np.sqrt(square / (1 - beta_2**step)) + epsilon)
    return parameter, mean, square


@wrong(
    means="This is plain gradient descent: the two averages are neither used nor brought up to date.",
    nudge="What does Adam divide the step by, and where does that come from?",
)
def plain_descent(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    return parameter - rate * gradient, mean, square


@wrong(
    means="You averaged the absolute value of the gradient; its square is expected.",
    nudge="Of which average does the step take the square root?",
)
def absolute_for_squared(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, _, m, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    square = beta_2 * square + (1 - beta_2) * np.abs(gradient)
    s = square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="In the average of the gradients β₁ multiplies the new gradient and 1 - β₁ the old average. It should be "
    "the reverse. The average of the squares is right.",
    nudge="With β₁ = 0.9, does the average forget nearly everything in one step, or keep most of it?",
)
def old_and_new_exchanged_in_the_mean(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    mean = (1 - beta_1) * mean + beta_1 * gradient
    square = beta_2 * square + (1 - beta_2) * gradient**2
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong(
    means="In the average of the squares β₂ multiplies the new square and 1 - β₂ the old average. It should be "
    "the reverse. The average of the gradients is right.",
    nudge="With β₂ = 0.999, does the average forget nearly everything in one step, or keep most of it?",
)
def old_and_new_exchanged_in_the_square(
    parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon
):
    mean = beta_1 * mean + (1 - beta_1) * gradient
    square = (1 - beta_2) * square + beta_2 * gradient**2
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


def wrong_twice(first, second):
    """Register two mistakes at once, which take all nine arguments."""
    by_name = {m.name: m.function for m in adam_step.misconceptions}
    pair = [by_name[mistake.__name__.replace("_", "-")] for mistake in (first, second)]

    def register(mistake):
        def adam(parameter, gradient, mean, square, step, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
            with np.errstate(all="ignore"):
                return mistake(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)

        adam_step.combined_misconception(*pair)(adam)
        return mistake

    return register


@wrong_twice(no_correction, uphill)
def uphill_without_correction(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    new, mean, square = no_correction(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return 2 * parameter - new, mean, square


@wrong_twice(no_correction, no_square_root)
def neither_correction_nor_root(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * mean / (square + epsilon), mean, square


@wrong_twice(no_correction, epsilon_under_the_root)
def epsilon_under_the_root_uncorrected(
    parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon
):
    _, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * mean / np.sqrt(square + epsilon), mean, square


@wrong_twice(no_correction, old_and_new_exchanged)
def old_and_new_exchanged_uncorrected(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    mean = (1 - beta_1) * mean + beta_1 * gradient
    square = (1 - beta_2) * square + beta_2 * gradient**2
    return parameter - rate * mean / (np.sqrt(square) + epsilon), mean, square


@wrong_twice(no_correction, betas_exchanged)
def betas_exchanged_uncorrected(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    return no_correction(parameter, gradient, mean, square, step, rate, beta_2, beta_1, epsilon)


@wrong_twice(times_the_step, old_and_new_exchanged_in_the_mean)
def mean_exchanged_times_the_step(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    mean = (1 - beta_1) * mean + beta_1 * gradient
    square = beta_2 * square + (1 - beta_2) * gradient**2
    m, s = mean / (1 - beta_1 * step), square / (1 - beta_2 * step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


@wrong_twice(correction_without_the_power, epsilon_under_the_root)
def no_power_and_epsilon_under_the_root(
    parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon
):
    _, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    m, s = mean / (1 - beta_1), square / (1 - beta_2)
    return parameter - rate * m / np.sqrt(s + epsilon), mean, square


@wrong(
    means="The parameter moves by the plain gradient; the averages are brought up to date and not used.",
    nudge="What does Adam divide the step by, and where does that come from?",
)
def averages_not_used(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    _, mean, square, _, _ = _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)
    return parameter - rate * gradient, mean, square


@wrong(
    means="0.9 and 0.999 are written out in your code: `beta_1` and `beta_2` make no difference.",
    nudge="Somebody may call it with other betas. Where do you use the arguments?",
)
def betas_written_out(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    return _moved(parameter, gradient, mean, square, step, rate, 0.9, 0.999, epsilon)[:3]


@wrong(
    means="1e-8 is written out in your code: `epsilon` makes no difference.",
    nudge="Somebody may call it with another epsilon. Where do you use the argument?",
)
def epsilon_written_out(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    return _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, 1e-8)[:3]


@wrong(
    means="0.001 is written out in your code: `rate` makes no difference.",
    nudge="Somebody may call it with another rate. Where do you use the argument?",
)
def rate_written_out(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    return _moved(parameter, gradient, mean, square, step, 1e-3, beta_1, beta_2, epsilon)[:3]


@wrong(
    means="You exchanged β₁ and β₂: your mean forgets slowly and your square fast.",
    nudge="Which of the two is in the formula for m, and which in the formula for s?",
)
def betas_exchanged_in_the_averages(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon):
    mean = beta_2 * mean + (1 - beta_2) * gradient
    square = beta_1 * square + (1 - beta_1) * gradient**2
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


# Other right answers, which must pass.


@adam_step.variant
def in_one_go(parameter, gradient, mean, square, step, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
    return _moved(parameter, gradient, mean, square, step, rate, beta_1, beta_2, epsilon)[:3]


@adam_step.variant
def averages_moved_towards_the_new(
    parameter, gradient, mean, square, step, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-8
):
    mean = mean + (1 - beta_1) * (gradient - mean)
    square = square + (1 - beta_2) * (gradient * gradient - square)
    root = np.sqrt(square) / np.sqrt(1 - beta_2**step)
    return parameter - rate / (1 - beta_1**step) * mean / (root + epsilon), mean, square


@adam_step.variant
def copies_changed_in_place(
    parameter, gradient, mean, square, step, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-8
):
    parameter, mean, square = parameter.copy(), mean.copy(), square.copy()
    mean *= beta_1
    mean += (1 - beta_1) * gradient
    square *= beta_2
    square += (1 - beta_2) * np.square(gradient)
    parameter -= rate * mean / (1 - beta_1**step) / (np.sqrt(square / (1 - beta_2**step)) + epsilon)
    return parameter, mean, square


@adam_step.variant
def numbers_one_by_one(
    parameter, gradient, mean, square, step, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-8
):
    new = [np.empty_like(parameter) for _ in range(3)]
    for place in np.ndindex(parameter.shape):
        m = beta_1 * mean[place] + (1 - beta_1) * gradient[place]
        s = beta_2 * square[place] + (1 - beta_2) * gradient[place] ** 2
        step_size = rate * (m / (1 - beta_1**step)) / ((s / (1 - beta_2**step)) ** 0.5 + epsilon)
        new[0][place], new[1][place], new[2][place] = parameter[place] - step_size, m, s
    return tuple(new)
