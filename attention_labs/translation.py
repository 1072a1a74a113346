"""Sentences as token ids, for the translator of the lab `keras-attention`."""

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
        """Sentences as token ids: int32, shape (sentences, LONGEST + 1).

        Raises
        ------
        ValueError
            If a sentence has more words than fit.
        """
        for sentence in sentences:
            if len(sentence) > LONGEST + 1:
                raise ValueError(
                    f"{' '.join(sentence)!r} has {len(sentence)} words; at most {LONGEST} fit here."
                )
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


def measured_starts(encoder_block: bool, path: Path = RUNS) -> dict[str, np.ndarray]:
    """What the translator learned in each of some starts, with or without its encoder block.

    Returns
    -------
    dict of str to numpy.ndarray
        One number a start: processor "seconds" of training; shares of "next words" and of whole "sentences" of the
        held-out pairs that are right; and of hand-linked words found, "links".
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["encoder block"] == str(int(encoder_block))]
    columns = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    return {name: columns[name] for name in ("seconds", "next words", "sentences")} | {
        "links": columns["links found"] / columns["links asked"]
    }
