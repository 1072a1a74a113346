"""Which input moves a wrong result: a function is asked again, with one argument changed, or two exchanged.

Only a check can ask again, and it does so where no known mistake explains the answer. What is said is what was seen.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from autograder.judging.answer import ask, names_of
from autograder.judging.compare import same_answer
from autograder.judging.question import Answer, Inputs, Question, Rules, Value

MOST = 100  # calls of the function; a block of a Transformer has 16 arrays, and so 120 pairs of them
_LARGEST = 10_000  # numbers in the inputs of a case that is asked again

# Its name, what stands there, and how to put another there.
Slot = tuple[str, np.ndarray, Callable[..., Inputs]]


def what_moves(function: Any, failing: Sequence[Question], rules: Rules, idle: Sequence[str] = ()) -> str:
    """A sentence on what the results depend on, as the largest of these cases shows it; "" if nothing is odd.

    `idle` are the arrays on which what is due does not depend either.
    """
    question = _largest(function, failing, rules)
    if question is None:
        return ""
    given, calls = question.inputs, iter(range(MOST))

    def gives(changed: Inputs, wanted: Answer) -> bool:
        if next(calls, None) is None:
            return False
        came = ask(function, changed, rules.call)
        return not came.error and same_answer(replace(came, modified=()), replace(wanted, modified=()), rules)

    first = ask(function, given, rules.call)
    if first.error or first.value is None:
        return ""
    if not gives(given, first):
        return (
            "Called twice with the same arguments, it gives two results: a random number is in it, or something "
            "that is kept from one call to the next."
        )
    slots = list(_slots(function, given))
    for name, array, put in slots if _is_fine(first.value) else ():
        if name not in idle and gives(put(given, _moved(array)), first):
            return f"Your result does not depend on `{name}`: with other numbers in it, the same comes back."
    for (one, a, put_one), (other, b, put_other) in combinations(slots, 2):
        if a.shape != b.shape or a.size < 2 or np.array_equal(a, b):
            continue
        if gives(put_other(put_one(given, b), a), Answer(question.expected)):
            return f"With `{one}` and `{other}` exchanged it gives what is due: have they changed places in your code?"
    return ""


def idle_in(reference: Any, questions: Sequence[Question], rules: Rules) -> tuple[str, ...]:
    """The names of the arrays on which a right result does not depend, as the largest of these cases shows it."""
    question = _largest(reference, questions, rules)
    if question is None or not _is_fine(question.expected):
        return ()
    due = Answer(question.expected)

    def moves(changed: Inputs) -> bool:
        return not same_answer(replace(ask(reference, changed, rules.call), modified=()), due, rules)

    slots = _slots(reference, question.inputs)
    return tuple(name for name, array, put in slots if not moves(put(question.inputs, _moved(array))))


def _largest(function: Any, questions: Sequence[Question], rules: Rules) -> Question | None:
    """The case with the most numbers in its arrays that a function can be asked again and again."""
    if rules.call != "function":
        return None
    sized = [(sum(array.size for _, array, _ in _slots(function, q.inputs)), q) for q in questions]
    sized = [(size, q) for size, q in sized if size <= _LARGEST and q.inputs.memory is None]
    return max(sized, key=lambda item: item[0])[1] if sized else None


def _is_fine(value: Value) -> bool:
    """Whether a result shows the least change of what it is made of, as a number of a token does not."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    return any(isinstance(part, float) or _is_array(part) for part in parts)


def _moved(array: np.ndarray) -> np.ndarray:
    """Other numbers of about the same size, by no rule that a result could fail to show."""
    return (array * 1.25 + 0.5 * np.sin(1.0 + np.arange(array.size)).reshape(array.shape)).astype(array.dtype)


def _slots(function: Any, given: Inputs) -> Iterator[Slot]:
    """The places among the inputs where arrays of fractions stand: arguments, and entries of mappings."""
    for i, value in enumerate(given.args):
        name = names_of(function, [i])[0]
        if _is_array(value):
            yield name, value, lambda g, new, i=i: _with_argument(g, i, new)
        elif isinstance(value, dict):
            for key, part in value.items():
                if _is_array(part):
                    yield (
                        key,
                        part,
                        lambda g, new, i=i, key=key: _with_argument(g, i, {**g.args[i], key: new}),
                    )


def _is_array(value: Value) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind == "f"
        and value.size > 0
        and bool(np.isfinite(value).all())
    )


def _with_argument(given: Inputs, i: int, value: Value) -> Inputs:
    return replace(given, args=(*given.args[:i], value, *given.args[i + 1 :]))
