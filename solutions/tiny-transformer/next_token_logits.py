"""The exercise `next_token_logits`: token and position vectors, a stack of blocks, a last norm, logits."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import block, causal, logits, model_parameters, norm, stack
from .layer_norm import layer_norm
from .transformer_block import transformer_block

next_token_logits = Exercise(
    "next_token_logits", points=3, builds_on=[layer_norm, transformer_block]
)


def given(rng, batch, length, heads, d_head, vocabulary, layers=2, more=3, magnitude=1.0):
    p = model_parameters(rng, vocabulary, length + more, heads * d_head, 2 * heads * d_head, layers)
    for name in ("tokens", "positions"):
        p[name] = magnitude * p[name]
    return inputs(rng.integers(vocabulary, size=(batch, length)), p, heads)


@next_token_logits.domain(
    sizes={
        "batch": (1, 6),
        "L": (1, 55),
        "heads": (1, 4),
        "d_head": (1, 4),
        "vocabulary": (2, 60),
        "layers": (1, 3),
    },
    magnitudes=(1.0, 10.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, heads, d_head, vocabulary, layers, magnitude):
    return given(rng, batch, L, heads, d_head, vocabulary, layers, int(rng.integers(4)), magnitude)


@next_token_logits.case("every size different, two blocks")
def all_different(rng):
    return given(rng, *sizes(rng, 4, 2, 5), 11)


@next_token_logits.case("three blocks")
def three_blocks(rng):
    return given(rng, *sizes(rng, 4, 2, 5), 9, layers=3)


@next_token_logits.case("one block, one head")
def one_block(rng):
    batch, length, d = sizes(rng, 3, 3, 6)
    return given(rng, batch, length, 1, d, 8, layers=1)


@next_token_logits.case("a single word")
def single(rng):
    batch, heads, d_head = sizes(rng, 3, 2, 5)
    return given(rng, batch, 1, heads, d_head, 7)


@next_token_logits.case("L = the number of positions, every token the same")
def as_long_as_possible(rng):
    length, heads, d_head = sizes(rng, 3, 2, 4)
    asked = given(rng, 2, length + 2, heads, d_head, 10, more=0)
    tokens, p, heads = asked.args
    return inputs(np.full_like(tokens, 4), p, heads)


@next_token_logits.case("batch = L = d")
def square(rng):
    heads, d_head = sizes(rng, 2, 2, 3)
    d = heads * d_head
    return given(rng, d, d, heads, d_head, d)


@next_token_logits.slips("""
    no_positions: The positions do not come in: the model cannot know in what order the earlier words
        stand.
        Hint: What is added to the token vectors?
    positions_from_1: You counted the positions from 1; the first word has position 0.
        Hint: Which row of the table belongs to the first word?
    last_positions: You took the last rows of the table of positions; a sentence begins with the first
        row.
        Hint: Which row of the table belongs to the first word?
    first_position_for_all: Each word got the vector of position 0.
        Hint: A sentence of L words needs how many rows of the table of positions?
    positions_by_words: You looked the positions up by the words' numbers; a position says where a word
        stands, not which it is.
        Hint: Position vectors are the first L rows of their table, whatever the words are.
    all_positions: You added all rows of the table of positions; a sentence may be shorter than the table
        is long.
        Hint: Which rows belong to a sentence of L words?
    tokens_scaled: The token vectors are multiplied by √d, as in the Transformer of 2017; this model does
        not do so.
        Hint: How is X made from token vectors and position vectors? Look at the formula above the
        exercise.
    first_block_only: Only the first block is used.
        Hint: Over what does your loop run, and where is its `return`?
    each_block_anew: Only the last block counts: each block reads the vectors from before the first one.
        Hint: What does the second block read: the first vectors, or what the first block has made of
        them?
    the_first_block_each_time: The same block is used again and again; each has parameters of its own.
        Hint: Does the index in `parameters['blocks']` change in your loop?
    blocks_reversed: The blocks come in reverse order. Hint: Which block reads the token vectors?
    no_blocks: There are no blocks: each word is guessed from the one before it alone.
        Hint: What comes between the first vectors and the last norm?
    positions_in_each_block: The position vectors are added again before every block.
        Hint: Should that line stand in the loop or before it?
    last_norm_in_each_block: The last norm is used after every block.
        Hint: Should that line stand in the loop or after it?
    no_mask: You use no mask, so each word sees the next word, and the next word is what it has to
        predict.
        Hint: Which mask does a model need that writes?
    mask_turned: The mask is turned round: each word sees itself and what comes after it.
        Hint: Print your mask for L = 3. Row 0 is the first word; what may it see?
    diagonal_mask: Each word sees only itself: the mask is a diagonal.
        Hint: Print your mask for L = 3. What may the last word see?
    diagonal_hidden: A word does not see itself: the diagonal of the mask is hidden, so nothing is left
        for the first word.
        Hint: Print your mask for L = 3. What may row 0 see?
    no_last_norm: The layer norm after the last block is missing.
        Hint: Which two entries of `parameters` have you not used?
    vectors_for_logits: You returned the vectors of the last layer; what turns them into a score for each
        word is missing.
        Hint: The result has a number for each word of the vocabulary. Which table has a row for each?
    not_transposed: The token table was not transposed for the last product.
        Hint: (batch, L, d) times what gives (batch, L, vocabulary)? The table has shape (vocabulary, d).
    probabilities: You returned probabilities; logits are what comes before the softmax.
        Hint: Leave the softmax to whoever uses the logits.
    log_probabilities: You returned logarithms of probabilities; logits are what comes before the
        softmax.
        Hint: Is anything subtracted after the last product?
    last_word_only: You returned the logits after the last word only; each position makes a guess.
        Hint: The result has shape (batch, L, vocabulary).
    logits_scaled: The logits are divided by √d, as scores of attention are; here nothing is divided.
        Hint: What exactly is the last line of the formula?
    best_words: You returned the most likely words' numbers; a score for every word is asked for.
        Hint: Is there an `argmax` too many?
    compared_with_shifted_tokens: The position vectors came into the last product as well.
        Hint: What does the last line of the formula compare the vectors with?
    modifies_argument
    lower_precision
    last_block_left_out: The last block is left out.
        Hint: Does your loop run over all of `parameters['blocks']`? Where does its slice or its range
        end?
    normed_before_the_blocks_too: The last norm is used before the first block as well; it comes once, at
        the end.
        Hint: Which norms does a block hold itself? Where does the model's own gain and bias belong?
    positions_multiplied: You multiplied the vectors of tokens and positions. They must be added.
        Hint: Is it `+` or `*` that stands between the two in the formula?
    last_norm_before_the_last_block: The last norm comes before the last block; it should follow it.
        Hint: What does the last block give to the product with the token table: does a norm stand
        between them?
