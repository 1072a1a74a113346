"""Explain a wrong result by calling the student's function again with changed arguments.

Only the check in the student's notebook can call the function again. It does so if no known
mistake explains the wrong result. Each sentence was confirmed in every failing case that could be
called again, and no right case contradicts it.
"""

import inspect
import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from autograder.core.address_space import limit_added_memory
from autograder.core.time_limit import TimeLimitExceeded, limit_call_time
from autograder.judging.compare import same_outcome
from autograder.judging.student_calls import call_student_function
from autograder.values.case_records import CallOutcome, ComparisonRules, Inputs, TestCase, Value
from autograder.values.value_types import find_arrays
from autograder.values.wording import format_ordinal

MAX_CALLS = 300  # the 16 arrays of a Transformer block alone make 120 pairs
MAX_INPUT_NUMBERS = 10_000  # in a case; cases with more are not called again
MIN_COMPARED_NUMBERS = 8  # fewer may agree by chance
MAX_PROBE_SECONDS = 3  # of a call of the reference with changed arrays, which may have no result
MAX_PROBE_MEGABYTES = 1_000  # that such a call may add
MAX_COUNT_FACTOR = 16  # in front of a product of sizes, for an excess that is such a product

_PLAUSIBLE_DEFAULTS = (None, False, True, 0, 1, -1)
_SCALAR_TYPES = (type(None), bool, int, float, str)

Arguments = dict[str, Value]  # all arguments of a call by name, including defaults
# Change of a call's arguments: a sentence that describes it, and the function that makes it, which
# may raise an exception.
ArgumentChange = tuple[str, Callable[[Arguments], Arguments]]


@dataclass(frozen=True)
class ArgumentPath:
    """Path to a value among a call's arguments: an argument's name, or that and a dict's key."""

    argument: str
    key: Any = None

    @property
    def name(self) -> str:
        if self.key is None:
            return self.argument
        return self.key

    def get(self, arguments: Arguments) -> Value:
        """Return the value at this path."""
        argument = arguments[self.argument]
        if self.key is None:
            return argument
        return argument[self.key]

    def replace(self, arguments: Arguments, value: Value) -> Arguments:
        """Return the arguments with another value at this path."""
        if self.key is not None:
            value = {**arguments[self.argument], self.key: value}
        return {**arguments, self.argument: value}


class _ProbedFunction:
    """Student's function that is called again with changed arguments, at most `MAX_CALLS` times."""

    def __init__(self, function: Any, rules: ComparisonRules) -> None:
        self._function, self._rules, self._remaining_calls = function, rules, MAX_CALLS
        self._signature = inspect.signature(function)

    def passed_arguments(self, test_case: TestCase) -> Arguments:
        """Return the arguments that a test case passes to the function, by name."""
        return self._bind_arguments(test_case).arguments

    def all_arguments(self, test_case: TestCase) -> Arguments:
        """Return all arguments of the call in a test case, including defaults, by name."""
        bound = self._bind_arguments(test_case)
        bound.apply_defaults()
        return bound.arguments

    def _bind_arguments(self, test_case: TestCase) -> inspect.BoundArguments:
        return self._signature.bind(*test_case.inputs.args, **test_case.inputs.kwargs)

    def call(self, arguments: Arguments) -> CallOutcome:
        bound = inspect.BoundArguments(self._signature, arguments)
        return call_student_function(self._function, Inputs(bound.args, bound.kwargs))

    def returns(self, arguments: Arguments, expected: CallOutcome) -> bool:
        """Call the function; return True if its result is the expected one.

        Return False if the function was called `MAX_CALLS` times before.
        """
        self._remaining_calls -= 1
        if self._remaining_calls < 0:
            return False
        outcome = replace(self.call(arguments), modified=())
        return not outcome.error and same_outcome(
            outcome, replace(expected, modified=()), self._rules
        )


@dataclass(frozen=True)
class _WrongCall:
    """Call that gave a wrong result: its arguments, the expected value, and the returned value."""

    arguments: Arguments
    expected: Value
    value: Value


