"""The exercise `parameter_count`: the learned numbers of one attention layer."""

from autograder.authoring import Exercise, inputs

parameter_count = Exercise("parameter_count", points=2, tolerance=0)  # a count is exact, however large


@parameter_count.domain(
    sizes={"kv_heads": (1, 64), "group": (1, 16), "d_head": (1, 256)},
    flags={"bias": (False, True), "shared": (True, False)},
)
def anywhere(rng, kv_heads, group, d_head, bias, shared):
    heads = kv_heads * group if shared else kv_heads
    named = {"kv_heads": kv_heads} if shared else {}
    return inputs(heads * d_head, heads, bias=bias, **named)


@parameter_count.case("the Transformer of 2017, base")
def transformer_base(rng):
    return inputs(512, 8)


@parameter_count.case("BERT-base and GPT-2 small, with biases")
def with_biases(rng):
    return inputs(768, 12, bias=True)


@parameter_count.case("GPT-3, with biases")
def very_large(rng):
    return inputs(12288, 96, bias=True)


@parameter_count.case("Llama 2 70B, eight heads of keys")
def grouped(rng):
    return inputs(8192, 64, kv_heads=8)


@parameter_count.case("any sizes, no groups")
def drawn(rng):
    heads, d_head = (int(n) for n in rng.integers(3, 20, size=2))
    return inputs(heads * d_head, heads)


@parameter_count.case("any sizes, groups")
def drawn_with_groups(rng):
    return inputs(*grouped_sizes(rng))


@parameter_count.case("any sizes, groups and biases")
def drawn_with_groups_and_biases(rng):
    return inputs(*grouped_sizes(rng), bias=True)


@parameter_count.case("one head of keys for all, with biases")
def one_for_all(rng):
    heads, d_head = (int(n) for n in rng.integers(3, 20, size=2))
    return inputs(heads * d_head, heads, kv_heads=1, bias=True)


@parameter_count.case("as many heads of keys as of queries")
def one_for_each(rng):
    heads, d_head = (int(n) for n in rng.integers(3, 20, size=2))
    return inputs(heads * d_head, heads, kv_heads=heads)


def grouped_sizes(rng):
    """d_model, heads, kv_heads, where a group is never as large as there are groups."""
    kv_heads, group = (int(n) for n in rng.choice([2, 3, 4, 5, 6], size=2, replace=False))
    return kv_heads * group * int(rng.integers(3, 20)), kv_heads * group, kv_heads


def parts(d_model, heads, kv_heads, bias):
    """(weights, biases) of w_q, w_k, w_v, w_o."""
    d_kv = (kv_heads or heads) * (d_model // heads)
    widths = d_model, d_kv, d_kv, d_model
    return [(d_model * width, width if bias else 0) for width in widths]


def total(parts):
    return sum(weights + biases for weights, biases in parts)


@parameter_count.common_mistake
def not_a_whole_number(d_model, heads, kv_heads=None, bias=False):
    d_kv = d_model * (kv_heads or heads) / heads
    return 2 * d_model * (d_model + d_kv) + (2 * (d_model + d_kv) if bias else 0)


@parameter_count.misconception(
    means="Only three weight matrices are counted: w_o is missing.",
    nudge="The four are w_q, w_k, w_v and what comes after the heads are merged. What are its sizes?",
)
def output_forgotten(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads, bias)[:3])


@parameter_count.misconception(
    means="Each head is counted with whole weight matrices of its own, so your number grows with `heads`.",
    nudge="A head uses d_model / heads of the columns of a matrix. How many columns have all heads together?",
)
def whole_tables_for_every_head(d_model, heads, kv_heads=None, bias=False):
    kv = kv_heads or heads
    return 2 * (heads + kv) * (d_model**2 + (d_model if bias else 0))


@parameter_count.misconception(
    means="Four whole matrices are counted for each head, so your number grows with `heads`, and `kv_heads` "
    "makes no difference.",
    nudge="A head uses d_model / heads of the columns of a matrix. How many columns have all heads together?",
)
def four_tables_for_every_head(d_model, heads, kv_heads=None, bias=False):
    return 4 * heads * (d_model**2 + (d_model if bias else 0))


