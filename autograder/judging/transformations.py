"""Explain a wrong answer as the expected result with one simple change, such as another sign.

A transformation is applied to the expected result. If that does not explain the answer, it is
applied to the result of a known misconception, and then both are named. The transformed result must
equal the student's answer in all cases, right ones included, and in so many numbers that chance is
excluded.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, permutations
from typing import Any

import numpy as np

from autograder.core.text_format import join_words
from autograder.judging.compare import JudgedCase, same_outcome, select_failing_cases
from autograder.judging.error_messages import SPECIFIC_FAMILIES
from autograder.values.case_records import CallOutcome, Inputs, Misconception, Value
from autograder.values.common_mistakes import MISTAKES
from autograder.values.tolerance import elements_agree
from autograder.values.wording import describe_axis, format_ordinal, prefix_place

# These transformations, such as multiplication by a constant, explain little. A misconception
# together with a transformation is a better explanation.
_VAGUE_TRANSFORMATIONS = ("times-a-constant", "times-a-size", "plus-a-constant", "a-step-too-many")
MIN_DIFFERING_NUMBERS = 8  # with fewer of them, an explanation may be chance
MIN_DIFFERING_SCALARS = 3  # the same for results that are no arrays
MAX_PARTS = 4  # of a returned tuple; transformations of longer ones are not tried
MAX_PIVOT_PARTS = 100  # labs return fewer; counting more would take half a minute
MAX_PIVOT_NUMBERS = 4000


@dataclass(frozen=True)
class Transformation:
    """Change that turns a correct result into a typical wrong one, such as its transpose.

    Parameters
    ----------
    name : str
        A key of `MISTAKES`, the mistakes common to all exercises.
    means : str
        Explanation for an answer that is the transformed expected result.
    apply : callable
        Takes a value and its case's inputs, and returns the transformed value. Raises where it
        makes no sense.
    combined_means : str
        Explanation for an answer that is the transformed result of a misconception; "" if the
        transformation is not combined with misconceptions.
    """

    name: str
    means: str
    apply: Callable[[Value, Inputs], Value]
    combined_means: str = ""


@dataclass(frozen=True)
class _ValueDeviation:
    """Amount by which the student's result in a test case differs from the expected one.

    Parameters
    ----------
    numbers : int
        How many numbers in arrays differ.
    scalar : str
        The expected value as text, if a value that is no array differs; else "".
    """

    numbers: int
    scalar: str


Deviations = Mapping[JudgedCase, _ValueDeviation]

# The functions below search for a transformation, such as a swap of two axes, that turns the
# expected results into the student's.


def explain_by_transformation(
    cases: Sequence[JudgedCase], misconceptions: Sequence[Misconception]
) -> Misconception | None:
    """Return the transformation, such as another sign, that explains all wrong results; or None.

    It may be combined with a misconception.
    """
    rules, has_queries = cases[0].rules, any(case.inputs.result_queries for case in cases)
    if has_queries or rules.view or rules.compare or rules.returns != "array":
        return None
    failing = select_failing_cases(cases)
    returning_cases = [case for case in failing if not case.outcome.error]
    if any(case.value is None for case in returning_cases):
        return None
    deviations = {case: _measure_deviation(case) for case in returning_cases}
    if not _have_enough_evidence(deviations, returning_cases):
        return None
    if len(returning_cases) < len(failing):
        explanation = _find_misconception_combined_with_transformation(
            cases, deviations, misconceptions
        )
        return explanation or _combine_misconception_with_exception(
            cases, deviations, misconceptions
        )
    alone = None
    transformation = find_transformation(cases, failing)
    if transformation:
        nudge = MISTAKES[transformation.name][1]
        alone = Misconception(transformation.name, transformation.means, nudge)
        if transformation.name not in _VAGUE_TRANSFORMATIONS:
            return alone
    return (
        _find_misconception_combined_with_transformation(cases, deviations, misconceptions) or alone
    )


def find_transformation(
    cases: Sequence[JudgedCase],
    failing: Sequence[JudgedCase],
) -> Transformation | None:
    """Return the transformation that turns every expected result into the student's; or None."""
    pivot = _choose_case_for_candidates(failing)
    ordered_cases = [pivot, *(case for case in cases if case is not pivot)]
    for transformation in _candidate_transformations(pivot.expected, pivot.value, pivot.inputs):
        if all(_turns_expected_into_outcome(transformation, case) for case in ordered_cases):
            return transformation
    return None


