"""Pictures of the lab `cheaper-attention`, drawn from the notebook's own results."""

from collections.abc import Mapping, Sequence

import numpy as np

from attention_labs.pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, picture, plt
from attention_labs.pictures.long_contexts import in_bytes

_LINES = (
    (ORANGE, "o", "-"),
    (BLUE, "s", "-"),
    (GREEN, "^", "--"),
    (PURPLE, "v", "--"),
    (GREY, "x", ":"),
)


@picture
def two_orders(length: int, d_k: int, d_v: int):
    """Draw a product of three matrices, computed in two orders, with the sizes of all arrays."""
    figure, panels = plt.subplots(2, 1, figsize=(8.6, 6.2))
    sides = {"L": 2.3, "d_k": 0.9, "d_v": 0.9}
    numbers = {"L": length, "d_k": d_k, "d_v": d_v}
    rows = (
        (
            "keys with queries first",
            (("φ(Q)", "L", "d_k", BLUE), ("φ(K)ᵀ", "d_k", "L", BLUE)),
            ("table", "L", "L", ORANGE),
            ("V", "L", "d_v", BLUE),
        ),
        (
            "keys with values first",
            (("φ(K)ᵀ", "d_k", "L", BLUE), ("V", "L", "d_v", BLUE)),
            ("state", "d_k", "d_v", ORANGE),
            ("φ(Q)", "L", "d_k", BLUE),
        ),
    )
    said = []
    for axes, (title, factors, middle, other) in zip(panels, rows):
        last = ("result", "L", "d_v", GREEN)
        second = (middle, other) if middle[0] == "table" else (other, middle)
        order = [factors[0], "·", factors[1], "→", second[0], "·", second[1], "→", last]
        x = 0.0
        for part in order:
            if isinstance(part, str):
                axes.text(x + 0.25, 0, part, ha="center", va="center", fontsize=16)
                x += 0.6
                continue
            name, tall, wide, colour = part
            high, across = sides[tall], sides[wide]
            axes.add_patch(
                plt.Rectangle((x, -high / 2), across, high, facecolor=colour, edgecolor="none")
            )
            axes.text(x + across / 2, high / 2 + 0.12, name, ha="center", va="bottom")
            size = f"{numbers[tall]:,} × {numbers[wide]:,}"
            axes.text(x + across / 2, -high / 2 - 0.12, size, ha="center", va="top", fontsize=9)
            x += across + 0.1
        held = numbers[middle[1]] * numbers[middle[2]]
        work = length * length * (d_k + d_v) if middle[0] == "table" else 2 * length * d_k * d_v
        axes.set(xlim=(-0.3, 11.4), ylim=(-1.75, 1.75))
        axes.set_title(f"{title}: {held:,} numbers between, {work:,} multiplications", loc="left")
        axes.axis("off")
        said.append(
            f"{title}: a {middle[0]} of {numbers[middle[1]]:,} by {numbers[middle[2]]:,}, "
            f"{held:,} numbers, {work:,} multiplications"
        )
    return figure, f"Rectangles for the arrays of one product, in two orders. {'; '.join(said)}."


@picture
def feature_maps(x: np.ndarray, curves: Mapping[str, np.ndarray]):
    """Draw curves of feature maps: each gives a feature for one number x of a query or key."""
    figure, axes = plt.subplots(figsize=(7.4, 3.3))
    for (label, y), (colour, _, _), style in zip(curves.items(), _LINES, ("-", "--", ":")):
        axes.plot(x, y, style, color=colour, label=label, lw=2)
    axes.axhline(0, color=GREY, lw=0.8)
    axes.set(xlabel="x, one number of a query or key", ylabel="its feature", ylim=(-1.3, 5))
    axes.grid()
    axes.legend()
    said = "; ".join(f"{label} from {y[0]:.2f} to {y[-1]:.2f}" for label, y in curves.items())
    return figure, f"Curves for x from {x[0]:g} to {x[-1]:g}: {said}."


@picture
def kept(lengths: Sequence[int], sizes: Mapping[str, Sequence[int]]):
    """Draw the bytes of memory needed while writing, against the number of tokens so far."""
    figure, axes = plt.subplots(figsize=(7.6, 3.3))
    for (label, numbers), (colour, marker, style) in zip(sizes.items(), _LINES):
        axes.loglog(lengths, numbers, marker + style, color=colour, label=label)
    low, high = axes.get_ylim()
    ticks = [tick for tick in 10.0 ** np.arange(2, 12) if low <= tick <= high]
    axes.set_yticks(ticks, [in_bytes(tick) for tick in ticks])
    axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
    axes.minorticks_off()
    axes.set(xlabel="tokens so far", ylabel="kept, one head")
    axes.grid()
    axes.legend()
    said = "; ".join(
        f"{label}: {', '.join(map(in_bytes, numbers))}" for label, numbers in sizes.items()
    )
    tokens = ", ".join(f"{n:,}" for n in lengths)
    return figure, f"What is kept after {tokens} tokens, both axes logarithmic. {said}."


