"""Judge an exercise by a test function with assertions that the course's author wrote.

This serves where several answers are right, or where one assertion needs several calls. The test
takes the student's function as its first argument, and it runs twice. First it runs in the process
that runs the student's code, to record the results of the calls that it makes. Then it runs in the
grader, where the recorded results are replayed to it. Only there its assertions count, and none of
the student's code runs.

An exercise says ``call=call_in_test, compare=compare_in_test``. Its cases return
`inputs_for_test(...)` where they are tests, otherwise `inputs(...)`.
"""

import ast
import builtins
import inspect
import linecache
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from autograder.core.errors import truncate
from autograder.judging.call_answer import pack_result
from autograder.values.case_records import ComparisonRules, Inputs, Value
from autograder.values.value_types import (
    argument_to_value,
    blank_like,
    copy_value,
    find_difference,
    import_function,
    values_agree,
)

# Keyword arguments of a test case with these names are read by this module. They are not passed to
# the test function.
TEST_ARGUMENT = "the test"  # no Python identifier, so no argument of a test has this name
COMPARED_VARIABLES = "only"
VARIABLES_FROM_REFERENCE = "as_due"
# Kinds of outcome of a recorded function call.
CALL_EVENTS = ("value", "raised", "items", "end", "function", "other")


def inputs_for_test(test: Callable | str, /, **values: Value) -> Inputs:
    """Return the inputs of a test case that consists of a test function and its arguments.

    Parameters
    ----------
    test : callable or str
        A function whose first argument is the student's function. Its other arguments are the
        `values`, and functions that the notebook defines under the names of the arguments. The
        test is stored as "module:name" and must be in the course's library, because students'
        checks import it as well. The test of a hidden case may be given as source text.
    **values : values
        Arguments of the test. If the exercise asks for variables, the argument `as_due` lists the
        names of variables whose values come from the reference solution, not from the student,
        because they are too large to write down.
    """
    if not isinstance(test, str):
        test = f"{test.__module__}:{test.__qualname__}"
    return Inputs((), {TEST_ARGUMENT: test, **values})


def call_in_test(function: Any, /, *args: Value, **kwargs: Value) -> Any:
    """Run a test case's test function on the student's function; return the recorded results.

    The results are those of the calls that the test function makes.

    In a case without a test, call the function and return its result.
    """
    kwargs.pop(COMPARED_VARIABLES, None)
    if TEST_ARGUMENT not in kwargs:
        return function(*args, **kwargs)
    for name in kwargs.pop(VARIABLES_FROM_REFERENCE, ()):
        kwargs[name] = function()[name]
    return record_test_calls(function, getattr(function, "__globals__", {}), **kwargs)[0]


def record_test_calls(
    function: Callable, namespace: Mapping[str, Any], /, **kwargs: Value
) -> tuple[list, Exception | None]:
    """Run a test function; return the recorded results of its calls, and the error that it raised.

    Functions of the notebook that are arguments of the test are taken from `namespace` by name.
    """
    test = load_test(kwargs.pop(TEST_ARGUMENT))
    recorder = _CallRecorder()
    helpers = {}
    for name in _missing_arguments(test, kwargs):
        if name in namespace:
            helpers[name] = partial(recorder, namespace[name])
    try:
        test(partial(recorder, function), **kwargs, **helpers)
    except Exception as error:  # usually a failed assertion, which the replay will show as well
        if error is recorder.error:
            raise
        return recorder.events, error
    return recorder.events, None


def compare_in_test(expected: Value, value: Value, tolerance: Any, inputs: Inputs) -> str | None:
    """Run a test function on recorded results; return a sentence on the failed assertion, or None.

    In a case without a test, compare the values of variables with the expected ones.
    """
    if TEST_ARGUMENT not in inputs.kwargs:
        return _compare_variables(expected, value, tolerance, inputs)
    only_zeros = _all_zeros(expected, value)  # now, because the test may modify the values
    arguments = dict(inputs.kwargs)
    for name in arguments.pop(VARIABLES_FROM_REFERENCE, ()):
        arguments[name] = expected[1][name]
    source = arguments.pop(TEST_ARGUMENT)
    test, replay = load_test(source), _InOrderResultPlayer(value)
    try:
        test(replay, **arguments, **dict.fromkeys(_missing_arguments(test, arguments), replay))
    except Exception as error:  # noqa: BLE001 - a test may meet any value
        return _describe_test_failure(error, source)
    if only_zeros:
        return "Zeros alone pass this test; they are not the expected result."
    return None


def _compare_variables(expected: Value, value: Value, tolerance: Any, inputs: Inputs) -> str | None:
    """Compare the values of the student's variables: those that the test case names, or all."""
    expected, value = argument_to_value(expected), argument_to_value(value)
    names = inputs.kwargs.get(COMPARED_VARIABLES)
    if names:
        expected = {name: expected.get(name) for name in names}
        value = {name: value.get(name) for name in names}
    rules = ComparisonRules(tolerance=tolerance, floats_too=True)
    difference = find_difference(expected, value, rules)
    return difference.observation if difference else None


