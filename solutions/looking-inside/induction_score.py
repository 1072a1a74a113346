"""The exercise `induction_score`: how much a head attends to the token after the latest earlier occurrence."""

import numpy as np

from autograder.authoring import Exercise, inputs

from ._shared import random_weights

induction_score = Exercise("induction_score", points=2)


@induction_score.domain(
    sizes={"L": (1, 60)},
    flags={"words": (4, 2, 1, 200), "causal": (True, False)},
    dtypes=("float64", "float32"),
)
def anywhere(rng, L, words, causal):
    return inputs(random_weights(rng, L, causal), rng.integers(words, size=L))


def twice(rng, half):
    once = rng.permutation(50)[:half]
    return np.concatenate([once, once])


@induction_score.case("the notebook's example: a b c a b")
def example(rng):
    weights = np.array(
        [
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [0.5, 0.5, 0.0, 0.0, 0.0],
            [0.25, 0.25, 0.5, 0.0, 0.0],
            [0.125, 0.5, 0.25, 0.125, 0.0],
            [0.0, 0.125, 0.75, 0.0, 0.125],
        ]
    )
    return inputs(weights, np.array([7, 3, 5, 7, 3]))


@induction_score.case("a random sequence, repeated once, a perfect head")
def perfect(rng):
    weights = np.eye(8)
    for i in range(4, 8):
        weights[i] = np.eye(8)[i - 3]
    return inputs(weights, twice(rng, 4))


@induction_score.case("a random sequence, repeated once")
def said_twice(rng):
    half = int(rng.integers(3, 6))
    return inputs(random_weights(rng, 2 * half), twice(rng, half))


@induction_score.case("tokens that come back at different distances, some of them three times")
def mixed(rng):
    tokens = rng.permutation(np.array([1, 1, 1, 4, 4, 2, 6, 2, 4, 9, 8]))
    return inputs(random_weights(rng, len(tokens)), tokens)


@induction_score.case("a head that may attend to all tokens")
def everywhere(rng):
    tokens = rng.permutation(np.array([3, 3, 3, 5, 5, 8, 8, 1]))
    return inputs(random_weights(rng, len(tokens), False), tokens)


@induction_score.case("one token three times; no other token occurs again")
def three_times(rng):
    tokens = np.array([5, 1, 5, 2, 3, 5, 4])
    return inputs(random_weights(rng, 7), tokens)


@induction_score.case("the same token twice in a row")
def in_a_row(rng):
    return inputs(random_weights(rng, 6), np.array([3, 3, 1, 2, 2, 0]))


@induction_score.case("no token comes back")
def never(rng):
    return inputs(random_weights(rng, 5), rng.permutation(9)[:5])


def lasts(tokens):
    """(i, the latest earlier place of the same token) for each i that has one."""
    for i, token in enumerate(tokens):
        before = np.flatnonzero(tokens[:i] == token)
        if len(before):
            yield i, int(before[-1])


def mean(found):
    return float(np.mean(found)) if len(found) else 0.0


def clipped(weights, i, j):
    return weights[i, min(max(j, 0), len(weights) - 1)]


def wrong(means, nudge):
    return induction_score.misconception(means=means, nudge=nudge)


@wrong(
    means="You took the weight for the same token itself; the one *after* it is to be found.",
    nudge="In “nora weaver … nora”: to which token should the second nora attend?",
)
def at_the_same_word(weights, tokens):
    return mean([weights[i, j] for i, j in lasts(tokens)])


@wrong(
    means="You took the weight for the token *before* the latest earlier occurrence.",
    nudge="In “nora weaver … nora”: to which token should the second nora attend?",
)
def before_the_last_time(weights, tokens):
    return mean([weights[i, j - 1] for i, j in lasts(tokens)])


@wrong(
    means="You went two tokens past the latest earlier occurrence.",
    nudge="In “nora weaver … nora”: to which token should the second nora attend?",
)
def two_after_the_last_time(weights, tokens):
    return mean([clipped(weights, i, j + 2) for i, j in lasts(tokens)])


@wrong(
    means="You took the *first* time that the token occurred; the latest one counts.",
    nudge="If a token occurs three times, which position belongs to the third one?",
)
def the_first_time(weights, tokens):
    return mean([weights[i, int(np.flatnonzero(tokens == tokens[i])[0]) + 1] for i, _ in lasts(tokens)])


@wrong(
    means="You averaged over all earlier times of each token; only the latest one counts.",
    nudge="If a token occurs three times, which position belongs to the third one?",
)
def every_pair(weights, tokens):
    return mean([weights[i, j + 1] for i in range(len(tokens)) for j in range(i) if tokens[i] == tokens[j]])


