"""Sentences as token ids, for the translator of the lab `keras-attention`."""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from attention_labs.alignment import sentence_pairs

LONGEST = 14  # words in a sentence
START, END = "<start>", "<end>"

Pair = tuple[list[str], list[str]]


@cache
def short_pairs() -> tuple[Pair, ...]:
    """The pairs of `sentence_pairs` with at most `LONGEST` words in either language: English words, French words."""
    return tuple(pair for pair in sentence_pairs() if max(map(len, pair)) <= LONGEST)


class Words:
    """The words of a language, each with its number; 0 is padding, and stands for words never seen.

    Parameters
    ----------
    sentences : iterable of sequences of str
    *signs : str
        What is numbered before the words: `START`, say.
    """

    def __init__(self, sentences: Iterable[Sequence[str]], *signs: str):
        self.words = ["", *signs, *sorted({word for sentence in sentences for word in sentence})]
        self.number = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.number

    def ids(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Sentences of at most `LONGEST` + 1 words as token ids, int32, shape (sentences, LONGEST + 1)."""
        ids = np.zeros((len(sentences), LONGEST + 1), np.int32)
        for row, sentence in zip(ids, sentences):
            row[: len(sentence)] = [self.number.get(word, 0) for word in sentence]
        return ids

    def sentence(self, ids: Iterable[int]) -> list[str]:
        """Token ids as words, up to the first `END` or padding."""
        words = []
        for number in ids:
            if not number or self.words[number] == END:
                break
            words.append(self.words[number])
        return words
