"""A finding in words and in tables: yours, expected, and where they differ."""

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from autograder.judging.agreement import close
from autograder.judging.judge import Finding
from autograder.judging.kinds import short, viewed
from autograder.judging.question import Answer, Inputs, Tolerance

Places = list[int | None]  # rows or columns to show; None for those left out
SHOWN = 8  # rows and columns of a table; of larger ones the middle is left out
_PRINTED = 1_000  # characters of what an answer prints


def describe(given: Inputs) -> str:
    """The inputs of a case by their shapes: "(4, 3), axis=0"."""
    return ", ".join([short(a) for a in given.args] + [f"{k}={short(a)}" for k, a in given.kwargs.items()])


def paragraphs(finding: Finding) -> list[tuple[str, str]]:
    """(heading, sentence) pairs: what was seen, what it means, a nudge."""
    told = finding.told
    if finding.unwritten or told is None:
        return [("", sentence) for sentence in (finding.seen, finding.means, finding.nudge) if sentence]
    about = f"In the case “{told.question.label}”, inputs {describe(told.given)}:"
    parts = [
        (about, finding.seen),
        ("Where:", _line(told.answer)),
        ("What it means:", finding.means),
        ("To think about:", finding.nudge),
    ]
    return [(heading, sentence) for heading, sentence in parts if sentence]


def _line(answer: Answer) -> str:
    if not answer.line:
        return ""
    at, _, text = answer.line.partition(": ")
    within = f", in `{answer.within}`" if answer.within.isidentifier() else ""
    return f"line {at} of its cell{within}: `{text}`"


def as_text(finding: Finding) -> str:
    """The finding for a plain terminal, with small arrays written out."""
    lines = [" ".join(filter(None, part)) for part in paragraphs(finding)]
    pair = comparable(finding)
    if pair and pair[0].size <= SHOWN * SHOWN:
        with np.printoptions(precision=4, suppress=True, linewidth=88):
            lines += ["Yours:", str(pair[1]), "Expected:", str(pair[0])]
    if printed := _printed(finding):
        lines += ["It printed:", printed]
    return "\n".join(lines)


def as_html(finding: Finding) -> str:
    """The finding as an HTML fragment; nothing in it is taken from the student unescaped."""
    body = "".join(
        f"<p style='margin:.35em 0'>{f'<strong>{escape(h)}</strong> ' if h else ''}{code(escape(s))}</p>"
        for h, s in paragraphs(finding)
    )
    pair = comparable(finding)
    if pair and finding.told:
        wanted, got = map(np.atleast_2d, pair)
        body += tables(wanted, got, finding.told.rules.tolerance)
    if printed := _printed(finding):
        body += f"<p style='margin:.35em 0'><strong>It printed:</strong></p><pre>{escape(printed)}</pre>"
    return f"<div style='border-left:4px solid #b35900;padding:.2em .9em;margin:.3em 0'>{body}</div>"


