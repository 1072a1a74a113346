"""The exercise `feature_map`: elu(x) + 1, which makes every number positive."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

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


@feature_map.slips("""
    plain_elu: The + 1 is missing: you computed elu itself, which is negative for negative numbers.
        Hint: Which values does elu take below 0? What would a negative similarity mean as a weight?
    one_added_twice: The 1 was added twice: elu is e^x − 1 below 0, so elu + 1 is just e^x there, and x +
        1 above 0.
        Hint: What should the feature map of a very negative number be close to?
    no_one_above_zero: Above 0 the + 1 is missing: there you return x, not x + 1.
        Hint: e^0 is 1. Which value should the other branch start from, so that there is no jump at 0?
    one_added_below_zero: Below 0 a 1 too many is added: there the result is e^x alone.
        Hint: elu(x) is e^x − 1 below 0. What is left of it after adding 1? If you change a copy in two
        steps: does the second step catch what the first one has made positive?
    one_missing_below_zero: Below 0 you return e^x − 1, so the + 1 is added above 0 only.
        Hint: elu(x) is e^x − 1 below 0. What is left of it after adding 1?
    exponential_everywhere: You took the exponential everywhere; above 0 the map is the straight line x + 1.
        Hint: The definition has two branches. Which of them holds for x = 2?
    line_everywhere: You returned x + 1 everywhere; below 0 the map is e^x, which never becomes negative.
        Hint: What is your result for x = −3? May a feature be negative here?
    branches_exchanged: The two branches are exchanged: e^x above 0 and x + 1 below.
        Hint: In `np.where(condition, a, b)`, which of a and b is taken where the condition is true?
    relu: This is relu: everything below 0 becomes 0.
        Hint: Which function is elu below 0? A key whose features are all 0 could never be found.
    relu_plus_one: You computed relu(x) + 1, which is 1 for every negative x. There it should be
        e^x.
        Hint: Which function is elu below 0?
    softplus: This is softplus, ln(1 + e^x): also smooth and positive, but another function.
        Hint: The value at 0 should be exactly 1. What is softplus there?
    absolute_plus_one: This is the absolute value plus 1: large negative numbers should come close to 0,
        not far from it.
        Hint: What does e^x do as x falls?
    sign_in_the_exponent: The sign in the exponent is wrong: e^(−x) grows as x falls.
        Hint: Which exponential is small for very negative x, e^x or e^(−x)?
    changes_at_one: The branches change at 1 instead of at 0.
        Hint: Which comparison decides between x + 1 and e^x, x > 0 or x > 1?
    a_softmax: This is a softmax: each number depends on the others. The feature map treats every number
        alone.
        Hint: May the result for one number change when its neighbour changes?
    sigmoid: This is the sigmoid, 1 / (1 + e^(−x)), which never exceeds 1.
        Hint: Above 0 the map is a straight line. How large should it be for x = 2?
    one_branch_for_all: `if` looked at the array as a whole: one branch was taken for all numbers.
        Hint: Each number needs a decision of its own. Which NumPy function chooses for each element?
    one_above_zero: Above 0 the result is always 1: the straight line x + 1 is missing.
        Hint: Below 0 yours is right. What should the map give for x = 2?
    sum_of_both_branches: Above 0 the exponential is added to x; the two branches exclude each other.
        Hint: For x = 2, which of x + 1 and e^x should come out? Only one of them counts.
    line_cut_off_at_zero: The straight line x + 1 was cut off at 0; below 0 the map is e^x, which never
        reaches 0.
        Hint: What is your result for x = −2, and what is e^(−2)?
    extra_axis
    returns_nothing
""")
def feature_map_with_slips(slip, x):
    power = np.exp(np.minimum(x, 700))  # larger numbers would overflow
    if slip.sign_in_the_exponent:
        power = np.exp(np.minimum(-x, 700))
    above = slip.choose(
        x + 1,
        no_one_above_zero=x,
        relu=x,
        exponential_everywhere=power,
        branches_exchanged=power,
        one_above_zero=np.ones_like(x),
        sum_of_both_branches=x + power,
    )
    below = slip.choose(
        power,
        one_added_below_zero=power + 1,
        one_missing_below_zero=power - 1,
        line_everywhere=x + 1,
        branches_exchanged=x + 1,
        relu=0 * x,
        relu_plus_one=np.ones_like(x),
        absolute_plus_one=1 - x,
        line_cut_off_at_zero=np.maximum(x + 1, 0),
    )
    is_above = x > slip.choose(0, changes_at_one=1)
    if slip.one_branch_for_all:
        is_above = x.max() > 0
    result = np.where(is_above, above, below)
    if slip.a_softmax:
        powers = np.exp(x - x.max(axis=-1, keepdims=True))
        result = powers / powers.sum(axis=-1, keepdims=True)
    return slip.choose(
        result,
        plain_elu=result - 1,
        one_added_twice=result + 1,
        softplus=np.logaddexp(0, x),
        sigmoid=np.exp(-np.logaddexp(0, -x)),
        extra_axis=result[None],
        returns_nothing=None,
    )


@feature_map.misconception(
    means="An array has no single truth value: `if x > 0` cannot decide for all its numbers at once.",
    nudge="Which NumPy function chooses between two values for each element?",
    raises=ValueError,
)
def if_of_an_array(x):
    return x + 1 if x > 0 else np.exp(x)


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
