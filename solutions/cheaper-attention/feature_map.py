"""The exercise `feature_map`: elu(x) + 1, which makes every number positive."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import phi

feature_map = Exercise("feature_map", points=2)


@feature_map.domain(
    sizes={"L": (1, 60), "d": (1, 60)},
    flags={"shape": ("(L, d)", "(d,)", "(batch, L, d)")},
    magnitudes=(1.0, 1000.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, L, d, shape, magnitude):
    wanted = {"(L, d)": (L, d), "(d,)": (d,), "(batch, L, d)": (3, L, d)}[shape]
    return inputs(magnitude * rng.normal(size=wanted))


@feature_map.case("the numbers -1, 0 and 2")
def example(rng):
    return inputs(np.array([-1.0, 0.0, 2.0]))


@feature_map.case("a matrix, every size different")
def matrix(rng):
    return inputs(rng.normal(size=sizes(rng, 2, low=3)))


@feature_map.case("one vector")
def vector(rng):
    return inputs(2 * rng.normal(size=sizes(rng, 1, low=4)))


@feature_map.case("positive numbers only")
def positive(rng):
    return inputs(rng.uniform(0.1, 4, size=sizes(rng, 2, low=3)))


@feature_map.case("negative numbers only")
def negative(rng):
    return inputs(-rng.uniform(0.1, 4, size=sizes(rng, 2, low=3)))


@feature_map.case("positive numbers below 1")
def below_one(rng):
    return inputs(rng.uniform(0.1, 0.9, size=sizes(rng, 2, low=3)))


@feature_map.case("numbers from -1000 to 1000")
def large(rng):
    return inputs(np.append(rng.uniform(-1000, 1000, size=6), [1000.0, -1000.0]))


# Mistakes.


def safe_exp(x):
    return np.exp(np.minimum(x, 700))


@feature_map.misconception(
    means="The + 1 is missing: this is elu itself, which is negative for negative numbers.",
    nudge="Which values does elu take below 0? What would a negative similarity mean as a weight?",
)
def plain_elu(x):
    return phi(x) - 1


@feature_map.misconception(
    means="The 1 was added twice: elu is e^x − 1 below 0, so elu + 1 is just e^x there, and x + 1 above 0.",
    nudge="What should the feature map of a very negative number be close to?",
)
def one_added_twice(x):
    return phi(x) + 1


@feature_map.misconception(
    means="Above 0 the + 1 is missing: there you return x, not x + 1.",
    nudge="e^0 is 1. Which value should the other branch start from, so that there is no jump at 0?",
)
def no_one_above_zero(x):
    return np.where(x > 0, x, phi(x))


@feature_map.misconception(
    means="Below 0 a 1 too many is added: there the result is e^x alone.",
    nudge="elu(x) is e^x − 1 below 0. What is left of it after adding 1? If you change a copy in two steps: "
    "does the second step catch what the first one has made positive?",
)
def one_added_below_zero(x):
    return np.where(x > 0, phi(x), phi(x) + 1)


@feature_map.misconception(
    means="Below 0 you return e^x − 1, so the + 1 is added above 0 only.",
    nudge="elu(x) is e^x − 1 below 0. What is left of it after adding 1?",
)
def one_missing_below_zero(x):
    return np.where(x > 0, phi(x), phi(x) - 1)


@feature_map.misconception(
    means="You took the exponential everywhere; above 0 the map is the straight line x + 1.",
    nudge="The definition has two branches. Which of them holds for x = 2?",
)
def exponential_everywhere(x):
    return safe_exp(x)


@feature_map.misconception(
    means="You returned x + 1 everywhere; below 0 the map is e^x, which never becomes negative.",
    nudge="What is your result for x = −3? May a feature be negative here?",
)
def line_everywhere(x):
    return x + 1


@feature_map.misconception(
    means="The two branches are exchanged: e^x above 0 and x + 1 below.",
    nudge="In `np.where(condition, a, b)`, which of a and b is taken where the condition is true?",
)
def branches_exchanged(x):
    return np.where(x > 0, safe_exp(x), x + 1)


@feature_map.misconception(
    means="This is relu: everything below 0 becomes 0.",
    nudge="Which function is elu below 0? A key whose features are all 0 could never be found.",
)
def relu(x):
    return np.maximum(x, 0)


@feature_map.misconception(
    means="This is relu(x) + 1: below 0 it is always 1, where e^x should fall towards 0.",
    nudge="Which function is elu below 0?",
)
def relu_plus_one(x):
    return np.maximum(x, 0) + 1


@feature_map.misconception(
    means="This is softplus, ln(1 + e^x): also smooth and positive, but another function.",
    nudge="The value at 0 should be exactly 1. What is softplus there?",
)
def softplus(x):
    return np.logaddexp(0, x)


@feature_map.misconception(
    means="This is the absolute value plus 1: large negative numbers should come close to 0, not far from it.",
    nudge="What does e^x do as x falls?",
)
def absolute_plus_one(x):
    return np.abs(x) + 1


@feature_map.misconception(
    means="The sign in the exponent is wrong: e^(−x) grows as x falls.",
    nudge="Which exponential is small for very negative x, e^x or e^(−x)?",
)
def sign_in_the_exponent(x):
    return np.where(x > 0, x + 1, safe_exp(-np.minimum(x, 0)))


@feature_map.misconception(
    means="The branches change at 1 instead of at 0.",
    nudge="Which comparison decides between x + 1 and e^x, x > 0 or x > 1?",
)
def changes_at_one(x):
    return np.where(x > 1, x + 1, safe_exp(x))


@feature_map.misconception(
    means="This is a softmax: each number depends on the others. The feature map treats every number alone.",
    nudge="May the result for one number change when its neighbour changes?",
)
def a_softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@feature_map.misconception(
    means="This is the sigmoid, 1 / (1 + e^(−x)), which never exceeds 1.",
    nudge="Above 0 the map is a straight line. How large should it be for x = 2?",
)
def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


@feature_map.misconception(
    means="`if` looked at the array as a whole: one branch was taken for all numbers.",
    nudge="Each number needs a decision of its own. Which NumPy function chooses for each element?",
)
def one_branch_for_all(x):
    return x + 1 if x.max() > 0 else np.exp(x)


@feature_map.misconception(
    means="An array has no single truth value: `if x > 0` cannot decide for all its numbers at once.",
    nudge="Which NumPy function chooses between two values for each element?",
    raises=ValueError,
)
def if_of_an_array(x):
    return x + 1 if x > 0 else np.exp(x)


@feature_map.misconception(
    means="Above 0 the result is always 1: the straight line x + 1 is missing.",
    nudge="Below 0 yours is right. What should the map give for x = 2?",
)
def one_above_zero(x):
    return np.exp(np.minimum(x, 0))


@feature_map.misconception(
    means="Above 0 the exponential is added to x; the two branches exclude each other.",
    nudge="For x = 2, which of x + 1 and e^x should come out? Only one of them counts.",
)
def sum_of_both_branches(x):
    return np.maximum(x, 0) + safe_exp(x)


@feature_map.misconception(
    means="The straight line x + 1 was cut off at 0; below 0 the map is e^x, which never reaches 0.",
    nudge="What is your result for x = −2, and what is e^(−2)?",
)
def line_cut_off_at_zero(x):
    return np.maximum(x + 1, 0)


@feature_map.common_mistake
def extra_axis(x):
    return phi(x)[None]


@feature_map.common_mistake
def returns_nothing(x):
    return None


# Other right answers, which must pass.


@feature_map.variant
def both_branches_computed(x):
    with np.errstate(over="ignore"):
        return np.where(x > 0, x + 1, np.exp(x))


@feature_map.variant
def as_a_sum(x):
    return np.maximum(x, 0) + np.exp(np.minimum(x, 0))


@feature_map.variant
def with_a_mask(x):
    result = x + 1
    below = x <= 0
    result[below] = np.exp(x[below])
    return result


@feature_map.variant
def elu_first(x):
    elu = np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)
    return elu + 1
