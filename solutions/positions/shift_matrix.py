"""The exercise `shift_matrix`: moving sinusoidal positions along is a rotation."""

import numpy as np

from autograder.authoring import Exercise, inputs

from ._shared import frequencies

shift_matrix = Exercise("shift_matrix", points=2)


def blocks(angles, signs=(1, 1, -1, 1)):
    """Along the diagonal, for each angle, the block ((cos, sin), (sin, cos)) times four signs."""
    cos, sin = np.cos(angles), np.sin(angles)
    return of_blocks(signs[0] * cos, signs[1] * sin, signs[2] * sin, signs[3] * cos)


def of_blocks(upper_left, upper_right, lower_left, lower_right):
    """The matrix whose 2 × 2 blocks along the diagonal hold these numbers, (n,) each."""
    even = np.arange(0, 2 * len(upper_left), 2)
    matrix = np.zeros((2 * len(even), 2 * len(even)))
    matrix[even, even], matrix[even, even + 1] = upper_left, upper_right
    matrix[even + 1, even], matrix[even + 1, even + 1] = lower_left, lower_right
    return matrix


def some_size(rng, low=3, high=6):
    return int(2 * rng.integers(low, high + 1))


@shift_matrix.domain(sizes={"pairs": (1, 32)}, flags={"shift": (3, 0, 1, -1, -7, 100)})
def anywhere(rng, pairs, shift):
    return inputs(2 * pairs, shift)


@shift_matrix.case("two pairs, one position further, as in the notebook")
def as_in_the_notebook(rng):
    return inputs(4, 1)


@shift_matrix.case("some pairs, a few positions further")
def a_few_further(rng):
    return inputs(some_size(rng), int(rng.integers(2, 7)))


@shift_matrix.case("backwards")
def backwards(rng):
    return inputs(some_size(rng), int(rng.integers(-6, -1)))


@shift_matrix.case("a long way")
def a_long_way(rng):
    return inputs(some_size(rng), int(rng.integers(30, 90)))


# --- Mistakes -------------------------------------------------------------------------------------


@shift_matrix.misconception(
    means="Your matrix turns the other way: it moves positions back by `shift`.",
    nudge="Apply it to the row of position 1. Do you get position 2 or position 0? Which sine has the minus?",
)
def turns_the_other_way(size, shift):
    return blocks(shift * frequencies(size)).T


@shift_matrix.misconception(
    means="Both sines have a plus, so each block stretches instead of turning.",
    nudge="Look at the second addition theorem: which sign comes before sin b?",
)
def no_minus(size, shift):
    return blocks(shift * frequencies(size), (1, 1, 1, 1))


@shift_matrix.misconception(
    means="Both sines have a minus, so each block stretches instead of turning.",
    nudge="Look at the first addition theorem: which sign comes before sin b?",
)
def minus_twice(size, shift):
    return blocks(shift * frequencies(size), (1, -1, -1, 1))


@shift_matrix.misconception(
    means="The minus is at the cosine, which makes each block a reflection and not a rotation.",
    nudge="With shift 0 nothing should move. What is your matrix then?",
)
def minus_at_the_cosine(size, shift):
    return blocks(shift * frequencies(size), (1, 1, 1, -1))


@shift_matrix.misconception(
    means="You exchanged sine and cosine in the blocks.",
    nudge="With shift 0 nothing should move. Which of the two is 1 at the angle 0, and where "
    "must the ones be?",
)
def sine_on_the_diagonal(size, shift):
    cos, sin = np.cos(shift * frequencies(size)), np.sin(shift * frequencies(size))
    return of_blocks(sin, cos, -cos, sin)


@shift_matrix.misconception(
    means="Only the diagonal is filled: the sines next to it are missing.",
    nudge="How many of the four numbers of a block are zero in the notebook's matrix?",
)
def cosines_only(size, shift):
    return np.diag(np.repeat(np.cos(shift * frequencies(size)), 2))


@shift_matrix.misconception(
    means="The sines come first and then the cosines, in halves; here a pair is two neighbouring columns.",
    nudge="Which columns hold the sine and the cosine of pair 0 in a row of positions?",
)
def halves(size, shift):
    cos, sin = np.diag(np.cos(shift * frequencies(size))), np.diag(np.sin(shift * frequencies(size)))
    return np.block([[cos, sin], [-sin, cos]])