def _all_zeros(expected: Value, value: Value) -> bool:
    """Return True if a student's recorded results are all zero, and the expected ones are not."""
    blank, rules = zero_recorded_values(expected), ComparisonRules()
    if not values_agree(blank, argument_to_value(value), rules):
        return False
    return not values_agree(blank, argument_to_value(expected), rules)


def zero_recorded_values(events: list[Value]) -> list[Value]:
    """Return recorded results with zeros in place of all values.

    >>> zero_recorded_values(["value", [1, 2], "raised", "ValueError"])
    ['value', [0, 0], 'raised', 'ValueError']
    """
    zero_events = list(argument_to_value(events))
    for index in range(1, len(zero_events), 2):
        if zero_events[index - 1] == "value":
            zero_events[index] = blank_like(zero_events[index])
    return zero_events


def _missing_arguments(test: Callable, values: Mapping[str, Value]) -> list[str]:
    """Return the names of a test function's parameters, but the first, that `values` lacks."""
    names = list(inspect.signature(test).parameters)[1:]
    return [name for name in names if name not in values]


def load_test(name_or_source: str) -> Callable:
    """Import a test function by its name "module:name", or define it from its source text."""
    if "\n" not in name_or_source:
        return import_function(name_or_source)
    source, filename = name_or_source, _filename_of(name_or_source)
    namespace: dict[str, Any] = {}
    linecache.cache[filename] = len(source), None, source.splitlines(True), filename
    exec(compile(source, filename, "exec"), namespace)
    return next(value for value in reversed(namespace.values()) if inspect.isfunction(value))


def _filename_of(source: str) -> str:
    return f"<test {zlib.crc32(source.encode())}>"


class _CallRecorder:
    """Recorder of function calls: each outcome becomes two items, its kind and a value."""

    def __init__(self) -> None:
        self.events: list[Value] = []  # a flat list: the nesting of values is limited
        self.error: BaseException | None = None

    def __call__(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._record_result(function(*args, **kwargs))
        except Exception as error:
            self.events += ["raised", type(error).__name__]
            self.error = error
            raise

    def _record_result(self, result: Any) -> Any:
        type_name, value = pack_result(result)
        if value is not None or result is None:
            self.events += ["value", copy_value(value)]
        elif isinstance(result, Iterator):
            self.events += ["items", type_name]
            return self._record_items(result)
        elif callable(result):
            self.events += ["function", type_name]
            return partial(self, result)
        else:
            self.events += ["other", type_name]
        return result

    def _record_items(self, items: Iterator) -> Iterator:
        for item in items:
            yield self._record_result(item)
        self.events += ["end", True]


class _RecordingEnded(Exception):
    """The test function, which runs on recorded results, makes more calls than were recorded."""


class _InOrderResultPlayer:
    """Stand-in for the student's functions: each call returns the next recorded result."""

    def __init__(self, events: Any):
        self._events = iter(events if isinstance(events, list) else ())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        event, value = next(self._events, None), next(self._events, None)
        if event not in CALL_EVENTS:
            raise _RecordingEnded
        if event == "raised":
            raise _error_of_type(str(value))("as your function did")
        if event == "end":
            raise StopIteration
        if event == "other":
            raise TypeError(f"it returned a {value}, which cannot be looked at")
        if event == "value":
            return value
        return self if event == "function" else self._replay_items()

    def _replay_items(self) -> Iterator:
        while True:
            try:
                item = self()
            except StopIteration:
                return
            yield item


def _error_of_type(name: str) -> Any:
    """Return Python's own exception type of this name, or a new exception type of this name."""
    builtin = getattr(builtins, name, None)
    if isinstance(builtin, type) and issubclass(builtin, Exception):
        return builtin
    return type(name, (Exception,), {})


def _describe_test_failure(error: Exception, name_or_source: str) -> str:
    """Say how a test function failed, and quote the line of it that failed."""
    code = load_test(name_or_source).__code__
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.co_filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    statement = " ".join(linecache.getline(code.co_filename, line).split())
    condition = truncate(_condition_of(statement), 160)
    message = str(error).strip()
    if isinstance(error, AssertionError):
        text = f"This assertion fails: `{condition}`."
        if message and "\n" not in message:
            text += f" {truncate(message, 200)}"
        return text
    if isinstance(error, _RecordingEnded):
        return f"Your function did not come to `{condition}` in the same way when it was called before."
    error_text = f"{type(error).__name__}: {truncate(message, 120)}"
    return f"`{condition}` cannot be evaluated with your function's results ({error_text})."


def _condition_of(line: str) -> str:
    """Return the condition of an `assert` statement; any other line of code as it is."""
    try:
        (statement,) = ast.parse(line).body
    except (SyntaxError, ValueError):
        return line  # the first line of a longer statement, or the head of a loop
    return ast.unparse(statement.test) if isinstance(statement, ast.Assert) else line
