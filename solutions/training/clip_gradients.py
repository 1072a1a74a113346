"""The exercise `clip_gradients`: one norm for all gradients together, and one factor."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

clip_gradients = Exercise("clip_gradients", points=2)


def length(gradients):
    return float(np.sqrt(sum(np.sum(g.astype(np.float64) ** 2) for g in gradients)))


def arrays(rng, count, size=4, magnitude=1.0):
    """Arrays of one and two axes, in turn; no two of them have one shape."""
    shapes = [(size + i,) if i % 2 else (size, size + 1 + i) for i in range(count)]
    return [magnitude * rng.normal(size=shape) for shape in shapes]


@clip_gradients.domain(
    sizes={"size": (1, 60)},
    flags={"count": (3, 1, 2, 20), "long": (True, False)},
    magnitudes=(1.0, 1e-3, 1e4),
    dtypes=("float64", "float32"),
)
def anywhere(rng, size, count, long, magnitude):
    gradients = arrays(rng, count, size, magnitude)
    factor = rng.uniform(0.2, 0.8) if long else rng.uniform(1.3, 3)
    return inputs(gradients, factor * length(gradients))


@clip_gradients.case("the notebook's example: 3 and 4, at most 1")
def example(rng):
    return inputs([np.array([3.0]), np.array([4.0])], 1.0)


@clip_gradients.case("the same, at most 10: nothing changes")
def example_short(rng):
    return inputs([np.array([3.0]), np.array([4.0])], 10.0)


@clip_gradients.case("matrices and vectors, norm too large")
def too_long(rng):
    return inputs(arrays(rng, 4, 3), 2.5)


@clip_gradients.case("matrices and vectors, norm small enough")
def short(rng):
    gradients = arrays(rng, 3, 3, 0.1)
    return inputs(gradients, 1.4 * length(gradients))


@clip_gradients.case("the norm of each array is small enough, that of all together is not")
def together(rng):
    gradients = arrays(rng, 5, 3)
    gradients = [g / np.sqrt(np.sum(g**2)) for g in gradients]
    return inputs(gradients, float(rng.uniform(1.2, 1.6)))


@clip_gradients.case("gradients that are all 0")
def zeros(rng):
    return inputs([np.zeros(sizes(rng, 2)), np.zeros(3)], 1.0)


@clip_gradients.case("one array")
def one_array(rng):
    return inputs([4 * rng.normal(size=sizes(rng, 2, 3))], 1.5)


def scaled(gradients, largest, norm):
    """All times one factor, if `norm` is larger than `largest`."""
    return [g * (largest / norm) for g in gradients] if norm > largest else [g.copy() for g in gradients]


# One norm for all?


@clip_gradients.misconception(
    means="You clip each array separately, so the direction of the whole gradient changes.",
    nudge="How many factors are there, and how many should there be?",
)
def each_by_itself(gradients, largest):
    return [scaled([g], largest, length([g]))[0] for g in gradients]


@clip_gradients.misconception(
    means="Each number is cut off at ± `largest`; all are to be multiplied by one factor, so that the direction stays.",
    nudge="Of (3, 4), at most 1: what is left of the direction if both become 1?",
)
def each_number_cut_off(gradients, largest):
    return [np.clip(g, -largest, largest) for g in gradients]


@clip_gradients.misconception(
    means="You added up the norms of the arrays; their squares are added, and the root is taken once.",
    nudge="How long is an arrow that goes 3 to the right and 4 up?",
)
def lengths_added(gradients, largest):
    return scaled(gradients, largest, sum(length([g]) for g in gradients))


@clip_gradients.misconception(
    means="You took the norm of the array with the largest norm for that of all.",
    nudge="How long is an arrow that goes 3 to the right and 4 up?",
)
def the_longest_array(gradients, largest):
    return scaled(gradients, largest, max(length([g]) for g in gradients))


@clip_gradients.misconception(
    means="Only the last array counts for the norm: in your loop the sum is replaced, not added to.",
    nudge="In your loop, is it `=` or `+=`?",
)
def only_the_last_array(gradients, largest):
    return scaled(gradients, largest, length(gradients[-1:]))


@clip_gradients.misconception(
    means="Only the first array counts for the norm.", nudge="Whose squares are added up?"
)
def only_the_first_array(gradients, largest):
    return scaled(gradients, largest, length(gradients[:1]))


@clip_gradients.misconception(
    means="You took the mean of the norms; all squares together are one norm.",
    nudge="How long is an arrow that goes 3 to the right and 4 up?",
)
def mean_of_the_lengths(gradients, largest):
    return scaled(gradients, largest, sum(length([g]) for g in gradients) / len(gradients))


# Which norm?


@clip_gradients.misconception(
    means="The root is missing: you compared the sum of the squares with `largest`.",
    nudge="How long is an arrow that goes 3 to the right and 4 up?",
)
def no_root(gradients, largest):
    return scaled(gradients, largest, length(gradients) ** 2)


@clip_gradients.misconception(
    means="You compared the norm with `largest`, but divided by its square.",
    nudge="By what must a norm be multiplied so that it becomes `largest`?",
)
def divided_by_the_square(gradients, largest):
    norm = length(gradients)
    return [g * (largest / norm**2) for g in gradients] if norm > largest else [g.copy() for g in gradients]


@clip_gradients.misconception(
    means="You divided by the root of the norm: one root too many.",
    nudge="By what must a norm be multiplied so that it becomes `largest`?",
)
def a_root_too_many(gradients, largest):
    return scaled(gradients, largest, length(gradients) ** 0.5)


@clip_gradients.misconception(
    means="You added up absolute values; a norm is the root of the sum of squares.",
    nudge="How long is an arrow that goes 3 to the right and 4 up?",
)
def absolute_values(gradients, largest):
    return scaled(gradients, largest, sum(float(np.abs(g).sum()) for g in gradients))


@clip_gradients.misconception(
    means="You took the largest number for the norm.",
    nudge="How long is an arrow that goes 3 to the right and 4 up?",
)
def largest_number(gradients, largest):
    return scaled(gradients, largest, max(float(np.abs(g).max()) for g in gradients))


@clip_gradients.misconception(
    means="You took the root of the *mean* of all squares; a norm has their sum.",
    nudge="How long is an arrow that goes 3 to the right and 4 up?",
)
def mean_of_squares(gradients, largest):
    return scaled(gradients, largest, length(gradients) / sum(g.size for g in gradients) ** 0.5)


@clip_gradients.misconception(
    means="You added up the numbers and squared the sum; each is squared first.",
    nudge="Can the norm of (3, −3) be 0?",
)
def summed_before_squaring(gradients, largest):
    return scaled(gradients, largest, abs(sum(float(g.sum()) for g in gradients)))


# Mistakes about when the gradients are scaled, and by which factor.


@clip_gradients.misconception(
    means="You always multiply, so that small gradients are made larger; small gradients must stay as they are.",
    nudge="What should happen to gradients with a small enough norm?",
)
def always_scaled(gradients, largest):
    norm = length(gradients)
    with np.errstate(all="ignore"):
        return [g * np.float64(largest / norm if norm else 1.0) for g in gradients]


@clip_gradients.misconception(
    means="You always multiply, so that small gradients are made larger, and gradients of 0 are divided by 0.",
    nudge="What should happen to gradients with a small enough norm, and to gradients of norm 0?",
)
def always_scaled_and_zero_divided(gradients, largest):
    with np.errstate(all="ignore"):
        return [g * (np.float64(largest) / np.float64(length(gradients))) for g in gradients]


@clip_gradients.misconception(
    means="The factor is upside down: gradients whose norm is too large become larger.",
    nudge="By what must a norm be multiplied so that it becomes `largest`?",
)
def factor_upside_down(gradients, largest):
    norm = length(gradients)
    return [g * (norm / largest) for g in gradients] if norm > largest else [g.copy() for g in gradients]


@clip_gradients.misconception(
    means="You change the gradients with a small norm, and leave those with a large norm.",
    nudge="Which way does your comparison point?",
)
def the_short_ones(gradients, largest):
    norm = length(gradients)
    if norm == 0 or norm > largest:
        return [g.copy() for g in gradients]
    return [g * (largest / norm) for g in gradients]


@clip_gradients.misconception(
    means="The factor is squared: you multiplied by largest² / norm².",
    nudge="By what must a norm be multiplied so that it becomes `largest`?",
)
def factor_squared(gradients, largest):
    norm = length(gradients)
    return [g * (largest / norm) ** 2 for g in gradients] if norm > largest else [g.copy() for g in gradients]


@clip_gradients.misconception(
    means="Only the first array is multiplied; all arrays get the same factor.",
    nudge="For which of the arrays does your function use the factor?",
)
def only_the_first_shortened(gradients, largest):
    return [scaled(gradients, largest, length(gradients))[0], *(g.copy() for g in gradients[1:])]


@clip_gradients.misconception(
    means="Gradients with too large a norm get norm 1, whatever `largest` is.",
    nudge="Where does your function use `largest`, other than in the comparison?",
)
def to_length_1(gradients, largest):
    norm = length(gradients)
    return [g / norm for g in gradients] if norm > largest else [g.copy() for g in gradients]


@clip_gradients.misconception(
    means="You subtracted what is too much from every number; all are to be multiplied by one factor.",
    nudge="Of (3, 4), at most 1: do (−1, 0) still point the same way?",
)
def too_much_subtracted(gradients, largest):
    norm = length(gradients)
    return [g - (norm - largest) for g in gradients] if norm > largest else [g.copy() for g in gradients]


@clip_gradients.misconception(
    means="If the norm of all gradients together is too large, you multiply only the arrays whose own norm is too large.",
    nudge="Does your function compute a norm for each array, or one norm for all of them together?",
)
def the_long_arrays_only(gradients, largest):
    factor = largest / max(length(gradients), largest)
    return [g * (factor if length([g]) > largest else 1.0) for g in gradients]


@clip_gradients.misconception(
    means="The root stretches too far: over `largest` as well, or over the whole factor.",
    nudge="Which of the two is the sum of squares, `largest` or what it is compared with?",
)
def root_over_the_factor(gradients, largest):
    squares = length(gradients) ** 2
    return [g * (largest / squares) ** 0.5 if squares > largest else g.copy() for g in gradients]


@clip_gradients.misconception(
    means="You add a small number to the norm before you divide, as some libraries do; here the factor must be exact.",
    nudge="When can the norm be 0, and does your function divide by it then?",
)
def a_little_added_to_the_length(gradients, largest):
    return [g * min(1.0, largest / (length(gradients) + 1e-6)) for g in gradients]


@clip_gradients.misconception(
    means="Gradients with too large a norm are divided by `largest`, whatever their norm is.",
    nudge="By what must a norm be multiplied so that it becomes `largest`?",
)
def divided_by_largest(gradients, largest):
    return [g / largest for g in gradients] if length(gradients) > largest else [g.copy() for g in gradients]


@clip_gradients.misconception(
    means="Gradients with too large a norm are multiplied by `largest`, whatever their norm is.",
    nudge="By what must a norm be multiplied so that it becomes `largest`?",
)
def times_largest(gradients, largest):
    return [g * largest for g in gradients] if length(gradients) > largest else [g.copy() for g in gradients]


@clip_gradients.misconception(
    means="Gradients with too large a norm are thrown away; their direction is still useful.",
    nudge="What is left of (3, 4), if its norm may be 1 at most?",
)
def thrown_away(gradients, largest):
    return (
        [np.zeros_like(g) for g in gradients]
        if length(gradients) > largest
        else [g.copy() for g in gradients]
    )


@clip_gradients.misconception(
    means="Nothing is ever changed.", nudge="What becomes of (3, 4), if its norm may be 1 at most?"
)
def never_clipped(gradients, largest):
    return [g.copy() for g in gradients]


@clip_gradients.misconception(
    means="Gradients of norm 0 are divided by 0.",
    nudge="What should happen to gradients with a small enough norm, and to gradients of norm 0?",
)
def zero_divided(gradients, largest):
    with np.errstate(all="ignore"):
        factor = np.minimum(np.float64(1.0), np.float64(largest) / np.float64(length(gradients)))
        return [g * factor if length(gradients) else g / np.float64(0) for g in gradients]


@clip_gradients.misconception(
    means="You joined all gradients into one array; a list with an array for each parameter is expected.",
    nudge="How does the next step know which numbers belong to which parameter?",
)
def strung_together(gradients, largest):
    return np.concatenate([g.ravel() for g in scaled(gradients, largest, length(gradients))])


@clip_gradients.misconception(
    means="You returned the norm, not the gradients.", nudge="What does the docstring promise?"
)
def the_length(gradients, largest):
    return length(gradients)


@clip_gradients.common_mistake
def modifies_argument(gradients, largest):
    norm = length(gradients)
    if norm > largest:
        for g in gradients:
            g *= largest / norm
    return gradients


# Other right answers, which must pass.


@clip_gradients.variant
def with_a_minimum(gradients, largest):
    norm = np.linalg.norm([np.linalg.norm(g) for g in gradients])
    factor = min(1.0, largest / (norm + 1e-300))
    return [factor * g for g in gradients]


@clip_gradients.variant
def strung_together_first(gradients, largest):
    norm = np.linalg.norm(np.concatenate([g.ravel() for g in gradients]))
    return [g / max(norm / largest, 1.0) for g in gradients]


@clip_gradients.variant
def the_same_list(gradients, largest):
    total = 0.0
    for g in gradients:
        total += (g * g).sum()
    if total <= largest * largest:
        return gradients
    return list(map(lambda g: g * largest / total**0.5, gradients))  # noqa: C417
