"""Changes of form that explain a wrong answer in every case: a sign, a factor, an order, a part alone.

A form is tried on what is due, and, where that does not explain the answer, on what a known mistake gives: then
both are named. It has to give the answer in all cases, the right ones included, and in enough numbers that it is
no accident.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, permutations
from typing import Any

import numpy as np

from autograder.errors import listed
from autograder.judging.agreement import close
from autograder.judging.compare import Case, same_answer
from autograder.judging.mistakes import STRUCTURAL
from autograder.judging.question import Answer, Inputs, Misconception, Value
from autograder.judging.wording import along_axis, ordinal

# These say less than a known mistake does with a form of another kind.
_VAGUE = ("times-a-constant", "times-a-size", "plus-a-constant", "a-step-too-many")
_ENOUGH = 8  # so many numbers must differ from what is due


@dataclass(frozen=True)
class Form:
    """A change of a result.

    Parameters
    ----------
    name : str
        A key of `STRUCTURAL`.
    means : str
        What is said of a result that is right but for it.
    apply : callable
        The change of a value, given the inputs of its case; it may raise anything where it makes no sense.
    besides : str
        What is said where a known mistake is made too; "" where it is not looked for then.
    """

    name: str
    means: str
    apply: Callable[[Value, Inputs], Value]
    besides: str = ""


def explained_by_a_form(
    cases: Sequence[Case], misconceptions: Sequence[Misconception]
) -> Misconception | None:
    """The form, or the known mistake and the form, that gives all the answers; None if there is none."""
    rules, asked = cases[0].rules, any(case.given.asked for case in cases)
    if asked or rules.view or rules.compare or rules.returns != "array":
        return None
    failing = [case for case in cases if case.difference]
    runs = [case for case in failing if not case.answer.error]
    if any(case.value is None for case in runs):
        return None
    differing = {case: _differing(case) for case in runs}
    if not _telling(differing, runs):
        return None
    raises = len(runs) < len(failing)
    form = None if raises else form_of(cases, failing)
    alone = Misconception(form.name, form.means, STRUCTURAL[form.name][1]) if form else None
    if form and form.name not in _VAGUE:
        return alone
    explained = _by_a_form_and_a_mistake(cases, differing, misconceptions) or alone
    if explained or not raises:
        return explained
    return _known_where_it_runs(cases, differing, misconceptions)


def form_of(cases: Sequence[Case], failing: Sequence[Case]) -> Form | None:
    """The form that gives the answers from what is due, in each of the cases; None if there is none."""
    pivot = _pivot(failing)
    order = [pivot, *(case for case in cases if case is not pivot)]
    forms = _forms(pivot.due, pivot.value, pivot.given)
    gives = (form for form in forms if all(_gives(form, Answer(case.due), case) for case in order))
    return next(gives, None)


def _by_a_form_and_a_mistake(
    cases: Sequence[Case],
    differing: Mapping[Case, tuple[int, str]],
    misconceptions: Sequence[Misconception],
) -> Misconception | None:
    for known in misconceptions:
        if " + " in known.name or known.name in STRUCTURAL:
            continue
        there = [case for case in cases if known.name in case.question.mistakes]
        told = [case for case in there if case in differing]
        if not _telling(differing, told):
            continue
        pivot = _pivot(told)
        one = pivot.question.mistakes[known.name]
        if one.error or not _same_shapes(one.value, pivot.due):
            continue  # what is of another shape already would fit for other reasons
        for form in _forms(one.value, pivot.value, pivot.given):
            if not form.besides or not _gives(form, one, pivot):
                continue
            if all(_gives_or_raises(form, case.question.mistakes[known.name], case) for case in there):
                said = f"Two things at once. {known.means} {form.besides}"
                return Misconception(f"{known.name} + {form.name}", said, known.nudge)
    return None


def _known_where_it_runs(
    cases: Sequence[Case],
    differing: Mapping[Case, tuple[int, str]],
    misconceptions: Sequence[Misconception],
) -> Misconception | None:
    """A known mistake wherever the answer runs to its end, and one kind of error elsewhere."""
    raised = [case for case in cases if case.answer.error]
    errors = {case.mistake for case in raised if case.difference}
    wrong = [case for case in differing if case.difference and case.difference.kind != "modified"]
    if len(errors) != 1 or None in errors or "not-written-yet" in errors or not _telling(differing, wrong):
        return None
    error = errors.pop()
    for known in misconceptions:
        there = [case for case in cases if known.name in case.question.mistakes]
        places = [case for case in there if not case.answer.error]
        told = [case for case in wrong if case in places]
        asked = [case for case in there if case in wrong or case in raised]
        # What runs in a few special cases only (of one row, say) may agree with much by accident.
        if 4 * len(told) < len(asked) or not _telling(differing, told):
            continue
        if all(_same(case.question.mistakes[known.name], case) for case in places):
            kinds = listed(sorted({case.answer.raised for case in raised}), "or")
            means, _ = STRUCTURAL[error]  # type: ignore[index]
            count = "one case" if len(raised) == 1 else f"{len(raised)} cases"
            said = f"Where your function runs to its end: {known.means} In {count} it raises {kinds}. {means}"
            return Misconception(f"{known.name} + {error}", said, known.nudge)
    return None


def _differing(case: Case) -> tuple[int, str]:
    """How many numbers of arrays differ, and the single value that is due where one does."""
    count, single = 0, ""
    for one, other in zip(_parts(case.due), _parts(case.value), strict=False):
        if not isinstance(one, np.ndarray):
            if type(other) not in (int, float, str, bool) or one != other:
                single = str(one)
        elif isinstance(other, np.ndarray) and one.shape == other.shape:
            count += int((~close(one, other, case.rules.tolerance)).sum())
        else:
            count += one.size
    return count, single


def _telling(differing: Mapping[Case, tuple[int, str]], cases: Sequence[Case]) -> bool:
    """Whether enough numbers differ in these cases for an explanation of all of them to be no accident."""
    if len(cases) < 2:
        return False
    singles = {differing[case][1] for case in cases} - {""}
    return sum(differing[case][0] for case in cases) >= _ENOUGH or len(singles) >= 3


def _parts(value: Value) -> Sequence[Value]:
    return value if isinstance(value, (tuple, list)) else [value]


def _same_shapes(one: Value, other: Value) -> bool:
    shapes = [[getattr(part, "shape", ()) for part in _parts(value)] for value in (one, other)]
    return shapes[0] == shapes[1]


def _pivot(failing: Sequence[Case]) -> Case:
    """The failing case to try a form in first: one with many numbers, and not very many."""

    def size(case: Case) -> int:
        parts = _parts(case.value)
        if len(parts) > 100:  # no lab asks for so many; to count them for each form took half a minute
            return len(parts)
        return sum(part.size if isinstance(part, np.ndarray) else 1 for part in parts)

    sizes = {case: size(case) for case in failing}
    moderate = [case for case in failing if sizes[case] <= 4000]
    return max(moderate, key=sizes.__getitem__) if moderate else min(failing, key=sizes.__getitem__)


def _gives(form: Form, theirs: Answer, case: Case) -> bool:
    """Whether a form of this answer is the answer to the case."""
    if theirs.error or theirs.value is None or case.value is None:
        return False
    with np.errstate(all="ignore"):
        try:
            value = form.apply(theirs.value, case.given)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
            return False
        if getattr(value, "shape", None) != getattr(case.value, "shape", None):
            return False
        return _same(replace(theirs, value=value), case)


def _gives_or_raises(form: Form, theirs: Answer, case: Case) -> bool:
    if theirs.error and case.answer.error:
        return same_answer(theirs, case.answer, case.rules)
    return _gives(form, theirs, case)


def _same(theirs: Answer, case: Case) -> bool:
    """Whether they are the same, whatever arguments they changed."""
    return same_answer(replace(theirs, modified=()), replace(case.answer, modified=()), case.rules)


# Most forms are rows: a name; what it means; what is said beside a known mistake ("": it is not looked for there);
# the change; and, of what is due and what came, where it makes sense. Where there is a choice (an axis, a part), both
# functions get it by its name, and the sentences in words.
Row = tuple[str, str, str, Callable, Callable]
Choice = tuple[dict[str, Any], dict[str, Any]]  # in words, and for the functions


def _of_rows(
    rows: Sequence[Row], due: Value, got: Value, choices: Iterable[Choice] = (({}, {}),)
) -> Iterator[Form]:
    for words, chosen in choices:
        for name, means, besides, change, sensible in rows:
            if sensible(due, got, **chosen):
                apply = partial(lambda change, chosen, v, g: change(v, **chosen), change, chosen)
                yield Form(name, means.format(**words), apply, besides.format(**words))


def _alike(due: np.ndarray, got: np.ndarray, axis: int) -> bool:
    return due.shape == got.shape and (not due.ndim or due.shape[axis] > 1)


def _numbers(due: np.ndarray, got: np.ndarray) -> bool:
    return due.shape == got.shape and due.dtype.kind == "f"


def _an_axis_less(due: np.ndarray, got: np.ndarray, axis: int) -> bool:
    return due.ndim == got.ndim + 1


def _shorter(due: np.ndarray, got: np.ndarray, axis: int) -> bool:
    return due.ndim == got.ndim and due.shape != got.shape


def _always(due: Value, got: Value, **_: Any) -> bool:
    return True


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _cut(part: slice) -> Callable:
    return lambda value, axis: value[(slice(None),) * (value.ndim + axis) + (part,)]


def _emptied(part: slice) -> Callable:
    def change(value: np.ndarray, axis: int) -> np.ndarray:
        value = value.copy()
        _cut(part)(value, axis)[...] = 0
        return value

    return change


_OF_ALL: tuple[Row, ...] = (
    ("numbers-not-booleans", "", "Besides, it holds the numbers 0 and 1 in place of True and False.",
     lambda v: v.astype(int), lambda due, got: due.dtype == bool != got.dtype),
    ("the-other-way-round", "True and False have changed places everywhere.", "",  # often a third one, seen from its back
     np.logical_not, lambda due, got: due.shape == got.shape and due.dtype == bool),
    ("other-sign", "Every number has the other sign; all else is right.", "Besides, every number has the other sign.",
     np.negative, lambda due, got: due.shape == got.shape and due.dtype != bool),
)  # fmt: skip
_ALONG: tuple[Row, ...] = (
    ("in-reverse-order", "The numbers are right, but along {axis} they stand in the opposite order.", "", np.flip, _alike),
    ("one-place-off", "The numbers are right, but along {axis} each stands one place too far.", "",
     lambda v, axis: np.roll(v, 1, axis), _alike),
    ("one-place-off", "The numbers are right, but along {axis} each stands one place too early.", "",
     lambda v, axis: np.roll(v, -1, axis), _alike),
    ("places-left-empty", "Along {axis} the last place holds {zero}; the rest is right.", "",
     _emptied(slice(-1, None)), _alike),
    ("places-left-empty", "Along {axis} the first place holds {zero}; the rest is right.", "",
     _emptied(slice(0, 1)), _alike),
    ("places-left-empty", "Along {axis} all places but the first hold {zero}; the rest is right.", "",
     _emptied(slice(1, None)), _alike),
)  # fmt: skip
_OPPOSITE = ", or its opposite is missing"
_STEPS: tuple[tuple[str, Callable, str], ...] = (
    ("the exponentials", np.exp, _OPPOSITE),
    ("the logarithms", np.log, _OPPOSITE),
    ("the squares", np.square, _OPPOSITE),
    ("the roots", np.sqrt, _OPPOSITE),
    ("the inverses (1 / x)", np.reciprocal, _OPPOSITE),
    ("the absolute values", np.abs, ""),
    ("the tanh", np.tanh, ""),
    ("the softmax (along the last axis)", lambda v: _softmax(v, -1), ""),
    ("the softmax (along the first axis)", lambda v: _softmax(v, 0), ""),
    ("the sums so far (along the last axis)", lambda v: np.cumsum(v, axis=-1), ""),
)
_OF_NUMBERS: tuple[Row, ...] = (
    ("the-first-for-all", "Along the first axis the first result stands again and again; it is right there alone.", "",
     lambda v: np.repeat(v[:1], len(v), axis=0), lambda due, got: due.shape == got.shape and due.ndim > 1),
    *(("a-step-too-many",
       f"Your numbers are {what} of those that are due: there is a step too many{opposite}.", "", function, _numbers)
      for what, function, opposite in _STEPS),
    ("one-minus-it", "Your numbers are 1 minus those that are due.", "", lambda v: 1 - v, _numbers),
)  # fmt: skip
_TURNED: tuple[Row, ...] = (
    ("transposed", "The numbers are right, but {axis1} and {axis2} have changed places.",
     "Besides, rows and columns have changed places.", np.swapaxes,
     lambda due, got, **axes: due.ndim == 2 and np.swapaxes(due, **axes).shape == got.shape),
    ("axes-exchanged", "The numbers are right, but {axis1} and {axis2} have changed places.",
     "Besides, {axis1} and {axis2} have changed places.", np.swapaxes,
     lambda due, got, **axes: due.ndim > 2 and np.swapaxes(due, **axes).shape == got.shape),
)  # fmt: skip
_IN_ANOTHER_ORDER: tuple[Row, ...] = (
    ("axes-exchanged", "The numbers are right, but the axes stand in another order: yours are, counted from 0, "
     "the axes {axes} of what is due.", "", np.transpose,
     lambda due, got, axes: due.ndim in (3, 4) and np.transpose(due, axes).shape == got.shape),
)  # fmt: skip
_WITH_OTHER_AXES: tuple[Row, ...] = (
    ("one-of-several", "Only the first place along {axis} comes back; all of them are due.",
     "Besides, only the first place along {axis} comes back.",
     lambda v, axis: np.take(v, 0, axis), _an_axis_less),
    ("one-of-several", "Only the last place along {axis} comes back; all of them are due.",
     "Besides, only the last place along {axis} comes back.",
     lambda v, axis: np.take(v, -1, axis), _an_axis_less),
    ("an-axis-added-up", "The numbers were added up along {axis}, which should stay.", "", np.sum, _an_axis_less),
    ("an-axis-added-up", "The numbers were averaged along {axis}, which should stay.", "", np.mean, _an_axis_less),
    ("missing-axis", STRUCTURAL["missing-axis"][0], "Besides, an axis of length 1 got lost.",
     np.squeeze, lambda due, got, axis: due.ndim == got.ndim + 1 and due.shape[axis] == 1),
    ("extra-axis", STRUCTURAL["extra-axis"][0], "Besides, there is an axis of length 1 too many.",
     np.expand_dims, lambda due, got, axis: due.ndim == got.ndim - 1 and got.shape[axis] == 1),
    ("one-place-short", "What is there is right, but the last place along {axis} is missing.", "",
     _cut(slice(None, -1)), _shorter),
    ("one-place-short", "What is there is right, but the first place along {axis} is missing.", "",
     _cut(slice(1, None)), _shorter),
)  # fmt: skip
_ONE_PART: tuple[Row, ...] = (
    ("one-part-only", "Only the {part} of the {many} values comes back.",
     "Besides, only the {part} of the {many} values comes back.", lambda v, part: v[part], _always),
)  # fmt: skip
_PARTS: tuple[Row, ...] = (
    ("parts-in-another-order", "The parts are right, but in another order: the {order} of those that are due.",
     "Besides, the parts come in another order: the {order} of those that are due.",
     lambda v, order: tuple(v[i] for i in order), _always),
)  # fmt: skip
_A_LIST: tuple[Row, ...] = (
    ("returns-a-list", "", "Besides, it is a list; a NumPy array is due.", np.ndarray.tolist, _always),
)
_OF_A_NUMBER: tuple[Row, ...] = (
    ("other-sign", "The number has the other sign.", "Besides, the number has the other sign.", operator.neg, _always),
    *(("a-step-too-many",
       f"Your number is the {what} of the one that is due: there is a step too many, or its opposite is missing.", "",
       function, lambda due, got: type(due) is float)
      for what, function in (
          ("exponential", lambda v: float(np.exp(v))),
          ("logarithm", lambda v: float(np.log(v))),
          ("root", lambda v: float(np.sqrt(v))),
      )),
)  # fmt: skip


def _forms(due: Value, got: Value, given: Inputs) -> Iterator[Form]:
    """The forms worth trying for one case's result."""
    if isinstance(due, (tuple, list)):
        yield from _of_parts(due, got, given)
    elif isinstance(due, np.ndarray):
        yield from _of_an_array(due, got, given)
    elif type(due) in (int, float) and type(got) in (int, float) and abs(due) < 2**63 and abs(got) < 2**63:
        yield from _of_rows(_OF_A_NUMBER, due, got)
        yield from _of_factors(due, got, given, "Your number")


