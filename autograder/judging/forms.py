"""Changes of form that explain a wrong answer in every case: a sign, a factor, an order, a part alone.

A form is tried on what is due, and, where that does not explain the answer, on what a known mistake gives: then
both are named. It has to give the answer in all cases, the right ones included, and in enough numbers that it is
no accident.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, permutations

import numpy as np

from autograder.errors import listed
from autograder.judging.agreement import close
from autograder.judging.compare import Case, same_answer
from autograder.judging.kinds import along_axis
from autograder.judging.mistakes import STRUCTURAL
from autograder.judging.question import Answer, Inputs, Misconception, Rules, Value

# These say less than a known mistake does with a form of another kind.
_VAGUE = ("times-a-constant", "times-a-size", "plus-a-constant", "a-step-too-many")
_ENOUGH = 8  # so many numbers must differ from what is due
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


@dataclass(frozen=True)
class Form:
    """A change of a result.

    Parameters
    ----------
    name : str
        A key of `STRUCTURAL`.
    means : str
        What is said of a result that is right but for it.
    besides : str
        What is said where a known mistake is made too; "" where it is not looked for then.
    apply : callable
        The change of a value, given the inputs of its case; it may raise anything where it makes no sense.
    """

    name: str
    means: str
    besides: str
    apply: Callable[..., Value]


def explained_by_a_form(
    cases: Sequence[Case], rules: Rules, misconceptions: Sequence[Misconception]
) -> Misconception | None:
    """The form, or the known mistake and the form, that gives all the answers; None if there is none."""
    asked = any(case.given.asked for case in cases)
    if asked or rules.view or rules.compare or rules.returns != "array":
        return None
    failing = [case for case in cases if case.difference]
    runs = [case for case in failing if not case.answer.error]
    if any(case.value is None for case in runs):
        return None
    differing = {case: _differing(case, rules) for case in runs}
    if not _telling(differing, runs):
        return None
    raises = len(runs) < len(failing)
    form = None if raises else form_of(cases, failing, rules)
    alone = Misconception(form.name, form.means, STRUCTURAL[form.name][1]) if form else None
    if form and form.name not in _VAGUE:
        return alone
    explained = _by_a_form_and_a_mistake(cases, differing, rules, misconceptions) or alone
    if explained or not raises:
        return explained
    return _known_where_it_runs(cases, differing, rules, misconceptions)


def form_of(cases: Sequence[Case], failing: Sequence[Case], rules: Rules) -> Form | None:
    """The form that gives the answers from what is due, in each of the cases; None if there is none."""
    pivot = _pivot(failing)
    order = [pivot, *(case for case in cases if case is not pivot)]
    forms = _forms(pivot.due, pivot.value, pivot.given)
    gives = (form for form in forms if all(_gives(form, Answer(case.due), case, rules) for case in order))
    return next(gives, None)


def _by_a_form_and_a_mistake(
    cases: Sequence[Case],
    differing: Mapping[Case, tuple[int, str]],
    rules: Rules,
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
            if not form.besides or not _gives(form, one, pivot, rules):
                continue
            if all(_gives_or_raises(form, case.question.mistakes[known.name], case, rules) for case in there):
                said = f"Two things at once. {known.means} {form.besides}"
                return Misconception(f"{known.name} + {form.name}", said, known.nudge)
    return None


def _known_where_it_runs(
    cases: Sequence[Case],
    differing: Mapping[Case, tuple[int, str]],
    rules: Rules,
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
        if all(_same(case.question.mistakes[known.name], case, rules) for case in places):
            kinds = listed(sorted({case.answer.raised for case in raised}), "or")
            means, _ = STRUCTURAL[error]  # type: ignore[index]
            count = "one case" if len(raised) == 1 else f"{len(raised)} cases"
            said = f"Where your function runs to its end: {known.means} In {count} it raises {kinds}. {means}"
            return Misconception(f"{known.name} + {error}", said, known.nudge)
    return None


def _differing(case: Case, rules: Rules) -> tuple[int, str]:
    """How many numbers of arrays differ, and the single value that is due where one does."""
    count, single = 0, ""
    for one, other in zip(_parts(case.due), _parts(case.value), strict=False):
        if not isinstance(one, np.ndarray):
            if type(other) not in (int, float, str, bool) or one != other:
                single = str(one)
        elif isinstance(other, np.ndarray) and one.shape == other.shape:
            count += int((~close(one, other, rules.tolerance)).sum())
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

    moderate = [case for case in failing if size(case) <= 4000]
    return max(moderate, key=size) if moderate else min(failing, key=size)


def _gives(form: Form, theirs: Answer, case: Case, rules: Rules) -> bool:
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
        return _same(replace(theirs, value=value), case, rules)


def _gives_or_raises(form: Form, theirs: Answer, case: Case, rules: Rules) -> bool:
    if theirs.error and case.answer.error:
        return same_answer(theirs, case.answer, rules)
    return _gives(form, theirs, case, rules)


def _same(theirs: Answer, case: Case, rules: Rules) -> bool:
    """Whether they are the same, whatever arguments they changed."""
    return same_answer(replace(theirs, modified=()), replace(case.answer, modified=()), rules)


# The forms of arrays: a name; what it means; what is said beside a known mistake ("": it is not looked for there);
# the change; and, of what is due and what came, where it makes sense.


def _alike(due: np.ndarray, got: np.ndarray, axis: int = 0) -> bool:
    return due.shape == got.shape and (not due.ndim or due.shape[axis] > 1)


def _numbers(due: np.ndarray, got: np.ndarray, axis: int = 0) -> bool:
    return due.shape == got.shape and due.dtype.kind == "f"


def _an_axis_less(due: np.ndarray, got: np.ndarray, axis: int) -> bool:
    return due.ndim == got.ndim + 1


def _shorter(due: np.ndarray, got: np.ndarray, axis: int) -> bool:
    return due.ndim == got.ndim and due.shape != got.shape


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _emptied(part: slice) -> Callable:
    def change(value: np.ndarray, axis: int) -> np.ndarray:
        value = value.copy()
        value[(slice(None),) * (value.ndim + axis) + (part,)] = 0
        return value

    return change


def _cut(part: slice) -> Callable:
    return lambda value, axis: value[(slice(None),) * (value.ndim + axis) + (part,)]


Row = tuple[str, str, str, Callable, Callable]
_OF_ALL: tuple[Row, ...] = (
    ("numbers-not-booleans", "", "Besides, it holds the numbers 0 and 1 in place of True and False.",
     lambda v: v.astype(int), lambda due, got: due.dtype == bool != got.dtype),
    ("the-other-way-round", "True and False have changed places everywhere.", "",  # often a third one, seen from its back
     np.logical_not, lambda due, got: due.shape == got.shape and due.dtype == bool),
    ("other-sign", "Every number has the other sign; all else is right.", "Besides, every number has the other sign.",
     np.negative, lambda due, got: due.shape == got.shape and due.dtype != bool),
)  # fmt: skip
_ALONG: tuple[Row, ...] = (
    ("in-reverse-order", "The numbers are right, but along {axis} they stand in the opposite order.", "",
     lambda v, axis: np.flip(v, axis), _alike),
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
_WITH_OTHER_AXES: tuple[Row, ...] = (
    ("one-of-several", "Only the first place along {axis} comes back; all of them are due.",
     "Besides, only the first place along {axis} comes back.",
     lambda v, axis: np.take(v, 0, axis), _an_axis_less),
    ("one-of-several", "Only the last place along {axis} comes back; all of them are due.",
     "Besides, only the last place along {axis} comes back.",
     lambda v, axis: np.take(v, -1, axis), _an_axis_less),
    ("an-axis-added-up", "The numbers were added up along {axis}, which should stay.", "",
     lambda v, axis: v.sum(axis), _an_axis_less),
    ("an-axis-added-up", "The numbers were averaged along {axis}, which should stay.", "",
     lambda v, axis: v.mean(axis), _an_axis_less),
    ("missing-axis", STRUCTURAL["missing-axis"][0], "Besides, an axis of length 1 got lost.",
     lambda v, axis: np.squeeze(v, axis), lambda due, got, axis: due.ndim == got.ndim + 1 and due.shape[axis] == 1),
    ("extra-axis", STRUCTURAL["extra-axis"][0], "Besides, there is an axis of length 1 too many.",
     lambda v, axis: np.expand_dims(v, axis), lambda due, got, axis: due.ndim == got.ndim - 1 and got.shape[axis] == 1),
    ("one-place-short", "What is there is right, but the last place along {axis} is missing.", "",
     _cut(slice(None, -1)), _shorter),
    ("one-place-short", "What is there is right, but the first place along {axis} is missing.", "",
     _cut(slice(1, None)), _shorter),
)  # fmt: skip


def _forms(due: Value, got: Value, given: Inputs) -> Iterator[Form]:
    """The forms worth trying for one case's result."""
    if isinstance(due, (tuple, list)):
        yield from _of_parts(due, got, given)
    elif isinstance(due, np.ndarray):
        yield from _of_an_array(due, got, given)
    elif type(due) in (int, float) and type(got) in (int, float) and abs(due) < 2**63 and abs(got) < 2**63:
        yield from _of_a_number(due, got, given)


