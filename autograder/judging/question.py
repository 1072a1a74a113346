"""What a judge needs to know of an exercise, as plain data: inputs, questions, answers, misconceptions, rules.

Authors define exercises with `autograder.authoring`; a student's answer key holds the same data.

A **value** is what goes into a call and comes out of it: None, a bool, int, float, complex or text, a date or a
duration, an array of one of `DTYPES`, of texts or of dates, a table of pandas, a NumPy scalar type, or a tuple, list, set
or mapping of values; into a call also what is `Made`, out of it what is drawn. Each kind of them is a class in
`autograder.judging.kinds`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

DTYPES = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split())
LAYOUTS = ("C", "F", "strided", "repeated")

Value = Any  # as above; a type cannot say it
Tolerance = float | tuple[float, float]  # relative; or relative and absolute

_NAMES = {np.dtype(name): name for name in DTYPES}


def dtype_name(dtype: np.dtype) -> str:
    """What NumPy's own `name` says, of the usual dtypes without working it out again each time.

    >>> dtype_name(np.dtype("float32")), dtype_name(np.dtype(">f8")), dtype_name(np.dtype("U3"))
    ('float32', 'float64', 'str96')
    """
    return _NAMES.get(dtype) or dtype.name


@dataclass(frozen=True)
class Inputs:
    """The arguments of one call.

    Parameters
    ----------
    args, kwargs : tuple and mapping of values
    memory : int, optional
        How many bytes the call may hold at once beside its inputs.
    asked : tuple of Made
        What is asked of the result; then a tuple of what comes of that is judged in its place.
    """

    args: tuple = ()
    kwargs: Mapping[str, Value] = field(default_factory=dict)
    memory: int | None = None
    asked: tuple = ()

    def then(self, *asked: Any) -> "Inputs":
        """The same call, whose result is then asked these in order; see `autograder.judging.asking.result`."""
        return replace(self, asked=(*self.asked, *asked))


def inputs(*args: Value, **kwargs: Value) -> Inputs:
    """The arguments of one call, written as the call would be."""
    return Inputs(args, kwargs)


@dataclass(frozen=True)
class Made:
    """A function among the arguments, or what it makes of values; no answer is one.

    It travels by its name, and each process that calls an answer finds its own: nothing of it is sent.

    Parameters
    ----------
    function : str or callable
        "module:function"; as an author writes it, the function. "" is the result, in what is asked of it.
    args, kwargs : tuple and mapping of values
        What it is called with, anew for each call of an answer; without `args` the function itself is given.
    """

    function: Any
    args: tuple | None = None
    kwargs: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Raised:
    """What is due where a call must raise: the type of the error, by its name, and a part of its text."""

    type: str
    part: str = ""


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
class Answer:
    """What one call gave.

    Parameters
    ----------
    value : value or None
        The result, where it was one; None too where it was something else, as `type` tells. Where something was
        asked of it, a tuple of what came of that, up to an error or to something else, which `type` tells then.
    type : str
        What it was: "ndarray", "tensor", "list", "NoneType"...
    error : str
        "ValueError: what it said" if the call raised, else "".
    modified : tuple of str
        The arguments whose values the call changed in place.
    printed : str
        What it printed.
    line : str
        The line of the student's code that raised, and its number: "3: return a @ b".
    within : str
        The name of the student's function that holds this line.
    held : int
        The most bytes that it held at once beside its inputs, where the question limits them; else 0.
    """

    value: Value = None
    type: str = "ndarray"
    error: str = ""
    modified: tuple[str, ...] = ()
    printed: str = ""
    line: str = ""
    within: str = ""
    held: int = 0

    @property
    def raised(self) -> str:
        """The type of the error, "ValueError"; "" where there was none."""
        return self.error.partition(":")[0]


class Mistakes(Mapping[str, Answer]):
    """What each misconception gives for one case, found out when first asked for: a right answer never does.

    Parameters
    ----------
    names : iterable of str
        Of the misconceptions.
    found : callable
        Given a name, finds it out.
    """

    def __init__(self, names: Iterable[str], found: Callable[[str], Answer]):
        self._found, self._answers = found, dict[str, Answer | None].fromkeys(names)

    def __getitem__(self, name: str) -> Answer:
        if (answer := self._answers[name]) is None:
            answer = self._answers[name] = self._found(name)
        return answer

    def __contains__(self, name: object) -> bool:
        return name in self._answers  # Mapping's own would find it out

    def __iter__(self) -> Iterator[str]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)


@dataclass(frozen=True)
class Question:
    """One case, ready to be judged.

    Parameters
    ----------
    label : str
        What the case is, for a person: "along the columns".
    inputs : Inputs
    expected : value
        What the reference gives for these inputs.
    mistakes : mapping of str to Answer
        What each misconception gives, by its name (see `Mistakes`). A key leaves it out
        for the edges of the domain.
    edge : tuple of str and value, optional
        For a case at an edge of the exercise's domain: what is special in it, such as ("axis", -1).
    """

    label: str
    inputs: Inputs
    expected: Value
    mistakes: Mapping[str, Answer]
    edge: tuple[str, Value] | None = None


@dataclass(frozen=True)
class Rules:
    """How the answers to one exercise are compared.

    Parameters
    ----------
    tolerance : float, or two of them
        Largest relative error in float64, or that and the largest absolute one, which add up; widened for float32
        and float16 inputs.
    view : str
        "module:function" that turns an array into what is compared in its place; "" compares the array.
    compare : str
        "module:function" that compares in place of ours: called with the expected value, the answer's, the tolerance
        and (if it takes a fourth argument) the inputs, it returns a sentence on what differs, or None where they agree.
    properties : tuple of str
        "module:function"s whose sentence is told when no misconception fits: each is called with the answer's
        value and the inputs, and returns a sentence about what it lacks, or None.
    floats_too : bool
        Whether a float of the same value will do where a whole number is due, and 1 or 0 where True or False is.
    exact_dtype : bool
        Whether the result must have exactly the expected dtype; else a wider float will do.
    returns : {"array", "tensor", "printed"}
        "array" is the result as it is, whatever value that may be. "tensor" admits the tensors of Keras's
        backends besides arrays, and any dtype: values count. "printed" compares what the call prints.
    call : {"function", "in place", "figure"} or str
        "in place" judges what the call leaves in its arguments: a mapping of the changed ones by place or name, and
        under "" of what it returns, if anything. "figure" judges what it draws, see `autograder.judging.figures`.
        "module:function" is called with the answer and the arguments, and returns what is judged.
    """

    tolerance: Tolerance = 1e-7
    view: str = ""
    compare: str = ""
    properties: Sequence[str] = ()
    floats_too: bool = False
    exact_dtype: bool = False
    returns: str = "array"
    call: str = "function"

    @property
    def of_a_function(self) -> bool:
        """Whether students write a function that is called with the inputs themselves; else, mostly, a class."""
        return self.call in CALLS

    def __post_init__(self) -> None:
        if isinstance(self.tolerance, list):  # as a key's JSON has it
            object.__setattr__(self, "tolerance", tuple(self.tolerance))
        for name, known in (("returns", RETURNS), ("call", CALLS)):
            if getattr(self, name) not in known and not (name == "call" and ":" in self.call):
                raise ValueError(f"{name} is {getattr(self, name)!r}; it can be {', '.join(known)}")


RETURNS = ("array", "tensor", "printed")
CALLS = ("function", "in place", "figure")


def layout_of(array: np.ndarray) -> str:
    """How an array lies in memory: one of `LAYOUTS`; "repeated" if one row stands for all, as `np.broadcast_to` makes it."""
    if array.ndim and len(array) > 1 and array.strides[0] == 0 and array.size:
        return "repeated"
    return "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "strided"


def arranged(array: np.ndarray, layout: str) -> np.ndarray:
    """A copy of an array in this layout; "strided" leaves gaps in its last axis, "repeated" keeps the first row alone.

    >>> arranged(np.ones((2, 3)), "strided").flags.contiguous
    False
    """
    if layout == "strided" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if layout == "repeated" and array.ndim:
        return np.broadcast_to(np.array(array[:1], subok=False), array.shape)
    return np.array(array, order="F" if layout == "F" else "C", subok=False)
