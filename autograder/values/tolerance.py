"""Compare numbers and arrays of numbers, allowing for small errors."""

import numpy as np

from autograder.values.case_records import ComparisonRules, Tolerance

# Smallest sensible tolerances for numbers of type float16 and float32: relative and absolute error.
_FLOAT16_TOLERANCE = (2e-2, 2e-3)
_FLOAT32_TOLERANCE = (2e-4, 2e-6)


def effective_tolerance(tolerance: Tolerance, *arrays: np.ndarray) -> tuple[float, float]:
    """Return the relative and the absolute tolerance; they are widened for float16 and float32."""
    codes = {array.dtype.char for array in arrays}
    minimum_relative, minimum_absolute = 0.0, 0.0
    if "e" in codes:
        minimum_relative, minimum_absolute = _FLOAT16_TOLERANCE
    elif "f" in codes:
        minimum_relative, minimum_absolute = _FLOAT32_TOLERANCE
    if isinstance(tolerance, tuple):
        relative, absolute = tolerance
    else:
        relative, absolute = tolerance, tolerance * 1e-3
    return max(relative, minimum_relative), max(absolute, minimum_absolute)


def arrays_agree(expected: np.ndarray, value: np.ndarray, tolerance: Tolerance) -> bool:
    """Return True if two arrays have the same shape and agree to tolerance; NaN agrees with NaN.

    >>> arrays_agree(np.ones(2), np.ones(2) + 1e-9, 1e-7)
    True
    """
    return expected.shape == value.shape and all_true(elements_agree(expected, value, tolerance))


def elements_agree(expected: np.ndarray, value: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """Return a boolean array: True where two arrays agree to tolerance, or both have NaN.

    The result is a boolean array like that of `np.isclose`, which takes five times as long. Judging
    answers spends most of its time in this function.
    """
    expected64 = expected.astype(np.float64, copy=False)
    value64 = value.astype(np.float64, copy=False)
    equal = expected64 == value64
    if all_true(equal):
        return equal
    with np.errstate(all="ignore"):
        relative, absolute = effective_tolerance(tolerance, expected, value)
        close = np.abs(value64 - expected64) <= absolute + relative * np.abs(expected64)
        both_nan = np.isnan(expected64) & np.isnan(value64)
        return equal | (close & np.isfinite(expected64)) | both_nan


def numbers_agree(
    expected: float, value: float, rules: ComparisonRules, magnitude: float = 0.0
) -> bool:
    """Return True if two numbers agree to tolerance.

    For the real or the imaginary part of a complex number, give the magnitude of the complex number
    as `magnitude`. The relative tolerance then refers to that magnitude.
    """
    expected, value = float(expected), float(value)
    if magnitude and np.isfinite([expected, value, magnitude]).all():
        relative, absolute = effective_tolerance(rules.tolerance)
        return abs(value - expected) <= absolute + relative * magnitude
    return arrays_agree(np.asarray(expected), np.asarray(value), rules.tolerance)


def all_true(booleans: np.ndarray) -> bool:
    """Return `booleans.all()`, computed in a faster way for small arrays.

    >>> all_true(np.ones(2) == 1), all_true(np.arange(2) == 1)
    (True, False)
    """
    return b"\0" not in booleans.tobytes()
