"""Judge an exercise by a test function with assertions that the course's author wrote.

This serves where several answers are right, or where one assertion needs several calls. The test
takes the student's function as its first argument, and it runs twice. First it runs in the process
that runs the student's code, to record the results of the calls that it makes. Then it runs in the
grader, where the recorded results are replayed to it. Only there its assertions count, and none of
the student's code runs.

An exercise says ``call=run_test_function, compare=compare_by_test_function``. Its cases return
`inputs_for_test(...)` where they are tests, otherwise `inputs(...)`.
"""

import ast
import builtins
import inspect
import linecache
import operator
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from autograder.core.text_format import truncate
from autograder.judging.student_calls import MAX_ERROR_CHARACTERS, LimitedOutputBuffer, pack_result
from autograder.values.case_records import TEST_ARGUMENT, ComparisonRules, Inputs, Value
from autograder.values.dataframes import DataTable, is_pandas
from autograder.values.value_types import (
    blank_like,
    convert_argument,
    copy_value,
    find_difference,
    import_function,
    pack_value,
    values_agree,
)

# Keyword arguments of a test case with these names, and `TEST_ARGUMENT`, are read by this module.
# They are not passed to
# the test function.
COMPARED_VARIABLES = "only"
VARIABLES_FROM_REFERENCE = "as_due"
FAILED_EVENT = "failed"  # last event of a run in which an assertion failed, before its line
# Kinds of outcome of a recorded function call.
CALL_EVENTS = ("value", "counter", "raised", "items", "end", "object")
# Events with a value as plain data. A "counter" is a dict that has 0 for keys that it lacks.
DATA_EVENTS = ("value", "counter")
# Kinds of side effects of a call, which are recorded before its outcome.
PRINTED_EVENT, CHANGED_EVENT = "printed", "changed"
SIDE_EFFECT_EVENTS = (PRINTED_EVENT, CHANGED_EVENT)


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


def run_test_function(function: Any, /, *args: Value, **kwargs: Value) -> Any:
    """Run a test case's test function on the student's function; return the recorded results.

    The results are those of the calls that the test function makes.

    In a case without a test, call the function and return its result. If the case compares some of
    the variables of an answer only, the others need not be defined.
    """
    compared = kwargs.pop(COMPARED_VARIABLES, None)
    if TEST_ARGUMENT not in kwargs:
        if compared and hasattr(function, "select"):
            return function.select(compared)
        return function(*args, **kwargs)
    names = kwargs.pop(VARIABLES_FROM_REFERENCE, ())
    variables: dict[str, Any] = {}
    namespace = _find_namespace(function)
    if names:
        outcomes = dict(function())
        variables = {name: outcomes.pop(name) for name in names}
        # These variables are large. So the test finds them in its arguments only.
        function = partial(_select_values, outcomes)
    test = kwargs[TEST_ARGUMENT]
    events, error = record_test_calls(function, namespace, **kwargs, **variables)
    if error:
        events += [FAILED_EVENT, _find_failed_line(error, test)]
    return ["value", variables, *events] if names else events


def _select_values(values: Mapping[str, Any], /, *names: str) -> dict[str, Any]:
    """Return the values of these variables, or of all."""
    return {name: values[name] for name in names or values}


