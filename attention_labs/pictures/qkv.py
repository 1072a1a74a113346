"""Pictures of the lab `qkv-attention`."""

from collections.abc import Callable, Mapping, Sequence

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
    label_cells,
    picture,
    plt,
)


@picture
def word_strips(vectors: Mapping[str, np.ndarray], places: int = 40):
    """Draw the first numbers of some word vectors as strips of colour, a strip for each word."""
    names = list(vectors)
    order = np.argsort(vectors[names[0]][:places])
    figure, axes = plt.subplots(figsize=(8, 2.4))
    strip = axes.imshow(
        [vectors[name][:places][order] for name in names],
        cmap=COLOURS,
        aspect="auto",
    )
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks([])
    axes.set_xlabel(f"the first {places} numbers, sorted by their value in {names[0]}")
    axes.spines[:].set_visible(False)
    figure.colorbar(strip, label="value").outline.set_visible(False)
    return figure, (
        f"The words {', '.join(names)} as strips of {places} coloured cells, dark for negative "
        f"and bright for positive numbers, sorted by their value in {names[0]}. "
        "So the first strip becomes brighter from left to right. The strip of agreement does so "
        "roughly; that of area has no order. The strip of 1992 has one shade: all its numbers are zero."
    )


@picture
def dot_products(name: str, vector: np.ndarray, vectors: Mapping[str, np.ndarray]):
    """Draw a vector's numbers against those of other vectors, (n,) each, as dots."""
    figure, panels = plt.subplots(1, len(vectors), figsize=(8.4, 3.1), sharey=True)
    descriptions = []
    for axes, (label, other_vector) in zip(panels, vectors.items()):
        axes.plot(vector, other_vector, ".", color=BLUE, alpha=0.7)
        axes.set(xlim=(-0.22, 0.22), ylim=(-0.22, 0.22), aspect="equal", xlabel=name)
        axes.set_title(f"{name} · {label} = {vector @ other_vector:.2f}")
        axes.grid()
        slope = vector @ other_vector
        shape = "is round"
        if slope > 0.3:
            shape = "rises to the right"
        elif slope == 0:
            shape = "lies on the line at 0"
        descriptions.append(f"for {label}, dot product {slope:.2f}, the cloud {shape}")
    panels[0].set_ylabel("the English word")
    return figure, f"Clouds of {len(vector)} dots each: {'; '.join(descriptions)}."


@picture
def soft_look_up():
    """Draw a look-up in which every key matches a little: one query, three keys, three values."""
    figure, axes = plt.subplots(figsize=(8.2, 3.7))
    axes.set(xlim=(-0.6, 10.7), ylim=(-0.7, 2.9))
    axes.axis("off")
    label = {"ha": "center", "va": "center"}
    scores, weights, values = [2, 0, 1], [0.58, 0.14, 0.28], ["(10, 0)", "(0, 0)", "(0, 10)"]
    for row, key in enumerate(["(2, 0)", "(0, 1)", "(1, −1)"]):
        y = 2 - row
        arrow(axes, (0.75, 1), (1.9, y), head="-")
        box(axes, 2.6, y, key, PURPLE)
        axes.text(4.05, y, f"score {scores[row]}", **label)
        axes.barh(y, 2 * weights[row], left=5, height=0.34, color=ORANGE)
        axes.text(5.1 + 2 * weights[row], y, f"{weights[row]:.2f}", ha="left", va="center")
        box(axes, 7.5, y, values[row], GREEN)
        arrow(axes, (8.25, y), (9.05, 1), head="->", lw=6 * weights[row])
    box(axes, 0.1, 1, "(1, 0)", BLUE)
    box(axes, 9.9, 1, "(5.8, 2.8)", GREY)
    titles = {
        0.1: "query",
        2.6: "keys",
        4.05: "compare",
        5.6: "weights",
        7.5: "values",
        9.9: "result",
    }
    for x, title in titles.items():
        axes.text(x, 2.65, title, weight="bold", **label)
    axes.text(
        4.8,
        -0.5,
        "dot products → ÷ √2 → softmax → weighted average",
        style="italic",
        **label,
    )
    return figure, (
        "A query (1, 0) is compared with three keys, which gives the scores 2, 0 and 1. Divided "
        "by √2, the root of the size of a key, and put through softmax, these become the weights "
        "0.58, 0.14 and 0.28, drawn as bars. Arrows as thick as the weights lead from the three "
        "values (10, 0), (0, 0) and (0, 10) to the result (5.8, 2.8)."
    )


