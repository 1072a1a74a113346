"""Pictures of the lab `tiny-transformer`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from inspect import unwrap
from itertools import pairwise

import numpy as np

from attention_labs.pictures import (
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    arrow,
    box,
    heatmap,
    join_named,
    join_numbers,
    picture,
    plt,
)


@picture
def model():
    """Draw a model of two blocks, and one block: the residual stream and its two branches."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 5.4))
    for axes, title in ((left, "the model"), (right, "one block")):
        axes.set(xlim=(0, 10), ylim=(0, 12), title=title)
        axes.set_axis_off()
    steps = [
        (0.8, "tokens (batch, L)", GREY),
        (2.9, "token vectors + position vectors", BLUE),
        (5.0, "block 0", PURPLE),
        (7.1, "block 1, …", PURPLE),
        (9.2, "layer norm", GREEN),
        (11.3, "logits (batch, L, vocabulary)", ORANGE),
    ]
    for (low, _, _), (high, _, _) in pairwise(steps):
        arrow(left, (5, low + 0.55), (5, high - 0.55))
    for height, text, colour in steps:
        box(left, 5, height, text, colour)
    arrow(right, (2.2, 0.2), (2.2, 11.8), lw=3)
    right.text(1.8, 5.9, "the stream x", rotation=90, ha="right", va="center")
    for low, norm, part, colour in (
        (1.4, "layer norm 1", "attention", BLUE),
        (6.9, "layer norm 2", "feed-forward", ORANGE),
    ):
        right.plot([2.2, 6.6], [low - 0.6, low - 0.6], color=GREY, lw=1.4)
        arrow(right, (6.6, low - 0.65), (6.6, low + 0.15))
        box(right, 6.6, low + 0.7, norm, GREEN)
        arrow(right, (6.6, low + 1.25), (6.6, low + 1.95))
        box(right, 6.6, low + 2.5, part, colour)
        right.plot([6.6, 6.6], [low + 3.05, low + 3.7], color=GREY, lw=1.4)
        arrow(right, (6.65, low + 3.7), (2.65, low + 3.7))
        right.text(
            2.2,
            low + 3.7,
            "+",
            ha="center",
            va="center",
            color="white",
            fontsize=14,
            bbox={"boxstyle": "circle,pad=0.15", "facecolor": GREY, "edgecolor": "none"},
        )
    return figure, (
        "Left: the model as a chain. Tokens become token vectors plus position vectors, go "
        "through block 0, block 1 and so on, then through a layer norm, and become logits. Right: "
        "one block. A stream x passes straight through. A first branch leaves it, goes through "
        "layer norm 1 and attention, and is added to it again; a second branch does the same "
        "through layer norm 2 and the feed-forward."
    )


@picture
def bends(gelu: Mapping[str, np.ndarray], z: np.ndarray):
    """Draw curves over z by name, such as ReLU and GELU; the first is drawn strongest."""
    figure, axes = plt.subplots(figsize=(5.6, 3.2))
    for (name, values), colour, style in zip(gelu.items(), (BLUE, ORANGE), ("-", "--")):
        axes.plot(z, values, style, color=colour, label=name, lw=2)
    axes.set(xlabel="z", ylabel="what becomes of z")
    axes.grid(True)
    axes.legend()
    return figure, (
        "Two curves that agree far from 0: nearly 0 for large negative z, nearly z for large "
        "positive z. ReLU has a sharp corner at 0; GELU goes round it smoothly and dips a little "
        "below 0, to about -0.17 near z = -0.75."
    )


