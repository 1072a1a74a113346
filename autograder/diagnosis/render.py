"""Show students why an answer is wrong, as text or HTML: sentences, and tables of numbers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from autograder.core.text_format import backticks_to_html
from autograder.judging.judge import Finding
from autograder.values.arrays import find_largest_difference
from autograder.values.case_records import CallOutcome, Inputs, Tolerance
from autograder.values.tolerance import elements_agree
from autograder.values.value_types import apply_view, short_repr

ShownIndices = list[int | None]  # of the rows or columns that a table shows; None for a gap
MAX_TABLE_CELLS = 8  # in a row or column of a table; larger arrays are shown in part
MAX_OUTPUT_CHARACTERS = 1_000  # of the text that an answer prints

_PARAGRAPH = "<p style='margin:.35em 0'>{}</p>"


def describe_inputs(inputs: Inputs) -> str:
    """Describe a test case's inputs, arrays by their shapes: "(4, 3), axis=0"."""
    arguments = [short_repr(value) for value in inputs.args]
    arguments += [f"{name}={short_repr(value)}" for name, value in inputs.kwargs.items()]
    return ", ".join(arguments)


def list_paragraphs(finding: Finding) -> list[tuple[str, str]]:
    """Return the paragraphs that explain a verdict, each as a heading and a sentence."""
    case = finding.shown_case
    if finding.is_unwritten or case is None:
        sentences = (finding.observation, finding.means, finding.nudge)
        return [("", sentence) for sentence in sentences if sentence]
    inputs = describe_inputs(case.inputs)
    parts = [
        (f"In the case “{case.test_case.label}”, inputs {inputs}:", finding.observation),
        ("Where:", _quote_error_line(case.outcome)),
        ("What it means:", finding.means),
        ("To think about:", finding.nudge),
    ]
    return [(heading, sentence) for heading, sentence in parts if sentence]


def _quote_error_line(outcome: CallOutcome) -> str:
    """Quote the line of the student's code that raised an error, with its number and function."""
    if not outcome.line:
        return ""
    number, _, text = outcome.line.partition(": ")
    function = ""
    if outcome.within.isidentifier():
        function = f", in `{outcome.within}`"
    return f"line {number} of your cell{function}: `{text}`"


def render_text(finding: Finding) -> str:
    """Render a verdict and its explanation as plain text. Small arrays are shown in full."""
    lines = [" ".join(filter(None, paragraph)) for paragraph in list_paragraphs(finding)]
    shown = choose_arrays_to_show(finding)
    if shown and shown.expected.size <= MAX_TABLE_CELLS**2:
        expected, values = shown.expected, shown.values
        if shown.place:
            lines.append(shown.place)
        with np.printoptions(precision=4, suppress=True, linewidth=88):
            lines += ["Yours:", str(values), "Expected:", str(expected)]
    output = _get_printed_text(finding)
    if output:
        lines += ["It printed:", output]
    return "\n".join(lines)


def render_html(finding: Finding) -> str:
    """Render a verdict and its explanation as HTML, in which text from the student is escaped."""
    parts = []
    for heading, sentence in list_paragraphs(finding):
        label = ""
        if heading:
            label = f"<strong>{escape(heading)}</strong> "
        parts.append(_PARAGRAPH.format(label + backticks_to_html(escape(sentence))))
    shown = choose_arrays_to_show(finding)
    if shown and finding.shown_case:
        expected, values = np.atleast_2d(shown.expected), np.atleast_2d(shown.values)
        if shown.place:
            parts.append(_PARAGRAPH.format(escape(shown.place)))
        parts.append(render_tables(expected, values, finding.shown_case.rules.tolerance))
    output = _get_printed_text(finding)
    if output:
        parts.append(_PARAGRAPH.format("<strong>It printed:</strong>"))
        parts.append(f"<pre>{escape(output)}</pre>")
    style = "border-left:4px solid #b35900;padding:.2em .9em;margin:.3em 0"
    return f"<div style='{style}'>{''.join(parts)}</div>"


