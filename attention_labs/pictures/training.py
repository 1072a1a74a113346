"""Pictures of the lab `training`."""

from collections.abc import Mapping, Sequence

import numpy as np

from attention_labs.pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, arrow, box, picture, plt
from attention_labs.pictures.tiny_transformer import head_scores, losses
from attention_labs.training import Run

__all__ = ["compared", "course", "head_scores", "learning", "losses", "rates", "slopes", "way_back"]


@picture
def way_back():
    """Draw one block, forward and backward: the residual stream and its two branches."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 5.4))
    for axes, title, is_backward in zip(panels, ("forward", "backward"), (False, True)):
        axes.set(xlim=(0, 10), ylim=(-0.5, 12), title=title)
        axes.set_axis_off()
        colour = ORANGE if is_backward else GREY

        def way(start, end, axes=axes, is_backward=is_backward, colour=colour, **style):
            arrow(axes, *((end, start) if is_backward else (start, end)), color=colour, **style)

        way((2.2, -0.4), (2.2, 11.8), lw=3)
        stream = "its gradient: straight on" if is_backward else "the stream x"
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
        "One block twice. Left, forward: a stream goes up; two branches leave it, one through "
        "layer norm 1 and attention, one through layer norm 2 and the feed-forward, and each is "
        "added to it again. Right, backward: the same lines with all arrows turned. The gradient "
        "goes straight down the stream; where a branch was added, the same gradient also enters "
        "the branch from its end; where the branch had left, what comes back is added."
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
    axes.set(xlabel="step", ylabel="rate", ylim=(0, None))
    axes.grid(True)
    top = int(np.argmax(values)) + 1
    return figure, (
        f"The rate over {len(values)} steps: a straight line up to {max(values):g} at step {top}, "
        f"then half a cosine down to {values[-1]:g}."
    )


def _axes():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.7))
    left.set(
        xlabel="step",
        ylabel="loss (nats)",
        ylim=(0, 5.6),
        title="loss on what is read, mean of 100 steps",
    )
    right.set(
        xlabel="step",
        ylabel="induction score",
        ylim=(0, 1),
        title="looking back: the best head",
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
        if step % 300 == 0:
            milestones.append(f"step {step}: loss {smooth[step - 1]:.2f}, score {score:.2f}")
    description = "; ".join(milestones)
    return (
        figure,
        f"Two curves over {len(losses)} steps, the loss and the induction score of the best head. "
        f"{description}.",
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


@picture
def course():
    """Draw the course's labs around the model that they build, with arrows."""
    figure, axes = plt.subplots(figsize=(9.6, 5.6))
    axes.set(xlim=(0, 20), ylim=(0.4, 11.2))
    axes.set_axis_off()
    left = [
        ("1 additive-attention", "scores, shares, an average", BLUE),
        ("2 qkv-attention", "softmax; queries, keys, values", BLUE),
        ("3 attention-masks", "who may look at whom", BLUE),
        ("4 multi-head-attention", "several questions at once", GREEN),
    ]
    right = [
        ("5 positions", "where a word stands", GREEN),
        ("6 learning-to-align", "gradients, and learning from them", PURPLE),
        ("7 long-contexts", "a cache, and attention in blocks", PURPLE),
        ("10 keras-attention", "the same as a library's layer", GREY),
    ]
    for row in range(4):
        y = 9.7 - 2.6 * row
        for x, (name, topic, colour), way in ((3.2, left[row], 1), (16.8, right[row], -1)):
            box(axes, x, y, f"{name}\n{topic}", colour)
            ends = (x + 3.3 * way, y), (x + 4.7 * way, y)
            arrow(axes, *(reversed(ends) if "keras" in name else ends), lw=1.4)
    middle = (
        "8 tiny-transformer\n\nlayer norm,\nfeed-forward,\na block, a stack;\nheads that copy\n\n"
        "9 training\n\nthe way back,\na rate, a minute\nof gradients:\na model\nthat is yours"
    )
    text = box(axes, 10, 5.8, middle, ORANGE)
    text.set(fontsize=11.5, linespacing=1.75)
    description = "; ".join(f"{name}: {topic}" for name, topic, _ in [*left, *right])
    return figure, (
        "The course in one picture. Four labs on the left and four on the right, by number, with "
        f"arrows to the middle; the last arrow, to lab 10, leads out of it: {description}. In the "
        "middle tiny-transformer: layer norm, feed-forward, a block, a stack; heads that look "
        "back and copy. Below it training: the way back, a rate, a minute of your own gradients: "
        "a language model that is yours."
    )
