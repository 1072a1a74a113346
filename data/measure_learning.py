"""Measure what the lab `learning-to-align` learns, over five starts: the figures that `README.md` states.

    python data/measure_learning.py      prints them; about five minutes, and nothing is written

It runs the solution notebook's own functions and compares them with three methods that know no positions either:
counts of co-occurrence, the Dice coefficient (both computed in the notebook), and the first model of Brown and others
(IBM Model 1), trained by expectation-maximisation (EM) on the same sentences.
"""

import sys
from pathlib import Path

import numpy as np

from attention_labs.alignment import (
    by_chance,
    constructed,
    diagonal,
    hand_linked,
    kinds_of_misses,
    share_found,
)
from attention_labs.embeddings import tokenize
from attention_labs.published import ENGLISH, FRENCH
from autograder.authoring.lab import read_lab
from autograder.core.course import read_course

SEEDS = range(5)
COMPANIONS = [
    ("programme", "informatique"),
    ("computer", "program"),
]  # never apart in the training sentences


def ibm_model_1(lab, rounds: int = 6) -> np.ndarray:
    """Probabilities of French words, given an English one: (English words, French words)."""
    table = np.ones((len(lab.english_row), len(lab.french_row)))
    for _ in range(rounds):
        counts = np.zeros_like(table)
        for english, french in lab.numbered:
            shares = table[np.ix_(english, french)]
            np.add.at(counts, (english[:, None], french[None]), shares / shares.sum(axis=0))
        table = counts / counts.sum(axis=1, keepdims=True)
    return table


def co_occurrence_counts(lab) -> np.ndarray:
    """Return in how many sentence pairs two words occur together: (English words, French words)."""
    counts = np.zeros((len(lab.english_row), len(lab.french_row)))
    for english, french in lab.numbered:
        counts[np.ix_(np.unique(english), np.unique(french))] += 1
    return counts


def dice_coefficients(lab) -> np.ndarray:
    """Return 2 n(e, f) / (n(e) + n(f)) for each pair of words: (English words, French words)."""
    english_counts, french_counts = np.zeros(len(lab.english_row)), np.zeros(len(lab.french_row))
    for english, french in lab.numbered:
        english_counts[np.unique(english)] += 1
        french_counts[np.unique(french)] += 1
    return 2 * co_occurrence_counts(lab) / (english_counts[:, np.newaxis] + french_counts)


def counted(lab, table: np.ndarray):
    """Return a function that aligns each French word with the English word of the largest number in `table`."""

    def align(french, english):
        weights = np.zeros((len(french), len(english)))
        for i, word in enumerate(french):
            for j, other in enumerate(english):
                if word in lab.french_row and other in lab.english_row:
                    weights[i, j] = table[lab.english_row[other], lab.french_row[word]]
        return weights

    return align


def aligner(lab, parameters):
    """Return a function that aligns words by the given parameters."""

    def vectors(words, row_of, table):
        return np.array(
            [table[row_of[w]] if w in row_of else np.zeros(table.shape[1]) for w in words]
        )

    return lambda french, english: lab.attention_weights(
        vectors(french, lab.french_row, parameters["queries"]),
        vectors(english, lab.english_row, parameters["keys"]),
    )


def final_loss(lab, parameters) -> float:
    """The loss without noise on every tenth training pair."""
    return lab.loss_and_gradients(parameters, lab.numbered[::10])[0]


def main() -> int:
    lab = read_lab(read_course(Path(__file__).parents[1]), "learning-to-align").reference
    known = lab.french_row
    print(
        f"linked French words that count: {share_found(diagonal, known)[1]} of {len(hand_linked())} sentences"
    )
    print(f"by chance            {by_chance(known):.3f}")
    for name, align in {
        "diagonal": diagonal,
        "constructed vectors": constructed,
        "co-occurrence counts": counted(lab, co_occurrence_counts(lab)),
        "Dice coefficient": counted(lab, dice_coefficients(lab)),
        "IBM Model 1 (EM)": counted(lab, ibm_model_1(lab)),
    }.items():
        found, asked = share_found(align, known)
        print(f"{name:21} {found / asked:.3f}  {kinds_of_misses(align, known)}")
    english, french = tokenize(ENGLISH), tokenize(FRENCH)
    shares = []
    for seed in SEEDS:
        parameters = lab.train(lab.numbered, seed=seed)
        align = aligner(lab, parameters)
        found, asked = share_found(align, known)
        shares.append(found / asked)
        print(f"learned, start {seed}     {shares[-1]:.3f}  {kinds_of_misses(align, known)}")
        print(f"  loss on every tenth training pair {final_loss(lab, parameters):.3f}")
        best = align(french, english).argmax(axis=1)
        print(
            "  published sentence:",
            " ".join(f"{word}:{english[k]}" for word, k in zip(french, best)),
        )
        print(
            f"  informatique looks at computer with weight {align(*COMPANIONS)[1, 0]:.2f}",
            flush=True,
        )
    print(
        f"learned, five starts  {np.mean(shares):.3f}, from {min(shares):.3f} to {max(shares):.3f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
