"""A figure's data: its lines, points, bars, images and texts as plain values, and where they differ from what is due.

Nothing is compared that the solution's own figure leaves out: without a title there, any title is right.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from autograder.errors import counted, cut, listed
from autograder.judging.mistakes import Difference
from autograder.judging.wording import are_due, placed

MOST = 100  # plots in a figure, and things of a kind in a plot
TEXTS = {
    "title": "title",
    "x": "label of the x axis",
    "y": "label of the y axis",
    "x scale": "scale of the x axis",
    "y scale": "scale of the y axis",
}
# Each kind of thing with its plural, and what its arrays hold.
SERIES = {
    "line": ("lines", ("x", "y")),
    "group of points": ("groups of points", ("x", "y")),
    "group of bars": ("groups of bars", ("places", "lengths")),
    "image": ("images", ("numbers",)),
}
LIMITS = ("x limits", "y limits")
LISTS = ("legend", "x ticks", "y ticks")
_NAMES = {"legend": "legend", "x ticks": "x axis", "y ticks": "y axis"}

Numbers = tuple[np.ndarray, ...]
Compare = Callable[[np.ndarray, np.ndarray, str], Difference | None]


class NoDrawing(ValueError):
    """These are no data of a figure."""


@dataclass(frozen=True)
class Drawing:
    """What a figure shows.

    Parameters
    ----------
    plots : list of dict
        One for each Axes: texts under the names in `TEXTS` ("" if there is none), a list of tuples of float64 arrays
        under those in `SERIES`, two numbers or None under those in `LIMITS`, lists of texts under those in `LISTS`.
    """

    plots: list[dict[str, Any]]

    @classmethod
    def of_plain(cls, plain: Any) -> "Drawing":
        """From what travelled; raises NoDrawing for what no figure gives."""
        if not isinstance(plain, list) or len(plain) > MOST or not all(map(_is_plot, plain)):
            raise NoDrawing("no data of a figure")
        return cls(plain)

    def difference(self, value: "Drawing", compare: Compare) -> Difference | None:
        """The first thing in which a figure is not as this one; `compare` is for two arrays and what they are."""
        many = len(self.plots)
        if not value.plots:
            return Difference("nothing", "Your function drew nothing.")
        if len(value.plots) != many:
            seen = f"Your figure has {counted(len(value.plots), 'plot')}; {are_due(many)}."
            return Difference("shape", seen)
        for number, (due, came) in enumerate(zip(self.plots, value.plots, strict=True)):
            place = f"In plot {number + 1} of {many}: " if many > 1 else ""
            found = next(_differences(due, came, place, compare), None)
            if found:
                return found
        return None


def _is_plot(plot: Any) -> bool:
    if not isinstance(plot, dict) or plot.keys() != {*TEXTS, *SERIES, *LIMITS, *LISTS}:
        return False
    lists = [plot[name] for name in (*SERIES, *LISTS)]
    return (
        all(isinstance(things, list) for things in lists)
        and all(_is_thing(thing, parts) for kind, (_, parts) in SERIES.items() for thing in plot[kind])
        and all(isinstance(text, str) for name in LISTS for text in plot[name])
        and all(isinstance(plot[name], str) for name in TEXTS)
        and all(plot[name] is None or _is_pair(plot[name]) for name in LIMITS)
    )


def _is_pair(limits: Any) -> bool:
    return isinstance(limits, tuple) and len(limits) == 2 and all(type(part) is float for part in limits)


def _is_thing(thing: Any, parts: Sequence[str]) -> bool:
    """Whether it has such arrays, and as many numbers in each."""
    return (
        isinstance(thing, tuple)
        and len(thing) == len(parts)
        and all(isinstance(part, np.ndarray) and part.dtype == np.float64 for part in thing)
        and len({part.shape for part in thing}) == 1
    )


def _differences(
    due: Mapping[str, Any], came: Mapping[str, Any], place: str, compare: Compare
) -> Iterator[Difference]:
    says = partial(placed, place)
    for kind, (kinds, parts) in SERIES.items():
        if not due[kind]:
            continue
        if len(due[kind]) != len(came[kind]):
            has = counted(len(came[kind]), kind, kinds)
            yield Difference("shape", says(f"Your figure has {has}; {are_due(len(due[kind]))}."))
            return
        if unlike := _unlike(due[kind], came[kind], compare):
            at, (wanted, got) = unlike
            alone = len(due[kind]) == 1
            name = f"the {kind.removeprefix('group of ')}" if alone else f"{kind} {at + 1}"
            for part, one, other in zip(parts, wanted, got, strict=True):
                if found := compare(one, other, says(f"The {part} of {name}: ")):
                    yield found
    for name, what in TEXTS.items():
        if due[name] and due[name] != came[name]:
            yield Difference(
                "values", says(f"The {what} is {cut(repr(came[name]), 80)}; {due[name]!r} is due.")
            )
    for name in LISTS:
        lacking = Counter(due[name]) - Counter(came[name])
        if lacking:
            has = listed([cut(repr(text), 40) for text in came[name][:9]]) or "no texts"
            text = cut(repr(next(iter(lacking))), 40)
            yield Difference("values", says(f"The {_NAMES[name]} has {has}; {text} is missing."))
    for name in LIMITS:
        if due[name] and (
            came[name] is None or not np.allclose(due[name], came[name], rtol=1e-6, atol=1e-12)
        ):
            low, high = due[name]
            yours = (
                "has limits that were not set"
                if came[name] is None
                else "goes from {:g} to {:g}".format(*came[name])
            )
            yield Difference("values", says(f"The {name[0]} axis {yours}; {low:g} to {high:g} is due."))


def _unlike(
    due: Sequence[Numbers], came: Sequence[Numbers], compare: Compare
) -> tuple[int, tuple[Numbers, Numbers]] | None:
    """The first thing that is due and did not come, wherever it stands, and what stands in its place."""
    left, missing = list(range(len(came))), []
    for at, thing in enumerate(due):
        like = (
            i for i in left if all(compare(a, b, "") is None for a, b in zip(thing, came[i], strict=True))
        )
        found = next(like, None)
        if found is None:
            missing.append(at)
        else:
            left.remove(found)
    if not missing:
        return None
    at = missing[0]
    return at, (due[at], came[at if at in left else left[0]])


# Taking the data from a figure: in the process in which the answer runs


def drawn(function: Callable, *args: Any, **kwargs: Any) -> Drawing:
    """What a call draws: in the figure, or the figure of the Axes, that it returns, else in pyplot's own.

    Figures that it opens are closed, and `show` waits for nobody.
    """
    from matplotlib import pyplot

    before, show = set(pyplot.get_fignums()), pyplot.show
    pyplot.figure()
    try:
        pyplot.show = lambda *_, **__: None  # a notebook's would close the figure
        result = function(*args, **kwargs)
        figure = _figure_in(result)
        return Drawing([_plot(axes) for axes in (figure or pyplot.gcf()).axes[:MOST]])
    finally:
        pyplot.show = show
        for number in set(pyplot.get_fignums()) - before:
            pyplot.close(number)


def _figure_in(result: Any) -> Any:
    """The first figure in what a call returned, or that of the first Axes; None if there is none."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    parts: Iterable = [result]
    if isinstance(result, (tuple, list, np.ndarray)):
        parts = result.flat if isinstance(result, np.ndarray) else result
    for part in islice(parts, MOST):
        if isinstance(part, Figure):
            return part
        if isinstance(part, Axes):
            return part.figure
        if isinstance(part, (np.ndarray, list, tuple)) and (found := _figure_in(part)):
            return found
    return None


