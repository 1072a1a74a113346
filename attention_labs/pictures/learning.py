"""Pictures of the lab `learning-to-align`."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from attention_labs.pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    arrow,
    box,
    heatmap,
    join_largest,
    join_named,
    join_numbers,
    picture,
    plt,
)


@picture
def there_and_back():
    """Draw the forward pass, from words to a loss, and the backward pass, to four gradients."""
    figure, axes = plt.subplots(figsize=(9.2, 5))
    axes.set(xlim=(-1.1, 11), ylim=(-0.7, 5.2))
    axes.axis("off")
    boxes = {
        "queries": (0, 4.2, "queries\nof the French\nwords", BLUE),
        "keys": (0, 2.2, "keys\nof the English\nwords", BLUE),
        "values": (0, 0.2, "values\nof the English\nwords", BLUE),
        "weights": (3.2, 3.2, "attention\nweights", GREY),
        "contexts": (5.5, 1.7, "contexts", GREY),
        "logits": (7.6, 1.7, "logits", GREY),
        "output": (7.6, 4.2, "output\nmatrix", BLUE),
        "loss": (10, 1.7, "loss:\nwhich French\nword is it?", PURPLE),
    }
    for x, y, text, colour in boxes.values():
        box(axes, x, y, text, colour)
    steps = [
        ((0.8, 4.1), (2.6, 3.4)), ((0.8, 2.3), (2.6, 3.0)), ((3.75, 2.85), (4.95, 2.0)),
        ((0.8, 0.3), (4.85, 1.55)), ((6.0, 1.7), (7.1, 1.7)), ((7.6, 3.85), (7.6, 1.95)),
        ((8.1, 1.7), (9.25, 1.7)),
    ]  # fmt: skip
    for start, end in steps:
        # Each backward arrow runs beside its forward arrow, to the left of the forward direction.
        direction = np.subtract(end, start)
        aside = np.array([direction[1], -direction[0]]) * 0.17 / np.hypot(*direction)
        arrow(axes, tuple(start - aside), tuple(end - aside), lw=1.8)
        arrow(axes, tuple(end + aside), tuple(start + aside), lw=1.8, color=ORANGE, ls="--")
    handles = [
        plt.Line2D([], [], color=GREY, lw=1.8, label="forward pass: numbers"),
        plt.Line2D([], [], color=ORANGE, lw=1.8, ls="--", label="backward pass: gradients"),
        plt.Line2D(
            [], [], color=BLUE, lw=0, marker="s", ms=10, label="parameters (training changes them)"
        ),
    ]
    axes.legend(handles=handles, loc="lower right", frameon=False, bbox_to_anchor=(1, -0.04))
    return figure, (
        "A diagram. Solid arrows, the forward pass: queries of the French words and keys of the "
        "English words lead to attention weights; weights and values of the English words lead to "
        "contexts; contexts and an output matrix lead to logits, and these to the loss: which "
        "French word is it? Dashed arrows, the backward pass, run along every solid arrow in the "
        "opposite direction: from the loss to the logits, and on to all four arrays of parameters, "
        "which are queries, keys, values and output matrix."
    )


@picture
def slope(loss: Callable, at: float, step: float = 0.9):
    """Draw a curve, its tangent at one point, and the two points of a central difference."""
    figure, axes = plt.subplots(figsize=(6, 3.4))
    x = np.linspace(at - 3, at + 3, 200)
    axes.plot(x, [*map(loss, x)], color=BLUE, lw=2, label="loss")
    rise = (loss(at + 1e-5) - loss(at - 1e-5)) / 2e-5
    axes.plot(
        x,
        loss(at) + rise * (x - at),
        color=GREY,
        ls=":",
        lw=1.6,
        label=f"tangent, slope {_signed(rise)}",
    )
    ends = np.array([at - step, at + step])
    chord_slope = np.diff([*map(loss, ends)])[0] / (2 * step)
    axes.plot(
        ends,
        [*map(loss, ends)],
        "s--",
        color=ORANGE,
        lw=1.6,
        label=f"through two points, slope {_signed(chord_slope)}",
    )
    axes.set(xlabel="one logit", ylabel="loss (nats)", ylim=(min(0, loss(at) - 1.5), None))
    axes.legend()
    return figure, (
        f"A falling curve of the loss against one logit. At {at:g} its tangent has slope "
        f"{rise:.3f}; a straight line through the points {step:g} to the left and to the right "
        f"has slope {chord_slope:.3f}, nearly the same."
    )


def _signed(number: float) -> str:
    """Format a number with three decimals and a proper minus sign, as the axes show it."""
    return f"{number:.3f}".replace("-", "−")


@picture
def guess_minus_right(
    probabilities: np.ndarray,
    target: int,
    gradient: np.ndarray,
    classes: Sequence[str],
):
    """Draw a guess, the right answer and their difference, the gradient, as bars."""
    figure, panels = plt.subplots(1, 3, figsize=(8.4, 2.9), sharey=True)
    right = (np.arange(len(classes)) == target).astype(float)
    charts = {
        "prediction (p)": (probabilities, BLUE),
        "right answer (y)": (right, GREEN),
        "gradient (p − y)": (gradient, ORANGE),
    }
    for axes, (title, (heights, colour)) in zip(panels, charts.items()):
        bars = axes.bar(classes, heights, color=colour)
        axes.bar_label(bars, [*map(_signed, heights)], padding=2, color=GREY)
        axes.axhline(0, color=GREY, lw=0.8)
        axes.set(title=title, xlabel="class", ylim=(-0.85, 1.25))
    panels[0].set_ylabel("probability; gradient (nats)")
    description = "; ".join(
        f"{title}: {join_numbers(heights, '.3f')}" for title, (heights, _) in charts.items()
    )
    return figure, f"Three bar charts over the same classes. {description}."


@picture
def valley(paths: Mapping[str, np.ndarray], height: Callable):
    """Draw training's paths over a long, narrow valley, from above: points (steps, 2) by name."""
    figure, axes = plt.subplots(figsize=(7.6, 3.8))
    x, y = np.meshgrid(np.linspace(-9.5, 1.5, 160), np.linspace(-2.1, 2.1, 120))
    lines = axes.contour(
        x,
        y,
        height(x, y),
        levels=[0.3, 1.5, 4, 8, 14, 22, 34, 50],
        colors=GREY,
        linewidths=0.7,
    )
    # Leave out labels on the innermost contour lines, where the paths end.
    axes.clabel(
        lines,
        levels=[4, 8, 14, 22, 34, 50],
        fontsize=9,
        fmt=lambda level: f"height {level:g}",
    )
    styles = [(ORANGE, "o", "-"), (BLUE, "s", "-"), (PURPLE, "^", "-")]
    for (name, places), (colour, marker, line) in zip(paths.items(), styles):
        axes.plot(*places.T, marker=marker, ls=line, ms=4, lw=1.3, color=colour, label=name)
    axes.plot(0, 0, "*", ms=14, color=GREEN, label="lowest point")
    axes.set(xlabel="first parameter", ylabel="second parameter")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, framealpha=0)
    description = "; ".join(
        f"{name} begins at ({p[0, 0]:.1f}, {p[0, 1]:.1f}) and after {len(p) - 1} steps is at "
        f"({p[-1, 0]:.2f}, {p[-1, 1]:.2f})"
        for name, p in paths.items()
    )
    return figure, f"A long, narrow valley from above, lowest at (0, 0). {description}."


