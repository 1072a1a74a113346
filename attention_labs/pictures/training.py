"""Pictures of the lab `training`."""

from collections.abc import Mapping, Sequence
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
    label_cells,
    picture,
    plt,
)
from attention_labs.pictures.looking_inside import head_scores
from attention_labs.pictures.tiny_transformer import losses
from attention_labs.training import Run

__all__ = [
    "block_forward_and_backward",
    "compared",
    "copying",
    "course",
    "head_scores",
    "learning",
    "losses",
    "rates",
    "slopes",
]


@picture
def block_forward_and_backward():
    """Draw one block, forward and backward: the residual stream and its two branches."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 5.4))
    for axes, title, is_backward in zip(panels, ("forward", "backward"), (False, True)):
        axes.set(xlim=(0, 10), ylim=(-0.5, 12), title=title)
        axes.set_axis_off()
        colour = ORANGE if is_backward else GREY

        def way(start, end, axes=axes, is_backward=is_backward, colour=colour, **style):
            arrow(axes, *((end, start) if is_backward else (start, end)), color=colour, **style)

        way((2.2, -0.4), (2.2, 11.8), lw=3)
        stream = "the gradient, unchanged" if is_backward else "residual stream x"
        axes.text(1.8, 5.9, stream, rotation=90, ha="right", va="center")
        for low, norm, part in (
            (1.4, "layer norm 1", "attention"),
            (6.9, "layer norm 2", "feed-forward"),
        ):
            names = (f"{norm},\nbackward", f"{part},\nbackward") if is_backward else (norm, part)
            if is_backward:
                axes.plot([6.6, 6.6], [low - 0.6, low + 0.15], color=colour, lw=1.4)
                way((2.6, low - 0.6), (6.65, low - 0.6))
            else:
                axes.plot([2.2, 6.6], [low - 0.6, low - 0.6], color=colour, lw=1.4)
                way((6.6, low - 0.65), (6.6, low + 0.15))
            box(axes, 6.6, low + 0.7, names[0], GREEN)
            way((6.6, low + 1.35), (6.6, low + 1.85))
            box(axes, 6.6, low + 2.5, names[1], BLUE if part == "attention" else PURPLE)
            if is_backward:
                axes.plot([2.2, 6.6], [low + 3.7, low + 3.7], color=colour, lw=1.4)
                way((6.6, low + 3.1), (6.6, low + 3.75))
            else:
                axes.plot([6.6, 6.6], [low + 3.05, low + 3.7], color=colour, lw=1.4)
                way((6.65, low + 3.7), (2.65, low + 3.7))
            bead = {"boxstyle": "circle,pad=0.15", "facecolor": colour, "edgecolor": "none"}
            height = low - 0.6 if is_backward else low + 3.7
            axes.text(
                2.2,
                height,
                "+",
                ha="center",
                va="center",
                color="white",
                fontsize=14,
                bbox=bead,
            )
    return figure, (
        "One block twice. Left, forward: a residual stream goes up; two branches leave it, one "
        "through layer norm 1 and attention, one through layer norm 2 and the feed-forward network, "
        "and each is added to it again. Right, backward: the same lines with all arrows reversed. "
        "The gradient passes down the stream unchanged; where a branch was added, the same gradient "
        "also enters the branch from its end; where the branch had left, its gradient is added."
    )


@picture
def slopes(z: np.ndarray, gelu: np.ndarray, slope: np.ndarray):
    """Draw the function GELU and its derivative."""
    figure, axes = plt.subplots(figsize=(5.8, 3.3))
    axes.plot(z, gelu, "-", color=BLUE, lw=2, label="GELU(z)")
    axes.plot(z, slope, "--", color=ORANGE, lw=2, label="its slope")
    axes.axhline(0, color=GREY, lw=0.8)
    axes.set(xlabel="z", ylim=(-0.5, 2.5))
    axes.grid(True)
    axes.legend()
    peak = z[slope.argmax()]
    return figure, (
        "GELU and its slope. The slope is nearly 0 for large negative z, "
        f"{np.interp(0, z, slope):.1f} at 0, largest ({slope.max():.2f}) near z = {peak:.1f}, and "
        f"nearly 1 beyond; it is a little below 0 around z = {z[slope.argmin()]:.1f}."
    )


@picture
def rates(values: Sequence[float]):
    """Draw the learning rate of every training step."""
    figure, axes = plt.subplots(figsize=(6.6, 2.8))
    axes.plot(np.arange(1, len(values) + 1), values, color=BLUE, lw=2)
    axes.set(xlabel="step", ylabel="learning rate", ylim=(0, None))
    axes.grid(True)
    top = int(np.argmax(values)) + 1
    return figure, (
        f"The learning rate over {len(values)} steps: a straight line up to {max(values):g} at step {top}, "
        f"then half a cosine down to {values[-1]:g}."
    )


def _axes():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.7))
    left.set(
        xlabel="step",
        ylabel="loss (nats)",
        ylim=(0, 5.6),
        title="training loss, mean of 100 steps",
    )
    right.set(
        xlabel="step",
        ylabel="induction score",
        ylim=(0, 1),
        title="induction score of the best head",
    )
    for axes in (left, right):
        axes.grid(True)
    return figure, left, right


@picture
def learning(losses: Sequence[float], scores: Mapping[int, float], stored_runs: Mapping[str, Run]):
    """Draw the loss and the induction score of a run; other runs thin and grey behind it."""
    figure, left, right = _axes()
    for n, run in enumerate(stored_runs.values()):
        label = f"{len(stored_runs)} stored starts" if n == 0 else None
        left.plot(run.steps[1:], run.losses[1:], color=GREY, lw=0.9, alpha=0.7, label=label)
        right.plot(run.steps, run.scores, color=GREY, lw=0.9, alpha=0.7, label=label)
    steps = np.arange(1, len(losses) + 1)
    smooth = [np.mean(losses[max(0, n - 100) : n]) for n in steps.tolist()]
    left.plot(steps[20:], smooth[20:], color=BLUE, lw=2, label="your run")
    right.plot(list(scores), list(scores.values()), "o-", color=BLUE, ms=3, lw=2, label="your run")
    left.legend()
    right.legend(loc="upper left")
    milestones = []
    for step, score in scores.items():
        if step % 300 == 0 or step == max(scores):
            milestones.append(f"step {step}: loss {smooth[step - 1]:.2f}, score {score:.2f}")
    description = "; ".join(milestones)
    return (
        figure,
        f"Two curves over {len(losses)} steps, the loss and the induction score of the best head. "
        f"{description}.",
    )


@picture
def copying(stages: Mapping[str, np.ndarray], words: Sequence[str]):
    """Draw the weights (L, L) of one head on a list said twice, by title, on one scale from 0 to 1.

    Frames mark the cells of an induction head: the key after the previous occurrence of the query's
    word.
    """
    figure, panels = plt.subplots(
        1, len(stages), figsize=(3.7 * len(stages) + 1.2, 4.4), squeeze=False
    )
    length = len(words)
    half = length // 2
    image, descriptions = None, []
    for axes, (title, weights) in zip(panels[0], stages.items()):
        image = axes.imshow(weights, cmap=COLOURS, vmin=0, vmax=1)
        label_cells(axes, words, words)
        axes.tick_params(axis="x", rotation=90, labelsize=8.5)
        axes.tick_params(axis="y", labelsize=8.5)
        plt.setp(axes.get_xticklabels(), ha="center", rotation_mode="default")
        axes.set(title=title, xlabel="keys", ylabel="queries")
        for query in range(half, length):
            cell = plt.Rectangle(
                (query - half + 0.5, query - 0.5), 1, 1, fill=False, edgecolor=ORANGE, lw=1.6
            )
            axes.add_patch(cell)
        found = [weights[query, query - half + 1] for query in range(half, length)]
        descriptions.append(f"{title}, {np.mean(found):.2f}")
    bar = figure.colorbar(image, ax=panels[0].tolist(), label="attention weight", shrink=0.7)
    bar.outline.set_visible(False)
    return figure, (
        f"Heatmaps of one head's attention weights on {half} words said twice, on one scale from 0 to "
        "1. In the second half frames mark the key after the previous occurrence of the query's word. "
        f"Mean weight in the frames: {'; '.join(descriptions)}."
    )


@picture
def compared(runs: Mapping[str, Run]):
    """Draw several stored runs of training: usual ones in grey, changed ones in colours."""
    figure, left, right = _axes()
    styles = iter(
        [(ORANGE, "-"), (GREEN, "-."), (PURPLE, "--"), (BLUE, ":"), (ORANGE, "--"), (GREEN, ":")],
    )
    for n, (name, run) in enumerate(runs.items()):
        usual = name.startswith("start")
        colour, line = (GREY, "-") if usual else next(styles)
        label: str | None = name
        if usual:
            label = "five starts" if n == 0 else None
        for axes, values in ((left, run.losses), (right, run.scores)):
            axes.plot(
                run.steps[1:],
                values[1:],
                line,
                color=colour,
                lw=1 if usual else 2,
                label=label,
            )
    figure.legend(
        *left.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=3,
        frameon=False,
    )
    description = "; ".join(
        f"{name}: loss {r.losses[-1]:.2f}, score {r.scores[-1]:.2f}" for name, r in runs.items()
    )
    return (
        figure,
        f"Loss and induction score of {len(runs)} stored runs over {runs['start 0'].steps[-1]} "
        f"steps. At the end, {description}.",
    )


_EMBEDDING, _SCORES, _FEED = (
    "word vectors + position vectors",
    "scores, scaled",
    "feed-forward network",
)
# Each part of the model from the bottom up: height, name, colour, labs of the forward and of the
# backward pass.
_PARTS = (
    (0.9, _EMBEDDING, GREY, "positions", "training: embedding_backward"),
    (2.6, "layer norm", GREEN, "tiny-transformer", "training: layer_norm_backward"),
    (
        3.6,
        "queries, keys, values in heads",
        BLUE,
        "qkv-, multi-head-attention",
        "learning-to-align",
    ),
    (4.6, _SCORES, BLUE, "additive-, qkv-attention", "learning-to-align"),
    (5.6, "causal mask", BLUE, "attention-masks", "no parameters, no gradient"),
    (6.6, "softmax", BLUE, "qkv-attention", "learning-to-align: softmax_backward"),
    (
        7.6,
        "weighted average, heads merged",
        BLUE,
        "additive-, multi-head-attention",
        "learning-to-align",
    ),
    (9.6, "layer norm", GREEN, "tiny-transformer", "training: layer_norm_backward"),
    (10.6, _FEED, PURPLE, "tiny-transformer", "training: feed_forward_backward"),
    (12.5, "layer norm, logits", GREEN, "tiny-transformer", "training: layer_norm_backward"),
    (
        13.5,
        "loss: cross-entropy",
        ORANGE,
        "learning-to-align",
        "learning-to-align: cross_entropy_backward",
    ),
)
_AROUND = (
    ("looking-inside", "what its heads do"),
    ("long-contexts", "a cache for generation"),
    ("cheaper-attention", "a state instead of the cache"),
    ("gpt-2", "the same model, with GPT-2's parameters"),
    ("keras-attention", "attention as a library's layer"),
    ("keras-translator", "attention that translates"),
)


@picture
def course():
    """Draw the student's own model, each part with the labs that built it."""
    figure, axes = plt.subplots(figsize=(10.4, 8.6))
    axes.set(xlim=(0, 21), ylim=(-4.1, 15))
    axes.set_axis_off()
    for x, title in ((4.6, "your model"), (8.6, "forward pass"), (14.3, "backward pass")):
        style = {"ha": "center"} if x < 5 else {}
        axes.text(x, 14.5, title, weight="bold", **style)
    frame = plt.Rectangle((0.2, 1.7), 7.9, 10.1, fill=False, edgecolor=GREY, ls="--", lw=1.2)
    axes.add_patch(frame)
    axes.text(7.9, 8.75, "one of two blocks", ha="right", va="center", fontsize=9.5)
    axes.text(4.6, -0.3, "tokens", ha="center", va="center")
    arrow(axes, (4.6, 0), (4.6, 0.45), lw=1.4)
    arrow(axes, (1.2, 0.9), (1.2, 12.5), lw=3)  # the residual stream
    axes.text(0.75, 6.6, "residual stream", rotation=90, ha="center", va="center", fontsize=9.5)
    axes.plot([1.2, 2], [0.9, 0.9], color=GREY, lw=3)
    axes.plot([1.2, 2.6], [12.5, 12.5], color=GREY, lw=3)
    for low, high in ((2.6, 7.6), (9.6, 10.6)):
        axes.plot([1.2, 4.6], [low - 0.65] * 2, color=GREY, lw=1.4)
        arrow(axes, (4.6, low - 0.65), (4.6, low - 0.25), lw=1.4)
        axes.plot([4.6, 4.6], [high + 0.2, high + 0.7], color=GREY, lw=1.4)
        arrow(axes, (4.6, high + 0.7), (1.45, high + 0.7), lw=1.4)
        bead = {"boxstyle": "circle,pad=0.12", "facecolor": GREY, "edgecolor": "none"}
        axes.text(
            1.2, high + 0.7, "+", ha="center", va="center", color="white", fontsize=12, bbox=bead
        )
    heights = [part[0] for part in _PARTS]
    for lower, upper in pairwise(heights):
        if upper - lower < 1.1:  # the parts are 1 apart within a branch
            arrow(axes, (4.6, lower + 0.2), (4.6, upper - 0.2), lw=1.4)
    for height, name, colour, forward, backward in _PARTS:
        box(axes, 4.6, height, name, colour).set(fontsize=9.5)
        axes.text(8.6, height, forward, va="center", fontsize=9.5)
        axes.text(14.3, height, backward, va="center", fontsize=9.5)
    axes.text(
        8.6, 8.6, "residual connections: the gradient passes unchanged", va="center", fontsize=9.5
    )
    axes.text(0.2, -1.4, "labs about this model, and after it", weight="bold")
    for index, (lab, topic) in enumerate(_AROUND):
        x, y = 0.2 + 10.6 * (index % 2), -2.2 - 0.85 * (index // 2)
        axes.text(x, y, f"{lab}: {topic}", va="center", fontsize=9.5)
    parts = "; ".join(
        f"{name}, forward {forward}, backward {backward}"
        for _, name, _, forward, backward in _PARTS
    )
    around = "; ".join(f"{lab}: {topic}" for lab, topic in _AROUND)
    return figure, (
        "Your own model from the bottom up, each part with the labs that built its forward and its "
        f"backward pass. {parts}. A residual stream runs past two branches, one with attention and "
        "one with the feed-forward network; both are added to it; the model has two such blocks. Labs "
        f"about this model, and after it: {around}."
    )
