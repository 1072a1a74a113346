"""Turn sentences into numbers (token ids), for the translator of the lab `keras-translator`."""

import csv
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from attention_labs.alignment import sentence_pairs
from attention_labs.embeddings import DATA

RUNS = DATA / "translator_runs.csv"
LONGEST = 14  # words in a sentence
START, END = "<start>", "<end>"

Pair = tuple[list[str], list[str]]


@cache
def short_pairs() -> tuple[Pair, ...]:
    """Return the training pairs with at most `LONGEST` words in each language."""
    return tuple(pair for pair in sentence_pairs() if max(map(len, pair)) <= LONGEST)


class Words:
    """Vocabulary of a language: a number for each word; 0 stands for padding and unknown words.

    Parameters
    ----------
    sentences : iterable of sequences of str
    *signs : str
        Special tokens, numbered before the words, such as `START`.
    """

    def __init__(self, sentences: Iterable[Sequence[str]], *signs: str):
        self.words = ["", *signs, *sorted({word for sentence in sentences for word in sentence})]
        self.number = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.number

    def ids(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Return sentences as token ids: int32, shape (sentences, LONGEST + 1).

        Raises
        ------
        ValueError
            If a sentence has more words than fit.
        """
        for sentence in sentences:
            if len(sentence) > LONGEST + 1:
                raise ValueError(
                    f"{' '.join(sentence)!r} has {len(sentence)} words; at most {LONGEST} fit here.",
                )
        ids = np.zeros((len(sentences), LONGEST + 1), np.int32)
        for row, sentence in zip(ids, sentences):
            row[: len(sentence)] = [self.number.get(word, 0) for word in sentence]
        return ids

    def sentence(self, ids: Iterable[int]) -> list[str]:
        """Return the words with these token ids, up to the first `END` or padding."""
        words = []
        for number in ids:
            if not number or self.words[number] == END:
                break
            words.append(self.words[number])
        return words


def measured_starts(encoder_block: bool, path: Path = RUNS) -> dict[str, np.ndarray]:
    """Read the results of the translator's stored runs, with or without an encoder block.

    Returns
    -------
    dict of str to numpy.ndarray
        An array with a number per run: processor "seconds" of training; shares of right "next
        words" and of right "sentences" in the held-out pairs; and the share of hand-linked words
        found, "links".
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = []
        for row in csv.DictReader(file):
            if row["encoder block"] == str(int(encoder_block)):
                rows.append(row)
    columns = {}
    for name in rows[0]:
        columns[name] = np.array([float(row[name]) for row in rows])
    return {name: columns[name] for name in ("seconds", "next words", "sentences")} | {
        "links": columns["links found"] / columns["links asked"],
    }
