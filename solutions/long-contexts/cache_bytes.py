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


@cache_bytes.slips("""
    keys_only: You counted the keys or the values, not both.
        Hint: What is stored for each token in addition to its key?
    queries_too: You counted queries as well; a query is used once and not kept.
        Hint: Which of query, key and value will the next words need?
    numbers_not_bytes: You counted the numbers, not the bytes that they take.
        Hint: Where does your code use `bytes_per_number`?
    always_two_bytes: Every number is counted with two bytes, whatever `bytes_per_number` says.
        Hint: Where does your code use `bytes_per_number`?
    two_in_place_of_both: One factor 2 is missing: bytes a number are one thing, keys and values another.
        Hint: For 32-bit numbers, which two factors say “both keys and values” and “4 bytes”?
    bits: This is the number of bits; a byte has eight of them.
        Hint: In which unit is `bytes_per_number`?
    one_layer: You counted one layer only.
        Hint: Each layer makes its own keys and values. Where does your code use `layers`?
    one_head: You counted one head only.
        Hint: Each key-value head has its own key. Where does your code use `kv_heads`?
    d_head_split_among_the_heads: You took d_head for the size of all heads together and so lost a factor.
        Hint: How many numbers does *one* head's key have, and how many heads are there?
    one_token_only: You counted what one token takes. Hint: Where does your code use `length`?
    length_squared: You squared the length: that is the matrix of scores, not the cache.
        Hint: If one more word is written, how many keys are added to each head?
    kilobytes: You divided the bytes by 1024, so these are kilobytes.
        Hint: In which unit is the result asked for?
    factors_added: You added d_head and the length, or another two of the factors, where they multiply.
        Hint: If everything else is doubled once, what happens to the bytes?
    one_token_more: You counted one token more than `length`. Hint: What should an empty cache take?
    one_token_less: You left the newest token out of the `length` that are asked for.
        Hint: What should a cache of one token take?
    kilobytes_with_a_fraction: You divided by 1024: these are kilobytes, and bytes are asked for.
        Hint: In which unit is the result asked for, and is it a whole number there?
    kilobytes_of_1000: You divided by 1000: these are kilobytes, and bytes are asked for.
        Hint: In which unit is the result asked for, and is it a whole number there?
    megabytes: You divided by 1e6: these are megabytes, and bytes are asked for.
        Hint: In which unit is the result asked for, and is it a whole number there?
    megabytes_of_1024_squared: You divided by 1024²: these are megabytes (MiB), and bytes are asked for.
        Hint: In which unit is the result asked for, and is it a whole number there?
    gigabytes: You divided by 1e9: these are gigabytes, as in the notebook's table, and bytes are asked for.
        Hint: In which unit is the result asked for, and is it a whole number there?
    gigabytes_of_1024_cubed: You divided by 1024³: these are gigabytes (GiB), and bytes are asked for.
        Hint: In which unit is the result asked for, and is it a whole number there?
    not_a_whole_number
    heads_added_to_their_size: You added the number of heads and the size of one; each head has that many
        numbers.
        Hint: 8 heads of 128 numbers: how many numbers is a key in one layer?
    heads_and_numbers_added: You added the number of heads and the size of one; each head has that many
        numbers, so they are multiplied.
        Hint: How many numbers do 8 heads of 128 numbers hold?
""")
def cache_bytes_with_slips(slip, layers, kv_heads, d_head, length, bytes_per_number=2):
    if slip.d_head_split_among_the_heads:
        d_head = d_head // kv_heads
    kv_heads = slip.choose(kv_heads, one_head=1)
    length = slip.choose(
        length,
        one_token_only=1,
        length_squared=length**2,
        one_token_more=length + 1,
        one_token_less=length - 1,
    )
    bytes_per_number = slip.choose(
        bytes_per_number,
        numbers_not_bytes=1,
        always_two_bytes=2,
        two_in_place_of_both=max(1, bytes_per_number // 2),
        bits=8 * bytes_per_number,
    )
    numbers = slip.choose(
        kv_heads * d_head * length,
        factors_added=kv_heads * (d_head + length),
        heads_added_to_their_size=(kv_heads + d_head) * length,
        heads_and_numbers_added=(kv_heads + d_head) * length,
    )
    kinds = slip.choose(2, keys_only=1, queries_too=3, heads_and_numbers_added=1)
    total = kinds * slip.choose(layers, one_layer=1) * numbers * bytes_per_number
    return slip.choose(
        total,
        kilobytes=total // 1024,
        kilobytes_with_a_fraction=total / 1024,
        kilobytes_of_1000=total / 1000,
        megabytes=total / 10**6,
        megabytes_of_1024_squared=total / 2**20,
        gigabytes=total / 10**9,
        gigabytes_of_1024_cubed=total / 2**30,
        not_a_whole_number=float(total),
    )


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