def explain_by_arguments(
    function: Any,
    failing: Sequence[TestCase],
    rules: ComparisonRules,
    unused_arrays: Sequence[str] = (),
    passing: Sequence[TestCase] = (),
) -> str:
    """Say which argument the student's function ignores, or which change of one makes it right.

    Return "" if nothing is found.

    Parameters
    ----------
    failing, passing : sequences of TestCase
        The cases with wrong answers, and those with right ones.
    unused_arrays : sequence of str
        Names of the arrays that the expected result does not depend on, as it need not.
    """
    failing = sorted(
        filter(is_small_enough_to_repeat, failing), key=count_input_numbers, reverse=True
    )
    if failing and not rules.calls_answer_directly:
        # In the largest case two random results are equal least often.
        return _describe_changing_results(function, failing[0], rules)
    if not failing or rules.call != "function":
        return ""
    try:
        probe = _ProbedFunction(function, rules)
        calls = [probe.all_arguments(test_case) for test_case in failing]
        outcomes = [probe.call(arguments) for arguments in calls]
    except (ValueError, TypeError):  # no signature that fits, or an unsupported default
        return ""
    if outcomes[0].error or outcomes[0].value is None:
        return ""
    if not probe.returns(calls[0], outcomes[0]):
        return (
            "Called twice with the same arguments, your function gives two different results. Either "
            "it draws a random number, or it stores something between calls. The result must depend on "
            "the arguments alone; if the function needs a random number, an argument gives it."
        )
    paths = list(_list_paths(calls[0]))
    wrong_calls = []
    for arguments, test_case, outcome in zip(calls, failing, outcomes):
        if not outcome.error:
            wrong_calls.append(_WrongCall(arguments, test_case.expected, outcome.value))
    explanation = _describe_result_combined_with_argument(wrong_calls, paths)
    explanation = explanation or _describe_difference_as_argument_product(wrong_calls, paths)
    if explanation:
        return explanation
    observations = list(zip(calls[:3], outcomes))
    for test_case in sorted(passing, key=count_input_numbers)[-2:]:
        if count_input_numbers(test_case) <= MAX_INPUT_NUMBERS:
            observations.append((probe.all_arguments(test_case), CallOutcome(test_case.expected)))
    are_finite = all(_is_finite_result(outcome.value) for outcome in outcomes)
    # nan stays nan with other arguments, whatever it depends on.
    if are_finite and _contains_floats(outcomes[0].value):
        explanation = _describe_ignored_array(probe, observations, paths, unused_arrays)
    return explanation or _describe_repairing_change(probe, calls, failing, paths, are_finite)


def _describe_changing_results(function: Any, test_case: TestCase, rules: ComparisonRules) -> str:
    """Say that an answer, such as a layer, gives another result at each call; "" if it does not."""
    first = call_student_function(function, test_case.inputs, rules.call)
    second = call_student_function(function, test_case.inputs, rules.call)
    if first.error or second.error or same_outcome(first, second, rules):
        return ""
    return (
        f"Called twice with the same arguments, `{function.__name__}` gives two different results. "
        "Either it draws random numbers, as dropout does, or it stores something between calls. "
        "The result must depend on the arguments alone."
    )


def _describe_ignored_array(
    probe: _ProbedFunction,
    observations: Sequence[tuple[Arguments, CallOutcome]],
    paths: Sequence[ArgumentPath],
    unused_arrays: Sequence[str],
) -> str:
    """Say that the function ignores an array: other numbers in it give the same result."""
    arguments = observations[0][0]
    for path in paths:
        if path.name in unused_arrays or not _is_finite_array(path.get(arguments)):
            continue
        if all(_may_ignore_array(probe, path, *observation) for observation in observations):
            return (
                f"Your result does not depend on `{path.name}`: it stays the same if other numbers "
                f"are in `{path.name}`. Where should your code use them?"
            )
    return ""


def _may_ignore_array(
    probe: _ProbedFunction,
    path: ArgumentPath,
    arguments: Arguments,
    outcome: CallOutcome,
) -> bool:
    value = path.get(arguments)
    if not _is_finite_array(value):
        return True
    return probe.returns(path.replace(arguments, _perturb(value)), outcome)


def _describe_repairing_change(
    probe: _ProbedFunction,
    calls: Sequence[Arguments],
    failing: Sequence[TestCase],
    paths: Sequence[ArgumentPath],
    are_finite: bool,
) -> str:
    """Describe a change of the arguments that makes the result of every failing test case right.

    Where results are not finite, other numbers in an argument avoid that by being smaller, which
    explains nothing: then (`are_finite` is False) no numbers are multiplied.
    """
    omitted_names = set(calls[0]).difference(*map(probe.passed_arguments, failing))
    for description, change in _list_argument_mixups(calls[0], paths, omitted_names, are_finite):
        if _change_repairs_all_cases(probe, change, calls, failing):
            return description
    return ""


