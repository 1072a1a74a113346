"""A test, asked of an answer as it stands: where several answers are right, or an assertion makes several calls.

The test is a function of the answer, and runs twice. Where the answer is, to hear what each call gives; and where
marks are made, on what was heard: only there the assertions count, and nothing of the answer runs.

An exercise says ``call=asked, compare=holds``; those of its cases that are tests return `by_test(...)`, others
`inputs(...)` as ever.
"""

import ast
import builtins
import inspect
import linecache
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from autograder.errors import cut
from autograder.judging.answer import pack
from autograder.judging.kinds import as_value, copied, difference, resolve, same, zeros
from autograder.judging.question import Inputs, Rules, Value

TEST, ONLY, AS_DUE = "the test", "only", "as_due"
WORDS = ("value", "raised", "items", "end", "function", "other")  # what comes of a call


def by_test(test: Callable | str, /, **values: Value) -> Inputs:
    """The inputs of a case that is a test.

    Parameters
    ----------
    test : callable or str
        A function of the answer, of these values, and of other functions that the notebook has by its other arguments'
        names. One of the course's library is found there by its name, by students' checks too; of a text, for a case that
        is hidden, the source is sent along.
    **values : values
        Of variables that are asked, `as_due` names those that are too large to write down, and are not the student's.
    """
    name = test if isinstance(test, str) else f"{test.__module__}:{test.__qualname__}"
    return Inputs((), {TEST: name, **values})


def asked(function: Any, /, *args: Value, **kwargs: Value) -> Any:
    """What a function gives in each call that a test makes of it, in turn; without a test what it returns."""
    kwargs.pop(ONLY, None)
    if TEST not in kwargs:
        return function(*args, **kwargs)
    kwargs |= {name: function()[name] for name in kwargs.pop(AS_DUE, ())}
    return heard(function, getattr(function, "__globals__", {}), **kwargs)[0]


def heard(function: Callable, here: Mapping[str, Any], /, **kwargs: Value) -> tuple[list, Exception | None]:
    """What comes of each call in a test, and what the test raised; other functions are `here` by their names."""
    test, heard = function_of(kwargs.pop(TEST)), _Heard()
    others = {name: partial(heard, here[name]) for name in _others(test, kwargs) if name in here}
    try:
        test(partial(heard, function), **kwargs, **others)
    except Exception as error:  # an assertion's, of which the judge will see the same
        if error is heard.raised:
            raise
        return heard.given, error
    return heard.given, None


def holds(due: Value, value: Value, tolerance: Any, given: Inputs) -> str | None:
    """What a test finds wrong in what was heard; without a test what differs from what is due."""
    if TEST not in given.kwargs:
        due, value = as_value(due), as_value(value)
        if only := given.kwargs.get(ONLY):  # of several variables
            due, value = ({name: all_of.get(name) for name in only} for all_of in (due, value))
        found = difference(due, value, Rules(tolerance=tolerance, floats_too=True))
        return found.seen if found else None
    values, blank = dict(given.kwargs), zeros_heard(due)
    idle = same(blank, as_value(value), Rules()) and not same(blank, as_value(due), Rules())
    values |= {n: due[1][n] for n in values.pop(AS_DUE, ())}
    test, replayed = function_of(name := values.pop(TEST)), _Replayed(value)
    try:
        test(replayed, **values, **dict.fromkeys(_others(test, values), replayed))
    except Exception as error:  # noqa: BLE001 - a test meets whatever an answer may be
        return _said(error, name)
    return "Zeros alone pass this test; they are not what is due." if idle else None


def zeros_heard(given: list[Value]) -> list[Value]:
    """What was heard, with zeros in place of every value.

    >>> zeros_heard(["value", [1, 2], "raised", "ValueError"])
    ['value', [0, 0], 'raised', 'ValueError']
    """
    given = as_value(given)
    return [zeros(one) if at % 2 and given[at - 1] == "value" else one for at, one in enumerate(given)]


def _others(test: Callable, values: Mapping[str, Value]) -> list[str]:
    """The names of a test's arguments that are neither the answer nor among these values."""
    return [name for name in list(inspect.signature(test).parameters)[1:] if name not in values]


def function_of(name: str) -> Callable:
    """The function that a test is, by its name or by its source."""
    if "\n" not in name:
        return resolve(name)
    space: dict[str, Any] = {}
    linecache.cache[_file(name)] = len(name), None, name.splitlines(True), _file(name)
    exec(compile(name, _file(name), "exec"), space)
    return next(made for made in reversed(space.values()) if inspect.isfunction(made))


def _file(source: str) -> str:
    return f"<test {zlib.crc32(source.encode())}>"


class _Heard:
    """Calls functions, and keeps what comes of it in the order in which it comes: each time a word, and a value."""

    def __init__(self) -> None:
        self.given: list[Value] = []  # flat: values may be nested only so deep
        self.raised: BaseException | None = None

    def __call__(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._kept(function(*args, **kwargs))
        except Exception as error:
            self.given += ["raised", type(error).__name__]
            self.raised = error
            raise

    def _kept(self, result: Any) -> Any:
        kind, value = pack(result)
        if value is not None or result is None:
            self.given += ["value", copied(value)]
        elif isinstance(result, Iterator):
            self.given += ["items", kind]
            return self._each(result)
        elif callable(result):
            self.given += ["function", kind]
            return partial(self, result)
        else:
            self.given += ["other", kind]
        return result

    def _each(self, items: Iterator) -> Iterator:
        for item in items:
            yield self._kept(item)
        self.given += ["end", True]


class _Short(Exception):
    """The test asks for more than the answer gave when it was heard."""


class _Replayed:
    """Gives what was heard, in the same order."""

    def __init__(self, given: Any):
        self._left = iter(given if isinstance(given, list) else ())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        what, held = next(self._left, None), next(self._left, None)
        if what not in WORDS:
            raise _Short
        if what == "raised":
            known = getattr(builtins, str(held), None)
            own = isinstance(known, type) and issubclass(known, Exception)
            kind: Any = known if own else type(str(held), (Exception,), {})
            raise kind("as your function did")
        if what == "end":
            raise StopIteration
        if what == "other":
            raise TypeError(f"it returned a {held}, which cannot be looked at")
        return held if what == "value" else self if what == "function" else self._each()

    def _each(self) -> Iterator:
        while True:
            try:
                item = self()
            except StopIteration:
                return
            yield item


def _said(error: Exception, name: str) -> str:
    """What a test that failed says, with the line that it failed in."""
    code = function_of(name).__code__
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.co_filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    asked = cut(_condition(" ".join(linecache.getline(code.co_filename, line).split())), 160)
    said = str(error).strip()
    if isinstance(error, AssertionError):
        more = f" {cut(said, 200)}" if said and "\n" not in said else ""
        return f"This is to hold, and does not: `{asked}`.{more}"
    if isinstance(error, _Short):
        return f"Your function did not come to `{asked}` in the same way when it was called before."
    return f"`{asked}` cannot be worked out with what your function gives ({type(error).__name__}: {cut(said, 120)})."


def _condition(line: str) -> str:
    """What a line asserts, without the word and without what is said where it fails."""
    try:
        (statement,) = ast.parse(line).body
    except (SyntaxError, ValueError):
        return line  # the first of several, or the head of a loop
    return ast.unparse(statement.test) if isinstance(statement, ast.Assert) else line
