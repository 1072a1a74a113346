"""Pictures of the lab `tiny-transformer`."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from attention_labs.pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    arrow,
    box,
    join_named,
    picture,
    plt,
)

_TOKENS = {"nora": "weaver", "weaver": "hid", "hid": "the"}


@picture
def model():
    """Draw a model over three tokens, and one block: the residual stream and its two branches."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 6.2), width_ratios=(1.15, 1))
    for axes, title in (
        (left, "the model, over three tokens"),
        (right, "one block, for each token"),
    ):
        axes.set(xlim=(0, 10), ylim=(0, 12), title=title)
        axes.set_axis_off()
    _draw_streams(left)
    _draw_block(right)
    return figure, (
        "Left: a model over the tokens nora, weaver, hid. Each token has a row of its own in the "
        "residual stream, drawn upwards. At the bottom token and position vectors enter the stream. "
        "In block 0 attention brings information from earlier tokens to later ones, and the "
        "feed-forward network works on each token alone. Block 1 does the same again, and more blocks may "
        "follow. At the top a layer norm and the token vectors turn each row into logits: after nora "
        "comes weaver, after weaver hid, after hid the. Right: one block. The stream x passes "
        "straight through. A first branch leaves it, goes through layer norm 1 and attention, and is "
        "added to the stream; a second branch does the same through layer norm 2 and the feed-forward "
        "network."
    )


def _draw_streams(axes) -> None:
    """Draw the streams of three tokens through two blocks."""
    columns = (2.6, 5.6, 8.6)
    for x, (token, following) in zip(columns, _TOKENS.items()):
        axes.text(x, 0.25, token, ha="center", va="center", fontsize=12)
        arrow(axes, (x, 0.6), (x, 11.1), lw=2.5)
        axes.text(x, 11.5, following, ha="center", va="center", fontsize=12, color=ORANGE)
    axes.text(0.1, 0.25, "tokens", va="center")
    axes.text(0.1, 11.5, "next", va="center", color=ORANGE)
    for x in columns:
        box(axes, x, 1.6, "vectors", PURPLE)
    for name, height in (("block 0", 3.2), ("block 1, …", 6.5)):
        corner = plt.Rectangle((1.2, height - 0.6), 8.75, 2.9, fill=False, edgecolor=GREY, ls="--")
        axes.add_patch(corner)
        axes.text(0.95, height + 0.85, name, rotation=90, ha="center", va="center")
        for number, x in enumerate(columns):
            for earlier in columns[:number]:
                bend = "arc3,rad=-0.25"
                arrow(
                    axes,
                    (earlier, height),
                    (x - 0.1, height + 0.45),
                    connectionstyle=bend,
                    color=BLUE,
                    lw=1.6,
                )
            box(axes, x, height + 1.55, "feed-forward", ORANGE).set_fontsize(9)
        axes.text(4.1, height - 0.3, "attention", ha="center", va="center", color=BLUE)
    for x in columns:
        box(axes, x, 10.0, "norm, logits", GREEN).set_fontsize(9)


def _draw_block(axes) -> None:
    """Draw the two branches of a block beside the stream."""
    arrow(axes, (2.2, 0.2), (2.2, 11.8), lw=3)
    axes.text(1.7, 5.9, "residual stream x", rotation=90, ha="right", va="center")
    branches = (
        (1.4, "layer norm 1", "attention", BLUE),
        (6.9, "layer norm 2", "feed-forward", ORANGE),
    )
    for low, norm, part, colour in branches:
        axes.plot([2.2, 6.6], [low - 0.6, low - 0.6], color=GREY, lw=1.4)
        arrow(axes, (6.6, low - 0.65), (6.6, low + 0.15))
        box(axes, 6.6, low + 0.7, norm, GREEN)
        arrow(axes, (6.6, low + 1.25), (6.6, low + 1.95))
        box(axes, 6.6, low + 2.5, part, colour)
        axes.plot([6.6, 6.6], [low + 3.05, low + 3.7], color=GREY, lw=1.4)
        arrow(axes, (6.65, low + 3.7), (2.65, low + 3.7))
        axes.text(4.5, low + 3.95, "adds", ha="center", va="bottom")
        circle = {"boxstyle": "circle,pad=0.15", "facecolor": GREY, "edgecolor": "none"}
        axes.text(
            2.2, low + 3.7, "+", ha="center", va="center", color="white", fontsize=14, bbox=circle
        )


