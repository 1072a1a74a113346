"""Test the tables and sentences that show students a wrong answer."""

import re
from dataclasses import replace

import numpy as np
import pytest

from autograder.diagnosis.render import (
    MAX_OUTPUT_CHARACTERS,
    MAX_TABLE_CELLS,
    _choose_shown_indices,
    _make_diverging_scale,
    _make_sequential_scale,
    _quote_error_line,
    choose_arrays_to_show,
    format_cell,
    list_paragraphs,
    render_html,
    render_tables,
    render_text,
)
from autograder.judging.judge import judge
from autograder.values.case_records import CallOutcome, ComparisonRules, Inputs, TestCase

CUT_REMARK = f"… ({MAX_OUTPUT_CHARACTERS + 1:,} characters in all)"


def judge_value(expected, value):
    test_case = TestCase("a case", Inputs(), expected, {})
    return judge([test_case], [CallOutcome(value)], ComparisonRules(), [])


def test_of_a_batch_the_matrix_with_the_largest_difference_is_shown_and_named():
    expected = np.zeros((2, 3, 2, 2))
    value = expected.copy()
    value[0, 0, 0, 1] = 0.5
    value[1, 2, 1, 0] = 7
    finding = judge_value(expected, value)
    shown = choose_arrays_to_show(finding)
    assert shown.values.tolist() == [[0, 0], [7, 0]]
    assert shown.expected.tolist() == [[0, 0], [0, 0]]
    sentence = "The tables show one matrix of the array, the one at [1, 2, :, :]."
    assert "at [1, 2, 1, 0]" in finding.message
    assert sentence in render_text(finding)
    assert sentence in render_html(finding)


@pytest.mark.parametrize("shape", [(3,), (2, 2), (1, 2, 2), (1, 1, 2, 3)])
def test_an_array_that_is_shown_whole_needs_no_place(shape):
    finding = judge_value(np.zeros(shape), np.ones(shape))
    shown = choose_arrays_to_show(finding)
    assert shown.expected.size == np.zeros(shape).size
    assert shown.place == ""
    assert "The tables show" not in render_text(finding) + render_html(finding)


def test_a_text_shows_an_array_up_to_a_size():
    for size in (MAX_TABLE_CELLS**2, MAX_TABLE_CELLS**2 + 1):
        text = render_text(judge_value(np.zeros(size), np.ones(size)))
        assert ("Yours:" in text) == (size == MAX_TABLE_CELLS**2)


def test_nan_counts_as_the_largest_difference():
    value = np.zeros((2, 2, 2))
    value[0] = 1000
    value[1, 0, 0] = np.nan
    shown = choose_arrays_to_show(judge_value(np.zeros((2, 2, 2)), value))
    assert shown.place.endswith("[1, :, :].")


@pytest.mark.parametrize(
    ("line", "within", "text"),
    [
        ("3: return {'a': x}", "f", "line 3 of your cell, in `f`: `return {'a': x}`"),
        ("12: x: int = 1 / 0", "<lambda>", "line 12 of your cell: `x: int = 1 / 0`"),
        ("", "f", ""),
    ],
)
def test_a_line_that_raised_is_quoted_whole(line, within, text):
    assert _quote_error_line(CallOutcome(None, line=line, within=within)) == text


@pytest.mark.parametrize(
    ("length", "wrong", "shown"),
    [
        (MAX_TABLE_CELLS, [4], [0, 1, 2, 3, 4, 5, 6, 7]),
        (MAX_TABLE_CELLS + 1, [], [0, 1, 2, 3, 4, 5, None, 8]),
        (20, [10], [0, 1, 2, 3, 4, None, 10, None, 19]),
        (20, [2, 3], [0, 1, 2, 3, 4, 5, None, 19]),
        (20, [7, 9, 11, 13, 15], [0, 1, None, 7, None, 9, None, 11, None, 13, None, 19]),
        (20, [0, 1, 19], [0, 1, 2, 3, 4, 5, None, 19]),
        (20, [17, 18, 19], [0, 1, 2, 3, None, 17, 18, 19]),
    ],
)
def test_of_a_large_table_the_ends_and_the_first_that_differ_are_shown(length, wrong, shown):
    assert _choose_shown_indices(np.isin(np.arange(length), wrong)) == shown


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (-0.0, "0"), (3, "3"), (0.001, "0.001"), (-0.001, "-0.001"), (0.00094, "9.4e-4"),
        (0.25, "0.25"), (99.5, "99.5"), (100, "100"), (100.4, "100"), (-99_999.0, "-99999"),
        (100_000, "1.0e5"), (2.5e12, "2.5e12"), (1e-12, "1.0e-12"), (np.nan, "nan"),
        (-np.inf, "-inf"), (np.False_, "False"), (np.float32(0.5), "0.5"),
    ],
)  # fmt: skip
def test_a_number_of_a_table_is_short(number, text):
    assert format_cell(number) == text


