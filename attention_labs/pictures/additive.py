"""Pictures of the lab `additive-attention`."""

from collections.abc import Sequence
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
def bottleneck():
    """Draw an encoder and a decoder twice: joined by one vector, and joined by attention."""
    figure, (single, attending) = plt.subplots(2, 1, figsize=(8, 5.6), height_ratios=[3.2, 3.8])
    for axes, title in [
        (single, "without attention: the decoder gets one vector, whatever the length"),
        (attending, "with attention: before each word, the decoder mixes all encoder states"),
    ]:
        axes.set(xlim=(-0.1, 12.3), ylim=(-0.5, 3.3 if axes is attending else 2.7))
        axes.set_title(title, loc="left")
        axes.axis("off")
        _draw_states(axes, "h", [0.8, 2.2, 3.6, 5.0], BLUE)
        _draw_states(axes, "s", [8.6, 10.0, 11.4], ORANGE)
        for x, word in zip([0.8, 2.2, 3.6, 5.0], ["we", "signed", "the", "agreement"]):
            axes.text(x, -0.2, word, ha="center", va="center")
            arrow(axes, (x, 0.05), (x, 0.6))
        for x, word in zip([8.6, 10.0, 11.4], ["nous", "avons", "signé"]):
            arrow(axes, (x, 1.4), (x, 2.1))
            axes.text(x, 2.35, word, ha="center", va="center")
    box(single, 6.8, 1, "one\nvector", PURPLE)
    arrow(single, (5.35, 1), (6.2, 1))
    arrow(single, (7.4, 1), (8.25, 1))
    arrow(attending, (5.35, 1), (8.25, 1), ls="--")
    weights = [0.05, 0.85, 0.05, 0.05]
    for x, weight in zip([0.8, 2.2, 3.6, 5.0], weights):
        attending.plot([x, 6.3], [1.35, 2.55], color=GREEN, lw=1 + 5 * weight, zorder=0)
        attending.text(x + 0.12, 0.32, weight, va="center", color=GREEN)
    box(attending, 6.5, 2.75, "context\nfor signé", GREEN)
    attending.plot([7.2, 10.7], [2.9, 2.9], color=GREEN, lw=2)
    arrow(attending, (10.69, 2.92), (11.2, 1.35), color=GREEN, lw=2)
    return figure, (
        "Two drawings of an encoder that reads we signed the agreement and a decoder that writes "
        "nous avons signé. Above, without attention: the encoder states h1 to h4 are reached one "
        "after the other, and only the last one leads, through a single vector, to the decoder "
        "states. Below, with attention: lines go from all four encoder states to a context "
        "vector, the thickest, 0.85, from signed; the context leads to the decoder state that "
        "writes signé."
    )


def _draw_states(axes, letter: str, places: Sequence[float], colour: str) -> None:
    """Draw a chain of numbered states at the height 1, from left to right."""
    for number, x in enumerate(places, 1):
        box(axes, x, 1, f"${letter}_{number}$", colour)
    for left, right in pairwise(places):
        arrow(axes, (left + 0.35, 1), (right - 0.35, 1))


