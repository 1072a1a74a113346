"""The exercise `rotate`: rotary positions, pairs of neighbouring columns."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import frequencies, turned, woven

rotate = Exercise("rotate", points=3)


def angles(x, positions, base=10000.0):
    """The angle of each row and pair: (L, d / 2)."""
    return positions[:, None] * frequencies(x.shape[-1], base)


def columns(x):
    """The even and the odd columns."""
    return x[..., 0::2], x[..., 1::2]


@rotate.domain(
    sizes={"batch": (1, 9), "length": (1, 60), "pairs": (1, 40)},
    flags={"base": (10000.0, 100.0, 500000.0)},
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, length, pairs, base):
    positions = np.arange(length) + rng.integers(0, 9)
    return inputs(rng.normal(size=(batch, length, 2 * pairs)), positions, base=base)


@rotate.case("a matrix, positions 0, 1, 2, …")
def a_matrix(rng):
    length = int(rng.integers(5, 8))  # not 4, the number of pairs
    return inputs(rng.normal(size=(length, 8)), np.arange(length))


@rotate.case("a batch of sentences")
def a_batch(rng):
    batch, length, pairs = sizes(rng, 3, low=3, high=6)
    return inputs(rng.normal(size=(batch, length, 2 * pairs)), np.arange(length))


@rotate.case("a batch, with heads, that begins at a later position")
def heads(rng):
    batch, heads, length = sizes(rng, 3, low=2, high=6)
    return inputs(
        rng.normal(size=(batch, heads, length, 8)), np.arange(length) + int(rng.integers(5, 30))
    )


@rotate.case("one new word far behind")
def one_word(rng):
    return inputs(rng.normal(size=(3, 1, 6)), np.array([517]))


@rotate.case("positions with gaps, out of order")
def out_of_order(rng):
    length = int(rng.integers(5, 8))
    return inputs(rng.normal(size=(length, 4)), rng.permutation(40)[:length])


@rotate.case("negative positions")
def negative(rng):
    length = int(rng.integers(5, 8))
    return inputs(rng.normal(size=(2, length, 4)), -1 - rng.permutation(12)[:length])


@rotate.case("fractions of positions")
def fractions(rng):
    length = int(rng.integers(4, 8))
    return inputs(rng.normal(size=(length, 10)), (np.arange(length) + 0.5) / 4)


@rotate.case("another base")
def another_base(rng):
    length = int(rng.integers(5, 8))
    return inputs(rng.normal(size=(2, length, 12)), np.arange(length) + 3, base=50.0)


@rotate.case("as many positions as columns, and as many sentences")
def cube(rng):
    return inputs(rng.normal(size=(6, 6, 6)), np.arange(6))


# --- Mistakes -------------------------------------------------------------------------------------


@rotate.misconception(
    means="The even columns were overwritten before the odd ones were made of them, and in your "
    "argument too.",
    nudge="`x[..., 0::2]` is a view and no copy: what does it hold on your next line? Put results "
    "in a new array.",
)
def overwrites_x_while_reading(x, positions, base=10000.0):
    cos, sin = np.cos(angles(x, positions, base)), np.sin(angles(x, positions, base))
    even, odd = columns(x)
    x[..., 0::2] = even * cos - odd * sin
    x[..., 1::2] = even * sin + odd * cos
    return x


@rotate.misconception(
    means="The even columns were overwritten before the odd ones were made of them.",
    nudge="What does the array that you read from hold on your next line? `x[..., 0::2]` is a view "
    "and no copy.",
)
def overwrites_while_reading(x, positions, base=10000.0):
    return overwrites_x_while_reading(x.copy(), positions, base)


@rotate.slips("""
    paired_in_halves: You paired column i with column i + d/2; here a pair is two neighbouring columns.
        Hint: Which column turns together with column 0? See the picture of the two pairings below the
        exercise.
    partners_in_halves_angles_of_neighbours: The partner comes from the other half, but the angles are in
        the order for neighbours, so this is no turn.
        Hint: Which column is multiplied by cos and which by sin for column 0? Both must be of one pair.
    partners_of_neighbours_angles_in_halves: The partner is the neighbour, but the angles are in the
        order for halves, so this is no rotation.
        Hint: By which angle are columns 0 and 1 rotated in your code? It must be the same.
    not_woven_together: The rotated even columns come first and the odd ones after them; they should
        alternate again.
        Hint: Into which columns of the result does the first number of each pair belong?
    partners_not_woven_together: The sine multiplies all the odd columns, then all the even ones; each
        column needs its neighbour there.
        Hint: Print the array that you multiply by the sine for x = 0, 1, 2, 3. Which order do you need?
    turns_the_other_way: Your vectors turn the other way.
        Hint: (1, 0) at position 1 is to become (cos 1, sin 1). Which of the two sines has the minus?
    no_minus: Both sines have a plus, so the vectors change their length.
        Hint: Compare `np.linalg.norm` before and after. Which term of a rotation has a minus?
    minus_at_the_cosine: There is a minus at the second cosine, which makes the rotation a reflection.
        Hint: At position 0 nothing should change. What does your function make of (0, 1) there?
    sine_and_cosine_exchanged: You exchanged sine and cosine.
        Hint: At position 0 nothing should change. What does your function make of (1, 0) there?
    cosine_only: Each column is multiplied by a cosine; the part that comes from its neighbour is missing.
        Hint: How many terms has the new x_2i in the formula?
    adds_sinusoids: You added sinusoidal positions; rotary positions add nothing, they turn.
        Hint: What should a row of zeros become, at every position?
    multiplies_by_sinusoids: You multiplied x by sinusoidal positions, number by number.
        Hint: At position 0 nothing should change. What becomes of (1, 0) there?
    positions_ignored: You numbered the rows 0, 1, 2, … yourself, whatever `positions` says.
        Hint: Where does your code use `positions`? A single new word may be at position 517.
    counted_from_one: Every position is counted one too high: position 0 is already rotated.
        Hint: What should `rotate` do to a row at position 0?
    looks_up_a_table: Your table of angles has no rows for negative positions or fractions: it took
        others instead.
        Hint: What does an index of −1 give, and what is left of 1.5? Compute the angles from the
        positions themselves.
    fractions_cut_off: Fractions of positions were cut off to whole numbers.
        Hint: Where does your code turn positions into integers? A half step should turn by half the angle.
    sign_of_the_position_lost: Negative positions turn as if they were positive.
        Hint: Should −2 and 2 turn a vector in the same direction?
    base_ignored: The base is fixed at 10000 in your code, whatever `base` says.
        Hint: Where does your code use `base`?
    one_angle_for_all: All the pairs are rotated by the same angle, that of pair 0.
        Hint: Which angle does pair i have? Look at the exponent.
    not_doubled: The exponent is half as large as it should be: it contains the number of the pair
        instead of twice that number.
        Hint: For d = 4 and base 10000 the second pair turns by 1/100 a step. By how much does yours?
    doubled_twice: The exponent is twice as large as it should be: 2i was doubled again, or divided by d / 2.
        Hint: For d = 4 and base 10000 the second pair turns by 1/100 a step. By how much does yours?
    a_rate_for_each_column: The two columns of a pair are rotated by different angles: each column has
        its own frequency.
        Hint: Which i belongs to columns 2 and 3?
    multiplied_by_the_power: The frequencies grow from pair to pair: the sign of the exponent is wrong.
        Hint: Should the last pair turn faster or more slowly than the first?
    size_from_axis_1: You divided by the size of axis 1, which is the number of columns only if x is a matrix.
        Hint: Which axis are the columns, counted from the end?
    positions_on_another_axis: Your angles have an axis too many between positions and pairs, so they do
        not lie along the rows of x.
        Hint: x ends in (L, d). In which shape do the angles line up with that from the right?
    positions_without_an_axis: Positions and frequencies are along the same axis, so they do not make a
        table of angles.
        Hint: Which axis of length 1 makes positions a column, so that a row of frequencies gives (L, d / 2)?
    matrices_only: Your function takes matrices only; there may be one or more axes before the last two.
        Hint: Can you take d from the end of `x.shape`, and let `...` mean all the other axes?
    half_of_the_columns: Only the first half of the columns is rotated; the rest is unchanged.
        Hint: How many pairs are there in d columns?
    three_axes_only: Your function takes a batch of sentences only; x may be a matrix, or have heads besides.
        Hint: Can you take d from the end of `x.shape`, and let `...` mean all the axes before the last?
    modifies_argument
    extra_axis
    lower_precision
    returns_a_list
    taken_for_degrees: The angles were converted from degrees into radians, but they are radians already.
        Hint: (1, 0) at position 1 is to become (cos 1, sin 1) = (0.54, 0.84). What do you get?
    consecutive_from_the_first: You counted on from the first position as if the others followed it one
        by one.
        Hint: `positions` may be 3, 5, 40. What is the angle of the second row then?
    positions_sorted: The positions are sorted in your code, so rows get one another's angles.
        Hint: Which row of x belongs to which position? Nothing asks for an order.
