"""The exercise `sinusoidal_encoding`: sines in the even columns, cosines in the odd ones."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs

from ._shared import woven

sinusoidal_encoding = Exercise("sinusoidal_encoding", points=3)


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


@sinusoidal_encoding.slips("""
    a_rate_for_each_column: Each column has its own frequency; the cosine should have the frequency of
        the sine to its left.
        Hint: Columns 2 and 3 are both pair 1. What is i in column 2, and what in column 3?
    columns_counted_as_pairs: You took i for the number of the column: its exponent is twice the column's
        number.
        Hint: i counts pairs. Which i belongs to columns 4 and 5?
    doubled_twice: The exponent is twice as large as it should be: 2i was doubled again, or divided by d / 2.
        Hint: Is the number that you multiply by 2 the pair or its even column? For d = 4 the last
        frequency is 1/100.
    not_doubled: The exponent is half as large as it should be: it contains the number of the pair
        instead of twice that number.
        Hint: For d = 4 the frequency of the second pair is 1/100. Which is yours, and what is missing in
        the exponent?
    one_rate_for_all: All pairs turn at the frequency 1, as if every exponent were 0.
        Hint: Print your exponents. Did `//` cut 2i / d down to a whole number, or does i never come in?
    exponents_up_to_one: The last frequency is exactly 1/10000: you spread the exponents from 0 to 1,
        both ends included.
        Hint: By what does the formula divide 2i? Is the exponent of the last pair 1 or a little less?
    sines_first: All the sines come first and then all the cosines; the two should alternate.
        Hint: Column 1 is the cosine of pair 0. Which slices name every second column?
    cosine_first: You exchanged sine and cosine: your even columns hold cosines.
        Hint: In the row of position 0, which columns should be 0 and which 1?
    sines_only: Every column is a sine; the odd ones should be cosines.
        Hint: In the row of position 0, what is in column 1?
    cosines_only: Every column is a cosine; the even ones should be sines.
        Hint: In the row of position 0, what is in column 0?
    angles_only: These are the angles themselves; no sine or cosine of them was taken.
        Hint: All the numbers of the result lie between −1 and 1. Which functions keep them there?
    counted_from_one: Your positions are counted from 1: the row of position 0 is missing.
        Hint: What are the sine and the cosine of the first row's angles?
    row_zero_left_empty: The row of position 0 is all zeros, but the cosine of 0 is not 0.
        Hint: What makes row 0 different from the others in your code?
    multiplied_by_the_power: The frequencies grow from pair to pair: you multiply by 10000^(2i / d)
        instead of dividing.
        Hint: Should the hands on the right of the table turn faster or more slowly? Look at the sign of
        the exponent.
    power_taken_last: The position was divided by 10000 first, and the power taken of that.
        Hint: What exactly is raised to the power 2i / d in the formula? Where do the parentheses belong?
    base_and_exponent_exchanged: You exchanged base and exponent: you raised 2i / d to a power.
        Hint: Which of the two numbers is raised to a power in the formula, 10000 or 2i / d?
    base_1000: Your base is 1000; the slow pairs turn too fast.
        Hint: Count the zeros of the base in the docstring.
    wrong_logarithm: exp undoes the natural logarithm, but you gave it the one to base 10 (which is 4 for
        10000).
        Hint: Which of NumPy's logarithms does `np.exp` undo?
    floor_of_a_negative: `//` after a negative number rounded it down to a whole one, so your frequencies
        fall much too fast.
        Hint: In which order does Python take `-a / b // 2`, and which way does `//` round?
    positions_as_fractions: You divided the positions by the length, so the same position looks different
        in a longer sentence.
        Hint: By how much should the first hand turn from one position to the next?
    one_column_a_pair: Each pair has one column, its sine; the cosines are missing.
        Hint: How many columns should there be? Which of them are for the cosines?
    backwards: Your sines have the wrong sign: the hands turn in the wrong direction.
        Hint: What is the sine of a small positive angle? Where does a minus come into your angles?
    transposed
    extra_axis
    lower_precision
    returns_a_list
    base_of_100000: The base is 100000 in your code, so the slow pairs turn too slowly.
        Hint: Count the zeros of the base in the docstring.
    taken_for_degrees: The angles were converted from degrees into radians, but they are radians already.
        Hint: np.sin takes radians. What is the sine of 1, position 1 of pair 0, in your table?
    turned_into_degrees: The angles were converted from radians into degrees; np.sin takes radians.
        Hint: What is the sine of 1, position 1 of pair 0, in your table?
    negative_exponent_cut_down: `//` rounds down: `-2 // 4` is -1 and not -0.5. So every pair but
        the first gets the exponent -1, and all of them share one frequency.
        Hint: What is -1 // 2 in Python? Which division keeps the fraction?
    whole_turns: Your angles are multiplied by 2π; the position times the frequency is the angle already.
        Hint: What is the angle of position 1 in the first pair: 1, or a whole turn?
    rates_reversed: The pairs are in reverse order: the slowest comes first.
        Hint: Which pair turns fastest, i = 0 or the last one? Which way do your exponents run?
    columns_i_and_next: You wrote the pair i into the columns i and i + 1, so that each pair overwrites
        half of the one before.
        Hint: Into which columns does the docstring put the pair i = 1?
    exponent_without_brackets: The brackets of the exponent are missing: `10000 ** 2 * i / size` is
        10000² times i / size.
        Hint: Python computes a power before a product. What belongs to the exponent?
    sine_divided: You divided the sine by the power; the angle should be divided before the sine is taken.
        Hint: Between which values does a sine lie? And your numbers?
    powers_of_e: Your frequencies are powers of e; they should be powers of 10000.
        Hint: What is raised to the power −2i / size in the docstring?
