"""How well attention finds the words that belong together, measured on sentence pairs linked by hand."""

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
    """A sentence pair, and the places (i, j) whose words say the same: English i, French j, from 0."""

    english: list[str]
    french: list[str]
    links: frozenset[tuple[int, int]]


@cache
def hand_linked(path: Path = DATA / "alignments.txt") -> tuple[Linked, ...]:
    """The sentence pairs of ``data/alignments.txt``; nothing in the course is built or trained on them."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    pairs = []
    for block in "\n".join(lines).strip().split("\n\n"):
        part = dict(line.split(": ", 1) for line in block.splitlines())
        links = frozenset(tuple(map(int, link.split("-"))) for link in part["links"].split())
        pairs.append(Linked(tokenize(part["en"]), tokenize(part["fr"]), links))
    return tuple(pairs)


@cache
def sentence_pairs(path: Path = DATA / "sentence_pairs.txt") -> tuple[tuple[list[str], list[str]], ...]:
    """The pairs to learn from: English words, French words. `data/README.md` says how they were made."""
    lines = path.read_text(encoding="utf-8").splitlines()
    halves = (line.split("\t") for line in lines)
    return tuple((english.split(), french.split()) for english, french in halves)


def linked_words(pairs: Iterable[Linked] | None = None, known: Iterable[str] | None = None):
    """Each French word that has a link: (pair, its place, the English places it is linked to)."""
    for pair in hand_linked() if pairs is None else pairs:
        for place, word in enumerate(pair.french):
            right = {i for i, j in pair.links if j == place}
            if right and (known is None or word in known):
                yield pair, place, right


def share_found(align: Align, known: Iterable[str] | None = None) -> tuple[int, int]:
    """How many linked French words have their largest weight on an English word that they are linked to.

    Parameters
    ----------
    align : callable
        From French words (L_fr) and English words (L_en) to weights, shape (L_fr, L_en).
    known : collection of str, optional
        French words; others are left out.

    Returns
    -------
    (int, int)
        The words found, and the words that count.
    """
    return len(asked := list(linked_words(known=known))) - len(missed(align, known)), len(asked)


def missed(align: Align, known: Iterable[str] | None = None) -> list[tuple[Linked, int, int]]:
    """The linked French words whose largest weight falls elsewhere: (pair, its place, the English place)."""
    weights = {id(pair): np.asarray(align(pair.french, pair.english)) for pair in hand_linked()}
    found = []
    for pair, place, right in linked_words(known=known):
        best = int(weights[id(pair)][place].argmax())
        if best not in right:
            found.append((pair, place, best))
    return found


def kinds_of_misses(align: Align, known: Iterable[str] | None = None) -> dict[str, int]:
    """How many misses fell on the right word at its other place, on a sign such as a full stop, elsewhere."""
    kinds = {
        "the right word, at its other place": 0,
        "a full stop, question mark or comma": 0,
        "another word": 0,
    }
    for pair, place, best in missed(align, known):
        word = pair.english[best]
        if word in {pair.english[i] for i, j in pair.links if j == place}:
            kinds["the right word, at its other place"] += 1
        elif word in SIGNS:
            kinds["a full stop, question mark or comma"] += 1
        else:
            kinds["another word"] += 1
    return kinds


def by_chance(known: Iterable[str] | None = None) -> float:
    """The share that a blind guess finds on average."""
    return float(np.mean([len(right) / len(pair.english) for pair, _, right in linked_words(known=known)]))


def diagonal(french: Sequence[str], english: Sequence[str]) -> np.ndarray:
    """The alignment that knows no words: first to first, last to last, the others in proportion."""
    places = np.linspace(0, len(english) - 1, len(french))
    return -np.abs(np.arange(len(english)) - places[:, None])


def constructed(french: Sequence[str], english: Sequence[str]) -> np.ndarray:
    """The alignment of the vectors that come with the course, which are made from a lexicon: dot products."""
    rows = []
    for words, language in ((french, "fr"), (english, "en")):
        vectors = load_embeddings(language, which="shipped")
        rows.append(np.array([vectors[w] if w in vectors else np.zeros(DIMENSIONS) for w in words]))
    return rows[0] @ rows[1].T


class Watch:
    """Looks on while something trains: shows a progress bar, and keeps what the pictures need.

    Parameters
    ----------
    steps : int
        How many there will be.
    measure : callable
        From parameters to the share of linked words found.
    keep : sequence of int
        The steps whose parameters are kept; 0 is the start.
    every : int
        How often `measure` is asked.

    Attributes
    ----------
    losses : list of float
        One a step.
    shares : dict of int to float
    kept : dict of int to mapping
    """

    def __init__(self, steps: int, measure: Callable, keep: Sequence[int] = (), every: int = 20):
        self.steps, self.measure, self.keep, self.every = steps, measure, {*keep}, every
        self.losses, self.shares, self.kept, self._bar = [], {}, {}, Bar(steps)

    def __call__(self, step: int, loss: float, parameters) -> None:
        """Note a step: its number, its loss and the parameters after it; step 0 has no loss."""
        if step:
            self.losses.append(float(loss))
        if step in self.keep:
            self.kept[step] = {name: array.copy() for name, array in parameters.items()}
        if step % self.every == 0 or step == self.steps:
            self.shares[step] = self.measure(parameters)
            self._show(step)

    def _show(self, step: int) -> None:
        loss = f", loss {np.mean(self.losses[-20:]):.2f}" if self.losses else ""
        text = f"step {step} of {self.steps}{loss}, {self.shares[step]:.0%} of the linked words found"
        self._bar.show(step, text)
