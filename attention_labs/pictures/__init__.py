"""Pictures for the labs, one module per lab, and what they share, such as heatmaps and boxes.

A function that draws for a lab returns a figure and its alt text; the decorator `picture` makes it
show them. Figures have no background of their own, and text and lines in a grey that is legible on
white and on black, so that one picture suits a notebook's light and dark theme.
"""

import base64
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from html import escape
from importlib import import_module
from typing import Any

import numpy as np


class _WhenUsed:
    """A module that is imported only when it is used, so that labs and grading start sooner."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


plt: Any = _WhenUsed("matplotlib.pyplot")

# These colours can be told apart with every kind of colour vision. Their contrast with white and
# with #111 is 3 : 1 or more; that of GREY is 4.3 : 1.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#1f7ec2", "#d55e00", "#00906a", "#b3589a", "#7a7a7a"
COLOURS = "cividis"  # for weights and other numbers: even steps, for every kind of colour vision

STYLE = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "legend.facecolor": "none",
    "figure.constrained_layout.use": True,
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.35,
    "hatch.linewidth": 1.2,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
        GREY,
    ),
    **dict.fromkeys(("grid.color", "legend.edgecolor", "hatch.color"), GREY),
}


def picture(draw: Callable) -> Callable[..., None]:
    """Turn a function that returns a figure and its alt text into a function that shows both.

    The original function is its attribute ``__wrapped__``.
    """

    @wraps(draw)
    def show_picture(*args, **kwargs) -> None:
        with plt.rc_context(STYLE):
            show(*draw(*args, **kwargs))

    return show_picture


def heatmap(
    axes,
    weights: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    title: str = "",
    limits: tuple[float, float] | None = None,
    mark: bool = True,
    numbers: bool = False,
    hidden: np.ndarray | None = None,
):
    """Draw attention weights on `axes`: a row for each query, a column for each key.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    weights : numpy.ndarray, shape (L_q, L_k)
    queries, keys : sequences of str, lengths L_q and L_k
        The words at the rows and at the columns.
    title : str
    limits : (float, float), optional
        The weights at the ends of the colour scale; by default the smallest and the largest.
    mark : bool
        Put a frame around the largest weight of each row (none where a row is uniform).
    numbers : bool
        Write each weight into its cell.
    hidden : numpy.ndarray of bool, shape broadcasting to (L_q, L_k), optional
        True for a cell to hatch, because the query may not attend to the key.

    Returns
    -------
    matplotlib.colorbar.Colorbar
    """
    weights = np.asarray(weights)
    low, high = limits or (weights.min(), weights.max())
    image = axes.imshow(weights, cmap=COLOURS, vmin=low, vmax=high, aspect="auto")
    label_cells(axes, queries, keys)
    axes.set(xlabel="keys", ylabel="queries", title=title)
    middle = (low + high) / 2
    frames, inks = [], []
    for row, values in enumerate(weights):
        if mark and np.ptp(values) > 1e-12:
            best = int(np.argmax(values))
            frames.append(plt.Rectangle((best - 0.44, row - 0.42), 0.88, 0.84))
            inks.append("black" if values[best] > middle else "white")
        if numbers:
            for column, value in enumerate(values):
                ink = "black" if value > middle else "white"
                axes.text(
                    column,
                    row,
                    f"{value:.2f}",
                    ha="center",
                    va="center",
                    color=ink,
                    fontsize=9,
                )
    if frames:
        from matplotlib.collections import PatchCollection

        axes.add_collection(PatchCollection(frames, facecolor="none", edgecolor=inks, lw=1.5))
    if hidden is not None:
        for row, column in np.argwhere(np.broadcast_to(hidden, weights.shape)):
            cell = plt.Rectangle(
                (column - 0.5, row - 0.5),
                1,
                1,
                fill=False,
                lw=0,
                hatch="//",
                edgecolor=GREY,
            )
            axes.add_patch(cell)
    bar = axes.figure.colorbar(image, ax=axes, label="attention weight")
    bar.outline.set_visible(False)
    return bar


def mask_table(
    axes,
    mask: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    title: str,
    signs="×✓",
):
    """Draw a mask as a table on `axes`: full cells may be attended to, empty ones are hidden.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    mask : numpy.ndarray of bool, shape (L_q, L_k)
        True where a query may attend to a key.
    queries, keys : sequences of str, lengths L_q and L_k
    title : str
    signs : two characters
        Text of a hidden cell, and of one that may be attended to.
    """
    mask = np.asarray(mask, dtype=bool)
    for (row, column), visible in np.ndenumerate(mask):
        colour, ink = (BLUE, "white") if visible else ("none", GREY)
        place = (column - 0.46, row - 0.46), 0.92, 0.92
        axes.add_patch(
            plt.Rectangle(*place, facecolor=colour, edgecolor=BLUE if visible else GREY, lw=0.8),
        )
        axes.text(
            column,
            row,
            signs[int(visible)],
            ha="center",
            va="center",
            color=ink,
            fontsize=12,
        )
    axes.set(xlim=(-0.55, mask.shape[1] - 0.45), ylim=(mask.shape[0] - 0.45, -0.55), aspect="equal")
    label_cells(axes, queries, keys)
    axes.set(xlabel="keys", ylabel="queries", title=title)


def label_cells(axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Label the rows and the columns of a table or heatmap with words, the columns slanted."""
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.spines[:].set_visible(False)


