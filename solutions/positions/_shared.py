"""Helpers for the exercises of `positions`: frequencies, and columns taken apart and woven together."""

import numpy as np


def frequencies(size, base=10000.0):
    """The angle from one position to the next, for each pair of columns: shape (size / 2,)."""
    return base ** (-np.arange(0, size, 2) / size)


def woven(even, odd):
    """One array whose columns come from `even` and `odd` in turn: (..., n) twice to (..., 2n)."""
    return np.stack([even, odd], axis=-1).reshape(*even.shape[:-1], -1)


def turned(even, odd, angles):
    """Both columns of each pair, turned by `angles`."""
    cos, sin = np.cos(angles), np.sin(angles)
    return even * cos - odd * sin, even * sin + odd * cos
