"""Compare a student's result with the expected one, and describe the first difference."""

import builtins
import inspect
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from autograder.core.time_limit import TimeLimitExceeded, limit_call_time
from autograder.judging.error_messages import (
    FUNCTION_TYPES,
    choose_hint,
    classify_error,
    explain_error,
    make_error_cause_key,
)
from autograder.values import value_types
from autograder.values.case_records import (
    DTYPES,
    TEST_ARGUMENT,
    CallOutcome,
    ComparisonRules,
    ExpectedError,
    Inputs,
    TestCase,
    Value,
)
from autograder.values.common_mistakes import NOT_WRITTEN_MESSAGE, Difference
from autograder.values.deferred_calls import make_query_subject_and_verb
from autograder.values.tolerance import effective_tolerance
from autograder.values.wording import ResultWording, add_article, format_megabytes, format_ordinal

MAX_COMPARISON_SECONDS = 5.0  # of CPU time in which a course's own function compares one case
_COMPARISON_TIMEOUT = "Your result takes too long to be compared with the expected one."

# The functions below say whether two calls of a function have the same outcome.


def same_outcome(
    first: CallOutcome,
    second: CallOutcome,
    rules: ComparisonRules,
    memory: int | None = None,
) -> bool:
    """Return True if two calls have the same outcome: equal values, or errors with the same cause.

    If there is a limit of `memory` bytes, either both calls keep to it or neither does.
    With ``returns="tensor"`` the type and dtype of arrays are ignored. So is the type of an error
    for arrays that do not fit together, because Keras's backends raise different types.
    """
    if first.error or second.error:
        if not (first.error and second.error):
            return False
        return _error_cause_key(first.error, rules) == _error_cause_key(second.error, rules)
    if not rules.may_modify and bool(first.modified) != bool(second.modified):
        return False
    if memory is not None and (first.peak_bytes > memory) != (second.peak_bytes > memory):
        return False
    if rules.returns == "printed":
        return _strip_lines(first.printed) == _strip_lines(second.printed)
    if first.value is None or second.value is None:
        return first.value is None and second.value is None and first.type == second.type
    if {type(first.value), type(second.value)} == {int, float}:
        return first.value == second.value  # an int is exact, so no tolerance applies to it
    return value_types.values_agree(first.value, second.value, rules)


def _error_cause_key(error: str, rules: ComparisonRules) -> tuple[str, str]:
    """Return a pair of texts that is the same for two errors if they have the same cause."""
    type_name = error.partition(": ")[0]
    if rules.returns == "tensor":
        if type_name in {"ValueError", "InvalidArgumentError", "RuntimeError", "TypeError"}:
            return "ValueError", ""  # Keras's backends raise different types for it
        return type_name, ""
    return type_name, make_error_cause_key(error)


# The functions below find the first difference between a student's result and the expected one.


@dataclass(frozen=True, eq=False)
class JudgedCase:
    """Test case with the student's result and its first difference from the expected result."""

    test_case: TestCase
    outcome: CallOutcome
    rules: ComparisonRules
    difference: Difference | None

    @property
    def inputs(self) -> Inputs:
        return self.test_case.inputs

    @property
    def expected(self) -> Value:
        return self.test_case.expected

    @property
    def value(self) -> Value:
        return self.outcome.value

    @property
    def is_right(self) -> bool:
        return self.difference is None

    @property
    def mistake(self) -> str | None:
        """Name of the mistake, if it is one that occurs in any exercise; else None."""
        return self.difference.mistake if self.difference else None

    @property
    def raises(self) -> bool:
        """True if the student's function raised an error where it should not, or a wrong one."""
        return self.difference is not None and self.difference.kind == "error"


def select_failing_cases(cases: Iterable[JudgedCase]) -> list[JudgedCase]:
    return [case for case in cases if not case.is_right]


def compare_outcome(
    expected: Value, outcome: CallOutcome, rules: ComparisonRules, inputs: Inputs | None = None
) -> Difference | None:
    """Return the first difference of a student's result from the expected one; None if it is right.

    The memory limit in `inputs` is checked only if the result is right.
    """
    inputs = inputs or Inputs()
    rules = _fit_tolerance_to_inputs(expected, rules, inputs)
    difference, memory = _compare_all_but_memory(expected, outcome, rules, inputs), inputs.memory
    if difference is None and memory is not None and outcome.peak_bytes > memory:
        peak, limit = format_megabytes(outcome.peak_bytes), format_megabytes(memory)
        text = f"Your result is right, but your function uses {peak} of memory at once"
        return Difference("memory", f"{text}; {limit} are allowed.", "too-much-memory")
    return difference