""")
def sinusoidal_encoding_with_slips(slip, length, size):
    positions = slip.choose(
        np.arange(length)[:, None],
        counted_from_one=np.arange(1, length + 1)[:, None],
        positions_as_fractions=np.arange(length)[:, None] / length,
    )
    i = np.arange(size // 2)
    exponents = slip.choose(
        2 * i / size,
        a_rate_for_each_column=np.arange(size) / size,
        columns_counted_as_pairs=2 * np.arange(size) / size,
        doubled_twice=4 * i / size,
        not_doubled=i / size,
        one_rate_for_all=np.zeros(size // 2),
        exponents_up_to_one=np.linspace(0, 1, size // 2),
        negative_exponent_cut_down=-(-2 * i // size),
    )
    base = slip.choose(10000.0, base_1000=1000.0, base_of_100000=100000.0, powers_of_e=np.e)
    rates = slip.choose(
        base**-exponents,
        base_and_exponent_exchanged=exponents**1e-4,
        wrong_logarithm=np.exp(-exponents * np.log10(10000.0)),
        floor_of_a_negative=np.exp(2 * i * (-np.log(10000.0) / size // 2)),
        exponent_without_brackets=i / 10000.0**2 / size,
    )
    if slip.rates_reversed:
        rates = rates[::-1]

    angles = positions * rates
    if slip.multiplied_by_the_power:
        angles = positions / rates
    angles = slip.choose(
        angles,
        power_taken_last=(positions / 10000) ** exponents,
        backwards=-angles,
        taken_for_degrees=np.deg2rad(angles),
        turned_into_degrees=np.rad2deg(angles),
        whole_turns=2 * np.pi * angles,
    )
    even, odd = angles, angles
    if slip.a_rate_for_each_column or slip.columns_counted_as_pairs:
        even, odd = angles[:, 0::2], angles[:, 1::2]
    first, second = slip.choose(
        (np.sin(even), np.cos(odd)),
        cosine_first=(np.cos(even), np.sin(odd)),
        sines_only=(np.sin(even), np.sin(odd)),
        cosines_only=(np.cos(even), np.cos(odd)),
        angles_only=(even, odd),
        sine_divided=(np.sin(positions) * rates, np.cos(positions) * rates),
    )

    if slip.one_column_a_pair:
        return first
    encoding = slip.choose(
        woven(first, second), sines_first=np.concatenate([first, second], axis=1)
    )
    if slip.columns_i_and_next:
        encoding = np.zeros((length, size))
        for pair in i:
            encoding[:, pair], encoding[:, pair + 1] = first[:, pair], second[:, pair]
    if slip.row_zero_left_empty:
        encoding[0] = 0
    if slip.returns_a_list:
        return encoding.tolist()
    return slip.choose(
        encoding,
        transposed=encoding.T,
        extra_axis=encoding[None],
        lower_precision=encoding.astype(np.float32),
    )


@sinusoidal_encoding.misconception(
    means="NumPy does not raise a whole number to negative whole powers; and the exponents should "
    "be fractions.",
    nudge="Did `//`, or a missing division, leave whole exponents? Write the base as 10000.0 besides.",
    raises=ValueError,
)
def whole_number_power(length, size):
    angles = np.arange(length)[:, None] * 10000 ** (-np.arange(0, size, 2) // size)
    return woven(np.sin(angles), np.cos(angles))


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
            [
                (math.cos if k % 2 else math.sin)(p / 10000 ** ((k - k % 2) / size))
                for k in range(size)
            ]
            for p in range(length)
        ]
    )


@sinusoidal_encoding.variant
def a_cosine_is_a_shifted_sine(length, size):
    column = np.arange(size)
    phase = np.where(column % 2, np.pi / 2, 0.0)
    return np.sin(np.arange(length)[:, None] * 10000.0 ** (-(column - column % 2) / size) + phase)
