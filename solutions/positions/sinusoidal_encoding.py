"""The exercise `sinusoidal_encoding`: sines in the even columns, cosines in the odd ones."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs

from ._shared import frequencies, woven

sinusoidal_encoding = Exercise("sinusoidal_encoding", points=3)


def angles(length, size):
    return np.arange(length)[:, None] * frequencies(size)


def waves(angles):
    """Sines and cosines of (length, size / 2) angles, woven together."""
    return woven(np.sin(angles), np.cos(angles))


def waves_by_column(exponents, length, base=10000.0):
    """The right functions in the right columns, of angles with an exponent for each column."""
    turns = np.arange(length)[:, None] / base**exponents
    return np.where(np.arange(len(exponents)) % 2 == 0, np.sin(turns), np.cos(turns))


def even_size(rng, low, high):
    """An even number from low to high."""
    return int(2 * rng.integers(low // 2, high // 2 + 1))


@sinusoidal_encoding.domain(sizes={"length": (1, 200), "pairs": (1, 40)})
def anywhere(rng, length, pairs):
    return inputs(length, 2 * pairs)


@sinusoidal_encoding.case("four positions and four columns, as in the notebook")
def as_in_the_notebook(rng):
    return inputs(4, 4)


@sinusoidal_encoding.case("more positions than columns")
def tall(rng):
    return inputs(int(rng.integers(9, 14)), even_size(rng, 6, 8))


@sinusoidal_encoding.case("more columns than positions")
def wide(rng):
    return inputs(int(rng.integers(3, 6)), even_size(rng, 10, 18))


@sinusoidal_encoding.case("as many positions as columns")
def square(rng):
    size = even_size(rng, 6, 10)
    return inputs(size, size)


@sinusoidal_encoding.case("a long sentence")
def long(rng):
    return inputs(int(rng.integers(70, 120)), 12)


# --- Mistakes -------------------------------------------------------------------------------------


@sinusoidal_encoding.misconception(
    means="Each column has its own frequency; the cosine should have the frequency of the sine to its left.",
    nudge="Columns 2 and 3 are both pair 1. Which number is i for each of them?",
)
def a_rate_for_each_column(length, size):
    return waves_by_column(np.arange(size) / size, length)


@sinusoidal_encoding.misconception(
    means="You took i for the number of the column: its exponent is twice the column's number.",
    nudge="i counts pairs. Which i belongs to columns 4 and 5?",
)
def columns_counted_as_pairs(length, size):
    return waves_by_column(2 * np.arange(size) / size, length)


@sinusoidal_encoding.misconception(
    means="The exponent is twice as large as it should be: 2i was doubled again, or divided by d / 2.",
    nudge="Is the number that you multiply by 2 the pair or its even column? For d = 4 the last "
    "frequency is 1/100.",
)
def doubled_twice(length, size):
    return waves(np.arange(length)[:, None] * 10000.0 ** (-2 * np.arange(0, size, 2) / size))


@sinusoidal_encoding.misconception(
    means="The exponent is half as large as it should be: it contains the number of the pair instead of twice that number.",
    nudge="For d = 4 the frequency of the second pair is 1/100. Which is yours, and what is missing in "
    "the exponent?",
)
def not_doubled(length, size):
    return waves(np.arange(length)[:, None] * 10000.0 ** (-np.arange(size // 2) / size))


@sinusoidal_encoding.misconception(
    means="All pairs turn at the frequency 1, as if every exponent were 0.",
    nudge="Print your exponents. Did `//` cut 2i / d down to a whole number, or does i never come in?",
)
def one_rate_for_all(length, size):
    return waves(np.arange(length)[:, None] * np.ones(size // 2))


@sinusoidal_encoding.misconception(
    means="The last frequency is exactly 1/10000: you spread the exponents from 0 to 1, both ends included.",
    nudge="By what does the formula divide 2i? Is the exponent of the last pair 1 or a little less?",
)
def exponents_up_to_one(length, size):
    return waves(np.arange(length)[:, None] * 10000.0 ** -np.linspace(0, 1, size // 2))


@sinusoidal_encoding.misconception(
    means="All the sines come first and then all the cosines; the two should alternate.",
    nudge="Column 1 is the cosine of pair 0. Which slices name every second column?",
)
def sines_first(length, size):
    turns = angles(length, size)
    return np.concatenate([np.sin(turns), np.cos(turns)], axis=1)


@sinusoidal_encoding.misconception(
    means="You exchanged sine and cosine: your even columns hold cosines.",
    nudge="In the row of position 0, which columns should be 0 and which 1?",
)
def cosine_first(length, size):
    turns = angles(length, size)
    return woven(np.cos(turns), np.sin(turns))


@sinusoidal_encoding.misconception(
    means="Every column is a sine; the odd ones should be cosines.",
    nudge="In the row of position 0, what is in column 1?",
)
def sines_only(length, size):
    turns = angles(length, size)
    return woven(np.sin(turns), np.sin(turns))


@sinusoidal_encoding.misconception(
    means="Every column is a cosine; the even ones should be sines.",
    nudge="In the row of position 0, what is in column 0?",
)
def cosines_only(length, size):
    turns = angles(length, size)
    return woven(np.cos(turns), np.cos(turns))


@sinusoidal_encoding.misconception(
    means="These are the angles themselves; no sine or cosine of them was taken.",
    nudge="All the numbers of the result lie between −1 and 1. Which functions keep them there?",
)
def angles_only(length, size):
    turns = angles(length, size)
    return woven(turns, turns)


@sinusoidal_encoding.misconception(
    means="Your positions are counted from 1: the row of position 0 is missing.",
    nudge="What are the sine and the cosine of the first row's angles?",
)
def counted_from_one(length, size):
    return waves(np.arange(1, length + 1)[:, None] * frequencies(size))


@sinusoidal_encoding.misconception(
    means="The row of position 0 is all zeros, but the cosine of 0 is not 0.",
    nudge="What makes row 0 different from the others in your code?",
)
def row_zero_left_empty(length, size):
    encoding = waves(angles(length, size))
    encoding[0] = 0
    return encoding


@sinusoidal_encoding.misconception(
    means="The frequencies grow from pair to pair: you multiply by 10000^(2i / d) instead of dividing.",
    nudge="Should the hands on the right of the table turn faster or more slowly? Look at the sign "
    "of the exponent.",
)
def multiplied_by_the_power(length, size):
    return waves(np.arange(length)[:, None] / frequencies(size))


@sinusoidal_encoding.misconception(
    means="The position was divided by 10000 first, and the power taken of that.",
    nudge="What exactly is raised to the power 2i / d in the formula? Where do the parentheses belong?",
)
def power_taken_last(length, size):
    return waves((np.arange(length)[:, None] / 10000) ** (np.arange(0, size, 2) / size))


@sinusoidal_encoding.misconception(
    means="You exchanged base and exponent: you raised 2i / d to a power.",
    nudge="Which of the two numbers is raised to a power in the formula, 10000 or 2i / d?",
)
def base_and_exponent_exchanged(length, size):
    return waves(np.arange(length)[:, None] * (np.arange(0, size, 2) / size) ** 1e-4)


@sinusoidal_encoding.misconception(
    means="Your base is 1000; the slow pairs turn too fast.",
    nudge="Count the zeros of the base in the docstring.",
)
def base_1000(length, size):
    return waves(np.arange(length)[:, None] * frequencies(size, 1000.0))


@sinusoidal_encoding.misconception(
    means="exp undoes the natural logarithm, but you gave it the one to base 10 (which is 4 for 10000).",
    nudge="Which of NumPy's logarithms does `np.exp` undo?",
)
def wrong_logarithm(length, size):
    return waves(np.arange(length)[:, None] * np.exp(-np.arange(0, size, 2) / size * np.log10(10000.0)))


@sinusoidal_encoding.misconception(
    means="`//` after a negative number rounded it down to a whole one, so your frequencies fall much too fast.",
    nudge="In which order does Python take `-a / b // 2`, and which way does `//` round?",
)
def floor_of_a_negative(length, size):
    return waves(np.arange(length)[:, None] * np.exp(np.arange(0, size, 2) * (-np.log(10000.0) / size // 2)))


@sinusoidal_encoding.misconception(
    means="You divided the positions by the length, so the same position looks different in a longer sentence.",
    nudge="By how much should the first hand turn from one position to the next?",
)
def positions_as_fractions(length, size):
    return waves(np.arange(length)[:, None] / length * frequencies(size))


@sinusoidal_encoding.misconception(
    means="Each pair has one column, its sine; the cosines are missing.",
    nudge="How many columns should there be? Which of them are for the cosines?",
)
def one_column_a_pair(length, size):
    return np.sin(angles(length, size))


@sinusoidal_encoding.misconception(
    means="Your sines have the wrong sign: the hands turn in the wrong direction.",
    nudge="What is the sine of a small positive angle? Where does a minus come into your angles?",
)
def backwards(length, size):
    return waves(-angles(length, size))


@sinusoidal_encoding.misconception(
    means="NumPy does not raise a whole number to negative whole powers; and the exponents should "
    "be fractions.",
    nudge="Did `//`, or a missing division, leave whole exponents? Write the base as 10000.0 besides.",
    raises=ValueError,
)
def whole_number_power(length, size):
    return waves(np.arange(length)[:, None] * 10000 ** (-np.arange(0, size, 2) // size))


# Two at once.


@sinusoidal_encoding.combined_misconception(cosine_first, multiplied_by_the_power)
def cosine_first_growing(length, size):
    turns = np.arange(length)[:, None] / frequencies(size)
    return woven(np.cos(turns), np.sin(turns))


@sinusoidal_encoding.combined_misconception(cosine_first, not_doubled)
def cosine_first_not_doubled(length, size):
    turns = np.arange(length)[:, None] * 10000.0 ** (-np.arange(size // 2) / size)
    return woven(np.cos(turns), np.sin(turns))


@sinusoidal_encoding.combined_misconception(cosine_first, counted_from_one)
def cosine_first_from_one(length, size):
    turns = np.arange(1, length + 1)[:, None] * frequencies(size)
    return woven(np.cos(turns), np.sin(turns))


@sinusoidal_encoding.combined_misconception(cosine_first, a_rate_for_each_column)
def cosine_first_a_rate_for_each_column(length, size):
    turns = np.arange(length)[:, None] / 10000.0 ** (np.arange(size) / size)
    return np.where(np.arange(size) % 2 == 0, np.cos(turns), np.sin(turns))


@sinusoidal_encoding.combined_misconception(sines_first, not_doubled)
def sines_first_not_doubled(length, size):
    turns = np.arange(length)[:, None] * 10000.0 ** (-np.arange(size // 2) / size)
    return np.concatenate([np.sin(turns), np.cos(turns)], axis=1)


@sinusoidal_encoding.combined_misconception(sines_first, multiplied_by_the_power)
def sines_first_growing(length, size):
    turns = np.arange(length)[:, None] / frequencies(size)
    return np.concatenate([np.sin(turns), np.cos(turns)], axis=1)


@sinusoidal_encoding.combined_misconception(counted_from_one, not_doubled)
def from_one_not_doubled(length, size):
    return waves(np.arange(1, length + 1)[:, None] * 10000.0 ** (-np.arange(size // 2) / size))


@sinusoidal_encoding.combined_misconception(not_doubled, multiplied_by_the_power)
def not_doubled_growing(length, size):
    return waves(np.arange(length)[:, None] * 10000.0 ** (np.arange(size // 2) / size))


@sinusoidal_encoding.common_mistake
def transposed(length, size):
    return waves(angles(length, size)).T


@sinusoidal_encoding.common_mistake
def extra_axis(length, size):
    return waves(angles(length, size))[None]


@sinusoidal_encoding.common_mistake
def lower_precision(length, size):
    return waves(angles(length, size)).astype(np.float32)


@sinusoidal_encoding.common_mistake
def returns_a_list(length, size):
    return waves(angles(length, size)).tolist()


@sinusoidal_encoding.misconception(
    means="The base is 100000 in your code, so the slow pairs turn too slowly.",
    nudge="Count the zeros of the base in the docstring.",
)
def base_of_100000(length, size):
    return waves(np.arange(length)[:, None] * 100000.0 ** (-np.arange(0, size, 2) / size))


@sinusoidal_encoding.misconception(
    means="The angles were converted from degrees into radians, but they are radians already.",
    nudge="np.sin takes radians. What is the sine of 1, position 1 of pair 0, in your table?",
)
def taken_for_degrees(length, size):
    return waves(np.deg2rad(angles(length, size)))


@sinusoidal_encoding.misconception(
    means="The angles were converted from radians into degrees; np.sin takes radians.",
    nudge="What is the sine of 1, position 1 of pair 0, in your table?",
)
def turned_into_degrees(length, size):
    return waves(np.rad2deg(angles(length, size)))


@sinusoidal_encoding.misconception(
    means="`//` binds after the minus: `-2i // d` is -1 for every pair but the first, so all of them share one frequency.",
    nudge="What is -1 // 2 in Python? Which division keeps the fraction?",
)
def negative_exponent_cut_down(length, size):
    return waves(np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, size, 2) // size))


@sinusoidal_encoding.misconception(
    means="Your angles are multiplied by 2π; the position times the frequency is the angle already.",
    nudge="What is the angle of position 1 in the first pair: 1, or a whole turn?",
)
def whole_turns(length, size):
    return waves(2 * np.pi * np.arange(length)[:, None] * frequencies(size))


@sinusoidal_encoding.misconception(
    means="The pairs are in reverse order: the slowest comes first.",
    nudge="Which pair turns fastest, i = 0 or the last one? Which way do your exponents run?",
)
def rates_reversed(length, size):
    return waves(np.arange(length)[:, None] * frequencies(size)[::-1])


@sinusoidal_encoding.misconception(
    means="You wrote the pair i into the columns i and i + 1, so that each pair overwrites half of the one before.",
    nudge="Into which columns does the docstring put the pair i = 1?",
)
def columns_i_and_next(length, size):
    out = np.zeros((length, size))
    for i in range(size // 2):
        turns = np.arange(length) * frequencies(size)[i]
        out[:, i], out[:, i + 1] = np.sin(turns), np.cos(turns)
    return out


@sinusoidal_encoding.misconception(
    means="The brackets of the exponent are missing: `10000 ** 2 * i / size` is 10000² times i / size.",
    nudge="Python computes a power before a product. What belongs to the exponent?",
)
def exponent_without_brackets(length, size):
    i = np.arange(size // 2)
    return waves(np.arange(length)[:, None] / 10000.0**2 * i / size)


@sinusoidal_encoding.misconception(
    means="You divided the sine by the power; the angle should be divided before the sine is taken.",
    nudge="Between which values does a sine lie? And your numbers?",
)
def sine_divided(length, size):
    positions = np.arange(length)[:, None]
    return woven(np.sin(positions) * frequencies(size), np.cos(positions) * frequencies(size))


@sinusoidal_encoding.misconception(
    means="Your frequencies are powers of e; they should be powers of 10000.",
    nudge="What is raised to the power −2i / size in the docstring?",
)
def powers_of_e(length, size):
    return waves(np.arange(length)[:, None] * frequencies(size, np.e))


# --- Right answers --------------------------------------------------------------------------------


@sinusoidal_encoding.variant
def with_exp_and_log(length, size):
    pe = np.zeros((length, size))
    position = np.arange(length).reshape(-1, 1)
    factor = np.exp(np.arange(0, size, 2) * -(np.log(10000.0) / size))
    pe[:, 0::2] = np.sin(position * factor)
    pe[:, 1::2] = np.cos(position * factor)
    return pe


@sinusoidal_encoding.variant
def two_loops(length, size):
    pe = np.zeros((length, size))
    for p in range(length):
        for i in range(size // 2):
            angle = p / 10000 ** (2 * i / size)
            pe[p, 2 * i] = math.sin(angle)
            pe[p, 2 * i + 1] = math.cos(angle)
    return pe


@sinusoidal_encoding.variant
def angles_for_every_column(length, size):
    column = np.arange(size)
    turns = np.arange(length)[:, np.newaxis] / np.power(10000, 2 * (column // 2) / size)
    turns[:, 0::2] = np.sin(turns[:, 0::2])
    turns[:, 1::2] = np.cos(turns[:, 1::2])
    return turns


@sinusoidal_encoding.variant
def stacked(length, size):
    turns = np.outer(np.arange(length), 1 / 10000.0 ** (np.arange(0, size, 2) / size))
    return np.stack((np.sin(turns), np.cos(turns)), axis=2).reshape(length, size)


@sinusoidal_encoding.variant
def row_after_row(length, size):
    return np.array(
        [
            [(math.cos if k % 2 else math.sin)(p / 10000 ** ((k - k % 2) / size)) for k in range(size)]
            for p in range(length)
        ]
    )


@sinusoidal_encoding.variant
def a_cosine_is_a_shifted_sine(length, size):
    column = np.arange(size)
    phase = np.where(column % 2, np.pi / 2, 0.0)
    return np.sin(np.arange(length)[:, None] * 10000.0 ** (-(column - column % 2) / size) + phase)