@wrong(
    means="For each token you averaged over all its earlier times; only the latest one counts.",
    nudge="If a token occurs three times, which position belongs to the third one?",
)
def mean_of_all_times(weights, tokens):
    return mean([weights[i, np.flatnonzero(tokens[:i] == tokens[i]) + 1].mean() for i, _ in lasts(tokens)])


@wrong(
    means="You took the largest weight of the row, whatever its position.",
    nudge="Which column of row i is asked for?",
)
def largest_of_the_row(weights, tokens):
    return mean([weights[i].max() for i, _ in lasts(tokens)])


@wrong(
    means="You added up the weights for all earlier times of a token; only the latest one counts.",
    nudge="If a token occurs three times, which position belongs to the third one?",
)
def all_times_added_up(weights, tokens):
    found = [weights[i, np.flatnonzero(tokens[:i] == tokens[i]) + 1].sum() for i, _ in lasts(tokens)]
    return mean(found)


@wrong(
    means="A token is found at its own position: the latest time must be *before* it.",
    nudge="For which j is tokens[j] == tokens[i] always true?",
)
def finds_itself(weights, tokens):
    return mean([clipped(weights, i, i + 1) for i in range(len(tokens))])


@wrong(
    means="A token is found at its own position, so that you look at the one after it, which is still to come.",
    nudge="For which j is tokens[j] == tokens[i] always true? The latest time must be before i.",
)
def finds_itself_but_for_the_last(weights, tokens):
    return mean([weights[i, i + 1] for i in range(len(tokens) - 1)])


@wrong(
    means="A token is found at its own position, so that you took each token's weight for itself; the latest time must be "
    "*before* it.",
    nudge="For which j is tokens[j] == tokens[i] always true?",
)
def each_for_itself(weights, tokens):
    return mean(np.diagonal(weights))


@wrong(
    means="You looked among all positions, the later ones too; the latest time must be *before* the token.",
    nudge="At position i, which tokens may you compare with: all, or those before i?",
)
def the_last_time_of_all(weights, tokens):
    found = []
    for i in range(len(tokens)):
        others = [j for j in np.flatnonzero(tokens == tokens[i]) if j != i]
        if others and others[-1] + 1 < len(tokens):
            found.append(weights[i, others[-1] + 1])
    return mean(found)


@wrong(
    means="The last position is left out.",
    nudge="Which is the last i that your loop comes to?",
)
def without_the_last(weights, tokens):
    return mean([weights[i, j + 1] for i, j in lasts(tokens) if i + 1 < len(tokens)])


@wrong(
    means="You looked for the latest occurrence of the token *before*; the present token's counts.",
    nudge="In “nora weaver … nora”: which token is looked for at the second nora?",
)
def last_time_of_the_word_before(weights, tokens):
    return mean([weights[i + 1, j + 1] for i, j in lasts(tokens[:-1])])


@wrong(
    means="No position is ever found: your score is 0 for every text.",
    nudge="`is` asks whether two names mean the very same object. Which comparison asks whether two numbers are equal?",
)
def never_found(weights, tokens):
    return 0.0


@wrong(
    means="You divided by all positions; only those count whose token stood there before.",
    nudge="Over which positions is the mean taken?",
)
def divided_by_all_positions(weights, tokens):
    return float(sum(weights[i, j + 1] for i, j in lasts(tokens)) / len(tokens))


@wrong(
    means="You divided by the number of different tokens.",
    nudge="Over which positions is the mean taken?",
)
def divided_by_the_words(weights, tokens):
    return float(sum(weights[i, j + 1] for i, j in lasts(tokens)) / len(set(tokens.tolist())))


@wrong(
    means="You added the weights up; their mean is expected.",
    nudge="Between which numbers should a score lie?",
)
def sum_for_mean(weights, tokens):
    return float(sum(weights[i, j + 1] for i, j in lasts(tokens)))


@wrong(
    means="Where no token comes back the mean is of nothing, and gives nan; 0.0 is expected there.",
    nudge="What is the mean of an empty list, for NumPy?",
)
def nan_for_nothing(weights, tokens):
    found = [weights[i, j + 1] for i, j in lasts(tokens)]
    return float(np.mean(found)) if found else float("nan")


@wrong(
    means="Where no token comes back you return nothing; 0.0 is expected there.",
    nudge="What does your function return if the condition is never true?",
)
def nothing_for_nothing(weights, tokens):
    found = [weights[i, j + 1] for i, j in lasts(tokens)]
    return float(np.mean(found)) if found else None