def _plot(axes: Any) -> dict[str, Any]:
    lines = [line for line in axes.lines[:MOST] if len(line.get_xdata())]
    dots = [line for line in lines if line.get_linestyle() in ("None", " ", "")]
    scattered = [
        part.get_offsets() for part in axes.collections[:MOST] if type(part).__name__ == "PathCollection"
    ]
    legend = axes.get_legend()
    return {
        "title": axes.get_title().strip(),
        "x": axes.get_xlabel().strip(),
        "y": axes.get_ylabel().strip(),
        "x scale": axes.get_xscale(),
        "y scale": axes.get_yscale(),
        "line": [_numbers(*line.get_data(orig=False)) for line in lines if line not in dots],
        "group of points": [_numbers(*line.get_data(orig=False)) for line in dots]
        + [_numbers(points[:, 0], points[:, 1]) for points in scattered],
        "group of bars": [
            _bars(part) for part in axes.containers[:MOST] if type(part).__name__ == "BarContainer"
        ],
        "image": [_numbers(image.get_array()) for image in axes.images[:MOST]],
        "x limits": None if axes.get_autoscalex_on() else _limits(axes.get_xlim()),
        "y limits": None if axes.get_autoscaley_on() else _limits(axes.get_ylim()),
        "legend": [text.get_text().strip() for text in legend.get_texts()[:MOST]] if legend else [],
        "x ticks": _ticks(axes.xaxis),
        "y ticks": _ticks(axes.yaxis),
    }


def _limits(pair: Any) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


def _numbers(*arrays: Any) -> Numbers:
    return tuple(np.ma.filled(np.ma.asarray(array, np.float64), np.nan) for array in arrays)


def _bars(container: Any) -> Numbers:
    """The middles of bars, in order, and how long they are."""
    lying = getattr(container, "orientation", "vertical") == "horizontal"
    found = [
        (bar.get_y() + bar.get_height() / 2, bar.get_width())
        if lying
        else (bar.get_x() + bar.get_width() / 2, bar.get_height())
        for bar in container.patches
    ]
    positions, lengths = zip(*sorted(found), strict=True) if found else ((), ())
    return _numbers(positions, lengths)


def _ticks(axis: Any) -> list[str]:
    """The texts at an axis where they are words that were given, and no numbers of Matplotlib's own."""
    given = type(axis.get_major_formatter()).__name__ in ("FixedFormatter", "StrCategoryFormatter")
    return [text.get_text() for text in axis.get_ticklabels()[:MOST]] if given else []
