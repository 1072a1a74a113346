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
from autograder.judging.compare import same_answer
from autograder.judging.kinds import along_axis
from autograder.judging.mistakes import STRUCTURAL, Difference
from autograder.judging.question import Answer, Inputs, Misconception, Question, Rules, Value

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


@dataclass(frozen=True)
class Explained:
    """A name with what it means and a nudge."""

    name: str
    means: str
    nudge: str


def explained_by_a_form(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    differences: Sequence[Difference | None],
    rules: Rules,
    misconceptions: Sequence[Misconception],
) -> Explained | None:
    """The form, or the known mistake and the form, that gives all the answers; None if there is none."""
    failing = [i for i, difference in enumerate(differences) if difference]
    asked = any(question.inputs.asked for question in questions)
    if asked or rules.view or rules.compare or rules.returns != "array":
        return None
    runs = [i for i in failing if not answers[i].error]
    if any(answers[i].value is None for i in runs):
        return None
    differing = _differing(questions, answers, runs, rules)
    if not _telling(differing, runs):
        return None
    raises = len(runs) < len(failing)
    found = None if raises else form_of(questions, answers, failing, range(len(questions)), rules)
    explained = Explained(found.name, found.means, STRUCTURAL[found.name][1]) if found else None
    if not found or found.name in _VAGUE:
        explained = (
            _by_a_form_and_a_mistake(questions, answers, differing, rules, misconceptions) or explained
        )
    if explained or not raises:
        return explained
    return _known_where_it_runs(questions, answers, differences, differing, rules, misconceptions)


def form_of(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    failing: Sequence[int],
    among: Sequence[int],
    rules: Rules,
) -> Form | None:
    """The form that gives the answers from what is due, in each of the cases `among`; None if there is none."""
    pivot = _pivot(answers, failing)
    order = [pivot, *(i for i in among if i != pivot)]
    for form in _forms(questions[pivot].expected, answers[pivot].value, questions[pivot].inputs):
        if all(
            _gives(form, Answer(questions[i].expected), answers[i], questions[i].inputs, rules) for i in order
        ):
            return form
    return None


def _by_a_form_and_a_mistake(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    differing: Mapping[int, tuple[int, str]],
    rules: Rules,
    misconceptions: Sequence[Misconception],
) -> Explained | None:
    for known in misconceptions:
        if " + " in known.name or known.name in STRUCTURAL:
            continue
        told = [i for i in differing if known.name in questions[i].mistakes]
        if not _telling(differing, told):
            continue
        pivot = _pivot(answers, told)
        one = questions[pivot].mistakes[known.name]
        if one.error or not _same_shapes(one.value, questions[pivot].expected):
            continue  # what is of another shape already would fit for other reasons
        for form in _forms(one.value, answers[pivot].value, questions[pivot].inputs):
            if not form.besides or not _gives(form, one, answers[pivot], questions[pivot].inputs, rules):
                continue
            if all(
                _gives_or_raises(form, question.mistakes[known.name], answers[i], question.inputs, rules)
                for i, question in enumerate(questions)
                if known.name in question.mistakes
            ):
                return Explained(
                    f"{known.name} + {form.name}",
                    f"Two things at once. {known.means} {form.besides}",
                    known.nudge,
                )
    return None


def _known_where_it_runs(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    differences: Sequence[Difference | None],
    differing: Mapping[int, tuple[int, str]],
    rules: Rules,
    misconceptions: Sequence[Misconception],
) -> Explained | None:
    """A known mistake wherever the answer runs to its end, and one kind of error elsewhere."""
    raised = [i for i, answer in enumerate(answers) if answer.error]
    errors = {difference.mistake for i in raised if (difference := differences[i])}
    wrong = [i for i, difference in enumerate(differences) if difference and i not in raised]
    wrong = [i for i in wrong if differences[i].kind != "modified"]  # type: ignore[union-attr]
    if len(errors) != 1 or None in errors or "not-written-yet" in errors:
        return None
    if not _telling(differing, wrong):
        return None
    error = errors.pop()
    for known in misconceptions:
        places = [i for i, q in enumerate(questions) if known.name in q.mistakes and not answers[i].error]
        told = [i for i in wrong if i in places]
        asked = [i for i in (*wrong, *raised) if known.name in questions[i].mistakes]
        # What runs in a few special cases only (of one row, say) may agree with much by accident.
        if 4 * len(told) < len(asked) or not _telling(differing, told):
            continue
        if all(
            same_answer(
                replace(questions[i].mistakes[known.name], modified=()),
                replace(answers[i], modified=()),
                rules,
            )
            for i in places
        ):
            kinds = listed(sorted({answers[i].raised for i in raised}), "or")
            means, _ = STRUCTURAL[error]  # type: ignore[index]
            count = "one case" if len(raised) == 1 else f"{len(raised)} cases"
            return Explained(
                f"{known.name} + {error}",
                f"Where your function runs to its end: {known.means} In {count} it raises {kinds}. {means}",
                known.nudge,
            )
    return None


