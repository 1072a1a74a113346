"""What is said of a wrong result by asking the student's function again, with something in its arguments changed.

Only a check can ask again, and it does so where no known mistake explains the answer. What is said was seen in
every case that fails and could be asked, and no case that is right contradicts it.
"""

import inspect
import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from autograder.judging.answer import ask
from autograder.judging.compare import same_answer
from autograder.judging.kinds import arrays_in, ordinal
from autograder.judging.question import Answer, Inputs, Question, Rules, Value

MOST = 300  # calls of the function; a block of a Transformer has 16 arrays, and so 120 pairs of them
_LARGEST = 10_000  # numbers in the inputs of a case that is asked again

_DEFAULTS = (None, False, True, 0, 1, -1)  # what an argument may well be when nobody gives it
_PLAIN = (type(None), bool, int, float, str)

# What is changed, in words, and how; it raises where it cannot.
Change = tuple[str, Callable[[Inputs], Inputs]]


@dataclass(frozen=True)
class Slot:
    """A place among a call's arguments: one of them, or an entry of a mapping."""

    name: str
    at: int | str
    key: str | None = None

    def get(self, given: Inputs) -> Value:
        """What stands there; None where there is nothing."""
        whole = self._whole(given)
        return whole if self.key is None else whole[self.key]

    def _whole(self, given: Inputs) -> Value:
        """The argument."""
        if isinstance(self.at, str):
            return given.kwargs.get(self.at)
        return given.args[self.at] if self.at < len(given.args) else None

    def put(self, given: Inputs, value: Value) -> Inputs:
        """The same arguments with another value there."""
        if self.key is not None:
            value = {**self._whole(given), self.key: value}
        if isinstance(self.at, str):
            return replace(given, kwargs={**given.kwargs, self.at: value})
        return replace(given, args=(*given.args[: self.at], value, *given.args[self.at + 1 :]))


def what_moves(
    function: Any,
    failing: Sequence[Question],
    rules: Rules,
    idle: Sequence[str] = (),
    fine: Sequence[Question] = (),
) -> str:
    """A sentence on what the results depend on, or what would make them right; "" if nothing is odd.

    Parameters
    ----------
    function : callable
    failing, fine : sequences of Question
        The cases in which its answers are wrong, and those in which they are right.
    rules : Rules
    idle : sequence of str
        The names of the arrays on which what is due does not depend either.
    """
    asked = [_in_full(function, q) for q in sorted(failing, key=size_of, reverse=True) if may_be_asked(q)]
    if not asked or rules.call != "function":
        return ""
    left = iter(range(MOST))

    def came(given: Inputs) -> Answer | None:
        return ask(function, given, rules.call) if next(left, None) is not None else None

    def same(one: Answer | None, other: Answer) -> bool:
        if one is None or one.error:
            return False
        return same_answer(replace(one, modified=()), replace(other, modified=()), rules)

    answers = {id(q): ask(function, q.inputs, rules.call) for q in asked}
    first = answers[id(asked[0])]
    if first.error or first.value is None:
        return ""
    if not same(came(asked[0].inputs), first):
        return (
            "Called twice with the same arguments, it gives two results: a random number is in it, or something "
            "that is kept from one call to the next."
        )
    values = [(q, answers[id(q)].value) for q in asked if not answers[id(q)].error]
    slots = list(_slots(function, asked[0].inputs))
    if said := _with_an_argument(values, slots) or _too_many_by(values, slots):
        return said

    def does_not_depend(slot: Slot) -> bool:
        def still(q: Question, was: Answer) -> bool:
            value = slot.get(q.inputs)
            return not _is_array(value) or same(came(slot.put(q.inputs, _moved(value))), was)

        return all(still(q, answers[id(q)]) for q in asked[:3]) and all(
            still(q, Answer(q.expected)) for q in sorted(fine, key=size_of)[-2:] if size_of(q) <= _LARGEST
        )

    for slot in slots if _is_fine(first.value) else ():
        if slot.name in idle:
            continue
        if _is_array(slot.get(asked[0].inputs)) and does_not_depend(slot):
            return f"Your result does not depend on `{slot.name}`: with other numbers in it, the same comes back."

    def mends(change: Callable[[Inputs], Inputs]) -> bool:
        for q in asked:
            try:
                with np.errstate(all="ignore"):
                    changed = change(q.inputs)
            except (TypeError, ValueError, IndexError, KeyError):
                return False
            if not same(came(changed), Answer(q.expected)):
                return False
        return True

    whole = _bound(function, asked[0].inputs)
    calls = [_bound(function, q.inputs) for q in failing if may_be_asked(q)]
    left_out = set(whole.arguments if whole else ()).difference(*(call.arguments for call in calls if call))
    for words, change in _changes(asked[0], slots, left_out):
        if mends(change):
            return words
    return ""