def _of_parts(due: Sequence[Value], got: Value, given: Inputs) -> Iterator[Form]:
    many = len(due)
    if many > 4 or not any(isinstance(part, np.ndarray) for part in due):
        return
    if not isinstance(got, (tuple, list)):
        parts = [({"part": ordinal(i + 1), "many": many}, {"part": i}) for i in range(many)]
        yield from _of_rows(_ONE_PART, due, got, parts)
    elif len(got) == many:
        for order in list(permutations(range(many)))[1:]:
            words = {"order": ", then the ".join(ordinal(i + 1) for i in order)}
            yield from _of_rows(_PARTS, due, got, [(words, {"order": order})])
        for i, part in enumerate(due):
            for form in _forms(part, got[i], given) if not isinstance(part, (tuple, list)) else ():
                means = f"All is right but the {ordinal(i + 1)} of the {many} values. There: {form.means}"
                yield Form(form.name, means, partial(_with_one_changed, i, form, type(got)))


def _with_one_changed(i: int, form: Form, kind: Callable, values: Sequence[Value], given: Inputs) -> Value:
    return kind(form.apply(value, given) if j == i else value for j, value in enumerate(values))


def _of_an_array(due: np.ndarray, got: Value, given: Inputs) -> Iterator[Form]:
    if isinstance(got, list):
        yield from _of_rows(_A_LIST, due, got)
    if not isinstance(got, np.ndarray):
        return
    zero, most = "False" if due.dtype == bool else "0", max(due.ndim, got.ndim)
    axes = [({"axis": along_axis(axis), "zero": zero}, {"axis": axis}) for axis in range(-1, -most - 1, -1)]
    pairs = list(combinations(range(-due.ndim, 0), 2))
    turns = [({"axis1": along_axis(a), "axis2": along_axis(b)}, {"axis1": a, "axis2": b}) for a, b in pairs]
    orders = list(permutations(range(due.ndim)))[1:] if due.ndim in (3, 4) else []
    yield from _of_rows(_OF_ALL, due, got)
    yield from _of_rows(_ALONG, due, got, axes)
    yield from _of_rows(_OF_NUMBERS, due, got)
    if _numbers(due, got):
        yield from _of_factors(due, got, given, "Every number")
    yield from _of_rows(_TURNED, due, got, turns)
    yield from _of_rows(_IN_ANOTHER_ORDER, due, got, [({"axes": listed(o)}, {"axes": o}) for o in orders])
    yield from _of_rows(_WITH_OTHER_AXES, due, got, axes)


