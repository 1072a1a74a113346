"""Defining an exercise: cases to answer, and the mistakes that people really make.

An exercise reads as a few short blocks (see `autograder.labs`)::

    softmax = Exercise("softmax", lab="qkv-attention", points=2, properties=["sums to one"])

    @softmax.case("along the columns")
    def columns(rng):
        return inputs(rng.normal(size=(4, 3)), axis=0)

    @softmax.misconception(
        means="You divided each row by its own sum, whatever `axis` says.",
        nudge="Which numbers should add up to 1 when axis is 0?",
    )
    def always_rows(x, axis=0):
        ...
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from autograder.answer import Answer, ask
from autograder.compare import STRUCTURAL
from autograder.exercise import Inputs, Misconception, Question, Rules
from autograder.exercise import inputs as inputs  # for the labs to import from here
from autograder.labs.reference import reference


def sizes(rng: np.random.Generator, count: int, low: int = 2, high: int = 8) -> list[int]:
    """`count` different axis lengths from `low` to `high`, so that no transpose can hide.

    >>> len(set(sizes(np.random.default_rng(0), 3)))
    3
    """
    return [int(n) for n in rng.choice(np.arange(low, high + 1), size=count, replace=False)]


class Exercise:
    """An exercise: its points, cases and misconceptions, gathered by decorators.

    Parameters
    ----------
    name : str
        The name of the function (or class) the student writes; unique across labs.
    lab : str
        The lab's name, such as "qkv-attention".
    points : float
    builds_on : sequence of str
        Exercises whose answers this one calls, for follow-through marking.
    **rules
        Fields of `Rules`.
    """

    def __init__(self, name: str, *, lab: str, points: float, builds_on: Sequence[str] = (), **rules):
        self.name = name
        self.lab = lab
        self.points = points
        self.builds_on = tuple(builds_on)
        self.rules = Rules(**rules)
        self.misconceptions: list[Misconception] = []
        self._draws: list[tuple[str, Callable]] = []

    def __repr__(self):
        return f"Exercise({self.name!r}, lab={self.lab!r}, points={self.points})"

    def case(self, label: str):
        """Decorate a function of a `numpy.random.Generator` that returns `inputs(...)`."""

        def register(draw):
            self._draws.append((label, draw))
            return draw

        return register

    def misconception(self, *, means: str, nudge: str):
        """Decorate a wrong implementation; its name, hyphenated, is the misconception's."""

        def register(function):
            name = function.__name__.strip("_").replace("_", "-")
            if any(m.name == name for m in self.misconceptions):
                raise ValueError(f"{self.name} has a misconception {name!r} already")
            self.misconceptions.append(Misconception(name, means, nudge, function))
            return function

        return register

    def structural(self, function):
        """Decorate a wrong implementation named after a mistake of form in `compare.STRUCTURAL`."""
        means, nudge = STRUCTURAL[function.__name__.strip("_").replace("_", "-")]
        return self.misconception(means=means, nudge=nudge)(function)

    @cached_property
    def reference(self) -> Callable:
        """The solution notebook's own function."""
        return getattr(reference(self.lab), self.name)

    def draw(self, seed: int | None = None) -> list[tuple[str, Inputs]]:
        """The cases' labels and inputs; with no seed, those that students see."""
        seed = zlib.crc32(self.name.encode()) if seed is None else seed
        streams = np.random.SeedSequence(seed).spawn(len(self._draws))
        return [
            (label, draw(np.random.default_rng(stream)))
            for (label, draw), stream in zip(self._draws, streams, strict=True)
        ]

    def questions(self, seed: int | None = None) -> list[Question]:
        """The cases with what the reference and each misconception make of them."""
        return self._visible if seed is None else self._questions(seed)

    @cached_property
    def _visible(self) -> list[Question]:
        """The same for every hand-in, so computed once."""
        return self._questions(None)

    def _questions(self, seed: int | None) -> list[Question]:
        return [
            Question(label, given, self._expected(given), _Mistakes(self, given))
            for label, given in self.draw(seed)
        ]

    def _expected(self, given: Inputs) -> np.ndarray:
        answer = ask(self.reference, given, self.rules.call)
        if answer.error or answer.value is None or answer.modified:
            raise RuntimeError(f"the reference for {self.name} fails on its own case: {answer}")
        return answer.value


class _Mistakes(Mapping):
    """What each misconception gives for one case, computed when first asked for."""

    def __init__(self, exercise: Exercise, given: Inputs):
        self._exercise, self._given, self._answers = exercise, given, {}

    def __getitem__(self, name: str) -> Answer:
        if name not in self._answers:
            wrong = next((m for m in self._exercise.misconceptions if m.name == name), None)
            if wrong is None:
                raise KeyError(name)
            self._answers[name] = ask(wrong.function, self._given, self._exercise.rules.call)
        return self._answers[name]

    def __iter__(self):
        return (m.name for m in self._exercise.misconceptions)

    def __len__(self):
        return len(self._exercise.misconceptions)