def _change_repairs_all_cases(
    probe: _ProbedFunction,
    change: Callable[[Arguments], Arguments],
    calls: Sequence[Arguments],
    failing: Sequence[TestCase],
) -> bool:
    for arguments, test_case in zip(calls, failing):
        try:
            with np.errstate(all="ignore"):
                arguments = change(arguments)
        except (TypeError, ValueError, IndexError, KeyError):
            return False
        if not probe.returns(arguments, CallOutcome(test_case.expected)):
            return False
    return True


def find_unused_arrays(
    reference: Any, test_cases: Sequence[TestCase], rules: ComparisonRules
) -> tuple[str, ...]:
    """Return the names of the array arguments on which the right result does not depend.

    The largest test case that is small enough to be called many times decides. An array counts
    as used if the reference takes too long or too much memory with other numbers in it: they may
    lie outside of the exercise's domain.
    """
    test_case = max(
        filter(is_small_enough_to_repeat, test_cases), key=count_input_numbers, default=None
    )
    if test_case is None or rules.call != "function" or not _contains_floats(test_case.expected):
        return ()
    probe, expected = _ProbedFunction(reference, rules), CallOutcome(test_case.expected)
    arguments = probe.all_arguments(test_case)
    names = []
    for path in _list_paths(arguments):
        is_array = _is_finite_array(path.get(arguments))
        if is_array and _ignores_array_within_limits(probe, path, arguments, expected):
            names.append(path.name)
    return tuple(names)


def _ignores_array_within_limits(
    probe: _ProbedFunction, path: ArgumentPath, arguments: Arguments, outcome: CallOutcome
) -> bool:
    try:
        with limit_call_time(MAX_PROBE_SECONDS, ""), limit_added_memory(MAX_PROBE_MEGABYTES):
            return _may_ignore_array(probe, path, arguments, outcome)
    except TimeLimitExceeded:
        return False


def is_small_enough_to_repeat(test_case: TestCase) -> bool:
    """Return True if a test case is small enough to be called many times."""
    return count_input_numbers(test_case) <= MAX_INPUT_NUMBERS and test_case.inputs.memory is None


def count_input_numbers(test_case: TestCase) -> int:
    """Count the numbers in all arrays among the inputs of a test case."""
    values = (*test_case.inputs.args, *test_case.inputs.kwargs.values())
    return sum(array.size for array in find_arrays(values))


def _contains_floats(value: Value) -> bool:
    """Return True if a result holds floats: then small changes of the inputs change it.

    A result of whole numbers, such as the index of a token, may stay the same.
    """
    parts = value if isinstance(value, (tuple, list)) else [value]
    return any(isinstance(part, float) or _is_finite_array(part) for part in parts)


def _perturb(array: np.ndarray) -> np.ndarray:
    """Return an array with other numbers of about the same size.

    They follow no simple pattern: a constant added to all, for example, may cancel in a result.
    """
    noise = np.sin(1.0 + np.arange(array.size)).reshape(array.shape)
    return (array * 1.25 + 0.5 * noise).astype(array.dtype)


def _list_paths(arguments: Arguments) -> Iterator[ArgumentPath]:
    """Yield the path to the value of every argument. For a dict, yield one for each entry."""
    for name, value in arguments.items():
        if isinstance(value, dict):
            yield from (ArgumentPath(name, key) for key in value)
        else:
            yield ArgumentPath(name)


