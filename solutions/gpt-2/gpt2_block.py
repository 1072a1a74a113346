"""The exercise `gpt2_block`: a block of GPT-2 under the names of its checkpoint."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import (
    NAMES,
    block_parameters,
    causal,
    gelu,
    gelu_exact,
    norm,
    relu,
    softmax,
    split,
    thirds,
    together,
)
from .split_qkv import split_qkv

gpt2_block = Exercise("gpt2_block", points=3, builds_on=[split_qkv])


def given(rng, batch, length, heads, d_head, magnitude=1.0):
    d = heads * d_head
    return inputs(magnitude * rng.normal(size=(batch, length, d)), block_parameters(rng, d), heads)


@gpt2_block.domain(
    sizes={"batch": (1, 5), "L": (1, 60), "heads": (1, 5), "d_head": (1, 5)},
    magnitudes=(1.0, 30.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, heads, d_head, magnitude):
    return given(rng, batch, L, heads, d_head, magnitude)


@gpt2_block.case("every size different")
def all_different(rng):
    batch, length, heads, d_head = sizes(rng, 4, 2, 6)
    return given(rng, batch, length, heads, d_head)


@gpt2_block.case("one head")
def one_head(rng):
    batch, length, d_head = sizes(rng, 3, 3, 7)
    return given(rng, batch, length, 1, d_head)


@gpt2_block.case("as many tokens as numbers in a token")
def square(rng):
    heads, d_head = sizes(rng, 2, 2, 4)
    return given(rng, 2, heads * d_head, heads, d_head)


@gpt2_block.case("one token")
def one_token(rng):
    batch, heads, d_head = sizes(rng, 3, 2, 5)
    return given(rng, batch, 1, heads, d_head)


@gpt2_block.case("small numbers, for which epsilon matters")
def small(rng):
    batch, length, heads, d_head = sizes(rng, 4, 2, 6)
    return given(rng, batch, length, heads, d_head, magnitude=0.003)


@gpt2_block.case("larger numbers")
def large(rng):
    batch, length, heads, d_head = sizes(rng, 4, 2, 6)
    return given(rng, batch, length, heads, d_head, magnitude=5.0)


# Mistakes.


def without(p, *names):
    """The parameters, some of them 0."""
    return {name: 0 * array if name in names else array for name, array in p.items()}


def norm_with_slips(slip, x, p, name):
    d = x.shape[-1]
    epsilon = slip.choose(1e-5, another_epsilon=1e-6)
    if slip.no_epsilon and d > 1:
        epsilon = 0.0
    mean = slip.choose(x.mean(axis=-1, keepdims=True), root_mean_square_norms=0.0)
    centred = x - mean
    spread = np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + epsilon)
    if slip.layer_norm_with_sample_deviation and d > 1:
        spread = x.std(axis=-1, ddof=1, keepdims=True) + epsilon
    if slip.norms_without_parameters:
        return centred / spread
    return centred / spread * p[f"{name}.weight"] + p[f"{name}.bias"]


def attention_with_slips(slip, x, p, heads):
    length, d = x.shape[1:]
    if slip.one_big_head:
        heads = 1
    q, k, v = thirds(x, p["attn.c_attn.weight"], p["attn.c_attn.bias"], heads)
    if slip.queries_and_keys_exchanged:
        q, k = k, q
    scale = slip.choose(
        math.sqrt(d / heads),
        no_scale=1.0,
        root_of_the_whole_size=math.sqrt(d),
        divided_by_the_size=d / heads,
    )
    scores = q @ k.swapaxes(-1, -2) / scale
    mask = slip.choose(
        causal(length),
        no_mask=np.ones((length, length), dtype=bool),
        mask_turned_round=causal(length).T,
        token_does_not_see_itself=np.tri(length, k=-1, dtype=bool),
    )
    if slip.token_does_not_see_itself:
        mask[0, 0] = True
    masked = np.where(mask, scores, slip.choose(-np.inf, hidden_scores_zero=0))
    weights = softmax(masked)
    if slip.masked_after_the_softmax:
        weights = softmax(scores) * mask
    if slip.softmax_over_the_queries:
        weights = softmax(masked.swapaxes(-1, -2)).swapaxes(-1, -2)
    mixed = weights @ v
    mixed = slip.choose(together(mixed), heads_mixed_up=mixed.reshape(x.shape))
    if slip.no_output_matrix:
        return mixed
    matrix = slip.choose(
        p["attn.c_proj.weight"],
        bias_without_its_output_matrix=np.eye(d, dtype=x.dtype),
        output_matrix_transposed=p["attn.c_proj.weight"].T,
    )
    return mixed @ matrix + p["attn.c_proj.bias"]


def network_with_slips(slip, x, p):
    activation = slip.choose(
        gelu,
        no_activation=lambda z: z,
        relu_inside=relu,
        exact_gelu_inside=gelu_exact,
        sigmoid_gelu_inside=lambda z: z * np.exp(-np.logaddexp(0, -1.702 * z)),
    )
    hidden = activation(x @ p["mlp.c_fc.weight"] + p["mlp.c_fc.bias"])
    return hidden @ p["mlp.c_proj.weight"] + p["mlp.c_proj.bias"]


@gpt2_block.slips("""
    layer_norm_with_sample_deviation: The layer norm divides the sum of squares by d − 1, as PyTorch's
        `std` does, instead of by d.
        Hint: The function `layer_norm` of the first cell is right. Why not use it?
    values_in_their_order: You took the values of `parameters` in their order; a dict need not have the
        order of the docstring.
        Hint: Read each array by its name. What does `parameters["ln_1.weight"]` give you?
    no_residuals: Neither of the two sums is there: what passes by attention and by the network is lost.
        Hint: What is each of the two results added to?
    no_residual_at_attention: The result of attention takes the place of x; it should be added to it.
        Hint: What is the result of attention added to?
    no_residual_at_the_network: The result of the network takes the place of x; it should be added to it.
        Hint: What is the result of the network added to?
    residuals_of_the_normalised: The sums add the normalised tokens: x was overwritten by its layer norm.
        Hint: Which x does the residual add: the one before layer norm, or the one after it? Give
        the normalised tokens another name.
    first_residual_normalised: The first sum adds the normalised tokens, not x itself.
        Hint: What passes by the attention: x, or its layer norm?
    second_residual_normalised: The second sum adds the normalised tokens, not what came out of the first.
        Hint: What passes by the network: x, or its layer norm?
    second_residual_from_the_start: The second sum adds the block's own input, so what attention found
        passes only through the network.
        Hint: What is x after the first of the two lines?
    side_by_side: Attention and network read the same tokens, side by side; in GPT-2 the network reads
        what attention has made.
        Hint: Which x does the second line of the formula use?
    post_norm: The norms come after the sums (post-norm), as in GPT-1; in GPT-2 each comes before its part.
        Hint: What does each part read: x, or the layer norm of x?
    no_norms: There is no layer norm at all. Hint: What do attention and network read: x itself?
    no_first_norm: The layer norm before the attention is missing.
        Hint: What does attention read: x itself?
    no_second_norm: The layer norm before the network is missing.
        Hint: What does the network read: x itself?
    first_norm_twice: Both norms use `ln_1`; the second has its own weight and bias.
        Hint: Which two entries of `parameters` does your code not use?
    norms_exchanged: The two norms are exchanged.
        Hint: Which norm stands before attention, `ln_1` or `ln_2`?
    norms_without_parameters: The layer norms have neither weight nor bias.
        Hint: Which four entries of `parameters` belong to the norms?
    norms_without_bias: The layer norms are multiplied by their weight, but their bias is not added.
        Hint: Which entries of `parameters` end in `.bias`, and where do you use each?
    norm_at_the_end: There is a third layer norm at the end of the block. The whole model has one such
        norm, `ln_f`, after all blocks.
        Hint: How many norms does a block have?
    no_mask: There is no causal mask: each token attends to those that come after it as well.
        Hint: What may token i attend to? Which of your steps sees to it?
    mask_turned_round: The mask is turned round: each token attends to itself and to what follows.
        Hint: Is the mask True below or above the diagonal?
    token_does_not_see_itself: No token sees itself: the mask hides the diagonal as well, but for the
        first token.
        Hint: May token i attend to itself? What is on the diagonal of your mask?
    no_scale: The scores are not divided by the root of the size of a head.
        Hint: What does scaled dot-product attention do with the scores before the softmax?
    root_of_the_whole_size: The scores are divided by √d, the root of the size of a token; it should be
        the size of a head.
        Hint: How many numbers has one query of one head?
    divided_by_the_size: The scores are divided by the size of a head, not by its root.
        Hint: Compare your scale with the formula: is a root missing?
    masked_after_the_softmax: The mask comes after the softmax, so the weights of a row no longer add up to 1.
        Hint: When must a hidden score become −∞: before or after the softmax?
    hidden_scores_zero: Hidden scores are set to 0 instead of −∞; e⁰ is 1, so hidden tokens still get weight.
        Hint: Which score gives the weight 0?
    softmax_over_the_queries: The softmax runs over the queries; each query's weights over the keys
        should add up to 1.
        Hint: Which axis of the scores holds the keys?
    heads_mixed_up: You joined the heads without exchanging the axes of heads and tokens back, so
        numbers of different tokens got into one row.
        Hint: The axes are batch, heads, L, d_head. Which two change places before the reshape?
    one_big_head: This is attention with one big head: `heads` makes no difference.
        Hint: Where does your code use `heads`?
    queries_and_keys_exchanged: Queries and keys are exchanged.
        Hint: In which order does `split_qkv` give the three, and which of them stands on the left of the
        scores?
    no_output_matrix: The output matrix of attention, `attn.c_proj`, is left out.
        Hint: Which two entries of `parameters` begin with `attn.c_proj`?
    bias_without_its_output_matrix: The output matrix of attention is left out; only its bias is added.
        Hint: Which entry of `parameters` multiplies the heads once they are put together?
    no_biases: No bias of the four weight matrices is added: those of attention and of the network are
        missing.
        Hint: Which entries of `parameters` end in `.bias`, and where do you use each?
    no_bias_in_c_attn: The bias of queries, keys and values, `attn.c_attn.bias`, is missing.
        Hint: Which entries of `parameters` end in `.bias`, and where do you use each?
    no_bias_in_the_output: The bias of the output matrix, `attn.c_proj.bias`, is missing.
        Hint: Which entries of `parameters` end in `.bias`, and where do you use each?
    no_biases_in_attention: Neither bias of the attention is added.
        Hint: Which entries of `parameters` end in `.bias`, and where do you use each?
    no_biases_in_the_network: The biases of the network, `mlp.c_fc.bias` and `mlp.c_proj.bias`, are missing.
        Hint: Which entries of `parameters` end in `.bias`, and where do you use each?
    no_activation: The network multiplies by its two matrices with nothing in between: the activation is
        missing.
        Hint: Which function stands between `c_fc` and `c_proj`?
    relu_inside: The activation is ReLU; GPT-2 has GELU.
        Hint: Which function stands between `c_fc` and `c_proj`?
    exact_gelu_inside: The activation is GELU with the error function; GPT-2 has its tanh form, which
        differs a little everywhere.
        Hint: Which of the two forms of GELU was the model trained with?
    sigmoid_gelu_inside: The activation is x · sigmoid(1.702 x), a rough form of GELU; GPT-2 has the tanh
        form.
        Hint: Which of the forms of GELU was the model trained with?
    no_network: The network is missing: the block ends after attention.
        Hint: What is the second half of a block?
    no_attention: Attention is missing: no token learns of any other.
        Hint: What is the first half of a block?
    network_first: The network comes first and attention second.
        Hint: In which order do the two lines of the formula stand?
    another_epsilon: The layer norms use an epsilon of 1e-6 or less; GPT-2 has 1e-5.
        Hint: Which epsilon does `layer_norm` take when you give it none?
    no_epsilon: The layer norms divide by the standard deviation alone, without epsilon.
        Hint: What stands under the root, beside the variance?
    root_mean_square_norms: The norms are RMS norms: the mean is not subtracted.
        Hint: What does layer norm do first with the numbers of a token?
    output_matrix_transposed: The output matrix of attention was transposed; it is square, so no error
        tells you.
        Hint: GPT-2's file keeps (in, out). Which product needs a transpose then?
    returns_nothing
