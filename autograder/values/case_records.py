"""Data classes: inputs of test cases, outcomes of calls, misconceptions and comparison rules.

Course authors define exercises with `autograder.authoring`. The answer key that students receive
holds the same data.

A **value** is an argument or a result of a call: None, a bool, int, float, complex or text, a date
or a duration, an array of one of `DTYPES`, of texts or of dates, a pandas table, a NumPy scalar
type, or a tuple, list, set or mapping of values. An argument may also be a `DeferredCall`. A result
may also be the data of a figure. `autograder.values.value_types` explains the class that handles
each type of value.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

_INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64"
DTYPES = frozenset(f"bool {_INTEGERS} float16 float32 float64".split())
LAYOUTS = ("C", "F", "strided", "repeated")

# Name of the keyword argument that holds the test of a case that is one. It is not a Python
# identifier, so it cannot be the name of an argument.
TEST_ARGUMENT = "the test"

Value = Any  # see the module's docstring; no type annotation can express it
Tolerance = float | tuple[float, float]  # relative error, or (relative error, absolute error)

_NAMES = {np.dtype(name): name for name in DTYPES}


def name_dtype(dtype: np.dtype) -> str:
    """Return `dtype.name`, for common dtypes from a table, which is faster.

    >>> name_dtype(np.dtype("float32")), name_dtype(np.dtype(">f8")), name_dtype(np.dtype("U3"))
    ('float32', 'float64', 'str96')
    """
    return _NAMES.get(dtype) or dtype.name


@dataclass(frozen=True)
class Inputs:
    """Inputs of one test case: arguments of a call, and what to do with its result (queries).

    Parameters
    ----------
    args, kwargs : tuple and mapping of values
    memory : int, optional
        Largest number of bytes that the call may hold at once, its inputs not counted.
    result_queries : tuple of DeferredCall
        Calls, attributes and items to evaluate on the result of the call, such as `result(2.0)`
        or `result.balance`. If there are any, the tuple of the values that they give is judged
        in place of the result.
    argument_names : tuple of str
        Names of the positional arguments in the function's first line, for messages; may be empty.
    """

    args: tuple = ()
    kwargs: Mapping[str, Value] = field(default_factory=dict)
    memory: int | None = None
    result_queries: tuple = ()
    argument_names: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def name_argument(self, index: int) -> str:
        """Return the name of a positional argument: "`axis`"; "argument 2" if it is not known."""
        if index < len(self.argument_names):
            return f"`{self.argument_names[index]}`"
        return f"argument {index + 1}"

    def query(self, *queries: Any) -> "Inputs":
        """Return these inputs with queries added on the call's result, such as `result(2.0)`.

        For example, `inputs(…).query(result(2.0))` also calls the returned function with 2.0. See
        `autograder.values.deferred_calls.result`.
        """
        return replace(self, result_queries=(*self.result_queries, *queries))


def inputs(*args: Value, **kwargs: Value) -> Inputs:
    """Return the inputs of a test case, written like a call: `inputs(array, axis=0)`."""
    return Inputs(args, kwargs)


@dataclass(frozen=True)
class DeferredCall:
    """Argument that is a function, or that a call makes anew (a generator), as a record.

    Only the name of the function is sent to the process that calls the student's function. That
    process imports it. What a student's function returns never contains a `DeferredCall`.

    Parameters
    ----------
    function : str or callable
        "module:function". Course authors write the function itself, which is converted to its
        name. In a query of a result, "" stands for the result.
    args, kwargs : tuple and mapping of values
        Arguments of the deferred call, which is made anew before each call of the student's
        function. If `args` is None, the function itself is the argument.
    """

    function: Any
    args: tuple | None = None
    kwargs: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class ExpectedError:
    """Expected outcome of a test case in which the student's function must raise an error."""

    type: str
    part: str = ""


@dataclass(frozen=True)
class Misconception:
    """Named mistake that students often make, with its explanation and a hint.

    `function` is a wrong implementation of the exercise that makes the mistake. It is None in the
    answer key that students receive, which holds only the results of the mistake. `raises` names
    the types of errors that the mistake raises, as the course's author declared them.
    """

    name: str
    means: str
    nudge: str
    function: Callable | None = None
    raises: tuple[str, ...] = ()