@picture
def recall(
    pairs: Sequence[int],
    wrong: Mapping[str, np.ndarray],
    distances: Mapping[str, np.ndarray],
    chance: float,
):
    """Draw how well stored pairs are recalled, (seeds, pairs): wrong answers, and distances."""
    figure, panels = plt.subplots(1, 2, figsize=(9.4, 4.1))
    said = []
    for axes, rows, what in zip(
        panels, (wrong, distances), ("share of wrong answers", "distance from the value")
    ):
        for (label, numbers), (colour, marker, style) in zip(rows.items(), _LINES):
            axes.plot(pairs, numbers.mean(axis=0), marker + style, color=colour, label=label, ms=5)
            axes.fill_between(
                pairs, numbers.min(axis=0), numbers.max(axis=0), color=colour, alpha=0.2, lw=0
            )
            means = ", ".join(f"{number:.2f}" for number in numbers.mean(axis=0))
            said.append(f"{what}, {label}: {means}")
        axes.set_xscale("log", base=2)
        axes.set_xticks(pairs, pairs)
        axes.set(xlabel="stored pairs", ylabel=what)
        axes.grid()
    panels[0].axhline(1 - chance, color=GREY, ls=":", lw=1.2)
    panels[0].text(pairs[0], 1 - chance, "guessing", va="bottom")
    panels[0].set_ylim(-0.04, 1.0)
    panels[1].set_ylim(bottom=-0.05)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(wrong)
    )
    stored = ", ".join(map(str, pairs))
    return figure, (
        f"Two line charts over {stored} stored pairs, with bands from the smallest to the largest seed. "
        f"{'; '.join(said)}. Guessing is wrong in {1 - chance:.2f} of the cases."
    )


@picture
def rewriting(rewritten: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray], chance: float):
    """Draw the share of right answers, (seeds,), for a key with a new value and for others."""
    figure, axes = plt.subplots(figsize=(8.2, 3.4))
    places = np.arange(len(rewritten))
    said = []
    for rows, shift, colour, label in (
        (rewritten, -0.19, ORANGE, "the key that was rewritten"),
        (others, 0.19, BLUE, "the other keys"),
    ):
        means = [numbers.mean() for numbers in rows.values()]
        axes.bar(places + shift, means, 0.34, color=colour, label=label)
        for place, numbers in zip(places + shift, rows.values()):
            axes.plot([place, place], [numbers.min(), numbers.max()], color=GREY, lw=2.5)
            axes.text(
                place,
                numbers.max() + 0.02,
                f"{numbers.mean():.2f}",
                ha="center",
                va="bottom",
                fontsize=9,
            )
        said.append(f"{label}: {', '.join(f'{n} {m:.2f}' for n, m in zip(rows, means))}")
    axes.axhline(chance, color=GREY, ls=":", lw=1.2, label="guessing")
    axes.set_xticks(places, list(rewritten))
    axes.set(ylabel="share of right answers", ylim=(0, 1.15))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure, (
        f"Bars for each way of storing, with the range over the seeds. {'; '.join(said)}. "
        f"Guessing is right in {chance:.2f} of the cases."
    )


@picture
def bytes_a_token(models: Mapping[str, int]):
    """Draw the bytes of cache that each model needs for one more token."""
    figure, axes = plt.subplots(figsize=(8.4, 3))
    names, numbers = list(models), list(models.values())
    axes.barh(range(len(names)), numbers, color=BLUE, height=0.62)
    for row, number in enumerate(numbers):
        axes.text(number * 1.08, row, f"{number:,}", va="center")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    ticks = [tick for tick in (1e3, 1e4, 1e5, 1e6, 1e7) if tick < max(numbers) * 10]
    axes.set_xticks(ticks, [in_bytes(tick) for tick in ticks])
    axes.set_xlim(1e3, max(numbers) * 6)
    axes.minorticks_off()
    axes.set_xlabel("cache for one more token, 16-bit numbers (logarithmic axis)")
    axes.grid(axis="x")
    said = ", ".join(f"{name}: {number:,}" for name, number in models.items())
    return figure, f"Bars on a logarithmic axis, bytes of cache for one token. {said}."
