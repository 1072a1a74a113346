"""The exercise `model_size`: counting the numbers that a model learns."""

from autograder.authoring import Exercise, inputs, sizes

model_size = Exercise("model_size", points=1)


@model_size.domain(
    sizes={"vocabulary": (1, 300), "positions": (1, 100), "d": (1, 64), "layers": (1, 60)},
    flags={"attention_bias": (True, False)},
)
def anywhere(rng, vocabulary, positions, d, layers, attention_bias):
    return inputs(vocabulary, positions, d, layers, attention_bias=attention_bias)


@model_size.case("a model of one block that is counted by hand: 5 tokens, 3 positions, d = 2")
def by_hand(rng):
    return inputs(5, 3, 2, 1, attention_bias=False)


@model_size.case("every size different, attention without biases")
def different(rng):
    return inputs(*sizes(rng, 4, 5, 40), attention_bias=False)


@model_size.case("every size different, attention with biases")
def different_biased(rng):
    return inputs(*sizes(rng, 4, 5, 40))


@model_size.case("GPT-2 small")
def gpt2(rng):
    return inputs(50257, 1024, 768, 12)


@model_size.case("as large as GPT-2 small, every size odd: float32 cannot hold this count")
def large_and_odd(rng):
    return inputs(50257, 1023, 767, 11)


@model_size.case("no block at all")
def no_block(rng):
    return inputs(*sizes(rng, 3, 5, 40), 0)


def size(
    vocabulary,
    positions,
    d,
    layers,
    attention_bias=True,
    *,
    tables=4,
    hidden=4,
    attention=True,
    wide=1,
    narrow=1,
    norms=2,
    numbers=2,
    last=2,
    outputs=0,
    tokens=1,
    places=1,
    every=None,
):
    """The count, each of its parts as a mistake would have it."""
    block = tables * d * d + (tables * d if attention_bias and attention else 0)
    block += 2 * hidden * d * d + int(wide * hidden * d) + narrow * d
    block += norms * numbers * d
    around = tokens * vocabulary * d + places * positions * d + last * d + outputs * vocabulary * d
    return around + (layers if every is None else every) * block


SLIPS = {}


def slip(name, means, nudge, **changed):
    def wrong(vocabulary, positions, d_model, layers, attention_bias=True):
        return size(vocabulary, positions, d_model, layers, attention_bias, **changed)

    wrong.__name__ = name
    model_size.misconception(means=means, nudge=nudge)(wrong)
    SLIPS[name] = wrong, changed


def two_slips(one, other):
    """Register two slips at once."""
    (first, here), (second, there) = SLIPS[one], SLIPS[other]

    def wrong(vocabulary, positions, d_model, layers, attention_bias=True):
        return size(vocabulary, positions, d_model, layers, attention_bias, **here, **there)

    wrong.__name__ = f"{one}_{other}"
    model_size.combined_misconception(first, second)(wrong)


