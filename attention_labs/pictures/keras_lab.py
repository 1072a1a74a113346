"""Pictures of the labs `keras-attention` and `keras-translator`, in whose masks 1 means hidden."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from attention_labs.pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    arrow,
    box,
    format_table_rows,
    heatmap,
    join_largest,
    join_numbers,
    mask_table,
    picture,
    plt,
)


@picture
def flow():
    """Draw scaled dot-product attention as its paper does, with shapes and Keras's operations."""
    figure, axes = plt.subplots(figsize=(8.6, 6.0))
    steps = [
        ("multiply", 1.6, "Q Kᵀ", BLUE, "(batch, $L_q$, $L_k$)", "ops.matmul"),
        ("scale", 2.7, "divide by $\\sqrt{d_k}$", BLUE, "(batch, $L_q$, $L_k$)", "/"),
        (
            "mask",
            3.8,
            "mask: hidden scores very low",
            ORANGE,
            "(batch, $L_q$, $L_k$)",
            "− 1e9 · mask",
        ),
        ("softmax", 4.9, "softmax over the keys", GREEN, "(batch, $L_q$, $L_k$)", "ops.softmax"),
        ("average", 6.0, "multiply by V", BLUE, "(batch, $L_q$, $d_v$)", "ops.matmul"),
    ]
    patches = {}
    for name, height, text, colour, shape, operation in steps:
        x = 3.4 if name == "average" else 2.2
        patches[name] = box(axes, x, height, text, colour).get_bbox_patch()
        axes.text(5.6, height, shape, va="center")
        axes.text(8.0, height, operation, va="center", family="monospace", fontsize=9.5)
    for x, name, text in (
        (1.3, "queries", "Q\n(batch, $L_q$, $d_k$)"),
        (3.1, "keys", "K\n(batch, $L_k$, $d_k$)"),
        (4.9, "values", "V\n(batch, $L_k$, $d_v$)"),
    ):
        patches[name] = box(axes, x, 0.2, text, GREY).get_bbox_patch()
    patches["mask given"] = box(axes, -0.5, 3.8, "mask\n1 = hidden", GREY).get_bbox_patch()
    places = {
        "queries": (1.3, 0.2),
        "keys": (3.1, 0.2),
        "values": (4.9, 0.2),
        "mask given": (-0.5, 3.8),
    }
    places |= {name: (2.2, height) for name, height, *_ in steps}
    places["average"] = (3.4, 6.0)
    arrows = "queries>multiply keys>multiply multiply>scale scale>mask mask>softmax softmax>average values>average"
    for start, end in [pair.split(">") for pair in arrows.split()] + [["mask given", "mask"]]:
        ends = {"patchA": patches[start], "patchB": patches[end], "shrinkA": 2, "shrinkB": 2}
        arrow(axes, places[start], places[end], lw=1.5, **ends)
    arrow(axes, (3.4, 6.3), (3.4, 6.85), lw=1.5)
    axes.text(3.4, 7.0, "output", ha="center")
    axes.text(5.6, 6.7, "shape of the result", fontweight="bold")
    axes.text(8.0, 6.7, "in Keras", fontweight="bold")
    axes.set(xlim=(-1.3, 9.8), ylim=(-0.3, 7.3))
    axes.axis("off")
    return figure, (
        "Scaled dot-product attention, bottom to top. Q and K are multiplied, Q Kᵀ, which gives scores of shape "
        "(batch, L_q, L_k), by ops.matmul. The scores are divided by the square root of d_k. The mask, in which "
        "1 means hidden, makes hidden scores very low. Softmax over the keys turns them into weights. The weights "
        "are multiplied by V, which gives the output of shape (batch, L_q, d_v)."
    )


@picture
def hidden_tables(masks: Mapping[str, np.ndarray], words: Sequence[str]):
    """Draw masks side by side, by title; 1 = hidden, shapes broadcasting to (L, L)."""
    size = len(words)
    square = {
        title: np.broadcast_to(np.asarray(mask), (size, size)) for title, mask in masks.items()
    }
    figure, panels = plt.subplots(1, len(masks), figsize=(2.8 * len(masks), 3.3))
    for axes, (title, mask) in zip(panels, square.items()):
        mask_table(axes, mask == 0, words, words, title, signs="10")
    description = format_table_rows({title: mask.sum(axis=1) for title, mask in square.items()})
    return (
        figure,
        f"Masks of the sentence {' '.join(words)}; empty cells hold a 1, hidden. Ones in each "
        f"row: {description}.",
    )


@picture
def masked_weights(weights: Mapping[str, np.ndarray], words: Sequence[str]):
    """Draw attention weights, (L, L), under several masks side by side, by title."""
    figure, panels = plt.subplots(1, len(weights), figsize=(3 * len(weights), 3.4))
    for axes, (title, rows) in zip(panels, weights.items()):
        bar = heatmap(
            axes,
            rows,
            words,
            words,
            title=title,
            limits=(0, 1),
            numbers=True,
            mark=False,
        )
        if axes is not panels[-1]:
            bar.remove()
    description = format_table_rows(
        {title: (rows == 0).sum(axis=1) for title, rows in weights.items()}
    )
    return figure, f"Heatmaps of attention weights from 0 to 1. Zeros in each row: {description}."


