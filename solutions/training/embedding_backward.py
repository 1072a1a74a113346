"""The exercise `embedding_backward`: the rows of an embedding matrix, some of them looked up several times."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

embedding_backward = Exercise("embedding_backward", points=2)


@embedding_backward.domain(
    sizes={"batch": (1, 60), "L": (1, 60), "d": (1, 60), "vocabulary": (1, 300)},
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, d, vocabulary):
    return inputs(
        rng.normal(size=(batch, L, d)), rng.integers(vocabulary, size=(batch, L)), vocabulary
    )


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


@embedding_backward.slips("""
    one_place_counts: If a token occurs several times, its row gets the gradient of one position only;
        the gradients of all its positions should be added. `=` replaces what the row holds. `+=` adds
        if it gets one token at a time; with an array of tokens it writes each row only once.
        Hint: Do you write with `=` or `+=`, and to one token at a time or to many? `np.add.at` adds for
        every token of an array.
    once_a_sentence: If a token occurs twice in a sentence, it is counted once: in your loop over
        sentences `+=` with a list of places writes each row once.
        Hint: In your loop, what happens where a sentence has the same word twice?
    once_a_position: Where several sentences have the same word at the same position it is counted once:
        in your loop over positions `+=` with a list of places writes each row once.
        Hint: In your loop, what happens where two sentences have the same word?
    the_first_place_counts: If a token occurs several times, only its first position counts.
        Hint: Token 3 occurs at two positions. Which rows of `upstream` belong to it?
    the_last_sentence_wins: In your loop a word's row is replaced each time, not added to.
        Hint: In your loop, is it `=` or `+=`?
    mean_over_the_places: You took the mean over a word's places; its gradients are added.
        Hint: A number that is used in many places gets a gradient from each. How are they put together?
    mean_over_the_batch: You divided by the number of sentences; the loss has taken its mean already,
        further up.
        Hint: Is there a mean in looking up a row?
    mean_over_all_words: You divided by the number of all words; the loss has taken its mean already,
        further up.
        Hint: Is there a mean in looking up a row?
    one_place_times_the_count: You multiplied by the number of occurrences; each position has its own row
        of `upstream`.
        Hint: How often is each row of `upstream` added?
    counted: You added 1 for each position, which counts the tokens; the row of `upstream` is expected.
        Hint: What do you add to the row of the table, for each position?
    by_position: You summed by position: that is the gradient of the position vectors. A row for each
        *token* is expected.
        Hint: Which row of the embedding matrix was looked up at position (b, i)?
    first_sentence_only: Only the first sentence of the batch counts.
        Hint: What happens to the sentences after the first one?
    last_sentence_only: Only the last sentence of the batch counts: the table is made anew in each round
        of the loop.
        Hint: Where in your function is the table of zeros made: before the loop, or inside it?
    words_of_the_first_sentence: You summed over the sentences first, and then used the words of the
        first one for all.
        Hint: Do all sentences have the same word at position i?
    a_table_for_each_sentence: There is a table for each sentence; they are not added up.
        Hint: Which axis does the docstring not have?
    last_word_left_out: The last word of each sentence is left out.
        Hint: The loss leaves out a word, but does looking up? Which places does `upstream` have?
    one_row_too_early: Your rows are shifted by one: token 0 has row 0.
        Hint: Do the tokens count from 0 or from 1?
    only_as_many_rows_as_needed: The table ends at the largest token that occurs; it has a row for every
        word of the vocabulary.
        Hint: Which shape does the docstring promise?
    one_row_too_many: The table has a row too many: tokens go from 0 to `vocabulary` − 1.
        Hint: Which shape does the docstring promise?
    mean_over_the_different_words: You divided by the number of different words; the gradients of a row
        are added.
        Hint: Is there a mean in looking up a row?
    always_210_rows: Your table has 210 rows, the vocabulary of this lab's model; the argument
        `vocabulary` gives the number.
        Hint: Where in your function does `vocabulary` appear?
    reshaped_for_transposed: A reshape to (d, words) is no transpose: it deals the numbers out anew, and
        rows get numbers of other words.
        Hint: In which order does `reshape` lay the numbers down? Try it with the rows (1, 2), (10, 20)
        and (100, 200).
    only_words_that_occur: There are rows only for the words that occur; the others have a row of zeros.
        Hint: Which shape does the docstring promise?
    upstream_returned: You returned the upstream gradient as it came.
        Hint: Which shape does the embedding matrix have?
    a_row_for_each_place: You only cut the axes together: there is still a row for each place, not for
        each word of the vocabulary.
        Hint: Which row of the result does each of these belong to?
    lower_precision
    returns_a_list
""")
def embedding_backward_with_slips(slip, upstream, tokens, vocabulary):
    d = upstream.shape[-1]
    if slip.upstream_returned:
        return upstream.copy()
    if slip.a_row_for_each_place:
        return upstream.reshape(-1, d).copy()
    height = slip.choose(
        vocabulary,
        only_as_many_rows_as_needed=int(tokens.max()) + 1,
        one_row_too_many=vocabulary + 1,
        always_210_rows=210,
    )
    if slip.first_sentence_only:
        upstream, tokens = upstream[:1], tokens[:1]
    if slip.last_sentence_only:
        upstream, tokens = upstream[-1:], tokens[-1:]
    if slip.words_of_the_first_sentence:
        upstream, tokens = upstream.sum(axis=0, keepdims=True), tokens[:1]
    if slip.last_word_left_out:
        upstream, tokens = upstream[:, :-1], tokens[:, :-1]
    if slip.a_table_for_each_sentence:
        return np.eye(vocabulary)[tokens].transpose(0, 2, 1) @ upstream
    if slip.reshaped_for_transposed:
        upstream = upstream.reshape(d, -1).T.reshape(upstream.shape)
    if slip.counted:
        upstream = np.ones(upstream.shape)
    if slip.lower_precision:
        upstream = upstream.astype(np.float16)
    result = np.zeros((height, d), dtype=upstream.dtype)
    if slip.by_position:
        total = upstream.sum(axis=0)[:vocabulary]
        result[: len(total)] = total
        return result
    all_at_once = slip.one_place_counts or slip.one_place_times_the_count
    if slip.the_first_place_counts:
        words, first = np.unique(tokens, return_index=True)
        result[words] = upstream.reshape(-1, d)[first]
    elif all_at_once:
        result[tokens] += upstream
    elif slip.once_a_position:
        for i in range(tokens.shape[1]):
            result[tokens[:, i]] += upstream[:, i]
    else:
        for rows, sentence in zip(upstream, tokens):
            if slip.the_last_sentence_wins:
                result[sentence] = 0
            if slip.once_a_sentence:
                result[sentence] += rows
            else:
                np.add.at(result, sentence, rows)
    counts = np.bincount(tokens.ravel(), minlength=height)[:, None]
    if slip.one_place_times_the_count:
        result = result * counts
    result = result / slip.choose(
        1,
        mean_over_the_places=np.maximum(counts, 1),
        mean_over_the_batch=len(tokens),
        mean_over_all_words=tokens.size,
        mean_over_the_different_words=len(np.unique(tokens)),
    )
    if slip.one_row_too_early:
        return np.roll(result, -1, axis=0)
    if slip.only_words_that_occur:
        return result[np.unique(tokens)]
    if slip.returns_a_list:
        return result.tolist()
    return result


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