def _fit_tolerance_to_inputs(
    expected: Value, rules: ComparisonRules, inputs: Inputs
) -> ComparisonRules:
    """Return rules with a wider tolerance if numbers are computed from arrays of low precision.

    An array's dtype says how exact it can be. A Python number has no such dtype, so the dtypes of
    the arguments decide: two right ways to add up float32 numbers differ by more than 1e-7.
    """
    parts = expected if isinstance(expected, (tuple, list)) else (expected,)
    if not any(isinstance(part, (float, complex)) for part in parts):
        return rules
    arrays = []
    for value in (*inputs.args, *inputs.kwargs.values()):
        if isinstance(value, np.ndarray) and value.dtype.char in "ef":
            arrays.append(value)
    if not arrays:
        return rules
    return replace(rules, tolerance=effective_tolerance(rules.tolerance, *arrays))


def _compare_all_but_memory(
    expected: Value, outcome: CallOutcome, rules: ComparisonRules, inputs: Inputs
) -> Difference | None:
    """Compare a student's result with the expected one in everything except the use of memory."""
    if isinstance(expected, ExpectedError):
        return _compare_with_expected_error(expected, outcome, rules)
    is_printed = rules.returns == "printed"
    has_responses = False
    if inputs.result_queries and not is_printed and not rules.compare:
        has_responses = isinstance(outcome.value, tuple)
    if has_responses:
        difference = _compare_query_responses(expected, outcome.value, rules, inputs)
        if difference:
            return difference
    if outcome.error:
        return _make_error_difference(outcome, inputs)
    if not is_printed and outcome.type == "NoneType" and expected is not None:
        return Difference("nothing", "Your function returned None.", "returns-nothing")
    if not is_printed and outcome.value is None and outcome.type != "NoneType":
        return _difference_for_unsupported_result(expected, outcome, rules, inputs)
    if _describe_unanswered_query(outcome, inputs):
        return _difference_for_unsupported_result(expected, outcome, rules, inputs)
    difference = None
    if rules.compare or not has_responses:
        difference = _compare_result(expected, outcome, rules, inputs)
    if difference is None and outcome.modified and not rules.may_modify:
        names = " and ".join(f"`{name}`" for name in outcome.modified)
        noun = "arguments" if len(outcome.modified) > 1 else "argument"
        text = f"Your function changed its {noun} {names}."
        return Difference("modified", text, "modifies-argument")
    return difference


def _compare_result(
    expected: Value, outcome: CallOutcome, rules: ComparisonRules, inputs: Inputs
) -> Difference | None:
    """Compare what the exercise's rules name: the result, modified arguments or printed text."""
    if rules.equality and TEST_ARGUMENT not in inputs.kwargs:
        return _compare_by_equality(expected, outcome, rules)
    if rules.compare:
        return _compare_with_course_function(expected, outcome, rules, inputs)
    if rules.call == "in place":
        return _compare_modified_arguments(expected, outcome.value, rules, inputs)
    if rules.returns == "printed":
        expected_lines, lines = _strip_lines(str(expected)), _strip_lines(outcome.printed)
        return value_types.text_difference("What your function prints", expected_lines, lines)
    array_expected = rules.returns == "tensor" and isinstance(expected, np.ndarray)
    if array_expected and outcome.type not in ("tensor", "ndarray"):
        return value_types.type_difference(expected, outcome.value, rules, ResultWording())
    difference = value_types.find_difference(expected, outcome.value, rules)
    is_rounded_scalar = type(expected) is float and outcome.type in ("float32", "float16")
    if difference and is_rounded_scalar and _is_equal_to_float16_precision(expected, outcome.value):
        # A scalar result has become a Python number by now. Its dtype is lost, but the name of its
        # type is known.
        text = difference.observation.replace(";", f", a {outcome.type};", 1)
        return Difference("values", text, "lower-precision", nearly_right=True)
    return difference


def _is_equal_to_float16_precision(expected: float, value: Value) -> bool:
    """Return True if a number is so close to the expected one that float16 explains the error."""
    return type(value) is float and abs(value - expected) <= 2e-3 * abs(expected)