@picture
def learning(losses: Sequence[float], weights: np.ndarray):
    """Draw the loss of each training step, and the attention weights, (L, L), that were learned."""
    size = len(weights)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.5))
    left.semilogy(range(1, len(losses) + 1), losses, marker=".", color=BLUE)
    left.set(xlabel="step", ylabel="loss (mean squared error)", title="the loss falls")
    names = [*map(str, range(size))]
    heatmap(
        right,
        weights,
        names,
        names,
        limits=(0, 1),
        numbers=True,
        mark=False,
        title="what was learned",
    )
    right.set_xticks(range(size), names, rotation=0, ha="center")
    right.set(xlabel="keys (positions)", ylabel="queries (positions)")
    best = join_numbers(weights.argmax(axis=1))
    return figure, (
        "Left: a curve of the loss on a logarithmic scale, falling by some powers of ten in "
        f"{len(losses)} steps. Right: a heatmap of the learned weights; from the first row to the "
        f"last, the largest weight is at position {best}."
    )


@picture
def three_attentions():
    """Draw a Transformer with encoder and decoder, and where it uses attention three times."""
    figure, axes = plt.subplots(figsize=(8.6, 6.2))
    boxes = {
        "english": (0, 0, "English words\n(batch, $L_{en}$)", GREY),
        "en vectors": (0, 1, "embedding, positions\n(batch, $L_{en}$, d)", GREY),
        "self": (0, 2.5, "①  self-attention", BLUE),
        "en forward": (0, 4, "feed-forward", GREY),
        "french": (3, 0, "French words so far\n(batch, $L_{fr}$)", GREY),
        "fr vectors": (3, 1, "embedding, positions\n(batch, $L_{fr}$, d)", GREY),
        "causal": (3, 2, "②  self-attention,\nlook-ahead mask", ORANGE),
        "cross": (3, 3.1, "③  cross-attention", GREEN),
        "fr forward": (3, 4, "feed-forward", GREY),
        "next": (3, 5, "scores of the next word\n(batch, $L_{fr}$, words)", GREY),
    }
    patches = {name: box(axes, *place_text).get_bbox_patch() for name, place_text in boxes.items()}
    steps = "english>en vectors>self>en forward, french>fr vectors>causal>cross>fr forward>next"
    for column in steps.split(", "):
        names = column.split(">")
        for start, end in pairwise(names):
            ends = {
                "patchA": patches[start],
                "patchB": patches[end],
                "shrinkA": 2,
                "shrinkB": 2,
                "lw": 1.5,
            }
            arrow(axes, boxes[start][:2], boxes[end][:2], **ends)
    ends = {
        "patchA": patches["en forward"],
        "patchB": patches["cross"],
        "shrinkA": 2,
        "shrinkB": 2,
        "lw": 1.5,
    }
    arrow(
        axes,
        boxes["en forward"][:2],
        boxes["cross"][:2],
        connectionstyle="arc3,rad=-0.15",
        **ends,
    )
    axes.text(1.5, 4.05, "keys and values", ha="center")
    axes.text(3.12, 2.52, "queries")
    for column, name, height in ((0, "encoder", 4.55), (3, "decoder", 5.55)):
        axes.text(column, height, name, ha="center", fontsize=12, fontweight="bold")
    for place, colour, words in (
        (
            2.5,
            BLUE,
            "①  English attends to English:\nqueries, keys and values from\nthe sentence; padding hidden",
        ),
        (
            3.6,
            ORANGE,
            "②  French attends to French:\nthe tokens so far; padding\nand later tokens hidden",
        ),
        (
            4.7,
            GREEN,
            "③  French attends to English:\nkeys and values from the\nencoder; padding hidden",
        ),
    ):
        axes.text(4.55, 7.2 - place, words, va="center", color=colour, linespacing=1.4)
    axes.set(xlim=(-0.9, 6.4), ylim=(-0.4, 5.8))
    axes.axis("off")
    return figure, (
        "The encoder–decoder Transformer, bottom to top. Left, the encoder: English words, "
        "embedding and positions, (1) self-attention, feed-forward. Right, the decoder: French "
        "words so far, embedding and positions, (2) self-attention with a look-ahead mask, (3) "
        "cross-attention, feed-forward, scores of the next word. An arrow brings keys and values "
        "from the end of the encoder to the cross-attention; its queries come from below. In (1) "
        "English tokens attend to English tokens, in (2) French tokens to the French tokens so far, in "
        "(3) French tokens to English tokens."
    )


@picture
def cross_attention(
    weights: Mapping[str, np.ndarray],
    french: Sequence[str],
    english: Sequence[str],
):
    """Draw the cross-attention, (L_fr, L_en), of some models by title, with one colour scale."""
    figure, panels = plt.subplots(1, len(weights), figsize=(4.6 * len(weights), 4.6), squeeze=False)
    for axes, (title, rows) in zip(panels[0], weights.items()):
        bar = heatmap(axes, rows, french, english, title=title, limits=(0, 1))
        if axes is not panels[0][-1]:
            bar.remove()
        axes.set(xlabel="English words", ylabel="French token to be written")
    descriptions = []
    for title, rows in weights.items():
        best = join_largest(rows, french, english)
        descriptions.append(
            f"{title}: row maxima of {rows.max(axis=1).min():.2f} or more; largest weights: {best}",
        )
    return (
        figure,
        f"Heatmaps of cross-attention on one scale from 0 to 1. {'. '.join(descriptions)}.",
    )