def _of_parts(due: Sequence[Value], got: Value, given: Inputs) -> Iterator[Form]:
    if len(due) > 4 or not any(isinstance(part, np.ndarray) for part in due):
        return
    if not isinstance(got, (tuple, list)):
        for i in range(len(due)):
            said = f"nly the {_ORDINALS[i]} of the {len(due)} values comes back."
            yield Form("one-part-only", f"O{said}", f"Besides, o{said}", lambda v, g, i=i: v[i])
        return
    if len(got) != len(due):
        return
    kind = type(got)
    for order in list(permutations(range(len(due))))[1:]:
        said = f"the {', then the '.join(_ORDINALS[i] for i in order)} of those that are due."
        yield Form(
            "parts-in-another-order",
            f"The parts are right, but in another order: {said}",
            f"Besides, the parts come in another order: {said}",
            lambda v, g, order=order: kind(v[i] for i in order),
        )
    for i, part in enumerate(due):
        for form in _forms(part, got[i], given) if not isinstance(part, (tuple, list)) else ():
            yield Form(
                form.name,
                f"All is right but the {_ORDINALS[i]} of the {len(due)} values. There: {form.means}",
                "",
                partial(_with_one_changed, i, form, kind),
            )


def _with_one_changed(i: int, form: Form, kind: Callable, values: Sequence[Value], given: Inputs) -> Value:
    return kind(form.apply(value, given) if j == i else value for j, value in enumerate(values))