@picture
def emerging(stages: Mapping[str, np.ndarray], french: Sequence[str], english: Sequence[str]):
    """Draw heatmaps of one sentence below each other, by title, on one scale from 0 to 1."""
    figure, panels = plt.subplots(len(stages), 1, figsize=(7.4, 4.4 * len(stages)))
    descriptions = []
    for axes, (title, weights) in zip(np.atleast_1d(panels), stages.items()):
        heatmap(axes, weights, french, english, limits=(0, 1), title=title)
        axes.set(xlabel="English words (keys)", ylabel="French words (queries)")
        best = join_largest(weights, french, english)
        size = weights.max(axis=1)
        descriptions.append(
            f"{title}: row maxima from {size.min():.2f} to {size.max():.2f}; largest weights: {best}.",
        )
    return figure, "Heatmaps of attention weights on one scale from 0 to 1. " + " ".join(
        descriptions,
    )


@picture
def progress_made(
    losses: Sequence[float],
    shares: Mapping[int, float],
    levels: Mapping[str, float],
):
    """Draw the loss and the share of linked words found over the steps, with lines at `levels`."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.9))
    steps = np.arange(1, len(losses) + 1)
    left.plot(steps, losses, color=BLUE, lw=1)
    left.set(
        xlabel="step",
        ylabel="loss (nats a word)",
        ylim=(0, None),
        title="loss on the training sentences",
    )
    right.plot(list(shares), list(shares.values()), "o-", color=BLUE, ms=3, lw=1.4, label="learned")
    for (name, level), (colour, style) in zip(
        levels.items(),
        [(GREY, ":"), (ORANGE, "--"), (GREEN, "-.")],
    ):
        right.axhline(level, color=colour, ls=style, lw=1.6, label=f"{name}: {level:.0%}")
    right.set(
        xlabel="step",
        ylabel="share of linked words found",
        ylim=(0, 1),
        title="alignment of sentences never trained on",
    )
    from matplotlib.ticker import PercentFormatter

    right.yaxis.set_major_formatter(PercentFormatter(1))
    figure.legend(loc="outside lower right", ncols=4, frameon=False)
    for axes in (left, right):
        axes.grid()
    across = join_named(levels, levels.values(), ".0%")
    first, last = next(iter(shares.values())), list(shares.values())[-1]
    return figure, (
        f"Two curves over {len(losses)} steps. The loss falls from {losses[0]:.2f} to "
        f"{np.mean(losses[-20:]):.2f} nats. The share of linked words found goes from {first:.0%} "
        f"to {last:.0%}; lines across: {across}."
    )


@picture
def where_it_misses(counts: Mapping[str, tuple[int, int]], names: Sequence[str]):
    """Draw the number of wrongly aligned words of each kind, for two runs side by side."""
    figure, axes = plt.subplots(figsize=(7.4, 3))
    y = np.arange(len(counts))
    for offset, name, colour, run in ((-0.2, names[0], BLUE, 0), (0.2, names[1], ORANGE, 1)):
        bars = axes.barh(
            y + offset,
            [pair[run] for pair in counts.values()],
            height=0.36,
            color=colour,
            label=name,
        )
        axes.bar_label(bars, padding=3, color=GREY)
    axes.set_yticks(y, list(counts))
    axes.invert_yaxis()
    axes.set_xlabel("linked words missed")
    axes.margins(x=0.12)
    axes.legend(framealpha=0)
    description = "; ".join(f"{kind}: {a} and {b}" for kind, (a, b) in counts.items())
    return figure, f"Bars of the linked words missed, {names[0]} and {names[1]}. {description}."