slip(
    "output_table_counted_again",
    "You counted a table of its own for the logits; the model uses its token vectors once more.",
    "Which table turns the last vectors into logits, and have you counted it already?",
    outputs=1,
)
slip(
    "no_norms_at_all",
    "The layer norms are not counted.",
    "Each layer norm learns a gain and a bias. How many norms are there?",
    norms=0,
    last=0,
)
slip(
    "no_last_norm",
    "The layer norm after the last block is not counted.",
    "How many norms does a model with two blocks have? It is not four.",
    last=0,
)
slip(
    "one_norm_a_block",
    "You counted one layer norm for each block; there are two.",
    "What stands before attention, and what before the feed-forward?",
    norms=1,
)
slip(
    "four_times_d_missing_in_each_block",
    "In each block 4 · d numbers are missing: as many as the bias b_1 has, and as many as the two layer norms.",
    "Go through the twelve arrays of a block one by one: which have you left out?",
    wide=0,
)
slip(
    "a_norm_learns_one_vector",
    "You counted d numbers for each layer norm; it has a gain and a bias.",
    "What are the arguments of your `layer_norm`, besides x?",
    numbers=1,
    last=1,
)
slip(
    "no_positions",
    "The vectors of the positions are not counted.",
    "What is added to the token vectors before the first block?",
    places=0,
)
slip(
    "no_tokens",
    "The token vectors are not counted.",
    "Where does the model look up the vector of a word?",
    tokens=0,
)
slip(
    "three_tables_of_attention",
    "You counted three tables of attention; there are four.",
    "Queries, keys, values: and which table comes after the heads are joined?",
    tables=3,
)
slip(
    "no_biases_in_the_feed_forward",
    "The biases of the feed-forward are not counted; only those of attention depend on `attention_bias`.",
    "Which of the arguments of your `feed_forward` have you left out?",
    wide=0,
    narrow=0,
)
slip(
    "no_narrow_bias",
    "The bias b_2, with d numbers, is not counted.",
    "Which of the arguments of your `feed_forward` have you left out?",
    narrow=0,
)
slip(
    "narrow_bias_too_wide",
    "You counted h numbers for the bias b_2; it has d.",
    "How many columns has w_2?",
    narrow=4,
)
slip(
    "feed_forward_not_wider",
    "You counted a feed-forward that is as wide as a word; it is four times as wide.",
    "How large is h?",
    hidden=1,
)
slip(
    "one_table_in_the_feed_forward",
    "You counted one table of the feed-forward; there are two.",
    "The way up to h, and the way back?",
    hidden=2,
    wide=2,
)
slip(
    "attention_biases_forgotten",
    "The biases of attention are never counted.",
    "Where does your code use `attention_bias`?",
    attention=False,
)
slip(
    "one_block_only",
    "You counted one block, whatever `layers` says.",
    "Have two blocks the same numbers, or each its own?",
    every=1,
)


slip(
    "wide_bias_too_narrow",
    "You counted d numbers for the bias b_1; it has h = 4 · d.",
    "How many columns has w_1?",
    wide=0.25,
)
slip(
    "d_missing_in_each_block_and_2_d_besides",
    "In each block d numbers are missing, as many as the bias b_2 has, or half a layer norm; and in the whole model "
    "2 · d more, as many as the last layer norm has.",
    "Go through the arrays one by one, those of a block and those that the model has only once: which have you left "
    "out?",
    narrow=0,
    last=0,
)
slip(
    "last_norm_in_every_block",
    "The last layer norm is counted in every block; it comes once, after the last of them.",
    "Which norms does a block hold, and which does the model have only once?",
    norms=3,
    last=0,
)
slip(
    "last_norm_learns_one_vector",
    "You counted d numbers for the last layer norm; like the others it has a gain and a bias.",
    "What are the arguments of your `layer_norm`, besides x?",
    last=1,
)
slip(
    "two_tables_of_attention",
    "You counted two tables of attention; there are four.",
    "Which tables does your `multi_head_attention` take?",
    tables=2,
)
slip(
    "twice_as_wide",
    "You counted a feed-forward that is twice as wide as a word; it is four times as wide.",
    "How large is h?",
    hidden=2,
)


# A vector that was counted as a single number.


def numbers_lost(name, means, nudge, lost):
    """A mistake that lacks some numbers of every block, or of the whole model."""

    def wrong(vocabulary, positions, d_model, layers, attention_bias=True):
        right = size(vocabulary, positions, d_model, layers, attention_bias)
        return right - lost(d_model - 1, layers, attention_bias)

    wrong.__name__ = name
    model_size.misconception(means=means, nudge=nudge)(wrong)