def idle_in(reference: Any, questions: Sequence[Question], rules: Rules) -> tuple[str, ...]:
    """The names of the arrays on which a right result does not depend, as the largest of these cases shows it."""
    asked = [_in_full(reference, q) for q in questions if may_be_asked(q)]
    question = max(asked, key=size_of, default=None)
    if question is None or rules.call != "function" or not _is_fine(question.expected):
        return ()
    given, due = question.inputs, Answer(question.expected)

    def moves(changed: Inputs) -> bool:
        return not same_answer(replace(ask(reference, changed, rules.call), modified=()), due, rules)

    arrays = [(slot, slot.get(given)) for slot in _slots(reference, given)]
    return tuple(
        slot.name for slot, value in arrays if _is_array(value) and not moves(slot.put(given, _moved(value)))
    )


def _in_full(function: Any, question: Question) -> Question:
    """The question with the settings that its call leaves to their defaults."""
    whole = _bound(function, question.inputs)
    if whole is None:
        return question
    whole.apply_defaults()
    return replace(question, inputs=replace(question.inputs, args=whole.args, kwargs=whole.kwargs))


def _bound(function: Any, given: Inputs) -> inspect.BoundArguments | None:
    """The arguments of a call by their names; None for what has no signature, or another one."""
    try:
        return inspect.signature(function).bind(*given.args, **given.kwargs)
    except (ValueError, TypeError):
        return None


def may_be_asked(question: Question) -> bool:
    """Whether a case is small enough to be asked again and again."""
    return size_of(question) <= _LARGEST and question.inputs.memory is None


def size_of(question: Question) -> int:
    """How many numbers its inputs hold."""
    return sum(array.size for array in arrays_in((*question.inputs.args, *question.inputs.kwargs.values())))


def _is_fine(value: Value) -> bool:
    """Whether a result shows the least change of what it is made of, as a number of a token does not."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    return any(isinstance(part, float) or _is_array(part) for part in parts)


def _moved(array: np.ndarray) -> np.ndarray:
    """Other numbers of about the same size, by no rule that a result could fail to show."""
    return (array * 1.25 + 0.5 * np.sin(1.0 + np.arange(array.size)).reshape(array.shape)).astype(array.dtype)


def _slots(function: Any, given: Inputs) -> Iterator[Slot]:
    """Every place among the inputs, arguments that are left to their defaults included."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        parameters = []
    for i, value in enumerate(given.args):
        name = str(parameters[i].name) if i < len(parameters) else f"argument {i + 1}"
        if isinstance(value, dict):
            yield from (Slot(key, i, key) for key in value)
        else:
            yield Slot(name, i)
    yield from (Slot(name, name) for name in given.kwargs)


def _is_array(value: Value) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind == "f"
        and value.size > 0
        and bool(np.isfinite(value).all())
    )


def _changes(question: Question, slots: Sequence[Slot], left_out: Collection[str]) -> Iterator[Change]:
    """What may have been mixed up, as changes of the arguments that would make up for it."""
    given = question.inputs
    for slot in slots:
        if slot.name in left_out:
            own = slot.get(given)
            for value in _DEFAULTS if type(own) in _PLAIN else ():
                if value is not own and value != own:
                    yield (
                        f"The call leaves `{slot.name}` out, and your function takes {own!r} for it; with {value!r} "
                        "it gives what is due. What stands in the first line that you were given?",
                        partial(slot.put, value=value),
                    )
    for one, other in combinations(slots, 2):
        a, b = one.get(given), other.get(given)
        if _is_array(a) and _is_array(b):
            alike = a.shape == b.shape and a.size > 1 and not np.array_equal(a, b)
        else:
            alike = type(a) is type(b) is float and a != b
        if alike:
            yield (
                f"With `{one.name}` and `{other.name}` exchanged it gives what is due: have they changed places "
                "in your code?",
                partial(_exchanged, one, other),
            )
    for slot in slots:
        if slot.name in left_out:
            continue
        for words, change in _of_one(slot.get(given), slot.name):
            yield words, partial(_changed, slot, change)


def _exchanged(one: Slot, other: Slot, given: Inputs) -> Inputs:
    return other.put(one.put(given, other.get(given)), one.get(given))


def _changed(slot: Slot, change: Callable[[Value], Value], given: Inputs) -> Inputs:
    return slot.put(given, change(slot.get(given)))


def _scaled(factor: Callable[[np.ndarray], float], value: np.ndarray) -> np.ndarray:
    scaled = value * factor(value)
    return scaled.astype(value.dtype) if value.dtype.kind == "f" else scaled