@picture
def sizes(models: Mapping[str, Mapping[str, int]]):
    """Draw which share of the parameters is in which part, for some models."""
    figure, axes = plt.subplots(figsize=(8.6, 0.9 + 0.62 * len(models)))
    descriptions = []
    for row, (name, parts) in enumerate(models.items()):
        total, start = sum(parts.values()), 0.0
        for (part, count), colour in zip(parts.items(), (BLUE, GREEN, PURPLE, ORANGE)):
            share = count / total
            axes.barh(
                row,
                share,
                left=start,
                color=colour,
                height=0.62,
                label=part if row == 0 else None,
            )
            if share > 0.06:
                axes.text(
                    start + share / 2,
                    row,
                    f"{share:.0%}",
                    ha="center",
                    va="center",
                    color="white",
                )
            start += share
        descriptions.append(
            f"{name}: " + join_named(parts, np.divide([*parts.values()], total), ".0%"),
        )
    axes.set_yticks(range(len(models)), [f"{n}\n{sum(p.values()):,}" for n, p in models.items()])
    axes.set(xlabel="share of all numbers that the model learns", xlim=(0, 1))
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    return figure, "Where a model's numbers are. " + "; ".join(descriptions) + "."


@picture
def losses(values: Mapping[str, float]):
    """Draw the loss on held-out text for several ways to guess the next word."""
    figure, axes = plt.subplots(figsize=(6.6, 0.8 + 0.5 * len(values)))
    colours = [GREY] * (len(values) - 1) + [BLUE]
    axes.barh(range(len(values)), list(values.values()), color=colours, height=0.6)
    for row, loss in enumerate(values.values()):
        axes.text(loss + 0.06, row, f"{loss:.2f}", va="center")
    axes.set_yticks(range(len(values)), list(values))
    axes.set(xlabel="loss: mean −log of the probability of the right word, in nats", xlim=(0, 6.1))
    axes.invert_yaxis()
    description = join_named(values, values.values(), ".2f")
    return figure, f"Bars of the loss on stories that nothing was trained on: {description}."


@picture
def temperatures(words: Sequence[str], shares: Mapping[float, np.ndarray]):
    """Draw the probabilities of the same next words at several temperatures."""
    figure, panels = plt.subplots(1, len(shares), figsize=(9, 3.4), sharey=True, sharex=True)
    descriptions = []
    for axes, (temperature, row) in zip(panels, shares.items()):
        axes.barh(range(len(words)), row, color=BLUE)
        axes.set_yticks(range(len(words)), words)
        axes.set(title=f"temperature {temperature:g}", xlabel="probability", xlim=(0, 1))
        descriptions.append(
            f"at {temperature:g}, " + join_named(words, row, ".2f"),
        )
    panels[0].invert_yaxis()
    return figure, "Bars of the most likely next words at several temperatures. " + "; ".join(
        descriptions,
    ) + "."


@picture
def head_scores(tables: Mapping[str, np.ndarray]):
    """Draw scores between 0 and 1, a row for each layer and a column for each head, by title."""
    figure, panels = plt.subplots(1, len(tables), figsize=(8.6, 2.7))
    descriptions = []
    for axes, (title, table) in zip(panels, tables.items()):
        image = axes.imshow(table, cmap=COLOURS, vmin=0, vmax=1, aspect="auto")
        for (layer, head), score in np.ndenumerate(table):
            ink = "black" if score > 0.5 else "white"
            axes.text(head, layer, f"{score:.2f}", ha="center", va="center", color=ink)
        axes.set_xticks(range(table.shape[1]), [f"head {n}" for n in range(table.shape[1])])
        axes.set_yticks(range(table.shape[0]), [f"layer {n}" for n in range(table.shape[0])])
        axes.spines[:].set_visible(False)
        axes.set(title=title)
        lines = []
        for layer, row in enumerate(table):
            lines.append(f"layer {layer}: {join_numbers(row, '.2f')}")
        rows = "; ".join(lines)
        descriptions.append(f"{title}: {rows}")
    bar = figure.colorbar(image, ax=panels, label="score")
    bar.outline.set_visible(False)
    return figure, "Tables of scores from 0 to 1, a row for each layer. " + ". ".join(
        descriptions,
    ) + "."


_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def numbered(words: Sequence[str]) -> list[str]:
    """Number the occurrences of repeated words, so that the labels differ.

    >>> numbered(["the", "red", "the"])
    ['the¹', 'red', 'the²']
    """
    totals, so_far, labels = Counter(words), Counter(), []
    for word in words:
        so_far[word] += 1
        labels.append(word + str(so_far[word]).translate(_SUPERSCRIPT) * (totals[word] > 1))
    return labels


