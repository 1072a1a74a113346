"""The pictures of the lab `keras-attention`, in whose masks 1 means hidden."""

from collections.abc import Mapping, Sequence

import numpy as np

from attention_labs.pictures import (
    BLUE,
    GREY,
    ORANGE,
    arrow,
    box,
    heatmap,
    in_each_row,
    mask_table,
    picture,
    plt,
)


@picture
def flow():
    """What the layer does, as boxes and arrows."""
    figure, axes = plt.subplots(figsize=(8.6, 3.3))
    boxes = {
        "queries": (0, 2, "queries\n(batch, $L_q$, $d_k$)", BLUE),
        "keys": (0, 1, "keys\n(batch, $L_k$, $d_k$)", BLUE),
        "values": (0, 0, "values\n(batch, $L_k$, $d_v$)", BLUE),
        "mask": (1.75, 0.9, "mask (1 = hidden)", ORANGE),
        "scores": (1.75, 2, "scores, scaled\n(batch, $L_q$, $L_k$)", GREY),
        "masked": (3.3, 2, "hidden scores\nmade very low", GREY),
        "weights": (4.85, 2, "weights: softmax\n(batch, $L_q$, $L_k$)", GREY),
        "output": (4.85, 0, "output\n(batch, $L_q$, $d_v$)", BLUE),
    }
    arrows = "queries scores, keys scores, scores masked, mask masked, masked weights"
    arrows += ", weights output, values output"
    patches = {name: box(axes, *where).get_bbox_patch() for name, where in boxes.items()}
    for start, end in (pair.split() for pair in arrows.split(", ")):
        ends = {"patchA": patches[start], "patchB": patches[end], "shrinkA": 2, "shrinkB": 2, "lw": 1.5}
        arrow(axes, boxes[start][:2], boxes[end][:2], **ends)
    axes.set(xlim=(-0.7, 5.6), ylim=(-0.4, 2.4))
    axes.axis("off")
    return figure, (
        "A flow chart. Queries and keys lead to scaled scores of shape (batch, L_q, L_k). The mask, in "
        "which 1 means hidden, makes hidden scores very low. Softmax turns them into weights. The weights "
        "and the values lead to the output of shape (batch, L_q, d_v)."
    )


@picture
def hidden_tables(masks: Mapping[str, np.ndarray], words: Sequence[str]):
    """Masks side by side, by title; 1 = hidden, shapes broadcasting to (L, L)."""
    size = len(words)
    square = {title: np.broadcast_to(np.asarray(mask), (size, size)) for title, mask in masks.items()}
    figure, panels = plt.subplots(1, len(masks), figsize=(2.8 * len(masks), 3.3))
    for axes, (title, mask) in zip(panels, square.items()):
        mask_table(axes, mask == 0, words, words, title, signs="10")
    said = in_each_row({title: mask.sum(axis=1) for title, mask in square.items()})
    return (
        figure,
        f"Masks of the sentence {' '.join(words)}; empty cells hold a 1, hidden. Ones in each row: {said}.",
    )


@picture
def masked_weights(weights: Mapping[str, np.ndarray], words: Sequence[str]):
    """Attention weights, (L, L), under several masks, side by side, by title."""
    figure, panels = plt.subplots(1, len(weights), figsize=(3 * len(weights), 3.4))
    for axes, (title, each) in zip(panels, weights.items()):
        bar = heatmap(axes, each, words, words, title=title, limits=(0, 1), numbers=True, mark=False)
        if axes is not panels[-1]:
            bar.remove()
    said = in_each_row({title: (each == 0).sum(axis=1) for title, each in weights.items()})
    return figure, f"Heatmaps of attention weights from 0 to 1. Zeros in each row: {said}."


@picture
def learning(losses: Sequence[float], weights: np.ndarray):
    """The loss of each step, and the weights, (L, L), that were learnt."""
    size = len(weights)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.5))
    left.semilogy(range(1, len(losses) + 1), losses, marker=".", color=BLUE)
    left.set(xlabel="step", ylabel="loss (mean squared error)", title="the loss falls")
    names = [str(i) for i in range(size)]
    heatmap(right, weights, names, names, limits=(0, 1), numbers=True, mark=False, title="what was learnt")
    right.set_xticks(range(size), names, rotation=0, ha="center")
    right.set(xlabel="keys (positions)", ylabel="queries (positions)")
    best = ", ".join(str(int(k)) for k in weights.argmax(axis=1))
    return figure, (
        f"Left: a curve of the loss on a logarithmic scale, falling by some powers of ten in {len(losses)} "
        "steps. Right: a heatmap of the learnt weights; from the first row to the last, the "
        f"largest weight is at position {best}."
    )