def _find_misconception_combined_with_transformation(
    cases: Sequence[JudgedCase],
    deviations: Deviations,
    misconceptions: Sequence[Misconception],
) -> Misconception | None:
    """Return a misconception and a transformation that together explain the student's results."""
    for misconception in misconceptions:
        if " + " in misconception.name or misconception.name in MISTAKES:
            continue
        covered_cases = _select_cases_with_prediction(misconception.name, cases)
        differing_cases = [case for case in covered_cases if case in deviations]
        if not _have_enough_evidence(deviations, differing_cases):
            continue
        pivot = _choose_case_for_candidates(differing_cases)
        prediction = pivot.test_case.mistakes[misconception.name]
        if prediction.error or not _have_same_shapes(prediction.value, pivot.expected):
            continue  # the shapes differ, so a match would mean little
        for transformation in _candidate_transformations(
            prediction.value, pivot.value, pivot.inputs
        ):
            if not transformation.combined_means:
                continue
            if not _turns_source_into_outcome(transformation, prediction, pivot):
                continue
            if all(
                _turns_misconception_into_outcome_or_error(transformation, misconception.name, case)
                for case in covered_cases
            ):
                means = (
                    f"There are two mistakes. {misconception.means} {transformation.combined_means}"
                )
                return Misconception(
                    f"{misconception.name} + {transformation.name}", means, misconception.nudge
                )
    return None


def _combine_misconception_with_exception(
    cases: Sequence[JudgedCase],
    deviations: Deviations,
    misconceptions: Sequence[Misconception],
) -> Misconception | None:
    """Return a misconception for all returned results plus the other cases' error; or None.

    All other failing cases must raise the same error.
    """
    raising_cases = [case for case in cases if case.outcome.error]
    errors = {case.mistake for case in raising_cases if case.difference}
    wrong = []
    for case in deviations:
        if case.difference and case.difference.kind != "modified":
            wrong.append(case)
    if len(errors) != 1 or None in errors or "not-written-yet" in errors:
        return None
    if errors & SPECIFIC_FAMILIES:  # a slip, not a misconception
        return None
    if not _have_enough_evidence(deviations, wrong):
        return None
    error = errors.pop()
    for misconception in misconceptions:
        covered_cases = _select_cases_with_prediction(misconception.name, cases)
        returning_cases = [case for case in covered_cases if not case.outcome.error]
        explained_cases = [case for case in wrong if case in returning_cases]
        failing = [case for case in covered_cases if case in wrong or case in raising_cases]
        # If the function returns a result only in a few special cases (those with one row, say),
        # the misconception may predict these results by chance.
        if 4 * len(explained_cases) < len(failing):
            continue
        if not _have_enough_evidence(deviations, explained_cases):
            continue
        if all(_equals_prediction(misconception.name, case) for case in returning_cases):
            types = join_words(sorted({case.outcome.raised for case in raising_cases}), "or")
            error_means, _ = MISTAKES[error]  # type: ignore[index]
            count = "one case" if len(raising_cases) == 1 else f"{len(raising_cases)} cases"
            means = (
                f"There are two mistakes. {misconception.means} Besides, your function raises "
                f"{types} in {count}. {error_means}"
            )
            return Misconception(f"{misconception.name} + {error}", means, misconception.nudge)
    return None


def _select_cases_with_prediction(
    misconception_name: str, cases: Sequence[JudgedCase]
) -> list[JudgedCase]:
    """Return the test cases for which it is known what this misconception predicts."""
    return [case for case in cases if misconception_name in case.test_case.mistakes]


def _equals_prediction(misconception_name: str, case: JudgedCase) -> bool:
    return _is_same_result(case.test_case.mistakes[misconception_name], case)


def _measure_deviation(case: JudgedCase) -> _ValueDeviation:
    numbers, scalar = 0, ""
    for expected, value in zip(_parts_of(case.expected), _parts_of(case.value), strict=False):
        if not isinstance(expected, np.ndarray):
            if type(value) not in (int, float, str, bool) or expected != value:
                scalar = str(expected)
        elif isinstance(value, np.ndarray) and expected.shape == value.shape:
            numbers += int((~elements_agree(expected, value, case.rules.tolerance)).sum())
        else:
            numbers += expected.size
    return _ValueDeviation(numbers, scalar)


