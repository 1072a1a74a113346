"""The exercise `alibi_bias`: a slope times the distance, for each head."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

alibi_bias = Exercise("alibi_bias", points=2)


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


@alibi_bias.slips("""
    future_rewarded: Keys after the query get a positive number. They should get a negative one,
        as keys before the query do.
        Hint: What is |i − j| for query 0 and key 2? Which function takes the sign away?
    past_rewarded: Keys before the query get a positive number, which grows with the distance. They should
        get a negative one, as keys after the query do.
        Hint: What is |i − j| for query 2 and key 0, and which sign comes before the slope?
    distance_rewarded: Your bias is positive, so the farthest key is favoured.
        Hint: Distance should make a score smaller. Which sign does that?
    heads_from_zero: Your heads count from 0, so the first slope is 1.
        Hint: With 8 heads the slopes are 1/2, 1/4, … 1/256. Which is your first?
    halved_from_head_to_head: Your slopes are 1/2, 1/4, 1/8, … for any number of heads; that is right for
        8 heads only.
        Hint: Where does `heads` come into your exponent? The last slope is always 1/256.
    exponent_cut_off: `//` cut the exponent down to a whole number, so some heads share a slope.
        Hint: Print the slopes for 16 heads. Which division keeps the fraction?
    two_powers_of_two_mixed: Your slopes follow the rule of some published code, which mixes two
        powers of two; the formula here is one sequence.
        Hint: With 3 heads the exponents are −8/3, −16/3 and −8. What are yours?
    one_slope_for_all: All the heads have the same slope.
        Hint: Where does the number of the head, h, come into your exponent?
    slopes_reversed: The slopes are in the wrong order: the first head should have the steepest.
        Hint: With 8 heads head 1 has 1/2 and head 8 has 1/256. Which way does your h run?
    eight_divided_by_h: You divided 8 by h where 8h is divided by the number of heads.
        Hint: Is the exponent of the last head −8, and that of the first −8 / heads?
    powers_of_e: Your slopes are powers of e; they should be powers of 2.
        Hint: What is raised to the power −8h / heads in the docstring?
    exponent_without_minus: Your slopes grow from head to head: the sign of the exponent is wrong.
        Hint: Are the slopes larger or smaller than 1?
    no_power_taken: You took 8h / heads itself for the slope; it is the exponent.
        Hint: With 8 heads, what is the slope of head 3? Two to the power of what?
    slopes_in_equal_steps: Your slopes fall by equal steps from 1/2 to 1/256; they should fall by equal
        factors.
        Hint: What is the second slope divided by the first, and the third by the second?
    future_left_alone: Keys after the query lose nothing; the distance should count on both sides.
        Hint: Whether the future is hidden is the mask's business. What is |i − j| above the diagonal?
    future_hidden: You hid the future; here only the distance counts, and the mask is another matter.
        Hint: What does the docstring say for keys after the query?
    future_hidden_by_a_number: You hid the future with a large negative number; here only the distance counts.
        Hint: The mask is another matter. What does the docstring say for keys after the query?
    counted_from_the_last: Every query has the same row: the distance is counted from the last position
        instead of the query.
        Hint: Where does your table of distances use the number of the row?
    position_of_the_key: Every query has the same row, slope times the position of the key; use the
        distance to the query.
        Hint: Where does your table use the number of the row? It should be 0 on the diagonal.
    a_single_row: There is only one row for all the queries; each query has its own distances.
        Hint: Which array has a row for each query and a column for each key?
    squared_distance: You took the square of the distance.
        Hint: “Linear” is in the name: what should the bias be at distance 3, if it is −1/2 at distance 1?
    distance_divided_by_length: You divided the distance by the length, so the same distance counts less
        in a longer sentence.
        Hint: What should the bias be at distance 1 in head 1 of 8, however long the sentence is?
    one_too_far: Your distances are one too large: a word is at distance 0 from itself.
        Hint: What should be on the diagonal?
    heads_on_the_last_axis: The heads lie on the last axis; they should be the first.
        Hint: Where must the slopes have their axes of length 1, so that the result has shape (heads, L, L)?
    exponential_taken: The exponential was taken already; the bias is added to the scores, before any
        exponential.
        Hint: What should be added to a score at distance 0?
    slopes_without_axes: The slopes have no axes of length 1, so NumPy matches the heads with the keys.
        Hint: Which shape must the slopes have to broadcast with (L, L) to (heads, L, L)?
    halved_from_one: Your slopes are 1, 1/2, 1/4, … for any number of heads: the first is 1, and `heads`
        has no say.
        Hint: With 4 heads the slopes are 1/4, 1/16, 1/64 and 1/256. Which are yours?
    extra_axis
    lower_precision
    returns_a_list
    negative_exponent_cut_down: `//` cut the exponent down to a whole number, and down means away from 0
        here: -8h // heads.
        Hint: What is -8 // 3 in Python? Print the slopes for 16 heads. Which division keeps the fraction?
    power_divided_by_the_heads: You divided the power by the number of heads; it is the exponent that is
        divided.
        Hint: Write the brackets: 2 to the power of (what?). With 8 heads the first slope is 1/2.
    eight_left_out: The 8 of the exponent is missing: the last slope is 1/2 and not 1/256.
        Hint: With 8 heads the slopes are 1/2, 1/4, … 1/256. What must the exponent of the last one be?
    heads_rounded_up: You rounded the number of heads up to a power of two; the exponent divides by the
        number of heads itself.
        Hint: What does your function give for 6 heads, and what is m_6 by the docstring?
