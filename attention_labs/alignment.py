"""Align words by attention, and measure how often that agrees with links made by hand."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attention_labs.bar import Bar
from attention_labs.embeddings import DATA, DIMENSIONS, load_embeddings, tokenize

SIGNS = {".", ",", "?"}

Align = Callable[[Sequence[str], Sequence[str]], np.ndarray]


class Linked(NamedTuple):
    """A sentence pair; a link (i, j) says that English word i and French word j mean the same."""

    english: list[str]
    french: list[str]
    links: frozenset[tuple[int, int]]


@cache
def hand_linked(path: Path = DATA / "alignments.txt") -> tuple[Linked, ...]:
    """Read the sentence pairs with links made by hand, which no model was trained on."""
    lines = path.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith("#")]
    pairs = []
    for block in "\n".join(lines).strip().split("\n\n"):
        part = dict(line.split(": ", 1) for line in block.splitlines())
        links = frozenset(tuple(map(int, link.split("-"))) for link in part["links"].split())
        pairs.append(Linked(tokenize(part["en"]), tokenize(part["fr"]), links))
    return tuple(pairs)


@cache
def sentence_pairs(
    path: Path = DATA / "sentence_pairs.txt",
) -> tuple[tuple[list[str], list[str]], ...]:
    """Read the sentence pairs for training: English words and French words."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = []
    for line in lines:
        english, french = line.split("\t")
        pairs.append((english.split(), french.split()))
    return tuple(pairs)


def linked_words(pairs: Iterable[Linked] | None = None, known: Iterable[str] | None = None):
    """Yield each French word that has a link: its pair, position and linked English positions."""
    for pair in hand_linked() if pairs is None else pairs:
        for place, word in enumerate(pair.french):
            right = {i for i, j in pair.links if j == place}
            if right and (known is None or word in known):
                yield pair, place, right


def share_found(align: Align, known: Iterable[str] | None = None) -> tuple[int, int]:
    """Count the French words whose largest weight is on an English word that they are linked to.

    Parameters
    ----------
    align : callable
        From French words (L_fr) and English words (L_en) to weights, shape (L_fr, L_en).
    known : collection of str, optional
        French words; others are left out.

    Returns
    -------
    (int, int)
        The number of words found, and of all linked words.
    """
    total = len(list(linked_words(known=known)))
    return total - len(missed(align, known)), total


def missed(align: Align, known: Iterable[str] | None = None) -> list[tuple[Linked, int, int]]:
    """Return each French word with its largest weight on a wrong word: pair and two positions."""
    weights = {}
    for pair in hand_linked():
        weights[id(pair)] = np.asarray(align(pair.french, pair.english))
    misses = []
    for pair, place, right in linked_words(known=known):
        best = int(weights[id(pair)][place].argmax())
        if best not in right:
            misses.append((pair, place, best))
    return misses


def kinds_of_misses(align: Align, known: Iterable[str] | None = None) -> dict[str, int]:
    """Count the wrong alignments by kind: right word elsewhere, punctuation, another word."""
    kinds = {
        "the right word, at its other position": 0,
        "a full stop, question mark or comma": 0,
        "another word": 0,
    }
    for pair, place, best in missed(align, known):
        word = pair.english[best]
        if word in {pair.english[i] for i, j in pair.links if j == place}:
            kinds["the right word, at its other position"] += 1
        elif word in SIGNS:
            kinds["a full stop, question mark or comma"] += 1
        else:
            kinds["another word"] += 1
    return kinds


def by_chance(known: Iterable[str] | None = None) -> float:
    """Return the share of words that random guesses align rightly, on average."""
    return float(
        np.mean([len(right) / len(pair.english) for pair, _, right in linked_words(known=known)]),
    )


def diagonal(french: Sequence[str], english: Sequence[str]) -> np.ndarray:
    """Align by position only: first word to first, last to last, the others in proportion."""
    places = np.linspace(0, len(english) - 1, len(french))
    return -np.abs(np.arange(len(english)) - places[:, None])


def constructed(french: Sequence[str], english: Sequence[str]) -> np.ndarray:
    """Align by dot products of the course's own word vectors, which were made from a lexicon."""
    rows = []
    for words, language in ((french, "fr"), (english, "en")):
        vectors = load_embeddings(language, which="shipped")
        rows.append(np.array([vectors[w] if w in vectors else np.zeros(DIMENSIONS) for w in words]))
    return rows[0] @ rows[1].T


class Watch:
    """Monitor of a training run: shows a progress bar, and stores data for the pictures.

    Parameters
    ----------
    steps : int
        Number of steps.
    measure : callable
        From parameters to the share of linked words found.
    keep : sequence of int
        The steps whose parameters are stored; 0 is the start.
    every : int
        Interval, in steps, at which `measure` is called.

    Attributes
    ----------
    losses : list of float
        Loss of each step.
    shares : dict of int to float
        Measured shares by step.
    kept : dict of int to mapping
        Copies of the parameters by step.
    """

    def __init__(self, steps: int, measure: Callable, keep: Sequence[int] = (), every: int = 20):
        self.steps, self.measure, self.keep, self.every = steps, measure, {*keep}, every
        self.losses, self.shares, self.kept, self._bar = [], {}, {}, Bar(steps)

    def __call__(self, step: int, loss: float, parameters) -> None:
        """Record one step of training: its loss and the parameters after it; step 0 has no loss."""
        if step:
            self.losses.append(float(loss))
        if step in self.keep:
            self.kept[step] = {name: array.copy() for name, array in parameters.items()}
        if step % self.every == 0 or step == self.steps:
            self.shares[step] = self.measure(parameters)
            self._show(step)

    def _show(self, step: int) -> None:
        loss = f", loss {np.mean(self.losses[-20:]):.2f}" if self.losses else ""
        text = (
            f"step {step} of {self.steps}{loss}, {self.shares[step]:.0%} of the linked words found"
        )
        self._bar.show(step, text)