def _have_enough_evidence(deviations: Deviations, cases: Sequence[JudgedCase]) -> bool:
    """Return True if so many numbers are wrong that what explains all of them is no coincidence."""
    if len(cases) < 2:
        return False
    if sum(deviations[case].numbers for case in cases) >= MIN_DIFFERING_NUMBERS:
        return True
    scalars = {deviations[case].scalar for case in cases} - {""}
    return len(scalars) >= MIN_DIFFERING_SCALARS


def _parts_of(value: Value) -> Sequence[Value]:
    return value if isinstance(value, (tuple, list)) else [value]


def _have_same_shapes(first: Value, second: Value) -> bool:
    return _shapes_of(first) == _shapes_of(second)


def _shapes_of(value: Value) -> list[tuple[int, ...]]:
    return [getattr(part, "shape", ()) for part in _parts_of(value)]


def _choose_case_for_candidates(failing: Sequence[JudgedCase]) -> JudgedCase:
    """Choose the failing test case to try first: one with many numbers, but not very many."""
    sizes = {case: _count_numbers(case.value) for case in failing}
    moderate = [case for case in failing if sizes[case] <= MAX_PIVOT_NUMBERS]
    if moderate:
        return max(moderate, key=sizes.__getitem__)
    return min(failing, key=sizes.__getitem__)


def _count_numbers(value: Value) -> int:
    parts = _parts_of(value)
    if len(parts) > MAX_PIVOT_PARTS:
        return len(parts)
    count = 0
    for part in parts:
        count += part.size if isinstance(part, np.ndarray) else 1
    return count


def _turns_expected_into_outcome(transformation: Transformation, case: JudgedCase) -> bool:
    return _turns_source_into_outcome(transformation, CallOutcome(case.expected), case)


def _turns_source_into_outcome(
    transformation: Transformation, source: CallOutcome, case: JudgedCase
) -> bool:
    """Return True if the transformation turns a given result into the student's."""
    if source.error or source.value is None or case.value is None:
        return False
    with np.errstate(all="ignore"):
        try:
            value = transformation.apply(source.value, case.inputs)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
            return False
        if getattr(value, "shape", None) != getattr(case.value, "shape", None):
            return False
        return _is_same_result(replace(source, value=value), case)


def _turns_misconception_into_outcome_or_error(
    transformation: Transformation, name: str, case: JudgedCase
) -> bool:
    """Return True if the transformation turns a misconception's result into the student's.

    It also returns True if the misconception predicts an error and the student's function raises
    the same one.
    """
    prediction = case.test_case.mistakes[name]
    if prediction.error and case.outcome.error:
        return same_outcome(prediction, case.outcome, case.rules)
    return _turns_source_into_outcome(transformation, prediction, case)


def _is_same_result(outcome: CallOutcome, case: JudgedCase) -> bool:
    """Return True if an outcome equals the student's, whatever arguments were modified."""
    first, second = replace(outcome, modified=()), replace(case.outcome, modified=())
    return same_outcome(first, second, case.rules)


# The tables below list the transformations: simple changes of a result, such as a swap of two axes.


@dataclass(frozen=True)
class _TransformationTarget:
    """Choice of the axes or parts of a result that a transformation, such as a swap, changes.

    `words` fill the braces of the transformation's sentences. `arguments` are passed to the
    functions of its `_TransformationKind`.
    """

    words: dict[str, Any]
    arguments: dict[str, Any]


_NO_CHOICE = _TransformationTarget({}, {})


@dataclass(frozen=True)
class _TransformationKind:
    """Kind of transformation, such as a swap of two axes, which is made for each choice of axes.

    Parameters
    ----------
    name, means, combined_means : str
        As in `Transformation`, with braces for the words of an `_TransformationTarget`.
    change : callable
        Takes a value and the arguments of an `_TransformationTarget`. Returns the transformed value.
    is_sensible : callable
        Takes the expected value, the returned value and the arguments of an `_TransformationTarget`.
        Returns True if the transformation is worth a try.
    """

    name: str
    means: str
    combined_means: str
    change: Callable
    is_sensible: Callable


def _make_transformations(
    kinds: Sequence[_TransformationKind],
    expected: Value,
    value: Value,
    choices: Iterable[_TransformationTarget] = (_NO_CHOICE,),
) -> Iterator[Transformation]:
    """Yield each possible transformation of a result.

    There is one for each kind of transformation and each choice of axes or parts.
    """
    for choice in choices:
        for kind in kinds:
            if kind.is_sensible(expected, value, **choice.arguments):
                means = kind.means.format(**choice.words)
                combined_means = kind.combined_means.format(**choice.words)
                apply = partial(_apply_choice, kind.change, choice)
                yield Transformation(kind.name, means, apply, combined_means)


