"""The exercise `feed_forward`: wider, bent, narrow again, each word by itself."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import feed, gelu, gelu_exact, relu

feed_forward = Exercise("feed_forward", points=2)


def given(rng, shape, hidden, magnitude=1.0):
    d = shape[-1]
    return inputs(
        magnitude * rng.normal(size=shape),
        rng.normal(size=(d, hidden)) / math.sqrt(d),
        rng.normal(size=hidden),
        rng.normal(size=(hidden, d)) / math.sqrt(hidden),
        rng.normal(size=d),
    )


@feed_forward.domain(
    sizes={"batch": (1, 60), "L": (1, 60), "d": (1, 60), "h": (1, 60)},
    flags={"axes": (3, 2, 1)},
    magnitudes=(1.0, 100.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, d, h, axes, magnitude):
    return given(rng, (batch, L, d)[3 - axes :], h, magnitude)


@feed_forward.case("the notebook's example: one token, d = 2, h = 3")
def example(rng):
    w_1 = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, -1.0]])
    w_2 = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return inputs(np.array([1.0, -1.0]), w_1, np.zeros(3), w_2, np.zeros(2))


@feed_forward.case("a sentence (L, d)")
def sentence(rng):
    length, d, hidden = sizes(rng, 3, 3)
    return given(rng, (length, d), hidden)


@feed_forward.case("sentences (batch, L, d)")
def sentences(rng):
    *shape, hidden = sizes(rng, 4, 3)
    return given(rng, shape, hidden)


@feed_forward.case("L = d = h")
def square(rng):
    size = int(rng.integers(3, 7))
    return given(rng, (size, size), size)


@feed_forward.case("h < d")
def narrow(rng):
    hidden, length, d = sorted(sizes(rng, 3))
    return given(rng, (length, d), hidden)


@feed_forward.case("larger numbers")
def larger(rng):
    *shape, hidden = sizes(rng, 3, 3)
    return given(rng, shape, hidden, 3.0)


# The bend.


@feed_forward.misconception(
    means="There is nothing between the two products: two linear steps in a row are only one.",
    nudge="Where does GELU come in?",
)
def no_bend(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, lambda z: z)


@feed_forward.misconception(
    means="You used ReLU, which cuts negative numbers off sharply; here the smooth GELU is asked for.",
    nudge="The formula of GELU stands above the exercise.",
)
def relu_for_gelu(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, relu)


@feed_forward.misconception(
    means="You used GELU with the error function erf; this model was trained with the tanh form, "
    "which differs a little.",
    nudge="In the formula above the exercise, which function is taken of z + 0.044715 z³?",
)
def exact_gelu(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, gelu_exact)


@feed_forward.misconception(
    means="You used z · sigmoid(1.702 z), a rougher approximation of GELU.",
    nudge="Two approximations of GELU are in use. Which one stands above the exercise?",
)
def sigmoid_gelu(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, lambda z: z / (1 + np.exp(-1.702 * z)))


@feed_forward.misconception(
    means="You used z · sigmoid(z), which is called SiLU or Swish, in place of GELU.",
    nudge="The formula of GELU stands above the exercise.",
)
def silu(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, lambda z: z / (1 + np.exp(-z)))


@feed_forward.misconception(
    means="You used tanh alone; in GELU it is only a part.",
    nudge="What is 1 + tanh(…) multiplied by?",
)
def tanh_alone(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, np.tanh)


@feed_forward.misconception(
    means="The factor ½ of GELU is missing, so a large number comes out doubled.",
    nudge="For a large z, tanh(…) is nearly 1. What should GELU of it be?",
)
def no_half(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, lambda z: 2 * gelu(z))


@feed_forward.misconception(
    means="The factor z of GELU is missing: ½ (1 + tanh(…)) alone lies between 0 and 1.",
    nudge="For a large z, what should GELU of it be?",
)
def no_factor_z(x, w_1, b_1, w_2, b_2):
    def gate(z):
        return 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))

    return feed(x, w_1, b_1, w_2, b_2, gate)


@feed_forward.misconception(
    means="The 1 before the tanh is missing.",
    nudge="What should GELU of a large negative number be?",
)
def no_one(x, w_1, b_1, w_2, b_2):
    def bent(z):
        return 0.5 * z * np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))

    return feed(x, w_1, b_1, w_2, b_2, bent)


@feed_forward.misconception(
    means="Inside the tanh there is a square where the formula has a cube.",
    nudge="Compare the power of z beside 0.044715.",
)
def square_for_cube(x, w_1, b_1, w_2, b_2):
    def bent(z):
        return 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**2)))

    return feed(x, w_1, b_1, w_2, b_2, bent)


@feed_forward.misconception(
    means="Inside the tanh the factor is 2/π instead of its root.",
    nudge="How far does the root in the formula reach?",
)
def no_root_of_two_over_pi(x, w_1, b_1, w_2, b_2):
    def bent(z):
        return 0.5 * z * (1 + np.tanh(2 / math.pi * (z + 0.044715 * z**3)))

    return feed(x, w_1, b_1, w_2, b_2, bent)


@feed_forward.misconception(
    means="Inside the tanh the root of 2/π reaches z only, and not its cube.",
    nudge="Where do the brackets stand around z + 0.044715 z³?",
)
def brackets_lost(x, w_1, b_1, w_2, b_2):
    def bent(z):
        return 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * z + 0.044715 * z**3))

    return feed(x, w_1, b_1, w_2, b_2, bent)


@feed_forward.misconception(
    means="The number in GELU has a slip: it is 0.044715.",
    nudge="Count the zeros.",
)
def another_constant(x, w_1, b_1, w_2, b_2):
    def bent(z):
        return 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.44715 * z**3)))

    return feed(x, w_1, b_1, w_2, b_2, bent)


@feed_forward.misconception(
    means="GELU comes at the end, too; the last step is a plain product and a bias.",
    nudge="May the result be negative? GELU hardly lets it.",
)
def bent_twice(x, w_1, b_1, w_2, b_2):
    return gelu(feed(x, w_1, b_1, w_2, b_2))


@feed_forward.misconception(
    means="GELU comes after the second product instead of between the two.",
    nudge="Which numbers are bent: the d of the result, or the h of the hidden layer?",
)
def bent_at_the_end(x, w_1, b_1, w_2, b_2):
    return gelu(feed(x, w_1, b_1, w_2, b_2, lambda z: z))


@feed_forward.misconception(
    means="GELU is used on x, before the first product.",
    nudge="Which numbers are bent: the d of x, or the h of the hidden layer?",
)
def bent_at_the_start(x, w_1, b_1, w_2, b_2):
    return feed(gelu(x), w_1, b_1, w_2, b_2, lambda z: z)


# Biases, order, residual.


@feed_forward.misconception(
    means="Neither of the biases comes in.", nudge="What is added after each of the two products?"
)
def no_biases(x, w_1, b_1, w_2, b_2):
    return gelu(x @ w_1) @ w_2


@feed_forward.misconception(
    means="The first bias, b_1, is missing.", nudge="What is added after the first product, before GELU?"
)
def no_first_bias(x, w_1, b_1, w_2, b_2):
    return gelu(x @ w_1) @ w_2 + b_2


@feed_forward.misconception(
    means="The second bias, b_2, is missing.", nudge="What is added after the second product?"
)
def no_second_bias(x, w_1, b_1, w_2, b_2):
    return gelu(x @ w_1 + b_1) @ w_2


@feed_forward.misconception(
    means="The first bias is added after GELU instead of before it.",
    nudge="In the formula, does b_1 stand inside GELU's brackets?",
)
def first_bias_late(x, w_1, b_1, w_2, b_2):
    return (gelu(x @ w_1) + b_1) @ w_2 + b_2


@feed_forward.misconception(
    means="You added x to the result. That is the residual connection; it comes in the block, not here.",
    nudge="What does the formula of this exercise end with?",
)
def residual_added(x, w_1, b_1, w_2, b_2):
    return x + feed(x, w_1, b_1, w_2, b_2)


@feed_forward.misconception(
    means="The tables have changed places: w_2 came first.",
    nudge="Which table has d rows, so that x can be multiplied by it?",
)
def tables_exchanged(x, w_1, b_1, w_2, b_2):
    return feed(x, w_2, b_1, w_1, b_2)


@feed_forward.misconception(
    means="You transposed the tables. They have a row for each number that comes in, so that nothing is turned.",
    nudge="(…, d) times (d, h): does anything have to be turned?",
)
def tables_turned(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1.T, b_1, w_2.T, b_2)


@feed_forward.misconception(
    means="You returned the h numbers of the hidden layer; the product with the second matrix is missing.",
    nudge="The result has the shape of x. Which product leads back to it?",
)
def never_back(x, w_1, b_1, w_2, b_2):
    return gelu(x @ w_1 + b_1)


def with_factor(factor):
    return lambda z: 0.5 * z * (1 + np.tanh(factor * (z + 0.044715 * z**3)))


@feed_forward.misconception(
    means="Inside the tanh the root reaches the 2 only: √2 / π in place of √(2 / π).",
    nudge="How far does the root in the formula reach?",
)
def root_of_the_2_only(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, with_factor(math.sqrt(2) / math.pi))


@feed_forward.misconception(
    means="Inside the tanh the root reaches π only: 2 / √π in place of √(2 / π).",
    nudge="How far does the root in the formula reach?",
)
def root_of_pi_only(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, with_factor(2 / math.sqrt(math.pi)))


@feed_forward.misconception(
    means="Inside the tanh the fraction below the root is upside down: √(π / 2) in place of √(2 / π).",
    nudge="Which of the two numbers stands above the fraction line?",
)
def fraction_upside_down(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, with_factor(math.sqrt(math.pi / 2)))


@feed_forward.misconception(
    means="Inside the tanh the factor √(2 / π) is missing.",
    nudge="What is z + 0.044715 z³ multiplied by?",
)
def no_factor_in_the_tanh(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, with_factor(1.0))


@feed_forward.misconception(
    means="The part with the cube is missing inside the tanh: there is only √(2 / π) z.",
    nudge="What is added to z before it is multiplied by √(2 / π)?",
)
def no_cube(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2, lambda z: 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * z)))


@feed_forward.combined_misconception(first_bias_late, no_second_bias)
def first_late_and_no_second(x, w_1, b_1, w_2, b_2):
    return (gelu(x @ w_1) + b_1) @ w_2


@feed_forward.combined_misconception(relu_for_gelu, no_biases)
def relu_without_biases(x, w_1, b_1, w_2, b_2):
    return relu(x @ w_1) @ w_2


@feed_forward.combined_misconception(relu_for_gelu, no_second_bias)
def relu_without_second_bias(x, w_1, b_1, w_2, b_2):
    return relu(x @ w_1 + b_1) @ w_2


@feed_forward.combined_misconception(relu_for_gelu, no_first_bias)
def relu_without_first_bias(x, w_1, b_1, w_2, b_2):
    return relu(x @ w_1) @ w_2 + b_2


@feed_forward.combined_misconception(relu_for_gelu, residual_added)
def relu_and_residual(x, w_1, b_1, w_2, b_2):
    return x + feed(x, w_1, b_1, w_2, b_2, relu)


@feed_forward.combined_misconception(exact_gelu, no_second_bias)
def exact_without_second_bias(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, 0 * b_2, gelu_exact)


@feed_forward.combined_misconception(no_bend, no_biases)
def neither_bend_nor_biases(x, w_1, b_1, w_2, b_2):
    return x @ w_1 @ w_2


@feed_forward.common_mistake
def lower_precision(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2).astype(np.float32)


@feed_forward.common_mistake
def returns_a_list(x, w_1, b_1, w_2, b_2):
    return feed(x, w_1, b_1, w_2, b_2).tolist()


@feed_forward.misconception(
    means="Inside the tanh you have √(2π). Expected is the root of 2 / π.",
    nudge="Is it 2 times π or 2 divided by π?",
)
def root_of_two_pi(x, w_1, b_1, w_2, b_2):
    return feed(
        x, w_1, b_1, w_2, b_2, lambda z: 0.5 * z * (1 + np.tanh((2 * np.pi) ** 0.5 * (z + 0.044715 * z**3)))
    )


# Other right answers, which must pass.


@feed_forward.variant
def with_einsum(x, w_1, b_1, w_2, b_2):
    z = np.einsum("...d,dh->...h", x, w_1) + b_1
    return np.einsum("...h,hd->...d", gelu(z), w_2) + b_2


@feed_forward.variant
def as_a_sigmoid(x, w_1, b_1, w_2, b_2):
    # ½ (1 + tanh(y)) is the sigmoid of 2y
    z = x @ w_1 + b_1
    y = np.sqrt(8 / np.pi) * (z + 0.044715 * z * z * z)
    with np.errstate(over="ignore"):
        return z / (1 + np.exp(-y)) @ w_2 + b_2


@feed_forward.variant
def word_by_word(x, w_1, b_1, w_2, b_2):
    rows = [w_2.T @ gelu(w_1.T @ row + b_1) + b_2 for row in x.reshape(-1, x.shape[-1])]
    return np.reshape(rows, x.shape)


@feed_forward.variant
def with_power(x, w_1, b_1, w_2, b_2):
    z = np.matmul(x, w_1) + b_1
    z = z * (1 + np.tanh((z + 0.044715 * np.power(z, 3)) * (2 / np.pi) ** 0.5)) / 2
    return np.dot(z, w_2) + b_2
