"""Measure what the lab `learning-to-align` learns, over five starts: the figures that `README.md` states.

    python data/measure_learning.py      prints them; about five minutes, and nothing is written

It runs the solution notebook's own functions. Beside them stands the classic word alignment of Brown and others'
first model, by expectation and maximisation on the same sentences: what co-occurrence without places can give.
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
COMPANIONS = [("programme", "informatique"), ("computer", "program")]  # never apart in the training sentences


def table_by_counting(lab, rounds: int = 6) -> np.ndarray:
    """Probabilities of French words, given an English one: (English words, French words)."""
    table = np.ones((len(lab.english_row), len(lab.french_row)))
    for _ in range(rounds):
        counts = np.zeros_like(table)
        for english, french in lab.numbered:
            shares = table[np.ix_(english, french)]
            np.add.at(counts, (english[:, None], french[None]), shares / shares.sum(axis=0))
        table = counts / counts.sum(axis=1, keepdims=True)
    return table


def counted(lab, table: np.ndarray):
    """How `table` aligns."""

    def align(french, english):
        weights = np.zeros((len(french), len(english)))
        for i, word in enumerate(french):
            for j, other in enumerate(english):
                if word in lab.french_row and other in lab.english_row:
                    weights[i, j] = table[lab.english_row[other], lab.french_row[word]]
        return weights

    return align


def aligner(lab, parameters):
    """How `parameters` align."""

    def vectors(words, row_of, table):
        return np.array([table[row_of[w]] if w in row_of else np.zeros(table.shape[1]) for w in words])

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
        "counting (EM)": counted(lab, table_by_counting(lab)),
    }.items():
        found, asked = share_found(align, known)
        print(f"{name:20} {found / asked:.3f}  {kinds_of_misses(align, known)}")
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
        print("  published sentence:", " ".join(f"{word}:{english[k]}" for word, k in zip(french, best)))
        print(f"  informatique looks at computer with weight {align(*COMPANIONS)[1, 0]:.2f}", flush=True)
    print(f"learned, five starts  {np.mean(shares):.3f}, from {min(shares):.3f} to {max(shares):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
