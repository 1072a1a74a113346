"""The exercise `embedding_backward`: the rows of an embedding matrix, some of them looked up several times."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

embedding_backward = Exercise("embedding_backward", points=2)


@embedding_backward.domain(
    sizes={"batch": (1, 60), "L": (1, 60), "d": (1, 60), "vocabulary": (1, 300)},
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, d, vocabulary):
    return inputs(rng.normal(size=(batch, L, d)), rng.integers(vocabulary, size=(batch, L)), vocabulary)


@embedding_backward.case("the notebook's example by hand")
def by_hand(rng):
    upstream = np.array([[[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]])
    return inputs(upstream, np.array([[3, 1, 3]]), 5)


@embedding_backward.case("no token occurs twice")
def no_word_twice(rng):
    batch, length, d = sizes(rng, 3, high=5)
    vocabulary = batch * length + 3
    tokens = rng.permutation(vocabulary - 1)[: batch * length].reshape(batch, length)
    return inputs(rng.normal(size=(batch, length, d)), tokens, vocabulary)


@embedding_backward.case("tokens that occur again in their own sentence, and in others")
def again(rng):
    batch, length, d = sizes(rng, 3, low=3, high=7)
    tokens = np.arange(batch * length).reshape(batch, length) % 4 + 2
    return inputs(rng.normal(size=(batch, length, d)), rng.permuted(tokens, axis=1), 9)


@embedding_backward.case("sentences without repetition in themselves that share their words")
def across(rng):
    batch, length, d = sizes(rng, 3, low=3, high=6)
    tokens = np.stack([rng.permutation(length) for _ in range(batch)]) + 1
    return inputs(rng.normal(size=(batch, length, d)), tokens, length + 3)


@embedding_backward.case("one word, again and again")
def one_word(rng):
    batch, length, d = sizes(rng, 3, low=3)
    return inputs(rng.normal(size=(batch, length, d)), np.full((batch, length), 2), 4)


@embedding_backward.case("every size the same")
def cube(rng):
    size = int(rng.integers(3, 6))
    return inputs(rng.normal(size=(size, size, size)), rng.integers(size, size=(size, size)), size)


def table(upstream, vocabulary):
    return np.zeros((vocabulary, upstream.shape[-1]), dtype=upstream.dtype)


def added(upstream, tokens, vocabulary):
    result = table(upstream, vocabulary)
    np.add.at(result, tokens, upstream)
    return result


def counts(tokens, vocabulary):
    return np.bincount(tokens.ravel(), minlength=vocabulary)[:, None]


@embedding_backward.misconception(
    means="If a token occurs several times, only one position counts: `array[tokens] = …` and `array[tokens] += …` "
    "write each row once.",
    nudge="Which function of NumPy adds at every place of a list, also where a place is named twice?",
)
def one_place_counts(upstream, tokens, vocabulary):
    result = table(upstream, vocabulary)
    result[tokens] += upstream
    return result


@embedding_backward.misconception(
    means="If a token occurs twice in a sentence, it is counted once: in your loop over sentences `+=` with a list of "
    "places writes each row once.",
    nudge="In your loop, what happens where a sentence has the same word twice?",
)
def once_a_sentence(upstream, tokens, vocabulary):
    result = table(upstream, vocabulary)
    for rows, sentence in zip(upstream, tokens):
        result[sentence] += rows
    return result


@embedding_backward.misconception(
    means="Where several sentences have the same word at the same position it is counted once: in your loop over "
    "positions `+=` with a list of places writes each row once.",
    nudge="In your loop, what happens where two sentences have the same word?",
)
def once_a_position(upstream, tokens, vocabulary):
    result = table(upstream, vocabulary)
    for i in range(tokens.shape[1]):
        result[tokens[:, i]] += upstream[:, i]
    return result


@embedding_backward.misconception(
    means="If a token occurs several times, only its first position counts.",
    nudge="Token 3 occurs at two positions. Which rows of `upstream` belong to it?",
)
def the_first_place_counts(upstream, tokens, vocabulary):
    result = table(upstream, vocabulary)
    words, first = np.unique(tokens, return_index=True)
    result[words] = upstream.reshape(-1, upstream.shape[-1])[first]
    return result


@embedding_backward.misconception(
    means="In your loop a word's row is replaced each time, not added to.",
    nudge="In your loop, is it `=` or `+=`?",
)
def the_last_sentence_wins(upstream, tokens, vocabulary):
    result = table(upstream, vocabulary)
    for rows, sentence in zip(upstream, tokens):
        new = table(upstream, vocabulary)
        np.add.at(new, sentence, rows)
        present = np.unique(sentence)
        result[present] = new[present]
    return result


@embedding_backward.misconception(
    means="You took the mean over a word's places; its gradients are added.",
    nudge="A number that is used in many places gets a gradient from each. How are they put together?",
)
def mean_over_the_places(upstream, tokens, vocabulary):
    return added(upstream, tokens, vocabulary) / np.maximum(counts(tokens, vocabulary), 1)


@embedding_backward.misconception(
    means="You divided by the number of sentences; the loss has taken its mean already, further up.",
    nudge="Is there a mean in looking up a row?",
)
def mean_over_the_batch(upstream, tokens, vocabulary):
    return added(upstream, tokens, vocabulary) / len(tokens)


@embedding_backward.misconception(
    means="You divided by the number of all words; the loss has taken its mean already, further up.",
    nudge="Is there a mean in looking up a row?",
)
def mean_over_all_words(upstream, tokens, vocabulary):
    return added(upstream, tokens, vocabulary) / tokens.size


@embedding_backward.misconception(
    means="You multiplied by the number of occurrences; each position has its own row of `upstream`.",
    nudge="How often is each row of `upstream` added?",
)
def one_place_times_the_count(upstream, tokens, vocabulary):
    return one_place_counts(upstream, tokens, vocabulary) * counts(tokens, vocabulary)


@embedding_backward.misconception(
    means="You added 1 for each position, which counts the tokens; the row of `upstream` is expected.",
    nudge="What do you add to the row of the table, for each position?",
)
def counted(upstream, tokens, vocabulary):
    return np.zeros((vocabulary, upstream.shape[-1])) + counts(tokens, vocabulary)


@embedding_backward.misconception(
    means="You summed by position: that is the gradient of the position vectors. A row for each *token* is expected.",
    nudge="Which row of the embedding matrix was looked up at position (b, i)?",
)
def by_position(upstream, tokens, vocabulary):
    result = table(upstream, vocabulary)
    total = upstream.sum(axis=0)[:vocabulary]
    result[: len(total)] = total
    return result


@embedding_backward.misconception(
    means="Only the first sentence of the batch counts.",
    nudge="What happens to the sentences after the first one?",
)
def first_sentence_only(upstream, tokens, vocabulary):
    return added(upstream[:1], tokens[:1], vocabulary)


@embedding_backward.misconception(
    means="Only the last sentence of the batch counts: the table is made anew in each round of the loop.",
    nudge="Where in your function is the table of zeros made: before the loop, or inside it?",
)
def last_sentence_only(upstream, tokens, vocabulary):
    return added(upstream[-1:], tokens[-1:], vocabulary)


@embedding_backward.misconception(
    means="You summed over the sentences first, and then used the words of the first one for all.",
    nudge="Do all sentences have the same word at position i?",
)
def words_of_the_first_sentence(upstream, tokens, vocabulary):
    return added(upstream.sum(axis=0, keepdims=True), tokens[:1], vocabulary)


@embedding_backward.misconception(
    means="The last word of each sentence is left out.",
    nudge="The loss leaves out a word, but does looking up? Which places does `upstream` have?",
)
def last_word_left_out(upstream, tokens, vocabulary):
    return added(upstream[:, :-1], tokens[:, :-1], vocabulary)


@embedding_backward.misconception(
    means="Your rows are shifted by one: token 0 has row 0.",
    nudge="Do the tokens count from 0 or from 1?",
)
def one_row_too_early(upstream, tokens, vocabulary):
    return np.roll(added(upstream, tokens, vocabulary), -1, axis=0)


@embedding_backward.misconception(
    means="The table ends at the largest token that occurs; it has a row for every word of the vocabulary.",
    nudge="Which shape does the docstring promise?",
)
def only_as_many_rows_as_needed(upstream, tokens, vocabulary):
    return added(upstream, tokens, int(tokens.max()) + 1)


@embedding_backward.misconception(
    means="The table has a row too many: tokens go from 0 to `vocabulary` − 1.",
    nudge="Which shape does the docstring promise?",
)
def one_row_too_many(upstream, tokens, vocabulary):
    return added(upstream, tokens, vocabulary + 1)


@embedding_backward.misconception(
    means="You divided by the number of different words; the gradients of a row are added.",
    nudge="Is there a mean in looking up a row?",
)
def mean_over_the_different_words(upstream, tokens, vocabulary):
    return added(upstream, tokens, vocabulary) / len(np.unique(tokens))


@embedding_backward.misconception(
    means="Your table has 210 rows, the vocabulary of this lab's model; the argument `vocabulary` gives the number.",
    nudge="Where in your function does `vocabulary` appear?",
)
def always_210_rows(upstream, tokens, vocabulary):
    return added(upstream, tokens, 210)


@embedding_backward.misconception(
    means="A reshape to (d, words) is no transpose: it deals the numbers out anew, and rows get numbers of other words.",
    nudge="In which order does `reshape` lay the numbers down? Try it with the rows (1, 2), (10, 20) and (100, 200).",
)
def reshaped_for_transposed(upstream, tokens, vocabulary):
    rows = upstream.reshape(upstream.shape[-1], -1).T
    return added(rows, tokens.ravel(), vocabulary)


@embedding_backward.misconception(
    means="There are rows only for the words that occur; the others have a row of zeros.",
    nudge="Which shape does the docstring promise?",
)
def only_words_that_occur(upstream, tokens, vocabulary):
    return added(upstream, tokens, vocabulary)[np.unique(tokens)]


@embedding_backward.misconception(
    means="You returned the upstream gradient as it came.",
    nudge="Which shape does the embedding matrix have?",
)
def upstream_returned(upstream, tokens, vocabulary):
    return upstream.copy()


@embedding_backward.misconception(
    means="You only cut the axes together: there is still a row for each place, not for each word of the vocabulary.",
    nudge="Which row of the result does each of these belong to?",
)
def a_row_for_each_place(upstream, tokens, vocabulary):
    return upstream.reshape(-1, upstream.shape[-1]).copy()


@embedding_backward.common_mistake
def lower_precision(upstream, tokens, vocabulary):
    return added(upstream.astype(np.float16), tokens, vocabulary)


@embedding_backward.common_mistake
def returns_a_list(upstream, tokens, vocabulary):
    return added(upstream, tokens, vocabulary).tolist()


# Other right answers, which must pass.


@embedding_backward.variant
def two_loops(upstream, tokens, vocabulary):
    result = np.zeros((vocabulary, upstream.shape[2]))
    for b in range(tokens.shape[0]):
        for i in range(tokens.shape[1]):
            result[tokens[b, i]] += upstream[b, i]
    return result


@embedding_backward.variant
def one_hot(upstream, tokens, vocabulary):
    places = np.eye(vocabulary)[tokens.ravel()]
    return places.T @ upstream.reshape(len(places), -1)


@embedding_backward.variant
def word_by_word(upstream, tokens, vocabulary):
    return np.array([upstream[tokens == word].sum(axis=0) for word in range(vocabulary)])


@embedding_backward.variant
def with_bincount(upstream, tokens, vocabulary):
    words = tokens.ravel()
    columns = upstream.reshape(len(words), -1).T
    return np.stack([np.bincount(words, weights=c, minlength=vocabulary) for c in columns], axis=1)


@embedding_backward.variant
def with_einsum(upstream, tokens, vocabulary):
    return np.einsum("blv,bld->vd", tokens[..., None] == np.arange(vocabulary), upstream)
