"""The pictures of the lab `gpt-2`. Each takes what the notebook computed and shows it."""

from collections.abc import Mapping, Sequence
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
    join_named,
    join_numbers,
    picture,
    plt,
)


def visible(symbol: str) -> str:
    """Return a token's symbol with its space, if it begins with one, as a dot.

    >>> visible("Ġkey")
    '·key'
    """
    return symbol.replace("Ġ", "·").replace("Ċ", "↵")


@picture
def route(text: str, symbols: Sequence[str], numbers: Sequence[int]):
    """The way of a text through the model: words, tokens, numbers, vectors, blocks, logits."""
    figure, axes = plt.subplots(figsize=(9.6, 2.6))
    shown = " ".join(visible(symbol) for symbol in symbols)
    stages = (
        (f"text\n“{text}”", GREY),
        (f"symbols\n{shown}", BLUE),
        (f"token numbers\n{', '.join(map(str, numbers))}", BLUE),
        ("vectors\nwte + wpe", GREEN),
        ("blocks", ORANGE),
        ("logits\nln_f, wte again", PURPLE),
    )
    places = (0.0, 2.0, 4.2, 6.2, 7.7, 9.3)
    boxes = []
    for place, (label, colour) in zip(places, stages):
        boxes.append(box(axes, place, 0, label, colour).get_bbox_patch())
    for (start, end), (left, right) in zip(pairwise(places), pairwise(boxes)):
        arrow(axes, (start, 0), (end, 0), patchA=left, patchB=right)
    axes.text(4.6, 1.5, "the new token is put behind the text", ha="center", color=GREY)
    arrow(axes, (9.3, 0.6), (0.0, 0.6), connectionstyle="arc3,rad=0.12")
    axes.set(xlim=(-1.1, 10.5), ylim=(-0.7, 1.8))
    axes.axis("off")
    alt = (
        f"A chain: the text “{text}”; its symbols {shown}; their numbers {join_numbers(numbers)}; vectors from wte "
        "and wpe; the blocks; logits from ln_f and wte. An arrow leads back: the new token is put behind the text."
    )
    return figure, alt


@picture
def merge_tree(word: Sequence[str], merges: Sequence[tuple[Sequence[str], int]]):
    """A word's merges as a tree: its bytes at the bottom, and above them each pair that was joined.

    Parameters
    ----------
    word : sequence of str
        The symbols at the beginning.
    merges : sequence of (symbols, rank)
        The symbols after each merge, and the rank of the pair that was joined.
    """
    figure, axes = plt.subplots(figsize=(max(6.0, 0.75 * len(word)), 1.6 + 0.55 * len(merges)))
    nodes = [(symbol, float(place), 0) for place, symbol in enumerate(word)]
    for symbol, x, y in nodes:
        axes.text(x, y, visible(symbol), ha="center", va="center", color=BLUE, fontsize=13)
    said = []
    for height, (symbols, rank) in enumerate(merges, 1):
        old, nodes, place = nodes, [], 0
        for symbol in symbols:
            if old[place][0] == symbol:
                nodes.append(old[place])
                place += 1
                continue
            pair = old[place : place + 2]
            place += 2
            x = (pair[0][1] + pair[1][1]) / 2
            for _, child_x, child_y in pair:
                axes.plot([child_x, x], [child_y + 0.22, height - 0.22], color=GREY, lw=1.2)
            axes.text(
                x, height, visible(symbol), ha="center", va="center", color=ORANGE, fontsize=13
            )
            nodes.append((symbol, x, height))
        parts = " ".join(map(visible, symbols))
        axes.text(len(word) - 0.2, height, f"rank {rank:,}", va="center", color=GREY)
        said.append(f"rank {rank}: {parts}")
    axes.set(xlim=(-0.7, len(word) + 1.2), ylim=(-0.5, len(merges) + 0.6))
    axes.axis("off")
    begins = " ".join(map(visible, word))
    return figure, f"A tree of merges, from below. It begins with {begins}. {'; '.join(said)}."


