"""Describe what failing test cases or wrong numbers have in common, if no mistake explains them."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.core.text_format import format_count, join_words
from autograder.judging.compare import JudgedCase, same_outcome
from autograder.values.case_records import (
    CallOutcome,
    ComparisonRules,
    DeferredCall,
    TestCase,
    Value,
    find_memory_layout,
)
from autograder.values.tolerance import elements_agree
from autograder.values.value_types import apply_view, find_arrays, short_repr
from autograder.values.wording import describe_axis, format_ordinal

LARGE_NUMBER = 300
MIN_SHAPES = 2  # of expected results, to say that they are an argument's shape
MIN_SHOWN_NUMBERS = 3  # in a result, to judge its correlation with the expected one
WEAK_CORRELATION = 0.5  # in the shown result, to suspect an early step
SCALAR_TYPES = (bool, int, float, str, DeferredCall)

# The functions below find features, such as `axis=0`, in which failing test cases differ from right
# ones.


def describe_failing_feature(cases: Sequence[JudgedCase]) -> str:
    """Name a feature, such as `axis=0`, that tells failing test cases from right ones; else ""."""
    failing: list[list[str]] = []
    passing: list[list[str]] = []
    for case in cases:
        features = list_features(case.test_case)
        if case.is_right:
            passing.append(features)
        else:
            failing.append(features)
    if not passing or not failing:
        return ""
    in_all = _find_separating_features(failing, passing)
    if in_all:
        if len(failing) == 1:
            return f"The only case that fails has {in_all[0]}."
        return f"All failing cases have {in_all[0]}, and no other case has."
    pair = _find_repeated_features_of_group(failing, passing)[:2]
    if pair and not any(set(pair).isdisjoint(features) for features in failing):
        return f"All failing cases have {join_words(pair, 'or')}, and no other case has."
    in_right = _find_separating_features(passing, failing)
    if in_right and len(passing) > 1:
        return f"Only the cases with {in_right[0]} are right."
    return ""


def _find_separating_features(
    feature_lists: list[list[str]], other_feature_lists: list[list[str]]
) -> list[str]:
    """Return the features that all test cases of one group have, and none of the other group."""
    common = set(feature_lists[0]).intersection(*feature_lists).difference(*other_feature_lists)
    return [feature for feature in feature_lists[0] if feature in common]


def _find_repeated_features_of_group(
    feature_lists: list[list[str]], other_feature_lists: list[list[str]]
) -> list[str]:
    """Return the features that two or more cases of the first group have, and no case of the second."""
    counts: dict[str, int] = {}
    for features in feature_lists:
        for feature in dict.fromkeys(features):
            counts[feature] = counts.get(feature, 0) + 1
    other_features = set().union(*other_feature_lists)
    shared_features = []
    for feature, count in counts.items():
        if count > 1 and feature not in other_features:
            shared_features.append(feature)
    return shared_features


def list_features(test_case: TestCase) -> list[str]:
    """List the features of a test case, such as `axis=0` or "arrays with 3 axes".

    The most specific features come first.
    """
    inputs = test_case.inputs
    features = []
    if test_case.edge is not None:
        features.append(_describe_edge_case(*test_case.edge))
    for name, value in inputs.kwargs.items():
        # Skip the argument that holds the exercise's test function: its name is no Python
        # identifier.
        if isinstance(value, Mapping):
            features += _list_settings(name, value)
        elif name.isidentifier() and not find_arrays(value) and not _is_random_number(value):
            features.append(f"`{name}={_format_value(value)}`")
    for i, value in enumerate(inputs.args):
        if type(value) in SCALAR_TYPES and not find_arrays(value) and not _is_random_number(value):
            name = inputs.name_argument(i).strip("`")
            if name.isidentifier():
                features.append(f"`{name}={_format_value(value)}`")
            else:
                features.append(f"`{_format_value(value)}` as {name}")
    arrays = find_arrays((*inputs.args, *inputs.kwargs.values()))
    dtypes = {array.dtype.name for array in arrays} - {"float64", "bool", "int64"}
    features += [f"{name} numbers" for name in sorted(dtypes)]
    if arrays:
        axes = max(array.ndim for array in arrays)
        if axes > 2:
            features.append(f"arrays with {axes} axes")
        features += [text for text, has_feature in _ARRAY_FEATURES if has_feature(arrays)]
    return features


def _list_settings(name: str, mapping: Mapping[str, Value]) -> list[str]:
    """List the texts and truth values in a mapping, such as "`dtype='float16'` in `settings`".

    Its numbers are mostly sizes that were drawn at random, which explain nothing.
    """
    features = []
    for key, value in mapping.items():
        if isinstance(value, (str, bool)):
            features.append(f"`{key}={value!r}` in `{name}`")
    return features


def _is_random_number(value: Value) -> bool:
    """Return True for a number that was drawn at random, which explains nothing.

    >>> _is_random_number(0.8397167011810591), _is_random_number(0.05), _is_random_number(1e-6)
    (True, False, False)
    """
    return isinstance(value, float) and len(repr(value)) > 8


def _describe_edge_case(name: str, value: Value) -> str:
    if name == "magnitude":
        return f"numbers as large as {value:g}"
    if name.isidentifier():
        return f"`{name}={_format_value(value)}`"
    return f"{name} {_format_value(value)}".strip()


def _row_counts(arrays: Sequence[np.ndarray]) -> tuple[int, int]:
    """Return the number of rows of each of the first two arrays; (0, 0) if there is only one."""
    if len(arrays) < 2 or not arrays[0].ndim or not arrays[1].ndim:
        return 0, 0
    return _count_rows(arrays[0]), _count_rows(arrays[1])


def _count_rows(array: np.ndarray) -> int:
    """Return the number of rows of a matrix, or of entries of a vector."""
    return array.shape[-2] if array.ndim > 1 else len(array)


def _has_axis_of_length_one(array: np.ndarray) -> bool:
    return array.ndim > 1 and 1 in array.shape


def _is_empty(array: np.ndarray) -> bool:
    return 0 in array.shape


def _has_large_numbers(array: np.ndarray) -> bool:
    if array.dtype.kind != "f" or not array.size:
        return False
    return bool(np.nanmax(np.abs(array.astype(np.float64))) >= LARGE_NUMBER)


def _is_not_contiguous(array: np.ndarray) -> bool:
    return find_memory_layout(array) in ("F", "strided")


def _is_square_matrix(array: np.ndarray) -> bool:
    return array.ndim == 2 and array.shape[0] == array.shape[1]


def _have_same_shape(arrays: Sequence[np.ndarray]) -> bool:
    return len(arrays) > 1 and () != arrays[0].shape == arrays[1].shape


_ARRAY_FEATURES: Sequence[tuple[str, Callable[[Sequence[np.ndarray]], bool]]] = [
    ("arrays with one axis only", lambda arrays: max(array.ndim for array in arrays) == 1),
    ("arrays that are not contiguous in memory, such as slices and transposes",
     lambda arrays: any(map(_is_not_contiguous, arrays))),
    ("an axis of length 1", lambda arrays: any(map(_has_axis_of_length_one, arrays))),
    ("an empty axis", lambda arrays: any(map(_is_empty, arrays))),
    ("very large numbers", lambda arrays: any(map(_has_large_numbers, arrays))),
    ("more than one row in the first array",
     lambda arrays: _row_counts(arrays)[0] > _row_counts(arrays)[1] == 1),
    ("more rows in the first array than in the second",
     lambda arrays: _row_counts(arrays)[0] > _row_counts(arrays)[1] != 1),
    ("more rows in the second array than in the first",
     lambda arrays: _row_counts(arrays)[0] < _row_counts(arrays)[1]),
    ("two arrays of the same shape", _have_same_shape),
    ("a square matrix", lambda arrays: any(map(_is_square_matrix, arrays))),
]  # fmt: skip


def _format_value(value: Value) -> str:
    return short_repr(value) if isinstance(value, (type, DeferredCall)) else str(value)


# The functions below find a pattern in wrong numbers, such as "each row is twice the expected one".

# Three arrays: the expected numbers, the returned ones, and a mask of the places where they agree.
ArrayPair = tuple[np.ndarray, np.ndarray, np.ndarray]
# A function that tests whether the numbers of an `ArrayPair` show a certain pattern. It takes the
# three arrays as its arguments. It returns None if it cannot tell, for example because the arrays
# are too small.
Predicate = Callable[[np.ndarray, np.ndarray, np.ndarray], bool | None]
# Table of patterns: each row has a sentence that describes a pattern, and the test (predicate) for
# it.
PatternTable = Sequence[tuple[str, Predicate]]


def describe_difference_pattern(
    pairs: Sequence[tuple[Value, Value]],
    rules: ComparisonRules,
) -> str:
    """Describe a pattern in all the wrong results, such as "Only the last row differs."; else "".

    Only pairs of single numbers, or of arrays of equal shape, are considered. A pattern must fit
    every pair that it applies to.
    """
    numeric_pairs = []
    are_indices = all(type(expected) is int and abs(expected) < 1000 for expected, _ in pairs)
    for expected, value in pairs:
        pair = _to_differing_array_pair(expected, value, rules)
        if pair:
            numeric_pairs.append(pair)

    def first_match(table: PatternTable) -> str:
        for text, predicate in table:
            if _matches_all_pairs(predicate, numeric_pairs):
                return text
        return ""

    zeros = first_match(_ZERO_PATTERNS)
    relation = ""
    if not zeros:
        relation = first_match(_RELATION_PATTERNS)
    relation = relation or first_match(_DIAGONAL_PATTERNS)
    if relation:
        return _join_sentences(relation, zeros)
    places = [first_match(table) for table in _PLACE_PATTERNS]
    if zeros:
        return _join_sentences(*places, zeros)
    if not any(places):
        places = [first_match(_SIZE_PATTERNS)]
    if are_indices:  # a place or a token: near the right one is no nearer to right
        return _join_sentences(*places)
    correlation = _describe_correlation(numeric_pairs)
    if any(places) and "do not rise" in correlation:
        correlation = ""  # a part is right, so that an early step can hardly be wrong
    return _join_sentences(*places, correlation)


def _matches_all_pairs(predicate: Predicate, pairs: Sequence[ArrayPair]) -> bool:
    """Return True if the first pair of arrays has a pattern, and all others that can show it."""
    results = [predicate(*pair) for pair in pairs]
    return True in results and False not in results and results[0] is not None


def _join_sentences(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _describe_correlation(pairs: Sequence[ArrayPair]) -> str:
    """Say that returned and expected numbers are strongly, or hardly, correlated; "" otherwise.

    The sentence stands above the numbers of the first pair, so it must be true of them, too. If
    every result is a single number, the numbers are correlated across the cases. This says nothing
    of the formula: a larger model, for example, has a larger count in any formula.
    """
    samples = [np.array([np.ravel(expected), np.ravel(values)]) for expected, values, _ in pairs]
    if samples and all(sample.shape[1] == 1 for sample in samples):
        correlation = _compute_correlation(np.concatenate(samples, axis=1))
        if correlation is None or correlation <= 0.9:
            return ""
        return (
            "From case to case, your number rises and falls with the expected one "
            f"({_format_correlation(correlation)})."
        )
    correlations = []
    for sample in samples:
        correlation = _compute_correlation(sample)
        if correlation is not None:
            correlations.append(correlation)
    shown = _compute_correlation(samples[0], MIN_SHOWN_NUMBERS) if samples else None
    if shown is None or not correlations:
        return ""
    if shown > 0.9 and np.median(correlations) > 0.9:
        return (
            f"Your numbers rise and fall with the expected ones ({_format_correlation(shown)}), so "
            "much of the formula is right. Which step is missing, different, or one too many?"
        )
    is_low_here = abs(shown) < WEAK_CORRELATION
    if is_low_here and len(correlations) > 2 and np.mean(np.abs(correlations)) < 0.3:
        return (
            "Your numbers do not rise and fall with the expected ones, so an early step is "
            "probably wrong. Check the first steps and their inputs."
        )
    return ""


def _compute_correlation(sample: np.ndarray, min_numbers: int = 4) -> float | None:
    """Return the correlation of two rows; None if they are too short, or one does not vary."""
    if sample.shape[1] < min_numbers or np.ptp(sample, axis=1).min() <= 1e-9:
        return None
    with np.errstate(all="ignore"):
        return float(np.corrcoef(sample)[0, 1])


def _format_correlation(correlation: float) -> str:
    """Format a correlation; one that is not perfect is never shown as 1.00.

    >>> _format_correlation(0.98), _format_correlation(0.99973), _format_correlation(0.9999999)
    ('correlation 0.98', 'correlation 0.9997', 'correlation over 0.9999')
    """
    if correlation >= 0.99995:
        return "correlation over 0.9999"
    decimals = 4 if correlation >= 0.995 else 2
    return f"correlation {correlation:.{decimals}f}"


def _to_differing_array_pair(
    expected: Value, value: Value, rules: ComparisonRules
) -> ArrayPair | None:
    """Return an expected and a returned value as an `ArrayPair`; None if no numbers differ."""
    if type(expected) in (int, float) and type(value) in (int, float):
        expected, value = np.asarray(expected), np.asarray(value)
    elif not isinstance(expected, np.ndarray) or not isinstance(value, np.ndarray):
        return None
    else:
        expected, value = apply_view(expected, rules), apply_view(value, rules)
    if expected.shape != value.shape or not expected.size or value.dtype.kind not in "fiub":
        return None
    expected_floats, floats = expected.astype(np.float64), value.astype(np.float64)
    agree = elements_agree(expected, value, rules.tolerance)
    if not np.isfinite(floats).all() or not np.isfinite(expected_floats).all() or agree.all():
        return None
    return expected_floats, floats, agree


def _is_scaled_along_axis(axis: int) -> Predicate:
    """Return a function that tells if each row (axis -1) or column (-2) is a multiple of the expected."""

    def predicate(expected: np.ndarray, values: np.ndarray, agree: np.ndarray) -> bool | None:
        if expected.ndim < 2 or min(expected.shape[-2:]) < 2:
            return None
        nonzero = np.abs(expected) > 1e-9
        if (values[~nonzero] != expected[~nonzero]).any() or (nonzero.sum(axis=axis) < 2).all():
            return False
        ratio = np.divide(values, expected, out=np.full(expected.shape, np.nan), where=nonzero)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns about rows of zeros
            mean = np.nanmean(ratio, axis=axis, keepdims=True)
        means = np.broadcast_to(mean, ratio.shape)
        if np.ptp(means[nonzero]) <= 1e-6 * np.abs(means[nonzero]).max():
            return None  # one factor for all rows, which is another pattern
        return bool(np.allclose(ratio[nonzero], means[nonzero], rtol=1e-6, atol=0))

    return predicate


def _has_one_factor(expected: np.ndarray, values: np.ndarray, agree: np.ndarray) -> bool | None:
    """Return True if all returned numbers are the expected ones times one factor."""
    nonzero = np.abs(expected) > 1e-9
    if nonzero.sum() < 3:
        return None
    if (values[~nonzero] != expected[~nonzero]).any():
        return False
    ratio = values[nonzero] / expected[nonzero]
    return bool(np.allclose(ratio, ratio[0], rtol=1e-6, atol=0))


def _is_rearranged(expected: np.ndarray, values: np.ndarray, agree: np.ndarray) -> bool | None:
    """Return True if the returned numbers are the expected ones in another order."""
    if expected.size < 3:
        return None
    # A difference smaller than this comes from rounding, not from another order of the numbers.
    differs = np.abs(values - expected).max() > 1e-3 * np.abs(expected).max()
    expected_sorted, values_sorted = np.sort(expected, axis=None), np.sort(values, axis=None)
    return bool(differs and np.allclose(expected_sorted, values_sorted, rtol=1e-6, atol=1e-9))


def _is_distribution_only_here(
    expected: np.ndarray, values: np.ndarray, agree: np.ndarray
) -> bool | None:
    """Return True if only the returned numbers are weights: positive, with the sum 1."""
    if not expected.ndim or expected.shape[-1] < 2:
        return None
    are_weights = [
        bool((array >= 0).all()) and np.allclose(array.sum(axis=-1), 1)
        for array in (values, expected)
    ]
    return are_weights == [True, False]


def _repeats_last_part(expected: np.ndarray, values: np.ndarray, agree: np.ndarray) -> bool | None:
    """Return True if all parts along the first axis equal the last one, which alone is right."""
    if values.ndim < 2 or len(values) < 2 or (expected == expected[-1]).all():
        return None
    return bool((values == values[-1]).all() and agree[-1].all())


def _differs_exactly_at(axis: int, choose_positions: Callable[[Any, int], Any]) -> Predicate:
    """Return a predicate that tells if exactly the chosen positions along an axis are wrong.

    `choose_positions` takes the positions 0, 1, … and their number, and returns a boolean mask.
    """

    def predicate(expected: np.ndarray, values: np.ndarray, agree: np.ndarray) -> bool | None:
        wrong = _find_wrong_positions(agree, axis)
        if wrong is None:
            return None
        return np.array_equal(wrong, choose_positions(np.arange(len(wrong)), len(wrong)))

    return predicate


def _differs_at_one_place(axis: int) -> Predicate:
    """Return a predicate that tells if exactly one position along an axis (one row, say) is wrong."""

    def predicate(expected: np.ndarray, values: np.ndarray, agree: np.ndarray) -> bool | None:
        wrong = _find_wrong_positions(agree, axis)
        if wrong is None:
            return None
        return bool(wrong.sum() == 1)

    return predicate


def _find_wrong_positions(agree: np.ndarray, axis: int) -> np.ndarray | None:
    """Return a mask of the positions along an axis that hold a wrong number.

    Return None for an axis shorter than 3, where any mistake would fit some pattern.
    """
    if agree.ndim < -axis or agree.shape[axis] < 3:
        return None
    other_axes = tuple(i for i in range(agree.ndim) if i != agree.ndim + axis)
    return np.logical_not(agree.all(axis=other_axes))


def _differs_only_on_side_of_diagonal(is_on_side: Callable[[np.ndarray], np.ndarray]) -> Predicate:
    """Return a predicate: are numbers wrong only on one side of a diagonal, or only on it?

    `is_on_side` takes `column - row` of the differing numbers, and must be true for all of them.
    """

    def predicate(expected: np.ndarray, values: np.ndarray, agree: np.ndarray) -> bool | None:
        if agree.ndim < 2 or agree.shape[-1] != agree.shape[-2] or agree.shape[-1] < 3:
            return None
        rows, columns = np.argwhere(~agree)[:, -2:].T
        return bool(is_on_side(columns - rows).all())

    return predicate


def _holds_where_wrong(compare: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Predicate:
    """Return a predicate that tells if `compare(values, expected)` is true for all wrong numbers."""
    return lambda expected, values, agree: bool(compare(values[~agree], expected[~agree]).all())


_ZERO_PATTERNS: PatternTable = [
    (
        "All the differing numbers are 0 in your result.",
        _holds_where_wrong(lambda values, expected: values == 0),
    ),
]
_RELATION_PATTERNS: PatternTable = [
    ("In each failing case these numbers are the expected ones times one factor.",
     _has_one_factor),
    ("Each row is the expected row times a factor that differs from row to row.",
     _is_scaled_along_axis(-1)),
    ("Each column is the expected column times a factor that differs from column to column.",
     _is_scaled_along_axis(-2)),
    ("Along the first axis every part equals the last one. Do you append the same array each time, "
     "and only change its numbers? Make a new array in each turn of the loop.", _repeats_last_part),
    ("The result has the expected numbers, but in other positions.", _is_rearranged),
    ("Your numbers are positive and sum to 1, but the expected ones do not: is there a softmax too "
     "many?", _is_distribution_only_here),
]  # fmt: skip
_DIAGONAL_PATTERNS: PatternTable = [
    ("Only the diagonal differs.", _differs_only_on_side_of_diagonal(lambda d: d == 0)),
    ("Only entries above the diagonal differ.", _differs_only_on_side_of_diagonal(lambda d: d > 0)),
    ("Only entries below the diagonal differ.", _differs_only_on_side_of_diagonal(lambda d: d < 0)),
]
# Sentences on which positions along an axis are wrong. Each has a function of the positions i = 0,
# 1, … and their number n, which returns True for the positions that must be wrong.
_AXIS_PATTERNS: list[tuple[str, Callable[[Any, int], Any]]] = [
    ("Only the last {} differs.", lambda i, n: i == n - 1),
    ("Only the first {} differs.", lambda i, n: i == 0),
    ("Only the first {} is right.", lambda i, n: i > 0),
    ("Only the last {} is right.", lambda i, n: i < n - 1),
    ("Only the first two {}s are right.", lambda i, n: i > 1),
    ("Every second {} is right, beginning with the first.", lambda i, n: i % 2 == 1),
    ("Every second {} differs, beginning with the first.", lambda i, n: i % 2 == 0),
    ("Only the first half of the {}s is right.", lambda i, n: i >= n // 2),
    ("Only the second half of the {}s is right.", lambda i, n: i < n // 2),
]  # fmt: skip


def _axis_patterns(axis: int, name: str) -> PatternTable:
    patterns: list[tuple[str, Predicate]] = []
    for text, places in _AXIS_PATTERNS:
        patterns.append((text.format(name), _differs_exactly_at(axis, places)))
    return [*patterns, (f"Only one {name} differs.", _differs_at_one_place(axis))]


_PLACE_PATTERNS = [
    _axis_patterns(-2, "row"),
    _axis_patterns(-1, "column"),
    _axis_patterns(-3, "matrix"),
]


def _is_farther_from_zero(values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return (np.abs(values) > np.abs(expected)) & (values * expected >= 0)


def _is_nearer_to_zero(values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return (np.abs(values) < np.abs(expected)) & (values * expected >= 0)


def _has_other_sign(values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return values * expected < 0


_SIZE_PATTERNS: PatternTable = [
    ("All the differing numbers are too large by 1.",
     _holds_where_wrong(lambda values, expected: values - expected == 1)),
    ("All the differing numbers are too small by 1.",
     _holds_where_wrong(lambda values, expected: expected - values == 1)),
    *((f"All the differing numbers {text}.", _holds_where_wrong(compare))
    for text, compare in (
        ("are too large", np.greater),
        ("are too small", np.less),
        ("are too far from 0", _is_farther_from_zero),
        ("are too close to 0", _is_nearer_to_zero),
        ("have the wrong sign", _has_other_sign),
    )),
]  # fmt: skip


# The functions below describe results that are right in part.


def describe_which_returned_values_are_right(
    pairs: Sequence[tuple[Value, Value]], rules: ComparisonRules
) -> str:
    """Say which of several returned values are right in all test cases; "" if none is."""
    if not isinstance(pairs[0][0], (tuple, list)):
        return ""
    length = len(pairs[0][0])
    for pair in pairs:
        if not all(isinstance(value, (tuple, list)) and len(value) == length for value in pair):
            return ""
    right = []
    for i in range(length):
        parts = [(CallOutcome(expected[i]), CallOutcome(value[i])) for expected, value in pairs]
        if all(same_outcome(expected, value, rules) for expected, value in parts):
            right.append(format_ordinal(i + 1))
    if not right:
        return ""
    if len(right) == 1:
        return f"The {right[0]} of the {length} values is right in every case."
    return f"The {join_words(right)} of the {length} values are right in every case."


def describe_length_difference(pairs: Sequence[tuple[Value, Value]]) -> str:
    """Say that an array has the right numbers but is too short or long along an axis; else ""."""
    if not isinstance(pairs[0][0], np.ndarray):
        return ""
    axes = pairs[0][0].ndim
    for pair in pairs:
        if not all(isinstance(array, np.ndarray) and array.ndim == axes for array in pair):
            return ""
    for axis in range(-axes, 0):
        if not all(_same_shape_but_for(axis, expected, value) for expected, value in pairs):
            continue
        for text, fits in _LENGTH_PATTERNS:
            if all(_fits_along(axis, fits, *pair) for pair in pairs):
                return text.format(describe_axis(axis))
    return ""


def describe_shape_difference(pairs: Sequence[tuple[Value, Value]]) -> str:
    """Say what all the arrays of wrong shape have in common, such as too many axes; else ""."""
    arrays = []
    for expected, value in pairs:
        if not isinstance(expected, np.ndarray) or not isinstance(value, np.ndarray):
            return ""
        if expected.shape != value.shape:
            arrays.append((expected, value))
    for text, fits in _SHAPE_PATTERNS:
        if arrays and all(fits(*pair) for pair in arrays):
            expected, value = arrays[0]
            counts = [format_count(array.ndim, "axis", "axes") for array in (value, expected)]
            return text.format(*counts)
    return ""


def describe_shape_by_argument(
    pairs: Sequence[tuple[Value, Value]], cases: Sequence[JudgedCase]
) -> str:
    """Say that every expected result has the shape of one and the same argument; "" if it has not.

    `pairs` holds the expected and the returned value of each case.
    """
    shapes = [getattr(expected, "shape", None) for expected, _ in pairs]
    if None in shapes or len(set(shapes)) < MIN_SHAPES:
        return ""
    names = []
    for i, argument in enumerate(cases[0].inputs.args):
        if not isinstance(argument, np.ndarray):
            continue
        arguments = [case.inputs.args[i] if i < len(case.inputs.args) else None for case in cases]
        if [getattr(value, "shape", None) for value in arguments] == shapes:
            names.append(cases[0].inputs.name_argument(i))
    if len(names) != 1:
        return ""
    return f"It should have the shape of {names[0]}. Along which axis do you add up, if you do?"


def _has_same_order(expected: np.ndarray, value: np.ndarray) -> bool:
    if expected.size != value.size or expected.size < 2 or value.dtype.kind not in "fiub":
        return False
    return bool(np.allclose(expected.ravel(), value.ravel(), equal_nan=True))


_SHAPE_PATTERNS: Sequence[tuple[str, Callable[[np.ndarray, np.ndarray], bool]]] = [
    ("The numbers are right and in the right order; only the shape is another one.",
     _has_same_order),
    ("Your array has {0}; expected {1}. Compare them with the axes that the docstring names.",
     lambda expected, value: expected.ndim != value.ndim),
    ("The sizes of the axes are the expected ones, but in another order.",
     lambda expected, value: sorted(expected.shape) == sorted(value.shape)),
]  # fmt: skip


def _fits_along(axis: int, fits: Callable, expected: np.ndarray, value: np.ndarray) -> bool:
    """Return True if `fits` holds for two arrays after their axis is moved to the front."""
    return fits(np.moveaxis(expected, axis, 0), np.moveaxis(value, axis, 0))


def _same_shape_but_for(axis: int, expected: np.ndarray, value: np.ndarray) -> bool:
    """Return True if two arrays are not empty and have the same shape except along one axis."""
    if not expected.size or not value.size:
        return False
    return np.array_equal(np.delete(expected.shape, axis), np.delete(value.shape, axis))


def _starts_with(array: np.ndarray, part: np.ndarray) -> bool:
    return len(part) < len(array) and bool(np.allclose(part, array[: len(part)], equal_nan=True))


_LENGTH_PATTERNS: Sequence[tuple[str, Callable[[np.ndarray, np.ndarray], bool]]] = [
    ("The numbers are right, but the result is too short along {}: the end is missing.",
     lambda expected, value: _starts_with(expected, value)),
    ("The numbers are right, but the result is too short along {}: the beginning is missing.",
     lambda expected, value: _starts_with(expected[::-1], value[::-1])),
    ("The result is too long along {}: after the expected numbers there are others.",
     lambda expected, value: _starts_with(value, expected)),
    ("The result is too long along {}: before the expected numbers there are others.",
     lambda expected, value: _starts_with(value[::-1], expected[::-1])),
]  # fmt: skip


def describe_multiple(pairs: Sequence[tuple[Value, Value]], cases: Sequence[JudgedCase]) -> str:
    """Say that the first case's number is a whole multiple of the expected one, or a part; else "".

    An argument that is this factor in several cases is named, such as the number of heads. `pairs`
    holds the expected and the returned number of each case.
    """
    expected, value = pairs[0]
    factor = _find_factor(expected, value)
    if not factor:
        return ""
    size_clause = ""
    for name, number in _list_whole_numbers(cases[0]).items():
        if number == factor and _is_factor_in_several_cases(name, pairs, cases):
            size_clause = f", and {name} is {factor}"
    if value > expected:
        return f"In this case the result is {factor} times too large{size_clause}."
    return f"In this case the expected value is {factor} times larger{size_clause}."


def _find_factor(expected: Value, value: Value) -> int:
    """Return the whole number by which one large number is a multiple of the other; 0 if none."""
    numeric = type(expected) in (int, float) and type(value) in (int, float)
    if not numeric or abs(expected) < 1000 or not value:
        return 0
    factor = max(value / expected, expected / value)
    if not 1 < factor <= 1024 or abs(factor - round(factor)) > 1e-9 * factor:
        return 0
    return round(factor)


def _list_whole_numbers(case: JudgedCase) -> dict[str, int]:
    """Return the arguments of a case that are whole numbers, by their names in backticks."""
    numbers = {f"`{name}`": value for name, value in case.inputs.kwargs.items()}
    for i, value in enumerate(case.inputs.args):
        numbers[case.inputs.name_argument(i)] = value
    return {name: value for name, value in numbers.items() if type(value) is int}


def _is_factor_in_several_cases(
    name: str, pairs: Sequence[tuple[Value, Value]], cases: Sequence[JudgedCase]
) -> bool:
    """Return True if an argument is the factor in two cases with different factors or more."""
    factors = set()
    for pair, case in zip(pairs, cases):
        factor = _find_factor(*pair)
        if factor and factor == _list_whole_numbers(case).get(name):
            factors.add(factor)
    return len(factors) > 1