""")
def next_token_logits_with_slips(slip, tokens, parameters, heads):
    p, length = parameters, tokens.shape[1]
    size = p["tokens"].shape[1]
    if slip.modifies_argument:
        p["positions"] += 0.5
    last = len(p["positions"]) - 1
    places = slip.choose(
        np.arange(length),
        positions_from_1=np.minimum(np.arange(length) + 1, last),
        last_positions=np.arange(last + 1)[-length:],
        first_position_for_all=0,
        positions_by_words=np.minimum(tokens, last),
        all_positions=np.arange(last + 1),
    )
    words, positions = p["tokens"][tokens], p["positions"][places]
    if slip.tokens_scaled:
        words = words * size**0.5
    x = words
    if not slip.no_positions and not slip.positions_in_each_block:
        x = words + positions
    if slip.positions_multiplied:
        x = words * positions
    if slip.modifies_argument:
        x = x - 0.5
    if slip.normed_before_the_blocks_too:
        x = norm(x, p["gain"], p["bias"])

    length = x.shape[1]
    mask = slip.choose(
        causal(length),
        no_mask=np.ones((length, length), dtype=bool),
        mask_turned=causal(length).T,
        diagonal_mask=np.eye(length, dtype=bool),
        diagonal_hidden=np.tri(length, k=-1, dtype=bool),
    )
    blocks = slip.choose(
        p["blocks"],
        first_block_only=p["blocks"][:1],
        each_block_anew=p["blocks"][-1:],
        the_first_block_each_time=p["blocks"][:1] * len(p["blocks"]),
        blocks_reversed=p["blocks"][::-1],
        no_blocks=[],
        last_block_left_out=p["blocks"][:-1],
    )
    for one in blocks:
        if slip.positions_in_each_block:
            x = x + positions
        if slip.last_norm_before_the_last_block and one is blocks[-1]:
            x = norm(x, p["gain"], p["bias"])
        x = block(x, one, heads, mask)
        if slip.last_norm_in_each_block:
            x = norm(x, p["gain"], p["bias"])

    normed = slip.last_norm_in_each_block or slip.last_norm_before_the_last_block
    if not slip.no_last_norm and not normed:
        x = norm(x, p["gain"], p["bias"])
    if slip.compared_with_shifted_tokens:
        x = x + positions
    if slip.vectors_for_logits:
        return x
    result = x @ slip.choose(p["tokens"].T, not_transposed=p["tokens"])
    if slip.last_word_only:
        return result[:, -1]
    if slip.logits_scaled:
        return result / size**0.5
    if slip.best_words:
        return result.argmax(-1)
    if slip.probabilities:
        e = np.exp(result - result.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
    if slip.log_probabilities:
        below = result - result.max(-1, keepdims=True)
        return below - np.log(np.exp(below).sum(-1, keepdims=True))
    return slip.choose(result, lower_precision=result.astype(np.float32))


# Other right answers, which must pass.


@next_token_logits.variant
def with_take_and_einsum(tokens, parameters, heads):
    p = parameters
    x = np.take(p["tokens"], tokens, axis=0) + p["positions"][None, np.arange(tokens.shape[1])]
    for n in range(len(p["blocks"])):
        x = transformer_block.reference(x, p["blocks"][n], heads, causal(x.shape[1]))
    return np.einsum("bld,vd->blv", layer_norm.reference(x, p["gain"], p["bias"]), p["tokens"])


@next_token_logits.variant
def sentence_by_sentence(tokens, parameters, heads):
    rows = []
    for sentence in tokens:
        x = np.array(
            [parameters["tokens"][t] + parameters["positions"][i] for i, t in enumerate(sentence)]
        )
        rows.append(logits(stack(x[None], parameters, heads), parameters)[0])
    return np.array(rows)


@next_token_logits.variant
def one_hot(tokens, parameters, heads):
    table = parameters["tokens"]
    x = (
        np.eye(len(table), dtype=table.dtype)[tokens] @ table
        + parameters["positions"][: tokens.shape[-1]]
    )
    return logits(stack(x, parameters, heads), parameters)
