"""What can be said of a wrong answer that no misconception explains: which cases, and where in them."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from autograder.errors import listed
from autograder.judging.compare import close, viewed
from autograder.judging.question import Inputs, Question, Rules, Value, layout_of


def in_common(questions: Sequence[Question], right: Sequence[bool]) -> str:
    """What the failing cases share and none of the right ones has, as a sentence; "" where there is nothing."""
    failing = [features(q) for q, good in zip(questions, right, strict=True) if not good]
    passing = [features(q) for q, good in zip(questions, right, strict=True) if good]
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
    found += [f"`{name}={_short(value)}`" for name, value in given.kwargs.items() if not _holds_array(value)]
    found += [
        f"`{_short(value)}` as argument {i}"
        for i, value in enumerate(given.args, 1)
        if not _holds_array(value) and type(value) in (bool, int, float, str)
    ]
    arrays = list(_arrays(given))
    for kind in sorted({a.dtype.name for a in arrays} - {"float64", "bool", "int64"}):
        found.append(f"{kind} numbers")
    if arrays:
        most = max(a.ndim for a in arrays)
        if most > 2:
            found.append(f"arrays with {most} axes")
        if most == 1:
            found.append("arrays with one axis only")
        if any(layout_of(a) != "C" for a in arrays):
            found.append("arrays that do not lie in one piece in memory, as slices and transposes do")
        if any(a.ndim > 1 and 1 in a.shape for a in arrays):
            found.append("an axis of length 1")
        if any(0 in a.shape for a in arrays):
            found.append("an empty axis")
        floats = [a for a in arrays if a.dtype.kind == "f" and a.size]
        if any(float(np.nanmax(np.abs(a.astype(np.float64)))) >= 300 for a in floats):
            found.append("very large numbers")
        if len(arrays) > 1 and all(a.ndim for a in arrays[:2]):
            one, other = (a.shape[-2] if a.ndim > 1 else len(a) for a in arrays[:2])
            if one > other == 1:
                found.append("more than one row in the first array")
            elif one != other:
                found.append(
                    "more rows in the first array than in the second"
                    if one > other
                    else "more rows in the second array than in the first"
                )
            elif arrays[0].shape == arrays[1].shape:
                found.append("two arrays of the same shape")
        if any(a.ndim == 2 and a.shape[0] == a.shape[1] for a in arrays):
            found.append("a square matrix")
    return found


def _short(value: Value) -> str:
    return value.__name__ if isinstance(value, type) else str(value)


def _holds_array(value: Value) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    return isinstance(value, np.ndarray) or (
        isinstance(value, (tuple, list)) and any(map(_holds_array, value))
    )


def _arrays(given: Inputs) -> Iterator[np.ndarray]:
    todo = [*given.args, *given.kwargs.values()]
    for value in todo:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from (part for part in value if isinstance(part, np.ndarray))
        elif isinstance(value, Mapping):
            yield from (part for part in value.values() if isinstance(part, np.ndarray))


def where_it_differs(expected: Value, value: Value, rules: Rules) -> str:
    """Where two arrays of one shape differ, if the places or the numbers have a pattern; else ""."""
    if not isinstance(expected, np.ndarray) or not isinstance(value, np.ndarray):
        return ""
    if expected.shape != value.shape or not expected.size or value.dtype.kind not in "fiu":
        return ""
    wanted, got = (viewed(x, rules).astype(np.float64) for x in (expected, value))
    agree = close(expected, value, rules.tolerance) if not rules.view else close(wanted, got, rules.tolerance)
    if not np.isfinite(got).all() or not np.isfinite(wanted).all() or agree.all():
        return ""
    return _by_a_rule(wanted, got, rules.tolerance) or _in_one_place(agree)


def _by_a_rule(wanted: np.ndarray, got: np.ndarray, rtol: float) -> str:
    if wanted.size < 3:
        return ""
    loose = max(rtol, 1e-6)
    sure = np.abs(wanted) > 1e-9
    if sure.all():
        ratio = got / wanted
        if np.allclose(ratio, ratio.flat[0], rtol=loose, atol=0) and abs(ratio.flat[0]) > 1e-9:
            if np.isclose(ratio.flat[0], -1):
                return "Every number has the other sign."
            if abs(ratio.flat[0] - 1) < 1e-3:
                return ""  # a matter of precision, not of a factor
            return f"Every number is {ratio.flat[0]:.4g} times the one expected."
        for axis, name in ((-1, "row"), (-2, "column")):
            if ratio.ndim >= -axis and ratio.shape[axis] > 1:
                first = np.take(ratio, [0], axis=axis)
                if np.allclose(ratio, first, rtol=loose, atol=0):
                    return f"Each {name} is the expected one times a number of its own, so its proportions are right."
    gap = got - wanted
    if np.allclose(gap, gap.flat[0], rtol=loose, atol=1e-12):
        return f"Every number is the expected one {'plus' if gap.flat[0] > 0 else 'minus'} {abs(gap.flat[0]):.4g}."
    if np.allclose(np.sort(got, axis=None), np.sort(wanted, axis=None), rtol=loose):
        for axis, name in ((-2, "rows"), (-1, "columns")):
            if got.ndim >= -axis and np.allclose(np.flip(got, axis), wanted, rtol=loose):
                return f"The numbers are right, but the {name} stand in the opposite order."
        return "The numbers are the right ones, but they stand in other places."
    return ""


def _in_one_place(agree: np.ndarray) -> str:
    if agree.ndim == 0:
        return ""
    if agree.ndim == 1:
        alone = np.flatnonzero(~agree)
        if len(alone) == 1 and agree.size > 2:
            at = int(alone[0])
            which = "last" if at == agree.size - 1 else "first" if at == 0 else ""
            return f"Only the {which} number differs." if which else f"Only the number at [{at}] differs."
        return ""
    wrong = np.argwhere(~agree)
    for axis, name in ((-2, "row"), (-1, "column")):
        length = agree.shape[axis]
        places = sorted({int(i) for i in wrong[:, axis]})
        if len(places) == 1 and length > 2:
            at = places[0]
            which = "last" if at == length - 1 else "first" if at == 0 else f"one of index {at}"
            return (
                f"Only the {which} {name} differs."
                if which in ("first", "last")
                else f"Only {name} {at} differs."
            )
    if agree.ndim > 2 and agree.shape[0] > 1:
        places = sorted({int(i) for i in wrong[:, 0]})
        if len(places) < agree.shape[0]:
            return f"Only {listed([f'[{i}]' for i in places])} of the batch differ{'s' if len(places) == 1 else ''}."
    if agree.shape[-1] == agree.shape[-2] > 2:
        rows, columns = wrong[:, -2], wrong[:, -1]
        if (rows == columns).all():
            return "Only the diagonal differs."
        if (columns > rows).all():
            return "Only places above the diagonal differ."
        if (columns < rows).all():
            return "Only places below the diagonal differ."
    return ""
