"""The exercise `alibi_bias`: a slope times the distance, for each head."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

alibi_bias = Exercise("alibi_bias", points=2)


def slopes(heads):
    return 2.0 ** (-8 * np.arange(1, heads + 1) / heads)


def steps(length):
    """Return how far key j stands behind query i, negative where it stands before it: (L, L)."""
    return np.arange(length) - np.arange(length)[:, None]


def bias(slopes, distances):
    """Minus each slope times the table of distances."""
    return -np.asarray(slopes, dtype=float)[:, None, None] * distances


def distances(length):
    return np.abs(steps(length))


@alibi_bias.domain(sizes={"heads": (1, 24), "length": (1, 60)})
def anywhere(rng, heads, length):
    return inputs(heads, length)


@alibi_bias.case("eight heads and three positions, as in the notebook")
def as_in_the_notebook(rng):
    return inputs(8, 3)


@alibi_bias.case("four heads, a short sentence")
def four_heads(rng):
    return inputs(4, int(rng.integers(5, 9)))


@alibi_bias.case("sixteen heads, fewer positions")
def sixteen_heads(rng):
    return inputs(16, int(rng.integers(4, 9)))


@alibi_bias.case("a number of heads that is not a power of two")
def not_a_power(rng):
    return inputs(int(rng.choice([3, 5, 6, 7])), int(rng.integers(8, 11)))


@alibi_bias.case("twelve heads")
def twelve_heads(rng):
    return inputs(12, sizes(rng, 1, low=4, high=9)[0])


@alibi_bias.case("as many heads as positions")
def square(rng):
    both = int(rng.choice([5, 6, 7]))
    return inputs(both, both)


# --- Mistakes -------------------------------------------------------------------------------------


@alibi_bias.misconception(
    means="The future gets a bonus: a key after the query should lose as much as one before it.",
    nudge="What is |i − j| for query 0 and key 2? Which function takes the sign away?",
)
def future_rewarded(heads, length):
    return bias(slopes(heads), -steps(length))


@alibi_bias.misconception(
    means="The past gets a bonus, the more the farther away; distance should take something away, "
    "on both sides.",
    nudge="What is |i − j| for query 2 and key 0, and which sign comes before the slope?",
)
def past_rewarded(heads, length):
    return bias(slopes(heads), steps(length))


@alibi_bias.misconception(
    means="Your bias is positive, so the farthest key is favoured.",
    nudge="Distance should make a score smaller. Which sign does that?",
)
def distance_rewarded(heads, length):
    return -bias(slopes(heads), distances(length))


@alibi_bias.misconception(
    means="Your heads count from 0, so the first slope is 1.",
    nudge="With 8 heads the slopes are 1/2, 1/4, … 1/256. Which is your first?",
)
def heads_from_zero(heads, length):
    return bias(2.0 ** (-8 * np.arange(heads) / heads), distances(length))


@alibi_bias.misconception(
    means="Your slopes are 1/2, 1/4, 1/8, … for any number of heads; that is right for 8 heads only.",
    nudge="Where does `heads` come into your exponent? The last slope is always 1/256.",
)
def halved_from_head_to_head(heads, length):
    return bias(2.0 ** -np.arange(1, heads + 1), distances(length))


@alibi_bias.misconception(
    means="`//` cut the exponent down to a whole number, so some heads share a slope.",
    nudge="Print the slopes for 16 heads. Which division keeps the fraction?",
)
def exponent_cut_off(heads, length):
    return bias(2.0 ** -(8 * np.arange(1, heads + 1) // heads), distances(length))


@alibi_bias.misconception(
    means="This is the rule of some published code, which mixes two powers of two; the formula "
    "here is one sequence.",
    nudge="With 3 heads the exponents are −8/3, −16/3 and −8. What are yours?",
)
def two_powers_of_two_mixed(heads, length):
    lower = 2 ** int(math.log2(heads))
    extra = slopes(2 * lower)[0::2][: heads - lower]
    return bias(np.concatenate([slopes(lower), extra]), distances(length))


@alibi_bias.misconception(
    means="All the heads have the same slope.",
    nudge="Where does the number of the head, h, come into your exponent?",
)
def one_slope_for_all(heads, length):
    return bias(np.full(heads, 2.0 ** (-8 / heads)), distances(length))


@alibi_bias.misconception(
    means="The slopes are in the wrong order: the first head should have the steepest.",
    nudge="With 8 heads head 1 has 1/2 and head 8 has 1/256. Which way does your h run?",
)
def slopes_reversed(heads, length):
    return bias(slopes(heads)[::-1], distances(length))


@alibi_bias.misconception(
    means="You divided 8 by h where 8h is divided by the number of heads.",
    nudge="Is the exponent of the last head −8, and that of the first −8 / heads?",
)
def eight_divided_by_h(heads, length):
    return bias(2.0 ** (-8 / np.arange(1, heads + 1)), distances(length))


@alibi_bias.misconception(
    means="Your slopes are powers of e; they should be powers of 2.",
    nudge="What is raised to the power −8h / heads in the docstring?",
)
def powers_of_e(heads, length):
    return bias(np.exp(-8 * np.arange(1, heads + 1) / heads), distances(length))


@alibi_bias.misconception(
    means="Your slopes grow from head to head: the sign of the exponent is wrong.",
    nudge="Are the slopes larger or smaller than 1?",
)
def exponent_without_minus(heads, length):
    return bias(1 / slopes(heads), distances(length))


@alibi_bias.misconception(
    means="You took 8h / heads itself for the slope; it is the exponent.",
    nudge="With 8 heads, what is the slope of head 3? Two to the power of what?",
)
def no_power_taken(heads, length):
    return bias(8 * np.arange(1, heads + 1) / heads, distances(length))


@alibi_bias.misconception(
    means="Your slopes fall by equal steps from 1/2 to 1/256; they should fall by equal factors.",
    nudge="What is the second slope divided by the first, and the third by the second?",
)
def slopes_in_equal_steps(heads, length):
    return bias(np.linspace(1 / 2, 1 / 256, heads), distances(length))


@alibi_bias.misconception(
    means="Keys after the query lose nothing; the distance should count on both sides.",
    nudge="Whether the future is hidden is the mask's business. What is |i − j| above the diagonal?",
)
def future_left_alone(heads, length):
    return bias(slopes(heads), np.tril(distances(length)))


@alibi_bias.misconception(
    means="You hid the future; here only the distance counts, and the mask is another matter.",
    nudge="What does the docstring say for keys after the query?",
)
def future_hidden(heads, length):
    return np.where(np.tri(length, dtype=bool), bias(slopes(heads), distances(length)), -np.inf)


@alibi_bias.misconception(
    means="You hid the future with a large negative number; here only the distance counts.",
    nudge="The mask is another matter. What does the docstring say for keys after the query?",
)
def future_hidden_by_a_number(heads, length):
    return np.where(np.tri(length, dtype=bool), bias(slopes(heads), distances(length)), -1e9)


@alibi_bias.misconception(
    means="Every query has the same row: the distance is counted from the last position instead of "
    "the query.",
    nudge="Where does your table of distances use the number of the row?",
)
def counted_from_the_last(heads, length):
    return bias(slopes(heads), np.tile(np.arange(length)[::-1], (length, 1)))


@alibi_bias.misconception(
    means="Every query has the same row, slope times the position of the key; use the distance to the query.",
    nudge="Where does your table use the number of the row? It should be 0 on the diagonal.",
)
def position_of_the_key(heads, length):
    return -bias(slopes(heads), np.tile(np.arange(length), (length, 1)))


@alibi_bias.misconception(
    means="There is only one row for all the queries; each query has its own distances.",
    nudge="Which array has a row for each query and a column for each key?",
)
def a_single_row(heads, length):
    return bias(slopes(heads), np.arange(length)[None, ::-1])


@alibi_bias.misconception(
    means="You took the square of the distance.",
    nudge="“Linear” is in the name: what should the bias be at distance 3, if it is −1/2 at distance 1?",
)
def squared_distance(heads, length):
    return bias(slopes(heads), distances(length) ** 2)


@alibi_bias.misconception(
    means="You divided the distance by the length, so the same distance counts less in a longer sentence.",
    nudge="What should the bias be at distance 1 in head 1 of 8, however long the sentence is?",
)
def distance_divided_by_length(heads, length):
    return bias(slopes(heads), distances(length) / length)


@alibi_bias.misconception(
    means="Your distances are one too large: a word is at distance 0 from itself.",
    nudge="What should be on the diagonal?",
)
def one_too_far(heads, length):
    return bias(slopes(heads), distances(length) + 1)


@alibi_bias.misconception(
    means="The heads lie on the last axis; they should be the first.",
    nudge="Where must the slopes have their axes of length 1, so that the result has shape (heads, L, L)?",
)
def heads_on_the_last_axis(heads, length):
    return np.moveaxis(bias(slopes(heads), distances(length)), 0, -1)


@alibi_bias.misconception(
    means="The exponential was taken already; the bias is added to the scores, before any exponential.",
    nudge="What should be added to a score at distance 0?",
)
def exponential_taken(heads, length):
    return np.exp(bias(slopes(heads), distances(length)))


@alibi_bias.misconception(
    means="The slopes have no axes of length 1, so NumPy matches the heads with the keys.",
    nudge="Which shape must the slopes have to broadcast with (L, L) to (heads, L, L)?",
)
def slopes_without_axes(heads, length):
    return -slopes(heads) * distances(length)


@alibi_bias.misconception(
    means="NumPy does not raise the whole number 2 to negative whole powers; and the exponents may "
    "be fractions.",
    nudge="Write 2.0 for 2, and divide with `/`: what is 8h / heads for 3 heads?",
    raises=ValueError,
)
def whole_number_power(heads, length):
    return bias(2 ** (-8 * np.arange(1, heads + 1) // heads), distances(length))


# Two at once.


def halved(heads):
    return 2.0 ** -np.arange(1, heads + 1)


def from_zero(heads):
    return 2.0 ** (-8 * np.arange(heads) / heads)


@alibi_bias.combined_misconception(heads_from_zero, future_left_alone)
def heads_from_zero_future_left_alone(heads, length):
    return bias(from_zero(heads), np.tril(distances(length)))


@alibi_bias.combined_misconception(heads_from_zero, future_rewarded)
def heads_from_zero_future_rewarded(heads, length):
    return bias(from_zero(heads), -steps(length))


@alibi_bias.combined_misconception(heads_from_zero, past_rewarded)
def heads_from_zero_past_rewarded(heads, length):
    return bias(from_zero(heads), steps(length))


@alibi_bias.combined_misconception(heads_from_zero, future_hidden)
def heads_from_zero_future_hidden(heads, length):
    return np.where(np.tri(length, dtype=bool), bias(from_zero(heads), distances(length)), -np.inf)


@alibi_bias.combined_misconception(halved_from_head_to_head, future_left_alone)
def halved_future_left_alone(heads, length):
    return bias(halved(heads), np.tril(distances(length)))


@alibi_bias.combined_misconception(halved_from_head_to_head, past_rewarded)
def halved_past_rewarded(heads, length):
    return bias(halved(heads), steps(length))


@alibi_bias.combined_misconception(halved_from_head_to_head, future_hidden)
def halved_future_hidden(heads, length):
    return np.where(np.tri(length, dtype=bool), bias(halved(heads), distances(length)), -np.inf)


@alibi_bias.misconception(
    means="Your slopes are 1, 1/2, 1/4, … for any number of heads: the first is 1, and `heads` has no say.",
    nudge="With 4 heads the slopes are 1/4, 1/16, 1/64 and 1/256. Which are yours?",
)
def halved_from_one(heads, length):
    return bias(2.0 ** -np.arange(heads), distances(length))


@alibi_bias.common_mistake
def extra_axis(heads, length):
    return bias(slopes(heads), distances(length))[None]


@alibi_bias.common_mistake
def lower_precision(heads, length):
    return bias(slopes(heads), distances(length)).astype(np.float32)


@alibi_bias.common_mistake
def returns_a_list(heads, length):
    return bias(slopes(heads), distances(length)).tolist()


@alibi_bias.misconception(
    means="`//` cut the exponent down to a whole number, and down means away from 0 here: -8h // heads.",
    nudge="What is -8 // 3 in Python? Print the slopes for 16 heads. Which division keeps the fraction?",
)
def negative_exponent_cut_down(heads, length):
    return bias(2.0 ** (-8 * np.arange(1, heads + 1) // heads), distances(length))


@alibi_bias.misconception(
    means="You divided the power by the number of heads; it is the exponent that is divided.",
    nudge="Write the brackets: 2 to the power of (what?). With 8 heads the first slope is 1/2.",
)
def power_divided_by_the_heads(heads, length):
    return bias(2.0 ** (-8.0 * np.arange(1, heads + 1)) / heads, distances(length))


@alibi_bias.misconception(
    means="The 8 of the exponent is missing: the last slope is 1/2 and not 1/256.",
    nudge="With 8 heads the slopes are 1/2, 1/4, … 1/256. What must the exponent of the last one be?",
)
def eight_left_out(heads, length):
    slopes = 2.0 ** (-np.arange(1, heads + 1) / heads)
    places = np.arange(length)
    return -slopes[:, None, None] * np.abs(places[:, None] - places)


@alibi_bias.misconception(
    means="You rounded the number of heads up to a power of two; the exponent divides by the number of heads itself.",
    nudge="What does your function give for 6 heads, and what is m_6 by the docstring?",
)
def heads_rounded_up(heads, length):
    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / 2 ** np.ceil(np.log2(heads)))
    places = np.arange(length)
    return -slopes[:, None, None] * np.abs(places[:, None] - places)


# --- Right answers --------------------------------------------------------------------------------


@alibi_bias.variant
def three_loops(heads, length):
    result = np.zeros((heads, length, length))
    for h in range(heads):
        for i in range(length):
            for j in range(length):
                result[h, i, j] = -(2 ** (-8 * (h + 1) / heads)) * abs(i - j)
    return result


@alibi_bias.variant
def powers_of_the_first(heads, length):
    first = 2 ** (-8 / heads)
    slopes = np.array([first ** (h + 1) for h in range(heads)])
    place = np.arange(length)
    return np.einsum("h,ij->hij", slopes, -np.abs(place[None, :] - place[:, None]))


@alibi_bias.variant
def smaller_of_two_signed_tables(heads, length):
    i, j = np.indices((length, length))
    m = np.power(2.0, -8.0 * (np.arange(heads) + 1) / heads).reshape(heads, 1, 1)
    return m * np.minimum(i - j, j - i)


@alibi_bias.variant
def both_triangles(heads, length):
    place = np.arange(length, dtype=float)
    signed = place[:, None] - place[None, :]
    both = np.tril(signed) + np.tril(signed).T
    return np.stack([-both / 2 ** (8 * h / heads) for h in range(1, heads + 1)])


@alibi_bias.variant
def one_head_after_another(heads, length):
    result = np.empty((heads, length, length))
    for h, slope in enumerate(np.logspace(-8 / heads, -8, heads, base=2)):
        result[h] = -slope * np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    return result