@picture
def head_map(tables: Mapping[str, np.ndarray]):
    """Scores of all heads, (layers, heads) by name: a row for each layer, a column for each head."""
    layers, heads = next(iter(tables.values())).shape
    width = 0.62 if heads <= 6 else 0.4  # of a cell, in inches
    size = (2.6 + width * heads * len(tables), 1.5 + 0.42 * layers)
    figure, panels = plt.subplots(1, len(tables), figsize=size)
    said = []
    for axes, (name, scores) in zip(np.atleast_1d(panels), tables.items()):
        image = axes.imshow(scores, cmap=COLOURS, vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(heads), range(heads))
        axes.set_yticks(range(layers), range(layers))
        axes.set(xlabel="head", ylabel="layer", title=name)
        axes.spines[:].set_visible(False)
        for (layer, head), score in np.ndenumerate(scores):
            ink = "black" if score > 0.5 else "white"
            if heads <= 6 or score >= 0.2:
                label = f"{score:.2f}" if heads <= 6 else f"{score:.1f}".removeprefix("0")
                axes.text(head, layer, label, ha="center", va="center", color=ink, fontsize=9)
        bar = figure.colorbar(image, ax=axes)
        bar.outline.set_visible(False)
        layer, head = np.unravel_index(scores.argmax(), scores.shape)
        said.append(
            f"{name}: at most {scores.max():.2f}, in layer {layer}, head {head}; mean {scores.mean():.2f}"
        )
    return figure, f"Maps of {layers} layers by {heads} heads. {'; '.join(said)}."


@picture
def losses(curves: Mapping[str, np.ndarray], half: int):
    """The loss at each position of a text whose second half repeats the first, by what was ablated."""
    figure, axes = plt.subplots(figsize=(8.4, 3.6))
    styles = ((BLUE, "-"), (ORANGE, "--"), (GREEN, ":"), (PURPLE, "-."))
    said = []
    for (name, curve), (colour, style) in zip(curves.items(), styles):
        axes.plot(np.arange(1, len(curve) + 1), curve, style, color=colour, label=name, lw=2)
        said.append(
            f"{name}: first time {curve[: half - 1].mean():.2f}, second time {curve[half:].mean():.2f}"
        )
    axes.axvline(half - 0.5, color=GREY, lw=1)
    axes.text(half, axes.get_ylim()[1], " said again", va="top", color=GREY)
    axes.set(xlabel="position", ylabel="loss, nats", ylim=(0, None))
    axes.grid()
    axes.legend()
    return figure, f"The loss at each position of random tokens said twice. {'; '.join(said)}."


@picture
def lens(
    stages: Sequence[str],
    tokens: Sequence[str],
    guesses: Sequence[Sequence[str]],
    shares: np.ndarray,
):
    """Draw the token that the model would predict after each stage: a row a stage, a column a token.

    Parameters
    ----------
    stages : sequence of str
        Names of the stages, from the bottom of the model to its top.
    tokens : sequence of str
        Symbols of the text.
    guesses : sequences of str, shape (stages, tokens)
        The likeliest next token.
    shares : numpy.ndarray, shape (stages, tokens)
        Its probability.
    """
    figure, axes = plt.subplots(figsize=(max(8.0, 0.86 * len(tokens)), 1.5 + 0.42 * len(stages)))
    image = axes.imshow(shares[::-1], cmap=COLOURS, vmin=0, vmax=1, aspect="auto")
    for row, words in enumerate(reversed(guesses)):
        for column, word in enumerate(words):
            ink = "black" if shares[::-1][row, column] > 0.5 else "white"
            axes.text(
                column, row, visible(word)[:9], ha="center", va="center", color=ink, fontsize=8.5
            )
    axes.set_xticks(
        range(len(tokens)), [visible(token) for token in tokens], rotation=45, ha="right"
    )
    axes.set_yticks(range(len(stages)), list(reversed(stages)))
    axes.set(xlabel="token read", ylabel="stopped after")
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, label="probability of the guess")
    bar.outline.set_visible(False)
    said = []
    for stage, words, row in zip(stages, guesses, shares):
        said.append(f"{stage}: {join_named(map(visible, words), row, '.2f')}")
    return figure, f"What the model would say next, stopped after each stage. {'; '.join(said)}."
