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
from autograder.judging.kinds import arrays_in
from autograder.judging.question import Answer, Inputs, Question, Rules, Value
from autograder.judging.wording import ordinal

MOST = 300  # calls of the function; a block of a Transformer has 16 arrays, and so 120 pairs of them
_LARGEST = 10_000  # numbers in the inputs of a case that is asked again

_DEFAULTS = (None, False, True, 0, 1, -1)  # what an argument may well be when nobody gives it
_PLAIN = (type(None), bool, int, float, str)

Arguments = dict[str, Value]  # of a call, by their names, those that it leaves to their defaults included
# What is changed, in words, and how; it raises where it cannot.
Change = tuple[str, Callable[[Arguments], Arguments]]


@dataclass(frozen=True)
class Slot:
    """A place among a call's arguments: one of them, or an entry of a mapping."""

    argument: str
    key: Any = None

    @property
    def name(self) -> str:
        return self.argument if self.key is None else self.key

    def get(self, given: Arguments) -> Value:
        """What stands there."""
        whole = given[self.argument]
        return whole if self.key is None else whole[self.key]

    def put(self, given: Arguments, value: Value) -> Arguments:
        """The same arguments with another value there."""
        entries = {} if self.key is None else {**given[self.argument], self.key: value}
        return {**given, self.argument: entries or value}


class _Asked:
    """A function that is asked again, by the names of its arguments: `MOST` times, and then it gives nothing more."""

    def __init__(self, function: Any, rules: Rules) -> None:
        self._function, self._rules, self._left = function, rules, MOST
        self._signature = inspect.signature(function)

    def named(self, question: Question) -> inspect.BoundArguments:
        """The arguments that a case gives."""
        return self._signature.bind(*question.inputs.args, **question.inputs.kwargs)

    def arguments(self, question: Question) -> Arguments:
        """All the arguments in a case."""
        whole = self.named(question)
        whole.apply_defaults()
        return whole.arguments

    def answer(self, given: Arguments) -> Answer:
        """What comes of a call."""
        call = inspect.BoundArguments(self._signature, given)
        return ask(self._function, Inputs(call.args, call.kwargs))

    def gives(self, given: Arguments, due: Answer) -> bool:
        """Whether a call gives this."""
        self._left -= 1
        if self._left < 0:
            return False
        came = replace(self.answer(given), modified=())
        return not came.error and same_answer(came, replace(due, modified=()), self._rules)


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
    failing = sorted((q for q in failing if may_be_asked(q)), key=size_of, reverse=True)
    if not failing or rules.call != "function":
        return ""
    try:
        asked = _Asked(function, rules)
        calls = [asked.arguments(question) for question in failing]
        answers = [asked.answer(given) for given in calls]
    except (ValueError, TypeError):  # it has no signature or another one, or a default that is no value
        return ""
    given, first = calls[0], answers[0]
    if first.error or first.value is None:
        return ""
    if not asked.gives(given, first):
        return (
            "Called twice with the same arguments, it gives two results: a random number is in it, or something "
            "that is kept from one call to the next."
        )
    slots = list(_slots(given))
    came = [(g, q.expected, a.value) for g, q, a in zip(calls, failing, answers) if not a.error]
    if said := _with_an_argument(came, slots) or _too_many_by(came, slots):
        return said

    right = [q for q in sorted(fine, key=size_of)[-2:] if size_of(q) <= _LARGEST]
    known = [*zip(calls[:3], answers), *((asked.arguments(q), Answer(q.expected)) for q in right)]

    def stays(slot: Slot, given: Arguments, answer: Answer) -> bool:
        value = slot.get(given)
        return not _is_array(value) or asked.gives(slot.put(given, _moved(value)), answer)

    for slot in slots if _is_fine(first.value) else ():
        if slot.name in idle or not _is_array(slot.get(given)):
            continue
        if all(stays(slot, *one) for one in known):
            return f"Your result does not depend on `{slot.name}`: with other numbers in it, the same comes back."

    def mends(change: Callable[[Arguments], Arguments]) -> bool:
        for given, question in zip(calls, failing):
            try:
                with np.errstate(all="ignore"):
                    changed = change(given)
            except (TypeError, ValueError, IndexError, KeyError):
                return False
            if not asked.gives(changed, Answer(question.expected)):
                return False
        return True

    left_out = set(given).difference(*(asked.named(question).arguments for question in failing))
    return next((words for words, change in _changes(given, slots, left_out) if mends(change)), "")


def idle_in(reference: Any, questions: Sequence[Question], rules: Rules) -> tuple[str, ...]:
    """The names of the arrays on which a right result does not depend, as the largest of these cases shows it."""
    question = max(filter(may_be_asked, questions), key=size_of, default=None)
    if question is None or rules.call != "function" or not _is_fine(question.expected):
        return ()
    asked, due = _Asked(reference, rules), Answer(question.expected)
    given = asked.arguments(question)
    arrays = [(slot, slot.get(given)) for slot in _slots(given) if _is_array(slot.get(given))]
    return tuple(slot.name for slot, value in arrays if asked.gives(slot.put(given, _moved(value)), due))


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


