"""What can be said of a wrong answer that no misconception explains: which cases, and where in them."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.errors import listed
from autograder.judging.agreement import close
from autograder.judging.compare import Case, same_answer
from autograder.judging.kinds import arrays_in, short, viewed
from autograder.judging.question import Answer, Made, Question, Rules, Value, layout_of
from autograder.judging.wording import along_axis, ordinal


def in_common(cases: Sequence[Case]) -> str:
    """What the failing cases share and none of the right ones has, as a sentence; "" where there is nothing."""
    failing = [features(case.question) for case in cases if case.difference]
    passing = [features(case.question) for case in cases if not case.difference]
    if not passing or not failing:
        return ""
    shared = [
        f for f in failing[0] if all(f in one for one in failing) and not any(f in one for one in passing)
    ]
    if shared:
        return f"It is right in {len(passing)} cases; all that fail have {shared[0]}."
    kinds = list(dict.fromkeys(f for one in failing for f in one if not any(f in other for other in passing)))
    covering = [f for f in kinds if sum(f in one for one in failing) > 1]
    if covering and all(any(f in one for f in covering[:2]) for one in failing):
        return f"It is right in {len(passing)} cases; all that fail have {listed(covering[:2], 'or')}."
    only = [
        f for f in passing[0] if all(f in one for one in passing) and not any(f in one for one in failing)
    ]
    if only and len(passing) > 1:
        return f"It is right in {len(passing)} of {len(cases)} cases only; all of them have {only[0]}."
    return ""


def features(question: Question) -> list[str]:
    """What is special about a case's inputs, the most telling first."""
    found = []
    if question.edge is not None:
        name, value = question.edge
        if name == "magnitude":
            name, value = "numbers as large as", f"{value:g}"
        found.append(
            f"`{name}={_short(value)}`" if name.isidentifier() else f"{name} {_short(value)}".strip()
        )
    given = question.inputs
    named = [(name, value) for name, value in given.kwargs.items() if name.isidentifier()]  # a test's is none
    found += [f"`{name}={_short(value)}`" for name, value in named if not arrays_in(value)]
    found += [
        f"`{_short(value)}` as argument {i}"
        for i, value in enumerate(given.args, 1)
        if not arrays_in(value) and type(value) in (bool, int, float, str, Made)
    ]
    arrays = arrays_in((*given.args, *given.kwargs.values()))
    for kind in sorted({a.dtype.name for a in arrays} - {"float64", "bool", "int64"}):
        found.append(f"{kind} numbers")
    if arrays:
        many_axes = max(a.ndim for a in arrays) > 2
        found += [f"arrays with {max(a.ndim for a in arrays)} axes"] if many_axes else []
        found += [words for words, holds in _OF_ARRAYS if holds(arrays)]
    return found


def _rows(arrays: Sequence[np.ndarray]) -> tuple[int, int]:
    """How many rows the first two arrays have, or numbers those that are vectors; (0, 0) where there are not two."""
    if len(arrays) < 2 or not all(a.ndim for a in arrays[:2]):
        return 0, 0
    one, other = (a.shape[-2] if a.ndim > 1 else len(a) for a in arrays[:2])
    return one, other


def _is_large(array: np.ndarray) -> bool:
    floats = array.dtype.kind == "f" and array.size
    return bool(floats and np.nanmax(np.abs(array.astype(np.float64))) >= 300)


_OF_ARRAYS: Sequence[tuple[str, Callable[[Sequence[np.ndarray]], bool]]] = [
    ("arrays with one axis only", lambda arrays: max(a.ndim for a in arrays) == 1),
    ("arrays that do not lie in one piece in memory, as slices and transposes do",
     lambda arrays: any(layout_of(a) in ("F", "strided") for a in arrays)),
    ("an axis of length 1", lambda arrays: any(a.ndim > 1 and 1 in a.shape for a in arrays)),
    ("an empty axis", lambda arrays: any(0 in a.shape for a in arrays)),
    ("very large numbers", lambda arrays: any(map(_is_large, arrays))),
    ("more than one row in the first array", lambda arrays: _rows(arrays)[0] > _rows(arrays)[1] == 1),
    ("more rows in the first array than in the second", lambda arrays: _rows(arrays)[0] > _rows(arrays)[1] != 1),
    ("more rows in the second array than in the first", lambda arrays: _rows(arrays)[0] < _rows(arrays)[1]),
    ("two arrays of the same shape", lambda arrays: len(arrays) > 1 and () != arrays[0].shape == arrays[1].shape),
    ("a square matrix", lambda arrays: any(a.ndim == 2 and a.shape[0] == a.shape[1] for a in arrays)),
]  # fmt: skip


def _short(value: Value) -> str:
    return short(value) if isinstance(value, (type, Made)) else str(value)


Pair = tuple[np.ndarray, np.ndarray, np.ndarray]  # what is due, what came, and where they agree
Rule = Callable[[np.ndarray, np.ndarray, np.ndarray], bool | None]  # None: it says nothing of this pair


