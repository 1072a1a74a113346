"""Read a Matplotlib figure as plain data (lines, bars, images, texts), and compare two figures.

Only what the reference solution's figure has is compared. If that figure has no title, for example,
the student's figure may have any title.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from autograder.core.text_format import format_count, join_words, truncate
from autograder.values.common_mistakes import Difference
from autograder.values.wording import prefix_place

MAX_ITEMS = 100  # Axes in a figure, and items of one kind (such as lines) in one Axes
TEXTS = {
    "title": "title",
    "x": "label of the x axis",
    "y": "label of the y axis",
    "x scale": "scale of the x axis",
    "y scale": "scale of the y axis",
}
# Kinds of data in a plot. For each: its plural in sentences, and the names of its arrays.
SERIES = {
    "line": ("lines", ("x", "y")),
    "group of points": ("groups of points", ("x", "y")),
    "group of bars": ("groups of bars", ("places", "lengths")),
    "image": ("images", ("numbers",)),
}
LIMITS = ("x limits", "y limits")
LISTS = {"legend": "legend", "x ticks": "x axis", "y ticks": "y axis"}

Series = tuple[np.ndarray, ...]
CompareArrays = Callable[[np.ndarray, np.ndarray, str], Difference | None]


class InvalidDrawing(ValueError):
    """Error for decoded data that are not the data of a figure."""


@dataclass(frozen=True)
class Drawing:
    """The data of a Matplotlib figure as plain data, with a dict for each of its plots (Axes).

    Parameters
    ----------
    plots : list of dict
        One dict for each Axes. Under the keys of `TEXTS` it holds texts ("" for none), under those
        of `SERIES` lists of tuples of float64 arrays, under those of `LIMITS` two numbers or None,
        and under those of `LISTS` lists of texts.
    """

    plots: list[dict[str, Any]]

    @classmethod
    def from_plain(cls, plain: Any) -> "Drawing":
        """Make a drawing from decoded data; raise InvalidDrawing if the data describe no figure."""
        if (
            not isinstance(plain, list)
            or len(plain) > MAX_ITEMS
            or not all(map(_is_valid_plot, plain))
        ):
            raise InvalidDrawing("no data of a figure")
        return cls(plain)

    def find_difference(self, value: "Drawing", compare: CompareArrays) -> Difference | None:
        """Return the first difference of a student's figure from this expected one; or None.

        `compare` compares two arrays. Its third argument is the beginning of the sentence about
        them, such as "The x of line 1: ".
        """
        count = len(self.plots)
        if not value.plots:
            return Difference("nothing", "Your function drew nothing.")
        if len(value.plots) != count:
            plots = format_count(len(value.plots), "plot")
            return Difference("shape", f"Your figure has {plots}; expected {count}.")
        pairs = zip(self.plots, value.plots, strict=True)
        for number, (expected, plot) in enumerate(pairs, start=1):
            place = f"In plot {number} of {count}: " if count > 1 else ""
            for difference in _plot_differences(expected, plot, place, compare):
                return difference
        return None


def _is_valid_plot(plot: Any) -> bool:
    if not isinstance(plot, dict) or plot.keys() != {*TEXTS, *SERIES, *LIMITS, *LISTS}:
        return False
    return (
        all(isinstance(plot[name], str) for name in TEXTS)
        and all(_is_series_list(plot[name], len(parts)) for name, (_, parts) in SERIES.items())
        and all(plot[name] is None or _is_pair(plot[name]) for name in LIMITS)
        and all(_is_text_list(plot[name]) for name in LISTS)
    )


def _is_text_list(texts: Any) -> bool:
    return isinstance(texts, list) and all(isinstance(text, str) for text in texts)


def _is_pair(limits: Any) -> bool:
    if not isinstance(limits, tuple) or len(limits) != 2:
        return False
    return all(type(limit) is float for limit in limits)


def _is_series_list(items: Any, array_count: int) -> bool:
    return isinstance(items, list) and all(_is_series(item, array_count) for item in items)


def _is_series(item: Any, array_count: int) -> bool:
    """Return True for a tuple of `array_count` arrays of floats, all of one shape."""
    if not isinstance(item, tuple) or len(item) != array_count:
        return False
    if not all(isinstance(array, np.ndarray) and array.dtype == np.float64 for array in item):
        return False
    return len({array.shape for array in item}) == 1


def _plot_differences(
    expected: Mapping[str, Any], plot: Mapping[str, Any], place: str, compare: CompareArrays
) -> Iterator[Difference]:
    locate = partial(prefix_place, place)
    for kind in SERIES:
        if not expected[kind]:
            continue
        if len(expected[kind]) != len(plot[kind]):
            series = format_count(len(plot[kind]), kind, SERIES[kind][0])
            sentence = f"Your figure has {series}; expected {len(expected[kind])}."
            yield Difference("shape", locate(sentence))
            return
        yield from _series_differences(kind, expected[kind], plot[kind], locate, compare)
    for sentence in _describe_text_differences(expected, plot):
        yield Difference("values", locate(sentence))
    for sentence in _describe_limit_differences(expected, plot):
        yield Difference("values", locate(sentence))


def _series_differences(
    kind: str,
    expected: Sequence[Series],
    items: Sequence[Series],
    locate: Callable[[str], str],
    compare: CompareArrays,
) -> Iterator[Difference]:
    match = _find_first_missing_series(expected, items, compare)
    if match is None:
        return
    index, expected_arrays, arrays = match
    name = f"{kind} {index + 1}"
    if len(expected) == 1:
        name = f"the {kind.removeprefix('group of ')}"
    parts = zip(SERIES[kind][1], expected_arrays, arrays, strict=True)
    for part, expected_array, array in parts:
        difference = compare(expected_array, array, locate(f"The {part} of {name}: "))
        if difference:
            yield difference


def _describe_text_differences(
    expected: Mapping[str, Any], plot: Mapping[str, Any]
) -> Iterator[str]:
    for name, description in TEXTS.items():
        if expected[name] and expected[name] != plot[name]:
            text = truncate(repr(plot[name]), 80)
            yield f"The {description} is {text}; expected {expected[name]!r}."
    for name, description in LISTS.items():
        missing = Counter(expected[name]) - Counter(plot[name])
        if missing:
            texts = join_words([truncate(repr(text), 40) for text in plot[name][:9]]) or "no texts"
            text = truncate(repr(next(iter(missing))), 40)
            yield f"The {description} has {texts}; {text} is missing."


def _describe_limit_differences(
    expected: Mapping[str, Any], plot: Mapping[str, Any]
) -> Iterator[str]:
    for name in LIMITS:
        limits = plot[name]
        if not expected[name]:
            continue
        if limits is None:
            limits_text = "has limits that were not set"
        elif np.allclose(expected[name], limits, rtol=1e-6, atol=1e-12):
            continue
        else:
            limits_text = "goes from {:g} to {:g}".format(*limits)
        low, high = expected[name]
        yield f"The {name[0]} axis {limits_text}; expected {low:g} to {high:g}."


def _find_first_missing_series(
    expected: Sequence[Series], items: Sequence[Series], compare: CompareArrays
) -> tuple[int, Series, Series] | None:
    """Find the first expected line, group of bars or the like that a student's figure lacks.

    The order of the series does not matter. Return the index of the expected series, the series,
    and the student's series to compare it with. Return None if no series is missing.
    """
    candidates, missing = list(range(len(items))), []
    for index, expected_item in enumerate(expected):
        for i in candidates:
            pairs = zip(expected_item, items[i], strict=True)
            if all(compare(expected_array, array, "") is None for expected_array, array in pairs):
                candidates.remove(i)
                break
        else:
            missing.append(index)
    if not missing:
        return None
    index = missing[0]
    item = items[index if index in candidates else candidates[0]]
    return index, expected[index], item


# The functions below read a figure's data in the process that runs the student's function.


def capture_drawing(function: Callable, *args: Any, **kwargs: Any) -> Drawing:
    """Call a student's function, and return the data of the figure that it draws.

    The figure is the one that the function returns, or the figure of the Axes that it returns, or
    else pyplot's current figure. Figures that the call opens are closed, and `show` does nothing.
    """
    from matplotlib import pyplot

    open_figures, show = set(pyplot.get_fignums()), pyplot.show
    pyplot.figure()
    try:
        pyplot.show = lambda *_, **__: None  # the `show` of a notebook would close the figure
        result = function(*args, **kwargs)
        figure = _find_figure_in_result(result) or pyplot.gcf()
        return Drawing([_extract_plot(axes) for axes in figure.axes[:MAX_ITEMS]])
    finally:
        pyplot.show = show
        for number in set(pyplot.get_fignums()) - open_figures:
            pyplot.close(number)


def _find_figure_in_result(result: Any) -> Any:
    """Return the figure that a result holds, directly or by its Axes; None if it holds none."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    parts: Iterable = [result]
    if isinstance(result, np.ndarray):
        parts = result.flat
    elif isinstance(result, (tuple, list)):
        parts = result
    for part in islice(parts, MAX_ITEMS):
        if isinstance(part, Figure):
            return part
        if isinstance(part, Axes):
            return part.figure
        if isinstance(part, (np.ndarray, list, tuple)):
            figure = _find_figure_in_result(part)
            if figure:
                return figure
    return None


