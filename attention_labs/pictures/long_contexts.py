"""The pictures of the lab `long-contexts`. Each takes what the notebook computed and shows it."""

from collections.abc import Mapping, Sequence

import numpy as np

from attention_labs.pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    arrow,
    box,
    in_each_row,
    mask_table,
    picture,
    plt,
)

_LINES = ((ORANGE, "o", "-"), (BLUE, "s", "-"), (GREEN, "^", "--"), (PURPLE, "v", "--"), (GREY, "x", ":"))
_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))


def in_bytes(number: float) -> str:
    """A number of bytes as a person reads it; 1 kB is 1000 bytes.

    >>> in_bytes(327_680), in_bytes(33_554_432), in_bytes(8)
    ('328 kB', '33.6 MB', '8 bytes')
    """
    size, unit = next((u for u in _UNITS if number >= u[0]), _UNITS[-1])
    return f"{number / size:.3g} {unit}"


@picture
def what_is_made(steps: int):
    """Which keys and values are made in each step: all of them again, or the new one only."""
    figure, panels = plt.subplots(1, 2, figsize=(8.2, 4))
    for axes, title, kept in zip(panels, ("without a cache", "with a cache"), (False, True)):
        for step in range(steps):
            for position in range(step + 1):
                new = position == step or not kept
                style = {"facecolor": ORANGE} if new else {"facecolor": "none", "edgecolor": GREY}
                axes.add_patch(plt.Rectangle((position + 0.06, step + 0.06), 0.88, 0.88, **style))
        axes.set(xlim=(-0.1, steps + 0.1), ylim=(steps + 0.1, -0.1), aspect="equal", title=title)
        axes.set_xticks(np.arange(steps) + 0.5, range(steps))
        axes.set_yticks(np.arange(steps) + 0.5, range(1, steps + 1))
        axes.set(xlabel="position", ylabel="step")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    filled = plt.Rectangle((0, 0), 1, 1, facecolor=ORANGE, label="made in this step")
    empty = plt.Rectangle((0, 0), 1, 1, facecolor="none", edgecolor=GREY, label="kept from before")
    figure.legend(handles=[filled, empty], loc="outside lower center", ncols=2)
    return figure, (
        f"Two tables, {steps} steps by {steps} positions. Filled: a key and a value are made in this step; "
        "empty: they are kept from before. Without a cache all positions so far are filled in each step, "
        f"{steps * (steps + 1) // 2} in all; with a cache one a step, {steps} in all."
    )


@picture
def work(lengths: Sequence[int], counts: Mapping[str, Sequence[int]], seconds: Mapping[str, Sequence[float]]):
    """What it takes to write so many words: counted on the left, measured on the right."""
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.4))
    said = []
    for axes, rows, what, form in zip(
        panels, (counts, seconds), ("keys and values made", "seconds"), ("{:,.0f}", "{:.3f}")
    ):
        for (label, numbers), (colour, marker, style) in zip(rows.items(), _LINES):
            axes.plot(lengths, numbers, marker + style, color=colour, label=label)
            said.append(f"{what}, {label}: {', '.join(form.format(n) for n in numbers)}")
        axes.set(xlabel="words written", ylabel=what, ylim=(0, None), xticks=lengths)
        axes.grid()
    panels[0].yaxis.set_major_formatter("{x:,.0f}")
    panels[0].set_title("counted")
    panels[1].set_title("measured here")
    panels[0].legend()
    words = ", ".join(str(n) for n in lengths)
    return figure, f"Two line charts over {words} words written. {'; '.join(said)}."


@picture
def caches(lengths: Sequence[int], sizes: Mapping[str, Sequence[int]], room: float):
    """Bytes of cache against the length, by shape; `room` is drawn as the memory of one accelerator."""
    figure, axes = plt.subplots(figsize=(8.2, 3.9))
    for (label, numbers), (colour, marker, style) in zip(sizes.items(), _LINES):
        axes.loglog(lengths, numbers, marker + style, color=colour, label=label)
    axes.axhline(room, color=GREY, lw=1)
    axes.text(lengths[0], room * 1.1, f"one accelerator, {in_bytes(room)}", va="bottom")
    ticks = [size for size, _ in _UNITS[:-1] for size in (size, size * 1e-1, size * 1e-2)]
    low, high = axes.get_ylim()
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(ticks, [in_bytes(tick) for tick in ticks])
    axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
    axes.minorticks_off()
    axes.set(xlabel="words (tokens) in the context", ylabel="key-value cache")
    axes.grid()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    said = "; ".join(f"{label}: {', '.join(map(in_bytes, numbers))}" for label, numbers in sizes.items())
    words = ", ".join(f"{n:,}" for n in lengths)
    return figure, f"Size of the cache for {words} tokens, straight lines on logarithmic axes. {said}."


