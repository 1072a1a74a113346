"""Notation for test cases: arguments that a call makes, and what to do with a function's result.

Course authors use it.

For example, `defer_call(iter, [1, 2])` is an argument that is an iterator, and `result.balance` asks
for an attribute of what the student's function returns. Both become a `DeferredCall`, which is
plain data: the name of a function and its arguments.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from autograder.values.case_records import DeferredCall, Value

CALL, ATTRIBUTE, ITEM = "operator:call", "builtins:getattr", "operator:getitem"


class StudentResultPlaceholder:
    """Placeholder for a student's result, which does not exist yet.

    It records which methods are called on it and which attributes and items are read. The same is
    done with the real result later.

    >>> result.scaled(2.0)[0]._autograder_call.function
    'operator:getitem'
    """

    __iter__ = None  # otherwise Python would iterate by __getitem__, without end

    def __init__(self, call: DeferredCall) -> None:
        self._autograder_call = call

    def __call__(self, *args: Value, **kwargs: Value) -> "StudentResultPlaceholder":
        return StudentResultPlaceholder(DeferredCall(CALL, (self, *args), kwargs))

    def __getattr__(self, name: str) -> "StudentResultPlaceholder":
        if name.startswith("__"):  # Python's own look-ups, such as how to copy the object
            raise AttributeError(name)
        return StudentResultPlaceholder(DeferredCall(ATTRIBUTE, (self, name)))

    def __getitem__(self, key: Value) -> "StudentResultPlaceholder":
        return StudentResultPlaceholder(DeferredCall(ITEM, (self, key)))


result = StudentResultPlaceholder(DeferredCall(""))


def defer_call(function: Callable, *args: Value, **kwargs: Value) -> StudentResultPlaceholder:
    """Return a record of a call to make later; its result is an argument of the student's function.

    The function must be in the course's library or in another module that students have. In a query
    of a result, `result` may be one of the arguments.

    >>> defer_call(iter, [1, 2])._autograder_call.args
    ([1, 2],)
    """
    return StudentResultPlaceholder(DeferredCall(function, args, kwargs))


def first(items: Any, count: int) -> Any:
    """Return the first `count` items of a generator, or of another iterable, as a list.

    >>> first(iter("abc"), 2), isinstance(first(result, 2), StudentResultPlaceholder)
    (['a', 'b'], True)
    """
    if isinstance(items, StudentResultPlaceholder):
        return defer_call(first, items, count)
    iterable: Iterable = items
    return list(islice(iterable, count))


def format_call(call: DeferredCall, short_repr: Callable[[Value], str]) -> str:
    """Return a recorded call as code, in the form in which the course's author wrote it.

    `short_repr` formats each value in the call.
    """
    if not call.function:
        return "result"
    function = str(call.function).rpartition(":")[2]
    if call.args is None:
        return function
    args = [short_repr(arg) for arg in call.args]
    if call.function == ATTRIBUTE:
        return f"{args[0]}.{call.args[1]}"
    if call.function == ITEM:
        return f"{args[0]}[{args[1]}]"
    if call.function == CALL:
        function, *args = args
    args += [f"{name}={short_repr(arg)}" for name, arg in call.kwargs.items()]
    return f"{function}({', '.join(args)})"


def make_query_subject_and_verb(
    query: DeferredCall, short_repr: Callable[[Value], str]
) -> tuple[str, str]:
    """Return subject and verb of a sentence on a part of a result: "Your result's `size`", "is".

    The subject is, for example, "Your result, called with 2.0,"; the verb is "gives" or "is".
    """
    code = format_call(query, short_repr)
    verb = "gives" if query.function == CALL else "is"
    if query.function == CALL and query.args and short_repr(query.args[0]) == "result":
        arguments = code.removeprefix("result(").removesuffix(")")
        with_arguments = f"with {arguments}" if arguments else "without arguments"
        return f"Your result, called {with_arguments},", verb
    if code.startswith("result."):
        return f"Your result's `{code.removeprefix('result.')}`", verb
    return f"`{code}` of your result", verb