def _extract_plot(axes: Any) -> dict[str, Any]:
    """Return the data of one plot (Axes) as a dict: texts, lines, bars, images and ticks."""
    return {
        "title": axes.get_title().strip(),
        "x": axes.get_xlabel().strip(),
        "y": axes.get_ylabel().strip(),
        "x scale": axes.get_xscale(),
        "y scale": axes.get_yscale(),
        **_extract_lines_and_points(axes),
        "group of bars": _extract_bar_groups(axes),
        "image": [_to_float64(image.get_array()) for image in axes.images[:MAX_ITEMS]],
        "x limits": None if axes.get_autoscalex_on() else _limits(axes.get_xlim()),
        "y limits": None if axes.get_autoscaley_on() else _limits(axes.get_ylim()),
        "legend": _legend_texts(axes.get_legend()),
        "x ticks": _custom_tick_labels(axes.xaxis),
        "y ticks": _custom_tick_labels(axes.yaxis),
    }


def _extract_lines_and_points(axes: Any) -> dict[str, list[Series]]:
    """Return the lines and the groups of points in one plot (Axes).

    Scatter plots and lines without a line style are groups of points.
    """
    lines: list[Series] = []
    points: list[Series] = []
    for line in axes.lines[:MAX_ITEMS]:
        if not len(line.get_xdata()):
            continue
        series = _to_float64(*line.get_data(orig=False))
        if line.get_linestyle() in ("None", " ", ""):
            points.append(series)
        else:
            lines.append(series)
    for collection in axes.collections[:MAX_ITEMS]:
        if type(collection).__name__ == "PathCollection":
            offsets = collection.get_offsets()
            points.append(_to_float64(offsets[:, 0], offsets[:, 1]))
    return {"line": lines, "group of points": points}