def _of_an_array(due: np.ndarray, got: Value, given: Inputs) -> Iterator[Form]:
    if isinstance(got, list):
        said = "Besides, it is a list; a NumPy array is due."
        yield Form("returns-a-list", "", said, lambda v, g: v.tolist())
    if not isinstance(got, np.ndarray):
        return
    yield from _of_rows(_OF_ALL, due, got, ())
    yield from _of_rows(_ALONG, due, got, range(-1, -due.ndim - 1, -1))
    yield from _of_rows(_OF_NUMBERS, due, got, ())
    if _numbers(due, got):
        yield from _of_factors(due, got, given, "Every number")
    yield from _of_orders(due, got)
    yield from _of_rows(_WITH_OTHER_AXES, due, got, range(-1, -max(due.ndim, got.ndim) - 1, -1))


def _of_rows(rows: Sequence[Row], due: np.ndarray, got: np.ndarray, axes: Sequence[int]) -> Iterator[Form]:
    along: dict[str, int]
    for along in [{"axis": axis} for axis in axes] or [{}]:
        words = {"zero": "False" if due.dtype == bool else "0", "axis": along_axis(along.get("axis", -1))}
        for name, means, besides, change, sensible in rows:
            if sensible(due, got, **along):
                apply = partial(lambda change, along, v, g: change(v, **along), change, along)
                yield Form(name, means.format(**words), besides.format(**words), apply)


def _of_orders(due: np.ndarray, got: np.ndarray) -> Iterator[Form]:
    """Axes in another order."""
    if due.ndim == got.ndim and sorted(due.shape) == sorted(got.shape):
        for one, other in combinations(range(-due.ndim, 0), 2):
            if np.swapaxes(due, one, other).shape == got.shape:
                two = f"{along_axis(one)} and {along_axis(other)} have changed places."
                yield Form(
                    "transposed" if due.ndim == 2 else "axes-exchanged",
                    f"The numbers are right, but {two}",
                    "Besides, rows and columns have changed places." if due.ndim == 2 else f"Besides, {two}",
                    lambda v, g, one=one, other=other: np.swapaxes(v, one, other),
                )
        for order in permutations(range(due.ndim)) if due.ndim in (3, 4) else ():
            if np.transpose(due, order).shape == got.shape and order != tuple(range(due.ndim)):
                yield Form(
                    "axes-exchanged",
                    "The numbers are right, but the axes stand in another order: yours are, counted from 0, "
                    f"the axes {listed([str(i) for i in order])} of what is due.",
                    "",
                    lambda v, g, order=order: np.transpose(v, order),
                )


