"""The exercise `causal_mask`: each position sees itself and those before it."""

import numpy as np

from attention_labs.comparers import no_looking_ahead
from autograder.authoring import Exercise, inputs

causal_mask = Exercise("causal_mask", points=1, properties=[no_looking_ahead])


@causal_mask.domain(sizes={"size": (1, 60)})
def anywhere(rng, size):
    return inputs(size)


@causal_mask.case("four positions, as in the notebook")
def four_positions(rng):
    return inputs(4)


@causal_mask.case("a single position")
def one_position(rng):
    return inputs(1)


@causal_mask.case("a short sentence")
def short_sentence(rng):
    return inputs(int(rng.integers(5, 8)))


@causal_mask.case("a longer sentence")
def longer_sentence(rng):
    return inputs(int(rng.integers(9, 13)))


@causal_mask.case("a paragraph")
def paragraph(rng):
    # Larger than every mask in the notebook, so that no slice of a mask of one size passes.
    return inputs(int(rng.integers(64, 80)))


@causal_mask.slips("""
    strictly_lower: Each position sees the earlier ones but not itself, so the first one has nothing to
        attend to.
        Hint: May a word look at itself? Then what belongs on the diagonal?
    upper_triangle: You allowed each position itself and everything after it: it sees the future and not
        the past.
        Hint: Rows are queries, columns are keys. In row 0, which columns have already been written?
    inverted_causal: The mask is inverted: True is where attention is forbidden.
        Hint: In this lab True means “may attend”. Which operator turns every True into False?
    one_ahead: Each position also sees the one that comes right after it.
        Hint: How many columns should be True in row 0? Check the offset `k` or your comparison (`<` or
        `<=`).
    all_allowed: Everything is allowed, so nothing is hidden from anybody.
        Hint: Which half of this square lies in the future?
    nothing_allowed: Nothing is allowed: the whole mask is False.
        Hint: Which array did you cut the triangle from, one full of zeros or one full of ones?
    only_itself: Each position sees only itself and none of those before it.
        Hint: Position 2 may look at positions 0, 1 and 2. Which columns is that in row 2?
    only_one_step_back: Each position sees itself and its one neighbour, and forgets everything before
        that.
        Hint: How far back may the last position look?
    mirrored: The triangle leans the wrong way: your columns are counted from the right-hand end.
        Hint: Which column belongs to the first position, the leftmost or the rightmost?
    additive_causal: This is the additive form (0 = keep, a large negative number = hide); booleans are
        asked for.
        Hint: True where a position may attend, False where it may not; the conversion comes in Exercise
        3.
    hard_coded_causal: You return the notebook's mask for four positions, whatever `size` says.
        Hint: Where does your code use `size`?
    additive_causal_with_infinity: This is the additive form (0 = keep, -inf = hide); booleans are asked
        for.
        Hint: True where a position may attend, False where it may not; the conversion comes in Exercise
        3.
    first_row_left_out: The first position sees nothing: your loop begins at the second row.
        Hint: Which numbers does `range(1, size)` give? Which row is missing?
    last_row_left_out: The last row is empty: your loop ends one row too early.
        Hint: Which numbers does `range(size - 1)` give? Which row is missing?
    numbers_not_booleans
    extra_axis
    returns_a_list
""")
def causal_mask_with_slips(slip, size):
    if slip.hard_coded_causal:
        size = 4
    everything = np.ones((size, size), dtype=bool)
    mask = np.tril(everything, k=slip.choose(0, strictly_lower=-1, one_ahead=1))
    mask = slip.choose(
        mask,
        upper_triangle=mask.T,
        mirrored=np.fliplr(mask),
        all_allowed=everything,
        nothing_allowed=~everything,
        only_itself=np.eye(size, dtype=bool),
        only_one_step_back=mask & np.triu(everything, k=-1),
    )
    if slip.inverted_causal:
        mask = ~mask
    if slip.first_row_left_out:
        mask[0] = False
    if slip.last_row_left_out:
        mask[-1] = False
    if slip.returns_a_list:
        return mask.tolist()
    return slip.choose(
        mask,
        additive_causal=np.where(mask, 0.0, -1e9),
        additive_causal_with_infinity=np.where(mask, 0.0, -np.inf),
        numbers_not_booleans=mask.astype(np.float64),
        extra_axis=mask[np.newaxis],
    )


# Other right answers, which must pass.


@causal_mask.variant
def tri_of_booleans(n):
    return np.tri(n, dtype=bool)


@causal_mask.variant
def compared_positions(size):
    positions = np.arange(size)
    return positions[:, None] >= positions[None, :]


@causal_mask.variant
def two_loops(size):
    mask = np.zeros((size, size), dtype=bool)
    for i in range(size):
        for j in range(i + 1):
            mask[i, j] = True
    return mask


@causal_mask.variant
def not_the_upper_triangle(size):
    return ~np.triu(np.ones((size, size), dtype=np.bool_), k=1)


@causal_mask.variant
def upper_triangle_equal_zero(size):
    return np.triu(np.ones((size, size)), k=1) == 0


@causal_mask.variant
def indices_of_the_triangle(size):
    mask = np.full((size, size), False)
    mask[np.tril_indices(size)] = True
    return mask


@causal_mask.variant
def nested_list(size):
    return np.array([[j <= i for j in range(size)] for i in range(size)])


@causal_mask.variant
def from_a_function(size):
    return np.fromfunction(lambda i, j: j <= i, (size, size))
