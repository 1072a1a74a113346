"""The exercise `cross_entropy_backward`: what was guessed minus what was right."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import one_hot, rows_and_targets, shares

# Central differences, which the lab defines to test gradients, are right to about 8 digits. The
# tolerance lies far from them and far from rounding, so that no verdict depends on the draw.
cross_entropy_backward = Exercise("cross_entropy_backward", points=2, tolerance=1e-10)


@cross_entropy_backward.domain(sizes={"n": (1, 60), "classes": (1, 60)}, magnitudes=(1.0, 1000.0))
def anywhere(rng, n, classes, magnitude):
    return inputs(magnitude * rng.normal(size=(n, classes)), rng.integers(classes, size=n))


@cross_entropy_backward.case("the notebook's two words")
def by_hand(rng):
    return inputs(np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), np.array([0, 2]))


@cross_entropy_backward.case("a few rows, each with its own target")
def a_few_rows(rng):
    return inputs(*rows_and_targets(rng))


@cross_entropy_backward.case("more rows than classes, so that targets repeat")
def many_rows(rng):
    classes, rows = sorted(sizes(rng, 2, low=3, high=9))
    return inputs(rng.normal(size=(rows, classes)), rng.integers(classes, size=rows))


@cross_entropy_backward.case("as many rows as classes")
def square(rng):
    size = int(rng.integers(3, 7))
    return inputs(rng.normal(size=(size, size)), rng.permutation(size))


@cross_entropy_backward.case("a single row")
def one_row(rng):
    classes = int(rng.integers(3, 8))
    return inputs(rng.normal(size=(1, classes)), rng.integers(1, classes, size=1))


@cross_entropy_backward.case("one row near 1000 and one near -1000")
def far_apart(rng):
    logits, targets = rows_and_targets(rng)
    logits[0] += 1000
    logits[1] -= 1000
    return inputs(logits, targets)


@cross_entropy_backward.slips("""
    not_averaged: You did not divide by the number of rows, though the loss is their mean.
        Hint: If the loss is an average over n rows, how much does one row move it?
    averaged_over_the_classes_too: You divided by the number of all logits; the loss is a mean over the
        rows only.
        Hint: How many losses does the mean run over?
    divided_by_the_classes: You divided by the number of classes instead of the number of rows.
        Hint: Which axis of the logits counts the words to guess?
    sign_reversed: The sign is wrong: following this gradient downhill makes the target less probable.
        Hint: If the target's logit grows, does the loss grow or fall? Which sign should its gradient have?
    targets_forgotten: You do not use the targets: this is softmax itself, and all its numbers are positive.
        Hint: What should the gradient be where the guess is perfect?
    at_the_targets_only: Only the targets' entries are filled; raising any other logit makes the loss
        larger too.
        Hint: What happens to the target's probability when another logit of its row grows?
    with_respect_to_the_probabilities: This is the derivative with respect to the probabilities (-1/p at
        the target); the step back through softmax is missing.
        Hint: The loss is a function of the logits. What lies between them and the probabilities?
    times_the_sigmoids_derivative: You multiplied by p(1 - p) as well: the derivative of softmax is
        already in p minus the target.
        Hint: Work the formula out for two classes: what is left after everything cancels?
    logits_as_probabilities: You took the logits for probabilities: softmax is missing.
        Hint: What is subtracted from the one-hot targets: numbers that add up to 1 in each row?
    every_target_in_every_row: `[:, targets] -= 1` takes 1 from every target's column in every row.
        Hint: Each row has one target. Which row numbers go with which targets in the index?
    targets_not_one_hot: You subtracted the numbers of the classes: class 5 is not five times class 1.
        Hint: Which row of zeros with a single 1 represents a target?
    softmax_down_the_columns: Your softmax runs down the columns: the words compete with one another
        instead of the classes.
        Hint: For which axis should the probabilities of one word add up to 1?
    sum_without_its_axis: Your softmax's sum lost its axis, so NumPy lines the rows' sums up with the columns.
        Hint: Compare the shapes of the exponentials and of their sums. What does `keepdims` change?
    only_the_probabilities_averaged: You divided by n before you subtracted the targets, so these count n
        times too much.
        Hint: Which of the two terms should be divided by the number of rows: the first, or both?
    classes_counted_from_one: You took class `target - 1`: the classes are counted from 0 here.
        Hint: Which column belongs to target 0?
    no_maximum_subtracted: You took exponentials of the logits as they are: those near 1000 overflow,
        those near -1000 vanish.
        Hint: What may be subtracted from each row of logits without changing its softmax?
    maximum_of_the_whole_array: You subtracted the maximum of the whole array: a row far below it has
        only zeros left.
        Hint: Each row has its own softmax. Which maximum should you subtract from it?
    modifies_argument
    only_the_targets_averaged: You divided the 1 at the targets by the number of rows, and the
        probabilities not.
        Hint: The loss is a mean over n rows. Which terms of the gradient come from that mean?
    one_added_at_the_targets: You added 1 at the targets where it is subtracted.
        Hint: If the prediction is perfect, the gradient is 0. Is yours?
    as_a_sigmoid: You used p(1 − p), the slope of a sigmoid, for every class, and not the targets.
        Hint: What is the gradient at the target, and what at every other class?