@picture
def the_idea():
    """Draw the flow from three words and a decoder state to scores, weights and context."""
    figure, axes = plt.subplots(figsize=(8, 5.8))
    axes.set(xlim=(-0.5, 10), ylim=(-0.4, 7.1))
    axes.axis("off")
    axes.plot([0.75, 8.6], [1.35, 1.35], color=ORANGE, lw=1.6, zorder=0)
    axes.plot([0.75, 0.75], [0.5, 1.35], color=ORANGE, lw=1.6, zorder=0)
    box(axes, 0.75, 0.2, "decoder state\n$s$", ORANGE)
    for x, word, share in [(3.6, 1, 0.1), (6.1, 2, 0.7), (8.6, 3, 0.2)]:
        box(axes, x, 0.2, f"encoder state\n$h_{word}$ of word {word}", BLUE)
        arrow(axes, (x, 0.7), (x, 1.85))
        axes.plot(x, 1.35, "o", color=ORANGE)
        box(axes, x, 2.3, f"two layers\nscore $e_{word}$", GREY)
        arrow(axes, (x, 2.75), (x, 3.4))
        arrow(axes, (x, 3.98), (x, 4.5))
        axes.bar(x, share * 1.3, bottom=4.55, width=0.8, color=BLUE)
        axes.text(x + 0.5, 4.62, f"$w_{word}$ = {share}", fontsize=11)
        arrow(axes, (x, 5.5 if word == 2 else 4.62 + share * 1.3), (6.1 + (x - 6.1) * 0.45, 6.2))
    box(axes, 6.1, 3.7, "softmax: scores become weights that add up to 1".center(66), GREY)
    box(axes, 6.1, 6.6, "context vector   $c = 0.1\\,h_1 + 0.7\\,h_2 + 0.2\\,h_3$", GREEN)
    for y, text in [(2.3, "1. score"), (3.7, "2. weights"), (6.6, "3. average")]:
        axes.text(-0.4, y, text, fontsize=12, va="center")
    return figure, (
        "There are three encoder states. Each is joined with the same decoder state and "
        "goes through two layers, which give its score. Softmax turns the three scores into the "
        "weights 0.1, 0.7 and 0.2. The context vector is the sum of the three encoder states, "
        "each times its weight."
    )


@picture
def tanh_curve():
    """Draw the curve of tanh, with its values at 0, 1, 2 and 3."""
    x = np.linspace(-4, 4, 200)
    figure, axes = plt.subplots(figsize=(6.5, 3))
    axes.plot(x, np.tanh(x), color=BLUE, lw=2)
    for position in [0, 1, 2, 3]:
        axes.plot(position, np.tanh(position), "o", color=ORANGE)
        height = 1.12 if position == 3 else np.tanh(position) - 0.27
        axes.text(position + 0.15, height, f"tanh {position} = {np.tanh(position):.3g}")
    for edge in [-1, 1]:
        axes.axhline(edge, color=GREY, lw=0.8, ls="--")
    axes.set(xlabel="x", ylabel="tanh x", xlim=(-4, 5.4), ylim=(-1.2, 1.4))
    return figure, (
        "The curve of tanh rises from nearly -1 on the left, steeply through 0, to nearly 1 on "
        "the right. Marked: tanh 0 = 0, tanh 1 = 0.762, tanh 2 = 0.964, tanh 3 = 0.995."
    )


@picture
def joined(encoder_states: np.ndarray, decoder_state: np.ndarray):
    """Draw the halves of the matrix [H; S]: encoder states (K, n), and a decoder state K times."""
    words, size = encoder_states.shape
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.8))
    scale = {"cmap": COLOURS, "vmin": -2.5, "vmax": 2.5, "aspect": "auto"}
    left_image = left.imshow(encoder_states, **scale)
    left.set(
        title="left half $H$: encoder states", xlabel=f"columns 0 to {size - 1}", ylabel="word"
    )
    left.set_xticks(range(0, size, 2))
    left.set_yticks(range(words), range(1, words + 1))
    right.imshow(np.tile(decoder_state, (words, 1)), **scale)
    right.set(
        title="right half $S$: the decoder state in every row",
        xlabel=f"columns {size} to {2 * size - 1}",
    )
    right.set_xticks(range(0, size, 2), range(size, 2 * size, 2))
    right.set_yticks([])
    for axes in (left, right):
        axes.spines[:].set_visible(False)
    figure.colorbar(left_image, ax=[left, right], label="value").outline.set_visible(False)
    return figure, (
        f"Two colour maps side by side, each with {words} rows and {size} columns. On the left "
        "every row is different: the encoder states. On the right all rows look the same: the "
        "decoder state."
    )


