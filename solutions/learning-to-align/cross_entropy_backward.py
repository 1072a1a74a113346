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


# Mistakes.


@cross_entropy_backward.misconception(
    means="You did not divide by the number of rows, though the loss is their mean.",
    nudge="If the loss is an average over n rows, how much does one row move it?",
)
def not_averaged(logits, targets):
    return shares(logits) - one_hot(logits, targets)


@cross_entropy_backward.misconception(
    means="You divided by the number of all logits; the loss is a mean over the rows only.",
    nudge="How many losses does the mean run over?",
)
def averaged_over_the_classes_too(logits, targets):
    return (shares(logits) - one_hot(logits, targets)) / logits.size


@cross_entropy_backward.misconception(
    means="You divided by the number of classes instead of the number of rows.",
    nudge="Which axis of the logits counts the words to guess?",
)
def divided_by_the_classes(logits, targets):
    return (shares(logits) - one_hot(logits, targets)) / logits.shape[1]


@cross_entropy_backward.misconception(
    means="The sign is wrong: following this gradient downhill makes the target less probable.",
    nudge="If the target's logit grows, does the loss grow or fall? Which sign should its gradient have?",
)
def sign_reversed(logits, targets):
    return (one_hot(logits, targets) - shares(logits)) / len(targets)


@cross_entropy_backward.misconception(
    means="You do not use the targets: this is softmax itself, and all its numbers are positive.",
    nudge="What should the gradient be where the guess is perfect?",
)
def targets_forgotten(logits, targets):
    return shares(logits) / len(targets)


@cross_entropy_backward.misconception(
    means="Only the targets' entries are filled; raising any other logit makes the loss larger too.",
    nudge="What happens to the target's probability when another logit of its row grows?",
)
def at_the_targets_only(logits, targets):
    y = one_hot(logits, targets)
    return y * (shares(logits) - y) / len(targets)


@cross_entropy_backward.misconception(
    means="This is the derivative with respect to the probabilities (-1/p at the target); "
    "the step back through softmax is missing.",
    nudge="The loss is a function of the logits. What lies between them and the probabilities?",
)
def with_respect_to_the_probabilities(logits, targets):
    with np.errstate(all="ignore"):
        return -one_hot(logits, targets) / shares(logits) / len(targets)


@cross_entropy_backward.misconception(
    means="You multiplied by p(1 - p) as well: the derivative of softmax is already in p minus the target.",
    nudge="Work the formula out for two classes: what is left after everything cancels?",
)
def times_the_sigmoids_derivative(logits, targets):
    p = shares(logits)
    return (p - one_hot(logits, targets)) * p * (1 - p) / len(targets)


@cross_entropy_backward.misconception(
    means="You took the logits for probabilities: softmax is missing.",
    nudge="What is subtracted from the one-hot targets: numbers that add up to 1 in each row?",
)
def logits_as_probabilities(logits, targets):
    return (logits - one_hot(logits, targets)) / len(targets)


@cross_entropy_backward.misconception(
    means="`[:, targets] -= 1` takes 1 from every target's column in every row.",
    nudge="Each row has one target. Which row numbers go with which targets in the index?",
)
def every_target_in_every_row(logits, targets):
    p = shares(logits)
    p[:, targets] -= 1
    return p / len(targets)


@cross_entropy_backward.misconception(
    means="You subtracted the numbers of the classes: class 5 is not five times class 1.",
    nudge="Which row of zeros with a single 1 represents a target?",
)
def targets_not_one_hot(logits, targets):
    return (shares(logits) - targets[:, None]) / len(targets)


@cross_entropy_backward.misconception(
    means="Your softmax runs down the columns: the words compete with one another instead of the classes.",
    nudge="For which axis should the probabilities of one word add up to 1?",
)
def softmax_down_the_columns(logits, targets):
    return (shares(logits, axis=0) - one_hot(logits, targets)) / len(targets)


@cross_entropy_backward.misconception(
    means="Your softmax's sum lost its axis, so NumPy lines the rows' sums up with the columns.",
    nudge="Compare the shapes of the exponentials and of their sums. What does `keepdims` change?",
)
def sum_without_its_axis(logits, targets):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1) - one_hot(logits, targets)) / len(targets)