def _get_printed_text(finding: Finding) -> str:
    """Return what the student's function printed in the test case that is shown, cut to a limit."""
    if not finding.shown_case:
        return ""
    text = finding.shown_case.outcome.printed.strip("\n")
    if len(text) <= MAX_OUTPUT_CHARACTERS:
        return text
    return f"{text[:MAX_OUTPUT_CHARACTERS]}… ({len(text):,} characters in all)"


@dataclass(frozen=True)
class ShownArrays:
    """Expected and returned vector or matrix that tables show.

    `place` is a sentence that says which matrix of a larger array they are; "" if they are whole.
    """

    expected: np.ndarray
    values: np.ndarray
    place: str = ""


def choose_arrays_to_show(finding: Finding) -> ShownArrays | None:
    """Return the expected and the returned vector or matrix; None if tables would not help.

    Of an array with more than two axes, it is the matrix with the largest difference.
    """
    case = finding.shown_case
    if case is None or case.difference is None:
        return None
    if case.difference.kind not in {"values", "not finite"}:
        return None
    expected, values = case.expected, case.value
    for key in case.difference.path:
        expected, values = expected[key], values[key]
    if not isinstance(expected, np.ndarray) or not isinstance(values, np.ndarray):
        return None
    expected, values = apply_view(expected, case.rules), apply_view(values, case.rules)
    if expected.ndim == 0 or expected.shape != values.shape:
        return None
    if expected.ndim <= 2:
        return ShownArrays(expected, values)
    agree = elements_agree(expected, values, case.rules.tolerance)
    batch = find_largest_difference(expected, values, agree)[:-2]
    place = ""
    if math.prod(expected.shape[:-2]) > 1:
        indices = ", ".join(map(str, batch))
        place = f"The tables show one matrix of the array, the one at [{indices}, :, :]."
    return ShownArrays(expected[batch], values[batch], place)


def render_tables(expected: np.ndarray, values: np.ndarray, tolerance: Tolerance) -> str:
    """Render the returned and the expected matrix, and their difference, as coloured tables.

    For readers who see no colours, use a screen reader or a dark theme, every table
    cell shows its number, and every table cell that differs has a frame and bold text. In large
    tables some rows and columns are left out, but at least one that differs is shown.

    Parameters
    ----------
    expected, values : numpy.ndarray, shape (R, C)
    tolerance : float or pair of floats
        Table cells whose numbers agree to this tolerance have no frame.
    """
    agree = elements_agree(expected, values, tolerance)
    rows = _choose_shown_indices(np.atleast_1d(~agree.all(axis=1)))
    columns = _choose_shown_indices(np.atleast_1d(~agree.all(axis=0)))
    with np.errstate(all="ignore"):
        gap = values.astype(np.float64) - expected.astype(np.float64)
    shade_number, shade_gap = _make_sequential_scale(expected, values), _make_diverging_scale(gap)
    parts = [
        _render_table("yours", values, agree, rows, columns, shade_number),
        _render_table("expected", expected, agree, rows, columns, shade_number),
        _render_table("difference", np.where(agree, 0.0, gap), agree, rows, columns, shade_gap),
    ]
    count = int((~agree).sum())
    summary = f"{count} of {agree.size} cells differ; they are framed."
    if count == 1:
        summary = f"1 of {agree.size} cells differs; it is framed."
    return (
        "<div style='overflow-x:auto'>"
        f"<div style='display:inline-flex;flex-wrap:wrap;gap:1em'>{''.join(parts)}</div>"
        f"<p style='margin:.2em 0;font-size:.85em'>{summary}</p></div>"
    )


ColourScale = Callable[[float], str]  # from a number to a CSS colour

# Both colour scales are safe for colour-blind readers: their ends differ in lightness from the
# middle.
_BLUES = ((237, 244, 252), (88, 150, 205))
_ORANGE_TO_PURPLE = ((230, 145, 56), (250, 250, 250), (130, 125, 190))


def _make_sequential_scale(*arrays: np.ndarray) -> ColourScale:
    """Make a colour scale from the smallest to the largest finite number."""
    finite = np.concatenate([array[np.isfinite(array)].astype(np.float64) for array in arrays])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    # Halve first: high - low may overflow.
    spread = (high / 2 - low / 2) or 1.0
    return lambda number: _interpolate_colour((number / 2 - low / 2) / spread, _BLUES)


