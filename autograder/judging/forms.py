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
from autograder.judging.answer import Answer
from autograder.judging.compare import STRUCTURAL, Difference, close, same_answer
from autograder.judging.question import Inputs, Misconception, Question, Rules, Value

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
        The change itself; it may raise anything where it makes no sense.
    """

    name: str
    means: str
    besides: str
    apply: Callable[[Value], Value]


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
    if rules.view or rules.compare or rules.returns != "array":
        return None
    runs = [i for i in failing if not answers[i].error]
    if any(answers[i].value is None for i in runs):
        return None
    differing = _differing(questions, answers, runs, rules)
    if not _telling(differing, runs):
        return None
    raises = len(runs) < len(failing)
    found = None if raises else _by_a_form_alone(questions, answers, failing, rules)
    if not found or found.name in _VAGUE:
        found = _by_a_form_and_a_mistake(questions, answers, differing, rules, misconceptions) or found
    if found or not raises:
        return found
    return _known_where_it_runs(questions, answers, differences, differing, rules, misconceptions)


def _by_a_form_alone(
    questions: Sequence[Question], answers: Sequence[Answer], failing: Sequence[int], rules: Rules
) -> Explained | None:
    plain = [replace(answer, modified=()) for answer in answers]
    due = [Answer(question.expected) for question in questions]
    pivot = _pivot(answers, failing)
    for form in _forms(due[pivot].value, plain[pivot].value, questions[pivot].inputs, alone=True):
        if _fits(form, due, plain, questions, rules, pivot):
            return Explained(form.name, form.means, STRUCTURAL[form.name][1])
    return None


def _by_a_form_and_a_mistake(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    differing: Mapping[int, tuple[int, str]],
    rules: Rules,
    misconceptions: Sequence[Misconception],
) -> Explained | None:
    plain = [replace(answer, modified=()) for answer in answers]
    for known in misconceptions:
        told = [i for i in differing if known.name in questions[i].mistakes]
        if " + " in known.name or known.name in STRUCTURAL or not _telling(differing, told):
            continue
        pivot = _pivot(answers, told)
        one = questions[pivot].mistakes[known.name]
        if one.error or not _same_shapes(one.value, questions[pivot].expected):
            continue  # what is of another shape already would fit for other reasons
        for form in _forms(one.value, plain[pivot].value, questions[pivot].inputs, alone=False):
            if not form.besides or not _gives(form, one, plain[pivot], rules):
                continue
            if all(
                _gives_or_raises(form, question.mistakes[known.name], plain[i], rules)
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


def _gives(form: Form, theirs: Answer, answer: Answer, rules: Rules) -> bool:
    if theirs.error or theirs.value is None or answer.value is None:
        return False
    with np.errstate(all="ignore"):
        try:
            value = form.apply(theirs.value)
        except (ValueError, IndexError, TypeError, AttributeError, ZeroDivisionError, OverflowError):
            return False
        if _quickly_no(value, answer.value):
            return False
        return same_answer(replace(theirs, value=value, modified=()), answer, rules)


def _gives_or_raises(form: Form, theirs: Answer, answer: Answer, rules: Rules) -> bool:
    if theirs.error and answer.error:
        return same_answer(theirs, answer, rules)
    return _gives(form, theirs, answer, rules)


def _quickly_no(one: Value, other: Value) -> bool:
    return getattr(one, "shape", None) != getattr(other, "shape", None)


def _fits(
    form: Form,
    due: Sequence[Answer],
    plain: Sequence[Answer],
    questions: Sequence[Question],
    rules: Rules,
    pivot: int,
) -> bool:
    if isinstance(form, Scaled):
        return all(
            _gives(form.of(q.inputs, d.value), d, a, rules)
            for q, d, a in zip(questions, due, plain, strict=True)
        )
    return _gives(form, due[pivot], plain[pivot], rules) and all(
        _gives(form, d, a, rules) for d, a in zip(due, plain, strict=True)
    )


# The forms.


@dataclass(frozen=True)
class Scaled(Form):
    """A factor that is made of a size of the inputs, another in each case."""

    factor: Callable[[Inputs, Value], float] = lambda given, value: 1.0

    def of(self, given: Inputs, value: Value) -> Form:
        """The form with the factor of one case; a factor of no use where the size is not there."""
        try:
            factor = self.factor(given, value)
        except (IndexError, KeyError, TypeError, ZeroDivisionError, AttributeError):
            factor = float("nan")
        return Form(self.name, self.means, "", lambda v: _same_kind(v, _number(v) * factor))


def _forms(due: Value, got: Value, given: Inputs, alone: bool) -> Iterator[Form]:
    """The forms worth trying for one case's result; few where a mistake comes with it."""
    if isinstance(due, (tuple, list)):
        yield from _of_parts(due, got, given, alone)
    elif isinstance(due, np.ndarray):
        yield from _of_an_array(due, got, given, alone)
    elif type(due) in (int, float):
        yield from _of_a_number(due, got, given, alone)