@cross_entropy_backward.misconception(
    means="You divided by n before you subtracted the targets, so these count n times too much.",
    nudge="Which of the two terms should be divided by the number of rows: the first, or both?",
)
def only_the_probabilities_averaged(logits, targets):
    return shares(logits) / len(targets) - one_hot(logits, targets)


@cross_entropy_backward.misconception(
    means="You took class `target - 1`: the classes are counted from 0 here.",
    nudge="Which column belongs to target 0?",
)
def classes_counted_from_one(logits, targets):
    return (shares(logits) - one_hot(logits, (targets - 1) % logits.shape[1])) / len(targets)


@cross_entropy_backward.misconception(
    means="You took exponentials of the logits as they are: those near 1000 overflow, those near -1000 vanish.",
    nudge="What may be subtracted from each row of logits without changing its softmax?",
)
def no_maximum_subtracted(logits, targets):
    with np.errstate(all="ignore"):
        e = np.exp(logits)
        return (e / e.sum(axis=1, keepdims=True) - one_hot(logits, targets)) / len(targets)


@cross_entropy_backward.misconception(
    means="You subtracted the maximum of the whole array: a row far below it has only zeros left.",
    nudge="Each row has its own softmax. Which maximum should you subtract from it?",
)
def maximum_of_the_whole_array(logits, targets):
    with np.errstate(all="ignore"):
        e = np.exp(logits - logits.max())
        return (e / e.sum(axis=1, keepdims=True) - one_hot(logits, targets)) / len(targets)


@cross_entropy_backward.common_mistake
def modifies_argument(logits, targets):
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(targets)), targets] -= 1
    return p / len(targets)


def without_maximum(logits):
    with np.errstate(all="ignore"):
        e = np.exp(logits)
        return e / e.sum(axis=1, keepdims=True)


@cross_entropy_backward.combined_misconception(softmax_down_the_columns, at_the_targets_only)
def down_the_columns_at_the_targets_only(logits, targets):
    y = one_hot(logits, targets)
    return y * (shares(logits, axis=0) - y) / len(targets)


@cross_entropy_backward.combined_misconception(not_averaged, at_the_targets_only)
def at_the_targets_only_not_averaged(logits, targets):
    y = one_hot(logits, targets)
    return y * (shares(logits) - y)


@cross_entropy_backward.combined_misconception(not_averaged, sign_reversed)
def sign_reversed_not_averaged(logits, targets):
    return one_hot(logits, targets) - shares(logits)


@cross_entropy_backward.combined_misconception(not_averaged, no_maximum_subtracted)
def no_maximum_not_averaged(logits, targets):
    return without_maximum(logits) - one_hot(logits, targets)


@cross_entropy_backward.combined_misconception(not_averaged, softmax_down_the_columns)
def down_the_columns_not_averaged(logits, targets):
    return shares(logits, axis=0) - one_hot(logits, targets)


@cross_entropy_backward.combined_misconception(not_averaged, every_target_in_every_row)
def every_target_not_averaged(logits, targets):
    p = shares(logits)
    p[:, targets] -= 1
    return p


@cross_entropy_backward.combined_misconception(sign_reversed, no_maximum_subtracted)
def no_maximum_sign_reversed(logits, targets):
    return (one_hot(logits, targets) - without_maximum(logits)) / len(targets)


@cross_entropy_backward.misconception(
    means="You divided the 1 at the targets by the number of rows, and the probabilities not.",
    nudge="The loss is a mean over n rows. Which terms of the gradient come from that mean?",
)
def only_the_targets_averaged(logits, targets):
    return shares(logits) - one_hot(logits, targets) / len(targets)


@cross_entropy_backward.misconception(
    means="You added 1 at the targets where it is subtracted.",
    nudge="If the prediction is perfect, the gradient is 0. Is yours?",
)
def one_added_at_the_targets(logits, targets):
    return (shares(logits) + one_hot(logits, targets)) / len(logits)


@cross_entropy_backward.misconception(
    means="You used p(1 − p), the slope of a sigmoid, for every class, and not the targets.",
    nudge="What is the gradient at the target, and what at every other class?",
)
def as_a_sigmoid(logits, targets):
    p = shares(logits)
    return p * (1 - p) / len(logits)


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