def _slots(given: Arguments) -> Iterator[Slot]:
    """Every place among the arguments."""
    for name, value in given.items():
        if isinstance(value, dict):
            yield from (Slot(name, key) for key in value)
        else:
            yield Slot(name)


def _is_array(value: Value) -> bool:
    return _has_axes(value, "f") and value.size > 0 and bool(np.isfinite(value).all())


def _has_axes(value: Value, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds


def _changes(given: Arguments, slots: Sequence[Slot], left_out: Collection[str]) -> Iterator[Change]:
    """What may have been mixed up, as changes of the arguments that would make up for it."""
    for slot in slots:
        own = slot.get(given)
        if slot.name not in left_out or type(own) not in _PLAIN:
            continue
        for value in _DEFAULTS:
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
        for fits, words, change in _OF_ONE if slot.name not in left_out else ():
            if fits(slot.get(given)):
                yield words.format(slot.name), partial(_changed, slot, change)


def _exchanged(one: Slot, other: Slot, given: Arguments) -> Arguments:
    return other.put(one.put(given, other.get(given)), one.get(given))


def _changed(slot: Slot, change: Callable[[Value], Value], given: Arguments) -> Arguments:
    return slot.put(given, change(slot.get(given)))


def _scaled(factor: Callable[[np.ndarray], float], value: np.ndarray) -> np.ndarray:
    scaled = value * factor(value)
    return scaled.astype(value.dtype) if value.dtype.kind == "f" else scaled


def _is_square(value: Value) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 1 and value.shape[-1] == value.shape[-2] > 1


def _is_whole(value: Value) -> bool:
    return type(value) is int or _has_axes(value, "i")


def _is_fraction(value: Value) -> bool:
    return _is_array(value) or (type(value) is float and value != 0)


_FACTORS: list[tuple[str, Callable[[np.ndarray], float]]] = [
    ("2", lambda v: 2.0),
    ("½", lambda v: 0.5),
    *(
        (words.format(what), lambda v, axis=axis, power=power: float(v.shape[axis]) ** power)
        for axis, what in ((-1, "n, where n is the length of a row of `{0}`,"), (0, "n, where n is `len({0})`,"))
        for words, power in (("√{}", 0.5), ("1/√{}", -0.5), ("{}", 1.0), ("1/{}", -1.0), ("1/√√{}", -0.25))
    ),
]  # fmt: skip
# Of one argument: whether a change makes sense of it, the sentence, and the change.
_OF_ONE: list[tuple[Callable[[Value], bool], str, Callable[[Value], Value]]] = [
    (_is_square, "With rows and columns of `{0}` exchanged it gives what is due: is it turned where it should not "
     "be, or not turned where it should?", lambda v: np.swapaxes(v, -1, -2)),
    (partial(_has_axes, kinds="b"), "With True and False exchanged in `{0}` it gives what is due: is it read the "
     "other way round?", np.logical_not),
    *((_is_whole, f"With `{{0}}` one {words} it gives what is due: what do you count from, 0 or 1, and does the last "
       "one belong to it?", partial(operator.add, step)) for step, words in ((1, "larger"), (-1, "smaller"))),
    (_is_fraction, "With the sign of `{0}` changed it gives what is due: where is a minus too many, or missing?",
     operator.neg),
    (_is_fraction, "With 1 / `{0}` in place of `{0}` it gives what is due: do you multiply where you should divide, "
     "or divide where you should multiply?", lambda v: 1 / v),
    *((lambda v: _is_array(v) or (_has_axes(v, "i") and v.size > 0),
       f"With `{{0}}` multiplied by {words} it gives what is due: by what do you multiply or divide, and how often?",
       partial(_scaled, factor)) for words, factor in _FACTORS),
]  # fmt: skip


# The arguments of a call, what is due, and what came.
Came = tuple[Arguments, Value, Value]


def _with_an_argument(came: Sequence[Came], slots: Sequence[Slot]) -> str:
    """Whether every wrong result, or one part of it, is the right one and an argument besides."""
    _, due, _ = came[0]
    parts: Sequence[int | None] = range(len(due)) if isinstance(due, (tuple, list)) else [None]
    for part, slot, (words, combine) in product(parts, slots, _WITH):
        told = 0
        for given, wanted, got in came:
            argument = slot.get(given)
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


def _too_many_by(came: Sequence[Came], slots: Sequence[Slot]) -> str:
    """Of whole numbers: what product of the arguments is counted too much or too little in every case that fails."""
    if len(came) < 2 or not all(type(got) is type(due) is int for _, due, got in came):
        return ""
    gaps = [got - due for _, due, got in came]
    rows = {slot.name: [slot.get(given) for given, *_ in came] for slot in slots}
    rows = {name: row for name, row in rows.items() if all(type(value) is int for value in row)}
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
