"""What the lab `training` trains on, watches with, and compares with; `data/README.md` says how it was made.

>>> stories().shape
(32000, 48)
>>> said_twice(3, half=5).shape
(3, 10)
"""

import csv
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attention_labs.bar import Bar
from attention_labs.tiny_model import ModelError

DATA = Path(__file__).resolve().parents[1] / "data"
STORIES = DATA / "stories.npz"
RUNS = DATA / "training_runs.csv"
WORDS = 210  # in the vocabulary of the stories
LENGTH = 48  # words in a story


def stories(path: Path = STORIES) -> np.ndarray:
    """The stories to train on, as tokens: int, shape (32000, 48).

    Raises
    ------
    ModelError
        If there is no such file, or it holds no stories.
    """
    try:
        with np.load(path) as kept:
            return kept["stories"].astype(np.int64)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(
            f"The stories in {path} cannot be read ({error}); get the course's data anew."
        ) from None


def repeated(rng: np.random.Generator, count: int, words: int = WORDS, length: int = LENGTH) -> np.ndarray:
    """Word lists without sense, said again and again: (count, length). What comes after a word was said before."""
    rows = np.empty((count, length), dtype=int)
    for row in rows:
        size = int(rng.integers(5, 25))
        start = int(rng.integers(0, 8))
        row[:start] = rng.integers(words, size=start)
        row[start:] = np.resize(rng.permutation(words)[:size], length - start)
    return rows


def said_twice(count: int, half: int = 20, seed: int = 1) -> np.ndarray:
    """Random different words, and the same once more: int, shape (count, 2 * half)."""
    rng = np.random.default_rng(seed)
    once = np.array([rng.permutation(WORDS)[:half] for _ in range(count)])
    return np.concatenate([once, once], axis=1)


def waves(length: int, size: int) -> np.ndarray:
    """Sines and cosines of the positions, (length, size): what the position vectors start from."""
    angles = np.arange(length)[:, None] * 30.0 ** (-np.arange(0, size, 2) / size)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, size)


class Run(NamedTuple):
    """A training that was measured: (points,) each.

    `losses` are means over the last hundred steps, `scores` the induction score of the best head; `held_out` is the
    loss at the end on stories that nothing was trained on.
    """

    steps: np.ndarray
    losses: np.ndarray
    scores: np.ndarray
    held_out: float


@cache
def runs(path: Path = RUNS) -> Mapping[str, Run]:
    """The trainings that come with the course, by name; `solutions/training/_measure_runs.py` made them."""
    rows: dict[str, list[dict[str, str]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["run"], []).append(row)
    return {
        name: Run(
            np.array([int(r["step"]) for r in of_run]),
            *(np.array([float(r[what]) for r in of_run]) for what in ("loss", "induction")),
            float(of_run[-1]["held_out"]),
        )
        for name, of_run in rows.items()
    }


class Watch:
    """Looks on while a model trains: a progress bar with the loss and a score, and what the pictures need.

    Parameters
    ----------
    steps : int
        How many there will be.
    measure : callable
        From parameters to the score that is shown.
    every : int
        How often `measure` is asked.

    Attributes
    ----------
    losses : list of float
        One a step.
    scores : dict of int to float
        By step.
    """

    def __init__(self, steps: int, measure: Callable[[Mapping], float], every: int = 50):
        self.steps, self.measure, self.every = steps, measure, every
        self.losses: list[float] = []
        self.scores: dict[int, float] = {}
        self._bar = Bar(steps)

    def __call__(self, step: int, loss: float, parameters: Mapping) -> None:
        """Note a step: its number, its loss, and the parameters after it."""
        if step <= len(self.losses):  # a new start
            self.losses, self.scores = [], {}
        self.losses.append(float(loss))
        if step % self.every == 0 or step == self.steps:
            self.scores[step] = float(self.measure(parameters))
            self._show(step)

    def _show(self, step: int) -> None:
        loss, score = np.mean(self.losses[-100:]), self.scores[step]
        text = f"step {step} of {self.steps}, loss {loss:.2f}, induction score {score:.2f}"
        self._bar.show(step, text)