def _is_finite_result(value: Value) -> bool:
    """Return True if a result, or each of its parts, holds no nan and no infinite number."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    for part in parts:
        is_number = isinstance(part, float) or _is_array_of(part, "f")
        if is_number and not np.isfinite(part).all():
            return False
    return True


def _is_finite_array(value: Value) -> bool:
    return _is_array_of(value, "f") and value.size > 0 and bool(np.isfinite(value).all())


def _is_array_of(value: Value, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds


# The functions below make changes of the arguments that may undo the effect of a mistake.


def _list_argument_mixups(
    arguments: Arguments,
    paths: Sequence[ArgumentPath],
    omitted_names: Collection[str],
    are_finite: bool,
) -> Iterator[ArgumentChange]:
    """Yield changes of the arguments to try, such as two exchanged, or one transposed."""
    for path in paths:
        default = path.get(arguments)
        if path.name not in omitted_names or type(default) not in _SCALAR_TYPES:
            continue
        # False is 0 for Python: first try values of the default's own type.
        values = sorted(_PLAUSIBLE_DEFAULTS, key=lambda value: type(value) is not type(default))
        for value in values:
            if value is not default and value != default:
                yield (
                    f"The call leaves `{path.name}` out, so your function uses {default!r}. With "
                    f"`{path.name}={value!r}` your function gives the expected result. Compare the default in "
                    "your `def` line with the stub's, and the uses of this argument.",
                    partial(path.replace, value=value),
                )
    for first, second in combinations(paths, 2):
        if _are_exchangeable(first.get(arguments), second.get(arguments)):
            yield (
                f"With `{first.name}` and `{second.name}` exchanged, your function gives the expected "
                "result. Are the two exchanged in your code?",
                partial(_swap_values, first, second),
            )
    for path in paths:
        if path.name in omitted_names:
            continue
        for is_applicable, description, change in _SINGLE_CHANGES:
            if not are_finite and is_applicable in (
                _is_float_array_or_nonzero_float,
                _is_numeric_array,
            ):
                continue
            if is_applicable(path.get(arguments)):
                yield description.format(path.name), partial(_change_argument, path, change)


def _are_exchangeable(first: Value, second: Value) -> bool:
    if _is_finite_array(first) and _is_finite_array(second):
        return first.shape == second.shape and first.size > 1 and not np.array_equal(first, second)
    return type(first) is type(second) is float and first != second


def _swap_values(first: ArgumentPath, second: ArgumentPath, arguments: Arguments) -> Arguments:
    new_arguments = first.replace(arguments, second.get(arguments))
    return second.replace(new_arguments, first.get(arguments))


def _change_argument(
    path: ArgumentPath,
    change: Callable[[Value], Value],
    arguments: Arguments,
) -> Arguments:
    return path.replace(arguments, change(path.get(arguments)))


def _multiply(factor: Callable[[np.ndarray], float], value: np.ndarray) -> np.ndarray:
    product = value * factor(value)
    if value.dtype.kind == "f":
        return product.astype(value.dtype)
    return product


def _is_square_array(value: Value) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim < 2:
        return False
    return value.shape[-1] == value.shape[-2] > 1


def _is_boolean_array(value: Value) -> bool:
    return _is_array_of(value, "b")


def _is_integer_or_integer_array(value: Value) -> bool:
    return type(value) is int or _is_array_of(value, "i")


def _is_float_array_or_nonzero_float(value: Value) -> bool:
    return _is_finite_array(value) or (type(value) is float and value != 0)


def _is_numeric_array(value: Value) -> bool:
    return _is_finite_array(value) or (_is_array_of(value, "i") and value.size > 0)


def _power_of_length(axis: int, power: float, value: np.ndarray) -> float:
    return float(value.shape[axis]) ** power


_LENGTH_POWERS = (("√{}", 0.5), ("1/√{}", -0.5), ("{}", 1.0), ("1/{}", -1.0), ("1/√√{}", -0.25))
_FACTORS: list[tuple[str, Callable[[np.ndarray], float]]] = [
    ("2", lambda value: 2.0),
    ("½", lambda value: 0.5),
    *(
        (text.format(size), partial(_power_of_length, axis, power))
        for axis, size in (
            (-1, "n = `{0}.shape[-1]`"),
            (0, "n = `len({0})`"),
        )
        for text, power in _LENGTH_POWERS
    ),
]  # fmt: skip
# Changes of one argument. Each row has a test of whether the change makes sense for a value, a
# sentence for the student, and the function that makes the change.
_SINGLE_CHANGES: list[tuple[Callable[[Value], bool], str, Callable[[Value], Value]]] = [
    (_is_square_array,
     "With `{0}` transposed, your function gives the expected result. "
     "Is there a `.T` too many, or one missing?",
     lambda value: np.swapaxes(value, -1, -2)),
    (_is_boolean_array,
     "With True and False exchanged in `{0}`, your function gives the expected result. "
     "What does True stand for in `{0}`, by the docstring?",
     np.logical_not),
    *((_is_integer_or_integer_array,
       f"With `{{0}}` {text} by 1, your function gives the expected result. "
       "Do you count from 0 or from 1, and should the last one be included?",
       partial(operator.add, step))
      for step, text in ((1, "increased"), (-1, "decreased"))),
    (_is_float_array_or_nonzero_float,
     "With the opposite sign of `{0}`, your function gives the expected result. "
     "Is there a minus too many, or one missing?",
     operator.neg),
    (_is_float_array_or_nonzero_float,
     "With `1 / {0}` in place of `{0}`, your function gives the expected result. "
     "Do you multiply where you should divide, or divide where you should multiply?",
     lambda value: 1 / value),
    *((_is_numeric_array,
       f"With `{{0}}` multiplied by {text}, your function gives the expected result. "
       "Is there a factor too many or one missing?",
       partial(_multiply, factor))
      for text, factor in _FACTORS),
]  # fmt: skip


# The functions below recognise results that are the expected ones combined with an argument, such
# as the sum of both.

_COMBINATIONS: list[tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = [
    ("the expected result plus `{}`", lambda expected, argument: expected + argument),
    ("the expected result minus `{}`", lambda expected, argument: expected - argument),
    ("`{}` minus the expected result", lambda expected, argument: argument - expected),
    ("the expected result times `{}`", lambda expected, argument: expected * argument),
    ("the expected result divided by `{}`", lambda expected, argument: expected / argument),
    ("halfway between the expected result and `{}`",
     lambda expected, argument: (expected + argument) / 2),
]  # fmt: skip


def _describe_result_combined_with_argument(
    calls: Sequence[_WrongCall], paths: Sequence[ArgumentPath]
) -> str:
    """Say that every wrong result is the expected one combined with an argument, as by a sum."""
    expected = calls[0].expected
    parts: Sequence[int | None] = [None]
    if isinstance(expected, (tuple, list)):
        parts = range(len(expected))
    for part, path, (description, combine) in product(parts, paths, _COMBINATIONS):
        if _is_part_combined_with_argument(calls, part, path, combine):
            place = "" if part is None else f" as the {format_ordinal(part + 1)} value"
            text = description.format(path.name)
            return f"The value that you return{place} is {text}. Does the formula ask for that?"
    return ""


def _is_part_combined_with_argument(
    calls: Sequence[_WrongCall],
    part: int | None,
    path: ArgumentPath,
    combine: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> bool:
    """Return True if a part of each result is right, or equals `combine(expected, argument)`.

    At least `MIN_COMPARED_NUMBERS` numbers in all must equal the combination.
    """
    compared_numbers = 0
    for call in calls:
        expected, value, argument = call.expected, call.value, path.get(call.arguments)
        if part is not None:
            if not isinstance(value, (tuple, list)) or len(value) != len(expected):
                return False
            expected, value = expected[part], value[part]
        if not all(map(_is_finite_array, (expected, value, argument))):
            return False
        if expected.shape != value.shape:
            return False
        if argument.size == expected.size:
            argument = argument.reshape(expected.shape)  # a row (1, n) for a vector (n,)
        if np.allclose(expected, value, rtol=1e-6, atol=1e-9):
            continue  # this part is right, and another one is wrong in this case
        try:
            with np.errstate(all="ignore"):
                combination = combine(expected, argument)
        except ValueError:
            return False
        if combination.shape != value.shape:
            return False
        if not np.allclose(combination, value, rtol=1e-6, atol=1e-9):
            return False
        compared_numbers += value.size
    return compared_numbers >= MIN_COMPARED_NUMBERS


def _describe_difference_as_argument_product(
    calls: Sequence[_WrongCall],
    paths: Sequence[ArgumentPath],
) -> str:
    """Say that each returned number differs from the expected by the same product of arguments."""
    if len(calls) < 2 or not all(type(call.value) is type(call.expected) is int for call in calls):
        return ""
    gaps = [call.value - call.expected for call in calls]
    sizes = {}
    for path in paths:
        values = [path.get(call.arguments) for call in calls]
        if all(type(value) is int for value in values):
            sizes[path.name] = values
    exponents = product(range(3), repeat=len(sizes))
    for powers in sorted(exponents, key=lambda powers: (sum(powers), max(powers, default=0))):
        if not 0 < sum(powers) <= 4:
            continue
        products = [_power_product(row, powers) for row in zip(*sizes.values(), strict=True)]
        if not products[0]:
            continue
        factor = gaps[0] // products[0]
        if not 0 < abs(factor) <= MAX_COUNT_FACTOR or len(set(gaps)) == 1:
            continue
        if gaps == [factor * number for number in products]:
            description = _format_product(abs(factor), list(sizes), powers)
            excess = "too large" if factor > 0 else "too small"
            return (
                f"In every failing case your number is {excess} by {description}. "
                "Which part of the formula has that many numbers?"
            )
    return ""


def _power_product(sizes: Sequence[int], powers: Sequence[int]) -> int:
    return int(np.prod([float(size) ** power for size, power in zip(sizes, powers, strict=True)]))


_EXPONENTS = {1: "", 2: "²"}


def _format_product(factor: int, names: Sequence[str], powers: Sequence[int]) -> str:
    """Format a product of arguments: "2 · `n` · `d`²"."""
    factors = []
    if factor > 1:
        factors.append(str(factor))
    for name, power in zip(names, powers, strict=True):
        if power:
            factors.append(f"`{name}`{_EXPONENTS[power]}")
    return " · ".join(factors)
