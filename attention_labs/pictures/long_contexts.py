"""Pictures of the lab `long-contexts`, drawn from the notebook's own results."""

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
    format_table_rows,
    join_numbers,
    mask_table,
    picture,
    plt,
)

_LINES = (
    (ORANGE, "o", "-"),
    (BLUE, "s", "-"),
    (GREEN, "^", "--"),
    (PURPLE, "v", "--"),
    (GREY, "x", ":"),
)
_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))


def in_bytes(number: float) -> str:
    """Format a number of bytes with a unit; 1 kB is 1000 bytes.

    >>> in_bytes(327_680), in_bytes(33_554_432), in_bytes(8)
    ('328 kB', '33.6 MB', '8 bytes')
    """
    size, unit = next((u for u in _UNITS if number >= u[0]), _UNITS[-1])
    return f"{number / size:.3g} {unit}"


@picture
def what_is_made(steps: int):
    """Draw the keys and values that each step computes, without and with a cache."""
    figure, panels = plt.subplots(1, 2, figsize=(8.2, 4))
    for axes, title, has_cache in zip(panels, ("without a cache", "with a cache"), (False, True)):
        for step in range(steps):
            for position in range(step + 1):
                new = position == step or not has_cache
                style = {"facecolor": ORANGE} if new else {"facecolor": "none", "edgecolor": GREY}
                axes.add_patch(plt.Rectangle((position + 0.06, step + 0.06), 0.88, 0.88, **style))
        axes.set(xlim=(-0.1, steps + 0.1), ylim=(steps + 0.1, -0.1), aspect="equal", title=title)
        axes.set_xticks(np.arange(steps) + 0.5, range(steps))
        axes.set_yticks(np.arange(steps) + 0.5, range(1, steps + 1))
        axes.set(xlabel="position", ylabel="step")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    full = plt.Rectangle((0, 0), 1, 1, facecolor=ORANGE, label="computed in this step")
    empty = plt.Rectangle((0, 0), 1, 1, facecolor="none", edgecolor=GREY, label="in the cache")
    figure.legend(handles=[full, empty], loc="outside lower center", ncols=2)
    return figure, (
        f"Two tables, {steps} steps by {steps} positions. Filled: a key and a value are computed in "
        "this step; empty: they are in the cache. Without a cache all positions so far are filled "
        f"in each step, {steps * (steps + 1) // 2} in total; with a cache one in each step, "
        f"{steps} in total."
    )


@picture
def work(
    lengths: Sequence[int],
    counts: Mapping[str, Sequence[int]],
    seconds: Mapping[str, Sequence[float]],
):
    """Draw the work of writing a number of tokens: counted on the left, measured on the right."""
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.4))
    descriptions = []
    for axes, rows, quantity, form in zip(
        panels,
        (counts, seconds),
        ("keys and values computed", "seconds"),
        (",.0f", ".3f"),
    ):
        for (label, numbers), (colour, marker, style) in zip(rows.items(), _LINES):
            axes.plot(lengths, numbers, marker + style, color=colour, label=label)
            descriptions.append(
                f"{quantity}, {label}: {join_numbers(numbers, form)}",
            )
        axes.set(xlabel="tokens written", ylabel=quantity, ylim=(0, None), xticks=lengths)
        axes.grid()
    panels[0].yaxis.set_major_formatter("{x:,.0f}")
    panels[0].set_title("counted")
    panels[1].set_title("measured here")
    panels[0].legend()
    tokens = join_numbers(lengths)
    return figure, f"Two line charts over {tokens} tokens written. {'; '.join(descriptions)}."


