"""Pictures of the lab `positions`."""

from collections.abc import Mapping, Sequence

import numpy as np

from attention_labs.pictures import (
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    box,
    heatmap,
    picture,
    plt,
)

# Each line has its own marker and dashes, for readers who cannot tell the colours apart.
LINES = {
    "no positions": (GREY, "x", ":"),
    "sinusoids": (BLUE, "o", "-"),
    "RoPE": (ORANGE, "s", "-"),
    "ALiBi, slope 1/2": (GREEN, "^", "--"),
    "ALiBi, slope 1/16": (PURPLE, "v", "--"),
}


def _bar(image, axes, label, **options):
    bar = plt.colorbar(image, ax=axes, label=label, **options)
    bar.outline.set_visible(False)


@picture
def two_orders(
    words: Sequence[str], weights: np.ndarray, other_words: Sequence[str], other_weights: np.ndarray
):
    """Draw attention weights of the same words in two orders, side by side."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.2))
    limits = (0, max(weights.max(), other_weights.max()))
    for axes, row, shares in zip(
        panels,
        (words, other_words),
        (weights, other_weights),
        strict=True,
    ):
        bar = heatmap(
            axes,
            shares,
            row,
            row,
            title=" ".join(row),
            limits=limits,
            numbers=True,
            mark=False,
        )
        if axes is panels[0]:
            bar.remove()
        else:
            axes.set_ylabel("")
    cells = "; ".join(
        f"{query}: " + ", ".join(f"{weights[i, j]:.2f} to {key}" for j, key in enumerate(words))
        for i, query in enumerate(words)
    )
    return figure, (
        f"Two heatmaps of attention weights, for “{' '.join(words)}” and "
        f"“{' '.join(other_words)}”. In the first: {cells}. The second holds the same numbers, "
        "moved to where the words went."
    )


@picture
def encoding(positions: np.ndarray, columns: Sequence[int] = (0, 8, 9, 16)):
    """Draw sinusoidal encodings (length, size) as a heatmap, and some columns as curves."""
    length, size = positions.shape
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), gridspec_kw={"wspace": 0.1})
    image = left.imshow(
        positions,
        cmap=COLOURS,
        vmin=-1,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
    )
    left.set(xlabel="column", ylabel="position", title=f"{length} positions, {size} columns")
    _bar(image, left, "value")
    styles = [(GREY, "-", 1), (ORANGE, "-", 2), (BLUE, "--", 2), (PURPLE, "-.", 2)]
    for column, (colour, style, width) in zip(columns, styles, strict=False):
        right.plot(
            positions[:, column],
            color=colour,
            linestyle=style,
            lw=width,
            label=f"column {column}",
        )
    right.set(xlabel="position", ylabel="value", title="some columns as curves", ylim=(-1.1, 1.7))
    right.set_yticks((-1, 0, 1))
    right.legend(ncols=2, fontsize=9, loc="upper center")
    crossings = "; ".join(f"column {c}: {_crossings(positions[:, c])}" for c in columns)
    return figure, (
        f"Left: a heatmap, a row for each of {length} positions, {size} columns. The columns at "
        "the left flicker from row to row, those at the right hardly change. Right: some columns "
        f"as curves over the position. How often each crosses zero: {crossings}."
    )


def _crossings(curve):
    return int((np.diff(np.sign(curve[np.abs(curve) > 1e-12])) != 0).sum())


@picture
def likeness(positions: np.ndarray, ask: Sequence[int]):
    """Draw the dot products of each position in `ask` with all other positions."""
    figure, axes = plt.subplots(figsize=(7.5, 2.9))
    for place, colour, style in zip(ask, (BLUE, ORANGE, GREEN), ("-", "--", "-."), strict=False):
        axes.plot(
            positions @ positions[place],
            color=colour,
            linestyle=style,
            label=f"position {place}",
        )
    axes.set(xlabel="the other position", ylabel="dot product")
    axes.legend(fontsize=9)
    axes.grid()
    own = float(positions[ask[0]] @ positions[ask[0]])
    return figure, (
        f"Curves, one each for the positions {', '.join(map(str, ask))}: the dot product with "
        f"every other position. Each curve has its peak of {own:.0f} at its own position and "
        "falls off equally on both sides, with ripples; all have the same shape, shifted."
    )


@picture
def hand(steps: int = 4):
    """Draw one pair of columns as a clock hand that turns by 1 radian from position to position."""
    figure, axes = plt.subplots(figsize=(4.2, 4))
    _circle(axes, lw=0.8)
    for place in range(steps):
        x, y = np.sin(place), np.cos(place)
        colour, style = (ORANGE, "-") if place == 1 else (BLUE, "--")
        axes.plot([0, x], [0, y], color=colour, linestyle=style, lw=2.2)
        axes.plot(x, y, "o", color=colour, ms=5)
        axes.text(1.27 * x, 1.27 * y, f"$p = {place}$", color=colour, ha="center", va="center")
    x, y = np.sin(1), np.cos(1)
    axes.plot([x, x, 0], [0, y, y], color=ORANGE, linestyle=":", lw=1.5)
    axes.set(
        xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal", xticks=(-1, 0, 1), yticks=(-1, 0, 1)
    )
    axes.set(xlabel=r"$\sin(p\,\omega_0)$", ylabel=r"$\cos(p\,\omega_0)$")
    return figure, (
        f"A clock face with the hand of pair 0 at the positions 0 to {steps - 1}. At position 0 it points "
        "straight up. From each position to the next it turns clockwise by 1 radian, 57 degrees. The tip at "
        f"position 1 has the coordinates sin 1 = {x:.4f}, to the right, and cos 1 = {y:.4f}, upwards."
    )


@picture
def clocks(positions: np.ndarray, pairs: Sequence[int], start: int, shift: int):
    """Draw pairs of columns as clock hands, at the positions `start` and `start + shift`."""
    figure, panels = plt.subplots(1, len(pairs), figsize=(8.2, 3.1))
    descriptions = []
    for axes, pair in zip(panels, pairs, strict=True):
        sine, cosine = positions[:, 2 * pair], positions[:, 2 * pair + 1]
        hand_angles = np.arctan2(sine, cosine)
        _circle(axes, lw=0.8)
        for place, colour, style in ((start, BLUE, "-"), (start + shift, ORANGE, "--")):
            axes.plot([0, sine[place]], [0, cosine[place]], color=colour, linestyle=style, lw=2.2)
            axes.plot(sine[place], cosine[place], "o", color=colour, ms=5)
            # Put the number a little aside, so that it does not cover the other hand.
            label = hand_angles[place] + (0.16 if place > start else -0.16)
            axes.text(
                1.25 * np.sin(label),
                1.25 * np.cos(label),
                place,
                color=colour,
                ha="center",
                va="center",
            )
        angle = (hand_angles[start + shift] - hand_angles[start]) % (2 * np.pi)
        descriptions.append(f"columns {2 * pair} and {2 * pair + 1} by {angle:.3f}")
        axes.set(
            xlim=(-1.5, 1.5),
            ylim=(-1.5, 1.5),
            aspect="equal",
            xticks=(-1, 0, 1),
            yticks=(-1, 0, 1),
        )
        axes.set(xlabel=f"column {2 * pair} (sine)", ylabel=f"column {2 * pair + 1} (cosine)")
        axes.set_title(f"turned by {angle:.3f}")
    return figure, (
        f"Clock faces, a pair of columns each, with a hand for position {start} and one for "
        f"position {start + shift}. From the first to the second the hand turns clockwise: "
        f"{'; '.join(descriptions)} (in radians)."
    )


def _circle(axes, **style):
    angles = np.linspace(0, 2 * np.pi, 400)
    axes.plot(np.sin(angles), np.cos(angles), color=GREY, **style)


@picture
def pairings(size: int = 8):
    """Draw the two ways of combining columns into pairs, as arcs between the columns."""
    from matplotlib.patches import Arc

    figure, panels = plt.subplots(1, 2, figsize=(8.2, 2.2))
    neighbours = [(2 * i, 2 * i + 1) for i in range(size // 2)]
    halves = [(i, i + size // 2) for i in range(size // 2)]
    for axes, pairs, title in zip(
        panels,
        (neighbours, halves),
        ("neighbours", "halves"),
        strict=True,
    ):
        for (low, high), colour in zip(pairs, (BLUE, ORANGE, GREEN, PURPLE), strict=False):
            width = high - low
            size_of_arc = {"width": width, "height": 0.45 + 0.3 * width, "theta2": 180}
            axes.add_patch(Arc(((low + high) / 2, 0.3), **size_of_arc, color=colour, lw=2))
            for column in (low, high):
                box(axes, column, 0, str(column), colour)
        axes.set(xlim=(-0.7, size - 0.3), ylim=(-0.4, 1.35), title=title)
        axes.axis("off")
    return figure, (
        f"{size} columns in a row, twice. Neighbours: arcs join {_join_pairs(neighbours)}. "
        f"Halves: arcs join {_join_pairs(halves)}."
    )


def _join_pairs(pairs):
    return ", ".join(f"{low} and {high}" for low, high in pairs)


@picture
def by_distance(sinusoid_scores: np.ndarray, rotary_scores: np.ndarray):
    """Draw scores (L, L) of one query and one key at all pairs of positions, for two methods."""
    figure, panels = plt.subplots(1, 2, figsize=(8.2, 3.7), sharey=True)
    both = np.stack([sinusoid_scores, rotary_scores])
    for axes, scores, title in zip(panels, both, ("sinusoids added", "RoPE"), strict=True):
        image = axes.imshow(
            scores,
            cmap=COLOURS,
            vmin=both.min(),
            vmax=both.max(),
            interpolation="nearest",
        )
        axes.set(xlabel="position of the key", title=title)
    panels[0].set_ylabel("position of the query")
    _bar(image, panels.tolist(), "score", shrink=0.85)
    spread = [*map(_along_diagonals, both)]
    comparison = (
        "and they are equal to rounding"
        if spread[1] < 1e-9
        else f"and they differ by up to {spread[1]:.2g}"
    )
    return figure, (
        "Two square heatmaps of scores on one colour scale, the position of the query downwards, "
        "that of the key to the right. With sinusoids added, scores on one diagonal differ by up "
        f"to {spread[0]:.2g}; with RoPE each diagonal has one colour, {comparison}."
    )


def _along_diagonals(scores):
    return max(float(np.ptp(np.diagonal(scores, k))) for k in range(1 - len(scores), len(scores)))


@picture
def slopes(bias: np.ndarray, heads: Sequence[int] = (0, 3, 7), shown: int = 5):
    """Draw the bias of ALiBi's first head as numbers, and exp(bias) of some heads by distance.

    Parameters
    ----------
    bias : numpy.ndarray, shape (H, L, L)
    heads : sequence of int
        Heads with a curve, counted from 0.
    shown : int
        Number of positions in the table.
    """
    figure, (table, curves) = plt.subplots(1, 2, figsize=(8.6, 3.4), width_ratios=(1, 1.5))
    corner = bias[0, :shown, :shown]
    table.imshow(corner, cmap=COLOURS, interpolation="nearest")
    middle = (corner.min() + corner.max()) / 2
    for (row, column), value in np.ndenumerate(corner):
        ink = "black" if value > middle else "white"
        table.text(column, row, f"{value + 0.0:g}", ha="center", va="center", color=ink)
    table.set(xlabel="position of the key", ylabel="position of the query", title="bias, h = 1")
    table.set_xticks(range(len(corner)))
    table.set_yticks(range(len(corner)))
    table.spines[:].set_visible(False)
    descriptions, far = [], bias.shape[-1] - 1
    styles = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (GREEN, "-.", "^"))
    for head, (colour, line, marker) in zip(heads, styles, strict=False):
        factors = np.exp(bias[head, -1, ::-1])
        slope = -bias[head, -1, -2]
        label = f"h = {head + 1}, slope 1/{1 / slope:g}"
        curves.plot(factors, color=colour, linestyle=line, marker=marker, ms=4, label=label)
        descriptions.append(
            f"h = {head + 1}: bias {bias[head, -1, 0]:.3g} and factor {factors[-1]:.2g}",
        )
    curves.set(
        xlabel="distance between query and key",
        ylabel="exp(bias)",
        ylim=(-0.03, 1.5),
        title="factor on the weight before softmax divides",
    )
    curves.set_yticks((0, 0.5, 1))
    curves.legend(loc="upper right", ncols=2, fontsize=9)
    curves.grid()
    return figure, (
        f"Left, the bias of the head h = 1 for {len(corner)} positions: 0 on the diagonal, and "
        f"{-corner[0, 1]:g} less for each step away from it. Right, curves of exp(bias) over "
        f"the distance. At distance {far}: {'; '.join(descriptions)}."
    )


@picture
def seen(frequencies: np.ndarray, trained: int, pairs: Sequence[int]):
    """Draw which part of the circle each pair's angle covers in the positions of training.

    Parameters
    ----------
    frequencies : numpy.ndarray, shape (size / 2,)
        The angle from one position to the next, for each pair.
    trained : int
        Number of positions in training, from 0.
    pairs : sequence of int
        The pairs to draw.
    """
    figure, panels = plt.subplots(1, len(pairs), figsize=(8.2, 2.3))
    turns = frequencies * (trained - 1) / (2 * np.pi)
    for axes, pair in zip(panels, pairs, strict=True):
        angles = frequencies[pair] * np.arange(trained)
        arc = np.linspace(0, min(angles[-1], 2 * np.pi), 200)
        _circle(axes, lw=1.5, linestyle="--")
        axes.plot(np.sin(arc), np.cos(arc), color=BLUE, lw=4, alpha=0.4)
        axes.plot(np.sin(angles), np.cos(angles), "o", color=BLUE, ms=4)
        axes.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal")
        axes.set_title(f"pair {pair}: {turns[pair]:.2g} turns")
        axes.axis("off")
    description = "; ".join(f"pair {pair}: {turns[pair]:.2g} turns" for pair in pairs)
    return figure, (
        f"Clock faces with a dot for each of {trained} positions. {description}. Of {len(frequencies)} "
        f"pairs, {int((turns < 1).sum())} make less than one full turn: part of their circle was "
        "never seen."
    )


@picture
def beyond(results: Mapping[tuple[str, str], np.ndarray], lengths: Sequence[int], trained: int):
    """Draw the results of the experiment `lengths.beyond`: a panel per task, a line per method."""
    tasks = sorted(dict.fromkeys(task for task, _ in results), key=len)
    figure, panels = plt.subplots(1, len(tasks), figsize=(9.4, 3.7), sharey=True)
    descriptions = []
    for axes, task in zip(panels, tasks, strict=True):
        axes.axvspan(lengths[0] * 0.8, trained * 1.05, color=GREY, alpha=0.2, lw=0)
        for method, (colour, marker, line) in LINES.items():
            runs, style = results[task, method], {"marker": marker, "linestyle": line, "ms": 5}
            axes.fill_between(
                lengths,
                runs.min(axis=0),
                runs.max(axis=0),
                color=colour,
                alpha=0.2,
                lw=0,
            )
            axes.plot(lengths, runs.mean(axis=0), color=colour, label=method, **style)
        axes.set_xscale("log", base=2)
        axes.set_xticks(lengths, lengths)
        axes.set(xlim=(lengths[0] * 0.8, lengths[-1] * 1.15), ylim=(-0.03, 1.03), title=task)
        axes.set_xlabel("words in the sentence")
        axes.grid()
        ends = []
        for method in LINES:
            mean = results[task, method].mean(axis=0)
            ends.append(f"{method} {mean[0]:.2f} to {mean[-1]:.2f}")
        descriptions.append(f"{task}: {', '.join(ends)}")
    panels[0].set_ylabel("weight on the right word")
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=5,
        fontsize=9,
    )
    return figure, (
        "Line charts of the weight on the right word, for sentences of "
        f"{', '.join(map(str, lengths))} words; {trained} were trained on. From the shortest to "
        f"the longest, {'. '.join(descriptions)}."
    )


@picture
def hands(positions: np.ndarray, place: int, fixed: int, pairs: Sequence[int]):
    """Draw clock hands for the positions `place` and `fixed`, and dot products with `fixed`."""
    figure, panels = plt.subplots(
        1,
        len(pairs) + 1,
        figsize=(9, 2.7),
        width_ratios=[1] * len(pairs) + [1.7],
    )
    for axes, pair in zip(panels, pairs):
        _circle(axes, lw=0.8)
        for position, colour, style in ((fixed, BLUE, "-"), (place, ORANGE, "--")):
            axes.plot(
                [0, positions[position, 2 * pair]],
                [0, positions[position, 2 * pair + 1]],
                style,
                color=colour,
                lw=2.2,
            )
        axes.set(
            xlim=(-1.1, 1.1),
            ylim=(-1.1, 1.1),
            aspect="equal",
            xticks=[],
            yticks=[],
            title=f"pair {pair}",
        )
        axes.spines[:].set_visible(False)
    products = positions @ positions[fixed]
    axes = panels[-1]
    axes.plot(products, color=BLUE, lw=1.6)
    axes.plot(place, products[place], "o", color=ORANGE, ms=8)
    axes.set(
        xlabel="position",
        ylabel=f"dot product with {fixed}",
        title=f"{place} with {fixed}: {products[place]:.1f}",
    )
    angles = np.arctan2(positions[:, 0::2], positions[:, 1::2])
    description = "; ".join(
        f"pair {pair} {(angles[place, pair] - angles[fixed, pair]) % (2 * np.pi):.2f}"
        for pair in pairs
    )
    return figure, (
        f"Clock faces with a hand for position {fixed} and a dashed one for position {place}, "
        f"turned clockwise from it (in radians): {description}. The dot product of the two "
        f"positions is {products[place]:.1f}; of position {fixed} with itself it is "
        f"{products[fixed]:.1f}."
    )