def what_holds(pairs: Sequence[tuple[Value, Value]], rules: Rules) -> str:
    """The first sentence that is true of what is due and what came in each of these cases; "" if there is none.

    Arrays of one shape and single numbers count; one that another of the cases contradicts is not said.
    """
    numbers = [pair for expected, value in pairs if (pair := _numbers(expected, value, rules))]

    def holds(rule: Rule) -> bool:
        found = [rule(*pair) for pair in numbers]
        return True in found and False not in found and found[0] is not None

    empty = "What differs is 0 in your result." if holds(_all(lambda got, due: got == 0)) else ""
    for sentences in (() if empty else _RELATIONS, _DIAGONALS):
        for said, rule in sentences:
            if holds(rule):
                return " ".join(filter(None, (said, empty)))
    places = [next((s for s, rule in along if holds(rule)), "") for along in _PLACES]
    if empty:
        return " ".join(filter(None, (*places, empty)))
    found = [*filter(None, places)] or [next((s for s, rule in _SIZES if holds(rule)), "")]
    return " ".join(filter(None, [*found, _how_alike(numbers)]))


def _how_alike(numbers: Sequence[Pair]) -> str:
    """Whether the numbers rise and fall with those that are due, in each case or, single ones, from case to case."""
    if all(np.size(wanted) == 1 for wanted, *_ in numbers):
        numbers = [tuple(np.array([np.ravel(pair[i])[0] for pair in numbers]) for i in range(3))]  # type: ignore[list-item]
    rows = [np.array([np.ravel(wanted), np.ravel(got)]) for wanted, got, _ in numbers if np.size(wanted) >= 4]
    with np.errstate(all="ignore"):
        rows = [row for row in rows if (np.ptp(row, axis=1) > 1e-9).all()]
        found = [float(np.corrcoef(row)[0, 1]) for row in rows]
    if found and np.median(found) > 0.9:
        return "Yours rise and fall with what is due, nearly in step: most of the formula is right."
    if len(found) > 2 and np.mean(np.abs(found)) < 0.3:
        return "Yours do not rise and fall with what is due: look at the first steps, and at what goes into them."
    return ""


def _numbers(expected: Value, value: Value, rules: Rules) -> Pair | None:
    """Both as arrays of finite numbers that differ somewhere; None where they are no such arrays."""
    if type(expected) in (int, float) and type(value) in (int, float):
        expected, value = np.asarray(expected), np.asarray(value)
    elif not isinstance(expected, np.ndarray) or not isinstance(value, np.ndarray):
        return None
    else:
        expected, value = viewed(expected, rules), viewed(value, rules)
    if expected.shape != value.shape or not expected.size or value.dtype.kind not in "fiub":
        return None
    wanted, got = expected.astype(np.float64), value.astype(np.float64)
    agree = close(expected, value, rules.tolerance)
    if not np.isfinite(got).all() or not np.isfinite(wanted).all() or agree.all():
        return None
    return wanted, got, agree


def _in_proportion(axis: int) -> Rule:
    def rule(wanted: np.ndarray, got: np.ndarray, agree: np.ndarray) -> bool | None:
        if wanted.ndim < 2 or min(wanted.shape[-2:]) < 2:
            return None
        there = np.abs(wanted) > 1e-9
        if (got[~there] != wanted[~there]).any() or (there.sum(axis=axis) < 2).all():
            return False
        ratio = np.divide(got, wanted, out=np.full(wanted.shape, np.nan), where=there)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a row of zeros
            usual = np.nanmean(ratio, axis=axis, keepdims=True)
        return bool(np.allclose(ratio[there], np.broadcast_to(usual, ratio.shape)[there], rtol=1e-6, atol=0))

    return rule


def _elsewhere(wanted: np.ndarray, got: np.ndarray, agree: np.ndarray) -> bool | None:
    if wanted.size < 3:
        return None
    one, other = np.sort(wanted, axis=None), np.sort(got, axis=None)
    far = np.abs(got - wanted).max() > 1e-3 * np.abs(wanted).max()  # else it is a matter of digits
    return bool(far and np.allclose(one, other, rtol=1e-6, atol=1e-9))


def _only(axis: int, places: Callable[[Any, int], Any] | None) -> Rule:
    """Whether the numbers differ in all of these places along an axis and nowhere else; None: in a single one."""

    def rule(wanted: np.ndarray, got: np.ndarray, agree: np.ndarray) -> bool | None:
        if agree.ndim < -axis or agree.shape[axis] < 3:
            return None
        others = tuple(i for i in range(agree.ndim) if i != agree.ndim + axis)
        wrong, length = ~agree.all(axis=others), agree.shape[axis]
        return (
            wrong.sum() == 1 if places is None else np.array_equal(wrong, places(np.arange(length), length))
        )

    return rule


def _beside_the_diagonal(places: Callable[[np.ndarray], np.ndarray]) -> Rule:
    def rule(wanted: np.ndarray, got: np.ndarray, agree: np.ndarray) -> bool | None:
        if agree.ndim < 2 or agree.shape[-1] != agree.shape[-2] or agree.shape[-1] < 3:
            return None
        rows, columns = np.argwhere(~agree)[:, -2:].T
        return bool(places(columns - rows).all())

    return rule