def _apply_choice(
    change: Callable, choice: _TransformationTarget, value: Value, inputs: Inputs
) -> Value:
    return change(value, **choice.arguments)


def _is_always_sensible(expected: Value, value: Value, **_: Any) -> bool:
    return True


def _same_shape_with_length_over_one(expected: np.ndarray, value: np.ndarray, axis: int) -> bool:
    """Return True if two arrays have the same shape, with a length over 1 along the axis."""
    return expected.shape == value.shape and (not expected.ndim or expected.shape[axis] > 1)


def _same_shape_floats(expected: np.ndarray, value: np.ndarray) -> bool:
    return expected.shape == value.shape and expected.dtype.kind == "f"


def _same_shape_with_several_axes(expected: np.ndarray, value: np.ndarray) -> bool:
    return expected.shape == value.shape and expected.ndim > 1


def _same_shape_booleans(expected: np.ndarray, value: np.ndarray) -> bool:
    return expected.shape == value.shape and expected.dtype == bool


def _same_shape_numbers(expected: np.ndarray, value: np.ndarray) -> bool:
    return expected.shape == value.shape and expected.dtype != bool


def _lacks_expected_booleans(expected: np.ndarray, value: np.ndarray) -> bool:
    return expected.dtype == bool != value.dtype


def _has_one_axis_fewer(expected: np.ndarray, value: np.ndarray, axis: int) -> bool:
    return expected.ndim == value.ndim + 1


def _lacks_single_axis(expected: np.ndarray, value: np.ndarray, axis: int) -> bool:
    return expected.ndim == value.ndim + 1 and expected.shape[axis] == 1


def _has_extra_single_axis(expected: np.ndarray, value: np.ndarray, axis: int) -> bool:
    return expected.ndim == value.ndim - 1 and value.shape[axis] == 1


def _has_other_shape(expected: np.ndarray, value: np.ndarray, axis: int) -> bool:
    return expected.ndim == value.ndim and expected.shape != value.shape


def _is_transposed_matrix(expected: np.ndarray, value: np.ndarray, **axes: int) -> bool:
    return expected.ndim == 2 and np.swapaxes(expected, **axes).shape == value.shape


def _has_swapped_axes(expected: np.ndarray, value: np.ndarray, **axes: int) -> bool:
    return expected.ndim > 2 and np.swapaxes(expected, **axes).shape == value.shape


def _has_permuted_axes(expected: np.ndarray, value: np.ndarray, axes: tuple[int, ...]) -> bool:
    return expected.ndim in (3, 4) and np.transpose(expected, axes).shape == value.shape


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _make_slicer(part: slice) -> Callable:
    """Return a function (array, axis) that takes this slice of the array along the axis."""
    return lambda value, axis: value[(slice(None),) * (value.ndim + axis) + (part,)]


def _make_slice_zeroer(part: slice) -> Callable:
    """Return a function (array, axis) that sets this slice of a copy of the array to 0."""

    def change(value: np.ndarray, axis: int) -> np.ndarray:
        value = value.copy()
        _make_slicer(part)(value, axis)[...] = 0
        return value

    return change