def code(sentence: str) -> str:
    """Backticks as HTML: "End with `return`." shows the word as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", sentence)


def _printed(finding: Finding) -> str:
    text = finding.told.answer.printed.strip("\n") if finding.told else ""
    return text if len(text) <= _PRINTED else f"{text[:_PRINTED]}… ({len(text):,} characters in all)"


def comparable(finding: Finding) -> tuple[np.ndarray, np.ndarray] | None:
    """(expected, yours), vectors or matrices, where a table of both says more than the sentence."""
    told = finding.told
    if told is None or told.difference is None or told.difference.kind not in {"values", "not finite"}:
        return None
    wanted, got = told.due, told.value
    for at in told.difference.path:
        wanted, got = wanted[at], got[at]
    if not isinstance(wanted, np.ndarray) or not isinstance(got, np.ndarray):
        return None
    wanted, got = viewed(wanted, told.rules), viewed(got, told.rules)
    if wanted.ndim == 0 or wanted.shape != got.shape:
        return None
    if wanted.ndim > 2:  # the first matrix of the batch that differs
        wanted, got = (x.reshape(-1, *x.shape[-2:]) for x in (wanted, got))
        agree = close(wanted, got, told.rules.tolerance)
        at = next((i for i in range(len(wanted)) if not agree[i].all()), 0)
        wanted, got = wanted[at], got[at]
    return wanted, got


def tables(wanted: np.ndarray, got: np.ndarray, allowed: Tolerance) -> str:
    """Yours, expected and the difference as tables of coloured cells.

    Readable without colour, aloud and in the dark: every cell carries its number, every differing cell is
    framed and set in bold. Of many rows or columns some are left out, but one that differs is shown.

    Parameters
    ----------
    wanted, got : numpy.ndarray, shape (R, C)
    allowed : float, or two of them
        Cells that agree to this are not framed.
    """
    agree = close(wanted, got, allowed)
    rows, columns = (_chosen(np.atleast_1d(~agree.all(axis=axis))) for axis in (1, 0))
    with np.errstate(all="ignore"):
        gap = got.astype(np.float64) - wanted.astype(np.float64)
    finite = np.concatenate([x[np.isfinite(x)].astype(np.float64) for x in (wanted, got)])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    reach = float(np.abs(gap[np.isfinite(gap)]).max(initial=0.0))
    count = int((~agree).sum())
    # Halves: between the ends of what a float can hold there is more than one can hold.
    spread, reach = (high / 2 - low / 2) or 1.0, reach or 1.0

    def shade(x: float) -> str:
        return _colour((x / 2 - low / 2) / spread, _BLUES)

    def leaning(x: float) -> str:
        return _colour((x / reach + 1) / 2, _BOTH)

    parts = [
        _table("yours", got, agree, rows, columns, shade),
        _table("expected", wanted, agree, rows, columns, shade),
        _table("difference", np.where(agree, 0.0, gap), agree, rows, columns, leaning),
    ]
    said = (
        "1 of {} cells differs; it is framed."
        if count == 1
        else f"{count} of {{}} cells differ; they are framed."
    )
    return (
        "<div style='overflow-x:auto'>"
        f"<div style='display:inline-flex;flex-wrap:wrap;gap:1em'>{''.join(parts)}</div>"
        f"<p style='margin:.2em 0;font-size:.85em'>{said.format(agree.size)}</p></div>"
    )


# Two scales that the colour-blind can tell apart; each end is far from the middle in lightness.
_BLUES = ((237, 244, 252), (88, 150, 205))
_BOTH = ((230, 145, 56), (250, 250, 250), (130, 125, 190))


def _colour(share: float, scale: Sequence[tuple[int, int, int]]) -> str:
    share = min(max(share, 0.0), 1.0) * (len(scale) - 1)
    at = min(int(share), len(scale) - 2)
    return "#" + "".join(f"{round(a + (b - a) * (share - at)):02x}" for a, b in zip(scale[at], scale[at + 1]))


_TABLE = "border-collapse:separate;border-spacing:1px;margin:.3em 0;font:13px monospace;text-align:right"
_HEAD = "font-size:11px;font-weight:normal;padding:0 5px"


def _table(
    title: str,
    data: np.ndarray,
    agree: np.ndarray,
    rows: Places,
    columns: Places,
    scale: Callable[[float], str],
) -> str:
    def head(place: int | None, scope: str) -> str:
        return f"<th scope={scope} style='{_HEAD}'>{'…' if place is None else place}</th>"

    def data_cell(row: int | None, column: int | None) -> str:
        if row is None or column is None:
            return "<td>…</td>"
        number = data[row, column]
        colour = scale(float(number)) if np.isfinite(number) else "#f3c6c6"
        text, frame = escape(cell(number)), colour
        if not agree[row, column]:
            text, frame = f"<b>{text}</b>", "#c04000"
        return f"<td style='padding:1px 5px;color:#111;background-color:{colour};border:2px solid {frame}'>{text}</td>"

    body = [f"<tr><td></td>{''.join(head(column, 'col') for column in columns)}</tr>"]
    for row in rows:
        cells = "".join(data_cell(row, column) for column in columns)
        body.append(f"<tr>{head(row, 'row')}{cells}</tr>")
    caption = f"<caption style='text-align:left'><b>{title}</b></caption>"
    return f"<table style='{_TABLE}'>{caption}{''.join(body)}</table>"


def _chosen(differs: np.ndarray) -> Places:
    """The rows (or columns) to show, None for those left out: the ends, and the first ones that differ."""
    length = len(differs)
    if length <= SHOWN:
        return list(range(length))
    chosen = {0, 1, length - 1}
    for at in [*np.flatnonzero(differs), *range(length)]:
        if len(chosen) == SHOWN - 1:
            break
        chosen.add(int(at))
    shown: list[int | None] = []
    for at in sorted(chosen):
        if shown and shown[-1] is not None and at > shown[-1] + 1:
            shown.append(None)
        shown.append(at)
    return shown


def cell(number: Any) -> str:
    """A number as a table's cell gives it, in at most seven characters.

    >>> cell(0.123456), cell(-12345.6), cell(np.True_), cell(2.8e-17)
    ('0.123', '-12346', 'True', '2.8e-17')
    """
    if isinstance(number, (bool, np.bool_)):
        return str(bool(number))
    value = float(number)
    if not np.isfinite(value):
        return str(value)
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value + 0.0:.3f}".rstrip("0").rstrip(".") if abs(value) < 100 else f"{value:.0f}"
    return f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
