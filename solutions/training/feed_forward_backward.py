"""The exercise `feed_forward_backward`: two products, and between them the slope of GELU."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import ROOT, feed_back, flat, gate, gelu, over_words, slope

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


@feed_forward_backward.case("as many numbers in between as in a word, and as many words")
def square(rng):
    size = int(rng.integers(3, 7))
    return given(rng, (size, size), size)


@feed_forward_backward.case("larger numbers")
def larger(rng):
    *shape, hidden = sizes(rng, 3, 3)
    return given(rng, shape, hidden, 3.0)


def wrong_slope(means, nudge):
    """Register a mistake in the derivative of GELU, a function of z."""

    def register(other):
        def mistaken(upstream, x, w_1, b_1, w_2, b_2):
            return feed_back(upstream, x, w_1, b_1, w_2, b_2, slope=other)

        mistaken.__name__ = other.__name__
        feed_forward_backward.misconception(means=means, nudge=nudge)(mistaken)
        return mistaken

    return register


# The slope of GELU.


@wrong_slope(
    means="The slope of GELU is missing: you went back through two products as if nothing stood between them.",
    nudge="What happens to z between the two products, and what does the chain rule ask for there?",
)
def no_slope(z):
    return 1.0


@wrong_slope(
    means="You multiplied by GELU itself; the backward pass needs its derivative.",
    nudge="If b = f(z), what is the gradient for z, given that for b?",
)
def gelu_for_its_slope(z):
    return gelu(z)


@wrong_slope(
    means="You used the slope of ReLU, 1 or 0; GELU's is a smooth curve.",
    nudge="The formula of the slope is above the exercise.",
)
def slope_of_relu(z):
    return (z > 0).astype(float)


@feed_forward_backward.misconception(
    means="You used ReLU, forwards and backwards; the network's function is GELU.",
    nudge="The formulas of GELU and of its slope stand above the exercise.",
)
def relu_and_its_slope(upstream, x, w_1, b_1, w_2, b_2):
    return feed_back(
        upstream,
        x,
        w_1,
        b_1,
        w_2,
        b_2,
        slope=lambda z: (z > 0).astype(float),
        bent=lambda z: np.maximum(z, 0),
    )


@wrong_slope(
    means="You have only the first half of the slope, ½ (1 + tanh): the tanh contains z as well.",
    nudge="GELU is a product, ½ z times (1 + tanh(…)). What does the product rule say?",
)
def only_the_first_half(z):
    return 0.5 * (1 + gate(z))


@wrong_slope(
    means="Only the second half of the slope is there; the first, ½ (1 + tanh), is missing.",
    nudge="GELU is a product, ½ z times (1 + tanh(…)). What does the product rule say?",
)
def only_the_second_half(z):
    return slope(z) - 0.5 * (1 + gate(z))


def second_half(z, inner, of_tanh=None):
    t = gate(z)
    return 0.5 * (1 + t) + 0.5 * z * ((1 - t**2) if of_tanh is None else of_tanh(t)) * inner


@wrong_slope(
    means="The argument of the tanh has a derivative, too, and it is missing.",
    nudge="u = √(2/π) (z + 0.044715 z³): what is its derivative?",
)
def inner_derivative_forgotten(z):
    return second_half(z, 1.0)


@wrong_slope(
    means="The derivative of z³ has lost its 3.",
    nudge="What is the derivative of z³?",
)
def three_forgotten(z):
    return second_half(z, ROOT * (1 + 0.044715 * z**2))


@wrong_slope(
    means="In the derivative of the tanh's argument √(2/π) is missing.",
    nudge="u = √(2/π) (z + 0.044715 z³): does a factor in front stay, or go?",
)
def no_root_in_the_inner_derivative(z):
    return second_half(z, 1 + 3 * 0.044715 * z**2)


@wrong_slope(
    means="The derivative of the tanh's argument lacks the part that comes from z³.",
    nudge="u = √(2/π) (z + 0.044715 z³): what is its derivative?",
)
def cube_has_no_derivative(z):
    return second_half(z, ROOT)


@feed_forward_backward.misconception(
    means="The constant is 0.044715; yours is ten times as large.",
    nudge="Count the zeros behind the point.",
)
def constant_ten_times_as_large(upstream, x, w_1, b_1, w_2, b_2):
    def other_gate(z):
        return np.tanh(ROOT * (z + 0.44715 * z**3))

    def other_slope(z):
        t = other_gate(z)
        return 0.5 * (1 + t) + 0.5 * z * (1 - t**2) * ROOT * (1 + 3 * 0.44715 * z**2)

    return feed_back(upstream, x, w_1, b_1, w_2, b_2, other_slope, lambda z: 0.5 * z * (1 + other_gate(z)))


@wrong_slope(
    means="The derivative of z³ is written with z³ again; its power goes down by one.",
    nudge="What is the derivative of z³?",
)
def cube_in_the_inner_derivative(z):
    return second_half(z, ROOT * (1 + 3 * 0.044715 * z**3))


@wrong_slope(
    means="The derivative of z³ is written with z instead of z².",
    nudge="What is the derivative of z³?",
)
def first_power_in_the_inner_derivative(z):
    return second_half(z, ROOT * (1 + 3 * 0.044715 * z))


@wrong_slope(
    means="The derivative of tanh is 1 − tanh²; the square is missing.",
    nudge="What is the derivative of tanh, said with tanh itself?",
)
def tanh_not_squared(z):
    return second_half(z, ROOT * (1 + 3 * 0.044715 * z**2), lambda t: 1 - t)


@wrong_slope(
    means="You used 1 + tanh² for the derivative of tanh; it is 1 − tanh².",
    nudge="tanh is flat where it is near 1 or −1. What must its derivative be there?",
)
def plus_for_minus_in_tanh(z):
    return second_half(z, ROOT * (1 + 3 * 0.044715 * z**2), lambda t: 1 + t**2)


@wrong_slope(
    means="You used tanh (1 − tanh), which belongs to the sigmoid; the derivative of tanh is 1 − tanh².",
    nudge="What is the derivative of tanh, said with tanh itself?",
)
def as_for_a_sigmoid(z):
    return second_half(z, ROOT * (1 + 3 * 0.044715 * z**2), lambda t: t * (1 - t))


@wrong_slope(
    means="The factor z of the second half of the slope is missing.",
    nudge="By the product rule ½ z stays in front when the tanh is differentiated.",
)
def no_z_in_the_second_half(z):
    t = gate(z)
    return 0.5 * (1 + t) + 0.5 * (1 - t**2) * ROOT * (1 + 3 * 0.044715 * z**2)


@wrong_slope(
    means="The factor ½ is missing in the second half of the slope.",
    nudge="GELU is ½ z (1 + tanh(…)): on which halves of the product rule is the ½?",
)
def half_missing_in_the_second_half(z):
    return slope(z) + (slope(z) - 0.5 * (1 + gate(z)))


@wrong_slope(
    means="The factor ½ is missing in the first half of the slope.",
    nudge="GELU is ½ z (1 + tanh(…)): on which halves of the product rule is the ½?",
)
def half_missing_in_the_first_half(z):
    return slope(z) + 0.5 * (1 + gate(z))


@wrong_slope(
    means="The factor ½ of GELU is missing in the whole slope.",
    nudge="For large z GELU is z itself. What is the slope there?",
)
def no_half(z):
    return 2 * slope(z)


@wrong_slope(
    means="The 1 before the tanh is missing in the first half of the slope.",
    nudge="For large z GELU is z itself. What is the slope there?",
)
def no_one(z):
    return slope(z) - 0.5


@wrong_slope(
    means="The second half of the slope is subtracted; it is added.",
    nudge="Which sign is between the two terms of the product rule?",
)
def halves_subtracted(z):
    return 1 + gate(z) - slope(z)


@wrong_slope(
    means="This is the slope of GELU with the error function; the tanh form has another, a little different one.",
    nudge="Which form of GELU did the way forward use?",
)
def slope_of_the_exact_gelu(z):
    erf = np.vectorize(math.erf, otypes=[float])
    return 0.5 * (1 + erf(z / math.sqrt(2))) + z * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


@wrong_slope(
    means="This is the slope of z · sigmoid(1.702 z), a rougher approximation of GELU.",
    nudge="Which form of GELU did the way forward use?",
)
def slope_of_the_sigmoid_gelu(z):
    with np.errstate(over="ignore"):
        s = 1 / (1 + np.exp(-1.702 * z))
    return s + 1.702 * z * s * (1 - s)


@feed_forward_backward.misconception(
    means="You took the slope of GELU at the upstream gradient; it is taken at z, where the way forward was.",
    nudge="At which place is a derivative taken: at what went in, or at what comes back?",
)
def slope_at_the_gradient(upstream, x, w_1, b_1, w_2, b_2):
    d = upstream @ w_2.T
    z = x @ w_1 + b_1
    d_z = slope(d)
    return (
        d_z @ w_1.T,
        flat(x).T @ flat(d_z),
        over_words(d_z),
        flat(gelu(z)).T @ flat(upstream),
        over_words(upstream),
    )


@feed_forward_backward.misconception(
    means="You took the slope of GELU at GELU(z); it is taken at z.",
    nudge="What is the argument of GELU in the forward pass?",
)
def slope_at_the_result(upstream, x, w_1, b_1, w_2, b_2):
    return feed_back(upstream, x, w_1, b_1, w_2, b_2, slope=lambda z: slope(gelu(z)))


@feed_forward_backward.misconception(
    means="You used the slope of GELU for w_1 and b_1, but not for x.",
    nudge="Which gradient goes on through the first product: that for z, or that for what became of z?",
)
def no_slope_for_x(upstream, x, w_1, b_1, w_2, b_2):
    return (upstream @ w_2.T @ w_1.T, *feed_back(upstream, x, w_1, b_1, w_2, b_2)[1:])


@feed_forward_backward.misconception(
    means="You used the slope of GELU for x, but not for w_1 and b_1.",
    nudge="w_1 and b_1 made z. Which gradient do theirs come from?",
)
def no_slope_for_the_first_table(upstream, x, w_1, b_1, w_2, b_2):
    d_x, _, _, d_w_2, d_b_2 = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    d = upstream @ w_2.T
    return d_x, flat(x).T @ flat(d), over_words(d), d_w_2, d_b_2


@feed_forward_backward.misconception(
    means="The gradient for w_1 lacks the slope of GELU.",
    nudge="w_1 made z. Which gradient does its own come from: that for z, or that for what became of z?",
)
def no_slope_for_w_1(upstream, x, w_1, b_1, w_2, b_2):
    d_x, _, *others = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    return d_x, flat(x).T @ flat(upstream @ w_2.T), *others


@feed_forward_backward.misconception(
    means="The gradient for b_1 lacks the slope of GELU.",
    nudge="b_1 is added before GELU. Which gradient is added up for it?",
)
def no_slope_for_the_first_bias(upstream, x, w_1, b_1, w_2, b_2):
    d_x, d_w_1, _, d_w_2, d_b_2 = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    return d_x, d_w_1, over_words(upstream @ w_2.T), d_w_2, d_b_2


# Products and biases.


@feed_forward_backward.misconception(
    means="For w_2 you used z; the second product was made with GELU(z).",
    nudge="Each factor's gradient is made with the other factor. What was multiplied by w_2?",
)
def z_for_the_second_table(upstream, x, w_1, b_1, w_2, b_2):
    return feed_back(upstream, x, w_1, b_1, w_2, b_2, bent=lambda z: z)


@feed_forward_backward.misconception(
    means="For w_2 you used the slope of GELU; the second product was made with GELU(z) itself.",
    nudge="Each factor's gradient is made with the other factor. What was multiplied by w_2?",
)
def slope_for_the_second_table(upstream, x, w_1, b_1, w_2, b_2):
    return feed_back(upstream, x, w_1, b_1, w_2, b_2, bent=slope)


@feed_forward_backward.misconception(
    means="For w_2 you used the tanh; the second product was made with all of GELU(z), ½ z (1 + tanh).",
    nudge="Each factor's gradient is made with the other factor. What was multiplied by w_2?",
)
def tanh_for_the_second_table(upstream, x, w_1, b_1, w_2, b_2):
    return feed_back(upstream, x, w_1, b_1, w_2, b_2, bent=gate)


@feed_forward_backward.misconception(
    means="You summed the gradients of the biases over the numbers of each token; sum over the tokens.",
    nudge="Which shape does a bias have, and which axis must stay?",
)
def biases_over_the_numbers(upstream, x, w_1, b_1, w_2, b_2):
    d_x, d_w_1, _, d_w_2, _ = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    return d_x, d_w_1, (upstream @ w_2.T * slope(x @ w_1 + b_1)).sum(axis=-1), d_w_2, upstream.sum(axis=-1)


@feed_forward_backward.misconception(
    means="b_1 is missing in z.", nudge="At which z was the way forward bent? Is everything in it?"
)
def first_bias_not_in_z(upstream, x, w_1, b_1, w_2, b_2):
    return feed_back(upstream, x, w_1, 0 * b_1, w_2, b_2)


@feed_forward_backward.misconception(
    means="You added the upstream gradient to that of x. That is the residual connection; it belongs to the block.",
    nudge="Does the forward pass of this function contain a residual connection?",
)
def residual_added(upstream, x, w_1, b_1, w_2, b_2):
    d_x, *others = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    return d_x + upstream, *others


@feed_forward_backward.misconception(
    means="You took means over the tokens. Every token uses the same matrices, so their gradients are summed.",
    nudge="A number that is used in many places gets a gradient from each. How are they put together?",
)
def means_over_the_words(upstream, x, w_1, b_1, w_2, b_2):
    d_x, *others = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    return d_x, *(g / len(flat(x)) for g in others)


@feed_forward_backward.misconception(
    means="You took means over the words for the biases; their gradients are added.",
    nudge="A number that is used in many places gets a gradient from each. How are they put together?",
)
def means_for_the_biases(upstream, x, w_1, b_1, w_2, b_2):
    d_x, d_w_1, d_b_1, d_w_2, d_b_2 = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    words = len(flat(x))
    return d_x, d_w_1, d_b_1 / words, d_w_2, d_b_2 / words


@feed_forward_backward.misconception(
    means="The gradients for the biases are added up along axis 0 only.",
    nudge="How many axes can x have, and which of them must be gone?",
)
def biases_along_axis_0(upstream, x, w_1, b_1, w_2, b_2):
    d_x, d_w_1, _, d_w_2, _ = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    d_z = upstream @ w_2.T * slope(x @ w_1 + b_1)
    return d_x, d_w_1, d_z.sum(axis=0), d_w_2, upstream.sum(axis=0)


@feed_forward_backward.misconception(
    means="The gradients for the biases are not added up over the words.",
    nudge="Which shape does a bias have, and which shape must its gradient have?",
)
def biases_not_added_up(upstream, x, w_1, b_1, w_2, b_2):
    d_x, d_w_1, _, d_w_2, _ = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    return d_x, d_w_1, upstream @ w_2.T * slope(x @ w_1 + b_1), d_w_2, 1.0 * upstream


@feed_forward_backward.misconception(
    means="You did not sum the gradients of the weight matrices over the texts of the batch.",
    nudge="Which shape does w_1 have, and which shape must its gradient have?",
)
def tables_not_added_up(upstream, x, w_1, b_1, w_2, b_2):
    d_x, d_w_1, d_b_1, d_w_2, d_b_2 = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    if x.ndim > 2:
        z = x @ w_1 + b_1
        d_w_1 = x.swapaxes(-1, -2) @ (upstream @ w_2.T * slope(z))
        d_w_2 = gelu(z).swapaxes(-1, -2) @ upstream
    return d_x, d_w_1, d_b_1, d_w_2, d_b_2


@feed_forward_backward.misconception(
    means="Only the last text of the batch (or token of the text) counts for the matrices and biases: in a loop "
    "their gradients were replaced, not added to.",
    nudge="In your loop, is it `=` or `+=`?",
)
def only_the_last(upstream, x, w_1, b_1, w_2, b_2):
    d_x, *others = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    if x.ndim > 1:
        others = feed_back(upstream[-1], x[-1], w_1, b_1, w_2, b_2)[1:]
    return d_x, *others


@feed_forward_backward.misconception(
    means="You exchanged the two weight matrices in the results, and their biases with them.",
    nudge="In which order does the docstring list what is returned?",
)
def layers_exchanged(upstream, x, w_1, b_1, w_2, b_2):
    d_x, d_w_1, d_b_1, d_w_2, d_b_2 = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    return d_x, d_w_2, d_b_2, d_w_1, d_b_1


@feed_forward_backward.misconception(
    means="You return both weight matrices first and both biases last; each bias follows its matrix.",
    nudge="In which order does the docstring list what is returned?",
)
def biases_last(upstream, x, w_1, b_1, w_2, b_2):
    d_x, d_w_1, d_b_1, d_w_2, d_b_2 = feed_back(upstream, x, w_1, b_1, w_2, b_2)
    return d_x, d_w_1, d_w_2, d_b_1, d_b_2


@feed_forward_backward.misconception(
    means="You multiplied by the weight matrices as they are; the backward pass needs them transposed.",
    nudge="C = A B: for A it is G Bᵀ. What does the T mean?",
)
def tables_not_turned(upstream, x, w_1, b_1, w_2, b_2):
    z = x @ w_1 + b_1
    d_z = upstream @ w_2 * slope(z)
    return (
        d_z @ w_1,
        flat(x).T @ flat(d_z),
        over_words(d_z),
        flat(gelu(z)).T @ flat(upstream),
        over_words(upstream),
    )


@feed_forward_backward.combined_misconception(no_slope, z_for_the_second_table)
def as_if_nothing_were_bent(upstream, x, w_1, b_1, w_2, b_2):
    return feed_back(upstream, x, w_1, b_1, w_2, b_2, slope=lambda z: 1.0, bent=lambda z: z)


@feed_forward_backward.combined_misconception(no_slope, first_bias_not_in_z)
def no_slope_no_bias(upstream, x, w_1, b_1, w_2, b_2):
    return feed_back(upstream, x, w_1, 0 * b_1, w_2, b_2, slope=lambda z: 1.0)


@feed_forward_backward.combined_misconception(only_the_first_half, biases_along_axis_0)
def first_half_along_axis_0(upstream, x, w_1, b_1, w_2, b_2):
    z = x @ w_1 + b_1
    d_z = upstream @ w_2.T * 0.5 * (1 + gate(z))
    return (
        d_z @ w_1.T,
        flat(x).T @ flat(d_z),
        d_z.sum(axis=0),
        flat(gelu(z)).T @ flat(upstream),
        upstream.sum(axis=0),
    )


# Other right answers, which must pass.


@feed_forward_backward.variant
def with_einsum(upstream, x, w_1, b_1, w_2, b_2):
    z = np.einsum("...d,dh->...h", x, w_1) + b_1
    t = np.tanh((2 / np.pi) ** 0.5 * (z + 0.044715 * z * z * z))
    d_bent = np.einsum("...d,hd->...h", upstream, w_2)
    d_z = d_bent * (0.5 * (1 + t) + 0.5 * z * (1 - t * t) * (2 / np.pi) ** 0.5 * (1 + 0.134145 * z * z))
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
