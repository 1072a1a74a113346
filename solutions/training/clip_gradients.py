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


@clip_gradients.slips("""
    each_by_itself: You clip each array separately, so the direction of the whole gradient changes.
        Hint: How many factors are there, and how many should there be?
    each_number_cut_off: Each number is cut off at ± `largest`; all are to be multiplied by one factor,
        so that the direction stays.
        Hint: With at most 1, (3, 4) becomes (1, 1). Does that point in the same direction?
    lengths_added: You added up the norms of the arrays; their squares are added, and the root is taken
        once.
        Hint: How long is an arrow that goes 3 to the right and 4 up?
    the_longest_array: You took the norm of the array with the largest norm for that of all.
        Hint: How long is an arrow that goes 3 to the right and 4 up?
    only_the_last_array: Only the last array counts for the norm: in your loop the sum is replaced, not
        added to.
        Hint: In your loop, is it `=` or `+=`?
    only_the_first_array: Only the first array counts for the norm. Hint: Whose squares are added up?
    mean_of_the_lengths: You took the mean of the norms; all squares together are one norm.
        Hint: How long is an arrow that goes 3 to the right and 4 up?
    no_root: The root is missing: you compared the sum of the squares with `largest`.
        Hint: How long is an arrow that goes 3 to the right and 4 up?
    divided_by_the_square: You compared the norm with `largest`, but divided by its square.
        Hint: By what must a norm be multiplied so that it becomes `largest`?
    a_root_too_many: You divided by the root of the norm: one root too many.
        Hint: By what must a norm be multiplied so that it becomes `largest`?
    absolute_values: You added up absolute values; a norm is the root of the sum of squares.
        Hint: How long is an arrow that goes 3 to the right and 4 up?
    largest_number: You took the largest number for the norm.
        Hint: How long is an arrow that goes 3 to the right and 4 up?
    largest_singular_value: `np.linalg.norm(matrix, 2)` is the largest singular value, not the root
        of the sum of the squares.
        Hint: What does the documentation say of `ord=2` for a matrix?
    mean_of_squares: You took the root of the *mean* of all squares; a norm has their sum.
        Hint: How long is an arrow that goes 3 to the right and 4 up?
    summed_before_squaring: You added up the numbers and squared the sum; each is squared first.
        Hint: Can the norm of (3, −3) be 0?
    always_scaled: You always multiply, so that small gradients are made larger; small gradients must
        stay as they are.
        Hint: What should happen to gradients with a small enough norm?
    always_scaled_and_zero_divided: You always multiply, so that small gradients are made larger, and
        gradients of 0 are divided by 0.
        Hint: What should happen to gradients with a small enough norm, and to gradients of norm 0?
    factor_upside_down: The factor is upside down: gradients whose norm is too large become larger.
        Hint: By what must a norm be multiplied so that it becomes `largest`?
    the_short_ones: You change the gradients with a small norm, and leave those with a large norm.
        Hint: Which way does your comparison point?
    factor_squared: The factor is squared: you multiplied by largest² / norm².
        Hint: By what must a norm be multiplied so that it becomes `largest`?
    a_factor_for_each_array: If the norm of all gradients together is too large, each array gets a
        factor from its own norm; all arrays get the same factor.
        Hint: With at most 1, gradients 3 and 4 become 1 and 1. Is that the same direction?
    only_the_first_shortened: Only the first array is multiplied; all arrays get the same factor.
        Hint: For which of the arrays does your function use the factor?
    to_length_1: Gradients with too large a norm get norm 1, whatever `largest` is.
        Hint: Where does your function use `largest`, other than in the comparison?
    too_much_subtracted: You subtracted what is too much from every number; all are to be multiplied by
        one factor.
        Hint: Of (3, 4), at most 1: do (−1, 0) still point the same way?
    the_long_arrays_only: If the norm of all gradients together is too large, you multiply only the
        arrays whose own norm is too large.
        Hint: Does your function compute a norm for each array, or one norm for all of them together?
    root_over_the_factor: The root stretches too far: over `largest` as well, or over the whole factor.
        Hint: Which of the two is the sum of squares, `largest` or what it is compared with?
    a_little_added_to_the_length: You add a small number to the norm before you divide, as some libraries
        do; here the factor must be exact.
        Hint: When can the norm be 0, and does your function divide by it then?
    divided_by_largest: Gradients with too large a norm are divided by `largest`, whatever their norm is.
        Hint: By what must a norm be multiplied so that it becomes `largest`?
    times_largest: Gradients with too large a norm are multiplied by `largest`, whatever their norm is.
        Hint: By what must a norm be multiplied so that it becomes `largest`?
    thrown_away: Gradients with too large a norm are thrown away; their direction is still useful.
        Hint: What is left of (3, 4), if its norm may be 1 at most?
    never_clipped: Nothing is ever changed. Hint: What becomes of (3, 4), if its norm may be 1 at most?
    zero_divided: Gradients of norm 0 are divided by 0.
        Hint: What should happen to gradients with a small enough norm, and to gradients of norm 0?
    strung_together: You joined all gradients into one array; a list with an array for each parameter is
        expected.
        Hint: How does the next step know which numbers belong to which parameter?
    the_length: You returned the norm, not the gradients. Hint: What does the docstring promise?
    modifies_argument
""")
def clip_gradients_with_slips(slip, gradients, largest):
    lengths = [length([g]) for g in gradients]
    norm = length(gradients)
    if slip.each_by_itself:
        return [g * (largest / max(own, largest)) for g, own in zip(gradients, lengths)]
    if slip.each_number_cut_off:
        return [np.clip(g, -largest, largest) for g in gradients]
    if slip.the_length:
        return norm
    norm = slip.choose(
        norm,
        lengths_added=sum(lengths),
        the_longest_array=max(lengths),
        only_the_last_array=lengths[-1],
        only_the_first_array=lengths[0],
        mean_of_the_lengths=sum(lengths) / len(lengths),
        no_root=norm**2,
        root_over_the_factor=norm**2,
        a_root_too_many=norm**0.5,
        absolute_values=sum(float(np.abs(g).sum()) for g in gradients),
        largest_number=max(float(np.abs(g).max()) for g in gradients),
        mean_of_squares=norm / sum(g.size for g in gradients) ** 0.5,
        summed_before_squaring=abs(sum(float(g.sum()) for g in gradients)),
        a_little_added_to_the_length=norm + 1e-6,
    )
    if slip.largest_singular_value:
        norm = sum(np.linalg.norm(g, 2) ** 2 for g in gradients) ** 0.5
    too_long = norm > largest
    if slip.the_short_ones:
        too_long = 0 < norm <= largest
    if slip.always_scaled:
        norm, too_long = np.float64(norm), norm > 0  # divides by 0 without an error
    if slip.always_scaled_and_zero_divided:
        norm, too_long = np.float64(norm), True
    if slip.zero_divided:
        norm, too_long = np.float64(norm), norm > largest or norm == 0
    if slip.never_clipped:
        too_long = False
    factor = 1.0
    if too_long:
        factor = largest / norm
        if slip.root_over_the_factor:
            factor = factor**0.5
        factor = slip.choose(
            factor,
            divided_by_the_square=factor / norm,
            factor_upside_down=norm / largest,
            factor_squared=factor**2,
            to_length_1=1 / norm,
            divided_by_largest=1 / largest,
            times_largest=largest,
            thrown_away=0.0,
        )
    result = [g * factor for g in gradients]
    if slip.too_much_subtracted and too_long:
        result = [g - (norm - largest) for g in gradients]
    if slip.only_the_first_shortened:
        result[1:] = [g.copy() for g in gradients[1:]]
    if slip.the_long_arrays_only:
        result = [g * (factor if own > largest else 1.0) for g, own in zip(gradients, lengths)]
    if slip.a_factor_for_each_array and too_long:
        result = [g * (largest / own) for g, own in zip(gradients, lengths)]
    if slip.modifies_argument:
        for g in gradients:
            g *= factor
        return gradients
    if slip.strung_together:
        return np.concatenate([g.ravel() for g in result])
    return result


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