def _make_diverging_scale(gap: np.ndarray) -> ColourScale:
    """Make a colour scale with 0 in its middle."""
    largest = float(np.abs(gap[np.isfinite(gap)]).max(initial=0.0)) or 1.0
    return lambda number: _interpolate_colour((number / largest + 1) / 2, _ORANGE_TO_PURPLE)


def _interpolate_colour(share: float, scale: Sequence[tuple[int, int, int]]) -> str:
    """Return the CSS colour at a position between 0 and 1 on a colour scale."""
    position = min(max(share, 0.0), 1.0) * (len(scale) - 1)
    index = min(int(position), len(scale) - 2)
    colour = "#"
    for start, end in zip(scale[index], scale[index + 1]):
        colour += f"{round(start + (end - start) * (position - index)):02x}"
    return colour


_TABLE_STYLE = (
    "border-collapse:separate;border-spacing:1px;margin:.3em 0;font:13px monospace;text-align:right"
)
_HEADER_STYLE = "font-size:11px;font-weight:normal;padding:0 5px"
_NOT_FINITE_COLOUR = "#f3c6c6"
_FRAME_COLOUR = "#c04000"


def _render_table(
    title: str,
    data: np.ndarray,
    agree: np.ndarray,
    rows: ShownIndices,
    columns: ShownIndices,
    scale: ColourScale,
) -> str:
    def render_header(index: int | None, scope: str) -> str:
        label = "…" if index is None else str(index)
        return f"<th scope={scope} style='{_HEADER_STYLE}'>{label}</th>"

    def render_cell(row: int | None, column: int | None) -> str:
        if row is None or column is None:
            return "<td>…</td>"
        number = data[row, column]
        colour = scale(float(number)) if np.isfinite(number) else _NOT_FINITE_COLOUR
        text, frame = escape(format_cell(number)), colour
        if not agree[row, column]:
            text, frame = f"<b>{text}</b>", _FRAME_COLOUR
        style = f"padding:1px 5px;color:#111;background-color:{colour};border:2px solid {frame}"
        return f"<td style='{style}'>{text}</td>"

    headers = "".join(render_header(column, "col") for column in columns)
    body = [f"<tr><td></td>{headers}</tr>"]
    for row in rows:
        cells = "".join(render_cell(row, column) for column in columns)
        body.append(f"<tr>{render_header(row, 'row')}{cells}</tr>")
    caption = f"<caption style='text-align:left'><b>{title}</b></caption>"
    return f"<table style='{_TABLE_STYLE}'>{caption}{''.join(body)}</table>"


def _choose_shown_indices(differs: np.ndarray) -> ShownIndices:
    """Choose the rows (or columns) to show of a large array: the ends, and the first that differ.

    A gap between them is given as None.
    """
    length = len(differs)
    if length <= MAX_TABLE_CELLS:
        return list(range(length))
    indices = {0, 1, length - 1}
    for index in [*np.flatnonzero(differs), *range(length)]:
        if len(indices) == MAX_TABLE_CELLS - 1:
            break
        indices.add(int(index))
    visible: ShownIndices = []
    for index in sorted(indices):
        if visible and visible[-1] is not None and index > visible[-1] + 1:
            visible.append(None)
        visible.append(index)
    return visible


def format_cell(number: Any) -> str:
    """Format a number for a table cell, in at most seven characters.

    >>> format_cell(0.123456), format_cell(-12345.6), format_cell(np.True_), format_cell(2.8e-17)
    ('0.123', '-12346', 'True', '2.8e-17')
    """
    if isinstance(number, (bool, np.bool_)):
        return str(bool(number))
    value = float(number)
    if not np.isfinite(value):
        return str(value)
    if value == 0 or 1e-3 <= abs(value) < 100:
        return f"{value + 0.0:.3f}".rstrip("0").rstrip(".")
    if 100 <= abs(value) < 1e5:
        return f"{value:.0f}"
    return f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