@picture
def caches(
    lengths: Sequence[int],
    sizes: Mapping[str, Sequence[int]],
    accelerators: Mapping[str, float],
):
    """Draw bytes of cache against the length, by shape, and the memory of some accelerators."""
    figure, axes = plt.subplots(figsize=(8.2, 3.9))
    for (label, numbers), (colour, marker, style) in zip(sizes.items(), _LINES):
        axes.loglog(lengths, numbers, marker + style, color=colour, label=label)
    for name, room in accelerators.items():
        axes.axhline(room, color=GREY, lw=1)
        axes.text(lengths[0], room * 1.1, f"one {name}: {in_bytes(room)}", va="bottom")
    ticks: list[float] = []
    for size, _ in _UNITS[:-1]:
        ticks += [size, size * 1e-1, size * 1e-2]
    low, high = axes.get_ylim()
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(ticks, [*map(in_bytes, ticks)])
    axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
    axes.minorticks_off()
    axes.set(xlabel="tokens in the context", ylabel="key-value cache")
    axes.grid()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    description = "; ".join(
        f"{label}: {', '.join(map(in_bytes, numbers))}" for label, numbers in sizes.items()
    )
    tokens = join_numbers(lengths, ",")
    rooms = "; ".join(f"{name}, {in_bytes(room)}" for name, room in accelerators.items())
    return figure, (
        f"Size of the cache for {tokens} tokens, straight lines on logarithmic axes. {description}. "
        f"Lines across, the memory of accelerators: {rooms}."
    )


@picture
def windows(masks: Mapping[str, np.ndarray]):
    """Draw masks (size, size) next to each other, by title."""
    figure, panels = plt.subplots(1, len(masks), figsize=(3.1 * len(masks), 3.5))
    for axes, (title, mask) in zip(np.atleast_1d(panels), masks.items()):
        names = [*map(str, range(len(mask)))]
        mask_table(axes, mask, names, names, title)
        axes.tick_params(axis="x", rotation=0)
    description = format_table_rows({title: mask.sum(axis=1) for title, mask in masks.items()})
    return figure, f"Masks as tables of ticks and crosses. Ticks in each row: {description}."


@picture
def recall(distances: Sequence[int], shares: Mapping[str, Sequence[float]], chance: float):
    """Draw the share of right answers by the distance of the answer, for kinds of attention."""
    figure, axes = plt.subplots(figsize=(8.2, 3.3))
    for (label, numbers), (colour, marker, style) in zip(shares.items(), _LINES):
        axes.plot(distances, numbers, style, color=colour, marker=marker, ms=4, label=label)
    axes.axhline(chance, color=GREY, lw=1, ls=":", label="guessing")
    axes.set(
        xlabel="distance of the fact, in positions",
        ylabel="share of right answers",
        ylim=(-0.04, 1.04),
    )
    axes.grid()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    descriptions = []
    for label, numbers in shares.items():
        good_distances = [d for d, share in zip(distances, numbers) if share > 0.5]
        descriptions.append(
            f"{label}: mostly right at the distances {_ranges(good_distances)}",
        )
    return figure, (
        f"Share of right answers, for distances {distances[0]} to {distances[-1]}. "
        f"{'; '.join(descriptions)}. A guess is right in {chance:.2f}."
    )


def _ranges(numbers: Sequence[int]) -> str:
    """Format whole numbers as text; neighbouring numbers become ranges.

    >>> _ranges([0, 1, 2, 7])
    '0 to 2, 7'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = []
    for run in runs:
        texts.append(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]))
    return ", ".join(texts) or "none"


@picture
def merging(parts: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]):
    """Draw the parts of one query's softmax average as boxes, and last the parts merged."""
    figure, axes = plt.subplots(figsize=(8.2, 2.7))
    *pieces, result_part = parts.items()
    texts = {}
    for index, (name, part) in enumerate(pieces):
        place = (1 - 2 * index / max(1, len(pieces) - 1)) * 0.62
        texts[name] = box(axes, 0.5, place, _part(name, part), (ORANGE, BLUE, GREEN)[index % 3])
        arrow(axes, (0.83, place), (2.16, place / 4))
    box(axes, 2.5, 0, _part(*result_part), PURPLE)
    axes.set(xlim=(0, 4.2), ylim=(-1.15, 1.15))
    result = result_part[1][2] / result_part[1][1]
    arrow(axes, (2.84, 0), (3.3, 0))
    axes.text(3.35, 0, f"out / sum\n= {_vector(result)}", ha="left", va="center", linespacing=1.4)
    axes.axis("off")
    description = "; ".join(_part(name, part).replace("\n", ", ") for name, part in parts.items())
    return (
        figure,
        f"Boxes and arrows, parts merged into the last one: {description}. Its out / sum is "
        f"{_vector(result)}.",
    )