def _of_factors(due: Value, got: Value, given: Inputs, what: str) -> Iterator[Form]:
    """A constant factor, one made of a size, or a constant that is added."""
    wanted, found = np.atleast_1d(_number(due)), np.atleast_1d(_number(got))
    with np.errstate(all="ignore"):
        sure = np.abs(wanted) > 1e-9 * np.max(np.abs(wanted), initial=0.0)
        ratios, gaps = (found / wanted)[sure], (found - wanted).ravel()
    if ratios.size and np.isfinite(ratios).all() and np.allclose(ratios, ratios[0], rtol=1e-5, atol=0):
        factor = _simple(float(ratios[0]))
        if abs(factor) > 1e-13 and abs(factor - 1) > 1e-3:
            said = f"{what} is {factor:.4g} times the one expected."
            yield Form("times-a-constant", said, lambda v, g: _same_kind(v, _number(v) * factor))
            yield from _of_sizes(given, due, factor, what)
    if gaps.size and np.isfinite(gaps).all() and np.allclose(gaps, gaps[0], rtol=1e-5, atol=1e-9):
        gap = _simple(float(gaps[0]))
        size = np.max(np.abs(wanted), initial=0.0)
        if abs(gap) > 1e-4 * max(size, 1e-3):
            said = f"{what} is too {'large' if gap > 0 else 'small'} by {abs(gap):.4g}."
            yield Form("plus-a-constant", said, lambda v, g: _same_kind(v, _number(v) + gap))


