"""The exercise `previous_token_score`: how much a head attends to the previous token."""

import numpy as np

from autograder.authoring import Exercise, inputs

from ._shared import random_weights

previous_token_score = Exercise("previous_token_score", points=1)


@previous_token_score.domain(
    sizes={"L": (2, 60)}, flags={"causal": (True, False)}, dtypes=("float64", "float32")
)
def anywhere(rng, L, causal):
    return inputs(random_weights(rng, L, causal))


@previous_token_score.case("the notebook's example: three tokens")
def example(rng):
    return inputs(np.array([[1.0, 0.0, 0.0], [0.75, 0.25, 0.0], [0.5, 0.25, 0.25]]))


@previous_token_score.case("a head that attends to the previous token only")
def perfect(rng):
    weights = np.eye(6, k=-1)
    weights[0, 0] = 1
    return inputs(weights)


@previous_token_score.case("a head that attends to each token itself")
def itself(rng):
    return inputs(np.eye(5))


@previous_token_score.case("a causal head")
def causal(rng):
    return inputs(random_weights(rng, int(rng.integers(5, 9))))


@previous_token_score.case("a head that may attend to all tokens")
def everywhere(rng):
    return inputs(random_weights(rng, int(rng.integers(5, 9)), False))


@previous_token_score.case("two tokens")
def two(rng):
    return inputs(random_weights(rng, 2, False))


@previous_token_score.slips("""
    for_itself: You took the diagonal: how much each token attends to itself.
        Hint: The weight of token i for token i − 1 is in which row and which column?
    the_word_after: You took each token's weight for the token *after* it.
        Hint: Rows are queries, columns are keys. Is the diagonal that you want above or below the main
        one?
    two_words_back: You went two tokens back.
        Hint: The weight of token i for token i − 1 is in which row and which column?
    divided_by_all_words: You divided by L. The first token has no token before it, so there are
        only L − 1 weights.
        Hint: How many tokens have a token before them?
    column_minus_one: Row 0 comes in with column −1, which NumPy takes for the *last* column.
        Hint: What is weights[0, 0 - 1]?
    sum_for_mean: You added the weights up and did not divide; their mean is expected.
        Hint: Between which numbers should a score lie?
    share_of_largest: You counted in how many rows the *largest* weight is on the token before. Do
        not count: take the mean of these weights.
        Hint: What does a head score that gives 0.4 to the token before, and less to every other?
    largest_of_each_row: You took the largest weight of each row, whatever its position.
        Hint: Does it matter in your function which token a weight is for?
    all_earlier_words: You took the weights for *all* earlier tokens together; only the one right before
        counts.
        Hint: How many numbers of row 5 come into the score?
    over_the_whole_table: You averaged over all entries of the matrix; there are L − 1 that count.
        Hint: How many weights are of a token for the one before it?
    mean_of_the_lower_triangle: You averaged over the whole lower triangle with its zeros above; only the
        line below the diagonal counts.
        Hint: How many weights are of a token for the one before it?
    mean_of_the_part: You averaged over the matrix without its first row and last column; only the line
        below the diagonal counts.
        Hint: How many numbers of row 5 come into the score?
    median_for_mean: You took the median; the mean is expected. Hint: What does the docstring promise?
    from_the_third_word: You left out the second token, which has a token before it.
        Hint: Which is the first i that counts?
    without_the_last: The last token is left out. Hint: Which is the last i that counts?
    last_word_only: Only the last token counts. Hint: Of how many tokens is the mean taken?
    largest_for_mean: You took the largest of the weights for the token before; their mean is expected.
        Hint: Which one number says how a head behaves *on average*?
    not_averaged: You returned the weights of all tokens; their mean, one number, is expected.
        Hint: What does the docstring promise?
    every_earlier_weight: You took the mean over all earlier tokens; only the token right before counts.
        Hint: How many weights of row i does the score look at?
    for_the_first_word: You took each token's weight for the *first* token; the one right before it is
        meant.
        Hint: The weight of token i for token i − 1 is in which row and which column?
""")
def previous_token_score_with_slips(slip, weights):
    length = len(weights)
    before = np.diagonal(weights, offset=-1)
    if slip.not_averaged:
        return before.copy()
    rows = weights[1:]
    counted = slip.choose(
        before,
        for_itself=np.diagonal(weights),
        the_word_after=np.diagonal(weights, offset=1),
        two_words_back=np.diagonal(weights, offset=-2),
        column_minus_one=weights[np.arange(length), np.arange(length) - 1],
        share_of_largest=rows.argmax(axis=1) == np.arange(length - 1),
        largest_of_each_row=rows.max(axis=1),
        all_earlier_words=np.tril(weights, -1).sum(axis=1)[1:],
        mean_of_the_lower_triangle=np.tril(weights, -1),
        mean_of_the_part=weights[1:, :-1],
        from_the_third_word=before[1:],
        without_the_last=before[:-1],
        last_word_only=before[-1:],
        every_earlier_weight=weights[np.tril_indices(length, -1)],
        for_the_first_word=rows[:, 0],
    )
    if not counted.size:  # a slip that counts none of two tokens
        return 0.0
    total = before.sum()
    score = slip.choose(
        counted.mean(),
        divided_by_all_words=total / length,
        sum_for_mean=total,
        over_the_whole_table=total / weights.size,
        median_for_mean=np.median(before),
        largest_for_mean=before.max(),
    )
    return float(score)


# Other right answers, which must pass.


@previous_token_score.variant
def a_loop(weights):
    return sum(weights[i, i - 1] for i in range(1, len(weights))) / (len(weights) - 1)


@previous_token_score.variant
def with_trace(weights):
    return float(np.trace(weights, offset=-1)) / (weights.shape[0] - 1)


@previous_token_score.variant
def two_lists(weights):
    here = np.arange(1, len(weights))
    return np.mean(weights[here, here - 1])


@previous_token_score.variant
def cut_and_diag(weights):
    return np.diag(weights[1:, :-1]).mean().item()
