"""The exercise `gpt2_block`: a block of GPT-2 under the names of its checkpoint."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import (
    NAMES,
    attended,
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


def norms(p, epsilon=1e-5):
    """The two layer norms."""
    return (
        lambda x: norm(x, p["ln_1.weight"], p["ln_1.bias"], epsilon),
        lambda x: norm(x, p["ln_2.weight"], p["ln_2.bias"], epsilon),
    )


def attention(p, heads, mask=None, scale=None):
    """The attention with its output matrix, as a function of the normalised tokens."""

    def function(y):
        mixed = attended(*thirds(y, p["attn.c_attn.weight"], p["attn.c_attn.bias"], heads), mask, scale)
        return mixed @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"]

    return function


def network(p, act=gelu):
    """The feed-forward network."""

    def function(y):
        hidden = act(y @ p["mlp.c_fc.weight"] + p["mlp.c_fc.bias"])
        return hidden @ p["mlp.c_proj.weight"] + p["mlp.c_proj.bias"]

    return function


def block(x, p, heads, *, mask=None, scale=None, act=gelu, epsilon=1e-5):
    """The right block, or one with another mask, scale, activation or epsilon."""
    norm_1, norm_2 = norms(p, epsilon)
    x = x + attention(p, heads, mask, scale)(norm_1(x))
    return x + network(p, act)(norm_2(x))


def sample_norm(x, gain, bias):
    """Layer norm as with PyTorch's `std`: the sum of squares divided by d − 1."""
    if x.shape[-1] == 1:
        return 0 * x + bias
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (x.std(axis=-1, ddof=1, keepdims=True) + 1e-5) * gain + bias


@gpt2_block.misconception(
    means="The layer norm divides the sum of squares by d − 1, as PyTorch's `std` does, instead of by d.",
    nudge="The function `layer_norm` of the first cell is right. Why not use it?",
)
def layer_norm_with_sample_deviation(x, parameters, heads):
    x = x + attention(parameters, heads)(sample_norm(x, parameters["ln_1.weight"], parameters["ln_1.bias"]))
    return x + network(parameters)(sample_norm(x, parameters["ln_2.weight"], parameters["ln_2.bias"]))


@gpt2_block.misconception(
    means="You took the values of `parameters` in their order; a dict need not have the order of the docstring.",
    nudge='Read each array by its name. What does `parameters["ln_1.weight"]` give you?',
)
def values_in_their_order(x, parameters, heads):
    return block(x, dict(zip(NAMES, parameters.values())), heads)


