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


# Mistakes.


@causal_mask.misconception(
    means="Each position sees the earlier ones but not itself, so the first one has nothing to attend to.",
    nudge="May a word look at itself? Then what belongs on the diagonal?",
)
def strictly_lower(size):
    return np.tril(np.ones((size, size), dtype=bool), k=-1)


@causal_mask.misconception(
    means="You allowed each position itself and everything after it: it sees the future and not the past.",
    nudge="Rows are queries, columns are keys. In row 0, which columns have already been written?",
)
def upper_triangle(size):
    return np.triu(np.ones((size, size), dtype=bool))


@causal_mask.misconception(
    means="The mask is inverted: True is where attention is forbidden.",
    nudge="In this lab True means “may attend”. Which operator turns every True into False?",
)
def inverted_causal(size):
    return np.triu(np.ones((size, size), dtype=bool), k=1)


@causal_mask.misconception(
    means="Each position also sees the one that comes right after it.",
    nudge="How many columns should be True in row 0? Check the offset `k` or your comparison (`<` or `<=`).",
)
def one_ahead(size):
    return np.tril(np.ones((size, size), dtype=bool), k=1)


@causal_mask.misconception(
    means="Everything is allowed, so nothing is hidden from anybody.",
    nudge="Which half of this square lies in the future?",
)
def all_allowed(size):
    return np.ones((size, size), dtype=bool)


@causal_mask.misconception(
    means="Nothing is allowed: the whole mask is False.",
    nudge="Which array did you cut the triangle from, one full of zeros or one full of ones?",
)
def nothing_allowed(size):
    return np.tril(np.zeros((size, size), dtype=bool))


@causal_mask.misconception(
    means="Each position sees only itself and none of those before it.",
    nudge="Position 2 may look at positions 0, 1 and 2. Which columns is that in row 2?",
)
def only_itself(size):
    return np.eye(size, dtype=bool)


@causal_mask.misconception(
    means="Each position sees itself and its one neighbour, and forgets everything before that.",
    nudge="How far back may the last position look?",
)
def only_one_step_back(size):
    return np.eye(size, dtype=bool) | np.eye(size, k=-1, dtype=bool)


@causal_mask.misconception(
    means="The triangle leans the wrong way: your columns are counted from the right-hand end.",
    nudge="Which column belongs to the first position, the leftmost or the rightmost?",
)
def mirrored(size):
    return np.fliplr(np.tri(size, dtype=bool))


@causal_mask.misconception(
    means="This is the additive form (0 = keep, a large negative number = hide); booleans are asked for.",
    nudge="True where a position may attend, False where it may not; the conversion comes in Exercise 3.",
)
def additive_causal(size):
    return np.where(np.tri(size, dtype=bool), 0.0, -1e9)


@causal_mask.misconception(
    means="You return the notebook's mask for four positions, whatever `size` says.",
    nudge="Where does your code use `size`?",
)
def hard_coded_causal(size):
    return np.tri(4, dtype=bool)


@causal_mask.misconception(
    means="This is the additive form (0 = keep, -inf = hide); booleans are asked for.",
    nudge="True where a position may attend, False where it may not; the conversion comes in Exercise 3.",
)
def additive_causal_with_infinity(size):
    return np.where(np.tri(size, dtype=bool), 0.0, -np.inf)


@causal_mask.misconception(
    means="The first position sees nothing: your loop begins at the second row.",
    nudge="Which numbers does `range(1, size)` give? Which row is missing?",
)
def first_row_left_out(size):
    mask = np.tri(size, dtype=bool)
    mask[0] = False
    return mask


@causal_mask.misconception(
    means="The last row is empty: your loop ends one row too early.",
    nudge="Which numbers does `range(size - 1)` give? Which row is missing?",
)
def last_row_left_out(size):
    mask = np.tri(size, dtype=bool)
    mask[-1] = False
    return mask


@causal_mask.common_mistake
def numbers_not_booleans(size):
    return np.tri(size)


@causal_mask.common_mistake
def extra_axis(size):
    return np.tri(size, dtype=bool)[np.newaxis]


@causal_mask.common_mistake
def returns_a_list(size):
    return [[column <= row for column in range(size)] for row in range(size)]


@causal_mask.combined_misconception(one_ahead, inverted_causal)
def one_ahead_inverted(size):
    return np.triu(np.ones((size, size), dtype=bool), k=2)


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
