"""What authors write where a value will not do: what a function makes, and what is asked of a result.

Both come to a `Made`, plain data: a function's name, and what it is called with.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from autograder.judging.question import Made, Value

CALL, ATTRIBUTE, ITEM = "operator:call", "builtins:getattr", "operator:getitem"


class Recorder:
    """Whatever is made or returned, as authors have it: calls, attributes and items are remembered, none is real.

    >>> result.scaled(2.0)[0]._autograder_made.function
    'operator:getitem'
    """

    __iter__ = None  # else Python would try one item after the other

    def __init__(self, made: Made) -> None:
        self._autograder_made = made

    def __call__(self, *args: Value, **kwargs: Value) -> "Recorder":
        return Recorder(Made(CALL, (self, *args), kwargs))

    def __getattr__(self, name: str) -> "Recorder":
        if name.startswith("__"):  # Python's own questions, such as how to copy it
            raise AttributeError(name)
        return Recorder(Made(ATTRIBUTE, (self, name)))

    def __getitem__(self, key: Value) -> "Recorder":
        return Recorder(Made(ITEM, (self, key)))


result = Recorder(Made(""))


def made(function: Callable, *args: Value, **kwargs: Value) -> Recorder:
    """What a function of the course's library makes of these values; among them `result`, in what is asked.

    >>> made(iter, [1, 2])._autograder_made.args
    ([1, 2],)
    """
    return Recorder(Made(function, args, kwargs))


def first(items: Any, count: int) -> Any:
    """The first so many items of a generator, or of anything else that can be gone through, as a list.

    >>> first(iter("abc"), 2), isinstance(first(result, 2), Recorder)
    (['a', 'b'], True)
    """
    if isinstance(items, Recorder):
        return made(first, items, count)
    gone_through: Iterable = items
    return list(islice(gone_through, count))


def as_code(made: Made, short: Callable[[Value], str]) -> str:
    """As an author wrote it, with each value in it made short."""
    if not made.function:
        return "result"
    if made.args is None:
        return str(made.function).rpartition(":")[2]
    parts = [short(part) for part in made.args]
    if made.function == ATTRIBUTE:
        return f"{parts[0]}.{made.args[1]}"
    if made.function == ITEM:
        return f"{parts[0]}[{parts[1]}]"
    name, *parts = parts if made.function == CALL else [as_code(Made(made.function), short), *parts]
    return f"{name}({', '.join([*parts, *(f'{key}={short(part)}' for key, part in made.kwargs.items())])})"


def in_words(made: Made, short: Callable[[Value], str]) -> tuple[str, str]:
    """What was asked of a result, "Your result, called with 2.0,", and the verb before what is said of it, "gives"."""
    code, verb = as_code(made, short), "gives" if made.function == CALL else "is"
    if made.function == CALL and code.startswith("result("):
        given = code.removeprefix("result(").removesuffix(")")
        return f"Your result, called {f'with {given}' if given else 'without arguments'},", verb
    if code.startswith("result."):
        return f"Your result's `{code.removeprefix('result.')}`", verb
    return f"`{code}` of your result", verb