""")
def alibi_bias_with_slips(slip, heads, length):
    h = np.arange(1, heads + 1)
    if slip.heads_from_zero or slip.halved_from_one:
        h = h - 1
    exponents = slip.choose(
        -8 * h / heads,
        halved_from_head_to_head=-h,
        exponent_cut_off=-(8 * h // heads),
        one_slope_for_all=np.full(heads, -8 / heads),
        exponent_without_minus=8 * h / heads,
        halved_from_one=-h,
        negative_exponent_cut_down=-8 * h // heads,
        eight_left_out=-h / heads,
        heads_rounded_up=-8 * h / 2 ** np.ceil(np.log2(heads)),
    )
    if slip.eight_divided_by_h:
        exponents = -8 / h
    slopes = slip.choose(
        2.0**exponents,
        slopes_reversed=2.0 ** exponents[::-1],
        powers_of_e=np.exp(exponents),
        no_power_taken=-exponents,
        slopes_in_equal_steps=np.linspace(1 / 2, 1 / 256, heads),
        power_divided_by_the_heads=2.0 ** (-8.0 * h) / heads,
    )
    if slip.two_powers_of_two_mixed:
        lower = 2 ** int(math.log2(heads))
        slopes = 2.0 ** (-8 * np.arange(1, lower + 1) / lower)
        between = 2.0 ** (-4 * np.arange(1, 2 * lower + 1, 2) / lower)
        slopes = np.concatenate([slopes, between[: heads - lower]])

    places = np.arange(length)
    steps = places - places[:, None]  # from query i to key j
    distances = np.abs(steps)
    distances = slip.choose(
        distances,
        future_rewarded=-steps,
        past_rewarded=steps,
        distance_rewarded=-distances,
        future_left_alone=np.tril(distances),
        counted_from_the_last=np.tile(places[::-1], (length, 1)),
        position_of_the_key=np.tile(-places, (length, 1)),
        a_single_row=places[None, ::-1],
        squared_distance=distances**2,
        distance_divided_by_length=distances / length,
        one_too_far=distances + 1,
    )

    if slip.slopes_without_axes:
        return -slopes * distances
    bias = -slopes[:, None, None] * distances
    if slip.future_hidden or slip.future_hidden_by_a_number:
        hidden = slip.choose(-np.inf, future_hidden_by_a_number=-1e9)
        bias = np.where(np.tri(length, dtype=bool), bias, hidden)
    if slip.returns_a_list:
        return bias.tolist()
    return slip.choose(
        bias,
        heads_on_the_last_axis=np.moveaxis(bias, 0, -1),
        exponential_taken=np.exp(bias),
        extra_axis=bias[None],
        lower_precision=bias.astype(np.float32),
    )


@alibi_bias.misconception(
    means="NumPy does not raise the whole number 2 to negative whole powers; and the exponents may "
    "be fractions.",
    nudge="Write 2.0 for 2, and divide with `/`: what is 8h / heads for 3 heads?",
    raises=ValueError,
)
def whole_number_power(heads, length):
    slopes = 2 ** (-8 * np.arange(1, heads + 1) // heads)
    return -slopes[:, None, None] * np.abs(np.arange(length) - np.arange(length)[:, None])


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
