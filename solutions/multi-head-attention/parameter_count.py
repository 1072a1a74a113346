"""The exercise `parameter_count`: the learned numbers of one attention layer."""

from autograder.authoring import Exercise, inputs

parameter_count = Exercise(
    "parameter_count", points=2, tolerance=0
)  # a count is exact, however large


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


@parameter_count.slips("""
    not_a_whole_number
    output_forgotten: Only three weight matrices are counted: w_o is missing.
        Hint: The four are w_q, w_k, w_v and what comes after the heads are merged. What are its sizes?
    whole_tables_for_every_head: Each head is counted with whole weight matrices of its own, so your
        number grows with `heads`.
        Hint: A head uses d_model / heads of the columns of a matrix. How many columns have all heads
        together?
    four_tables_for_every_head: Four whole matrices are counted for each head, so your number grows with
        `heads`, and `kv_heads` makes no difference.
        Hint: A head uses d_model / heads of the columns of a matrix. How many columns have all heads
        together?
    one_head_only: This is the count for one head only.
        Hint: A matrix has columns for all heads. How many is that?
    square_of_the_head_size: You counted the square of a head's size; a head's columns are still as long
        as a whole word.
        Hint: w_q multiplies a word of d_model numbers. How many rows does it have?
    groups_ignored: `kv_heads` makes no difference to your number.
        Hint: With fewer heads of keys and values, which two matrices have fewer columns?
    only_keys_shared: Only w_k got smaller with `kv_heads`.
        Hint: Which other matrix computes something that the query heads share?
    output_shared_too: w_o got smaller with `kv_heads` as well.
        Hint: w_o receives the merged heads of the queries. How many numbers is that for each word?
    kv_heads_taken_for_the_group: You took `kv_heads` for the number of query heads that share; it is the
        number of heads of keys.
        Hint: With 12 heads and kv_heads = 3, how many columns does w_k have?
    a_column_for_each_kv_head: The matrices of keys and values have only `kv_heads` columns in your count.
        Hint: Each head of keys has d_head numbers. How many columns do kv_heads of them need?
    size_of_a_head_forgotten: You took the number of heads of keys for the number of their columns; the
        size of a head is left out.
        Hint: With d_model = 512 and 8 heads, how many numbers has a key of one head? And of all 8?
    one_bias_for_each_head: A bias is counted with one number for each head; it has one for each
        column.
        Hint: A bias is added to the result of a matrix. How many numbers has that result for one
        word?
    biases_forgotten: The biases are not counted.
        Hint: What does `bias` change? Each matrix gets a bias with one number for each column.
    biases_always: The biases are counted even when there are none.
        Hint: Where does your code use `bias`?
    biases_all_alike: All four biases have d_model numbers in your count, though shared keys and values
        are smaller.
        Hint: A bias is added to the result of a matrix. How many numbers do the keys of one word have?
    one_number_a_bias: A bias is counted as a single number for each matrix.
        Hint: A bias is a vector: it adds a different number to each column. How many is that?
    no_bias_after_merging: w_o has no bias in your count.
        Hint: Which of the four matrices get a bias when `bias` is True? Read the docstring again.
    none_not_replaced: `kv_heads` is used as it is, and None is not a number.
        Hint: What does None mean in the docstring? Replace None by that first.
    none_taken_for_zero: Without `kv_heads` your layer has no keys and values: None was taken for 0.
        Hint: What does None mean in the docstring?
    none_taken_for_one: Without `kv_heads` you count one head of keys for all the queries.
        Hint: What does None mean in the docstring?
    always_the_base_transformer: You return the number of the base Transformer, whatever comes in.
        Hint: Where does your code use `d_model`?
    biases_of_one_head: Each bias is counted with the numbers of one head only.
        Hint: A bias has as many numbers as its matrix has columns. How many columns have all heads together?
    one_bias_for_all_tables: You counted a single bias of d_model numbers for the whole layer; each of
        the four matrices has its own.
        Hint: Which of the four matrices get a bias when `bias` is True? Read the docstring again.
    weights_times_the_heads: The weights are counted once for each head (the biases are right); all heads
        together use each matrix once.
        Hint: A head uses d_model / heads of the columns of a matrix. How many columns have all heads
        together?
    whole_words_for_each_kv_head: The matrices of keys and values have d_model columns for each of their
        heads in your count; a head has d_model // heads.
        Hint: With 8 heads of 64 numbers, how many columns has a matrix for a single head?
    keys_or_values_forgotten: Keys and values are counted together as one matrix; each has its own.
        Hint: Which four matrices are there? Count them in your formula.
""")
def parameter_count_with_slips(slip, d_model, heads, kv_heads=None, bias=False):
    if slip.always_the_base_transformer:
        return 1_048_576
    d_head = d_model // heads
    is_shared = kv_heads is not None
    if slip.groups_ignored:
        kv_heads = heads
    if slip.kv_heads_taken_for_the_group:
        kv_heads = heads // (kv_heads or 1)
    if kv_heads is None and not slip.none_not_replaced:
        kv_heads = slip.choose(heads, none_taken_for_zero=0, none_taken_for_one=1)
    if slip.biases_forgotten:
        bias = False
    if slip.biases_always:
        bias = True

    # The columns of w_q, w_k, w_v and w_o.
    d_kv = slip.choose(
        kv_heads * d_head,
        not_a_whole_number=d_model * kv_heads / heads,
        size_of_a_head_forgotten=kv_heads,
        whole_words_for_each_kv_head=d_model * kv_heads,
    )
    if slip.a_column_for_each_kv_head and is_shared:
        d_kv = kv_heads
    columns = slip.choose(
        [d_model, d_kv, d_kv, d_model],
        output_forgotten=[d_model, d_kv, d_kv],
        keys_or_values_forgotten=[d_model, d_kv, d_model],
        only_keys_shared=[d_model, d_kv, d_model, d_model],
        whole_tables_for_every_head=[n * d_model for n in (heads, kv_heads, kv_heads, heads)],
        four_tables_for_every_head=[heads * d_model] * 4,
        one_head_only=[d_head] * 4,
    )

    count = sum(columns) * slip.choose(d_model, square_of_the_head_size=d_head)
    if slip.weights_times_the_heads:
        count *= heads
    if slip.output_shared_too:
        count -= d_model * (d_model - d_kv)
    if bias:
        count += slip.choose(
            sum(columns),
            biases_all_alike=4 * d_model,
            one_number_a_bias=4,
            no_bias_after_merging=sum(columns[:3]),
            biases_of_one_head=4 * d_head,
            one_bias_for_each_head=2 * heads + 2 * kv_heads,
            one_bias_for_all_tables=d_model,
        )
    return count


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