@picture
def weights_as_bars(charts: dict[str, np.ndarray]):
    """Draw bar charts of attention weights, (K,) or (K, 1), one for each title."""
    shares = {title: np.ravel(weights) for title, weights in charts.items()}
    figure, panels = plt.subplots(
        1,
        len(shares),
        figsize=(4.2 * len(shares), 3.3),
        squeeze=False,
        sharey=True,
    )
    descriptions = []
    for axes, (title, heights) in zip(panels[0], shares.items()):
        names = _name_words(len(heights))
        descriptions.append(f"{title}: {join_named(names, heights, '.3f')}")
        even = 1 / len(heights)
        axes.bar(names, heights, color=BLUE)
        for place, height in enumerate(heights):
            foot = even if even - 0.09 < height < even else height  # not across the dashed line
            axes.text(place, foot + 0.02, f"{height:.3f}", ha="center", va="bottom")
        axes.axhline(even, color=ORANGE, ls="--", lw=1.5, label="equal weights")
        axes.set(ylim=(0, 1), title=title)
        axes.tick_params(axis="x", labelsize=9.5)
    panels[0, 0].set_ylabel("weight")
    panels[0, -1].legend()
    return figure, f"Bar chart of attention weights. {'; '.join(descriptions)}.".replace("$", "")


@picture
def from_state_to_state(rows: np.ndarray, states: Sequence[str]):
    """Draw attention weights, (states, K), as a heatmap with a row for each decoder state."""
    words = _name_words(rows.shape[1])
    figure, axes = plt.subplots(figsize=(6.5, 4.4))
    heatmap(axes, rows, states, words, limits=(0, 1), numbers=True, mark=False)
    for row, k in enumerate(rows.argmax(axis=1)):
        axes.add_patch(
            plt.Rectangle((k - 0.46, row - 0.44), 0.92, 0.88, fill=False, edgecolor=ORANGE, lw=2.5),
        )
    axes.set(xlabel="word that gets the attention", ylabel="decoder state")
    axes.set_xticks(range(len(words)), words, rotation=0, ha="center")
    best = join_numbers(rows.argmax(axis=1) + 1)
    return figure, (
        f"Heatmap with {len(rows)} rows, one for each decoder state, and {len(words)} columns of "
        f"words. From top to bottom, the largest weight of a row stands at the words {best}."
    )


@picture
def norms_and_evenness(multiples: np.ndarray, norms: np.ndarray, largest: np.ndarray):
    """Draw the context vector's norm and the largest weight, by multiples of a decoder state."""
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(6.5, 4.6), sharex=True)
    smallest, most_even = norms.argmin(), largest.argmin()
    upper.plot(multiples, norms, color=GREEN, lw=2)
    upper.plot(multiples[smallest], norms[smallest], "o", color=ORANGE)
    upper.set(ylabel="norm of the context", ylim=(0, None))
    lower.plot(multiples, largest, color=BLUE, lw=2)
    lower.plot(multiples[most_even], largest[most_even], "o", color=ORANGE)
    lower.set(ylabel="largest weight", xlabel="decoder state: s times", ylim=(0, 1))
    lower.invert_xaxis()
    return figure, (
        "Two curves over the multiple of the decoder state s, from 1 on the left to -1 on the "
        f"right. The norm of the context vector is smallest, {norms[smallest]:.2f}, at "
        f"{multiples[smallest]:.2f} times s. The largest weight is smallest, "
        f"{largest[most_even]:.2f}, at {multiples[most_even]:.2f} times s."
    )


@picture
def slow_turn(angles: np.ndarray, weights: dict[str, np.ndarray]):
    """Draw the weights of all words while a decoder state (2 numbers) turns; angles in degrees."""
    figure, axes = plt.subplots(figsize=(6.5, 3))
    words = list(weights)
    for word, colour, line in zip(words, [BLUE, ORANGE], ["-", "--"]):
        axes.plot(angles, weights[word], color=colour, lw=2, ls=line, label=word)
    axes.set(ylim=(0, 1), ylabel="weight", xlabel="decoder state, from [1, 0] to [0, 1]")
    axes.set_xticks([0, 45, 90], ["[1, 0]", "[0.71, 0.71]", "[0, 1]"])
    axes.legend()
    first, last = ([shares[place] for shares in weights.values()] for place in (0, -1))
    return figure, (
        f"The weights of {' and '.join(words)} while the decoder state turns from [1, 0] to "
        f"[0, 1]. At the beginning: {join_named(words, first, '.2f')}; at the end: "
        f"{join_named(words, last, '.2f')}."
    )


def _name_words(count: int) -> list[str]:
    return [f"word {number}" for number in range(1, count + 1)]