def _of_one(value: Value, name: str) -> Iterator[tuple[str, Callable[[Value], Value]]]:
    if isinstance(value, np.ndarray) and value.ndim > 1 and value.shape[-1] == value.shape[-2] > 1:
        yield (
            f"With rows and columns of `{name}` exchanged it gives what is due: is it turned where it should not "
            "be, or not turned where it should?",
            lambda v: np.swapaxes(v, -1, -2),
        )
    if isinstance(value, np.ndarray) and value.dtype == bool:
        yield (
            f"With True and False exchanged in `{name}` it gives what is due: is it read the other way round?",
            np.logical_not,
        )
    whole = type(value) is int or (isinstance(value, np.ndarray) and value.dtype.kind == "i")
    for step, words in ((1, "larger"), (-1, "smaller")) if whole else ():
        yield (
            f"With `{name}` one {words} it gives what is due: what do you count from, 0 or 1, and does the last "
            "one belong to it?",
            partial(operator.add, step),
        )
    if _is_array(value) or (type(value) is float and value):
        yield (
            f"With the sign of `{name}` changed it gives what is due: where is a minus too many, or missing?",
            lambda v: -v,
        )
        yield (
            f"With 1 / `{name}` in place of `{name}` it gives what is due: do you multiply where you should divide, "
            "or divide where you should multiply?",
            lambda v: 1 / v,
        )
    if _is_array(value) or (isinstance(value, np.ndarray) and value.dtype.kind == "i" and value.size):
        for words, factor in _FACTORS:
            yield (
                f"With `{name}` multiplied by {words.format(name)} it gives what is due: by what do you multiply or "
                "divide, and how often?",
                partial(_scaled, factor),
            )


_FACTORS: list[tuple[str, Callable[[np.ndarray], float]]] = [
    ("2", lambda v: 2.0),
    ("½", lambda v: 0.5),
    *(
        (words.format(what), lambda v, axis=axis, power=power: float(v.shape[axis]) ** power)
        for axis, what in ((-1, "n, where n is the length of a row of `{}`,"), (0, "n, where n is `len({})`,"))
        for words, power in (("√{}", 0.5), ("1/√{}", -0.5), ("{}", 1.0), ("1/{}", -1.0), ("1/√√{}", -0.25))
    ),
]  # fmt: skip


def _with_an_argument(values: Sequence[tuple[Question, Value]], slots: Sequence[Slot]) -> str:
    """Whether every wrong result, or one part of it, is the right one and an argument besides."""
    due = values[0][0].expected
    parts: Sequence[int | None] = range(len(due)) if isinstance(due, (tuple, list)) else [None]
    for part, slot, (words, combine) in product(parts, slots, _WITH):
        told = 0
        for question, got in values:
            wanted, argument = question.expected, slot.get(question.inputs)
            if part is not None:
                same_kind = isinstance(got, (tuple, list)) and len(got) == len(wanted)
                wanted, got = (wanted[part], got[part]) if same_kind else (None, None)
            if not all(map(_is_array, (wanted, got, argument))) or wanted.shape != got.shape:
                break
            if argument.size == wanted.size:
                argument = argument.reshape(wanted.shape)  # a row (1, n) for a vector (n,)
            if np.allclose(wanted, got, rtol=1e-6, atol=1e-9):
                continue  # it is another part that fails here
            try:
                with np.errstate(all="ignore"):
                    made = combine(wanted, argument)
            except ValueError:
                break
            if made.shape != got.shape or not np.allclose(made, got, rtol=1e-6, atol=1e-9):
                break
            told += got.size
        else:
            if told >= 8:
                where = "" if part is None else f" in the {ordinal(part + 1)} value"
                return f"What you return{where} is {words.format(slot.name)}. Does the formula say so?"
    return ""


_WITH: list[tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = [
    ("what is due plus `{}`", lambda due, x: due + x),
    ("what is due minus `{}`", lambda due, x: due - x),
    ("`{}` minus what is due", lambda due, x: x - due),
    ("what is due times `{}`", lambda due, x: due * x),
    ("what is due divided by `{}`", lambda due, x: due / x),
    ("halfway between what is due and `{}`", lambda due, x: (due + x) / 2),
]


def _too_many_by(values: Sequence[tuple[Question, Value]], slots: Sequence[Slot]) -> str:
    """Of whole numbers: what product of the arguments is counted too much or too little in every case that fails."""
    if len(values) < 2 or not all(type(got) is type(q.expected) is int for q, got in values):
        return ""
    gaps = [got - q.expected for q, got in values]
    rows = {
        slot.name: [slot.get(q.inputs) for q, _ in values]
        for slot in slots
        if all(type(slot.get(q.inputs)) is int for q, _ in values)
    }
    for powers in sorted(product(range(3), repeat=len(rows)), key=lambda p: (sum(p), max(p, default=0))):
        if not 0 < sum(powers) <= 4:
            continue
        sizes = [
            int(np.prod([float(v) ** p for v, p in zip(row, powers, strict=True)]))
            for row in zip(*rows.values(), strict=True)
        ]
        times = gaps[0] // sizes[0] if sizes[0] else 0
        if 0 < abs(times) <= 16 and gaps == [times * size for size in sizes] and len(set(gaps)) > 1:
            factors = [f"`{n}`{'²' * (p == 2)}" for n, p in zip(rows, powers, strict=True) if p]
            what = " · ".join([str(abs(times))] * (abs(times) > 1) + factors)
            much = "too many" if times > 0 else "too few"
            return (
                f"In every case that fails, yours is {what} {much}. What in the formula has so many numbers?"
            )
    return ""
