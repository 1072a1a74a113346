"""The exercise `feed_forward`: wider, bent, narrow again, each word by itself."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import gelu, gelu_exact

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


@feed_forward.slips("""
    no_bend: There is nothing between the two products: two linear steps in a row are only one.
        Hint: Where does GELU come in?
    relu_for_gelu: You used ReLU, which cuts negative numbers off sharply; here the smooth GELU is asked
        for.
        Hint: The formula of GELU stands above the exercise.
    exact_gelu: You used GELU with the error function erf; this model was trained with the tanh form,
        which differs a little.
        Hint: In the formula above the exercise, which function is taken of z + 0.044715 z³?
    sigmoid_gelu: You used z · sigmoid(1.702 z), a rougher approximation of GELU.
        Hint: Two approximations of GELU are in use. Which one stands above the exercise?
    silu: You used z · sigmoid(z), which is called SiLU or Swish, in place of GELU.
        Hint: The formula of GELU stands above the exercise.
    tanh_alone: You used tanh alone; in GELU it is only a part. Hint: What is 1 + tanh(…) multiplied by?
    no_half: The factor ½ of GELU is missing, so a large number comes out doubled.
        Hint: For a large z, tanh(…) is nearly 1. What should GELU of it be?
    no_factor_z: The factor z of GELU is missing: ½ (1 + tanh(…)) alone lies between 0 and 1.
        Hint: For a large z, what should GELU of it be?
    no_one: The 1 before the tanh is missing. Hint: What should GELU of a large negative number be?
    square_for_cube: Inside the tanh there is a square where the formula has a cube.
        Hint: Compare the power of z beside 0.044715.
    no_root_of_two_over_pi: Inside the tanh the factor is 2/π instead of its root.
        Hint: How far does the root in the formula reach?
    brackets_lost: Inside the tanh the root of 2/π reaches z only, and not its cube.
        Hint: Where do the brackets stand around z + 0.044715 z³?
    another_constant: The number in GELU has a slip: it is 0.044715. Hint: Count the zeros.
    bent_twice: GELU comes at the end, too; the last step is a plain product and a bias.
        Hint: May the result be negative? GELU hardly lets it.
    bent_at_the_end: GELU comes after the second product instead of between the two.
        Hint: Which numbers are bent: the d of the result, or the h of the hidden layer?
    bent_at_the_start: GELU is used on x, before the first product.
        Hint: Which numbers are bent: the d of x, or the h of the hidden layer?
    no_biases: Neither of the biases comes in. Hint: What is added after each of the two products?
    no_first_bias: The first bias, b_1, is missing.
        Hint: What is added after the first product, before GELU?
    no_second_bias: The second bias, b_2, is missing. Hint: What is added after the second product?
    first_bias_late: The first bias is added after GELU instead of before it.
        Hint: In the formula, does b_1 stand inside GELU's brackets?
    residual_added: You added x to the result. That is the residual connection; it comes in the block,
        not here.
        Hint: What does the formula of this exercise end with?
    tables_exchanged: The tables have changed places: w_2 came first.
        Hint: Which table has d rows, so that x can be multiplied by it?
    tables_turned: You transposed w_1 and w_2. w_1 already has shape (d, h), so `x @ w_1` fits.
        Hint: (…, d) times (d, h): does anything have to be turned?
    never_back: You returned the h numbers of the hidden layer; the product with the second matrix is
        missing.
        Hint: The result has the shape of x. Which product leads back to it?
    root_of_the_2_only: Inside the tanh the root reaches the 2 only: √2 / π in place of √(2 / π).
        Hint: How far does the root in the formula reach?
    root_of_pi_only: Inside the tanh the root reaches π only: 2 / √π in place of √(2 / π).
        Hint: How far does the root in the formula reach?
    fraction_upside_down: Inside the tanh the fraction below the root is upside down: √(π / 2) in place
        of √(2 / π).
        Hint: Which of the two numbers stands above the fraction line?
    no_factor_in_the_tanh: Inside the tanh the factor √(2 / π) is missing.
        Hint: What is z + 0.044715 z³ multiplied by?
    no_cube: The part with the cube is missing inside the tanh: there is only √(2 / π) z.
        Hint: What is added to z before it is multiplied by √(2 / π)?
    lower_precision
    returns_a_list
    root_of_two_pi: Inside the tanh you have √(2π). Expected is the root of 2 / π.
        Hint: Is it 2 times π or 2 divided by π?
""")
def feed_forward_with_slips(slip, x, w_1, b_1, w_2, b_2):
    if slip.tables_exchanged:
        w_1, w_2 = w_2, w_1
    if slip.tables_turned:
        w_1, w_2 = w_1.T, w_2.T
    if slip.no_first_bias or slip.no_biases:
        b_1 = 0
    if slip.no_second_bias or slip.no_biases:
        b_2 = 0
    z = slip.choose(x, bent_at_the_start=gelu(x)) @ w_1 + slip.choose(b_1, first_bias_late=0)
    factor = slip.choose(
        math.sqrt(2 / math.pi),
        no_root_of_two_over_pi=2 / math.pi,
        root_of_the_2_only=math.sqrt(2) / math.pi,
        root_of_pi_only=2 / math.sqrt(math.pi),
        fraction_upside_down=math.sqrt(math.pi / 2),
        no_factor_in_the_tanh=1.0,
        root_of_two_pi=math.sqrt(2 * math.pi),
    )
    constant = slip.choose(0.044715, another_constant=0.44715, no_cube=0.0)
    cube = slip.choose(z**3, square_for_cube=z**2)
    t = np.tanh(factor * (z + constant * cube))
    if slip.brackets_lost:
        t = np.tanh(factor * z + constant * cube)
    bent = slip.choose(
        0.5 * z * (1 + t),
        no_bend=z,
        bent_at_the_start=z,
        bent_at_the_end=z,
        relu_for_gelu=np.maximum(z, 0),
        tanh_alone=np.tanh(z),
        no_half=z * (1 + t),
        no_factor_z=0.5 * (1 + t),
        no_one=0.5 * z * t,
    )
    if slip.exact_gelu:
        bent = gelu_exact(z)
    if slip.sigmoid_gelu:
        bent = z / (1 + np.exp(-1.702 * z))
    if slip.silu:
        bent = z / (1 + np.exp(-z))
    if slip.first_bias_late:
        bent = bent + b_1
    if slip.never_back:
        return bent
    result = bent @ w_2 + b_2
    if slip.bent_twice or slip.bent_at_the_end:
        result = gelu(result)
    if slip.residual_added:
        result = x + result
    if slip.returns_a_list:
        return result.tolist()
    return slip.choose(result, lower_precision=result.astype(np.float32))


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