@picture
def generation():
    """Draw the loop in which a model writes text, one token at a time."""
    figure, axes = plt.subplots(figsize=(8.8, 3.4))
    boxes = {
        "text": (1.0, 2.4, "text so far (L tokens)\nthen nora", GREY),
        "model": (4.3, 2.4, "model\nnext_token_logits", BLUE),
        "logits": (7.6, 2.4, "logits of the last position\n(vocabulary,)", GREEN),
        "choose": (7.6, 0.6, "choose\ntemperature, uniform", ORANGE),
        "token": (4.3, 0.6, "one token\nweaver", GREY),
    }
    patches = {name: box(axes, *place).get_bbox_patch() for name, place in boxes.items()}
    for start, end in pairwise(boxes):
        ends = {"patchA": patches[start], "patchB": patches[end], "shrinkA": 2, "shrinkB": 2}
        arrow(axes, boxes[start][:2], boxes[end][:2], lw=1.5, **ends)
    ends = {"patchA": patches["token"], "patchB": patches["text"], "shrinkA": 2, "shrinkB": 2}
    arrow(
        axes,
        boxes["token"][:2],
        (1.0, 2.4),
        connectionstyle="angle,angleA=180,angleB=-90",
        lw=1.5,
        **ends,
    )
    axes.text(1.15, 1.2, "append it, L + 1 tokens,\nand begin again", ha="left", va="center")
    axes.set(xlim=(-0.7, 9.3), ylim=(-0.1, 3.1))
    axes.axis("off")
    return figure, (
        "A loop of five boxes. The text so far, L tokens that end in “then nora”, goes into the model; its "
        "logits at the last position go into choose, with a temperature and a uniform number; one token comes "
        "out, weaver. It is appended to the text, which then has L + 1 tokens, and the loop begins again."
    )


@picture
def activations(curves: Mapping[str, np.ndarray], z: np.ndarray):
    """Draw activation functions over z, by name."""
    figure, axes = plt.subplots(figsize=(5.6, 3.2))
    for (name, values), colour, style in zip(curves.items(), (BLUE, ORANGE), ("-", "--")):
        axes.plot(z, values, style, color=colour, label=name, lw=2)
    axes.set(xlabel="z", ylabel="activation of z")
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
    axes.set(xlabel="share of the model's parameters", xlim=(0, 1))
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    return figure, "Where a model's parameters are. " + "; ".join(descriptions) + "."


@picture
def losses(values: Mapping[str, float]):
    """Draw the loss on held-out text of each predictor."""
    figure, axes = plt.subplots(figsize=(6.6, 0.8 + 0.5 * len(values)))
    colours = [GREY] * (len(values) - 1) + [BLUE]
    axes.barh(range(len(values)), list(values.values()), color=colours, height=0.6)
    for row, loss in enumerate(values.values()):
        axes.text(loss + 0.06, row, f"{loss:.2f}", va="center")
    axes.set_yticks(range(len(values)), list(values))
    axes.set(xlabel="loss: mean −log of the probability of the right token, in nats", xlim=(0, 6.1))
    axes.invert_yaxis()
    description = join_named(values, values.values(), ".2f")
    return figure, f"Bars of the loss on stories that were not in the training data: {description}."


@picture
def temperatures(words: Sequence[str], shares: Mapping[float, np.ndarray]):
    """Draw the probabilities of the same tokens at several temperatures."""
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
    return figure, "Bars of the most likely next tokens at several temperatures. " + "; ".join(
        descriptions,
    ) + "."
