"""Pictures of the lab `multi-head-attention`."""

from collections.abc import Callable, Mapping, Sequence

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

_HEADS = (ORANGE, BLUE, GREEN, PURPLE)


def _rows(array: np.ndarray, form: str) -> str:
    """Format the rows of a matrix as text: "(1, 2), (3, 4)"."""
    return ", ".join(f"({join_numbers(row, form)})" for row in array)


@picture
def whole_layer():
    """Draw the multi-head layer from the inputs to the output, as in the paper of 2017."""
    figure, axes = plt.subplots(figsize=(8, 6))
    axes.set(xlim=(0, 10.4), ylim=(-0.4, 7.1))
    axes.axis("off")
    inputs = [(1.0, "V", GREEN), (2.9, "K", PURPLE), (4.8, "Q", BLUE)]
    for x, name, colour in inputs:
        box(axes, x, 0, f"$X_{name.lower()}$", GREY)
        arrow(axes, (x, 0.35), (x, 0.85))
        box(axes, x, 1.3, f"Linear $W_{name}$", colour)
        arrow(axes, (x, 1.7), (x, 2.15))
        for shift in (0.24, 0.12, 0):
            _plain_box(axes, x + shift - 0.1, 2.55 + shift, f"${name}_i$", colour)
        arrow(axes, (x, 3.05), (x + (2.9 - x) * 0.35, 3.55))
    for shift in (0.24, 0.12, 0):
        _plain_box(axes, 2.9 + shift, 4.0 + shift, "Scaled Dot-Product Attention", ORANGE)
    arrow(axes, (2.9, 4.55), (2.9, 5.0))
    box(axes, 2.9, 5.4, "Concat: the heads in one row", GREY)
    arrow(axes, (2.9, 5.8), (2.9, 6.2))
    box(axes, 2.9, 6.6, "Linear $W_O$", GREY)
    notes = [
        (0, "words: $(batch, L, d)$"),
        (1.3, "weight matrices: $(d, d)$"),
        (2.6, "$h$ heads: $(batch, h, L, d_{head})$"),
        (4.0, "$h$ times, each head alone"),
        (5.4, "$(batch, L_q, d)$"),
        (6.6, "output: $(batch, L_q, d)$"),
    ]
    for y, note in notes:
        axes.text(6.2, y, note, va="center")
    return figure, (
        "The multi-head layer from the bottom to the top. The inputs X_v, X_k and X_q each go "
        "through a linear layer, W_V, W_K and W_Q. The results are split into h heads, drawn as "
        "stacks. Each head does scaled dot-product attention. The results of all heads are "
        "concatenated and go through the linear layer W_O."
    )


def _plain_box(axes, x: float, y: float, text: str, colour: str) -> None:
    """Draw a box with a pale edge, so that several of them form a visible stack."""
    box(axes, x, y, text, colour).get_bbox_patch().set(edgecolor="#dddddd", linewidth=1)


@picture
def questions(words: Sequence[Sequence[str]], weights: Mapping[str, np.ndarray]):
    """Draw attention weights (sentences, words), a panel for each question asked of the words."""
    figure, panels = plt.subplots(1, len(weights), figsize=(9, 2.5))
    for axes, (question, rows) in zip(panels, weights.items()):
        image = axes.imshow(rows, cmap=COLOURS, vmin=0, vmax=1, aspect="auto")
        for (row, column), weight in np.ndenumerate(rows):
            ink = "black" if weight > 0.5 else "white"
            text = f"{words[row][column]}\n{weight:.2f}"
            axes.text(column, row, text, ha="center", va="center", color=ink)
        names = [""] * len(rows)
        if axes is panels[0]:
            names = [f"sentence {row}" for row in range(len(rows))]
        axes.set_yticks(range(len(rows)), names)
        axes.set_xticks(range(rows.shape[1]), ["first", "second", "third"])
        axes.set(title=question, xlabel="key")
        axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=panels, label="attention weight").outline.set_visible(False)
    description = "; ".join(
        f"“{question}” gives "
        + " and ".join(join_named(sentence, row, ".2f") for sentence, row in zip(words, rows))
        for question, rows in weights.items()
    )
    return (
        figure,
        f"Heatmaps of the weights of {len(weights)} questions in two sentences. {description}.",
    )