@gpt2_block.misconception(
    means="Neither of the two sums is there: what passes by attention and by the network is lost.",
    nudge="What is each of the two results added to?",
)
def no_residuals(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    x = attention(parameters, heads)(norm_1(x))
    return network(parameters)(norm_2(x))


@gpt2_block.misconception(
    means="The result of attention takes the place of x; it should be added to it.",
    nudge="What is the result of attention added to?",
)
def no_residual_at_attention(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    x = attention(parameters, heads)(norm_1(x))
    return x + network(parameters)(norm_2(x))


@gpt2_block.misconception(
    means="The result of the network takes the place of x; it should be added to it.",
    nudge="What is the result of the network added to?",
)
def no_residual_at_the_network(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    x = x + attention(parameters, heads)(norm_1(x))
    return network(parameters)(norm_2(x))


@gpt2_block.misconception(
    means="The sums add the normalised tokens: x was overwritten by its layer norm.",
    nudge="Is what passes by untouched, or has it been through layer norm? Give the normalised tokens another name.",
)
def residuals_of_the_normalised(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    x = norm_1(x)
    x = x + attention(parameters, heads)(x)
    x = norm_2(x)
    return x + network(parameters)(x)


@gpt2_block.misconception(
    means="The first sum adds the normalised tokens, not x itself.",
    nudge="What passes by the attention: x, or its layer norm?",
)
def first_residual_normalised(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    y = norm_1(x)
    x = y + attention(parameters, heads)(y)
    return x + network(parameters)(norm_2(x))


@gpt2_block.misconception(
    means="The second sum adds the normalised tokens, not what came out of the first.",
    nudge="What passes by the network: x, or its layer norm?",
)
def second_residual_normalised(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    x = x + attention(parameters, heads)(norm_1(x))
    y = norm_2(x)
    return y + network(parameters)(y)


@gpt2_block.misconception(
    means="The second sum adds the block's own input, so what attention found passes only through the network.",
    nudge="What is x after the first of the two lines?",
)
def second_residual_from_the_start(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    y = x + attention(parameters, heads)(norm_1(x))
    return x + network(parameters)(norm_2(y))


@gpt2_block.misconception(
    means="Attention and network read the same tokens, side by side; in GPT-2 the network reads what attention has made.",
    nudge="Which x does the second line of the formula use?",
)
def side_by_side(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    return x + attention(parameters, heads)(norm_1(x)) + network(parameters)(norm_2(x))


@gpt2_block.misconception(
    means="The norms come after the sums (post-norm), as in GPT-1; in GPT-2 each comes before its part.",
    nudge="What does each part read: x, or the layer norm of x?",
)
def post_norm(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    x = norm_1(x + attention(parameters, heads)(x))
    return norm_2(x + network(parameters)(x))


@gpt2_block.misconception(
    means="There is no layer norm at all.",
    nudge="What do attention and network read: x itself?",
)
def no_norms(x, parameters, heads):
    x = x + attention(parameters, heads)(x)
    return x + network(parameters)(x)


@gpt2_block.misconception(
    means="The layer norm before the attention is missing.",
    nudge="What does attention read: x itself?",
)
def no_first_norm(x, parameters, heads):
    x = x + attention(parameters, heads)(x)
    return x + network(parameters)(norms(parameters)[1](x))


@gpt2_block.misconception(
    means="The layer norm before the network is missing.",
    nudge="What does the network read: x itself?",
)
def no_second_norm(x, parameters, heads):
    x = x + attention(parameters, heads)(norms(parameters)[0](x))
    return x + network(parameters)(x)


@gpt2_block.misconception(
    means="Both norms use `ln_1`; the second has its own weight and bias.",
    nudge="Which two entries of `parameters` does your code not use?",
)
def first_norm_twice(x, parameters, heads):
    norm_1, _ = norms(parameters)
    x = x + attention(parameters, heads)(norm_1(x))
    return x + network(parameters)(norm_1(x))


@gpt2_block.misconception(
    means="The two norms are exchanged.",
    nudge="Which norm stands before attention, `ln_1` or `ln_2`?",
)
def norms_exchanged(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    x = x + attention(parameters, heads)(norm_2(x))
    return x + network(parameters)(norm_1(x))


@gpt2_block.misconception(
    means="The layer norms have neither weight nor bias.",
    nudge="Which four entries of `parameters` belong to the norms?",
)
def norms_without_parameters(x, parameters, heads):
    plain = dict(parameters)
    for name in ("ln_1", "ln_2"):
        plain[f"{name}.weight"] = np.ones_like(plain[f"{name}.weight"])
        plain[f"{name}.bias"] = np.zeros_like(plain[f"{name}.bias"])
    return block(x, plain, heads)


@gpt2_block.misconception(
    means="The layer norms are multiplied by their weight, but their bias is not added.",
    nudge="Which entries of `parameters` end in `.bias`, and where do you use each?",
)
def norms_without_bias(x, parameters, heads):
    return block(x, without(parameters, "ln_1.bias", "ln_2.bias"), heads)


@gpt2_block.misconception(
    means="There is a third layer norm at the end of the block. The whole model has one such norm, `ln_f`, after all "
    "blocks.",
    nudge="How many norms does a block have?",
)
def norm_at_the_end(x, parameters, heads):
    return norms(parameters)[1](block(x, parameters, heads))


@gpt2_block.misconception(
    means="There is no causal mask: each token attends to those that come after it as well.",
    nudge="What may token i attend to? Which of your steps sees to it?",
)
def no_mask(x, parameters, heads):
    return block(x, parameters, heads, mask=np.ones((x.shape[1], x.shape[1]), dtype=bool))


@gpt2_block.misconception(
    means="The mask is turned round: each token attends to itself and to what follows.",
    nudge="Is the mask True below or above the diagonal?",
)
def mask_turned_round(x, parameters, heads):
    return block(x, parameters, heads, mask=causal(x.shape[1]).T)


@gpt2_block.misconception(
    means="No token sees itself: the mask hides the diagonal as well, but for the first token.",
    nudge="May token i attend to itself? What is on the diagonal of your mask?",
)
def token_does_not_see_itself(x, parameters, heads):
    length = x.shape[1]
    mask = np.tri(length, k=-1, dtype=bool)
    mask[0, 0] = True
    return block(x, parameters, heads, mask=mask)


@gpt2_block.misconception(
    means="The scores are not divided by the root of the size of a head.",
    nudge="What does scaled dot-product attention do with the scores before the softmax?",
)
def no_scale(x, parameters, heads):
    return block(x, parameters, heads, scale=1.0)


@gpt2_block.misconception(
    means="The scores are divided by √d, the root of the size of a token; it should be the size of a head.",
    nudge="How many numbers has one query of one head?",
)
def root_of_the_whole_size(x, parameters, heads):
    return block(x, parameters, heads, scale=math.sqrt(x.shape[-1]))


@gpt2_block.misconception(
    means="The scores are divided by the size of a head, not by its root.",
    nudge="Compare your scale with the formula: is a root missing?",
)
def divided_by_the_size(x, parameters, heads):
    return block(x, parameters, heads, scale=x.shape[-1] / heads)


@gpt2_block.misconception(
    means="The mask comes after the softmax, so the weights of a row no longer add up to 1.",
    nudge="When must a hidden score become −∞: before or after the softmax?",
)
def masked_after_the_softmax(x, parameters, heads):
    return attending(x, parameters, heads, lambda scores, mask: softmax(scores) * mask)


@gpt2_block.misconception(
    means="Hidden scores are set to 0 instead of −∞; e⁰ is 1, so hidden tokens still get weight.",
    nudge="Which score gives the weight 0?",
)
def hidden_scores_zero(x, parameters, heads):
    return attending(x, parameters, heads, lambda scores, mask: softmax(np.where(mask, scores, 0)))


@gpt2_block.misconception(
    means="The softmax runs over the queries; each query's weights over the keys should add up to 1.",
    nudge="Which axis of the scores holds the keys?",
)
def softmax_over_the_queries(x, parameters, heads):
    def weights(scores, mask):
        hidden = np.where(mask, scores, -np.inf)
        return softmax(hidden.swapaxes(-1, -2)).swapaxes(-1, -2)

    return attending(x, parameters, heads, weights)


def attending(x, p, heads, weights_of, merge=together):
    """The block with other weights, or with heads that are put together in another way."""
    norm_1, norm_2 = norms(p)
    q, k, v = thirds(norm_1(x), p["attn.c_attn.weight"], p["attn.c_attn.bias"], heads)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    mixed = merge(weights_of(scores, causal(x.shape[1])) @ v)
    x = x + mixed @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"]
    return x + network(p)(norm_2(x))


@gpt2_block.misconception(
    means="The heads are put together without exchanging the axes back: tokens and heads are mixed up.",
    nudge="The axes are batch, heads, L, d_head. Which two change places before the reshape?",
)
def heads_mixed_up(x, parameters, heads):
    def weights(scores, mask):
        return softmax(np.where(mask, scores, -np.inf))

    return attending(x, parameters, heads, weights, merge=lambda mixed: mixed.reshape(x.shape))


@gpt2_block.misconception(
    means="This is attention with one big head: `heads` makes no difference.",
    nudge="Where does your code use `heads`?",
)
def one_big_head(x, parameters, heads):
    return block(x, parameters, 1)


@gpt2_block.misconception(
    means="Queries and keys are exchanged.",
    nudge="In which order does `split_qkv` give the three, and which of them stands on the left of the scores?",
)
def queries_and_keys_exchanged(x, parameters, heads):
    d, p = x.shape[-1], dict(parameters)
    for name in ("attn.c_attn.weight", "attn.c_attn.bias"):
        array = p[name]
        p[name] = np.concatenate([array[..., d : 2 * d], array[..., :d], array[..., 2 * d :]], axis=-1)
    return block(x, p, heads)


@gpt2_block.misconception(
    means="The output matrix of attention, `attn.c_proj`, is left out.",
    nudge="Which two entries of `parameters` begin with `attn.c_proj`?",
)
def no_output_matrix(x, parameters, heads):
    p = parameters
    norm_1, norm_2 = norms(p)
    x = x + attended(*thirds(norm_1(x), p["attn.c_attn.weight"], p["attn.c_attn.bias"], heads))
    return x + network(p)(norm_2(x))


@gpt2_block.misconception(
    means="The output matrix of attention is left out; only its bias is added.",
    nudge="Which entry of `parameters` multiplies the heads once they are put together?",
)
def bias_without_its_output_matrix(x, parameters, heads):
    identity = np.eye(x.shape[-1], dtype=x.dtype)
    return block(x, parameters | {"attn.c_proj.weight": identity}, heads)


@gpt2_block.misconception(
    means="No bias of the four weight matrices is added: those of attention and of the network are missing.",
    nudge="Which entries of `parameters` end in `.bias`, and where do you use each?",
)
def no_biases(x, parameters, heads):
    names = ("attn.c_attn.bias", "attn.c_proj.bias", "mlp.c_fc.bias", "mlp.c_proj.bias")
    return block(x, without(parameters, *names), heads)


@gpt2_block.misconception(
    means="The bias of queries, keys and values, `attn.c_attn.bias`, is missing.",
    nudge="Which entries of `parameters` end in `.bias`, and where do you use each?",
)
def no_bias_in_c_attn(x, parameters, heads):
    return block(x, without(parameters, "attn.c_attn.bias"), heads)


@gpt2_block.misconception(
    means="The bias of the output matrix, `attn.c_proj.bias`, is missing.",
    nudge="Which entries of `parameters` end in `.bias`, and where do you use each?",
)
def no_bias_in_the_output(x, parameters, heads):
    return block(x, without(parameters, "attn.c_proj.bias"), heads)


@gpt2_block.misconception(
    means="Neither bias of the attention is added.",
    nudge="Which entries of `parameters` end in `.bias`, and where do you use each?",
)
def no_biases_in_attention(x, parameters, heads):
    return block(x, without(parameters, "attn.c_attn.bias", "attn.c_proj.bias"), heads)


@gpt2_block.misconception(
    means="The biases of the network, `mlp.c_fc.bias` and `mlp.c_proj.bias`, are missing.",
    nudge="Which entries of `parameters` end in `.bias`, and where do you use each?",
)
def no_biases_in_the_network(x, parameters, heads):
    return block(x, without(parameters, "mlp.c_fc.bias", "mlp.c_proj.bias"), heads)


@gpt2_block.misconception(
    means="The network multiplies by its two matrices with nothing in between: the activation is missing.",
    nudge="Which function stands between `c_fc` and `c_proj`?",
)
def no_activation(x, parameters, heads):
    return block(x, parameters, heads, act=lambda z: z)


@gpt2_block.misconception(
    means="The activation is ReLU; GPT-2 has GELU.",
    nudge="Which function stands between `c_fc` and `c_proj`?",
)
def relu_inside(x, parameters, heads):
    return block(x, parameters, heads, act=relu)


@gpt2_block.misconception(
    means="The activation is GELU with the error function; GPT-2 has its tanh form, which differs a little everywhere.",
    nudge="Which of the two forms of GELU was the model trained with?",
)
def exact_gelu_inside(x, parameters, heads):
    return block(x, parameters, heads, act=gelu_exact)


@gpt2_block.misconception(
    means="The activation is x · sigmoid(1.702 x), a rough form of GELU; GPT-2 has the tanh form.",
    nudge="Which of the forms of GELU was the model trained with?",
)
def sigmoid_gelu_inside(x, parameters, heads):
    return block(x, parameters, heads, act=lambda z: z * np.exp(-np.logaddexp(0, -1.702 * z)))


@gpt2_block.misconception(
    means="The network is missing: the block ends after attention.",
    nudge="What is the second half of a block?",
)
def no_network(x, parameters, heads):
    return x + attention(parameters, heads)(norms(parameters)[0](x))


@gpt2_block.misconception(
    means="Attention is missing: no token learns of any other.",
    nudge="What is the first half of a block?",
)
def no_attention(x, parameters, heads):
    return x + network(parameters)(norms(parameters)[1](x))


@gpt2_block.misconception(
    means="The network comes first and attention second.",
    nudge="In which order do the two lines of the formula stand?",
)
def network_first(x, parameters, heads):
    norm_1, norm_2 = norms(parameters)
    x = x + network(parameters)(norm_2(x))
    return x + attention(parameters, heads)(norm_1(x))


@gpt2_block.misconception(
    means="The layer norms use an epsilon of 1e-6 or less; GPT-2 has 1e-5.",
    nudge="Which epsilon does `layer_norm` take when you give it none?",
)
def another_epsilon(x, parameters, heads):
    return block(x, parameters, heads, epsilon=1e-6)


@gpt2_block.misconception(
    means="The layer norms divide by the standard deviation alone, without epsilon.",
    nudge="What stands under the root, beside the variance?",
)
def no_epsilon(x, parameters, heads):
    if x.shape[-1] == 1:
        return block(x, parameters, heads)
    return block(x, parameters, heads, epsilon=0.0)


@gpt2_block.misconception(
    means="The norms are RMS norms: the mean is not subtracted.",
    nudge="What does layer norm do first with the numbers of a token?",
)
def root_mean_square_norms(x, parameters, heads):
    p = parameters

    def rms(y, name):
        size = np.sqrt(np.mean(y * y, axis=-1, keepdims=True) + 1e-5)
        return y / size * p[f"{name}.weight"] + p[f"{name}.bias"]

    x = x + attention(p, heads)(rms(x, "ln_1"))
    return x + network(p)(rms(x, "ln_2"))


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


@gpt2_block.misconception(
    means="The output matrix of attention was transposed; it is square, so no error tells you.",
    nudge="GPT-2's file keeps (in, out). Which product needs a transpose then?",
)
def output_matrix_transposed(x, parameters, heads):
    return block(x, parameters | {"attn.c_proj.weight": parameters["attn.c_proj.weight"].T}, heads)


@gpt2_block.combined_misconception(no_mask, no_biases)
def no_mask_and_no_biases(x, parameters, heads):
    names = ("attn.c_attn.bias", "attn.c_proj.bias", "mlp.c_fc.bias", "mlp.c_proj.bias")
    return no_mask(x, without(parameters, *names), heads)


@gpt2_block.combined_misconception(no_mask, no_scale)
def neither_mask_nor_scale(x, parameters, heads):
    return block(x, parameters, heads, mask=np.ones((x.shape[1], x.shape[1]), dtype=bool), scale=1.0)


@gpt2_block.combined_misconception(post_norm, no_mask)
def post_norm_without_mask(x, parameters, heads):
    p = parameters
    norm_1, norm_2 = norms(p)
    x = norm_1(x + attention(p, heads, np.ones((x.shape[1], x.shape[1]), dtype=bool))(x))
    return norm_2(x + network(p)(x))


@gpt2_block.combined_misconception(no_residuals, no_norms)
def neither_residuals_nor_norms(x, parameters, heads):
    return network(parameters)(attention(parameters, heads)(x))


@gpt2_block.common_mistake
def returns_nothing(x, parameters, heads):
    return None


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
        norm(x, p["ln_1.weight"], p["ln_1.bias"]), p["attn.c_attn.weight"], p["attn.c_attn.bias"], heads
    )
    found = []
    for head in range(heads):
        scores = np.einsum("bqd,bkd->bqk", q[:, head], k[:, head]) / math.sqrt(q.shape[-1])
        scores = np.where(causal(x.shape[1]), scores, -1e9).astype(x.dtype)
        found.append(softmax(scores) @ v[:, head])
    middle = x + np.concatenate(found, axis=-1) @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"]
    return middle + network(p)(norm(middle, p["ln_2.weight"], p["ln_2.bias"]))


@gpt2_block.variant
def each_sentence_alone(x, parameters, heads):
    return np.concatenate([block(x[n : n + 1], parameters, heads) for n in range(len(x))])