_NUMBERS_ARE_RIGHT = re.compile(r"The numbers (?:are|may be) (?:right|fine), but ")


def combine_misconceptions(
    misconceptions: Sequence[Misconception], function: Callable | None = None
) -> Misconception:
    """Return the misconception of an answer with two mistakes.

    Parameters
    ----------
    misconceptions : sequence of two Misconception
    function : callable, optional
        Wrong implementation of the exercise that makes both mistakes.
    """
    first, second = misconceptions
    # Alone, such a mistake of form leaves the numbers right; beside another mistake it does not.
    sentences = [_NUMBERS_ARE_RIGHT.sub("Besides, ", text) for text in (first.means, second.means)]
    sentences.sort(key=lambda text: text.startswith("Besides, "))
    return Misconception(
        f"{first.name} + {second.name}",
        f"There are two mistakes. {' '.join(sentences)}",
        first.nudge,
        function,
        (*first.raises, *second.raises),
    )


@dataclass(frozen=True)
class CallOutcome:
    """Outcome of one call of a student's function: its result or error, and its side effects.

    The outcomes of the reference solution and of misconceptions are held in the same way.

    Parameters
    ----------
    value : value or None
        The returned value. It is None as well if an object of an unsupported type was returned;
        then `type` names its type. If the case has queries of the result, it is the tuple of what
        they gave, up to the first query that raised or gave an object of an unsupported type.
    type : str
        Type of the returned object, or of the unsupported object that a query gave: "ndarray",
        "tensor"…
    error : str
        "ValueError: message of the error" if the call raised, else "".
    modified : tuple of str
        Names of the arguments that the call changed in place.
    printed : str
        The text that the call printed.
    line : str
        The line of the student's code that raised an error, with its number: "3: return a @ b".
    within : str
        The name of the student's function that holds this line.
    peak_bytes : int
        Peak memory of the call without its inputs, if the test case limits memory; else 0.
    """

    value: Value = None
    type: str = "ndarray"
    error: str = ""
    modified: tuple[str, ...] = ()
    printed: str = ""
    line: str = ""
    within: str = ""
    peak_bytes: int = 0

    @property
    def raised(self) -> str:
        """Name of the error's type, such as "ValueError"; "" if the call raised no error."""
        return self.error.partition(":")[0]


class OutcomesByMisconception(Mapping[str, CallOutcome]):
    """Outcomes that misconceptions predict for one test case, each computed when it is looked up.

    A right answer of a student is not compared with misconceptions, so nothing is computed for it.

    Parameters
    ----------
    names : iterable of str
        Names of the misconceptions.
    compute : callable
        Maps a misconception's name to its outcome.
    """

    def __init__(self, names: Iterable[str], compute: Callable[[str], CallOutcome]):
        self._compute = compute
        self._outcomes = dict[str, CallOutcome | None].fromkeys(names)

    def __getitem__(self, name: str) -> CallOutcome:
        outcome = self._outcomes[name]
        if outcome is None:
            outcome = self._outcomes[name] = self._compute(name)
        return outcome

    def __contains__(self, name: object) -> bool:
        return name in self._outcomes  # Mapping's own method would compute the outcome

    def __iter__(self) -> Iterator[str]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)


@dataclass(frozen=True)
class TestCase:
    """Test case: its inputs, the expected result, and the results that misconceptions predict.

    Parameters
    ----------
    label : str
        Description of the case for people: "along the columns".
    inputs : Inputs
    expected : value
        Result of the reference solution for these inputs.
    mistakes : mapping of str to CallOutcome
        The outcome that each misconception predicts, by the name of the misconception (see
        `OutcomesByMisconception`). Empty for edge cases in an answer key.
    edge : tuple of str and value, optional
        Only for an edge case: the name and the value of the argument that makes it one, such as
        ("axis", -1).
    """

    __test__: ClassVar[bool] = False  # pytest takes a class named Test… for tests otherwise

    label: str
    inputs: Inputs
    expected: Value
    mistakes: Mapping[str, CallOutcome]
    edge: tuple[str, Value] | None = None


RETURNS = ("array", "tensor", "printed")
CALLS = ("function", "in place", "figure")


