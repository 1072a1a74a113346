"""Helpers for tests of word vectors: sets that pass the checks, and refused sets."""

import re

import numpy as np
import pytest

from attention_labs.download import WORDS
from attention_labs.embeddings import REAL, DataError, load_embeddings, tokenize
from attention_labs.published import ENGLISH, FRENCH, INDEX


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused(data, act, sentence):
    """Assert that `act` raises a matching DataError of one sentence and changes no data."""
    original = tree(data)
    with pytest.raises(DataError) as error_info:
        act()
    message = str(error_info.value)
    assert re.search(sentence, message), message
    assert message.endswith("; the vectors in use are as they were.") and "\n" not in message
    assert tree(data) == original
    assert [p.name for p in data.iterdir()] == [REAL]
    assert load_embeddings("en", data_dir=data).name == "old"


def full(language, words=WORDS):
    """Return words and vectors that pass every check: shipped vectors at the real indices."""
    shipped_vectors = load_embeddings(language, which="shipped")
    rng = np.random.default_rng(1)
    names = [f"{language}{i}" for i in range(words)]
    for word, index in INDEX[language].items():
        names[index] = word
    sentence = dict.fromkeys(tokenize({"en": ENGLISH, "fr": FRENCH}[language]))
    for i, word in enumerate(w for w in sentence if w not in names and w != "1992"):
        names[10 + i] = word
    vectors = np.tile(rng.integers(-9, 9, size=(1, 300)).astype(np.float32), (words, 1))
    for row, name in enumerate(names):
        if name in sentence:
            vectors[row] = shipped_vectors[name]
    return names, vectors