def _differing(
    questions: Sequence[Question], answers: Sequence[Answer], places: Sequence[int], rules: Rules
) -> dict[int, tuple[int, str]]:
    """For each of these cases how many numbers of arrays differ, and the single value that is due where one does."""
    found = {}
    for i in places:
        count, single = 0, ""
        for one, other in zip(_parts(questions[i].expected), _parts(answers[i].value), strict=False):
            if not isinstance(one, np.ndarray):
                if type(other) not in (int, float, str, bool) or one != other:
                    single = str(one)
            elif isinstance(other, np.ndarray) and one.shape == other.shape:
                count += int((~close(one, other, rules.tolerance)).sum())
            else:
                count += one.size
        found[i] = count, single
    return found


def _telling(differing: Mapping[int, tuple[int, str]], places: Sequence[int]) -> bool:
    """Whether enough numbers differ in these cases for an explanation of all of them to be no accident."""
    if len(places) < 2:
        return False
    singles = {differing[i][1] for i in places} - {""}
    return sum(differing[i][0] for i in places) >= _ENOUGH or len(singles) >= 3


def _parts(value: Value) -> Sequence[Value]:
    return value if isinstance(value, (tuple, list)) else [value]


def _same_shapes(one: Value, other: Value) -> bool:
    return len(_parts(one)) == len(_parts(other)) and all(
        getattr(a, "shape", ()) == getattr(b, "shape", ())
        for a, b in zip(_parts(one), _parts(other), strict=True)
    )


def _pivot(answers: Sequence[Answer], failing: Sequence[int]) -> int:
    """The failing case to try a form in first: one with many numbers, and not very many."""

    def size(i: int) -> int:
        parts = _parts(answers[i].value)
        if len(parts) > 100:  # no lab asks for so many; to count them for each form took half a minute
            return len(parts)
        return sum(part.size if isinstance(part, np.ndarray) else 1 for part in parts)

    moderate = [i for i in failing if size(i) <= 4000]
    return max(moderate, key=size) if moderate else min(failing, key=size)


def _gives(form: Form, theirs: Answer, answer: Answer, given: Inputs, rules: Rules) -> bool:
    if theirs.error or theirs.value is None or answer.value is None:
        return False
    with np.errstate(all="ignore"):
        try:
            value = form.apply(theirs.value, given)
        except (
            ValueError,
            IndexError,
            KeyError,
            TypeError,
            AttributeError,
            ZeroDivisionError,
            OverflowError,
        ):
            return False
        if getattr(value, "shape", None) != getattr(answer.value, "shape", None):
            return False
        return same_answer(replace(theirs, value=value, modified=()), replace(answer, modified=()), rules)


def _gives_or_raises(form: Form, theirs: Answer, answer: Answer, given: Inputs, rules: Rules) -> bool:
    if theirs.error and answer.error:
        return same_answer(theirs, answer, rules)
    return _gives(form, theirs, answer, given, rules)


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
    yield from _of_rows(_WITH_OTHER_AXES, due, got, range(-1, -due.ndim - 1, -1))


def _of_rows(rows: Sequence[Row], due: np.ndarray, got: np.ndarray, axes: Sequence[int]) -> Iterator[Form]:
    along: dict[str, int]
    for along in [{"axis": axis} for axis in axes] or [{}]:
        words = {"zero": "False" if due.dtype == bool else "0", "axis": along_axis(along.get("axis", -1))}
        for name, means, besides, change, sensible in rows:
            if sensible(due, got, **along):
                apply = partial(lambda change, along, v, g: change(v, **along), change, along)
                yield Form(name, means.format(**words), besides.format(**words), apply)


def _of_orders(due: np.ndarray, got: np.ndarray) -> Iterator[Form]:
    """Axes in another order, or one of length 1 more."""
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
    if got.ndim == due.ndim + 1 and due.size == got.size:
        for axis in range(-got.ndim, 0):
            if got.shape[axis] == 1:
                yield Form(
                    "extra-axis",
                    STRUCTURAL["extra-axis"][0],
                    "Besides, there is an axis of length 1 too many.",
                    lambda v, g, axis=axis: np.expand_dims(v, axis),
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
