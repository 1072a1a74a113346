"""Pictures of the lab `looking-inside`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from inspect import unwrap

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
def induction_circuit():
    """Draw the two heads with which a model continues a repeated name."""
    words = ("nora", "weaver", "hid", "the", "key", ".", "then", "nora")
    figure, axes = plt.subplots(figsize=(9, 4.6))
    for column, word in enumerate(words):
        is_involved = column in (0, 1, 7)
        axes.plot(
            [column] * 2,
            [0.35, 3.6 if is_involved else 0.6],
            color=GREY,
            lw=2.5 if is_involved else 1,
        )
        axes.text(column, 0.1, word, ha="center", va="center", fontsize=12)
    arrow(axes, (0, 0.7), (1, 1.25), color=BLUE, lw=2.2)
    note = box(axes, 1, 1.55, "before me: nora", BLUE)
    note.set_fontsize(9)
    arrow(axes, (1, 2.2), (6.95, 3.05), color=ORANGE, lw=2.2)
    box(axes, 7, 3.35, "copy: weaver", ORANGE).set_fontsize(9)
    arrow(axes, (7, 3.7), (7, 4.25), lw=2.5)
    axes.text(7, 4.45, "next: weaver", ha="center", color=ORANGE, fontsize=12)
    axes.text(1.95, 1.0, "layer 0: previous-token head", color=BLUE, va="center")
    axes.text(4.0, 2.25, "layer 1: induction head", color=ORANGE, va="center")
    axes.text(4.0, 1.85, "which token has nora before it?", color=ORANGE, va="center")
    axes.set(xlim=(-0.9, 8.1), ylim=(-0.2, 4.7))
    axes.axis("off")
    return figure, (
        "The text nora weaver hid the key . then nora, with a residual stream drawn upwards from each token. In "
        "layer 0 a previous-token head brings nora to the token after it, so that the stream of weaver holds "
        "“before me: nora”. In layer 1 an induction head asks at the second nora which token has nora before it, "
        "finds weaver and copies it. The prediction of the next token is weaver."
    )


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
    """Number the occurrences of repeated words.

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
    """Draw the weights (L, L) of some heads over one text, by title."""
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
            f"{word} {n} → {words[best]} {best}"
            for n, (word, best) in enumerate(zip(words, table.argmax(-1)))
        ]
        descriptions.append(
            f"{title}: largest weight of each row (query → key): " + ", ".join(rows)
        )
    return figure, "Heatmaps of attention weights on a scale from 0 to 1. " + ". ".join(
        descriptions,
    ) + "."


@picture
def loss_by_position(curves: Mapping[str, np.ndarray], half: int):
    """Draw the loss at each position of texts that say the same thing twice, by title."""
    figure, axes = plt.subplots(figsize=(8, 3.4))
    for (title, losses), colour, style in zip(
        curves.items(),
        (BLUE, GREEN, ORANGE, PURPLE),
        ("-", "-.", "--", ":"),
    ):
        axes.plot(np.arange(2, len(losses) + 2), losses, style, color=colour, label=title, lw=2)
    axes.axvline(half + 0.5, color=GREY, lw=1)
    axes.text(half + 0.8, 7.9, "repeated from here on", va="top")
    axes.set(xlabel="position of the token that is predicted", ylabel="loss in nats", ylim=(0, 8))
    axes.grid(True)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="ablated", frameon=False)
    description = "; ".join(
        f"{title}, first time {np.mean(losses[: half - 1]):.1f}, second time {np.mean(losses[half:]):.1f}"
        for title, losses in curves.items()
    )
    return (
        figure,
        f"The loss at each position of {2 * half} tokens of which the second half repeats the "
        f"first. {description}.",
    )


@picture
def lens(values: Mapping[str, float], uniform: float):
    """Draw the loss if the model stopped after each part, and the loss of a uniform guess."""
    figure, axes = plt.subplots(figsize=(7.4, 0.9 + 0.5 * len(values)))
    colours = []
    for name in values:
        colours.append(BLUE if name.startswith("attention") else GREY)
    axes.barh(range(len(values)), list(values.values()), color=colours, height=0.6)
    axes.axvline(uniform, color=ORANGE, ls="--", lw=1.6, label=f"uniform guess: {uniform:.2f}")
    for row, loss in enumerate(values.values()):
        axes.text(loss + 0.15, row, f"{loss:.2f}", va="center")
    axes.set_yticks(range(len(values)), list(values))
    axes.set(xlabel="loss in nats, on repeated tokens", xlim=(0, 1.12 * max(values.values())))
    axes.set(title="if the model stopped after this part")
    axes.invert_yaxis()
    axes.legend(loc="lower right", frameon=False)
    description = join_named(values, values.values(), ".2f")
    return (
        figure,
        f"Bars of the loss on repeated tokens, if the model stopped after each part: {description}. "
        f"A dashed line marks a uniform guess: {uniform:.2f}.",
    )


@picture
def attribution(values: Mapping[str, float]):
    """Draw how much each part of the model raises the logit of the correct token."""
    figure, axes = plt.subplots(figsize=(7.4, 0.9 + 0.5 * len(values)))
    colours = []
    for name in values:
        colours.append(BLUE if "head" in name else GREY)
    axes.barh(range(len(values)), list(values.values()), color=colours, height=0.6)
    for row, logit in enumerate(values.values()):
        axes.text(max(logit, 0) + 0.06, row, f"{logit:.2f}", va="center")
    axes.set_yticks(range(len(values)), list(values))
    axes.set(
        xlabel="raises the correct logit above the average by",
        xlim=(-0.2, 1.15 * max(values.values())),
    )
    axes.invert_yaxis()
    description = join_named(values, values.values(), ".2f")
    return (
        figure,
        f"Bars of how much each part raises the logit of the correct next token: {description}.",
    )


@picture
def switched_off(curves: Mapping[str, np.ndarray], half: int, story: str):
    """Draw the curves of `loss_by_position`, the last with ablated heads, and a continued text."""
    figure, alt = unwrap(loss_by_position)(curves, half)
    figure.axes[0].set(ylim=(0, 12))
    figure.suptitle(f"It writes: {story}", fontsize=10.5)
    return figure, f"{alt} It writes: {story}.".replace("\n", " and ")