_ARRAY_RULES: tuple[_TransformationKind, ...] = (
    _TransformationKind("numbers-not-booleans", "",
          "Besides, it holds the numbers 0 and 1 instead of True and False.",
          lambda v: v.astype(int), _lacks_expected_booleans),
    # The next transformation has no text for a combination with a misconception, so that it is
    # never combined: the negated result of one misconception is often the result of another.
    _TransformationKind("the-other-way-round", "True and False are exchanged everywhere.", "",
          np.logical_not, _same_shape_booleans),
    _TransformationKind("other-sign", "Every number has the wrong sign; everything else is right.",
          "Besides, every number has the wrong sign.", np.negative, _same_shape_numbers),
)  # fmt: skip
_AXIS_RULES: tuple[_TransformationKind, ...] = (
    _TransformationKind("in-reverse-order",
          "The numbers are right, but their order along {axis} is reversed.", "",
          np.flip, _same_shape_with_length_over_one),
    _TransformationKind("one-place-off", "The numbers are right, but along {axis} each is one position too late.", "",
          lambda v, axis: np.roll(v, 1, axis), _same_shape_with_length_over_one),
    _TransformationKind("one-place-off", "The numbers are right, but along {axis} each is one position too early.", "",
          lambda v, axis: np.roll(v, -1, axis), _same_shape_with_length_over_one),
    _TransformationKind("places-left-empty", "The last entry along {axis} is {zero}; the others are right.", "",
          _make_slice_zeroer(slice(-1, None)), _same_shape_with_length_over_one),
    _TransformationKind("places-left-empty", "The first entry along {axis} is {zero}; the others are right.", "",
          _make_slice_zeroer(slice(0, 1)), _same_shape_with_length_over_one),
    _TransformationKind("places-left-empty", "Only the first entry along {axis} is right; the others are {zero}.", "",
          _make_slice_zeroer(slice(1, None)), _same_shape_with_length_over_one),
)  # fmt: skip
_INVERSE_STEP_REMARK = ", or the opposite step is missing"
_EXTRA_STEPS: tuple[tuple[str, Callable, str], ...] = (
    ("the exponentials", np.exp, _INVERSE_STEP_REMARK),
    ("the logarithms", np.log, _INVERSE_STEP_REMARK),
    ("the squares", np.square, _INVERSE_STEP_REMARK),
    ("the roots", np.sqrt, _INVERSE_STEP_REMARK),
    ("the inverses (1 / x)", np.reciprocal, _INVERSE_STEP_REMARK),
    ("the absolute values", np.abs, ""),
    ("the tanh", np.tanh, ""),
    ("the softmax (along the last axis)", lambda v: _softmax(v, -1), ""),
    ("the softmax (along the first axis)", lambda v: _softmax(v, 0), ""),
    ("the cumulative sums (along the last axis)", lambda v: np.cumsum(v, axis=-1), ""),
)
_NUMBER_RULES: tuple[_TransformationKind, ...] = (
    _TransformationKind("the-first-for-all",
          "The first result is repeated along the first axis; only the first entry is right.", "",
          lambda v: np.repeat(v[:1], len(v), axis=0), _same_shape_with_several_axes),
    *(_TransformationKind("a-step-too-many",
            f"Your numbers are {name} of the expected numbers. There is a step too many{inverse}.",
            "", function, _same_shape_floats)
      for name, function, inverse in _EXTRA_STEPS),
    _TransformationKind("one-minus-it", "Each of your numbers is 1 minus the expected number.", "",
          lambda v: 1 - v, _same_shape_floats),
)  # fmt: skip
_SWAP_RULES: tuple[_TransformationKind, ...] = (
    _TransformationKind("transposed", "The numbers are right, but {axis1} and {axis2} are exchanged.",
          "Besides, rows and columns are exchanged.", np.swapaxes, _is_transposed_matrix),
    _TransformationKind("axes-exchanged", "The numbers are right, but {axis1} and {axis2} are exchanged.",
          "Besides, {axis1} and {axis2} are exchanged.", np.swapaxes, _has_swapped_axes),
)  # fmt: skip
_PERMUTATION_RULES: tuple[_TransformationKind, ...] = (
    _TransformationKind("axes-exchanged",
          "The numbers are right, but the order of the axes is not: "
          "your axes are the axes {axes} (counted from 0) of the expected result.",
          "", np.transpose, _has_permuted_axes),
)  # fmt: skip
_SHAPE_RULES: tuple[_TransformationKind, ...] = (
    # This comes first: of an axis of length 1, the first entry and the sum are the same.
    _TransformationKind("missing-axis", MISTAKES["missing-axis"][0], "Besides, an axis of length 1 is missing.",
          np.squeeze, _lacks_single_axis),
    _TransformationKind("one-of-several", "Your function returns only the first entry along {axis}; expected all of them.",
          "Besides, your function returns only the first entry along {axis}.",
          lambda v, axis: np.take(v, 0, axis), _has_one_axis_fewer),
    _TransformationKind("one-of-several", "Your function returns only the last entry along {axis}; expected all of them.",
          "Besides, your function returns only the last entry along {axis}.",
          lambda v, axis: np.take(v, -1, axis), _has_one_axis_fewer),
    _TransformationKind("an-axis-added-up", "The numbers were added along {axis}, an axis that should stay.", "",
          np.sum, _has_one_axis_fewer),
    _TransformationKind("an-axis-added-up", "The numbers were averaged along {axis}, an axis that should stay.", "",
          np.mean, _has_one_axis_fewer),
    _TransformationKind("extra-axis", MISTAKES["extra-axis"][0], "Besides, there is an extra axis of length 1.",
          np.expand_dims, _has_extra_single_axis),
    _TransformationKind("one-place-short", "The numbers are right, but the last entry along {axis} is missing.", "",
          _make_slicer(slice(None, -1)), _has_other_shape),
    _TransformationKind("one-place-short", "The numbers are right, but the first entry along {axis} is missing.", "",
          _make_slicer(slice(1, None)), _has_other_shape),
)  # fmt: skip
_ONE_PART_RULES: tuple[_TransformationKind, ...] = (
    _TransformationKind("one-part-only", "Your function returns only the {part} of the {count} values.",
          "Besides, your function returns only the {part} of the {count} values.",
          lambda v, part: v[part], _is_always_sensible),
)  # fmt: skip
_PART_ORDER_RULES: tuple[_TransformationKind, ...] = (
    _TransformationKind("parts-in-another-order",
          "The values are right, but their order is not. Of the expected values you return numbers {order}, in this "
          "order.",
          "Besides, the order is wrong: of the expected values you return numbers {order}, in this order.",
          lambda v, order: tuple(v[i] for i in order), _is_always_sensible),
)  # fmt: skip
_LIST_RULES: tuple[_TransformationKind, ...] = (
    _TransformationKind(
        "returns-a-list",
        "",
        "Besides, it is a list; expected a NumPy array.",
        np.ndarray.tolist,
        _is_always_sensible,
    ),
)
_SCALAR_STEPS: tuple[tuple[str, Callable], ...] = (
    ("exponential", lambda v: float(np.exp(v))),
    ("logarithm", lambda v: float(np.log(v))),
    ("root", lambda v: float(np.sqrt(v))),
)
_SCALAR_RULES: tuple[_TransformationKind, ...] = (
    _TransformationKind("other-sign", "The number has the wrong sign.", "Besides, the number has the wrong sign.",
          operator.neg, _is_always_sensible),
    *(_TransformationKind("a-step-too-many", f"Your number is the {name} of the expected number. "
            "There is a step too many, or the opposite step is missing.",
            "", function, lambda expected, value: type(expected) is float)
      for name, function in _SCALAR_STEPS),
)  # fmt: skip


