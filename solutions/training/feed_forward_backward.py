"""The exercise `feed_forward_backward`: two products, and between them the slope of GELU."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import ROOT, all_but_last, flat, gelu, over_words, slope

feed_forward_backward = Exercise("feed_forward_backward", points=3, tolerance=1e-9)


def given(rng, shape, hidden, magnitude=1.0):
    d = shape[-1]
    return inputs(
        rng.normal(size=shape),
        magnitude * rng.normal(size=shape),
        rng.normal(size=(d, hidden)) / math.sqrt(d),
        rng.normal(size=hidden),
        rng.normal(size=(hidden, d)) / math.sqrt(hidden),
        rng.normal(size=d),
    )


@feed_forward_backward.domain(
    sizes={"batch": (1, 60), "L": (1, 60), "d": (1, 60), "h": (1, 60)},
    flags={"axes": (3, 2, 1)},
    magnitudes=(1.0, 100.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, d, h, axes, magnitude):
    return given(rng, (batch, L, d)[3 - axes :], h, magnitude)


@feed_forward_backward.case("the notebook's example by hand")
def by_hand(rng):
    w_1, w_2 = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    return inputs(np.array([1.0, 0.0]), np.array([0.0, 1.0]), w_1, np.zeros(2), w_2, np.zeros(2))


@feed_forward_backward.case("one word")
def one_word(rng):
    d, hidden = sizes(rng, 2, 3)
    return given(rng, (d,), hidden)


@feed_forward_backward.case("a sentence (L, d)")
def sentence(rng):
    length, d, hidden = sizes(rng, 3, 3)
    return given(rng, (length, d), hidden)


@feed_forward_backward.case("sentences (batch, L, d)")
def sentences(rng):
    *shape, hidden = sizes(rng, 4, 3)
    return given(rng, shape, hidden)


@feed_forward_backward.case("h = d = L: all sizes are equal")
def square(rng):
    size = int(rng.integers(3, 7))
    return given(rng, (size, size), size)


@feed_forward_backward.case("larger numbers")
def larger(rng):
    *shape, hidden = sizes(rng, 3, 3)
    return given(rng, shape, hidden, 3.0)


@feed_forward_backward.slips("""
    no_slope: The slope of GELU is missing: you went back through two products as if nothing stood
        between them.
        Hint: What happens to z between the two products, and what does the chain rule ask for there?
    gelu_for_its_slope: You multiplied by GELU itself; the backward pass needs its derivative.
        Hint: If b = f(z), what is the gradient for z, given that for b?
    slope_of_relu: You used the slope of ReLU, 1 or 0; GELU's is a smooth curve.
        Hint: The formula of the slope is above the exercise.
    relu_and_its_slope: You used ReLU, forwards and backwards; the network's function is GELU.
        Hint: The formulas of GELU and of its slope stand above the exercise.
    only_the_first_half: Your slope is ½ (1 + tanh) only. The second term of the formula is missing:
        the tanh contains z, too.
        Hint: GELU is a product, ½ z times (1 + tanh(…)). What does the product rule say?
    only_the_second_half: Only the second half of the slope is there; the first, ½ (1 + tanh), is
        missing.
        Hint: GELU is a product, ½ z times (1 + tanh(…)). What does the product rule say?
    inner_derivative_forgotten: The argument of the tanh has a derivative, too, and it is missing.
        Hint: u = √(2/π) (z + 0.044715 z³): what is its derivative?
    three_forgotten: The derivative of z³ has lost its 3. Hint: What is the derivative of z³?
    no_root_in_the_inner_derivative: In the derivative of the tanh's argument √(2/π) is missing.
        Hint: u = √(2/π) (z + 0.044715 z³): does a factor in front stay, or go?
    cube_has_no_derivative: The derivative of the tanh's argument lacks the part that comes from z³.
        Hint: u = √(2/π) (z + 0.044715 z³): what is its derivative?
    constant_ten_times_as_large: The constant is 0.044715; yours is ten times as large.
        Hint: Count the zeros behind the point.
    cube_in_the_inner_derivative: The derivative of z³ is written with z³ again; its power goes down by
        one.
        Hint: What is the derivative of z³?
    first_power_in_the_inner_derivative: The derivative of z³ is written with z instead of z².
        Hint: What is the derivative of z³?
    tanh_not_squared: The derivative of tanh is 1 − tanh²; the square is missing.
        Hint: What is the derivative of tanh, said with tanh itself?
    plus_for_minus_in_tanh: You used 1 + tanh² for the derivative of tanh; it is 1 − tanh².
        Hint: tanh is flat where it is near 1 or −1. What must its derivative be there?
    as_for_a_sigmoid: You used tanh (1 − tanh), which belongs to the sigmoid; the derivative of tanh is 1
        − tanh².
        Hint: What is the derivative of tanh, said with tanh itself?
    no_z_in_the_second_half: The factor z of the second half of the slope is missing.
        Hint: By the product rule ½ z stays in front when the tanh is differentiated.
    half_missing_in_the_second_half: The factor ½ is missing in the second half of the slope.
        Hint: GELU is ½ z (1 + tanh(…)): on which halves of the product rule is the ½?
    half_missing_in_the_first_half: The factor ½ is missing in the first half of the slope.
        Hint: GELU is ½ z (1 + tanh(…)): on which halves of the product rule is the ½?
    no_half: The factor ½ of GELU is missing in the whole slope.
        Hint: For large z GELU is z itself. What is the slope there?
    no_one: The 1 before the tanh is missing in the first half of the slope.
        Hint: For large z GELU is z itself. What is the slope there?
    halves_subtracted: The second half of the slope is subtracted; it is added.
        Hint: Which sign is between the two terms of the product rule?
    slope_of_the_exact_gelu: This is the slope of GELU with the error function; the tanh form has
        another, a little different one.
        Hint: Which form of GELU did the way forward use?
    slope_of_the_sigmoid_gelu: This is the slope of z · sigmoid(1.702 z), a rougher approximation of
        GELU.
        Hint: Which form of GELU did the way forward use?
    slope_at_the_gradient: You took the slope of GELU at the upstream gradient; it is taken at z, where
        the way forward was.
        Hint: At which place is a derivative taken: at what went in, or at what comes back?
    slope_at_the_result: You took the slope of GELU at GELU(z); it is taken at z.
        Hint: What is the argument of GELU in the forward pass?
    no_slope_for_x: You used the slope of GELU for w_1 and b_1, but not for x.
        Hint: Which gradient goes on through the first product: that for z, or that for what became of z?
    no_slope_for_the_first_table: You used the slope of GELU for x, but not for w_1 and b_1.
        Hint: w_1 and b_1 made z. Which gradient do theirs come from?
    no_slope_for_w_1: The gradient for w_1 lacks the slope of GELU.
        Hint: w_1 made z. Which gradient does its own come from: that for z, or that for what became of
        z?
    no_slope_for_the_first_bias: The gradient for b_1 lacks the slope of GELU.
        Hint: b_1 is added before GELU. Which gradient is added up for it?
    z_for_the_second_table: For w_2 you used z; the second product was made with GELU(z).
        Hint: Each factor's gradient is made with the other factor. What was multiplied by w_2?
    slope_for_the_second_table: For w_2 you used the slope of GELU; the second product was made with
        GELU(z) itself.
        Hint: Each factor's gradient is made with the other factor. What was multiplied by w_2?
    tanh_for_the_second_table: For w_2 you used the tanh; the second product was made with all of
        GELU(z), ½ z (1 + tanh).
        Hint: Each factor's gradient is made with the other factor. What was multiplied by w_2?
    biases_over_the_numbers: You summed the gradients of the biases over the numbers of each token; sum
        over the tokens.
        Hint: Which shape does a bias have, and which axis must stay?
    first_bias_not_in_z: b_1 is missing in z.
        Hint: At which z was the way forward bent? Is everything in it?
    residual_added: You added the upstream gradient to that of x. That is the residual connection; it
        belongs to the block.
        Hint: Does the forward pass of this function contain a residual connection?
    means_over_the_words: You took means over the tokens. Every token uses the same matrices, so their
        gradients are summed.
        Hint: A number that is used in many places gets a gradient from each. How are they put together?
    means_for_the_biases: You took means over the words for the biases; their gradients are added.
        Hint: A number that is used in many places gets a gradient from each. How are they put together?
    biases_along_axis_0: The gradients for the biases are added up along axis 0 only.
        Hint: How many axes can x have, and which of them must be gone?
    biases_not_added_up: The gradients for the biases are not added up over the words.
        Hint: Which shape does a bias have, and which shape must its gradient have?
    tables_not_added_up: You did not sum the gradients of the weight matrices over the texts of the
        batch.
        Hint: Which shape does w_1 have, and which shape must its gradient have?
    only_the_last: Only the last text of the batch (or token of the text) counts for the matrices and
        biases: in a loop their gradients were replaced, not added to.
        Hint: In your loop, is it `=` or `+=`?
    layers_exchanged: You exchanged the two weight matrices in the results, and their biases with them.
        Hint: In which order does the docstring list what is returned?
    biases_last: You return both weight matrices first and both biases last; each bias follows its
        matrix.
        Hint: In which order does the docstring list what is returned?
    tables_not_turned: You multiplied by the weight matrices as they are; the backward pass needs them
        transposed.
        Hint: C = A B: for A it is G Bᵀ. What does the T mean?