def _compare_with_expected_error(
    expected: ExpectedError,
    outcome: CallOutcome,
    rules: ComparisonRules,
) -> Difference | None:
    """Compare a student's result with an expected error: its type, and the text in its message."""
    expected_type = add_article(expected.type)
    if not outcome.error:
        behaviour = f"returned {add_article(outcome.type)}"
        if rules.call == "in place":
            behaviour = "finished without an error"
        elif outcome.type == "NoneType":
            behaviour = "returned None"
        return Difference(
            "type", f"Your function {behaviour}; it should raise {expected_type} here."
        )
    if outcome.raised == "NotImplementedError" and expected.type != "NotImplementedError":
        return _make_error_difference(outcome, Inputs())
    text = f"Your function raised {outcome.error.rstrip('.')}."
    if not _is_error_subtype(outcome.raised, expected.type):
        return Difference("error", f"{text} Expected {expected_type}.")
    if expected.part and expected.part not in outcome.error:
        return Difference("error", f"{text} Its message should contain {expected.part!r}.")
    return None


def _is_error_subtype(name: str, expected_name: str) -> bool:
    """Return True if an error type is the expected one or a subtype of it.

    Only for Python's own errors and NumPy's LinAlgError the base types are known. Other errors are
    compared by name.
    """
    error_type = getattr(builtins, name, None)
    expected_type = getattr(builtins, expected_name, None)
    if name == "LinAlgError":
        if name == expected_name:
            return True
        error_type = ValueError
    if isinstance(error_type, type) and isinstance(expected_type, type):
        return issubclass(error_type, expected_type)
    return name == expected_name or expected_name in ("Exception", "BaseException")


def _compare_query_responses(
    expected: Value, responses: Value, rules: ComparisonRules, inputs: Inputs
) -> Difference | None:
    """Compare the results of queries (such as calls) on a returned object with those expected."""
    for i, (query, expected_response, response) in enumerate(
        zip(inputs.result_queries, expected, responses, strict=False)
    ):
        subject, verb = make_query_subject_and_verb(query, _describe_argument)
        place, returned = f"{subject.rstrip(',')}: ", f"{subject} {verb}"
        wording = ResultWording(place, returned, "it", names_place=True)
        difference = value_types.find_difference(expected_response, response, rules, wording)
        if difference:
            return replace(difference, path=(i, *difference.path))
    return None


def _describe_unanswered_query(outcome: CallOutcome, inputs: Inputs) -> tuple[str, str] | None:
    """Return the first query that gave no result, as subject and verb of a sentence; or None.

    A query is what a test case does with a returned object, such as calling it.
    """
    if not isinstance(outcome.value, tuple) or len(outcome.value) >= len(inputs.result_queries):
        return None
    return make_query_subject_and_verb(
        inputs.result_queries[len(outcome.value)], _describe_argument
    )


def _describe_argument(value: Value) -> str:
    if isinstance(value, np.ndarray):
        return value_types.describe_value(value)
    return value_types.short_repr(value)


def _make_error_difference(outcome: CallOutcome, inputs: Inputs) -> Difference:
    """Return the description of an error that the student's function raised where it should not."""
    if outcome.raised == "NotImplementedError":
        return Difference("error", NOT_WRITTEN_MESSAGE, "not-written-yet")
    stop = "" if outcome.error.endswith((".", "!", "?")) else "."
    mistake = classify_error(outcome.error)
    explanation, nudge = "", None
    if mistake:
        explanation = explain_error(mistake, outcome)
        nudge = choose_hint(mistake, outcome) if explanation else None
    subject, _ = _describe_unanswered_query(outcome, inputs) or ("Your function", "")
    not_callable = re.fullmatch(r"TypeError: '(\w+)' object is not callable", outcome.error)
    # An error with a line number was raised in the student's code. Otherwise it was raised when the
    # test case called the object that the student's function had returned.
    if not_callable and not outcome.line and subject.startswith("Your result, called"):
        call = subject.removeprefix("Your result, ").removesuffix(",")
        text = f"Your function returned {add_article(not_callable[1])}; "
        return Difference("type", f"{text}expected something that can be {call}.")
    text = f"{subject} raised {outcome.error}{stop}"
    return Difference("error", text, mistake, means=explanation, nudge=nudge)