@dataclass(frozen=True)
class ComparisonRules:
    """Rules for comparing students' results of one exercise with the expected results.

    Parameters
    ----------
    tolerance : float or pair of floats
        Largest relative error of float64 numbers. With a pair (r, a), an error of up to
        ``r * abs(expected) + a`` is accepted. The tolerance is widened for float32 and float16.
    view : str
        "module:function" that is applied to the expected and the returned array before they are
        compared; "" for none.
    compare : str
        "module:function" that replaces the usual comparison. It is called with the expected value, the
        answer's value, the tolerance and (if it takes a fourth argument) the inputs; it returns a
        sentence that describes the difference, or None if there is none.
    equality : str
        "module:function" that decides whether an answer is right. It is called with the answer's
        value and the expected one, and returns True or False. The usual comparison only describes what
        differs. If it returns None, the usual comparison decides.
    properties : tuple of str
        "module:function"s that are called with the answer's value and the inputs if no
        misconception explains an answer. Each returns a sentence about a property that the value
        lacks, or None.
    floats_too : bool
        Accept a float of the same value for an expected int, and 1 or 0 for True or False.
    exact_dtype : bool
        Require exactly the expected dtype. By default an array of wider floats is accepted, too.
    may_modify : bool
        Accept an answer that changes its arguments.
    returns : {"array", "tensor", "printed"}
        "array" compares the result as it is, whatever its type. "tensor" accepts the tensors of
        Keras's backends besides arrays, in any dtype. "printed" compares the text that is printed.
    call : {"function", "in place", "figure"} or str
        "function" judges what the function returns. "in place" judges a mapping that holds the
        arguments that the call changed, by position or name, and under "" the returned value, if
        it is not None. "figure" judges the figure that is drawn, see `autograder.values.plots`.
        "module:function" is called with the student's function (or class) and the arguments, and
        returns the value to judge.
    """

    tolerance: Tolerance = 1e-7
    view: str = ""
    compare: str = ""
    equality: str = ""
    properties: Sequence[str] = ()
    floats_too: bool = False
    exact_dtype: bool = False
    may_modify: bool = False
    returns: str = "array"
    call: str = "function"

    @property
    def calls_answer_directly(self) -> bool:
        """True if the student's function is called directly, and not by a function of the course.

        False if a function of the course's library calls it, usually because it is a class.
        """
        return self.call in CALLS

    def __post_init__(self) -> None:
        if isinstance(self.tolerance, list):  # from the JSON of an answer key
            object.__setattr__(self, "tolerance", tuple(self.tolerance))
        bounds: tuple[Any, ...] = (self.tolerance,)
        if isinstance(self.tolerance, tuple) and len(self.tolerance) == 2:
            bounds = self.tolerance
        if not all(isinstance(bound, (int, float)) and 0 <= bound < np.inf for bound in bounds):
            raise ValueError(
                f"tolerance is {self.tolerance!r}; a number of 0 or more is expected, or a pair "
                "(relative, absolute)"
            )
        if self.returns not in RETURNS:
            raise ValueError(f"returns is {self.returns!r}; it can be {', '.join(RETURNS)}")
        if self.call not in CALLS and ":" not in self.call:
            raise ValueError(f"call is {self.call!r}; it can be {', '.join(CALLS)}")


def find_memory_layout(array: np.ndarray) -> str:
    """Return how an array's numbers lie in memory: "C", "F", "strided" or "repeated".

    "repeated" means that all rows share the memory of the first row, as after `np.broadcast_to`.
    """
    if array.ndim and len(array) > 1 and array.strides[0] == 0 and array.size:
        return "repeated"
    if array.flags.c_contiguous:
        return "C"
    if array.flags.f_contiguous:
        return "F"
    return "strided"


def copy_with_layout(array: np.ndarray, layout: str) -> np.ndarray:
    """Return a copy of an array whose numbers lie in memory as `layout` says.

    "strided" leaves a gap after each element. "repeated" copies the first row only, and all rows
    share its memory.

    >>> copy_with_layout(np.ones((2, 3)), "strided").flags.contiguous
    False
    """
    if layout == "strided" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if layout == "repeated" and array.ndim:
        return np.broadcast_to(np.array(array[:1], subok=False), array.shape)
    return np.array(array, order="F" if layout == "F" else "C", subok=False)