@picture
def cut(x: np.ndarray, heads: Sequence[np.ndarray]):
    """Draw word vectors (L, d) with columns coloured by head, and beside them each head's part."""
    length, d = x.shape
    home = {}
    for row in x:
        for column, number in enumerate(row):
            home[number] = column * len(heads) // d
    arrays = {"all columns": x}
    for index, head in enumerate(heads):
        arrays[f"head {index}"] = head
    widths = [array.shape[1] for array in arrays.values()]
    figure, panels = plt.subplots(1, len(arrays), figsize=(7.5, 2.7), width_ratios=widths)
    for axes, (title, array) in zip(panels, arrays.items()):
        for (row, column), number in np.ndenumerate(array):
            colour = _HEADS[home[number] % len(_HEADS)]
            axes.add_patch(
                plt.Rectangle((column + 0.03, row + 0.03), 0.94, 0.94, facecolor=colour, lw=0),
            )
            axes.text(
                column + 0.5,
                row + 0.5,
                f"{number:02.0f}",
                ha="center",
                va="center",
                color="white",
            )
        axes.set(
            xlim=(0, array.shape[1]),
            ylim=(length, 0),
            aspect="equal",
            title=title,
            xlabel="column",
        )
        axes.set_xticks(np.arange(array.shape[1]) + 0.5, range(array.shape[1]))
        axes.set_yticks(np.arange(length) + 0.5, [f"word {row}" for row in range(length)])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    parts = []
    for title, array in arrays.items():
        parts.append(f"{title} has {_rows(array, '02.0f')}")
    description = "; ".join(parts)
    return (
        figure,
        f"Three words of {d} numbers, and the heads they are cut into, row by row: {description}.",
    )


@picture
def heads(weights: np.ndarray, words: Sequence[str]):
    """Draw the weights (heads, L, L) of one sentence: a heatmap for each head."""
    figure, panels = plt.subplots(1, len(weights), figsize=(3.9 * len(weights), 3.2))
    for head, (axes, rows) in enumerate(zip(panels, weights)):
        bar = heatmap(
            axes,
            rows,
            words,
            words,
            title=f"head {head}",
            limits=(0, 1),
            numbers=True,
            mark=False,
        )
        if axes is not panels[-1]:
            bar.remove()
        if axes is not panels[0]:
            axes.set_ylabel("")
    parts = []
    for head, rows in enumerate(weights):
        parts.append(f"head {head} has {_rows(rows, '.2f')}")
    description = "; ".join(parts)
    return (
        figure,
        f"A heatmap for each head, a row for each of the words {', '.join(words)}: {description}.",
    )


@picture
def influence(words: np.ndarray, layers: Mapping[str, Callable[[np.ndarray], np.ndarray]]):
    """Draw which output depends on which word, for several layers by title.

    Each word (a row of L) is changed in turn. A layer maps words (batch, L, d) to results (batch,
    L, d).
    """
    panels = {title: _depends(layer, words) for title, layer in layers.items()}
    figure, all_axes = plt.subplots(1, len(panels), figsize=(9, 3.4))
    for axes, (title, depends) in zip(all_axes, panels.items()):
        length = len(depends)
        for (row, column), has_influence in np.ndenumerate(depends):
            colour, sign, ink = "none", "", GREY
            if has_influence:
                colour, sign, ink = BLUE, "●", "white"
                if column > row:
                    colour, sign = ORANGE, "!"
            place = (column - 0.46, row - 0.46), 0.92, 0.92
            axes.add_patch(
                plt.Rectangle(
                    *place,
                    facecolor=colour,
                    edgecolor=colour if has_influence else GREY,
                    lw=0.8,
                ),
            )
            axes.text(column, row, sign, ha="center", va="center", color=ink, weight="bold")
        axes.set(xlim=(-0.55, length - 0.45), ylim=(length - 0.45, -0.55), aspect="equal")
        axes.set_xticks(range(length), range(length))
        axes.set_yticks(range(length), range(length))
        axes.set(
            title=title,
            xlabel="changed word",
            ylabel="output of word" if axes is all_axes[0] else "",
        )
        axes.spines[:].set_visible(False)
    description = "; ".join(
        f"{title}, "
        + ", ".join(
            f"word {row} on {' '.join(map(str, np.flatnonzero(line))) or 'nothing'}"
            for row, line in enumerate(depends)
        )
        for title, depends in panels.items()
    )
    return figure, (
        "Tables with a row for each output and a column for each changed word. A cell is filled if the "
        "output depends on that word; it has an exclamation mark if the word comes later. "
        f"{description[0].upper()}{description[1:]}."
    )