@wrong(
    means="You looked ahead: the *next* time of the token instead of the last one.",
    nudge="For which j must tokens[j] equal tokens[i]: smaller ones than i, or larger ones?",
)
def the_next_time(weights, tokens):
    found = [(i, np.flatnonzero(tokens[i + 1 :] == tokens[i])) for i in range(len(tokens))]
    return mean([clipped(weights, i, i + 1 + int(later[0]) + 1) for i, later in found if len(later)])


@wrong(
    means="Rows and columns are exchanged: the token that attends is the row.",
    nudge="weights[i, j] is the weight of whom, for whom?",
)
def rows_for_columns(weights, tokens):
    return mean([weights[j + 1, i] for i, j in lasts(tokens)])


@wrong(
    means="You took it for granted that the second half repeats the first; look at the tokens.",
    nudge="Where in your function does `tokens` appear?",
)
def as_if_said_twice(weights, tokens):
    half = len(tokens) // 2
    return mean([weights[i, i - half + 1] for i in range(half, len(tokens))])


@wrong(
    means="You counted how often the *largest* weight is in the right position; the weights themselves are averaged.",
    nudge="What does a head score that gives 0.4 to the right position, and less to every other?",
)
def share_of_largest(weights, tokens):
    return mean([float(weights[i].argmax() == j + 1) for i, j in lasts(tokens)])


@wrong(
    means="Only the first token that comes back counts: your function returns too soon.",
    nudge="Where is the `return`: in the loop, or after it?",
)
def the_first_only(weights, tokens):
    return next((float(weights[i, j + 1]) for i, j in lasts(tokens)), 0.0)


@wrong(
    means="Only the last token that comes back counts.",
    nudge="In your loop, is it `=`, or is something added to a list?",
)
def the_last_only(weights, tokens):
    found = [weights[i, j + 1] for i, j in lasts(tokens)]
    return float(found[-1]) if found else 0.0


@wrong(
    means="You took the largest of the weights; their mean is expected.",
    nudge="Which one number says how a head behaves *on average*?",
)
def largest_for_mean(weights, tokens):
    found = [weights[i, j + 1] for i, j in lasts(tokens)]
    return float(max(found)) if found else 0.0


@wrong(
    means="You left out tokens that follow themselves: there the position after the last time is the token's own, "
    "and counts like any other.",
    nudge="What is j + 1 if j is i − 1?",
)
def not_in_a_row(weights, tokens):
    return mean([weights[i, j + 1] for i, j in lasts(tokens) if j + 1 < i])


@wrong(
    means="You averaged the weights for the token before: that was the last exercise.",
    nudge="Where in your function does `tokens` appear?",
)
def the_word_before(weights, tokens):
    return mean(np.diagonal(weights, offset=-1))


@wrong(
    means="Of several earlier times of a token you took the one with the largest weight; the latest one counts.",
    nudge="If a token occurs three times, which position belongs to the third one?",
)
def largest_of_the_times(weights, tokens):
    times = [(i, np.flatnonzero(tokens[:i] == tokens[i])) for i in range(len(tokens))]
    return mean([weights[i, js + 1].max() for i, js in times if len(js)])


@wrong(
    means="You took the row of the *next* token; the row is that of the token which came back.",
    nudge="Which token attends: the one at i, or the one after it?",
)
def row_of_the_next_word(weights, tokens):
    return mean([weights[min(i + 1, len(tokens) - 1), j + 1] for i, j in lasts(tokens)])


# Other right answers, which must pass.


@induction_score.variant
def with_a_dictionary(weights, tokens):
    last, found = {}, []
    for i, token in enumerate(tokens):
        if token in last:
            found.append(weights[i, last[token] + 1])
        last[token] = i
    return sum(found) / len(found) if found else 0.0


@induction_score.variant
def two_loops(weights, tokens):
    total = count = 0
    for i in range(len(tokens)):
        for j in range(i - 1, -1, -1):
            if tokens[j] == tokens[i]:
                total += weights[i, j + 1]
                count += 1
                break
    return float(total / count) if count else 0.0


@induction_score.variant
def with_a_table(weights, tokens):
    length = len(tokens)
    same = (tokens[:, None] == tokens) & np.tri(length, k=-1, dtype=bool)
    latest = np.where(same, np.arange(length), -1).max(axis=1)
    rows = np.flatnonzero(latest >= 0)
    return np.mean(weights[rows, latest[rows] + 1]) if rows.size else 0.0


@induction_score.variant
def with_a_list(weights, tokens):
    words = list(map(int, tokens))
    scores = []
    for i, word in enumerate(words):
        if word in words[:i]:
            j = i - 1 - words[:i][::-1].index(word)
            scores.append(float(weights[i][j + 1]))
    return float(np.array(scores).mean()) if scores else 0.0