@picture
def windows(masks: Mapping[str, np.ndarray]):
    """Masks (size, size) side by side, by title."""
    figure, panels = plt.subplots(1, len(masks), figsize=(3.1 * len(masks), 3.5))
    for axes, (title, mask) in zip(np.atleast_1d(panels), masks.items()):
        names = [str(position) for position in range(len(mask))]
        mask_table(axes, mask, names, names, title)
        axes.tick_params(axis="x", rotation=0)
    said = in_each_row({title: mask.sum(axis=1) for title, mask in masks.items()})
    return figure, f"Masks as tables of ticks and crosses. Ticks in each row: {said}."


@picture
def recall(distances: Sequence[int], shares: Mapping[str, Sequence[float]], chance: float):
    """How often each way of attending finds what was asked for, by how long ago it was said."""
    figure, axes = plt.subplots(figsize=(8.2, 3.3))
    for (label, numbers), (colour, marker, style) in zip(shares.items(), _LINES):
        axes.plot(distances, numbers, style, color=colour, marker=marker, ms=4, label=label)
    axes.axhline(chance, color=GREY, lw=1, ls=":", label="guessing")
    axes.set(xlabel="how many positions ago it was said", ylabel="share found", ylim=(-0.04, 1.04))
    axes.grid()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    said = []
    for label, numbers in shares.items():
        found = [d for d, share in zip(distances, numbers) if share > 0.5]
        said.append(f"{label}: found more often than not at the distances {_ranges(found)}")
    return figure, (
        f"Share of what is found, for distances {distances[0]} to {distances[-1]}. {'; '.join(said)}. "
        f"Guessing finds {chance:.2f}."
    )


def _ranges(numbers: Sequence[int]) -> str:
    """Runs of whole numbers in words.

    >>> _ranges([0, 1, 2, 7])
    '0 to 2, 7'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs) or "none"


@picture
def merging(parts: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]):
    """Parts of one query's softmax average, by name, as boxes; the last of them is the others merged."""
    figure, axes = plt.subplots(figsize=(8.2, 2.7))
    *pieces, whole = parts.items()
    texts = {}
    for at, (name, part) in enumerate(pieces):
        place = (1 - 2 * at / max(1, len(pieces) - 1)) * 0.62
        texts[name] = box(axes, 0.5, place, _part(name, part), (ORANGE, BLUE, GREEN)[at % 3])
        arrow(axes, (0.83, place), (2.16, place / 4))
    box(axes, 2.5, 0, _part(*whole), PURPLE)
    axes.set(xlim=(0, 4.2), ylim=(-1.15, 1.15))
    result = whole[1][2] / whole[1][1]
    arrow(axes, (2.84, 0), (3.3, 0))
    axes.text(3.35, 0, f"out / sum\n= {_vector(result)}", ha="left", va="center", linespacing=1.4)
    axes.axis("off")
    said = "; ".join(_part(name, part).replace("\n", ", ") for name, part in parts.items())
    return (
        figure,
        f"Boxes and arrows, parts merged into the last one: {said}. Its out / sum is {_vector(result)}.",
    )


def _part(name: str, part: tuple[np.ndarray, np.ndarray, np.ndarray]) -> str:
    largest, total, out = (np.ravel(array) for array in part)
    return f"{name}\nmax {largest[0]:.4f}\nsum {total[0]:.4f}\nout {_vector(out)}"


def _vector(numbers: np.ndarray) -> str:
    return "(" + ", ".join(f"{number:.4g}" for number in np.ravel(numbers)) + ")"


