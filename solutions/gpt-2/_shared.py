"""Helpers for several exercises of `gpt-2`: the notebook's words, learned merges, and the parts of a block."""

import math
from itertools import pairwise

import numpy as np

# The notebook's example by hand: words and how often each stands in a text.
WORDS = {("h", "a", "t"): 5, ("t", "h", "a", "t"): 3, ("t", "h", "e"): 5, ("t", "h", "e", "n"): 2}
RANKS = {("t", "h"): 0, ("a", "t"): 1, ("th", "e"): 2, ("h", "at"): 3, ("th", "at"): 4}


# Byte-pair encoding.


def pairs_of(symbols):
    """Pairs of neighbours, from left to right."""
    return list(pairwise(symbols))


def counts(words):
    """Count each pair of neighbours in a text."""
    found = {}
    for symbols, times in words.items():
        for pair in pairs_of(symbols):
            found[pair] = found.get(pair, 0) + times
    return found


def merged(symbols, pair):
    """The symbols with every occurrence of the pair joined, from left to right."""
    found, place = [], 0
    while place < len(symbols):
        if tuple(symbols[place : place + 2]) == pair:
            found.append(symbols[place] + symbols[place + 1])
            place += 2
        else:
            found.append(symbols[place])
            place += 1
    return tuple(found)


def random_word(rng, alphabet, length):
    return tuple(str(letter) for letter in rng.choice(list(alphabet), size=length))


def random_words(rng, number, alphabet, longest):
    """A mapping of words to counts."""
    words = {}
    for _ in range(number):
        words[random_word(rng, alphabet, int(rng.integers(1, longest + 1)))] = int(
            rng.integers(1, 20)
        )
    return words


def learned_ranks(rng, number, alphabet):
    """Ranks of pairs that were learned from random words; each makes a symbol that was not there before."""
    words = random_words(rng, 40, alphabet, 9)
    ranks, symbols = {}, set(alphabet)
    while len(ranks) < number:
        found = counts(words)
        new = [pair for pair in found if "".join(pair) not in symbols]
        if not new:
            break
        best = max(new, key=lambda pair: (found[pair], pair))
        ranks[best] = len(ranks)
        symbols.add("".join(best))
        words = {merged(word, best): times for word, times in words.items()}
    return ranks


def shuffled(rng, ranks):
    """The same ranks, in another order within the mapping."""
    pairs = list(ranks)
    return {pairs[n]: ranks[pairs[n]] for n in rng.permutation(len(pairs))}


# A block.


def norm(x, gain, bias, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * gain + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_exact(x):
    return x * 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))


def relu(x):
    return np.maximum(x, 0)


def split(x, heads):
    """(batch, L, d) to (batch, heads, L, d / heads)."""
    batch, length, size = x.shape
    return x.reshape(batch, length, heads, size // heads).swapaxes(1, 2)


def together(x):
    """And back again."""
    batch, heads, length, size = x.shape
    return x.swapaxes(1, 2).reshape(batch, length, heads * size)


def thirds(x, weight, bias, heads):
    """Queries, keys and values from the fused matrix, each cut into heads."""
    return tuple(split(part, heads) for part in np.split(x @ weight + bias, 3, axis=-1))


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def causal(length):
    return np.tri(length, dtype=bool)


# Parameters of a block in the order of the docstring, and in that of the cases: equal shapes change places, so that an
# answer that takes the dict's values in their order is wrong.
NAMES = (
    *(
        "ln_1.weight",
        "ln_1.bias",
        "attn.c_attn.weight",
        "attn.c_attn.bias",
        "attn.c_proj.weight",
        "attn.c_proj.bias",
    ),
    *(
        "ln_2.weight",
        "ln_2.bias",
        "mlp.c_fc.weight",
        "mlp.c_fc.bias",
        "mlp.c_proj.weight",
        "mlp.c_proj.bias",
    ),
)
CASE_ORDER = (NAMES[6], NAMES[11], *NAMES[2:6], *NAMES[:2], *NAMES[8:11], NAMES[7])


def block_parameters(rng, d):
    """Random parameters of a block under the checkpoint's names.

    Each part adds about as much as what passes by it, so that attention is far from uniform, and the
    sums are of a size at which float32 has digits enough.
    """

    def table(rows, columns, size=1.0):
        return size * rng.normal(size=(rows, columns)) / math.sqrt(rows)

    def vector(length, around=0.0):
        return around + 0.3 * rng.normal(size=length)

    parameters = {
        "ln_1.weight": vector(d, 1.0),
        "ln_1.bias": vector(d),
        "attn.c_attn.weight": table(d, 3 * d, 1.3),
        "attn.c_attn.bias": vector(3 * d),
        "attn.c_proj.weight": table(d, d),
        "attn.c_proj.bias": vector(d),
        "ln_2.weight": vector(d, 1.0),
        "ln_2.bias": vector(d),
        "mlp.c_fc.weight": table(d, 4 * d),
        "mlp.c_fc.bias": vector(4 * d),
        "mlp.c_proj.weight": table(4 * d, d),
        "mlp.c_proj.bias": vector(d),
    }
    return {name: parameters[name] for name in CASE_ORDER}
