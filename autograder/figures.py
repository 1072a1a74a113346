"""Pictures for the labs: attention weights as a heatmap, and alt text for any figure."""

import base64
import io
from collections.abc import Sequence
from html import escape

import numpy as np


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

    Returns
    -------
    matplotlib.colorbar.Colorbar
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    weights = np.asarray(weights)
    low, high = limits or (weights.min(), weights.max())
    image = axes.imshow(weights, cmap="cividis", vmin=low, vmax=high, aspect="auto")
    axes.set_xticks(range(len(keys)), keys, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(queries)), queries)
    axes.set_xlabel("keys")
    axes.set_ylabel("queries")
    axes.set_title(title)
    middle = (low + high) / 2
    frames, inks = [], []
    for row, values in enumerate(weights):
        if mark and np.ptp(values) > 1e-12:
            best = int(np.argmax(values))
            frames.append(Rectangle((best - 0.44, row - 0.42), 0.88, 0.84))
            inks.append("black" if values[best] > middle else "white")
        if numbers:
            for column, value in enumerate(values):
                ink = "black" if value > middle else "white"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=8)
    if frames:
        axes.add_collection(PatchCollection(frames, facecolor="none", edgecolor=inks, lw=1.5))
    return axes.figure.colorbar(image, ax=axes, label="attention weight")


def show(figure, alt: str) -> None:
    """Display a matplotlib figure with its alt text, and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    alt : str
        What the picture shows, for those who cannot see it; printed where there are no pictures.
    """
    from IPython.display import display
    from matplotlib import pyplot

    picture = png(figure, 100)
    pyplot.close(figure)
    # As HTML, because JupyterLab gives a plain image/png output no alt text.
    display({"text/plain": alt, "text/html": image(picture, alt)}, raw=True)


def png(figure, dpi: int) -> bytes:
    """A figure as a PNG on white, with room for all its text.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    dpi : int
        Pixels an inch.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    buffer, about = io.BytesIO(), {"Software": None}
    if figure.get_layout_engine() is None:
        figure.savefig(buffer, dpi=dpi, bbox_inches="tight", facecolor="white", metadata=about)
    else:  # it fits already, and is drawn once: savefig goes through all its text twice
        figure.set(dpi=dpi, facecolor="white")
        FigureCanvasAgg(figure).print_png(buffer, metadata=about)
    return buffer.getvalue()


def image(png: bytes, alt: str) -> str:
    """A PNG as an HTML element that carries its own bytes and alt text."""
    return (
        f'<img alt="{escape(alt)}" style="max-width:100%;height:auto" '
        f'src="data:image/png;base64,{base64.b64encode(png).decode()}">'
    )