# The functions below yield the transformations that may explain the student's result in one test
# case.


def _candidate_transformations(
    expected: Value, value: Value, inputs: Inputs
) -> Iterator[Transformation]:
    """Yield the transformations that may turn a test case's expected result into the student's."""
    if isinstance(expected, (tuple, list)):
        yield from _candidate_transformations_of_several_results(expected, value, inputs)
    elif isinstance(expected, np.ndarray):
        yield from _candidate_array_transformations(expected, value, inputs)
    elif _is_int64_number(expected) and _is_int64_number(value):
        yield from _make_transformations(_SCALAR_RULES, expected, value)
        yield from _candidate_factors_and_offsets(expected, value, inputs, "Your number")


def _is_int64_number(value: Value) -> bool:
    """Return True for an int or float in the range of int64."""
    return type(value) in (int, float) and abs(value) < 2**63


def _candidate_transformations_of_several_results(
    expected: Sequence[Value],
    value: Value,
    inputs: Inputs,
) -> Iterator[Transformation]:
    count = len(expected)
    if not any(isinstance(part, np.ndarray) for part in expected):
        return
    if count > MAX_PARTS:
        if isinstance(value, (tuple, list)) and len(value) == count:
            yield from _candidate_order(expected, value)
        return
    if not isinstance(value, (tuple, list)):
        for i in range(count):
            choice = _TransformationTarget(
                {"part": format_ordinal(i + 1), "count": count}, {"part": i}
            )
            yield from _make_transformations(_ONE_PART_RULES, expected, value, [choice])
        return
    if len(value) != count:
        return
    for order in list(permutations(range(count)))[1:]:
        yield from _make_reordering(expected, value, order)
    for i, part in enumerate(expected):
        if isinstance(part, (tuple, list)):
            continue
        for candidate in _candidate_transformations(part, value[i], inputs):
            place = f"the {format_ordinal(i + 1)} of the {count} values"
            means = prefix_place(f"Only {place} is wrong: ", candidate.means)
            apply = partial(_transform_part, i, candidate, type(value))
            yield Transformation(candidate.name, means, apply)