def test_colours_go_from_the_smallest_to_the_largest_finite_number():
    scale = _make_sequential_scale(np.array([1.0, np.nan, -np.inf]), np.array([3.0]))
    assert [scale(number) for number in (1, 2, 3)] == ["#edf4fc", "#a2c5e4", "#5896cd"]
    assert [scale(number) for number in (-9, 9)] == ["#edf4fc", "#5896cd"], "cut at the ends"


@pytest.mark.parametrize("numbers", [[], [np.nan], [2.0, 2.0]])
def test_without_different_numbers_there_is_one_colour(numbers):
    scale = _make_sequential_scale(np.array(numbers))
    assert scale(numbers[0] if numbers == [2.0, 2.0] else 0.0) == "#edf4fc"


def test_numbers_whose_difference_overflows_have_colours():
    scale = _make_sequential_scale(np.array([-1.5e308, 1.5e308]))
    assert [scale(-1.5e308), scale(0.0), scale(1.5e308)] == ["#edf4fc", "#a2c5e4", "#5896cd"]


def test_the_colours_of_a_difference_have_0_in_their_middle():
    scale = _make_diverging_scale(np.array([-4.0, 1.0, np.inf]))
    assert [scale(n) for n in (-4, -2, 0, 4)] == ["#e69138", "#f0c699", "#fafafa", "#827dbe"]
    assert _make_diverging_scale(np.array([0.0, np.nan]))(0.0) == "#fafafa"
    assert _make_diverging_scale(np.array([np.nan, np.inf]))(0.0) == "#fafafa"


def test_a_wrong_number_is_bold_in_a_frame_and_nan_has_a_colour_of_its_own():
    html = render_html(judge_value(np.array([1.0, 2.0]), np.array([1.0, np.nan])))
    assert "#c04000'><b>nan</b></td>" in html
    assert "background-color:#f3c6c6" in html
    assert "border:2px solid #edf4fc'>1</td>" in html, "the frame of a right number is not seen"


def judge_printed(printed):
    test_case = TestCase("a case", Inputs(), np.ones(2), {})
    return judge([test_case], [CallOutcome(np.zeros(2), printed=printed)], ComparisonRules(), [])


@pytest.mark.parametrize("excess", [0, 1])
def test_a_long_printed_text_is_cut_and_its_length_is_told(excess):
    finding = judge_printed("x" * (MAX_OUTPUT_CHARACTERS + excess) + "\n\n")
    text = render_text(finding)
    assert text.endswith(f"It printed:\n{'x' * MAX_OUTPUT_CHARACTERS}" + CUT_REMARK * excess)
    assert (CUT_REMARK in render_html(finding)) == bool(excess)


def test_a_printed_text_is_escaped_in_html():
    html = render_html(judge_printed("<b>1 & 2</b>"))
    assert "<pre>&lt;b&gt;1 &amp; 2&lt;/b&gt;</pre>" in html
    assert "It printed" not in render_html(judge_printed("\n"))


def judge_one(expected, value, label="a case", rules=None, inputs=(), **outcome):
    test_case = TestCase(label, Inputs(inputs), expected, {})
    return judge([test_case], [CallOutcome(value, **outcome)], rules or ComparisonRules(), [])


def test_a_small_wrong_answer_is_shown_whole_as_text():
    finding = judge_one(np.array([1.0, 2.0]), np.array([1.0, 5.0]), inputs=(np.ones(3), 2))
    assert render_text(finding) == (
        "In the case “a case”, inputs (3,), 2: 1 of 2 numbers differ. The largest difference is at "
        "[1]: your value is 5, expected 2.\n"
        "What it means: All the differing numbers are too large.\n"
        "Yours:\n[1. 5.]\nExpected:\n[1. 2.]"
    )


def mark_unwritten(finding):
    case = finding.shown_case
    difference = replace(case.difference, mistake="not-written-yet")
    return replace(finding, shown_case=replace(case, difference=difference))


def test_the_paragraphs_of_a_verdict_have_an_order():
    finding = replace(judge_one(1.0, 2.0), means="It means.", nudge="Why?", observation="Seen.")
    case = finding.shown_case
    outcome = CallOutcome(None, line="3: return x", within="f")
    finding = replace(finding, shown_case=replace(case, outcome=outcome))
    assert list_paragraphs(finding) == [
        ("In the case “a case”, inputs :", "Seen."),
        ("Where:", "line 3 of your cell, in `f`: `return x`"),
        ("What it means:", "It means."),
        ("To think about:", "Why?"),
    ]
    for other in (mark_unwritten(finding), replace(finding, shown_case=None)):
        assert list_paragraphs(other) == [("", "Seen."), ("", "It means."), ("", "Why?")]
    assert list_paragraphs(replace(finding, means="", nudge=""))[2:] == []