""")
def cross_entropy_backward_with_slips(slip, logits, targets):
    n, classes = logits.shape
    if slip.modifies_argument:
        logits -= logits.max(axis=1, keepdims=True)
    axis = slip.choose(1, softmax_down_the_columns=0)
    maximum = slip.choose(
        logits.max(axis, keepdims=True),
        no_maximum_subtracted=0,
        maximum_of_the_whole_array=logits.max(),
    )
    e = np.exp(logits - maximum)
    p = e / e.sum(axis, keepdims=not slip.sum_without_its_axis)
    if slip.logits_as_probabilities:
        p = logits

    one = one_hot(logits, slip.choose(targets, classes_counted_from_one=(targets - 1) % classes))
    if slip.every_target_in_every_row:
        one[:, targets] = 1
    y = slip.choose(one, targets_forgotten=0, targets_not_one_hot=targets[:, None])

    divisor = slip.choose(
        n, not_averaged=1, averaged_over_the_classes_too=logits.size, divided_by_the_classes=classes
    )
    if slip.only_the_probabilities_averaged:
        return p / n - y
    if slip.only_the_targets_averaged:
        return p - y / n
    if slip.with_respect_to_the_probabilities:
        return -y / p / n
    difference = slip.choose(p - y, sign_reversed=y - p, one_added_at_the_targets=p + y)
    factor = slip.choose(1, at_the_targets_only=y)
    if slip.times_the_sigmoids_derivative:
        factor = p * (1 - p)
    if slip.as_a_sigmoid:
        return p * (1 - p) / n
    return factor * difference / divisor


# Other right answers, which must pass.


@cross_entropy_backward.variant
def with_eye(logits, targets):
    return (shares(logits) - np.eye(logits.shape[1])[targets]) / logits.shape[0]


@cross_entropy_backward.variant
def one_taken_away_in_place(logits, targets):
    gradient = shares(logits)
    gradient[np.arange(len(gradient)), targets] -= 1
    gradient /= len(gradient)
    return gradient


@cross_entropy_backward.variant
def with_subtract_at(logits, targets):
    gradient = shares(logits) / len(targets)
    np.subtract.at(gradient, (np.arange(len(targets)), targets), 1 / len(targets))
    return gradient


@cross_entropy_backward.variant
def by_the_chain_rule(logits, targets):
    p = shares(logits)
    y = one_hot(logits, targets)
    jacobians = p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])  # of softmax, row by row
    of_log = jacobians / np.where(p > 0, p, 1)[:, :, None]
    vanished = (p == 0)[:, :, None]  # the same quotient, where p is too small to divide by
    of_log = np.where(vanished, np.eye(p.shape[1]) - p[:, None, :], of_log)
    return -np.einsum("nc,ncd->nd", y, of_log) / len(targets)
