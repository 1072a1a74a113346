"""The exercise `cache_bytes`: how much room the cache of keys and values takes."""

import math

from autograder.authoring import Exercise, inputs

cache_bytes = Exercise("cache_bytes", points=1)


@cache_bytes.domain(
    sizes={"layers": (1, 130), "kv_heads": (1, 130), "d_head": (1, 260), "length": (0, 131072)},
    flags={"bytes_per_number": (2, 1, 4, 8)},
)
def anywhere(rng, layers, kv_heads, d_head, length, bytes_per_number):
    return inputs(layers, kv_heads, d_head, length, bytes_per_number)


@cache_bytes.case("one token, 80 layers of 8 heads of 128")
def one_token(rng):
    return inputs(80, 8, 128, 1)


@cache_bytes.case("one token, 64 heads")
def ungrouped(rng):
    return inputs(80, 64, 128, 1)


@cache_bytes.case("some shape at 16 bits")
def at_16_bits(rng):
    return inputs(*(int(n) for n in rng.permutation([5, 7, 11, 13])))


@cache_bytes.case("some shape at 32 bits")
def at_32_bits(rng):
    return inputs(*(int(n) for n in rng.permutation([5, 7, 11, 13])), bytes_per_number=4)


@cache_bytes.case("some shape at 8 bits")
def at_8_bits(rng):
    return inputs(*(int(n) for n in rng.permutation([5, 7, 11, 13])), bytes_per_number=1)


@cache_bytes.case("a long text in a large model: more bytes than 32 bits can count")
def long_text(rng):
    return inputs(80, 8, 128, int(rng.integers(120_000, 131_072)))


@cache_bytes.case("an empty cache")
def empty(rng):
    return inputs(12, 12, 64, 0)


def product(layers, kv_heads, d_head, length, bytes_per_number=2):
    return 2 * layers * kv_heads * d_head * length * bytes_per_number


@cache_bytes.misconception(
    means="You counted the keys or the values, not both.",
    nudge="What is stored for each token in addition to its key?",
)
def keys_only(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length, bytes_per_number) // 2


@cache_bytes.misconception(
    means="You counted queries as well; a query is used once and not kept.",
    nudge="Which of query, key and value will the next words need?",
)
def queries_too(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length, bytes_per_number) // 2 * 3


@cache_bytes.misconception(
    means="You counted the numbers, not the bytes that they take.",
    nudge="Where does your code use `bytes_per_number`?",
)
def numbers_not_bytes(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length, 1)


@cache_bytes.misconception(
    means="Every number is counted with two bytes, whatever `bytes_per_number` says.",
    nudge="Where does your code use `bytes_per_number`?",
)
def always_two_bytes(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length)