@shift_matrix.misconception(
    means="All the blocks turn by the same angle, that of pair 0.",
    nudge="By how much does the hand of pair i turn in `shift` steps?",
)
def one_angle_for_all(size, shift):
    return blocks(shift * np.ones(size // 2))


@shift_matrix.misconception(
    means="The exponent is half as large as it should be: it contains the number of the pair instead of twice that number.",
    nudge="For d = 4 the frequency of the second pair is 1/100. Which is yours?",
)
def not_doubled(size, shift):
    return blocks(shift * 10000.0 ** (-np.arange(size // 2) / size))


@shift_matrix.misconception(
    means="The exponent is twice as large as it should be: 2i was doubled again, or divided by d / 2.",
    nudge="For d = 4 the frequency of the second pair is 1/100. Which is yours?",
)
def doubled_twice(size, shift):
    return blocks(shift * 10000.0 ** (-2 * np.arange(0, size, 2) / size))


@shift_matrix.misconception(
    means="The rows of a block turn at two frequencies; both columns of a pair share one.",
    nudge="Which i belongs to rows 2 and 3?",
)
def a_rate_for_each_row(size, shift):
    angles = shift * 10000.0 ** (-np.arange(size) / size)
    cos, sin = np.cos(angles), np.sin(angles)
    return of_blocks(cos[0::2], sin[0::2], -sin[1::2], cos[1::2])


@shift_matrix.misconception(
    means="The frequencies grow from pair to pair: the sign of the exponent is wrong.",
    nudge="Should the last block turn more or less than the first?",
)
def multiplied_by_the_power(size, shift):
    return blocks(shift / frequencies(size))


@shift_matrix.misconception(
    means="Your matrix moves columns along; what should move is the position, by turning each pair.",
    nudge="A row of positions 1 further is no shifted copy of the row. Which two numbers make up "
    "the new sine?",
)
def moves_columns(size, shift):
    return np.roll(np.eye(size), shift, axis=0)


@shift_matrix.misconception(
    means="Your matrix moves by one position, whatever `shift` says.",
    nudge="Where does your code use `shift`?",
)
def always_one_step(size, shift):
    return blocks(frequencies(size))


@shift_matrix.misconception(
    means="Your matrix moves forward even when `shift` is negative.",
    nudge="What should the matrix for −3 do to position 3?",
)
def forgets_the_sign(size, shift):
    return blocks(abs(shift) * frequencies(size))


@shift_matrix.misconception(
    means="Only the first block turns; the other pairs stay where they are.",
    nudge="What is on the diagonal below the first block?",
)
def only_the_first_pair(size, shift):
    matrix = np.eye(size)
    matrix[:2, :2] = blocks(np.array([float(shift)]))
    return matrix


@shift_matrix.misconception(
    means="The row of position `shift` lies along the diagonal; a matrix that turns has 2 × 2 blocks there.",
    nudge="Multiply your matrix by the row of position 1. Does each new number depend on both of its pair?",
)
def a_row_on_the_diagonal(size, shift):
    row = np.zeros(size)
    row[0::2], row[1::2] = np.sin(shift * frequencies(size)), np.cos(shift * frequencies(size))
    return np.diag(row)


@shift_matrix.misconception(
    means="This is the block of one pair; the whole matrix has one for each pair along the diagonal.",
    nudge="Which shape must a matrix have that multiplies a row of `size` numbers?",
)
def a_single_block(size, shift):
    return blocks(np.array([float(shift)]))


@shift_matrix.misconception(
    means="Your blocks begin at row i and overlap; the block of pair i begins at row 2i.",
    nudge="Which rows and columns does pair 1 have?",
)
def blocks_overlap(size, shift):
    matrix = np.zeros((size, size))
    for i, angle in enumerate(shift * frequencies(size)):
        matrix[i : i + 2, i : i + 2] = blocks(np.array([angle]))
    return matrix


@shift_matrix.misconception(
    means="This is the identity: it leaves every position where it is.",
    nudge="Where does your code use `shift`?",
)
def nothing_moves(size, shift):
    return np.eye(size)


@shift_matrix.misconception(
    means="Slices on both axes fill whole rectangles, every second row with every second column; only the blocks "
    "along the diagonal are expected.",
    nudge="What does `matrix[0::2, 0::2] = …` write to, and what `matrix[even, even] = …` with an array of indices?",
)
def rectangles_for_blocks(size, shift):
    angles = shift * frequencies(size)
    matrix = np.zeros((size, size))
    matrix[0::2, 0::2], matrix[0::2, 1::2] = np.cos(angles), np.sin(angles)
    matrix[1::2, 0::2], matrix[1::2, 1::2] = -np.sin(angles), np.cos(angles)
    return matrix


@shift_matrix.combined_misconception(rectangles_for_blocks, turns_the_other_way)
def rectangles_the_other_way(size, shift):
    return rectangles_for_blocks(size, -shift)


@shift_matrix.combined_misconception(turns_the_other_way, one_angle_for_all)
def one_angle_the_other_way(size, shift):
    return blocks(shift * np.ones(size // 2)).T


@shift_matrix.combined_misconception(turns_the_other_way, not_doubled)
def not_doubled_the_other_way(size, shift):
    return not_doubled(size, shift).T


@shift_matrix.combined_misconception(turns_the_other_way, doubled_twice)
def doubled_twice_the_other_way(size, shift):
    return doubled_twice(size, shift).T


@shift_matrix.combined_misconception(turns_the_other_way, multiplied_by_the_power)
def growing_the_other_way(size, shift):
    return multiplied_by_the_power(size, shift).T


@shift_matrix.combined_misconception(no_minus, one_angle_for_all)
def one_angle_without_a_minus(size, shift):
    return blocks(shift * np.ones(size // 2), (1, 1, 1, 1))


@shift_matrix.combined_misconception(no_minus, not_doubled)
def not_doubled_without_a_minus(size, shift):
    return blocks(shift * 10000.0 ** (-np.arange(size // 2) / size), (1, 1, 1, 1))


@shift_matrix.combined_misconception(no_minus, multiplied_by_the_power)
def growing_without_a_minus(size, shift):
    return blocks(shift / frequencies(size), (1, 1, 1, 1))


@shift_matrix.common_mistake
def lower_precision(size, shift):
    return blocks(shift * frequencies(size)).astype(np.float32)


@shift_matrix.common_mistake
def extra_axis(size, shift):
    return blocks(shift * frequencies(size))[None]


@shift_matrix.common_mistake
def returns_a_list(size, shift):
    return blocks(shift * frequencies(size)).tolist()


@shift_matrix.misconception(
    means="The frequencies do not come in: pair i turns by `shift` times i.",
    nudge="By how much does the hand of pair 1 turn in one step, if d is 4?",
)
def pair_number_for_the_rate(size, shift):
    return blocks(shift * np.arange(size // 2))


@shift_matrix.misconception(
    means="The block of the last pair is missing: there the matrix still holds zeros.",
    nudge="How many pairs are there, and which numbers does `range(n)` give?",
)
def last_pair_left_out(size, shift):
    matrix = blocks(shift * frequencies(size))
    matrix[-2:] = 0
    return matrix


@shift_matrix.misconception(
    means="You took the matrix that fits some rows of positions best. Where there are few of them, or the slow pairs "
    "hardly move, many matrices fit; the expected one is right for every position.",
    nudge="The addition theorems give each number of a block exactly. Which sine and cosine are they made of?",
)
def fitted_to_some_positions(size, shift):
    rows = np.arange(size + 3)[:, None]
    before, after = (waves(rows + n, size) for n in (0, shift))
    # What hardly moves is cut off where no singular value is near: at the default the last digits would choose.
    return np.linalg.lstsq(before, after, rcond=1e-3)[0].T


def waves(positions, size):
    angles = positions * frequencies(size)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), size)


@shift_matrix.misconception(
    means="Your matrix has ones next to the diagonal: that moves the columns, not the positions.",
    nudge="One row of positions is many hands of a clock. What happens to each of them in one step?",
)
def ones_beside_the_diagonal(size, shift):
    return np.eye(size, k=shift)


@shift_matrix.misconception(
    means="Your matrix multiplies every number by `shift`; a hand that moves on turns and keeps its length.",
    nudge="What should the matrix for a shift of 0 do?",
)
def stretched_by_the_shift(size, shift):
    return np.eye(size) * shift


# --- Right answers --------------------------------------------------------------------------------


@shift_matrix.variant
def block_by_block(size, shift):
    matrix = np.zeros((size, size))
    for i in range(size // 2):
        angle = shift / 10000 ** (2 * i / size)
        c, s = np.cos(angle), np.sin(angle)
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, s], [-s, c]]
    return matrix


@shift_matrix.variant
def number_by_number(size, shift):
    matrix = np.zeros((size, size))
    for row in range(size):
        angle = shift * 10000.0 ** (-(row - row % 2) / size)
        matrix[row, row] = np.cos(angle)
        if row % 2 == 0:
            matrix[row, row + 1] = np.sin(angle)
        else:
            matrix[row, row - 1] = -np.sin(angle)
    return matrix


@shift_matrix.variant
def from_three_diagonals(size, shift):
    angles = np.repeat(shift * 10000.0 ** (-np.arange(0, size, 2) / size), 2)
    beside = np.sin(angles[:-1]) * (np.arange(size - 1) % 2 == 0)
    return np.diag(np.cos(angles)) + np.diag(beside, 1) - np.diag(beside, -1)


@shift_matrix.variant
def turning_the_other_way_by_minus_the_angle(size, shift):
    even = np.arange(0, size, 2)
    angles = -shift * np.exp(-np.log(10000.0) * even / size)
    matrix = np.zeros((size, size))
    matrix[even, even] = np.cos(angles)
    matrix[even, even + 1] = -np.sin(angles)
    matrix[even + 1, even] = np.sin(angles)
    matrix[even + 1, even + 1] = np.cos(angles)
    return matrix


@shift_matrix.variant
def from_the_rows_of_positions(size, shift):
    row = shift_matrix.solution.sinusoidal_encoding(abs(shift) + 1, size)[abs(shift)]
    sine, cosine = np.sign(shift) * row[0::2], row[1::2]
    return of_blocks(cosine, sine, -sine, cosine)