def _of_a_number(due: float, got: float, given: Inputs) -> Iterator[Form]:
    said = "the number has the other sign."
    yield Form("other-sign", f"T{said[1:]}", f"Besides, {said}", lambda v, g: -v)
    if type(due) is float:
        for what, function in (("exponential", np.exp), ("logarithm", np.log), ("root", np.sqrt)):
            yield Form(
                "a-step-too-many",
                f"Your number is the {what} of the one that is due: there is a step too many, or its opposite is missing.",
                "",
                lambda v, g, function=function: float(function(v)),
            )
    yield from _of_factors(due, got, given, "Your number")


def _of_factors(due: Value, got: Value, given: Inputs, what: str) -> Iterator[Form]:
    """A constant factor, one made of a size, or a constant that is added."""
    wanted, found = np.atleast_1d(_number(due)), np.atleast_1d(_number(got))
    with np.errstate(all="ignore"):
        sure = np.abs(wanted) > 1e-9 * np.max(np.abs(wanted), initial=0.0)
        ratios, gaps = (found / wanted)[sure], (found - wanted).ravel()
    if ratios.size and np.isfinite(ratios).all() and np.allclose(ratios, ratios[0], rtol=1e-5, atol=0):
        factor = _simple(float(ratios[0]))
        if abs(factor) > 1e-13 and abs(factor - 1) > 1e-3:
            yield Form(
                "times-a-constant",
                f"{what} is {factor:.4g} times the one expected.",
                "",
                lambda v, g: _same_kind(v, _number(v) * factor),
            )
            yield from _of_sizes(given, due, factor, what)
    if gaps.size and np.isfinite(gaps).all() and np.allclose(gaps, gaps[0], rtol=1e-5, atol=1e-9):
        gap = _simple(float(gaps[0]))
        size = np.max(np.abs(wanted), initial=0.0)
        if abs(gap) > 1e-4 * max(size, 1e-3):
            yield Form(
                "plus-a-constant",
                f"{what} is too {'large' if gap > 0 else 'small'} by {abs(gap):.4g}.",
                "",
                lambda v, g: _same_kind(v, _number(v) + gap),
            )


_POWERS: dict[str, Callable[[float], float]] = {
    "n": lambda n: n,
    "1/n": lambda n: 1 / n,
    "√n": lambda n: n**0.5,
    "1/√n": lambda n: n**-0.5,
}


def _of_sizes(given: Inputs, due: Value, factor: float, words: str) -> Iterator[Form]:
    for what, size in _sizes(given, due):
        n = size(given, due)
        for power, function in _POWERS.items():
            if n > 1 and np.isclose(function(n), factor, rtol=1e-5):
                yield Form(
                    "times-a-size",
                    f"{words} is {power} times the one expected, where n is {what}.",
                    "",
                    lambda v, g, size=size, function=function: _same_kind(
                        v, _number(v) * function(float(size(g, v)))
                    ),
                )


def _sizes(given: Inputs, due: Value) -> Iterator[tuple[str, Callable[..., float]]]:
    """Every size that a factor may be made of, in words, and how it is found in another case."""
    for i, value in enumerate(given.args[: len(_ORDINALS)]):
        what = f"the {_ORDINALS[i]} argument"
        if isinstance(value, np.ndarray):
            for axis in range(-1, -value.ndim - 1, -1):
                yield f"`shape[{axis}]` of {what}", lambda g, v, i=i, axis=axis: g.args[i].shape[axis]
        elif type(value) is int:
            yield what, lambda g, v, i=i: g.args[i]
    for name, value in given.kwargs.items():
        if type(value) is int:
            yield f"`{name}`", lambda g, v, name=name: g.kwargs[name]
    if isinstance(due, np.ndarray):
        for axis in range(-1, -due.ndim - 1, -1):
            yield f"`shape[{axis}]` of the result", lambda g, v, axis=axis: v.shape[axis]
        yield "how many numbers the result has", lambda g, v: v.size


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
