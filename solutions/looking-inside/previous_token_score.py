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


def diagonal(weights, offset=-1):
    return np.diagonal(weights, offset=offset)


def wrong(means, nudge):
    return previous_token_score.misconception(means=means, nudge=nudge)


@wrong(
    means="You took each token's weight for itself, the diagonal.",
    nudge="The weight of token i for token i − 1 is in which row and which column?",
)
def for_itself(weights):
    return float(diagonal(weights, 0).mean())


@wrong(
    means="You took each token's weight for the token *after* it.",
    nudge="Rows are queries, columns are keys. Is the diagonal that you want above or below the main one?",
)
def the_word_after(weights):
    return float(diagonal(weights, 1).mean())


@wrong(
    means="You went two tokens back.",
    nudge="The weight of token i for token i − 1 is in which row and which column?",
)
def two_words_back(weights):
    return float(diagonal(weights, -2).mean()) if len(weights) > 2 else 0.0


@wrong(
    means="You divided by L; the first token has no token before it, so that L − 1 weights count.",
    nudge="How many tokens have a token before them?",
)
def divided_by_all_words(weights):
    return float(diagonal(weights).sum() / len(weights))


@wrong(
    means="Row 0 comes in with column −1, which NumPy takes for the *last* column.",
    nudge="What is weights[0, 0 - 1]?",
)
def column_minus_one(weights):
    return float(np.mean([weights[i, i - 1] for i in range(len(weights))]))


@wrong(
    means="You added the weights up; their mean is expected.",
    nudge="Between which numbers should a score lie?",
)
def sum_for_mean(weights):
    return float(diagonal(weights).sum())


@wrong(
    means="You counted the rows whose *largest* weight is on the token before; the weights themselves are averaged.",
    nudge="What does a head score that gives 0.4 to the token before, and less to every other?",
)
def share_of_largest(weights):
    return float(np.mean(weights[1:].argmax(axis=1) == np.arange(len(weights) - 1)))


@wrong(
    means="You took the largest weight of each row, whatever its position.",
    nudge="Does it matter in your function which token a weight is for?",
)
def largest_of_each_row(weights):
    return float(weights[1:].max(axis=1).mean())


@wrong(
    means="You took the weights for *all* earlier tokens together; only the one right before counts.",
    nudge="How many numbers of row 5 come into the score?",
)
def all_earlier_words(weights):
    return float(np.tril(weights, -1).sum(axis=1)[1:].mean())


@wrong(
    means="You averaged over all entries of the matrix; there are L − 1 that count.",
    nudge="How many weights are of a token for the one before it?",
)
def over_the_whole_table(weights):
    return float(diagonal(weights).sum() / weights.size)


@wrong(
    means="You averaged over the whole lower triangle with its zeros above; only the line below the diagonal counts.",
    nudge="How many weights are of a token for the one before it?",
)
def mean_of_the_lower_triangle(weights):
    return float(np.tril(weights, -1).mean())


@wrong(
    means="You averaged over the matrix without its first row and last column; only the line below the diagonal counts.",
    nudge="How many numbers of row 5 come into the score?",
)
def mean_of_the_part(weights):
    return float(weights[1:, :-1].mean())


@wrong(means="You took the median; the mean is expected.", nudge="What does the docstring promise?")
def median_for_mean(weights):
    return float(np.median(diagonal(weights)))


@wrong(
    means="You left out the second token, which has a token before it.",
    nudge="Which is the first i that counts?",
)
def from_the_third_word(weights):
    return float(diagonal(weights)[1:].mean()) if len(weights) > 2 else 0.0


@wrong(
    means="The last token is left out.",
    nudge="Which is the last i that counts?",
)
def without_the_last(weights):
    return float(diagonal(weights)[:-1].mean()) if len(weights) > 2 else 0.0


@wrong(means="Only the last token counts.", nudge="Of how many tokens is the mean taken?")
def last_word_only(weights):
    return float(weights[-1, -2])


@wrong(
    means="You took the largest of the weights for the token before; their mean is expected.",
    nudge="Which one number says how a head behaves *on average*?",
)
def largest_for_mean(weights):
    return float(diagonal(weights).max())


@wrong(
    means="You returned the weights of all tokens; their mean, one number, is expected.",
    nudge="What does the docstring promise?",
)
def not_averaged(weights):
    return diagonal(weights).copy()


@previous_token_score.misconception(
    means="You took the mean over all earlier tokens; only the token right before counts.",
    nudge="How many weights of row i does the score look at?",
)
def every_earlier_weight(weights):
    return float(weights[np.tril_indices(len(weights), -1)].mean())


@wrong(
    means="You took each token's weight for the *first* token; the one right before it is meant.",
    nudge="The weight of token i for token i − 1 is in which row and which column?",
)
def for_the_first_word(weights):
    return float(weights[1:, 0].mean())


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