@picture
def projections():
    """Draw X_q and X_k and the weight matrices that project them to queries, keys and values."""
    figure, axes = plt.subplots(figsize=(8, 4.6))
    axes.set(xlim=(0, 10), ylim=(-0.4, 5.6))
    axes.axis("off")
    box(axes, 1.2, 4.6, "$X_q$\n$(L_q, d)$", GREY)
    box(axes, 1.2, 1.5, "$X_k$\n$(L_k, d)$", GREY)
    axes.text(1.2, 3.75, "vectors of the\nwords that ask", ha="center", va="center")
    axes.text(1.2, 0.65, "vectors of the\nwords that answer", ha="center", va="center")
    lines = [
        (4.6, 4.6, "$W_Q$\n$(d, d_k)$", "queries $Q$\n$(L_q, d_k)$", BLUE),
        (1.5, 2.4, "$W_K$\n$(d, d_k)$", "keys $K$\n$(L_k, d_k)$", PURPLE),
        (1.5, 0.6, "$W_V$\n$(d, d_v)$", "values $V$\n$(L_k, d_v)$", GREEN),
    ]
    notes = ["what a word looks for", "what a word can be found by", "what a word passes on"]
    for (start, y, matrix, result, colour), note in zip(lines, notes):
        arrow(axes, (1.95, start), (3.25, y))
        box(axes, 4.0, y, matrix, colour)
        arrow(axes, (4.75, y), (5.6, y))
        box(axes, 6.5, y, result, colour)
        axes.text(7.55, y, note, va="center", fontsize=9.5)
    axes.text(4.0, 5.4, "weight matrices", ha="center", weight="bold")
    return figure, (
        "The vectors of the words that ask, X_q, are multiplied by the weight matrix W_Q and "
        "become the queries Q. The vectors of the words that answer, X_k, are multiplied by W_K "
        "and become the keys K, and multiplied by W_V and become the values V."
    )


@picture
def scaled_dot_product():
    """Draw the steps of scaled dot-product attention, as in the paper of 2017."""
    figure, axes = plt.subplots(figsize=(7, 5.2))
    axes.set(xlim=(0, 9), ylim=(-0.3, 6.7))
    axes.axis("off")
    steps = [
        (1.4, "MatMul", PURPLE, "$Q K^\\top$: all dot products, $(L_q, L_k)$"),
        (2.5, "Scale", GREY, "divide by $\\sqrt{d_k}$"),
        (3.6, "Mask (optional)", GREY, "hide some keys: the lab attention-masks"),
        (4.7, "SoftMax", ORANGE, "weights: each row adds up to 1"),
        (5.8, "MatMul", GREEN, "weighted averages of the values, $(L_q, d_v)$"),
    ]
    for y, name, colour, note in steps:
        box(axes, 2.2 if y < 5 else 2.7, y, name, colour)
        axes.text(4.5, y, note, va="center")
    for x, name, colour in [(1.6, "$Q$", BLUE), (2.8, "$K$", PURPLE), (3.9, "$V$", GREEN)]:
        box(axes, x, 0.1, name, colour)
    arrow(axes, (1.6, 0.45), (1.9, 1.05))
    arrow(axes, (2.8, 0.45), (2.5, 1.05))
    for low in [1.75, 2.85, 3.95]:
        arrow(axes, (2.2, low), (2.2, low + 0.4))
    arrow(axes, (2.2, 5.05), (2.4, 5.45))
    axes.plot([3.9, 3.9], [0.45, 5.1], color=GREEN, lw=1.6)
    arrow(axes, (3.9, 5.08), (3.1, 5.45), color=GREEN)
    return figure, (
        "Scaled dot-product attention from the bottom to the top. Q and K go into a matrix "
        "product; the result is scaled by 1 over the root of d_k, goes through an optional mask "
        "and through softmax. The weights and V go into a second matrix product."
    )


@picture
def scores_to_shares():
    """Draw the scores 2, 1, 0, their exponentials, and the softmax that results."""
    steps = {
        "scores": [2, 1, 0],
        "exponentials (sum 11.11)": [7.39, 2.72, 1.00],
        "softmax (sum 1)": [0.665, 0.245, 0.090],
    }
    figure, panels = plt.subplots(1, 3, figsize=(8.2, 2.7))
    for axes, (title, heights) in zip(panels, steps.items()):
        bars = axes.bar(["first", "second", "third"], heights, color=BLUE)
        axes.bar_label(bars, padding=2)
        axes.set(title=title, ylim=(0, 1.18 * max(heights)), ylabel=title.split(" (")[0])
    return figure, (
        "Three bar charts. The scores 2, 1, 0 become the exponentials 7.39, 2.72, 1.00, whose sum "
        "is 11.11, and these become the softmax values 0.665, 0.245, 0.090, whose sum is 1."
    )