def format_table_rows(counts: Mapping[str, Iterable[int]]) -> str:
    """Format the numbers of several titled tables as a text for readers who cannot see the picture.

    >>> format_table_rows({"causal": [1, 2], "both": [1, 1]})
    'causal, 1, 2; both, 1, 1'
    """
    parts = []
    for title, row in counts.items():
        parts.append(f"{title}, {join_numbers(map(int, row))}")
    return "; ".join(parts)


def join_numbers(numbers: Iterable, form: str = "") -> str:
    """Format numbers as a text for readers who cannot see the picture.

    >>> join_numbers([1, 0.5], ".2f")
    '1.00, 0.50'
    """
    return ", ".join(format(number, form) for number in numbers)


def join_named(names: Iterable, numbers: Iterable, form: str) -> str:
    """Format names with a number each as a text for readers who cannot see the picture.

    >>> join_named(["le", "chat"], [1, 0.5], ".2f")
    'le 1.00, chat 0.50'
    """
    return ", ".join(f"{name} {number:{form}}" for name, number in zip(names, numbers))


def join_largest(weights: np.ndarray, queries: Iterable[str], keys: Sequence[str]) -> str:
    """Format each query with its strongest key as a text for readers who cannot see the picture.

    >>> join_largest(np.eye(2), ["le", "chat"], ["the", "cat"])
    'le → the, chat → cat'
    """
    pairs = zip(queries, weights.argmax(axis=1))
    return ", ".join(f"{query} → {keys[key]}" for query, key in pairs)


def box(axes, x: float, y: float, text: str, colour: str):
    """Draw white text on a rounded box; return the text object, which also holds the box."""
    style = {"boxstyle": "round,pad=0.5", "facecolor": colour, "edgecolor": "none"}
    return axes.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        color="white",
        linespacing=1.4,
        bbox=style,
    )


def arrow(
    axes,
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    head: str = "-|>",
    **style,
) -> None:
    """Draw an arrow, by default a grey one, from one point to another."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": head, "color": GREY, **style})


def show(figure, alt: str) -> None:
    """Display a matplotlib figure with its alt text, and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    alt : str
        Description for readers who cannot see the picture; printed without a notebook.
    """
    from IPython.display import display

    content = png(figure, 100)
    plt.close(figure)
    # JupyterLab gives a plain picture (image/png) no alt text. So display the picture as HTML.
    display({"text/plain": alt, "text/html": image(content, alt)}, raw=True)


def png(figure, dpi: int) -> bytes:
    """Return a figure as the bytes of a PNG picture that is large enough for all its text.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    dpi : int
        Pixels per inch.
    """
    buffer, metadata = io.BytesIO(), {"Software": None}
    if figure.get_layout_engine() is None:
        figure.savefig(
            buffer,
            dpi=dpi,
            bbox_inches="tight",
            facecolor=figure.get_facecolor(),
            metadata=metadata,
        )
    else:  # the layout fits already: draw once, where savefig draws twice
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figure.set(dpi=dpi)
        FigureCanvasAgg(figure).print_png(buffer, metadata=metadata)
    return buffer.getvalue()


def image(png: bytes, alt: str) -> str:
    """Return a PNG picture as an HTML element that holds its bytes and its alt text."""
    return (
        f'<img alt="{escape(alt)}" style="max-width:100%;height:auto" '
        f'src="data:image/png;base64,{base64.b64encode(png).decode()}">'
    )
