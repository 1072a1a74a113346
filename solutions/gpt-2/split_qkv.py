"""The exercise `split_qkv`: queries, keys and values from one fused matrix, cut into heads."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import split, thirds

split_qkv = Exercise("split_qkv", points=3)


def given(rng, batch, length, heads, d_head, magnitude=1.0):
    d = heads * d_head
    return inputs(
        magnitude * rng.normal(size=(batch, length, d)),
        rng.normal(size=(d, 3 * d)) / d**0.5,
        rng.normal(size=3 * d),
        heads,
    )


@split_qkv.domain(
    sizes={"batch": (1, 6), "L": (1, 60), "heads": (1, 6), "d_head": (1, 8)},
    magnitudes=(1.0, 100.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L, heads, d_head, magnitude):
    return given(rng, batch, L, heads, d_head, magnitude)


@split_qkv.case("the notebook's example: one token, two heads of one number")
def example(rng):
    weight = np.array([[1.0, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1]])
    return inputs(np.array([[[2.0, 3.0]]]), weight, np.array([0.0, 0, 10, 20, 100, 200]), 2)


@split_qkv.case("every size different")
def all_different(rng):
    batch, length, heads, d_head = sizes(rng, 4, 2, 6)
    return given(rng, batch, length, heads, d_head)


@split_qkv.case("one head")
def one_head(rng):
    batch, length, d_head = sizes(rng, 3, 3, 7)
    return given(rng, batch, length, 1, d_head)


@split_qkv.case("as many tokens as heads, and as numbers in a head")
def square(rng):
    n = int(rng.integers(3, 5))
    return given(rng, 2, n, n, n)


@split_qkv.case("one token")
def one_token(rng):
    batch, heads, d_head = sizes(rng, 3, 2, 5)
    return given(rng, batch, 1, heads, d_head)


@split_qkv.case("three heads, as many as there are parts")
def three_heads(rng):
    batch, length, d_head = sizes(rng, 3, 4, 7)
    return given(rng, batch, length, 3, d_head)


@split_qkv.slips("""
    no_bias: The bias is not added. Hint: Which of your arguments does your code not use?
    bias_of_the_queries_only: The bias is added to the queries only.
        Hint: The bias has 3d numbers. Which of them belong to the keys, and which to the values?
    same_bias_for_all: All three get the first third of the bias.
        Hint: Which columns of the bias belong to the keys?
    bias_subtracted: The bias is subtracted. Hint: What does the formula do with b?
    keys_before_queries: Keys and queries are exchanged: the first third of the columns are the queries.
        Hint: In which order do the three stand in `c_attn`?
    values_before_keys: Keys and values are exchanged.
        Hint: In which order do the three stand in `c_attn`?
    order_turned_round: The order is turned round: values first, queries last.
        Hint: In which order do the three stand in `c_attn`?
    dealt_out_in_turn: The 3d columns are given out in turn: column 0 to the queries, 1 to the keys,
        2 to the values. They stand in three blocks of d columns.
        Hint: Which columns are the queries: 0 to d − 1, or every third?
    heads_before_thirds: You cut the columns into heads first, and then each head into three. Cut
        them into queries, keys and values first. In GPT-2's file the three stand side by side, each
        with all heads.
        Hint: What is cut first: the 3d columns into three, or into heads?
    heads_dealt_out: Head i gets the columns i, i + heads, i + 2 heads and so on. It should get d /
        heads neighbours.
        Hint: In which order do `heads` and d_head stand in your reshape?
    reshaped_without_exchange: You reshaped straight to (batch, heads, L, d_head). This mixes up
        tokens and heads.
        Hint: Which axis is cut by the reshape, and which two axes are exchanged afterwards?
    axes_not_exchanged: The axes of heads and tokens are not exchanged: your arrays are (batch, L, heads,
        d_head).
        Hint: Which two axes change places after the reshape?
    not_cut_into_heads: The three are not cut into heads at all: your arrays are (batch, L, d).
        Hint: Where does your code use `heads`?
    tokens_and_numbers_exchanged: Tokens and numbers are exchanged within each head: your arrays are
        (batch, heads, d_head, L).
        Hint: The transpose of the keys belongs to the scores. What does the docstring ask for here?
    keys_transposed: The keys are transposed already: (batch, heads, d_head, L).
        Hint: The transpose of the keys belongs to the scores. What does the docstring ask for here?
    queries_scaled: The queries are divided by the root of the size of a head. The scale belongs to the
        scores.
        Hint: Does the docstring speak of a scale?
    three_times_the_queries: All three are the queries: the same first third of the columns.
        Hint: Which columns are the keys, and which the values?
    values_are_the_keys: The values are the keys once more: columns d to 2d. The values are the last d
        columns.
        Hint: At which column do the values begin?
    keys_are_the_queries: The keys are the queries once more: columns 0 to d. The keys are the next d columns.
        Hint: At which column do the keys begin?
    values_are_x: The values are x itself, cut into heads, not the last third.
        Hint: How many columns does `weight` have, and what are the last d of them for?
    weight_reshaped: The weight was reshaped to PyTorch's (out, in) and transposed; GPT-2's file keeps
        (in, out).
        Hint: Which shape has `weight`: (d, 3d) or (3d, d)? Is a transpose or a reshape needed?
    one_array_of_three: One array with an axis for the three comes back; three arrays are asked for.
        Hint: How many values does the docstring's Returns part list?
    slices_one_apart: The parts overlap: the slices begin at 0, 1 and 2, not at 0, d and 2d.
        Hint: At which column do the keys begin?
    heads_in_reverse: The heads come out in reverse order. Hint: Which columns belong to head 0?
    returns_nothing