@picture
def attention(weights: Mapping[str, np.ndarray], words: Sequence[str]):
    """Draw the attention weights (L, L) of some heads on one text, by title."""
    figure, panels = plt.subplots(1, len(weights), figsize=(4.9 * len(weights), 4.6))
    descriptions = []
    for axes, (title, table) in zip(np.atleast_1d(panels), weights.items()):
        hidden = np.triu(np.ones(table.shape, bool), 1)
        bar = heatmap(
            axes,
            table,
            numbered(words),
            numbered(words),
            title=title,
            limits=(0, 1),
            hidden=hidden,
        )
        if axes is not np.atleast_1d(panels)[-1]:
            bar.remove()
        if axes is not np.atleast_1d(panels)[0]:
            axes.set_ylabel("")
        rows = [
            f"{n + 1} {word} at {best + 1} {words[best]}"
            for n, (word, best) in enumerate(zip(words, table.argmax(-1)))
        ]
        descriptions.append(f"{title}: most of " + ", ".join(rows))
    return figure, "Heatmaps of attention weights on a scale from 0 to 1. " + ". ".join(
        descriptions,
    ) + "."


@picture
def loss_by_position(curves: Mapping[str, np.ndarray], half: int):
    """Draw the loss at each position of texts whose second half repeats the first, by title."""
    figure, axes = plt.subplots(figsize=(8, 3.4))
    for (title, losses), colour, style in zip(
        curves.items(),
        (BLUE, GREEN, ORANGE, PURPLE),
        ("-", "-.", "--", ":"),
    ):
        axes.plot(np.arange(2, len(losses) + 2), losses, style, color=colour, label=title, lw=2)
    axes.axvline(half + 0.5, color=GREY, lw=1)
    axes.text(half + 0.8, 7.9, "said again from here", va="top")
    axes.set(xlabel="which word is guessed", ylabel="loss in nats", ylim=(0, 8))
    axes.grid(True)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="taken away", frameon=False)
    description = "; ".join(
        f"{title}, first time {np.mean(losses[: half - 1]):.1f}, second time {np.mean(losses[half:]):.1f}"
        for title, losses in curves.items()
    )
    return (
        figure,
        f"The loss at each position of {2 * half} words of which the second half repeats the "
        f"first. {description}.",
    )


@picture
def lens(values: Mapping[str, float], blind: float):
    """Draw the loss if the model stopped after each of its parts, and that of a random guess."""
    figure, axes = plt.subplots(figsize=(6.8, 3.2))
    axes.plot(range(len(values)), list(values.values()), "o-", color=BLUE, lw=2)
    axes.axhline(blind, color=GREY, ls="--", lw=1.2)
    axes.text(len(values) - 1, blind + 0.2, "a blind guess", ha="right", va="bottom")
    for n, loss in enumerate(values.values()):
        axes.annotate(f"{loss:.2f}", (n, loss), (6, 6), textcoords="offset points")
    axes.set_xticks(range(len(values)), list(values))
    axes.set(
        ylabel="loss in nats",
        ylim=(0, 1.12 * max(values.values())),
        xlim=(-0.2, len(values) - 0.55),
    )
    axes.grid(True)
    description = join_named(values, values.values(), ".2f")
    return (
        figure,
        f"The loss on words said again, if the model stopped after each part: {description}. A "
        f"blind guess: {blind:.2f}.",
    )


@picture
def switched_off(curves: Mapping[str, np.ndarray], half: int, story: str):
    """Draw the loss by position with ablated heads, and a text that the model then continues."""
    figure, alt = unwrap(loss_by_position)(curves, half)
    figure.axes[0].set(ylim=(0, 12))
    figure.suptitle(f"It writes: {story}", fontsize=10.5)
    return figure, f"{alt} It writes: {story}.".replace("\n", " and ")
