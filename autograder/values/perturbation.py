"""Change the last digits of numbers, to find results that depend on them."""

from functools import partial

import numpy as np

from autograder.values.case_records import Value, copy_with_layout, find_memory_layout

_PERTURBATION = 3  # units in the last place


_SHORT_FRACTION = 1 / 1024  # multiples of it have few digits in the binary system


def perturb_last_digits(value: Value, keeps_short_fractions: bool = False) -> Value:
    """Return a copy of an argument in which each float64 number is changed in its last digits.

    Equal numbers stay equal, and whole numbers stay as they are, since they are often exact on
    purpose. Arrays of float32 and float16 stay as well: a unit in their last place is a large step,
    which no processor takes in a given input. Numbers in lists, tuples and mappings are changed, too.
    With `keeps_short_fractions`, numbers such as 0.5 and 2.25 stay: they may be exact as well.

    >>> perturb_last_digits([0.3, 2.0, 7]) == [0.3, 2.0, 7], perturb_last_digits((2.0, 7))
    (False, (2.0, 7))
    """
    perturb = partial(perturb_last_digits, keeps_short_fractions=keeps_short_fractions)
    unit = _SHORT_FRACTION if keeps_short_fractions else 1.0
    if type(value) is float:
        return float(_perturb_array(np.array(value), unit))
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return copy_with_layout(_perturb_array(value, unit), find_memory_layout(value))
    if type(value) in (list, tuple):
        return type(value)(map(perturb, value))
    if type(value) is dict:
        return {name: perturb(part) for name, part in value.items()}
    return value


def _perturb_array(array: np.ndarray, unit: float) -> np.ndarray:
    """Return an array in which the numbers that are no multiples of a unit are changed."""
    # The last bit of each number decides whether it is made larger or smaller. So equal numbers
    # stay equal.
    is_odd = np.array(array).view(np.uint64) % 2 == 1
    step = _PERTURBATION * np.finfo(np.float64).eps
    perturbed = array * np.where(is_odd, 1 + step, 1 - step)
    with np.errstate(over="ignore"):
        multiples = array / unit
    is_fraction = np.isfinite(array) & (multiples != np.rint(multiples))
    return np.where(is_fraction, perturbed, array)