def _part(name: str, part: tuple[np.ndarray, np.ndarray, np.ndarray]) -> str:
    largest, total, output = map(np.ravel, part)
    return f"{name}\nmax {largest[0]:.4f}\nsum {total[0]:.4f}\nout {_vector(output)}"


def _vector(numbers: np.ndarray) -> str:
    return f"({join_numbers(np.ravel(numbers), '.4g')})"


@picture
def held_at_once(length: int, block: int):
    """Draw the numbers held in memory at once: all scores, or one block and three results."""
    widths = length + 0.4, length + 7.4
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.2), width_ratios=widths)
    for axes, title, width in zip(panels, ("all at once", f"in blocks of {block} keys"), widths):
        full_table = axes is panels[0]
        for column in range(length):
            in_memory = full_table or block <= column < 2 * block
            style = (
                {"facecolor": ORANGE}
                if in_memory
                else {"facecolor": "none", "edgecolor": GREY, "lw": 0.6}
            )
            for row in range(length):
                axes.add_patch(plt.Rectangle((column + 0.05, row + 0.05), 0.9, 0.9, **style))
        if not full_table:
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
        f"Two matrices of scores, {length} queries by {length} keys. All at once: every score is in "
        f"memory, {length**2} of them. In blocks: only {block} columns at a time, {length * block} "
        "scores, and three results for each query, called max, sum and out."
    )


@picture
def memory(lengths: Sequence[int], sizes: Mapping[str, Sequence[int]]):
    """Draw the measured peak memory against the length."""
    figure, axes = plt.subplots(figsize=(8.2, 3.6))
    for (label, numbers), (colour, marker, style) in zip(sizes.items(), _LINES):
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
    axes.set_yticks(ticks, [*map(in_bytes, ticks)])
    axes.set_xticks(lengths, lengths)
    axes.minorticks_off()
    axes.set(xlabel="queries, and as many keys", ylabel="peak memory", ylim=(low, high * 1.6))
    axes.set_xlim(lengths[0] * 0.6, lengths[-1] * 1.15)
    axes.grid()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    description = "; ".join(
        f"{label}: {', '.join(map(in_bytes, numbers))}" for label, numbers in sizes.items()
    )
    return (
        figure,
        f"Peak memory for {', '.join(map(str, lengths))} queries and keys: {description}.",
    )