@picture
def axes_of_softmax():
    """Draw the softmax of one matrix twice: down its columns, and along its rows."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 2.4))
    tables = [
        [["0.73", "0.12", "0.50"], ["0.27", "0.88", "0.50"]],
        [["0.67", "0.09", "0.24"], ["0.21", "0.58", "0.21"]],
    ]
    for axis, (axes, table) in enumerate(zip(panels, tables)):
        for row in range(2):
            for column in range(3):
                colour = (BLUE, ORANGE)[(column, row)[axis] % 2]
                cell = plt.Rectangle((column - 0.47, row - 0.45), 0.94, 0.9, facecolor=colour)
                axes.add_patch(cell)
                axes.text(
                    column,
                    row,
                    table[row][column],
                    ha="center",
                    va="center",
                    color="white",
                    fontsize=12,
                )
        label_cells(axes, ["row 0", "row 1"], ["column 0", "column 1", "column 2"])
        axes.set(xlim=(-0.6, 2.6), ylim=(1.6, -0.6))
        axes.set_xticks(range(3), ["column 0", "column 1", "column 2"], rotation=0, ha="center")
        axes.set_title(f"axis={axis}: each {'column' if axis == 0 else 'row'} adds up to 1")
    return figure, (
        "Softmax of one matrix of 2 rows and 3 columns, twice. With axis=0 the columns are "
        "coloured in turn, and each adds up to 1: 0.73 and 0.27, 0.12 and 0.88, 0.50 and 0.50. "
        "With axis=1 the rows are coloured in turn, and each adds up to 1: 0.67, 0.09, 0.24, and "
        "0.21, 0.58, 0.21."
    )


@picture
def moved_scores():
    """Draw the scores 1000, 999, 998 on a number line, and the same scores moved to 0, -1, -2."""
    figure, panels = plt.subplots(2, 1, figsize=(8, 3.1))
    figure.get_layout_engine().set(h_pad=0.14)
    notes = {
        1000: "without a shift: every exponential is inf",
        0: "shifted so that the largest is 0: exponentials 1, 0.37, 0.14",
    }
    for axes, (largest, note) in zip(panels, notes.items()):
        axes.axhline(0, color=GREY, zorder=0)
        axes.plot([largest, largest - 1, largest - 2], [0, 0, 0], "o", markersize=11, color=BLUE)
        ticks = range(largest - 3, largest + 2)
        axes.set(
            xlim=(largest - 3.5, largest + 1.5),
            ylim=(-1, 1),
            yticks=[],
            xticks=ticks,
            title=note,
        )
        axes.spines["left"].set_visible(False)
    panels[1].set_xlabel("score")
    return figure, (
        "Two number lines. On the first, dots at 998, 999 and 1000: every exponential is "
        "infinite. On the second the same three dots, as far apart as before, at -2, -1 and 0: "
        "the exponentials are 0.14, 0.37 and 1."
    )


@picture
def shapes():
    """Draw the matrices of attention as tables of cells, with their shapes."""
    figure, axes = plt.subplots(figsize=(8.2, 4))
    unit = 0.3

    def matrix(x, y, rows, columns, name, shape, colour):
        w, h = columns * unit, rows * unit
        for i in range(rows):
            for j in range(columns):
                corner = (x + j * unit + 0.015, y - h / 2 + i * unit + 0.015)
                axes.add_patch(plt.Rectangle(corner, unit - 0.03, unit - 0.03, facecolor=colour))
        axes.text(x + w / 2, y + h / 2 + 0.13, name, ha="center", va="bottom", weight="bold")
        axes.text(x + w / 2, y - h / 2 - 0.13, shape, ha="center", va="top")

    top, low = 3.9, 1.1
    matrix(0.2, top, 4, 3, "Q", "($L_q$, $d_k$)", BLUE)
    matrix(1.9, top, 3, 6, "K transposed", "($d_k$, $L_k$)", PURPLE)
    matrix(4.7, top, 4, 6, "scores", "($L_q$, $L_k$)", GREY)
    matrix(0.2, low, 4, 6, "weights", "($L_q$, $L_k$)", ORANGE)
    matrix(3.0, low, 6, 5, "V", "($L_k$, $d_v$)", GREEN)
    matrix(5.7, low, 4, 5, "result", "($L_q$, $d_v$)", GREY)
    signs = [(1.5, top, "@"), (4.2, top, "="), (2.5, low, "@"), (5.1, low, "=")]
    signs += [(8.0, top, "÷ $\\sqrt{d_k}$, then softmax\nalong each row")]
    for x, y, text in signs:
        axes.text(x, y, text, ha="center", va="center", fontsize=13)
    axes.set(xlim=(0, 9.5), ylim=(-0.4, 5.1), aspect="equal")
    axes.axis("off")
    return figure, (
        "The shapes of attention as tables of cells. Q with 4 rows and 3 columns times K "
        "transposed with 3 rows and 6 columns gives the scores, 4 rows and 6 columns. They are "
        "divided by the root of d_k and go through softmax along each row. The weights, 4 rows "
        "and 6 columns, times V with 6 rows and 5 columns give the result, 4 rows and 5 columns."
    )


@picture
def queries_and_keys(Q: np.ndarray, K: np.ndarray, by_hand: Sequence[Sequence[float]]):
    """Draw two queries and three keys as arrows; a key's thickness is its weight in `by_hand`."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.7), sharey=True)
    for axes, number, query, weights in zip(panels, ["first", "second"], Q, by_hand):
        for key, weight in zip(K, weights):
            arrow(axes, (0, 0), key, head="->", color=PURPLE, lw=1 + 8 * weight)
            axes.annotate(f"{weight:.3f}", key, xytext=(5, 6), textcoords="offset points")
        arrow(axes, (0, 0), query, head="->", color=BLUE, lw=2.5, linestyle="--")
        shift = (0, -14 if query[1] == 0 else 5)
        axes.annotate("query", query, xytext=shift, textcoords="offset points", color=BLUE)
        axes.set(xlim=(-0.6, 2.7), ylim=(-1.4, 1.6), aspect="equal", xlabel="first number")
        axes.set_title(f"{number} query {tuple(query.astype(int).tolist())}")
        axes.grid()
    panels[0].set_ylabel("second number")
    return figure, (
        "Two planes with the same three keys as solid arrows, to (2, 0), (0, 1) and (1, -1), as "
        "thick as their weights. For the query (1, 0), a dashed arrow, the weights are 0.576, "
        "0.140 and 0.284; for the query (1, 1) they are 0.576, 0.284 and 0.140."
    )