def _make_reordering(
    expected: Sequence[Value], value: Value, order: Sequence[int]
) -> Iterator[Transformation]:
    words = ", ".join(str(i + 1) for i in order)
    choice = _TransformationTarget({"order": words}, {"order": order})
    yield from _make_transformations(_PART_ORDER_RULES, expected, value, [choice])


def _candidate_order(expected: Sequence[Value], value: Sequence[Value]) -> Iterator[Transformation]:
    """Yield the order in which many values were returned, found by their shapes and numbers."""
    order: list[int] = []
    for part in value:
        for i, expected_part in enumerate(expected):
            if i not in order and _are_equal_numbers(part, expected_part):
                order.append(i)
                break
    if len(order) == len(expected) and order != sorted(order):
        yield from _make_reordering(expected, value, order)


def _are_equal_numbers(first: Value, second: Value) -> bool:
    if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray):
        return type(first) is type(second) and first == second
    return first.shape == second.shape and bool(np.allclose(first, second, rtol=1e-6))


def _transform_part(
    index: int,
    transformation: Transformation,
    sequence_type: Callable,
    values: Sequence[Value],
    inputs: Inputs,
) -> Value:
    parts = list(values)
    if index < len(parts):  # a case may expect fewer values
        parts[index] = transformation.apply(parts[index], inputs)
    return sequence_type(parts)


def _candidate_array_transformations(
    expected: np.ndarray,
    value: Value,
    inputs: Inputs,
) -> Iterator[Transformation]:
    if isinstance(value, list):
        yield from _make_transformations(_LIST_RULES, expected, value)
    if not isinstance(value, np.ndarray):
        return
    zero = "False" if expected.dtype == bool else "0"
    axes = range(-1, -max(expected.ndim, value.ndim) - 1, -1)
    axis_choices = []
    for axis in axes:
        words = {"axis": describe_axis(axis), "zero": zero}
        axis_choices.append(_TransformationTarget(words, {"axis": axis}))
    pair_choices = []
    for axis1, axis2 in combinations(range(-expected.ndim, 0), 2):
        words = {"axis1": describe_axis(axis1), "axis2": describe_axis(axis2)}
        pair_choices.append(_TransformationTarget(words, {"axis1": axis1, "axis2": axis2}))
    order_choices = []
    if expected.ndim in (3, 4):
        for order in list(permutations(range(expected.ndim)))[1:]:
            order_choices.append(
                _TransformationTarget({"axes": join_words(order)}, {"axes": order})
            )
    yield from _make_transformations(_ARRAY_RULES, expected, value)
    yield from _make_transformations(_AXIS_RULES, expected, value, axis_choices)
    yield from _make_transformations(_NUMBER_RULES, expected, value)
    if _same_shape_floats(expected, value):
        yield from _candidate_factors_and_offsets(expected, value, inputs, "Every number")
    yield from _make_transformations(_SWAP_RULES, expected, value, pair_choices)
    yield from _make_transformations(_PERMUTATION_RULES, expected, value, order_choices)
    yield from _make_transformations(_SHAPE_RULES, expected, value, axis_choices)


def _candidate_factors_and_offsets(
    expected: Value, value: Value, inputs: Inputs, subject: str
) -> Iterator[Transformation]:
    """Yield transformations that multiply by a constant or by a length, or add a constant."""
    expected_floats, floats = np.atleast_1d(_to_floats(expected)), np.atleast_1d(_to_floats(value))
    largest = np.max(np.abs(expected_floats), initial=0.0)
    with np.errstate(all="ignore"):
        nonzero = np.abs(expected_floats) > 1e-9 * largest
        ratios = (floats / expected_floats)[nonzero]
        gaps = (floats - expected_floats).ravel()
    if _is_constant(ratios, absolute=0):
        factor = _round_to_simple_fraction(float(ratios[0]))
        if abs(factor) > 1e-13 and abs(factor - 1) > 1e-3:
            means = f"{subject} is {factor:.4g} times the expected one."
            yield Transformation("times-a-constant", means, partial(_multiply_by_constant, factor))
            yield from _candidate_size_factors(inputs, expected, factor, subject)
    if _is_constant(gaps, absolute=1e-9):
        gap = _round_to_simple_fraction(float(gaps[0]))
        if abs(gap) > 1e-4 * max(largest, 1e-3):
            size = "large" if gap > 0 else "small"
            means = f"{subject} is too {size} by {abs(gap):.4g}."
            yield Transformation("plus-a-constant", means, partial(_add_constant, gap))