def _of_parts(due: Sequence[Value], got: Value, given: Inputs, alone: bool) -> Iterator[Form]:
    if len(due) > 4 or not any(isinstance(part, np.ndarray) for part in due):
        return
    if not isinstance(got, (tuple, list)):
        for i in range(len(due)):
            yield Form(
                "one-part-only",
                f"Only the {_ORDINALS[i]} of the {len(due)} values comes back.",
                f"Besides, only the {_ORDINALS[i]} of the {len(due)} values comes back.",
                partial(_part_of, i),
            )
        return
    if len(got) != len(due):
        return
    kind = type(got)
    for order in list(permutations(range(len(due))))[1:]:
        said = ", then the ".join(_ORDINALS[i] for i in order)
        yield Form(
            "parts-in-another-order",
            f"The parts are right, but in another order: the {said} of those that are due.",
            f"Besides, the parts come in another order: the {said} of those that are due.",
            partial(_in_order, order, kind),
        )
    if not alone:
        return
    for i, part in enumerate(due):
        if isinstance(part, np.ndarray) and isinstance(got[i], np.ndarray):
            for form in _of_an_array(part, got[i], given, alone=False):
                if not isinstance(form, Scaled):
                    yield Form(
                        form.name,
                        f"All is right but the {_ORDINALS[i]} of the {len(due)} values. There: {form.means}",
                        "",
                        partial(_with_one_changed, i, form, kind),
                    )


def _of_an_array(due: np.ndarray, got: Value, given: Inputs, alone: bool) -> Iterator[Form]:
    if isinstance(got, list):
        yield Form("returns-a-list", "", "Besides, it is a list; a NumPy array is due.", lambda v: v.tolist())
        return
    if not isinstance(got, np.ndarray):
        return
    if due.dtype == bool and got.dtype != bool:
        yield Form(
            "numbers-not-booleans",
            "",
            "Besides, it holds the numbers 0 and 1 in place of True and False.",
            lambda v: v.astype(got.dtype),
        )
        return
    if due.shape == got.shape:
        yield from _of_one_shape(due, got, given, alone)
    yield from _of_axes(due, got, alone)
    if due.ndim == got.ndim + 1:
        yield from _of_an_axis_that_is_gone(due, alone)
    if alone and due.ndim == got.ndim:
        for axis in _axes(due):
            for name, part in (("last", slice(None, -1)), ("first", slice(1, None))):
                yield Form(
                    "one-place-short",
                    f"What is there is right, but the {name} place along {_said(axis)} is missing.",
                    "",
                    partial(_cut, axis, part),
                )


def _of_one_shape(due: np.ndarray, got: np.ndarray, given: Inputs, alone: bool) -> Iterator[Form]:
    if due.dtype == bool:
        yield Form(
            "the-other-way-round",
            "True and False have changed places everywhere.",
            "",  # beside another mistake this would often be a third one, seen from its back
            np.logical_not,
        )
    else:
        yield Form(
            "other-sign",
            "Every number has the other sign; all else is right.",
            "Besides, every number has the other sign.",
            np.negative,
        )
    if not alone:
        return
    for axis in _axes(due):
        if due.shape[axis] > 1:
            yield Form(
                "in-reverse-order",
                f"The numbers are right, but along {_said(axis)} they stand in the opposite order.",
                "",
                partial(np.flip, axis=axis),
            )
            for step, way in ((1, "too far"), (-1, "too early")):
                yield Form(
                    "one-place-off",
                    f"The numbers are right, but along {_said(axis)} each stands one place {way}.",
                    "",
                    partial(np.roll, shift=step, axis=axis),
                )
            for where, part in (
                ("the last place", slice(-1, None)),
                ("the first place", slice(0, 1)),
                ("all places but the first", slice(1, None)),
            ):
                yield Form(
                    "places-left-empty",
                    f"Along {_said(axis)} {where} {'hold' if 'all' in where else 'holds'} "
                    f"{'False' if due.dtype == bool else '0'}; the rest is right.",
                    "",
                    partial(_emptied, axis, part),
                )
    if due.ndim > 1:
        yield Form(
            "the-first-for-all",
            "Along the first axis the first result stands again and again; it is right there alone.",
            "",
            lambda v: np.repeat(v[:1], len(v), axis=0),
        )
    if due.dtype.kind == "f":
        yield from _one_step_more(due)
        yield from _of_factors(due, got, given)


