"""The exercise `cross_entropy`: how surprised a model is, on average, by what was right."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import log_shares, one_hot, rows_and_targets, shares

cross_entropy = Exercise("cross_entropy", points=2)


@cross_entropy.domain(sizes={"n": (1, 60), "classes": (1, 60)}, magnitudes=(1.0, 1000.0))
def anywhere(rng, n, classes, magnitude):
    return inputs(magnitude * rng.normal(size=(n, classes)), rng.integers(classes, size=n))


@cross_entropy.case("the notebook's two words")
def by_hand(rng):
    return inputs(np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), np.array([0, 2]))


@cross_entropy.case("a few rows, each with its own target")
def a_few_rows(rng):
    return inputs(*rows_and_targets(rng))


@cross_entropy.case("more rows than classes")
def many_rows(rng):
    classes, rows = sorted(sizes(rng, 2, low=3, high=9))
    return inputs(rng.normal(size=(rows, classes)), rng.integers(classes, size=rows))


@cross_entropy.case("a single row")
def one_row(rng):
    classes = int(rng.integers(3, 8))
    return inputs(rng.normal(size=(1, classes)), rng.integers(1, classes, size=1))


@cross_entropy.case("one row near 1000 and one near -1000")
def far_apart(rng):
    logits, targets = rows_and_targets(rng)
    logits[0] += 1000
    logits[1] -= 1000
    return inputs(logits, targets)


@cross_entropy.case("rows in which a wrong class is ahead by 40 and by 900")
def sure_and_wrong(rng):
    logits, targets = rows_and_targets(rng)
    for row, lead in ((0, 40), (1, 900)):
        logits[row, (targets[row] + 1) % logits.shape[1]] += lead
    return inputs(logits, targets)


# Mistakes in the average.


@cross_entropy.misconception(
    means="You added the rows' losses up and did not divide by their number.",
    nudge="Should the loss of a thousand words be a thousand times that of one word?",
)
def not_averaged(logits, targets):
    return float(-log_shares(logits)[np.arange(len(targets)), targets].sum())


@cross_entropy.misconception(
    means="You divided by the number of all logits: there is one loss for each row, not for each class.",
    nudge="How many numbers does your mean run over, and how many targets are there?",
)
def averaged_over_the_classes_too(logits, targets):
    return float(-np.mean(one_hot(logits, targets) * log_shares(logits)))


@cross_entropy.misconception(
    means="You divided by the number of classes instead of the number of rows.",
    nudge="Which axis of the logits counts the words to guess?",
)
def divided_by_the_classes(logits, targets):
    return float(-log_shares(logits)[np.arange(len(targets)), targets].sum() / logits.shape[1])


@cross_entropy.misconception(
    means="You return a loss for each row; their mean is asked for, one number.",
    nudge="What does the docstring say comes back?",
)
def one_loss_a_row(logits, targets):
    return -log_shares(logits)[np.arange(len(targets)), targets]


@cross_entropy.misconception(
    means="You took the logarithm of the average probability; the average of the logarithms is expected.",
    nudge="Which comes first: is a word's loss a logarithm already, or only the mean's?",
)
def log_of_the_mean(logits, targets):
    with np.errstate(divide="ignore"):
        return float(-np.log(shares(logits)[np.arange(len(targets)), targets].mean()))


# Mistakes in what a row's loss is.


@cross_entropy.misconception(
    means="The minus sign is missing: logarithms of probabilities are negative, a loss is not.",
    nudge="What sign does the logarithm of a number between 0 and 1 have?",
)
def no_minus_sign(logits, targets):
    return float(log_shares(logits)[np.arange(len(targets)), targets].mean())


@cross_entropy.misconception(
    means="You averaged the targets' probabilities (with a minus sign) and took no logarithm.",
    nudge="What must happen to the probability so that 0.5 costs 0.69 and 1 costs nothing?",
)
def no_logarithm(logits, targets):
    return float(-shares(logits)[np.arange(len(targets)), targets].mean())


@cross_entropy.misconception(
    means="You took 1 minus the probability of the target; that is no logarithm, and never above 1.",
    nudge="What should a target of probability 0.001 cost, compared with one of 0.01?",
)
def one_minus_the_probability(logits, targets):
    return float(1 - shares(logits)[np.arange(len(targets)), targets].mean())


@cross_entropy.misconception(
    means="Your loss is in bits (logarithm to the base 2); nats are asked for.",
    nudge="Which of NumPy's logarithms has the base e?",
)
def in_bits(logits, targets):
    return float(-log_shares(logits)[np.arange(len(targets)), targets].mean() / np.log(2))


@cross_entropy.misconception(
    means="Your logarithm has the base 10; nats (base e) are asked for.",
    nudge="Which of NumPy's logarithms has the base e?",
)
def base_ten(logits, targets):
    return float(-log_shares(logits)[np.arange(len(targets)), targets].mean() / np.log(10))


@cross_entropy.misconception(
    means="You took the logits for probabilities; they can be negative, and no logarithm can follow.",
    nudge="Which function turns a row of logits into probabilities first?",
)
def logits_as_probabilities(logits, targets):
    with np.errstate(all="ignore"):
        return float(-np.log(logits[np.arange(len(targets)), targets]).mean())


@cross_entropy.misconception(
    means="You returned the target's logit with a minus sign; the other classes' logits count for nothing.",
    nudge="Does the loss change when a wrong class becomes more probable? It should.",
)
def only_the_targets_logit(logits, targets):
    return float(-logits[np.arange(len(targets)), targets].mean())


@cross_entropy.misconception(
    means="You took softmax twice; the second time flattens the probabilities, and the loss with them.",
    nudge="What does your second softmax get: logits, or probabilities already?",
)
def softmax_twice(logits, targets):
    return float(-log_shares(shares(logits))[np.arange(len(targets)), targets].mean())


@cross_entropy.misconception(
    means="Your softmax runs down the columns: the words compete with one another instead of the classes.",
    nudge="For which axis should the probabilities of one word add up to 1?",
)
def softmax_down_the_columns(logits, targets):
    return float(-log_shares(logits.T).T[np.arange(len(targets)), targets].mean())


@cross_entropy.misconception(
    means="You took the logarithm of the largest probability; the probability of the target is expected.",
    nudge="Where does your code use the targets?",
)
def likeliest_class(logits, targets):
    return float(-log_shares(logits).max(axis=1).mean())


@cross_entropy.misconception(
    means="`[:, targets]` takes every target's column in every row, so each row is judged by all the targets.",
    nudge="Print the shape of what you indexed. Which row numbers go with which targets?",
)
def every_target_in_every_row(logits, targets):
    with np.errstate(divide="ignore"):
        return float(-log_shares(logits)[:, targets].mean())


@cross_entropy.misconception(
    means="You took class `target - 1`: the classes are counted from 0 here.",
    nudge="Which column belongs to target 0?",
)
def classes_counted_from_one(logits, targets):
    return float(-log_shares(logits)[np.arange(len(targets)), targets - 1].mean())


@cross_entropy.misconception(
    means="You added a loss for each class that is *not* the target, as for many yes-or-no questions.",
    nudge="Only one class is right in a row. Which single probability does the loss look at?",
)
def yes_or_no_for_each_class(logits, targets):
    p, y = shares(logits), one_hot(logits, targets)
    with np.errstate(all="ignore"):
        return float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).sum(axis=1).mean())


@cross_entropy.misconception(
    means="This is the mean squared distance to the one-hot target, not the cross-entropy.",
    nudge="Which function of the target's probability grows without bound as it nears 0?",
)
def squared_error(logits, targets):
    return float(((shares(logits) - one_hot(logits, targets)) ** 2).sum(axis=1).mean())


# Mistakes with large numbers.


@cross_entropy.misconception(
    means="You subtracted the maximum inside the logarithm of the sum and never added it back.",
    nudge="If the maximum leaves the sum, where must it come back, or be subtracted as well?",
)
def maximum_not_added_back(logits, targets):
    lost = np.log(np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1))
    return float((lost - logits[np.arange(len(targets)), targets]).mean())


@cross_entropy.misconception(
    means="You took exponentials of the logits as they are: those near 1000 overflow, those near -1000 vanish.",
    nudge="What may be subtracted from each row of logits without changing its softmax?",
)
def no_maximum_subtracted(logits, targets):
    with np.errstate(all="ignore"):
        e = np.exp(logits)
        return float(-np.log((e / e.sum(axis=1, keepdims=True))[np.arange(len(targets)), targets]).mean())


@cross_entropy.misconception(
    means="You subtracted the maximum of the whole array: a row far below it has only zeros left.",
    nudge="Each row has its own softmax. Which maximum should you subtract from it?",
)
def maximum_of_the_whole_array(logits, targets):
    with np.errstate(all="ignore"):
        e = np.exp(logits - logits.max())
        return float(-np.log((e / e.sum(axis=1, keepdims=True))[np.arange(len(targets)), targets]).mean())


@cross_entropy.misconception(
    means="You subtracted the maximum of the whole array: of a row far below it every exponential becomes 0, "
    "and the logarithm of their sum minus infinity.",
    nudge="Each row has its own softmax. Which maximum should you subtract from it?",
)
def maximum_of_the_whole_array_in_the_sum(logits, targets):
    lowered = logits - logits.max()
    with np.errstate(divide="ignore"):
        log_sums = np.log(np.exp(lowered).sum(axis=1))
    return float(np.mean(log_sums - lowered[np.arange(len(targets)), targets]))


@cross_entropy.misconception(
    means="A probability that is too small for the computer became 0, and its logarithm minus infinity.",
    nudge="The logarithm of a quotient is a difference. Can you take it before the exponential is rounded to 0?",
)
def logarithm_of_a_rounded_zero(logits, targets):
    with np.errstate(divide="ignore"):
        return float(-np.log(shares(logits)[np.arange(len(targets)), targets]).mean())


def _hidden(name, change):
    """A small number inside the logarithm hides the infinity, at the price of a loss that stops growing."""

    def wrong(logits, targets):
        return float(-np.log(change(shares(logits)[np.arange(len(targets)), targets])).mean())

    wrong.__name__ = name
    cross_entropy.misconception(
        means="A small number inside the logarithm hides an infinity, and the loss of a sure and wrong "
        "guess stops growing there.",
        nudge="The logarithm of a quotient is a difference of two numbers that are both easy to compute. Which?",
    )(wrong)


_hidden("adds_1e_12", lambda p: p + 1e-12)
_hidden("adds_1e_10", lambda p: p + 1e-10)
_hidden("adds_1e_9", lambda p: p + 1e-9)
_hidden("adds_1e_8", lambda p: p + 1e-8)
_hidden("adds_1e_5", lambda p: p + 1e-5)
_hidden("cut_off_at_1e_15", lambda p: np.clip(p, 1e-15, 1 - 1e-15))
_hidden("cut_off_at_1e_7", lambda p: np.clip(p, 1e-7, 1 - 1e-7))


@cross_entropy.misconception(
    means="You return the loss of the notebook's example for every input.",
    nudge="Where does your code use `logits`?",
)
def hard_coded(logits, targets):
    return 0.75310912


@cross_entropy.common_mistake
def modifies_argument(logits, targets):
    logits -= logits.max(axis=1, keepdims=True)
    return float((np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(targets)), targets]).mean())


@cross_entropy.misconception(
    means="You averaged squared differences between probabilities and targets; that is another loss (Brier's).",
    nudge="Which function of the target's probability does the formula take?",
)
def squared_differences(logits, targets):
    return float(((shares(logits) - np.eye(logits.shape[1])[targets]) ** 2).mean())


@cross_entropy.misconception(
    means="The row's maximum counts twice: it was added back to the logarithm of the sum, but the target's logit "
    "is taken from the row that had lost it.",
    nudge="If the maximum leaves both terms of the difference, must it come back at all?",
)
def maximum_added_back_to_one_term(logits, targets):
    return float((-log_shares(logits)[np.arange(len(targets)), targets] + logits.max(axis=1)).mean())


@cross_entropy.combined_misconception(not_averaged, in_bits)
def sum_in_bits(logits, targets):
    return not_averaged(logits, targets) / float(np.log(2))


@cross_entropy.combined_misconception(not_averaged, no_maximum_subtracted)
def sum_without_maximum(logits, targets):
    return no_maximum_subtracted(logits, targets) * len(targets)


@cross_entropy.combined_misconception(not_averaged, logarithm_of_a_rounded_zero)
def sum_of_rounded_zeros(logits, targets):
    return logarithm_of_a_rounded_zero(logits, targets) * len(targets)


@cross_entropy.combined_misconception(not_averaged, softmax_down_the_columns)
def sum_down_the_columns(logits, targets):
    return softmax_down_the_columns(logits, targets) * len(targets)


@cross_entropy.combined_misconception(not_averaged, softmax_twice)
def sum_of_softmax_twice(logits, targets):
    return softmax_twice(logits, targets) * len(targets)


@cross_entropy.combined_misconception(one_loss_a_row, no_maximum_subtracted)
def rows_without_maximum(logits, targets):
    with np.errstate(all="ignore"):
        e = np.exp(logits)
        return -np.log((e / e.sum(axis=1, keepdims=True))[np.arange(len(targets)), targets])


@cross_entropy.combined_misconception(one_loss_a_row, in_bits)
def rows_in_bits(logits, targets):
    return one_loss_a_row(logits, targets) / np.log(2)


@cross_entropy.misconception(
    means="You treated each class separately (a sigmoid for each); here exactly one of several classes is right.",
    nudge="Which function makes the probabilities of a row add up to 1?",
)
def each_class_by_itself(logits, targets):
    signs = 1 - 2 * one_hot(logits, targets)
    return float(np.mean(np.logaddexp(0, signs * logits)))


# Other right answers, which must pass.


@cross_entropy.variant
def with_logaddexp(logits, targets):
    return np.mean(np.logaddexp.reduce(logits, axis=1) - logits[np.arange(len(logits)), targets])


@cross_entropy.variant
def with_one_hot_rows(logits, targets):
    hot = np.eye(logits.shape[1])[targets]
    return -(hot * log_shares(logits)).sum() / len(targets)


@cross_entropy.variant
def row_by_row(logits, targets):
    total = 0.0
    for row, target in zip(logits, targets):
        top = max(row)
        total += top + np.log(sum(np.exp(x - top) for x in row)) - row[target]
    return total / len(targets)


@cross_entropy.variant
def taken_along_the_axis(logits, targets):
    return -np.take_along_axis(log_shares(logits), targets[:, None], axis=1).mean()
