"""Read an exercise's list of slips, and make a wrong function of each.

A slip is a small mistake in an otherwise right function. An author writes one function for all
slips of an exercise; it asks its first argument, `SlipSwitches`, which of them it is to make::

    @layer_norm.slips('''
        wrong_axis: You normalised over the tokens.
            Hint: Along which axis do the numbers of one token lie?
        no_gain: The gain is missing.
            Hint: What is the normalised token multiplied by?
    ''')
    def layer_norm_with_slips(slip, x, gain, bias):
        axis = slip.choose(-1, wrong_axis=0)
        normalised = (x - x.mean(axis, keepdims=True)) / x.std(axis, keepdims=True)
        if slip.no_gain:
            gain = 1
        return normalised * gain + bias

Each slip becomes a misconception of the exercise. An answer that makes two of them is recognised as
well (see `autograder.authoring.slip_pairs`).
"""

import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from autograder.core.errors import AutograderError
from autograder.core.text_format import format_name_suggestion

_ENTRY = re.compile(r"(\w+)(?::\s+(.*))?", re.DOTALL)
_HINT = "Hint:"
_EXAMPLE = "`name: Explanation. Hint: Question.`, or the name of a common mistake"


class SlipListError(AutograderError):
    """Error for a list of slips that cannot be read, or a slip that it does not name."""


class SlipSwitches:
    """Switches for one call of an author's function: it makes the slips in `active`.

    `slip.name` is True if the slip of this name is to be made.

    >>> slip = SlipSwitches({"wrong_axis", "no_gain"}, {"no_gain"})
    >>> slip.no_gain, slip.wrong_axis
    (True, False)
    """

    def __init__(
        self, names: Collection[str], active: Collection[str] = (), asked: set[str] | None = None
    ):
        self._names = names
        self._active = active
        self._asked = set() if asked is None else asked  # names that the function has asked for

    def __getattr__(self, name: str) -> bool:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._names:
            suggestion = format_name_suggestion(name, self._names)
            raise SlipListError(f"the list of slips names no {name!r}{suggestion}")
        self._asked.add(name)
        return name in self._active

    def choose(self, right: Any, **wrong: Any) -> Any:
        """Return the wrong value of the slip that is switched on, or the right value if none is.

        >>> SlipSwitches({"wrong_axis"}, {"wrong_axis"}).choose(-1, wrong_axis=0)
        0

        Parameters
        ----------
        right
            Value of a correct function.
        **wrong
            Value for each slip, by the name of the slip.
        """
        chosen = right
        for name, value in wrong.items():
            if getattr(self, name):
                chosen = value
        return chosen


@dataclass(frozen=True)
class SlipEntry:
    """Entry of a list of slips: a slip with its sentences, or a common mistake."""

    name: str
    means: str | None = None
    nudge: str | None = None


def read_slip_list(text: str) -> list[SlipEntry]:
    """Read a list of slips, such as the one in the example of this module.

    >>> read_slip_list("no_gain: The gain is missing. Hint: What is multiplied?")
    [SlipEntry(name='no_gain', means='The gain is missing.', nudge='What is multiplied?')]

    Raises
    ------
    SlipListError
        If an entry has another form.
    """
    entries = []
    for entry_text in _split_entries(text):
        match = _ENTRY.fullmatch(entry_text)
        if match is None:
            raise SlipListError(f"the entry {entry_text!r} cannot be read. Write {_EXAMPLE}.")
        name, sentences = match.groups()
        if sentences:
            means, _, nudge = sentences.partition(_HINT)
            if _HINT in nudge:
                raise SlipListError(f"the entry {name!r} has two hints; write one.")
            entries.append(SlipEntry(name, means.strip(), nudge.strip()))
        else:
            entries.append(SlipEntry(name))
    return entries


def _split_entries(text: str) -> Iterator[str]:
    """Yield each entry in one line. Lines that are indented further continue an entry."""
    entry = ""
    for line in inspect.cleandoc(text).splitlines():
        if entry and line.startswith(" "):
            entry += f" {line.strip()}"
        elif line.strip():
            if entry:
                yield entry
            entry = line.strip()
    if entry:
        yield entry


def bind_slips(
    function: Callable, names: Collection[str], active: Collection[str], asked: set[str]
) -> Callable:
    """Return the function with its first argument bound to the slips that are to be made.

    Parameters
    ----------
    names : collection of str
        All slips of the function.
    active : collection of str
        Slips to be made. The returned function is named after them.
    asked : set of str
        Set that the names are added to for which the function asks.
    """
    slip = SlipSwitches(names, active, asked)

    @functools.wraps(function)
    def call_with_slips(*args: Any, **kwargs: Any) -> Any:
        return function(slip, *args, **kwargs)

    call_with_slips.__name__ = "_and_".join(active) or function.__name__
    attributes = {
        "__signature__": _make_signature_without_slip(function),
        "active_slips": tuple(active),
        "asked_slips": asked,
    }
    vars(call_with_slips).update(attributes)
    return call_with_slips


@functools.lru_cache(maxsize=1)  # one function is bound to each pair of forty slips, 800 times
def _make_signature_without_slip(function: Callable) -> inspect.Signature:
    """Return the function's signature without its first parameter."""
    signature = inspect.signature(function)
    return signature.replace(parameters=list(signature.parameters.values())[1:])