def _one_step_more(due: np.ndarray) -> Iterator[Form]:
    for what, function in _STEPS.items():
        yield Form(
            "a-step-too-many",
            f"Your numbers are {what} of those that are due: there is a step too many"
            f"{', or its opposite is missing' if function in _INVERTIBLE else ''}.",
            "",
            function,
        )


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


_STEPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "the exponentials": np.exp,
    "the logarithms": np.log,
    "the squares": np.square,
    "the roots": np.sqrt,
    "the absolute values": np.abs,
    "the inverses (1 / x)": np.reciprocal,
    "the tanh": np.tanh,
    "the softmax (along the last axis)": lambda v: _softmax(v, -1),
    "the softmax (along the first axis)": lambda v: _softmax(v, 0),
    "the sums so far (along the last axis)": lambda v: np.cumsum(v, axis=-1),
}


_INVERTIBLE = (np.exp, np.log, np.square, np.sqrt, np.reciprocal)


def _of_factors(due: Value, got: Value, given: Inputs) -> Iterator[Form]:
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
                f"Every number is {factor:.4g} times the one expected.",
                "",
                lambda v: _same_kind(v, _number(v) * factor),
            )
            yield from _of_sizes(given, due, factor)
    if gaps.size and np.isfinite(gaps).all() and np.allclose(gaps, gaps[0], rtol=1e-5, atol=1e-9):
        gap = _simple(float(gaps[0]))
        size = np.max(np.abs(wanted), initial=0.0)
        if abs(gap) > 1e-4 * max(size, 1e-3):
            yield Form(
                "plus-a-constant",
                f"Every number is too {'large' if gap > 0 else 'small'} by {abs(gap):.4g}.",
                "",
                lambda v: _same_kind(v, _number(v) + gap),
            )


_POWERS: dict[str, Callable[[float], float]] = {
    "n": lambda n: n,
    "1/n": lambda n: 1 / n,
    "√n": lambda n: n**0.5,
    "1/√n": lambda n: n**-0.5,
}


def _of_sizes(given: Inputs, due: Value, factor: float) -> Iterator[Form]:
    for what, size in _sizes(given, due):
        try:
            n = size(given, due)
        except (IndexError, KeyError, TypeError, AttributeError):
            continue
        for power, function in _POWERS.items():
            if n > 1 and np.isclose(function(n), factor, rtol=1e-5):
                yield Scaled(
                    "times-a-size",
                    f"Every number is {power} times the one expected, where n is {what}.",
                    "",
                    lambda v: v,
                    partial(_of_size, size, function),
                )


def _sizes(given: Inputs, due: Value) -> Iterator[tuple[str, Callable[[Inputs, Value], float]]]:
    """Every size that a factor may be made of, in words, and how it is found in another case."""
    named = [(f"the {_ORDINALS[i]} argument", i) for i in range(min(len(given.args), len(_ORDINALS)))]
    for what, i in named:
        value = given.args[i]
        if isinstance(value, np.ndarray):
            for axis in range(-1, -value.ndim - 1, -1):
                yield (
                    f"`shape[{axis}]` of {what}",
                    partial(_length_of, i, axis),
                )
        elif type(value) is int:
            yield what, partial(_argument, i)
    for name, value in given.kwargs.items():
        if type(value) is int:
            yield f"`{name}`", partial(_named, name)
    if isinstance(due, np.ndarray):
        for axis in range(-1, -due.ndim - 1, -1):
            yield f"`shape[{axis}]` of the result", partial(_length_of_the_result, axis)
        yield "how many numbers the result has", lambda g, v: float(v.size)