""")
def feed_forward_backward_with_slips(slip, upstream, x, w_1, b_1, w_2, b_2):
    constant = slip.choose(0.044715, constant_ten_times_as_large=0.44715)
    z = x @ w_1 + slip.choose(b_1, first_bias_not_in_z=0 * b_1)
    bent = 0.5 * z * (1 + np.tanh(ROOT * (z + constant * z**3)))
    d_bent = upstream @ slip.choose(w_2.T, tables_not_turned=w_2)

    # The derivative of GELU.
    place = slip.choose(z, slope_at_the_gradient=d_bent, slope_at_the_result=bent)
    t = np.tanh(ROOT * (place + constant * place**3))
    power = slip.choose(
        place**2, cube_in_the_inner_derivative=place**3, first_power_in_the_inner_derivative=place
    )
    root = slip.choose(ROOT, inner_derivative_forgotten=1.0, no_root_in_the_inner_derivative=1.0)
    inner = slip.choose(
        1 + 3 * constant * power,
        inner_derivative_forgotten=1.0,
        three_forgotten=1 + constant * power,
        cube_has_no_derivative=1.0,
    )
    of_tanh = slip.choose(
        1 - t**2,
        tanh_not_squared=1 - t,
        plus_for_minus_in_tanh=1 + t**2,
        as_for_a_sigmoid=t * (1 - t),
    )
    first_half = 0.5 * slip.choose(1 + t, no_one=t)
    second_half = 0.5 * slip.choose(place, no_z_in_the_second_half=1.0) * of_tanh * root * inner
    both_halves = first_half + second_half
    derivative = slip.choose(
        both_halves,
        no_slope=1.0,
        gelu_for_its_slope=bent,
        only_the_first_half=first_half,
        only_the_second_half=second_half,
        half_missing_in_the_second_half=first_half + 2 * second_half,
        half_missing_in_the_first_half=both_halves + first_half,
        no_half=2 * both_halves,
        halves_subtracted=first_half - second_half,
    )
    if slip.slope_of_relu or slip.relu_and_its_slope:
        derivative = (z > 0).astype(float)
    if slip.slope_of_the_exact_gelu:
        erf = np.vectorize(math.erf, otypes=[float])
        area, height = 0.5 * (1 + erf(z / math.sqrt(2))), np.exp(-(z**2) / 2)
        derivative = area + z * height / math.sqrt(2 * math.pi)
    if slip.slope_of_the_sigmoid_gelu:
        sigmoid = 1 / (1 + np.exp(-1.702 * z))
        derivative = sigmoid + 1.702 * z * sigmoid * (1 - sigmoid)

    # The products and the biases.
    d_z = d_bent * derivative
    if slip.slope_at_the_gradient:
        d_z = derivative
    d_x = slip.choose(d_z, no_slope_for_x=d_bent) @ slip.choose(w_1.T, tables_not_turned=w_1)
    if slip.residual_added:
        d_x = d_x + upstream
    into_w_2 = slip.choose(
        bent,
        z_for_the_second_table=z,
        slope_for_the_second_table=derivative,
        tanh_for_the_second_table=t,
        relu_and_its_slope=np.maximum(z, 0),
    )
    if slip.only_the_last and x.ndim > 1:
        upstream, x, d_z, into_w_2 = upstream[-1], x[-1], d_z[-1], into_w_2[-1]
    for_w_1 = slip.choose(d_z, no_slope_for_w_1=d_bent, no_slope_for_the_first_table=d_bent)
    for_b_1 = slip.choose(
        d_z,
        no_slope_for_the_first_bias=d_bent,
        no_slope_for_the_first_table=d_bent,
    )
    d_w_1, d_w_2 = flat(x).T @ flat(for_w_1), flat(into_w_2).T @ flat(upstream)
    if slip.tables_not_added_up and x.ndim > 2:
        d_w_1, d_w_2 = x.swapaxes(-1, -2) @ d_z, bent.swapaxes(-1, -2) @ upstream
    axes = slip.choose(
        all_but_last(x), biases_over_the_numbers=-1, biases_along_axis_0=0, biases_not_added_up=()
    )
    d_b_1, d_b_2 = for_b_1.sum(axis=axes), upstream.sum(axis=axes)
    words = len(flat(x))
    if slip.means_over_the_words:
        d_w_1, d_w_2 = d_w_1 / words, d_w_2 / words
    if slip.means_over_the_words or slip.means_for_the_biases:
        d_b_1, d_b_2 = d_b_1 / words, d_b_2 / words
    return slip.choose(
        (d_x, d_w_1, d_b_1, d_w_2, d_b_2),
        layers_exchanged=(d_x, d_w_2, d_b_2, d_w_1, d_b_1),
        biases_last=(d_x, d_w_1, d_w_2, d_b_1, d_b_2),
    )


# Other right answers, which must pass.


@feed_forward_backward.variant
def with_einsum(upstream, x, w_1, b_1, w_2, b_2):
    z = np.einsum("...d,dh->...h", x, w_1) + b_1
    t = np.tanh((2 / np.pi) ** 0.5 * (z + 0.044715 * z * z * z))
    d_bent = np.einsum("...d,hd->...h", upstream, w_2)
    d_z = d_bent * (
        0.5 * (1 + t) + 0.5 * z * (1 - t * t) * (2 / np.pi) ** 0.5 * (1 + 0.134145 * z * z)
    )
    d_x = np.einsum("...h,dh->...d", d_z, w_1)
    bent = 0.5 * z * (1 + t)
    d_w_1 = np.einsum("nd,nh->dh", flat(x), flat(d_z))
    d_w_2 = np.einsum("nh,nd->hd", flat(bent), flat(upstream))
    return d_x, d_w_1, np.einsum("nh->h", flat(d_z)), d_w_2, np.einsum("nd->d", flat(upstream))


@feed_forward_backward.variant
def word_by_word(upstream, x, w_1, b_1, w_2, b_2):
    d_x = np.empty(x.shape)
    d_w_1, d_b_1, d_w_2, d_b_2 = (np.zeros(a.shape) for a in (w_1, b_1, w_2, b_2))
    for place in np.ndindex(x.shape[:-1]):
        z, g = x[place] @ w_1 + b_1, upstream[place]
        d_z = (w_2 @ g) * slope(z)
        d_x[place] = w_1 @ d_z
        d_w_1 += np.outer(x[place], d_z)
        d_b_1 += d_z
        d_w_2 += np.outer(gelu(z), g)
        d_b_2 += g
    return d_x, d_w_1, d_b_1, d_w_2, d_b_2


@feed_forward_backward.variant
def with_cosh(upstream, x, w_1, b_1, w_2, b_2):
    z = x @ w_1 + b_1
    u = np.sqrt(2 / np.pi) * (z + 0.044715 * np.power(z, 3))
    du = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * np.square(z))
    sech = 1 / np.cosh(np.clip(u, -300, 300))
    d_z = np.matmul(upstream, w_2.T) * (0.5 * (1 + np.tanh(u)) + 0.5 * z * sech**2 * du)
    axes = tuple(range(x.ndim - 1))
    return (
        np.matmul(d_z, w_1.T),
        np.tensordot(x, d_z, (axes, axes)),
        d_z.sum(axes),
        np.tensordot(gelu(z), upstream, (axes, axes)),
        upstream.sum(axes),
    )


@feed_forward_backward.variant
def summed_over_the_batch(upstream, x, w_1, b_1, w_2, b_2):
    many = np.atleast_2d(x)
    up = np.atleast_2d(upstream)
    z = many @ w_1 + b_1
    d_z = (up @ w_2.T) * slope(z)
    d_w_1, d_w_2 = many.swapaxes(-1, -2) @ d_z, gelu(z).swapaxes(-1, -2) @ up
    while d_w_1.ndim > 2:
        d_w_1, d_w_2 = d_w_1.sum(axis=0), d_w_2.sum(axis=0)
    return (d_z @ w_1.T).reshape(x.shape), d_w_1, over_words(d_z), d_w_2, over_words(up)
