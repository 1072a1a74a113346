"""Helpers for several exercises of `qkv-attention`: the notebook's examples, and right steps."""

from functools import cache

import numpy as np

from attention_labs.embeddings import load_embeddings

# The notebook's example by hand: two queries and three keys of size 2, three values of size 2.
Q = np.array([[1.0, 0.0], [1.0, 1.0]])
K = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
V = np.array([[10.0, 0.0], [0.0, 0.0], [0.0, 10.0]])

ENGLISH = "the agreement on the european economic area was signed in august 1992 ."
FRENCH = "l accord sur la zone économique européenne a été signé en août 1992 ."


@cache
def published():
    """The published sentence in the shipped vectors: queries (14, 300), keys (13, 300)."""
    return sentence(FRENCH, "fr"), sentence(ENGLISH, "en")


def sentence(text, language):
    """A row for each word, zeros for an unknown one; silent, unlike `embed`."""
    known = load_embeddings(language, which="shipped")
    return np.array([known[word] if word in known else np.zeros(300) for word in text.split()])


def words(rng, queries, keys, size):
    """Random queries (L_q, d_k) and keys (L_k, d_k); their scaled products are of ordinary size."""
    return rng.normal(size=(queries, size)), rng.normal(size=(keys, size))


def exponents(x, axis):
    """exp(x) over the largest of each slice: what softmax divides by its sum."""
    return np.exp(x - np.max(x, axis=axis, keepdims=True))


def shares(x, axis):
    """Each number over the sum of its slice along `axis` (an int or a tuple of axes)."""
    return x / np.sum(x, axis=axis, keepdims=True)


def root(number):
    """A square root that leaves float32 arrays float32."""
    return float(number) ** 0.5


def rows_of(scores):
    return shares(exponents(scores, -1), -1)
