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


@cross_entropy.slips("""
    not_averaged: You added the rows' losses up and did not divide by their number.
        Hint: Should the loss of a thousand words be a thousand times that of one word?
    averaged_over_the_classes_too: You divided by the number of all logits: there is one loss for each
        row, not for each class.
        Hint: How many numbers does your mean run over, and how many targets are there?
    divided_by_the_classes: You divided by the number of classes instead of the number of rows.
        Hint: Which axis of the logits counts the words to guess?
    one_loss_a_row: You return a loss for each row; their mean is asked for, one number.
        Hint: What does the docstring say comes back?
    log_of_the_mean: You took the logarithm of the average probability; the average of the logarithms is
        expected.
        Hint: Which comes first: is a word's loss a logarithm already, or only the mean's?
    no_minus_sign: The minus sign is missing: logarithms of probabilities are negative, a loss is not.
        Hint: What sign does the logarithm of a number between 0 and 1 have?
    no_logarithm: You averaged the targets' probabilities (with a minus sign) and took no logarithm.
        Hint: What must happen to the probability so that 0.5 costs 0.69 and 1 costs nothing?
    one_minus_the_probability: You took 1 minus the probability of the target; that is no logarithm, and
        never above 1.
        Hint: What should a target of probability 0.001 cost, compared with one of 0.01?
    in_bits: Your loss is in bits (logarithm to the base 2); nats are asked for.
        Hint: Which of NumPy's logarithms has the base e?
    base_ten: Your logarithm has the base 10; nats (base e) are asked for.
        Hint: Which of NumPy's logarithms has the base e?
    logits_as_probabilities: You took the logits for probabilities; they can be negative, and no
        logarithm can follow.
        Hint: Which function turns a row of logits into probabilities first?
    only_the_targets_logit: You returned the target's logit with a minus sign; the other classes' logits
        count for nothing.
        Hint: Does the loss change when a wrong class becomes more probable? It should.
    softmax_twice: You took softmax twice; the second time flattens the probabilities, and the loss with them.
        Hint: What does your second softmax get: logits, or probabilities already?
    softmax_down_the_columns: Your softmax runs down the columns: the words compete with one another
        instead of the classes.
        Hint: For which axis should the probabilities of one word add up to 1?
    likeliest_class: You took the logarithm of the largest probability; the probability of the target is
        expected.
        Hint: Where does your code use the targets?
    every_target_in_every_row: `[:, targets]` takes every target's column in every row, so each row is
        judged by all the targets.
        Hint: Print the shape of what you indexed. Which row numbers go with which targets?
    classes_counted_from_one: You took class `target - 1`: the classes are counted from 0 here.
        Hint: Which column belongs to target 0?
    yes_or_no_for_each_class: You added a loss for each class that is *not* the target, as for many
        yes-or-no questions.
        Hint: Only one class is right in a row. Which single probability does the loss look at?
    squared_error: This is the mean squared distance to the one-hot target, not the cross-entropy.
        Hint: Which function of the target's probability grows without bound as it nears 0?
    maximum_not_added_back: You subtracted the maximum inside the logarithm of the sum and never added it
        back.
        Hint: You subtracted the maximum from the logits in the sum. What must you do with the
        target's logit?
    no_maximum_subtracted: You took exponentials of the logits as they are: those near 1000 overflow,
        those near -1000 vanish.
        Hint: What may be subtracted from each row of logits without changing its softmax?
    maximum_of_the_whole_array: You subtracted the maximum of the whole array: a row far below it has
        only zeros left.
        Hint: Each row has its own softmax. Which maximum should you subtract from it?
    maximum_of_the_whole_array_in_the_sum: You subtracted the maximum of the whole array. In a row
        far below it, all exponentials become 0, and the logarithm of 0 is minus infinity.
        Hint: Each row has its own softmax. Which maximum should you subtract from it?
    logarithm_of_a_rounded_zero: A probability that is too small for the computer became 0, and its
        logarithm minus infinity.
        Hint: The logarithm of a quotient is a difference. Can you take it before the exponential is
        rounded to 0?
    hard_coded: You return the loss of the notebook's example for every input.
        Hint: Where does your code use `logits`?
    modifies_argument
    squared_differences: You averaged squared differences between probabilities and targets; that is
        another loss (Brier's).
        Hint: Which function of the target's probability does the formula take?
    maximum_added_back_to_one_term: The row's maximum counts twice: it was added back to the logarithm of
        the sum, but the target's logit is taken from the row that had lost it.
        Hint: If the maximum leaves both terms of the difference, must it come back at all?
    each_class_by_itself: You treated each class separately (a sigmoid for each); here exactly one of
        several classes is right.
        Hint: Which function makes the probabilities of a row add up to 1?
""")
def cross_entropy_with_slips(slip, logits, targets):
    if slip.hard_coded:
        return 0.75310912
    if slip.modifies_argument:
        logits -= logits.max(axis=1, keepdims=True)
    if slip.softmax_twice:
        logits = shares(logits)

    axis = slip.choose(1, softmax_down_the_columns=0)
    maximum = slip.choose(
        logits.max(axis, keepdims=True),
        no_maximum_subtracted=0,
        maximum_of_the_whole_array=logits.max(),
        maximum_of_the_whole_array_in_the_sum=logits.max(),
    )
    lowered = logits - maximum
    e = np.exp(lowered)
    sums = e.sum(axis, keepdims=True)
    p = e / sums
    log_p = lowered - np.log(sums)
    if slip.maximum_not_added_back:
        log_p = logits - np.log(sums)
    if slip.maximum_added_back_to_one_term:
        log_p = log_p - maximum
    is_rounded = slip.no_maximum_subtracted or slip.maximum_of_the_whole_array
    if is_rounded or slip.logarithm_of_a_rounded_zero:
        log_p = np.log(p)
    log_p = slip.choose(
        log_p, no_logarithm=p, one_minus_the_probability=p, only_the_targets_logit=logits
    )
    if slip.logits_as_probabilities:
        log_p = np.log(logits)

    rows = np.arange(len(targets))
    picked = log_p[rows, slip.choose(targets, classes_counted_from_one=targets - 1)]
    if slip.likeliest_class:
        picked = log_p.max(axis=1)
    if slip.every_target_in_every_row:
        picked = log_p[:, targets]
    losses = -picked / slip.choose(1, in_bits=np.log(2), base_ten=np.log(10))

    y = one_hot(logits, targets)
    if slip.yes_or_no_for_each_class:
        losses = -(y * np.log(p) + (1 - y) * np.log(1 - p)).sum(axis=1)
    if slip.each_class_by_itself:
        losses = np.logaddexp(0, (1 - 2 * y) * logits)
    if slip.squared_error:
        losses = ((p - y) ** 2).sum(axis=1)
    if slip.squared_differences:
        losses = (p - y) ** 2

    if slip.one_loss_a_row:
        return losses
    if slip.log_of_the_mean:
        return float(-np.log(p[rows, targets].mean()))
    loss = losses.mean()
    if slip.one_minus_the_probability:
        loss = 1 + loss
    if slip.no_minus_sign:
        loss = -loss
    return float(
        slip.choose(
            loss,
            not_averaged=losses.sum(),
            averaged_over_the_classes_too=losses.sum() / logits.size,
            divided_by_the_classes=losses.sum() / logits.shape[1],
        )
    )


def _hidden(name, smallest, change):
    """Make a mistake with a small number in the logarithm, which hides an infinity."""

    def wrong(logits, targets):
        return float(-np.log(change(shares(logits)[np.arange(len(targets)), targets])).mean())

    wrong.__name__ = name
    cross_entropy.misconception(
        means=f"Your logarithm gets no number below {smallest}, so no loss can be larger than "
        f"{-np.log(smallest):.1f}, however wrong the guess is.",
        nudge="The logarithm of a quotient is a difference of two numbers that are both easy to compute. Which?",
    )(wrong)


_hidden("adds_1e_12", 1e-12, lambda p: p + 1e-12)
_hidden("adds_1e_10", 1e-10, lambda p: p + 1e-10)
_hidden("adds_1e_9", 1e-9, lambda p: p + 1e-9)
_hidden("adds_1e_8", 1e-8, lambda p: p + 1e-8)
_hidden("adds_1e_5", 1e-5, lambda p: p + 1e-5)
_hidden("cut_off_at_1e_15", 1e-15, lambda p: np.clip(p, 1e-15, 1 - 1e-15))
_hidden("cut_off_at_1e_7", 1e-7, lambda p: np.clip(p, 1e-7, 1 - 1e-7))


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