def _is_constant(numbers: np.ndarray, absolute: float) -> bool:
    """Return True if all numbers of one array are equal to each other.

    They may differ by an absolute and a small relative tolerance.
    """
    if not numbers.size or not np.isfinite(numbers).all():
        return False
    return np.allclose(numbers, numbers[0], rtol=1e-5, atol=absolute)


def _multiply_by_constant(factor: float, value: Value, inputs: Inputs) -> Value:
    return _convert_result_to_type_of(value, _to_floats(value) * factor)


def _add_constant(term: float, value: Value, inputs: Inputs) -> Value:
    return _convert_result_to_type_of(value, _to_floats(value) + term)


GetSize = Callable[[Value, Inputs], float]  # computed from a case's expected result and inputs
_POWERS: dict[str, Callable[[float], float]] = {
    "n": lambda n: n,
    "1/n": lambda n: 1 / n,
    "√n": lambda n: n**0.5,
    "1/√n": lambda n: n**-0.5,
}


def _candidate_size_factors(
    inputs: Inputs, expected: Value, factor: float, subject: str
) -> Iterator[Transformation]:
    """Yield multiplications by a power of a size, such as 1/√n, that equals `factor` here."""
    for name, size in _list_named_sizes(inputs, expected):
        n = size(expected, inputs)
        for power, function in _POWERS.items():
            if n > 1 and np.isclose(function(n), factor, rtol=1e-5):
                means = f"{subject} is {power} times the expected one, where n is {name}."
                apply = partial(_multiply_by_size, size, function)
                yield Transformation("times-a-size", means, apply)


def _multiply_by_size(size: GetSize, function: Callable, value: Value, inputs: Inputs) -> Value:
    return _multiply_by_constant(function(float(size(value, inputs))), value, inputs)


def _list_named_sizes(inputs: Inputs, expected: Value) -> Iterator[tuple[str, GetSize]]:
    """Yield sizes that a wrong factor may be, such as the length of an axis, each with its name."""
    for i, argument in enumerate(inputs.args):
        name = inputs.name_argument(i)
        if isinstance(argument, np.ndarray):
            for axis in range(-1, -argument.ndim - 1, -1):
                yield _describe_length(name, axis), partial(_argument_length, i, axis)
        elif type(argument) is int:
            yield name, partial(_positional_argument, i)
    for keyword, argument in inputs.kwargs.items():
        if type(argument) is int:
            yield f"`{keyword}`", partial(_keyword_argument, keyword)
    if isinstance(expected, np.ndarray):
        for axis in range(-1, -expected.ndim - 1, -1):
            yield _describe_length("the result", axis), partial(_result_length, axis)
        yield "the number of entries of the result", lambda value, inputs: value.size


def _describe_length(name: str, axis: int) -> str:
    """Describe the length of an array's axis: "`x.shape[-1]`", or "`shape[-1]` of argument 2"."""
    if name.startswith("`"):
        return f"`{name[1:-1]}.shape[{axis}]`"
    return f"`shape[{axis}]` of {name}"


def _positional_argument(index: int, value: Value, inputs: Inputs) -> int:
    return inputs.args[index]


def _keyword_argument(name: str, value: Value, inputs: Inputs) -> int:
    return inputs.kwargs[name]


def _result_length(axis: int, value: Value, inputs: Inputs) -> int:
    return value.shape[axis]


def _argument_length(index: int, axis: int, value: Value, inputs: Inputs) -> int:
    return inputs.args[index].shape[axis]


def _to_floats(value: Value) -> np.ndarray:
    return np.asarray(value, dtype=np.float64)


def _convert_result_to_type_of(value: Value, result: np.ndarray) -> Value:
    """Convert a computed result to the type of `value`; to int only if it is a whole number."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            return result.astype(value.dtype)
        return result
    number = float(result)
    if type(value) is int and abs(number - round(number)) < 1e-6 * abs(number):
        return round(number)
    return number


def _round_to_simple_fraction(number: float) -> float:
    """Return the simple fraction that a number equals up to rounding; other numbers as they are.

    >>> _round_to_simple_fraction(0.33333333), _round_to_simple_fraction(0.1234)
    (0.3333333333333333, 0.1234)
    """
    for denominator in range(1, 13):
        fraction = round(number * denominator) / denominator
        if fraction and abs(number - fraction) < 1e-6 * abs(number):
            return fraction
    return number