def _depends(layer: Callable[[np.ndarray], np.ndarray], words: np.ndarray) -> np.ndarray:
    """Return an array that is True at (i, j) if the output of word i depends on word j."""
    positions = np.arange(len(words))
    changed_words = np.repeat(words[np.newaxis], len(words), axis=0)
    changed_words[positions, positions] += 1  # in copy j of the sentence, word j
    return (np.abs(layer(changed_words) - layer(words[np.newaxis])).max(axis=-1) > 1e-9).T


@picture
def groups(n_heads: int, choices: Sequence[int]):
    """Draw which head of keys each head of queries uses, for some numbers of heads of keys."""
    figure, panels = plt.subplots(1, len(choices), figsize=(9, 2.4))
    for axes, kv_heads in zip(panels, choices):
        group = n_heads // kv_heads
        colours = _HEADS[:2] if group > 1 else (GREY,)  # a colour is a group
        places = (np.arange(kv_heads) + 0.5) * group - 0.5  # each in the middle of its group
        for head in range(n_heads):
            colour = colours[head // group % len(colours)]
            axes.plot([head, places[head // group]], [1, 0], color=GREY, zorder=1)
            axes.scatter(head, 1, s=190, color=colour, zorder=2)
            axes.text(head, 1, str(head), ha="center", va="center", color="white", zorder=3)
        for key_head, place in enumerate(places):
            axes.scatter(
                place,
                0,
                s=190,
                marker="s",
                color=colours[key_head % len(colours)],
                zorder=2,
            )
            axes.text(place, 0, str(key_head), ha="center", va="center", color="white", zorder=3)
        axes.set(xlim=(-0.7, n_heads - 0.3), ylim=(-0.4, 1.4), title=_of_keys(kv_heads))
        axes.set_xticks([])
        axes.set_yticks([1, 0], ["queries", "keys, values"] if axes is panels[0] else ["", ""])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    description = "; ".join(
        f"with {_of_keys(n)}, query heads 0 to {n_heads - 1} use "
        + " ".join(str(head // (n_heads // n)) for head in range(n_heads))
        for n in choices
    )
    return (
        figure,
        "Heads of queries in a row, and heads of keys below. A line leads from each query head to the key head "
        f"that it uses: {description}.",
    )


@picture
def counts(d_model: int, n_heads: int, weights: Mapping[int, int]):
    """Draw the number of weights of one layer as bars, by its number of heads of keys."""
    query_weights = 2 * d_model**2
    figure, axes = plt.subplots(figsize=(7.5, 2.4))
    for row, count in enumerate(weights.values()):
        names = ("w_q and w_o", "w_k and w_v") if row == 0 else ("", "")
        axes.barh(row, query_weights / 1e6, color=BLUE, label=names[0])
        axes.barh(
            row,
            (count - query_weights) / 1e6,
            left=query_weights / 1e6,
            color=ORANGE,
            hatch="//",
            label=names[1],
        )
        axes.text(count / 1e6 + 3, row, f"{count / 1e6:.0f} million", va="center")
    axes.set_yticks(range(len(weights)), [*map(_of_keys, weights)])
    axes.invert_yaxis()
    axes.set(xlabel="weights, in millions", xlim=(0, 1.22 * max(weights.values()) / 1e6))
    axes.set_title(f"one layer with d = {d_model} and {n_heads} heads of queries")
    axes.legend(loc="lower right")
    description = "; ".join(
        f"{_of_keys(n)}, {count / 1e6:.0f} million, of which {(count - query_weights) / 1e6:.0f} "
        "in w_k and w_v"
        for n, count in weights.items()
    )
    return (
        figure,
        f"Bars of the weights of a layer with d = {d_model} and {n_heads} heads of queries: {description}.",
    )


def _of_keys(n: int) -> str:
    return f"{n} head{'s' * (n != 1)} of keys"