Size = Callable[..., float]  # of a value and the inputs of its case
_POWERS: dict[str, Callable[[float], float]] = {
    "n": lambda n: n,
    "1/n": lambda n: 1 / n,
    "√n": lambda n: n**0.5,
    "1/√n": lambda n: n**-0.5,
}


def _of_sizes(given: Inputs, due: Value, factor: float, words: str) -> Iterator[Form]:
    for what, size in _sizes(given, due):
        n = size(due, given)
        for power, function in _POWERS.items():
            if n > 1 and np.isclose(function(n), factor, rtol=1e-5):
                said = f"{words} is {power} times the one expected, where n is {what}."
                yield Form("times-a-size", said, partial(_times_a_size, size, function))


def _times_a_size(size: Size, function: Callable, value: Value, given: Inputs) -> Value:
    return _same_kind(value, _number(value) * function(float(size(value, given))))


def _sizes(given: Inputs, due: Value) -> Iterator[tuple[str, Size]]:
    """Every size that a factor may be made of, in words, and how it is found in another case."""
    for i, value in enumerate(given.args):
        what = f"the {ordinal(i + 1)} argument"
        if isinstance(value, np.ndarray):
            for axis in range(-1, -value.ndim - 1, -1):
                yield f"`shape[{axis}]` of {what}", lambda v, g, i=i, axis=axis: g.args[i].shape[axis]
        elif type(value) is int:
            yield what, lambda v, g, i=i: g.args[i]
    for name, value in given.kwargs.items():
        if type(value) is int:
            yield f"`{name}`", lambda v, g, name=name: g.kwargs[name]
    if isinstance(due, np.ndarray):
        for axis in range(-1, -due.ndim - 1, -1):
            yield f"`shape[{axis}]` of the result", lambda v, g, axis=axis: v.shape[axis]
        yield "how many numbers the result has", lambda v, g: v.size


def _number(value: Value) -> np.ndarray:
    return np.asarray(value, dtype=np.float64)


def _same_kind(value: Value, number: np.ndarray) -> Value:
    """A changed number as an int where it was one and stays whole; else as a float, or an array."""
    if isinstance(value, np.ndarray):
        return number.astype(value.dtype) if value.dtype.kind == "f" else number
    single = float(number)
    return (
        round(single) if type(value) is int and abs(single - round(single)) < 1e-6 * abs(single) else single
    )


def _simple(number: float) -> float:
    """The number, without the last digits of rounding where it is a simple one."""
    for whole in range(1, 13):
        near = round(number * whole) / whole
        if near and abs(number - near) < 1e-6 * abs(number):
            return near
    return number
