"""A finding in words and in a picture: yours, expected, and where they differ."""

import re
from functools import lru_cache
from html import escape

import numpy as np

from autograder.answer import Answer
from autograder.compare import VIEWS, same_values, tolerance
from autograder.exercise import Inputs, Question, Rules
from autograder.figures import image, png
from autograder.judge import Finding

_LARGEST = 16  # rows and columns that a small picture can show with numbers that can be read


def describe(given: Inputs) -> str:
    """The inputs of a case by their shapes: "(4, 3), axis=0"."""
    return ", ".join([_short(a) for a in given.args] + [f"{k}={_short(a)}" for k, a in given.kwargs.items()])


def _short(argument) -> str:
    if isinstance(argument, np.ndarray):
        plain = "" if argument.dtype in (np.float64, np.bool_) else f" {argument.dtype.name}"
        return f"{argument.shape}{plain}"
    return argument.__name__ if isinstance(argument, type) else repr(argument)


def paragraphs(finding: Finding, label: str, given: Inputs) -> list[tuple[str, str]]:
    """(heading, sentence) pairs: what was seen, what it means, a nudge."""
    if finding.kind == "error" and finding.seen.startswith("This exercise"):
        parts = [("", finding.seen), ("", finding.nudge)]
    else:
        parts = [
            (f"In the case “{label}”, inputs {describe(given)}:", finding.seen),
            ("What it means:", finding.means),
            ("To think about:", finding.nudge),
        ]
    return [(heading, sentence) for heading, sentence in parts if sentence]


def as_text(finding: Finding, question: Question, answer: Answer, rules: Rules) -> str:
    """The finding for a plain terminal, with small arrays written out."""
    lines = [" ".join(filter(None, p)) for p in paragraphs(finding, question.label, question.inputs)]
    pair = comparable(finding, question, answer, rules)
    if pair and pair[0].size <= 64:
        with np.printoptions(precision=4, suppress=True, linewidth=88):
            lines += ["Yours:", str(pair[1]), "Expected:", str(pair[0])]
    return "\n".join(lines)


def as_html(finding: Finding, question: Question, answer: Answer, rules: Rules) -> str:
    """The finding as an HTML fragment; nothing in it is taken from the student unescaped."""
    body = "".join(
        f"<p style='margin:.35em 0'>{f'<strong>{escape(h)}</strong> ' if h else ''}{_code(escape(s))}</p>"
        for h, s in paragraphs(finding, question.label, question.inputs)
    )
    pair = comparable(finding, question, answer, rules)
    if pair:
        png, alt = picture(*pair, rules.tolerance)
        body += image(png, alt)
    return f"<div style='border-left:4px solid #b35900;padding:.2em .9em;margin:.3em 0'>{body}</div>"


def _code(sentence: str) -> str:
    """Backticks as HTML: "End with `return`." shows the word as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", sentence)


def comparable(finding, question, answer, rules) -> tuple[np.ndarray, np.ndarray] | None:
    """(expected, yours) as matrices, where a picture of both says more than the sentence."""
    if finding.kind not in {"values", "not finite"} or answer.value is None:
        return None
    view = VIEWS[rules.view]
    wanted, got = view(question.expected), view(answer.value)
    if wanted.ndim == 0 or wanted.shape != got.shape:
        return None
    if wanted.ndim > 2:  # the first matrix of the batch that differs
        wanted, got = (x.reshape(-1, *x.shape[-2:]) for x in (wanted, got))
        at = next(i for i in range(len(wanted)) if not same_values(wanted[i], got[i], rules.tolerance))
        wanted, got = wanted[at], got[at]
    return np.atleast_2d(wanted), np.atleast_2d(got)


def picture(wanted: np.ndarray, got: np.ndarray, rtol: float) -> tuple[bytes, str]:
    """A PNG of yours, expected and the difference on one scale, and its alt text.

    Readable without colour: every cell carries its number, every differing cell a frame.

    Parameters
    ----------
    wanted, got : numpy.ndarray, shape (R, C)
    rtol : float
        Cells that agree to this are not framed.
    """
    wanted, got = (x[:_LARGEST, :_LARGEST].astype(np.float64) for x in (wanted, got))
    return _drawn(wanted.shape, wanted.tobytes(), got.tobytes(), rtol)


@lru_cache(maxsize=256)  # those who hold one misconception give the same numbers
def _drawn(shape: tuple[int, int], wanted: bytes, got: bytes, rtol: float) -> tuple[bytes, str]:
    from matplotlib import colormaps
    from matplotlib.collections import PatchCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    wanted, got = (np.frombuffer(x).reshape(shape) for x in (wanted, got))
    rows, columns = shape
    finite = np.concatenate([x[np.isfinite(x)] for x in (wanted, got)])
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    with np.errstate(all="ignore"):
        gap = got - wanted
        relative, absolute = tolerance(rtol, wanted, got)
        differs = ~np.isclose(got, wanted, relative, absolute, equal_nan=True)
    reach = max(np.abs(gap[np.isfinite(gap)]).max(initial=0.0), 1e-12)

    cell = 0.46 if columns <= 8 else 0.4
    figure = Figure(
        figsize=(max(3 * columns * cell + 1.6, 5.6), max(rows * cell * 0.8, 0.5) + 0.75),
        layout="constrained",
    )
    panels = [
        ("yours", got, "cividis", low, high),
        ("expected", wanted, "cividis", low, high),
        ("difference", gap, "PuOr", -reach, reach),
    ]
    size = 8 if columns <= 8 else 6
    for axes, (title, data, colours, bottom, top) in zip(
        figure.subplots(1, 3, squeeze=False)[0], panels, strict=True
    ):
        axes.imshow(data, cmap=colours, vmin=bottom, vmax=top, aspect="auto")
        axes.set_title(title, fontsize=9)
        axes.set_xticks(range(columns), range(columns), fontsize=7)
        axes.set_yticks(range(rows), range(rows), fontsize=7)
        shades = colormaps[colours](np.clip((data - bottom) / max(top - bottom, 1e-12), 0, 1))
        bright = ~np.isfinite(data) | (shades[..., :3].sum(axis=-1) > 1.5)
        for (i, j), number in np.ndenumerate(data):
            ink = "black" if bright[i, j] else "white"
            axes.text(j, i, _cell(number), ha="center", va="center", fontsize=size, color=ink)
        frames = [Rectangle((j - 0.46, i - 0.44), 0.92, 0.88) for i, j in np.argwhere(differs)]
        axes.add_collection(PatchCollection(frames, facecolor="none", edgecolor="#d55e00", lw=1.4))
    count = int(differs.sum())
    alt = (
        f"Three tables of {rows} by {columns} numbers: yours, expected, and their difference. "
        f"{count} {'cell differs and is' if count == 1 else 'cells differ and are'} framed."
    )
    return png(figure, 110), alt


def _cell(number: float) -> str:
    if not np.isfinite(number):
        return str(number)
    text = f"{number:.2g}" if abs(number) < 1000 else f"{number:.0e}"
    return text.replace("e-0", "e-").replace("e+0", "e")