@picture
def slow_and_fast(length: int, d: int, fast: int):
    """Draw slow and fast memory, and the numbers that one head moves between them.

    Parameters
    ----------
    length : int
        The number of queries, and of keys.
    d : int
        The size of a query, a key and a value.
    fast : int
        The number of numbers that fit into fast memory.
    """
    block = fast // (4 * d)
    vectors, table, passes = length * d, length**2, -(-length // block)
    plans = {
        f"all at once: {_millions(4 * vectors + 4 * table)} numbers move": [
            ("Q, K", 2 * vectors, False),
            ("scores", table, True),
            ("scores", table, False),
            ("weights", table, True),
            ("weights, V", table + vectors, False),
            ("result", vectors, True),
        ],
        f"in blocks: {_millions(2 * vectors + passes * 2 * vectors)} numbers move": [
            ("Q", vectors, False),
            (f"{passes} times K, V", 2 * passes * vectors, False),
            ("result", vectors, True),
        ],
    }
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.8))
    descriptions = []
    for axes, (title, moves) in zip(panels, plans.items()):
        axes.set(xlim=(-0.2, 10.6), ylim=(-0.4, 7.2))
        axes.set_title(title)
        axes.axis("off")
        for x, width, colour, name, turn in (
            (0, 2, BLUE, "slow,\nlarge\nmemory", 0),
            (7.2, 0.8, ORANGE, "fast, small memory", 90),
        ):
            axes.add_patch(plt.Rectangle((x, 0), width, 7, facecolor=colour))
            style = {"ha": "center", "va": "center", "color": "white", "linespacing": 1.4}
            axes.text(x + width / 2, 3.5, name, rotation=turn, **style)
        arrow(axes, (8.05, 3.5), (8.75, 3.5), head="<|-|>", lw=1.6)
        box(axes, 9.6, 3.5, "arith-\nmetic", PURPLE)
        for (name, count, is_written), y in zip(moves, np.linspace(6.1, 0.5, len(moves))):
            ends = (2.1, y), (7.1, y)
            if is_written:
                ends = ends[1], ends[0]
            width = min(1.2 + 7 * count / table, 8)
            colour = GREEN if is_written else GREY
            arrow(
                axes, *ends, lw=width, color=colour, mutation_scale=9 + width, shrinkA=0, shrinkB=0
            )
            axes.text(4.6, y + 0.22, f"{name}: {_millions(count)}", ha="center", va="bottom")
            verb = "written" if is_written else "read"
            descriptions.append(f"{title.split(':')[0]}, {name} {verb}, {_millions(count)}")
    handles = [
        plt.Line2D([], [], color=GREY, lw=3, label="read from slow memory"),
        plt.Line2D([], [], color=GREEN, lw=3, label="written to slow memory"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return figure, (
        f"Two diagrams of a large slow memory and a small fast one next to the arithmetic, for "
        f"{length:,} queries and keys of size {d}. {'; '.join(plans)}. Arrows between the memories: "
        f"{'; '.join(descriptions)}."
    )


def _millions(number: int) -> str:
    """Format a number in millions.

    >>> _millions(16_777_216)
    '16.8 million'
    """
    return f"{number / 1e6:.1f} million"


@picture
def cut_in_two(scores: np.ndarray, place: int, a: tuple, b: tuple, result_part: tuple):
    """Draw one query's scores (L,), cut into parts a and b at `place`, and the states of both."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3), width_ratios=[1, 1.9])
    keys = np.arange(len(scores))
    left.bar(keys, scores, color=[ORANGE if key < place else BLUE for key in keys])
    left.axvline(place - 0.5, color=GREY, ls="--", lw=1.4)
    left.axhline(0, color=GREY, lw=0.8)
    left.set(xlabel="key", ylabel="score", title="part a | part b", xticks=keys)
    for x, y, (name, part), colour in (
        (0.9, 0.55, ("part a", a), ORANGE),
        (0.9, -0.55, ("part b", b), BLUE),
        (3.0, 0, ("merged", result_part), PURPLE),
    ):
        largest, total, output = map(np.ravel, part)
        numbers = join_numbers(output, ".2f")
        box(
            right,
            x,
            y,
            f"{name}\nmax {largest[0]:.2f}\nsum {total[0]:.3f}\nout ({numbers})",
            colour,
        )
    arrow(right, (1.6, 0.5), (2.35, 0.12))
    arrow(right, (1.6, -0.5), (2.35, -0.12))
    result = join_numbers(np.ravel(result_part[2] / result_part[1]), ".3f")
    right.text(3.8, 0, f"out / sum\n({result})", ha="left", va="center", linespacing=1.4)
    right.set(xlim=(0, 5.2), ylim=(-1.15, 1.15))
    right.axis("off")
    description = "; ".join(
        f"{name}, max {np.ravel(p[0])[0]:.2f}, sum {np.ravel(p[1])[0]:.3f}, "
        f"out ({join_numbers(np.ravel(p[2]), '.2f')})"
        for name, p in {"part a": a, "part b": b, "merged": result_part}.items()
    )
    return (
        figure,
        f"{len(scores)} scores, the first {place} in part a: {description}. The merged out / sum "
        f"is ({result}).",
    )
