"""The pictures of the lab `positions`."""

from collections.abc import Mapping, Sequence

import numpy as np

from attention_labs.pictures import BLUE, COLOURS, GREEN, GREY, ORANGE, PURPLE, box, heatmap, picture, plt

# Each line has its own marker and dashes too, for who cannot tell the colours apart.
LINES = {
    "no positions": (GREY, "x", ":"),
    "sinusoids": (BLUE, "o", "-"),
    "rotary": (ORANGE, "s", "-"),
    "ALiBi, slope 1/2": (GREEN, "^", "--"),
    "ALiBi, slope 1/16": (PURPLE, "v", "--"),
}


def _bar(image, axes, label, **where):
    bar = plt.colorbar(image, ax=axes, label=label, **where)
    bar.outline.set_visible(False)


@picture
def two_orders(words: Sequence[str], weights: np.ndarray, others: Sequence[str], other_weights: np.ndarray):
    """Attention weights of the same words in two orders, side by side."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.2))
    limits = (0, max(weights.max(), other_weights.max()))
    for axes, row, shares in zip(panels, (words, others), (weights, other_weights), strict=True):
        bar = heatmap(axes, shares, row, row, title=" ".join(row), limits=limits, numbers=True, mark=False)
        if axes is panels[0]:
            bar.remove()
        else:
            axes.set_ylabel("")
    cells = "; ".join(
        f"{query}: " + ", ".join(f"{weights[i, j]:.2f} to {key}" for j, key in enumerate(words))
        for i, query in enumerate(words)
    )
    return figure, (
        f"Two heatmaps of attention weights, for “{' '.join(words)}” and “{' '.join(others)}”. In the first: "
        f"{cells}. The second holds the same numbers, moved to where the words went."
    )


@picture
def encoding(positions: np.ndarray, columns: Sequence[int] = (0, 8, 9, 16)):
    """Sinusoidal positions (length, size) as a heatmap, and some of its columns as curves."""
    length, size = positions.shape
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), gridspec_kw={"wspace": 0.1})
    image = left.imshow(positions, cmap=COLOURS, vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    left.set(xlabel="column", ylabel="position", title=f"{length} positions, {size} columns")
    _bar(image, left, "value")
    styles = [(GREY, "-", 1), (ORANGE, "-", 2), (BLUE, "--", 2), (PURPLE, "-.", 2)]
    for column, (colour, style, width) in zip(columns, styles, strict=False):
        right.plot(positions[:, column], color=colour, linestyle=style, lw=width, label=f"column {column}")
    right.set(xlabel="position", ylabel="value", title="some columns as curves", ylim=(-1.1, 1.7))
    right.set_yticks((-1, 0, 1))
    right.legend(ncols=2, fontsize=9, loc="upper center")
    crossings = "; ".join(f"column {c}: {_crossings(positions[:, c])}" for c in columns)
    return figure, (
        f"Left: a heatmap, a row for each of {length} positions, {size} columns. The columns at the left "
        "flicker from row to row, those at the right hardly change. Right: some columns as curves over the "
        f"position. How often each crosses zero: {crossings}."
    )


def _crossings(curve):
    return int((np.diff(np.sign(curve[np.abs(curve) > 1e-12])) != 0).sum())


@picture
def likeness(positions: np.ndarray, ask: Sequence[int]):
    """Dot products of each position in `ask` with all the others."""
    figure, axes = plt.subplots(figsize=(7.5, 2.9))
    for place, colour, style in zip(ask, (BLUE, ORANGE, GREEN), ("-", "--", "-."), strict=False):
        axes.plot(positions @ positions[place], color=colour, linestyle=style, label=f"position {place}")
    axes.set(xlabel="the other position", ylabel="dot product")
    axes.legend(fontsize=9)
    axes.grid()
    own = float(positions[ask[0]] @ positions[ask[0]])
    return figure, (
        f"Curves, one each for the positions {', '.join(map(str, ask))}: the dot product with every other "
        f"position. Each curve has its peak of {own:.0f} at its own position and falls off on both sides "
        "alike, with ripples; all have the same shape, moved along."
    )


@picture
def clocks(positions: np.ndarray, pairs: Sequence[int], start: int, shift: int):
    """Pairs of columns as hands of clocks, at `start` and `shift` positions later."""
    figure, panels = plt.subplots(1, len(pairs), figsize=(8.2, 3.1))
    said = []
    for axes, pair in zip(panels, pairs, strict=True):
        sine, cosine = positions[:, 2 * pair], positions[:, 2 * pair + 1]
        at = np.arctan2(sine, cosine)
        _circle(axes, lw=0.8)
        for place, colour, style in ((start, BLUE, "-"), (start + shift, ORANGE, "--")):
            axes.plot([0, sine[place]], [0, cosine[place]], color=colour, linestyle=style, lw=2.2)
            axes.plot(sine[place], cosine[place], "o", color=colour, ms=5)
            # Its number a little aside, where the other hand is not.
            label = at[place] + (0.16 if place > start else -0.16)
            axes.text(
                1.25 * np.sin(label), 1.25 * np.cos(label), place, color=colour, ha="center", va="center"
            )
        angle = (at[start + shift] - at[start]) % (2 * np.pi)
        said.append(f"columns {2 * pair} and {2 * pair + 1} by {angle:.3f}")
        axes.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        axes.set(xlabel=f"column {2 * pair} (sine)", ylabel=f"column {2 * pair + 1} (cosine)")
        axes.set_title(f"turned by {angle:.3f}")
    return figure, (
        f"Clock faces, a pair of columns each, with a hand for position {start} and one for position "
        f"{start + shift}. From the first to the second the hand turns clockwise: {'; '.join(said)} "
        "(in radians)."
    )


def _circle(axes, **style):
    angles = np.linspace(0, 2 * np.pi, 400)
    axes.plot(np.sin(angles), np.cos(angles), color=GREY, **style)


@picture
def pairings(size: int = 8):
    """The two ways of pairing columns, as arcs between them."""
    from matplotlib.patches import Arc

    figure, panels = plt.subplots(1, 2, figsize=(8.2, 2.2))
    neighbours = [(2 * i, 2 * i + 1) for i in range(size // 2)]
    halves = [(i, i + size // 2) for i in range(size // 2)]
    for axes, pairs, title in zip(panels, (neighbours, halves), ("neighbours", "halves"), strict=True):
        for (one, other), colour in zip(pairs, (BLUE, ORANGE, GREEN, PURPLE), strict=False):
            width = other - one
            size_of_arc = {"width": width, "height": 0.45 + 0.3 * width, "theta2": 180}
            axes.add_patch(Arc(((one + other) / 2, 0.3), **size_of_arc, color=colour, lw=2))
            for column in (one, other):
                box(axes, column, 0, str(column), colour)
        axes.set(xlim=(-0.7, size - 0.3), ylim=(-0.4, 1.35), title=title)
        axes.axis("off")
    return figure, (
        f"{size} columns in a row, twice. Neighbours: arcs join {_listed(neighbours)}. "
        f"Halves: arcs join {_listed(halves)}."
    )


def _listed(pairs):
    return ", ".join(f"{one} and {other}" for one, other in pairs)


@picture
def by_distance(added: np.ndarray, rotated: np.ndarray):
    """Scores (L, L) of one query vector and one key vector at all pairs of positions, for two methods."""
    figure, panels = plt.subplots(1, 2, figsize=(8.2, 3.4))
    for axes, scores, title in zip(panels, (added, rotated), ("sinusoids added", "rotated"), strict=True):
        image = axes.imshow(scores, cmap=COLOURS, interpolation="nearest")
        axes.set(xlabel="the key's position", ylabel="the query's position", title=title)
        _bar(image, axes, "score", shrink=0.85)
    spread = [_along_diagonals(scores) for scores in (added, rotated)]
    how = (
        "and they are equal to rounding" if spread[1] < 1e-9 else f"and they differ by up to {spread[1]:.2g}"
    )
    return figure, (
        "Two square heatmaps of scores, the query's position downwards, the key's to the right. "
        f"With sinusoids added, scores on one diagonal differ by up to {spread[0]:.2g}; "
        f"rotated, each diagonal has one colour, {how}."
    )


def _along_diagonals(scores):
    return max(float(np.ptp(np.diagonal(scores, k))) for k in range(1 - len(scores), len(scores)))


@picture
def slopes(bias: np.ndarray, heads: Sequence[int] = (0, 3, 7)):
    """ALiBi's bias (H, L, L) of some heads, counted from 0, and what each leaves of a key by its distance."""
    from matplotlib.ticker import MaxNLocator

    figure, panels = plt.subplots(
        1, len(heads) + 1, figsize=(9.6, 2.7), width_ratios=(*[1] * len(heads), 1.35)
    )
    said, far = [], bias.shape[-1] - 1
    styles = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (GREEN, "-.", "^"))
    for axes, head, (colour, line, marker) in zip(panels, heads, styles, strict=False):
        image = axes.imshow(bias[head], cmap=COLOURS, vmin=bias.min(), vmax=0, interpolation="nearest")
        axes.set(xlabel="key", title=f"h = {head + 1}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
        left = np.exp(bias[head, -1, ::-1])
        panels[-1].plot(left, color=colour, linestyle=line, marker=marker, ms=4)
        panels[-1].text(far, left[-1] + 0.15, f"h = {head + 1}", color=colour, ha="right")
        said.append(f"h = {head + 1}: bias {bias[head, -1, 0]:.3g} and factor {left[-1]:.2g}")
    panels[0].set_ylabel("query")
    _bar(image, panels[:-1].tolist(), "bias", shrink=0.8)
    panels[-1].set(xlabel="distance", ylabel="factor on the weight", ylim=(-0.03, 1.22), title="exp(bias)")
    panels[-1].grid()
    return figure, (
        f"Heatmaps of the bias of the heads h = {', '.join(str(head + 1) for head in heads)}: 0 on the "
        "diagonal, falling off evenly on both sides. Beside them curves of exp(bias) over the distance. "
        f"At distance {far}: {'; '.join(said)}."
    )


@picture
def seen(rates: np.ndarray, trained: int, pairs: Sequence[int]):
    """How far round each pair's clock goes within the positions trained on.

    Parameters
    ----------
    rates : numpy.ndarray, shape (size / 2,)
        The angle from one position to the next, for each pair.
    trained : int
        Positions trained on: 0 to trained − 1.
    pairs : sequence of int
        The pairs drawn.
    """
    figure, panels = plt.subplots(1, len(pairs), figsize=(8.2, 2.3))
    turns = rates * (trained - 1) / (2 * np.pi)
    for axes, pair in zip(panels, pairs, strict=True):
        angles = rates[pair] * np.arange(trained)
        arc = np.linspace(0, min(angles[-1], 2 * np.pi), 200)
        _circle(axes, lw=1.5, linestyle="--")
        axes.plot(np.sin(arc), np.cos(arc), color=BLUE, lw=4, alpha=0.4)
        axes.plot(np.sin(angles), np.cos(angles), "o", color=BLUE, ms=4)
        axes.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal")
        axes.set_title(f"pair {pair}: {turns[pair]:.2g} turns")
        axes.axis("off")
    shown = "; ".join(f"pair {pair}: {turns[pair]:.2g} turns" for pair in pairs)
    return figure, (
        f"Clock faces with a dot for each of {trained} positions. {shown}. Of {len(rates)} pairs, "
        f"{int((turns < 1).sum())} do not come round once: part of their circle was never seen."
    )


@picture
def beyond(results: Mapping[tuple[str, str], np.ndarray], lengths: Sequence[int], trained: int):
    """What `attention_labs.lengths.beyond` measured: a panel a task, a line a method with its spread."""
    tasks = sorted(dict.fromkeys(task for task, _ in results), key=len)
    figure, panels = plt.subplots(1, len(tasks), figsize=(9.4, 3.7), sharey=True)
    said = []
    for axes, task in zip(panels, tasks, strict=True):
        axes.axvspan(lengths[0] * 0.8, trained * 1.05, color=GREY, alpha=0.2, lw=0)
        for method, (colour, marker, line) in LINES.items():
            runs, style = results[task, method], {"marker": marker, "linestyle": line, "ms": 5}
            axes.fill_between(lengths, runs.min(axis=0), runs.max(axis=0), color=colour, alpha=0.2, lw=0)
            axes.plot(lengths, runs.mean(axis=0), color=colour, label=method, **style)
        axes.set_xscale("log", base=2)
        axes.set_xticks(lengths, lengths)
        axes.set(xlim=(lengths[0] * 0.8, lengths[-1] * 1.15), ylim=(-0.03, 1.03), title=task)
        axes.set_xlabel("words in the sentence")
        axes.grid()
        means = {method: results[task, method].mean(axis=0) for method in LINES}
        ends = (f"{method} {mean[0]:.2f} to {mean[-1]:.2f}" for method, mean in means.items())
        said.append(f"{task}: {', '.join(ends)}")
    panels[0].set_ylabel("weight on the right word")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    return figure, (
        f"Line charts of the weight on the right word, for sentences of {', '.join(map(str, lengths))} "
        f"words; {trained} were trained on. From the shortest to the longest, {'. '.join(said)}."
    )


@picture
def hands(positions: np.ndarray, place: int, other: int, pairs: Sequence[int]):
    """Pairs of columns as hands of clocks at two places, and the dot product of `other` with every place."""
    figure, panels = plt.subplots(1, len(pairs) + 1, figsize=(9, 2.7), width_ratios=[1] * len(pairs) + [1.7])
    for axes, pair in zip(panels, pairs):
        _circle(axes, lw=0.8)
        for at, colour, style in ((other, BLUE, "-"), (place, ORANGE, "--")):
            axes.plot(
                [0, positions[at, 2 * pair]], [0, positions[at, 2 * pair + 1]], style, color=colour, lw=2.2
            )
        axes.set(
            xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal", xticks=[], yticks=[], title=f"pair {pair}"
        )
        axes.spines[:].set_visible(False)
    products = positions @ positions[other]
    axes = panels[-1]
    axes.plot(products, color=BLUE, lw=1.6)
    axes.plot(place, products[place], "o", color=ORANGE, ms=8)
    axes.set(
        xlabel="position",
        ylabel=f"dot product with {other}",
        title=f"{place} with {other}: {products[place]:.1f}",
    )
    angles = np.arctan2(positions[:, 0::2], positions[:, 1::2])
    turned = "; ".join(
        f"pair {pair} {(angles[place, pair] - angles[other, pair]) % (2 * np.pi):.2f}" for pair in pairs
    )
    return figure, (
        f"Clock faces with a hand for position {other} and a dashed one for position {place}, turned clockwise from it "
        f"(in radians): {turned}. The dot product of the two positions is {products[place]:.1f}; of position {other} "
        f"with itself it is {products[other]:.1f}."
    )