def _all(compare: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    return lambda wanted, got, agree: bool(compare(got[~agree], wanted[~agree]).all())


Sentences = Sequence[tuple[str, Rule]]
_RELATIONS: Sentences = [
    ("Each row is the expected one times a number of its own, so its proportions are right.", _in_proportion(-1)),
    ("Each column is the expected one times a number of its own, so its proportions are right.", _in_proportion(-2)),
    ("The numbers are the right ones, but they stand in other places.", _elsewhere),
]  # fmt: skip
_DIAGONALS: Sentences = [
    ("Only the diagonal differs.", _beside_the_diagonal(lambda d: d == 0)),
    ("Only places above the diagonal differ.", _beside_the_diagonal(lambda d: d > 0)),
    ("Only places below the diagonal differ.", _beside_the_diagonal(lambda d: d < 0)),
]
_WHERE: list[tuple[str, Callable[[Any, int], Any]]] = [
    ("Only the last {} differs.", lambda i, n: i == n - 1),
    ("Only the first {} differs.", lambda i, n: i == 0),
    ("Only the first {} is right.", lambda i, n: i > 0),
    ("Only the last {} is right.", lambda i, n: i < n - 1),
    ("Only the first two {}s are right.", lambda i, n: i > 1),
    ("Every second {} is right, the first among them.", lambda i, n: i % 2 == 1),
    ("Every second {} differs, the first among them.", lambda i, n: i % 2 == 0),
    ("Only the first half of the {}s is right.", lambda i, n: i >= n // 2),
    ("Only the second half of the {}s is right.", lambda i, n: i < n // 2),
]  # fmt: skip
_PLACES: list[Sentences] = [
    [(said.format(name), _only(axis, places)) for said, places in _WHERE]
    + [(f"Only one {name} differs.", _only(axis, None))]
    for axis, name in ((-2, "row"), (-1, "column"), (-3, "matrix"))
]
_SIZES: Sentences = [
    (f"In every case that fails, what differs {what}.", _all(compare)) for what, compare in (
        ("is too large", np.greater),
        ("is too small", np.less),
        ("is too far from 0", lambda got, due: (np.abs(got) > np.abs(due)) & (got * due >= 0)),
        ("is too near to 0", lambda got, due: (np.abs(got) < np.abs(due)) & (got * due >= 0)),
        ("has the other sign", lambda got, due: got * due < 0),
    )
]  # fmt: skip


def right_parts(pairs: Sequence[tuple[Value, Value]], rules: Rules) -> str:
    """Which of several values are right in each of these cases; "" where none is, or there is one only."""
    if not all(isinstance(x, (tuple, list)) and len(x) == len(pairs[0][0]) for pair in pairs for x in pair):
        return ""
    right = [
        i
        for i in range(len(pairs[0][0]))
        if all(same_answer(Answer(due[i]), Answer(got[i]), rules) for due, got in pairs)
    ]
    if not right:
        return ""
    return f"Right in every case {'is' if len(right) == 1 else 'are'} the {listed([ordinal(i + 1) for i in right])}."


def what_fits(pairs: Sequence[tuple[Value, Value]]) -> str:
    """Of results of another length: which part of what is due they are, or what they hold besides; "" if neither."""
    if not all(isinstance(x, np.ndarray) and x.ndim == pairs[0][0].ndim for pair in pairs for x in pair):
        return ""
    for axis in range(-pairs[0][0].ndim, 0):
        for said, is_it in _PARTS:
            if all(
                _but_for(axis, due, got) and is_it(np.moveaxis(due, axis, 0), np.moveaxis(got, axis, 0))
                for due, got in pairs
            ):
                return said.format(along_axis(axis))
    return ""


def _but_for(axis: int, due: np.ndarray, got: np.ndarray) -> bool:
    return (
        due.size > 0 < got.size and np.delete(due.shape, axis).tolist() == np.delete(got.shape, axis).tolist()
    )


def _is_first(part: np.ndarray, whole: np.ndarray) -> bool:
    return len(part) < len(whole) and bool(np.allclose(part, whole[: len(part)], equal_nan=True))


_PARTS: Sequence[tuple[str, Callable[[np.ndarray, np.ndarray], bool]]] = [
    ("What is there is right; along {} it ends too early.", lambda due, got: _is_first(got, due)),
    ("What is there is right; along {} it begins too late.", lambda due, got: _is_first(got[::-1], due[::-1])),
    ("Along {} it begins with what is due; what follows does not belong to it.", lambda due, got: _is_first(due, got)),
    ("Along {} it ends with what is due; what stands before does not belong to it.",
     lambda due, got: _is_first(due[::-1], got[::-1])),
]  # fmt: skip


def times(expected: Value, value: Value) -> str:
    """That a large number is a whole multiple, or a whole part, of the one that is due; "" else."""
    if type(expected) not in (int, float) or type(value) not in (int, float) or abs(expected) < 1000:
        return ""
    more = max(value / expected, expected / value) if value else 0
    if not 1 < more <= 1024 or abs(more - round(more)) > 1e-9 * more:
        return ""
    return (
        f"Here it is {round(more)} times {'as large as it should be' if value > expected else 'too small'}."
    )
