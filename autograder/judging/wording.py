"""The words of which sentences are made: numbers, places, articles, and what a result is called in them."""

from dataclasses import dataclass
from typing import Any

import numpy as np


def number(x: Any) -> str:
    """A number as a sentence gives it.

    >>> number(np.float64(0.123456)), number(np.True_)
    ('0.1235', 'True')
    """
    return str(bool(x)) if isinstance(x, (bool, np.bool_)) else f"{float(x) + 0.0:.4g}"


def megabytes(size: float) -> str:
    """A number of bytes as a person reads it.

    >>> megabytes(72_000_000), megabytes(1_250_000)
    ('72 MB', '1.2 MB')
    """
    return f"{size / 1e6:.0f} MB" if size >= 10e6 else f"{size / 1e6:.1f} MB"


def article(noun: str) -> str:
    """A noun with the article that it needs.

    >>> article("int"), article("float64"), article("ndarray of object"), article("uint8")
    ('an int', 'a float64', 'an ndarray of object', 'a uint8')
    """
    spoken = noun.lower()
    vowel = spoken[:1] in "aeio" or (spoken.startswith(("nd", "un")) and not spoken.startswith("uni"))
    return f"{'an' if vowel else 'a'} {noun}"


def ordinal(n: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
    return words[n - 1] if n <= len(words) else f"{n}th"


def along_axis(axis: int) -> str:
    """An axis counted from the end, in words: "the last axis but one"."""
    but = ("", " but one", " but two", " but three")
    return f"the last axis{but[-1 - axis]}" if axis >= -4 else f"axis {axis}"


def place_of(where: tuple[int, ...]) -> str:
    """A place in an array: "[0, 2]"."""
    return f"[{', '.join(map(str, where))}]" if where else "its only place"


def are_due(many: int) -> str:
    """How many of something are to be there.

    >>> are_due(1), are_due(3)
    ('1 is due', '3 are due')
    """
    return f"{many} {'is' if many == 1 else 'are'} due"


def placed(place: str, sentence: str) -> str:
    """A sentence after the place that it is about, if there is one.

    >>> placed("In plot 2: ", "The title is ''."), placed("", "The title is ''.")
    ("In plot 2: the title is ''.", "The title is ''.")
    """
    return f"{place}{sentence[0].lower()}{sentence[1:]}" if place else sentence


@dataclass(frozen=True)
class Speaking:
    """How a sentence names a result: the whole of it, a part in some place, or what was asked of it."""

    place: str = ""
    returned: str = "Your function returned"
    result: str = "Your result"
    names: bool = False  # whether `returned` says the place, too

    def says(self, sentence: str) -> str:
        """The sentence, with the place before it."""
        told = self.names and sentence.startswith(self.returned)
        return placed("" if told else self.place, sentence)

    def of_shape(self, shape: tuple[int, ...], due: tuple[int, ...]) -> str:
        """That it has one shape where another is due."""
        return self.says(f"{self.result} has shape {shape}; {due} is due.")

    def inside(self, place: str) -> "Speaking":
        """Of a part at this place."""
        return Speaking(self.says(place), "there is", "the result")


PLAINLY = Speaking()
