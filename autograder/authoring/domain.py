"""Where an exercise's answers must be right, and the edges of it that every answer is asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from autograder.judging.kinds import arrays_in, as_value, changed, mapped_inputs, short
from autograder.judging.question import Inputs, Made, Value, arranged

Sizes = tuple[int, int]
Edge = tuple[str, Value]

USUAL = (2, 6)  # the sizes that an axis has in most cases
LARGE = 16  # the size of every axis, where all are large
_SOMEWHERE = 5  # draws from a domain that has no edges
_LAYOUTS = {"F": "arrays in Fortran's order", "strided": "slices with gaps"}


@dataclass(frozen=True)
class Domain:
    """What `Exercise.domain` says."""

    sizes: Mapping[str, Sizes]
    flags: Mapping[str, Sequence[Value]]
    magnitudes: Sequence[float]
    dtypes: Sequence[str]
    layouts: bool
    draw: Callable[..., Inputs]
    steady: bool = False

    def arguments(self) -> set[str]:
        """What `draw` is called with beside the generator."""
        return {*self.sizes, *self.flags, *(["magnitude"] if self.magnitudes else [])}

    def edges(self, rng: np.random.Generator, corners: bool = False) -> list[tuple[str, Inputs, Edge]]:
        """Inputs at each edge, all else being usual: (label, inputs, edge).

        Parameters
        ----------
        corners : bool
            Also ask two edges together, as the grader does.
        """
        if self.steady and not corners:
            return replace(self, steady=False).edges(rng)
        drawn = [
            (label, self._point(rng, **{name: value}), (name, as_value(value)))
            for label, name, value in self._edges()
        ]
        drawn += self._laid_out(rng)
        if corners:
            drawn += self._corners(rng)
            if not self.sizes and not self.flags:  # no edges, so only places in between
                drawn += [("somewhere in it", self._point(rng), ("anywhere", "")) for _ in range(_SOMEWHERE)]
        return drawn

    def _laid_out(self, rng: np.random.Generator, **edge: Any) -> Iterator[tuple[str, Inputs, Edge]]:
        """Inputs whose arrays do not lie in one piece in memory."""
        for layout, label in _LAYOUTS.items() if self.layouts else ():
            given = self._point(rng, **edge)
            arrays = arrays_in((*given.args, *given.kwargs.values()))
            if any(a.ndim > (1 if layout == "F" else 0) for a in arrays):
                yield label, _changed(given, partial(arranged, layout=layout)), (label, "")

    def _corners(self, rng: np.random.Generator) -> Iterator[tuple[str, Inputs, Edge]]:
        """Two edges at once: a flag's unusual value with all else, and everything large together."""
        for name, values in self.flags.items():
            for value in values[1:]:
                also = f", {name} = {_shown(value)}"
                for axis, (low, high) in self.sizes.items():
                    for size in sorted({max(low, min(1, high)), high}):
                        given = self._point(rng, **{name: value, axis: size})
                        yield f"{axis} = {size}{also}", given, (axis, size)
                for label, given, edge in self._laid_out(rng, **{name: value}):
                    yield f"{label}{also}", given, edge
        small = {name: low for name, (low, _) in self.sizes.items()}
        if small:
            yield "all sizes smallest", self._point(rng, **small), ("all sizes smallest", "")
        large = {name: min(max(low, LARGE), high) for name, (low, high) in self.sizes.items()}
        for magnitude in self.magnitudes or (None,):
            point = large if magnitude is None else {**large, "magnitude": magnitude}
            yield "all sizes large", self._point(rng, **point), ("all sizes large", "")

    def _edges(self) -> Iterator[tuple[str, str, Value]]:
        for name, (low, high) in self.sizes.items():
            for size in sorted({low, high, *(n for n in (1, 2) if low <= n <= high)}):
                yield f"{name} = {size}", name, size
        for name, values in self.flags.items():
            for value in values:
                yield f"{name} = {_shown(value)}", name, value
        for magnitude in self.magnitudes[1:]:
            yield f"numbers as large as {magnitude:g}", "magnitude", magnitude
        for dtype in self.dtypes[1:]:
            yield f"{dtype} numbers", "dtype", dtype

    def _point(self, rng: np.random.Generator, **edge: Any) -> Inputs:
        given: dict[str, Any] = {}
        taken = list(edge.values())
        chance = np.random.default_rng(0) if self.steady else rng
        for name, (low, high) in self.sizes.items():
            above = max(low, USUAL[0])  # an axis that begins above the usual sizes has its own first ones
            usual = range(above, min(high, max(USUAL[1], above) + len(self.sizes) - 1) + 1)
            fitting = [n for n in usual if n not in taken] or [min(above, high)]
            # What rng.choice takes five times as long for.
            given[name] = fitting[chance.integers(len(fitting))]
            taken.append(given[name])
        given |= {name: values[0] for name, values in self.flags.items()}
        if self.magnitudes:
            given["magnitude"] = self.magnitudes[0]
        dtype = self.dtypes[0] if self.dtypes else None
        if "dtype" not in self.flags:  # else it is an argument like any other
            dtype = edge.pop("dtype", dtype)
        drawn = self.draw(rng, **{**given, **edge})
        if dtype is None:
            return drawn
        return _changed(drawn, lambda a: a.astype(dtype) if a.dtype.kind == "f" else a)


def _shown(value: Value) -> Value:
    return short(as_value(value)) if callable(value) or isinstance(value, Made) else value


def _changed(given: Inputs, change: Callable[[np.ndarray], np.ndarray]) -> Inputs:
    """The inputs with each array in them changed."""
    return mapped_inputs(given, partial(changed, change=change))
