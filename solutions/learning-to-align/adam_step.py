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


@adam_step.slips("""
    no_correction: The averages are not corrected for having started at 0, so the first steps have the
        wrong size.
        Hint: After one step the mean is a tenth of the gradient. By what is it divided to be the
        gradient again?
    only_the_mean_corrected: Only the mean is corrected for having started at 0; the square is not.
        Hint: Both averages begin at 0. Does the second one need its correction less?
    only_the_square_corrected: Only the square is corrected for having started at 0; the mean is not.
        Hint: Both averages begin at 0. Does the first one need its correction less?
    corrected_averages_returned: You return the corrected averages: in the next step they would be
        corrected once more.
        Hint: Which of the two, mean or corrected mean, goes into the next step's average?
    correction_without_the_power: The correction does not depend on the step: 1 - β is right for the
        first step only.
        Hint: What is the power in the formula's denominator?
    times_the_step: You multiplied β by the step; it is raised to the power of the step.
        Hint: How does Python write β to the power t?
    step_one_too_far: You count the steps one too far: `step` is 1 at the first step already.
        Hint: At the first step `step` is 1. What should the mean be divided by then?
    multiplied_by_the_correction: You multiplied the averages by 1 - β^t; they are divided by it.
        Hint: After one step the mean is a tenth of the gradient. Should the correction enlarge or shrink it?
    betas_exchanged: The two betas are exchanged.
        Hint: Which average should remember longer, that of the gradients or that of their squares?
    old_and_new_exchanged: In your averages β multiplies the new gradient and 1 - β the old average. It
        should be the reverse.
        Hint: With β = 0.9, does the average forget nearly everything in one step, or keep most of it?
    new_gradient_added_whole: The new gradient is added whole: the factor 1 - β is missing, and this is a
        sum, not an average.
        Hint: If every gradient were 1, where should the average settle?
    gradient_not_squared: The second average holds the gradients; their squares are expected.
        Hint: What does Adam need under the square root so that the sign of a gradient does not matter?
    square_of_the_mean: The second average holds the squares of the mean; the squares of the gradient are
        expected.
        Hint: Which of the two enters the formula for the square: g or m?
    one_square_for_all: The second average holds the square of one number for the whole array; every
        entry has its own.
        Hint: Which shape should the average of the squares have?
    step_before_the_averages: The parameter moves by the averages as they were before this gradient came in.
        Hint: Which comes first in the formulas, the new averages or the step?
    uphill: The parameter goes uphill: the step is added.
        Hint: A positive gradient says that the loss grows with the parameter. Which way should it move?
    no_square_root: The square root is missing: the step is divided by the average square itself.
        Hint: If all gradients were ten times as large, should Adam's step change?
    epsilon_under_the_root: Epsilon is under your square root; the formula adds it to the root.
        Hint: Where is ε in the formula of section 6, inside or outside the root?
    epsilon_before_the_correction: You moved the corrections into the rate, so epsilon is added to the
        root of the uncorrected square.
        Hint: To what does the formula add ε: to the root of s, or to the root of the corrected s?
    no_epsilon: Epsilon is missing: where all gradients were 0 so far, 0 is divided by 0.
        Hint: What is the root of the average square for a parameter that has had no gradient yet?
    gradient_for_the_mean: The numerator of your step is the new gradient alone; the average of the
        gradients is expected.
        Hint: What is the first average kept for, if the step does not use it?
    momentum_only: The step is not divided by the root of the average square: this is momentum only.
        Hint: What is the second average kept for, if the step does not use it?
    settings_ignored: The settings are fixed at their usual values; what the caller passes for them is
        ignored.
        Hint: Where do `rate`, `beta_1`, `beta_2` and `epsilon` appear in your code?
    old_averages_returned: The old averages are returned, so the optimiser forgets each step at once.
        Hint: Which averages will the next step start from?
    parameter_alone: You return the parameter alone; the two averages are needed for the next step.
        Hint: Which three things does the docstring say come back?
    parameter_last: You return the averages first and the parameter last.
        Hint: In which order does the docstring name the three?
    modifies_argument
    plain_descent: This is plain gradient descent: the two averages are neither used nor brought up to date.
        Hint: What does Adam divide the step by, and where does that come from?
    absolute_for_squared: You averaged the absolute value of the gradient; its square is expected.
        Hint: Of which average does the step take the square root?
    old_and_new_exchanged_in_the_mean: In the average of the gradients β₁ multiplies the new gradient and
        1 - β₁ the old average. It should be the reverse. The average of the squares is right.
        Hint: With β₁ = 0.9, does the average forget nearly everything in one step, or keep most of it?
    old_and_new_exchanged_in_the_square: In the average of the squares β₂ multiplies the new square and 1
        - β₂ the old average. It should be the reverse. The average of the gradients is right.
        Hint: With β₂ = 0.999, does the average forget nearly everything in one step, or keep most of it?
    weight_decay: Your step also subtracts a small multiple of the parameter (weight decay, as in
        AdamW); plain Adam is asked for.
        Hint: In Adam's formulas, does the size of the step depend on the parameter?
    averages_not_used: The parameter moves by the plain gradient; the averages are brought up to date and
        not used.
        Hint: What does Adam divide the step by, and where does that come from?
    betas_written_out: 0.9 and 0.999 are written out in your code: `beta_1` and `beta_2` make no difference.
        Hint: Somebody may call it with other betas. Where do you use the arguments?
    epsilon_written_out: 1e-8 is written out in your code: `epsilon` makes no difference.
        Hint: Somebody may call it with another epsilon. Where do you use the argument?
    rate_written_out: 0.001 is written out in your code: `rate` makes no difference.
        Hint: Somebody may call it with another rate. Where do you use the argument?
    betas_exchanged_in_the_averages: You exchanged β₁ and β₂: your mean forgets slowly and your square fast.
        Hint: Which of the two is in the formula for m, and which in the formula for s?
""")
def adam_step_with_slips(
    slip, parameter, gradient, mean, square, step, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-8
):
    if slip.rate_written_out or slip.settings_ignored:
        rate = 1e-3
    if slip.betas_written_out or slip.settings_ignored:
        beta_1, beta_2 = 0.9, 0.999
    if slip.epsilon_written_out or slip.settings_ignored:
        epsilon = 1e-8
    if slip.betas_exchanged:
        beta_1, beta_2 = beta_2, beta_1

    keep_1, keep_2 = beta_1, beta_2
    if slip.betas_exchanged_in_the_averages:
        keep_1, keep_2 = beta_2, beta_1
    add_1, add_2 = 1 - keep_1, 1 - keep_2
    if slip.old_and_new_exchanged or slip.old_and_new_exchanged_in_the_mean:
        keep_1, add_1 = add_1, keep_1
    if slip.old_and_new_exchanged or slip.old_and_new_exchanged_in_the_square:
        keep_2, add_2 = add_2, keep_2
    if slip.new_gradient_added_whole:
        add_1, add_2 = 1, 1
    new_mean = keep_1 * mean + add_1 * gradient
    squared = slip.choose(
        gradient**2,
        gradient_not_squared=gradient,
        square_of_the_mean=new_mean**2,
        one_square_for_all=np.sum(gradient**2),
        absolute_for_squared=np.abs(gradient),
    )
    new_square = keep_2 * square + add_2 * squared

    power = slip.choose(step, correction_without_the_power=1, step_one_too_far=step + 1)
    start_1, start_2 = 1 - beta_1**power, 1 - beta_2**power
    if slip.times_the_step:
        start_1, start_2 = 1 - beta_1 * step, 1 - beta_2 * step
    if slip.epsilon_before_the_correction:
        rate = rate * np.sqrt(start_2) / start_1
    uncorrected = slip.no_correction or slip.epsilon_before_the_correction
    if uncorrected or slip.only_the_square_corrected:
        start_1 = 1
    if uncorrected or slip.only_the_mean_corrected:
        start_2 = 1
    m, s = new_mean / start_1, new_square / start_2
    if slip.multiplied_by_the_correction:
        m, s = new_mean * start_1, new_square * start_2
    if slip.step_before_the_averages:
        m, s = mean / start_1, square / start_2

    numerator = slip.choose(m, gradient_for_the_mean=gradient)
    denominator = slip.choose(
        np.sqrt(s) + epsilon,
        no_square_root=s + epsilon,
        epsilon_under_the_root=np.sqrt(s + epsilon),
        no_epsilon=np.sqrt(s),
        momentum_only=1,
    )
    change = rate * numerator / denominator
    if slip.plain_descent or slip.averages_not_used:
        change = rate * gradient
    if slip.weight_decay:
        change = change + rate * 0.01 * parameter
    new = parameter - slip.choose(change, uphill=-change)

    if slip.modifies_argument:
        parameter[...], mean[...], square[...] = new, new_mean, new_square
    if slip.parameter_alone:
        return new
    if slip.parameter_last:
        return new_mean, new_square, new
    if slip.corrected_averages_returned:
        return new, m, s
    if slip.old_averages_returned or slip.plain_descent:
        return new, mean, square
    return new, new_mean, new_square


# Other right answers, which must pass.


@adam_step.variant
def in_one_go(
    parameter, gradient, mean, square, step, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-8
):
    mean = beta_1 * mean + (1 - beta_1) * gradient
    square = beta_2 * square + (1 - beta_2) * gradient**2
    m, s = mean / (1 - beta_1**step), square / (1 - beta_2**step)
    return parameter - rate * m / (np.sqrt(s) + epsilon), mean, square


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