@cache_bytes.misconception(
    means="One factor 2 is missing: bytes a number are one thing, keys and values another.",
    nudge="For 32-bit numbers, which two factors say “both keys and values” and “4 bytes”?",
)
def two_in_place_of_both(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length, max(1, bytes_per_number // 2))


@cache_bytes.misconception(
    means="This is the number of bits; a byte has eight of them.",
    nudge="In which unit is `bytes_per_number`?",
)
def bits(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length, bytes_per_number) * 8


@cache_bytes.misconception(
    means="You counted one layer only.",
    nudge="Each layer makes its own keys and values. Where does your code use `layers`?",
)
def one_layer(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(1, kv_heads, d_head, length, bytes_per_number)


@cache_bytes.misconception(
    means="You counted one head only.",
    nudge="Each key-value head has its own key. Where does your code use `kv_heads`?",
)
def one_head(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, 1, d_head, length, bytes_per_number)


@cache_bytes.misconception(
    means="You took d_head for the size of all heads together and so lost a factor.",
    nudge="How many numbers does *one* head's key have, and how many heads are there?",
)
def d_head_split_among_the_heads(layers, kv_heads, d_head, length, bytes_per_number=2):
    return 2 * layers * kv_heads * (d_head // kv_heads) * length * bytes_per_number


@cache_bytes.misconception(
    means="You counted what one token takes.",
    nudge="Where does your code use `length`?",
)
def one_token_only(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, 1, bytes_per_number)


@cache_bytes.misconception(
    means="You squared the length: that is the matrix of scores, not the cache.",
    nudge="If one more word is written, how many keys are added to each head?",
)
def length_squared(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length**2, bytes_per_number)


@cache_bytes.misconception(
    means="You divided the bytes by 1024, so these are kilobytes.",
    nudge="In which unit is the result asked for?",
)
def kilobytes(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length, bytes_per_number) // 1024


@cache_bytes.misconception(
    means="You added d_head and the length, or another two of the factors, where they multiply.",
    nudge="If everything else is doubled once, what happens to the bytes?",
)
def factors_added(layers, kv_heads, d_head, length, bytes_per_number=2):
    return 2 * layers * kv_heads * (d_head + length) * bytes_per_number


@cache_bytes.misconception(
    means="You counted one token more than `length`.",
    nudge="What should an empty cache take?",
)
def one_token_more(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length + 1, bytes_per_number)


@cache_bytes.misconception(
    means="You left the newest token out of the `length` that are asked for.",
    nudge="What should a cache of one token take?",
)
def one_token_less(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length - 1, bytes_per_number)


def other_unit(name, unit, size, shown=""):
    def in_another_unit(layers, kv_heads, d_head, length, bytes_per_number=2):
        return product(layers, kv_heads, d_head, length, bytes_per_number) / size

    in_another_unit.__name__ = name
    cache_bytes.misconception(
        means=f"You divided by {shown or size}: these are {unit}, and bytes are asked for.",
        nudge="In which unit is the result asked for, and is it a whole number there?",
    )(in_another_unit)


other_unit("kilobytes_with_a_fraction", "kilobytes", 1024)
other_unit("kilobytes_of_1000", "kilobytes", 1000)
other_unit("megabytes", "megabytes", 10**6, "1e6")
other_unit("megabytes_of_1024_squared", "megabytes (MiB)", 2**20, "1024²")
other_unit("gigabytes", "gigabytes, as in the notebook's table", 10**9, "1e9")
other_unit("gigabytes_of_1024_cubed", "gigabytes (GiB)", 2**30, "1024³")


@cache_bytes.combined_misconception(one_layer, bits)
def bits_of_one_layer(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(1, kv_heads, d_head, length, 8 * bytes_per_number)


@cache_bytes.combined_misconception(keys_only, one_layer)
def keys_of_one_layer(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(1, kv_heads, d_head, length, bytes_per_number) // 2


@cache_bytes.combined_misconception(keys_only, numbers_not_bytes)
def numbers_of_the_keys(layers, kv_heads, d_head, length, bytes_per_number=2):
    return layers * kv_heads * d_head * length


@cache_bytes.combined_misconception(keys_only, one_head)
def keys_of_one_head(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, 1, d_head, length, bytes_per_number) // 2


@cache_bytes.combined_misconception(one_layer, numbers_not_bytes)
def numbers_of_one_layer(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(1, kv_heads, d_head, length, 1)


@cache_bytes.combined_misconception(one_layer, one_head)
def one_head_of_one_layer(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(1, 1, d_head, length, bytes_per_number)


@cache_bytes.combined_misconception(one_layer, always_two_bytes)
def two_bytes_of_one_layer(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(1, kv_heads, d_head, length)


@cache_bytes.common_mistake
def not_a_whole_number(layers, kv_heads, d_head, length, bytes_per_number=2):
    return product(layers, kv_heads, d_head, length, bytes_per_number * 8) / 8


@cache_bytes.misconception(
    means="You added the number of heads and the size of one; each head has that many numbers.",
    nudge="8 heads of 128 numbers: how many numbers is a key in one layer?",
)
def heads_added_to_their_size(layers, kv_heads, d_head, length, bytes_per_number=2):
    return 2 * layers * (kv_heads + d_head) * length * bytes_per_number


@cache_bytes.misconception(
    means="You added the number of heads and the size of one; each head has that many numbers, so they are multiplied.",
    nudge="How many numbers do 8 heads of 128 numbers hold?",
)
def heads_and_numbers_added(layers, kv_heads, d_head, length, bytes_per_number=2):
    return layers * (kv_heads + d_head) * length * bytes_per_number


@cache_bytes.variant
def keys_and_values_apart(layers, kv_heads, d_head, length, bytes_per_number=2):
    keys = layers * kv_heads * d_head * length * bytes_per_number
    values = layers * kv_heads * d_head * length * bytes_per_number
    return keys + values


@cache_bytes.variant
def with_prod(layers, kv_heads, d_head, length, bytes_per_number=2):
    return math.prod([2, layers, kv_heads, d_head, length, bytes_per_number])


@cache_bytes.variant
def by_way_of_bits(layers, kv_heads, d_head, length, bytes_per_number=2):
    return length * sum(2 * kv_heads * d_head for _ in range(layers)) * 8 * bytes_per_number // 8
