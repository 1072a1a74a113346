"""The exercise `split_qkv`: queries, keys and values from one fused matrix, cut into heads."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import split, thirds, together

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


# Mistakes.


def fused(x, weight, bias):
    return x @ weight + bias


def in_heads(parts, heads, cut=split):
    return tuple(cut(part, heads) for part in parts)


@split_qkv.misconception(
    means="The bias is not added.",
    nudge="Which of your arguments does your code not use?",
)
def no_bias(x, weight, bias, heads):
    return thirds(x, weight, 0 * bias, heads)


@split_qkv.misconception(
    means="The bias is added to the queries only.",
    nudge="The bias has 3d numbers. Which of them belong to the keys, and which to the values?",
)
def bias_of_the_queries_only(x, weight, bias, heads):
    d = x.shape[-1]
    return thirds(x, weight, np.concatenate([bias[:d], 0 * bias[d:]]), heads)


@split_qkv.misconception(
    means="All three get the first third of the bias.",
    nudge="Which columns of the bias belong to the keys?",
)
def same_bias_for_all(x, weight, bias, heads):
    return thirds(x, weight, np.tile(bias[: x.shape[-1]], 3), heads)


@split_qkv.misconception(
    means="The bias is subtracted.",
    nudge="What does the formula do with b?",
)
def bias_subtracted(x, weight, bias, heads):
    return thirds(x, weight, -bias, heads)


@split_qkv.misconception(
    means="Keys and queries are exchanged: the first third of the columns are the queries.",
    nudge="In which order do the three stand in `c_attn`?",
)
def keys_before_queries(x, weight, bias, heads):
    q, k, v = thirds(x, weight, bias, heads)
    return k, q, v


@split_qkv.misconception(
    means="Keys and values are exchanged.",
    nudge="In which order do the three stand in `c_attn`?",
)
def values_before_keys(x, weight, bias, heads):
    q, k, v = thirds(x, weight, bias, heads)
    return q, v, k


@split_qkv.misconception(
    means="The order is turned round: values first, queries last.",
    nudge="In which order do the three stand in `c_attn`?",
)
def order_turned_round(x, weight, bias, heads):
    return thirds(x, weight, bias, heads)[::-1]


@split_qkv.misconception(
    means="The 3d columns are dealt out in turn: column 0 to the queries, 1 to the keys, 2 to the values. They stand in "
    "three blocks of d columns.",
    nudge="Which columns are the queries: 0 to d − 1, or every third?",
)
def dealt_out_in_turn(x, weight, bias, heads):
    y = fused(x, weight, bias)
    return in_heads([y[..., n::3] for n in range(3)], heads)


@split_qkv.misconception(
    means="The columns were cut into heads before they were cut into three, as if each head had its own q, k and v side by "
    "side. In GPT-2's file the three stand side by side, each with all heads.",
    nudge="What is cut first: the 3d columns into three, or into heads?",
)
def heads_before_thirds(x, weight, bias, heads):
    batch, length, d = x.shape
    y = fused(x, weight, bias).reshape(batch, length, heads, 3, d // heads)
    return tuple(y[:, :, :, n].swapaxes(1, 2) for n in range(3))


@split_qkv.misconception(
    means="The heads are dealt out like cards: head i gets the columns i, i + heads, … It should get d / heads neighbours.",
    nudge="In which order do `heads` and d_head stand in your reshape?",
)
def heads_dealt_out(x, weight, bias, heads):
    batch, length, d = x.shape
    parts = np.split(fused(x, weight, bias), 3, axis=-1)
    return tuple(part.reshape(batch, length, d // heads, heads).transpose(0, 3, 1, 2) for part in parts)


@split_qkv.misconception(
    means="The reshape went straight to (batch, heads, L, d_head): tokens and heads are mixed up.",
    nudge="Which axis is cut by the reshape, and which two axes are exchanged afterwards?",
)
def reshaped_without_exchange(x, weight, bias, heads):
    batch, length, d = x.shape
    parts = np.split(fused(x, weight, bias), 3, axis=-1)
    return tuple(part.reshape(batch, heads, length, d // heads) for part in parts)


@split_qkv.misconception(
    means="The axes of heads and tokens are not exchanged: your arrays are (batch, L, heads, d_head).",
    nudge="Which two axes change places after the reshape?",
)
def axes_not_exchanged(x, weight, bias, heads):
    return tuple(part.swapaxes(1, 2) for part in thirds(x, weight, bias, heads))


@split_qkv.misconception(
    means="The three are not cut into heads at all: your arrays are (batch, L, d).",
    nudge="Where does your code use `heads`?",
)
def not_cut_into_heads(x, weight, bias, heads):
    return tuple(together(part) for part in thirds(x, weight, bias, heads))


@split_qkv.misconception(
    means="Tokens and numbers are exchanged within each head: your arrays are (batch, heads, d_head, L).",
    nudge="The transpose of the keys belongs to the scores. What does the docstring ask for here?",
)
def tokens_and_numbers_exchanged(x, weight, bias, heads):
    return tuple(part.swapaxes(-1, -2) for part in thirds(x, weight, bias, heads))


@split_qkv.misconception(
    means="The keys are transposed already: (batch, heads, d_head, L).",
    nudge="The transpose of the keys belongs to the scores. What does the docstring ask for here?",
)
def keys_transposed(x, weight, bias, heads):
    q, k, v = thirds(x, weight, bias, heads)
    return q, k.swapaxes(-1, -2), v


@split_qkv.misconception(
    means="The queries are divided by the root of the size of a head. The scale belongs to the scores.",
    nudge="Does the docstring speak of a scale?",
)
def queries_scaled(x, weight, bias, heads):
    q, k, v = thirds(x, weight, bias, heads)
    return q / q.shape[-1] ** 0.5, k, v


@split_qkv.misconception(
    means="All three are the queries: the same first third of the columns.",
    nudge="Which columns are the keys, and which the values?",
)
def three_times_the_queries(x, weight, bias, heads):
    q, _, _ = thirds(x, weight, bias, heads)
    return q, q.copy(), q.copy()


@split_qkv.misconception(
    means="The values are the keys once more: columns d to 2d. The values are the last d columns.",
    nudge="At which column do the values begin?",
)
def values_are_the_keys(x, weight, bias, heads):
    q, k, _ = thirds(x, weight, bias, heads)
    return q, k, k.copy()


@split_qkv.misconception(
    means="The keys are the queries once more: columns 0 to d. The keys are the next d columns.",
    nudge="At which column do the keys begin?",
)
def keys_are_the_queries(x, weight, bias, heads):
    q, _, v = thirds(x, weight, bias, heads)
    return q, q.copy(), v


@split_qkv.misconception(
    means="The values are x itself, cut into heads, not the last third.",
    nudge="How many columns does `weight` have, and what are the last d of them for?",
)
def values_are_x(x, weight, bias, heads):
    q, k, _ = thirds(x, weight, bias, heads)
    return q, k, split(x, heads)


@split_qkv.misconception(
    means="The weight was reshaped to PyTorch's (out, in) and transposed; GPT-2's file keeps (in, out).",
    nudge="Which shape has `weight`: (d, 3d) or (3d, d)? Is a transpose or a reshape needed?",
)
def weight_reshaped(x, weight, bias, heads):
    return thirds(x, weight.reshape(weight.shape[::-1]).T, bias, heads)


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
    return in_heads(np.split(fused(x, weight, bias), 3), heads)


@split_qkv.misconception(
    means="d / heads is a float, and a size must be a whole number.",
    nudge="Which division of Python's gives a whole number?",
    raises=TypeError,
)
def size_from_a_true_division(x, weight, bias, heads):
    batch, length, d = x.shape
    y = fused(x, weight, bias).reshape(batch, length, 3, heads, d / heads)
    return y, y, y


@split_qkv.misconception(
    means="One array with an axis for the three comes back; three arrays are asked for.",
    nudge="How many values does the docstring's Returns part list?",
)
def one_array_of_three(x, weight, bias, heads):
    return np.stack(thirds(x, weight, bias, heads))


@split_qkv.misconception(
    means="The parts overlap: the slices begin at 0, 1 and 2, not at 0, d and 2d.",
    nudge="At which column do the keys begin?",
)
def slices_one_apart(x, weight, bias, heads):
    y, d = fused(x, weight, bias), x.shape[-1]
    return in_heads([y[..., n : n + d] for n in range(3)], heads)


@split_qkv.misconception(
    means="The heads come out in reverse order.",
    nudge="Which columns belong to head 0?",
)
def heads_in_reverse(x, weight, bias, heads):
    return tuple(part[:, ::-1] for part in thirds(x, weight, bias, heads))


@split_qkv.combined_misconception(no_bias, keys_before_queries)
def no_bias_and_keys_first(x, weight, bias, heads):
    return keys_before_queries(x, weight, 0 * bias, heads)


@split_qkv.combined_misconception(no_bias, axes_not_exchanged)
def no_bias_and_axes_not_exchanged(x, weight, bias, heads):
    return axes_not_exchanged(x, weight, 0 * bias, heads)


@split_qkv.combined_misconception(no_bias, reshaped_without_exchange)
def no_bias_and_reshaped_without_exchange(x, weight, bias, heads):
    return reshaped_without_exchange(x, weight, 0 * bias, heads)


@split_qkv.common_mistake
def returns_nothing(x, weight, bias, heads):
    return None


# Other right answers, which must pass.


@split_qkv.variant
def three_slices(x, weight, bias, heads):
    batch, length, d = x.shape
    y = np.matmul(x, weight) + bias
    parts = y[:, :, :d], y[:, :, d : 2 * d], y[:, :, 2 * d :]
    return tuple(part.reshape(batch, length, heads, d // heads).transpose(0, 2, 1, 3) for part in parts)


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
