"""Pictures of the lab `attention-masks`."""

from collections.abc import Mapping, Sequence

import numpy as np

from attention_labs.pictures import format_table_rows, heatmap, mask_table, picture, plt


@picture
def three_kinds():
    """Draw three masks: for encoder–decoder, bidirectional and causal attention."""
    english, french = ["the", "cat", "sleeps", "<pad>"], ["le", "chat", "dort"]
    figure, panels = plt.subplots(1, 3, figsize=(8.4, 3.3))
    mask_table(panels[0], np.array([[1, 1, 1, 0]] * 3), french, english, "encoder–decoder")
    mask_table(panels[1], np.array([[1, 1, 1, 0]] * 4), english, english, "bidirectional")
    mask_table(panels[2], np.tril(np.ones((3, 3))), french, french, "causal")
    return figure, (
        "Three masks as tables of ticks and crosses. Encoder–decoder: three French queries, each "
        "may attend to the three English words but not to the padding. Bidirectional: four "
        "English positions, each may attend to all but the padding. Causal: three French words, "
        "each may attend to itself and to the words before it."
    )


@picture
def tables(masks: Mapping[str, np.ndarray], words: Sequence[str]):
    """Draw masks of one sentence, by title; True = may attend, shapes broadcasting to (L, L)."""
    size = len(words)
    square = {}
    for title, mask in masks.items():
        square[title] = np.broadcast_to(mask, (size, size))
    figure, panels = plt.subplots(1, len(masks), figsize=(2.8 * len(masks), 3.3))
    for axes, (title, mask) in zip(np.atleast_1d(panels), square.items()):
        mask_table(axes, mask, words, words, title)
    description = format_table_rows({title: mask.sum(axis=1) for title, mask in square.items()})
    return figure, f"Masks of the sentence {' '.join(words)}. Ticks in each row: {description}."


MaskedWeights = tuple[np.ndarray, Sequence[str], Sequence[str], np.ndarray]


@picture
def three_masks(kinds: Mapping[str, MaskedWeights]):
    """Draw attention weights by title, given as (weights (L_q, L_k), queries, keys, mask)."""
    figure, panels = plt.subplots(1, len(kinds), figsize=(9, 3.5))
    descriptions = []
    for axes, (title, (weights, queries, keys, mask)) in zip(panels, kinds.items()):
        visible = np.broadcast_to(mask, weights.shape)
        style = {"limits": (0, 1), "numbers": True, "mark": False, "hidden": ~visible}
        bar = heatmap(axes, weights, queries, keys, title=title, **style)
        if axes is not panels[-1]:
            bar.remove()
        best = zip(queries, weights.argmax(axis=1), weights.max(axis=1))
        rows = "; ".join(f"{query} most at {keys[k]}, {weight:.2f}" for query, k, weight in best)
        descriptions.append(f"{title}, {int((~visible).sum())} cells hidden: {rows}.")
    return figure, "Heatmaps of attention weights on a scale from 0 to 1. " + " ".join(descriptions)


@picture
def under_a_mask(weights: np.ndarray, words: Sequence[str], visible: np.ndarray):
    """Draw attention weights (L, L) under a mask, with hidden cells hatched and each row's sum."""
    figure, axes = plt.subplots(figsize=(6.4, 0.9 + 0.62 * len(words)))
    heatmap(axes, weights, words, words, limits=(0, 1), numbers=True, mark=False, hidden=~visible)
    sums = weights.sum(axis=1)
    axes.set_yticks(
        range(len(words)),
        [f"{word}, sum {total:.2f}" for word, total in zip(words, sums)],
    )
    descriptions = []
    for word, row, visible_row in zip(words, weights, visible):
        parts = [f"{words[k]} {row[k]:.2f}" for k in np.flatnonzero(visible_row)]
        descriptions.append(f"{word} attends to {', '.join(parts) or 'nobody'}")
    return (
        figure,
        f"Heatmap of the weights under a mask with {int(visible.sum())} ticks: {'; '.join(descriptions)}.",
    )
