"""Words for sentences that tell students about their results: numbers, articles, positions."""

from dataclasses import dataclass
from typing import Any

import numpy as np


def format_number(number: Any) -> str:
    """Format a number for a sentence to students, with at most four digits.

    >>> format_number(np.float64(0.123456)), format_number(np.True_)
    ('0.1235', 'True')
    """
    if isinstance(number, (bool, np.bool_)):
        return str(bool(number))
    return f"{float(number) + 0.0:.4g}"  # + 0.0 turns -0.0 into 0.0


def format_megabytes(byte_count: float) -> str:
    """Return a number of bytes as text in megabytes.

    >>> format_megabytes(72_000_000), format_megabytes(1_250_000)
    ('72 MB', '1.2 MB')
    """
    if byte_count >= 10e6:
        return f"{byte_count / 1e6:.0f} MB"
    return f"{byte_count / 1e6:.1f} MB"


def add_article(noun: str) -> str:
    """Return a noun with its indefinite article.

    >>> add_article("int"), add_article("float64"), add_article("ndarray of object")
    ('an int', 'a float64', 'an ndarray of object')
    >>> add_article("uint8")
    'a uint8'
    """
    spoken = noun.lower()
    starts_with_un = spoken.startswith("un") and not spoken.startswith("uni")
    if spoken[:1] in "aeio" or spoken.startswith("nd") or starts_with_un:
        return f"an {noun}"
    return f"a {noun}"


def format_differently(first: float, second: float) -> tuple[str, str]:
    """Format two unequal numbers with as many digits as it takes to see a difference.

    >>> format_differently(1.0, 1.0 + 1e-7), format_differently(0.25, 0.25 + 1e-15)
    (('1', '1.0000001'), ('0.25', '0.250000000000001'))
    """
    texts = f"{first:.9g}", f"{second:.9g}"
    if texts[0] == texts[1]:
        texts = repr(float(first)), repr(float(second))
    return texts


def format_ordinal(number: int) -> str:
    """Return the word for a position: "first" … "ninth", then "10th", "11th" …

    >>> [format_ordinal(number) for number in (2, 11, 21, 112)]
    ['second', '11th', '21st', '112th']
    """
    words = "first second third fourth fifth sixth seventh eighth ninth".split()
    if number <= len(words):
        return words[number - 1]
    ending = "th"
    if number // 10 % 10 != 1:  # "11th", but "21st"
        ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def describe_axis(axis: int) -> str:
    """Return words for an axis that is counted from the end: -2 is "the second-to-last axis"."""
    if axis == -1:
        return "the last axis"
    return f"the {format_ordinal(-axis)}-to-last axis"


def format_index(index: tuple[int, ...]) -> str:
    """Format an index into an array: "[0, 2]"; "its only entry" if the array has no axes."""
    if not index:
        return "its only entry"
    return f"[{', '.join(map(str, index))}]"


def prefix_place(place: str, sentence: str) -> str:
    """Put words for a place in the result, such as "In plot 2: ", before a sentence.

    "" stands for no place.

    >>> prefix_place("In plot 2: ", "The title is ''."), prefix_place("", "The title is ''.")
    ("In plot 2: the title is ''.", "The title is ''.")
    """
    if not place:
        return sentence
    return f"{place}{sentence[0].lower()}{sentence[1:]}"


@dataclass(frozen=True)
class ResultWording:
    """Words by which sentences to students name the result, or a part of it.

    Parameters
    ----------
    place : str
        Beginning of each sentence, such as "Under 'a': "; "" for the result as a whole.
    lead_in : str
        Beginning of a sentence that goes on with the returned value: "Your function returned".
    result : str
        Name of the result in a sentence: "Your result".
    names_place : bool
        True if `lead_in` itself names the place, so that `place` is not put before it.
    """

    place: str = ""
    lead_in: str = "Your function returned"
    result: str = "Your result"
    names_place: bool = False

    def add_place(self, sentence: str) -> str:
        """Return a sentence with the place in the result, such as "In plot 2: ", before it."""
        if self.names_place and sentence.startswith(self.lead_in):
            return sentence
        return prefix_place(self.place, sentence)

    def shape_sentence(self, shape: tuple[int, ...], expected: tuple[int, ...]) -> str:
        """Return a sentence to the student: the result has another shape than expected."""
        return self.add_place(f"{self.result} has shape {shape}; expected {expected}.")

    def for_part(self, place: str) -> "ResultWording":
        """Return the words for one part of the result; `place` names the part."""
        return ResultWording(self.add_place(place), "found", "the result")


PLAIN_WORDING = ResultWording()
