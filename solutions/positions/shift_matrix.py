"""The exercise `shift_matrix`: moving sinusoidal positions along is a rotation."""

import numpy as np

from autograder.authoring import Exercise, inputs

from ._shared import frequencies, woven

shift_matrix = Exercise("shift_matrix", points=2)


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


@shift_matrix.slips("""
    turns_the_other_way: Your matrix turns the other way: it moves positions back by `shift`.
        Hint: Apply it to the row of position 1. Do you get position 2 or position 0? Which sine has the
        minus?
    no_minus: Both sines have a plus, so each block stretches instead of turning.
        Hint: Look at the second addition theorem: which sign comes before sin b?
    minus_twice: Both sines have a minus, so each block stretches instead of turning.
        Hint: Look at the first addition theorem: which sign comes before sin b?
    minus_at_the_cosine: The minus is at the cosine, which makes each block a reflection and not a rotation.
        Hint: With shift 0 nothing should move. What is your matrix then?
    sine_on_the_diagonal: You exchanged sine and cosine in the blocks.
        Hint: With shift 0 nothing should move. Which of the two is 1 at the angle 0, and where must the
        ones be?
    cosines_only: Only the diagonal is filled: the sines next to it are missing.
        Hint: How many of the four numbers of a block are zero in the notebook's matrix?
    halves: The sines come first and then the cosines, in halves; here a pair is two neighbouring columns.
        Hint: Which columns hold the sine and the cosine of pair 0 in a row of positions?
    one_angle_for_all: All the blocks turn by the same angle, that of pair 0.
        Hint: By how much does the hand of pair i turn in `shift` steps?
    not_doubled: The exponent is half as large as it should be: it contains the number of the pair
        instead of twice that number.
        Hint: For d = 4 the frequency of the second pair is 1/100. Which is yours?
    doubled_twice: The exponent is twice as large as it should be: 2i was doubled again, or divided by d / 2.
        Hint: For d = 4 the frequency of the second pair is 1/100. Which is yours?
    a_rate_for_each_row: The rows of a block turn at two frequencies; both columns of a pair share one.
        Hint: Which i belongs to rows 2 and 3?
    multiplied_by_the_power: The frequencies grow from pair to pair: the sign of the exponent is wrong.
        Hint: Should the last block turn more or less than the first?
    moves_columns: Your matrix moves columns along; what should move is the position, by turning each pair.
        Hint: A row of positions 1 further is no shifted copy of the row. Which two numbers make up the
        new sine?
    always_one_step: Your matrix moves by one position, whatever `shift` says.
        Hint: Where does your code use `shift`?
    forgets_the_sign: Your matrix moves forward even when `shift` is negative.
        Hint: What should the matrix for −3 do to position 3?
    only_the_first_pair: Only the first block turns; the other pairs stay where they are.
        Hint: What is on the diagonal below the first block?
    a_row_on_the_diagonal: The row of position `shift` lies along the diagonal; a matrix that turns has 2
        × 2 blocks there.
        Hint: Multiply your matrix by the row of position 1. Does each new number depend on both of its pair?
    a_single_block: This is the block of one pair; the whole matrix has one for each pair along the diagonal.
        Hint: Which shape must a matrix have that multiplies a row of `size` numbers?
    blocks_overlap: Your blocks begin at row i and overlap; the block of pair i begins at row 2i.
        Hint: Which rows and columns does pair 1 have?
    nothing_moves: This is the identity: it leaves every position where it is.
        Hint: Where does your code use `shift`?
    rectangles_for_blocks: Slices on both axes fill whole rectangles, every second row with every second
        column; only the blocks along the diagonal are expected.
        Hint: What does `matrix[0::2, 0::2] = …` write to, and what `matrix[even, even] = …` with an
        array of indices?
    lower_precision
    extra_axis
    returns_a_list
    pair_number_for_the_rate: The frequencies do not come in: pair i turns by `shift` times i.
        Hint: By how much does the hand of pair 1 turn in one step, if d is 4?
    last_pair_left_out: The block of the last pair is missing: there the matrix still holds zeros.
        Hint: How many pairs are there, and which numbers does `range(n)` give?
    ones_beside_the_diagonal: Your matrix has ones next to the diagonal: that moves the columns, not the
        positions.
        Hint: One row of positions is many hands of a clock. What happens to each of them in one step?
    stretched_by_the_shift: Your matrix multiplies every number by `shift`; a hand that moves on turns
        and keeps its length.
        Hint: What should the matrix for a shift of 0 do?
""")
def shift_matrix_with_slips(slip, size, shift):
    if slip.moves_columns:
        return np.roll(np.eye(size), shift, axis=0)
    if slip.nothing_moves:
        return np.eye(size)
    if slip.ones_beside_the_diagonal:
        return np.eye(size, k=shift)
    if slip.stretched_by_the_shift:
        return np.eye(size) * shift

    shift = slip.choose(shift, always_one_step=1, forgets_the_sign=abs(shift))
    i = np.arange(size // 2)
    rates = slip.choose(
        frequencies(size),
        one_angle_for_all=np.ones(size // 2),
        not_doubled=10000.0 ** (-i / size),
        doubled_twice=10000.0 ** (-4 * i / size),
        a_rate_for_each_row=10000.0 ** (-np.arange(size) / size),
        only_the_first_pair=i == 0,
        a_single_block=np.ones(1),
        pair_number_for_the_rate=i,
    )
    angles = shift * rates
    if slip.multiplied_by_the_power:
        angles = shift / rates
    if slip.turns_the_other_way:
        angles = -angles
    cos, sin = np.cos(angles), np.sin(angles)
    if slip.sine_on_the_diagonal:
        cos, sin = sin, cos
    if slip.cosines_only:
        sin = 0 * sin
    if slip.a_row_on_the_diagonal:
        return np.diag(woven(sin, cos))

    upper_left, upper_right, lower_left, lower_right = slip.choose(
        (cos, sin, -sin, cos),
        no_minus=(cos, sin, sin, cos),
        minus_twice=(cos, -sin, -sin, cos),
        minus_at_the_cosine=(cos, sin, sin, -cos),
        a_rate_for_each_row=(cos[0::2], sin[0::2], -sin[1::2], cos[1::2]),
    )
    blocks = len(upper_left)
    even = 2 * np.arange(blocks)
    even, odd = slip.choose(
        (even, even + 1),
        halves=(i, i + size // 2),
        blocks_overlap=(i, i + 1),
        rectangles_for_blocks=(slice(0, None, 2), slice(1, None, 2)),
    )
    matrix = np.zeros((2 * blocks, 2 * blocks))
    matrix[odd, even], matrix[odd, odd] = lower_left, lower_right
    matrix[even, even], matrix[even, odd] = (
        upper_left,
        upper_right,
    )  # last, to be on top of an overlap
    if slip.last_pair_left_out:
        matrix[-2:] = 0
    if slip.returns_a_list:
        return matrix.tolist()
    return slip.choose(matrix, lower_precision=matrix.astype(np.float32), extra_axis=matrix[None])


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


def of_blocks(upper_left, upper_right, lower_left, lower_right):
    """The matrix whose 2 × 2 blocks along the diagonal hold these numbers, (n,) each."""
    even = np.arange(0, 2 * len(upper_left), 2)
    matrix = np.zeros((2 * len(even), 2 * len(even)))
    matrix[even, even], matrix[even, even + 1] = upper_left, upper_right
    matrix[even + 1, even], matrix[even + 1, even + 1] = lower_left, lower_right
    return matrix