numbers_lost(
    "one_number_a_norm",
    "You counted gain and bias of a layer norm as a single number each; both are vectors of d numbers.",
    "Which shapes have `gain` and `bias` in your `layer_norm`?",
    lambda less, layers, biased: (4 * layers + 2) * less,
)
numbers_lost(
    "one_number_a_bias_of_attention",
    "You counted each bias of attention as a single number; it is a vector with one for each column of its table.",
    "A bias is added to a row of d numbers. How many has it then?",
    lambda less, layers, biased: 4 * layers * less if biased else 0,
)
numbers_lost(
    "one_number_a_bias_of_the_feed_forward",
    "You counted the biases of the feed-forward as a single number each; they are vectors of h and of d numbers.",
    "Which shapes have `b_1` and `b_2` in your `feed_forward`?",
    lambda less, layers, biased: layers * (4 * (less + 1) - 1 + less),
)
numbers_lost(
    "one_number_a_bias",
    "You counted every bias of attention and of the feed-forward as a single number; they are vectors.",
    "A bias is added to a row of numbers. How many has it then?",
    lambda less, layers, biased: layers * (4 * (less + 1) - 1 + less + (4 * less if biased else 0)),
)
numbers_lost(
    "one_bias_for_all_tables_of_attention",
    "You counted one bias of d numbers for all of attention; each of its four tables has one.",
    "How many biases does attention have, where it has any?",
    lambda less, layers, biased: 3 * layers * (less + 1) if biased else 0,
)

two_slips("output_table_counted_again", "no_last_norm")
two_slips("output_table_counted_again", "no_positions")
two_slips("no_positions", "no_last_norm")
two_slips("attention_biases_forgotten", "no_biases_in_the_feed_forward")
two_slips("three_tables_of_attention", "no_last_norm")
two_slips("attention_biases_forgotten", "no_last_norm")


@model_size.misconception(
    means="The biases of attention are always counted.",
    nudge="Where does your code use `attention_bias`?",
)
def attention_biases_always(vocabulary, positions, d_model, layers, attention_bias=True):
    return size(vocabulary, positions, d_model, layers)


@model_size.misconception(
    means="You multiplied everything by the number of blocks, the vectors of tokens and positions, too.",
    nudge="Which parts does a model have only once?",
)
def everything_in_each_block(vocabulary, positions, d_model, layers, attention_bias=True):
    return layers * size(vocabulary, positions, d_model, 1, attention_bias)


@model_size.misconception(
    means="`attention_bias=False` leaves out the biases of the feed-forward as well.",
    nudge="Which biases are the feed-forward's own arguments?",
)
def no_biases_anywhere(vocabulary, positions, d_model, layers, attention_bias=True):
    wide = int(attention_bias)
    return size(vocabulary, positions, d_model, layers, attention_bias, wide=wide, narrow=wide)


@model_size.common_mistake
def not_a_whole_number(vocabulary, positions, d_model, layers, attention_bias=True):
    return float(size(vocabulary, positions, d_model, layers, attention_bias))


# Other right answers, which must pass.


@model_size.variant
def multiplied_out(vocabulary, positions, d_model, layers, attention_bias=True):
    d = d_model
    block = 12 * d**2 + (13 if attention_bias else 9) * d
    return (vocabulary + positions + 2) * d + layers * block


@model_size.variant
def added_up(V, P, d, n, attention_bias=True):
    total = V * d + P * d
    for _ in range(n):
        total += 2 * d + 4 * (d * d + (d if attention_bias else 0))
        total += 2 * d + d * 4 * d + 4 * d + 4 * d * d + d
    return total + 2 * d


@model_size.variant
def from_shapes(vocabulary, positions, d_model, layers, attention_bias=True):
    import numpy as np

    d, h = d_model, 4 * d_model
    shapes = [(vocabulary, d), (positions, d), (d,), (d,)]
    for _ in range(layers):
        shapes += [(d,)] * 4 + [(d, d)] * 4 + [(d, h), (h,), (h, d), (d,)]
        shapes += [(d,)] * 4 if attention_bias else []
    return sum(int(np.prod(shape)) for shape in shapes)