def _legend_texts(legend: Any) -> list[str]:
    if not legend:
        return []
    return [text.get_text().strip() for text in legend.get_texts()[:MAX_ITEMS]]


def _limits(pair: Any) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


def _to_float64(*arrays: Any) -> Series:
    """Convert arrays to float64, with NaN in place of masked numbers."""
    return tuple(np.ma.filled(np.ma.asarray(array, np.float64), np.nan) for array in arrays)


def _extract_bar_groups(axes: Any) -> list[Series]:
    """Return two arrays for each group of bars: the sorted centres, and the lengths of the bars."""
    groups = []
    for container in axes.containers[:MAX_ITEMS]:
        if type(container).__name__ != "BarContainer":
            continue
        bars = []
        for bar in container.patches:
            if getattr(container, "orientation", "vertical") == "horizontal":
                bars.append((bar.get_y() + bar.get_height() / 2, bar.get_width()))
            else:
                bars.append((bar.get_x() + bar.get_width() / 2, bar.get_height()))
        bars.sort()
        centers = [center for center, _ in bars]
        groups.append(_to_float64(centers, [length for _, length in bars]))
    return groups


def _custom_tick_labels(axis: Any) -> list[str]:
    """Return the labels of an axis's ticks if the student's code set them; [] otherwise."""
    formatter = type(axis.get_major_formatter()).__name__
    if formatter not in ("FixedFormatter", "StrCategoryFormatter"):
        return []
    return [text.get_text() for text in axis.get_ticklabels()[:MAX_ITEMS]]
