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


@induction_score.slips("""
    at_the_same_word: You took weights[i, j], the weight on the earlier occurrence itself. Take the
        weight on the token after it.
        Hint: In “nora weaver … nora”: to which token should the second nora attend?
    before_the_last_time: You took the weight for the token *before* the latest earlier occurrence.
        Hint: In “nora weaver … nora”: to which token should the second nora attend?
    two_after_the_last_time: You went two tokens past the latest earlier occurrence.
        Hint: In “nora weaver … nora”: to which token should the second nora attend?
    the_first_time: You took the first earlier position of the token. Use the last of them.
        Hint: A token stands at positions 0, 2 and 5. Which earlier position counts for position 5?
    every_pair: You averaged over all earlier positions of each token. Use only the last of them.
        Hint: A token stands at positions 0, 2 and 5. Which earlier position counts for position 5?
    mean_of_all_times: For each token you averaged over all its earlier positions. Use only
        the last of them.
        Hint: A token stands at positions 0, 2 and 5. Which earlier position counts for position 5?
    largest_of_the_row: You took the largest weight of the row, whatever its position.
        Hint: Which column of row i is asked for?
    all_times_added_up: You added up the weights for all earlier positions of a token. Use only the
        last of them.
        Hint: A token stands at positions 0, 2 and 5. Which earlier position counts for position 5?
    finds_itself: A token is found at its own position: look only *before* it.
        Hint: For which j is tokens[j] == tokens[i] always true?
    finds_itself_but_for_the_last: Your search includes position i, so it always finds i itself.
        Search only among earlier positions.
        Hint: For which j is tokens[j] == tokens[i] always true? Look only at positions before i.
    each_for_itself: A token is found at its own position, so that you took each token's weight for
        itself; look only *before* it.
        Hint: For which j is tokens[j] == tokens[i] always true?
    the_last_time_of_all: You looked among all positions, the later ones too; look only
        *before* the position.
        Hint: At position i, which tokens may you compare with: all, or those before i?
    without_the_last: The last position is left out. Hint: Which is the last i that your loop comes to?
    last_time_of_the_word_before: You looked for the latest occurrence of the token *before*; the present
        token's counts.
        Hint: In “nora weaver … nora”: which token is looked for at the second nora?
    never_found: No position is ever found: your score is 0 for every text.
        Hint: `is` asks whether two names mean the very same object. Which comparison asks whether two
        numbers are equal?
    divided_by_all_positions: You divided by the number of all positions. Only positions count whose
        token occurred earlier in the text.
        Hint: Over which positions is the mean taken?
    divided_by_the_words: You divided by the number of different tokens.
        Hint: Over which positions is the mean taken?
    sum_for_mean: You added the weights up and did not divide; their mean is expected.
        Hint: Between which numbers should a score lie?
    nan_for_nothing: If no token occurs twice, you take the mean of no numbers, which is nan; 0.0 is
        expected there.
        Hint: What is the mean of an empty list, for NumPy?
    nothing_for_nothing: Where no token comes back you return nothing; 0.0 is expected there.
        Hint: What does your function return if the condition is never true?
    the_next_time: You looked ahead: the *next* time of the token instead of the last one.
        Hint: For which j must tokens[j] equal tokens[i]: smaller ones than i, or larger ones?
    rows_for_columns: Rows and columns are exchanged: the token that attends is the row.
        Hint: weights[i, j] is the weight of whom, for whom?
    as_if_said_twice: You took it for granted that the second half repeats the first; look at the tokens.
        Hint: Where in your function does `tokens` appear?
    share_of_largest: You counted how often the *largest* weight is in the right position; the weights
        themselves are averaged.
        Hint: What does a head score that gives 0.4 to the right position, and less to every other?
    the_first_only: Only the first token that comes back counts: your function returns too soon.
        Hint: Where is the `return`: in the loop, or after it?
    the_last_only: Only the last token that comes back counts.
        Hint: In your loop, is it `=`, or is something added to a list?
    largest_for_mean: You took the largest of the weights; their mean is expected.
        Hint: Which one number says how a head behaves *on average*?
    not_in_a_row: You left out tokens that follow themselves: there the position after the last time is
        the token's own, and counts like any other.
        Hint: What is j + 1 if j is i − 1?
    the_word_before: You averaged the weights for the token before: that was the last exercise.
        Hint: Where in your function does `tokens` appear?
    largest_of_the_times: Of several earlier positions of a token you took the one with the largest
        weight. Use the last of them.
        Hint: A token stands at positions 0, 2 and 5. Which earlier position counts for position 5?
    row_of_the_next_word: You took the row of the *next* token; the row is that of the token which came
        back.
        Hint: Which token attends: the one at i, or the one after it?
""")
def induction_score_with_slips(slip, weights, tokens):
    length, found = len(tokens), []
    positions = slip.choose(
        length, without_the_last=length - 1, last_time_of_the_word_before=length - 1, never_found=0
    )
    for i in range(positions):
        times = np.flatnonzero(tokens[:i] == tokens[i])
        if slip.finds_itself or slip.finds_itself_but_for_the_last or slip.each_for_itself:
            times = np.array([i])
        if slip.the_last_time_of_all:
            others = np.flatnonzero(tokens == tokens[i])
            times = others[others != i]
        if slip.the_next_time:
            times = i + 1 + np.flatnonzero(tokens[i + 1 :] == tokens[i])[:1]
        if slip.as_if_said_twice:
            times = np.arange(max(0, i + 1 - length // 2))
        if slip.the_word_before:
            times = np.arange(i)
        if not times.size:
            continue
        if slip.every_pair:
            found += list(weights[i, times + 1])
            continue
        j = slip.choose(times[-1], the_first_time=times[0])
        if slip.not_in_a_row and j + 1 == i:
            continue
        row = slip.choose(
            i,
            last_time_of_the_word_before=i + 1,
            row_of_the_next_word=min(i + 1, length - 1),
        )
        column = slip.choose(
            j + 1,
            at_the_same_word=j,
            each_for_itself=j,
            the_word_before=j,
            before_the_last_time=j - 1,
            two_after_the_last_time=min(j + 2, length - 1),
            finds_itself=min(j + 1, length - 1),
            the_next_time=min(j + 1, length - 1),
        )
        after_the_end = column == length
        if after_the_end and (slip.the_last_time_of_all or slip.finds_itself_but_for_the_last):
            continue
        if slip.rows_for_columns:
            row, column = column, row
        weight = slip.choose(
            weights[row, column],
            largest_of_the_row=weights[row].max(),
            share_of_largest=weights[row].argmax() == column,
        )
        if slip.mean_of_all_times:
            weight = weights[i, times + 1].mean()
        if slip.all_times_added_up:
            weight = weights[i, times + 1].sum()
        if slip.largest_of_the_times:
            weight = weights[i, times + 1].max()
        found.append(weight)

    if not found:
        return slip.choose(0.0, nan_for_nothing=float("nan"), nothing_for_nothing=None)
    total = sum(found)
    return float(
        slip.choose(
            np.mean(found),
            divided_by_all_positions=total / length,
            divided_by_the_words=total / len(set(tokens.tolist())),
            sum_for_mean=total,
            the_first_only=found[0],
            the_last_only=found[-1],
            largest_for_mean=max(found),
        )
    )


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
