"""Data, progress monitor and stored runs for the lab `training`; `data/README.md` has the sources.

>>> stories().shape
(32000, 48)
>>> said_twice(3, half=5).shape
(3, 10)
"""

import csv
import zipfile
from collections.abc import Callable, Mapping, Sequence
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
    """Return the training stories as numbers of words (tokens): int, shape (32000, 48).

    Raises
    ------
    ModelError
        If there is no such file, or its content is no stories.
    """
    try:
        with np.load(path) as archive:
            return archive["stories"].astype(np.int64)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(
            f"The stories in {path} cannot be read ({error}); get the course's data anew.",
        ) from None


def repeated(
    rng: np.random.Generator,
    count: int,
    words: int = WORDS,
    length: int = LENGTH,
) -> np.ndarray:
    """Return rows of random words, each list repeated to the row's end: int, (count, length)."""
    rows = np.empty((count, length), dtype=int)
    for row in rows:
        size = int(rng.integers(5, 25))
        start = int(rng.integers(0, 8))
        row[:start] = rng.integers(words, size=start)
        row[start:] = np.resize(rng.permutation(words)[:size], length - start)
    return rows


def said_twice(count: int, half: int = 20, seed: int = 1) -> np.ndarray:
    """Return rows of different random words, each row said twice: int, shape (count, 2 * half)."""
    rng = np.random.default_rng(seed)
    half_texts = np.array([rng.permutation(WORDS)[:half] for _ in range(count)])
    return np.concatenate([half_texts, half_texts], axis=1)


def waves(length: int, size: int) -> np.ndarray:
    """Return the initial position vectors, sines and cosines of the positions: (length, size)."""
    angles = np.arange(length)[:, None] * 30.0 ** (-np.arange(0, size, 2) / size)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, size)


class Run(NamedTuple):
    """Measurements during one training run, as arrays of shape (points,).

    `losses` are means over the last hundred steps, `scores` the induction scores of the best head,
    and `held_out` is the final loss on stories that were not in the training data.
    """

    steps: np.ndarray
    losses: np.ndarray
    scores: np.ndarray
    held_out: float


@cache
def runs(path: Path = RUNS) -> Mapping[str, Run]:
    """Read the measurements of the stored training runs, by the run's name."""
    rows: dict[str, list[dict[str, str]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["run"], []).append(row)
    return {
        name: Run(
            np.array([int(r["step"]) for r in of_run]),
            *(np.array([float(r[column]) for r in of_run]) for column in ("loss", "induction")),
            float(of_run[-1]["held_out"]),
        )
        for name, of_run in rows.items()
    }


class TrainingMonitor:
    """Monitor of a training run: shows a progress bar, and stores data for the pictures.

    Parameters
    ----------
    steps : int
        Number of steps.
    measure : callable
        From parameters to the score.
    every : int
        Interval, in steps, at which `measure` is called.
    keep : sequence of int
        Steps after which the parameters are kept.

    Attributes
    ----------
    losses : list of float
        Loss of each step.
    scores : dict of int to float
        Measured scores by step.
    kept : dict of int to mapping
        Parameters by step.
    """

    def __init__(
        self,
        steps: int,
        measure: Callable[[Mapping], float],
        every: int = 50,
        keep: Sequence[int] = (),
    ):
        self.steps, self.measure, self.every, self.keep = steps, measure, every, {*keep}
        self.losses: list[float] = []
        self.scores: dict[int, float] = {}
        self.kept: dict[int, Mapping] = {}
        self._bar = Bar(steps)

    def __call__(self, step: int, loss: float, parameters: Mapping) -> None:
        """Record one step of training: its loss, and the parameters after it."""
        if step <= len(self.losses):  # a new run
            self.losses, self.scores, self.kept = [], {}, {}
        self.losses.append(float(loss))
        if step in self.keep:
            self.kept[step] = parameters
        if step % self.every == 0 or step == self.steps:
            self.scores[step] = float(self.measure(parameters))
            self._show(step)

    def _show(self, step: int) -> None:
        loss, score = np.mean(self.losses[-100:]), self.scores[step]
        text = f"step {step} of {self.steps}, loss {loss:.2f}, induction score {score:.2f}"
        self._bar.show(step, text)


Watch = TrainingMonitor  # the name in the notebooks