""")
def split_qkv_with_slips(slip, x, weight, bias, heads):
    batch, length, d = x.shape
    size = d // heads
    if slip.weight_reshaped:
        weight = weight.reshape(weight.shape[::-1]).T
    bias = slip.choose(
        bias,
        no_bias=0 * bias,
        bias_of_the_queries_only=np.append(bias[:d], 0 * bias[d:]),
        same_bias_for_all=np.tile(bias[:d], 3),
        bias_subtracted=-bias,
    )
    y = x @ weight + bias
    if slip.heads_before_thirds:
        y = y.reshape(batch, length, heads, 3 * size)
    blocks = slip.choose(
        np.split(y, 3, axis=-1),
        dealt_out_in_turn=[y[..., n::3] for n in range(3)],
        slices_one_apart=[y[..., n : n + d] for n in range(3)],
    )
    parts = []
    for block in blocks:
        part = block.reshape(batch, length, heads, size)
        if slip.heads_dealt_out:
            part = block.reshape(batch, length, size, heads).swapaxes(2, 3)
        part = slip.choose(
            part.swapaxes(1, 2),
            reshaped_without_exchange=part.reshape(batch, heads, length, size),
            axes_not_exchanged=part,
            not_cut_into_heads=block,
        )
        if slip.tokens_and_numbers_exchanged:
            part = part.swapaxes(-1, -2)
        if slip.heads_in_reverse:
            part = part[:, ::-1]
        parts.append(part)
    q, k, v = parts
    return slip.choose(
        (q, k, v),
        keys_before_queries=(k, q, v),
        values_before_keys=(q, v, k),
        order_turned_round=(v, k, q),
        keys_transposed=(q, k.swapaxes(-1, -2), v),
        queries_scaled=(q / size**0.5, k, v),
        three_times_the_queries=(q, q.copy(), q.copy()),
        values_are_the_keys=(q, k, k.copy()),
        keys_are_the_queries=(q, q.copy(), v),
        values_are_x=(q, k, split(x, heads)),
        one_array_of_three=np.stack((q, k, v)),
        returns_nothing=None,
    )


@split_qkv.misconception(
    means="The weight was transposed. GPT-2's file keeps (in, out), so x stands on the left and nothing is transposed.",
    nudge="Which shape has `weight`? Write the shapes of x and weight under the product.",
    raises=ValueError,
)
def weight_transposed(x, weight, bias, heads):
    return thirds(x, weight.T, bias, heads)


@split_qkv.misconception(
    means="The cut was made along the tokens, not along the columns.",
    nudge="Which axis has 3d numbers? `np.split` cuts axis 0 unless it is told otherwise.",
    raises=ValueError,
)
def split_along_another_axis(x, weight, bias, heads):
    if x.shape[0] == 3:
        raise ValueError
    return tuple(split(part, heads) for part in np.split(x @ weight + bias, 3))


@split_qkv.misconception(
    means="d / heads is a float, and a size must be a whole number.",
    nudge="Which division of Python's gives a whole number?",
    raises=TypeError,
)
def size_from_a_true_division(x, weight, bias, heads):
    batch, length, d = x.shape
    y = (x @ weight + bias).reshape(batch, length, 3, heads, d / heads)
    return y, y, y


# Other right answers, which must pass.


@split_qkv.variant
def three_slices(x, weight, bias, heads):
    batch, length, d = x.shape
    y = np.matmul(x, weight) + bias
    parts = y[:, :, :d], y[:, :, d : 2 * d], y[:, :, 2 * d :]
    return tuple(
        part.reshape(batch, length, heads, d // heads).transpose(0, 2, 1, 3) for part in parts
    )


@split_qkv.variant
def three_products(x, weight, bias, heads):
    d = x.shape[-1]
    found = []
    for n in range(3):
        columns = slice(n * d, (n + 1) * d)
        found.append(split(x @ weight[:, columns] + bias[columns], heads))
    return found[0], found[1], found[2]


@split_qkv.variant
def all_axes_at_once(x, weight, bias, heads):
    batch, length, d = x.shape
    y = (x @ weight + bias).reshape(batch, length, 3, heads, d // heads)
    q, k, v = y.transpose(2, 0, 3, 1, 4)
    return q, k, v


@split_qkv.variant
def a_list_of_three(x, weight, bias, heads):
    return list(thirds(x, weight, bias, heads))


@split_qkv.variant
def with_einsum(x, weight, bias, heads):
    batch, length, d = x.shape
    y = np.einsum("bld,de->ble", x, weight) + bias[np.newaxis, np.newaxis]
    parts = (y[..., n * d : (n + 1) * d] for n in range(3))
    return tuple(np.einsum("blhk->bhlk", part.reshape(batch, length, heads, -1)) for part in parts)