@picture
def held_at_once(length: int, block: int):
    """What is in memory at one time: the whole table of scores, or one block of columns and three results."""
    widths = length + 0.4, length + 7.4
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.2), width_ratios=widths)
    for axes, title, width in zip(panels, ("all at once", f"in blocks of {block} keys"), widths):
        whole = axes is panels[0]
        for column in range(length):
            now = whole or block <= column < 2 * block
            style = {"facecolor": ORANGE} if now else {"facecolor": "none", "edgecolor": GREY, "lw": 0.6}
            for row in range(length):
                axes.add_patch(plt.Rectangle((column + 0.05, row + 0.05), 0.9, 0.9, **style))
        if not whole:
            for column, name in enumerate(("max", "sum", "out")):
                x = length + 1 + 2.2 * column
                axes.add_patch(plt.Rectangle((x, 0), 1, length, facecolor=BLUE))
                axes.text(x + 0.5, length + 0.35, name, ha="center", va="top")
        axes.set(xlim=(-0.2, width - 0.2), ylim=(length + 0.2, -0.2), aspect="equal")
        axes.set_title(title, loc="left")
        axes.set_xticks([length / 2], ["keys"])
        axes.set_yticks([length / 2], ["queries"])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return figure, (
        f"Two tables of {length} queries by {length} keys. All at once: every cell is held, {length**2} of them. "
        f"In blocks: only {block} columns are held at a time, {length * block} cells, and beside the table "
        "three results a query, called max, sum and out."
    )


@picture
def memory(lengths: Sequence[int], held: Mapping[str, Sequence[int]]):
    """The most bytes held at once against the length, measured."""
    figure, axes = plt.subplots(figsize=(8.2, 3.6))
    for (label, numbers), (colour, marker, style) in zip(held.items(), _LINES):
        axes.loglog(lengths, numbers, marker + style, color=colour, label=label)
        for length, number in zip(lengths, numbers):
            axes.annotate(
                in_bytes(number),
                (length, number),
                (-5, 4),
                textcoords="offset points",
                ha="right",
                va="bottom",
            )
    low, high = axes.get_ylim()
    ticks = [tick for tick in (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9) if low <= tick <= high]
    axes.set_yticks(ticks, [in_bytes(tick) for tick in ticks])
    axes.set_xticks(lengths, lengths)
    axes.minorticks_off()
    axes.set(xlabel="queries, and as many keys", ylabel="held at once", ylim=(low, high * 1.6))
    axes.set_xlim(lengths[0] * 0.6, lengths[-1] * 1.15)
    axes.grid()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    said = "; ".join(f"{label}: {', '.join(map(in_bytes, numbers))}" for label, numbers in held.items())
    return figure, f"Memory held at once for {', '.join(map(str, lengths))} queries and keys: {said}."


@picture
def cut_in_two(scores: np.ndarray, place: int, a: tuple, b: tuple, merged: tuple):
    """One query's scores (L,), the first `place` of them in part a, and what is kept of a, of b and of both."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3), width_ratios=[1, 1.9])
    keys = np.arange(len(scores))
    left.bar(keys, scores, color=[ORANGE if key < place else BLUE for key in keys])
    left.axvline(place - 0.5, color=GREY, ls="--", lw=1.4)
    left.axhline(0, color=GREY, lw=0.8)
    left.set(xlabel="key", ylabel="score", title="part a | part b", xticks=keys)
    for x, y, (name, part), colour in (
        (0.9, 0.55, ("part a", a), ORANGE),
        (0.9, -0.55, ("part b", b), BLUE),
        (3.0, 0, ("merged", merged), PURPLE),
    ):
        largest, total, out = (np.ravel(array) for array in part)
        numbers = ", ".join(f"{number:.2f}" for number in out)
        box(right, x, y, f"{name}\nmax {largest[0]:.2f}\nsum {total[0]:.3f}\nout ({numbers})", colour)
    arrow(right, (1.6, 0.5), (2.35, 0.12))
    arrow(right, (1.6, -0.5), (2.35, -0.12))
    result = ", ".join(f"{number:.3f}" for number in np.ravel(merged[2] / merged[1]))
    right.text(3.8, 0, f"out / sum\n({result})", ha="left", va="center", linespacing=1.4)
    right.set(xlim=(0, 5.2), ylim=(-1.15, 1.15))
    right.axis("off")
    said = "; ".join(
        f"{name}, max {np.ravel(p[0])[0]:.2f}, sum {np.ravel(p[1])[0]:.3f}, "
        f"out ({', '.join(f'{number:.2f}' for number in np.ravel(p[2]))})"
        for name, p in {"part a": a, "part b": b, "merged": merged}.items()
    )
    return (
        figure,
        f"{len(scores)} scores, the first {place} in part a: {said}. The merged out / sum is ({result}).",
    )
