"""What a judge needs to know of an exercise, as plain data: inputs, questions, misconceptions, rules.

Authors define exercises with `autograder.labs.exercise`; a student's answer key holds the same data.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from autograder.answer import Answer


@dataclass(frozen=True)
class Inputs:
    """The arguments of one call: arrays, numbers, booleans, None, strings, or NumPy scalar types."""

    args: tuple = ()
    kwargs: Mapping = field(default_factory=dict)


def inputs(*args, **kwargs) -> Inputs:
    """The arguments of one call, written as the call would be."""
    return Inputs(args, kwargs)


@dataclass(frozen=True)
class Misconception:
    """A named mistake: the sentence it earns, and a nudge that does not give the answer.

    `function` is the mistake as executable code; it is None where only its outcome is known (in a
    student's answer key).
    """

    name: str
    means: str
    nudge: str
    function: Callable | None = None


@dataclass(frozen=True)
class Question:
    """One case, ready to be judged.

    Parameters
    ----------
    label : str
        What the case is, for a person: "along the columns".
    inputs : Inputs
    expected : numpy.ndarray
        What the reference gives for these inputs.
    mistakes : mapping of str to Answer
        What each misconception gives, by its name; may be computed when first looked at.
    """

    label: str
    inputs: Inputs
    expected: np.ndarray
    mistakes: Mapping[str, Answer]


@dataclass(frozen=True)
class Rules:
    """How the answers to one exercise are compared.

    Parameters
    ----------
    tolerance : float
        Largest relative error in float64; widened for float32 and float16 inputs.
    view : str
        What is compared: "as is", or a name from `autograder.compare.VIEWS`.
    properties : sequence of str
        Names from `autograder.compare.PROPERTIES` to mention when no misconception fits.
    exact_dtype : bool
        Whether the result must have exactly the expected dtype; else a wider float will do.
    returns : {"array", "tensor"}
        "tensor" admits the tensors of Keras's backends besides arrays, and any dtype: values count.
    call : {"function", "layer", "layer in its dtype"}
        "layer" makes an instance of the student's class first, and calls that; "layer in its dtype"
        makes it under Keras's dtype policy of the case's first input (float16, say).
    """

    tolerance: float = 1e-7
    view: str = "as is"
    properties: Sequence[str] = ()
    exact_dtype: bool = False
    returns: str = "array"
    call: str = "function"