@picture
def values_and_results(V: np.ndarray, results: Sequence[tuple[float, float]]):
    """Draw three values as the corners of a triangle, with the results of two queries inside."""
    figure, axes = plt.subplots(figsize=(6, 4.2))
    axes.fill(*V.T, facecolor=GREEN, alpha=0.25)
    axes.plot(*V.T, "s", color=GREEN, markersize=9)
    for value, name, shift in zip(
        V,
        ["value 1", "value 2", "value 3"],
        [(10, 5), (8, 9), (11, -4)],
    ):
        axes.annotate(name, value, xytext=shift, textcoords="offset points")
    for (x, y), name in zip(results, ["first query", "second query"]):
        axes.plot(x, y, "o", color=ORANGE, markersize=9)
        axes.annotate(
            f"{name} ({x:.2f}, {y:.2f})",
            (x, y),
            xytext=(12, 4),
            textcoords="offset points",
        )
    axes.set(
        xlim=(-1, 14),
        ylim=(-1, 11.5),
        xlabel="first number",
        ylabel="second number",
        aspect="equal",
    )
    axes.grid()
    description = " and ".join(f"({x:.2f}, {y:.2f})" for x, y in results)
    return figure, (
        "The values as the corners (10, 0), (0, 0) and (0, 10) of a triangle. Inside it lie the "
        f"results of the two queries, at {description}, both nearest to value 1, which has the "
        "largest weight."
    )


@picture
def alignment(
    weights: np.ndarray,
    asking: Sequence[str],
    answering: Sequence[str],
    *,
    title: str = "Which word does each word attend to?",
    limits: tuple[float, float] | None = None,
    sides: tuple[str, str] = ("French words (queries)", "English words (keys)"),
):
    """Draw attention weights between two sentences, (L_q, L_k), with the keys on top."""
    figure, axes = plt.subplots(figsize=(8, 1.9 + 0.36 * len(asking)))
    heatmap(axes, weights, asking, answering, title=title, limits=limits)
    _label_languages(axes, sides)
    return figure, (
        f"Heatmap of attention weights, {len(asking)} queries by {len(answering)} keys, from "
        f"{weights.min():.4f} to {weights.max():.4f}. The largest weight of each row: "
        f"{_best(weights, asking, answering)}."
    )


