"""The exercise `next_token_logits`: token and position vectors, a stack of blocks, a last norm, logits."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import block, causal, embed, logits, model_parameters, norm, stack
from .layer_norm import layer_norm
from .transformer_block import transformer_block

next_token_logits = Exercise("next_token_logits", points=3, builds_on=[layer_norm, transformer_block])


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


@next_token_logits.case("as long as the model has positions, one word again and again")
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


# Before the blocks.


@next_token_logits.misconception(
    means="The positions do not come in: the model cannot know in what order the earlier words stand.",
    nudge="What is added to the token vectors?",
)
def no_positions(tokens, parameters, heads):
    return logits(stack(parameters["tokens"][tokens], parameters, heads), parameters)


@next_token_logits.misconception(
    means="You counted the positions from 1; the first word has position 0.",
    nudge="Which row of the table belongs to the first word?",
)
def positions_from_1(tokens, parameters, heads):
    p, length = parameters, tokens.shape[1]
    wanted = np.minimum(np.arange(length) + 1, len(p["positions"]) - 1)
    return logits(stack(p["tokens"][tokens] + p["positions"][wanted], p, heads), p)


@next_token_logits.misconception(
    means="You took the last rows of the table of positions; a sentence begins with the first row.",
    nudge="Which row of the table belongs to the first word?",
)
def last_positions(tokens, parameters, heads):
    p, length = parameters, tokens.shape[1]
    return logits(stack(p["tokens"][tokens] + p["positions"][-length:], p, heads), p)


@next_token_logits.misconception(
    means="Each word got the vector of position 0.",
    nudge="A sentence of L words needs how many rows of the table of positions?",
)
def first_position_for_all(tokens, parameters, heads):
    p = parameters
    return logits(stack(p["tokens"][tokens] + p["positions"][0], p, heads), p)


@next_token_logits.misconception(
    means="You looked the positions up by the words' numbers; a position says where a word stands, not which it is.",
    nudge="Position vectors are the first L rows of their table, whatever the words are.",
)
def positions_by_words(tokens, parameters, heads):
    p = parameters
    wanted = np.minimum(tokens, len(p["positions"]) - 1)
    return logits(stack(p["tokens"][tokens] + p["positions"][wanted], p, heads), p)


@next_token_logits.misconception(
    means="You added all rows of the table of positions; a sentence may be shorter than the table is long.",
    nudge="Which rows belong to a sentence of L words?",
)
def all_positions(tokens, parameters, heads):
    p = parameters
    return logits(stack(p["tokens"][tokens] + p["positions"], p, heads), p)


@next_token_logits.misconception(
    means="The token vectors are multiplied by √d, as in the Transformer of 2017; this model does not do so.",
    nudge="What exactly is added in the first line of the formula?",
)
def tokens_scaled(tokens, parameters, heads):
    p = parameters
    return logits(
        stack(
            p["tokens"][tokens] * p["tokens"].shape[1] ** 0.5 + p["positions"][: tokens.shape[1]], p, heads
        ),
        p,
    )


# The blocks.


@next_token_logits.misconception(
    means="Only the first block is used.", nudge="Over what does your loop run, and where is its `return`?"
)
def first_block_only(tokens, parameters, heads):
    p = parameters
    return logits(stack(embed(tokens, p), p, heads, blocks=p["blocks"][:1]), p)


@next_token_logits.misconception(
    means="Only the last block counts: each block reads the vectors from before the first one.",
    nudge="What does the second block read: the first vectors, or what the first block has made of them?",
)
def each_block_anew(tokens, parameters, heads):
    p = parameters
    return logits(stack(embed(tokens, p), p, heads, blocks=p["blocks"][-1:]), p)


@next_token_logits.misconception(
    means="The same block is used again and again; each has parameters of its own.",
    nudge="Does the index in `parameters['blocks']` change in your loop?",
)
def the_first_block_each_time(tokens, parameters, heads):
    p = parameters
    return logits(stack(embed(tokens, p), p, heads, blocks=p["blocks"][:1] * len(p["blocks"])), p)


@next_token_logits.misconception(
    means="The blocks come in reverse order.", nudge="Which block reads the token vectors?"
)
def blocks_reversed(tokens, parameters, heads):
    p = parameters
    return logits(stack(embed(tokens, p), p, heads, blocks=p["blocks"][::-1]), p)


@next_token_logits.misconception(
    means="There are no blocks: each word is guessed from the one before it alone.",
    nudge="What comes between the first vectors and the last norm?",
)
def no_blocks(tokens, parameters, heads):
    return logits(embed(tokens, parameters), parameters)


@next_token_logits.misconception(
    means="The position vectors are added again before every block.",
    nudge="Should that line stand in the loop or before it?",
)
def positions_in_each_block(tokens, parameters, heads):
    p = parameters
    x = p["tokens"][tokens]
    for one in p["blocks"]:
        x = block(x + p["positions"][: tokens.shape[1]], one, heads, causal(tokens.shape[1]))
    return logits(x, p)


@next_token_logits.misconception(
    means="The last norm is used after every block.",
    nudge="Should that line stand in the loop or after it?",
)
def last_norm_in_each_block(tokens, parameters, heads):
    p = parameters
    x = embed(tokens, p)
    for one in p["blocks"]:
        x = norm(block(x, one, heads, causal(tokens.shape[1])), p["gain"], p["bias"])
    return x @ p["tokens"].T


# The mask.


@next_token_logits.misconception(
    means="Nothing is hidden: each word sees the very word that it has to guess.",
    nudge="Which mask does a model need that writes?",
)
def no_mask(tokens, parameters, heads):
    p, length = parameters, tokens.shape[1]
    return logits(stack(embed(tokens, p), p, heads, np.ones((length, length), bool)), p)


@next_token_logits.misconception(
    means="The mask is turned round: each word sees itself and what comes after it.",
    nudge="Print your mask for L = 3. Row 0 is the first word; what may it see?",
)
def mask_turned(tokens, parameters, heads):
    p = parameters
    return logits(stack(embed(tokens, p), p, heads, causal(tokens.shape[1]).T), p)


@next_token_logits.misconception(
    means="Each word sees only itself: the mask is a diagonal.",
    nudge="Print your mask for L = 3. What may the last word see?",
)
def diagonal_mask(tokens, parameters, heads):
    p = parameters
    return logits(stack(embed(tokens, p), p, heads, np.eye(tokens.shape[1], dtype=bool)), p)


@next_token_logits.misconception(
    means="A word does not see itself: the diagonal of the mask is hidden, so nothing is left for the first word.",
    nudge="Print your mask for L = 3. What may row 0 see?",
)
def diagonal_hidden(tokens, parameters, heads):
    p = parameters
    with np.errstate(all="ignore"):
        return logits(stack(embed(tokens, p), p, heads, np.tri(tokens.shape[1], k=-1, dtype=bool)), p)


# After the blocks.


@next_token_logits.misconception(
    means="The layer norm after the last block is missing.",
    nudge="Which two entries of `parameters` have you not used?",
)
def no_last_norm(tokens, parameters, heads):
    return stack(embed(tokens, parameters), parameters, heads) @ parameters["tokens"].T


@next_token_logits.misconception(
    means="You returned the vectors of the last layer; what turns them into a score for each word is missing.",
    nudge="The result has a number for each word of the vocabulary. Which table has a row for each?",
)
def vectors_for_logits(tokens, parameters, heads):
    p = parameters
    return norm(stack(embed(tokens, p), p, heads), p["gain"], p["bias"])


@next_token_logits.misconception(
    means="The token table was not transposed for the last product.",
    nudge="(batch, L, d) times what gives (batch, L, vocabulary)? The table has shape (vocabulary, d).",
)
def not_transposed(tokens, parameters, heads):
    p = parameters
    return norm(stack(embed(tokens, p), p, heads), p["gain"], p["bias"]) @ p["tokens"]


@next_token_logits.misconception(
    means="You returned probabilities; logits are what comes before the softmax.",
    nudge="Leave the softmax to whoever uses the logits.",
)
def probabilities(tokens, parameters, heads):
    z = logits(stack(embed(tokens, parameters), parameters, heads), parameters)
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@next_token_logits.misconception(
    means="You returned logarithms of probabilities; logits are what comes before the softmax.",
    nudge="Is anything subtracted after the last product?",
)
def log_probabilities(tokens, parameters, heads):
    z = logits(stack(embed(tokens, parameters), parameters, heads), parameters)
    top = z.max(-1, keepdims=True)
    return z - top - np.log(np.exp(z - top).sum(-1, keepdims=True))


@next_token_logits.misconception(
    means="You returned the logits after the last word only; each position makes a guess.",
    nudge="The result has shape (batch, L, vocabulary).",
)
def last_word_only(tokens, parameters, heads):
    return logits(stack(embed(tokens, parameters), parameters, heads), parameters)[:, -1]


@next_token_logits.misconception(
    means="The logits are divided by √d, as scores of attention are; here nothing is divided.",
    nudge="What exactly is the last line of the formula?",
)
def logits_scaled(tokens, parameters, heads):
    z = logits(stack(embed(tokens, parameters), parameters, heads), parameters)
    return z / parameters["tokens"].shape[1] ** 0.5


@next_token_logits.misconception(
    means="You returned the most likely words' numbers; a score for every word is asked for.",
    nudge="Is there an `argmax` too many?",
)
def best_words(tokens, parameters, heads):
    return logits(stack(embed(tokens, parameters), parameters, heads), parameters).argmax(-1)


@next_token_logits.misconception(
    means="The position vectors came into the last product as well.",
    nudge="What does the last line of the formula compare the vectors with?",
)
def compared_with_shifted_tokens(tokens, parameters, heads):
    p = parameters
    x = norm(stack(embed(tokens, p), p, heads), p["gain"], p["bias"])
    return (x + p["positions"][: tokens.shape[1]]) @ p["tokens"].T


# Two at once.


def unnormed(x, p):
    return x @ p["tokens"].T


def everything_shown(length):
    return np.ones((length, length), dtype=bool)


@next_token_logits.combined_misconception(no_mask, no_last_norm)
def neither_mask_nor_last_norm(tokens, parameters, heads):
    p = parameters
    return unnormed(stack(embed(tokens, p), p, heads, everything_shown(tokens.shape[1])), p)


@next_token_logits.combined_misconception(no_positions, no_mask)
def neither_positions_nor_mask(tokens, parameters, heads):
    p = parameters
    return logits(stack(p["tokens"][tokens], p, heads, everything_shown(tokens.shape[1])), p)


@next_token_logits.combined_misconception(no_positions, no_last_norm)
def neither_positions_nor_last_norm(tokens, parameters, heads):
    return unnormed(stack(parameters["tokens"][tokens], parameters, heads), parameters)


@next_token_logits.combined_misconception(mask_turned, no_last_norm)
def mask_turned_without_last_norm(tokens, parameters, heads):
    p = parameters
    return unnormed(stack(embed(tokens, p), p, heads, causal(tokens.shape[1]).T), p)


@next_token_logits.combined_misconception(no_mask, last_word_only)
def last_word_without_mask(tokens, parameters, heads):
    return no_mask(tokens, parameters, heads)[:, -1]


@next_token_logits.combined_misconception(no_mask, probabilities)
def probabilities_without_mask(tokens, parameters, heads):
    z = no_mask(tokens, parameters, heads)
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@next_token_logits.combined_misconception(no_last_norm, vectors_for_logits)
def vectors_without_last_norm(tokens, parameters, heads):
    return stack(embed(tokens, parameters), parameters, heads)


@next_token_logits.common_mistake
def modifies_argument(tokens, parameters, heads):
    p = parameters
    p["positions"] += 0.5
    return logits(stack(embed(tokens, p) - 0.5, p, heads), p)


@next_token_logits.common_mistake
def lower_precision(tokens, parameters, heads):
    return logits(stack(embed(tokens, parameters), parameters, heads), parameters).astype(np.float32)


@next_token_logits.misconception(
    means="The last block is left out.",
    nudge="Does your loop run over all of `parameters['blocks']`? Where does its slice or its range end?",
)
def last_block_left_out(tokens, parameters, heads):
    p = parameters
    return logits(stack(embed(tokens, p), p, heads, blocks=p["blocks"][:-1]), p)


@next_token_logits.misconception(
    means="The last norm is used before the first block as well; it comes once, at the end.",
    nudge="Which norms does a block hold itself? Where does the model's own gain and bias belong?",
)
def normed_before_the_blocks_too(tokens, parameters, heads):
    p = parameters
    x = norm(embed(tokens, p), p["gain"], p["bias"])
    return logits(stack(x, p, heads), p)


@next_token_logits.misconception(
    means="You multiplied the vectors of tokens and positions. They must be added.",
    nudge="Is it `+` or `*` that stands between the two in the formula?",
)
def positions_multiplied(tokens, parameters, heads):
    p = parameters
    return logits(stack(p["tokens"][tokens] * p["positions"][: tokens.shape[1]], p, heads), p)


@next_token_logits.misconception(
    means="The last norm comes before the last block; it should follow it.",
    nudge="What does the last block give to the product with the token table: does a norm stand between them?",
)
def last_norm_before_the_last_block(tokens, parameters, heads):
    p = parameters
    x = norm(stack(embed(tokens, p), p, heads, blocks=p["blocks"][:-1]), p["gain"], p["bias"])
    return unnormed(stack(x, p, heads, blocks=p["blocks"][-1:]), p)


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
        x = np.array([parameters["tokens"][t] + parameters["positions"][i] for i, t in enumerate(sentence)])
        rows.append(logits(stack(x[None], parameters, heads), parameters)[0])
    return np.array(rows)


@next_token_logits.variant
def one_hot(tokens, parameters, heads):
    table = parameters["tokens"]
    x = np.eye(len(table), dtype=table.dtype)[tokens] @ table + parameters["positions"][: tokens.shape[-1]]
    return logits(stack(x, parameters, heads), parameters)