def _of_axes(due: np.ndarray, got: np.ndarray, alone: bool) -> Iterator[Form]:
    """Axes in another order, or one of length 1 more or less."""
    if due.ndim == got.ndim and sorted(due.shape) == sorted(got.shape):
        for one, other in combinations(range(-due.ndim, 0), 2):
            swapped = list(due.shape)
            swapped[one], swapped[other] = swapped[other], swapped[one]
            if tuple(swapped) == got.shape and (due.ndim > 2 or not alone):
                yield Form(
                    "transposed" if due.ndim == 2 else "axes-exchanged",
                    f"The numbers are right, but {_said(one)} and {_said(other)} have changed places.",
                    f"Besides, {'rows and columns' if due.ndim == 2 else f'{_said(one)} and {_said(other)}'} "
                    "have changed places.",
                    partial(np.swapaxes, axis1=one, axis2=other),
                )
        if due.ndim in (3, 4) and alone:
            for order in permutations(range(due.ndim)):
                if tuple(due.shape[i] for i in order) == got.shape and order != tuple(range(due.ndim)):
                    yield Form(
                        "axes-exchanged",
                        "The numbers are right, but the axes stand in another order: yours are, counted from 0, "
                        f"the axes {listed([str(i) for i in order])} of what is due.",
                        "",
                        partial(np.transpose, axes=order),
                    )
    if abs(due.ndim - got.ndim) == 1 and due.size == got.size:
        if due.ndim > got.ndim:
            for axis in range(-due.ndim, 0):
                if due.shape[axis] == 1:
                    yield Form(
                        "missing-axis",
                        STRUCTURAL["missing-axis"][0],
                        "Besides, an axis of length 1 got lost.",
                        partial(np.squeeze, axis=axis),
                    )
        else:
            for axis in range(-got.ndim, 0):
                if got.shape[axis] == 1:
                    yield Form(
                        "extra-axis",
                        STRUCTURAL["extra-axis"][0],
                        "Besides, there is an axis of length 1 too many.",
                        partial(np.expand_dims, axis=axis),
                    )


def _of_an_axis_that_is_gone(due: np.ndarray, alone: bool) -> Iterator[Form]:
    for axis in _axes(due):
        for name, index in (("first", 0), ("last", -1)):
            yield Form(
                "one-of-several",
                f"Only the {name} place along {_said(axis)} comes back; all of them are due.",
                f"Besides, only the {name} place along {_said(axis)} comes back.",
                partial(np.take, indices=index, axis=axis),
            )
        if due.dtype.kind == "f":
            for name, function in (("added up", np.sum), ("averaged", np.mean)):
                yield Form(
                    "an-axis-added-up",
                    f"The numbers were {name} along {_said(axis)}, which should stay.",
                    "",
                    partial(function, axis=axis),
                )


def _of_a_number(due: float, got: Value, given: Inputs, alone: bool) -> Iterator[Form]:
    if type(got) not in (int, float) or isinstance(got, bool) or not np.isfinite([due, got]).all():
        return
    yield Form(
        "other-sign",
        "The number has the other sign.",
        "Besides, the number has the other sign.",
        lambda v: -v,
    )
    if not alone:
        return
    if type(due) is float:
        for what, function in (("exponential", np.exp), ("logarithm", np.log), ("root", np.sqrt)):
            yield Form(
                "a-step-too-many",
                f"Your number is the {what} of the one that is due: there is a step too many, or its opposite is missing.",
                "",
                partial(_as_float, function),
            )
    for form in _of_factors(due, got, given):
        yield replace(form, means=form.means.replace("Every number", "Your number"))


def _axes(value: np.ndarray) -> Iterator[int]:
    """All axes, counted from the end; the last first."""
    yield from range(-1, -value.ndim - 1, -1)


def _said(axis: int) -> str:
    return {
        -1: "the last axis",
        -2: "the last axis but one",
        -3: "the last axis but two",
        -4: "the last axis but three",
    }.get(axis, f"axis {axis}")


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


# The changes that forms make, and the sizes that factors are made of; the value comes last.


def _part_of(i: int, values: Sequence[Value]) -> Value:
    return values[i]


def _in_order(order: Sequence[int], kind: Callable, values: Sequence[Value]) -> Value:
    return kind(values[i] for i in order)


def _with_one_changed(i: int, form: Form, kind: Callable, values: Sequence[Value]) -> Value:
    return kind(form.apply(value) if j == i else value for j, value in enumerate(values))


def _along(value: np.ndarray, axis: int, part: slice) -> tuple:
    index: list = [slice(None)] * value.ndim
    index[axis] = part
    return tuple(index)


def _cut(axis: int, part: slice, value: np.ndarray) -> np.ndarray:
    return value[_along(value, axis, part)]


def _emptied(axis: int, part: slice, value: np.ndarray) -> np.ndarray:
    value = value.copy()
    value[_along(value, axis, part)] = 0
    return value


def _as_float(function: Callable, value: float) -> float:
    return float(function(value))


def _length_of(i: int, axis: int, given: Inputs, due: Value) -> float:
    return float(given.args[i].shape[axis])


def _argument(i: int, given: Inputs, due: Value) -> float:
    return float(given.args[i])


def _named(name: str, given: Inputs, due: Value) -> float:
    return float(given.kwargs[name])


def _length_of_the_result(axis: int, given: Inputs, due: Value) -> float:
    return float(due.shape[axis])


def _of_size(size: Callable, power: Callable, given: Inputs, due: Value) -> float:
    return power(size(given, due))