def _label_languages(axes, sides: tuple[str, str]) -> None:
    """Name the rows and columns of a heatmap, with the columns' words above it."""
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    plt.setp(axes.get_xticklabels(), rotation=45, ha="left", rotation_mode="anchor")
    axes.set(ylabel=sides[0], xlabel=sides[1])


def _best(weights, asking, answering) -> str:
    descriptions = []
    for word, row in zip(asking, weights):
        is_uniform = np.ptp(row) < 1e-12
        descriptions.append(
            f"{word}: all equal" if is_uniform else f"{word} → {answering[int(np.argmax(row))]}",
        )
    return "; ".join(descriptions)


def print_thousandths(weights: np.ndarray, asking: Sequence[str], answering: Sequence[str]) -> None:
    """Print attention weights, (L_q, L_k), in thousandths; a star marks each row's largest."""
    print(" " * 11 + "".join(f"{word[:5]:>5} " for word in answering))
    for word, row in zip(asking, weights):
        stars = ["*" if np.ptp(row) > 1e-12 and w > row.max() - 1e-12 else " " for w in row]
        print(f"{word:>10} " + "".join(f"{1000 * w:5.1f}{star}" for w, star in zip(row, stars)))


@picture
def row_maxima(weights: np.ndarray, asking: Sequence[str]):
    """Draw the largest weight of each row, (L_q, L_k), on a scale from zero and magnified."""
    largest, keys = weights.max(axis=1), weights.shape[1]
    uniform = 1 / keys
    margin = 0.1 * (largest.max() - uniform)
    figure, panels = plt.subplots(1, 2, figsize=(8.2, 4.4), sharey=True)
    panels[0].barh(asking, largest, color=BLUE)
    panels[0].set(
        xlim=(0, 1.25 * largest.max()), title="scale from zero", ylabel="French words (queries)"
    )
    panels[1].hlines(asking, uniform, largest, color=GREY)
    panels[1].plot(largest, asking, "o", color=BLUE)
    panels[1].set(xlim=(uniform - margin, largest.max() + margin), title="the same, magnified")
    panels[1].locator_params(axis="x", nbins=4)
    for axes in panels:
        axes.axvline(uniform, color=ORANGE, lw=2, ls="--", label=f"uniform baseline, 1/{keys}")
        axes.set_xlabel("largest weight of the row")
    panels[0].invert_yaxis()
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right")
    first_word, last_word = asking[int(largest.argmax())], asking[int(largest.argmin())]
    return figure, (
        "The largest weight of each row, twice, with a dashed line at the uniform baseline, "
        f"{uniform:.4f}. As bars on a scale from zero they all end just beyond the line. "
        f"Magnified they differ: from {largest.min():.4f} for {last_word}, on the line, to "
        f"{largest.max():.4f} for {first_word}."
    )


@picture
def temperatures(
    weights_at: Callable[[float], np.ndarray],
    values: Sequence[float],
    asking: Sequence[str],
    answering: Sequence[str],
):
    """Draw the attention weights, (L_q, L_k), at some temperatures, on one scale from 0 to 1."""
    figure, panels = plt.subplots(len(values), 1, figsize=(7, 4.4 * len(values)))
    descriptions = []
    for axes, temperature in zip(panels, values):
        weights = weights_at(temperature)
        best = weights.max(axis=1)
        title = f"T = {temperature}: row maxima {best.min():.3f} to {best.max():.3f}"
        heatmap(axes, weights, asking, answering, limits=(0, 1), title=title)
        _label_languages(axes, ("French words (queries)", "English words (keys)"))
        descriptions.append(
            f"At temperature {temperature} the largest weights of the rows are {best.min():.3f} to "
            f"{best.max():.3f}.",
        )
    return (
        figure,
        "Heatmaps of the sentence, one below the other, on one scale from 0 to 1. "
        + " ".join(descriptions),
    )


@picture
def at_temperature(
    weights: np.ndarray,
    temperature: float,
    asking: Sequence[str],
    answering: Sequence[str],
):
    """Draw the attention weights (L_q, L_k) at one temperature, on a scale from 0 to 1."""
    figure, axes = plt.subplots(figsize=(7, 5.6))
    best = weights.max(axis=1)
    title = f"T = {temperature:.3g}: row maxima {best.min():.3f} to {best.max():.3f}"
    heatmap(axes, weights, asking, answering, limits=(0, 1), title=title)
    _label_languages(axes, ("French words (queries)", "English words (keys)"))
    return figure, (
        f"Heatmap of the sentence at temperature {temperature:.3g}, on a colour scale from 0 to "
        f"1. The largest weights of the rows are {best.min():.3f} to {best.max():.3f}."
    )