def _compare_modified_arguments(
    expected: dict, final_arguments: Value, rules: ComparisonRules, inputs: Inputs
) -> Difference | None:
    """Compare the arguments after a call that should modify them, and the returned value.

    `expected` and `final_arguments` hold only the arguments that the call modified (see
    `call_student_function`). Arguments that are not in them count as unchanged.
    """
    if not isinstance(final_arguments, dict):
        final_arguments = {}
    original_arguments = dict(enumerate(inputs.args)) | dict(inputs.kwargs)
    # Compare first the arguments that the call should modify.
    for key in sorted(original_arguments, key=lambda key: key not in expected):
        name = _describe_position(key, inputs)
        wording = ResultWording().for_part(f"In {name}, after the call: ")
        expected_value = expected.get(key, original_arguments[key])
        value = final_arguments.get(key, original_arguments[key])
        difference = value_types.find_difference(expected_value, value, rules, wording)
        if not difference:
            continue
        if key not in final_arguments:
            description = value_types.describe_value(expected_value)
            text = f"Your function left {name} unchanged; expected {description} there."
            hint = "Perhaps your function assigns a new object to that name, or works on a copy."
            return Difference("values", text, means=hint)
        if key not in expected:
            return Difference("modified", f"Your function changed {name}.", "modifies-argument")
        return replace(difference, path=(key, *difference.path))
    if "" not in expected:
        return None
    if "" not in final_arguments:
        return Difference("nothing", "Your function returned None.", "returns-nothing")
    difference = value_types.find_difference(expected[""], final_arguments[""], rules)
    return difference and replace(difference, path=("", *difference.path))


def _describe_position(key: int | str, inputs: Inputs) -> str:
    if isinstance(key, str):
        return f"its argument `{key}`"
    if key < len(inputs.argument_names):
        return f"its argument {inputs.name_argument(key)}"
    return f"its {format_ordinal(key + 1)} argument"


def _compare_with_course_function(
    expected: Value, outcome: CallOutcome, rules: ComparisonRules, inputs: Inputs
) -> Difference | None:
    """Compare a result by the function that the course's author wrote for it (`rules.compare`).

    That function returns a sentence about the difference, or None.
    """
    value: Value = outcome.value
    if rules.returns == "printed":
        value = outcome.printed
    comparer = value_types.import_function(rules.compare)
    try:
        arguments: tuple = (
            value_types.copy_value(expected),
            value_types.copy_value(value),
            rules.tolerance,
        )
        if _takes_inputs(comparer):
            arguments += (value_types.copy_inputs(inputs),)
        with limit_call_time(MAX_COMPARISON_SECONDS, ""):  # or an enclosing, earlier limit
            text = comparer(*arguments)
    except TimeLimitExceeded:
        return Difference("time", _COMPARISON_TIMEOUT)
    except Exception as error:  # noqa: BLE001 - a comparer may meet any value
        if type(value) is not type(expected):
            return value_types.type_difference(expected, value, rules, ResultWording())
        text = f"Your result cannot be compared with the expected one ({type(error).__name__})."
    return Difference("values", str(text)) if text else None


def _compare_by_equality(
    expected: Value,
    outcome: CallOutcome,
    rules: ComparisonRules,
) -> Difference | None:
    """Let the function `rules.equality` decide if a result is right; describe what differs.

    If that function returns None, the usual comparison decides.
    """
    value = outcome.value
    if _has_unexpected_size(expected, value):
        difference = value_types.find_difference(expected, value, rules)
        return difference or value_types.type_difference(expected, value, rules, ResultWording())
    equals = value_types.import_function(rules.equality)
    try:
        found = value_types.copy_value(value)
        if outcome.type in DTYPES - {"bool"} and type(value) in (int, float):
            # A number of NumPy's has become a Python number by now. The test may ask for its dtype.
            found = np.dtype(outcome.type).type(value)
        with np.errstate(all="ignore"), limit_call_time(MAX_COMPARISON_SECONDS, ""):
            is_equal = equals(found, value_types.copy_value(expected))
    except TimeLimitExceeded:
        return Difference("time", _COMPARISON_TIMEOUT)
    except Exception:  # noqa: BLE001 - the function may meet any value
        is_equal = False
    if is_equal:
        return None
    difference = value_types.find_difference(expected, value, rules)
    if difference is None and is_equal is not None:
        return value_types.type_difference(expected, value, rules, ResultWording())
    return difference