""")
def gpt2_block_with_slips(slip, x, parameters, heads):
    biases_left_out = slip.choose(
        (),
        norms_without_bias=("ln_1.bias", "ln_2.bias"),
        no_biases=("attn.c_attn.bias", "attn.c_proj.bias", "mlp.c_fc.bias", "mlp.c_proj.bias"),
        no_bias_in_c_attn=("attn.c_attn.bias",),
        no_bias_in_the_output=("attn.c_proj.bias",),
        no_biases_in_attention=("attn.c_attn.bias", "attn.c_proj.bias"),
        no_biases_in_the_network=("mlp.c_fc.bias", "mlp.c_proj.bias"),
    )
    p = without(parameters, *biases_left_out)
    if slip.values_in_their_order:
        p = dict(zip(NAMES, parameters.values()))

    start = x
    if slip.network_first:
        x = x + network_with_slips(slip, norm_with_slips(slip, x, p, "ln_2"), p)
    normalised = norm_with_slips(slip, x, p, slip.choose("ln_1", norms_exchanged="ln_2"))
    attention_input = slip.choose(normalised, post_norm=x, no_norms=x, no_first_norm=x)
    residual = slip.choose(
        x,
        no_residuals=0,
        no_residual_at_attention=0,
        residuals_of_the_normalised=normalised,
        first_residual_normalised=normalised,
    )
    if not slip.no_attention:
        x = residual + attention_with_slips(slip, attention_input, p, heads)
    if slip.post_norm:
        x = norm_with_slips(slip, x, p, "ln_1")
    if slip.no_network or slip.network_first:
        return x

    name = slip.choose("ln_2", first_norm_twice="ln_1", norms_exchanged="ln_1")
    normalised = norm_with_slips(slip, slip.choose(x, side_by_side=start), p, name)
    network_input = slip.choose(normalised, post_norm=x, no_norms=x, no_second_norm=x)
    residual = slip.choose(
        x,
        no_residuals=0,
        no_residual_at_the_network=0,
        residuals_of_the_normalised=normalised,
        second_residual_normalised=normalised,
        second_residual_from_the_start=start,
    )
    x = residual + network_with_slips(slip, network_input, p)
    if slip.post_norm or slip.norm_at_the_end:
        x = norm_with_slips(slip, x, p, "ln_2")
    return slip.choose(x, returns_nothing=None)


@gpt2_block.misconception(
    means="The name of a parameter is wrong: `parameters` has no such key.",
    nudge="Print `list(parameters)`: the names have dots, as in `ln_1.weight`.",
    raises=KeyError,
)
def unknown_name(x, parameters, heads):
    return x + parameters["c_attn.weight"]


@gpt2_block.misconception(
    means="A weight matrix was transposed. GPT-2's file keeps (in, out), so x stands on the left and nothing is transposed.",
    nudge="Write the shapes of x and of the matrix under each product.",
    raises=ValueError,
)
def weights_transposed(x, parameters, heads):
    p = parameters
    return x + gelu(x @ p["mlp.c_fc.weight"].T) @ p["mlp.c_proj.weight"].T


# Other right answers, which must pass.


@gpt2_block.variant
def step_by_step(x, parameters, heads):
    p = parameters
    batch, length, d = x.shape
    y = norm(x, p["ln_1.weight"], p["ln_1.bias"])
    q, k, v = np.split(y @ p["attn.c_attn.weight"] + p["attn.c_attn.bias"], 3, axis=2)
    q, k, v = (split(part, heads) for part in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * (d // heads) ** -0.5
    scores = scores + np.where(np.tri(length) == 1, 0.0, -np.inf).astype(x.dtype)
    mixed = softmax(scores) @ v
    out = mixed.transpose(0, 2, 1, 3).reshape(batch, length, d)
    x = x + (out @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"])
    y = norm(x, p["ln_2.weight"], p["ln_2.bias"])
    hidden = gelu(y @ p["mlp.c_fc.weight"] + p["mlp.c_fc.bias"])
    return x + (hidden @ p["mlp.c_proj.weight"] + p["mlp.c_proj.bias"])


@gpt2_block.variant
def head_by_head(x, parameters, heads):
    p = parameters
    q, k, v = thirds(
        norm(x, p["ln_1.weight"], p["ln_1.bias"]),
        p["attn.c_attn.weight"],
        p["attn.c_attn.bias"],
        heads,
    )
    found = []
    for head in range(heads):
        scores = np.einsum("bqd,bkd->bqk", q[:, head], k[:, head]) / math.sqrt(q.shape[-1])
        scores = np.where(causal(x.shape[1]), scores, -1e9).astype(x.dtype)
        found.append(softmax(scores) @ v[:, head])
    middle = x + np.concatenate(found, axis=-1) @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"]
    hidden = gelu(
        norm(middle, p["ln_2.weight"], p["ln_2.bias"]) @ p["mlp.c_fc.weight"] + p["mlp.c_fc.bias"]
    )
    return middle + hidden @ p["mlp.c_proj.weight"] + p["mlp.c_proj.bias"]


@gpt2_block.variant
def each_sentence_alone(x, parameters, heads):
    return np.concatenate([step_by_step(x[n : n + 1], parameters, heads) for n in range(len(x))])