""")
def rotate_with_slips(slip, x, positions, base=10000.0):
    if slip.matrices_only:
        _length, _size = x.shape  # too many values, if there are more axes
    if slip.three_axes_only:
        _batch, _length, _size = x.shape  # too many or too few values, if there are not three axes
    size = x.shape[-1]
    positions = slip.choose(
        positions,
        positions_ignored=np.arange(x.shape[-2]),
        counted_from_one=positions + 1,
        fractions_cut_off=positions.astype(int),
        sign_of_the_position_lost=np.abs(positions),
        consecutive_from_the_first=positions[:1] + np.arange(len(positions)),
        positions_sorted=np.sort(positions),
    )
    if slip.looks_up_a_table:
        positions = np.arange(2048)[positions.astype(int)]
    base = slip.choose(base, base_ignored=10000.0)
    exponents = np.arange(0, size, 2) / size
    exponents = slip.choose(
        exponents,
        one_angle_for_all=0 * exponents,
        not_doubled=exponents / 2,
        doubled_twice=2 * exponents,
        a_rate_for_each_column=np.arange(size) / size,
        size_from_axis_1=np.arange(0, size, 2) / x.shape[1],
    )
    rates = base**-exponents
    if slip.positions_without_an_axis:
        angles = positions * rates
    elif slip.multiplied_by_the_power:
        angles = positions[:, None] / rates
    else:
        angles = positions[:, None] * rates
    angles = slip.choose(angles, turns_the_other_way=-angles, taken_for_degrees=np.deg2rad(angles))
    if slip.positions_on_another_axis:
        angles = angles[:, None]

    # Each column times a cosine, plus the other column of its pair times a sine.
    pairs_in_halves = slip.paired_in_halves or slip.partners_in_halves_angles_of_neighbours
    first, second = x[..., 0::2], x[..., 1::2]
    if pairs_in_halves:
        first, second = x[..., : size // 2], x[..., size // 2 :]
    if not slip.no_minus:
        second = -second
    partner = woven(second, first)
    if pairs_in_halves or slip.partners_not_woven_together:
        partner = np.concatenate([second, first], axis=-1)
    twice = slip.choose(
        np.repeat(angles, 2, axis=-1),
        a_rate_for_each_column=angles,
        paired_in_halves=np.concatenate([angles, angles], axis=-1),
        partners_of_neighbours_angles_in_halves=np.concatenate([angles, angles], axis=-1),
    )
    cos, sin = np.cos(twice), np.sin(twice)
    if slip.sine_and_cosine_exchanged:
        cos, sin = sin, cos
    if slip.minus_at_the_cosine:
        cos = cos * np.tile([1, -1], size // 2)
    if slip.cosine_only:
        partner = 0 * partner
    result = np.empty_like(x)
    result[...] = x * cos + partner * sin
    if slip.adds_sinusoids:
        result[...] = x + woven(np.sin(angles), np.cos(angles))
    if slip.multiplies_by_sinusoids:
        result[...] = x * woven(np.sin(angles), np.cos(angles))

    if slip.not_woven_together:
        result = np.concatenate([result[..., 0::2], result[..., 1::2]], axis=-1)
    if slip.half_of_the_columns:
        result[..., size // 4 * 2 :] = x[..., size // 4 * 2 :]
    if slip.modifies_argument:
        x[...] = result
    if slip.returns_a_list:
        return result.tolist()
    return slip.choose(result, extra_axis=result[None], lower_precision=result.astype(np.float32))


@rotate.misconception(
    means="You rotated one row after another along the first axis, which holds the positions only "
    "if x is a matrix.",
    nudge="Which axis are the positions when there is a batch axis before them? Count from the end.",
)
def rows_of_the_first_axis(x, positions, base=10000.0):
    result = x.copy()
    for row, position in enumerate(positions):
        result[row] = woven(*turned(*columns(x[row]), position * frequencies(x.shape[-1], base)))
    return result


@rotate.misconception(
    means="`x[:, 0::2]` is every second *row* as soon as there is a batch axis.",
    nudge="How do you index the last axis, however many axes come before it?",
)
def columns_of_axis_1(x, positions, base=10000.0):
    turns = angles(x, positions, base)
    even, odd = x[:, 0::2], x[:, 1::2]
    result = np.empty_like(x)
    result[:, 0::2] = even * np.cos(turns) - odd * np.sin(turns)
    result[:, 1::2] = even * np.sin(turns) + odd * np.cos(turns)
    return result


@rotate.misconception(
    means="The frequencies are in reverse order: the last pair turns fastest.",
    nudge="Which pair turns by the whole position, i = 0 or the last one?",
)
def rates_reversed(x, positions, base=10000.0):
    return woven(*turned(*columns(x), angles(x, positions, base)[:, ::-1]))


# --- Right answers --------------------------------------------------------------------------------


@rotate.variant
def stacked_and_reshaped(x, positions, base=10000.0):
    d = x.shape[-1]
    theta = 1.0 / base ** (np.arange(0, d, 2) / d)
    turns = np.outer(positions, theta)
    x1, x2 = x[..., ::2], x[..., 1::2]
    pairs = np.stack(
        [x1 * np.cos(turns) - x2 * np.sin(turns), x1 * np.sin(turns) + x2 * np.cos(turns)], axis=-1
    )
    return pairs.reshape(x.shape)


@rotate.variant
def with_complex_numbers(x, positions, base=10000.0):
    d = x.shape[-1]
    turns = np.exp(1j * np.outer(positions, base ** (-np.arange(0, d, 2) / d)))
    z = (x[..., 0::2] + 1j * x[..., 1::2]) * turns
    result = np.zeros(x.shape, dtype=x.dtype)
    result[..., 0::2], result[..., 1::2] = z.real, z.imag
    return result


@rotate.variant
def cosine_times_x_plus_sine_times_partner(x, positions, base=10000.0):
    d = x.shape[-1]
    turns = np.repeat(np.outer(positions, base ** (-np.arange(0, d, 2) / d)), 2, axis=-1)
    partner = np.empty_like(x)
    partner[..., 0::2] = -x[..., 1::2]
    partner[..., 1::2] = x[..., 0::2]
    return x * np.cos(turns) + partner * np.sin(turns)


@rotate.variant
def pair_by_pair(x, positions, base=10000.0):
    result = np.array(x)
    d = x.shape[-1]
    for i in range(d // 2):
        angle = positions * base ** (-2 * i / d)
        c, s = np.cos(angle), np.sin(angle)
        result[..., 2 * i] = x[..., 2 * i] * c - x[..., 2 * i + 1] * s
        result[..., 2 * i + 1] = x[..., 2 * i] * s + x[..., 2 * i + 1] * c
    return result


@rotate.variant
def a_matrix_for_each_position(x, positions, base=10000.0):
    d = x.shape[-1]
    result = np.empty_like(x)
    for row, position in enumerate(positions):
        matrix = np.zeros((d, d))
        for i in range(0, d, 2):
            angle = position * base ** (-i / d)
            c, s = np.cos(angle), np.sin(angle)
            matrix[i : i + 2, i : i + 2] = [[c, -s], [s, c]]
        result[..., row, :] = x[..., row, :] @ matrix.T
    return result


@rotate.variant
def einsum_of_pairs(x, positions, base=10000.0):
    d = x.shape[-1]
    turns = np.asarray(positions, dtype=float)[:, None] * np.exp(
        -np.log(base) * np.arange(0, d, 2) / d
    )
    c, s = np.cos(turns), np.sin(turns)
    matrices = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)  # (L, d/2, 2, 2)
    pairs = x.reshape(*x.shape[:-1], d // 2, 2)
    return np.einsum("lpij,...lpj->...lpi", matrices, pairs).reshape(x.shape)


@rotate.variant
def halves_after_reordering(x, positions, base=10000.0):
    order = np.concatenate([np.arange(0, x.shape[-1], 2), np.arange(1, x.shape[-1], 2)])
    y, half = x[..., order], x.shape[-1] // 2
    turns = angles(x, positions, base)
    y = np.concatenate(turned(y[..., :half], y[..., half:], turns), axis=-1)
    return y[..., np.argsort(order)]