@parameter_count.misconception(
    means="This is the count for one head only.",
    nudge="A matrix has columns for all heads. How many is that?",
)
def one_head_only(d_model, heads, kv_heads=None, bias=False):
    return 4 * (d_model + bool(bias)) * (d_model // heads)


@parameter_count.misconception(
    means="You counted the square of a head's size; a head's columns are still as long as a whole word.",
    nudge="w_q multiplies a word of d_model numbers. How many rows does it have?",
)
def square_of_the_head_size(d_model, heads, kv_heads=None, bias=False):
    d_head = d_model // heads
    kv = kv_heads or heads
    return 2 * (heads + kv) * (d_head**2 + (d_head if bias else 0))


@parameter_count.misconception(
    means="`kv_heads` makes no difference to your number.",
    nudge="With fewer heads of keys and values, which two matrices have fewer columns?",
)
def groups_ignored(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, heads, bias))


@parameter_count.misconception(
    means="Only w_k got smaller with `kv_heads`.",
    nudge="Which other matrix computes something that the query heads share?",
)
def only_keys_shared(d_model, heads, kv_heads=None, bias=False):
    q, k, _, o = parts(d_model, heads, kv_heads, bias)
    return total([q, k, q, o])


@parameter_count.misconception(
    means="w_o got smaller with `kv_heads` as well.",
    nudge="w_o receives the merged heads of the queries. How many numbers is that for each word?",
)
def output_shared_too(d_model, heads, kv_heads=None, bias=False):
    q, k, v, o = parts(d_model, heads, kv_heads, bias)
    return total([q, k, v]) + k[0] + o[1]


@parameter_count.misconception(
    means="You took `kv_heads` for the number of query heads that share; it is the number of heads of keys.",
    nudge="With 12 heads and kv_heads = 3, how many columns does w_k have?",
)
def kv_heads_taken_for_the_group(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, heads // (kv_heads or 1), bias))


@parameter_count.misconception(
    means="The matrices of keys and values have only `kv_heads` columns in your count.",
    nudge="Each head of keys has d_head numbers. How many columns do kv_heads of them need?",
)
def a_column_for_each_kv_head(d_model, heads, kv_heads=None, bias=False):
    d_kv = kv_heads or d_model
    return 2 * d_model * (d_model + d_kv) + (2 * (d_model + d_kv) if bias else 0)


@parameter_count.misconception(
    means="You took the number of heads of keys for the number of their columns; the size of a head is left out.",
    nudge="With d_model = 512 and 8 heads, how many numbers has a key of one head? And of all 8?",
)
def size_of_a_head_forgotten(d_model, heads, kv_heads=None, bias=False):
    d_kv = heads if kv_heads is None else kv_heads
    return 2 * d_model * (d_model + d_kv) + (2 * (d_model + d_kv) if bias else 0)


@parameter_count.misconception(
    means="The biases are not counted.",
    nudge="What does `bias` change? Each matrix gets a bias with one number for each column.",
)
def biases_forgotten(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads, False))


@parameter_count.misconception(
    means="The biases are counted even when there are none.",
    nudge="Where does your code use `bias`?",
)
def biases_always(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads, True))


@parameter_count.misconception(
    means="All four biases have d_model numbers in your count, though shared keys and values are smaller.",
    nudge="A bias is added to the result of a matrix. How many numbers do the keys of one word have?",
)
def biases_all_alike(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads, False)) + (4 * d_model if bias else 0)


@parameter_count.misconception(
    means="A bias is counted as a single number for each matrix.",
    nudge="A bias is a vector: it adds a different number to each column. How many is that?",
)
def one_number_a_bias(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads, False)) + 4 * bool(bias)


@parameter_count.misconception(
    means="w_o has no bias in your count.",
    nudge="Which of the four matrices get a bias when `bias` is True? Read the docstring again.",
)
def no_bias_after_merging(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads, bias)) - (d_model if bias else 0)


@parameter_count.misconception(
    means="`kv_heads` is used as it is, and None is not a number.",
    nudge="What does None mean in the docstring? Replace None by that first.",
)
def none_not_replaced(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads * 1, bias))


@parameter_count.misconception(
    means="Without `kv_heads` your layer has no keys and values: None was taken for 0.",
    nudge="What does None mean in the docstring?",
)
def none_taken_for_zero(d_model, heads, kv_heads=None, bias=False):
    d_kv = (kv_heads or 0) * (d_model // heads)
    return 2 * d_model * (d_model + d_kv) + (2 * (d_model + d_kv) if bias else 0)


@parameter_count.misconception(
    means="Without `kv_heads` you count one head of keys for all the queries.",
    nudge="What does None mean in the docstring?",
)
def none_taken_for_one(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads or 1, bias))