def _has_unexpected_size(expected: Value, value: Value) -> bool:
    """Return True if a value is empty or much too large, so that no author's function may judge it.

    NumPy's comparisons hold for all of no numbers. And arrays of other shapes may make a very large
    array together: (40000, 1) and (2000,) make 80 million numbers.
    """
    if isinstance(expected, bool) and not isinstance(value, np.ndarray):
        return False  # a test of truth may accept an empty text or list as false
    are_lists = isinstance(expected, (list, tuple)) and isinstance(value, (list, tuple))
    if are_lists and len(expected) == len(value):
        return any(map(_has_unexpected_size, expected, value))
    expected_shape, shape = _get_shape(expected), _get_shape(value)
    if 0 in shape:
        return 0 not in expected_shape
    try:
        common_shape = np.broadcast_shapes(shape, expected_shape)
    except ValueError:
        return False  # the author's function refuses them as well
    return math.prod(common_shape) > max(math.prod(shape), math.prod(expected_shape))


def _get_shape(value: Value) -> tuple[int, ...]:
    """Return the shape of an array or of nested lists; the length of another container, or ()."""
    if isinstance(value, (np.ndarray, list, tuple)):
        try:
            return np.shape(value)
        except ValueError:  # lists of several lengths
            return (len(value),)
    if isinstance(value, (dict, set, frozenset, str)):
        return (len(value),)
    return ()


@cache
def _takes_inputs(comparer: Callable) -> bool:
    """Return True if an author's comparison function takes the test case's inputs as well."""
    try:
        inspect.signature(comparer).bind(None, None, None, None)
    except (TypeError, ValueError):
        return False
    return True


def _difference_for_unsupported_result(
    expected: Value, outcome: CallOutcome, rules: ComparisonRules, inputs: Inputs
) -> Difference:
    """Return a description of a result that cannot be compared, because its type is unsupported."""
    type_name = add_article(outcome.type)
    query = _describe_unanswered_query(outcome, inputs)
    if query:
        expectation = _describe_expectation(expected[len(outcome.value)])
        text = f"{' '.join(query)} {type_name}, which cannot be compared. {expectation}"
        return Difference("type", text)
    if rules.call == "in place":
        text = f"An argument after the call, or the returned value, holds {type_name}"
        return Difference("type", f"{text}, which cannot be compared.")
    if rules.call == "figure":
        return Difference("type", f"Your figure holds {type_name}, which cannot be compared.")
    if outcome.type.startswith("ndarray of object"):
        text = "Your array holds Python objects (its dtype is object) instead of numbers."
        return Difference("dtype", text, "array-of-objects")
    if outcome.type.startswith("ndarray of complex"):
        text = f"Your array holds complex numbers ({outcome.type.split()[-1]})."
        return Difference("dtype", f"{text} {_describe_expectation(expected)}", "complex-numbers")
    if outcome.type in {name.rpartition(".")[2] for name in FUNCTION_TYPES}:
        text = f"Your function returned a function. {_describe_expectation(expected)}"
        return Difference("type", text, "returns-a-function")
    if outcome.type in ("generator", "map", "zip", "filter", "reversed", "enumerate"):
        text = f"Your function returned {type_name}. {_describe_expectation(expected)}"
        return Difference("type", text, "returns-a-generator")
    text = f"Your function returned {type_name}, which cannot be compared."
    return Difference("type", f"{text} {_describe_expectation(expected)}")


def _describe_expectation(expected: Value) -> str:
    return f"Expected {value_types.describe_value(expected)}."


def _strip_lines(text: str) -> str:
    """Return printed text without blanks at the ends of lines, and without empty last lines."""
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))


# The function below checks properties that any correct result has, such as rows that sum to 1. It
# is used for a wrong result that no misconception explains.


def describe_failing_property(value: Value, inputs: Inputs, names: Sequence[str]) -> str | None:
    """Return a sentence on the first required property that a result lacks; None if it has all.

    `names` are those of functions that the course's author wrote, see `ComparisonRules.properties`.
    """
    if value is None:
        return None
    copies = value_types.copy_inputs(inputs)
    for name in names:
        try:
            text = value_types.import_function(name)(value_types.copy_value(value), copies)
        except (ValueError, IndexError, TypeError, AttributeError):
            continue  # the property makes no sense for this shape
        if text:
            return text
    return None
