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


@model_size.case("as large as GPT-2 small, odd sizes: the count has more digits than float32 keeps")
def large_and_odd(rng):
    return inputs(50257, 1023, 767, 11)


@model_size.case("no block at all")
def no_block(rng):
    return inputs(*sizes(rng, 3, 5, 40), 0)


@model_size.slips("""
    output_table_counted_again: You counted vocabulary · d twice. The logits use the token vectors
        again, so they need no other matrix.
        Hint: Which table turns the last vectors into logits, and have you counted it already?
    no_norms_at_all: The layer norms are not counted.
        Hint: Each layer norm learns a gain and a bias. How many norms are there?
    no_last_norm: The layer norm after the last block is not counted.
        Hint: How many norms does a model with two blocks have? It is not four.
    one_norm_a_block: You counted one layer norm for each block; there are two.
        Hint: What stands before attention, and what before the feed-forward?
    four_times_d_missing_in_each_block: In each block 4 · d numbers are missing: as many as the bias b_1
        has, and as many as the two layer norms.
        Hint: Go through the twelve arrays of a block one by one: which have you left out?
    a_norm_learns_one_vector: You counted d numbers for each layer norm; it has a gain and a bias.
        Hint: What are the arguments of your `layer_norm`, besides x?
    no_positions: The vectors of the positions are not counted.
        Hint: What is added to the token vectors before the first block?
    no_tokens: The token vectors are not counted.
        Hint: Where does the model look up the vector of a word?
    three_tables_of_attention: You counted three tables of attention; there are four.
        Hint: Queries, keys, values: and which table comes after the heads are joined?
    no_biases_in_the_feed_forward: The biases of the feed-forward are not counted; only those of
        attention depend on `attention_bias`.
        Hint: Which of the arguments of your `feed_forward` have you left out?
    no_narrow_bias: The bias b_2, with d numbers, is not counted.
        Hint: Which of the arguments of your `feed_forward` have you left out?
    narrow_bias_too_wide: You counted h numbers for the bias b_2; it has d.
        Hint: How many columns has w_2?
    feed_forward_not_wider: You counted a feed-forward that is as wide as a word; it is four times as
        wide.
        Hint: How large is h?
    one_table_in_the_feed_forward: You counted one table of the feed-forward; there are two.
        Hint: The way up to h, and the way back?
    attention_biases_forgotten: The biases of attention are never counted.
        Hint: Where does your code use `attention_bias`?
    one_block_only: You counted one block, whatever `layers` says.
        Hint: Have two blocks the same numbers, or each its own?
    wide_bias_too_narrow: You counted d numbers for the bias b_1; it has h = 4 · d.
        Hint: How many columns has w_1?
    d_missing_in_each_block_and_2_d_besides: In each block d numbers are missing, as many as the bias b_2
        has, or half a layer norm; and in the whole model 2 · d more, as many as the last layer norm has.
        Hint: Go through the arrays one by one, those of a block and those that the model has only once:
        which have you left out?
    last_norm_in_every_block: The last layer norm is counted in every block; it comes once, after the
        last of them.
        Hint: Which norms does a block hold, and which does the model have only once?
    last_norm_learns_one_vector: You counted d numbers for the last layer norm; like the others it has a
        gain and a bias.
        Hint: What are the arguments of your `layer_norm`, besides x?
    two_tables_of_attention: You counted two tables of attention; there are four.
        Hint: Which tables does your `multi_head_attention` take?
    twice_as_wide: You counted a feed-forward that is twice as wide as a word; it is four times as wide.
        Hint: How large is h?
    one_number_a_norm: You counted gain and bias of a layer norm as a single number each; both are
        vectors of d numbers.
        Hint: Which shapes have `gain` and `bias` in your `layer_norm`?
    one_number_a_bias_of_attention: You counted each bias of attention as a single number; it is a vector
        with one for each column of its table.
        Hint: A bias is added to a row of d numbers. How many has it then?
    one_number_a_bias_of_the_feed_forward: You counted the biases of the feed-forward as a single number
        each; they are vectors of h and of d numbers.
        Hint: Which shapes have `b_1` and `b_2` in your `feed_forward`?
    one_number_a_bias: You counted every bias of attention and of the feed-forward as a single number;
        they are vectors.
        Hint: A bias is added to a row of numbers. How many has it then?
    one_bias_for_all_tables_of_attention: You counted one bias of d numbers for all of attention; each of
        its four tables has one.
        Hint: How many biases does attention have, where it has any?
    attention_biases_always: The biases of attention are always counted.
        Hint: Where does your code use `attention_bias`?
    everything_in_each_block: You multiplied everything by the number of blocks, the vectors of tokens
        and positions, too.
        Hint: Which parts does a model have only once?
    no_biases_anywhere: `attention_bias=False` leaves out the biases of the feed-forward as well.
        Hint: Which biases are the feed-forward's own arguments?
    not_a_whole_number
""")
def model_size_with_slips(slip, vocabulary, positions, d_model, layers, attention_bias=True):
    d = d_model
    h = slip.choose(4 * d, feed_forward_not_wider=d, twice_as_wide=2 * d)
    tables = slip.choose(4, three_tables_of_attention=3, two_tables_of_attention=2)
    attention_biases = slip.choose(
        tables * d,
        attention_biases_forgotten=0,
        one_number_a_bias_of_attention=tables,
        one_number_a_bias=tables,
        one_bias_for_all_tables_of_attention=d,
    )
    if not attention_bias and not slip.attention_biases_always:
        attention_biases = 0
    b_1 = slip.choose(
        h,
        four_times_d_missing_in_each_block=0,
        no_biases_in_the_feed_forward=0,
        wide_bias_too_narrow=d,
        one_number_a_bias_of_the_feed_forward=1,
        one_number_a_bias=1,
    )
    b_2 = slip.choose(
        d,
        no_biases_in_the_feed_forward=0,
        no_narrow_bias=0,
        narrow_bias_too_wide=4 * d,
        d_missing_in_each_block_and_2_d_besides=0,
        one_number_a_bias_of_the_feed_forward=1,
        one_number_a_bias=1,
    )
    if slip.no_biases_anywhere and not attention_bias:
        b_1 = b_2 = 0
    matrices = slip.choose(2, one_table_in_the_feed_forward=1)
    norm = slip.choose(2 * d, no_norms_at_all=0, a_norm_learns_one_vector=d, one_number_a_norm=2)
    norms = slip.choose(2 * norm, one_norm_a_block=norm, last_norm_in_every_block=3 * norm)
    block = tables * d * d + attention_biases + matrices * d * h + b_1 + b_2 + norms

    last_norm = slip.choose(
        norm,
        no_last_norm=0,
        d_missing_in_each_block_and_2_d_besides=0,
        last_norm_in_every_block=0,
        last_norm_learns_one_vector=d,
    )
    words = slip.choose(vocabulary, output_table_counted_again=2 * vocabulary, no_tokens=0)
    places = slip.choose(positions, no_positions=0)
    around = words * d + places * d + last_norm
    total = around + slip.choose(layers, one_block_only=1) * block
    return slip.choose(
        total, everything_in_each_block=layers * (around + block), not_a_whole_number=float(total)
    )


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