@parameter_count.misconception(
    means="You return the number of the base Transformer, whatever comes in.",
    nudge="Where does your code use `d_model`?",
)
def always_the_base_transformer(d_model, heads, kv_heads=None, bias=False):
    return 1_048_576


@parameter_count.misconception(
    means="Each bias is counted with the numbers of one head only.",
    nudge="A bias has as many numbers as its matrix has columns. How many columns have all heads together?",
)
def biases_of_one_head(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads, False)) + (4 * (d_model // heads) if bias else 0)


@parameter_count.misconception(
    means="You counted a single bias of d_model numbers for the whole layer; each of the four matrices has its own.",
    nudge="Which of the four matrices get a bias when `bias` is True? Read the docstring again.",
)
def one_bias_for_all_tables(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads, False)) + (d_model if bias else 0)


@parameter_count.combined_misconception(output_forgotten, biases_forgotten)
def neither_output_nor_biases(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads, False)[:3])


@parameter_count.combined_misconception(output_forgotten, groups_ignored)
def neither_output_nor_groups(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, heads, bias)[:3])


@parameter_count.combined_misconception(output_forgotten, biases_always)
def no_output_and_biases_always(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, kv_heads, True)[:3])


@parameter_count.combined_misconception(groups_ignored, biases_forgotten)
def neither_groups_nor_biases(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, heads, False))


@parameter_count.combined_misconception(groups_ignored, biases_always)
def no_groups_and_biases_always(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, heads, True))


@parameter_count.combined_misconception(groups_ignored, one_number_a_bias)
def no_groups_and_one_number_a_bias(d_model, heads, kv_heads=None, bias=False):
    return total(parts(d_model, heads, heads, False)) + 4 * bool(bias)


@parameter_count.combined_misconception(groups_ignored, no_bias_after_merging)
def no_groups_and_no_bias_after_merging(d_model, heads, kv_heads=None, bias=False):
    return no_bias_after_merging(d_model, heads, heads, bias)


@parameter_count.combined_misconception(only_keys_shared, biases_all_alike)
def only_keys_shared_biases_alike(d_model, heads, kv_heads=None, bias=False):
    return only_keys_shared(d_model, heads, kv_heads, False) + (4 * d_model if bias else 0)


@parameter_count.misconception(
    means="The weights are counted once for each head (the biases are right); all heads together use each matrix once.",
    nudge="A head uses d_model / heads of the columns of a matrix. How many columns have all heads together?",
)
def weights_times_the_heads(d_model, heads, kv_heads=None, bias=False):
    return sum(heads * weights + biases for weights, biases in parts(d_model, heads, kv_heads, bias))


@parameter_count.misconception(
    means="The matrices of keys and values have d_model columns for each of their heads in your count; a head has "
    "d_model // heads.",
    nudge="With 8 heads of 64 numbers, how many columns has a matrix for a single head?",
)
def whole_words_for_each_kv_head(d_model, heads, kv_heads=None, bias=False):
    width = d_model * (kv_heads or heads)
    return 2 * d_model * (d_model + width) + (2 * (d_model + width) if bias else 0)


@parameter_count.misconception(
    means="Keys and values are counted together as one matrix; each has its own.",
    nudge="Which four matrices are there? Count them in your formula.",
)
def keys_or_values_forgotten(d_model, heads, kv_heads=None, bias=False):
    one = parts(d_model, heads, kv_heads, bias)
    return total([one[0], one[1], one[3]])


@parameter_count.variant
def fraction_of_the_square(d_model, heads, kv_heads=None, bias=False):
    kv_heads = heads if kv_heads is None else kv_heads
    rows = d_model + 1 if bias else d_model
    return 2 * rows * d_model + 2 * rows * d_model * kv_heads // heads


@parameter_count.variant
def added_table_by_table(d_model, heads, kv_heads=None, bias=False):
    if kv_heads is None:
        kv_heads = heads
    count = 0
    for columns in (d_model, kv_heads * d_model // heads, kv_heads * d_model // heads, d_model):
        count += d_model * columns
        if bias:
            count += columns
    return count


@parameter_count.variant
def head_by_head(d_model, heads, kv_heads=None, bias=False):
    d_head = d_model // heads
    one = d_model * d_head + (d_head if bias else 0)
    return one * heads + 2 * one * (kv_heads or heads) + (d_model + bool(bias)) * d_model