def test_a_verdict_is_escaped_in_html_and_code_is_marked():
    finding = replace(
        judge_one(1.0, 2.0, "<a & b>"), observation="`x < 1` & more", means="", nudge="<i>?"
    )
    html = render_html(finding)
    assert "<strong>In the case “&lt;a &amp; b&gt;”, inputs :</strong> " in html
    assert "<code>x &lt; 1</code> &amp; more" in html
    assert "<strong>To think about:</strong> &lt;i&gt;?" in html
    html = render_html(mark_unwritten(finding))
    assert "<strong>" not in html and "<p style='margin:.35em 0'>&lt;i&gt;?</p>" in html


@pytest.mark.parametrize(("size", "is_in_text"), [(64, True), (65, False)])
def test_a_large_array_is_shown_in_html_only(size, is_in_text):
    finding = judge_one(np.zeros(size), np.ones(size))
    assert ("Yours:" in render_text(finding)) == is_in_text
    assert "<table" in render_html(finding)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (1.0, 2.0),
        (np.zeros(2), np.zeros(3)),
        (np.zeros(2), [0.0, 0.0]),
        (np.zeros(2), None),
        (np.array(1.0), np.array(2.0)),
        ("a", "b"),
        (np.zeros(2), np.zeros(2)),
    ],
)
def test_without_two_arrays_of_one_shape_there_is_no_table(expected, value):
    assert choose_arrays_to_show(judge_one(expected, value)) is None


def test_of_several_values_the_wrong_one_is_shown():
    right, wrong = (np.zeros(2), [np.ones(3), np.ones(3)]), (np.zeros(2), [np.ones(3), np.zeros(3)])
    shown = choose_arrays_to_show(judge_one(right, wrong))
    assert shown.expected.tolist() == [1, 1, 1] and shown.values.tolist() == [0, 0, 0]
    assert choose_arrays_to_show(judge_one(np.ones(2), np.full(2, np.nan))).place == ""


def test_what_a_view_shows_of_an_array_is_in_the_tables():
    rules = ComparisonRules(view="numpy:sort")
    shown = choose_arrays_to_show(
        judge_one(np.array([3.0, 1.0]), np.array([2.0, 1.0]), rules=rules)
    )
    assert shown.expected.tolist() == [1, 3] and shown.values.tolist() == [1, 2]


def list_cells(html):
    """Return the tables of a page: for each its caption, and the texts of its rows."""
    tables = []
    for table in html.split("<table")[1:]:
        caption = re.search(r"<caption[^>]*><b>(\w+)</b>", table)[1]
        rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in table.split("<tr>")[1:]]
        tables.append((caption, rows))
    return tables


def test_the_tables_hold_yours_the_expected_and_the_difference():
    expected, values = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.5], [3.0, 4.0 + 1e-9]])
    html = render_tables(expected, values, 1e-7)
    assert list_cells(html) == [
        ("yours", [["", "0", "1"], ["0", "1", "<b>2.5</b>"], ["1", "3", "4"]]),
        ("expected", [["", "0", "1"], ["0", "1", "<b>2</b>"], ["1", "3", "4"]]),
        ("difference", [["", "0", "1"], ["0", "0", "<b>0.5</b>"], ["1", "0", "0"]]),
    ]
    assert "1 of 4 cells differs; it is framed." in html
    assert html.count("scope=col") == html.count("scope=row") == 6
    html = render_tables(expected, values, 1e-12)
    assert "2 of 4 cells differ; they are framed." in html
    assert "0 of 4 cells differ; they are framed." in render_tables(expected, expected, 1e-7)


def test_rows_and_columns_of_a_large_table_are_chosen_apart():
    expected = np.zeros((12, 20))
    values = expected.copy()
    values[10, 15] = 1
    _, rows = list_cells(render_tables(expected, values, 1e-7))[0]
    assert rows[0] == ["", "0", "1", "2", "3", "4", "…", "15", "…", "19"]
    assert [row[0] for row in rows[1:]] == ["0", "1", "2", "3", "4", "…", "10", "11"]
    assert rows[6] == ["…"] * 10 and rows[7][7] == "<b>1</b>" and rows[1][6] == "…"


def test_the_tables_of_a_finding_use_its_tolerance():
    rules = ComparisonRules(tolerance=0.5)
    html = render_html(judge_one(np.array([1.0, 2.0]), np.array([1.4, 5.0]), rules=rules))
    assert "1 of 2 cells differs" in html
