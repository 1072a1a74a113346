"""Draw random test inputs for an exercise: usual ones, and extreme ones such as arrays of length 1.

The domain is the set of inputs for which the student's function must be right. An edge is an
extreme value of one of the domain's arguments, such as an axis of length 1.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from autograder.values.case_records import DTYPES, DeferredCall, Inputs, Value, copy_with_layout
from autograder.values.value_types import (
    convert_argument,
    find_arrays,
    map_arrays,
    map_inputs,
    short_repr,
)

Sizes = tuple[int, int]  # smallest and largest size of an axis
Edge = tuple[str, Value]  # name of an argument of the domain and its extreme value
EdgeCase = tuple[str, Inputs, Edge]  # label for people, inputs and edge

USUAL_SIZES = (2, 6)  # sizes of an axis in most cases
LARGE_SIZE = 16  # size of every axis in the cases in which all sizes are large
_PLAIN_CASES = 5  # number of cases drawn from a domain without sizes and flags
_LAYOUTS = {"F": "arrays in Fortran's order", "strided": "slices with gaps"}


@dataclass(frozen=True)
class Domain:
    """Domain of an exercise: the ranges of lengths, numbers and dtypes that its inputs may have.

    Parameters
    ----------
    sizes, flags, magnitudes, dtypes, layouts, has_fixed_shapes
        See `Exercise.domain`.
    draw : callable
        Function that draws inputs from the domain and returns `Inputs`. It takes a
        `numpy.random.Generator`, and by name the arguments in `argument_names`.

    Raises
    ------
    ValueError
        If a size is no range, or a flag has no values, or a magnitude or dtype is none.
    """

    sizes: Mapping[str, Sizes]
    flags: Mapping[str, Sequence[Value]]
    magnitudes: Sequence[float]
    dtypes: Sequence[str]
    layouts: bool
    draw: Callable[..., Inputs]
    has_fixed_shapes: bool = False

    def __post_init__(self) -> None:
        for name, size in self.sizes.items():
            is_pair = isinstance(size, (tuple, list)) and list(map(type, size)) == [int, int]
            if not is_pair or not 0 <= size[0] <= size[1]:
                raise ValueError(
                    f"the size {name!r} is {size!r}; its smallest and its largest value are "
                    "expected, such as (1, 60)"
                )
        for name, values in self.flags.items():
            if not isinstance(values, Sequence) or isinstance(values, str) or not values:
                raise ValueError(
                    f"the flag {name!r} is {values!r}; its values are expected, such as (0, 1)"
                )
        for magnitude in self.magnitudes:
            if type(magnitude) not in (int, float) or not 0 < magnitude < np.inf:
                raise ValueError(f"a magnitude is {magnitude!r}; a number above 0 is expected")
        for dtype in self.dtypes:
            if dtype not in DTYPES:
                raise ValueError(f"a dtype is {dtype!r}; it can be {', '.join(sorted(DTYPES))}")

    def argument_names(self) -> set[str]:
        """Return the names of `draw`'s arguments, except for the random generator."""
        names = {*self.sizes, *self.flags}
        if self.magnitudes:
            names.add("magnitude")
        return names

    def edge_cases(self, rng: np.random.Generator, corners: bool = False) -> list[EdgeCase]:
        """Draw a test case for each extreme value of an argument; other arguments are usual.

        Parameters
        ----------
        rng : numpy.random.Generator
        corners : bool
            Add cases at two edges at once, which are used only in grading.

        Returns
        -------
        list of (label, inputs, edge)
        """
        if self.has_fixed_shapes and not corners:
            return replace(self, has_fixed_shapes=False).edge_cases(rng)
        cases: list[EdgeCase] = []
        for label, name, value in self._list_edges():
            inputs = self._draw_usual_inputs_except(rng, **{name: value})
            cases.append((label, inputs, (name, convert_argument(value))))
        cases += self._draw_noncontiguous_cases(rng)
        if corners:
            cases += self._draw_combined_edge_cases(rng)
            if not self.sizes and not self.flags:
                for _ in range(_PLAIN_CASES):
                    cases.append(
                        ("somewhere in it", self._draw_usual_inputs_except(rng), ("anywhere", ""))
                    )
        return cases

    def _draw_noncontiguous_cases(
        self,
        rng: np.random.Generator,
        **extremes: Any,
    ) -> Iterator[EdgeCase]:
        """Draw test cases in which the input arrays are not contiguous in memory.

        Parameters
        ----------
        **extremes
            Values of arguments of the domain; the other arguments have usual values.
        """
        if not self.layouts:
            return
        for layout, label in _LAYOUTS.items():
            inputs = self._draw_usual_inputs_except(rng, **extremes)
            arrays = find_arrays((*inputs.args, *inputs.kwargs.values()))
            # Only an array of two or more axes can be in column-major instead of row-major order. A
            # scalar has only one layout in memory. So draw test cases of a layout only if an array
            # can have it.
            least_axes = 2 if layout == "F" else 1
            if any(array.ndim >= least_axes for array in arrays):
                change = partial(copy_with_layout, layout=layout)
                yield label, _map_input_arrays(inputs, change), (label, "")

    def _draw_combined_edge_cases(self, rng: np.random.Generator) -> Iterator[EdgeCase]:
        """Draw test cases in which two or more arguments have extreme values at once.

        Extreme sizes and memory layouts are combined with the unusual values of each flag. Two
        further kinds of cases have the smallest size for all axes, and a large size for all axes.
        """
        for name, values in self.flags.items():
            if len(values) > 1:
                yield from self._draw_edge_cases_with_flag(rng, name, values[1:])
        if self.sizes:
            smallest = {name: low for name, (low, _) in self.sizes.items()}
            label = "all sizes smallest"
            yield label, self._draw_usual_inputs_except(rng, **smallest), (label, "")
        large: dict[str, Any] = {}
        for name, (low, high) in self.sizes.items():
            large[name] = min(max(low, LARGE_SIZE), high)
        for magnitude in self.magnitudes or (None,):
            if magnitude is not None:
                large["magnitude"] = magnitude
            yield (
                "all sizes large",
                self._draw_usual_inputs_except(rng, **large),
                ("all sizes large", ""),
            )

    def _draw_edge_cases_with_flag(
        self,
        rng: np.random.Generator,
        name: str,
        values: Sequence[Value],
    ) -> Iterator[EdgeCase]:
        """Draw test cases with a flag's value and an extreme size or a memory layout at once.

        The largest sizes are combined with all values: only there does a mistake show that needs
        much of two things. The smallest sizes and the layouts take one value each, in turn, in a
        random order, so that each value is used about equally often. All combinations would be many
        more cases, and no wrong answer was found that only they refuse.
        """
        turns = cycle(values[index] for index in rng.permutation(len(values)))
        for axis, (low, high) in self.sizes.items():
            smallest = max(low, min(1, high))
            pairs = [(high, value) for value in values]
            if smallest != high:
                pairs.insert(0, (smallest, next(turns)))
            for size, value in pairs:
                inputs = self._draw_usual_inputs_except(rng, **{name: value, axis: size})
                yield f"{axis} = {size}, {name} = {_format_flag(value)}", inputs, (axis, size)
        value = next(turns)
        for label, inputs, edge in self._draw_noncontiguous_cases(rng, **{name: value}):
            yield f"{label}, {name} = {_format_flag(value)}", inputs, edge

    def _list_edges(self) -> Iterator[tuple[str, str, Value]]:
        """Yield label, argument's name and value for each extreme value of an argument."""
        for name, (low, high) in self.sizes.items():
            small = {size for size in (1, 2) if low <= size <= high}
            for size in sorted({low, high, *small}):
                yield f"{name} = {size}", name, size
        for name, values in self.flags.items():
            for value in values:
                yield f"{name} = {_format_flag(value)}", name, value
        for magnitude in self.magnitudes[1:]:
            yield f"numbers as large as {magnitude:g}", "magnitude", magnitude
        for dtype in self.dtypes[1:]:
            yield f"{dtype} numbers", "dtype", dtype

    def _draw_usual_inputs_except(self, rng: np.random.Generator, **extremes: Any) -> Inputs:
        """Draw inputs with the extreme values in `extremes` and usual values for the rest."""
        arguments = self._draw_distinct_sizes(rng, list(extremes.values()))
        for name, values in self.flags.items():
            arguments[name] = values[0]
        if self.magnitudes:
            arguments["magnitude"] = self.magnitudes[0]
        dtype = self.dtypes[0] if self.dtypes else None
        if "dtype" not in self.flags:  # a flag named dtype is passed to `draw` like any other flag
            dtype = extremes.pop("dtype", dtype)
        inputs = self.draw(rng, **{**arguments, **extremes})
        if dtype is None:
            return inputs
        return _map_input_arrays(inputs, partial(_convert_floats, dtype=dtype))

    def _draw_distinct_sizes(self, rng: np.random.Generator, taken: list[Any]) -> dict[str, Any]:
        """Draw a usual length for each array axis; no two are equal, and none is in `taken`.

        The drawn sizes are appended to `taken`.
        """
        sizes: dict[str, Any] = {}
        generator = np.random.default_rng(0) if self.has_fixed_shapes else rng
        for name, (low, high) in self.sizes.items():
            start = max(low, USUAL_SIZES[0])
            stop = min(high, max(USUAL_SIZES[1], start) + len(self.sizes) - 1)
            usual = [size for size in range(start, stop + 1) if size not in taken]
            if not usual:
                usual = [min(start, high)]
            # Draw an index with `integers`, which is five times as fast as `rng.choice`.
            sizes[name] = usual[generator.integers(len(usual))]
            taken.append(sizes[name])
        return sizes


def _format_flag(value: Value) -> Value:
    if callable(value) or isinstance(value, DeferredCall):
        return short_repr(convert_argument(value))
    return value


def _convert_floats(array: np.ndarray, dtype: str) -> np.ndarray:
    """Convert an array of floating-point numbers to a dtype; return any other array unchanged."""
    if array.dtype.kind == "f":
        return array.astype(dtype)
    return array


def _map_input_arrays(inputs: Inputs, change: Callable[[np.ndarray], np.ndarray]) -> Inputs:
    """Apply the function `change` to each array in a test case's inputs; return the new inputs."""
    return map_inputs(inputs, partial(map_arrays, function=change))