def call_in_same_process(tested: Any, function: Callable, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function in the process in which the tested function runs, and return its result.

    A test function asks in this way for what a call leaves behind: `call_in_same_process(draw, plt.gca)`.
    """
    return tested._perform_operation(_call_given_function, function, *args, **kwargs)


def _call_given_function(_tested: Any, function: Callable, /, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _find_namespace(function: Any) -> Mapping[str, Any]:
    """Return the global variables of the notebook or module in which a function or class is defined."""
    if isinstance(function, type):
        methods = [method for method in vars(function).values() if inspect.isfunction(method)]
        function = methods[0] if methods else function
    return getattr(function, "__globals__", {})


def record_test_calls(
    function: Callable, namespace: Mapping[str, Any], /, **kwargs: Value
) -> tuple[list, Exception | None]:
    """Run a test function; return the recorded results of its calls, and the error that it raised.

    Functions of the notebook that are arguments of the test are taken from `namespace` by name.
    """
    test = load_test(kwargs.pop(TEST_ARGUMENT))
    recorder = _OutcomeRecorder()
    helpers = {}
    for name in _missing_arguments(test, kwargs):
        if name in namespace:
            helpers[name] = _RecordedObject(recorder, namespace[name])
    try:
        test(_RecordedObject(recorder, function), **kwargs, **helpers)
    except Exception as error:  # usually a failed assertion; the replay fails, too
        if error is recorder.error:
            raise
        return recorder.events, error
    return recorder.events, None


def compare_by_test_function(
    expected: Value, value: Value, tolerance: Any, inputs: Inputs
) -> str | None:
    """Run a test function on recorded results; return a sentence on the failed assertion, or None.

    In a case without a test, compare the values of variables with the expected ones.
    """
    if TEST_ARGUMENT not in inputs.kwargs:
        return _describe_variable_difference(expected, value, tolerance, inputs)
    arguments = dict(inputs.kwargs)
    names = arguments.pop(VARIABLES_FROM_REFERENCE, ())
    if names:  # the first result is that of the variables
        arguments |= {name: expected[1][name] for name in names}
        expected, value = expected[2:], value[2:] if isinstance(value, list) else []
    # Look at the values before the test, which may modify them.
    expected_calls = _list_calls(expected)
    changed_keys = [call.changes.keys() for call in expected_calls]
    returned = _list_results(_list_calls(value), changed_keys)
    expected_returned = _list_results(expected_calls, changed_keys)
    only_zeros = _is_unexpectedly_all_zeros(expected_returned, returned)
    has_empty_result = _has_unexpected_empty_result(expected_returned, returned)
    source = arguments.pop(TEST_ARGUMENT)
    failed_line = 0
    if isinstance(value, list) and value[-2:-1] == [FAILED_EVENT]:
        failed_line, value = value[-1], value[:-2]
    test = load_test(source)
    replay = _ReplayedObject(_ResultReplayer(value, expected_calls), [])
    functions = dict.fromkeys(_missing_arguments(test, arguments), replay)
    try:
        with redirect_stdout(LimitedOutputBuffer(0)):
            test(replay, **arguments, **functions)
    except Exception as error:  # noqa: BLE001 - a test may meet any value
        return _describe_test_failure(error, source)
    if failed_line:
        # The assertion holds for the returned values, but failed in the run. So it must have
        # tested a side effect of the function, most likely a modified argument.
        return (
            f"This assertion fails: `{_quote_line(source, failed_line)}`. It holds for what your "
            "function returns. Does your function change its arguments?"
        )
    if only_zeros:
        return "Zeros alone pass this test; they are not the expected result."
    if has_empty_result:
        return "Your function returns something empty; that passes this test, but is not expected."
    return None


def equal_in_every_comparison(found: Value, expected: Value, *comparisons: Callable) -> bool | None:
    """Return True if an answer's value passes the comparisons of a test, False if not.

    A comparison is called with the value and the expected one, and asserts that they agree. Only
    those count that hold for the expected value itself; None is returned if none does.
    """
    applicable = False
    for comparison in comparisons:
        reference = expected
        if type(expected) in (int, float) and not _passes_comparison(
            comparison, expected, expected
        ):
            reference = np.asarray(expected)[()]  # a number of NumPy's has more methods
        if _passes_comparison(comparison, reference, reference):
            applicable = True
            if not _passes_comparison(comparison, found, reference):
                return False
    return True if applicable else None


def remove_labels(value: Value) -> Value:
    """Return the entries of a pandas table as an array; return any other value as it is.

    >>> remove_labels([1, 2])
    [1, 2]
    """
    if is_pandas(value):
        return value.to_numpy()
    return value


def convert_to_list(value: Value) -> Value:
    """Return the entries of an array or a pandas table as a list; return any other value as it is.

    >>> convert_to_list(np.array([1, 2])), convert_to_list((1, 2))
    ([1, 2], (1, 2))
    """
    array = remove_labels(value)
    if isinstance(array, np.ndarray):
        return array.tolist()
    return value


def _passes_comparison(comparison: Callable, found: Value, expected: Value) -> bool:
    try:
        comparison(found, expected)
    except Exception:  # noqa: BLE001 - it may meet any value, and belong to another case
        return False
    return True


def _describe_variable_difference(
    expected: Value, value: Value, tolerance: Any, inputs: Inputs
) -> str | None:
    """Compare the values of the student's variables: those that the test case names, or all."""
    expected, value = convert_argument(expected), convert_argument(value)
    names = inputs.kwargs.get(COMPARED_VARIABLES)
    if names:
        expected = {name: expected.get(name) for name in names}
        value = {name: value.get(name) for name in names}
    rules = ComparisonRules(tolerance=tolerance, floats_too=True)
    difference = find_difference(expected, value, rules)
    return difference.observation if difference else None


def _is_unexpectedly_all_zeros(expected: Value, value: Value) -> bool:
    """Return True if a student's recorded results are all zero, and the expected ones are not."""
    blank, rules = zero_recorded_values(expected), ComparisonRules()
    if not values_agree(blank, convert_argument(value), rules):
        return False
    return not values_agree(blank, convert_argument(expected), rules)


def _has_unexpected_empty_result(expected: list[Value], value: list[Value]) -> bool:
    """Return True if a result is empty, such as an array without numbers, and should not be.

    NumPy's comparisons hold for all of no numbers, so an empty array would pass most tests.
    """
    for index in range(1, min(len(expected), len(value)), 2):
        are_values = expected[index - 1] in DATA_EVENTS and value[index - 1] in DATA_EVENTS
        if are_values and _is_empty(value[index]) and not _is_empty(expected[index]):
            return True
    return False


def _is_empty(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.size == 0
    return isinstance(value, (list, tuple, dict, set, frozenset, str)) and not value


@dataclass(frozen=True)
class _RecordedCall:
    """Result of a recorded call, and the arguments that it changed, by position or name."""

    event: str
    value: Value
    changes: Mapping[int | str, Value]


def _list_calls(events: Any) -> list[_RecordedCall]:
    """Return the recorded calls of a test, without what they printed, and without error messages."""
    calls = []
    changes: Mapping = {}
    if not isinstance(events, list):
        return []
    for event, value in zip(events[::2], events[1::2], strict=False):
        if event == CHANGED_EVENT and isinstance(value, dict):
            changes = value
        elif event not in SIDE_EFFECT_EVENTS:
            if event == "raised":
                value = str(value).partition(": ")[0]
            calls.append(_RecordedCall(str(event), value, changes))
            changes = {}
    return calls


def _list_results(
    calls: Sequence[_RecordedCall], changed_keys: Sequence[Collection[int | str]]
) -> list[Value]:
    """Return the results of calls as events, with the changes of those arguments that may change.

    Parameters
    ----------
    changed_keys : sequence of collections
        For each call, the arguments that the reference changes.
    """
    events: list[Value] = []
    for index, call in enumerate(calls):
        events += [call.event, call.value]
        keys = changed_keys[index] if index < len(changed_keys) else ()
        if keys:
            events += [CHANGED_EVENT, {key: call.changes.get(key) for key in keys}]
    return events


def zero_recorded_values(events: list[Value]) -> list[Value]:
    """Return the recorded results of a test function's calls, with zeros for each value.

    Printed texts become empty.

    With them, the build finds out whether zeros alone would pass a test. Recorded errors stay.

    >>> zero_recorded_values(["value", [1, 2], "raised", "ValueError"])
    ['value', [0, 0], 'raised', 'ValueError']
    """
    zero_events = list(convert_argument(events))
    for index in range(1, len(zero_events), 2):
        if zero_events[index - 1] in (*DATA_EVENTS, *SIDE_EFFECT_EVENTS):
            zero_events[index] = blank_like(zero_events[index])
    return zero_events


def has_recorded_value(events: Sequence[Value]) -> bool:
    """Return True if the calls of a test function gave a value, and not only objects and errors."""
    return any(event in (*DATA_EVENTS, *SIDE_EFFECT_EVENTS) for event in events[::2])


def is_empty_answer(expected: Value) -> bool:
    """Return True if a test of variables got nothing but empty ones, such as a table without rows.

    Zeros cannot stand in place of what they hold.

    Parameters
    ----------
    expected : list of values, or a dict
        Recorded results of the test's calls; the variables themselves in a case without a test.

    >>> is_empty_answer(["value", {"names": []}]), is_empty_answer(["value", {"count": 0}])
    (True, False)
    >>> is_empty_answer({"count": 0, "names": []})
    False
    """
    if not isinstance(expected, list) or len(expected) != 2 or not isinstance(expected[1], dict):
        return False
    return not _has_contents(expected[1])


def _has_contents(value: Value) -> bool:
    if isinstance(value, dict):
        return any(map(_has_contents, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_contents, value))
    if isinstance(value, DataTable):
        return len(value.index) > 0 and bool(value.data)
    if isinstance(value, np.ndarray):
        return value.size > 0
    return value is not None and value != ""


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


class _OutcomeRecorder:
    """Recorder of calls: each outcome becomes two items, its kind and a value.

    An outcome that is no plain data, such as a model or a figure's axes, is handed to the test in a
    `_RecordedObject`, so that what the test does with it is recorded, too.
    """

    def __init__(self) -> None:
        self.events: list[Value] = []  # a flat list: the nesting of values is limited
        self.error: BaseException | None = None

    def __call__(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        printed = _TeeBuffer(sys.stdout)
        arguments = dict(enumerate(args[1:])) | kwargs  # without the tested object
        copies = {key: _copy_changeable(argument) for key, argument in arguments.items()}
        try:
            args, kwargs = _unwrap_objects(args), _unwrap_objects(kwargs)
            sys.stdout = printed
            try:
                result = function(*args, **kwargs)
            finally:
                if sys.stdout is printed:
                    sys.stdout = printed.stream
                self._record_side_effects(printed.text, arguments, copies)
            return self._record_result(result)
        except Exception as error:
            self.events += ["raised", _describe_error(error)]
            self.error = error
            raise

    def _record_side_effects(
        self, text: str, arguments: Mapping[int | str, Any], copies: Mapping[int | str, Any]
    ) -> None:
        """Record what a call has printed, and the arguments that it has changed."""
        if text:
            self.events += [PRINTED_EVENT, text]
        changes = {}
        for key, copy in copies.items():
            if copy is not None and not _are_same(copy, arguments[key]):
                changes[key] = copy_value(pack_result(arguments[key])[1])
        if changes:
            self.events += [CHANGED_EVENT, changes]

    def _record_result(self, result: Any) -> Any:
        type_name, value = pack_result(result)
        if (value is not None or result is None) and not _has_custom_class(result):
            self.events += [
                "counter" if _counts_missing_keys(result) else "value",
                copy_value(value),
            ]
            return result
        if isinstance(result, Iterator):
            self.events += ["items", type_name]
            return self._record_items(result)
        self.events += ["object", [type_name, *_list_class_names(type(result))]]
        return _RecordedObject(self, result)

    def _record_items(self, items: Iterator) -> Iterator:
        for item in items:
            yield self._record_result(item)
        self.events += ["end", True]


class _TeeBuffer(LimitedOutputBuffer):
    """Text stream that keeps what is written, up to a limit, and passes it on to another stream."""

    def __init__(self, stream: Any):
        super().__init__()
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(text)
        return super().write(text)


def _copy_changeable(argument: Any) -> Value:
    """Return the value of an argument that a call may change, as a copy; None for any other."""
    is_changeable = type(argument) in (list, dict, set, np.ndarray) or is_pandas(argument)
    if not is_changeable or _holds_recorded_object(argument):
        return None
    return copy_value(pack_result(argument)[1])


def _are_same(copy: Value, argument: Any) -> bool:
    """Return True if an argument is still like its copy, or has become what cannot be recorded."""
    value = pack_result(argument)[1]
    return value is None or _pack_with_arrays(pack_result(copy)[1]) == _pack_with_arrays(value)


def _pack_with_arrays(value: Value) -> tuple:
    arrays: list[np.ndarray] = []
    packed_value = pack_value(value, arrays)
    return packed_value, [(array.dtype, array.shape, array.tobytes()) for array in arrays]


def _change_argument(argument: Any, value: Any) -> None:
    """Give an argument, a list or a table for example, another value; it stays the same object."""
    if isinstance(argument, list) and len(argument) == len(value):
        for index, part in enumerate(argument):
            if isinstance(part, (list, dict)) and type(part) is type(value[index]):
                _change_argument(part, value[index])  # the test may hold this part, too
            else:
                argument[index] = value[index]
    elif isinstance(argument, list):
        argument[:] = value
    elif isinstance(argument, (dict, set)):
        argument.clear()
        argument.update(value)
    elif isinstance(argument, np.ndarray):
        argument[...] = value
    elif hasattr(argument, "columns"):
        argument.drop(index=argument.index, columns=argument.columns, inplace=True)
        argument.index = value.index[:0]
        for column in value.columns:
            argument[column] = value[column]
    else:
        argument.drop(index=argument.index.difference(value.index), inplace=True)
        for label in value.index:
            argument[label] = value[label]


def _has_custom_class(value: Any) -> bool:
    """Return True for an object of a class that inherits from `list`, say, and may have methods."""
    is_container = isinstance(value, (list, tuple, dict, set, frozenset, str, int, float))
    return is_container and type(value).__module__ not in ("builtins", "numpy", "collections")


def _counts_missing_keys(value: Any) -> bool:
    """Return True for a Counter or a `defaultdict(int)`, which have 0 for keys that they lack."""
    return type(value) is Counter or (type(value) is defaultdict and value.default_factory is int)


def _list_class_names(object_type: type) -> list[str]:
    """Return the names "module:class" of a class and of the classes that it inherits from."""
    return [f"{base.__module__}:{base.__qualname__}" for base in object_type.__mro__[:-1]]


def _unwrap_objects(value: Any) -> Any:
    """Return a value with the objects themselves in place of their `_RecordedObject`."""
    if type(value) is _RecordedObject:
        return object.__getattribute__(value, "_object")
    if not _holds_recorded_object(value):
        return value  # itself, since the student's function may be asked to change it
    if type(value) is dict:
        return {key: _unwrap_objects(part) for key, part in value.items()}
    return type(value)(map(_unwrap_objects, value))


def _holds_recorded_object(value: Any) -> bool:
    """Return True for a list, tuple or dict with a `_RecordedObject` in it."""
    if type(value) is _RecordedObject:
        return True
    if type(value) is dict:
        return any(map(_holds_recorded_object, value.values()))
    return type(value) in (list, tuple) and any(map(_holds_recorded_object, value))


class _TestedObject:
    """Stand-in for an object that is no plain data, in a test function.

    Python looks up the methods for operators, such as `len` and `+`, in the class. So this class
    has them all; each asks `_perform_operation`, which a subclass defines.
    """

    def _perform_operation(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name in ("__array_struct__", "__array_interface__"):
            raise AttributeError(name)  # NumPy would read the data there; `__array__` records them
        return self._perform_operation(getattr, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._perform_operation(setattr, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._perform_operation(_call, *args, **kwargs)

    def __iter__(self) -> Iterator:
        return self._perform_operation(iter)

    def __instancecheck__(self, instance: Any) -> bool:
        return self._perform_operation(_is_instance_of, instance)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._perform_operation(np.asarray, dtype)

    def __hash__(self) -> int:
        return id(self)


def _call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _is_instance_of(class_or_type: Any, instance: Any) -> bool:
    return isinstance(instance, class_or_type)


def _define_operator(name: str, function: Callable) -> None:
    def method(self: _TestedObject, *args: Any) -> Any:
        return self._perform_operation(function, *args)

    setattr(_TestedObject, name, method)


def _define_reflected_operator(name: str, function: Callable) -> None:
    def method(self: _TestedObject, other: Any) -> Any:
        return self._perform_operation(lambda tested, other: function(other, tested), other)

    setattr(_TestedObject, name, method)


for _name in "getitem setitem delitem contains eq ne lt le gt ge neg pos abs invert index".split():
    _define_operator(f"__{_name}__", getattr(operator, _name))
for _name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor".split():
    _define_operator(f"__{_name.strip('_')}__", getattr(operator, _name))
    _define_reflected_operator(f"__r{_name.strip('_')}__", getattr(operator, _name))
for _function in (len, bool, int, float, complex, str, repr, round):
    _define_operator(f"__{_function.__name__}__", _function)


class _RecordedObject(_TestedObject):
    """Proxy for an object that the student's code made; it records what a test does with the object."""

    def __init__(self, recorder: _OutcomeRecorder, tested: Any):
        object.__setattr__(self, "_recorder", recorder)
        object.__setattr__(self, "_object", tested)

    def _perform_operation(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        recorder, tested = (
            object.__getattribute__(self, name) for name in ("_recorder", "_object")
        )
        return recorder(function, tested, *args, **kwargs)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(object.__getattribute__(self, "_object"))


class _ReplayedObject(_TestedObject):
    """The same object in the grader: each operation returns the next recorded result."""

    def __init__(self, replayer: "_ResultReplayer", class_names: Any):
        object.__setattr__(self, "_player", replayer)
        object.__setattr__(self, "_class_names", class_names)

    def _perform_operation(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        return object.__getattribute__(self, "_player")(*args, **kwargs)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        for name in object.__getattribute__(self, "_class_names"):
            known_class = _find_imported_class(str(name))
            if known_class is not None:
                return known_class
        return _ReplayedObject


def _find_imported_class(name: str) -> type | None:
    """Return the class "module:class" if the grader has imported the module; nothing is imported."""
    module_name, _, class_name = name.partition(":")
    found: Any = sys.modules.get(module_name)
    if module_name == "__main__":
        return None
    for part in class_name.split("."):
        found = vars(found).get(part) if isinstance(found, (type, ModuleType)) else None
    return found if isinstance(found, type) else None


class _RecordingEnded(Exception):
    """The test function, which runs on recorded results, makes more calls than were recorded."""


class _ResultReplayer:
    """Stand-in for the student's functions: each call returns the next recorded result.

    The record is a student's, and may be forged. So a change of an argument counts only where the
    reference changes it, too, and an object only where the reference has no plain data: an object
    of the student's could be equal to everything.
    """

    def __init__(self, events: Any, expected_calls: Sequence["_RecordedCall"]):
        self._events = iter(events if isinstance(events, list) else ())
        self._expected_calls = iter(expected_calls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        event, value = next(self._events, None), next(self._events, None)
        expected = next(self._expected_calls, _RecordedCall("", None, {}))
        while event in SIDE_EFFECT_EVENTS:
            if event == PRINTED_EVENT:
                sys.stdout.write(str(value))
            elif isinstance(value, dict):
                changes = {key: value[key] for key in value.keys() & expected.changes.keys()}
                self._change_arguments(dict(enumerate(args)) | kwargs, changes)
            event, value = next(self._events, None), next(self._events, None)
        if event not in CALL_EVENTS:
            raise _RecordingEnded
        if event == "raised":
            name, _, text = str(value).partition(": ")
            raise _find_error_type(name)(text or "as your function did")
        if event == "end":
            raise StopIteration
        if event == "value":
            return value
        if event == "counter":
            return Counter(value) if isinstance(value, dict) else value
        if event == "object" and expected.event in DATA_EVENTS:
            raise AssertionError("Your function returns an object where plain data is expected.")
        if event == "object":
            return _ReplayedObject(self, value if isinstance(value, list) else [])
        return self._replay_items()

    @staticmethod
    def _change_arguments(arguments: Mapping[int | str, Any], changes: Mapping) -> None:
        for key, value in changes.items():
            if key in arguments:
                with suppress(Exception):  # the record is a student's, and may hold any value
                    _change_argument(arguments[key], value)

    def _replay_items(self) -> Iterator:
        while True:
            try:
                item = self()
            except StopIteration:
                return
            yield item


def _describe_error(error: BaseException) -> str:
    """Return the name of an error's type, and its message after a colon, if it has one."""
    try:
        text = truncate(" ".join(str(error).split()), MAX_ERROR_CHARACTERS)
    except Exception:  # noqa: BLE001 - a hostile __str__
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class expect_error:
    """Context in a test function in which an error is expected, like `pytest.raises`.

    Students have no pytest. After the context, `value` and `exception` hold the error.
    """

    def __init__(self, *types: Any, match: str = ""):
        self.types, self.match = types, match
        self.value: BaseException | None = None

    def __enter__(self) -> "expect_error":
        return self

    def __exit__(self, error_type: Any, error: BaseException | None, trace: Any) -> bool:
        names = " or ".join(getattr(expected, "__name__", "an error") for expected in self.types)
        if error is None:
            raise AssertionError(f"No error was raised; expected {names}.")
        if not isinstance(error, self.types):
            return False
        self.value = error
        if self.match and not re.search(self.match, str(error)):
            raise AssertionError(f"The message {str(error)!r} does not match {self.match!r}.")
        return True

    @property
    def exception(self) -> BaseException | None:
        return self.value


def _find_error_type(name: str) -> Any:
    """Return Python's own exception type of this name, or a new exception type of this name."""
    builtin = getattr(builtins, name, None)
    if isinstance(builtin, type) and issubclass(builtin, Exception):
        return builtin
    return type(name, (Exception,), {})


def _find_failed_line(error: Exception, name_or_source: str) -> int:
    """Return the number of the last line of a test function that ran before an error."""
    code = load_test(name_or_source).__code__
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.co_filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _quote_line(name_or_source: str, line: Any) -> str:
    """Return a line of a test function, without `assert`."""
    if type(line) is not int:
        return ""
    code = load_test(name_or_source).__code__
    statement = " ".join(linecache.getline(code.co_filename, line).split())
    return truncate(_extract_condition(statement), 160)


def _describe_test_failure(error: Exception, name_or_source: str) -> str:
    """Say how a test function failed, and quote the line of it that failed."""
    condition = _quote_line(name_or_source, _find_failed_line(error, name_or_source))
    message = str(error).strip()
    if isinstance(error, AssertionError):
        text = f"This assertion fails: `{condition}`."
        if message and "\n" not in message:
            text += f" {truncate(message, 200)}"
        return text
    if isinstance(error, _RecordingEnded):
        return f"Your function did not come to `{condition}` in the same way when it was called before."
    error_text = type(error).__name__
    if message:  # a StopIteration, for example, has none
        error_text += f": {truncate(message, 120)}"
    return f"`{condition}` cannot be evaluated with your function's results ({error_text})."


def _extract_condition(line: str) -> str:
    """Return the condition of an `assert` statement; any other line of code as it is."""
    try:
        (statement,) = ast.parse(line).body
    except (SyntaxError, ValueError):
        return line  # the first line of a longer statement, or the head of a loop
    return ast.unparse(statement.test) if isinstance(statement, ast.Assert) else line
